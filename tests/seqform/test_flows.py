"""Flow polytopes and factored payoffs: the same laws as trees, checked against other ways to compute the same."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from random_flows import random_flow
from scipy.optimize import linprog

from treeplex import Game, InvalidGameError, Nash, SequenceForm, Strategy, Treeplex, UnsupportedProblemError, solve
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.functional import Functional
from treeplex.seqform.polytope import best_response_plan, best_response_value


@st.composite
def flows(draw, most_infosets=6):
    """A random flow polytope; sometimes one whose infosets happen to have single parents."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_flow(rng, draw(st.integers(1, most_infosets)))


def random_plan(treeplex, rng):
    behaviour = np.concatenate([[1.0], *(rng.dirichlet(np.ones(k)) for k in treeplex.num_actions)])
    return treeplex.plan(behaviour), behaviour


@given(flows(), st.integers(0, 2**32 - 1))
def test_plans_of_behaviours_satisfy_the_constraints_and_come_back(treeplex, seed):
    plan, behaviour = random_plan(treeplex, np.random.default_rng(seed))
    np.testing.assert_allclose(treeplex.E @ plan, treeplex.e, atol=1e-12)
    assert treeplex.residual(plan) < 1e-12
    np.testing.assert_allclose(treeplex.reach(plan), np.add.reduceat(plan, treeplex.offsets[:-1]), atol=1e-12)
    reached = np.repeat(treeplex.reach(plan) > 0, treeplex.num_actions)
    np.testing.assert_allclose(treeplex.behaviour(plan)[1:][reached], behaviour[1:][reached])


@given(flows(), st.integers(0, 2**32 - 1))
def test_best_responses_are_the_maximum_over_the_polytope(treeplex, seed):
    rng = np.random.default_rng(seed)
    gradient = rng.normal(size=treeplex.num_sequences)
    found = best_response_plan(treeplex, gradient)
    program = linprog(-gradient, A_eq=treeplex.E, b_eq=treeplex.e)
    assert program.status == 0
    assert found.value == pytest.approx(-program.fun, abs=1e-8)
    assert found.plan @ gradient == pytest.approx(found.value, abs=1e-12)
    assert best_response_value(treeplex, gradient) == found.value
    plan, _ = random_plan(treeplex, rng)
    assert plan @ gradient <= found.value + 1e-12


@given(flows())
def test_levels_hold_every_infoset_once_and_after_all_that_lead_there(treeplex):
    infosets = np.concatenate([level.infosets for level in treeplex.levels])
    assert sorted(infosets.tolist()) == list(range(treeplex.num_infosets))
    level_of = {infoset: depth for depth, level in enumerate(treeplex.levels) for infoset in level.infosets.tolist()}
    level_of[-1] = -1
    inflow = treeplex.inflow.tocoo()
    for infoset, source in zip(*inflow.coords, strict=True):
        assert level_of[int(treeplex.sequence_infosets[source])] < level_of[int(infoset)]
    assert [level_of[infoset] for infoset in range(treeplex.num_infosets)] == treeplex.depths.tolist()


@given(flows(), flows())
def test_flows_come_back_from_their_matrices_and_from_a_pickle(own, other):
    shape = (own.num_sequences, other.num_sequences)
    A = np.arange(np.prod(shape), dtype=float).reshape(shape)
    form = SequenceForm([own, other], payoff_matrices=[A, -A])
    again = SequenceForm.from_matrices(own.E, own.e, -other.E, -other.e, A)
    stored = pickle.loads(pickle.dumps(form))  # noqa: S301
    assert form.fingerprint == again.fingerprint == stored.fingerprint
    for treeplex in (again.treeplexes[0], stored.treeplexes[0]):
        assert treeplex.single_parent == own.single_parent
        np.testing.assert_array_equal(treeplex.inflow.toarray(), own.inflow.toarray())
        with pytest.raises(ValueError, match="read-only"):
            treeplex.inflow.data[0] = 2.0


