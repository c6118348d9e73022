"""The one result type: strategies, bounds that they prove, and how they were found."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..models.problems import Certificate, Problem
from ..seqform.checks import hinting
from ..seqform.display import Displayed, Drawn
from ..seqform.errors import InvalidStrategyError, SolverError, UnsupportedProblemError, shown
from ..seqform.game import Game
from ..seqform.number_texts import seconds_in_words
from ..seqform.rationals import SHOWN_DIGITS, fraction_text
from ..seqform.strategy import Profile, Strategy, check_same_game
from .answer_parts import ExactAnswer, Infeasibility, Price
from .outcome import History, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..seqform.interchange.page import Page

#: By how much of the largest payoff, or of a bound, bounds may cross by round-off.
CROSSED = 1e-9


class RunState:
    """What a method keeps of a run: to go on where it stopped, and to report on it."""

    @property
    def remark(self) -> str:
        """What the message of the solution says of it besides."""
        return ""

    @property
    def multiplier_bound(self) -> float | None:
        """What the multipliers were bounded by at the end; see :attr:`Solution.multiplier_bound`."""
        return None

    @property
    def value_errors(self) -> tuple[float, ...] | None:
        """The mean error of each step's queries, NaN where it was not measured; see :attr:`Solution.value_errors`."""
        return None

    def preference_record(self, solution: "Solution") -> dict[str, Any] | None:
        """Return what the JSON of a solution says of its method's preferences; ``None`` if it has none."""
        return None


def _uncrossed(certificate: Certificate, problem: Problem) -> Certificate:
    """Return a certificate whose lower bound is not above the upper one, not even by round-off.

    Raises
    ------
    SolverError
        If they cross by more than that: then one of them is wrong.
    """
    lower, upper = certificate.lower, certificate.upper
    if lower is None or upper is None or lower <= upper:
        return certificate
    size = max(problem.game.payoff_scale, problem.unit, abs(lower), abs(upper))
    if lower - upper > CROSSED * size:
        raise SolverError(
            f"the bounds of {problem.name} on {problem.game.spec} cross: lower {lower:.10g}, upper {upper:.10g}; "
            "this is a bug in treeplex"
        )
    middle = (lower + upper) / 2
    return dataclasses.replace(certificate, lower=middle, upper=middle)


