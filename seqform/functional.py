"""Linear functionals of a player's plan: how often it takes an action, its risk, and whatever else a game names."""

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
from .strategy import Profile, Strategy, check_same_game, checked_player


@dataclass(frozen=True, eq=False)
class Functional(ReadOnly):
    """A number that is linear in one player's realization plan: constant + coefficients · x.

    Attributes
    ----------
    player : int
        Whose plan it is a function of.
    coefficients : ndarray of float64, shape (num_sequences,)
        A read-only copy of what is given.
    description : str
        What the number says, in a few words.
    constant : float
    fingerprint : str, optional
        Of the game; without it, strategies of other games with as many sequences are taken too.

    Raises
    ------
    InvalidGameError
        If the coefficients are not a vector of finite numbers.

    Examples
    --------
    The risk of the transit game's patroller, who walks at random:

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
        """Return the number at a strategy, or at the player's strategy in a profile.

        Raises
        ------
        InvalidStrategyError
            If it is not a strategy, or one of another player or game.
        """
        plan = plan_of(strategy, self.player, len(self.coefficients), self.fingerprint)
        return float(self.constant + self.coefficients @ plan)


def plan_of(strategy: Strategy | Profile, player: int, num_sequences: int, fingerprint: str | None = None) -> Floats:
    """Return the plan of a player's strategy, or of the player's one in a profile.

    Parameters
    ----------
    strategy : Strategy or Profile
    player, num_sequences : int
        Whose it has to be, and how long the plan is.
    fingerprint : str, optional
        Of the game that it has to be of.

    Raises
    ------
    InvalidStrategyError
        If it is not a strategy, or one of another player or game.
    """
    if isinstance(strategy, Profile) and player < len(strategy):
        strategy = strategy[player]
    if not isinstance(strategy, Strategy):
        raise InvalidStrategyError(f"received {shown(strategy)}, expected a Strategy of player {player}")
    if strategy.player != player or len(strategy.plan) != num_sequences:
        raise InvalidStrategyError(
            f"received a strategy of player {strategy.player} with {len(strategy.plan)} sequences, expected one of "
            f"player {player} with {num_sequences}"
        )
    if fingerprint not in (None, strategy.fingerprint):
        raise InvalidStrategyError(
            f"the strategy of player {strategy.player} is of another game ({strategy.game_name}): its fingerprint is "
            f"{strategy.fingerprint}, expected {fingerprint}"
        )
    return strategy.plan


def split_call(text: str) -> tuple[str, list[str]]:
    """Return the name of a functional and the arguments that stand behind it in brackets, between commas.

    An argument may stand in double quotes, with whatever characters in it.

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


# An argument: quoted texts, and what is neither a comma nor quoted.
_QUOTED = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"')
_ARGUMENT = re.compile(rf'(?:{_QUOTED.pattern}|[^,"]|")+')


# What floats may be off, and up to which denominators fractions are recognised in spite of it; of how many at most.
_ROUND_OFF, _LARGEST, _MANY = 1e-14, 10**6, 1000
# Sums of thousands of whole numbers below this are exact in floats.
_EXACT = 2**40


