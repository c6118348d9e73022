"""Logit quantal response equilibria of extensive games."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import UnsupportedProblemError
from ...seqform.evaluate import best_response_values
from ...seqform.game import Game
from ...seqform.parameters import About
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, check_same_game
from .certificate import Certificate
from .features import Feature
from .problem import Problem

#: The largest number of actions of all players together, and of actions times leaves.
_MOST_ACTIONS, _MOST_ENTRIES = 3_000, 20_000_000
#: The least positive float.
_LEAST = 5e-324


@dataclass(frozen=True, eq=False)
class QuantalResponse(Problem):
    r"""A logit agent quantal response equilibrium: every player errs at every infoset, and errs less the more it costs.

    Parameters
    ----------
    game : Game
        Any number of players; payoffs need not sum to zero. Plans must not be flows.
    rationality : float or Fraction
        λ ≥ 0, per payoff unit: 0 is uniform play, and equilibria are approached as λ grows.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or λ is not a finite number of at least 0.
    UnsupportedProblemError
        If plans are flows, or a game without leaves is not a matrix game, or the game is too large.

    Notes
    -----
    With ū(I, a) the player's expected payoff after action a at infoset I, given that I is reached and that all play the
    strategies b, the equilibrium is the fixed point

    .. math:: b(I, a) = \frac{\exp(\lambda \bar u(I, a))}{\sum_{a'} \exp(\lambda \bar u(I, a'))}

    of R. D. McKelvey and T. R. Palfrey, "Quantal response equilibria for extensive form games", Experimental Economics
    1, 1998. There may be several. The one sought is the first that the branch from uniform play at λ = 0 reaches. The
    certificate's ``logit_distance`` is the largest difference between both sides, a probability, and is compared with
    the tolerance. The regrets show how far the strategies are from an equilibrium without errors.

    Examples
    --------
    >>> from treeplex import QuantalResponse, load_game, solve
    >>> solution = solve(QuantalResponse(load_game("kuhn"), rationality=2))
    >>> round(solution.profile[0]["J_"]["b"], 4), solution.certificate.logit_distance < 1e-9
    (0.2843, True)
    """

    game: Game
    rationality: Annotated[
        float | Fraction,
        About("rationality λ of logit choices, per payoff unit: 0 is uniform play", minimum=0, form="L", example="2"),
    ]

    name: ClassVar[str] = "qre"
    question: ClassVar[str] = (
        "How do players play who err at every infoset, less the more it costs, with rationality {problem.rationality}?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.QUANTAL})
    objective_is_payoff: ClassVar[bool] = False
    usual_method: ClassVar[str] = "path-following"
    exploitability_meaning: ClassVar[str] = "gained on average by best responses"

    def check_game(self) -> None:
        """Refuse games whose choices cannot be computed; see the class."""
        _ = self.choices

    @property
    def unit(self) -> float:
        """1: tolerances are probabilities."""
        return 1.0

    @cached_property
    def choices(self) -> "LogitChoices":
        """The players' choices as a function of their strategies."""
        return LogitChoices.of(self.game)

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the distance of a profile from the fixed point, the payoffs and each player's regret."""
        check_same_game(profile[0], self.game)
        form = self.game.sequence_form
        found = Certificate.of_regrets(
            form.expected_payoffs(profile.plans), best_response_values(form, profile), profile.residual
        )
        played = np.concatenate([one.behaviour[1:] for one in profile])
        logs = np.log(np.maximum(played, _LEAST))
        return replace(found, logit_distance=self.choices.distance(logs, float(self.rationality)))

    def error(self, certificate: Certificate) -> float:
        """Return the distance from the fixed point, a probability."""
        assert certificate.logit_distance is not None
        return certificate.logit_distance


