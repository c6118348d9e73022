"""Walks over a game's rules, state by state, and the infosets that they meet, without enumerating the game.

A walk changes only the random numbers, and adds infosets that it is the first to meet. It returns an :class:`Update`,
so that an interrupted walk leaves no trace in regrets and averages. Random numbers are drawn, and numbers are added, in
the order of the compiled samplers, so that both give the same results bit for bit.
"""

import math
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

from ...models.preferences import Prefer, PreferStrategy
from ...seqform.checks import is_whole
from ...seqform.errors import GameTooLargeError, ImperfectRecallError, InvalidGameError, shown
from ...seqform.labels import A_LABEL, has_order, is_label, listed
from ...seqform.limits import now
from ...seqform.rules import CHANCE, PROBABILITY_TOLERANCE, TERMINAL, Rules, outcomes_of
from ..methods import MCCFR
from .splitmix import SplitMix64, cumulative

#: Bytes of an infoset: its dictionary entry, its number, a reference to its actions, and spare room of arrays.
_INFOSET = 130
#: Bytes of a new set of actions.
_MENU = 100
#: Bytes of a sequence per array of floats: arrays grow by an eighth.
_FLOAT = 9
#: Histories between two readings of the clock, and the largest length of a history without a leaf.
_LOOK, _LONGEST = 256, 1_000_000
#: The number of cached chance distributions.
_KEPT = 10_000
#: Samples are divided by the probability of a player's own choices. Sums of quotients up to this stay finite.
LARGEST_WEIGHT = 1e280
#: Why outcome sampling cannot continue.
OVERFLOW = (
    f"plays are too long for outcome sampling: a play was sampled with a probability below {1 / LARGEST_WEIGHT:g}, and "
    "its weight, the inverse, exceeds the range of floats; use another method or a shorter game"
)


class LaysOut(Protocol):
    """An object that is notified of infosets that are met for the first time."""

    def lay_out(self, table: "Infosets", number: int, label: Hashable, actions: Sequence[Hashable]) -> None:
        """Record an infoset; can be repeated after Ctrl-C."""


