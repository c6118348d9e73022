"""A strategy for the trunk of a cut game, measured with parts: its own, or other ones."""

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..models.problems import Nash
from ..seqform.cut_form import CutForm
from ..seqform.errors import InvalidStrategyError, UnsupportedProblemError
from ..seqform.game import Game
from ..seqform.limits import counted_now, time_limited
from ..seqform.public_profile import PublicProfile
from ..seqform.strategy import Profile
from .checkpoint import Checkpoint, asked_of, digest
from .dispatch import chosen_method, options_of
from .methods import RegretMethod
from .outcome import Outcome, Status
from .public.cut_loop import run
from .public.driver import number_of, serves
from .solution import Solution

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True)
class WithOtherParts:
    """Bounds that strategies for the trunk prove in a game, on payoffs to player 0.

    Attributes
    ----------
    bounds : tuple of two (lower, upper)
        For each player, bounds on the value of the game in which it plays its strategy in the trunk, and best in the
        parts, against an opponent who is free everywhere.
    iterations : tuple of int
        Of learning these two games.
    status : Status
        Why the second ended; or the first, if it did not converge.
    message : str
    seconds : float
    """

    bounds: tuple[tuple[float, float], tuple[float, float]]
    iterations: tuple[int, int]
    status: Status
    message: str
    seconds: float

    @property
    def lower(self) -> float:
        """A lower bound on the value of the game: what player 0 guarantees with its strategy for the trunk."""
        return self.bounds[0][0]

    @property
    def upper(self) -> float:
        """An upper bound on the value of the game: what player 1 concedes with its strategy for the trunk."""
        return self.bounds[1][1]

    @property
    def exploitability(self) -> float:
        """Half of what both strategies lose together: at most this with the play that was learnt in the parts."""
        return max(0.0, (self.upper - self.lower) / 2.0)

    @property
    def least(self) -> float:
        """A lower bound on the exploitability, whatever both players do in the parts."""
        return max(0.0, (self.bounds[1][0] - self.bounds[0][1]) / 2.0)


def with_other_parts(
    trunk: Solution | Profile,
    game: Game,
    method: Any = "dcfr",
    *,
    tol: float | None = None,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    progress: Any = None,
    checkpoint: "Checkpoint | str | PathLike[str] | None" = None,
    on: str | None = None,
) -> WithOtherParts:
    """Keep strategies for the trunk, learn the play in the parts of a game, and certify both together.

    With the parts for which the strategies were computed, this certifies strategies from a file, which has the trunk
    only. With other parts, such as an independent set of flops, it measures what the choice of parts costs: a solution
    on representative flops is exact only for the game on these flops.

    Parameters
    ----------
    trunk : Solution or Profile
        Of a game with the same trunk.
    game : Game
        A game that is cut into a trunk and parts.
    method : str or RegretMethod, optional
        How to learn.
    tol : float, optional
        The largest difference between :attr:`~WithOtherParts.exploitability` and :attr:`~WithOtherParts.least`; by
        default twice the tolerance of a solve. With 0, all iterations are done.
    max_iterations : int, optional
        For each of the two games that are learnt.
    time_limit, progress, checkpoint, on
        As for :func:`~treeplex.solve`.

    Raises
    ------
    UnsupportedProblemError
        If the game is not cut, or the method does not learn in parts.
    InvalidStrategyError
        If the strategies are for another trunk.

    Notes
    -----
    Let G be the game and Gᵢ the game in which player i plays its strategy σᵢ in the trunk. The loss of σᵢ is the
    difference of their values. G₀ and G₁ are learnt one after the other; their values to player 0 are v₀ ≤ v ≤ v₁, and
    the exploitability of both strategies is (v₁ − v₀) / 2. In a random set of parts the free opponent adapts its trunk
    to these parts. So, on average over such sets, the exploitability is at least that on all parts.
    """
    profile, form = trunk.profile if isinstance(trunk, Solution) else trunk, game.public_form
    if not isinstance(form, CutForm):
        raise UnsupportedProblemError(f"{game.spec} is not cut into a trunk and parts")
    if not _is_for(profile, game):
        whose = f"are for {profile[0].game_name}, whose trunk is" if profile[0].game_name else "are for a trunk that is"
        raise InvalidStrategyError(f"the strategies {whose} not that of {game.spec}")
    problem = Nash(game)
    chosen: Any = chosen_method(method, problem)
    if not (isinstance(chosen, RegretMethod) and serves(chosen, problem, None)):
        raise UnsupportedProblemError(f"{chosen.name} does not learn in the parts of {game.spec}: use dcfr")
    options = options_of(
        chosen,
        problem,
        tol=None if tol is None else tol / 2.0,
        max_iterations=max_iterations,
        time_limit=time_limit,
        progress=progress,
        on=on,
    )
    public = PublicProfile.of(form, profile)
    begun, found = counted_now(), list[Outcome]()
    with contextlib.ExitStack() as stack:
        if checkpoint is not None:
            played = digest([public.behaviour(node) for node in form.decisions.tolist()])
            keeper = stack.enter_context(Checkpoint.of(checkpoint).kept(asked_of(problem, chosen, trunk=played)))
            keeper.asks_time = False
            options = replace(options, checkpoint=keeper)
        stack.enter_context(time_limited(options.time_limit))
        for player in (0, 1):
            found.append(run(chosen, problem, options, number_of(chosen, problem, options), fixed=(player, public)))
    return _measured(found, counted_now() - begun)


def _is_for(profile: Profile, game: Game) -> bool:
    """Whether strategies have the infosets and actions of a game's trunk."""
    own = game.sequence_form.treeplexes
    return len(profile) == len(own) and all(
        (one.treeplex.infoset_labels, one.treeplex.action_labels) == (tree.infoset_labels, tree.action_labels)
        for one, tree in zip(profile, own, strict=True)
    )


def _measured(found: list[Outcome], seconds: float) -> WithOtherParts:
    """Return what the outcomes of both games prove."""
    bounds = []
    for one in found:
        assert one.proof is not None
        lower, upper = one.proof[1].lower, one.proof[1].upper
        assert lower is not None
        assert upper is not None
        bounds.append((lower, upper))
    last = next((one for one in found if one.stopped is not Status.CONVERGED), found[-1])
    return WithOtherParts(
        bounds=(bounds[0], bounds[1]),
        iterations=(found[0].iterations, found[-1].iterations),
        status=last.stopped,
        message=last.detail if last.stopped is Status.UNCERTIFIED else last.stopped.advice,
        seconds=seconds,
    )
