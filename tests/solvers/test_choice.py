"""What chooses the method and the tolerance where nobody says, and what posing a problem builds."""

import copy
import dataclasses
import re

import networkx as nx
import numpy as np
import pytest

from treeplex import CDBR, DCFR, SES, Agent, ConstrainedNash, Game, Nash, SequenceForm, Strategy, load_game, solve
from treeplex.models.constraints import LinearConstraint
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.problems import LBR, EpsilonNash, EpsilonSafeResponse, RestrictedNash, Stackelberg
from treeplex.models.problems.stepped import SteppedResponse
from treeplex.seqform.errors import TimeLimitError, UnsupportedProblemError
from treeplex.solvers.choice import choose
from treeplex.solvers.dispatch import options_of
from treeplex.solvers.solve import solve_part


def spot(hands, stack=100):
    return HoldemSpot(board="QcJc9c3d2d", pot=100, stack=stack, ranges=(hands, hands)).game


def patrol():
    town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    return PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])


def larger(game):
    """Return a patrol of which linear programs take long, or say so."""
    game.exact_up_to = 10
    return game


SMALL, LARGE, WIDE = "AhKh,AdKd", "QQ+,AK,T9s,87s,22", load_game("leduc:ranks=6")
BOUND = [LinearConstraint(0, {1: 1.0}, 0.5, "bound")]
CASES = {
    "kuhn": (lambda: Nash(load_game("kuhn")), "highs"),
    "many sequences": (lambda: Nash(WIDE), "exact"),
    "a flow of 7,000": (lambda: Nash(load_game("transit:width=5")), "highs"),
    "a flow of 28,000": (lambda: Nash(load_game("transit:width=8")), "exact"),
    "three players": (lambda: Nash(load_game("kuhn:players=3")), "cfr+"),
    "commitment": (lambda: Stackelberg(load_game("kuhn")), "branch-and-bound"),
    "small spot": (lambda: Nash(spot(SMALL)), "highs"),
    "spot that takes seconds": (lambda: Nash(spot(LARGE)), "highs"),
    "deep spot of many hands": (lambda: Nash(spot("22+,A2+,K2+,Q2+,J2+", 2000)), "dcfr"),
    "patrol": (lambda: Nash(patrol()), "highs"),
}
AT_ONCE = {
    "small spot": (lambda: Nash(spot(SMALL)), "highs"),
    "spot": (lambda: Nash(spot(LARGE)), "dcfr"),
    "preflop": (lambda: Nash(load_game("preflop")), "dcfr"),
    "large patrol": (lambda: Nash(larger(patrol())), "dcfr"),
    "large patrol with limits": (lambda: ConstrainedNash(larger(patrol()), BOUND), "ccfr"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_kind_has_its_method(case):
    problem, method = CASES[case]
    assert choose(problem()).name == method


@pytest.mark.parametrize("case", AT_ONCE)
def test_the_command_line_gives_up_digits_for_an_answer_at_once(case):
    problem, method = AT_ONCE[case]
    assert choose(problem(), quickly=True).name == method


def test_a_game_that_asks_for_a_loop_is_solved_exactly_where_that_is_needed():
    problem = Nash(spot(LARGE))
    assert choose(problem, quickly=True) == DCFR(precision="auto")
    assert choose(problem, exactly=True, quickly=True).name == "highs"
    assert choose(Nash(spot(SMALL)), iterates=True) == DCFR(precision="auto")
    assert choose(Nash(load_game("kuhn")), iterates=True).name == "highs"  # it does not ask for a loop at all


def test_the_loop_on_a_public_form_is_chosen_for_what_it_takes():
    game = spot(LARGE)
    opponent = Strategy.uniform(game, 1)
    assert choose(RestrictedNash(game, opponent, p=0.5), quickly=True).name == "dcfr"
    assert choose(EpsilonSafeResponse(game, opponent, epsilon=1.0), quickly=True).name == "dcfr"
    kept = [LinearConstraint(1, {1: 1.0}, 0.5, "kept")]
    assert choose(EpsilonSafeResponse(game, kept, epsilon=1.0), quickly=True).name == "highs"


def test_tolerances_of_loops_are_those_that_the_game_asks_for():
    game = spot(LARGE)
    assert options_of(DCFR(), Nash(game)).tol == game.learned_to == pytest.approx(0.001 * 100)
    assert options_of(DCFR(), Nash(game), tol=1e-3).tol == 1e-3
    kuhn = load_game("kuhn")
    assert kuhn.learned_to is None
    assert options_of(DCFR(), Nash(kuhn)).tol == DCFR().default_tolerance * kuhn.stakes


@pytest.mark.parametrize("kind", [Nash, EpsilonNash, Stackelberg])
def test_posing_builds_nothing_and_neither_does_looking_or_copying(kind):
    for game in (load_game("leduc:ranks=8"), spot(LARGE), patrol()):
        problem = copy.copy(kind(game))
        assert repr(game) in repr(problem)
        assert not game.is_built


def test_building_counts_and_is_within_the_limit():
    solution = solve(Nash(load_game("leduc")))
    assert solution.build_seconds == pytest.approx(solution.time["building"])
    assert solution.build_seconds > 0.0
    game = load_game("leduc:ranks=60")
    with pytest.raises(
        TimeLimitError, match=r"game was being built, .*; the payoffs alone bound the value of leduc:ranks=60"
    ):
        solve(Nash(game), time_limit=0.05)
    assert not game.is_built


def test_a_game_that_is_built_is_judged_at_once_and_another_when_it_is_solved():
    dilemma = SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    with pytest.raises(UnsupportedProblemError, match="constrained needs a zero-sum game"):
        ConstrainedNash(Game.from_sequence_form(dilemma), BOUND)
    late = ConstrainedNash(Game("dilemma", sequence_form=lambda: dilemma), BOUND)
    with pytest.raises(UnsupportedProblemError, match="constrained needs a zero-sum game"):
        solve(late)


def _unfit():
    kuhn, pennies = load_game("kuhn"), load_game("matching_pennies")
    matrix = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]]))
    return {
        "no such level": SES(kuhn, Strategy.uniform(kuhn, 1), p=0.5, level=40),
        "no public chance": SES(kuhn, Strategy.uniform(kuhn, 1), p=0.5),
        "no poker": LBR(pennies, Strategy.uniform(pennies, 1)),
        "no histories": CDBR(matrix, Strategy.uniform(matrix, 1), lookahead=1),
        "wrong shape": Stackelberg(pennies, payoff=np.zeros((2, 2))),
    }


@pytest.mark.parametrize("unfit", _unfit())
def test_whatever_first_asks_for_the_game_refuses_one_that_does_not_fit(unfit):
    problem = _unfit()[unfit]
    with pytest.raises(UnsupportedProblemError) as refused:
        problem.build()
    for ask in (lambda: problem.game, lambda: solve(problem), lambda: solve_part(problem), lambda: problem.unit):
        with pytest.raises(UnsupportedProblemError, match=re.escape(str(refused.value))):
            ask()
    if isinstance(problem, SteppedResponse):
        with pytest.raises(UnsupportedProblemError, match=re.escape(str(refused.value))):
            Agent(problem, "lp").strategy()


def test_a_constant_is_taken_off_when_the_game_is_asked_for():
    form = SequenceForm.from_payoff_matrix([[3, 0]], [[2, 5]])
    given = Game("constant", sequence_form=lambda: form)
    problem = Nash(given)
    assert problem.given_game is given
    assert problem.game.constant == 5.0
    assert dataclasses.replace(problem).game.constant == 5.0
    assert solve(problem).values == pytest.approx((0, 5), abs=1e-9)
