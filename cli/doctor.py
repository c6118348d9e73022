"""``treeplex doctor``: what is installed, where compiled loops are cached, and whether the library works here."""

import importlib.util
import os
import platform
import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any

import typer

from ..seqform.limits import now
from ..seqform.sheet import Column, Row, Sheet, Table
from .errors import ExitStatus, deferring_interrupts
from .files import Record, check_files
from .options import JsonOption
from .progress import waiting
from .tables import print_sheet
from .warmup import trial

#: The purpose of each extra, and the module that is imported from it.
_EXTRAS = {
    "matplotlib": "plot",
    "PIL": "plot",
    "pandas": "frames",
    "sklearn": "learning",
    "pokerkit": "holdem",
    "pyproj": "maps",
    "geopandas": "gis",
    "pyspiel": "openspiel",
    "pygambit": "gambit",
    "distributed": "dask",
    "ray": "ray",
}
#: Largest difference between a self-test and the value of Kuhn poker.
_TOLERANCE = 1e-3


def doctor(
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="W",
            help="Also examine the workers of local:N, dask://HOST:PORT or ray://HOST:PORT: versions, memory, latency.",
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Show what is installed and whether it works; include the output in bug reports.

    The command solves games by each kind of method, which compiles loops that are not compiled yet. The exit status is
    1 if a test fails, or a worker has other versions than this process.
    """
    check_files({}, json=json)
    keys = ("python", "platform", "cores", "memory", "folder", "cache", "libraries", "extras", "extensions", "cluster")
    keys = (*keys, "tests")
    record = Record(json, keys)
    with record.interruptible():
        with deferring_interrupts():
            from ..seqform.budget import available_cores, memory_budget
            from ..seqform.extensions import extensions

        record.update(
            python=platform.python_version(),
            platform=platform.platform(),
            cores=available_cores(),
            memory=memory_budget(),
            folder=str(Path(__file__).parents[1]),
            libraries=_libraries(),
            extras={name: importlib.util.find_spec(name) is not None for name in _EXTRAS},
            extensions=extensions(),
        )
        if on is not None:
            with waiting(f"reaching {on}", shown=record.shown):
                record.update(cluster=_examined(on))
        with waiting("loading compiled loops", shown=record.shown):
            record.update(cache=_cache())
        tests = []
        for name, run in _TESTS.items():
            with waiting(name, shown=record.shown):
                tests.append(_tested(name, run))
        record.write(tests=tests)
    if record.shown:
        _print(record)
    passed = all(test["passed"] for test in tests) and (on is None or record["cluster"]["passed"])
    return ExitStatus.SUCCESS if passed else ExitStatus.FAILURE


def _examined(on: str) -> dict[str, Any]:
    """Return what the workers of a place say of themselves."""
    from dataclasses import asdict

    from ..solvers.distributed.examination import examine
    from ..solvers.distributed.places import read_place

    found = examine(read_place(on, "--on"))
    about = {"on": str(found.place), "passed": found.passed, "verdict": found.verdict}
    return about | {"workers": [asdict(worker) for worker in found.workers]}


def _libraries() -> dict[str, str | None]:
    """Return the versions of the required libraries."""
    try:
        needed = [line for line in requires("treeplex") or () if "extra ==" not in line]
    except PackageNotFoundError:  # runs from its sources
        return {}
    names = [re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in needed]
    return {name: _version(name) for name in names}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    """Return where compiled loops are cached, whether that folder is writable, and if not, why."""
    from ..seqform.errors import SolverError

    try:
        from ..solvers.compilation import why_not_compiled
        from ..solvers.regret.loop import run_loop
    except SolverError as error:
        return {"folder": None, "writable": False, "refusal": str(error)}
    kept = getattr(run_loop, "_cache", None)
    folder = getattr(kept, "cache_path", None)
    writable = folder is not None and os.access(folder, os.W_OK)
    return {"folder": folder, "writable": writable, "refusal": why_not_compiled() or None}


def _loops(cache: dict[str, Any]) -> str:
    """Return a description of the cache of compiled loops."""
    if cache["refusal"]:
        return f"not compiled: {cache['refusal']}"
    if cache["writable"]:
        return f"cached in {cache['folder']}"
    return "not cached: compiled again in every process; create a folder and set NUMBA_CACHE_DIR to it"


def _error(method: str, **limits: Any) -> float:
    """Return the error of a method on Kuhn poker."""
    solution = trial(method, **limits)
    assert solution.value is not None
    return abs(float(solution.value) + 1 / 18) + float(solution.exploitability or 0.0)


#: The tests: each returns its error.
_TESTS: dict[str, Callable[[], float]] = {
    "linear program (HiGHS)": partial(_error, "highs"),
    "fractions (FLINT)": partial(_error, "rational"),
    "cone program (cvxpy)": partial(_error, "cvxpy"),
    "compiled loop (cfr+)": partial(_error, "cfr+", tol=1e-4),
    "compiled sampling (es-mccfr)": partial(_error, "es-mccfr", tol=5e-4, seed=1),
}


def _tested(name: str, run: Callable[[], float]) -> dict[str, Any]:
    """Return the result of a self-test."""
    begun = now()
    try:
        error, message = run(), ""
    except Exception as failure:  # doctor reports any kind of failure
        error, message = None, f"{type(failure).__name__}: {failure}"
    passed = error is not None and error <= _TOLERANCE
    return {"name": name, "passed": passed, "error": error, "message": message, "seconds": now() - begun}


def _print(record: Record) -> None:
    from ..seqform.memory import in_words

    extras = record["extras"]
    missing = [f"{name} (pip install 'treeplex[{_EXTRAS[name]}]')" for name, one in extras.items() if not one]
    libraries = ", ".join(f"{name} {one or 'missing'}" for name, one in record["libraries"].items())
    loaded = [f"{one}: {', '.join(names)}" for one, names in record["extensions"].items()]
    tests = [
        (one["name"], "passed" if one["passed"] else "FAILED", f"{one['seconds']:.2f} s", one["message"])
        for one in record["tests"]
    ]
    columns = [Column(heading) for heading in ("self-test", "result", "took", "")]
    rows = [
        Row("treeplex", f"{record['version']} in {record['folder']}"),
        Row("Python", f"{record['python']} on {record['platform']}"),
        Row("cores", record["cores"]),
        Row("memory", f"at most {in_words(record['memory'])} (TREEPLEX_MEMORY, --memory)"),
        Row("compiled_loops", _loops(record["cache"])),
        Row("libraries", libraries or "not known: treeplex runs from its sources"),
        Row("extras", ", ".join(name for name, one in extras.items() if one) or "none"),
        Row("not_installed", ", ".join(missing) or "none"),
        Row("extensions", "; ".join(loaded) or "none"),
        Row("cluster", record["cluster"] and record["cluster"]["verdict"]),
        Row("file", record.path, label="JSON in"),
    ]
    tables = [Table(columns, tests)]
    if record["cluster"]:
        workers = [
            (
                one["name"],
                one["host"],
                f"{in_words(one['available'])} of {in_words(one['memory'])}",
                f"{1e3 * one['round_trip']:.2g} ms",
                ", ".join(one["differences"]) or "as here",
            )
            for one in record["cluster"]["workers"]
        ]
        headings = ("worker", "machine", "memory available", "round trip", "versions")
        tables.append(Table([Column(heading) for heading in headings], workers))
    print_sheet(Sheet(rows, tables))
