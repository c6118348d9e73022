"""Two-player games as matrices in one ``.npz`` file, which numpy and scipy can read; nothing in it is pickled.

===================================  ===============================================================================
array                                contents
===================================  ===============================================================================
``E_data``, ``E_indices``,           player 0's constraint matrix E in compressed rows (scipy's CSR): values, columns,
``E_indptr``, ``E_shape``            start of each row, numbers of rows and columns
``e``                                its right-hand side
``F_data``, …, ``f``                 the same for player 1
``A_data``, …                        player 0's payoff for every pair of sequences
``B_data``, …                        player 1's payoff, unless it is −A
``left_data``, …, ``right_data``, …  instead of A, if the game stores it as a product: A = left · right
``metadata``                         string, a JSON object: ``format`` (``"treeplex matrices"``), ``version`` (1),
                                     ``game``, and for each player ``labels``, ``{"infosets": […], "actions": [[…]]}``
===================================  ===============================================================================

Labels are encoded as in :mod:`~treeplex.seqform.interchange.encoding`. An archive without metadata that has dense
arrays ``E``, ``e``, ``F``, ``f``, ``A`` and optionally ``B``, such as ``numpy.savez`` writes, can be read too.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import GameFileError, GameTooLargeError, InvalidGameError, UnsupportedProblemError, one_line, shown
from ..factored import FactoredPayoff
from ..game import Game
from ..given_forms import treeplex_from_constraints
from ..polytope import Treeplex
from ..sequence_form import SequenceForm, sequence_form_of
from .encoding import decode, encode
from .files import check_memory, naming, read_archive, refusing_unreadable, refusing_unwritable, write_archive

_FORMAT, _VERSION = "treeplex matrices", 1
# Bytes of memory for each entry of the arrays, and for each row of an empty one: a dense matrix of single bytes becomes
# a sparse one of 8-byte numbers.
_ENTRY = 64


def write_matrices(game: Game | SequenceForm, path: str | Path) -> None:
    """Write the matrices of a two-player game, atomically.

    Parameters
    ----------
    game : Game or SequenceForm
    path : path-like

    Raises
    ------
    UnsupportedProblemError
        If the game does not have two players.
    InvalidGameError
        If a label contains anything but strings, numbers, ``True``, ``False``, ``None``, tuples and frozensets.
    GameFileError
        If the file cannot be written.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.matrix_file import read_matrices, write_matrices
    >>> game = load_game("kuhn")
    >>> write_matrices(game, "kuhn.npz")
    >>> read_matrices("kuhn.npz").fingerprint == game.fingerprint
    True
    """
    form = sequence_form_of(game)
    if form.num_players != 2:
        name = game.spec if isinstance(game, Game) else "the game"
        raise UnsupportedProblemError(
            f"matrices need two players, but {name} has {form.num_players}: write it as .efg, .graphml or .json"
        )
    arrays: dict[str, npt.NDArray[Any]] = {"e": form.e, "f": form.f, **_parts("E", form.E), **_parts("F", form.F)}
    if form.factored is not None:
        arrays |= _parts("left", form.factored.left) | _parts("right", form.factored.right)
        if form.factored.chained is not None:
            arrays |= {"chained": form.factored.chained, "scale": np.array(form.factored.scale)}
    else:
        arrays |= _parts("A", form.A)
        if (form.A + form.payoff_matrix(1)).nnz:
            arrays |= _parts("B", form.payoff_matrix(1))
    metadata = {
        "format": _FORMAT,
        "version": _VERSION,
        "game": game.spec if isinstance(game, Game) else "",
        "labels": [
            {"infosets": encode(treeplex.infoset_labels), "actions": encode(treeplex.action_labels)}
            for treeplex in form.treeplexes
        ],
    }
    with refusing_unwritable(path):
        write_archive(path, metadata, arrays)


def _parts(name: str, matrix: sp.csr_array) -> dict[str, npt.NDArray[Any]]:
    return {
        f"{name}_data": matrix.data,
        f"{name}_indices": matrix.indices,
        f"{name}_indptr": matrix.indptr,
        f"{name}_shape": np.array(matrix.shape, dtype=np.int64),
    }


def read_matrices(path: str | Path) -> SequenceForm:
    """Read a two-player game from its matrices.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    SequenceForm
        The game with the labels that were written and therefore, except for round-off, the same fingerprint.

    Raises
    ------
    GameFileError
        If there is no such file, or it does not contain the matrices of a game; the message names it.
    GameTooLargeError
        If it may take more memory than the budget for building a game.
    InvalidGameError
        If the matrices do not form a game; see :meth:`SequenceForm.from_matrices
        <treeplex.seqform.sequence_form.SequenceForm.from_matrices>`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import read_matrices, write_matrices
    >>> write_matrices(load_game("kuhn"), "kuhn.npz")
    >>> read_matrices("kuhn.npz")
    SequenceForm(sequences=[13, 13], infosets=[6, 6])
    """
    with refusing_unreadable(path):
        try:
            metadata, arrays = read_archive(path)
        except (OSError, GameFileError, GameTooLargeError):
            raise
        except Exception as error:  # with a damaged archive, zipfile, zlib and numpy raise almost any error
            raise GameFileError(f"not an .npz archive of arrays, or a damaged one: {one_line(str(error))}") from None
        check_memory(_ENTRY * sum(max(array.size, *array.shape, 0) for array in arrays.values()))
    with naming(path):
        return _Reader(metadata, arrays).form()


class _Reader:
    def __init__(self, metadata: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        if "behaviour_0" in arrays or "behaviour_1" in arrays:
            raise GameFileError("it contains strategies, not the matrices of a game")
        if metadata and (metadata.get("format") != _FORMAT or metadata.get("version") != _VERSION):
            raise GameFileError(
                f"the file has format {shown(metadata.get('format'))} version {shown(metadata.get('version'))}, "
                f"expected {_FORMAT!r} version {_VERSION}"
            )
        self.metadata, self.arrays = metadata, arrays

    def form(self) -> SequenceForm:
        constraints = (
            treeplex_from_constraints(self.matrix("E"), self.array("e"), "E", "e"),
            treeplex_from_constraints(self.matrix("F"), self.array("f"), "F", "f"),
        )
        labels = self.metadata.get("labels")
        if labels is None:
            treeplexes = list(constraints)
        elif isinstance(labels, list) and len(labels) == 2:
            treeplexes = [_labelled(treeplex, each) for treeplex, each in zip(constraints, labels, strict=True)]
        else:
            raise GameFileError(f"its labels are {shown(labels)}, expected one object per player")
        if self.has("left"):
            chained = self.array("chained") if self.has("chained") else None
            scale = None if chained is None else float(self.array("scale"))
            factored = FactoredPayoff(self.matrix("left"), self.matrix("right"), chained, scale)
            return SequenceForm(treeplexes, factored=factored)
        first = self.matrix("A")
        return SequenceForm(treeplexes, payoff_matrices=(first, self.matrix("B") if self.has("B") else -first))

    def has(self, name: str) -> bool:
        return name in self.arrays or f"{name}_data" in self.arrays

    def array(self, name: str, kinds: str = "biuf") -> npt.NDArray[Any]:
        if name not in self.arrays:
            raise GameFileError(f"not the matrices of a game: the array {name} is missing")
        array = self.arrays[name]
        if array.dtype.kind not in kinds:
            expected = "numbers" if "f" in kinds else "integers"
            raise GameFileError(f"the array {name} has type {array.dtype}, expected {expected}")
        return array

    def matrix(self, name: str) -> Any:
        if name in self.arrays:
            return np.asarray(self.array(name), dtype=np.float64)
        data, indices, indptr, shape = (
            self.array(f"{name}_{part}", kinds)
            for part, kinds in (("data", "biuf"), ("indices", "iu"), ("indptr", "iu"), ("shape", "iu"))
        )
        try:
            rows, columns = shape.tolist()
            parts = (data.astype(np.float64), indices.astype(np.int64), indptr.astype(np.int64))
            return sp.csr_array(parts, shape=(rows, columns))
        except (TypeError, ValueError, OverflowError) as error:
            raise GameFileError(f"{name} is not a matrix in compressed rows: {one_line(str(error))}") from None


def _labelled(treeplex: Treeplex, labels: Any) -> Treeplex:
    if not isinstance(labels, dict):
        raise GameFileError(f"a player's labels are {shown(labels)}, expected an object")
    infosets, actions = (decode(labels.get(name, [])) for name in ("infosets", "actions"))
    if not isinstance(infosets, tuple) or not isinstance(actions, tuple):
        raise GameFileError("a player's labels are not arrays: expected 'infosets' and 'actions'")
    if not all(isinstance(each, tuple) for each in actions):
        raise GameFileError("a player's 'actions' are not an array of arrays, one per infoset")
    try:
        return Treeplex.from_inflow(treeplex.inflow, treeplex.num_actions, infosets, actions)
    except InvalidGameError as error:
        raise GameFileError(f"its labels do not match its matrices: {error}") from None
