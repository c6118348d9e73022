"""A parser of constraints and linear functionals, for the command line and in Python."""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np

from ...seqform.checks import explained
from ...seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, one_line, shown
from ...seqform.functional import Functional, frequency
from ...seqform.game import Game
from ...seqform.names import SPECIAL, quoted_label
from ...seqform.polytope import Treeplex
from ...seqform.rationals import intended_fraction, to_fraction
from ...seqform.rules import Number
from ...seqform.strategy import Profile, Strategy
from ..risks import Risk
from .builders import behaviour_terms, constant_reach
from .constraint import LinearConstraint, RiskConstraint, Sense
from .tokens import SYMBOLS, Token, Tokens, pattern_of

#: The terms of constraints and styles, besides the names of the game's functionals.
TERMS = (
    "SEAT/INFOSET:ACTION, plan(SEAT/INFOSET:ACTION), reach(SEAT/INFOSET), ACTION@first, ACTION@all or ACTION@INFOSET"
)


@explained
def parse_constraint(
    text: str, game: Game, *, player: int = 0, others: Profile | Strategy | None = None
) -> list[LinearConstraint | RiskConstraint]:
    """Parse a constraint: ``TERM(+TERM)* (<=|>=|==) NUMBER [as NAME]``.

    Parameters
    ----------
    text : str
        TERM is ``SEAT/INFOSET:ACTION``, the probability of an action at an infoset; ``plan(SEAT/INFOSET:ACTION)``, the
        realization of a sequence; ``reach(SEAT/INFOSET)``, the player's reach of an infoset; ``[SEAT/]ACTION@first``,
        the frequency of an action at the player's first decisions, ``[SEAT/]ACTION@all``, its frequency anywhere, and
        ``[SEAT/]ACTION@INFOSET``, its frequency there (:func:`~treeplex.frequency`); or a functional of the game,
        possibly with arguments in brackets, such as ``visits(bank, 3..8)``. Write labels as ``treeplex info
        --infosets`` prints them. Labels with spaces or one of ``"':/()+<>=@`` are JSON strings. An action may also be
        given by one of the game's words for it (:attr:`Game.action_words <treeplex.Game.action_words>`), such as
        ``raise``. NUMBER is a decimal or a fraction, kept exactly. Spaces are allowed between all parts.
    game : Game
    player : int
        The player whose actions count if a string names no seat.
    others : Profile, or Strategy of the one other player, optional
        The other players' strategies for frequencies of actions, which determine how often the player gets to decide.
        By default uniform.

    Returns
    -------
    list of LinearConstraint
        One; an equality gives two, named ``NAME (at most)`` and ``NAME (at least)``. By default, NAME is the string
        itself with runs of spaces collapsed.

    Raises
    ------
    InvalidConstraintError
        If the string cannot be parsed, names something that the game does not have, concerns both players, or is not
        linear in a plan.

    Notes
    -----
    The probability of an action is x(I, a) divided by the inflow of I. A sum of probabilities at one infoset I, with
    bound c, becomes linear when multiplied by the inflow: Σ x(I, a) − c Σ_s w(I, s) x(s) ≤ 0. Its violation is
    therefore weighted by the reach of I. Sums over several infosets are linear if the inflow of each of them is the
    same for all plans.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, parse_constraint, solve
    >>> game = load_game("kuhn")
    >>> constraints = parse_constraint("0/K_:b <= 1/2", game) + parse_constraint("0/J_:b >= 0.3 as bluff", game)
    >>> solution = solve(ConstrainedNash(game, constraints))
    >>> round(solution.value, 9), {name: round(price, 6) for name, price in solution.multipliers.items()}
    (-0.1, {'0/K_:b <= 1/2': 0.111111, 'bluff': 0.333333})

    Bet at the first decision with probability at least 3/5, averaged over the cards:

    >>> solution = solve(ConstrainedNash(game, parse_constraint("bet@first >= 3/5", game)), "rational")
    >>> solution.value
    Fraction(-11, 135)
    """
    reader = TermReader("constraint", text, game, player, others)
    total = reader.read_sum()
    comparison = reader.read_comparison()
    bound = reader.read_number()
    name = reader.read_name()
    player = reader.player_of(total)
    risk = total[0].functional
    if isinstance(risk, Risk) and len(total) == 1:
        if comparison != "<=":
            raise reader.error(total[0].column, f"{comparison} follows a convex measure, expected <=")
        return [RiskConstraint(risk, bound, name)]
    terms, limit, fixed = reader.inequality(total, bound)
    senses: Mapping[str, Sense] = {" (at most)": "<=", " (at least)": ">="}
    if comparison != "==":
        senses = {"": "<=" if comparison == "<=" else ">="}
    return [
        LinearConstraint(player, terms, limit, name + suffix, sense, fixed=fixed, fingerprint=game.fingerprint)
        for suffix, sense in senses.items()
    ]


