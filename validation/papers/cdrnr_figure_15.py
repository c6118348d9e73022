"""Figure 15 of the paper on depth-limited responses: repeated biased rock, paper, scissors."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ...models.games import load_game
from ...models.problems import CDBRNE, CDRNR, SES, BestResponse, Nash, RestrictedNash
from ...seqform.evaluate import expected_payoffs, worst_case
from ...seqform.interchange.pictures import legend, panels
from ...seqform.strategy import Profile, Strategy
from .cdrnr_responses import (
    CONTINUAL_RESPONSES,
    LOOKS,
    ROUND_OFF,
    Exploiter,
    Response,
    ResponseRow,
    attainable,
    failures_of,
)
from .experiment import Claim, Experiment, Limits
from .runs import Tell, completed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What a win with rock, paper and scissors pays in a round.
STAKES = "rock=1/2,paper=1/4,scissors=1/20"
#: The second round begins after both moves of the first.
SECOND_ROUND = 2
SECOND_ONLY = "second round only"
_GADGETS = ("full", "none", "resolving", "max-margin", "reach-max-margin")
_METHODS: Mapping[str, Response] = {
    "RNR": (RestrictedNash, {}),
    **{gadget: (CDRNR, {"lookahead": 1, "gadget": gadget}) for gadget in _GADGETS},
    "CDBR-NE": (CDBRNE, {"lookahead": 1}),
    "SES": (SES, {"level": SECOND_ROUND}),
}


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
    points: Annotated[int, Limits(2, 10_000)] = 21

    name = "cdrnr-figure-15"
    title = "what robust responses recover in repeated biased rock, paper, scissors"
    figure = "15"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "no response is above the frontier of restricted Nash responses; the exploitability of these and of the full "
        "gadget is at most p / (1 - p) times the gain; the search gains nothing"
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
        exploiter = Exploiter.against(game.name, game, self.opponent, 0.0)
        ps = np.linspace(0.0, 1.0, self.points).tolist()
        best: list[ResponseRow] = []
        for row, best in exploiter.rows(_METHODS, ps, ("RNR", "full"), tell):
            yield _judged(row, best)
        tell(SECOND_ONLY)
        for p in ps:
            yield _judged(_second_round(exploiter, p), best)

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return how much of the most each method gains, and how far it stays below the frontier."""
        by = {method: [row for row in rows if row.method == method] for method in (*_METHODS, SECOND_ONLY)}
        if not all(by.values()):
            return []
        most = largest_gain(by["RNR"])
        papers: Mapping[str, str | float] = {"SES": 0, SECOND_ONLY: 0.5, "RNR": 1}
        claims = [
            Claim(
                f"{method}: largest gain, over that of a best response", papers.get(method, 1), largest_gain(own) / most
            )
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
        """Draw gain against exploitability for all p, the whole of it and where exploitability is small."""
        figure, axes = panels(1, 2, (9.6, 4.2))
        sets: dict[tuple[tuple[float, float], ...], list[str]] = {}
        for method in dict.fromkeys(row.method for row in rows):
            own = sorted((row for row in rows if row.method == method), key=lambda row: row.p or 0.0)
            # Gadgets that answer alike are drawn once.
            points = tuple((round(row.exploitability, 9) + 0.0, round(row.gain, 9) + 0.0) for row in own)
            sets.setdefault(points, []).append(method)
        for points, methods in sets.items():
            for one in axes:
                LOOKS[methods[0]].plot(one, *zip(*points, strict=True), label=",\n".join(methods))
        best = [row for row in rows if row.method == "RNR"]
        most, loss = (max((getattr(row, name) for row in best), default=1.0) for name in ("gain", "exploitability"))
        axes[0].set(xlabel="exploitability", ylabel="gain", title="all p")
        axes[1].set(
            xlabel="exploitability", title="small exploitability", xlim=(-0.02 * loss, 0.5 * loss),
            ylim=(-0.03 * most, 1.03 * most),
        )  # fmt: skip
        legend(axes[0], "lower right", fontsize="small")
        return figure


def below(best: Sequence[ResponseRow], rows: Sequence[ResponseRow]) -> float:
    """Return by how much mixtures of responses gain less than mixtures of the best ones, on average.

    The average is over exploitabilities from 0 to the best ones' largest; what has more than is allowed gains nothing.
    """
    allowed = np.linspace(0.0, max(row.exploitability for row in best), 201)
    missing = [attainable(best, one) - max(0.0, np.nan_to_num(attainable(rows, one))) for one in allowed.tolist()]
    return float(np.mean(missing))


def largest_gain(rows: Sequence[ResponseRow]) -> float:
    """Return the most that any of some responses gains."""
    return max(row.gain for row in rows)


def _second_round(exploiter: Exploiter, p: float) -> ResponseRow:
    """Return the row of an equilibrium in the first round and restricted Nash responses in the second."""
    single = load_game(f"rps:{STAKES}")
    plays: dict[Hashable, Mapping[Hashable, float]] = {"_": completed(Nash(single), "highs-simplex").profile[0]["_"]}
    game, model, seconds = exploiter.game, exploiter.model, 0.0
    for label in game.sequence_form.treeplexes[0].infoset_labels:
        if label == "_":
            continue
        guess = Strategy.from_dict(single, 1, {"_": model[label]})
        problem = (
            RestrictedNash(single, guess, p=p, game_value=0.0)
            if p < 1.0
            else BestResponse(single, guess, game_value=0.0)
        )
        solution = completed(problem, "highs-simplex")
        plays[label] = solution.profile[0]["_"]
        seconds += solution.seconds
    strategy = Strategy.from_dict(game, 0, plays)
    gain, loss = float(expected_payoffs(game, Profile([strategy, model]))[0]), max(0.0, -worst_case(game, strategy))
    return ResponseRow(exploiter.label, exploiter.opponent, SECOND_ONLY, p, gain, loss, None, seconds)


def _judged(row: ResponseRow, best: Sequence[ResponseRow]) -> ResponseRow:
    gaining = row.method == "SES" and row.gain > ROUND_OFF
    return row.failing(*failures_of(row, best), f"the search gains {row.gain:.6f}" if gaining else "")
