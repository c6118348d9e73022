"""Table 1 of the paper on depth-limited responses: gains in percent of a best response's gain."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.play import MeanResult
from ...models.problems import CDBR, BestNash, BestResponse, Nash, RestrictedNash
from ...seqform.evaluate import expected_payoffs
from ...seqform.game import Game
from ...seqform.interchange.pictures import COLOURS, Figure, legend, panels
from ...seqform.strategy import Profile, Strategy
from ...solvers import ApproximateBestResponse, HiGHS, Solution, Status
from ..table import Column, Row, verdict
from .cdrnr_responses import CONTINUAL_RESPONSES, ROUND_OFF
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed, kept

#: The rows of the table: the game's name in the paper, its specification here, and the printed values.
PRINTED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Leduc": ("leduc", {"ABR": "98", "CDBR1": "74.4", "CDBR3": "96", "CDBR5": "97.1", "BNE": "32.6"}),
    "IIGS4": ("goofspiel:cards=4", {"ABR": "97", "CDBR1": "98.5", "CDBR3": "100", "CDBR5": "100", "BNE": "77.1"}),
    "IIGS5": ("goofspiel:cards=5", {"ABR": "95", "CDBR1": "93.5", "CDBR3": "100", "CDBR5": "100", "BNE": "50.4"}),
    "IIGS6": ("goofspiel:cards=6", {"ABR": "97", "CDBR1": "90.7", "CDBR3": "100", "CDBR5": "100", "BNE": "45.9"}),
}
_COLOURS = {"ABR": "grey", "CDBR1": "sky", "CDBR3": "blue", "CDBR5": "black", "BNE": "orange"}
#: The confidence in the model of the restricted Nash response that replaces the best equilibrium in a large game.
_LITTLE = 1e-5
#: The permitted shortfall of a learned response from the printed percentage, in percentage points.
_NEAR = 3


@dataclass(frozen=True)
class GainRow(Row):
    """One cell of the table.

    Attributes
    ----------
    game : str
        The game's name in the table.
    method : str
        The method's name in the table.
    gain : float
        The gain against the uniform strategy, in payoff units.
    best : float
        The gain of a best response.
    percent : float
        The gain in percent of `best`.
    lower, upper : float or None
        For learned responses, the 95 % interval of the percentage from fresh games.
    paper : str
        The printed value.
    gap : float
        The proven error of the answer, in payoff units: the largest possible increase of a step's objective or, for
        answers without steps, of the gain.
    seconds : float
        Solving or learning time.
    """

    game: Annotated[str, Column("game")]
    method: Annotated[str, Column("method")]
    gain: Annotated[float, Column("gain", ".6f")]
    best: float
    percent: Annotated[float, Column("percent", ".3f")]
    lower: Annotated[float | None, Column("by fresh games", "{lower:.1f} to {upper:.1f}", width=14)]
    upper: float | None
    paper: Annotated[str, Column("paper")]
    gap: Annotated[float, Column("gap", ".1e")]
    seconds: Annotated[float, Column("seconds", ".2g")]


@dataclass(frozen=True)
class CDRNRTable1(Experiment[GainRow]):
    """Gains of continual depth-limited best responses and the best equilibrium, in percent of a best response's.

    Parameters
    ----------
    games : tuple of str
        Names of games in the table: ``Leduc``, ``IIGS4``, ``IIGS5``, ``IIGS6``.
    learnt_games : int
        Number of games from which ABR learns.
    fresh_games : int
        Number of games for the interval of the learned response.

    Notes
    -----
    The paper does not specify the opponent, the seat, or how far a step looks ahead. The following interpretation, and
    no other one that was tried, reproduces the table to the printed digit. The opponent plays uniformly, and player 0
    responds. A step looks beyond its action by the given number of levels of the public tree, including public chance
    events, and a new step is solved at each own decision. In Goofspiel the prizes come in descending order, and the
    payoff is the difference of points.

    The value function is exact. ``ABR`` is :class:`~treeplex.solvers.ApproximateBestResponse` with default settings,
    and its percentage is that of its plan; the paper does not state its training. The best equilibrium of ``IIGS6`` is
    a restricted Nash response with confidence 1e-5 in the model. With so little confidence it remains an equilibrium
    strategy, and its objective bounds the gain of any equilibrium.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), table 1.
    """

    games: Annotated[tuple[str, ...], Limits(choices=PRINTED)]
    learnt_games: Annotated[int, Limits("[1, inf)")] = 5_000
    fresh_games: Annotated[int, Limits("[2, inf)")] = 100_000

    name = "cdrnr-table-1"
    title = "gains of depth-limited best responses and best equilibria, in percent of a best response's"
    figure = "table 1"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "the percentage, rounded as in the paper, is the printed one (for ABR, at most 3 less); the interval by "
        "fresh games contains it; and the answer is proven"
    )

    quick_settings: ClassVar = {"games": ("Leduc", "IIGS4", "IIGS5")}
    full_settings: ClassVar = {"games": tuple(PRINTED), "learnt_games": 20_000, "fresh_games": 1_000_000}

    @property
    def num_rows(self) -> int:
        """One row per cell."""
        return sum(len(PRINTED[name][1]) for name in self.games)

    def rows(self, tell: Tell) -> Iterator[GainRow]:
        """Yield the cells in the order of the games, and within a game from left to right."""
        for name in self.games:
            spec, printed = PRINTED[name]
            tell(f"{name}: the game")
            game = load_game(spec)
            model, value = Strategy.uniform(game, 1), _value(game)
            best = completed(BestResponse(game, model, game_value=value))
            assert best.gain is not None
            for method, paper in printed.items():
                tell(f"{name}: {method}")
                if method == "ABR":
                    learned = Learnt.against(model, game, self.learnt_games, self.fresh_games)
                    yield _judged_learnt(name, learned, value, best.gain, paper)
                else:
                    yield _judged(name, method, _METHODS[method](game, model, value), best.gain, paper)

    def claims(self, rows: Sequence[GainRow]) -> list[Claim]:
        """Return every printed number compared with ours."""
        return [
            Claim(f"{row.game}, {row.method}: percent of a best response's gain", float(row.paper), row.percent).judged(
                _rounded(row.percent, row.paper) == row.paper,
                "the paper does not say what its ABR was trained on" if row.method == "ABR" else row.failure,
            )
            for row in rows
        ]

    def draw(self, rows: Sequence[GainRow]) -> "Figure":
        """Draw a group of bars per game, one bar per method, and a mark at the printed value."""
        figure, axes = panels(1, 1, (6.4, 3.6))
        games = list(dict.fromkeys(row.game for row in rows))
        methods = list(dict.fromkeys(row.method for row in rows))
        width = 0.8 / max(1, len(methods))
        for place, method in enumerate(methods):
            own = [row for row in rows if row.method == method]
            where = np.array([games.index(row.game) for row in own]) + (place - (len(methods) - 1) / 2) * width
            axes.bar(where, [row.percent for row in own], width, color=COLOURS[_COLOURS[method]], label=method)
            printed = [float(row.paper) for row in own]
            marked = "printed in the paper" if method == methods[-1] else None
            axes.plot(where, printed, "_", color=COLOURS["red"], markersize=11, markeredgewidth=1.6, label=marked)
        axes.set_xticks(range(len(games)), games)
        axes.set(
            xlabel="game",
            ylabel="gain, percent of a best response's",
            title="responses to the uniform strategy, seat 0",
        )
        axes.set_ylim(0.0, 128.0)
        legend(axes, "upper center", ncols=3, fontsize="small")
        return figure


def _is_large(game: "Game") -> bool:
    return sum(treeplex.num_sequences for treeplex in game.sequence_form.treeplexes) > HiGHS.large


def _value(game: "Game") -> float:
    """Return the value of a game to player 0; for Goofspiel it is known exactly."""
    if _is_large(game):
        assert game.reference_value is not None
        return float(game.reference_value)
    return float(completed(Nash(game), "highs-simplex").value)


def _response(lookahead: int) -> Callable[["Game", Strategy, float], Solution]:
    return lambda game, model, value: completed(CDBR(game, model, lookahead=lookahead, game_value=value))


def _best_equilibrium(game: "Game", model: Strategy, value: float) -> Solution:
    if _is_large(game):
        return completed(RestrictedNash(game, model, p=_LITTLE, game_value=value), "highs-ipm", tol=1e-7)
    return completed(BestNash(game, model))


_METHODS: Mapping[str, Callable[["Game", Strategy, float], Solution]] = {
    "CDBR1": _response(1),
    "CDBR3": _response(3),
    "CDBR5": _response(5),
    "BNE": _best_equilibrium,
}


def _rounded(percent: float, paper: str) -> str:
    """Return a percentage with as many digits as in the paper."""
    return f"{percent:.{len(paper.partition('.')[2])}f}"


def _judged(game: str, method: str, found: Solution, best: float, paper: str) -> GainRow:
    assert found.gain is not None
    percent = 100.0 * found.gain / best
    rounded = _rounded(percent, paper)
    problem: Any = found.problem
    # In the objective of a restricted Nash response, an equilibrium's gain has the weight p.
    weight = float(problem.p) if isinstance(problem, RestrictedNash) else 1.0
    return GainRow(
        game=game,
        method=method,
        gain=found.gain,
        best=best,
        percent=percent,
        lower=None,
        upper=None,
        paper=paper,
        gap=float(problem.error(found.certificate)) / weight,
        seconds=found.seconds,
        failure=verdict(
            (found.status is not Status.OPTIMAL, f"the answer is {found.status}"),
            (rounded != paper, f"{rounded} is not the printed {paper}"),
        ),
    )


@dataclass(frozen=True)
class Learnt:
    """The payoff of a learned response against a fixed opponent.

    Attributes
    ----------
    paid : float
        The payoff, computed exactly from the response's plan.
    estimate : MeanResult
        An estimate of the payoff from fresh games, with a confidence of 95 % for any number of games.
    seconds : float
        Learning time.
    """

    paid: float
    estimate: MeanResult
    seconds: float

    @classmethod
    def against(cls, model: Strategy, game: "Game", learnt_games: int, fresh_games: int) -> "Learnt":
        """Learn from some games and play others; a checkpoint stores the result."""
        return kept(
            f"response learned from {learnt_games} games",
            lambda: cls._against(model, game, learnt_games, fresh_games),
            cls,
        )

    @classmethod
    def _against(cls, model: Strategy, game: "Game", learnt_games: int, fresh_games: int) -> "Learnt":
        player = 1 - model.player
        strategies = [model, model]
        strategies[player] = Strategy.uniform(game, player)
        response = ApproximateBestResponse(game, Profile(strategies), player, seed=1)
        run = response.run(games=learnt_games)
        if run.stopped == "interrupted":
            raise KeyboardInterrupt
        strategies[player] = response.strategy().to_strategy(game)
        leaves = game.sequence_form.leaves
        assert leaves is not None
        bounds = float(leaves.payoffs[:, player].min()), float(leaves.payoffs[:, player].max())
        estimate = response.payoff(fresh_games, seed=1, bounds=bounds)
        return cls(float(expected_payoffs(game, Profile(strategies))[player]), estimate, run.seconds)

    @property
    def missed(self) -> str:
        """The failure message if the interval does not contain the payoff."""
        found, ends = self.estimate, f"{self.estimate.lower:.4f} to {self.estimate.upper:.4f}"
        return verdict((not found.lower <= self.paid <= found.upper, f"{self.paid:.4f} is not in {ends}"))


def _judged_learnt(game: str, learned: Learnt, value: float, best: float, paper: str) -> GainRow:
    gain = learned.paid - value
    percent, *ends = (
        100.0 * (paid - value) / best for paid in (learned.paid, learned.estimate.lower, learned.estimate.upper)
    )
    return GainRow(
        game=game,
        method="ABR",
        gain=gain,
        best=best,
        percent=percent,
        lower=ends[0],
        upper=ends[1],
        paper=paper,
        gap=best - gain,
        seconds=learned.seconds,
        failure=verdict(
            (percent < float(paper) - _NEAR, f"{percent:.3f} is more than {_NEAR} less than the printed {paper}"),
            (gain > best + ROUND_OFF, f"it gains {gain:.6f}, but a best response gains {best:.6f}"),
            (bool(learned.missed), learned.missed),
        ),
    )
