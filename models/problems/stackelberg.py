"""Commitment: one player commits to a mixed strategy, and the other player, who knows it, replies."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...seqform.array_checks import canonical
from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_whole
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.factored import FactoredPayoff
from ...seqform.game import Game
from ...seqform.parameters import About
from ...seqform.polytope import Treeplex, best_response_value, infoset_values, sequence_values
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, check_same_game
from ..constraints import Constraint, LinearConstraint, collect_constraints
from ..declarations import Constraints
from ..programs.integer_program import IntegerProgram
from ..programs.linear_program import LinearProgram, ProgramBlocks
from ..saddle import check_player_count
from .certificate import Certificate
from .features import Feature
from .problem import Problem
from .pure_replies import MOST_PAYOFFS, PureReplies, most_replies, pure_plans

#: Bounds on the leader's payoff that are closer prove the optimum, in units of its largest payoff.
_CLOSE = 1e-7
#: Sums of payoffs that are smaller are zero, in their units.
_ROUND_OFF = 1e-15


@dataclass(frozen=True, eq=False)
class Stackelberg(Problem):
    r"""A Stackelberg equilibrium: the leader commits to a mixed strategy, and the follower replies to it.

    The follower knows the leader's mixed strategy, but not the drawn action. It replies with a strategy that is best
    for itself. Among several, it chooses the one that is best for the leader (strong) or worst for it (weak). Payoffs
    need not be opposed.

    Parameters
    ----------
    game : Game
        Two players. Its payoffs are the follower's, and also the leader's if `payoff` is not given.
    payoff : FactoredPayoff, array_like or sparse, optional
        The leader's payoff, shape (num_sequences of player 0, num_sequences of player 1); for patrols
        :func:`~treeplex.models.games.patrol.units_payoff` computes it.
    leader : {0, 1}
        The leader; in a patrol, the units.
    constraints : iterable of constraints, or mapping of str to constraint, optional
        Linear constraints on the leader's plan, as for :class:`~treeplex.ConstrainedNash`.
    ties : {"strong", "weak"}
        Whether the follower breaks ties for the leader or against it.

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, or belongs to another game.
    UnsupportedProblemError
        If the game does not have two players, the payoff does not fit it or is not finite, a constraint is not linear
        or is on the follower, or chance affects the follower's walk through a flow, so that pure plans are not zeros
        and ones. With weak ties also if there are constraints, or the follower has more than 2,000 pure plans,
        or 500 if it has several types.

    Notes
    -----
    Let x be the follower's pure plan, y the leader's plan, A and B their payoffs, and E and F their polytopes' rows.
    The program is

    .. math::
        \max \sum_s t(s) \quad \text{such that} \quad E x = e,\ F y = f,\ x(s) \in \{0, 1\},

        0 \le v(I) - \sum_J w(J, s)\, v(J) - (A y)(s) \le M(s) (1 - x(s)),

        t(s) \le u(s)\, x(s), \quad t(s) \le (B y)(s) - l(s) (1 - x(s)),

    for each sequence s at an infoset I, where v are the follower's values of infosets, and l ≤ B y ≤ u. The first rows
    state that x is a best response, the others that t = x · B y, entry by entry. The part of B opposed to A, −λ A, is
    not in t. It is −λ times the follower's value of the game, so opposed payoffs need no branching. λ cancels what
    depends on y as far as possible: in a patrol t is then linear in x alone. For normal forms
    and types of followers this is DOBSS: P. Paruchuri, J. P. Pearce, J. Marecki, M. Tambe, F. Ordóñez and S. Kraus,
    "Playing games for security: an efficient exact algorithm for solving Bayesian Stackelberg games", AAMAS 2008; in
    sequence form: B. Bošanský and J. Čermák, "Sequence-form algorithm for computing Stackelberg equilibria in
    extensive-form games", AAAI 2015. Given a reply, the rest is a linear program (V. Conitzer and T. Sandholm,
    "Computing the optimal strategy to commit to", EC 2006). It is solved for the reply found by branch and bound, so
    that the follower is indifferent up to round-off. Types of attackers are infosets below the empty sequence, and each
    replies for itself. Constraints on the leader are further rows on y, G y ≤ h, in both programs.

    If the follower has at most 2,000 pure plans, or 500 if it has several types, that linear program is solved for each
    of them instead; this is much faster. See :class:`~treeplex.models.problems.pure_replies.PureReplies`.

    The certificate recomputes both payoffs, and the follower's gain from a best response. `upper` is a proven bound on
    what any commitment earns: from the multipliers of the linear programs, or from those of linear relaxations of the
    integer program in which some moves are fixed, which may be loose. Branch and bound then claims that no other
    commitment pays more, and the message quotes this claim. If payoffs are opposed, the answer is an equilibrium
    strategy, and the relaxation is tight.

    With weak ties, the payoff of a commitment may jump down where the follower becomes indifferent, so an optimum need
    not exist: `lower` and `upper` bound the supremum, and the answer is a commitment that nearly earns it, to which the
    follower's reply is strictly best except for replies that pay it the same against every commitment. `objective` is
    the payoff of this commitment, with the follower's worst best reply.

    Examples
    --------
    Committing to play the first row half of the time moves the follower to its second column (Conitzer and Sandholm
    2006, figure 1). The leader earns 3.5, compared with 2 in the only equilibrium.

    >>> from treeplex import Game, SequenceForm, Stackelberg, solve
    >>> form = SequenceForm.from_payoff_matrix([[2, 4], [1, 3]], [[1, 0], [0, 1]])
    >>> solution = solve(Stackelberg(Game.from_sequence_form(form), leader=0))
    >>> round(solution.objective, 9), solution.strategy.plan[1:].round(9).tolist()
    (3.5, [0.5, 0.5])

    If the follower breaks ties against the leader, the leader has to make the second column slightly better:

    >>> solution = solve(Stackelberg(Game.from_sequence_form(form), leader=0, ties="weak"))
    >>> round(solution.upper, 9), solution.objective < 3.5, round(solution.objective, 4)
    (3.5, True, 3.5)
    """

    game: Game
    payoff: Any = field(default=None, kw_only=True)
    leader: Annotated[int, About("player who commits", 0, 1)] = field(default=1, kw_only=True)
    constraints: Constraints = field(default=(), kw_only=True)  # a tuple of Constraint after they have been collected
    ties: Annotated[
        Literal["strong", "weak"], About("break the follower's ties for the leader (strong) or against it (weak)")
    ] = field(default="strong", kw_only=True)

    name: ClassVar[str] = "stackelberg"
    question: ClassVar[str] = (
        "What should player {player} commit to, if player {other} knows it and replies as is best for itself?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.COMMITMENT})
    usual_method: ClassVar[str] = "branch-and-bound"
    error_proves: ClassVar[bool] = False
    exploitability_meaning: ClassVar[str] = "gained by the follower's best response"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_stated_players()
        leader = check_whole(self.leader, f"{self.name}: leader", UnsupportedProblemError, "[0, 1]")
        object.__setattr__(self, "leader", leader)
        check_choice(self.ties, f"{self.name}: ties", UnsupportedProblemError, ("strong", "weak"))
        if self.payoff is not None:
            self._check_payoff()
        given = collect_constraints(self.constraints, self.given_game) if self.constraints else ()
        object.__setattr__(self, "constraints", given)
        if given and self.ties == "weak":
            raise UnsupportedProblemError(f"{self.name}: constraints are given with weak ties, expected strong ties")
        for one in given:
            if not isinstance(one, LinearConstraint) or one.player != leader:
                which = f"is on player {one.player}" if one.player != leader else "is not linear"
                raise UnsupportedProblemError(
                    f"{self.name}: constraint {shown(one.name)} {which}, expected a linear constraint on the leader, "
                    f"player {leader}"
                )

    def _posed_on(self, game: Game) -> Game:
        check_player_count(self.name, game)
        return game

    def check_game(self) -> None:
        """Raise an error if the follower's moves may fail, or the leader's payoff does not fit its sequences."""
        form = self.game.sequence_form
        shape = tuple(treeplex.num_sequences for treeplex in form.treeplexes)
        if self.payoff is not None and self.payoff.shape != shape:
            raise UnsupportedProblemError(
                f"{self.name}: the leader's payoff has shape {self.payoff.shape}, expected {shape}: one row per "
                "sequence of player 0, one column per sequence of player 1"
            )
        follower = form.treeplexes[1 - self.leader]
        if not (follower.inflow.data == 1.0).all():
            raise UnsupportedProblemError(
                f"{self.name}: moves of player {1 - self.leader} may fail in {self.game.spec}, expected pure plans of "
                "zeros and ones"
            )
        if self.ties == "weak" and self.replies is None:
            raise UnsupportedProblemError(
                f"{self.name}: player {1 - self.leader} has more than {most_replies(follower):,} pure plans (or "
                f"{MOST_PAYOFFS:,} payoffs against the sequences of player {self.leader}), or they may reach an "
                "infoset twice; expected fewer with weak ties"
            )

    def _check_payoff(self) -> None:
        """Store the payoff as a sparse matrix or in factors; raise an error if it is not finite."""
        if not isinstance(self.payoff, FactoredPayoff):
            object.__setattr__(self, "payoff", canonical(self.payoff, "the leader's payoff"))
            if not np.isfinite(self.payoff.data).all():
                raise UnsupportedProblemError(f"{self.name}: the leader's payoff contains a number that is not finite")

    @property
    def player(self) -> int:  # type: ignore[override]
        """The player of the strategy: the leader."""
        return self.leader

    @property
    def follower(self) -> int:
        """The player who replies."""
        return 1 - self.leader

    @property
    def roles(self) -> Mapping[int, str]:
        """The leader and the follower."""
        return {self.leader: "leader", self.follower: "follower"}

    @property
    def hard_constraints(self) -> tuple[Constraint, ...]:
        """All constraints."""
        return tuple(self.constraints)

    def facts(self, profile: Profile) -> Mapping[str, str]:
        """Return the tie rule."""
        if self.ties == "strong":
            return {"ties": "strong: broken in the leader's favour"}
        return {"ties": "weak: broken against the leader; the bounds are on the supremum, which may not be attained"}

    @cached_property
    def payoffs(self) -> "tuple[Factors, Factors]":
        """The payoffs to follower and leader, by the sequences of the follower and of the leader."""
        form, row = self.game.sequence_form, self.follower
        return Factors.paid(form, row, row), Factors.paid(form, self.leader, row, self.payoff)

    @cached_property
    def replies(self) -> PureReplies | None:
        """The pure replies, in the units of :attr:`payoffs`; ``None`` if there are too many."""
        treeplexes = self.game.sequence_form.treeplexes
        plans = pure_plans(treeplexes[self.follower], most_replies(treeplexes[self.follower]))
        if plans is None or len(plans) * treeplexes[self.leader].num_sequences > MOST_PAYOFFS:
            return None
        theirs, mine = ((plans @ one.left) @ one.right for one in self.payoffs)
        limits = [one for one in self.constraints if isinstance(one, LinearConstraint)]
        return PureReplies(plans, theirs, mine, treeplexes[self.leader], limits)

    def integer_program(self) -> IntegerProgram:
        """Return the program in the notes of the class, with whole numbers in the columns ``follower``.

        Payoffs are in the units of :attr:`payoffs`, and the objective in the leader's, because solvers' tolerances are
        absolute.
        """
        return self._integer

    @cached_property
    def _integer(self) -> IntegerProgram:
        return IntegerProgram.of(self._program(None), "follower")

    def reply_program(self, reply: Floats) -> LinearProgram:
        """Return the linear program of the best commitment to which a pure plan of the follower is a best response."""
        return self._program(reply)

    def _program(self, reply: Floats | None) -> LinearProgram:
        treeplexes = self.game.sequence_form.treeplexes
        own, other = treeplexes[self.leader], treeplexes[self.follower]
        theirs, mine = self.payoffs
        count, infosets = other.num_sequences, other.num_infosets
        blocks = ProgramBlocks()
        blocks.add_columns("leader", own.num_sequences, lower=0.0)
        blocks.add_rows("leader's plan", {"leader": own.E}, lower=own.e, upper=own.e)
        for number, one in enumerate(self.constraints):
            row = sp.csr_array((one.coefficients, ([0] * len(one.indices), one.indices)), (1, own.num_sequences))
            blocks.add_rows(f"constraint {number}", {"leader": row}, upper=one.limit)
        for name, factors in (("follower's", theirs), ("leader's", mine)):
            size = factors.right.shape[0]
            least, most = factors.quantities
            blocks.add_columns(f"{name} quantities", size, lower=least, upper=most)
            made = {f"{name} quantities": sp.eye_array(size), "leader": -factors.right}
            blocks.add_rows(f"{name} quantities", made, lower=0.0, upper=0.0)
        low, high = theirs.range
        at_most = infoset_values(other, high)
        blocks.add_columns("worth", infosets, lower=infoset_values(other, low), upper=at_most)
        owners = other.sequence_infosets[1:]
        each = np.arange(count - 1)
        worth = sp.csr_array((np.ones(count - 1), (each, owners)), shape=(count - 1, infosets))
        worth = worth - sp.csr_array(other.inflow.T)[1:]
        loss = {"worth": sp.csr_array(worth), "follower's quantities": -theirs.left[1:]}
        if reply is None:
            opposed, mine = mine.opposed_to(theirs)
            blocks.add_columns("follower", count, lower=0.0, upper=1.0)
            least, most = mine.range
            blocks.add_columns("paid", count, objective=1.0, lower=np.minimum(least, 0.0), upper=np.maximum(most, 0.0))
            worst, best = (best_response_value(other, one) for one in (low, high))
            blocks.add_columns("lost", 1, objective=-opposed, lower=worst, upper=best)
            total = {"worth": -sp.csr_array(other.inflow[:, [0]].T), "follower's quantities": -theirs.left[[0]]}
            blocks.add_rows("lost", {"lost": sp.csr_array(np.ones((1, 1)))} | total, lower=0.0, upper=0.0)
            blocks.add_rows("follower's plan", {"follower": other.E}, lower=other.e, upper=other.e)
            blocks.add_rows("losses", loss, lower=0.0)
            largest = np.maximum(at_most[owners] - sequence_values(other, low)[1:], 0.0)
            unmade = sp.csr_array(sp.diags_array(largest) @ sp.eye_array(count, format="csr")[1:])
            blocks.add_rows("best replies", loss | {"follower": unmade}, upper=largest)
            here = sp.eye_array(count, format="csr")
            blocks.add_rows("made", {"paid": here, "follower": -sp.diags_array(most)}, upper=0.0)
            made = {"paid": here, "leader's quantities": -mine.left, "follower": -sp.diags_array(least)}
            blocks.add_rows("of made", made, upper=-least)
        else:
            paid = sp.csr_array(sp.csr_array(reply[None]) @ mine.left)
            blocks.add_columns("paid", 1, objective=1.0)
            blocks.add_rows("paid", {"paid": sp.eye_array(1), "leader's quantities": -paid}, lower=0.0, upper=0.0)
            blocks.add_rows("losses", loss, lower=0.0)
            roots = sp.csr_array(other.inflow[:, [0]].T)
            rest = reply.copy()
            rest[0] = 0.0  # the payoff of the empty sequence is part of every reply
            earned = sp.csr_array(sp.csr_array(rest[None]) @ theirs.left)
            blocks.add_rows("best reply", {"worth": roots, "follower's quantities": -earned}, upper=0.0)
        return blocks.program(maximise=True)

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the payoffs of a commitment and a reply, and the reply's shortfall from the follower's best response.

        The objective is the leader's payoff, and the exploitability is the follower's gain from a best response. Bounds
        need a `dual_certificate`, with one of these:

        - ``relaxation``, shape (m, rows): multipliers of the rows of :meth:`integer_program`, for each of m parts of
          the follower's pure plans, and ``fixed``, shape (m, num_sequences of the follower): the sequences that plans
          of the part contain (1) or do not (0); others are -1. Without ``fixed``, the only part is all plans.
        - ``weights`` and ``prices``, shapes (n, n) and (n, number of constraints): λ and μ for each reply of
          :attr:`replies`. With weak ties also ``shares``, shape (n, n), the mixtures of replies that pay the follower
          the same; a row of zeros says that the reply is nowhere strictly best, which its λ prove. ``limit`` and
          ``inside`` are the plans of the leader between which the supremum is approached.
        """
        check_same_game(profile[0], self.game)
        x, y = profile[self.follower].plan, profile[self.leader].plan
        theirs, mine = (factors.payoffs(y) for factors in self.payoffs)
        values = [0.0, 0.0]
        values[self.follower], values[self.leader] = float(x @ theirs), float(x @ mine)
        treeplexes = self.game.sequence_form.treeplexes
        best = best_response_value(treeplexes[self.follower], theirs)
        lower, upper = self._bounds(values[self.leader], dual_certificate or {})
        return Certificate(
            value=tuple(values),
            objective=values[self.leader],
            lower=lower,
            upper=upper,
            exploitability=max(0.0, best - values[self.follower]),
            residual=profile.residual,
            violations={one.name: max(0.0, one.value(y)) for one in self.constraints},
            player=self.leader,
        )

    def _bounds(self, earned: float, proof: Mapping[str, Floats]) -> tuple[float | None, float | None]:
        """Return the bounds that a proof gives on what a commitment earns, or on its supremum with weak ties."""
        unit, replies = self.payoffs[1].unit, self.replies
        if "relaxation" in proof:
            multipliers = np.atleast_2d(proof["relaxation"])
            free = np.full((1, self.game.sequence_form.treeplexes[self.follower].num_sequences), -1.0)
            parts = proof.get("fixed", free)
            if len(parts) != len(multipliers) or not _all_plans(parts):
                return None, None
            most = max(self.relaxed(*one) for one in zip(multipliers, parts, strict=True))
        elif "weights" in proof and replies is not None:
            most, weak = -math.inf, self.ties == "weak"
            for number, weights in enumerate(np.maximum(proof["weights"], 0.0)):
                shares = proof["shares"][number] if weak else None
                if weak and replies.classes[number] != number:
                    continue  # its class is bounded by its first member
                if shares is None or shares.any():
                    most = max(most, replies.bound(number, weights, proof["prices"][number], shares))
                elif not replies.nowhere_best(number, weights):
                    return None, None
            if weak:
                least = replies.supremum(proof["limit"], proof["inside"])
                return (None, None) if least is None else (unit * min(least, most), unit * most)
        else:
            return None, None
        return min(earned, unit * most), unit * most

    def relaxed(self, multipliers: Floats, fixed: Floats) -> float:
        """Return the bound that multipliers prove on a part of the follower's plans, in the leader's unit.

        Parameters
        ----------
        multipliers : ndarray of float64, shape (rows,)
            One per row of :meth:`integer_program`.
        fixed : ndarray of float64, shape (num_sequences of the follower,)
            1 for the sequences that plans of the part contain, 0 for those that they do not contain, -1 for others.
        """
        program, own = self.integer_program().program, self.game.sequence_form.treeplexes[self.leader]
        lower, upper = program.column_lower.copy(), program.column_upper.copy()
        lower[program.columns["follower"]], upper[program.columns["follower"]] = fixed == 1.0, fixed != 0.0
        return _relaxed(replace(program, column_lower=lower, column_upper=upper), multipliers, own)

    def proves(self, proof: tuple[Profile, Certificate] | None) -> bool:
        """Whether the bounds of a method's certificate are as close as round-off permits."""
        gap = None if proof is None else proof[1].gap
        return gap is not None and gap <= _CLOSE * self.payoffs[1].unit

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: the follower's gain from a best response."""
        return certificate.exploitability


