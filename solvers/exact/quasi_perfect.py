"""Whether a pair of strategies is a quasi-perfect equilibrium, decided in fractions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ...models.problems.refined import check_realization_plans
from ...models.programs.linear_program import ProgramBlocks
from ...models.programs.rational_program import RationalProgram
from ...models.programs.triplets import Triplets
from ...models.saddle import PlayerView, check_player_count, zero_sum_of
from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import InvalidOptionError, InvalidStrategyError, SolverError, TimeLimitError, shown
from ...seqform.game import Game
from ...seqform.limits import seconds_left, time_limited
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions, exact_behaviour
from ...seqform.strategy import Profile, check_same_game
from ..outcome import Status
from ..solution import Solution
from .rational_solve import optimum
from .rational_vertex import Point
from .rational_vertex import to_fractions as fractions_of

#: Smaller losses, relative to the game's stakes, may come from rounded probabilities.
_ROUNDED = 1e-9
#: Probabilities that are closer than this to a fraction with a denominator of at most that may be meant as it.
_ROUND_OFF, _LARGEST_DENOMINATOR = 1e-9, 1_000


@dataclass(frozen=True)
class QuasiPerfection:
    """Whether strategies are a quasi-perfect equilibrium; true if that is proven.

    Attributes
    ----------
    verdict : {"yes", "no", "undecided"}
        ``undecided`` if the answer depends on numbers below the tolerance, as with rounded probabilities.
    player : int or None
        The player that plays an inferior action.
    infoset, action, better : hashable or None
        The first infoset at which it does, the action, and an action that earns more there.
    loss : float or None
        What the strategy loses there, in payoff units: weighted by the opponent's and chance's probability of reaching
        the infoset if `trembles` is false, otherwise at least this much per unit of the probability of the opponent's
        mistakes, whichever mistakes it makes.
    trembles : bool
        Whether the loss only appears if the opponent makes mistakes.
    """

    verdict: Literal["yes", "no", "undecided"]
    player: int | None = None
    infoset: Any = None
    action: Any = None
    better: Any = None
    loss: float | None = None
    trembles: bool = False

    def __bool__(self) -> bool:
        return self.verdict == "yes"

    def __str__(self) -> str:
        if self.verdict == "yes":
            return "quasi-perfect, proven in fractions"
        if self.verdict == "undecided":
            return "undecided: a difference of payoffs is too small to distinguish from rounded probabilities"
        when = "per unit of the probability of the opponent's mistakes" if self.trembles else "against this opponent"
        return (
            f"not quasi-perfect: player {self.player} plays {self.action} at {self.infoset}, where {self.better} earns "
            f"{self.loss:.6g} more {when}"
        )


def is_quasi_perfect(
    game: Game, profile: Profile | Solution, *, tol: float = _ROUNDED, time_limit: float | None = None
) -> QuasiPerfection:
    """Decide in fractions whether a pair of strategies is a quasi-perfect equilibrium of a zero-sum game.

    Parameters
    ----------
    game : Game
        Two players, constant-sum. Plans must not be flows.
    profile : Profile or Solution
        Probabilities count as in :func:`~treeplex.seqform.rationals.exact_behaviour`. If that leaves the answer
        undecided, those within 1e-9 of a fraction with a denominator of at most 1,000 count as the fraction. Of a
        refined solution, its own fractions are used.
    tol : float
        Differences of payoffs up to this, relative to the game's stakes, may come from rounded probabilities. If there
        is one that is not zero, the answer is undecided.
    time_limit : float, optional
        In seconds.

    Raises
    ------
    InvalidStrategyError
        If the strategies are not a profile of the game.
    UnsupportedProblemError
        If the game does not have two players or a constant sum, or plans are flows.
    TimeLimitError

    Notes
    -----
    The strategies are quasi-perfect if the opponent's strategy is the limit of strategies with full support against
    which the player's strategy is a best response from each of its infosets on (E. van Damme, "A relation between
    perfect equilibria in extensive form games and proper equilibria in normal form games", International Journal of
    Game Theory 13, 1984). Such strategies are sought as polynomials in ε, one power after another by a linear program
    with as many new mistakes and as many strict best responses as possible; see :doc:`/theory/refinements`.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import is_quasi_perfect
    >>> game = load_game("kuhn")
    >>> bool(is_quasi_perfect(game, solve(Nash(game, refine="quasi-perfect"))))
    True
    """
    check_player_count("is_quasi_perfect", game)
    tolerance = check_number(tol, "tol", InvalidOptionError, "[0, inf)")
    limit = np.inf if time_limit is None else check_number(time_limit, "time_limit", InvalidOptionError, "[0, inf]")
    given = profile.profile if isinstance(profile, Solution) else profile
    if not isinstance(given, Profile):
        raise InvalidStrategyError(f"expected a Profile or a Solution, got {shown(given)}")
    check_same_game(given[0], game)
    opposed = zero_sum_of("is_quasi_perfect", game)
    check_realization_plans("is_quasi_perfect", opposed)
    exact = profile.exact if isinstance(profile, Solution) else None
    behaviour = None if exact is None else exact.behaviour
    with time_limited(float(limit)):
        if behaviour is not None:
            return _decided(opposed, behaviour, tolerance)
        found = _decided(opposed, [exact_behaviour(one.treeplex, one.behaviour) for one in given], tolerance)
        if found.verdict != "undecided":
            return found
        return _decided(opposed, [_simplified(one.treeplex, one.behaviour) for one in given], tolerance)


def _decided(game: Game, behaviour: Sequence[Fractions], tolerance: float) -> QuasiPerfection:
    """Return the verdict on strategies in fractions."""
    for player in (0, 1):
        found = _Check(PlayerView(game, player, exact=True), behaviour, tolerance * game.stakes).run()
        if not found:
            return found
    return QuasiPerfection("yes")


def _simplified(treeplex: Treeplex, behaviour: Floats) -> Fractions:
    """Return a behaviour strategy in fractions with small denominators, where they are within round-off."""
    near = [Fraction(one).limit_denominator(_LARGEST_DENOMINATOR) for one in behaviour.tolist()]
    rounded = np.array(near, dtype=np.float64)
    return exact_behaviour(treeplex, np.where(np.abs(rounded - behaviour) <= _ROUND_OFF, rounded, behaviour))


class _Check:
    """The search for mistakes of the opponent that make a player's strategy a best response from each infoset on."""

    def __init__(self, view: PlayerView, behaviour: Sequence[Fractions], tolerance: float) -> None:
        self._view, self._tolerance = view, tolerance
        self._own, self._theirs = behaviour[view.player], behaviour[1 - view.player]
        self._gains = _gains(view, self._own)
        self._blocks, self._shares = _blocks(view.other, self._theirs)

    def run(self) -> QuasiPerfection:
        """Return the verdict on the player's strategy."""
        own = self._view.own
        on_path = self._shares * (self._blocks == 0)
        losses = [one @ on_path for one in self._gains]
        largest = max(losses[1:], default=Fraction(0))
        if any(loss and abs(loss) <= self._tolerance for loss in losses) and largest <= self._tolerance:
            return QuasiPerfection("undecided")
        ranges = list(pairwise(own.offsets.tolist()))
        for infoset, (first, stop) in enumerate(ranges):
            worst = max(range(first, stop), key=losses.__getitem__)
            if losses[worst] > self._tolerance:
                return self._inferior(infoset, worst, on_path, losses[worst], trembles=False)
        stuck = self._stuck(len(ranges))
        if stuck is None:
            return QuasiPerfection("yes")
        low, high = 0, len(ranges)  # no infosets are not stuck, all are
        while high - low > 1:
            middle = (low + high) // 2
            state = self._stuck(middle)
            low, high, stuck = (middle, high, stuck) if state is None else (low, middle, state)
        return self._least_loss(high - 1, *stuck)

    def _inferior(self, infoset: int, better: int, plan: Fractions, loss: Any, trembles: bool) -> QuasiPerfection:
        own = self._view.own
        first, stop = own.offsets[infoset : infoset + 2].tolist()
        played = [sequence for sequence in range(first, stop) if self._own[sequence]]
        worst = min(played, key=lambda sequence: self._gains[sequence] @ plan)
        names = own.action_labels[infoset]
        label = own.infoset_labels[infoset]
        return QuasiPerfection(
            "no", self._view.player, label, names[worst - first], names[better - first], float(loss), trembles
        )

    def _stuck(self, number: int) -> tuple[set[int], list[int]] | None:
        """Return the possible mistakes and the rows that are still equal, if some mistake is impossible.

        Only the first `number` infosets of the player count.
        """
        on_path = self._shares * (self._blocks == 0)
        rows = [
            sequence
            for sequence in range(1, int(self._view.own.offsets[number]))
            if self._gains[sequence].any() and not self._gains[sequence] @ on_path
        ]
        made, every = {0}, set(self._blocks.tolist())
        while made != every:
            program = self._program(made, rows)
            point = self._optimum(program)
            columns = fractions_of(point.columns)
            plan, mistakes = columns[program.columns["plan"]], columns[program.columns["mistakes"]]
            new = {block for block, weight in enumerate(mistakes.tolist()) if weight} - made
            equal = [row for row in rows if not self._gains[row] @ plan]
            if not new and len(equal) == len(rows):
                return made, rows
            made |= new
            rows = equal
        return None

    def _optimum(self, program: RationalProgram) -> Point:
        found = optimum(program, None, seconds_left())
        if isinstance(found, Point):
            return found
        if not seconds_left():
            raise TimeLimitError("the time limit was reached before quasi-perfection was decided")
        raise SolverError(f"no optimum was proven in fractions ({found or Status.UNCERTIFIED})")

    def _least_loss(self, infoset: int, made: set[int], rows: list[int]) -> QuasiPerfection:
        """Return the verdict with the least loss at an infoset over all mistakes whose probabilities sum to 1."""
        first, stop = self._view.own.offsets[infoset : infoset + 2].tolist()
        here = [row for row in rows if first <= row < stop]
        for paid in (here, rows):  # best responses elsewhere may exclude all mistakes
            program = self._program(made, rows, paid)
            found = optimum(program, None, seconds_left())
            if isinstance(found, Point):
                break
        point = found if isinstance(found, Point) else self._optimum(program)
        columns = fractions_of(point.columns)
        plan = columns[program.columns["plan"]]
        better = max(here or range(first, stop), key=lambda row: self._gains[row] @ plan)
        loss = columns[program.columns["loss"]][0]
        if loss <= self._tolerance:
            return QuasiPerfection("undecided")
        return self._inferior(infoset, better, plan, loss, trembles=True)

    def _program(self, made: set[int], rows: list[int], paid: list[int] | None = None) -> RationalProgram:
        """Return the program of one power of ε: the largest number of new mistakes and of strict best responses.

        With `paid`, return that of the least loss at these rows for mistakes whose probabilities sum to 1.
        """
        blocks, count, number = self._blocks, len(self._blocks), int(self._blocks.max()) + 1
        free = np.isin(blocks, list(made))
        possible = np.zeros(number, dtype=bool)
        for sequence, parent in self._roots():
            possible[blocks[sequence]] = free[parent] and not free[sequence]
        shut = np.flatnonzero(~free)
        free[0] = False
        program = ProgramBlocks(exact=True)
        program.add_columns("plan", count, lower=np.where(free, -np.inf, 0.0))
        program.add_columns("mistakes", number, lower=0.0, upper=np.where(possible, np.inf, 0.0))
        program.add_rows("flow", {"plan": Triplets.of(self._view.other.E)}, lower=0.0, upper=0.0)
        shares = _matrix(len(shut), number, enumerate(blocks[shut].tolist()), (-self._shares[shut]).tolist())
        if len(shut):
            ones = _matrix(len(shut), count, enumerate(shut.tolist()))
            program.add_rows("mistakes", {"plan": ones, "mistakes": shares}, lower=0.0, upper=0.0)
        places = [(place, at) for place, row in enumerate(rows) for at in np.flatnonzero(self._gains[row]).tolist()]
        gains = _matrix(len(rows), count, places, [self._gains[rows[place]][at] for place, at in places])
        if paid is None:
            for name, columns, more in (("mistakes", number, {}), ("rows", len(rows), {"plan": gains})):
                if columns:
                    program.add_columns(f"strict {name}", columns, objective=1.0, lower=0.0, upper=1.0)
                    one = _matrix(columns, columns, ((place, place) for place in range(columns)))
                    terms = more or {"mistakes": -one}
                    program.add_rows(f"strict {name}", {**terms, f"strict {name}": one}, upper=0.0)
            return RationalProgram.of_blocks(program, maximise=True)
        program.add_columns("loss", 1, objective=1.0)
        loss = _matrix(len(rows), 1, [(place, 0) for place, row in enumerate(rows) if row in paid])
        program.add_rows("responses", {"plan": gains, "loss": -loss}, upper=0.0)
        total = _matrix(1, number, ((0, block) for block in range(number)))
        program.add_rows("total", {"mistakes": total}, lower=1.0, upper=1.0)
        return RationalProgram.of_blocks(program, maximise=False)

    def _roots(self) -> list[tuple[int, int]]:
        """Return the sequences that the opponent does not play at their infosets, with their parents."""
        other = self._view.other
        parents = zip(other.parents.tolist(), pairwise(other.offsets.tolist()), strict=True)
        return [(seq, parent) for parent, here in parents for seq in range(*here) if not self._theirs[seq]]


