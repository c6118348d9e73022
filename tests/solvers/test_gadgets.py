"""Gadgets as linear programs: the paper's counterexamples, plain recursion over leaves, and the two traps."""

import random

import numpy as np
import pytest
from effort import examples, few, thorough
from hypothesis import assume, given
from hypothesis import strategies as st
from random_trees import random_behaviour, to_graph, trees

from treeplex import CDRNR, Game, Nash, Profile, Strategy, UnsupportedProblemError, load_game, solve, worst_case
from treeplex.models.depth_limited import GADGETS, DecisionStep, SubgameRoots, TrunkSolution
from treeplex.models.depth_limited.gadgets import gift_rates, search_program, subgame_program
from treeplex.models.depth_limited.subgame_roots import sequence_masses
from treeplex.models.saddle import PlayerView
from treeplex.solvers import DepthLimitedLP
from treeplex.solvers.exact.highs_models import load, objective_factor

COIN, FIGURE_2 = load_game("coin"), load_game("depth_limited_figure_2")
TRAPS = ["gadget_trap_1", "gadget_trap_2"]
ACTIONS = ["a1", "a2", "a3", "a4", "a5"]
PARTIAL = [name for name in GADGETS if name != "full"]


def equilibrium(game):
    return solve(Nash(game), "highs-simplex").profile


def first_program(game, p, gadget, model=None, blueprint=None):
    """Return the program of the first step, with the subgame resolved from an equilibrium."""
    model = Strategy.uniform(game, 1) if model is None else model
    blueprint = equilibrium(game) if blueprint is None else blueprint
    problem = CDRNR(game, model, p=p, lookahead=1, gadget=gadget, blueprint=blueprint)
    return problem.start().program(0)


def extreme(program, sequence, maximise):
    """Return the least or the largest entry of a plan that is optimal in a step."""
    linear = program.linear_program()
    solver = load(linear)
    solver.run()
    optimum = solver.getObjectiveValue() * objective_factor(linear)
    # The objective as a row, and the entry as the objective.
    columns = np.flatnonzero(linear.objective).astype(np.int32)
    solver.addRow(optimum - 1e-7, 1e9, len(columns), columns, linear.objective[columns])
    cost = np.zeros(linear.shape[1])
    cost[sequence] = -1.0 if maximise else 1.0
    solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    solver.clearSolver()
    solver.run()
    assert solver.modelStatusToString(solver.getModelStatus()) == "Optimal"
    return float(solver.getSolution().col_value[sequence])


# The paper's examples


def test_figure_2_unsafe_resolving_may_leave_the_equilibrium_and_gadgets_may_not():
    heads = FIGURE_2.sequence_form.treeplexes[0].sequence("_", "H")
    ranges = {
        name: (extreme(program, heads, False), extreme(program, heads, True))
        for name in GADGETS
        for program in [first_program(FIGURE_2, 0.0, name)]
    }
    assert ranges["none"] == pytest.approx((1 / 3, 3 / 4), abs=1e-5)
    for name in GADGETS:
        if name != "none":
            assert ranges[name] == pytest.approx((2 / 3, 2 / 3), abs=1e-5)


def test_figure_2_against_a_uniform_trunk():
    # Public states are whole rows; with the first row uniform a rational rest of the game is worth -7/6.
    model = Strategy.from_dict(FIGURE_2, 1, {})
    program = CDRNR(FIGURE_2, model, p=1, lookahead=1, game_value=-4 / 3).start().program(0)
    step = CDRNR(FIGURE_2, model, p=1, lookahead=1).steps[0]
    labels = FIGURE_2.sequence_form.treeplexes[1].infoset_labels
    assert [label for label, held in zip(labels, step.modelled, strict=True) if held] == ["_", "_q", "_p"]
    found = Profile([Strategy.uniform(FIGURE_2, 0), model])
    unsafe = first_program(FIGURE_2, 0.0, "none", blueprint=found)
    heads = FIGURE_2.sequence_form.treeplexes[0].sequence("_", "H")
    assert extreme(unsafe, heads, True) == pytest.approx(1 / 3, abs=1e-5)
    assert unsafe.guaranteed(Strategy.from_dict(FIGURE_2, 0, {"_": {"H": 1 / 3, "T": 2 / 3}}).plan) == pytest.approx(
        -7 / 6
    )
    assert program.guaranteed(found[0].plan) >= -7 / 6


