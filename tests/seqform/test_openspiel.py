"""Games and policies of OpenSpiel: the same trees, values and distances as OpenSpiel itself finds."""

import builtins
import json
import pickle
import random
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from effort import PATIENCE, thorough

from treeplex import (
    CHANCE,
    TERMINAL,
    Game,
    ImperfectRecallError,
    InvalidGameError,
    InvalidStrategyError,
    MissingExtraError,
    Nash,
    Profile,
    SequenceForm,
    Strategy,
    TreeplexError,
    UnknownGameError,
    UnsupportedProblemError,
    expected_payoffs,
    exploitability,
    load_game,
    nash_conv,
    solve,
)
from treeplex.seqform import best_response_values
from treeplex.seqform.enumeration import enumerate_game
from treeplex.seqform.interchange import openspiel as openspiel_interchange
from treeplex.seqform.interchange.openspiel import OpenSpielRules, game_from_openspiel, openspiel_game
from treeplex.seqform.interchange.openspiel_policies import (
    policy_from_strategies,
    profile_from_policy,
    strategy_from_policy,
)

pyspiel = pytest.importorskip("pyspiel")
policies = pytest.importorskip("open_spiel.python.policy")

ROUND_OFF = 1e-12
VALUE = 1e-7  # of linear programs

GOOFSPIEL = "goofspiel(imp_info=True,num_cards={},points_order={},returns_type={})"
BATTLESHIP = "battleship(board_height=2,board_width=2,num_shots=2,ship_sizes=[1],ship_values=[1])"
# Two of perfect information without information state strings.
OWARE = "oware(num_houses_per_player=2,num_seeds_per_house=1)"
BREAKTHROUGH = "breakthrough(columns=2,rows=3)"
REPEATED = "repeated_game(num_repetitions=2,stage_game=matrix_pd())"
PERFECT = "mnk(m=2,n=4,k=3)"  # tic-tac-toe on two by four squares, three in a row: 91,457 histories


def turn_based(name):
    """Load OpenSpiel's own game, a simultaneous one turn by turn."""
    game = pyspiel.load_game(name)
    simultaneous = game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    return pyspiel.convert_to_turn_based(game) if simultaneous else game


def naive_sizes(game, label=None):
    """Count histories, and infosets and sequences of each player, by recursion over OpenSpiel's states."""
    found = [{} for _ in range(game.num_players())]
    histories = 0

    def visit(state):
        nonlocal histories
        histories += 1
        if state.is_terminal():
            return
        player = state.current_player()
        if player >= 0:
            key = state.information_state_string(player) if label is None else label(state)
            assert found[player].setdefault(key, state.legal_actions()) == state.legal_actions()
        for action in state.legal_actions():
            visit(state.child(action))

    visit(game.new_initial_state())
    infosets = [len(one) for one in found]
    return histories, infosets, [1 + sum(map(len, one.values())) for one in found]


def sizes(game):
    """Return the same counts as the library finds them."""
    found = enumerate_game(game.rules)
    treeplexes = found.treeplexes
    return found.num_nodes, [one.num_infosets for one in treeplexes], [one.num_sequences for one in treeplexes]


def random_profile(game, seed):
    source = np.random.default_rng(seed)
    strategies = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        weights = source.random(treeplex.num_sequences) * (source.random(treeplex.num_sequences) > 0.3) + 1e-3
        totals = np.add.reduceat(weights, treeplex.offsets[:-1])
        weights[1:] /= np.repeat(totals, treeplex.num_actions)
        strategies.append(Strategy(game, player, weights))
    return Profile(strategies)


# Sizes

GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    *(
        GOOFSPIEL.format(4, order, returns)
        for order in ("descending", "ascending")
        for returns in ("point_difference", "win_loss")
    ),
    "goofspiel(num_cards=3)",
    "matrix_rps",
    "matrix_pd",
    "matching_pennies_3p",
    "blotto(coins=4)",
    "oshi_zumo(coins=3,horizon=4,size=1)",
    "first_sealed_auction(max_value=4)",
    "tiny_hanabi",
    BATTLESHIP,
    "dark_hex(board_size=2)",
    "hex(board_size=2)",
    "nim(pile_sizes=1;2;3)",
    "sheriff(max_bribe=2,max_items=2,num_rounds=1)",
    "trade_comm(num_items=2)",
    "misere(game=kuhn_poker(players=3))",
    "python_kuhn_poker",
]


