"""What a figure or table of a paper is here: settings, rows of data, a picture, and the paper's claims beside ours."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ...seqform.errors import UnsupportedProblemError, shown
from ...solvers.solution import json_ready

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Told what is computed now, in a few words.
Tell = Callable[[str], None]


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


class Row:
    """One row of an experiment's data: a frozen dataclass of plain numbers and strings.

    Attributes
    ----------
    passed : bool
        Whether the row meets its own criterion.
    failure : str
        What is wrong, in words; empty if the row passed.
    """

    passed: bool
    failure: str

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain numbers and strings; NaN and infinity are ``None``."""
        return json_ready(dataclasses.asdict(self))  # type: ignore[call-overload, no-any-return]

    def cells(self) -> Mapping[str, str]:
        """Return what a table of rows shows, by heading."""
        return {name: "" if value is None else str(value) for name, value in self.to_dict().items()}


R = TypeVar("R", bound=Row)


class Experiment(ABC, Generic[R]):
    """A figure or table of a paper: a frozen dataclass whose fields say how large it is made.

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


def check_numbers(what: str, numbers: Sequence[float], least: float, *, whole: bool = False) -> None:
    """Refuse settings that are no list of numbers of at least so much.

    Raises
    ------
    UnsupportedProblemError
    """
    kinds: Any = int if whole else (int, float)
    right = [not isinstance(one, bool) and isinstance(one, kinds) and least <= one < float("inf") for one in numbers]
    if not right or not all(right):
        kind = "whole numbers" if whole else "numbers"
        raise UnsupportedProblemError(f"{what} is {shown(numbers)}, expected {kind} of at least {least:g}")
