"""Preferences for actions in the form of the compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...seqform.functional import leaves_below, reach_matrix
from .arrays import BiasArrays, PreferenceArrays, PricingArrays
from .layout import KernelLayout
from .loop import IN_PROPORTION, ON_ONE
from .placement import Cells, Floats, Integers, Pieces, Runs, diagonal_pieces, distinct, pieces_of, starts_of, unsigned

if TYPE_CHECKING:
    from ...models.preferences import Preference
    from ...seqform.game import Game


def kernel_preferences(game: Game, preference: Preference, layout: KernelLayout, on_one: bool) -> PreferenceArrays:
    """Return preferences in the layout of the compiled loop.

    Parameters
    ----------
    game : Game
    preference : Preference
        The preferences on that game.
    layout : KernelLayout
        The layout of its sequence form.
    on_one : bool
        Whether to play only the first action with the largest δ (R − β)⁺, instead of in proportion to these numbers.

    Returns
    -------
    PreferenceArrays
        With their own scratch arrays, so that two simultaneous runs need two of them.
    """
    treeplexes = game.sequence_form.treeplexes
    degrees, fallback = np.ones(layout.size), np.ones(layout.size)
    costs = np.zeros(layout.size)
    # Positions without a sequence are treated as an infoset without preferences.
    for start, count, arity, _ in layout.buckets.tolist():
        fallback[start : start + count * arity] = 1.0 / arity
    for player, treeplex in enumerate(treeplexes):
        layout.from_user(player, preference.degrees[player], out=degrees)
        layout.from_user(player, preference.fallback(treeplex, player), out=fallback)
    conditional, two = preference.units == "conditional", layout.num_players == 2
    depending = [conditional and bool(beta.any()) for beta in preference.vulnerability]
    if not conditional:
        for player, treeplex in enumerate(treeplexes):
            costs[layout.positions[player][treeplex.offsets[:-1]]] = preference.vulnerability[player] / layout.unit
    runs, cells = _reaching(game, preference, layout, any(depending) and two)
    infosets, histories, ranges, weights = _histories(game, preference, layout, any(depending) and not two)
    # The best-response rule differs from the plain rule even without preferences.
    bias = [
        ON_ONE if on_one else IN_PROPORTION * bool((delta != 1.0).any() or beta.any())
        for delta, beta in zip(preference.degrees, preference.vulnerability, strict=True)
    ]
    places, patterns = _patterns(np.stack([degrees, fallback]), layout)
    local = BiasArrays(
        places=places,
        patterns=patterns,
        costs=_aligned(costs, layout),
    )
    pricing = PricingArrays(
        runs=runs,
        cells=cells,
        seen=_aligned(np.zeros(layout.size), layout),
        kept=np.ones(layout.num_players),
        recent=_aligned(np.zeros(layout.size), layout),
        infosets=unsigned(infosets),
        histories=unsigned(histories),
        ranges=unsigned(ranges),
        weights=weights.astype(layout.number),
    )
    return PreferenceArrays(np.array(bias, dtype=np.uint8), np.array(depending, dtype=np.uint8), local, pricing)


def biases(local: BiasArrays, layout: KernelLayout) -> tuple[Floats, Floats]:
    """Return the degrees, and the behaviour if no regret is above the vulnerability, as kernel vectors."""
    vectors, width = np.ones((2, layout.size)), layout.width
    for start, count, arity, first in layout.buckets.tolist():
        places = local.places[first // width : (first + count) // width].astype(np.int64)
        registers = local.patterns[places[:, None] + np.arange(2 * arity * width)].reshape(-1, 2, arity, width)
        vectors[:, start : start + arity * count] = registers.transpose(1, 2, 0, 3).reshape(2, -1)
    return vectors[0], vectors[1]


def _patterns(vectors: Floats, layout: KernelLayout) -> tuple[Any, Any]:
    """Return the index of each register's degrees and fallbacks in the list of distinct ones, and that list."""
    width, buckets = layout.width, layout.buckets.astype(np.int64)
    places = np.zeros(int((buckets[-1, 1] + buckets[-1, 3]) // width) if len(buckets) else 0, dtype=np.int64)
    patterns: list[Floats] = []
    begin = 0
    for arity in np.unique(buckets[:, 2]).tolist():
        chosen = buckets[buckets[:, 2] == arity]
        registers = np.concatenate([
            vectors[:, start : start + arity * count].reshape(2, arity, -1, width).transpose(2, 0, 1, 3)
            for start, count in chosen[:, :2].tolist()
        ]).reshape(-1, 2 * arity * width)  # fmt: skip
        values, which = distinct(registers)
        groups = np.concatenate(
            [np.arange(first, first + count, width) // width for _, count, _, first in chosen.tolist()]
        )
        places[groups] = begin + which * values.shape[1]
        begin += values.size
        patterns.append(values.ravel())
    return unsigned(places), np.concatenate([*patterns, np.zeros(0)]).astype(layout.number)


def _aligned(vector: Floats, layout: KernelLayout) -> Any:
    return np.require(vector.astype(layout.number), requirements=["C", "A", "W", "E"])


def _reaching(game: Game, preference: Preference, layout: KernelLayout, wanted: bool) -> tuple[Runs, Cells]:
    """Return matrices from the opponent's positions to the costs of both players' infosets, as runs and cells."""
    if not wanted:
        return Runs.none(layout.number), Cells.none(layout.number)
    runs: list[Pieces] = []
    alone: list[Pieces] = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        beta = preference.vulnerability[player]
        matrix = reach_matrix(game, player, beta > 0.0).tocoo()
        rows, columns = (axis.astype(np.int64) for axis in matrix.coords)
        values = matrix.data * beta[rows] / layout.unit
        firsts = layout.positions[player][treeplex.offsets[rows]]
        places = layout.positions[1 - player][columns]
        lanes = places % layout.width
        _, run, count = np.unique(
            (places - lanes) * layout.size + firsts - lanes, return_inverse=True, return_counts=True
        )
        side = count[run.ravel()] > 1
        runs.append(diagonal_pieces(firsts[side], places[side], values[side], layout.width))
        nowhere = np.zeros(np.count_nonzero(~side), dtype=np.int64)
        alone.append(pieces_of([places[~side]], firsts[~side], nowhere, values[~side], layout.width))
    return Runs.of(runs, layout.number), Cells.of(alone, layout.number)


def _histories(
    game: Game, preference: Preference, layout: KernelLayout, wanted: bool
) -> tuple[Integers, Integers, Integers, Floats]:
    """Return histories that represent the infosets with costs, by player, for more than two players."""
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
