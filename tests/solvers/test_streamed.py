"""Monte Carlo CFR straight on rules: the same as the compiled samplers bit for bit, and what games it may meet."""

import math
from fractions import Fraction

import numpy as np
import pytest
from effort import few, soaked, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game

from treeplex import (
    CHANCE,
    TERMINAL,
    Game,
    GameTooLargeError,
    ImperfectRecallError,
    InvalidGameError,
    InvalidStrategyError,
    Prefer,
    Profile,
    SequenceForm,
    Strategy,
    StreamedMCCFR,
    UnknownMethodError,
    UnsupportedProblemError,
    expected_payoffs,
    exploitability,
    load_game,
    nash_conv,
)
from treeplex.seqform import best_response_values
from treeplex.seqform.interchange.files import read_archive, write_archive
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers import (
    ESPrefCFR,
    ExternalSamplingMCCFR,
    OutcomeSamplingMCCFR,
    StreamedProfile,
    streamed_gain,
    streamed_payoffs,
)
from treeplex.solvers.sampling import walks
from treeplex.solvers.sampling.sampler import Sampler, preference_of
from treeplex.solvers.sampling.tree import history_tree

KUHN, THREE, LEDUC = load_game("kuhn"), load_game("kuhn:players=3"), load_game("leduc")
LARGE = load_game("goofspiel:cards=13")
#: The probability that a test of samples fails though nothing is wrong: by seeds, in fact, it fails always or never.
FALSE_ALARMS = 1e-6
METHODS = {
    "external": ExternalSamplingMCCFR(),
    "external, regret matching+": ExternalSamplingMCCFR("regret-matching+", "sampled"),
    "outcome": OutcomeSamplingMCCFR(baselines="none"),
    "outcome with baselines": OutcomeSamplingMCCFR(averaging="sampled", baselines="infoset", exploration=0.4),
    "preferring": ESPrefCFR(prefer=[Prefer("b", 5), Prefer("r", 3)], vulnerability=0.02),
    "preferring, greedily": ESPrefCFR(
        prefer=[Prefer("b", 5, first=True), Prefer("r", 3)], rule="br", units="counterfactual", vulnerability=0.02
    ),
}


def numbers_of(game, method, iterations, seed):
    """Return the streamed sampler, its regrets and sums on the compiled sampler's positions, and that one's own."""
    streamed = StreamedMCCFR(game, method, seed=seed)
    streamed.run(iterations)
    sampler = Sampler(history_tree(game))
    rule = method.sampling_rule(game.num_players)
    state = sampler.initial_state(rule, seed, preference_of(method.bias, game))
    sampler.run(state, rule, iterations)
    regrets, sums = np.zeros(sampler.tree.num_positions), np.zeros(sampler.tree.num_positions)
    for player, (table, treeplex) in enumerate(zip(streamed._tables, game.sequence_form.treeplexes, strict=True)):
        for label, number in table.numbers.items():
            first = sampler.tree.bases[player] + treeplex.offsets[treeplex.find_infoset(label)]
            own = slice(table.starts[number], table.starts[number + 1])
            assert table.menus[number] == tuple(treeplex.action_labels[treeplex.find_infoset(label)])
            regrets[first : first + own.stop - own.start] = table.regrets[own]
            sums[first : first + own.stop - own.start] = table.sums[own]
    return streamed, state, (regrets, sums), (state.arrays.regrets, state.arrays.sums)


@few
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(("game", "iterations"), [(KUHN, 500), (THREE, 300), (LEDUC, 150)], ids=["2", "3", "leduc"])
def test_regrets_and_averages_are_those_of_the_compiled_samplers_bit_for_bit(game, iterations, method):
    if isinstance(method, ESPrefCFR) and game is not LEDUC:
        method = ESPrefCFR(prefer=method.prefer[:1], rule=method.rule, units=method.units, vulnerability=0.02)
    elif isinstance(method, ESPrefCFR):
        method = ESPrefCFR(prefer=method.prefer[1:], rule=method.rule, units=method.units, vulnerability=0.02)
    streamed, state, found, expected = numbers_of(game, method, iterations, seed=3)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert found[0].any()
    assert (streamed.iterations, streamed.touched) == (state.iterations, state.touched)
    assert streamed._walker.numbers.state == int(state.arrays.clock[2])
    # As behaviour they differ by the order in which probabilities are summed.
    own = Sampler(history_tree(game)).average(state)
    for strategy, treeplex, behaviour in zip(streamed.profile, game.sequence_form.treeplexes, own, strict=True):
        for label, played in strategy.items():
            places = [treeplex.sequence(label, action) for action in played]
            np.testing.assert_allclose(list(played.values()), behaviour[places], atol=1e-14)


