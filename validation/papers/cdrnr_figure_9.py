"""Figure 9 of the paper on depth-limited responses: the value of exploiting actions by gadget."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.problems import CDRNR, Nash
from ...seqform.arrays import Floats
from ...seqform.game import Game
from ...seqform.interchange.pictures import COLOURS, Figure, Look, legend, panels
from ...seqform.strategy import Profile, Strategy
from ..table import Column, Row, verdict
from .cdrnr_figure_4 import ACTIONS, GADGETS, GAMES, RECOVERED
from .cdrnr_responses import CONTINUAL_RESPONSES, ROUND_OFF, WEIGHT
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed

#: The gadgets for which, according to the paper, two actions dominate all others.
_DOMINATED = ("resolving", "max-margin")


@dataclass(frozen=True)
class WorthRow(Row):
    """The value of one action with one gadget in one game.

    Attributes
    ----------
    game, gadget, action : str
    worth_at_0, worth_at_1 : float
        The action's value in the gadget's game, in payoff units: against only the unrestricted opponent, and against
        only the model. In between, the value is linear in p.
    off_line : float
        The largest distance of a value from the line, 0 up to round-off.
    from_p, to_p : float or None
        The range of p in which no other action has a larger value; ``None`` if there is none.
    """

    game: Annotated[str, Column("game")]
    gadget: Annotated[str, Column("gadget", width=16)]
    action: Annotated[str, Column("action")]
    worth_at_0: Annotated[float, Column("value at p = 0", ".2f")]
    worth_at_1: Annotated[float, Column("at p = 1", ".2f")]
    off_line: float
    from_p: Annotated[float | None, Column("best for p from", "{from_p:.4f} to {to_p:.4f}", missing="never")]
    to_p: float | None

    @property
    def is_best(self) -> bool:
        """Whether the action is ever best."""
        return self.from_p is not None


@dataclass(frozen=True)
class CDRNRFigure9(Experiment[WorthRow]):
    """The values of five exploiting actions in the gadget games of two games.

    Parameters
    ----------
    points : int
        The number of p between 0 and 1 at which the step's program is evaluated. The values are compared with the line
        through those at 0 and at the last p.

    Notes
    -----
    The games and the blueprint are those of figure 4. The actions that a gadget plays for some p are on the upper
    envelope of these lines; an action that is below the envelope for all p is never played.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 9 and appendix C.
    """

    points: Annotated[int, Limits("[2, 10_000]")]

    name = "cdrnr-figure-9"
    title = "the value of exploiting actions by p in the games with gadgets, for two games designed to mislead gadgets"
    figure = "9"
    paper = CONTINUAL_RESPONSES
    criterion = "the best actions for some p are those that figure 4 expects of the gadget, and values are linear in p"

    quick_settings: ClassVar = {"points": 3}
    full_settings: ClassVar = {"points": 99}

    @property
    def num_rows(self) -> int:
        """One row per game, gadget and action."""
        return len(GAMES) * len(GADGETS) * len(ACTIONS)

    def rows(self, tell: Tell) -> Iterator[WorthRow]:
        """Yield the rows game by game and gadget by gadget."""
        for name in GAMES:
            game = load_game(name)
            assert game.rules is not None
            model = Strategy.from_dict(game, 1, getattr(game.rules, "model"))  # noqa: B009
            equilibrium = completed(Nash(game), "highs-simplex").profile
            for gadget in GADGETS:
                tell(f"{name}: {gadget}")
                ps = np.linspace(0.0, 1.0, self.points + 2)[:-1]
                worths = np.array([_worths(game, model, equilibrium, gadget, p) for p in ps.tolist()])
                start, last = worths[0], worths[0] + (worths[-1] - worths[0]) / ps[-1]
                off = np.abs(worths - np.outer(1.0 - ps, start) - np.outer(ps, last)).max(axis=0)
                for number, (action, span) in enumerate(zip(ACTIONS, _envelope(start, last), strict=True)):
                    line = float(start[number]), float(last[number]), float(off[number])
                    yield self.judged(WorthRow(name, gadget, action, *line, *(span or (None, None))))

    def judged(self, row: WorthRow) -> WorthRow:
        """Return a row with its failure, if there is one."""
        right = row.action in RECOVERED[row.game, row.gadget]
        found = "it is best for some p" if row.is_best else "it is never best"
        return row.failing(verdict((row.is_best != right, found), (row.off_line > ROUND_OFF, "it is not linear in p")))

    def claims(self, rows: Sequence[WorthRow]) -> list[Claim]:
        """Return the number of actions that are best for some p."""
        claims = []
        for game in GAMES:
            for gadget in ("full", *_DOMINATED):
                own = [row for row in rows if (row.game, row.gadget) == (game, gadget)]
                paper = 2 if gadget in _DOMINATED else len(ACTIONS)
                measured = sum(row.is_best for row in own) if len(own) == len(ACTIONS) else None
                claims.append(
                    Claim(f"{game}, {gadget}: actions that are best for some p", paper, measured).judged(
                        measured == paper, "the paper does not print its games; these are the library's"
                    )
                )
        return claims

    def draw(self, rows: Sequence[WorthRow]) -> "Figure":
        """Draw a row of panels per game, one per gadget: each action's line, bold where the action is best."""
        games = list(dict.fromkeys(row.game for row in rows)) or [""]
        gadgets = list(dict.fromkeys(row.gadget for row in rows)) or [""]
        size = 0.8 + 2.6 * len(gadgets), 0.6 + 2.7 * len(games)
        figure, axes = panels(len(games), len(gadgets), size, squeeze=False, sharex=True)
        colours = dict(zip(ACTIONS, COLOURS, strict=False))
        for game, line in zip(games, axes, strict=True):
            for gadget, panel in zip(gadgets, line, strict=True):
                for row in (each for each in rows if (each.game, each.gadget) == (game, gadget)):
                    ends, width = (row.worth_at_0, row.worth_at_1), 2.4 if row.is_best else 0.8
                    Look(colours[row.action]).plot(panel, (0.0, 1.0), ends, linewidth=width, label=row.action)
                panel.set(title=gadget, xlabel=WEIGHT, xlim=(0.0, 1.0))
            line[0].set_ylabel(f"worth, {game}")
        legend(axes[0][0], "lower right", fontsize="small")
        return figure


def _worths(game: Game, model: Strategy, equilibrium: Profile, gadget: str, p: float) -> Floats:
    """Return the value of each action in a gadget's game."""
    posed = CDRNR(game, model, p=p, lookahead=1, gadget=gadget, blueprint=equilibrium, game_value=0.0)
    program = posed.start().program(0)
    plans = (Strategy.from_dict(game, 0, {"_": {action: 1.0}}).plan for action in ACTIONS)
    return np.array([program.guaranteed(plan[program.sequences]) for plan in plans])


def _envelope(first: Floats, last: Floats) -> list[tuple[float, float] | None]:
    """Return the range of p from 0 to 1 in which each of several lines is highest; ``None`` if it never is."""
    found: list[tuple[float, float] | None] = []
    for own in range(len(first)):
        low, high = 0.0, 1.0
        for ahead, rise in zip((first[own] - first).tolist(), (last[own] - last).tolist(), strict=True):
            # The line exceeds another line by ahead + p (rise - ahead), which is at least 0 on one side of some p.
            slope = rise - ahead
            if slope > 0.0:
                low = max(low, -ahead / slope)
            elif slope < 0.0:
                high = min(high, -ahead / slope)
            elif ahead < 0.0:
                high = -1.0
        found.append((low, high) if high - low > ROUND_OFF else None)
    return found
