"""Preferences laid out on a game: a degree for every sequence, a vulnerability for every infoset."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidPreferenceError, UnsupportedProblemError, nearest, shown
from ...seqform.game import Game
from ...seqform.names import quoted_label
from ...seqform.polytope import Treeplex
from ...seqform.strategy import check_same_game
from .prefer import Prefer, PreferStrategy, Wish, checked, parse_preference

Units = Literal["counterfactual", "conditional"]

#: What a vulnerability may be in: counterfactual payoff, or payoff given that the others allow the infoset.
UNITS = ("counterfactual", "conditional")


@dataclass(frozen=True, eq=False)
class Preference:
    """Degrees δ(I, a) and vulnerabilities β(I) on a game; :func:`preference_on` makes one.

    Attributes
    ----------
    degrees : tuple of ndarray of float64, each shape (num_sequences,)
        δ ≥ 1 of each sequence's action, one array a player; 1 for the empty sequence.
    vulnerability : tuple of ndarray of float64, each shape (num_infosets,)
        β ≥ 0 of each infoset, one array a player, in payoff units.
    units : {"counterfactual", "conditional"}
        What β is held against: the averaged counterfactual regret, or that divided by the probability with which
        chance and the others allow the infoset.
    fingerprint : str
        Of the game.
    wishes : tuple of Prefer or PreferStrategy
        What it was made of, with the game's own labels.
    about : tuple of ndarray of bool, each shape (num_infosets,)
        Which infosets any of these is about.
    """

    degrees: tuple[Floats, ...]
    vulnerability: tuple[Floats, ...]
    units: Units
    fingerprint: str
    wishes: tuple[Prefer | PreferStrategy, ...]
    about: tuple[Any, ...]

    @property
    def is_vulnerable(self) -> bool:
        """Whether any vulnerability is above zero."""
        return any(bool(each.any()) for each in self.vulnerability)

    def fallback(self, treeplex: Treeplex, player: int) -> Floats:
        """Return what is played where no regret is above β: (δ − 1) / Σ (δ − 1), uniform where that is 0 / 0.

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
    """Lay preferences out on a game.

    Parameters
    ----------
    game : Game
    prefer : Prefer, PreferStrategy or str, or a collection of them
        Texts as :func:`parse_preference` reads them. Where several are about an infoset the last one counts.
    vulnerability : float
        β of the infosets that a preference is about, if it has none of its own.
    units : {"counterfactual", "conditional"}

    Returns
    -------
    Preference

    Raises
    ------
    InvalidPreferenceError
        If a preference cannot be read, is about nothing in the game, or stands there twice with different degrees.
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
    default = checked(vulnerability, "vulnerability", 0.0, "a number of at least 0")
    # A game may have longer words for its actions.
    words = game.action_words
    wishes = [wish.known_as(words) for wish in wishes_of(prefer)]
    _check_distinct(wishes)
    for wish in wishes:
        if isinstance(wish, PreferStrategy):
            check_same_game(wish.strategy, game)
        elif wish.player is not None and not 0 <= wish.player < game.num_players:
            raise InvalidPreferenceError(
                f"the preference {wish} is player {wish.player}'s, expected a seat from 0 to {game.num_players - 1}"
            )
    degrees, betas, abouts = [], [], []
    used = [False] * len(wishes)
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        delta, beta = np.ones(treeplex.num_sequences), np.zeros(treeplex.num_infosets)
        about = np.zeros(treeplex.num_infosets, dtype=bool)
        first = _first_decisions(treeplex)
        for infoset, (label, actions) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)):
            start, stop = treeplex.offsets[infoset : infoset + 2].tolist()
            for index, wish in enumerate(wishes):
                answer = wish.degrees(player, label, actions, bool(first[infoset]))
                if answer is not None:
                    used[index] = about[infoset] = True
                    delta[start:stop] = answer
                    beta[infoset] = default if wish.vulnerability is None else wish.vulnerability
        degrees.append(delta)
        betas.append(beta)
        abouts.append(about)
    for wish, was_used in zip(wishes, used, strict=True):
        if not was_used:
            raise InvalidPreferenceError(_nothing(game, wish))
    preference = Preference(tuple(degrees), tuple(betas), units, game.fingerprint, tuple(wishes), tuple(abouts))
    if preference.is_vulnerable and units == "conditional":
        form = game.sequence_form
        if form.leaves is None or not all(treeplex.single_parent for treeplex in form.treeplexes):
            raise UnsupportedProblemError(
                f"a vulnerability in conditional units needs to know how often the others allow an infoset, and "
                f"{game.spec} has no table of leaves: use units='counterfactual'"
            )
    return preference


def wishes_of(prefer: Any, player: int | None = None) -> list[Prefer | PreferStrategy]:
    """Return preferences, however they are given, as a list; texts without a seat are about ``player``.

    Raises
    ------
    InvalidPreferenceError
    """
    single = isinstance(prefer, Prefer | PreferStrategy | str) or not isinstance(prefer, Iterable)
    found: list[Prefer | PreferStrategy] = []
    for one in [prefer] if single else prefer:
        wish = parse_preference(one, player) if isinstance(one, str) else one
        if not isinstance(wish, Prefer | PreferStrategy):
            raise InvalidPreferenceError(
                f"a preference is {shown(one)}, expected a Prefer, a PreferStrategy or text such as 'raise:5'"
            )
        found.append(wish)
    return found


def _first_decisions(treeplex: Treeplex) -> Any:
    """Return which infosets lie below no action of the player's own."""
    if treeplex.single_parent:
        return treeplex.parents == 0
    return np.asarray(treeplex.depths == 0)


