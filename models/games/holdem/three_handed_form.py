"""The public form of three-handed hold'em before the flop: probabilities of deals, and shares of three-way pots."""

import io
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.budget import Budget, FormSize
from ....seqform.joint_form import JointForm, JointLeaves
from ....seqform.public_form import PublicForm
from .cards import HANDS
from .classes import CLASS_OF_HAND, CLASS_SIZES, CLASSES
from .equities import equities

#: Peak size of the payoff tensors, in double-precision numbers; half of it is kept.
_BYTES = 8 * 8 * 169**3


@cache
def shares() -> npt.NDArray[Any]:
    """Return the share of the pot that a class wins against two others, shape (169, 169, 169), in single precision.

    The first axis is the class that is paid, and the second and third are the others. No entry is NaN: three classes
    that cannot be dealt together have thirds.

    Examples
    --------
    >>> from treeplex.models.games.holdem.classes import CLASSES
    >>> from treeplex.models.games.holdem.three_handed_form import shares
    >>> aces, kings, queens = (CLASSES.index(name) for name in ("AA", "KK", "QQ"))
    >>> round(float(shares()[aces, kings, queens]), 2)
    0.67
    """
    stored = resources.files(__package__).joinpath("three_handed_equities.npz").read_bytes()
    with np.load(io.BytesIO(stored)) as kept:
        first, second = (kept[name].astype(np.float32) / 255 for name in ("first", "second"))
    count = len(CLASSES)
    classes = np.arange(count)
    in_order = (classes[:, None, None] <= classes[:, None]) & (classes[:, None] <= classes)
    one, two, three = (each.astype(np.int16) for each in np.nonzero(in_order))
    second = np.where(two == three, (1 - first) / 2, second)  # equal classes get equal shares despite rounding
    found = np.empty((count,) * 3, dtype=np.float32)
    for mine, a, b, c in ((first, one, two, three), (second, two, one, three), (1 - first - second, three, one, two)):
        found[a, b, c] = found[a, c, b] = mine
    return frozen(found)


@cache
def deal() -> npt.NDArray[Any]:
    """Return the probability that each triple of classes is dealt, shape (169, 169, 169), in single precision."""
    count = len(CLASSES)
    holds = np.zeros((52, count))
    np.add.at(holds, (HANDS.ravel(), CLASS_OF_HAND.repeat(2)), 1.0)
    numbers = np.zeros((52, 52), dtype=np.int64)
    numbers[HANDS[:, 0], HANDS[:, 1]] = numbers[HANDS[:, 1], HANDS[:, 0]] = CLASS_OF_HAND
    found = np.empty((count,) * 3)
    for one, size in enumerate(CLASS_SIZES.tolist()):
        a, b = HANDS[np.flatnonzero(one == CLASS_OF_HAND)[0]].tolist()  # permuting the suits changes nothing
        others = np.flatnonzero(~np.isin(HANDS, (a, b)).any(axis=1))
        c, d = HANDS[others].T
        # Hands of a class minus those with any of the four cards; those with two of them were subtracted twice.
        free = CLASS_SIZES - holds[a] - holds[b] - holds[c] - holds[d]
        free[:, numbers[a, b]] += 1.0
        for pair in (numbers[a, c], numbers[a, d], numbers[b, c], numbers[b, d], numbers[c, d]):
            free[np.arange(len(others)), pair] += 1.0
        total = np.zeros((count, count))
        np.add.at(total, CLASS_OF_HAND[others], free)
        found[one] = size * total
    return frozen((found / found.sum()).astype(np.float32))


#: The amounts put in at a leaf, antes included, and the players who have not folded.
Over = tuple[Sequence[Fraction], Sequence[int]]


def joint_form(
    players: Sequence[int], parents: Sequence[int], actions: Sequence[str], over: Mapping[int, Over], stack: float
) -> JointForm:
    """Return a public tree as a game, with properties of each leaf."""
    Budget().require(_BYTES, "payoffs of three classes")
    return JointForm(players, parents, actions, [CLASSES] * 3, _leaves(over), deal(), stack * 2)


def form_size(players: Sequence[int], parents: Sequence[int], actions: Sequence[str]) -> FormSize:
    """Return the size of a public tree's sequence form, without leaf payoffs."""
    bare = PublicForm(players, parents, actions, [CLASSES] * 3, ())
    return FormSize(bare.num_sequences, bare.num_infosets, _BYTES + bare.sequence_form_bytes, names_functionals=True)


def _leaves(over: Mapping[int, Over]) -> list[JointLeaves]:
    """Return the payoffs of leaves: each player's contribution, and the pot as shares of the players in play."""
    fixed = -np.array([paid for paid, _ in over.values()], dtype=float).T
    shared: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for place, (node, (paid, in_play)) in enumerate(over.items()):
        pot, last = float(sum(paid)), in_play[-1]
        # The share of all players except the last, who receives the rest of the pot.
        fixed[last, place] += pot
        for player in in_play[:-1]:
            others = [other for other in in_play if other != player]
            against = others[0] if len(others) == 1 else -1
            shared.setdefault((player, against), []).append((node, pot))
    found = [JointLeaves(np.array(list(over)), fixed, deal())]
    for (player, against), group in shared.items():
        nodes: Indices = np.array([node for node, _ in group])
        amounts: Floats = np.zeros((3, len(group)))
        amounts[player] = [pot for _, pot in group]
        amounts[[over[node][1][-1] for node in nodes.tolist()], np.arange(len(group))] = -amounts[player]
        found.append(JointLeaves(nodes, amounts, _share(player, against)))
    return found


@cache
def _share(player: int, against: int) -> npt.NDArray[Any]:
    """Return the probability of a deal times a player's share of the pot, against one player or (−1) both others."""
    if against < 0:
        return frozen(deal() * np.moveaxis(shares(), 0, player))
    shape = [1, 1, 1]
    shape[player] = shape[against] = len(CLASSES)
    matrix = equities() if player < against else equities().T
    return frozen(deal() * matrix.reshape(shape).astype(np.float32))


def deal_shares(player: int, in_play: Sequence[int]) -> npt.NDArray[Any]:
    """Return the probability of each deal times a player's share of the pot among the players in play.

    Parameters
    ----------
    player : int
        One of the players in play.
    in_play : sequence of int
        One, two or three players.
    """
    others = [other for other in in_play if other != player]
    return _share(player, others[0] if len(others) == 1 else -1) if others else deal()