@pytest.mark.parametrize("name", GAMES)
def test_a_naive_walk_counts_as_much(name):
    assert sizes(openspiel_game(name)) == naive_sizes(turn_based(name))


@thorough
def test_a_naive_walk_counts_as_much_on_a_hundred_thousand_histories():
    found = sizes(openspiel_game(PERFECT))
    assert found == naive_sizes(turn_based(PERFECT))
    assert found[0] == 91_457


@pytest.mark.slow
@pytest.mark.parametrize("name", ["liars_dice", "tiny_bridge_2p", "tic_tac_toe"])
def test_a_naive_walk_counts_as_much_on_larger_games(name):
    assert sizes(openspiel_game(name)) == naive_sizes(turn_based(name))


@pytest.mark.parametrize("name", [OWARE, BREAKTHROUGH])
def test_the_history_is_the_infoset_of_a_game_of_perfect_information_without_information_states(name):
    theirs = turn_based(name)
    assert not theirs.get_type().provides_information_state_string
    found = sizes(openspiel_game(name))
    assert found == naive_sizes(theirs, lambda state: state.history_str())
    leaves = openspiel_game(name).sequence_form.leaves
    assert sum(found[1]) == found[0] - len(leaves.chance)  # every decision is an infoset of its own


@pytest.mark.parametrize("as_turn_based", [False, True])
def test_the_joint_history_is_the_infoset_of_a_simultaneous_game_without_information_states(as_turn_based):
    theirs = turn_based(REPEATED)
    game = game_from_openspiel(theirs if as_turn_based else pyspiel.load_game(REPEATED))
    # Each player decides at the root and after each of the four outcomes of the first round.
    assert sizes(game) == (31, [5, 5], [11, 11])
    assert sizes(game) == naive_sizes(theirs, lambda state: state.simultaneous_game_state().history_str())


# The library's own games

OWN = {
    "kuhn": ("kuhn_poker", 1),
    "kuhn:players=3": ("kuhn_poker(players=3)", 1),
    "leduc": ("leduc_poker", 1),
    "liars_dice": ("liars_dice(dice_sides=4)", 1),
    "goofspiel": (GOOFSPIEL.format(4, "descending", "point_difference"), 2),
    "goofspiel:order=ascending": (GOOFSPIEL.format(4, "ascending", "point_difference"), 2),
    "goofspiel:payoff=win_loss": (GOOFSPIEL.format(4, "descending", "win_loss"), 1),
    "goofspiel:cards=3,order=random": (GOOFSPIEL.format(3, "random", "point_difference"), 2),
    "rps": ("matrix_rps", 1),
    "matching_pennies": ("matrix_mp", 1),
}


@pytest.mark.parametrize("spec", OWN)
def test_the_librarys_own_game_has_the_same_sequence_form(spec):
    name, scale = OWN[spec]
    own, theirs = load_game(spec), load_game(f"openspiel:{name}")
    for one, other in zip(own.sequence_form.treeplexes, theirs.sequence_form.treeplexes, strict=True):
        np.testing.assert_array_equal(one.parents, other.parents)
        np.testing.assert_array_equal(one.num_actions, other.num_actions)
    one, other = own.sequence_form.leaves, theirs.sequence_form.leaves
    np.testing.assert_array_equal(one.sequences, other.sequences)
    np.testing.assert_allclose(one.chance, other.chance, atol=0, rtol=ROUND_OFF)
    np.testing.assert_allclose(one.payoffs, scale * other.payoffs, atol=ROUND_OFF)
    uniform, other = Profile.uniform(own), Profile.uniform(theirs)
    np.testing.assert_allclose(expected_payoffs(own, uniform), scale * expected_payoffs(theirs, other), atol=ROUND_OFF)
    np.testing.assert_allclose(
        best_response_values(own, uniform), scale * best_response_values(theirs, other), atol=ROUND_OFF
    )
    if own.num_players == 2:
        value = solve(Nash(own), "highs-simplex").value
        assert scale * solve(Nash(theirs), "highs-simplex").value == pytest.approx(value, abs=VALUE)


# Values


def minimax(state):
    """Return player 0's value of a zero-sum game of perfect information by backward induction."""
    if state.is_terminal():
        return state.returns()[0]
    if state.is_chance_node():
        return sum(p * minimax(state.child(action)) for action, p in state.chance_outcomes())
    best = min if state.current_player() else max
    return best(minimax(state.child(action)) for action in state.legal_actions())