def reach_of_others(game: HasSequenceForm, player: int, others: Profile | Strategy | None = None) -> Floats:
    """Return the probability with which chance and the other players allow each infoset of a player.

    Parameters
    ----------
    game : Game
        With histories, in which every infoset of the player has one parent sequence; or in a public form that says how
        likely pairs of private states are.
    player : int
    others : Profile, or Strategy of the one other player, optional
        How the others play; uniformly by default.

    Returns
    -------
    ndarray of float64, shape (num_infosets,)
        Times the player's own reach, it is the probability of coming to the infoset.

    Raises
    ------
    UnsupportedProblemError
        If the game has no table of leaves, or the player's plans form a flow polytope.
    InvalidStrategyError
        If the other players' strategies are of another game or player.

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
    # Any behaviour of the player's own leads to all leaves below an infoset together once.
    totals = np.bincount(leaves.sequences[:, player], weights=shares, minlength=treeplex.num_sequences).astype(float)
    result = np.zeros(treeplex.num_infosets)
    for level in reversed(treeplex.levels):
        result[level.infosets] = np.add.reduceat(totals[level.sequences], level.starts) / level.counts
        level.pass_up(result[level.infosets], totals)
    return result / unit


def dealt_form_of(game: HasSequenceForm) -> Any:
    """Return the public form of a game without histories, if it says how likely pairs of private states are."""
    form = None if game.sequence_form.leaves is not None else getattr(game, "public_form", None)
    return form if form is not None and form.deals else None


def reach_matrix(game: HasSequenceForm, player: int, infosets: Any = None) -> sp.csr_array:
    """Return how the reach of a player's infosets follows from the opponent's plan, in games of two players.

    Parameters
    ----------
    game : Game
        With histories, in which every infoset of both players has one parent sequence.
    player : int
    infosets : ndarray of bool, shape (num_infosets,), optional
        Which are wanted; rows of the others are empty. By default all.

    Returns
    -------
    csr_array, shape (num_infosets, the opponent's num_sequences)
        W such that W y is what :func:`reach_of_others` returns for the opponent's plan y: entry (I, s) is the
        probability with which chance comes to the histories of I at which s is the opponent's last sequence.

    Raises
    ------
    UnsupportedProblemError
        If the game has no table of leaves, more than two players, or plans that form a flow polytope.

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
    # Where all of an infoset's sequences stand alike, what leads to it stands for them all.
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
    """Return what :func:`reach_matrix` does, in a game without histories."""
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
    """Return infosets of a player and leaves below each, to all of which the player's first actions lead.

    They stand for the histories of the infoset: what chance and the others do on the way to them sums to what they do
    on the way to these.
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
    """Return how often a player takes one of some actions, as a linear functional of its plan.

    Parameters
    ----------
    game : Game
    player : int
    actions : label, or collection of labels
        A label of a single action, or a word for it (:attr:`Game.action_words <treeplex.Game.action_words>`), or a
        list, set or tuple of several.
    infosets : collection of labels, optional
        Where it counts; by default all infosets with one of the actions.
    first : bool
        Whether to count the player's first decisions only.
    others : Profile, or Strategy of the one other player, optional
        How the others play, on which it may depend how often the player comes to decide; uniformly by default.

    Returns
    -------
    Functional
        Σ_I w(I) Σ_a x(I, a), with w(I) the probability with which chance and the others allow I: the expected number
        of times. Where the player decides once at most, a probability.

    Raises
    ------
    InvalidGameError
        If there is no such player, action or infoset, or nothing is left to count.
    UnsupportedProblemError
        If the game has no table of leaves, or the player's plans form a flow polytope.

    Examples
    --------
    How often player 0 of Kuhn poker bets at once, in equilibrium and in uniform play:

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
    """Return whole numbers and a denominator with which numbers are fractions; the numbers and 1 if they are not.

    Sums of whole numbers are exact. So what follows from uniform play is rounded only once, at the end, and methods
    that work in fractions find the fraction that it stands for.
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
    """Return which infosets are among those given, as a mask."""
    treeplex = game.sequence_form.treeplexes[player]
    mask = np.zeros(treeplex.num_infosets, dtype=bool)
    for label in _labels(infosets, treeplex.infoset_numbers):
        number = treeplex.find_infoset(label)
        if number is None:
            raise InvalidGameError(f"{game.spec}: {treeplex.unknown_infoset(player, label)}")
        mask[number] = True
    return mask


def _labels(given: Any, known: Collection[Any]) -> list[Any]:
    """Return a label, or several in a collection, as a list; a tuple can be a label itself."""
    single = isinstance(given, str) or not isinstance(given, Collection) or (is_label(given) and given in known)
    return [given] if single else list(given)
