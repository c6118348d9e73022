"""Models of an opponent from observed games: bounds on observable events, and behaviour from frequencies."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_type, explained
from ...seqform.errors import InvalidConstraintError, InvalidStrategyError, PlayLogError
from ...seqform.game import Game
from ...seqform.observer import observer_tree
from ...seqform.strategy import Profile, Strategy, check_same_game, checked_player
from ..constraints import LinearConstraint
from ..constraints.constraint import Sense
from ..saddle import check_two_players
from .events import Events, observed_events
from .intervals import Intervals, interval_name, proportion_intervals
from .lines import LineObservations
from .observations import Counts, Observations

#: Distance of a bound from the smallest or the largest probability of an event, relative to the largest, below which
#: the bound is uninformative.
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class OpponentModel:
    """Bounds on the probability of each observable event, as constraints on the opponent's plan y: L ≤ w Σ M y ≤ U.

    Made by :meth:`from_observations`, or by :meth:`from_profile` if probabilities are known.

    Attributes
    ----------
    game : Game
    player : int
        The observer's seat; the bounds are on the other player's plan.
    events : Events
        The bounded events, without those that the observer's own play never reaches.
    weights : ndarray of float64, shape (events,)
        w: the observer's own contribution to the probability of each event.
    counts : ndarray of int64, shape (events,), or None
        Number of times that each event was seen; ``None`` if probabilities are known.
    num_games : int
        Number of observed games; 0 if probabilities are known.
    frequencies : ndarray of float64, shape (events,)
        The fraction of games in which each event happened, or its probability.
    lower, upper : ndarray of float64, shape (events,)
        L and U.
    highest : ndarray of float64, shape (events,)
        The fraction of games in which each event may have happened: larger than ``frequencies`` if not everything is
        visible.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019, appendix
    D. Let y be the opponent's realization plan and π(h) the observer's own and chance's contribution to reaching a
    history h. Equation 50 bounds Σ π(h) y(σ(h)) over the histories with one own private information and one public
    history, and equation 51 bounds π(h) y(σ(h)) if a leaf shows the opponent's private information. Frequencies are
    relative to all games, not only to those that reached the preceding decision. The bounds are therefore numbers, and
    the constraints are linear.

    Examples
    --------
    A player's observations in Kuhn poker in the long run, if both play uniformly:

    >>> from treeplex import OpponentModel, Profile, load_game
    >>> game = load_game("kuhn")
    >>> model = OpponentModel.from_profile(game, 0, Profile.uniform(game))
    >>> model
    OpponentModel(game='kuhn', player=0, events=30, constraints=60)
    >>> model.names[0]
    'holding J, opponent showing Q reaches p/p: 0.0417 (exact)'
    """

    game: Game
    player: int
    events: Events
    weights: Floats
    counts: Counts | None
    num_games: int
    frequencies: Floats
    lower: Floats
    upper: Floats
    highest: Floats

    @classmethod
    def from_observations(
        cls,
        observations: Observations | LineObservations,
        confidence: float = 0.95,
        *,
        interval: str | None = None,
        bonferroni: bool = False,
        exact: bool = False,
    ) -> "OpponentModel":
        """Bound each event by a confidence interval for its probability.

        Parameters
        ----------
        observations : Observations or LineObservations
        confidence : float
            Confidence level of each interval, between 0 and 1; with `bonferroni`, of all intervals jointly.
        interval : {"wilson", "clopper-pearson"}, optional
            By default Wilson's, which hold with about that confidence on average; with `bonferroni` Clopper and
            Pearson's, which hold with at least that confidence.
        bonferroni : bool
            Whether each of the k intervals has the confidence 1 − (1 − γ) / k, so that all of them hold jointly with at
            least γ, if the probe is known.
        exact : bool
            Whether observed frequencies are treated as the probabilities themselves, which gives equations instead of
            intervals.

        Returns
        -------
        OpponentModel

        Raises
        ------
        InvalidConstraintError
            If the confidence is not between 0 and 1, there is no such interval, or it is Wilson's with `bonferroni`.
        PlayLogError
            If the argument is not observations, or they contain no games and `exact` is requested.
        """
        if not isinstance(observations, LineObservations):
            check_type(observations, "observations", PlayLogError, Observations, "Observations")
        events, weights, reached = _reached(observations.events, observations.own_plan)
        counts, most = observations.event_counts[reached], observations.most_counts[reached]
        games = observations.num_games
        frequencies, highest = counts / max(games, 1), most / max(games, 1)
        comparisons = max(len(events), 1) if bonferroni else 1
        kind = interval_name(interval, bonferroni)
        lower, upper = (
            proportion_intervals(kind, each, games, confidence, comparisons=comparisons) for each in (counts, most)
        )
        bounds = Intervals(lower.lower, upper.upper)
        if exact:
            if not games:
                raise PlayLogError("there are no games from which to estimate probabilities")
            bounds = Intervals(frequencies, highest)
        game, player = observations.game, observations.player
        return cls(game, player, events, weights, counts, games, frequencies, bounds.lower, bounds.upper, highest)

    @classmethod
    def from_profile(cls, game: Game, player: int, profile: Profile) -> "OpponentModel":
        """Bound each event by its probability: an observer's knowledge in the limit of many games.

        Parameters
        ----------
        game : Game
        player : int
            The observer's seat.
        profile : Profile
            The strategies of the probe and the opponent. The probe must reach every history, except those that follow
            its own folds.

        Raises
        ------
        InvalidStrategyError
            If the argument is not a profile of the game, or there is no such seat.
        UnsupportedProblemError
            If the game is not constant-sum or does not have two players, or its rules do not define an observer's
            information.
        """
        check_two_players("an opponent model", game)
        player = checked_player(game, player)
        check_type(profile, "profile", InvalidStrategyError, Profile)
        check_same_game(profile[0], game)
        events = observed_events(observer_tree(game, player), game.sequence_form.treeplexes[1 - player])
        events, weights, _ = _reached(events, profile[player].plan)
        exact = weights * (events.matrix @ profile[1 - player].plan)
        return cls(game, player, events, weights, None, 0, exact, exact, exact, exact)

    def __repr__(self) -> str:
        return (
            f"OpponentModel(game={self.game.spec!r}, player={self.player}, events={len(self.events)}, "
            f"constraints={len(self.constraints)})"
        )

    @property
    def opponent(self) -> int:
        """The seat whose plan is bounded."""
        return 1 - self.player

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A readable description of each event and its bounds; frequencies are relative to all games."""
        known = "exact" if self.counts is None else f"n = {self.num_games:,}"
        bounds = [
            f"{lower:.3g}" if lower == upper else f"{lower:.3g}-{upper:.3g}"
            for lower, upper in zip(self.lower.tolist(), self.upper.tolist(), strict=True)
        ]
        return tuple(f"{name}: {bound} ({known})" for name, bound in zip(self.events.names, bounds, strict=True))

    @cached_property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """The bounds that exclude some plan, ``NAME (at least)`` and ``NAME (at most)``."""
        return self._bounded(self.lower, self.upper)

    @cached_property
    def frequency_constraints(self) -> tuple[LinearConstraint, ...]:
        """Two constraints per event that together set its probability equal to its frequency."""
        return self._bounded(self.frequencies, self.highest)

    @cached_property
    def event_of(self) -> dict[str, int]:
        """The index of each constraint's event, by the constraint's name."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return {one.name: numbers[one.name.rsplit(" (at ", 1)[0]] for one in self.constraints}

    def probabilities(self, plan: Floats) -> Floats:
        """Return the probability of each event if the opponent plays a plan, shape (events,)."""
        found: Floats = self.weights * (self.events.matrix @ plan)
        return found

    def _bounded(self, lower: Floats, upper: Floats) -> tuple[LinearConstraint, ...]:
        matrix, weights = self.events.matrix, self.weights
        least, most = weights * self.events.least, weights * self.events.most
        sides: list[tuple[str, Sense, Floats, Any]] = [
            ("at least", ">=", lower, lower > least + _SLACK * most),
            ("at most", "<=", upper, upper < most - _SLACK * most),
        ]
        ends, sequences = matrix.indptr.tolist(), matrix.indices.tolist()
        numbers = (matrix.data * np.repeat(weights, np.diff(matrix.indptr))).tolist()
        made = []
        for row, name in enumerate(self.names):
            part = slice(ends[row], ends[row + 1])
            for side, sense, bounds, excludes in sides:
                if excludes[row]:
                    terms, title = dict(zip(sequences[part], numbers[part], strict=True)), f"{name} ({side})"
                    bound, fingerprint = float(bounds[row]), self.game.fingerprint
                    made.append(LinearConstraint(self.opponent, terms, bound, title, sense, fingerprint=fingerprint))
        return tuple(made)


def _reached(events: Events, plan: Floats) -> tuple[Events, Floats, Any]:
    """Return the events that an observer's own play reaches, its contribution to each, and their indices."""
    weights = plan[events.own]
    reached = np.flatnonzero(weights > 0.0)
    return events.at(reached), weights[reached], reached


