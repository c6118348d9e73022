"""Distances to a reference strategy: values, convex bounds that hold whatever slopes are given, and refusals."""

import copy

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from random_flows import random_flow
from random_trees import to_graph, trees

from treeplex import Game, InvalidStrategyError, SequenceForm, Strategy, load_game
from treeplex.models.distances import KLDistance, L1Distance, L2Distance
from treeplex.seqform.functional import reach_of_others
from treeplex.seqform.rationals import exact_plan

KUHN = load_game("kuhn")
KINDS = [L1Distance, L2Distance, KLDistance]
UNIFORM = Strategy.uniform(KUHN, 0)


def behaviour_of(treeplex, rng, concentration=1.0):
    """Draw a behaviour; with a small concentration some probabilities are zero for what floats know."""
    parts = [rng.dirichlet(np.full(count, concentration)) for count in treeplex.num_actions]
    return np.concatenate([[1.0], *parts])


def draws(tree_or_none, seed):
    """Return a game of one treeplex or flow of interest, and a generator."""
    rng = np.random.default_rng(seed)
    if tree_or_none is None:
        flow = random_flow(rng, int(rng.integers(1, 7)))
        other = random_flow(rng, 1)
        payoff = rng.normal(size=(flow.num_sequences, other.num_sequences))
        return Game.from_sequence_form(SequenceForm((flow, other), payoff_matrices=[payoff, -payoff])), rng
    return Game.from_tree(to_graph(tree_or_none)), rng


def by_definition(distance, plan):
    """Compute a distance infoset by infoset."""
    treeplex, reference = distance.treeplex, distance.reference.behaviour
    inflow = treeplex.inflow.toarray() @ plan
    total = 0.0
    for infoset in range(treeplex.num_infosets):
        own = slice(int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1]))
        expected = inflow[infoset] * reference[own]
        for x, y in zip(plan[own], expected, strict=True):
            if distance.kind == "l1":
                term = abs(x - y)
            elif distance.kind == "l2":
                term = (x - y) ** 2
            else:
                term = 0.0 if x == 0.0 else x * np.log(x / y)
            total += float(distance.weights[infoset]) * term
    return np.sqrt(total) if distance.kind == "l2" else total


@examples(60)
@given(st.none() | trees(num_players=2), st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.data())
def test_minorants_lie_below_the_distance_whatever_the_slopes(tree, kind, seed, data):
    game, rng = draws(tree, seed)
    treeplex = game.sequence_form.treeplexes[0]
    reference = Strategy(game, 0, behaviour_of(treeplex, rng))
    distance = kind(reference, weights=rng.choice([0.0, 0.3, 1.0, 4.0], treeplex.num_infosets))
    at, elsewhere = (treeplex.plan(behaviour_of(treeplex, rng, c)) for c in (1.0, 0.1))
    size = treeplex.num_sequences - (kind is not KLDistance)
    numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)
    slopes = data.draw(st.none() | arrays(np.float64, size, elements=numbers))
    scale = 1.0 + distance.value(at) + distance.value(elsewhere)
    coefficients, constant = distance.minorant(at, slopes)
    assert np.isfinite(coefficients).all()
    for plan in (at, elsewhere, treeplex.uniform_plan(), reference.plan):
        assert coefficients @ plan + constant <= distance.value(plan) + 1e-9 * scale


@examples(60)
@given(st.none() | trees(num_players=2), st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.floats(1.0, 1e300))
def test_slopes_that_point_the_right_way_but_too_far_prove_no_more_than_is_true(tree, kind, seed, factor):
    game, rng = draws(tree, seed)
    treeplex = game.sequence_form.treeplexes[0]
    distance = kind(Strategy(game, 0, behaviour_of(treeplex, rng)))
    behaviour = behaviour_of(treeplex, rng)
    plan = treeplex.plan(behaviour)
    right = behaviour if kind is KLDistance else distance.terms[0].matrix @ plan
    if kind is not KLDistance and len(right):
        right = right / max(np.abs(right).max(), 1e-300)
    coefficients, constant = distance.minorant(plan, factor * right)
    value = distance.value(plan)
    assert coefficients @ plan + constant <= value + 1e-9 * (1.0 + value)
    if kind is not L1Distance:
        assert coefficients @ plan + constant == pytest.approx(value, abs=1e-9 * (1.0 + value))


