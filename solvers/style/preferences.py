"""Preferences of Preference-CFR: their actions, the frequencies of these, and the proven cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.constraints import LinearConstraint
from ...models.preferences import Prefer, Preference, PreferStrategy, preference_on
from ...seqform.errors import InvalidConstraintError, UnsupportedProblemError, shown
from ...seqform.functional import reach_of_others
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Profile, Strategy
from ..methods.declarations import PreferringMethod
from ..solution import Solution

# The least probability of a preferred action among several, so that none is dropped for good.
_LEAST_SHARE = 1e-6


_Masks = dict[int, npt.NDArray[np.bool_]]


def preferences_for(
    game: Game,
    constraints: Sequence[LinearConstraint],
    degree: float,
    strategy: Strategy,
    vulnerabilities: Sequence[float] | None = None,
) -> tuple[Prefer | PreferStrategy, ...]:
    """Return preferences for the actions that help to meet bounds.

    Parameters
    ----------
    game : Game
    constraints : sequence of LinearConstraint
        Constraints on one player's plans.
    degree : float
        δ.
    strategy : Strategy
        The player's strategy, such as an equilibrium's, which gives the proportions of several preferred actions.
    vulnerabilities : sequence of float, optional
        β of each bound; by default the method's vulnerability applies.

    Returns
    -------
    tuple of Prefer or PreferStrategy
        Preferences of δ for single actions. If several actions of an infoset help equally, there is one preference for
        a strategy that plays only these, in the proportions of the given strategy: preferring folding as much as
        calling, because neither is a raise, would cost much more. If several bounds concern an infoset, their
        vulnerabilities are added, and each is preferred in proportion to its own.

    Raises
    ------
    InvalidConstraintError
        If a bound does not depend on any choice of an action.

    Examples
    --------
    >>> from treeplex import Strategy, load_game, parse_constraint
    >>> from treeplex.solvers.style.preferences import preferences_for
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
            raise InvalidConstraintError(f"target {shown(constraint.name)} does not depend on any choice of an action")
    # Infosets with the same bounds form one group.
    groups: dict[tuple[int, ...], list[int]] = {}
    for infoset in sorted(set().union(*found)):
        groups.setdefault(tuple(place for place, chosen in enumerate(found) if infoset in chosen), []).append(infoset)
    preferences: list[Prefer | PreferStrategy] = []
    for places, infosets in groups.items():
        weights = np.array([1.0 if vulnerabilities is None else vulnerabilities[place] for place in places])
        total = float(weights.sum())
        weights = weights / total if total > 0.0 else np.full(len(places), 1.0 / len(places))
        weights[weights.argmax()] += _LEAST_SHARE  # a preference for uniform play would have no effect
        asked = [{infoset: found[place][infoset] for infoset in infosets} for place in places]
        together = _together(game, asked, weights, degree, strategy)
        preferences += (
            together
            if vulnerabilities is None
            else [replace(preference, vulnerability=total) for preference in together]
        )
    return tuple(preferences)


def _together(
    game: Game, asked: Sequence[_Masks], weights: npt.NDArray[np.float64], degree: float, strategy: Strategy
) -> list[Prefer | PreferStrategy]:
    """Return preferences for several bounds on the same infosets."""
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
    preferences: list[Prefer | PreferStrategy] = []
    for label in dict.fromkeys(labels.values()):
        mine = {infoset for infoset, each in labels.items() if each == label}
        shorter = [Prefer(label, degree, player=player, first=first) for first in (True, False)]
        where = [treeplex.infoset_labels[infoset] for infoset in sorted(mine)]
        longer = [Prefer(label, degree, player=player, infosets=one) for one in where]
        short = next((preference for preference in shorter if _covered(preference, treeplex) == mine), None)
        preferences += longer if short is None else [short]
    return preferences


def _chosen(constraint: LinearConstraint, treeplex: Treeplex) -> _Masks:
    """Return, for each infoset where the action matters, the actions that help to meet a bound."""
    worth = np.zeros(treeplex.num_sequences)
    worth[constraint.indices] = -constraint.coefficients
    infosets = range(treeplex.num_infosets)
    if constraint.fixed:
        # Above the infoset whose probability is bounded, the coefficients are only the bound.
        infosets = range(last := int(treeplex.sequence_infosets[constraint.indices[-1]]), last + 1)
    chosen = {}
    for infoset in infosets:
        here = worth[slice(*treeplex.offsets[infoset : infoset + 2].tolist())]
        if np.ptp(here) > 0.0:
            chosen[infoset] = here > here.min()
    return chosen


