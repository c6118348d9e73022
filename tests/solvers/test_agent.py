"""Agents: what they decide and when, held against the solved response, against simulation and against its theorems."""

import json
import math

import numpy as np
import pytest
from effort import examples, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game

from treeplex import (
    CDBR,
    CDBRNE,
    CDRNR,
    SES,
    Agent,
    BestResponse,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    SolverError,
    Strategy,
    UnknownMethodError,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    solve,
)
from treeplex.cli import main
from treeplex.solvers import CFRValue, DepthLimitedCFR, encounter
from treeplex.solvers.opponents.strategies import opponent_strategy

KUHN = load_game("kuhn")
LEDUC = load_game("leduc:merge_suits=true")
GOOFSPIEL = load_game("goofspiel:cards=3")


def decided_in_order(agent, infosets):
    labels = agent.problem.view().own.infoset_labels
    for infoset in infosets:
        agent.act(labels[infoset])
    return agent


@pytest.mark.parametrize("along", ["level", "path"])
@pytest.mark.parametrize("player", [0, 1])
def test_decisions_collected_are_the_response_of_the_linear_programs(player, along):
    model = opponent_strategy("random:seed=3", LEDUC, 1 - player)
    problem = CDRNR(LEDUC, model, p=0.5, lookahead=1, along=along)
    agent, solution = Agent(problem, "lp"), solve(problem, "lp")
    certificate = agent.certificate()
    assert certificate.gain == pytest.approx(solution.gain, abs=1e-9)
    assert certificate.exploitability == pytest.approx(solution.exploitability, abs=1e-9)
    assert [step.objective for step in certificate.steps] == pytest.approx(list(solution.steps), abs=1e-9)
    np.testing.assert_allclose(agent.strategy().plan, solution.profile[player].plan, atol=1e-9)


@pytest.mark.parametrize("along", ["level", "path"])
@pytest.mark.parametrize("method", ["cfr+", "pcfr+"])
def test_the_order_of_decisions_makes_no_difference(method, along):
    problem = CDRNR(LEDUC, Strategy.uniform(LEDUC, 1), p=0.7, lookahead=1, along=along)
    count = problem.view().own.num_infosets
    forwards = decided_in_order(Agent(problem, method), range(count)).strategy()
    for order in (range(count - 1, -1, -1), np.random.default_rng(1).permutation(count).tolist()):
        np.testing.assert_array_equal(
            decided_in_order(Agent(problem, method), order).strategy().behaviour, forwards.behaviour
        )


def test_an_agent_decides_for_what_it_is_asked_about_and_for_what_came_before():
    agent = Agent(CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.5, lookahead=1, along="path"))
    assert agent.decisions == ()
    agent.act("K_pb")
    assert [decision.level for decision in agent.decisions] == [0, 2]
    public = KUHN.public_tree
    asked = KUHN.sequence_form.treeplexes[0].find_infoset("K_pb")
    assert agent.decisions[1].states == (int(public.infoset_states[0][asked]),)

    agent = Agent(CDBR(GOOFSPIEL, Strategy.uniform(GOOFSPIEL, 0), lookahead=1, along="path"))
    first = GOOFSPIEL.sequence_form.treeplexes[1].infoset_labels[0]
    agent.act(first)
    assert len(agent.decisions) == 1 < agent.num_steps


def test_nothing_is_solved_twice_until_the_model_changes():
    uniform, other = Strategy.uniform(KUHN, 1), opponent_strategy("random:seed=1", KUHN, 1)
    agent = Agent(CDBR(KUHN, uniform, lookahead=2), tolerance=1e-6)
    first = agent.strategy()
    decisions = agent.decisions
    agent.new_game()
    assert agent.strategy() is not first
    assert agent.decisions == decisions
    agent.new_game(other)
    assert agent.decisions == ()
    answer = agent.certificate()
    assert not any(decision.warm for decision in agent.decisions)
    assert answer.gain == pytest.approx(solve(CDBR(KUHN, other, lookahead=2), "lp").gain, abs=1e-5)
    with pytest.raises(InvalidStrategyError):
        agent.new_game(Strategy.uniform(LEDUC, 1))


