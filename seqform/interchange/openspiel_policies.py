"""Conversion between strategies and OpenSpiel's policies."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..arrays import Floats
from ..checks import check_type
from ..errors import InvalidGameError, InvalidStrategyError, MissingExtraError, one_line, shown
from ..game import Game
from ..histories import walk
from ..strategy import Profile, Strategy, checked_player
from .openspiel import PREFIX, OpenSpielRules, import_pyspiel, openspiel_game, reason, silent_stderr

__doctest_requires__ = ("pyspiel",)


def policy_from_strategies(profile: Profile, game: Any = None) -> Any:
    """Return a profile as an OpenSpiel tabular policy, for OpenSpiel's algorithms.

    Parameters
    ----------
    profile : Profile
        A profile of a game loaded from OpenSpiel.
    game : Game or pyspiel.Game, optional
        The game; by default it is loaded again by the name that is stored in the profile.

    Returns
    -------
    open_spiel.python.policy.TabularPolicy
        A policy for the game that was visited: for a simultaneous game, its turn-based form. It is the policy's
        ``game``.

    Raises
    ------
    InvalidGameError
        If the game is not from OpenSpiel, or has no information state strings, which OpenSpiel needs for policies.
    InvalidStrategyError
        If the profile belongs to another game.
    MissingExtraError
        If OpenSpiel is not installed.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> policy = policy_from_strategies(Profile.uniform(load_game("openspiel:kuhn_poker")))
    >>> policy.policy_for_key("0pb").tolist()
    [0.5, 0.5]
    """
    check_type(profile, "profile", InvalidStrategyError, Profile)
    name = profile[0].game_name
    if game is None:
        if not name.startswith(PREFIX):
            raise InvalidGameError(
                f"the profile belongs to {name or 'a game without a name'}, which is not from OpenSpiel: pass the "
                "OpenSpiel game as game=…"
            )
        game = openspiel_game(name.removeprefix(PREFIX))
    rules = _rules_of(game)
    spiel = rules.game
    if not spiel.get_type().provides_information_state_string:
        raise InvalidGameError(
            f"OpenSpiel stores policies by information state string, but {one_line(str(spiel))} has none"
        )
    table = _policies().TabularPolicy(spiel)
    wanted = sum(strategy.treeplex.num_infosets for strategy in profile)
    probabilities = table.action_probability_array
    probabilities[:] = 0.0
    found: set[tuple[int, str]] = set()
    for row, state in enumerate(table.states):
        player, label, numbers = state.current_player(), rules.infoset(state), state.legal_actions()
        if player >= len(profile):
            raise _another_game(rules, f"player {player} moves in that game")
        strategy = profile[player]
        infoset = strategy.treeplex.find_infoset(label)
        if infoset is None or len(strategy.treeplex.action_labels[infoset]) != len(numbers):
            raise _another_game(rules, f"player {player} has {len(numbers)} actions at {shown(label)}")
        first = int(strategy.treeplex.offsets[infoset])
        probabilities[row, numbers] = strategy.behaviour[first : first + len(numbers)]
        found.add((player, label))
    if len(found) != wanted:
        raise _another_game(rules, f"its table has {len(found)} infosets, but the profile has {wanted}")
    return table


def profile_from_policy(game: Game, policy: Any) -> Profile:
    """Return all players' strategies from an OpenSpiel policy.

    Parameters
    ----------
    game : Game
        A game loaded from OpenSpiel.
    policy : open_spiel.python.policy.Policy or pyspiel.Policy
        A policy for the same game; for a simultaneous game, for its turn-based form.

    Returns
    -------
    Profile

    Raises
    ------
    InvalidGameError
        If the game is not from OpenSpiel.
    InvalidStrategyError
        If the policy has no probabilities at an infoset, or they are negative, do not sum to one within 1e-6, or are
        positive for actions that are not legal.

    Examples
    --------
    >>> import pyspiel
    >>> from treeplex import load_game
    >>> game = load_game("openspiel:kuhn_poker")
    >>> profile_from_policy(game, pyspiel.UniformRandomPolicy(game.rules.game))[1]["2b"]
    {'Pass': 0.5, 'Bet': 0.5}
    """
    players = range(game.num_players) if isinstance(game, Game) else ()
    return Profile(_strategies(game, policy, players))


def strategy_from_policy(game: Game, policy: Any, player: int) -> Strategy:
    """Return one player's strategy from an OpenSpiel policy.

    Parameters
    ----------
    game : Game
        A game loaded from OpenSpiel.
    policy : open_spiel.python.policy.Policy or pyspiel.Policy
        A policy for the same game. It is only called at this player's infosets.
    player : int

    Returns
    -------
    Strategy

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        As for :func:`profile_from_policy`; also if the game has no such player.

    Examples
    --------
    >>> import pyspiel
    >>> from treeplex import load_game, worst_case
    >>> game = load_game("openspiel:kuhn_poker")
    >>> round(worst_case(game, strategy_from_policy(game, pyspiel.UniformRandomPolicy(game.rules.game), 0)), 6)
    -0.416667
    """
    (strategy,) = _strategies(game, policy, [player])
    return strategy


def _strategies(game: Any, policy: Any, players: Iterable[int]) -> list[Strategy]:
    rules = _rules_of(game)
    check_type(game, "game", InvalidGameError, Game, "a Game (game_from_openspiel makes one)")
    treeplexes = game.sequence_form.treeplexes
    vectors = {each: treeplexes[each].uniform_behaviour() for each in (checked_player(game, one) for one in players)}
    if not callable(getattr(policy, "action_probabilities", None)):
        raise InvalidStrategyError(f"{shown(policy)} is not an OpenSpiel policy: it has no action_probabilities")
    missing = {each: set(treeplexes[each].infoset_labels) for each in vectors}
    for history in walk(rules):
        if not any(missing.values()):
            break
        state, who = history.state, history.player
        if who in vectors:
            label = rules.infoset(state)
            if label in missing[who]:
                missing[who].remove(label)
                infoset = treeplexes[who].find_infoset(label)
                _read(vectors[who], int(treeplexes[who].offsets[infoset]), policy, state, who, label)
    return [Strategy(game, who, vector) for who, vector in vectors.items()]


def _read(vector: Floats, first: int, policy: Any, state: Any, player: int, label: str) -> None:
    """Write a policy's probabilities at a state into a behaviour strategy."""
    where = f"at infoset {shown(label)} of player {player}"
    try:
        if isinstance(policy, import_pyspiel().Policy):
            with silent_stderr():
                given = policy.action_probabilities(state)
        else:
            given = policy.action_probabilities(state, player)
    except Exception as error:  # a policy may run any code
        raise InvalidStrategyError(f"the policy gives no probabilities {where}: {reason(error)}") from error
    if not isinstance(given, Mapping):
        raise InvalidStrategyError(f"the policy gives {shown(given)} {where}, expected probabilities by action")
    legal = state.legal_actions()
    for action, probability in given.items():
        try:
            number = float(probability)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise InvalidStrategyError(
                f"the policy gives action {shown(action)} probability {shown(probability)} {where}, expected a number"
            )
        if action in legal:
            vector[first + legal.index(action)] = number
        elif number != 0.0:
            raise InvalidStrategyError(
                f"the policy gives action {shown(action)} probability {number:g} {where}, where only {shown(legal)} "
                "are legal"
            )
    for place, action in enumerate(legal):
        if action not in given:
            vector[first + place] = 0.0


def _rules_of(game: Any) -> OpenSpielRules:
    rules = game.rules if isinstance(game, Game) else OpenSpielRules(game)
    if not isinstance(rules, OpenSpielRules):
        raise InvalidGameError(
            f"{shown(game)} is not from OpenSpiel: use load_game('openspiel:…') or game_from_openspiel(…)"
        )
    return rules


def _another_game(rules: OpenSpielRules, difference: str) -> InvalidStrategyError:
    return InvalidStrategyError(f"the profile does not belong to OpenSpiel's {one_line(str(rules.game))}: {difference}")


def _policies() -> Any:
    try:
        from open_spiel.python import policy
    except ImportError as error:
        raise MissingExtraError(
            f'OpenSpiel is not fully installed ({error}): pip install "treeplex[openspiel]"'
        ) from None
    return policy