def _all_plans(parts: Floats) -> bool:
    """Whether repeated division by one sequence gives the parts, so that each pure plan is in one of them."""
    open_parts = [np.asarray(parts)]
    while open_parts:
        here = open_parts.pop()
        if (here < 0.0).all(axis=1).any():
            continue
        divisors = np.flatnonzero((here >= 0.0).all(axis=0))
        if not len(here) or not len(divisors):
            return False
        by = int(divisors[0])
        for made in (0.0, 1.0):
            rest = here[here[:, by] == made].copy()
            rest[:, by] = -1.0
            open_parts.append(rest)
    return True


def _relaxed(program: LinearProgram, multipliers: Floats, leader: Treeplex) -> float:
    """Return the bound on a program's objective that multipliers of its rows prove, given the leader's polytope."""
    prices = np.where(multipliers > 0.0, program.row_upper, program.row_lower)
    prices = np.where(np.isfinite(prices), multipliers, 0.0)
    prices[program.rows["leader's plan"]] = 0.0  # the leader's best response takes the place of these rows
    rest = program.objective - program.matrix.T @ prices
    sides = np.where(prices > 0.0, program.row_upper, np.where(prices < 0.0, program.row_lower, 0.0))
    ends = np.where(rest > 0.0, program.column_upper, np.where(rest < 0.0, program.column_lower, 0.0))
    own = program.columns["leader"]
    ends[own] = 0.0
    return float(prices @ sides + rest @ ends) + best_response_value(leader, rest[own])


