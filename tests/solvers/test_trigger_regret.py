"""The method ``trigger-regret``: its certificates against other computations, and how its runs end."""

import json

import numpy as np
import pytest
from random_trees import seeded_tree, to_game

from treeplex import (
    EFCCE,
    EFCE,
    NFCCE,
    NFCE,
    EpsilonNash,
    Game,
    Profile,
    SequenceForm,
    Status,
    UnsupportedProblemError,
    load_game,
    parse_constraint,
    solve,
)
from treeplex.models.correlation import CorrelationPlan, Deviations, SequencePairs, StrategyMixture
from treeplex.models.problems import SEFCE
from treeplex.seqform import EmpiricalPlay
from treeplex.solvers import CorrelatedRun, HiGHS, Options
from treeplex.solvers.exact import correlation

CONCEPTS = (EFCE, EFCCE, NFCCE)
THREE = load_game("kuhn:players=3")


def general_tree(seed, players=2):
    return to_game(seeded_tree(seed, num_players=players, zero_sum=False, depth=5, size=20))


@pytest.mark.parametrize("seed", range(8))
def test_the_gains_of_a_mixture_are_those_of_its_correlation_plan(seed):
    game = general_tree(seed)
    run = CorrelatedRun(game)
    run.run(12)
    pairs, mixture = SequencePairs(game.sequence_form), run.mixture
    plan = np.mean([x[pairs.first] * y[pairs.second] for x, y in zip(*mixture.plans, strict=True)], axis=0)
    for decides in ("efce", "efcce", "nfcce"):
        gains = [Deviations(pairs, player, decides).regret(plan) for player in (0, 1)]
        assert mixture.regrets(decides) == pytest.approx(gains, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_gains_before_a_game_of_any_number_of_players_are_those_of_empirical_play(seed):
    game = general_tree(seed, players=2 + seed % 3)
    if game.num_players < 2:
        pytest.skip("the tree has one player")
    run, play = CorrelatedRun(game), EmpiricalPlay(game)
    run.run(10)
    for profile in zip(*run.mixture.plans, strict=True):
        play.add_plans(profile)
    coarse, middle, fine = (run.mixture.regrets(decides) for decides in ("nfcce", "efcce", "efce"))
    assert coarse == pytest.approx(np.maximum(play.gains, 0.0), abs=1e-12)
    assert fine == pytest.approx(run.regrets, abs=1e-12)
    assert all(one <= two + 1e-12 <= three + 2e-12 for one, two, three in zip(coarse, middle, fine, strict=True))


@pytest.mark.parametrize("concept", CONCEPTS)
def test_openspiel_finds_the_same_gains_of_three_players(concept):
    pyspiel = pytest.importorskip("pyspiel")
    game = load_game("openspiel:kuhn_poker(players=3)")
    solution = solve(concept(game), "trigger-regret", tol=0.0, max_iterations=20)
    device = []
    for entry in solution.to_dict()["recommendations"]:
        table = {}
        for player, treeplex in enumerate(game.sequence_form.treeplexes):
            told = {(infoset, action): chance for infoset, action, chance in entry["players"][player]}
            for infoset, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
                numbers = game.rules.legal_numbers(player, infoset)
                chances = [told.get((str(infoset), str(action)), 0.0) for action in actions]
                if not any(chances):  # excluded by the player's own strategy
                    chances[0] = 1.0
                table[infoset] = list(zip(numbers, chances, strict=True))
        device.append((entry["probability"], pyspiel.TabularPolicy(table)))
    judged = pyspiel.cce_dist(pyspiel.load_game("kuhn_poker(players=3)"), device)
    assert judged.on_policy_values == pytest.approx(solution.value, abs=1e-9)
    assert judged.deviation_incentives == pytest.approx(solution.state.regrets("nfcce"), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_objective_exceeds_the_optimum_by_more_than_the_priced_gains(seed):
    """At the prices of the linear program, every plan earns at most the optimum plus the gains of its deviations."""
    problem = EFCE(general_tree(seed))
    options = Options(tol=1e-9, violation=1e-9, max_iterations=10**6, time_limit=60.0)
    best = correlation.run(HiGHS(), problem, options)
    upper = best.proof[1].upper
    found = solve(problem, "trigger-regret", tol=1e-2)
    prices = {name: array for name, array in best.dual_certificate.items() if name != "plan"}
    priced = problem.certify(found.profile, {}, prices | {"plan": found.state.columns})
    slack = sum(
        float(prices[f"prices of player {player}"] @ np.maximum(each.gains(found.state.values), 0.0))
        for player, each in enumerate(problem.deviations)
        if f"prices of player {player}" in prices
    )
    assert max(found.regrets) <= 1e-2
    assert priced.regrets == pytest.approx(found.regrets, abs=1e-9)
    assert found.objective <= priced.upper + 1e-9
    assert priced.upper <= upper + slack + 1e-8


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("name", ["kuhn:players=3", "kuhn", "battleship:width=2,shots=1"])
def test_answers_meet_the_tolerance_and_claim_no_optimum(name, concept):
    game = load_game(name)
    solution = solve(concept(game), "trigger-regret", tol=0.05)
    assert solution.status is Status.CONVERGED
    assert max(solution.regrets) <= 0.05
    assert (solution.lower, solution.upper, solution.gap) == (solution.objective, None, None)
    assert solution.objective == pytest.approx(sum(solution.value), abs=1e-12)
    assert isinstance(solution.state, CorrelationPlan if game.num_players == 2 else StrategyMixture)
    assert len(solution.state.recommend(seed=2)) == game.num_players
    page = solution.report().to_html()
    assert "Another equilibrium may have a larger one" in page
    assert "trigger-regret minimisation" in page


def test_the_payoff_of_a_player_is_reported_if_asked_for():
    solution = solve(EFCE(THREE, maximise="1"), "trigger-regret", tol=0.1)
    assert solution.objective == solution.value[1]


@pytest.mark.parametrize("name", ["kuhn:players=3", "kuhn"])
def test_json_has_what_the_mediator_draws(name):
    game = load_game(name)
    solution = solve(EFCE(game), "trigger-regret", tol=0.1)
    record = json.loads(solution.to_json())
    entries, treeplexes = record["recommendations"], game.sequence_form.treeplexes
    assert sum(one["probability"] for one in entries) == pytest.approx(1.0)
    paid = np.zeros(game.num_players)
    for one in entries:
        plans = []
        for treeplex, rows in zip(treeplexes, one["players"], strict=True):
            behaviour = treeplex.uniform_behaviour()
            for infoset, action, *chance in rows:
                first = treeplex.sequence(infoset, treeplex.action_labels[treeplex.infoset_labels.index(infoset)][0])
                if not any(row[0] == infoset for row in rows[: rows.index([infoset, action, *chance])]):
                    behaviour[first : first + len(treeplex.action_labels[treeplex.infoset_labels.index(infoset)])] = 0.0
                behaviour[treeplex.sequence(infoset, action)] = chance[0] if chance else 1.0
            plans.append(treeplex.plan(behaviour))
        paid += one["probability"] * game.sequence_form.expected_payoffs(plans)
    assert paid == pytest.approx(record["value"], abs=1e-9)
    assert (record["upper"], record["gap"]) == (None, None)
    assert max(record["regrets"]) == record["epsilon"] <= 0.1


def test_long_runs_list_no_profiles():
    form = THREE.sequence_form
    plans = tuple(np.tile(treeplex.uniform_plan(), (11_000, 1)) for treeplex in form.treeplexes)
    assert StrategyMixture(form, plans).record() is None
    assert len(StrategyMixture(form, tuple(each[:3] for each in plans)).record()) == 3


@pytest.mark.parametrize("asked", [{"max_iterations": 5}, {"callback": lambda report: report.iterations >= 16}])
def test_a_stopped_run_returns_its_mixture(asked):
    solution = solve(EFCE(THREE), "trigger-regret", tol=1e-9, **asked)
    assert solution.status in (Status.ITERATION_LIMIT, Status.INTERRUPTED)
    assert solution.state.num_profiles == solution.iterations >= 5
    assert EFCE(THREE).certify(Profile.uniform(THREE)).epsilon > solution.certificate.epsilon
    assert f"the mixture of {solution.iterations} iterations" in solution.message


def test_without_iterations_the_answer_is_uniform_play():
    solution = solve(EFCE(THREE), "trigger-regret", max_iterations=0)
    assert (solution.iterations, solution.status) == (0, Status.ITERATION_LIMIT)
    assert solution.regrets == EFCE(THREE).certify(Profile.uniform(THREE)).regrets
    assert "uniform play" in solution.message


def test_games_that_linear_programs_refuse_point_to_the_method():
    with pytest.raises(UnsupportedProblemError, match="more than two players: use trigger-regret"):
        solve(EFCE(THREE))
    leduc = load_game("leduc:merge_suits=true")
    with pytest.raises(UnsupportedProblemError, match=r"form a triangle.*use the method trigger-regret"):
        solve(NFCCE(leduc))
    solution = solve(NFCCE(leduc), "trigger-regret", tol=0.0, max_iterations=3)
    assert isinstance(solution.state, StrategyMixture)
    assert solution.certificate.epsilon > 0.0


def test_what_the_method_cannot_do_is_refused():
    kuhn = load_game("kuhn")
    for problem in (NFCE(kuhn), SEFCE(kuhn)):
        with pytest.raises(UnsupportedProblemError, match=f"trigger-regret cannot solve {problem.name}: use highs"):
            solve(problem, "trigger-regret")
    with pytest.raises(UnsupportedProblemError, match="cannot solve efce with constraints: use highs"):
        solve(EFCE(kuhn, parse_constraint("0/K_:b <= 0.5", kuhn)), "trigger-regret")
    with pytest.raises(UnsupportedProblemError, match="cannot solve epsilon-nash"):
        solve(EpsilonNash(THREE), "trigger-regret")
    for kind in (NFCE, SEFCE):
        with pytest.raises(UnsupportedProblemError, match="needs two players, but kuhn:players=3 has 3"):
            kind(THREE)


def test_players_without_decisions_and_ties_are_allowed():
    form = SequenceForm.from_payoff_matrix([[1.0, 1.0]], [[0.0, 0.0]])
    solution = solve(EFCE(Game.from_sequence_form(form)), "trigger-regret")
    assert (solution.status, solution.value, solution.regrets) == (Status.CONVERGED, (1.0, 0.0), (0.0, 0.0))
