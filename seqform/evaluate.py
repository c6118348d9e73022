"""Values, best responses and distances from equilibrium, computed from strategies alone."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from .arrays import Floats
from .errors import InvalidGameError, InvalidStrategyError, shown
from .game import Game, sequence_form_of
from .polytope import Treeplex
from .sequence_form import SequenceForm
from .strategy import Profile, Strategy, check_same_game, checked_player


@dataclass(frozen=True, eq=False)
class BestResponse:
    """A plan that maximises a linear payoff over a treeplex.

    Attributes
    ----------
    value : float
        The maximum, in payoff units.
    plan : ndarray of float64, shape (num_sequences,)
        A pure realization plan that attains it; of equally good actions the first.
    behaviour : ndarray of float64, shape (num_sequences,)
        The action taken at each infoset, also where the plan does not go: it is the best there too.
    """

    value: float
    plan: Floats
    behaviour: Floats


def best_response_value(treeplex: Treeplex, gradient: Floats) -> float:
    """Return max {g · x : x in the treeplex}, in payoff units; see :func:`best_response_plan`."""
    return float(sequence_values(treeplex, gradient)[0])


def best_response_plan(treeplex: Treeplex, gradient: Floats) -> BestResponse:
    """Maximise a linear payoff over a treeplex.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)
        Payoff per unit of each sequence, chance and the other players multiplied in.

    Returns
    -------
    BestResponse

    Notes
    -----
    Bottom-up, v(s) = g(s) + Σ_I w(I, s) max_a v(I, a) over the infosets that s leads to, with w = 1 in a tree; the
    value is v(∅). Von Stengel 1996, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.evaluate import best_response_plan
    >>> from treeplex.seqform.polytope import Treeplex
    >>> best_response_plan(Treeplex([0], [2]), np.array([1.0, 0.0, 2.0]))
    BestResponse(value=3.0, plan=array([1., 0., 1.]), behaviour=array([1., 0., 1.]))
    """
    values = sequence_values(treeplex, gradient)
    behaviour = np.zeros(treeplex.num_sequences)
    for level in treeplex.levels:
        own = values[level.sequences]
        at_best = np.flatnonzero(own == np.repeat(np.maximum.reduceat(own, level.starts), level.counts))
        firsts = at_best[np.searchsorted(at_best, level.starts)]
        behaviour[level.sequences[firsts]] = 1.0
    behaviour[0] = 1.0
    return BestResponse(float(values[0]), treeplex.plan(behaviour), behaviour)


def sequence_values(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return what each sequence is worth: what it pays, and the most that the infosets below it can.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)
        Payoff per unit of each sequence, chance and the other players multiplied in.

    Returns
    -------
    ndarray of float64, shape (num_sequences,)
        Entry 0 is the value of a best response; see :func:`best_response_plan`.
    """
    values = treeplex.checked_vector(gradient, "gradient")
    for level in reversed(treeplex.levels):
        best = np.maximum.reduceat(values[level.sequences], level.starts)
        level.pass_up(best, values)
    return values


