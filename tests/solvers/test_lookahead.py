"""Players who look ahead by the rules alone: held against exact responses, and in games that nobody enumerates."""

import json
import math
import subprocess
import sys
from itertools import pairwise

import pytest

from treeplex import (
    CDRNR,
    BestResponse,
    Game,
    GameTooLargeError,
    InvalidGameError,
    InvalidStrategyError,
    Profile,
    RestrictedNash,
    Strategy,
    StreamedMCCFR,
    UnknownMethodError,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    solve,
    worst_case,
)
from treeplex.cli import main
from treeplex.models.depth_limited.cut_off import CutOffRules
from treeplex.models.problems import LBR
from treeplex.seqform.histories import walk
from treeplex.solvers import encounter
from treeplex.solvers.depth_limited.continuations import CheckDown, Playouts, biased, uniformly
from treeplex.solvers.depth_limited.lookahead import LookaheadPlayer, extended
from treeplex.solvers.opponents.strategies import opponent_player, opponent_strategy
from treeplex.solvers.sampling.streamed_play import answer_of

LEDUC = load_game("leduc:merge_suits=true")
KUHN = load_game("kuhn")
GOOFSPIEL = load_game("goofspiel:cards=4")
#: Opponents of a game that is not enumerated.
FIVE = ["uniform", "uniform:without=top", "random:seed=1", "perturbed:(random:seed=2),epsilon=0.5", "strategies.jsonl"]


def paid_by(game, player, strategy, model):
    """Return what a player is paid against a model."""
    pair = [strategy, model] if player == 0 else [model, strategy]
    return float(expected_payoffs(game, Profile(pair))[player])


def looking(game, player, model, **settings):
    return LookaheadPlayer(game, player, answer_of(model), **{"method": "lp", "threshold": 0.0, **settings})


# Against exact responses


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("game", "p"), [(LEDUC, 0.5), (GOOFSPIEL, 0.5), (LEDUC, 1.0), (KUHN, 0.25), (GOOFSPIEL, 0.0)])
def test_who_sees_the_whole_game_plays_the_exact_response(game, player, p):
    model = opponent_strategy("random:seed=3", game, 1 - player)
    agent = looking(game, player, model, p=p, lookahead=20)
    strategy = agent.strategy(game)
    problem = BestResponse(game, model) if p == 1.0 else RestrictedNash(game, model, p=p)
    found = p * paid_by(game, player, strategy, model) + (1.0 - p) * worst_case(game, strategy)
    assert found == pytest.approx(solve(problem).objective, abs=1e-8)
    # Below the first decision of a deal or a bid nothing is solved again.
    assert len(agent.decisions) <= 2


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("game", [KUHN, LEDUC, GOOFSPIEL])
def test_with_the_values_of_a_best_response_a_short_lookahead_is_one(game, player, lookahead):
    model = opponent_strategy("random:seed=5", game, 1 - player)
    best = solve(BestResponse(game, model))
    answers = tuple(answer_of(best.profile[player] if each == player else model) for each in (0, 1))
    agent = looking(game, player, model, p=1.0, lookahead=lookahead, values=[Playouts(answers, games=0)])
    assert paid_by(game, player, agent.strategy(game), model) == pytest.approx(best.objective, abs=1e-8)


def test_more_continuations_to_choose_among_are_worth_no_more():
    model = Strategy.uniform(LEDUC, 1)
    one, pairs = Playouts((uniformly, uniformly), games=0), [(uniformly, biased(uniformly, each)) for each in "fcr"]

    def objective(values):
        agent = looking(LEDUC, 0, model, p=0.5, lookahead=1, values=values)
        agent.act("K_", (("", 0),))
        return agent.decisions[0].objective, agent.decisions[0].leaves

    (alone, leaves), (twice, doubled) = objective([one]), objective([one, one])
    assert twice == pytest.approx(alone, abs=1e-9)
    assert leaves < doubled <= 2 * leaves
    found = [objective([one, *(Playouts(each, games=0) for each in pairs[:count])])[0] for count in range(4)]
    assert all(more <= fewer + 1e-9 for fewer, more in pairwise(found))
    assert found[-1] < found[0] - 0.01


