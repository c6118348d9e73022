"""Optimal commitment by one linear program per reply, or by HiGHS's branch and bound if there are many replies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...models.problems import Stackelberg
from ...models.problems.pure_replies import MARGIN, TIE, PureReplies
from ...models.programs.integer_program import IntegerAnswer, IntegerProgram
from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import counted_now, seconds_left, too_late
from ...seqform.polytope import best_response_value
from ..outcome import Options, Outcome, Status, nearest_profile
from .commitment_proofs import divided
from .highs_models import objective_factor
from .integer_answers import Strategies, answered, columns_of, optimum

#: What a commitment gives up so that the follower's reply is strictly best, in units of the leader's payoff.
_GIVEN_UP = 1e-6
#: The blocks of rows whose multipliers bound what a commitment earns.
_PRICED = ("best", "constraints")
#: A commitment that earns less than the supremum by no more attains it, in the same units.
_ATTAINED = 1e-10


def commit(problem: Stackelberg, options: Options) -> Outcome:
    """Solve a commitment problem; see :class:`~treeplex.solvers.BranchAndBound`."""
    if problem.replies is not None:
        return _by_replies(problem, problem.replies)

    def pose() -> tuple[IntegerProgram, float, Callable[[IntegerAnswer], Strategies]]:
        integer = problem.integer_program()
        return integer, problem.payoffs[1].unit, lambda answer: _committed(problem, integer, answer, relax)

    @cache
    def relax() -> Mapping[str, Floats]:
        program = problem.integer_program().program
        found = optimum(program)
        return {} if found is None else {"relaxation": np.array(found.row_dual) * objective_factor(program)}

    return answered(problem, options, pose, "commitment that pays more", relax)


def _committed(
    problem: Stackelberg,
    integer: IntegerProgram,
    answer: IntegerAnswer,
    relax: Callable[[], Mapping[str, Floats]],
) -> Strategies:
    """Return the reply and the best commitment for it, and the constraints' multipliers while the follower keeps it.

    They are computed by a linear program. If HiGHS finds no optimum, the commitment is that of the integer program.
    """
    reply = answer.columns[integer.program.columns["follower"]]
    leader, prices = answer.columns[integer.program.columns["leader"]], {}
    program = problem.reply_program(reply)
    found = optimum(program)
    if found is not None:
        leader, duals = columns_of(found)[program.columns["leader"]], np.array(found.row_dual)
        prices = {
            one.name: abs(float(duals[program.rows[f"constraint {number}"]][0])) * problem.payoffs[1].unit
            for number, one in enumerate(problem.constraints)
        }
    plans = (reply, leader) if problem.follower == 0 else (leader, reply)
    earned = float(reply @ problem.payoffs[1].payoffs(leader)) / problem.payoffs[1].unit

    def prove() -> Mapping[str, Floats]:
        return divided(problem, earned, relax()["relaxation"]) if relax() else {}

    return Strategies(plans, prices, prove)


def _duals(found: Any, program: Any, block: str) -> Floats:
    """Return the multipliers of a block of rows, which are not negative; empty if there is no such block."""
    rows = program.rows.get(block)
    return np.zeros(0) if rows is None else np.abs(np.array(found.row_dual)[rows]) * abs(objective_factor(program))


@dataclass
class _Search:
    """The best commitment so far, and the proof that no other one pays more.

    Attributes
    ----------
    weights, shares : ndarray of float64, shape (n, n)
    prices : ndarray of float64, shape (n, number of constraints)
        The arrays of :meth:`Stackelberg.certify <treeplex.Stackelberg.certify>`.
    best : float
        What the best commitment earns, in units of the payoff; with weak ties, the supremum.
    number : int
        The reply to it.
    ends : tuple of ndarray, optional
        The commitment, and with weak ties a plan at which its reply is strictly best.
    """

    weights: Floats
    shares: Floats
    prices: Floats
    best: float = -np.inf
    number: int = -1
    ends: tuple[Floats, ...] = ()

    @classmethod
    def of(cls, replies: PureReplies) -> "_Search":
        count = len(replies)
        return cls(np.zeros((count, count)), np.zeros((count, count)), np.zeros((count, len(replies.constraints))))

    @property
    def proof(self) -> dict[str, Floats]:
        """The dual certificate."""
        made = {"weights": self.weights, "shares": self.shares, "prices": self.prices}
        return made | dict(zip(("limit", "inside"), self.ends, strict=False))


def _by_replies(problem: Stackelberg, replies: PureReplies) -> Outcome:
    """Solve a linear program for each reply, in order of the most that the leader earns with it."""
    begun, search = counted_now(), _Search.of(replies)
    stopped, detail = Status.OPTIMAL, "every reply was tried"
    most = np.array([best_response_value(replies.leader, row) for row in replies.mine])
    try:
        for number in np.argsort(-most, kind="stable").tolist():
            if problem.ties == "strong":
                _try_strong(replies, search, number)
            elif replies.classes[number] == number:
                _try_weak(replies, search, number, most)
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped while the replies were tried"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached while the replies were tried"
    plans, certified, multipliers = None, None, {}
    if search.ends:
        plan, number = search.ends[0], search.number
        if problem.ties == "weak":
            plan = _attained(replies, plan, search.ends[1], search.best)
            number = replies.pessimistic(plan)
        reply = replies.plans[number]
        plans = (reply, plan) if problem.follower == 0 else (plan, reply)
        prices = search.prices[search.number] * problem.payoffs[1].unit
        multipliers = {one.name: float(price) for one, price in zip(problem.constraints, prices, strict=True)}
        profile = nearest_profile(problem.game, plans)
        certified = profile, problem.certify(profile, None, search.proof)
    elif stopped is Status.OPTIMAL:
        stopped, detail = Status.INFEASIBLE, "no commitment meets the constraints"
    return Outcome(
        plans=plans,
        proof=certified,
        multipliers=multipliers,
        stopped=stopped,
        detail=detail,
        iterations=1,
        seconds=counted_now() - begun,
        build_seconds=0.0,
    )


def _try_strong(replies: PureReplies, search: _Search, number: int) -> None:
    """Find the best commitment to which a reply is best, or multipliers that prove that it does not matter."""
    if replies.bound(number, search.weights[number], search.prices[number]) <= search.best:
        return
    program = replies.program(number, np.array([number], dtype=np.int32))
    found = _solved(program)
    if found is not None:
        search.weights[number], search.prices[number] = (_duals(found, program, name) for name in _PRICED)
        plan = _plan(replies, found, program)
        if float(replies.mine[number] @ plan) > search.best:
            search.best, search.number, search.ends = float(replies.mine[number] @ plan), number, (plan,)
        return
    program = replies.margin_program(number, np.arange(len(replies), dtype=np.int32))
    found = _solved(program)
    if found is not None and found.col_value[-1] < 0.0:  # large multipliers bring the bound below anything earned
        most = best_response_value(replies.leader, replies.mine[number])
        least = search.best if search.ends else -best_response_value(replies.leader, -replies.mine.min(axis=0))
        scale = 2.0 * max(most - least, 1.0) / -found.col_value[-1]
        search.weights[number], search.prices[number] = (scale * _duals(found, program, name) for name in _PRICED)


def _try_weak(replies: PureReplies, search: _Search, number: int, most: Floats) -> None:
    """Find the supremum over commitments near those to which a reply is strictly best, if there are any."""
    members = replies.members(number)
    shares = np.zeros(len(replies))
    shares[members[np.argmin(most[members])]] = 1.0
    if replies.bound(number, search.weights[number], (), shares) <= search.best:
        search.shares[number] = shares
        return
    inside = _strictly_best(replies, number, members, search.weights)
    if inside is None:
        return
    program = replies.program(number, members)
    found = _solved(program)
    if found is None:
        raise SolverError(f"HiGHS found no optimum of the linear program of reply {number}")
    search.weights[number], mixed = _duals(found, program, "best"), _duals(found, program, "paid")
    search.shares[number, members] = mixed / mixed.sum()
    limit = _plan(replies, found, program)
    earned = replies.supremum(limit, inside)
    if earned is not None and earned > search.best:
        search.best, search.number, search.ends = earned, number, (limit, inside)


def _solved(program: LinearProgram) -> Any:
    """Return HiGHS's solution of a linear program, or ``None`` if it has none.

    Raises
    ------
    TimeLimitError
        At the time limit.
    """
    found = optimum(program)
    if found is None and not seconds_left():
        raise too_late("the replies were tried")
    return found


def _plan(replies: PureReplies, found: Any, program: LinearProgram) -> Floats:
    """Return the leader's plan of a solution."""
    return replies.leader.plan(replies.leader.behaviour(columns_of(found)[program.columns["leader"]]))


