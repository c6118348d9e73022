"""Models of opponents by name, such as ``uniform``, ``random:seed=1`` and ``nash``."""

import dataclasses
import zlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from ...models.depth_limited.cut_off import PLAYOUTS, THRESHOLD
from ...models.opponents import Abstraction, Threshold, leduc_buckets, mixture, perturbed, uniform_without
from ...models.opponents.threshold import BOT_FILE
from ...models.problems import CDBR, CDBRNE, CDRNR, LBR, SES, Nash
from ...seqform.checks import check_player
from ...seqform.errors import InvalidStrategyError, TreeplexError, nearest, one_line, shown
from ...seqform.extensions import accepting
from ...seqform.game import Game
from ...seqform.grammar import Grammar, usage, without_parentheses
from ...seqform.limits import answering, doing
from ...seqform.parameters import About, Parameter, parameters_of
from ...seqform.registry import Registry
from ...seqform.strategy import Profile, Strategy, checked_player
from ...seqform.strategy_files import SUFFIXES
from ..methods import find_method
from ..solve import solve_part

if TYPE_CHECKING:
    from ..depth_limited.continuations import Continuation
    from ..depth_limited.lookahead import LookaheadPlayer
    from ..sampling.streamed_play import Answer, StreamedProfile

#: Iterations of PCFR+ that solve an abstract game.
ABSTRACTION_ITERATIONS = 10_000
#: Files of strategies by the labels of infosets.
_STREAMED = ".jsonl"
#: The largest nesting depth of opponents.
_DEEPEST = 8
_GRAMMAR = Grammar("opponent", InvalidStrategyError, InvalidStrategyError, prefix="opponent ")


def opponent_strategy(spec: str, game: Game, player: int) -> Strategy:
    """Return the strategy that a string names.

    Parameters
    ----------
    spec : str
        ``uniform``: all actions equally often; ``uniform:without=A``: never the action A if there is another.
        ``random:seed=S``: at each infoset, in order, probabilities drawn by ``numpy.random.default_rng(S)`` from
        the flat Dirichlet distribution. ``nash``: an equilibrium strategy by the simplex method.
        ``cfr:iterations=N`` or ``cfr:iterations=N,updates=simultaneous``: the uniform average of N iterations of
        counterfactual regret minimisation. ``abstraction:JQ.K/pair.nopair``: in Leduc poker, an equilibrium
        strategy of the game in which players see only these classes of cards, see :func:`abstraction_profile`;
        ``,iterations=N`` may follow. ``mixture:W*O+W*O``: opponents O drawn before the game with probabilities W.
        ``perturbed:O,epsilon=E`` and ``perturbed:O,concentration=C,seed=S``, or all three: an opponent with noise,
        see :func:`~treeplex.models.opponents.perturbed`. ``threshold`` and ``threshold:file=F``: a threshold
        automaton, made by hand or with the numbers in a file, see :class:`~treeplex.models.opponents.Threshold`.
        ``cdbr:opponent=O,lookahead=K``, ``cdrnr:opponent=O,p=P,lookahead=K``, ``cdbr-ne:…`` (like ``cdrnr``) and
        ``ses:opponent=O,p=P``: the play of an :class:`~treeplex.Agent` whose model of the other player is O;
        ``,method=``, ``,tolerance=``, ``,seconds=`` and for some ``,gadget=`` and ``,along=`` may follow. Any other
        string is a file (.npz, .json or .csv) with a strategy or a profile, or a bot file (.toml) of a threshold
        automaton. An O that contains a comma or a plus sign is enclosed in parentheses. Numbers may be ``1e6`` or
        ``1/4``.
    player : int
        The player of the strategy.

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidStrategyError
        If there is no such opponent, a parameter is invalid or missing, or the file has no strategy of that player.
    SolverError
        If an equilibrium was not found.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import opponent_strategy
    >>> game = load_game("kuhn")
    >>> opponent_strategy("random:seed=1", game, player=1)
    Strategy(game='kuhn', player=1, num_infosets=6)
    >>> opponent_strategy("mixture:3/4*nash+1/4*uniform", game, player=1)["K_b"]
    {'p': 0.125, 'b': 0.875}
    """
    with answering("opponent"), doing(f"the opponent {spec} was being computed"):
        return Seat(game, checked_player(game, player)).strategy(spec)


