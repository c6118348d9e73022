"""Equilibria of two players by Lemke's algorithm in sequence form, with pivots in floats."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...models.problems import EpsilonNash
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.limits import counted_now
from ..certification import enough
from ..outcome import Options, Outcome, Status, nearest_profile
from .lemke_path import float_path, follow

if TYPE_CHECKING:
    from ..methods import Lemke


def run(method: "Lemke", problem: EpsilonNash, options: Options) -> Outcome:
    """Follow the path in floats, and prove or repair its end; see :class:`~treeplex.solvers.Lemke`."""
    form = problem.game.sequence_form
    size = sum(treeplex.num_sequences for treeplex in form.treeplexes)
    if size > method.largest:
        raise UnsupportedProblemError(
            f"{problem.game.spec} has {size:,} sequences, too many for method {method.name}, which accepts at most "
            f"{method.largest:,}: use dcfr"
        )
    built = counted_now()
    path, prior = float_path(problem, options)
    begun = counted_now()
    stopped = follow(path, options, begun)
    plans: Sequence[Floats] = path.plans(prior)
    profile = nearest_profile(problem.game, plans)
    proof, detail = (profile, problem.certify(profile)), f"{path.pivots:,} pivots"
    finished = stopped in (Status.OPTIMAL, Status.UNCERTIFIED)
    if finished and problem.error(proof[1]) > enough(problem, proof[1], options):
        from .lemke_in_fractions import repaired

        exact, stopped, detail = repaired(problem, path, prior, options, begun)
        if exact is not None:
            plans = exact.rounded_plans
            profile = nearest_profile(problem.game, plans)
            proof = profile, problem.certify(profile)
    return Outcome(
        plans=plans,
        proof=proof,
        stopped=stopped,
        detail=detail,
        iterations=path.pivots,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
    )
