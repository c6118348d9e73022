"""Constrained CFR straight on rules: as the compiled samplers, and right on average over every sample."""

import numpy as np
import pytest
from every_sample import Draws, expectation
from random_trees import NestedRules, seeded_tree, to_game

from treeplex import (
    CHANCE,
    TERMINAL,
    Checkpoint,
    CheckpointError,
    ConstrainedNash,
    InvalidConstraintError,
    InvalidStrategyError,
    Profile,
    StreamedMCCFR,
    UnknownMethodError,
    load_game,
)
from treeplex.models.constraints import ExpectedCost, parse_constraint
from treeplex.models.constraints.labelled import parse_labelled_constraint
from treeplex.solvers import ExternalSamplingCCFR, Options, OutcomeSamplingCCFR
from treeplex.solvers.sampling.constrained import stepper
from treeplex.solvers.sampling.constrained_walks import ConstrainedWalker

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")
METHODS = {
    "external": ExternalSamplingCCFR(),
    "external, plus": ExternalSamplingCCFR(local_rule="regret-matching+", steps="constant"),
    "external, averages sampled": ExternalSamplingCCFR(averaging="sampled"),
    "outcome": OutcomeSamplingCCFR(baselines="infoset"),
    "outcome, no baselines": OutcomeSamplingCCFR(baselines="none", exploration=0.4),
}
TEXTS = {
    "kuhn": ("0/K_:b <= 1/2", "0/J_:b >= 0.3", "plan(1/K_p:b) + plan(1/Q_p:b) <= 0.9", "reach(0/Q_pb) >= 0.6"),
    "leduc": ("plan(0/Ks_:r) + plan(0/Kh_:r) <= 0.8", "1/Qs_r:c >= 1/2", "reach(0/Js_rr) <= 0.1"),
}


def meet_all(streamed: StreamedMCCFR) -> None:
    """Let a sampler know all infosets, so that constraints count from the first iteration on, as in compiled runs."""
    walker, rules = streamed._walker, streamed.rules
    stack = [(rules.initial_state(), (-1, -1))]
    while stack:
        state, lasts = stack.pop()
        who = rules.player(state)
        if who == CHANCE:
            stack += [(rules.child(state, label), lasts) for label, _ in rules.chance_outcomes(state)]
        elif who != TERMINAL:
            number, menu = walker._meet(who, state, lasts[who])
            start = walker.tables[who].starts[number]
            for place, action in enumerate(menu):
                after = tuple(start + place if each == who else last for each, last in enumerate(lasts))
                stack.append((rules.child(state, action), after))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(("game", "iterations"), [(KUHN, 800), (LEDUC, 150)], ids=["kuhn", "leduc"])
def test_it_does_what_the_compiled_samplers_do(game, iterations, method):
    texts = TEXTS[game.spec]
    streamed = StreamedMCCFR(game, method, constraints=texts, seed=3)
    streamed._rows.unit[0] = game.sequence_form.payoff_scale
    meet_all(streamed)
    streamed.run(iterations)
    problem = ConstrainedNash(game, [one for text in texts for one in parse_constraint(text, game)])
    loop = stepper(method, problem, Options(0.0, iterations, np.inf, 0.0, seed=3))
    loop.rows.arrays.rates[:] = [streamed._rows.unit[0] / one.span**2 for one in streamed._rows.constraints]
    loop.next_check = None
    loop.step(iterations)
    np.testing.assert_allclose(streamed._rows.values, loop.whole.duals.values, atol=1e-9)
    np.testing.assert_allclose(streamed._rows.sums, loop.whole.duals.sums, atol=1e-9)
    assert max(streamed._rows.sums) > 0.0
    profile, averages = streamed.profile.to_profile(game), loop.sampler.profile(game, loop.state)
    for one, other in zip(profile, averages, strict=True):
        np.testing.assert_allclose(one.plan, other.plan, atol=1e-9)
    for one, known in zip(problem.constraints, streamed.constraints, strict=True):
        assert known.value == pytest.approx(one.value(averages[one.player].plan), abs=1e-9)
        assert (known.name, known.is_estimate) == (one.name, False)


class EveryWalk(ConstrainedWalker):
    """A walker that draws by a script."""

    draws: Draws

    def _chosen(self, policy, uniform):
        each = uniform / len(policy)
        return self.draws.draw([share * (1.0 - uniform) + each for share in policy])

    def _after_chance(self, state):
        outcomes = self.rules.chance_outcomes(state)
        label, _ = outcomes[self.draws.draw([float(probability) for _, probability in outcomes])]
        return self.rules.child(state, label)


def first_player_wins(state) -> float:
    return float(state.payoffs[0] > 0.0)


