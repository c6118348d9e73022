"""Figures 1 and 2 of the paper on Preference-CFR: player 0's bluffing frequency in Kuhn poker, and its cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...seqform.interchange.pictures import Figure, Look, legend_below, log_scale_of_few, panels
from ...solvers import CFR, PrefCFR
from ...solvers.methods.declarations import Updates
from ...solvers.style.efficiency import Towards
from ..table import Column, Row, verdict
from .claims import Claim, near
from .experiment import Experiment, Limits, Tell, largest
from .preference_runs import (
    PREFERENCE_CFR,
    ROUNDING,
    Band,
    Measured,
    Range,
    Run,
    exact_range,
    full_run,
    game_of,
    points_up_to,
    runs_of,
)

#: The game, and the measured quantity of a run: α, the probability that player 0 bets when holding the jack.
GAME, BLUFF = "kuhn", ("b", "J")
#: The largest exploitability (NashConv divided by two players) after 10,000 iterations, and after the paper's 10⁷
#: nodes; an iteration visits all 58 nodes.
EXPLOITABILITY, PAPER_EXPLOITABILITY = 0.005, 0.001
PAPER_ITERATIONS = 172_414
#: The permitted distance of the mean from its expected range.
SLACK = 0.02
#: The paper's table 1: player 0's betting probabilities at its infosets in every equilibrium, by α.
TABLE_1: dict[str, Callable[[float], float]] = {
    "J_": lambda alpha: alpha,
    "J_pb": lambda alpha: 0.0,
    "Q_": lambda alpha: 0.0,
    "Q_pb": lambda alpha: 1 / 3 + alpha,
    "K_": lambda alpha: 3 * alpha,
    "K_pb": lambda alpha: 1.0,
}


@dataclass(frozen=True)
class Setting:
    """The settings of runs, and the expected result.

    Attributes
    ----------
    name : str
        The name in the figure.
    preference : str
        In the form of :func:`~treeplex.models.preferences.parse_preference`; empty for CFR.
    rule : {"rm", "br"}
        The paper's Pref-CFR (RM) and Pref-CFR (BR).
    expected : tuple of float, optional
        The range in which the mean of α is expected; such settings must also reach the required exploitability.
    look : Look
        The style of the setting's curves.
    first_regrets : float
        The largest random initial regret, in payoff units.
    updates : {"simultaneous", "alternating"}
    """

    name: str
    preference: str
    rule: Literal["rm", "br"]
    expected: tuple[float, float] | None
    look: Look
    first_regrets: float = 1.0
    updates: Updates = "simultaneous"

    @property
    def method(self) -> Any:
        """The method to run."""
        how: dict[str, Any] = {"updates": self.updates, "initial_regrets": self.first_regrets}
        return PrefCFR(self.preference, rule=self.rule, **how) if self.preference else CFR(**how)

    @property
    def towards(self) -> Towards | None:
        """The end of α's range that the setting prefers."""
        return None if not self.preference else "high" if "/b" in self.preference else "low"

    @property
    def label(self) -> str:
        """The name in a legend."""
        if not self.preference:
            return self.name
        side = {"b": "bet", "p": "pass"}[self.preference[2]]
        return f"{self.name} {side} {self.preference.rpartition(':')[2]}, {self.rule.upper()}"


#: The settings of appendix C, in decreasing order of the expected α. Degrees apply to the first decisions. Bets are
#: drawn in warm colours and passes in cold ones; the rule RM is dashed.
SETTINGS = (
    Setting("(1)", "0/b@first:10", "br", (0.27, 0.32), Look("red")),
    Setting("(2)", "0/b@first:5", "br", (0.22, 0.32), Look("orange")),
    Setting("(3)", "0/b@first:5", "rm", (0.21, 0.25), Look("pink", line="--")),
    Setting("CFR", "", "rm", (0.18, 0.22), Look("black")),
    Setting("(4)", "0/p@first:5", "rm", (0.16, 0.19), Look("green", line="--")),
    Setting("(5)", "0/p@first:5", "br", (0.09, 0.14), Look("sky")),
    Setting("(6)", "0/p@first:10", "br", (0.03, 0.11), Look("blue")),
)
#: Pairs of settings that need not be in this order: where the ranges of (2) and (3) overlap, either may be larger.
UNORDERED = ("(3)",)


