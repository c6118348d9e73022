"""Responses to a model of the opponent: known values, both formulations, bounds and refusals."""

import itertools

import numpy as np
import pytest
from effort import examples, few, some
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_graph, trees

from treeplex import (
    BestResponse,
    ConstrainedNash,
    DataBiasedResponse,
    EpsilonSafeResponse,
    Game,
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    RestrictedNash,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    gain,
    load_game,
    solve,
    worst_case,
)
from treeplex.models.constraints import behaviour_bound, distance_bound, parse_constraint
from treeplex.models.distances import L2Distance
from treeplex.seqform import best_response_values

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")

#: p, objective, gain and exploitability of player 0 against uniform play; at no breakpoint of p.
KUHN_ROWS = [
    (0.1, -1 / 30, 2 / 9, 0.0),
    (0.25, 0.0138889, 4 / 9, 1 / 18),
    (0.5, 0.1388889, 4 / 9, 1 / 18),
    (0.75, 0.2916667, 5 / 9, 0.2777778),
    (0.95, 0.4583333, 5 / 9, 0.2777778),
]
LEDUC_ROWS = [
    (0.1, -0.008991, 0.839834, 0.008187),
    (0.25, 0.131753, 1.047654, 0.059405),
    (0.5, 0.492451, 1.673986, 0.517871),
    (0.75, 1.120649, 1.916142, 0.923404),
    (0.9, 1.575121, 2.021191, 1.583441),
    (0.99, 2.029292, 2.173106, 3.647727),
]


@few
@pytest.mark.parametrize(
    ("game", "row", "method"),
    [
        pytest.param(game, row, method, id=f"{game.spec}, p={row[0]}, {method}")
        for game, rows in ((KUHN, KUHN_ROWS), (LEDUC, LEDUC_ROWS))
        for row, method in some(itertools.product(rows, ["highs", "highs-ipm-crossover", "cvxpy"]), 2)
    ],
)
def test_restricted_nash_responses_to_uniform_play_are_those_on_record(game, row, method):
    p, objective, gained, exploitability = row
    solution = solve(RestrictedNash(game, Strategy.uniform(game, 1), p=p), method)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(objective, abs=1e-6)
    assert solution.gap <= 1e-7
    assert solution.exploitability <= p / (1 - p) * solution.gain + 1e-7
    assert p * solution.gain - (1 - p) * solution.exploitability == pytest.approx(
        p * gained - (1 - p) * exploitability, abs=2e-6
    )
    if method == "highs":
        assert (solution.gain, solution.exploitability) == pytest.approx((gained, exploitability), abs=2e-6)


def test_the_ends_are_an_equilibrium_strategy_and_a_best_response():
    uniform = Strategy.uniform(LEDUC, 0)
    nash, best = (solve(RestrictedNash(LEDUC, uniform, p=p)) for p in (0.0, 1.0))
    assert nash.player == 1
    assert nash.exploitability == pytest.approx(0.0, abs=1e-9)
    assert best.objective == pytest.approx(solve(BestResponse(LEDUC, uniform)).objective, abs=1e-9)
    assert best.objective == pytest.approx(2.6597222, abs=1e-7)


@pytest.mark.parametrize(("player", "gained"), [(0, 0.7076862403), (1, 0.7852484434)])
def test_the_best_equilibrium_strategy_against_uniform_play_gains_what_is_on_record(player, gained):
    solution = solve(EpsilonSafeResponse(LEDUC, Strategy.uniform(LEDUC, 1 - player), epsilon=0), "highs-simplex")
    assert solution.gain == pytest.approx(gained, abs=1e-7)
    assert solution.exploitability <= 1e-9
    assert solution.multipliers["safety"] > 100  # a slack on the value counts so much


