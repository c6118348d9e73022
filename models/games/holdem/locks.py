"""Locks: known or assumed actions of a player in a spot, as constraints on its plan."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats, Indices
from ....seqform.checks import is_number, is_whole
from ....seqform.errors import InvalidConstraintError, InvalidGameError, nearest, one_of, shown
from ....seqform.functional import Functional
from ....seqform.limits import loading
from ....seqform.public_form import PublicForm, is_any_card
from ....seqform.rationals import intended_fraction, to_fraction
from ....seqform.rules import CHANCE
from ....seqform.strategy import Profile, Strategy
from ...constraints import LinearConstraint
from ...constraints.tokens import Tokens, parse_number
from .bets import SEATS
from .cards import HAND_NAMES, range_items
from .made_hands import MADE_HANDS, made
from .situation import Situation

_EXAMPLE = 'ip at "bet 120": fold 40%'
#: An action, the kind of bound, and the number.
_ITEM = re.compile(
    r"(?P<action>\S.*?)\s*(?P<sense><=|>=|=<|=>|==?|\bat most\b|\bat least\b)?"
    r"\s*(?<![\d.])(?P<number>[\d.][\d.eE/-]*\s*%?)"
)
#: An action, and how often it was seen among the opportunities.
_COUNTED = re.compile(
    r"(?P<action>\S.*?)\s+(?P<count>\d{1,9})\s+of\s+(?P<of>\d{1,9})(?:\s+at\s+(?P<confidence>[\d.]+\s*%?))?"
)
#: Statistics whose names are not those of actions.
_STATISTICS = {"c-bet": "bet", "cbet": "bet", "donk": "bet", "check-raise": "raise", "3-bet": "raise"}
_CONFIDENCE = Fraction(95, 100)
_SENSES = {"<=": "<=", ">=": ">=", "at most": "<=", "at least": ">="}
#: Tolerance on the sum of probabilities.
_ROUND_OFF = 1e-9
#: Words for all actions that put in chips, without and with an earlier bet.
_WAGERS = ("bet", "raise")

Sense = Literal["<=", ">=", "=="]


@dataclass(frozen=True)
class Bound:
    """A bound on the frequency of an action, from 0 to 1."""

    action: str
    sense: Sense
    number: Fraction

    def __str__(self) -> str:
        sense = "" if self.sense == "==" else f"{self.sense} "
        return f"{self.action} {sense}{float(100 * self.number):.10g}%"


@dataclass(frozen=True)
class Counted:
    """How often an action was seen, and the interval that contains its frequency with a given confidence.

    The interval is that of C. J. Clopper and E. S. Pearson ("The use of confidence or fiducial limits illustrated in
    the case of the binomial", Biometrika 26, 1934).

    Attributes
    ----------
    action : str
    count, of : int
        Number of times that the action was taken, and number of opportunities.
    confidence : Fraction
        Strictly between 0 and 1.

    Examples
    --------
    >>> from treeplex.models.games.holdem import Lock
    >>> (seen,) = Lock.read('ip at "bet 120": fold 41 of 80').counts
    >>> print(seen, [round(end, 4) for end in seen.ends])
    fold 41 of 80 at 95% [0.3981, 0.6259]
    """

    action: str
    count: int
    of: int
    confidence: Fraction

    def __post_init__(self) -> None:
        _ = self.ends  # checks the numbers

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, from 0 to 1."""
        from ...observations.intervals import clopper_pearson_intervals  # this import takes long

        if not self.of:
            raise InvalidConstraintError(f"{self.action} {self.count} of {self.of}: expected at least one opportunity")
        try:
            found = clopper_pearson_intervals(self.count, self.of, float(self.confidence))
        except InvalidConstraintError as error:
            raise InvalidConstraintError(f"{self.action} {self.count} of {self.of}: {error}") from None
        return float(found.lower), float(found.upper)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds on the action's frequency."""
        low, high = map(to_fraction, self.ends)
        return Bound(self.action, ">=", low), Bound(self.action, "<=", high)

    def __str__(self) -> str:
        return f"{self.action} {self.count} of {self.of} at {float(100 * self.confidence):.10g}%"


@dataclass(frozen=True)
class Lock:
    """A player's behaviour at a node of a spot: for all hands, for some, or as a frequency.

    Parameters
    ----------
    seat : {"oop", "ip"}
    strategy : mapping, or Strategy, Profile or a file of one
        Probabilities from 0 to 1 by action; strings such as ``"<= 0.3"`` or ``"40%"`` are accepted too. Omitted actions
        are free, within the probability that the named ones leave. ``bet`` or ``raise`` stands for all sizes together.
        ``"41 of 80"`` or ``"41 of 80 at 99%"`` is a count, of which the interval follows (:class:`Counted`).
        Probabilities are by hand if the keys are hands or ranges: ``{"AKs": {"call": 1}, "77": {"fold": 0.5}}``. A
        strategy of the spot's game locks its behaviour there.
    at : str
        The actions and cards that lead to the node: ``"check, bet 120"``, or ``""`` for the root; ``deal *`` is any
        card. ``"everywhere"`` means all nodes at which the player has such an action.
    hands : str
        A range, hands, kinds of made hands such as ``"top pair, flush"``, or ``"all"``.
    each : bool
        Whether the bound applies to each hand. Otherwise it applies to their average, weighted by the probability of
        each hand given the other player's range, and by the hand's own reach of the node.
    shape : {"any", "likely"}
        With ``"likely"``, an average frequency fixes the probabilities of each hand: those nearest to an equilibrium,
        see :func:`~treeplex.models.games.holdem.likely.with_likely_locks`. Otherwise the player chooses the hands.
    said : str
        The string of the lock from which this one was made, if any.

    Examples
    --------
    >>> from treeplex.models.games.holdem import Lock
    >>> lock = Lock.read('ip at "bet 120" with "66+": fold <= 40%, raise 5%')
    >>> lock.seat, lock.at, lock.hands, [str(bound) for bound in lock.bounds]
    ('ip', 'bet 120', '66+', ['fold <= 40%', 'raise 5%'])
    >>> print(lock)
    ip at "bet 120" with "66+": fold <= 40%, raise 5%
    """

    seat: str
    strategy: Any
    at: str = ""
    hands: str = "all"
    each: bool = True
    shape: str = field(default="any", kw_only=True)
    said: str = field(default="", kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.shape not in ("any", "likely"):
            hint = nearest(str(self.shape), ("any", "likely"))
            raise InvalidConstraintError(f"shape of a lock is {shown(self.shape, 60)}, expected any or likely{hint}")
        if self.seat not in SEATS:
            raise InvalidConstraintError(f"the seat of a lock is {shown(self.seat, 60)}, expected oop or ip")
        for name, expected in (("at", "actions from the root, such as 'check, bet 120'"), ("hands", "a range or all")):
            if not isinstance(getattr(self, name), str):
                raise InvalidConstraintError(
                    f"{name} of a lock is {shown(getattr(self, name), 60)}, expected {expected}"
                )
        empty = not self.strategy or (self._by_hand and not all(self.strategy.values()))
        if not isinstance(self.strategy, Mapping | Strategy | Profile | str | PathLike) or empty:
            raise InvalidConstraintError(
                f"the strategy of a lock is {shown(self.strategy, 60)}, expected probabilities of actions, such as "
                "{'fold': 0.25, 'call': 0.75}, or a strategy or a file of one"
            )
        if isinstance(self.strategy, Mapping) and not self._by_hand:
            self._check_sum()
        exact = (
            isinstance(self.strategy, Mapping)
            and self._said
            and all(isinstance(one, Bound) and one.sense == "==" for one in self._said)
        )
        if self.shape == "likely" and (self.each or not exact):
            raise InvalidConstraintError(
                f"{self}: a likely lock fixes total frequencies, expected frequency = {{ fold = 0.6 }} without each, "
                "<=, >= and counts"
            )
        if self.counts and self.each:
            raise InvalidConstraintError(f"{self}: a count covers all hands together; use frequency, without each")

    @property
    def _by_hand(self) -> bool:
        return isinstance(self.strategy, Mapping) and all(isinstance(one, Mapping) for one in self.strategy.values())

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds on actions; empty if they differ by hand or follow a strategy."""
        return tuple(bound for one in self._said for bound in (one.bounds if isinstance(one, Counted) else (one,)))

    @property
    def counts(self) -> tuple[Counted, ...]:
        """The counts from which bounds follow."""
        return tuple(one for one in self._said if isinstance(one, Counted))

    @property
    def _said(self) -> tuple["Bound | Counted", ...]:
        if not isinstance(self.strategy, Mapping) or self._by_hand:
            return ()
        return tuple(_bound(action, value) for action, value in self.strategy.items())

    def without_intervals(self) -> "Lock":
        """Return the lock with the frequencies that were seen, as if they were known exactly."""
        if not self.counts:
            return self
        seen = {one.action: f"{one.count}/{one.of}" for one in self.counts}
        return replace(self, strategy={**self.strategy, **seen})

    def _check_sum(self) -> None:
        least = sum((one.number for one in self.bounds if one.sense != "<="), Fraction(0))
        if least > 1 + _ROUND_OFF:
            raise InvalidConstraintError(f"{self}: the probabilities add up to {float(least):.6g}, expected at most 1")

    @classmethod
    def read(cls, text: str) -> "Lock":
        """Parse a lock: ``SEAT at NODE [with HANDS] [each|likely]: ACTION [<=|>=] NUMBER, …``.

        Parameters
        ----------
        text : str
            NODE and HANDS are in double quotes, except ``root`` and ``everywhere``. NUMBER is from 0 to 1, or has a
            percent sign; ``COUNT of N [at CONFIDENCE]`` is accepted too. Without ``each`` the bound applies to the
            average over hands. With ``as FILE`` instead of actions, each hand plays the strategy in that file.

        Raises
        ------
        InvalidConstraintError
            The message gives the position of the error in the string.
        """
        return _Reader(text).lock()

    @classmethod
    def parse(cls, given: "Lock | str | Mapping[str, Any]") -> "Lock":
        """Return a lock from a string, or from a table ``[[locks]]`` of a spot file.

        A table has ``seat``, ``at``, ``hands`` and ``strategy``, or ``frequency`` instead of ``strategy`` for averages;
        or only ``text``.
        """
        if isinstance(given, Lock):
            return given
        if isinstance(given, str):
            return cls.read(given)
        if not isinstance(given, Mapping):
            raise InvalidConstraintError(f"a lock is {shown(given, 60)}, expected a string such as '{_EXAMPLE}'")
        if "text" in given and len(given) == 1:
            return cls.read(given["text"])
        of_counts = ("stat", "count", "of", "confidence")
        known = ("seat", "at", "hands", "strategy", "frequency", "text", "shape", *of_counts)
        for key in given:
            if key not in known:
                raise InvalidConstraintError(
                    f"a lock has no {shown(key, 60)}{nearest(str(key), known)}; expected {one_of(known)}"
                )
        hands = given.get("hands")
        if isinstance(hands, list) and all(isinstance(one, str) for one in hands):
            given = {**given, "hands": ", ".join(hands)}
        if any(key in given for key in of_counts):
            given = {**{key: one for key, one in given.items() if key not in of_counts}, "frequency": _seen(given)}
        said = [key for key in ("strategy", "frequency") if key in given]
        if len(said) != 1 or "text" in given:
            raise InvalidConstraintError(
                "a lock needs either text alone, or a seat and one of strategy, frequency and stat"
            )
        each, shape = said[0] == "strategy", given.get("shape", "any")
        return cls(
            given.get("seat", ""), given[said[0]], given.get("at", ""), given.get("hands", "all"), each, shape=shape
        )

    def tables(self, spot: Situation) -> Iterator[dict[str, Any]]:
        """Yield the tables of the lock in a spot file: one, or one per node if it follows a strategy."""
        given, said = self.strategy, {"seat": self.seat, "at": self.at, "hands": self.hands}
        said |= {"shape": self.shape} if self.shape != "any" else {}
        if isinstance(given, str | PathLike):
            yield said | {"strategy": str(given)}
            return
        if isinstance(given, Mapping):
            parts = given if self._by_hand else {"": given}
            kept = {hands: {name: _plain(one) for name, one in inner.items()} for hands, inner in parts.items()}
            yield said | {"strategy" if self.each else "frequency": kept if self._by_hand else kept[""]}
            return
        form, player, played = spot.public_form, SEATS.index(self.seat), self._played(spot)
        for node in self._nodes(spot):
            after = form.children[node].tolist()
            hands = self._held(spot, player, node, self.hands)
            plays = {
                str(form.actions[child]): played.behaviour[form.sequences(player, child)[hands]].tolist()
                for child in after
            }
            names = [HAND_NAMES[hand] for hand in spot.hands[player][hands].tolist()]
            strategy = {name: {action: one[place] for action, one in plays.items()} for place, name in enumerate(names)}
            yield said | {"at": ", ".join(map(str, form.path(node))), "hands": "all", "strategy": strategy}

    def __str__(self) -> str:
        if self.said:
            return self.said
        where = {"": "root", "everywhere": "everywhere"}.get(self.at.strip(), f'"{self.at}"')
        who = "" if self.hands == "all" else f' with "{self.hands}"'
        if self._by_hand:
            what = f"{len(self.strategy)} strategies by hand"
        elif isinstance(self.strategy, Mapping):
            what = ", ".join(map(str, self._said))
        else:
            what = f"as {self.strategy if isinstance(self.strategy, str | PathLike) else 'a strategy'}"
        likely = " likely" if self.shape == "likely" else ""
        return f"{self.seat} at {where}{who}{' each' * (self.each and bool(self.bounds))}{likely}: {what}"

    def rows(self, spot: Situation) -> "Iterator[_Row]":
        """Yield the lock's bounds on a spot, one by one.

        Raises
        ------
        InvalidConstraintError
            If the node, an action or a hand does not exist, or the player does not move there.
        """
        if self.shape == "likely":
            self._refuse(
                "the hands of a likely lock follow from an equilibrium, expected with_likely_locks(spot, solved)"
            )
        form, player = spot.public_form, SEATS.index(self.seat)
        played = None if isinstance(self.strategy, Mapping) else self._played(spot)
        nodes = self._nodes(spot)
        for node in nodes:
            if not shares(spot, player, node)[self._held(spot, player, node, self.hands)].any():
                if len(nodes) > 1:
                    continue
                self._refuse("none of these hands can be dealt there")
            children = form.children[node].tolist()
            names = [str(form.actions[child]) for child in children]
            where = f"{self.seat} at {_line(form, node)}"
            if played is not None:
                hands = self._held(spot, player, node, self.hands)
                for number, child in enumerate(children[:-1]):  # the last one follows from the others
                    probabilities = played.behaviour[form.sequences(player, child)]
                    for hand in hands.tolist():
                        exact = to_fraction(float(probabilities[hand]))
                        yield _Row(self, node, (number,), Bound(names[number], "==", exact), np.array([hand]), where)
                continue
            parts = self.strategy.items() if self._by_hand else [(self.hands, self.strategy)]
            for which, strategy in parts:
                hands = self._held(spot, player, node, which)
                said = where + (f' with "{which}"' if which != "all" else "")
                said_here = [_bound(action, value) for action, value in strategy.items()]
                bounds = [bound for one in said_here for bound in (one.bounds if isinstance(one, Counted) else (one,))]
                places_of = [self._places(one.action, names) for one in bounds]
                total = sum((one.number for one in bounds), Fraction(0))
                whole = sorted(sum(places_of, ())) == list(range(len(names))) and all(
                    one.sense == "==" for one in bounds
                )
                if whole and abs(float(total) - 1.0) > _ROUND_OFF:
                    self._refuse(f"the probabilities add up to {float(total):.6g}, expected 1")
                for one, places in list(zip(bounds, places_of, strict=True))[: -1 if whole else None]:
                    for part in np.split(hands, len(hands)) if self.each else [hands]:
                        yield _Row(self, node, places, one, part, where if self.each else said)

    def totals(self, spot: Situation) -> Iterator[tuple[int, Indices, list[tuple[tuple[int, ...], Fraction]]]]:
        """Yield each node of a lock of total frequencies, the locked hands there, and the actions with their totals.

        Raises
        ------
        InvalidConstraintError
            As for :meth:`rows`.
        """
        form, player = spot.public_form, SEATS.index(self.seat)
        nodes = self._nodes(spot)
        for node in nodes:
            hands = self._held(spot, player, node, self.hands)
            hands = hands[shares(spot, player, node)[hands] > 0.0]
            if not len(hands):
                if len(nodes) > 1:
                    continue
                self._refuse("none of these hands can be dealt there")
            names = [str(form.actions[child]) for child in form.children[node].tolist()]
            named = [(self._places(one.action, names), one.number) for one in self.bounds]
            total = float(sum(one.number for one in self.bounds))
            if abs(total - 1.0) > _ROUND_OFF and sorted(sum((one for one, _ in named), ())) == list(range(len(names))):
                self._refuse(f"the probabilities add up to {total:.6g}, expected 1")
            yield node, hands, named

    def _played(self, spot: Situation) -> Strategy:
        player, given = SEATS.index(self.seat), self.strategy
        if isinstance(given, str | PathLike):
            folder = Path(spot.spec).parent if spot.spec and not Path(given).is_absolute() else Path()
            return spot.load_strategy(folder / given, player)
        strategy: Strategy = given[player] if isinstance(given, Profile) else given
        treeplex = spot.game.sequence_form.treeplexes[player]
        if strategy.player != player or len(strategy.behaviour) != treeplex.num_sequences:
            raise InvalidConstraintError(f"{self}: expected a strategy of {self.seat} on this spot")
        return strategy

    def _nodes(self, spot: Situation) -> list[int]:
        """Return the nodes to which the lock applies."""
        form, player = spot.public_form, SEATS.index(self.seat)
        if self.at.strip() == "everywhere":
            nodes = np.flatnonzero(form.players == player).tolist()
            return [node for node in nodes if self._has_actions(form, node)] or self._refuse("has no such action")
        lines = [""]
        for step in filter(None, (one.strip() for one in self.at.split(","))):
            longer = []
            for line in lines:
                node = self._find(form, line)
                if is_any_card(step) and form.players[node] == CHANCE:
                    longer += [f"{line}, {form.actions[child]}".lstrip(", ") for child in form.children[node].tolist()]
                else:
                    longer.append(f"{line}, {step}".lstrip(", "))
            lines = longer
        nodes = [self._find(form, line) for line in lines]
        if form.players[nodes[0]] != player:
            other = int(form.players[nodes[0]])
            who = f"{SEATS[other]} decides there" if other >= 0 else "nobody decides there"
            after = [str(form.actions[child]) for child in form.children[nodes[0]].tolist()]
            self._refuse(who + (f"; the line may continue with {one_of(after)}" if after else "; the hand ends there"))
        return nodes

    def _has_actions(self, form: Any, node: int) -> bool:
        names = [str(form.actions[child]) for child in form.children[node].tolist()]
        return not isinstance(self.strategy, Mapping) or all(
            _matching(action, names)
            for one in (self.strategy.values() if self._by_hand else [self.strategy])
            for action in one
        )

    def _find(self, form: Any, line: str) -> int:
        try:
            return int(form.find(line))
        except InvalidGameError as error:
            raise InvalidConstraintError(f"{self}: {error}") from None

    def _refuse(self, reason: str) -> Any:
        raise InvalidConstraintError(f"{self}: {reason}")

    def _places(self, action: str, names: list[str]) -> tuple[int, ...]:
        found = _matching(action, names)
        if not found:
            self._refuse(f"there is no {shown(action, 60)} there{nearest(action, names)}; expected {one_of(names)}")
        return found

    def _held(self, spot: Situation, player: int, node: int, hands: str) -> Indices:
        """Return the locked hands of the player, among those possible there."""
        form = spot.public_form
        present = form.present[form.boards[node]][player]
        if hands == "all":
            return np.asarray(present)
        wanted = np.zeros(len(HAND_NAMES), dtype=bool)
        kinds: list[str] = []
        others: list[str] = []
        for text in map(str.strip, hands.split(",")):
            (kinds if text.casefold() in MADE_HANDS else others).append(text.removeprefix("class "))
        for kind in kinds:
            wanted |= made(kind.casefold(), spot.boards[form.boards[node]], spot.deck)
        try:
            items = list(range_items(", ".join(others))) if others else []
        except InvalidGameError as error:
            close = [hint for one in others if len(one) > 3 and (hint := nearest(one.casefold(), MADE_HANDS))]
            raise InvalidConstraintError(f"{self}: {error}{''.join(close[:1])}") from None
        for item in items:
            if not item.weight or not np.isin(item.hands, spot.hands[player]).any():
                on = f"the range of {self.seat} on the board {spot.board}"
                self._refuse(f"no hand of {shown(item.written, 60)} is in {on}")
            wanted[list(item.hands)] = True
        kept: Indices = present[wanted[spot.hands[player][present]]]
        return kept


@dataclass(frozen=True, eq=False)
class _Row:
    """One bound of a lock at a node: on the sum of some actions, for one hand or on average over several."""

    lock: Lock
    node: int
    places: tuple[int, ...]
    bound: Bound
    hands: Indices
    where: str

    def _sequences(self, spot: Situation, node: int) -> list[int]:
        found: list[int] = spot.public_form.sequences(SEATS.index(self.lock.seat), node)[self.hands].tolist()
        return found

    def constraints(self, spot: Situation) -> Iterator[LinearConstraint]:
        """Yield Σ w x(h, a) − c Σ w x(h, node), bounded by 0 from above or below."""
        form, player = spot.public_form, SEATS.index(self.lock.seat)
        weights: list[Any] = [1]
        if not self.lock.each:
            dealt = shares(spot, player, self.node)[self.hands]
            weights = (dealt / dealt.sum()).tolist()
        terms: dict[int, Any] = {}
        for place in self.places:
            terms |= zip(self._sequences(spot, int(form.children[self.node][place])), weights, strict=True)
        number, limit, before = self.bound.number, Fraction(0), self._sequences(spot, self.node)
        if before[0] == 0:  # the player has not moved yet, and all hands are present
            limit = number
        elif number:
            terms |= {sequence: -number * weight for sequence, weight in zip(before, weights, strict=True)}
        which = f" with {HAND_NAMES[spot.hands[player][self.hands[0]]]}" if self.lock.each else ""
        name = f"{self.where}{which}: {self.bound}"
        senses: tuple[Literal["<=", ">="], ...] = ("<=", ">=") if self.bound.sense == "==" else (self.bound.sense,)
        if self.bound.sense == "==" and number in (0, 1):  # the other bound always holds
            senses = ("<=",) if number == 0 else (">=",)
        for sense in senses:
            side = f" ({'at most' if sense == '<=' else 'at least'})" * (self.bound.sense == "==")
            fixed = limit != number
            yield LinearConstraint(
                player,
                terms,
                limit,
                name + side,
                sense,
                fixed=fixed,
                fingerprint=spot.game.fingerprint,
            )


def constraints_of(spot: Situation, locks: Sequence[Lock]) -> tuple[LinearConstraint, ...]:
    """Return the constraints given by locks on a spot.

    Raises
    ------
    InvalidConstraintError
        If locks contradict each other at a node, or do not fit the spot.
    """
    rows = [row for lock in locks for row in lock.rows(spot)]
    _check_together(spot, rows)
    return tuple(constraint for row in rows for constraint in row.constraints(spot))


def shares(spot: Situation, player: int, node: int) -> Floats:
    """Return the probability of each hand of a player given the board of a node; they sum to 1."""
    form = spot.public_form
    board = spot.boards[form.boards[node]]
    payoff = spot.together(board)
    other = spot.weights[1 - player]
    found: Floats = spot.weights[player] * (payoff.times(other) if player == 0 else payoff.transposed_times(other))
    return np.asarray(found / (found.sum() or 1.0))


def line_functionals(
    form: PublicForm, sizes: Sequence[int], seats: Sequence[str], dealt: Callable[[int, int], Floats]
) -> dict[str, Functional]:
    """Return the frequencies of lines of the first street, as functionals of the player who moves last in them.

    Lines have the names of nodes, ``"check, bet 120, fold"``, or end with ``bet`` or ``raise`` for all sizes together.
    ``sizes`` are both players' numbers of sequences, and ``dealt`` gives the probabilities of a player's hands at a
    node.
    """
    found = {}
    for node in np.flatnonzero((form.players >= 0) & (form.boards == form.boards[0])).tolist():
        player = int(form.players[node])
        names = [str(form.actions[child]) for child in form.children[node].tolist()]
        for name in dict.fromkeys([*names, *(word for word in _WAGERS if _matching(word, names))]):
            vector = np.zeros(sizes[player])
            for place in _matching(name, names):
                np.add.at(vector, form.sequences(player, int(form.children[node][place])), dealt(player, node))
            line = ", ".join([*map(str, form.path(node)), name])
            said = f"how often {seats[player]} takes the line {line}, if {seats[1 - player]} follows it"
            found[line] = Functional(player, vector, said)
    return found


def _check_together(spot: Situation, rows: Sequence[_Row]) -> None:
    """Raise an error for locks that conflict if their node is reached; the constraints alone would avoid the node."""
    by_node: dict[int, list[_Row]] = {}
    for row in rows:
        by_node.setdefault(row.node, []).append(row)
    for node, here in by_node.items():
        player = int(spot.public_form.players[node])
        by_hand: dict[int, list[_Row]] = {}
        for row in here:
            if row.lock.each:
                by_hand.setdefault(int(row.hands[0]), []).append(row)
        judged: dict[Any, bool] = {}
        for hand, own in by_hand.items():
            key = tuple((row.places, row.bound.sense, row.bound.number) for row in own)
            if key not in judged:
                judged[key] = _can_be_met(spot, node, own, np.array([hand]))
            if not judged[key]:
                _refuse_together(own, f"{HAND_NAMES[spot.hands[player][hand]]} cannot do ")
        averages = [row for row in here if not row.lock.each]
        if averages and not _can_be_met(spot, node, here, np.unique(np.concatenate([row.hands for row in here]))):
            _refuse_together([*averages, *(row for row in here if row.lock.each)], "the hands cannot do ")


def _refuse_together(rows: Sequence[_Row], whom: str) -> None:
    locks = list(dict.fromkeys(str(row.lock) for row in rows))
    said = list(dict.fromkeys(str(row.bound) for row in rows))
    listed = " and ".join(said[:3]) + (f" and {len(said) - 3} more" if len(said) > 3 else "")
    others = f"; contradicts {locks[1]}" if len(locks) > 1 else ""
    raise InvalidConstraintError(f"{locks[0]}: {whom}{listed}{others}")


def _can_be_met(spot: Situation, node: int, rows: Sequence[_Row], hands: Indices) -> bool:
    """Return whether hands at a node can meet the bounds there, for any reach."""
    with loading():
        from scipy.optimize import LinearConstraint as LinearRows
        from scipy.optimize import milp

    width = len(spot.public_form.children[node])
    first = {hand: width * place for place, hand in enumerate(hands.tolist())}
    dealt = shares(spot, int(spot.public_form.players[node]), node)
    entries: list[tuple[int, int, float]] = []
    for number, row in enumerate(rows):
        for hand in row.hands.tolist():
            weight = 1.0 if row.lock.each else float(dealt[hand])
            for place in range(width):
                value = weight * ((place in row.places) - float(row.bound.number))
                entries.append((number, first[hand] + place, value))
    lines, columns, values = zip(*entries, strict=True)
    matrix = sp.csr_array((values, (lines, columns)), shape=(len(rows), width * len(hands)))
    low, high = (
        [0.0 if row.bound.sense in (sense, "==") else unbounded for row in rows]
        for sense, unbounded in ((">=", -np.inf), ("<=", np.inf))
    )
    some = np.ones((1, matrix.shape[1]))
    found = milp(some[0], constraints=[LinearRows(matrix, low, high), LinearRows(some, 1.0, 1.0)])
    return bool(found.success)


def _matching(action: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the actions that a name means: itself, or all bets or raises."""
    found = tuple(place for place, name in enumerate(names) if name.casefold() == action.casefold())
    kinds = [name.partition(" ")[0] for name in names]
    # The big blind's bet is a raise when there is nothing to call; if all-in is its only bet, no other action shows
    # this.
    usual = "raise" if "raise" in kinds or ("fold" in kinds and "bet" not in kinds) else "bet"
    if found or action.casefold() != usual:
        return found
    return tuple(place for place, kind in enumerate(kinds) if kind in (*_WAGERS, "all-in"))


def _line(form: Any, node: int) -> str:
    return f'"{", ".join(map(str, form.path(node)))}"' if node else "root"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else float(value)


def _bound(action: str, value: Any) -> Bound | Counted:
    if isinstance(value, str):
        counted = _COUNTED.fullmatch(f"{action} {value.strip()}")
        if counted is not None and counted["action"] == action:
            return _read_counted(counted)
        found = _ITEM.fullmatch(f"{action} {value.strip()}") if value.strip() else None
        if found is None or found["action"] != action:
            raise InvalidConstraintError(
                f"{action} of a lock is {shown(value, 60)}, expected a value such as 0.25, '40%' or '<= 0.3'"
            )
        return _read_item(found)
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidConstraintError(f"{action} of a lock is {shown(value, 60)}, expected a probability from 0 to 1")
    return Bound(str(action), "==", intended_fraction(value))


def _seen(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the frequency that a statistic in a table of a spot file states."""
    for key in ("strategy", "frequency"):
        if key in table:
            raise InvalidConstraintError(f"a lock has {key} and stat, expected one of them")
    for key, expected in (
        ("stat", "an action, such as 'fold to bet'"),
        ("count", "how often"),
        ("of", "out of how many"),
    ):
        if key not in table:
            raise InvalidConstraintError(f"a lock by a statistic has no {key}, expected {expected}")
    stat, confidence = table["stat"], table.get("confidence", float(_CONFIDENCE))
    if not isinstance(stat, str) or not stat.strip():
        raise InvalidConstraintError(f"stat of a lock is {shown(stat, 60)}, expected an action, such as 'fold to bet'")
    for key in ("count", "of"):
        if not is_whole(table[key]) or table[key] < 0:
            raise InvalidConstraintError(f"{key} of a lock is {shown(table[key], 60)}, expected a whole number")
    if not is_number(confidence) or not 0 < confidence < 1:
        raise InvalidConstraintError(
            f"confidence of a lock is {shown(confidence, 60)}, expected a number between 0 and 1, such as 0.95"
        )
    action = stat.partition(" to ")[0].partition(" vs ")[0].strip()
    action = _STATISTICS.get(action.casefold(), action)
    return {action: f"{table['count']} of {table['of']} at {float(100 * intended_fraction(confidence)):.10g}%"}


def _read_counted(found: "re.Match[str]") -> Counted:
    text = (found["confidence"] or "").strip()
    try:
        given = parse_number(text.removesuffix("%").rstrip()) if text else _CONFIDENCE
    except ValueError as error:
        raise InvalidConstraintError(f"{shown(text, 60)}: {error}") from None
    return Counted(found["action"], int(found["count"]), int(found["of"]), given / 100 if text.endswith("%") else given)


def _read_item(found: "re.Match[str]") -> Bound:
    text, sign = found["number"].strip(), found["sense"] or ""
    if sign in ("=<", "=>"):
        raise InvalidConstraintError(f"{found['action']}: received {sign!r}, expected {sign[::-1]!r}")
    try:
        number = parse_number(text.removesuffix("%").rstrip())
    except ValueError as error:
        raise InvalidConstraintError(f"{shown(text, 60)}: {error}") from None
    number = number / 100 if text.endswith("%") else number
    if not 0 <= number <= 1:
        meant = f"; write {text}%" if 1 < number <= 100 and not text.endswith("%") else ""
        raise InvalidConstraintError(
            f"{found['action']}: {text} is not a probability, expected a number from 0 to 1, or 0% to 100%{meant}"
        )
    sense: Any = _SENSES.get(sign, "==")
    return Bound(found["action"], sense, number)


class _Reader(Tokens):
    """A parser of one lock from a string."""

    example = _EXAMPLE

    def __init__(self, text: str) -> None:
        super().__init__("lock", text)

    def lock(self) -> Lock:
        seat = self.take_label("a seat, oop or ip")
        if seat.text not in SEATS:
            raise self.error(seat.start, f"received the seat {seat.shown}, expected oop or ip")
        if self.take_label("at").text != "at":
            raise self.error(seat.stop, 'expected "at" and a node after the seat, such as at "bet 120"')
        node = self.take_label('a node, such as "bet 120" or root')
        at = {"root": "", "everywhere": "everywhere"}.get(node.text, node.text if node.kind == "quoted" else None)
        if at is None:
            raise self.error(
                node.start, f"received {node.shown}, expected root, everywhere, or a node in double quotes"
            )
        hands, each = "all", False
        if self.peek().text == "with":
            self.take()
            hands = self.take_label('hands, such as "AKs, 77"').text
        if self.peek().text == "each":
            self.take()
            each = True
        shape = "any"
        if self.peek().text == "likely":
            self.take()
            shape = "likely"
        word = self.peek()
        hint = nearest(word.text, ("each", "likely", "with")) if word.text != ":" else ""
        if hint:
            raise self.error(word.start, f"received {word.shown}{hint}, expected : after the node and the hands")
        self.take_symbol(":", "the node and the hands")
        rest, start = self._text[self._position :], self._position
        if rest.split()[:1] == ["as"]:
            return Lock(seat.text, rest.split(maxsplit=1)[1].strip() if len(rest.split()) > 1 else "", at, hands)
        strategy: dict[str, str] = {}
        for item in rest.split(","):
            place, written = start + len(item) - len(item.lstrip()), item.strip()
            start += len(item) + 1
            counted, found = _COUNTED.fullmatch(written), _ITEM.fullmatch(written)
            if counted is not None:
                try:
                    seen = _read_counted(counted)
                except InvalidConstraintError as error:
                    raise self.error(place, str(error)) from None
                if seen.action in strategy:
                    raise self.error(place, f"{seen.action} appears twice, expected once")
                strategy[seen.action] = str(seen).removeprefix(seen.action).strip()
                continue
            if found is None:
                raise self.error(
                    place, f"received {shown(written, 60)}, expected an action and its frequency, such as fold 40%"
                )
            try:
                bound = _read_item(found)
            except InvalidConstraintError as error:
                raise self.error(place, str(error)) from None
            if bound.action in strategy:
                raise self.error(place, f"{bound.action} appears twice, expected once")
            strategy[bound.action] = f"{'' if bound.sense == '==' else bound.sense} {found['number']}".strip()
        return Lock(seat.text, strategy, at, hands, each, shape=shape)
