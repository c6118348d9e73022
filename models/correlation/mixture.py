"""Mixtures of profiles: recommendations to any number of players, and the gains of deviations from them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.polytope import Treeplex, infoset_values
from ...seqform.sequence_form import SequenceForm
from .deviations import Decides, Triggers
from .plan import generator_of

#: The largest number of probabilities, over all profiles and players, that :meth:`StrategyMixture.record` lists.
_LISTED = 1_000_000
#: Each player's recommended action at each infoset that its own recommendations allow to be reached.
JointRecommendation = tuple[Mapping[Hashable, Hashable], ...]


class DeviationSums:
    """The payoffs of a player's deviations from drawn profiles, and of following, added up over the profiles.

    Parameters
    ----------
    own : Treeplex
        The player's treeplex.
    decides : {"efce", "efcce", "nfcce"}
        As for :class:`Triggers`.
    """

    def __init__(self, own: Treeplex, decides: Decides) -> None:
        self.triggers = Triggers(own, decides)
        self.paid = np.zeros(self.triggers.treeplex.num_sequences)
        self.obeyed = np.zeros(len(self.triggers))

    def add(self, plan: Floats, gradient: Floats) -> tuple[Floats, Floats]:
        """Add a profile, and return its own terms of :attr:`paid` and :attr:`obeyed`.

        Parameters
        ----------
        plan : ndarray of float64, shape (num_sequences,)
            The player's realization plan in the profile.
        gradient : ndarray of float64, shape (num_sequences,)
            The player's payoff per unit of each own sequence, given the others' plans.
        """
        own, (sequences, recommended) = self.triggers.own, self.triggers.played
        paid = np.concatenate([[0.0], plan[recommended] * gradient[sequences]])
        worth, values = plan * gradient, np.zeros(own.num_infosets)
        for level in reversed(own.levels):
            here = values[level.infosets] = np.add.reduceat(worth[level.sequences], level.starts)
            level.pass_up(here, worth)
        whole = np.array([values[own.parents == 0].sum()])
        obeyed: Floats = {"efce": worth[1:], "efcce": values, "nfcce": whole}[self.triggers.decides]
        self.paid += paid
        self.obeyed += obeyed
        return paid, obeyed

    def regret(self) -> float:
        """Return the largest sum of the gains of deviations from triggers of which none follows another."""
        best = infoset_values(self.triggers.treeplex, self.paid)
        return self.triggers.combined(self.triggers.firsts @ best - self.obeyed)


@dataclass(frozen=True, eq=False, repr=False)
class StrategyMixture:
    """A distribution of recommendations to any number of players.

    A mediator draws one of several profiles, all with the same probability, and then a pure plan from each player's
    strategy in it, independently.

    Attributes
    ----------
    form : SequenceForm
    plans : tuple of ndarray of float64, shape (number of profiles, num_sequences) each
        By player, its realization plan in each profile.

    Examples
    --------
    Two drivers who follow a traffic light gain nothing by deviating:

    >>> import numpy as np
    >>> from treeplex import SequenceForm
    >>> from treeplex.models.correlation import StrategyMixture
    >>> form = SequenceForm.from_payoff_matrix([[-10, 1], [0, 0]], [[-10, 0], [1, 0]])  # go or stop
    >>> light = StrategyMixture(form, (np.array([[1.0, 1, 0], [1, 0, 1]]), np.array([[1.0, 0, 1], [1, 1, 0]])))
    >>> light.payoffs.tolist(), light.regrets("efce")
    ([0.5, 0.5], (0.0, 0.0))
    """

    form: SequenceForm
    plans: tuple[Floats, ...]

    @property
    def num_profiles(self) -> int:
        """Number of profiles."""
        return len(self.plans[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_profiles={self.num_profiles})"

    @cached_property
    def payoffs(self) -> Floats:
        """Each player's expected payoff if all follow, shape (num_players,)."""
        total: Floats = np.sum([self.form.expected_payoffs(profile) for profile in zip(*self.plans, strict=True)], 0)
        return total / self.num_profiles

    @property
    def violation(self) -> float:
        """The largest distance of a plan from its polytope."""
        each = zip(self.form.treeplexes, self.plans, strict=True)
        found = (max(np.abs(own.E @ plans.T - own.e[:, None]).max(), -plans.min(), 0.0) for own, plans in each)
        return float(max(found))

    def regrets(self, decides: Decides) -> tuple[float, ...]:
        """Return the gain of each player's best deviations, by best responses to the mixture.

        Parameters
        ----------
        decides : {"efce", "efcce", "nfcce"}
            When a player decides whether to follow, as for :class:`Triggers`.
        """
        found = []
        for player, own in enumerate(self.form.treeplexes):
            sums = DeviationSums(own, decides)
            for profile in zip(*self.plans, strict=True):
                sums.add(profile[player], self.form.gradient(player, profile))
            found.append(sums.regret() / self.num_profiles)
        return tuple(found)

    def marginal(self, player: int) -> Floats:
        """Return a player's realization plan, the mean over the profiles."""
        found: Floats = self.plans[player].mean(axis=0)
        return found

    def recommend(self, seed: int | np.random.Generator = 0) -> JointRecommendation:
        """Draw a pure plan for each player, jointly.

        Parameters
        ----------
        seed : int or numpy.random.Generator

        Returns
        -------
        tuple of dict
            For each player, the action at each infoset that it reaches if it follows its own recommendations.

        Raises
        ------
        InvalidOptionError
            If the seed is not a whole number of at least 0.
        """
        random = generator_of(seed)
        drawn = int(random.integers(self.num_profiles))
        each = zip(self.form.treeplexes, self.plans, strict=True)
        return tuple(_drawn(treeplex, plans[drawn], random) for treeplex, plans in each)

    @property
    def is_short(self) -> bool:
        """Whether :meth:`record` lists the profiles."""
        return sum(plans.size for plans in self.plans) <= _LISTED

    def record(self) -> list[dict[str, Any]] | None:
        """Return the profiles for JSON, with lists of infosets, actions and probabilities; ``None`` if there are many.

        Actions with probability 0, and infosets that the player's own strategy excludes, are left out.
        """
        if not self.is_short:
            return None
        share = 1.0 / self.num_profiles
        return [
            {"probability": share, "players": list(map(_listed, self.form.treeplexes, profile))}
            for profile in zip(*self.plans, strict=True)
        ]


