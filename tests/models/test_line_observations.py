"""What lines and hands shown at their ends say of an opponent, in games in public form."""

import io
from typing import Any

import numpy as np
import pytest
from effort import either
from observed_games import drawn_counts

from treeplex import (
    Game,
    InvalidConstraintError,
    Observations,
    OpponentModel,
    PlayLogError,
    Profile,
    Strategy,
    UnsupportedProblemError,
    load_game,
    observer_tree,
)
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.matches import HandHistories
from treeplex.models.observations import LineObservations, hand_observations, spot_frequencies
from treeplex.models.observations.hands import MenuLines
from treeplex.seqform.public_form import PublicForm
from treeplex.solvers.opponents.counter_strategies import counter_strategy
from treeplex.solvers.opponents.strategies import opponent_strategy

PREFLOP = "preflop:stack=5,continuations=0,raises=1"


@pytest.fixture(scope="module")
def model() -> Game:
    return load_game(PREFLOP)


@pytest.fixture(scope="module")
def leduc() -> Game:
    form = PublicForm.from_rules(load_game("leduc:merge_suits=true").rules)
    return Game.from_public_form(form, "leduc in public form")


def reach(game: Game, strategy: Strategy) -> np.ndarray:
    form = game.public_form
    rows = [form.sequences(strategy.player, node) for node in range(len(form.players))]
    return np.array([np.where(row >= 0, strategy.plan[row], 0.0) for row in rows])


def dealt(form: PublicForm, node: int) -> np.ndarray:
    """Return the probability of each pair of states at a node, chance's alone."""
    columns = np.eye(len(form.states[1]))
    return np.abs(np.stack([form.arrival(0, node, column) for column in columns], axis=1))


def drawn(
    game: Game, probe: Strategy, opponent: Strategy, games: int, seed: int, looked: Any = None, shows: float = 1.0
) -> LineObservations:
    """Draw games, and count what one seat sees of them; called hands are shown with a probability."""
    form, rng = game.public_form, np.random.default_rng(seed)
    looked = np.ones(len(form.players), bool) if looked is None else looked
    ends = [node for node in range(len(looked)) if looked[node] and not looked[form.children[node]].any()]
    reaches = [reach(game, one) for one in sorted((probe, opponent), key=lambda one: one.player)]
    chances = np.stack([dealt(form, node) * np.outer(reaches[0][node], reaches[1][node]) for node in ends])
    counts = rng.multinomial(games, (chances / chances.sum()).ravel()).reshape(chances.shape)
    passed = np.zeros(len(looked), dtype=np.int64)
    held, shown = (
        np.zeros((len(looked), len(form.states[seat])), np.int64) for seat in (probe.player, 1 - probe.player)
    )
    for node, pairs in zip(ends, counts, strict=True):
        mine, theirs = pairs.sum(axis=1 - probe.player), pairs.sum(axis=probe.player)
        if str(form.actions[node]) not in ("fold", "f"):
            shown[node] = rng.binomial(theirs, shows)
        path = node
        while path >= 0:
            passed[path] += pairs.sum()
            held[path] += mine
            path = int(form.parents[path])
    return LineObservations(game, probe.player, passed, held, shown, looked)


@pytest.mark.parametrize("player", [0, 1])
def test_the_probability_of_each_event_is_how_often_it_happens(leduc: Game, player: int) -> None:
    probe = opponent_strategy("random:seed=1", leduc, player)
    opponent = opponent_strategy("random:seed=2", leduc, 1 - player)
    seen = drawn(leduc, probe, opponent, 10**12, seed=3, shows=1.0)
    known = LineObservations(leduc, player, seen.passed, seen.held, seen.shown, seen.looked, probe)
    model = OpponentModel.from_observations(known)
    assert len(model.events) > 100
    np.testing.assert_allclose(model.probabilities(opponent.plan), model.frequencies, atol=1e-5)
    np.testing.assert_allclose(seen.reach, known.reach, atol=1e-3)  # the estimate of the probe


def test_hands_that_are_not_shown_loosen_bounds_from_above(leduc: Game) -> None:
    probe, opponent = (opponent_strategy(f"random:seed={player}", leduc, player) for player in (0, 1))
    seen = drawn(leduc, probe, opponent, 10**10, seed=3, shows=0.4)
    model = OpponentModel.from_observations(LineObservations(leduc, 0, seen.passed, seen.held, seen.shown, None, probe))
    found = model.probabilities(opponent.plan)
    assert (model.lower <= found + 1e-4).all()
    assert (found <= model.upper + 1e-4).all()
    loose = model.highest > model.frequencies
    assert loose.any()
    assert not loose[["shows" not in name for name in model.events.names]].any()


