"""Styles in Leduc poker by Preference-CFR, compared with the range that linear programs allow.

Figures 3 and 4 of the paper use sampled games. The efficiency, for which the paper has no figure, is the achieved
fraction of the distance to the most extreme affordable style.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...models.problems import Nash
from ...seqform.interchange.pictures import Figure, Look, legend_below, log_scale_of_few, panels
from ...solvers import ESPrefCFR, PrefCFR
from ...solvers.style.efficiency import Towards, style_efficiency
from ..table import Column, Row, verdict
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed, largest, sweep_groups
from .preference_runs import (
    PREFERENCE_CFR,
    ROUNDING,
    Band,
    Measured,
    Range,
    Run,
    exact_range,
    game_of,
    points_up_to,
    runs_of,
    sampled_run,
    share_of,
)

#: The measured quantities of a run: how often player 0 raises at its first decision, and how often it calls there with
#: a king.
RAISES, CALLS = ("r", ""), ("c", "K")
#: Number of cards, and the game's name on the command line.
GAMES = {6: "leduc", 12: "leduc:ranks=6"}
#: The same games with merged suits, which make linear programs much smaller; suits do not matter.
MERGED = {6: "leduc:merge_suits=true", 12: "leduc:ranks=6,merge_suits=true"}
#: Without vulnerability, the final mean of raises must be within this distance of the equilibria's, or closer than
#: after a tenth of the histories.
NEAR, EARLIER = 0.03, 0.1

BLACK, EQUILIBRIA = Look("black"), Look("black", line=(0, (5, 3)))
Rule = Literal["rm", "br"]
StyleName = Literal["offensive", "defensive", "normal"]


@dataclass(frozen=True)
class Style:
    """A curve of the paper.

    Attributes
    ----------
    name : str
        The name: offensive styles prefer a raise, defensive ones a call, and the normal one has no preference.
    degree : float
        δ at player 0's first decisions.
    vulnerability : float
        β there, in antes given that the infoset is reached.
    look : Look
        The style of its curves: raises in warm colours, calls in cold ones, dashed without vulnerability.
    """

    name: StyleName
    degree: float = 1.0
    vulnerability: float = 0.0
    look: Look = BLACK

    @property
    def preference(self) -> str:
        """The preference, as for :func:`~treeplex.models.preferences.parse_preference`; empty for the normal style."""
        return {"offensive": f"0/r@first:{self.degree:g}", "defensive": f"0/c@first:{self.degree:g}"}.get(self.name, "")

    @property
    def towards(self) -> Towards | None:
        """The end of the range of raises that the style prefers."""
        ends: dict[str, Towards] = {"offensive": "high", "defensive": "low"}
        return ends.get(self.name)

    def method(self, rule: Rule) -> ESPrefCFR:
        """Return the method to run; other infosets use the same rule without preferences."""
        return ESPrefCFR(prefer=self.preference or (), vulnerability=self.vulnerability, rule=rule)

    def __str__(self) -> str:
        if self.name == "normal":
            return self.name
        return f"{self.name} {self.degree:g}, beta {self.vulnerability:g}"


@dataclass(frozen=True)
class StyleRow(Row):
    """All runs of one style in one game with one rule.

    Frequencies are player 0's at its first decision: of raises over all cards, and of calls with a king.

    Attributes
    ----------
    cards : int
        Number of cards in the game.
    rule : str
    style : str
    preference : str
    vulnerability : float
        β, antes.
    runs : int
    touched : int
        Approximate number of histories touched by each run.
    nash_conv : Band
        Antes.
    loss : float
        The largest possible loss of player 0's final strategy, relative to the value of the game, averaged over the
        runs.
    raises, calls : Band
    equilibrium_raises, equilibrium_calls : float
        Values of equilibrium strategies, from linear programs.
    allowed_raises, allowed_calls : Range
        The mean of the ranges that linear programs allow at the NashConv of the runs.
    excess : float
        The largest distance of any run at any point from the range that linear programs allow at its own NashConv or
        loss.
    efficiency, efficiency_by_loss : float or None
        The efficiency for raises, as in :class:`~treeplex.validation.papers.preference_runs.Measured`.
    points : tuple of int
        Numbers of touched histories at which curves were sampled.
    raises_by_loss_curve, calls_by_loss_curve : tuple of float
        The limit in the preferred direction that linear programs allow at the loss of the runs' own strategies, on
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
            (not excess <= ROUNDING, f"a frequency is {excess:.1e} outside the range of the linear program"),
            (far, f"raises {raises:.4f}, no nearer to {equilibrium:.4f} than {raises.mean[tenth]:.4f}"),
        ),
    )