def test_safe_and_restricted_responses_lie_on_one_frontier():
    model = Strategy.uniform(LEDUC, 1)
    for p in some((0.5, 0.1, 0.9), 3):
        restricted = solve(RestrictedNash(LEDUC, model, p=p))
        safe = solve(EpsilonSafeResponse(LEDUC, model, epsilon=restricted.exploitability))
        assert safe.gain == pytest.approx(restricted.gain, abs=1e-6)
        # An interval of multipliers belongs to a vertex of the frontier, and (1 - p) / p lies in it.
        looser = solve(EpsilonSafeResponse(LEDUC, model, epsilon=restricted.exploitability + 1e-3))
        assert looser.gain - safe.gain <= (1 - p) / p * 1e-3 + 1e-7


def test_what_is_reported_is_what_the_strategies_earn():
    model = Strategy.uniform(KUHN, 1)
    solution = solve(RestrictedNash(KUHN, model, p=0.5))
    assert solution.strategy is solution.profile[0]
    assert solution.game_value == pytest.approx(-1 / 18, abs=1e-12)
    assert solution.gain == pytest.approx(gain(KUHN, solution.strategy, model, -1 / 18), abs=1e-12)
    assert solution.exploitability == pytest.approx(-1 / 18 - worst_case(KUHN, solution.strategy), abs=1e-12)
    record = solution.to_dict()
    assert (record["problem"], record["player"]) == ("rnr", 0)
    assert record["opponent_value"] == pytest.approx(record["gain"] + record["game_value"])
    with pytest.raises(UnsupportedProblemError, match=r"use solution\.profile"):
        _ = solve(Nash(KUHN)).strategy


@pytest.mark.parametrize("seat", [0, 1])
def test_flows_and_factors_are_taken(seat):
    game = load_game("transit:width=2")
    model = Strategy.uniform(game, seat)
    for problem in (RestrictedNash(game, model, p=0.3), EpsilonSafeResponse(game, model, epsilon=0.05)):
        exact, through_cvxpy = solve(problem), solve(problem, "cvxpy")
        assert exact.gap <= 1e-7
        assert through_cvxpy.objective == pytest.approx(exact.objective, abs=1e-6)
        assert exact.gain >= 0.0


