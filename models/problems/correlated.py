"""Correlated equilibria, with a mediator who recommends actions: optimal ones of two players, others of more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_whole
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.parameters import About
from ...seqform.strategy import Profile, check_same_game
from ..constraints import LinearConstraint, collect_constraints
from ..declarations import Constraints
from ..saddle import check_player_count
from .certificate import Certificate
from .features import Feature
from .problem import Problem

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..correlation import CorrelationPolytope, Deviations
    from ..programs.linear_program import LinearProgram

#: Up to this many pairs of sequences the simplex method solves the program by default.
_SMALL = 5_000
#: The keys of the dual certificate.
PLAN, PRICES, FLOWS, NEVER = "plan", "prices of player {}", "deviations of player {}", "never recommended"
#: The key of each player's strategies if the plan is a mixture of profiles.
STRATEGIES = "strategies of player {}"


@dataclass(frozen=True, eq=False)
class Correlated(Problem):
    """The base class of correlated equilibria, which differ in when a player decides whether to follow.

    Parameters
    ----------
    game : Game
    constraints : iterable of constraints, or mapping of str to constraint
    maximise : {"welfare", "0", "1"}
    """

    game: Game
    constraints: Constraints = field(default=())
    maximise: Annotated[Literal["welfare", "0", "1"], About("the sum of payoffs, or the payoff of player 0 or 1")] = (
        field(default="welfare", kw_only=True)
    )

    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.CORRELATION})
    decides: ClassVar[Literal["efce", "efcce", "nfcce"]]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.maximise, f"{self.name}: maximise", UnsupportedProblemError, ("welfare", "0", "1"))
        if Feature.PROGRAM in self.always_needs:
            self._check_stated_players(2)
        found = collect_constraints(self.constraints, self.given_game) if self.constraints else ()
        object.__setattr__(self, "constraints", found)
        if not all(isinstance(one, LinearConstraint) for one in found):
            raise UnsupportedProblemError(f"{self.name} accepts only linear constraints")

    def _posed_on(self, game: Game) -> Game:
        if game.num_players < 2 or Feature.PROGRAM in self.always_needs:
            check_player_count(self.name, game)
        return game

    def check_game(self) -> None:
        """Raise an error if the plans of a player form a flow polytope."""
        if not all(treeplex.single_parent for treeplex in self.game.sequence_form.treeplexes):
            raise UnsupportedProblemError(
                "correlated equilibria need perfect recall, but the plans of a player form a flow polytope"
            )

    @property
    def needs(self) -> frozenset[str]:
        """Support for constraints, and for more than two players, if needed."""
        several = {Feature.PLAYERS} if self.game.num_players > 2 else set[str]()
        return self.always_needs | several | ({Feature.CONSTRAINTS} if self.constraints else set())

    @property
    def usual_method(self) -> str:  # type: ignore[override]
        """The default method: the simplex method for small programs, otherwise interior point."""
        if self.game.num_players > 2:
            return "highs-simplex"  # which is refused, because no method finds an optimal equilibrium
        return "highs-simplex" if self.polytope.pairs.num_pairs <= _SMALL else "highs-ipm"

    @cached_property
    def polytope(self) -> "CorrelationPolytope":
        """The correlation plans of two players.

        Raises
        ------
        UnsupportedProblemError
            If no linear program of moderate size has exactly these.
        """
        from ..correlation import SequencePairs, correlation_polytope

        check_player_count(self.name, self.game)
        try:
            return correlation_polytope(SequencePairs(self.game.sequence_form))
        except UnsupportedProblemError as error:
            if Feature.PROGRAM in self.always_needs:
                raise
            advice = "use the method trigger-regret, which approaches an equilibrium that need not be optimal"
            raise UnsupportedProblemError(f"{error}; otherwise {advice}") from None

    @cached_property
    def has_program(self) -> bool:
        """Whether a linear program of moderate size has exactly the correlation plans of the game."""
        try:
            _ = self.polytope
        except UnsupportedProblemError:
            return False
        return True

    @cached_property
    def deviations(self) -> "tuple[Deviations, Deviations]":
        """The deviations of each player."""
        from ..correlation import Deviations

        pairs = self.polytope.pairs
        return Deviations(pairs, 0, self.decides), Deviations(pairs, 1, self.decides)

    @property
    def deviators(self) -> tuple[int, ...]:
        """The players who may stop to follow."""
        return tuple(range(self.game.num_players))

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The weights of the players' payoffs in the objective."""
        return tuple(float(self.maximise in ("welfare", str(player))) for player in range(self.game.num_players))

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return "sum of payoffs" if self.maximise == "welfare" else f"payoff of player {self.maximise}"

    @cached_property
    def paid(self) -> tuple[Floats, Floats]:
        """Each player's payoff at each pair of sequences, multiplied by chance."""
        pairs = self.polytope.pairs
        return pairs.payoffs(0), pairs.payoffs(1)

    @cached_property
    def gradient(self) -> Floats:
        """The objective as a function of the correlation plan, shape (num_pairs,)."""
        (first, second), (own, other) = self.weights, self.paid
        return first * own + second * other

    def scales(self, kept: Floats | float = 1.0) -> tuple[float, float]:
        """Return the unit of the rows about each player's deviations: its largest payoff at the pairs that are kept.

        Parameters
        ----------
        kept : ndarray of float64, shape (num_pairs,), or float
            1 for the pairs that are kept, and 0 for the others.
        """
        first, second = (float(np.abs(paid * kept).max(initial=0.0)) or 1.0 for paid in self.paid)
        return first, second

    @cached_property
    def never(self) -> "npt.NDArray[np.bool_]":
        """The columns that are zero in every equilibrium by iterated dominance, shape (size,).

        Computed by :func:`~treeplex.models.correlation.never_recommended`.
        """
        from ..correlation import never_recommended

        return never_recommended(self.polytope, [self.deviations[player] for player in self.deviators])

    def linear_program(self, without: "npt.NDArray[np.bool_] | None" = None) -> "LinearProgram":
        """Return the linear program of the best correlated equilibrium.

        Parameters
        ----------
        without : ndarray of bool, shape (size,), optional
            Columns to fix to zero, such as :attr:`never`. Payoffs elsewhere then set the unit of the rows.

        Notes
        -----
        The columns are the point of :attr:`polytope`, the correlation plan ``pairs`` if that is another vector, and the
        values ``worth`` of the best deviations from each infoset on. For each player, the rows ``deviations`` state the
        values, and the rows ``follow`` that no deviation gains. Rows about gains are divided by :meth:`scales`.
        """
        from ..programs.linear_program import ProgramBlocks

        polytope, blocks = self.polytope, ProgramBlocks()
        matrix, right = polytope.equations
        is_plan = polytope.size == polytope.pairs.num_pairs
        pairs = PLAN if is_plan else "pairs"
        used = np.ones(polytope.size) if without is None else np.where(without, 0.0, 1.0)
        kept = np.minimum(polytope.to_pairs @ used, 1.0)
        gradient, only = self.gradient * kept, sp.diags_array(kept, format="csr")
        upper = np.inf if without is None else np.where(without, 0.0, np.inf)
        blocks.add_columns(PLAN, polytope.size, objective=gradient if is_plan else 0.0, lower=0.0, upper=upper)
        blocks.add_rows(PLAN, {PLAN: matrix}, lower=right, upper=right)
        if not is_plan:
            blocks.add_columns(pairs, polytope.pairs.num_pairs, objective=gradient)
            each = sp.eye_array(polytope.pairs.num_pairs, format="csr")
            blocks.add_rows(pairs, {pairs: each, PLAN: -polytope.to_pairs}, lower=0.0, upper=0.0)
        for number, (one, row) in enumerate(zip(self.constraints, self._rows(), strict=True)):
            blocks.add_rows(f"constraint {number}", {pairs: row}, upper=one.limit)
        for player, (each, scale) in enumerate(zip(self.deviations, self.scales(kept), strict=True)):
            tree, worth = each.treeplex, f"worth {player}"
            if player not in self.deviators or not tree.num_infosets:
                continue
            blocks.add_columns(worth, tree.num_infosets)
            count = tree.num_sequences - 1
            here = sp.csr_array(
                (np.ones(count), (np.arange(count), tree.sequence_infosets[1:])), shape=(count, tree.num_infosets)
            )
            value = {worth: here - sp.csr_array(tree.inflow.T)[1:], pairs: -(each.gradient[1:] @ only) / scale}
            blocks.add_rows(f"deviations {player}", value, lower=0.0)
            blocks.add_rows(f"follow {player}", {pairs: (each.obeyed @ only) / scale, worth: -each.firsts}, lower=0.0)
        return blocks.program(maximise=True)

    def _rows(self) -> list[sp.csr_array]:
        """Return the constraints as functions of the correlation plan."""
        return [
            sp.csr_array(sp.csr_array(one.coefficients[None, :]) @ self.polytope.marginals(one.player)[one.indices])
            for one in self.constraints
        ]

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the certificate of a correlation plan, or of a profile, whose players mix independently.

        Parameters
        ----------
        profile : Profile
        multipliers : mapping of str to float, optional
            By constraint.
        dual_certificate : mapping of str to ndarray, optional
            ``plan``, a point of :attr:`polytope`, which replaces the profile; and for each player the ``prices`` of its
            triggers and ``deviations``, which prove an upper bound. With ``never recommended``, whose value does not
            matter, columns that are zero in every equilibrium (:attr:`never`) are left out of the bound. Or the
            ``strategies`` of each player in several profiles, one of which is drawn: their mixture replaces the
            profile, and there is no upper bound.

        Notes
        -----
        The gains of deviations are computed by dynamic programming. The objective at the plan is the lower bound. For
        prices λ ≥ 0 and deviations y, the largest objective minus λ times the gains of y, over all correlation plans,
        plus λ times the positive gains of the plan, is the upper bound: it holds for every plan whose deviations gain
        no more than those from this one, so in particular for every equilibrium. With ``never recommended`` it holds
        for the equilibria, and for the plans of this kind without the columns :attr:`never`; this is used only if the
        given plan is one.
        """
        from ..correlation import CorrelationPlan

        check_same_game(profile[0], self.game)
        given = dual_certificate or {}
        if STRATEGIES.format(0) in given:
            return self._of_mixture([given[STRATEGIES.format(player)] for player in range(self.game.num_players)])
        if not self.has_program and Feature.PROGRAM not in self.always_needs:
            return self._of_mixture([plan[None] for plan in profile.plans])
        if PLAN in given:
            plan = CorrelationPlan(self.polytope, given[PLAN])
            residual = max(profile.residual, plan.violation)
            bare = NEVER in given and not plan.columns[self.never].any()
            return self._certificate(plan.values, residual, multipliers or {}, given, self.never if bare else None)
        drawn = self.polytope.independent(*profile.plans)
        return self._certificate(drawn, profile.residual, multipliers or {}, given)

    def _certificate(
        self,
        plan: Floats,
        residual: float,
        multipliers: Mapping[str, float],
        given: Mapping[str, Floats],
        never: "npt.NDArray[np.bool_] | None" = None,
    ) -> Certificate:
        """Return the certificate of the probabilities of pairs of sequences."""
        values = tuple(float(paid @ plan) for paid in self.paid)
        regrets = tuple(
            each.regret(plan) if player in self.deviators else 0.0 for player, each in enumerate(self.deviations)
        )
        bounding, bound = self.gradient.copy(), 0.0
        for player, each in enumerate(self.deviations):
            prices = np.maximum(given.get(PRICES.format(player), np.zeros(each.num_triggers)), 0.0)
            flows = given.get(FLOWS.format(player), np.ones(each.treeplex.num_sequences))
            bounding -= each.penalty(prices, flows)
            bound += float(prices @ np.maximum(each.gains(plan), 0.0))
        violations = {}
        for one, row in zip(self.constraints, self._rows(), strict=True):
            price = max(0.0, multipliers.get(one.name, 0.0))
            violations[one.name] = float((row @ plan)[0]) - one.limit
            bounding -= price * row.toarray()[0]
            bound += price * (one.limit + max(0.0, violations[one.name]))
        objective = float(self.gradient @ plan)
        return Certificate(
            value=values,
            objective=objective,
            lower=objective,
            upper=bound + self.polytope.largest(bounding, never),
            exploitability=sum(regrets) / len(regrets),
            residual=residual,
            violations=violations,
            regrets=regrets,
        )

    def _of_mixture(self, plans: Sequence[Floats]) -> Certificate:
        """Return the certificate of a mixture of profiles, given by each player's plans."""
        from ..correlation import StrategyMixture

        mixture = StrategyMixture(self.game.sequence_form, tuple(plans))
        values = tuple(mixture.payoffs.tolist())
        objective = sum(weight * value for weight, value in zip(self.weights, values, strict=True))
        regrets = mixture.regrets(self.decides)
        return Certificate(
            value=values,
            objective=objective,
            lower=objective,
            upper=None,
            exploitability=sum(regrets) / len(regrets),
            residual=mixture.violation,
            violations={one.name: one.value(mixture.marginal(one.player)) for one in self.constraints},
            regrets=regrets,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: the largest of the gap, the gains and the violations.

        Without an upper bound there is no gap: then the gains alone are compared.
        """
        assert certificate.epsilon is not None
        return max(certificate.gap or 0.0, certificate.epsilon, certificate.violation)


@dataclass(frozen=True, eq=False)
class EFCE(Correlated):
    r"""An optimal extensive-form correlated equilibrium of two players, or an approximate one of more.

    A mediator draws a pure plan for each player from a known joint distribution. When a player reaches an information
    set, the mediator recommends the action of its plan there. A player who does not follow gets no further
    recommendations. In an equilibrium no player gains by not following.

    Parameters
    ----------
    game : Game
        Perfect recall. Payoffs need not sum to zero. Of more than two players, only ``trigger-regret`` finds an
        equilibrium, which need not be optimal.
    constraints : iterable of constraints, or mapping of str to constraint, optional
        Linear constraints on how often each player's actions are recommended, that is, on its marginal realization
        plan. Deviations need not meet them.
    maximise : {"welfare", "0", "1"}
        The objective: the sum of payoffs, or the payoff of a player.

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, or belongs to another game.
    UnsupportedProblemError
        If the game does not have two or more players with perfect recall, or a constraint is not linear. By linear
        programming also if there are more than two players, or the game has a triangle and is not small: the message
        names the information sets.

    Notes
    -----
    The variables are the probabilities ξ(s, t) that both plans contain the sequences s and t, for the relevant pairs of
    sequences. In triangle-free games, such as those in which all players observe chance, a linear program describes
    them exactly (:class:`~treeplex.models.correlation.VonStengelForges`); in other games, if they are small, a
    larger one (:class:`~treeplex.models.correlation.PurePlans`). That no deviation gains is linear too
    (:class:`~treeplex.models.correlation.Deviations`); see :doc:`/theory/correlated-equilibria`.

    ``solution.state`` draws recommendations, and ``solution.profile`` contains only the marginal strategy of each
    player. ``solution.regrets`` is the gain of each player's best deviation. ``lower`` is the objective, and ``upper``
    is at least the largest objective of all plans whose deviations gain no more than here.

    Examples
    --------
    In a game of B. von Stengel and F. Forges (2008), a student of either type asks a professor for a job by the signal
    X or Y, which costs nothing. Without a mediator no signal is believed, and the professor rejects the student:
    payoffs 0 and 6. With one, the professor gets 6.5 at best:

    >>> from treeplex import EFCE, load_game, solve
    >>> game = load_game("signalling")
    >>> [round(payoff, 9) for payoff in solve(EFCE(game, maximise="1")).value]
    [3.5, 6.5]
    """

    name: ClassVar[str] = "efce"
    decides: ClassVar[Literal["efce", "efcce", "nfcce"]] = "efce"
    question: ClassVar[str] = "Which recommendations that players follow have the largest objective?"


@dataclass(frozen=True, eq=False)
class EFCCE(Correlated):
    """An optimal extensive-form coarse correlated equilibrium of two players.

    As in :class:`EFCE`, a mediator recommends actions one at a time. Here a player decides at an information set
    whether to follow before it learns the recommendation there. If it does not follow, it plays on its own from there.

    Parameters
    ----------
    game : Game
    constraints : iterable of constraints, or mapping of str to constraint, optional
    maximise : {"welfare", "0", "1"}
        As for :class:`EFCE`.

    Raises
    ------
    InvalidConstraintError, UnsupportedProblemError
        As for :class:`EFCE`.

    Notes
    -----
    Every EFCE is an EFCCE, and every EFCCE is an NFCCE, so that optima are ordered: G. Farina, T. Bianchi and
    T. Sandholm, "Coarse correlation in extensive-form games", AAAI 2020.

    Examples
    --------
    >>> from treeplex import EFCCE, EFCE, NFCCE, load_game, solve
    >>> game = load_game("signalling")
    >>> [round(solve(kind(game, maximise="1")).objective, 6) for kind in (EFCE, EFCCE, NFCCE)]
    [6.5, 6.5, 7.5]
    """

    name: ClassVar[str] = "efcce"
    decides: ClassVar[Literal["efce", "efcce", "nfcce"]] = "efcce"
    question: ClassVar[str] = (
        "Which recommendations that players agree to follow at each information set have the largest objective?"
    )


@dataclass(frozen=True, eq=False)
class NFCCE(Correlated):
    """An optimal normal-form coarse correlated equilibrium of two players.

    A mediator draws a pure plan for each player from a known joint distribution. Each player decides before the game,
    without knowing its plan, whether to follow it or to play on its own.

    Parameters
    ----------
    game : Game
    constraints : iterable of constraints, or mapping of str to constraint, optional
    maximise : {"welfare", "0", "1"}
        As for :class:`EFCE`.

    Raises
    ------
    InvalidConstraintError, UnsupportedProblemError
        As for :class:`EFCE`.

    Notes
    -----
    H. Moulin and J.-P. Vial, "Strategically zero-sum games: the class of games whose completely mixed equilibria cannot
    be improved upon", International Journal of Game Theory 7, 1978. Regret minimisation converges to some equilibrium
    of this kind, which need not be optimal: :class:`~treeplex.solvers.EmpiricalRun`.

    Examples
    --------
    >>> from treeplex import NFCCE, load_game, solve
    >>> round(solve(NFCCE(load_game("kuhn"), maximise="0")).objective, 9)  # zero-sum: the value of the game
    -0.055555556
    """

    name: ClassVar[str] = "nfcce"
    decides: ClassVar[Literal["efce", "efcce", "nfcce"]] = "nfcce"
    question: ClassVar[str] = (
        "Which recommendations that players agree to follow before the game have the largest objective?"
    )


@dataclass(frozen=True, eq=False)
class NFCE(Correlated):
    """An optimal normal-form correlated equilibrium of a small game of two players.

    A mediator draws a pure plan for each player from a known joint distribution, and tells each player its whole plan
    before the game. Each player then follows it or plays any other plan.

    Parameters
    ----------
    game : Game
        Two players with perfect recall, and few pure plans: at most 250,000 combinations of a plan and a deviation of
        one player and a plan of the other.
    constraints : iterable of constraints, or mapping of str to constraint, optional
    maximise : {"welfare", "0", "1"}
        As for :class:`EFCE`.

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, or belongs to another game.
    UnsupportedProblemError
        If the game does not have two players with perfect recall, a constraint is not linear, or there are too many
        combinations.

    Notes
    -----
    The variables are the probabilities of pairs of reduced pure plans
    (:class:`~treeplex.models.correlation.WholePlans`). Replacing any recommended plan by any other one gains nothing.
    A player who knows its whole plan knows more than in :class:`EFCE`, so every NFCE is an EFCE, and the optimum is at
    most that of :class:`EFCE`. R. J. Aumann, "Subjectivity and correlation in randomized strategies", Journal of
    Mathematical Economics 1, 1974; B. von Stengel and F. Forges, "Extensive-form correlated equilibrium: definition and
    computational complexity", Mathematics of Operations Research 33, 2008, who show that an optimal one is NP-hard to
    find even in games without chance.

    Examples
    --------
    In the game of von Stengel and Forges, only actions revealed one by one make signals credible:

    >>> from treeplex import EFCE, NFCE, load_game, solve
    >>> [round(solve(kind(load_game("signalling"), maximise="1")).objective, 6) for kind in (EFCE, NFCE)]
    [6.5, 6.0]
    """

    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.CORRELATION, Feature.PROGRAM})
    name: ClassVar[str] = "nfce"
    decides: ClassVar[Literal["efce", "efcce", "nfcce"]] = "efce"  # at the single infoset of the normal form
    question: ClassVar[str] = "Which recommendations of whole plans that players agree to follow are best?"

    @cached_property
    def polytope(self) -> "CorrelationPolytope":
        """The distributions over pairs of pure plans."""
        from ..correlation import SequencePairs, WholePlans

        return WholePlans(SequencePairs(self.game.sequence_form))


@dataclass(frozen=True, eq=False)
class SEFCE(Correlated):
    r"""An optimal Stackelberg extensive-form correlated equilibrium: a correlated commitment.

    The leader commits to a joint distribution of pure plans of its own and of the follower, which the follower knows,
    and draws from it. When the follower reaches an information set, the leader recommends the action of the follower's
    plan there, as in :class:`EFCE`. The follower may stop to follow; the leader may not.

    Parameters
    ----------
    game : Game
        Two players with perfect recall. Payoffs need not sum to zero.
    constraints : iterable of constraints, or mapping of str to constraint, optional
        As for :class:`EFCE`.
    leader : {0, 1}
        The leader, whose payoff is the objective.

    Raises
    ------
    InvalidConstraintError, UnsupportedProblemError
        As for :class:`EFCE`.

    Notes
    -----
    The program is that of the EFCE without the rows about the leader's deviations. In games without chance, and in all
    triangle-free games, it is a linear program of polynomial size. Its optimum is at least that of
    :class:`~treeplex.Stackelberg`, because without signals it is a commitment, and at least the leader's payoff in any
    EFCE. In matrix games it equals that of :class:`~treeplex.Stackelberg`: V. Conitzer and D. Korzhyk, "Commitment to
    correlated strategies", AAAI 2011. In extensive form: J. Čermák, B. Bošanský, K. Durkota, V. Lisý and
    C. Kiekintveld, "Using correlated strategies for computing Stackelberg equilibria in extensive-form games",
    AAAI 2016.

    The regret of the leader is reported as 0, because it does not deviate.

    Examples
    --------
    >>> from treeplex import Game, SequenceForm, solve
    >>> from treeplex.models.problems import SEFCE
    >>> form = SequenceForm.from_payoff_matrix([[2, 4], [1, 3]], [[1, 0], [0, 1]])
    >>> solution = solve(SEFCE(Game.from_sequence_form(form), leader=0))
    >>> round(solution.objective, 9), round(solution.upper, 9)
    (3.5, 3.5)
    """

    maximise: str = field(default="0", init=False, repr=False)  # type: ignore[assignment]
    leader: Annotated[int, About("player who commits", 0, 1)] = field(default=1, kw_only=True)

    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.CORRELATION, Feature.PROGRAM})
    name: ClassVar[str] = "sefce"
    decides: ClassVar[Literal["efce", "efcce", "nfcce"]] = "efce"
    question: ClassVar[str] = "Which joint plans and recommendations should the leader commit to?"

    def __post_init__(self) -> None:
        leader = check_whole(self.leader, f"{self.name}: leader", UnsupportedProblemError, "[0, 1]")
        object.__setattr__(self, "leader", leader)
        object.__setattr__(self, "maximise", str(leader))
        super().__post_init__()

    @property
    def deviators(self) -> tuple[int, ...]:
        """The follower."""
        return (1 - self.leader,)