@dataclass(frozen=True)
class LeducStyles(Experiment[StyleRow]):
    """Convergence, calls with the king, and raises, by touched histories, for several styles.

    Parameters
    ----------
    cards : tuple of int
        Numbers of cards in the games, 6 or 12.
    rules : tuple of {"rm", "br"}
    runs : int
        Number of runs per style.
    histories : int
        Approximate number of histories touched by each run.
    seed : int
        Seed of the first run; the other runs use the following seeds.
    jobs : int, optional
        Number of processes for the runs, as in :func:`~treeplex.validation.papers.experiment.sweep`.
    """

    cards: Annotated[tuple[int, ...], Limits(choices=GAMES)] = (6, 12)
    rules: Annotated[tuple[Rule, ...], Limits(choices=("rm", "br"))] = ("br", "rm")
    runs: Annotated[int, Limits("[1, inf)")] = 30
    histories: Annotated[int, Limits("[1, inf)")] = 10_000_000
    seed: Annotated[int, Limits("[0, inf)")] = 0
    jobs: int | None = None

    #: In the order of the rows.
    styles: ClassVar[tuple[Style, ...]] = ()
    axes = ("cards", "rules", "styles")
    paper = PREFERENCE_CFR
    criterion = (
        "raises and calls are always in the range that linear programs allow at the run's NashConv and the strategy's "
        f"loss; without vulnerability the mean of raises is within {NEAR:g} of the equilibria's, or nearer to it than "
        "after a tenth of the histories; a larger vulnerability above zero gives more style"
    )

    quick_settings: ClassVar = {"cards": (6,), "runs": 3}
    full_settings: ClassVar = {"jobs": -1}

    def rows(self, tell: Tell) -> Iterator[StyleRow]:
        """Yield the rows in the order of games and rules."""
        tell("linear programs")
        for cards in self.cards:
            for share in (RAISES, CALLS):
                exact_range(MERGED[cards], *share)
        points = points_up_to(self.histories, min(10_000, self.histories), 5)
        kinds = {
            f"{cards} cards, rule {rule}, {style}": (GAMES[cards], style.method(rule), (RAISES, CALLS), points)
            for cards, rule, style in self.cases
        }
        before: list[StyleRow] = []
        found = runs_of(sampled_run, kinds, range(self.seed, self.seed + self.runs), tell, self.jobs)
        for case, runs in zip(self.cases, found, strict=True):
            cards, rule, style = case
            row = style_row(cards, rule, style, points, runs)
            before.append(row.failing(*self._out_of_order(row, before)))
            yield before[-1]

    def _out_of_order(self, row: StyleRow, before: Sequence[StyleRow]) -> list[str]:
        """Return failures for earlier rows with more vulnerability but less style, or vice versa."""
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
        """Return the paper's statements on the styles."""
        found = []
        for cards, rule in product(self.cards, self.rules):
            own = [row for row in rows if (row.cards, row.rule) == (cards, rule)]
            found += self._claims_of(own, f"{cards} cards, rule {rule}")
        found.append(
            Claim(
                "largest distance of a frequency from the range that linear programs allow",
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
            ).judged(
                lambda distance: distance <= NEAR,
                "styles without vulnerability have not converged yet",
            )
        ]

    def draw(self, rows: Sequence[StyleRow]) -> "Figure":
        """Draw NashConv, calls with the king and raises by touched histories, above the exact ranges.

        There is a row of panels for each game and rule.
        """
        lines = list(product(self.cards, self.rules))
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
        Look("grey").plot(last, [], [], alpha=0.5, linewidth=7, label="range that the runs' NashConv allows")
        Look("black", line=":").plot(last, [], [], linewidth=1.2, label="furthest at the strategy's own loss")
        legend_below(figure, 4, grid[0][0], last)
        return figure

    def _draw_line(self, line: Any, rows: Sequence[StyleRow]) -> None:
        """Draw the curves of one game and rule in three panels."""
        errors, calls, raises = line
        looks = {str(style): style.look for style in self.styles}
        for row in rows:
            look, points = looks[row.style], row.points
            row.nash_conv.draw(errors, points, look, label=row.style.replace("beta", "β"))
            for axes, found, allowed, furthest in (
                (calls, row.calls, row.allowed_calls, row.calls_by_loss_curve),
                (raises, row.raises, row.allowed_raises, row.raises_by_loss_curve),
            ):
                Look("grey").shade(axes, points, allowed.low, allowed.high, alpha=0.28 / len(rows), zorder=0)
                found.draw(axes, points, look)
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
    """Styles of two degrees, with and without vulnerability, compared with the style without preferences.

    Parameters
    ----------
    cards, rules, runs, histories, seed, jobs
        As in :class:`LeducStyles`.

    Notes
    -----
    The paper says "12-card (6-pair)", but its published code plays the usual game of six cards; both are available
    here. That code uses the rule ``br`` at all infosets, so its normal style is sampled fictitious play, not
    external-sampling MCCFR; with the rule ``rm`` it is the latter. The paper's player holds one particular card; here
    it holds a king of either suit.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 3.
    """

    name = "pref-cfr-figure-3"
    title = "offensive and defensive styles in Leduc poker by sampled Preference-CFR"
    figure = "3"
    styles = (
        Style("offensive", 10, 0.05, Look("red")),
        Style("offensive", 5, 0.05, Look("orange")),
        Style("offensive", 10, 0.0, Look("pink", line="--")),
        Style("normal"),
        Style("defensive", 10, 0.0, Look("green", line="--")),
        Style("defensive", 5, 0.05, Look("sky")),
        Style("defensive", 10, 0.05, Look("blue")),
    )