@given(seed=st.integers(0, 200), players=st.integers(1, 3), name=st.sampled_from(sorted(METHODS)[:4]))
def test_random_trees_are_sampled_alike(seed, players, name):
    game = to_game(seeded_tree(seed, players))
    _, _, found, expected = numbers_of(game, METHODS[name], 20, seed)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr", "es-pref-cfr"])
def test_runs_go_on_exactly_where_they_stopped(method):
    whole, parts = StreamedMCCFR(LEDUC, method, seed=5), StreamedMCCFR(LEDUC, method, seed=5)
    whole.run(120)
    parts.run(50)
    between = parts.profile
    parts.run(touched=1)
    parts.run(120 - parts.iterations)
    assert parts.touched == whole.touched
    for player in range(2):
        assert dict(parts.strategy(player)) == dict(whole.strategy(player))
        assert dict(between[player]) != dict(whole.strategy(player))


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr", METHODS["preferring"]], ids=str)
def test_runs_are_written_and_go_on_exactly_where_they_stopped(method, tmp_path):
    game = LEDUC
    if isinstance(method, ESPrefCFR):
        method = ESPrefCFR(prefer=Prefer("r", 3), vulnerability=0.02)
    path = tmp_path / "run.npz"
    whole, part = StreamedMCCFR(game, method, seed=5), StreamedMCCFR(game, method, seed=5)
    whole.run(100)
    part.run(60)
    part.save(path)
    read = StreamedMCCFR.load(path, game, method)
    assert (read.iterations, read.touched, read.seed) == (part.iterations, part.touched, 5)
    read.run(40)
    assert read.touched == whole.touched
    assert read.memory == whole.memory
    for player in range(2):
        assert dict(read.strategy(player)) == dict(whole.strategy(player))
        assert read.regrets(player) == whole.regrets(player)


def test_files_that_hold_no_run_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(InvalidStrategyError, match="no such file"):
        StreamedMCCFR.load(path, KUHN)
    StreamedMCCFR(KUHN).save(path)
    assert StreamedMCCFR.load(path, KUHN).infosets == (0, 0)
    with pytest.raises(InvalidStrategyError, match=r"its game is 'kuhn', expected 'leduc'"):
        StreamedMCCFR.load(path, LEDUC)
    with pytest.raises(InvalidStrategyError, match=r"its method is 'es-mccfr', expected 'os-mccfr'"):
        StreamedMCCFR.load(path, KUHN, "os-mccfr")
    sampler = StreamedMCCFR(KUHN)
    sampler.run(20)
    sampler.save(path)
    metadata, arrays = read_archive(path)
    for name, wrong in {
        "regrets_0": np.full(len(arrays["regrets_0"]), np.nan),
        "sums_1": arrays["sums_1"][1:],
        "parents_0": arrays["parents_0"] + 10**6,
        "labels_0": arrays["labels_0"][:-5],
        "menu_0": arrays["menu_0"] + 7,
    }.items():
        write_archive(path, metadata, arrays | {name: wrong})
        with pytest.raises(InvalidStrategyError, match="is not a saved run, or is damaged") as refused:
            StreamedMCCFR.load(path, KUHN)
        assert "\n" not in str(refused.value)
    path.write_text("nothing")
    with pytest.raises(InvalidStrategyError, match="is not a saved run"):
        StreamedMCCFR.load(path, KUHN)


@thorough
def test_exploitability_falls():
    sampler = StreamedMCCFR(KUHN, seed=1)
    errors = []
    for _ in range(3):
        sampler.run(1500)
        errors.append(exploitability(KUHN, sampler.profile.to_profile(KUHN)))
    assert errors[-1] < 0.03
    assert errors[-1] < errors[0]


