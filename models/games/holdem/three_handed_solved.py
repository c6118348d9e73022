"""Views of a three-handed strategy: at any node, the strategy, EV and equity of each class, and all ranges."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from operator import add

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidStrategyError
from ....seqform.joint_form import JointForm, JointLeaves, JointPayoff, contracted
from ....seqform.public_profile import PublicProfile
from ....seqform.strategy import Profile
from .class_nodes import ClassNode
from .classes import CLASSES
from .three_handed import SEATS, Pot, ThreeHanded
from .three_handed_form import deal, deal_shares


class SolvedThreeHanded:
    """A profile of a three-handed game that can be read node by node.

    Parameters
    ----------
    rules : ThreeHanded
    profile : Profile
        A profile of ``rules.game``.

    Examples
    --------
    >>> from treeplex.models.games.holdem.three_handed import ThreeHanded
    >>> from treeplex.models.games.holdem.three_handed_solved import SolvedThreeHanded
    >>> from treeplex import Profile, load_game
    >>> rules, game = ThreeHanded(stack=4), load_game("three_handed:stack=4")
    >>> node = SolvedThreeHanded(rules, Profile.uniform(game)).at("raise 2, fold")
    >>> node.mover, node.pot, node.actions
    ('bb', 3.5, ('fold', 'call', 'raise 3', 'all-in'))
    >>> aces = node.classes("bb")[0]
    >>> aces["class"], round(aces["equity"], 3)
    ('AA', 0.852)
    """

    def __init__(self, rules: ThreeHanded, profile: Profile) -> None:
        payoffs = profile[0].sequence_form.payoffs  # building the game again would take seconds
        first = [action for action, _ in rules.moves(rules.begun)]
        if not isinstance(payoffs, JointPayoff) or not _is_of(payoffs.form, rules.stack, first):
            raise InvalidStrategyError(f"the profile is for another game, expected a profile of {rules}")
        self.rules, self.form = rules, payoffs.form
        form = self.form
        self.profile = PublicProfile.from_profile(form, profile)

    def __repr__(self) -> str:
        return f"SolvedThreeHanded({self.rules!r})"

    def at(self, line: str = "") -> "ThreeHandedNode":
        """Return a node of the betting.

        Parameters
        ----------
        line : str
            The actions that lead there, comma separated, such as ``"raise 2, fold"``; empty for the first node.

        Raises
        ------
        InvalidGameError
            If there is no such node; the message lists the possible continuations.
        """
        return ThreeHandedNode(self, self.form.find(line))

    def __iter__(self) -> Iterator["ThreeHandedNode"]:
        """Iterate over all nodes at which somebody moves."""
        return (ThreeHandedNode(self, node) for node in self.form.decisions.tolist())


def _is_of(form: JointForm, stack: float | Fraction, actions: Sequence[str]) -> bool:
    """Whether a form is that of three players with a stack who begin with some actions."""
    begins = [str(form.actions[child]) for child in form.children[0].tolist()]
    return form.states == (CLASSES,) * 3 and form.payoff_scale == 2.0 * stack and begins == actions


class ThreeHandedNode(ClassNode):
    """A node of the betting of three players; see :class:`ClassNode`.

    Parameters
    ----------
    solved : SolvedThreeHanded
    node : int
        The index in the public form.

    Attributes
    ----------
    state : Pot
        The amounts put in, the mover, and who has folded.
    """

    solved: SolvedThreeHanded
    seats = SEATS

    def __init__(self, solved: SolvedThreeHanded, node: int) -> None:
        state: Pot = solved.rules.begun
        for action in map(str, solved.form.path(node)):
            state = dict(solved.rules.moves(state))[action]
        self.state = state
        super().__init__(solved, node, tuple(map(add, state.paid, solved.rules.antes)))

    @cached_property
    def _arrival(self) -> tuple[Floats, ...]:
        """The probability that each class is dealt and the others play to the node, for all seats."""
        return tuple(self._contracted(deal(), seat) for seat in range(3))

    def _contracted(self, tensor: Floats, seat: int) -> Floats:
        """Return the sum over the others' classes of a tensor times their reaches, for each class of a seat."""
        found: Floats = contracted(tensor, seat, [reach[None] for reach in self.reaches])[0]
        return found

    @cached_property
    def likely(self) -> tuple[Floats, ...]:
        """The probability that each class reaches the node, for all seats, shape (169,) each."""
        return tuple(reach * met for reach, met in zip(self.reaches, self._arrival, strict=True))

    @cached_property
    def evs(self) -> tuple[Floats, ...]:
        """The winnings of each class from there on, for all seats, in big blinds; NaN for impossible classes.

        Net of the chips put in from there on: a fold is worth 0.
        """
        form, profile = self.solved.form, self.solved.profile
        below = form.below(self.node)
        # Each player's probability of playing from here to each node below, and of playing there from the root.
        onward = np.ones((3, len(form.players), deal().shape[0]))
        for node in below.tolist():
            mover = int(form.players[node])
            if mover >= 0:
                children = form.children[node]
                onward[:, children] = onward[:, node, None]
                onward[mover, children] *= profile.behaviour(node)
        values = np.zeros((3, deal().shape[0]))
        for group in form.joint_leaves:
            here = np.isin(group.nodes, below)
            if not here.any():
                continue
            nodes = group.nodes[here]
            leaves = JointLeaves(nodes, group.amounts[:, here], group.payoff)
            reached = [self.reaches[seat] * onward[seat, nodes] for seat in range(3)]
            for seat in range(3):
                values[seat] += (leaves.gradient(seat, reached) * onward[seat, nodes]).sum(axis=0)
        return tuple(
            PublicProfile.conditional(values[seat], self._arrival[seat]) + self.paid[seat] for seat in range(3)
        )

    @cached_property
    def equities(self) -> tuple[Floats, ...]:
        """The share of the pot that each class wins without further bets; NaN if it has folded or meets no hands."""
        there = self.state.in_play
        found = []
        for seat in range(3):
            won = self._contracted(deal_shares(seat, there), seat) if seat in there else np.full(len(deal()), np.nan)
            found.append(PublicProfile.conditional(won, self._arrival[seat]))
        return tuple(found)
