"""The gadget traps: which exploiting actions a restricted Nash response needs, and which ones two gadgets find.

Everything is computed here from the rules and from the definitions: no opponent model or gadget of the library is used.
"""

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from effort import few
from scipy.optimize import linprog

from treeplex import CHANCE, TERMINAL, Game, Nash, Strategy, exploitability, load_game, solve
from treeplex.models.games import Coin, GadgetTrap1, GadgetTrap2

TRAPS = [GadgetTrap1(), GadgetTrap2()]
ACTIONS = ["a1", "a2", "a3", "a4", "a5"]
GAINS = [5, 10, 15, 20, 25]
LOSSES = [0, 4, 9, 15, 23]
BREAKPOINTS = [Fraction(4, 9), Fraction(1, 2), Fraction(6, 11), Fraction(8, 13)]
#: What each gadget counts as the exploitability of each action, and where the response to the model leaves a1 for a5.
COUNTED = {
    ("gadget_trap_1", "resolving"): ([0, 18, 31, 41, 50], Fraction(5, 7)),
    ("gadget_trap_1", "max-margin"): ([0, 14, 22, 26, 27], Fraction(27, 47)),
    ("gadget_trap_2", "resolving"): ([0, 7, 16, Fraction(55, 2), 24], Fraction(6, 11)),
    ("gadget_trap_2", "max-margin"): ([0, Fraction(7, 2), 8, 14, 12], Fraction(3, 8)),
}
MARGIN = 1e-7


class Subgame:
    """The subgame that player 0's only decision roots, under a blueprint that is one action.

    The opponent's infosets at its root are told apart by its last infoset and action. All numbers are exact.
    """

    def __init__(self, rules, blueprint):
        #: Of each infoset of the opponent at the root: chance's weight, and its weight times the payoff of each action.
        self.weights, self.payoffs = {}, {}
        #: What each action earns against the model.
        self.gains = None
        stack = [(rules.initial_state(), Fraction(1), Fraction(1), None)]
        while stack:
            state, chance, played, infoset = stack.pop()
            mover = rules.player(state)
            if mover == CHANCE:
                for outcome, share in rules.chance_outcomes(state):
                    stack.append((rules.child(state, outcome), chance * share, played, infoset))
            elif mover == 1:
                label = rules.infoset(state)
                for action in rules.actions(state):
                    share = rules.model.get(label, {}).get(action, Fraction(0))
                    stack.append((rules.child(state, action), chance, played * share, (label, action)))
            else:
                self.actions = list(rules.actions(state))
                leaves = [rules.child(state, action) for action in self.actions]
                assert all(rules.player(leaf) == TERMINAL for leaf in leaves)
                payoffs = np.array([chance * rules.payoffs(leaf)[0] for leaf in leaves])
                self.weights[infoset] = self.weights.get(infoset, 0) + chance
                self.payoffs[infoset] = self.payoffs.get(infoset, 0) + payoffs
                self.gains = (0 if self.gains is None else self.gains) + played * payoffs
        #: What the blueprint pays at each infoset: the opponent's counterfactual value with its sign turned.
        self.kept = {infoset: payoffs[self.actions.index(blueprint)] for infoset, payoffs in self.payoffs.items()}

    def changes(self, kept=None):
        """Return by how much each action is better than what is kept, a row an infoset."""
        kept = self.kept if kept is None else kept
        return np.array([payoffs - kept[infoset] for infoset, payoffs in self.payoffs.items()])


@dataclass
class Gadget:
    """What a gadget makes of a subgame: the opponent gains where it can at every infoset, or at one that it chooses."""

    kind: str
    gains: np.ndarray
    changes: np.ndarray

    def measure(self, mixture):
        """Return a mixture's gain and what the gadget counts as its exploitability; exact for fractions."""
        changes = self.changes @ mixture
        counted = sum(min(change, 0) for change in changes) if self.kind == "resolving" else min(changes)
        return self.gains @ mixture, -counted

    def program(self, p):
        """Return c, A_ub, b_ub, A_eq of the restricted Nash response: minimise c over mixtures and values."""
        changes, gains = self.changes.astype(float), self.gains.astype(float)
        infosets, actions = changes.shape
        if self.kind == "resolving":  # the value of each infoset: at most its change, and at most 0
            values = infosets
            matrix = np.block([[-changes, np.eye(infosets)], [np.zeros_like(changes), np.eye(infosets)]])
        else:  # one value: at most the change of each infoset
            values = 1
            matrix = np.hstack([-changes, np.ones((infosets, 1))])
        cost = -np.concatenate([p * gains, np.full(values, 1 - p)])
        return cost, matrix, np.zeros(len(matrix)), np.concatenate([np.ones(actions), np.zeros(values)])[None, :]


