"""Figure 3 of the paper on constrained CFR: earnings in Leduc poker by the number of observed games."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle, product, takewhile
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.games import load_game
from ...models.observations import Observations, OpponentModel, frequency_model
from ...models.opponents import uniform_without
from ...models.play import simulate
from ...models.problems import BestNash, ConstrainedNash
from ...seqform.evaluate import best_response, best_response_values, expected_payoffs
from ...seqform.game import Game
from ...seqform.interchange.pictures import Figure, Look, legend_below, panels
from ...seqform.observer import observer_tree
from ...seqform.strategy import Profile, Strategy
from ...solvers import CCFR, HiGHS, Solution
from ...solvers.opponents.strategies import abstraction_profile
from ..table import Column, Row, fields, verdict
from .ccfr_transit import CONSTRAINED_CFR
from .claims import Claim
from .experiment import Experiment, Limits, Tell, completed, largest, sweep_groups

#: The largest difference between the objectives of constrained CFR and of the linear program, as a fraction of the
#: payoff range.
AGREEMENT = 1e-3
#: The fraction of a best response's earnings required after :data:`MANY` games.
SHARE, MANY = 0.9, 100_000
#: With fewer games than this the highest confidence already beats the equilibrium.
FEW = 100
#: The number of games up to which a low confidence is worse, and the range in which it is better.
EARLY, LATER = 30, (1_000, 10_000)
#: The opponent's view of the cards (Waugh et al. 2009).
TARGET = "JQ.K/pair.nopair"
#: Bound on multipliers, as a multiple of the largest payoff: the price of a unit of violation.
PENALTY = 100.0
#: The method for each recipe. The paper's recipe is algorithm 1 on plain CFR, with steps of 1000 / √t.
RECIPES = {
    "default": CCFR(),
    "paper": CCFR(base="cfr", averaging="uniform", steps="decreasing", step=1000.0, step_unit="plain"),
}
#: Smaller violations of linear programs count as zero.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CounterProfileRow(Row):
    """The results for one number of observed games and one confidence, over all repetitions.

    Payoffs are against the target, in antes, averaged over both seats.

    Attributes
    ----------
    games : int
        Number of observed games in each seat.
    confidence : float
        Confidence level of each interval.
    recipe : str
        The recipe of constrained CFR: ``default`` or ``paper``.
    repetitions : int
        Number of repetitions, each with different games.
    expected : float
        Mean payoff of constrained CFR's counter-profile over the repetitions.
    low, high : float
        A tenth of the repetitions earn less than `low`, and a tenth earn more than `high`.
    worst : float
        The smallest payoff of all repetitions.
    exact : float
        Mean payoff of the linear programs' counter-profile.
    naive : float
        Mean payoff of a best response to the frequency model.
    equilibrium, best_response : float
        Payoffs of the best equilibrium profile and of a best response.
    gap : float
        The largest final gap of constrained CFR, in payoff units.
    difference : float
        The largest difference between the objectives of constrained CFR and the linear program, in payoff units.
    excluding : float
        The fraction of repetitions in which the observations of a seat are inconsistent.
    violation : float
        The opponents' total violation in that case, averaged over the repetitions; a probability.
    iterations : int
        The largest number of iterations of constrained CFR.
    """

    games: Annotated[int, Column("games", ",")]
    confidence: Annotated[float, Column("confidence", "g")]
    recipe: Annotated[str, Column("recipe")]
    repetitions: int
    expected: Annotated[float, Column("expected", ".4f")]
    low: Annotated[float, Column("low", ".4f")]
    high: Annotated[float, Column("high", ".4f")]
    worst: float
    exact: Annotated[float, Column("exact", ".4f")]
    naive: Annotated[float, Column("naive", ".4f")]
    equilibrium: float
    best_response: float
    gap: Annotated[float, Column("gap", ".1e")]
    difference: float
    excluding: float
    violation: float
    iterations: int


@dataclass(frozen=True)
class CCFRFigure3(Experiment[CounterProfileRow]):
    """Expected value of counter-profiles against a target profile, by the number of observed games.

    Parameters
    ----------
    games : tuple of int
        Numbers of observed games in each seat, increasing.
    confidences : tuple of float
        Confidence levels of the intervals, increasing.
    repetitions : int
        Number of logs.
    paper_repetitions : int
        Number of logs, the first ones, that constrained CFR also solves with the paper's steps.
    iterations : int
        Iteration limit of constrained CFR for one strategy.
    precision : float
        The gap of its own certificate at which constrained CFR stops, in payoff units.
    known_probe : bool
        Whether the observer's own contribution to the probabilities is known from the probe, or estimated from the same
        games, as in the paper.
    seed : int
        The seed of the logs.
    jobs : int, optional
        Number of processes for the logs, as in :func:`~treeplex.validation.papers.experiment.sweep`.

    Notes
    -----
    In both seats the target plays an equilibrium of the abstract Leduc poker ``JQ.K/pair.nopair``, see
    :func:`~treeplex.solvers.opponents.strategies.abstraction_profile`. The probe plays all actions with equal
    probability but never folds. Its observations bound the target's plan (equations 50 and 51, by Wilson's intervals).
    The counter-profile is optimal in each seat against the worst opponent within these bounds. If observations are
    inconsistent, the opponent pays 100 times the largest payoff per unit of violation.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 3 and appendix D.
    """

    games: Annotated[tuple[int, ...], Limits("[1, inf)")]
    confidences: Annotated[tuple[float, ...], Limits("(0, 1)")] = (0.5, 0.9, 0.99)
    repetitions: Annotated[int, Limits("[1, inf)")] = 8
    paper_repetitions: Annotated[int, Limits("[0, inf)")] = 0
    iterations: Annotated[int, Limits("[1, inf)")] = 100_000
    precision: Annotated[float, Limits("(0, inf)")] = 0.02
    known_probe: bool = False
    seed: Annotated[int, Limits("[0, inf)")] = 0
    jobs: int | None = None

    name = "ccfr-figure-3"
    title = "payoffs of counter-profiles to a modelled opponent, by observed games, in Leduc poker"
    figure = "3"
    axes = ("games", "confidences")
    paper = CONSTRAINED_CFR
    criterion = (
        f"by the defaults, objectives are within {AGREEMENT:g} of the payoff range of the linear program's; the "
        f"highest confidence beats the equilibrium from the last number of games below {FEW} on; the lowest earns "
        f"less than the highest with up to {EARLY} games and more with {LATER[0]:,} to {LATER[1]:,}; from "
        f"{MANY:,} games on, all earn at least {SHARE:g} of a best response's payoff"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for what in ("games", "confidences"):
            object.__setattr__(self, what, tuple(sorted(set(getattr(self, what)))))

    quick_settings: ClassVar = {
        "games": (10, 80, 300, 1_000, 10_000, 100_000),
        "confidences": (0.5, 0.8, 0.95),
        "jobs": -1,
    }
    full_settings: ClassVar = {
        "games": (
            *(step * power for power in (10, 100) for step in (1, 2, 3, 5, 7)),
            *(step * power for power in (1_000, 10_000) for step in (1, 2, 5)),
            *(100_000, 1_000_000),
        ),
        "confidences": (0.5, 0.8, 0.9, 0.95, 0.99, 0.999),
        "repetitions": 30,
        "paper_repetitions": 1,
        "iterations": 1_000_000,
        "precision": 1e-3,
        "jobs": -1,
    }

    def recipes(self, repetition: int) -> tuple[str, ...]:
        """Return the recipes of constrained CFR for a log: ``default``, the defaults here, and ``paper``."""
        return tuple(RECIPES)[: 1 + (repetition < self.paper_repetitions)]

    @property
    def num_rows(self) -> int:
        """One row per number of games, confidence and recipe."""
        return super().num_rows * len(self.recipes(0))

    def rows(self, tell: Tell) -> Iterator[CounterProfileRow]:
        """Yield a row per confidence and recipe for each number of games, in increasing order."""
        tell("best responses and best equilibria")
        lines = equilibrium_line(), best_response_line()
        limits = {"tol": self.precision, "max_iterations": self.iterations}
        groups = [
            (
                f"{games:,} games",
                [
                    (games, repetition, self.seed, self.known_probe, self.confidences, self.recipes(repetition), limits)
                    for repetition in range(self.repetitions)
                ],
            )
            for games in self.games
        ]
        for games, logs in zip(self.games, sweep_groups(answers, groups, tell, self.jobs), strict=True):
            found: dict[tuple[float, str], list[Answer]] = {}
            for repetition, log in enumerate(logs):
                for case, one in zip(product(self.confidences, self.recipes(repetition)), log, strict=True):
                    found.setdefault(case, []).append(one)
            yield from self._judged(games, found, *lines)

    def _judged(
        self, games: int, found: Mapping[tuple[float, str], Sequence["Answer"]], equilibrium: float, best: float
    ) -> Iterator[CounterProfileRow]:
        """Yield the rows for one number of games, given each confidence's and recipe's answers to the logs."""
        means = {case: float(np.mean([one.iterative for one in own])) for case, own in found.items()}
        payoffs = leduc().sequence_form.leaves.payoffs  # type: ignore[union-attr]
        allowed = AGREEMENT * float(payoffs.max() - payoffs.min())
        few = max((number for number in self.games if number < FEW), default=0)
        for (confidence, recipe), own in found.items():
            earned, mean = [one.iterative for one in own], means[confidence, recipe]
            highest = means[self.confidences[-1], recipe]
            difference = max(one.difference for one in own)
            share, judged = mean / best, recipe == "default"
            last = judged and confidence == self.confidences[-1]
            first = judged and confidence == self.confidences[0] and len(self.confidences) > 1
            few_games, many_games = first and games <= EARLY, first and LATER[0] <= games <= LATER[1]
            beaten = 0 < few <= games and not mean > equilibrium
            yield CounterProfileRow(
                games=games,
                confidence=confidence,
                recipe=recipe,
                repetitions=len(own),
                expected=mean,
                low=float(np.quantile(earned, 0.1)),
                high=float(np.quantile(earned, 0.9)),
                worst=min(earned),
                exact=float(np.mean([one.exact for one in own])),
                naive=float(np.mean([one.naive for one in own])),
                equilibrium=equilibrium,
                best_response=best,
                gap=max(one.gap for one in own),
                difference=difference,
                excluding=float(np.mean([one.violation > 0.0 for one in own])),
                violation=float(np.mean([one.violation for one in own])),
                iterations=max(one.iterations for one in own),
                failure=verdict(
                    (
                        judged and not difference <= allowed,
                        f"objectives are {difference:.1e} apart, expected at most {allowed:.1e}",
                    ),
                    (last and beaten, f"the highest confidence earns no more than the equilibrium, {equilibrium:.4f}"),
                    (
                        few_games and not mean < highest,
                        f"the lowest confidence earns no less than the highest, {highest:.4f}",
                    ),
                    (
                        many_games and not mean > highest,
                        f"the lowest confidence earns no more than the highest, {highest:.4f}",
                    ),
                    (
                        judged and games >= MANY and not share >= SHARE,
                        f"it earns {share:.1%} of a best response's payoff, expected {SHARE:.0%}",
                    ),
                ),
            )

    def claims(self, rows: Sequence[CounterProfileRow]) -> list[Claim]:
        """Return the paper's claims about the curves."""
        paper = [row for row in rows if row.recipe == "paper"]
        rows = [row for row in rows if row.recipe == "default"]
        highest = [row for row in rows if row.confidence == self.confidences[-1]]
        last = [row for row in rows if row.games == self.games[-1]]
        few = [row for row in rows if row.games <= EARLY and row.confidence == self.confidences[0]]
        many = self.games[-1] >= MANY
        unknown = "the paper states neither its confidences, nor its repetitions, nor its abstract equilibrium"
        converged = Claim(
            "smallest fraction of a best response's payoff after the most games",
            "converges to it",
            min(row.expected / row.best_response for row in last) if last else None,
        ).judged(lambda share: share >= SHARE, unknown)
        return [
            Claim(
                "observed games after which the highest confidence beats the equilibrium on average",
                "fewer than 100",
                _first_above([(row.games, row.expected, row.equilibrium) for row in highest]),
            ).judged(lambda games: games < FEW, unknown),
            Claim(
                "observed games after which it does so in every repetition",
                "fewer than 200",
                _first_above([(row.games, row.worst, row.equilibrium) for row in highest]),
            ).judged(lambda games: games < 2 * FEW, unknown),
            Claim(
                f"payoff of the lowest confidence with up to {EARLY} games, on average",
                "poor",
                float(np.mean([row.expected for row in few])) if few else None,
            ).judged(lambda payoff: payoff < rows[0].equilibrium, unknown),
            converged if many else converged.opened(f"the run has fewer than {MANY:,} games"),
            Claim(
                "payoff of a best response to the frequency model after the most games",
                None,
                last[0].naive if last else None,
            ),
            Claim(
                "largest difference of objectives, constrained CFR and linear program, in payoff units",
                None,
                largest(row.difference for row in rows),
            ),
            *(
                Claim(f"largest gap, by {words}, in payoff units", None, largest(row.gap for row in own))
                for words, own in (("the defaults", rows), ("the paper's steps", paper))
            ),
            *(
                Claim(
                    f"largest difference of average payoffs, by {words} and by the linear program",
                    None,
                    largest(abs(row.expected - row.exact) for row in own),
                )
                for words, own in (("the defaults", rows), ("the paper's steps", paper))
            ),
        ]

    def draw(self, rows: Sequence[CounterProfileRow]) -> "Figure":
        """Draw payoff against observed games: averages by confidence, and the spread of the extreme confidences."""
        from matplotlib.ticker import FuncFormatter

        figure, (averages, spread) = panels(1, 2, (9.6, 4.9), sharey=True)
        # An average of fewer logs is not comparable with that of all.
        drawn = self.paper_repetitions >= self.repetitions
        rows = [row for row in rows if drawn or row.recipe == "default"]
        looks = map(Look, cycle(("blue", "orange", "green", "red", "pink", "sky")), cycle("os^DvP"))
        for confidence, look in zip(self.confidences, looks, strict=False):
            own, paper = (
                [row for row in rows if (row.confidence, row.recipe) == (confidence, recipe)] for recipe in RECIPES
            )
            replace(look, marker="", line="--").plot(averages, *fields(paper, "games", "expected"), linewidth=1.0)
            look.plot(averages, *fields(own, "games", "expected"), label=f"confidence {confidence:g}")
            Look("black", "x", "").plot(averages, *fields(own, "games", "exact"), markeredgewidth=0.9)
            if confidence in (self.confidences[0], self.confidences[-1]):
                look.shade(spread, *fields(own, "games", "low", "high"), alpha=0.2)
                look.plot(spread, *fields(own, "games", "expected"))
        first = [row for row in rows if row.confidence == self.confidences[0]]
        for axes in (averages, spread):
            Look("grey", line="--").plot(axes, *fields(first, "games", "naive"), label="best response to frequencies")
            if rows:
                Look("black").level(axes, rows[0].best_response, label="best response")
                Look("black", line=":").level(axes, rows[0].equilibrium, label="best equilibrium")
                # The early losses of frequencies would compress everything else.
                lowest = min(rows[0].equilibrium, *(row.low for row in rows))
                axes.set_ylim(lowest - 0.03, rows[0].best_response + 0.04)
            axes.set(xscale="log", xlabel="observed games in each seat")
            axes.set_xlim(self.games[0] / 1.3, self.games[-1] * 1.3)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda games, place: f"{games:,.0f}"))
        dashed = "; dashed: the paper's steps" * drawn
        averages.set(ylabel="payoff against the target (antes)", title=f"on average; crosses: linear programs{dashed}")
        spread.set_title("four of five repetitions")
        legend_below(figure, 4)
        return figure


