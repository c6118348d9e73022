"""The result of a solve: strategies, the bounds that they prove, and how they were found."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..models.problems import Certificate, Problem
from ..seqform.arrays import Floats
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

#: The amount by which round-off may make bounds cross, relative to the largest payoff or bound.
CROSSED = 1e-9


class RunState:
    """The state that a method keeps of a run, to resume it and to report on it."""

    @property
    def remark(self) -> str:
        """An addition to the message of the solution."""
        return ""

    @property
    def multiplier_bound(self) -> float | None:
        """The final bound on the multipliers; see :attr:`Solution.multiplier_bound`."""
        return None

    @property
    def value_errors(self) -> tuple[float, ...] | None:
        """The mean error of each step's queries, NaN if not measured; see :attr:`Solution.value_errors`."""
        return None

    def preference_record(self, solution: "Solution") -> dict[str, Any] | None:
        """Return the JSON entry about the method's preferences; ``None`` if it has none."""
        return None


def _uncrossed(certificate: Certificate, problem: Problem) -> Certificate:
    """Return a certificate with its bounds uncrossed if only round-off makes them cross.

    Raises
    ------
    SolverError
        If they cross by more than round-off, because then one of them is wrong.
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

    Every bound is recomputed from the strategies by best responses; no bound is taken from the solver. A result whose
    certificate fails is ``uncertified``, whatever the solver reports.

    Attributes
    ----------
    problem : Problem
    method : object
        The method's frozen hyper-parameters.
    profile : Profile
    status : Status
    message : str
        The meaning of the status in this case, in one line.
    certificate : Certificate
    tolerance : float
        The tolerance that determined the status.
    iterations : int
        The method's iterations: updates of both players, or simplex or interior-point iterations.
    seconds : float
        The time of the solve alone, without importing, compiling and building.
    build_seconds : float
        The time spent on building the game, whenever that was, and the method's own data.
    history : History
    multipliers : mapping of str to float
        By constraint, at least 0: the gain of the constraint's player per unit by which only f(x) ≤ 0 is loosened. For
        constraints without an entry in `prices`, it is one of several possible multipliers, or an estimate.
    prices : mapping of str to Price
        By constraint: the gain from loosening it and the cost of tightening it, if an exact method found both.
    dual_multipliers : mapping of str to float
        Multipliers that together prove the bounds, for :meth:`~treeplex.models.problems.Problem.certify`. The
        `multipliers` also prove bounds, but looser ones if prices are not unique, because each is the smallest possible
        multiplier of its constraint.
    dual_certificate : mapping of str to ndarray
        For a depth-limited response, the plans and replies that prove the bounds of its steps, for the same method;
        empty for other solutions.
    state : object
        The method's state for ``solve(…, start=solution)``; ``None`` if it cannot be resumed.
    exact : ExactAnswer, optional
        The answer in exact fractions, by the method ``rational``; then ``value`` is a ``Fraction``.
    infeasibility : Infeasibility, optional
        Why the constraints cannot be met, if the status is ``infeasible``. The profile is then the one that is closest
        to meeting them, and there is no value.
    time : mapping of str to float
        The seconds of the call of ``solve`` by part: ``loading``, ``compiling``, ``building``, ``solving``,
        ``certifying`` and ``writing``, and second questions by name, such as ``game_value``. Their sum is the total.

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
    dual_certificate: Mapping[str, Floats] = field(default_factory=dict, kw_only=True, repr=False)
    state: Any = field(default=None, repr=False)
    exact: ExactAnswer | None = None
    infeasibility: Infeasibility | None = None
    time: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "certificate", _uncrossed(self.certificate, self.problem))

    @property
    def objective(self) -> float | None:
        """The value of the problem's objective at these strategies."""
        return self.certificate.objective

    @property
    def value(self) -> Any:
        """Player 0's expected payoff, or a tuple of all players' payoffs if they are not opposite.

        ``None`` if infeasible. A ``Fraction`` if the answer is exact, otherwise a float.
        """
        if self.infeasibility is not None:
            return None
        proven = self.certificate if self.exact is None or self.exact.value is None else self.exact.certificate
        value = proven.value
        return value[0] if len(value) in (1, 2) and proven.regrets is None else value

    @property
    def values(self) -> tuple[Any, ...] | None:
        """All players' expected payoffs, player 0's first; ``None`` if infeasible. Fractions if they are exact.

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

        For a response in steps, it covers only strategies that agree with its decisions before the last step.
        """
        return self.certificate.upper

    @property
    def gap(self) -> float | None:
        """Upper bound minus lower bound."""
        return self.certificate.gap

    @property
    def exploitability(self) -> float:
        """For a profile, NashConv divided by the number of players; for one strategy, its largest loss of game value.

        For a commitment, the follower's possible gain from its best reply.
        """
        return self.certificate.exploitability

    @property
    def regrets(self) -> tuple[float, ...] | None:
        """The gain from each player's best response; ε is the largest.

        Available only for :class:`~treeplex.EpsilonNash`; ``None`` if payoffs sum to zero.
        """
        return self.certificate.regrets

    @property
    def player(self) -> int | None:
        """The player whose strategy the problem asks for; ``None`` for a profile."""
        return self.certificate.player

    @property
    def strategy(self) -> Strategy:
        """The strategy that the problem asks for.

        Raises
        ------
        UnsupportedProblemError
            If the problem asks for a profile.
        """
        if self.player is None:
            raise UnsupportedProblemError(f"{self.problem.name} concerns all players: use solution.profile")
        return self.profile[self.player]

    @property
    def gain(self) -> float | None:
        """The strategy's payoff against the model of the opponent minus the value of the game."""
        return self.certificate.gain

    @property
    def opponent_value(self) -> float | None:
        """The strategy's payoff against the model of the opponent."""
        return self.certificate.opponent_value

    @property
    def game_value(self) -> float | None:
        """The value of the game to the responding player."""
        return self.certificate.game_value

    @property
    def steps(self) -> tuple[float, ...] | None:
        """For a depth-limited response, the value of each step's plan in that step; ``None`` for other answers.

        ``certificate.steps`` also has their levels and upper bounds.
        """
        steps = self.certificate.steps
        return tuple(step.objective for step in steps) if steps else None

    @property
    def safety_bound(self) -> float | None:
        """The bound on exploitability from the gain and proven gaps: (p gain + gaps) / (1 − p).

        It exists for restricted Nash responses, :class:`~treeplex.CDRNR` and :class:`~treeplex.SES`, where it also
        depends on the distance of the model's reach from the equilibrium's; ``None`` if there is no such bound.
        """
        return self.problem.safety_bound(self.certificate, self.dual_certificate)

    @property
    def slack(self) -> float | None:
        """The round-off allowance by which a best equilibrium strategy may guarantee less than the value of the game.

        Available only for ``BestNash``; see there.
        """
        slack = self.problem.slack
        return None if slack is None else float(slack)

    @property
    def multiplier_bound(self) -> float | None:
        """The final bound on the multipliers, if the method found a bound by doubling; see ``CCFR``."""
        return self.kept.multiplier_bound

    @property
    def value_errors(self) -> tuple[float | None, ...] | None:
        """The mean error of the queries of each step, if a value function was used; see ``DepthLimitedCFR``.

        Payoff units; ``None`` for a step whose errors the value function did not measure, 0 for a step without queries.
        """
        errors = self.kept.value_errors
        return None if errors is None else tuple(None if math.isnan(error) else float(error) for error in errors)

    @property
    def kept(self) -> RunState:
        """The state that the method keeps of its run."""
        return self.state if isinstance(self.state, RunState) else RunState()

    @property
    def violation(self) -> float:
        """The largest violation of a constraint, 0 if there is none."""
        return self.certificate.violation

    def price_text(self, name: str, text: Callable[[float], str]) -> str:
        """Return the price of a constraint as a string, noting whether it is only a multiplier.

        Parameters
        ----------
        name : str
            The constraint's name.
        text : callable
            Formats a number.
        """
        price, multiplier = self.prices.get(name), self.multipliers.get(name, 0.0)
        if price is None:
            return f"{text(multiplier)}, a multiplier, which may not be unique" if multiplier else text(multiplier)
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
        """Return the rows that ``print`` shows, as pairs of name and text."""
        from .answers import solution_sheet

        return [(row.name, row.text) for row in solution_sheet(self).rows]

    @property
    def time_in_words(self) -> str:
        """The seconds by part, in one line."""
        return seconds_in_words(self.time or {"building": self.build_seconds, "solving": self.seconds})

    def to_dict(self) -> dict[str, Any]:
        """Return the solution as plain numbers and strings, ready for JSON.

        Returns
        -------
        dict
            Values that were not computed are ``None``; NaN and infinity never appear.
        """
        from .answers import record_of

        return record_of(self)

    def report(self, *, again: str = "", explore: bool | None = None) -> "Page":
        """Return a page that explains the solution: the answer, its proof, prices, strategies and alternatives.

        Parameters
        ----------
        again : str
            The command that reproduces the solution; by default Python code.
        explore : bool, optional
            Whether to solve for other values of p, ε or a bound too, and show them with a slider; by default only for
            small games.

        Returns
        -------
        Page
            Notebooks display it; ``report().save("report.html")`` writes one self-contained file.

        Examples
        --------
        >>> from treeplex import Nash, load_game, solve
        >>> solve(Nash(load_game("kuhn"))).report()
        Page('nash on kuhn')
        """
        from .. import solvers  # lazy names avoid a circular import: the page's module solves more problems

        return solvers.solution_page(self, again, explore)

    def figure(self, *shown: str) -> "Figure":
        """Draw the solution in one or more panels.

        Parameters
        ----------
        *shown : str
            The panels. ``convergence``: the error over the run of an iterative method. ``frontier``: a response's gain
            against the model and its possible loss, with the proven limit on the gain of any strategy. ``prices``: the
            prices of constraints, or their violations if they cannot be met. ``strategy``: how often each action is
            taken. By default those of the first three that the solution has, or else the last.

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
    """Return the strategies of a start, which must be a solution or a profile of the game.

    Raises
    ------
    InvalidStrategyError
    """
    profile = start.profile if isinstance(start, Solution) else start
    if not isinstance(profile, Profile):
        raise InvalidStrategyError(f"start is {shown(start)}, expected a Profile or a Solution")
    check_same_game(profile[0], game)
    return profile
