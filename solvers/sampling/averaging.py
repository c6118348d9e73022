"""Averages of independent runs: the mean of their realization plans."""

from array import array
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import Any

import joblib

from ...models.opponents import mixture
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidOptionError, InvalidStrategyError, shown
from ...seqform.game import Game
from ...seqform.labels import listed
from ...seqform.rules import Rules
from ...seqform.strategy import Profile
from ..methods import MCCFR
from ..outcome import checked_seed
from .streamed import StreamedMCCFR, StreamedRun
from .streamed_play import StreamedProfile, StreamedStrategy
from .walks import in_proportion


def averaged_profile(profiles: Sequence[Profile], weights: Sequence[float] | None = None) -> Profile:
    """Return the average of profiles of one game, weighted by reach: the mean of the realization plans.

    Parameters
    ----------
    profiles : sequence of Profile
        Such as the profiles of solutions with different seeds.
    weights : sequence of float, optional
        Non-negative numbers, of which only the proportions count; equal by default.

    Returns
    -------
    Profile
        In a two-player zero-sum game its NashConv is at most the weighted mean of the NashConvs.

    Raises
    ------
    InvalidStrategyError
        If there are no profiles, they are not of one game, or the weights are not valid.

    Notes
    -----
    NashConv is max u₀(x′, y) − min u₀(x, y′), a maximum of functions that are linear in the plans x and y. It is
    therefore convex in (x, y), and Jensen's inequality applies. Averaging behaviour instead of plans has no such bound.

    Examples
    --------
    >>> from treeplex import Nash, exploitability, load_game, solve
    >>> from treeplex.solvers import averaged_profile
    >>> game = load_game("kuhn")
    >>> runs = [solve(Nash(game), "es-mccfr", tol=0, max_iterations=500, seed=seed) for seed in range(4)]
    >>> mean = averaged_profile([run.profile for run in runs])
    >>> bool(exploitability(game, mean) <= sum(run.exploitability for run in runs) / 4)
    True
    """
    parts = listed(profiles, "the profiles to average are", InvalidStrategyError)
    shares = _shares(weights, len(parts), "profile")
    if not all(isinstance(each, Profile) for each in parts):
        raise InvalidStrategyError(f"the profiles to average are {shown(parts, 60)}, expected profiles of one game")
    players = range(len(parts[0]))
    return Profile([mixture([profile[player] for profile in parts], shares) for player in players])


def averaged_runs(runs: Sequence[StreamedMCCFR], weights: Sequence[float] | None = None) -> StreamedProfile:
    """Return the average of the strategies of independent runs over rules, weighted by reach.

    Parameters
    ----------
    runs : sequence of StreamedMCCFR
        Runs on the same game, of this process, of others, or read from files. They may have met different infosets; a
        run plays uniformly at infosets that it has not met.
    weights : sequence of float, optional
        Non-negative numbers, of which only the proportions count. By default the numbers of iterations.

    Returns
    -------
    StreamedProfile
        The mean of the realization plans; uniform at infosets that no run's own play reaches. In a two-player zero-sum
        game its NashConv is at most the weighted mean of the NashConvs of the runs' profiles.

    Raises
    ------
    InvalidStrategyError
        If there are no runs, the weights are not valid, or infosets have different actions or pasts in two runs.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import averaged_runs, independent_runs
    >>> runs = independent_runs(load_game("kuhn"), runs=3, iterations=200)
    >>> len(averaged_runs(runs)[0])
    6
    """
    parts: Sequence[Any] = listed(runs, "the runs to average are", InvalidStrategyError)
    if not all(isinstance(each, StreamedMCCFR) for each in parts):
        raise InvalidStrategyError(f"the runs to average are {shown(parts, 60)}, expected StreamedMCCFR")
    if weights is None and any(each.iterations for each in parts):
        weights = [float(each.iterations) for each in parts]
    shares = _shares(weights, len(parts), "run")
    if len({each.num_players for each in parts}) > 1:
        raise InvalidStrategyError("the runs to average have different numbers of players, expected runs on one game")
    return StreamedProfile([_averaged(parts, shares, player) for player in range(parts[0].num_players)])


def independent_runs(
    game: Game | Rules,
    method: MCCFR | str = "es-mccfr",
    *,
    runs: int,
    iterations: int | None = None,
    touched: int | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    jobs: int | None = None,
) -> list[StreamedMCCFR]:
    """Run samplers over rules with different seeds, on the cores or machines that joblib is told to use.

    Parameters
    ----------
    game : Game or Rules
        Must be picklable if the runs are on other processes.
    method : MCCFR or str
        As for :class:`~treeplex.StreamedMCCFR`.
    runs : int
    iterations, touched, seconds
        The limits of each run, as for :meth:`~treeplex.StreamedMCCFR.run`.
    seed : int, optional
        The seed of the first run, 0 by default; each later run has the next seed.
    jobs : int, optional
        The number of runs at the same time, -1 for one per core. By default the setting of ``joblib.parallel_config``,
        which may name a cluster of Dask or Ray; without it the runs follow one another.

    Returns
    -------
    list of StreamedMCCFR
        In the order of the seeds. The result does not depend on ``jobs``, unless ``seconds`` ends a run.

    Raises
    ------
    InvalidOptionError
        If a number is out of range, or no limit is given.
    """
    return [sampler for sampler, _ in finished_runs(game, method, runs, seed, jobs, (iterations, touched, seconds))]


