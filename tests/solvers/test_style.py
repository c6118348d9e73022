"""Equilibria in a preferred style: known ranges, independent formulations, bounds and refusals."""

from fractions import Fraction

import numpy as np
import pytest
from effort import either, examples, few
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_graph, trees
from scipy.optimize import linprog

from treeplex import (
    CVXPY,
    BestNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Functional,
    Game,
    InvalidGameError,
    InvalidStrategyError,
    SequenceForm,
    SolverError,
    Status,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    frequency,
    load_game,
    solve,
    worst_case,
)
from treeplex.models.distances import KLDistance, L1Distance, L2Distance
from treeplex.seqform.functional import reach_of_others
from treeplex.solvers.style.targets import style_range

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")
UNIFORM = Strategy.uniform(KUHN, 0)
BETS = frequency(KUHN, 0, "b", first=True)


def only(game, player, infoset, action):
    """Return the realization of one sequence, as a functional."""
    coefficients = np.zeros(game.sequence_form.treeplexes[player].num_sequences)
    coefficients[game.sequence_form.treeplexes[player].sequence(infoset, action)] = 1.0
    return Functional(player, coefficients, f"{infoset}:{action}")


@pytest.mark.parametrize(
    ("epsilon", "most_bets", "most_bluffs"),
    [
        (0.0, 4 / 9, 1 / 3),
        (0.01, 0.504444, 0.363333),
        (0.05, 0.744444, 0.483333),
        (0.1, 0.822222, 0.633333),
    ],
)
def test_the_ranges_of_kuhn_poker_are_those_on_record(epsilon, most_bets, most_bluffs):
    bets = style_range(KUHN, BETS, epsilon)
    bluffs = style_range(KUHN, only(KUHN, 0, "J_", "b"), epsilon)
    assert (bets.low, bets.high) == pytest.approx((0.0, most_bets), abs=1e-6)
    assert (bluffs.low, bluffs.high) == pytest.approx((0.0, most_bluffs), abs=1e-6)
    assert bluffs.high == pytest.approx(1 / 3 + 3 * epsilon, abs=1e-9)
    assert bets.width == pytest.approx(bets.high - bets.low)
    for end in (bets.lowest, bets.highest, bluffs.lowest, bluffs.highest):
        assert end.status is Status.OPTIMAL
        assert end.gap <= 1e-9
        assert end.exploitability <= epsilon + 1e-9


@few
@pytest.mark.parametrize(
    ("epsilon", "low", "high"),
    [(0.0, 0.52204, 0.52204), (0.01, 0.25605, 0.61276), (0.05, 0.0, 0.72620), (0.1, 0.0, 0.83722), (0.2, 0.0, 1.0)],
)
def test_the_ranges_of_the_first_raise_in_leduc_are_those_on_record(epsilon, low, high):
    found = style_range(LEDUC, frequency(LEDUC, 0, "r", first=True), epsilon)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)
    assert max(found.lowest.gap, found.highest.gap) <= 1e-8


def test_a_range_holds_for_both_players_and_for_coefficients():
    calls = frequency(KUHN, 1, "b", infosets=["Q_b"])
    found = style_range(KUHN, calls.coefficients, player=1, game_value=1 / 18)
    # The second player's equilibrium strategy is unique; it calls a bet with the queen a third of the time.
    others = reach_of_others(KUHN, 1)[KUHN.sequence_form.treeplexes[1].infoset_numbers["Q_b"]]
    assert (found.low, found.high) == pytest.approx((others / 3, others / 3), abs=1e-7)


def by_linprog(game, player, coefficients, floor):
    """Maximise a functional over the safe strategies, the rows written from the sequence form alone."""
    form = game.sequence_form
    own, other = (form.E, form.F) if player == 0 else (form.F, form.E)
    payoff = form.A.toarray() if player == 0 else -form.A.toarray().T
    own, other = own.toarray(), other.toarray()
    columns, rows = own.shape[1], len(other)
    return -linprog(
        np.concatenate([-coefficients, np.zeros(rows)]),
        A_ub=np.hstack([-payoff.T, other.T]),
        b_ub=np.zeros(payoff.shape[1]),
        A_eq=np.hstack([own, np.zeros((len(own), rows))]),
        b_eq=np.eye(len(own))[0],
        bounds=[(0, None)] * columns + [(floor, None)] + [(None, None)] * (rows - 1),
    ).fun


