"""Figures 5, 6 and 15 of the paper on depth-limited responses: gains and losses of responses.

The opponents are weak players in Leduc poker and other games (5, 6), and in repeated biased rock, paper, scissors (15).
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.problems import CDBR, CDBRNE, CDRNR, LBR, SES, BestNash, BestResponse, Nash, RestrictedNash
from ...seqform.errors import SolverError, UnsupportedProblemError
from ...seqform.evaluate import expected_payoffs, worst_case
from ...seqform.game import Game
from ...seqform.interchange.pictures import Figure, Look, legend, legend_below, panels
from ...seqform.strategy import Profile, Strategy
from ...solvers import CFRValue, DepthLimitedCFR, Solution, Status, solve
from ...solvers.opponents.strategies import opponent_strategy
from ..table import Column, Row, verdict
from .claims import Claim, near
from .experiment import Experiment, Limits, Paper, Tell, completed, kept, largest

CONTINUAL_RESPONSES = Paper(
    citation='D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in '
    'sequential games", ALA 2024 (arXiv:2112.12594)',
    url="https://arxiv.org/abs/2112.12594",
)
#: The allowed error of linear programs' results, in payoff units.
ROUND_OFF = 1e-6
#: The labels of the axes.
WEIGHT, GAINED, LOST = "p, a probability", "gain, payoff units", "exploitability, payoff units"
#: The style of each method in pictures.
LOOKS = {
    "RNR": Look("black", "."),
    "CDRNR1": Look("sky", "v"),
    "CDRNR3": Look("blue", "o"),
    "CDRNR5": Look("green", "s"),
    "CDRNR1, value": Look("purple", "p", "--"),
    "CDBR3-NE": Look("red", "x", "--"),
    "SES": Look("pink", "^", ":"),
    "CDRNR, subgames of SES": Look("grey", "P", "-."),
    "BNE": Look("orange", "*", ""),
    "full": Look("blue", "o"),
    "none": Look("sky", "v"),
    "resolving": Look("green", "s"),
    "max-margin": Look("orange", "d"),
    "reach-max-margin": Look("purple", "p"),
    "CDBR-NE": Look("red", "x", "--"),
    "second round only": Look("grey", "P", "-."),
    "best response": Look("black", "."),
    "CDBR1": Look("sky", "v"),
    "CDBR3": Look("blue", "o"),
    "CDBR5": Look("green", "s"),
    "LBR": Look("red", "x", "--"),
}
#: The response whose value function is not exact.
VALUED = "CDRNR1, value"
#: The response whose subgames are those of the search.
PARTITIONED = "CDRNR, subgames of SES"
#: The problem of each response, and its inputs besides the opponent and p.
Response = tuple[Any, Mapping[str, Any]]


@dataclass(frozen=True)
class ResponseRow(Row):
    """One response to one opponent.

    Attributes
    ----------
    game : str
    opponent : str
        The string that names the opponent.
    method : str
    p : float or None
        The confidence in the model; ``None`` for methods without it.
    gain : float
        The payoff against the opponent minus the value of the game, in payoff units.
    exploitability : float
        Payoff units.
    bound : float or None
        The bound on exploitability that follows from p, the gain and gaps; ``None`` if there is none.
    seconds : float
        Solving time.
    """

    game: Annotated[str, Column("game")]
    opponent: Annotated[str, Column("opponent", width=16)]
    method: Annotated[str, Column("method", width=8)]
    p: Annotated[float | None, Column("p", "g")]
    gain: Annotated[float, Column("gain", ".4f")]
    exploitability: Annotated[float, Column("exploitability", ".4f")]
    bound: Annotated[float | None, Column("bound", ".4f")]
    seconds: Annotated[float, Column("seconds", ".2g")]


def response_row(game: str, opponent: str, method: str, p: float | None, solution: Solution) -> ResponseRow:
    """Return the row of a solved response, without a verdict.

    Parameters
    ----------
    game, opponent, method : str
    p : float, optional
    solution : Solution

    Raises
    ------
    SolverError
        If the solution has no strategies.
    """
    gain, exploitability = solution.gain, solution.exploitability
    if gain is None or exploitability is None:
        raise SolverError(f"{solution.problem.name} on {solution.problem.game.spec}: {solution.message}")
    return ResponseRow(game, opponent, method, p, gain, exploitability, solution.safety_bound, solution.seconds)


@dataclass(frozen=True)
class Exploiter:
    """Player 0 of a game, with a model of the opponent.

    Attributes
    ----------
    label : str
        The name of the game in tables.
    game : Game
    opponent : str
        The string that names the opponent.
    model : Strategy
    value : float
        The value of the game to player 0.
    valued : tuple of int
        Iterations of a step and of a query, for methods with an inexact value function.
    """

    label: str
    game: "Game"
    opponent: str
    model: Strategy
    value: float
    valued: tuple[int, ...] = ()

    @classmethod
    def against(cls, label: str, game: "Game", opponent: str, value: float) -> "Exploiter":
        """Create the model from the string that names the opponent."""
        return cls(label, game, opponent, opponent_strategy(opponent, game, 1), value)

    def row(self, method: str, response: Response, p: float | None = None) -> ResponseRow:
        """Compute a response, and return its row without a verdict."""
        problem, words = response
        given = dict(words) if p is None else {"p": p, **words}
        solver = "highs-simplex" if problem in (RestrictedNash, BestNash) else None
        posed = problem(self.game, self.model, game_value=self.value, **given)
        if method == VALUED:
            return kept(f"{self.label}, {self.opponent}: {method}, {p}", partial(self._valued, posed, p), ResponseRow)
        solution = completed(posed, solver)
        return response_row(self.label, self.opponent, method, p, solution)

    def _valued(self, posed: Any, p: float | None) -> ResponseRow:
        """Solve with an inexact value function, without checkpoints for the steps."""
        iterations, queried = self.valued
        found = solve(posed, DepthLimitedCFR("cfr+", CFRValue(queried)), tol=0, max_iterations=iterations)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return response_row(self.label, self.opponent, VALUED, p, found)

    def rows(
        self, methods: Mapping[str, Response], ps: Sequence[float], tell: Tell
    ) -> Iterator[tuple[ResponseRow, list[ResponseRow]]]:
        """Yield the rows of methods, restricted Nash responses first, so that the others can be compared with them."""
        best: list[ResponseRow] = []
        for method, response in methods.items():
            tell(f"{self.label}, {self.opponent}: {method}")
            own = (self.row(method, response, p) for p in ps)
            if method == "RNR":
                best = list(own)
            yield from ((row, best) for row in (best if method == "RNR" else own))


def above_frontier(row: ResponseRow, best: Sequence[ResponseRow]) -> float:
    """Return how far a response is above the frontier of restricted Nash responses; at most 0 if it is not.

    No response has a larger p × gain − (1 − p) × exploitability than the restricted Nash response with that p.
    """
    excess = [
        p * (row.gain - one.gain) - (1.0 - p) * (row.exploitability - one.exploitability)
        for one in best
        if (p := one.p) is not None
    ]
    return max(excess, default=0.0)


def failures_of(row: ResponseRow, best: Sequence[ResponseRow]) -> list[str]:
    """Return the proven properties that a response violates: its bound, or the frontier."""
    failures = []
    if row.bound is not None and row.exploitability > row.bound + ROUND_OFF:
        failures.append(f"exploitability {row.exploitability:.6f} is above its bound {row.bound:.6f}")
    excess = above_frontier(row, best)
    if excess > ROUND_OFF:
        failures.append(f"it is {excess:.2g} above the frontier of restricted Nash responses")
    return failures


def attainable(rows: Sequence[ResponseRow], exploitability: float) -> float:
    """Return the largest gain among mixtures that have a given exploitability; NaN if every response exceeds it.

    A mixture of plans has the mean gain, and its exploitability is at most the mean exploitability of its parts.
    """
    hull: list[tuple[float, float]] = []
    for point in sorted((row.exploitability, row.gain) for row in rows):
        if hull and point[1] <= hull[-1][1]:
            continue
        while len(hull) > 1 and _left_turn(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    if not hull or exploitability < hull[0][0] - ROUND_OFF:
        return float("nan")
    return float(np.interp(exploitability, [point[0] for point in hull], [point[1] for point in hull]))


def _left_turn(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle point is on or below the chord."""
    return (middle[1] - first[1]) * (last[0] - first[0]) <= (last[1] - first[1]) * (middle[0] - first[0])


