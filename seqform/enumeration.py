"""The walk from rules to arrays: treeplexes and a table of leaves, of every game, streamed or a tree."""

from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Integers, ReadOnly, frozen
from .budget import Budget, Watch, sequence_form_bytes
from .checks import check_whole, is_whole
from .errors import ImperfectRecallError, InvalidGameError, one_line, shown
from .histories import name_history, name_leaf
from .labels import A_LABEL, WITHOUT_ORDER, check_one_label, has_order, is_label, is_listing, is_same_label
from .polytope import Treeplex
from .rationals import to_fraction
from .rules import CHANCE, MAX_PLAYERS, TERMINAL, GameSize, Rules, check_rules, outcomes_of


@dataclass(frozen=True, eq=False)
class LeafTable(ReadOnly):
    """Every leaf's sequences, chance probability and payoffs; all arrays are read-only.

    Arrays that can still be written to are copied.

    Attributes
    ----------
    sequences : ndarray of int32, shape (num_leaves, num_players)
        The last sequence of each player on the way to the leaf.
    chance : ndarray of float64, shape (num_leaves,)
        Probability that chance plays to the leaf.
    payoffs : ndarray of float64, shape (num_leaves, num_players)
        Payoff units, chance not multiplied in.
    exact_chance : tuple of Fraction, optional
    exact_payoffs : tuple of tuple of Fraction, optional
        The same as fractions, where the walk was asked to keep them.

    Raises
    ------
    InvalidGameError
        If shapes do not match, there is no leaf, or a number is of the wrong kind, not finite or, for chance, negative.
    """

    sequences: Integers
    chance: Floats
    payoffs: Floats
    exact_chance: tuple[Fraction, ...] | None = None
    exact_payoffs: tuple[tuple[Fraction, ...], ...] | None = None

    def __post_init__(self) -> None:
        self.__dict__["sequences"] = _read_only(self.sequences, np.int32, "sequences")
        self.__dict__["chance"] = _read_only(self.chance, np.float64, "chance")
        self.__dict__["payoffs"] = _read_only(self.payoffs, np.float64, "payoffs")
        if (
            self.payoffs.ndim != 2
            or not self.payoffs.size
            or self.sequences.shape != self.payoffs.shape
            or self.chance.shape != self.payoffs.shape[:1]
        ):
            raise InvalidGameError(
                f"a leaf table has sequences of shape {self.sequences.shape}, chance of shape {self.chance.shape} and "
                f"payoffs of shape {self.payoffs.shape}, expected (leaves, players), (leaves,) and (leaves, players), "
                "one leaf and one player at least"
            )
        for name, exact in (("exact_chance", self.exact_chance), ("exact_payoffs", self.exact_payoffs)):
            if exact is not None and (not isinstance(exact, tuple) or len(exact) != len(self)):
                raise InvalidGameError(
                    f"{name} is {shown(exact)}, expected a tuple with one entry per leaf, {len(self)}"
                )
        for name, sound in (
            ("payoffs", np.isfinite(self.payoffs).all(axis=1)),
            ("chance", np.isfinite(self.chance) & (self.chance >= 0.0)),
        ):
            if not sound.all():
                wrong = int(np.argmin(sound))
                raise InvalidGameError(
                    f"leaf {wrong} has {name} {getattr(self, name)[wrong].tolist()}, expected finite "
                    f"{'numbers' if name == 'payoffs' else 'non-negative numbers'}"
                )

    def __len__(self) -> int:
        return len(self.chance)

    @property
    def num_players(self) -> int:
        """Number of players."""
        return int(self.payoffs.shape[1])

    @property
    def is_zero_sum(self) -> bool:
        """Whether :attr:`constant_sum` is zero."""
        return self.constant_sum == 0.0

    @cached_property
    def constant_sum(self) -> float | None:
        """What payoffs sum to at every leaf that chance can come to; ``None`` if that differs.

        Sums may differ by 1e-9 of the leaf's largest payoff, or of the median payoff where that is more.
        """
        reached = self.chance > 0.0
        payoffs = self.payoffs if reached.all() else self.payoffs[reached]
        return constant_of_sums(payoffs.sum(axis=1), np.abs(payoffs).max(axis=1, initial=0.0))

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff, or 1 if all are zero."""
        return float(np.abs(self.payoffs).max(initial=0.0)) or 1.0

    def gradient(self, player: int, plans: Sequence[Floats], num_sequences: int) -> Floats:
        """Return a player's payoff per unit of each own sequence, the other players' plans given.

        Parameters
        ----------
        player : int
        plans : sequence of ndarray of float64
            One realization plan a player; the player's own is not read.
        num_sequences : int
            Length of the result.

        Returns
        -------
        ndarray of float64, shape (num_sequences,)
        """
        weights = self.chance * self.payoffs[:, player]
        for other, plan in enumerate(plans):
            if other != player:
                weights *= plan[self.sequences[:, other]]
        counts = np.bincount(self.sequences[:, player], weights=weights, minlength=num_sequences)
        return counts.astype(np.float64, copy=False)

    def expected_payoffs(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff, shape (num_players,), when all play the given plans."""
        reach = self.chance.copy()
        for player, plan in enumerate(plans):
            reach *= plan[self.sequences[:, player]]
        return reach @ self.payoffs