@pytest.mark.parametrize("method", ["es-ccfr", "os-ccfr"])
@pytest.mark.parametrize("seed", [1, 29, 5])
def test_what_is_counted_is_right_on_average_over_every_sample(seed, method):
    root = seeded_tree(seed, size=14)
    game, rules = to_game(root), NestedRules(root, 2)
    texts = ["x@all <= 0.4", "x@first + y@first >= 0.3", "1/y@all >= 0.1"]
    cost = ExpectedCost(0, first_player_wins, 0.25, "wins")
    streamed = StreamedMCCFR(rules, method, constraints=[*texts, cost], seed=1)
    streamed.run(200)  # everything has been met
    rows, walker = streamed._rows, streamed._walker
    walker.__class__ = EveryWalk
    rows.values[:] = type(rows.values)("d", [0.7, 1.1, 0.9, 1.3])
    leaves = game.sequence_form.leaves
    given = [one for text in texts for one in parse_constraint(text, game)]
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        table = streamed._tables[player]
        assert len(table) == treeplex.num_infosets
        behaviour = np.ones(treeplex.num_sequences)
        places = {}
        for label, number in table.numbers.items():
            first, start = int(treeplex.offsets[treeplex.find_infoset(label)]), table.starts[number]
            policy = walker.policy(table, number)
            behaviour[first : first + len(policy)] = policy
            places |= {start + each: first + each for each in range(len(policy))}
        plan = treeplex.plan(behaviour)
        gradient, values = np.zeros(treeplex.num_sequences), np.zeros(4)
        for row, one in enumerate(given):
            if one.player == player:
                gradient[one.function.indices] -= rows.values[row] * one.function.coefficients
                values[row] = one.value(plan) - rows.constraints[row].constant
        if player == 0:
            paid = leaves.chance * Profile.uniform(game).plans[1][leaves.sequences[:, 1]] * (leaves.payoffs[:, 0] > 0)
            wins = np.bincount(leaves.sequences[:, 0], weights=paid, minlength=treeplex.num_sequences)
            gradient -= rows.values[3] * wins
            values[3] = wins @ plan
        expected = np.zeros(treeplex.num_sequences)
        worth = gradient.copy()
        for infoset in range(treeplex.num_infosets - 1, -1, -1):
            own = slice(*treeplex.offsets[infoset : infoset + 2].tolist())
            mean = behaviour[own] @ worth[own]
            expected[own] = worth[own] - mean
            worth[treeplex.parents[infoset]] += mean

        def walk(draws, player=player, places=places, size=treeplex.num_sequences):
            walker.draws, walker._found, found = draws, {}, [0.0] * 4
            walker._pay_counted(player, found, [])
            regrets = np.zeros(size)
            for start, each in walker._found.items():
                regrets[[places[start + place] for place in range(len(each))]] += each
            return np.concatenate([regrets, found])

        np.testing.assert_allclose(expectation(walk), np.concatenate([expected, values]), atol=1e-12)
        assert np.abs(expected).max() > 0.01


@pytest.mark.parametrize(
    ("texts", "value", "method"),
    [
        (("bet@first >= 0.6", "1/K_p:b <= 1/2"), -0.051851852, "es-ccfr"),
        (("0/K_:b <= 0.5", "0/J_:b >= 0.3"), -0.1, "es-ccfr"),
        (("0/J_:b >= 1/2",), -1 / 9, "os-ccfr"),
    ],
)
def test_strategies_come_to_the_constrained_equilibrium(texts, value, method):
    streamed = StreamedMCCFR(KUHN, method, constraints=texts, seed=1)
    streamed.run(6_000)
    problem = ConstrainedNash(KUHN, [one for text in texts for one in parse_constraint(text, KUHN)])
    known = streamed.constraints
    certificate = problem.certify(streamed.profile.to_profile(KUHN), {one.name: one.multiplier for one in known})
    assert abs(certificate.lower - value) < 0.05
    assert abs(certificate.upper - value) < 0.05
    for one in known:
        assert one.value < 0.03
        assert one.value == pytest.approx(certificate.violations[one.name], abs=0.02 if one.is_estimate else 1e-9)


def test_a_game_too_large_to_enumerate_is_constrained():
    game = load_game("leduc:players=2,ranks=13,suits=4")
    texts = ["raise@first <= 0.2", "0/Ks_:r >= 0.3 as king", 'plan(0/"no such":r) <= 0.5']
    streamed = StreamedMCCFR(game, "es-ccfr", constraints=texts, seed=1)
    free = StreamedMCCFR(game, "es-mccfr", seed=1)
    streamed.run(150)
    free.run(150)
    often, king, missing = streamed.constraints
    assert missing.value is None
    assert missing.multiplier == 0.0
    assert often.is_estimate
    assert often.multiplier > 0.0
    assert king.value == pytest.approx(0.3 - streamed.strategy(0)["Ks_"]["r"])
    first = [strategy["r"] for strategy in (streamed.strategy(0), free.strategy(0)) for strategy in [strategy["As_"]]]
    assert first[0] < first[1]


