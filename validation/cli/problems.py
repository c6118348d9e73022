"""The problems by name, as ``--problem`` takes them."""

from typing import TYPE_CHECKING

from .errors import CommandLineError, nearest

if TYPE_CHECKING:
    from ...models.problems import Problem
    from ...seqform.game import Game

#: Names of the problems, the default first.
PROBLEMS = ("nash",)


def check_problem(name: str, player: int | None) -> None:
    """Refuse an unknown problem, and a player where a problem solves for all.

    Raises
    ------
    CommandLineError
    """
    if name not in PROBLEMS:
        raise CommandLineError(
            f"unknown problem {name!r}{nearest(name, PROBLEMS)}; expected one of {', '.join(PROBLEMS)}"
        )
    if player is not None:
        raise CommandLineError(f"--player {player}: {name} solves for all players at once, so leave it out")


def make_problem(name: str, game: "Game") -> "Problem":
    """Return a problem by its name.

    Raises
    ------
    TreeplexError
        If the problem does not apply to the game.
    """
    from ...models.problems import Nash

    return {"nash": Nash}[name](game)
