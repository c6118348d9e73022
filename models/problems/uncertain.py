"""Robust strategies for uncertain payoffs and chance: the worst of several games, or of a set around a game."""

import itertools
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_player, check_whole
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnknownGameError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.parameters import About
from ...seqform.polytope import Treeplex, best_response_plan, best_response_value
from ...seqform.rationals import exact_plan, intended_fraction
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy, check_same_game, check_strategy
from ..constraints import collect_constraints
from ..declarations import PLAYER, Opponent
from ..programs.triplets import Triplets, exact_payoffs
from ..saddle import PlayerView, Replies, Rows, Saddle, zero_sum_of
from .certificate import Certificate
from .features import Feature
from .one_player import OnePlayerProblem
from .problem import SaddleProblem
from .pure_replies import MOST_REPLIES, pure_plans

#: Intervals have at most this many corners.
_MOST_CORNERS = 1000
#: Constant sums of payoffs that differ by no more are equal.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class ScenarioView(PlayerView):
    """A game from one player's seat if the other player also chooses one of several scenarios.

    Parameters
    ----------
    table : csr_array or Triplets, shape (num_sequences of the player, num_sequences of the replies)
        The payoffs against the plans of the replies, which take the place of M T.
    """

    table: Any = None

    @property
    def factored(self) -> None:
        """The payoffs are not in factors."""
        return

    @cached_property
    def matrices(self) -> tuple[Any, ...]:
        """The table."""
        return (self.table,)

    @cached_property
    def form(self) -> SequenceForm:
        """The game between the player and the other player with its choice of a scenario."""
        first = sp.csr_array(self._floats if self.player == 0 else -self._floats.T)
        treeplexes = (self.own, self.other) if self.player == 0 else (self.other, self.own)
        return SequenceForm(treeplexes, payoff_matrices=(first, -first))

    def own_gradient(self, other: Any) -> Any:
        """Return the player's payoff per unit of each of its sequences."""
        return self.table @ other

    def other_gradient(self, own: Any) -> Any:
        """Return the other player's payoff per unit of each sequence of the replies."""
        return -(self.table.T @ own)

    def worst_reply(self, own: Any) -> Any:
        """Return a pure plan of the replies that is worst for the player."""
        found = best_response_plan(self.other, -(self._floats.T @ np.asarray(own, dtype=np.float64)))
        return exact_plan(self.other, found.behaviour) if self.exact else found.plan

    @cached_property
    def _floats(self) -> Any:
        return self.table.to_sparse() if isinstance(self.table, Triplets) else self.table


@dataclass(frozen=True, eq=False)
class ScenarioReplies(Replies):
    """The plans of a player who first chooses a scenario; T z is its play, averaged over scenarios.

    Parameters
    ----------
    treeplex, spread
        As in :class:`~treeplex.models.saddle.Replies`.
    count : int
        Number of scenarios.
    is_fixed : bool
        Whether the player's strategy is given, so that only the scenario is chosen.
    """

    count: int
    is_fixed: bool

    @classmethod
    def of(cls, other: Treeplex, names: Sequence[str], model: Floats | None) -> "ScenarioReplies":
        """Return the replies for the scenarios' names, with the other player's strategy if that is given."""
        count, size, width = len(names), other.num_sequences, other.num_sequences - 1
        choice = sp.csr_array(([1.0], ([0], [0])), shape=(1, 1 + count))
        if model is not None:
            treeplex = Treeplex.from_inflow(choice, [count], ["scenario"], [list(names)])
            spread = sp.csr_array((model, (np.arange(size), np.zeros(size, dtype=np.int64))), shape=(size, 1 + count))
            return cls(treeplex, spread, count, True, exact_spread=Triplets.of(spread))
        inflow = sp.coo_array(other.inflow)
        rows, columns, weights = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)], [np.ones(1)]
        for number in range(count):
            into, out = inflow.coords
            rows.append(1 + number * other.num_infosets + into)
            columns.append(np.where(out > 0, count + number * width + out, 1 + number))
            weights.append(inflow.data)
        whole = sp.csr_array(
            (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))),
            shape=(1 + count * other.num_infosets, 1 + count + count * width),
        )
        labels = ["scenario", *(f"{name}: {label}" for name in names for label in other.infoset_labels)]
        actions = [list(names), *(list(other.action_labels) * count)]
        treeplex = Treeplex.from_inflow(whole, [count, *(other.num_actions.tolist() * count)], labels, actions)
        own = np.arange(1, size)
        places = np.concatenate([[0], *(count + number * width + own for number in range(count))])
        entries = np.ones(len(places)), (np.concatenate([[0], *[own] * count]), places)
        spread = sp.csr_array(entries, shape=(size, treeplex.num_sequences))
        return cls(treeplex, spread, count, False, exact_spread=Triplets.of(spread))

    def preimage(self, plan: Any) -> Any:
        """Return the plan in all scenarios, which are equally likely."""
        share = intended_fraction(1) / self.count if plan.dtype == object else 1.0 / self.count
        chosen = [plan[:1], np.repeat(plan[:1] * share, self.count)]
        return np.concatenate(chosen + [plan[1:] * share] * (0 if self.is_fixed else self.count))


