"""Payoffs of pairs of routes, for a patrol in which only the first detection counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.errors import UnsupportedProblemError
from ....seqform.polytope import Treeplex, best_response_value
from .meetings import Entries
from .patrol import Patrol
from .walker import Party, Whole


def routes_matrix(routes: Sequence[Whole], num_sequences: int) -> sp.csr_array:
    """Return routes as rows of zeros and ones, shape (len(routes), num_sequences)."""
    ends = np.cumsum([0, *map(len, routes)])
    columns = np.concatenate([np.zeros(0, dtype=np.int64), *routes])
    return sp.csr_array((np.ones(len(columns)), columns, ends), shape=(len(routes), num_sequences))


@dataclass(frozen=True, eq=False)
class Encounters:
    r"""The payoffs of pairs of routes in a patrol where the first detection catches an attacker.

    A route is the set of a body's sequences in a pure plan; a *joint* route consists of one route per unit. Let p(k, s)
    be the probability that the unit's sequence s detects an attacker at the contact k, which is a time and a place. A
    route r escapes a joint route with probability

    .. math:: S(r, j) = \prod_{k \in r} \prod_{s \in j} (1 - p(k, s)),

    and is paid w(r) + κ (1 − S) if it keeps the payoffs of its route, or w(r) S + κ (1 − S) if it forfeits them by
    being caught. Both have the form b(r) + D(r) S(r, j), with D(r) at least 0.

    Attributes
    ----------
    treeplexes : tuple of Treeplex
        The treeplexes of player 0, whose bodies are the types of attackers, and of player 1, whose bodies are the
        units.
    bodies : tuple of tuple of slice
        The sequences of each body, by player.
    shares : ndarray of float64, shape (types,)
        The probability of each type.
    rewards : ndarray of float64, shape (num_sequences of player 0,)
        w of each sequence.
    caught : ndarray of float64, shape (types,)
        κ, at most 0.
    forfeits : bool
    attending : csr_array, shape (num_sequences of player 0, contacts)
        1 if a sequence of an attacker reaches a contact; a route reaches each contact at most once.
    hazards, sure : csr_array, shape (contacts, num_sequences of player 1)
        −log(1 − p) if p is below 1, and 1 if p is 1. Column 0 contains the sensors.
    """

    treeplexes: tuple[Treeplex, Treeplex]
    bodies: tuple[tuple[slice, ...], tuple[slice, ...]]
    shares: Floats
    rewards: Floats
    caught: Floats
    forfeits: bool
    attending: sp.csr_array
    hazards: sp.csr_array
    sure: sp.csr_array

    @classmethod
    def of(cls, patrol: Patrol, forfeits: bool = False) -> "Encounters":
        """Return the encounters of a patrol.

        Raises
        ------
        UnsupportedProblemError
            If moves may fail, so that there are no routes, or being caught pays more than some route.
        """
        if patrol.failure:
            raise UnsupportedProblemError(
                f"failure is {patrol.failure:g}, expected 0: no route is fixed if moves may fail"
            )
        attackers, units = patrol.attacking, patrol.patrolling
        size = attackers.treeplex.num_sequences, units.treeplex.num_sequences
        coming = patrol.coming([1.0] * len(patrol.attackers))
        watching = Entries.joined([patrol.watched(), *_sensors(patrol)])
        watching = watching.where(watching.amounts > 0.0)
        contacts, places = np.unique(watching.keys, return_inverse=True)
        coming = coming.where((coming.amounts > 0.0) & np.isin(coming.keys, contacts))
        shape = (len(contacts), size[1])
        certain = watching.amounts >= 1.0
        with np.errstate(divide="ignore"):
            logs = np.where(certain, 0.0, -np.log1p(-np.minimum(watching.amounts, 1.0)))
        caught = np.array([patrol.worth(number)[0] for number in range(len(patrol.attackers))])
        rewards = np.zeros(size[0])
        for number, walker in enumerate(attackers.walkers):
            rewards[walker.sequences] = patrol.rewards(number) - caught[number] * patrol.sensed(walker)
        found = cls(
            treeplexes=(attackers.treeplex, units.treeplex),
            bodies=(_bodies(attackers), _bodies(units)),
            shares=np.array([one.probability for one in patrol.attackers]),
            rewards=rewards,
            caught=caught,
            forfeits=forfeits,
            attending=sp.csr_array(
                (np.ones(len(coming.keys)), (coming.sequences, np.searchsorted(contacts, coming.keys))),
                shape=(size[0], len(contacts)),
            ),
            hazards=_summed(logs, places, watching.sequences, shape),
            sure=_summed(certain.astype(np.float64), places, watching.sequences, shape),
        )
        found._check()
        return found

    def _check(self) -> None:
        """Raise an error if being caught pays more than escaping."""
        worst = self.least
        for number, (least, caught) in enumerate(zip(worst.tolist(), self.caught.tolist(), strict=True), 1):
            if least < 0.0:
                what = "0" if not self.forfeits else f"what the worst of its routes pays, {caught + least:g}"
                raise UnsupportedProblemError(
                    f"attackers[{number}].meeting is {caught:g}, expected at most {what}: being caught must not pay"
                )

    @cached_property
    def least(self) -> Floats:
        """The smallest D of a route of each type, shape (types,)."""
        least = [self.most_earned(body, -1.0) if self.forfeits else 0.0 for body in range(len(self.shares))]
        return -np.array(least) - self.caught

    @cached_property
    def most(self) -> Floats:
        """The largest D of a route of each type, shape (types,)."""
        most = [self.most_earned(body) if self.forfeits else 0.0 for body in range(len(self.shares))]
        return np.array(most) - self.caught

    def most_earned(self, body: int, sign: float = 1.0) -> float:
        """Return the largest value of ``sign`` times the reward of a type's route without detections."""
        gradient = np.zeros(len(self.rewards))
        gradient[self.bodies[0][body]] = sign * self.rewards[self.bodies[0][body]]
        return best_response_value(self.treeplexes[0], gradient)

    def survival(self, attackers: sp.csr_array, joint: sp.csr_array) -> Floats:
        """Return S of attackers' routes (rows of zeros and ones) and joint routes, shape (routes, joint routes)."""
        came = attackers @ self.attending
        logs, certain = (came @ (one @ joint.T) for one in (self.hazards, self.sure))
        return np.where(certain.toarray() > 0.0, 0.0, np.exp(-logs.toarray()))

    def split(self, body: int, attackers: sp.csr_array) -> tuple[Floats, Floats]:
        """Return b and D of routes of a type, each of shape (routes,)."""
        ways, caught = attackers @ self.rewards, self.caught[body]
        if self.forfeits:
            return np.full(len(ways), caught), ways - caught
        return ways + caught, np.full(len(ways), -caught)

    def payoffs(self, body: int, attackers: sp.csr_array, joint: sp.csr_array) -> Floats:
        """Return the payoffs of a type's routes against joint routes, shape (routes, joint routes)."""
        base, free = self.split(body, attackers)
        return base[:, None] + free[:, None] * self.survival(attackers, joint)


