"""Rows of suites before they are run: what is solved by which method, and how closely it has to agree."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..models.constraints import distance_bound
from ..models.distances import L2Distance
from ..seqform.strategy import Strategy
from .questions import Question, Words

if TYPE_CHECKING:
    from ..seqform.game import Game

Role = Literal["exact", "compared", "alone"]


@dataclass(frozen=True)
class Case:
    """One row of a suite, before it is run.

    Parameters
    ----------
    game : str
        As :func:`treeplex.load_game` reads it.
    method : str
    tolerance : float
        What the certificate has to prove, and how closely objectives have to agree, in payoff units.
    role : {"exact", "compared", "alone"}
        The ``exact`` solution of a question is held to the known objective, if there is one; what is ``compared`` is
        held to the exact solution, which comes before it; what stands ``alone`` is held to its certificate.
    options : mapping of str to str
        Hyper-parameters that differ from the method's defaults.
    problem : str
    question : mapping of str to str or tuple of str
        What the problem needs beside the game, in the words of ``treeplex solve``: ``opponent``, ``p``, ``constrain``
        and so on; see :class:`~treeplex.validation.questions.Question`.
    reference : float, optional
        The known objective; by default the game's reference value for ``nash``, and none for other problems.
    digits : float
        How far the known objective itself may be off: half a unit of its last digit.
    near : float, optional
        Of ``constrained``, beside what the question says: how far player 0's plan may be from uniform play's at most,
        in Euclidean distance. The command line has no words for that.
    """

    game: str
    method: str
    tolerance: float
    role: Role = "compared"
    options: Mapping[str, str] = field(default_factory=dict)
    problem: str = "nash"
    question: Words = field(default_factory=dict)
    reference: float | None = None
    digits: float = 0.0
    near: float | None = None

    @property
    def label(self) -> str:
        """The method with its options, as rows show it.

        Examples
        --------
        >>> from treeplex.validation import Case
        >>> Case("kuhn", "cfr+", 1e-3, options={"updates": "simultaneous"}).label
        'cfr+ simultaneous'
        """
        return " ".join([self.method, *self.options.values()])

    @property
    def asked(self) -> str:
        """The problem with what it needs, as it follows ``--problem`` on the command line.

        Examples
        --------
        >>> from treeplex.validation import Case
        >>> Case("kuhn", "highs", 1e-9, problem="rnr", question={"opponent": "uniform", "p": "1/2"}).asked
        'rnr --opponent uniform --p 1/2'
        """
        text = Question(self.problem, **self.question).text
        return text if self.near is None else f"{text}, and player 0 at most {self.near:g} from uniform play"

    def pose(self, game: "Game") -> Any:
        """Return the problem on the case's game."""
        problem = Question(self.problem, **self.question).pose(game)
        if self.near is None:
            return problem
        ball = distance_bound(L2Distance(Strategy.uniform(game, 0)), at_most=self.near, name="near uniform play")
        return replace(problem, constraints=(*problem.constraints, ball))


@dataclass(frozen=True)
class Suite:
    """A named list of cases.

    Parameters
    ----------
    name : str
    summary : str
        What it is for, in a few words.
    cases : tuple of Case
        Those of a game stand together, and among them those of a question, its exact one first.
    """

    name: str
    summary: str
    cases: tuple[Case, ...]


def nash_cases(
    game: str,
    *methods: tuple[str, float],
    exact: str | None = "highs-simplex",
    digits: float = 1e-9,
    simultaneous: tuple[tuple[str, float], ...] = (),
) -> tuple[Case, ...]:
    """List a game's cases: how it is solved exactly and to how many digits, and what is compared with that."""
    role: Role = "alone" if exact is None else "compared"
    first = () if exact is None else (Case(game, exact, digits, "exact"),)
    others = [Case(game, method, tolerance, role) for method, tolerance in methods]
    both_at_once = {"updates": "simultaneous"}
    others += [Case(game, method, tolerance, role, both_at_once) for method, tolerance in simultaneous]
    return (*first, *others)


def asked_cases(
    game: str,
    problem: str,
    question: Words,
    *methods: tuple[str, float],
    known: float | None = None,
    off: float = 0.0,
    exact: str = "highs-simplex",
    digits: float = 1e-9,
    near: float | None = None,
) -> tuple[Case, ...]:
    """List the cases of another question about a game, and the objective that is known, to how many digits."""
    first = Case(game, exact, digits, "exact", {}, problem, question, known, off, near)
    others = [
        Case(game, method, tolerance, "compared", {}, problem, question, near=near) for method, tolerance in methods
    ]
    return (first, *others)