@examples(60)
@given(st.none() | trees(num_players=2), st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_a_distance_is_what_its_definition_says_and_its_own_minorant_is_tight(tree, kind, seed):
    game, rng = draws(tree, seed)
    treeplex = game.sequence_form.treeplexes[0]
    reference = Strategy(game, 0, behaviour_of(treeplex, rng))
    distance = kind(reference, weights=rng.choice([0.0, 0.3, 1.0, 4.0], treeplex.num_infosets))
    plan = treeplex.plan(behaviour_of(treeplex, rng, 0.5))
    value = distance.value(plan)
    scale = 1.0 + value
    assert value == pytest.approx(by_definition(distance, plan), abs=1e-9 * scale)
    assert value >= 0.0
    assert distance.value(reference.plan) == pytest.approx(0.0, abs=1e-9)
    coefficients, constant = distance.minorant(plan)
    assert coefficients @ plan + constant == pytest.approx(value, abs=1e-9 * scale)
    assert distance.gradient(plan) @ plan == pytest.approx(value, abs=1e-9 * scale)


@examples(40)
@given(st.none() | trees(num_players=2), st.sampled_from(KINDS), st.integers(0, 2**32 - 1))
def test_distances_are_convex(tree, kind, seed):
    game, rng = draws(tree, seed)
    treeplex = game.sequence_form.treeplexes[0]
    distance = kind(Strategy(game, 0, behaviour_of(treeplex, rng)))
    one, other = (treeplex.plan(behaviour_of(treeplex, rng, 0.5)) for _ in range(2))
    ends = distance.value(one), distance.value(other)
    assert distance.value(0.5 * (one + other)) <= sum(ends) / 2 + 1e-9 * (1.0 + sum(ends))


@examples(40)
@given(st.none() | trees(num_players=2), st.integers(0, 2**32 - 1))
def test_the_best_slopes_of_a_divergence_solve_its_regularised_best_response(tree, seed):
    game, rng = draws(tree, seed)
    treeplex = game.sequence_form.treeplexes[0]
    weights = rng.choice([0.5, 1.0, 2.0], treeplex.num_infosets)
    distance = KLDistance(Strategy(game, 0, behaviour_of(treeplex, rng)), weights=weights)
    payoffs = rng.normal(size=treeplex.num_sequences)
    best = treeplex.plan(distance.best_slopes(payoffs))
    least = distance.value(best) - payoffs @ best
    for _ in range(5):
        plan = treeplex.plan(behaviour_of(treeplex, rng))
        assert distance.value(plan) - payoffs @ plan >= least - 1e-9
    # Its minorant proves that nothing is below: it is the same for every plan, along all of the polytope.
    coefficients, _ = distance.minorant(best, distance.best_slopes(payoffs))
    assert (coefficients - payoffs) @ plan == pytest.approx(least, abs=1e-9 * (1.0 + abs(least)))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences_along_the_polytope(kind):
    rng = np.random.default_rng(5)
    treeplex = KUHN.sequence_form.treeplexes[0]
    distance = kind(Strategy(KUHN, 0, behaviour_of(treeplex, rng)))
    plan, other = (treeplex.plan(behaviour_of(treeplex, rng)) for _ in range(2))
    step = 1e-6
    ahead, behind = (distance.value((1 - s) * plan + s * other) for s in (step, -step))
    assert distance.gradient(plan) @ (other - plan) == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", [KUHN, load_game("transit:width=2,horizon=3")], ids=lambda game: game.spec)
def test_cvxpy_says_the_same(kind, game):
    rng = np.random.default_rng(7)
    treeplex = game.sequence_form.treeplexes[1]
    distance = kind(
        Strategy(game, 1, behaviour_of(treeplex, rng)), weights=rng.choice([0.0, 1.0, 2.0], treeplex.num_infosets)
    )
    plan = game.plan(1)
    plan.value = treeplex.plan(behaviour_of(treeplex, rng))
    expression = distance.to_cvxpy(plan)
    assert expression.is_convex()
    assert expression.is_dcp()
    assert float(expression.value) == pytest.approx(distance.value(plan.value), abs=1e-9)


def test_a_divergence_is_bounded_tightly_where_an_action_is_not_taken():
    distance = KLDistance(UNIFORM)
    pure = Strategy.from_dict(KUHN, 0, {label: {"b": 1.0} for label in ("J_", "Q_", "K_")})
    coefficients, constant = distance.minorant(pure.plan)
    assert distance.value(pure.plan) == pytest.approx(3 * np.log(2), abs=1e-12)
    assert coefficients @ pure.plan + constant == pytest.approx(3 * np.log(2), abs=1e-12)
    assert np.isfinite(coefficients).all()


def test_weights_by_reach_make_a_distance_that_of_what_is_seen():
    weights = reach_of_others(KUHN, 0)
    betting = Strategy.from_dict(KUHN, 0, {"K_": {"b": 1.0}})
    assert L1Distance(UNIFORM, weights=weights).value(betting.plan) == pytest.approx(1 / 3)


REFUSED = [
    (lambda: L1Distance("uniform"), "the reference of L1Distance is 'uniform', expected a Strategy"),
    (lambda: L2Distance(UNIFORM, weights=[1.0]), r"shape \(1,\), expected \(6,\)"),
    (lambda: L2Distance(UNIFORM, weights=[1, 1, -1, 1, 1, 1]), "infoset 'Q_' has weight -1"),
    (lambda: L2Distance(UNIFORM, weights=[1, 1, np.nan, 1, 1, 1]), "infoset 'Q_' has weight nan"),
    (lambda: L2Distance(UNIFORM, weights="heavy"), "the weights of a distance are not numbers"),
    (lambda: L1Distance(UNIFORM).value([1.0]), "shape"),
    (lambda: L1Distance(UNIFORM).minorant(UNIFORM.plan, np.ones(3)), "the slopes of a distance have shape"),
    (
        lambda: KLDistance(Strategy.from_dict(KUHN, 0, {"Q_": {"p": 1.0}})),
        "gives action 'b' at infoset 'Q_' probability 0",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_makes_no_distance_is_refused_in_one_line(make, message):
    with pytest.raises(InvalidStrategyError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


@examples(50)
@given(tree=st.none() | trees(num_players=2), seed=st.integers(0, 2**32 - 1))
def test_in_fractions_a_reference_is_at_no_distance_from_itself(tree, seed):
    game, rng = draws(tree, seed)
    treeplex = game.sequence_form.treeplexes[0]
    reference = Strategy(game, 0, behaviour_of(treeplex, rng))
    distance = L1Distance(reference, rng.choice([0.0, 1 / 3, 0.1, 1 / 7], treeplex.num_infosets))
    assert distance.value(exact_plan(treeplex, reference.behaviour)) == 0
    assert distance.terms[0].exact_matrix.to_sparse().toarray() == pytest.approx(
        distance.terms[0].matrix.toarray(), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_strategy_does_as_well_as_its_plan(kind):
    bold = Strategy.from_dict(KUHN, 0, {"K_": {"b": 1.0}})
    assert kind(UNIFORM).value(bold) == kind(UNIFORM).value(bold.plan) > 0.0
    for other in (Strategy.uniform(KUHN, 1), Strategy.uniform(load_game("rps"), 0)):
        with pytest.raises(InvalidStrategyError, match=r"player 1|another game"):
            kind(UNIFORM).value(other)


def test_weights_stay_read_only_in_copies():
    assert not copy.deepcopy(L1Distance(UNIFORM)).weights.flags.writeable


def test_an_action_that_does_not_count_may_have_no_probability():
    never = Strategy.from_dict(KUHN, 0, {"Q_": {"p": 1.0}})
    distance = KLDistance(never, weights=[1, 1, 0, 1, 1, 1])
    assert distance.value(UNIFORM.plan) == pytest.approx(0.0, abs=1e-15)
