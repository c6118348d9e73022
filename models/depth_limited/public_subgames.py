"""A game in public form, cut at its first public chance events: a trunk with values at its ends, and the subgames."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.factored import FactoredPayoff
from ...seqform.public_form import Boards, PublicForm
from ...seqform.public_payoff import Leaves
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import CHANCE, TERMINAL


def pair_payoffs(profile: PublicProfile, node: int) -> Floats:
    """Return player 0's payoff for each pair of private states from a public state on, if both follow a profile.

    Parameters
    ----------
    profile : PublicProfile
    node : int

    Returns
    -------
    ndarray of float64, shape (states of player 0, states of player 1)
        In payoff units, weighted by chance but not by the states' weights.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited.public_subgames import pair_payoffs
    >>> from treeplex.seqform.public_form import PublicForm
    >>> from treeplex.seqform.public_profile import PublicProfile
    >>> uniform = PublicProfile.uniform(PublicForm.from_rules(load_game("kuhn").rules))
    >>> round(float(pair_payoffs(uniform, 0).sum()), 6) == round(uniform.value(0), 6)
    True
    """
    form, below = profile.form, profile.form.below(node)
    reaches = {node: [np.ones(len(states)) for states in form.states]}
    for one in below.tolist():
        player = int(form.players[one])
        played = profile.behaviour(one) if player >= 0 else None
        for number, child in enumerate(form.children[one].tolist()):
            own = list(reaches[one])
            if played is not None:
                own[player] = own[player] * played[number]
            reaches[child] = own
    found = np.zeros(tuple(map(len, form.states)))
    for places, leaves in form.leaves_among(below):
        first, second = (np.stack([reaches[one][player] for one in below[places].tolist()]) for player in (0, 1))
        found += ((first.T * leaves.paid[0]) @ second) * leaves.factored.matrix.toarray()
    return found


@dataclass(frozen=True, eq=False)
class PublicCut:
    """A two-player zero-sum game in public form, cut at its first public chance events, for the player who responds.

    The trunk contains all public states before a public chance event. Each outcome of an event is the root of a
    subgame. Subgames in which the player decides nothing are not steps.

    Parameters
    ----------
    form : PublicForm
    player : int
        The player who responds.
    """

    form: PublicForm
    player: int

    @property
    def other(self) -> int:
        """The other player."""
        return 1 - self.player

    @cached_property
    def trunk(self) -> Indices:
        """The public states of the trunk and the chance events that end it, parents first."""
        form = self.form
        above = np.ones(len(form.players), dtype=np.bool_)
        for node, parent in enumerate(form.parents[1:].tolist(), 1):
            above[node] = above[parent] and form.players[parent] != CHANCE
        return np.flatnonzero(above)

    @cached_property
    def events(self) -> list[int]:
        """The chance events that end the trunk."""
        return [int(node) for node in self.trunk if self.form.players[node] == CHANCE]

    @cached_property
    def exits(self) -> list[int]:
        """The events after which the player decides."""
        return [node for node in self.events if (self.form.players[self.form.below(node)] == self.player).any()]

    @cached_property
    def played(self) -> list[int]:
        """The events after which somebody decides."""
        return [node for node in self.events if (self.form.players[self.form.below(node)] >= 0).any()]

    @property
    def is_last(self) -> bool:
        """Whether nobody decides after another public chance event, so that the subgames are those of a partition."""
        form = self.form
        later = np.flatnonzero(form.players == CHANCE)
        later = later[~np.isin(later, self.trunk)]
        return not any((form.players[form.below(node)] >= 0).any() for node in later.tolist())

    def trunk_form(self, payoffs: Mapping[int, Floats]) -> PublicForm:
        """Return the trunk as a game of its own, given player 0's payoff for each pair of states at each event."""
        form, nodes = self.form, self.trunk
        number = np.full(len(form.players), -1)
        number[nodes] = np.arange(len(nodes))
        leaves = [replace(leaves, nodes=places) for places, leaves in form.leaves_among(nodes)]
        leaves += [
            Leaves(number[[event]], np.ones(1), FactoredPayoff(pairs, np.eye(pairs.shape[1])))
            for event, pairs in payoffs.items()
        ]
        players = np.where(form.players[nodes] == CHANCE, TERMINAL, form.players[nodes])
        return PublicForm(
            players,
            np.append(-1, number[form.parents[nodes[1:]]]),
            [form.actions[node] for node in nodes.tolist()],
            form.states,
            leaves,
            form.weights,
            form.payoff_scale,
            boards=Boards(np.zeros(len(nodes)), [form.present[0]]),
        )

    def subgames(
        self, event: int, weights: tuple[Floats, Floats], kept: Mapping[int, Floats] | None = None
    ) -> "Subgames":
        """Return the subgames after an event as a game of its own.

        Parameters
        ----------
        event : int
        weights : two ndarray of float64
            Both players' reaches of the event, by private state.
        kept : mapping of int to ndarray, optional
            For each root, what the other player is paid per unit of its reach if it stops there, in each of its states:
            the gadget. Without it there is none.
        """
        form, other = self.form, self.other
        below = form.below(event)
        roots = form.children[event].tolist() if kept is not None else []
        first = 1 + 2 * len(roots)
        number = np.full(len(form.players), -1)
        number[below] = np.append(0, first + np.arange(len(below) - 1))
        gadgets = {root: 1 + 2 * place for place, root in enumerate(roots)}
        boards, places = np.unique(form.boards[below], return_inverse=True)
        if boards[places[0]] != boards[0]:
            raise AssertionError("the board before an event comes before those after it")
        parents = number[form.parents[below]]
        parents[0] = -1
        parents[[int(number[root]) - first + 1 for root in roots]] = list(gadgets.values())
        of_root = {int(root): int(place) for root, place in zip(below, places, strict=True)}
        extra = [(root, each) for root in roots for each in ("gadget", "stop")]
        leaves = [replace(each, nodes=number[below[at]]) for at, each in form.leaves_among(below)]
        for root, paid in (kept or {}).items():
            # The player has not acted here, so that its weights are known, and a constant payoff has the right mean.
            here = [form.present[form.boards[root]][player] for player in (0, 1)]
            total = weights[self.player][here[self.player]].sum()
            vectors = [np.zeros(len(states)) for states in form.states]
            vectors[self.player][here[self.player]] = 1.0 / total if total else 0.0
            vectors[other][here[other]] = paid[here[other]] if other == 0 else -paid[here[other]]
            payoff = FactoredPayoff(vectors[0][:, None], vectors[1][None])
            leaves.append(Leaves(np.array([gadgets[root] + 1]), np.ones(1), payoff))
        built = PublicForm(
            [
                CHANCE,
                *(other if kind == "gadget" else TERMINAL for _, kind in extra),
                *form.players[below[1:]].tolist(),
            ],
            [-1, *(0 if kind == "gadget" else gadgets[root] for root, kind in extra), *parents[1:].tolist()],
            [
                "",
                *(form.actions[root] if kind == "gadget" else "stop" for root, kind in extra),
                *("enter" if node in gadgets else form.actions[node] for node in below[1:].tolist()),
            ],
            form.states,
            leaves,
            weights,
            form.payoff_scale,
            boards=Boards(
                np.concatenate([places[:1], [of_root[root] for root, _ in extra], places[1:]]),
                [form.present[board] for board in boards.tolist()],
            ),
        )
        known = np.concatenate([below[:1], np.full(len(extra), -1), below[1:]])
        return Subgames(built, known, gadgets or {root: int(number[root]) for root in form.children[event].tolist()})


