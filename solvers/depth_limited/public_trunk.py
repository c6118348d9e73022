"""Regret minimisation on the trunk of a game in public form, with values or played subgames at its ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...models.depth_limited.public_subgames import PublicCut, pair_payoffs
from ...seqform.arrays import Floats, Indices
from ...seqform.cut_form import beginning
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.public_form import Boards, PublicForm
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import TERMINAL
from ..iteration import NEVER, Stepper
from ..methods.rules import CFR_PLUS, Rule
from ..public.exits import PlayedPart

#: The iterations before the first check of a loop on the trunk.
_FIRST_CHECK = 32


class Below(Protocol):
    """The rest of a game below the ends of a trunk."""

    def values(self, player: int, done: int, ranges: Sequence[Floats]) -> Floats:
        """Return a player's values at the ends, shape (ends, states), given both players' reaches of them.

        Parameters
        ----------
        player : int
        done : int
            The number of earlier updates of the player.
        ranges : two ndarray of float64, shape (ends, states)
        """
        ...


@dataclass(frozen=True, eq=False)
class Subtrees:
    """The subgames after the ends of a trunk, as a part of a cut game.

    Parameters
    ----------
    whole : PublicForm
    events : sequence of int
        The ends.
    """

    whole: PublicForm
    events: Sequence[int]

    @cached_property
    def known(self) -> Indices:
        """For each node its node in the whole game; −1 for those of the beginning."""
        count = 1 + 2 * len(self.events)
        return np.concatenate([np.full(count, -1), *(self.whole.below(event)[1:] for event in self.events)])

    def form(self) -> PublicForm:
        """Return them in public form, after the nodes of :func:`~treeplex.seqform.cut_form.beginning`."""
        whole, known = self.whole, self.known
        players, parents, actions = beginning(len(self.events))
        first = len(players)
        number = np.full(len(whole.players), -1)
        number[known[first:]] = np.arange(first, len(known))
        number[list(self.events)] = 1 + len(self.events) + np.arange(len(self.events))
        later = known[first:]
        boards, places = np.unique(np.append(0, whole.boards[later]), return_inverse=True)
        return PublicForm(
            [*players, *whole.players[later].tolist()],
            [*parents, *number[whole.parents[later]].tolist()],
            [*actions, *(whole.actions[node] for node in later.tolist())],
            whole.states,
            [replace(leaves, nodes=first + at) for at, leaves in whole.leaves_among(later)],
            scale=whole.payoff_scale,
            boards=Boards(np.append(np.zeros(first), places[1:]), [whole.present[board] for board in boards.tolist()]),
        )

    def trunk_states(self, player: int) -> Indices:
        """Return the private states in the trunk, which are the same."""
        return np.arange(len(self.whole.states[player]))


class PlayedBelow:
    """Subgames that learn together with the trunk: the exact value function.

    Parameters
    ----------
    form : PublicForm
        The whole game.
    events : sequence of int
    rule : Rule
    number : type
        Of regrets and averages.
    """

    def __init__(self, form: PublicForm, events: Sequence[int], rule: Rule, number: Any) -> None:
        self._subtrees = Subtrees(form, events)
        part: Any = self._subtrees
        self._part = PlayedPart(part, len(events), number, rule, bool(rule.prediction), slim=False)
        self._number = number

    def values(self, player: int, done: int, ranges: Sequence[Floats]) -> Floats:
        """Update a player in the subgames, and return its values; see :class:`Below`."""
        found: Floats = self._part.call("update", (player, done, ranges[1 - player].astype(self._number)))
        return found[:, : len(self._subtrees.whole.states[player])]

    def saved(self) -> dict[str, Any]:
        """Return a copy of the state."""
        return {name: np.array(array) for name, array in self._part.saved().items()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore a state."""
        self._part.restore(saved)

    def solve(self, ranges: Sequence[Floats], iterations: int) -> tuple[Floats, Floats]:
        """Return both players' best-reply values against the other's average, after iterations at fixed ranges."""
        given = [one.astype(self._number) for one in ranges]
        for done in range(iterations):
            for player in (0, 1):
                self._part.call("update", (player, done, given[1 - player]))
        first, second = (self._part.call("evaluate", (player, True, ranges[1 - player])) for player in (0, 1))
        return first[:, : ranges[0].shape[1]], second[:, : ranges[1].shape[1]]

    def behaviours(self, player: int) -> dict[int, Floats]:
        """Return a player's average behaviour, by node of the whole game."""
        form, kernel, state = self._part.kernel.layout.form, self._part.kernel, self._part.state
        nodes = np.flatnonzero((form.players == player) & (self._subtrees.known >= 0)).tolist()
        return {int(self._subtrees.known[node]): kernel.behaviour(state, node) for node in nodes}


