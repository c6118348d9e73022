"""``treeplex info``: the size and structure of a game."""

from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform import memory
from ..seqform.limits import now
from ..seqform.sheet import Column, Row, Sheet, Table, counted, listed, seconds, setting, several
from .errors import CommandLineError
from .files import Record, check_files, write_json
from .flops import describe as describe_flops
from .flops import flops_of
from .nodes import spot_of
from .options import GameArgument, JsonOption
from .progress import waiting
from .spots import describe
from .tables import print_rows

if TYPE_CHECKING:
    from ..seqform.budget import FormSize
    from ..seqform.game import Game
    from ..seqform.polytope import Treeplex

Infosets = list[list[dict[str, Any]]]

#: Public states are counted by default in games with at most this many histories, which takes about a second.
_QUICK = 200_000
#: Larger games are not built if a formula gives their sizes: walking them takes seconds.
_BUILT = 500_000
#: Time limit in seconds for building a game without a formula; the steps after it take a few more.
_SECONDS = 7.0
#: Seconds until a count without a formula first reports its progress.
_FIRST_WORD = 2.0
#: All functionals are listed up to this number; of more, only a few.
_FEW, _SHOWN = 12, 4


def info(
    game: GameArgument,
    infosets: Annotated[
        bool, typer.Option("--infosets", help="List every infoset with its actions and parent sequence.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Count public states even in a large game, or explain why there are none.")
    ] = False,
    json: JsonOption = None,
) -> int:
    """Show the sizes of a game, its value if known, and its infosets."""
    check_files({}, json=json)
    from ..models.games import load_game
    from ..seqform.budget import counting

    begun = now()
    told = _Counted(game)
    with counting(told):  # a tree in a file is walked while it is read
        loaded = load_game(game)
    spot = spot_of(loaded)
    if spot is not None:
        if infosets:
            raise CommandLineError(
                f"--infosets: {loaded.spec} has one infoset for each hand at {spot.size.nodes:,} nodes; "
                "'treeplex solve --hands' shows the strategy of hands"
            )
        return describe(spot, json)
    flops = flops_of(loaded)
    if flops is not None:
        return describe_flops(flops, json)
    if public and loaded.rules is None:
        _ = loaded.public_tree  # raises before anything is built if there is none
    record, records = Record(json, ()), None
    unbuilt = None if infosets or public else _unbuilt(loaded, told, shown=record.shown)
    if unbuilt is not None:
        record |= unbuilt
    else:
        with waiting(f"building {loaded.spec}", shown=record.shown), counting(told):
            form = loaded.sequence_form
        took = now() - begun
        with waiting(f"counting public states of {loaded.spec}", shown=record.shown):
            record |= game_record(loaded, took, _public_sizes(loaded, public))
        if infosets:
            records = [infoset_records(player, treeplex) for player, treeplex in enumerate(form.treeplexes)]
    write_json(record if records is None else record | {"infoset_list": records}, json)
    if record.shown:
        _print(record, records)
    return 0


class _Counted:
    """Reports progress on standard error: after a few seconds, then at doubling intervals."""

    def __init__(self, spec: str) -> None:
        self.spec, self.begun, self.wait = spec, now(), _FIRST_WORD
        self.histories = 0

    def __call__(self, histories: int) -> None:
        self.histories = histories
        if now() - self.begun >= self.wait:
            self.wait *= 2
            typer.echo(f"{self.spec}: still counting, {memory.counted(histories)} histories so far", err=True)


def _unbuilt(game: "Game", told: _Counted, *, shown: bool) -> dict[str, Any] | None:
    """Return what is known about a game that takes long to build or does not fit; ``None`` for other games."""
    from ..seqform.budget import Budget, counting
    from ..seqform.errors import GameTooLargeError, TimeLimitError
    from ..seqform.limits import time_limited

    try:
        with waiting(f"building {game.spec}", shown=shown), counting(told), time_limited(_SECONDS):
            size = game.size
            if size is None:
                _ = game.sequence_form
    except GameTooLargeError as error:
        return size_record(game, None, at_least=told.histories, stopped=str(error))
    except TimeLimitError:
        how = "--infosets" if game.rules is None else "--public"
        reason = f"building it takes more than {_SECONDS:g} seconds; {how} builds it completely"
        return size_record(game, None, at_least=told.histories, stopped=reason)
    if size is None:
        return None
    is_quick = size.is_quick if size.nodes is None else size.nodes <= _BUILT
    return None if is_quick and Budget().left(size.bytes) >= 0 else size_record(game, size)


