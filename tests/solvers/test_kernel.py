"""The compiled kernel against plain-Python references, golden trajectories and its own promises."""

import itertools
import math
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
import regret_in_numpy as readable
import scipy.linalg as linalg
import scipy.sparse as sparse
from effort import either, few, some

import treeplex
from treeplex import Treeplex
from treeplex.solvers.methods.rules import (
    CFR,
    CFR_PLUS,
    DCFR,
    HS_DCFR,
    HS_PCFR_PLUS,
    PCFR_PLUS,
    PDCFR_PLUS,
    SAPCFR_PLUS,
    Rule,
)
from treeplex.solvers.regret import kernel as kernel_module
from treeplex.solvers.regret import loop as loop_module
from treeplex.solvers.regret.kernel import Kernel
from treeplex.solvers.regret.layout import build_layout, layout_from_leaves, layout_from_matrices
from treeplex.solvers.regret.placement import Treeplexes
from treeplex.solvers.regret.warm_start import adopt

RULES = {"cfr": CFR, "cfr+": CFR_PLUS, "dcfr": DCFR, "pcfr+": PCFR_PLUS}
SUCCESSORS = {"hs-dcfr": HS_DCFR, "hs-pcfr+": HS_PCFR_PLUS, "pdcfr+": PDCFR_PLUS, "sapcfr+": SAPCFR_PLUS}
HORIZON = 4  # of schedules, so that a few iterations pass it


# ---------------------------------------------------------------------------------------------------------------------
# Kuhn poker for n players, as nested tuples and as arrays


def kuhn(num_players=2, payoff=lambda payoffs: payoffs):
    """Return the tree: (payoffs,), (None, [(probability, child)]) or (player, infoset, [child])."""

    def play(cards, history):
        betters = [i for i, action in enumerate(history) if action == "b"]
        done = len(history) == num_players and not betters
        done = done or (bool(betters) and len(history) == betters[0] + num_players)
        if done:
            paid = np.ones(num_players)
            paid[[i % num_players for i in betters]] += 1
            left = [i % num_players for i in betters] or range(num_players)
            payoffs = -paid
            payoffs[max(left, key=lambda i: cards[i])] += paid.sum()
            return (payoff(payoffs),)
        player = len(history) % num_players
        return player, (cards[player], history), [play(cards, history + action) for action in "pb"]

    deals = list(permutations(range(num_players + 1), num_players))
    return None, [(1 / len(deals), play(cards, "")) for cards in deals]


def arrays_of(tree, num_players):
    """Return parents, offsets, leaf sequences, chance, payoffs and the names (player, infoset, action) of sequences."""
    infosets = [{} for _ in range(num_players)]
    parents = [[] for _ in range(num_players)]
    offsets = [[1] for _ in range(num_players)]
    names = [[None] for _ in range(num_players)]
    leaves = []

    def walk(node, last, chance):
        if len(node) == 1:
            leaves.append((last, chance, node[0]))
        elif node[0] is None:
            for probability, child in node[1]:
                walk(child, last, chance * probability)
        else:
            player, infoset, children = node
            if infoset not in infosets[player]:
                infosets[player][infoset] = offsets[player][-1]
                parents[player].append(last[player])
                offsets[player].append(offsets[player][-1] + len(children))
                names[player].extend((infoset, a) for a in range(len(children)))
            first = infosets[player][infoset]
            for a, child in enumerate(children):
                walk(child, (*last[:player], first + a, *last[player + 1 :]), chance)

    walk(tree, (0,) * num_players, 1.0)
    sequences, chance, payoffs = (np.array(part) for part in zip(*leaves, strict=True))
    return parents, offsets, sequences, chance, payoffs, names


def layout_of(tree, num_players):
    parents, offsets, *leaves = arrays_of(tree, num_players)[:5]
    return layout_from_leaves(Treeplexes(parents, offsets), *leaves)


# ---------------------------------------------------------------------------------------------------------------------
# The reference: recursion over the tree, dictionaries by infoset


