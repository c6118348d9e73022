"""Simple strategies by rounding, on trees and on public forms."""

from typing import TYPE_CHECKING

from ..models.problems import SimpleStrategy
from .outcome import Options, Outcome

if TYPE_CHECKING:
    from .methods import Rounding


def run(method: "Rounding", problem: SimpleStrategy, options: Options) -> Outcome:
    """Solve a problem; see :class:`~treeplex.solvers.Rounding`."""
    if problem.game.public_form is None:
        from .exact.simplification import simplify_by_rounding

        return simplify_by_rounding(problem, options)
    from .public.simplification import simplify_in_public

    return simplify_in_public(problem, options)
