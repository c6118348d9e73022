"""Which actions help to meet a bound, as preferences for Preference-CFR."""

import numpy as np
import numpy.typing as npt

from ..models.constraints import LinearConstraint
from ..models.preferences import Prefer, PreferStrategy
from ..seqform.errors import InvalidConstraintError, shown
from ..seqform.game import Game
from ..seqform.polytope import Treeplex
from ..seqform.strategy import Strategy

# The least share of a preferred action among several, so that none is left out for good.
_LEAST_SHARE = 1e-6


def preference_for(
    game: Game, constraint: LinearConstraint, degree: float, strategy: Strategy
) -> tuple[Prefer | PreferStrategy, ...]:
    """Return preferences for the actions by which a bound is met.

    Parameters
    ----------
    game : Game
    constraint : LinearConstraint
        On one player's plans.
    degree : float
        δ.
    strategy : Strategy
        The player's, such as an equilibrium's: it says in which shares several actions of an infoset are preferred.

    Returns
    -------
    tuple of Prefer or PreferStrategy
        Preferences of δ for single actions. Where several actions of an infoset meet the bound alike, one for a
        strategy that plays these alone, in shares as they are played by the strategy that is given: to prefer folding
        as much as calling, because both are no raise, would cost much more.

    Raises
    ------
    InvalidConstraintError
        If the bound depends on no choice of an action.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.constraints import parse_constraint
    >>> from treeplex.solvers.preferred_actions import preference_for
    >>> game = load_game("leduc")
    >>> for player, text in ((0, "raise@first >= 0.6"), (1, "1/raise@first <= 0.3")):
    ...     target = parse_constraint(text, game)[0]
    ...     print(*preference_for(game, target, 10, Strategy.uniform(game, player)))
    0/r@first:10
    player 1's strategy, strength 9
    """
    player = constraint.player
    treeplex = game.sequence_form.treeplexes[player]
    chosen = _chosen(constraint, treeplex)
    if not chosen:
        raise InvalidConstraintError(f"target {shown(constraint.name)} depends on no choice of an action")
    if any(mask.sum() > 1 for mask in chosen.values()):
        behaviour = treeplex.uniform_behaviour()
        for infoset, mask in chosen.items():
            here = slice(*treeplex.offsets[infoset : infoset + 2].tolist())
            shares = np.where(mask, strategy.behaviour[here] + _LEAST_SHARE, 0.0)
            behaviour[here] = shares / shares.sum()
        return (PreferStrategy(Strategy(game, player, behaviour), degree - 1.0),)
    labels = {infoset: treeplex.action_labels[infoset][int(mask.argmax())] for infoset, mask in chosen.items()}
    wishes: list[Prefer] = []
    for label in dict.fromkeys(labels.values()):
        mine = {infoset for infoset, each in labels.items() if each == label}
        shorter = [Prefer(label, degree, player=player, first=first) for first in (True, False)]
        where = [treeplex.infoset_labels[infoset] for infoset in sorted(mine)]
        longer = [Prefer(label, degree, player=player, infosets=one) for one in where]
        short = next((wish for wish in shorter if _covered(wish, treeplex) == mine), None)
        wishes += longer if short is None else [short]
    return tuple(wishes)


def _chosen(constraint: LinearConstraint, treeplex: Treeplex) -> dict[int, npt.NDArray[np.bool_]]:
    """Return which actions help to meet a bound, by infoset where that depends on the action."""
    worth = np.zeros(treeplex.num_sequences)
    worth[constraint.indices] = -constraint.coefficients
    infosets = range(treeplex.num_infosets)
    if constraint.fixed:
        # Above the infoset whose probability is bounded stands the bound alone.
        infosets = range(last := int(treeplex.sequence_infosets[constraint.indices[-1]]), last + 1)
    chosen = {}
    for infoset in infosets:
        here = worth[slice(*treeplex.offsets[infoset : infoset + 2].tolist())]
        if np.ptp(here) > 0.0:
            chosen[infoset] = here > here.min()
    return chosen


def _covered(wish: Prefer, treeplex: Treeplex) -> set[int]:
    """Return the infosets that a preference is about, those with one action left out."""
    return {
        infoset
        for infoset, (label, actions) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True))
        if len(actions) > 1
        and wish.degrees(wish.player or 0, label, actions, bool(treeplex.parents[infoset] == 0)) is not None
    }
