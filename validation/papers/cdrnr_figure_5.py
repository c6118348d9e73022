"""Figure 5 of the paper on depth-limited responses: gain and exploitability of robust responses."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ...models.games import load_game
from ...models.problems import CDBRNE, CDRNR, SES, BestNash, Nash, RestrictedNash
from ...seqform.errors import UnsupportedProblemError, nearest, shown
from ...seqform.strategy import Strategy
from ...solvers import Solution, solve
from ...solvers.opponents.strategies import opponent_strategy
from .depth_limited import CONTINUAL_RESPONSES, ROUND_OFF, ResponseRow, attainable, failures_of, response_row
from .experiment import Claim, Experiment, Paper, Tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...seqform.game import Game

#: The games, and at which level subgames of the search begin: after the board card, the first round, the first bid.
GAMES: Mapping[str, tuple[str, int | None]] = {
    "Leduc": ("leduc", None),
    "IIGS4": ("goofspiel:cards=4", 2),
    "IIGS5": ("goofspiel:cards=5", 2),
    "Liar's dice": ("liars_dice:sides=4", 2),
}
#: How far the mixed response looks.
MIXED = 3
_MIXTURE = f"CDBR{MIXED}-NE"
_Solve = Callable[["Game", Strategy, float, float], Solution]


@dataclass(frozen=True)
class CDRNRFigure5(Experiment[ResponseRow]):
    """Gain and exploitability of robust responses against weak opponents, by how far the model is believed.

    Parameters
    ----------
    games : tuple of str
        ``Leduc``, ``IIGS4``, ``IIGS5``, ``Liar's dice``.
    opponents : tuple of str
        Their texts, such as ``cfr:iterations=5`` and ``random:seed=1``; player 1. Those of the same kind, which is what
        stands before the colon, are averaged in the picture.
    ps : tuple of float
        From above 0 to 1.
    lookaheads : tuple of int
        Of CDRNR.

    Notes
    -----
    Player 0 responds, as in table 1, and the value function is exact. The paper does not say which opponents it has,
    beside "few CFR iterations" and "random strategies with different seeds". A response that is as good as the
    restricted Nash response with its p is on the frontier: nothing may be above it. CDBR-NE is drawn with a lookahead
    of 3, the search with the subgames after the board card.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), figure 5 and appendix G.
    """

    games: tuple[str, ...] = ("Leduc",)
    opponents: tuple[str, ...] = ("cfr:iterations=5", "random:seed=1")
    ps: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    lookaheads: tuple[int, ...] = field(default=(1, 3))

    name: ClassVar[str] = "cdrnr-figure-5"
    title: ClassVar[str] = "gain and exploitability of robust responses to weak opponents, by p"
    figure: ClassVar[str] = "5"
    paper: ClassVar[Paper] = CONTINUAL_RESPONSES
    criterion: ClassVar[str] = (
        "no response is above the frontier of restricted Nash responses; but for the search none loses anything to the "
        "opponent; the exploitability of restricted Nash responses and of CDRNR is at most p / (1 - p) times the gain, "
        "that of the best equilibrium 0; and, measured and not proven, CDRNR3 gains at least what CDBR3-NE does with "
        "the same exploitability"
    )

    def __post_init__(self) -> None:
        for name in self.games:
            if name not in GAMES:
                raise UnsupportedProblemError(
                    f"{self.name}: no game {shown(name)}{nearest(str(name), GAMES)}; expected {', '.join(GAMES)}"
                )
        for name, values in (("games", self.games), ("opponents", self.opponents), ("lookaheads", self.lookaheads)):
            if not isinstance(values, tuple) or not values:
                raise UnsupportedProblemError(f"{self.name}: {name} is {shown(values)}, expected a tuple")
        if not self.ps or not all(isinstance(p, (int, float)) and 0.0 < p <= 1.0 for p in self.ps):
            raise UnsupportedProblemError(f"{self.name}: ps is {shown(self.ps)}, expected numbers above 0 and up to 1")

    @classmethod
    def quick(cls) -> "CDRNRFigure5":
        """Return it with one opponent of each kind in Leduc poker."""
        return cls()

    @classmethod
    def full(cls) -> "CDRNRFigure5":
        """Return it with several, in goofspiel and liar's dice too."""
        return cls(
            games=("Leduc", "IIGS5", "Liar's dice"),
            opponents=tuple(f"cfr:iterations={n}" for n in (3, 10, 34)) + tuple(f"random:seed={n}" for n in (1, 2, 3)),
            ps=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
            lookaheads=(1, 3, 5),
        )

    @property
    def num_rows(self) -> int:
        """One a response."""
        return len(self.games) * len(self.opponents) * (1 + len(self._methods(None)) * len(self.ps))

    def _methods(self, level: int | None) -> dict[str, _Solve]:
        methods: dict[str, _Solve] = {"RNR": _restricted}
        methods |= {f"CDRNR{lookahead}": _continual(lookahead) for lookahead in self.lookaheads}
        return methods | {_MIXTURE: _mixed, "SES": _search(level)}

    def rows(self, tell: Tell) -> Iterator[ResponseRow]:
        """Yield the rows game by game, opponent by opponent and method by method."""
        for name in self.games:
            spec, level = GAMES[name]
            tell(f"{name}: the game")
            game = load_game(spec)
            value = float(solve(Nash(game), "highs-simplex").value)
            for opponent in self.opponents:
                tell(f"{name}, {opponent}")
                model = opponent_strategy(opponent, game, 1)
                best: list[ResponseRow] = []
                robust: list[ResponseRow] = []
                equilibrium = response_row(
                    name, opponent, "BNE", None, solve(BestNash(game, model, game_value=value), "highs-simplex")
                )
                for method, run in self._methods(level).items():
                    for p in self.ps:
                        tell(f"{name}, {opponent}: {method}, p = {p:g}")
                        bounded = method == "RNR" or method.startswith("CDRNR")
                        row = response_row(name, opponent, method, p, run(game, model, value, p), bounded)
                        if method == "RNR":
                            best.append(row)
                            continue
                        if method == f"CDRNR{MIXED}":
                            robust.append(row)
                        yield _judged(row, best, robust if method == _MIXTURE else [])
                    if method == "RNR":
                        yield _judged(equilibrium, best)
                        yield from (_judged(row, best) for row in best)

    def claims(self, rows: Sequence[ResponseRow]) -> list[Claim]:
        """Return what the paper's text says of the figure beside what the rows do."""
        claims: list[Claim] = []
        for game in dict.fromkeys(row.game for row in rows):
            for opponent in dict.fromkeys(row.opponent for row in rows if row.game == game):
                own = [row for row in rows if (row.game, row.opponent) == (game, opponent)]
                lookahead = MIXED if MIXED in self.lookaheads else max(self.lookaheads)
                claims += _claims(f"{game}, {opponent}", own, lookahead)
        return claims

    def draw(self, rows: Sequence[ResponseRow]) -> "Figure":
        """Draw gain and exploitability by p, and one against the other."""
        from .depth_limited_pictures import draw_responses

        return draw_responses(rows)


