"""What was made of a log, as JSON and as tables."""

import dataclasses
from typing import TYPE_CHECKING, Any

from .output import console, show_numbers, show_rows
from .solution_table import message_of, price_text, ten_decimals

if TYPE_CHECKING:
    from ..models.play import PlayLog
    from ..solvers.opponents.counter_strategies import CounterStrategy

_KEYS = (
    *("schema", "version", "game", "parameters", "log", "seat", "games", "lines", "skipped", "mean_result"),
    *("confidence", "interval", "bonferroni", "probe", "events", "constraints", "method", "penalty", "status"),
    *("message", "guaranteed", "expected", "game_value", "exploitability", "objective", "lower", "upper", "violation"),
    *("least_violation", "conflict", "informative", "iterations", "seconds", "build_seconds"),
)


def fit_record(
    known: dict[str, Any], log: "PlayLog | None" = None, response: "CounterStrategy | None" = None
) -> dict[str, Any]:
    """Return the JSON of ``fit`` with what is known; every other key is there too, and null."""
    from .. import __version__
    from ..solvers.solution import json_ready

    record: dict[str, Any] = dict.fromkeys(_KEYS) | {"schema": 1, "version": __version__} | known
    if log is None or response is None:
        record |= {"status": "interrupted", "message": "stopped by the user before there was a strategy"}
        return json_ready(record)  # type: ignore[no-any-return]
    solution = response.solution
    record |= {
        "games": log.num_games,
        "lines": log.num_lines,
        "skipped": [dataclasses.asdict(bad) for bad in log.bad],
        "mean_result": log.mean_result,
        "events": len(response.model.events),
        "constraints": len(response.model.constraints),
        "penalty": response.penalty,
        "status": str(solution.status),
        "message": message_of(solution),
        "guaranteed": response.guaranteed,
        "expected": response.expected,
        "game_value": response.game_value,
        "exploitability": response.exploitability,
        "objective": solution.objective,
        "lower": solution.lower,
        "upper": solution.upper,
        "violation": solution.violation,
        "least_violation": response.least_violation,
        "conflict": list(response.conflict),
        "informative": [dataclasses.asdict(evidence) for evidence in response.informative()],
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "build_seconds": solution.build_seconds,
    }
    return json_ready(record)  # type: ignore[no-any-return]


def print_fit(record: dict[str, Any], files: dict[str, str | None]) -> None:
    """Print what was read, what the strategy is worth, and the observations that are worth most."""
    from rich.text import Text

    colour = {"optimal": "green", "converged": "green", "uncertified": "red"}.get(record["status"], "yellow")
    player, together = record["seat"], ", all together" if record["bonferroni"] else " each"
    rows: dict[str, str | Text] = {
        "game": Text(record["game"], style="bold cyan"),
        "log": f"{record['log']}: {record['games']:,} games, seen from seat {player}",
    }
    if record["skipped"]:
        rows["skipped"] = "; ".join(
            f"{bad['count']:,} {bad['kind']}, first in line {bad['line']:,}: {bad['message']}"
            for bad in record["skipped"]
        )
    rows |= {
        "probe": record["probe"] or "estimated from the log",
        "intervals": f"{record['interval']}, confidence {record['confidence']:g}{together}",
        "bounds": f"{record['constraints']:,} on player {1 - player}, about {record['events']:,} events",
        "method": record["method"],
        "status": Text(record["status"], style=f"bold {colour}"),
        "": Text(record["message"], style="dim"),
    }
    if record["penalty"] is not None:
        rows["penalty"] = f"{record['penalty']:g} for each unit by which a bound is missed"
    if record["least_violation"]:
        rows["least violation"] = f"{record['least_violation']:.6g}: no opponent fits all of these games"
        rows["conflict"] = "; ".join(record["conflict"])
    nearest = "those that come nearest" if record["least_violation"] else "every opponent that fits"
    if record["guaranteed"] is not None:
        rows["guaranteed"] = f"{ten_decimals(record['guaranteed'])} to player {player}, against {nearest}"
    rows["expected"] = f"{ten_decimals(record['expected'])}, against the one that fits the shares of games best"
    if record["mean_result"] is not None:
        rows["mean result"] = f"{ten_decimals(record['mean_result'])}, of the games in the log"
    rows["game value"] = ten_decimals(record["game_value"])
    rows["exploitability"] = f"{ten_decimals(record['exploitability'])} of the value of the game may be lost"
    rows["iterations"] = f"{record['iterations']:,}"
    rows["seconds"] = f"{record['seconds']:.3g} solving, {record['build_seconds']:.3g} building"
    for name, path in files.items():
        if path is not None:
            rows[f"{name} in"] = path
    show_rows(console(), rows)
    _print_evidence(record["informative"])


def _print_evidence(evidence: list[dict[str, Any]]) -> None:
    """Print the observations that are worth most, a line each."""
    from rich.table import Table

    out = console()
    out.print()
    if not evidence:
        out.print("no observation changes the strategy: the games are too few", style="dim")
        return
    heading = (
        "what is worth most: its part in what is earned beyond the game's value; prices are of a unit of its bound"
    )
    out.print(heading, style="bold", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    table.add_column("observation", overflow="fold")
    for heading in ("games", "from", "to", "what binds", "price", "worth"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in evidence:
        ends = (f"{one['lower']:.3g}", f"{one['upper']:.3g}", one["side"])
        table.add_row(one["event"], f"{one['count']:,}", *ends, f"{one['price']:.3g}", price_text(one["worth"]))
    show_numbers(out, table)