@examples(25)
@given(trees(num_players=2), st.integers(0, 1), st.integers(0, 2**32 - 1), st.floats(0.01, 0.5))
def test_linear_styles_of_random_games_are_those_of_an_independent_program(tree, player, seed, share):
    game = Game.from_tree(to_graph(tree))
    form = game.sequence_form
    game = Game.from_sequence_form(SequenceForm(form.treeplexes, payoff_matrices=[form.A, -form.A]))
    scale = game.sequence_form.payoff_scale
    coefficients = np.random.default_rng(seed).normal(size=form.treeplexes[player].num_sequences)
    functional = Functional(player, coefficients, "random", constant=2.0)
    most = solve(EpsilonSafeStyle(game, epsilon=share * scale, maximise=functional))
    least = solve(EpsilonSafeStyle(game, epsilon=share * scale, minimise=functional))
    floor = most.game_value - share * scale
    assert most.objective == pytest.approx(2.0 + by_linprog(game, player, coefficients, floor), abs=1e-6)
    assert least.objective == pytest.approx(2.0 - by_linprog(game, player, -coefficients, floor), abs=1e-6)
    for solution in (most, least):
        assert solution.status is Status.OPTIMAL
        assert solution.lower <= solution.objective <= solution.upper
        assert solution.objective == pytest.approx(functional.value(solution.strategy), abs=1e-12)
        assert worst_case(game, solution.strategy) >= floor - 1e-7 * scale
    through_cvxpy = solve(EpsilonSafeStyle(game, epsilon=share * scale, minimise=functional), "cvxpy")
    assert through_cvxpy.objective == pytest.approx(least.objective, abs=1e-6)


def by_cutting_planes(distance, floor, start, gap=1e-6):
    """Bracket the least distance of a safe plan of Kuhn poker's first player, by linear programs over tangent planes.

    Values and gradients are written out here; cuts are taken half-way between the best plan and the last one.
    """
    form = KUHN.sequence_form
    own, other, payoff = form.E.toarray(), form.F.toarray(), form.A.toarray()
    size, rows = own.shape[1], len(other)
    parents = form.treeplexes[0].parents[form.treeplexes[0].sequence_infosets[1:]]
    behaviour = distance.reference.behaviour[1:]

    def value_and_gradient(plan):
        expected = behaviour * plan[parents]
        if distance.kind == "kl":
            value = np.sum(plan[1:] * np.log(plan[1:] / expected))
            inner, outer = np.log(plan[1:] / expected) + 1, -plan[1:] / plan[parents]
        else:
            value = np.linalg.norm(plan[1:] - expected)
            inner = (plan[1:] - expected) / value
            outer = -behaviour * inner
        gradient = np.concatenate([[0.0], inner])
        np.add.at(gradient, parents, outer)
        return value, gradient

    best, point, upper, cuts, sides = start, start, np.inf, [], []
    for _ in range(200):
        value, gradient = value_and_gradient(point)
        if value <= upper:
            best, upper = point, value
        cuts.append(np.concatenate([gradient, np.zeros(rows), [-1.0]]))
        sides.append(gradient @ point - value)
        found = linprog(
            np.eye(size + rows + 1)[-1],
            A_ub=np.vstack([np.hstack([-payoff.T, other.T, np.zeros((payoff.shape[1], 1))]), *cuts]),
            b_ub=np.concatenate([np.zeros(payoff.shape[1]), sides]),
            A_eq=np.hstack([own, np.zeros((len(own), rows + 1))]),
            b_eq=np.eye(len(own))[0],
            bounds=[(0, None)] * size + [(floor, None)] + [(None, None)] * (rows - 1) + [(0, None)],
        )
        if upper - found.fun <= gap:
            break
        point = 0.5 * best + 0.5 * found.x[:size]
    return found.fun, upper


