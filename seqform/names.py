"""Names of infosets, sequences and actions in text, ``SEAT/INFOSET:ACTION``; see "Spellings of a label" in the docs."""

import json

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