def _public_sizes(game: "Game", wanted: bool) -> tuple[int, int] | None:
    """Return the numbers of public states and levels; ``None`` if there are none or counting would take long.

    Raises
    ------
    UnsupportedProblemError, GameTooLargeError
        If the user asks for them, and the game has none or does not fit.
    """
    from ..seqform.errors import GameTooLargeError, UnsupportedProblemError

    if not wanted and (game.sequence_form.num_nodes or 0) > _QUICK:
        return None
    try:
        return game.public_tree.num_states, game.public_tree.num_levels
    except (UnsupportedProblemError, GameTooLargeError):
        if wanted:
            raise
        return None


#: Only known after building: sizes of the form, and other properties.
_OF_FORMS = ("levels", "public_states", "public_levels", "nnz", "factored", "zero_sum", "constant_sum", "single_parent")
_OF_GAMES = ("functionals", "largest_payoff", "fingerprint", "build_seconds")


def size_record(game: "Game", size: "FormSize | None", **counted: Any) -> dict[str, Any]:
    """Return what is known about a game that is not built: its size, or the histories `counted` so far."""
    from ..seqform.budget import Budget
    from ..seqform.interchange.encoding import json_ready

    sizes = {key: getattr(size, key, None) for key in ("nodes", "leaves", "sequences", "infosets")}
    record = _about(game) | sizes | dict.fromkeys((*_OF_FORMS, *_OF_GAMES))
    if size is None:
        record |= {"players": None if game.rules is None else game.num_players, "memory": None} | counted
    else:
        needed = memory.in_words(size.bytes)
        record |= {"players": len(size.sequences), "single_parent": size.single_parent, "memory": needed}
        if size.names_functionals:
            record |= {"functionals": _functional_records(game)}
        if Budget().left(size.bytes) < 0:
            record |= {"budget": memory.in_words(Budget().limit)}
    return json_ready(record)  # type: ignore[no-any-return]


def _functional_records(game: "Game") -> dict[str, Any]:
    return {
        name: {"player": functional.player, "description": functional.description}
        for name, functional in game.functionals.items()
    }


def _about(game: "Game") -> dict[str, Any]:
    """Return what is known about a game without building it."""
    from fractions import Fraction

    value = game.reference_value
    return {
        "game": game.spec,
        "parameters": game.parameters,
        "action_words": {word: str(label) for word, label in game.action_words.items()},
        "value": None if value is None else float(value),
        "value_exact": str(value) if isinstance(value, Fraction) else None,
        "value_source": game.reference_source or None,
        "equilibria": [list(map(str, paid)) for paid in getattr(game.rules, "equilibria", ())] or None,
        "citation": game.citation or None,
    }


def game_record(game: "Game", build_seconds: float, public_sizes: tuple[int, int] | None = None) -> dict[str, Any]:
    """Return a description of a game as plain data, ready for JSON."""
    from ..seqform.interchange.encoding import json_ready

    form = game.sequence_form
    record = _about(game) | {
        "players": form.num_players,
        "nodes": form.num_nodes,
        "leaves": form.num_leaves,
        "sequences": [treeplex.num_sequences for treeplex in form.treeplexes],
        "infosets": [treeplex.num_infosets for treeplex in form.treeplexes],
        "levels": [len(treeplex.levels) for treeplex in form.treeplexes],
        "public_states": None if public_sizes is None else public_sizes[0],
        "public_levels": None if public_sizes is None else public_sizes[1],
        "nnz": form.nnz,
        "factored": form.factored is not None,
        "zero_sum": form.is_zero_sum,
        "constant_sum": form.constant_sum if not form.payoffs.is_operator or form.is_zero_sum else None,
        "single_parent": all(treeplex.single_parent for treeplex in form.treeplexes),
        "functionals": _functional_records(game),
        "largest_payoff": form.payoff_scale,
        "fingerprint": game.fingerprint,
        "build_seconds": build_seconds,
    }
    return json_ready(record)  # type: ignore[no-any-return]


def infoset_records(player: int, treeplex: "Treeplex") -> list[dict[str, Any]]:
    """Return a player's infosets in order: name, actions, and the sequences that lead there.

    ``parent`` is the name of the only parent sequence, null for the empty sequence. In a flow polytope ``inflow`` lists
    all parents with their weights, the empty sequence as null.
    """
    from ..seqform.names import quoted_label, sequence_name

    inflow = treeplex.inflow
    starts, sequences, weights = inflow.indptr.tolist(), inflow.indices.tolist(), inflow.data.tolist()
    records = []
    for number, (label, actions) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)):
        record: dict[str, Any] = {
            "infoset": f"{player}/{quoted_label(label)}",
            "actions": [quoted_label(action) for action in actions],
        }
        inflows = range(starts[number], starts[number + 1])
        names = [sequence_name(player, treeplex, sequences[place]) for place in inflows]
        if treeplex.single_parent:
            record["parent"] = names[0]
        else:
            record["inflow"] = [[name, weights[place]] for name, place in zip(names, inflows, strict=True)]
        records.append(record)
    return records


