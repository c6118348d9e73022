"""Hands of hold'em as lines of the model before the flop."""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.checks import check_number
from ...seqform.errors import InvalidConstraintError, PlayLogError, UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.public_form import PublicForm
from ...seqform.strategy import Strategy, checked_player
from ..games.holdem.cards import hand_numbers
from ..games.holdem.classes import CLASS_OF_HAND
from ..matches import Hand
from .lines import LineObservations


class PreflopLines:
    """Which node of the model each hand comes to before the flop.

    Parameters
    ----------
    form : PublicForm
        Of the model.
    stack : int
        In big blinds.

    Notes
    -----
    What is not on the menu counts as something that is. A raise counts as the size next to it: with A < x < B the raise
    and its neighbours as parts of the pot after a call, it is A if (B − x)(1 + A) / ((B − A)(1 + x)) is at least a
    half, otherwise B. This is the pseudo-harmonic mapping of S. Ganzfried, T. Sandholm, "Action translation in
    extensive-form games with large action spaces", IJCAI 2013, without its dice. Where the menu has no raise, as after
    one that counted as all-in, a raise counts as a call.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.observations.hands import PreflopLines
    >>> form = load_game("preflop:stack=20").public_form
    >>> line = PreflopLines(form, 20).line([(1, "raise 2.3"), (0, "raise 8"), (1, "fold")], big_blind=1)
    >>> form.path(line[-1])
    ('raise 2', 'raise 6', 'fold')
    """

    def __init__(self, form: PublicForm, stack: float) -> None:
        self.form = form
        actions = [str(action) for action in form.actions]
        #: Of each node, what follows by name, and the raises: totals in big blinds, and nodes.
        self.after = [{actions[child]: int(child) for child in children} for children in form.children]
        self.raises = [
            [
                (float(stack) if name == "all-in" else float(name.removeprefix("raise ")), child)
                for name, child in after.items()
                if name == "all-in" or name.startswith("raise ")
            ]
            for after in self.after
        ]
        sizes = {child: amount for raises in self.raises for amount, child in raises}
        self.levels = [1.0] * len(actions)
        for node, parent in enumerate(form.parents.tolist()[1:], 1):
            self.levels[node] = sizes.get(node, self.levels[parent])

    @cached_property
    def before_the_flop(self) -> Any:
        """Whether each node is reached by what is done before the flop, shape (num_nodes,)."""
        parents = self.form.parents.tolist()
        over = [False] * len(parents)
        found = [True] * len(parents)
        for node, parent in enumerate(parents[1:], 1):
            found[node] = found[parent] and not over[parent]
            action = self.form.actions[node]
            over[node] = action == "check" or (action == "call" and parent != 0)
        return np.array(found)

    def line(self, history: Iterable[tuple[int, str]], big_blind: Any) -> list[int]:
        """Return the nodes that a hand comes to, the root first.

        Parameters
        ----------
        history : iterable of (int, str)
            Seats and actions before the flop, as :class:`~treeplex.models.matches.Hand` has them.
        big_blind : int or Decimal

        Raises
        ------
        PlayLogError
            If an action has no counterpart in the model.
        """
        nodes, level = [0], 1.0
        for _, action in history:
            node = nodes[-1]
            after, raises = self.after[node], self.raises[node]
            word, _, amount = action.partition(" ")
            if word == "all-in" and "all-in" in after:
                child: int | None = after["all-in"]
            elif word in ("raise", "all-in"):
                total = float(amount) / float(big_blind) if amount else float("inf")
                child = self._raised(node, total, level) if raises else after.get("call")
                level = total
            else:
                child = after.get(word)
            if child is None:
                raise PlayLogError(f"{action} has no counterpart {', '.join(map(str, self.form.path(node)))}")
            nodes.append(child)
            if not self.before_the_flop[child] or not self.after[child]:
                break
        return nodes

    def _raised(self, node: int, total: float, level: float) -> int:
        own = self.levels[node]
        sizes = [((amount - own) / (2.0 * own), child) for amount, child in self.raises[node]]
        size = (total - level) / (2.0 * level)
        below = [one for one in sizes if one[0] <= size] or sizes[:1]
        above = [one for one in sizes if one[0] >= size] or sizes[-1:]
        (low, first), (high, second) = below[-1], above[0]
        near = first == second or (high - size) * (1.0 + low) >= 0.5 * (high - low) * (1.0 + size)
        return first if near else second


