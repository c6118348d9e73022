"""Tuning of threshold automata: one number at a time by simulated annealing, evaluated by matches or exactly."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from ...models.games.betting import PlacedOffer, placed_offers
from ...models.games.holdem.values import SAMPLES
from ...models.matches import Table, match
from ...models.matches.match import half_width
from ...models.opponents import Threshold, ThresholdBot
from ...models.opponents.threshold import NUMBERS
from ...models.play import DuplicateDeals
from ...models.saddle import check_two_players
from ...seqform.arrays import Floats
from ...seqform.calls import calls
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import UnsupportedProblemError
from ...seqform.evaluate import expected_payoffs
from ...seqform.game import Game
from ...seqform.strategy import Profile, Strategy
from ..checkpoint import Checkpoint, Keeper, digest
from ..matches.bots import declared_bot, find_bot

#: The number of cached plans of automata.
_KEPT = 8
#: A function that plays a match, given the automaton, its opponent, the number of deals and a seed; returns the
#: payoffs.
Play = Callable[[Threshold, Threshold, int, Sequence[int]], Floats]


@dataclass(frozen=True)
class Score:
    """The payoff of an automaton per hand.

    Attributes
    ----------
    mean : float
        In payoff units.
    error : float
        Its standard error; 0 if it is exact.
    """

    mean: float
    error: float = 0.0


class Judge(ABC):
    """The base class of judges, frozen dataclasses that evaluate automata."""

    @abstractmethod
    def score(self, automaton: Threshold, opponent: Threshold, seed: Sequence[int]) -> Score:
        """Return the payoff of an automaton per hand, averaged over both seats.

        Parameters
        ----------
        automaton : Threshold
        opponent : Threshold
            Its opponent, unless the judge has its own.
        seed : sequence of int
            The seed of the random numbers.
        """


@dataclass(frozen=True, eq=False)
class Seats:
    """A game that threshold automata play in both seats, against each other or against a profile.

    Parameters
    ----------
    game : Game
        A two-player constant-sum game with betting rules.
    against : Profile, optional
        The opponent of automata, instead of each other.

    Raises
    ------
    UnsupportedProblemError
        If the game has no betting rules.
    """

    game: Game
    against: Profile | None = None

    def __post_init__(self) -> None:
        check_two_players("tuning", self.game)
        _ = self._offers

    @cached_property
    def _offers(self) -> list[list[PlacedOffer]]:
        return [list(placed_offers(self.game, player)) for player in (0, 1)]

    def profile(self, automaton: Threshold) -> Profile:
        """Return the play of an automaton in both seats; recent results are cached."""
        if automaton not in self._profiles:
            sizes = [treeplex.num_sequences for treeplex in self.game.sequence_form.treeplexes]
            vectors = [automaton.behaviour(offers, size) for offers, size in zip(self._offers, sizes, strict=True)]
            while len(self._profiles) >= _KEPT:
                self._profiles.pop(next(iter(self._profiles)))
            made = [Strategy(self.game, player, vector) for player, vector in enumerate(vectors)]
            self._profiles[automaton] = Profile(made)
        return self._profiles[automaton]

    @cached_property
    def _profiles(self) -> dict[Threshold, Profile]:
        return {}

    def opponent(self, automaton: Threshold) -> Profile:
        """Return the opponent's profile: the given automaton's, or `against`."""
        return self.profile(automaton) if self.against is None else self.against

    @cached_property
    def _duplicate(self) -> DuplicateDeals:
        return DuplicateDeals(self.game)

    def __call__(self, automaton: Threshold, opponent: Threshold, deals: int, seed: Sequence[int]) -> Floats:
        """Play a match of duplicate deals, and return the automaton's payoff per hand for each deal."""
        mine, theirs = self.profile(automaton), self.opponent(opponent)
        return self._duplicate.play(mine, theirs, deals, np.random.default_rng(seed))


@dataclass(frozen=True)
class AtTable:
    """A table of no-limit hold'em at which threshold automata play matches of duplicate deals.

    Parameters
    ----------
    table : Table
        A table of two seats.
    against : tuple of str
        The opponents of automata instead of each other, as strings for :func:`~treeplex.solvers.matches.bots.find_bot`;
        all play the same deals. A bot that learns starts from scratch in every match.
    samples : int
        The samples of a value, as for :class:`~treeplex.models.opponents.ThresholdBot`.

    Raises
    ------
    InvalidStrategyError, InvalidGameError
        If a bot is unknown.
    MissingExtraError
        When a match is played, if pokerkit is not installed.
    """

    table: Table = field(default_factory=Table)
    against: tuple[str, ...] = ()
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        for text in self.against:
            declared_bot(text)

    def __call__(self, automaton: Threshold, opponent: Threshold, deals: int, seed: Sequence[int]) -> Floats:
        """Play a match; return the automaton's big blinds per hand for each deal, with equities for all-in hands."""
        number = int(np.random.SeedSequence(list(seed)).generate_state(1)[0])
        won = []
        for other in [find_bot(text, self.table) for text in self.against] or [ThresholdBot(opponent, self.samples)]:
            found = match([ThresholdBot(automaton, self.samples), other], self.table, 2 * deals, seed=number)
            if found.interrupted:
                raise KeyboardInterrupt
            won.append(found.expected[:, :, 0].mean(axis=1) / self.table.big_blind)
        each: Floats = np.mean(won, axis=0)
        return each