@dataclass(frozen=True)
class BluffRow(Row):
    """All runs of one setting: player 0's bluffing frequency, and its cost.

    Attributes
    ----------
    setting : str
    preference : str
        Empty for CFR.
    rule : str
    runs : int
    iterations : int
    bluff : Band
        α, the probability that player 0 bets when holding the jack.
    bluff_least, bluff_most : float
        Final values, over all runs.
    expected_low, expected_high : float or None
        The range in which the mean is expected.
    exploitability : Band
        NashConv divided by two players.
    worst_exploitability : float
        The final value of the worst run.
    allowed : Range
        The mean of the ranges of α that linear programs allow at the NashConv of the runs.
    excess, efficiency, efficiency_by_loss : float
        As in :class:`~treeplex.validation.papers.preference_runs.Measured`.
    off_table : float
        The final difference between player 0's behaviour and the equilibrium strategy of table 1 with the same α, at
        the infoset where it is largest, averaged over the runs.
    points : tuple of int
        Iterations at which curves were sampled.
    """

    setting: Annotated[str, Column("setting")]
    preference: Annotated[str, Column("preference", missing="none", width=12)]
    rule: Annotated[str, Column("rule")]
    runs: int
    iterations: int
    bluff: Annotated[Band, Column("alpha", ".4f"), Column("5 % to 95 %", "{bluff.spread:.4f}")]
    bluff_least: float
    bluff_most: float
    expected_low: float | None
    expected_high: float | None
    exploitability: Band
    worst_exploitability: Annotated[float, Column("exploitability", ".5f")]
    allowed: Annotated[Range, Column("allowed", ".3f")]
    excess: float
    efficiency: Annotated[float | None, Column("efficiency", ".3f")]
    efficiency_by_loss: float | None
    off_table: float
    points: tuple[int, ...]


def bluff_row(setting: Setting, runs: Sequence[Run], most: float = EXPLOITABILITY) -> BluffRow:
    """Summarise and judge the runs of a setting, each of which should end with an exploitability below ``most``."""
    found = Measured.of(exact_range(GAME, *BLUFF), runs, 0, setting.towards)
    exploitabilities = np.array([run.nash_convs for run in runs]) / 2
    bluffs, worst = [float(run.values[0][-1]) for run in runs], float(exploitabilities[:, -1].max())
    low, high = setting.expected or (0.0, 1.0)
    far = not low - SLACK <= found.values.end <= high + SLACK
    loose = setting.expected is not None and not worst < most
    return BluffRow(
        setting=setting.name,
        preference=setting.preference,
        rule=setting.rule,
        runs=len(runs),
        iterations=int(runs[0].work[-1]),
        bluff=found.values,
        bluff_least=min(bluffs),
        bluff_most=max(bluffs),
        expected_low=low if setting.expected else None,
        expected_high=high if setting.expected else None,
        exploitability=Band.of(exploitabilities),
        worst_exploitability=worst,
        allowed=found.allowed,
        excess=found.excess,
        efficiency=found.ratio,
        efficiency_by_loss=found.ratio_by_loss,
        off_table=float(np.mean([off_table(run) for run in runs])),
        points=tuple(map(int, runs[0].work)),
        failure=verdict(
            (far, f"alpha {found.values:.4f} is not within {SLACK:g} of {low:g} to {high:g}"),
            (loose, f"exploitability {worst:.2g}, expected below {most:g}"),
            (not found.excess <= ROUNDING, f"alpha is {found.excess:.1e} outside the range of the linear program"),
        ),
    )


def off_table(run: Run) -> float:
    """Return the largest difference between a run's behaviour and that of table 1 with the same α."""
    treeplex = game_of(GAME).sequence_form.treeplexes[0]
    bets = {label: float(run.behaviour[treeplex.sequence(label, "b")]) for label in TABLE_1}
    alpha = min(1 / 3, bets["J_"])
    return max(abs(bets[label] - entry(alpha)) for label, entry in TABLE_1.items())