@pytest.mark.parametrize(
    "name",
    [
        "nim(pile_sizes=1;2;4)",
        "hex(board_size=2)",
        "breakthrough(rows=4,columns=2)",
        "connect_four(rows=3,columns=3,x_in_row=3)",
        "dots_and_boxes(num_rows=1,num_cols=2)",
        "pig(diceoutcomes=2,horizon=8,winscore=4)",
    ],
)
def test_backward_induction_agrees_on_the_value(name):
    value = minimax(turn_based(name).new_initial_state())
    assert solve(Nash(openspiel_game(name)), "highs").value == pytest.approx(value, abs=VALUE)


@pytest.fixture
def sequence_form_lp(monkeypatch):
    module = pytest.importorskip("open_spiel.python.algorithms.sequence_form_lp")
    program = module.lp_solver.LinearProgram
    plain = program.solve  # its default options suit a solver that is not everywhere
    monkeypatch.setattr(program, "solve", lambda self, solver: plain(self, solver="HIGHS", solver_kwargs={}))
    return module


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("kuhn_poker", -1 / 18),
        ("liars_dice(dice_sides=3)", None),
        (GOOFSPIEL.format(3, "descending", "point_difference"), 0.0),
        (GOOFSPIEL.format(3, "ascending", "win_loss"), 0.0),
        ("matrix_rps", 0.0),
        ("blotto(coins=4)", 0.0),
        (BATTLESHIP, None),
        ("dark_hex(board_size=2)", None),
        ("oshi_zumo(coins=3,horizon=4,size=1)", None),
        ("leduc_poker", -0.085606424078),
    ],
)
def test_openspiels_linear_program_agrees_on_the_value(name, known, sequence_form_lp):
    theirs, _, _, _ = sequence_form_lp.solve_zero_sum_game(turn_based(name))
    value = solve(Nash(openspiel_game(name)), "highs-simplex").value
    assert value == pytest.approx(theirs, abs=1e-6)
    if known is not None:
        assert value == pytest.approx(known, abs=VALUE)


@pytest.mark.slow
def test_bounds_on_the_value_of_liars_dice_with_six_sides_agree():
    theirs = solve(Nash(load_game("openspiel:liars_dice")), "pcfr+", tol=1e-4)
    own = solve(Nash(load_game("liars_dice:sides=6")), "dcfr", tol=1e-3)
    assert theirs.upper - theirs.lower <= 2e-4 + ROUND_OFF
    assert max(own.lower, theirs.lower) <= min(own.upper, theirs.upper) + ROUND_OFF


@pytest.mark.parametrize("name", ["first_sealed_auction", "matrix_pd", "tiny_hanabi", REPEATED])
def test_a_general_sum_game_is_read_and_no_zero_sum_problem_takes_it(name):
    game = openspiel_game(name)
    assert not game.sequence_form.is_zero_sum
    with pytest.raises(UnsupportedProblemError, match=r"^nash needs a zero-sum game, .* do not sum to zero[^\n]*$"):
        Nash(game).linear_program()


def test_the_command_line_refuses_a_general_sum_game_in_one_line():
    command = [sys.executable, "-P", "-m", "treeplex", "solve", "openspiel:first_sealed_auction"]
    command += ["--problem", "best-nash", "--opponent", "uniform"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "best-nash needs a zero-sum game" in ran.stderr


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", "matching_pennies_3p"])
def test_a_game_for_three_players_has_no_linear_program(name):
    game = openspiel_game(name)
    assert game.num_players == 3
    with pytest.raises(UnsupportedProblemError, match=r"^[^\n]*$"):
        solve(Nash(game), "highs")


# Policies

POLICY_GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    GOOFSPIEL.format(3, "descending", "win_loss"),
    "first_sealed_auction(max_value=4)",
    "matrix_pd",
]


@pytest.mark.parametrize("name", POLICY_GAMES)
def test_openspiel_agrees_on_returns_and_nashconv_of_random_policies(name):
    game = openspiel_game(name)
    theirs = game.rules.game
    for seed in range(2):
        profile = random_profile(game, seed)
        policy = policies.python_policy_to_pyspiel_policy(policy_from_strategies(profile, game))
        returns = pyspiel.expected_returns(theirs.new_initial_state(), policy, -1, True)
        np.testing.assert_allclose(expected_payoffs(game, profile), returns, atol=1e-10)
        assert nash_conv(game, profile) == pytest.approx(pyspiel.nash_conv(theirs, policy, True), abs=1e-10)


