"""Optimal commitment by HiGHS's branch and bound or one linear program per reply, and proofs that none pays more."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...models.problems import Stackelberg
from ...models.problems.pure_replies import MARGIN, TIE, PureReplies
from ...models.programs.integer_program import IntegerAnswer, IntegerProgram
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import counted_now
from ...seqform.polytope import best_response_value
from ..outcome import Options, Outcome, Status, nearest_profile
from .highs_models import objective_factor
from .integer_answers import Strategies, answered, columns_of, optimum

#: What a commitment gives up so that the follower's reply is strictly best, in units of the leader's payoff.
_GIVEN_UP = 1e-6
#: A commitment that earns less than the supremum by no more attains it, in the same units.
_ATTAINED = 1e-10


def commit(problem: Stackelberg, options: Options) -> Outcome:
    """Solve a commitment problem; see :class:`~treeplex.solvers.BranchAndBound`."""
    if problem.ties == "weak":
        return _commit_against_ties(problem, options)

    def pose() -> tuple[IntegerProgram, float, Callable[[IntegerAnswer], Strategies]]:
        integer = problem.integer_program()
        return integer, problem.payoffs[1].unit, lambda answer: _committed(problem, integer, answer)

    return answered(problem, options, pose, "commitment that pays more")


def _committed(problem: Stackelberg, integer: IntegerProgram, answer: IntegerAnswer) -> Strategies:
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
    return Strategies(plans, prices, lambda earned: _proof(problem, integer, earned))


def _proof(problem: Stackelberg, integer: IntegerProgram, earned: float) -> Mapping[str, Floats]:
    """Return multipliers that bound what any commitment earns: for each reply, or for the linear relaxation."""
    replies = problem.replies
    if replies is None:
        found = optimum(integer.program)
        return {} if found is None else {"relaxation": np.array(found.row_dual) * objective_factor(integer.program)}
    weights, prices = np.zeros((len(replies), len(replies))), np.zeros((len(replies), len(replies.constraints)))
    least = earned / problem.payoffs[1].unit
    for number in range(len(replies)):
        if replies.bound(number, weights[number], prices[number]) > least:
            weights[number], prices[number] = _multipliers(replies, number, least)
    return {"weights": weights, "prices": prices}


def _multipliers(replies: PureReplies, number: int, least: float) -> tuple[Floats, Floats]:
    """Return λ and μ that bound what the leader earns from a reply, or bring it to `least` if it is never best."""
    program = replies.program(number, np.array([number]))
    found = optimum(program)
    if found is not None:
        return _duals(found, program, "best"), _duals(found, program, "constraints")
    program = replies.margin_program(number, np.arange(len(replies), dtype=np.int32))
    found = optimum(program)
    if found is None:
        raise SolverError(f"HiGHS found no optimum of the linear program of reply {number}")
    weights, prices = _duals(found, program, "best"), _duals(found, program, "constraints")
    margin, most = float(found.col_value[-1]), best_response_value(replies.leader, replies.mine[number])
    if margin >= 0.0:
        return np.zeros_like(weights), np.zeros_like(prices)
    scale = 2.0 * (most - least) / -margin
    return scale * weights, scale * prices


def _duals(found: Any, program: Any, block: str) -> Floats:
    """Return the multipliers of a block of rows, which are not negative; empty if there is no such block."""
    rows = program.rows.get(block)
    return np.zeros(0) if rows is None else np.abs(np.array(found.row_dual)[rows]) * abs(objective_factor(program))


def _commit_against_ties(problem: Stackelberg, options: Options) -> Outcome:
    """Find a commitment near the supremum if the follower breaks ties against the leader.

    Replies that are strictly best somewhere are tried in order of the most that the leader can earn with them.
    """
    begun = counted_now()
    replies = problem.replies
    assert replies is not None  # the problem does not fit a game with more
    built, count = counted_now(), len(replies)
    proof = {"weights": np.zeros((count, count)), "shares": np.zeros((count, count)), "prices": np.zeros((count, 0))}
    best, stopped, detail = -np.inf, Status.OPTIMAL, "every reply was tried"
    plan: Floats | None = None
    most = [best_response_value(replies.leader, row) for row in replies.mine]
    try:
        for number in np.argsort([-one for one in most], kind="stable").tolist():
            if replies.classes[number] != number:
                continue
            members = replies.members(number)
            shares = np.zeros(count)
            shares[members[np.argmin([most[one] for one in members])]] = 1.0
            if replies.bound(number, proof["weights"][number], (), shares) <= best:
                proof["shares"][number] = shares
                continue
            inside = _strictly_best(replies, number, members, proof["weights"])
            if inside is None:
                continue
            program = replies.program(number, members)
            found = optimum(program)
            if found is None:
                raise SolverError(f"HiGHS found no optimum of the linear program of reply {number}")
            proof["weights"][number] = _duals(found, program, "best")
            mixed = _duals(found, program, "paid")
            proof["shares"][number, members] = mixed / mixed.sum()
            limit = replies.leader.plan(replies.leader.behaviour(columns_of(found)[program.columns["leader"]]))
            earned = replies.supremum(limit, inside)
            if earned is not None and earned > best:
                best, proof["limit"], proof["inside"] = earned, limit, inside
                plan = _attained(replies, limit, inside, best)
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped while the replies were tried"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached while the replies were tried"
    plans = certified = None
    if plan is not None:
        reply = replies.plans[replies.pessimistic(plan)]
        plans = (reply, plan) if problem.follower == 0 else (plan, reply)
        profile = nearest_profile(problem.game, plans)
        certified = profile, problem.certify(profile, None, proof if stopped is Status.OPTIMAL else None)
    return Outcome(
        plans=plans,
        proof=certified,
        stopped=stopped,
        detail=detail,
        iterations=1,
        seconds=counted_now() - built,
        build_seconds=built - begun,
    )


def _strictly_best(replies: PureReplies, number: int, members: Any, weights: Floats) -> Floats | None:
    """Return a commitment to which a reply is strictly best; if there is none, write the weights that prove it."""
    others = np.setdiff1d(np.arange(len(replies), dtype=np.int32), members)
    if not len(others):
        return replies.leader.uniform_plan()
    program = replies.margin_program(number, others)
    found = optimum(program)
    if found is None:
        raise SolverError(f"HiGHS found no optimum of the linear program of reply {number}")
    inside = replies.leader.plan(replies.leader.behaviour(columns_of(found)[program.columns["leader"]]))
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