@dataclass(frozen=True, eq=False)
class ExactJudge(Judge):
    """A judge that evaluates automata exactly, by the payoff of their plans.

    Parameters
    ----------
    seats : Seats
    """

    seats: Seats

    def score(self, automaton: Threshold, opponent: Threshold, seed: Sequence[int]) -> Score:
        """Return the exact payoff of an automaton per hand."""
        mine, theirs = self.seats.profile(automaton), self.seats.opponent(opponent)
        game = self.seats.game
        first = expected_payoffs(game, Profile([mine[0], theirs[1]]))[0]
        second = expected_payoffs(game, Profile([theirs[0], mine[1]]))[1]
        return Score(float(first + second) / 2)


@dataclass(frozen=True, eq=False)
class MatchJudge(Judge):
    """A judge that evaluates automata by matches, ignoring those with the highest and lowest results.

    Parameters
    ----------
    play : callable
        The function that plays one match: :class:`Seats` for small games, :class:`AtTable` for no-limit hold'em, or
        any function of the automaton, its opponent, the number of deals and a seed that returns the automaton's
        payoff per hand for each deal.
    matches : int
    deals : int
        The number of deals in a match; each duplicate deal is two hands.
    trim : int
        The number of matches dropped at either end.
    jobs : int
        The number of processes.

    Raises
    ------
    UnsupportedProblemError
        If a number is out of range, or no match is left.

    Notes
    -----
    The mean of the middle matches is a biased estimate if payoffs are skewed. Both sides of a comparison are evaluated
    in the same way, with different seeds. The standard error is that of the mean over all deals, s / √(matches ·
    deals).
    """

    play: Play
    matches: int = 5
    deals: int = 1_000
    trim: int = 1
    jobs: int = 1

    def __post_init__(self) -> None:
        check_whole(self.deals, "deals", UnsupportedProblemError, "[2, inf)")
        check_whole(self.trim, "trim", UnsupportedProblemError)
        check_whole(self.matches, "matches", UnsupportedProblemError, f"[{2 * self.trim + 1}, inf)")

    def score(self, automaton: Threshold, opponent: Threshold, seed: Sequence[int]) -> Score:
        """Return the payoff of an automaton per hand."""
        arguments = [(automaton, opponent, self.deals, (*seed, match)) for match in range(self.matches)]
        paid = np.array(list(calls(self.play, arguments, self.jobs)))
        middle = np.sort(paid.mean(axis=1))[self.trim : self.matches - self.trim]
        return Score(float(middle.mean()), float(paid.std(ddof=1)) / math.sqrt(paid.size))


@dataclass(frozen=True)
class Annealing:
    """The settings of the search over an automaton's numbers.

    Parameters
    ----------
    rounds : int
        The number of passes over all numbers; after each pass, the result is compared with the previous automaton.
    steps : int
        The number of values tried for a number.
    temperature : float
        T₀ in payoff units per hand: a value whose score is lower by d is accepted in step s with probability exp(−d
        / T), T = T₀ κˢ.
    cooling : float
        κ, which also scales the distance of tried values from the current one.
    spread : float
        The standard deviation of the first tried value of a threshold from the current one.
    amounts : float
        The same for a coefficient, in antes or big blinds.

    Raises
    ------
    UnsupportedProblemError
        If a number is out of range.
    """

    rounds: int = 3
    steps: int = 12
    temperature: float = 0.05
    cooling: float = 0.75
    spread: float = 0.5
    amounts: float = 4.0

    def __post_init__(self) -> None:
        for name in ("rounds", "steps"):
            check_whole(getattr(self, name), name, UnsupportedProblemError, "[1, inf)")
        for name in ("temperature", "cooling", "spread", "amounts"):
            check_number(getattr(self, name), name, UnsupportedProblemError, "(0, inf)")

    def scale(self, number: int) -> float:
        """Return the spread for one number of an automaton."""
        return self.spread if number % NUMBERS < 3 else self.amounts


@dataclass(frozen=True)
class Improvement:
    """The difference of two automata's payoffs per hand, on the same deals.

    Attributes
    ----------
    mean : float
        In payoff units.
    lower, upper : float
        A confidence interval, by Student's t over deals.
    """

    mean: float
    lower: float
    upper: float


