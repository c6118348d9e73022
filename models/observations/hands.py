"""Hold'em hands mapped to lines of a model: the preflop model, and spots."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from ...seqform.checks import check_number
from ...seqform.errors import InvalidConstraintError, PlayLogError, UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.public_form import PublicForm
from ...seqform.strategy import Strategy, checked_player
from ..games.holdem.cards import hand_numbers
from ..games.holdem.classes import CLASS_OF_HAND
from ..games.holdem.preflop import Preflop
from ..matches import Hand
from .lines import LineObservations


class MenuLines:
    """The public states of a model that correspond to lines of real bets, whose sizes need not be on the menu.

    Parameters
    ----------
    form : PublicForm
        The public form of the model, whose actions are named ``fold``, ``check``, ``call``, ``bet N``, ``raise N`` and
        ``all-in``.
    stack : float
        The total bet of an all-in, in the units of the menu.
    pot, level : float
        The pot from earlier streets, and the highest bet at the root.

    Attributes
    ----------
    first_street : ndarray of bool, shape (num_nodes,)
        Whether each public state is reached by actions on the street of the root.

    Notes
    -----
    Sizes missing on the menu are mapped to sizes on it. A bet is mapped to one of its neighbours. Let A < x < B be the
    bet and its neighbours as shares of the pot after a call. The result is A if (B − x)(1 + A) / ((B − A)(1 + x)) is at
    least a half, otherwise B. This is the pseudo-harmonic mapping of S. Ganzfried, T. Sandholm, "Action translation in
    extensive-form games with large action spaces", IJCAI 2013, without randomisation. If the menu has no raise, for
    example after one that was mapped to all-in, a raise is mapped to a call.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.observations.hands import MenuLines
    >>> form = load_game("preflop:stack=20,continuations=0").public_form
    >>> line = MenuLines(form, stack=20).line(["raise 2.3", "raise 8", "fold"])
    >>> form.path(line[-1])
    ('raise 2', 'raise 6', 'fold')
    """

    def __init__(self, form: PublicForm, stack: float, pot: float = 0.0, level: float = 1.0) -> None:
        self.form, self.pot, self.level = form, pot, level
        self.after = [{str(form.actions[child]): int(child) for child in children} for children in form.children]
        #: For each node, its bets and raises: their totals, and the nodes they lead to.
        self.raises = [
            [
                (float(stack) if name == "all-in" else float(name.split()[1]), child)
                for name, child in after.items()
                if name == "all-in" or _WAGER.fullmatch(name)
            ]
            for after in self.after
        ]
        sizes = {child: amount for raises in self.raises for amount, child in raises}
        parents = form.parents.tolist()
        self.levels, over, self.first_street = (
            [level] * len(parents),
            [False] * len(parents),
            np.ones(len(parents), bool),
        )
        for node, parent in enumerate(parents[1:], 1):
            self.levels[node] = sizes.get(node, self.levels[parent])
            self.first_street[node] = self.first_street[parent] and not over[parent]
            # The blind may be called, and a first check be followed by another, before the street is over.
            begins = parent == 0 and level == self.levels[node]
            over[node] = form.actions[node] in ("call", "check") and not begins

    def line(self, actions: Iterable[str], pot: float | None = None, level: float | None = None) -> list[int]:
        """Return the nodes of a line, the root first.

        Parameters
        ----------
        actions : iterable of str
            The actions of one street, as in :class:`~treeplex.models.matches.Hand`.
        pot, level : float, optional
            The pot from earlier streets, and the highest bet at the beginning, in the units of these actions; by
            default those of the model.

        Raises
        ------
        PlayLogError
            If an action has no counterpart in the model.
        """
        nodes, before = [0], self.pot if pot is None else pot
        highest = self.level if level is None else level
        for action in actions:
            node = nodes[-1]
            after = self.after[node]
            word, _, amount = action.partition(" ")
            if word not in ("bet", "raise", "all-in"):
                child = after.get(word)
            elif not self.raises[node]:
                child = after.get("call")
            elif word == "all-in" and "all-in" in after:
                child = after["all-in"]
            else:
                total = float(amount) if amount else float("inf")
                child = self._nearest(node, (total - highest) / (before + 2.0 * highest))
                highest = total
            if child is None:
                raise PlayLogError(f"{action} has no counterpart after '{', '.join(map(str, self.form.path(node)))}'")
            nodes.append(child)
            if not self.after[child] or not self.first_street[self.form.children[child]].any():
                break
        return nodes

    def _nearest(self, node: int, size: float) -> int:
        """Return the menu's counterpart of a bet, given as a share of the pot after a call."""
        own = self.levels[node]
        return nearest_size(
            [((amount - own) / (self.pot + 2.0 * own), child) for amount, child in self.raises[node]], size
        )