class Reference:
    """Counterfactual regret minimisation as the papers write it down."""

    def __init__(self, tree, num_players, algorithm, power, alternating):
        self.tree, self.num_players = tree, num_players
        self.algorithm, self.power, self.alternating = algorithm, power, alternating
        self.regrets, self.strategy = defaultdict(dict), {}
        self.sums = defaultdict(float)
        self.total = 0.0
        self.t = 0

        def visit(node):
            if len(node) == 1:
                return
            if node[0] is not None:
                player, infoset, children = node
                self.regrets[player, infoset] = [0.0] * len(children)
                self.strategy[player, infoset] = [1 / len(children)] * len(children)
            for child in node[-1]:
                visit(child[1] if node[0] is None else child)

        visit(tree)

    def values(self, node, reach, chance, counterfactual):
        """Return the node's expected payoffs; collect counterfactual action values."""
        if len(node) == 1:
            return np.array(node[0], dtype=float)
        if node[0] is None:
            return sum(p * self.values(child, reach, chance * p, counterfactual) for p, child in node[1])
        player, infoset, children = node
        total = np.zeros(self.num_players)
        others = chance * math.prod(reach[:player] + reach[player + 1 :])
        for a, child in enumerate(children):
            probability = self.strategy[player, infoset][a]
            below = self.values(
                child, [*reach[:player], reach[player] * probability, *reach[player + 1 :]], chance, counterfactual
            )
            counterfactual[player, infoset][a] += others * below[player]
            total += probability * below
        return total

    def plan(self, player):
        plan = {None: 1.0}

        def walk(node, reach):
            if len(node) == 1:
                return
            for a, child in enumerate(node[-1]):
                if node[0] == player:
                    plan[node[1], a] = reach * self.strategy[player, node[1]][a]
                    walk(child, plan[node[1], a])
                else:
                    walk(child[1] if node[0] is None else child, reach)

        walk(self.tree, 1.0)
        return plan

    def new_strategy(self, player, counterfactual):
        for (owner, infoset), values in counterfactual.items():
            if owner != player:
                continue
            strategy, regrets = self.strategy[player, infoset], self.regrets[player, infoset]
            value = sum(s * v for s, v in zip(strategy, (values[a] for a in range(len(strategy))), strict=True))
            instantaneous = [values[a] - value for a in range(len(strategy))]
            for a, r in enumerate(instantaneous):
                if self.algorithm == "pdcfr+":  # Xu et al.: before the t-th update, with t - 1
                    regrets[a] *= (self.t - 1) ** 2.3 / ((self.t - 1) ** 2.3 + 1)
                regrets[a] += r
                if self.algorithm.endswith("+"):
                    regrets[a] = max(regrets[a], 0.0)
            share = {"pcfr+": 1, "hs-pcfr+": 1, "pdcfr+": 1, "sapcfr+": 1 / 3}.get(self.algorithm, 0)
            kept = self.t**2.3 / (self.t**2.3 + 1) if self.algorithm == "pdcfr+" else 1
            weights = [max(kept * r + share * f, 0.0) for r, f in zip(regrets, instantaneous, strict=True)]
            total = sum(weights)
            self.strategy[player, infoset] = [w / total if total > 0 else 1 / len(weights) for w in weights]
            if self.algorithm.endswith("dcfr"):  # Brown and Sandholm: after the t-th update, with t
                passed = min(self.t / HORIZON, 1)  # Zhang et al.
                alpha, beta = (1 + 3 * passed, -1 - 2 * passed) if self.algorithm == "hs-dcfr" else (1.5, 0.0)
                for a, r in enumerate(regrets):
                    exponent = alpha if r > 0 else beta
                    regrets[a] = r * self.t**exponent / (self.t**exponent + 1)

    def step(self):
        gamma = self.power - 5 * min(self.t / HORIZON, 1) if self.algorithm.startswith("hs-") else self.power
        decay = (self.t / (self.t + 1)) ** gamma
        self.t += 1
        self.total = decay * self.total + 1
        plans = [self.plan(player) for player in range(self.num_players)]
        for player, plan in enumerate(plans):
            for name, x in plan.items():
                self.sums[player, name] = decay * self.sums[player, name] + x

        def evaluate():
            counterfactual = defaultdict(lambda: defaultdict(float))
            self.values(self.tree, [1.0] * self.num_players, 1.0, counterfactual)
            return counterfactual

        before = evaluate()
        for player in range(self.num_players):
            self.new_strategy(player, evaluate() if self.alternating else before)


