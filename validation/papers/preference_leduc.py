"""Figures 3 and 4 of the paper on Preference-CFR: styles in Leduc poker by samples, and what linear programs allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ...seqform.interchange.pictures import Look, legend_below, log_scale_of_few, panels
from ...solvers import ESPrefCFR
from ...solvers.style.efficiency import Towards
from ..table import Column, Row, verdict
from .experiment import Claim, Experiment, Limits, largest
from .preference_runs import (
    PREFERENCE_CFR,
    ROUNDING,
    Band,
    Measured,
    Range,
    Run,
    exact_range,
    points_up_to,
    sampled_run,
)
from .runs import Tell, sweep_groups

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

    @property
    def look(self) -> Look:
        """How it is drawn: raises in warm colours, calls in cold ones, dashed what may not cost anything."""
        return _LOOKS[str(self)]

    def __str__(self) -> str:
        if self.name == "normal":
            return self.name
        return f"{self.name} {self.degree:g}, beta {self.vulnerability:g}"


_LOOKS = {
    "offensive 10, beta 0.05": Look("red"),
    "offensive 5, beta 0.05": Look("orange"),
    "offensive 10, beta 0": Look("pink", line="--"),
    "normal": Look("black"),
    "defensive 10, beta 0": Look("green", line="--"),
    "defensive 5, beta 0.05": Look("sky"),
    "defensive 10, beta 0.05": Look("blue"),
    "offensive 5, beta 0.5": Look("pink"),
    "offensive 5, beta 0.2": Look("red"),
    "offensive 5, beta 0.1": Look("blue"),
}
EQUILIBRIA = Look("black", line=(0, (5, 3)))


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
    nash_conv : Band
        Antes.
    loss : float
        What player 0's strategy loses of the value of the game at most, in the end, on the average.
    raises, calls : Band
    equilibrium_raises, equilibrium_calls : float
        Of equilibrium strategies, by linear programs.
    allowed_raises, allowed_calls : Range
        What linear programs allow at the NashConv of the runs, on the average.
    excess : float
        By how much any run at any of its points is outside of what linear programs allow at its own NashConv or loss.
    efficiency, efficiency_by_loss : float or None
        Of raises, as :class:`~treeplex.validation.papers.preference_runs.Measured` has them.
    points : tuple of int
        Histories touched at which curves were looked at.
    raises_by_loss_curve, calls_by_loss_curve : tuple of float
        The furthest that linear programs allow towards the style at the loss of the runs' own strategies, on the
        average; empty for the normal style.
    """

    cards: Annotated[int, Column("cards")]
    rule: Annotated[str, Column("rule")]
    style: Annotated[str, Column("style")]
    preference: str
    vulnerability: float
    runs: int
    touched: int
    nash_conv: Annotated[Band, Column("NashConv", ".4f")]
    loss: float
    raises: Annotated[Band, Column("raise", ".3f")]
    calls: Annotated[Band, Column("call with K", ".3f")]
    equilibrium_raises: float
    equilibrium_calls: float
    allowed_raises: Annotated[Range, Column("raise allowed", ".3f")]
    allowed_calls: Range
    excess: float
    efficiency: Annotated[float | None, Column("efficiency", ".3f")]
    efficiency_by_loss: float | None
    points: tuple[int, ...]
    raises_by_loss_curve: tuple[float, ...]
    calls_by_loss_curve: tuple[float, ...]


