"""Hands of a river spot played by its equilibrium, or by a player who folds too often."""

from functools import cache
from typing import Any

import numpy as np

from treeplex import Nash, solve
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.cards import CARDS, HANDS

_BOARD = "Ks9d4c7h2s"
_RANGES = ["AcKc,AdKd,QhQd,JhJd,JcJd,TcTd,9s9c,8c6c,5c3c", "AhKh,KcQc,QsQc,JsJh,TsTh,8h6h,5h3h,Ac9c"]


@cache
def river() -> SolvedSpot:
    """Return the solved river: a pot of 20, 40 behind, bets of half of the pot and of the pot."""
    spot = HoldemSpot(_BOARD, _RANGES, pot=20, stack=40, bets="50%, 100%")
    return SolvedSpot(spot, solve(Nash(spot.game), "highs").profile)


def played(hands: int, seed: int, *, overfolds: float = 0.0, seat: int = 0) -> list[tuple[Any, list[tuple[int, str]]]]:
    """Play hands by the equilibrium: both hands, and the actions with who acts.

    A share of whatever the player in a seat does instead of folding becomes a fold.
    """
    solved, rng = river(), np.random.default_rng(seed)
    form, profile = solved.form, solved.profile
    pairs = form.pairs(0).toarray() * np.outer(*form.weights)
    likely, found = (pairs / pairs.sum()).ravel(), []
    for _ in range(hands):
        states = np.unravel_index(rng.choice(len(likely), p=likely), pairs.shape)
        node, line = 0, []
        while (player := int(form.players[node])) >= 0:
            names = [str(form.actions[child]) for child in form.children[node]]
            often = profile.behaviour(node)[:, states[player]].copy()
            if player == seat and "fold" in names:
                often *= 1.0 - overfolds
                often[names.index("fold")] += overfolds
            chosen = rng.choice(len(often), p=often / often.sum())
            line.append((player, names[chosen]))
            node = int(form.children[node][chosen])
        found.append((states, line))
    return found


def as_phh(states: Any, line: list[tuple[int, str]], number: int, scale: int = 1) -> str:
    """Return a hand that reaches the river with checks; stacks are 25 big blinds of 2 chips, times a scale."""
    spot = river().spot
    held = ["".join(CARDS[card] for card in HANDS[spot.hands[seat][states[seat]]]) for seat in (0, 1)]
    streets = [f"p2 cbr {10 * scale}", "p1 cc", "d db Ks9d4c", "p1 cc", "p2 cc", "d db 7h", "p1 cc", "p2 cc"]
    actions = [f"d dh p1 {held[0]}", f"d dh p2 {held[1]}", *streets, "d db 2s"]
    words = {"fold": "f", "check": "cc", "call": "cc", "all-in": f"cbr {40 * scale}"}
    for seat, action in line:
        kind, _, amount = action.partition(" ")
        actions.append(f"p{seat + 1} {words.get(kind) or f'cbr {int(amount) * scale}'}")
    if line[-1][1] != "fold":
        actions += [f"p{seat + 1} sm {held[seat]}" for seat in (0, 1)]
    return (
        f"[{number}]\nvariant = 'NT'\nantes = [0, 0]\nblinds_or_straddles = [{scale}, {2 * scale}]\n"
        f"min_bet = {2 * scale}\nstarting_stacks = [{50 * scale}, {50 * scale}]\nactions = {actions}\n"
        "players = ['hero', 'villain']\n"
    )


def written(hands: int, seed: int, *, overfolds: float = 0.0, seat: int = 0) -> str:
    """Return hands in PHH."""
    return "\n".join(
        as_phh(*each, number, scale=1 + number % 3)
        for number, each in enumerate(played(hands, seed, overfolds=overfolds, seat=seat), 1)
    )