def test_openspiels_own_python_agrees():
    exploitability = pytest.importorskip("open_spiel.python.algorithms.exploitability")
    expected_game_score = pytest.importorskip("open_spiel.python.algorithms.expected_game_score")
    game = openspiel_game("kuhn_poker")
    profile = random_profile(game, 3)
    policy = policy_from_strategies(profile)
    assert isinstance(policy, policies.TabularPolicy)
    assert exploitability.nash_conv(policy.game, policy) == pytest.approx(nash_conv(game, profile), abs=1e-10)
    values = expected_game_score.policy_value(policy.game.new_initial_state(), [policy] * 2)
    np.testing.assert_allclose(values, expected_payoffs(game, profile), atol=1e-10)


@pytest.mark.parametrize("name", [*POLICY_GAMES, BATTLESHIP, "python_kuhn_poker"])
def test_there_and_back_a_profile_is_the_same(name):
    game = openspiel_game(name)
    profile = random_profile(game, 7)
    policy = policy_from_strategies(profile, game)
    for one in (policy, policies.python_policy_to_pyspiel_policy(policy)):
        back = profile_from_policy(game, one)
        for player, strategy in enumerate(back):
            np.testing.assert_allclose(strategy.behaviour, profile[player].behaviour, rtol=0, atol=ROUND_OFF)
            alone = strategy_from_policy(game, one, player)
            np.testing.assert_array_equal(alone.behaviour, strategy.behaviour)


def test_a_policy_is_read_by_information_state_and_action():
    game = openspiel_game("kuhn_poker")
    table = policies.TabularPolicy(pyspiel.load_game("kuhn_poker"))
    table.policy_for_key("0")[:] = [0.25, 0.75]
    table.policy_for_key("1b")[:] = [1.0, 0.0]
    profile = profile_from_policy(game, table)
    assert profile[0]["0"] == {"Pass": 0.25, "Bet": 0.75}
    assert profile[1]["1b"] == {"Pass": 1.0, "Bet": 0.0}
    assert profile[0]["2pb"] == {"Pass": 0.5, "Bet": 0.5}
    again = policy_from_strategies(profile)
    np.testing.assert_array_equal(again.action_probability_array, table.action_probability_array)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_average_policies_of_openspiels_cfr_are_as_exploitable_here(name):
    game = openspiel_game(name)
    theirs = pyspiel.load_game(name)
    solver = pyspiel.CFRSolver(theirs)
    for _ in range(20):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    profile = profile_from_policy(game, policy)
    assert nash_conv(game, profile) == pytest.approx(pyspiel.nash_conv(theirs, policy), abs=1e-10)
    assert 0.001 < nash_conv(game, profile) < 1.0


def test_an_equilibrium_is_one_for_openspiel():
    profile = solve(Nash(load_game("openspiel:kuhn_poker"))).profile
    policy = policies.python_policy_to_pyspiel_policy(policy_from_strategies(profile))
    assert pyspiel.nash_conv(pyspiel.load_game("kuhn_poker"), policy) == pytest.approx(0.0, abs=1e-9)


def test_any_policy_that_answers_is_read():
    game = openspiel_game("leduc_poker")
    theirs = game.rules.game
    for policy in (policies.UniformRandomPolicy(theirs), pyspiel.UniformRandomPolicy(theirs)):
        for strategy, uniform in zip(profile_from_policy(game, policy), Profile.uniform(game), strict=True):
            np.testing.assert_allclose(strategy.behaviour, uniform.behaviour, atol=ROUND_OFF)
    first = profile_from_policy(game, policies.FirstActionPolicy(theirs))
    assert set(first[0].behaviour.tolist()) == {0.0, 1.0}


