"""Preferences for actions as the compiled loop takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...seqform.frequency import leaves_below, reach_matrix
from .flow_pieces import diagonal_pieces
from .layout import KernelLayout
from .loop import LeaningArrays, PreferenceArrays, PricingArrays
from .pieces import Pieces, Runs
from .placement import Floats, Integers, starts_of, unsigned

if TYPE_CHECKING:
    from ...models.preferences import Preference
    from ...seqform.game import Game


def kernel_preferences(game: Game, preference: Preference, layout: KernelLayout, on_one: bool) -> PreferenceArrays:
    """Lay preferences out for the compiled loop.

    Parameters
    ----------
    game : Game
    preference : Preference
        On that game.
    layout : KernelLayout
        Of its sequence form.
    on_one : bool
        Whether all is played on the first action whose δ (R − β)⁺ is largest; otherwise in proportion to these.

    Returns
    -------
    PreferenceArrays
        With scratch of their own, so that two runs at once need two of them.
    """
    treeplexes = game.sequence_form.treeplexes
    degrees, fallback = np.ones(layout.size), np.ones(layout.size)
    costs = np.zeros(layout.size)
    # Places that are no sequences play as if they were an infoset without preferences.
    for start, count, arity, _ in layout.buckets.tolist():
        fallback[start : start + count * arity] = 1.0 / arity
    for player, treeplex in enumerate(treeplexes):
        layout.from_user(player, preference.degrees[player], out=degrees)
        layout.from_user(player, preference.fallback(treeplex, player), out=fallback)
    depends = preference.is_vulnerable and preference.units == "conditional"
    two = layout.num_players == 2
    if preference.is_vulnerable and not depends:
        for player, treeplex in enumerate(treeplexes):
            costs[layout.positions[player][treeplex.offsets[:-1]]] = preference.vulnerability[player] / layout.unit
    reaching = _reaching(game, preference, layout) if depends and two else Runs.none(layout.number)
    infosets, histories, ranges, weights = _histories(game, preference, layout, depends and not two)
    # The best-response rule is another one without preferences too.
    leaning = [
        on_one or bool((delta != 1.0).any() or beta.any())
        for delta, beta in zip(preference.degrees, preference.vulnerability, strict=True)
    ]
    local = LeaningArrays(
        degrees=_aligned(degrees, layout),
        fallback=_aligned(fallback, layout),
        costs=_aligned(costs, layout),
        on_one=np.array([on_one], dtype=np.uint8),
    )
    pricing = PricingArrays(
        reaching=reaching,
        seen=_aligned(np.zeros(layout.size), layout),
        summed=np.zeros(layout.num_players, dtype=np.int64),
        infosets=unsigned(infosets),
        histories=unsigned(histories),
        ranges=unsigned(ranges),
        weights=weights.astype(layout.number),
    )
    return PreferenceArrays(np.array(leaning, dtype=np.uint8), np.array([depends], dtype=np.uint8), local, pricing)


def _aligned(vector: Floats, layout: KernelLayout) -> Any:
    return np.require(vector.astype(layout.number), requirements=["C", "A", "W", "E"])


def _reaching(game: Game, preference: Preference, layout: KernelLayout) -> Runs:
    """Return the costs of both players' infosets by the opponent's positions."""
    pieces: list[Pieces] = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        beta = preference.vulnerability[player]
        matrix = reach_matrix(game, player, beta > 0.0).tocoo()
        rows, columns = (axis.astype(np.int64) for axis in matrix.coords)
        values = matrix.data * beta[rows] / layout.unit
        firsts = layout.positions[player][treeplex.offsets[rows]]
        places = layout.positions[1 - player][columns]
        pieces.append(diagonal_pieces(firsts, places, values, layout.width))
    return Runs.of(pieces, layout.number)


def _histories(
    game: Game, preference: Preference, layout: KernelLayout, wanted: bool
) -> tuple[Integers, Integers, Integers, Floats]:
    """Return histories that stand for the infosets that cost something, player by player, for more than two players."""
    infosets: list[Integers] = []
    histories: list[Any] = []
    weights: list[Floats] = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes if wanted else ()):
        beta = preference.vulnerability[player]
        rows, leaves = leaves_below(game, player, beta > 0.0)
        table = game.sequence_form.leaves
        assert table is not None
        infosets.append(layout.positions[player][treeplex.offsets[rows]])
        sequences = table.sequences[leaves].astype(np.int64)
        sequences[:, player] = 0
        histories.append(np.stack([layout.positions[i][sequences[:, i]] for i in range(layout.num_players)], axis=1))
        weights.append(table.chance[leaves] * beta[rows] / layout.unit)
    return (
        _joined(infosets, np.zeros(0, dtype=np.int64)),
        _joined(histories, np.zeros((0, layout.num_players), dtype=np.int64)),
        starts_of(np.array([len(each) for each in weights] or [0] * layout.num_players)),
        _joined(weights, np.zeros(0)),
    )


def _joined(arrays: Sequence[Any], empty: Any) -> Any:
    return np.concatenate([empty, *arrays])