def _listed(treeplex: Treeplex, plan: Floats) -> list[list[Any]]:
    """Return the infosets, actions and probabilities of a strategy where its own plan is positive."""
    behaviour, infosets = treeplex.behaviour(plan), treeplex.sequence_infosets
    rows: list[list[Any]] = []
    for sequence in np.flatnonzero(plan[1:] > 0.0) + 1:
        infoset = int(infosets[sequence])
        action = treeplex.action_labels[infoset][int(sequence - treeplex.offsets[infoset])]
        rows.append([str(treeplex.infoset_labels[infoset]), str(action), float(behaviour[sequence])])
    return rows


def _drawn(treeplex: Treeplex, plan: Floats, random: np.random.Generator) -> dict[Hashable, Hashable]:
    """Draw a pure plan whose expected realization plan is the given one."""
    behaviour, reached = treeplex.behaviour(plan), {0}
    found: dict[Hashable, Hashable] = {}
    for infoset, parent in enumerate(treeplex.parents.tolist()):
        if parent in reached:
            start, stop = int(treeplex.offsets[infoset]), int(treeplex.offsets[infoset + 1])
            place = int(np.searchsorted(np.cumsum(behaviour[start:stop]), random.random(), side="right"))
            action = min(place, stop - start - 1)
            reached.add(start + action)
            found[treeplex.infoset_labels[infoset]] = treeplex.action_labels[infoset][action]
    return found