class Answers(policies.Policy):
    """A policy that answers the same everywhere."""

    def __init__(self, answer):
        super().__init__(pyspiel.load_game("kuhn_poker"), [0, 1])
        self.answer = answer

    def action_probabilities(self, state, player_id=None):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({0: 0.5, 1: 0.4}, r"infoset '0' has probabilities \[0.5, 0.4\], expected non-negative numbers that sum to 1"),
        ({0: 1.5, 1: -0.5}, r"infoset '0' has probabilities \[1.5, -0.5\]"),
        ({0: 0.5}, r"infoset '0' has probabilities \[0.5, 0.0\]"),
        ({0: 0.5, 7: 0.5}, r"gives action 7 probability 0.5 at infoset '0' of player 0, where only \[0, 1\] are legal"),
        ({0: float("nan"), 1: 1.0}, "gives action 0 probability nan at infoset '0' of player 0, expected a number"),
        ({0: "half", 1: 0.5}, "gives action 0 probability 'half' at infoset '0'"),
        ([0.5, 0.5], r"gives \[0.5, 0.5\] at infoset '0' of player 0, expected probabilities by action"),
        (KeyError("lost\nit"), "gives no probabilities at infoset '0' of player 0: 'lost"),
    ],
)
def test_a_policy_that_is_none_is_refused(answer, message):
    with pytest.raises(InvalidStrategyError, match=message) as refused:
        profile_from_policy(openspiel_game("kuhn_poker"), Answers(answer))
    assert "\n" not in str(refused.value)


def test_actions_that_a_policy_leaves_out_have_probability_zero():
    profile = profile_from_policy(openspiel_game("kuhn_poker"), Answers({1: 1.0, 9: 0.0}))
    assert profile[0]["0"] == {"Pass": 0.0, "Bet": 1.0}


def test_a_policy_of_another_game_is_refused(capfd):
    game = openspiel_game("kuhn_poker")
    with pytest.raises(InvalidStrategyError, match="gives no probabilities at infoset '0'"):
        profile_from_policy(game, policies.TabularPolicy(pyspiel.load_game("leduc_poker")))
    with pytest.raises(InvalidStrategyError, match="infoset"):
        profile_from_policy(game, pyspiel.TabularPolicy({"0": [(0, 1.0)]}))
    with pytest.raises(InvalidStrategyError, match="3 is not an OpenSpiel policy"):
        profile_from_policy(game, 3)
    alone = policies.TabularPolicy(pyspiel.load_game("kuhn_poker"), players=[0])
    assert strategy_from_policy(game, alone, 0).player == 0
    with pytest.raises(InvalidStrategyError, match="of player 1"):
        strategy_from_policy(game, alone, 1)
    with pytest.raises(InvalidStrategyError, match="player is 2, expected a number"):
        strategy_from_policy(game, alone, 2)
    assert capfd.readouterr().err == ""


def test_a_profile_of_another_game_is_refused():
    kuhn, own = openspiel_game("kuhn_poker"), load_game("kuhn")
    with pytest.raises(InvalidGameError, match="the profile belongs to kuhn, which is not from OpenSpiel"):
        policy_from_strategies(Profile.uniform(own))
    for profile, game in [
        (Profile.uniform(own), kuhn),
        (Profile.uniform(kuhn), openspiel_game("leduc_poker")),
        (Profile.uniform(kuhn), openspiel_game("kuhn_poker(players=3)")),
        (Profile.uniform(openspiel_game("kuhn_poker(players=3)")), kuhn),
    ]:
        with pytest.raises(InvalidStrategyError, match="the profile does not belong to OpenSpiel's"):
            policy_from_strategies(profile, game)
    with pytest.raises(InvalidGameError, match="is not from OpenSpiel"):
        profile_from_policy(own, policies.UniformRandomPolicy(kuhn.rules.game))
    with pytest.raises(InvalidGameError, match="expected a Game"):
        profile_from_policy(kuhn.rules.game, policies.UniformRandomPolicy(kuhn.rules.game))
    with pytest.raises(InvalidStrategyError, match="expected a Profile"):
        policy_from_strategies(kuhn)


def test_a_game_without_information_states_has_no_tabular_policy_but_takes_policies():
    game = openspiel_game(BREAKTHROUGH)
    with pytest.raises(InvalidGameError, match=r"stores policies by information state string, but .* has none"):
        policy_from_strategies(Profile.uniform(game))
    profile = profile_from_policy(game, policies.FirstActionPolicy(game.rules.game))
    assert all(set(strategy.behaviour.tolist()) == {0.0, 1.0} for strategy in profile)


# Trees, fractions and what a game knows of itself


@pytest.mark.parametrize("name", ["kuhn_poker", "matrix_pd", "kuhn_poker(players=3)", BATTLESHIP])
def test_the_tree_is_the_same_game(name):
    game = openspiel_game(name)
    assert game.tree.num_nodes == naive_sizes(turn_based(name))[0]
    assert SequenceForm.from_tree(game.tree).fingerprint == openspiel_game(name).fingerprint


