"""Figure 4 of the paper on Preference-CFR: what a larger vulnerability does in Leduc poker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .experiment import Claim
from .preference_leduc import LeducStyles, Style, StyleRow


@dataclass(frozen=True)
class PrefCFRFigure4(LeducStyles):
    """The offensive style of degree 5 by its vulnerability, beside the style without preferences.

    Parameters
    ----------
    cards, rules, runs, histories, seed, jobs
        As :class:`~treeplex.validation.papers.preference_leduc.LeducStyles` has them.

    Notes
    -----
    The paper contradicts itself: by the caption a larger β makes calls more frequent, by the text raises. Preferred are
    raises.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 4.
    """

    name: ClassVar[str] = "pref-cfr-figure-4"
    title: ClassVar[str] = "the offensive style in Leduc poker by its vulnerability"
    figure: ClassVar[str] = "4"
    styles: ClassVar[tuple[Style, ...]] = (
        Style("offensive", 5, 0.5),
        Style("offensive", 5, 0.2),
        Style("offensive", 5, 0.1),
        Style("offensive", 5, 0.05),
        Style("normal"),
    )

    @classmethod
    def quick(cls) -> "PrefCFRFigure4":
        """Return it with 6 cards and 3 runs of each style."""
        return cls(cards=(6,), runs=3)

    @classmethod
    def full(cls) -> "PrefCFRFigure4":
        """Return it with 6 and 12 cards and the paper's 30 runs of 10⁷ histories, and a process a core."""
        return cls(jobs=-1)

    def _claims_of(self, rows: Sequence[StyleRow], where: str) -> list[Claim]:
        rising = sorted((row for row in rows if row.vulnerability), key=lambda row: row.vulnerability)
        listed = ", ".join(f"{row.raises:.3f}" for row in rising)
        called = ", ".join(f"{row.calls:.3f}" for row in rising)
        return [
            *super()._claims_of(rows, where),
            Claim(f"{where}: raises by rising beta", "text: more raises", listed or None),
            Claim(f"{where}: calls with a king by rising beta", "caption: more calls", called or None),
        ]