@dataclass(frozen=True, eq=False)
class Factors:
    """A payoff in factors, unit · xᵀ left · right y, of the follower's plan x and the leader's plan y.

    Attributes
    ----------
    left : csr_array, shape (num_sequences of the follower, k)
    right : csr_array, shape (k, num_sequences of the leader)
    leader : Treeplex
        The polytope of y.
    unit : float
        A power of two near the largest payoff, so that dividing by it is exact.
    """

    left: sp.csr_array
    right: sp.csr_array
    leader: Treeplex
    unit: float

    @classmethod
    def of(cls, left: sp.csr_array, right: sp.csr_array, leader: Treeplex) -> "Factors":
        """Return a payoff in its own unit."""
        largest = float(abs(left.data).max(initial=0.0) * abs(right.data).max(initial=0.0))
        unit = math.ldexp(1.0, math.frexp(largest)[1])
        return cls(left / unit, right, leader, unit)

    @classmethod
    def paid(cls, form: SequenceForm, player: int, row: int, given: Any = None) -> "Factors":
        """Return the payoff to a player, with the sequences of player `row` as rows and the other player's as columns.

        `given` replaces the payoff; it has one row per sequence of player 0.
        """
        sign, column = 1.0, form.treeplexes[1 - row]
        if given is None:
            sign = -1.0 if player == 1 and form.factored is not None else 1.0
            given = form.payoff_matrix(player) if form.factored is None else form.factored
        if isinstance(given, FactoredPayoff) and given.chained is None:
            left, right = (given.left, given.right) if row == 0 else (given.right.T, given.left.T)
        else:
            matrix = given.matrix if isinstance(given, FactoredPayoff) else given
            left = matrix if row == 0 else matrix.T
            right = sp.eye_array(column.num_sequences, format="csr")
        return cls.of(sp.csr_array(sign * left), sp.csr_array(right), column)

    def payoffs(self, plan: Floats) -> Floats:
        """Return the payoff of each of the follower's sequences against the leader's plan, in payoff units."""
        found: Floats = self.unit * (self.left @ (self.right @ plan))
        return found

    def opposed_to(self, other: "Factors") -> "tuple[float, Factors]":
        """Return the best λ ≥ 0, and this payoff plus λ times another payoff.

        Both are in their units, and must have the same right factor. λ minimises the remaining sum of squares, except
        for quantities that are the same under all plans: in a patrol, the detections then cancel.
        """
        if self.right.shape != other.right.shape or (abs(self.right - other.right) > 0.0).nnz:
            return 0.0, self
        least, most = other.quantities
        varying = sp.diags_array((most > least).astype(np.float64))
        mine, theirs = self.left @ varying, other.left @ varying
        squares = float((theirs * theirs).sum())
        opposed = max(0.0, -float((mine * theirs).sum()) / squares) if squares else 0.0
        left = sp.csr_array(self.left + opposed * other.left)
        left.data[np.abs(left.data) < _ROUND_OFF] = 0.0
        left.eliminate_zeros()
        return opposed, replace(self, left=left)

    @cached_property
    def quantities(self) -> tuple[Floats, Floats]:
        """The range of each quantity, right · y."""
        least, most = np.zeros(self.right.shape[0]), np.zeros(self.right.shape[0])
        for number in range(self.right.shape[0]):
            row = self.right[[number]].toarray().ravel()
            least[number] = -best_response_value(self.leader, -row) if (row < 0.0).any() or row[0] else 0.0
            most[number] = best_response_value(self.leader, row)
        return least, most

    @property
    def range(self) -> tuple[Floats, Floats]:
        """The range of the payoff of each of the follower's sequences, in the unit."""
        (least, most), gains, losses = self.quantities, self.left.maximum(0.0), self.left.minimum(0.0)
        return gains @ least + losses @ most, gains @ most + losses @ least