@dataclass(frozen=True)
class ScenarioOutcome:
    """The least payoff of a strategy in a scenario.

    Attributes
    ----------
    name : str
    payoff : float
        Against a best response of the other player, or against the model.
    """

    name: str
    payoff: float


@dataclass(frozen=True, eq=False)
class UncertainPayoffs(OnePlayerProblem, SaddleProblem):
    r"""A strategy that earns the most in the worst case if payoffs, or probabilities of chance, are uncertain.

    .. math:: \max_x\ \min_{M \in U}\ \min_y\ x^\top M y \quad \text{or, against a model,} \quad
        \max_x\ \min_{M \in U}\ x^\top M \hat y .

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    scenarios : mapping of str to Game, or iterable of Game or str, or path
        Games with the same information sets and actions, but other payoffs or probabilities of chance. A string is the
        name of a game, or a TOML file with a table ``[scenarios]`` of games by name.
    uncertainty : {"scenarios", "intervals", "ellipsoid"}
        U, with M₀ the payoffs of `game` and M_k those of the scenarios. ``scenarios``: one of the M_k. ``intervals``:
        M₀ + Σ ξ_k (M_k − M₀), with each ξ_k between −1 and 1, and absolute values that sum to at most `budget`.
        ``ellipsoid``: the same with Σ ξ_k² ≤ 1.
    budget : int, optional
        For intervals; by default the number of scenarios.
    opponent : Strategy, optional
        ŷ, the model of the other player; by default it plays a best response.
    player : {0, 1}
        The player of the strategy, if there is no model.

    Raises
    ------
    InvalidGameError
        If a scenario cannot be read, or its information sets or actions differ.
    InvalidStrategyError
        If the opponent is not a strategy of the game.
    UnsupportedProblemError
        If a game is not constant-sum or does not have two players, the constants differ, there are no scenarios, the
        intervals have more than 1,000 corners, or for an ellipsoid without a model the other player has more than 500
        pure plans.

    Notes
    -----
    Scenarios are a choice of the other player before it plays: with weights q of the scenarios and a plan in each, z is
    a plan of a larger treeplex, and the payoff is linear in z. So the program is the canonical one, solved and
    certified like an equilibrium. Intervals are the scenarios at the corners of the set of ξ (D. Bertsimas and M. Sim,
    "The price of robustness", Operations Research 52, 2004), because the minimum over ξ is attained at one. For an
    ellipsoid, a pure plan y leaves

    .. math:: x^\top M_0 y - \sqrt{\textstyle\sum_k (x^\top (M_k - M_0)\, y)^2},

    and the minimum over y is attained at a pure plan because this is concave in y. The program is conic, with a
    second-order cone for each pure plan, or one for the model (A. Ben-Tal and A. Nemirovski, "Robust convex
    optimization", Mathematics of Operations Research 23, 1998). Robust equilibria: M. Aghassi and D. Bertsimas, "Robust
    game theory", Mathematical Programming 107, 2006.

    The lower bound is what the strategy earns in the worst case. The exploitability refers to `game` itself: how much
    of its value the robust strategy gives up at worst.

    Examples
    --------
    Matching pennies in which heads may be worth 3 to player 0:

    >>> from treeplex import Game, SequenceForm, solve
    >>> from treeplex.models.problems import UncertainPayoffs
    >>> usual, other = (
    ...     Game.from_sequence_form(SequenceForm.from_payoff_matrix([[heads, -1], [-1, 1]])) for heads in (1, 3)
    ... )
    >>> problem = UncertainPayoffs(usual, {"usual": usual, "other": other}, player=1)
    >>> solution = solve(problem)
    >>> round(solution.objective, 6), round(solution.profile[1]["column"][0], 6)
    (-0.333333, 0.333333)
    >>> sorted((one.name, round(one.payoff, 6)) for one in problem.outcomes(solution.strategy))
    [('other', -0.333333), ('usual', -0.333333)]
    """

    scenarios: Annotated[
        Any,
        About(
            "game with other payoffs or chances, or a TOML file with a table [scenarios] of games by name; repeat it "
            "for several",
            kind=Game,
            form="GAME",
            alias="scenario",
            many=True,
            example="leduc:ranks=2,bet2=6",
        ),
    ]
    uncertainty: Annotated[
        Literal["scenarios", "intervals", "ellipsoid"],
        About("the set of payoffs: one of the scenarios, or a set around the game that they span"),
    ] = field(default="scenarios", kw_only=True)
    budget: Annotated[
        int | None, About("how many deviations of intervals occur at once", minimum=0, shown="all", form="N")
    ] = field(default=None, kw_only=True)
    opponent: Annotated[Any, replace(Opponent.__metadata__[0], shown="best response")] = field(
        default=None, kw_only=True
    )
    player: Annotated[int, PLAYER] = field(default=0, kw_only=True)

    name: ClassVar[str] = "uncertain"
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most in the worst case, if payoffs or chances are uncertain?"
    )
    example_game: ClassVar[str] = "leduc:ranks=2"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(
            self.uncertainty,
            f"{self.name}: uncertainty",
            UnsupportedProblemError,
            ("scenarios", "intervals", "ellipsoid"),
        )
        object.__setattr__(self, "scenarios", _read(self.scenarios, self.name))
        if self.budget is not None:
            if self.uncertainty != "intervals":
                raise UnsupportedProblemError(f"{self.name}: budget is given without intervals")
            budget = check_whole(self.budget, f"{self.name}: budget", UnsupportedProblemError, "[0, inf)")
            object.__setattr__(self, "budget", budget)
        if self.opponent is None:
            object.__setattr__(self, "player", check_player(self.player, 2, InvalidGameError))
        else:
            check_same_game(check_strategy(self.opponent, f"{self.name}: the opponent"), self.given_game)
            object.__setattr__(self, "player", 1 - int(self.opponent.player))

    @property
    def model(self) -> Strategy | None:  # type: ignore[override]
        """The model of the other player, if there is one."""
        return None if self.opponent is None else self.opponent

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can express the problem."""
        return self.uncertainty != "ellipsoid"

    @property
    def needs(self) -> frozenset[str]:
        """The features that this problem needs from a method."""
        if self.is_linear:
            return frozenset({Feature.PROGRAM, Feature.REPLIES})
        return frozenset({Feature.PROGRAM, Feature.CONSTRAINTS, Feature.CONVEX, Feature.ALONE})

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return "in the worst case" if self.opponent is None else "against the model, in the worst case"

    def check_game(self) -> None:
        """Raise an error if a scenario does not fit the game, or there are too many cases."""
        form = self.game.sequence_form
        for name, scenario in self.scenarios.items():
            posed = zero_sum_of(self.name, scenario)
            for player, (one, other) in enumerate(zip(form.treeplexes, posed.sequence_form.treeplexes, strict=True)):
                same = one.infoset_labels == other.infoset_labels and one.action_labels == other.action_labels
                if not same or one.inflow.shape != other.inflow.shape or (abs(one.inflow - other.inflow) > 0.0).nnz:
                    raise InvalidGameError(
                        f"{self.name}: the information sets or actions of player {player} in scenario {shown(name)} "
                        f"are not those of {self.game.spec}"
                    )
            if abs(float(posed.constant or 0.0) - float(self.game.constant or 0.0)) > _SAME:
                raise UnsupportedProblemError(
                    f"{self.name}: payoffs of scenario {shown(name)} sum to {float(posed.constant or 0.0):.6g}, and "
                    f"those of {self.game.spec} to {float(self.game.constant or 0.0):.6g}; expected equal sums"
                )
        count = len(self.scenarios)
        if self.uncertainty == "intervals":
            chosen = min(count, count if self.budget is None else self.budget)
            corners = math.comb(count, chosen) * 2**chosen
            if corners > _MOST_CORNERS:
                raise UnsupportedProblemError(
                    f"{self.name}: the intervals have {corners:,} corners, expected at most {_MOST_CORNERS:,}; state "
                    "fewer scenarios or a smaller budget"
                )
        if not self.is_linear and self._cones is None:
            raise UnsupportedProblemError(
                f"{self.name}: player {1 - self.player} has more than {MOST_REPLIES} pure plans, or they are not a "
                "tree's; expected fewer for an ellipsoid, or a model of the opponent"
            )

    @cached_property
    def cases(self) -> Mapping[str, tuple[float, ...]]:
        """The weights of the game and of each scenario in the payoffs of each case, by name."""
        names = list(self.scenarios)
        if self.uncertainty != "intervals":
            return {name: (0.0, *(float(one == name) for one in names)) for name in names}
        found = {}
        chosen = min(len(names), len(names) if self.budget is None else self.budget)
        for which in itertools.combinations(range(len(names)), chosen):
            for signs in itertools.product((1.0, -1.0), repeat=chosen):
                weights = np.zeros(len(names))
                weights[list(which)] = signs
                words = [f"{'+' if sign > 0 else '-'}{names[one]}" for one, sign in zip(which, signs, strict=True)]
                found[" ".join(words) or "the game"] = (1.0 - weights.sum(), *weights)
        return found

    @cached_property
    def _cones(self) -> Floats | None:
        """The other player's plans for the cones of an ellipsoid: the model, or its pure plans; otherwise ``None``."""
        if self.is_linear:
            return None
        if self.model is not None:
            return np.array([self.model.plan])
        return pure_plans(self.game.sequence_form.treeplexes[1 - self.player])

    def _payoffs(self, exact: bool = False) -> list[Any]:
        """Return the payoffs of the game and of each scenario, from the player's seat."""
        games = [self.game, *(zero_sum_of(self.name, one) for one in self.scenarios.values())]
        found: list[Any] = [exact_payoffs(one) if exact else one.sequence_form.A for one in games]
        return found if self.player == 0 else [-one.T for one in found]

    def view(self, exact: bool = False) -> PlayerView:
        """Return the game from the player's seat; the other player also chooses a case."""
        if not self.is_linear:
            return PlayerView(self.game, self.player, exact)
        other, count, model = self.game.sequence_form.treeplexes[1 - self.player], len(self.cases), self.model
        replies = ScenarioReplies.of(other, list(self.cases), None if model is None else model.plan)
        payoffs = [Triplets.of(one) if exact else sp.coo_array(one) for one in self._payoffs(exact)]
        plan = None
        if model is not None:
            plan = exact_plan(other, model.behaviour) if exact else model.plan
        parts = []
        for number, weights in enumerate(self.cases.values()):
            for weight, payoff in zip(weights, payoffs, strict=True):
                if plan is not None:
                    values = np.reshape(payoff @ plan, -1)  # SciPy multiplies a single row to a number
                    rows, columns = np.arange(len(values)), np.full(len(values), 1 + number)
                else:
                    values, rows, columns = _entries(payoff)
                    columns = np.where(columns > 0, count + number * (other.num_sequences - 1) + columns, 1 + number)
                parts.append((rows, columns, values * (intended_fraction(weight) if exact else weight)))
        rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        shape, kept = (int(payoffs[0].shape[0]), replies.treeplex.num_sequences), values != 0
        entries = rows[kept], columns[kept], values[kept]
        table = Triplets(shape, *entries) if exact else sp.csr_array((entries[2], entries[:2]), shape=shape)
        return ScenarioView(self.game, self.player, exact, replies, table)

    def saddle(self, exact: bool = False) -> Saddle:
        """Return the program of the notes of the class."""
        view = self.view(exact)
        if self.is_linear:
            return Saddle(view, weight=view.number(1))
        return self._conic(view)

    def _conic(self, view: PlayerView) -> Saddle:
        """Return max over x of most − max over plans y of the loss below `most`, with a cone for each y."""
        from cvxpy.atoms.norm import norm

        nominal, *others = self._payoffs()
        assert self._cones is not None  # checked with the game
        own = self.game.sequence_form.treeplexes[self.player]
        most = max(best_response_value(own, nominal @ plan) for plan in self._cones) + 1.0
        x = self.game.plan(self.player)
        limits = {}
        for number, plan in enumerate(self._cones):
            spread = np.array([(one - nominal) @ plan for one in others])
            limits[f"plan {number}"] = norm(spread @ x) - (nominal @ plan) @ x + most <= 0.0
        tilt = np.zeros(own.num_sequences)
        tilt[0] = most
        rows = Rows(collect_constraints(limits, self.game), own.num_sequences, 1.0, True)
        return Saddle(view, tilt=tilt, own=rows)

    def outcomes(self, strategy: Strategy) -> tuple[ScenarioOutcome, ...]:
        """Return what a strategy earns at least in each scenario or corner, the worst first.

        For an ellipsoid, these are its worst point, named by the ξ_k of the scenarios, and the points with one ξ_k of 1
        or −1.

        Parameters
        ----------
        strategy : Strategy
            Of :attr:`player`.

        Raises
        ------
        InvalidStrategyError
            If it belongs to another game or player.
        """
        check_same_game(check_strategy(strategy, "the strategy"), self.given_game)
        if strategy.player != self.player:
            raise InvalidStrategyError(
                f"expected a strategy of player {self.player}, got one of player {strategy.player}"
            )
        other, names, cases = self.game.sequence_form.treeplexes[1 - self.player], list(self.scenarios), self.cases
        nominal, *others = (payoff.T @ strategy.plan for payoff in self._payoffs())
        constant = float(self.game.constant or 0.0) if self.player == 1 else 0.0
        if self._cones is not None:
            cases = dict([self._worst_point(nominal, others)])
            for name, sign in itertools.product(names, (1.0, -1.0)):
                cases[f"{sign:+.0f} {name}"] = (1.0 - sign, *(sign * (each == name) for each in names))
        found = []
        for name, weights in cases.items():
            earned = sum(weight * one for weight, one in zip(weights, (nominal, *others), strict=True) if weight)
            lost = best_response_value(other, -earned) if self.model is None else -float(earned @ self.model.plan)
            found.append(ScenarioOutcome(name, constant - lost))
        return tuple(sorted(found, key=lambda one: one.payoff))

    def _worst_point(self, nominal: Floats, others: Sequence[Floats]) -> tuple[str, tuple[float, ...]]:
        """Return the name and the weights of the point of an ellipsoid that is worst for a strategy."""
        assert self._cones is not None
        moved = np.array([self._cones @ (one - nominal) for one in others])
        length = np.linalg.norm(moved, axis=0)
        worst = int(np.argmin(self._cones @ nominal - length))
        point = -moved[:, worst] / (length[worst] or 1.0)
        words = " ".join(f"{one:+.3g} {name}" for one, name in zip(point, self.scenarios, strict=True))
        return words, (1.0 - float(point.sum()), *point.tolist())

    def facts(self, profile: Profile) -> Mapping[str, str]:
        """Return the worst scenario and what it pays."""
        worst = self.outcomes(profile[self.player])[0]
        return {"worst_scenario": f"{worst.name}, which pays {worst.payoff:.6g}"}

    def _certificate(
        self, saddle: Saddle, plans: Sequence[Any], multipliers: Mapping[str, Any], dual_certificate: Mapping[str, Any]
    ) -> Certificate:
        # The cones of an ellipsoid are parts of the objective and not constraints.
        return replace(super()._certificate(saddle, plans, multipliers, dual_certificate), violations={})