def test_one_inflow_of_weight_one_each_is_a_tree():
    tree = Treeplex([0, 1, 1, 2], [2, 1, 2, 3])
    same = Treeplex.from_inflow(tree.inflow, tree.num_actions)
    assert same.single_parent
    np.testing.assert_array_equal(same.parents, tree.parents)
    assert same.inflow.data.flags.writeable is False


def test_what_needs_parents_refuses_a_flow():
    flow = Treeplex.from_inflow([[1, 0, 0, 0], [0, 1, 0.5, 0]], [2, 1])
    assert repr(flow) == "Treeplex(num_infosets=2, num_sequences=4, single_parent=False)"
    with pytest.raises(UnsupportedProblemError, match="one sequence leads to each infoset"):
        _ = flow.parents


def test_weights_tell_flows_apart():
    forms = [
        SequenceForm(
            [Treeplex.from_inflow([[1, 0, 0, 0], [0, 1, weight, 0]], [2, 1]), Treeplex([0], [1])],
            payoff_matrices=[np.ones((4, 2)), -np.ones((4, 2))],
        )
        for weight in (0.5, 0.25)
    ]
    assert forms[0].fingerprint != forms[1].fingerprint


@pytest.mark.parametrize(
    ("inflow", "num_actions", "message"),
    [
        ([[1, 0], [0, 1]], [1], "num_actions has 1 entries, inflow has 2: expected one per infoset"),
        ([[1, 0]], [2], r"inflow has shape \(1, 2\), expected \(1, 3\)"),
        ([[1, 0, 0], [0, 0, 0]], [1, 1], "infoset 1 has no inflow"),
        ([[1, 0, 0], [0, 0, 1]], [1, 1], "infoset 1 has inflow from sequence 2, expected sequences before its own"),
        ([[1, 0, 0], [0, -0.5, 0]], [1, 1], "infoset 1 has inflow -0.5 from sequence 1, expected a probability"),
        ([[1, 0, 0], [0, 2, 0]], [1, 1], "infoset 1 has inflow 2 from sequence 1, expected a probability"),
        ([[float("nan"), 0]], [1], "infoset 0 has inflow nan from sequence 0, expected a probability"),
        ([[1, 0]], [0], "infoset 0 has 0 actions"),
        ("flow", [1], "inflow is not a matrix of numbers"),
        ([[1j, 0]], [1], "inflow is not a matrix of numbers: it is complex"),
        (sp.csr_array([[1.0 + 1j, 0.0]]), [1], "inflow is not a matrix of numbers: it is complex"),
    ],
)
def test_what_is_no_flow_is_refused(inflow, num_actions, message):
    with pytest.raises(InvalidGameError, match=message) as caught:
        Treeplex.from_inflow(inflow, num_actions)
    assert "\n" not in str(caught.value)


@st.composite
def factored_games(draw):
    """A zero-sum game on two flows with a payoff in factors, and the same with the matrix."""
    own, other = draw(flows()), draw(flows())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_factors = draw(st.integers(1, 4))
    left = rng.integers(-2, 3, (own.num_sequences, num_factors)).astype(float)
    right = rng.integers(-2, 3, (num_factors, other.num_sequences)).astype(float)
    factored = SequenceForm([own, other], factored=FactoredPayoff(left, right))
    return factored, SequenceForm([own, other], payoff_matrices=[left @ right, -(left @ right)])