def _first_above(points: Sequence[tuple[int, float, float]]) -> int | None:
    """Return the first number of games from which a curve stays above its line."""
    above = [games for games, *_ in takewhile(lambda point: point[1] > point[2], reversed(points))]
    return above[-1] if above else None


@lru_cache(maxsize=1)
def leduc() -> Game:
    """Return Leduc poker without suits, which never matter."""
    return load_game("leduc:merge_suits=true")


@lru_cache(maxsize=1)
def target_profile() -> Profile:
    """Return the opponent's strategies in both seats."""
    return abstraction_profile(TARGET, leduc())


@lru_cache(maxsize=2)
def probe(player: int) -> Strategy:
    """Return the strategy that observes the opponent: uniform, but without folds."""
    return uniform_without(leduc(), player, "f")


def _seated(strategy: Strategy) -> Profile:
    """Return the target's profile with one strategy replaced."""
    return Profile([strategy if own.player == strategy.player else own for own in target_profile()])


def payoff(strategy: Strategy) -> float:
    """Return a strategy's payoff against the target."""
    return float(expected_payoffs(leduc(), _seated(strategy))[strategy.player])


@lru_cache(maxsize=1)
def best_response_line() -> float:
    """Return the payoff of best responses to the target, averaged over both seats."""
    return float(np.mean(best_response_values(leduc(), target_profile())))