class WholeGame:
    """The restricted Nash response in the whole game, by its sequence form: max p xᵀAŷ + (1−p) fᵀq, Fᵀq ≤ Aᵀx."""

    def __init__(self, rules):
        game = Game(rules.name, rules=rules)
        self.form = game.sequence_form
        model = Strategy.from_dict(game, 1, rules.model).plan
        self.against_model = self.form.A @ model
        self.exact = np.full(self.form.A.shape, Fraction(0))
        for pair, payoff in game.exact_sequence_form.exact_payoffs().items():
            self.exact[pair] = payoff
        self.model = np.array([Fraction(realized) for realized in model.tolist()])  # zeros and ones

    def measure(self, mixture):
        """Return gain and exploitability of a mixture, exactly."""
        plan = np.array([Fraction(1), *mixture])
        pays = plan @ self.exact
        worst, treeplex = pays[0], self.form.treeplexes[1]
        for infoset in range(treeplex.num_infosets):  # each of them is one of the opponent's first
            assert treeplex.parents[infoset] == 0
            first, last = treeplex.offsets[infoset : infoset + 2]
            worst += min(pays[first:last])
        return pays @ self.model, -worst

    def program(self, p):
        form = self.form
        A, F = form.A.toarray(), form.F.toarray()
        cost = -np.concatenate([p * self.against_model, (1 - p) * form.f])[1:]
        # The empty sequence of player 0 is realised with 1, and pays nothing in these games.
        assert not A[0].any()
        assert not self.against_model[0]
        matrix = np.hstack([-A.T, F.T])[:, 1:]
        rows = form.E.toarray()[1:, 1:]
        rows = np.hstack([rows, np.zeros((len(rows), len(form.f)))])
        return cost, matrix, np.zeros(len(matrix)), rows


def respond(method, p, objective=None, at_least=None):
    """Return player 0's optimal mixture, or the one that maximises another objective among nearly optimal ones."""
    cost, matrix, bounds, equality = method.program(p)
    if at_least is not None:
        matrix, bounds = np.vstack([matrix, cost]), np.append(bounds, -at_least)
        cost = np.zeros(len(cost))
        cost[: len(ACTIONS)] = -np.asarray(objective)
    limits = [(0, None)] * len(ACTIONS) + [(None, None)] * (len(cost) - len(ACTIONS))
    found = linprog(cost, A_ub=matrix, b_ub=bounds, A_eq=equality, b_eq=np.ones(1), bounds=limits, method="highs-ds")
    assert found.status == 0
    return found.x[: len(ACTIONS)], -found.fun


def pieces(method):
    """Return breakpoints of p and the mixture that is optimal on each interval between, all of them exact.

    The optimal value is a convex piecewise linear function of p: where the lines of two optimal mixtures meet above
    it, there is another piece between (Eisner and Severance 1976).
    """

    def exact(p):
        mixture = np.array([Fraction(share).limit_denominator(1000) for share in respond(method, float(p))[0].tolist()])
        assert sum(mixture) == 1
        return mixture

    def between(left, right):
        (gain, loss), (more_gain, more_loss) = method.measure(left), method.measure(right)
        if (gain, loss) == (more_gain, more_loss):
            return []
        slope = Fraction(more_loss - loss) / (more_gain - gain)
        p = slope / (1 + slope)
        middle = exact(p)
        gain_here, loss_here = method.measure(middle)
        if p * gain_here - (1 - p) * loss_here == p * gain - (1 - p) * loss:
            return [(p, right)]
        return between(left, middle) + between(middle, right)

    first, last = exact(Fraction(1, 1000)), exact(Fraction(999, 1000))
    found = between(first, last)
    return [p for p, _ in found], [first, *(mixture for _, mixture in found)]


def middles(breakpoints):
    ends = [Fraction(0), *breakpoints, Fraction(1)]
    return [float(left + right) / 2 for left, right in itertools.pairwise(ends)]


