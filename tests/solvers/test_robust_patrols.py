"""Robust patrols against programs written independently in cvxpy, from the games of single types of attackers."""

from dataclasses import replace
from itertools import pairwise, product

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

from treeplex import InvalidConstraintError, InvalidGameError, InvalidStrategyError, UnsupportedProblemError
from treeplex.models.games.patrol import Attacker, Patrol, PatrolGame, PatrolPlan, Scenario, Uncertainty, Unit
from treeplex.models.games.patrol.cases import Bound, extremes, measure_of, regret_cases, worst_cases
from treeplex.solvers import case_outcomes, solve_patrol, solve_robust, what_if

SEEDS = range(12)


def town(seed, types=2):
    """A random connected map with two units, two goals and some types of attackers."""
    rng = np.random.default_rng(seed)
    names = [f"n{number}" for number in range(6)]
    graph = nx.Graph([(names[n], names[int(rng.integers(n))]) for n in range(1, 6)])
    graph.add_edges_from(rng.choice(names, 2, replace=False).tolist() for _ in range(3))
    gangs = [
        Attacker(
            ["n0", "n5"] if rng.random() < 0.5 else ["n0"],
            {"n3": float(rng.integers(1, 5)), "n4": float(rng.integers(1, 5))},
            name=f"gang {number}",
            may_stay_away=bool(rng.random() < 0.7),
        )
        for number in range(types)
    ]
    limits = ["risk(first) <= 1/2"] if rng.random() < 0.5 else []
    units = [Unit(base="n1", name="first"), Unit(base="n2", name="second", detection=0.5)]
    return Patrol(graph, 5, units, gangs, limits=limits)


class Oracle:
    """The units' plans, and what each type of attackers earns for given values of goals, as cvxpy expressions."""

    def __init__(self, patrol):
        self.patrol, game = patrol, PatrolGame(patrol)
        self.plan = cp.Variable(game.sequence_form.treeplexes[1].num_sequences, nonneg=True)
        polytope = game.sequence_form.treeplexes[1]
        self.rows = [polytope.E @ self.plan == polytope.e]
        self.rows += [one.coefficients @ self.plan[one.indices] <= one.limit for one in game.constraints]

    def earns(self, number, values, **changed):
        """What one type earns at most, by the dual of its program."""
        gang = replace(self.patrol.attackers[number], goals=values, probability=1.0, **changed)
        form = PatrolGame(
            replace(self.patrol, attackers=[gang], limits=[], uncertainty=None, scenarios=[])
        ).sequence_form
        flows, potentials = form.treeplexes[0], cp.Variable(form.treeplexes[0].num_infosets + 1)
        self.rows.append(flows.E.T @ potentials >= form.payoffs.matrix_of(0) @ self.plan)
        return flows.e @ potentials

    def least(self, objective):
        problem = cp.Problem(cp.Minimize(objective), self.rows)
        problem.solve(solver=cp.HIGHS)
        return problem.value


def declared(patrol):
    return [dict(one.goals) for one in patrol.attackers]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("robust", ["worst", "cvar:0.6"])