def _restricted(game: "Game", model: Strategy, value: float, p: float) -> Solution:
    return solve(RestrictedNash(game, model, p=p, game_value=value), "highs-simplex")


def _continual(lookahead: int) -> _Solve:
    return lambda game, model, value, p: solve(CDRNR(game, model, p=p, lookahead=lookahead, game_value=value), "lp")


def _mixed(game: "Game", model: Strategy, value: float, p: float) -> Solution:
    return solve(CDBRNE(game, model, p=p, lookahead=MIXED, game_value=value), "lp")


def _search(level: int | None) -> _Solve:
    return lambda game, model, value, p: solve(SES(game, model, p=p, level=level, game_value=value), "lp")


def _judged(row: ResponseRow, best: Sequence[ResponseRow], robust: Sequence[ResponseRow] = ()) -> ResponseRow:
    failures = failures_of(row, best)
    # Without its response of p = 1 too little is known of what the robust ones gain where much may be lost.
    if any(one.p == 1.0 for one in robust) and attainable(robust, row.exploitability) < row.gain - ROUND_OFF:
        failures.append(
            f"CDRNR{MIXED} gains less than {row.gain:.6f} with an exploitability of {row.exploitability:.6f}"
        )
    if row.method != "SES" and row.gain < -ROUND_OFF:
        failures.append(f"gain {row.gain:.6f} is negative")
    if row.method == "BNE" and row.exploitability > ROUND_OFF:
        failures.append(f"exploitability {row.exploitability:.6f} of an equilibrium")
    return row.judged(failures)


def _claims(where: str, rows: Sequence[ResponseRow], lookahead: int) -> list[Claim]:
    by = {method: [row for row in rows if row.method == method] for method in dict.fromkeys(row.method for row in rows)}
    robust, search, mixed = by.get(f"CDRNR{lookahead}", []), by.get("SES", []), by.get(_MIXTURE, [])
    equilibrium = by["BNE"][0].gain if "BNE" in by else None
    even = [row.exploitability / row.gain for row in robust if row.p == 0.5 and row.gain > 0.0]
    claims = [
        Claim(
            f"{where}: exploitability over gain of CDRNR{lookahead} with p = 0.5",
            "at most 1, and rarely even 0.1",
            even[0] if even else None,
        )
    ]
    if robust and equilibrium:
        gain = attainable([*robust, *by["BNE"]], 0.05)
        words = f"{where}: gain of CDRNR{lookahead} with an exploitability of 0.05, over that of the best equilibrium"
        claims.append(Claim(words, "more than 2, almost zero exploitability", gain / equilibrium))
    if robust and mixed:
        better = [attainable(robust, row.exploitability) - row.gain for row in mixed]
        least = min((one for one in better if not math.isnan(one)), default=None)
        words = f"{where}: gain of CDRNR{lookahead} over {_MIXTURE} at equal exploitability, at least"
        claims.append(Claim(words, None, least))
    if search and equilibrium:
        most = max(row.gain for row in search) / equilibrium
        claims.append(
            Claim(f"{where}: gain of SES over that of the best equilibrium, at most", "slightly above 1", most)
        )
        lost = max((row.exploitability for row in search if row.p != 1.0), default=None)
        claims.append(Claim(f"{where}: exploitability of SES with p below 1, at most", "almost none", lost))
    return claims
