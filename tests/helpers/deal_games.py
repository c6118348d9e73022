"""Random games of several rounds: private deals, public cards, actions that both see and actions that one hides."""

import random

from random_trees import Chance, Decision, Leaf, to_graph

from treeplex import Game, Strategy


def random_deal_game(seed: int, rounds: tuple[int, int] = (4, 6)) -> Game:
    """Return a game of so many rounds after a deal; who moves in a round, and whether it shows, is public."""
    source = random.Random(seed)
    depth, hands = source.randint(*rounds), (source.randint(1, 3), source.randint(1, 3))
    tied = source.random() < 0.3

    def node(public: str, known: tuple[str, str]):
        here = random.Random(f"{seed} {public}")  # the same for all deals and hidden actions
        kind = here.choices(["player", "hidden", "card", "end"], [6, 1, 1, 0.5 if len(public) > 1 else 0])[0]
        if kind == "end" or len(public) == depth:
            paid = random.Random(f"{seed} {public} {known}").uniform(-4, 4)
            paid = round(paid) if tied else paid
            return Leaf((paid, -paid))
        if kind == "card":
            return Chance(tuple((card, 1 / 2, node(public + card, known)) for card in "uv"))
        player = here.randrange(2)
        moves = []
        for action in "xyz"[: here.randint(2, 3) if depth < 6 else 2]:
            if kind == "hidden":
                told = tuple(text + action * (seat == player) for seat, text in enumerate(known))
                moves.append((action, node(public + "*", told)))
            else:
                moves.append((action, node(public + action, known)))
        return Decision(player, f"{known[player]}|{public}", tuple(moves))

    deals = [
        (f"{i}{j}", source.randint(1, 3), node("", (f"{i}", f"{j}"))) for i in range(hands[0]) for j in range(hands[1])
    ]
    total = sum(weight for _, weight, _ in deals)
    return Game.from_tree(to_graph(Chance(tuple((label, weight / total, after) for label, weight, after in deals))))


def random_model(game: Game, player: int, seed: int) -> Strategy:
    """Return a strategy that is far from uniform at many infosets."""
    source = random.Random(seed)
    treeplex = game.sequence_form.treeplexes[player]
    return Strategy(
        game, player, treeplex.behaviour([1.0, *(source.random() ** 3 for _ in range(treeplex.num_sequences - 1))])
    )
