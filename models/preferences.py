"""Preferences for actions: how strongly a method should favour a style, and its permitted cost."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..seqform.arrays import Floats
from ..seqform.checks import check_number, is_whole
from ..seqform.errors import InvalidPreferenceError, UnsupportedProblemError, nearest, one_line, shown
from ..seqform.functional import dealt_form_of
from ..seqform.game import Game
from ..seqform.joint_form import JointPayoff
from ..seqform.labels import check_one_text, is_label, listed
from ..seqform.names import quoted_label
from ..seqform.polytope import Treeplex
from ..seqform.strategy import Strategy, check_same_game
from .constraints.tokens import Tokens, parse_number

_FIRST = "@first"

#: Tests whether a preference applies to an infoset, given the player, the infoset's label and its actions' labels.
Predicate = Callable[[int, Hashable, Sequence[Hashable]], bool]


@dataclass(frozen=True)
class Prefer:
    """A preference for actions: at its infosets, the regrets of these actions are multiplied by ``degree``.

    Parameters
    ----------
    actions : label, or collection of labels
        Actions, by label or by the game's longer words for them.
    degree : float
        δ ≥ 1 for these actions; the others have degree 1.
    player : int, optional
        The player; by default every player.
    infosets : label, collection of labels, or callable, optional
        The infosets; a callable takes ``(player, infoset label, action labels)`` and returns true or false. By default
        all infosets with one of the actions.
    first : bool
        Whether the preference applies only to the player's first decisions.
    vulnerability : float, optional
        β at its infosets; by default the method's.

    Raises
    ------
    InvalidPreferenceError
        If the degree is below 1, the vulnerability is below 0, or one of them is not finite.

    Notes
    -----
    Q. Ju, T. Tellier, M. Sun, Z. Fang and Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, equations 13 to 16.

    Examples
    --------
    >>> from treeplex import Prefer
    >>> bold = Prefer("b", 5, player=0, first=True)
    >>> bold.degrees(0, "K_", ("p", "b"), is_first=True)
    [1.0, 5.0]
    >>> bold.degrees(1, "K_b", ("p", "b"), is_first=True) is None
    True
    """

    actions: Any
    degree: float
    player: int | None = field(default=None, kw_only=True)
    infosets: Any = field(default=None, kw_only=True)
    first: bool = field(default=False, kw_only=True)
    vulnerability: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        # Beyond 1e9 the preferred action is the only one played at infosets where it is played at all.
        _check_amounts(self, "degree", "[1, 1e9]")
        if self.player is not None and not is_whole(self.player):
            raise InvalidPreferenceError(f"a preference has player {shown(self.player)}, expected a seat, such as 0")
        if not self.labels:
            raise InvalidPreferenceError("a preference has no action, expected at least one")

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The actions as given."""
        actions = self.actions
        if isinstance(actions, list | set | frozenset):
            return tuple(actions)
        return (actions,)

    def known_as(self, words: Mapping[str, Hashable]) -> "Prefer":
        """Return the same preference with labels instead of the game's longer words."""
        if not any(is_label(label) and label in words for label in self.labels):
            return self
        labels = [words.get(label, label) if isinstance(label, str) else label for label in self.labels]
        return replace(self, actions=labels)

    def degrees(
        self, player: int, infoset: Hashable, actions: Sequence[Hashable], is_first: bool
    ) -> list[float] | None:
        """Return δ of each action at an infoset; ``None`` if the preference does not apply."""
        if self.player not in (None, player) or (self.first and not is_first):
            return None
        wanted = [_among(action, self.labels) for action in actions]
        if not any(wanted) or not self._covers(player, infoset, actions):
            return None
        return [self.degree if each else 1.0 for each in wanted]

    def _covers(self, player: int, infoset: Hashable, actions: Sequence[Hashable]) -> bool:
        chosen = self.infosets
        if chosen is None:
            return True
        if callable(chosen):
            return bool(chosen(player, infoset, actions))
        many = isinstance(chosen, Collection) and not isinstance(chosen, str | tuple)
        return _among(infoset, tuple(chosen) if many else (chosen,))

    def __str__(self) -> str:
        seat = "" if self.player is None else f"{self.player}/"
        named = self.infosets if isinstance(self.infosets, str) else None
        where = "" if named is None else f"{quoted_label(named)}:"
        listed = "+".join(map(quoted_label, self.labels))
        return one_line(f"{seat}{where}{listed}{_FIRST if self.first else ''}:{self.degree:g}", 80)


