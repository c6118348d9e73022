"""Recorded runs of Preference-CFR: exploitability and frequencies of a style at several points."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

import numpy as np

from ...models.games import load_game
from ...models.problems import Nash
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidGameError
from ...seqform.evaluate import nash_conv, worst_case
from ...seqform.functional import Functional, frequency
from ...seqform.game import Game
from ...seqform.interchange.pictures import Look
from ...solvers import Solution
from ...solvers.parametric.trade_off import TradeOff, trade_off
from ...solvers.style.efficiency import Towards, efficiency_at
from ..table import Curve
from .experiment import Paper, Tell, completed, sweep_groups

PREFERENCE_CFR = Paper(
    'Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo, "Preference-CFR: Beyond Nash equilibrium for better game strategies", '
    "ICML 2025 (PMLR 267)",
    "https://proceedings.mlr.press/v267/",
)

#: The quantiles of the band over all runs.
QUANTILES = (0.05, 0.95)
#: The permitted distance of a value from the range of linear programs, for round-off.
ROUNDING = 1e-7
#: The number of walks from which the number of touched histories per walk is estimated.
_FIRST_WALKS = 16


@dataclass(frozen=True, eq=False)
class Run:
    """One run, recorded at several points.

    Attributes
    ----------
    work : ndarray of float64, shape (k,)
        Iterations, or histories touched.
    nash_convs : ndarray of float64, shape (k,)
        NashConv of the average profiles, in payoff units.
    guarantees : ndarray of float64, shape (k,)
        The payoff of player 0's average strategy against a best response.
    values : ndarray of float64, shape (number of functionals, k)
    behaviour : ndarray of float64, shape (num_sequences,)
        The final behaviour of player 0's average strategy.
    """

    work: Floats
    nash_convs: Floats
    guarantees: Floats
    values: Floats
    behaviour: Floats


@dataclass(frozen=True, eq=False)
class Band(Curve):
    """Means over all runs, and quantiles between which most runs lie, at each point.

    In a row's dictionary the field ``raises`` becomes ``raises``, ``raises_low`` and ``raises_high`` for the final
    values, and ``raises_curve``, ``raises_low_curve`` and ``raises_high_curve`` for all points.
    """

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, numbers: Floats) -> "Band":
        """Summarise an array of shape (runs, k)."""
        return cls(*(tuple(one.tolist()) for one in (numbers.mean(axis=0), *np.quantile(numbers, QUANTILES, axis=0))))

    @property
    def end(self) -> float:
        """The final mean."""
        return self.mean[-1]

    @property
    def spread(self) -> "Range":
        """The final range that contains most runs."""
        return Range(self.low, self.high)

    def __format__(self, form: str) -> str:
        return format(self.end, form)

    def draw(self, axes: Any, points: Sequence[int], look: Look, *, alpha: float = 0.15, **how: Any) -> None:
        """Draw the means, and shade the band."""
        look.plot(axes, points, self.mean, **how)
        look.shade(axes, points, self.low, self.high, alpha=alpha)

    def parts(self, name: str) -> dict[str, Any]:
        """Return the dictionary entries of a field with this name."""
        return _entries({name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high})


@dataclass(frozen=True, eq=False)
class Range(Curve):
    """A range at each point, such as the one that linear programs allow.

    In a row's dictionary the field ``allowed`` becomes ``allowed_low`` and ``allowed_high`` for the final values, and
    ``allowed_low_curve`` and ``allowed_high_curve`` for all points.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __format__(self, form: str) -> str:
        return f"{self.low[-1]:{form}} to {self.high[-1]:{form}}"

    def parts(self, name: str) -> dict[str, Any]:
        """Return the dictionary entries of a field with this name."""
        return _entries({f"{name}_low": self.low, f"{name}_high": self.high})


def _entries(curves: dict[str, tuple[float, ...]]) -> dict[str, Any]:
    """Return the final values and the curves, by the names of a row's dictionary entries."""
    return {key: curve[-1] for key, curve in curves.items()} | {f"{key}_curve": c for key, c in curves.items()}


@dataclass(frozen=True, eq=False)
class Measured:
    """The style of runs compared with the range that linear programs allow.

    Attributes
    ----------
    values : Band
    allowed : Range
    excess : float
        The largest distance of any run, at any point, from the range allowed at its own NashConv, or from the narrower
        range at the loss of player 0's strategy.
    bounds_by_loss : tuple of float
        The mean limit in the preferred direction at the loss of the runs' own strategies, at each point; empty without
        a preference.
    ratio, ratio_by_loss : float or None
        The mean achieved fraction, at the end, of the distance from the equilibria to the limit; ``None`` without a
        preference.
    """

    values: Band
    allowed: Range
    excess: float
    bounds_by_loss: tuple[float, ...]
    ratio: float | None
    ratio_by_loss: float | None

    @classmethod
    def of(cls, curve: TradeOff, runs: Sequence[Run], number: int, towards: Towards | None) -> "Measured":
        """Compare a quantity of several runs with the range of a trade-off."""
        values = np.array([run.values[number] for run in runs])
        losses = np.maximum(0.0, curve.game_value - np.array([run.guarantees for run in runs]))
        columns = values.tolist(), [run.nash_convs.tolist() for run in runs], losses.tolist()
        found = [
            [efficiency_at(curve, *numbers, towards) for numbers in zip(*own, strict=True)]
            for own in zip(*columns, strict=True)
        ]
        lows, highs = np.array([[one.allowed for one in own] for own in found]).mean(axis=0).T
        bounds = np.array([[one.bound_by_loss for one in own] for own in found]).mean(axis=0) if towards else ()
        last = [own[-1] for own in found] if towards else []
        return cls(
            values=Band.of(values),
            allowed=Range(tuple(lows.tolist()), tuple(highs.tolist())),
            excess=max(one.excess for own in found for one in own),
            bounds_by_loss=tuple(map(float, bounds)),
            ratio=_mean_of([one.ratio for one in last]),
            ratio_by_loss=_mean_of([one.ratio_by_loss for one in last]),
        )


