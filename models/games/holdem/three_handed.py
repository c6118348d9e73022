"""Three-handed hold'em before the flop: 169 classes of hands, a menu of raises, and hands checked down after it."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.budget import Budget
from ....seqform.parameters import About, check_parameters
from ....seqform.rules import TERMINAL
from ..family import Family
from .cards import HANDS
from .classes import CLASS_OF_HAND, CLASS_SIZES, CLASSES
from .equities import equities

if TYPE_CHECKING:
    from ....seqform.joint_form import JointForm
    from ....seqform.sequence_form import SequenceForm

#: The seats by player, in the order in which they act before the flop.
SEATS = ("button", "sb", "bb")
#: A raise is to one of these, in big blinds, or all-in.
SIZES = (2, 3)
#: What the tensors of payoffs take at most.
_BYTES = 8 * 4 * 169**3


@dataclass(frozen=True)
class Pot:
    """Where a hand stands.

    Parameters
    ----------
    paid : three Fractions
        What each player has put in, in big blinds.
    mover : int
    folded : frozenset of int
    waiting : int
        How many players have still to act, unless somebody raises, the mover counted; 0 once the betting is over.
    """

    paid: tuple[Fraction, ...]
    mover: int
    folded: frozenset[int] = frozenset()
    waiting: int = 3

    @property
    def in_play(self) -> tuple[int, ...]:
        """Who has not folded."""
        return tuple(player for player in range(3) if player not in self.folded)

    @property
    def is_over(self) -> bool:
        """Whether all but one have folded, or nobody has still to act."""
        return len(self.folded) == 2 or not self.waiting


@dataclass(frozen=True)
class ThreeHanded:
    """Three-handed no-limit hold'em before the flop, with 169 classes of hands.

    The button (player 0) moves first, then the small blind (player 1), who has posted half a big blind, and the big
    blind (player 2), who has posted one. Who moves folds, calls, raises to 2 or 3 big blinds, or goes all-in; nobody
    raises to less than somebody else did. Payoffs are big blinds: 0.001 is 1 mBB.

    Once the betting is over, the board is dealt and hands are shown.

    Parameters
    ----------
    stack : int
        What each player has, in big blinds.

    Notes
    -----
    *Simplified*: there are no bets after the flop. Cards that were folded count in who may hold what, and not in which
    boards come; so two players are paid by the exact equities of their classes. What three win of a pot comes from
    a file: sampled deals of every three classes on all boards, some two million each, with a standard error of about
    0.2 % of the pot; ``examples/three_handed_equities.py`` makes it.

    *Infosets* are labelled by the actions so far and the class, such as ``(('raise 2', 'fold'), 'AKs')``.

    For games of three players nothing is proven of what regret minimisation converges to; see the guide to games of
    three players.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo (2025), "Preference-CFR: beyond Nash equilibrium for better game
    strategies", ICML, section 5.2, whose players go on after the flop.

    Examples
    --------
    >>> from treeplex.models.games.holdem.three_handed import ThreeHanded
    >>> rules = ThreeHanded(stack=20)
    >>> [action for action, _ in rules.moves(rules.begun)]
    ['fold', 'call', 'raise 2', 'raise 3', 'all-in']
    """

    name: ClassVar[str] = "three_handed"
    num_players: ClassVar[int] = 3

    stack: Annotated[int, About("what each player has, in big blinds", minimum=4, maximum=1000)] = 25

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def begun(self) -> Pot:
        """Where the hand begins: the blinds are posted."""
        return Pot((Fraction(0), Fraction(1, 2), Fraction(1)), 0)

    def moves(self, state: Pot) -> Iterator[tuple[str, Pot]]:
        """Yield each action of who moves, from fold to all-in, and what it leads to."""
        me, level = state.mover, max(state.paid)
        if state.paid[me] < level:
            yield "fold", self._next(replace(state, folded=state.folded | {me}, waiting=state.waiting - 1))
        name = "call" if state.paid[me] < level else "check"
        yield name, self._next(replace(state, paid=_with(state.paid, me, level), waiting=state.waiting - 1))
        for amount in map(Fraction, (*SIZES, self.stack)):
            if amount > level:
                name = "all-in" if amount == self.stack else f"raise {amount}"
                waiting = len(state.in_play) - 1
                yield name, self._next(replace(state, paid=_with(state.paid, me, amount), waiting=waiting))

    def _next(self, state: Pot) -> Pot:
        """Return a state with the turn passed on."""
        mover = (state.mover + 1) % 3
        while mover in state.folded:
            mover = (mover + 1) % 3
        return replace(state, mover=mover)

    @property
    def form(self) -> "JointForm":
        """The game in public form."""
        return _form(self)


def _with(paid: tuple[Fraction, ...], player: int, amount: Fraction) -> tuple[Fraction, ...]:
    return (*paid[:player], amount, *paid[player + 1 :])


@cache
def shares() -> npt.NDArray[Any]:
    """Return what part of the pot a class wins of two others, shape (169, 169, 169), in single precision.

    The first axis is the class that is paid, the second and the third are the others; NaN nowhere: three classes that
    cannot be dealt together have thirds.

    Examples
    --------
    >>> from treeplex.models.games.holdem.classes import CLASSES
    >>> from treeplex.models.games.holdem.three_handed import shares
    >>> aces, kings, queens = (CLASSES.index(name) for name in ("AA", "KK", "QQ"))
    >>> round(float(shares()[aces, kings, queens]), 2)
    0.67
    """
    stored = resources.files(__package__).joinpath("three_handed_equities.npz").read_bytes()
    with np.load(io.BytesIO(stored)) as kept:
        first, second = (kept[name].astype(np.float32) / 255 for name in ("first", "second"))
    count = len(CLASSES)
    one, two, three = np.array(
        [(i, j, k) for i in range(count) for j in range(i, count) for k in range(j, count)], dtype=np.int16
    ).T
    second = np.where(two == three, (1 - first) / 2, second)  # equal classes win as much, whatever was rounded
    found = np.empty((count,) * 3, dtype=np.float32)
    for mine, a, b, c in ((first, one, two, three), (second, two, one, three), (1 - first - second, three, one, two)):
        found[a, b, c] = found[a, c, b] = mine
    return frozen(found)


@cache
def deal() -> npt.NDArray[Any]:
    """Return the probability of each three classes to be dealt, shape (169, 169, 169), in single precision."""
    count = len(CLASSES)
    holds = np.zeros((52, count))
    np.add.at(holds, (HANDS.ravel(), CLASS_OF_HAND.repeat(2)), 1.0)
    numbers = np.zeros((52, 52), dtype=np.int64)
    numbers[HANDS[:, 0], HANDS[:, 1]] = numbers[HANDS[:, 1], HANDS[:, 0]] = CLASS_OF_HAND
    found = np.empty((count,) * 3)
    for one, size in enumerate(CLASS_SIZES.tolist()):
        a, b = HANDS[np.flatnonzero(one == CLASS_OF_HAND)[0]].tolist()  # suits that are exchanged change nothing
        others = np.flatnonzero(~np.isin(HANDS, (a, b)).any(axis=1))
        c, d = HANDS[others].T
        # Hands of a class less those with any of the four cards; those with two of them were taken off twice.
        free = CLASS_SIZES - holds[a] - holds[b] - holds[c] - holds[d]
        free[:, numbers[a, b]] += 1.0
        for pair in (numbers[a, c], numbers[a, d], numbers[b, c], numbers[b, d], numbers[c, d]):
            free[np.arange(len(others)), pair] += 1.0
        total = np.zeros((count, count))
        np.add.at(total, CLASS_OF_HAND[others], free)
        found[one] = size * total
    return frozen((found / found.sum()).astype(np.float32))


def _form(rules: ThreeHanded) -> "JointForm":
    """Return a game in public form, level by level."""
    from ....seqform.joint_form import JointForm

    Budget().require(_BYTES, "payoffs of three classes")
    states, parents, actions = [rules.begun], [-1], [""]
    for node, state in enumerate(states):  # which grows
        if not state.is_over:
            for action, after in rules.moves(state):
                states.append(after)
                parents.append(node)
                actions.append(action)
    players = [TERMINAL if state.is_over else state.mover for state in states]
    leaves = _leaves(states)
    return JointForm(players, parents, actions, [CLASSES] * 3, leaves, deal(), float(rules.stack) * 2)


def _leaves(states: list[Pot]) -> list[Any]:
    """Return what leaves pay: what everybody has put in, and the pot, in shares of those who are in play."""
    from ....seqform.joint_payoff import JointLeaves

    over = [node for node, state in enumerate(states) if state.is_over]
    fixed = -np.array([states[node].paid for node in over], dtype=float).T
    shared: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for place, node in enumerate(over):
        state = states[node]
        pot, last = float(sum(state.paid)), state.in_play[-1]
        # Everybody's share but the last one's; that is what is left of the pot.
        fixed[last, place] += pot
        for player in state.in_play[:-1]:
            others = [other for other in state.in_play if other != player]
            against = others[0] if len(others) == 1 else -1
            shared.setdefault((player, against), []).append((node, pot))
    found = [JointLeaves(np.array(over), fixed, deal())]
    for (player, against), group in shared.items():
        nodes: Indices = np.array([node for node, _ in group])
        amounts: Floats = np.zeros((3, len(group)))
        amounts[player] = [pot for _, pot in group]
        amounts[[states[node].in_play[-1] for node in nodes.tolist()], np.arange(len(group))] = -amounts[player]
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


def _sequence_form(rules: ThreeHanded) -> "SequenceForm":
    return rules.form.sequence_form()


class ThreeHandedFamily(Family):
    """Games of three players before the flop, made in public form."""

    def parts(self, rules: ThreeHanded) -> dict[str, Any]:
        """Return the sequence form, which is built when it is asked for."""
        return {
            "sequence_form": partial(_sequence_form, rules),
            "without_histories": "it has 169 classes of hands and a public tree, and no list of histories",
        }


FAMILY = ThreeHandedFamily(
    rules=ThreeHanded,
    summary="Three-handed hold'em before the flop: 169 classes, a menu of raises, hands checked down after it",
    citation="Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo (2025), ICML: Preference-CFR",
)