@dataclass(frozen=True, eq=False)
class PreferStrategy:
    """A preference for a whole strategy: δ(I, a) = 1 + strength · σ(I, a).

    Parameters
    ----------
    strategy : Strategy
    strength : float
        At least 0.
    vulnerability : float, optional
        β at the infosets where σ is not uniform; by default the method's.

    Raises
    ------
    InvalidPreferenceError
        If the argument is not a strategy, or a number is negative or not finite.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.preferences import PreferStrategy
    >>> cautious = Strategy.from_dict(load_game("kuhn"), 0, {"K_": {"p": 1, "b": 0}})
    >>> PreferStrategy(cautious, strength=4).degrees(0, "K_", ("p", "b"), is_first=True)
    [5.0, 1.0]
    """

    strategy: Strategy
    strength: float
    vulnerability: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise InvalidPreferenceError(f"a preference is for {shown(self.strategy)}, expected a Strategy")
        _check_amounts(self, "strength", "[0, 1e9]")

    @property
    def player(self) -> int:
        """The player of the strategy."""
        return self.strategy.player

    def known_as(self, words: Mapping[str, Hashable]) -> "PreferStrategy":
        """Return the preference unchanged: strategies use their game's labels."""
        return self

    def degrees(
        self, player: int, infoset: Hashable, actions: Sequence[Hashable], is_first: bool
    ) -> list[float] | None:
        """Return δ of each action at an infoset; ``None`` if the strategy has no entry or is uniform there."""
        treeplex = self.strategy.treeplex
        number = treeplex.find_infoset(infoset) if player == self.player else None
        if number is None:
            return None
        start, stop = treeplex.offsets[number : number + 2].tolist()
        behaviour = dict(zip(treeplex.action_labels[number], self.strategy.behaviour[start:stop].tolist(), strict=True))
        shares = [behaviour.get(action, 0.0) for action in actions]
        if np.ptp(shares) == 0.0:
            return None
        return [1.0 + self.strength * share for share in shares]

    def __str__(self) -> str:
        return f"player {self.player}'s strategy, strength {self.strength:g}"


class _PreferenceText(Tokens):
    failure = InvalidPreferenceError
    example = "raise:5"


def parse_preference(text: str, player: int | None = None) -> Prefer:
    """Parse a preference: ``[SEAT/[INFOSET:]]ACTION[@first]:DELTA``.

    Parameters
    ----------
    text : str
        ACTION is a label, or one of the game's words for an action. With ``@first`` the preference applies only to
        first decisions; with INFOSET, only to that infoset. DELTA is a number of at least 1. Put labels in double
        quotes if they contain spaces or one of ``"':/()+<>=``.
    player : int, optional
        The player if the string names no seat; by default every player.

    Returns
    -------
    Prefer

    Raises
    ------
    InvalidPreferenceError
        If the string cannot be parsed.

    Examples
    --------
    >>> from treeplex.models.preferences import parse_preference
    >>> parse_preference("0/J_:b:10")
    Prefer(actions='b', degree=10.0, player=0, infosets='J_', first=False, vulnerability=None)
    >>> print(parse_preference("raise@first:5"))
    raise@first:5
    """
    whole = _PreferenceText("preference", text)
    if not text.strip():
        raise InvalidPreferenceError(f"the preference is {shown(text)}, expected a string such as 'raise:5'")
    head, _, number = text.rpartition(":")
    if not head.strip():
        raise whole.error(0, "the degree is missing; expected ACTION:DELTA, such as raise:5")
    number, column = number.strip(), len(head) + 1
    try:
        degree = float(parse_number(number))
    except ValueError:
        raise whole.error(column, f"received {shown(number)}, expected a degree, such as 5") from None
    if degree < 1.0:
        raise whole.error(column, f"received the degree {number}, expected 1 or more")
    reader = _PreferenceText("preference", head)
    seat, infoset = player, None
    action = reader.take_label("an action, such as raise")
    if reader.take_if("/"):
        if not action.text.isdecimal() or len(action.text) > 9:
            raise reader.error(action.start, f"received the seat {action.shown}, expected a number, such as 0")
        seat = int(action.text)
        action = reader.take_label("an action, or the label of an infoset")
        if reader.take_if(":"):
            infoset, action = action.text, reader.take_label("the label of an action")
    label = action.text
    first = reader.peek().kind == "word" and reader.peek().text == _FIRST
    if first:
        reader.take()
    elif action.kind == "word" and label.endswith(_FIRST):
        label, first = label.removesuffix(_FIRST), True
    rest = reader.peek()
    if rest.kind != "end":
        raise reader.error(rest.start, f"received {rest.shown}, expected : and a degree")
    if not label:
        raise reader.error(action.start, f"received {action.shown}, expected an action before {_FIRST}")
    return Prefer(label, degree, player=seat, infosets=infoset, first=first)


