"""Matrix games in which a player has one of several types."""

import numpy as np
import numpy.typing as npt

from .arrays import floats
from .errors import InvalidGameError
from .polytope import Treeplex
from .sequence_form import SequenceForm


def bayesian_form(payoffs: npt.ArrayLike, column_payoffs: npt.ArrayLike, probabilities: npt.ArrayLike) -> SequenceForm:
    """Make a Bayesian matrix game: chance draws a type of player 1, which player 1 knows and player 0 does not.

    Parameters
    ----------
    payoffs, column_payoffs : array_like, shape (types, rows, columns)
        Payoffs of player 0, who chooses the row, and of player 1, who chooses the column.
    probabilities : array_like, shape (types,)

    Returns
    -------
    SequenceForm
        Player 0 has the infoset ``row``, and player 1 has an infoset for each type: ``type 0``, ``type 1``, ...

    Raises
    ------
    InvalidGameError
        If shapes do not match, or the probabilities are negative or do not sum to 1.

    Examples
    --------
    >>> from treeplex.seqform import bayesian_form
    >>> form = bayesian_form([[[2, 4]], [[1, 3]]], [[[1, 0]], [[0, 1]]], [0.75, 0.25])
    >>> form.A.toarray()[1:, 1:].tolist(), form.treeplexes[1].infoset_labels
    ([[1.5, 3.0, 0.25, 0.75]], ('type 0', 'type 1'))
    """
    wrong = "the payoffs are not one matrix of numbers per type"
    tables = [floats(payoffs, wrong), floats(column_payoffs, wrong)]
    shares = floats(probabilities, "the probabilities of the types are not numbers")
    if tables[0].ndim != 3 or not tables[0].size or tables[1].shape != tables[0].shape:
        raise InvalidGameError(
            f"payoffs have shapes {tables[0].shape} and {tables[1].shape}: expected equal shapes (types, rows, columns)"
        )
    types, rows, columns = tables[0].shape
    if shares.shape != (types,) or not (shares >= 0.0).all() or abs(shares.sum() - 1.0) > 1e-9:
        raise InvalidGameError(
            f"the probabilities of the types are {shares.tolist()}, expected {types} non-negative numbers that sum to 1"
        )
    names = [f"type {number}" for number in range(types)]
    treeplexes = [
        Treeplex([0], [rows], ["row"], [list(range(rows))]),
        Treeplex([0] * types, [columns] * types, names, [list(range(columns))] * types),
    ]
    matrices = []
    for table in tables:
        matrix = np.zeros((1 + rows, 1 + types * columns))
        matrix[1:, 1:] = (shares[:, None, None] * table).transpose(1, 0, 2).reshape(rows, types * columns)
        matrices.append(matrix)
    return SequenceForm(treeplexes, payoff_matrices=matrices)
