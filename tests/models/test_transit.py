"""The transit game: published sizes and values, the tree of histories, and a simulation of both players at once."""

import itertools
from dataclasses import dataclass, field
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from constrained_cases import BOUNDS, TRANSIT
from effort import few, some, thorough
from random_profiles import random_profile

from treeplex import (
    GameTooLargeError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    Status,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    solve,
    worst_case,
)
from treeplex.models.games.transit import DIRECTIONS, Grid, Transit
from treeplex.models.games.transit_flow import flow_size
from treeplex.seqform.rules import GameSize


@pytest.mark.parametrize(
    ("width", "evader", "patroller"), [(6, 5_558, 6_732), (8, 12_438, 15_233), (10, 23_278, 28_786)]
)
def test_sizes_are_those_of_the_paper(width, evader, patroller):
    form = load_game("transit", width=width).sequence_form
    assert [treeplex.num_sequences - 1 for treeplex in form.treeplexes] == [evader, patroller]
    assert not any(treeplex.single_parent for treeplex in form.treeplexes)
    # Occupancies and crossings: about three numbers an action, where the matrix has a dozen and more.
    assert form.nnz < 3.0 * (evader + patroller)


@pytest.mark.parametrize(
    ("model", "width", "value"),
    [
        ("B", 2, -0.019619),
        ("B", 3, 0.194089),
        ("A", 2, -0.806271),
        ("A", 3, -0.338045),
        pytest.param("B", 4, 0.255169, marks=pytest.mark.slow),
        pytest.param("A", 4, -0.128733, marks=pytest.mark.slow),
    ],
)
def test_values_are_those_on_record(model, width, value):
    game = load_game("transit", width=width, model=model)
    solution = solve(Nash(game), method="highs-ipm-crossover" if width == 4 else "highs")
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(value, abs=1e-6)
    assert game.reference_value == pytest.approx(value, abs=1e-6)
    # The certificate again, from the strategies alone.
    for strategy, sign in zip(solution.profile, (1, -1), strict=True):
        assert sign * worst_case(game, strategy) == pytest.approx(value, abs=1e-6)


def test_cvxpy_finds_the_same_value():
    assert solve(Nash(load_game("transit:width=2")), method="cvxpy").value == pytest.approx(-0.019619, abs=1e-5)


def values_with_bounded_risk(game, bounds):
    """The game's value at each bound, and what more risk is worth there.

    The patroller minimises and its risk is bounded: the dual has one multiplier more.
    """
    form, risk = game.sequence_form, game.functionals["risk"]
    x, q, multiplier = cp.Variable(form.E.shape[1], nonneg=True), cp.Variable(form.F.shape[0]), cp.Variable(nonneg=True)
    bound = cp.Parameter()
    response = form.F.T @ q - risk.coefficients * multiplier <= form.A.T @ x
    problem = cp.Problem(cp.Maximize(form.f @ q - bound * multiplier), [form.E @ x == form.e, response])
    values, prices = [], []
    for bound.value in bounds:
        problem.solve(solver=cp.HIGHS)
        values.append(problem.value)
        prices.append(float(multiplier.value))
    return values, prices


@few
@pytest.mark.parametrize(("model", "width"), [case for case in TRANSIT if case[1] < 4])
def test_values_with_a_bounded_risk_and_what_a_tenth_is_worth_are_those_on_record(model, width):
    values, price = TRANSIT[model, width]
    on_record = dict(some(zip(BOUNDS, values, strict=True), 2))
    found, prices = values_with_bounded_risk(load_game("transit", model=model, width=width), on_record)
    assert found == pytest.approx(list(on_record.values()), abs=1e-6)
    assert prices[list(on_record).index(0.1)] == pytest.approx(price, abs=1e-4)


def test_the_patroller_can_be_sure_to_end_at_its_base_and_would_not_be_by_itself():
    game = load_game("transit:width=2")
    risk = game.functionals["risk"]
    stay = Strategy.from_dict(
        game, risk.player, {label: {"stay": 1.0} for label in game.sequence_form.treeplexes[1].infoset_labels}
    )
    assert risk.value(stay) == 0.0
    assert risk.value(solve(Nash(game)).profile[1]) > 0.88
    with pytest.raises(InvalidStrategyError, match="strategy of player 0"):
        risk.value(Strategy.uniform(game, 0))
    with pytest.raises(InvalidStrategyError, match="belongs to another game"):
        risk.value(Strategy.uniform(load_game("transit:width=2,failure=0.2"), 1))


# The tree of histories


@dataclass(frozen=True)
class Record:
    """What is known of a game: sequences in its tree of histories, its value, and those under bounds on the risk."""

    sizes: list[int]
    value: float | None = None
    with_bounds: dict[float, float | None] = field(default_factory=lambda: {0.5: None, 0.01: None})


