"""Independent answers: brute force over pure strategies, plain recursion, a textbook CFR, and OpenSpiel."""

import random
from collections import defaultdict

import numpy as np
import pytest
import scipy.optimize
from effort import either, examples, few, thorough
from hypothesis import assume, given
from hypothesis import strategies as st
from random_trees import (
    Chance,
    Decision,
    Leaf,
    count_pure_strategies,
    expected,
    infosets,
    pure_strategies,
    random_behaviour,
    seeded_tree,
    to_game,
    trees,
)

from treeplex import (
    CFR,
    CHANCE,
    DCFR,
    TERMINAL,
    CFRPlus,
    Nash,
    PCFRPlus,
    Profile,
    Strategy,
    expected_payoffs,
    exploitability,
    load_game,
    nash_conv,
    solve,
)
from treeplex.seqform.evaluate import best_response_values

VALUE = 1e-8  # of two linear programs solved by two routes
ROUND_OFF = 1e-12
PLAN = 1e-10  # of plans after a few iterations, payoffs never tied

seeds = st.integers(0, 2**32 - 1)


def nested(rules, state=None):
    """Write a game's rules out as nested data."""
    state = rules.initial_state() if state is None else state
    who = rules.player(state)
    if who == TERMINAL:
        return Leaf(tuple(rules.payoffs(state)))
    if who == CHANCE:
        return Chance(
            tuple((label, p, nested(rules, rules.child(state, label))) for label, p in rules.chance_outcomes(state))
        )
    moves = tuple((label, nested(rules, rules.child(state, label))) for label in rules.actions(state))
    return Decision(who, rules.infoset(state), moves)


# Brute force


def matrix_value(payoffs: np.ndarray) -> float:
    """Return the value of a matrix game to the player of the rows."""
    rows, columns = payoffs.shape
    solved = scipy.optimize.linprog(
        c=np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-payoffs.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
        method="highs",
    )
    assert solved.success
    return -solved.fun


def normal_form(root) -> np.ndarray:
    """Return player 0's payoffs for every pair of reduced pure strategies, by recursion over the tree."""
    own, other = (pure_strategies(root, player) for player in (0, 1))
    return np.array([[float(expected(root, [row, column])[0]) for column in other] for row in own])


@examples(60)
@given(trees(depth=4, size=12))
def test_the_value_is_that_of_the_normal_form(root):
    assume(count_pure_strategies(root, 0) * count_pure_strategies(root, 1) <= 400)
    solution = solve(Nash(to_game(root)), "highs-simplex")
    assert solution.value == pytest.approx(matrix_value(normal_form(root)), abs=VALUE)


def test_the_value_of_kuhn_is_that_of_its_normal_form():
    root = nested(load_game("kuhn").rules)
    assert [count_pure_strategies(root, player) for player in (0, 1)] == [27, 64]
    assert matrix_value(normal_form(root)) == pytest.approx(-1 / 18, abs=VALUE)


@pytest.mark.parametrize("num_players", [1, 2, 3])
def test_best_responses_are_the_best_pure_strategies(num_players):
    @given(trees(num_players=num_players, zero_sum=False, depth=4, size=14), seeds)
    def check(root, seed):
        assume(all(count_pure_strategies(root, player) <= 200 for player in range(num_players)))
        game = to_game(root)
        source = random.Random(seed)
        behaviours = [random_behaviour(root, player, source) for player in range(num_players)]
        profile = Profile([Strategy.from_dict(game, player, one) for player, one in enumerate(behaviours)])
        values = best_response_values(game, profile)
        payoffs = expected(root, behaviours)
        gains = 0.0
        for player in range(num_players):
            best = max(
                float(expected(root, [*behaviours[:player], pure, *behaviours[player + 1 :]])[player])
                for pure in pure_strategies(root, player)
            )
            assert values[player] == pytest.approx(best, abs=ROUND_OFF)
            gains += best - float(payoffs[player])
        assert nash_conv(game, profile) == pytest.approx(gains, abs=ROUND_OFF)

    check()


