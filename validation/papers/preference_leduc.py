"""Preference-CFR on external samples of Leduc poker: styles, what they come to, and what linear programs allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError, shown
from ...solvers import ESPrefCFR
from ...solvers.parametric.trade_off import TradeOff
from ...solvers.style.efficiency import StyleEfficiency, Towards, efficiency_at
from .experiment import Claim, Experiment, Paper, Row, Tell, check_numbers
from .preference_kuhn import mean_of, numbers_of
from .preference_runs import PREFERENCE_CFR, ROUNDING, Band, Run, exact_range, points_up_to, sampled_run
from .sweeps import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What is told of a run: how often player 0 raises at its first decision, and calls there holding a king.
RAISES, CALLS = ("r", ""), ("c", "K")
#: Cards of the game, and what the command line calls it.
GAMES = {6: "leduc", 12: "leduc:ranks=6"}
#: The same with suits merged, in which linear programs are a fraction as large; suits do not matter.
MERGED = {6: "leduc:merge_suits=true", 12: "leduc:ranks=6,merge_suits=true"}
#: Where there is no vulnerability, the mean of raises is to be this near to the equilibria's in the end, or nearer than
#: a tenth of the histories before.
NEAR, EARLIER = 0.03, 0.1

Rule = Literal["rm", "br"]
StyleName = Literal["offensive", "defensive", "normal"]


@dataclass(frozen=True)
class Style:
    """A curve of the paper.

    Attributes
    ----------
    name : str
        Offensive styles prefer a raise, defensive ones a call, the normal one nothing.
    degree : float
        δ at player 0's first decisions.
    vulnerability : float
        β there, in antes given that the infoset is allowed.
    """

    name: StyleName
    degree: float = 1.0
    vulnerability: float = 0.0

    @property
    def preference(self) -> str:
        """As :func:`~treeplex.models.preferences.parse_preference` reads it; empty for the normal style."""
        return {"offensive": f"0/r@first:{self.degree:g}", "defensive": f"0/c@first:{self.degree:g}"}.get(self.name, "")

    @property
    def towards(self) -> Towards | None:
        """Which end of the frequency of raises the style leans to."""
        ends: dict[str, Towards] = {"offensive": "high", "defensive": "low"}
        return ends.get(self.name)

    def method(self, rule: Rule) -> ESPrefCFR:
        """Return what runs; other infosets play by the same rule, without preferences."""
        return ESPrefCFR(prefer=self.preference or (), vulnerability=self.vulnerability, rule=rule)

    def __str__(self) -> str:
        if self.name == "normal":
            return self.name
        return f"{self.name} {self.degree:g}, beta {self.vulnerability:g}"


@dataclass(frozen=True)
class StyleRow(Row):
    """All runs of one style in one game by one rule.

    Frequencies are player 0's at its first decision: of raises over all cards, and of calls holding a king.

    Attributes
    ----------
    cards : int
        Of the game.
    rule : str
    style : str
    preference : str
    vulnerability : float
        β, antes.
    runs : int
    touched : int
        Histories touched by each run, about.
    nash_conv, nash_conv_low, nash_conv_high : float
        In the end: the mean of the runs, and between which numbers nine of ten are; antes.
    loss : float
        What player 0's strategy loses of the value of the game at most, on the average.
    raises, raises_low, raises_high : float
    calls, calls_low, calls_high : float
    equilibrium_raises, equilibrium_calls : float
        Of equilibrium strategies, by linear programs.
    allowed_raises_low, allowed_raises_high : float
        What linear programs allow at the NashConv of the runs, on the average.
    allowed_calls_low, allowed_calls_high : float
    excess : float
        By how much any run at any of its points is outside of what linear programs allow at its own NashConv or loss.
    efficiency, efficiency_by_loss : float or None
        Of the way from the equilibrium's frequency of raises to the furthest that is allowed at the run's NashConv, and
        at the loss of its strategy, the part that was gone, on the average; ``None`` for the normal style.
    points : tuple of int
        Histories touched at which the following were looked at.
    nash_conv_curve, nash_conv_low_curve, nash_conv_high_curve : tuple of float
    raises_curve, raises_low_curve, raises_high_curve : tuple of float
    calls_curve, calls_low_curve, calls_high_curve : tuple of float
    allowed_raises_low_curve, allowed_raises_high_curve : tuple of float
    allowed_calls_low_curve, allowed_calls_high_curve : tuple of float
    raises_by_loss_curve, calls_by_loss_curve : tuple of float
        The furthest that linear programs allow towards the style at the loss of the runs' own strategies, on the
        average; empty for the normal style.
    passed : bool
    failure : str
    """

    cards: int
    rule: str
    style: str
    preference: str
    vulnerability: float
    runs: int
    touched: int
    nash_conv: float
    nash_conv_low: float
    nash_conv_high: float
    loss: float
    raises: float
    raises_low: float
    raises_high: float
    calls: float
    calls_low: float
    calls_high: float
    equilibrium_raises: float
    equilibrium_calls: float
    allowed_raises_low: float
    allowed_raises_high: float
    allowed_calls_low: float
    allowed_calls_high: float
    excess: float
    efficiency: float | None
    efficiency_by_loss: float | None
    points: tuple[int, ...]
    nash_conv_curve: tuple[float, ...]
    nash_conv_low_curve: tuple[float, ...]
    nash_conv_high_curve: tuple[float, ...]
    raises_curve: tuple[float, ...]
    raises_low_curve: tuple[float, ...]
    raises_high_curve: tuple[float, ...]
    calls_curve: tuple[float, ...]
    calls_low_curve: tuple[float, ...]
    calls_high_curve: tuple[float, ...]
    allowed_raises_low_curve: tuple[float, ...]
    allowed_raises_high_curve: tuple[float, ...]
    allowed_calls_low_curve: tuple[float, ...]
    allowed_calls_high_curve: tuple[float, ...]
    raises_by_loss_curve: tuple[float, ...]
    calls_by_loss_curve: tuple[float, ...]
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        bound = "" if self.efficiency is None else self.bound
        return {
            "cards": str(self.cards),
            "rule": self.rule,
            "style": f"{self.style:<23}",
            "NashConv": f"{self.nash_conv:.4f}",
            "call with K": f"{self.calls:.3f}",
            "raise": f"{self.raises:.3f}",
            "LP bound": bound if isinstance(bound, str) else f"{bound:.3f}",
            "efficiency": "" if self.efficiency is None else f"{self.efficiency:.3f}",
        }

    @property
    def bound(self) -> float:
        """The furthest frequency of raises that is allowed in the direction of the style."""
        return self.allowed_raises_low if self.style.startswith("defensive") else self.allowed_raises_high


@dataclass(frozen=True)
class LeducStyles(Experiment[StyleRow]):
    """Convergence, calls with the king, and raises, by histories touched, of some styles.

    Parameters
    ----------
    cards : tuple of int
        Of the games, 6 or 12.
    rules : tuple of {"rm", "br"}
    runs : int
        Of each style.
    histories : int
        That each run touches, about.
    seed : int
        Of the first run; the others have the next ones.
    jobs : int, optional
        How many processes share the runs, as :func:`~treeplex.validation.papers.sweeps.sweep` takes it.
    """

    cards: tuple[int, ...] = (6, 12)
    rules: tuple[Rule, ...] = ("br", "rm")
    runs: int = 30
    histories: int = 10_000_000
    seed: int = 0
    jobs: int | None = None

    paper: ClassVar[Paper] = PREFERENCE_CFR
    #: In the order of the rows.
    styles: ClassVar[tuple[Style, ...]] = ()
    criterion: ClassVar[str] = (
        "raises and calls always within what linear programs allow at the run's own NashConv and at the strategy's own "
        f"loss; without vulnerability the mean of raises within {NEAR:g} of the equilibria's, or nearer to it than "
        "after a tenth of the histories; with more vulnerability above zero more style"
    )

    def __post_init__(self) -> None:
        check_numbers("the list of numbers of cards", self.cards, 6, whole=True)
        check_choices("the list of numbers of cards", self.cards, tuple(GAMES))
        check_choices("the list of rules", self.rules, ("rm", "br"))
        check_numbers("the number of runs", (self.runs,), 1, whole=True)
        check_numbers("the number of histories", (self.histories,), 1, whole=True)
        check_numbers("the seed", (self.seed,), 0, whole=True)

    @property
    def num_rows(self) -> int:
        """One a style, for each game and rule."""
        return len(self.cards) * len(self.rules) * len(self.styles)

    @property
    def _groups(self) -> list[tuple[int, Rule, Style]]:
        return [(cards, rule, style) for cards in self.cards for rule in self.rules for style in self.styles]

    def rows(self, tell: Tell) -> Iterator[StyleRow]:
        """Yield the rows of a game by one rule after the other."""
        tell("linear programs")
        for cards in self.cards:
            for share in (RAISES, CALLS):
                exact_range(MERGED[cards], *share)
        points = points_up_to(self.histories, min(10_000, self.histories), 5)
        groups = self._groups
        jobs = [
            (GAMES[cards], style.method(rule), (RAISES, CALLS), points, self.seed + run)
            for cards, rule, style in groups
            for run in range(self.runs)
        ]
        tell(_words(*groups[0]))
        found = sweep(sampled_run, jobs, self.jobs)
        before: list[StyleRow] = []
        for place, (cards, rule, style) in enumerate(groups):
            runs = list(islice(found, self.runs))
            if place + 1 < len(groups):
                tell(_words(*groups[place + 1]))
            row = style_row(cards, rule, style, points, runs)
            said = [row.failure] if row.failure else []
            said += self._out_of_order(row, before)
            before.append(replace(row, passed=not said, failure="; ".join(said)))
            yield before[-1]

    def _out_of_order(self, row: StyleRow, before: Sequence[StyleRow]) -> list[str]:
        """Say which earlier rows have more vulnerability and less style, or the other way."""
        sign = -1.0 if row.style.startswith("defensive") else 1.0
        wrong = []
        for other in before:
            same = (other.cards, other.rule, other.preference) == (row.cards, row.rule, row.preference)
            difference = row.vulnerability - other.vulnerability
            some = min(row.vulnerability, other.vulnerability) > 0.0
            if same and some and difference and not sign * difference * (row.raises - other.raises) > 0.0:
                wrong.append(
                    f"raises {row.raises:.4f} with beta {row.vulnerability:g}, and {other.raises:.4f} with beta "
                    f"{other.vulnerability:g}"
                )
        return wrong

    def claims(self, rows: Sequence[StyleRow]) -> list[Claim]:
        """Return what the paper says of the styles."""
        found = []
        for cards in self.cards:
            for rule in self.rules:
                own = [row for row in rows if (row.cards, row.rule) == (cards, rule)]
                found += self._claims_of(own, f"{cards} cards, rule {rule}")
        found.append(
            Claim(
                "by how much frequencies are outside of what linear programs allow",
                None,
                max((row.excess for row in rows), default=None),
            )
        )
        return found

    def _claims_of(self, rows: Sequence[StyleRow], where: str) -> list[Claim]:
        """Return the claims about one game and rule."""
        free = [row for row in rows if not row.vulnerability]
        return [
            Claim(
                f"{where}: largest distance of raises from the equilibria's, without vulnerability",
                "converge like the original CFR",
                max((abs(row.raises - row.equilibrium_raises) for row in free), default=None),
            )
        ]

    def draw(self, rows: Sequence[StyleRow]) -> "Figure":
        """Draw NashConv, calls with the king and raises by histories touched, with the exact ranges behind."""
        from .preference_pictures import draw_styles

        return draw_styles(self, rows)


def style_row(cards: int, rule: Rule, style: Style, points: Sequence[int], runs: Sequence[Run]) -> StyleRow:
    """Summarise and judge the runs of one style."""
    nash_convs = np.array([run.nash_convs for run in runs])
    guarantees = np.array([run.guarantees for run in runs])
    raising, calling = (exact_range(MERGED[cards], *share) for share in (RAISES, CALLS))
    opposite: dict[Towards | None, Towards | None] = {"high": "low", "low": "high", None: None}
    values = [np.array([run.values[number] for run in runs]) for number in (0, 1)]
    raised = _efficiencies(raising, values[0], nash_convs, guarantees, style.towards)
    called = _efficiencies(calling, values[1], nash_convs, guarantees, opposite[style.towards])
    nash_conv, raises, calls = (Band.of(numbers) for numbers in (nash_convs, *values))
    (raise_lows, raise_highs), (call_lows, call_highs) = _mean_ranges(raised), _mean_ranges(called)
    excess = max(one.excess for found in (raised, called) for own in found for one in own)
    equilibrium = [sum(curve.free) / 2 for curve in (raising, calling)]
    said = []
    if not excess <= ROUNDING:
        said.append(f"a frequency is {excess:.1e} outside of what the linear program allows")
    if not style.vulnerability:
        tenth = max((place for place, point in enumerate(points) if point <= EARLIER * points[-1]), default=0)
        now, then = (abs(raises.mean[place] - equilibrium[0]) for place in (-1, tenth))
        if not (now <= NEAR or now < then):
            said.append(
                f"raises {raises.mean[-1]:.4f}, no nearer to {equilibrium[0]:.4f} than {raises.mean[tenth]:.4f}"
            )
    last = [own[-1] for own in raised] if style.preference else []
    return StyleRow(
        cards=cards,
        rule=rule,
        style=str(style),
        preference=style.preference,
        vulnerability=style.vulnerability,
        runs=len(runs),
        touched=round(float(np.mean([run.work[-1] for run in runs]))),
        nash_conv=nash_conv.mean[-1],
        nash_conv_low=nash_conv.low[-1],
        nash_conv_high=nash_conv.high[-1],
        loss=float(raising.game_value - guarantees[:, -1].mean()),
        raises=raises.mean[-1],
        raises_low=raises.low[-1],
        raises_high=raises.high[-1],
        calls=calls.mean[-1],
        calls_low=calls.low[-1],
        calls_high=calls.high[-1],
        equilibrium_raises=equilibrium[0],
        equilibrium_calls=equilibrium[1],
        allowed_raises_low=raise_lows[-1],
        allowed_raises_high=raise_highs[-1],
        allowed_calls_low=call_lows[-1],
        allowed_calls_high=call_highs[-1],
        excess=excess,
        efficiency=mean_of([one.ratio for one in last]),
        efficiency_by_loss=mean_of([one.ratio_by_loss for one in last]),
        points=tuple(points),
        nash_conv_curve=nash_conv.mean,
        nash_conv_low_curve=nash_conv.low,
        nash_conv_high_curve=nash_conv.high,
        raises_curve=raises.mean,
        raises_low_curve=raises.low,
        raises_high_curve=raises.high,
        calls_curve=calls.mean,
        calls_low_curve=calls.low,
        calls_high_curve=calls.high,
        allowed_raises_low_curve=raise_lows,
        allowed_raises_high_curve=raise_highs,
        allowed_calls_low_curve=call_lows,
        allowed_calls_high_curve=call_highs,
        raises_by_loss_curve=_mean_ends(raised) if style.preference else (),
        calls_by_loss_curve=_mean_ends(called) if style.preference else (),
        passed=not said,
        failure="; ".join(said),
    )


def _efficiencies(
    curve: TradeOff, values: Floats, nash_convs: Floats, guarantees: Floats, towards: Towards | None
) -> list[list[StyleEfficiency]]:
    """Return what is allowed at each point of each run."""
    losses = np.maximum(0.0, curve.game_value - guarantees)
    return [
        [efficiency_at(curve, *numbers, towards) for numbers in zip(*columns, strict=True)]
        for columns in zip(values.tolist(), nash_convs.tolist(), losses.tolist(), strict=True)
    ]


def _mean_ranges(found: list[list[StyleEfficiency]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    lows, highs = np.array([[one.allowed for one in own] for own in found]).mean(axis=0).T
    return numbers_of(lows), numbers_of(highs)


def _mean_ends(found: list[list[StyleEfficiency]]) -> tuple[float, ...]:
    return numbers_of(np.array([[one.bound_by_loss for one in own] for own in found]).mean(axis=0))


def check_choices(what: str, given: Sequence[object], choices: Sequence[object]) -> None:
    """Refuse settings that are not among some.

    Raises
    ------
    UnsupportedProblemError
    """
    if not given or not all(one in choices for one in given):
        raise UnsupportedProblemError(f"{what} is {shown(given)}, expected of {', '.join(map(str, choices))}")


def _words(cards: int, rule: Rule, style: Style) -> str:
    return f"{cards} cards, rule {rule}, {style}"
