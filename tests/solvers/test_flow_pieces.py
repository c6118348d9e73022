"""Matrices over the sequences of flows, written with reaches: they say of every plan what they said before."""

import numpy as np
import pytest
import scipy.sparse as sp
from effort import few
from hypothesis import given
from hypothesis import strategies as st
from random_flows import random_factor, random_flow, random_walk, wide_walk

from treeplex import SequenceForm, load_game
from treeplex.seqform.factored import FactoredPayoff
from treeplex.solvers.regret.factors import Entries, FlowPlaces, multiplied_out
from treeplex.solvers.regret.layout import build_layout
from treeplex.solvers.regret.placement import Treeplexes, diagonal_pieces, no_lanes

seeds, sizes = st.integers(0, 2**32 - 1), st.integers(1, 14)


def placed(*treeplexes):
    """Return where the sequences and reaches of flows stand, and the length of the kernel's vectors."""
    placing = Treeplexes(
        [], [one.offsets for one in treeplexes], [one.inflow for one in treeplexes], [one.depths for one in treeplexes]
    )
    places = placing.place([no_lanes(one.num_infosets) for one in treeplexes])
    return FlowPlaces.of(placing, places), int(places.bases[-1])


def dense(entries, num_rows, size):
    matrix = np.zeros((num_rows, size))
    np.add.at(matrix, (entries.rows, entries.positions), entries.values)
    return matrix


def of_sequences(flow, matrix, reach_of):
    """Return a dense matrix over positions as one over sequences, a reach in place of what ``reach_of`` says it is."""
    return matrix[:, flow.positions] + matrix[:, flow.reaches] @ reach_of


def sums_of_own(flow):
    """Return the reach of each infoset as the sum of its sequences."""
    return (flow.owners == np.arange(len(flow.counts))[:, None]).astype(float)


def random_plans(rng, treeplex, count):
    """Return plans in columns."""
    plans = []
    for _ in range(count):
        behaviour = np.ones(treeplex.num_sequences)
        for infoset in range(treeplex.num_infosets):
            own = slice(*treeplex.offsets[infoset : infoset + 2])
            behaviour[own] = rng.dirichlet(np.ones(own.stop - own.start))
        plans.append(treeplex.plan(behaviour))
    return np.array(plans).T


@given(seeds, sizes)
def test_what_actions_share_is_put_at_the_reach_of_their_infoset(seed, num_infosets):
    rng = np.random.default_rng(seed)
    for treeplex in (random_walk(rng, num_infosets), random_flow(rng, num_infosets)):
        (flow,), size = placed(treeplex)
        for matrix in (treeplex.inflow, sp.csr_array(random_factor(rng, treeplex, 9))):
            entries = flow.shared(matrix)
            found = of_sequences(flow, dense(entries, matrix.shape[0], size), sums_of_own(flow))
            np.testing.assert_allclose(found, matrix.toarray(), atol=1e-12)
            assert len(entries.rows) <= matrix.nnz
            assert np.isin(entries.positions, np.append(flow.positions, flow.reaches)).all()


@given(seeds, sizes)
def test_rows_of_the_inflow_are_reaches_and_plans_do_not_notice(seed, num_infosets):
    rng = np.random.default_rng(seed)
    for treeplex in (random_walk(rng, num_infosets), random_flow(rng, num_infosets)):
        (flow,), size = placed(treeplex)
        plans = random_plans(rng, treeplex, 1 + treeplex.num_sequences)  # they span all there are
        inflow = treeplex.inflow.toarray()
        # A reach is told by what comes in and by what goes out.
        np.testing.assert_allclose(sums_of_own(flow) @ plans, inflow @ plans, atol=1e-12)
        matrix = sp.csr_array(random_factor(rng, treeplex, 9))
        before = matrix.toarray()
        entries = flow.reduced(matrix)
        found = of_sequences(flow, dense(entries, 9, size), inflow)
        np.testing.assert_allclose(found @ plans, before @ plans, atol=1e-11)
        np.testing.assert_array_equal(matrix.toarray(), before)


def test_a_multiple_of_a_row_of_the_inflow_is_one_number():
    rng = np.random.default_rng(5)
    treeplex = random_walk(rng, 40)
    (flow,), _ = placed(treeplex)
    entries = flow.reduced(sp.csr_array(-2.5 * treeplex.inflow))
    # Of infosets that the same sequences lead to, only one is looked at.
    supports = [tuple(np.flatnonzero(row)) for row in treeplex.inflow.toarray()]
    alone = [row for row, support in enumerate(supports) if len(support) > 1 and supports.count(support) == 1]
    assert len(alone) > 5
    for row in alone:
        here = entries.rows == row
        assert here.sum() == 1
        position = entries.positions[here][0]
        reached = int(np.flatnonzero(flow.reaches == position)[0])
        ratio = entries.values[here][0]
        np.testing.assert_allclose(ratio * treeplex.inflow.toarray()[reached], -2.5 * treeplex.inflow.toarray()[row])


def test_almost_a_row_of_the_inflow_is_none():
    """The pattern is the same, and all numbers but one: only comparing each tells."""
    treeplex = random_walk(np.random.default_rng(5), 12)
    (flow,), size = placed(treeplex)
    inflow = treeplex.inflow.toarray()
    row = int(np.argmax(np.diff(treeplex.inflow.indptr)))
    changed = inflow[[row]]
    changed[0, np.flatnonzero(changed[0])[-1]] *= 1.0 + 1e-9
    found = of_sequences(flow, dense(flow.reduced(sp.csr_array(changed)), 1, size), sums_of_own(flow))
    np.testing.assert_allclose(found, changed, rtol=1e-13, atol=1e-16)


