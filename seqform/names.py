"""Infosets, sequences and actions by their labels, and their names as strings, ``SEAT/INFOSET:ACTION``.

See "Spellings of a label" in the docs.
"""

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

from .arrays import Integers
from .errors import InvalidStrategyError, nearest, one_line, one_of, shown
from .labels import is_label, is_same_label

#: Characters that have a meaning around a label.
SPECIAL = frozenset("\"':/()+<>=@")


class Labelled(Protocol):
    """An object that numbers infosets and sequences and knows their labels, such as a :class:`~treeplex.Treeplex`."""

    offsets: Integers
    infoset_labels: tuple[Hashable, ...]
    action_labels: tuple[tuple[Hashable, ...], ...]
    action_words: Mapping[str, Hashable]

    @property
    def infoset_numbers(self) -> dict[Hashable, int]:
        """Each infoset's number by its label."""

    def sequence_label(self, sequence: int) -> tuple[Hashable, Hashable] | None:
        """Return the labels of a sequence's infoset and action; ``None`` for the empty sequence."""


def quoted_label(label: object) -> str:
    """Return a label as a string, in double quotes if it contains spaces or special characters.

    Examples
    --------
    >>> from treeplex.seqform.names import quoted_label
    >>> quoted_label("K_rc"), quoted_label("two words")
    ('K_rc', '"two words"')
    """
    text = str(label)
    plain = text and text.isprintable() and not any(c.isspace() or c in SPECIAL for c in text)
    if plain:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else json.dumps(text)


def sequence_name(player: int, treeplex: Labelled, sequence: int) -> str | None:
    """Return ``SEAT/INFOSET:ACTION``; ``None`` for the empty sequence.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.names import sequence_name
    >>> sequence_name(0, load_game("kuhn").sequence_form.treeplexes[0], 2)
    '0/J_:b'
    """
    labels = treeplex.sequence_label(sequence)
    return None if labels is None else f"{player}/{quoted_label(labels[0])}:{quoted_label(labels[1])}"


def find_infoset(treeplex: Labelled, label: Any) -> int | None:
    """Return the number of the infoset with a label; ``None`` if there is none or the label is not valid."""
    number = treeplex.infoset_numbers.get(label) if is_label(label) else None
    if number is None or label.__class__ is str or is_same_label(label, treeplex.infoset_labels[number]):
        return number
    return None


def find_sequence(treeplex: Labelled, infoset: Hashable, action: Hashable) -> int:
    """Return the number of a sequence, as :meth:`Treeplex.sequence <treeplex.Treeplex.sequence>` does.

    Raises
    ------
    InvalidStrategyError
    """
    number = find_infoset(treeplex, infoset)
    if number is None:
        hint = nearest(str(infoset), map(str, treeplex.infoset_labels))
        raise InvalidStrategyError(f"there is no infoset {shown(infoset)}{hint}")
    actions = treeplex.action_labels[number]
    for label in (action, treeplex.action_words.get(action) if action.__class__ is str else None):
        place = actions.index(label) if label in actions else -1
        if place >= 0 and is_same_label(label, actions[place]):
            return int(treeplex.offsets[number]) + place
    known = name_actions(treeplex, number)
    raise InvalidStrategyError(
        f"infoset {shown(infoset)} has no action {shown(action)}{nearest(str(action), known)}; expected {one_of(known)}"
    )


def name_actions(treeplex: Labelled, infoset: int | None) -> dict[str, list[Hashable]]:
    """Return actions by their names in strings; see :meth:`~treeplex.Treeplex.actions_by_name`."""
    labels = treeplex.action_labels
    known = dict.fromkeys(chain.from_iterable(labels) if infoset is None else labels[infoset])
    names: dict[str, list[Hashable]] = {}
    for label in known:
        names.setdefault(str(label), []).append(label)
    words = treeplex.action_words.items()
    return names | {word: [label] for word, label in words if label in known and word not in names}


def unknown_label(labels: Iterable[Hashable], player: int, label: Any) -> InvalidStrategyError:
    """Return the error for an infoset that a player does not have; the error lists some that exist."""
    known = [one_line(str(one), 60) for one in labels]
    there = f"expected {one_of(known, 8)}" if known else "it has none"
    return InvalidStrategyError(f"player {player} has no infoset {shown(label)}{nearest(str(label), known)}; {there}")


def not_a_player(key: Any, infosets: Sequence[Collection[Hashable]]) -> InvalidStrategyError:
    """Return the error for an index of a profile that is not a player, such as an infoset.

    Parameters
    ----------
    key : object
    infosets : sequence of collections
        The labels of each player's infosets.
    """
    text = shown(key, 60)
    owners = [player for player, labels in enumerate(infosets) if is_label(key) and key in labels]
    meant = f"write {' or '.join(f'profile[{player}][{text}]' for player in owners)}"
    if not owners:
        near = nearest(str(key), map(str, chain.from_iterable(infosets)))
        meant = f"no player has an infoset {text}{near}, as in profile[PLAYER][{text}]"
    return InvalidStrategyError(f"a profile is indexed by player, 0 to {len(infosets) - 1}, got {text}: {meant}")


def how_to_write(given: Any) -> str:
    """Return how to write a strategy that is given as text, for messages; empty for other values."""
    if not isinstance(given, str):
        return ""
    return f": write treeplex.solvers.opponent_strategy({shown(given, 60)}, game, PLAYER)"
