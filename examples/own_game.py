"""From a game drawn as a tree to an equilibrium with its certificate.

The pot consists of two antes of 1. Alice draws a king or a queen and looks at it; she folds, or bets 1. Bob, who has
not seen the card, folds or calls. The king wins a called bet, and the queen loses it.

python examples/own_game.py --method highs
"""

import argparse
from fractions import Fraction

import networkx as nx

from treeplex import CHANCE, Game, Nash, solve

ALICE, BOB = 0, 1


def one_card_poker() -> nx.DiGraph:
    tree = nx.DiGraph()
    tree.add_node("deal", player=CHANCE)
    for card, showdown in (("king", 2), ("queen", -2)):
        tree.add_node(card, player=ALICE, infoset=card)  # Alice sees her card: one infoset per card
        tree.add_node(f"{card} bet", player=BOB, infoset="facing a bet")  # Bob does not: one infoset
        tree.add_node(f"{card} fold", payoffs=(-1, 1))
        tree.add_node(f"{card} bet fold", payoffs=(1, -1))
        tree.add_node(f"{card} bet call", payoffs=(showdown, -showdown))
        tree.add_edge("deal", card, action=card, prob=Fraction(1, 2))
        tree.add_edge(card, f"{card} fold", action="fold")
        tree.add_edge(card, f"{card} bet", action="bet")
        tree.add_edge(f"{card} bet", f"{card} bet fold", action="fold")
        tree.add_edge(f"{card} bet", f"{card} bet call", action="call")
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="highs")
    arguments = parser.parse_args()
    game = Game.from_tree(one_card_poker(), name="one-card poker")
    solution = solve(Nash(game), arguments.method)
    print(solution)
    for strategy in solution.profile:
        print(f"\nplayer {strategy.player}\n{strategy.table(3)}")


if __name__ == "__main__":
    main()
