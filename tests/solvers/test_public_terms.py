"""Problems other than equilibria by the loop on public forms: constraints, models, floors; against linear programs."""

from dataclasses import replace

import numpy as np
import pytest
from effort import either, soaked, thorough
from locked_spots import assert_proven, drawn_problem
from public_games import RandomPublicGame

from treeplex import (
    DCFR,
    ConstrainedNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Game,
    Nash,
    RestrictedNash,
    Status,
    Strategy,
    restricted_nash_frontier,
    solve,
)
from treeplex.models.constraints import LinearConstraint
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.seqform.evaluate import worst_case
from treeplex.seqform.public_form import PublicForm
from treeplex.solvers.public.terms import PublicTerms

METHODS = ["cfr+", "dcfr", "pcfr+"]


def drawn_strategy(game, player, random):
    treeplex = game.sequence_form.treeplexes[player]
    return Strategy(game, player, treeplex.behaviour(random.random(treeplex.num_sequences) ** 3 + 1e-9))


def drawn_constraints(game, random):
    """Constraints that a random profile meets: bounds of actions, equations, and rows of many sequences."""
    found = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        strategy = drawn_strategy(game, player, random)
        for infoset in range(treeplex.num_infosets):
            own = np.arange(treeplex.offsets[infoset], treeplex.offsets[infoset + 1])
            kind = random.integers(6)
            sequence = int(random.choice(own))
            played, parent = float(strategy.behaviour[sequence]), int(treeplex.parents[infoset])
            margin = random.choice([0.0, 0.1])
            for sense, number in (("<=", played + margin), (">=", played - margin)):
                if kind == 0 or (kind == 1 and sense == "<=") or (kind == 2 and sense == ">="):
                    terms, limit = ({sequence: 1}, number) if parent == 0 else ({sequence: 1, parent: -number}, 0)
                    found.append(LinearConstraint(player, terms, limit, f"{player} {infoset} {sense}", sense))
        for number in range(random.integers(3) if treeplex.num_infosets else 0):
            vector = random.normal(size=treeplex.num_sequences) * (random.random(treeplex.num_sequences) < 0.5)
            terms = {s: float(vector[s]) for s in range(treeplex.num_sequences) if vector[s]}
            if terms:
                bound = float(vector @ strategy.plan)
                found.append(LinearConstraint(player, terms, bound, f"{player} row {number}"))
    return found


def drawn_game(seed):
    """Return a random game in public form in which both players move; ``None`` if it is not one."""
    game = Game.from_public_form(PublicForm.from_rules(RandomPublicGame(seed)))
    return game if all(treeplex.num_infosets for treeplex in game.sequence_form.treeplexes) else None


def check(problem, method, seed, near=2e-3, iterations=20_000):
    """Hold what the loop proves against the optimum of a linear program."""
    exact, scale = solve(problem, "highs"), problem.game.payoff_scale
    found = solve(problem, method, tol=1e-4 * scale, max_iterations=iterations)
    assert found.state is not None, "the loop on the public form was not used"
    assert hasattr(found.state, "arrays"), "the loop on the public form was not used"
    # What is violated a little may earn as much as its price says.
    round_off = 1e-7 * scale + found.violation * sum(exact.dual_multipliers.values())
    assert found.lower - round_off <= exact.objective <= found.upper + round_off, seed
    assert found.certificate.gap <= near * scale, (seed, found)
    assert problem.penalty is not None or found.violation <= near * max(1.0, scale), (seed, found)
    return found, exact


@pytest.mark.parametrize("seed", range(either(20, 200)))
def test_constrained_equilibria_are_those_of_the_linear_program(seed):
    game, random = drawn_game(seed), np.random.default_rng(seed)
    constraints = [] if game is None else drawn_constraints(game, random)
    if constraints:
        penalty = None if seed % 3 else float(random.choice([0.5, 5.0]) * game.payoff_scale)
        check(ConstrainedNash(game, constraints, penalty=penalty), METHODS[seed % 3], seed)


