"""What became of targets, as JSON and as tables."""

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .curves import print_numbers
from .output import console, show_numbers, show_rows
from .solution_table import price_text, ten_decimals

if TYPE_CHECKING:
    from ..solvers.parametric.trade_off import TradeOff
    from ..solvers.style.answer import StyleAnswer, TargetOutcome
    from ..solvers.style.calibration import Calibration

_KEYS = (
    *("schema", "version", "game", "parameters", "player", "max_loss", "reference", "method", "status", "message"),
    *("feasible", "least_loss", "least_loss_lower", "least_loss_upper", "least_loss_exact", "exploitability", "value"),
    *("game_value", "targets", "violation", "violations", "multipliers", "least_violation", "conflict", "trade_off"),
    *("preference", "runs", "iterations", "seconds", "sizes"),
)


def style_record(known: dict[str, Any], answer: "StyleAnswer | Calibration | None" = None) -> dict[str, Any]:
    """Return the JSON of ``style`` with what is known; every other key is there too, and null."""
    from .. import __version__
    from ..solvers.solution import json_ready, sizes_of
    from ..solvers.style.answer import StyleAnswer

    record: dict[str, Any] = dict.fromkeys(_KEYS) | {"schema": 1, "version": __version__} | known
    if answer is None:
        record |= {"status": "interrupted", "message": "stopped by the user before there was a strategy"}
        return json_ready(record)  # type: ignore[no-any-return]
    found = _exact(answer) if isinstance(answer, StyleAnswer) else _calibrated(answer)
    return json_ready(record | found | {"sizes": sizes_of(answer.game)})  # type: ignore[no-any-return]


def _exact(answer: "StyleAnswer") -> dict[str, Any]:
    """Return what linear programs found and proved."""
    from ..seqform.rationals import fraction_text

    exact = answer.least_loss_exact
    worst = answer.game_value - answer.loss
    open_ = str(answer.status) == "uncertified"
    return {
        "player": answer.player,
        "status": str(answer.status),
        "message": answer.message,
        "feasible": None if open_ else answer.is_feasible,
        "least_loss": answer.least_loss,
        "least_loss_lower": answer.least_loss_lower,
        "least_loss_upper": answer.least_loss_upper,
        "least_loss_exact": None if exact is None else fraction_text(exact),
        "exploitability": answer.loss,
        "value": worst if answer.player == 0 else -worst,
        "game_value": answer.game_value,
        "targets": _outcomes(answer.targets),
        "violation": max(one.missed_by for one in answer.targets),
        "violations": {one.name: one.missed_by for one in answer.targets},
        "multipliers": {one.name: one.price for one in answer.targets} if answer.least_loss is not None else {},
        "least_violation": None if answer.is_feasible else answer.least_violation,
        "conflict": list(answer.conflict) if answer.conflict else None,
        "iterations": sum(solution.iterations for solution in answer.solutions.values()),
    }


def _outcomes(targets: "Iterable[TargetOutcome]") -> list[dict[str, Any]]:
    names = ("sense", "asked", "reached", "missed_by", "low", "high")
    return [{"target": one.name} | {name: getattr(one, name) for name in names} for one in targets]


def _calibrated(answer: "Calibration") -> dict[str, Any]:
    """Return what runs of Preference-CFR came to."""
    best, method = answer.best, answer.method
    sign = 1 if answer.player == 0 else -1
    lower, upper = answer.game_value
    preferred = {
        "prefer": [str(one) for one in answer.prefer],
        "degree": best.degree,
        "vulnerabilities": list(best.vulnerabilities),
        "iterations": best.iterations,
        **{name: getattr(method, name) for name in ("units", "rule", "base", "updates") if answer.prefer},
    }
    return {
        "player": answer.player,
        "status": str(answer.status),
        "message": answer.message,
        "feasible": True if answer.status.is_success else None,
        "exploitability": best.loss,
        "value": sign * (upper - best.loss),
        "game_value": (lower + upper) / 2.0,
        "targets": _outcomes(answer.targets),
        "violation": max(best.missed_by),
        "violations": {one.name: one.missed_by for one in answer.targets},
        "multipliers": {},
        "preference": preferred,
        "runs": [
            {
                "degree": run.degree,
                "vulnerabilities": list(run.vulnerabilities),
                "iterations": run.iterations,
                "reached": list(run.reached),
                "loss": run.loss,
            }
            for run in answer.runs
        ],
        "iterations": sum(run.iterations for run in answer.runs),
    }


def trade_off_record(curve: "TradeOff") -> dict[str, Any]:
    """Return a trade-off as plain data: its pieces, each with its ends, the least loss there and the slope."""
    knots, losses = curve.knots.tolist(), curve.losses.tolist()
    columns = (knots[:-1], knots[1:], losses[:-1], losses[1:], curve.slopes.tolist())
    names = ("from", "to", "loss_from", "loss_to", "slope")
    return {
        "functional": curve.description,
        "free": list(curve.free),
        "pieces": [dict(zip(names, piece, strict=True)) for piece in zip(*columns, strict=True)],
        "gap": curve.gap,
    }


