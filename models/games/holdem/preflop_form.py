"""The public forms of the preflop model: played out, and with multi-valued states at the flop."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.budget import FormSize
from ....seqform.factored import FactoredPayoff
from ....seqform.public_form import PublicForm
from ....seqform.public_payoff import Leaves
from ....seqform.rules import TERMINAL
from .bets import unrolled
from .classes import CLASSES
from .equities import BOARDS, outcomes, pairs
from .preflop import CONTINUATIONS, PREFLOP_SEATS, Betting, Preflop

Singles = npt.NDArray[np.float32]
#: Iterations of the blueprint, and the smallest probability of each preflop action in it, which keeps it defined for
#: every hand on every line.
_ITERATIONS, _TREMBLE, _POWER = 400, 0.01, 2
#: Peak memory of building in bytes, besides infosets and sequences: for a class at a node of the blueprint, and for a
#: pair of classes at a leaf with continuations.
_PLAYED, _PAID = 32, 12
#: Models with this many nodes are built in about a second, with half as many if a blueprint is needed; functionals with
#: this many numbers take a tenth of a second.
_QUICK, _NAMED = 330, 2**24
#: Number of rows multiplied at once.
_ROWS = 8
#: The factor by which a biased continuation prefers an action, and the preferred action.
_BIAS = 5.0
_PREFERRED: tuple[tuple[str, ...], ...] = ((), ("fold",), ("check", "call"), ("bet", "raise", "all-in"))


@cache
def _together() -> Floats:
    """Return the probability that each pair of classes is dealt, shape (169, 169)."""
    return frozen(pairs() / pairs().sum())


@cache
def _shown() -> Floats:
    """Return P(dealt and the first one wins) − P(dealt and the first one loses) for each pair of classes."""
    wins, _ = outcomes()
    return frozen((wins - wins.T) / (BOARDS * pairs().sum()))


@dataclass(frozen=True, eq=False)
class PlayedOut:
    """The model with its bets after the flop, node by node.

    Parameters
    ----------
    rules : Preflop
    states : list of Betting
        Parents before their children.
    parents : ndarray of int
    actions : list of str
    """

    rules: Preflop
    states: list[Betting]
    parents: Indices
    actions: list[str]

    @cached_property
    def players(self) -> Indices:
        """The mover at each node."""
        over = map(self.rules.is_over, self.states)
        return np.array([TERMINAL if done else one.mover for done, one in zip(over, self.states, strict=True)])

    @cached_property
    def amounts(self) -> tuple[Indices, Floats, Indices, Floats]:
        """The leaves with a fixed payoff of player 0, after a fold or for antes, and those with a showdown and stakes.

        If antes differ, a showdown also has a fixed payoff: that of a split pot.
        """
        over = {node: self.states[node] for node in np.flatnonzero(self.players == TERMINAL).tolist()}
        fixed = {node: self.rules.payoff(state) for node, state in over.items()}
        shown = [node for node, state in over.items() if state.folded < 0]
        paid = {node: amount for node, amount in fixed.items() if amount or over[node].folded >= 0}
        stakes = [self.rules.payoff(self.states[node], 1) - fixed[node] for node in shown]
        return np.array([*paid]), np.array([*paid.values()], float), np.array(shown), np.array(stakes, float)

    @property
    def flops(self) -> list[int]:
        """The nodes at which the flop is dealt while both players have chips left."""
        return [
            node
            for node, state in enumerate(self.states)
            if state.street == 1 and state.is_first and self.players[node] != TERMINAL
        ]

    @cached_property
    def form(self) -> PublicForm:
        """The model in public form."""
        folds, paid, shown, stakes = self.amounts
        eye = np.eye(len(CLASSES))
        leaves = [
            Leaves(folds, paid, FactoredPayoff(_together(), eye)),
            Leaves(shown, stakes, FactoredPayoff(_shown(), eye)),
        ]
        return _form(self.rules, self.players, self.parents, self.actions, leaves)


def _form(rules: Preflop, players: Indices, parents: Indices, actions: list[str], leaves: list[Leaves]) -> PublicForm:
    over = np.flatnonzero(np.asarray(players) == TERMINAL)
    dealt = Leaves(over, np.ones(len(over)), FactoredPayoff(_together(), np.eye(len(CLASSES))))
    return PublicForm(players, parents, actions, [CLASSES, CLASSES], leaves, scale=float(rules.stack), deals=[dealt])


@cache
def played_out(rules: Preflop) -> PlayedOut:
    """Return the model with its bets after the flop."""
    states, parents, actions = unrolled(rules.begun, lambda state: () if rules.is_over(state) else rules.moves(state))
    return PlayedOut(rules, states, np.array(parents), actions)


class _Learner:
    """Regret matching⁺ on the played-out model, with linear averaging and trembling hands before the flop.

    The general loop for public forms does not support trembling hands.
    """

    def __init__(self, tree: PlayedOut) -> None:
        self.tree = tree
        inner = np.flatnonzero(tree.players != TERMINAL)
        #: The inner node that precedes each node except the root, and the first node after each inner node.
        self.follows = np.searchsorted(inner, tree.parents[1:])
        self.firsts, self.counts = np.unique(self.follows, return_index=True, return_counts=True)[1:]
        self.movers = tree.players[tree.parents[1:]]
        depths = np.zeros(len(tree.parents), dtype=np.int64)
        for node, parent in enumerate(tree.parents[1:].tolist(), 1):
            depths[node] = depths[parent] + 1
        ends = np.searchsorted(depths, np.arange(1, depths[-1] + 2))
        #: The nodes of each level after the root, and the inner ones of the level before.
        self.levels = [
            (slice(first, last), inner[self.follows[first - 1] : self.follows[last - 2] + 1])
            for first, last in pairwise(ends.tolist())
        ]
        shape = (len(self.follows), len(CLASSES))
        self.regrets, self.sums = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
        self.together, self.shown = _together().astype(np.float32), _shown().astype(np.float32)
        self.trembles = np.array([0.0 if tree.states[node].street else _TREMBLE for node in inner.tolist()], np.float32)

    def play(self, numbers: Singles) -> Singles:
        """Return action probabilities in proportion to non-negative numbers, with 1 at the root."""
        total = np.add.reduceat(numbers, self.firsts, axis=0)[self.follows]
        share = np.divide(numbers, total, out=np.repeat(1 / self._among, numbers.shape[1], axis=1), where=total > 0.0)
        tremble = self.trembles[self.follows, None]
        played = np.ones((len(numbers) + 1, numbers.shape[1]), dtype=np.float32)
        played[1:] = (1.0 - tremble) * share + tremble / self._among
        return played

    @cached_property
    def _among(self) -> Singles:
        return self.counts[self.follows, None].astype(np.float32)

    def reach(self, played: Singles, player: int) -> Singles:
        """Return a player's reach of every node."""
        found = np.ones_like(played)
        own = np.where((self.movers == player)[:, None], played[1:], np.float32(1))
        for nodes, _ in self.levels:
            found[nodes] = found[self.tree.parents[nodes]] * own[nodes.start - 1 : nodes.stop - 1]
        return found

    def update(self, player: int, weight: float) -> None:
        """Let a player learn from the other player's strategy."""
        tree, played = self.tree, self.play(self.regrets)
        reach = self.reach(played, 1 - player)
        folds, paid, shown, stakes = tree.amounts
        sign = 1 if player == 0 else -1
        values = np.zeros_like(played)
        values[folds] = (sign * paid[:, None]).astype(np.float32) * _product(reach[folds], self.together)
        # Both matrices from the other player's view: the first is symmetric, and the second antisymmetric.
        values[shown] += stakes[:, None].astype(np.float32) * _product(reach[shown], self.shown.T)
        own = (self.movers == player)[:, None]
        weights = np.where(own, played[1:], np.float32(1))
        for nodes, above in reversed(self.levels):
            start = nodes.start - 1
            firsts = self.firsts[self.follows[start] : self.follows[nodes.stop - 2] + 1] - start
            values[above] = np.add.reduceat(values[nodes] * weights[start : nodes.stop - 1], firsts, axis=0)
        gained = np.maximum(self.regrets + values[1:] - values[tree.parents[1:]], 0)
        self.regrets = np.where(own, gained, self.regrets)
        self.sums += np.where(own, np.float32(weight) * self.reach(played, player)[1:], np.float32(0))


