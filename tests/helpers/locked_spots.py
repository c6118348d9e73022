"""Random spots of hold'em with random locks, and what holds of every answer under hard constraints."""

from dataclasses import replace

import numpy as np
from constrained_cases import random_plan
from random_trees import seeded_tree, to_game

from treeplex import ConstrainedNash, Status, Strategy, solve
from treeplex.models.constraints import LinearConstraint
from treeplex.models.games.holdem import HoldemSpot, Lock
from treeplex.models.games.holdem.bets import SEATS
from treeplex.models.games.holdem.cards import CARDS, HAND_NAMES
from treeplex.seqform.errors import InvalidConstraintError, InvalidGameError

BETS = [{"bet": "a", "raise": ""}, {"bet": "a", "raise": "a"}, {"bet": "60%, a", "raise": "2.5x"}]


def drawn_problem(seed, cards=5, narrow=False):
    """Return an equilibrium of a few hands under one to three locks on a board of so many cards.

    With ``narrow`` some locks are of single hands, or follow a strategy. ``None`` if the locks do not fit.
    """
    random = np.random.default_rng(seed)
    deck = random.permutation(CARDS).tolist()
    board, deck = "".join(deck[:cards]), deck[cards:]
    pool = deck[: int(random.integers(5, 12))]  # few cards, so that hands block each other and tie
    ranges = []
    for _ in SEATS:
        hands = {"".join(sorted(random.choice(pool, 2, replace=False))) for _ in range(random.integers(1, 5))}
        ranges.append(", ".join(f"{hand}:{random.choice([1.0, 0.5, 0.2]):g}" for hand in sorted(hands)))
    pot, stack = int(random.choice([10, 100, 1000])), int(random.choice([5, 50, 300]))
    try:
        spot = HoldemSpot(board, ranges, pot, stack, bets=BETS[random.integers(len(BETS))])
        locks = [drawn_lock(spot, random) for _ in range(random.integers(1, 4))]
        if narrow:
            locks = [narrowed(lock, spot, random) for lock in locks]
        spot = replace(spot, bets=None, locks=locks)
        return ConstrainedNash(spot.game, spot.constraints) if spot.constraints else None
    except (InvalidConstraintError, InvalidGameError):
        return None


def narrowed(lock, spot, random):
    """Return a lock as it is, or one of a hand of the range alone, or of all that a drawn strategy plays there."""
    player, kind = SEATS.index(lock["seat"]), random.integers(4)
    if kind == 0:
        return lock | {"hands": HAND_NAMES[random.choice(spot.hands[player])]}
    if kind == 1:
        treeplex = spot.game.sequence_form.treeplexes[player]
        played = Strategy.from_behaviour(spot.game, player, random_plan(treeplex, random))
        return Lock(lock["seat"], played, lock["at"])
    return lock


def drawn_lock(spot, random):
    """Return a lock of an action at a random node, of each hand or on average."""
    form = spot.public_form
    node = int(random.choice(np.flatnonzero(form.players >= 0)))
    action = str(form.actions[int(random.choice(form.children[node]))])
    number = random.choice([0.0, 0.1, 0.25, 0.5, 0.6, 1.0])
    sense = random.choice(["", "<= ", ">= "])
    said = {"strategy" if random.random() < 0.5 else "frequency": {action: f"{sense}{number:g}"}}
    return {"seat": SEATS[form.players[node]], "at": ", ".join(map(str, form.path(node))), **said}


def drawn_rows(seed):
    """Return an equilibrium of a random tree under rows that a random plan meets; ``None`` if none were drawn."""
    game, random = to_game(seeded_tree(seed)), np.random.default_rng(seed)
    rows = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        met = treeplex.plan(random_plan(treeplex, random)) if treeplex.num_infosets else None
        for number in range(0 if met is None else random.integers(0, 3)):
            name, sense = f"{player}/{number}", str(random.choice(["<=", ">="]))
            sequence = int(random.integers(1, treeplex.num_sequences))
            kind = random.integers(3)
            if kind == 0:
                vector = random.normal(size=treeplex.num_sequences).round(3)
                terms, bound = dict(enumerate(vector.tolist())), float(vector @ met + random.choice([0.0, 0.05, 1.0]))
                rows.append(LinearConstraint(player, terms, bound, name))
            elif kind == 1:
                rows.append(LinearConstraint(player, {sequence: 1}, float(met[sequence]), name, sense))
            else:
                parent = int(treeplex.parents[treeplex.sequence_infosets[sequence]])
                share = float(random.choice([0.0, 0.25, 1.0]))
                terms = {sequence: 1, parent: -share} if parent else {sequence: 1}
                rows.append(LinearConstraint(player, terms, 0 if parent else share, name, sense))
    return ConstrainedNash(game, rows) if rows else None


def assert_proven(problem, method, tol, iterations):
    """Hold an answer by iterations against the optimum by linear programming; return both, or ``None`` without one."""
    exact, scale = solve(problem, "highs"), problem.game.payoff_scale
    found = solve(problem, method, tol=tol, max_iterations=iterations)
    if exact.status is Status.INFEASIBLE:
        assert not found.status.is_success
        return None
    if exact.status is not Status.OPTIMAL:
        return None
    assert found.status is not Status.INFEASIBLE
    assert found.lower <= found.upper
    near = 1e-8 * scale
    assert found.lower - near <= exact.upper
    assert exact.lower <= found.upper + near
    if found.status.is_success:
        assert found.gap <= tol
        for one in problem.constraints:
            assert isinstance(one, LinearConstraint)
            size = max(np.abs(one.coefficients).max(initial=0.0), abs(one.limit))
            assert one.value(found.profile[one.player].plan) <= 1e-9 * size
    return found, exact
