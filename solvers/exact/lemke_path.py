"""The paths of Lemke's algorithm from a prior to an equilibrium of two players, with pivots in floats."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dgemm

from ...models.problems import EpsilonNash
from ...models.problems.complementarity import Complementarity
from ...seqform.arrays import Floats
from ...seqform.limits import counted_now, seconds_left
from ..outcome import Options, Status
from ..solution import starting_profile

#: Floats: smaller entries of a column do not block, and ratios that differ by less are tied.
_PIVOT, _TIE = 1e-9, 1e-11
#: Smaller entries of a row count as zero; with a larger share of others, the row is dense.
_NOTHING, _DENSE = 1e-15, 0.3
#: The number of pivots whose products are added at once.
_WAITING = 48


class RayError(ArithmeticError):
    """A path that does not end at an equilibrium, because of round-off."""


def float_path(problem: EpsilonNash, options: Options) -> tuple["FloatPath", Sequence[Floats]]:
    """Return the path in floats from a prior, and the plans of the prior."""
    form = problem.game.sequence_form
    if options.start is None:
        prior = [treeplex.uniform_plan() for treeplex in form.treeplexes]
    else:
        prior = list(starting_profile(options.start, problem.game).plans)
    first, second = form.payoff_matrix(0).toarray(), form.payoff_matrix(1).toarray().T
    scaled = [payoffs / (np.abs(payoffs).max() or 1.0) for payoffs in (first, second)]  # each player has its own unit
    return FloatPath(Complementarity.of(form.treeplexes, scaled, prior)), prior


def follow(path: "Path", options: Options, begun: float) -> Status:
    """Follow a path to its end or a limit; ``UNCERTIFIED`` if it does not end at an equilibrium."""
    deadline = begun + min(options.time_limit, seconds_left())
    try:
        ended = path.follow(lambda: path.pivots >= options.max_iterations or counted_now() > deadline)
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except RayError:
        return Status.UNCERTIFIED
    late = Status.TIME_LIMIT if counted_now() > deadline else Status.ITERATION_LIMIT
    return Status.OPTIMAL if ended else late


class Path(ABC):
    """A path of Lemke's algorithm, from the best responses to the prior to an equilibrium.

    Parameters
    ----------
    program : Complementarity

    Attributes
    ----------
    pivots : int

    Notes
    -----
    w enters the basis first. Then the partner of the variable that left enters, until 1 − w leaves: C. E. Lemke,
    "Bimatrix equilibrium points and mathematical programming", Management Science 11, 1965. Ties are broken
    lexicographically, as if the basic variables at the beginning were larger by ε, ε², …, so that no basis is met
    twice.
    """

    def __init__(self, program: Complementarity) -> None:
        self._basic = program.basic.tolist()  # the variable of each row
        self._others = [-1, *(program.basic ^ 1).tolist()]  # the variable of each column; none for the constants
        self._perturbed = self._basic.copy()
        self._rows = {variable: row for row, variable in enumerate(self._basic)}
        self._columns = {variable: column for column, variable in enumerate(self._others)}
        self.pivots = 0

    def follow(self, stop: Callable[[], bool]) -> bool:
        """Pivot until an equilibrium is found, or `stop` returns true; return whether it is found.

        Raises
        ------
        RayError
        """
        goal = self._basic[-1]
        entering = len(self._others) - 1
        while not stop():
            row = self._leaving(entering, self._rows[goal])
            left, entered = self._basic[row], self._others[entering]
            self._pivot(row, entering)
            self._basic[row], self._others[entering] = entered, left
            del self._rows[left], self._columns[entered]
            self._rows[entered], self._columns[left] = row, entering
            self.pivots += 1
            if left == goal:
                return True
            entering = self._columns[left ^ 1]
        return False

    def _leaving(self, entering: int, goal: int) -> int:
        """Return the row of the variable that leaves if the variable of a column enters."""
        rows, decrease = self._blocking(entering)
        tied = self._smallest(rows, decrease, 0)
        if goal in tied:  # the plans are those of an equilibrium, whichever of the tied variables leaves
            return goal
        for variable in self._perturbed:
            if len(tied) == 1:
                break
            column = self._columns.get(variable)
            if column is not None:
                tied = self._smallest(tied, decrease, column)
            elif self._rows[variable] in tied:  # it is perturbed in its own row only
                tied.remove(self._rows[variable])
        return tied[0]

    @abstractmethod
    def _blocking(self, entering: int) -> tuple[list[int], Any]:
        """Return the rows that bound the variable of a column, and the decrease of every row per unit of it."""

    @abstractmethod
    def _smallest(self, rows: Sequence[int], decrease: Any, place: int) -> list[int]:
        """Return the rows of least ratio: of column 0, or of another column with the sign reversed, to a decrease."""

    @abstractmethod
    def _pivot(self, row: int, column: int) -> None:
        """Exchange the variables of a row and a column."""

    @property
    @abstractmethod
    def constants(self) -> Any:
        """The values of the basic variables."""

    @property
    def played(self) -> list[int]:
        """The sequences of both players, player 0's first, whose weights are basic."""
        return sorted(variable // 2 for variable in self._basic[:-1] if variable % 2 == 0)

    def plans(self, prior: Sequence[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the plans that are played where the path is: those of the program, and the prior for the rest."""
        values = dict(zip(self._basic, self.constants, strict=True))
        first, size = len(prior[0]), len(self._basic) - 1
        left = values.get(2 * size + 1, 0)
        found = np.array([values.get(2 * sequence, 0) for sequence in range(size)])
        return found[:first] + left * prior[0], found[first:] + left * prior[1]


class FloatPath(Path):
    """A path in floats.

    Notes
    -----
    Each pivot adds a product of a column and a row to the dictionary. Such products wait until there are 48, and are
    then added at once, as a product of matrices. Until then an entry is that of the dictionary plus those of the
    products; the row and the column of a pivot are written out.
    """

    def __init__(self, program: Complementarity) -> None:
        super().__init__(program)
        self._entries = np.asfortranarray(program.dictionary)
        rows, columns = self._entries.shape
        self._left, self._right = np.zeros((rows, _WAITING), order="F"), np.zeros((_WAITING, columns), order="F")
        self._waiting = 0

    def _part(self, rows: Any, columns: Any) -> Floats:
        """Return entries of rows, columns, or both."""
        waiting = self._waiting
        products = self._left[rows, :waiting] @ self._right[:waiting, columns]
        return np.asarray(self._entries[rows, columns] + products)

    def _blocking(self, entering: int) -> tuple[list[int], Floats]:
        decrease = -self._part(slice(None), entering)
        rows = np.flatnonzero(decrease > _PIVOT * max(1.0, np.abs(decrease).max())).tolist()
        if not rows:
            raise RayError("no variable bounds the path")
        return rows, decrease

    def _smallest(self, rows: Sequence[int], decrease: Floats, place: int) -> list[int]:
        entries = self._part(rows, place)
        ratios = (np.maximum(entries, 0.0) if place == 0 else -entries) / decrease[rows]
        least = ratios.min() + _TIE
        return [row for row, ratio in zip(rows, ratios.tolist(), strict=True) if ratio <= least]

    def _pivot(self, row: int, column: int) -> None:
        factors, solved = self._part(slice(None), column), self._part(row, slice(None))
        solved /= -factors[row]
        solved[column] = 1.0 / factors[row]
        factors[row] = 0.0
        self._left[row], self._right[:, column] = 0.0, 0.0
        self._entries[:, column], self._entries[row] = factors * solved[column], solved
        self._left[:, self._waiting], self._right[self._waiting] = factors, solved
        self._right[self._waiting, column] = 0.0
        self._waiting += 1
        if self._waiting == _WAITING:
            self._add()

    def _add(self) -> None:
        """Add the products that wait."""
        columns = np.flatnonzero((np.abs(self._right[: self._waiting]) > _NOTHING).any(axis=0))
        if len(columns) > _DENSE * self._right.shape[1]:
            dgemm(1.0, self._left, self._right, beta=1.0, c=self._entries, overwrite_c=True)
        else:
            self._entries[:, columns] += self._left @ self._right[:, columns]
        self._left[:], self._right[:], self._waiting = 0.0, 0.0, 0

    @property
    def constants(self) -> Floats:
        """The values of the basic variables."""
        return self._part(slice(None), 0)
