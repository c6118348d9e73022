"""Quantal-response opponents: logit responses, and their precision fitted to observed games by maximum likelihood."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_type
from ...seqform.errors import InvalidConstraintError, InvalidStrategyError, PlayLogError
from ...seqform.functional import reach_of_others
from ...seqform.game import Game
from ...seqform.strategy import Strategy, check_same_game, check_strategy
from .observations import Observations

#: Precisions are sought between the first and the second number, divided by the game's stakes.
_LEAST, _MOST = 1e-3, 1e4
#: The number of precisions at which the likelihood is computed before the best one is refined.
_GRID = 60
#: The step of the second derivative, relative to the precision.
_STEP = 1e-3


def logit_response(game: Game, belief: Strategy, precision: float) -> Strategy:
    r"""Return the agent logit response to a strategy of the other player.

    Parameters
    ----------
    game : Game
        Two players.
    belief : Strategy
        What the responder believes about the other player.
    precision : float
        λ ≥ 0, per unit of payoff: 0 plays uniformly, and a large λ nearly a best response.

    Returns
    -------
    Strategy
        Of the other player's opponent.

    Raises
    ------
    InvalidStrategyError
        If the belief is not a strategy of the game.
    InvalidConstraintError
        If the precision is not a number of at least 0.

    Notes
    -----
    At each infoset I, with q(I, a) the expected payoff of the action a if I is reached,

    .. math:: b(I, a) = \frac{e^{\lambda q(I, a)}}{\sum_{a'} e^{\lambda q(I, a')}} .

    The payoff q assumes that chance and the other player act according to the game and the belief, and that the
    responder itself plays b at its later infosets: each infoset is an agent of its own (R. D. McKelvey and T. R.
    Palfrey, "Quantal response equilibria for extensive form games", Experimental Economics 1, 1998). An infoset that
    the belief never reaches has no expected payoff; b is uniform there.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.models.observations import logit_response
    >>> game = load_game("kuhn")
    >>> response = logit_response(game, Strategy.uniform(game, 0), precision=2.0)
    >>> {action: round(probability, 4) for action, probability in response["Q_b"].items()}
    {'p': 0.1192, 'b': 0.8808}
    """
    check_same_game(check_strategy(belief, "the belief"), game)
    number = check_number(precision, "precision", InvalidConstraintError, "[0, inf)", "1")
    return Strategy(game, 1 - belief.player, _Responder.to(game, belief).behaviour(float(number)))


@dataclass(frozen=True, eq=False)
class _Responder:
    """A player's payoffs against a belief: by sequence, and the probability with which others reach each infoset."""

    game: Game
    player: int
    gradient: Floats
    reach: Floats

    @classmethod
    def to(cls, game: Game, belief: Strategy) -> "_Responder":
        player = 1 - belief.player
        gradient = game.sequence_form.gradient(player, [belief.plan, belief.plan])
        return cls(game, player, gradient, reach_of_others(game, player, belief))

    def behaviour(self, precision: float) -> Floats:
        """Return the logit response: the probability of each sequence at its infoset."""
        treeplex = self.game.sequence_form.treeplexes[self.player]
        behaviour, values = np.ones(treeplex.num_sequences), self.gradient.copy()
        owners = treeplex.sequence_infosets
        for level in reversed(treeplex.levels):
            reach = self.reach[owners[level.sequences]]
            worth = np.divide(values[level.sequences], reach, out=np.zeros(len(reach)), where=reach > 0.0)
            best = np.maximum.reduceat(worth, level.starts)
            weights = np.exp(precision * (worth - np.repeat(best, level.counts)))
            chosen = weights / np.repeat(np.add.reduceat(weights, level.starts), level.counts)
            behaviour[level.sequences] = chosen
            level.pass_up(np.add.reduceat(chosen * values[level.sequences], level.starts), values)
        return behaviour


@dataclass(frozen=True, eq=False)
class QuantalModel:
    """A quantal-response opponent fitted to observed games.

    Attributes
    ----------
    game : Game
    belief : Strategy
        What the opponent believes about the observer.
    precision : float
        The λ of maximum likelihood, per unit of payoff.
    standard_error : float or None
        1 / √J, with J the observed information. It treats the belief as known. ``None`` if λ is at an end of its range,
        or the likelihood is flat there.
    interval : tuple of float or None
        λ minus and plus the normal quantile of `confidence` times the standard error, at least 0.
    confidence : float
    log_likelihood, uniform_log_likelihood : float
        The log-likelihood of λ, and of uniform play; both without the terms that do not depend on the opponent.
    num_games : int
    """

    game: Game
    belief: Strategy
    precision: float
    standard_error: float | None
    interval: tuple[float, float] | None
    confidence: float
    log_likelihood: float
    uniform_log_likelihood: float
    num_games: int

    @cached_property
    def strategy(self) -> Strategy:
        """The opponent's strategy at the fitted precision."""
        return logit_response(self.game, self.belief, self.precision)

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The opponent's strategies at the fitted precision, and at the ends of the interval."""
        ends = self.interval or ()
        return self.strategy, *(logit_response(self.game, self.belief, end) for end in ends)