def check_only_optimum(method, p, mixture):
    """No other mixture is as good at p, and so (parametric programming) on the whole interval around it."""
    found, value = respond(method, p)
    np.testing.assert_allclose(found, mixture.astype(float), atol=1e-9)
    for action in range(len(ACTIONS)):
        for sign in (1.0, -1.0):
            objective = sign * np.eye(len(ACTIONS))[action]
            other, _ = respond(method, p, objective, value - MARGIN)
            np.testing.assert_allclose(other, found, atol=1e-5)


def gadget(rules, kind, kept=None):
    subgame = Subgame(rules, "a1")
    assert subgame.actions == ACTIONS
    return Gadget(kind, subgame.gains, subgame.changes(kept))


def pure(number):
    return np.array([Fraction(int(number == action)) for action in range(len(ACTIONS))])


@pytest.mark.parametrize("rules", TRAPS, ids=lambda rules: rules.name)
def test_the_equilibrium_is_safe_and_only_the_first_action(rules):
    game = load_game(rules.name)
    assert game.reference_value == 0
    solution = solve(Nash(game))
    assert solution.value == pytest.approx(0, abs=1e-9)
    check_only_optimum(WholeGame(rules), 0.0, pure(0))
    assert exploitability(game, solution.profile) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("rules", TRAPS, ids=lambda rules: rules.name)
def test_the_frontier_needs_all_five_actions(rules):
    method = WholeGame(rules)
    breakpoints, mixtures = pieces(method)
    assert breakpoints == BREAKPOINTS
    assert [list(mixture) for mixture in mixtures] == [list(pure(number)) for number in range(5)]
    assert [method.measure(mixture) for mixture in mixtures] == list(zip(GAINS, LOSSES, strict=True))
    for p, mixture in zip(middles(breakpoints), mixtures, strict=True):
        check_only_optimum(method, p, mixture)
    assert min(right - left for left, right in zip([0, *breakpoints], [*breakpoints, 1], strict=True)) > 0.04


@pytest.mark.parametrize(("name", "kind"), COUNTED)
def test_each_gadget_finds_two_actions(name, kind):
    method = gadget(load_game(name).rules, kind)
    counted, change = COUNTED[name, kind]
    assert [method.measure(pure(number)) for number in range(5)] == list(zip(GAINS, counted, strict=True))
    breakpoints, mixtures = pieces(method)
    assert breakpoints == [change]
    assert [list(mixture) for mixture in mixtures] == [list(pure(0)), list(pure(4))]
    for p, mixture in zip(middles(breakpoints), mixtures, strict=True):
        check_only_optimum(method, p, mixture)


@few
@pytest.mark.parametrize("rules", TRAPS, ids=lambda rules: rules.name)
@pytest.mark.parametrize("kind", ["whole game", "resolving", "max-margin"])
def test_the_same_actions_over_a_grid_of_p(rules, kind):
    method = WholeGame(rules) if kind == "whole game" else gadget(rules, kind)
    used = set()
    for p in np.linspace(0, 1, 98):  # which meets no breakpoint
        mixture, _ = respond(method, p)
        used |= {action for action, share in zip(ACTIONS, mixture, strict=True) if share > 1e-9}
    assert used == (set(ACTIONS) if kind == "whole game" else {"a1", "a5"})


@pytest.mark.parametrize(("name", "kind"), COUNTED)
def test_the_gadgets_as_games_say_the_same(name, kind):
    rules = load_game(name).rules
    subgame, method = Subgame(rules, "a1"), gadget(rules, kind)
    for p in (Fraction(1, 5), Fraction(9, 20), Fraction(1, 2), Fraction(3, 5), Fraction(4, 5)):
        solution = solve(Nash(Game.from_tree(gadget_tree(subgame, kind, p))))
        mixture, value = respond(method, float(p))
        # The tree pays what is terminated with; the program above counts from there.
        constant = (1 - p) * sum(subgame.kept.values()) if kind == "resolving" else 0
        assert solution.value == pytest.approx(value + float(constant), abs=1e-8)
        assert [solution.profile[0]["_"][action] for action in ACTIONS] == pytest.approx(mixture, abs=1e-8)