@examples(30)
@given(trees(num_players=2), st.floats(0.0, 1.0), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_random_games_obey_the_laws(tree, p, seat, seed):
    game = Game.from_tree(to_graph(tree))
    if not game.sequence_form.is_zero_sum:
        form = game.sequence_form
        game = Game.from_sequence_form(
            SequenceForm(form.treeplexes, payoff_matrices=[form.A, -form.A]), name="made zero-sum"
        )
    rng = np.random.default_rng(seed)
    treeplex = game.sequence_form.treeplexes[seat]
    model = Strategy(game, seat, np.concatenate([[1.0], *(rng.dirichlet(np.ones(k)) for k in treeplex.num_actions)]))
    scale = game.sequence_form.payoff_scale
    restricted = solve(RestrictedNash(game, model, p=p), "highs-simplex")
    best = solve(BestResponse(game, model))
    safe = solve(EpsilonSafeResponse(game, model, epsilon=0.1 * scale), "highs-simplex")
    assert restricted.gap <= 1e-7 * scale
    assert -1e-7 * scale <= restricted.gain <= best.gain + 1e-7 * scale
    assert (1 - p) * restricted.exploitability <= p * restricted.gain + 1e-7 * scale
    assert safe.exploitability <= 0.1 * scale + 1e-7 * scale
    assert safe.gain <= best.gain + 1e-7 * scale
    values = best_response_values(game, best.profile)
    assert best.objective == pytest.approx(values[1 - seat], abs=1e-9 * scale)


UNIFORM = Strategy.uniform(KUHN, 1)
GENERAL_SUM = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, 2]], [[3, 0]]))
REFUSED = [
    (lambda: RestrictedNash("kuhn", UNIFORM, p=0.5), InvalidGameError, "rnr: expected a Game"),
    (lambda: RestrictedNash(KUHN, UNIFORM, p=1.5), InvalidGameError, "p is 1.5, expected a number from 0 to 1"),
    (lambda: RestrictedNash(KUHN, UNIFORM, p=float("nan")), InvalidGameError, "p is nan, expected"),
    (lambda: RestrictedNash(KUHN, UNIFORM, p="half"), InvalidGameError, "p is 'half', expected"),
    (lambda: EpsilonSafeResponse(KUHN, UNIFORM, epsilon=-1), InvalidGameError, "expected a number of at least 0"),
    (lambda: EpsilonSafeResponse(KUHN, UNIFORM, epsilon=float("inf")), InvalidGameError, "epsilon is inf"),
    (
        lambda: BestResponse(KUHN, "uniform"),
        InvalidStrategyError,
        "a Strategy as the opponent, or constraints on one player's plan, got 'uniform'",
    ),
    (lambda: BestResponse(KUHN, []), InvalidConstraintError, "or constraints on one player's plan, got none"),
    (
        lambda: BestResponse(KUHN, parse_constraint("0/J_:b <= 0.1", KUHN) + parse_constraint("1/J_b:b <= 0.1", KUHN)),
        InvalidConstraintError,
        "or constraints on one player's plan, got those of both players",
    ),
    (
        lambda: DataBiasedResponse(KUHN, parse_constraint("1/J_b:b <= 0.1", KUHN), p=1),
        InvalidStrategyError,
        r"data-biased: expected a Strategy as the opponent, got \[LinearConstraint",
    ),
    (
        lambda: RestrictedNash(KUHN, [distance_bound(L2Distance(UNIFORM), at_most=0.1, name="near")], p=0.5),
        UnsupportedProblemError,
        "rnr accepts only linear constraints on the opponent, but 'near' is not linear",
    ),
    (lambda: BestResponse(KUHN, Strategy.uniform(LEDUC, 1)), InvalidStrategyError, "game"),
    (lambda: BestResponse(load_game("kuhn:players=3"), UNIFORM), UnsupportedProblemError, "needs two players"),
    (lambda: BestResponse(GENERAL_SUM, UNIFORM), UnsupportedProblemError, "needs a zero-sum game"),
    (
        lambda: EpsilonSafeResponse(KUHN, UNIFORM, epsilon=0.1).linear_program(),
        UnsupportedProblemError,
        "needs game_value",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_makes_no_problem_is_refused_in_one_line(make, error, message):
    with pytest.raises(error, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_iterative_methods_say_what_can_solve_it():
    with pytest.raises(UnsupportedProblemError, match="method cfvfp cannot solve epsilon-safe: use highs"):
        solve(EpsilonSafeResponse(KUHN, Strategy.uniform(KUHN, 1), epsilon=0.5), "cfvfp")


# Opponents that constraints stand for


def at_random(form, seat, seed):
    treeplex = form.treeplexes[seat]
    return Strategy(form, seat, treeplex.behaviour(np.random.default_rng(seed).random(treeplex.num_sequences)))


def pinned(strategy, infosets=None):
    """Return constraints that only a strategy's behaviour meets, at some infosets."""
    game, treeplex = Game.from_sequence_form(strategy.sequence_form), strategy.treeplex
    made = []
    for infoset, (first, stop) in enumerate(itertools.pairwise(treeplex.offsets.tolist())):
        for sequence in range(first, stop - 1) if infosets is None or infoset in infosets else ():
            label, action = treeplex.sequence_label(sequence)
            for side in ("at_most", "at_least"):
                bound = {side: float(strategy.behaviour[sequence]), "name": f"{side} {sequence}"}
                made.append(behaviour_bound(game, strategy.player, label, action, **bound))
    return game, made


@examples(10)
@given(trees(num_players=2, zero_sum=True), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_constraints_that_leave_one_opponent_are_as_good_as_the_opponent(root, seat, seed):
    form = SequenceForm.from_tree(to_graph(root))
    model = at_random(form, seat, seed)
    game, constraints = pinned(model)
    model = Strategy(game, seat, model.behaviour)
    scale = max(1.0, form.payoff_scale)
    for method in ("highs", "rational") if constraints else ():
        for kind, options in (
            (BestResponse, {}),
            (RestrictedNash, {"p": 0.4}),
            (EpsilonSafeResponse, {"epsilon": 0.1}),
        ):
            known, found = solve(kind(game, model, **options)), solve(kind(game, constraints, **options), method)
            assert float(found.objective) == pytest.approx(float(known.objective), abs=1e-7 * scale)
            earned = gain(game, found.profile[1 - seat], model, float(known.certificate.game_value))
            assert float(found.gain) == pytest.approx(earned, abs=1e-7 * scale)
            assert found.status is Status.OPTIMAL


@examples(10)
@given(trees(num_players=2, zero_sum=True), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_what_is_earned_against_constraints_is_a_minimum(root, seat, seed):
    form = SequenceForm.from_tree(to_graph(root))
    generator = np.random.default_rng(seed)
    infosets = set(np.flatnonzero(generator.random(form.treeplexes[seat].num_infosets) < 0.5).tolist())
    model = at_random(form, seat, seed)
    game, constraints = pinned(model, infosets)
    scale = max(1.0, form.payoff_scale)
    for kind, options in ((BestResponse, {}), (RestrictedNash, {"p": 0.4}), (EpsilonSafeResponse, {"epsilon": 0.1})):
        if not constraints:
            break
        found = solve(kind(game, constraints, **options))
        own = found.profile[1 - seat]
        assert found.exploitability == pytest.approx(found.certificate.game_value - worst_case(game, own), abs=1e-9)
        earned = []
        for number in range(5):
            behaviour = at_random(game.sequence_form, seat, number).behaviour.copy()
            kept = np.isin(model.treeplex.sequence_infosets, list(infosets))
            behaviour[kept] = model.behaviour[kept]
            earned.append(gain(game, own, Strategy(game, seat, behaviour), found.certificate.game_value))
        assert found.gain <= min(earned) + 1e-7 * scale
    if constraints:
        locked = solve(ConstrainedNash(game, constraints))
        known = locked.value if seat == 1 else -locked.value
        assert solve(BestResponse(game, constraints)).objective == pytest.approx(known, abs=1e-7 * scale)


@pytest.mark.parametrize("text", ["1/K_p:b == 0.5", "0/K_:b <= 0.25"])
def test_constrained_cfr_responds_to_constraints(text):
    constraints = parse_constraint(text, KUHN)
    exact, found = (solve(BestResponse(KUHN, constraints), method, tol=1e-3) for method in ("highs", "ccfr"))
    assert found.lower <= exact.objective <= found.upper
    assert found.gap <= 1e-3


def test_constraints_are_told_in_words():
    constraints = parse_constraint("1/K_p:b <= 0.5 as trap", KUHN)
    assert BestResponse(KUHN, constraints).in_words() == (
        "Which strategy of player 0 earns most against the worst player 1 who keeps to trap?"
    )
    assert RestrictedNash(KUHN, constraints, p=0.5).in_words() == (
        "Which strategy of player 0 earns most if player 1 keeps to trap with probability 0.5, and otherwise plays "
        "optimally?"
    )


def test_constraints_on_the_opponent_that_exclude_each_other_are_named():
    constraints = parse_constraint("1/K_p:b >= 0.5 as often", KUHN) + parse_constraint("1/K_p:b <= 0.4 as seldom", KUHN)
    found = solve(BestResponse(KUHN, constraints))
    assert found.status is Status.INFEASIBLE
    assert set(found.infeasibility.conflict) == {"often", "seldom"}


@pytest.mark.parametrize("wrong", [-0.2, -1e-3, 0.2])
def test_what_a_response_earns_under_constraints_does_not_depend_on_the_value_that_is_given(wrong):
    """A value that is too low may be less than what the response guarantees, which is then no loss of zero."""
    game = load_game("kuhn")
    rows = parse_constraint("1/Q_b:b <= 0.1", game)
    right = solve(RestrictedNash(game, rows, p=0.5, game_value=-1 / 18))
    found = solve(RestrictedNash(game, rows, p=0.5, game_value=-1 / 18 + wrong))
    assert found.opponent_value == pytest.approx(right.opponent_value, abs=1e-9)
    assert found.gain == pytest.approx(right.gain - wrong, abs=1e-9)
