"""The optimum of a problem as an exact function of a constraint's bound, without a grid."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from numbers import Real
from typing import Any

import numpy as np

from ...models.problems import SaddleProblem, restored
from ...models.saddle import Saddle, linear_program, read_solution
from ...seqform.arrays import Floats
from ...seqform.checks import check_number, explained
from ...seqform.display import Displayed, Drawn
from ...seqform.errors import InvalidConstraintError, InvalidOptionError, SolverError, UnsupportedProblemError, shown
from ...seqform.interchange.encoding import json_ready
from ...seqform.interchange.page import Content, emphasis, prose, sheet_blocks
from ...seqform.interchange.page import figure as drawn
from ...seqform.interchange.pictures import COLOURS, Figure, cut, dot_size, panels
from ...seqform.sheet import Column, Sheet, Table, error, payoff, price
from ..outcome import nearest_profile
from ..solve import with_game_value
from .envelope import Line, find_envelope
from .program import Optimum, ParametricProgram

# Pieces whose values differ by less than this fraction of the largest payoff are equal.
_SAME = 1e-9
# Prices that differ by a larger factor are drawn on a logarithmic axis.
_STEEP = 100.0
# If the program fails at an end of the feasible bounds, it is solved this fraction of the interval further inside.
_INSIDE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ParametricValue(Drawn, Displayed):
    """The optimal objective of a problem as a function of one constraint's bound.

    The function is piecewise linear: concave if the bound is on plans of the player who maximises the objective, convex
    if it is on plans of the player who minimises it.

    Attributes
    ----------
    name : str
        The name of the constraint.
    lower, upper : float
        The ends of the requested interval.
    feasible : tuple of float
        The smallest and the largest bound from `lower` to `upper` for which the constraints can be met.
    breakpoints : ndarray of float64, shape (k − 1,)
        Bounds at which the slope changes, ascending.
    slopes : ndarray of float64, shape (k,)
        The derivative of the objective with respect to the bound on each piece.
    values : ndarray of float64, shape (k + 1,)
        The optimum at :attr:`knots`.
    gap : float
        The largest possible distance of the optimum from this function, for any feasible bound, if plans meet the
        constraints. Plans and multipliers prove it at the knots, and convexity proves it in between.
    violation : float
        The largest violation of a constraint by the plans that prove it.
    solves : int
        The number of linear programs solved.
    player : int
        The player whose plan is constrained.
    payee : int
        The player who receives the objective.
    title : str
        The problem and the game.
    """

    name: str
    lower: float
    upper: float
    feasible: tuple[float, float]
    breakpoints: Floats
    slopes: Floats
    values: Floats
    gap: float
    violation: float
    solves: int
    player: int = 0
    payee: int = 0
    title: str = ""
    _infeasible_value: float = field(default=-math.inf, repr=False)

    def _html_blocks(self) -> Iterator[Content]:
        yield prose(emphasis(f"Optimum by bound of {self.name}"), f", proven within {error(self.gap)}")
        yield drawn(self.figure)
        yield from sheet_blocks(Sheet([], [self.table]), "the arrays knots, values and prices contain all")

    @property
    def pieces(self) -> Table:
        """The optimum at both ends of each piece, its slope and its price."""
        columns = [Column(key, payoff) for key in ("from", "to", "objective_from", "objective_to")]
        columns += [Column("slope", price), Column("price", price)]
        worth = zip(self.slopes.tolist(), self.prices.tolist(), strict=True)
        numbers = zip(pairwise(self.knots.tolist()), pairwise(self.values.tolist()), worth, strict=True)
        title = (
            f"objective, paid to player {self.payee}, as a function of the bound of {self.name}; price: what "
            f"loosening the bound by one unit earns player {self.player}; proven within {error(self.gap)}"
        )
        return Table(columns, [tuple(chain(*parts)) for parts in numbers], title)

    @property
    def table(self) -> Table:
        """The pieces without their slopes, because the absolute values of slopes are the prices."""
        return self.pieces.without("slope")

    def to_dict(self) -> dict[str, Any]:
        """Return the function in the JSON form of ``treeplex solve``: pieces with the optimum at both ends."""
        return json_ready(  # type: ignore[no-any-return]
            {
                "constraint": self.name,
                "player": self.player,
                "lower": self.lower,
                "upper": self.upper,
                "feasible": list(self.feasible),
                "pieces": self.pieces.records,
                "gap": self.gap,
                "violation": self.violation,
            }
        )

    @property
    def prices(self) -> Floats:
        """The gain of the constrained player per unit of loosening, for each piece: the multipliers.

        The prices have shape (k,) and are the absolute values of :attr:`slopes`.
        """
        return np.abs(self.slopes)

    @property
    def knots(self) -> Floats:
        """The breakpoints between the ends of the feasible bounds, shape (k + 1,)."""
        return np.concatenate([self.feasible[:1], self.breakpoints, self.feasible[1:]])

    def is_feasible(self, bound: float) -> bool:
        """Return whether the constraints can be met at a given bound.

        Raises
        ------
        InvalidConstraintError
            If the bound is not between `lower` and `upper`.
        """
        if not isinstance(bound, Real) or not self.lower <= bound <= self.upper:
            raise InvalidConstraintError(
                f"the bound of {shown(self.name)} is {shown(bound)}, expected a number from {self.lower:g} to "
                f"{self.upper:g}, the range of this value function"
            )
        return self.feasible[0] <= bound <= self.feasible[1]

    def at(self, bound: float) -> float:
        """Return the optimum at a bound; if it is infeasible, −∞ for a maximising player and ∞ for a minimising one.

        Raises
        ------
        InvalidConstraintError
            If the bound is not between `lower` and `upper`.
        """
        return float(np.interp(bound, self.knots, self.values)) if self.is_feasible(bound) else self._infeasible_value

    def price(self, bound: float) -> float:
        """Return the price at a bound (at a breakpoint, the price to its right); NaN if the bound is infeasible.

        Raises
        ------
        InvalidConstraintError
            If the bound is not between `lower` and `upper`.
        """
        if not self.is_feasible(bound):
            return math.nan
        return float(self.prices[np.searchsorted(self.breakpoints, bound, side="right")])

    def figure(self) -> "Figure":
        """Draw the function with its breakpoints, and the price below it; infeasible bounds are shaded.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        figure, (values, prices) = panels(2, 1, (5.6, 5.0), sharex=True, height_ratios=(3, 2))
        size = dot_size(len(self.values))
        values.plot(self.knots, self.values, "o-", color=COLOURS["blue"], markersize=size, linewidth=1.4, clip_on=False)
        values.set(ylabel=f"paid to player {self.payee}, payoff units", xlim=(self.lower, self.upper))
        values.set_title(cut(self.title, 70), loc="left", fontsize=9, parse_math=False)
        prices.stairs(self.prices, self.knots, baseline=None, color=COLOURS["red"], linewidth=1.6)
        prices.set_xlabel(f"bound of {cut(self.name, 60)}, on player {self.player}", parse_math=False)
        prices.set_ylabel(f"price: gain of player {self.player}\nper unit of loosening, payoff units", fontsize=9)
        sizes = self.prices[self.prices > 0.0]
        if len(sizes) and sizes.max() > _STEEP * sizes.min():
            prices.set_yscale("symlog", linthresh=float(sizes.min()))
        prices.margins(y=0.1)
        first, last = self.feasible
        for start, end in ((self.lower, first), (last, self.upper)):
            if end > start:
                for axes in (values, prices):
                    axes.axvspan(start, end, color=COLOURS["pale"], linewidth=0)
                values.annotate(
                    "infeasible",
                    ((start + end) / 2, 0.5),
                    xycoords=("data", "axes fraction"),
                    ha="center",
                    va="center",
                    rotation=90,
                    color=COLOURS["slate"],
                )
        return figure

    def __repr__(self) -> str:
        return (
            f"ParametricValue({self.name!r}, {self.lower:g} to {self.upper:g}, {len(self.prices)} pieces, "
            f"gap={self.gap:.3g})"
        )


