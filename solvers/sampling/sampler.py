"""Monte Carlo CFR by the compiled samplers: their state on one game, the stepper, and its starts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...models.problems import Certificate, Problem
from ...seqform.arrays import Floats, Integers
from ...seqform.budget import most_threads
from ...seqform.game import Game
from ...seqform.limits import counted_now
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy
from ..certification import loop_error
from ..checkpoint import Saved, fill
from ..iteration import CHECK_GROWTH, NEVER, Run, Stepper, iterate
from ..methods import MCCFR
from ..methods.rules import LocalBias, SamplingRule
from ..outcome import Options, Outcome, checked_seed
from ..solution import RunState, Solution, starting_profile
from ..style.preferences import preference_record
from ..team import in_company, lined, team_arrays
from . import kernel, side_by_side
from .kernel import LaneArrays, PreferringStateArrays, RunNumbers, ScratchArrays, StateArrays
from .side_by_side import BLOCK, WORD, CopyArrays
from .splitmix import first_random_state
from .tree import HistoryTree, history_tree

_SAMPLING = {"external": kernel.EXTERNAL, "outcome": kernel.OUTCOME}
_AVERAGING = {"simple": kernel.SIMPLE, "sampled": kernel.SAMPLED, "full": kernel.FULL}
#: The number of walks of a batch per lane, and the largest number of lanes.
_LANE, _LANES = 16, 32
#: The arrays of lanes that are empty between iterations; `met` is overwritten.
_EMPTIED = ("regrets", "sums", "visits", "places", "met", "taken")


@dataclass(frozen=True, eq=False)
class LocalPreference:
    """The players' preferences and tolerated regrets, in the form of the compiled loop.

    Attributes
    ----------
    degrees : sequence of ndarray of float64, shape (num_sequences,)
        One per player: the factor of a sequence's regret, at least 1.
    vulnerability : sequence of ndarray of float64, shape (num_infosets,)
        One per player: the averaged regret up to which it counts as zero, in payoff units.
    greedy : bool
        Whether to play only the best action instead of playing in proportion.
    conditional : bool
        Whether averages are over visits to an infoset instead of walks.
    """

    degrees: Sequence[Floats]
    vulnerability: Sequence[Floats]
    greedy: bool = False
    conditional: bool = False

    def added_to(self, state: StateArrays, tree: HistoryTree) -> PreferringStateArrays:
        """Return a state with these numbers on a game's positions, and with zero counts."""
        starts, counts = tree.infosets[:, 0], np.zeros(tree.num_positions)
        vulnerability, divisors = np.zeros(tree.num_positions), np.zeros(tree.num_positions, dtype=np.int64)
        vulnerability[starts] = np.concatenate(self.vulnerability)
        divisors[starts] = starts if self.conditional else np.repeat(tree.bases[:-1], np.diff(tree.ranges))
        degrees = np.concatenate(self.degrees)
        return PreferringStateArrays(*state, degrees, vulnerability, divisors, counts, counts, self.greedy)