@dataclass(frozen=True, eq=False)
class Subgames:
    """The subgames after a chance event as a game in public form.

    Attributes
    ----------
    form : PublicForm
    known : ndarray of int
        For each node its node in the whole game; −1 for a gadget's.
    roots : dict
        For each root in the whole game, the node at which its subgame begins here: the gadget's decision, if any.
    """

    form: PublicForm
    known: Indices
    roots: dict[int, int]

    def behaviours(self, profile: PublicProfile) -> dict[int, Floats]:
        """Return the behaviour at all decisions of the whole game, by its nodes."""
        decided = self.form.decisions[self.known[self.form.decisions] >= 0]
        return {int(self.known[node]): profile.behaviour(node) for node in decided.tolist()}


@dataclass(frozen=True, eq=False)
class TrunkAccount:
    """The other player's payoffs against a plan that is fixed in the trunk, and the promises to it.

    Attributes
    ----------
    best : float
        The other player's payoff if it plays a best reply in the trunk too.
    modelled : float
        Its payoff if it follows the model in the trunk.
    promises : dict of int to ndarray
        For each root of a step, what each of the other player's states may earn there without a loss in the worst case.
    """

    best: float
    modelled: float
    promises: dict[int, Floats]

    @classmethod
    def of(
        cls, cut: PublicCut, plan: PublicProfile, earned: Mapping[int, Floats], model: PublicProfile
    ) -> "TrunkAccount":
        """Return the account of a plan.

        If the other player's action is not a best reply to the plan, the subgames after it may get worse by the gift
        plus the allowance from above. The subgames that follow share each allowance in proportion to the probability
        with which chance and the player reach them; :func:`~treeplex.models.depth_limited.gadgets.allowances` does the
        same on histories.

        Parameters
        ----------
        cut : PublicCut
        plan : PublicProfile
            The player's behaviour in the trunk.
        earned : mapping of int to ndarray
            The best-reply values of the other player's states at each root, per unit of its reach.
        model : PublicProfile
            The other player's behaviour in the trunk.
        """
        form, other, nodes = cut.form, cut.other, cut.trunk
        reach = {0: form.weights[cut.player]}
        for node in nodes.tolist():
            mover = int(form.players[node])
            played = plan.behaviour(node) if mover == cut.player else None
            for number, child in enumerate(form.children[node].tolist() if mover >= 0 else ()):
                reach[child] = reach[node] if played is None else reach[node] * played[number]
        size = len(form.states[other])
        best = {node: np.zeros(size) for node in nodes.tolist()}
        mass = {node: np.zeros(size) for node in nodes.tolist()}
        for places, leaves in form.leaves_among(nodes):
            paid = leaves.gradient(other, np.stack([reach[node] for node in nodes[places].tolist()]))
            for node, one in zip(nodes[places].tolist(), paid, strict=True):
                best[node] += one
        arrivals: dict[int, Floats] = {}
        for event in cut.events:
            for root in form.children[event].tolist():
                best[event] += earned[root]
                if event in cut.exits:
                    arrivals[root] = form.arrival(other, root, reach[event])
                    mass[event] += arrivals[root]
        followed = {node: np.array(one) for node, one in best.items()}
        decisions = [node for node in nodes.tolist() if form.players[node] >= 0]
        for node in reversed(decisions):
            after = form.children[node].tolist()
            bests, masses, follows = (np.stack([each[child] for child in after]) for each in (best, mass, followed))
            if form.players[node] == other:
                best[node], mass[node] = bests.max(axis=0), masses.max(axis=0)
                followed[node] = (model.behaviour(node) * follows).sum(axis=0)
            else:
                best[node], mass[node], followed[node] = bests.sum(axis=0), masses.sum(axis=0), follows.sum(axis=0)
        rates = {0: np.zeros(size)}
        for node in decisions:
            for child in form.children[node].tolist():
                rates[child] = rates[node]
                if form.players[node] == other:
                    allowed = best[node] - best[child] + rates[node] * mass[node]
                    rates[child] = np.divide(allowed, mass[child], out=np.zeros(size), where=mass[child] > 0.0)
        promises = {
            root: earned[root] + arrivals[root] * rates[event]
            for event in cut.exits
            for root in form.children[event].tolist()
        }
        weights = form.weights[other]
        return cls(float(weights @ best[0]), float(weights @ followed[0]), promises)