def infoset_values(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return the counterfactual best-response value of each infoset: the largest of its sequences' values.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)

    Returns
    -------
    ndarray of float64, shape (num_infosets,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.evaluate import infoset_values
    >>> from treeplex.seqform.polytope import Treeplex
    >>> infoset_values(Treeplex([0, 1], [2, 2]), np.array([0.0, 1.0, 2.0, 3.0, 0.0]))
    array([4., 3.])
    """
    values = sequence_values(treeplex, gradient)[1:]
    return np.maximum.reduceat(values, treeplex.offsets[:-1] - 1) if treeplex.num_infosets else values


def expected_payoffs(game: Game | SequenceForm, profile: Profile) -> Floats:
    """Return each player's expected payoff when all play a profile.

    Parameters
    ----------
    game : Game or SequenceForm
    profile : Profile

    Returns
    -------
    ndarray of float64, shape (num_players,)
        Payoff units.

    Raises
    ------
    InvalidStrategyError
        If the profile is of another game.
    """
    return sequence_form_of(game).expected_payoffs(_plans(game, profile))


def best_response(game: Game | SequenceForm, profile: Profile, player: int) -> Strategy:
    """Return a pure best response of one player to the others' strategies in a profile.

    Parameters
    ----------
    game : Game or SequenceForm
    profile : Profile
        The player's own strategy in it is not read.
    player : int

    Returns
    -------
    Strategy
        Pure at every infoset, also at those that it does not reach itself.

    Examples
    --------
    >>> from treeplex import Profile, best_response, expected_payoffs, load_game
    >>> game = load_game("kuhn")
    >>> uniform = Profile.uniform(game)
    >>> response = best_response(game, uniform, player=0)
    >>> float(expected_payoffs(game, Profile([response, uniform[1]]))[0])
    0.5
    """
    form = sequence_form_of(game)
    plans = _plans(game, profile)
    player = checked_player(game, player)
    found = best_response_plan(form.treeplexes[player], form.gradient(player, plans))
    return Strategy(game, player, found.behaviour)


def best_response_values(game: Game | SequenceForm, profile: Profile) -> Floats:
    """Return what each player could get at best if the others played their part of a profile.

    Returns
    -------
    ndarray of float64, shape (num_players,)
        Payoff units.
    """
    form = sequence_form_of(game)
    plans = _plans(game, profile)
    return np.array(
        [best_response_value(treeplex, form.gradient(player, plans)) for player, treeplex in enumerate(form.treeplexes)]
    )


def nash_conv(game: Game | SequenceForm, profile: Profile) -> float:
    """Return NashConv: the sum over players of what a best response would gain over the profile.

    Zero exactly at a Nash equilibrium. For two players in a zero-sum game it is the gap between the two best-response
    values.

    Parameters
    ----------
    game : Game or SequenceForm
    profile : Profile

    Returns
    -------
    float
        Payoff units.

    Notes
    -----
    Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement learning", NeurIPS 2017.

    Examples
    --------
    >>> from treeplex import Profile, load_game, nash_conv
    >>> game = load_game("kuhn")
    >>> round(nash_conv(game, Profile.uniform(game)), 6)
    0.916667
    """
    return float(np.sum(best_response_values(game, profile) - expected_payoffs(game, profile)))


def exploitability(game: Game | SequenceForm, profile: Profile) -> float:
    """Return the exploitability of a profile: NashConv divided by the number of players.

    Parameters
    ----------
    game : Game or SequenceForm
    profile : Profile

    Returns
    -------
    float
        Payoff units.
    """
    return nash_conv(game, profile) / len(profile)


def worst_case(game: Game | SequenceForm, strategy: Strategy) -> float:
    """Return what a strategy guarantees its player in a two-player zero-sum game.

    Parameters
    ----------
    game : Game or SequenceForm
        Two players, zero-sum.
    strategy : Strategy

    Returns
    -------
    float
        The player's payoff against the opponent's best response, in payoff units.
    """
    form = sequence_form_of(game)
    check_same_game(strategy, game)
    if form.num_players != 2 or not form.is_zero_sum:
        raise InvalidStrategyError("a worst case needs a two-player zero-sum game")
    other = 1 - strategy.player
    plans = [strategy.plan, strategy.plan]
    return -best_response_value(form.treeplexes[other], form.gradient(other, plans))


def gain(game: Game | SequenceForm, strategy: Strategy, opponent: Strategy, game_value: float) -> float:
    """Return what a strategy wins against an opponent beyond the value of the game.

    Parameters
    ----------
    game : Game or SequenceForm
        Two players.
    strategy, opponent : Strategy
        Of different players.
    game_value : float
        The value of the game to the strategy's player; seats differ in it.

    Returns
    -------
    float
        Payoff units.
    """
    for one in (strategy, opponent):
        check_same_game(one, game)
    if not isinstance(game_value, Real):
        raise InvalidGameError(f"game_value is {shown(game_value)}, expected a number")
    pair = sorted((strategy, opponent), key=lambda one: one.player)
    return float(expected_payoffs(game, Profile(pair))[strategy.player]) - game_value


def _plans(game: Game | SequenceForm, profile: Profile) -> tuple[Floats, ...]:
    if not isinstance(profile, Profile):
        raise InvalidStrategyError(f"{shown(profile)} is no profile: one strategy a player is needed")
    check_same_game(profile[0], game)
    return profile.plans