@explained
def parametric_value(problem: Any, name: str, lower: float, upper: float, *, accuracy: float = 0.0) -> ParametricValue:
    """Return the optimal objective of a problem as a function of one constraint's bound.

    Parameters
    ----------
    problem : ConstrainedNash or EpsilonSafeResponse
        One of these, or any problem with a linear program, ``with_bound(name, bound)``, and multipliers by constraint.
    name : str
        The constraint: ``safety`` for :class:`~treeplex.EpsilonSafeResponse`, whose bound is ε.
    lower, upper : float
        The ends of the requested interval, ``lower < upper``. The constraint's own bound in `problem` is ignored.
        Pieces at the ends that are shorter than 1e-9 of the interval are not found; ``gap`` includes the resulting
        error.
    accuracy : float
        The allowed distance of the function from the optimum, in payoff units. With 0 all pieces are found. On flow
        polytopes there may be very many; a larger number finds fewer.

    Returns
    -------
    ParametricValue

    Raises
    ------
    InvalidConstraintError
        If there is no such constraint, `lower` and `upper` are not an interval, or no bound between them is feasible.
    UnsupportedProblemError
        If the problem has no bounds to move, or no linear program, or does not depend on the bound linearly.
    SolverError
        If HiGHS finds no optimum of one of the programs.
    InvalidOptionError
        If the accuracy is negative or not a number.

    Notes
    -----
    From the seat of the player whose plans it bounds, the bound h enters the right-hand side of the linear program. The
    optimum is then concave and piecewise linear in h, or convex if that player minimises. Plans y and a multiplier λ
    that are optimal for one h prove a bound on the optimum for every h by weak duality; the bound is linear in h with
    slope λ, and tight where they are optimal. :func:`~treeplex.solvers.parametric.envelope.find_envelope` finds all
    pieces from such lines. The lines are the ``upper`` (or ``lower``) of the problem's own certificate. The other side
    of the certificate at each breakpoint proves that the function is exact. Only plans and multipliers are read from
    the solver. See E. Gal, "Postoptimal Analyses, Parametric Programming, and Related Topics", 2nd edition, de Gruyter
    1995, chapter 3.

    Examples
    --------
    The cost of safety in Kuhn poker, against an opponent who plays uniformly:

    >>> from treeplex import EpsilonSafeResponse, Strategy, load_game, parametric_value
    >>> game = load_game("kuhn")
    >>> problem = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0)
    >>> function = parametric_value(problem, "safety", 0, 0.5)
    >>> function.breakpoints.round(6), function.prices.round(6) + 0.0
    (array([0.055556, 0.277778]), array([4. , 0.5, 0. ]))
    >>> function.values.round(6), round(function.at(0.1), 6), round(function.price(0.1), 6)
    (array([0.166667, 0.388889, 0.5     , 0.5     ]), 0.411111, 0.5)
    """
    if not isinstance(problem, SaddleProblem):
        raise UnsupportedProblemError(
            f"expected a problem with constraints, such as ConstrainedNash or EpsilonSafeResponse, got {shown(problem)}"
        )
    lower, upper = (
        check_number(number, what, InvalidConstraintError) for what, number in (("lower", lower), ("upper", upper))
    )
    if not lower < upper:
        raise InvalidConstraintError(f"the bounds are {lower!r} to {upper!r}, expected the lower one first")
    accuracy = check_number(accuracy, "accuracy", InvalidOptionError, "[0, inf]")
    if problem.needs_game_value and problem.game_value is None:
        problem = with_game_value(problem)
    return _Bounds(problem, name, lower, upper).function(accuracy)


