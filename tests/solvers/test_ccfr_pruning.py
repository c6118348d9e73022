"""Constrained CFR under constraints that leave no room: pruned games, their values, prices and proofs."""

from itertools import permutations

import numpy as np
import pytest
from constrained_cases import KUHN, bet
from effort import examples, some, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_flows import random_flow
from random_trees import seeded_tree, to_game, trees

from treeplex import (
    CCFR,
    ConstrainedNash,
    Game,
    InvalidStrategyError,
    Profile,
    SequenceForm,
    Status,
    Strategy,
    frequency,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, behaviour_bound, functional_bound, reach_bound
from treeplex.seqform.face import Face, cheapest
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers.regret.pruning import PrunedProblem, prices, prune

LEDUC = load_game("leduc")


def at_most_risk(game, bound):
    return ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=bound, name="risk")])


def risky_actions(game):
    """Return which of the patroller's actions may end away from the base, by going back from the end."""
    treeplex = game.sequence_form.treeplexes[1]
    inflow, risk = treeplex.inflow.toarray(), game.functionals["risk"].coefficients > 0.0
    risk = risk.copy()
    for infoset in reversed(range(treeplex.num_infosets)):
        own = slice(*treeplex.offsets[infoset : infoset + 2])
        if risk[own].all():
            risk |= inflow[infoset] > 0.0
    return risk


def agrees(problem, solution, exact, tolerance):
    """Check a converged solution against an exact one."""
    assert solution.status is Status.CONVERGED
    assert solution.gap <= tolerance
    assert solution.violation <= 1e-12
    assert abs(solution.objective - exact.objective) <= tolerance + 1e-7 * problem.game.sequence_form.payoff_scale
    assert all(np.isfinite(price) and price >= 0.0 for price in solution.multipliers.values())
    assert list(solution.multipliers) == [one.name for one in problem.constraints]
    again = problem.certify(solution.profile, solution.multipliers)
    assert again.upper - again.lower <= tolerance


# --- the transit game -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["A", "B"])
@pytest.mark.parametrize("width", [2, 3])
def test_without_any_risk_the_patroller_stays_safe(width, model):
    game = load_game(f"transit:width={width},model={model}")
    problem = at_most_risk(game, 0)
    solution = solve(problem, "ccfr", tol=5e-5)
    agrees(problem, solution, solve(problem, "highs"), 5e-5)
    patroller = solution.profile[1]
    assert game.functionals["risk"].value(patroller) == 0.0
    assert not patroller.plan[risky_actions(game)].any()
    # Sooner than with a little risk, whose multiplier has to be learned.
    some = solve(at_most_risk(game, 0.01), "ccfr", tol=5e-5, max_iterations=1000)
    assert solution.iterations <= 500
    assert some.status is Status.ITERATION_LIMIT


def test_a_risk_too_small_for_any_tolerance_is_no_less_a_risk():
    game = load_game("transit:width=2,horizon=40")
    problem = at_most_risk(game, 0)
    solution = solve(problem, "ccfr", tol=1e-3)
    assert solution.status is Status.CONVERGED
    assert game.functionals["risk"].value(solution.profile[1]) == 0.0
    assert not solution.profile[1].plan[risky_actions(game)].any()
    assert np.isfinite(solution.multipliers["risk"])
    assert solution.gap <= 1e-3


@pytest.mark.parametrize("base", ["cfr+", "pcfr+", "cfr"])
def test_every_base_solves_what_is_left(base):
    game = load_game("transit:width=2")
    problem = at_most_risk(game, 0)
    solution = solve(problem, CCFR(base=base), tol=1e-3)
    agrees(problem, solution, solve(problem, "highs"), 1e-3)


def test_updates_and_iterates_are_those_of_the_method():
    problem = at_most_risk(load_game("transit:width=2"), 0)
    exact = solve(problem, "highs")
    agrees(problem, solve(problem, CCFR(base="pcfr+", iterate="last"), tol=1e-2), exact, 1e-2)
    agrees(problem, solve(problem, CCFR(updates="simultaneous"), tol=1e-2), exact, 1e-2)


# --- Kuhn poker -------------------------------------------------------------------------------------------------------

