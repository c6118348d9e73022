"""Poses problems from the options of a command."""

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .errors import CommandLineError

if TYPE_CHECKING:
    from ...seqform.game import Game


class Question:
    """A problem and what it needs beside the game, checked before any game is loaded.

    Parameters
    ----------
    problem : str
    player : int, optional
        As given: who responds.
    **given : str or None
        The options of the command line that problems may need, as they were given.

    Raises
    ------
    CommandLineError
        If the problem does not take an option, or needs one that is not given.
    UnsupportedProblemError
        If there is no such problem.
    """

    def __init__(self, problem: str, player: int | None = None, **given: str | None) -> None:
        from ...models.problems import find_problem

        self._make = find_problem(problem)
        needed = {field.name for field in dataclasses.fields(self._make)} & set(given)
        responds = "opponent" in needed
        if player is not None and not responds:
            raise CommandLineError(f"--player {player}: {problem} solves for all players at once, so leave it out")
        if player not in (None, 0, 1):
            raise CommandLineError(f"--player {player}: expected 0 or 1")
        for name, value in given.items():
            if value is not None and name not in needed:
                raise CommandLineError(f"--{name} is not for {problem}; leave it out")
            if value is None and name in needed:
                raise CommandLineError(f"{problem} needs --{name}")
        self._player = (player or 0) if responds else None
        self._opponent = given.get("opponent") if responds else None
        self._values = {name: _number(name, given[name] or "") for name in sorted(needed - {"opponent"})}

    def pose(self, game: "Game") -> Any:
        """Return the problem on a game."""
        if self._opponent is None or self._player is None:
            return self._make(game)
        from ...models.problems.side import check_two_players
        from ...solvers.opponents import opponent_strategy

        check_two_players(self._make.name, game)  # before the opponent, who may have to be solved for
        return self._make(game, opponent_strategy(self._opponent, game, 1 - self._player), **self._values)


def _number(name: str, text: str) -> float:
    """Read a number, a decimal or a fraction; its range is the problem's business."""
    try:
        return float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise CommandLineError(f"--{name} {text!r}: expected a number, such as 0.25 or 1/4") from None