@dataclass(frozen=True)
class KuhnRuns(Experiment[BluffRow]):
    """Convergence and the bluffing frequency, by iteration, for several settings in Kuhn poker.

    Parameters
    ----------
    runs : int
        Number of runs per setting, with different random initial regrets.
    iterations : int
        Iterations of each run.
    seed : int
        Seed of the first run; the other runs use the following seeds.
    jobs : int, optional
        Number of processes for the runs, as in :func:`~treeplex.validation.papers.experiment.sweep`.
    exploitability : float
        Upper bound on the final exploitability of every run.
    """

    runs: Annotated[int, Limits("[1, inf)")] = 30
    iterations: Annotated[int, Limits("[1, inf)")] = 10_000
    seed: Annotated[int, Limits("[0, inf)")] = 0
    jobs: int | None = None
    exploitability: Annotated[float, Limits("(0, inf)")] = EXPLOITABILITY

    axes = ("settings_of_runs",)
    paper = PREFERENCE_CFR
    legend_columns: ClassVar[int]

    @property
    def settings_of_runs(self) -> Sequence[Setting]:
        """The runs, in the order of the rows."""
        raise NotImplementedError

    def panel_of(self, setting: Setting) -> str:
        """Return the title of the panel with a setting's α."""
        return ""

    def rows(self, tell: Tell) -> Iterator[BluffRow]:
        """Yield a row per setting."""
        points = points_up_to(self.iterations, 10, 8)
        kinds = {setting.label: (GAME, setting.method, (BLUFF,), points) for setting in self.settings_of_runs}
        found = runs_of(full_run, kinds, range(self.seed, self.seed + self.runs), tell, self.jobs)
        for setting, runs in zip(self.settings_of_runs, found, strict=True):
            yield bluff_row(setting, runs, self.exploitability)

    def draw(self, rows: Sequence[BluffRow]) -> "Figure":
        """Draw exploitability and α by iteration, one curve per row, above the exact range of α."""
        settings = {setting.name: setting for setting in self.settings_of_runs}
        titles = list(dict.fromkeys(map(self.panel_of, settings.values())))
        figure, (errors, *panes) = panels(1, 1 + len(titles), (6.6 + 3.6 * len(titles), 4.7))
        for row in rows:
            setting = settings[row.setting]
            row.exploitability.draw(errors, row.points, setting.look, alpha=0.12, label=setting.label)
        for title, bluffs in zip(titles, panes, strict=True):
            own = [row for row in rows if self.panel_of(settings[row.setting]) == title]
            for row in own:
                # Ranges differ little: the grey is darkest where all of them overlap.
                Look("grey").shade(
                    bluffs, row.points, row.allowed.low, row.allowed.high, alpha=0.28 / len(own), zorder=0
                )
                row.bluff.draw(bluffs, row.points, settings[row.setting].look)
            Look("black", line=":").level(bluffs, 1 / 3)
            bluffs.set(title=title, ylim=(0.0, 0.7), ylabel="α: probability of a bet with the jack")
        for axes in (errors, *panes):
            axes.set(xlabel="iterations", xscale="log")
            if rows:
                axes.set_xlim(rows[0].points[0], rows[0].points[-1])
        Look("black", line="--").level(errors, self.exploitability, label=f"exploitability {self.exploitability:g}")
        errors.set_ylabel("exploitability (NashConv / 2, chips)")
        log_scale_of_few(errors)
        last = panes[-1]
        Look("grey").plot(last, [], [], alpha=0.5, linewidth=7, label="exact range of α at the runs' own NashConv")
        Look("black", line=":").plot(last, [], [], linewidth=1.0, label="largest α of an equilibrium, 1/3")
        legend_below(figure, self.legend_columns, errors, last)
        return figure


#: The reason why runs do not end at 0.2.
ELSEWHERE = "the end depends on the first regrets and the order of updates, or the run is too short to reach the limit"
#: The paper's initial regrets, and its limit of α with a tolerance for 10,000 iterations.
PAPER_START, EXPECTED = 1.0, (0.18, 0.22)
_WORDS: dict[Updates, str] = {"simultaneous": "both at once", "alternating": "in turn"}


