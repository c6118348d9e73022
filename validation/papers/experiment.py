"""Figures and tables of papers: computing, checking, and writing data and pictures.

An experiment has settings, rows of data, a picture, and the paper's claims compared with ours. This module provides
solves that Ctrl-C ends, timed solves, and the computation of many settings in several processes.
"""

import dataclasses
import itertools
import json
import math
import time
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from ...seqform.calls import calls
from ...seqform.checks import check_choice, check_number, check_type, check_whole
from ...seqform.errors import SolverError, UnsupportedProblemError, shown
from ...seqform.interchange.encoding import json_ready
from ...seqform.interchange.files import csv_text, refusing_unwritable, write_bytes
from ...seqform.interchange.pictures import Figure, write_picture
from ...solvers import Solution, Status, solve
from ...solvers.checkpoint import Checkpoint, Keeper, digest
from ..table import Findings
from ..table import Row as Row  # noqa: PLC0414 (one of the names of this package)
from .claims import Claim, tally

R = TypeVar("R", bound=Row)
T = TypeVar("T")
#: Receives a short description of the current computation.
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Paper:
    """The source of a figure.

    Attributes
    ----------
    citation : str
        Authors, title, venue and year.
    url : str
    """

    citation: str
    url: str


@dataclass(frozen=True)
class Limits:
    """The permitted values of a setting or of a tuple's entries: ``width: Annotated[int, Limits("[2, inf)")]``.

    Parameters
    ----------
    interval : str
        The interval of numbers, as in :func:`~treeplex.seqform.checks.check_number`.
    choices : collection, optional
        The only permitted values.
    empty : bool
        Whether a tuple may be empty.
    """

    interval: str = "(-inf, inf)"
    choices: Collection[Any] = ()
    empty: bool = False

    def check(self, what: str, value: Any, hint: Any) -> None:
        """Raise an error if a value has the wrong type or is outside the limits.

        Raises
        ------
        UnsupportedProblemError
        """
        several = typing.get_origin(hint) is tuple
        kind = typing.get_args(hint)[0] if several else hint
        if several and not (isinstance(value, tuple) and (value or self.empty)):
            of = (
                f" of {', '.join(map(str, self.choices))}" if self.choices else f"{'' if self.empty else ', not empty'}"
            )
            raise UnsupportedProblemError(f"{what} is {shown(value)}, expected a tuple{of}")
        for one in value if several else (value,):
            if self.choices:
                check_choice(one, what, UnsupportedProblemError, self.choices)
            elif kind is str:
                check_type(one, what, UnsupportedProblemError, str, "text")
            else:
                check = check_whole if kind is int else check_number
                check(one, what, UnsupportedProblemError, self.interval)


class Experiment(ABC, Generic[R]):
    """A figure or table of a paper: a frozen dataclass whose fields set the size of the computation.

    Fields with :class:`Limits` are checked.

    Attributes
    ----------
    name : str
        The name on the command line.
    title : str
        A one-line description of the content.
    figure : str
        The name of the figure or table in the paper.
    paper : Paper
    criterion : str
        A one-line description of the criterion for each row.
    quick_settings, full_settings : mapping of str
        The settings, if they differ from the defaults, for a size that takes at most a minute or two, and for the
        paper's size or one close to it.
    axes : tuple of str
        The fields over which the rows iterate, the slowest first; there is a row for each combination of their values.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    figure: ClassVar[str]
    paper: ClassVar[Paper]
    criterion: ClassVar[str]
    quick_settings: ClassVar[Mapping[str, Any]] = {}
    full_settings: ClassVar[Mapping[str, Any]] = {}
    axes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise an error for settings outside their limits.

        Raises
        ------
        UnsupportedProblemError
        """
        for name, hint in typing.get_type_hints(type(self), include_extras=True).items():
            for limits in getattr(hint, "__metadata__", ()):
                limits.check(f"{self.name}: {name}", getattr(self, name), hint.__origin__)

    @classmethod
    def quick(cls) -> Self:
        """Return the experiment in a size that takes at most a minute or two."""
        return cls(**cls.quick_settings)

    @classmethod
    def full(cls) -> Self:
        """Return the experiment in the paper's size, or one close to it."""
        return cls(**cls.full_settings)

    @property
    def cases(self) -> list[tuple[Any, ...]]:
        """The combinations of the axes' values, in the order of the rows."""
        return list(itertools.product(*(getattr(self, axis) for axis in self.axes)))

    @property
    def num_rows(self) -> int:
        """Number of rows, for the progress bar."""
        return len(self.cases)

    @abstractmethod
    def rows(self, tell: Tell) -> Iterator[R]:
        """Yield each row as soon as it is computed."""

    @abstractmethod
    def claims(self, rows: Sequence[R]) -> list[Claim]:
        """Return the paper's claims with the measurements and verdicts; rows may be missing."""

    @abstractmethod
    def draw(self, rows: Sequence[R]) -> "Figure":
        """Draw the figure; rows may be missing.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """

    def settings(self) -> dict[str, Any]:
        """Return the fields as plain numbers and strings."""
        return json_ready(dataclasses.asdict(self))  # type: ignore[call-overload, no-any-return]


