"""How much of the style that its price would buy Preference-CFR finds, in Leduc poker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Annotated

from ...models.problems import Nash
from ...seqform.interchange.pictures import COLOURS, Look, legend_below, panels
from ...solvers import PrefCFR
from ...solvers.style.efficiency import style_efficiency
from ..table import Column, Row
from .experiment import Claim, Experiment, Limits, largest
from .preference_leduc import EQUILIBRIA, MERGED, RAISES, Rule, Style, StyleName
from .preference_runs import PREFERENCE_CFR, ROUNDING, exact_range, game_of, share_of
from .runs import Tell, completed, sweep_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: By how much a frequency may fall short of that with less vulnerability: runs of finite length differ by as much.
NOISE = 0.005


@dataclass(frozen=True)
class EfficiencyRow(Row):
    """One run, and what its price would have bought.

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
        That of equilibrium strategies.
    nash_conv : float
        Of the profile, antes.
    allowed : float
        The furthest that linear programs allow towards the style at that NashConv.
    efficiency : float or None
        Of the way from the equilibrium's frequency to that, the part that was gone.
    loss : float
        What player 0's strategy loses of the value of the game at most, antes.
    allowed_by_loss, efficiency_by_loss : float, float or None
        The same at that loss.
    excess : float
        By how much the frequency is outside of what its loss allows.
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
    """Frequencies of raises in Leduc poker by rule, degree and vulnerability, beside the linear programs'.

    Parameters
    ----------
    degrees : tuple of float
    vulnerabilities : tuple of float
        Antes, rising.
    styles : tuple of {"offensive", "defensive"}
    rules : tuple of {"rm", "br"}
    cards : int
        Of the game, 6 or 12.
    iterations : int
        Of each run through the whole game, both players at once.
    jobs : int, optional
        How many processes share the runs, as :func:`~treeplex.validation.papers.runs.sweep` takes it.

    Notes
    -----
    The styles of figures 3 and 4, through the whole game in place of samples: see
    :func:`~treeplex.solvers.style_efficiency`. The paper has no such numbers: it compares styles with each other alone.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, sections 4 and 5.1.
    """

    degrees: Annotated[tuple[float, ...], Limits(1)] = (2.0, 5.0, 10.0)
    vulnerabilities: Annotated[tuple[float, ...], Limits(0)] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
    styles: Annotated[tuple[StyleName, ...], Limits(choices=("offensive", "defensive"))] = ("offensive", "defensive")
    rules: Annotated[tuple[Rule, ...], Limits(choices=("rm", "br"))] = ("rm", "br")
    cards: Annotated[int, Limits(choices=MERGED)] = 6
    iterations: Annotated[int, Limits(1)] = 20_000
    jobs: int | None = None

    name = "pref-cfr-efficiency"
    title = "how much of the style that its price would buy Preference-CFR finds in Leduc poker"
    figure = "3, 4"
    paper = PREFERENCE_CFR
    criterion = (
        "the frequency of raises within what linear programs allow at the strategy's own loss, and further towards the "
        f"style with every larger vulnerability, but for {NOISE:g} that the length of a run leaves"
    )

    @classmethod
    def quick(cls) -> "PrefCFREfficiency":
        """Return it with 6 cards and two degrees."""
        return cls((5.0, 10.0), (0.0, 0.05, 0.1, 0.2))

    @classmethod
    def full(cls) -> "PrefCFREfficiency":
        """Return it with all degrees and vulnerabilities, ten times as long, and a process a core."""
        return cls(iterations=200_000, jobs=-1)

    @property
    def num_rows(self) -> int:
        """One a style, rule, degree and vulnerability."""
        return len(self.styles) * len(self.rules) * len(self.degrees) * len(self.vulnerabilities)

    def rows(self, tell: Tell) -> Iterator[EfficiencyRow]:
        """Yield the rows of a style by one rule after the other, with rising vulnerability for each degree."""
        tell("linear programs")
        exact_range(MERGED[self.cards], *RAISES)
        styles = [
            (rule, Style(style, degree, beta))
            for style in self.styles
            for rule in self.rules
            for degree in self.degrees
            for beta in sorted(self.vulnerabilities)
        ]
        groups = [(f"{style}, rule {rule}", [(self.cards, style, rule, self.iterations)]) for rule, style in styles]
        last: EfficiencyRow | None = None
        for (row,) in sweep_groups(efficiency_row, groups, tell, self.jobs):
            last = row.failing(_out_of_order(row, last))
            yield last

    def claims(self, rows: Sequence[EfficiencyRow]) -> list[Claim]:
        """Return what the paper says of degrees, and what it does not ask."""
        costly = [row for row in rows if row.vulnerability > 0.0]
        found = [
            Claim(
                "largest distance of raises from the equilibria's, without vulnerability",
                "converge to the unique NE",
                largest(abs(row.raises - row.equilibrium) for row in rows if not row.vulnerability),
            ),
            Claim(
                "largest difference between degrees 5 and 10 with equal vulnerability",
                "negligible",
                largest(abs(one.raises - other.raises) for one, other in _pairs(costly)),
            ),
        ]
        for rule in self.rules:
            own = [row.efficiency_by_loss for row in costly if row.rule == rule]
            ratios = [ratio for ratio in own if ratio is not None]
            text = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else None
            found.append(Claim(f"efficiency at the own loss with vulnerability, rule {rule}", None, text))
        return found

    def draw(self, rows: Sequence[EfficiencyRow]) -> "Figure":
        """Draw runs by what they lose and how often they raise, between the exact limits; a panel a rule."""
        figure, grid = panels(1, len(self.rules), (5.2 * len(self.rules), 4.9), squeeze=False, sharey=True)
        # Degrees differ by little: marks are hollow, and smaller ones lie in larger ones.
        marks = zip(
            map(Look, cycle(("green", "blue", "red", "orange", "pink")), cycle("osD^v")),
            cycle((10, 7, 4)),
            strict=False,
        )
        looks = dict(zip(sorted(self.degrees), marks, strict=False))
        curve = exact_range(MERGED[self.cards], *RAISES) if rows else None
        for rule, axes in zip(self.rules, grid[0], strict=True):
            if curve is not None:
                how = {
                    "color": COLOURS["grey"],
                    "alpha": 0.22,
                    "linewidth": 0,
                    "label": "what the loss allows, exactly",
                }
                axes.fill_betweenx(curve.knots, curve.losses, 10.0, **how)
                EQUILIBRIA.level(axes, rows[0].equilibrium, label="equilibria")
                axes.set_xlim(0.0, 1.06 * max(row.loss for row in rows))
            for degree, (look, size) in looks.items():
                for style in self.styles:
                    own = [row for row in rows if (row.rule, row.style, row.degree) == (rule, style, degree)]
                    losses, raises = [row.loss for row in own], [row.raises for row in own]
                    label = f"δ = {degree:g}" if style == self.styles[0] else None
                    look.plot(axes, losses, raises, label=label, markersize=size, markerfacecolor="none", linewidth=1.1)
            axes.set(xlabel="what player 0's strategy loses at most (antes)", title=f"rule {rule.upper()}")
            axes.set_ylim(-0.02, 1.02)
        grid[0][0].set_ylabel("raise at first")
        legend_below(figure, 5)
        return figure


