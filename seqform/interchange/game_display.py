"""What notebooks show of games: their sizes, where they come from, and a picture of small trees."""

import contextlib
from collections.abc import Iterator
from typing import Any

from ..display import Drawable
from ..game import Game
from ..rules import size_of
from ..sequence_form import SequenceForm
from .drawing import draw
from .page import Content, code, emphasis, facts, figure_of, prose
from .pictures import picture


def tree_blocks(tree: Drawable) -> Iterator[Content]:
    """Return a picture; nothing if the tree is too large, or matplotlib is not installed."""
    with contextlib.suppress(Exception):  # a display must not raise
        yield figure_of(picture(draw(tree), "svg", text=True).decode(), wide=True)


def game_blocks(game: Game) -> Iterator[Content]:
    """Return the sizes of a game, as far as they are known, and its tree."""
    yield prose(emphasis(game.name), " ", code(game.spec) if game.spec != game.name else None)
    known: dict[str, Content] = {"players": game.num_players}
    # Nothing is built for the sake of its sizes.
    size: Any = game.__dict__.get("sequence_form") or (None if game.rules is None else size_of(game.rules))
    if isinstance(size, SequenceForm):
        known["infosets"] = ", ".join(f"{treeplex.num_infosets:,}" for treeplex in size.treeplexes)
        known["sequences"] = ", ".join(f"{treeplex.num_sequences:,}" for treeplex in size.treeplexes)
        known["leaves"] = None if size.num_leaves is None else f"{size.num_leaves:,}"
    elif size is not None:
        known["infosets"] = ", ".join(f"{number:,}" for number in size.infosets)
        known["sequences"] = ", ".join(f"{number:,}" for number in size.sequences)
        known["leaves"] = f"{size.leaves:,}"
    known["parameters"] = ", ".join(f"{name} = {value}" for name, value in game.parameters.items()) or None
    known["actions"] = ", ".join(f"{word}: {label}" for word, label in game.action_words.items()) or None
    known["value"] = None if game.reference_value is None else f"{game.reference_value} to player 0"
    known["from"] = game.citation or None
    yield facts({name: content for name, content in known.items() if content is not None})
    yield from tree_blocks(game)