def fit_quantal_response(
    observations: Observations, belief: Strategy | None = None, confidence: float = 0.95
) -> QuantalModel:
    r"""Fit the precision of a quantal-response opponent to observed games by maximum likelihood.

    Parameters
    ----------
    observations : Observations
    belief : Strategy, optional
        What the opponent believes about the observer. By default the strategy that the observer played in these games:
        its probe, or the observed frequencies. An equilibrium strategy or uniform play (a level-1 opponent) are other
        common choices.
    confidence : float
        The confidence of the interval, between 0 and 1.

    Returns
    -------
    QuantalModel

    Raises
    ------
    PlayLogError
        If the argument is not observations, or there are no games.
    InvalidStrategyError
        If the belief is not a strategy of the observer.
    InvalidConstraintError
        If the confidence is not between 0 and 1.

    Notes
    -----
    A game that ends in the class c of leaves that the observer distinguishes has the probability x(c) f_c(y), where y
    is the opponent's plan and x(c) does not depend on it. So with N_c such games

    .. math:: \ell(\lambda) = \sum_c N_c \log f_c(y_\lambda),

    where y_λ is the logit response to the belief. Hidden information needs no model of its own: games that end in a
    fold count for all hands that the opponent may have held. The second step of the two-step estimator of P. Bajari and
    A. Hortaçsu, "Are structural estimates of auction models reasonable?", Journal of Political Economy 113, 2005; its
    first step is the estimate of the probe.

    Examples
    --------
    Kuhn poker against an opponent with a precision of 2, in as many games as expected of 10,000:

    >>> import numpy as np
    >>> from treeplex import Observations, Strategy, load_game, observer_tree
    >>> from treeplex.models.observations import fit_quantal_response, logit_response
    >>> game = load_game("kuhn")
    >>> view, own = observer_tree(game, player=0), Strategy.uniform(game, 0)
    >>> shares = view.probabilities([own.plan, logit_response(game, own, 2.0).plan])
    >>> counts = np.where(view.terminal, np.round(10_000 * shares), 0).astype(int)
    >>> model = fit_quantal_response(Observations(game, 0, counts, probe=own, view=view))
    >>> round(model.precision, 2), round(model.standard_error, 3)
    (2.0, 0.044)
    """
    check_type(observations, "observations", PlayLogError, Observations, "Observations")
    level = check_number(confidence, "confidence", InvalidConstraintError, "(0, 1)", "0.95")
    if not observations.num_games:
        raise PlayLogError("the log has no games, expected at least one")
    game, player = observations.game, observations.player
    if belief is None:
        treeplex = game.sequence_form.treeplexes[player]
        belief = Strategy(game, player, treeplex.behaviour(observations.own_plan))
    check_same_game(check_strategy(belief, "the belief"), game)
    if belief.player != player:
        raise InvalidStrategyError(
            f"the belief is a strategy of player {belief.player}, expected one of the observer, player {player}"
        )
    likelihood = _likelihood(observations, _Responder.to(game, belief))
    precision, found = _maximum(likelihood, game.stakes)
    error = _standard_error(likelihood, precision, game.stakes)
    interval = None
    if error is not None:
        width = NormalDist().inv_cdf(0.5 + float(level) / 2.0) * error
        interval = max(0.0, precision - width), precision + width
    return QuantalModel(
        game=game,
        belief=belief,
        precision=precision,
        standard_error=error,
        interval=interval,
        confidence=float(level),
        log_likelihood=found,
        uniform_log_likelihood=likelihood(0.0),
        num_games=observations.num_games,
    )


def _likelihood(observations: Observations, responder: _Responder) -> Callable[[float], float]:
    """Return the log-likelihood of observations as a function of the opponent's precision."""
    view, opponent = observations.view, observations.game.sequence_form.treeplexes[observations.opponent]
    places = (view.history_classes, view.sequences[:, observations.opponent])
    functions = sp.csr_array((view.chance, places), shape=(view.num_classes, opponent.num_sequences))
    ended = np.flatnonzero(observations.counts)
    functions, counts = sp.csr_array(functions[ended]), np.asarray(observations.counts)[ended]

    def likelihood(precision: float) -> float:
        probabilities = functions @ opponent.plan(responder.behaviour(precision))
        with np.errstate(divide="ignore"):
            return float(counts @ np.log(probabilities))

    return likelihood


def _maximum(likelihood: Callable[[float], float], stakes: float) -> tuple[float, float]:
    """Return the precision of the largest likelihood, and the likelihood."""
    from scipy.optimize import minimize_scalar

    grid: npt.NDArray[np.float64] = np.concatenate([[0.0], np.geomspace(_LEAST, _MOST, _GRID) / stakes])
    values = [likelihood(float(one)) for one in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    close = {"xatol": 1e-9 * high}
    found = minimize_scalar(lambda one: -likelihood(one), bounds=(low, high), method="bounded", options=close)
    if -float(found.fun) > values[best]:
        return float(found.x), -float(found.fun)
    return float(grid[best]), values[best]


def _standard_error(likelihood: Callable[[float], float], precision: float, stakes: float) -> float | None:
    """Return the standard error that the curvature of the likelihood gives, if the maximum is inside the range."""
    if not 2.0 * _LEAST / stakes < precision < 0.99 * _MOST / stakes:
        return None
    step = _STEP * precision
    below, here, above = (likelihood(precision + shift) for shift in (-step, 0.0, step))
    information = (2.0 * here - below - above) / step**2
    return float(1.0 / np.sqrt(information)) if information > 0.0 else None
