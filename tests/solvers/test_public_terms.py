"""Problems other than equilibria by the loop on public forms: constraints, models, floors; against linear programs."""

import numpy as np
import pytest
from effort import either
from public_games import RandomPublicGame

from treeplex import (
    ConstrainedNash,
    EpsilonSafeResponse,
    Game,
    RestrictedNash,
    Strategy,
    solve,
)
from treeplex.models.constraints import LinearConstraint
from treeplex.seqform.public_form import PublicForm

METHODS = ["cfr+", "dcfr", "pcfr+"]


def drawn_strategy(game, player, random):
    treeplex = game.sequence_form.treeplexes[player]
    return Strategy(game, player, treeplex.behaviour(random.random(treeplex.num_sequences) ** 3 + 1e-9))


def drawn_constraints(game, random):
    """Constraints that a random profile meets: bounds of actions, equations, and rows of many sequences."""
    found = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        strategy = drawn_strategy(game, player, random)
        for infoset in range(treeplex.num_infosets):
            own = np.arange(treeplex.offsets[infoset], treeplex.offsets[infoset + 1])
            kind = random.integers(6)
            sequence = int(random.choice(own))
            played, parent = float(strategy.behaviour[sequence]), int(treeplex.parents[infoset])
            margin = random.choice([0.0, 0.1])
            for sense, number in (("<=", played + margin), (">=", played - margin)):
                if kind == 0 or (kind == 1 and sense == "<=") or (kind == 2 and sense == ">="):
                    terms, limit = ({sequence: 1}, number) if parent == 0 else ({sequence: 1, parent: -number}, 0)
                    found.append(LinearConstraint(player, terms, limit, f"{player} {infoset} {sense}", sense))
        for number in range(random.integers(3) if treeplex.num_infosets else 0):
            vector = random.normal(size=treeplex.num_sequences) * (random.random(treeplex.num_sequences) < 0.5)
            terms = {s: float(vector[s]) for s in range(treeplex.num_sequences) if vector[s]}
            if terms:
                bound = float(vector @ strategy.plan)
                found.append(LinearConstraint(player, terms, bound, f"{player} row {number}"))
    return found


def drawn_game(seed):
    """Return a random game in public form in which both players move; ``None`` if it is not one."""
    game = Game.from_public_form(PublicForm.from_rules(RandomPublicGame(seed)))
    return game if all(treeplex.num_infosets for treeplex in game.sequence_form.treeplexes) else None


def check(problem, method, seed, near=2e-3, iterations=20_000):
    """Hold what the loop proves against the optimum of a linear program."""
    exact, scale = solve(problem, "highs"), problem.game.payoff_scale
    found = solve(problem, method, tol=1e-4 * scale, max_iterations=iterations)
    assert found.state is not None, "the loop on the public form was not used"
    assert hasattr(found.state, "arrays"), "the loop on the public form was not used"
    # What is violated a little may earn as much as its price says.
    round_off = 1e-7 * scale + found.violation * sum(exact.multipliers.values())
    assert found.lower - round_off <= exact.objective <= found.upper + round_off, seed
    assert found.certificate.gap <= near * scale, (seed, found)
    assert problem.penalty is not None or found.violation <= near * max(1.0, scale), (seed, found)
    return found, exact


@pytest.mark.parametrize("seed", range(either(40, 400)))
def test_constrained_equilibria_are_those_of_the_linear_program(seed):
    game, random = drawn_game(seed), np.random.default_rng(seed)
    constraints = [] if game is None else drawn_constraints(game, random)
    if constraints:
        penalty = None if seed % 3 else float(random.choice([0.5, 5.0]) * game.payoff_scale)
        check(ConstrainedNash(game, constraints, penalty=penalty), METHODS[seed % 3], seed)


@pytest.mark.parametrize("seed", range(either(20, 200)))
def test_responses_are_those_of_the_linear_program(seed):
    game, random = drawn_game(seed), np.random.default_rng(seed)
    if game is None:
        return
    player = seed % 2
    model = drawn_strategy(game, 1 - player, random)
    check(RestrictedNash(game, model, p=float(random.choice([0.0, 0.3, 0.8, 1.0]))), METHODS[seed % 3], seed)
    epsilon = float(random.choice([0.05, 0.3])) * game.payoff_scale
    check(EpsilonSafeResponse(game, model, epsilon=epsilon), METHODS[seed % 2], seed, near=1e-2)