@explained
def parse_term(text: str, game: Game, *, player: int = 0, others: Profile | Strategy | None = None) -> Functional:
    """Parse an objective: ``TERM(+TERM)*``.

    Parameters
    ----------
    text : str
        Terms as for :func:`parse_constraint`; probabilities of actions only at infosets whose inflow is the same for
        all plans.
    game : Game
    player, others
        As for :func:`parse_constraint`.

    Returns
    -------
    Functional
        The game's own functional if the string is just its name.

    Raises
    ------
    InvalidConstraintError
        If the string cannot be parsed, names something that the game does not have, concerns both players, or is not
        linear in a plan.

    Examples
    --------
    >>> from treeplex import EpsilonSafeStyle, load_game, solve
    >>> from treeplex.models.constraints import parse_term
    >>> game = load_game("kuhn")
    >>> round(solve(EpsilonSafeStyle(game, epsilon=0, maximise=parse_term("0/J_:b", game))).objective, 9)
    0.333333333
    """
    reader = TermReader("term", text, game, player, others)
    total = reader.read_sum()
    reader.read_end()
    player = reader.player_of(total)
    if len(total) == 1 and isinstance(total[0].functional, Functional):
        return total[0].functional
    terms, constant = reader.linear(total)
    coefficients = np.zeros(game.sequence_form.treeplexes[player].num_sequences)
    for sequence, number in terms.items():
        coefficients[sequence] = float(number)
    return Functional(player, coefficients, reader.title, constant=float(constant), fingerprint=game.fingerprint)


@dataclass(frozen=True)
class Term:
    """Σ x(s) over sequences, the probability of an action at an infoset, or a functional."""

    player: int
    column: int
    sequences: Sequence[int] = ()
    behaviour: bool = False
    functional: Functional | Risk | None = field(default=None, repr=False)
    counts: bool = False  # whether the functional is the frequency of an action


_Thing = TypeVar("_Thing")