def constant_of_sums(sums: Floats, sizes: Floats) -> float | None:
    """Return the number that sums of payoffs are equal to but for round-off, ``None`` if they differ.

    Parameters
    ----------
    sums : ndarray of float64, shape (k,)
    sizes : ndarray of float64, shape (k,)
        The largest absolute payoff of each sum. A sum may be away from the number by 1e-9 of that, or of the median.

    Returns
    -------
    float or None
        Without round-off, so that 0.1 + 0.2 sums to 0.3; 0 if ``sums`` is empty.
    """
    if not len(sums):
        return 0.0
    room = 1e-9 * np.maximum(sizes, _middle(sizes[sizes > 0.0]) if sizes.any() else 0.0)
    if (np.abs(sums) <= room).all():
        return 0.0
    constant = without_round_off(_middle(sums), float(sizes.max(initial=0.0)))
    return constant if (np.abs(sums - constant) <= room).all() else None


def without_round_off(number: float, size: float) -> float:
    """Return a number to twelve digits, if that differs from it by no more than sums of numbers of a size do.

    Examples
    --------
    >>> from treeplex.seqform.enumeration import without_round_off
    >>> without_round_off(0.1 + 0.2, 0.2), without_round_off(1 / 3, 1.0)
    (0.3, 0.3333333333333333)
    """
    rounded = float(f"{number:.12g}")
    return rounded if abs(rounded - number) <= 1e-15 * max(abs(number), size) else number


