"""Targets for the variability of payoffs: the mean of a player's worst outcomes, its conditional value at risk."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...models.constraints import LinearConstraint
from ...models.constraints.tokens import parse_number
from ...models.risks import Risk, tail
from ...seqform.arrays import Floats, Integers
from ...seqform.errors import InvalidConstraintError, UnsupportedProblemError, shown
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.labels import listed
from ...seqform.polytope import infoset_maxima, sequence_values
from ...seqform.strategy import Profile, Strategy, check_same_game, checked_player
from .answer import Target, TargetOutcome, read_targets

#: The largest number of distinct payoffs, each of which is a threshold with its own linear program.
MOST_THRESHOLDS = 200
#: The least difference between actions for a preference, relative to the largest: each preference has a cost.
_LEAST_WIDTH = 0.1
_FORM = "cvar@LEVEL >= NUMBER or cvar@LEVEL <= NUMBER, with a level above 0 and at most 1"
_TEXT = re.compile(
    r"\s*(?:(?P<seat>\d+)\s*/\s*)?cvar\b\s*@\s*(?P<level>[^\s<>=@]+)\s*(?P<sense><=|>=)\s*(?P<asked>[^\s<>=]+)"
    r"(?:\s+as\s+(?P<name>\S.*?))?\s*"
)
_BEGINS = re.compile(r"\s*(?:\d+\s*/\s*)?cvar\s*@")


@dataclass(frozen=True, eq=False)
class TailTarget:
    r"""A bound on the mean payoff in the worst fraction α of all games, against given strategies of the others.

    Attributes
    ----------
    name : str
    player : int
    level : float
        α, above 0 and at most 1.
    sense : {"<=", ">="}
    asked : float
        The requested bound, in payoff units.
    game : Game
    weights : ndarray of float64, shape (num_leaves,)
        The probability that chance and the others lead to each leaf; empty before :meth:`against`.

    Notes
    -----
    Let leaf z pay u(z), and let w(z) be the probability that chance and the others lead to it. The plan x reaches it
    with probability w(z) x(σ(z)), and

    .. math:: \mathrm{CVaR}_α(x) = \max_τ \; τ - \frac{1}{α} \sum_z w(z)\, x(σ(z))\, (τ - u(z))^+

    (R. T. Rockafellar and S. Uryasev, "Optimization of conditional value-at-risk", Journal of Risk 2, 2000). Payoffs of
    leaves are fixed, and x changes their probabilities. Each threshold τ therefore gives a function that is linear in
    x. The maximum of these functions is convex, and is attained at one of the payoffs.
    """

    name: str
    player: int
    level: float
    sense: str
    asked: float
    game: Game = field(repr=False)
    weights: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    functional: ClassVar[None] = None

    @property
    def payoffs(self) -> Floats:
        """The payoff of each leaf to the player, shape (num_leaves,)."""
        table = self.game.sequence_form.leaves
        assert table is not None
        payoffs: Floats = table.payoffs[:, self.player].astype(np.float64)
        return payoffs

    @property
    def sequences(self) -> Integers:
        """The player's last sequence before each leaf, shape (num_leaves,)."""
        table = self.game.sequence_form.leaves
        assert table is not None
        return table.sequences[:, self.player]

    def against(self, others: Sequence[Strategy]) -> "TailTarget":
        """Return the target for payoffs against given strategies of the others.

        Parameters
        ----------
        others : sequence of Strategy
            One of each other player; the player's own is ignored.
        """
        table = self.game.sequence_form.leaves
        assert table is not None
        weights = table.chance.astype(np.float64)
        for strategy in others:
            if strategy.player != self.player:
                weights = weights * strategy.plan[table.sequences[:, strategy.player]]
        return replace(self, weights=weights)

    def measured(self, plan: Floats) -> float:
        """Return the conditional value at risk of a plan's payoff, exactly, from its distribution.

        Parameters
        ----------
        plan : ndarray of float64, shape (num_sequences,)
        """
        return float(self._tail(plan)[1])

    def threshold(self, plan: Floats) -> float:
        """Return the value at risk: the least payoff such that a plan's payoff is at most this with probability α."""
        return float(self._tail(plan)[0])

    def _tail(self, plan: Floats) -> tuple[float, float]:
        """Return the threshold of the worst outcomes, and their mean."""
        payoffs, places = np.unique(self.payoffs, return_inverse=True)
        shares = np.bincount(places.ravel(), weights=self.weights * plan[self.sequences])
        sums = np.cumsum(shares)
        last = min(int(np.searchsorted(sums, self.level * (1.0 - 1e-12))), len(payoffs) - 1)
        below = float(shares[:last] @ payoffs[:last])
        rest = self.level - float(sums[last - 1] if last else 0.0)
        return float(payoffs[last]), (below + rest * float(payoffs[last])) / self.level

    def shortfall(self, threshold: float) -> Functional:
        """Return Σ w(z) x(σ(z)) (τ − u(z))⁺ as a functional of the plan."""
        short = self.weights * np.maximum(threshold - self.payoffs, 0.0)
        size = self.game.sequence_form.treeplexes[self.player].num_sequences
        coefficients: Floats = np.bincount(self.sequences, weights=short, minlength=size).astype(np.float64)
        return Functional(self.player, coefficients, f"the average shortfall of payoffs below {threshold:g}")

    @property
    def thresholds(self) -> Floats:
        """The payoffs at which the maximum over τ can be attained.

        Raises
        ------
        UnsupportedProblemError
            If there are too many payoffs.
        """
        found = np.unique(self.payoffs[self.weights > 0.0])
        if len(found) > MOST_THRESHOLDS:
            raise UnsupportedProblemError(
                f"target {shown(self.name)} needs a linear program for each of {len(found):,} payoffs of "
                f"{self.game.spec}, expected at most {MOST_THRESHOLDS}; method pref-cfr does not need them"
            )
        return found

    def choices(self) -> list[tuple[Target, ...]]:
        """Return sets of linear targets: a plan meets this target if and only if it meets all targets of one set.

        A lower bound holds if one threshold meets it, so each threshold is a set. An upper bound holds only if all
        thresholds meet it.
        """
        if self.sense == "<=":
            return [tuple(self._at(float(threshold)) for threshold in self.thresholds)]
        reached = [float(threshold) for threshold in self.thresholds if threshold >= self.asked]
        return [(self._at(threshold),) for threshold in reached or [float(self.thresholds[-1])]]

    def _at(self, threshold: float) -> Target:
        functional = self.shortfall(threshold)
        sequences = np.flatnonzero(functional.coefficients).tolist()
        constraint = LinearConstraint(
            player=self.player,
            terms={sequence: float(functional.coefficients[sequence]) for sequence in sequences},
            bound=self.level * (threshold - self.asked),
            sense="<=" if self.sense == ">=" else ">=",
            name=f"{self.name} [{threshold:g}]",
        )
        return Target(constraint, functional)

    @property
    def measure(self) -> Risk:
        """The tail as a convex measure of the plan: the largest of the linear functions."""
        parts = []
        for threshold in self.thresholds.tolist():
            short = -self.shortfall(threshold).coefficients / self.level
            parts.append(Functional(self.player, short, "", constant=threshold))
        return tail(parts, 1.0, description=f"the mean of the worst {self.level:g} of all games")

    def missed_by(self, plan: Floats) -> float:
        """Return the violation of the bound by a plan, 0 if the bound is met."""
        return max(0.0, -self.excess(plan))

    def excess(self, plan: Floats) -> float:
        """Return the excess of a plan over the requested bound; negative if the bound is violated."""
        over = self.measured(plan) - self.asked
        return over if self.sense == ">=" else -over

    def outcome(
        self, strategy: Strategy, extremes: tuple[float, float] | None = None, price: float = math.nan
    ) -> TargetOutcome:
        """Return the outcome of the target for a strategy; see :meth:`Target.outcome`."""
        low, high = (None, None) if extremes is None else extremes
        return TargetOutcome(
            name=self.name,
            sense=self.sense,
            asked=self.asked,
            reached=self.measured(strategy.plan),
            missed_by=self.missed_by(strategy.plan),
            low=low,
            high=high,
            price=price,
            functional=None,
        )

    def leaning(self, strategy: Strategy) -> LinearConstraint:
        """Return a bound on the actions that are best for the tail of a strategy's payoff, assuming best play below.

        These are the actions after which payoffs fall short of a threshold least or, for an upper bound, most. The
        threshold is the strategy's value at risk, which gives the gradient of the conditional value, or the requested
        bound if larger.

        Parameters
        ----------
        strategy : Strategy
        """
        treeplex = strategy.treeplex
        sign = -1.0 if self.sense == ">=" else 1.0
        threshold = self.threshold(strategy.plan)
        # If the tail ends at the requested bound, it contains all outcomes up to the bound.
        threshold = max(threshold, self.asked) if self.sense == ">=" else threshold
        worth = sign * self.shortfall(threshold).coefficients
        worth, widths = sequence_values(treeplex, worth), np.zeros(treeplex.num_sequences)
        for level in treeplex.levels:
            here = worth[level.sequences]
            width = np.maximum.reduceat(here, level.starts) - np.minimum.reduceat(here, level.starts)
            widths[level.sequences] = np.repeat(width, level.counts)
        best = np.append(0.0, np.repeat(infoset_maxima(treeplex, worth), treeplex.num_actions))
        chosen = (worth >= best - 1e-9 * widths) & (widths > 0.0) & (widths >= _LEAST_WIDTH * widths.max())
        chosen[0] = False
        terms = dict.fromkeys(np.flatnonzero(chosen).tolist(), 1)
        return LinearConstraint(player=self.player, terms=terms, bound=0, sense=">=", name=self.name)


