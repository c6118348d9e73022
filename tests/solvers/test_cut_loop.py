"""Tests of the loop on games that are cut into a trunk and parts."""

from functools import cache, partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from treeplex import Game, Nash, solve
from treeplex.models.games.holdem import FlopsGame, HoldemSpot, Preflop
from treeplex.models.games.holdem.cards import CARDS, HANDS, hand_numbers
from treeplex.models.games.holdem.showdown import alive, fold_payoff, showdown_payoff
from treeplex.models.games.holdem.spot_tree import SpotTree
from treeplex.seqform.errors import InvalidOptionError, UnsupportedProblemError
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.public_form import Boards, PublicForm
from treeplex.seqform.public_payoff import Leaves
from treeplex.seqform.rules import CHANCE, TERMINAL
from treeplex.solvers.methods import DCFR, PCFRPlus
from treeplex.solvers.public.cut_loop import CutStepper
from treeplex.solvers.public.exits import PlayedPart
from treeplex.solvers.public.kernel import PublicKernel

ONLY_FLOP = {"bet": "100%", "raise": "a", "turn": {"bet": ""}, "river": {"bet": ""}}


@cache
def small(bb_ante: int = 0) -> FlopsGame:
    """Return a game of few hands on two flops of trips, each of which stands for four."""
    return FlopsGame(
        ["AsAhAd:4", "6s6h6d:4"],
        Preflop(stack=4 + bb_ante, raises=1, bb_ante=bb_ante),
        bets=ONLY_FLOP,
        ranges=["KK, T9s", "QQ, J9s"],
        openings=[2],
        deck="short",
    )


def images(board: str) -> set[tuple[int, ...]]:
    """Return all flops that exchanges of suits make of a flop."""
    cards = [CARDS.index(board[place : place + 2]) for place in (0, 2, 4)]
    return {tuple(sorted(4 * (card // 4) + suits[card % 4] for card in cards)) for suits in permutations(range(4))}


def whole(game: FlopsGame) -> PublicForm:
    """Return a game as one public form: hands instead of classes before the flop, and every flop of each class."""
    states, before, names = game._betting
    sb, bb = (np.flatnonzero(one.weights) for one in game.ranges_by_seat)
    dealt = (HANDS >= 16).all(axis=1)
    hands = sb[dealt[sb]], bb[dealt[bb]]
    flops = [flop for one in game.boards for flop in sorted(images(one.board))]
    met = [np.array([[not set(HANDS[g]) & set(HANDS[h]) for h in hands[1]] for g in hands[0]])] * len(flops)
    met = [one * np.outer(alive(flop, hands[0]), alive(flop, hands[1])) for one, flop in zip(met, flops, strict=True)]
    total = float(sum(one.sum() for one in met))
    players, parents, actions = [state.mover for state in states], list(before), list(names)
    boards, numbers = [0] * len(players), {(): 0}
    folds = [node for node, state in enumerate(states) if state.folded >= 0]
    for node in folds:
        players[node] = TERMINAL
    matrix = FactoredPayoff(sum(met) / total, np.eye(len(hands[1])))
    leaves = [Leaves(np.array(folds), np.array([float(game.rules.payoff(states[node])) for node in folds]), matrix)]
    for place, node in enumerate(game.exits):
        players[node] = CHANCE
        split = float(game.rules.payoff(states[node], 0))
        for flop in flops:
            spot: Any = game.spot(place, "".join(CARDS[card] for card in flop))
            spot = HoldemSpot(spot.board, spot.ranges, spot.pot, spot.stack, spot.betting, deck="short")
            tree, begin = SpotTree(spot), len(players)
            keys = {number: tuple(sorted(board)) for board, number in tree.numbers.items()}
            players += [1 - player if player >= 0 else player for player in tree.players]
            parents += [node, *(begin + parent for parent in tree.parents[1:])]
            actions += [str(flop), *tree.actions[1:]]
            # The order of the cards makes a board of its own.
            boards += [
                numbers.setdefault(list(tree.numbers)[number], len(numbers)) for number in tree.boards
            ]
            assert keys
            for (board, is_fold), (nodes, amounts) in tree.leaves.items():
                unit = fold_payoff(board, hands) if is_fold else showdown_payoff(board, hands, "short")
                paid = np.array(amounts) * (-1 if is_fold else 1) / game.chips / total
                leaves.append(Leaves(begin + np.array(nodes), paid, unit))
            if split:
                for board, (nodes, chances) in tree.chances.items():
                    leaves.append(
                        Leaves(begin + np.array(nodes), split * np.array(chances) / total, fold_payoff(board, hands))
                    )
    present = [[np.flatnonzero(alive(board, held)) for held in hands] for board in numbers]
    return PublicForm(
        players, parents, actions, [held.tolist() for held in hands], leaves, boards=Boards(boards, present)
    )


class Here:
    """All parts in this process."""

    def __init__(self, game: FlopsGame, number: Any, method: Any) -> None:
        predicting = bool(method.local_rule.prediction)
        made = partial(PlayedPart, num_exits=len(game.exits), number=number, rule=method.local_rule)
        self.parts = [made(part, predicting=predicting) for part in game.parts]

    def call(self, name: str, arguments: Any) -> list[Any]:
        return [part.call(name, one) for part, one in zip(self.parts, arguments, strict=True)]


@pytest.mark.parametrize("bb_ante", [0, 1])
@pytest.mark.parametrize("method", [DCFR(), PCFRPlus()], ids=lambda method: method.name)
def test_iterates_are_those_of_the_whole_game(method: Any, bb_ante: int) -> None:
    game = small(bb_ante)
    loop = CutStepper(method, Nash(game.game), np.float64, Here(game, np.float64, method))
    kernel = PublicKernel(whole(game), np.float64, threads=1)
    state = kernel.initial_state(bool(method.local_rule.prediction))
    for count in (1, 4, 20):
        loop.step(count)
        kernel.run(state, method.local_rule, count)
        for player in (0, 1):
            for best in (False, True):
                one = kernel.evaluate(state, player, best)
                assert loop.evaluate(player, best) == pytest.approx(one, abs=1e-10)
    assert loop.check() < 0.1
