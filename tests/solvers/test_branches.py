"""Games in a trunk and branches: nothing is lost, and any number of threads does the same iterations."""

import multiprocessing
import threading
from itertools import pairwise

import numpy as np
import pytest
from effort import examples, few, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import CCFR, CFR, DCFR, CFRPlus, ConstrainedNash, Nash, PrefCFR, UnknownMethodError, load_game, solve
from treeplex.models.constraints import reach_bound
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers import team
from treeplex.solvers.methods import rules
from treeplex.solvers.regret import branches as branches_module
from treeplex.solvers.regret import layout as layout_module
from treeplex.solvers.regret.kernel import Kernel, kernel_of
from treeplex.solvers.regret.layout import build_layout

SPECS = "kuhn:cards=5", "leduc", "liars_dice:sides=3", "goofspiel:cards=4"
RULES = {name: getattr(rules, name) for name in ("CFR", "CFR_PLUS", "DCFR", "PCFR_PLUS", "HS_DCFR")}


@pytest.fixture
def small(monkeypatch):
    """Let small games have branches too."""
    monkeypatch.setattr(layout_module, "SMALL", 0.0)
    monkeypatch.setattr(branches_module, "BRANCH", 1.0)
    monkeypatch.setattr(branches_module, "TRUNK", 0.5)


def state_after(layout, threads, rule, iterations, number=None, **how):
    kernel = Kernel(layout, threads)
    state = kernel.initial_state()
    for part in (1, iterations - 1):  # threads help from the second call on
        report = kernel.run(state, rule, part, growth=1.5, **how)
    return kernel, state, report


@pytest.mark.parametrize("spec", SPECS)
def test_all_that_joins_two_branches_goes_through_the_trunk(spec, small):
    form = load_game(spec).sequence_form
    layout = build_layout(form)
    assert layout.num_branches > 1
    arrays = layout.game.polytopes
    shares = np.append(arrays.shares[:-1].astype(np.int64), layout.size)
    share_of = np.searchsorted(shares, np.arange(layout.size), side="right") - 1
    num_shares = 1 + layout.num_branches

    def branch(position):
        return share_of[position] % num_shares

    A = form.A.tocoo()
    ends = [branch(layout.positions[player][axis]) for player, axis in enumerate(A.coords)]
    assert ((ends[0] == ends[1]) | (ends[0] == 0) | (ends[1] == 0)).all()
    for player, treeplex in enumerate(form.treeplexes):
        places = layout.positions[player]
        own, above = branch(places[treeplex.offsets[:-1]]), branch(places[treeplex.parents])
        assert ((own == above) | (above == 0)).all()
        assert (np.sort(places) == np.unique(places)).all()
    assert sum(len(places) for places in layout.positions) == sum(
        treeplex.num_sequences for treeplex in form.treeplexes
    )
    # What comes up to the trunk is added to room of its length: no place without an infoset may lead elsewhere.
    for k, (first, last) in enumerate(pairwise(arrays.bucket_ranges.tolist())):
        trunk = k // num_shares * num_shares
        for start, size, _, place in arrays.buckets[first : arrays.roots[k]].tolist():
            above = arrays.parents[place : place + size]
            assert share_of[start] == k
            assert ((above >= shares[trunk]) & (above < shares[trunk + 1])).all()
        assert first <= arrays.roots[k] <= last


@few
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("alternating", [True, False])
def test_branches_change_nothing_but_the_order_of_sums(spec, name, alternating, small, monkeypatch):
    form = load_game(spec).sequence_form
    split = build_layout(form)
    monkeypatch.setattr(layout_module, "SMALL", np.inf)
    whole = build_layout(form)
    assert (whole.num_branches, split.num_branches > 1) == (0, True)
    found = []
    for layout in (whole, split):
        kernel, state, report = state_after(layout, 2, RULES[name], 12, alternating=alternating)
        vectors = state.arrays.regrets * layout.unit, kernel.average(state), state.arrays.plan
        found.append([layout.to_user(player, vector) for vector in vectors for player in (0, 1)])
        found[-1] += [report.exploitabilities, report.best_responses, report.payoffs]
    for one, other in zip(*found, strict=True):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("number", [np.float64, pytest.param(np.float32, marks=thorough)])
@pytest.mark.parametrize("alternating", [True, False])
def test_any_number_of_threads_does_the_same_bit_for_bit(spec, number, alternating, small):
    layout = build_layout(load_game(spec).sequence_form, number)
    how = {"tilt": np.linspace(-0.01, 0.01, layout.size), "alternating": alternating}
    found = []
    for threads in (1, 2, 4, 7):
        _, state, report = state_after(layout, threads, RULES["PCFR_PLUS"], 150, **how)
        arrays = [array.tobytes() for array in (*state.lasting.values(), state.arrays.average)]
        found.append([*arrays, report.exploitabilities.tobytes(), report.payoffs.tobytes()])
    assert found[0] == found[1] == found[2] == found[3]