#: The games, and the level at which the search's subgames begin: after the board card, the first round, the first bid.
GAMES: Mapping[str, tuple[str, int | None]] = {
    "Leduc": ("leduc", None),
    "IIGS4": ("goofspiel:cards=4", 2),
    "IIGS5": ("goofspiel:cards=5", 2),
    "IIGS6": ("goofspiel:cards=6", 2),
    "Liar's dice": ("liars_dice:sides=4", 2),
}
#: The lookahead of the mixed response.
MIXED = 3
#: The reason why the paper's statements about its opponents may not hold here.
UNKNOWN_OPPONENTS = "the paper does not name its opponents; these differ"
#: The factor for "slightly above", and the exploitability for "almost none", in payoff units, at which gains are
#: compared.
SLIGHTLY, ALMOST_NONE = 1.1, 0.05
_MIXTURE = f"CDBR{MIXED}-NE"


@dataclass(frozen=True)
class CDRNRFigure5(Experiment[ResponseRow]):
    """Gain and exploitability of robust responses against weak opponents, by the confidence in the model.

    Parameters
    ----------
    games : tuple of str
        ``Leduc``, ``IIGS4``, ``IIGS5``, ``IIGS6``, ``Liar's dice``.
    opponents : tuple of str
        The strings that name the opponents, such as ``cfr:iterations=5`` and ``random:seed=1``; player 1. The picture
        averages opponents of the same kind, that is, with the same string before the colon.
    ps : tuple of float
        Confidences, above 0 and at most 1.
    lookaheads : tuple of int
        Lookaheads of CDRNR.
    value_iterations : tuple of int
        The numbers of CFR+ iterations of a step and of each query of its value function, for CDRNR1 with an inexact
        value function; empty for no such curve.

    Notes
    -----
    Player 0 responds, as in table 1, and the value function is exact except in one curve. The paper does not specify
    its opponents, apart from "few CFR iterations" and "random strategies with different seeds". A response that is as
    good as the restricted Nash response with its p is on the frontier, and no response can be above it. CDBR-NE has a
    lookahead of 3 and is mixed at each infoset, as in the paper. The search's subgames begin after the board card.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 5 and appendix G.
    """

    games: Annotated[tuple[str, ...], Limits(choices=GAMES)] = ("Leduc",)
    opponents: Annotated[tuple[str, ...], Limits()] = ("cfr:iterations=5", "random:seed=1")
    ps: Annotated[tuple[float, ...], Limits("(0, 1]")] = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    lookaheads: Annotated[tuple[int, ...], Limits("[1, inf)")] = (1, 3)
    value_iterations: Annotated[tuple[int, ...], Limits("[1, inf)", empty=True)] = (50, 20)

    name = "cdrnr-figure-5"
    title = "gain and exploitability of robust responses to weak opponents, by p"
    figure = "5"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "no response is above the frontier of restricted Nash responses; except for the search none loses to the "
        "opponent; the exploitability of restricted Nash responses and of CDRNR is at most p / (1 - p) times the "
        "gain, and that of the best equilibrium is 0; and, measured but not proven, CDRNR3 gains at least as much as "
        "CDBR3-NE with the same exploitability"
    )

    full_settings: ClassVar = {
        "games": ("Leduc", "IIGS5", "Liar's dice"),
        "opponents": (*(f"cfr:iterations={n}" for n in (3, 10, 34)), *(f"random:seed={n}" for n in (1, 2, 3))),
        "ps": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
        "lookaheads": (1, 3, 5),
        "value_iterations": (1_000, 500),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.value_iterations) not in (0, 2):
            raise UnsupportedProblemError(
                f"{self.name}: value_iterations has {len(self.value_iterations)} numbers, expected two or none"
            )

    @property
    def num_rows(self) -> int:
        """One row per response."""
        return len(self.games) * len(self.opponents) * (1 + len(self._methods(None)) * len(self.ps))

    def _methods(self, level: int | None) -> dict[str, Response]:
        continual: dict[str, Response] = {f"CDRNR{one}": (CDRNR, {"lookahead": one}) for one in self.lookaheads}
        mixture: Response = (CDBRNE, {"lookahead": MIXED, "mixing": "infoset"})
        valued: dict[str, Response] = {VALUED: (CDRNR, {"lookahead": 1})} if self.value_iterations else {}
        same: Response = (CDRNR, {"level": "chance" if level is None else level})
        search: dict[str, Response] = {PARTITIONED: same, "SES": (SES, {"level": level})}
        return {"RNR": (RestrictedNash, {}), **continual, **valued, _MIXTURE: mixture, **search}

    def rows(self, tell: Tell) -> Iterator[ResponseRow]:
        """Yield the rows in the order of games, opponents and methods."""
        for name in self.games:
            spec, level = GAMES[name]
            tell(f"{name}: the game")
            game = load_game(spec)
            value = float(solve(Nash(game), "highs-simplex").value)
            methods = self._methods(level)
            for opponent in self.opponents:
                tell(f"{name}, {opponent}")
                exploiter = replace(Exploiter.against(name, game, opponent, value), valued=self.value_iterations)
                equilibrium: ResponseRow | None = exploiter.row("BNE", (BestNash, {}))
                robust: list[ResponseRow] = []
                for row, best in exploiter.rows(methods, self.ps, tell):
                    if equilibrium is not None:
                        yield judged_robust(equilibrium, best)
                        equilibrium = None
                    if row.method == f"CDRNR{MIXED}":
                        robust.append(row)
                    yield judged_robust(row, best, robust if row.method == _MIXTURE else [])

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return the paper's statements on the figure, compared with the measurements."""
        claims: list[Claim] = []
        for game in dict.fromkeys(row.game for row in rows):
            for opponent in dict.fromkeys(row.opponent for row in rows if row.game == game):
                own = [row for row in rows if (row.game, row.opponent) == (game, opponent)]
                lookahead = MIXED if MIXED in self.lookaheads else max(self.lookaheads)
                claims += _claims(f"{game}, {opponent}", own, lookahead)
        return claims

    def draw(self, rows: Sequence[ResponseRow]) -> "Figure":
        """Draw a row of panels per game and kind of opponent: gain by p, exploitability by p, and both together."""
        groups = list(dict.fromkeys((row.game, row.opponent.partition(":")[0]) for row in rows)) or [("", "")]
        figure, axes = panels(len(groups), 3, (10.4, 0.7 + 2.7 * len(groups)), squeeze=False)
        methods = list(dict.fromkeys(row.method for row in rows))
        for (game, kind), (gains, losses, curve) in zip(groups, axes, strict=True):
            own = [row for row in rows if (row.game, row.opponent.partition(":")[0]) == (game, kind)]
            for method in methods:
                look = LOOKS[method]
                points = _averages([row for row in own if row.method == method])
                if method == "BNE":
                    for _, gain, loss in points:
                        replace(look, line=(0, (4, 2))).level(gains, gain, linewidth=1.2)
                        look.plot(curve, [loss], [gain], markersize=11, label=method, zorder=3)
                    continue
                ps, found, lost = ([point[part] for point in points] for part in range(3))
                look.plot(gains, ps, found)
                look.plot(losses, ps, lost)
                look.plot(curve, lost, found, label=method)
                if method == max((name for name in methods if name.startswith("CDRNR") and name != VALUED), default=""):
                    bounds = [(p, p / (1.0 - p) * gain) for p, gain in zip(ps, found, strict=True) if p < 1.0]
                    Look("silver").plot(losses, *zip(*bounds, strict=True), label=f"bound of {method}")
            opponents = list(dict.fromkeys(row.opponent for row in own))
            named = opponents[0] if len(opponents) == 1 else f"{kind}, mean of {len(opponents)}"
            gains.set(title=f"{game}: {named}", xlabel=WEIGHT, ylabel=GAINED, xlim=(0.0, 1.03))
            losses.set(xlabel=WEIGHT, ylabel=LOST, xlim=(0.0, 1.03))
            most = max((row.exploitability for row in own), default=1.0)
            losses.set_ylim(-0.04 * most, 1.08 * most)
            curve.set(xlabel=LOST, ylabel=GAINED)
            legend(losses, "upper left", fontsize="small")
        legend_below(figure, len(methods), axes[0][2], fontsize="small")
        return figure