ON_RECORD = {
    "horizon=2,model=B": Record([51, 39]),
    "horizon=3,model=B": Record([427, 351], -0.2911934, {0.5: -0.2136661, 0.1: -0.1185560, 0.01: 0.1929063}),
    "horizon=3,model=A": Record([427, 351]),
    "horizon=3,model=A,failure=0": Record([259, 207]),
    "horizon=2,model=A": Record([51, 39]),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(spec, marks=thorough if spec == "horizon=3,model=A" else ()) for spec in ON_RECORD],
)
def both_forms(request):
    spec = f"transit:width=2,{request.param}"
    return load_game(spec), load_game(f"{spec},form=histories"), ON_RECORD[request.param]


@thorough
def test_histories_have_the_size_on_record(both_forms):
    _, tree, record = both_forms
    assert [treeplex.num_sequences for treeplex in tree.sequence_form.treeplexes] == record.sizes


def test_flow_and_histories_have_the_same_value(both_forms):
    *games, record = both_forms
    values = [solve(Nash(game)).value for game in games]
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    if record.value is not None:
        assert values[0] == pytest.approx(record.value, abs=1e-7)


def test_flow_and_histories_have_the_same_values_with_a_bounded_risk(both_forms):
    *games, record = both_forms
    (found, _), (in_the_tree, _) = (values_with_bounded_risk(game, record.with_bounds) for game in games)
    assert found == pytest.approx(in_the_tree, abs=1e-8)
    for value, published in zip(found, record.with_bounds.values(), strict=True):
        assert published is None or value == pytest.approx(published, abs=1e-7)


def lifted(strategy, tree):
    """The strategy over histories that plays by time and cell as a strategy over flows does."""
    grid = Grid(tree.parameters["width"])
    behaviour = {}
    for label in tree.sequence_form.treeplexes[strategy.player].infoset_labels:
        if label == "start":
            behaviour[label] = strategy["start"]
            continue
        start, *moves = label.split("-")
        cell = grid.cell(start)
        for move in moves:
            cell = cell if move.endswith("!") else grid.steps(cell)[move]
        behaviour[label] = strategy[f"t{len(moves)}{grid.label(cell)}"]
    return Strategy.from_dict(tree, strategy.player, behaviour)


@pytest.mark.parametrize("seed", range(5))
def test_strategies_earn_and_risk_the_same_in_both_forms(both_forms, seed):
    flow, tree, _ = both_forms
    profile = random_profile(flow, seed)
    over_histories = Profile(lifted(strategy, tree) for strategy in profile)
    np.testing.assert_allclose(expected_payoffs(flow, profile), expected_payoffs(tree, over_histories), atol=1e-13)
    risks = [game.functionals["risk"].value(one[1]) for game, one in ((flow, profile), (tree, over_histories))]
    assert risks[0] == pytest.approx(risks[1], abs=1e-13)


# A simulation of the joint distribution


def joint_simulation(game, profile):
    """The evader's expected payoff and the patroller's risk, from the distribution of both positions at once."""
    rules = Transit(**game.parameters)
    grid = rules.grid
    cost, reward, delay, failure = (
        float(number) for number in (rules.encounter_cost, rules.escape_reward, rules.time_cost, rules.failure)
    )

    def outcomes(strategy, time, cell):
        """(probability, aim, end) of every move and of whether it fails."""
        for name, chance in strategy[f"t{time}{grid.label(cell)}"].items():
            row, column = (a + b for a, b in zip(divmod(cell, grid.columns), DIRECTIONS[name], strict=True))
            aim = row * grid.columns + column
            fails = 0.0 if time == 0 or name == "stay" else failure
            if fails < 1.0:
                yield chance * (1.0 - fails), aim, aim
            if fails > 0.0:
                yield chance * fails, aim, cell

    joint = {(grid.cell(cell), rules.base_cell): chance for cell, chance in profile[0]["start"].items()}
    payoff = 0.0
    for time in range(rules.horizon):
        following = {}
        for (evader, patroller), reach in joint.items():
            own = [(1.0, None, None)] if evader is None else outcomes(profile[0], time, evader)
            others = list(outcomes(profile[1], time, patroller))
            for (mine, aim, end), (theirs, other_aim, other_end) in itertools.product(own, others):
                chance = reach * mine * theirs
                next_evader = end
                if evader is not None:
                    escaped = end % grid.columns == grid.columns - 1
                    if rules.model == "B":
                        met = end == other_end or (end == patroller and other_end == evader)
                        payoff += chance * ((reward if escaped else -delay) - cost * met)
                    elif evader == patroller or aim == other_aim or (aim == patroller and other_aim == evader):
                        payoff -= chance * cost
                    elif aim % grid.columns == grid.columns - 1:
                        payoff += chance * (reward - delay * time)
                    next_evader = None if escaped else end
                following[next_evader, other_end] = following.get((next_evader, other_end), 0.0) + chance
        joint = following
    assert sum(joint.values()) == pytest.approx(1.0, abs=1e-12)
    return payoff, sum(chance for (_, patroller), chance in joint.items() if patroller != rules.base_cell)