def test_kuhn_best_responses_by_brute_force():
    game = load_game("kuhn")
    root = nested(game.rules)
    for seed in range(5):
        source = random.Random(seed)
        behaviours = [random_behaviour(root, player, source) for player in (0, 1)]
        profile = Profile([Strategy.from_dict(game, player, one) for player, one in enumerate(behaviours)])
        best = [
            max(expected(root, [pure, behaviours[1]])[0] for pure in pure_strategies(root, 0)),
            max(expected(root, [behaviours[0], pure])[1] for pure in pure_strategies(root, 1)),
        ]
        np.testing.assert_allclose(best_response_values(game, profile), np.array(best, dtype=float), atol=ROUND_OFF)


@pytest.mark.parametrize("spec", ["kuhn:players=3", "leduc", "goofspiel:cards=3", "liars_dice:players=3,sides=2"])
def test_expected_payoffs_by_recursion(spec):
    game = load_game(spec)
    root = nested(game.rules)
    source = random.Random(2)
    behaviours = [random_behaviour(root, player, source) for player in range(game.num_players)]
    profile = Profile([Strategy.from_dict(game, player, one) for player, one in enumerate(behaviours)])
    np.testing.assert_allclose(
        expected_payoffs(game, profile), np.array(expected(root, behaviours), dtype=float), atol=ROUND_OFF
    )


# Counterfactual regret minimisation as the papers write it


class TextbookCFR:
    """CFR and its descendants by recursion over histories, with dictionaries.

    An update of a player: regrets become ``max(discount · R + r, floor)`` with ``r`` the counterfactual regrets, the
    next behaviour is proportional to ``(R + prediction · r)⁺``, and the plan from before the update enters the average.
    """

    def __init__(self, root, num_players, discount, floor=-np.inf, prediction=0.0, power=0.0, alternating=True):
        self.root, self.num_players, self.discount = root, num_players, discount
        self.floor, self.prediction, self.power, self.alternating = floor, prediction, power, alternating
        self.infosets = [infosets(root, player) for player in range(num_players)]
        self.behaviour = [
            {label: dict.fromkeys(actions, 1 / len(actions)) for label, (_, actions) in found.items()}
            for found in self.infosets
        ]
        self.regrets = [defaultdict(float) for _ in range(num_players)]
        self.sums = [defaultdict(float) for _ in range(num_players)]
        self.iteration = 0

    def counterfactual(self, player):
        """Return the counterfactual value of each of a player's actions, others and chance multiplied in."""
        values = defaultdict(float)

        def visit(node, reach):
            if isinstance(node, Leaf):
                return reach * node.payoffs[player]
            if isinstance(node, Chance):
                return sum(visit(child, reach * float(p)) for _, p, child in node.outcomes)
            played = self.behaviour[node.player][node.infoset]
            if node.player != player:
                return sum(visit(child, reach * played[label]) for label, child in node.moves)
            total = 0.0
            for label, child in node.moves:
                below = visit(child, reach)
                values[node.infoset, label] += below
                total += played[label] * below
            return total

        visit(self.root, 1.0)
        return values

    def plan(self, player):
        plan = {}
        for label, (last, actions) in self.infosets[player].items():
            for action in actions:
                plan[label, action] = (1.0 if last is None else plan[last]) * self.behaviour[player][label][action]
        return plan

    def update(self, player, values):
        for sequence, probability in self.plan(player).items():
            self.sums[player][sequence] += self.iteration**self.power * probability
        behaviour = {}
        for label, (_, actions) in self.infosets[player].items():
            value = sum(self.behaviour[player][label][action] * values[label, action] for action in actions)
            weights = {}
            for action in actions:
                regret = self.regrets[player][label, action]
                instant = values[label, action] - value
                regret = max(self.discount(self.iteration, regret) * regret + instant, self.floor)
                self.regrets[player][label, action] = regret
                weights[action] = max(regret + self.prediction * instant, 0.0)
            total = sum(weights.values())
            behaviour[label] = {action: w / total if total else 1 / len(actions) for action, w in weights.items()}
        self.behaviour[player] = behaviour

    def run(self, iterations):
        for _ in range(iterations):
            self.iteration += 1
            if self.alternating:
                for player in range(self.num_players):
                    self.update(player, self.counterfactual(player))
            else:
                values = [self.counterfactual(player) for player in range(self.num_players)]
                for player in range(self.num_players):
                    self.update(player, values[player])

    def average(self, player):
        total = sum((t + 1) ** self.power for t in range(self.iteration))
        return {sequence: weight / total for sequence, weight in self.sums[player].items()}