@lru_cache(maxsize=1)
def equilibrium_line() -> float:
    """Return the largest payoff of equilibrium strategies against the target, averaged over both seats."""
    game, target = leduc(), target_profile()
    best = [completed(BestNash(game, target[1 - seat]), HiGHS()).profile[seat] for seat in (0, 1)]
    return float(np.mean([payoff(strategy) for strategy in best]))


@lru_cache(maxsize=4)
def _unobserved(player: int, known_probe: bool) -> Observations:
    """Return observations with zero counts, from which others take the parts that do not depend on counts."""
    view = observer_tree(leduc(), player)
    counts = np.zeros(view.num_classes, dtype=np.int64)
    return Observations(leduc(), player, counts, probe(player) if known_probe else None, view=view)


def observed(player: int, games: int, seed: int, repetition: int, known_probe: bool) -> Observations:
    """Return one seat's observations of a number of games between the probe and the target.

    A shorter log consists of the first games of a longer one.

    Parameters
    ----------
    player : int
        The observer's seat, which the probe plays.
    games : int
    seed, repetition : int
        The index of the log.
    known_probe : bool
        Whether the observer's own contribution to probabilities is known, or estimated from the same games.
    """
    blank = _unobserved(player, known_probe)
    number = int(np.random.SeedSequence([seed, repetition, player]).generate_state(1)[0])
    leaves = np.concatenate(list(simulate(_seated(probe(player)), games, number)))
    return blank.with_counts(np.bincount(blank.view.leaf_classes[leaves], minlength=blank.view.num_classes))