@pytest.mark.parametrize(
    ("gadget", "counted"),
    [("full", -3.0), ("reach-resolving", -3.0), ("resolving", -3.5), ("max-margin", -2.0), ("reach-max-margin", -2.0)],
)
def test_figure_3_what_gadgets_say_that_leaving_the_equilibrium_costs(gadget, counted):
    program = first_program(COIN, 0.0, gadget)
    play = Strategy.from_dict(COIN, 0, {"_": {"P": 1.0}})
    quit_ = Strategy.from_dict(COIN, 0, {"_": {"Q": 1.0}})
    assert program.guaranteed(play.plan) == pytest.approx(counted)
    assert program.guaranteed(quit_.plan) == pytest.approx(0.0)
    assert worst_case(COIN, play) == -3.0
    solution = solve(
        CDRNR(COIN, Strategy.uniform(COIN, 1), p=0, lookahead=1, gadget=gadget, blueprint=equilibrium(COIN))
    )
    assert solution.steps == pytest.approx((0.0,))
    assert solution.strategy["_"]["Q"] == pytest.approx(1.0)


# The traps

#: From which p on which action is taken; test_gadget_traps derives them from the games by hand and by trees.
FULL = [(0, "a1"), (4 / 9, "a2"), (1 / 2, "a3"), (6 / 11, "a4"), (8 / 13, "a5")]
FOUND = {
    ("gadget_trap_1", "full"): FULL,
    ("gadget_trap_2", "full"): FULL,
    ("gadget_trap_1", "reach-resolving"): FULL,
    ("gadget_trap_2", "reach-resolving"): FULL,
    ("gadget_trap_1", "resolving"): [(0, "a1"), (5 / 7, "a5")],
    ("gadget_trap_1", "max-margin"): [(0, "a1"), (27 / 47, "a5")],
    ("gadget_trap_1", "reach-max-margin"): FULL,
    ("gadget_trap_2", "resolving"): [(0, "a1"), (6 / 11, "a5")],
    ("gadget_trap_2", "max-margin"): [(0, "a1"), (3 / 8, "a5")],
    ("gadget_trap_2", "reach-max-margin"): [(0, "a1"), (3 / 8, "a5")],
}


@few
@pytest.mark.parametrize(("name", "gadget"), FOUND)
def test_safe_gadgets_recover_all_five_actions_and_others_fewer(name, gadget):
    game = load_game(name)
    model, blueprint = Strategy.from_dict(game, 1, game.rules.model), equilibrium(game)
    changes = FOUND[name, gadget]
    for p in np.linspace(0.03, 0.97, 24):  # which meets no breakpoint
        problem = CDRNR(game, model, p=p, lookahead=1, gadget=gadget, blueprint=blueprint, game_value=0.0)
        played = solve(problem).strategy["_"]
        expected = max(start for start, _ in changes if start < p)
        assert played[dict(changes)[expected]] == pytest.approx(1.0, abs=1e-6), p


@pytest.mark.parametrize("gadget", GADGETS)
@pytest.mark.parametrize("name", TRAPS)
def test_without_a_blueprint_the_first_step_solves_the_trunk_whatever_the_gadget(name, gadget):
    game = load_game(name)
    model = Strategy.from_dict(game, 1, game.rules.model)
    found = solve(CDRNR(game, model, p=0.52, lookahead=1, gadget=gadget))
    assert found.strategy["_"]["a3"] == pytest.approx(1.0)


# Larger games


@few
@pytest.mark.parametrize("gadget", ["reach-resolving", "resolving", "max-margin", "reach-max-margin"])
@pytest.mark.parametrize("name", ["kuhn", "leduc:merge_suits=true", "goofspiel"])
def test_with_p_0_every_gadget_but_none_resolves_to_an_equilibrium(name, gadget):
    game = load_game(name)
    for player in (0, 1):
        problem = CDRNR(game, Strategy.uniform(game, 1 - player), p=0, lookahead=1, gadget=gadget)
        assert solve(problem).exploitability == pytest.approx(0, abs=1e-8)


def test_unsafe_resolving_is_unsafe_in_leduc():
    leduc = load_game("leduc:merge_suits=true")
    found = solve(CDRNR(leduc, Strategy.uniform(leduc, 1), p=0, lookahead=1, gadget="none"))
    assert found.exploitability > 0.5
    assert found.status == "optimal"
    assert found.gap is None
    assert found.safety_bound is None