KUHN_CASES = {
    "never bet a jack": [bet("J_", at_most=0, name="jack")],
    "always bet a king": [bet("K_", at_least=1, name="king")],
    "never reach": [reach_bound(KUHN, 0, "Q_pb", at_most=0, name="queen")],
    "never call after a bet": [bet("Q_pb", at_most=0, name="call")],
    "both players": [
        bet("J_", at_most=0, name="jack"),
        behaviour_bound(KUHN, 1, "K_b", "b", at_most=0, name="king"),
    ],
    "one has room": [bet("J_", at_most=0, name="jack"), bet("K_", at_most=0.5, name="king")],
    "an equality": {"jack": KUHN.plan(0)[2] == 0, "king": KUHN.plan(0)[10] <= 0.5},
    "as often as can be": [functional_bound(frequency(KUHN, 0, "b", first=True), at_least=1, name="bets")],
    "nothing is left to decide": [
        *(bet(card + end, at_most=0, name=card + end) for card in "JQK" for end in ("_", "_pb")),
        *(behaviour_bound(KUHN, 1, card + end, "b", at_most=0) for card in "JQK" for end in ("_p", "_b")),
    ],
    "others say nothing": [
        LinearConstraint(0, {}, 0, "nothing"),
        LinearConstraint(0, {1: 1, 2: 1}, 1, "sum"),
        bet("J_", at_most=0, name="jack"),
    ],
}


@pytest.mark.parametrize("case", KUHN_CASES)
def test_constraints_without_room_have_the_values_of_the_linear_program(case):
    problem = ConstrainedNash(KUHN, KUHN_CASES[case])
    cut = [one.constraint.name for cuts in prune(problem).cuts for one in cuts]
    exact, solution = solve(problem, "highs"), solve(problem, "ccfr", tol=1e-5)
    assert solution.status is Status.CONVERGED
    assert max(solution.gap, solution.violation) <= 1e-5
    assert max(solution.certificate.violations[name] for name in cut) <= 1e-12
    assert solution.value == pytest.approx(exact.value, abs=2e-5)
    assert solution.lower - 1e-5 <= exact.value <= solution.upper + 1e-5


def test_the_multiplier_is_the_price_of_the_constraint():
    problem = ConstrainedNash(KUHN, [bet("J_", at_least=1, name="jack")])
    looser = solve(ConstrainedNash(KUHN, [bet("J_", at_least=0.999, name="jack")]), "highs").value
    solution = solve(problem, "ccfr", tol=1e-6)
    assert looser - solve(problem, "highs").value == pytest.approx(0.001 / 3)
    assert solution.multipliers["jack"] == pytest.approx(1 / 3, abs=1e-6)
    less = problem.certify(solution.profile, {"jack": 0.9 * solution.multipliers["jack"]})
    assert less.upper - less.lower > 1e-3


def test_a_bound_a_little_above_the_least_is_not_pruned():
    assert prune(ConstrainedNash(KUHN, [bet("J_", at_most=1e-6, name="jack")])) is None
    game = load_game("transit:width=2")
    assert prune(at_most_risk(game, 1e-6)) is None
    assert isinstance(prune(at_most_risk(game, 1e-15)), PrunedProblem)
    assert isinstance(prune(at_most_risk(game, -1e-15)), PrunedProblem)


def test_where_no_action_is_excluded_nothing_is_pruned():
    constraints = KUHN_CASES["never bet a jack"]
    assert prune(ConstrainedNash(KUHN, constraints, penalty=1.0)) is None
    assert prune(ConstrainedNash(KUHN, [])) is None
    assert prune(ConstrainedNash(KUHN, [LinearConstraint(0, {1: 1, 2: 1}, 1, "always met")])) is None
    ball = {"ball": KUHN.plan(0)[2] ** 2 <= 0}
    assert prune(ConstrainedNash(KUHN, {**{one.name: one for one in constraints}, **ball})) is None


# --- conflicts --------------------------------------------------------------------------------------------------------


def test_a_constraint_that_cannot_be_met_is_found_out_at_once():
    solution = solve(ConstrainedNash(KUHN, [bet("J_", at_most=-0.1, name="jack"), bet("K_", at_most=0.5)]), "ccfr")
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.conflict == ("jack",)
    assert solution.infeasibility.least_violation == pytest.approx(0.1)
    assert solution.iterations == 0
    nothing = solve(ConstrainedNash(KUHN, [LinearConstraint(1, {}, -1, "nothing")]), "ccfr")
    assert nothing.status is Status.INFEASIBLE


def test_a_constraint_that_cannot_be_met_on_the_face_of_another_is_found_out_at_once():
    never, often = bet("J_", at_most=0, name="never"), bet("J_", at_least=0.2, name="often")
    for constraints in ([never, often], [often, never]):
        solution = solve(ConstrainedNash(KUHN, constraints), "ccfr")
        assert solution.status is Status.INFEASIBLE
        assert set(solution.infeasibility.conflict) == {"never", "often"}
        assert solution.iterations == 0