class Infosets:
    """The infosets of one player met so far, numbered in the order in which they were met, with their data.

    Sequences are numbered in order from 0, those of an infoset consecutively; -1 is the empty sequence.

    Parameters
    ----------
    player : int
    num_players : int
    with_baselines : bool
        Whether there are baselines of every player's value after each sequence.
    preferences : sequence of Prefer or PreferStrategy, optional
        The preferences, which add a degree to every sequence, and a threshold and a count of visits to every infoset.
    vulnerability : float
        The vulnerability of preferences without their own.

    Attributes
    ----------
    numbers : dict
        From labels to infosets.
    starts, parents : array of int
        The first sequence of each infoset, and its parent sequence.
    menus : list of tuple
        The actions of each infoset.
    regrets, sums : array of float
        For each sequence: cumulative sampled regrets, and sums of policies.
    baselines : list of array of float
        One per player.
    degrees, thresholds, visits : array of float
        Empty without preferences.
    size : int
        The approximate memory of these data, in bytes.
    """

    def __init__(
        self,
        player: int,
        num_players: int,
        with_baselines: bool = False,
        preferences: Sequence[Prefer | PreferStrategy] | None = None,
        vulnerability: float = 0.0,
    ) -> None:
        self.player = player
        self.numbers: dict[Hashable, int] = {}
        self.menus: list[tuple[Hashable, ...]] = []
        self._menus: dict[tuple[Hashable, ...], tuple[Hashable, ...]] = {}  # equal menus are stored once
        self.starts, self.parents = array("q", [0]), array("q")
        self.regrets, self.sums = array("d"), array("d")
        self.baselines = [array("d") for _ in range(num_players if with_baselines else 0)]
        self.degrees, self.thresholds, self.visits = array("d"), array("d"), array("d")
        self.prefers = preferences is not None
        self.matched: set[int] = set()  # the preferences that matched an infoset
        self.costs: LaysOut | None = None  # adds the costs of constraints at an infoset
        self.size = 0
        self._preferences, self._vulnerability = preferences or (), vulnerability

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def num_sequences(self) -> int:
        """Number of sequences, not counting the empty one."""
        return self.starts[len(self)]

    def add(self, label: Hashable, actions: Iterable[Hashable], parent: int) -> int:
        """Add a new infoset, and return its number.

        Raises
        ------
        InvalidGameError
            If it has no actions, or a repeated action, or a label is not hashable.
        """
        if not has_order(actions):
            listed(actions, f"infoset {shown(label)} of player {self.player} has actions", verb="return")
        menu = tuple(actions)
        count = len(menu)
        if not is_label(label):
            raise InvalidGameError(f"player {self.player} has infoset {shown(label)}, expected {A_LABEL}")
        if not count or not is_label(menu) or len(set(menu)) < count:
            raise InvalidGameError(
                f"infoset {shown(label)} of player {self.player} has actions {shown(menu)}, expected distinct labels, "
                f"each {A_LABEL}"
            )
        number = len(self.numbers)
        zeros = [0.0] * count
        # The start is added first and the number last: if Ctrl-C interrupts this, the infoset counts as not met.
        self._cut(number)
        self.starts.append(self.starts[-1] + count)
        self.parents.append(parent)
        self.regrets.extend(zeros)
        self.sums.extend(zeros)
        for baselines in self.baselines:
            baselines.extend(zeros)
        if self.prefers:
            self._lay_out(label, menu, parent < 0)
        if self.costs is not None:
            self.costs.lay_out(self, number, label, menu)
        own = 0 if menu in self._menus else _MENU + sys.getsizeof(menu)
        self.menus.append(self._menus.setdefault(menu, menu))
        floats = 2 + len(self.baselines) + self.prefers
        self.size += _INFOSET + sys.getsizeof(label) + own + _FLOAT * floats * count
        self.numbers[label] = number
        return number

    def fixed_starts(self) -> Any:
        """Return the first sequences of the infosets met so far, which later infosets do not change."""
        return self.starts[: len(self) + 1]

    def scratch(self, values: Sequence[float] = ()) -> Any:
        """Return a copy of values as an array."""
        return array("d", values)

    def refuse(self, number: int, label: Hashable, actions: Iterable[Hashable], parent: int) -> NoReturn:
        """Raise the error for an infoset with other actions, or another past, than when it was first met.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
        """
        menu = tuple(actions)
        if menu != self.menus[number]:
            raise InvalidGameError(
                f"infoset {shown(label)} of player {self.player} has actions {shown(menu)}, but had "
                f"{shown(self.menus[number])} before, expected the same actions throughout an infoset"
            )
        raise ImperfectRecallError(
            f"infoset {shown(label)} of player {self.player} has imperfect recall: the player's own past differs "
            "between two histories in it; give them different infosets"
        )

    def _lay_out(self, label: Hashable, menu: tuple[Hashable, ...], is_first: bool) -> None:
        """Append the preference data of an infoset; if several preferences match, the last one counts."""
        degrees, threshold = [1.0] * len(menu), 0.0
        for index, preference in enumerate(self._preferences):
            answer = preference.degrees(self.player, label, menu, is_first)
            if answer is not None:
                own = preference.vulnerability
                degrees, threshold = answer, self._vulnerability if own is None else own
                self.matched.add(index)
        self.degrees.extend(degrees)
        self.thresholds.append(threshold)
        self.visits.append(0.0)

    def _cut(self, number: int) -> None:
        """Remove the remains of an interrupted addition."""
        if len(self.starts) == number + 1:
            return
        del self.starts[number + 1 :], self.parents[number:], self.menus[number:]
        rows: list[Any] = [self.regrets, self.sums, *self.baselines, *([self.degrees] if self.prefers else [])]
        for row in rows:
            del row[self.starts[-1] :]
        del self.thresholds[number:], self.visits[number:]


class OutOfTimeError(Exception):
    """The time limit was reached during a walk."""


class OutOfMemoryError(Exception):
    """The infosets met so far use up the memory budget."""


class WeightOverflowError(Exception):
    """The weight of a sample exceeds the range of floats; see :data:`OVERFLOW`."""


#: Arrays, the first place in each, and the values to write from there on.
Writes = list[tuple[Any, int, list[float]]]


class Update(NamedTuple):
    """The changes of one turn of a player: new values, so that writing them twice is harmless."""

    player: int
    writes: Writes
    touched: int  # histories, including earlier ones
    turns: float  # of the player, including this one
    random_state: int  # after the turn


