"""The clock of a patrol: times of day instead of numbers of steps."""

import datetime as dt
import re
import zoneinfo
from dataclasses import dataclass
from functools import cached_property

from ....seqform.errors import InvalidGameError, nearest, shown

_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
#: A window of times of day, such as ``22:00-24:00`` or ``22:00..24:00``.
WINDOW = re.compile(rf"({_TIME.pattern})\s*(?:-|–|\.\.)\s*({_TIME.pattern})")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|seconds?|min|minutes?|h|hours?)", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_DAY = 86_400


@dataclass(frozen=True)
class Clock:
    """When a patrol begins, and how long a step takes.

    Parameters
    ----------
    begin : str
        The time of day at time 0, such as ``"22:00"``.
    step : str
        The length of a step, such as ``"5 min"``, ``"30 s"`` or ``"1 h"``.
    timezone : str, optional
        The time zone by its name in the IANA database, such as ``"Europe/Dublin"``.

    Raises
    ------
    InvalidGameError
        If one of them cannot be read, a step is longer than a day, or the time zone is unknown.

    Examples
    --------
    >>> from treeplex.models.games.patrol.clock import Clock
    >>> night = Clock("22:00", "5 min")
    >>> night.time("00:30"), night.at(30), night.times(("23:00", "24:00"))
    (30, '00:30', (12, 24))
    """

    begin: str
    step: str
    timezone: str = ""

    def __post_init__(self) -> None:
        _ = self._begins, self.seconds, self.zone

    @cached_property
    def zone(self) -> zoneinfo.ZoneInfo | None:
        """The time zone, if it is known."""
        if self.timezone == "":
            return None
        try:
            return zoneinfo.ZoneInfo(self.timezone)
        except (TypeError, ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
            hint = nearest(str(self.timezone), zoneinfo.available_timezones())
            raise InvalidGameError(
                f"timezone is {shown(self.timezone, 60)}, expected the name of a time zone such as Europe/Dublin{hint}"
            ) from None

    @cached_property
    def _begins(self) -> int:
        return _seconds(self.begin, "begin")

    @cached_property
    def seconds(self) -> float:
        """The length of a step in seconds."""
        found = _LENGTH.fullmatch(self.step.strip()) if isinstance(self.step, str) else None
        length = float(found[1]) * _SECONDS[found[2][0].lower()] if found else 0.0
        if not 0.0 < length <= _DAY:
            raise InvalidGameError(f"step is {shown(self.step, 60)}, expected a length of time such as '5 min'")
        return length

    def time(self, text: str, what: str = "the time") -> int:
        """Return the number of steps until a time of day first occurs.

        Raises
        ------
        InvalidGameError
            If it is not a time of day, or not a whole number of steps after the beginning.
        """
        steps = ((_seconds(text, what) - self._begins) % _DAY) / self.seconds
        if not steps.is_integer():
            near = " or ".join(dict.fromkeys(self.at(step) for step in (int(steps), int(steps) + 1)))
            raise InvalidGameError(
                f"{what} is {text}, which is not a whole number of steps of {self.step} after {self.begin}; expected a "
                f"time such as {near}"
            )
        return int(steps)

    def times(self, pair: tuple[str, str], what: str = "the window") -> tuple[int, int]:
        """Return a first and a last time of day as numbers of steps; the last time does not come before the first.

        Raises
        ------
        InvalidGameError
            As for :meth:`time`.
        """
        first, last = (self.time(one, what) for one in pair)
        return first, last if last >= first else last + int(_DAY / self.seconds)

    def steps(self, text: str, what: str = "the length") -> int:
        """Return a length of time such as ``"30 min"`` as a number of steps.

        Raises
        ------
        InvalidGameError
            If it is not a length of time, or not a whole number of steps.
        """
        found = _LENGTH.fullmatch(text.strip())
        steps = float(found[1]) * _SECONDS[found[2][0].lower()] / self.seconds if found else 0.0
        if steps < 1 or not steps.is_integer():
            raise InvalidGameError(
                f"{what} is {shown(text, 60)}, expected a length such as '30 min', in whole steps of {self.step}"
            )
        return int(steps)

    def at(self, step: int) -> str:
        """Return the time of day after a number of steps."""
        minutes, seconds = divmod(round(self._begins + step * self.seconds) % _DAY, 60)
        time = f"{minutes // 60:02d}:{minutes % 60:02d}"
        return f"{time}:{seconds:02d}" if seconds else time

    def moment(self, day: dt.date) -> dt.datetime:
        """Return the moment at which the patrol of a day begins."""
        return dt.datetime.combine(day, dt.time()) + dt.timedelta(seconds=self._begins)


def is_time_of_day(given: object) -> bool:
    """Return whether a value is written as a time of day."""
    return isinstance(given, str) and _TIME.fullmatch(given.strip()) is not None


def _seconds(text: object, what: str) -> int:
    """Return a time of day in seconds after midnight."""
    found = _TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (99, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if minutes > 59 or seconds > 59 or total > _DAY:
        raise InvalidGameError(f"{what} is {shown(text, 60)}, expected a time of day such as 22:00")
    return total