def test_other_gadgets_have_no_last_bound_but_proven_steps():
    leduc = load_game("leduc:merge_suits=true")
    for gadget in PARTIAL:
        found = solve(CDRNR(leduc, Strategy.uniform(leduc, 0), p=0.5, lookahead=2, gadget=gadget))
        assert found.status == "optimal"
        assert max(step.gap for step in found.certificate.steps) <= 1e-6
        assert found.upper is None


@thorough
def test_an_interior_point_that_is_no_optimum_is_crossed_over():
    # HiGHS ends far from the optimum of a step here, and says that it does not know.
    game = load_game("goofspiel:order=random")
    model = Strategy(game, 0, _random_behaviour(game, 0))
    problem = CDRNR(game, model, p=0.5, lookahead=1, gadget="max-margin", game_value=0.0)
    found = solve(problem, DepthLimitedLP("ipm"))
    assert found.status == "optimal"
    assert max(step.gap for step in found.certificate.steps) <= 1e-6


def _random_behaviour(game, player):
    source = np.random.default_rng(1)
    counts = game.sequence_form.treeplexes[player].num_actions.tolist()
    return np.concatenate([[1.0], *(source.dirichlet(np.ones(count)) for count in counts)])


# Plain recursion


def leaves_of(game, player):
    """Return every leaf: its weight, own sequence, the other's path of (infoset, sequence), and public state."""
    form, public = game.sequence_form, game.public_tree
    other = form.treeplexes[1 - player]
    found = []
    for number, (chance, payoffs, sequences) in enumerate(
        zip(form.leaves.chance, form.leaves.payoffs, form.leaves.sequences, strict=True)
    ):
        path, sequence = [], int(sequences[1 - player])
        while sequence:
            infoset = int(other.sequence_infosets[sequence])
            path.append((infoset, sequence))
            sequence = int(other.parents[infoset])
        found.append((chance * payoffs[player], int(sequences[player]), path[::-1], int(public.leaf_states[number])))
    return found


def least(leaves, plays):
    """Return what the other player leaves: at infosets in ``plays`` as it is said there, elsewhere the worst."""
    total, groups = 0.0, {}
    for weight, path in leaves:
        if path:
            groups.setdefault(path[0][0], {}).setdefault(path[0][1], []).append((weight, path[1:]))
        else:
            total += weight
    for infoset, actions in groups.items():
        values = {sequence: least(below, plays) for sequence, below in actions.items()}
        if infoset in plays:
            total += sum(plays[infoset].get(sequence, 0.0) * value for sequence, value in values.items())
        else:
            total += min(values.values())
    return total


def counted(game, player, states, plan, found, model, modelled, p, kind):
    """Return what a gadget counts of a plan, by recursion over the leaves of each subgame."""
    other = game.sequence_form.treeplexes[1 - player]
    behaviour = other.behaviour(model)
    follows = {
        infoset: {s: behaviour[s] for s in range(other.offsets[infoset], other.offsets[infoset + 1])}
        for infoset in np.flatnonzero(modelled).tolist()
    }
    below = game.public_tree.ancestors_at(int(game.public_tree.levels[states[0]]))
    total, lost = 0.0, {}
    for state in states:
        ways = {}
        for weight, own, path, at in leaves_of(game, player):
            if at >= 0 and below[at] == state:
                inside = [step for step in path if below[game.public_tree.infoset_states[1 - player][step[0]]] == state]
                outside = path[: len(path) - len(inside)]
                way = outside[-1][1] if outside else 0
                ways.setdefault(way, []).append((weight, own, inside))
        new = {way: [(w * plan[own], inside) for w, own, inside in leaves] for way, leaves in ways.items()}
        old = {way: [(w * found.plan[own], inside) for w, own, inside in leaves] for way, leaves in ways.items()}
        free = {way: least(leaves, {}) for way, leaves in new.items()}
        kept = {way: least(leaves, {}) for way, leaves in old.items()}
        if kind == "search":
            reach = sum(model[way] for way in ways)
            shares = {way: model[way] / reach if reach else 0.0 for way in ways}
            total += p * sum(shares[way] * (free[way] - kept[way]) for way in ways)
            total += (1 - p) * min(free[way] - kept[way] for way in ways)
            continue
        total += p * sum(model[way] * least(leaves, follows) for way, leaves in new.items())
        if kind == "none":
            total += (1 - p) * sum(found.free[way] * free[way] for way in ways)
        elif kind == "resolving":
            total += (1 - p) * sum(min(free[way], kept[way]) for way in ways)
        elif kind == "reach-resolving":
            for way in ways:
                lost[way] = lost.get(way, 0.0) + free[way] - kept[way]
        else:
            total += (1 - p) * min(free[way] - kept[way] for way in ways)
    return total + (1 - p) * on_the_way(other, lost, 0)


