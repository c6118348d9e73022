"""Locks of hold'em spots: toys worked out by hand, what is read, and what is refused."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from effort import either, thorough
from toy_spots import toy_spot

from treeplex import (
    BestResponse,
    ConstrainedNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Nash,
    RestrictedNash,
    Strategy,
    UnsupportedProblemError,
    load_game,
    restricted_nash_frontier,
    solve,
    trade_off,
    worst_case,
)
from treeplex.models.constraints import parse_constraint, parse_term
from treeplex.models.games.holdem import HoldemSpot, Lock, SolvedSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.games.holdem.cards import RangeWarning
from treeplex.seqform import GameFileError, InvalidConstraintError

pytest.importorskip("phevaluator")

THREE = "QdQh, JdJh, 9d9h"


def toy(*locks, ip="QdQh", bets="100%"):
    """Nuts or air against hands that beat only air; pot and stacks of 100."""
    return toy_spot(second=ip, bets=bets, locks=locks)


def answer(spot, player=0):
    """Return the best response to the locks of the other player, and its EV."""
    locks = [one for one in spot.constraints if one.player != player]
    solution = solve(BestResponse(spot.game, locks))
    return solution, solution.objective + spot.pot / 2


# By hand. Called with probability c, the nuts are worth 100 + 100 c; air is worth 100 − 200 c if it bluffs, else 0. Of
# its value of 75, the spot gains 5 either way at c = .4 and .6; an opponent who knows of it always calls, or folds.


@pytest.mark.parametrize(
    ("call", "bluffs", "ev"), [(0.4, 1.0, 80.0), (0.6, 0.0, 80.0), (0.25, 1.0, 87.5), (1.0, 0.0, 100.0)]
)
@pytest.mark.parametrize(
    "lock",
    [
        lambda call: f'ip at "all-in": call {call}',
        lambda call: f'ip at "all-in" each: fold {100 - 100 * call}%',
        lambda call: f'ip at "all-in": call {">=" if call > 0.5 else "<="} {call}',
        lambda call: {"seat": "ip", "at": "all-in", "strategy": {"fold": 1 - call, "call": call}},
        lambda call: {"seat": "ip", "at": "all-in", "frequency": {"fold": 1 - call}},
        lambda call: Lock("ip", {"QQ": {"call": call}}, at="All-in"),
    ],
)
def test_air_bluffs_always_or_never_beside_the_indifference_point(call, bluffs, ev, lock):
    spot = toy(lock(call))
    solution, earned = answer(spot)
    assert earned == pytest.approx(ev, abs=1e-9)
    assert solution.gain == pytest.approx(ev - 75.0, abs=1e-9)
    assert solution.exploitability == pytest.approx(25.0, abs=1e-9)
    form = spot.public_form
    bets = dict(zip(form.states[0], solution.profile[0].behaviour[form.sequences(0, form.find("all-in"))], strict=True))
    assert bets == pytest.approx({"AcKc": 1.0, "8h7h": bluffs}, abs=1e-9)
    assert solve(ConstrainedNash(spot.game, spot.constraints)).value == pytest.approx(ev - 50.0, abs=1e-9)


def test_nothing_is_gained_at_the_indifference_point():
    solution, earned = answer(toy('ip at "all-in": call 1/2'))
    assert (earned, solution.gain) == pytest.approx((75.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    ("lock", "ev"),
    [
        ('ip at "all-in" with "QQ": call 100%', 75.0),  # the others call a quarter of the time each
        ('ip at "all-in" with "QQ": fold 100%', 75.0),  # three quarters
        ('ip at "all-in" with "QQ, JJ" each: call 100%', 50.0 + 100.0 / 3.0),  # the third folds, as nobody bluffs
        ('ip at "all-in" with "QQ, JJ": fold 100%', 50.0 + 100.0 / 3.0),  # nuts 100 + 100 / 3, air 100 − 200 / 3
        ('ip at "all-in" with "QQ, JJ": fold >= 90%', 50.0 + 30.0),  # at most 1/3 + .2/3 = .4 call
        ('ip at "all-in" with "QQ, JJ": fold <= 10%', 50.0 + 30.0),  # at least .6 do
        ('ip at "all-in" with "QdQh, JdJh" each: fold 90%, call 10%', 80.0),
    ],
)
def test_some_of_three_hands_are_locked(lock, ev):
    spot = toy(lock, ip=THREE)
    _, earned = answer(spot)
    assert earned == pytest.approx(ev, abs=1e-9)


def test_fractions_solve_locks_exactly():
    spot = toy('ip at "all-in": call 40%')
    assert solve(BestResponse(spot.game, spot.constraints), "rational").objective == 30
    response = solve(RestrictedNash(spot.game, spot.constraints, p="1/7"), "rational")
    assert (response.objective, response.exact is not None) == (25, True)


# With bluffs b above one half the locked payoff gains 10 b − 5, and 50 b − 25 may be lost: five to one.


def test_the_curve_of_safety_runs_from_the_equilibrium_to_the_locked_response():
    spot = toy('ip at "all-in": call 40%')
    curve = restricted_nash_frontier(spot.game, spot.constraints)
    assert curve.exploitabilities == pytest.approx(np.linspace(0.0, 25.0, 20), abs=1e-6)
    assert curve.gains == pytest.approx(np.linspace(0.0, 5.0, 20), abs=1e-6)
    assert curve.breakpoints == pytest.approx([5.0 / 6.0] * 19, abs=1e-6)
    assert curve.gap == pytest.approx(0.0, abs=1e-6)
    for strategy, lost in zip(curve.strategies, curve.exploitabilities, strict=True):
        assert 25.0 - worst_case(spot.game, strategy) == pytest.approx(lost, abs=1e-9)
    safe = solve(EpsilonSafeResponse(spot.game, spot.constraints, epsilon=10))
    assert (safe.gain, safe.exploitability) == pytest.approx((2.0, 10.0), abs=1e-7)
    assert safe.multipliers["safety"] == pytest.approx(0.2, abs=1e-7)


@pytest.mark.parametrize(("p", "gained", "lost"), [(0.8, 0.0, 0.0), (0.85, 5.0, 25.0), (1.0, 5.0, 25.0)])
def test_restricted_nash_trades_one_for_the_other(p, gained, lost):
    spot = toy('ip at "all-in" each: call 40%')
    response = solve(RestrictedNash(spot.game, spot.constraints, p=p))
    assert response.exploitability == pytest.approx(lost, abs=1e-7)
    assert response.gain == pytest.approx(gained, abs=1e-7)


# Own limits. Nuts bet with n, air with b: the least of 50 + 50 b (all fold) and 50 + 50 n − 50 b (all call); with
# (n + b) / 2 at most L it is 50 + 100 L / 3.


def test_ones_own_bets_have_a_limit_and_a_price():
    spot = toy("oop at root: bet <= 30%")
    solution = solve(ConstrainedNash(spot.game, spot.constraints))
    assert solution.value + 50.0 == pytest.approx(60.0, abs=1e-9)
    assert solution.multipliers == pytest.approx({"oop at root: bet <= 30%": 100.0 / 3.0}, abs=1e-7)
    assert solution.gap < 1e-9
    (named,) = parse_constraint("bet <= 0.3 as seldom", spot.game)
    assert solve(ConstrainedNash(spot.game, [named])).value == pytest.approx(10.0, abs=1e-9)
    assert solve(
        EpsilonSafeStyle(spot.game, epsilon=15, minimise=parse_term("bet", spot.game))
    ).objective == pytest.approx(0.3)
    curve = trade_off(spot.game, spot.game.functionals["bet"])
    assert curve.loss(0.3) == pytest.approx(15.0, abs=1e-9)


def test_locks_of_both_players_hold_together():
    spot = toy("oop at root: bet <= 30%", 'ip at "all-in": call 40%')
    solution = solve(ConstrainedNash(spot.game, spot.constraints))
    # A bet of the nuts brings 40 more than a check, one of air 20.
    assert solution.value + 50.0 == pytest.approx(50.0 + 0.5 * 0.6 * 40.0, abs=1e-9)


def test_lines_of_a_spot_are_functionals():
    spot = toy(ip=THREE)
    lines = spot.game.functionals
    assert {"check", "all-in", "bet", "all-in, fold", "check, all-in, call"} <= set(lines)
    uniform = [Strategy.uniform(spot.game, player) for player in (0, 1)]
    assert lines["bet"].value(uniform[0]) == pytest.approx(0.5)
    assert lines["check, all-in, fold"].value(uniform[0]) == pytest.approx(0.25)
    assert lines["all-in, fold"].value(uniform[1]) == pytest.approx(0.5)
    (row,) = parse_constraint('"all-in, fold" <= 0.25', spot.game)
    (lock,) = toy('ip at "all-in": fold <= 25%', ip=THREE).constraints
    assert row.value(uniform[1].plan) == pytest.approx(lock.value(uniform[1].plan))


def test_averages_weigh_hands_as_they_are_dealt():
    # Aces meet one of the other hands, kings three.
    spot = HoldemSpot(
        "Td9d6hQc2s",
        ["AsAh:0.5, KsKh", "AsAd, AsJs, AsKs, KcKd"],
        100,
        100,
        bets="100%",
        locks=["oop at root: bet <= 0.2"],
    )
    (row,) = spot.constraints
    form = spot.public_form
    hands = form.states[0]
    plan = np.zeros(spot.game.sequence_form.treeplexes[0].num_sequences)
    weights = {}
    for hand, place in zip(hands, form.sequences(0, form.find("all-in")), strict=True):
        plan[:] = 0.0
        plan[place] = 1.0
        weights[hand] = row.value(plan) + 0.2
    assert weights == pytest.approx({"AsAh": 0.5 * 1 / 3.5, "KsKh": 3 / 3.5})


def test_a_lock_deeper_in_the_tree_weighs_hands_by_how_they_come_there():
    spot = toy('oop at "check, all-in": fold 100%')
    plan = Strategy.uniform(spot.game, 0).plan
    assert [one.value(plan) for one in spot.constraints] == pytest.approx([0.25])
    # Air gives up anyway, the nuts need not: they bet. So nothing is lost.
    assert solve(ConstrainedNash(spot.game, spot.constraints)).value == pytest.approx(25.0)


def test_what_a_strategy_plays_is_locked(tmp_path):
    spot = toy(ip=THREE)
    profile = solve(Nash(spot.game)).profile
    profile.save(tmp_path / "solution.npz")
    SolvedSpot(spot, profile).save(tmp_path / "solved.npz")
    (tmp_path / "spot.toml").write_text(
        toy({"seat": "ip", "at": "everywhere", "strategy": "solution.npz"}, ip=THREE).to_toml()
    )
    for given in (profile, profile[1], *(str(tmp_path / name) for name in ("solution.npz", "solved.npz"))):
        locked = toy(Lock("ip", given, at="everywhere"), ip=THREE)
        solution, earned = answer(locked)
        assert earned == pytest.approx(75.0, abs=1e-7)
        names = {one.name for one in locked.constraints}
        (tmp_path / "written.toml").write_text(locked.to_toml())
        again = HoldemSpot.from_file(tmp_path / "written.toml")
        assert answer(again)[1] == pytest.approx(75.0, abs=1e-7)
        assert {one.name for one in again.constraints} == names
    read = HoldemSpot.from_file(tmp_path / "spot.toml")
    assert {one.name for one in read.constraints} == names
    folds = Strategy.from_behaviour(spot.game, 1, np.full(len(profile[1].plan), 0.5))
    solution, earned = answer(toy(Lock("ip", folds, at="all-in"), ip=THREE))
    assert (earned, solution.gain) == pytest.approx((75.0, 0.0), abs=1e-7)
    with pytest.raises(InvalidConstraintError, match="expected a strategy of ip on this spot"):
        _ = toy(Lock("ip", Strategy.uniform(load_game("kuhn"), 1), at="all-in")).constraints


@pytest.mark.parametrize(("hands", "kept"), [("98s-65s", 1), ("[20]QdQh, JJ[/20]", 2), ("JJ-99, QdQh", 3)])
def test_hands_of_a_lock_are_read_as_ranges_are(hands, kept):
    spot = toy(Lock("ip", {"call": 1}, "all-in", hands=hands), ip=f"{THREE}, 9s8s")
    assert len(spot.constraints) == kept  # a row for each of the hands


def test_several_weights_of_a_hand_in_a_lock_are_noted():
    with pytest.warns(RangeWarning, match="QhQd has the weight 1 from an earlier item and 0.5 from this one"):
        _ = toy(Lock("ip", {"call": 1}, "all-in", hands="QQ, QdQh:0.5")).constraints


def test_cards_are_named_or_any():
    turn = HoldemSpot(
        "QcJc9c3d", ["AcKc, 8h7h", "QdQh"], 100, 100, bets={"bet": "100%", "turn": {"bet": ""}},
        locks=['ip at "check, check, deal 2d, all-in": call 40%'],
    )  # fmt: skip
    form = turn.public_form
    assert [one.name for one in turn.constraints] == [
        f'ip at "check, check, 2d, all-in": call 40% ({side})' for side in ("at most", "at least")
    ]
    anywhere = HoldemSpot(
        "QcJc9c3d", turn.ranges, 100, 100, turn.betting, locks=['ip at "check, check, deal *, all-in": call <= 40%']
    )
    assert len(anywhere.constraints) == len(form.children[form.find("check, check")]) - 2 == 46
    with pytest.raises(InvalidConstraintError, match="none of these hands can be dealt there"):
        _ = HoldemSpot(
            "QcJc9c3d",
            turn.ranges,
            100,
            100,
            turn.betting,
            locks=['ip at "check, check, deal Qd, all-in" with "QQ": fold 1'],
        ).constraints


# What is read


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('ip at "bet 120": fold 40%', 'ip at "bet 120" :fold==.4'),
        (
            'oop at "check, bet 120" with "AKs, 77": call >= 50%',
            'oop at "check, bet 120" with "AKs, 77" : call at least 1/2',
        ),
        (
            'ip at "bet 120" with "66+" each: fold <= 12.5%, raise 300 5%',
            'ip at "bet 120" with  "66+"  each: fold <=.125, raise 300 0.05',
        ),
        ("oop at root: bet <= 30%", 'oop at "": bet at most 3e-1'),
        ("ip at everywhere: raise <= 1%", "ip at everywhere: raise <= 0.01"),
        ('ip at "bet 120": as some file.npz', 'ip at "bet 120":   as some file.npz'),
    ],
)
def test_text_is_read(text, same):
    lock = Lock.read(text)
    assert str(lock) == text == str(Lock.read(same))
    assert [Lock.parse(table) for table in lock.tables(toy())] == [lock]
    assert Lock.parse({"text": text}) == lock == Lock.parse(lock)


def test_numbers_are_exact():
    assert Lock.read('ip at "all-in": call 1/3').bounds[0].number == Fraction(1, 3)
    assert Lock.parse({"seat": "ip", "strategy": {"call": 0.1}}).bounds[0].number == Fraction(1, 10)


def test_locks_stand_in_spot_files(tmp_path):
    path = tmp_path / "spot.toml"
    spot = toy(
        'ip at "all-in" with "QQ": fold >= 25%', {"seat": "oop", "strategy": {"8h7h": {"all-in": 0.5}}}, ip=THREE
    )
    spot.to_toml(path)
    read = HoldemSpot.from_file(path)
    assert read.locks == spot.locks
    assert [one.name for one in read.constraints] == [one.name for one in spot.constraints]
    assert read.game.constraints == read.constraints
    path.write_text(path.read_text() + '\n[[locks]]\nseat = "ip"\nstrategy = { fold = 2 }\n')
    with pytest.raises(GameFileError, match=r"spot.toml: line \d+: locks\[3\]: fold of a lock is 2, expected"):
        HoldemSpot.from_file(path)


REFUSED = [
    ('ip at "bet 120": fold 40%', "there is no 'bet 120' at the root; expected check or all-in"),
    ('ip at "all-in, raise": fold 1', "there is no 'raise' after all-in; expected fold or call"),
    ("up at root: check 1", "lock 'up at root: check 1', column 1: received the seat 'up', expected oop or ip"),
    ("ip at root: check 1", "ip at root: check 100%: oop decides there; the line may continue with check or all-in"),
    ('ip at "all-in, call": fold 1', 'ip at "all-in, call": fold 100%: nobody decides there; the hand ends there'),
    ('ip at "all-in": raise 2%', "there is no 'raise' there; expected fold or call"),
    (
        'ip at "all-in": fold 140%',
        "column 17: fold: 140% is not a probability, expected a number from 0 to 1, or 0% to 100%",
    ),
    ('ip at "all-in": fold 60', "expected a number from 0 to 1, or 0% to 100%; write 60%"),
    ('ip at "all-in": fold => 60%', "column 17: fold: received '=>', expected '>='"),
    ('ip at "all-in": fold 60%, call 60%', "the probabilities add up to 1.2, expected at most 1"),
    ('ip at "all-in" each: fold 60%, call 30%', "the probabilities add up to 0.9, expected 1"),
    ('ip at "all-in" with "KK": fold 1', "no hand of 'KK' is in the range of ip on the board QcJc9c3d2d"),
    ('ip at "all-in" with "XY": fold 1', "'XY': expected AA, 66+"),
    ('ip at "all-in" fold 1', "column 16: received 'fold', expected : after the node and the hands"),
    ("ip at all-in: fold 1", "column 7: received 'all-in', expected root, everywhere, or a node in double quotes"),
    ('ip at "all-in": fold', "column 17: received 'fold', expected an action and its frequency, such as fold 40%"),
    ('ip at "all-in": fold 10%, fold 20%', "column 27: fold appears twice, expected once"),
    ('ip on "all-in": fold 10%', 'expected "at" and a node after the seat'),
    ("ip at everywhere: donk 10%", "has no such action"),
    ({"seat": "ip"}, "a lock needs either text alone, or a seat and one of strategy, frequency and stat"),
    ({"seat": "ip", "strategy": {"fold": 2}}, "fold of a lock is 2, expected a probability from 0 to 1"),
    ({"seat": "ip", "strategy": {"fold": "often"}}, "fold of a lock is 'often', expected a value such as 0.25"),
    ({"seat": "ip", "strategy": []}, "the strategy of a lock is [], expected probabilities of actions"),
    ({"seat": "ip", "strategy": {"QQ": {}}}, "the strategy of a lock is {'QQ': {}}, expected probabilities of actions"),
    ({"seat": "ip", "strategy": {"fold": 1}, "at": 3}, "at of a lock is 3, expected actions from the root"),
    ({"seat": "me", "strategy": {"fold": 1}}, "the seat of a lock is 'me', expected oop or ip"),
    ({"seat": "ip", "att": "all-in", "strategy": {"fold": 1}}, "a lock has no 'att' (did you mean at?)"),
    (5, "a lock is 5, expected a string such as"),
]


@pytest.mark.parametrize(("lock", "message"), REFUSED)
def test_what_is_no_lock_is_refused_in_one_line(lock, message):
    with pytest.raises(InvalidConstraintError, match=re.escape(message)) as refused:
        _ = toy(lock, ip=THREE).constraints
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("locks", "message"),
    [
        (["each: fold 50%", "each: fold 40%"], "cannot do fold 50% and fold 40%; contradicts ip"),
        (["each: fold <= 50%", "each: call <= 40%"], "cannot do fold <= 50% and call <= 40%"),
        (["each: fold <= 50%", ": fold 60%"], "the hands cannot do fold 60% and fold <= 50%"),
        ([": fold 50%", ": fold 40%"], "the hands cannot do fold 50% and fold 40%"),
        ([": fold 60%", ": call 60%"], "the hands cannot do fold 60% and call 60%"),
    ],
)
@pytest.mark.parametrize(("seat", "line"), [("ip", "all-in"), ("oop", "check, all-in")])
def test_locks_that_contradict_each_other_are_refused(locks, message, seat, line):
    # Out of position the constraints alone could be met: by never checking.
    written = [f'{seat} at "{line}" {one}'.replace('" :', '":') for one in locks]
    message = message.replace("ip", seat) if seat == "ip" else message.partition("; contradicts")[0]
    with pytest.raises(InvalidConstraintError, match=re.escape(message)) as refused:
        _ = toy(*written, ip=THREE).constraints
    assert "contradicts" in str(refused.value)


def test_nonlinear_constraints_are_not_for_restricted_nash():
    import cvxpy as cp

    spot = toy()
    plan = spot.game.plan(1)
    near = {"near": cp.sum_squares(plan - 0.5) <= 0.2}
    with pytest.raises(UnsupportedProblemError, match="rnr accepts only linear constraints"):
        RestrictedNash(spot.game, near, p=0.5)


@pytest.mark.slow
@thorough
def test_a_real_river_with_a_lock():
    oop = "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s"
    ip = "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"
    spot = HoldemSpot(
        "Td9d6hQc2s", [oop, ip], 200, 900, Betting("60%, e, a", "2.5x"), locks=['ip at "bet 120": fold 40%']
    )
    value = solve(Nash(spot.game))
    response = solve(BestResponse(spot.game, spot.constraints, game_value=value.value))
    assert value.value + 100.0 == pytest.approx(92.7736, abs=1e-3)
    assert response.objective + 100.0 == pytest.approx(92.9095, abs=1e-3)
    assert response.gap < 200.0 * 1e-6
    assert spot.game.functionals["bet 120, fold"].value(response.profile) == pytest.approx(0.4, abs=1e-6)
    assert response.exploitability == pytest.approx(value.value - worst_case(spot.game, response.profile[0]), abs=1e-6)


def test_lower_bounds_that_sum_to_one_leave_no_action_below_zero():
    """The last of three actions gets what round-off leaves, which in single precision may be negative."""
    spot = HoldemSpot("Td9d6hQc2s", ["99+, T9s", "QQ-88, AK"], 200, 400, bets={"bet": "60%, a", "raise": "a"})
    for share in range(1, 40, either(4, 1)):
        folds = round(share / 41, 9)
        lock = Lock("ip", {"fold": folds, "call": round(1.0 - folds, 9)}, "bet 120")
        locked = replace(spot, bets=None, locks=[lock])
        problem = ConstrainedNash(locked.game, locked.constraints)
        solution = solve(problem, "dcfr", tol=0, max_iterations=3)
        assert min(plan.min() for plan in solution.profile.plans) >= 0.0
        assert solution.violation <= 1e-6
