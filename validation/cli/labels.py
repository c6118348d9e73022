"""How infosets and sequences are called on the command line: ``SEAT/INFOSET:ACTION``."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...seqform.polytope import Treeplex

#: Characters that have a meaning around a label.
_SPECIAL = frozenset("\"':/()+<>=")


def label_text(label: object) -> str:
    """Return a label as text, in double quotes if it holds blanks or characters with a meaning of their own.

    Examples
    --------
    >>> from treeplex.validation.cli.labels import label_text
    >>> label_text("K_rc"), label_text("two words")
    ('K_rc', '"two words"')
    """
    text = str(label)
    plain = text and text.isprintable() and not any(c.isspace() or c in _SPECIAL for c in text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def sequence_name(player: int, treeplex: "Treeplex", sequence: int) -> str | None:
    """Return ``SEAT/INFOSET:ACTION``; ``None`` for the empty sequence.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.validation.cli.labels import sequence_name
    >>> sequence_name(0, load_game("kuhn").sequence_form.treeplexes[0], 2)
    '0/J_:b'
    """
    labels = treeplex.sequence_label(sequence)
    return None if labels is None else f"{player}/{label_text(labels[0])}:{label_text(labels[1])}"


def infoset_records(player: int, treeplex: "Treeplex") -> list[dict[str, Any]]:
    """Return a player's infosets in order: name, actions and the name of the parent sequence."""
    parents = treeplex.parents.tolist()
    return [
        {
            "infoset": f"{player}/{label_text(label)}",
            "actions": [label_text(action) for action in actions],
            "parent": sequence_name(player, treeplex, parent),
        }
        for label, actions, parent in zip(treeplex.infoset_labels, treeplex.action_labels, parents, strict=True)
    ]
