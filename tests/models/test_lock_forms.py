"""Locks of made hands, of counted frequencies, and of likely hands."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import beta
from toy_spots import toy_spot

from treeplex import ConstrainedNash, EpsilonNash, Nash, Status, solve
from treeplex.models.games.holdem import HoldemSpot, Lock, SolvedSpot
from treeplex.models.games.holdem.cards import HAND_NAMES, RANKS, read_board
from treeplex.models.games.holdem.likely import shifted, with_likely_locks
from treeplex.models.games.holdem.made_hands import MADE_HANDS, made
from treeplex.seqform.errors import InvalidConstraintError

THREE = "QdQh, JdJh, 9d9h"


def kind_of(cards, deck="full"):
    """Return the kind of the best five of some cards, by counting."""
    best = -1
    for five in combinations(cards, 5):
        ranks, suits = sorted(RANKS.index(card[0]) for card in five), {card[1] for card in five}
        counts = sorted((ranks.count(rank) for rank in set(ranks)), reverse=True)
        lowest = [0, 1, 2, 3, 12] if deck == "full" else [4, 5, 6, 7, 12]
        straight = len(set(ranks)) == 5 and (ranks[4] - ranks[0] == 4 or ranks == lowest)
        flush = len(suits) == 1
        kind = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1}.get(tuple(counts), 0)
        kind = 8 if straight and flush else max(kind, 5 * flush, 4 * straight)
        order = {5: 6, 6: 5}.get(kind, kind) if deck == "short" else kind
        best = max(best, order)
    return {5: 6, 6: 5}.get(best, best) if deck == "short" else best


@pytest.mark.parametrize(
    ("board", "deck"),
    [("QcJc9c3d2d", "full"), ("Td9d6h", "full"), ("AhKhQh9s", "full"), ("8c8d7h7s6c", "short"), ("5c4d3h2sAc", "full")],
)
def test_kinds_of_made_hands_are_those_of_the_best_five_cards(board, deck):
    cards = [board[place : place + 2] for place in range(0, len(board), 2)]
    numbers = tuple(read_board(board, deck))
    kinds = {name: made(name, numbers, deck) for name in MADE_HANDS}
    highest = max(RANKS.index(card[0]) for card in cards)
    for hand in np.random.default_rng(1).choice(len(HAND_NAMES), 150, replace=False).tolist():
        held = [HAND_NAMES[hand][:2], HAND_NAMES[hand][2:]]
        found = {name for name in MADE_HANDS if kinds[name][hand]}
        if set(held) & set(cards):
            assert not found
            continue
        if deck == "short" and min(RANKS.index(card[0]) for card in held) < 4:
            continue
        kind, ranks = kind_of([*held, *cards], deck), [RANKS.index(card[0]) for card in held]
        expected = {MADE_HANDS[kind]}
        expected |= {"overpair"} if kind == 1 and ranks[0] == ranks[1] > highest else set()
        expected |= {"top pair"} if kind == 1 and ranks[0] != ranks[1] and highest in ranks else set()
        expected |= {"set"} if kind == 3 and ranks[0] == ranks[1] else set()
        assert found == expected, HAND_NAMES[hand]


def test_locks_name_made_hands_and_classes_together():
    ranges = {"second": "QdQh, JdJh, AsQs, KhTh, 8s7s"}
    lock = toy_spot(**ranges, locks=['ip at "all-in" with "set, AQs" each: fold 100%'])
    assert {one.name.partition(" with ")[2][:4] for one in lock.constraints} == {"AsQs", "JhJd", "QhQd"}
    table = {"seat": "ip", "at": "all-in", "hands": ["set", "class AQs"], "strategy": {"fold": 1}}
    assert [one.name for one in toy_spot(**ranges, locks=[table]).constraints] == [one.name for one in lock.constraints]
    by_hand = {"seat": "ip", "at": "all-in", "strategy": {"set": {"fold": 0}, "straight": {"call": 1}}}
    assert len(toy_spot(**ranges, locks=[by_hand]).constraints) == 3


# Counts


@pytest.mark.parametrize(("count", "of", "confidence"), [(41, 80, 0.95), (0, 12, 0.99), (7, 7, 0.9)])
def test_a_count_bounds_the_frequency_by_its_interval(count, of, confidence):
    low = beta.ppf((1 - confidence) / 2, count, of - count + 1) if count else 0.0
    high = beta.ppf((1 + confidence) / 2, count + 1, of - count) if count < of else 1.0
    table = {"seat": "ip", "at": "all-in", "stat": "fold to bet", "count": count, "of": of, "confidence": confidence}
    text = f'ip at "all-in": fold {count} of {of} at {100 * confidence:g}%'
    for lock in (Lock.parse(table), Lock.read(text)):
        assert str(lock) == text
        assert Lock.parse(str(lock)) == lock == Lock.parse(next(lock.tables(toy_spot())))
        assert [float(bound.number) for bound in lock.bounds] == pytest.approx([low, high])
        assert [bound.sense for bound in lock.bounds] == [">=", "<="]
    between = toy_spot(locks=[f'ip at "all-in": fold >= {low:.17g}, call >= {1 - high:.17g}'])
    counted = toy_spot(locks=[table])
    values = [solve(ConstrainedNash(one.game, one.constraints), "highs").value for one in (between, counted)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    known = toy_spot(locks=[counted.locks[0].without_intervals()])
    assert solve(ConstrainedNash(known.game, known.constraints), "highs").value >= values[1] - 1e-9


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ({"stat": "fold", "count": 3}, "a lock by a statistic has no of, expected out of how many"),
        ({"stat": "fold", "count": 3, "of": 2}, "fold 3 of 2: received 3 successes in 2 trials"),
        ({"stat": "fold", "count": 3.5, "of": 4}, "count of a lock is 3.5, expected a whole number"),
        ({"stat": "flod to bet", "count": 3, "of": 4}, "there is no 'flod' there (did you mean fold?)"),
        ({"stat": "fold", "cuont": 3, "of": 4}, "a lock has no 'cuont' (did you mean count?)"),
        (
            {"stat": "fold", "count": 3, "of": 4, "confidence": 95},
            "confidence of a lock is 95, expected a number between",
        ),
        ({"stat": "fold", "count": 3, "of": 4, "frequency": {"fold": 1}}, "a lock has frequency and stat"),
        ('ip at "all-in" each: fold 3 of 4', "a count covers all hands together"),
        ('ip at "all-in": fold 0 of 0', "expected at least one opportunity"),
        ('ip at "all-in" with "sets": fold 10%', "(did you mean set?)"),
        ('ip at "all-in" likly: fold 10%', "received 'likly' (did you mean likely?)"),
        ('ip at "all-in" likely: fold >= 10%', "a likely lock fixes total frequencies"),
        ({"frequency": {"fold": 0.5}, "shape": "likley"}, "expected any or likely (did you mean likely?)"),
    ],
    ids=str,
)
def test_what_is_written_wrong_is_refused_in_one_line(lock, message):
    given = lock if isinstance(lock, str) else {"seat": "ip", "at": "all-in"} | lock
    with pytest.raises(InvalidConstraintError, match=re.escape(message)) as refused:
        _ = toy_spot(second=THREE, locks=[given]).constraints
    assert "\n" not in str(refused.value)


# Likely hands


@pytest.mark.parametrize("seed", range(6))
def test_shifted_strategies_are_the_nearest_ones_with_their_totals(seed):
    random = np.random.default_rng(seed)
    actions, hands = int(random.integers(2, 4)), 4
    reference, weights = random.dirichlet(np.ones(actions), hands).T, random.random(hands) + 0.1
    totals = random.dirichlet(np.ones(actions)).tolist()[: actions - 1 if seed % 2 else actions]
    found = shifted(reference, weights, [(place,) for place in range(len(totals))], totals)
    assert found.sum(axis=0) == pytest.approx(1.0)
    assert (found @ weights / weights.sum())[: len(totals)] == pytest.approx(totals, abs=1e-9)

    def divergence(flat):
        played = np.maximum(flat.reshape(reference.shape), 1e-300)
        return float((weights * played * np.log(played / reference)).sum())

    held = [{"type": "eq", "fun": lambda flat: flat.reshape(reference.shape).sum(axis=0) - 1.0}]
    held += [{
        "type": "eq",
        "fun": lambda flat, place=place, total=total:
            flat.reshape(reference.shape)[place] @ weights / weights.sum() - total,
    } for place, total in enumerate(totals[: actions - 1])]  # fmt: skip
    known = minimize(divergence, reference.ravel(), bounds=[(1e-12, 1.0)] * reference.size, constraints=held,
                     method="SLSQP", options={"ftol": 1e-12, "maxiter": 500})  # fmt: skip
    assert divergence(found.ravel()) <= known.fun + 1e-7


@pytest.mark.parametrize("rake", [0.0, 0.05])
def test_a_likely_lock_fixes_the_hands_and_keeps_the_total(rake):
    ranges = ["AcKc, AdKd, 8h7h", "QdQh, JdJh, 9d9h, AsAh, 5s5h"]
    free = HoldemSpot("QcJc9c3d2d", ranges, 100, 100, bets="50%, a", rake=rake)
    solution = solve(EpsilonNash(free.game), tol=0.01) if rake else solve(Nash(free.game), "highs")
    solved = SolvedSpot(free, solution.profile)
    for total in (0.0, 0.2, 0.7, 1.0):
        locks = [
            {"seat": "ip", "at": "all-in", "frequency": {"fold": total}, "shape": "likely"},
            "oop at root: bet >= 1%",
        ]
        spot = with_likely_locks(replace(free, bets=None, locks=locks), solved)
        assert str(spot.locks[0]) == f'ip at "all-in" likely: fold {100 * total:g}%'
        assert spot.locks[1] == Lock.read("oop at root: bet >= 1%")
        held = spot.game.functionals["all-in, fold"]
        locked = [one for one in spot.constraints if one.player == 1]
        answer = solve(EpsilonNash(spot.game, locked), tol=0.01)
        assert answer.status is Status.CONVERGED
        assert held.value(answer.profile[1]) == pytest.approx(total, abs=1e-6)
        again = HoldemSpot.from_toml(spot.to_toml())
        assert [one.name for one in again.constraints] == [one.name for one in spot.constraints]
    more = {hand: one["fold"] for hand, one in spot.locks[0].strategy.items()}
    assert set(more.values()) == {1.0}
    with pytest.raises(InvalidConstraintError, match="expected with_likely_locks"):
        _ = replace(free, bets=None, locks=locks).constraints
