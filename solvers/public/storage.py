"""Conversion of a state to another precision."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...seqform.arrays import Indices
from .arrays import TOP, PlayArrays
from .layout import PublicLayout, rounded_up


def named(state: PlayArrays) -> dict[str, Any]:
    """Return the arrays of a state by name; forecasts are empty if there are none."""
    pairs = {"regrets": state.regrets, "sums": state.sums, "forecast": state.forecast}
    if state.scales is not None:
        pairs["scales"] = state.scales
    arrays = {f"{name} {player}": pair[player] for name, pair in pairs.items() for player in (0, 1)}
    return {"clock": state.clock, "calls": state.calls, **arrays}


def converted(layout: PublicLayout, found: Mapping[str, Any], state: PlayArrays) -> dict[str, Any]:
    """Return named arrays of any precision in the precision of a state; arrays of other names are dropped.

    Numbers are rounded to the nearest if the precision is lower.
    """
    wanted, arrays = named(state), dict(found)
    if "scales 0" in arrays and "scales 0" not in wanted:
        for player in (0, 1):
            sums, scales = arrays[f"sums {player}"], arrays[f"scales {player}"]
            _, rows, lengths = _nodes(layout, player)
            arrays[f"sums {player}"] = sums * np.repeat(scales[rows], lengths)
            for name in (f"regrets {player}", f"forecast {player}"):
                arrays[name] = (arrays[name].astype(np.uint32) << 16).view(np.float32)
    elif "scales 0" in wanted and "scales 0" not in arrays:
        for player in (0, 1):
            sums = arrays[f"sums {player}"].astype(np.float32)
            starts, rows, lengths = _nodes(layout, player)
            units = np.maximum.reduceat(sums, starts) / TOP if len(starts) else np.zeros(0, dtype=np.float32)
            scales = arrays[f"scales {player}"] = np.zeros_like(wanted[f"scales {player}"])
            scales[rows] = units
            arrays[f"sums {player}"] = np.rint(sums / np.repeat(np.where(units > 0.0, units, 1.0), lengths))
            for name in (f"regrets {player}", f"forecast {player}"):
                arrays[name] = (arrays[name].astype(np.float32).view(np.uint32) + 2**15) >> 16
    return {name: arrays[name].astype(array.dtype) for name, array in wanted.items() if name in arrays}


def _nodes(layout: PublicLayout, player: int) -> tuple[Indices, Indices, Indices]:
    """Return the first numbers of a player's decision nodes, their scales, and their counts."""
    starts, rows = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    wide = rounded_up(layout.counts[:, player])
    for board, number in enumerate(layout.shape_of):
        shape = layout.shapes[number]
        own = shape.rows[shape.kinds == player]
        starts.append(layout.bases[board, player] + own * wide[board])
        rows.append(layout.scales[board, player] + own)
    begun = np.concatenate(starts)
    return begun, np.concatenate(rows), np.diff(begun, append=layout.sizes[player])