def read_styles(
    given: Any, game: Game, player: int, others: Profile | Strategy | None
) -> tuple[tuple[Target, ...], list[TailTarget]]:
    """Return the linear targets of one player, and those of the form ``[SEAT/]cvar@LEVEL >= NUMBER``.

    Parameters
    ----------
    given : str, LinearConstraint, or several of them
    game : Game
    player : int
        The player if a string names no seat.
    others : Profile, Strategy or None
        The others' strategies for counting actions.

    Raises
    ------
    InvalidConstraintError
        As for :func:`~treeplex.solvers.style.answer.read_targets`; also if a string that begins like such a target
        cannot be parsed.
    UnsupportedProblemError
        If the game has no table of leaves, which tails need.
    """
    if not isinstance(given, str | LinearConstraint) and not isinstance(given, Iterable):
        return read_targets(given, game, player, others), []
    entries = [given] if isinstance(given, str | LinearConstraint) else given
    found: list[TailTarget] = []
    rest: list[Any] = []
    for entry in listed(entries, "the targets are", InvalidConstraintError):
        if isinstance(entry, str) and _BEGINS.match(entry) and "cvar" not in _actions(game):
            found.append(_read(entry, game, player))
        else:
            rest.append(entry)
    read = read_targets(rest, game, player, others) if rest or not found else ()
    together: list[Target | TailTarget] = [*read, *found]
    for one in found:
        if one.player != together[0].player:
            raise InvalidConstraintError(
                f"target {shown(one.name)} is about player {one.player}, and {shown(together[0].name)} about player "
                f"{together[0].player}: expected targets of one player"
            )
        if sum(other.name == one.name for other in together) > 1:
            raise InvalidConstraintError(f"two targets are named {shown(one.name)}; append 'as NAME' to one")
    return read, found


