"""An agent that answers a model of its opponent decision by decision, as somebody at play does."""

import dataclasses
import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ...models.depth_limited import ResolvingRun, StepAnswer, StepProgram, TrunkSolution
from ...models.problems.certificate import Certificate
from ...models.problems.stepped import SteppedResponse
from ...models.problems.strategy_certificate import restored
from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.checks import check_number
from ...seqform.errors import InvalidStrategyError, SolverError, UnknownMethodError, UnsupportedProblemError, shown
from ...seqform.limits import counted_now
from ...seqform.strategy import Profile, Strategy
from ..methods import DepthLimitedLP, RegretMethod, check_served, find_method
from ..outcome import Options, Status
from ..regret.ccfr_theorems import payoff_range
from ..solve import with_game_value
from .linear_programs import ProgramStepSolver
from .method import DepthLimitedCFR
from .regret_steps import RegretStepSolver, check_double, compile_loop
from .resolving import equilibrium_of
from .value_steps import ValueStepSolver

#: By default a decision by regret minimisation is as good as this share of the range of payoffs.
TOLERANCE = 1e-3
#: The most iterations of a decision that has neither a tolerance nor a time budget that ends it first.
MOST_ITERATIONS = 1_000_000


@dataclass(frozen=True)
class Decision:
    """How an agent came to one of its decisions.

    Attributes
    ----------
    step : int
        Which step of the problem it is.
    level : int
        Of the decision, in the public tree.
    states : tuple of int
        The public states decided for.
    seconds : float
        From the step's program to its answer.
    iterations : int
        Of the method; 0 where the answer of the step before served.
    gap : float
        What a better decision could add to the step's objective at most, payoff units.
    warm : bool
        Whether a linear program began at the basis of the one before it. Regret minimisation begins each step anew.
    """

    step: int
    level: int
    states: tuple[int, ...]
    seconds: float
    iterations: int
    gap: float
    warm: bool