@given(seeds, st.integers(0, 12))
def test_factors_multiplied_out_and_those_left_make_the_same_product(seed, num_factors):
    rng = np.random.default_rng(seed)
    size = 20
    sides = []
    bases, width = (4, 8), 4
    for base in bases:
        held = rng.random((num_factors, size)) < rng.choice([0.0, 0.05, 0.2, 0.6], size=(num_factors, 1))
        held[:, base + 1 : base + width] = False  # these stand for the empty sequence too
        held[rng.random(num_factors) < 0.2] = np.arange(size) == base
        rows, positions = np.nonzero(held)
        sides.append(Entries(rows, positions, rng.normal(size=len(rows))))
    products, left, right = multiplied_out(*sides, num_factors, bases, width)
    before = dense(sides[0], num_factors, size).T @ dense(sides[1], num_factors, size)
    folded = [
        np.where((places > base) & (places < base + width), base, places)
        for places, base in zip((products.rows, products.positions), bases, strict=True)
    ]
    products = Entries(*folded, products.values)
    after = dense(products, size, size) + dense(left, num_factors, size).T @ dense(right, num_factors, size)
    np.testing.assert_allclose(after, before, atol=1e-12)
    gone = sum(len(side.rows) for side in sides) - len(left.rows) - len(right.rows)
    assert len(products.rows) <= gone, "it never takes more numbers than before"


@given(seeds, st.integers(0, 60))
def test_diagonal_pieces_hold_each_cell_once(seed, count):
    width = [4, 8][seed % 2]
    rng = np.random.default_rng(seed)
    cells = rng.choice(40 * 40, size=count, replace=False)
    rows, columns, values = width + cells // 40, width + cells % 40, rng.normal(size=count)
    pieces = diagonal_pieces(rows, columns, values, width)
    found = np.zeros((40 + 2 * width, 40 + 2 * width))
    starts = np.repeat(pieces.columns[0], pieces.counts)
    assert (starts % width == 0).all()
    for start, row, lanes in zip(starts, pieces.rows, pieces.values, strict=True):
        found[row + np.arange(width), start + np.arange(width)] += lanes
    expected = np.zeros_like(found)
    expected[rows, columns] = values
    np.testing.assert_array_equal(found, expected)


def factored_game(seed, num_infosets, flow=random_walk):
    rng = np.random.default_rng(seed)
    treeplexes = [flow(rng, num_infosets), flow(rng, num_infosets + 3)]
    left, right = (random_factor(rng, treeplex, 6) for treeplex in treeplexes)
    return SequenceForm(treeplexes, factored=FactoredPayoff(left.T, right))


GAMES = [
    *(pytest.param(factored_game(seed, 1 + 3 * seed), id=f"random {seed}") for seed in range(8)),
    pytest.param(factored_game(0, 513, wide_walk), id="wide levels"),
    *(pytest.param(load_game(f"transit:width={width}").sequence_form, id=f"transit {width}") for width in (2, 3, 5)),
]


@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("form", GAMES)
def test_runs_stay_inside_the_arrays(form, number):
    layout = build_layout(form, number)
    last = layout.size - layout.width
    inflow, factored = layout.game.polytopes.inflow, layout.game.factored
    sources, patterns = inflow.runs.astype(np.int64).T
    # Numbers below zero would have become large ones.
    assert (sources <= last).all()
    assert (patterns + layout.width <= len(inflow.patterns)).all()
    factors = layout.num_factors - layout.width
    in_factors = [] if factored is None else [(factored.holding, factors, last), (factored.paying, last, factors)]
    for runs, last_row, last_column in [(layout.game.runs, last, last), *in_factors]:
        rows, patterns = runs.cells.astype(np.int64).reshape(-1, 2).T
        assert (rows <= last_row).all()
        assert (patterns + layout.width <= len(runs.patterns)).all()
        assert (runs.columns.astype(np.int64) <= last_column).all()


@few
@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("form", GAMES)
def test_runs_of_the_inflow_are_what_leads_to_infosets(form, number):
    """Run by run, for both players' infosets, on plans that the library makes."""
    layout = build_layout(form, number)
    rng = np.random.default_rng(0)
    plans, expected = np.zeros(layout.size), []
    for player, treeplex in enumerate(form.treeplexes):
        plan = random_plans(rng, treeplex, 1)[:, 0]
        layout.from_user(player, plan, out=plans)
        expected.append(treeplex.inflow @ plan)
    layout.fill_reaches(plans)
    for bucket, (start, count, arity, first) in enumerate(layout.buckets.tolist()):
        reached = np.zeros(count)
        lanes = np.arange(layout.width)
        flows = layout.game.polytopes.inflow
        for group, place in enumerate(range(0, count, layout.width), start=int(flows.groups[bucket])):
            runs = flows.runs[flows.ranges[group] : flows.ranges[group + 1]].astype(np.int64)
            for source, pattern in runs:
                reached[place + lanes] += flows.patterns[pattern + lanes] * plans[source + lanes]
        own = slice(start + count * arity, start + count * arity + count)
        tolerance = 1e-12 if number is np.float64 else 1e-6  # of the weights
        np.testing.assert_allclose(reached, layout.inflow[first : first + count] @ plans, atol=tolerance)
        np.testing.assert_allclose(reached, plans[own], atol=tolerance)
    found = np.sort((layout.inflow @ plans)[_filled(layout)])
    np.testing.assert_allclose(found, np.sort(np.concatenate(expected)), atol=1e-12)


def _filled(layout):
    """Which of all places are infosets: those that anything leads to."""
    return np.diff(layout.inflow.indptr) > 0