def _averages(rows: Sequence[ResponseRow]) -> list[tuple[float, float, float]]:
    """Return p, mean gain and mean exploitability over the opponents, in the order of p."""
    return [
        (
            0.0 if p is None else p,
            float(np.mean([row.gain for row in rows if row.p == p])),
            float(np.mean([row.exploitability for row in rows if row.p == p])),
        )
        for p in sorted({row.p for row in rows}, key=lambda p: -1.0 if p is None else p)
    ]


def judged_robust(row: ResponseRow, best: Sequence[ResponseRow], robust: Sequence[ResponseRow] = ()) -> ResponseRow:
    """Return a row of figure 5, judged by the frontier and the rows of CDRNR3, with its failure, if any."""
    gain, loss = row.gain, row.exploitability
    # Without the response for p = 1, little is known about the gain of robust responses at a large exploitability.
    less = any(one.p == 1.0 for one in robust) and attainable(robust, loss) < gain - ROUND_OFF
    return row.failing(
        *failures_of(row, best),
        verdict(
            (less, f"CDRNR{MIXED} gains less than {gain:.6f} with an exploitability of {loss:.6f}"),
            # Errors of a value function may cost the player part of its gain against the model.
            (row.method not in ("SES", VALUED) and gain < -ROUND_OFF, f"gain {gain:.6f} is negative"),
            (row.method == "BNE" and loss > ROUND_OFF, f"exploitability {loss:.6f} of an equilibrium"),
        ),
    )