def test_probabilities_are_fractions_again():
    rules = openspiel_game("kuhn_poker").rules
    outcomes = rules.chance_outcomes(rules.initial_state())
    assert outcomes == [(f"Deal:{card}", Fraction(1, 3)) for card in range(3)]
    exact = openspiel_game("leduc_poker").exact_sequence_form.leaves
    assert set(exact.exact_chance) == {Fraction(1, 30), Fraction(1, 120)}  # before and after the public card


def test_the_name_loads_the_game_again():
    for name in GAMES:
        game = openspiel_game(name)
        again = load_game(game.spec)
        assert again.spec == game.spec
        assert again.num_players == game.num_players
    game = load_game("openspiel:kuhn_poker:players=3")
    assert game.spec == "openspiel:kuhn_poker(players=3)"
    assert (game.name, game.parameters) == ("openspiel:kuhn_poker", {"players": 3})
    assert load_game(" openspiel: kuhn_poker ( players = 3 ) ").fingerprint == game.fingerprint
    assert openspiel_game("kuhn_poker:").spec == openspiel_game("kuhn_poker()").spec == "openspiel:kuhn_poker"


def test_a_game_can_be_pickled():
    game = load_game("openspiel:matrix_rps")
    again = pickle.loads(pickle.dumps(game))  # noqa: S301
    assert again.fingerprint == game.fingerprint
    assert isinstance(again.rules, OpenSpielRules)


def test_a_users_game_need_not_be_registered():
    theirs = pyspiel.create_matrix_game("mine", "Mine", ["a", "b"], ["c", "d"], [[3, 0], [1, 2]], [[-3, 0], [-1, -2]])
    game = game_from_openspiel(theirs)
    assert game.sequence_form.treeplexes[1].action_labels == (("c", "d"),)
    assert solve(Nash(game)).value == pytest.approx(1.5, abs=VALUE)
    profile = Profile.uniform(game)
    policy = policy_from_strategies(profile, game)
    np.testing.assert_allclose(profile_from_policy(game, policy)[0].behaviour, profile[0].behaviour)


def test_walking_in_any_order_gives_the_same_labels():
    rules = openspiel_game("leduc_poker").rules
    source = random.Random(1)
    for _ in range(200):
        state = rules.initial_state()
        while (who := rules.player(state)) != TERMINAL:
            other = rules.initial_state()  # asked about in between
            rules.chance_outcomes(other)
            labels = [label for label, _ in rules.chance_outcomes(state)] if who == CHANCE else rules.actions(state)
            state = rules.child(state, source.choice(labels))
        assert sum(rules.payoffs(state)) == pytest.approx(0.0)


# Refusals


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("kuhn_pokre", UnknownGameError, r"unknown game 'kuhn_pokre' \(did you mean kuhn_poker\?\)"),
        ("Kuhn_Poker", UnknownGameError, r"did you mean kuhn_poker\?"),
        ("", UnknownGameError, "unknown game ''"),
        ("python_kuhn", UnknownGameError, r"did you mean python_kuhn_poker\?"),
        ("misere(game=kuhn_pokre())", UnknownGameError, "unknown game 'kuhn_pokre'"),
        ("kuhn_poker(player=3)", UnknownGameError, r"kuhn_poker has no parameter 'player' \(did you mean players\?\)"),
        ("matrix_rps(players=3)", UnknownGameError, "matrix_rps has no parameter 'players'; it takes no parameters"),
        ("misere(game=kuhn_poker(cards=4))", UnknownGameError, "kuhn_poker has no parameter 'cards'"),
        ("kuhn_poker(players=3", InvalidGameError, "no closing bracket"),
        ("kuhn_poker(players=3)!", InvalidGameError, "no closing bracket"),
        ("kuhn_poker(players)", InvalidGameError, "'players' is not a parameter of kuhn_poker; expected key=value"),
        ("kuhn_poker(players=3,)", InvalidGameError, "'' is not a parameter"),
        ("kuhn_poker(players=3,players=2)", InvalidGameError, "players of kuhn_poker is given twice"),
        ("kuhn_poker(players=1)", InvalidGameError, "players = 1; expected an integer from 2 to 10"),
        (
            "kuhn_poker(players=" + "9" * 5000 + ")",
            InvalidGameError,
            "players = 9999.*expected an integer from 2 to 10",
        ),
        ("kuhn_poker(players=two)", InvalidGameError, "players = two; expected an integer from 2 to 10"),
        ("goofspiel(num_cards=-1)", InvalidGameError, "num_cards = -1; expected an integer from 0"),
        ("goofspiel(points_order=up)", InvalidGameError, "Unrecognized points_order parameter: up"),
        ("universal_poker(numPlayers=0)", InvalidGameError, "numPlayers = 0; expected an integer from 2"),
        ("misere", InvalidGameError, "Missing parameter game"),
        ("misere(game=" * 3000 + ")" * 3000, InvalidGameError, "expected at most 10"),
        (
            "efg_game(filename=/no/such/file.efg)",
            InvalidGameError,
            "efg_game reads a file; pass the .efg file",
        ),
        ("mfg_garnet", InvalidGameError, "is a mean-field game"),
        ("negotiation", InvalidGameError, "samples its chance events without giving their probabilities"),
        ("hanabi", InvalidGameError, "has imperfect information but no information state strings"),
        ("coin_game", InvalidGameError, "has imperfect information but no information state strings"),
        ("a\nb", UnknownGameError, r"unknown game 'a\\nb'"),
        (3, UnknownGameError, "3 is not the name of an OpenSpiel game"),
    ],
)
def test_what_cannot_be_loaded_is_refused_in_one_line_and_nothing_is_printed(text, error, message, capfd):
    with pytest.raises(error, match=message) as refused:
        openspiel_game(text)
    assert type(refused.value) is error
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", "")