@few
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("kind", [KLDistance, L2Distance])
def test_the_nearest_safe_strategy_is_that_of_an_independent_method(kind, epsilon):
    behaviour = np.random.default_rng(0).dirichlet([1.0, 1.0], size=6).ravel()
    mixed = solve(EpsilonSafeStyle(KUHN, epsilon=0.0, nearest=L2Distance(UNIFORM))).strategy.plan
    start = (1 - epsilon) * mixed + epsilon * UNIFORM.plan  # uniform play costs less than a unit
    for reference in (UNIFORM, Strategy(KUHN, 0, np.concatenate([[1.0], behaviour]))):
        distance = kind(reference)
        lower, upper = by_cutting_planes(distance, -1 / 18 - epsilon, start)
        assert upper - lower <= 1e-6
        solution = solve(EpsilonSafeStyle(KUHN, epsilon=epsilon, nearest=distance))
        assert solution.method == CVXPY()
        assert solution.status is Status.OPTIMAL
        assert lower - 1e-8 <= solution.objective <= upper + 1e-8
        assert solution.gap <= 1e-7
        assert solution.violation <= 1e-8
        assert solution.objective == pytest.approx(distance.value(solution.strategy.plan), abs=1e-12)


@few
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("game", [KUHN, load_game("transit:width=2,horizon=4")], ids=lambda game: game.spec)
def test_the_nearest_strategy_in_l1_is_the_same_by_linear_program_and_by_cvxpy(game, player, epsilon):
    problem = EpsilonSafeStyle(game, epsilon=epsilon, nearest=L1Distance(Strategy.uniform(game, player)))
    exact, through_cvxpy = solve(problem, "highs-simplex"), solve(problem, "cvxpy")
    clarabel = solve(problem, CVXPY(solver="CLARABEL"))
    assert exact.status is through_cvxpy.status is Status.OPTIMAL
    assert through_cvxpy.objective == pytest.approx(exact.objective, abs=1e-7)
    assert clarabel.objective == pytest.approx(exact.objective, abs=1e-5)
    assert max(exact.gap, through_cvxpy.gap) <= 1e-7


@pytest.mark.parametrize("kind", [L2Distance, KLDistance])
@pytest.mark.parametrize("player", [0, 1])
def test_conic_answers_in_leduc_prove_themselves(kind, player):
    solution = solve(EpsilonSafeStyle(LEDUC, epsilon=0.1, nearest=kind(Strategy.uniform(LEDUC, player))))
    assert solution.status is Status.OPTIMAL
    assert solution.gap <= 1e-6
    assert solution.violation <= 1e-7
    assert solution.exploitability == pytest.approx(0.1, abs=1e-6)
    assert (
        0.0
        < solution.objective
        < type(solution.problem.nearest)(solution.problem.nearest.reference).value(
            solve(EpsilonSafeResponse(LEDUC, Strategy.uniform(LEDUC, 1 - player), epsilon=0.1)).strategy.plan
        )
    )


@pytest.mark.parametrize("kind", [L1Distance, L2Distance, KLDistance])
def test_a_strategy_that_is_safe_is_its_own_nearest(kind):
    solution = solve(EpsilonSafeStyle(KUHN, epsilon=1.0, nearest=kind(UNIFORM)))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(0.0, abs=1e-5)
    assert solution.lower >= 0.0
    assert solution.gap <= 1e-5


@pytest.mark.parametrize("kind", [L1Distance, L2Distance, KLDistance])
def test_a_certificate_does_not_pass_a_wrong_strategy_nor_believe_wrong_evidence(kind):
    problem = EpsilonSafeStyle(KUHN, epsilon=0.05, nearest=kind(UNIFORM), game_value=-1 / 18)
    right = solve(problem)
    size = 13 - (kind is not KLDistance)
    rng = np.random.default_rng(3)
    for _ in range(20):
        certificate = problem.certify(
            right.profile, {"safety": float(rng.exponential(10.0))}, {"slopes": rng.normal(scale=5.0, size=size)}
        )
        assert certificate.lower <= right.objective + 1e-7
        assert certificate.objective == right.objective
    unsafe = problem.certify(right.profile.__class__([UNIFORM, right.profile[1]]), right.multipliers)
    assert unsafe.violation > 0.3
    other = solve(EpsilonSafeStyle(KUHN, epsilon=0.05, maximise=BETS))
    assert problem.certify(other.profile, right.multipliers).gap > 0.1