def _equilibria(record: dict[str, Any], source: str) -> Row | None:
    """Return the row of known equilibria; ``None`` if the game has a value, or none are known."""
    if record["equilibria"] is None or record["value"] is not None:
        return None
    paid = ", ".join(f"({', '.join(payoffs)})" for payoffs in record["equilibria"])
    return Row("equilibria", f"they pay {paid}{source}")


def _print(record: dict[str, Any], infosets: Infosets | None) -> None:
    value = record["value_exact"] or (None if record["value"] is None else f"{record['value']:.13g}")
    source = f"  ({record['value_source']})" if record["value_source"] else ""
    values = ", ".join(f"{key}={_shown(value)}" for key, value in record["parameters"].items())
    if record["build_seconds"] is None:
        how = "--infosets" if record["nodes"] is None else "--public"
        walked = [
            Row("not_built", record.get("stopped") or _UNBUILT.format(how)),
            Row("memory", record["memory"], "about {} to build it".format),
            Row("budget", record.get("budget"), meaning=_TOO_LARGE),
        ]
    else:
        walked = [
            Row("levels", record["levels"], listed, " (own decisions in a row)"),
            Row("public_tree", _public(record)),
            Row("payoffs", _payoffs(record)),
            Row("largest_payoff", record["largest_payoff"], setting),
        ]
    rows = [
        Row("game", record["game"]),
        Row("parameters", values or "none"),
        Row("players", record["players"], meaning=_sums(record)),
        Row("histories", _histories(record)),
        Row("sequences", record["sequences"], listed),
        Row("infosets", record["infosets"], listed),
        *walked,
        Row("functionals", _functionals(record) if record["functionals"] else None),
        _equilibria(record, source) or Row("value", "not known" if value is None else f"{value}{source}"),
        Row("action_words", [f"{word} is {label}" for word, label in record["action_words"].items()], several(str)),
        Row("citation", record["citation"] or "none"),
        Row("fingerprint", record["fingerprint"]),
        Row("build_seconds", record["build_seconds"], seconds, " s", "built in"),
    ]
    print_rows(*Sheet(rows).rows)
    for player, records in enumerate(infosets or []):
        typer.echo()
        _print_infosets(player, records)


_UNBUILT = "the sizes come from a formula; {} builds the game and shows its levels, payoffs and fingerprint"
_TOO_LARGE = ": it does not fit; choose smaller parameters, or raise the limit with TREEPLEX_MEMORY or --memory"


def _print_infosets(player: int, records: list[dict[str, Any]]) -> None:
    """Print a player's infosets as plain lines, because there may be thousands."""
    rows = [(one["infoset"], " ".join(one["actions"]), _before(one)) for one in records]
    table = Table([Column(heading) for heading in ("infoset", "actions", "after")], rows)
    typer.echo(f"player {player}: {counted(len(records), 'infoset')}")
    typer.echo(indent(str(table), "  "))


def _before(record: dict[str, Any]) -> str:
    """Return the parents of an infoset, with weights if there are several."""
    if "parent" in record:
        return record["parent"] or "the start"
    return ", ".join(f"{name or 'the start'} ({weight:g})" for name, weight in record["inflow"])


def _sums(record: dict[str, Any]) -> str:
    if record["zero_sum"] is None:  # the game is not built
        return ""
    if record["constant_sum"] is None or record["players"] == 1:
        return ", general-sum" if record["players"] > 1 else ", a decision problem"
    return f", payoffs sum to {record['constant_sum']:g}" if record["constant_sum"] else ", zero-sum"


def _payoffs(record: dict[str, Any]) -> str:
    if record["nnz"] is None:
        return "a table of leaves"
    return f"{'two factors, ' if record['factored'] else ''}{record['nnz']:,} non-zeros"


def _functionals(record: dict[str, Any]) -> str:
    found = record["functionals"]
    listed = [
        f"{name} (player {one['player']}): {one['description']}"
        for name, one in list(found.items())[: len(found) if len(found) <= _FEW else _SHOWN]
    ]
    more = f"{len(found)} in all, listed by --json -, such as " if len(found) > len(listed) else ""
    return more + "; ".join(listed)


def _histories(record: dict[str, Any]) -> str:
    if record.get("at_least"):
        return f"at least {memory.counted(record['at_least'])}"
    if record["single_parent"] is False:
        return "none: plans are flows, and several sequences lead to an infoset"
    return "not known" if record["nodes"] is None else f"{record['nodes']:,}, {record['leaves']:,} of them leaves"


def _public(record: dict[str, Any]) -> str:
    states, levels = record["public_states"], record["public_levels"]
    if states is not None:
        return f"{states:,} public states on {levels:,} levels"
    return "none, without histories" if record["nodes"] is None else "not counted; see --public"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
