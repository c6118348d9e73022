"""Sweeps: many settings of a function or a command, run with joblib's backends; each result is stored as it arrives.

A folder of results contains ``results.jsonl``, with a line for each finished setting, and ``strategies/KEY.npz``. Only
the sweeping process writes there; workers return their results.
"""

import contextlib
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from joblib import parallel_config, register_parallel_backend

from ..seqform.calls import calls
from ..seqform.checks import check_choice, check_whole
from ..seqform.display import Drawn
from ..seqform.errors import (
    GameFileError,
    SolverError,
    TreeplexError,
    UnsupportedProblemError,
    needing,
    one_line,
    shown,
)
from ..seqform.interchange.encoding import from_json, json_ready
from ..seqform.interchange.files import csv_text, read_bytes, reason_of, writing_whole
from ..seqform.interchange.pictures import Figure
from ..seqform.limits import now
from ..seqform.sheet import counted, plain
from ..solvers import Solution, Status
from ..solvers.distributed.clusters import dask_client, ray_cluster
from .sweep_page import draw, report
from .sweep_settings import Setting, as_text, expand, flat, keys_of, label_of, varied_names
from .table import Column, Findings, Row

if TYPE_CHECKING:
    import pandas as pd

    from ..seqform.interchange.page import Page

if sys.platform != "win32":
    import fcntl

T = TypeVar("T")

#: The places where settings are computed, by name: local processes, a Dask cluster, Ray.
BACKENDS = ("processes", "dask", "ray")
_RESULTS, _STRATEGIES, _SUFFIXES = "results.jsonl", "strategies", (".npz", ".jsonl")
#: The parts of a result shown in a line, if present.
_HEADLINE = ("status", "objective", "value", "exploitability", "gap", "gain", "passed")


@contextlib.contextmanager
def workers(backend: str | None, address: str | None = None, jobs: int | None = None) -> Iterator[int | None]:
    """Let joblib use a backend in the block, and yield the number of simultaneous calls.

    Parameters
    ----------
    backend : str or None
        One of :data:`BACKENDS`; by default the setting of ``joblib.parallel_config``.
    address : str, optional
        The address of Dask's scheduler, or of a Ray cluster; by default a new one is started on this machine.
    jobs : int, optional

    Raises
    ------
    UnsupportedProblemError
        If there is no such backend, or the backend has no address.
    MissingExtraError
        If the backend is not installed.
    SolverError
        If the address does not answer.
    """
    if backend is not None:
        check_choice(backend, "backend", UnsupportedProblemError, BACKENDS)
    if address is not None and backend not in ("dask", "ray"):
        raise UnsupportedProblemError(f"address is {shown(address)}, but backend is not dask or ray; omit address")
    if jobs is not None and jobs != -1:
        check_whole(jobs, "jobs", UnsupportedProblemError, "[1, inf)")
    if backend is None:
        yield jobs
    elif backend == "processes":
        # One thread of linear algebra per process, because several processes already share the cores.
        with parallel_config("loky", n_jobs=jobs or -1, inner_max_num_threads=1):
            yield jobs or -1
    else:
        with (_dask if backend == "dask" else _ray)(address, jobs), parallel_config(backend, n_jobs=jobs or -1):
            yield jobs or -1


@contextlib.contextmanager
def _dask(address: str | None, jobs: int | None) -> Iterator[None]:
    with dask_client(address, None if jobs == -1 else jobs):
        yield


@contextlib.contextmanager
def _ray(address: str | None, jobs: int | None) -> Iterator[None]:
    with ray_cluster(address, None if jobs == -1 else jobs):
        from ray.util.joblib.ray_backend import RayBackend

        class StreamingBackend(RayBackend):  # type: ignore[misc]
            """Ray's backend with a callback for each result as it arrives, so that a generator can return it."""

            supports_return_generator = True

        register_parallel_backend("ray", StreamingBackend)
        yield


# Results


@dataclass(frozen=True)
class Found:
    """The result of a setting.

    Parameters
    ----------
    result : mapping of str
        Numbers and strings, ready for JSON.
    strategies : bytes, optional
        A file of strategies.
    suffix : str
        The suffix of the file's name.
    """

    result: Mapping[str, Any]
    strategies: bytes | None = field(default=None, repr=False)
    suffix: str = ".npz"


