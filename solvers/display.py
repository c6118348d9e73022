"""The display of solutions in notebooks."""

from collections.abc import Iterator

from ..seqform.interchange.page import Content, emphasis, folded, prose, sheet_blocks
from ..seqform.interchange.strategy_display import profile_blocks, strategy_blocks
from .answers import solution_sheet
from .solution import Solution


def solution_blocks(solution: Solution) -> Iterator[Content]:
    """Yield the rows that ``print`` shows, and the strategies."""
    title = f"{solution.problem.name} on {solution.problem.game.spec} by {solution.method.name}"
    verdict = "good" if solution.status.is_success else "bad" if solution.infeasibility else "warn"
    yield prose(emphasis(title), ": ", emphasis(str(solution.status), verdict))
    yield prose(solution.message, cls="dim")
    yield from sheet_blocks(solution_sheet(solution).without("problem", "method", "status", "message"))
    if solution.player is None:
        yield folded("strategies", *profile_blocks(solution.profile))
    else:
        yield folded("strategy", *strategy_blocks(solution.strategy))
