"""Linear functionals of a player's plan: the frequency of an action, a risk, or another quantity that a game names."""

import json
import math
import re
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import Floats, ReadOnly, floats, frozen
from .checks import explained
from .errors import InvalidGameError, InvalidStrategyError, UnsupportedProblemError, nearest, one_of, shown
from .joint_form import JointPayoff
from .labels import is_label
from .payoffs import LeafTable
from .polytope import Treeplex
from .sequence_form import HasSequenceForm
from .strategy import Profile, Strategy, check_same_game, check_strategy, checked_player


@dataclass(frozen=True, eq=False)
class Functional(ReadOnly):
    """A number that is linear in one player's realization plan: constant + coefficients · x.

    Attributes
    ----------
    player : int
        The player whose plan it is a function of.
    coefficients : ndarray of float64, shape (num_sequences,)
        Stored as a read-only copy.
    description : str
        The meaning of the number, in a few words.
    constant : float
    fingerprint : str, optional
        The game's fingerprint. Without it, strategies of any game with the same number of sequences are accepted.

    Raises
    ------
    InvalidGameError
        If the coefficients are not a vector of finite numbers.

    Examples
    --------
    The risk of the transit game's patroller who plays uniformly:

    >>> from treeplex import Strategy, load_game
    >>> game = load_game("transit:width=2,horizon=3")
    >>> risk = game.functionals["risk"]
    >>> risk.description
    'probability that the patroller is away from the base at the end'
    >>> round(risk.value(Strategy.uniform(game, risk.player)), 6)
    0.824583
    """

    player: int
    coefficients: Floats
    description: str
    constant: float = 0.0
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        named = f"the coefficients of the functional {shown(self.description)}"
        vector = floats(self.coefficients, f"{named} are not a vector of numbers")
        if vector.ndim != 1 or not np.isfinite(vector).all():
            raise InvalidGameError(
                f"{named} have shape {vector.shape}, or are not finite: expected a vector of finite numbers"
            )
        object.__setattr__(self, "coefficients", frozen(vector))

    def value(self, strategy: Strategy | Profile) -> float:
        """Return the number for a strategy, or for the player's strategy in a profile.

        Raises
        ------
        InvalidStrategyError
            If it is not a strategy, or belongs to another player or game.
        """
        plan = plan_of(strategy, self.player, len(self.coefficients), self.fingerprint)
        return float(self.constant + self.coefficients @ plan)


def plan_of(strategy: Strategy | Profile, player: int, num_sequences: int, fingerprint: str | None = None) -> Floats:
    """Return the plan of a player's strategy, or of the player's strategy in a profile.

    Parameters
    ----------
    strategy : Strategy or Profile
    player, num_sequences : int
        The required player and length of the plan.
    fingerprint : str, optional
        The required fingerprint of the strategy's game.

    Raises
    ------
    InvalidStrategyError
        If it is not a strategy, or belongs to another player or game.
    """
    if isinstance(strategy, Profile) and player < len(strategy):
        strategy = strategy[player]
    strategy = check_strategy(strategy, "strategy", f"a Strategy of player {player}")
    if strategy.player != player or len(strategy.plan) != num_sequences:
        raise InvalidStrategyError(
            f"received a strategy of player {strategy.player} with {len(strategy.plan)} sequences, expected one of "
            f"player {player} with {num_sequences}"
        )
    if fingerprint not in (None, strategy.fingerprint):
        raise InvalidStrategyError(
            f"the strategy of player {strategy.player} belongs to another game ({strategy.game_name}): its "
            f"fingerprint is {strategy.fingerprint}, expected {fingerprint}"
        )
    return strategy.plan


def split_call(text: str) -> tuple[str, list[str]]:
    """Return the name of a functional and its comma-separated arguments in parentheses.

    An argument may be in double quotes and then contain any characters.

    Examples
    --------
    >>> from treeplex.seqform.functional import split_call
    >>> split_call('visits(bank, "Main St, east", unit 1)'), split_call("risk")
    (('visits', ['bank', 'Main St, east', 'unit 1']), ('risk', []))
    """
    name, bracket, rest = text.partition("(")
    if not bracket:
        return text.strip(), []
    pieces = [piece.strip() for piece in _ARGUMENT.findall(rest.strip().removesuffix(")"))]
    return name.strip(), [json.loads(piece) if _QUOTED.fullmatch(piece) else piece for piece in pieces if piece]


# An argument: quoted strings, and unquoted characters other than commas.
_QUOTED = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"')
_ARGUMENT = re.compile(rf'(?:{_QUOTED.pattern}|[^,"]|")+')


# The tolerance for floats, the largest denominators of recognised fractions, and the largest number of entries.
_ROUND_OFF, _LARGEST, _MANY = 1e-14, 10**6, 1000
# Sums of thousands of whole numbers below this are exact in floats.
_EXACT = 2**40


