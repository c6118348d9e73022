"""The compiled loop on flow polytopes and factored payoffs, against a plain reference and the linear program."""

from itertools import islice

import numpy as np
import pytest
from effort import either, few
from random_flows import random_factor, random_flow, random_walk
from regret_in_numpy import RULES, Learner, play

from treeplex import Nash, Profile, SequenceForm, Strategy, Treeplex, load_game, nash_conv, solve
from treeplex.seqform.factored import FactoredPayoff
from treeplex.solvers.methods.rules import CFR, CFR_PLUS, DCFR, PCFR_PLUS
from treeplex.solvers.regret.kernel import Kernel
from treeplex.solvers.regret.layout import build_layout
from treeplex.solvers.regret.warm_start import start_from

COMPILED = {"cfr": CFR, "cfr+": CFR_PLUS, "dcfr": DCFR, "pcfr+": PCFR_PLUS}


def random_form(rng, kind):
    """Flows for both players, or one of them, with a payoff in factors or as matrices; walks meet where they arrive."""
    if kind == "walks":
        walks = [random_walk(rng, 9), random_walk(rng, 7)]
        first, second = (random_factor(rng, walk, 5) for walk in walks)
        return SequenceForm(walks, factored=FactoredPayoff(first.T, second))
    tree = Treeplex([0, 0, 1, 4, 4], [2, 3, 2, 1, 2])
    treeplexes = [random_flow(rng, 9), tree if kind == "flow and tree" else random_flow(rng, 7)]
    shape = [treeplex.num_sequences for treeplex in treeplexes]
    # Noise: round-off would break exact ties between actions in one implementation's way or the other's.
    left, right = rng.normal(size=(shape[0], 3)), rng.normal(size=(3, shape[1]))
    left[rng.random(left.shape) < 0.5] = 0.0
    if kind == "general sum":
        return SequenceForm(treeplexes, payoff_matrices=[rng.normal(size=shape), rng.normal(size=shape)])
    if kind == "matrices":
        return SequenceForm(treeplexes, payoff_matrices=[left @ right, -(left @ right)])
    return SequenceForm(treeplexes, factored=FactoredPayoff(left, right))


@few
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("algorithm", COMPILED)
@pytest.mark.parametrize("kind", ["factors", "walks", "matrices", "general sum", "flow and tree"])
def test_plans_on_flows_are_those_of_the_reference(kind, algorithm, alternating):
    for seed in range(either(2, 5)):
        form = random_form(np.random.default_rng(seed), kind)
        kernel = Kernel(build_layout(form))
        state = kernel.initial_state()
        learners = [Learner(treeplex, RULES[algorithm]) for treeplex in form.treeplexes]
        averages = next(islice(play(form, learners, alternating), 29, None))
        kernel.run(state, COMPILED[algorithm], 30, alternating=alternating)
        for player, learner in enumerate(learners):
            plan = kernel.layout.to_user(player, state.arrays.plan)
            np.testing.assert_allclose(plan, learner.plan(), atol=1e-9)
            average = kernel.layout.to_user(player, kernel.average(state))
            np.testing.assert_allclose(average, averages[player], atol=1e-9)


@pytest.mark.parametrize("kind", ["factors", "walks", "general sum", "flow and tree"])
def test_certificates_on_flows_are_the_librarys(kind):
    form = random_form(np.random.default_rng(3), kind)
    kernel = Kernel(build_layout(form))
    state = kernel.initial_state()
    kernel.run(state, CFR_PLUS, 17)
    plans = [kernel.layout.to_user(player, kernel.average(state)) for player in (0, 1)]
    profile = Profile(Strategy.from_plan(form, player, plan) for player, plan in enumerate(plans))
    found = kernel.exploitability(kernel.average(state))
    assert found == pytest.approx(nash_conv(form, profile) / 2, abs=1e-12)


@few
@pytest.mark.parametrize("method", ["cfr+", "dcfr", "pcfr+"])
@pytest.mark.parametrize("spec", ["transit:width=2", "transit:width=3", "transit:width=2,model=A"])
def test_iterative_methods_converge_on_the_transit_game(spec, method):
    game = load_game(spec)
    solution = solve(Nash(game), method=method, tol=1e-4)
    assert solution.exploitability <= 1e-4
    assert solution.lower - 1e-6 <= game.reference_value <= solution.upper + 1e-6


def test_a_warm_start_plays_the_flow_that_it_is_given():
    game = load_game("transit:width=2")
    first = solve(Nash(game), method="dcfr", tol=1e-3)
    again = solve(Nash(game), method="dcfr", tol=1e-3, start=first.profile)
    assert again.iterations < first.iterations
    # Flows are converged to from there, too.
    further = solve(Nash(game), method="dcfr", tol=1e-4, max_iterations=10_000, start=first.profile)
    assert further.exploitability <= 1e-4
    resumed = solve(Nash(game), method="dcfr", tol=1e-5, start=first)
    assert resumed.iterations > first.iterations
    assert resumed.exploitability <= 1e-5


TREES = [Treeplex([0, 0, 1, 4, 4], [2, 3, 2, 1, 2]), Treeplex([0, 1, 1], [3, 2, 2])]


def factored_form(rng, treeplexes):
    """A payoff in dense factors, so that they are on the empty sequence and on the last one too."""
    first, second = (treeplex.num_sequences for treeplex in treeplexes)
    left, right = rng.normal(size=(first, 3)), rng.normal(size=(3, second))
    # Factors that one or two hold each are multiplied out.
    left[:, 1:], right[:, 1:] = 0.0, 0.0
    left[[0, first - 1], [1, 2]], right[[1, 2], [second - 1, 0]] = rng.normal(size=(2, 2))
    return SequenceForm(treeplexes, factored=FactoredPayoff(left, right))


@pytest.mark.parametrize("kind", ["trees", "flows", "flow without infosets"])
def test_runs_in_factors_stay_within_the_vectors(kind):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        flow = random_flow(rng, 5)
        players = {
            "trees": TREES,
            "flows": [flow, random_flow(rng, 7)],
            "flow without infosets": [flow, Treeplex([], [])],
        }
        form = factored_form(rng, players[kind])
        layout = build_layout(form)
        inflow = layout.game.polytopes.inflow
        sources = layout.parents if inflow is None else inflow.runs[:, 0]
        for first in (layout.game.runs.cells[::2], layout.game.runs.columns, sources):
            assert (first.astype(np.int64) + layout.width <= layout.size).all()
        kernel = Kernel(layout)
        state = kernel.initial_state()
        averages = next(islice(play(form, [Learner(each, RULES["cfr"]) for each in form.treeplexes]), 29, None))
        kernel.run(state, CFR, 30)
        for player in (0, 1):
            average = kernel.layout.to_user(player, kernel.average(state))
            np.testing.assert_allclose(average, averages[player], atol=1e-9)


@pytest.mark.parametrize("kind", ["factors", "matrices", "general sum", "flow and tree"])
def test_a_run_from_a_profile_goes_on_with_plans(kind):
    """Reaches of infosets are in no profile, and count all the same."""
    for seed in range(5):
        form = random_form(np.random.default_rng(seed), kind)
        kernel = Kernel(build_layout(form))
        start = np.zeros(kernel.layout.size)
        for strategy in Profile.uniform(form):
            kernel.layout.from_user(strategy.player, strategy.behaviour, out=start)
        state = start_from(kernel, start)
        kernel.run(state, CFR, 20)
        for player, treeplex in enumerate(form.treeplexes):
            for plan in (state.arrays.plan, kernel.average(state)):
                assert treeplex.residual(kernel.layout.to_user(player, plan)) <= 1e-12