# --- laws -------------------------------------------------------------------------------------------------------------


@st.composite
def games(draw):
    """Return a random game, of a tree or of flows, and a source of random numbers."""
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["ties", "tree", "flows"]))
    if kind == "ties":
        return to_game(draw(trees(size=10))), rng
    if kind == "tree":
        return to_game(seeded_tree(seed)), rng
    flows = [random_flow(rng, draw(st.integers(1, 6))) for _ in range(2)]
    payoffs = rng.normal(size=[flow.num_sequences for flow in flows])
    payoffs *= rng.random(payoffs.shape) < 0.5
    return Game.from_sequence_form(SequenceForm(flows, payoff_matrices=[payoffs, -payoffs])), rng


def random_costs(treeplex, rng):
    if rng.random() < 0.5:
        return rng.normal(size=treeplex.num_sequences)
    size = rng.choice([1.0, 0.1, 1 / 3, 1e-6, 1e6])
    return size * rng.integers(-2, 3, size=treeplex.num_sequences) * (rng.random(treeplex.num_sequences) < 0.5)


def constraint_on(player, costs, bound, name):
    return LinearConstraint(player, dict(enumerate(costs.tolist())), bound, name)


@thorough
@examples(25)
@given(games(), st.sampled_from([(0,), (1,), (0, 1)]))
def test_a_function_bounded_by_its_least_value_has_the_value_of_the_linear_program(posed, players):
    game, rng = posed
    constraints = []
    for player in players:
        treeplex = game.sequence_form.treeplexes[player]
        costs = random_costs(treeplex, rng)
        constraints.append(constraint_on(player, costs, -best_response_value(treeplex, -costs), f"least {player}"))
    problem = ConstrainedNash(game, constraints)
    tolerance = 1e-3 * game.sequence_form.payoff_scale
    exact, solution = solve(problem, "highs"), solve(problem, "ccfr", tol=tolerance, max_iterations=20_000)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= tolerance
    sizes = {one.name: np.abs(one.coefficients).max(initial=0.0) for one in constraints}
    for name, violation in solution.certificate.violations.items():
        assert violation <= 1e-12 * max(1.0, sizes[name])
    # The linear program meets constraints by 1e-7 or so, which multipliers make more of.
    hair = 1e-6 * game.sequence_form.payoff_scale + 1e-7 * sum(
        solution.multipliers[name] * size for name, size in sizes.items()
    )
    assert solution.lower - hair <= exact.objective <= solution.upper + hair
    assert abs(solution.objective - exact.objective) <= tolerance + hair


@examples(25)
@given(games(), st.integers(2, 3))
def test_nested_faces_have_the_values_of_the_linear_program(posed, depth):
    game, rng = posed
    treeplex, face, constraints = game.sequence_form.treeplexes[0], Face.whole(game.sequence_form.treeplexes[0]), []
    for number in range(depth):
        costs = rng.integers(-2, 3, size=treeplex.num_sequences) * (rng.random(treeplex.num_sequences) < 0.3)
        least = cheapest(face.treeplex, costs[face.sequences].astype(float))
        constraints.append(constraint_on(0, costs, least.value, f"nested {number}"))
        face = Face.of(face.treeplex, least.attained).within(face)
    problem = ConstrainedNash(game, [constraints[place] for place in rng.permutation(depth)])
    pruned = prune(problem)
    found = Face.whole(treeplex) if pruned is None else pruned.faces[0]
    assert np.array_equal(found.sequences, face.sequences)
    tolerance = 1e-3 * game.sequence_form.payoff_scale
    exact, solution = solve(problem, "highs"), solve(problem, "ccfr", tol=tolerance, max_iterations=20_000)
    agrees(problem, solution, exact, tolerance)


def test_the_order_of_nested_constraints_does_not_matter():
    """The third constraint leaves room by itself, and none once the other two are met."""
    jack, queen, king = (KUHN.sequence_form.treeplexes[0].sequence(card + "_", "b") for card in "JQK")
    cards = [bet(card + "_", at_most=0, name=card) for card in "JQ"]
    total = LinearConstraint(0, {jack: -1, queen: -1, king: -1}, -1, "total")
    assert prune(ConstrainedNash(KUHN, [total])) is None
    found = set()
    for constraints in permutations([*cards, total]):
        problem = ConstrainedNash(KUHN, constraints)
        pruned = prune(problem)
        found.add(tuple(pruned.faces[0].sequences.tolist()))
        assert not pruned.problem.constraints
        agrees(problem, solve(problem, "ccfr", tol=1e-5), solve(problem, "highs"), 1e-5)
    assert len(found) == 1