def reach_of_others(game: HasSequenceForm, player: int, others: Profile | Strategy | None = None) -> Floats:
    """Return the probability that chance and the other players' actions lead to each infoset of a player.

    Parameters
    ----------
    game : Game
        A game with histories, in which every infoset of the player has one parent sequence, or a game in a public
        form that has the probabilities of pairs of private states.
    player : int
    others : Profile, or Strategy of the one other player, optional
        The others' strategies; uniform by default.

    Returns
    -------
    ndarray of float64, shape (num_infosets,)
        The probability of reaching the infoset is this number times the player's own reach.

    Raises
    ------
    UnsupportedProblemError
        If the game has no table of leaves, or the player's plans form a flow polytope.
    InvalidStrategyError
        If the other players' strategies belong to another game or player.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.functional import reach_of_others
    >>> game = load_game("kuhn")
    >>> reach_of_others(game, player=0).round(4)  # a card, then the opponent's bet
    array([0.3333, 0.1667, 0.3333, 0.1667, 0.3333, 0.1667])
    """
    player = checked_player(game, player)
    joint = game.sequence_form.payoffs
    if isinstance(joint, JointPayoff):
        nodes = np.flatnonzero(joint.form.players == player).tolist()
        return joint.arrival(player, nodes, _plans(game, player, others)).ravel()
    form = dealt_form_of(game)
    if form is not None:
        reach: Floats = (
            _reach_matrix_in_public_form(game, form, player, None) @ _plans(game, player, others)[1 - player]
        )
        return reach
    treeplex, leaves = _tree_of(game, player)
    shared = leaves.chance.copy()
    for other, plan in enumerate(_plans(game, player, others)):
        if other != player:
            shared *= plan[leaves.sequences[:, other]]
    shares, unit = _over_one_denominator(shared)
    # For any behaviour of the player, the reach of the leaves below an infoset sums to that of the infoset.
    totals = np.bincount(leaves.sequences[:, player], weights=shares, minlength=treeplex.num_sequences).astype(float)
    result = np.zeros(treeplex.num_infosets)
    for level in reversed(treeplex.levels):
        result[level.infosets] = np.add.reduceat(totals[level.sequences], level.starts) / level.counts
        level.pass_up(result[level.infosets], totals)
    return result / unit


def dealt_form_of(game: HasSequenceForm) -> Any:
    """Return the public form of a game without histories, if it has the probabilities of pairs of private states."""
    form = None if game.sequence_form.leaves is not None else getattr(game, "public_form", None)
    return form if form is not None and form.deals else None


def reach_matrix(game: HasSequenceForm, player: int, infosets: Any = None) -> sp.csr_array:
    """Return the matrix from the opponent's plan to the reach of a player's infosets, in a two-player game.

    Parameters
    ----------
    game : Game
        A game with histories, in which every infoset of both players has one parent sequence.
    player : int
    infosets : ndarray of bool, shape (num_infosets,), optional
        The infosets to compute; rows of the others are empty. By default all.

    Returns
    -------
    csr_array, shape (num_infosets, the opponent's num_sequences)
        W such that W y is the result of :func:`reach_of_others` for the opponent's plan y. Entry (I, s) is chance's
        probability of the histories of I at which s is the opponent's last sequence.

    Raises
    ------
    UnsupportedProblemError
        If the game has no table of leaves or more than two players, or plans form a flow polytope.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.functional import reach_matrix
    >>> matrix = reach_matrix(load_game("kuhn"), player=0)
    >>> matrix[[0]].toarray().round(4)[0, :4]  # a card, which does not depend on the opponent
    array([0.3333, 0.    , 0.    , 0.    ])
    >>> matrix[[1]].nnz  # a bet, with either of the other two cards
    2
    """
    form = dealt_form_of(game)
    if form is not None:
        return _reach_matrix_in_public_form(game, form, player, infosets)
    rows, leaves = leaves_below(game, player, infosets)
    own, other = game.sequence_form.treeplexes[player], game.sequence_form.treeplexes[1 - player]
    table = game.sequence_form.leaves
    if game.sequence_form.num_players != 2 or table is None or not other.single_parent:
        raise UnsupportedProblemError(f"a matrix of reach probabilities needs a two-player tree, received {game.spec}")
    columns, weights = table.sequences[leaves, 1 - player].astype(np.int64), table.chance[leaves]
    # If the same entries hold for all sequences of an infoset, its parent sequence stands for all of them.
    width = other.num_sequences
    depths = np.append(-1, other.depths[other.sequence_infosets[1:]])
    for depth in range(int(depths.max(initial=-1)), -1, -1):
        cells, inverse = np.unique(rows * width + columns, return_inverse=True)
        weights = np.bincount(inverse.ravel(), weights=weights, minlength=len(cells))
        rows, columns = cells // width, cells % width
        here = np.flatnonzero(depths[columns] == depth)
        below = other.sequence_infosets[columns[here]]
        _, group, count = np.unique(rows[here] * other.num_infosets + below, return_inverse=True, return_counts=True)
        most, least = np.zeros(len(count)), np.full(len(count), np.inf)
        np.maximum.at(most, group.ravel(), weights[here])
        np.minimum.at(least, group.ravel(), weights[here])
        alike = (count[group.ravel()] == other.num_actions[below]) & ((most - least <= 1e-12 * most)[group.ravel()])
        first = columns[here] == other.offsets[below]
        kept = np.ones(len(columns), dtype=bool)
        kept[here[alike & ~first]] = False
        folded = here[alike & first]
        columns[folded] = other.parents[below[alike & first]]
        rows, columns, weights = rows[kept], columns[kept], weights[kept]
    result = sp.csr_array(sp.coo_array((weights, (rows, columns)), shape=(own.num_infosets, width)))
    result.sum_duplicates()
    return result


