"""Depth-limited responses on spots of hold'em: the same numbers as on their histories, and values below the street."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from treeplex import CDRNR, SES, Game, Profile, Status, Strategy, load_game, solve
from treeplex.models.depth_limited import LeafStates, StepAnswer, partition_roots
from treeplex.models.depth_limited.public_subgames import PublicCut, TrunkAccount, pair_payoffs
from treeplex.models.games.holdem import HoldemSpot, SpotRules
from treeplex.seqform.errors import InvalidOptionError, SolverError, UnsupportedProblemError
from treeplex.seqform.evaluate import worst_case
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.public_profile import PublicProfile
from treeplex.seqform.rules import TERMINAL
from treeplex.solvers import BlueprintValue, DepthLimitedCFR, LinearValue
from treeplex.solvers.depth_limited.public_trunk import states_of

RANGES = ["9c9s, AdKd", "KhKs, 8c8s, Td6d"]
SPOT = HoldemSpot("9d8d7h6c", RANGES, 100, 100, bets={"bet": "50%", "raise": ""}, deck="short")
TURN = SPOT.game
VALUE = 8.0  # about the value of the game to player 0
HISTORIES = Game("turn", rules=SpotRules(SPOT))


def border_after_the_turn():
    public = TURN.public_tree
    roots = partition_roots(public, "chance", "test")
    return LeafStates.of(TURN, public.subgames_of(roots) < 0)


def test_the_leaf_table_of_a_spot_is_that_of_its_histories():
    table, public = TURN.public_form.histories
    shape = TURN.public_form.num_sequences
    for player in (0, 1):
        paid = sp.coo_array((table.chance * table.payoffs[:, player], table.sequences.T), shape=shape).toarray()
        assert np.abs(paid - (1 - 2 * player) * TURN.sequence_form.A.toarray()).max() < 1e-12
    assert len(table) == len(HISTORIES.sequence_form.leaves)
    assert table.chance.sum() > 1.0  # one probability for each way to bet
    assert len(public.leaf_states) == len(table)


@pytest.mark.parametrize(
    ("player", "gadget"), [(0, "resolving"), (0, "reach-resolving"), (1, "max-margin"), (1, "none")]
)
def test_gadgets_on_a_spot_are_those_on_its_histories(player, gadget):
    along = "path" if gadget == "reach-resolving" else "level"
    found = [
        solve(CDRNR(game, Strategy.uniform(game, 1 - player), p=0.4, level="chance", gadget=gadget, along=along), "lp")
        for game in (TURN, HISTORIES)
    ]
    assert found[0].gain == pytest.approx(found[1].gain, abs=1e-6)
    assert found[0].exploitability == pytest.approx(found[1].exploitability, abs=1e-6)
    assert found[0].steps == pytest.approx(found[1].steps, abs=1e-6)
    assert (found[0].safety_bound is None) == (gadget != "reach-resolving")


def test_safe_search_on_a_spot_is_that_on_its_histories():
    first, second = (solve(SES(game, Strategy.uniform(game, 1), p=0.2)) for game in (TURN, HISTORIES))
    assert first.objective == pytest.approx(second.objective, abs=1e-6)


def test_blueprint_values_are_payoffs_of_the_blueprint():
    border, profile = border_after_the_turn(), random_profile(1)
    form, sides = TURN.sequence_form, TURN.sequence_form.treeplexes
    value = BlueprintValue(profile)
    ranges = tuple(profile[player].plan[border.way_sequences[player]] for player in (0, 1))
    answer = value.query(border, ranges)
    assert answer.error is None
    assert answer.behaviours is None
    # All payoffs that are not at the border are those of pairs of sequences on the turn.
    turn = [np.setdiff1d(np.arange(each.num_sequences), border.sequences[player]) for player, each in enumerate(sides)]
    above = form.A[turn[0]][:, turn[1]]
    plans = [profile[player].plan[turn[player]] for player in (0, 1)]
    whole = float(profile[0].plan @ (form.A @ profile[1].plan))
    for player in (0, 1):
        paid = float(plans[0] @ above @ plans[1]) * (1 - 2 * player) + ranges[player] @ answer.values[player]
        assert paid == pytest.approx((1 - 2 * player) * whole, abs=1e-9)
    with pytest.raises(SolverError, match="belongs to a game other than holdem"):
        BlueprintValue(Profile.uniform(load_game("kuhn"))).query(border, ranges)


def test_checkdown_values_are_equities():
    border = border_after_the_turn()
    value = BlueprintValue.checkdown(TURN)
    values = value.query(border, tuple(np.ones(ways) for ways in border.num_ways)).values
    # After two checks nobody has put in more than the pot, and the range's equity is the spot's.
    checked = [int(border.way_states[0][at]) for at, label in enumerate(border.way_labels(0)) if label[1] == "check"]
    won = values[0][np.isin(border.way_states[0], np.unique(checked))].sum()
    assert won == pytest.approx(SPOT.pot * (SPOT.equity[0] - 0.5), abs=1e-9)


def problem_of(player):
    opponent, value = Strategy.uniform(TURN, 1 - player), VALUE * (1 - 2 * player)
    return CDRNR(TURN, opponent, p=0.3, level="chance", gadget="reach-resolving", along="path", game_value=value)


@cache
def first_optimum(player):
    return solve(replace(problem_of(player), gadget="full", along="level"), "lp").steps[0]


def random_profile(seed):
    rng = np.random.default_rng(seed)
    sides = TURN.sequence_form.treeplexes
    return Profile(
        [Strategy(TURN, player, each.behaviour(rng.random(each.num_sequences))) for player, each in enumerate(sides)]
    )


@pytest.mark.parametrize("player", [0, 1])
def test_a_cut_spot_has_the_accounts_of_its_histories(player):
    form, other, profile = TURN.public_form, 1 - player, random_profile(3)
    public, cut = PublicProfile.from_profile(form, profile), PublicCut(form, player)
    assert len(cut.events) == 5  # two of them are all-in
    assert len(cut.exits) == 3
    trunk = cut.trunk_form({event: pair_payoffs(public, event) for event in cut.events})
    played = PublicProfile(trunk, lambda node: public.behaviour(int(cut.trunk[node])))
    assert played.value(0) == pytest.approx(public.value(0), abs=1e-9)
    earned = {
        root: public.counterfactual_values(other, root, best=True)
        for event in cut.events
        for root in form.children[event].tolist()
    }
    account = TrunkAccount.of(cut, public, earned, public)
    assert account.best == pytest.approx(public.best_response_values[other], abs=1e-9)
    problem = CDRNR(TURN, profile[other], p=0.4, level="chance", gadget="reach-resolving", along="path", game_value=0.0)
    run, plan = problem.start(), profile[player].plan
    program = run.program(0)
    assert program.guaranteed(plan) == pytest.approx(-(0.4 * account.modelled + 0.6 * account.best), abs=1e-9)
    run.decide(0, program, StepAnswer(plan, program.flow(program.reply.uniform_behaviour())))
    inner = np.flatnonzero(form.players != TERMINAL)
    for number, step in enumerate(problem.steps[1:], 1):
        # The gadget's entries are paid relative to the promises.
        program, roots = run.program(number), run.subgames(step)
        promised = -program.bonus[roots.above("path")[1]]
        node = int(inner[step.states[0]])
        sequences = form.sequences(other, node)
        states = [int(np.flatnonzero(sequences == way)[0]) for way in roots.way_sequences.tolist()]
        assert promised == pytest.approx(-(account.promises[node] * form.weights[other])[states], abs=1e-9)


@pytest.mark.parametrize("player", [0, 1])
def test_the_street_s_own_loops_find_what_programs_find(player):
    solution = solve(problem_of(player), "cfr+", tol=0.05)
    assert solution.status is Status.CONVERGED
    assert len(solution.certificate.steps) == 97
    assert solution.exploitability <= solution.safety_bound
    first = solution.certificate.steps[0]
    assert first.objective - 1e-9 <= first_optimum(player) <= first.upper + 1e-9
    on_histories = Strategy.from_dict(HISTORIES, player, solution.profile[player].to_dict())
    assert worst_case(HISTORIES, on_histories) == pytest.approx(solution.game_value - solution.exploitability, abs=1e-9)


@pytest.mark.parametrize("value", ["checkdown", "blueprint", "linear"])
def test_the_bound_holds_whatever_the_values_are(value):
    problem = problem_of(0)
    values = {
        "checkdown": lambda: BlueprintValue.checkdown(TURN),
        "blueprint": lambda: BlueprintValue(random_profile(1)),
        "linear": lambda: LinearValue.train_on_street(TURN, examples=20, iterations=30),
    }
    solution = solve(problem, DepthLimitedCFR("cfr+", values[value]()), tol=0.5, max_iterations=60)
    assert solution.exploitability <= solution.safety_bound
    assert len(solution.certificate.steps) == len(problem.steps) == 97
    first = solution.certificate.steps[0]
    assert first.objective - 1e-9 <= first_optimum(0) <= first.upper + 1e-9
    assert solution.value_errors[0] is None


@pytest.mark.slow
def test_steps_in_sequence_form_take_the_same_values():
    value = DepthLimitedCFR("cfr+", BlueprintValue.checkdown(TURN))
    ours = solve(problem_of(0), value, tol=0.0, max_iterations=200)
    whole = replace(problem_of(0), gadget="full", along="level")  # whose first step is the same
    theirs = solve(whole, value, tol=0.0, max_iterations=200)
    assert ours.steps[0] == pytest.approx(theirs.steps[0], abs=0.05)
    assert ours.certificate.steps[0].upper == pytest.approx(theirs.certificate.steps[0].upper, abs=0.05)


def test_a_coarser_spot_may_be_the_blueprint():
    coarse = HoldemSpot(
        "9d8d7h6c", RANGES, 100, 100, bets={"bet": "50%", "raise": "", "river": {"bet": ""}}, deck="short"
    ).game
    value, form = BlueprintValue(Profile.uniform(coarse)), TURN.public_form
    event = PublicCut(form, 0).exits[0]  # nobody bets on the river
    assert value.pairs(form, event) == pytest.approx(BlueprintValue.checkdown(TURN).pairs(form, event), abs=1e-12)
    with pytest.raises(SolverError, match="has no public state after 'check, check, 6d"):
        value.pairs(form, int(form.find("check, check, 6d, bet 50")))
    with pytest.raises(SolverError, match="a game with other private states"):
        BlueprintValue(Profile.uniform(Game.from_public_form(PublicForm.from_rules(load_game("kuhn").rules)))).pairs(
            form, event
        )
    with pytest.raises(SolverError, match="a game that is not in public form"):
        BlueprintValue(Profile.uniform(load_game("kuhn"))).pairs(form, event)


def test_a_stopped_run_keeps_its_plan():
    reports = []
    stopped = solve(
        problem_of(0), "cfr+", tol=1e-6, callback=lambda report: len(reports) == 9 or reports.append(report)
    )
    assert stopped.status is Status.INTERRUPTED
    assert stopped.iterations > 0
    assert len(stopped.certificate.steps) < 97
    assert stopped.safety_bound is None
    assert stopped.gain > 0.0
    late = solve(problem_of(0), DepthLimitedCFR("cfr+", BlueprintValue.checkdown(TURN)), tol=1e-6, time_limit=1e-6)
    assert late.status is Status.TIME_LIMIT


def test_values_are_learned_at_the_end_of_a_street():
    value = LinearValue.train_on_street(TURN, examples=20, iterations=30)
    form = TURN.public_form
    assert sorted(value.parameters) == states_of(form, PublicCut(form, 0).exits)
    ranges = [np.ones((3, len(states))) for states in form.states]
    first, second = value.at_ends(sorted(value.parameters), ranges)
    assert (first.sum(axis=1) + second.sum(axis=1)) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(SolverError, match="was not trained on public state 0"):
        value.at_ends([0], ranges)
    with pytest.raises(UnsupportedProblemError, match="kuhn is not a game in public form"):
        LinearValue.train_on_street(load_game("kuhn"))
    with pytest.raises(InvalidOptionError, match="lookahead is 1 and level is 'chance', expected one of the two"):
        LinearValue.train(TURN, 1, level="chance")