def test_what_is_no_game_is_refused():
    for wrong in (3, None, "kuhn_poker", load_game("kuhn"), pyspiel.load_game("kuhn_poker").new_initial_state()):
        with pytest.raises(InvalidGameError, match="is not an OpenSpiel game"):
            game_from_openspiel(wrong)


@pytest.mark.parametrize("name", ["liars_dice_ir(dice_sides=3)", "dark_hex_ir(board_size=2)"])
def test_information_states_that_forget_are_imperfect_recall(name):
    with pytest.raises(ImperfectRecallError, match=r"has imperfect recall: history [^\n]*$"):
        _ = openspiel_game(name).sequence_form


def test_a_chance_node_without_outcomes_is_refused():
    with pytest.raises(InvalidGameError, match="chance node without outcomes"):
        _ = openspiel_game("goofspiel(num_cards=0)").sequence_form


def test_errors_within_a_walk_name_the_history(capfd):
    class Broken(OpenSpielRules):
        def _seen(self, state):
            if state.move_number() == 2:
                state.apply_action(99)  # no such action: OpenSpiel raises
            return super()._seen(state)

    rules = Broken(pyspiel.load_game(BREAKTHROUGH))
    with pytest.raises(InvalidGameError, match=r"^OpenSpiel's breakthrough\(.* fails at history \d+, \d+: [^\n]*$"):
        _ = Game("broken", rules=rules).sequence_form
    capfd.readouterr()