def finished_runs(
    game: Game | Rules,
    method: MCCFR | str,
    runs: int,
    seed: int | None,
    jobs: int | None,
    limits: tuple[int | None, int | None, float | None],
) -> list[tuple[StreamedMCCFR, StreamedRun]]:
    """Do independent runs within limits on iterations, histories and seconds; return how each of them ended too.

    After Ctrl-C the runs that have ended are returned, if there are any.
    """
    count, first = check_whole(runs, "runs", InvalidOptionError, "[1, inf)"), checked_seed(seed)
    if jobs is not None and jobs != -1:
        check_whole(jobs, "jobs", InvalidOptionError, "[1, inf)")
    if all(limit is None for limit in limits):
        raise InvalidOptionError("the runs have no limit, expected iterations, touched or seconds")
    samplers = [StreamedMCCFR(game, method, seed=first + each) for each in range(count)]
    tasks = (joblib.delayed(_one_run)(game, method, each.seed, limits) for each in samplers)
    try:
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
    except ValueError:  # the backend, such as Ray's, returns all results at the end
        parallel = joblib.Parallel(n_jobs=jobs)
    ended: list[tuple[StreamedMCCFR, StreamedRun]] = []
    try:
        for sampler, (run, numbers, arrays) in zip(samplers, parallel(tasks), strict=True):
            sampler._restore(numbers, arrays)
            ended.append((sampler, run))
    except KeyboardInterrupt:
        if not ended:
            raise
    return ended


def _one_run(
    game: Game | Rules, method: MCCFR | str, seed: int, limits: tuple[int | None, int | None, float | None]
) -> tuple[StreamedRun, Any, Any]:
    """Do one run, and return how it ended, and its state in the form of a file."""
    sampler, (iterations, touched, seconds) = StreamedMCCFR(game, method, seed=seed), limits
    run = sampler.run(iterations, touched=touched, seconds=seconds)
    return run, sampler._numbers, sampler._arrays


def _shares(weights: Sequence[float] | None, count: int, noun: str) -> list[float]:
    """Return weights that sum to 1."""
    if not count:
        raise InvalidStrategyError(f"there is no {noun} to average, expected at least one")
    given = [1.0] * count if weights is None else listed(weights, "the weights are", InvalidStrategyError)
    if len(given) != count:
        raise InvalidStrategyError(f"there are {len(given)} weights, expected {count}, one per {noun}")
    checked = [float(check_number(each, "a weight", InvalidStrategyError, "[0, inf)")) for each in given]
    total = sum(checked)
    if not total > 0.0:
        raise InvalidStrategyError(f"the weights are {shown(given, 60)}, expected at least one above 0")
    return [each / total for each in checked]


def _averaged(runs: Sequence[StreamedMCCFR], shares: Sequence[float], player: int) -> StreamedStrategy:
    """Return the mean of a player's plans over all infosets that a run has met."""
    numbers: dict[Hashable, int] = {}
    menus: list[tuple[Hashable, ...]] = []
    starts, parents = array("q", [0]), array("q")
    own: list[dict[int, list[float]]] = []  # for each run: the behaviour at the infosets that it has met
    for run in runs:
        table, strategy = run._tables[player], run.strategy(player)
        places: list[int] = []  # of the run's infosets among all
        known: dict[int, list[float]] = {}
        for label, menu, parent in zip(table.numbers, table.menus, table.parents, strict=False):
            above = -1
            if parent >= 0:
                before = bisect_right(table.starts, parent) - 1
                above = starts[places[before]] + parent - table.starts[before]
            number = numbers.setdefault(label, len(menus))
            if number == len(menus):
                menus.append(menu)
                parents.append(above)
                starts.append(starts[-1] + len(menu))
            elif menus[number] != menu or parents[number] != above:
                raise InvalidStrategyError(
                    f"infoset {shown(label)} of player {player} has other actions or another past in another run, "
                    "expected runs on one game"
                )
            places.append(number)
            known[number] = strategy.probabilities(label, menu)
        own.append(known)
    sums, plan = array("d", bytes(8 * starts[-1])), array("d", bytes(8 * starts[-1]))
    for share, known in zip(shares, own, strict=True):
        for number, menu in enumerate(menus):
            reach, start = (plan[parents[number]] if parents[number] >= 0 else 1.0), starts[number]
            policy = known.get(number) or [1.0 / len(menu)] * len(menu)
            for place, probability in enumerate(policy, start):
                plan[place] = reach * probability
                sums[place] += share * plan[place]
    behaviour = array("d")
    for number in range(len(menus)):
        behaviour.extend(in_proportion(sums[starts[number] : starts[number + 1]]))
    return StreamedStrategy(player, numbers, menus, starts, behaviour)
