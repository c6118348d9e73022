"""Strategies as dictionaries, as tables of text and as frames of pandas."""

from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from .arrays import Floats
from .errors import InvalidStrategyError, needing, shown
from .polytope import Treeplex

if TYPE_CHECKING:
    import pandas as pd

    from .strategy import Strategy


def behaviour_of_dict(
    treeplex: Treeplex, player: int, behaviour: Mapping[Hashable, Mapping[Hashable, float]]
) -> Floats:
    """Return the behaviour of ``{infoset: {action: probability}}``; infosets left out play uniformly.

    Raises
    ------
    InvalidStrategyError
        If an infoset or action is unknown, or what should be a probability is not a number.
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
                f"infoset {shown(label)} has {shown(dict(probabilities))}: two names of one action"
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


def text_table(strategy: "Strategy", digits: int) -> str:
    """Return a strategy as text, a line an infoset."""
    treeplex = strategy.treeplex
    actions = dict.fromkeys(chain.from_iterable(treeplex.action_labels))
    rows = [["infoset", "reach", *map(str, actions)]]
    reach = treeplex.reach(strategy.plan)
    for number, label in enumerate(treeplex.infoset_labels):
        played = strategy._distribution(number)
        cells = [f"{played[action]:.{digits}f}" if action in played else "" for action in actions]
        rows.append([str(label), f"{reach[number]:.{digits}f}", *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def frame_of(strategy: "Strategy") -> "pd.DataFrame":
    """Return a strategy as a DataFrame, a row a sequence.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    with needing("a DataFrame needs pandas", "frames"):
        import pandas as pd
    treeplex = strategy.treeplex
    infosets = [treeplex.infoset_labels[i] for i in treeplex.sequence_infosets[1:].tolist()]
    return pd.DataFrame(
        {
            "infoset": infosets,
            "action": [action for actions in treeplex.action_labels for action in actions],
            "probability": strategy.behaviour[1:],
            "realization": strategy.plan[1:],
        }
    )


def joint_frame(strategies: "Iterable[Strategy]") -> "pd.DataFrame":
    """Return strategies as one DataFrame, with a column of players before those of :func:`frame_of`."""
    frames = {strategy.player: strategy.to_frame() for strategy in strategies}
    import pandas as pd

    return pd.concat(frames, names=["player"]).reset_index("player").reset_index(drop=True)
