"""The display of constraints in notebooks."""

from collections.abc import Iterator

from ...seqform.interchange.page import Content, code, emphasis, facts, prose
from .constraint import Constraint


def constraint_blocks(constraint: Constraint) -> Iterator[Content]:
    """Return the constraint's player, its function and its bound."""
    yield prose(emphasis(f"Constraint of player {constraint.player}"), " ", code(constraint.name))
    yield facts(constraint.facts())
