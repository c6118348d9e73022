"""The strategies that ``treeplex export --strategy`` draws on the grid of the transit game."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CommandLineError

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy

#: The format of an animation, which nothing but strategies is exported to.
ANIMATION = "gif"
#: The formats that strategies are drawn in.
STRATEGY_FORMATS = ("svg", "png", "pdf", ANIMATION)
#: Whose strategy is drawn of a file of both players': the patroller's.
_PLAYER = 1


def check_format(name: str, strategies: Sequence[str] | None, player: int | None) -> None:
    """Refuse a format that strategies are not drawn in, and what is for them alone without any.

    Raises
    ------
    CommandLineError
    """
    if strategies:
        if name not in STRATEGY_FORMATS:
            raise CommandLineError(f"--strategy is drawn as {', '.join(STRATEGY_FORMATS)}, and the format is {name}")
    elif name == ANIMATION:
        raise CommandLineError(f"{ANIMATION} shows strategies of transit over time; give one, --strategy FILE")
    elif player is not None:
        raise CommandLineError("--player says whose strategy is drawn; it goes with --strategy")


def named_files(texts: Sequence[str]) -> dict[str, str]:
    """Read ``FILE`` and ``NAME=FILE``; a name may hold equals signs, and by default is the file's, without its suffix.

    Raises
    ------
    CommandLineError
        If a name or a file is empty, or two strategies have one name.

    Examples
    --------
    >>> from treeplex.cli.strategy_pictures import named_files
    >>> named_files(["free.npz", "b = 0.1=patrols/tenth.npz"])
    {'free': 'free.npz', 'b = 0.1': 'patrols/tenth.npz'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, path = text.rpartition("=") if not _exists(text) else ("", "", text)
        name = name.strip() or Path(path).stem
        if not path or not name:
            raise CommandLineError(f"--strategy {text!r}: expected FILE or NAME=FILE, a strategy file (.npz)")
        if name in found:
            raise CommandLineError(f"--strategy: two strategies are called {name!r}; tell them apart by NAME=FILE")
        found[name] = path
    return found


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def load_strategies(files: dict[str, str], player: int | None, game: "Game") -> "dict[str, Strategy]":
    """Return the strategies of one player that files hold.

    Raises
    ------
    UnsupportedProblemError
        If the game has no grid.
    InvalidStrategyError
        If a file holds no strategy of that player in the game.
    """
    from ..models.games.transit_occupancy import transit_rules
    from ..seqform.strategy import Strategy

    transit_rules(game)
    whose = _PLAYER if player is None else player
    return {name: Strategy.load(path, game, whose) for name, path in files.items()}