def opponent_player(spec: str, game: Game, player: int) -> "Answer | LookaheadPlayer":
    """Return the player that a string names, for a game that is not enumerated; it decides move by move.

    Parameters
    ----------
    spec : str
        A string for :func:`opponent_strategy` that does not need the whole game: ``uniform``, ``random`` (whose
        probabilities are drawn by the seed, the seat and the label, and differ from those in an enumerated game),
        ``perturbed`` with ``epsilon``, a file of strategies by label (.jsonl), and ``cdbr`` and ``cdrnr`` with
        ``values``, whose model is any of these except the last.
    game : Game
        A game with rules.
    player : int

    Returns
    -------
    callable or LookaheadPlayer
        For :func:`~treeplex.solvers.encounter`. A callable takes the label of an infoset and its actions, and returns
        probabilities.

    Raises
    ------
    InvalidStrategyError
        If there is no such opponent, a parameter is invalid or missing, or it needs the whole game.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import encounter
    >>> from treeplex.solvers.opponents.strategies import opponent_player
    >>> game = load_game("goofspiel:cards=8")
    >>> seats = ["cdbr:opponent=uniform,lookahead=1,values=uniform,method=lp", "uniform"]
    >>> paid = encounter(game, [opponent_player(text, game, player) for player, text in enumerate(seats)], games=5)
    >>> paid.shape
    (5, 2)
    """
    player = check_player(player, game.num_players, InvalidStrategyError)
    with answering("opponent"), doing(f"the opponent {spec} was being created"):
        return Seat(game, player).taker(spec)


def abstraction_profile(text: str, game: Game, iterations: int = ABSTRACTION_ITERATIONS) -> Profile:
    """Return the equilibrium play of Leduc poker by players who see only buckets of cards.

    Parameters
    ----------
    text : str
        The buckets, such as ``JQ.K/pair.nopair``; see :func:`~treeplex.models.opponents.leduc_buckets`.
    game : Game
        Leduc poker.
    iterations : int
        The iterations of PCFR+.

    Returns
    -------
    Profile
        A profile of `game`: each infoset plays like its bucket.

    Raises
    ------
    InvalidStrategyError
        If the game is not Leduc poker, or the string cannot be parsed.

    Notes
    -----
    An abstract game has many equilibria, which differ in the gain of a best response in the full game. This one is the
    quadratic average of alternating iterations of PCFR+ from the uniform strategy (G. Farina, C. Kroer, T. Sandholm,
    "Faster game solving via predictive Blackwell approachability", AAAI 2021). For ``JQ.K/pair.nopair``, 10,000
    iterations solve the abstract game to within 4e-7, and rounding affects only the eleventh digit, so the strategy is
    the same on every machine. This does not hold for an average of plain CFR: its regrets reach ties that rounding
    breaks, and after 10,000 iterations a relative change of the payoffs by 1e-14 changes the plan by 0.01.

    Examples
    --------
    >>> from treeplex import expected_payoffs, load_game
    >>> from treeplex.seqform import best_response_values
    >>> from treeplex.solvers.opponents.strategies import abstraction_profile
    >>> game = load_game("leduc:merge_suits=true")
    >>> target = abstraction_profile("JQ.K/pair.nopair", game)
    >>> expected_payoffs(game, target).round(6), best_response_values(game, target).round(4)
    (array([-0.107431,  0.107431]), array([0.3602, 0.6299]))
    """
    abstraction = Abstraction(game, leduc_buckets(text, game), f"{game.spec}, {text}")
    solution = solve_part(Nash(abstraction.abstract_game), "pcfr+", tol=0.0, max_iterations=iterations)
    return abstraction.lift_profile(solution.profile)