def test_multipliers_stay_below_the_penalty():
    streamed = StreamedMCCFR(KUHN, "es-ccfr", constraints="0/J_:b >= 0.9", penalty=0.125, seed=1)
    streamed.run(2000)
    assert max(streamed._rows.values) == 0.125


def test_others_may_be_agreed_on():
    def folds(infoset, actions):
        return [1.0, 0.0]

    texts = "c@all <= 0.1"
    games = []
    for others in (None, {1: folds}):
        streamed = StreamedMCCFR(LEDUC, "es-ccfr", constraints=texts, others=others, seed=1)
        streamed.run(300)
        games.append(streamed.constraints[0].value)
    assert games[0] != games[1]


@pytest.mark.parametrize("method", ["es-ccfr", "os-ccfr"])
def test_a_run_goes_on_from_a_file_and_a_checkpoint(method, tmp_path):
    texts = ["0/J_:b >= 1/2", "bet@first <= 0.4"]
    whole = StreamedMCCFR(KUHN, method, constraints=texts, seed=2)
    whole.run(300)
    part = StreamedMCCFR(KUHN, method, constraints=texts, seed=2)
    part.run(100)
    part.save(tmp_path / "run.npz")
    again = StreamedMCCFR.load(tmp_path / "run.npz", KUHN, method, constraints=texts)
    again.run(200)
    assert again.constraints == whole.constraints
    assert again._tables[0].regrets == whole._tables[0].regrets
    with pytest.raises(InvalidStrategyError, match="its constraints is"):
        StreamedMCCFR.load(tmp_path / "run.npz", KUHN, method, constraints=texts[:1])
    path = tmp_path / "checkpoint"
    StreamedMCCFR(KUHN, method, constraints=texts, seed=2).run(100, checkpoint=path)
    other = StreamedMCCFR(KUHN, method, constraints=texts[:1], seed=2)
    with pytest.raises(CheckpointError, match="method"):
        other.run(200, checkpoint=Checkpoint(path, resume=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/J_:b", "column 7: received the end, expected \\+, <=, >= or =="),
        ("2/J_:b <= 1", "received the seat '2', expected 0 to 1"),
        ("0/J_:b + 1/Q_p:b <= 1", "terms of players 1 and 0 are added, expected terms of one player"),
        ("0/J_:b + 0/Q_:b <= 1", "added to terms other than probabilities at the same infoset"),
        ("plan(0/J_:b) + 0/Q_:b <= 1", "added to terms other than probabilities at the same infoset"),
        ("risk <= 0.1", "functionals need the whole game"),
        ("0/J_ <= 0.1", "expected : after the infoset"),
        ("bet@first <= much", "received 'much', expected a number"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(InvalidConstraintError, match=message):
        StreamedMCCFR(KUHN, "es-ccfr", constraints=text)


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        InvalidConstraintError, match="es-mccfr does not support constraints, expected es-ccfr or os-ccfr"
    ):
        StreamedMCCFR(KUHN, "es-mccfr", constraints="0/J_:b <= 1/2")
    with pytest.raises(UnknownMethodError, match="costs='sampled', expected auto"):
        StreamedMCCFR(KUHN, "es-ccfr:costs=sampled")
    with pytest.raises(InvalidConstraintError, match="two constraints are named 'one'"):
        StreamedMCCFR(KUHN, "es-ccfr", constraints=["0/J_:b <= 1/2 as one", "0/K_:b <= 1/2 as one"])
    with pytest.raises(InvalidConstraintError, match="penalty is -1"):
        StreamedMCCFR(KUHN, "es-ccfr", constraints="0/J_:b <= 1/2", penalty=-1)
    with pytest.raises(InvalidConstraintError, match="cost is 3, expected a function"):
        ExpectedCost(0, 3, 1.0, "three")
    with pytest.raises(InvalidConstraintError, match="names action 'x' at infoset 'J_', expected one of p, b"):
        StreamedMCCFR(KUHN, "es-ccfr", constraints="0/J_:x <= 1/2").run(100)
    wrong = StreamedMCCFR(KUHN, "es-ccfr", constraints=ExpectedCost(0, lambda state: "much", 1.0, "words"))
    with pytest.raises(InvalidConstraintError, match="the cost of 'words' at the leaf"):
        wrong.run(1)


def test_labels_and_equalities_are_read_as_on_enumerated_games():
    both = parse_labelled_constraint("0/J_:bet == 1/4 as quarter", 2, {"bet": "b"})
    assert [(one.name, one.sense) for one in both] == [("quarter (at most)", "<="), ("quarter (at least)", ">=")]
    assert both[0].coefficients("J_", ["p", "b"], True, counted=False) == [-0.25, 0.75]
    for text in ('plan("0"/"J_":b) <= 1/4', "reach(0/J_pb) >= 1/4", "b@J_ + p@all <= 2"):
        (one,), (other,) = parse_labelled_constraint(text, 2), parse_constraint(text, KUHN)
        assert (one.name, one.player, one.sense) == (other.name, other.player, other.sense)