@dataclass(frozen=True)
class PrefCFRFigure4(LeducStyles):
    """The offensive style of degree 5 with several vulnerabilities, compared with the style without preferences.

    Parameters
    ----------
    cards, rules, runs, histories, seed, jobs
        As in :class:`LeducStyles`.

    Notes
    -----
    The paper contradicts itself: a larger β makes calls more frequent according to the caption, but raises according to
    the text. Here raises are preferred.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 4.
    """

    name = "pref-cfr-figure-4"
    title = "the offensive style in Leduc poker by its vulnerability"
    figure = "4"
    styles = (
        Style("offensive", 5, 0.5, Look("pink")),
        Style("offensive", 5, 0.2, Look("red")),
        Style("offensive", 5, 0.1, Look("blue")),
        Style("offensive", 5, 0.05, Look("orange")),
        Style("normal"),
    )

    def _claims_of(self, rows: Sequence[StyleRow], where: str) -> list[Claim]:
        rising = sorted((row for row in rows if row.vulnerability), key=lambda row: row.vulnerability)
        listed = ", ".join(f"{row.raises:.3f}" for row in rising)
        called = ", ".join(f"{row.calls:.3f}" for row in rising)
        return [
            *super()._claims_of(rows, where),
            Claim(f"{where}: raises by increasing beta", "text: more raises", listed or None).judged(
                [row.raises.end for row in rising] == sorted(row.raises.end for row in rising), "the runs are too short"
            ),
            Claim(
                f"{where}: NashConv by increasing beta, antes",
                "higher exploitability",
                ", ".join(f"{row.nash_conv:.3f}" for row in rising) or None,
            ).judged(
                [row.nash_conv.end for row in rising] == sorted(row.nash_conv.end for row in rising),
                "NashConv of samples of this length is mostly sampling error",
            ),
            Claim(f"{where}: calls with a king by increasing beta", "caption: more calls", called or None).refuted(
                "tests/validation/test_preference_figures.py::test_more_vulnerability_is_more_raises_in_figure_4",
                "the text contradicts the caption and is right: raises are preferred, and calls decrease",
            ),
        ]


#: The amount by which a frequency may fall below the one with less vulnerability, because runs are finite.
NOISE = 0.005
#: Differences of frequencies up to this size are negligible.
NEGLIGIBLE = 0.02


@dataclass(frozen=True)
class EfficiencyRow(Row):
    """One run, compared with the optimal style for the same loss.

    Attributes
    ----------
    cards : int
    style : str
        Offensive or defensive.
    rule : str
    degree : float
        δ at player 0's first decisions.
    vulnerability : float
        β there, antes.
    iterations : int
    raises : float
        Player 0's frequency of raises at its first decision.
    equilibrium : float
        The frequency of equilibrium strategies.
    nash_conv : float
        NashConv of the profile, in antes.
    allowed : float
        The limit in the preferred direction that linear programs allow at that NashConv.
    efficiency : float or None
        The achieved fraction of the distance from the equilibrium's frequency to that limit.
    loss : float
        The largest possible loss of player 0's strategy relative to the value of the game, in antes.
    allowed_by_loss, efficiency_by_loss : float, float or None
        The limit and the efficiency at that loss.
    excess : float
        The distance of the frequency from the range that its loss allows.
    """

    cards: int
    style: Annotated[str, Column("style", width=9)]
    rule: Annotated[str, Column("rule")]
    degree: Annotated[float, Column("delta", "g")]
    vulnerability: Annotated[float, Column("beta", "g")]
    iterations: int
    raises: Annotated[float, Column("raise", ".4f")]
    equilibrium: float
    nash_conv: Annotated[float, Column("NashConv", ".4f")]
    allowed: Annotated[float, Column("LP bound", ".4f")]
    efficiency: Annotated[float | None, Column("efficiency", ".3f")]
    loss: Annotated[float, Column("own loss", ".4f")]
    allowed_by_loss: Annotated[float, Column("bound there", ".4f")]
    efficiency_by_loss: Annotated[float | None, Column("efficiency there", ".3f")]
    excess: float


