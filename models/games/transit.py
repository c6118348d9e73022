"""The transit game: crossing a patrolled grid. Parameters and grid."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from ...seqform.errors import InvalidGameError, shown
from ...seqform.parameters import About, check_parameters

#: Steps by compass direction, as changes of row and column; row 0 is the northernmost.
DIRECTIONS = {
    "stay": (0, 0),
    "N": (-1, 0),
    "NE": (-1, 1),
    "E": (0, 1),
    "SE": (1, 1),
    "S": (1, 0),
    "SW": (1, -1),
    "W": (0, -1),
    "NW": (-1, -1),
}
#: Appended to a direction in the label of a history if the move failed.
FAILED = "!"
_CELL = re.compile(r"r(\d{1,4})c(\d{1,4})")


@dataclass(frozen=True)
class Grid:
    """A grid of `width` rows and twice as many columns; cells are numbered row by row.

    Parameters
    ----------
    width : int
        Number of rows.

    Examples
    --------
    >>> grid = Grid(2)
    >>> grid.cell("r1c3"), grid.label(7)
    (7, 'r1c3')
    >>> grid.steps(0)  # from the north-western corner
    {'stay': 0, 'E': 1, 'SE': 5, 'S': 4}
    """

    width: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.width

    @property
    def columns(self) -> int:
        """Number of columns."""
        return 2 * self.width

    @property
    def num_cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    def in_east(self, cell: int) -> bool:
        """Return whether a cell lies in the easternmost column."""
        return cell % self.columns == self.columns - 1

    def steps(self, cell: int) -> dict[str, int]:
        """Return the directions that stay on the grid, each with the cell that it leads to."""
        row, column = divmod(cell, self.columns)
        return {
            name: cell + down * self.columns + right
            for name, (down, right) in DIRECTIONS.items()
            if 0 <= row + down < self.rows and 0 <= column + right < self.columns
        }

    def label(self, cell: int) -> str:
        """Return a cell's name: ``r``, its row, ``c``, its column."""
        return f"r{cell // self.columns}c{cell % self.columns}"

    def cell(self, name: str) -> int:
        """Return the cell with a name.

        Raises
        ------
        InvalidGameError
            If the name cannot be read, or the cell lies off the grid.
        """
        match = _CELL.fullmatch(name)
        row, column = map(int, match.groups()) if match else (-1, -1)
        if not (0 <= row < self.rows and 0 <= column < self.columns):
            raise InvalidGameError(
                f"expected a cell of the grid, from r0c0 to {self.label(self.num_cells - 1)}, got {shown(name)}"
            )
        return row * self.columns + column