def efficiency_row(cards: int, style: Style, rule: Rule, iterations: int) -> EfficiencyRow:
    """Return the row of one run, as yet without looking at others."""
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
        failure="" if found.excess <= ROUNDING else f"{found.excess:.1e} outside of what the linear program allows",
    )


def _out_of_order(row: EfficiencyRow, before: EfficiencyRow | None) -> str:
    """Say what is wrong with a row beside the one before, if that differs in its vulnerability alone."""
    if before is None or (before.style, before.rule, before.degree) != (row.style, row.rule, row.degree):
        return ""
    further = row.raises - before.raises if row.style == "offensive" else before.raises - row.raises
    if further > -NOISE:
        return ""
    return f"raises {row.raises:.4f}, and {before.raises:.4f} with beta {before.vulnerability:g}"


def _pairs(rows: Sequence[EfficiencyRow]) -> list[tuple[EfficiencyRow, EfficiencyRow]]:
    """Return the rows of degree 5 beside those of degree 10 that are alike otherwise."""

    def key(row: EfficiencyRow) -> tuple[str, str, float]:
        return row.style, row.rule, row.vulnerability

    ten = {key(row): row for row in rows if row.degree == 10.0}
    return [(row, ten[key(row)]) for row in rows if row.degree == 5.0 and key(row) in ten]