def no_discount(iteration, regret):
    return 1.0


def dcfr_discount(alpha, beta):
    def discount(iteration, regret):
        # The paper discounts after iteration t, by t: before iteration t that is by t − 1.
        if iteration == 1:
            return 1.0  # there is nothing yet to discount
        weight = float(iteration - 1) ** (alpha if regret > 0 else beta)
        return weight / (weight + 1.0)

    return discount


TEXTBOOK = {
    "cfr": (CFR(), {"discount": no_discount}),
    "cfr, simultaneous": (CFR(updates="simultaneous"), {"discount": no_discount, "alternating": False}),
    "cfr, linear": (CFR(averaging="linear"), {"discount": no_discount, "power": 1.0}),
    "cfr, 2.5": (CFR(averaging=2.5), {"discount": no_discount, "power": 2.5}),
    "cfr+": (CFRPlus(), {"discount": no_discount, "floor": 0.0, "power": 1.0}),
    "cfr+, uniform, simultaneous": (
        CFRPlus(updates="simultaneous", averaging="uniform"),
        {"discount": no_discount, "floor": 0.0, "alternating": False},
    ),
    "dcfr": (DCFR(), {"discount": dcfr_discount(1.5, 0.0), "power": 2.0}),
    "dcfr, 1, -1": (
        DCFR(alpha=1.0, beta=-1.0, averaging="cubic", updates="simultaneous"),
        {"discount": dcfr_discount(1.0, -1.0), "power": 3.0, "alternating": False},
    ),
    "pcfr+": (PCFRPlus(), {"discount": no_discount, "floor": 0.0, "prediction": 1.0, "power": 2.0}),
    "pcfr+, quartic": (
        PCFRPlus(averaging="quartic"),
        {"discount": no_discount, "floor": 0.0, "prediction": 1.0, "power": 4.0},
    ),
}


def assert_plans(form, plans, textbook):
    for player, plan in enumerate(plans):
        treeplex = form.treeplexes[player]
        want = [1.0, *(textbook(player)[treeplex.sequence_label(s)] for s in range(1, treeplex.num_sequences))]
        np.testing.assert_allclose(plan, want, rtol=0, atol=PLAN)


@few
@pytest.mark.parametrize("iterations", [1, pytest.param(2, marks=thorough), 9])
@pytest.mark.parametrize("num_players", [2, 3])
@pytest.mark.parametrize("name", TEXTBOOK)
def test_methods_follow_the_textbook(name, num_players, iterations):
    method, options = TEXTBOOK[name]
    compared, seeds = 0, either(6, 12)
    for seed in range(seeds):
        root = seeded_tree(seed, num_players=num_players)
        if sum(len(infosets(root, player)) for player in range(num_players)) < 5:
            continue
        compared += 1
        textbook = TextbookCFR(root, num_players, **options)
        textbook.run(iterations)
        game = to_game(root)
        solution = solve(Nash(game), method, tol=0, max_iterations=iterations)
        assert solution.iterations == iterations
        assert_plans(game.sequence_form, solution.profile.plans, textbook.average)
    assert compared >= seeds / 2


def test_the_last_iterate_follows_the_textbook():
    for seed in range(6):
        root = seeded_tree(seed)
        textbook = TextbookCFR(root, 2, no_discount, floor=0.0)
        textbook.run(7)
        game = to_game(root)
        solution = solve(Nash(game), CFRPlus(iterate="last"), tol=0, max_iterations=7)
        assert_plans(game.sequence_form, solution.profile.plans, textbook.plan)


# OpenSpiel


@pytest.fixture(scope="module")
def spiel():
    return pytest.importorskip("pyspiel")