@dataclass(frozen=True)
class Answer:
    """The responses to one log of each seat at one confidence; payoffs are averages over both seats.

    Attributes
    ----------
    iterative, exact, naive : float
        Payoffs of the responses of constrained CFR, the linear program and the frequency model against the target.
    difference : float
        The larger difference of the objectives of constrained CFR and the linear program, in payoff units.
    violation : float
        The total violation of the linear program's opponents; 0 if their constraints are feasible.
    iterations : int
        The larger number of iterations of constrained CFR.
    gap : float
        The larger final gap of constrained CFR, in payoff units.
    """

    iterative: float
    exact: float
    naive: float
    difference: float
    violation: float
    iterations: int
    gap: float


def answers(
    games: int,
    repetition: int,
    seed: int,
    known_probe: bool,
    confidences: Sequence[float],
    recipes: Sequence[str],
    limits: Mapping[str, Any],
) -> list[Answer]:
    """Return the responses to the first games of one log of each seat, one answer per confidence and recipe.

    Parameters
    ----------
    games, repetition, seed : int
    known_probe : bool
    confidences : sequence of float
    recipes : sequence of str
    limits : mapping
        The limits of constrained CFR, as for :func:`~treeplex.solve`.
    """
    logs = [observed(seat, games, seed, repetition, known_probe) for seat in (0, 1)]
    naive = float(np.mean([payoff(best_response(leduc(), _seated(frequency_model(log)), log.player)) for log in logs]))
    found = []
    for confidence in confidences:
        posed = [_posed(log, confidence) for log in logs]
        found += [_answer(posed, RECIPES[recipe], naive, limits) for recipe in recipes]
    return found


