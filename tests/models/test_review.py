"""The review of play: losses by best responses, habits, and a planted leak that comes first."""

import io
from typing import Any

import numpy as np
import pytest
from effort import either

from treeplex import PlayLogError
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.preflop import Preflop
from treeplex.models.games.holdem.preflop_solved import SolvedPreflop
from treeplex.models.matches import Hand, HandHistories
from treeplex.models.review import Review, ReviewedPreflop, ReviewedSpot, review, spot_of_hand
from treeplex.models.review.decisions import Judge
from treeplex.models.review.habits import with_habit
from treeplex.seqform.public_profile import PublicProfile

pytest.importorskip("pokerkit")
from reviewed_hands import as_phh, played, river, written


def read(text: str) -> list[Hand]:
    return list(HandHistories(io.BytesIO(text.encode())))


def reviewed(text: str, hero: str = "hero", **options: Any) -> Review:
    return review(read(text), hero, ReviewedSpot(river(), **options))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_planted_leak_comes_first_from_500_hands(seed: int) -> None:
    """The hero folds rivers too often: three in five of the hands that the equilibrium does not fold."""
    found = reviewed(written(500, seed, overfolds=0.6))
    first = found.habits[0]
    assert (first.street, first.kind) == ("river", "fold")
    assert first.situation in ("facing a bet", "facing a raise")
    assert first.frequency > first.upper - 0.5 > 0
    assert first.frequency > first.usual + 0.2
    assert first.lower > first.usual
    assert first.cost > 10.0
    assert str(first).startswith(f"river, {first.situation}, {first.group}: folds ")
    assert found.lost.mean > 10.0
    assert found.hands == len(found.losses) == 500


def test_an_equilibrium_player_has_no_habits() -> None:
    """Whoever plays the strategy of the file loses no more than its exploitability, and nobody gains by its habits."""
    found = reviewed(written(either(200, 2000), seed=5))
    assert found.gap is not None
    assert found.gap < 0.01
    assert abs(found.lost.mean) < 0.01
    assert all((habit.exploitable or 0.0) < 0.5 for habit in found.habits)
    assert found.left_out == {}


def test_results_without_luck_vary_less_and_have_the_same_mean() -> None:
    """Two players who follow the file: the expectation is the value of the spot minus what was put in before."""
    found = reviewed(written(either(400, 3000), seed=6))
    solved = river()
    # Half a big blind per chip; five big blinds were put in before.
    expected = 100.0 * (0.5 * (solved.profile.value(0) + solved.spot.pot / 2) - 5.0)
    assert found.result is not None
    assert found.adjusted is not None
    widths = []
    for rate in (found.adjusted, found.result):
        assert rate.lower is not None
        assert rate.upper is not None
        assert rate.lower < expected < rate.upper
        widths.append(rate.upper - rate.lower)
    assert widths[0] < 0.9 * widths[1]


def test_losses_of_a_strategy_add_up_to_what_it_lacks_of_a_best_response() -> None:
    """The identity of the class Judge, with reach and losses summed by hand over all infosets."""
    solved = river()
    form, rng = solved.form, np.random.default_rng(3)
    other = {node: rng.random((len(form.children[node]), len(form.states[int(form.players[node])]))) for node in
             form.decisions.tolist()}  # fmt: skip
    for seat in (0, 1):
        game = ReviewedSpot(SolvedSpot(solved.spot, PublicProfile(form, other)))
        nodes = np.flatnonzero(form.players == seat).tolist()
        judge, profile = Judge(game, nodes), game.profile
        total = 0.0
        for node in nodes:
            reach, played_there = profile.reach(seat, node), profile.behaviour(node)
            for state in np.flatnonzero(reach > 0).tolist():
                found = judge.losses(seat, node, state)
                if found is not None:
                    losses, arrival = found
                    own = reach[state] / form.weights[seat][state]
                    total += arrival * own * float(losses @ played_there[:, state])
        assert total == pytest.approx(float(judge.payoffs[1, seat] - judge.payoffs[0, seat]), abs=1e-9)


def test_lower_bounds_hold_for_every_strategy_that_makes_the_mistake() -> None:
    """A strategy that plays towards a decision and errs there loses the proven part, times the reach."""
    solved = river()
    spot, form = solved.spot, solved.form
    worse = {
        node: 0.99 * solved.profile.behaviour(node) + 0.01 / len(form.children[node])
        for node in form.decisions.tolist()
    }
    game = ReviewedSpot(SolvedSpot(spot, PublicProfile(form, worse)))
    nodes = np.flatnonzero(form.players == 0).tolist()
    judge, value = Judge(game, nodes), solved.profile.value(0)
    assert judge.gap is not None
    assert judge.gap > 0.01
    tried = 0
    for node in nodes:
        for state in range(len(form.states[0])):
            found = judge.losses(0, node, state)
            if found is None:
                continue
            losses, reach = found
            for place, loss in enumerate(losses.tolist()):
                lower = max(0.0, loss - judge.gap / reach)
                if lower <= 0.0:
                    continue
                changed = {each: np.array(game.profile.behaviour(each)) for each in form.decisions.tolist()}
                here, towards = node, place
                while True:  # with this hand, play towards the decision
                    if form.players[here] == 0:
                        changed[here][:, state] = np.eye(len(changed[here]))[towards]
                    if here == 0:
                        break
                    parent = int(form.parents[here])
                    towards = int(np.flatnonzero(form.children[parent] == here)[0])
                    here = parent
                earned = PublicProfile(form, changed).value(0)
                assert value - earned >= reach * lower - 1e-9
                tried += 1
    assert tried > 10