class Agent:
    """A player who computes each decision during play, with a fixed lookahead.

    Parameters
    ----------
    problem : CDBR, CDRNR, CDBRNE or SES
        The game, the seat, the model of the opponent, the confidence in it and the lookahead of each step. Along
        ``level``, the default, the first decision requested on a level makes all decisions of that level, and with
        the full gadget the response is as safe as :class:`CDRNR` says. Along ``path`` a decision covers only the public
        state that play has reached; this is less work, and safe only with the gadget ``reach-resolving``.
        alone.
    method : str or Method
        ``cfr+`` or another method of regret minimisation, or ``lp``.
    seconds : float
        The time limit of each decision, which always completes one round of iterations. Regret minimisation then
        decides by its current strategies; linear programs have no answer before they are solved.
    tolerance : float, optional
        Of the gap of each decision by regret minimisation, payoff units; 0 for none, so that the time or the
        iterations end it. By default a thousandth of the range of payoffs. The linear programs have none.
    max_iterations : int
        The most of each decision.

    Attributes
    ----------
    decisions : tuple of Decision
        What has been decided, in the order in which it was.

    Raises
    ------
    UnsupportedProblemError
        If the problem is not decided in steps, or the method does not solve it.
    UnknownMethodError
        If there is no such method, or a limit is none.

    Notes
    -----
    A step is solved when play first comes to it, after those that it goes on from, and remembered: as long as the model
    stays the same it is solved once. Regret minimisation begins each step with regrets of zero: what is decided does
    not depend on the order in which play comes to public states, unless a time budget ends a decision. The linear
    programs go on from the basis that was last: where plans are equally good, the order may tell which it is. Whatever
    is decided stays, and :meth:`strategy` is what was and will be played.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), sections 3 and 4.

    Examples
    --------
    >>> from treeplex import CDRNR, Agent, Strategy, load_game
    >>> game = load_game("kuhn")
    >>> agent = Agent(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1), "lp")
    >>> agent.act("K_")  # the opening with the king
    {'p': 0.0, 'b': 1.0}
    >>> len(agent.decisions), agent.num_steps
    (1, 2)
    >>> certificate = agent.certificate()  # which decides the rest
    >>> len(agent.decisions), round(certificate.gain, 6)
    (2, 0.444444)
    """

    def __init__(
        self,
        problem: SteppedResponse,
        method: "str | DepthLimitedLP | RegretMethod" = "cfr+",
        *,
        seconds: float = math.inf,
        tolerance: float | None = None,
        max_iterations: int = MOST_ITERATIONS,
    ) -> None:
        if not isinstance(problem, SteppedResponse):
            raise UnsupportedProblemError(
                f"an agent cannot play {shown(problem)}: expected a response computed in steps, such as CDRNR"
            )
        found = find_method(method) if isinstance(method, str) else method
        check_served(found, problem)
        if isinstance(found, RegretMethod):
            check_double(found, problem)
        if tolerance is None:
            tolerance = TOLERANCE * payoff_range(problem.game.sequence_form)
        self.seconds = check_number(seconds, "seconds", UnknownMethodError, "[0, inf]")
        self.tolerance = check_number(tolerance, "tolerance", UnknownMethodError, "[0, inf]")
        most = check_number(max_iterations, "max_iterations", UnknownMethodError, "[0, inf]")
        self.max_iterations = int(min(most, 2**31 - 1))
        self._options = Options(self.tolerance, self.tolerance, self.max_iterations, self.seconds)
        self.problem, self.method = problem, found
        self._equilibrium: TrunkSolution | None = None
        self._solver: RegretStepSolver | ProgramStepSolver | None = None
        self._forget()

    @property
    def player(self) -> int:
        """The seat that the agent plays in."""
        return self.problem.player

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions since the model was last changed, in order."""
        return tuple(self._decisions)

    @property
    def num_steps(self) -> int:
        """How many decisions there are in all."""
        return len(self._started().steps)

    def new_game(self, opponent: Strategy | None = None) -> None:
        """Begin a new game.

        Parameters
        ----------
        opponent : Strategy, optional
            A new model of the opponent. Then everything is decided anew. Without it all decisions stand.

        Raises
        ------
        InvalidStrategyError
            If it is not a strategy of the other player of the game.
        """
        if opponent is not None:
            self.problem = dataclasses.replace(self.problem, opponent=opponent)
            self._forget()

    def act(self, infoset: Hashable) -> dict[Hashable, float]:
        """Return with which probability the agent takes each action, deciding now if that is needed.

        Parameters
        ----------
        infoset : hashable
            Its label, as the rules have it.

        Returns
        -------
        dict
            Probabilities by action.

        Raises
        ------
        InvalidStrategyError
            If the agent has no such infoset.
        SolverError
            If a linear program had no answer within the limits.
        """
        own = self.problem.view().own
        number = own.find_infoset(infoset)
        if number is None:
            raise InvalidStrategyError(f"player {self.player} has no infoset {shown(infoset)}")
        self.decide(number)
        first, last = own.offsets[number : number + 2].tolist()
        return dict(zip(own.action_labels[number], self._behaviour()[first:last].tolist(), strict=True))

    def decide(self, infoset: int) -> None:
        """Make the decision at an infoset, by its number, if it is not made yet; errors as :meth:`act`."""
        steps = self._started().steps
        step: int | None = int(self._step_of[infoset])
        waiting: list[int] = []
        while step is not None and step >= 0 and step not in self._answers:
            waiting.append(step)
            step = steps[step].before
        for number in reversed(waiting):
            self._solve(number)

    def strategy(self) -> Strategy:
        """Return what the agent plays everywhere, as one strategy, after it has made the decisions that are left."""
        for number in range(self.num_steps):  # a step comes after the one that it goes on from
            if number not in self._answers:
                self._solve(number)
        return Strategy(self.problem.game, self.player, self._behaviour())

    def certificate(self) -> Certificate:
        """Return what :meth:`strategy` gains and can lose, exactly, and what is proven of each of its decisions."""
        if self.problem.game_value is None:
            self.problem = with_game_value(self.problem)
        own, model = self.strategy(), self.problem.opponent
        profile = Profile([own, model] if self.player == 0 else [model, own])
        run = self._started()
        answers = [self._answers[number] for number in range(len(run.steps))]
        evidence = self.problem.dual_certificate(answers, run.plan, self._equilibrium)
        return restored(self.problem, self.problem.certify(profile, None, evidence))

    def _forget(self) -> None:
        self._run: ResolvingRun | None = None
        self._answers: dict[int, StepAnswer] = {}
        self._decisions: list[Decision] = []
        self._kept: Floats | None = None

    def _started(self) -> ResolvingRun:
        if self._run is None:
            if self.problem.needs_equilibrium and self._equilibrium is None:
                self._equilibrium = equilibrium_of(self.problem)
            self._run = self.problem.start(self._equilibrium)
            # Which step decides at each infoset; none where an equilibrium strategy is kept to.
            self._step_of = np.full(self.problem.view().own.num_infosets, -1, dtype=np.int32)
            for number, step in enumerate(self._run.steps):
                self._step_of[step.decided] = number
        return self._run

    def _behaviour(self) -> Floats:
        """Return the behaviour that is decided so far, uniform elsewhere."""
        if self._kept is None:
            run = self._started()
            if self.problem.needs_equilibrium:
                self._kept = run.view.own.behaviour(self.problem.response(run.plan, self._equilibrium))
            else:
                self._kept = run.behaviour.copy()
        return self._kept

    def _solve(self, number: int) -> None:
        """Make one decision; the one that it goes on from has been made."""
        run = self._started()
        step = run.steps[number]
        if isinstance(self.method, RegretMethod):
            compile_loop()
        begun = counted_now()
        program = run.program(number)
        iterations, warm = 0, False
        if run.goes_on(number):
            assert step.before is not None
            answer = self._answers[step.before]
        else:
            answer, iterations, warm = self._answer(number, program)
        seconds = counted_now() - begun
        gap = max(0.0, program.gap(answer))
        self._keep(number, program, answer)
        self._decisions.append(
            Decision(number, step.level, tuple(step.states.tolist()), seconds, iterations, gap, warm)
        )

    def _answer(self, number: int, program: StepProgram) -> tuple[StepAnswer, int, bool]:
        """Return the answer of a step, the iterations that it took, and whether the solver had a basis before."""
        run = self._started()
        warm = isinstance(self._solver, ProgramStepSolver)
        if self._solver is None:
            self._solver = self._new_solver()
        solver = self._solver
        solver.stopped, done = Status.CONVERGED, solver.iterations
        answer = solver.solve_step(run, number, program, self._options)
        if solver.stopped is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if answer is None:
            raise SolverError(
                f"{self.problem.name}: no decision was found at level {run.steps[number].level} within the limits: "
                f"{solver.said(0, 1)}"
            )
        return answer, solver.iterations - done, warm

    def _new_solver(self) -> RegretStepSolver | ProgramStepSolver:
        view, method = self.problem.view(), self.method
        if isinstance(method, DepthLimitedCFR):
            return ValueStepSolver(method, view, method.fresh_value())
        if isinstance(method, RegretMethod):
            return RegretStepSolver(method, view)
        assert isinstance(method, DepthLimitedLP)
        return ProgramStepSolver.of(method, self.problem.game)

    def _keep(self, number: int, program: StepProgram, answer: StepAnswer) -> None:
        needed = 8 * (len(answer.plan) + len(answer.reply)) * (len(self._answers) + 1)
        Budget().require(needed, f"an agent's memory of {len(self._answers) + 1:,} decisions")
        self._answers[number] = answer
        self._started().decide(number, program, answer)
        self._kept = None
