"""Places where work is distributed: processes of this machine, a Dask cluster, or a Ray cluster."""

import re
from dataclasses import dataclass

from ...seqform.errors import InvalidOptionError, UnsupportedProblemError, nearest, one_line, shown
from ...seqform.game import Game

#: The forms of a place, as messages list them.
FORMS = "local:N, dask://HOST:PORT, dask://local:N, ray://HOST:PORT, ray://auto or ray://local:N"
_ENGINES = ("local", "dask", "ray")
_LOCAL = re.compile(r"(?:local)?(?::([1-9][0-9]{0,4}))?")
_HOST = re.compile(r"[^\s/:@]+:[0-9]{1,5}|\[[0-9a-fA-F:]+\]:[0-9]{1,5}")


@dataclass(frozen=True)
class Place:
    """A place where work is distributed.

    Parameters
    ----------
    engine : {"local", "dask", "ray"}
        Processes of this machine, Dask, or Ray.
    address : str, optional
        ``HOST:PORT`` of Dask's scheduler or of Ray's client server, or ``"auto"`` for the Ray cluster that runs on
        this machine. Without an address, processes or a cluster are started on this machine.
    workers : int, optional
        The number of workers to start on this machine; by default one per core.
    """

    engine: str = "local"
    address: str | None = None
    workers: int | None = None

    def __str__(self) -> str:
        """Return the place as users write it."""
        number = "" if self.workers is None else f":{self.workers}"
        if self.engine == "local":
            return f"local{number}"
        return f"{self.engine}://{self.address or f'local{number}'}"


def read_place(text: str | Place, name: str = "on") -> Place:
    """Read a place.

    Parameters
    ----------
    text : str or Place
        ``local``, ``local:N``, ``dask://HOST:PORT``, ``dask://local:N``, ``ray://HOST:PORT``, ``ray://auto`` or
        ``ray://local:N``. ``dask://`` and ``ray://`` mean ``dask://local`` and ``ray://local``.
    name : str
        The name of the argument, for the message.

    Raises
    ------
    UnsupportedProblemError
        If the text is not a place.

    Examples
    --------
    >>> from treeplex.solvers.distributed.places import read_place
    >>> read_place("local:2")
    Place(engine='local', address=None, workers=2)
    >>> str(read_place("dask://scheduler:8786")), str(read_place("ray://"))
    ('dask://scheduler:8786', 'ray://local')
    >>> read_place("dsk://scheduler:8786")
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.UnsupportedProblemError: on is 'dsk://scheduler:8786' (did you mean dask?), expected ...
    """
    if isinstance(text, Place):
        return text
    given = text.strip() if isinstance(text, str) else ""
    engine, mark, rest = given.partition("://")
    if not mark:
        engine, _, rest = given.partition(":")
        found = _LOCAL.fullmatch(given) if engine == "local" else None
    else:
        found = _LOCAL.fullmatch(rest) if engine in ("dask", "ray") else None
    if found is not None:
        return Place(engine, None, int(found[1]) if found[1] else None)
    port = rest.rpartition(":")[2] if _HOST.fullmatch(rest) else ""
    if mark and engine in ("dask", "ray") and (0 < int(port or 0) < 2**16 or (engine == "ray" and rest == "auto")):
        return Place(engine, rest)
    hint = nearest(engine, _ENGINES) if engine not in _ENGINES else ""
    received = f"{name} {one_line(given)}{hint}:" if name.startswith("--") else f"{name} is {shown(text, 60)}{hint},"
    raise UnsupportedProblemError(f"{received} expected {FORMS}")


def check_place(on: str, game: Game) -> None:
    """Raise an error unless a text is a place, and a game has parts to distribute.

    Raises
    ------
    UnsupportedProblemError, InvalidOptionError
    """
    read_place(on)
    if game.public_form is None or game.public_form.is_whole:
        raise InvalidOptionError(f"on is {shown(on)}, but {game.spec} is not cut into parts")