class TrunkPlay(Stepper):
    """Both players' regrets in the trunk of a response, and what follows its ends.

    The other player follows the model with probability p and is free otherwise. The player, and the ends of the trunk,
    see the sum of both reaches.

    Parameters
    ----------
    cut : PublicCut
    model : PublicProfile
    p : float
    below : Below
    rule : Rule
        Without prediction.
    fixed : mapping of int to ndarray, optional
        The behaviour at nodes where nobody learns.
    judge : callable, optional
        Returns the error of the averages; without it, only limits end the run.
    """

    first_step, may_break_off = 1, True

    def __init__(
        self,
        cut: PublicCut,
        model: PublicProfile,
        p: float,
        below: Below,
        rule: Rule,
        fixed: Mapping[int, Floats] | None = None,
        judge: Callable[["TrunkPlay"], float] | None = None,
    ) -> None:
        form, uniform = cut.form, PublicProfile.uniform(cut.form)
        self.cut, self.p, self.below, self._rule = cut, p, below, rule
        self._fixed, self._judge = fixed or {}, judge
        self.next_check = NEVER if judge is None else _FIRST_CHECK
        self._done = 0
        self._nodes = cut.trunk.tolist()
        self._decisions = [node for node in self._nodes if form.players[node] >= 0]
        self._model = {node: model.behaviour(node) for node in self._decisions if form.players[node] == cut.other}
        self._ends = cut.played
        #: Events without decisions are payoffs of pairs of states.
        self._pairs = {event: pair_payoffs(uniform, event) for event in cut.events if event not in self._ends}
        self._leaves = list(form.leaves_among(cut.trunk))
        self._played = {node: self._fixed.get(node, uniform.behaviour(node)) for node in self._decisions}
        self._regrets = {node: np.zeros_like(one) for node, one in self._played.items()}
        self._sums = {node: np.zeros_like(one) for node, one in self._played.items()}

    @property
    def iterations(self) -> int:
        """The number of iterations, each of which updates both players."""
        return self._done

    def step(self, iterations: int) -> None:
        """Update both players in turn."""
        for _ in range(iterations):
            for player in (0, 1):
                self._update(player)
            self._done += 1

    def check(self) -> float:
        """Return the error of the averages; infinite if nobody judges it."""
        return np.inf if self._judge is None else self._judge(self)

    def averages(self, player: int) -> dict[int, Floats]:
        """Return a player's average behaviour in the trunk, not normalised, by node."""
        return {node: self._sums[node] for node in self._decisions if self.cut.form.players[node] == player}

    def _reaches(self, played: Mapping[int, Floats], player: int) -> dict[int, Floats]:
        form = self.cut.form
        found = {0: form.weights[player]}
        for node in self._decisions:
            own = form.players[node] == player
            for number, child in enumerate(form.children[node].tolist()):
                found[child] = found[node] * played[node][number] if own else found[node]
        return found

    def _update(self, player: int) -> None:
        form, cut, other = self.cut.form, self.cut, 1 - player
        reaches = [self._reaches(self._played, each) for each in (0, 1)]
        weight = self._rule.weight(self._done + 1)
        for node in self._decisions:
            if form.players[node] == other:
                self._sums[node] += weight * reaches[other][node] * self._played[node]
        free, held = reaches[cut.other], self._reaches(self._model, cut.other)
        reaches[cut.other] = {node: (1.0 - self.p) * free[node] + self.p * held[node] for node in self._nodes}
        against = reaches[other]
        values = {node: np.zeros(len(form.states[player])) for node in self._nodes}
        for places, leaves in self._leaves:
            at = [self._nodes[place] for place in places.tolist()]
            for node, paid in zip(at, leaves.gradient(player, np.stack([against[node] for node in at])), strict=True):
                values[node] += paid
        for event, pairs in self._pairs.items():
            values[event] = pairs @ against[event] if player == 0 else -(against[event] @ pairs)
        if self._ends:
            ranges = [np.stack([each[event] for event in self._ends]) for each in reaches]
            values |= dict(zip(self._ends, self.below.values(player, self._done, ranges), strict=True))
        for node in reversed(self._decisions):
            after = np.stack([values[child] for child in form.children[node].tolist()])
            own = form.players[node] == player
            values[node] = (self._played[node] * after if own else after).sum(axis=0)
            if own and node not in self._fixed:
                self._learn(node, after - values[node])

    def _learn(self, node: int, regrets: Floats) -> None:
        rule, known = self._rule, self._regrets[node]
        known *= np.where(known > 0.0, *rule.discounts(self._done))
        known += regrets
        np.maximum(known, rule.floor, out=known)
        self._played[node] = PublicProfile.normalised(np.maximum(known, 0.0)[None], np.array([node]))[0]