@dataclass(frozen=True)
class PrefCFRFigure1(KuhnRuns):
    """Convergence of CFR in Kuhn poker and the bluffing frequency, by iteration, from random initial regrets.

    Parameters
    ----------
    runs, iterations, seed, jobs, exploitability
        As in :class:`KuhnRuns`.
    starts : tuple of float
        Upper limits of the random initial regrets, in payoff units; the paper's limit is 1.

    Notes
    -----
    Player 0's equilibrium strategies form a family with one parameter, the probability α of a bet with the jack, from 0
    to 1/3. The other player has only one equilibrium strategy. The paper finds that CFR ends at α = 0.2 "irrespective
    of the initial strategy", and conjectures that regret matching always has the same limit (conjecture 3.1).

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 1, table 1 and section 5.1.
    """

    starts: Annotated[tuple[float, ...], Limits("[0, inf)")] = (PAPER_START, 10.0)

    name = "pref-cfr-figure-1"
    title = "bluffing frequency of player 0 of Kuhn poker by CFR, from random starts"
    figure = "1"
    legend_columns = 2
    criterion = (
        "alpha is always in the range that the linear program allows at the run's NashConv and the strategy's loss; "
        f"with first regrets up to 1 and simultaneous updates, its mean is within {SLACK:g} of {EXPECTED[0]:g} to "
        f"{EXPECTED[1]:g}, and exploitability is below {EXPLOITABILITY:g} in every run (in the full size, below "
        f"{PAPER_EXPLOITABILITY:g})"
    )

    quick_settings: ClassVar = {"runs": 10}
    full_settings: ClassVar = {"iterations": 100_000, "jobs": -1, "exploitability": PAPER_EXPLOITABILITY}

    @property
    def settings_of_runs(self) -> list[Setting]:
        """Each range of initial regrets with simultaneous and with alternating updates."""
        colours = cycle(("blue", "red", "green", "orange", "pink", "sky"))
        return [
            Setting(
                f"{words}, first regrets up to {start:g}",
                "",
                "rm",
                EXPECTED if updates == "simultaneous" and start == PAPER_START else None,
                Look(next(colours)),
                start,
                updates,
            )
            for updates, words in _WORDS.items()
            for start in self.starts
        ]

    def panel_of(self, setting: Setting) -> str:
        """Return a description of the order of updates."""
        return _WORDS[setting.updates]

    def claims(self, rows: Sequence[BluffRow]) -> list[Claim]:
        """Return the paper's statements on CFR's limit and on the equilibria."""
        free = exact_range(GAME, *BLUFF).free
        ends = f"{free[0] + 0.0:.6g} to {free[1]:.6g}" if rows else None
        found = [
            Claim("least and greatest alpha of equilibria", "0 to 1/3", ends).judged(
                abs(free[0]) < ROUNDING and abs(free[1] - 1 / 3) < ROUNDING
            ),
            Claim(
                "largest difference of a run's behaviour from table 1 at its own alpha, averaged over the runs",
                None,
                largest(row.off_table for row in rows),
            ),
        ]
        for setting in self.settings_of_runs:
            row = next((row for row in rows if row.setting == setting.name), None)
            found.append(
                Claim(f"alpha, {setting.name}: mean", 0.2, None if row is None else row.bluff.end).judged(
                    near(0.2, SLACK), ELSEWHERE
                )
            )
            found.append(
                Claim(
                    f"alpha, {setting.name}: least and most of all runs",
                    "0.2 irrespective of the start",
                    None if row is None else f"{row.bluff_least:.4f} to {row.bluff_most:.4f}",
                ).judged(row is not None and 0.2 - SLACK <= row.bluff_least <= row.bluff_most <= 0.2 + SLACK, ELSEWHERE)
            )
        return found