class Settings(NamedTuple):
    """The sampling scheme of a :class:`~treeplex.solvers.methods.rules.SamplingRule`, and the local rule."""

    outcome: bool
    simple: bool
    floor: float
    exploration: float
    rate: float | None
    greedy: bool = False
    conditional: bool = False

    @classmethod
    def of(cls, method: MCCFR, num_players: int) -> "Settings":
        """Return the settings of a method for a number of players."""
        rule, bias = method.sampling_rule(num_players), method.bias
        return cls(
            outcome=rule.sampling == "outcome",
            simple=rule.averaging == "simple",
            floor=rule.floor,
            exploration=rule.exploration if rule.sampling == "outcome" else 0.0,
            rate=rule.rate,
            greedy=bias is not None and bias.greedy,
            conditional=bias is not None and bias.is_conditional,
        )


class Walker:
    """Walks over the rules of a game.

    Parameters
    ----------
    rules : Rules
    tables : sequence of Infosets
        One per player.
    settings : Settings
    numbers : SplitMix64
    look : callable, optional
        Called from time to time after new infosets; it may raise :class:`OutOfMemoryError`.
    fixed : mapping, optional
        For each player who does not learn, the function from an infoset and its actions to probabilities.

    Attributes
    ----------
    turns : list of float
        The number of walks of each player.
    deadline : float
        The time at which to interrupt, by ``time.perf_counter``.
    payoff_ranges : list of tuple of float
        Each player's lowest and highest payoff that walks have met.
    """

    def __init__(
        self,
        rules: Rules,
        tables: Sequence[Infosets],
        settings: Settings,
        numbers: SplitMix64,
        look: Callable[[], None] | None = None,
        fixed: Mapping[int, Callable[[Hashable, Sequence[Hashable]], list[float]]] | None = None,
    ) -> None:
        self.rules, self.tables, self.settings, self.numbers = rules, tables, settings, numbers
        #: The state of the random numbers after the last turn that was applied: a turn that is lost leaves no trace.
        self.random_state = numbers.state
        self._outcomes_at = outcomes_of(rules)
        self.turns = [0.0] * len(tables)
        self.deadline = math.inf
        self.payoff_ranges = [(math.inf, -math.inf)] * len(tables)
        self._fixed = fixed or {}
        self._root = rules.initial_state()
        self._look, self._met = look, 0
        self._chances: dict[Any, list[float]] = {}
        self._players = frozenset(range(len(tables)))

    def turn(self, player: int, before: int = 0, averages: bool = True) -> Update:
        """Do one player's turn in an iteration, and return the changes.

        Parameters
        ----------
        player : int
        before : int
            The number of histories touched before this turn.
        averages : bool
            Whether policies are added to averages.

        Raises
        ------
        OutOfTimeError, OutOfMemoryError, WeightOverflowError
        InvalidGameError
            If the rules are not valid; the message shows the state.
        """
        self.numbers.state = self.random_state
        writes: Writes = []
        touched = before + self._walk(player, averages, writes)
        return Update(player, writes, touched, self.turns[player] + 1.0, self.numbers.state)

    def _walk(self, player: int, averages: bool, writes: Writes) -> int:
        """Walk for one player; return how many histories it touched."""
        touched, settings = 0, self.settings
        averaged = (player + 1) % len(self.tables) if averages and settings.simple else player
        if averages and not settings.simple:
            touched += self._average(player, writes)
        return touched + (self._outcome if settings.outcome else self._external)(player, averaged, writes)

    def _add_regrets(self, own: Infosets, start: int, found: Sequence[float], writes: Writes) -> None:
        """Add the results of a walk at an infoset to its regrets."""
        floor, regrets = self.settings.floor, own.regrets[start : start + len(found)]
        writes.append((own.regrets, start, [max(old + new, floor) for old, new in zip(regrets, found, strict=True)]))

    def apply(self, update: Update) -> None:
        """Write the changes of a turn."""
        for target, place, values in update.writes:
            target[place : place + len(values)] = array("d", values)
        self.turns[update.player], self.random_state = update.turns, update.random_state

    def play(self) -> list[float]:
        """Simulate one game between fixed players, and return all payoffs.

        Raises
        ------
        InvalidGameError
            If the rules are not valid; the message shows the state.
        InvalidStrategyError
            If a strategy has other actions at an infoset.
        """

        def move(who: int, state: Any) -> Hashable:
            _, menu, policy = self._play(who, state, -1)
            return menu[self._chosen(policy, 0.0)]

        leaf, _ = self._path(self._root, move)
        return [self._payoff(leaf, player) for player in range(len(self.tables))]

    # Policies.

    def policy(self, table: Infosets, number: int) -> list[float]:
        """Return the policy at an infoset by the local rule."""
        start, stop = table.starts[number], table.starts[number + 1]
        regrets = table.regrets[start:stop]
        if not table.prefers:
            return in_proportion([max(0.0, regret) for regret in regrets])
        least = table.thresholds[number]
        least *= table.visits[number] if self.settings.conditional else self.turns[table.player]
        degrees = table.degrees[start:stop]
        weights = [degree * max(regret - least, 0.0) for degree, regret in zip(degrees, regrets, strict=True)]
        most = max(weights)
        if not most > 0.0:
            return in_proportion([degree - 1.0 for degree in degrees])
        if self.settings.greedy:
            return one_hot(weights)
        return in_proportion(weights)

    def _play(self, who: int, state: Any, parent: int) -> tuple[int, tuple[Hashable, ...], list[float]]:
        """Return the number of the infoset where a player moves (-1 for a fixed policy), its actions and the policy."""
        fixed = self._fixed.get(who)
        if fixed is not None:
            menu = tuple(self.rules.actions(state))
            return -1, menu, fixed(self.rules.infoset(state), menu)
        number, menu = self._meet(who, state, parent)
        return number, menu, self.policy(self.tables[who], number)

    def _meet(self, who: int, state: Any, parent: int) -> tuple[int, tuple[Hashable, ...]]:
        """Return the number of the infoset where a player moves, and its actions; it may be a new one."""
        table = self.tables[who]
        label, labels = self.rules.infoset(state), self.rules.actions(state)
        try:
            number = table.numbers.get(label)
            if number is not None:
                menu = table.menus[number]
                if (labels != menu and tuple(labels) != menu) or table.parents[number] != parent:
                    table.refuse(number, label, labels, parent)
                return number, menu
            number = table.add(label, labels, parent)
        except TypeError:
            raise InvalidGameError(
                f"the state {shown(state)} has infoset {shown(label)} and actions {shown(labels)}, expected a hashable "
                "label and a sequence of hashable labels"
            ) from None
        self._met += 1
        if self._met >= 1024 and self._look is not None:
            self._met = 0
            self._look()
        return number, table.menus[number]

    def _chosen(self, policy: list[float], uniform: float) -> int:
        """Return a random action of a policy mixed with the uniform policy."""
        number, chosen = self.numbers.random(), 0
        if uniform:
            each = uniform / len(policy)
            policy = [weight * (1.0 - uniform) + each for weight in policy]
        for action, probability in enumerate(policy):
            if probability > 0.0:
                chosen = action  # with round-off, the last possible action
                if number < probability:
                    break
                number -= probability
        return chosen

    def _after_chance(self, state: Any) -> Any:
        """Return the state after a random outcome of chance."""
        outcomes = self._outcomes_at(state)
        if outcomes.__class__ is not list and outcomes.__class__ is not tuple:
            outcomes = listed(outcomes, f"the state {shown(state)} has chance outcomes", verb="return")
        number = self.numbers.random()
        try:
            first = outcomes[0][1]
            chances = [chance for _, chance in outcomes]
            # Usually the probabilities are the same objects again. Their sums are cached, because fractions are slow.
            if all(chance is first for chance in chances):
                key = (first, len(chances))
                sums = self._chances.get(key)
                if sums is None:
                    if len(self._chances) >= _KEPT:
                        self._chances.clear()
                    sums = self._chances[key] = self._checked_sums(state, [float(chance) for chance in chances])
            else:
                sums = self._checked_sums(state, [float(chance) for chance in chances])
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            if isinstance(error, InvalidGameError):
                raise
            raise InvalidGameError(
                f"the state {shown(state)} has chance outcomes {shown(outcomes)}, expected pairs of a label and a "
                "number"
            ) from None
        return self.rules.child(state, outcomes[bisect_right(sums, number)][0])

    def _checked_sums(self, state: Any, chances: list[float]) -> list[float]:
        if min(chances) < 0.0 or not abs(sum(chances) - 1.0) <= PROBABILITY_TOLERANCE:
            raise InvalidGameError(
                f"the state {shown(state)} has chance probabilities {shown(chances)}, expected numbers of at least 0 "
                "that sum to 1"
            )
        return cumulative(chances)

    def _payoff(self, state: Any, player: int) -> float:
        payoffs = self.rules.payoffs(state)
        try:
            value = float(payoffs[player])
            if len(payoffs) == len(self.tables) and math.isfinite(value):
                low, high = self.payoff_ranges[player]
                if not low <= value <= high:
                    self.payoff_ranges[player] = min(low, value), max(high, value)
                return value
        except (TypeError, ValueError, IndexError, KeyError, OverflowError):
            pass
        raise InvalidGameError(
            f"the leaf {shown(state)} has payoffs {shown(payoffs)}, expected {len(self.tables)} finite numbers, one "
            "per player"
        )

    def _mover(self, state: Any, who: Any) -> int:
        """Return a player's number, or raise an error if it is invalid."""
        if not is_whole(who) or who not in self._players:
            raise InvalidGameError(
                f"the state {shown(state)} has player {shown(who)}, expected 0 to {len(self.tables) - 1}, chance "
                f"({CHANCE}) or the end ({TERMINAL})"
            )
        return int(who)

    def _pause(self, moves: int) -> None:
        """Check the clock, and the number of moves since the last leaf."""
        if now() >= self.deadline:
            raise OutOfTimeError
        if moves > _LONGEST:
            raise GameTooLargeError(f"a history has more than {_LONGEST:,} moves: every history must end")

    # Walks.

    def _path(self, state: Any, move: Callable[[int, Any], Hashable], touched: int = 1) -> tuple[Any, int]:
        """Walk down to a leaf by actions from ``move``; return the leaf and the number of histories touched."""
        rules, players, begun = self.rules, self._players, touched
        player_at, child = rules.player, rules.child
        while True:
            who = player_at(state)
            if who == TERMINAL:
                return state, touched
            if who == CHANCE:
                state = self._after_chance(state)
            else:
                if who.__class__ is not int or who not in players:
                    who = self._mover(state, who)
                state = child(state, move(who, state))
            touched += 1
            if not touched % _LOOK:
                self._pause(touched - begun)

    def _external(self, player: int, averaged: int, writes: Writes) -> int:
        """Walk all actions of a player and one of each other player; return the number of histories touched."""
        play = self._play
        own, other = self.tables[player], self.tables[averaged]
        average = averaged != player
        sums: dict[int, list[float]] = {}
        # A frame: the state, the infoset, its actions and policy, the values found so far, all players' last sequences.
        frames: list[tuple[Any, int, tuple[Hashable, ...], list[float], list[float], list[int]]] = []
        lasts = [-1] * len(self.tables)

        def move(who: int, state: Any) -> Hashable:
            number, menu, policy = play(who, state, lasts[who])
            start = self.tables[who].starts[number] if number >= 0 else -1
            action = 0
            if who == player:
                frames.append((state, number, menu, policy, [], lasts.copy()))
            else:
                if average and who == averaged:
                    held = sums.get(start)
                    if held is None:
                        held = sums[start] = other.sums[start : start + len(menu)].tolist()
                    for place, weight in enumerate(policy):
                        held[place] += weight
                action = self._chosen(policy, 0.0)
            lasts[who] = start + action
            return menu[action]

        state, touched = self._root, 1
        while True:
            leaf, touched = self._path(state, move, touched)
            value = self._payoff(leaf, player)
            while frames:  # back up to an action that has not been walked
                above, number, menu, policy, values, before = frames[-1]
                values.append(value)
                action = len(values)
                start = own.starts[number]
                if action < len(menu):
                    lasts[:] = before
                    lasts[player] = start + action
                    state = self.rules.child(above, menu[action])
                    touched += 1
                    break
                value = 0.0
                for weight, each in zip(policy, values, strict=True):
                    value += weight * each
                self._add_regrets(own, start, [each - value for each in values], writes)
                if own.prefers:
                    writes.append((own.visits, number, [own.visits[number] + 1.0]))
                frames.pop()
            else:
                writes += [(other.sums, start, held) for start, held in sums.items()]
                return touched

    def _outcome(self, player: int, averaged: int, writes: Writes) -> int:
        """Walk one path, mixing a player's policy with the uniform one; return the number of histories touched."""
        play, settings = self._play, self.settings
        exploration, rate = settings.exploration, settings.rate
        average = averaged != player
        # A frame: the mover, the infoset, the policy, the action, the probability of the player's own sampling.
        frames: list[tuple[int, int, list[float], int, float]] = []
        lasts = [-1] * len(self.tables)
        reach = 1.0

        def move(who: int, state: Any) -> Hashable:
            nonlocal reach
            number, menu, policy = play(who, state, lasts[who])
            here, table = reach, self.tables[who]
            start = table.starts[number] if number >= 0 else -1
            if who == player:
                action = self._chosen(policy, exploration)
                reach *= policy[action] * (1.0 - exploration) + exploration / len(policy)
                if reach * LARGEST_WEIGHT < 1.0:
                    raise WeightOverflowError
            else:
                if average and who == averaged:
                    held = table.sums[start : start + len(menu)]
                    new = [old + weight / reach for old, weight in zip(held, policy, strict=True)]
                    writes.append((table.sums, start, new))
                action = self._chosen(policy, 0.0)
            frames.append((who, number, policy, action, here))
            lasts[who] = start + action
            return menu[action]

        leaf, touched = self._path(self._root, move)
        value = self._payoff(leaf, player)
        for who, number, policy, action, here in reversed(frames):
            count, table = len(policy), self.tables[who]
            start = table.starts[number] if number >= 0 else -1
            probability = sampled = policy[action]
            if who == player:
                sampled = probability * (1.0 - exploration) + exploration / count
            guesses, before, expected = [0.0] * count, 0.0, 0.0
            if rate is not None and number >= 0:
                baselines = table.baselines[player]
                guesses = baselines[start : start + count].tolist()
                before = guesses[action]
                for weight, guess in zip(policy, guesses, strict=True):
                    expected += weight * guess
                writes.append((baselines, start + action, [before + rate * (value - before)]))
            correction = (value - before) / sampled
            mean = expected + probability * correction
            if who == player:
                scale = 1.0 / here
                if not scale * abs(correction) <= LARGEST_WEIGHT:  # a product of ratios below, and baselines
                    raise WeightOverflowError
                guesses[action] = before + correction
                self._add_regrets(table, start, [scale * (own - mean) for own in guesses], writes)
                if table.prefers:
                    writes.append((table.visits, number, [table.visits[number] + scale]))
            value = mean
        return touched

    def _average(self, player: int, writes: Writes) -> int:
        """Walk one path, on which all others play uniformly, and add a player's policies to its sums."""
        table = self.tables[player]
        lasts = [-1] * len(self.tables)

        def move(who: int, state: Any) -> Hashable:
            number, menu = self._meet(who, state, lasts[who])
            start = self.tables[who].starts[number]
            if who == player:
                policy = self.policy(table, number)
                held = table.sums[start : start + len(menu)]
                writes.append((table.sums, start, [old + weight for old, weight in zip(held, policy, strict=True)]))
                action = self._chosen(policy, 0.0)
            else:
                action = min(int(self.numbers.random() * len(menu)), len(menu) - 1)
            lasts[who] = start + action
            return menu[action]

        return self._path(self._root, move)[1]


def in_proportion(weights: Sequence[float]) -> list[float]:
    """Return probabilities in proportion to non-negative weights; uniform if all are 0."""
    total = 0.0
    for weight in weights:  # in this order and without compensation, as in compiled code
        total += weight
    return [weight / total for weight in weights] if total > 0.0 else [1.0 / len(weights)] * len(weights)


def one_hot(weights: Sequence[float]) -> list[float]:
    """Return 1 for the first of the largest weights and 0 for the others."""
    best = weights.index(max(weights))
    return [1.0 if place == best else 0.0 for place in range(len(weights))]