def test_scenarios_and_intervals_agree_with_cvxpy(seed, robust):
    patrol = town(seed)
    rng = np.random.default_rng([seed, 1])
    box = np.sort(rng.random(2))
    chances = rng.dirichlet(np.ones(3))
    uncertain = Uncertainty(
        goals={"n3": (0.0, 6.0), "gang 1": {"n4": (0.0, 7.0)}}, types={"gang 0": tuple(box), "gang 1": (0.0, 1.0)}
    )
    nights = [
        Scenario("usual", float(chances[0])),
        Scenario("fair", float(chances[1]), goals={"n4": 8.0}),
        Scenario("rain", float(chances[2]), goals={"gang 0": {"n3": (1.0, 2.0)}}, types={"gang 0": 0.3, "gang 1": 0.7}),
    ]
    plan = solve_robust(PatrolGame(replace(patrol, uncertainty=uncertain, scenarios=nights)), robust)
    oracle, values = Oracle(patrol), declared(patrol)
    goals = [
        [{"n3": 6.0, "n4": values[0]["n4"]}, {"n3": 6.0, "n4": 7.0}],
        [{"n3": 6.0, "n4": 8.0}, {"n3": 6.0, "n4": 8.0}],
        [{"n3": 2.0, "n4": values[0]["n4"]}, {"n3": 6.0, "n4": 7.0}],
    ]
    ends = [[box, [0.0, 1.0]], [box, [0.0, 1.0]], [[0.3, 0.3], [0.7, 0.7]]]
    earned = cp.Variable(3)
    for number in range(3):
        # max Σ π V over the box and the simplex, by its dual
        level, above, below = cp.Variable(), cp.Variable(2, nonneg=True), cp.Variable(2, nonneg=True)
        low, high = np.array(ends[number]).T
        oracle.rows += [
            oracle.earns(kind, goals[number][kind]) <= level + above[kind] - below[kind] for kind in range(2)
        ]
        oracle.rows.append(earned[number] >= level + high @ above - low @ below)
    if robust == "worst":
        expected = oracle.least(cp.max(earned))
    else:
        tau = cp.Variable()
        expected = oracle.least(tau + chances @ cp.pos(earned - tau) / 0.4)
    assert plan.value == pytest.approx(expected, abs=1e-6)
    assert plan.solution.upper - plan.solution.lower <= 1e-7
    assert plan.solution.lower - 1e-6 <= expected <= plan.solution.upper + 1e-6
    losses = np.array([one.earns for one in plan.outcomes])
    if robust == "worst":
        assert losses.max() == pytest.approx(expected, abs=1e-6)
        assert plan.worst.case == ["usual", "fair", "rain"][int(losses.argmax())]
    else:
        assert min(t + chances @ np.maximum(losses - t, 0) / 0.4 for t in losses) == pytest.approx(expected, abs=1e-6)
    # The weights of the cases are the attackers' worst choice.
    weights = np.array([one.weight for one in plan.outcomes])
    assert weights @ losses == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kinds", [1, 2])
def test_no_value_in_the_intervals_has_more_regret(seed, kinds):
    """The regret at all points of a grid: cvxpy's least regret is that of the extreme cases."""
    patrol = town(seed, types=kinds)
    values = declared(patrol)
    spans = [{"n3": (max(0.0, one["n3"] - 1.0), one["n3"] + 1.0), "n4": (one["n4"], one["n4"] + 2.0)} for one in values]
    shares = [[1.0]] if kinds == 1 else [[0.3, 0.7], [0.5, 0.5], [0.6, 0.4]]
    uncertain = Uncertainty(
        goals={f"gang {number}": span for number, span in enumerate(spans)},
        types={} if kinds == 1 else {"gang 0": (0.3, 0.6)},
    )
    plan = solve_robust(PatrolGame(replace(patrol, uncertainty=uncertain)), "regret")
    axes = [np.linspace(*span[goal], 3) for span in spans for goal in ("n3", "n4")]
    chosen = list(product(*axes))
    if kinds == 2:  # a part of the grid, and the points where one goal of each type is worth most
        rng = np.random.default_rng(seed)
        chosen = [chosen[n] for n in rng.choice(len(chosen), 6, replace=False)]
        pairs = zip(axes[::2], axes[1::2], strict=True)
        ends = [[(one[0], two[0]), (one[-1], two[0]), (one[0], two[-1])] for one, two in pairs]
        chosen += [first + second for first, second in product(*ends)]
    oracle, regret = Oracle(patrol), cp.Variable()
    for point, share in product(chosen, shares):
        goals = [{"n3": point[2 * kind], "n4": point[2 * kind + 1]} for kind in range(kinds)]
        gangs = [replace(one, goals=goals[kind], probability=share[kind]) for kind, one in enumerate(patrol.attackers)]
        best = solve_patrol(PatrolGame(replace(patrol, attackers=gangs))).value
        earned = sum(share[kind] * oracle.earns(kind, goals[kind]) for kind in range(kinds))
        oracle.rows.append(regret >= earned - best)
    assert plan.value == pytest.approx(oracle.least(regret), abs=1e-6)
    assert max(one.regret for one in plan.outcomes) == pytest.approx(plan.value, abs=1e-7)
    assert min(one.regret for one in plan.outcomes) >= -1e-7


