"""Builders of common constraints: bounds on behaviour, reach, counts, payoffs and distances."""

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.checks import explained
from ...seqform.errors import InvalidConstraintError, UnsupportedProblemError, shown
from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.names import quoted_label, sequence_name
from ...seqform.polytope import Treeplex
from ...seqform.rationals import shown_number, to_fraction
from ...seqform.rules import Number
from ...seqform.strategy import Strategy, check_same_game, check_strategy, checked_player
from ..distances import Distance
from ..risks import Risk
from .constraint import DistanceConstraint, LinearConstraint, RiskConstraint, Sense, check_number


@explained
def behaviour_bound(
    game: Game,
    player: int,
    infoset: Hashable,
    action: Hashable,
    *,
    at_most: Number | None = None,
    at_least: Number | None = None,
    name: str | None = None,
) -> LinearConstraint:
    """Bound the probability of an action at an infoset.

    Parameters
    ----------
    game : Game
    player : int
    infoset, action : hashable
        The labels; the action may also be given by the game's word for it.
    at_most, at_least : number, optional
        Exactly one of the two. Exact methods use fractions and decimals exactly.
    name : str, optional
        By default the constraint in command-line syntax.

    Returns
    -------
    LinearConstraint
        The constraint is x(I, a) − c · (inflow of I) ≤ 0 on the realization plan. If the inflow is the same for all
        plans, it is x(I, a) ≤ c times the inflow. In the first form, a violation is weighted by the reach of I.

    Raises
    ------
    InvalidConstraintError
        If not exactly one bound is given, or it is not a number.
    InvalidStrategyError
        If the game has no such player, infoset or action.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.constraints import behaviour_bound
    >>> behaviour_bound(load_game("kuhn"), 0, "K_", "b", at_most=0.5).name
    '0/K_:b <= 0.5'
    """
    treeplex = _treeplex(game, player)
    sequence = _sequence(game, player, infoset, action)
    title = sequence_name(player, treeplex, sequence) or ""
    sense, bound, name = _bound(at_most, at_least, name, title)
    terms, limit, fixed = behaviour_terms(treeplex, {sequence: 1}, bound)
    return LinearConstraint(player, terms, limit, name, sense, fixed=fixed, fingerprint=game.fingerprint)


def behaviour_terms(
    treeplex: Treeplex, sequences: Mapping[int, Number], bound: Number
) -> tuple[dict[int, Number], Number, bool]:
    """Return the terms and the limit that bound a sum of action probabilities at one infoset.

    Parameters
    ----------
    treeplex : Treeplex
    sequences : mapping of int to number
        Sequences of one infoset, with their weights in the sum.
    bound : number

    Returns
    -------
    terms : dict of int to number
    limit : number
        0, unless all plans have the same inflow into the infoset.
    fixed : bool
        Whether the bound is part of the terms.
    """
    infoset = int(treeplex.sequence_infosets[next(iter(sequences))])
    reach, exact = constant_reach(treeplex, infoset), to_fraction(bound)
    if reach is not None:
        return dict(sequences), bound if reach == 1 else reach * exact, False
    part = slice(*treeplex.inflow.indptr[infoset : infoset + 2])
    sources = zip(treeplex.inflow.indices[part].tolist(), treeplex.inflow.data[part].tolist(), strict=True)
    less = {source: -(to_fraction(weight) * exact) for source, weight in sources}
    return {**less, **sequences}, 0, True


def constant_reach(treeplex: Treeplex, infoset: int) -> Fraction | None:
    """Return the inflow of an infoset if it is the same for all plans; otherwise ``None``."""
    part = slice(*treeplex.inflow.indptr[infoset : infoset + 2])
    if treeplex.inflow.indices[part].tolist() != [0]:
        return None
    return to_fraction(float(treeplex.inflow.data[part][0]))