def _claims(where: str, rows: Sequence[ResponseRow], lookahead: int) -> list[Claim]:
    by = {method: [row for row in rows if row.method == method] for method in dict.fromkeys(row.method for row in rows)}
    robust, search, mixed = by.get(f"CDRNR{lookahead}", []), by.get("SES", []), by.get(_MIXTURE, [])
    equilibrium = by["BNE"][0].gain if "BNE" in by else None
    even = [row.exploitability / row.gain for row in robust if row.p == 0.5 and row.gain > 0.0]
    words, measured = f"{where}: exploitability over gain of CDRNR{lookahead} with p = 0.5", even[0] if even else None
    claims = [
        Claim(words, "at most 1, as proven", measured).judged(
            lambda share: share <= 1.0 + ROUND_OFF, "the bound is violated"
        ),
        Claim(words, "rarely even 0.1", measured).judged(lambda share: share < 0.1, UNKNOWN_OPPONENTS),
    ]
    for what in ("gain", "exploitability"):
        lower = [
            getattr(one, what) <= getattr(other, what) + ROUND_OFF
            for one in robust
            for other in by.get("RNR", [])
            if one.p == other.p
        ]
        words = f"{where}: fraction of p for which the {what} of CDRNR{lookahead} is at most that of RNR"
        share = sum(lower) / len(lower) if lower else None
        claims.append(Claim(words, "most cases", share).judged(lambda share: share > 0.5, UNKNOWN_OPPONENTS))
    if robust and equilibrium:
        gain = attainable([*robust, *by["BNE"]], ALMOST_NONE)
        words = f"{where}: gain of CDRNR{lookahead} with an exploitability of 0.05, over that of the best equilibrium"
        claims.append(
            Claim(words, "more than 2, almost zero exploitability", gain / equilibrium).judged(
                lambda times: times > 2.0, UNKNOWN_OPPONENTS
            )
        )
    if robust and by.get("RNR"):
        share = attainable(robust, ALMOST_NONE) / largest_gain(by["RNR"])
        words = f"{where}: gain of CDRNR{lookahead} with an exploitability of 0.05, over that of a best response"
        claims.append(Claim(words, "over half", share).judged(lambda share: share > 0.5, UNKNOWN_OPPONENTS))
    for method, name, said, others in (
        (f"CDRNR{lookahead}", _MIXTURE, "significantly more", mixed),
        (f"CDRNR{lookahead}", "SES", "more in any game", search),
        (PARTITIONED, "SES", "more, in the same subgames", search),
    ):
        own = by.get(method, [])
        more = [attainable([*own, *by.get("BNE", [])], row.exploitability) - row.gain for row in others if own]
        if more:
            words = f"{where}: gain of {method} less that of {name} at equal exploitability, least and most"
            claims.append(
                Claim(words, said, f"{min(more):.4f} to {max(more):.4f}").judged(
                    min(more) >= -ROUND_OFF and max(more) > ROUND_OFF, UNKNOWN_OPPONENTS
                )
            )
    claims += _claims_of_values(where, by)
    if search and equilibrium:
        most = max(row.gain for row in search) / equilibrium
        claims.append(
            Claim(f"{where}: gain of SES over that of the best equilibrium, at most", "slightly above 1", most).judged(
                lambda times: times <= SLIGHTLY, UNKNOWN_OPPONENTS
            )
        )
        lost = largest(row.exploitability for row in search if row.p != 1.0)
        claims.append(
            Claim(f"{where}: exploitability of SES with p below 1, at most", "almost none", lost).judged(
                lambda loss: loss <= ALMOST_NONE, UNKNOWN_OPPONENTS
            )
        )
    return claims