def _reach_matrix_in_public_form(game: HasSequenceForm, form: Any, player: int, infosets: Any) -> sp.csr_array:
    """Return the result of :func:`reach_matrix` in a game without histories."""
    own, other = (game.sequence_form.treeplexes[each] for each in (player, 1 - player))
    wanted = np.ones(own.num_infosets, dtype=bool) if infosets is None else np.asarray(infosets, dtype=bool)
    none = np.zeros(0, dtype=np.int64)
    found, first = [(none, none, np.zeros(0))], 0
    for node in np.flatnonzero(form.players == player).tolist():
        present = form.present[form.boards[node]][player]
        rows = np.full(len(form.states[player]), -1)
        rows[present] = first + np.arange(len(present))
        rows[present[~wanted[rows[present]]]] = -1
        first += len(present)
        if (rows >= 0).any():
            pairs = sp.coo_array(form.pairs(node))
            states = pairs.coords if player == 0 else pairs.coords[::-1]
            places = rows[states[0]], form.sequences(1 - player, node)[states[1]]
            met = (places[0] >= 0) & (places[1] >= 0)
            weights = pairs.data * form.weights[player][states[0]] * form.weights[1 - player][states[1]]
            found.append((places[0][met], places[1][met], weights[met]))
    rows, columns, weights = (np.concatenate(part) for part in zip(*found, strict=True))
    result = sp.csr_array(sp.coo_array((weights, (rows, columns)), shape=(own.num_infosets, other.num_sequences)))
    result.sum_duplicates()
    return result


def leaves_below(game: HasSequenceForm, player: int, infosets: Any = None) -> tuple[Any, Any]:
    """Return infosets of a player, each with the leaves that the player reaches from it by always taking first actions.

    The leaves represent the histories of the infoset: the reach by chance and the others has the same sum over the
    leaves as over the histories.
    """
    treeplex, table = _tree_of(game, player)
    wanted = np.ones(treeplex.num_infosets, dtype=bool) if infosets is None else np.asarray(infosets, dtype=bool)
    leaves = np.arange(len(table.chance))
    current = table.sequences[:, player].astype(np.int64)
    rows_found, leaves_found = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    while len(current):
        owners = treeplex.sequence_infosets[current].astype(np.int64)
        going = (current > 0) & (current == treeplex.offsets[owners])
        leaves, owners = leaves[going], owners[going]
        rows_found.append(owners[wanted[owners]])
        leaves_found.append(leaves[wanted[owners]])
        current = treeplex.parents[owners].astype(np.int64)
    return np.concatenate(rows_found), np.concatenate(leaves_found)