@explained
def frequency_model(observations: Observations, *, smoothing: float = 0.0) -> Strategy:
    """Return the opponent's behaviour from frequencies, using only games that showed its private information.

    This simple estimate is *biased*: whether a game shows the opponent's private information depends on the opponent's
    actions. An opponent that folds weak hands shows strong ones. The model therefore folds too little, and never where
    a fold ends the game. :class:`~treeplex.OpponentModel` uses all games and does not have this bias. This model is
    provided for comparison.

    Parameters
    ----------
    observations : Observations
    smoothing : float
        Added to the count of each action, at infosets that were seen. At other infosets the model is uniform.

    Returns
    -------
    Strategy

    Raises
    ------
    PlayLogError
        If the argument is not observations.
    InvalidConstraintError
        If the smoothing is not a number of at least 0.

    Examples
    --------
    Kuhn poker: the opponent called a bet three times with the king, and once with the queen. Its folds were not shown.

    >>> from treeplex import Observations, load_game, observer_tree
    >>> from treeplex.models.observations import frequency_model
    >>> game = load_game("kuhn")
    >>> view = observer_tree(game, player=0)
    >>> counts = [0] * view.num_classes
    >>> for card, times in (("K", 3), ("Q", 1)):
    ...     leaves = zip(view.private, view.public, view.shown)
    ...     counts[list(leaves).index(("J", ("b", "b"), ((1, card),)))] = times
    >>> model = frequency_model(Observations(game, 0, counts))
    >>> model["Q_b"], model["K_b"], model["J_b"]
    ({'p': 0.0, 'b': 1.0}, {'p': 0.0, 'b': 1.0}, {'p': 0.5, 'b': 0.5})
    """
    check_type(observations, "observations", PlayLogError, Observations, "Observations")
    extra = check_number(smoothing, "smoothing", InvalidConstraintError, "[0, inf)", "1")
    view, opponent = observations.view, observations.opponent
    treeplex = observations.game.sequence_form.treeplexes[opponent]
    taken = np.zeros(treeplex.num_sequences)
    for leaf in np.flatnonzero(observations.counts).tolist():
        sequences = np.unique(view.sequences[view.histories(leaf), opponent])
        if any(player == opponent for player, _ in view.shown[leaf]) and len(sequences) == 1:
            taken[sequences[0]] += observations.counts[leaf]
    for level in reversed(treeplex.levels):
        level.pass_up(np.add.reduceat(taken[level.sequences], level.starts), taken)
    if not treeplex.num_infosets:
        return Strategy.uniform(observations.game, opponent)
    seen = np.repeat(np.add.reduceat(taken, treeplex.offsets[:-1]), treeplex.num_actions)
    arity = np.repeat(treeplex.num_actions, treeplex.num_actions)
    played = np.where(seen > 0.0, (taken[1:] + extra) / np.maximum(seen + extra * arity, 1e-300), 1.0 / arity)
    return Strategy(observations.game, opponent, np.concatenate([[1.0], played]))
