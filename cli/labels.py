"""Infosets as records, under the names that options use."""

from typing import TYPE_CHECKING, Any

from ..seqform.names import quoted_label, sequence_name

if TYPE_CHECKING:
    from ..seqform.polytope import Treeplex


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
            "infoset": f"{player}/{quoted_label(label)}",
            "actions": [quoted_label(action) for action in actions],
        }
        inflows = range(starts[number], starts[number + 1])
        names = [sequence_name(player, treeplex, sequences[place]) for place in inflows]
        if treeplex.single_parent:
            record["parent"] = names[0]
        else:
            record["inflow"] = [[name, weights[place]] for name, place in zip(names, inflows, strict=True)]
        records.append(record)
    return records