def _mean_of(ratios: Sequence[float | None]) -> float | None:
    """Return the mean of the available numbers; ``None`` if there are none."""
    known = [ratio for ratio in ratios if ratio is not None]
    return float(np.mean(known)) if known else None


@lru_cache(maxsize=4)
def game_of(spec: str) -> Game:
    """Return a game; the most recently used games stay in memory."""
    return load_game(spec)


@lru_cache(maxsize=8)
def share_of(spec: str, action: str, card: str = "") -> Functional:
    """Return the probability that player 0 takes an action at its first decision, with a card of a given rank.

    Parameters
    ----------
    spec : str
        A poker game whose first infosets are named by the card.
    action : str
    card : str
        The rank; by default any rank.
    """
    game = game_of(spec)
    treeplex = game.sequence_form.treeplexes[0]
    first = [str(treeplex.infoset_labels[number]) for number in np.flatnonzero(treeplex.parents == 0)]
    held = [label for label in first if label.startswith(card)]
    if not held:
        raise InvalidGameError(f"player 0 of {spec} never holds {card}: its first infosets are {', '.join(first)}")
    times = frequency(game, 0, action, infosets=held)
    description = f"probability of {action} at the first decision" + (f" with {card}" if card else "")
    held_at_all = float(times.coefficients.sum())
    return Functional(0, times.coefficients / held_at_all, description, fingerprint=game.fingerprint)


@lru_cache(maxsize=8)
def exact_range(spec: str, action: str, card: str = "") -> TradeOff:
    """Return the range of :func:`share_of` that linear programs allow, as a piecewise function of the loss."""
    return trade_off(game_of(spec), share_of(spec, action, card))


def full_run(spec: str, method: Any, shares: Sequence[tuple[str, str]], points: Sequence[int], seed: int) -> Run:
    """Return a run that visits the whole game in each iteration.

    Parameters
    ----------
    spec : str
    method : Method
    shares : sequence of (action, rank)
        As in :func:`share_of`.
    points : sequence of int
        Iterations, increasing.
    seed : int
    """
    recorder = _Recorder(spec, shares)
    solution: Solution | None = None
    for point in points:
        more = point - (0 if solution is None else solution.iterations)
        solution = completed(Nash(recorder.game), method, tol=0.0, max_iterations=more, start=solution, seed=seed)
        recorder.record(solution.iterations, solution)
    return recorder.run()


def sampled_run(spec: str, method: Any, shares: Sequence[tuple[str, str]], points: Sequence[int], seed: int) -> Run:
    """Return a sampled run, recorded near the given numbers of touched histories; see :func:`full_run`."""
    recorder = _Recorder(spec, shares)
    solution = completed(Nash(recorder.game), method, tol=0.0, max_iterations=_FIRST_WALKS, seed=seed)
    for point in points:
        touched = solution.state.state.touched
        more = round((point - touched) * solution.iterations / touched)
        if more > 0:
            solution = completed(Nash(recorder.game), method, tol=0.0, max_iterations=more, start=solution, seed=seed)
        recorder.record(solution.state.state.touched, solution)
    return recorder.run()


def runs_of(
    run: Callable[..., Run], kinds: Mapping[str, tuple[Any, ...]], seeds: Sequence[int], tell: Tell, jobs: int | None
) -> Iterator[list[Run]]:
    """Yield the runs of each kind, one per seed.

    Parameters
    ----------
    run : callable
        :func:`full_run` or :func:`sampled_run`.
    kinds : mapping of str to tuple
        The function's arguments except the seed, by the description of the kind.
    seeds : sequence of int
    tell, jobs
        As in :func:`~treeplex.validation.papers.experiment.sweep_groups`.
    """
    groups = [(words, [(*arguments, seed) for seed in seeds]) for words, arguments in kinds.items()]
    return sweep_groups(run, groups, tell, jobs)


class _Recorder:
    """Records a run at given points."""

    def __init__(self, spec: str, shares: Sequence[tuple[str, str]]) -> None:
        self.game = game_of(spec)
        self._shares = [share_of(spec, *share) for share in shares]
        self._rows: list[list[float]] = []
        self._behaviour = np.zeros(0)

    def record(self, work: int, solution: Solution) -> None:
        profile = solution.profile
        self._behaviour = profile[0].behaviour
        self._rows.append(
            [
                work,
                float(nash_conv(self.game, profile)),
                worst_case(self.game, profile[0]),
                *(share.value(profile) for share in self._shares),
            ]
        )

    def run(self) -> Run:
        work, nash_convs, guarantees, *values = (np.array(column) for column in zip(*self._rows, strict=True))
        return Run(work, nash_convs, guarantees, np.array(values), self._behaviour)


def points_up_to(last: int, first: int, each_decade: int) -> list[int]:
    """Return integers that grow by equal factors from ``first`` to ``last``, both included."""
    between = (round(first * 10 ** (step / each_decade)) for step in range(40 * each_decade))
    return [*dict.fromkeys(takewhile(lambda point: point < last, between)), last]