def test_lines_of_the_model_that_real_sizes_stand_for() -> None:
    form = load_game("preflop:stack=50,continuations=0").public_form
    lines = MenuLines(form, 50)
    for played, expected in (
        (["call", "check"], "call, check"),
        (["raise 4"], "raise 2"),
        (["raise 5"], "raise 3"),  # 2.5 big blinds: (1 - .75)(1 + .5) / (.5 (1 + .75)) = 0.43, less than a half
        (["raise 12"], "raise 3"),  # (24.5 - 2.5)(1 + 1) / (23.5 (1 + 2.5)) = 0.53
        (["raise 40"], "all-in"),
        (["raise 90"], "all-in"),
        (["raise 6", "raise 20", "fold"], "raise 3, raise 9, fold"),
        (["all-in", "call"], "all-in, call"),
        (["raise 6", "all-in", "call"], "raise 3, all-in, call"),
        (["raise 6", "raise 96", "all-in", "call"], "raise 3, all-in, call"),
        (["call", "raise 8", "call"], "call, raise 3, call"),
    ):
        nodes = lines.line(played, level=2)
        assert ", ".join(map(str, form.path(nodes[-1]))) == expected, played
    with pytest.raises(PlayLogError, match="fold has no counterpart"):
        lines.line(["call", "fold"], level=2)


HAND = """[1]
variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [10, 10]
actions = ['d dh p1 KcKd', 'd dh p2 AcAd', 'p2 cbr 10', 'p1 cc', 'p2 sm AcAd', 'p1 sm KcKd', 'd db 2c7d9h3c4c']
players = ['them', 'us']
"""


def hands(*texts: str) -> HandHistories:
    return HandHistories(io.BytesIO("\n".join(texts).encode()))


def test_hands_are_counted_where_they_belong_and_the_others_say_why(model: Game) -> None:
    texts = [
        HAND,
        HAND.replace("'p1 cc', 'p2 sm AcAd', 'p1 sm KcKd', 'd db 2c7d9h3c4c'", "'p1 f'"),
        HAND.replace("'us'", "'someone'"),
        HAND.replace("['them', 'us']", "['us', 'them']"),
        HAND.replace("antes = [0, 0]", "antes = [1, 1]").replace("cbr 10", "cbr 9"),
        HAND.replace("[10, 10]", "[200, 200]").replace("cbr 10", "cbr 200"),
        HAND.replace("p2 cbr 10', 'p1 cc', 'p2 sm AcAd', 'p1 sm KcKd', 'd db 2c7d9h3c4c'", "p2 cc', 'p1 f'"),
        # The big blind is a post, after which the first player acts first.
        HAND.replace("[1, 2]", "[1, -2]").replace(
            "p2 cbr 10', 'p1 cc', 'p2 sm AcAd', 'p1 sm KcKd', 'd db 2c7d9h3c4c'", "p1 cc', 'p2 f'"
        ),
    ]
    seen = hand_observations(hands(*texts), model, 0, name="us")
    form = seen.form
    assert seen.num_games == 2
    assert seen.left_out == {
        "other players": 1, "other seat": 1, "other blinds": 2, "other stacks": 1, "other actions": 1,
    }  # fmt: skip
    called, folded = form.find("all-in, call"), form.find("all-in, fold")
    assert (seen.passed[called], seen.passed[folded]) == (1, 1)
    assert seen.shown[called, form.states[1].index("KK")] == 1
    assert seen.shown[folded].sum() == 0  # what was folded is never used, though the file says it
    assert seen.held[0, form.states[0].index("AA")] == 2
    with pytest.raises(PlayLogError, match=r"no hand counts, expected hands .*; skipped: 8 of other players"):
        hand_observations(hands(*texts), model, 0, name="nobody")
    with pytest.raises(PlayLogError, match="neither a player nor an opponent is named"):
        hand_observations(hands(HAND), model, 0)
    with pytest.raises(UnsupportedProblemError, match="hand observations need a game preflop"):
        hand_observations(hands(HAND), load_game("kuhn"), 0, name="us")


def overfolding(game: Game, player: int) -> Strategy:
    """Return somebody who folds half of what uniform play would not."""
    treeplex = game.sequence_form.treeplexes[player]
    rows = {}
    for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
        share = 0.6 if "fold" in actions else 0.0
        rest = (1.0 - share) / (len(actions) - (share > 0.0))
        rows[label] = {action: share if action == "fold" else rest for action in actions}
    return Strategy.from_dict(game, player, rows)


