"""Megabytes per second from text to trees and back, in other programs' formats."""

from typing import Any

import networkx as nx
import pytest

from treeplex import GameTree, load_game
from treeplex.seqform.interchange.efg_reader import NodeReader, parse_efg
from treeplex.seqform.interchange.efg_writer import format_efg

GAMES = ["leduc", "liars_dice:sides=5"]


def timed(benchmark: Any, group: str, size: int, function: Any, *arguments: Any) -> Any:
    """Time a function, and record the megabytes per second of its best round for ``size`` bytes."""
    benchmark.group = group
    result = benchmark.pedantic(function, args=arguments, rounds=3, warmup_rounds=1)
    if benchmark.stats is not None:  # none under --benchmark-disable
        benchmark.extra_info.update(megabytes=size / 1e6, megabytes_per_second=size / 1e6 / benchmark.stats["min"])
    return result


@pytest.mark.parametrize("game", GAMES)
def test_efg_text_to_game_tree(benchmark: Any, game: str) -> None:
    tree = load_game(game).tree
    text = format_efg(tree)
    read: GameTree = timed(benchmark, f".efg {game}", len(text), parse_efg, text)
    assert read.num_nodes == tree.num_nodes


@pytest.mark.parametrize("game", GAMES)
def test_efg_text_to_networkx(benchmark: Any, game: str) -> None:
    """Parse without the checks of :class:`GameTree`."""
    tree = load_game(game).tree
    text = format_efg(tree)
    start = text.index("\n")

    def parse() -> "nx.DiGraph[Any]":
        return NodeReader(text, tree.num_players).read(start)

    assert len(timed(benchmark, f".efg {game}", len(text), parse)) == tree.num_nodes


@pytest.mark.parametrize("game", GAMES)
def test_game_tree_to_efg_text(benchmark: Any, game: str) -> None:
    tree = load_game(game).tree
    size = len(format_efg(tree))
    assert len(timed(benchmark, f".efg {game}", size, format_efg, tree)) == size