PROBLEMS = {
    "constrained": lambda game: ConstrainedNash(game, [reach_bound(game, 0, "Js_", "r", at_most=0.05, name="rare")]),
    "equilibrium": Nash,
}


@few
@thorough
@pytest.mark.parametrize(
    ("problem", "method"),
    [
        ("constrained", CCFR()),
        ("equilibrium", PrefCFR("0/r@first:5", vulnerability=0.05)),
        ("equilibrium", CFRPlus(precision="single")),
        ("equilibrium", DCFR(updates="simultaneous")),
    ],
    ids=repr,
)
def test_answers_are_the_same_for_any_number_of_threads(problem, method, small, monkeypatch):
    found = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("TREEPLEX_THREADS", threads)
        monkeypatch.setattr("treeplex.seqform.budget.available_cores", lambda: 4)
        game = load_game("leduc")
        solution = solve(PROBLEMS[problem](game), method, tol=0, max_iterations=120)
        assert kernel_of(game.sequence_form).threads == int(threads)
        plans = [strategy.plan.tobytes() for strategy in solution.profile]
        found.append((solution.objective, solution.lower, solution.upper, solution.multipliers, plans))
    assert found[0] == found[1] == found[2]


@examples(60)
@given(tree=trees(num_players=2), seed=st.integers(0, 2**32 - 1))
def test_random_games_have_the_certificates_of_the_sequence_form(tree, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_module, "SMALL", 0.0)
        for name, value in {"BRANCH": 1.0, "TRUNK": 1.0, "LARGE": 0.0}.items():
            patch.setattr(branches_module, name, value)
        game = to_game(tree)
        layout = build_layout(game.sequence_form)
    rng = np.random.default_rng(seed)
    plans = [treeplex.plan(random_behaviour(treeplex, rng)) for treeplex in game.sequence_form.treeplexes]
    vector = np.zeros(layout.size)
    for player, plan in enumerate(plans):
        layout.from_user(player, plan, out=vector)
    report = Kernel(layout, 2).certificate(vector)
    size = np.abs(game.sequence_form.leaves.payoffs).max(initial=1.0)
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        gradient = game.sequence_form.gradient(player, plans)
        assert report.payoffs[0, player] == pytest.approx(gradient @ plans[player], abs=1e-9 * size)
        best = best_response_value(treeplex, gradient)
        assert report.best_responses[0, player] == pytest.approx(best, abs=1e-9 * size)


def random_behaviour(treeplex, rng):
    behaviour = treeplex.uniform_behaviour() * rng.random(treeplex.num_sequences)
    for first, last in pairwise(treeplex.offsets.tolist()):
        behaviour[first:last] /= behaviour[first:last].sum()
    return behaviour


def test_a_thread_that_leads_does_not_wait_for_others_that_are_busy(small):
    layout = build_layout(load_game("leduc").sequence_form)
    alone = state_after(layout, 1, RULES["CFR_PLUS"], 40)[1]
    held = threading.Event()
    busy = [team._pool().submit(held.wait, 60) for _ in range(64)]
    try:
        together = state_after(layout, 4, RULES["CFR_PLUS"], 40)[1]
    finally:
        held.set()
    assert [one.result() for one in busy] == [True] * 64
    assert together.arrays.regrets.tobytes() == alone.arrays.regrets.tobytes()


def test_small_games_have_no_branches_and_one_thread(monkeypatch):
    monkeypatch.setenv("TREEPLEX_THREADS", "8")
    kernel = Kernel(build_layout(load_game("leduc").sequence_form))
    assert (kernel.layout.num_branches, kernel.threads) == (0, 1)


@pytest.mark.parametrize("text", ["two", "0", "-1", "1.5"])
def test_what_is_no_number_of_threads_is_refused(text, monkeypatch):
    monkeypatch.setenv("TREEPLEX_THREADS", text)
    with pytest.raises(UnknownMethodError, match="expected a whole number of at least 1"):
        solve(Nash(load_game("leduc:ranks=4")), CFR(), max_iterations=1)


def _after_a_fork(pipe, layout):
    pipe.send(state_after(layout, 2, RULES["CFR_PLUS"], 40)[1].arrays.regrets.tobytes())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_threads_of_a_process_that_was_forked_are_its_own(small):
    layout = build_layout(load_game("leduc").sequence_form)
    expected = state_after(layout, 2, RULES["CFR_PLUS"], 40)[1].arrays.regrets.tobytes()
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_after_a_fork, args=(theirs, layout))
    child.start()
    try:
        assert ours.poll(60)
        assert ours.recv() == expected
    finally:
        child.join(10)