def on_the_way(other, lost, sequence):
    """Return what a player's own decisions after a sequence make of what it gains at ways in, by recursion."""
    below = (infoset for infoset in range(other.num_infosets) if other.parents[infoset] == sequence)
    ends = [range(*other.offsets[infoset : infoset + 2].tolist()) for infoset in below]
    return lost.get(sequence, 0.0) + sum(min(on_the_way(other, lost, action) for action in actions) for actions in ends)


@examples(60)
@given(
    trees(depth=6, size=26),
    st.integers(0, 2**16),
    st.sampled_from([0, 1]),
    st.sampled_from(["none", "resolving", "reach-resolving", "max-margin", "search"]),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.data(),
)
def test_gadgets_count_what_recursion_over_leaves_does(tree, seed, player, kind, p, data):
    game = Game.from_tree(to_graph(tree))
    try:
        public = game.public_tree
    except UnsupportedProblemError:
        assume(False)
    levels = np.unique(public.infoset_levels(player))
    assume(len(levels) > 0)
    level = int(data.draw(st.sampled_from(levels.tolist())))
    own_states = public.infoset_states[player]
    here = np.unique(own_states[public.levels[own_states] == level])
    source = random.Random(seed)
    plan, before = (Strategy.from_dict(game, player, random_behaviour(tree, player, source)) for _ in range(2))
    model, free = (Strategy.from_dict(game, 1 - player, random_behaviour(tree, 1 - player, source)) for _ in range(2))
    modelled = public.infoset_levels(1 - player) <= level + data.draw(st.integers(0, 2))
    step = DecisionStep(
        level=level,
        states=here,
        decided=public.levels[own_states] == level,
        settled=np.zeros(len(own_states), dtype=bool),
        modelled=modelled,
        before=None,
    )
    side, roots = PlayerView(game, player), SubgameRoots.of(game, player, here.tolist())
    found = TrunkSolution(before.plan, free.plan)
    own, resolved = plan.plan[roots.own_sequences], found.plan[roots.own_sequences]
    if kind == "search":
        program = search_program(side, model.plan, p, roots, found)
    else:
        ways = free.plan[roots.way_sequences]
        rates = gift_rates(side, found.plan) if GADGETS[kind].gifts else None
        program = subgame_program(side, model.plan, p, step, own, GADGETS[kind], roots, resolved, ways, rates)
    expected = counted(game, player, here.tolist(), plan.plan, found, model.plan, modelled, p, kind)
    assert program.guaranteed(own) == pytest.approx(expected, abs=1e-9)
    # Any reply leaves at least as much as the worst one.
    assert program.allowed(program.flow(program.reply.uniform_behaviour())) >= program.guaranteed(own) - 1e-9 or (
        kind == "search"  # in which own decisions above the subgames are settled
    )


def test_masses_are_how_likely_chance_and_the_player_come_along_a_way():
    # In Kuhn poker player 1 comes to player 0's second decision with three sequences, each as likely as its card.
    game = load_game("kuhn")
    public = game.public_tree
    roots = SubgameRoots.of(game, 0, np.unique(public.infoset_states[0][public.infoset_levels(0) == 2]).tolist())
    always_pass = Strategy.from_dict(game, 0, {f"{card}_": {"p": 1.0} for card in "JQK"})
    ways = roots.masses(game, always_pass.plan[roots.own_sequences])
    sequences = sequence_masses(game, 0, always_pass.plan)
    labels = [game.sequence_form.treeplexes[1].sequence_label(s) for s in roots.way_sequences.tolist()]
    assert set(labels) == {("J_p", "b"), ("Q_p", "b"), ("K_p", "b")}
    assert ways == pytest.approx([1 / 3] * 3)
    assert sequences[roots.way_sequences] == pytest.approx([1 / 3] * 3)
    assert sequences[0] == pytest.approx(1.0)
