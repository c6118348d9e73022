"""The safety theorem of the paper on depth-limited responses, by levels, along paths, and with reach resolving."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from ...models.games import load_game
from ...models.problems import CDRNR, Nash
from ...seqform.interchange.pictures import Figure, Look, legend, panels
from ...solvers import Solution
from ...solvers.opponents.strategies import opponent_strategy
from ..table import Column, Row, verdict
from .cdrnr_responses import CONTINUAL_RESPONSES, GAINED, ROUND_OFF, WEIGHT
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed, largest

#: The paper's names of the games, or their ranks if they differ from the paper's.
GAMES: Mapping[str, str] = {
    "Leduc": "leduc:merge_suits=true",
    "Leduc, 6 ranks": "leduc:ranks=6,merge_suits=true",
    "IIGS4": "goofspiel:cards=4",
}
#: The ways to decide: by levels and along paths with the paper's gadget, and along paths with reach resolving.
WAYS: Mapping[str, Mapping[str, Any]] = {
    "level": {"along": "level"},
    "path": {"along": "path"},
    "reach-resolving": {"along": "path", "gadget": "reach-resolving"},
}
#: The test that refutes the theorem along paths for every choice of optimal strategies.
COUNTEREXAMPLE = (
    "tests/solvers/test_depth_limited.py::test_along_paths_steps_that_are_optimal_one_by_one_are_unsafe_together"
)
_LOOKS = {"level": Look("black", "."), "path": Look("red", "x"), "reach-resolving": Look("blue", "o")}


@dataclass(frozen=True)
class SafetyRow(Row):
    """One response in one game and seat, computed in one way.

    Attributes
    ----------
    game : str
    seat : int
        The seat of the responder.
    lookahead : int
    p : float
        The confidence in the model.
    way : str
        ``level`` and ``path`` with the full gadget; ``reach-resolving`` along paths.
    gain, exploitability : float
        Payoff units.
    bound : float
        The theorem's bound on exploitability: p / (1 - p) times the gain.
    share : float
        Exploitability divided by the bound; a value above 1 violates the theorem.
    seconds : float
        Solving time.
    """

    game: Annotated[str, Column("game", width=14)]
    seat: Annotated[int, Column("seat")]
    lookahead: Annotated[int, Column("lookahead", width=9)]
    p: Annotated[float, Column("p", "g")]
    way: Annotated[str, Column("way", width=15)]
    gain: Annotated[float, Column("gain", ".4f")]
    exploitability: Annotated[float, Column("exploitability", ".4f")]
    bound: Annotated[float, Column("bound", ".4f")]
    share: Annotated[float, Column("share of it", ".2f")]
    seconds: Annotated[float, Column("seconds", ".2g")]


@dataclass(frozen=True)
class CDRNRSafety(Experiment[SafetyRow]):
    """Exploitability of robust responses compared with the bound of the paper's theorem, by levels and along paths.

    Parameters
    ----------
    games : tuple of str
        ``Leduc``, ``Leduc, 6 ranks``, ``IIGS4``.
    opponent : str
        The string that names the opponent.
    seats : tuple of int
        Seats of the responder.
    lookaheads : tuple of int
    ps : tuple of float
        Confidences, above 0 and below 1.

    Notes
    -----
    The paper decides along the path of play. Its proof concerns the strategy whose decisions off the path are those
    that a step assumes, but the strategy that is played combines decisions from all paths. The solver chooses among a
    step's optimal strategies, so rows along paths may differ between versions of HiGHS.

    References
    ----------
    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", ALA 2024 (arXiv:2112.12594), the theorem on exploitability in section 4.
    """

    games: Annotated[tuple[str, ...], Limits(choices=GAMES)] = ("Leduc", "IIGS4")
    opponent: Annotated[str, Limits()] = "uniform"
    seats: Annotated[tuple[int, ...], Limits("[0, 1]")] = (0, 1)
    lookaheads: Annotated[tuple[int, ...], Limits("[1, inf)")] = (1,)
    ps: Annotated[tuple[float, ...], Limits("(0, 1)")] = (0.05, 0.1, 0.3, 0.5)

    name = "cdrnr-safety"
    title = "exploitability of robust responses compared with the theorem's bound, by levels and along paths"
    figure = "theorem"
    paper = CONTINUAL_RESPONSES
    criterion = (
        "by levels, and by reach resolving along paths, exploitability is at most p / (1 - p) times the gain, and "
        "the gain is not negative; along paths with the full gadget nothing is proven"
    )

    full_settings: ClassVar = {"games": tuple(GAMES), "lookaheads": (1, 2, 3), "ps": (0.02, 0.05, 0.1, 0.2, 0.5, 0.75)}
    axes = ("seats", "lookaheads", "ps")

    @property
    def num_rows(self) -> int:
        """One row per game, setting and way."""
        return len(self.games) * len(self.cases) * len(WAYS)

    def rows(self, tell: Tell) -> Iterator[SafetyRow]:
        """Yield the rows in the order of games and settings."""
        for name in self.games:
            tell(f"{name}: the game")
            game = load_game(GAMES[name])
            value = float(completed(Nash(game), "highs-simplex").value)
            for seat, lookahead, p in self.cases:
                model = opponent_strategy(self.opponent, game, 1 - seat)
                own = value if seat == 0 else -value
                for way, words in WAYS.items():
                    tell(f"{name}, seat {seat}, lookahead {lookahead}, p {p:g}: {way}")
                    found = completed(CDRNR(game, model, p=p, lookahead=lookahead, game_value=own, **words))
                    yield judged(name, seat, way, found)

    def claims(self, rows: Sequence[SafetyRow]) -> list[Claim]:
        """Return how many rows violate the theorem, the largest violation, and the cost of safety along paths."""
        claims: list[Claim] = []
        for game in dict.fromkeys(row.game for row in rows):
            for seat in self.seats:
                together = {_setting(row): row.gain for row in rows if row.way == "level"}
                for way in WAYS:
                    own = [row for row in rows if (row.game, row.seat, row.way) == (game, seat, way)]
                    if not own:
                        continue
                    said = f"{game}, seat {seat}, {way}"
                    broken = sum(row.exploitability > row.bound + ROUND_OFF for row in own)
                    shares = [row.gain / gain for row in own if (gain := together.get(_setting(row)))]
                    holds = Claim(f"{said}: settings of {len(own)} that violate the theorem", 0, broken)
                    worst = largest(row.share for row in own)
                    within = Claim(f"{said}: largest exploitability over the bound", 1, worst)
                    claims += [
                        claim.refuted(COUNTEREXAMPLE, "the proof counts one path, but every path uses the slack")
                        if way == "path" and broken
                        else claim.judged(not broken, "a proof of the library is wrong")
                        for claim in (holds, within)
                    ] + [
                        Claim(f"{said}: gain over that by levels, mean", None, _mean(shares)),
                    ]
        return claims

    def draw(self, rows: Sequence[SafetyRow]) -> "Figure":
        """Draw one column of panels per game: exploitability divided by the bound, and the gain, both against p."""
        games = list(dict.fromkeys(row.game for row in rows)) or [""]
        figure, axes = panels(2, len(games), (1.2 + 3.2 * len(games), 5.6), squeeze=False)
        for game, (shares, gains) in zip(games, axes.T, strict=True):
            for way, look in _LOOKS.items():
                own = [row for row in rows if (row.game, row.way) == (game, way)]
                for seat, lookahead in dict.fromkeys((row.seat, row.lookahead) for row in own):
                    line = [row for row in own if (row.seat, row.lookahead) == (seat, lookahead)]
                    label = way if line[0] is own[0] else None
                    look.plot(shares, [row.p for row in line], [row.share for row in line], label=label, linewidth=0.8)
                    look.plot(gains, [row.p for row in line], [row.gain for row in line], linewidth=0.8)
            shares.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
            shares.set(title=game, xlabel=WEIGHT, ylabel="exploitability over the bound")
            gains.set(xlabel=WEIGHT, ylabel=GAINED)
        legend(axes[0][0], "upper right", fontsize="small")
        return figure


def judged(game: str, seat: int, way: str, found: Solution) -> SafetyRow:
    """Return a row with its failure, if any; nothing is proven along paths with the full gadget."""
    problem: Any = found.problem
    gain, lost = found.gain, found.exploitability
    assert gain is not None
    assert lost is not None
    bound = problem.p / (1.0 - problem.p) * gain
    share = lost / max(bound, ROUND_OFF) if lost > ROUND_OFF else 0.0  # a ratio of round-off errors is meaningless
    proven = way != "path"
    failure = verdict(
        (proven and lost > bound + ROUND_OFF, f"exploitability {lost:.6f} is above the bound {bound:.6f}"),
        (proven and gain < -ROUND_OFF, f"it gains {gain:.6f}"),
    )
    measured = (gain, lost, bound, share, found.seconds)
    return SafetyRow(game, seat, problem.lookahead, problem.p, way, *measured, failure=failure)


def _setting(row: SafetyRow) -> tuple[Any, ...]:
    return row.game, row.seat, row.lookahead, row.p


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