def _entries(matrix: Any) -> tuple[Any, Any, Any]:
    """Return the values, rows and columns of the entries of a matrix in floats or fractions."""
    if isinstance(matrix, Triplets):
        return matrix.values, matrix.rows, matrix.columns
    return matrix.data, *matrix.coords


def _read(given: Any, problem: str) -> Mapping[str, Game]:
    """Return games by name; strings and files are read.

    Raises
    ------
    InvalidGameError, UnknownGameError, UnsupportedProblemError
    """
    from ..games import load_game

    if isinstance(given, str | os.PathLike):
        given = [given]
    if isinstance(given, Mapping):
        named = list(given.items())
    elif isinstance(given, Sequence):
        named = [(one.spec if isinstance(one, Game) else str(one), one) for one in given]
    else:
        raise InvalidGameError(f"{problem}: expected games as scenarios, got {shown(given)}")
    found: dict[str, Game] = {}
    for name, one in named:
        if isinstance(one, str | os.PathLike) and str(one).endswith(".toml"):
            of_file = _of_file(Path(one))
            if of_file is not None:
                found |= of_file
                continue
        try:
            game = load_game(one) if isinstance(one, str | os.PathLike) else one
        except UnknownGameError as error:
            raise UnknownGameError(f"{problem}: scenario {shown(name)}: {error}") from None
        if not isinstance(game, Game):
            raise InvalidGameError(f"{problem}: scenario {shown(name)} is {shown(one)}, expected a Game")
        found[str(name) if str(name) not in found else f"{name} ({len(found) + 1})"] = game
    if not found:
        raise UnsupportedProblemError(f"{problem}: there are no scenarios, expected one or more games")
    return found


def _of_file(path: Path) -> dict[str, Game] | None:
    """Return the games of a TOML file with a table ``[scenarios]``; ``None`` if it has no such table."""
    from ..games import load_game

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidGameError(f"scenarios: {path} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidGameError(f"scenarios: {path} is not a TOML file: {error}") from None
    if "scenarios" not in table or not isinstance(table["scenarios"], dict):
        return None
    extra = set(table) - {"scenarios"}
    if extra:
        raise InvalidGameError(f"scenarios: {path} has the unknown key {shown(min(extra))}, expected only [scenarios]")
    games = {}
    for name, spec in table["scenarios"].items():
        if not isinstance(spec, str):
            raise InvalidGameError(f"scenarios: {path}: scenario {shown(name)} is {shown(spec)}, expected a game")
        beside = path.parent / spec
        games[name] = load_game(beside if beside.exists() else spec)
    return games
