"""Figure 2 of the paper on Preference-CFR: settings that lead to different equilibria of Kuhn poker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from .experiment import Claim, Experiment, Paper, Tell, check_numbers
from .preference_kuhn import BLUFF, EXPLOITABILITY, GAME, SETTINGS, SLACK, UNORDERED, BluffRow, bluff_row, kuhn_points
from .preference_runs import PREFERENCE_CFR, full_run
from .sweeps import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PrefCFRFigure2(Experiment[BluffRow]):
    """Convergence, and the frequency of the bluff, by iteration: six settings of Preference-CFR and CFR, Kuhn poker.

    Parameters
    ----------
    runs : int
        Of each setting, with different random first regrets.
    iterations : int
        Of each run, both players at once.
    seed : int
        Of the first run; the others have the next ones.
    jobs : int, optional
        How many processes share the runs, as :func:`~treeplex.validation.papers.sweeps.sweep` takes it.

    Notes
    -----
    The degrees are of player 0's first decisions; by the rule ``br`` all infosets play one action alone. The
    equilibrium strategies of player 0 form a family with one parameter, the probability α of a bet holding the jack,
    from 0 to 1/3 (the paper's table 1). What linear programs allow α to be at a run's own NashConv is 0 to
    1/3 + 3 NashConv as long as that is small.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 2 and appendix C.
    """

    runs: int = 30
    iterations: int = 10_000
    seed: int = 0
    jobs: int | None = None

    name: ClassVar[str] = "pref-cfr-figure-2"
    title: ClassVar[str] = "how often player 0 of Kuhn poker bluffs by six settings of Preference-CFR, and at what cost"
    figure: ClassVar[str] = "2"
    paper: ClassVar[Paper] = PREFERENCE_CFR
    criterion: ClassVar[str] = (
        f"the mean of alpha within {SLACK:g} of the range expected for the setting, (1) >= (2) > CFR > (4) > (5) > "
        f"(6), exploitability below {EXPLOITABILITY:g} in every run, and alpha always within what the linear program "
        "allows at the run's own NashConv and at the strategy's own loss"
    )

    def __post_init__(self) -> None:
        check_numbers("the number of runs", (self.runs,), 1, whole=True)
        check_numbers("the number of iterations", (self.iterations,), 1, whole=True)
        check_numbers("the seed", (self.seed,), 0, whole=True)

    @classmethod
    def quick(cls) -> "PrefCFRFigure2":
        """Return it with 10 runs of each setting."""
        return cls(10)

    @classmethod
    def full(cls) -> "PrefCFRFigure2":
        """Return it with the paper's 30 runs of 10,000 iterations, and a process a core."""
        return cls(jobs=-1)

    @property
    def num_rows(self) -> int:
        """One a setting."""
        return len(SETTINGS)

    def rows(self, tell: Tell) -> Iterator[BluffRow]:
        """Yield a row a setting, in the order in which the mean of α is to fall."""
        points = kuhn_points(self.iterations)
        jobs = [
            (GAME, setting.method, (BLUFF,), points, self.seed + run)
            for setting in SETTINGS
            for run in range(self.runs)
        ]
        tell(f"setting {SETTINGS[0].name}")
        found = sweep(full_run, jobs, self.jobs)
        above: BluffRow | None = None
        for place, setting in enumerate(SETTINGS):
            runs = list(islice(found, self.runs))
            if place + 1 < len(SETTINGS):
                tell(f"setting {SETTINGS[place + 1].name}")
            row = bluff_row(setting, runs)
            if setting.name not in UNORDERED:
                if above is not None and not _is_below(row, above):
                    row = bluff_row(setting, runs, [f"alpha is not below that of {above.setting}, {above.bluff:.4f}"])
                above = row
            yield row

    def claims(self, rows: Sequence[BluffRow]) -> list[Claim]:
        """Return what the paper says of the settings."""
        by_name = {row.setting: row for row in rows}
        plain = by_name.get("CFR")
        preferring = [row for row in rows if row.preference]
        return [
            Claim("alpha that CFR ends at", 0.2, None if plain is None else plain.bluff),
            *(
                Claim(
                    f"alpha of {row.setting}: {row.preference}, {row.rule}",
                    "deviates from 0.2, the more the higher the degree",
                    row.bluff,
                )
                for row in preferring
            ),
            Claim(
                "largest exploitability of a run of Preference-CFR in the end; of CFR it is "
                + ("not known" if plain is None else f"{plain.worst_exploitability:.5f}"),
                "comparable to that of CFR",
                max((row.worst_exploitability for row in preferring), default=None),
            ),
            Claim(
                "by how much alpha is outside of what linear programs allow",
                None,
                max((row.excess for row in rows), default=None),
            ),
        ]

    def draw(self, rows: Sequence[BluffRow]) -> "Figure":
        """Draw exploitability and α by iteration, with the exact range of α behind."""
        from .preference_pictures import draw_settings

        return draw_settings(self, rows)


def _is_below(row: BluffRow, above: BluffRow) -> bool:
    """Whether α is below that of another setting; (1) and (2) may be equal."""
    return row.bluff <= above.bluff if above.setting == "(1)" else row.bluff < above.bluff