def _product(rows: Singles, matrix: Singles) -> Singles:
    """Return rows @ matrix, a few rows at a time, which keeps BLAS to one thread.

    BLAS threads wait for each other, which takes ten times as long on a busy machine.
    """
    return np.concatenate([rows[first : first + _ROWS] @ matrix for first in range(0, len(rows), _ROWS)])


@cache
def blueprint(rules: Preflop) -> Floats:
    """Return the blueprint of a model: the probability with which each class takes the action that leads to each node.

    Parameters
    ----------
    rules : Preflop
        With ``continuations=0``.

    Returns
    -------
    ndarray of float64, shape (num_nodes, 169)
        1 at the root.
    """
    learner = _Learner(played_out(rules))
    for iteration in range(_ITERATIONS):
        for player in (0, 1):
            learner.update(player, (iteration + 1.0) ** _POWER)
    learner.trembles[:] = 0.0  # averages already tremble
    return frozen(learner.play(learner.sums).astype(np.float64))


def _values(tree: PlayedOut, played: Floats, flop: int, chooser: int, bias: int) -> Floats:
    """Return player 0's payoff after a flop, times the probability of each pair of classes, shape (169, 169)."""
    form = tree.form
    inside = form.below(flop)
    reaches = np.ones((2, len(played), len(CLASSES)))
    for node in inside[form.players[inside] != TERMINAL].tolist():
        kids, mover = form.children[node], int(form.players[node])
        shares = played[kids]
        if mover == chooser:
            preferred = [tree.actions[kid] in _PREFERRED[bias] for kid in kids.tolist()]
            shares = shares * np.where(preferred, _BIAS, 1.0)[:, None]
            shares = shares / shares.sum(axis=0)
        reaches[:, kids] = reaches[:, node, None]
        reaches[mover, kids] *= shares
    folds, paid, shown, stakes = tree.amounts
    total = np.zeros((len(CLASSES), len(CLASSES)))
    for nodes, amounts, matrix in ((folds, paid, _together()), (shown, stakes, _shown())):
        here = np.isin(nodes, inside)
        mine, theirs = reaches[:, nodes[here]]
        total += matrix * ((mine * amounts[here, None]).T @ theirs)
    return total


