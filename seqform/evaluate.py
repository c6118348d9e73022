"""Values, best responses and distances from equilibrium, for strategies and for the empirical play of a run."""

from collections.abc import Iterable, Sequence

import numpy as np

from .arrays import Floats
from .checks import check_number, check_type, explained
from .errors import InvalidGameError, InvalidStrategyError
from .game import Game
from .polytope import best_response_plan, best_response_value
from .sequence_form import SequenceForm, sequence_form_of
from .strategy import Profile, Strategy, check_same_game, checked_player


@explained
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
        If the profile belongs to another game.

    Examples
    --------
    >>> from treeplex import Profile, expected_payoffs, load_game
    >>> game = load_game("kuhn")
    >>> expected_payoffs(game, Profile.uniform(game))
    array([ 0.125, -0.125])
    """
    return sequence_form_of(game).expected_payoffs(plans_of(game, profile))


@explained
def best_response(game: Game | SequenceForm, profile: Profile, player: int) -> Strategy:
    """Return a pure best response of one player to the others' strategies in a profile.

    Parameters
    ----------
    game : Game or SequenceForm
    profile : Profile
        The player's own strategy in it is ignored.
    player : int

    Returns
    -------
    Strategy
        Pure at every infoset, including infosets that it does not reach itself.

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
    plans = plans_of(game, profile)
    player = checked_player(game, player)
    found = best_response_plan(form.treeplexes[player], form.gradient(player, plans))
    return Strategy(game, player, found.behaviour)


@explained
def best_response_values(game: Game | SequenceForm, profile: Profile) -> Floats:
    """Return each player's best-response value against the others' strategies in a profile.

    Returns
    -------
    ndarray of float64, shape (num_players,)
        Payoff units.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.seqform import best_response_values
    >>> game = load_game("kuhn")
    >>> best_response_values(game, Profile.uniform(game)).round(6)
    array([0.5     , 0.416667])
    """
    form = sequence_form_of(game)
    plans = plans_of(game, profile)
    return np.array(
        [best_response_value(treeplex, form.gradient(player, plans)) for player, treeplex in enumerate(form.treeplexes)]
    )


@explained
def nash_conv(game: Game | SequenceForm, profile: Profile) -> float:
    """Return NashConv: the sum over players of the gain of a best response over the profile.

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


@explained
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

    Examples
    --------
    >>> from treeplex import Profile, exploitability, load_game
    >>> game = load_game("kuhn")
    >>> round(exploitability(game, Profile.uniform(game)), 6)
    0.458333
    """
    return nash_conv(game, profile) / len(profile)


@explained
def worst_case(game: Game | SequenceForm, strategy: Strategy) -> float:
    """Return the payoff that a strategy guarantees in a two-player constant-sum game.

    Parameters
    ----------
    game : Game or SequenceForm
        Two players, constant-sum.
    strategy : Strategy

    Returns
    -------
    float
        The player's payoff against the opponent's best response, in payoff units.

    Examples
    --------
    >>> from treeplex import Strategy, load_game, worst_case
    >>> game = load_game("kuhn")
    >>> round(worst_case(game, Strategy.uniform(game, player=0)), 6)
    -0.416667
    """
    form = sequence_form_of(game)
    check_same_game(strategy, game)
    constant = form.constant_sum if form.num_players == 2 else None
    if constant is None:
        raise InvalidStrategyError("a worst case needs a two-player game whose payoffs have a constant sum")
    other = 1 - strategy.player
    plans = [strategy.plan, strategy.plan]
    return constant - best_response_value(form.treeplexes[other], form.gradient(other, plans))


@explained
def gain(game: Game | SequenceForm, strategy: Strategy, opponent: Strategy, game_value: float) -> float:
    """Return the payoff of a strategy against an opponent, minus the value of the game.

    Parameters
    ----------
    game : Game or SequenceForm
        Two players.
    strategy, opponent : Strategy
        Of different players.
    game_value : float
        The value of the game to the strategy's player.

    Returns
    -------
    float
        Payoff units.

    Examples
    --------
    >>> from treeplex import Profile, best_response, gain, load_game
    >>> game = load_game("kuhn")
    >>> uniform = Profile.uniform(game)
    >>> round(gain(game, best_response(game, uniform, 0), uniform[1], game_value=-1 / 18), 6)
    0.555556
    """
    for one in (strategy, opponent):
        check_same_game(one, game)
    check_number(game_value, "game_value", InvalidGameError, "[-inf, inf]")
    pair = sorted((strategy, opponent), key=lambda one: one.player)
    return float(expected_payoffs(game, Profile(pair))[strategy.player]) - game_value


def plans_of(game: Game | SequenceForm, profile: Profile) -> tuple[Floats, ...]:
    """Return the plans of a profile of the game.

    Raises
    ------
    InvalidStrategyError
    """
    check_type(profile, "profile", InvalidStrategyError, Profile)
    check_same_game(profile[0], game)
    return profile.plans


