"""Strategies as tables on pages and as bars in pictures."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..strategy import DRAWN, Profile, Strategy
from .page import Content, code, emphasis, first_rows, prose, share
from .pictures import Figure, draw_shares, name_bars, panels

#: The largest number of actions for which tables on pages have one column per action.
_COLUMNS = 8


def strategy_blocks(strategy: Strategy) -> Iterator[Content]:
    """Return the blocks that notebooks show for a strategy."""
    name = code(strategy.game_name) if strategy.game_name else None
    yield prose(emphasis(f"Strategy of player {strategy.player}"), " in " if strategy.game_name else None, name)
    headings, rows, words, total = strategy_rows(strategy)
    yield first_rows(headings, rows, total, "table() prints all rows, and to_frame() returns them", words=words)


def profile_blocks(profile: Profile) -> Iterator[Content]:
    """Return the blocks that notebooks show for a profile."""
    for strategy in profile:
        yield from strategy_blocks(strategy)


def strategy_rows(
    strategy: Strategy, cell: Callable[[int, int], Content] | None = None
) -> tuple[list[str], Iterator[list[Content]], tuple[int, ...], int]:
    """Return a strategy as table rows: one per infoset if there are few actions, otherwise one per sequence.

    Parameters
    ----------
    strategy : Strategy
    cell : callable, optional
        Returns a table cell for an infoset and a sequence, both by number; by default the probability, after the
        infoset's reach.

    Returns
    -------
    headings : list of str
    rows : iterator of lists
    words : tuple of int
        Columns of words.
    total : int
        Number of rows.
    """
    treeplex = strategy.treeplex
    behaviour, reach = strategy.behaviour, treeplex.reach(strategy.plan).tolist()
    kinds = [list(map(str, labels)) for labels in dict.fromkeys(map(tuple, treeplex.action_labels))]
    actions = list(dict.fromkeys(name for labels in kinds for name in labels))
    wide = len(actions) <= _COLUMNS and all(len(set(labels)) == len(labels) for labels in kinds)

    def rows() -> Iterator[list[Content]]:
        for infoset, given in enumerate(treeplex.action_labels):
            labels = list(map(str, given))
            start = int(treeplex.offsets[infoset])
            cells = [
                share(behaviour[place]) if cell is None else cell(infoset, place)
                for place in range(start, start + len(labels))
            ]
            begun: list[Content] = [str(treeplex.infoset_labels[infoset])]
            if cell is None:
                begun.append(f"{reach[infoset]:.4f}")
            if wide:
                by_name = dict(zip(labels, cells, strict=True))
                yield [*begun, *(by_name.get(action) for action in actions)]
            else:
                for label, one in zip(labels, cells, strict=True):
                    yield [*begun, label, one]

    reached = ["reach"] if cell is None else []
    headings = ["infoset", *reached, *(actions if wide else ["action", "probability"])]
    words = (0,) if wide else (0, 1 + len(reached))
    return headings, rows(), words, treeplex.num_infosets if wide else treeplex.num_sequences - 1


def strategies_figure(
    strategies: Sequence[Strategy],
    infosets: Collection[Hashable] | None = None,
    others: Mapping[int, Strategy] | None = None,
    most: int = DRAWN,
    names: tuple[str, str] = ("this strategy", "the other"),
) -> "Figure":
    """Draw strategies side by side, each above the same player's strategy in `others`; `names` labels both."""
    others = others or {}
    shown = [_infosets_to_draw(strategy, infosets, most) for strategy in strategies]
    columns = [pair for pair in zip(strategies, shown, strict=True) if pair[1]] or [(strategies[0], [])]
    tallest = max(len(numbers) for _, numbers in columns)
    height = 1.1 + 0.24 * max(tallest, 1) * (1.5 if others else 1.0)
    figure, axes = panels(1, len(columns), (4.6 * len(columns), height), squeeze=False)
    actions = [action for strategy in strategies for action in strategy.actions]
    for pane, (strategy, numbers) in zip(axes[0], columns, strict=True):
        draw_strategy(pane, strategy, numbers, others.get(strategy.player), actions=actions)
    if others:
        name_bars(figure, *names)
    return figure


def _infosets_to_draw(strategy: Strategy, infosets: Collection[Hashable] | None, most: int) -> list[int]:
    """Return the numbers of the infosets that a picture shows: those reached most often, in order."""
    treeplex = strategy.treeplex
    numbers = np.arange(treeplex.num_infosets)
    if infosets is not None:
        found = map(treeplex.find_infoset, dict.fromkeys(infosets))
        numbers = np.array([number for number in found if number is not None], dtype=int)
    reach = treeplex.reach(strategy.plan)[numbers]
    return sorted(numbers[np.argsort(-reach, kind="stable")[:most]].tolist())


def draw_strategy(
    axes: Any,
    strategy: Strategy,
    infosets: Sequence[int] | None = None,
    other: Strategy | None = None,
    *,
    actions: Sequence[str] = (),
    most: int = DRAWN,
) -> None:
    """Draw a strategy on axes, at infosets given by number; by default at those that it reaches most often.

    Colours follow the order of `actions`, by default the strategy's own.
    """
    treeplex = strategy.treeplex
    numbers = _infosets_to_draw(strategy, None, most) if infosets is None else infosets
    both = [strategy] if other is None else [strategy, other]
    rows = [
        (
            str(treeplex.infoset_labels[number]),
            [{str(action): share for action, share in each._distribution(number).items()} for each in both],
        )
        for number in numbers
    ]
    reach = treeplex.reach(strategy.plan)
    notes = ["reach", *(f"{reach[number]:.2f}" for number in numbers)]
    count, total = len(rows), treeplex.num_infosets
    part = f": {count:,} of {total:,} infosets" if count < total else ""
    named = list(dict.fromkeys(actions or strategy.actions))
    draw_shares(axes, rows, named, notes, f"player {strategy.player}{part}")