def by_information_state(game, spiel, name):
    """Return by OpenSpiel's information state our player, infoset and action by action: both games walked at once."""
    theirs = spiel.load_game(name)
    found = {}
    stack = [(game.rules.initial_state(), theirs.new_initial_state())]
    while stack:
        state, other = stack.pop()
        mover = game.rules.player(state)
        if mover == TERMINAL:
            continue
        if mover == CHANCE:
            labels = [label for label, _ in game.rules.chance_outcomes(state)]
            actions = [action for action, _ in other.chance_outcomes()]
        else:
            labels, actions = game.rules.actions(state), other.legal_actions()
            entry = (mover, game.rules.infoset(state), dict(zip(actions, labels, strict=True)))
            assert found.setdefault(other.information_state_string(), entry) == entry
        stack += [
            (game.rules.child(state, label), other.child(action)) for label, action in zip(labels, actions, strict=True)
        ]
    return theirs, found


GAMES = {"kuhn": "kuhn_poker", "leduc": "leduc_poker"}


def random_tabular_policy(spiel, theirs, found, game, seed):
    """Return the same random policy for OpenSpiel and for us."""
    source = random.Random(seed)
    tables = {}
    ours = [{}, {}]
    for key in sorted(found):
        player, label, names = found[key]
        weights = [source.random() * (source.random() > 0.3) + 1e-3 for _ in names]
        tables[key] = [(action, weight / sum(weights)) for action, weight in zip(names, weights, strict=True)]
        ours[player][label] = {names[action]: probability for action, probability in tables[key]}
    profile = Profile([Strategy.from_dict(game, player, one) for player, one in enumerate(ours)])
    return spiel.TabularPolicy(tables), profile


@pytest.mark.parametrize("spec", GAMES)
def test_openspiel_agrees_on_exploitability(spec, spiel):
    game = load_game(spec)
    theirs, found = by_information_state(game, spiel, GAMES[spec])
    assert len(found) == sum(treeplex.num_infosets for treeplex in game.sequence_form.treeplexes)
    for seed in range(3):
        policy, profile = random_tabular_policy(spiel, theirs, found, game, seed)
        assert nash_conv(game, profile) == pytest.approx(spiel.nash_conv(theirs, policy), abs=1e-10)
        assert exploitability(game, profile) == pytest.approx(spiel.exploitability(theirs, policy), abs=1e-10)
        values = spiel.expected_returns(theirs.new_initial_state(), policy, -1, True)
        np.testing.assert_allclose(expected_payoffs(game, profile), values, atol=1e-10)
    uniform = spiel.UniformRandomPolicy(theirs)
    assert nash_conv(game, Profile.uniform(game)) == pytest.approx(spiel.nash_conv(theirs, uniform), abs=1e-10)


def test_openspiel_walks_the_same_50_updates_of_cfr(spiel):
    game = load_game("kuhn")
    theirs, found = by_information_state(game, spiel, "kuhn_poker")
    for make, method in ((spiel.CFRSolver, CFR()), (spiel.CFRPlusSolver, CFRPlus())):
        solver = make(theirs)
        solution = None
        for iteration in range(1, 51):
            solver.evaluate_and_update_policy()
            solution = solve(Nash(game), method, tol=0, max_iterations=1, start=solution)
            assert solution.iterations == iteration
            policy = solver.average_policy()
            for key, (player, label, names) in found.items():
                strategy = solution.profile[player]
                theirs_here = {names[action]: p for action, p in policy.get_state_policy(key)}
                reach = strategy.plan[strategy.treeplex.parents[strategy.treeplex.infoset_numbers[label]]]
                if reach > 1e-6:
                    assert strategy[label] == pytest.approx(theirs_here, abs=1e-9), (method.name, iteration, label)
            assert solution.exploitability == pytest.approx(spiel.exploitability(theirs, policy), abs=1e-9)


@pytest.mark.parametrize("spec", GAMES)
def test_openspiel_agrees_on_the_value(spec, spiel, monkeypatch):
    sequence_form_lp = pytest.importorskip("open_spiel.python.algorithms.sequence_form_lp")
    program = sequence_form_lp.lp_solver.LinearProgram
    plain = program.solve  # its default options suit a solver that is not everywhere
    monkeypatch.setattr(program, "solve", lambda self, solver: plain(self, solver="HIGHS", solver_kwargs={}))
    value, other, _, _ = sequence_form_lp.solve_zero_sum_game(spiel.load_game(GAMES[spec]))
    solution = solve(Nash(load_game(spec)), "highs-simplex")
    assert solution.value == pytest.approx(value, abs=1e-6)
    assert solution.value == pytest.approx(-other, abs=1e-6)