NOISE = np.random.default_rng(0)
CASES = {
    "kuhn": (2, kuhn()),
    "kuhn, general sum": (2, kuhn(payoff=lambda u: u + np.array([0.25 * u[1] ** 2, 0.0]))),
    # Noise: round-off would break exact ties between actions in one implementation's way or the other's.
    "kuhn, three players": (3, kuhn(3, lambda payoffs: payoffs + 0.1 * NOISE.standard_normal(3))),
}


@few
@pytest.mark.parametrize(
    ("case", "algorithm", "power", "alternating"),
    some(itertools.product(CASES, RULES, [0.0, 1.0, 2.0, 1.7], [True, False]), 3),
)
def test_exact_plans(case, algorithm, power, alternating):
    compare_plans(case, algorithm, replace(RULES[algorithm], averaging=power), alternating)


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("algorithm", SUCCESSORS)
def test_exact_plans_of_successors(algorithm, alternating):
    rule = SUCCESSORS[algorithm]
    scheduled = replace(rule, horizon=HORIZON) if algorithm.startswith("hs-") else rule
    compare_plans("kuhn", algorithm, scheduled, alternating)


def compare_plans(case, algorithm, rule, alternating):
    num_players, tree = CASES[case]
    parents, offsets, sequences, chance, payoffs, names = arrays_of(tree, num_players)
    layout = layout_from_leaves(Treeplexes(parents, offsets), sequences, chance, payoffs)
    kernel = Kernel(layout)
    state = kernel.initial_state()
    reference = Reference(tree, num_players, algorithm, rule.averaging, alternating)
    for _ in range(7):
        kernel.run(state, rule, 1, alternating=alternating, growth=3.0)
        reference.step()
        average = kernel.average(state)
        for player in range(num_players):
            expected = reference.plan(player)
            plan = layout.to_user(player, state.arrays.plan)
            assert plan == pytest.approx([expected[name] for name in names[player]], abs=1e-12)
            expected = [reference.sums[player, name] / reference.total for name in names[player]]
            assert layout.to_user(player, average) == pytest.approx(expected, abs=1e-12)


def test_infinite_discount_exponents():
    # Brown and Sandholm: exponents ∞ and -∞ keep positive regrets and forget negative ones, as CFR+ does. The first
    # discount, 1/2 of both kinds, is the exception.
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    kernel.run(state, Rule(positive=math.inf, negative=-math.inf, power=True, averaging=1.0), 500)
    assert kernel.exploitability(kernel.average(state)) < 2e-3


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 64.0])
def test_average_has_the_weights_of_its_power(power):
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    plans = []
    for _ in range(6):
        plans.append(state.arrays.plan.copy())
        kernel.run(state, replace(CFR_PLUS, averaging=power), 1)
    weights = np.arange(1, 7.0) ** power
    expected = sum(weight * plan for weight, plan in zip(weights, plans, strict=True)) / weights.sum()
    assert kernel.average(state) == pytest.approx(expected, abs=1e-14)


def test_large_powers_stay_finite():
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    state.next_check = 2**62
    kernel.run(state, replace(CFR, averaging=64.0), 60_000)
    assert kernel.exploitability(kernel.average(state)) < 1e-2


def test_state_of_another_layout_of_the_same_game_is_adopted():
    parents, offsets, *leaves = arrays_of(kuhn(), 2)[:5]
    first = Kernel(layout_from_leaves(Treeplexes(parents, offsets), *leaves))
    sequences, chance, payoffs = (np.asarray(one) for one in leaves)
    A = sparse.coo_array((chance * payoffs[:, 0], tuple(sequences.T)), shape=(13, 13))
    # A detour through one sparse cell makes another layout of the same numbers.
    second = Kernel(layout_from_matrices(Treeplexes(parents, offsets), A.tocsr()))
    whole, state = first.initial_state(), first.initial_state()
    first.run(whole, CFR, 200)
    first.run(state, CFR, 100)
    moved = adopt(second, state, first)
    assert moved.iteration == 100
    second.run(moved, CFR, 100)
    for player in (0, 1):
        assert second.layout.to_user(player, second.average(moved)) == pytest.approx(
            first.layout.to_user(player, first.average(whole)), abs=1e-12
        )


# ---------------------------------------------------------------------------------------------------------------------
# Random structures against loops over sequences