@dataclass(frozen=True)
class Seat:
    """The seat of an opponent, and its nesting depth.

    Parameters
    ----------
    game : Game
    player : int
    depth : int
    """

    game: Game
    player: int
    depth: int = 0

    def strategy(self, spec: str) -> Strategy:
        """Return the strategy that a string names."""
        spec, name, text = self._split(spec)
        if name in OPPONENTS:
            return self._opponent(name, text).strategy(self)
        if name in _AGENTS:
            return self._agent(name, _GRAMMAR.read(name, text, _agent_parameters(name)))
        if Path(spec).suffix.lower() == _STREAMED:
            return _streamed(spec)[self.player].to_strategy(self.game)
        if Path(spec).suffix.lower() in SUFFIXES:
            profile = self.game.own_profile(spec)
            return Strategy.load(spec, self.game, self.player) if profile is None else profile[self.player]
        if Path(spec).suffix.lower() == BOT_FILE:
            return Threshold.from_file(spec).strategy(self.game, self.player)
        raise self._unknown(name)

    def taker(self, spec: str) -> "Answer | LookaheadPlayer":
        """Return the player that a string names, in a game that is not enumerated."""
        spec, name, text = self._split(spec)
        if name in _LOOKING:
            values = _GRAMMAR.read(name, text, _agent_parameters(name))
            if "values" not in values:
                raise InvalidStrategyError(
                    f"opponent {name}: {self.game.spec} is not enumerated, so the rest of the game cannot be "
                    f"solved; expected values=V, such as {name}:opponent=uniform,lookahead=1,values=uniform"
                )
            return self._looking(name, values, self.within(other_player=True).answer(values.pop("opponent")))
        return self.answer(spec)

    def answer(self, spec: str) -> "Answer":
        """Return the strategy function of the opponent that a string names, in a game that is not enumerated."""
        spec, name, text = self._split(spec)
        if name in OPPONENTS:
            return self._opponent(name, text).answer(self)
        if Path(spec).suffix.lower() == _STREAMED:
            return _streamed(spec)[self.player].probabilities
        if name in _LOOKING:
            raise InvalidStrategyError(
                f"opponent {name}: because {self.game.spec} is not enumerated, a player that looks ahead cannot be a "
                "model; expected uniform, random, perturbed or a file of strategies by label (.jsonl)"
            )
        if name in _AGENTS or Path(spec).suffix.lower() in (*SUFFIXES, BOT_FILE):
            raise not_enumerated(shown(spec, 60), self.game)
        raise self._unknown(name)

    def _split(self, spec: str) -> tuple[str, str, str | None]:
        """Return a string without enclosing parentheses, the name at its start, and the rest."""
        spec = without_parentheses(spec)
        if self.depth > _DEEPEST:
            raise InvalidStrategyError(f"opponent {shown(spec, 60)}: opponents are nested more than {_DEEPEST} deep")
        return spec, *_GRAMMAR.split(spec)

    @staticmethod
    def _opponent(name: str, text: str | None) -> "Opponent":
        kind = OPPONENTS[name]
        opponent: Opponent = kind(**_GRAMMAR.read(name, text, parameters_of(kind)))
        return opponent

    def _unknown(self, name: str) -> TreeplexError:
        files = f", a strategy file (.npz, .json, .csv or {_STREAMED}), or a bot file ({BOT_FILE})"
        return _GRAMMAR.unknown_name(name, opponent_forms(), files, known=[*OPPONENTS, *_AGENTS])

    def within(self, other_player: bool = False) -> "Seat":
        """Return the seat of an opponent nested in this one, or of the other player."""
        return Seat(self.game, 1 - self.player if other_player else self.player, self.depth + 1)

    def _agent(self, name: str, values: dict[str, Any]) -> Strategy:
        from ..depth_limited.agent import Agent

        model = self.within(other_player=True).strategy(values.pop("opponent"))
        if "values" in values:
            from ..sampling.streamed_play import answer_of

            return self._looking(name, values, answer_of(model)).strategy(self.game)
        alone = next((key for key in ("biased", "playouts", "threshold") if key in values), None)
        if alone is not None:
            raise InvalidStrategyError(f"opponent {name}: {alone} needs values=V, which is missing")
        limits = {key: values.pop(key) for key in ("tolerance", "seconds") if key in values}
        method = values.pop("method", "lp" if name == LBR.name else "cfr+")  # the response is one action
        return Agent(_AGENTS[name](self.game, model, **values), method, **limits).strategy()

    def _looking(self, name: str, values: dict[str, Any], model: "Answer") -> "LookaheadPlayer":
        """Return the player whose steps end at the depth limit."""
        from ..depth_limited.lookahead import LookaheadPlayer

        if values.pop("gadget", "full") != "full" or values.pop("along", "path") != "path":
            raise InvalidStrategyError(
                f"opponent {name}: values= implies decisions along the path of play and gadget=full; omit "
                "gadget= and along="
            )
        text, preferred, playouts = values.pop("values"), values.pop("biased", None), values.pop("playouts", PLAYOUTS)
        worths = self._continuations(name, text, preferred, playouts)
        return LookaheadPlayer(self.game, self.player, model, values=worths, **{"p": 1.0, **values})

    def _continuations(self, name: str, text: str, preferred: str | None, playouts: int) -> "list[Continuation]":
        """Return the continuations beyond the depth limit: the given one, and one per preferred action."""
        from ..depth_limited.continuations import CheckDown, Playouts, biased, uniformly

        named = [] if preferred is None else [each.strip() for each in preferred.split("/")]
        if text == "checkdown" and not named:
            return [CheckDown()]
        if text == "uniform":
            first: Answer = uniformly
            second: Answer = uniformly
        elif Path(text).suffix.lower() == _STREAMED:
            first, second = (strategy.probabilities for strategy in _streamed(text))
        elif text == "checkdown":
            raise InvalidStrategyError(f"opponent {name}: biased= needs values=uniform or a file of strategies")
        else:
            raise self._no_values(name, text)
        found: list[Continuation] = [Playouts(None if text == "uniform" else (first, second), playouts)]
        for action in named:
            label = _known_action(self.game, 1 - self.player, action)
            pair = (first, biased(second, label)) if self.player == 0 else (biased(first, label), second)
            found.append(Playouts(pair, playouts))
        return found

    def _no_values(self, name: str, text: str) -> InvalidStrategyError:
        return InvalidStrategyError(
            f"opponent {name}: values is {shown(text, 60)}{nearest(text, ('uniform', 'checkdown'))}; expected uniform, "
            f"checkdown or a file of strategies ({_STREAMED})"
        )


