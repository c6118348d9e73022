"""Names of infosets, sequences and actions in text, ``SEAT/INFOSET:ACTION``; see "Spellings of a label" in the docs."""

import json
from collections.abc import Hashable, Iterable

from .game import Game
from .polytope import Treeplex

#: Characters that have a meaning around a label.
SPECIAL = frozenset("\"':/()+<>=@")


def quoted_label(label: object) -> str:
    """Return a label as text, in double quotes if it holds blanks or characters with a meaning of their own.

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


def sequence_name(player: int, treeplex: Treeplex, sequence: int) -> str | None:
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


def actions_by_name(game: Game, player: int, infoset: int | None = None) -> dict[str, list[Hashable]]:
    """Return a player's actions by what text may call them.

    Parameters
    ----------
    game : Game
    player : int
    infoset : int, optional
        The number of an infoset, for its actions only; by default those of all infosets.

    Returns
    -------
    dict of str to list of labels
        By the text of each label first, then by each word of :attr:`Game.action_words <treeplex.Game.action_words>`
        whose label the player has; a word that is also the text of a label means that label. Several labels have one
        name where their texts are equal.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.names import actions_by_name
    >>> actions_by_name(load_game("kuhn"), player=0)
    {'p': ['p'], 'b': ['b'], 'pass': ['p'], 'bet': ['b']}
    """
    labels = game.sequence_form.treeplexes[player].action_labels
    here: Iterable[Hashable] = (label for each in labels for label in each) if infoset is None else labels[infoset]
    known = dict.fromkeys(here)
    names: dict[str, list[Hashable]] = {}
    for label in known:
        names.setdefault(str(label), []).append(label)
    words = game.action_words.items()
    return names | {word: [label] for word, label in words if label in known and word not in names}