@pytest.mark.slow
def test_a_blueprint_with_biased_continuations_keeps_the_loss_below_the_gain():
    blueprint = StreamedMCCFR(LEDUC, seed=1)
    blueprint.run(iterations=2_000)
    answers = tuple(each.probabilities for each in blueprint.profile)
    values = [Playouts(answers, 0), *(Playouts((answers[0], biased(answers[1], each)), 0) for each in "fcr")]
    model = Strategy.uniform(LEDUC, 1)
    strategy = looking(LEDUC, 0, model, p=0.5, lookahead=2, values=values).strategy(LEDUC)
    gain, loss = paid_by(LEDUC, 0, strategy, model) + 0.0856064, -0.0856064 - worst_case(LEDUC, strategy)
    assert 0.0 <= loss < gain
    assert gain > 1.0


# What a step holds


@pytest.mark.parametrize("cards", [8, 13])
def test_a_step_is_as_large_as_its_lookahead_whatever_the_game(cards):
    player = opponent_player("cdrnr:opponent=uniform,p=0.5,lookahead=1,values=uniform,method=lp", _goofspiel(cards), 0)
    player.act("_", (("_", 0),))
    assert player.decisions[0].leaves == cards**2


def _goofspiel(cards):
    return load_game(f"goofspiel:cards={cards}")


@pytest.mark.parametrize(
    "spec", ["goofspiel:cards=4", "goofspiel:cards=3,order=random", "goofspiel:cards=3,payoff=win_loss"]
)
def test_the_formula_for_random_bids_is_their_mean(spec):
    rules = load_game(spec).rules
    mean = Playouts((uniformly, uniformly), games=0).worth(rules, ())
    if "win_loss" in spec:
        assert rules.uniform_payoffs(rules.initial_state()) is None
        return
    for history in walk(rules):
        assert rules.uniform_payoffs(history.state) == pytest.approx(mean(history.state), abs=1e-12)


def test_playouts_are_means_of_games_and_the_same_again():
    rules = GOOFSPIEL.rules
    state = rules.child(rules.initial_state(), "4")
    many = Playouts((uniformly, uniformly), games=4_000)
    found = many.worth(rules, (("_", 0),))(state)
    assert found == many.worth(rules, (("_", 0),))(state)
    assert found[0] == pytest.approx(rules.uniform_payoffs(state)[0], abs=0.2)  # four standard errors
    assert found[0] == -found[1]


def test_a_check_down_is_the_equity():
    worth = CheckDown().worth(KUHN.rules, ())
    state = KUHN.rules.initial_state()
    for step in ("K", "Q", "b"):
        state = KUHN.rules.child(state, step)
    assert worth(state) == (2.0, -2.0)
    with pytest.raises(UnsupportedProblemError, match="checkdown"):
        CheckDown().worth(GOOFSPIEL.rules, ())


@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_what_may_be_played_is_likelier_than_the_threshold(threshold):
    model = Strategy.uniform(GOOFSPIEL, 1)
    agent = looking(GOOFSPIEL, 0, model, p=0.3, lookahead=1, threshold=threshold, method="cfr+")
    plan = agent.strategy(GOOFSPIEL).plan
    assert (plan[plan > 0.0] >= threshold).all()
    assert ((plan > 0.0) & (plan < 0.1)).any() == (threshold == 0.0)


# Its decisions


def _asked(agent, game):
    """Return each infoset of the player with the public states that lead there."""
    found = {}
    for history in walk(game.rules):
        if history.player != -2:
            before = () if history.before is None else history.before.data
            history.data = extended(before, game.rules.public_state(history.state), history.player)
            if history.player == agent.player:
                found.setdefault(game.rules.infoset(history.state), history.data)
    return list(found.items())


@pytest.mark.parametrize("game", [KUHN, GOOFSPIEL])
def test_the_order_of_decisions_makes_no_difference(game):
    model = opponent_strategy("random:seed=1", game, 0)
    one, other = (looking(game, 1, model, p=0.5, lookahead=1, method="cfr+", values=[Playouts(games=2)]) for _ in "ab")
    asked = _asked(one, game)
    forwards = {infoset: one.act(infoset, path) for infoset, path in asked}
    backwards = {infoset: other.act(infoset, path) for infoset, path in reversed(asked)}
    assert forwards == backwards
    assert sorted(map(repr, (each.path for each in one.decisions))) == sorted(
        map(repr, (each.path for each in other.decisions))
    )


