"""What became of preferences: how often the preferred actions are taken, and what is proven of the cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.preferences import Preference, preference_on
from ...seqform.errors import UnsupportedProblemError
from ...seqform.functional import reach_of_others
from ...seqform.game import Game
from ...seqform.strategy import Profile
from ..solution import Solution


@dataclass(frozen=True)
class PreferredShare:
    """How often a player takes the actions that a preference is about.

    Attributes
    ----------
    preference : str
    player : int
    share : float or None
        Of the occasions on which play comes to an infoset that the preference is about, those on which an action of a
        degree above the others is taken; ``None`` if play never does.
    """

    preference: str
    player: int
    share: float | None


def preferred_shares(game: Game, prefer: Any, profile: Profile) -> tuple[PreferredShare, ...]:
    """Return how often the players take the actions that they prefer, as a profile plays.

    Parameters
    ----------
    game : Game
        With histories.
    prefer : Prefer, PreferStrategy or str, or a collection of them
    profile : Profile

    Returns
    -------
    tuple of PreferredShare
        One for each preference and each player that it is about.

    Raises
    ------
    InvalidPreferenceError
        If a preference is about nothing in the game.
    UnsupportedProblemError
        If the game has no table of leaves.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.solvers.style.report import preferred_shares
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
    """Return what a solution's JSON says of preferences; ``None`` if its method has none.

    Returns
    -------
    dict, optional
        ``shares``: a list of ``preference``, ``player`` and ``share``, see :class:`PreferredShare`, ``None`` in games
        without leaves. ``vulnerability_bounds``, ``finite_run_bounds`` (a list, one number a player) and
        ``nash_conv_bound``, see :class:`~treeplex.solvers.regret.preference_bounds.PreferenceBound`; ``None`` where
        nothing is proven.
    """
    prefer = getattr(solution.method, "prefer", ())
    if not prefer:
        return None
    record: dict[str, Any] = dict.fromkeys(("shares", "vulnerability_bounds", "finite_run_bounds", "nash_conv_bound"))
    game = solution.problem.game
    if game.sequence_form.leaves is not None:
        shares = preferred_shares(game, prefer, solution.profile)
        record["shares"] = [
            {"preference": each.preference, "player": each.player, "share": each.share} for each in shares
        ]
    try:
        from ..regret.preference_bounds import preference_bound

        bound = preference_bound(solution)
    except UnsupportedProblemError:
        return record
    record["vulnerability_bounds"] = list(bound.vulnerability)
    if bound.finite_run is not None:
        record["finite_run_bounds"] = list(bound.finite_run)
        record["nash_conv_bound"] = bound.nash_conv
    return record
