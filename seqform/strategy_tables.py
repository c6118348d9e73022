"""Strategies as dictionaries, as text tables and as pandas DataFrames."""

from collections.abc import Hashable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from .arrays import Floats
from .errors import InvalidStrategyError, needing, shown
from .polytope import Treeplex
from .sheet import Column, Table, decimals

if TYPE_CHECKING:
    import pandas as pd


def behaviour_of_dict(
    treeplex: Treeplex, player: int, behaviour: Mapping[Hashable, Mapping[Hashable, float]]
) -> Floats:
    """Return the behaviour of ``{infoset: {action: probability}}``; omitted infosets play uniformly.

    Raises
    ------
    InvalidStrategyError
        If an infoset or action is unknown, or a probability is not a number.
    """
    vector = treeplex.uniform_behaviour()
    if not isinstance(behaviour, Mapping):
        raise InvalidStrategyError(
            f"the behaviour of player {player} is {shown(behaviour)}, expected a mapping of infosets to mappings "
            "of actions to probabilities"
        )
    for label, probabilities in behaviour.items():
        infoset = treeplex.find_infoset(label)
        if infoset is None:
            raise treeplex.unknown_infoset(player, label)
        if not isinstance(probabilities, Mapping):
            raise InvalidStrategyError(
                f"infoset {shown(label)} has {shown(probabilities)}, expected a mapping of actions to probabilities"
            )
        sequences = [treeplex.sequence(label, action) for action in probabilities]
        if len(set(sequences)) < len(sequences):
            raise InvalidStrategyError(
                f"infoset {shown(label)} has {shown(dict(probabilities))}, which names one action twice"
            )
        first, last = treeplex.offsets[infoset : infoset + 2].tolist()
        vector[first:last] = 0.0
        try:
            vector[sequences] = list(probabilities.values())
        except (TypeError, ValueError, OverflowError):
            raise InvalidStrategyError(
                f"infoset {shown(label)} has probabilities {shown(dict(probabilities))}, expected numbers"
            ) from None
    return vector


def text_table(behaviour: Mapping[Hashable, Mapping[Hashable, float]], reach: Floats, digits: int) -> str:
    """Return ``{infoset: {action: probability}}`` and the reach of each infoset as text, one line per infoset."""
    unit = partial(decimals, digits=digits)
    actions = list(dict.fromkeys(chain.from_iterable(behaviour.values())))
    columns = [Column("infoset"), Column("reach", unit), *(Column("", unit, str(action)) for action in actions)]
    rows = [
        (label, begun, *map(played.get, actions))
        for begun, (label, played) in zip(reach.tolist(), behaviour.items(), strict=True)
    ]
    return str(Table(columns, rows))


def frame_of(treeplex: Treeplex, behaviour: Floats, plan: Floats) -> "pd.DataFrame":
    """Return a behaviour strategy and its plan as a DataFrame, one row per sequence.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    with needing("a DataFrame needs pandas", "frames"):
        import pandas as pd
    infosets = [treeplex.infoset_labels[i] for i in treeplex.sequence_infosets[1:].tolist()]
    return pd.DataFrame(
        {
            "infoset": infosets,
            "action": [action for actions in treeplex.action_labels for action in actions],
            "probability": behaviour[1:],
            "realization": plan[1:],
        }
    )


def joint_frame(frames: "Mapping[int, pd.DataFrame]") -> "pd.DataFrame":
    """Join the players' frames, with a column of players before the columns of :func:`frame_of`."""
    import pandas as pd

    return pd.concat(frames, names=["player"]).reset_index("player").reset_index(drop=True)