def _check_amounts(preference: Any, amount: str, interval: str) -> None:
    """Check the degree and the vulnerability of a preference, and store both as floats."""
    for name, where in ((amount, interval), ("vulnerability", "[0, inf)")):
        value = getattr(preference, name)
        if value is not None or name == amount:
            checked = check_number(value, f"a preference's {name}", InvalidPreferenceError, where)
            object.__setattr__(preference, name, checked)


def _among(label: Hashable, wanted: Collection[Hashable]) -> bool:
    """Return whether a label, or its string form, is among the wanted ones."""
    return any(label == each or (isinstance(each, str) and str(label) == each) for each in wanted)


Units = Literal["counterfactual", "conditional"]

#: The units of a vulnerability: counterfactual payoff, or payoff given that the other players reach the infoset.
UNITS = ("counterfactual", "conditional")


@dataclass(frozen=True, eq=False)
class Preference:
    """Degrees δ(I, a) and vulnerabilities β(I) on a game; :func:`preference_on` makes one.

    Attributes
    ----------
    degrees : tuple of ndarray of float64, each shape (num_sequences,)
        δ ≥ 1 of each sequence's action, one array per player; 1 for the empty sequence.
    vulnerability : tuple of ndarray of float64, each shape (num_infosets,)
        β ≥ 0 of each infoset, one array per player, in payoff units.
    units : {"counterfactual", "conditional"}
        The regret that β is compared with: the averaged counterfactual regret, or that regret divided by the
        probability with which chance and the others reach the infoset.
    fingerprint : str
        The fingerprint of the game.
    stated : tuple of Prefer or PreferStrategy
        The preferences from which it was made, with the game's own labels.
    about : tuple of ndarray of bool, each shape (num_infosets,)
        The infosets to which any of these preferences applies.
    """

    degrees: tuple[Floats, ...]
    vulnerability: tuple[Floats, ...]
    units: Units
    fingerprint: str
    stated: tuple[Prefer | PreferStrategy, ...]
    about: tuple[Any, ...]

    @property
    def is_vulnerable(self) -> bool:
        """Whether any vulnerability is positive."""
        return any(bool(each.any()) for each in self.vulnerability)

    def fallback(self, treeplex: Treeplex, player: int) -> Floats:
        """Return the strategy played where no regret exceeds β: (δ − 1) / Σ (δ − 1), or uniform where that is 0 / 0.

        Returns
        -------
        ndarray of float64, shape (num_sequences,)
            1 for the empty sequence.
        """
        counts = treeplex.num_actions
        result = np.ones(treeplex.num_sequences)
        if len(counts):
            excess = self.degrees[player][1:] - 1.0
            totals = np.repeat(np.add.reduceat(excess, np.cumsum(counts) - counts), counts)
            result[1:] = np.where(
                totals > 0.0, excess / np.where(totals > 0.0, totals, 1.0), np.repeat(1.0 / counts, counts)
            )
        return result


