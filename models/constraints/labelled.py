"""Linear constraints by infoset labels, for games that are not enumerated."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from ...seqform.errors import InvalidConstraintError, one_line, shown
from ...seqform.names import SPECIAL, quoted_label
from .constraint import Sense, check_name, check_number
from .tokens import SYMBOLS, Token, Tokens, pattern_of


@dataclass(frozen=True)
class LabelledTerm:
    """One term of a sum over a player's plan.

    Attributes
    ----------
    kind : {"behaviour", "plan", "reach", "count"}
        The probability of an action at an infoset, the realization of a sequence, the reach of an infoset, or the
        frequency of an action.
    infoset : str, optional
        The infoset's label as a string; ``None`` for all infosets.
    action : label, optional
        The action, or its label as a string.
    first : bool
        Whether only first decisions count.
    """

    kind: Literal["behaviour", "plan", "reach", "count"]
    infoset: str | None = None
    action: Hashable = None
    first: bool = False

    def shares(self, infoset: Hashable, actions: Sequence[Hashable], is_first: bool) -> list[float] | None:
        """Return the weight of each action at an infoset; ``None`` if the term does not concern it."""
        if (self.infoset is not None and str(infoset) != self.infoset) or (self.first and not is_first):
            return None
        if self.kind == "reach":
            return [1.0] * len(actions)
        taken = [float(action == self.action or str(action) == self.action) for action in actions]
        if self.infoset is not None and not any(taken):
            known = one_line(", ".join(map(quoted_label, actions)), 60)
            raise InvalidConstraintError(
                f"a constraint names action {shown(self.action)} at infoset {shown(infoset)}, expected one of {known}"
            )
        return taken if any(taken) else None


@dataclass(frozen=True)
class LabelledConstraint:
    """A bound on a sum over a player's plan.

    Attributes
    ----------
    player : int
    terms : tuple of LabelledTerm
    bound : Fraction
    sense : {"<=", ">="}
    name : str
    """

    player: int
    terms: tuple[LabelledTerm, ...]
    bound: Fraction
    sense: Sense
    name: str

    @property
    def sign(self) -> float:
        """The factor, 1 or −1, that turns the bound into an upper bound."""
        return 1.0 if self.sense == "<=" else -1.0

    @property
    def is_behaviour(self) -> bool:
        """Whether the constraint bounds action probabilities at one infoset, multiplied by its reach to be linear."""
        return self.terms[0].kind == "behaviour"

    @property
    def constant(self) -> float:
        """The function's value if no counted action is ever taken."""
        return 0.0 if self.is_behaviour else -self.sign * float(self.bound)

    @property
    def named(self) -> frozenset[str]:
        """The infosets, as strings, that must be known to evaluate the function."""
        return frozenset(one.infoset for one in self.terms if one.infoset is not None and one.kind != "count")

    @property
    def counts(self) -> bool:
        """Whether the weight of a sequence depends on chance and the other players."""
        return any(one.kind == "count" for one in self.terms)

    @property
    def span(self) -> float:
        """The approximate range of the function: 1 for each term."""
        return 1.0 if self.is_behaviour else float(len(self.terms))

    def coefficients(
        self, infoset: Hashable, actions: Sequence[Hashable], is_first: bool, counted: bool
    ) -> list[float] | None:
        """Return the counted coefficients of an infoset's sequences, or those that are not counted.

        Parameters
        ----------
        infoset : label
        actions : sequence of labels
        is_first : bool
            Whether this is the player's first decision.
        counted : bool
            Counted coefficients are multiplied by the probability with which chance and the other players reach the
            infoset.

        Returns
        -------
        list of float, or None
            ``None`` if all are 0.

        Raises
        ------
        InvalidConstraintError
            If the infoset lacks an action that the constraint names.
        """
        terms = [one for one in self.terms if (one.kind == "count") is counted]
        found = [shares for one in terms if (shares := one.shares(infoset, actions, is_first)) is not None]
        if not found:
            return None
        fixed = float(self.bound) if self.is_behaviour else 0.0
        return [self.sign * (sum(each) - fixed) for each in zip(*found, strict=True)]


@dataclass(frozen=True)
class ExpectedCost:
    """A bound on the expected cost of a player's strategy, for games that are not enumerated.

    Parameters
    ----------
    player : int
        The player whose strategy is constrained.
    cost : callable
        Maps a leaf's state, as defined by the rules, to a number.
    bound : number
        Upper bound on the expectation, given chance and the other players' strategies.
    name : str

    Raises
    ------
    InvalidConstraintError
        If an argument has the wrong type.

    Examples
    --------
    >>> from treeplex.models.constraints import ExpectedCost
    >>> ExpectedCost(0, lambda state: 1.0, 0.5, "always one").bound
    0.5
    """

    player: int
    cost: Callable[[Any], float]
    bound: float
    name: str

    #: As in :class:`LabelledConstraint`.
    terms: ClassVar[tuple[LabelledTerm, ...]] = ()
    named: ClassVar[frozenset[str]] = frozenset()
    counts: ClassVar[bool] = True
    span: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_name(self.name)
        check_number(self.name, "bound", self.bound)
        if not callable(self.cost):
            raise InvalidConstraintError(
                f"constraint {shown(self.name)}: cost is {shown(self.cost)}, expected a function of a leaf's state"
            )

    @property
    def constant(self) -> float:
        """The function's value if no costs arise."""
        return -float(self.bound)

    def coefficients(
        self, infoset: Hashable, actions: Sequence[Hashable], is_first: bool, counted: bool
    ) -> list[float] | None:
        """Return ``None``: costs arise at leaves."""
        return None


