"""Proven bounds of commitments, with both tie rules, against linear programs over both players' pure strategies."""

import itertools
import random

import numpy as np
import pytest
import scipy.sparse as sp
from commitment_oracle import best_mixture, strong_value, weak_value
from effort import few
from random_trees import count_pure_strategies, expected, grow, pure_strategies, to_game

from treeplex import Game, Nash, Profile, SequenceForm, Status, Strategy, UnsupportedProblemError, load_game, solve
from treeplex.models.problems import Stackelberg
from treeplex.models.problems.pure_replies import pure_plans
from treeplex.seqform import bayesian_form
from treeplex.seqform.errors import TimeLimitError
from treeplex.seqform.polytope import Treeplex
from treeplex.solvers.exact import commitment


def random_matrices(seed):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 6)), int(rng.integers(2, 6)))
    first, second = rng.integers(-3, 4, size=(2, *shape)).astype(float) if seed % 2 else rng.normal(size=(2, *shape))
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(first, second))
    return game, (second.T, first.T), (first, second)


def random_tree(seed):
    """A tree with chance and at least two pure strategies each; with an odd seed, payoffs are often tied."""
    source = random.Random(seed)

    def payoffs():
        if seed % 2:
            return tuple(float(source.randint(-2, 2)) for _ in range(2))
        return tuple(source.uniform(-1, 1) for _ in range(2))

    while True:
        root = grow(source.randint, payoffs, 2, 5, 14)
        counts = [count_pure_strategies(root, player) for player in (0, 1)]
        if min(counts) > 1 and max(counts) <= 24:
            break
    own = [pure_strategies(root, player) for player in (0, 1)]
    paid = np.array([[expected(root, [one, other]) for other in own[1]] for one in own[0]], dtype=float)
    return to_game(root), (paid[..., 1].T, paid[..., 0].T), (paid[..., 0], paid[..., 1])


@few
@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize("draw", [random_matrices, random_tree])
@pytest.mark.parametrize("seed", range(75))
def test_both_tie_rules_against_every_reply(seed, draw, leader):
    game, by_leader_0, by_leader_1 = draw(seed)
    theirs, mine = (by_leader_0, by_leader_1)[leader]
    strong = solve(Stackelberg(game, leader=leader))
    best = strong_value(theirs, mine)
    assert strong.status is Status.OPTIMAL
    assert "not certified" not in strong.message
    for number in (strong.objective, strong.lower, strong.upper):
        assert number == pytest.approx(best, abs=1e-9)
    assert strong.exploitability <= 1e-9
    weak = solve(Stackelberg(game, leader=leader, ties="weak"))
    supremum = weak_value(theirs, mine)
    assert weak.status is Status.OPTIMAL
    for number in (weak.lower, weak.upper):
        assert number == pytest.approx(supremum, abs=1e-9)
    assert supremum - 1e-4 <= weak.objective <= supremum + 1e-9
    assert weak.upper <= strong.upper + 1e-9
    # The follower's other best replies pay the leader no less.
    problem = weak.problem
    plan = weak.profile[leader].plan
    paid, earned = (one.payoffs(plan) for one in problem.payoffs)
    plans = pure_plans(game.sequence_form.treeplexes[1 - leader])
    ties = plans[plans @ paid >= (plans @ paid).max() - 1e-13]
    assert (ties @ earned).min() >= weak.objective - 1e-12


@few
@pytest.mark.parametrize("seed", range(100))
def test_constraints_on_the_leader_against_every_reply(seed):
    game, (theirs, mine), _ = random_matrices(seed)
    rng, width = np.random.default_rng(seed), theirs.shape[1]
    limits = [(rng.integers(-2, 3, size=width).astype(float), float(rng.uniform(0.0, 0.6))) for _ in range(2)]
    rows = np.array([most - row for row, most in limits])  # the plan sums to 1, so that each row is at least 0
    best = max(best_mixture(np.vstack([one - theirs, rows]), paid) for one, paid in zip(theirs, mine, strict=True))
    x = game.plan(0)
    posed = {f"c{number}": row @ x[1:] <= most for number, (row, most) in enumerate(limits)}
    solution = solve(Stackelberg(game, leader=0, constraints=posed))
    if not np.isfinite(best):
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    for number in (solution.objective, solution.lower, solution.upper):
        assert number == pytest.approx(best, abs=1e-9)
    assert solution.violation < 1e-8
    # A multiplier is the gain per unit of loosening, as long as the reply stays best.
    assert all(price >= 0.0 for price in solution.multipliers.values())


