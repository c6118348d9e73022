"""An agent that responds to a model of its opponent one decision at a time, during play."""

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
from ...seqform.errors import InvalidOptionError, InvalidStrategyError, SolverError, UnsupportedProblemError, shown
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

#: The default tolerance of a decision by regret minimisation, as a fraction of the range of payoffs.
TOLERANCE = 1e-3
#: The iteration limit of a decision without a tolerance or time budget.
MOST_ITERATIONS = 1_000_000


@dataclass(frozen=True)
class Decision:
    """The record of one of an agent's decisions.

    Attributes
    ----------
    step : int
        The number of the problem's step.
    level : int
        The level of the decision in the public tree.
    states : tuple of int
        The public states that it covers.
    seconds : float
        The time from the step's program to its answer.
    iterations : int
        The iterations of the method; 0 if the answer of the previous step was reused.
    gap : float
        A bound on the gain in the step's objective from a better decision, in payoff units.
    warm : bool
        Whether a linear program started from the previous basis. Regret minimisation starts each step from scratch.
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
        the full gadget the response is as safe as :class:`CDRNR` states. Along ``path`` a decision covers only the
        public state that play has reached; this is less work, and safe only with the gadget ``reach-resolving``.
    method : str or Method
        ``cfr+`` or another method of regret minimisation, or ``lp``.
    seconds : float
        The time limit of each decision, which always completes one round of iterations. Regret minimisation then
        decides by its current strategies; linear programs have no answer before they are solved.
    tolerance : float, optional
        The tolerance for the gap of each decision by regret minimisation, in payoff units. With 0, only the time or
        iteration limit ends a decision. By default, it is a thousandth of the range of payoffs. Linear programs have no
        tolerance.
    max_iterations : int
        The iteration limit of each decision.

    Attributes
    ----------
    decisions : tuple of Decision
        The decisions so far, in order.

    Raises
    ------
    UnsupportedProblemError
        If the problem is not computed in steps, or the method does not solve it.
    InvalidOptionError
        If the method is unknown, or a limit is invalid.

    Notes
    -----
    A step is solved when play first reaches it, after the steps that it depends on, and is remembered: while the model
    stays the same it is solved once. Regret minimisation starts each step with zero regrets, so decisions do not depend
    on the order in which play reaches public states, unless a time budget ends a decision. Linear programs continue
    from the last basis: if plans are equally good, the order may determine which one is chosen. Decisions never change,
    and :meth:`strategy` returns what was and will be played.

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
        self.seconds = check_number(seconds, "seconds", InvalidOptionError, "[0, inf]")
        self.tolerance = check_number(tolerance, "tolerance", InvalidOptionError, "[0, inf]")
        most = check_number(max_iterations, "max_iterations", InvalidOptionError, "[0, inf]")
        self.max_iterations = int(min(most, 2**31 - 1))
        self._options = Options(self.tolerance, self.tolerance, self.max_iterations, self.seconds)
        self.problem, self.method = problem, found
        self._equilibrium: TrunkSolution | None = None
        self._solver: RegretStepSolver | ProgramStepSolver | None = None
        self._forget()

    @property
    def player(self) -> int:
        """The seat of the agent."""
        return self.problem.player

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions since the model was last changed, in order."""
        return tuple(self._decisions)

    @property
    def num_steps(self) -> int:
        """The total number of decisions."""
        return len(self._started().steps)

    def new_game(self, opponent: Strategy | None = None) -> None:
        """Start a new game.

        Parameters
        ----------
        opponent : Strategy, optional
            A new model of the opponent, which discards all decisions. Without it all decisions are kept.

        Raises
        ------
        InvalidStrategyError
            If it is not a strategy of the other player of the game.
        """
        if opponent is not None:
            self.problem = dataclasses.replace(self.problem, opponent=opponent)
            self._forget()

    def act(self, infoset: Hashable) -> dict[Hashable, float]:
        """Return the probability of each action of the agent, making the decision now if necessary.

        Parameters
        ----------
        infoset : hashable
            The infoset's label from the rules.

        Returns
        -------
        dict
            Probabilities by action.

        Raises
        ------
        InvalidStrategyError
            If the agent has no such infoset.
        SolverError
            If a linear program has no answer within the limits.
        """
        own = self.problem.view().own
        number = own.find_infoset(infoset)
        if number is None:
            raise InvalidStrategyError(f"player {self.player} has no infoset {shown(infoset)}")
        self.decide(number)
        first, last = own.offsets[number : number + 2].tolist()
        return dict(zip(own.action_labels[number], self._behaviour()[first:last].tolist(), strict=True))

    def decide(self, infoset: int) -> None:
        """Make the decision at an infoset, given by number, unless it has been made; for errors see :meth:`act`."""
        steps = self._started().steps
        step: int | None = int(self._step_of[infoset])
        waiting: list[int] = []
        while step is not None and step >= 0 and step not in self._answers:
            waiting.append(step)
            step = steps[step].before
        for number in reversed(waiting):
            self._solve(number)

    def strategy(self) -> Strategy:
        """Make all remaining decisions, and return the agent's strategy."""
        for number in range(self.num_steps):  # a step comes after the step that it depends on
            if number not in self._answers:
                self._solve(number)
        return Strategy(self.problem.game, self.player, self._behaviour())

    def certificate(self) -> Certificate:
        """Return the exact gain and possible loss of :meth:`strategy`, and the proven bounds on each decision."""
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
            # The step that decides at each infoset; none where an equilibrium strategy is used.
            self._step_of = np.full(self.problem.view().own.num_infosets, -1, dtype=np.int32)
            for number, step in enumerate(self._run.steps):
                self._step_of[step.decided] = number
        return self._run

    def _behaviour(self) -> Floats:
        """Return the behaviour decided so far, uniform elsewhere."""
        if self._kept is None:
            run = self._started()
            if self.problem.needs_equilibrium:
                self._kept = run.view.own.behaviour(self.problem.response(run.plan, self._equilibrium))
            else:
                self._kept = run.behaviour.copy()
        return self._kept

    def _solve(self, number: int) -> None:
        """Make one decision; the decision that it depends on must have been made."""
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
        """Return the answer of a step, its iterations, and whether the solver started from a basis."""
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
