"""The results of a patrol's commitment: each attacker type's reply, and the gain over the zero-sum plan."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..models.games.patrol import PatrolGame
from ..models.games.patrol.game import patrol_of
from ..models.games.patrol.words import likely_routes
from ..models.problems import Stackelberg
from ..seqform.checks import check_type
from ..seqform.errors import UnsupportedProblemError
from ..seqform.interchange.page import Content, sheet_blocks
from ..seqform.polytope import best_response_plan
from ..seqform.sheet import Column, Row, Sheet, Table, payoff
from ..seqform.strategy import Strategy
from .patrols import Tabled, solve_patrol
from .solution import Solution

#: The weight of the units' payoff in a reply, which breaks ties in their favour, or with the other sign against it.
_TIE = 1e-7


@dataclass(frozen=True)
class TypeReply:
    """The reply of a type of attackers to the units' plan.

    Attributes
    ----------
    who : str
    probability : float
        The probability of the type.
    earns : float
        The type's expected payoff.
    units : float
        The units' expected payoff if this type comes.
    route : str
        Its route, with times of arrival; among equally good ones, the best for the units, or with weak ties the worst.
    """

    who: str
    probability: float
    earns: float
    units: float
    route: str


@dataclass(frozen=True)
class CommitmentOutcome(Tabled):
    """The units' payoff under a commitment, and under the plan for opposed payoffs.

    Attributes
    ----------
    units : float
        The units' payoff under the commitment.
    opposed : float or None
        The units' payoff under the plan that minimises what attackers gain, if attackers reply to that plan in their
        own interest, and if they are nearly indifferent, in the units' interest, or with weak ties against it: the
        reply maximises the attackers' payoff plus or minus 1e-7 of the units'. ``None`` if a limit ended the search for
        that plan.
    replies : tuple of TypeReply
    ties : {"strong", "weak"}
        The tie rule.
    """

    units: float
    opposed: float | None
    replies: tuple[TypeReply, ...]
    ties: str = "strong"

    @property
    def gain(self) -> float | None:
        """The gain of the commitment over the plan for opposed payoffs."""
        return None if self.opposed is None else self.units - self.opposed

    @property
    def sheet(self) -> Sheet:
        """The units' payoff with and without the commitment."""
        rows = ("commitment", self.units), ("opposed payoffs", self.opposed), ("gain", self.gain)
        told = " to the units", " to the units, from the plan that minimises what attackers gain", " from committing"
        known = [(*row, note) for row, note in zip(rows, told, strict=True) if row[1] is not None]
        return Sheet([Row(name, value, payoff, note) for name, value, note in known])

    def __str__(self) -> str:
        return f"{self.sheet}\n{self.table}"

    def _html_blocks(self) -> Iterator[Content]:
        yield from sheet_blocks(self.sheet)
        yield from super()._html_blocks()

    @property
    def table(self) -> Table:
        """The reply of each type of attackers."""
        columns = (
            Column("who"),
            Column("probability", payoff),
            Column("earns", payoff),
            Column("units", payoff, "units' payoff"),
            Column("route", str, "reply, with times of arrival"),
        )
        which = "best" if self.ties == "strong" else "worst"
        heading = f"replies of attackers who know the plan; if they are indifferent, the {which} for the units"
        return Table.of([*map(vars, self.replies)], columns, heading)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain numbers and strings."""
        replies = [dict(vars(one)) for one in self.replies]
        return {"units": self.units, "opposed": self.opposed, "gain": self.gain, "ties": self.ties, "replies": replies}


def commitment_outcome(solution: Solution, **how: Any) -> CommitmentOutcome:
    """Return the attackers' replies to a commitment, and what it gains over the plan for opposed payoffs.

    Parameters
    ----------
    solution : Solution
        A solution of :func:`~treeplex.solvers.solve_patrol` for a patrol with a
        :class:`~treeplex.models.games.patrol.Commitment`.
    **how
        Options of :func:`~treeplex.solve` for the plan for opposed payoffs.

    Raises
    ------
    UnsupportedProblemError
        If the solution is not that of a commitment.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, Commitment, PatrolGame, Unit
    >>> from treeplex.solvers import commitment_outcome, solve_patrol
    >>> town = nx.Graph([("gate", "mill"), ("gate", "bank"), ("inn", "mill"), ("inn", "bank")])
    >>> thief, own = Attacker(["gate"], {"bank": 3.0, "mill": 1.0}), Commitment({"bank": -10, "mill": -1}, meeting=5)
    >>> game = PatrolGame(town, steps=1, units=[Unit(start="inn")], attackers=[thief], meeting=-4.0, commitment=own)
    >>> outcome = commitment_outcome(solve_patrol(game))
    >>> round(outcome.units, 6), outcome.replies[0].route
    (0.25, 'gate (0) → mill (1)')

    Several plans leave the thief nothing to gain, and not all are as good for the units:

    >>> outcome.opposed <= outcome.units
    True
    """
    problem: Any = solution.problem
    if not isinstance(problem, Stackelberg):
        raise UnsupportedProblemError(f"the solution is for {problem.name}, expected one of a commitment")
    game = check_type(problem.given_game, "the game", UnsupportedProblemError, PatrolGame)
    patrol = patrol_of(game)
    plain = PatrolGame(replace(patrol, commitment=None))
    opposed = solve_patrol(plain, **how)
    x, y = (strategy.plan for strategy in solution.profile)
    theirs, mine = (factors.payoffs(y) for factors in problem.payoffs)
    routes = {route.who: str(route) for route in likely_routes(game, solution.profile[0])}
    replies = []
    for one, share, walker in zip(patrol.attackers, patrol.probabilities, patrol.attacking.walkers, strict=True):
        own = np.union1d(walker.sequences, walker.entry_sequences[walker.entry_sequences > 0])
        earned, paid = (float(x[own] @ each[own]) / share if share else 0.0 for each in (theirs, mine))
        replies.append(TypeReply(one.name, share, earned, paid, routes.get(one.name, "stays away")))
    against = _paid_by_reply(problem, opposed.profile[1]) if opposed.status.is_success else None
    return CommitmentOutcome(float(solution.objective or 0.0), against, tuple(replies), problem.ties)


def _paid_by_reply(problem: Stackelberg, units: Strategy) -> float:
    """Return the units' payoff under a plan if attackers choose a best reply, and break ties by the problem's rule."""
    theirs, mine = (factors.payoffs(units.plan) for factors in problem.payoffs)
    treeplex = problem.game.sequence_form.treeplexes[problem.follower]
    tie = _TIE if problem.ties == "strong" else -_TIE
    return float(best_response_plan(treeplex, theirs + tie * mine).plan @ mine)