def _strictly_best(replies: PureReplies, number: int, members: Any, weights: Floats) -> Floats | None:
    """Return a commitment to which a reply is strictly best; if there is none, write the weights that prove it."""
    others = np.setdiff1d(np.arange(len(replies), dtype=np.int32), members)
    if not len(others):
        return replies.leader.uniform_plan()
    program = replies.margin_program(number, others)
    found = _solved(program)
    if found is None:
        raise SolverError(f"HiGHS found no optimum of the linear program of reply {number}")
    inside = _plan(replies, found, program)
    reached, margin, _ = replies.approached(inside, inside)
    if replies.classes[reached] == number and margin > MARGIN:
        return inside
    given = _duals(found, program, "best")
    weights[number, others] = given / given.sum()
    return None


def _attained(replies: PureReplies, limit: Floats, inside: Floats, supremum: float) -> Floats:
    """Return the plan at the limit if it earns the supremum, otherwise one near it with a strictly best reply."""
    if float(replies.mine[replies.pessimistic(limit)] @ limit) >= supremum - _ATTAINED:
        return limit
    _, margin, short = replies.approached(limit, inside)
    fall = max(1.0, 2.0 * float(np.abs(replies.mine).max()))
    step = min(1.0, max(_GIVEN_UP / fall, (short + 4.0 * TIE) / (margin + short)))
    return (1.0 - step) * limit + step * inside