@dataclass(frozen=True)
class SweepRow(Row):
    """A setting and its result.

    Attributes
    ----------
    number : int
        The number of the setting, from 1.
    key : str
        The key of the result.
    setting : dict
    result : dict or None
        ``None`` if the setting failed.
    strategies : str or None
        The file of its strategies in the folder.
    longest : int
        The length of the longest label in the sweep.
    seconds : float
    failure : str
        The message of a setting that failed.
    """

    number: Annotated[int, Column("")]
    label: Annotated[str, Column("setting", width=lambda row: row.longest + 1)]
    headline: Annotated[str, Column("result", missing="no result")]
    seconds: Annotated[float, Column("seconds", ".2f")]
    key: str = ""
    setting: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    strategies: str | None = None
    longest: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain numbers and strings."""
        names = ("key", "setting", "seconds", "strategies", "result")
        plain = {name: getattr(self, name) for name in names} | {"passed": self.passed, "failure": self.failure}
        return json_ready(plain)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Sweep(Drawn, Findings):
    """The results of a sweep.

    Attributes
    ----------
    run : str
        The name of the function or command.
    settings : tuple of dict
        All settings; unfinished settings have no row.
    rows : tuple of SweepRow
        The rows in the order of the settings.
    seconds : float
    interrupted : bool
    """

    run: str
    settings: tuple[Setting, ...]
    rows: tuple[SweepRow, ...]
    seconds: float
    interrupted: bool = False

    @property
    def varied(self) -> list[str]:
        """The names whose values differ between settings."""
        return varied_names(self.settings)

    @property
    def fixed(self) -> dict[str, Any]:
        """The values that are the same in all settings."""
        varied = self.varied
        return {name: value for name, value in self.settings[0].items() if name not in varied}

    @property
    def noun(self) -> str:
        """The word for a setting."""
        return "setting"

    @property
    def passed(self) -> bool:
        """Whether every setting has a result."""
        return len(self.rows) == len(self.settings) and not self.failed_rows

    @property
    def summary(self) -> str:
        """The outcome in one line."""
        failed = f", {len(self.failed_rows):,} failed" if self.failed_rows else ""
        ended = "interrupted after" if self.interrupted else "in"
        done = len(self.rows) - len(self.failed_rows)
        took = sum(row.seconds for row in self.rows)
        return (
            f"{done:,} of {counted(len(self.settings), self.noun)} done{failed}, {ended} {self.seconds:.1f} s; "
            f"sequentially they took {took:.1f} s"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain numbers and strings, ready for JSON."""
        from .. import __version__

        return {
            "schema": 1,
            "version": __version__,
            "run": self.run,
            "fixed": json_ready(self.fixed),
            "varied": self.varied,
            "settings": len(self.settings),
            "rows": [row.to_dict() for row in self.rows],
            "passed": self.passed,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
        }

    def records(self) -> list[dict[str, Any]]:
        """Return a flat row for each setting: its values, then numbers and strings of its result by dotted names."""
        found = []
        for row in self.rows:
            columns = {
                name: as_text(value) if isinstance(value, list | tuple) else value
                for name, value in row.setting.items()
            }
            found.append(
                {**flat(row.result or {}), **columns, "failure": row.failure or None, "strategies": row.strategies}
            )
        names = dict.fromkeys([*(name for row in self.rows for name in row.setting), "failure", "strategies"])
        names |= dict.fromkeys(name for record in found for name, value in record.items() if value is not None)
        return [{name: json_ready(record.get(name)) for name in names} for record in found]

    def to_frame(self) -> "pd.DataFrame":
        """Return :meth:`records` as a data frame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        with needing("a DataFrame needs pandas", "frames"):
            import pandas as pd
        return pd.DataFrame(self.records())

    def to_csv(self) -> str:
        """Return :meth:`records` as comma-separated values with a header; missing values are empty."""
        records = self.records()
        return csv_text(list(records[0]) if records else [], records)

    def averages_csv(self) -> str | None:
        """Return averages over the rows as comma-separated values, if the sweep has such averages."""
        return None

    @property
    def title(self) -> str:
        """A short title with the values that are the same in all runs."""
        fixed = dict(self.fixed)
        words = [as_text(fixed.pop(name)) for name in ("command", "game", "problem") if name in fixed]
        words += [f"{name} {as_text(value)}" for name, value in fixed.items()]
        return ", ".join([" ".join(words[:2]), *words[2:]]) if words else self.run.rpartition(".")[2]

    def figure(self, x: str | None = None, y: str | None = None) -> "Figure":
        """Draw a result against a varied setting, with a line for each combination of the others.

        Parameters
        ----------
        x : str, optional
            The setting; by default the first numeric one.
        y : str, optional
            The result, by its name in :meth:`records`; by default the objective.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        UnsupportedProblemError
            If there is no such setting or result, or there are more than twelve lines.
        """
        return draw(self.records(), self.varied, self.title, x, y)

    def report(self, x: str | None = None, y: str | None = None, command: str = "") -> "Page":
        """Return a report: the command, :meth:`figure`, every result, and failures.

        Parameters
        ----------
        x, y : str, optional
            As in :meth:`figure`.
        command : str
            The command that recreates the report.
        """
        failures = [(row.label, row.failure) for row in self.rows if row.failure]
        about: Any = {"title": self.title, "summary": self.summary, "failures": failures, "command": command}
        return report(self.records(), self.varied, self.fixed, axes=(x, y), **about)


# The folder


def read_results(path: str | PathLike[str]) -> tuple[list[dict[str, Any]], int]:
    """Return the lines of a file of results, and the end of the last complete one.

    Raises
    ------
    GameFileError
        If the file cannot be read, or a line is not a result.
    """
    content = read_bytes(path)
    end = content.rfind(b"\n") + 1
    entries = []
    for number, line in enumerate(content[:end].split(b"\n")[:-1], 1):
        try:
            entry = from_json(line)
            texts = entry["key"], entry["failure"], entry["strategies"] or ""
            sound = (
                re.fullmatch("[0-9a-f]{16}", entry["key"])
                and all(isinstance(text, str) for text in texts)
                and isinstance(entry["result"], dict | type(None))
            )
            if not sound or entry["strategies"] not in (None, *(_file_of(entry["key"], each) for each in _SUFFIXES)):
                raise ValueError("its values have the wrong types")
            entries.append(entry | {"seconds": float(entry["seconds"])})
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            named, reason = one_line(str(path)), one_line(f"{type(error).__name__}: {error}", 200)
            raise GameFileError(f"{named}, line {number}: not a result: {reason}") from None
    return entries, end


def _file_of(key: str, suffix: str) -> str:
    return f"{_STRATEGIES}/{key}{suffix}"


class Folder:
    """The results of a sweep on disk, by the keys of settings.

    Parameters
    ----------
    path : path-like or None
        Created if it does not exist; ``None`` stores nothing.

    Raises
    ------
    GameFileError
        If the folder cannot be written, its content is damaged, or another sweep writes there.
    """

    def __init__(self, path: str | PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.kept: dict[str, dict[str, Any]] = {}
        self._file: Any = None

    def __enter__(self) -> Self:
        if self.path is None:
            return self
        try:
            (self.path / _STRATEGIES).mkdir(parents=True, exist_ok=True)
            self._file = (self.path / _RESULTS).open("ab")
        except (OSError, ValueError) as error:
            raise GameFileError(f"{one_line(str(self.path))} cannot be written: {reason_of(error)}") from None
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *ended: object) -> None:
        if self._file is not None:
            self._file.close()

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise GameFileError(f"{one_line(str(self.path))}: another sweep is writing there") from None
            except OSError:  # not every file system has locks
                pass

    def _read(self) -> None:
        """Read the lines of finished settings; remove an incomplete last line that a killed process left."""
        assert self.path is not None
        entries, end = read_results(self.path / _RESULTS)
        self._file.truncate(end)
        self.kept = {
            entry["key"]: entry
            for entry in entries
            if entry["strategies"] is None or (self.path / entry["strategies"]).is_file()
        }

    def keep(self, key: str, setting: Setting, found: "Computed") -> dict[str, Any]:
        """Store a result: first the strategies, then the line that names them, each atomically.

        Raises
        ------
        GameFileError
            If the result cannot be written.
        """
        entry: dict[str, Any] = {"key": key, "setting": json_ready(setting), "seconds": found.seconds}
        entry |= {"failure": found.failure, "strategies": None, "result": found.result}
        if self.path is not None:
            try:
                if found.strategies is not None:
                    entry["strategies"] = _file_of(key, found.suffix)
                    with writing_whole(self.path / entry["strategies"]) as passing:
                        passing.write_bytes(found.strategies)
                self._append(json.dumps(entry, allow_nan=False).encode() + b"\n")
            except OSError as error:
                raise GameFileError(f"{one_line(str(self.path))} cannot be written: {reason_of(error)}") from None
        self.kept[key] = entry
        return entry

    def _append(self, line: bytes) -> None:
        end = os.fstat(self._file.fileno()).st_size
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:  # a full disk
            self._file.truncate(end)
            raise


# The sweep


@dataclass(frozen=True)
class Computed:
    """A worker's result for one setting."""

    number: int
    result: Mapping[str, Any] | None
    failure: str
    seconds: float
    strategies: bytes | None = None
    suffix: str = ".npz"