def _covered(preference: Prefer, treeplex: Treeplex) -> set[int]:
    """Return the infosets that a preference concerns, without those that have one action."""
    return {
        infoset
        for infoset, (label, actions) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True))
        if len(actions) > 1
        and preference.degrees(preference.player or 0, label, actions, bool(treeplex.parents[infoset] == 0)) is not None
    }


@dataclass(frozen=True)
class PreferredShare:
    """The frequency of a player's preferred actions.

    Attributes
    ----------
    preference : str
    player : int
    share : float or None
        When play reaches an infoset of the preference, the frequency of an action whose degree is above the
        others'; ``None`` if play never reaches one.
    """

    preference: str
    player: int
    share: float | None


def preferred_shares(game: Game, prefer: Any, profile: Profile) -> tuple[PreferredShare, ...]:
    """Return the frequencies of the players' preferred actions in a profile.

    Parameters
    ----------
    game : Game
        A game with histories.
    prefer : Prefer, PreferStrategy or str, or a collection of them
    profile : Profile

    Returns
    -------
    tuple of PreferredShare
        One for each preference and each player that it concerns.

    Raises
    ------
    InvalidPreferenceError
        If a preference matches nothing in the game.
    UnsupportedProblemError
        If the game has no table of leaves.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.solvers.style.preferences import preferred_shares
    >>> game = load_game("kuhn")
    >>> preferred_shares(game, "0/b@first:5", Profile.uniform(game))
    (PreferredShare(preference='0/b@first:5', player=0, share=0.5),)
    """
    alone = [(one, preference_on(game, one)) for one in preference_on(game, prefer).stated]
    return tuple(
        PreferredShare(str(one), player, _share(game, preference, player, profile))
        for one, preference in alone
        for player in range(game.num_players)
        if preference.about[player].any()
    )


def _share(game: Game, preference: Preference, player: int, profile: Profile) -> float | None:
    treeplex, plan = game.sequence_form.treeplexes[player], profile[player].plan
    weights = np.where(preference.about[player], reach_of_others(game, player, profile), 0.0)
    occasions = float(weights @ treeplex.reach(plan))
    if not occasions > 0.0:
        return None
    degrees = preference.degrees[player]
    starts = treeplex.offsets[:-1] - 1
    least = np.repeat(np.minimum.reduceat(degrees[1:], starts), treeplex.num_actions)
    preferred = np.append(False, degrees[1:] > least)
    return float((np.append(0.0, np.repeat(weights, treeplex.num_actions)) * preferred) @ plan) / occasions


def preference_record(solution: Solution) -> dict[str, Any] | None:
    """Return the JSON entries about a solution's preferences; ``None`` if its method has none.

    Returns
    -------
    dict, optional
        ``shares``: a list of ``preference``, ``player`` and ``share``, see :class:`PreferredShare`, ``None`` in games
        without leaves. ``vulnerability_bounds``, ``finite_run_bounds`` (lists, one number per player),
        ``nash_conv_bound`` and ``cce_gap_bound``, see
        :class:`~treeplex.solvers.regret.preference_bounds.PreferenceBound`; ``None`` if nothing is proven.
    """
    if not isinstance(solution.method, PreferringMethod) or not solution.method.prefer:
        return None
    names = ("shares", "vulnerability_bounds", "finite_run_bounds", "nash_conv_bound", "cce_gap_bound")
    record: dict[str, Any] = dict.fromkeys(names)
    game = solution.problem.game
    if game.sequence_form.leaves is not None:
        record["shares"] = [vars(each) for each in preferred_shares(game, solution.method.prefer, solution.profile)]
    try:
        from ..regret.preference_bounds import preference_bound

        bound = preference_bound(solution)
    except UnsupportedProblemError:
        return record
    record["vulnerability_bounds"] = list(bound.vulnerability)
    if bound.finite_run is not None:
        record["finite_run_bounds"] = list(bound.finite_run)
        record["nash_conv_bound"], record["cce_gap_bound"] = bound.nash_conv, bound.cce_gap
    return record