def _claims_of_values(where: str, by: Mapping[str, Sequence[ResponseRow]]) -> list[Claim]:
    """Return the text's statements on inexact value functions, compared with the measurements."""
    pairs = [(one, other) for one in by.get(VALUED, []) for other in by.get("CDRNR1", []) if one.p == other.p]
    if not pairs:
        return []
    worth = [0.0, 0.0]
    for pair in pairs:
        for place, one in enumerate(pair):
            p = float(one.p or 0.0)
            worth[place] += p * one.gain - (1.0 - p) * one.exploitability
    name = "CDRNR1 with an inexact value function"
    words = f"{where}: p gain less (1 - p) exploitability of {name}, over that with an exact one, mean over p"
    claim = Claim(words, "slightly below 1", worth[0] / worth[1] if worth[1] > 0.0 else None)
    nearly = "its errors can make a step choose a different one of several nearly equal decisions"
    claims = [claim.judged(lambda share: 1 / SLIGHTLY <= share <= 1.0 + ROUND_OFF, nearly)]
    kind, _, number = pairs[0][0].opponent.partition(":iterations=")
    over = [one.exploitability - one.gain for one, _ in pairs if one.p == 0.5]
    if over and kind == "cfr" and int(number) >= GOOD:
        claim = Claim(
            f"{where}: exploitability less gain of {name} and p = 0.5, payoff units",
            "may be above 0 if the opponent is close to optimal",
            over[0],
        )
        claims.append(claim.judged(lambda more: more > 0.0, UNKNOWN_OPPONENTS))
    return claims


#: The number of CFR iterations from which LBR gains nothing in the paper, and the largest factor between "very similar"
#: gains.
GOOD, CLOSE = 34, 1.1