def style_row(cards: int, rule: Rule, style: Style, points: Sequence[int], runs: Sequence[Run]) -> StyleRow:
    """Summarise and judge the runs of one style."""
    raising, calling = (exact_range(MERGED[cards], *share) for share in (RAISES, CALLS))
    opposite: dict[Towards | None, Towards | None] = {"high": "low", "low": "high", None: None}
    raised = Measured.of(raising, runs, 0, style.towards)
    called = Measured.of(calling, runs, 1, opposite[style.towards])
    excess, raises = max(raised.excess, called.excess), raised.values
    equilibrium = sum(raising.free) / 2
    tenth = max((place for place, point in enumerate(points) if point <= EARLIER * points[-1]), default=0)
    now, then = (abs(raises.mean[place] - equilibrium) for place in (-1, tenth))
    far = not style.vulnerability and not (now <= NEAR or now < then)
    return StyleRow(
        cards=cards,
        rule=rule,
        style=str(style),
        preference=style.preference,
        vulnerability=style.vulnerability,
        runs=len(runs),
        touched=round(float(np.mean([run.work[-1] for run in runs]))),
        nash_conv=Band.of(np.array([run.nash_convs for run in runs])),
        loss=float(raising.game_value - np.mean([run.guarantees[-1] for run in runs])),
        raises=raises,
        calls=called.values,
        equilibrium_raises=equilibrium,
        equilibrium_calls=sum(calling.free) / 2,
        allowed_raises=raised.allowed,
        allowed_calls=called.allowed,
        excess=excess,
        efficiency=raised.ratio,
        efficiency_by_loss=raised.ratio_by_loss,
        points=tuple(points),
        raises_by_loss_curve=raised.bounds_by_loss,
        calls_by_loss_curve=called.bounds_by_loss,
        failure=verdict(
            (not excess <= ROUNDING, f"a frequency is {excess:.1e} outside of what the linear program allows"),
            (far, f"raises {raises:.4f}, no nearer to {equilibrium:.4f} than {raises.mean[tenth]:.4f}"),
        ),
    )


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
        How many processes share the runs, as :func:`~treeplex.validation.papers.runs.sweep` takes it.
    """

    cards: Annotated[tuple[int, ...], Limits(choices=GAMES)] = (6, 12)
    rules: Annotated[tuple[Rule, ...], Limits(choices=("rm", "br"))] = ("br", "rm")
    runs: Annotated[int, Limits(1)] = 30
    histories: Annotated[int, Limits(1)] = 10_000_000
    seed: Annotated[int, Limits(0)] = 0
    jobs: int | None = None

    #: In the order of the rows.
    styles: ClassVar[tuple[Style, ...]] = ()
    paper = PREFERENCE_CFR
    criterion = (
        "raises and calls always within what linear programs allow at the run's own NashConv and at the strategy's own "
        f"loss; without vulnerability the mean of raises within {NEAR:g} of the equilibria's, or nearer to it than "
        "after a tenth of the histories; with more vulnerability above zero more style"
    )

    @classmethod
    def quick(cls) -> Self:
        """Return it with 6 cards and 3 runs of each style."""
        return cls(cards=(6,), runs=3)

    @classmethod
    def full(cls) -> Self:
        """Return it with 6 and 12 cards and the paper's 30 runs of 10⁷ histories, and a process a core."""
        return cls(jobs=-1)

    @property
    def num_rows(self) -> int:
        """One a style, for each game and rule."""
        return len(self.cards) * len(self.rules) * len(self.styles)

    def rows(self, tell: Tell) -> Iterator[StyleRow]:
        """Yield the rows of a game by one rule after the other."""
        tell("linear programs")
        for cards in self.cards:
            for share in (RAISES, CALLS):
                exact_range(MERGED[cards], *share)
        points = points_up_to(self.histories, min(10_000, self.histories), 5)
        kinds = [(cards, rule, style) for cards in self.cards for rule in self.rules for style in self.styles]
        groups = []
        for cards, rule, style in kinds:
            run = GAMES[cards], style.method(rule), (RAISES, CALLS), points
            seeds = range(self.seed, self.seed + self.runs)
            groups.append((f"{cards} cards, rule {rule}, {style}", [(*run, seed) for seed in seeds]))
        before: list[StyleRow] = []
        for kind, runs in zip(kinds, sweep_groups(sampled_run, groups, tell, self.jobs), strict=True):
            row = style_row(*kind, points, runs)
            before.append(row.failing(*self._out_of_order(row, before)))
            yield before[-1]

    def _out_of_order(self, row: StyleRow, before: Sequence[StyleRow]) -> list[str]:
        """Say which earlier rows have more vulnerability and less style, or the other way."""
        sign = -1.0 if row.style.startswith("defensive") else 1.0
        wrong = []
        for other in before:
            same = (other.cards, other.rule, other.preference) == (row.cards, row.rule, row.preference)
            difference = row.vulnerability - other.vulnerability
            some = min(row.vulnerability, other.vulnerability) > 0.0
            if same and some and difference and not sign * difference * (row.raises.end - other.raises.end) > 0.0:
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
                largest(row.excess for row in rows),
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
                largest(abs(row.raises.end - row.equilibrium_raises) for row in free),
            )
        ]

    def draw(self, rows: Sequence[StyleRow]) -> "Figure":
        """Draw NashConv, calls with the king and raises by histories touched, with the exact ranges behind.

        There is a line of panels for each game and rule.
        """
        lines = [(cards, rule) for cards in self.cards for rule in self.rules]
        figure, grid = panels(len(lines), 3, (12.0, 1.4 + 2.8 * len(lines)), squeeze=False)
        for (cards, rule), axes in zip(lines, grid, strict=True):
            self._draw_line(axes, [row for row in rows if (row.cards, row.rule) == (cards, rule)])
            axes[0].set_ylabel(f"{cards} cards, {rule.upper()}\nNashConv (antes)")
            axes[1].set_ylabel("call at first, with a king")
            axes[2].set_ylabel("raise at first")
        for axes in grid.flat:
            axes.set_xlabel("histories touched")
            if rows:
                axes.set_xlim(rows[0].points[0], rows[0].points[-1])
        last = grid[0][2]
        EQUILIBRIA.plot(last, [], [], linewidth=1.0, label="equilibria")
        Look("grey").plot(last, [], [], alpha=0.5, linewidth=7, label="all that the runs' NashConv allows")
        Look("black", line=":").plot(last, [], [], linewidth=1.2, label="furthest at the strategy's own loss")
        legend_below(figure, 4, grid[0][0], last)
        return figure

    def _draw_line(self, line: Any, rows: Sequence[StyleRow]) -> None:
        """Draw the curves of one game and rule in three panels."""
        errors, calls, raises = line
        looks = {str(style): style.look for style in self.styles}
        for row in rows:
            look, points = looks[row.style], row.points
            look.shade(errors, points, row.nash_conv.low, row.nash_conv.high)
            look.plot(errors, points, row.nash_conv.mean, label=row.style.replace("beta", "β"))
            for axes, found, allowed, furthest in (
                (calls, row.calls, row.allowed_calls, row.calls_by_loss_curve),
                (raises, row.raises, row.allowed_raises, row.raises_by_loss_curve),
            ):
                Look("grey").shade(axes, points, allowed.low, allowed.high, alpha=0.28 / len(rows), zorder=0)
                look.shade(axes, points, found.low, found.high)
                look.plot(axes, points, found.mean)
                if furthest:
                    look.plot(axes, points, furthest, linestyle=":", linewidth=1.2)
        if rows:
            EQUILIBRIA.level(calls, rows[0].equilibrium_calls)
            EQUILIBRIA.level(raises, rows[0].equilibrium_raises)
        for axes in line:
            axes.set_xscale("log")
        for axes in (calls, raises):
            axes.set_ylim(-0.02, 1.02)
        log_scale_of_few(errors)