class Interrupting:
    """Rules that press Ctrl-C after so many calls."""

    def __init__(self, rules, calls):
        self._rules, self._calls = rules, calls

    def __getattr__(self, name):
        return getattr(self._rules, name)

    def child(self, state, action):
        self._calls -= 1
        if self._calls == 0:
            raise KeyboardInterrupt
        return self._rules.child(state, action)


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr"])
def test_a_keyboard_interrupt_leaves_no_half_walk_behind(method):
    interrupted, straight = StreamedMCCFR(Interrupting(LEDUC.rules, 3000), method), StreamedMCCFR(LEDUC, method)
    run = interrupted.run(10_000)
    assert (run.stopped, run.message) == (
        "interrupted",
        "stopped by the user: the solution contains the latest strategies",
    )
    assert 0 < run.iterations < 10_000
    interrupted.run(40)
    straight.run(interrupted.iterations)
    assert interrupted.touched == straight.touched
    # Infosets that the walk that was broken off has met are known; nothing else is left of it.
    for player in range(2):
        known = dict(straight.strategy(player))
        assert known.items() <= dict(interrupted.strategy(player)).items()


def test_an_update_that_is_interrupted_is_written_again():
    sampler, straight = StreamedMCCFR(LEDUC, seed=2), StreamedMCCFR(LEDUC, seed=2)
    apply, calls = sampler._walker.apply, []

    def interrupted(update):
        calls.append(update)
        apply(update)
        if len(calls) == 9:
            raise KeyboardInterrupt

    sampler._walker.apply = interrupted
    assert sampler.run(50).stopped == "interrupted"
    assert (sampler.iterations, sampler._turn) == (4, 1)
    sampler.run(46)
    straight.run(50)
    assert (sampler.iterations, sampler.touched) == (straight.iterations, straight.touched)
    assert dict(sampler.strategy(0)) == dict(straight.strategy(0))


def test_limits_stop_a_run(clock):
    sampler = StreamedMCCFR(LEDUC)
    assert sampler.run(iterations=7).stopped == "iterations"
    run = sampler.run(touched=2000)
    assert run.stopped == "touched"
    assert 2000 <= run.touched - 7 * 40 < 3500
    begun = clock.now
    assert sampler.run(seconds=20).stopped == "time"
    assert 20 < clock.now - begun < 21
    reports = []
    assert sampler.run(seconds=6000, progress=lambda report: reports.append(report) or True).stopped == "interrupted"
    assert reports[0].stopped is None
    assert reports[0].iterations <= sampler.iterations


def test_a_walk_that_is_too_long_is_broken_off_in_time(clock):
    sampler = StreamedMCCFR(LARGE, "es-mccfr")
    begun = clock.now
    run = sampler.run(seconds=2)
    assert 2 < clock.now - begun < 3
    assert (run.stopped, run.iterations) == ("time", 0)
    assert "use os-mccfr" in run.message