def test_multipliers_are_what_a_little_more_room_is_worth():
    for style in ({"maximise": BETS}, {"nearest": L1Distance(UNIFORM)}, {"nearest": KLDistance(UNIFORM)}):
        here, there = (solve(EpsilonSafeStyle(KUHN, epsilon=epsilon, **style)) for epsilon in (0.03, 0.03 + 1e-4))
        gained = abs(there.objective - here.objective)
        assert gained == pytest.approx(1e-4 * here.multipliers["safety"], rel=0.02)


@pytest.mark.parametrize(
    ("game", "player", "gain"), [(LEDUC, 0, 0.7076862403), (LEDUC, 1, 0.7852484434), (KUHN, 0, 2 / 9), (KUHN, 1, 1 / 9)]
)
def test_the_best_equilibrium_strategy_gains_what_is_on_record_and_says_its_slack(game, player, gain):
    model = Strategy.uniform(game, 1 - player)
    solution = solve(BestNash(game, model))
    assert solution.status is Status.OPTIMAL
    assert solution.gain == pytest.approx(gain, abs=1e-9)
    assert solution.slack <= 1e-14
    assert solution.exploitability <= 1e-13
    record = solution.to_dict()
    assert (record["problem"], record["slack"]) == ("best-nash", solution.slack)
    plans = sorted((solution.strategy, model), key=lambda strategy: strategy.player)
    payoffs = expected_payoffs(game, type(solution.profile)(plans))
    assert solution.objective == pytest.approx(float(payoffs[player]), abs=1e-12)


def test_slack_buys_gain_at_the_rate_of_the_multiplier():
    model = Strategy.uniform(LEDUC, 1)
    best = solve(BestNash(LEDUC, model))
    looser = solve(BestNash(LEDUC, model, game_value=best.game_value, slack=1e-8), "highs-simplex")
    assert looser.slack == 1e-8
    assert looser.gain - best.gain == pytest.approx(1e-8 * best.multipliers["safety"], rel=0.02)
    assert solve(EpsilonSafeResponse(LEDUC, model, epsilon=0.1)).slack is None


def test_a_limit_of_iterations_is_not_called_one_of_time():
    assert solve(EpsilonSafeStyle(KUHN, epsilon=0.05, nearest=L2Distance(UNIFORM)), max_iterations=2).status is (
        Status.ITERATION_LIMIT
    )


def test_the_default_method_is_one_that_can_solve_it():
    assert solve(EpsilonSafeStyle(KUHN, epsilon=0.1, nearest=L1Distance(UNIFORM))).method.name == "highs"
    conic = EpsilonSafeStyle(KUHN, epsilon=0.1, nearest=L2Distance(UNIFORM), game_value=-1 / 18)
    assert solve(conic).method.name == "cvxpy"
    with pytest.raises(UnsupportedProblemError, match=r"method highs cannot solve style.*: use cvxpy$"):
        solve(conic, "highs")
    with pytest.raises(UnsupportedProblemError, match="'distance' is not linear, so there is no linear program"):
        conic.linear_program()
    with pytest.raises(SolverError, match="cvxpy with HIGHS failed") as refused:
        solve(conic, CVXPY(solver="HIGHS"))
    assert "\n" not in str(refused.value)


def test_a_style_says_what_it_optimises_and_nothing_of_an_opponent():
    solution = solve(EpsilonSafeStyle(KUHN, epsilon=0.05, maximise=BETS))
    record = solution.to_dict()
    assert (record["problem"], record["player"]) == ("style", 0)
    assert (record["gain"], record["opponent_value"], record["slack"]) == (None, None, None)
    assert record["game_value"] == pytest.approx(-1 / 18)
    assert record["exploitability"] == pytest.approx(0.05)
    assert "objective" in str(solution)


