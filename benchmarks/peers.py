"""CFR+ in this library and in others, with one interface: start on a game, then run a number of iterations."""

import contextlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy_cfr import NumpyCFR

from treeplex import load_game
from treeplex.solvers.methods.rules import CFR_PLUS
from treeplex.solvers.regret.kernel import kernel_of

#: OpenSpiel's names of the games. Its goofspiel is simultaneous, and made turn-based as ours is.
_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards={},points_order=descending,"
    "returns_type=point_difference))"
)
OPENSPIEL_NAMES = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "liars_dice": "liars_dice(numdice=1,dice_sides=4)",
    **{f"goofspiel:cards={cards}": _GOOFSPIEL.format(cards) for cards in (4, 5, 6)},
}

Run = Callable[[int], None]
#: Returns NashConv / 2 of the average so far; it is called rarely, so it may be slow.
Error = Callable[[], float]


@dataclass(frozen=True)
class Implementation:
    """An implementation of CFR+ with alternating updates and linear averaging.

    ``start`` takes a game and returns a function that runs iterations and one that returns the exploitability.
    """

    name: str
    start: Callable[[str], tuple[Run, Error]]
    module: str | None = None

    @property
    def installed(self) -> bool:
        return self.module is None or importlib.util.find_spec(self.module) is not None


def _treeplex(game: str) -> tuple[Run, Error]:
    kernel = kernel_of(load_game(game).sequence_form)
    state = kernel.initial_state()
    state.next_check = 2**62

    def run(iterations: int) -> None:
        kernel.run(state, CFR_PLUS, iterations)

    return run, lambda: kernel.exploitability(kernel.average(state))


def _numpy(game: str) -> tuple[Run, Error]:
    form = load_game(game).sequence_form
    solver = NumpyCFR([t.parents for t in form.treeplexes], [t.offsets for t in form.treeplexes], form.A)
    return solver.run, lambda: solver.exploitability(solver.average(0), solver.average(1))


def _openspiel(game: str) -> tuple[Run, Error]:
    import pyspiel

    loaded = pyspiel.load_game(OPENSPIEL_NAMES[game])
    solver = pyspiel.CFRPlusSolver(loaded)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            solver.evaluate_and_update_policy()

    scale = _point_scale(game)
    return run, lambda: scale * pyspiel.exploitability(loaded, solver.tabular_average_policy())


def _liteefg(game: str) -> tuple[Run, Error]:
    import LiteEFG
    import pyspiel
    from LiteEFG.baselines import CFRplus

    with contextlib.redirect_stdout(io.StringIO()):
        graph = CFRplus.graph()
        environment = LiteEFG.OpenSpielEnv(
            pyspiel.load_game(OPENSPIEL_NAMES[game]), traverse_type="Enumerate", regenerate=False
        )
        environment.set_graph(graph)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            graph.update_graph(environment)
            environment.update_strategy(graph.current_strategy())

    def error() -> float:
        gaps: Any = environment.exploitability(graph.current_strategy(), "linear-avg-iterate")
        return _point_scale(game) * float(np.sum(gaps)) / 2.0

    return run, error


def _point_scale(game: str) -> float:
    """Return the scale of payoffs: OpenSpiel's points are relative to the mean, half of the players' difference."""
    return 2.0 if game.startswith("goofspiel") else 1.0


TREEPLEX = Implementation("treeplex", _treeplex)
PEERS = (
    Implementation("numpy", _numpy),
    Implementation("OpenSpiel", _openspiel, "pyspiel"),
    Implementation("LiteEFG", _liteefg, "LiteEFG"),
)
IMPLEMENTATIONS = (TREEPLEX, *PEERS)