class Long:
    """Two players choose in turn, and see everything; the first gains the mean of the last hundred choices."""

    num_players = 2

    def __init__(self, moves, actions=3):
        self.moves, self.choices = moves, range(actions)

    def initial_state(self):
        return 0, 0

    def player(self, state):
        return TERMINAL if state[0] == self.moves else state[0] % 2

    def actions(self, state):
        return tuple(self.choices)

    def infoset(self, state):
        return state

    def child(self, state, action):
        return state[0] + 1, state[1] * len(self.choices) + action

    def payoffs(self, state):
        value = sum(state[1] // len(self.choices) ** k % len(self.choices) for k in range(100)) / 100
        return value, -value


@pytest.mark.parametrize("averaging", ["simple", "sampled"])
def test_outcome_sampling_ends_where_weights_are_no_floats(averaging):
    game = Game("long", rules=Long(1300))
    method = OutcomeSamplingMCCFR(averaging=averaging, baselines="infoset")
    sampler = StreamedMCCFR(game, method, seed=2)
    run = sampler.run(iterations=50)  # a play of 650 own moves has about 3 ** -650 = 1e-310
    assert (run.stopped, run.iterations, run.touched) == ("weights", 0, 0)
    assert "too long for outcome sampling" in run.message
    assert sampler.run(iterations=50).stopped == "weights"
    assert list(sampler.strategy(0)[0, 0].values()) == [1 / 3] * 3
    with pytest.warns(UserWarning, match="a response of player 1 was learned from 0 walks: plays are too long"):
        streamed_gain(game, sampler.profile, 1, iterations=5, games=3, sampling="outcome")


def test_weights_that_are_floats_give_numbers_that_are():
    sampler = StreamedMCCFR(Game("long", rules=Long(1000)), "os-mccfr", seed=2)
    assert sampler.run(iterations=4).stopped == "iterations"
    assert all(math.isfinite(number) for table in sampler._tables for number in (*table.regrets, *table.sums))
    assert sampler.payoff_ranges[0][1] <= 2.0
    assert max(sampler.regret_estimates()) > 1e100  # of payoffs between -2 and 2
    assert all(math.fsum(shares.values()) == pytest.approx(1.0) for each in sampler.profile for shares in each.values())


def test_a_run_stops_at_the_memory_budget():
    sampler = StreamedMCCFR(LARGE, "os-mccfr", memory="5MB")
    run = sampler.run(iterations=100_000)
    assert run.stopped == "memory"
    assert "budget of 5 MB" in run.message
    assert 0 < run.iterations < 20_000
    assert sampler.memory < 20_000_000
    assert len(sampler.strategy(0)) > 1000


def test_a_game_of_any_size_is_run():
    sampler = StreamedMCCFR(LARGE, "os-mccfr", seed=1)
    sampler.run(100)
    assert min(sampler.infosets) > 500
    played = sampler.strategy(1)["_"]
    assert sum(played.values()) == pytest.approx(1.0)
    assert len(played) == 13


@thorough
def test_estimates_of_regret_are_upper_ones_on_average():
    estimates, plans = [], []
    for seed in range(30):
        sampler = StreamedMCCFR(KUHN, seed=seed)
        sampler.run(300)
        estimates.append(sum(sampler.regret_estimates()))
        plans.append([strategy.plan for strategy in sampler.profile.to_profile(KUHN)])
    expected = Profile([Strategy.from_plan(KUHN, player, np.mean(plans, axis=0)[player]) for player in range(2)])
    assert nash_conv(KUHN, expected) < np.mean(estimates) < 0.5


def test_estimates_of_regret_are_those_of_the_plan_that_would_have_gained_most():
    sampler = StreamedMCCFR(LEDUC, seed=1)
    sampler.run(200)
    for player, treeplex in enumerate(LEDUC.sequence_form.treeplexes):
        rewards = np.zeros(treeplex.num_sequences)
        for label, regrets in sampler.regrets(player).items():
            rewards[[treeplex.sequence(label, action) for action in regrets]] = list(regrets.values())
        assert sampler.regret_estimates()[player] == pytest.approx(best_response_value(treeplex, rewards))


@thorough
def test_preferences_count_where_walks_meet_them():
    wishes = [Prefer("r", 8, player=0, first=True), Prefer("x", 2)]
    sampler = StreamedMCCFR(LEDUC, ESPrefCFR(prefer=wishes, rule="br"), seed=1)
    plain = StreamedMCCFR(LEDUC, ESPrefCFR(rule="br"), seed=1)
    assert sampler.unmatched == tuple(wishes)
    for each in (sampler, plain):
        each.run(600)
    assert sampler.unmatched == (wishes[1],)
    raised = [sum(s.strategy(0)[card]["r"] for card in s.strategy(0) if len(card) == 3) for s in (sampler, plain)]
    assert raised[0] > raised[1] + 0.5


# Strategies.


def test_strategies_are_uniform_where_nothing_is_known():
    sampler = StreamedMCCFR(KUHN)
    assert len(sampler.strategy(0)) == 0
    assert sampler.strategy(0).probabilities("J_", ("p", "b")) == [0.5, 0.5]
    sampler.run(1)
    strategy = sampler.strategy(0)
    label = next(iter(strategy))
    assert strategy.probabilities(label, ["b", "p"]) == strategy.probabilities(label, ("p", "b"))[::-1]
    with pytest.raises(InvalidStrategyError, match=r"has actions \('f', 'c'\), but the strategy has \('p', 'b'\)"):
        strategy.probabilities(label, ("f", "c"))
    with pytest.raises(KeyError):
        strategy["an infoset that is not there"]
    with pytest.raises(InvalidStrategyError, match="has no infoset"):
        strategy.to_strategy(LEDUC)
    with pytest.raises(InvalidGameError, match="player is 2, expected a number"):
        sampler.strategy(2)


def test_strategies_are_written_and_read(tmp_path):
    sampler = StreamedMCCFR(THREE, seed=1)
    sampler.run(50)
    path = tmp_path / "strategies.jsonl"
    sampler.profile.save(path, game="kuhn:players=3")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == '{"treeplex_strategies":1,"game":"kuhn:players=3","players":3}'
    assert len(lines) == 1 + sum(sampler.infosets)
    read = StreamedProfile.load(path)
    for one, other in zip(read, sampler.profile, strict=True):
        assert dict(one) == dict(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty, expected strategies"),
        ("{", "line 1: "),
        ("[]", "expected an object"),
        ('{"treeplex_strategies":2,"players":1}', "treeplex_strategies is 2, expected 1"),
        ('{"treeplex_strategies":1,"players":0}', "players is 0, expected the number of players"),
        ('HEAD\n{"player":0}', "line 2: infoset is missing"),
        (
            'HEAD\n{"player":1,"infoset":"a","actions":["x"],"probabilities":[1]}',
            "line 2: player is 1, expected 0 to 0",
        ),
        ('HEAD\n{"player":0,"infoset":"a","actions":["x"],"probabilities":[]}', "not two lists of the same length"),
        ('HEAD\n{"player":0,"infoset":"a","actions":["x"],"probabilities":[0.5]}', "that sum to 1"),
        ('HEAD\n{"player":0,"infoset":"a","actions":["x","x"],"probabilities":[0.5,0.5]}', "expected distinct labels"),
        ("HEAD\nLINE\nLINE", "line 3: infoset 'a' of player 0 occurs twice"),
    ],
)
def test_files_that_hold_no_strategies_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "strategies.jsonl"
    text = text.replace("HEAD", '{"treeplex_strategies":1,"players":1}')
    path.write_text(text.replace("LINE", '{"player":0,"infoset":"a","actions":["x"],"probabilities":[1]}'))
    with pytest.raises(InvalidStrategyError, match=message) as refused:
        StreamedProfile.load(path)
    assert "\n" not in str(refused.value)