def _known_action(game: Game, player: int, text: str) -> str:
    """Return the name of the action that a string names; it must occur in randomly drawn games.

    Raises
    ------
    InvalidStrategyError
        If the player had no such action.
    """
    from ..depth_limited.continuations import drawn_actions

    rules, name = game.rules, str(game.action_words.get(text, text))
    assert rules is not None
    known = drawn_actions(rules, player)
    if name not in known:
        raise InvalidStrategyError(
            f"player {player} of {game.spec} had no action {shown(text, 60)} in randomly drawn games"
            f"{nearest(text, [*known, *game.action_words])}; expected one of {', '.join(sorted(known)[:10])}"
        )
    return name


def _streamed(path: str) -> "StreamedProfile":
    from ..sampling.streamed_play import StreamedProfile

    return StreamedProfile.load(path)


def not_enumerated(what: str, game: Game) -> InvalidStrategyError:
    """Return the error for an opponent that needs the whole game, if the game is not enumerated."""
    return InvalidStrategyError(
        f"opponent {what} needs the whole game, and {game.spec} is not enumerated; expected uniform, random, "
        "perturbed, cdbr, cdrnr, or a file of strategies by label (.jsonl)"
    )


class Opponent(ABC):
    """An opponent as declared by a string: a frozen dataclass of parameters, with a class attribute ``name``."""

    name: ClassVar[str]

    @abstractmethod
    def strategy(self, seat: Seat) -> Strategy:
        """Return the opponent's strategy; ``seat.within().strategy(text)`` returns that of another opponent."""

    def answer(self, seat: Seat) -> "Answer":
        """Return the opponent's strategy as a function of infoset label and actions, for a game that is not enumerated.

        Raises
        ------
        InvalidStrategyError
            If it needs the whole game.
        """
        raise not_enumerated(self.name, seat.game)


@dataclass(frozen=True)
class _Uniform(Opponent):
    without: Annotated[
        str | None, About("an action that is never taken if there is another", shown="none", form="ACTION")
    ] = None

    name: ClassVar[str] = "uniform"

    def strategy(self, seat: Seat) -> Strategy:
        if self.without is not None:
            return uniform_without(seat.game, seat.player, self.without)
        return Strategy.uniform(seat.game, seat.player)

    def answer(self, seat: Seat) -> "Answer":
        avoided = None if self.without is None else _known_action(seat.game, seat.player, self.without)

        def shares(infoset: Hashable, actions: Sequence[Hashable]) -> list[float]:
            kept = [float(str(action) != avoided) for action in actions]
            total = sum(kept)
            return [share / total for share in kept] if total else [1.0 / len(actions)] * len(actions)

        return shares


_Seed = About("seed of the random draws", minimum=0, large=True, form="S")
_Iterations = About("iterations", minimum=0, large=True)


