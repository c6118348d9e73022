"""The transit game as two flow polytopes over (time, cell) and a factored payoff."""

from collections.abc import Sequence

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.budget import Budget, FormSize
from ...seqform.factored import FactoredPayoff
from ...seqform.sequence_form import SequenceForm
from .patrol.meetings import Entries, Keys, assembled
from .patrol.walker import Body, Mask, Party, Walker, Whole, form_size, party
from .transit import Grid, Transit

# Peak memory of building in bytes per sequence, by model: arrays of its moves, text of its labels, and the factors of
# encounters, of which model A has more.
_SEQUENCE = {"A": 685, "B": 530}


def transit_sequence_form(rules: Transit) -> SequenceForm:
    """Return the transit game in sequence form: player 0 evades, player 1 patrols.

    Raises
    ------
    GameTooLargeError
        If it would exceed the budget of :mod:`treeplex.seqform.budget`.
    """
    size = flow_size(rules)
    Budget().require(size.bytes, f"the game has {sum(size.sequences):,} sequences: its sequence form")
    evader, patroller = (party([body]) for body in bodies(rules))
    factors = _factors_of_words if rules.model == "B" else _factors_of_code
    return SequenceForm((evader.treeplex, patroller.treeplex), factored=factors(rules, evader, patroller))


def walkers(rules: Transit) -> tuple[Walker, Walker]:
    """Return the evader and the patroller."""
    evader, patroller = (party([body]).walkers[0] for body in bodies(rules))
    return evader, patroller


def east_of(grid: Grid) -> Mask:
    """Return whether each cell lies in the easternmost column, shape (num_cells,)."""
    return np.array([grid.in_east(cell) for cell in range(grid.num_cells)])


def bodies(rules: Transit) -> tuple[Body, Body]:
    """Return the possible moves of the evader and the patroller."""
    grid = rules.grid
    moves = [(cell, *step) for cell in range(grid.num_cells) for step in grid.steps(cell).items()]
    return _body(rules, moves, rules.start_cells, is_evader=True), _body(
        rules, moves, (rules.base_cell,), is_evader=False
    )


def _body(rules: Transit, moves: Sequence[tuple[int, str, int]], starts: Sequence[int], is_evader: bool) -> Body:
    grid = rules.grid
    cells, directions, targets = zip(*moves, strict=True)
    return Body(
        sources=np.array(cells),
        targets=np.array(targets),
        durations=np.ones(len(moves), dtype=np.int64),
        num_nodes=grid.num_cells,
        entry_times=np.zeros(len(starts), dtype=np.int64),
        entry_nodes=np.array(starts),
        last=rules.steps,
        chooses=is_evader,
        failure=float(rules.failure),
        gone=east_of(grid) if is_evader else None,
        nodes=[grid.label(cell) for cell in range(grid.num_cells)],
        actions=directions,
        entries=[grid.label(cell) for cell in starts],
    )


def flow_size(rules: Transit) -> FormSize:
    """Return the size of the flow form without building it."""
    return form_size([[body] for body in bodies(rules)], _SEQUENCE[rules.model])


def risk_coefficients(rules: Transit) -> Floats:
    """Return, for each of the patroller's sequences, its part of the probability of ending away from the base."""
    patroller = party([bodies(rules)[1]])
    return patroller.walkers[0].ending_away(rules.base_cell, patroller.treeplex.num_sequences)


def _factors_of_words(rules: Transit, evader: Party, patroller: Party) -> FactoredPayoff:
    """Return the payoffs of model B: players meet where their moves lead, or on the edge along which they swap."""
    first, second = evader.walkers[0], patroller.walkers[0]
    keys, cost = Keys.of([first]), -float(rules.encounter_cost)
    escapes = np.where(east_of(rules.grid)[first.targets], first.success, 0.0)
    rewards = escapes * float(rules.escape_reward) - (1.0 - escapes) * float(rules.time_cost)
    left = Entries.joined([keys.standing(first, cost), keys.passing(first, cost)])
    return assembled(evader, patroller, [rewards], left, Entries.joined([keys.standing(second), keys.met(second)]))


def _factors_of_code(rules: Transit, evader: Party, patroller: Party) -> FactoredPayoff:
    """Return the payoffs of model A: an encounter depends on two states and intended targets, and overrides an escape.

    Moves meet if they begin in the same cell, aim at the same cell, or swap cells. This is the sum of the three
    indicators, minus one if both moves are the same, because such a pair satisfies the first two. Staying is not a
    swap.
    """
    first, second = evader.walkers[0], patroller.walkers[0]
    reward = np.where(
        east_of(rules.grid)[first.targets], float(rules.escape_reward) - float(rules.time_cost) * first.times, 0.0
    )
    sides: list[Entries] = []
    for walker, amounts, both in (
        (first, -float(rules.encounter_cost) - reward, -1.0),
        (second, np.ones(len(second.times)), 1.0),
    ):
        every = np.ones(len(walker.times), dtype=bool)
        edge = (walker.sources, walker.targets) if walker is first else (walker.targets, walker.sources)
        meetings = [
            ((walker.sources,), amounts, every),
            ((walker.targets,), amounts, every),
            (edge, amounts, walker.moved),
            ((walker.sources, walker.targets), both * amounts, every),
        ]
        # Four kinds of factors, distinguished by the number of the kind.
        each = [
            Entries(4 * _numbers(walker, *cells) + kind, walker.sequences, held).where(of)
            for kind, (cells, held, of) in enumerate(meetings)
        ]
        sides.append(Entries.joined(each))
    return assembled(evader, patroller, [reward], sides[0], sides[1])


def _numbers(walker: Walker, *cells: Whole) -> Whole:
    """Return a number for each move that distinguishes its time and some cells."""
    numbers = walker.times
    for each in cells:
        numbers = numbers * walker.body.num_nodes + each
    return numbers
