"""Responses to a model of the opponent that are decided step by step with limited lookahead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...seqform.arrays import Floats, Integers
from ...seqform.checks import check_choice
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, nearest, shown
from ...seqform.evaluate import worst_case
from ...seqform.strategy import Profile, check_same_game
from ..declarations import Along, Confidence, GadgetName, Level, Mixing
from ..depth_limited import (
    GADGETS,
    Gadget,
    LocalRun,
    ResolvingRun,
    SearchBound,
    SearchRun,
    SubgameRoots,
    TrunkSolution,
    decision_steps,
    folds_and_calls,
    partition_roots,
    roots_after_chance,
    search_bound,
)
from .certificate import Certificate, StepBounds
from .features import Feature
from .responses import most_loss
from .stepped import DepthLimitedResponse, SteppedResponse

#: Infosets with less reach count as not reached, to allow for a solver's round-off.
_REACHED = 1e-9


@dataclass(frozen=True, eq=False)
class CDBR(DepthLimitedResponse):
    """A continual depth-limited best response to a model of the opponent.

    At each of its decisions the player assumes that the opponent follows the model for ``lookahead`` levels and plays
    optimally below. It optimises, fixes this decision and moves to the next.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with histories.
    opponent : Strategy
        The model ŷ.
    lookahead : int, optional
        Number of levels of the public tree that a step looks beyond its own action, at least 1. Each player action is a
        level, and so is each public chance event; private deals are not.
    level : int, str, iterable of int or callable, optional
        Instead of a lookahead, a partition into a trunk and subgames: the level at which subgames begin, several levels
        (also as ``"2+5"``), ``"chance"`` for the states after public chance events, or a function that takes the
        :attr:`public tree <treeplex.Game.public_tree>` and returns the indices of the public states. A step decides
        everything between one such state and the next, and looks ahead equally far.
    along : {"level", "path"}
        Whether a step decides at all public states of a level, or at one, continuing only from its own path. For this
        problem the choice only matters for ties.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If game or opponent has the wrong type, lookahead is not a positive integer, or both lookahead and level are
        given, or neither.
    UnsupportedProblemError
        If the game is not zero-sum, does not have two players, or has no public states or no such level.

    Notes
    -----
    In step d, x is fixed at the player's own decisions above level d, and ŷ is the opponent's play at levels up to d +
    lookahead. The step's program is: max over x of xᵀ M ŷ_top + f · q such that q bounds the payoffs that the opponent
    allows below, Fᵀ q ≤ Mᵀ x there, with f the weights with which ŷ arrives there. The value function is exact: the
    rest of the game is in the program. Optima never decrease from step to step. The first is at least the value of the
    game, and the last is at most xᵀ M ŷ, with equality if the last step sees all of the opponent's decisions. So the
    gain is never negative. The gain need not grow with the lookahead, and can be below that of an equilibrium strategy.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), section 3.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> game = load_game("leduc:merge_suits=true")
    >>> solution = solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1))
    >>> round(solution.gain, 6), [round(step, 4) for step in solution.steps]
    (1.616162, [0.2799, 0.2799, 0.762, 1.3722, 1.5306, 1.5306, 1.5306])
    """

    name: ClassVar[str] = "cdbr"
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most against the model of player {other}, decided step by step "
        "{problem.sight}?"
    )

    def _objective(self, certificate: Certificate, steps: Sequence[StepBounds]) -> tuple[float, float | None]:
        assert certificate.opponent_value is not None
        return certificate.opponent_value, self._last_bound(certificate.opponent_value, steps)


@dataclass(frozen=True, eq=False)
class CDRNR(DepthLimitedResponse):
    """A continual depth-limited restricted Nash response to a model of the opponent.

    Like :class:`CDBR`, but the opponent follows the model only with probability p and is free otherwise, at earlier
    decisions too. With p = 0 it is continual resolving, and with p = 1 it is the continual depth-limited best response.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with histories.
    opponent : Strategy
        The model ŷ.
    p : float
        From 0 to 1.
    lookahead : int, optional
        Number of levels of the public tree that a step looks beyond its own action, at least 1.
    level : int, str, iterable of int or callable, optional
        Instead of a lookahead, a partition into a trunk and subgames, as for :class:`CDBR`.
    gadget : {"full", "reach-resolving", "none", "resolving", "max-margin", "reach-max-margin"}
        The gadget above the subgames of a step; see the notes.
    blueprint : Profile, optional
        The profile, such as an equilibrium, that the first step resolves with gadgets other than ``full``. Without it
        the first step solves a trunk that begins at the root.
    along : {"level", "path"}
        Whether a step decides at all public states of a level, or at one, continuing only from its own path, as in
        actual play. ``reach-resolving`` always follows paths: its subgames are independent.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If game, opponent or blueprint has the wrong type, p is not a number from 0 to 1, or lookahead is not a positive
        integer.
    UnsupportedProblemError
        If there is no such gadget, or the game is not zero-sum, does not have two players, or has no public states.

    Notes
    -----
    With the ``full`` gadget the whole game stays in each step: max over x of p times the objective of :class:`CDBR`
    plus (1 − p) min over y of xᵀ M y. Optima never decrease from step to step. The first is at least the value of the
    game, and the last is at most p xᵀ M ŷ + (1 − p) min over y of xᵀ M y. With optimal steps the gain is therefore
    never negative, and exploitability is at most p / (1 − p) times the gain. Gaps of the steps add their sum / (1 − p)
    (:meth:`safety_bound`). This holds for steps along levels. Along paths each step assumes that the player's other
    decisions favour this one. Two steps may each rely on the other to cover a risk that neither covers, so there is no
    bound.

    ``reach-resolving`` has the same bound along paths, and each of its programs contains only the subgame of its step.
    The opponent either enters the subgame on its own path or leaves it for 0. Each entry is measured relative to the
    value promised for it by the step before. The promise is the value in that step's solution minus a part of the gift,
    the amount that the opponent gives away by entering there. Each part is passed on once, so no two subgames spend the
    same gift. It gains less than the full gadget along levels, which decides jointly which subgame spends a gift.

    Other gadgets solve only the subgames of a step, starting from the solution of the step before. ``none`` takes the
    opponent's play above the subgame from that solution (unsafe resolving). With ``resolving`` the opponent may stop at
    the root of a subgame and keep its former value. With ``max-margin`` the opponent chooses the boundary infoset at
    which it enters, and payoffs count relative to its former value there. ``reach-max-margin`` also subtracts the gifts
    made on the way. These gadgets misjudge the cost of a deviation and prove no bound. Weights are counterfactual and
    not normalised, as in the paper.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), sections 4 and 5.

    Examples
    --------
    >>> from treeplex import CDRNR, Strategy, load_game, solve
    >>> game = load_game("leduc:merge_suits=true")
    >>> solution = solve(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=3))
    >>> round(solution.objective, 4), solution.exploitability <= solution.safety_bound
    (0.4365, True)
    """

    p: Confidence = field(kw_only=True)
    gadget: GadgetName = field(default="full", kw_only=True)
    blueprint: Profile | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "cdrnr"
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most if player {other} follows the model with probability "
        "{problem.p}, and otherwise plays optimally, decided step by step {problem.sight}?"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        find_gadget(self.name, self.gadget)
        if self.blueprint is not None:
            if not isinstance(self.blueprint, Profile):
                raise InvalidStrategyError(f"{self.name}: the blueprint is {shown(self.blueprint)}, expected a Profile")
            check_same_game(self.blueprint[0], self.given_game)

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return f"against the model with probability {self.p}, otherwise in the worst case"

    def start(self, equilibrium: TrunkSolution | None = None) -> ResolvingRun:
        """Return the steps, all of them still undecided."""
        blueprint = None
        if self.blueprint is not None:
            blueprint = TrunkSolution(self.blueprint[self.player].plan, self.blueprint[1 - self.player].plan)
        return ResolvingRun(
            self.view(), self.opponent.plan, float(self.p), self.steps, find_gadget(self.name, self.gadget), blueprint
        )

    @property
    def _order(self) -> tuple[Along, bool]:
        """The order of the steps: with promises, along paths from a blueprint or from one step for the first level."""
        return ("path", self.blueprint is None) if GADGETS[self.gadget].promises else (self.along, False)

    @property
    def steps_are_payoffs(self) -> bool:
        """Whether the gadget is ``full``; all other gadgets solve only subgames."""
        return self.gadget == "full"

    def safety_bound(
        self, certificate: Certificate, dual_certificate: Mapping[str, Floats] | None = None
    ) -> float | None:
        """Return an upper bound on exploitability: (p times the gain + the gaps of all steps) / (1 − p).

        ``None`` if there is no such bound: with p = 1, with a gadget that proves none, along paths except with
        ``reach-resolving``, which also needs all steps, and for a certificate without steps. The loss of a blueprint
        that is not an equilibrium strategy counts as a gap.
        """
        gadget = GADGETS[self.gadget]
        if self.along not in gadget.safe or self.error(certificate) == math.inf:
            return None
        gaps = sum(step.gap for step in certificate.steps)
        if gadget.promises:
            if len(certificate.steps) < len(self.steps):
                return None
            if self.blueprint is not None:
                gaps += max(0.0, self.known_value() - worst_case(self.game, self.blueprint[self.player]))
        elif certificate.steps and certificate.objective is not None:
            # A plan other than that of the last step may be worth less.
            gaps += max(0.0, certificate.steps[-1].objective - certificate.objective)
        return most_loss(self.p, certificate, gaps)

    def _objective(self, certificate: Certificate, steps: Sequence[StepBounds]) -> tuple[float, float | None]:
        assert certificate.opponent_value is not None
        p = float(self.p)
        worst = self.known_value() - certificate.exploitability
        objective = p * certificate.opponent_value + (1.0 - p) * worst
        return objective, self._last_bound(objective, steps) if self.gadget == "full" or p == 1.0 else None


@dataclass(frozen=True, eq=False)
class CDBRNE(DepthLimitedResponse):
    """A mixture of a continual depth-limited best response and an equilibrium strategy.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with histories.
    opponent : Strategy
        The model.
    p : float
        The weight of the best response, from 0 to 1.
    lookahead, level
        As for :class:`CDBR`.
    mixing : {"plan", "infoset"}
        With ``plan`` one of the two strategies is drawn before the game. With ``infoset`` probabilities are mixed at
        each infoset, as in the paper; at an infoset that only one of the two strategies reaches, that strategy is used.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError, UnsupportedProblemError
        As for :class:`CDBR`, and if p is not a number from 0 to 1, or mixing has another value.

    Notes
    -----
    x_B is the depth-limited best response, and x_N an equilibrium strategy found by the simplex method. With
    ``mixing="plan"``, x = p x_B + (1 − p) x_N in realization plans. The gain is therefore the weighted mean of both
    gains, and exploitability is at most p times that of x_B. The paper claims the same for behaviour mixed at each
    infoset. Neither claim holds there, because the frequency of reaching a player's second decision is then mixed
    twice.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), section 4.

    Examples
    --------
    >>> from treeplex import CDBRNE, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(CDBRNE(game, Strategy.uniform(game, 1), p=0.5, lookahead=1))
    >>> solution.exploitability <= 0.5 * solve(CDBRNE(game, Strategy.uniform(game, 1), p=1, lookahead=1)).exploitability
    True
    """

    p: Confidence = field(kw_only=True)
    mixing: Mixing = field(default="plan", kw_only=True)

    name: ClassVar[str] = "cdbr-ne"
    question: ClassVar[str] = (
        "What does player {player} earn by a depth-limited best response to the model of player {other} with "
        "probability {problem.p}, and by an equilibrium strategy otherwise?"
    )
    needs_equilibrium: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.mixing, f"{self.name}: mixing", UnsupportedProblemError, ("plan", "infoset"))

    def response(self, decided: Floats, equilibrium: TrunkSolution | None) -> Floats:
        """Return the mixture of the steps' plan and an equilibrium plan."""
        assert equilibrium is not None
        p, kept = float(self.p), equilibrium.plan
        if self.mixing == "plan":
            return p * decided + (1.0 - p) * kept
        own = self.view().own
        reaches = (plan[own.parents] > _REACHED for plan in (decided, kept))
        reached = [np.append(True, np.repeat(each, own.num_actions)) for each in reaches]
        weights = np.where(reached[0], np.where(reached[1], p, 1.0), 0.0)
        return own.plan(weights * own.behaviour(decided) + (1.0 - weights) * own.behaviour(kept))


