"""The samples of the report on a no-limit hold'em bot: errors of estimated hand values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...models.games.holdem.cards import HANDS
from ...models.games.holdem.showdown import alive
from ...models.games.holdem.values import hand_value, hand_values
from ...models.matches.table import DEALT, STREETS
from ...models.opponents import Threshold
from ...seqform.arrays import Floats, Indices
from ...seqform.interchange.pictures import Figure, Look, legend, panels
from ..table import Column, Row, fields, verdict
from .claims import Claim
from .experiment import Experiment, Limits, Tell
from .nlhe_bot_exploited import BOT_REPORT

#: The report's example of the number of samples.
REPORTED = 10_000
_ESTIMATED = ("flop", "turn")


@dataclass(frozen=True)
class SamplesRow(Row):
    """Sampled values of hands on one street, compared with the exact values.

    Attributes
    ----------
    street : str
    samples : int
    error : float
        The root mean square of the estimate minus the exact value.
    expected : float
        Its theoretical maximum, √(mean(1 − v²) / samples); ties reduce it.
    worst : float
        The largest error.
    changed : float
        The fraction of hands for which the hand-made bot chooses a different automaton.
    """

    street: Annotated[str, Column("street")]
    samples: Annotated[int, Column("samples", ",d")]
    error: Annotated[float, Column("error", ".4f")]
    expected: Annotated[float, Column("expected, at most", ".4f")]
    worst: Annotated[float, Column("worst", ".4f")]
    changed: Annotated[float, Column("other automaton", ".2%")]


@dataclass(frozen=True)
class NLHEBotSamples(Experiment[SamplesRow]):
    """Values v = W − L of hands on random flops and turns, estimated from samples and computed exactly.

    Parameters
    ----------
    streets : tuple of str
        ``flop`` and ``turn``.
    samples : tuple of int
    boards : int
        Number of boards per street, drawn with `seed`.
    hands : int
        Number of hands per board.
    seed : int
    """

    streets: Annotated[tuple[str, ...], Limits(choices=_ESTIMATED)] = _ESTIMATED
    samples: Annotated[tuple[int, ...], Limits("[1, 1000000]")] = (100, 500, 2_000, REPORTED)
    boards: Annotated[int, Limits("[1, inf)")] = 10
    hands: Annotated[int, Limits("[1, 1081]")] = 100
    seed: Annotated[int, Limits("[0, inf)")] = 0

    name = "nlhe-bot-samples"
    title = "sampled hand values of the report's bot compared with exact ones"
    figure = "section 1.1"
    paper = BOT_REPORT
    criterion = "the error is at most a tenth larger than the theoretical error of a mean of that many samples"
    axes = ("streets", "samples")

    full_settings: ClassVar = {"boards": 60, "hands": 300}

    def rows(self, tell: Tell) -> Iterator[SamplesRow]:
        """Yield the rows in the order of the streets."""
        for street in self.streets:
            tell(f"exact values on {self.boards} {street}s")
            number = STREETS.index(street)
            drawn = _drawn(DEALT[number], self.boards, self.hands, (self.seed, number))
            exact = np.array([hand_values(board)[hand] for board, hand in drawn])
            bounds = (Threshold().rounds[number].x, Threshold().rounds[number].y, Threshold().rounds[number].z)
            for samples in self.samples:
                tell(f"{street}, {samples} samples")
                values = np.array([hand_value(_cards(hand), board, samples) for board, hand in drawn])
                yield _row(street, samples, values, exact, bounds)

    def claims(self, rows: Sequence[SamplesRow]) -> list[Claim]:
        """Return the report's statements and the measurements."""
        return [
            Claim(
                f"{row.street}: error of a value by {row.samples:,} samples; hands with another automaton",
                "an approximate value",
                f"{row.error:.4f}; {row.changed:.2%}",
            ).judged(row.error <= 0.01 and row.changed <= 0.02, "an error above 0.01, or more than 2% of hands")
            for row in rows
            if row.samples == REPORTED
        ]

    def draw(self, rows: Sequence[SamplesRow]) -> "Figure":
        """Draw errors, and the percentage of changed hands, by samples."""
        figure, axes = panels(1, 2, (9.0, 3.6))
        for street, look in zip(self.streets, (Look("blue", "o", "-"), Look("red", "x", "-")), strict=False):
            samples, errors, changed = fields(
                [row for row in rows if row.street == street], "samples", "error", "changed"
            )
            look.plot(axes[0], samples, errors, label=street)
            look.plot(axes[1], samples, [100.0 * share for share in changed], label=street)
        most = np.array(self.samples, dtype=np.float64)
        Look("grey", "", ":").plot(axes[0], most, most**-0.5, label="1 / √samples")
        axes[0].set(xscale="log", yscale="log", xlabel="samples", ylabel="error of v, root mean square")
        axes[1].set(xscale="log", xlabel="samples", ylabel="hands with another automaton, %")
        legend(axes[0], fontsize="small")
        return figure


def _drawn(cards: int, boards: int, hands: int, seed: tuple[int, ...]) -> list[tuple[tuple[int, ...], int]]:
    """Return boards, each with hands that contain none of its cards."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(boards):
        board = tuple(sorted(rng.permutation(52)[:cards].tolist()))
        left = np.flatnonzero(alive(board, _EVERY))
        found += [(board, hand) for hand in rng.permutation(left)[:hands].tolist()]
    return found


_EVERY: Indices = np.arange(len(HANDS))


def _cards(hand: int) -> tuple[int, int]:
    high, low = HANDS[hand].tolist()
    return high, low


def _row(street: str, samples: int, values: Floats, exact: Floats, bounds: Sequence[float]) -> SamplesRow:
    """Compare estimates with exact values."""
    error = float(np.sqrt(np.mean((values - exact) ** 2)))
    expected = float(np.sqrt(np.mean(1.0 - exact**2) / samples))
    automata = [np.searchsorted(bounds, each, side="right") for each in (values, exact)]
    return SamplesRow(
        street=street,
        samples=samples,
        error=error,
        expected=expected,
        worst=float(np.abs(values - exact).max()),
        changed=float(np.mean(automata[0] != automata[1])),
    ).failing(verdict((not error <= 1.1 * expected, f"error {error:.4f}, expected at most {1.1 * expected:.4f}")))
