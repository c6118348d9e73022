"""Profiles from pygambit as strategies."""

from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import InvalidStrategyError, shown
from ..game import Game
from ..polytope import Treeplex
from ..sequence_form import SequenceForm, sequence_form_of
from ..strategy import Profile, Strategy
from ..strategy_files import parse_json
from .encoding import to_json


def profile_from_gambit(game: Game | SequenceForm, profile: Any) -> Profile:
    """Return all players' strategies from a behaviour profile of pygambit.

    Parameters
    ----------
    game : Game or SequenceForm
        A game read from the ``.efg`` file that pygambit has read too.
    profile : pygambit.MixedBehaviorProfile
        For example ``pygambit.nash.lp_solve(…).equilibria[0]``, exact or in floats, from pygambit 16 or later.

    Returns
    -------
    Profile

    Raises
    ------
    InvalidStrategyError
        If it is not such a profile, or belongs to a game with different numbers of infosets or actions.

    Notes
    -----
    Players, infosets and actions are in pygambit's order, which is that of a depth-first walk of the file. Where a
    mixed strategy never leads, ``as_behavior()`` has zeros for all actions; play there is uniform.

    Examples
    --------
    A stand-in for pygambit's profile of one player with one infoset:

    >>> from types import SimpleNamespace
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import profile_from_gambit
    >>> game = load_game("matching_pennies")
    >>> class Mixed(dict):
    ...     game = SimpleNamespace(
    ...         players=[SimpleNamespace(infosets=[SimpleNamespace(actions=[f"{n}{a}" for a in "HT"])]) for n in "01"]
    ...     )
    >>> profile = profile_from_gambit(game, Mixed({"0H": 0.25, "0T": 0.75, "1H": "1/2", "1T": "1/2"}))
    >>> profile[0].behaviour.tolist(), profile[1].behaviour.tolist()
    ([1.0, 0.25, 0.75], [1.0, 0.5, 0.5])
    """
    try:
        played = [
            [[_number(probability) for probability in probabilities] for probabilities in infosets]
            for infosets in _nested(profile)
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidStrategyError(f"{shown(profile)} is not a pygambit behaviour profile") from None
    # Gambit leaves out players without infosets.
    treeplexes = sequence_form_of(game).treeplexes
    found = {player: np.ones(1) for player, treeplex in enumerate(treeplexes) if not treeplex.num_infosets}
    found |= parse_json(to_json(played), game).vectors
    filled = {player: _filled(treeplexes[player], behaviour) for player, behaviour in found.items()}
    return Profile([Strategy(game, player, filled[player]) for player in sorted(filled)])


def _filled(treeplex: Treeplex, behaviour: Floats) -> Floats:
    """Return a behaviour strategy with uniform play instead of zeros where the player's own strategy never leads."""
    if not treeplex.num_infosets:
        return behaviour
    is_empty = np.add.reduceat(behaviour[1:], treeplex.offsets[:-1] - 1) == 0.0
    is_empty &= treeplex.plan(behaviour)[treeplex.parents] == 0.0
    spread = np.repeat(is_empty, treeplex.num_actions)
    filled = behaviour.copy()
    filled[1:] = np.where(spread, treeplex.uniform_behaviour()[1:], behaviour[1:])
    return filled


def _nested(profile: Any) -> list[list[list[Any]]]:
    """Return the probabilities, nested by player, infoset and action."""
    players = list(profile.game.players)
    if players and not hasattr(players[0], "infosets"):  # since pygambit 17 these are labels
        return [[[one for _, one in mixed] for _, mixed in behaviour] for behaviour in profile]
    return [
        [[profile[action] for action in infoset.actions] for infoset in player.infosets]
        for player in players
        if len(player.infosets)
    ]


def _number(probability: Any) -> float | str:
    """Return a probability as a JSON value; an exact one becomes the string of a fraction."""
    return probability if isinstance(probability, float) else str(probability)