@explained
def reach_bound(
    game: Game,
    player: int,
    infoset: Hashable,
    action: Hashable | None = None,
    *,
    at_most: Number | None = None,
    at_least: Number | None = None,
    name: str | None = None,
) -> LinearConstraint:
    """Bound the probability that a player's own actions lead to an infoset, or include an action there.

    Parameters
    ----------
    game : Game
    player : int
    infoset : hashable
    action : hashable, optional
        Without an action, the player's reach of the infoset is bounded; with it, the realization of the sequence.
    at_most, at_least : number, optional
        Exactly one of the two.
    name : str, optional

    Returns
    -------
    LinearConstraint

    Raises
    ------
    InvalidConstraintError
        If not exactly one bound is given, or it is not a number.
    InvalidStrategyError
        If the game has no such player, infoset or action.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import reach_bound
    >>> game = load_game("kuhn")
    >>> calls = reach_bound(game, 0, "Q_pb", "b", at_most=1 / 4, name="call")
    >>> round(solve(ConstrainedNash(game, [calls])).multipliers["call"], 6)
    0.083333
    """
    treeplex = _treeplex(game, player)
    number = treeplex.find_infoset(infoset)
    if number is None:
        raise treeplex.unknown_infoset(player, infoset)
    first, last = treeplex.offsets[number : number + 2].tolist()
    sequences = range(first, last) if action is None else [_sequence(game, player, infoset, action)]
    label = sequence_name(player, treeplex, sequences[0]) or ""
    place = f"{player}/{quoted_label(treeplex.infoset_labels[number])}"
    title = f"reach({place})" if action is None else f"plan({label})"
    sense, bound, name = _bound(at_most, at_least, name, title)
    return LinearConstraint(player, dict.fromkeys(sequences, 1), bound, name, sense, fingerprint=game.fingerprint)


@explained
def functional_bound(
    functional: Functional,
    *,
    at_most: Number | None = None,
    at_least: Number | None = None,
    name: str | None = None,
) -> LinearConstraint:
    """Bound a linear functional of a plan, such as a risk or an expected count.

    Parameters
    ----------
    functional : Functional
    at_most, at_least : number, optional
        Exactly one of the two.
    name : str, optional
        By default the functional's description.

    Returns
    -------
    LinearConstraint

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import functional_bound
    >>> game = load_game("transit:width=2")
    >>> risk = functional_bound(game.functionals["risk"], at_most=0.1, name="risk")
    >>> solution = solve(ConstrainedNash(game, [risk]))
    >>> round(solution.value, 6), round(solution.multipliers["risk"], 4)
    (0.020351, 0.1552)
    """
    if not isinstance(functional, Functional):
        raise InvalidConstraintError(
            f"received {shown(functional)}, expected a Functional, such as one of game.functionals; "
            "parse_constraint(text, game) parses strings"
        )
    sense, bound, name = _bound(at_most, at_least, name, functional.description)
    terms = {int(s): float(functional.coefficients[s]) for s in np.flatnonzero(functional.coefficients)}
    limit = bound if functional.constant == 0.0 else to_fraction(bound) - to_fraction(functional.constant)
    return LinearConstraint(functional.player, terms, limit, name, sense, fingerprint=functional.fingerprint)


@explained
def payoff_bound(
    game: Game,
    opponent: Strategy,
    *,
    at_most: Number | None = None,
    at_least: Number | None = None,
    leaf_values: npt.ArrayLike | None = None,
    name: str | None = None,
) -> LinearConstraint:
    """Bound a player's expected payoff, or any function of the leaves, against a fixed opponent.

    Parameters
    ----------
    game : Game
        Two players.
    opponent : Strategy
        The fixed opponent; the other player's plan is bounded.
    at_most, at_least : number, optional
        Exactly one of the two.
    leaf_values : array_like, shape (num_leaves,), optional
        The function's value at each leaf, in the order of ``game.sequence_form.leaves``; by default the player's
        payoff.
    name : str, optional

    Returns
    -------
    LinearConstraint

    Raises
    ------
    InvalidConstraintError
        If not exactly one bound is given, or the values are not one finite number per leaf.
    InvalidStrategyError
        If the opponent is not a strategy of the game.
    UnsupportedProblemError
        If the game has no leaves, or does not have two players.

    Examples
    --------
    The best guarantee among strategies that earn at least 0.3 against a uniform opponent:

    >>> from treeplex import ConstrainedNash, Strategy, load_game, solve
    >>> from treeplex.models.constraints import payoff_bound
    >>> game = load_game("kuhn")
    >>> floor = payoff_bound(game, Strategy.uniform(game, 1), at_least=0.3, name="against uniform")
    >>> solution = solve(ConstrainedNash(game, [floor]))
    >>> round(solution.value, 6), round(solution.multipliers["against uniform"], 6)
    (-0.088889, 0.25)
    """
    check_strategy(opponent, "the opponent")
    if game.num_players != 2:
        raise UnsupportedProblemError(f"a payoff bound needs two players, but {game.spec} has {game.num_players}")
    check_same_game(opponent, game)
    player = 1 - opponent.player
    if leaf_values is None:
        gradient = game.sequence_form.gradient(player, [opponent.plan, opponent.plan])
    else:
        gradient = _expected_leaf_values(game, opponent, leaf_values)
    payoff = Functional(player, gradient, f"payoff of player {player}", fingerprint=game.fingerprint)
    return functional_bound(payoff, at_most=at_most, at_least=at_least, name=name)