#: The possible terms, for messages.
class TermReader(Tokens):
    """A parser of strings about a game.

    Parameters
    ----------
    what : str
        The kind of string, for messages: a constraint or a term.
    text : str
    game : Game
    player : int
        The player whose actions are meant if a string names no seat.
    others : Profile or Strategy, optional
        The other players' strategies, for frequencies of actions; by default uniform.
    """

    pattern: ClassVar[re.Pattern[str]] = pattern_of((*SYMBOLS, "@"), SPECIAL)

    def __init__(
        self, what: str, text: str, game: Game, player: int = 0, others: Profile | Strategy | None = None
    ) -> None:
        super().__init__(what, text)
        if not isinstance(game, Game):
            raise InvalidConstraintError(f"received {shown(game)}, expected a Game")
        self._game, self._player, self._others = game, player, others
        self._labels: dict[int, dict[str, list[int]]] = {}
        self._counts: dict[tuple[int, str, str, str], Functional] = {}

    def read_sum(self) -> list[Term]:
        """Parse terms separated by plus signs."""
        terms = [self._read_term()]
        while self.take_if("+"):
            terms.append(self._read_term())
        return terms

    def _read_term(self) -> Term:
        start = self.peek().start
        head = self.take_label(f"a term: {TERMS} or a functional of the game")
        if head.kind == "word" and head.text in ("plan", "reach") and self.take_if("("):
            player = self._read_seat(self.take_label("a seat, 0 or 1"))
            infoset = self._infoset(player, self.take_label("the label of an infoset"))
            treeplex = self._game.sequence_form.treeplexes[player]
            first, stop = treeplex.offsets[infoset : infoset + 2].tolist()
            sequences = range(first, stop) if head.text == "reach" else [self._read_action(player, infoset)]
            self.take_symbol(")", "plan(SEAT/INFOSET:ACTION" if head.text == "plan" else "reach(SEAT/INFOSET")
            return Term(player, start, sequences)
        if self.follows("@"):
            return self._read_count(self._player, head, start)
        if self.follows("/"):
            player = self._read_seat(head)
            token = self.take_label("the label of an infoset, or of an action before @")
            if self.follows("@"):
                return self._read_count(player, token, start)
            infoset = self._infoset(player, token)
            return Term(player, start, [self._read_action(player, infoset)], behaviour=True)
        functionals = self._game.functionals
        called, forms = self.follows("("), getattr(functionals, "forms", {})
        if head.kind == "word" and (called or (head.text in forms and head.text not in functionals)):
            text = f"{head.text}{self.take_brackets()}" if called else head.text
            try:
                functional = functionals[text]
            except KeyError as error:
                raise self.error(head.start, str(error.args[0])) from None
            return Term(functional.player, start, functional=functional)
        if head.text not in functionals:
            if head.text in self._actions(self._player):
                raise self.error(
                    head.stop, f"{head.shown} is an action; expected {head.text}@first, {head.text}@all or @INFOSET"
                )
            for player, treeplex in enumerate(self._game.sequence_form.treeplexes):
                for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
                    if str(label) == head.text:
                        such = f"{player}/{one_line(quoted_label(label), 60)}:{one_line(quoted_label(actions[-1]), 60)}"
                        raise self.error(
                            head.stop,
                            f"{head.shown} is an infoset; expected a seat and an action with it, as in {such}",
                        )
            listed = [name for name in functionals if name.partition("(")[0] not in forms]
            names = ", ".join([*map(quoted_label, listed), *forms.values()]) or "none"
            raise self.error(
                head.start,
                f"{self._game.spec} names no functional {shown(head.text, 60)}{_hint(head.text, functionals)}; "
                f"expected one of its functionals ({names}), {TERMS}",
            )
        functional = functionals[head.text]
        return Term(functional.player, start, functional=functional)

    def _read_seat(self, seat: Token) -> int:
        """Parse the player of a seat, and the ``/`` after it."""
        count = self._game.num_players
        if seat.text not in map(str, range(count)):
            expected = " or ".join(map(str, range(count))) if count <= 3 else f"0 to {count - 1}"
            raise self.error(seat.start, f"received the seat {seat.shown}, expected {expected}")
        self.take_symbol("/", "the seat")
        return int(seat.text)

    def _read_count(self, player: int, action: Token, start: int) -> Term:
        """Parse ``@first``, ``@all`` or ``@INFOSET`` after an action, for its frequency there."""
        known = self._actions(player)
        label = self._chosen(action, known, f"player {player} of {self._game.spec}", "action")
        self.take_symbol("@", "the action")
        where = self.take_label("first, all or the label of an infoset")
        everywhere = where.kind == "word" and where.text in ("first", "all")
        infosets = None
        if not everywhere:
            number = self._infoset(player, where, also=("first", "all"))
            infosets = [self._game.sequence_form.treeplexes[player].infoset_labels[number]]
        key = (player, action.text, where.kind, where.text)
        if key not in self._counts:
            first = everywhere and where.text == "first"
            try:
                counted = frequency(self._game, player, [label], infosets=infosets, first=first, others=self._others)
            except InvalidGameError:
                place = "first decision" if first else f"infoset {player}/{one_line(quoted_label(where.text), 60)}"
                raise self.error(start, f"player {player} has no action {action.shown} at its {place}") from None
            except UnsupportedProblemError as error:
                raise self.error(start, str(error)) from None
            place = f" at {where.text}" if not everywhere else " at its first decision" if first else ""
            named = replace(counted, description=f"how often player {player} takes {action.text}{place}")
            self._counts[key] = named
        return Term(player, start, functional=self._counts[key], counts=True)

    def _actions(self, player: int) -> dict[str, list[Hashable]]:
        return self._game.sequence_form.treeplexes[player].actions_by_name()

    def _infoset(self, player: int, token: Token, also: Sequence[str] = ()) -> int:
        """Return the index of the infoset with a label; ``also`` lists words that could have been there."""
        if player not in self._labels:
            self._labels[player] = defaultdict(list)
            for number, label in enumerate(self._game.sequence_form.treeplexes[player].infoset_labels):
                self._labels[player][str(label)].append(number)
        labels = self._labels[player]
        if token.text not in labels and not also and token.text in self._actions(player):
            raise self.error(
                token.stop, f"{token.shown} is an action; expected {token.text}@first, {token.text}@all or @INFOSET"
            )
        hint = _hint(token.text, dict.fromkeys(also)) if token.text not in labels else ""
        if hint:
            raise self.error(token.start, f"player {player} has no infoset {token.shown}{hint}")
        return self._chosen(token, labels, f"player {player}", "infoset")

    def _read_action(self, player: int, infoset: int) -> int:
        """Parse ``:ACTION`` and return the sequence."""
        treeplex = self._game.sequence_form.treeplexes[player]
        self.take_symbol(":", "the infoset")
        token = self.take_label("the label of an action")
        known = treeplex.actions_by_name(infoset)
        owner = f"infoset {player}/{one_line(quoted_label(treeplex.infoset_labels[infoset]), 60)}"
        label = self._chosen(token, known, owner, "action")
        return int(treeplex.offsets[infoset]) + treeplex.action_labels[infoset].index(label)

    def _chosen(self, token: Token, known: Mapping[str, list[_Thing]], owner: str, kind: str) -> _Thing:
        found = known.get(token.text, [])
        if len(found) > 1:
            raise self.error(
                token.start,
                f"{owner} has {len(found)} {kind}s whose labels read {token.shown}, expected distinct labels",
            )
        if not found:
            listed = one_line(", ".join(map(quoted_label, known)), 60) if len(known) <= 8 else ""
            listed = listed or f"{kind}s as treeplex info --infosets lists them"
            raise self.error(
                token.start, f"{owner} has no {kind} {token.shown}{_hint(token.text, known)}; expected {listed}"
            )
        return found[0]

    def player_of(self, terms: Sequence[Term]) -> int:
        """Return the player whose plan the terms concern."""
        player = terms[0].player
        other = next((term for term in terms if term.player != player), None)
        if other is not None:
            raise self.error(
                other.column, f"terms of players {other.player} and {player} are added, expected terms of one player"
            )
        return player

    def inequality(self, terms: Sequence[Term], bound: Fraction) -> tuple[Mapping[int, Number], Number, bool]:
        """Return the coefficients and the bound of a bounded sum, and whether the bound is part of the coefficients."""
        played = [term for term in terms if term.behaviour]
        treeplex = self._treeplex(terms)
        infosets = {int(treeplex.sequence_infosets[term.sequences[0]]) for term in played}
        if len(played) == len(terms) and len(infosets) == 1:
            counts = Counter(term.sequences[0] for term in played)
            return behaviour_terms(treeplex, counts, bound)
        coefficients, constant = self.linear(terms)
        return coefficients, bound - constant, False

    def linear(self, terms: Sequence[Term]) -> tuple[dict[int, Fraction], Fraction]:
        """Return a sum's coefficients by sequence, and its constant."""
        treeplex = self._treeplex(terms)
        coefficients: defaultdict[int, Fraction] = defaultdict(Fraction)
        constant = Fraction(0)
        for term in terms:
            if isinstance(term.functional, Risk):
                where = "alone before <= NUMBER" if self._what == "constraint" else "in a constraint"
                raise self.error(term.column, f"received a convex measure, which may only be used {where}")
            if term.functional is not None:
                vector = term.functional.coefficients
                exact = intended_fraction if term.counts else to_fraction
                weights = {s: exact(float(vector[s])) for s in np.flatnonzero(vector).tolist()}
                constant += to_fraction(term.functional.constant)
            elif term.behaviour:
                weights = {term.sequences[0]: 1 / self._reach_of(term, treeplex)}
            else:
                weights = dict.fromkeys(term.sequences, Fraction(1))
            for sequence, weight in weights.items():
                coefficients[sequence] += weight
        return coefficients, constant

    def _treeplex(self, terms: Sequence[Term]) -> Treeplex:
        return self._game.sequence_form.treeplexes[terms[0].player]

    def _reach_of(self, term: Term, treeplex: Treeplex) -> Fraction:
        infoset = int(treeplex.sequence_infosets[term.sequences[0]])
        reach = constant_reach(treeplex, infoset)
        if reach is None:
            name = one_line(f"{term.player}/{quoted_label(treeplex.infoset_labels[infoset])}", 60)
            where = "alone or in a sum over its actions"
            where = where if self._what == "constraint" else "in a constraint"
            raise self.error(
                term.column,
                f"the reach of {name} depends on the plan, so its probabilities may be used only {where}; expected a "
                "realization, plan(…)",
            )
        return reach


def _hint(text: str, known: Mapping[str, object]) -> str:
    """Return the known label that was probably meant, ignoring capitals; empty if none is close."""
    folded = {label.casefold(): label for label in known}
    close = difflib.get_close_matches(text.casefold()[:100], folded, n=1)
    return f" (did you mean {one_line(quoted_label(folded[close[0]]), 60)}?)" if close else ""
