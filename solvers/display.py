"""What notebooks show of solutions."""

from collections.abc import Iterator

from ..seqform.interchange.page import Content, emphasis, facts, first_rows, folded, prose
from ..seqform.interchange.strategy_display import profile_blocks, strategy_blocks
from .solution import Solution


def solution_blocks(solution: Solution) -> Iterator[Content]:
    """Return what ``print`` shows, constraints with their prices as a table, and the strategies."""
    found = dict(solution.rows()) if solution.infeasibility is None else {}
    prices = {name: found.pop(f"price of {name}", None) for name in solution.multipliers}
    title = f"{solution.problem.name} on {solution.problem.game.spec} by {solution.method.name}"
    verdict = "good" if solution.status.is_success else "bad" if solution.infeasibility else "warn"
    yield prose(emphasis(title), ": ", emphasis(str(solution.status), verdict))
    yield prose(solution.message, cls="dim")
    for name in ("problem", "method", "status"):
        found.pop(name, None)
    yield facts(found)
    if prices and solution.infeasibility is None:
        rows = ([name, prices[name]] for name in prices)
        yield first_rows(["constraint", "price"], rows, len(prices), "solution.multipliers holds all")
    if solution.player is None:
        yield folded("strategies", *profile_blocks(solution.profile))
    else:
        yield folded("strategy", *strategy_blocks(solution.strategy))
