"""The transit game as two flow polytopes over (time, cell) and a payoff in factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.factored import FactoredPayoff
from ...seqform.polytope import Treeplex
from ...seqform.rules import GameSize
from ...seqform.sequence_form import SequenceForm
from .transit import DIRECTIONS, Grid, Transit

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Walker:
    """One player's flow polytope, and what each of its moves does.

    Attributes
    ----------
    treeplex : Treeplex
    sequences : ndarray of int64, shape (num_moves,)
        The sequence of each move. A choice of the start is a sequence too, but no move.
    times, cells, targets : ndarray of int64, shape (num_moves,)
        When and where the move is made, and where it leads if it does not fail.
    success, failure : ndarray of float64, shape (num_moves,)
        Probability that it does not, and that it does.
    num_cells : int
        Of the grid.
    """

    treeplex: Treeplex
    sequences: Integers
    times: Integers
    cells: Integers
    targets: Integers
    success: Floats
    failure: Floats
    num_cells: int

    def numbers(self, *cells: Integers) -> Integers:
        """Return a number for each move that tells its time and some cells apart from others."""
        numbers = self.times
        for each in cells:
            numbers = numbers * self.num_cells + each
        return numbers


# Bytes at the peak of building, a sequence of either player: arrays of its moves, and text for its labels.
_SEQUENCE = 430


def transit_sequence_form(rules: Transit) -> SequenceForm:
    """Return the transit game in sequence form: player 0 evades, player 1 patrols.

    Raises
    ------
    GameTooLargeError
        If it would take more than the budget of :mod:`treeplex.seqform.budget`.
    """
    sequences = sum(flow_size(rules).sequences)
    Budget().require(_SEQUENCE * sequences, f"the game has {sequences:,} sequences: its sequence form")
    evader, patroller = walkers(rules)
    factors = _factors_of_words if rules.model == "B" else _factors_of_code
    return SequenceForm((evader.treeplex, patroller.treeplex), factored=factors(rules, evader, patroller))


def walkers(rules: Transit) -> tuple[Walker, Walker]:
    """Return the evader and the patroller."""
    return _walker(rules, rules.start_cells, is_evader=True), _walker(rules, (rules.base_cell,), is_evader=False)


def targets_of(grid: Grid) -> Integers:
    """Return where each direction leads from each cell, shape (num_cells, 9); −1 off the grid."""
    targets = np.full((grid.num_cells, len(DIRECTIONS)), -1)
    places = {name: place for place, name in enumerate(DIRECTIONS)}
    for cell in range(grid.num_cells):
        for name, target in grid.steps(cell).items():
            targets[cell, places[name]] = target
    return targets


def east_of(grid: Grid) -> npt.NDArray[np.bool_]:
    """Return whether each cell lies in the easternmost column, shape (num_cells,)."""
    return np.array([grid.in_east(cell) for cell in range(grid.num_cells)])


def reachable(rules: Transit, starts: Sequence[int], is_evader: bool) -> npt.NDArray[np.bool_]:
    """Return where a player may have to move at each time, shape (horizon, num_cells)."""
    table, in_east = targets_of(rules.grid), east_of(rules.grid)
    mask = np.zeros((rules.steps, rules.grid.num_cells), dtype=bool)
    mask[0, list(starts)] = True
    fresh = mask[0]
    for time in range(1, rules.steps):
        # Whoever may stay somewhere was there before: only the border of where it may be grows.
        mask[time] = mask[time - 1]
        if time == 1 or rules.failure < 1:
            targets = table[fresh]
            mask[time, targets[targets >= 0]] = True
        if is_evader:
            mask[time] &= ~in_east
        fresh = mask[time] & ~mask[time - 1]
    return mask


def flow_size(rules: Transit) -> GameSize:
    """Return the size of the flow form, which has no histories."""
    num_actions = (targets_of(rules.grid) >= 0).sum(axis=1)
    infosets, sequences = [], []
    for starts, is_evader in ((rules.start_cells, True), ((rules.base_cell,), False)):
        times = reachable(rules, starts, is_evader).sum(axis=0)  # how many infosets each cell has
        infosets.append(int(times.sum()) + is_evader)
        sequences.append(1 + int(times @ num_actions) + (len(starts) if is_evader else 0))
    return GameSize(0, 0, tuple(sequences), tuple(infosets))


def risk_coefficients(rules: Transit) -> Floats:
    """Return, for each of the patroller's sequences, the probability of ending away from the base because of it."""
    patroller = _walker(rules, (rules.base_cell,), is_evader=False)
    last = patroller.times == rules.steps - 1
    away = np.where(patroller.targets != rules.base_cell, patroller.success, 0.0)
    away += np.where(patroller.cells != rules.base_cell, patroller.failure, 0.0)
    coefficients = np.zeros(patroller.treeplex.num_sequences)
    coefficients[patroller.sequences[last]] = away[last]
    return coefficients


