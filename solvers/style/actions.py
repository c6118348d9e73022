"""Which actions help to meet bounds, as preferences for Preference-CFR."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...models.constraints import LinearConstraint
from ...models.preferences import Prefer, PreferStrategy
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Strategy

# The least share of a preferred action among several, so that none is left out for good.
_LEAST_SHARE = 1e-6


_Masks = dict[int, npt.NDArray[np.bool_]]


def preferences_for(
    game: Game,
    constraints: Sequence[LinearConstraint],
    degree: float,
    strategy: Strategy,
    vulnerabilities: Sequence[float] | None = None,
) -> tuple[Prefer | PreferStrategy, ...]:
    """Return preferences for the actions by which bounds are met.

    Parameters
    ----------
    game : Game
    constraints : sequence of LinearConstraint
        On one player's plans.
    degree : float
        δ.
    strategy : Strategy
        The player's, such as an equilibrium's: it says in which shares several actions of an infoset are preferred.
    vulnerabilities : sequence of float, optional
        β of each bound; by default what the method has is left to stand for them.

    Returns
    -------
    tuple of Prefer or PreferStrategy
        Preferences of δ for single actions. Where several actions of an infoset meet the bound alike, one for a
        strategy that plays these alone, in shares as they are played by the strategy that is given: to prefer folding
        as much as calling, because both are no raise, would cost much more. Where several bounds ask something of an
        infoset their vulnerabilities add up, and it leans to each in proportion to its own.

    Raises
    ------
    InvalidConstraintError
        If a bound depends on no choice of an action.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.constraints import parse_constraint
    >>> from treeplex.solvers.style.actions import preferences_for
    >>> game = load_game("leduc")
    >>> for player, text in ((0, "raise@first >= 0.6"), (1, "1/raise@first <= 0.3")):
    ...     targets = parse_constraint(text, game)
    ...     print(*preferences_for(game, targets, 10, Strategy.uniform(game, player)))
    0/r@first:10
    player 1's strategy, strength 9
    """
    treeplex = game.sequence_form.treeplexes[strategy.player]
    found = [_chosen(constraint, treeplex) for constraint in constraints]
    for constraint, chosen in zip(constraints, found, strict=True):
        if not chosen:
            raise InvalidConstraintError(f"target {shown(constraint.name)} depends on no choice of an action")
    # Infosets of which the same bounds ask something stand together.
    groups: dict[tuple[int, ...], list[int]] = {}
    for infoset in sorted(set().union(*found)):
        groups.setdefault(tuple(place for place, chosen in enumerate(found) if infoset in chosen), []).append(infoset)
    wishes: list[Prefer | PreferStrategy] = []
    for places, infosets in groups.items():
        weights = np.array([1.0 if vulnerabilities is None else vulnerabilities[place] for place in places])
        total = float(weights.sum())
        weights = weights / total if total > 0.0 else np.full(len(places), 1.0 / len(places))
        weights[weights.argmax()] += _LEAST_SHARE  # a preference for uniform play would be none, and give nothing up
        asked = [{infoset: found[place][infoset] for infoset in infosets} for place in places]
        together = _together(game, asked, weights, degree, strategy)
        wishes += together if vulnerabilities is None else [replace(wish, vulnerability=total) for wish in together]
    return tuple(wishes)


def _together(
    game: Game, asked: Sequence[_Masks], weights: npt.NDArray[np.float64], degree: float, strategy: Strategy
) -> list[Prefer | PreferStrategy]:
    """Return preferences for what several bounds ask of the same infosets."""
    player, treeplex = strategy.player, strategy.treeplex
    chosen = asked[0]
    if len(asked) > 1 or any(mask.sum() > 1 for mask in chosen.values()):
        behaviour = treeplex.uniform_behaviour()
        for infoset in chosen:
            here = slice(*treeplex.offsets[infoset : infoset + 2].tolist())
            played = strategy.behaviour[here] + _LEAST_SHARE
            shares = [np.where(masks[infoset], played, 0.0) for masks in asked]
            mixed = sum(weight * each / each.sum() for weight, each in zip(weights, shares, strict=True))
            behaviour[here] = mixed / np.sum(mixed)
        return [PreferStrategy(Strategy(game, player, behaviour), degree - 1.0)]
    labels = {infoset: treeplex.action_labels[infoset][int(mask.argmax())] for infoset, mask in chosen.items()}
    wishes: list[Prefer | PreferStrategy] = []
    for label in dict.fromkeys(labels.values()):
        mine = {infoset for infoset, each in labels.items() if each == label}
        shorter = [Prefer(label, degree, player=player, first=first) for first in (True, False)]
        where = [treeplex.infoset_labels[infoset] for infoset in sorted(mine)]
        longer = [Prefer(label, degree, player=player, infosets=one) for one in where]
        short = next((wish for wish in shorter if _covered(wish, treeplex) == mine), None)
        wishes += longer if short is None else [short]
    return wishes


def _chosen(constraint: LinearConstraint, treeplex: Treeplex) -> _Masks:
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
