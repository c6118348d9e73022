"""Convex measures of a player's plan: the mean of the worst losses, and the spread of functionals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..seqform.arrays import Floats
from ..seqform.checks import check_number
from ..seqform.errors import InvalidConstraintError, shown
from ..seqform.functional import Functional, plan_of
from ..seqform.polytope import Treeplex
from ..seqform.strategy import Profile, Strategy
from .convex import ConvexFunction, Norm1, Norm2, NormInfinity, Tail

#: The norms by name.
_NORMS: dict[float, Any] = {1.0: Norm1, 2.0: Norm2, math.inf: NormInfinity}


@dataclass(frozen=True, eq=False)
class Risk:
    """A convex function of one player's realization plan.

    Attributes
    ----------
    player : int
        The player of the plan.
    function : ConvexFunction
    description : str
        A short description of the measure.
    fingerprint : str, optional
        The fingerprint of the game.

    Examples
    --------
    The difference between the two first actions of Kuhn poker's player 0, with three cards:

    >>> from treeplex import Strategy, frequency, load_game
    >>> from treeplex.models.risks import spread
    >>> game = load_game("kuhn")
    >>> bets = [frequency(game, 0, "b", infosets=[card]) for card in ("J_", "Q_", "K_")]
    >>> mixed = Strategy.from_dict(game, 0, {"K_": {"b": 1.0}, "Q_": {"p": 0.5, "b": 0.5}, "J_": {"p": 1.0}})
    >>> round(spread(bets).value(mixed), 6)
    0.166667
    """

    player: int
    function: ConvexFunction = field(repr=False)
    description: str
    fingerprint: str | None = None

    def value(self, strategy: Strategy | Profile) -> float:
        """Return the measure at a strategy of the player, or at its strategy in a profile.

        Raises
        ------
        InvalidStrategyError
            If the argument is not a strategy, or belongs to another player or game.
        """
        size = self.function.terms[0].matrix.shape[1]
        return float(self.function.value(plan_of(strategy, self.player, size, self.fingerprint)))


@dataclass(frozen=True, eq=False)
class Loss:
    """A player's loss: the maximum over replies in a polytope, max over r of r · (B x − c).

    Attributes
    ----------
    replies : Treeplex
    matrix : csr_array, shape (replies.num_sequences, num_sequences of the player)
        B.
    shifts : ndarray of float64, shape (replies.num_sequences,)
        c.
    """

    replies: Treeplex
    matrix: sp.csr_array
    shifts: Floats

    @classmethod
    def of(cls, functional: Functional) -> "Loss":
        """Return a linear loss."""
        row = sp.csr_array(functional.coefficients[None])
        return cls(Treeplex([], []), row, np.array([-functional.constant]))


def tail(
    losses: Sequence[Functional | Loss],
    level: float,
    probabilities: Sequence[float] | None = None,
    *,
    player: int | None = None,
    description: str = "",
    fingerprint: str | None = None,
) -> Risk:
    r"""Return the mean of the worst losses, of total probability 1 − α: the conditional value at risk (CVaR).

    Parameters
    ----------
    losses : sequence of Functional or Loss
        All losses must have the same unit.
    level : float
        α, from 0 to 1: 0 gives the mean of all losses, and 1 the worst.
    probabilities : sequence of float, optional
        Probabilities of the losses; by default equal.
    player : int, optional
        The player of the plan; needed if a loss is not a functional.
    description : str
    fingerprint : str, optional
        The fingerprint of the game, if `player` is given.

    Returns
    -------
    Risk
        .. math:: \min_\tau \tau + \frac{1}{1 - \alpha} \sum_i p_i (L_i(x) - \tau)^+,

        The measure is piecewise linear (Rockafellar and Uryasev 2000; see :class:`~treeplex.models.convex.Tail`).

    Raises
    ------
    InvalidConstraintError
        If there are no losses, functionals belong to different players or games, or the numbers are not probabilities.

    Examples
    --------
    The mean of the worse half of three chances to be bluffed, for a player who bets at random:

    >>> from treeplex import Strategy, frequency, load_game
    >>> from treeplex.models.risks import tail
    >>> game = load_game("kuhn")
    >>> bets = [frequency(game, 0, "b", infosets=[card]) for card in ("J_", "Q_", "K_")]
    >>> round(tail(bets, 0.5).value(Strategy.uniform(game, 0)), 6)
    0.166667
    """
    if player is None:
        first = _first_of(losses, "losses")
        player, fingerprint = first.player, first.fingerprint
    level = check_number(level, "level", InvalidConstraintError, "[0, 1]")
    try:
        shares = np.array([1.0 / len(losses)] * len(losses) if probabilities is None else probabilities, dtype=float)
    except (TypeError, ValueError):
        shares = np.zeros(0)
    if shares.shape != (len(losses),) or not (shares >= 0.0).all() or abs(shares.sum() - 1.0) > 1e-9:
        raise InvalidConstraintError(
            f"the probabilities are {shown(probabilities)}, expected {len(losses)} that sum to 1, one per loss"
        )
    parts = [Loss.of(one) if isinstance(one, Functional) else one for one in losses]
    term = Tail(
        sp.csr_array(sp.vstack([part.matrix for part in parts])),
        np.concatenate([part.shifts for part in parts]),
        tuple(part.replies for part in parts),
        shares / shares.sum(),
        level,
    )
    words = description or f"mean of the worst {1.0 - level:.3g} of {len(losses)} losses"
    return Risk(player, ConvexFunction.of([term]), words, fingerprint)


def spread(functionals: Sequence[Functional], norm: Any = math.inf, description: str = "") -> Risk:
    """Return the spread of functionals of one player around their mean: a norm of the differences.

    Parameters
    ----------
    functionals : sequence of Functional
    norm : {1, 2, inf}
        ``inf`` gives the largest difference, and 1 the sum of the differences; both are piecewise linear.
    description : str

    Raises
    ------
    InvalidConstraintError
        If there is no such norm, or functionals belong to different players or games.

    Examples
    --------
    >>> from treeplex import Strategy, frequency, load_game
    >>> from treeplex.models.risks import spread
    >>> game = load_game("kuhn")
    >>> bets = [frequency(game, 0, "b", infosets=[card]) for card in ("J_", "K_")]
    >>> round(spread(bets, 1).value(Strategy.uniform(game, 0)), 6) + 0.0
    0.0
    """
    kind = _NORMS.get(float(norm)) if isinstance(norm, int | float) else None
    if kind is None:
        raise InvalidConstraintError(f"norm is {shown(norm)}, expected 1, 2 or inf")
    first = _first_of(functionals, "functionals")
    rows = sp.csr_array(np.array([one.coefficients for one in functionals]))
    constants = np.array([one.constant for one in functionals])
    centre = sp.csr_array(np.eye(len(functionals)) - 1.0 / len(functionals))
    term = kind(sp.csr_array(centre @ rows), -(centre @ constants))
    words = description or f"spread of {len(functionals)} functionals, norm {norm:g}"
    return Risk(first.player, ConvexFunction.of([term]), words, first.fingerprint)


def _first_of(given: Sequence[Any], what: str) -> Functional:
    """Return the first functional, after checking that all belong to one player and one game."""
    if not given or not all(isinstance(one, Functional) for one in given):
        raise InvalidConstraintError(f"the {what} are {shown(given)}, expected one or more functionals")
    if len({(one.player, one.coefficients.shape, one.fingerprint) for one in given}) > 1:
        of = ", ".join(f"{shown(one.description, 40)} of player {one.player}" for one in given[:4])
        raise InvalidConstraintError(f"the {what} are {of}; expected all to belong to one player and one game")
    first: Functional = given[0]
    return first