@pytest.mark.parametrize(
    ("ending", "status"),
    [(TimeLimitError("it is late"), Status.TIME_LIMIT), (KeyboardInterrupt(), Status.INTERRUPTED)],
)
@pytest.mark.parametrize("ties", ["strong", "weak"])
def test_what_ends_the_search_keeps_the_best_so_far(monkeypatch, ending, status, ties):
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 12, 12))
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(first, second))
    best, calls = solve(Stackelberg(game, leader=0, ties=ties)), []

    def solved(program, run=commitment.optimum):
        calls.append(program)
        if len(calls) > 2:
            raise ending
        return run(program)

    monkeypatch.setattr(commitment, "optimum", solved)
    solution = solve(Stackelberg(game, leader=0, ties=ties))
    assert solution.status is status
    assert solution.objective <= best.objective + 1e-9
    if solution.upper is not None:
        assert solution.lower - 1e-9 <= best.objective <= solution.upper + 1e-9


@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize("ties", ["strong", "weak"])
@pytest.mark.parametrize("spec", ["kuhn", "matching_pennies", "kuhn:cards=4", "rps"])
def test_opposed_games_are_worth_their_value_with_either_tie_rule(spec, ties, leader):
    game = load_game(spec)
    exact = solve(Nash(game), "rational").value
    solution = solve(Stackelberg(game, leader=leader, ties=ties))
    for bound in (solution.lower, solution.upper):
        assert bound == pytest.approx(float(exact) * (1 - 2 * leader), abs=1e-9)


def test_the_relaxation_bounds_games_with_many_replies():
    game = load_game("leduc:ranks=2")
    problem = Stackelberg(game, leader=0)
    assert problem.replies is None
    solution = solve(problem)
    assert solution.lower <= solution.upper <= solution.lower + 1e-9
    assert "not certified" not in solution.message


@pytest.mark.parametrize("seed", range(8))
def test_any_multipliers_prove_a_bound(seed):
    rng = np.random.default_rng(seed)
    game, (theirs, mine), _ = random_matrices(seed)
    problem = Stackelberg(game, leader=0)
    best, count = strong_value(theirs, mine), len(problem.replies)
    solution = solve(problem)
    wild = {"weights": rng.normal(size=(count, count)), "prices": np.zeros((count, 0))}
    assert problem.certify(solution.profile, None, wild).upper >= best - 1e-9
    rows = problem.integer_program().program.shape[0]
    assert 0.0 <= solution.gap <= 1e-9
    wild = {"relaxation": rng.normal(size=rows)}
    assert problem.certify(solution.profile, None, wild).upper >= best - 1e-9


def test_a_false_claim_that_a_reply_is_never_strictly_best_proves_nothing():
    game, _, _ = random_matrices(0)
    solution = solve(Stackelberg(game, leader=0, ties="weak"))
    problem, count = solution.problem, len(solution.problem.replies)
    uniform = game.sequence_form.treeplexes[0].uniform_plan()
    none = {name: np.zeros((count, count)) for name in ("weights", "shares")}
    none |= {"prices": np.zeros((count, 0)), "limit": uniform, "inside": uniform}
    certificate = problem.certify(solution.profile, None, none)
    assert certificate.upper is None
    own = none | {"weights": np.eye(count)}
    assert problem.certify(solution.profile, None, own).upper is None
    # Mixtures of other replies prove it only for a reply that they are as good as everywhere.
    for number in range(count):
        others = none | {"weights": np.eye(count)[np.full(count, number)]}
        assert problem.certify(solution.profile, None, others).upper is None


