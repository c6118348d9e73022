"""What ``treeplex info`` says of games that it does not build, or not to the end."""

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from effort import thorough

from treeplex import Game, load_game
from treeplex.cli import main
from treeplex.models.games.leduc import Leduc
from treeplex.models.games.patrol.walker import Body
from treeplex.models.games.transit import Transit
from treeplex.models.games.transit_flow import flow_size
from treeplex.models.games.transit_histories import histories_size
from treeplex.seqform.budget import counting


def record_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["info", *arguments, "--json", "-"]) == 0
    record: dict[str, Any] = json.loads(capsys.readouterr().out)
    return record


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be built."""

    def build(game: Game) -> None:
        raise AssertionError(f"{game.spec} is built")

    for form in ("sequence_form", "public_form"):
        monkeypatch.setattr(Game, form, property(build))


@pytest.mark.usefixtures("unbuilt")
@pytest.mark.parametrize(
    ("spec", "sequences", "infosets"),
    [
        ("transit:width=30", [539_559, 695_617], [61_951, 79_645]),
        ("preflop", [6_930, 15_549], [2_366, 4_563]),
        ("preflop:raises=10,streets=3,continuations=0,stack=1000", [554_659, 554_490], [242_515, 242_515]),
        ("three_handed", [20_619, 22_647, 24_168], [8_450, 9_126, 9_802]),
    ],
)
def test_large_forms_are_sized_and_not_built(
    spec: str, sequences: list[int], infosets: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    record = record_of(capsys, spec)
    assert (record["sequences"], record["infosets"]) == (sequences, infosets)
    assert record["players"] == len(sequences)
    assert record["nodes"] is record["fingerprint"] is record["build_seconds"] is None
    assert record["memory"].endswith("MB")
    assert "budget" not in record
    assert main(["info", spec]) == 0
    shown = capsys.readouterr().out
    assert "the sizes come from a formula; --infosets builds the game" in shown
    assert ("none: plans are flows" in shown) == (record["single_parent"] is False) == spec.startswith("transit")


@pytest.mark.usefixtures("unbuilt")
@pytest.mark.parametrize(
    ("spec", "keys"),
    [("transit:width=5", ("sequences", "infosets")), ("leduc:ranks=6", ("nodes", "leaves", "sequences", "infosets"))],
)
def test_what_does_not_fit_is_sized_too(
    spec: str, keys: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "1MB")
    record = record_of(capsys, spec)
    assert record["budget"] == "1 MB"
    assert all(record[key] for key in keys)
    assert main(["info", spec]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"memory about {record['memory']} to build it budget 1 MB: it does not fit; choose smaller" in shown


@pytest.mark.usefixtures("unbuilt")
def test_public_states_are_refused_before_anything_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "three_handed", "--public"]) == 2
    assert "three_handed has no histories to visit" in capsys.readouterr().err


@pytest.mark.usefixtures("unbuilt")
def test_lines_are_named_without_payoffs(capsys: pytest.CaptureFixture[str]) -> None:
    functionals = record_of(capsys, "preflop")["functionals"]
    assert len(functionals) == 147
    assert functionals["call, raise"]["player"] == 1
    # Of a hundred times as many lines nobody makes a vector each.
    assert record_of(capsys, "preflop:continuations=0,streets=3")["functionals"] is None


@pytest.mark.parametrize(
    "spec",
    [
        "preflop:stack=10",
        "preflop:stack=4,continuations=1",
        "preflop:stack=7,continuations=2,chooser=sb,raises=1",
        "preflop:stack=5,continuations=0,streets=2",
        pytest.param("three_handed:stack=4", marks=thorough),
    ],
)
def test_sizes_are_those_of_the_form(spec: str) -> None:
    game = load_game(spec)
    size, treeplexes = game.size, game.sequence_form.treeplexes
    assert size is not None
    assert size.sequences == tuple(treeplex.num_sequences for treeplex in treeplexes)
    assert size.infosets == tuple(treeplex.num_infosets for treeplex in treeplexes)
    for functional in game.functionals.values():
        assert len(functional.coefficients) == size.sequences[functional.player]


def test_long_horizons_are_counted_once_where_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    moves_at = Body.moves_at

    def counted(body: Body, time: int, *arguments: Any) -> Any:
        looks.append(time)
        return moves_at(body, time, *arguments)

    monkeypatch.setattr(Body, "moves_at", counted)
    size = flow_size(Transit(width=3, horizon=1000))
    assert 0 < len(looks) < 50
    shorter = flow_size(Transit(width=3, horizon=999))
    # The patroller's moves of one step: from corners, edges and the inner cells of 3 × 6.
    assert size.sequences[1] - shorter.sequences[1] == 4 * 4 + 10 * 6 + 4 * 9


@pytest.mark.parametrize("seed", range(20))
def test_what_does_not_change_is_counted_as_if_it_did(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, last, moves = 6, 25, 9
    sources, targets = np.concatenate(
        [np.arange(nodes).repeat(2).reshape(2, -1), rng.integers(nodes, size=(2, moves))], 1
    )
    order = np.argsort(sources, kind="stable")
    durations = np.concatenate([np.ones(2 * nodes, dtype=int), rng.integers(1, 5, size=moves)])
    body = Body(
        sources[order],
        targets[order],
        durations[order],
        nodes,
        entry_times=np.array([0, 12]),
        entry_nodes=rng.integers(nodes, size=2),
        last=last,
        chooses=True,
        failure=float(rng.choice([0.0, 0.1, 1.0])),
        gone=np.arange(nodes) == 0 if seed % 2 else None,
    )
    # If it is said of every move when it may begin, each time is looked at.
    looked_at = replace(body, opened=np.ones((last, len(order)), dtype=bool))
    assert (body.reachable == looked_at.reachable).all()
    assert body.size == looked_at.size


def test_histories_of_transit_are_told_while_they_are_counted() -> None:
    told: list[int] = []
    with counting(told.append):
        size = histories_size(Transit(width=10, horizon=30, form="histories"))
    assert len(told) == 30
    assert told == sorted(told)
    assert told[-1] + size.leaves == size.nodes


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tenth of a second pass at every look at the clock, and Leduc poker have no formula."""
    ticks = itertools.count()
    monkeypatch.setattr("treeplex.seqform.limits.now", lambda: next(ticks) / 10.0)
    monkeypatch.delattr(Leduc, "size")


@pytest.mark.usefixtures("slow")
def test_a_walk_without_a_formula_ends_with_what_it_has_met(capsys: pytest.CaptureFixture[str]) -> None:
    record = record_of(capsys, "leduc:ranks=6")
    assert 1 < record["at_least"] < 100_993
    assert record["nodes"] is record["sequences"] is record["memory"] is None
    assert record["players"] == 2
    assert record["stopped"] == "building it takes more than 7 seconds; --public builds it completely"
    assert main(["info", "leduc:ranks=6"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[1:3] for line in shown.splitlines() if line.startswith("histories")] == [["at", "least"]]
    assert record["stopped"] in shown
    assert record_of(capsys, "leduc:ranks=6", "--public")["nodes"] == 100_993


def test_a_walk_that_does_not_fit_ends_with_what_it_has_met(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Leduc, "size")
    monkeypatch.setenv("TREEPLEX_MEMORY", "1MB")
    record = record_of(capsys, "leduc:ranks=6")
    assert 1 < record["at_least"] < 100_993
    assert "the game is not finished and has used" in record["stopped"]
    assert main(["info", "leduc:ranks=6", "--public"]) == 2
