"""Solves of every kind, and what tells one answer from another: to test that the same question has the same one."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from treeplex import (
    CDRNR,
    BestNash,
    BestResponse,
    ConstrainedNash,
    EpsilonSafeResponse,
    Game,
    Nash,
    RestrictedNash,
    Strategy,
    load_game,
    solve,
)
from treeplex.solvers.opponents.strategies import opponent_strategy

GAMES = ("kuhn", "leduc:ranks=2,merge_suits=true", "liars_dice:sides=3", "goofspiel:cards=3", "kuhn:cards=5")
SAMPLING = ("es-mccfr", "os-mccfr", "es-pref-cfr")
EXACT = ("highs", "highs-simplex", "highs-ipm", "rational", "cvxpy", "lp")


def shared_games():
    """Return games that nobody has touched."""
    return [load_game(name) for name in GAMES]


def _constrained(game, **options):
    plan = game.plan(0)
    return ConstrainedNash(game, {"half": plan[1] <= 0.4, "sum": plan[1] + plan[2] >= 0.6}, **options)


#: What is asked of a game, each by a method.
QUESTIONS = (
    *(
        (Nash, method)
        for method in ("highs", "highs-ipm", "rational", "cvxpy", "cfr", "cfr+", "dcfr", "pcfr+", "cfvfp")
    ),
    *((Nash, method) for method in ("pref-cfr", "es-mccfr", "os-mccfr", "es-pref-cfr")),
    (lambda game: BestResponse(game, Strategy.uniform(game, 1)), "highs-simplex"),
    (lambda game: RestrictedNash(game, Strategy.uniform(game, 1), p=0.4), "cfr+"),
    (lambda game: RestrictedNash(game, opponent_strategy("random:seed=3", game, 0), p=0.4), "highs"),
    (lambda game: EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0.05), "highs"),
    (lambda game: BestNash(game, Strategy.uniform(game, 1)), "highs"),
    (lambda game: CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1), "lp"),
    (lambda game: CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1), "cfr+"),
    (_constrained, "highs"),
    (_constrained, "ccfr"),
    (lambda game: _constrained(game, penalty=2.0), "rational"),
)


def answers(games, numbers):
    """Yield the fingerprints of the answers to questions by their numbers, which run through games and questions."""
    for number in numbers:
        game = games[number % len(games)]
        pose, method = QUESTIONS[number % len(QUESTIONS)]
        limits = {} if method in EXACT else {"tol": 0.0, "max_iterations": 30 + number}
        seed = {"seed": number} if method in SAMPLING else {}
        yield fingerprint(solve(pose(game), method, **limits, **seed))


def fingerprint(solution):
    """Return a number that differs where any bit of an answer does."""
    found = [str(solution.status), solution.iterations, solution.objective, solution.lower, solution.upper]
    found += [(name, number) for name, number in solution.multipliers.items()]
    digest = hashlib.sha256(repr(found).encode())
    for strategy in solution.profile:
        digest.update(strategy.plan.tobytes())
    for column in (solution.history.iterations, solution.history.exploitability):
        digest.update(np.asarray(column).tobytes())
    return digest.hexdigest()[:16]


def perturbed_game(size=0.0):
    """Return a game whose payoffs meet no ties, moved by a relative amount."""
    from problem_cases import Drawing  # other helpers are found where tests run, or below

    tree = Drawing(32, {}, 0).tree(24)
    random = np.random.default_rng(1)

    def move(payoff):
        return float(payoff) * (1.0 + size * random.choice([-1.0, 1.0]))

    graph = tree.tree.graph.copy()
    for _, attributes in graph.nodes(data=True):
        if "payoffs" in attributes:
            first = move(attributes["payoffs"][0])
            attributes["payoffs"] = (first, -first)
    return Game.from_tree(graph)


def trajectory(number, game=None):
    """Return what a question's method goes through in a few iterations, and where it ends."""
    pose, method = QUESTIONS[number]
    limits = {} if method in EXACT else {"tol": 0.0, "max_iterations": 40}
    solution = solve(pose(perturbed_game() if game is None else game), method, **limits)
    iterative = method not in EXACT
    return {
        "method": method,
        "iterations": solution.history.iterations.tolist() if iterative else [],
        "errors": solution.history.exploitability.tolist() if iterative else [],
        "objective": solution.objective,
        "plan": np.concatenate([strategy.plan for strategy in solution.profile]).tolist() if iterative else [],
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["store"]:
        sys.path.insert(0, str(Path(__file__).parent))
        found = [trajectory(number) for number in range(len(QUESTIONS))]
        text = ",\n".join(json.dumps(each) for each in found)
        (Path(__file__).parents[1] / "stored" / "trajectories.json").write_text(f"[\n{text}\n]\n")
    else:
        print(json.dumps(list(answers(shared_games(), range(int(sys.argv[1]))))))
