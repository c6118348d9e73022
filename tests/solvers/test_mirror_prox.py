"""Mirror prox: its steps against a general solver, its bound, and its restarts."""

import math

import numpy as np
import pytest
from effort import either
from scipy.optimize import minimize

from treeplex import Nash, load_game, solve
from treeplex.seqform.polytope import Treeplex, best_response_value
from treeplex.solvers import MirrorProx
from treeplex.solvers.outcome import Options
from treeplex.solvers.regret.mirror_prox import MirrorProxStepper, nearest, weights_of

OPTIONS = Options(tol=0.0, violation=0.0, max_iterations=1, time_limit=math.inf)


@pytest.mark.parametrize("seed", range(3))
def test_a_step_maximises_what_it_should(seed):
    random = np.random.default_rng(seed)
    treeplex = Treeplex([0, 1, 1, 2], [2, 2, 3, 2])
    weights = weights_of(treeplex)
    assert weights.tolist() == [3, 1, 1, 1]
    centre, gradient = treeplex.uniform_behaviour(), random.normal(size=treeplex.num_sequences)
    for first, last in zip(treeplex.offsets[:-1], treeplex.offsets[1:], strict=True):
        centre[first:last] = random.dirichlet(np.ones(last - first))

    def value(behaviour):
        plan = treeplex.plan(behaviour)
        cost = 0.0
        for infoset, parent in enumerate(treeplex.parents):
            own = slice(treeplex.offsets[infoset], treeplex.offsets[infoset + 1])
            cost += weights[infoset] * plan[parent] * np.sum((behaviour[own] - centre[own]) ** 2) / 2
        return gradient @ plan - cost

    found = value(nearest(treeplex, weights, centre, gradient))

    def shares(logits):
        behaviour = np.ones(treeplex.num_sequences)
        for first, last in zip(treeplex.offsets[:-1], treeplex.offsets[1:], strict=True):
            numbers = np.exp(logits[first - 1 : last - 1] - logits[first - 1 : last - 1].max())
            behaviour[first:last] = numbers / numbers.sum()
        return behaviour

    best = minimize(lambda logits: -value(shares(logits)), np.zeros(treeplex.num_sequences - 1), tol=1e-12)
    assert -best.fun - 1e-12 <= found <= -best.fun + 1e-3


@pytest.mark.parametrize("game", ["kuhn", "leduc", "rps:rock=3", "transit:width=2"])
def test_the_bound_of_averages_holds(game):
    stepper = MirrorProxStepper(MirrorProx(restarts=False), Nash(load_game(game)), OPTIONS)
    farthest = 0.0
    for treeplex, weights in zip(stepper.treeplexes, stepper.weights, strict=True):
        start, squares = treeplex.uniform_behaviour(), np.zeros(treeplex.num_sequences)
        for level in treeplex.levels:
            own = start[level.sequences]
            all_squares = np.repeat(np.add.reduceat(own**2, level.starts), level.counts)
            weight = np.repeat(weights[level.infosets], level.counts)
            squares[level.sequences] = weight * (all_squares - own**2 + (1 - own) ** 2) / 2
        farthest += best_response_value(treeplex, squares)  # the farthest plan is pure
    errors = []
    for _ in range(3):
        stepper.step(either(12, 60))
        errors.append(2 * stepper.check())
        assert errors[-1] <= farthest / stepper._sums[0][0]
    assert errors[-1] < errors[0]


def test_restarts_make_the_error_fall_linearly():
    problem = Nash(load_game("kuhn"))
    counts = [solve(problem, "mirror-prox", tol=tolerance).iterations for tolerance in (1e-3, 1e-6, 1e-9)]
    assert counts[2] - counts[1] < 2 * counts[1]
    assert counts[2] < 400
    # Averages without restarts are worse by then.
    plain = solve(problem, MirrorProx(restarts=False), tol=0, max_iterations=counts[2])
    assert plain.exploitability > 1e-6
    last = solve(problem, MirrorProx(restarts=False, iterate="last"), tol=1e-8, max_iterations=1000)
    assert last.status.is_success


def test_bounds_hold_the_value_in_a_flow():
    problem = Nash(load_game("transit:width=2"))
    solution, exact = solve(problem, "mirror-prox", tol=1e-2), solve(problem, "highs")
    assert solution.lower - 1e-9 <= exact.value <= solution.upper + 1e-9
    assert solution.status.is_success