class LearnedBelow:
    """A learned value function at the ends of a trunk.

    Parameters
    ----------
    value : object
        With a method ``at_ends``; see :class:`~treeplex.solvers.depth_limited.learned_values.LearnedValue`.
    states : sequence of int
        The indices of the ends in the public tree.
    """

    def __init__(self, value: Any, states: Sequence[int]) -> None:
        self._value, self._states = value, states

    def values(self, player: int, done: int, ranges: Sequence[Floats]) -> Floats:
        """Return a player's values; see :class:`Below`."""
        found: Floats = self._value.at_ends(self._states, ranges)[player]
        return found


def states_of(form: PublicForm, nodes: Sequence[int]) -> list[int]:
    """Return the indices of nodes among the public states of the form's public tree."""
    found: list[int] = (np.cumsum(form.players != TERMINAL) - 1)[list(nodes)].tolist()
    return found


def street_examples(
    game: Game, count: int, iterations: int, drawn: Callable[[tuple[int, int]], Floats]
) -> tuple[list[int], list[Floats], list[Floats], float]:
    """Draw ranges at the ends of the first street of a game in public form, and solve what follows.

    Parameters
    ----------
    game : Game
    count, iterations : int
    drawn : callable
        Returns random ranges of a shape (ends, private states), whose rows sum to 1.

    Returns
    -------
    states : list of int
        The indices of the ends in the public tree.
    ranges, values : list of two ndarrays, shape (count, ends, private states)
    error : float
        The mean gap of an example, divided by the number of ends.

    Raises
    ------
    UnsupportedProblemError
        If nobody decides after a public chance event, or the game is not in public form.
    """
    form = game.public_form if game.rules is None else None
    ends = [] if form is None or not form.is_whole else PublicCut(form, 0).played
    if not ends or form is None:
        raise UnsupportedProblemError(f"{game.spec} is not a game in public form with decisions after a public card")
    ranges: tuple[list[Floats], list[Floats]] = ([], [])
    values: tuple[list[Floats], list[Floats]] = ([], [])
    gaps = []
    below = PlayedBelow(form, ends, CFR_PLUS, np.float64)
    first = below.saved()
    for _ in range(count):
        given = [drawn((len(ends), len(states))) for states in form.states]
        below.restore(first)
        found = below.solve(given, iterations)
        gaps.append(sum(float((one * worth).sum()) for one, worth in zip(given, found, strict=True)))
        for player in (0, 1):
            ranges[player].append(given[player])
            values[player].append(found[player])
    error = float(np.mean(gaps)) / len(ends)
    return states_of(form, ends), [np.stack(one) for one in ranges], [np.stack(one) for one in values], error