@pytest.mark.parametrize("along", ["level", "path"])
def test_exact_evaluation_and_simulation_agree(along):
    model = Strategy.uniform(LEDUC, 1)
    agent = Agent(CDRNR(LEDUC, model, p=0.5, lookahead=1, along=along))
    paid = encounter(LEDUC, [agent, model], games=4000, seed=5)
    assert np.array_equal(paid[:, 0], -paid[:, 1])
    assert paid[0].tolist() == encounter(LEDUC, [agent, model], games=1, seed=5)[0].tolist()
    expected = expected_payoffs(LEDUC, Profile([agent.strategy(), model]))[0]
    assert agent.certificate().opponent_value == pytest.approx(expected, abs=1e-12)
    # 3.9 standard errors: one seed in 10,000 would be further off.
    assert abs(paid[:, 0].mean() - expected) <= 3.9 * paid[:, 0].std() / math.sqrt(len(paid))


def test_two_agents_meet():
    nash = solve(Nash(KUHN)).profile
    one = Agent(CDBR(KUHN, nash[1], lookahead=1))
    two = Agent(CDBR(KUHN, Strategy.uniform(KUHN, 0), lookahead=1))
    paid = encounter(KUHN, [one, two], games=3000, seed=2)
    expected = expected_payoffs(KUHN, Profile([one.strategy(), two.strategy()]))[0]
    assert abs(paid[:, 0].mean() - expected) <= 3.9 * paid[:, 0].std() / math.sqrt(len(paid))


@examples(25)
@given(seed=st.integers(0, 10**6), p=st.sampled_from([0.0, 0.25, 0.5, 0.9]), player=st.sampled_from([0, 1]))
def test_an_agent_along_levels_is_as_safe_as_its_decisions_are_good(seed, p, player):
    game = to_game(seeded_tree(seed))
    try:
        game.public_tree  # noqa: B018 - some games have none
    except (InvalidGameError, UnsupportedProblemError):
        return
    model = opponent_strategy(f"random:seed={seed}", game, 1 - player)
    agent = Agent(CDRNR(game, model, p=p, lookahead=1), max_iterations=300, tolerance=0.0)
    certificate = agent.certificate()
    error = sum(decision.gap for decision in agent.decisions)
    assert p * certificate.gain - (1 - p) * certificate.exploitability >= -error - 1e-9


def test_mixtures_with_an_equilibrium_and_searches_have_agents_too():
    model = Strategy.uniform(LEDUC, 1)
    for problem in (CDBRNE(LEDUC, model, p=0.5, lookahead=1), SES(LEDUC, model, p=0.5)):
        agent, solution = Agent(problem, "lp"), solve(problem, "lp")
        assert sum(agent.act("K_").values()) == pytest.approx(1.0)
        assert agent.certificate().gain == pytest.approx(solution.gain, abs=1e-8)
        np.testing.assert_allclose(agent.strategy().plan, solution.profile[0].plan, atol=1e-8)


def test_without_lookahead_to_lose_an_agent_is_a_best_response():
    model = opponent_strategy("random:seed=4", KUHN, 0)
    agent = Agent(CDBR(KUHN, model, lookahead=9), tolerance=1e-6)
    assert agent.certificate().gain == pytest.approx(solve(BestResponse(KUHN, model)).gain, abs=1e-5)
    # The first step sees everything: the others only go on from it.
    assert [decision.iterations > 0 for decision in agent.decisions] == [True] + [False] * (agent.num_steps - 1)


@pytest.mark.parametrize("gadget", ["reach-resolving", "none", "resolving", "max-margin", "reach-max-margin"])
def test_other_gadgets_begin_cold(gadget):
    problem = CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.3, lookahead=1, gadget=gadget)
    agent = Agent(problem, tolerance=1e-5)
    agent.strategy()
    assert not any(decision.warm for decision in agent.decisions)
    assert max(decision.gap for decision in agent.decisions) <= 1e-5


def test_a_time_budget_ends_a_decision():
    problem = CDRNR(LEDUC, Strategy.uniform(LEDUC, 1), p=0.5, lookahead=3)
    agent = Agent(problem, seconds=0.0, tolerance=0.0)
    agent.act("K_")
    assert agent.decisions[0].iterations == 32  # the first round
    assert agent.decisions[0].gap > 0.0
    with pytest.raises(SolverError, match="no decision was found at level 0 within the limits"):
        Agent(problem, "lp", seconds=0.0).act("K_")