def test_files_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(InvalidStrategyError, match="no such file"):
        StreamedProfile.load(tmp_path / "none.jsonl")
    with pytest.raises(InvalidStrategyError, match="cannot be written"):
        StreamedMCCFR(KUHN).profile.save(tmp_path / "nowhere" / "strategies.jsonl")


# Rules that are none, and arguments that make no sense.


class Broken:
    """One decision of player 0 after a coin, with something wrong."""

    num_players = 2

    def __init__(self, **wrong):
        self._wrong = wrong

    def initial_state(self):
        return ""

    def player(self, state):
        return self._wrong.get("player", {0: CHANCE, 1: 0, 2: TERMINAL}[len(state)]) if len(state) else CHANCE

    def chance_outcomes(self, state):
        return self._wrong.get("chance_outcomes", (("h", Fraction(1, 2)), ("t", Fraction(1, 2))))

    def actions(self, state):
        return self._wrong.get("actions", {"h": ("a", "b"), "t": self._wrong.get("other", ("a", "b"))}[state[-1]])

    def child(self, state, action):
        return state + action

    def infoset(self, state):
        return self._wrong.get("infoset", "I")

    def payoffs(self, state):
        return self._wrong.get("payoffs", (1.0, -1.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"chance_outcomes": (("h", 0.4), ("t", 0.4))}, "expected numbers of at least 0 that sum to 1"),
        ({"chance_outcomes": (("h", -0.5), ("t", 1.5))}, "expected numbers of at least 0 that sum to 1"),
        ({"chance_outcomes": (("h", float("nan")), ("t", 1.0))}, "expected numbers of at least 0 that sum to 1"),
        ({"chance_outcomes": ()}, "expected pairs of a label and a number"),
        ({"chance_outcomes": ("h", "t")}, "expected pairs of a label and a number"),
        ({"player": 2}, "has player 2, expected 0 to 1, chance"),
        ({"player": -3}, "has player -3, expected 0 to 1, chance"),
        ({"player": "0"}, "has player '0', expected 0 to 1, chance"),
        ({"payoffs": (1.0,)}, "expected 2 finite numbers, one per player"),
        ({"payoffs": (float("inf"), 0.0)}, "expected 2 finite numbers, one per player"),
        ({"payoffs": None}, "expected 2 finite numbers, one per player"),
        ({"actions": ()}, "expected distinct labels"),
        ({"actions": ("a", "a")}, "expected distinct labels"),
        ({"actions": 5}, "expected a hashable label and a sequence of hashable labels"),
        ({"infoset": []}, "expected a hashable label"),
        ({"other": ("b", "a")}, "expected the same actions throughout an infoset"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr"])
def test_rules_that_are_none_are_refused_in_one_line(method, wrong, message):
    sampler = StreamedMCCFR(Broken(**wrong), method)
    with pytest.raises(InvalidGameError, match=message) as refused:
        sampler.run(50)
    assert "\n" not in str(refused.value)


def test_imperfect_recall_is_refused():
    class Forgetful(Broken):
        def player(self, state):
            return {0: CHANCE, 1: 0, 2: 0, 3: TERMINAL}[len(state)]

        def actions(self, state):
            return ("a", "h")

    with pytest.raises(ImperfectRecallError, match="the player's own past differs"):
        StreamedMCCFR(Forgetful()).run(50)


def test_a_history_without_an_end_is_refused(monkeypatch):
    class Endless(Broken):
        def player(self, state):
            return CHANCE if not len(state) else 0

        def actions(self, state):
            return ("a", "b")

        def child(self, state, action):
            return (0,)

        def chance_outcomes(self, state):
            return ((0, 1),)

    class Coins(Endless):
        def player(self, state):
            return CHANCE

    with pytest.raises(ImperfectRecallError):
        StreamedMCCFR(Endless()).run(1)
    assert walks._LONGEST == 1_000_000
    monkeypatch.setattr(walks, "_LONGEST", 10_000)
    with pytest.raises(GameTooLargeError, match="more than 10,000 moves: every history must end"):
        StreamedMCCFR(Coins()).run(1)


def test_arguments_that_make_no_sense_are_refused():
    with pytest.raises(UnknownMethodError, match="expected iterations, touched or seconds"):
        StreamedMCCFR(KUHN).run()
    with pytest.raises(UnknownMethodError, match="iterations is -1, expected a whole number"):
        StreamedMCCFR(KUHN).run(-1)
    with pytest.raises(UnknownMethodError, match="seconds is nan, expected a number"):
        StreamedMCCFR(KUHN).run(seconds=float("nan"))
    with pytest.raises(UnknownMethodError, match="seed is -1"):
        StreamedMCCFR(KUHN, seed=-1)
    with pytest.raises(UnknownMethodError, match="expected a sampling method, such as es-mccfr, os-mccfr, es-pref-cfr"):
        StreamedMCCFR(KUHN, "cfr")
    with pytest.raises(UnknownMethodError, match="full averages need the whole game"):
        StreamedMCCFR(KUHN, ExternalSamplingMCCFR(averaging="full"))
    with pytest.raises(UnknownMethodError, match="expected infoset or none"):
        StreamedMCCFR(KUHN, OutcomeSamplingMCCFR())
    with pytest.raises(InvalidGameError, match="does not define the rules of a game"):
        StreamedMCCFR("kuhn")
    matrix = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]]))
    with pytest.raises(UnsupportedProblemError, match="has no histories"):
        StreamedMCCFR(matrix)