@dataclass(frozen=True, eq=False)
class _Proof:
    """The result of the certificate at one bound.

    Attributes
    ----------
    price : float
        The slope of the line.
    other_side : float
        The bound on the optimum at this point from the other side of the line.
    violation : float
        The violation of constraints by the plans.
    """

    price: float
    other_side: float
    violation: float


class _Bounds:
    """A problem with a constraint whose bound varies."""

    def __init__(self, problem: Any, name: str, lower: float, upper: float) -> None:
        self.problem, self.name, self.lower, self.upper = problem, name, lower, upper
        # Posed from the seat of the constrained player, so that the bound is on the right-hand side.
        self.of_other = any(one.name == name for one in problem.canonical.other_rows.constraints)
        first, last = (linear_program(self.posed(bound)[1]) for bound in (lower, upper))
        self.program = ParametricProgram(first, last, lower, upper)
        self.concave = problem.canonical.maximises != self.of_other

    def posed(self, bound: float) -> tuple[SaddleProblem, Saddle]:
        """Return the problem with a bound, and the program that is solved for it."""
        problem = self.problem.with_bound(self.name, bound)
        return problem, problem.canonical.swapped if self.of_other else problem.canonical

    def function(self, accuracy: float) -> ParametricValue:
        self.feasible = self.feasible_bounds()
        scale = self.problem.game.stakes
        found = find_envelope(self.line, *self.feasible, _SAME * scale, accuracy)
        knots = found.knots.tolist()
        values = [found.value(knot) for knot in knots]
        payee = self.problem.player or 0
        owner = next((each.player for each in self.problem.constraints if each.name == self.name), payee)
        return ParametricValue(
            name=self.name,
            lower=self.lower,
            upper=self.upper,
            feasible=self.feasible,
            breakpoints=found.breakpoints,
            slopes=np.array([piece.payload.price for piece in found.pieces]),
            values=np.array(values),
            # The distance of the optimum from the function that the certificates at the knots allow.
            gap=max(
                0.0,
                *(abs(value - line.payload.other_side) for value, line in zip(values, found.touching, strict=True)),
            ),
            violation=max(line.payload.violation for line in found.touching),
            solves=found.solves,
            player=owner,
            payee=payee,
            title=f"{self.problem.name} on {self.problem.game.spec}",
            _infeasible_value=-math.inf if self.concave else math.inf,
        )

    def feasible_bounds(self) -> tuple[float, float]:
        for end in (self.lower, self.upper):
            try:
                self.program.solve(end)
            except SolverError:
                break
        else:
            return self.lower, self.upper
        found = self.program.feasible()
        if found is None:
            raise InvalidConstraintError(
                f"constraint {shown(self.name)} cannot be met together with the others for any bound "
                f"from {self.lower:g} to {self.upper:g}"
            )
        return found

    def line(self, bound: float) -> Line[_Proof]:
        """Return the line that plans and multipliers for one bound prove for every bound."""
        problem, saddle = self.posed(bound)
        optimum = self.optimum(bound)
        answer = read_solution(saddle, optimum.primal, optimum.dual)
        profile = nearest_profile(problem.game, answer.plans)
        certificate = restored(problem, problem.certify(profile, answer.multipliers, answer.dual_certificate))
        if self.name not in answer.multipliers:
            raise UnsupportedProblemError(
                f"{problem.name} has no multiplier for {shown(self.name)}, which its value function needs"
            )
        slope = -optimum.slope if self.of_other else optimum.slope
        price = math.copysign(max(0.0, answer.multipliers[self.name]), slope) + 0.0
        assert certificate.lower is not None
        assert certificate.upper is not None
        value, other_side = certificate.lower, certificate.upper
        if self.concave:
            value, other_side = other_side, value
        first, last = self.feasible
        proof = _Proof(price, other_side, certificate.violation)
        return Line(value + price * (first - bound), value + price * (last - bound), proof)

    def optimum(self, bound: float) -> Optimum:
        try:
            return self.program.solve(bound)
        except SolverError:
            # The end of the feasible bounds is known only up to the solver's tolerance.
            first, last = self.feasible
            inside = _INSIDE * (self.upper - self.lower)
            if (first, last) == (self.lower, self.upper) or first + inside < bound < last - inside:
                raise
            return self.program.solve(min(bound + inside, last) if bound <= first + inside else bound - inside)
