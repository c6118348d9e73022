"""Preference-CFR in Kuhn poker, where one number tells the equilibrium strategies of player 0 apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...seqform.arrays import Floats
from ...solvers import CFR, PrefCFR
from ...solvers.methods.base import Updates
from ...solvers.style.efficiency import Towards, efficiency_at
from .experiment import Row
from .preference_runs import ROUNDING, Band, Run, exact_range, game_of, points_up_to

#: The game, and what is told of a run: α, with which player 0 bets holding the jack.
GAME, BLUFF = "kuhn", ("b", "J")
#: Exploitability, NashConv by two players, is to be below this in the end.
EXPLOITABILITY = 0.005
#: How far the mean may be outside of the range that it is expected in.
SLACK = 0.02
#: The paper's table 1: how often player 0 bets at its infosets, in every equilibrium, by α.
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
    """How runs are made, and what is expected of them.

    Attributes
    ----------
    name : str
        As the figure has it.
    preference : str
        As :func:`~treeplex.models.preferences.parse_preference` reads it; empty for CFR.
    rule : {"rm", "br"}
        The paper's Pref-CFR (RM) and Pref-CFR (BR).
    expected : tuple of float, optional
        Between which numbers the mean of α is expected to be, and then exploitability below :data:`EXPLOITABILITY`.
    first_regrets : float
        They are random up to this, in payoff units.
    updates : {"simultaneous", "alternating"}
    """

    name: str
    preference: str
    rule: Literal["rm", "br"]
    expected: tuple[float, float] | None
    first_regrets: float = 1.0
    updates: Updates = "simultaneous"

    @property
    def method(self) -> Any:
        """What runs."""
        how: dict[str, Any] = {"updates": self.updates, "initial_regrets": self.first_regrets}
        return PrefCFR(self.preference, rule=self.rule, **how) if self.preference else CFR(**how)

    @property
    def towards(self) -> Towards | None:
        """Which end of α's range the setting leans to."""
        return None if not self.preference else "high" if "/b" in self.preference else "low"


#: The settings of appendix C, in the order in which α is expected to fall. Degrees are of the first decisions.
SETTINGS = (
    Setting("(1)", "0/b@first:10", "br", (0.27, 0.32)),
    Setting("(2)", "0/b@first:5", "br", (0.22, 0.32)),
    Setting("(3)", "0/b@first:5", "rm", (0.21, 0.25)),
    Setting("CFR", "", "rm", (0.18, 0.22)),
    Setting("(4)", "0/p@first:5", "rm", (0.16, 0.19)),
    Setting("(5)", "0/p@first:5", "br", (0.09, 0.14)),
    Setting("(6)", "0/p@first:10", "br", (0.03, 0.11)),
)
_NAMES = frozenset(setting.name for setting in SETTINGS)
#: Settings that are not to be in that order: where the ranges of (2) and (3) overlap either may be above.
UNORDERED = ("(3)",)


@dataclass(frozen=True)
class BluffRow(Row):
    """All runs of one setting: how often player 0 bluffs, and what that costs.

    Attributes
    ----------
    setting : str
    preference : str
        Empty for CFR.
    rule : str
    runs : int
    iterations : int
    bluff : float
        α in the end, the probability with which player 0 bets holding the jack, on the average of the runs.
    bluff_low, bluff_high : float
        Between these are nine runs of ten.
    bluff_least, bluff_most : float
        Of all runs.
    expected_low, expected_high : float or None
        Where the mean is expected.
    exploitability : float
        In the end, NashConv by two players, on the average.
    worst_exploitability : float
        That of the worst run.
    allowed_low, allowed_high : float
        What linear programs allow α to be at the NashConv of the runs in the end, on the average.
    excess : float
        By how much any run, at any of its points, is outside of that range at its own NashConv; or outside of the
        narrower one at the own loss of player 0's strategy.
    efficiency, efficiency_by_loss : float or None
        Of the way from the equilibrium farthest from the style to the end of the range at the run's NashConv, and to
        that at its own loss, the part that was gone, on the average; ``None`` without a preference.
    off_table : float
        By how much player 0's behaviour at one of its infosets differs in the end, on the average, from the equilibrium
        strategy of table 1 with the same α: at the infoset where it differs most.
    points : tuple of int
        Iterations at which the following were looked at.
    bluff_curve, bluff_low_curve, bluff_high_curve : tuple of float
    exploitability_curve, exploitability_low_curve, exploitability_high_curve : tuple of float
    allowed_low_curve, allowed_high_curve : tuple of float
    passed : bool
    failure : str
    """

    setting: str
    preference: str
    rule: str
    runs: int
    iterations: int
    bluff: float
    bluff_low: float
    bluff_high: float
    bluff_least: float
    bluff_most: float
    expected_low: float | None
    expected_high: float | None
    exploitability: float
    worst_exploitability: float
    allowed_low: float
    allowed_high: float
    excess: float
    efficiency: float | None
    efficiency_by_loss: float | None
    off_table: float
    points: tuple[int, ...]
    bluff_curve: tuple[float, ...]
    bluff_low_curve: tuple[float, ...]
    bluff_high_curve: tuple[float, ...]
    exploitability_curve: tuple[float, ...]
    exploitability_low_curve: tuple[float, ...]
    exploitability_high_curve: tuple[float, ...]
    allowed_low_curve: tuple[float, ...]
    allowed_high_curve: tuple[float, ...]
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        return {
            "setting": self.setting if self.setting in _NAMES else f"{self.setting:<36}",
            "preference": self.preference or "none",
            "rule": self.rule,
            "alpha": f"{self.bluff:.4f}",
            "5 % to 95 %": f"{self.bluff_low:.4f} to {self.bluff_high:.4f}",
            "exploitability": f"{self.worst_exploitability:.5f}",
            "allowed": f"{self.allowed_low:.3f} to {self.allowed_high:.3f}",
            "efficiency": "" if self.efficiency is None else f"{self.efficiency:.3f}",
        }