def _expected_leaf_values(game: Game, opponent: Strategy, leaf_values: npt.ArrayLike) -> Floats:
    leaves = game.sequence_form.leaves
    if leaves is None:
        raise UnsupportedProblemError(f"{game.spec} has no leaves: it is defined by payoff matrices or factors")
    try:
        values = np.asarray(leaf_values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.zeros(0)
    if values.shape != (len(leaves),) or not np.isfinite(values).all():
        raise InvalidConstraintError(
            f"the leaf values are {shown(leaf_values)}, expected {len(leaves)} finite numbers, one per leaf"
        )
    player = 1 - opponent.player
    weights = leaves.chance * values * opponent.plan[leaves.sequences[:, opponent.player]]
    treeplex = game.sequence_form.treeplexes[player]
    return np.bincount(leaves.sequences[:, player], weights, treeplex.num_sequences).astype(np.float64)


@explained
def distance_bound(distance: Distance, *, at_most: Number, name: str | None = None) -> DistanceConstraint:
    """Bound the distance of a plan from a reference strategy.

    Parameters
    ----------
    distance : Distance
    at_most : number
    name : str, optional

    Returns
    -------
    DistanceConstraint

    Examples
    --------
    >>> from treeplex import ConstrainedNash, Strategy, load_game, solve
    >>> from treeplex.models.constraints import distance_bound
    >>> from treeplex.models.distances import L1Distance
    >>> game = load_game("kuhn")
    >>> near = distance_bound(L1Distance(Strategy.uniform(game, 0)), at_most=1, name="near")
    >>> solution = solve(ConstrainedNash(game, [near]))
    >>> round(solution.value, 6), round(solution.multipliers["near"], 6)
    (-0.175926, 0.111111)
    """
    if not isinstance(distance, Distance):
        raise InvalidConstraintError(f"received {shown(distance)}, expected a Distance")
    _, bound, name = _bound(at_most, None, name, f"distance of player {distance.player}")
    return DistanceConstraint(distance, bound, name)


@explained
def risk_bound(risk: Risk, *, at_most: Number, name: str | None = None) -> RiskConstraint:
    """Bound a convex measure of a plan, such as the tail of losses or the spread of work.

    Parameters
    ----------
    risk : Risk
    at_most : number
    name : str, optional
        By default the measure's description.

    Returns
    -------
    RiskConstraint

    Examples
    --------
    Kuhn poker, where the betting frequencies of the cards differ from their mean by at most 0.1:

    >>> from treeplex import ConstrainedNash, frequency, load_game, solve
    >>> from treeplex.models.constraints import risk_bound
    >>> from treeplex.models.risks import spread
    >>> game = load_game("kuhn")
    >>> bets = [frequency(game, 0, "b", infosets=[card]) for card in ("J_", "Q_", "K_")]
    >>> solution = solve(ConstrainedNash(game, [risk_bound(spread(bets), at_most=0.1, name="even")]))
    >>> round(solution.value, 6), solution.violation
    (-0.055556, 0.0)
    """
    if not isinstance(risk, Risk):
        raise InvalidConstraintError(f"received {shown(risk)}, expected a Risk, such as tail(…) or spread(…)")
    _, bound, name = _bound(at_most, None, name, risk.description)
    return RiskConstraint(risk, bound, name)


def _bound(at_most: Number | None, at_least: Number | None, name: str | None, title: str) -> tuple[Sense, Number, str]:
    if (at_most is None) == (at_least is None):
        raise InvalidConstraintError(
            f"constraint {shown(name or title)}: at_most is {shown(at_most)} and at_least is {shown(at_least)}, "
            "expected exactly one of the two"
        )
    sense: Sense = ">=" if at_most is None else "<="
    bound = at_least if at_most is None else at_most
    check_number(name or title, "the bound", bound)
    assert bound is not None
    return sense, bound, f"{title} {sense} {shown_number(bound)}" if name is None else name


def _treeplex(game: Any, player: int) -> Treeplex:
    if not isinstance(game, Game):
        raise InvalidConstraintError(f"received {shown(game)}, expected a Game (load_game returns one)")
    return game.sequence_form.treeplexes[checked_player(game, player)]


def _sequence(game: Game, player: int, infoset: Hashable, action: Hashable) -> int:
    """Return the sequence index of an action at an infoset."""
    treeplex = game.sequence_form.treeplexes[player]
    if treeplex.find_infoset(infoset) is None:
        raise treeplex.unknown_infoset(player, infoset)
    return treeplex.sequence(infoset, action)