@dataclass(frozen=True, eq=False)
class LogitChoices:
    """The logit choices at all infosets of all players, as a function of the logarithms ℓ of their probabilities.

    Attributes
    ----------
    ways : csr_array of float64, shape (actions, leaves)
        1 if the action is on the way to the leaf; actions are the sequences of all players but the empty ones.
    paid : csr_array of float64, shape (actions, leaves)
        The payoff to the action's player at the leaves that `ways` marks.
    rest : csr_array of float64, shape (entries of `ways`, actions)
        1 if the action is on the way to the leaf of the entry, but not one that the entry's player takes up to the
        entry's action. The probability of the leaf, given the action, thus depends on few logarithms, and loses no
        digits to those of unlikely actions before.
    chance : ndarray of float64, shape (entries of `ways`,)
        The logarithm of chance's probability of each leaf. Leaves of probability 0 have the least positive number.
    first : ndarray of int, shape (infosets,)
        The first action of each infoset.
    """

    ways: sp.csr_array
    paid: sp.csr_array
    rest: sp.csr_array
    chance: Floats
    first: Indices

    @classmethod
    def of(cls, game: Game) -> "LogitChoices":
        """Return the choices in a game.

        Raises
        ------
        UnsupportedProblemError
            As for :class:`QuantalResponse`.
        """
        form = game.sequence_form
        for player, treeplex in enumerate(form.treeplexes):
            if not treeplex.single_parent:
                raise UnsupportedProblemError(
                    f"qre needs realization plans, but those of player {player} of {game.spec} are flows"
                )
        sequences, chance, payoffs = _leaves(game, form)
        count = sum(treeplex.num_sequences - 1 for treeplex in form.treeplexes)
        if count > _MOST_ACTIONS or count * len(chance) > _MOST_ENTRIES:
            raise UnsupportedProblemError(
                f"qre: {game.spec} has {count:,} actions at infosets and {len(chance):,} leaves, expected at most "
                f"{_MOST_ACTIONS:,} actions and {_MOST_ENTRIES:,} for actions times leaves"
            )
        nowhere: Indices = np.zeros(0, dtype=np.int64)
        rows, columns, paid, first, start = [nowhere], [nowhere], [np.zeros(0)], [], 0
        upto = np.zeros((count, count), dtype=bool)
        for player, treeplex in enumerate(form.treeplexes):
            parents = np.repeat(treeplex.parents, treeplex.num_actions)
            for sequence, parent in enumerate(parents.tolist(), start=start):
                upto[sequence] = upto[start + parent - 1] if parent else False
                upto[sequence, sequence] = True
            leaves, last = np.arange(len(chance)), sequences[:, player].astype(np.int64)
            while (last > 0).any():
                leaves, last = leaves[last > 0], last[last > 0]
                rows.append(start + last - 1)
                columns.append(leaves)
                paid.append(payoffs[leaves, player])
                last = parents[last - 1].astype(np.int64)
            first.append(start + treeplex.offsets[:-1] - 1)
            start += treeplex.num_sequences - 1
        places = np.concatenate(rows), np.concatenate(columns)
        shape = count, len(chance)
        ways = sp.csr_array((np.ones(len(places[0])), places), shape=shape)
        payoff = sp.csr_array((np.concatenate(paid), places), shape=shape)
        own = sp.csr_array(upto.astype(np.float64))[np.repeat(np.arange(count), np.diff(ways.indptr))]
        rest = sp.csr_array(ways.T)[ways.indices] - own
        rest.eliminate_zeros()
        return cls(ways, payoff, rest, np.log(np.maximum(chance, _LEAST))[ways.indices], np.concatenate(first))

    def values(self, logs: Floats) -> tuple[Floats, sp.csr_array]:
        """Return ū of all actions, and the probabilities of leaves after each action, shape (actions, leaves).

        Parameters
        ----------
        logs : ndarray of float64, shape (actions,)
            ℓ.
        """
        starts, lengths = self.ways.indptr[:-1], np.diff(self.ways.indptr)
        reach, likeliest = self._reach(logs)
        shares = np.exp(reach - np.repeat(likeliest, lengths))  # without underflow
        shares /= np.repeat(np.add.reduceat(shares, starts), lengths)
        found = np.add.reduceat(shares * self.paid.data, starts)
        return found, sp.csr_array((shares, self.ways.indices, self.ways.indptr), shape=self.ways.shape)

    def depths(self, logs: Floats) -> Floats:
        """Return how unlikely each action's leaves are if the player moves there: −log of the likeliest one's.

        Values of actions are accurate to about as many units of round-off.
        """
        return -self._reach(logs)[1]

    def _reach(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the probabilities of leaves after each action, and the largest of each action."""
        reach = self.chance + self.rest @ logs
        return reach, np.maximum.reduceat(reach, self.ways.indptr[:-1])

    @cached_property
    def counts(self) -> Indices:
        """The number of actions of each infoset."""
        return np.diff(np.append(self.first, self.ways.shape[0]))

    def residual(self, logs: Floats, rationality: float) -> Floats:
        """Return the equations of the fixed point, one per action; zero at a quantal response equilibrium.

        At the likeliest action of an infoset Σ exp(ℓ) − 1, and at the others the difference of ℓ − λ ū from that one.
        """
        values, _ = self.values(logs)
        likeliest = self._likeliest(logs)
        found = self._against(likeliest, logs - rationality * values)
        found[likeliest] = np.add.reduceat(np.exp(logs), self.first) - 1.0
        return found

    def jacobian(self, logs: Floats, rationality: float) -> Floats:
        """Return the derivatives of :meth:`residual` by ℓ and, in the last column, by λ."""
        values, shares = self.values(logs)
        count = len(logs)
        change = ((shares * self.paid) @ self.ways.T).toarray() - values[:, None] * (shares @ self.ways.T).toarray()
        likeliest = self._likeliest(logs)
        found = np.empty((count, count + 1))
        found[:, :count] = self._against(likeliest, np.eye(count) - rationality * change)
        found[:, count] = self._against(likeliest, -values)
        found[likeliest] = 0.0
        places = np.repeat(likeliest, self.counts)
        found[places, np.arange(count)] = np.exp(logs)
        return found

    def distance(self, logs: Floats, rationality: float) -> float:
        """Return the largest difference between probabilities and the logit choices against them.

        Parameters
        ----------
        logs : ndarray of float64, shape (actions,)
            ℓ.
        rationality : float
        """
        values, _ = self.values(logs)
        worth = rationality * values
        worth -= np.repeat(np.maximum.reduceat(worth, self.first), self.counts)
        wanted = np.exp(worth)
        wanted /= np.repeat(np.add.reduceat(wanted, self.first), self.counts)
        return float(np.abs(wanted - np.exp(logs)).max(initial=0.0))

    def _likeliest(self, logs: Floats) -> Indices:
        """Return the likeliest action of each infoset: differences from it lose the fewest digits."""
        infosets = np.repeat(np.arange(len(self.first)), self.counts)
        return np.lexsort((-logs, infosets))[self.first]

    def _against(self, chosen: Indices, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the difference of the numbers of actions from those of their infosets' chosen actions."""
        return numbers - np.repeat(numbers[chosen], self.counts, axis=0)


def _leaves(game: Game, form: SequenceForm) -> tuple[Indices, Floats, Floats]:
    """Return the last sequences, chance probabilities and payoffs of all leaves."""
    if form.leaves is not None:
        return form.leaves.sequences.astype(np.int64), form.leaves.chance, form.leaves.payoffs
    if form.num_players != 2 or any(treeplex.num_infosets != 1 for treeplex in form.treeplexes):
        raise UnsupportedProblemError(f"qre needs a game with leaves or a matrix game, but {game.spec} is neither")
    rows, columns = (treeplex.num_sequences for treeplex in form.treeplexes)
    pairs = np.array([(row, column) for row in range(1, rows) for column in range(1, columns)])
    paid = [form.payoff_matrix(player).toarray()[pairs[:, 0], pairs[:, 1]] for player in (0, 1)]
    return pairs, np.ones(len(pairs)), np.stack(paid, axis=1)
