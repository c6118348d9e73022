"""Uniform play: the answer if a limit is reached before a method has strategies."""

from collections.abc import Sequence
from typing import Any

from ..models.problems import Certificate, Feature, Nash, Problem
from ..seqform.strategy import Profile

#: The number of nodes up to which best responses in public form take at most a second without compiled loops.
_FEW_NODES = 3_000


def uniform_play(problem: Problem) -> dict[str, Any]:
    """Return uniform play as the fields of an outcome; for a game in public form, without its sequence form."""
    game = problem.game
    if "sequence_form" in vars(game) or game.public_form is None:
        return {"plans": Profile.uniform(game).plans}
    from ..seqform.public_profile import PublicProfile, StrategiesOnDemand

    profile = PublicProfile.uniform(game.public_form)
    certificate = by_best_responses(profile.best_response_values, profile.value(0))
    return {"plans": (), "proof": (StrategiesOnDemand(game, profile), certificate)}


def by_best_responses(best_responses: Sequence[float], value: float) -> Certificate:
    """Return the certificate that both players' best responses prove in a zero-sum game.

    Parameters
    ----------
    best_responses : sequence of two floats
        Each player's best-response value against the other's strategy.
    value : float
        Player 0's payoff; corrected for round-off.
    """
    first, second = best_responses
    value = min(max(value, -second), first)
    return Certificate(
        value=(value, -value),
        objective=value,
        lower=-second,
        upper=first,
        exploitability=max(0.0, (first + second) / 2.0),
        residual=0.0,
        violations={},
    )


def has_uniform_play(problem: Problem) -> bool:
    """Whether uniform play is an answer, and quick to certify: the sequence form or a small public form is built."""
    built = vars(problem.game)
    if Feature.SIMPLE in problem.needs or not getattr(built.get("public_form"), "is_whole", True):
        return False
    if "sequence_form" in built:
        return True
    form = built.get("public_form")
    return (
        form is not None and isinstance(problem, Nash) and not problem.constraints and len(form.players) <= _FEW_NODES
    )