def bluff_row(setting: Setting, runs: Sequence[Run], failures: Sequence[str] = ()) -> BluffRow:
    """Summarise and judge the runs of a setting; what else is wrong is said by the caller."""
    curve = exact_range(GAME, *BLUFF)
    nash_convs = np.array([run.nash_convs for run in runs])
    losses = np.maximum(0.0, curve.game_value - np.array([run.guarantees for run in runs]))
    bluffs = np.array([run.values[0] for run in runs])
    found = [
        [efficiency_at(curve, *numbers, setting.towards) for numbers in zip(*columns, strict=True)]
        for columns in zip(bluffs.tolist(), nash_convs.tolist(), losses.tolist(), strict=True)
    ]
    excess = max(one.excess for own in found for one in own)
    lows = np.array([[one.allowed[0] for one in own] for own in found]).mean(axis=0)
    highs = np.array([[one.allowed[1] for one in own] for own in found]).mean(axis=0)
    bluff, exploitability = Band.of(bluffs), Band.of(nash_convs / 2)
    worst = float(nash_convs[:, -1].max() / 2)
    said = [*failures]
    low, high = setting.expected or (None, None)
    if low is not None and high is not None:
        if not low - SLACK <= bluff.mean[-1] <= high + SLACK:
            said.append(f"alpha {bluff.mean[-1]:.4f} is not within {SLACK:g} of {low:g} to {high:g}")
        if not worst < EXPLOITABILITY:
            said.append(f"exploitability {worst:.2g}, expected below {EXPLOITABILITY:g}")
    if not excess <= ROUNDING:
        said.append(f"alpha is {excess:.1e} outside of what the linear program allows")
    last = [own[-1] for own in found] if setting.preference else []
    return BluffRow(
        setting=setting.name,
        preference=setting.preference,
        rule=setting.rule,
        runs=len(runs),
        iterations=int(runs[0].work[-1]),
        bluff=bluff.mean[-1],
        bluff_low=bluff.low[-1],
        bluff_high=bluff.high[-1],
        bluff_least=float(bluffs[:, -1].min()),
        bluff_most=float(bluffs[:, -1].max()),
        expected_low=low,
        expected_high=high,
        exploitability=exploitability.mean[-1],
        worst_exploitability=worst,
        allowed_low=float(lows[-1]),
        allowed_high=float(highs[-1]),
        excess=excess,
        efficiency=mean_of([one.ratio for one in last]),
        efficiency_by_loss=mean_of([one.ratio_by_loss for one in last]),
        off_table=float(np.mean([off_table(run) for run in runs])),
        points=tuple(map(int, runs[0].work)),
        bluff_curve=bluff.mean,
        bluff_low_curve=bluff.low,
        bluff_high_curve=bluff.high,
        exploitability_curve=exploitability.mean,
        exploitability_low_curve=exploitability.low,
        exploitability_high_curve=exploitability.high,
        allowed_low_curve=numbers_of(lows),
        allowed_high_curve=numbers_of(highs),
        passed=not said,
        failure="; ".join(said),
    )


def off_table(run: Run) -> float:
    """Return by how much a run's behaviour differs from table 1's with the same α, where it differs most."""
    treeplex = game_of(GAME).sequence_form.treeplexes[0]
    bets = {label: float(run.behaviour[treeplex.sequence(label, "b")]) for label in TABLE_1}
    alpha = min(1 / 3, bets["J_"])
    return max(abs(bets[label] - entry(alpha)) for label, entry in TABLE_1.items())


def mean_of(ratios: Sequence[float | None]) -> float | None:
    """Return the mean of what there is; ``None`` if there is nothing."""
    known = [ratio for ratio in ratios if ratio is not None]
    return float(np.mean(known)) if known else None


def numbers_of(vector: Floats) -> tuple[float, ...]:
    """Return a vector as a tuple of floats."""
    return tuple(map(float, vector))


def kuhn_points(iterations: int) -> list[int]:
    """Return after how many iterations runs are looked at."""
    return points_up_to(iterations, 10, 8)