@examples(30)
@given(games())
def test_no_smaller_multiplier_makes_breaking_a_constraint_worthless(posed):
    game, rng = posed
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        costs, gradient = random_costs(treeplex, rng), rng.normal(size=treeplex.num_sequences)
        least = -best_response_value(treeplex, -costs)
        pruned = prune(ConstrainedNash(game, [constraint_on(player, costs, least, "least")]))
        if pruned is None:  # all plans cost the same
            assert cheapest(treeplex, costs).attained.all()
            continue
        (cut,) = pruned.cuts[player]
        price = prices([cut], gradient)["least"]
        face = pruned.faces[player]
        best = best_response_value(face.treeplex, gradient[face.sequences])

        def worth(price, treeplex=treeplex, gradient=gradient, costs=costs, least=least):
            return best_response_value(treeplex, gradient - price * costs) + price * least

        size = np.abs(gradient).sum() + price * np.abs(costs).sum()
        assert worth(price) == pytest.approx(best, abs=1e-12 * size)
        if price > 1e-9:
            step = 0.01 * price
            assert worth(price - step) > best + 1e-3 * step * cut.reduced[cut.reduced > 0.0].min() - 1e-12 * size


# --- starts -----------------------------------------------------------------------------------------------------------


def leduc_problem(first=0, second=0.3):
    return ConstrainedNash(LEDUC, [LinearConstraint(0, {2: 1}, first, "0"), LinearConstraint(1, {3: 1}, second, "1")])


def test_a_pruned_run_goes_on_where_it_stopped():
    problem = leduc_problem()
    assert isinstance(prune(problem), PrunedProblem)
    whole = solve(problem, "ccfr", tol=0, max_iterations=300)
    half = solve(problem, "ccfr", tol=0, max_iterations=120)
    for posed in (problem, leduc_problem()):
        resumed = solve(posed, "ccfr", tol=0, max_iterations=180, start=half)
        assert resumed.iterations == 300
        assert resumed.value == whole.value
        assert dict(resumed.multipliers) == dict(whole.multipliers)
    assert whole.history.iterations[-1] == 300


@thorough
def test_a_run_on_another_face_starts_from_the_strategies_alone():
    problem = leduc_problem()
    roomy, other = leduc_problem(first=0.1), leduc_problem(second=0)
    for before, after in some(((problem, roomy), (roomy, problem), (problem, other), (other, problem)), 2):
        first = solve(before, "ccfr", tol=0, max_iterations=200)
        second = solve(after, "ccfr", tol=0, max_iterations=50, start=first)
        assert second.iterations == 50
        assert second.lower is not None
        exact = solve(after).value
        done = solve(after, "ccfr", tol=1e-2, start=first)
        assert done.lower - 0.05 <= exact <= done.upper + 0.05


@thorough
def test_a_good_start_helps_on_a_face_too():
    game = load_game("transit:width=3")
    problem = at_most_risk(game, 0)
    exact = solve(problem, "highs")
    # What the linear program met by a hair alone is gone.
    warm = solve(problem, "ccfr", tol=0, max_iterations=1, start=exact.profile)
    cold = solve(problem, "ccfr", tol=0, max_iterations=1)
    assert warm.gap < 0.1 * cold.gap
    assert warm.violation == 0.0


def test_a_start_that_is_none_is_refused():
    problem = leduc_problem()
    with pytest.raises(InvalidStrategyError, match="expected a Profile or a Solution"):
        solve(problem, "ccfr", start=3)
    with pytest.raises(InvalidStrategyError, match="another game"):
        solve(problem, "ccfr", start=Profile.uniform(KUHN))


def test_a_start_that_plays_only_what_is_gone_is_uniform_there():
    strategies = [Strategy.from_dict(KUHN, 0, {"J_": {"p": 0.0, "b": 1.0}}), Strategy.uniform(KUHN, 1)]
    problem = ConstrainedNash(KUHN, [bet("J_", at_most=0, name="jack")])
    solution = solve(problem, "ccfr", tol=1e-4, start=Profile(strategies))
    assert solution.status is Status.CONVERGED
    assert solution.profile[0]["J_"] == {"p": 1.0, "b": 0.0}


def test_listeners_hear_of_a_pruned_run_and_can_stop_it():
    heard = []
    problem = leduc_problem()

    def stop(report):
        heard.append(report)
        return True

    solution = solve(problem, "ccfr", tol=1e-9, callback=stop)
    assert solution.status is Status.INTERRUPTED
    assert heard[0].iterations == solution.iterations
    assert len(solution.history) > 0
    assert solution.multipliers["0"] >= 0.0
