"""Models of opponents by name: what ``uniform``, ``random:seed=1``, ``nash`` and the like stand for."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..models.problems import Nash
from ..seqform.errors import InvalidStrategyError, SolverError, nearest, shown
from ..seqform.game import Game
from ..seqform.strategy import Strategy
from .methods import HiGHS, find_method
from .solve import solve
from .status import Status


def opponent_strategy(spec: str, game: Game, player: int) -> Strategy:
    """Return the strategy that a text names.

    Parameters
    ----------
    spec : str
        ``uniform``: every action alike. ``random:seed=S``: at each infoset, in their order, probabilities drawn by
        ``numpy.random.default_rng(S)`` from the flat Dirichlet distribution. ``nash``: an equilibrium strategy, by
        the simplex method. ``cfr:iterations=N`` or ``cfr:iterations=N,updates=simultaneous``: the uniform average of so
        many iterations of counterfactual regret minimisation. Otherwise a file (.npz) that holds a strategy or a
        profile.
    game : Game
    player : int
        Whose strategy it is.

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidStrategyError
        If there is no such opponent, a parameter is wrong or missing, or the file holds no strategy of that player.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.opponents import opponent_strategy
    >>> opponent_strategy("random:seed=1", load_game("kuhn"), player=1)
    Strategy(game='kuhn', player=1, num_infosets=6)
    """
    name, colon, text = spec.partition(":")
    if name not in _OPPONENTS:
        if Path(spec).suffix.lower() == ".npz":
            return Strategy.load(spec, game, player)
        raise InvalidStrategyError(
            f"unknown opponent {shown(spec, 60)}{nearest(name, _OPPONENTS)}; expected {', '.join(_FORMS)} or a "
            "strategy file (.npz)"
        )
    make, required, optional = _OPPONENTS[name]
    values = _read(name, text) if colon else {}
    for key in values:
        if key not in (*required, *optional):
            known = ", ".join((*required, *optional)) or "none"
            raise InvalidStrategyError(f"opponent {name}: unknown parameter {shown(key, 60)}; expected {known}")
    for key in required:
        if key not in values:
            raise InvalidStrategyError(f"opponent {name} needs {key}; expected {_FORMS[list(_OPPONENTS).index(name)]}")
    return make(game, player, values)


def _read(name: str, text: str) -> dict[str, str]:
    values = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InvalidStrategyError(f"opponent {name}: {shown(item, 60)} is no parameter; expected key=value")
        values[key] = value
    return values


def _uniform(game: Game, player: int, values: Mapping[str, str]) -> Strategy:
    return Strategy.uniform(game, player)


def _random(game: Game, player: int, values: Mapping[str, str]) -> Strategy:
    rng = np.random.default_rng(_whole("random", "seed", values["seed"]))
    treeplex = game.sequence_form.treeplexes[player]
    drawn = [rng.dirichlet(np.ones(count)) for count in treeplex.num_actions.tolist()]
    return Strategy(game, player, np.concatenate([[1.0], *drawn]))


def _nash(game: Game, player: int, values: Mapping[str, str]) -> Strategy:
    solution = solve(Nash(game), HiGHS("simplex"))
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if not solution.status.is_success:
        raise SolverError(f"no equilibrium of {game.spec} was found for the opponent: {solution.message}")
    strategy: Strategy = solution.profile[player]
    return strategy


def _cfr(game: Game, player: int, values: Mapping[str, str]) -> Strategy:
    updates = values.get("updates", "alternating")
    if updates != "alternating" and updates != "simultaneous":
        raise InvalidStrategyError(
            f"opponent cfr: updates = {shown(updates, 60)}; expected alternating or simultaneous"
        )
    iterations = _whole("cfr", "iterations", values["iterations"])
    method = find_method("cfr", updates=updates)
    solution = solve(Nash(game), method, tol=0.0, max_iterations=iterations)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    strategy: Strategy = solution.profile[player]
    return strategy


def _whole(name: str, key: str, text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 15:
        raise InvalidStrategyError(f"opponent {name}: {key} = {shown(text, 60)}; expected a whole number from 0 on")
    return int(text)


_OPPONENTS: dict[str, tuple[Callable[[Game, int, Mapping[str, str]], Strategy], tuple[str, ...], tuple[str, ...]]] = {
    "uniform": (_uniform, (), ()),
    "random": (_random, ("seed",), ()),
    "nash": (_nash, (), ()),
    "cfr": (_cfr, ("iterations",), ("updates",)),
}
_FORMS = ("uniform", "random:seed=S", "nash", "cfr:iterations=N[,updates=simultaneous]")
