"""Figure 15 of the paper on depth-limited responses: repeated biased rock, paper, scissors."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.problems import CDBRNE, CDRNR, SES, BestResponse, Nash, RestrictedNash
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.evaluate import expected_payoffs, worst_case
from ...seqform.strategy import Profile, Strategy
from ...solvers import Solution, solve
from ...solvers.opponents.strategies import opponent_strategy
from .depth_limited import CONTINUAL_RESPONSES, ROUND_OFF, ResponseRow, attainable, failures_of, response_row
from .experiment import Claim, Experiment, Paper, Tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...seqform.game import Game

#: What a win with rock, paper and scissors pays in a round.
STAKES = "rock=1/2,paper=1/4,scissors=1/20"
#: The second round begins after both moves of the first.
SECOND_ROUND = 2
SECOND_ONLY = "second round only"
_Solve = Callable[["Game", Strategy, float], Solution]


@dataclass(frozen=True)
class CDRNRFigure15(Experiment[ResponseRow]):
    """What robust responses recover for all p in two rounds of biased rock, paper, scissors.

    Parameters
    ----------
    opponent : str
        Its text; player 1.
    points : int
        So many p from 0 to 1.

    Notes
    -----
    The paper states neither the stakes nor the opponent. The stakes here are those of OpenSpiel's biased game, and the
    opponent plays uniformly in both rounds, so that half of what there is to gain is in the second. What the paper
    calls "Exp-strat" is not defined in it: it "can exploit only the second round, and it gains half of the maximum". In
    its place stands a strategy of which that is true by construction: an equilibrium in the first round, and a
    restricted Nash response to the model in the second.

    Steps look one level ahead, which is the opponent's move of the same round. Gadgets but the full one resolve from
    the first step's solution. Subgames of the search are the second rounds.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 15.
    """

    opponent: str = "uniform"
    points: int = 21

    name: ClassVar[str] = "cdrnr-figure-15"
    title: ClassVar[str] = "what robust responses recover in repeated biased rock, paper, scissors"
    figure: ClassVar[str] = "15"
    paper: ClassVar[Paper] = CONTINUAL_RESPONSES
    criterion: ClassVar[str] = (
        "no response is above the frontier of restricted Nash responses; the exploitability of these and of the full "
        "gadget is at most p / (1 - p) times the gain; the search gains nothing"
    )

    def __post_init__(self) -> None:
        points = self.points
        if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= 10_000:
            raise UnsupportedProblemError(
                f"{self.name}: points is {shown(points)}, expected a whole number from 2 to 10000"
            )

    @classmethod
    def quick(cls) -> "CDRNRFigure15":
        """Return it with few p."""
        return cls()

    @classmethod
    def full(cls) -> "CDRNRFigure15":
        """Return it with many."""
        return cls(points=101)

    @property
    def num_rows(self) -> int:
        """One a response."""
        return (len(_METHODS) + 1) * self.points

    def rows(self, tell: Tell) -> Iterator[ResponseRow]:
        """Yield the rows method by method."""
        game = load_game(f"repeated_rps:{STAKES},rounds=2")
        model = opponent_strategy(self.opponent, game, 1)
        best: list[ResponseRow] = []
        for method, run in _METHODS.items():
            tell(method)
            for p in self._ps:
                bounded = method in ("RNR", "full")
                row = response_row(game.name, self.opponent, method, p, run(game, model, p), bounded)
                if method == "RNR":
                    best.append(row)
                else:
                    yield _judged(row, best)
            if method == "RNR":
                yield from (_judged(row, best) for row in best)
        tell(SECOND_ONLY)
        for p in self._ps:
            yield _judged(_second_round(game, model, self.opponent, p), best)

    @property
    def _ps(self) -> list[float]:
        return [float(p) for p in np.linspace(0.0, 1.0, self.points)]

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return how much of the most each method gains, and how far it stays below the frontier."""
        by = {method: [row for row in rows if row.method == method] for method in (*_METHODS, SECOND_ONLY)}
        if not all(by.values()):
            return []
        most = max(row.gain for row in by["RNR"])
        papers: Mapping[str, str | float] = {"SES": 0, SECOND_ONLY: 0.5, "RNR": 1}
        claims = [
            Claim(f"{method}: largest gain, over that of a best response", papers.get(method, 1), _ratio(own, most))
            for method, own in by.items()
        ]
        order = ("full", "none", "resolving", "max-margin", "reach-max-margin", "CDBR-NE")
        words: Mapping[str, str] = {"full": "the least", "CDBR-NE": "the most"}
        claims += [
            Claim(
                f"{method}: gain below the frontier at equal exploitability, mean, over a best response's gain",
                words.get(method, "between"),
                below(by["RNR"], by[method]) / most,
            )
            for method in order
        ]
        return claims

    def draw(self, rows: Sequence[ResponseRow]) -> "Figure":
        """Draw gain against exploitability of every response."""
        from .depth_limited_pictures import draw_recovered_sets

        return draw_recovered_sets(rows)