def _walker(rules: Transit, starts: Sequence[int], is_evader: bool) -> Walker:
    grid = rules.grid
    mask = reachable(rules, starts, is_evader)
    times, cells = np.nonzero(mask)
    numbers = np.full(mask.shape, -1)
    numbers[times, cells] = np.arange(len(times)) + is_evader  # which begins with the choice of its start
    table = targets_of(grid)
    owners, directions = np.nonzero(table[cells] >= 0)
    times, cells, targets = times[owners], cells[owners], table[cells[owners], directions]
    sequences = np.arange(len(owners)) + 1 + (len(starts) if is_evader else 0)
    # Both as they are, none as one less the other: 1 - 0.9 is not 0.1 in floats, and exact solvers see the difference.
    failure = np.where((targets == cells) | (times == 0), 0.0, float(rules.failure))
    success = 1.0 - failure

    parts: list[tuple[Any, Any, Any]] = []  # of the inflow: infosets, the sequences before them, and weights
    for destinations, chances in ((targets, success), (cells, failure)):
        leads = (times + 1 < rules.steps) & (chances > 0.0)
        into = numbers[times[leads] + 1, destinations[leads]]
        goes_on = into >= 0
        parts.append((into[goes_on], sequences[leads][goes_on], chances[leads][goes_on]))
    parts.append((numbers[0, list(starts)], np.arange(1, len(starts) + 1) if is_evader else [0], np.ones(len(starts))))
    counts = np.bincount(owners)
    labels = [f"t{time}{grid.label(cell)}" for time, cell in zip(*np.nonzero(mask), strict=True)]
    compass = np.array(list(DIRECTIONS))
    actions: list[tuple[str, ...]] = [
        tuple(names.tolist()) for names in np.split(compass[directions], np.cumsum(counts)[:-1])
    ]
    if is_evader:
        parts.append(([0], [0], [1.0]))
        counts = np.append(len(starts), counts)
        labels.insert(0, "start")
        actions.insert(0, tuple(grid.label(cell) for cell in starts))
    infosets, sources, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    inflow = sp.coo_array((weights, (infosets, sources)), shape=(len(counts), 1 + int(counts.sum())))
    treeplex = Treeplex.from_inflow(inflow, counts, labels, actions)
    return Walker(treeplex, sequences, times, cells, targets, success, failure, grid.num_cells)


# A factor is a number that tells a meeting apart from every other; each player's sequences hold some of it. A factor's
# entries are (numbers, sequences, amounts).
_Entries = list[tuple[Integers, Integers, Floats]]


def _factors_of_words(rules: Transit, evader: Walker, patroller: Walker) -> FactoredPayoff:
    """Return what model B pays: players meet where their moves lead, or on the edge that they swap along."""
    entries: list[_Entries] = []
    for walker, amount in ((evader, -float(rules.encounter_cost)), (patroller, 1.0)):
        moved, every = walker.targets != walker.cells, slice(None)
        edge = (walker.cells, walker.targets) if walker is evader else (walker.targets, walker.cells)
        meetings = [
            (walker.numbers(walker.targets, walker.targets), walker.success, every),
            (walker.numbers(walker.cells, walker.cells), walker.failure, moved),
            (walker.numbers(*edge), walker.success, moved),
        ]
        entries.append([(keys[of], walker.sequences[of], amount * chances[of]) for keys, chances, of in meetings])
    escapes = np.where(east_of(rules.grid)[evader.targets], evader.success, 0.0)
    rewards = escapes * float(rules.escape_reward) - (1.0 - escapes) * float(rules.time_cost)
    return _assembled(evader, patroller, rewards, entries[0], entries[1])


def _factors_of_code(rules: Transit, evader: Walker, patroller: Walker) -> FactoredPayoff:
    """Return what model A pays: an encounter is of two states and intended targets, and overrides an escape.

    Moves meet if they begin in the same cell, aim at the same cell, or swap cells: the sum of the three indicators,
    less one where both moves are the same, for such a pair has the first two. Staying is no swap.
    """
    reward = np.where(
        east_of(rules.grid)[evader.targets], float(rules.escape_reward) - float(rules.time_cost) * evader.times, 0.0
    )
    entries: list[_Entries] = []
    for walker, amounts, both in (
        (evader, -float(rules.encounter_cost) - reward, -1.0),
        (patroller, np.ones(len(patroller.times)), 1.0),
    ):
        moved, every = walker.targets != walker.cells, slice(None)
        edge = (walker.cells, walker.targets) if walker is evader else (walker.targets, walker.cells)
        meetings = [
            (walker.numbers(walker.cells), amounts, every),
            (walker.numbers(walker.targets), amounts, every),
            (walker.numbers(*edge), amounts, moved),
            (walker.numbers(walker.cells, walker.targets), both * amounts, every),
        ]
        # Four kinds of factors, told apart by the number of the kind.
        entries.append(
            [(4 * keys[of] + kind, walker.sequences[of], held[of]) for kind, (keys, held, of) in enumerate(meetings)]
        )
    return _assembled(evader, patroller, reward, entries[0], entries[1])


def _assembled(evader: Walker, patroller: Walker, rewards: Floats, left: _Entries, right: _Entries) -> FactoredPayoff:
    """Put the factors that both players can hold in order; one more, of which the patroller holds 1, pays rewards."""
    sides = [[np.concatenate(parts) for parts in zip(*entries, strict=True)] for entries in (left, right)]
    shared = np.intersect1d(sides[0][0], sides[1][0])
    factors = []
    for keys, sequences, amounts in sides:
        kept = np.isin(keys, shared) & (amounts != 0.0)
        factors.append((sequences[kept], np.searchsorted(shared, keys[kept]), amounts[kept]))
    (rows, columns, amounts), (owners, numbers, held) = factors
    reward = np.full(len(rewards), len(shared))
    return FactoredPayoff(
        sp.coo_array(
            (
                np.concatenate([amounts, rewards]),
                (np.concatenate([rows, evader.sequences]), np.concatenate([columns, reward])),
            ),
            shape=(evader.treeplex.num_sequences, len(shared) + 1),
        ),
        sp.coo_array(
            (np.append(held, 1.0), (np.append(numbers, len(shared)), np.append(owners, 0))),
            shape=(len(shared) + 1, patroller.treeplex.num_sequences),
        ),
    )
