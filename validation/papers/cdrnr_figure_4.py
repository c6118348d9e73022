"""Figure 4 of the paper on depth-limited responses: the part of a frontier that gadgets recover."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.problems import CDRNR, Nash
from ...seqform.interchange.pictures import Figure, Look, legend, panels
from ...seqform.strategy import Strategy
from ...solvers import Solution
from ...solvers.parametric.frontier import restricted_nash_frontier
from ..table import Column, Row, fields, verdict
from .cdrnr_responses import CONTINUAL_RESPONSES, GAINED, LOOKS, LOST, ROUND_OFF, WEIGHT
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed, largest

GAMES = ("gadget_trap_1", "gadget_trap_2")
ACTIONS = ("a1", "a2", "a3", "a4", "a5")
GADGETS = ("full", "resolving", "max-margin", "reach-max-margin")
#: The actions that each gadget recovers, as derived from the games' payoffs.
RECOVERED: Mapping[tuple[str, str], tuple[str, ...]] = {
    (game, gadget): ACTIONS if gadget == "full" or (gadget, game) == ("reach-max-margin", GAMES[0]) else ("a1", "a5")
    for game in GAMES
    for gadget in GADGETS
}
#: Probabilities of at least this count as one.
_PURE = 1.0 - 1e-6


@dataclass(frozen=True)
class RecoveryRow(Row):
    """One action with one gadget in one game.

    Attributes
    ----------
    game : str
    gadget : str
    action : str
    gain : float
        The action's gain against the model.
    exploitability : float
        The action's exploitability.
    least_p, most_p : float or None
        The range of p in which the gadget's response is this action; ``None`` if it never is.
    best_least_p, best_most_p : float
        The same for the restricted Nash response, from the frontier.
    """

    game: Annotated[str, Column("game")]
    gadget: Annotated[str, Column("gadget", width=16)]
    action: Annotated[str, Column("action")]
    gain: Annotated[float, Column("gain", "g")]
    exploitability: Annotated[float, Column("exploitability", "g")]
    least_p: Annotated[float | None, Column("played for p from", "{least_p:.4f} to {most_p:.4f}", missing="never")]
    most_p: float | None
    best_least_p: Annotated[float, Column("right", "{best_least_p:.4f} to {best_most_p:.4f}")]
    best_most_p: float

    @property
    def recovered(self) -> bool:
        """Whether the action is ever played."""
        return self.least_p is not None

    @property
    def share_of_bound(self) -> float | None:
        """Exploitability divided by p / (1 − p) times the gain, at the smallest p for which the action is played."""
        if self.least_p is None or self.least_p >= 1.0:  # in that case there is no bound
            return None
        bound = self.least_p / (1.0 - self.least_p) * self.gain
        return self.exploitability / bound if bound > 0.0 else 0.0 if self.exploitability <= 0.0 else float("inf")


@dataclass(frozen=True)
class CDRNRFigure4(Experiment[RecoveryRow]):
    """The exploiting actions, out of five, that each gadget plays for some p, in two games designed for this purpose.

    Parameters
    ----------
    points : int
        Number of values of p from 0 to 1. If neighbouring answers differ, the change is located between them.
    halvings : int
        Number of times this interval is halved.

    Notes
    -----
    The paper does not print its games. The library's own games have the same property: five actions are on the frontier
    of restricted Nash responses, but two gadgets find only two of them. The exploiter resolves its only decision from
    an equilibrium.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 4 and appendix C.
    """

    points: Annotated[int, Limits("[2, 10_000]")]
    halvings: Annotated[int, Limits("[0, 10_000]")]

    name = "cdrnr-figure-4"
    title = "exploiting actions that each gadget recovers, in two games designed to mislead gadgets"
    figure = "4"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "the full gadget plays each action for the same p as the restricted Nash response; resolving and "
        "max-margin play only the first and the last action, and reach max-margin does so in the second game"
    )

    quick_settings: ClassVar = {"points": 24, "halvings": 10}
    full_settings: ClassVar = {"points": 200, "halvings": 20}

    @property
    def num_rows(self) -> int:
        """One row per game, gadget and action."""
        return len(GAMES) * len(GADGETS) * len(ACTIONS)

    @property
    def accuracy(self) -> float:
        """The accuracy of a p at which the answer changes."""
        return 0.5**self.halvings / (self.points - 1) + 1e-6

    def rows(self, tell: Tell) -> Iterator[RecoveryRow]:
        """Yield the rows game by game and gadget by gadget."""
        for name in GAMES:
            game = load_game(name)
            assert game.rules is not None
            model = Strategy.from_dict(game, 1, getattr(game.rules, "model"))  # noqa: B009
            equilibrium = completed(Nash(game), "highs-simplex").profile
            frontier = restricted_nash_frontier(game, model, 0.0)
            ends = [0.0, *np.asarray(frontier.breakpoints).tolist(), 1.0]
            for gadget in GADGETS:
                tell(f"{name}: {gadget}")
                posed = partial(CDRNR, game, model, lookahead=1, gadget=gadget, blueprint=equilibrium, game_value=0.0)
                played = self._intervals(lambda p, posed=posed: _action(completed(posed(p=p))))  # type: ignore[misc]
                for number, action in enumerate(ACTIONS):
                    worth = float(frontier.gains[number]), float(frontier.exploitabilities[number])
                    best = ends[number], ends[number + 1]
                    least, most = played.get(action, (None, None))
                    yield self.judged(RecoveryRow(name, gadget, action, *worth, least, most, *best))

    def _intervals(self, answer: Callable[[float], str]) -> dict[str, tuple[float, float]]:
        """Return the range of p from 0 to 1 for each answer."""
        grid = np.linspace(0.0, 1.0, self.points).tolist()
        found = [answer(p) for p in grid]
        intervals: dict[str, tuple[float, float]] = {}
        start = 0.0
        for number in range(1, len(grid)):
            if found[number] == found[number - 1]:
                continue
            lower, upper = grid[number - 1], grid[number]
            for _ in range(self.halvings):
                middle = (lower + upper) / 2
                if answer(middle) == found[number - 1]:
                    lower = middle
                else:
                    upper = middle
            intervals[found[number - 1]] = (start, lower)
            start = upper
        return intervals | {found[-1]: (start, 1.0)}

    def judged(self, row: RecoveryRow) -> RecoveryRow:
        """Return a row with its failure, if there is one."""
        right = row.action in RECOVERED[row.game, row.gadget]
        if row.least_p is None or row.most_p is None:
            return row.failing("it is never played" if right else "")
        off = max(abs(row.least_p - row.best_least_p), abs(row.most_p - row.best_most_p))
        late = right and row.gadget == "full" and off > self.accuracy
        words = f"it is played for p from {row.least_p:.6f} to {row.most_p:.6f}"
        return row.failing(verdict((not right, "it is played"), (late, words)))

    def claims(self, rows: Sequence[RecoveryRow]) -> list[Claim]:
        """Return the number of actions that each gadget recovers."""
        claims = []
        for game in GAMES:
            for gadget in GADGETS:
                own = [row for row in rows if (row.game, row.gadget) == (game, gadget)]
                paper: float | None = 5 if gadget == "full" else 2 if gadget != "reach-max-margin" else None
                measured = sum(row.recovered for row in own) if len(own) == len(ACTIONS) else None
                claims.append(
                    Claim(f"{game}, {gadget}: actions recovered", paper, measured).judged(
                        measured == paper, "the paper does not print its games; these are the library's"
                    )
                )
        for gadget in GADGETS:
            shares = [row.share_of_bound for row in rows if row.gadget == gadget and row.share_of_bound is not None]
            words = f"{gadget}: exploitability over p / (1 - p) times the gain, at most"
            said = "at most 1" if gadget == "full" else None
            claims.append(Claim(words, said, largest(shares)).judged(lambda share: share <= 1.0 + ROUND_OFF))
        return claims

    def draw(self, rows: Sequence[RecoveryRow]) -> "Figure":
        """Draw a row of panels per game: the part of the frontier that each gadget plays, and the values of p."""
        games = list(dict.fromkeys(row.game for row in rows)) or [""]
        gadgets = list(dict.fromkeys(row.gadget for row in rows))
        size = 8.8, 0.6 + 2.7 * len(games)
        figure, axes = panels(len(games), 2, size, squeeze=False, sharex="col", width_ratios=(5, 6))
        for game, (curve, intervals) in zip(games, axes, strict=True):
            own = [row for row in rows if row.game == game]
            frontier = [row for row in own if row.gadget == gadgets[0]]
            Look("silver").plot(curve, *fields(frontier, "exploitability", "gain"))
            for place, gadget in enumerate(gadgets):
                look = LOOKS[gadget]
                played = [row for row in own if row.gadget == gadget and row.recovered]
                # Rings of increasing size keep coinciding points visible.
                ring = {"fillstyle": "none", "markersize": 5 + 4 * place, "markeredgewidth": 1.8, "label": gadget}
                Look(look.colour, "o", "").plot(curve, *fields(played, "exploitability", "gain"), **ring)
                for row in played:
                    assert row.least_p is not None
                    assert row.most_p is not None
                    shade = 0.35 + 0.65 * int(row.action[1:]) / 5
                    width, middle = row.most_p - row.least_p, (row.least_p + row.most_p) / 2
                    intervals.barh(
                        place, width, 0.62, row.least_p, color=look.hexadecimal, alpha=shade, edgecolor="white"
                    )
                    if width > 0.03:
                        intervals.text(middle, place, row.action, ha="center", va="center", fontsize="small")
            beside: dict[str, Any] = {"xytext": (9, -13), "textcoords": "offset points", "fontsize": "small"}
            for row in frontier:
                curve.annotate(row.action, (row.exploitability, row.gain), **beside)
            # The values of p at which the frontier changes, which should equal the gadget's own.
            for row in frontier[1:]:
                Look("slate", line=(0, (2, 2))).upright(intervals, row.best_least_p, zorder=0)
            curve.set(xlabel=LOST, ylabel=GAINED, title=game, xlim=(-2.5, 27), ylim=(1, 28.5))
            intervals.set_yticks(range(len(gadgets)), gadgets)
            intervals.invert_yaxis()
            intervals.grid(visible=False, axis="y")
            intervals.set(xlim=(0.0, 1.0), xlabel=WEIGHT, title="action played, by p")
        legend(axes[0][0], "lower right", fontsize="small", labelspacing=1.3)
        return figure


def _action(solution: Solution) -> str:
    """Return the action of a response, or the parts of a mixture."""
    plays = solution.profile[0]["_"]
    surest = max(plays, key=lambda action: plays[action])
    if plays[surest] >= _PURE:
        return str(surest)
    return " and ".join(str(action) for action, share in plays.items() if share > 1.0 - _PURE)