def test_games_move_by_move_and_the_whole_strategy_agree():
    model = Strategy.uniform(LEDUC, 0)
    agent = looking(LEDUC, 1, model, p=0.5, lookahead=1, values=[CheckDown()])
    paid = encounter(LEDUC, [model, agent], games=2_000, seed=3)
    fewer = len(agent.decisions)
    expected = paid_by(LEDUC, 1, agent.strategy(LEDUC), model)
    assert fewer <= len(agent.decisions)
    assert abs(paid[:, 1].mean() - expected) <= 3.9 * paid[:, 1].std() / math.sqrt(len(paid))
    by_label = encounter(LEDUC, [uniformly, agent], games=50, seed=4)
    assert by_label.tolist() == encounter(LEDUC, [model, agent], games=50, seed=4).tolist()


@pytest.mark.parametrize("opponent", FIVE)
def test_goofspiel_is_played_without_enumerating_it(opponent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    game = _goofspiel(6)
    sampler = StreamedMCCFR(game, "os-mccfr", seed=1)
    sampler.run(iterations=200)
    sampler.profile.save("strategies.jsonl")
    seats = [f"cdbr:opponent=({opponent}),lookahead=1,values=uniform,method=lp", opponent]
    takers = [opponent_player(text, game, player) for player, text in enumerate(seats)]
    paid = encounter(game, takers, games=60, seed=1)
    assert not game.is_built
    assert (paid.sum(axis=1) == 0.0).all()
    assert paid[:, 0].mean() > 2.0  # of 21 points; 0 is what equal players come to
    assert max(each.leaves for each in takers[0].decisions) < 2_000


@pytest.mark.parametrize("cards", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_what_it_plays_is_judged_where_the_game_is_enumerated(cards):
    game = _goofspiel(cards)
    text = "cdrnr:opponent=uniform,p=0.5,lookahead=3,values=uniform"
    strategy = opponent_strategy(text, game, 0)
    gain, loss = paid_by(game, 0, strategy, Strategy.uniform(game, 1)), -worst_case(game, strategy)
    assert gain > 1.5
    assert 0.0 <= loss <= gain  # the theorem's bound with p = 1/2, if values were right


# On the command line


def record_of(capsys, *arguments):
    assert main([*arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_play_walks_games_that_do_not_fit(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    seats = ("--seat0", "cdbr:opponent=uniform,lookahead=1,values=uniform,method=lp", "--seat1", "uniform")
    arguments = ("play", "goofspiel:cards=8", *seats, "--games", "2", "--seed", "1")
    found = record_of(capsys, *arguments)
    assert found["expected"] is None
    assert found["log"] is None
    (low, high), mean = found["interval"][0], found["mean"][0]
    assert -36.0 <= low < mean < high <= 36.0
    assert found["mean"][1] == -mean
    assert record_of(capsys, *arguments)["mean"] == found["mean"]
    assert main(list(arguments)) == 0
    assert "result of seat 0" in capsys.readouterr().out
    assert main([*arguments, "--out", "log.jsonl"]) == 2
    assert "goofspiel:cards=8 is not enumerated" in capsys.readouterr().err
    assert main(["play", "goofspiel:cards=8", "--seat0", "uniform", "--seat1", "uniform", "--games", "0"]) == 0
    assert "result of seat" not in capsys.readouterr().out


def test_play_draws_hands_before_the_flop(capsys):
    seats = ("--seat0", "uniform", "--seat1", "uniform:without=fold")
    arguments = ("play", "preflop:stack=4,continuations=1", *seats, "--games", "20000", "--seed", "1")
    found = record_of(capsys, *arguments)
    low, high = found["interval"][0]
    assert low < found["expected"][0] < high
    assert high - low < 0.2
    assert found["mean"][0] == pytest.approx(-found["mean"][1])
    assert main([*arguments, "--out", "log.jsonl"]) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize("seat", [0, 1])
def test_a_seat_is_judged_as_the_response_is_certified(seat, capsys):
    found = record_of(capsys, "evaluate", "leduc", "--strategy", "cdrnr:opponent=uniform,p=0.5,lookahead=1,method=lp")
    game = load_game("leduc")
    solution = solve(CDRNR(game, Strategy.uniform(game, 1 - seat), p=0.5, lookahead=1))
    worst = -found["best_response_values"][1 - seat]
    value = solution.opponent_value - solution.gain
    assert value - worst == pytest.approx(solution.exploitability, abs=1e-9)


@pytest.mark.parametrize("player", [0, 1])
def test_a_local_best_response_takes_a_seat(player):
    model = opponent_strategy("random:seed=2", KUHN, 1 - player)
    strategy = opponent_strategy("lbr:opponent=(random:seed=2)", KUHN, player)
    assert paid_by(KUHN, player, strategy, model) == pytest.approx(solve(LBR(KUHN, model)).opponent_value, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cdbr:opponent=uniform,lookahead=1", "goofspiel:cards=8 is not enumerated.*expected values=V"),
        ("cdbr:opponent=uniform,lookahead=1,values=unifrom", r"'unifrom' \(did you mean uniform\?\)"),
        ("cdbr:opponent=uniform,lookahead=1,values=checkdown,biased=top", "biased= needs values=uniform"),
        ("cdbr:opponent=uniform,lookahead=1,values=uniform,biased=9", "player 1 .* had no action '9'.*one of 1, 2, 3"),
        ("cdrnr:opponent=uniform,p=0.5,lookahead=1,values=uniform,gadget=none", "gadget=full; omit gadget="),
        ("cdrnr:opponent=uniform,p=0.5,lookahead=1,values=uniform,along=level", "along the path of play"),
        ("cdrnr:opponent=nash,p=0.5,lookahead=1,values=uniform", "opponent nash needs the whole game"),
        ("cdrnr:opponent=(cdbr:opponent=uniform,lookahead=1),p=0.5,lookahead=1,values=uniform", "nobody's model"),
        ("cdrnr:opponent=uniform,p=0.5,lookahead=0,values=uniform", "lookahead"),
        ("ses:opponent=uniform,p=0.5", "needs the whole game"),
        ("ses:opponent=uniform,p=0.5,values=uniform", "unknown parameter|needs the whole game"),
        ("uniform:without=9", "had no action '9'"),
        ("perturbed:uniform,concentration=10,seed=1", "concentration needs the whole game"),
        ("strategy.npz", "needs the whole game"),
        ("nobody", "unknown opponent 'nobody'"),
    ],
)
def test_mistakes_are_answered_in_one_line(text, said):
    with pytest.raises(InvalidStrategyError, match=said) as refused:
        opponent_player(text, _goofspiel(8), 0)
    assert "\n" not in str(refused.value)


def test_what_no_player_can_be_made_of_is_refused(monkeypatch):
    settings = {"p": 0.5, "lookahead": 1}
    with pytest.raises(UnknownMethodError, match="cannot solve decisions"):
        LookaheadPlayer(KUHN, 0, uniformly, **settings, method="highs")
    with pytest.raises(InvalidGameError, match="p is"):
        LookaheadPlayer(KUHN, 0, uniformly, p=1.5, lookahead=1)
    with pytest.raises(UnsupportedProblemError, match="public_state"):
        LookaheadPlayer(load_game("kuhn:players=3"), 0, uniformly, **settings)
    with pytest.raises(InvalidStrategyError, match="does not move"):
        LookaheadPlayer(KUHN, 1, uniformly, **settings).act("K_", (("", 0),))
    with pytest.raises(InvalidStrategyError, match="needs values=V, which is missing"):
        opponent_strategy("cdbr:opponent=uniform,lookahead=1,threshold=0.1", KUHN, 0)
    monkeypatch.setenv("TREEPLEX_MEMORY", "1kB")
    with pytest.raises(GameTooLargeError, match="a smaller lookahead"):
        LookaheadPlayer(_goofspiel(8), 0, uniformly, p=0.5, lookahead=5).act("_", (("_", 0),))


def test_a_tree_that_is_cut_off_has_the_payoffs_of_its_leaves():
    rules = GOOFSPIEL.rules
    cut = CutOffRules(rules, 0, (("_", 0),), 1, [rules.uniform_payoffs], {})
    leaves = Game("one round", rules=cut).sequence_form.leaves
    assert len(leaves) == 16
    assert leaves.payoffs[:, 0].mean() == pytest.approx(0.0, abs=1e-12)
    assert (leaves.payoffs[:, 0] == -leaves.payoffs[:, 1]).all()


@pytest.mark.slow
def test_goofspiel_with_8_cards_takes_a_robust_player_less_than_a_gigabyte(tmp_path):
    seats = ["--seat0", "cdrnr:opponent=uniform,p=0.5,lookahead=1,values=uniform", "--seat1", "uniform"]
    arguments = ["play", "goofspiel:cards=8", *seats, "--games", "5", "--json", "found.json"]
    code = (
        f"import resource; from treeplex.cli import main; assert main({arguments!r}) == 0; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads((tmp_path / "found.json").read_text())["games"] == 5
    assert int(done.stdout.split()[-1]) * 1024 < 10**9