def test_pure_plans_are_those_of_the_tree():
    for seed in range(5):
        game, (theirs, _), _ = random_tree(seed)
        plans = pure_plans(game.sequence_form.treeplexes[1])
        assert len(np.unique(plans, axis=0)) == len(plans) == len(theirs)
    assert pure_plans(load_game("leduc").sequence_form.treeplexes[0]) is None


def test_pure_plans_of_flows_are_routes():
    # Two ways lead to the last infoset: a, then c or d; b, then c or d; or stop at once.
    flow = Treeplex.from_inflow(sp.csr_array([[1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]]), [3, 2])
    plans = pure_plans(flow)
    assert sorted(plans.astype(int).tolist()) == [
        [1, 0, 0, 1, 0, 0],
        [1, 0, 1, 0, 0, 1],
        [1, 0, 1, 0, 1, 0],
        [1, 1, 0, 0, 0, 1],
        [1, 1, 0, 0, 1, 0],
    ]


# Payoffs are to the leader, then to the follower.
PUBLISHED = {
    "Conitzer and Sandholm 2006, figure 1": ([[2, 4], [1, 3]], [[1, 0], [0, 1]], 3.5, [0.5, 0.5]),
    "Conitzer and Korzhyk 2011, the example": ([[1, 3], [0, 2]], [[1, 0], [0, 1]], 2.5, [0.5, 0.5]),
}


@pytest.mark.parametrize("source", PUBLISHED)
def test_published_commitments(source):
    mine, theirs, value, plan = PUBLISHED[source]
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(mine, theirs))
    strong = solve(Stackelberg(game, leader=0))
    assert strong.objective == pytest.approx(value, abs=1e-9)
    assert strong.strategy.plan[1:] == pytest.approx(plan, abs=1e-9)
    # Conitzer and Korzhyk write 50 % ± ε for the follower who breaks ties against the leader.
    weak = solve(Stackelberg(game, leader=0, ties="weak"))
    assert weak.upper == pytest.approx(value, abs=1e-9)
    assert 0.0 < weak.upper - weak.objective < 1e-5


def test_the_example_of_dobss():
    """Paruchuri et al. 2008, table 1: the equilibrium pays 2, and a commitment to equal probabilities 3.5."""
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[2, 4], [1, 3]], [[1, 0], [0, 2]]))
    assert solve(Nash(game)).value[0] == pytest.approx(2.0)
    problem = Stackelberg(game, leader=0)
    equal = Profile([Strategy.uniform(game, 0), Strategy.from_plan(game, 1, [1.0, 0.0, 1.0])])
    assert problem.certify(equal).objective == pytest.approx(3.5)
    assert problem.certify(equal).exploitability == 0.0
    # The best commitment makes the follower indifferent: 4 · 2/3 + 3 · 1/3.
    assert solve(problem).objective == pytest.approx(11 / 3, abs=1e-9)


def origami(covered, uncovered, resources):
    """Kiekintveld et al. 2009, ORIGAMI: the coverage that leaves an attacker the least, and what it leaves.

    It covers targets from the most valuable one down, so that all targets that may be attacked are worth the same.
    """
    low, high = covered.max() if resources >= len(covered) else covered.min(), uncovered.max()
    for _ in range(200):
        level = (low + high) / 2
        needed = np.clip((uncovered - level) / (uncovered - covered), 0.0, None)
        if needed.max() <= 1.0 and needed.sum() <= resources:
            high = level
        else:
            low = level
    return np.clip((uncovered - high) / (uncovered - covered), 0.0, 1.0), high


