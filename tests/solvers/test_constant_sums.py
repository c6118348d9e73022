"""Games whose payoffs sum to a constant: every answer is that of the zero-sum game, in the payoffs of the game.

The judges are the same question without the constant, pygambit, and numbers by hand.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from constant_sums import Shifted, draw_with_constant, shifted
from effort import either, soaked
from gambit_judge import equilibrium_of, payoffs_of, read_by_gambit
from public_games import RandomPublicGame
from random_trees import Chance, Decision, Leaf, seeded_tree, to_game

from treeplex import (
    CDRNR,
    EpsilonSafeResponse,
    Game,
    Nash,
    OpponentModel,
    Profile,
    SequenceForm,
    Solution,
    SolverError,
    Strategy,
    best_response,
    counter_strategy,
    expected_payoffs,
    exploitability,
    frequency,
    load_game,
    nash_conv,
    parametric_value,
    reach_style,
    restricted_nash_frontier,
    solve,
    style_range,
    trade_off,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.opponents import Threshold
from treeplex.models.problems import FeasibilityRelaxation
from treeplex.seqform.evaluate import worst_case
from treeplex.seqform.interchange.openspiel import game_from_openspiel
from treeplex.seqform.public_form import PublicForm
from treeplex.solvers import Agent, calibrate_style, style_efficiency
from treeplex.solvers.opponents.tuning import ExactJudge, Seats

CONSTANTS = (10, -3, Fraction(1, 3), 0.3, 1000)


def differences(without: Solution, found: Solution, constant: float) -> list[str]:
    """Return what of an answer is not that without the constant, in the payoffs of the game."""
    own = constant if without.player == 1 else 0.0
    objective = own if without.problem.objective_is_payoff else 0.0
    steps = own if without.problem.steps_are_payoffs else 0.0
    expected = {
        "status": (str(without.status), str(found.status), None),
        "values": (without.certificate.value, found.certificate.value, np.array([0.0, constant])),
        "steps": (without.steps or (), found.steps or (), steps),
    }
    expected |= {name: (getattr(without, name), getattr(found, name), own) for name in ("opponent_value", "game_value")}
    expected |= {
        name: (getattr(without, name), getattr(found, name), objective) for name in ("objective", "lower", "upper")
    }
    expected |= {
        name: (getattr(without, name), getattr(found, name), 0.0)
        for name in ("gain", "exploitability", "safety_bound", "gap", "slack", "violation")
    }
    room = 1e-6 * (1.0 + abs(constant))
    wrong = []
    for name, (before, after, shift) in expected.items():
        if shift is None or before is None or after is None:
            agrees = before == after
        else:
            agrees = np.shape(before) == np.shape(after) and np.allclose(
                np.array(before, dtype=float) + shift, np.array(after, dtype=float), rtol=0.0, atol=room
            )
        if not agrees:
            wrong.append(f"{name} {after}, without the constant {before}")
    if found.exact is not None and found.exact.certificate.value:
        total = sum(found.exact.certificate.value)
        if total != Fraction(str(constant)) and total != Fraction(constant).limit_denominator(1000):
            wrong.append(f"the exact values sum to {total}")
    return wrong


@pytest.mark.soak
def test_a_constant_changes_nothing_but_what_player_1_is_paid():
    wrong, solved = [], 0
    for seed in range(soaked(5)):
        constant = CONSTANTS[seed % len(CONSTANTS)]
        without, case = draw_with_constant(seed, 0), draw_with_constant(seed, constant)
        try:
            reference = solve(without.problem, without.method)
        except SolverError:  # a floor that nobody can reach
            with pytest.raises(SolverError):
                solve(case.problem, case.method)
            continue
        solved += 1
        found = differences(reference, solve(case.problem, case.method), float(constant))
        wrong += [f"seed {seed}, {case.kind} by {case.method}, {constant}: {each}" for each in found]
    assert not wrong, "\n".join(wrong)
    assert solved > 0.8 * soaked(5)


#: Kuhn poker, and with 5/2 more for player 1 at every leaf.
KUHN, RAISED, MORE = load_game("kuhn"), shifted("kuhn", Fraction(5, 2)), 2.5


def both(player: int = 0) -> list[tuple[Game, float, Profile]]:
    """Return both games, what a player is paid more in each, and a profile that is no equilibrium."""
    behaviours = [
        {label: {"p": 0.7, "b": 0.3} for label in KUHN.sequence_form.treeplexes[seat].infoset_labels} for seat in (0, 1)
    ]
    found = []
    for game, more in ((KUHN, 0.0), (RAISED, MORE)):
        profile = Profile([Strategy.from_dict(game, seat, behaviours[seat]) for seat in (0, 1)])
        found.append((game, more if player == 1 else 0.0, profile))
    return found


def shared_tree(root, total):
    """Return a tree in which player 1 is paid what is left of a total at every leaf."""
    if isinstance(root, Leaf):
        return Leaf((root.payoffs[0], total - root.payoffs[0]))
    if isinstance(root, Chance):
        return Chance(tuple((label, chance, shared_tree(child, total)) for label, chance, child in root.outcomes))
    moves = tuple((label, shared_tree(child, total)) for label, child in root.moves)
    return Decision(root.player, root.infoset, moves)


@pytest.mark.parametrize("total", [7, Fraction(1, 3), -0.4])
@pytest.mark.parametrize("seed", either([3], range(8)))
def test_values_are_those_of_pygambit(seed, total, tmp_path: Path):
    pygambit = pytest.importorskip("pygambit")
    game = to_game(shared_tree(seeded_tree(seed, size=14), total))
    profile = equilibrium_of(pygambit.nash.lcp_solve(read_by_gambit(game, tmp_path), rational=False))
    for method in ("highs", "cvxpy", "restarted-cfr"):
        found = solve(Nash(game), method, tol=1e-7 if "cfr" in method else None)
        assert found.values == pytest.approx(payoffs_of(profile), abs=1e-6)
        assert sum(found.values) == pytest.approx(float(total), abs=1e-9)
        assert found.lower <= found.values[0] + 1e-9
        assert found.values[0] - 1e-9 <= found.upper


def test_a_game_by_hand():
    """Player 0 mixes 1 to 3 and player 1 1 to 1, so that the other is paid 3/2 and 7/2 for whatever it does."""
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0], [1, 2]], [[2, 5], [4, 3]]))
    found = solve(Nash(game), "rational")
    assert found.exact.certificate.value == (Fraction(3, 2), Fraction(7, 2))
    assert found.values == (1.5, 3.5)
    assert "value           3/2 = 1.5000000000 to player 0, 3.5000000000 to player 1" in str(found)
    assert found.to_dict()["values"] == [1.5, 3.5]
    plans = [strategy.plan[1:].tolist() for strategy in found.profile]
    assert plans == [pytest.approx([0.25, 0.75]), pytest.approx([0.5, 0.5])]
    # Of player 1's columns the uniform row player pays the first 3 and the second 4.
    rows = Strategy.uniform(game, 0)
    assert solve(EpsilonSafeResponse(game, rows, epsilon=10)).objective == pytest.approx(4.0)
    assert solve(EpsilonSafeResponse(game, rows, epsilon=0)).objective == pytest.approx(3.5)
    told = EpsilonSafeResponse(game, rows, epsilon=0, game_value=3.5)
    assert solve(told).objective == pytest.approx(3.5)
    assert best_response(game, Profile.uniform(game), 1).plan.tolist() == [1.0, 0.0, 1.0]
    assert expected_payoffs(game, Profile.uniform(game)).tolist() == [1.5, 3.5]
    assert worst_case(game, Strategy.uniform(game, 1)) == 3.5
    assert worst_case(game, Strategy.uniform(game, 0)) == 1.0
    assert nash_conv(game, found.profile) == pytest.approx(0.0, abs=1e-9)
    assert exploitability(game, Profile.uniform(game)) == pytest.approx(0.5 / 2)


@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr", "pref-cfr", "cfvfp", "smooth-cfr+", "mirror-prox"])
def test_every_method_plays_as_without_the_constant(method):
    without, found = (solve(Nash(game), method, tol=0.0, max_iterations=200, seed=1) for game, _, _ in both())
    assert found.exploitability == pytest.approx(without.exploitability, abs=0.05)
    assert found.values == pytest.approx((without.value, MORE - without.value), abs=0.05)
    assert sum(found.values) == pytest.approx(MORE, abs=1e-12)


def test_games_that_only_leaves_in_reach_make_constant():
    """What chance never comes to does not count, and round-off does not either; by hand."""
    never = Decision(0, "never", (("a", Leaf((5, 5))), ("b", Leaf((1, 0)))))
    play = Decision(0, "play", (("a", Leaf((0.1, 0.2))), ("b", Leaf((0.3, 0.0)))))
    game = to_game(Chance((("never", 0, never), ("play", 1, play))))
    assert game.sequence_form.constant_sum == 0.3
    assert solve(Nash(game)).values == pytest.approx((0.3, 0.0), abs=1e-12)
    assert solve(Nash(game), "rational").exact.certificate.value == (Fraction(3, 10), 0)


@pytest.mark.parametrize("player", [0, 1])
def test_styles_cost_what_they_cost_without_the_constant(player):
    found, names = [], ("least_loss", "loss", "least_violation")
    for game, more, _ in both(player):
        bets = frequency(game, player, "b")
        value = float(solve(Nash(game)).values[player])
        reached = style_range(game, bets, 0.05, player=player)
        told = style_range(game, bets, 0.05, player=player, game_value=value)
        answer = reach_style(game, "b@first >= 0.6", 0.02, player=player)
        both_bounds = reach_style(game, ["b@first >= 0.9", "b@first <= 0.95"], 0.001, player=player)
        curve = trade_off(game, bets, player=player)
        searched = calibrate_style(game, "b@first >= 0.3", 0.05, player=player, iterations=30, max_iterations=60)
        efficiency = style_efficiency(solve(Nash(game), "cfr+", tol=0.0, max_iterations=50), bets)
        assert value - more == pytest.approx(-1 / 18 if player == 0 else 1 / 18)
        paid = [answer.game_value, both_bounds.game_value, curve.game_value, *searched.game_value]
        found.append([
            *(end for each in (reached, told) for end in (each.low, each.high)),
            *(getattr(each, name) for each in (answer, both_bounds) for name in names),
            *(curve.loss(place) for place in np.linspace(*curve.free, 3)),
            *curve.losses,
            answer.trade_off().loss(0.7),
            searched.best.loss,
            efficiency.ratio,
            *(number - more for number in paid),
        ])  # fmt: skip
        assert str(both_bounds.status) == "infeasible"
        shown = answer.to_dict()
        assert shown["game_value"] == pytest.approx(value)
        worst = searched.game_value[1] - searched.best.loss
        for record, lowest in ((shown, value - answer.loss), (searched.to_dict(), worst)):  # "value" is player 0's
            assert record["value"] == pytest.approx(lowest if player == 0 else more - lowest)
        assert answer.game is game
    without, raised = found
    assert raised == pytest.approx(without, abs=1e-6)


@pytest.mark.parametrize("player", [0, 1])
def test_curves_are_those_without_the_constant(player):
    found = []
    for game, more, profile in both(player):
        opponent = profile[1 - player]
        frontier = restricted_nash_frontier(game, opponent)
        spaced = restricted_nash_frontier(game, opponent, points=4)
        learned = restricted_nash_frontier(game, opponent, points=4, method="cfr+", tol=1e-3)
        safe = parametric_value(EpsilonSafeResponse(game, opponent, epsilon=0), "safety", 0.0, 0.2)
        found.append([
            *frontier.breakpoints, *frontier.gains, *frontier.exploitabilities, frontier.gap,
            *spaced.gains, *spaced.exploitabilities, spaced.gap,
            *learned.gains[-1:], learned.gap,
            *(safe.values - more), *safe.slopes,
        ])  # fmt: skip
    without, raised = found
    assert raised == pytest.approx(without, abs=2e-3)


@pytest.mark.parametrize("player", [0, 1])
def test_a_floor_is_a_payoff_of_the_game(player):
    found = []
    for game, more, _ in both(player):
        value = (-1 / 18 if player == 0 else 1 / 18) + more
        bluffs = parse_constraint(f"{player}/{'J_' if player == 0 else 'J_p'}:b >= 0.9", game)
        floors = (value, value - 0.1, value - 1.0)
        found.append([solve(FeasibilityRelaxation(game, player, bluffs, floor=floor)).objective for floor in floors])
    assert found[0] == pytest.approx(found[1], abs=1e-7)
    # By hand: in equilibrium player 0 bluffs with at most a third of its Jacks, and player 1 with a third.
    assert found[0][0] == pytest.approx(0.9 - 1 / 3, abs=1e-6)
    assert found[0][0] > found[0][1] > found[0][2] - 1e-9
    assert found[0][2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("player", [0, 1])
def test_responses_to_observed_opponents(player):
    found = []
    for game, more, profile in both(player):
        model = OpponentModel.from_profile(game, player, profile)
        certain, trusted = counter_strategy(model), counter_strategy(model, p=0.7)
        paid = [certain.guaranteed, certain.expected, certain.game_value, trusted.guaranteed, trusted.game_value]
        found.append([*(number - more for number in paid), certain.exploitability, trusted.exploitability])
        assert certain.game_value == pytest.approx(solve(Nash(game)).values[player])
        assert certain.exploits
        assert certain.guaranteed <= certain.expected + 1e-9
    assert found[0] == pytest.approx(found[1], abs=1e-7)


def test_automata_are_judged_as_without_the_constant():
    automaton = Threshold(Threshold().rounds[:1])
    scores = [ExactJudge(Seats(game, profile)).score(automaton, automaton, [0]).mean for game, _, profile in both()]
    # Half of what is paid more: an automaton sits in each seat half of the time.
    assert scores[1] - scores[0] == pytest.approx(MORE / 2)


@pytest.mark.parametrize("player", [0, 1])
def test_agents_know_what_they_are_paid(player):
    certificates = []
    for game, more, profile in both(player):
        problem = CDRNR(game, profile[1 - player], p=0.5, lookahead=1)
        certificate, solution = Agent(problem, "lp").certificate(), solve(problem)
        paid = [certificate.objective, certificate.opponent_value, certificate.game_value, *solution.steps]
        certificates.append([*(number - more for number in paid), certificate.gain, solution.safety_bound])
    assert certificates[0] == pytest.approx(certificates[1], abs=1e-9)


def test_games_of_openspiel():
    """The table by hand, and a file of Gambit that OpenSpiel reads."""
    pyspiel = pytest.importorskip("pyspiel")
    table = pyspiel.create_matrix_game("shared", "Shared", ["a", "b"], ["c", "d"], [[3, 0], [1, 2]], [[2, 5], [4, 3]])
    assert solve(Nash(game_from_openspiel(table))).values == pytest.approx((1.5, 3.5))


@pytest.mark.parametrize("seed", either([1], range(6)))
def test_games_in_public_form(seed):
    """They are solved in sequence form, the loop on public forms being for payoffs that sum to zero."""
    without, game = (
        Game.from_public_form(PublicForm.from_rules(Shifted(RandomPublicGame(seed), constant))) for constant in (0, 10)
    )
    value = solve(Nash(without), "highs").value
    assert solve(Nash(game), "highs").values == pytest.approx((value, 10.0 - value), abs=1e-7)
    looped = solve(Nash(game), "dcfr", tol=1e-3)
    assert looped.lower - 1e-9 <= value <= looped.upper + 1e-9
    assert sum(looped.values) == pytest.approx(10.0)
    for player in (0, 1):
        posed = (EpsilonSafeResponse(each, Strategy.uniform(each, 1 - player), epsilon=0.1) for each in (without, game))
        assert not differences(*map(solve, posed), 10.0)