@given(factored_games(), st.integers(0, 2**32 - 1))
def test_factors_pay_what_their_product_pays(games, seed):
    factored, explicit = games
    rng = np.random.default_rng(seed)
    plans = [random_plan(treeplex, rng)[0] for treeplex in factored.treeplexes]
    for player in (0, 1):
        np.testing.assert_allclose(factored.gradient(player, plans), explicit.gradient(player, plans), atol=1e-12)
    np.testing.assert_allclose(factored.expected_payoffs(plans), explicit.expected_payoffs(plans), atol=1e-12)
    np.testing.assert_array_equal(factored.A.toarray(), explicit.A.toarray())
    np.testing.assert_array_equal(factored.payoff_matrix(1).toarray(), -explicit.A.toarray())
    assert factored.payoff_scale == explicit.payoff_scale
    assert (factored.is_zero_sum, factored.constant_sum) == (True, 0.0)
    assert factored.fingerprint == explicit.fingerprint
    assert pickle.loads(pickle.dumps(factored)).fingerprint == factored.fingerprint  # noqa: S301


@examples(25)
@given(factored_games())
def test_linear_programs_in_factors_have_the_same_value(games):
    factored, explicit = (Game.from_sequence_form(form) for form in games)
    with_factors, with_matrix = (solve(Nash(game), method="highs-simplex") for game in (factored, explicit))
    scale = games[1].payoff_scale
    assert with_factors.value == pytest.approx(with_matrix.value, abs=1e-8 * scale)
    assert with_factors.gap <= 1e-8 * scale
    through_cvxpy = solve(Nash(factored), method="cvxpy")
    assert through_cvxpy.value == pytest.approx(with_matrix.value, abs=1e-5 * scale)


def test_factors_never_become_a_matrix_in_the_linear_program():
    ends = sp.random_array((401, 30), density=0.05, rng=np.random.default_rng(5))
    treeplexes = [Treeplex([0], [400]), Treeplex([0], [400])]
    form = SequenceForm(treeplexes, factored=FactoredPayoff(ends, ends.T))
    program = Nash(Game.from_sequence_form(form)).linear_program()
    assert program.matrix.nnz < 4 * 401 + form.nnz + 30
    assert "matrix" not in form.factored.__dict__
    assert set(program.columns) == {"plan", "factors", "values"}


def test_factors_never_become_a_matrix_in_the_fingerprint_or_the_scale():
    form = random_factors()
    assert form.fingerprint
    assert form.payoff_scale
    assert "matrix" not in form.factored.__dict__


def test_a_product_in_blocks_is_the_whole_one(monkeypatch):
    form = random_factors()
    explicit = SequenceForm(form.treeplexes, payoff_matrices=[form.A, -form.A])
    monkeypatch.setattr("treeplex.seqform.factored._BLOCK", 7)
    blocks = list(form.factored.blocks())
    assert len(blocks) > 30
    assert [first for first, _ in blocks] == np.cumsum([0, *(block.shape[0] for _, block in blocks)])[:-1].tolist()
    np.testing.assert_array_equal(sp.vstack([block for _, block in blocks]).toarray(), form.A.toarray())
    assert form.factored.largest == abs(form.A).max()
    assert form.fingerprint == explicit.fingerprint


def random_factors():
    ends = sp.random_array((401, 30), density=0.05, rng=np.random.default_rng(5))
    return SequenceForm([Treeplex([0], [400]), Treeplex([0], [400])], factored=FactoredPayoff(ends, ends.T))


@pytest.mark.parametrize("method", ["highs", "cvxpy", "cfr+"])
def test_it_does_not_matter_how_a_payoff_is_divided_between_factors(method):
    # Matching pennies, and a bonus for the second column; each factor in another unit.
    left = np.array([[0.0, 0.0], [1e-12, 1e6], [-1e-12, 1e6]])
    right = np.array([[0.0, 1e12, -1e12], [0.0, 0.0, 1e-6]])
    form = SequenceForm([Treeplex([0], [2]), Treeplex([0], [2])], factored=FactoredPayoff(left, right))
    solution = solve(Nash(Game.from_sequence_form(form)), method=method, tol=1e-4)
    assert solution.status in ("optimal", "converged")
    assert solution.value == pytest.approx(0.5, abs=2e-4)
    np.testing.assert_allclose(form.factored.balanced.matrix.toarray(), left @ right, atol=1e-15)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (np.ones((3, 2)), np.ones((3, 3)), r"the factors have shapes \(3, 2\) and \(3, 3\)"),
        (np.full((3, 1), np.inf), np.ones((1, 3)), "the left factor contains a number that is not finite"),
        (np.ones((3, 1)), "right", "the right factor is not a matrix of numbers"),
        (np.full((3, 1), 1e200), np.full((1, 3), 1e200), "their product may contain a number that is not"),
    ],
)
def test_what_are_no_factors_are_refused(left, right, message):
    with pytest.raises(InvalidGameError, match=message):
        FactoredPayoff(left, right)


