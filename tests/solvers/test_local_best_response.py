"""Local best response in poker, against plain recursion over histories."""

import pytest
from effort import few

from treeplex import (
    CDBR,
    CHANCE,
    TERMINAL,
    BestResponse,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.depth_limited import folds_and_calls
from treeplex.models.problems import LBR
from treeplex.solvers.opponents.strategies import opponent_strategy

GAMES = ["kuhn", "kuhn:cards=4", "leduc:merge_suits=true", "leduc:merge_suits=true,raises=3"]


def words(game, infoset, actions):
    """Return the labels that fold, if one does, and that check or call."""
    if game.rules.name == "leduc":
        return ("f" if "f" in actions else None), "c"
    return ("p", "b") if "b" in infoset.partition("_")[2] else (None, "p")


def to_showdown(game, state, player, model, answers):
    """Return what the player gets if both check and call, and the other may fold in answer to the last action."""
    rules = game.rules
    mover = rules.player(state)
    if mover == TERMINAL:
        return float(rules.payoffs(state)[player])
    if mover == CHANCE:
        return sum(
            float(chance) * to_showdown(game, rules.child(state, event), player, model, False)
            for event, chance in rules.chance_outcomes(state)
        )
    infoset = rules.infoset(state)
    fold, call = words(game, infoset, rules.actions(state))
    called = to_showdown(game, rules.child(state, call), player, model, False)
    if mover == player or not answers or fold is None:
        return called
    folds = model[infoset][fold]
    folded = to_showdown(game, rules.child(state, fold), player, model, False)
    return folds * folded + (1 - folds) * called


def action_values(game, player, model):
    """Return what each action of the player's is worth by the rule, by infoset and action; unweighted by own reach."""
    rules, values = game.rules, {}
    stack = [(rules.initial_state(), 1.0)]
    while stack:
        state, weight = stack.pop()
        mover = rules.player(state)
        if mover == TERMINAL or not weight:
            continue
        if mover == CHANCE:
            stack += [(rules.child(state, event), weight * float(p)) for event, p in rules.chance_outcomes(state)]
        elif mover == player:
            for action in rules.actions(state):
                after = rules.child(state, action)
                own = values.setdefault(rules.infoset(state), {})
                worth = to_showdown(game, after, player, model, True)
                own[action] = own.get(action, 0.0) + weight * worth
                stack.append((after, weight))
        else:
            played = model[rules.infoset(state)]
            stack += [(rules.child(state, action), weight * played[action]) for action in rules.actions(state)]
    return values


@few
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("opponent", ["uniform", "random:seed=2", "cfr:iterations=34"])
@pytest.mark.parametrize("name", GAMES)
def test_every_decision_is_the_best_by_the_rule(name, opponent, player):
    game = load_game(name)
    model = opponent_strategy(opponent, game, 1 - player)
    solution = solve(LBR(game, model))
    assert solution.status is Status.OPTIMAL
    treeplex = solution.strategy.treeplex
    reach = dict(zip(treeplex.infoset_labels, treeplex.reach(solution.strategy.plan), strict=True))
    decided = 0
    for infoset, values in action_values(game, player, model).items():
        if reach[infoset] > 0:
            played = solution.strategy[infoset]
            assert sum(played[action] * worth for action, worth in values.items()) == pytest.approx(
                max(values.values()), abs=1e-9
            )
            decided += 1
    assert decided > len(reach) / 8


@few
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("method", ["cfr", "cfr+", "dcfr", "pcfr+"])
@pytest.mark.parametrize("name", GAMES)
def test_regret_minimisation_decides_nearly_as_well(name, method, player):
    game = load_game(name)
    model = opponent_strategy("random:seed=2", game, 1 - player)
    tolerance = 1e-4
    solution = solve(LBR(game, model), method, tol=tolerance)
    assert solution.status is Status.CONVERGED
    treeplex = solution.strategy.treeplex
    reach = dict(zip(treeplex.infoset_labels, treeplex.reach(solution.strategy.plan), strict=True))
    missed = 0.0
    for infoset, values in action_values(game, player, model).items():
        played = sum(solution.strategy[infoset][action] * worth for action, worth in values.items())
        missed += reach[infoset] * (max(values.values()) - played)
    assert -1e-9 <= missed <= len(solution.steps) * tolerance


def test_it_gains_no_more_than_a_best_response_and_may_lose():
    game = load_game("kuhn")
    gains = []
    for iterations in (10, 34, 100, 300, 1000):
        model = opponent_strategy(f"cfr:iterations={iterations}", game, 1)
        found = solve(LBR(game, model, game_value=-1 / 18))
        assert found.gain <= solve(BestResponse(game, model, game_value=-1 / 18)).gain + 1e-9
        gains.append(found.gain)
    assert gains[0] > gains[-1]
    # A good opponent it loses to: it does not see the bets that are still to come. The value is in [-0.1046, -0.1045].
    leduc = load_game("leduc:ranks=6,merge_suits=true")
    model = opponent_strategy("cfr:iterations=1000", leduc, 1)
    assert solve(LBR(leduc, model, game_value=-0.1045436)).gain < -0.015
    assert solve(CDBR(leduc, model, lookahead=1, game_value=-0.1045436)).gain > 0.0


def test_a_step_s_objective_is_what_the_rule_expects():
    game = load_game("kuhn")
    solution = solve(LBR(game, Strategy.uniform(game, 1)))
    values = action_values(game, 0, Strategy.uniform(game, 1))
    first = sum(max(actions.values()) for infoset, actions in values.items() if infoset.endswith("_"))
    assert solution.steps[0] == pytest.approx(first)
    assert solution.opponent_value == pytest.approx(0.5)


def test_in_each_infoset_one_action_calls_and_one_folds_where_a_bet_is_faced():
    for name in GAMES:
        game = load_game(name)
        for player in (0, 1):
            treeplex = game.sequence_form.treeplexes[player]
            folds, calls = folds_and_calls(game, player)
            for infoset, actions in enumerate(treeplex.action_labels):
                first, last = treeplex.offsets[infoset : infoset + 2].tolist()
                fold, call = words(game, treeplex.infoset_labels[infoset], actions)
                assert [a for a, flag in zip(actions, calls[first:last], strict=True) if flag] == [call]
                assert [a for a, flag in zip(actions, folds[first:last], strict=True) if flag] == [fold] * bool(fold)


def test_it_is_for_poker_alone():
    game = load_game("goofspiel")
    with pytest.raises(UnsupportedProblemError, match=r"lbr and checkdown need a poker game \(kuhn, leduc"):
        solve(LBR(game, Strategy.uniform(game, 1)))