def improvement(
    play: Play, automaton: Threshold, start: Threshold, deals: int, seed: Sequence[int], confidence: float = 0.95
) -> Improvement:
    """Return the gain of an automaton over the one it was tuned from, on deals that tuning has not seen.

    Parameters
    ----------
    play : callable
        Plays one match, as for :class:`MatchJudge`.
    automaton, start : Threshold
        Both play the same deals, against `start` or the opponent of `play`.
    deals : int
        At least 2.
    seed : sequence of int
    confidence : float

    Raises
    ------
    UnsupportedProblemError
        If a number is out of range.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.opponents import Threshold
    >>> from treeplex.solvers.opponents.tuning import Seats, improvement
    >>> game = load_game("kuhn")
    >>> bold = Threshold.from_numbers([-1, -1, 0, 3, 0, 0, 0, 2, 0, 0, 0])
    >>> found = improvement(Seats(game, Profile.uniform(game)), bold, Threshold(), 400, [1])
    >>> found.lower < found.mean < found.upper
    True
    """
    check_whole(deals, "deals", UnsupportedProblemError, "[2, inf)")
    check_number(confidence, "confidence", UnsupportedProblemError, "(0, 1)")
    rises = play(automaton, start, deals, seed) - play(start, start, deals, seed)
    mean, half = float(rises.mean()), half_width(rises, confidence)
    return Improvement(mean, mean - half, mean + half)


@dataclass(frozen=True)
class TuningStep:
    """The record of one tried value.

    Attributes
    ----------
    round, number : int
        The round, and the position of the number.
    held, tried : Threshold
        The current value, and the tried value.
    score : Score
        The score of the tried value.
    rise : Score
        The gain in score over the current value, with the standard error of the difference.
    taken : bool
    before : int
        The number of values tried before it.
    """

    round: int
    number: int
    held: Threshold
    tried: Threshold
    score: Score
    rise: Score
    taken: bool
    before: int


@dataclass(frozen=True)
class TuningRound:
    """The result of a round of tuning.

    Attributes
    ----------
    found : Threshold
        The automaton after its steps.
    gain : Score
        Its gain over the previous automaton, with seeds that no step has used.
    kept : bool
        Whether it replaced the previous automaton.
    """

    found: Threshold
    gain: Score
    kept: bool


@dataclass(frozen=True)
class Tuned:
    """The result of tuning.

    Attributes
    ----------
    start, automaton : Threshold
        The automata before and after tuning.
    rounds : tuple of TuningRound
    steps : tuple of TuningStep
        The tried values, in order.
    interrupted : bool
        Whether Ctrl-C ended the run; the automaton is then the best so far.
    """

    start: Threshold
    automaton: Threshold
    rounds: tuple[TuningRound, ...]
    steps: tuple[TuningStep, ...]
    interrupted: bool = False


def tune(
    judge: Judge,
    start: Threshold | None = None,
    annealing: Annealing | None = None,
    *,
    seed: int = 0,
    on_step: Callable[[TuningStep], None] | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
) -> Tuned:
    """Tune a threshold automaton.

    Parameters
    ----------
    judge : Judge
        The evaluation: exact (:class:`ExactJudge`) or by matches (:class:`MatchJudge`).
    start : Threshold, optional
        By default the handmade automaton.
    annealing : Annealing, optional
    seed : int
    on_step : callable, optional
        Called after each tried value.
    checkpoint : Checkpoint or path-like, optional
        As for :func:`~treeplex.solve`: finished matches are not played again. The number of processes may change.

    Returns
    -------
    Tuned

    Raises
    ------
    UnsupportedProblemError
        If the seed is not a whole number of at least 0.
    CheckpointError
        If the checkpoint is damaged, belongs to another run, or cannot be resumed.

    Notes
    -----
    The opponent is the automaton before the round. A round visits all numbers in random order. Each number is annealed
    alone and takes the value with the highest score; the scores of two values never share a seed. At the end of a
    round, the result replaces the automaton, and so the opponent, if its score is higher with fresh seeds.

    T. Chen, "2-player no limit Texas hold 'em AI report", 2020, section 2: duplicate deals, extreme matches dropped,
    one number at a time by simulated annealing, and best responses that replace their opponents. The report does not
    state numbers of matches and steps or the schedule, except for 1,000 hands per match. Neither the report nor this
    function proves anything about the result.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.opponents import Threshold
    >>> from treeplex.solvers.opponents.tuning import Annealing, ExactJudge, Seats, tune
    >>> game = load_game("kuhn")
    >>> judge = ExactJudge(Seats(game, against=Profile.uniform(game)))
    >>> found = tune(judge, Threshold(Threshold().rounds[:1]), Annealing(rounds=1, steps=6), seed=1)
    >>> before, after = (judge.score(one, one, [0]).mean for one in (found.start, found.automaton))
    >>> round(before, 4), round(after, 4)
    (0.2083, 0.3333)
    """
    check_whole(seed, "seed", UnsupportedProblemError)
    begun, settings = start or Threshold(), annealing or Annealing()
    if checkpoint is not None:
        judged = replace(judge, jobs=1) if isinstance(judge, MatchJudge) else judge
        asked = {"tuning": f"threshold ({digest((begun, settings, judged, seed))})"}
        with Checkpoint.of(checkpoint).kept(asked) as keeper:
            return _Tuning(judge, settings, seed, on_step, keeper).run(begun)
    return _Tuning(judge, settings, seed, on_step, None).run(begun)


