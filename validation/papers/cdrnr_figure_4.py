"""Figure 4 of the paper on depth-limited responses: what gadgets recover of a frontier."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.problems import CDRNR, Nash
from ...seqform.errors import SolverError, UnsupportedProblemError
from ...seqform.strategy import Profile, Strategy
from ...solvers import Solution, Status, solve
from .depth_limited import CONTINUAL_RESPONSES
from .experiment import Claim, Experiment, Paper, Row, Tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...seqform.game import Game

GAMES = ("gadget_trap_1", "gadget_trap_2")
ACTIONS = ("a1", "a2", "a3", "a4", "a5")
GADGETS = ("full", "resolving", "max-margin", "reach-max-margin")
#: What each gadget recovers, by the games' payoffs.
RECOVERED: Mapping[tuple[str, str], tuple[str, ...]] = {
    (game, gadget): ACTIONS if gadget == "full" or (gadget, game) == ("reach-max-margin", GAMES[0]) else ("a1", "a5")
    for game in GAMES
    for gadget in GADGETS
}
#: Probabilities from here on count as one.
_PURE = 1.0 - 1e-6


@dataclass(frozen=True)
class RecoveryRow(Row):
    """One action, by one gadget in one game.

    Attributes
    ----------
    game : str
    gadget : str
    action : str
    gain : float
        Of the action against the model.
    exploitability : float
        Of the action.
    least_p, most_p : float or None
        From which p to which the gadget's response is the action; ``None`` if it never is.
    best_least_p, best_most_p : float
        The same for the restricted Nash response: the answers of the frontier.
    passed : bool
    failure : str
    """

    game: str
    gadget: str
    action: str
    gain: float
    exploitability: float
    least_p: float | None
    most_p: float | None
    best_least_p: float
    best_most_p: float
    passed: bool
    failure: str = ""

    @property
    def recovered(self) -> bool:
        """Whether the action is ever played."""
        return self.least_p is not None

    @property
    def share_of_bound(self) -> float | None:
        """Exploitability over p / (1 − p) times the gain, at the least p with which the action is played."""
        if self.least_p is None:
            return None
        bound = self.least_p / (1.0 - self.least_p) * self.gain
        return self.exploitability / bound if bound > 0.0 else 0.0 if self.exploitability <= 0.0 else float("inf")

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        played = "never" if self.least_p is None else f"{self.least_p:.4f} to {self.most_p:.4f}"
        return {
            "game": self.game,
            "gadget": self.gadget,
            "action": self.action,
            "gain": f"{self.gain:g}",
            "exploitability": f"{self.exploitability:g}",
            "played for p from": played,
            "right": f"{self.best_least_p:.4f} to {self.best_most_p:.4f}",
        }


@dataclass(frozen=True)
class CDRNRFigure4(Experiment[RecoveryRow]):
    """Which of five exploiting actions each gadget plays for some p, in two games made for that.

    Parameters
    ----------
    points : int
        So many p from 0 to 1 are tried; where the answers of neighbours differ, the change is looked for between them.
    halvings : int
        How often that interval is halved.

    Notes
    -----
    The paper does not print its games. These are of the library, with the same property: five actions, each of them on
    the frontier of restricted Nash responses, of which two gadgets find two. The exploiter resolves its one decision
    from an equilibrium.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 4 and appendix C.
    """

    points: int
    halvings: int

    name: ClassVar[str] = "cdrnr-figure-4"
    title: ClassVar[str] = "which exploiting actions each gadget recovers, in two games made to mislead gadgets"
    figure: ClassVar[str] = "4"
    paper: ClassVar[Paper] = CONTINUAL_RESPONSES
    criterion: ClassVar[str] = (
        "the full gadget plays each action for the p for which the restricted Nash response does; resolving and "
        "max-margin play the first and the last action alone, and reach max-margin does so in the second game"
    )

    def __post_init__(self) -> None:
        for name, least in (("points", 2), ("halvings", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 10_000:
                raise UnsupportedProblemError(
                    f"{self.name}: {name} is {value!r}, expected a whole number from {least} to 10000"
                )

    @classmethod
    def quick(cls) -> "CDRNRFigure4":
        """Return it with few p."""
        return cls(points=24, halvings=10)

    @classmethod
    def full(cls) -> "CDRNRFigure4":
        """Return it with many."""
        return cls(points=200, halvings=20)

    @property
    def num_rows(self) -> int:
        """One a game, gadget and action."""
        return len(GAMES) * len(GADGETS) * len(ACTIONS)

    @property
    def accuracy(self) -> float:
        """How far a p at which the answer changes may be off."""
        return 0.5**self.halvings / (self.points - 1) + 1e-6

    def rows(self, tell: Tell) -> Iterator[RecoveryRow]:
        """Yield the rows game by game and gadget by gadget."""
        from ...solvers.parametric.frontier import restricted_nash_frontier

        for name in GAMES:
            game = load_game(name)
            assert game.rules is not None
            model = Strategy.from_dict(game, 1, getattr(game.rules, "model"))  # noqa: B009
            equilibrium = solve(Nash(game), "highs-simplex").profile
            frontier = restricted_nash_frontier(game, model, 0.0)
            ends = [0.0, *np.asarray(frontier.breakpoints).tolist(), 1.0]
            for gadget in GADGETS:
                tell(f"{name}: {gadget}")

                answer = _answers(game, model, equilibrium, gadget)
                played = self._intervals(answer)
                for number, action in enumerate(ACTIONS):
                    yield self._judged(
                        name,
                        gadget,
                        action,
                        (float(frontier.gains[number]), float(frontier.exploitabilities[number])),
                        played.get(action),
                        (ends[number], ends[number + 1]),
                    )

    def _intervals(self, answer: Callable[[float], str]) -> dict[str, tuple[float, float]]:
        """Return from where to where each answer is given, for p from 0 to 1."""
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

    def _judged(
        self,
        game: str,
        gadget: str,
        action: str,
        worth: tuple[float, float],
        played: tuple[float, float] | None,
        best: tuple[float, float],
    ) -> RecoveryRow:
        failure = ""
        right = action in RECOVERED[game, gadget]
        if right != (played is not None):
            failure = "it is never played" if right else "it is played"
        elif gadget == "full" and played is not None:
            off = max(abs(one - other) for one, other in zip(played, best, strict=True))
            if off > self.accuracy:
                failure = f"it is played for p from {played[0]:.6f} to {played[1]:.6f}"
        return RecoveryRow(
            game=game,
            gadget=gadget,
            action=action,
            gain=worth[0],
            exploitability=worth[1],
            least_p=None if played is None else played[0],
            most_p=None if played is None else played[1],
            best_least_p=best[0],
            best_most_p=best[1],
            passed=not failure,
            failure=failure,
        )

    def claims(self, rows: Sequence[RecoveryRow]) -> list[Claim]:
        """Return how many actions each gadget recovers."""
        claims = []
        for game in GAMES:
            for gadget in GADGETS:
                own = [row for row in rows if (row.game, row.gadget) == (game, gadget)]
                paper: float | None = 5 if gadget == "full" else 2 if gadget != "reach-max-margin" else None
                measured = sum(row.recovered for row in own) if len(own) == len(ACTIONS) else None
                claims.append(Claim(f"{game}, {gadget}: actions recovered", paper, measured))
        for gadget in GADGETS:
            shares = [row.share_of_bound for row in rows if row.gadget == gadget and row.share_of_bound is not None]
            words = f"{gadget}: exploitability over p / (1 - p) times the gain, at most"
            claims.append(Claim(words, "at most 1" if gadget == "full" else None, max(shares, default=None)))
        return claims

    def draw(self, rows: Sequence[RecoveryRow]) -> "Figure":
        """Draw the frontier with what each gadget recovers of it, and for which p."""
        from .depth_limited_pictures import draw_recovery

        return draw_recovery(rows)


def _answers(game: "Game", model: Strategy, equilibrium: Profile, gadget: str) -> Callable[[float], str]:
    """Return what a gadget plays by p."""

    def answer(p: float) -> str:
        problem = CDRNR(game, model, p=p, lookahead=1, gadget=gadget, blueprint=equilibrium, game_value=0.0)
        return _action(solve(problem, "lp"))

    return answer


def _action(solution: Solution) -> str:
    """Return the action that a response takes; a mixture by its parts."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.profile is None:
        raise SolverError(f"{solution.problem.name} on {solution.problem.game.spec}: {solution.message}")
    plays = solution.profile[0]["_"]
    surest = max(plays, key=lambda action: plays[action])
    if plays[surest] >= _PURE:
        return str(surest)
    return " and ".join(str(action) for action, share in plays.items() if share > 1.0 - _PURE)