def _check_distinct(wishes: list[Prefer | PreferStrategy]) -> None:
    """Refuse one thing preferred twice to different degrees."""
    known: dict[Any, Prefer] = {}
    for wish in wishes:
        if isinstance(wish, Prefer) and not callable(wish.infosets):
            key = (frozenset(wish.labels), wish.player, str(wish.infosets), wish.first)
            other = known.setdefault(key, wish)
            if other.degree != wish.degree:
                raise InvalidPreferenceError(f"the preferences {other} and {wish} contradict each other")


def _nothing(game: Game, wish: Prefer | PreferStrategy) -> str:
    """Return why a preference is about nothing in a game."""
    if isinstance(wish, PreferStrategy):
        return f"the preference for {wish} is for none: the strategy plays uniformly everywhere"
    players = range(game.num_players) if wish.player is None else [wish.player]
    treeplexes = [game.sequence_form.treeplexes[player] for player in players]
    known = {str(label) for treeplex in treeplexes for labels in treeplex.action_labels for label in labels}
    whose = "nobody" if wish.player is None else f"player {wish.player}"
    for label in wish.labels:
        if str(label) not in known:
            words = sorted({*known, *game.action_words})
            hint = nearest(str(label), words)
            listed = f"; expected one of {', '.join(map(quoted_label, words))}" if len(words) <= 12 else ""
            has = "has" if wish.player is None else "has no"
            return f"the preference {wish}: {whose} of {game.spec} {has} action {shown(label)}{hint}{listed}"
    if isinstance(wish.infosets, Hashable) and not callable(wish.infosets) and wish.infosets is not None:
        return f"the preference {wish}: {whose} of {game.spec} has no infoset {shown(wish.infosets)} with that action"
    return f"the preference {wish} is about no infoset of {game.spec}"


def iterate_degrees(
    wishes: Iterable[Wish], player: int, infoset: Hashable, actions: tuple[Hashable, ...], is_first: bool
) -> Iterator[tuple[list[float], float | None]]:
    """Yield what each preference that is about an infoset says of it, in order: degrees and vulnerability."""
    for wish in wishes:
        answer = wish.degrees(player, infoset, actions, is_first)
        if answer is not None:
            yield answer, wish.vulnerability