def below(best: Sequence[ResponseRow], rows: Sequence[ResponseRow]) -> float:
    """Return by how much mixtures of responses gain less than mixtures of the best ones, on average.

    The average is over exploitabilities from 0 to the best ones' largest; what has more than is allowed gains nothing.
    """
    allowed = np.linspace(0.0, max(row.exploitability for row in best), 201)
    missing = [attainable(best, one) - max(0.0, np.nan_to_num(attainable(rows, one))) for one in allowed.tolist()]
    return float(np.mean(missing))


def _ratio(rows: Sequence[ResponseRow], most: float) -> float:
    return max(row.gain for row in rows) / most


def _gadget(name: str) -> _Solve:
    return lambda game, model, p: solve(CDRNR(game, model, p=p, lookahead=1, gadget=name, game_value=0.0), "lp")


#: The frontier comes first, which the others are held against.
_METHODS: Mapping[str, _Solve] = {
    "RNR": lambda game, model, p: solve(RestrictedNash(game, model, p=p, game_value=0.0), "highs-simplex"),
    **{name: _gadget(name) for name in ("full", "none", "resolving", "max-margin", "reach-max-margin")},
    "CDBR-NE": lambda game, model, p: solve(CDBRNE(game, model, p=p, lookahead=1, game_value=0.0), "lp"),
    "SES": lambda game, model, p: solve(SES(game, model, p=p, level=SECOND_ROUND, game_value=0.0), "lp"),
}


def _second_round(game: "Game", model: Strategy, opponent: str, p: float) -> ResponseRow:
    """Return the row of an equilibrium in the first round and restricted Nash responses in the second."""
    single = load_game(f"rps:{STAKES}")
    first = solve(Nash(single), "highs-simplex").profile[0]["_"]
    plays: dict[Hashable, Mapping[Hashable, float]] = {"_": first}
    seconds = 0.0
    for label in game.sequence_form.treeplexes[0].infoset_labels:
        if label == "_":
            continue
        guess = Strategy.from_dict(single, 1, {"_": model[label]})
        problem = (
            RestrictedNash(single, guess, p=p, game_value=0.0)
            if p < 1.0
            else BestResponse(single, guess, game_value=0.0)
        )
        solution = solve(problem, "highs-simplex")
        plays[label] = solution.profile[0]["_"]
        seconds += solution.seconds
    strategy = Strategy.from_dict(game, 0, plays)
    gain = float(expected_payoffs(game, Profile([strategy, model]))[0])
    return ResponseRow(game.name, opponent, SECOND_ONLY, p, gain, max(0.0, -worst_case(game, strategy)), None, seconds)


def _judged(row: ResponseRow, best: Sequence[ResponseRow]) -> ResponseRow:
    failures = failures_of(row, best)
    if row.method == "SES" and row.gain > ROUND_OFF:
        failures.append(f"the search gains {row.gain:.6f}")
    return row.judged(failures)
