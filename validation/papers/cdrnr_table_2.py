"""A table like table 2 of the paper on depth-limited responses: winnings against fixed no-limit bots, in mBB/hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.games.holdem import HoldemSpot, SpotRules
from ...models.opponents import Threshold
from ...models.problems import CDBR, LBR, BestResponse, Nash
from ...seqform.game import Game
from ...seqform.interchange.pictures import COLOURS, Figure, panels
from ...seqform.strategy import Profile, Strategy
from ...solvers import solve
from ..table import Column, Row, verdict
from .cdrnr_responses import CONTINUAL_RESPONSES, ROUND_OFF
from .cdrnr_table_1 import Learnt
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed

#: Chips per big blind in the spots: the pot is 6 big blinds, and the stacks are 97.
_BIG_BLIND, _POT, _STACK = 100, 600, 9_700
#: The spots: a board and two ranges.
SPOTS: Mapping[str, tuple[str, str, str]] = {
    "river": ("Td9d6hQc2s", "99+, AQs+, KQs, JTs, 87s, A5s", "QQ-77, AQs, AJs, KQs, QJs, T9s, 76s"),
    "turn": ("Td9d6hQc", "QhQs, AdKd, KsJs, 7c6c", "TcTh, AcQh, 8d7d, JhTh"),
}
#: The printed values, against SlumBot.
PRINTED: Mapping[str, str] = {"ABR": "1259", "LBR": "1388 ± 150", "CDBR": "1774 ± 137"}
_COLOURS = {"best response": "slate", "CDBR1": "sky", "CDBR3": "blue", "LBR": "orange", "ABR": "grey"}


@dataclass(frozen=True)
class WinRow(Row):
    """The winnings of one response against one bot, averaged over both seats.

    Attributes
    ----------
    spot, opponent, method : str
    games : int or None
        Number of games from which the response has learned in each seat.
    won : float
        The exact winnings, in mBB/hand.
    lower, upper : float or None
        For learned responses, the sum of the seats' 95 % intervals from fresh games; its confidence is at least
        90 %.
    percent : float
        The winnings in percent of a best response's.
    paper : str
        The printed value, against SlumBot.
    seconds : float
        Solving or learning time.
    """

    spot: Annotated[str, Column("spot")]
    opponent: Annotated[str, Column("opponent", width=10)]
    method: Annotated[str, Column("method", width=14)]
    games: Annotated[int | None, Column("games", ",")]
    won: Annotated[float, Column("mBB", ".1f")]
    lower: Annotated[float | None, Column("by fresh games", "{lower:.1f} to {upper:.1f}", width=16)]
    upper: float | None
    percent: Annotated[float, Column("percent", ".2f")]
    paper: Annotated[str, Column("paper")]
    seconds: Annotated[float, Column("seconds", ".2g")]


@dataclass(frozen=True)
class CDRNRTable2(Experiment[WinRow]):
    """The winnings of ABR, LBR and CDBR against fixed no-limit bots, in mBB/hand.

    Parameters
    ----------
    spots : tuple of str
        ``river`` and ``turn``.
    opponents : tuple of str
        ``blueprint``, the result of 30 iterations of CFR on the spot, and ``threshold``, the hand-made
        :class:`~treeplex.models.opponents.Threshold`.
    learnt_games : tuple of int
        Numbers of games from which ABR learns in each seat, one row each.
    fresh_games : int
        Number of games in each seat for the intervals of learned responses.

    Notes
    -----
    The paper plays full no-limit hold'em against SlumBot, which is not published. Here other bots replace it, in spots
    of no-limit hold'em in which everything can be computed exactly: a raised pot of 6 big blinds with stacks of 97, and
    with the actions fold, call, pot and all-in, as in the paper. Only the order of the numbers, not their size, is
    therefore comparable with the paper's.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), table 2.
    """

    spots: Annotated[tuple[str, ...], Limits(choices=SPOTS)]
    opponents: Annotated[tuple[str, ...], Limits(choices=("blueprint", "threshold"))] = ("blueprint", "threshold")
    learnt_games: Annotated[tuple[int, ...], Limits("[1, inf)")] = (100, 1_000, 10_000)
    fresh_games: Annotated[int, Limits("[2, inf)")] = 200_000

    name = "cdrnr-table-2"
    title = "winnings of learned, local and depth-limited responses against fixed no-limit bots, in mBB/hand"
    figure = "table 2"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "no response wins more than the best response, no CDBR wins less than an equilibrium, and the interval by "
        "fresh games contains the exact winnings"
    )

    quick_settings: ClassVar = {"spots": ("river",)}
    full_settings: ClassVar = {
        "spots": tuple(SPOTS),
        "learnt_games": (100, 1_000, 10_000, 30_000),
        "fresh_games": 1_000_000,
    }

    @property
    def num_rows(self) -> int:
        """One row per response."""
        return len(self.spots) * len(self.opponents) * (len(_EXACT) + len(self.learnt_games))

    def rows(self, tell: Tell) -> Iterator[WinRow]:
        """Yield the rows in the order of the bots."""
        for name in self.spots:
            board, *ranges = SPOTS[name]
            spot = HoldemSpot(board, ranges, _POT, _STACK, bets={"bet": "100%, a", "raise": "100%, a"})
            game = Game(name, rules=SpotRules(spot))
            for opponent in self.opponents:
                tell(f"{name}: {opponent}")
                bot = _BOTS[opponent](spot)
                models = [Strategy.from_dict(game, seat, bot[seat].to_dict()) for seat in (0, 1)]
                best = float("inf")
                for method, response in _EXACT.items():
                    tell(f"{name}, {opponent}: {method}")
                    found = [completed(response(game, models[1 - seat], game_value=0.0)) for seat in (0, 1)]
                    won = _in_mbb(sum(float(one.gain or 0.0) for one in found))
                    best = won if method == "best response" else best
                    seconds = sum(one.seconds for one in found)
                    yield _judged(
                        WinRow(name, opponent, method, None, won, None, None, 0.0, _paper(method), seconds), best
                    )
                for games in self.learnt_games:
                    tell(f"{name}, {opponent}: ABR from {games} games")
                    learned = [Learnt.against(models[1 - seat], game, games, self.fresh_games) for seat in (0, 1)]
                    won, lower, upper = (
                        _in_mbb(sum(each))
                        for each in zip(
                            *((one.paid, one.estimate.lower, one.estimate.upper) for one in learned), strict=True
                        )
                    )
                    seconds = sum(one.seconds for one in learned)
                    row = WinRow(name, opponent, "ABR", games, won, lower, upper, 0.0, _paper("ABR"), seconds)
                    yield _judged(row, best).failing(*(one.missed for one in learned))

    def claims(self, rows: Sequence[WinRow]) -> list[Claim]:
        """Return, for each bot, the order of the methods by winnings, best first."""
        claims = []
        for method, printed in PRINTED.items():
            won = [f"{row.won:.1f} ({row.spot}, {row.opponent})" for row in rows if row.method.startswith(method)]
            said = f"{method}: winnings against SlumBot in no-limit hold'em, mBB/hand; here against its replacements"
            stand_in = "SlumBot is not published: other bots, in single spots, replace it"
            claims.append(Claim(said, printed, ", ".join(won) or None).judged(holds=False, otherwise=stand_in))
        for spot, opponent in dict.fromkeys((row.spot, row.opponent) for row in rows):
            own = [row for row in rows if (row.spot, row.opponent) == (spot, opponent)]
            most = {
                name: max(wins) for name in PRINTED if (wins := [row.won for row in own if row.method.startswith(name)])
            }
            order = sorted(most, key=lambda name: -most[name])
            if len(order) < len(PRINTED):
                continue
            listed = ", ".join(f"{name} {most[name]:.1f}" for name in order)
            claims += [
                Claim(f"{spot}, {opponent}: the most profitable response", "CDBR", listed).judged(
                    order[0] == "CDBR", "in such a small spot ABR learns a best response"
                ),
                Claim(f"{spot}, {opponent}: LBR compared with ABR", "LBR wins more", listed).judged(
                    order.index("LBR") < order.index("ABR"),
                    "in such a small spot ABR learns almost a best response, while LBR assumes calls to the end",
                ),
            ]
        return claims

    def draw(self, rows: Sequence[WinRow]) -> "Figure":
        """Draw a panel per bot: a bar per response, intervals of learned responses, and a line at the best response."""
        bots = list(dict.fromkeys((row.spot, row.opponent) for row in rows)) or [("", "")]
        columns = min(2, len(bots))
        height = -(-len(bots) // columns)
        figure, grid = panels(height, columns, (1.2 + 3.6 * columns, 3.4 * height))
        for axes, (spot, opponent) in zip(np.ravel(grid), bots, strict=False):
            own = [row for row in rows if (row.spot, row.opponent) == (spot, opponent)]
            names = [row.method if row.games is None else f"ABR {row.games:,}" for row in own]
            axes.barh(names, [row.won for row in own], color=[COLOURS[_COLOURS[row.method]] for row in own])
            for place, row in enumerate(own):
                if row.lower is not None and row.upper is not None:
                    axes.plot([row.lower, row.upper], [place, place], color=COLOURS["black"], linewidth=1.6)
            axes.axvline(max((row.won for row in own), default=0.0), color=COLOURS["slate"], linestyle=":")
            axes.invert_yaxis()
            axes.set(xlabel="won, mBB/hand", ylabel="response", title=f"{spot}, {opponent}")
        return figure


def _in_mbb(chips: float) -> float:
    """Return the winnings of both seats together in mBB/hand."""
    return chips / 2.0 / _BIG_BLIND * 1000.0


def _paper(method: str) -> str:
    return PRINTED.get(method.rstrip("13"), "")


def _judged(row: WinRow, best: float) -> WinRow:
    """Return a row with its percentage, and its failure, if any."""
    lost = row.method.startswith("CDBR") and row.won < -_in_mbb(ROUND_OFF)
    judged = {**vars(row), "percent": 100.0 * row.won / best}
    return WinRow(**judged).failing(
        verdict(
            (row.won > best + _in_mbb(ROUND_OFF), f"it wins {row.won:.4f}, but a best response wins {best:.4f}"),
            (lost, f"{row.won:.4f} is less than an equilibrium's winnings"),
        )
    )


_BOTS: Mapping[str, Callable[[HoldemSpot], Profile]] = {
    "blueprint": lambda spot: solve(Nash(spot.game), "cfr", max_iterations=30, tol=0.0).profile,
    "threshold": lambda spot: Profile([Threshold().strategy(spot.game, seat) for seat in (0, 1)]),
}
#: The best response comes first, because the others are compared with it.
_EXACT: Mapping[str, Callable[..., Any]] = {
    "best response": BestResponse,
    "CDBR1": partial(CDBR, lookahead=1),
    "CDBR3": partial(CDBR, lookahead=3),
    "LBR": LBR,
}