def nearest_size(sizes: Sequence[tuple[float, int]], size: float) -> int:
    """Return the counterpart of a bet by the pseudo-harmonic mapping of :class:`MenuLines`.

    Parameters
    ----------
    sizes : sequence of (float, int)
        The sizes of a menu as shares of the pot after a call, in increasing order, each with its number.
    size : float
        The share of the bet.

    Returns
    -------
    int
        The number of the counterpart.

    Examples
    --------
    >>> from treeplex.models.observations.hands import nearest_size
    >>> nearest_size([(0.5, 7), (1.0, 8)], 0.7), nearest_size([(0.5, 7), (1.0, 8)], 0.72)
    (7, 8)
    """
    low, first = ([one for one in sizes if one[0] <= size] or sizes[:1])[-1]
    high, second = ([one for one in sizes if one[0] >= size] or sizes[-1:])[0]
    near = first == second or (high - size) * (1.0 + low) >= 0.5 * (high - low) * (1.0 + size)
    return first if near else second


#: Why hands with another stack than the model's are left out.
_STACKS = "other stacks"
_WAGER = re.compile(r"(?:bet|raise) [0-9.]+")


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
    """Count the lines of hands before the flop, as observed from one seat of the model.

    Parameters
    ----------
    hands : iterable of Hand
        For example :class:`~treeplex.models.matches.HandHistories`. Read only once.
    game : Game
        The model, ``preflop:…``.
    player : int
        The observer's seat in the model: 0 is the small blind, 1 the big blind.
    name : str, optional
        The observer's name. Without it every player who has met the opponent is the observer.
    opponent : str, optional
        The opponent's name. Without it all other players together are the opponent, and the result describes their
        average behaviour.
    probe : Strategy, optional
        The observer's strategy; by default estimated.
    tolerance : float
        A hand counts if its smaller stack, in big blinds, differs from the model's stack by at most this factor.

    Returns
    -------
    LineObservations
        Hands are skipped if other players are involved, if there are more than two players, other stacks, blinds or
        antes than the model's, and if a player folded without a bet.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a preflop model.
    PlayLogError
        If neither name nor opponent is given, a hand cannot be read, or no hand counts.

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
    >>> seen = hand_observations(HandHistories(file), load_game("preflop:stack=20,continuations=0"), 0, name="us")
    >>> seen.passed[seen.form.find("raise 3, fold")].item(), dict(seen.left_out)
    (1, {})
    """
    form, player = game.public_form, checked_player(game, player)
    if game.name != "preflop" or form is None:
        raise UnsupportedProblemError(f"hand observations need a game preflop:stack=…, received {game.spec}")
    if name is None and opponent is None:
        raise PlayLogError("neither a player nor an opponent is named, expected at least one of them")
    share = check_number(tolerance, "tolerance", InvalidConstraintError, "[0, inf)", "0.25")
    rules = Preflop(**game.parameters)
    dead = float(sum(rules.antes))
    lines = MenuLines(form, float(rules.most), dead, float(rules.opened))
    passed = np.zeros(len(form.players), dtype=np.int64)
    held, seen = (np.zeros((len(passed), len(form.states[seat])), dtype=np.int64) for seat in (player, 1 - player))
    left_out: Counter[str] = Counter()
    depths: Counter[int] = Counter()  # of the hands with other stacks, in big blinds
    own, other = 1 - player, player  # with two seats, the second one has the button and the small blind
    for hand in hands:
        reason = _other(hand, own, name, opponent, rules, share)
        if reason:
            left_out[reason] += 1
            if reason == _STACKS:
                depths[round(min(hand.stacks) / hand.big_blind)] += 1
            continue
        try:
            big_blind = float(hand.big_blind)
            words = (word for street, _, word in hand.history if not street)
            nodes = lines.line(words, dead * big_blind, lines.level * big_blind)
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
    if left_out and not passed[0]:
        usual = {_STACKS: f", most often {depths.most_common(1)[0][0]:,} big blinds"} if depths else {}
        reasons = ", ".join(f"{count:,} of {reason}{usual.get(reason, '')}" for reason, count in left_out.items())
        raise PlayLogError(f"no hand counts, expected hands with the given names, seats and stacks; skipped: {reasons}")
    return LineObservations(game, player, passed, held, seen, lines.first_street, probe, dict(left_out))


def _other(hand: Hand, own: int, name: str | None, opponent: str | None, rules: Preflop, share: float) -> str | None:
    """Return the reason why a hand does not count; ``None`` if it does."""
    known = [one for one in (name, opponent) if one is not None]
    if any(one not in hand.players for one in known):
        return "other players"
    if hand.seats != 2:
        return "more than two players"
    if (name or hand.players[own]) != hand.players[own] or (opponent or hand.players[1 - own]) != hand.players[1 - own]:
        return "other seat"
    # After a post instead of the big blind, the button is not the first to act; seats are in the order after the flop.
    in_order = not hand.history or hand.history[0][1] == 1 - rules.begins
    unit = Fraction(hand.big_blind)
    posted = [[Fraction(each) for each in posts] for posts in (hand.blinds, hand.antes)]
    expected = [[unit * each for each in reversed(posts)] for posts in (rules.blinds, rules.antes)]
    if not (unit and in_order and posted == expected):
        return "other blinds"
    if abs(float(min(hand.stacks) / hand.big_blind) - float(rules.stack)) > share * float(rules.stack):
        return _STACKS
    return None


def _class(hand: Hand, seat: int) -> int | None:
    cards = hand.shown[seat] or hand.cards[seat]
    return None if cards is None else int(CLASS_OF_HAND[int(hand_numbers(np.array([cards]))[0])])