def print_style(record: dict[str, Any], files: dict[str, str | None], *, curve: bool) -> None:
    """Print whether the targets can be met, what that costs, and what the strategy does."""
    from rich.text import Text

    colour = {"optimal": "green", "converged": "green", "infeasible": "red"}.get(record["status"], "yellow")
    rows: dict[str, str | Text] = {
        "game": Text(record["game"], style="bold cyan"),
        "player": str(record["player"]),
        "status": Text(record["status"], style=f"bold {colour}"),
        "": Text(record["message"], style="dim"),
    }
    if record["reference"] != "uniform":
        rows["counted"] = f"with player {1 - record['player']} as {record['reference']}"
    met = record["violation"] <= 0.0 if record["runs"] else record["feasible"]
    if record["runs"]:
        rows |= _preference_rows(record)
    elif record["least_loss"] is None:
        rows["least loss"] = "none: no strategy meets the targets"
    else:
        exact = f"{record['least_loss_exact']} = " if record["least_loss_exact"] is not None else ""
        gap = record["least_loss_upper"] - record["least_loss_lower"]
        rows["least loss"] = f"{exact}{ten_decimals(record['least_loss'])}, proven within {gap:.3g}"
    most = " at most" if record["runs"] else ""
    what = "this strategy" if met else "the nearest strategy"
    rows["loss"] = f"{ten_decimals(record['exploitability'])}{most} of {record['max_loss']:g} allowed, of {what}"
    rows["game value"] = f"{ten_decimals(record['game_value'])} to player {record['player']}"
    rows["seconds"] = f"{record['seconds']:.3g}"
    for name, path in files.items():
        if path is not None:
            rows[f"{name} in"] = path
    show_rows(console(), rows)
    _print_targets(record)
    if curve:
        _print_curve(record["trade_off"])


def _preference_rows(record: dict[str, Any]) -> dict[str, Any]:
    """Return how much which actions were preferred."""
    chosen = record["preference"]
    runs = f"{len(record['runs']):,} of {record['iterations']:,} iterations together"
    # Preferences for actions can be typed, those for shares of several actions and those of several targets cannot.
    alone = len(chosen["vulnerabilities"]) == 1
    listed = ", ".join(chosen["prefer"]) if alone else f"the actions that help each target, δ = {chosen['degree']:g}"
    rows = {
        "prefer": listed if chosen["prefer"] else "nothing: no preference is needed",
        "vulnerability": ", ".join(_betas(record)),
        "runs": runs,
    }
    if chosen["prefer"] and alone and all(re.fullmatch(r".+:[^:]+", text) for text in chosen["prefer"]):
        words = ["solve", record["game"], "--method", "pref-cfr"]
        words += [word for text in chosen["prefer"] for word in ("--prefer", text)]
        words += ["--vulnerability", repr(chosen["vulnerabilities"][0]), "--base", chosen["base"]]
        words += ["--updates", chosen["updates"], "--tol", "0", "--max-iterations", str(chosen["iterations"])]
        rows["again by"] = shlex.join(["treeplex", *words])
    return rows


def _betas(record: dict[str, Any]) -> list[str]:
    """Return what each target may give up, by name where there are several."""
    betas = [f"{beta:.6g}" for beta in record["preference"]["vulnerabilities"]]
    names = [one["target"] for one in record["targets"]]
    return betas if len(betas) == 1 else [f"{beta} for {name}" for beta, name in zip(betas, names, strict=True)]


def _print_targets(record: dict[str, Any]) -> None:
    """Print a line a target: what the strategy has, what could be had alone, and what more of it costs."""
    from rich.table import Table

    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    table.add_column("target", overflow="fold")
    for heading in ("reached", "missed by", "alone, within the loss", "price of more"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in record["targets"]:
        alone = "not known" if one["low"] is None else f"{_short(one['low'])} to {_short(one['high'])}"
        price = record["multipliers"].get(one["target"])
        table.add_row(
            one["target"],
            _short(one["reached"]),
            _short(one["missed_by"]),
            alone,
            "" if price is None else price_text(price),
        )
    out.print()
    show_numbers(out, table)


def _print_curve(record: dict[str, Any]) -> None:
    out = console()
    out.print()
    heading = f"what {record['functional']} costs; proven within {record['gap']:.3g}"
    out.print(heading, style="bold", soft_wrap=True)
    pieces = [list(piece.values()) for piece in record["pieces"]]
    print_numbers(("from", "to", "loss from", "loss to", "slope"), pieces)


def _short(number: float | None) -> str:
    """Return a number in six digits; what is zero but for round-off is zero."""
    return "not met with" if number is None else f"{0.0 if abs(number) < 1e-9 else number:.6g}"