@dataclass(frozen=True)
class PrefCFREfficiency(Experiment[EfficiencyRow]):
    """Frequencies of raises in Leduc poker by rule, degree and vulnerability, compared with linear programs.

    Parameters
    ----------
    degrees : tuple of float
    vulnerabilities : tuple of float
        Vulnerabilities in antes, in increasing order.
    styles : tuple of {"offensive", "defensive"}
    rules : tuple of {"rm", "br"}
    cards : int
        Number of cards in the game, 6 or 12.
    iterations : int
        Iterations of each run, which visit the whole game with simultaneous updates.
    jobs : int, optional
        Number of processes for the runs, as in :func:`~treeplex.validation.papers.experiment.sweep`.

    Notes
    -----
    The styles are those of figures 3 and 4, computed on the whole game instead of samples; see
    :func:`~treeplex.solvers.style_efficiency`. The paper has no such numbers, because it only compares styles with each
    other.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, sections 4 and 5.1.
    """

    degrees: Annotated[tuple[float, ...], Limits("[1, inf)")] = (2.0, 5.0, 10.0)
    vulnerabilities: Annotated[tuple[float, ...], Limits("[0, inf)")] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
    styles: Annotated[tuple[StyleName, ...], Limits(choices=("offensive", "defensive"))] = ("offensive", "defensive")
    rules: Annotated[tuple[Rule, ...], Limits(choices=("rm", "br"))] = ("rm", "br")
    cards: Annotated[int, Limits(choices=MERGED)] = 6
    iterations: Annotated[int, Limits("[1, inf)")] = 20_000
    jobs: int | None = None

    name = "pref-cfr-efficiency"
    title = "efficiency of the styles that Preference-CFR finds in Leduc poker"
    figure = "3, 4"
    axes = ("styles", "rules", "degrees", "vulnerabilities")
    paper = PREFERENCE_CFR
    criterion = (
        "the frequency of raises is in the range that linear programs allow at the strategy's own loss, and moves "
        f"towards the style with every larger vulnerability, except for {NOISE:g} because runs are finite"
    )

    quick_settings: ClassVar = {"degrees": (5.0, 10.0), "vulnerabilities": (0.0, 0.05, 0.1, 0.2)}
    full_settings: ClassVar = {"iterations": 200_000, "jobs": -1}

    def rows(self, tell: Tell) -> Iterator[EfficiencyRow]:
        """Yield the rows in the order of styles and rules, with increasing vulnerability for each degree."""
        tell("linear programs")
        exact_range(MERGED[self.cards], *RAISES)
        groups = [
            (f"{style}, rule {rule}", [(self.cards, style, rule, self.iterations)])
            for name, rule, degree in product(self.styles, self.rules, self.degrees)
            for style in (Style(name, degree, beta) for beta in sorted(self.vulnerabilities))
        ]
        last: EfficiencyRow | None = None
        for (row,) in sweep_groups(efficiency_row, groups, tell, self.jobs):
            last = row.failing(_against_vulnerability(row, last))
            yield last

    def claims(self, rows: Sequence[EfficiencyRow]) -> list[Claim]:
        """Return the paper's statements on degrees, and measurements that the paper does not report."""
        costly = [row for row in rows if row.vulnerability > 0.0]
        found = [
            Claim(
                "largest distance of raises from the equilibria's, without vulnerability",
                "converge to the unique NE",
                largest(abs(row.raises - row.equilibrium) for row in rows if not row.vulnerability),
            ).judged(lambda distance: distance <= NEAR, "the runs are too short"),
            Claim(
                "largest difference between degrees 5 and 10 with equal vulnerability",
                "negligible",
                largest(abs(one.raises - other.raises) for one, other in _pairs(costly)),
                reason="the run has no two degrees to compare",
            ).judged(lambda difference: difference <= NEGLIGIBLE, "degrees matter"),
        ]
        for rule in self.rules:
            own = [row.efficiency_by_loss for row in costly if row.rule == rule]
            ratios = [ratio for ratio in own if ratio is not None]
            text = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else None
            found.append(Claim(f"efficiency at the own loss with vulnerability, rule {rule}", None, text))
        return found

    def draw(self, rows: Sequence[EfficiencyRow]) -> "Figure":
        """Draw runs by loss and frequency of raises, between the exact limits; one panel per rule."""
        figure, grid = panels(1, len(self.rules), (5.2 * len(self.rules), 4.9), squeeze=False, sharey=True)
        # Degrees differ little: marks are hollow, and smaller marks lie inside larger ones.
        marks = zip(
            map(Look, cycle(("green", "blue", "red", "orange", "pink")), cycle("osD^v")),
            cycle((10, 7, 4)),
            strict=False,
        )
        looks = dict(zip(sorted(self.degrees), marks, strict=False))
        curve = exact_range(MERGED[self.cards], *RAISES) if rows else None
        for rule, axes in zip(self.rules, grid[0], strict=True):
            if curve is not None:
                how = {"color": Look("grey").hexadecimal, "alpha": 0.22, "linewidth": 0}
                axes.fill_betweenx(curve.knots, curve.losses, 10.0, **how, label="exact range at this loss")
                EQUILIBRIA.level(axes, rows[0].equilibrium, label="equilibria")
                axes.set_xlim(0.0, 1.06 * max(row.loss for row in rows))
            for degree, (look, size) in looks.items():
                for style in self.styles:
                    own = [row for row in rows if (row.rule, row.style, row.degree) == (rule, style, degree)]
                    losses, raises = [row.loss for row in own], [row.raises for row in own]
                    label = f"δ = {degree:g}" if style == self.styles[0] else None
                    look.plot(axes, losses, raises, label=label, markersize=size, markerfacecolor="none", linewidth=1.1)
            axes.set(xlabel="largest possible loss of player 0's strategy (antes)", title=f"rule {rule.upper()}")
            axes.set_ylim(-0.02, 1.02)
        grid[0][0].set_ylabel("raise at first")
        legend_below(figure, 5)
        return figure