def test_fractions_prove_styles_and_the_best_equilibrium_strategy_exactly():
    pytest.importorskip("flint")
    bets = solve(EpsilonSafeStyle(KUHN, epsilon="1/100", maximise=BETS), "rational")
    assert (bets.exact.certificate.lower, bets.exact.certificate.upper) == (Fraction(227, 450), Fraction(227, 450))
    least = solve(EpsilonSafeStyle(KUHN, epsilon=Fraction(1, 100), minimise=BETS), "rational")
    assert least.exact.certificate.objective == 0
    near = solve(EpsilonSafeStyle(KUHN, epsilon="1/100", nearest=L1Distance(Strategy.uniform(KUHN, 1))), "rational")
    assert near.exact.certificate.objective == near.exact.certificate.lower == Fraction(323, 75)
    best = solve(BestNash(KUHN, Strategy.uniform(KUHN, 1)), "rational")
    assert best.exact.certificate.objective == Fraction(1, 6)
    assert best.slack == 0.0
    with pytest.raises(UnsupportedProblemError, match=r"method rational cannot solve style.*: use cvxpy$"):
        solve(EpsilonSafeStyle(KUHN, epsilon=0.1, nearest=L2Distance(UNIFORM)), "rational")


def test_a_range_is_exact_where_the_value_of_the_game_is_no_float():
    pytest.importorskip("flint")
    game = load_game(either("kuhn", "leduc:merge_suits=true"))
    raises = frequency(game, 0, either("b", "r"), first=True)
    exact, rounded = style_range(game, raises, method="rational"), style_range(game, raises)
    assert exact.lowest.exact is not None
    assert exact.highest.exact is not None
    assert [exact.low, exact.high] == pytest.approx([rounded.low, rounded.high], abs=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_what_is_proven_hangs_on_the_unit_of_neither_payoffs_nor_styles(unit, size):
    payoffs = unit * np.array([[3.0, -1.0, 0.0], [-2.0, 1.0, 1.0], [0.0, 0.5, -1.0]])
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs))
    second = size * np.array([0.0, 0.0, 1.0, 0.0])
    styles = [
        {"maximise": second, "player": 0},
        {"nearest": L1Distance(Strategy.uniform(game, 0), [size])},
        {"nearest": L2Distance(Strategy.uniform(game, 0), [size**2])},
        {"nearest": KLDistance(Strategy.uniform(game, 0), [size])},
    ]
    for style in styles:
        problem = EpsilonSafeStyle(game, epsilon=0.1 * unit, **style)
        solution = solve(problem)
        assert solution.status is Status.OPTIMAL
        assert solution.gap <= 1e-4 * size
        loose = solution.problem.certify(solution.profile, {"safety": 0.0})
        assert loose.gap > 1e-3 * size
        assert solution.problem.error(loose) > 1e-3 * unit


TRANSIT = load_game("transit:width=2,horizon=4")


def test_styles_of_flows_and_of_functionals_that_a_game_names():
    found = style_range(TRANSIT, TRANSIT.functionals["risk"], 0.05)
    assert 0.0 <= found.low < found.high <= 1.0
    assert found.highest.player == 1
    assert found.highest.gap <= 1e-7


def test_frequencies_count_what_chance_and_the_others_allow():
    assert BETS.value(UNIFORM) == pytest.approx(0.5)
    always = Strategy.from_dict(KUHN, 0, {"K_": {"b": 1.0}, "Q_": {"b": 0.0, "p": 1.0}, "J_": {"p": 1.0}})
    assert BETS.value(always) == pytest.approx(1 / 3)
    # Player 1 bets a pass: half of the time if uniform, never if it always passes.
    calls = frequency(KUHN, 0, "b", infosets=["J_pb", "Q_pb", "K_pb"])
    assert calls.value(UNIFORM) == pytest.approx(0.5 * 0.5 * 0.5)
    passive = Strategy.from_dict(KUHN, 1, {f"{card}_p": {"p": 1.0} for card in "JQK"})
    assert frequency(KUHN, 0, "b", infosets=["J_pb", "Q_pb", "K_pb"], others=passive).value(UNIFORM) == 0.0
    both = frequency(KUHN, 0, ["p", "b"], first=True)
    assert both.value(UNIFORM) == pytest.approx(1.0)