@dataclass(frozen=True)
class Transit:
    """The transit game: an evader crosses a grid from west to east, and a patroller tries to meet it.

    The grid has `width` rows and twice as many columns. The evader (player 0) chooses a cell to start from; the
    patroller (player 1) starts at its base. At each of `horizon` steps both move simultaneously, to one of the eight
    neighbouring cells or not at all. A move fails with probability `failure`, and the player then stays; the first step
    and staying never fail. Each player sees only its own position. The evader is gone once it reaches the eastern
    column. The patroller continues, and should be back at its base at the end: the functional ``risk`` is the
    probability that it is not, which constraints may bound.

    Parameters
    ----------
    width : int
        Rows of the grid.
    model : {"B", "A"}
        The definition of an encounter, see Notes.
    horizon : int, optional
        Number of steps, by default ``2 * width + 4``.
    failure : Fraction
        Probability that a move fails.
    encounter_cost : Fraction
        Cost of each encounter to the evader.
    escape_reward : Fraction
        Reward for reaching the eastern column.
    time_cost : Fraction
        Cost to the evader of each step in which it does not escape.
    base : str, optional
        The patroller's base, ``r`` row ``c`` column, both from 0, as in ``r0c3``; by default ``r0c`` `width` − 1.
    starts : str, optional
        Cells from which the evader may start, joined by ``+``, as in ``r0c0+r1c0``; by default the western column.
    form : {"flow", "histories"}
        ``flow``: actions depend only on time and cell, and plans form a flow polytope. ``histories``: the whole tree,
        with perfect recall, for very small games. Values are equal, because neither player's payoff or future depends
        on its path to a cell.

    Notes
    -----
    *Model B* follows the paper's text. In each step the evader loses `encounter_cost` if both end in the same cell or
    swap cells along an edge. Sharing a cell counts at every step except before the first; diagonals that cross on
    different edges do not count. The evader wins `escape_reward` if it arrives in the east, otherwise it loses
    `time_cost`; both may coincide with an encounter.

    *Model A* follows public code of related games. Encounters depend on states and intended moves: both are in the same
    cell before the step, aim at the same cell, or aim at each other's cells. There is at most one per step. An
    encounter overrides the reward, which is `escape_reward` − `time_cost` · t for aiming at the eastern column at step
    t = 0, 1, …, even if the move fails. Never escaping costs nothing.

    *Infosets* are ``start`` (the evader's choice), or time and cell, as in ``t3r0c4``; actions are compass directions
    and ``stay``. In ``histories`` form an infoset contains all actions and observations of its player, as in
    ``r0c0-E-SE!``, where ``!`` marks a failed move.

    *Sizes*: 5,558 and 6,732 actions at infosets with width 6 (including the evader's choice of the start), 23,278 and
    28,786 with width 10. The payoff is factored by each player's position and edge at each time: about three non-zeros
    per action, compared with 0.6 million non-zeros in the matrix of all encounters with width 10.

    References
    ----------
    B. Bošanský, A. X. Jiang, M. Tambe, C. Kiekintveld (2015), "Combining compact representation and incremental
    generation in large games with sequential strategies", AAAI. With a bounded risk and these parameters: T. Davis, K.
    Waugh, M. Bowling (2019), "Solving large extensive-form games with strategy constraints", AAAI, arXiv:1809.07893.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> game = load_game("transit:width=2")
    >>> game.sequence_form
    SequenceForm(sequences=[223, 279], infosets=[43, 55])
    >>> round(solve(Nash(game)).value, 6)
    -0.019619
    """

    name: ClassVar[str] = "transit"

    width: Annotated[int, About("rows of the grid, which has twice as many columns", minimum=2, maximum=100)] = 4
    model: Annotated[Literal["B", "A"], About("encounters as in the paper (B) or as in public code (A)")] = "B"
    horizon: Annotated[int | None, About("number of steps", minimum=1, maximum=1000, shown="2 * width + 4")] = None
    failure: Annotated[Fraction, About("probability that a move fails", minimum=0, maximum=1)] = Fraction(1, 10)
    encounter_cost: Annotated[Fraction, About("cost of an encounter to the evader")] = Fraction(1)
    escape_reward: Annotated[Fraction, About("reward for reaching the eastern column")] = Fraction(1)
    time_cost: Annotated[Fraction, About("cost to the evader of a step without escape")] = Fraction(1, 50)
    base: Annotated[str | None, About("the patroller's base", shown="r0c(width-1)")] = None
    starts: Annotated[str | None, About("cells to start from, such as r0c0+r1c0", shown="the western column")] = None
    form: Annotated[Literal["flow", "histories"], About("flow polytopes, or the tree of all histories")] = "flow"

    def __post_init__(self) -> None:
        check_parameters(self)
        grid = self.grid
        defaults = {
            "horizon": 2 * self.width + 4,
            "base": grid.label(self.width - 1),
            "starts": "+".join(grid.label(row * grid.columns) for row in range(grid.rows)),
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        # A single notation for each cell, so that equal games have equal parameters.
        object.__setattr__(self, "base", grid.label(self.base_cell))
        object.__setattr__(self, "starts", "+".join(map(grid.label, self.start_cells)))
        if len(set(self.start_cells)) < len(self.start_cells):
            raise InvalidGameError(f"{self.name}: starts = {shown(self.starts)}; expected distinct cells")
        for cell in self.start_cells:
            if grid.in_east(cell):
                raise InvalidGameError(
                    f"{self.name}: starts = {shown(self.starts)}; expected no cell of the eastern column, where the "
                    "evader has escaped"
                )

    @cached_property
    def grid(self) -> Grid:
        """The grid."""
        return Grid(self.width)

    @property
    def steps(self) -> int:
        """The number of steps: the horizon."""
        assert self.horizon is not None
        return self.horizon

    @cached_property
    def base_cell(self) -> int:
        """The number of the patroller's base."""
        return self._cell("base", self.base)

    @cached_property
    def start_cells(self) -> tuple[int, ...]:
        """The numbers of the cells from which the evader may start."""
        return tuple(self._cell("starts", name.strip()) for name in str(self.starts).split("+"))

    def _cell(self, parameter: str, name: str | None) -> int:
        assert name is not None
        try:
            return self.grid.cell(name)
        except InvalidGameError as error:
            raise InvalidGameError(f"{self.name}: {parameter}: {error}") from None