def efficiency_row(cards: int, style: Style, rule: Rule, iterations: int) -> EfficiencyRow:
    """Return the row of one run, before comparing it with other runs."""
    spec = MERGED[cards]
    method = PrefCFR(style.preference, vulnerability=style.vulnerability, rule=rule)
    solution = completed(Nash(game_of(spec)), method, tol=0.0, max_iterations=iterations)
    found = style_efficiency(solution, share_of(spec, *RAISES), towards=style.towards, curve=exact_range(spec, *RAISES))
    return EfficiencyRow(
        cards=cards,
        style=style.name,
        rule=rule,
        degree=style.degree,
        vulnerability=style.vulnerability,
        iterations=solution.iterations,
        raises=found.achieved,
        equilibrium=sum(found.equilibrium) / 2,
        nash_conv=found.nash_conv,
        allowed=found.bound,
        efficiency=found.ratio,
        loss=found.loss,
        allowed_by_loss=found.bound_by_loss,
        efficiency_by_loss=found.ratio_by_loss,
        excess=found.excess,
        failure="" if found.excess <= ROUNDING else f"{found.excess:.1e} outside the range of the linear program",
    )


def _against_vulnerability(row: EfficiencyRow, before: EfficiencyRow | None) -> str:
    """Return a failure if a row contradicts the previous row, which differs only in its vulnerability."""
    if before is None or (before.style, before.rule, before.degree) != (row.style, row.rule, row.degree):
        return ""
    further = row.raises - before.raises if row.style == "offensive" else before.raises - row.raises
    if further > -NOISE:
        return ""
    return f"raises {row.raises:.4f}, but {before.raises:.4f} with beta {before.vulnerability:g}"


def _pairs(rows: Sequence[EfficiencyRow]) -> list[tuple[EfficiencyRow, EfficiencyRow]]:
    """Return the rows of degree 5 with the corresponding rows of degree 10."""

    def key(row: EfficiencyRow) -> tuple[str, str, float]:
        return row.style, row.rule, row.vulnerability

    ten = {key(row): row for row in rows if row.degree == 10.0}
    return [(row, ten[key(row)]) for row in rows if row.degree == 5.0 and key(row) in ten]
