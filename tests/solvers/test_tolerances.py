"""Default tolerances follow what play turns on, not penalties; fractions and scipy are the judges.

The unit of tolerances is derived in docs/theory/certificates.md.
"""

import random
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from effort import soaked
from random_trees import Chance, Decision, Leaf, grow, to_game
from scipy.optimize import linprog

from treeplex import Game, Nash, SequenceForm, Status, load_game, solve
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.problems import EpsilonNash
from treeplex.seqform.public_form import PublicForm

SUCCESS = (Status.OPTIMAL, Status.CONVERGED)


def matrix(payoffs, *others):
    return Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs, *others))


def penalised_tree(seed):
    """Return a random tree with payoffs from -4 to 4, some of them replaced by penalties for either player."""
    source = random.Random(seed)
    often = source.choice((0.03, 0.1, 0.3))

    def payoffs():
        paid = Fraction(source.randint(-8, 8), 2)
        if source.random() < often:
            paid = source.choice((-1, 1)) * Fraction(10) ** source.randint(6, 12)
        return (paid, -paid)

    return grow(source.randint, payoffs, 2, 5, 24)


def ordinary(root):
    """Return the largest payoff that is no penalty."""
    if isinstance(root, Leaf):
        return abs(root.payoffs[0]) if abs(root.payoffs[0]) < 100 else 0
    return max(ordinary(edge[-1]) for edge in (root.outcomes if isinstance(root, Chance) else root.moves))


def unavoidable(game):
    """Return the most that a player loses who minimises its losses, by scipy: a program between losses alone."""
    form, worst = game.sequence_form, 0.0
    for player in (0, 1):
        own, other = form.treeplexes[player], form.treeplexes[1 - player]
        leaves = form.leaves
        losses = np.zeros((own.num_sequences, other.num_sequences))
        places = leaves.sequences[:, player], leaves.sequences[:, 1 - player]
        np.add.at(losses, places, leaves.chance * np.maximum(-leaves.payoffs[:, player], 0.0))
        # min over x of f·q with F'q >= losses' x, in units of the largest loss
        size = losses.max() or 1.0
        cost = np.concatenate([np.zeros(own.num_sequences), other.e])
        rows = np.hstack([losses.T / size, -other.E.toarray().T])
        equal = np.hstack([own.E.toarray(), np.zeros((own.E.shape[0], len(other.e)))])
        bounds = [(0, None)] * own.num_sequences + [(None, None)] * len(other.e)
        found = linprog(cost, rows, np.zeros(len(rows)), equal, own.e, bounds)
        worst = max(worst, found.fun * size)
    return worst


@pytest.mark.soak
@pytest.mark.parametrize("method", ["highs", "highs-ipm", "cfr+", "dcfr", "pcfr+", "cvxpy"])
def test_no_penalty_makes_a_wrong_value_count_as_found(method):
    for seed in range(soaked(3 if method in ("highs", "cfr+") else 1)):
        root = penalised_tree(seed)
        game = to_game(root)
        judge = solve(Nash(game), "rational")
        truth = float(judge.exact.value)
        found = solve(Nash(game), method, max_iterations=300 if "cfr" in method else None)
        allowed = max(float(ordinary(root)), 100.0 * len(game.sequence_form.leaves) * unavoidable(game) + 1e-6)
        relative = found.method.default_tolerance
        if ordinary(root):
            assert found.tolerance <= relative * min(game.payoff_scale, max(allowed, 1e-13 * game.payoff_scale)), seed
        if found.status in SUCCESS:
            error = 2.0 * max(found.tolerance, 1e-12 * game.stakes) + 1e-15 * abs(truth)
            assert abs(float(found.value) - truth) <= error, (seed, found.value, truth)
        room = 1e-15 * game.payoff_scale
        assert found.lower <= found.upper
        assert found.lower - room <= truth <= found.upper + room, (seed, found.lower, truth, found.upper)


