"""Certificates of one player's strategy, and their conversion to the payoffs of the given game."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..saddle import PlayerView, Saddle
from ..saddle.program import Bounds
from .certificate import Certificate


def strategy_certificate(problem: Any, plans: Sequence[Any], exact: bool = False) -> Certificate:
    """Return a certificate without bounds for one player's strategy: exploitability and gain against the model."""
    view = PlayerView(problem.game, problem.player, exact)
    own, value = plans[view.player], problem.known_value(exact)
    against = None if problem.model is None else view.payoff(own, view.plan_of(problem.model))
    earned = view.payoff(own, plans[1 - view.player]) if against is None else against
    payoff = earned if view.player == 0 else -earned
    return Certificate(
        value=(payoff, 0 - payoff),
        objective=None,
        lower=None,
        upper=None,
        exploitability=max(0 * value, value - view.worst_case(own)),
        residual=view.residual(plans),
        violations={},
        player=view.player,
        opponent_value=against,
        game_value=value,
        gain=None if against is None else against - value,
    )


def strategy_certificate_with_bounds(problem: Any, saddle: Saddle, plans: Sequence[Any], bounds: Bounds) -> Certificate:
    """Return the certificate of one player's strategy, with the bounds of its program."""
    view = saddle.view
    own = plans[view.player]
    # A strategy that misses the floor, even by round-off, may exceed the optimum and therefore the upper bound. For a
    # style, the gap then shows the difference. For a response, the upper bound is raised to its payoff: the gap is then
    # 0, and the violation of the floor shows the shortfall.
    found, value = strategy_certificate(problem, plans, view.exact), problem.known_value(view.exact)
    worst = value - found.exploitability
    if not found.exploitability:  # the value may be too low if it was computed up to a tolerance
        worst = PlayerView(problem.game, view.player, view.exact).worst_case(own)
    earned = problem.earned(bounds.lower, worst)
    if earned is not None:
        found = replace(found, opponent_value=earned, gain=earned - value)
    upper = bounds.upper if found.gain is None else max(bounds.lower, bounds.upper)
    zero = view.number(0)  # adding it turns a negative zero into zero
    reached, bound = saddle.sign * bounds.lower + zero, saddle.sign * upper + zero
    return replace(
        found,
        objective=reached,
        lower=min(reached, bound),
        upper=max(reached, bound),
        violations=bounds.violations,
    )


def restored(problem: Any, certificate: Certificate) -> Certificate:
    """Return a certificate in the payoffs of the user's game, with the subtracted constant added back."""
    game, value = problem.game, certificate.value
    if game.is_of_one:
        return replace(certificate, value=value[:1])
    if not game.constant:
        return certificate
    if len(value) == 2:
        certificate = replace(certificate, value=(value[0], game.as_paid(value[1], 1)))
    if certificate.player != 1:
        return certificate
    names = ["opponent_value", "game_value", *(("objective", "lower", "upper") * problem.objective_is_payoff)]
    paid = {name: getattr(certificate, name) for name in names}
    steps = certificate.steps
    if problem.steps_are_payoffs:
        steps = tuple(
            replace(step, objective=game.as_paid(step.objective, 1), upper=game.as_paid(step.upper, 1))
            for step in steps
        )
    restored = {name: game.as_paid(one, 1) for name, one in paid.items() if one is not None}
    return replace(certificate, steps=steps, **restored)
