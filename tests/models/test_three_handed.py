"""Three-handed hold'em before the flop: deals, shares of pots, the tree, and a few iterations."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from effort import either, few, thorough

from treeplex import InvalidGameError, InvalidStrategyError, Nash, Profile, expected_payoffs, load_game, solve
from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASSES
from treeplex.models.games.holdem.three_handed import ThreeHanded
from treeplex.models.games.holdem.three_handed_form import deal, shares
from treeplex.models.games.holdem.three_handed_solved import SolvedThreeHanded
from treeplex.seqform.rules import TERMINAL
from treeplex.solvers import opponent_strategy


@pytest.mark.parametrize(
    "names", [("AA", "AA", "AKs"), ("AKs", "AKo", "A2s"), ("72o", "T9s", "55"), ("KQo", "KQo", "QQ")]
)
def test_deals_are_counted(names: tuple[str, ...]) -> None:
    classes = [CLASSES.index(name) for name in names]
    first, second, third = ([set(hand) for hand in HANDS[one == CLASS_OF_HAND].tolist()] for one in classes)
    count = sum(not (a & b) and not ((a | b) & c) for a in first for b in second for c in third)
    expected = count / (1326 * 1225 * 1128)
    assert deal()[tuple(classes)] == pytest.approx(expected, rel=1e-6)


def test_deals_do_not_know_seats() -> None:
    assert float(deal().sum(dtype=np.float64)) == pytest.approx(1.0)
    for axes in ((1, 0, 2), (0, 2, 1)):
        np.testing.assert_array_equal(deal(), deal().transpose(axes))


def test_shares_make_a_pot() -> None:
    whole = shares() + shares().transpose(1, 0, 2) + shares().transpose(2, 1, 0)
    np.testing.assert_allclose(whole, 1.0, atol=1e-5)
    np.testing.assert_array_equal(shares(), shares().transpose(0, 2, 1))


@few
@pytest.mark.parametrize("names", [("AA", "KK", "QQ"), ("AKs", "QQ", "JTs"), ("72o", "83o", "94o")])
def test_shares_are_those_of_sampled_deals(names: tuple[str, ...]) -> None:
    """Six cards are dealt, and boards compared by the evaluator; the file has other deals and boards."""
    from treeplex.models.games.holdem.showdown import strengths

    classes = [CLASSES.index(name) for name in names]
    random, total, dealt = np.random.default_rng(7), 0.0, 0
    while dealt < 3000:
        hands = [int(random.choice(np.flatnonzero(one == CLASS_OF_HAND))) for one in classes]
        cards = HANDS[hands].ravel()
        if len(set(cards.tolist())) < 6:
            continue
        board = random.choice(np.setdiff1d(np.arange(52), cards), 5, replace=False)
        found = strengths(board.tolist(), np.array(hands))
        total += float(found[0] == found.max()) / (found == found.max()).sum()
        dealt += 1
    error = np.sqrt(0.25 / dealt)
    assert shares()[tuple(classes)] == pytest.approx(total / dealt, abs=4 * error)


def test_the_tree() -> None:
    form = ThreeHanded(stack=25).form
    assert (len(form.decisions), form.num_leaves) == (162, 238)
    assert form.is_zero_sum
    for line in ("raise 2, raise 3, all-in, fold, call", "fold, fold", "call, call, check"):
        assert form.players[form.find(line)] == TERMINAL
    assert form.players[form.find("call, call")] == 2


@thorough
def test_what_hands_are_worth_when_everybody_calls() -> None:
    """All play to the showdown for one big blind each: each is paid its share of three."""
    game = load_game("three_handed:stack=10")
    form = ThreeHanded(stack=10).form
    leaf = form.find("call, call, check")
    paid = [
        sum(
            float(group.amounts[player, group.nodes == leaf].sum()) * group.payoff.sum(dtype=np.float64)
            for group in form.joint_leaves
        )
        for player in range(3)
    ]
    np.testing.assert_allclose(paid, 0.0, atol=1e-5)  # nobody has the better cards on average
    uniform = expected_payoffs(game, Profile.uniform(game))
    assert abs(uniform.sum()) < 1e-6


@pytest.mark.slow
def test_it_comes_near_an_equilibrium() -> None:
    game = load_game("three_handed:stack=15")
    solution = solve(Nash(game), "cfr+:precision=single", tol=0.02, max_iterations=200)
    assert solution.exploitability < 0.02


def test_parameters() -> None:
    with pytest.raises(InvalidGameError, match="stack = 3; expected"):
        load_game("three_handed:stack=3")


@thorough
def test_the_script_estimates_parts_of_pots() -> None:
    """On a sample of boards, every three classes share a pot, and differ from the file by chance alone."""
    path = Path(__file__).parents[2] / "examples" / "three_handed_equities.py"
    spec = importlib.util.spec_from_file_location("three_handed_equities", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    random = np.random.default_rng(0)
    boards = np.sort(np.array([random.choice(52, 5, replace=False) for _ in range(300)]), axis=1)
    first, second = script.estimate(boards, np.ones(300, dtype=np.int64), rounds=1)
    i, j, k = script.TRIPLES
    known = shares()[i, j, k], shares()[j, i, k]
    for found, exact in zip((first, second), known, strict=True):
        assert abs(float((found - exact).mean())) < 0.02  # three hundred boards for all classes
        assert float((found - exact).std()) < 0.06


# Nodes


@pytest.fixture(scope="module")
def random_play():
    """Return a random profile of the game with 4 big blinds, and its view."""
    game = load_game("three_handed:stack=4")
    profile = Profile([opponent_strategy(f"random:seed={player}", game, player) for player in range(3)])
    return game, profile, SolvedThreeHanded(ThreeHanded(stack=4), profile)


def test_evs_at_the_root_are_those_of_the_profile(random_play) -> None:
    game, profile, solved = random_play
    root = solved.at()
    assert (root.mover, root.pot, root.probability) == ("button", 1.5, pytest.approx(1.0))
    earned = [root.averages[f"{seat} ev"] - paid for seat, paid in zip(root.seats, root.paid, strict=True)]
    assert earned == pytest.approx(expected_payoffs(game, profile).tolist(), abs=1e-6)


def test_evs_and_equities_of_all_seats_make_the_pot(random_play) -> None:
    nodes = list(random_play[2])
    assert {node.mover for node in nodes} == {"button", "sb", "bb"}
    for node in nodes[:: len(nodes) // either(4, 12)]:
        mean = node.averages
        assert sum(mean[f"{seat} ev"] for seat in node.seats) == pytest.approx(node.pot, abs=1e-6)
        assert sum(mean[f"{seat} equity"] or 0.0 for seat in node.seats) == pytest.approx(1.0, abs=1e-5)
        for player in set(range(3)) - set(node.state.in_play):
            assert mean[f"{node.seats[player]} equity"] is None
            assert mean[f"{node.seats[player]} ev"] == pytest.approx(0.0, abs=1e-6)  # a fold is worth 0


def test_the_ev_of_a_node_is_the_mean_of_its_actions(random_play) -> None:
    solved = random_play[2]
    node = solved.at("raise 2, fold")
    after = [solved.at(f"raise 2, fold, {action}") for action in node.actions]
    here = np.array(node.evs[2])
    spent = [one.paid[2] - node.paid[2] for one in after]
    each = np.array([one.evs[2] - cost for one, cost in zip(after, spent, strict=True)])
    np.testing.assert_allclose((node.strategy * each).sum(axis=0), here, atol=1e-5)
    # A call ends the betting, and aces are worth their share of the pot.
    call = after[node.actions.index("call")]
    np.testing.assert_allclose(call.evs[2], call.pot * call.equities[2], atol=1e-5)


def test_a_chart_of_three_players_has_three_seats(random_play) -> None:
    node = random_play[2].at("call")
    with pytest.raises(InvalidGameError, match=r"seat is 'oop', expected button, sb or bb"):
        node.classes("oop")
    assert len(node.classes("button")) == 169
    rows = node.hands("bb", only="AA, 72o")
    assert [row["class"] for row in rows] == ["AA", "72o"]
    pytest.importorskip("matplotlib")
    for seat in node.seats[either(1, 0) :]:
        assert f"{seat.upper()} {'to act' if seat == 'sb' else 'waits'}  ·  call" in [
            text.get_text() for text in node.figure(seat).texts
        ]


def test_a_view_of_another_stack_is_refused(random_play) -> None:
    with pytest.raises(InvalidStrategyError, match="the profile is for another game"):
        SolvedThreeHanded(ThreeHanded(stack=5), random_play[1])