def covered(game: Game, log: int, games: int, iterations: int) -> tuple[bool, bool]:
    """Return whether an opponent fits a log, and whether the guarantee is below what the response really earns."""
    looked = MenuLines(game.public_form, 5).first_street
    probe, opponent = Strategy.uniform(game, 0), overfolding(game, 1)
    seen = drawn(game, probe, opponent, games, log, looked, shows=0.3)
    model = OpponentModel.from_observations(
        LineObservations(game, 0, seen.passed, seen.held, seen.shown, looked, probe), 0.95, bonferroni=True
    )
    found = model.probabilities(opponent.plan)
    fits = bool(((model.lower <= found + 1e-12) & (found <= model.upper + 1e-12)).all())
    response = counter_strategy(model, "dcfr", max_iterations=iterations)
    assert response.guaranteed is not None
    return fits, response.penalty is not None or response.guaranteed <= response.payoff_against(opponent) + 1e-9


def test_the_guarantee_holds_where_the_opponent_fits(model: Game) -> None:
    for log in range(either(2, 10)):
        fits, holds = covered(model, log, 3000, iterations=30)
        assert holds or not fits


@pytest.mark.slow
def test_a_hundred_logs_cover_the_opponent_as_often_as_is_said(model: Game) -> None:
    found = [covered(model, log, 3000, iterations=30) for log in range(100)]
    assert sum(fits for fits, _ in found) >= 95 - 2 * np.sqrt(100 * 0.95 * 0.05)
    assert all(holds for fits, holds in found if fits)
    print(f"{sum(fits for fits, _ in found)} of 100 logs covered; the guarantee held in {sum(h for _, h in found)}")


def test_frequencies_after_the_flop_become_locks_of_a_spot() -> None:
    text = """variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [206, 206]
actions = ['p2 cbr 6', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 6', 'p1 f']
players = ['them', 'us']
"""
    flops = [text, text.replace("'p1 f'", "'p1 cc', 'd db 3c', 'p1 cbr 20', 'p2 f'")]
    others = [
        text.replace("2c7d9h", "2c7c9h"),  # another class of board
        text.replace("['them', 'us']", "['us', 'them']"),
        text.replace("[206, 206]", "[24, 206]"),
        text.replace("'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 6', 'p1 f'", "'p1 f'"),
    ]
    played = [*flops[:1] * 70, *flops[1:] * 30, *others]
    source = "".join(f"[{number}]\n{one}" for number, one in enumerate(played)).encode()
    spot = HoldemSpot("AhKd4c", ["QQ, JJ", "AQ, KQ"], pot=100, stack=1500, bets="50%, 100%")
    found = spot_frequencies(HandHistories(io.BytesIO(source)), spot, "oop", "them")
    by_name = {(one.at, one.action): one for one in found}
    check, fold, call = by_name["", "check"], by_name["check, bet 50", "fold"], by_name["check, bet 50", "call"]
    assert (check.count, check.times) == (100, 100)
    assert (fold.count, call.count, fold.times) == (70, 30, 100)
    assert fold.lower < 0.7 < fold.upper
    assert not any(one.count for one in found if one.action == "all-in")
    assert list(map(str, fold.locks)) == [
        f'oop at "check, bet 50": fold {sense} {100 * bound:.10g}%'
        for sense, bound in ((">=", np.floor(fold.lower * 1e4) / 1e4), ("<=", np.ceil(fold.upper * 1e4) / 1e4))
    ]
    with pytest.raises(InvalidConstraintError, match="seat is 'btn', expected oop or ip"):
        spot_frequencies([], spot, "btn", "them")


@pytest.mark.slow
def test_a_hundred_logs_of_leduc_cover_the_opponent_and_the_guarantee_holds() -> None:
    game = load_game("leduc:merge_suits=true")
    empty = Observations(game, 0, np.zeros(observer_tree(game, 0).num_classes, dtype=int), Strategy.uniform(game, 0))
    opponent = opponent_strategy("cfr:iterations=3", game, 1)
    profile, fits, holds = Profile([empty.probe, opponent]), [], []
    for log in range(100):
        seen = empty.with_counts(drawn_counts(empty.view, profile, 3000, log))
        model = OpponentModel.from_observations(seen, 0.95, bonferroni=True)
        true = model.probabilities(opponent.plan)
        fits.append(bool(((model.lower <= true + 1e-12) & (true <= model.upper + 1e-12)).all()))
        response = counter_strategy(model)
        holds.append(response.guaranteed <= response.payoff_against(opponent) + 1e-9)
    print(f"{sum(fits)} of 100 logs covered; the guarantee held in {sum(holds)}")
    assert sum(fits) >= 95 - 2 * np.sqrt(100 * 0.95 * 0.05)
    assert all(held for fit, held in zip(fits, holds, strict=True) if fit)