def _actions(game: Game) -> set[str]:
    return {name for treeplex in game.sequence_form.treeplexes for name in treeplex.actions_by_name()}


def _read(text: str, game: Game, player: int) -> TailTarget:
    read = _TEXT.fullmatch(text)
    if read is None:
        equation = ": an equation, which has no linear program; give both of its bounds" if "==" in text else ""
        raise InvalidConstraintError(f"received the target {shown(text)}{equation}, expected {_FORM}")
    level, asked = (_number(text, read[part]) for part in ("level", "asked"))
    if not 0 < level <= 1:
        raise InvalidConstraintError(f"target {shown(text)} has the level {read['level']}, expected {_FORM}")
    if game.sequence_form.leaves is None:
        raise UnsupportedProblemError(
            f"target {shown(text)} needs a table of leaves, but {game.spec} has none: the distribution of its payoffs "
            "is not known"
        )
    seat = player if read["seat"] is None else checked_player(game, int(read["seat"]))
    name = read["name"] or text.strip()
    return TailTarget(name, seat, float(level), read["sense"], float(asked), game)


def _number(text: str, number: str) -> Fraction:
    try:
        return parse_number(number)
    except ValueError:
        raise InvalidConstraintError(
            f"target {shown(text)} has {shown(number)} instead of a number, expected {_FORM}"
        ) from None


def strategies_of(others: Profile | Strategy | None, game: Game) -> list[Strategy] | None:
    """Return the given strategies of the others, checked; ``None`` if none are given."""
    if others is None:
        return None
    given = [others] if isinstance(others, Strategy) else list(others)
    check_same_game(given[0], game)
    return given


def names_once(names: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct names of targets from the names of their linear parts."""
    return tuple(dict.fromkeys(re.sub(r" \[[^\]]*\]$", "", name) for name in names))