@examples(40)
@given(trees(num_players=2), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_reaches_sum_to_what_a_walk_of_the_tree_says(tree, player, seed):
    game = Game.from_tree(to_graph(tree))
    rng = np.random.default_rng(seed)
    other = Strategy(
        game,
        1 - player,
        np.concatenate(
            [[1.0], *(rng.dirichlet(np.ones(k)) for k in game.sequence_form.treeplexes[1 - player].num_actions)]
        ),
    )
    treeplex = game.sequence_form.treeplexes[player]
    expected = np.zeros(treeplex.num_infosets)

    def walk(node, reach):
        if hasattr(node, "outcomes"):
            for _, probability, child in node.outcomes:
                walk(child, reach * float(probability))
        elif hasattr(node, "moves"):
            if node.player == player:
                expected[treeplex.infoset_numbers[node.infoset]] += reach
            for label, child in node.moves:
                walk(child, reach if node.player == player else reach * other[node.infoset][label])

    walk(tree, 1.0)
    assert reach_of_others(game, player, other) == pytest.approx(expected, abs=1e-12)


REFUSED = [
    (lambda: EpsilonSafeStyle("kuhn", epsilon=0.1, maximise=BETS), InvalidGameError, "style: expected a Game"),
    (lambda: EpsilonSafeStyle(KUHN, epsilon=-1, maximise=BETS), InvalidGameError, "epsilon is -1, expected"),
    (lambda: EpsilonSafeStyle(KUHN, epsilon=0.1), UnsupportedProblemError, "needs one of maximise.*received none"),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=BETS, minimise=BETS),
        UnsupportedProblemError,
        "received maximise and minimise",
    ),
    (lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=BETS.coefficients), InvalidStrategyError, "and player="),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=np.ones(3), player=0),
        InvalidStrategyError,
        "3 coefficients",
    ),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=np.ones(13), player=7),
        InvalidStrategyError,
        "expected 0 or 1",
    ),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=np.ones(13), player=0.0),
        InvalidStrategyError,
        "expected 0 or 1",
    ),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=np.ones(13), player=True),
        InvalidStrategyError,
        "expected 0 or 1",
    ),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise="bets", player=0),
        InvalidGameError,
        "not a vector of numbers",
    ),
    (lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=BETS, player=1), InvalidStrategyError, "is about player 0"),
    (lambda: EpsilonSafeStyle(LEDUC, epsilon=0.1, maximise=BETS), InvalidStrategyError, "coefficients, expected 1093"),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, nearest=UNIFORM),
        UnsupportedProblemError,
        "expected one of L1Distance",
    ),
    (lambda: EpsilonSafeStyle(LEDUC, epsilon=0.1, nearest=L1Distance(UNIFORM)), InvalidStrategyError, "game"),
    (
        lambda: EpsilonSafeStyle(load_game("kuhn:players=3"), epsilon=0.1, maximise=BETS),
        UnsupportedProblemError,
        "needs two players",
    ),
    (
        lambda: EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=BETS).linear_program(),
        UnsupportedProblemError,
        "needs game_value",
    ),
    (lambda: BestNash(KUHN, Strategy.uniform(KUHN, 1), slack=-1), InvalidGameError, "slack is -1"),
    (lambda: frequency(KUHN, 0, "raise"), InvalidGameError, "has no action 'raise'"),
    (lambda: frequency(KUHN, 0, "b", infosets=["nowhere"]), InvalidGameError, "has no infoset 'nowhere'"),
    (lambda: frequency(KUHN, 0, "b", infosets=["J_pb"], first=True), InvalidGameError, "at the given infosets"),
    (lambda: frequency(KUHN, 0, "b", others="uniform"), InvalidStrategyError, "expected a Profile"),
    (lambda: frequency(TRANSIT, 0, "E"), UnsupportedProblemError, "no table of leaves"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_makes_no_style_is_refused_in_one_line(make, error, message):
    with pytest.raises(error, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)