@dataclass(frozen=True)
class PrefCFRFigure3(LeducStyles):
    """Styles of two degrees, with and without vulnerability, beside the style without preferences.

    Parameters
    ----------
    cards, rules, runs, histories, seed, jobs
        As :class:`LeducStyles` has them.

    Notes
    -----
    The paper says "12-card (6-pair)", and its published code plays the usual game of six cards; both are made here.
    That code plays by the rule ``br`` at all infosets, so that its normal style is no external-sampling MCCFR but
    sampled fictitious play; with the rule ``rm`` it is. The paper holds one card; here it is a king of either suit.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 3.
    """

    name = "pref-cfr-figure-3"
    title = "offensive and defensive styles in Leduc poker by sampled Preference-CFR"
    figure = "3"
    styles = (
        Style("offensive", 10, 0.05),
        Style("offensive", 5, 0.05),
        Style("offensive", 10, 0.0),
        Style("normal"),
        Style("defensive", 10, 0.0),
        Style("defensive", 5, 0.05),
        Style("defensive", 10, 0.05),
    )


@dataclass(frozen=True)
class PrefCFRFigure4(LeducStyles):
    """The offensive style of degree 5 by its vulnerability, beside the style without preferences.

    Parameters
    ----------
    cards, rules, runs, histories, seed, jobs
        As :class:`LeducStyles` has them.

    Notes
    -----
    The paper contradicts itself: by the caption a larger β makes calls more frequent, by the text raises. Preferred are
    raises.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 4.
    """

    name = "pref-cfr-figure-4"
    title = "the offensive style in Leduc poker by its vulnerability"
    figure = "4"
    styles = (
        Style("offensive", 5, 0.5),
        Style("offensive", 5, 0.2),
        Style("offensive", 5, 0.1),
        Style("offensive", 5, 0.05),
        Style("normal"),
    )

    def _claims_of(self, rows: Sequence[StyleRow], where: str) -> list[Claim]:
        rising = sorted((row for row in rows if row.vulnerability), key=lambda row: row.vulnerability)
        listed = ", ".join(f"{row.raises:.3f}" for row in rising)
        called = ", ".join(f"{row.calls:.3f}" for row in rising)
        return [
            *super()._claims_of(rows, where),
            Claim(f"{where}: raises by rising beta", "text: more raises", listed or None),
            Claim(f"{where}: calls with a king by rising beta", "caption: more calls", called or None),
        ]