def test_without_openspiel_the_extra_is_named(monkeypatch):
    plain = builtins.__import__

    def missing(name, *arguments, **options):
        if name.startswith(("pyspiel", "open_spiel")):
            raise ImportError(name)
        return plain(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'treeplex\[openspiel\]'$"):
        openspiel_game("kuhn_poker")
    with pytest.raises(TreeplexError, match=r"^OpenSpiel is not installed"):
        load_game("openspiel:kuhn_poker")


KUHN_AS_UNIVERSAL = {
    "betting": "limit",
    "blind": "1 1",
    "firstPlayer": "1",
    "maxRaises": "1",
    "numBoardCards": "0",
    "numHoleCards": 1,
    "numPlayers": 2,
    "numRanks": 3,
    "numRounds": 1,
    "numSuits": 1,
    "raiseSize": "1",
}


def test_values_have_the_type_that_the_game_declares():
    """``pyspiel.load_game(name, {…})`` with the declared types gives the game: Kuhn poker's value is -1/18."""
    by_object = game_from_openspiel(pyspiel.load_game("universal_poker", KUHN_AS_UNIVERSAL))
    listed = ",".join(f"{key}={value}" for key, value in KUHN_AS_UNIVERSAL.items())
    for spec in (f"openspiel:universal_poker({listed})", f"openspiel:universal_poker:{listed}", by_object.spec):
        game = load_game(spec)
        assert game.fingerprint == by_object.fingerprint
    assert float(solve(Nash(by_object)).value) == pytest.approx(-1 / 18)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("misere", {"game": {"name": "kuhn_poker", "players": 3}}),
        ("goofspiel", {"num_cards": 3, "imp_info": True, "points_order": "descending"}),
        ("turn_based_simultaneous_game", {"game": {"name": "goofspiel", "num_cards": 2}}),
        ("universal_poker", KUHN_AS_UNIVERSAL | {"stack": "10 10"}),
        ("cursor_go", {"komi": 7.0}),
        ("pathfinding", {"grid": "a.A\n...", "horizon": 3, "players": 1}),
    ],
)
def test_the_spec_of_a_game_from_an_object_loads_it_again(name, values):
    game = pyspiel.load_game(name, values)
    spec = openspiel_interchange.PREFIX + openspiel_interchange._text_of(game)
    again = openspiel_interchange._parsed(spec.removeprefix(openspiel_interchange.PREFIX))
    assert again.pop("name") == name
    loaded = pyspiel.load_game(name, again)
    assert loaded.get_parameters() == game.get_parameters()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goofspiel(imp_info=yes)", "imp_info = yes; expected true or false"),
        ("goofspiel(num_cards=3.0)", "num_cards = 3.0; expected an integer from 0 to"),
        ("cursor_go(komi=many)", "komi = many; expected a finite number"),
        ("cursor_go(komi=1e-999)", "komi = 1e-999; expected a finite number"),
        ("cursor_go(komi=1e999)", "komi = 1e999; expected a finite number"),
    ],
)
def test_values_of_another_type_are_refused(text, message):
    with pytest.raises(InvalidGameError, match=re.escape(message)):
        openspiel_game(text)
    # A whole number is a decimal too, and words may be in capitals.
    assert openspiel_interchange._parsed("cursor_go(komi=7)")["komi"] == 7.0
    assert openspiel_interchange._parsed("goofspiel(imp_info=True)")["imp_info"] is True


def test_every_policy_that_a_solver_returns_becomes_a_file(tmp_path):
    """The recipes of the page on strategy files, on what OpenSpiel's solvers in C++ and in Python return."""
    from open_spiel.python.algorithms import cfr

    theirs, game = pyspiel.load_game("kuhn_poker"), load_game("openspiel:kuhn_poker")
    found = []
    for solver in (pyspiel.CFRPlusSolver(theirs), pyspiel.CFRSolver(theirs), cfr.CFRPlusSolver(theirs)):
        for _ in range(100):
            solver.evaluate_and_update_policy()
        found += [solver.average_policy(), solver.current_policy()]
        path = tmp_path / f"{len(found)}.json"
        profile_from_policy(game, found[-2]).save(path)
        assert exploitability(game, Profile.load(path, game)) < 0.02
        profile_from_policy(game, found[-1]).save(path)
        assert len(tuple(Profile.load(path, game))) == 2
        if hasattr(solver, "tabular_average_policy"):
            path.write_text(json.dumps(solver.tabular_average_policy().policy_table()))
            assert exploitability(game, Profile.load(path, game)) < 0.02


#: The players' payoffs in an equilibrium of general-sum games; ``None`` if only the regrets are checked.
GENERAL_SUM = {
    "matrix_pd": (1.0, 1.0),
    "matrix_shapleys_game": (1 / 3, 1 / 3),
    "matrix_bos": None,
    "matrix_sh": None,
    "matrix_cd": None,
    "first_sealed_auction": None,
    "trade_comm(num_items=2)": None,
    "repeated_game(stage_game=matrix_pd(),num_repetitions=2)": (2.0, 2.0),
    "lewis_signaling": None,
    "tiny_hanabi": None,
}


@pytest.mark.parametrize("name", GENERAL_SUM)
def test_general_sum_games_have_exact_equilibria(name):
    pytest.importorskip("pyspiel")
    solution = solve(Nash(load_game(f"openspiel:{name}")))
    assert (solution.problem.name, solution.status.value) == ("epsilon-nash", "optimal")
    assert solution.certificate.epsilon <= 1e-9
    if GENERAL_SUM[name] is not None:
        assert solution.value == pytest.approx(GENERAL_SUM[name], abs=1e-9)


@pytest.mark.parametrize("name", ["blotto(coins=4,fields=3)", "matrix_rps", "matrix_mp"])
def test_constant_sum_games_are_recognised(name):
    pytest.importorskip("pyspiel")
    solution = solve(Nash(load_game(f"openspiel:{name}")))
    assert solution.problem.name == "nash"
    assert solution.value == pytest.approx(0.0, abs=1e-9)