def _played_out(rules: Preflop) -> PlayedOut:
    """Return the played-out form of the same model without continuations."""
    return played_out(replace(rules, continuations=0, chooser="bb"))


def _betting(rules: Preflop) -> tuple[PublicForm, dict[int, int], list[tuple[int, int, int]]]:
    """Return the tree of a model, without leaf payoffs, and the tree's relation to the played-out model.

    The relation is the index of each played-out node in the tree and, for each leaf with a continuation, the played-out
    flop, the continuation and the leaf.
    """
    tree, chooser = _played_out(rules), PREFLOP_SEATS.index(rules.chooser)
    # The street of each node's parent, or of the root itself.
    streets = [tree.states[max(parent, 0)].street for parent in tree.parents.tolist()]
    before = [node for node, street in enumerate(streets) if not (rules.continuations and street)]
    place = {node: number for number, node in enumerate(before)}
    players = [int(tree.players[node]) for node in before]
    parents = [place.get(int(tree.parents[node]), -1) for node in before]
    actions = [tree.actions[node] for node in before]
    paid = []
    for node in tree.flops:
        for bias in range(rules.continuations):
            at = place[node]
            if rules.continuations > 1:
                players[at], at = chooser, len(players)
                players.append(TERMINAL)
                parents.append(place[node])
                actions.append(CONTINUATIONS[bias])
            else:
                players[at] = TERMINAL
            paid.append((node, bias, at))
    form = PublicForm(players, parents, actions, [CLASSES, CLASSES], (), scale=float(rules.stack))
    return form, place, paid


def with_continuations(rules: Preflop) -> PublicForm:
    """Return the model that ends at the flop, where the chooser picks a continuation."""
    tree, (ended, place, continued) = _played_out(rules), _betting(rules)
    played, chooser = blueprint(tree.rules), PREFLOP_SEATS.index(rules.chooser)
    eye, leaves = np.eye(len(CLASSES)), []
    for flop, bias, at in continued:
        worth = FactoredPayoff(_values(tree, played, flop, chooser, bias), eye)
        leaves.append(Leaves(np.array([at]), np.ones(1), worth))
    folds, paid, shown, stakes = tree.amounts
    for nodes, amounts, matrix in ((folds, paid, _together()), (shown, stakes, _shown())):
        here = [number for number, node in enumerate(nodes.tolist()) if node in place]
        ends = np.array([place[int(nodes[number])] for number in here])
        leaves.append(Leaves(ends, amounts[here], FactoredPayoff(matrix, eye)))
    return _form(rules, ended.players, ended.parents, list(map(str, ended.actions)), leaves)


def betting_tree(rules: Preflop) -> PublicForm:
    """Return the public form of a model, without leaf payoffs."""
    return _betting(rules)[0]


def form_size(rules: Preflop) -> FormSize:
    """Return the size of a model's sequence form, from the betting alone."""
    (tree, _, paid), played = _betting(rules), len(_played_out(rules).states)
    blueprint_bytes = _PLAYED * len(CLASSES) * played if rules.continuations else 0
    taken = tree.sequence_form_bytes + blueprint_bytes + _PAID * len(CLASSES) ** 2 * len(paid)
    is_quick = played <= (_QUICK // 2 if rules.continuations else _QUICK)
    is_named = len(tree.players) * max(tree.num_sequences) <= _NAMED
    return FormSize(tree.num_sequences, tree.num_infosets, taken, is_quick=is_quick, names_functionals=is_named)
