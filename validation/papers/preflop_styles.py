"""Styles of the small blind before the flop by Preference-CFR, and the smallest loss with the same frequencies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np

from ...models.constraints import parse_constraint
from ...models.games.holdem.charts import action_colours, draw_cells
from ...models.games.holdem.classes import CLASSES
from ...models.games.holdem.equities import pairs
from ...models.games.holdem.preflop import Preflop
from ...models.preferences import Prefer
from ...models.problems import ConstrainedNash, Nash
from ...seqform.interchange.pictures import Figure, panels
from ...seqform.public_profile import PublicProfile
from ...solvers import DCFR, PrefCFR
from ..table import Column, Row, verdict
from .claims import Claim, near
from .experiment import Experiment, Limits, Tell, completed, largest
from .preference_runs import PREFERENCE_CFR

Rule = Literal["rm", "br"]
Updates = Literal["alternating", "simultaneous"]
#: The menu of the first decision, and the frequencies of its actions in the paper's strategies, in per cent.
MENU = ("fold", "call", "raise 2", "raise 3", "all-in")
PRINTED: Mapping[str, tuple[float, ...]] = {
    "normal": (5.4, 52.7, 42.0, 0.0, 0.0),
    "aggressive": (4.2, 64.8, 9.8, 21.1, 0.0),
    "loose-passive": (0.3, 73.3, 21.7, 4.7, 0.0),
}
#: The preferred actions of each style.
PREFERRED: Mapping[str, tuple[str, ...]] = {"aggressive": ("raise 2", "raise 3"), "loose-passive": ("call",)}
#: Table 2 in mBB/hand, by the style of the small blind and then of the big blind.
TABLE: Mapping[str, Mapping[str, float]] = {
    "aggressive": {"aggressive": 68.6, "normal": 58.7, "loose-passive": 67.6},
    "normal": {"aggressive": 80.2, "normal": 73.2, "loose-passive": 79.8},
    "loose-passive": {"aggressive": 74.7, "normal": 66.9, "loose-passive": 73.8},
}
#: The paper's δ and β, and a smaller β; each β is in big blinds, given the hand.
DEGREE, VULNERABILITY, SMALL = 5.0, 0.05, 0.015
#: The exploitability to which the normal style and linear programs are solved, in big blinds.
TOLERANCE = 0.0005
#: The paper's limit for the exploitability of the normal style, and the allowance for round-off, in mBB.
BAR, ROUNDING = 4.0, 1e-6
#: The permitted distance of frequencies from the printed ones, in percentage points, and of styles from the normal one
#: according to the text, in mBB.
POINTS, WITHIN = 1.0, 10.0
#: The reason why numbers differ from the printed ones.
OTHER_MODEL = "the paper gives neither stack sizes nor play after the flop; the model here differs"


def takes_beta(beta: float) -> str:
    """Return the reason why styles lose more than in the paper."""
    return f"β = {beta:g} lets each hand give up {1000 * beta:g} mBB, and styles use it"


@dataclass(frozen=True)
class _Styles:
    """The strategies of each style in one preflop model."""

    model: "_InModel"

    @cached_property
    def rules(self) -> Preflop:
        model = self.model
        return Preflop(stack=model.stack, streets=model.streets, continuations=model.continuations)

    @cached_property
    def found(self) -> dict[tuple[str, float], PublicProfile]:
        return {}

    def profile(self, style: str, beta: float) -> PublicProfile:
        """Return the strategies of both players if the small blind has a style and may give up β."""
        key = style, 0.0 if style == "normal" else beta
        if key not in self.found:
            game = self.rules.game
            if style == "normal":
                solution = completed(Nash(game), DCFR(), tol=TOLERANCE)
            else:
                solution = completed(
                    Nash(game), self.method(style, beta), tol=0.0, max_iterations=self.model.iterations
                )
            self.found[key] = PublicProfile.of(self.rules.public_form, solution.profile)
        return self.found[key]

    def method(self, style: str, beta: float) -> PrefCFR:
        """Return Preference-CFR with vulnerability β per hand (in counterfactual units, β times the hand's chance)."""
        dealt = pairs().sum(axis=1) / pairs().sum()
        preferences = [
            Prefer(list(PREFERRED[style]), DEGREE, player=0, infosets=((), name), vulnerability=beta * chance)
            for name, chance in zip(CLASSES, dealt.tolist(), strict=True)
        ]
        return PrefCFR(
            preferences, units="counterfactual", rule=self.model.rule, base="dcfr", updates=self.model.updates
        )

    def value_against(self, style: str, other: str, beta: float) -> float:
        """Return the winnings, in big blinds per hand, of one style as small blind against another as big blind."""
        mine, theirs = self.profile(style, beta), self.profile(other, beta)
        form = self.rules.public_form
        mixed = PublicProfile(form, lambda node: (theirs if form.players[node] else mine).behaviour(node))
        return mixed.value(0)

    def least_loss(self, style: str, frequencies: Sequence[float], value: tuple[float, float]) -> tuple[float, float]:
        """Return bounds on the smallest loss of any strategy with the style's frequencies, in big blinds."""
        taken = dict(zip(MENU, frequencies, strict=True))
        raises = taken["raise 2"] + taken["raise 3"]
        text = {
            "aggressive": f'"raise 2" + "raise 3" >= {raises!r}',
            "loose-passive": f"fold <= {taken['fold']!r}",
        }[style]
        game = self.rules.game
        solution = completed(ConstrainedNash(game, parse_constraint(text, game)), DCFR(), tol=TOLERANCE)
        assert solution.lower is not None
        assert solution.upper is not None
        return max(0.0, value[0] - solution.upper), max(0.0, value[1] - solution.lower)


@dataclass(frozen=True)
class PreflopStyleRow(Row):
    """One style of the small blind.

    Attributes
    ----------
    vulnerability : float
        β, in big blinds; 0 for the normal style.
    style : str
    fold, call, raise_2, raise_3, all_in : float
        The frequency of each action at the first decision, over all hands.
    paper : str
        The frequencies that the paper prints for its β.
    exploitability : float
        NashConv / 2 of both players' strategies, in mBB.
    loss : float
        The largest possible loss of the small blind's strategy relative to the value of the game, in mBB, proven by
        best responses.
    bound : float
        The largest possible loss of Preference-CFR in the limit: β, in mBB.
    least_low, least_high : float or None
        Bounds on the smallest loss of a strategy that folds as rarely, or raises as often, as this one, in mBB.
    strategy : tuple of tuple of float
        The frequency of each action for each of the 169 classes.
    """

    vulnerability: Annotated[float, Column("β", "g")]
    style: Annotated[str, Column("style")]
    fold: Annotated[float, Column("fold", ".3f")]
    call: Annotated[float, Column("call", ".3f")]
    raise_2: Annotated[float, Column("raise 2", ".3f")]
    raise_3: Annotated[float, Column("raise 3", ".3f")]
    all_in: Annotated[float, Column("all-in", ".3f")]
    paper: Annotated[str, Column("paper")]
    exploitability: Annotated[float, Column("exploitability", ".1f")]
    loss: Annotated[float, Column("loss", ".1f")]
    bound: float
    least_low: float | None
    least_high: Annotated[float | None, Column("least loss", ".1f")]
    strategy: tuple[tuple[float, ...], ...] = field(repr=False)

    @property
    def frequencies(self) -> tuple[float, ...]:
        """The frequencies in the order of the menu."""
        return self.fold, self.call, self.raise_2, self.raise_3, self.all_in


@dataclass(frozen=True)
class _InModel(Experiment[Row]):
    """The common settings of both experiments: the preflop model."""

    stack: Annotated[int, Limits("[4, 1000]")] = 100
    streets: Annotated[int, Limits("[1, 3]")] = 2
    continuations: Annotated[int, Limits("[0, 4]")] = 4
    iterations: Annotated[int, Limits("[1, inf)")] = 2_000
    rule: Annotated[Rule, Limits(choices=("rm", "br"))] = "rm"
    updates: Annotated[Updates, Limits(choices=("alternating", "simultaneous"))] = "alternating"
    vulnerabilities: Annotated[tuple[float, ...], Limits("[0, inf)")] = (VULNERABILITY, SMALL)

    paper = PREFERENCE_CFR
    full_settings: ClassVar = {"iterations": 10_000}


@dataclass(frozen=True)
class PrefCFRFigure5(_InModel):
    """Average action frequencies and charts of three styles of the small blind, heads-up.

    Parameters
    ----------
    stack, streets, continuations : int
        As in :class:`~treeplex.models.games.holdem.Preflop`.
    iterations : int
        Iterations of Preference-CFR.
    rule : {"rm", "br"}
        The rule: in proportion to regrets, or only the best action, as in the paper. Regrets are discounted as in DCFR.
    updates : {"alternating", "simultaneous"}
        Whether players update in turn or simultaneously; simultaneous updates need several times as many iterations
        here.
    vulnerabilities : tuple of float
        Values of β, the paper's and others, in big blinds.

    Notes
    -----
    The paper specifies neither the stack sizes nor the play after the flop in its game of 25 million states. The model
    here is the library's own. δ = 5, and β is 0.05 big blinds in the paper, at the first decision, given the hand.
    """

    styles: ClassVar[tuple[str, ...]] = tuple(PRINTED)

    name = "pref-cfr-figure-5"
    title = "preflop styles by Preference-CFR: action frequencies, charts, and their cost"
    figure = "5"
    criterion = (
        "loose-passive folds less often than normal, and aggressive raises more often; no style loses more than β, or "
        "less than the proven bound for its frequencies; normal is exploitable by at most 4 mBB"
    )

    @property
    def cases(self) -> list[tuple[str, float]]:
        """The normal style, and the other styles with each β."""
        return [("normal", 0.0), *((style, beta) for beta in self.vulnerabilities for style in self.styles[1:])]

    def rows(self, tell: Tell) -> Iterator[PreflopStyleRow]:
        """Yield the rows of the styles, the normal one first."""
        model, normal = _Styles(self), None
        for style, beta in self.cases:
            tell(f"{style}, β = {beta:g}" if beta else style)
            model.profile(style, beta)
            row = self._row(style, beta, model, normal, tell)
            normal = normal or row
            yield row

    def _row(
        self, style: str, beta: float, model: _Styles, normal: PreflopStyleRow | None, tell: Tell
    ) -> PreflopStyleRow:
        profile, equilibrium = model.profile(style, beta), model.profile("normal", beta)
        dealt = pairs().sum(axis=1) / pairs().sum()
        strategy = profile.behaviour(0)
        taken = (strategy @ dealt).tolist()
        fold, call, raise_2, raise_3, all_in = taken
        raises = raise_2 + raise_3
        value = -equilibrium.best_response_values[1], equilibrium.best_response_values[0]
        loss = max(0.0, value[1] + profile.best_response_values[1])
        least: tuple[float, ...] = ()
        if style != "normal":
            tell(f"{style}: the least loss")
            least = model.least_loss(style, taken, value)
        before = taken if normal is None else normal.frequencies
        exploitability, bound = 1000 * profile.exploitability, 1000 * beta
        return PreflopStyleRow(
            beta,
            style,
            fold,
            call,
            raise_2,
            raise_3,
            all_in,
            paper=" ".join(f"{share:g}" for share in PRINTED[style]),
            exploitability=exploitability,
            loss=1000 * loss,
            bound=bound,
            least_low=1000 * least[0] if least else None,
            least_high=1000 * least[1] if least else None,
            strategy=tuple(map(tuple, strategy.T.tolist())),
            failure=verdict(
                (
                    style == "loose-passive" and not fold < before[0],
                    f"folds {fold:.4f}, not less than {before[0]:.4f}",
                ),
                (
                    style == "aggressive" and not raises > before[2] + before[3],
                    f"raises {raises:.4f}, not more than {before[2] + before[3]:.4f}",
                ),
                (
                    style != "normal" and not 1000 * loss <= bound,
                    f"loses up to {1000 * loss:.1f} mBB, more than {bound:g}",
                ),
                (
                    bool(least) and not 1000 * loss >= 1000 * least[0] - ROUNDING,
                    f"loses {1000 * loss:.3f} mBB, less than the proven bound for its frequencies",
                ),
                (
                    style == "normal" and not exploitability <= BAR,
                    f"exploitable by {exploitability:.2f} mBB, more than {BAR:g}",
                ),
            ),
        )

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return how often each style takes each action, in the paper and here."""
        printed_for = {0.0, VULNERABILITY}
        styles = {
            row.style: row for row in rows if isinstance(row, PreflopStyleRow) and row.vulnerability in printed_for
        }
        found = [
            Claim(f"{row.style}: {action}, per cent of hands", printed, 100 * share).judged(
                near(printed, POINTS), OTHER_MODEL
            )
            for row in styles.values()
            for action, printed, share in zip(MENU, PRINTED[row.style], row.frequencies, strict=True)
        ]
        normal = styles.get("normal")
        if normal is not None and "loose-passive" in styles:
            share = styles["loose-passive"].fold / normal.fold if normal.fold else None
            claim = Claim("loose-passive: folds relative to normal's", 0.3 / 5.4, share)
            bound = "β bounds the regret of each hand, and if all of the worst hands call, the big blind adapts"
            found.append(claim.judged(near(0.3 / 5.4, POINTS / 100), bound))
        if normal is not None and "aggressive" in styles:
            bold = styles["aggressive"]
            more = bold.raise_2 + bold.raise_3 - normal.raise_2 - normal.raise_3
            claim = Claim("aggressive: raises more than normal, points", 9.8 + 21.1 - 42.0, 100 * more)
            found.append(claim.judged(near(9.8 + 21.1 - 42.0, POINTS), OTHER_MODEL))
            more = bold.raise_3 - normal.raise_3
            claim = Claim("aggressive: raises to 3 more than normal, points", 21.1, 100 * more)
            found.append(claim.judged(near(21.1, POINTS), OTHER_MODEL))
        return found

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Draw the chart of each style."""
        own = [row for row in rows if isinstance(row, PreflopStyleRow)]
        betas = [f", β = {row.vulnerability:g}" if row.vulnerability else "" for row in own]
        charts = [(row.style + beta, row.frequencies, row.strategy) for row, beta in zip(own, betas, strict=True)]
        return draw_charts(charts)


@dataclass(frozen=True)
class MatchRow(Row):
    """Two styles that play each other.

    Attributes
    ----------
    vulnerability : float
        β of all styles except the normal one, in big blinds.
    small_blind, big_blind : str
        The styles. The big blind plays the strategy trained against a small blind of its style.
    paper, value : float
        The small blind's winnings, in mBB/hand; the paper's winnings are with its β.
    least, most : float
        Bounds on the value, proven by best responses to both strategies.
    """

    vulnerability: Annotated[float, Column("β", "g")]
    small_blind: Annotated[str, Column("small blind")]
    big_blind: Annotated[str, Column("big blind")]
    paper: Annotated[float, Column("paper", ".1f")]
    value: Annotated[float, Column("mBB", ".1f")]
    least: Annotated[float, Column("at least", ".1f")]
    most: Annotated[float, Column("at most", ".1f")]


@dataclass(frozen=True)
class PrefCFRTable2(_InModel):
    """The winnings of styles against each other, heads-up, computed exactly in the model.

    Parameters
    ----------
    stack, streets, continuations, iterations, rule, updates, vulnerabilities
        As in :class:`PrefCFRFigure5`.
    """

    small_blinds: ClassVar[tuple[str, ...]] = ("normal", "aggressive", "loose-passive")
    big_blinds: ClassVar[tuple[str, ...]] = small_blinds

    name = "pref-cfr-table-2"
    title = "preflop styles against each other"
    figure = "table 2"
    criterion = "every player wins at least what its strategy guarantees; the normal styles win the value, within 4 mBB"
    axes = ("vulnerabilities", "small_blinds", "big_blinds")

    def rows(self, tell: Tell) -> Iterator[MatchRow]:
        """Yield the rows of the cells, the normal small blind's first."""
        model = _Styles(self)
        for beta, mine, theirs in self.cases:
            tell(f"β = {beta:g}: {mine} against {theirs}")
            value = 1000 * model.value_against(mine, theirs, beta)
            least = -1000 * model.profile(mine, beta).best_response_values[1]
            most = 1000 * model.profile(theirs, beta).best_response_values[0]
            failure = verdict(
                (not least - ROUNDING <= value <= most + ROUNDING, f"not between {least:.4f} and {most:.4f}"),
                (
                    mine == theirs == "normal" and not most - least <= 2 * BAR,
                    f"{least:.2f} to {most:.2f} is not a single value",
                ),
            )
            yield MatchRow(beta, mine, theirs, TABLE[mine][theirs], value, least, most, failure=failure)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return every printed number compared with ours, and the distance of styles from the normal one."""
        cells = [row for row in rows if isinstance(row, MatchRow)]
        found = [
            Claim(f"{row.small_blind} against {row.big_blind}, mBB/hand", row.paper, row.value).judged(
                near(row.paper, BAR), OTHER_MODEL
            )
            for row in cells
            if row.vulnerability == VULNERABILITY
        ]
        return found + [
            self._behind([row for row in cells if row.vulnerability == beta], style, beta)
            for beta in self.vulnerabilities
            for style in self.small_blinds[1:]
        ]

    def _behind(self, cells: Sequence[MatchRow], style: str, beta: float) -> Claim:
        """Return how much less a style wins than the normal small blind against the same big blinds."""
        normal = {row.big_blind: row for row in cells if row.small_blind == "normal"}
        own = [(row, normal[row.big_blind]) for row in cells if row.small_blind == style and row.big_blind in normal]
        here = largest(abs(row.value - other.value) for row, other in own)
        words = f"{style}, β = {beta:g}: furthest from the normal small blind against the same big blind, mBB"
        if beta != VULNERABILITY:
            return Claim(words, "within 10", here).judged(lambda here: here <= WITHIN, takes_beta(beta))
        there = largest(abs(row.paper - other.paper) for row, other in own)
        claim = Claim(f"{words} (text: within 10)", there, here)
        if there is None or there <= WITHIN:
            return claim.judged(lambda here: here <= WITHIN, takes_beta(beta))
        return claim.refuted(
            "tests/validation/test_preflop_styles.py::test_the_printed_table_is_not_within_10_mbb",
            "the paper's own table contradicts its text",
        )

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Draw the winnings of each small blind against each big blind, here and in the paper."""
        own = [row for row in rows if isinstance(row, MatchRow) and row.vulnerability == self.vulnerabilities[0]]
        here, there = (
            {(row.small_blind, row.big_blind): getattr(row, name) for row in own} for name in ("value", "paper")
        )
        return draw_tables(here, there, self.small_blinds, ("small blind", "big blind"))


def draw_charts(charts: Sequence[tuple[str, Sequence[float], Sequence[Sequence[float]]]]) -> "Figure":
    """Draw charts of the first decision, three per line.

    Parameters
    ----------
    charts : sequence of tuple
        A title, the frequency of each action of the menu over all hands, and its frequency for each of the 169 classes.
    """
    from matplotlib.patches import Patch

    lines = -(-len(charts) // 3)
    figure, grid = panels(lines, 3, (15.0, 0.6 + 5.0 * lines), squeeze=False)
    colours = action_colours(MENU)
    for place, axes in enumerate(grid.ravel()):
        if place >= len(charts):
            axes.axis("off")
            continue
        title, frequencies, strategy = charts[place]
        cells = [
            {"class": name, "reach": 1.0, "weight": 1.0} | dict(zip(MENU, taken, strict=True))
            for name, taken in zip(CLASSES, strategy, strict=True)
        ]
        draw_cells(axes, cells, colours)
        shares = ", ".join(f"{action} {100 * one:.1f}" for action, one in zip(MENU, frequencies, strict=True))
        axes.set_title(f"{title}\n{shares}", fontsize=9)
    handles = [Patch(facecolor=colour, label=action) for action, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(MENU), frameon=False)
    return figure


def draw_tables(
    here: Mapping[tuple[str, str], float | None],
    there: Mapping[tuple[str, str], float | None],
    styles: Sequence[str],
    seats: tuple[str, str],
) -> "Figure":
    """Draw the winnings of styles against each other in this model and in the paper; cells may be missing.

    Parameters
    ----------
    here, there : mapping of pairs of str to float
        Winnings in mBB/hand, by the styles of both sides.
    styles : sequence of str
        The styles in order.
    seats : two str
        The names of the sides: rows, then columns.
    """
    figure, (line,) = panels(1, 2, (9.0, 3.6), squeeze=False)
    for axes, found, title in zip(line, (here, there), ("this model", "paper"), strict=True):
        shown = np.array([[found.get((mine, theirs)) for theirs in styles] for mine in styles], dtype=float)
        image = axes.imshow(shown, cmap="Blues", aspect="auto")
        axes.grid(visible=False)
        for place, value in np.ndenumerate(shown):
            if np.isfinite(value):
                colour = "white" if image.norm(value) > 0.6 else "black"
                axes.text(place[1], place[0], f"{value:.1f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(styles)), styles)
        axes.set_yticks(range(len(styles)), styles)
        axes.set(title=f"{title}, mBB/hand", xlabel=seats[1], ylabel=seats[0])
    return figure