@dataclass(eq=False)
class SamplerState:
    """The state of a sampler.

    Attributes
    ----------
    arrays : StateArrays or PreferringStateArrays
        The latter also have the preferences, and the counts of walks or visits over which regrets are averaged.
    lanes : LaneArrays, optional
        For walks in batches: empty between iterations, except for their random numbers.
    streams : ndarray of uint64, shape (threads, 16), optional
        For threads that walk side by side, the clock of each thread: in column 2 the state of its random numbers.
    shares : ndarray of float64, shape (threads, num_positions or more), optional
        The sums of strategies on each thread's walks.
    copies : CopyArrays, optional
        The threads' copies of the other arrays, which equal these arrays between two calls of :meth:`Sampler.run`.
    """

    arrays: StateArrays | PreferringStateArrays
    lanes: LaneArrays | None = None
    streams: Any = None
    shares: Any = None
    copies: CopyArrays | None = None

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return int(self.arrays.clock[0])

    @property
    def touched(self) -> int:
        """Histories touched: every history that a walk visits, including chance nodes and leaves."""
        return int(self.arrays.clock[1])

    @property
    def changing(self) -> dict[str, Any]:
        """The arrays that iterations change, by name."""
        changing = {name: getattr(self.arrays, name) for name in StateArrays._fields}
        if isinstance(self.arrays, PreferringStateArrays):
            changing["counts"] = self.arrays.counts
        if self.lanes is not None:
            changing["lanes"] = self.lanes.clock
        if self.streams is not None:
            changing |= {"streams": self.streams, "shares": self.shares}
        return changing

    def copy(self) -> "SamplerState":
        """Return an independent copy."""
        changing = {name: array.copy() for name, array in self.changing.items()}
        lanes, streams, shares = self.lanes, changing.pop("streams", None), changing.pop("shares", None)
        if lanes is not None:
            empty = {name: np.zeros_like(getattr(lanes, name)) for name in _EMPTIED}
            lanes = lanes._replace(clock=changing.pop("lanes"), **empty)
        visits = {"visits": changing["counts"]} if "counts" in changing else {}
        return SamplerState(self.arrays._replace(**changing, **visits), lanes, streams, shares)

    def restore(self, saved: Saved) -> None:
        """Restore the arrays that iterations change."""
        fill(self.changing, saved)
        self.copies = None

    @property
    def sums(self) -> Floats:
        """The sums of strategies over positions, of all threads."""
        sums: Floats = self.arrays.sums
        return sums if self.shares is None else sums + self.shares[:, : len(sums)].sum(axis=0)