def test_what_is_no_agent_is_refused_in_one_line():
    problem = CDBR(KUHN, Strategy.uniform(KUHN, 1), lookahead=1)
    with pytest.raises(UnsupportedProblemError, match="computed in steps"):
        Agent(Nash(KUHN))
    with pytest.raises(UnsupportedProblemError, match="highs cannot solve cdbr"):
        Agent(problem, "highs")
    for limits in ({"seconds": -1}, {"tolerance": math.nan}, {"max_iterations": "many"}):
        with pytest.raises(UnknownMethodError, match=f"{next(iter(limits))} is .*expected a number of at least 0"):
            Agent(problem, **limits)
    agent = Agent(problem)
    with pytest.raises(InvalidStrategyError, match="player 0 has no infoset 'A_'"):
        agent.act("A_")
    uniform = Strategy.uniform(KUHN, 1)
    for seats in ([agent], [agent, agent], [uniform, agent], [agent, "uniform"], [agent, Strategy.uniform(LEDUC, 1)]):
        with pytest.raises(InvalidStrategyError):
            encounter(KUHN, seats, 1)
    with pytest.raises(InvalidStrategyError, match="games is -1"):
        encounter(KUHN, [agent, uniform], -1)


def test_an_agent_sits_in_a_seat_by_its_text():
    problem = CDRNR(KUHN, opponent_strategy("cfr:iterations=3", KUHN, 0), p=0.5, lookahead=1, gadget="resolving")
    text = "cdrnr:opponent=(cfr:iterations=3),p=1/2,lookahead=1,gadget=resolving,method=lp"
    np.testing.assert_array_equal(opponent_strategy(text, KUHN, 1).behaviour, Agent(problem, "lp").strategy().behaviour)
    nested = opponent_strategy("cdbr:opponent=(cdbr:opponent=uniform,lookahead=1),lookahead=1", KUHN, 0)
    assert nested.player == 0


def test_an_agent_plays_on_the_command_line(capsys, tmp_path):
    arguments = ["leduc", "--seat0", "cdrnr:opponent=uniform,p=0.5,lookahead=3", "--seat1", "uniform", "--games", "500"]
    assert main(["play", *arguments, "--out", str(tmp_path / "log.jsonl"), "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["interval"][0][0] <= record["expected"][0] <= record["interval"][0][1]
    assert record["expected"][0] > 1.3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cdrnr:opponent=uniform,p=0.5", "cdrnr: lookahead is missing, expected a whole number of at least 1"),
        ("cdrnr:opponent=uniform,p=2,lookahead=3", "opponent cdrnr: p = 2; expected a number from 0 to 1"),
        ("cdbr:opponent=uniform,lookahead=0", "opponent cdbr: lookahead = 0; expected an integer of at least 1"),
        ("cdbr:opponent=uniform,lookahead=1,gadget=full", "opponent cdbr: unknown parameter 'gadget'"),
        (
            "cdrnr:opponent=uniform,p=0,lookahead=1,gadget=ful",
            "opponent cdrnr: gadget = ful (did you mean full?); expected one of full, reach-resolving",
        ),
        ("cdbr:opponent=uniform,lookahead=1,method=highs", "method highs cannot solve cdbr"),
        ("cdbr:opponent=unifrm,lookahead=1", "unknown opponent 'unifrm' (did you mean uniform?)"),
        (
            "cdbr:opponent=uniform,lookahead=1,seconds=-1",
            "opponent cdbr: seconds = -1; expected a number of at least 0",
        ),
        ("ses:opponent=uniform,p=0.5,level=40", "ses: level is 40, expected one from 0 to 2"),
    ],
)
def test_wrong_agents_are_refused_in_one_line(text, message, capsys, tmp_path):
    arguments = ["kuhn", "--seat0", text, "--seat1", "uniform", "--games", "5", "--out", str(tmp_path / "log.jsonl")]
    assert main(["play", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err


@thorough
def test_an_agent_can_have_a_value_function_below_its_depth_limit():
    problem = CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.5, lookahead=1)
    agent = Agent(problem, DepthLimitedCFR(value=CFRValue(iterations=500)), tolerance=1e-4, max_iterations=3_000)
    exact = Agent(problem, "lp")
    assert sum(agent.act("K_").values()) == pytest.approx(1.0)
    assert len(agent.decisions) == 1
    assert agent._solver.queries > 0
    found, right = agent.certificate(), exact.certificate()
    assert found.steps[0].objective == pytest.approx(right.steps[0].objective, abs=0.02)
