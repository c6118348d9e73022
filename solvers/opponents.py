"""Models of opponents by name: what ``uniform``, ``random:seed=1``, ``nash`` and the like stand for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..models.opponents import Abstraction, leduc_buckets, mixture, perturbed, uniform_without
from ..models.problems import Nash, find_problem
from ..seqform.errors import InvalidStrategyError, SolverError, nearest, shown
from ..seqform.game import Game
from ..seqform.strategy import Profile, Strategy, checked_player
from .methods import HiGHS, find_method
from .opponent_text import read_number, read_parameters, read_whole, split_outside, without_parentheses
from .solve import solve
from .status import Status

#: Iterations of PCFR+ that solve an abstract game.
ABSTRACTION_ITERATIONS = 10_000
#: How many opponents may stand within each other.
_DEEPEST = 8


def opponent_strategy(spec: str, game: Game, player: int) -> Strategy:
    """Return the strategy that a text names.

    Parameters
    ----------
    spec : str
        ``uniform``: every action alike; ``uniform:without=A``: but for the action A, which is never taken where there
        is another. ``random:seed=S``: at each infoset, in their order, probabilities drawn by
        ``numpy.random.default_rng(S)`` from the flat Dirichlet distribution. ``nash``: an equilibrium strategy, by
        the simplex method. ``cfr:iterations=N`` or ``cfr:iterations=N,updates=simultaneous``: the uniform average of so
        many iterations of counterfactual regret minimisation. ``abstraction:JQ.K/pair.nopair``: in Leduc poker, an
        equilibrium strategy of the game in which all players see so much of the cards, see :func:`abstraction_profile`;
        ``,iterations=N`` may follow. ``mixture:W*O+W*O``: opponents O drawn before the game with probabilities W.
        ``perturbed:O,epsilon=E`` and ``perturbed:O,concentration=C,seed=S``, or all three: an opponent with noise, see
        :func:`~treeplex.models.opponents.perturbed`. ``cdbr:opponent=O,lookahead=K``,
        ``cdrnr:opponent=O,p=P,lookahead=K``, ``cdbr-ne:…`` (as ``cdrnr``) and ``ses:opponent=O,p=P``: what an
        :class:`~treeplex.Agent` plays whose model of the other player is O; ``,method=``, ``,tolerance=``,
        ``,seconds=`` and for some ``,gadget=`` and ``,along=`` may follow. Otherwise a file (.npz) that holds a
        strategy or a profile. An O that holds a comma or a plus sign stands in parentheses. Numbers may be ``1e6`` or
        ``1/4``.
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
    SolverError
        If an equilibrium was not found.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.opponents import opponent_strategy
    >>> game = load_game("kuhn")
    >>> opponent_strategy("random:seed=1", game, player=1)
    Strategy(game='kuhn', player=1, num_infosets=6)
    >>> opponent_strategy("mixture:3/4*nash+1/4*uniform", game, player=1)["K_b"]
    {'p': 0.125, 'b': 0.875}
    """
    return _strategy(spec, game, checked_player(game, player), 0)


def abstraction_profile(text: str, game: Game, iterations: int = ABSTRACTION_ITERATIONS) -> Profile:
    """Return what equilibrium players of Leduc poker play who see the cards in buckets only.

    Parameters
    ----------
    text : str
        The buckets, such as ``JQ.K/pair.nopair``; see :func:`~treeplex.models.opponents.leduc_buckets`.
    game : Game
        Leduc poker.
    iterations : int
        Of PCFR+.

    Returns
    -------
    Profile
        Of `game`: each infoset plays as its bucket does.

    Raises
    ------
    InvalidStrategyError
        If the game is not Leduc poker, or the text cannot be read.

    Notes
    -----
    An abstract game has many equilibria, and they differ in what a best response gains in the full game. The one here
    is the quadratic average of so many alternating iterations of PCFR+ from the uniform strategy (G. Farina,
    C. Kroer, T. Sandholm, "Faster game solving via predictive Blackwell approachability", AAAI 2021). The abstract game
    of ``JQ.K/pair.nopair`` is solved to within 4e-7 by 10,000 of them, and rounding shows in the eleventh digit only:
    so it is the same strategy on every machine. An average of plain CFR is not. Its regrets come to ties that rounding
    breaks, and after 10,000 iterations a relative change of the payoffs by 1e-14 moves the plan by 0.01.

    Examples
    --------
    >>> from treeplex import best_response_values, expected_payoffs, load_game
    >>> from treeplex.solvers.opponents import abstraction_profile
    >>> game = load_game("leduc:merge_suits=true")
    >>> target = abstraction_profile("JQ.K/pair.nopair", game)
    >>> expected_payoffs(game, target).round(6), best_response_values(game, target).round(4)
    (array([-0.107431,  0.107431]), array([0.3602, 0.6299]))
    """
    abstraction = Abstraction(game, leduc_buckets(text, game), f"{game.spec}, {text}")
    solution = solve(Nash(abstraction.abstract_game), find_method("pcfr+"), tol=0.0, max_iterations=iterations)
    _end_if_interrupted(solution.status)
    return abstraction.lift_profile(solution.profile)


def _strategy(spec: str, game: Game, player: int, depth: int) -> Strategy:
    """Return the strategy that a text names, within so many others."""
    spec = without_parentheses(spec)
    if depth > _DEEPEST:
        raise InvalidStrategyError(f"opponent {shown(spec, 60)}: more than {_DEEPEST} opponents within each other")
    name, colon, text = spec.partition(":")
    if name not in _OPPONENTS:
        if Path(spec).suffix.lower() == ".npz":
            return Strategy.load(spec, game, player)
        forms = ", ".join(kind.form for kind in _OPPONENTS.values())
        raise InvalidStrategyError(
            f"unknown opponent {shown(spec, 60)}{nearest(name, _OPPONENTS)}; expected {forms} or a strategy file (.npz)"
        )
    kind = _OPPONENTS[name]
    items = ([text] if kind.make is _mixture else split_outside(text, ",")) if colon else []
    if kind.first and not (items and items[0].strip()):
        raise InvalidStrategyError(f"opponent {name} needs {kind.first}; expected {kind.form}")
    subject = items.pop(0).strip() if kind.first else ""
    values = read_parameters(name, items, kind.required, kind.optional, kind.form)
    return kind.make(_Asked(name, game, player, depth, subject, values))


@dataclass(frozen=True)
class _Asked:
    """What an opponent is made of: its subject, such as another opponent, and its parameters."""

    name: str
    game: Game
    player: int
    depth: int
    subject: str
    values: Mapping[str, str]

    def other(self, spec: str) -> Strategy:
        """Return an opponent within this one."""
        return _strategy(spec, self.game, self.player, self.depth + 1)


def _uniform(asked: _Asked) -> Strategy:
    if "without" in asked.values:
        return uniform_without(asked.game, asked.player, asked.values["without"])
    return Strategy.uniform(asked.game, asked.player)


def _random(asked: _Asked) -> Strategy:
    rng = np.random.default_rng(read_whole("random", "seed", asked.values["seed"]))
    treeplex = asked.game.sequence_form.treeplexes[asked.player]
    drawn = [rng.dirichlet(np.ones(count)) for count in treeplex.num_actions.tolist()]
    return Strategy(asked.game, asked.player, np.concatenate([[1.0], *drawn]))


def _nash(asked: _Asked) -> Strategy:
    solution = solve(Nash(asked.game), HiGHS("simplex"))
    _end_if_interrupted(solution.status)
    if not solution.status.is_success:
        raise SolverError(f"no equilibrium of {asked.game.spec} was found for the opponent: {solution.message}")
    strategy: Strategy = solution.profile[asked.player]
    return strategy


def _cfr(asked: _Asked) -> Strategy:
    updates = asked.values.get("updates", "alternating")
    if updates != "alternating" and updates != "simultaneous":
        raise InvalidStrategyError(
            f"opponent cfr: updates = {shown(updates, 60)}; expected alternating or simultaneous"
        )
    iterations = read_whole("cfr", "iterations", asked.values["iterations"])
    solution = solve(Nash(asked.game), find_method("cfr", updates=updates), tol=0.0, max_iterations=iterations)
    _end_if_interrupted(solution.status)
    strategy: Strategy = solution.profile[asked.player]
    return strategy


def _abstraction(asked: _Asked) -> Strategy:
    iterations = ABSTRACTION_ITERATIONS
    if "iterations" in asked.values:
        iterations = read_whole("abstraction", "iterations", asked.values["iterations"])
    strategy: Strategy = abstraction_profile(asked.subject, asked.game, iterations)[asked.player]
    return strategy


def _mixture(asked: _Asked) -> Strategy:
    weights, parts = [], []
    for term in split_outside(asked.subject, "+"):
        weight, times, part = term.partition("*")
        if not (weight.strip() and times and part.strip()):
            raise InvalidStrategyError(
                f"opponent mixture: {shown(term, 60)} is no term; expected a weight, * and an opponent, such as "
                "0.3*uniform"
            )
        weights.append(read_number("mixture", "weight", weight.strip()))
        parts.append(part)
    if any(weight < 0 for weight in weights) or abs(float(sum(weights)) - 1.0) > 1e-9:
        raise InvalidStrategyError(
            f"opponent mixture: weights {', '.join(f'{float(weight):g}' for weight in weights)} sum to "
            f"{float(sum(weights)):g}; expected probabilities that sum to 1"
        )
    return mixture([asked.other(part) for part in parts], weights)


def _perturbed(asked: _Asked) -> Strategy:
    if not asked.values:
        raise InvalidStrategyError(f"opponent perturbed needs noise; expected {_OPPONENTS['perturbed'].form}")
    numbers = {
        key: float(read_number("perturbed", key, asked.values[key]))
        for key in ("epsilon", "concentration")
        if key in asked.values
    }
    seed = read_whole("perturbed", "seed", asked.values["seed"]) if "seed" in asked.values else None
    try:
        return perturbed(asked.other(asked.subject), seed=seed, **numbers)
    except InvalidStrategyError as error:
        if str(error).startswith(("epsilon", "concentration", "seed", "a concentration")):
            raise InvalidStrategyError(f"opponent perturbed: {error}") from None
        raise


def _agent(asked: _Asked) -> Strategy:
    from .depth_limited.agent import Agent

    name, values = asked.name, dict(asked.values)
    model = _strategy(values.pop("opponent"), asked.game, 1 - asked.player, asked.depth + 1)
    method = values.pop("method", "cfr+")
    limits: dict[str, Any] = {
        key: float(read_number(name, key, values.pop(key))) for key in ("seconds", "tolerance") if key in values
    }
    settings: dict[str, Any] = {**values}
    if "p" in values:
        settings["p"] = float(read_number(name, "p", values["p"]))
    for key in ("lookahead", "level"):
        if key in values:
            settings[key] = read_whole(name, key, values[key])
    return Agent(find_problem(name)(asked.game, model, **settings), method, **limits).strategy()


def _end_if_interrupted(status: Status) -> None:
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class _Kind:
    """How an opponent is written, and what makes it: its subject, if it has one, comes before the parameters."""

    make: Callable[[_Asked], Strategy]
    form: str
    first: str = ""
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


#: What an agent may be told of how it decides.
_AGENT_LIMITS = ("method", "tolerance", "seconds")
_OPPONENTS: Mapping[str, _Kind] = {
    "uniform": _Kind(_uniform, "uniform[:without=ACTION]", optional=("without",)),
    "random": _Kind(_random, "random:seed=S", required=("seed",)),
    "nash": _Kind(_nash, "nash"),
    "cfr": _Kind(_cfr, "cfr:iterations=N[,updates=simultaneous]", required=("iterations",), optional=("updates",)),
    "abstraction": _Kind(
        _abstraction, "abstraction:JQ.K/pair.nopair[,iterations=N]", "buckets", optional=("iterations",)
    ),
    "mixture": _Kind(_mixture, "mixture:W*O+W*O", "opponents with weights"),
    "perturbed": _Kind(
        _perturbed,
        "perturbed:O,epsilon=E[,concentration=C,seed=S]",
        "an opponent",
        optional=("epsilon", "concentration", "seed"),
    ),
    "cdbr": _Kind(
        _agent, "cdbr:opponent=O,lookahead=K", required=("opponent", "lookahead"), optional=("along", *_AGENT_LIMITS)
    ),
    "cdrnr": _Kind(
        _agent,
        "cdrnr:opponent=O,p=P,lookahead=K[,gadget=G,method=M]",
        required=("opponent", "p", "lookahead"),
        optional=("gadget", "along", *_AGENT_LIMITS),
    ),
    "cdbr-ne": _Kind(
        _agent,
        "cdbr-ne:opponent=O,p=P,lookahead=K",
        required=("opponent", "p", "lookahead"),
        optional=("along", *_AGENT_LIMITS),
    ),
    "ses": _Kind(_agent, "ses:opponent=O,p=P", required=("opponent", "p"), optional=("level", *_AGENT_LIMITS)),
}