class Sampler:
    """The compiled samplers on a game.

    Parameters
    ----------
    tree : HistoryTree
    threads : int, optional
        The number of threads for a batch, which does not change any bit of the result; by default
        :func:`~treeplex.seqform.budget.most_threads`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.sampling.tree import history_tree
    >>> sampler = Sampler(history_tree(load_game("kuhn")))
    >>> state = sampler.initial_state(SamplingRule(), seed=1)
    >>> sampler.run(state, SamplingRule(), iterations=1000)
    >>> state.iterations, bool(state.touched > 10_000)
    (1000, True)
    """

    def __init__(self, tree: HistoryTree, threads: int = 0) -> None:
        self.tree, self.threads = tree, threads or most_threads()
        self.scratch = self._room()
        self._width = -(-tree.num_positions // WORD) * WORD
        self._inside = np.ones(tree.num_positions, dtype=bool)
        self._inside[tree.bases[:-1]] = False  # the empty sequences
        self._starts = (
            np.cumsum(tree.infosets[:, 1]) - tree.infosets[:, 1]
        )  # first sequences of infosets, not counting empty sequences

    def _room(self) -> ScratchArrays:
        """Return scratch arrays for a thread."""
        tree = self.tree
        # Others' policies are stacked above those of the walking player.
        width = (tree.num_players + 1) * tree.width + 1
        return ScratchArrays(
            frames=np.zeros((tree.length + 1, 3), dtype=np.uint64),
            policies=np.zeros(width),
            values=np.zeros(max(width, tree.length + 1)),
            plan=np.zeros(tree.num_positions),
        )

    def _lanes(self, rule: SamplingRule, seed: int, prefers: bool) -> LaneArrays:
        """Return empty lanes for a rule's batches."""
        tree = self.tree
        number, size = min(max(1, rule.batch // _LANE), _LANES), tree.num_positions
        clock = np.zeros((number, 16), dtype=np.uint64)  # threads write to cache lines of their own
        clock[:, 2] = [first_random_state(seed, lane) for lane in range(number)]
        # Sections of 2^shift positions; an infoset belongs to the section of its first sequence.
        shift = ((size - 1) // number).bit_length()
        firsts = np.sort(np.concatenate([tree.infosets[:, 0], tree.bases]))
        sections = np.minimum(np.arange(number) << shift, size)
        return LaneArrays(
            regrets=np.zeros((number, size)),
            sums=np.zeros((number, size)),
            visits=np.zeros((number, size if prefers else 0)),
            clock=clock,
            places=np.zeros((number, size), dtype=np.uint32),
            met=np.zeros((number, size, 2), dtype=np.uint32),
            taken=np.zeros((number, max(16, number)), dtype=np.uint64),
            starts=firsts[np.searchsorted(firsts, sections)].astype(np.uint64),
            shift=np.uint64(shift),
        )

    def initial_state(
        self, rule: SamplingRule, seed: int = 0, preference: LocalPreference | None = None, at_once: bool = False
    ) -> SamplerState:
        """Return a state with zero regrets.

        Parameters
        ----------
        rule : SamplingRule
        seed : int
            The seed for ``numpy.random.SeedSequence``, which gives the initial state of the random numbers.
        preference : LocalPreference, optional
            By default policies are those of regret matching.
        at_once : bool
            Whether results of walks are added at the end of an iteration even without batches.
        """
        size = self.tree.num_positions
        with_baselines = rule.sampling == "outcome" and rule.rate is not None
        places = self.tree.num_nodes if rule.baselines == "history" else size
        clock = np.zeros(3, dtype=np.uint64)
        clock[2] = first_random_state(seed)
        arrays = StateArrays(
            regrets=np.zeros(size),
            sums=np.zeros(size),
            baselines=np.zeros((self.tree.num_players, places) if with_baselines else (0, 0)),
            clock=clock,
        )
        in_batches = rule.batch > 1 and rule.sampling == "external"
        lanes = self._lanes(rule, seed, preference is not None) if in_batches or at_once else None
        streams = shares = None
        if rule.threads > 1:
            streams, shares = np.zeros((rule.threads, 16), dtype=np.uint64), lined(rule.threads, self._width)
            streams[:, 2] = [first_random_state(seed, thread) for thread in range(rule.threads)]
        preferring = None if preference is None else preference.added_to(arrays, self.tree)
        return SamplerState(preferring or arrays, lanes, streams, shares)

    def set_behaviour(self, state: SamplerState, behaviours: list[Floats], trust: float) -> None:
        """Make a state play behaviours, one per player: regrets are proportional to them and sum to ``trust``.

        With a preference, regrets are such that the degrees give the behaviour. If only the best action is played, only
        that remains of the behaviour.
        """
        regrets, state.copies = state.arrays.regrets, None
        for base, behaviour in zip(self.tree.bases[:-1].tolist(), behaviours, strict=True):
            regrets[base : base + len(behaviour)] = trust * behaviour
            regrets[base] = 0.0
        if isinstance(state.arrays, PreferringStateArrays):
            regrets /= state.arrays.degrees
            totals = np.repeat(self._totals(regrets), self.tree.infosets[:, 1])
            regrets[self._inside] *= trust / np.where(totals > 0.0, totals, 1.0)

    def run(
        self,
        state: SamplerState,
        rule: SamplingRule,
        iterations: int,
        touched: int | None = None,
        limit: int | None = None,
    ) -> None:
        """Do more iterations; in each, every player walks in turn: once, or a whole batch.

        Parameters
        ----------
        state : SamplerState
            Changed in place.
        rule : SamplingRule
        iterations : int
            The largest total number.
        touched : int, optional
            Stop after the iteration in which the histories touched reach this number.
        limit : int, optional
            If threads walk side by side, do whole rounds until there are `iterations` more or `limit` is reached; by
            default the same number. A state that has stopped between two rounds continues as if it had not stopped.
        """
        if state.streams is not None:
            self._run_side_by_side(state, state.streams, rule, iterations, touched, limit)
        elif state.lanes is None:
            self._run(state, rule, state.arrays.regrets, iterations, touched, -1)
        else:
            self._run_batches(state, state.lanes, rule, iterations, touched)

    def _run_batches(
        self, state: SamplerState, lanes: LaneArrays, rule: SamplingRule, iterations: int, touched: int | None
    ) -> None:
        number = len(lanes.clock)
        team, job, run = team_arrays(number), np.zeros(1, dtype=kernel.JOB)[0], numbers_of(rule, iterations, touched)

        def call(leads: bool, first: int) -> None:
            kernel.run_batches(
                self.tree.arrays,
                self.tree.bases,
                state.arrays,
                lanes,
                self.scratch if leads else self._room(),
                run,
                job,
                team,
                leads,
                np.uint64(first),
            )

        in_company(call, team, min(self.threads, number))

    def _copies(self, state: SamplerState, streams: Integers) -> CopyArrays:
        """Return the threads' copies of a state."""
        number, arrays = len(streams), state.arrays
        counts = arrays.counts if isinstance(arrays, PreferringStateArrays) else np.zeros(0)
        copied = []
        for array, rows in ((arrays.regrets, number), (arrays.regrets, 1), (counts, number), (counts, 1)):
            copied.append(lined(rows, self._width if len(array) else 0))
            copied[-1][:, : len(array)] = array
        changed = lined(number, self._width // WORD + 1).view(np.uint64)
        return CopyArrays(
            regrets=copied[0],
            agreed=copied[1][0],
            sums=state.shares,
            counts=copied[2],
            agreed_counts=copied[3][0],
            clock=streams,
            marks=changed.view(np.bool_),
            changed=changed,
            met=np.zeros(changed.shape[1], dtype=np.uint64),
            total=lined(number, BLOCK),
        )

    def _run_side_by_side(
        self,
        state: SamplerState,
        streams: Integers,
        rule: SamplingRule,
        iterations: int,
        touched: int | None,
        limit: int | None,
    ) -> None:
        """Divide iterations among threads, which walk on copies of the regrets."""
        team, job = team_arrays(len(streams)), np.zeros(1, dtype=side_by_side.JOB)[0]
        most = iterations if limit is None else limit
        run = numbers_of(rule, min(iterations, most), touched)._replace(walks=np.uint64(most))
        if state.copies is None:
            state.copies = self._copies(state, streams)

        def call(leads: bool, first: int) -> None:
            words = np.zeros(self._width // WORD + 1, dtype=np.uint64)
            side_by_side.run_side_by_side(
                self.tree.arrays,
                self.tree.bases,
                state.arrays,
                state.copies,
                self._room()._replace(words=words, changed=words.view(np.bool_)),
                run,
                job,
                team,
                leads,
                np.uint64(first),
            )

        in_company(call, team, min(self.threads, len(streams)))
        size = self.tree.num_positions
        state.arrays.regrets[:] = state.copies.agreed[:size]
        if isinstance(state.arrays, PreferringStateArrays):
            state.arrays.counts[:] = state.copies.agreed_counts[:size]

    def _run(
        self,
        state: SamplerState,
        rule: SamplingRule,
        target: Floats,
        iterations: int,
        touched: int | None,
        player: int,
    ) -> None:
        kernel.run_samplers(
            self.tree.arrays,
            self.tree.bases,
            state.arrays,
            target,
            self.scratch,
            numbers_of(rule, iterations, touched),
            player,
        )

    def policies(self, state: SamplerState) -> list[Floats]:
        """Return the players' current behaviour strategies by the local rule; entry 0, for the empty sequence, is 1."""
        counts = self.tree.infosets[:, 1]
        uniform = np.repeat(1.0 / counts, counts)
        preferring = state.arrays
        if isinstance(preferring, StateArrays):
            return self._behaviours(np.maximum(preferring.regrets, 0.0), uniform)
        starts = self.tree.infosets[:, 0]
        least = np.zeros(self.tree.num_positions)
        divisors = preferring.counts[preferring.divisors[starts]]
        least[self._inside] = np.repeat(preferring.vulnerability[starts] * divisors, counts)
        weights = preferring.degrees * np.maximum(preferring.regrets - least, 0.0)
        if preferring.greedy:
            weights[self._inside] = _first_largest(weights[self._inside], self._starts, counts)
        fallback = preferring.degrees - 1.0
        otherwise = np.concatenate([each[1:] for each in self._behaviours(fallback, uniform)])
        return self._behaviours(weights, otherwise)

    def average(self, state: SamplerState) -> list[Floats]:
        """Return the players' averaged behaviour strategies; the current ones where nothing has been averaged."""
        return self._behaviours(state.sums, np.concatenate([each[1:] for each in self.policies(state)]))

    def profile(self, game: Game, state: SamplerState) -> Profile:
        """Return the averaged strategies of the game."""
        return Profile([Strategy(game, player, each) for player, each in enumerate(self.average(state))])

    def _totals(self, weights: Floats) -> Floats:
        """Return the sums of weights over positions, infoset by infoset."""
        totals: Floats = np.add.reduceat(weights[self._inside], self._starts) if len(self._starts) else np.zeros(0)
        return totals

    def _behaviours(self, weights: Floats, otherwise: Floats) -> list[Floats]:
        """Return behaviour in proportion to weights over positions, infoset by infoset."""
        bases = self.tree.bases
        totals = np.repeat(self._totals(weights), self.tree.infosets[:, 1])
        behaviour = np.ones(len(weights))
        behaviour[self._inside] = np.where(
            totals > 0.0, weights[self._inside] / np.where(totals > 0.0, totals, 1.0), otherwise
        )
        return [behaviour[start:stop] for start, stop in zip(bases[:-1].tolist(), bases[1:].tolist(), strict=True)]


def numbers_of(rule: SamplingRule, iterations: int, touched: int | None) -> RunNumbers:
    """Return the arguments of the compiled samplers."""
    return RunNumbers(
        iterations=np.uint64(iterations),
        until=np.uint64(2**64 - 1 if touched is None else touched),
        sampling=_SAMPLING[rule.sampling],
        averaging=_AVERAGING[rule.averaging],
        floor=float(rule.floor),
        exploration=float(rule.exploration),
        rate=0.0 if rule.rate is None else float(rule.rate),
        by_history=rule.baselines == "history",
        walks=np.uint64(rule.batch),
    )


def _first_largest(weights: Floats, starts: Integers, counts: Integers) -> Floats:
    """Return 1 at the first of each infoset's largest weights, if that is above 0, and 0 elsewhere."""
    largest = np.zeros(len(weights))
    if len(starts):
        most = np.maximum.reduceat(weights, starts)
        at_most = np.flatnonzero(weights == np.repeat(most, counts))
        largest[at_most[np.searchsorted(at_most, starts)][most > 0.0]] = 1.0
    return largest


#: The sum of a start's regrets at each infoset, in units of the game's largest payoff.
TRUST = 10.0

_trees: WeakKeyDictionary[SequenceForm, HistoryTree] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SamplingState(RunState):
    """The state that a sampling method needs to continue."""

    method: MCCFR
    state: SamplerState

    def preference_record(self, solution: Solution) -> dict[str, Any] | None:
        """Return the frequencies of preferred actions."""
        return preference_record(solution)


def tree_for(game: Game) -> HistoryTree:
    """Return a game's histories as arrays; built once.

    Raises
    ------
    UnsupportedProblemError, GameTooLargeError
        As for :func:`~treeplex.solvers.sampling.tree.history_tree`.
    """
    form = game.sequence_form
    if form not in _trees:
        _trees[form] = history_tree(game)
    return _trees[form]


def preference_of(bias: LocalBias | None, game: Game) -> LocalPreference | None:
    """Return the bias of the local rule in a game, in the form of the compiled samplers.

    Raises
    ------
    InvalidPreferenceError
        If a preference matches nothing in the game.
    """
    if bias is None:
        return None
    found = bias.on(game)
    return LocalPreference(found.degrees, found.vulnerability, bias.greedy, bias.is_conditional)


class SamplingStepper(Stepper):
    """The compiled samplers on a game.

    Checks are scheduled by histories touched, starting with the size of the game: these take equal time for any
    sampling scheme and do not depend on the clock, so that equal seeds give equal runs.

    Parameters
    ----------
    problem : Problem
    options : Options
        The problem whose error is computed.
    sampler : Sampler
    rule : SamplingRule
    state : SamplerState
        Changed in place.

    Attributes
    ----------
    proof : tuple of Profile and Certificate
        The proof for the averaged strategies at the last check.
    """

    proof: tuple[Profile, Certificate]

    def __init__(
        self, problem: Problem, options: Options, sampler: Sampler, rule: SamplingRule, state: SamplerState
    ) -> None:
        self.problem, self.options = problem, options
        self.sampler, self.rule, self.state = sampler, rule, state
        self.next_check = state.touched  # a resumed run may already be good enough
        self.first = state.iterations  # of this run

    @property
    def iterations(self) -> int:
        """The number of walks of every player, or of batches of walks."""
        return self.state.iterations

    @property
    def clock(self) -> int:
        """Histories touched."""
        return self.state.touched

    @property
    def room(self) -> int:
        """Unlimited: the samplers themselves stop at the next check."""
        return NEVER

    def check_after(self, clock: int) -> int:
        """Return the clock at which the certificate is due again, given the clock at which it was computed."""
        return max(self.sampler.tree.num_nodes, math.ceil(clock * CHECK_GROWTH))

    def step(self, iterations: int) -> None:
        """Do walks."""
        limit = self.first + self.options.max_iterations - self.iterations
        self.sampler.run(self.state, self.rule, iterations, self.next_check, max(iterations, limit))

    def check(self) -> float:
        """Return the error of the averaged strategies."""
        profile = self.sampler.profile(self.problem.game, self.state)
        self.proof = profile, self.problem.certify(profile)
        return loop_error(self.problem, self.proof[1], self.options)

    def saved(self) -> Saved:
        """Return the state of the samplers."""
        return {**self.state.changing, "due": self.next_check, "first": self.first}

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        self.state.restore(saved)
        self.next_check, self.first = saved["due"], saved["first"]

    def current_plans(self) -> list[Floats]:
        """Return the players' current plans."""
        return self._plans(self.sampler.policies(self.state))

    def answer(self) -> list[Floats]:
        """Return the plans of the averages."""
        return self._plans(self.sampler.average(self.state))

    def _plans(self, behaviours: Sequence[Floats]) -> list[Floats]:
        treeplexes = self.problem.game.sequence_form.treeplexes
        return [treeplex.plan(behaviour) for treeplex, behaviour in zip(treeplexes, behaviours, strict=True)]


def stepper(method: MCCFR, problem: Problem, options: Options) -> SamplingStepper:
    """Return the compiled samplers on a problem, ready to start or to be resumed."""
    seed, game = checked_seed(options.seed), problem.game
    sampler, rule = Sampler(tree_for(game)), method.sampling_rule(game.num_players)
    preference = preference_of(method.bias, game)
    state = _start(method, problem, sampler, rule, preference, options.start, seed)
    return SamplingStepper(problem, options, sampler, rule, state)


def run(method: MCCFR, problem: Problem, options: Options) -> Outcome:
    """Iterate until the certificate meets the tolerance or a limit is reached."""
    begun = counted_now()
    loop = stepper(method, problem, options)
    build_seconds = counted_now() - begun
    return outcome_of(loop, iterate(loop, options), build_seconds, SamplingState(method, loop.state))


def outcome_of(loop: SamplingStepper, found: Run, build_seconds: float, state: RunState) -> Outcome:
    """Return the outcome of a run of the compiled samplers."""
    return found.outcome(
        build_seconds,
        plans=loop.proof[0].plans,
        detail=f"after {found.iterations} iterations that touched {loop.clock} histories",
        history=replace(found.history, touched=found.clocks),
        state=state,
        proof=loop.proof,
    )


def _start(
    method: MCCFR,
    problem: Problem,
    sampler: Sampler,
    rule: SamplingRule,
    preference: LocalPreference | None,
    start: Any,
    seed: int,
) -> SamplerState:
    """Return the initial state: a copy of a solution's state, or a fresh one that plays the profile."""
    if isinstance(start, Solution):
        kept = start.state
        same = start.problem.game.fingerprint == problem.game.fingerprint
        if isinstance(kept, SamplingState) and kept.method == method and same:
            return kept.state.copy()
    state = sampler.initial_state(rule, seed, preference)
    play_first(sampler, state, start, problem.game)
    return state


def play_first(sampler: Sampler, state: SamplerState, start: Any, game: Game) -> None:
    """Make a state play the profile of a start, if there is one."""
    if start is not None:
        profile, trust = starting_profile(start, game), TRUST * game.sequence_form.payoff_scale
        sampler.set_behaviour(state, [strategy.behaviour for strategy in profile], trust)