def _summed(values: Floats, rows: Whole, columns: Whole, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.csr_array((values, (rows.ravel(), columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _bodies(party: Party) -> tuple[slice, ...]:
    """Return the sequences of each body of a player, which are contiguous."""
    ends = [1, *(int(walker.sequences[-1]) + 1 for walker in party.walkers)]
    return tuple(slice(first, last) for first, last in pairwise(ends))


def _sensors(patrol: Patrol) -> list[Entries]:
    """Return the sensors' detections as those of the units' empty sequence, because sensors do not move."""
    found = []
    for number, one in enumerate(patrol.sensors, 1):
        place = patrol.map.place(one.at, f"sensors[{number}].at")
        first, last = (0, patrol.steps) if one.times is None else one.times
        contacts: dict[int, float] = {}
        for walker in patrol.attacking.walkers:
            here = patrol.keys.standing(walker, place.nodes.astype(np.float64))
            arrivals = walker.presences.times
            moves = patrol.moves[walker.moves]
            along = np.append(place.moves, False)[moves].astype(np.float64)
            passing = patrol.keys.passing(walker)
            on = np.flatnonzero(walker.moved)
            for keys, chances, times in (
                (here.keys, here.amounts, arrivals),
                (passing.keys, along[on], walker.times[on]),
            ):
                seen = (chances > 0.0) & (times >= first) & (times <= last)
                contacts |= dict.fromkeys(keys[seen].tolist(), float(one.detection))
        keys = np.array(list(contacts), dtype=np.int64)
        found.append(Entries(keys, np.zeros(len(keys), dtype=np.int64), np.array(list(contacts.values()))))
    return found
