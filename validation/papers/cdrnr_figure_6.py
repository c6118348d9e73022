"""Figure 6 of the paper on depth-limited responses: local best responses and continual depth-limited ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...models.games import load_game
from ...models.problems import CDBR, LBR, BestResponse, Nash
from ...seqform.strategy import Strategy
from ...solvers import Solution, solve
from ...solvers.opponents.strategies import opponent_strategy
from .depth_limited import CONTINUAL_RESPONSES, ROUND_OFF, ResponseRow, response_row
from .experiment import Claim, Experiment, Paper, Tell, check_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...seqform.game import Game

_Solve = Callable[["Game", Strategy, float], Solution]


@dataclass(frozen=True)
class CDRNRFigure6(Experiment[ResponseRow]):
    """What local and continual depth-limited best responses gain in Leduc poker.

    Parameters
    ----------
    iterations : tuple of int
        Of CFR, whose average strategies are opponents.
    seeds : tuple of int
        Of random opponents.

    Notes
    -----
    Player 0 responds, as in table 1, and the value function of CDBR is exact.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figures 6 and 7.
    """

    iterations: tuple[int, ...] = (3, 10, 34, 100, 300)
    seeds: tuple[int, ...] = (1, 2, 3)

    name: ClassVar[str] = "cdrnr-figure-6"
    title: ClassVar[str] = "gains of local best responses and of continual depth-limited ones, in Leduc poker"
    figure: ClassVar[str] = "6"
    paper: ClassVar[Paper] = CONTINUAL_RESPONSES
    criterion: ClassVar[str] = "no response gains more than the best response, and no CDBR gains less than 0"

    def __post_init__(self) -> None:
        check_numbers(f"{self.name}: iterations", self.iterations, 1, whole=True)
        check_numbers(f"{self.name}: seeds", self.seeds, 0, whole=True)

    @classmethod
    def quick(cls) -> "CDRNRFigure6":
        """Return it with few opponents."""
        return cls()

    @classmethod
    def full(cls) -> "CDRNRFigure6":
        """Return it with many."""
        return cls((1, 2, 3, 5, 10, 20, 34, 60, 100, 200, 300, 600, 1_000, 3_000), tuple(range(1, 11)))

    @property
    def num_rows(self) -> int:
        """One a response."""
        return (len(self.iterations) + len(self.seeds)) * len(_METHODS)

    def rows(self, tell: Tell) -> Iterator[ResponseRow]:
        """Yield the rows opponent by opponent."""
        game = load_game("leduc")
        value = float(solve(Nash(game), "highs-simplex").value)
        opponents = [f"cfr:iterations={number}" for number in self.iterations]
        for opponent in [*opponents, *(f"random:seed={seed}" for seed in self.seeds)]:
            tell(opponent)
            model = opponent_strategy(opponent, game, 1)
            best = 0.0
            for method, run in _METHODS.items():
                row = response_row("Leduc", opponent, method, None, run(game, model, value))
                best = row.gain if method == "best response" else best
                yield _judged(row, best)

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return what each method gains of a best response on average, and where LBR gains nothing any more."""
        best = {row.opponent: row.gain for row in rows if row.method == "best response" and row.gain > 0.0}
        claims = []
        for method in list(_METHODS)[1:]:
            for kind in ("cfr", "random"):
                shares = [
                    row.gain / best[row.opponent]
                    for row in rows
                    if row.method == method and row.opponent.startswith(kind) and row.opponent in best
                ]
                mean = sum(shares) / len(shares) if shares else None
                claims.append(Claim(f"{method}: gain over a best response's, mean over {kind} opponents", None, mean))
        without = [int(row.opponent.partition("=")[2]) for row in rows if row.method == "LBR" and row.gain <= 0.0]
        words = "iterations of CFR from which LBR gains nothing"
        claims.append(Claim(words, 34, min(without, default=None)))
        return claims

    def draw(self, rows: Sequence[ResponseRow]) -> "Figure":
        """Draw gains by the opponent's iterations, and those against random opponents."""
        from .depth_limited_pictures import draw_local

        return draw_local(rows)


def _continual(lookahead: int) -> _Solve:
    return lambda game, model, value: solve(CDBR(game, model, lookahead=lookahead, game_value=value), "lp")


#: The best response comes first, which the others are held against.
_METHODS: Mapping[str, _Solve] = {
    "best response": lambda game, model, value: solve(BestResponse(game, model, game_value=value)),
    "LBR": lambda game, model, value: solve(LBR(game, model, game_value=value)),
    **{f"CDBR{lookahead}": _continual(lookahead) for lookahead in (1, 3, 5)},
}


def _judged(row: ResponseRow, best: float) -> ResponseRow:
    failures = []
    if row.gain > best + ROUND_OFF:
        failures.append(f"it gains {row.gain:.6f}, and a best response {best:.6f}")
    if row.method.startswith("CDBR") and row.gain < -ROUND_OFF:
        failures.append(f"gain {row.gain:.6f} is negative")
    return row.judged(failures)