@few
@pytest.mark.parametrize(
    "spec",
    [
        "transit:width=2",
        "transit:width=2,model=A",
        "transit:width=3,horizon=7",
        "transit:width=3,horizon=7,model=A",
        "transit:width=2,failure=1/3,encounter_cost=2,escape_reward=5,time_cost=1/10,base=r1c2,starts=r0c1+r1c0",
        "transit:width=2,model=A,failure=0.25,encounter_cost=2,escape_reward=5,time_cost=1/10,base=r0c0,starts=r0c0",
        "transit:width=2,failure=0,horizon=5",
        "transit:width=2,failure=1,horizon=4",
    ],
)
def test_random_strategies_earn_what_a_joint_simulation_says(spec):
    game = load_game(spec)
    for seed in range(3):
        profile = random_profile(game, seed)
        payoff, risk = joint_simulation(game, profile)
        assert expected_payoffs(game, profile).tolist() == pytest.approx([payoff, -payoff], abs=1e-13)
        assert game.functionals["risk"].value(profile[1]) == pytest.approx(risk, abs=1e-13)


# Parameters


def test_defaults_depend_on_the_width():
    assert load_game("transit:width=3").parameters == {
        "width": 3,
        "model": "B",
        "horizon": 10,
        "failure": Fraction(1, 10),
        "encounter_cost": 1,
        "escape_reward": 1,
        "time_cost": Fraction(1, 50),
        "base": "r0c2",
        "starts": "r0c0+r1c0+r2c0",
        "form": "flow",
    }
    assert load_game("transit:width=3,horizon=10,base=r0c2").spec == "transit:width=3"
    assert load_game("transit:width=2,starts=r1c0").spec == "transit:width=2,starts=r1c0"


def test_a_cell_is_written_in_one_way():
    game = load_game("transit", width=2, base="r00c01", starts="r0c00 + r01c0")
    assert game.parameters == load_game("transit:width=2").parameters
    assert (game.spec, game.reference_value) == ("transit:width=2", load_game("transit:width=2").reference_value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": 1}, "transit: width = 1; expected an integer from 2 to 100"),
        ({"failure": 1.5}, "transit: failure = 1.5; expected a number from 0 to 1"),
        ({"base": "r0c4", "width": 2}, "transit: base: expected a cell of the grid, from r0c0 to r1c3, got 'r0c4'"),
        ({"base": "home"}, "transit: base: expected a cell of the grid, from r0c0 to r3c7, got 'home'"),
        ({"base": 3}, "transit: base = 3; expected text"),
        ({"starts": "r0c0+"}, "transit: starts: expected a cell of the grid, from r0c0 to r3c7, got ''"),
        ({"starts": "r0c0+r0c0"}, "transit: starts = 'r0c0.r0c0'; expected distinct cells"),
        ({"starts": "r0c3", "width": 2}, "transit: starts = 'r0c3'; expected no cell of the eastern column"),
        ({"model": "C"}, "transit: model = C; expected one of B, A"),
        ({"form": "tree"}, "transit: form = tree; expected one of flow, histories"),
    ],
)
def test_parameters_that_make_no_game_are_refused(parameters, message):
    with pytest.raises(InvalidGameError, match=message) as caught:
        load_game("transit", **parameters)
    assert "\n" not in str(caught.value)


def test_what_needs_histories_refuses_flows_by_name():
    game = load_game("transit:width=2")
    with pytest.raises(UnsupportedProblemError, match="transit:width=2 has no histories to visit"):
        _ = game.tree


# Sizes


@pytest.mark.parametrize(
    "spec",
    [
        "transit:width=2",
        "transit:width=5",
        "transit:width=3,failure=0",
        "transit:width=3,failure=1,horizon=5",
        "transit:width=5,base=r4c9,starts=r2c3+r0c8",
        "transit:width=4,horizon=1",
    ],
)
def test_the_size_of_a_flow_is_counted_without_building_it(spec):
    game = load_game(spec)
    size = flow_size(Transit(**game.parameters))
    treeplexes = game.sequence_form.treeplexes
    assert size.sequences == tuple(treeplex.num_sequences for treeplex in treeplexes)
    assert size.infosets == tuple(treeplex.num_infosets for treeplex in treeplexes)


@pytest.mark.parametrize(
    "parameters",
    [
        "horizon=1",
        "horizon=2",
        "horizon=2,failure=0",
        "horizon=2,failure=1",
        "horizon=2,starts=r0c2,base=r0c3",
        "horizon=3,starts=r1c2,base=r0c3,failure=0",
    ],
)
def test_the_size_of_the_tree_is_counted_without_a_walk(parameters):
    game = load_game(f"transit:width=2,{parameters},form=histories")
    form = game.sequence_form
    assert game.rules.size() == GameSize(
        form.num_nodes,
        form.num_leaves,
        tuple(treeplex.num_sequences for treeplex in form.treeplexes),
        tuple(treeplex.num_infosets for treeplex in form.treeplexes),
    )


@pytest.mark.parametrize("spec", ["transit:width=100", "transit:width=2,form=histories"])
def test_what_does_not_fit_is_refused_at_once(spec):
    with pytest.raises(GameTooLargeError, match=r"would take about .* but the budget is") as caught:
        _ = load_game(spec).sequence_form
    assert "\n" not in str(caught.value)