@dataclass(frozen=True)
class PrefCFRFigure2(KuhnRuns):
    """Convergence and the bluffing frequency by iteration: CFR and six settings of Preference-CFR in Kuhn poker.

    Parameters
    ----------
    runs, iterations, seed, jobs, exploitability
        As in :class:`KuhnRuns`; both players are updated simultaneously.

    Notes
    -----
    The degrees apply to player 0's first decisions; with the rule ``br`` only one action is played at each infoset. The
    equilibrium strategies of player 0 form a family with one parameter, the probability α of a bet with the jack, from
    0 to 1/3 (the paper's table 1). If a run's NashConv is small, linear programs allow α from 0 to 1/3 + 3 NashConv.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies",
    ICML 2025, figure 2 and appendix C.
    """

    name = "pref-cfr-figure-2"
    title = "bluffing frequency of player 0 of Kuhn poker by six settings of Preference-CFR, and its cost"
    figure = "2"
    legend_columns = 4
    criterion = (
        f"the mean of alpha is within {SLACK:g} of the range expected for the setting, and (1) >= (2) > CFR > (4) > "
        f"(5) > (6); exploitability is below {EXPLOITABILITY:g} in every run (in the full size, below "
        f"{PAPER_EXPLOITABILITY:g}); and alpha is always in the range that the linear program allows at the run's "
        "NashConv and the strategy's loss"
    )

    quick_settings: ClassVar = {"runs": 10}
    full_settings: ClassVar = {"iterations": PAPER_ITERATIONS, "jobs": -1, "exploitability": PAPER_EXPLOITABILITY}

    @property
    def settings_of_runs(self) -> Sequence[Setting]:
        """The settings of the paper's appendix C, in decreasing order of the expected mean of α."""
        return SETTINGS

    def rows(self, tell: Tell) -> Iterator[BluffRow]:
        """Yield a row per setting, compared with the one above it."""
        above: BluffRow | None = None
        for row in super().rows(tell):
            if row.setting in UNORDERED:
                yield row
                continue
            yield row.failing("" if above is None else _not_below(row, above))
            above = row

    def claims(self, rows: Sequence[BluffRow]) -> list[Claim]:
        """Return the paper's statements on the settings."""
        by_name = {row.setting: row for row in rows}
        plain = by_name.get("CFR")
        preferring = [row for row in rows if row.preference]
        return [
            Claim("alpha at which CFR ends", 0.2, None if plain is None else plain.bluff.end).judged(
                near(0.2, SLACK), ELSEWHERE
            ),
            *(
                Claim(
                    f"alpha of {row.setting}: {row.preference}, {row.rule}",
                    "deviates from 0.2, the more the higher the degree",
                    row.bluff.end,
                ).judged(_deviates(row, by_name), "the runs are too short")
                for row in preferring
            ),
            Claim(
                "distance of alpha from 0.2 by rm, over that by br, with the same preferences, at most",
                "rm is notably inferior",
                largest(
                    abs(by_name[rm].bluff.end - 0.2) / abs(by_name[br].bluff.end - 0.2)
                    for rm, br in (("(3)", "(2)"), ("(4)", "(5)"))
                    if rm in by_name and br in by_name
                ),
            ).judged(lambda ratio: ratio < 1.0, "the runs are too short"),
            Claim(
                "largest exploitability of a run of Preference-CFR in the end; of CFR it is "
                + ("not known" if plain is None else f"{plain.worst_exploitability:.5f}"),
                "comparable to that of CFR",
                largest(row.worst_exploitability for row in preferring),
            ).judged(
                lambda worst: plain is not None and worst <= COMPARABLE * plain.worst_exploitability,
                f"more than {COMPARABLE:g} times that of CFR",
            ),
            Claim(
                "largest distance of alpha from the range that linear programs allow",
                None,
                largest(row.excess for row in rows),
            ),
        ]


#: The largest ratio of comparable exploitabilities, and pairs of settings that differ only by their degrees.
COMPARABLE = 2.0
_LOWER = {"(1)": "(2)", "(6)": "(5)"}


def _deviates(row: BluffRow, by_name: Mapping[str, BluffRow]) -> bool:
    """Whether α moves from 0.2 towards the preference, and farther than in the setting with a lower degree."""
    sign = 1.0 if "/b" in row.preference else -1.0
    lower = by_name.get(_LOWER.get(row.setting, ""))
    return sign * (row.bluff.end - 0.2) > 0.0 and (lower is None or sign * (row.bluff.end - lower.bluff.end) > 0.0)


def _not_below(row: BluffRow, above: BluffRow) -> str:
    """Return a failure if α is not below that of another setting; α of (1) and (2) may be equal."""
    equal = above.setting == "(1)" and row.bluff.end == above.bluff.end
    if equal or row.bluff.end < above.bluff.end:
        return ""
    return f"alpha is not below that of {above.setting}, {above.bluff:.4f}"