@pytest.mark.parametrize("seed", range(either(10, 100)))
def test_responses_are_those_of_the_linear_program(seed):
    game, random = drawn_game(seed), np.random.default_rng(seed)
    if game is None:
        return
    player = seed % 2
    model = drawn_strategy(game, 1 - player, random)
    check(RestrictedNash(game, model, p=float(random.choice([0.0, 0.3, 0.8, 1.0]))), METHODS[seed % 3], seed)
    rows = [one for one in drawn_constraints(game, random) if one.player == 1 - player]
    if rows:
        check(RestrictedNash(game, rows, p=float(random.choice([0.1, 0.6, 1.0]))), METHODS[seed % 3], seed)
    epsilon = float(random.choice([0.05, 0.3])) * game.payoff_scale
    value = solve(Nash(game), "highs").value * (1 - 2 * player)
    safe = EpsilonSafeResponse(game, model, epsilon=epsilon, game_value=value)
    check(safe, METHODS[seed % 2], seed, near=1e-2)


# Hold'em

RIVER = "Td9d6hQc2s"
RANGES = ["QQ, TT, 99:0.5, AQ, KQs, A5s, 87s:0.7, J8s, 75s", "QJs, KQ:0.25, AT, KTs, JTs:0.6, T9s, A9s, 98s, AK"]
LOCKS = [
    ['ip at "bet 120": fold 60%'],
    ['ip at "bet 120" each: fold 40%'],
    ['ip at "bet 120" with "QJs, KQ" each: fold 25%, call 75%'],
    ["oop at root: bet <= 30%"],
    ['ip at "bet 120": fold 60%', 'oop at "check, bet 120": raise >= 10%', 'oop at "check, bet 120" each: fold <= 80%'],
    ['ip at "bet 120" each: fold <= 40%', 'ip at "bet 120": call >= 50%', "oop at root each: check >= 20%"],
]


def locked(locks, board=RIVER):
    return HoldemSpot(board, RANGES, 200, 400, bets={"bet": "60%, a", "raise": "a"}, locks=locks)


@pytest.mark.parametrize("locks", LOCKS, ids=lambda one: one[0][:30])
def test_locked_rivers_are_those_of_the_linear_program(locks):
    spot = locked(locks)
    problem = ConstrainedNash(spot.game, spot.constraints)
    exact = solve(problem, "highs")
    found = solve(problem, "dcfr", tol=1e-3 * spot.pot)
    assert found.status is Status.CONVERGED
    missed = found.violation * sum(exact.dual_multipliers.values()) + 1e-6
    assert found.lower - missed <= exact.value <= found.upper + missed
    assert found.violation <= 1e-3
    # The two sides of an equation have one multiplier, and those of linear programs are not unique at kinks.
    assert all(min(pair) == 0.0 for pair in pairs_of(found.multipliers))


@pytest.mark.parametrize("p", [0.05, 0.5, 1.0])
def test_responses_to_locks_are_those_of_the_linear_program(p):
    """The opponent who keeps to the lock with probability p is of one of two types, which nobody sees."""
    spot = locked(['ip at "bet 120": fold 60%', 'ip at "all-in" each: call >= 20%'])
    problem = RestrictedNash(spot.game, spot.constraints, p=p)
    exact = solve(problem, "highs")
    found = solve(problem, "dcfr", tol=1e-3 * spot.pot)
    assert found.status is Status.CONVERGED
    missed = found.violation * sum(exact.dual_multipliers.values()) + 1e-6
    assert found.lower - missed <= exact.objective <= found.upper + missed
    assert found.certificate.gap <= 1e-3 * spot.pot
    bound = problem.safety_bound(found.certificate)
    assert bound is None or found.exploitability <= bound + 1e-9


@thorough
def test_a_learned_frontier_is_near_that_of_linear_programs():
    spot = locked(['ip at "bet 120": fold 60%'])
    exact = restricted_nash_frontier(spot.game, spot.constraints)
    learned = restricted_nash_frontier(spot.game, spot.constraints, points=12, method="dcfr", tol=0.02)
    assert len(learned.strategies) <= 12
    assert learned.gap < 0.2
    assert (np.diff(learned.gains) > 0.0).all()
    assert (np.diff(learned.exploitabilities) > 0.0).all()
    # No strategy of the one lies further above the other than the gap, for any p; each loss is a best response's.
    for p in np.linspace(0.0, 1.0, 41):
        best = [np.max(p * one.gains - (1.0 - p) * one.exploitabilities) for one in (exact, learned)]
        assert best[0] - best[1] <= learned.gap + 1e-6
        assert best[1] - best[0] <= exact.gap + 1e-6
    for strategy, loss in zip(learned.strategies, learned.exploitabilities, strict=True):
        worst = worst_case(spot.game, strategy)
        assert solve(Nash(spot.game)).value - worst == pytest.approx(loss, abs=0.01)


