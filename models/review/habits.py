"""Habits: how often a player takes an action in a class of infosets, and what that costs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.public_profile import PublicProfile
from ...seqform.sheet import typeset
from ..observations.intervals import clopper_pearson_intervals
from .decisions import Decision
from .solved_games import KINDS, ReviewedGame

#: In games with more public states, what an opponent gains from a habit is not computed.
MOST_NODES = 20_000
#: Differences of frequencies below this are no habit.
_SAME = 1e-9

#: A class of infosets: street, situation and group of hands.
Class = tuple[str, str, str]


@dataclass(frozen=True)
class Habit:
    """How often a player takes a kind of action in a class of infosets, and what that costs.

    Attributes
    ----------
    street, situation, group, kind : str
    count, times : int
        Number of times that the action was taken, and of decisions of the class.
    frequency, usual : float
        How often the player takes the action, and how often the strategy of the game does with the same hands.
    lower, upper : float
        The confidence interval of the frequency.
    lost : float
        EV lost by these actions against the opponent's strategy in the game, in big blinds per 100 hands.
    exploitable : float or None
        What an opponent who knows the habit gains by it, in big blinds per 100 hands, if the frequency is the end of
        its interval nearest to `usual`; 0 if the interval contains `usual`, and ``None`` if it was not computed.
    """

    street: str
    situation: str
    group: str
    kind: str
    count: int
    times: int
    frequency: float
    usual: float
    lower: float
    upper: float
    lost: float = 0.0
    exploitable: float | None = None

    @property
    def cost(self) -> float:
        """The larger of the two costs, in big blinds per 100 hands; habits are ranked by it."""
        return max(self.lost, self.exploitable or 0.0)

    @property
    def infosets(self) -> Class:
        """The class of infosets."""
        return self.street, self.situation, self.group

    @property
    def surely(self) -> float:
        """The frequency in the interval that is nearest to the usual one."""
        return min(max(self.usual, self.lower), self.upper)

    def __str__(self) -> str:
        shares = f"{KINDS[self.kind]} {100 * self.frequency:.0f} %, usual {100 * self.usual:.0f} %"
        return f"{', '.join(self.infosets)}: {shares}: {typeset(f'{-self.cost:.1f}')} BB/100"


def habits_of(decisions: Sequence[Decision], hands: int, confidence: float) -> list[Habit]:
    """Return all habits, with their intervals and lost EV, in no order.

    Parameters
    ----------
    decisions : sequence of Decision
    hands : int
        Number of hands.
    confidence : float
        The joint confidence of the intervals, which are those of Clopper and Pearson, if decisions are independent.
        They are made for equal probabilities. They cover the mean of different ones at least as often, unless it is
        within one occurrence of none or all (W. Hoeffding, "On the distribution of the number of successes in
        independent trials", 1956).
    """
    by_class: dict[Class, list[Decision]] = defaultdict(list)
    for decision in decisions:
        by_class[decision.infosets].append(decision)
    found = []
    for infosets, here in by_class.items():
        for kind in KINDS:
            usual = float(np.mean([one.usual.get(kind, 0.0) for one in here]))
            taken = [one for one in here if one.kind == kind]
            if taken or usual > _SAME:
                lost = 100.0 * sum(one.loss for one in taken) / hands
                share = len(taken) / len(here)
                found.append(Habit(*infosets, kind, len(taken), len(here), share, usual, 0.0, 1.0, lost))
    if not found:
        return []
    counts = np.array([[one.count, one.times] for one in found])
    ends = clopper_pearson_intervals(counts[:, 0], counts[:, 1], confidence, comparisons=len(found))
    return [
        replace(one, lower=low, upper=high)
        for one, low, high in zip(found, ends.lower.tolist(), ends.upper.tolist(), strict=True)
    ]


def with_habit(
    game: ReviewedGame, seat: int, nodes: Iterable[int], group: str, kind: str, usual: float, often: float
) -> PublicProfile:
    """Return the profile of a game in which a player takes a kind of action more often, or less, in a class.

    Parameters
    ----------
    game : ReviewedGame
    seat : int
    nodes : iterable of int
        The public states of the class.
    group, kind : str
    usual, often : float
        The frequency of the action in the game's strategy, and with the habit. A higher frequency is reached by
        replacing all other actions with the same probability, a lower one by dropping the action with the same
        probability, in favour of the other actions in proportion.
    """
    profile, changed = game.profile, dict[int, Floats]()
    for node in nodes:
        mine = np.array([one == group for one in game.groups(node)])
        acts = np.array([one == kind for one in game.kinds(node)])
        if not acts.any() or acts.all() or not mine.any():
            continue
        played = np.array(profile.behaviour(node))
        here = played[:, mine]
        there = here[acts].sum(axis=0)
        aimed = there + (1.0 - there) * (often - usual) / (1.0 - usual) if often > usual else there * often / usual
        for rows, before, after in ((acts, there, aimed), (~acts, 1.0 - there, 1.0 - aimed)):
            part = here[rows]
            whole = before > _SAME
            here[rows] = np.where(whole, part * (after / np.where(whole, before, 1.0)), after / rows.sum())
        played[:, mine] = here
        changed[node] = played

    def behaviour(node: int) -> Floats:
        return changed[node] if node in changed else profile.behaviour(node)

    return PublicProfile(profile.form, behaviour)


def exploited(
    habits: Sequence[Habit],
    games: Mapping[ReviewedGame, tuple[Counter[int], float, Floats]],
    hands: int,
) -> list[Habit]:
    """Return habits with what an opponent who knows them gains.

    Parameters
    ----------
    habits : sequence of Habit
    games : mapping
        For each game the number of hands of each seat, big blinds per payoff unit, and what both players earn by best
        responses.
    hands : int
        Number of all hands.
    """
    places = {
        (game, seat): _nodes_by_class(game, seat)
        for game, (seats, *_) in games.items()
        for seat in seats
        if len(game.form.players) <= MOST_NODES
    }
    found = []
    for habit in habits:
        gained, computed = 0.0, False
        for (game, seat), nodes in places.items():
            seats, unit, best = games[game]
            here = nodes.get((habit.street, habit.situation), [])
            if not here:
                continue
            computed = True
            if abs(habit.surely - habit.usual) > _SAME:
                changed = with_habit(game, seat, here, habit.group, habit.kind, habit.usual, habit.surely)
                paid = changed.walk()[1 - seat][1]
                gain = float(game.form.weights[1 - seat] @ paid) - best[1 - seat]
                gained += seats[seat] * unit * max(0.0, gain)
        found.append(replace(habit, exploitable=100.0 * gained / hands if computed else None))
    return found


def _nodes_by_class(game: ReviewedGame, seat: int) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for node, street, situation in game.infosets(seat):
        found[street, situation].append(node)
    return found