def _computed(run: Callable[..., Any], number: int, setting: Setting) -> Computed:
    """Run a setting in a worker; an error is returned as a result."""
    begun = now()
    try:
        found = _found(run(**setting))
    except Exception as error:
        kind = "" if isinstance(error, TreeplexError) else f"{type(error).__name__}: "
        return Computed(number, None, one_line(f"{kind}{error}", 1000) or "failed", now() - begun)
    return Computed(number, json_ready(found.result), "", now() - begun, found.strategies, found.suffix)


def _found(result: Any) -> Found:
    """Convert a function's return value to a result."""
    if isinstance(result, Found):
        return result
    if isinstance(result, Solution):
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "strategies.npz"
            result.profile.save(file)
            return Found(result.to_dict(), file.read_bytes())
    if not isinstance(result, Mapping):
        raise UnsupportedProblemError(f"the function returned {shown(result, 60)}, expected a dict or a Solution")
    return Found(result)


def sweep(
    run: Callable[..., Any],
    out: str | PathLike[str] | None = None,
    *,
    fixed: Setting | None = None,
    grid: Mapping[str, Any] | None = None,
    settings: Sequence[Setting] | None = None,
    backend: str | None = None,
    address: str | None = None,
    jobs: int | None = None,
    retry: bool = False,
    on_row: Callable[[SweepRow], None] | None = None,
) -> Sweep:
    """Run a function for many settings, and store each result as it arrives.

    Parameters
    ----------
    run : callable
        Takes a setting as keywords, and returns a dict of numbers and strings or a :class:`~treeplex.Solution`, whose
        strategies are then stored too. :func:`treeplex.cli.application.run_command` runs a command.
    out : path-like, optional
        A folder for the results. Results that exist are not computed again.
    fixed : mapping of str, optional
        Values shared by all settings.
    grid : mapping of str to values, optional
        All combinations of these values are used. Each is a list of values, or ``{"from": 0, "to": 1, "steps": 11}``,
        with ``"scale": "log"`` for equal ratios.
    settings : sequence of mapping, optional
        A list of settings, each combined with the whole `grid`.
    backend : {"processes", "dask", "ray"}, optional
        Where the settings are computed. By default the setting of ``joblib.parallel_config``; without it, the settings
        are computed one after the other in this process.
    address : str, optional
        The address of Dask's scheduler or of a Ray cluster; by default one is started on this machine.
    jobs : int, optional
        Number of settings computed at once; −1, the default with a backend, means one per core.
    retry : bool
        Whether to retry settings that failed before.
    on_row : callable, optional
        Called with each :class:`SweepRow`: first with the stored rows, then with new rows as they arrive.

    Returns
    -------
    Sweep

    Raises
    ------
    UnsupportedProblemError
        If settings are invalid.
    GameFileError
        If the folder cannot be written, or is damaged.
    SolverError
        If workers ended unexpectedly. Finished results are kept.

    Notes
    -----
    A result is identified by its setting, the contents of files that the setting names, the function or command, and
    the version of the library. It is computed again if one of these changes, but not if the function's code changes:
    use another folder in that case. A failed setting is stored with its message.

    Examples
    --------
    >>> from treeplex import CFR, Nash, load_game, solve, sweep
    >>> def run(game, iterations):
    ...     return solve(Nash(load_game(game)), CFR(), tol=0, max_iterations=iterations)
    >>> found = sweep(run, fixed={"game": "kuhn"}, grid={"iterations": [10, 100, 1000]})
    >>> [row.result["iterations"] for row in found.rows], found.passed
    ([10, 100, 1000], True)
    """
    begun = now()
    chosen = tuple(expand(fixed, grid, settings))
    if not callable(run):
        raise UnsupportedProblemError(
            f"run is {shown(run, 60)}, expected a function; for a command, use treeplex.cli.application.run_command"
        )
    name = name_of(run)
    keys, varied = keys_of(name, chosen), varied_names(chosen)
    labels = [label_of(one, varied) or "all fixed" for one in chosen]
    longest = max(map(len, labels))
    rows: dict[str, SweepRow] = {}

    def row(number: int, entry: Mapping[str, Any]) -> SweepRow:
        result = entry["result"]
        return SweepRow(
            number + 1,
            labels[number],
            _headline(result or {}),
            entry["seconds"],
            entry["key"],
            chosen[number],
            result,
            entry["strategies"],
            longest,
            failure=entry["failure"],
        )

    def done(number: int, entry: Mapping[str, Any]) -> None:
        rows[keys[number]] = row(number, entry)
        if on_row is not None:
            on_row(rows[keys[number]])

    with Folder(out) as folder:
        left: dict[str, int] = {}
        for number, key in enumerate(keys):
            entry = folder.kept.get(key)
            if entry is not None and not (retry and entry["failure"]):
                if key not in rows:
                    done(number, entry)
            else:
                left.setdefault(key, number)
        if left:
            with workers(backend, address, 1 if backend == "processes" and len(left) == 1 else jobs) as count:
                tasks = ((run, number, chosen[number]) for number in left.values())
                for found in _as_they_come(tasks, count, len(left)):
                    done(found.number, folder.keep(keys[found.number], chosen[found.number], found))
        ordered = tuple(row(number, folder.kept[key]) for number, key in enumerate(keys))
    return Sweep(name, chosen, ordered, now() - begun)