def pairs_of(multipliers):
    """Yield the multipliers of both sides of each equation."""
    for name, price in multipliers.items():
        if name.endswith(" (at most)"):
            yield price, multipliers[name.replace("(at most)", "(at least)")]


def test_limits_are_met_to_the_last_digit_and_priced():
    spot = locked(['ip at "bet 120" each: fold 40%', "oop at root each: bet <= 50%"])
    problem = ConstrainedNash(spot.game, spot.constraints)
    exact, found = solve(problem, "highs"), solve(problem, "dcfr:precision=double", tol=1e-3)
    assert found.violation <= 1e-12
    assert found.value == pytest.approx(exact.value, abs=2e-3)
    # Where the linear program has one price, the loop has it too; each is a bound's derivative.
    assert found.certificate.gap <= 2e-3
    assert max(found.multipliers.values()) == pytest.approx(max(exact.multipliers.values()), rel=0.05)


def test_penalties_of_nothing_and_hands_that_are_never_dealt_do_no_harm():
    spot = locked(['ip at "bet 120": fold 60%'])
    free = solve(Nash(spot.game), "dcfr", tol=0.1)
    costless = solve(ConstrainedNash(spot.game, spot.constraints, penalty=0), "dcfr", tol=0.1)
    assert costless.status is Status.CONVERGED
    assert costless.value == pytest.approx(free.value, abs=0.2)
    # The other player always holds one of the aces.
    blocked = HoldemSpot(RIVER, ["AsAh, KsKh", "AsQs, AhQh"], 100, 100, bets="a")
    form = blocked.public_form
    hand = [sorted((one[:2], one[2:])) for one in form.states[0]].index(["Ah", "As"])
    bets, calls = (int(form.sequences(0, int(form.find(line)))[hand]) for line in ("all-in", "check, all-in, call"))
    seldom = LinearConstraint(0, {bets: 1, calls: 1}, 0.3, "seldom")
    solution = solve(ConstrainedNash(blocked.game, [seldom]), "dcfr", tol=0.1)
    assert solution.status is Status.CONVERGED
    assert solution.violation <= 1e-3


def test_constraints_that_cannot_be_met_are_found():
    spot = locked([])
    form = spot.public_form
    node = int(form.find("bet 120"))
    fold = int(form.find("bet 120, fold"))
    hands = form.sequences(1, fold)[:3].tolist()
    assert form.players[node] == 1
    rows = [LinearConstraint(1, dict.fromkeys(hands, 1), 3.2, "too much", ">=")]
    solution = solve(ConstrainedNash(spot.game, rows), "dcfr")
    assert solution.status is Status.INFEASIBLE
    assert "too much" in solution.message


def test_what_a_problem_makes_a_difference_of_is_not_alike():
    """Clubs and hearts are alike on this turn, unless a lock is about hands of one of them."""
    ranges = ["AhKh, AcKc, 9h9c", "QhJh, QcJc, TdTs"]
    for hands, alike in (("AhKh, AcKc", True), ("AhKh", False)):
        lock = f'oop at root with "{hands}": bet <= 40%'
        spot = HoldemSpot("Td9d6s2s", ranges, 100, 100, bets={"bet": "a"}, locks=[lock])
        problem = ConstrainedNash(spot.game, spot.constraints)
        terms = PublicTerms(problem.canonical)
        assert (len(terms.layout.boards) < len(spot.public_form.present)) == alike
        exact = solve(problem, "highs")
        found = solve(problem, "cfr+", tol=0.02)
        missed = found.violation * sum(exact.dual_multipliers.values()) + 1e-6
        assert found.lower - missed <= exact.value <= found.upper + missed


@thorough
def test_a_run_in_parts_is_the_run_in_one_and_threads_change_nothing(monkeypatch, tmp_path):
    spot = locked(['ip at "bet 120": fold 60%', "oop at root each: bet <= 50%"], RIVER[:8])
    problem = ConstrainedNash(spot.game, spot.constraints)
    whole = solve(problem, "dcfr", tol=0, max_iterations=80)
    first = solve(problem, "dcfr", tol=0, max_iterations=33)
    parts = solve(problem, "dcfr", tol=0, max_iterations=47, start=first)
    monkeypatch.setattr("treeplex.solvers.public.kernel.threads_for", lambda layout: 2)
    threads = solve(problem, "dcfr", tol=0, max_iterations=80)
    for other in (parts, threads):
        for one, two in zip(whole.state.arrays.regrets, other.state.arrays.regrets, strict=True):
            assert np.array_equal(one, two)
        assert np.array_equal(whole.state.arrays.calls, other.state.arrays.calls)