def largest(values: Iterable[float]) -> float | None:
    """Return the largest of several numbers; ``None`` if there are none."""
    return max(values, default=None)


@dataclass(frozen=True, eq=False)
class Reproduction(Findings):
    """The results of an experiment.

    Attributes
    ----------
    experiment : Experiment
        The experiment with its settings.
    rows : tuple of Row
    seconds : float
        The time from start to end, including compilation and building.
    interrupted : bool
        Whether it was stopped before all rows were computed.
    """

    experiment: Experiment[Any]
    rows: tuple[Row, ...]
    seconds: float
    interrupted: bool = False

    @property
    def claims(self) -> list[Claim]:
        """The paper's numbers, the measurements here, and whether the claims are met."""
        return self.experiment.claims(self.rows)

    @property
    def rows_passed(self) -> bool:
        """Whether there are rows, no row is missing and every row meets its criterion."""
        return super().passed

    @property
    def passed(self) -> bool:
        """Whether all rows are present and meet their criterion, and every claim of the paper is met or refuted."""
        return self.rows_passed and all(claim.settled for claim in self.claims)

    @property
    def summary(self) -> str:
        """A one-line outcome: rows that meet their criterion, and claims of the paper."""
        counts = tally(self.claims) if self.rows else ""
        return f"{super().summary}; claims: {counts}" if counts else super().summary

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain numbers and strings, ready for JSON."""
        from ... import __version__

        experiment = self.experiment
        return {
            "name": experiment.name,
            "title": experiment.title,
            "version": __version__,
            "settings": experiment.settings(),
            "rows": [row.to_dict() for row in self.rows],
            "paper": {
                "citation": experiment.paper.citation,
                "url": experiment.paper.url,
                "figure": experiment.figure,
                "claims": [claim.to_dict() for claim in self.claims],
            },
            "criterion": experiment.criterion,
            "rows_passed": self.rows_passed,
            "passed": self.passed,
        }

    def to_csv(self) -> str:
        """Return the rows as comma-separated values with a header; missing values are empty."""
        records = [row.to_dict() for row in self.rows]
        return csv_text(list(records[0]) if records else [], records)

    def draw(self) -> "Figure":
        """Draw the figure.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return self.experiment.draw(self.rows)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the data, ``NAME.json`` and ``NAME.csv``, and the picture, ``NAME.svg`` and ``NAME.png``.

        Parameters
        ----------
        folder : path-like
            Created if it does not exist.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        GameFileError
            If a file cannot be written.
        MissingExtraError
            If matplotlib is not installed; the data are written before this.
        """
        place = Path(folder)
        texts = {".json": json.dumps(self.to_dict(), allow_nan=False, indent=2) + "\n", ".csv": self.to_csv()}
        with refusing_unwritable(place):
            place.mkdir(parents=True, exist_ok=True)
        written = []
        for suffix, text in texts.items():
            written.append(place / f"{self.experiment.name}{suffix}")
            write_bytes(written[-1], text.encode())
        figure = self.draw()
        for suffix in (".svg", ".png"):
            written.append(place / f"{self.experiment.name}{suffix}")
            write_picture(lambda: figure, written[-1])
        return written


#: The checkpoint for the completed parts of an experiment.
_keeper: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


def reproduce(
    experiment: Experiment[Any],
    on_row: Callable[[Row], None] | None = None,
    on_step: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
) -> Reproduction:
    """Compute all rows of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment with its settings, such as ``CCFRFigure2a.quick()``.
    on_row : callable, optional
        Called with each :class:`Row` as soon as it is computed.
    on_step : callable, optional
        Called with a short description of the next computation.
    checkpoint : Checkpoint or path-like, optional
        As for :func:`~treeplex.solve`. Completed solves and other parts that run in several processes are not repeated;
        a solve that iterates in this process is resumed.

    Returns
    -------
    Reproduction

    Raises
    ------
    CheckpointError
        If the checkpoint is damaged, belongs to another experiment, cannot be resumed, or cannot be written.
    SolverError
        If a solver failed.
    KeyboardInterrupt
        After Ctrl-C, both during and between solves.

    Examples
    --------
    >>> from treeplex.validation.papers import CCFRFigure2a, reproduce
    >>> found = reproduce(CCFRFigure2a(width=2, bounds=(0.1, 0.5), iterations=5_000))
    >>> found.rows_passed, [round(row.frontier_exploitability, 6) for row in found.rows if row.recipe == "default"]
    (True, [0.03997, 0.009887])
    """
    if checkpoint is not None:
        asked = {"experiment": f"{experiment.name} ({digest(experiment)})"}
        with Checkpoint.of(checkpoint).kept(asked) as keeper:
            token = _keeper.set(keeper)
            try:
                return reproduce(experiment, on_row, on_step)
            finally:
                _keeper.reset(token)
    begun = time.perf_counter()
    rows: list[Row] = []
    for row in experiment.rows(on_step or (lambda words: None)):
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return Reproduction(experiment, tuple(rows), time.perf_counter() - begun)


def completed(problem: Any, method: Any = None, **limits: Any) -> Solution:
    """Solve a problem; Ctrl-C ends the experiment, which keeps its rows so far.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    SolverError
        If the constraints are infeasible, or the method failed.
    """
    solution = solve(problem, method, checkpoint=_keeper.get(), **limits)  # type: ignore[arg-type]
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.infeasibility is not None:
        raise SolverError(f"{problem.name} on {problem.game.spec} by {solution.method.name}: {solution.message}")
    return solution


def timed(problem: Any, method: Any, **limits: Any) -> tuple[Solution, float]:
    """Solve a problem as :func:`completed` does, and also return the time in seconds.

    The wall-clock time of the solve alone, or the processor time of the whole call if that is less because other
    programs were running. Constrained CFR and HiGHS's simplex and interior point methods run on one core.
    """
    begun = time.process_time()
    solution = completed(problem, method, **limits)
    took, keeper = min(solution.seconds, time.process_time() - begun), _keeper.get()
    if keeper is not None:
        took = keeper.part(f"seconds of {solution.method.name}", lambda: {"seconds": took})["seconds"]
    return solution, took


def kept(name: str, compute: Callable[[], T], kind: type[T]) -> T:
    """Return a computed value, or its copy in a checkpoint.

    Parameters
    ----------
    name : str
        The description of the value; values with the same name are distinguished by their order.
    compute : callable
    kind : type
        The type of the value: a dataclass, or a type supported by :func:`as_plain`.
    """
    keeper = _keeper.get()
    if keeper is None:
        return compute()
    found: T = as_declared(keeper.part(name, lambda: {"found": as_plain(compute())})["found"], kind)
    return found


def sweep(function: Callable[..., T], settings: Iterable[tuple[Any, ...]], jobs: int | None = None) -> Iterator[T]:
    """Yield a function's results for many settings, in order.

    Parameters
    ----------
    function : callable
        A function of a module, so that other processes can import it.
    settings : iterable of tuple
        The arguments of each call.
    jobs : int, optional
        Number of joblib processes; −1 for one per core. By default the setting of ``joblib.parallel_config``, which may
        name a cluster; without it, the calls run one after the other in this process.

    Examples
    --------
    >>> from treeplex.validation.papers.experiment import sweep
    >>> list(sweep(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    keeper = _keeper.get()
    if keeper is None:
        yield from calls(function, settings, jobs)
        return
    settings = list(settings)
    keys = [keeper.key(f"{function.__name__} {digest(arguments)}") for arguments in settings]
    pairs = zip(keys, settings, strict=True)
    found = iter(calls(function, [arguments for key, arguments in pairs if key not in keeper], jobs))
    hint = typing.get_type_hints(function)["return"]
    for key in keys:
        yield as_declared(keeper.part_at(key, lambda: {"found": as_plain(next(found))})["found"], hint)


def as_plain(value: Any) -> Any:
    """Convert a value made of numbers, strings, sequences, arrays and dataclasses to a form for JSON."""
    if dataclasses.is_dataclass(value):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return as_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [as_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def as_declared(plain: Any, hint: Any) -> Any:
    """Convert the plain form of :func:`as_plain` to a value of a declared type.

    Examples
    --------
    >>> from treeplex.validation.papers.experiment import as_declared, as_plain
    >>> as_declared(as_plain((1.5, float("inf"))), tuple[float, ...])
    (1.5, inf)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{name: as_declared(part, hints[name]) for name, part in plain.items()})  # type: ignore[operator]
    if origin in (list, tuple):
        kinds = arguments if origin is tuple and ... not in arguments else itertools.repeat(arguments[0], len(plain))
        return origin(as_declared(part, kind) for part, kind in zip(plain, kinds, strict=True))
    if origin is np.ndarray:
        return np.array(plain, dtype=np.float64)
    if origin in (typing.Union, types.UnionType):
        return None if plain is None else as_declared(plain, arguments[0])
    return float(plain) if hint is float else plain


def sweep_groups(
    function: Callable[..., T], groups: Sequence[tuple[str, Sequence[tuple[Any, ...]]]], tell: Tell, jobs: int | None
) -> Iterator[list[T]]:
    """Yield the results of :func:`sweep` for each group of settings, after reporting the group's name."""
    found = sweep(function, (setting for _, settings in groups for setting in settings), jobs)
    for words, settings in groups:
        tell(words)
        yield list(islice(found, len(settings)))