@dataclass(frozen=True)
class _Random(Opponent):
    seed: Annotated[int, _Seed]

    name: ClassVar[str] = "random"

    def strategy(self, seat: Seat) -> Strategy:
        rng = np.random.default_rng(self.seed)
        treeplex = seat.game.sequence_form.treeplexes[seat.player]
        drawn = [rng.dirichlet(np.ones(count)) for count in treeplex.num_actions.tolist()]
        return Strategy(seat.game, seat.player, np.concatenate([[1.0], *drawn]))

    def answer(self, seat: Seat) -> "Answer":
        def shares(infoset: Hashable, actions: Sequence[Hashable]) -> list[float]:
            rng = np.random.default_rng((self.seed, seat.player, zlib.crc32(repr(infoset).encode())))
            drawn: list[float] = rng.dirichlet(np.ones(len(actions))).tolist()
            return drawn

        return shares


@dataclass(frozen=True)
class _Equilibrium(Opponent):
    name: ClassVar[str] = "nash"

    def strategy(self, seat: Seat) -> Strategy:
        needed = f"an equilibrium of {seat.game.spec} for the opponent"
        solution = solve_part(Nash(seat.game), "highs-simplex", needed=needed)
        return solution.profile[seat.player]


@dataclass(frozen=True)
class _Iterated(Opponent):
    iterations: Annotated[int, _Iterations]
    updates: Annotated[Literal["alternating", "simultaneous"], About("order of the players' updates")] = "alternating"

    name: ClassVar[str] = "cfr"

    def strategy(self, seat: Seat) -> Strategy:
        method = find_method("cfr", updates=self.updates)
        solution = solve_part(Nash(seat.game), method, tol=0.0, max_iterations=self.iterations)
        return solution.profile[seat.player]


@dataclass(frozen=True)
class _Abstract(Opponent):
    buckets: Annotated[str, About("the cards that players can distinguish", form="JQ.K/pair.nopair", first=True)]
    iterations: Annotated[int, _Iterations] = ABSTRACTION_ITERATIONS

    name: ClassVar[str] = "abstraction"

    def strategy(self, seat: Seat) -> Strategy:
        return abstraction_profile(self.buckets, seat.game, self.iterations)[seat.player]


@dataclass(frozen=True)
class _Mixture(Opponent):
    terms: Annotated[str, About("opponents with their probabilities", form="W*O+W*O", first=True)]

    name: ClassVar[str] = "mixture"

    def strategy(self, seat: Seat) -> Strategy:
        weights: list[Any] = []
        parts: list[str] = []
        for term in _GRAMMAR.items(self.name, self.terms, "+"):
            weight, times, part = (piece.strip() for piece in term.partition("*"))
            if not (weight and times and part):
                raise InvalidStrategyError(
                    "opponent mixture: expected a weight, * and an opponent, such as 0.3*uniform, got "
                    f"{shown(term.strip(), 60)}"
                )
            weights.append(_WEIGHT.checked("opponent mixture", weight, InvalidStrategyError))
            parts.append(part)
        total = float(sum(weights))
        if abs(total - 1.0) > 1e-9:
            listed = one_line(", ".join(f"{float(weight):g}" for weight in weights))
            raise InvalidStrategyError(
                f"opponent mixture: weights {listed} sum to {total:g}; expected probabilities that sum to 1"
            )
        return mixture([seat.within().strategy(part) for part in parts], weights)


_WEIGHT = Parameter("weight", Fraction, None, About("probability", minimum=0, maximum=1))


@dataclass(frozen=True)
class _Threshold(Opponent):
    file: Annotated[str | None, About("file with its numbers", shown="made by hand", form="FILE")] = None

    name: ClassVar[str] = "threshold"

    def strategy(self, seat: Seat) -> Strategy:
        automaton = Threshold() if self.file is None else Threshold.from_file(self.file)
        return automaton.strategy(seat.game, seat.player)


