"""Checks of the values that rules return; valid values are returned, others raise an error.

:func:`~treeplex.seqform.enumeration.enumerate_game` handles tuples of strings, and chance outcomes labelled by strings,
without these checks.
"""

from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Any

from .budget import Watch
from .checks import is_whole
from .errors import ImperfectRecallError, shown
from .histories import name_history
from .labels import A_LABEL, WITHOUT_ORDER, check_one_label, has_order, is_label, is_listing, is_same_label
from .rationals import to_fraction
from .rules import CHANCE, PROBABILITY_TOLERANCE, Rules

#: A walk's data of an infoset: its first sequence, its parent, its actions, whether all of them are strings, its first
#: history and its label. A plain tuple, because walks read it at every history.
KnownInfoset = tuple[int, int, tuple[Hashable, ...], bool, int, Hashable]


class WrongAnswer(Exception):
    """An error in the values that the rules return for the current history of the walk."""


def checked_mover(who: Any, num_players: int) -> int:
    """Return the number of the player who moves, or of chance."""
    if not is_whole(who) or not CHANCE <= who < num_players:
        raise WrongAnswer(f"has player {shown(who)}, expected 0 to {num_players - 1}, or chance (-1)")
    return int(who)


def checked_actions(label: Hashable, actions: Sequence[Hashable], watch: Watch, number: int) -> tuple[Hashable, ...]:
    """Return the actions of an infoset as a tuple; `number` is the number of the history."""
    given = actions
    _check_order("actions", actions)
    try:
        actions = actions if actions.__class__ is tuple else tuple(watch.held(actions, number))
        hash(actions)
    except TypeError:
        raise WrongAnswer(
            f"has actions {shown(given)} in infoset {shown(label)}, expected a sequence of hashable labels"
        ) from None
    for action in actions:
        check_label(action, "action")
    if not actions:
        raise WrongAnswer(f"has no action in infoset {shown(label)}: a decision needs at least one")
    if len(set(actions)) != len(actions):
        twice = next(action for action in actions if actions.count(action) > 1)
        raise WrongAnswer(
            f"has action {shown(twice)} more than once in infoset {shown(label)}: actions must be distinct"
        )
    return actions


def _check_order(what: str, given: Any) -> None:
    if not has_order(given):
        raise WrongAnswer(f"has {what} {shown(given)}, {WITHOUT_ORDER.format(type(given).__name__, 'return')}")


def check_label(label: Hashable, what: str) -> None:
    """Reject a value that cannot be a label of the given kind, such as ``infoset``."""
    if label.__class__ is not str and not is_label(label):
        raise WrongAnswer(f"has {what} {shown(label)}, expected {A_LABEL}")


def _check_agreement(player: int, label: Hashable, actions: Sequence[Hashable], known: tuple[Hashable, ...]) -> None:
    """Raise an error if the actions differ from those at other histories of the infoset."""
    given = actions
    _check_order("actions", actions)
    try:
        actions = tuple(islice(actions, len(known) + 1))
        agree = actions == known and is_same_label(actions, known)
    except (TypeError, ValueError):  # not iterable, or labels that cannot be compared
        actions, agree = given, False
    if not agree:
        raise WrongAnswer(
            f"has actions {shown(actions)} in infoset {shown(label)} of player {player}, which has {shown(known)} "
            "elsewhere: the actions of an infoset must agree, in the same order"
        )


def checked_outcomes(
    outcomes: Sequence[tuple[Hashable, Any]], exact: bool, watch: Watch, number: int
) -> list[tuple[Hashable, Any]]:
    """Return the outcomes of a chance node with probabilities that sum to one, as floats or as fractions."""
    given = outcomes
    _check_order("chance outcomes", outcomes)
    try:
        if outcomes.__class__ is not list:
            outcomes = watch.held(outcomes, number)
        outcomes = [(action, probability) for action, probability in outcomes]
        distinct = len({action for action, _ in outcomes})
    except (TypeError, ValueError):
        raise WrongAnswer(
            f"has chance outcomes {shown(given)}, expected pairs of a hashable label and its probability"
        ) from None
    for action, _ in outcomes:
        check_label(action, "chance outcome")
    if not outcomes:
        raise WrongAnswer("is a chance node without outcomes: expected at least one")
    if distinct != len(outcomes):
        raise WrongAnswer("is a chance node with the same outcome twice: outcomes must be distinct")
    try:
        checked = [(action, float(probability)) for action, probability in outcomes]
    except (TypeError, ValueError, OverflowError):
        raise WrongAnswer(f"has chance probabilities {shown([p for _, p in outcomes])}, expected numbers") from None
    total = 0.0
    for action, probability in checked:
        if not 0.0 <= probability <= 1.0 + PROBABILITY_TOLERANCE:
            raise WrongAnswer(f"gives outcome {shown(action)} probability {probability}, expected a number from 0 to 1")
        total += probability
    if not abs(total - 1.0) <= PROBABILITY_TOLERANCE:
        raise WrongAnswer(f"has chance probabilities that sum to {total:.12g}, expected 1")
    if not exact:
        return checked
    try:
        fractions = [(action, to_fraction(probability)) for action, probability in outcomes]
    except (TypeError, ValueError):  # for example a string, which float() would parse
        raise WrongAnswer(f"has chance probabilities {shown([p for _, p in outcomes])}, expected numbers") from None
    scale = sum(probability for _, probability in fractions)
    return [(action, probability / scale) for action, probability in fractions]


def checked_payoffs(payoffs: Any, num_players: int) -> tuple[Any, ...]:
    """Return the payoffs of a leaf as a tuple."""
    if not is_listing(payoffs):
        raise WrongAnswer(f"has payoffs {shown(payoffs)}, expected a tuple of one number per player")
    if len(payoffs) != num_players:
        raise WrongAnswer(f"has {len(payoffs)} payoffs, expected {num_players}: one per player")
    return tuple(payoffs)


def not_finite(payoffs: Any) -> WrongAnswer:
    """Return the error for payoffs that are not finite numbers."""
    return WrongAnswer(f"has payoffs {shown(payoffs)}, expected finite numbers")


def check_known(
    rules: Rules, player: int, label: Hashable, parent: int, actions: Any, entry: KnownInfoset, number: int
) -> None:
    """Raise an error if a history does not belong to its infoset.

    Raises
    ------
    ImperfectRecallError
        If the player's own past differs.
    """
    _, above, known, plain, history, name = entry
    if label.__class__ is not str:
        check_one_label(label, name, f"two infosets of player {player}")
    if parent != above:
        first, second = name_history(rules, history), name_history(rules, number)
        raise ImperfectRecallError(
            f"infoset {shown(label)} of player {player} has imperfect recall: {first} and {second} are "
            "in it, but the player's own past differs; give them different infosets, or define plans as "
            "a flow (Treeplex.from_inflow)"
        )
    if actions is not known and (
        actions.__class__ is not tuple or actions != known or not (plain or is_same_label(actions, known))
    ):
        _check_agreement(player, label, actions, known)