def random_treeplex(rng, num_infosets, max_actions, shallow):
    parents, offsets = [], [1]
    for _ in range(num_infosets):
        low = 0 if shallow else max(0, offsets[-1] - 6)
        parents.append(int(rng.integers(low, offsets[-1])))
        offsets.append(offsets[-1] + int(rng.integers(1, max_actions + 1)))
    return np.array(parents, dtype=np.int32), np.array(offsets, dtype=np.int32)


def copies(parents, offsets, count):
    """Return a treeplex of that many equal parts side by side."""
    width = offsets[-1] - 1
    new_parents = [np.where(parents > 0, parents + i * width, 0) for i in range(count)]
    new_offsets = [offsets[:-1] + i * width for i in range(count)]
    return np.concatenate(new_parents), np.append(np.concatenate(new_offsets), 1 + count * width)


def reference_plans(treeplexes, matrices, rule, iterations, alternating):
    """Return current and average plans of a two-player game, matrices being (own sequences, other's sequences)."""
    if rule.power:
        discounts, forecast = (readable.power(rule.positive), readable.power(rule.negative)), rule.prediction
    else:  # the compiled loop adds the forecast to regrets that are not discounted yet
        discounts = readable.always(rule.positive), readable.always(rule.negative)
        forecast = rule.prediction * rule.positive
    averaging = readable.always(rule.averaging)
    read = readable.Rule(*discounts, floor=rule.floor, forecast=forecast, averaging=averaging)
    learners = [readable.Learner(Treeplex(parents, np.diff(offsets)), read) for parents, offsets in treeplexes]
    for _ in range(iterations):
        before = [learner.plan() for learner in learners]
        for player, learner in enumerate(learners):
            learner.add(before[player])
            seen = learners[1 - player].plan() if alternating else before[1 - player]
            learner.learn(matrices[player] @ seen)
    return [learner.plan() for learner in learners], [learner.average() for learner in learners]