@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_of_entries_and_targets_agree_with_cvxpy(seed):
    patrol = town(seed, types=1)
    gang = replace(patrol.attackers[0], entries=["n0", "n5"], may_stay_away=True)
    patrol = replace(patrol, attackers=[gang])
    uncertain = Uncertainty(entries={"n0": (0.2, 0.5), "n5": (0.4, 0.9)}, targets={"n3": (0.1, 0.6)})
    plan = solve_robust(PatrolGame(replace(patrol, uncertainty=uncertain)), "worst")
    oracle, goals = Oracle(patrol), gang.goals
    cells = list(product(["n0", "n5"], ["n3", "n4"]))
    earned = [
        oracle.earns(0, {name: value * (name == goal) for name, value in goals.items()}, entries=[entry])
        for entry, goal in cells
    ]
    rows = np.array([[cell[0] == "n0" for cell in cells], [cell[0] == "n5" for cell in cells],
                     [cell[1] == "n3" for cell in cells]], dtype=float)  # fmt: skip
    level, above, below = cp.Variable(), cp.Variable(3, nonneg=True), cp.Variable(3, nonneg=True)
    oracle.rows += [one <= level + rows[:, cell] @ (above - below) for cell, one in enumerate(earned)]
    expected = oracle.least(level + np.array([0.5, 0.9, 0.6]) @ above - np.array([0.2, 0.4, 0.1]) @ below)
    assert plan.value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_attackers_of_whom_nothing_is_known_choose_freely(seed):
    patrol = town(seed, types=1)
    patrol = replace(patrol, attackers=[replace(patrol.attackers[0], entries=["n0", "n5"], may_stay_away=True)])
    unknown = Uncertainty(entries={"n0": (0.0, 1.0)}, targets={"n3": (0.0, 1.0)})
    plan = solve_robust(PatrolGame(replace(patrol, uncertainty=unknown)))
    assert plan.value == pytest.approx(solve_patrol(PatrolGame(patrol)).value, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("robust", ["worst", "cvar:0.5"])
def test_degenerate_intervals_give_the_declared_game(seed, robust):
    patrol = town(seed)
    value = solve_patrol(PatrolGame(patrol)).value
    goals = {f"gang {number}": one for number, one in enumerate(declared(patrol))}
    known = Uncertainty(goals=goals, types={"gang 0": (0.5, 0.5), "gang 1": 0.5})
    plan = solve_robust(PatrolGame(replace(patrol, uncertainty=known)), robust)
    assert plan.value == pytest.approx(value, abs=1e-9)
    forms = [game.sequence_form.payoffs.shape for game in (plan.solution.problem.game, PatrolGame(patrol))]
    assert forms[0] == forms[1]
    alike = replace(patrol, scenarios=[Scenario("one"), Scenario("two")])
    assert solve_robust(PatrolGame(alike), robust).value == pytest.approx(value, abs=1e-9)
    assert solve_robust(PatrolGame(replace(patrol, uncertainty=known)), "regret").value == pytest.approx(0.0, abs=1e-9)


def test_measures_are_ordered_and_levels_move_between_mean_and_worst():
    nights = [Scenario("usual", 0.7), Scenario("fair", 0.2, {"n3": 6.0}), Scenario("fire", 0.1, {"n4": 9.0})]
    game = PatrolGame(replace(town(3), scenarios=nights))
    values = [solve_robust(game, f"cvar:{level}").value for level in (0, 0.3, 0.6, 0.9, 1)]
    assert all(low <= high + 1e-9 for low, high in pairwise(values))
    assert values[-1] == pytest.approx(solve_robust(game).value, abs=1e-9)
    plan = solve_robust(game, "cvar:0")
    assert plan.value == pytest.approx(sum(one.probability * one.earns for one in plan.outcomes), abs=1e-7)


def test_the_plan_is_one_of_the_declared_game(tmp_path):
    game = PatrolGame(replace(town(1), uncertainty=Uncertainty(goals={"n3": (0.0, 9.0)})))
    plan = solve_robust(game)
    assert [one.earns for one in case_outcomes(game, plan.plan)] == pytest.approx([plan.value], abs=1e-7)
    nominal = case_outcomes(game, solve_patrol(game).profile)
    assert nominal[0].earns >= plan.value - 1e-7
    plan.report().save(tmp_path / "plan.html")
    assert "The cases" in (tmp_path / "plan.html").read_text()
    other = PatrolGame(replace(game.patrol, uncertainty=Uncertainty(goals={"n3": (0.0, 9.0)}, robust="regret")))
    assert (plan.robust, solve_robust(other).robust) == ("worst", "regret")
    PatrolPlan(game, plan.profile).save(tmp_path / "plan.npz")
    loaded = PatrolPlan.load(tmp_path / "plan.npz")
    assert loaded.patrol.uncertainty.goals == {"n3": [0.0, 9.0]}
    assert solve_robust(loaded.game).value == pytest.approx(plan.value, abs=1e-9)


def test_convex_limits_of_the_declaration_are_kept():
    patrol = replace(
        town(1, types=1), scenarios=[Scenario("usual", goals={"n3": 0.0}), Scenario("fair", goals={"n3": 9.0})]
    )
    usual = PatrolGame(patrol)
    least = usual.functionals["worst"].value(solve_patrol(usual).profile)
    free = solve_robust(usual)
    game = PatrolGame(replace(patrol, limits=[*patrol.limits, f"worst <= {least + 1e-6}"]))
    plan = solve_robust(game)
    assert game.functionals["worst"].value(plan.plan) <= least + 2e-6 < usual.functionals["worst"].value(free.plan)
    assert plan.value >= free.value - 1e-7


def test_changes_are_solved_with_the_same_measure():
    game = PatrolGame(replace(town(2), uncertainty=Uncertainty(goals={"n3": (0.0, 9.0)})))
    for robust in ("worst", "cvar:0.5"):
        plan = solve_robust(game, robust)
        (row,) = plan.what_if(["unit n3"])
        other = PatrolGame(replace(game.patrol, units=[*game.patrol.units, Unit(base="n3")]))
        assert row.value == pytest.approx(solve_robust(other, robust).value, abs=1e-7)
    with pytest.raises(UnsupportedProblemError, match="what_if of the plan"):
        what_if(plan.solution, ["unit n3"])
    with pytest.raises(UnsupportedProblemError, match="expected the declared one"):
        PatrolPlan(plan.solution.problem.game, plan.solution.profile)
    with pytest.raises(UnsupportedProblemError, match="regret compares"):
        solve_robust(game, "regret").what_if(["unit n3"])


@pytest.mark.slow
def test_regret_methods_solve_it_too():
    game = PatrolGame(replace(town(4), scenarios=[Scenario("usual"), Scenario("fair", goals={"n4": 6.0})]))
    exact = solve_robust(game)
    found = solve_robust(game, "worst", "ccfr" if game.constraints else "dcfr", tol=1e-3)
    assert found.solution.lower - 1e-7 <= exact.value <= found.solution.upper + 1e-7


def test_regret_with_unfinished_cases_has_wider_bounds_and_says_so():
    game = PatrolGame(replace(town(4), uncertainty=Uncertainty(goals={"n3": (0.0, 9.0)}), limits=[]))
    exact = solve_robust(game, "regret")
    rough = solve_robust(game, "regret", "dcfr", max_iterations=20, tol=1e-9)
    assert rough.solution.lower - 1e-9 <= exact.value <= rough.solution.upper + 1e-9
    assert rough.solution.gap > 1e-3
    assert not rough.solution.status.is_success


def test_extreme_probabilities():
    def bound(mask, low, high):
        return Bound("", np.array(mask, dtype=bool), low, high)

    box = [bound([1, 0, 0], 0.2, 0.5), bound([0, 1, 0], 0.1, 0.6), bound([0, 0, 1], 0.0, 0.4)]
    found = {tuple(one.round(9)) for one in extremes(box, 3)}
    assert found == {(0.2, 0.6, 0.2), (0.2, 0.4, 0.4), (0.5, 0.5, 0.0), (0.5, 0.1, 0.4), (0.4, 0.6, 0.0)}
    assert extremes([bound([1, 0], 0.3, 0.3)], 2) == pytest.approx(np.array([[0.3, 0.7]]))
    assert len(extremes([bound([1, 0], 0.3, 0.4), bound([0, 1], 0.1, 0.2)], 2, any_of_them=True)) == 0


@pytest.mark.parametrize(
    ("uncertain", "words"),
    [
        ({"goals": {"n33": (1, 2)}}, "uncertainty.goals.n33 is 'n33', which is not a node"),
        ({"goals": {"n0": (1, 2)}}, "uncertainty.goals.n0 has n0, which is not a goal of attackers"),
        ({"goals": {"n3": (5, 2)}}, "uncertainty.goals: n3 is (5, 2), expected a number, or a lower and an upper end"),
        ({"goals": {"n3": (50, 60)}}, "does not contain the declared value"),
        ({"goals": {"gong 0": {"n3": (0, 9)}}}, "which is not a type of attackers (did you mean gang 0?)"),
        ({"types": {"gang 9": (0, 1)}}, "which is not a type of attackers"),
        ({"types": {"gang 0": (0.6, 1.0), "gang 1": (0.5, 1.0)}}, "the lower ends sum to 1.1, expected at most 1"),
        ({"types": {"gang 0": (0.0, 0.4), "gang 1": (0.0, 0.5)}}, "the upper ends sum to 0.9, expected at least 1"),
        ({"types": {"gang 0": (0.2, 1.5)}}, "uncertainty.types: gang 0 is 1.5, expected a number from 0 to 1"),
        ({"types": [1]}, "uncertainty.types is [1], expected intervals by name"),
        ({"entries": {"n3": 0.5}}, "which is not an entry of attackers"),
        (
            {"robust": "wurst"},
            "uncertainty.robust is 'wurst' (did you mean worst?), expected worst, cvar:LEVEL or regret",
        ),
    ],
)
def test_wrong_intervals_are_refused(uncertain, words):
    with pytest.raises(InvalidGameError) as error:
        PatrolGame(replace(town(0), uncertainty=Uncertainty(**uncertain)))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("nights", "words"),
    [
        ([Scenario("a"), Scenario("a")], "scenarios[2].name is 'a' twice"),
        ([Scenario("a", 0.5), Scenario("b", 0.6)], "the probabilities of scenarios sum to 1.1, expected 1"),
        ([Scenario("a", 0.5), Scenario("b")], "scenarios[2].probability is None"),
        ([Scenario("a", goals={"n3": "much"})], "scenarios[1].goals: n3 is 'much'"),
        ([Scenario(7)], "scenarios[1].name is 7, expected printable text"),
        ([Scenario("a\nb")], "scenarios[1].name is 'a\\nb', expected printable text"),
        (["a"], "expected a list of Scenario"),
    ],
)
def test_wrong_scenarios_are_refused(nights, words):
    with pytest.raises(InvalidGameError) as error:
        PatrolGame(replace(town(0), scenarios=nights))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "cvar", "cvar:2", "cvar:x", "worst:1", "regert", 3])
