"""A game in sequence form: one polytope per player, and what pairs of sequences pay."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, ReadOnly, canonical, floats, frozen
from .checks import check_player
from .enumeration import enumerate_game
from .errors import InvalidGameError, UnsupportedProblemError, shown
from .factored import FactoredPayoff
from .fingerprint import factored_entries, fingerprint, leaf_entries, matrix_entries
from .flow_polytope import INFLOW_TOLERANCE
from .game_tree import GameTree
from .labels import has_order
from .payoffs import LeafPayoff, LeafTable, MatrixPayoff, Payoff, without_round_off
from .polytope import Treeplex
from .rules import Rules


class SequenceForm(ReadOnly):
    """The sequence form of an n-player game.

    Build one with :meth:`from_rules`, :meth:`from_tree`, :meth:`from_matrices` or :meth:`from_payoff_matrix`.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
        One a player.
    leaves : LeafTable, optional
        Needed for three players and more.
    payoff_matrices : two array_like or sparse, optional
        For two players without a leaf table: what each player is paid for every pair of sequences, shape
        (num_sequences of player 0, num_sequences of player 1), chance multiplied in. They are copied.
    factored : Payoff, optional
        In place of leaves and matrices: a :class:`~treeplex.seqform.factored.FactoredPayoff`, player 0's payoffs as a
        product of two factors in a zero-sum game of two players, or another operator on plans.
    num_nodes : int, optional
        Number of histories of the game that it comes from.
    known_as : str, optional
        The fingerprint of what it was made of, where that has one of its own.

    Attributes
    ----------
    treeplexes : tuple of Treeplex
    payoffs : Payoff
    leaves : LeafTable or None
    num_nodes : int or None

    Raises
    ------
    InvalidGameError
        If there are no treeplexes, payoffs are missing, of the wrong shape or not finite, or a leaf has a sequence that
        its player does not have.

    Notes
    -----
    For two players u_0(x, y) = xᵀ A y with A[s, t] = Σ π_c(z) u_0(z) over the leaves z with last sequences s and t,
    π_c chance's probability (von Stengel 1996, section 3; Koller, Megiddo and von Stengel, "Fast algorithms for finding
    randomized strategies in game trees", STOC 1994).

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
        self._known_as = known_as
        try:
            self.treeplexes = tuple(treeplexes)
        except TypeError:
            self.treeplexes = ()
        if not self.treeplexes or not all(isinstance(treeplex, Treeplex) for treeplex in self.treeplexes):
            raise InvalidGameError(
                f"the treeplexes are {shown(treeplexes)}, expected a sequence of Treeplex, one per player"
            )
        self.num_nodes = num_nodes
        if (leaves is not None) + (payoff_matrices is not None) + (factored is not None) != 1:
            raise InvalidGameError(
                "a sequence form needs a leaf table, payoff matrices or factored payoffs, one of the three"
            )
        self.payoffs: Payoff
        if leaves is not None:
            self._check_leaves(leaves)
            self.payoffs = LeafPayoff(leaves, tuple(treeplex.num_sequences for treeplex in self.treeplexes))
        elif payoff_matrices is not None:
            self.payoffs = MatrixPayoff(*self._checked_matrices(payoff_matrices))
        else:
            self.payoffs = self._checked_payoff(factored)

    def _check_leaves(self, leaves: LeafTable) -> None:
        # Compiled functions index with these numbers unchecked.
        if not isinstance(leaves, LeafTable):
            raise InvalidGameError(f"the leaves are {shown(leaves)}, expected a LeafTable")
        if leaves.num_players != self.num_players:
            raise InvalidGameError(
                f"the leaf table is of {leaves.num_players} players, but there are {self.num_players} treeplexes: "
                "one each is needed"
            )
        for player, treeplex in enumerate(self.treeplexes):
            sequences = leaves.sequences[:, player]
            if sequences.min() < 0 or sequences.max() >= treeplex.num_sequences:
                leaf = int(np.argmax((sequences < 0) | (sequences >= treeplex.num_sequences)))
                raise InvalidGameError(
                    f"leaf {leaf} has sequence {sequences[leaf]} of player {player}, expected one from 0 to "
                    f"{treeplex.num_sequences - 1}"
                )

    def _checked_payoff(self, factored: Any) -> Payoff:
        if not isinstance(factored, Payoff):
            raise InvalidGameError(f"the factored payoffs are {shown(factored)}, expected a FactoredPayoff")
        shape = tuple(treeplex.num_sequences for treeplex in self.treeplexes)
        if factored.shape != shape:
            raise InvalidGameError(
                f"the factored payoffs have shape {factored.shape}, expected {shape}: one row a sequence of player 0, "
                "one column a sequence of player 1"
            )
        return factored

    def _checked_matrices(self, payoff_matrices: Sequence[Any]) -> tuple[sp.csr_array, sp.csr_array]:
        shape = tuple(treeplex.num_sequences for treeplex in self.treeplexes)
        if len(shape) != 2:
            raise InvalidGameError(f"payoff matrices are for two players, but there are {len(shape)} treeplexes")
        try:
            first, second = payoff_matrices
        except (TypeError, ValueError):
            raise InvalidGameError(
                f"the payoff matrices are {shown(payoff_matrices)}, expected two, one per player"
            ) from None
        matrices = []
        for player, given in enumerate((first, second)):
            name = f"the payoff matrix of player {player}"
            matrix = canonical(given, name)
            if matrix.shape != shape:
                raise InvalidGameError(
                    f"{name} has shape {matrix.shape}, expected {shape}: one row a sequence of player 0, one column a "
                    "sequence of player 1"
                )
            if not np.isfinite(matrix.data).all():
                raise InvalidGameError(f"{name} holds a number that is not finite")
            matrices.append(frozen(matrix))
        return matrices[0], matrices[1]

    def __repr__(self) -> str:
        return (
            f"SequenceForm(sequences={[t.num_sequences for t in self.treeplexes]}, "
            f"infosets={[t.num_infosets for t in self.treeplexes]})"
        )

    @classmethod
    def from_rules(cls, rules: Rules, exact: bool = False, memory: int | str | None = None) -> "SequenceForm":
        """Stream a game's rules into arrays, without building a tree.

        Parameters
        ----------
        rules : Rules
        exact : bool
            Keep probabilities and payoffs as fractions too, for :meth:`exact_payoffs`.
        memory : int or str, optional
            What building may take, in bytes or as text such as ``"8GB"``. By default the environment variable
            ``TREEPLEX_MEMORY``, and without it half of the memory that is available.

        Returns
        -------
        SequenceForm

        Raises
        ------
        InvalidGameError, ImperfectRecallError, GameTooLargeError, InvalidMemoryError
            As :func:`~treeplex.seqform.enumeration.enumerate_game`.

        Examples
        --------
        >>> from treeplex import SequenceForm, load_game
        >>> SequenceForm.from_rules(load_game("kuhn").rules)
        SequenceForm(sequences=[13, 13], infosets=[6, 6])
        """
        found = enumerate_game(rules, exact=exact, memory=memory)
        return cls(found.treeplexes, found.leaves, num_nodes=found.num_nodes)

    @classmethod
    def from_tree(cls, tree: "GameTree | Any", exact: bool = False) -> "SequenceForm":
        """Take the sequence form of a tree.

        Parameters
        ----------
        tree : GameTree or networkx.DiGraph
            A graph is checked first, as :class:`~treeplex.seqform.game_tree.GameTree` does.
        exact : bool
            Keep probabilities and payoffs as fractions too.

        Returns
        -------
        SequenceForm
        """
        tree = tree if isinstance(tree, GameTree) else GameTree(tree)
        if exact:
            return cls.from_rules(tree, exact=True)
        found = tree.enumeration
        return cls(found.treeplexes, found.leaves, num_nodes=found.num_nodes)

    @classmethod
    def from_matrices(
        cls, E: Any, e: npt.ArrayLike, F: Any, f: npt.ArrayLike, A: Any, B: Any | None = None
    ) -> "SequenceForm":
        """Take a two-player game from its matrices: {x ≥ 0 : E x = e}, {y ≥ 0 : F y = f} and xᵀ A y.

        Parameters
        ----------
        E, F : array_like or sparse, shape (num_infosets + 1, num_sequences)
            Row 0 says that the empty sequence has weight 1; every other row has −1 at its infoset's parent sequence and
            1 at its own sequences. Rows may come in any order; columns in the library's: the empty sequence first, each
            infoset's sequences contiguous, infosets in topological order.
        e, f : array_like, shape (num_infosets + 1,)
        A : array_like or sparse, shape (num_sequences of player 0, num_sequences of player 1)
            Player 0's payoffs, chance multiplied in.
        B : array_like or sparse, optional
            Player 1's; −A if not given.

        Returns
        -------
        SequenceForm

        Raises
        ------
        InvalidGameError
            If E or F are not the constraints of a treeplex, or shapes do not match.
        """
        treeplexes = (polytope_from_constraints(E, e, "E", "e"), polytope_from_constraints(F, f, "F", "f"))
        first = canonical(A, "A")
        return cls(treeplexes, payoff_matrices=(first, -first if B is None else canonical(B, "B")))

    @classmethod
    def from_payoff_matrix(
        cls,
        payoffs: npt.ArrayLike,
        column_payoffs: npt.ArrayLike | None = None,
        labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    ) -> "SequenceForm":
        """Take a matrix game: player 0 chooses the row, player 1 the column.

        Parameters
        ----------
        payoffs : array_like, shape (rows, columns)
            Player 0's payoffs.
        column_payoffs : array_like, shape (rows, columns), optional
            Player 1's; the negative of player 0's if not given.
        labels : pair of sequences, optional
            Names of the rows and of the columns.

        Returns
        -------
        SequenceForm
        """
        wrong = "the payoffs are not a matrix of numbers"
        tables = [floats(payoffs, wrong)]
        tables.append(-tables[0] if column_payoffs is None else floats(column_payoffs, wrong))
        if tables[0].ndim != 2 or not tables[0].size or tables[1].shape != tables[0].shape:
            raise InvalidGameError(
                f"payoff matrices have shapes {tables[0].shape} and {tables[1].shape}: two equal ones, with at least "
                "one row and one column, are needed"
            )
        shape = tables[0].shape
        try:
            rows, columns = (range(shape[0]), range(shape[1])) if labels is None else labels
            if not all(map(has_order, (labels, rows, columns))):
                raise TypeError("a set has no order")
            rows, columns = tuple(rows), tuple(columns)
        except (TypeError, ValueError):
            raise InvalidGameError(
                f"labels is {shown(labels)}, expected a pair of sequences: names of the rows and of the columns"
            ) from None
        treeplexes = [Treeplex([0], [shape[0]], ["row"], [rows]), Treeplex([0], [shape[1]], ["column"], [columns])]
        return cls(treeplexes, payoff_matrices=[np.pad(table, ((1, 0), (1, 0))) for table in tables])

    @property
    def num_players(self) -> int:
        """Number of players, chance not counted."""
        return len(self.treeplexes)

    @property
    def leaves(self) -> LeafTable | None:
        """What each leaf pays, if it is known."""
        return self.payoffs.leaves

    @property
    def num_leaves(self) -> int | None:
        """Number of leaves; ``None`` if the game was given as matrices."""
        return None if self.leaves is None else len(self.leaves)

    @property
    def factored(self) -> FactoredPayoff | None:
        """Player 0's payoffs as a product of two factors; ``None`` if they are not given so, or not zero-sum."""
        return self.payoffs.factored

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
        """What the players' payoffs sum to, if that is the same however they play; ``None`` if it differs.

        Zero in a zero-sum game; :attr:`zero_sum` is the game of two players with the constant taken off.

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
        sums = self.payoff_matrix(0) + self.payoff_matrix(1)
        typical = min(self.payoff_scale, self.stakes)
        constant = constant_of(sums, self.treeplexes[0], self.treeplexes[1], 1e-9 * typical)
        return None if constant is None else without_round_off(constant, self.payoff_scale)

    @cached_property
    def zero_sum(self) -> "SequenceForm":
        """The same game of two players with :attr:`constant_sum` taken off player 1's payoffs.

        It has the same fingerprint: strategies of one are strategies of the other.

        Raises
        ------
        UnsupportedProblemError
            If the payoffs of the players do not have a constant sum, or there are not two players.

        Examples
        --------
        >>> from treeplex import SequenceForm
        >>> form = SequenceForm.from_payoff_matrix([[3, 0]], [[2, 5]]).zero_sum
        >>> form.payoff_matrix(1).toarray().tolist()
        [[0.0, 0.0, 0.0], [0.0, -3.0, 0.0]]
        """
        if self.num_players != 2 or self.constant_sum is None:
            raise UnsupportedProblemError("expected a game of two players whose payoffs have a constant sum")
        if not self.constant_sum:
            return self
        known = {"num_nodes": self.num_nodes, "known_as": self.fingerprint}
        if self.leaves is None:
            first = self.payoff_matrix(0)
            return SequenceForm(self.treeplexes, payoff_matrices=(first, -first), **known)  # type: ignore[arg-type]
        found, first = self.leaves, self.leaves.payoffs[:, 0]
        exact = found.exact_payoffs and tuple((paid[0], -paid[0]) for paid in found.exact_payoffs)
        opposed = np.stack([first, -first], axis=1)
        leaves = LeafTable(found.sequences, found.chance, opposed, found.exact_chance, exact)
        return SequenceForm(self.treeplexes, leaves, **known)  # type: ignore[arg-type]

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff at a leaf (in the matrices, if the game was given so); 1 if all are zero."""
        return self.payoffs.scale

    @cached_property
    def stakes(self) -> float:
        """The largest absolute payoff apart from penalties; see :func:`~treeplex.seqform.stakes.find_stakes`."""
        from .stakes import find_stakes  # it takes best responses, which are computed from sequence forms

        return find_stakes(self)

    def payoff_matrix(self, player: int) -> sp.csr_array:
        """Return what a player of a two-player game is paid for every pair of sequences.

        Parameters
        ----------
        player : {0, 1}

        Returns
        -------
        csr_array of float64, shape (num_sequences of player 0, num_sequences of player 1)
            Chance multiplied in, columns sorted, no stored zeros. Its arrays are read-only.

        Raises
        ------
        InvalidGameError
            If there is no such player.
        UnsupportedProblemError
            If the game has more or fewer than two players.
        """
        if self.num_players != 2:
            raise UnsupportedProblemError(
                f"a payoff matrix needs a game of two players, this one has {self.num_players}: use its leaf table"
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
            One realization plan a player; the player's own is not read.

        Returns
        -------
        ndarray of float64, shape (num_sequences of the player,)
            For two players A y and Bᵀ x.
        """
        return self.payoffs.gradient(check_player(player, self.num_players, InvalidGameError), plans)

    def expected_payoffs(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff when all play the given plans, shape (num_players,)."""
        return self.payoffs.expected(plans)

    def exact_payoffs(self, player: int = 0) -> dict[tuple[int, ...], Fraction]:
        """Return a player's payoffs by tuples of sequences, as fractions.

        Parameters
        ----------
        player : int

        Returns
        -------
        dict
            The chance-weighted payoff of each tuple of sequences (one per player) at which the game can end; for two
            players these are the entries of ``payoff_matrix(player)``.

        Raises
        ------
        InvalidGameError
            If the sequence form was built without ``exact=True``, or there is no such player.
        """
        player = check_player(player, self.num_players, InvalidGameError)
        leaves = self.leaves
        if leaves is None or leaves.exact_chance is None or leaves.exact_payoffs is None:
            raise InvalidGameError("this sequence form only holds floats: build it with exact=True")
        entries: dict[tuple[int, ...], Fraction] = {}
        for key, chance, payoffs in zip(
            map(tuple, leaves.sequences.tolist()), leaves.exact_chance, leaves.exact_payoffs, strict=True
        ):
            entries[key] = entries.get(key, Fraction(0)) + chance * payoffs[player]
        return entries

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that tell games apart: labels, structure and payoffs (to nine digits).

        Raises
        ------
        InvalidGameError
            If a label's ``repr`` holds an address in memory, as Python's default one does: it differs in every process.
        """
        if self._known_as is not None:
            return self._known_as
        if isinstance(self.payoffs, MatrixPayoff):
            return fingerprint(self.treeplexes, [[matrix_entries(matrix) for matrix in self.payoffs.matrices]])
        if self.factored is not None:
            return fingerprint(self.treeplexes, factored_entries(self.factored))
        assert self.leaves is not None
        weighted = self.leaves.chance[:, None] * self.leaves.payoffs
        return fingerprint(self.treeplexes, [leaf_entries(self.leaves.sequences, weighted)])


def polytope_from_constraints(matrix: Any, right_side: npt.ArrayLike, name: str, right_name: str) -> Treeplex:
    """Read a treeplex from its constraints E x = e.

    Parameters
    ----------
    matrix : array_like or sparse, shape (num_infosets + 1, num_sequences)
        One row with a single 1, for the empty sequence (column 0); every other row has a −1 at the infoset's parent
        sequence and a 1 at each of its own sequences, which are contiguous and come after the parent. Several entries
        −w in place of the −1 are the inflows of a flow polytope. A row may be multiplied by −1.
    right_side : array_like, shape (num_infosets + 1,)
        1 for the empty sequence's row, 0 for the others.
    name, right_name : str
        What to call them in messages.

    Returns
    -------
    Treeplex

    Raises
    ------
    InvalidGameError
        If the constraints are not of this form.
    """
    rows = canonical(matrix, name)
    right = floats(right_side, f"{right_name} is not a vector of numbers")
    if right.shape != (rows.shape[0],):
        raise InvalidGameError(f"{right_name} has shape {right.shape}, expected ({rows.shape[0]},): one entry per row")
    infosets: list[tuple[int, int, int, float]] = []  # first sequence, number of actions, row, sign
    roots = 0
    for row in range(rows.shape[0]):
        columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        values = rows.data[rows.indptr[row] : rows.indptr[row + 1]]
        if len(columns) == 1 and columns[0] == 0 and values[0] == right[row] != 0.0:
            roots += 1
            continue
        # Inflows come before the infoset's own sequences, so the first entry is one of them and tells the row's sign.
        sign = -1.0 if len(values) and values[0] > 0.0 else 1.0
        own = columns[sign * values > 0.0]
        before = columns[sign * values < 0.0]
        if (
            not len(before)
            or not len(own)
            or (np.abs(values[: len(before)]) > 1.0 + INFLOW_TOLERANCE).any()
            or (sign * values[len(before) :] != 1.0).any()
            or right[row] != 0.0
        ):
            raise InvalidGameError(
                f"row {row} of {name} does not belong to an infoset: it needs one -1 (parent sequence) or several "
                f"entries from -1 to 0 (inflows), then a 1 at each own sequence, and a 0 in {right_name}"
            )
        if own[-1] - own[0] != len(own) - 1 or before[-1] >= own[0]:
            raise InvalidGameError(
                f"row {row} of {name} has own sequences {own.tolist()} and parent sequence {before[-1]}: own ones must "
                "be contiguous and come after the parent"
            )
        infosets.append((int(own[0]), len(own), row, sign))
    infosets.sort()
    firsts = [first for first, _, _, _ in infosets]
    counts = [count for _, count, _, _ in infosets]
    expected = (1 + np.cumsum([0, *counts])[:-1]).tolist()
    if roots != 1 or firsts != expected or 1 + sum(counts) != rows.shape[1]:
        raise InvalidGameError(
            f"{name} is not the constraint matrix of a treeplex: one row must set column 0 (the empty sequence) to 1, "
            "and every other column must belong to exactly one infoset's row"
        )
    ordered = sp.csr_array(rows[np.array([row for _, _, row, _ in infosets], dtype=np.intp)])
    signs = np.repeat([sign for _, _, _, sign in infosets], np.diff(ordered.indptr))
    ordered.data = np.maximum(-signs * ordered.data, 0.0)
    return Treeplex.from_inflow(ordered, counts)


def constant_of(matrix: Any, first: Treeplex, second: Treeplex, tolerance: float) -> float | None:
    """Return c if xᵀ M y = c for all realization plans x and y of two players, ``None`` if it differs.

    Parameters
    ----------
    matrix : sparse, shape (num_sequences of the first player, num_sequences of the second)
    first, second : Treeplex
    tolerance : float
        How far an entry of the reduced matrix (see Notes) may be from zero.

    Notes
    -----
    Multiples of the constraints E x = e and F y = f are subtracted until no entry is left for the first action of any
    infoset. Entries at the others then say how payoffs differ between actions, and all but that of the two empty
    sequences must vanish.
    """
    reduced = _reduced(_reduced(sp.csr_array(matrix), second).T, first)
    constant = float(reduced[0, 0])
    reduced = reduced.tocoo()
    others = (reduced.coords[0] > 0) | (reduced.coords[1] > 0)
    return constant if np.abs(reduced.data[others]).max(initial=0.0) <= tolerance else None


def _reduced(matrix: Any, treeplex: Treeplex) -> Any:
    for level in reversed(treeplex.levels):
        matrix = (
            sp.csr_array(matrix)
            - sp.csr_array(matrix)[:, level.sequences[level.starts]] @ (treeplex.E[level.infosets + 1])
        )
    return matrix