def parse_labelled_constraint(
    text: str, num_players: int, words: Mapping[str, Hashable] | None = None, player: int = 0
) -> list[LabelledConstraint]:
    """Read a constraint on a game that is not enumerated: ``TERM(+TERM)* (<=|>=|==) NUMBER [as NAME]``.

    Parameters
    ----------
    text : str
        As for :func:`~treeplex.parse_constraint`, but labels are not checked, and the game's
        functionals are not available. Probabilities of actions, ``SEAT/INFOSET:ACTION``, must belong to one infoset.
    num_players : int
    words : mapping of str to label, optional
        The game's words for actions.
    player : int
        The player whose actions count if a string names no seat.

    Returns
    -------
    list of LabelledConstraint
        One; an equality gives two, named ``NAME (at most)`` and ``NAME (at least)``.

    Raises
    ------
    InvalidConstraintError
        If the string cannot be parsed, concerns several players, or is not linear in a plan.

    Examples
    --------
    >>> from treeplex.models.constraints.labelled import parse_labelled_constraint
    >>> (bluff,) = parse_labelled_constraint("0/J_:b >= 1/2 as bluff", num_players=2)
    >>> bluff.name, bluff.coefficients("J_", ["p", "b"], is_first=True, counted=False)
    ('bluff', [0.5, -0.5])
    """
    reader = _Reader("constraint", text)
    reader.num_players, reader.words, reader.player = num_players, words or {}, player
    terms = reader.read_terms()
    comparison, bound = reader.read_comparison(), reader.read_number()
    name = reader.read_name()
    senses: Mapping[str, Sense] = {" (at most)": "<=", " (at least)": ">="}
    if comparison != "==":
        senses = {"": "<=" if comparison == "<=" else ">="}
    return [LabelledConstraint(reader.player, terms, bound, sense, name + suffix) for suffix, sense in senses.items()]


class _Reader(Tokens):
    """A parser of strings whose labels are not known."""

    pattern = pattern_of((*SYMBOLS, "@"), SPECIAL)
    num_players: int
    words: Mapping[str, Hashable]
    player: int

    def read_terms(self) -> tuple[LabelledTerm, ...]:
        """Parse terms separated by plus signs, all of one player."""
        seats: Counter[int] = Counter()
        terms: list[LabelledTerm] = []
        while not terms or self.take_if("+"):
            start = self.peek().start
            seat, term = self._read_term()
            seats[seat] += 1
            if len(seats) > 1:
                raise self.error(
                    start, f"terms of players {seat} and {min(seats)} are added, expected terms of one player"
                )
            terms.append(term)
            played = {one.infoset for one in terms if one.kind == "behaviour"}
            if played and (len(played) > 1 or any(one.kind != "behaviour" for one in terms)):
                raise self.error(
                    start,
                    "a probability of an action is added to terms other than probabilities at the same infoset; "
                    "expected realizations, plan(SEAT/INFOSET:ACTION)",
                )
        (self.player,) = seats
        return tuple(terms)

    def _read_term(self) -> tuple[int, LabelledTerm]:
        head = self.take_label("a term, such as 0/K_:b, plan(0/K_:b), reach(0/K_), b@first, b@all or b@K_")
        if head.kind == "word" and head.text in ("plan", "reach") and self.take_if("("):
            seat, infoset = self._read_seat(self.take_label("a seat, such as 0")), self._infoset()
            action = self._read_action() if head.text == "plan" else None
            self.take_symbol(")", f"{head.text}(SEAT/INFOSET{':ACTION' * (head.text == 'plan')}")
            return seat, LabelledTerm("plan" if head.text == "plan" else "reach", infoset, action)
        if self.follows("@"):
            return self.player, self._read_count(head)
        if not self.follows("/"):
            raise self.error(
                self.peek().start,
                f"received {self.peek().shown} after {head.shown}, expected SEAT/INFOSET:ACTION, ACTION@first, "
                "ACTION@all or ACTION@INFOSET; functionals need the whole game",
            )
        seat = self._read_seat(head)
        token = self.take_label("the label of an infoset, or of an action before @")
        if self.follows("@"):
            return seat, self._read_count(token)
        return seat, LabelledTerm("behaviour", token.text, self._read_action())

    def _read_seat(self, seat: Token) -> int:
        if seat.text not in map(str, range(self.num_players)):
            raise self.error(seat.start, f"received the seat {seat.shown}, expected 0 to {self.num_players - 1}")
        self.take_symbol("/", "the seat")
        return int(seat.text)

    def _infoset(self) -> str:
        return self.take_label("the label of an infoset").text

    def _read_action(self) -> Hashable:
        self.take_symbol(":", "the infoset")
        return self._meant(self.take_label("the label of an action"))

    def _meant(self, action: Token) -> Hashable:
        return self.words.get(action.text, action.text)

    def _read_count(self, action: Token) -> LabelledTerm:
        self.take_symbol("@", "the action")
        where = self.take_label("first, all or the label of an infoset")
        everywhere = where.kind == "word" and where.text in ("first", "all")
        first = everywhere and where.text == "first"
        return LabelledTerm("count", None if everywhere else where.text, self._meant(action), first)