@dataclass(frozen=True)
class CDRNRFigure6(Experiment[ResponseRow]):
    """The gains of local and continual depth-limited best responses in Leduc poker and goofspiel.

    Parameters
    ----------
    iterations : tuple of int
        Numbers of CFR iterations; the average strategies are the opponents.
    seeds : tuple of int
        Seeds of random opponents.
    games : tuple of str
        ``Leduc``, ``IIGS5``, ``IIGS6``. Local best responses exist only for poker. Goofspiel with 6 cards has one
        opponent, as in the paper: CFR with 3 iterations.

    Notes
    -----
    Player 0 responds, as in table 1, and the value function of CDBR is exact.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figures 6 and 7, and appendix D for goofspiel with 6 cards.
    """

    iterations: Annotated[tuple[int, ...], Limits("[1, inf)")] = (3, 10, 34, 100, 300)
    seeds: Annotated[tuple[int, ...], Limits("[0, inf)")] = (1, 2, 3)
    games: Annotated[tuple[str, ...], Limits(choices=("Leduc", "IIGS5", "IIGS6"))] = ("Leduc", "IIGS5")

    name = "cdrnr-figure-6"
    title = "gains of local best responses and of continual depth-limited ones, in Leduc poker and goofspiel"
    figure = "6"
    paper = CONTINUAL_RESPONSES
    criterion = "no response gains more than the best response, and no CDBR gains less than 0"

    full_settings: ClassVar = {
        "games": ("Leduc", "IIGS5", "IIGS6"),
        "iterations": (1, 2, 3, 5, 10, 20, 34, 60, 100, 200, 300, 600, 1_000, 3_000),
        "seeds": tuple(range(1, 11)),
    }

    @property
    def num_rows(self) -> int:
        """One row per response."""
        return sum(len(self._opponents(name)) * len(_methods_in(name)) for name in self.games)

    def _opponents(self, name: str) -> list[str]:
        if name == LARGE:
            return [LARGE_OPPONENT]
        return [*(f"cfr:iterations={n}" for n in self.iterations), *(f"random:seed={seed}" for seed in self.seeds)]

    def rows(self, tell: Tell) -> Iterator[ResponseRow]:
        """Yield the rows in the order of games and opponents."""
        for name in self.games:
            tell(f"{name}: the game")
            game = load_game(GAMES[name][0])
            # Both seats of goofspiel are equivalent.
            value = 0.0 if game.name == "goofspiel" else float(solve(Nash(game), "highs-simplex").value)
            for opponent in self._opponents(name):
                tell(f"{name}, {opponent}")
                exploiter = Exploiter.against(name, game, opponent, value)
                best = 0.0
                for method, response in _methods_in(name).items():
                    row = exploiter.row(method, response)
                    best = row.gain if method == "best response" else best
                    yield judged_by_gain(row, best)

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return each method's mean gain relative to a best response's, and where LBR gains nothing."""
        claims: list[Claim] = []
        for name in dict.fromkeys(row.game for row in rows):
            own = [row for row in rows if row.game == name]
            best = {row.opponent: row.gain for row in own if row.method == "best response" and row.gain > 0.0}
            where, means = "" if name == "Leduc" else f"{name}: ", []
            for method in list(_methods_in(name))[1:]:
                for kind in ("cfr", "random"):
                    shares = [
                        row.gain / best[row.opponent]
                        for row in own
                        if row.method == method and row.opponent.startswith(kind) and row.opponent in best
                    ]
                    mean = sum(shares) / len(shares) if shares else None
                    words = f"{where}{method}: gain over a best response's, mean over {kind} opponents"
                    means.append(Claim(words, None, mean))
            claims += means
            if name == "Leduc":
                claims += self._claims_of_text(own, {claim.quantity: claim.measured for claim in means})
                continue
            least = min((row.gain for row in own if row.method.startswith("CDBR")), default=None)
            words = f"{where}gain of CDBR, payoff units, at least"
            claims.append(
                Claim(words, "at least 0", least).judged(lambda gain: gain >= -ROUND_OFF, "a theorem is violated")
            )
            if name == LARGE:
                claims += [
                    Claim(
                        f"{where}{row.method} against {row.opponent}, percent of a best response's gain (table 1)",
                        LARGE_PERCENT[row.method],
                        100.0 * row.gain / best[row.opponent],
                    ).judged(
                        near(LARGE_PERCENT[row.method], 0.05),
                        "appendix D names this opponent, but the numbers match table 1 only against uniform play",
                    )
                    for row in own
                    if row.method in LARGE_PERCENT and row.opponent in best
                ]
        return claims

    def _claims_of_text(self, rows: Sequence[ResponseRow], means: Mapping[str, Any]) -> list[Claim]:
        """Return the text's statements on the order of the methods, and on LBR's gain against strong opponents."""
        good = [
            row.gain
            for row in rows
            if row.method == "LBR" and row.opponent.startswith("cfr") and int(row.opponent.partition("=")[2]) >= GOOD
        ]
        claims = [
            Claim(
                f"gain of LBR against opponents with {GOOD} or more iterations of CFR, payoff units, at most",
                "none",
                largest(good),
                reason="" if good else f"the run has no opponent of {GOOD} iterations",
            ).judged(lambda gain: gain <= 0.0, "the paper's LBR or its game may differ"),
            Claim(
                "gain of CDBR, payoff units, at least",
                "at least 0",
                min((row.gain for row in rows if row.method.startswith("CDBR")), default=None),
            ).judged(lambda gain: gain >= -ROUND_OFF, "a theorem is violated"),
        ]
        for kind in ("cfr", "random"):
            local, near_one, deep = (
                means[f"{method}: gain over a best response's, mean over {kind} opponents"]
                for method in ("LBR", "CDBR1", "CDBR5")
            )
            of = f"gain over that of LBR, mean over {kind} opponents"
            claims += [
                Claim(f"CDBR1: {of}", "very similar", near_one / local if local else None).judged(
                    lambda ratio: 1 / CLOSE <= ratio <= CLOSE, UNKNOWN_OPPONENTS
                ),
                Claim(f"CDBR5: {of}", "more than 1", deep / local if local else None).judged(
                    lambda ratio: ratio > 1.0, UNKNOWN_OPPONENTS
                ),
            ]
        return claims

    def draw(self, rows: Sequence[ResponseRow]) -> "Figure":
        """Draw gains against CFR opponents, by their iterations, and against random opponents, one row per game."""
        games = list(dict.fromkeys(row.game for row in rows)) or [""]
        figure, axes = panels(
            len(games), 2, (9.6, 0.4 + 3.4 * len(games)), width_ratios=(3, 2), sharey="row", squeeze=False
        )
        for game, pair in zip(games, axes, strict=True):
            here = [row for row in rows if row.game == game]
            best = {row.opponent: row.gain for row in here if row.method == "best response"}
            for one, kind in zip(pair, ("cfr", "random"), strict=True):
                chosen = [row for row in here if row.opponent.startswith(kind) and best.get(row.opponent, 0.0) > 0.0]
                for method in dict.fromkeys(row.method for row in here):
                    look = LOOKS[method] if kind == "cfr" else replace(LOOKS[method], line="")
                    own = [row for row in chosen if row.method == method]
                    places = [int(row.opponent.partition("=")[2]) for row in own]
                    shares = [100.0 * row.gain / best[row.opponent] for row in own]
                    look.plot(one, places, shares, markersize=6, label=method)
                Look("slate").level(one, 0.0)
                if kind == "random":
                    one.set_xticks(sorted({int(row.opponent.partition("=")[2]) for row in chosen}))
                elif chosen:
                    one.set_xscale("log")
            pair[0].set(xlabel="iterations of CFR of the opponent", title=f"{game}: opponents from CFR")
            pair[0].set_ylabel("gain, percent of a best response's")
            pair[1].set(xlabel="seed of the opponent", title="random opponents")
            pair[1].margins(x=0.1)
            legend(pair[0], "lower left", fontsize="small")
        return figure


#: The game solved against one opponent, and its entries in table 1.
LARGE, LARGE_OPPONENT = "IIGS6", "cfr:iterations=3"
LARGE_PERCENT: Mapping[str, float] = {"CDBR1": 90.7, "CDBR3": 100.0, "CDBR5": 100.0}


def _methods_in(name: str) -> dict[str, Response]:
    """Return the methods of figure 6 that apply to a game."""
    return {method: response for method, response in _LOCAL.items() if name == "Leduc" or method != "LBR"}


#: The best response comes first, because the others are compared with it.
_LOCAL: Mapping[str, Response] = {
    "best response": (BestResponse, {}),
    "LBR": (LBR, {}),
    **{f"CDBR{lookahead}": (CDBR, {"lookahead": lookahead}) for lookahead in (1, 3, 5)},
}


def judged_by_gain(row: ResponseRow, best: float) -> ResponseRow:
    """Return a row of figure 6, judged by the gain of a best response, with its failure, if any."""
    lost = row.method.startswith("CDBR") and row.gain < -ROUND_OFF
    return row.failing(
        verdict(
            (row.gain > best + ROUND_OFF, f"it gains {row.gain:.6f}, but a best response gains {best:.6f}"),
            (lost, f"gain {row.gain:.6f} is negative"),
        )
    )


#: The payoffs for winning with rock, paper and scissors in a round.
STAKES = "rock=1/2,paper=1/4,scissors=1/20"
#: The second round begins after both moves of the first.
SECOND_ROUND = 2
SECOND_ONLY = "second round only"
_GADGETS = ("full", "none", "resolving", "max-margin", "reach-max-margin")
_ROBUST: Mapping[str, Response] = {
    "RNR": (RestrictedNash, {}),
    **{gadget: (CDRNR, {"lookahead": 1, "gadget": gadget}) for gadget in _GADGETS},
    "CDBR-NE": (CDBRNE, {"lookahead": 1, "mixing": "infoset"}),
    "SES": (SES, {"level": SECOND_ROUND}),
}


@dataclass(frozen=True)
class CDRNRFigure15(Experiment[ResponseRow]):
    """The frontiers that robust responses recover over all p in two rounds of biased rock, paper, scissors.

    Parameters
    ----------
    opponent : str
        The string that names the opponent, who is player 1.
    points : int
        Number of values of p from 0 to 1.

    Notes
    -----
    The paper states neither the stakes nor the opponent. The stakes here are those of OpenSpiel's biased game, and the
    opponent plays uniformly in both rounds, so half of the possible gain is in the second. The paper does not define
    "Exp-strat", which "can exploit only the second round, and it gains half of the maximum". It is replaced here by a
    strategy that has this property by construction: an equilibrium in the first round, and a restricted Nash response
    to the model in the second.

    Steps look one level ahead, to the opponent's move of the same round. All gadgets except the full one resolve from
    the first step's solution. The search's subgames are the second rounds.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 15.
    """

    opponent: str = "uniform"
    points: Annotated[int, Limits("[2, 10_000]")] = 21

    name = "cdrnr-figure-15"
    title = "frontiers that robust responses recover in repeated biased rock, paper, scissors"
    figure = "15"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "no response is above the frontier of restricted Nash responses; the exploitability of these responses "
        "and of the full gadget is at most p / (1 - p) times the gain; the search gains nothing"
    )

    full_settings: ClassVar = {"points": 101}

    @property
    def num_rows(self) -> int:
        """One row per response."""
        return (len(_ROBUST) + 1) * self.points

    def rows(self, tell: Tell) -> Iterator[ResponseRow]:
        """Yield the rows method by method."""
        game = load_game(f"repeated_rps:{STAKES},rounds=2")
        exploiter = Exploiter.against(game.name, game, self.opponent, 0.0)
        ps = np.linspace(0.0, 1.0, self.points).tolist()
        best: list[ResponseRow] = []
        for row, best in exploiter.rows(_ROBUST, ps, tell):
            yield judged_in_rounds(row, best)
        tell(SECOND_ONLY)
        for p in ps:
            yield judged_in_rounds(_second_round(exploiter, p), best)

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return each method's gain as a fraction of the largest one, and its distance below the frontier."""
        by = {method: [row for row in rows if row.method == method] for method in (*_ROBUST, SECOND_ONLY)}
        if not all(by.values()):
            return []
        most = largest_gain(by["RNR"])
        papers: Mapping[str, float] = {"SES": 0, SECOND_ONLY: 0.5}
        stakes = "the paper states neither stakes nor opponent"
        claims = [
            Claim(
                f"{method}: largest gain, over that of a best response", papers.get(method, 1), largest_gain(own) / most
            ).judged(near(papers.get(method, 1), ROUND_OFF), stakes)
            for method, own in by.items()
        ]
        order = ("full", "none", "resolving", "max-margin", "reach-max-margin", "CDBR-NE")
        words: Mapping[str, str] = {"full": "the least", "CDBR-NE": "the most"}
        missing = {method: below(by["RNR"], by[method]) / most for method in order}
        claims += [
            Claim(
                f"{method}: gain below the frontier at equal exploitability, mean, over a best response's gain",
                words.get(method, "between"),
                missed,
            ).judged(missing["full"] - ROUND_OFF <= missed <= missing["CDBR-NE"] + ROUND_OFF, stakes)
            for method, missed in missing.items()
        ]
        return claims

    def draw(self, rows: Sequence[ResponseRow]) -> "Figure":
        """Draw gain against exploitability over all p: the whole range, and the range of small exploitability."""
        figure, axes = panels(1, 2, (9.6, 4.2))
        sets: dict[tuple[tuple[float, float], ...], list[str]] = {}
        for method in dict.fromkeys(row.method for row in rows):
            own = sorted((row for row in rows if row.method == method), key=lambda row: row.p or 0.0)
            # Gadgets with equal answers are drawn once.
            points = tuple((round(row.exploitability, 9) + 0.0, round(row.gain, 9) + 0.0) for row in own)
            sets.setdefault(points, []).append(method)
        for points, methods in sets.items():
            for one in axes:
                LOOKS[methods[0]].plot(one, *zip(*points, strict=True), label=",\n".join(methods))
        best = [row for row in rows if row.method == "RNR"]
        most, loss = (max((getattr(row, name) for row in best), default=1.0) for name in ("gain", "exploitability"))
        axes[0].set(xlabel=LOST, ylabel=GAINED, title="all p")
        axes[1].set(xlabel=LOST, title="small exploitability", xlim=(-0.02 * loss, 0.5 * loss))
        axes[1].set_ylim(-0.03 * most, 1.03 * most)
        legend(axes[0], "lower right", fontsize="small")
        return figure


def below(best: Sequence[ResponseRow], rows: Sequence[ResponseRow]) -> float:
    """Return the mean amount by which mixtures of responses gain less than mixtures of the best responses.

    The mean is over exploitabilities from 0 to the largest one of the best responses. A response whose exploitability
    is larger than allowed counts as gain 0.
    """
    allowed = np.linspace(0.0, max(row.exploitability for row in best), 201)
    missing = [attainable(best, one) - max(0.0, np.nan_to_num(attainable(rows, one))) for one in allowed.tolist()]
    return float(np.mean(missing))


def largest_gain(rows: Sequence[ResponseRow]) -> float:
    """Return the largest gain of several responses."""
    return max(row.gain for row in rows)


def _second_round(exploiter: Exploiter, p: float) -> ResponseRow:
    """Return the row of an equilibrium in the first round and a restricted Nash response in the second."""
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


def judged_in_rounds(row: ResponseRow, best: Sequence[ResponseRow]) -> ResponseRow:
    """Return a row of figure 15, judged by the frontier, with its failure, if any."""
    gaining = row.method == "SES" and row.gain > ROUND_OFF
    return row.failing(*failures_of(row, best), f"the search gains {row.gain:.6f}" if gaining else "")