def gadget_tree(subgame, kind, p):
    """Write out the restricted Nash response's game with a gadget as a tree: the model's play with p, else the gadget.

    Chance below the gadget deals histories with probabilities that sum to one; the payoffs are scaled back by them.
    """
    graph = nx.DiGraph()
    graph.add_node("root", player=CHANCE)

    def decide(node, parent, payoffs, **edge):
        graph.add_node(node, player=0, infoset="_")
        graph.add_edge(parent, node, **edge)
        for action, payoff in zip(subgame.actions, payoffs, strict=True):
            leaf = (*node, action)
            graph.add_node(leaf, payoffs=(payoff, -payoff))
            graph.add_edge(node, leaf, action=action)

    decide(("model",), "root", subgame.gains, action="model", prob=p)
    if kind == "resolving":
        graph.add_node("gadget", player=CHANCE)
        total = sum(subgame.weights.values())
        for infoset, payoffs in subgame.payoffs.items():
            share = subgame.weights[infoset] / total
            graph.add_node((infoset,), player=1, infoset=infoset)
            graph.add_edge("gadget", (infoset,), action=infoset, prob=share)
            kept = subgame.kept[infoset] / share
            graph.add_node((infoset, "T"), payoffs=(kept, -kept))
            graph.add_edge((infoset,), (infoset, "T"), action="T")
            decide((infoset, "F"), (infoset,), payoffs / share, action="F")
    else:
        graph.add_node("gadget", player=1, infoset="gadget")
        for infoset, payoffs in subgame.payoffs.items():
            decide((infoset,), "gadget", payoffs - subgame.kept[infoset], action=infoset)
    graph.add_edge("root", "gadget", action="gadget", prob=1 - p)
    return graph


def test_reach_max_margin_mends_the_first_trap_alone():
    # It returns what the opponent gave away on the way, which makes every alternative worth the equilibrium's 0.
    for rules, finds in ((GadgetTrap1(), [0, 1, 2, 3, 4]), (GadgetTrap2(), [0, 4])):
        method = gadget(rules, "max-margin", kept=dict.fromkeys(Subgame(rules, "a1").kept, Fraction(0)))
        assert [list(mixture) for mixture in pieces(method)[1]] == [list(pure(number)) for number in finds]


def test_normalised_weights_only_move_the_change_in_the_second_trap():
    method = gadget(GadgetTrap2(), "max-margin")
    method.changes = 2 * method.changes
    breakpoints, mixtures = pieces(method)
    assert breakpoints == [Fraction(6, 11)]
    assert [list(mixture) for mixture in mixtures] == [list(pure(0)), list(pure(4))]


class Perturbed:
    """Rules with every payoff changed by up to 1/20."""

    def __init__(self, rules, seed):
        self.rules, self.noise = rules, {}
        self.random = random.Random(seed)

    def __getattr__(self, name):
        return getattr(self.rules, name)

    def payoffs(self, state):
        noise = self.noise.setdefault(state, Fraction(self.random.randint(-50, 50), 1000))
        payoff = self.rules.payoffs(state)[0] + noise
        return payoff, -payoff


@pytest.mark.parametrize("rules", TRAPS, ids=lambda rules: rules.name)
def test_no_payoff_has_to_be_exact(rules):
    for seed in range(3):
        perturbed = Perturbed(rules, seed)
        for method, finds in (
            (WholeGame(perturbed), ACTIONS),
            (gadget(perturbed, "resolving"), ["a1", "a5"]),
            (gadget(perturbed, "max-margin"), ["a1", "a5"]),
        ):
            used = [respond(method, p)[0] > 1e-9 for p in (*middles(BREAKPOINTS), 0.3, 0.35, 0.4, 0.56, 0.58, 0.7)]
            assert [action for action, uses in zip(ACTIONS, np.any(used, axis=0), strict=True) if uses] == finds


def test_gadgets_misjudge_the_coin_game_as_published():
    subgame = Subgame(Coin(), "Q")
    play = np.array([Fraction(int(action == "P")) for action in subgame.actions])
    assert Gadget("resolving", subgame.gains, subgame.changes()).measure(play)[1] == Fraction(7, 2)
    assert Gadget("max-margin", subgame.gains, subgame.changes()).measure(play)[1] == 2
    assert WholeGame(Coin()).measure(play) == (Fraction(9, 2), 3)
