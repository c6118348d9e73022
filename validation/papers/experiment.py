"""What a figure or table of a paper is here: settings, rows of data, a picture, and the paper's claims beside ours."""

import dataclasses
import typing
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ...seqform.errors import UnsupportedProblemError, shown
from ...solvers.solution import json_ready
from ..table import Row as Row  # noqa: PLC0414 (one of the names of this package)
from .runs import Tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Paper:
    """Where a figure is from.

    Attributes
    ----------
    citation : str
        Authors, title, venue and year.
    url : str
    """

    citation: str
    url: str


@dataclass(frozen=True)
class Claim:
    """What a paper reports, and the same measured here.

    Attributes
    ----------
    quantity : str
        What is reported, with its unit.
    paper : str, float or None
        As the paper has it; ``None`` where its text has no number, and a picture alone.
    measured : str, float or None
        By the rows; ``None`` if they do not tell.
    """

    quantity: str
    paper: str | float | None
    measured: str | float | None


@dataclass(frozen=True)
class Limits:
    """What a setting of an experiment, or each entry of a tuple, may be: ``iterations: Annotated[int, Limits(1)]``.

    Parameters
    ----------
    least, most : float
        Of numbers, both allowed themselves.
    choices : collection, optional
        The only values.
    empty : bool
        Whether a tuple may be empty.
    """

    least: float = -float("inf")
    most: float = float("inf")
    choices: Collection[Any] = ()
    empty: bool = False

    def check(self, what: str, value: Any, hint: Any) -> None:
        """Refuse a value that is not of its kind, or outside of the limits.

        Raises
        ------
        UnsupportedProblemError
        """
        several = typing.get_origin(hint) is tuple
        kind = typing.get_args(hint)[0] if several else hint
        values = value if several and isinstance(value, tuple) else (value,)
        wrong = several and not (isinstance(value, tuple) and (value or self.empty))
        if wrong or not all(self._allow(one, kind) for one in values):
            raise UnsupportedProblemError(f"{what} is {shown(value)}, expected {self._expected(kind, several)}")

    def _allow(self, value: Any, kind: Any) -> bool:
        if self.choices:
            return value in self.choices
        if kind is str:
            return isinstance(value, str)
        number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        return number and self.least <= value <= self.most and value < float("inf")

    def _expected(self, kind: Any, several: bool) -> str:
        if self.choices:
            return f"{'a tuple of ' * several}{', '.join(map(str, self.choices))}"
        if kind is str:
            return "a tuple of texts" if several else "text"
        noun = f"{'a tuple of' if several else 'a'} {'whole ' * (kind is int)}number{'s' * several} from {self.least:g}"
        return f"{noun} on" if self.most == float("inf") else f"{noun} to {self.most:g}"


class Experiment(ABC, Generic[R]):
    """A figure or table of a paper: a frozen dataclass whose fields say how large it is made.

    Fields with :class:`Limits` are checked.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
        What it shows, in one line.
    figure : str
        Its name in the paper.
    paper : Paper
    criterion : str
        What a row is held to, in one line.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    figure: ClassVar[str]
    paper: ClassVar[Paper]
    criterion: ClassVar[str]

    #: Every experiment with a name.
    kinds: ClassVar[list[type["Experiment[Any]"]]] = []

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in vars(cls):
            Experiment.kinds.append(cls)

    def __post_init__(self) -> None:
        """Refuse settings outside of their limits.

        Raises
        ------
        UnsupportedProblemError
        """
        for name, hint in typing.get_type_hints(type(self), include_extras=True).items():
            for limits in getattr(hint, "__metadata__", ()):
                limits.check(f"{self.name}: {name}", getattr(self, name), hint.__origin__)

    @classmethod
    @abstractmethod
    def quick(cls) -> "Experiment[R]":
        """Return it in a size that takes a minute or two at most."""

    @classmethod
    @abstractmethod
    def full(cls) -> "Experiment[R]":
        """Return it in the paper's size, or near it."""

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """How many rows there will be, for progress."""

    @abstractmethod
    def rows(self, tell: Tell) -> Iterator[R]:
        """Yield the rows, each when it is computed."""

    @abstractmethod
    def claims(self, rows: Sequence[R]) -> list[Claim]:
        """Return what the paper reports beside what the rows say; rows may be missing."""

    @abstractmethod
    def draw(self, rows: Sequence[R]) -> "Figure":
        """Draw the figure; rows may be missing.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """

    def settings(self) -> dict[str, Any]:
        """Return the fields, as plain numbers and strings."""
        return json_ready(dataclasses.asdict(self))  # type: ignore[call-overload, no-any-return]


def largest(values: Iterable[float]) -> float | None:
    """Return the largest of some numbers; ``None`` if there are none."""
    return max(values, default=None)