def hand_observations(
    hands: Iterable[Hand],
    game: Game,
    player: int,
    *,
    name: str | None = None,
    opponent: str | None = None,
    probe: Strategy | None = None,
    tolerance: float = 0.25,
) -> LineObservations:
    """Count the lines that hands took before the flop, as one seat of the model saw them.

    Parameters
    ----------
    hands : iterable of Hand
        Such as :class:`~treeplex.models.matches.HandHistories`. Read once.
    game : Game
        The model, ``preflop:…``.
    player : int
        The observer's seat in it: 0 in the small blind, 1 in the big one.
    name : str, optional
        The observer's name. Without it everybody who has met the opponent is the observer.
    opponent : str, optional
        The opponent's name. Without it everybody else is, together: what is found is then about what they do on
        average.
    probe : Strategy, optional
        What the observer played; estimated if it is not given.
    tolerance : float
        Hands count if the smaller stack, in big blinds, is at most so much of the model's stack larger or smaller.

    Returns
    -------
    LineObservations
        Left out are hands of others, of more than two, of other stacks and blinds, with antes, and with a fold where
        nothing was bet.

    Raises
    ------
    UnsupportedProblemError
        If the game is another one.
    PlayLogError
        If neither name nor opponent is given, or a hand cannot be read.

    Examples
    --------
    >>> import io
    >>> from treeplex import load_game
    >>> from treeplex.models.matches import HandHistories
    >>> from treeplex.models.observations import hand_observations
    >>> file = io.BytesIO(b'''variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... min_bet = 2
    ... starting_stacks = [40, 40]
    ... actions = ['d dh p1 ????', 'd dh p2 AcAd', 'p2 cbr 5', 'p1 f']
    ... players = ['them', 'us']
    ... ''')
    >>> seen = hand_observations(HandHistories(file), load_game("preflop:stack=20"), 0, name="us")
    >>> seen.passed[seen.form.find("raise 3, fold")].item(), dict(seen.left_out)
    (1, {})
    """
    form, player = game.public_form, checked_player(game, player)
    if game.name != "preflop" or form is None:
        raise UnsupportedProblemError(f"hands are lines of preflop:stack=…, received {game.spec}")
    if name is None and opponent is None:
        raise PlayLogError("neither a player nor an opponent is named, expected one of them or both")
    share = check_number(tolerance, "tolerance", InvalidConstraintError, "[0, inf)", "0.25")
    stack = float(game.parameters["stack"])
    lines = PreflopLines(form, stack)
    passed = np.zeros(len(form.players), dtype=np.int64)
    held, seen = (np.zeros((len(passed), len(form.states[seat])), dtype=np.int64) for seat in (player, 1 - player))
    left_out: Counter[str] = Counter()
    own, other = 1 - player, player  # of two seats, the second one has the button and the small blind
    for hand in hands:
        reason = _other(hand, own, name, opponent, stack, share)
        if reason:
            left_out[reason] += 1
            continue
        try:
            nodes = lines.line(((seat, word) for street, seat, word in hand.history if not street), hand.big_blind)
        except PlayLogError:
            left_out["other actions"] += 1
            continue
        passed[nodes] += 1
        mine = _class(hand, own)
        if mine is not None:
            held[nodes, mine] += 1
        theirs = _class(hand, other) if hand.went_to_showdown else None
        if theirs is not None:
            seen[nodes[-1], theirs] += 1
    looked = lines.before_the_flop
    return LineObservations(game, player, passed, held, seen, looked, probe, dict(left_out))


def _other(hand: Hand, own: int, name: str | None, opponent: str | None, stack: float, share: float) -> str | None:
    """Return why a hand does not count; ``None`` if it does."""
    known = [one for one in (name, opponent) if one is not None]
    if any(one not in hand.players for one in known):
        return "other players"
    if hand.seats != 2:
        return "more than two players"
    if (name or hand.players[own]) != hand.players[own] or (opponent or hand.players[1 - own]) != hand.players[1 - own]:
        return "other seat"
    if any(hand.antes) or hand.blinds[0] != 2 * hand.blinds[1]:
        return "other blinds"
    if abs(float(min(hand.stacks) / hand.blinds[0]) - stack) > share * stack:
        return "other stacks"
    return None


def _class(hand: Hand, seat: int) -> int | None:
    cards = hand.shown[seat] or hand.cards[seat]
    return None if cards is None else int(CLASS_OF_HAND[int(hand_numbers(np.array([cards]))[0])])