# How good strategies are.


@thorough
def test_payoffs_of_streamed_strategies_are_those_of_the_game():
    sampler = StreamedMCCFR(THREE, seed=1)
    sampler.run(20)
    payoffs = streamed_payoffs(THREE, sampler.profile, 8000, seed=3, confidence=1 - FALSE_ALARMS)
    expected = expected_payoffs(THREE, sampler.profile.to_profile(THREE))
    assert all(each.lower < value < each.upper for each, value in zip(payoffs, expected, strict=True))
    assert sum(each.mean for each in payoffs) == pytest.approx(0.0)
    assert payoffs[0].upper - payoffs[0].lower < 0.5
    assert payoffs == streamed_payoffs(THREE, sampler.profile, 8000, seed=3, confidence=1 - FALSE_ALARMS)


@thorough
@pytest.mark.parametrize("sampling", ["external", "outcome"])
def test_a_learned_response_gains_and_never_more_than_the_best_one(sampling):
    sampler = StreamedMCCFR(LEDUC, seed=1)
    sampler.run(30)
    profile = sampler.profile.to_profile(LEDUC)
    for player in range(2):
        most = best_response_values(LEDUC, profile)[player] - expected_payoffs(LEDUC, profile)[player]
        found = streamed_gain(
            LEDUC, sampler.profile, player, iterations=1500, games=3000, sampling=sampling,
            confidence=1 - FALSE_ALARMS,
        )  # fmt: skip
        pair = [profile[0], profile[1]]
        pair[player] = found.strategy.to_strategy(LEDUC)
        true = expected_payoffs(LEDUC, Profile(pair))[player] - expected_payoffs(LEDUC, profile)[player]
        assert found.gain.lower < true < found.gain.upper
        assert found.gain.lower < most
        assert true > 0.4 * most


