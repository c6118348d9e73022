"""Random flow polytopes for tests."""

import numpy as np

from treeplex import Game, SequenceForm, Treeplex


def random_flow(rng, num_infosets):
    """Return a flow whose infosets have up to three inflows each, from any sequences before them."""
    num_actions = rng.integers(1, 4, num_infosets)
    offsets = 1 + np.append(0, np.cumsum(num_actions))
    inflow = np.zeros((num_infosets, offsets[-1]))
    for infoset in range(num_infosets):
        before = int(offsets[infoset])
        sources = rng.choice(before, size=rng.integers(1, min(3, before) + 1), replace=False)
        inflow[infoset, sources] = rng.choice([0.1, 0.5, 0.9, 1.0], size=len(sources))
    return Treeplex.from_inflow(inflow, num_actions)


def random_walk(rng, num_infosets):
    """Return a flow in which moves may fail: of an infoset's sequences all lead somewhere alike, and each on its own.

    Of some infosets all sequences but one lead there alike.
    """
    num_actions = rng.integers(1, 4, num_infosets)
    offsets = 1 + np.append(0, np.cumsum(num_actions))
    inflow = np.zeros((num_infosets, offsets[-1]))
    inflow[0, 0] = 1.0
    for infoset in range(1, num_infosets):
        for source in rng.choice(infoset, size=rng.integers(1, min(3, infoset) + 1), replace=False):
            own = slice(offsets[source], offsets[source + 1])
            inflow[infoset, own] = rng.choice([0.1, 0.3])
            if rng.random() < 0.7:
                inflow[infoset, rng.integers(own.start, own.stop)] += rng.choice([0.2, 0.5])
    return Treeplex.from_inflow(inflow, num_actions)


def wide_walk(rng, width):
    """Return a flow of two levels of so many infosets below a first one."""
    num_actions = np.append(3, np.full(2 * width, 2))
    offsets = 1 + np.append(0, np.cumsum(num_actions))
    inflow = np.zeros((len(num_actions), offsets[-1]))
    inflow[0, 0] = 1.0
    inflow[1 : 1 + width, 1:4] = rng.choice([0.2, 0.5], size=(width, 3))
    for infoset in range(1 + width, 1 + 2 * width):
        inflow[infoset, rng.integers(4, offsets[1 + width], size=2)] = rng.choice([0.4, 1.0])
    return Treeplex.from_inflow(inflow, num_actions)


def random_factor(rng, treeplex, num_factors):
    """Return a matrix over a flow's sequences whose rows are multiples of rows of its inflow, nearly so, or others."""
    inflow = treeplex.inflow.toarray()
    rows = inflow[rng.integers(len(inflow), size=num_factors)] * rng.normal(size=(num_factors, 1))
    for row in rows:
        kind = rng.integers(5)
        if kind == 0:
            row[:] = 0.0
        elif kind == 1:  # one number of it is another
            row[rng.integers(len(row))] += 1.0
        elif kind == 2:  # what the actions of some infosets share, and a number of one sequence
            row[:] = 0.0
            for infoset in rng.choice(len(inflow), size=2):
                row[treeplex.offsets[infoset] : treeplex.offsets[infoset + 1]] = rng.normal()
            row[rng.integers(len(row))] += rng.normal()
    return rows


def flow_game(rng, flows, zero_sum=True):
    """Return a game of two flows with random payoffs."""
    first = rng.normal(size=[flow.num_sequences for flow in flows])
    second = -first if zero_sum else rng.normal(size=first.shape)
    return Game.from_sequence_form(SequenceForm(flows, payoff_matrices=(first, second)))