@dataclass(frozen=True)
class _Perturbed(Opponent):
    opponent: Annotated[str, About("the opponent that is perturbed", form="O", first=True)]
    epsilon: Annotated[float | None, About("probability of a tremble", minimum=0, maximum=1, shown="0")] = None
    concentration: Annotated[
        float | None, About("concentration of the random draws", above=0, maximum=10**12, shown="none")
    ] = None
    seed: Annotated[int | None, _Seed] = None

    name: ClassVar[str] = "perturbed"

    def strategy(self, seat: Seat) -> Strategy:
        if (self.concentration is None) != (self.seed is None):
            raise InvalidStrategyError("opponent perturbed: concentration and seed go together, but one is missing")
        if self.epsilon is None and self.concentration is None:
            raise InvalidStrategyError(
                "opponent perturbed needs noise: epsilon, or concentration and seed; expected "
                f"{usage(self.name, parameters_of(type(self)))}"
            )
        return perturbed(seat.within().strategy(self.opponent), self.epsilon or 0.0, self.concentration, self.seed)

    def answer(self, seat: Seat) -> "Answer":
        if self.concentration is not None or self.epsilon is None:
            raise not_enumerated(f"{self.name} with a concentration", seat.game)
        epsilon, inner = self.epsilon, seat.within().answer(self.opponent)

        def shares(infoset: Hashable, actions: tuple[Hashable, ...]) -> list[float]:
            return [epsilon / len(actions) + (1.0 - epsilon) * share for share in inner(infoset, actions)]

        return shares


@dataclass(frozen=True)
class _AgentLimits:
    """The settings for the decisions of an agent that plays a response."""

    method: Annotated[str, About("method that computes the decisions", form="M")] = "cfr+"
    tolerance: Annotated[float, About("tolerance of each decision, in payoff units", minimum=0)] = 0.0
    seconds: Annotated[float, About("time limit of each decision, in seconds", minimum=0)] = 0.0


@dataclass(frozen=True)
class _LookaheadLimits:
    """The settings of an agent whose steps end at the depth limit."""

    values: Annotated[
        str | None,
        About(
            "how both players continue beyond the depth limit, which gives the values there: uniform, checkdown or a "
            "file of strategies (.jsonl)",
            shown="the rest of the game, solved",
            form="V",
        ),
    ] = None
    biased: Annotated[
        str | None,
        About(
            "actions that the opponent may choose to play five times as often beyond the depth limit",
            shown="none",
            form="A/A",
        ),
    ] = None
    playouts: Annotated[
        int, About("number of games simulated from a state at the depth limit; 0 for the exact mean", minimum=0)
    ] = PLAYOUTS
    threshold: Annotated[float, About("probabilities below this are not played", minimum=0, maximum=1)] = THRESHOLD


#: The library's own opponents, in the order in which they are listed.
_OWN = {
    "uniform": "strategies:_Uniform",
    "random": "strategies:_Random",
    "nash": "strategies:_Equilibrium",
    "cfr": "strategies:_Iterated",
    "abstraction": "strategies:_Abstract",
    "mixture": "strategies:_Mixture",
    "perturbed": "strategies:_Perturbed",
    "threshold": "strategies:_Threshold",
}
#: Every opponent under its name; other packages add some by :meth:`Registry.register` or by entry points.
OPPONENTS: Registry[type[Any]] = Registry(
    _GRAMMAR, "treeplex.opponents", accepting(Opponent, InvalidStrategyError, "careful"), _OWN, __package__
)
#: Problems that an agent solves one decision at a time, during play.
_AGENTS: dict[str, Any] = {problem.name: problem for problem in (CDBR, CDRNR, CDBRNE, SES, LBR)}

#: Problems among them whose steps may end at the depth limit, so that the game need not be enumerated.
_LOOKING = (CDBR.name, CDRNR.name)


def _agent_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the parameters of an agent's string: those of the problem (its opponent is a string) and of decisions."""
    problem = parameters_of(_AGENTS[name])
    named = [dataclasses.replace(each, kind=str) if each.name == "opponent" else each for each in problem]
    return (*named, *parameters_of(_AgentLimits), *(parameters_of(_LookaheadLimits) if name in _LOOKING else ()))


def opponent_forms() -> list[str]:
    """Return the form of the string that specifies each opponent.

    Examples
    --------
    >>> from treeplex.solvers.opponents.strategies import opponent_forms
    >>> opponent_forms()[:3]
    ['uniform[:without=ACTION]', 'random:seed=S', 'nash']
    """
    kinds = {name: parameters_of(kind) for name, kind in OPPONENTS.items()}
    kinds |= {
        name: tuple(each for each in _agent_parameters(name) if each.required or each.name == "method")
        for name in _AGENTS
    }
    return [usage(name, parameters) for name, parameters in kinds.items()]