def _matrix(
    rows: int, columns: int, places: Iterable[tuple[int, int]], values: Sequence[Fraction] | None = None
) -> Triplets:
    """Return a matrix with the given values, or ones, at the given places."""
    keys = list(places)
    return Triplets.from_entries((rows, columns), keys, [Fraction(1)] * len(keys) if values is None else values)


def _gains(view: PlayerView, behaviour: Fractions) -> list[Fractions]:
    """Return the gain of each action at its infoset over the strategy, per unit of each sequence of the opponent."""
    own, count = view.own, view.other.num_sequences
    worth = [np.full(count, Fraction(0), dtype=object) for _ in range(own.num_sequences)]
    if view.factored is None:
        payoffs = view.matrices[0]
        for row, column, value in zip(payoffs.rows.tolist(), payoffs.columns.tolist(), payoffs.values, strict=True):
            worth[row][column] += value
    else:
        for column in range(count):
            unit = np.full(count, Fraction(0), dtype=object)
            unit[column] = Fraction(1)
            for row, value in enumerate(view.own_gradient(unit)):
                worth[row][column] = value
    ranges, parents = list(pairwise(own.offsets.tolist())), own.parents.tolist()
    gains = [np.full(count, Fraction(0), dtype=object)] * own.num_sequences
    for infoset in reversed(range(own.num_infosets)):
        here = range(*ranges[infoset])
        value = sum((behaviour[sequence] * worth[sequence] for sequence in here if behaviour[sequence]), 0 * worth[0])
        for sequence in here:
            gains[sequence] = worth[sequence] - value
        worth[parents[infoset]] = worth[parents[infoset]] + value
    return gains


def _blocks(treeplex: Treeplex, behaviour: Fractions) -> tuple[Any, Fractions]:
    """Return for each sequence the last mistake on its way, and the share of the mistake that goes on to it.

    Mistake 0 stands for the empty sequence.
    """
    blocks = np.zeros(treeplex.num_sequences, dtype=np.int64)
    shares = np.full(treeplex.num_sequences, Fraction(1), dtype=object)
    for parent, here in zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True):
        for sequence in range(*here):
            played = behaviour[sequence]
            blocks[sequence] = blocks[parent] if played else blocks.max() + 1
            shares[sequence] = shares[parent] * played if played else Fraction(1)
    return blocks, shares
