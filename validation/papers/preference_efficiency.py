"""How much of the style that its price would buy Preference-CFR finds, in Leduc poker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ...models.problems import Nash
from ...solvers import PrefCFR
from ...solvers.style.efficiency import style_efficiency
from .experiment import Claim, Experiment, Paper, Row, Tell, check_numbers
from .preference_leduc import MERGED, RAISES, Rule, Style, StyleName, check_choices
from .preference_runs import PREFERENCE_CFR, ROUNDING, exact_range, game_of, share_of
from .sweeps import sweep
from .transit import completed

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
    passed : bool
    failure : str
    """

    cards: int
    style: str
    rule: str
    degree: float
    vulnerability: float
    iterations: int
    raises: float
    equilibrium: float
    nash_conv: float
    allowed: float
    efficiency: float | None
    loss: float
    allowed_by_loss: float
    efficiency_by_loss: float | None
    excess: float
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        ratios = ["" if ratio is None else f"{ratio:.3f}" for ratio in (self.efficiency, self.efficiency_by_loss)]
        return {
            "style": f"{self.style:<9}",
            "rule": self.rule,
            "delta": f"{self.degree:g}",
            "beta": f"{self.vulnerability:g}",
            "raise": f"{self.raises:.4f}",
            "NashConv": f"{self.nash_conv:.4f}",
            "LP bound": f"{self.allowed:.4f}",
            "efficiency": ratios[0],
            "own loss": f"{self.loss:.4f}",
            "bound there": f"{self.allowed_by_loss:.4f}",
            "efficiency there": ratios[1],
        }


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
        How many processes share the runs, as :func:`~treeplex.validation.papers.sweeps.sweep` takes it.

    Notes
    -----
    The styles of figures 3 and 4, through the whole game in place of samples: see
    :func:`~treeplex.solvers.style_efficiency`. The paper has no such numbers: it compares styles with each other alone.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, sections 4 and 5.1.
    """

    degrees: tuple[float, ...] = (2.0, 5.0, 10.0)
    vulnerabilities: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
    styles: tuple[StyleName, ...] = ("offensive", "defensive")
    rules: tuple[Rule, ...] = ("rm", "br")
    cards: int = 6
    iterations: int = 20_000
    jobs: int | None = None

    name: ClassVar[str] = "pref-cfr-efficiency"
    title: ClassVar[str] = "how much of the style that its price would buy Preference-CFR finds in Leduc poker"
    figure: ClassVar[str] = "3, 4"
    paper: ClassVar[Paper] = PREFERENCE_CFR
    criterion: ClassVar[str] = (
        "the frequency of raises within what linear programs allow at the strategy's own loss, and further towards the "
        f"style with every larger vulnerability, but for {NOISE:g} that the length of a run leaves"
    )

    def __post_init__(self) -> None:
        check_numbers("the list of degrees", self.degrees, 1.0)
        check_numbers("the list of vulnerabilities", self.vulnerabilities, 0.0)
        check_choices("the list of styles", self.styles, ("offensive", "defensive"))
        check_choices("the list of rules", self.rules, ("rm", "br"))
        check_choices("the number of cards", (self.cards,), tuple(MERGED))
        check_numbers("the number of iterations", (self.iterations,), 1, whole=True)

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
        wanted = [
            (self.cards, Style(style, degree, beta), rule, self.iterations)
            for style in self.styles
            for rule in self.rules
            for degree in self.degrees
            for beta in sorted(self.vulnerabilities)
        ]
        tell(f"{wanted[0][1]}, rule {wanted[0][2]}")
        last: EfficiencyRow | None = None
        for place, row in enumerate(sweep(efficiency_row, wanted, self.jobs)):
            if place + 1 < len(wanted):
                tell(f"{wanted[place + 1][1]}, rule {wanted[place + 1][2]}")
            last = _ordered(row, last)
            yield last

    def claims(self, rows: Sequence[EfficiencyRow]) -> list[Claim]:
        """Return what the paper says of degrees, and what it does not ask."""
        costly = [row for row in rows if row.vulnerability > 0.0]
        found = [
            Claim(
                "largest distance of raises from the equilibria's, without vulnerability",
                "converge to the unique NE",
                max((abs(row.raises - row.equilibrium) for row in rows if not row.vulnerability), default=None),
            ),
            Claim(
                "largest difference between degrees 5 and 10 with equal vulnerability",
                "negligible",
                max((abs(one.raises - other.raises) for one, other in _pairs(costly)), default=None),
            ),
        ]
        for rule in self.rules:
            own = [row.efficiency_by_loss for row in costly if row.rule == rule]
            ratios = [ratio for ratio in own if ratio is not None]
            text = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else None
            found.append(Claim(f"efficiency at the own loss with vulnerability, rule {rule}", None, text))
        return found

    def draw(self, rows: Sequence[EfficiencyRow]) -> "Figure":
        """Draw raises against the own loss, below and above what linear programs allow."""
        from .preference_pictures import draw_efficiencies

        return draw_efficiencies(self, rows)


def efficiency_row(cards: int, style: Style, rule: Rule, iterations: int) -> EfficiencyRow:
    """Return the row of one run, as yet without looking at others."""
    spec = MERGED[cards]
    method = PrefCFR(style.preference, vulnerability=style.vulnerability, rule=rule)
    solution = completed(Nash(game_of(spec)), method, tol=0.0, max_iterations=iterations)
    found = style_efficiency(solution, share_of(spec, *RAISES), towards=style.towards, curve=exact_range(spec, *RAISES))
    said = "" if found.excess <= ROUNDING else f"{found.excess:.1e} outside of what the linear program allows"
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
        passed=not said,
        failure=said,
    )


def _ordered(row: EfficiencyRow, before: EfficiencyRow | None) -> EfficiencyRow:
    """Return a row with what is wrong beside the one before, if that differs in its vulnerability alone."""
    alike = before is not None and (before.style, before.rule, before.degree) == (row.style, row.rule, row.degree)
    if before is None or not alike:
        return row
    further = row.raises - before.raises if row.style == "offensive" else before.raises - row.raises
    if further > -NOISE:
        return row
    said = f"raises {row.raises:.4f}, and {before.raises:.4f} with beta {before.vulnerability:g}"
    return replace(row, passed=False, failure="; ".join(filter(None, (row.failure, said))))


def _pairs(rows: Sequence[EfficiencyRow]) -> list[tuple[EfficiencyRow, EfficiencyRow]]:
    """Return the rows of degree 5 beside those of degree 10 that are alike otherwise."""

    def key(row: EfficiencyRow) -> tuple[str, str, float]:
        return row.style, row.rule, row.vulnerability

    ten = {key(row): row for row in rows if row.degree == 10.0}
    return [(row, ten[key(row)]) for row in rows if row.degree == 5.0 and key(row) in ten]