class EmpiricalPlay:
    """A mixture of profiles: one profile is drawn, and all players play their strategies in it.

    A run of regret minimisers plays profile t in iteration t, and its regrets refer to the mixture of these profiles.
    In a two-player zero-sum game the mixture is as good as the product of the average strategies. In other games the
    mixture correlates the players' strategies, and the product is a different strategy.

    Parameters
    ----------
    game : Game or SequenceForm

    Notes
    -----
    The mixture with weights w_t is a coarse correlated equilibrium if no player gains from a plan of its own that is
    fixed before the draw (H. Moulin and J.-P. Vial, "Strategically zero-sum games: the class of games whose completely
    mixed equilibria cannot be improved upon", International Journal of Game Theory 7, 1978). Let g_i(t) be player i's
    payoff per unit of its sequences in profile t, and Σ w_t = 1. The best such plan gains max over x of (Σ w_t g_i(t))
    · x − Σ w_t u_i(t), which is the player's average regret. Therefore the class stores only gradients and payoffs. In
    a two-player zero-sum game the payoffs cancel, and the gains sum exactly to NashConv of the average strategies.

    Examples
    --------
    >>> from treeplex import Profile, Strategy, load_game
    >>> from treeplex.seqform import EmpiricalPlay
    >>> game = load_game("matching_pennies")
    >>> heads, tails = ({"_": {"H": 1, "T": 0}}, {"_": {"H": 0, "T": 1}})
    >>> play = EmpiricalPlay(game)
    >>> for strategies in ((heads, heads), (heads, tails), (tails, tails), (tails, heads)):
    ...     play.add(Profile([Strategy.from_dict(game, player, each) for player, each in enumerate(strategies)]))
    >>> play.cce_gap, play.nash_conv
    (0.0, 0.0)
    """

    def __init__(self, game: Game | SequenceForm) -> None:
        self.game = game
        self._form = sequence_form_of(game)
        players = range(self._form.num_players)
        self._gradients = [np.zeros(self._form.treeplexes[player].num_sequences) for player in players]
        self._plans = [np.zeros(self._form.treeplexes[player].num_sequences) for player in players]
        self._payoffs = np.zeros(self._form.num_players)
        self._weight = 0.0
        #: The number of profiles.
        self.num_profiles = 0

    def __repr__(self) -> str:
        return f"EmpiricalPlay(num_profiles={self.num_profiles})"

    def add(self, profile: Profile, weight: float = 1.0) -> None:
        """Add a profile.

        Parameters
        ----------
        profile : Profile
        weight : float
            Above 0, relative to the other profiles' weights.

        Raises
        ------
        InvalidStrategyError
            If it is not a profile of the game, or the weight is not a positive number.
        """
        self.add_plans(plans_of(self._form, profile), weight)

    def add_plans(self, plans: Sequence[Floats], weight: float = 1.0) -> None:
        """Add a profile by its realization plans, one per player, which are not checked."""
        weight = check_number(weight, "the weight of a profile", InvalidStrategyError, "(0, inf)")
        for player, plan in enumerate(plans):
            gradient = self._form.gradient(player, plans)
            self._gradients[player] += weight * gradient
            self._payoffs[player] += weight * float(gradient @ plan)
            self._plans[player] += weight * plan
        self._weight += float(weight)
        self.num_profiles += 1

    @property
    def payoffs(self) -> Floats:
        """The expected payoff of each player, shape (num_players,)."""
        return self._payoffs / self._checked_weight()

    @property
    def gradients(self) -> list[Floats]:
        """Each player's payoff per unit of its sequences if it deviates from the drawn profile."""
        weight = self._checked_weight()
        return [gradient / weight for gradient in self._gradients]

    @property
    def gains(self) -> Floats:
        """The gain of each player's best plan fixed before the draw, shape (num_players,); may be negative."""
        responses = map(best_response_value, self._form.treeplexes, self.gradients)
        return np.array(list(responses)) - self.payoffs

    @property
    def cce_gap(self) -> float:
        """The largest of the :attr:`gains`, at least 0: the mixture is a coarse correlated ε-equilibrium for this ε."""
        return max(float(self.gains.max()), 0.0)

    @property
    def average(self) -> Profile:
        """The profile of each player's average strategy, as methods return it."""
        weight = self._checked_weight()
        return Profile(
            [Strategy.from_plan(self.game, player, plan / weight) for player, plan in enumerate(self._plans)]
        )

    @property
    def nash_conv(self) -> float:
        """NashConv of the average strategies."""
        return nash_conv(self.game, self.average)

    def _checked_weight(self) -> float:
        if not self.num_profiles:
            raise InvalidStrategyError("no profile has been added yet: add one first")
        return self._weight


def cce_gap(game: Game | SequenceForm, profiles: Iterable[Profile], weights: Iterable[float] | None = None) -> float:
    """Return the distance of a mixture of profiles from a coarse correlated equilibrium.

    Parameters
    ----------
    game : Game or SequenceForm
    profiles : iterable of Profile
    weights : iterable of float, optional
        By default all are equal.

    Returns
    -------
    float
        The largest gain of a player from a plan of its own that is fixed before a profile is drawn, in payoff units and
        at least 0; see :class:`EmpiricalPlay`.

    Raises
    ------
    InvalidStrategyError
        If there are no profiles, a profile belongs to another game, or the number of weights differs.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.seqform import cce_gap
    >>> game = load_game("kuhn")
    >>> round(cce_gap(game, [Profile.uniform(game)]), 6)
    0.541667
    """
    play, drawn = EmpiricalPlay(game), list(profiles)
    counts = [1.0] * len(drawn) if weights is None else list(weights)
    if len(counts) != len(drawn):
        raise InvalidStrategyError("the numbers of profiles and weights differ: expected one weight per profile")
    for profile, weight in zip(drawn, counts, strict=True):
        play.add(profile, weight)
    return play.cce_gap
