"""The empirical play of several profiles, and how far it is from a coarse correlated equilibrium."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .arrays import Floats
from .errors import InvalidStrategyError, shown
from .evaluate import best_response_value, nash_conv
from .game import Game, sequence_form_of
from .sequence_form import SequenceForm
from .strategy import Profile, Strategy, check_same_game


class EmpiricalPlay:
    """A mixture of profiles: one is drawn for all players at once, and each then plays its part.

    A run of regret minimisers plays profile t in iteration t, and the mixture of these is what its regrets are about.
    For two players in a zero-sum game it is as good as the product of the average strategies; for others the players'
    strategies are correlated in it, and the product is something else.

    Parameters
    ----------
    game : Game or SequenceForm

    Notes
    -----
    The mixture with weights w_t is a coarse correlated equilibrium if nobody gains by a plan of its own that is fixed
    before the draw (H. Moulin and J.-P. Vial, "Strategically zero-sum games: the class of games whose completely mixed
    equilibria cannot be improved upon", International Journal of Game Theory 7, 1978). With g_i(t) player i's payoff
    per unit of its sequences in profile t, the best such plan gains max over x of (Σ w_t g_i(t)) · x − Σ w_t u_i(t),
    for Σ w_t = 1, which is the player's average regret. So gradients and payoffs are all that is kept.

    In a two-player zero-sum game payoffs cancel, and the gains add up to NashConv of the average strategies exactly.

    Examples
    --------
    >>> from treeplex import EmpiricalPlay, Profile, Strategy, load_game
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
        #: How many profiles there are.
        self.num_profiles = 0

    def __repr__(self) -> str:
        return f"EmpiricalPlay(num_profiles={self.num_profiles})"

    def add(self, profile: Profile, weight: float = 1.0) -> None:
        """Add a profile.

        Parameters
        ----------
        profile : Profile
        weight : float
            Above 0, relative to those of the others.

        Raises
        ------
        InvalidStrategyError
            If it is no profile of the game, or the weight is none.
        """
        if not isinstance(profile, Profile):
            raise InvalidStrategyError(f"{shown(profile)} is no profile: one strategy a player is needed")
        check_same_game(profile[0], self._form)
        self.add_plans(profile.plans, weight)

    def add_plans(self, plans: Sequence[Floats], weight: float = 1.0) -> None:
        """Add a profile by its realization plans, one a player, which are not checked."""
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0.0 < weight < float("inf"):
            raise InvalidStrategyError(f"a profile has weight {shown(weight)}, expected a number above 0")
        for player, plan in enumerate(plans):
            gradient = self._form.gradient(player, plans)
            self._gradients[player] += weight * gradient
            self._payoffs[player] += weight * float(gradient @ plan)
            self._plans[player] += weight * plan
        self._weight += float(weight)
        self.num_profiles += 1

    @property
    def payoffs(self) -> Floats:
        """What each player is paid in expectation, shape (num_players,)."""
        return self._payoffs / self._checked_weight()

    @property
    def gains(self) -> Floats:
        """What each player's best plan that is fixed before the draw gains, shape (num_players,); may be negative."""
        weight = self._checked_weight()
        responses = [
            best_response_value(treeplex, gradient / weight)
            for treeplex, gradient in zip(self._form.treeplexes, self._gradients, strict=True)
        ]
        return np.array(responses) - self.payoffs

    @property
    def cce_gap(self) -> float:
        """The most that anybody gains so, at least 0: the ε of the coarse correlated ε-equilibrium that this is."""
        return max(float(self.gains.max()), 0.0)

    @property
    def average(self) -> Profile:
        """The profile of the average strategies, each player's by itself: what methods return."""
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
            raise InvalidStrategyError("there is no play: add a profile first")
        return self._weight


def cce_gap(game: Game | SequenceForm, profiles: Iterable[Profile], weights: Iterable[float] | None = None) -> float:
    """Return how far a mixture of profiles is from a coarse correlated equilibrium.

    Parameters
    ----------
    game : Game or SequenceForm
    profiles : iterable of Profile
    weights : iterable of float, optional
        By default all count alike.

    Returns
    -------
    float
        The most that a player gains by a plan of its own that is fixed before a profile is drawn, in payoff units and
        at least 0; see :class:`EmpiricalPlay`.

    Raises
    ------
    InvalidStrategyError
        If there are no profiles, one is of another game, or there are not as many weights.

    Examples
    --------
    >>> from treeplex import Profile, cce_gap, load_game
    >>> game = load_game("kuhn")
    >>> round(cce_gap(game, [Profile.uniform(game)]), 6)
    0.541667
    """
    play = EmpiricalPlay(game)
    if weights is None:
        for profile in profiles:
            play.add(profile)
        return play.cce_gap
    pairs: list[tuple[Any, Any]]
    try:
        pairs = list(zip(profiles, weights, strict=True))
    except ValueError:
        raise InvalidStrategyError("there are not as many weights as profiles") from None
    for profile, weight in pairs:
        play.add(profile, weight)
    return play.cce_gap
