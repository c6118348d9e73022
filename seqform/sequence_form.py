"""A game in sequence form: one polytope per player, and the payoffs of combinations of sequences."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, ReadOnly
from .checks import check_player, check_type
from .enumeration import Enumeration, enumerate_game
from .errors import InvalidGameError, UnsupportedProblemError
from .factored import Factorable, FactoredPayoff
from .game_tree import GameTree
from .payoffs import LeafPayoff, LeafTable, Payoff, none_is_penalty
from .polytope import Treeplex
from .rules import Rules


class HasSequenceForm(ABC):
    """The interface that strategies need from a game: its name and its sequence form.

    :class:`~treeplex.Game` implements it.

    Attributes
    ----------
    spec : str
        The string that loads the game.
    """

    spec: str

    @property
    @abstractmethod
    def sequence_form(self) -> "SequenceForm":
        """The sequence form."""


def sequence_form_of(game: "HasSequenceForm | SequenceForm") -> "SequenceForm":
    """Return the sequence form of a game, or the sequence form itself.

    Raises
    ------
    InvalidGameError
        If it is neither.
    """
    if isinstance(game, HasSequenceForm):
        return game.sequence_form
    return check_type(game, "game", InvalidGameError, SequenceForm, "a Game (load_game returns one) or a SequenceForm")


class SequenceForm(ReadOnly):
    """The sequence form of an n-player game.

    Build one with :meth:`from_rules`, :meth:`from_tree`, :meth:`from_matrices` or :meth:`from_payoff_matrix`.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
        One per player.
    leaves : LeafTable, optional
        Required for three or more players.
    payoff_matrices : two array_like or sparse, optional
        For two players without a leaf table: each player's payoff for every pair of sequences, multiplied by chance,
        shape (num_sequences of player 0, num_sequences of player 1). They are copied.
    factored : Payoff, optional
        Instead of leaves and matrices: a :class:`~treeplex.seqform.factored.FactoredPayoff`, player 0's payoffs in a
        two-player zero-sum game as a product of two factors, or another operator on plans.
    num_nodes : int, optional
        Number of histories of the original game.
    known_as : str, optional
        The fingerprint of the object that the form was made from, if that object has its own.

    Attributes
    ----------
    treeplexes : tuple of Treeplex
    payoffs : Payoff
    leaves : LeafTable or None
    num_nodes : int or None

    Raises
    ------
    InvalidGameError
        If there are no treeplexes, payoffs are missing, of the wrong shape or not finite, or a leaf names a sequence
        that its player does not have.

    Notes
    -----
    For two players u_0(x, y) = xᵀ A y with A[s, t] = Σ π_c(z) u_0(z) over the leaves z with last sequences s and t,
    where π_c is chance's probability (von Stengel 1996, section 3; Koller, Megiddo and von Stengel, "Fast algorithms
    for finding randomized strategies in game trees", STOC 1994).

    Examples
    --------
    >>> from treeplex import SequenceForm
    >>> pennies = SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]])
    >>> pennies.A.toarray()
    array([[ 0.,  0.,  0.],
           [ 0.,  1., -1.],
           [ 0., -1.,  1.]])
    """

    def __init__(
        self,
        treeplexes: Sequence[Treeplex],
        leaves: LeafTable | None = None,
        payoff_matrices: Sequence[Any] | None = None,
        num_nodes: int | None = None,
        *,
        factored: Payoff | None = None,
        known_as: str | None = None,
    ) -> None:
        from .given_forms import checked_payoffs, checked_treeplexes

        given = checked_treeplexes(treeplexes)
        self._put_together(given, checked_payoffs(given, leaves, payoff_matrices, factored), num_nodes, known_as)

    def _put_together(
        self, treeplexes: tuple[Treeplex, ...], payoffs: Payoff, num_nodes: int | None, known_as: str | None = None
    ) -> "SequenceForm":
        self.treeplexes, self.payoffs = treeplexes, payoffs
        self.num_nodes, self._known_as = num_nodes, known_as
        return self

    def __repr__(self) -> str:
        return (
            f"SequenceForm(sequences={[t.num_sequences for t in self.treeplexes]}, "
            f"infosets={[t.num_infosets for t in self.treeplexes]})"
        )

    @classmethod
    def from_rules(cls, rules: Rules, exact: bool = False, memory: int | str | None = None) -> "SequenceForm":
        """Build the sequence form from rules in one walk, without building a tree.

        Parameters
        ----------
        rules : Rules
        exact : bool
            Keep probabilities and payoffs as fractions too, for :meth:`exact_payoffs`.
        memory : int or str, optional
            The memory budget, in bytes or as a string such as ``"8GB"``. The default is the environment variable
            ``TREEPLEX_MEMORY``, or half of the available memory if it is not set.

        Returns
        -------
        SequenceForm

        Raises
        ------
        InvalidGameError, ImperfectRecallError, GameTooLargeError, InvalidMemoryError
            As for :func:`~treeplex.seqform.enumeration.enumerate_game`.

        Examples
        --------
        >>> from treeplex import SequenceForm, load_game
        >>> SequenceForm.from_rules(load_game("kuhn").rules)
        SequenceForm(sequences=[13, 13], infosets=[6, 6])
        """
        return cls._of_walk(enumerate_game(rules, exact=exact, memory=memory))

    @classmethod
    def _of_walk(cls, found: Enumeration) -> "SequenceForm":
        payoffs = LeafPayoff(found.leaves, tuple(treeplex.num_sequences for treeplex in found.treeplexes))
        return cls.__new__(cls)._put_together(found.treeplexes, payoffs, found.num_nodes)

    @classmethod
    def from_tree(cls, tree: GameTree | Any, exact: bool = False) -> "SequenceForm":
        """Build the sequence form of a tree.

        Parameters
        ----------
        tree : GameTree or networkx.DiGraph
            A graph is checked first, as by :class:`~treeplex.seqform.game_tree.GameTree`.
        exact : bool
            Keep probabilities and payoffs as fractions too.

        Returns
        -------
        SequenceForm
        """
        tree = tree if isinstance(tree, GameTree) else GameTree(tree)
        if exact:
            return cls.from_rules(tree, exact=True)
        return cls._of_walk(tree.enumeration)

    @classmethod
    def from_matrices(
        cls, E: Any, e: npt.ArrayLike, F: Any, f: npt.ArrayLike, A: Any, B: Any | None = None
    ) -> "SequenceForm":
        """Make a two-player game from its matrices: {x ≥ 0 : E x = e}, {y ≥ 0 : F y = f} and xᵀ A y.

        Parameters
        ----------
        E, F : array_like or sparse, shape (num_infosets + 1, num_sequences)
            One row sets the weight of the empty sequence to 1; every other row has −1 at its infoset's parent sequence
            and 1 at its own sequences. Rows may be in any order; columns are in the library's order: the empty sequence
            first, each infoset's sequences contiguous, infosets in topological order.
        e, f : array_like, shape (num_infosets + 1,)
        A : array_like or sparse, shape (num_sequences of player 0, num_sequences of player 1)
            Player 0's payoffs, multiplied by chance.
        B : array_like or sparse, optional
            Player 1's payoffs; −A by default.

        Returns
        -------
        SequenceForm

        Raises
        ------
        InvalidGameError
            If E or F are not the constraints of a treeplex, or shapes do not match.
        """
        from .given_forms import constrained_game

        treeplexes, matrices = constrained_game(E, e, F, f, A, B)
        return cls(treeplexes, payoff_matrices=matrices)

    @classmethod
    def from_payoff_matrix(
        cls,
        payoffs: npt.ArrayLike,
        column_payoffs: npt.ArrayLike | None = None,
        labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    ) -> "SequenceForm":
        """Make a matrix game: player 0 chooses the row, player 1 the column.

        Parameters
        ----------
        payoffs : array_like, shape (rows, columns)
            Player 0's payoffs.
        column_payoffs : array_like, shape (rows, columns), optional
            Player 1's payoffs; by default the negative of player 0's.
        labels : pair of sequences, optional
            Names of the rows and of the columns.

        Returns
        -------
        SequenceForm
        """
        from .given_forms import matrix_game

        treeplexes, matrices = matrix_game(payoffs, column_payoffs, labels)
        return cls(treeplexes, payoff_matrices=matrices)

    @property
    def num_players(self) -> int:
        """Number of players, not counting chance."""
        return len(self.treeplexes)

    @property
    def leaves(self) -> LeafTable | None:
        """The payoffs at the leaves, if they are known."""
        return self.payoffs.leaves

    @property
    def num_leaves(self) -> int | None:
        """Number of leaves; ``None`` if the game was given as matrices."""
        return None if self.leaves is None else len(self.leaves)

    @property
    def factored(self) -> FactoredPayoff | None:
        """Player 0's payoffs as a product of two factors; ``None`` if they have another form or are not zero-sum."""
        return self.payoffs.factored if isinstance(self.payoffs, Factorable) else None

    @property
    def nnz(self) -> int | None:
        """Number of non-zeros of the payoff matrix, or of its factors; ``None`` unless there are two players."""
        if self.factored is not None:
            return self.factored.nnz
        return int(self.A.nnz) if self.num_players == 2 else None

    @property
    def is_zero_sum(self) -> bool:
        """Whether the players' payoffs sum to zero everywhere, up to floating-point round-off."""
        return self.payoffs.is_zero_sum

    @cached_property
    def constant_sum(self) -> float | None:
        """The sum of the players' payoffs if it does not depend on the play, otherwise ``None``.

        It is zero in a zero-sum game; :attr:`zero_sum` is the two-player game with the constant subtracted.

        Examples
        --------
        >>> from treeplex import SequenceForm
        >>> SequenceForm.from_payoff_matrix([[3, 0]], [[2, 5]]).constant_sum
        5.0
        """
        if self.is_zero_sum:
            return 0.0
        if self.leaves is not None:
            return self.leaves.constant_sum
        if self.num_players != 2:
            return None
        from .constant_sums import constant_sum_of_matrices

        return constant_sum_of_matrices(self.treeplexes, self.payoffs, self.stakes)

    @cached_property
    def zero_sum(self) -> "SequenceForm":
        """The same two-player game with :attr:`constant_sum` subtracted from player 1's payoffs.

        Both games have the same fingerprint and the same strategies.

        Raises
        ------
        UnsupportedProblemError
            If the payoffs do not have a constant sum, or the number of players is not two.

        Examples
        --------
        >>> from treeplex import SequenceForm
        >>> form = SequenceForm.from_payoff_matrix([[3, 0]], [[2, 5]]).zero_sum
        >>> form.payoff_matrix(1).toarray().tolist()
        [[0.0, 0.0, 0.0], [0.0, -3.0, 0.0]]
        """
        if self.num_players != 2 or self.constant_sum is None:
            raise UnsupportedProblemError("expected a two-player game whose payoffs have a constant sum")
        if not self.constant_sum:
            return self
        from .constant_sums import opposed_payoffs

        known = {"num_nodes": self.num_nodes, "known_as": self.fingerprint}
        return SequenceForm(self.treeplexes, **opposed_payoffs(self.payoffs), **known)  # type: ignore[arg-type]

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff at a leaf (or in the given payoff matrices); 1 if all are zero."""
        return self.payoffs.scale

    @cached_property
    def stakes(self) -> float:
        """The largest absolute payoff without penalties; see :func:`~treeplex.seqform.stakes.find_stakes`."""
        if self.leaves is not None and none_is_penalty(np.abs(self.leaves.reached_payoffs)):
            return self.payoff_scale
        from .stakes import find_stakes

        return find_stakes(self.treeplexes, self.payoffs)

    def penalty_round_off(self, plans: Sequence[Floats]) -> float:
        """Return the possible round-off error of the bounds that two players' plans prove, in payoff units.

        0 if there are no penalties, because the error is then far below any tolerance; see
        :func:`~treeplex.seqform.stakes.round_off`.
        """
        if self.num_players != 2 or self.stakes == self.payoff_scale:
            return 0.0
        from .stakes import round_off

        return round_off(self.treeplexes, self.payoffs, plans)

    def payoff_matrix(self, player: int) -> sp.csr_array:
        """Return a player's payoff for every pair of sequences of a two-player game.

        Parameters
        ----------
        player : {0, 1}

        Returns
        -------
        csr_array of float64, shape (num_sequences of player 0, num_sequences of player 1)
            Multiplied by chance, columns sorted, no stored zeros. Its arrays are read-only.

        Raises
        ------
        InvalidGameError
            If there is no such player.
        UnsupportedProblemError
            If the number of players is not two.
        """
        if self.num_players != 2:
            raise UnsupportedProblemError(
                f"a payoff matrix needs two players, but this game has {self.num_players}: use its leaf table"
            )
        return self.payoffs.matrix_of(check_player(player, self.num_players, InvalidGameError))

    @property
    def A(self) -> sp.csr_array:
        """Player 0's payoffs in a two-player game: ``payoff_matrix(0)``."""
        return self.payoff_matrix(0)

    @property
    def E(self) -> sp.csr_array:
        """Constraint matrix of player 0's realization plans."""
        return self.treeplexes[0].E

    @property
    def e(self) -> Floats:
        """Right-hand side of player 0's constraints."""
        return self.treeplexes[0].e

    @property
    def F(self) -> sp.csr_array:
        """Constraint matrix of player 1's realization plans."""
        return self.treeplexes[1].E

    @property
    def f(self) -> Floats:
        """Right-hand side of player 1's constraints."""
        return self.treeplexes[1].e

    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return a player's payoff per unit of each own sequence, given the others' plans.

        Parameters
        ----------
        player : int
        plans : sequence of ndarray of float64
            One realization plan per player; the player's own is not read.

        Returns
        -------
        ndarray of float64, shape (num_sequences of the player,)
            For two players A y or Bᵀ x.
        """
        return self.payoffs.gradient(check_player(player, self.num_players, InvalidGameError), plans)

    def expected_payoffs(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff for given plans, shape (num_players,)."""
        return self.payoffs.expected(plans)

    def exact_payoffs(self, player: int = 0) -> dict[tuple[int, ...], Fraction]:
        """Return a player's payoffs by tuples of sequences, as fractions.

        Parameters
        ----------
        player : int

        Returns
        -------
        dict
            The chance-weighted payoff of each tuple of sequences (one per player) at which the game can end. For two
            players, these are the entries of ``payoff_matrix(player)``.

        Raises
        ------
        InvalidGameError
            If the sequence form was built without ``exact=True``, or there is no such player.
        """
        player = check_player(player, self.num_players, InvalidGameError)
        leaves = self.leaves
        if leaves is None or leaves.exact_chance is None or leaves.exact_payoffs is None:
            raise InvalidGameError("this sequence form contains only floats: build it with exact=True")
        entries: dict[tuple[int, ...], Fraction] = {}
        for key, chance, payoffs in zip(
            map(tuple, leaves.sequences.tolist()), leaves.exact_chance, leaves.exact_payoffs, strict=True
        ):
            entries[key] = entries.get(key, Fraction(0)) + chance * payoffs[player]
        return entries

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify the game: a hash of labels, structure and payoffs (to 9 digits).

        Raises
        ------
        InvalidGameError
            If a label's ``repr`` contains a memory address, as Python's default does: it differs between processes.
        """
        if self._known_as is not None:
            return self._known_as
        from .fingerprint import fingerprint, payoff_entries

        return fingerprint(self.treeplexes, payoff_entries(self.payoffs))
