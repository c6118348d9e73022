"""Figure 1 of the paper on Preference-CFR: at which equilibrium of Kuhn poker CFR ends, by where it starts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from ...solvers.methods.base import Updates
from .experiment import Claim, Experiment, Paper, Tell, check_numbers
from .preference_kuhn import BLUFF, EXPLOITABILITY, GAME, SLACK, BluffRow, Setting, bluff_row, kuhn_points
from .preference_runs import PREFERENCE_CFR, exact_range, full_run
from .sweeps import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The paper's start, and where it says that α ends, with the room that 10,000 iterations leave.
PAPER_START, EXPECTED = 1.0, (0.18, 0.22)
_WORDS: dict[Updates, str] = {"simultaneous": "both at once", "alternating": "in turn"}


@dataclass(frozen=True)
class PrefCFRFigure1(Experiment[BluffRow]):
    """Convergence of CFR in Kuhn poker, and the frequency of the bluff, by iteration, from random first regrets.

    Parameters
    ----------
    runs : int
        Of each start, with different random first regrets.
    iterations : int
        Of each run.
    starts : tuple of float
        Up to what the first regrets are random, in payoff units; the paper's are up to 1.
    seed : int
        Of the first run; the others have the next ones.
    jobs : int, optional
        How many processes share the runs, as :func:`~treeplex.validation.papers.sweeps.sweep` takes it.

    Notes
    -----
    Player 0's equilibrium strategies form a family with one parameter, the probability α of a bet holding the jack,
    from 0 to 1/3; the other player has one alone. The paper finds that CFR ends at α = 0.2 "irrespective of the initial
    strategy", and conjectures that regret matching has one limit always (conjecture 3.1).

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 1, table 1 and section 5.1.
    """

    runs: int = 30
    iterations: int = 10_000
    starts: tuple[float, ...] = (PAPER_START, 10.0)
    seed: int = 0
    jobs: int | None = None

    name: ClassVar[str] = "pref-cfr-figure-1"
    title: ClassVar[str] = "how often player 0 of Kuhn poker bluffs by CFR, from random starts"
    figure: ClassVar[str] = "1"
    paper: ClassVar[Paper] = PREFERENCE_CFR
    criterion: ClassVar[str] = (
        "alpha always within what the linear program allows at the run's own NashConv and at the strategy's own loss; "
        f"from first regrets up to 1, with both players at once, its mean within {SLACK:g} of {EXPECTED[0]:g} to "
        f"{EXPECTED[1]:g} and exploitability below {EXPLOITABILITY:g} in every run"
    )

    def __post_init__(self) -> None:
        check_numbers("the number of runs", (self.runs,), 1, whole=True)
        check_numbers("the number of iterations", (self.iterations,), 1, whole=True)
        check_numbers("the list of largest first regrets", self.starts, 0.0)
        check_numbers("the seed", (self.seed,), 0, whole=True)

    @classmethod
    def quick(cls) -> "PrefCFRFigure1":
        """Return it with 10 runs of each start."""
        return cls(10)

    @classmethod
    def full(cls) -> "PrefCFRFigure1":
        """Return it with the paper's 30 runs, ten times as long as the paper's, and a process a core."""
        return cls(iterations=100_000, jobs=-1)

    @property
    def settings_of_runs(self) -> list[Setting]:
        """Each start with both players at once, and in turn."""
        return [
            Setting(
                f"{_WORDS[updates]}, first regrets up to {start:g}",
                "",
                "rm",
                EXPECTED if updates == "simultaneous" and start == PAPER_START else None,
                start,
                updates,
            )
            for updates in _WORDS
            for start in self.starts
        ]

    @property
    def num_rows(self) -> int:
        """One for each start and order of updates."""
        return len(_WORDS) * len(self.starts)

    def rows(self, tell: Tell) -> Iterator[BluffRow]:
        """Yield a row a start, with both players at once and then in turn."""
        settings, points = self.settings_of_runs, kuhn_points(self.iterations)
        jobs = [
            (GAME, setting.method, (BLUFF,), points, self.seed + run)
            for setting in settings
            for run in range(self.runs)
        ]
        tell(f"CFR, {settings[0].name}")
        found = sweep(full_run, jobs, self.jobs)
        for place, setting in enumerate(settings):
            runs = list(islice(found, self.runs))
            if place + 1 < len(settings):
                tell(f"CFR, {settings[place + 1].name}")
            yield bluff_row(setting, runs)

    def claims(self, rows: Sequence[BluffRow]) -> list[Claim]:
        """Return what the paper says of CFR's limit and of the equilibria."""
        free = exact_range(GAME, *BLUFF).free
        ends = f"{free[0] + 0.0:.6g} to {free[1]:.6g}" if rows else None
        found = [
            Claim("least and greatest alpha of equilibria", "0 to 1/3", ends),
            Claim(
                "largest difference of a run's behaviour from table 1 at its own alpha, on the average of runs",
                None,
                max((row.off_table for row in rows), default=None),
            ),
        ]
        for setting in self.settings_of_runs:
            row = next((row for row in rows if row.setting == setting.name), None)
            found.append(Claim(f"alpha, {setting.name}: mean", 0.2, None if row is None else row.bluff))
            found.append(
                Claim(
                    f"alpha, {setting.name}: least and most of all runs",
                    "0.2 irrespective of the start",
                    None if row is None else f"{row.bluff_least:.4f} to {row.bluff_most:.4f}",
                )
            )
        return found

    def draw(self, rows: Sequence[BluffRow]) -> "Figure":
        """Draw exploitability and α by iteration, with the exact range of α behind."""
        from .preference_pictures import draw_starts

        return draw_starts(self, rows)