def preference_on(
    game: Game,
    prefer: Any = (),
    vulnerability: float = 0.0,
    units: Units = "conditional",
) -> Preference:
    """Apply preferences to a game.

    Parameters
    ----------
    game : Game
    prefer : Prefer, PreferStrategy or str, or a collection of them
        Strings are parsed by :func:`parse_preference`. If several apply to an infoset, the last one counts.
    vulnerability : float
        β at the infosets of preferences without their own.
    units : {"counterfactual", "conditional"}

    Returns
    -------
    Preference

    Raises
    ------
    InvalidPreferenceError
        If a preference cannot be parsed, applies to nothing in the game, or is given twice with different degrees.
    InvalidStrategyError
        If a preference is for a strategy of another game.
    UnsupportedProblemError
        If units are conditional, β is not zero, and a player's plans form a flow polytope or the game has no leaves.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.preferences import preference_on
    >>> preference = preference_on(load_game("kuhn"), "0/b@first:5", vulnerability=0.01)
    >>> preference.degrees[0][:5], preference.vulnerability[0]
    (array([1., 1., 5., 1., 1.]), array([0.01, 0.  , 0.01, 0.  , 0.01, 0.  ]))
    """
    if units not in UNITS:
        raise InvalidPreferenceError(f"units are {shown(units)}, expected {' or '.join(UNITS)}")
    default = check_number(vulnerability, "a preference's vulnerability", InvalidPreferenceError, "[0, inf)")
    # A game may have longer words for its actions.
    words = game.action_words
    stated = [preference.known_as(words) for preference in preferences_of(prefer)]
    _check_distinct(stated)
    for preference in stated:
        if isinstance(preference, PreferStrategy):
            check_same_game(preference.strategy, game)
        elif preference.player is not None and not 0 <= preference.player < game.num_players:
            raise InvalidPreferenceError(
                f"the preference {preference} is for player {preference.player}, expected a seat from 0 to "
                f"{game.num_players - 1}"
            )
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        taken = [label for labels in treeplex.action_labels for label in labels]
        for preference in stated:
            if isinstance(preference, Prefer) and preference.player in (None, player):
                owner = f"player {player} of {game.spec}"
                check_one_text(preference.infosets, treeplex.infoset_labels, owner, InvalidPreferenceError)
                for label in preference.labels:
                    check_one_text(label, taken, owner, InvalidPreferenceError)
    degrees, betas, abouts = [], [], []
    used = [False] * len(stated)
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        delta, beta = np.ones(treeplex.num_sequences), np.zeros(treeplex.num_infosets)
        about = np.zeros(treeplex.num_infosets, dtype=bool)
        first = treeplex.depths == 0
        for infoset, (label, actions) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)):
            start, stop = treeplex.offsets[infoset : infoset + 2].tolist()
            for index, preference in enumerate(stated):
                answer = preference.degrees(player, label, actions, bool(first[infoset]))
                if answer is not None:
                    used[index] = about[infoset] = True
                    delta[start:stop] = answer
                    beta[infoset] = default if preference.vulnerability is None else preference.vulnerability
        degrees.append(delta)
        betas.append(beta)
        abouts.append(about)
    for preference, was_used in zip(stated, used, strict=True):
        if not was_used:
            raise InvalidPreferenceError(_nothing(game, preference))
    laid_out = Preference(tuple(degrees), tuple(betas), units, game.fingerprint, tuple(stated), tuple(abouts))
    if laid_out.is_vulnerable and units == "conditional":
        form = game.sequence_form
        is_known = form.leaves is not None or isinstance(form.payoffs, JointPayoff) or dealt_form_of(game) is not None
        if not is_known or not all(treeplex.single_parent for treeplex in form.treeplexes):
            raise UnsupportedProblemError(
                "a vulnerability in conditional units requires the probability that the others reach an infoset, but "
                f"{game.spec} has no table of leaves: use units='counterfactual'"
            )
    return laid_out


def preferences_of(prefer: Any, player: int | None = None) -> list[Prefer | PreferStrategy]:
    """Return preferences, given in any form, as a list; strings without a seat apply to ``player``.

    Raises
    ------
    InvalidPreferenceError
    """
    single = isinstance(prefer, Prefer | PreferStrategy | str) or not isinstance(prefer, Iterable)
    found: list[Prefer | PreferStrategy] = []
    for one in [prefer] if single else listed(prefer, "the preferences are", InvalidPreferenceError):
        preference = parse_preference(one, player) if isinstance(one, str) else one
        if not isinstance(preference, Prefer | PreferStrategy):
            raise InvalidPreferenceError(
                f"a preference is {shown(one)}, expected a Prefer, a PreferStrategy or a string such as 'raise:5'"
            )
        found.append(preference)
    return found


def _check_distinct(stated: list[Prefer | PreferStrategy]) -> None:
    """Raise an error if the same item is preferred with different degrees."""
    known: dict[Any, Prefer] = {}
    for preference in stated:
        if isinstance(preference, Prefer) and not callable(preference.infosets):
            key = (frozenset(preference.labels), preference.player, str(preference.infosets), preference.first)
            other = known.setdefault(key, preference)
            if other.degree != preference.degree:
                raise InvalidPreferenceError(f"the preferences {other} and {preference} contradict each other")


def _nothing(game: Game, preference: Prefer | PreferStrategy) -> str:
    """Return the reason why a preference applies to nothing in a game."""
    if isinstance(preference, PreferStrategy):
        return f"the preference for {preference} has no effect: the strategy plays uniformly everywhere"
    players = range(game.num_players) if preference.player is None else [preference.player]
    treeplexes = [game.sequence_form.treeplexes[player] for player in players]
    known = {str(label) for treeplex in treeplexes for labels in treeplex.action_labels for label in labels}
    whose = "no player" if preference.player is None else f"player {preference.player}"
    for label in preference.labels:
        if str(label) not in known:
            words = sorted({*known, *game.action_words})
            hint = nearest(str(label), words)
            listed = f"; expected one of {', '.join(map(quoted_label, words))}" if len(words) <= 12 else ""
            has = "has" if preference.player is None else "has no"
            return f"the preference {preference}: {whose} of {game.spec} {has} action {shown(label)}{hint}{listed}"
    where = preference.infosets
    if isinstance(where, Hashable) and not callable(where) and where is not None:
        return f"the preference {preference}: {whose} of {game.spec} has no infoset {shown(where)} with that action"
    return f"the preference {preference} applies to no infoset of {game.spec}"
