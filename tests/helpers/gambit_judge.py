"""Equilibria as Gambit finds them; the names of its results differ between its versions."""

from pathlib import Path
from typing import Any

import pytest

from treeplex import Game
from treeplex.seqform.interchange import write_efg


def read_by_gambit(game: Game, folder: Path) -> Any:
    """Return a game as Gambit reads it, or skip the test if Gambit is not installed."""
    pygambit = pytest.importorskip("pygambit")
    write_efg(game, folder / "judged.efg")
    return pygambit.read_efg(str(folder / "judged.efg"))


def payoffs_of(profile: Any) -> tuple[float, ...]:
    """Return the players' payoffs in a profile of Gambit."""
    paid = profile.payoff if hasattr(profile, "payoff") else profile.payoffs.__getitem__
    return tuple(float(paid(player)) for player in profile.game.players)


def equilibrium_of(result: Any) -> Any:
    """Return the first equilibrium of a result of Gambit."""
    return result.equilibria[0] if hasattr(result, "equilibria") else result.equilibrium


def payoffs_of_all_equilibria(game: Game, folder: Path) -> list[tuple[float, ...]]:
    """Return the payoffs in all extreme equilibria of a two-player game, computed in fractions."""
    pygambit = pytest.importorskip("pygambit")
    found = pygambit.nash.enummixed_solve(read_by_gambit(game, folder), rational=True)
    return [payoffs_of(profile) for profile in found.equilibria]
