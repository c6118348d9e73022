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
    """Return a player's infosets in order: name, actions, and the sequences that lead there.

    ``parent`` is the name of the only one, null for the empty sequence; in a flow polytope ``inflow`` lists them all
    with their weights, the empty sequence as null.
    """
    inflow = treeplex.inflow
    starts, sequences, weights = inflow.indptr.tolist(), inflow.indices.tolist(), inflow.data.tolist()
    records = []
    for number, (label, actions) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)):
        record: dict[str, Any] = {
            "infoset": f"{player}/{label_text(label)}",
            "actions": [label_text(action) for action in actions],
        }
        inflows = range(starts[number], starts[number + 1])
        names = [sequence_name(player, treeplex, sequences[place]) for place in inflows]
        if treeplex.single_parent:
            record["parent"] = names[0]
        else:
            record["inflow"] = [[name, weights[place]] for name, place in zip(names, inflows, strict=True)]
        records.append(record)
    return records
