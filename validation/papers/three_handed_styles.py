"""Styles of the button in three-handed preflop play, and their winnings against each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.preferences import Prefer
from ...seqform.evaluate import best_response_values, expected_payoffs
from ...seqform.interchange.pictures import Figure
from ...seqform.joint_form import JointPayoff
from ...seqform.strategy import Profile, Strategy
from ...solvers import DCFR, EmpiricalRun, PrefCFR
from ..table import Column, Row, verdict
from .claims import Claim, near
from .experiment import Experiment, Limits, Tell, largest, sweep
from .preference_runs import PREFERENCE_CFR
from .preflop_styles import (
    BAR,
    DEGREE,
    MENU,
    OTHER_MODEL,
    POINTS,
    PREFERRED,
    VULNERABILITY,
    WITHIN,
    draw_charts,
    takes_beta,
)

#: Table 3, in mBB/hand: the style of the button, then of both blinds. One cell is not printed.
TABLE: Mapping[tuple[str, str], float | None] = {
    ("normal", "normal"): None,
    ("normal", "aggressive"): 247.2,
    ("normal", "loose-passive"): 251.0,
    ("aggressive", "normal"): 252.4,
    ("aggressive", "aggressive"): 253.7,
    ("aggressive", "loose-passive"): 253.9,
    ("loose-passive", "normal"): 252.2,
    ("loose-passive", "aggressive"): 256.3,
    ("loose-passive", "loose-passive"): 260.0,
}
#: The text's frequencies of actions, in per cent of hands: style, action of the menu, and frequency.
PRINTED = (
    ("normal", "fold", 61.4),
    ("normal", "call", 0.0),
    ("aggressive", "raise 3", 16.0),
    ("loose-passive", "call", 23.9),
)


@dataclass(frozen=True)
class Trained:
    """The result of a run of one style.

    Attributes
    ----------
    frequencies : tuple of float
        The frequencies at the button's first decision, in the order of the menu.
    gains : tuple of float
        Each player's gain from a best response to the others' average strategies, in big blinds.
    cce_gap : float
        The coarse-correlated gap of the recorded profiles, in big blinds.
    plans : list of ndarray
        The average plans.
    strategy : tuple of tuple of float
        The frequency of each action for each of the 169 classes at the button's first decision.
    """

    frequencies: tuple[float, ...]
    gains: tuple[float, ...]
    cce_gap: float
    plans: list[np.ndarray]
    strategy: tuple[tuple[float, ...], ...]


def train(stack: int, style: str, iterations: int, every: int, vulnerability: float) -> Trained:
    """Run discounted CFR with Preference-CFR's rule at the button's first decision, and return the result."""
    game = load_game("three_handed", stack=stack)
    method = (
        PrefCFR(
            [Prefer(list(PREFERRED[style]), DEGREE, player=0, first=True)],
            vulnerability,
            base="dcfr",
            updates="alternating",
            precision="single",
        )
        if style in PREFERRED
        else DCFR(precision="single")
    )
    run = EmpiricalRun(game, method)
    run.run(iterations, every)
    profile = run.play.average
    form = game.sequence_form
    assert isinstance(form.payoffs, JointPayoff)
    dealt = form.payoffs.form.deal.sum(axis=(1, 2), dtype=np.float64)
    first = np.array([list(profile[0][label].values()) for label in form.treeplexes[0].infoset_labels[: len(dealt)]])
    gains = best_response_values(game, profile) - expected_payoffs(game, profile)
    return Trained(
        tuple((dealt @ first).tolist()), tuple(gains.tolist()), run.play.cce_gap, list(profile.plans),
        strategy=tuple(map(tuple, first.tolist())),
    )  # fmt: skip


@dataclass(frozen=True)
class ThreeHandedRow(Row):
    """A style of the button against blinds of another style.

    Attributes
    ----------
    button, blinds : str
        The styles. The blinds play the strategies trained against a button of their style.
    paper : float or None
        The button's winnings in the paper, in mBB/hand; one number is missing.
    value : float
        The button's winnings here, computed exactly in the model.
    fold, call, raise_2, raise_3, all_in : float
        The frequency of each action at the button's first decision, over all hands.
    nash_conv : float
        NashConv of the three players' strategies in the run with the button's style, in mBB.
    cce_gap : float
        The coarse-correlated gap of the joint play of that run, in mBB.
    strategy : tuple of tuple of float
        The frequency of each action for each of the 169 classes, if the blinds have the button's style; otherwise
        empty.
    """

    button: Annotated[str, Column("button")]
    blinds: Annotated[str, Column("blinds")]
    paper: Annotated[float | None, Column("paper", ".1f")]
    value: Annotated[float, Column("mBB", ".1f")]
    fold: Annotated[float, Column("fold", ".3f")]
    call: Annotated[float, Column("call", ".3f")]
    raise_2: Annotated[float, Column("raise 2", ".3f")]
    raise_3: Annotated[float, Column("raise 3", ".3f")]
    all_in: Annotated[float, Column("all-in", ".3f")]
    nash_conv: Annotated[float, Column("NashConv", ".1f")]
    cce_gap: Annotated[float, Column("CCE gap", ".1f")]
    strategy: tuple[tuple[float, ...], ...] = field(repr=False)

    @property
    def frequencies(self) -> tuple[float, ...]:
        """The frequencies in the order of the menu."""
        return self.fold, self.call, self.raise_2, self.raise_3, self.all_in


@dataclass(frozen=True)
class PrefCFRTable3(Experiment[ThreeHandedRow]):
    """The winnings of the button's styles with three players, computed exactly in the model.

    Parameters
    ----------
    stack : int
        The stack size in big blinds.
    iterations : int
    every : int
        Number of iterations between recorded profiles, from which the average strategies and the joint play are
        computed.
    slack : float
        The largest permitted gain of a best response beyond β, in mBB, because runs are finite.
    vulnerability : float
        β, in big blinds; by default the paper's.

    Notes
    -----
    The paper specifies neither the stack sizes nor the play after the flop. The game here is ``three_handed``, in which
    hands are checked down. δ = 5, and β is 0.05 big blinds in the paper, at the button's first decision, given the
    hand. Regrets are discounted as in DCFR.
    """

    stack: Annotated[int, Limits("[4, 1000]")] = 25
    iterations: Annotated[int, Limits("[1, inf)")] = 100
    every: Annotated[int, Limits("[1, inf)")] = 2
    slack: Annotated[float, Limits("[0, inf)")] = 15.0
    vulnerability: Annotated[float, Limits("[0, inf)")] = VULNERABILITY

    name = "pref-cfr-table-3"
    title = "preflop styles against each other, with three players"
    figure = "table 3"
    paper = PREFERENCE_CFR
    criterion = (
        "no player gains more than β plus 15 mBB by a best response if the styles were trained together; "
        "loose-passive calls more often than normal, and aggressive raises more often"
    )
    quick_settings: ClassVar = {"iterations": 60, "every": 4}
    full_settings: ClassVar = {"iterations": 400}

    buttons: ClassVar[tuple[str, ...]] = ("normal", "aggressive", "loose-passive")
    blinds: ClassVar[tuple[str, ...]] = buttons
    axes = ("buttons", "blinds")

    def rows(self, tell: Tell) -> Iterator[ThreeHandedRow]:
        """Yield the rows of the cells, the normal button's first."""
        settings = [(self.stack, style, self.iterations, self.every, self.vulnerability) for style in self.buttons]
        found = {}
        for style, one in zip(self.buttons, sweep(train, settings), strict=True):
            tell(f"training the style {style}")
            found[style] = one
        game, normal = load_game("three_handed", stack=self.stack), found["normal"].frequencies
        for mine, theirs in self.cases:
            button, blinds = found[mine], found[theirs]
            plans = [button.plans[0], *blinds.plans[1:]]
            profile = Profile([Strategy.from_plan(game, player, np.asarray(plan)) for player, plan in enumerate(plans)])
            value = 1000 * float(expected_payoffs(game, profile)[0])
            fold, call, small, large, all_in = button.frequencies
            raised = sum(normal[2:4])
            gain = 1000 * max(button.gains)
            failure = verdict(
                (not gain <= 1000 * self.vulnerability + self.slack, f"a best response gains {gain:.1f} mBB"),
                (mine == "loose-passive" and not call > normal[1], f"calls {call:.4f}, normal {normal[1]:.4f}"),
                (
                    mine == "aggressive" and not small + large > raised,
                    f"raises {small + large:.4f}, normal {raised:.4f}",
                ),
            )
            yield ThreeHandedRow(
                mine, theirs, TABLE[mine, theirs], value, fold, call, small, large, all_in,
                nash_conv=1000 * sum(button.gains), cce_gap=1000 * button.cce_gap,
                strategy=button.strategy if mine == theirs else (), failure=failure,
            )  # fmt: skip

    def claims(self, rows: Sequence[ThreeHandedRow]) -> list[Claim]:
        """Return every printed number compared with ours."""
        own = {row.button: row for row in rows}
        return (
            [
                Claim(
                    f"{style}: {action}, per cent of hands", printed, 100 * own[style].frequencies[MENU.index(action)]
                ).judged(near(printed, POINTS), OTHER_MODEL)
                for style, action, printed in PRINTED
                if style in own
            ]
            + [
                Claim(f"{row.button} against {row.blinds}, mBB/hand", row.paper, row.value).judged(
                    near(row.paper, BAR), OTHER_MODEL
                )
                for row in rows
                if row.paper is not None
            ]
            + [self._behind(rows, style) for style in self.buttons[1:] if rows]
        )

    def _behind(self, rows: Sequence[ThreeHandedRow], style: str) -> Claim:
        """Return how much less a style wins than the normal button against the same blinds."""
        normal = {row.blinds: row for row in rows if row.button == "normal"}
        own = [(row, normal[row.blinds]) for row in rows if row.button == style and row.blinds in normal]
        apart = largest(abs(row.value - other.value) for row, other in own)
        words = f"{style}: furthest from the normal button against the same blinds, mBB"
        return Claim(words, "within 10", apart).judged(lambda apart: apart <= WITHIN, takes_beta(self.vulnerability))

    def draw(self, rows: Sequence[ThreeHandedRow]) -> "Figure":
        """Draw the chart of each button, as in the second row of figure 5."""
        return draw_charts([(row.button, row.frequencies, row.strategy) for row in rows if row.strategy])