def name_of(run: Any) -> str:
    """Return the name of a function, which is part of the keys of results."""
    named: Any = run if isinstance(run, FunctionType | BuiltinFunctionType) else type(run)
    return f"{named.__module__}.{named.__qualname__}"


def _as_they_come(tasks: Iterable[tuple[Any, ...]], jobs: int | None, count: int) -> Iterator[Computed]:
    """Yield the workers' results; if the workers end unexpectedly, raise one error."""
    done = 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*tasks which were still being processed")
        warnings.filterwarnings("ignore", message=".*A worker stopped while some jobs")
        try:
            for found in calls(_computed, tasks, jobs, ordered=False):
                yield found
                done += 1
        except (TreeplexError, GeneratorExit):
            raise
        except Exception as error:
            raise SolverError(
                f"the workers ended with {count - done:,} settings left: {type(error).__name__}: "
                f"{one_line(str(error), 200)}; finished results are kept"
            ) from error


def _headline(result: Mapping[str, Any]) -> str:
    """Return the most important part of a result."""
    parts = []
    for name in _HEADLINE:
        value = result.get(name)
        if isinstance(value, str) and name == "status":
            parts.append(value)
        elif isinstance(value, bool):
            parts.append(f"{name} {as_text(value)}")
        elif isinstance(value, int | float) and math.isfinite(value):
            parts.append(f"{name} {plain(value)}")
    if not parts:
        parts = [f"{name} {plain(value)}" for name, value in flat(result).items() if isinstance(value, int | float)][:3]
    return ", ".join(parts[:4])