def test_factors_have_to_fit_their_game():
    treeplexes = [Treeplex([0], [2]), Treeplex([0], [2])]
    with pytest.raises(InvalidGameError, match=r"shape \(2, 2\), expected \(3, 3\)"):
        SequenceForm(treeplexes, factored=FactoredPayoff(np.ones((2, 1)), np.ones((1, 2))))
    with pytest.raises(InvalidGameError, match="exactly one of"):
        SequenceForm(treeplexes, payoff_matrices=[np.ones((3, 3))] * 2, factored=FactoredPayoff(np.eye(3), np.eye(3)))
    with pytest.raises(InvalidGameError, match="expected a FactoredPayoff"):
        SequenceForm(treeplexes, factored=np.eye(3))


def test_a_functional_is_of_one_player():
    form = SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]])
    often = Functional(0, np.array([0.0, 1.0, 0.0]), "how often the first row is played", constant=2.0)
    assert often.value(Strategy.uniform(form, 0)) == 2.5
    with pytest.raises(ValueError, match="strategy of player 1 with 3 sequences, expected one of player 0 with 3"):
        often.value(Strategy.uniform(form, 1))
    with pytest.raises(ValueError, match="expected a Strategy of player 0"):
        often.value(Strategy.uniform(form, 0).plan)


def test_a_functional_may_be_of_one_game():
    form = SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]])
    other = SequenceForm.from_payoff_matrix([[2, -1], [-1, 1]])
    often = Functional(0, [0, 1, 0], "how often the first row is played", fingerprint=form.fingerprint)
    for each in (often, pickle.loads(pickle.dumps(often))):  # noqa: S301
        assert each.value(Strategy.uniform(form, 0)) == 0.5
        assert not each.coefficients.flags.writeable
        with pytest.raises(ValueError, match="the strategy of player 0 belongs to another game"):
            each.value(Strategy.uniform(other, 0))


@pytest.mark.parametrize("coefficients", [[0.0, np.nan], [[0.0, 1.0]], "often", None, [1j]])
def test_what_are_no_coefficients_is_refused(coefficients):
    with pytest.raises(InvalidGameError, match="the coefficients of the functional 'what'"):
        Functional(0, coefficients, "what")


def test_what_makes_a_game_has_to_make_it():
    with pytest.raises(InvalidGameError, match="the sequence form of nothing is None, expected a SequenceForm"):
        _ = Game("nothing", sequence_form=lambda: None).sequence_form
    form = SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]])
    with pytest.raises(InvalidGameError, match=r"the functionals of game 'pennies' are \{\}, expected a function"):
        Game("pennies", sequence_form=form, functionals={})


def test_a_flow_that_grows_beyond_all_numbers_is_refused():
    num_infosets = 2000  # each sequence leads to the next infoset whole, from both of its actions and from all before
    offsets = 1 + 2 * np.arange(num_infosets + 1)
    rows, columns = [0], [0]
    for infoset in range(1, num_infosets):
        sources = range(max(0, int(offsets[infoset]) - 6), int(offsets[infoset]))
        rows += [infoset] * len(sources)
        columns += sources
    inflow = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(num_infosets, int(offsets[-1])))
    with pytest.raises(InvalidGameError, match="is too large for a float: the weights that leave a sequence"):
        Treeplex.from_inflow(inflow, [2] * num_infosets)
