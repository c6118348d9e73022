"""Figure 3 of the paper on constrained CFR: what is earned after so many games were observed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .experiment import Claim, Experiment, Paper, Row, Tell, check_numbers
from .leduc_modelling import Answer, answers, best_response_line, equilibrium_line, leduc
from .sweeps import sweep
from .transit import CONSTRAINED_CFR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How far the objectives of constrained CFR and of the linear program may be apart, in shares of the payoff range.
AGREEMENT = 1e-3
#: What share of a best response is to be earned after :data:`MANY` games.
SHARE, MANY = 0.95, 100_000
#: With fewer games than this the highest confidence beats the equilibrium.
FEW = 100
#: Up to how many games a low confidence is worse, and between which numbers it is better.
EARLY, LATER = 30, (1_000, 10_000)


@dataclass(frozen=True)
class CounterProfileRow(Row):
    """One number of observed games at one confidence, over all repetitions.

    Payoffs are against the target, in antes, on the average of both seats.

    Attributes
    ----------
    games : int
        Observed in each seat.
    confidence : float
        Of each interval.
    repetitions : int
        Of other games.
    expected : float
        What the counter-profile of constrained CFR earns, on the average of the repetitions.
    low, high : float
        The same: a tenth of the repetitions earn less than `low`, a tenth more than `high`.
    worst : float
        The least of all repetitions.
    exact : float
        What the counter-profile of the linear programs earns, on the average.
    naive : float
        What a best response to the frequency model earns, on the average.
    equilibrium, best_response : float
        What the best of all equilibrium profiles and a best response earn.
    difference : float
        The largest difference between the objectives of constrained CFR and the linear program, in payoff units.
    excluding : float
        The share of repetitions in which observations of a seat exclude each other.
    violation : float
        By how much opponents miss them then in total, on the average of the repetitions; a probability.
    iterations : int
        The most that constrained CFR took.
    passed : bool
    failure : str
    """

    games: int
    confidence: float
    repetitions: int
    expected: float
    low: float
    high: float
    worst: float
    exact: float
    naive: float
    equilibrium: float
    best_response: float
    difference: float
    excluding: float
    violation: float
    iterations: int
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        return {
            "games": f"{self.games:,}",
            "confidence": f"{self.confidence:g}",
            "expected": f"{self.expected:.4f}",
            "low": f"{self.low:.4f}",
            "high": f"{self.high:.4f}",
            "exact": f"{self.exact:.4f}",
            "naive": f"{self.naive:.4f}",
        }


@dataclass(frozen=True)
class CCFRFigure3(Experiment[CounterProfileRow]):
    """Expected value of counter-profiles against a target profile, by how many games were observed.

    Parameters
    ----------
    games : tuple of int
        Observed in each seat, rising.
    confidences : tuple of float
        Of the intervals, rising.
    repetitions : int
        How many logs.
    iterations : int
        The most that constrained CFR may take for one strategy; it ends when its certificate is within 0.02.
    known_probe : bool
        Whether the observer's own part in the probabilities is the probe's, or estimated from the same games, as in the
        paper.
    seed : int
        Of the logs.
    jobs : int, optional
        How many processes share the logs, as :func:`~treeplex.validation.papers.sweeps.sweep` takes it.

    Notes
    -----
    The target plays, in both seats, an equilibrium of the abstract Leduc poker ``JQ.K/pair.nopair``, see
    :func:`~treeplex.solvers.opponents.strategies.abstraction_profile`. The probe plays all actions alike but never
    folds. What it observes bounds the target's plan (equations 50 and 51, by Wilson's intervals), and the
    counter-profile is the best in each seat against the worst opponent within these bounds. Where observations exclude
    each other, the opponent pays for each unit of violation 100 times the largest payoff.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 3 and appendix D.
    """

    games: tuple[int, ...]
    confidences: tuple[float, ...] = (0.5, 0.9, 0.99)
    repetitions: int = 8
    iterations: int = 100_000
    known_probe: bool = False
    seed: int = 0
    jobs: int | None = None

    name: ClassVar[str] = "ccfr-figure-3"
    title: ClassVar[str] = "what counter-profiles to a modelled opponent earn, by observed games, in Leduc poker"
    figure: ClassVar[str] = "3"
    paper: ClassVar[Paper] = CONSTRAINED_CFR
    criterion: ClassVar[str] = (
        f"objectives of constrained CFR and the linear program within {AGREEMENT:g} of the payoff range; the highest "
        f"confidence beats the equilibrium from the last number of games below {FEW} on; the lowest earns less than "
        f"the highest with up to {EARLY} games and more with {LATER[0]:,} to {LATER[1]:,}; with {MANY:,} games and "
        f"more all earn {SHARE:g} of a best response"
    )

    def __post_init__(self) -> None:
        check_numbers("the list of numbers of games", self.games, 1, whole=True)
        check_numbers("the list of confidences", self.confidences, 1e-6)
        check_numbers("the list of what confidences leave", [1.0 - one for one in self.confidences], 1e-12)
        check_numbers("the number of repetitions", (self.repetitions,), 1, whole=True)
        check_numbers("the number of iterations", (self.iterations,), 1, whole=True)
        check_numbers("the seed", (self.seed,), 0, whole=True)
        for what in ("games", "confidences"):
            object.__setattr__(self, what, tuple(sorted(set(getattr(self, what)))))

    @classmethod
    def quick(cls) -> "CCFRFigure3":
        """Return it with few repetitions, and a process a core."""
        return cls((10, 80, 300, 1_000, 10_000, 100_000), (0.5, 0.8, 0.95), jobs=-1)

    @classmethod
    def full(cls) -> "CCFRFigure3":
        """Return it with more games, confidences and repetitions, and a process a core."""
        few = tuple(step * power for power in (10, 100) for step in (1, 2, 3, 5, 7))
        many = tuple(step * power for power in (1_000, 10_000) for step in (1, 2, 5))
        return cls((*few, *many, 100_000), (0.5, 0.8, 0.9, 0.95, 0.99), 30, jobs=-1)

    @property
    def num_rows(self) -> int:
        """One a number of games and confidence."""
        return len(self.games) * len(self.confidences)

    def rows(self, tell: Tell) -> Iterator[CounterProfileRow]:
        """Yield a row a confidence for each number of games, in rising order."""
        tell("best responses and best equilibria")
        lines = equilibrium_line(), best_response_line()
        settings = [
            (games, repetition, self.confidences, self.seed, self.known_probe, self.iterations)
            for games in self.games
            for repetition in range(self.repetitions)
        ]
        tell(f"{self.games[0]:,} games")
        found = sweep(answers, settings, self.jobs)
        for place, games in enumerate(self.games):
            logs = list(islice(found, self.repetitions))
            if place + 1 < len(self.games):
                tell(f"{self.games[place + 1]:,} games")
            yield from self._judged(games, [list(one) for one in zip(*logs, strict=True)], *lines)

    def _judged(
        self, games: int, found: Sequence[Sequence[Answer]], equilibrium: float, best: float
    ) -> Iterator[CounterProfileRow]:
        """Yield the rows of one number of games, from the answers of all repetitions by confidence."""
        means = [float(np.mean([one.iterative for one in own])) for own in found]
        payoffs = leduc().sequence_form.leaves.payoffs  # type: ignore[union-attr]
        allowed = AGREEMENT * float(payoffs.max() - payoffs.min())
        few = max((number for number in self.games if number < FEW), default=0)
        for place, (confidence, own) in enumerate(zip(self.confidences, found, strict=True)):
            earned = [one.iterative for one in own]
            difference = max(one.difference for one in own)
            failures = []
            if not difference <= allowed:
                failures.append(f"objectives are {difference:.1e} apart, expected at most {allowed:.1e}")
            if place == len(found) - 1 and few and games >= few and not means[place] > equilibrium:
                failures.append(f"the highest confidence earns no more than the equilibrium, {equilibrium:.4f}")
            if place == 0 and len(found) > 1:
                if games <= EARLY and not means[0] < means[-1]:
                    failures.append(f"the lowest confidence earns no less than the highest, {means[-1]:.4f}")
                if LATER[0] <= games <= LATER[1] and not means[0] > means[-1]:
                    failures.append(f"the lowest confidence earns no more than the highest, {means[-1]:.4f}")
            if games >= MANY and not means[place] >= SHARE * best:
                failures.append(f"it is {means[place] / best:.1%} of a best response, expected {SHARE:.0%}")
            yield CounterProfileRow(
                games=games,
                confidence=confidence,
                repetitions=len(own),
                expected=means[place],
                low=float(np.quantile(earned, 0.1)),
                high=float(np.quantile(earned, 0.9)),
                worst=min(earned),
                exact=float(np.mean([one.exact for one in own])),
                naive=float(np.mean([one.naive for one in own])),
                equilibrium=equilibrium,
                best_response=best,
                difference=difference,
                excluding=float(np.mean([one.violation > 0.0 for one in own])),
                violation=float(np.mean([one.violation for one in own])),
                iterations=max(one.iterations for one in own),
                passed=not failures,
                failure="; ".join(failures),
            )

    def claims(self, rows: Sequence[CounterProfileRow]) -> list[Claim]:
        """Return what the paper says of the curves."""
        highest = [row for row in rows if row.confidence == self.confidences[-1]]
        last = [row for row in rows if row.games == self.games[-1]]
        few = [row for row in rows if row.games <= EARLY and row.confidence == self.confidences[0]]
        return [
            Claim(
                "observed games from which on the highest confidence beats the equilibrium on average",
                "fewer than 100",
                _first_above([(row.games, row.expected, row.equilibrium) for row in highest]),
            ),
            Claim(
                "the same consistently, in every repetition",
                "fewer than 200",
                _first_above([(row.games, row.worst, row.equilibrium) for row in highest]),
            ),
            Claim(
                f"payoff of the lowest confidence with up to {EARLY} games, on average",
                "poor",
                float(np.mean([row.expected for row in few])) if few else None,
            ),
            Claim(
                "least share of a best response after the most games",
                "converges to it",
                min(row.expected / row.best_response for row in last) if last else None,
            ),
            Claim(
                "what a best response to the frequency model earns after the most games",
                None,
                last[0].naive if last else None,
            ),
            Claim(
                "largest difference of objectives, constrained CFR and linear program, in payoff units",
                None,
                max((row.difference for row in rows), default=None),
            ),
        ]

    def draw(self, rows: Sequence[CounterProfileRow]) -> "Figure":
        """Draw a curve a confidence with its band, between the lines of the equilibrium and of a best response."""
        from .ccfr_pictures import draw_counter_profiles

        return draw_counter_profiles(self, rows)


def _first_above(points: Sequence[tuple[int, float, float]]) -> int | None:
    """Return the first number of games from which on a curve is above its line."""
    found = None
    for games, earned, line in reversed(points):
        if not earned > line:
            break
        found = games
    return found