@pytest.mark.parametrize("seed", range(20))
def test_security_games_against_origami(seed):
    """One attacker, targets to cover with one or two resources: the coverage of ORIGAMI is an optimal commitment."""
    rng = np.random.default_rng(seed)
    count, resources = int(rng.integers(3, 6)), int(rng.integers(1, 3))
    attacker = np.array([rng.uniform(-9, -1, count), rng.uniform(1, 9, count)])  # covered, uncovered
    defender = np.array([rng.uniform(1, 9, count), rng.uniform(-9, -1, count)])
    schedules = np.array([np.isin(range(count), each) for each in itertools.combinations(range(count), resources)])
    mine, theirs = (np.where(schedules, one[0], one[1]) for one in (defender, attacker))
    solution = solve(Stackelberg(Game.from_sequence_form(SequenceForm.from_payoff_matrix(mine, theirs)), leader=0))
    coverage, left = origami(*attacker, resources)
    attacked = (1 - coverage) * attacker[1] + coverage * attacker[0] >= left - 1e-9
    best = ((1 - coverage) * defender[1] + coverage * defender[0])[attacked].max()
    assert solution.objective == pytest.approx(best, abs=1e-7)
    assert solution.upper == pytest.approx(best, abs=1e-7)
    assert solution.certificate.value[1] == pytest.approx(left, abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_types_of_followers_reply_for_themselves(seed):
    rng = np.random.default_rng(seed)
    types, rows, columns = 2, 3, 3
    mine, theirs = rng.integers(-4, 5, size=(2, types, rows, columns)).astype(float)
    shares = rng.dirichlet(np.ones(types))
    game = Game.from_sequence_form(bayesian_form(mine, theirs, shares))
    joint = list(itertools.product(range(columns), repeat=types))
    tables = [
        np.array([sum(shares[t] * table[t][:, one] for t, one in enumerate(each)) for each in joint])
        for table in (theirs, mine)
    ]
    solution = solve(Stackelberg(game, leader=0))
    assert solution.objective == pytest.approx(strong_value(*tables), abs=1e-9)
    assert solution.upper == pytest.approx(solution.objective, abs=1e-9)
    for number, label in enumerate(game.sequence_form.treeplexes[1].infoset_labels):
        paid = solution.strategy.plan[1:] @ theirs[number]
        played = [solution.profile[1][label][column] for column in range(columns)]
        assert paid @ played == pytest.approx(paid.max(), abs=1e-9)


def test_a_constant_sum_keeps_its_constant():
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0], [0, 3]], [[2, 5], [5, 2]]))
    for leader, value in ((0, 1.5), (1, 3.5)):
        for ties in ("strong", "weak"):
            solution = solve(Stackelberg(game, leader=leader, ties=ties))
            assert (solution.lower, solution.upper) == pytest.approx((value, value), abs=1e-9)
            assert solution.objective == pytest.approx(value, abs=1e-9)
            assert solution.values == pytest.approx((1.5, 3.5), abs=1e-9)


def test_answers_say_the_tie_rule():
    game = load_game("kuhn")
    for ties, words in (("strong", "in the leader's favour"), ("weak", "against the leader")):
        solution = solve(Stackelberg(game, leader=0, ties=ties))
        assert f"ties               {ties}: broken {words}" in str(solution)
        assert solution.to_dict()["ties"] == ties
        page = solution.report().to_html()
        assert f"ties are {ties}" in page
        assert "No commitment pays the leader more than" in page
    assert "the supremum, which may not be attained" in str(solution)
    assert solve(Nash(game)).to_dict()["ties"] is None


def test_weak_ties_that_do_not_fit_are_refused():
    kuhn = load_game("kuhn")
    with pytest.raises(UnsupportedProblemError, match="ties is 'week', expected one of strong, weak"):
        Stackelberg(kuhn, ties="week")
    with pytest.raises(UnsupportedProblemError, match="constraints are given with weak ties, expected strong ties"):
        Stackelberg(kuhn, ties="weak", constraints={"one": kuhn.plan(1)[1] <= 0.5})
    with pytest.raises(UnsupportedProblemError, match="more than 500 pure plans"):
        solve(Stackelberg(load_game("leduc"), ties="weak"))