def test_unknown_measures_are_refused(text):
    with pytest.raises(InvalidGameError, match="expected"):
        measure_of(text)


def test_what_robust_patrols_do_not_cover_is_refused():
    patrol = replace(town(0), uncertainty=Uncertainty(goals={"n3": (0.0, 9.0)}))
    with pytest.raises(InvalidConstraintError, match="on attackers"):
        solve_robust(PatrolGame(replace(patrol, limits=["visits(n4, gang 0) <= 0.1"])))
    with pytest.raises(UnsupportedProblemError, match="cannot fail"):
        solve_robust(PatrolGame(replace(patrol, failure=0.1)), "regret")
    with pytest.raises(InvalidStrategyError, match="strategy of the attackers"):
        case_outcomes(PatrolGame(patrol), solve_patrol(PatrolGame(patrol)).profile[0])
    assert solve_robust(PatrolGame(replace(patrol, failure=0.1))).value > 0.0
    nobody = solve_robust(PatrolGame(replace(patrol, limits=["visits(n3) >= 99"])), "regret")
    assert nobody.solution.infeasibility is not None
    assert not nobody.outcomes
    with pytest.raises(UnsupportedProblemError, match="no worst case"):
        _ = nobody.worst


def test_many_extreme_cases_are_refused_before_they_are_solved():
    many = [Attacker(["n0"], {"n3": 1.0, "n4": 1.0}, name=f"gang {number}") for number in range(9)]
    patrol = replace(town(0), attackers=many, uncertainty=Uncertainty(goals={"n3": (0, 2), "n4": (0, 2)}))
    assert len(worst_cases(patrol)[1]) == 1
    with pytest.raises(UnsupportedProblemError, match="extreme cases"):
        regret_cases(patrol)
