"""Figure 3 of the paper on Preference-CFR: offensive and defensive styles in Leduc poker."""

from dataclasses import dataclass
from typing import ClassVar

from .preference_leduc import LeducStyles, Style


@dataclass(frozen=True)
class PrefCFRFigure3(LeducStyles):
    """Styles of two degrees, with and without vulnerability, beside the style without preferences.

    Parameters
    ----------
    cards, rules, runs, histories, seed, jobs
        As :class:`~treeplex.validation.papers.preference_leduc.LeducStyles` has them.

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

    name: ClassVar[str] = "pref-cfr-figure-3"
    title: ClassVar[str] = "offensive and defensive styles in Leduc poker by sampled Preference-CFR"
    figure: ClassVar[str] = "3"
    styles: ClassVar[tuple[Style, ...]] = (
        Style("offensive", 10, 0.05),
        Style("offensive", 5, 0.05),
        Style("offensive", 10, 0.0),
        Style("normal"),
        Style("defensive", 10, 0.0),
        Style("defensive", 5, 0.05),
        Style("defensive", 10, 0.05),
    )

    @classmethod
    def quick(cls) -> "PrefCFRFigure3":
        """Return it with 6 cards and 3 runs of each style."""
        return cls(cards=(6,), runs=3)

    @classmethod
    def full(cls) -> "PrefCFRFigure3":
        """Return it with 6 and 12 cards and the paper's 30 runs of 10⁷ histories, and a process a core."""
        return cls(jobs=-1)