@explained
def frequency(
    game: HasSequenceForm,
    player: int,
    actions: Hashable | Collection[Hashable],
    *,
    infosets: Collection[Hashable] | None = None,
    first: bool = False,
    others: Profile | Strategy | None = None,
) -> Functional:
    """Return the frequency of a player's actions, as a linear functional of its plan.

    Parameters
    ----------
    game : Game
    player : int
    actions : label, or collection of labels
        The label of one action, a word for it (:attr:`Game.action_words <treeplex.Game.action_words>`), or a list,
        set or tuple of several.
    infosets : collection of labels, optional
        The infosets that count; by default all that have one of the actions.
    first : bool
        Whether to count only the player's first decisions.
    others : Profile, or Strategy of the one other player, optional
        The others' strategies, which may affect how often the player decides; uniform by default.

    Returns
    -------
    Functional
        Σ_I w(I) Σ_a x(I, a), where w(I) is the probability that chance and the others' actions lead to I. This is
        the expected number of times, or a probability if the player decides at most once.

    Raises
    ------
    InvalidGameError
        If there is no such player, action or infoset, or no infoset has the actions.
    UnsupportedProblemError
        If the game has no table of leaves, or the player's plans form a flow polytope.

    Examples
    --------
    How often player 0 of Kuhn poker bets at its first decision, in uniform play:

    >>> from treeplex import Strategy, frequency, load_game
    >>> game = load_game("kuhn")
    >>> bets = frequency(game, 0, "b", first=True)
    >>> bets.value(Strategy.uniform(game, 0))
    0.5
    """
    weights = reach_of_others(game, player, others)
    treeplex = game.sequence_form.treeplexes[player]
    names = [label for labels in treeplex.action_labels for label in labels]
    words = treeplex.action_words
    wanted = _labels(actions, {*names, *words})
    wanted = [words.get(each, each) if is_label(each) and each not in names else each for each in wanted]
    for action in wanted:
        if not is_label(action) or action not in names:
            known = treeplex.actions_by_name()
            raise InvalidGameError(
                f"player {player} of {game.spec} has no action {shown(action)}{nearest(str(action), known)}; expected "
                f"{one_of(known)}"
            )
    counted = np.ones(treeplex.num_infosets, dtype=bool) if infosets is None else _chosen(game, player, infosets)
    if first:
        counted &= treeplex.parents == 0
    taken = np.array([label in wanted for label in names]) & np.repeat(counted, treeplex.num_actions)
    if not taken.any():
        raise InvalidGameError(f"player {player} of {game.spec} has no action {shown(actions)} at the given infosets")
    coefficients = np.zeros(treeplex.num_sequences)
    coefficients[1:] = np.where(taken, np.repeat(weights, treeplex.num_actions), 0.0)
    listed = ", ".join(map(str, wanted))
    where = " at its first decision" if first else "" if infosets is None else " at chosen infosets"
    return Functional(
        player=player,
        coefficients=coefficients,
        description=f"how often player {player} takes {listed}{where}",
        fingerprint=game.sequence_form.fingerprint,
    )


def _tree_of(game: HasSequenceForm, player: int) -> tuple[Treeplex, LeafTable]:
    treeplex, leaves = game.sequence_form.treeplexes[player], game.sequence_form.leaves
    if leaves is None or not treeplex.single_parent:
        raise UnsupportedProblemError(
            f"the reach probabilities of player {player}'s infosets are unknown in {game.spec}, which has no table of "
            "leaves: pass a Functional(player, coefficients, description) of your own"
        )
    return treeplex, leaves


def _over_one_denominator(numbers: Floats) -> tuple[Floats, float]:
    """Return numbers as integers and their common denominator; the same numbers and 1 if that is not possible.

    Sums of integers are exact. Results for uniform play are therefore rounded only once, at the end, and methods that
    solve in fractions find the exact fraction.
    """
    different, places = np.unique(numbers, return_inverse=True)
    if len(different) > _MANY:
        return numbers, 1.0
    fractions = [Fraction(number).limit_denominator(_LARGEST) for number in different.tolist()]
    near = all(
        abs(float(exact) - number) <= _ROUND_OFF * number
        for exact, number in zip(fractions, different.tolist(), strict=True)
    )
    unit = math.lcm(*(exact.denominator for exact in fractions)) if near else _EXACT
    if unit >= _EXACT:
        return numbers, 1.0
    return np.array([float(exact * unit) for exact in fractions])[places.reshape(-1)], float(unit)


def _plans(game: HasSequenceForm, player: int, others: Any) -> tuple[Floats, ...]:
    if others is None:
        return Profile.uniform(game).plans
    if isinstance(others, Strategy) and game.sequence_form.num_players == 2 and others.player == 1 - player:
        check_same_game(others, game)
        return (others.plan, others.plan)
    if not isinstance(others, Profile):
        raise InvalidStrategyError(
            f"the others' strategies are {shown(others)}, expected a Profile or, in a two-player game, the Strategy "
            f"of the opponent of player {player}"
        )
    check_same_game(others[0], game)
    return others.plans


def _chosen(game: HasSequenceForm, player: int, infosets: Any) -> Any:
    """Return a mask of the given infosets."""
    treeplex = game.sequence_form.treeplexes[player]
    mask = np.zeros(treeplex.num_infosets, dtype=bool)
    for label in _labels(infosets, treeplex.infoset_numbers):
        number = treeplex.find_infoset(label)
        if number is None:
            raise InvalidGameError(f"{game.spec}: {treeplex.unknown_infoset(player, label)}")
        mask[number] = True
    return mask


def _labels(given: Any, known: Collection[Any]) -> list[Any]:
    """Return one label, or a collection of labels, as a list; a tuple may itself be a label."""
    single = isinstance(given, str) or not isinstance(given, Collection) or (is_label(given) and given in known)
    return [given] if single else list(given)