@dataclass
class _Tuning:
    """A run of tuning."""

    judge: Judge
    annealing: Annealing
    seed: int
    on_step: Callable[[TuningStep], None] | None
    keeper: Keeper | None
    steps: list[TuningStep] = field(default_factory=list)

    def run(self, start: Threshold) -> Tuned:
        standing, rounds, interrupted = start, [], False
        for number in range(self.annealing.rounds):
            if interrupted:
                break
            found, order = standing, np.random.default_rng((self.seed, 0, number)).permutation(len(start.numbers))
            try:
                for place in order.tolist():
                    found = self._gone_through(number, place, found, standing)
            except KeyboardInterrupt:
                interrupted = True
            if interrupted and found == standing:
                break
            if interrupted:  # evaluations from now on are not part of the run
                self.keeper = None
            try:
                new, old = (self._score(one, standing, 1, number, which) for which, one in enumerate((found, standing)))
            except KeyboardInterrupt:  # the current automaton is the best one known
                interrupted = True
                break
            gain = _difference(new, old)
            rounds.append(TuningRound(found, gain, gain.mean > 0.0))
            standing = found if gain.mean > 0.0 else standing
        return Tuned(start, standing, tuple(rounds), tuple(self.steps), interrupted)

    def _score(self, automaton: Threshold, opponent: Threshold, *seed: int) -> Score:
        if self.keeper is None:
            return self.judge.score(automaton, opponent, (self.seed, *seed))
        kept = self.keeper.part("score", lambda: vars(self.judge.score(automaton, opponent, (self.seed, *seed))))
        return Score(kept["mean"], kept["error"])

    def _gone_through(self, number: int, place: int, found: Threshold, opponent: Threshold) -> Threshold:
        """Anneal one number, or return its result from a checkpoint."""
        first = len(self.steps)

        def compute() -> dict[str, Any]:
            best = self._annealed(number, place, found, opponent)
            steps = self.steps[first:]
            return {
                "best": best.numbers,
                "automata": np.array([(one.held.numbers, one.tried.numbers) for one in steps]),
                "scores": np.array([(one.score.mean, one.score.error, one.rise.mean, one.rise.error) for one in steps]),
                "taken": np.array([one.taken for one in steps]),
            }

        if self.keeper is None:
            return self._annealed(number, place, found, opponent)
        kept = self.keeper.part(f"number {place}", compute)
        if len(self.steps) == first:
            for (held, tried), (mean, error, rise, of), taken in zip(
                kept["automata"], kept["scores"].tolist(), kept["taken"].tolist(), strict=True
            ):
                automata = Threshold.from_numbers(held), Threshold.from_numbers(tried)
                scores = Score(mean, error), Score(rise, of)
                self.steps.append(TuningStep(number, place, *automata, *scores, taken, len(self.steps)))
        return Threshold.from_numbers(kept["best"])

    def _annealed(self, number: int, place: int, found: Threshold, opponent: Threshold) -> Threshold:
        """Anneal one number while the others are fixed."""
        settings, rng = self.annealing, np.random.default_rng((self.seed, 2, number, place))
        held, best = found, found
        score = most = self._score(held, opponent, 3, number, place, 0)
        for step in range(settings.steps):
            cooled = settings.cooling**step
            numbers = held.numbers
            numbers[place] += rng.normal(0.0, settings.scale(place) * cooled)
            tried = Threshold.from_numbers(numbers)
            new = self._score(tried, opponent, 3, number, place, 1 + step)
            rise = _difference(new, score)
            chance = math.exp(min(rise.mean / (settings.temperature * cooled), 0.0))
            taken = bool(rng.random() < chance)
            self.steps.append(TuningStep(number, place, held, tried, new, rise, taken, len(self.steps)))
            if self.on_step is not None:
                self.on_step(self.steps[-1])
            if new.mean > most.mean:
                best, most = tried, new
            if taken:
                held, score = tried, new
        return best


def _difference(new: Score, old: Score) -> Score:
    return Score(new.mean - old.mean, math.hypot(new.error, old.error))