@pytest.mark.slow
def test_limits_and_styles_of_a_river_of_all_hands():
    """Prices and ranges are proven: a fifth of bets at most, a twentieth of raises at least, bets for .3 per cent."""
    spot = HoldemSpot(RIVER, ["random", "random"], 200, 900, Betting("50%, 100%, a", "2.5x, a"))
    free = solve(Nash(spot.game), DCFR(precision="auto"), tol=1e-3)
    assert free.value + 100.0 == pytest.approx(93.7974, abs=0.02)
    limits = replace(spot, bets=None, locks=["oop at root: bet <= 20%", 'ip at "bet 100": raise >= 5%'])
    solution = solve(ConstrainedNash(limits.game, limits.constraints), "dcfr", tol=0.02)
    assert solution.status is Status.CONVERGED
    assert solution.upper < free.lower
    assert solution.certificate.gap <= 0.02
    most, least = (
        solve(
            EpsilonSafeStyle(spot.game, epsilon=0.6, game_value=free.value, **{which: spot.game.functionals["bet"]}),
            "dcfr",
            tol=5e-2,
        )
        for which in ("maximise", "minimise")
    )
    assert least.objective == pytest.approx(0.1203, abs=1e-3)
    assert most.objective == pytest.approx(0.3969, abs=1e-3)
    assert max(most.certificate.gap, least.certificate.gap) < 1e-3


# Bounds under locks


@pytest.mark.soak
def test_bounds_of_random_locked_spots_hold_and_their_strategies_keep_to_the_locks():
    """The truth is HiGHS's; runs are of few iterations, so that most averages miss their locks."""
    for seed in range(soaked(4)):
        problem = drawn_problem(seed, cards=4 if seed % 50 == 49 else 5)
        if problem is not None:
            tol = 10.0 ** -(1 + seed % 4) * problem.game.spot.pot
            assert_proven(problem, ["dcfr", "pcfr+", "ccfr", "cfr+"][seed % 4], tol, (4, 30, 300, 2000)[seed // 4 % 4])


@pytest.mark.parametrize(
    ("locks", "value"),
    [
        # By hand: a bluff is called never, and wins the pot of 100 always.
        (['ip at "all-in": call 0%'], 100.0),
        # Called always, the nuts earn 200 and air, which cannot bet, 0.
        (['ip at "all-in": call 100%'], 100.0),
        # Called 10 % of the time, the nuts earn 110, and air 0.9 · 100 - 0.1 · 100 = 80.
        (['ip at "all-in" each: call 10%'], 95.0),
        # The same, where the nuts bet half of the time at most, and else earn 100.
        (['ip at "all-in" each: call 10%', "oop at root with AcKc: all-in <= 50%"], 92.5),
    ],
)
@pytest.mark.parametrize("method", ["dcfr", "ccfr", "pcfr+"])
@pytest.mark.parametrize("iterations", [3, 1000])
def test_bounds_of_the_nuts_or_air_under_locks_hold_the_value_by_hand(locks, value, method, iterations):
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, bets="a", locks=locks)
    found = solve(ConstrainedNash(spot.game, spot.constraints), method, tol=0.1, max_iterations=iterations)
    assert found.lower <= found.upper
    assert found.lower + 50 - 1e-9 <= value <= found.upper + 50 + 1e-9
    assert found.violation <= 1e-12
    assert found.status is (Status.CONVERGED if iterations == 1000 else found.status)


def test_a_run_from_a_profile_stays_on_the_public_form_and_takes_the_iterations_of_one_anew():
    spot = HoldemSpot(RIVER, RANGES, 200, 400, bets={"bet": "60%, a", "raise": "a"})
    first = solve(Nash(spot.game), "dcfr", tol=1e-3 * spot.pot)
    again = solve(Nash(spot.game), "dcfr", tol=2e-3 * spot.pot, start=first.profile)
    assert (again.iterations, again.status) == (0, Status.CONVERGED)
    assert again.exploitability == pytest.approx(first.exploitability, rel=1e-3)
    closer = {"method": "dcfr", "tol": 2e-4 * spot.pot}
    anew, started = solve(Nash(spot.game), **closer), solve(Nash(spot.game), start=first.profile, **closer)
    assert started.iterations == anew.iterations
    assert started.exploitability == pytest.approx(anew.exploitability, rel=1e-6)
    assert "sequence_form" not in vars(spot.game)
