"""Problems made of a seed alone, so that what their answers are can be stored without the games.

A case is a random game, what is asked about it, and how it is solved: all drawn from one generator of numbers. Nothing
here goes beyond the public interface, so that the stored answers judge any implementation of it.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import cvxpy as cp
import networkx as nx
import numpy as np

import treeplex
from treeplex import CHANCE, Functional, Game, Profile, SequenceForm, Strategy, Treeplex, load_game
from treeplex.models.constraints import LinearConstraint, behaviour_bound, distance_bound, reach_bound
from treeplex.models.distances import KLDistance, L1Distance, L2Distance
from treeplex.models.problems import LBR, FeasibilityRelaxation
from treeplex.seqform.factored import FactoredPayoff

#: The problems by the name that the stored answers know them by.
PROBLEMS = {
    "nash": treeplex.Nash,
    "constrained": treeplex.ConstrainedNash,
    "best-response": treeplex.BestResponse,
    "rnr": treeplex.RestrictedNash,
    "epsilon-safe": treeplex.EpsilonSafeResponse,
    "best-nash": treeplex.BestNash,
    "data-biased": treeplex.DataBiasedResponse,
    "style": treeplex.EpsilonSafeStyle,
    "least-violation": FeasibilityRelaxation,
    "cdbr": treeplex.CDBR,
    "cdrnr": treeplex.CDRNR,
    "cdbr-ne": treeplex.CDBRNE,
    "ses": treeplex.SES,
    "lbr": LBR,
}
DISTANCES = {"l1": L1Distance, "l2": L2Distance, "kl": KLDistance}

#: What is drawn, and how often: a problem, and what its constraints or its style are.
KINDS = {
    "nash": 4,
    "constrained": 22,
    "constrained soft": 14,
    "constrained piecewise": 8,
    "constrained convex": 4,
    "best-response": 4,
    "rnr": 8,
    "epsilon-safe": 8,
    "best-nash": 4,
    "data-biased": 5,
    "style": 7,
    "style l1": 3,
    "style conic": 3,
    "least-violation": 7,
    "least-violation floor": 5,
    "cdbr": 3,
    "cdrnr": 8,
    "cdbr-ne": 2,
    "ses": 3,
    "lbr": 1,
}
STEPPED = ("cdbr", "cdrnr", "cdbr-ne", "ses", "lbr")
GADGETS = ("full", "none", "resolving", "max-margin", "reach-max-margin")

NAMED = (
    "kuhn",
    "kuhn:cards=4",
    "coin",
    "rps:rock=2",
    "goofspiel:cards=3",
    "liars_dice:sides=2",
    "leduc:ranks=2,merge_suits=true",
    "depth_limited_figure_2",
    "transit:width=2,model=A,horizon=3",
    "transit:width=2,model=B,horizon=4",
)
TIMED = (
    "kuhn",
    "kuhn:cards=5",
    "coin",
    "goofspiel:cards=3",
    "liars_dice:sides=3",
    "leduc:ranks=2,merge_suits=true,raises=1",
    "depth_limited_figure_2",
    "depth_limited_figure_10",
    "gadget_trap_1",
    "gadget_trap_2",
)


@dataclass(frozen=True)
class Case:
    """A problem, how it is solved, and plans and multipliers that prove something of it, good or not."""

    kind: str
    problem: object
    method: str
    profile: Profile
    multipliers: dict


def draw_case(seed, loosen=None, noise=0):
    """Return the case of a seed.

    ``loosen`` moves bounds: by a constraint's name, by how much it allows more. ``noise`` draws payoffs of random trees
    and opponents that differ from the case's by a millionth.
    """
    return Drawing(seed, loosen or {}, noise).case()


class Drawing:
    """One generator of numbers, and what is drawn from it."""

    kinds = KINDS

    def __init__(self, seed, loosen, noise):
        self.rng = np.random.default_rng(seed)
        self.loosen = loosen
        self.noise = np.random.default_rng([seed, noise]) if noise else None
        self.hard = False
        self.fewest = 1  # decisions with a choice that both players have more of

    def case(self):
        weights = np.array(list(self.kinds.values()), dtype=float)
        kind = str(self.rng.choice(list(self.kinds), p=weights / weights.sum()))
        name = kind.split(maxsplit=1)[0]
        self.kind = kind
        self.exact = name not in ("data-biased", *STEPPED) and "conic" not in kind and self.in_fractions()
        if name in STEPPED:
            self.game = self.timed_game(name)
        else:
            self.game = self.tree(self.integer(4, 10)) if self.exact else self.any_game()
        self.player = self.integer(0, 1)
        problem = getattr(self, "draw_" + name.replace("-", "_"))(kind)
        linear = getattr(problem, "is_linear", True)
        share = self.rng.random()
        if name in STEPPED:
            method = "lp"
        elif not linear:
            method = "cvxpy"
        elif self.exact and "piecewise" not in kind and self.all_linear(problem):
            method = "rational"
        else:
            method = "cvxpy" if share < 0.06 and "floor" not in kind else "highs"
        profile = Profile([self.strategy(player) for player in (0, 1)])
        names = [one.name for one in getattr(problem, "constraints", ())]
        multipliers = {one: self.decimal(0.0, 2.0) for one in [*names, "safety"]}
        return Case(kind, problem, method, profile, multipliers)

    @staticmethod
    def all_linear(problem):
        return all(isinstance(one, LinearConstraint) for one in getattr(problem, "constraints", ()))

    def in_fractions(self):
        """Whether the case is small and of few digits, so that fractions can solve it."""
        return self.rng.random() < 0.12

    # Numbers

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def decimal(self, low, high, digits=3):
        """Return a number of few digits, which fractions can take as it is meant."""
        return round(float(self.rng.uniform(low, high)), digits)

    def pick(self, *choices):
        return choices[self.integer(0, len(choices) - 1)]

    # Games

    def any_game(self):
        share = self.rng.random()
        if share < 0.4:
            return self.tree(self.integer(8, 26))
        if share < 0.58:
            return self.matrix_game()
        if share < 0.75:
            return self.flow_game(factored=False)
        if share < 0.88:
            return self.flow_game(factored=True)
        return _named(self.pick(*NAMED))

    def timed_game(self, name):
        """Return a game with public states."""
        if name == "lbr":
            return _named(self.pick("kuhn", "kuhn:cards=5", "leduc:ranks=2", "leduc:merge_suits=true"))
        if self.rng.random() < 0.25:
            return _named(self.pick(*TIMED))
        while True:
            game = self.tree(self.integer(6, 20))
            try:
                if game.public_tree.num_levels > 1:
                    return game
            except treeplex.UnsupportedProblemError:
                pass

    def tree(self, size):
        """Grow a tree of at most about so many decisions in which both players have something to decide."""
        halves = self.rng.random() < 0.4  # ties are common

        while True:
            graph, choices = nx.DiGraph(), [0, 0]
            budget = [size]

            def node(level, pasts, choices=choices, graph=graph, budget=budget):
                number = len(graph)
                kind = self.integer(0, 9) if level < 6 and budget[0] > 0 else 0
                if kind == 0 and level:
                    graph.add_node(number, payoffs=self.payoffs(halves))
                    return number
                budget[0] -= 1
                if kind == 1 or (kind == 2 and not level):
                    graph.add_node(number, player=CHANCE)
                    parts = self.parts()
                    for index, part in enumerate(parts):
                        child = node(level + 1, pasts)
                        graph.add_edge(number, child, action=f"c{index}", prob=Fraction(part, sum(parts)))
                    return number
                player, arity = self.integer(0, 1), self.pick(1, 2, 2, 2, 3)
                # What a player remembers is its own past, and a signal.
                label = f"{pasts[player]}{arity}{self.pick('u', 'u', 'u', 'v')}"
                choices[player] += arity > 1
                graph.add_node(number, player=player, infoset=label)
                for index in range(arity):
                    action = "xyz"[index]
                    own = f"{label}{action}."
                    child = node(level + 1, (own, pasts[1]) if player == 0 else (pasts[0], own))
                    graph.add_edge(number, child, action=action)
                return number

            node(0, ("", ""))
            if min(choices) > self.fewest:
                return Game.from_tree(graph)

    def payoffs(self, halves):
        number = Fraction(self.integer(-6, 6), 2) if halves else Fraction(self.integer(-4000, 4000), 1000)
        if self.noise is not None:
            number += Fraction(int(self.noise.integers(-1000, 1001)), 10**9)
        return (number, -number)

    def parts(self):
        """Return the probabilities of a chance node, before they are divided by their sum."""
        return [self.integer(1, 3) for _ in range(self.integer(2, 3))]

    def matrix_game(self):
        rows, columns = self.integer(2, 7), self.integer(2, 7)
        if self.rng.random() < 0.4:
            payoffs = self.rng.integers(-3, 4, (rows, columns)).astype(float)
        else:
            payoffs = self.rng.normal(size=(rows, columns)).round(3)
        return Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs))

    def flow_game(self, factored):
        flows = [self.flow(self.integer(1, 6)) for _ in range(2)]
        shape = tuple(flow.num_sequences for flow in flows)
        if factored:
            count = self.integer(1, 5)
            left, right = self.sparse((shape[0], count)), self.sparse((count, shape[1]))
            left[-1, 0] = right[0, -1] = 1.0
            return Game.from_sequence_form(SequenceForm(flows, factored=FactoredPayoff(left, right)))
        payoffs = self.sparse(shape)
        payoffs[-1, -1] = 1.0
        return Game.from_sequence_form(SequenceForm(flows, payoff_matrices=[payoffs, -payoffs]))

    def sparse(self, shape):
        return np.where(self.rng.random(shape) < 0.5, self.rng.normal(size=shape).round(2), 0.0)

    def flow(self, num_infosets):
        """Return a flow polytope whose infosets have up to three inflows each, from any sequences before them."""
        num_actions = self.rng.integers(1, 4, num_infosets)
        num_actions[0] = max(num_actions[0], 2)
        offsets = 1 + np.append(0, np.cumsum(num_actions))
        inflow = np.zeros((num_infosets, offsets[-1]))
        for infoset in range(num_infosets):
            before = int(offsets[infoset])
            sources = self.rng.choice(before, size=self.integer(1, min(3, before)), replace=False)
            inflow[infoset, sources] = self.rng.choice([0.1, 0.5, 0.9, 1.0], size=len(sources))
        return Treeplex.from_inflow(inflow, num_actions)

    # Strategies

    def strategy(self, player):
        """Return a strategy in which some actions have probability 0."""
        form = self.game.sequence_form.treeplexes[player]
        weights = self.rng.integers(0, 5, form.num_sequences).astype(float)
        weights[0] = 1.0
        for first, last in zip(form.offsets[:-1], form.offsets[1:], strict=True):
            if not weights[first:last].any():
                weights[first] = 1.0
            if self.noise is not None:
                weights[first:last] += 1e-6 * self.noise.random(last - first)
            weights[first:last] /= weights[first:last].sum()
        return Strategy(self.game, player, weights)

    def opponent(self):
        return self.strategy(1 - self.player)

    # Constraints

    def bound(self, name, number, sense="<="):
        """Return a bound, moved as far as the constraint of that name is to allow more."""
        extra = self.loosen.get(name, 0.0)
        number = round(float(number) + 1e-9, 4)  # up where only round-off says whether it is nearer to the lower one
        return number + extra if sense == "<=" else number - extra

    def room(self):
        """Return how much more a constraint allows than a random plan needs."""
        return self.pick(0.0, 0.0, 0.0, 0.05, 0.5) if not self.hard else self.pick(-2.0, -1.0, -0.4, 0.0)

    def row(self, player, name):
        """Return a linear constraint, which some random plan meets."""
        treeplex = self.game.sequence_form.treeplexes[player]
        style = self.integer(0, 4)
        if style == 0 and treeplex.single_parent:
            infoset = self.integer(0, treeplex.num_infosets - 1)
            label, actions = treeplex.infoset_labels[infoset], treeplex.action_labels[infoset]
            side = {self.pick("at_most", "at_least"): self.decimal(0.05, 0.95, 2)}
            builder = self.pick(behaviour_bound, reach_bound)
            one = builder(self.game, player, label, actions[self.integer(0, len(actions) - 1)], **side, name=name)
            if name in self.loosen:
                extra = self.loosen[name] if one.sense == "<=" else -self.loosen[name]
                one = replace(one, bound=one.bound + extra, fixed=False)
            return one
        count = self.integer(1, min(5, treeplex.num_sequences - 1))
        places = (1 + self.rng.choice(treeplex.num_sequences - 1, size=count, replace=False)).tolist()
        numbers = [self.decimal(-2, 2, 2) or 1.0 for _ in places]
        met = self.strategy(player).plan
        value = float(np.dot(numbers, met[places]))
        sense = self.pick("<=", "<=", ">=")
        limit = self.bound(name, value + self.room() if sense == "<=" else value - self.room(), sense)
        if style == 1:
            left = np.array(numbers) @ self.game.plan(player)[places]
            return left <= limit if sense == "<=" else left >= limit
        return LinearConstraint(player, dict(zip(places, numbers, strict=True)), limit, name, sense)

    def affine(self, player, rows):
        """Return affine functions of a plan, in cvxpy, and their values at a plan that is to meet the constraint."""
        plan, size = self.game.plan(player), self.game.sequence_form.treeplexes[player].num_sequences
        matrix = np.where(self.rng.random((rows, size)) < 0.4, self.rng.normal(size=(rows, size)).round(2), 0.0)
        matrix[0, self.integer(0, size - 1)] = 1.0
        shift = self.rng.normal(size=rows).round(2) / 2
        return matrix @ plan - shift, matrix @ self.strategy(player).plan - shift

    def piecewise(self, player, name):
        style = self.integer(0, 5)
        if style == 0:
            distance = DISTANCES["l1"](self.strategy(player))
            value = distance.value(self.strategy(player).plan)
            return distance_bound(distance, at_most=self.bound(name, self.decimal(0.2, 1.0, 2) * value), name=name)
        function, values = self.affine(player, self.integer(1, 3) if style != 3 else 2)
        if style == 1:
            return cp.norm1(function) <= self.bound(name, np.abs(values).sum() + self.room())
        if style == 2:
            return cp.max(function) <= self.bound(name, values.max() + self.room())
        if style == 3:
            return cp.maximum(function[0], function[1]) <= self.bound(name, values.max() + self.room())
        if style == 4:
            limit = self.bound(name, np.maximum(values, 0.0).sum() + self.room())
            return cp.sum(cp.pos(function)) <= limit
        return cp.norm_inf(function) + function[0] <= self.bound(name, np.abs(values).max() + values[0] + self.room())

    def convex(self, player, name):
        style = self.integer(0, 3)
        if style < 2:
            distance = DISTANCES["l2" if style else "kl"](self.interior(player))
            value = distance.value(self.interior(player).plan)
            limit = self.bound(name, self.decimal(0.3, 1.0, 2) * (value if np.isfinite(value) else 1.0) + 0.05)
            return distance_bound(distance, at_most=limit, name=name)
        function, values = self.affine(player, self.integer(1, 4))
        if style == 2:
            return cp.sum_squares(function) <= self.bound(name, np.sum(values**2) + 0.1)
        return cp.norm2(function) <= self.bound(name, np.linalg.norm(values) + 0.1)

    def interior(self, player):
        uniform, other = Strategy.uniform(self.game, player), self.strategy(player)
        return Strategy(self.game, player, (uniform.behaviour + other.behaviour) / 2)

    def constraints(self, kind, least=1, players=(0, 1)):
        found = {}
        for player in players:
            for number in range(self.integer(0, 3)):
                name = f"{player}/{number}"
                found[name] = self.of_kind(kind, player, name)
        for number in range(least - len(found)):
            name = f"{self.player}/more {number}"
            found[name] = self.of_kind(kind, self.player, name)
        return found

    def of_kind(self, kind, player, name):
        if "convex" in kind and self.rng.random() < 0.6:
            return self.convex(player, name)
        if "piecewise" in kind and self.rng.random() < 0.6:
            return self.piecewise(player, name)
        return self.row(player, name)

    # Problems

    def draw_nash(self, kind):
        return PROBLEMS["nash"](self.game)

    def draw_constrained(self, kind):
        soft = "soft" in kind or (kind != "constrained" and self.rng.random() < 0.4)
        self.hard = self.rng.random() < (0.5 if soft else 0.12)
        constraints = self.constraints(kind)
        if not soft:
            return PROBLEMS["constrained"](self.game, constraints)
        if "soft" in kind and not self.exact and self.rng.random() < 0.3:
            constraints |= {f"{key} more": one for key, one in self.extra_piecewise(constraints).items()}
        penalty = self.penalty()
        return PROBLEMS["constrained"](self.game, constraints, penalty=penalty, penalise=self.pick("sum", "largest"))

    def penalty(self):
        return self.pick(0.05, 0.5, 2.0, 10.0)

    def extra_piecewise(self, constraints):
        key = next(iter(constraints))
        return {key: self.piecewise(self.player, f"{key} more")}

    def draw_best_response(self, kind):
        return PROBLEMS["best-response"](self.game, self.opponent())

    def draw_rnr(self, kind):
        return PROBLEMS["rnr"](self.game, self.opponent(), p=self.pick(0.0, 1.0, *[self.decimal(0.02, 0.98)] * 8))

    def draw_epsilon_safe(self, kind):
        epsilon = self.pick(0.0, *[self.decimal(0.001, 0.3)] * 7)
        return PROBLEMS["epsilon-safe"](
            self.game, self.opponent(), epsilon=max(0.0, epsilon + self.loosen.get("safety", 0.0))
        )

    def draw_best_nash(self, kind):
        return PROBLEMS["best-nash"](self.game, self.opponent())

    def draw_data_biased(self, kind):
        opponent = self.opponent()
        count = self.game.sequence_form.treeplexes[1 - self.player].num_infosets
        if self.rng.random() < 0.2:
            return PROBLEMS["data-biased"](self.game, opponent, p=self.decimal(0, 1))
        p = np.where(self.rng.random(count) < 0.3, self.rng.integers(0, 2, count), self.rng.random(count).round(3))
        return PROBLEMS["data-biased"](self.game, opponent, p=p)

    def draw_style(self, kind):
        epsilon = max(0.0, self.pick(0.0, 0.01, self.decimal(0.01, 1.0)) + self.loosen.get("safety", 0.0))
        if kind != "style":
            name = "l1" if kind == "style l1" else self.pick("l2", "kl")
            weights = None
            if self.rng.random() < 0.3:
                count = self.game.sequence_form.treeplexes[self.player].num_infosets
                weights = self.rng.integers(0, 5, count) / 4
            style = {"nearest": DISTANCES[name](self.interior(self.player), weights)}
        else:
            size = self.game.sequence_form.treeplexes[self.player].num_sequences
            coefficients = np.where(self.rng.random(size) < 0.6, self.rng.normal(size=size).round(2), 0.0)
            constant = self.pick(0.0, 0.5)
            style = {
                self.pick("maximise", "minimise"): Functional(self.player, coefficients, "drawn", constant=constant)
            }
        return PROBLEMS["style"](self.game, epsilon=epsilon, **style)

    def draw_least_violation(self, kind):
        self.hard = self.rng.random() < 0.7
        share = self.rng.random()
        of_kind = "linear" if share < 0.6 or self.exact else "piecewise" if share < 0.9 else "convex"
        constraints = self.constraints(of_kind, least=2, players=(self.player,))
        floor = None
        if "floor" in kind:
            floor = self.decimal(-2.0, 0.4, 2) - self.loosen.get("safety", 0.0)
        measure = self.pick("sum", "largest")
        return PROBLEMS["least-violation"](self.game, self.player, constraints, measure, floor=floor)

    def draw_cdbr(self, kind):
        return PROBLEMS["cdbr"](self.game, self.opponent(), lookahead=self.integer(1, 3), along=self.along())

    def along(self):
        return self.pick("level", "level", "path")

    def draw_cdrnr(self, kind):
        opponent, gadget = self.opponent(), self.pick(*GADGETS)
        blueprint = None
        if gadget != "full" and self.rng.random() < 0.5:
            blueprint = Profile([self.strategy(player) for player in (0, 1)])
        return PROBLEMS["cdrnr"](
            self.game,
            opponent,
            p=self.decimal(0.0, 1.0, 2),
            lookahead=self.integer(1, 3),
            gadget=gadget,
            blueprint=blueprint,
            along=self.along(),
        )

    def draw_cdbr_ne(self, kind):
        return PROBLEMS["cdbr-ne"](self.game, self.opponent(), p=self.decimal(0, 1, 2), lookahead=self.integer(1, 3))

    def draw_ses(self, kind):
        level = self.integer(0, self.game.public_tree.num_levels - 1)
        return PROBLEMS["ses"](self.game, self.opponent(), p=self.decimal(0, 1, 2), level=level)

    def draw_lbr(self, kind):
        return PROBLEMS["lbr"](self.game, self.opponent())


@cache
def _named(spec):
    return load_game(spec)