@pytest.mark.parametrize("seed", either((0, 9, 13, 16), range(24)))
def test_random_structures(seed):
    rng = np.random.default_rng(seed)
    repeats = [1, 2, 3, 7][seed // 6]
    # As many altogether, however often: the reference has a dense matrix of infosets and sequences.
    num_infosets = [(0, 3), (5, 0), (30, 20), (300 // repeats, 4), (9, 7), (2, 900 // repeats)][seed % 6]
    treeplexes = [random_treeplex(rng, n, 1 + seed % 5, bool(seed % 2)) for n in num_infosets]
    density = rng.uniform(0.05, 0.6)
    shape = [int(offset[-1]) for _, offset in treeplexes]
    matrices = [
        sparse.random_array(shape, density=density, rng=rng, data_sampler=rng.standard_normal) for _ in range(2)
    ]
    if seed % 3 == 0:
        matrices[1] = -matrices[0]
    if repeats > 1:  # equal parts next to each other: the payoff's diagonal runs
        treeplexes = [copies(*treeplex, repeats) for treeplex in treeplexes]
        blocks = []
        for matrix in matrices:
            inner = matrix.toarray()[1:, 1:]
            factors = rng.uniform(0.5, 1.5, repeats)
            parts = [sparse.coo_array([[0.3]]), *(sparse.coo_array(f * inner) for f in factors)]
            blocks.append(sparse.csr_array(sparse.block_diag(parts)))
        matrices = blocks if seed % 3 else [blocks[0], -blocks[0]]
    parents, offsets = zip(*treeplexes, strict=True)
    A, B = (sparse.csr_array(matrix) for matrix in matrices)
    layout = layout_from_matrices(Treeplexes(parents, offsets), A, None if seed % 3 == 0 else B)
    assert layout.num_sequences == tuple(int(offset[-1]) for offset in offsets)
    kernel = Kernel(layout)
    rule = [*RULES.values(), Rule(positive=0.9, negative=0.3, floor=-0.5, prediction=0.5, averaging=0.5)][seed % 5]
    alternating = bool(seed // 2 % 2)
    state = kernel.initial_state()
    kernel.run(state, rule, 5, alternating=alternating)
    plans, averages = reference_plans(treeplexes, [A, B.T], rule, 5, alternating)
    for player in (0, 1):
        assert layout.to_user(player, state.arrays.plan) == pytest.approx(plans[player], abs=1e-9)
        assert layout.to_user(player, kernel.average(state)) == pytest.approx(averages[player], abs=1e-9)

    # The certificate against best responses by loops.
    nash_conv, values = 0.0, []
    for player, own in ((0, A), (1, B.T)):
        gradient = own @ averages[1 - player]
        nash_conv -= averages[player] @ gradient
        for i in reversed(range(len(parents[player]))):
            gradient[parents[player][i]] += gradient[offsets[player][i] : offsets[player][i + 1]].max()
        values.append(gradient[0])
        nash_conv += gradient[0]
    certificate = kernel.certificate(kernel.average(state))
    assert certificate.exploitability == pytest.approx(nash_conv / 2, abs=1e-9)
    assert certificate.best_responses[0] == pytest.approx(values, abs=1e-9)


def test_to_and_from_user():
    layout = layout_of(kuhn(3), 3)
    rng = np.random.default_rng(1)
    vectors = [rng.random(n) for n in layout.num_sequences]
    kernel_vector = None
    for player, vector in enumerate(vectors):
        kernel_vector = layout.from_user(player, vector, kernel_vector)
    for player, vector in enumerate(vectors):
        assert np.array_equal(layout.to_user(player, kernel_vector), vector)
    assert kernel_vector.sum() == pytest.approx(sum(vector.sum() for vector in vectors))


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (9, 5), (13, 18), (30, 30)])
@pytest.mark.parametrize("density", [0.1, 0.4, 1.0])
def test_dense_parts_become_tiles_and_certificates_stay_right(shape, density):
    rng = np.random.default_rng(7)
    payoffs = rng.normal(size=shape) * (rng.random(shape) < density)
    A = np.zeros((shape[0] + 1, shape[1] + 1))
    A[1:, 1:] = payoffs
    layout = layout_from_matrices(Treeplexes([[0], [0]], [[1, shape[0] + 1], [1, shape[1] + 1]]), A)
    parents, offsets = [np.zeros(n, dtype=int) for n in shape], [np.arange(n + 1) + 1 for n in shape]
    beside = layout_from_matrices(Treeplexes(parents, offsets), A)  # infosets with one action each
    # Those of an infoset with many actions stand a register apart: no two are beside each other.
    assert len(layout.game.tiles.cells) == 0
    if density == 1.0:
        assert len(beside.game.tiles.cells) // 2 >= 2 * (shape[0] // beside.width) * (shape[1] // beside.width)
    for one, plans in ((layout, [rng.dirichlet(np.ones(n)) for n in shape]), (beside, [np.ones(n) for n in shape])):
        vector = np.zeros(one.size)
        for player, plan in enumerate(plans):
            one.from_user(player, np.append(1.0, plan), out=vector)
        report = Kernel(one).certificate(vector)
        value = plans[0] @ payoffs @ plans[1]
        assert report.payoffs[0] == pytest.approx([value, -value], abs=1e-12 * A.size)


def test_what_one_history_leads_to_with_any_card_becomes_tiles():
    layout = build_layout(treeplex.load_game("liars_dice:sides=4").sequence_form)
    assert (len(layout.game.runs.cells), len(layout.game.cells.rows)) == (0, 0)
    assert len(layout.game.tiles.cells) // 2 == 2 * 4080 // 16  # players, non-zeros, cells of a tile


def test_equal_parts_become_runs():
    A = sparse.csr_array(linalg.block_diag([[0.0]], *[[[1.0, -1.0], [-1.0, 1.0]]] * 8))
    parents, offsets = np.zeros(8, dtype=int), np.arange(1, 18, 2)
    layout = layout_from_matrices(Treeplexes([parents] * 2, [offsets] * 2), A)
    assert len(layout.game.cells.rows) == 0
    assert len(layout.game.runs.cells) // 2 == 2 * 2 * 4  # players, groups, cells of a part
    assert len(layout.game.runs.patterns) // layout.width == 2


# ---------------------------------------------------------------------------------------------------------------------
# Known games


@pytest.mark.parametrize("algorithm", RULES)
def test_value_of_kuhn(algorithm):
    kernel = Kernel(layout_of(kuhn(), 2))
    progress = kernel.run(kernel.initial_state(), RULES[algorithm], 200_000, tolerance=1e-4)
    assert progress.converged
    lower, upper = -progress.best_responses[-1, 1], progress.best_responses[-1, 0]
    assert lower - 1e-12 <= -1 / 18 <= upper + 1e-12
    assert (upper - lower) / 2 == pytest.approx(progress.exploitability)
    assert progress.payoffs[-1].sum() == pytest.approx(0.0, abs=1e-12)


def test_three_player_kuhn_gets_close():
    kernel = Kernel(layout_of(kuhn(3), 3))
    progress = kernel.run(kernel.initial_state(), CFR_PLUS, 20_000, tolerance=1e-3)
    assert progress.converged


def test_golden_trajectory_of_leduc():
    layout = build_layout(treeplex.load_game("leduc").sequence_form)
    assert layout.num_sequences == (1093, 1093)
    kernel = Kernel(layout)
    state = kernel.initial_state()
    assert kernel.exploitability(kernel.average(state)) == pytest.approx(2.373611111111111, abs=1e-12)
    # OpenSpiel's CFRSolver. Exact ties in this game are broken by round-off (scaling all payoffs changes the last value
    # by 1e-4 of it), hence the growing tolerances.
    golden = {
        1: (2.373611111111111, 1e-12),
        100: (0.0957163530046, 1e-9),
        101: (0.0939493, 1e-7),
        500: (0.0215072, 1e-7),
        501: (0.0214263, 1e-7),
        999: (0.0118635, 1e-6),
        1000: (0.0118178, 4e-6),
    }
    for updates, (expected, tolerance) in golden.items():
        while state.iteration < updates:
            kernel.run(state, CFR, updates - state.iteration)
        assert kernel.exploitability(kernel.average(state)) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("algorithm", RULES)
def test_leduc_converges(algorithm):
    kernel = Kernel(build_layout(treeplex.load_game("leduc").sequence_form))
    progress = kernel.run(kernel.initial_state(), RULES[algorithm], 20_000, tolerance=5e-3)
    assert progress.converged
    assert -progress.best_responses[-1, 1] <= -0.085606424 <= progress.best_responses[-1, 0]


# ---------------------------------------------------------------------------------------------------------------------
# Promises


@pytest.mark.parametrize("algorithm", RULES)
@pytest.mark.parametrize("alternating", [True, False])
def test_chunks_change_nothing(algorithm, alternating):
    kernel = Kernel(layout_of(kuhn(), 2))
    whole, pieces = kernel.initial_state(), kernel.initial_state()
    one = kernel.run(whole, RULES[algorithm], 400, alternating=alternating)
    checked, exploitabilities = [], []
    for chunk in (1, 2, 3, 94, 0, 150, 150):
        part = kernel.run(pieces, RULES[algorithm], chunk, alternating=alternating)
        checked.extend(part.checked)
        exploitabilities.extend(part.exploitabilities)
    assert pieces.iteration == whole.iteration == 400
    assert pieces.next_check == whole.next_check
    assert np.array_equal(one.checked, checked)
    assert np.array_equal(one.exploitabilities, exploitabilities)
    for name in ("regrets", "behaviour", "plan", "plan_sums"):
        assert np.array_equal(getattr(whole.arrays, name), getattr(pieces.arrays, name))


def test_checks_on_schedule():
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    progress = kernel.run(state, CFR_PLUS, 20, growth=2)
    assert progress.checked.tolist() == [1, 2, 4, 8, 16]
    assert state.next_check == 32
    state.next_check = 2**62
    progress = kernel.run(state, CFR_PLUS, 20)
    assert len(progress.checked) == 0
    assert math.isnan(progress.exploitability)
    assert not progress.converged
    state = kernel.initial_state()
    assert kernel.run(state, CFR_PLUS, 10, growth=math.inf).checked.tolist() == [1]


def test_history_that_is_full_ends_the_call():
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    progress = kernel.run(state, CFR_PLUS, 2000, growth=1.0)
    assert len(progress.checked) == kernel_module.HISTORY_ROWS == state.iteration
    assert kernel.run(state, CFR_PLUS, 10, growth=1.0).checked[0] == state.iteration - 9


def test_last_iterate():
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    progress = kernel.run(state, PCFR_PLUS, 2000, tolerance=1e-9, last_iterate=True)
    assert progress.exploitability == kernel.exploitability(state.arrays.plan)
    assert progress.exploitability < 1e-3


def test_tilt_and_scale():
    # Player 1's part of the gradient replaced by its uniform plan's: player 0 learns a best response to that.
    layout = layout_of(kuhn(), 2)
    kernel = Kernel(layout)
    state = kernel.initial_state()
    _, _, sequences, chance, payoffs, _ = arrays_of(kuhn(), 2)
    uniform = layout.to_user(1, state.arrays.plan)
    gradient = np.zeros(layout.num_sequences[0])
    np.add.at(gradient, sequences[:, 0], chance * payoffs[:, 0] * uniform[sequences[:, 1]])
    best = kernel.certificate(state.arrays.plan).best_responses[0, 0]
    kernel.run(state, CFR_PLUS, 200, tilt=layout.from_user(0, gradient), scales=[0, 1])
    assert layout.to_user(0, state.arrays.plan) @ gradient == pytest.approx(best, abs=1e-12)


def test_start_from_a_behaviour():
    layout = layout_of(kuhn(), 2)
    kernel = Kernel(layout)
    rng = np.random.default_rng(3)
    behaviour = [np.ones(13), np.ones(13)]
    for b, low in product(behaviour, range(1, 13, 2)):
        b[low] = rng.random()
        b[low + 1] = 1 - b[low]
    vector = layout.from_user(1, behaviour[1], layout.from_user(0, behaviour[0]))
    state = kernel.initial_state()
    kernel.set_behaviour(state, vector)
    parents, offsets, *_ = arrays_of(kuhn(), 2)
    for player in (0, 1):
        plan = np.ones(13)
        for i, parent in enumerate(parents[player]):
            own = slice(offsets[player][i], offsets[player][i + 1])
            plan[own] = plan[parent] * behaviour[player][own]
        assert layout.to_user(player, state.arrays.plan) == pytest.approx(plan, abs=1e-15)


def test_argument_types_do_not_recompile():
    kernel = Kernel(layout_of(kuhn(), 2))
    state = kernel.initial_state()
    kernel.run(state, CFR, 3)
    compiled = len(loop_module.run_loop.signatures)
    three = Kernel(layout_of(kuhn(3), 3))
    three.run(three.initial_state(), CFR, 3)
    # Leaves of more players are compiled on their own, like constraints, preferences, flows, factors and parts.
    assert len(loop_module.run_loop.signatures) in (compiled, compiled + 1)
    compiled = len(loop_module.run_loop.signatures)
    kernel.run(
        state, Rule(positive=1, negative=1, floor=0, prediction=1, averaging=2), np.int32(3), tolerance=0, growth=2
    )
    read_only = np.zeros(kernel.layout.size)
    read_only.setflags(write=False)
    kernel.run(state, CFR, 3, tilt=read_only, scales=(1, 1), alternating=1, last_iterate=0)
    kernel.exploitability(read_only)
    three.run(three.initial_state(), CFR, 3)
    assert len(loop_module.run_loop.signatures) == compiled


def test_deep_tree():
    depth = either(20_000, 100_000)  # one bucket a level
    parents, offsets = np.arange(depth) * 2, np.arange(depth + 1) * 2 + 1
    rows = np.arange(1, 2 * depth, 2)
    A = sparse.csr_array(
        sparse.coo_array((np.ones(depth), (rows, np.zeros(depth, dtype=int))), shape=(2 * depth + 1, 1))
    )
    layout = layout_from_matrices(Treeplexes([parents, []], [offsets, [1]]), A)
    assert len(layout.buckets) == depth
    kernel = Kernel(layout)
    state = kernel.initial_state()
    kernel.run(state, CFR_PLUS, 3)
    assert kernel.certificate(state.arrays.plan).best_responses[0, 0] == pytest.approx(1.0)


def test_import_without_a_place_for_the_cache(tmp_path):
    package, source = tmp_path / "copied", Path(treeplex.__file__).parent
    for floor in ("seqform", "models", "solvers"):
        shutil.copytree(source / floor, package / floor, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(source / name, package)
    # A file in its place: not even the superuser can write into that folder.
    (package / "solvers" / "regret" / "__pycache__").touch()
    nowhere = os.devnull + "/nowhere"
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": nowhere,
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "PYTHONPATH": str(tmp_path),
    }
    code = "import copied.solvers.regret.loop as loop; print(type(loop.run_loop._cache).__name__)"
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout.strip() == "NullCache"