@pytest.mark.soak
def test_games_are_drawn_apart_from_the_walks_that_strategies_were_learned_from():
    """With the same random numbers a game would often be dealt as the walks were: 0.06 in favour of player 0."""
    off = []
    for seed in range(soaked(150)):
        sampler = StreamedMCCFR(KUHN, seed=seed)
        sampler.run(3)
        expected = expected_payoffs(KUHN, sampler.profile.to_profile(KUHN))
        off.append(streamed_payoffs(KUHN, sampler.profile, 20, seed=seed)[0].mean - expected[0])
    assert abs(np.mean(off)) < 4 * np.std(off) / math.sqrt(len(off))


@pytest.mark.soak
@pytest.mark.parametrize("games", [10, 100])
def test_student_s_intervals_hold_about_as_often_as_they_say(games):
    held, count = 0, soaked(100)
    profile = StreamedMCCFR(KUHN).profile  # uniform
    for seed in range(count):
        found = streamed_payoffs(KUHN, profile, games, seed=seed)[0]
        held += found.lower <= 1 / 8 <= found.upper
    print(f"\nmeans of {games} games: {held:,} of {count:,} intervals at 0.95 hold")
    assert abs(held - 0.95 * count) <= 0.02 * count + 4 * math.sqrt(0.95 * 0.05 * count)


def test_play_refuses_what_makes_no_sense():
    profile = StreamedMCCFR(KUHN).profile
    with pytest.raises(InvalidStrategyError, match="is not a streamed profile of the game"):
        streamed_payoffs(THREE, profile)
    with pytest.raises(InvalidStrategyError, match="expected a whole number of at least 2"):
        streamed_payoffs(KUHN, profile, 1)
    with pytest.raises(InvalidStrategyError, match="confidence is 1"):
        streamed_payoffs(KUHN, profile, 10, confidence=1)
    with pytest.raises(UnknownMethodError, match="expected iterations or seconds"):
        streamed_gain(KUHN, profile, 0)
    with pytest.raises(UnknownMethodError, match="expected one of external, outcome"):
        streamed_gain(KUHN, profile, 0, iterations=1, sampling="all")
    with pytest.raises(InvalidGameError, match="player is 2, expected a number"):
        streamed_gain(KUHN, profile, 2, iterations=1)
    assert len(streamed_gain(KUHN, profile, 0, seconds=0, games=10).strategy) == 0
