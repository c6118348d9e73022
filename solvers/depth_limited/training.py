"""Examples that value functions learn from: random ranges at a border, and what they are worth."""

from dataclasses import dataclass

import numpy as np

from ...models.depth_limited import Border, decision_steps
from ...seqform.arrays import Floats
from ...seqform.game import Game
from .cfr_value import CFRValue


@dataclass(frozen=True, eq=False)
class Examples:
    """Solved examples at a border; tuples are by seat.

    Attributes
    ----------
    ranges : tuple of ndarray of float64, shape (examples, num_ways)
        Those of each public state sum to 1.
    values : tuple of ndarray of float64, shape (examples, num_ways)
    error : float
        The mean gap of an example, divided by the number of public states.
    """

    ranges: tuple[Floats, Floats]
    values: tuple[Floats, Floats]
    error: float


def borders_of(game: Game, lookahead: int, player: int | None) -> list[Border]:
    """Return the borders of all steps of a player, or of both, along levels."""
    public = game.public_tree
    seats = (0, 1) if player is None else (player,)
    seen = [step.seen for seat in seats for step in decision_steps(public, seat, lookahead)]
    return [Border.of(game, states) for states in seen if states is not None and not states.all()]


def border_examples(border: Border, count: int, iterations: int, generator: np.random.Generator) -> Examples:
    """Draw ranges of all public states of a border, and solve them at once.

    Parameters
    ----------
    border : Border
    count : int
    iterations : int
        Of CFR+ for each example.
    generator : numpy.random.Generator
    """
    value = CFRValue(iterations)
    ranges = [np.zeros((count, ways)) for ways in border.num_ways]
    values = [np.zeros((count, ways)) for ways in border.num_ways]
    errors = np.zeros(count)
    for number in range(count):
        for player in (0, 1):
            ranges[player][number] = _drawn(border, player, generator)
        answer = value.query(border, (ranges[0][number], ranges[1][number]))
        values[0][number], values[1][number] = answer.values
        errors[number] = 0.0 if answer.error is None else answer.error
    error = float(errors.mean()) / max(len(border.states), 1)
    return Examples((ranges[0], ranges[1]), (values[0], values[1]), error)


def _drawn(border: Border, player: int, generator: np.random.Generator) -> Floats:
    """Return a range at each public state, sparse or even."""
    states = border.way_states[player]
    concentration = generator.choice([0.2, 0.5, 1.0, 3.0], size=len(border.states))[states]
    weights = generator.gamma(concentration) + 1e-12
    sums = np.bincount(states, weights=weights, minlength=len(border.states))
    return np.asarray(weights / sums[states])