def _posed(log: Observations, confidence: float) -> tuple[int, ConstrainedNash, Solution]:
    """Return the observer's seat, the problem posed by its log, and the exact solution."""
    model = OpponentModel.from_observations(log, confidence)
    problem = ConstrainedNash(leduc(), model.constraints, penalty=PENALTY * leduc().sequence_form.payoff_scale)
    return log.player, problem, completed(problem, HiGHS())


def _answer(
    posed: Sequence[tuple[int, ConstrainedNash, Solution]], method: CCFR, naive: float, limits: Mapping[str, Any]
) -> Answer:
    seats = [_seat_answer(*one, method, limits) for one in posed]
    iterative, exact, differences, violations, counts, gaps = zip(*seats, strict=True)
    averages = float(np.mean(iterative)), float(np.mean(exact)), naive
    return Answer(*averages, max(differences), max(violations), max(counts), max(gaps))


def _seat_answer(
    seat: int, problem: ConstrainedNash, program: Solution, method: CCFR, limits: Mapping[str, Any]
) -> tuple[float, float, float, float, int, float]:
    """Return one seat's payoffs with both solutions, the objectives' difference, the violation, iterations and gap."""
    solution = completed(problem, method, **limits)
    assert solution.objective is not None
    assert solution.gap is not None
    assert program.objective is not None
    missed = sum(max(0.0, one) for one in program.certificate.violations.values())
    return (
        payoff(solution.profile[seat]),
        payoff(program.profile[seat]),
        abs(solution.objective - program.objective),
        missed if missed > _ROUNDING else 0.0,
        solution.iterations,
        solution.gap,
    )