def test_a_habit_changes_frequencies_as_it_says() -> None:
    solved = river()
    game, form = ReviewedSpot(solved), solved.form
    nodes = [node for node, _, situation in game.infosets(0) if situation == "facing a bet"]
    group = "bluff-catchers"
    for usual, often in ((0.4, 0.7), (0.4, 0.1), (0.4, 1.0), (0.4, 0.0)):
        changed = with_habit(game, 0, nodes, group, "fold", usual, often)
        for node in form.decisions.tolist():
            before, after = game.profile.behaviour(node), changed.behaviour(node)
            assert after.sum(axis=0) == pytest.approx(1.0)
            mine = [node in nodes and one == group for one in game.groups(node)]
            assert np.array_equal(before[:, ~np.array(mine)], after[:, ~np.array(mine)])
            if node in nodes:
                place = game.kinds(node).index("fold")
                there = before[place, mine]
                wanted = there + (1 - there) * (often - usual) / (1 - usual) if often > usual else there * often / usual
                assert after[place, mine] == pytest.approx(wanted)


def test_sizes_are_mapped_and_counted_and_nothing_is_lost_silently() -> None:
    states, _ = played(1, 1)[0]
    line = [(0, "bet 16"), (1, "call")]
    found = reviewed(as_phh(states, line, 1))
    assert [(one.played, one.action, one.mapped) for one in found.decisions] == [("bet 16", "bet 20", True)]
    unknown = as_phh(states, line, 1)
    assert "d dh p1" in unknown
    start = unknown.index("d dh p1 ") + 8
    hidden = unknown.replace(unknown[start : start + 4], "????", 1).replace(
        ", 'p1 sm " + unknown[start : start + 4] + "'", ""
    )
    others = {
        "own cards unknown": hidden.replace("'p2 sm", "'p1 sm', 'p2 sm"),
        "other boards": as_phh(states, line, 1).replace("d db 2s", "d db 3s"),
        "another ratio of stack to pot": as_phh(states, line, 1).replace("stacks = [50, 50]", "stacks = [90, 90]"),
    }
    for reason, text in others.items():
        assert reviewed(text).left_out == {reason: 1}, text
    assert reviewed(as_phh(states, line, 1), "nobody").left_out == {"other players": 1}


def test_reviews_before_the_flop() -> None:
    """Folding aces to an all-in loses what a call would have won, by the equities of the game."""
    rules = Preflop(stack=10, continuations=0)
    uniform = SolvedPreflop(rules, PublicProfile.uniform(rules.public_form))
    text = (
        "variant = 'NT'\nantes = [0, 0]\nblinds_or_straddles = [1, 2]\nmin_bet = 2\nstarting_stacks = [20, 20]\n"
        "actions = ['d dh p1 AsAh', 'd dh p2 ????', 'p2 cbr 20', 'p1 f']\nplayers = ['hero', 'them']\n"
    )
    found = review(read(text), "hero", ReviewedPreflop(uniform))
    (one,) = found.decisions
    assert (one.street, one.situation, one.cards, one.line) == ("preflop", "facing a raise", "AA", "all-in")
    node = uniform.at("all-in")
    equity = float(node.equities[1][[str(state) for state in uniform.form.states[1]].index("AA")])
    assert one.loss == pytest.approx(20 * equity - 9, abs=1e-6)
    deep = text.replace("[20, 20]", "[90, 90]").replace("cbr 20", "cbr 90")
    assert review(read(deep), "hero", ReviewedPreflop(uniform)).left_out == {"other stacks": 1}
    assert review(read(text), "hero", ReviewedPreflop(uniform, seat=0)).left_out == {"other seat": 1}


def test_spots_of_hands() -> None:
    (hand,) = read(as_phh(*played(1, 1)[0], 1))
    spot = spot_of_hand(hand, "turn", ["AA, KK", "QQ"])
    assert (spot.board, spot.pot, spot.stack) == ("Ks9d4c7h", 1000, 2000)
    assert HoldemSpot.from_toml(spot.to_toml()).pot == 1000
    preflop = read("variant = 'NT'\nantes = [0, 0]\nblinds_or_straddles = [1, 2]\nmin_bet = 2\n"
                   "starting_stacks = [20, 20]\nactions = ['p2 f']\nplayers = ['a', 'b']\n")[0]  # fmt: skip
    with pytest.raises(PlayLogError, match="the hand ends before the flop"):
        spot_of_hand(preflop, "flop", ["AA", "KK"])
