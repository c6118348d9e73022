"""``treeplex info``: what a game is made of."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import load
from .output import STANDARD_OUTPUT, check_writable, console, listed, show_rows, write_json
from .progress import waiting

if TYPE_CHECKING:
    from ...seqform.game import Game

Infosets = list[list[dict[str, Any]]]


def info(
    game: Annotated[str, typer.Argument(metavar="GAME", help="NAME or NAME:key=value,… as treeplex games lists them.")],
    infosets: Annotated[
        bool, typer.Option("--infosets", help="List every infoset, its actions and its parent sequence.")
    ] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to a file or standard output.")
    ] = None,
) -> int:
    """Show a game's sizes, its value if known, and its infosets."""
    check_writable(json, "--json")
    from ...seqform.game import sequence_form_of

    begun = time.perf_counter()
    loaded = load(game)
    with waiting(f"building {loaded.spec}", shown=json != STANDARD_OUTPUT):
        form = sequence_form_of(loaded)
    record = game_record(loaded, time.perf_counter() - begun)
    records: Infosets | None = None
    if infosets:
        from .labels import infoset_records

        records = [infoset_records(player, treeplex) for player, treeplex in enumerate(form.treeplexes)]
    write_json(record if records is None else record | {"infoset_list": records}, json)
    if json != STANDARD_OUTPUT:
        _print(record, records)
    return 0


def game_record(game: "Game", build_seconds: float) -> dict[str, Any]:
    """Return what there is to know about a game as plain data, ready for JSON."""
    from fractions import Fraction

    from ... import __version__
    from ...solvers.solution import json_ready

    form = game.sequence_form
    value = game.reference_value
    record = {
        "schema": 1,
        "version": __version__,
        "game": game.spec,
        "parameters": game.parameters,
        "players": form.num_players,
        "nodes": form.num_nodes,
        "leaves": form.num_leaves,
        "sequences": [treeplex.num_sequences for treeplex in form.treeplexes],
        "infosets": [treeplex.num_infosets for treeplex in form.treeplexes],
        "levels": [len(treeplex.levels) for treeplex in form.treeplexes],
        "nnz": int(form.A.nnz) if form.num_players == 2 else None,
        "zero_sum": form.is_zero_sum,
        "largest_payoff": form.payoff_scale,
        "value": None if value is None else float(value),
        "value_exact": str(value) if isinstance(value, Fraction) else None,
        "value_source": game.reference_source or None,
        "citation": game.citation or None,
        "fingerprint": game.fingerprint,
        "build_seconds": build_seconds,
    }
    return json_ready(record)  # type: ignore[no-any-return]


def _print(record: dict[str, Any], infosets: Infosets | None) -> None:
    from rich.text import Text

    out = console()
    value = record["value_exact"] or (None if record["value"] is None else f"{record['value']:.13g}")
    source = f"  ({record['value_source']})" if record["value_source"] else ""
    values = ", ".join(f"{key}={_shown(value)}" for key, value in record["parameters"].items())
    rows = {
        "game": Text(record["game"], style="bold cyan"),
        "parameters": values or "none",
        "players": f"{record['players']}, {'zero-sum' if record['zero_sum'] else 'general-sum'}",
        "histories": f"{_count(record['nodes'])}, {_count(record['leaves'])} of them leaves",
        "sequences": listed(record["sequences"]),
        "infosets": listed(record["infosets"]),
        "levels": f"{listed(record['levels'])} (own decisions in a row)",
        "payoff matrix": f"{_count(record['nnz'])} non-zeros" if record["nnz"] is not None else "a table of leaves",
        "largest payoff": f"{record['largest_payoff']:g}",
        "value": "not known" if value is None else f"{value}{source}",
        "citation": record["citation"] or "none",
        "fingerprint": record["fingerprint"],
        "built in": f"{record['build_seconds']:.3g} s",
    }
    show_rows(out, rows)
    for player, records in enumerate(infosets or []):
        out.print()
        _print_infosets(player, records)


def _print_infosets(player: int, records: list[dict[str, Any]]) -> None:
    """Print a player's infosets a line each, plainly, for there may be many thousands."""
    rows = [("infoset", "actions", "after")]
    rows += [(one["infoset"], " ".join(one["actions"]), one["parent"] or "the start") for one in records]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in rows]
    typer.echo(f"player {player}: {len(records):,} infosets")
    typer.echo("\n".join(f"  {line}" for line in lines))


def _count(number: int | None) -> str:
    return "not known" if number is None else f"{number:,}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