@hinting("treeplex.solvers.other_names:OF_SOLUTIONS")
@dataclass(frozen=True, eq=False, repr=False)
class Solution(Drawn, Displayed):
    """Strategies with the bounds that they prove.

    Every bound is recomputed from the strategies by best responses; none is read back from the solver. A result whose
    certificate fails is ``uncertified``, whatever the solver said.

    Attributes
    ----------
    problem : Problem
    method : object
        The method's frozen hyper-parameters.
    profile : Profile
    status : Status
    message : str
        What the status means here, in one line.
    certificate : Certificate
    tolerance : float
        What the status was judged by.
    iterations : int
        Of the method: updates of both players, or simplex or interior-point iterations.
    seconds : float
        The solve alone, without importing, compiling and building.
    build_seconds : float
        Building the game, whenever that was done, and what the method makes of it.
    history : History
    multipliers : mapping of str to float
        By constraint, at least 0: what the constraint's own player gains per unit by which f(x) ≤ 0 alone is loosened.
        Of constraints without an entry in `prices` it is one of several possible multipliers, or an estimate.
    prices : mapping of str to Price
        By constraint, what loosening it earns and what tightening it costs, where an exact method found both.
    dual_multipliers : mapping of str to float
        Multipliers that prove the bounds together, for :meth:`~treeplex.models.problems.Problem.certify`. Those of
        `multipliers` prove bounds too, but looser ones where prices are not unique: each is the least that its own
        constraint can have.
    state : object
        What the method needs to go on where it stopped, for ``solve(…, start=solution)``; ``None`` if it cannot.
    exact : ExactAnswer, optional
        The same in exact fractions, by the method ``rational``; then ``value`` is a ``Fraction``.
    infeasibility : Infeasibility, optional
        Why constraints cannot be met, if the status is ``infeasible``: then the profile is the one that comes nearest,
        and there is no value.
    time : mapping of str to float
        Where the seconds of the call of ``solve`` went: ``loading``, ``compiling``, ``building``, ``solving``,
        ``certifying`` and ``writing``, and under names of their own second questions, such as ``game_value``. They sum
        to what the clock says.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")))
    >>> solution.status.is_success, solution.lower <= -1 / 18 <= solution.upper
    (True, True)
    >>> round(solution.value, 6), round(solution.profile[1]["J_p"]["b"], 6)
    (-0.055556, 0.333333)
    """

    shown_by = "treeplex.solvers.display:solution_blocks"
    drawn_by = "treeplex.solvers.pictures:solution_figure"

    problem: Problem
    method: Any
    profile: Profile
    status: Status
    message: str
    certificate: Certificate
    tolerance: float
    iterations: int
    seconds: float
    build_seconds: float
    history: History = field(default_factory=History.empty)
    multipliers: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict, kw_only=True)
    dual_multipliers: Mapping[str, float] = field(default_factory=dict, kw_only=True, repr=False)
    state: Any = field(default=None, repr=False)
    exact: ExactAnswer | None = None
    infeasibility: Infeasibility | None = None
    time: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "certificate", _uncrossed(self.certificate, self.problem))

    @property
    def objective(self) -> float | None:
        """What the problem optimises, at these strategies."""
        return self.certificate.objective

    @property
    def value(self) -> Any:
        """Player 0's expected payoff, or a tuple of all payoffs where they are not the opposite of each other.

        ``None`` if infeasible. A ``Fraction`` where the answer is exact, a float otherwise.
        """
        if self.infeasibility is not None:
            return None
        if self.exact is not None and self.exact.value is not None:
            return self.exact.value
        value = self.certificate.value
        return value[0] if len(value) in (1, 2) and self.certificate.regrets is None else value

    @property
    def values(self) -> tuple[Any, ...] | None:
        """Every player's expected payoff, player 0's first; ``None`` if infeasible. Fractions where they are exact.

        Examples
        --------
        >>> from treeplex import Game, Nash, SequenceForm, solve
        >>> shares = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[7, 4], [4, 6]], [[3, 6], [6, 4]]))
        >>> solve(Nash(shares), "rational").values
        (Fraction(26, 5), Fraction(24, 5))
        """
        if self.infeasibility is not None:
            return None
        exact = () if self.exact is None else self.exact.certificate.value
        return tuple(exact or self.certificate.value)

    @property
    def lower(self) -> float | None:
        """Proven lower bound on the optimal objective; see :attr:`upper`."""
        return self.certificate.lower

    @property
    def upper(self) -> float | None:
        """Proven upper bound on the optimal objective.

        Of a response in steps: among the strategies that agree with its decisions before the last step.
        """
        return self.certificate.upper

    @property
    def gap(self) -> float | None:
        """Upper bound minus lower bound."""
        return self.certificate.gap

    @property
    def exploitability(self) -> float:
        """Of a profile, NashConv divided by the number of players; of one strategy, what it may lose of the value.

        Of a commitment, what the follower's best reply would earn it more.
        """
        return self.certificate.exploitability

    @property
    def regrets(self) -> tuple[float, ...] | None:
        """What each player's best response would gain; ε is the largest.

        Of :class:`~treeplex.models.problems.EpsilonNash`; ``None`` where payoffs sum to zero.
        """
        return self.certificate.regrets

    @property
    def player(self) -> int | None:
        """Whose strategy was asked for; ``None`` if it was a profile."""
        return self.certificate.player

    @property
    def strategy(self) -> Strategy:
        """The strategy that was asked for.

        Raises
        ------
        UnsupportedProblemError
            If it was a profile.
        """
        if self.player is None:
            raise UnsupportedProblemError(f"{self.problem.name} is about all players: its answer is the profile")
        return self.profile[self.player]

    @property
    def gain(self) -> float | None:
        """What the strategy earns against the model of the opponent beyond the value of the game."""
        return self.certificate.gain

    @property
    def opponent_value(self) -> float | None:
        """What the strategy earns against the model of the opponent."""
        return self.certificate.opponent_value

    @property
    def game_value(self) -> float | None:
        """The value of the game to the player who responds."""
        return self.certificate.game_value

    @property
    def steps(self) -> tuple[float, ...] | None:
        """What each step's plan is worth in the step, of a depth-limited response; ``None`` of any other answer.

        ``certificate.steps`` has their levels and upper bounds too.
        """
        steps = self.certificate.steps
        return tuple(step.objective for step in steps) if steps else None

    @property
    def safety_bound(self) -> float | None:
        """What exploitability is at most by the gain and proven gaps: (p gain + gaps) / (1 − p).

        Of restricted Nash responses and :class:`~treeplex.CDRNR`; ``None`` where there is no such bound.
        """
        return self.problem.safety_bound(self.certificate)

    @property
    def slack(self) -> float | None:
        """How much less than the value of the game a best equilibrium strategy was allowed to guarantee, for round-off.

        Only ``BestNash`` has one; see there.
        """
        slack = self.problem.slack
        return None if slack is None else float(slack)

    @property
    def multiplier_bound(self) -> float | None:
        """What the multipliers were bounded by at the end, where the method found a bound by doubling; see ``CCFR``."""
        return self.kept.multiplier_bound

    @property
    def value_errors(self) -> tuple[float | None, ...] | None:
        """The mean error of the queries of each step, where a value function was asked; see ``DepthLimitedCFR``.

        Payoff units; ``None`` for a step whose errors the value function did not measure, 0 where it was not asked.
        """
        errors = self.kept.value_errors
        return None if errors is None else tuple(None if math.isnan(error) else float(error) for error in errors)

    @property
    def kept(self) -> RunState:
        """What the method keeps of its run."""
        return self.state if isinstance(self.state, RunState) else RunState()

    @property
    def violation(self) -> float:
        """The largest violation of a constraint, 0 if there is none."""
        return self.certificate.violation

    def price_text(self, name: str, text: Callable[[float], str]) -> str:
        """Return the price of a constraint as text, with what is known of it.

        Parameters
        ----------
        name : str
            Of the constraint.
        text : callable
            Writes a number.
        """
        price, multiplier = self.prices.get(name), self.multipliers.get(name, 0.0)
        if price is None:
            return f"{text(multiplier)}, a multiplier, which need not be unique" if multiplier else text(multiplier)
        if price.is_one:
            return text(price.loosening)
        tightening = "not possible" if price.tightening is None else text(price.tightening)
        return f"{text(price.loosening)} (tightening: {tightening})"

    def __repr__(self) -> str:
        value = self.value
        shown_value = fraction_text(value, SHOWN_DIGITS) if isinstance(value, Fraction) else value
        return (
            f"<Solution of {self.problem.name} on {self.problem.game.spec} by {self.method.name}: {self.status}, "
            f"value {shown_value}, exploitability {self.exploitability:.3g}>"
        )

    def __str__(self) -> str:
        from .answers import solution_sheet

        return str(solution_sheet(self))

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows that ``print`` shows: a name and a text for each."""
        from .answers import solution_sheet

        return [(row.name, row.text) for row in solution_sheet(self).rows]

    @property
    def time_in_words(self) -> str:
        """Where the seconds went, in a line."""
        return seconds_in_words(self.time or {"building": self.build_seconds, "solving": self.seconds})

    def to_dict(self) -> dict[str, Any]:
        """Return the solution as plain numbers and strings, ready for JSON.

        Returns
        -------
        dict
            What was not computed is ``None``; NaN and infinity never appear.
        """
        from .answers import record_of

        return record_of(self)

    def report(self, *, again: str = "", explore: bool | None = None) -> "Page":
        """Return a page that explains the solution: the answer, its proof, prices, strategies and what would change it.

        Parameters
        ----------
        again : str
            The command that makes it again; by default Python that does.
        explore : bool, optional
            Whether to solve for other values of p, of ε or of a bound too, and show them by a slider; by default where
            the game is small.

        Returns
        -------
        Page
            Notebooks show it; ``report().save("report.html")`` writes one file that needs no other.

        Examples
        --------
        >>> from treeplex import Nash, load_game, solve
        >>> solve(Nash(load_game("kuhn"))).report()
        Page('nash on kuhn')
        """
        from .. import solvers  # by its lazy names: a page solves for more, so that its module imports this one

        return solvers.solution_page(self, again, explore)

    def figure(self, *shown: str) -> "Figure":
        """Draw the solution, a panel for each thing that there is to see.

        Parameters
        ----------
        *shown : str
            Which panels: ``convergence``, how the error fell while an iterative method ran; ``frontier``, what a
            response gains against the model and what it may lose, with the line above which no strategy is proven to
            lie; ``prices`` of constraints, or how far they are missed if they cannot be met; ``strategy``, how often
            each action is taken. By default those of the first three that there are, and without them the last.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        UnsupportedProblemError
            If the solution has no such panel.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> from treeplex import Nash, load_game, solve
        >>> solution = solve(Nash(load_game("kuhn")), "cfr+")
        >>> solution.plot("kuhn.svg")
        >>> solution.plot("strategies.png", "strategy")
        """
        return self._drawn(self, *shown)

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)


def starting_profile(start: Any, game: Game) -> Profile:
    """Return the strategies of a start, a solution or a profile of a game; refuse anything else.

    Raises
    ------
    InvalidStrategyError
    """
    profile = start.profile if isinstance(start, Solution) else start
    if not isinstance(profile, Profile):
        raise InvalidStrategyError(f"start is {shown(start)}, expected a Profile or a Solution")
    check_same_game(profile[0], game)
    return profile