@pytest.mark.parametrize("penalty", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("whose", [1.0, -1.0])
def test_stakes_leave_penalties_out(penalty, whose):
    away = whose * penalty
    # A row or a column that nobody has to play, beside matching pennies; by hand, 3 is the largest payoff that is left.
    payoffs = np.array([[1.0, -1.0, 3.0], [-1.0, 1.0, away], [-away, -3.0, 2.0]])
    if whose < 0:
        payoffs[2, 0] = 2.0
    else:
        payoffs[1, 2], payoffs[2, 0] = penalty, 0.5
    assert matrix(payoffs).stakes == 3.0
    assert Game.from_tree(below_chance(payoffs)).stakes == 3.0
    assert matrix(payoffs / 8.0).stakes == 3.0 / 8.0
    assert matrix(0.0 * payoffs).stakes == 1.0


def below_chance(payoffs):
    """Return a tree: chance decides whether the row is chosen in the matrix or both get nothing."""
    tree = nx.DiGraph()
    tree.add_node("root", player=-1)
    tree.add_node("out", payoffs=(0, 0))
    tree.add_node("row", player=0, infoset="row")
    tree.add_edge("root", "out", action="out", prob=Fraction(1, 4))
    tree.add_edge("root", "row", action="in", prob=Fraction(3, 4))
    for one, row in enumerate(payoffs):
        tree.add_node(one, player=1, infoset="column")
        tree.add_edge("row", one, action=f"r{one}")
        for two, paid in enumerate(row):
            tree.add_node((one, two), payoffs=(float(paid), -float(paid)))
            tree.add_edge(one, (one, two), action=f"c{two}")
    return tree


def test_a_large_payoff_that_nobody_can_avoid_counts_by_its_probability():
    def game(probability):
        flood = Leaf((Fraction(-(10**9)), Fraction(10**9)))
        play = Decision(0, "row", (("a", Leaf((1, -1))), ("b", Leaf((2, -2)))))
        return to_game(Chance((("flood", probability, flood), ("play", 1 - probability, play))))

    assert game(Fraction(1, 2)).stakes == 1e9
    assert game(Fraction(1, 1000)).stakes == pytest.approx(1e6)
    assert game(Fraction(1, 10**8)).stakes == pytest.approx(10.0)  # 1e9 at 1e-8
    assert solve(Nash(game(Fraction(1, 10**8)))).value == pytest.approx(-10.0 + 2.0, rel=1e-6)


@pytest.mark.parametrize(
    "spec",
    ["kuhn", "leduc", "liars_dice", "goofspiel", "transit:width=4", "rps", "kuhn:players=3", "coin", "gadget_trap_1"],
)
def test_ordinary_games_keep_the_largest_payoff_as_their_unit(spec):
    game = load_game(spec)
    assert game.stakes == game.payoff_scale


def test_penalties_in_public_forms_flows_and_games_of_several_players():
    rules = PennyRules()
    form = PublicForm.from_rules(rules)
    game = Game("pennies", rules=rules, public_form=form)
    assert game.payoff_scale == 1e9
    assert game.stakes <= 100.0
    found = solve(Nash(game), "dcfr", max_iterations=2000)
    assert found.status not in SUCCESS or abs(found.value) < 0.01 * game.stakes
    town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank")])
    units, thieves = [Unit(base="mill")], [Attacker(["gate"], {"bank": 2.0})]
    patrol = PatrolGame(town, steps=3, units=units, attackers=thieves, meeting=-1e9)
    assert patrol.stakes <= 200.0
    general = matrix([[3.0, 0.0], [5.0, -1e9]], [[3.0, 5.0], [0.0, -1e9]])
    assert general.stakes == 5.0
    assert solve(EpsilonNash(general), "dcfr").tolerance == pytest.approx(5e-4)


class PennyRules:
    """Kuhn's smallest relative: a card each, player 0 stops or goes on, player 1 calls, folds, or is fined."""

    num_players = 2

    def initial_state(self):
        return ()

    def player(self, state):
        if not state:
            return -1
        return 0 if len(state) == 1 else -2 if state[1] == "stop" or len(state) == 3 else 1

    def chance_outcomes(self, state):
        return [((one, two), Fraction(1, 6)) for one in "JQK" for two in "JQK" if one != two]

    def actions(self, state):
        return ("stop", "go") if len(state) == 1 else ("call", "fold", "cheat")

    def child(self, state, action):
        return (*state, action)

    def infoset(self, state):
        return (state[0][len(state) - 1], *state[1:])

    def payoffs(self, state):
        better = 1 if "JQK".index(state[0][0]) > "JQK".index(state[0][1]) else -1
        paid = 0 if state[1] == "stop" else {"call": 2 * better, "fold": 1, "cheat": 10**9}[state[2]]
        return (paid, -paid)

    def private_information(self, state, player):
        return state[0][player] if state else ""

    def public_history(self, state):
        return tuple(state[1:])

    def shows(self, state):
        return (0, 1)


def test_highs_solves_a_game_with_penalties_of_both_players():
    # By hand: the second row and column guarantee 1 each, whatever the penalties are.
    payoffs = np.array([[0.0, -2.0, 1e12], [2.0, 1.0, 4.0], [3.0, -1e12, -4.0]])
    found = solve(Nash(matrix(payoffs)))
    assert found.status is Status.OPTIMAL
    assert float(found.value) == pytest.approx(1.0, abs=1e-8)
    assert found.tolerance == pytest.approx(4e-8)


@pytest.mark.parametrize("method", ["cfr+", "dcfr", "pcfr+", "ccfr", "cvxpy"])
def test_methods_in_floats_do_not_claim_what_a_penalty_hides(method):
    payoffs = np.array([[0.0, -2.0, 4.0], [2.0, 1.0, 4.0], [3.0, -1e9, -4.0]])
    found = solve(Nash(matrix(payoffs)), method, max_iterations=500 if method != "cvxpy" else None)
    assert found.status not in SUCCESS or abs(found.value - 1.0) < 0.01
    assert found.lower <= 1.0 <= found.upper