@dataclass(frozen=True, eq=False)
class SES(SteppedResponse):
    """Safe exploitation search: re-solve subgames of an equilibrium with the model's reach probabilities.

    Parameters
    ----------
    game : Game
        Two players, constant-sum, with histories.
    opponent : Strategy
        The model ŷ, of which only the reach of subgames is used.
    p : float
        Confidence in that reach, from 0 to 1.
    level : int, str or callable, optional
        The level of the public tree at which subgames begin, or the public states, as accepted by
        :func:`~treeplex.models.depth_limited.partition_roots`; none may lie in another. By default they begin right
        after the first public chance event, such as a board card.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If game or opponent has the wrong type, or p is not a number from 0 to 1.
    UnsupportedProblemError
        If the game is not zero-sum, does not have two players, or has no public states; if there is no such level; or
        if no level is given and there is no public chance event.

    Notes
    -----
    Above the subgames the player keeps an equilibrium strategy found by the simplex method. In each subgame it
    maximises p Σ_I r(I) m(I) + (1 − p) min over I of m(I). Here I runs over the opponent's boundary infosets, the last
    sequences by which it enters. m(I) is the counterfactual payoff beyond that of the equilibrium strategy against a
    rational opponent, and r is the model's reach of the boundary infosets, normalised. With p = 0 it is the max-margin
    gadget, and with p = 1 unsafe resolving with the model's range. The objective is the sum over subgames.
    Exploitability is not bounded by the gain but by the distance between r and the reach of the equilibrium's opponent.
    :meth:`safety_bound` is 0, up to gaps, for small p, and ``None`` from :attr:`largest_p
    <treeplex.models.depth_limited.SearchBound.largest_p>` on. This is a reconstruction from the papers' prose, in which
    margins may be scaled differently.

    M. Liu, C. Wu, Q. Liu, Y. Jing, J. Yang, P. Tang, C. Zhang, "Safe opponent-exploitation subgame refinement",
    NeurIPS 2022; compared with in D. Milec, O. Kubíček, V. Lisý, 2021 (arXiv:2112.12594), section 6 and appendix H.

    Examples
    --------
    >>> from treeplex import SES, Strategy, load_game, solve
    >>> game = load_game("leduc:merge_suits=true")
    >>> solution = solve(SES(game, Strategy.uniform(game, 1), p=0.5))
    >>> bool(solution.gain > 0.6), bool(solution.exploitability < 0.1)
    (True, True)
    """

    p: Confidence = field(kw_only=True)
    level: Level = field(default=None, kw_only=True)

    name: ClassVar[str] = "ses"
    example_game: ClassVar[str] = "leduc"
    question: ClassVar[str] = (
        "How can player {player} exploit the model of player {other} in its subgames, and remain safe in the rest?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.STEPS, Feature.SEARCH})
    needs_equilibrium: ClassVar[bool] = True

    def check_game(self) -> None:
        """Raise an error if the game lacks the level at which subgames begin."""
        super().check_game()
        public = self.game.public_tree
        if self.level is None and not len(roots_after_chance(public)):
            raise UnsupportedProblemError(
                f"{self.name}: {self.game.spec} has no public chance event after which subgames could begin; give "
                "a level"
            )
        if len(public.outermost(self._states)) < len(self._states):
            raise UnsupportedProblemError(
                f"{self.name}: level is {shown(self.level)}, expected subgames that do not contain each other"
            )

    @property
    def steps_are_payoffs(self) -> bool:
        """False: values are relative to the equilibrium."""
        return False

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return "margins over the equilibrium, summed over subgames"

    @property
    def roots(self) -> SubgameRoots:
        """The subgames."""
        return SubgameRoots.of(self.game, self.player, self._states.tolist())

    @property
    def _states(self) -> Integers:
        public = self.game.public_tree
        return roots_after_chance(public) if self.level is None else partition_roots(public, self.level, self.name)

    def start(self, equilibrium: TrunkSolution | None = None) -> ResolvingRun:
        """Return the single step."""
        assert equilibrium is not None
        return SearchRun(self.view(), self.opponent.plan, float(self.p), self.roots, equilibrium)

    def safety_bound(
        self, certificate: Certificate, dual_certificate: Mapping[str, Floats] | None = None
    ) -> float | None:
        """Return an upper bound on exploitability from the distance between the model's and the equilibrium's reach.

        ``None`` from p = 1 / (1 + η) on, where no bound is proven; see :meth:`bound`.
        """
        if not certificate.steps or not dual_certificate or "free" not in dual_certificate:
            return None
        found = self.bound(dual_certificate, certificate.steps[0].gap).exploitability
        return found if math.isfinite(found) else None

    def bound(self, dual_certificate: Mapping[str, Floats], gap: float = 0.0) -> SearchBound:
        """Return the bound on exploitability with η, the distance of the model's reach from the equilibrium's.

        Parameters
        ----------
        dual_certificate : mapping of str to ndarray
            The dual certificate of a solution, which includes the equilibrium.
        gap : float
            How far the step may be from its optimum, in payoff units.
        """
        equilibrium = TrunkSolution(dual_certificate["equilibrium"], dual_certificate["free"])
        view = self.view()
        return search_bound(
            view, self.roots, self.opponent.plan, float(self.p), equilibrium, gap, float(self.known_value())
        )

    def _objective(self, certificate: Certificate, steps: Sequence[StepBounds]) -> tuple[float, float | None]:
        if not steps:
            return 0.0, None  # the unchanged equilibrium strategy
        return steps[0].objective, steps[0].upper


@dataclass(frozen=True, eq=False)
class LBR(SteppedResponse):
    """A local best response to a model of the opponent, in poker.

    At each of its decisions the player assumes that the opponent folds to a bet as often as the model does and
    otherwise calls, and that both check and call from then on. It takes the best action under these assumptions.

    Parameters
    ----------
    game : Game
        ``kuhn`` or ``leduc``, for two players, or another poker game whose rules have ``action_words`` for ``fold``,
        ``check`` and ``call``, such as :class:`~treeplex.models.games.holdem.SpotRules`.
    opponent : Strategy
        The model; only its reach of histories and its answers to bets are used.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If game or opponent has the wrong type.
    UnsupportedProblemError
        If the game is not poker, or does not have two players.

    Notes
    -----
    Hands are weighted by the model's play so far. Let wp be the probability of winning at showdown, fp the probability
    of a fold, and ``asked`` the price of a call. Calling is worth wp · pot − (1 − wp) · asked. Betting b is worth fp ·
    pot + (1 − fp) (wp' (pot + b) − (1 − wp') (asked + b)), with wp' against hands that do not fold. Folding is worth 0.
    A step's objective is the same quantity in payoff units. All actions of the game are considered. Unlike for
    :class:`~treeplex.CDBR`, the gain may be negative.

    V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots", AAAI workshop on computer
    poker and imperfect information games, 2017.

    Examples
    --------
    >>> from treeplex import Strategy, load_game, solve
    >>> from treeplex.models.problems import LBR
    >>> game = load_game("leduc:merge_suits=true")
    >>> round(solve(LBR(game, Strategy.uniform(game, 1))).gain, 6)
    1.815236
    """

    name: ClassVar[str] = "lbr"
    question: ClassVar[str] = (
        "How much does player {player} gain against the model of player {other} if it looks only at its next action?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.STEPS, Feature.LOCAL})

    def check_game(self) -> None:
        """Raise an error if the game is not poker."""
        super().check_game()
        folds_and_calls(self.game, self.player)

    def start(self, equilibrium: TrunkSolution | None = None) -> ResolvingRun:
        """Return the steps, all of them still undecided."""
        (own_folds, own_calls), (folds, calls) = (folds_and_calls(self.game, player) for player in (0, 1))
        steps = decision_steps(self.game.public_tree, self.player, 1)
        return LocalRun(self.view(), self.opponent.plan, steps, (own_folds, folds), (own_calls, calls))


def find_gadget(problem: str, name: str) -> Gadget:
    """Return a gadget by its name.

    Raises
    ------
    UnsupportedProblemError
        If there is no such gadget.
    """
    if not isinstance(name, str) or name not in GADGETS:
        hint = nearest(str(name), GADGETS)
        raise UnsupportedProblemError(
            f"{problem}: unknown gadget {shown(name, 60)}{hint}; expected one of {', '.join(GADGETS)}"
        )
    return GADGETS[name]