def _middle(numbers: Floats) -> float:
    """Return the median without a sum, which may overflow."""
    return float(np.partition(numbers, len(numbers) // 2)[len(numbers) // 2])


def _read_only(values: npt.ArrayLike, kind: type[np.generic], name: str) -> npt.NDArray[Any]:
    """Return values as a read-only array; one that is already is taken as it is, any other copied."""
    if isinstance(values, np.ndarray) and values.dtype == kind and not values.flags.writeable:
        return values
    try:
        given = np.array(values)
        array = given.astype(kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGameError(f"{name} of a leaf table are not an array of numbers: {one_line(str(error))}") from None
    if kind is np.int32 and (given.dtype.kind not in "iu" or not np.array_equal(array, given)):
        raise InvalidGameError(f"{name} of a leaf table are {shown(values)}, expected integers of at most 32 bits")
    return frozen(array)


#: How far the probabilities of a chance node may sum from one.
PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Enumeration:
    """What one walk over a game finds.

    Attributes
    ----------
    treeplexes : tuple of Treeplex
        One a player, infosets in the order in which a depth-first walk meets them.
    leaves : LeafTable
    num_nodes : int
        Number of histories, the root and the leaves included.
    """

    treeplexes: tuple[Treeplex, ...]
    leaves: LeafTable
    num_nodes: int


def enumerate_game(rules: Rules, exact: bool = False, memory: int | str | None = None) -> Enumeration:
    """Walk a game depth first and collect its infosets, sequences and leaves.

    The walk keeps its own stack, so depth is bounded by memory, and by a million moves without a leaf. Nothing but
    arrays and one dictionary entry an infoset is kept: about 60 bytes a leaf. What it takes is held against a budget,
    see :mod:`~treeplex.seqform.budget`.

    Parameters
    ----------
    rules : Rules
    exact : bool
        Keep chance probabilities and payoffs as fractions beside the floats.
    memory : int or str, optional
        The budget, in bytes or as text such as ``"8GB"``. By default the environment variable ``TREEPLEX_MEMORY``, and
        without it half of the memory that is available.

    Returns
    -------
    Enumeration

    Raises
    ------
    InvalidGameError
        If an object does not have the rules of a game, probabilities do not sum to one, are negative or not finite, an
        infoset has differing action sets, actions repeat, payoffs are missing or not finite, or an answer of the rules
        is of the wrong kind. The message names the history by its action path. Errors that the rules raise pass
        through.
    ImperfectRecallError
        If two histories of an infoset differ in their player's own past.
    GameTooLargeError
        If the game, or what has been found of it so far, takes more than the budget.
    InvalidMemoryError
        If `memory`, or the environment variable, is not an amount of memory.
    """
    check_rules(rules)
    num_players = check_whole(rules.num_players, "num_players", InvalidGameError, f"[1, {MAX_PLAYERS}]")
    budget = Budget(memory)
    budget.admit(rules, exact)
    player, actions_at, child, infoset_of = rules.player, rules.actions, rules.child, rules.infoset
    payoffs_at, outcomes_at = rules.payoffs, outcomes_of(rules)

    # Of each infoset: first sequence, parent, actions, whether they are texts alone, its first history, and its label.
    infosets: list[dict[Hashable, tuple[int, int, tuple[Hashable, ...], bool, int, Hashable]]] = [
        {} for _ in range(num_players)
    ]
    next_sequence = [1] * num_players
    leaf_sequences, leaf_chance, leaf_payoffs = array("i"), array("d"), array("d")
    exact_chance: list[Fraction] = []
    exact_payoffs: list[tuple[Fraction, ...]] = []
    visited = 0  # inner nodes taken from the stack

    def taken() -> int:
        size = GameSize(0, len(leaf_chance), tuple(next_sequence), tuple(map(len, infosets)))
        return sequence_form_bytes(size, exact)

    watch = Watch(budget, taken)

    def record_leaf(state: Any, sequences: tuple[int, ...], reach: Any) -> None:
        payoffs = payoffs_at(state)
        if payoffs.__class__ is not tuple:
            if not is_listing(payoffs):
                raise _WrongAnswer(f"has payoffs {shown(payoffs)}, expected one number per player, as a tuple")
            payoffs = tuple(payoffs)
        if len(payoffs) != num_players:
            raise _WrongAnswer(f"has {len(payoffs)} payoffs, expected {num_players}: one per player")
        leaf_sequences.extend(sequences)
        if exact:
            try:
                fractions = tuple(map(to_fraction, payoffs))
            except (TypeError, ValueError, OverflowError):
                raise _WrongAnswer(f"has payoffs {shown(payoffs)}, expected finite numbers") from None
            exact_payoffs.append(fractions)
            exact_chance.append(reach)
        try:
            leaf_payoffs.extend(payoffs)  # type: ignore[arg-type]
            leaf_chance.append(reach)
        except (TypeError, OverflowError):
            raise _WrongAnswer(f"has payoffs {shown(payoffs)}, expected finite numbers") from None

    try:
        root = rules.initial_state()
        who = player(root)
        start_sequences = (0,) * num_players
        stack: list[tuple[Any, int, tuple[int, ...], Any]] = []
        if who == TERMINAL:
            record_leaf(root, start_sequences, Fraction(1) if exact else 1.0)
        else:
            stack.append((root, who, start_sequences, Fraction(1) if exact else 1.0))
        push, pop = stack.append, stack.pop
        entry_of = [table.get for table in infosets]

        while stack:
            number = visited + len(leaf_chance)
            if number + len(stack) >= watch.next:
                watch.look(number, len(stack), len(leaf_chance), next_sequence)
            state, who, sequences, reach = pop()
            if who.__class__ is not int:
                who = int(_checked_mover(who, num_players))
            if 0 <= who < num_players:
                label = infoset_of(state)
                actions = actions_at(state)
                try:
                    known = entry_of[who](label)
                except TypeError:
                    if not is_label(label):
                        raise _WrongAnswer(f"has infoset {shown(label)}, expected {A_LABEL}") from None
                    raise
                parent = sequences[who]
                if known is None:
                    if label.__class__ is not str and not is_label(label):
                        raise _WrongAnswer(f"has infoset {shown(label)}, expected {A_LABEL}")
                    actions = _checked_actions(label, actions, watch, number)
                    sequence = next_sequence[who]
                    texts = all(action.__class__ is str for action in actions)
                    infosets[who][label] = (sequence, parent, actions, texts, number, label)
                    next_sequence[who] = sequence + len(actions)
                else:
                    sequence = known[0]
                    if label.__class__ is not str:
                        check_one_label(label, known[5], f"two infosets of player {who}")
                    if parent != known[1]:
                        first, second = name_history(rules, known[4]), name_history(rules, number)
                        raise ImperfectRecallError(
                            f"infoset {shown(label)} of player {who} has imperfect recall: {first} and {second} are "
                            "in it, but the player's own past differs; give them different infosets, or state plans as "
                            "a flow (Treeplex.from_inflow)"
                        )
                    if actions is not known[2] and (
                        actions.__class__ is not tuple
                        or actions != known[2]
                        or not (known[3] or is_same_label(actions, known[2]))
                    ):
                        _check_agreement(who, label, actions, known[2])
                        actions = known[2]
                visited += 1
                left, right = sequences[:who], sequences[who + 1 :]
                sequence += len(actions)
                for action in reversed(actions):
                    sequence -= 1
                    follower = child(state, action)
                    next_player = player(follower)
                    if next_player == TERMINAL:
                        record_leaf(follower, (*left, sequence, *right), reach)
                    else:
                        push((follower, next_player, (*left, sequence, *right), reach))
            elif who == CHANCE:
                outcomes = _checked_outcomes(outcomes_at(state), exact, watch, number)
                visited += 1
                for action, probability in reversed(outcomes):
                    follower = child(state, action)
                    next_player = player(follower)
                    if next_player == TERMINAL:
                        record_leaf(follower, sequences, reach * probability)
                    else:
                        push((follower, next_player, sequences, reach * probability))
            else:
                _checked_mover(who, num_players)
    except _WrongAnswer as refused:
        raise InvalidGameError(f"{name_history(rules, visited + len(leaf_chance))} {refused}") from None

    payoff_table = np.frombuffer(leaf_payoffs, dtype=np.float64).reshape(-1, num_players)
    if not np.isfinite(payoff_table).all():
        wrong = int(np.argmin(np.isfinite(payoff_table).all(axis=1)))
        raise InvalidGameError(
            f"{name_leaf(rules, wrong)} has payoffs {tuple(payoff_table[wrong].tolist())}, expected finite numbers"
        )
    sequence_table = np.frombuffer(leaf_sequences, dtype=np.intc).astype(np.int32, copy=False).reshape(-1, num_players)
    chance = np.frombuffer(leaf_chance, dtype=np.float64)
    leaves = LeafTable(  # which copies none that is read-only
        frozen(sequence_table),
        frozen(chance),
        frozen(payoff_table),
        tuple(exact_chance) if exact else None,
        tuple(exact_payoffs) if exact else None,
    )
    treeplexes = tuple(
        Treeplex(
            [entry[1] for entry in table.values()],
            [len(entry[2]) for entry in table.values()],
            list(table),
            [entry[2] for entry in table.values()],
        )
        for table in infosets
    )
    return Enumeration(treeplexes, leaves, visited + len(leaf_chance))


class _WrongAnswer(Exception):
    """What is wrong with what the rules say of the history that the walk is at."""


def _checked_mover(who: Any, num_players: int) -> Any:
    if not is_whole(who) or not CHANCE <= who < num_players:
        raise _WrongAnswer(f"has player {shown(who)}, expected 0 to {num_players - 1}, or chance (-1)")
    return who


def _checked_actions(label: Hashable, actions: Sequence[Hashable], watch: Watch, number: int) -> tuple[Hashable, ...]:
    given = actions
    _check_order("actions", actions)
    try:
        actions = actions if actions.__class__ is tuple else tuple(watch.held(actions, number))
        hash(actions)
    except TypeError:
        raise _WrongAnswer(
            f"has actions {shown(given)} in infoset {shown(label)}, expected a sequence of hashable labels"
        ) from None
    for action in actions:
        _check_action(action, "action")
    if not actions:
        raise _WrongAnswer(f"has no action in infoset {shown(label)}: a decision needs at least one")
    if len(set(actions)) != len(actions):
        twice = next(action for action in actions if actions.count(action) > 1)
        raise _WrongAnswer(
            f"has action {shown(twice)} more than once in infoset {shown(label)}: actions must be distinct"
        )
    return actions


def _check_order(what: str, given: Any) -> None:
    if not has_order(given):
        raise _WrongAnswer(f"has {what} {shown(given)}, {WITHOUT_ORDER.format(type(given).__name__, 'return')}")


def _check_action(label: Hashable, what: str) -> None:
    if label.__class__ is not str and not is_label(label):
        raise _WrongAnswer(f"has {what} {shown(label)}, expected {A_LABEL}")


def _check_agreement(player: int, label: Hashable, actions: Sequence[Hashable], known: tuple[Hashable, ...]) -> None:
    given = actions
    _check_order("actions", actions)
    try:
        actions = tuple(islice(actions, len(known) + 1))
        agree = actions == known and is_same_label(actions, known)
    except (TypeError, ValueError):  # not iterable, or labels that cannot be compared
        actions, agree = given, False
    if not agree:
        raise _WrongAnswer(
            f"has actions {shown(actions)} in infoset {shown(label)} of player {player}, which has {shown(known)} "
            "elsewhere: the actions of an infoset must agree, in the same order"
        )


def _checked_outcomes(
    outcomes: Sequence[tuple[Hashable, Any]], exact: bool, watch: Watch, number: int
) -> list[tuple[Hashable, Any]]:
    given = outcomes
    _check_order("chance outcomes", outcomes)
    try:
        if outcomes.__class__ is not list:
            outcomes = watch.held(outcomes, number)
        outcomes = [(action, probability) for action, probability in outcomes]
        distinct = len({action for action, _ in outcomes})
    except (TypeError, ValueError):
        raise _WrongAnswer(
            f"has chance outcomes {shown(given)}, expected pairs of a hashable label and its probability"
        ) from None
    for action, _ in outcomes:
        _check_action(action, "chance outcome")
    if not outcomes:
        raise _WrongAnswer("is a chance node without outcomes: expected at least one")
    if distinct != len(outcomes):
        raise _WrongAnswer("is a chance node that has an outcome twice: outcomes must be distinct")
    try:
        checked = [(action, float(probability)) for action, probability in outcomes]
    except (TypeError, ValueError, OverflowError):
        raise _WrongAnswer(f"has chance probabilities {shown([p for _, p in outcomes])}, expected numbers") from None
    total = 0.0
    for action, probability in checked:
        if not 0.0 <= probability <= 1.0 + PROBABILITY_TOLERANCE:
            raise _WrongAnswer(f"gives outcome {shown(action)} probability {probability}, expected one from 0 to 1")
        total += probability
    if not abs(total - 1.0) <= PROBABILITY_TOLERANCE:
        raise _WrongAnswer(f"has chance probabilities that sum to {total:.12g}, expected 1")
    if not exact:
        return checked
    try:
        fractions = [(action, to_fraction(probability)) for action, probability in outcomes]
    except (TypeError, ValueError):  # text, for one, which float() reads
        raise _WrongAnswer(f"has chance probabilities {shown([p for _, p in outcomes])}, expected numbers") from None
    scale = sum(probability for _, probability in fractions)
    return [(action, probability / scale) for action, probability in fractions]
