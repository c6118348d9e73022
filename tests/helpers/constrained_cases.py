"""Constraints with known optima, and random ones, that several tests solve under."""

from fractions import Fraction

import numpy as np
import pytest
from effort import thorough
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import load_game
from treeplex.models.constraints import LinearConstraint, behaviour_bound, reach_bound

KUHN = load_game("kuhn")
X = KUHN.plan(0)


def sequence(infoset, action, game=KUHN, player=0):
    return game.sequence_form.treeplexes[player].sequence(infoset, action)


def bet(infoset, **bound):
    return behaviour_bound(KUHN, 0, infoset, "b", **bound)


CALLS = X[sequence("J_pb", "b")] + X[sequence("Q_pb", "b")] + X[sequence("K_pb", "b")]

#: Constraints on player 0 in Kuhn poker by builders and in cvxpy, the value, and the multipliers.
KUHN_CASES = {
    "A": (
        [bet("K_", at_most=0.5, name="king"), bet("J_", at_least=0.3, name="jack")],
        {"king": X[sequence("K_", "b")] <= 0.5, "jack": X[sequence("J_", "b")] >= 0.3},
        -1 / 10,
        {"king": 1 / 9, "jack": 1 / 3},
    ),
    "B": ([bet("J_", at_least=0.5, name="jack")], {"jack": X[sequence("J_", "b")] >= 0.5}, -1 / 9, {"jack": 1 / 3}),
    "C": (
        [LinearConstraint(0, {sequence(card + "_pb", "b"): 1 for card in "JQK"}, Fraction(4, 5), name="calls")],
        {"calls": CALLS <= 0.8},
        -1 / 18,
        {"calls": 0.0},
    ),
    "D": (
        [bet("Q_", at_least=0.4, name="queen"), reach_bound(KUHN, 0, "Q_pb", "b", at_most=0.1, name="call")],
        {"queen": X[sequence("Q_", "b")] >= 0.4, "call": X[sequence("Q_pb", "b")] <= 0.1},
        -7 / 90,
        {"queen": 1 / 18, "call": 0.0},
    ),
}

#: Their builders alone, and two that exclude each other.
CASES = {name: case[0] for name, case in KUHN_CASES.items()} | {
    "E": [bet("J_", at_least=0.7, name="often"), bet("J_", at_most=0.4, name="seldom")]
}

#: Values of the transit game for risk bounds .5, .2, .1, .05, .02, .01, and the multiplier at .1.
BOUNDS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
TRANSIT = {
    ("A", 2): ((-0.796392, -0.787009, -0.783558, -0.744881, -0.707173, -0.684009), 0.0406),
    ("A", 3): ((-0.290845, -0.220490, -0.176445, -0.120147, -0.072936, -0.024132), 1.0795),
    ("A", 4): ((-0.014238, 0.076470, 0.118624, 0.156434, 0.196655, 0.224478), 0.6404),
    ("B", 2): ((-0.009732, 0.010158, 0.020351, 0.032357, 0.044164, 0.059345), 0.1552),
    ("B", 3): ((0.231943, 0.257803, 0.278538, 0.295217, 0.309407, 0.326718), 0.3065),
    ("B", 4): ((0.304947, 0.340981, 0.355960, 0.368361, 0.389707, 0.402451), 0.1704),
}
#: The same one by one, the larger games and bounds between others only if there is time for all.
TRANSIT_CASES = [
    pytest.param(
        model,
        width,
        bound,
        value,
        id=f"{model}, width {width}, {bound:g}",
        marks=[] if bound == 0.1 or (width < 4 and bound in (0.5, 0.01)) else [thorough],
    )
    for (model, width), (values, _) in TRANSIT.items()
    for bound, value in zip(BOUNDS, values, strict=True)
]


@st.composite
def constrained_games(draw):
    """Return a random game and random linear constraints on both players that some plans meet."""
    game = to_game(draw(trees(size=10)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    constraints = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        met = treeplex.plan(random_plan(treeplex, rng))
        for number in range(draw(st.integers(0, 2))):
            coefficients = rng.normal(size=treeplex.num_sequences).round(3)
            room = draw(st.sampled_from([0.0, 0.05, 1.0]))
            terms = dict(enumerate(coefficients.tolist()))
            constraints.append(
                LinearConstraint(player, terms, float(coefficients @ met) + room, name=f"{player}/{number}")
            )
    return game, constraints


def random_plan(treeplex, rng):
    behaviour = np.concatenate([[1.0], rng.random(treeplex.num_sequences - 1) + 1e-3])
    for first, last in zip(treeplex.offsets[:-1], treeplex.offsets[1:], strict=True):
        behaviour[first:last] /= behaviour[first:last].sum()
    return behaviour


def conflicting(game, rng, count=3):
    """Return random constraints that often exclude each other, on a random player's plans."""
    player = int(rng.integers(2))
    size = game.sequence_form.treeplexes[player].num_sequences
    return [
        LinearConstraint(player, dict(enumerate(rng.normal(size=size).tolist())), float(rng.normal()), name=str(place))
        for place in range(count)
    ]
