"""The arrays that the compiled loop on public forms reads and changes, and the columns of its tables."""

from typing import Any, NamedTuple

import numpy as np

from ..records import record

ZERO, ONE, TWO, THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
#: Kinds of nodes; below these are the players.
EXIT, LEAF = np.uint64(2), np.uint64(3)
#: The largest number of cards; each has a row of sums.
CARDS = np.uint64(64)
#: The size of a register of the shorter numbers, to which lanes are padded, and the most registers in one sweep.
FULL, MOST = np.uint64(8), np.uint64(3)
#: The largest sum of a node in 16 bits; rounded up it must stay below 2 ** 16. Sums are not scaled below the least.
TOP, LEAST = np.float32(2**16 - 2), np.float32(1e-25)
#: The work of a call: whole iterations, or a part of one update.
ITERATE, DESCEND, WORK, ASCEND = 0, 1, 2, 3

#: Columns of boards. The columns of two players are adjacent.
SHAPE, DEPTH, PARENT, END, IMAGES, COUNT, WIDE, BASE, TABLE, MATRIX = (
    np.uint64(i) for i in (0, 1, 2, 3, 4, 5, 7, 9, 11, 13)
)
ALIKE, SCALE = np.uint64(15), np.uint64(16)
BOARD_COLUMNS = 18
#: Columns of shapes: the first node, the numbers of roots and of nodes; the first lanes of folds, showdowns, other
#: leaves, and leaves that are both folds and showdowns; and the number of registers of each kind, or of leaves for the
#: last.
NODES, ROOTS, SIZE, LANES, REGISTERS = (np.uint64(i) for i in (0, 1, 2, 3, 7))
SHAPE_COLUMNS = 11
#: Columns of nodes: a player or ``EXIT`` or ``LEAF``; the first child, and the number of children; the number of
#: actions of the same player before its own; for a root, the exit on the previous board; and the row of each player's
#: reach.
KIND, CHILD, ARITY, ROW, ENTRY, REACH = (np.uint64(i) for i in (0, 1, 2, 3, 4, 5))
NODE_COLUMNS = 7
#: Columns of private states: two cards; the numbers of the other player's states that are weaker, and not stronger; the
#: two of them that are identical, if any; and the own state that represents it if several are equivalent.
FIRST, SECOND, WEAKER, UPTO, SAME, TWIN, LIKE = (np.uint64(i) for i in range(7))
STATE_COLUMNS = 7
#: Columns of lanes: the row of the leaf's values, the row of each player's reach, and the board's matrix that pays it;
#: for leaves that are both folds and showdowns, the leaf, and the row of its payoffs as a fold.
LANE_NODE, LANE_REACH, LANE_MATRIX = ZERO, ONE, THREE
LANE_COLUMNS = 4


@record
class PublicArrays(NamedTuple):
    """The arrays of a game in public form.

    Attributes
    ----------
    boards : ndarray of uint64, shape (num_boards + 1, BOARD_COLUMNS)
        Each board comes before those that follow it. ``END`` is after the last of these, ``IMAGES`` where its images
        begin, ``COUNT`` and ``WIDE`` the number of private states, also padded, ``BASE`` where regrets begin, ``TABLE``
        the place of its private states in ``states``, ``MATRIX`` where matrices of other leaves begin, ``ALIKE``
        whether some private states are equivalent, ``SCALE`` where scales begin.
    shapes : ndarray of uint64, shape (num_shapes, SHAPE_COLUMNS)
        The common structure of boards: the connections of their nodes.
    nodes : ndarray of uint32, shape (num_nodes of all shapes, NODE_COLUMNS)
        Roots first, parents before their children, and children adjacent.
    states : ndarray of uint32, shape (num_states of all boards, STATE_COLUMNS)
    above : ndarray of uint32
        For the images of each board, the corresponding private state on the previous board: player 0's, then player
        1's.
    lanes : ndarray of uint32, shape (num_lanes, LANE_COLUMNS)
        Leaves that one sweep pays together, padded to whole registers by dummy leaves.
    amounts : ndarray of float, shape (2, num_lanes)
        Each player's payoff at a leaf.
    matrices : ndarray of float
        The payoffs of leaves that are neither folds nor showdowns: for each board and player, its own states by the
        other's, matrix by matrix.
    weights : ndarray of float, shape (2, width)
        The reaches at the root.
    layout : ndarray of uint64, shape (num_depths, 2)
        Where reaches and values begin in the scratch arrays.
    groups : ndarray of uint64
        For the boards after the root's: where each group, which one thread walks, begins, and where the last one ends.
    """

    boards: Any
    shapes: Any
    nodes: Any
    states: Any
    above: Any
    lanes: Any
    amounts: Any
    matrices: Any
    weights: Any
    layout: Any
    groups: Any


@record
class TermArrays(NamedTuple):
    """The terms that a problem adds to a game: payments, limits of actions, and rows with learned multipliers.

    Payments and limits are pairs of arrays in the layout of regrets, or empty if a player has none. A row is a linear
    function of one player's plan with an upper limit. The last call is the call of a floor.

    Attributes
    ----------
    payments : pair of ndarray of float
        The payments of actions in each private state in addition to leaves: the tilt minus the costs of calls.
    tilts : pair of ndarray of float
        The payments without calls.
    least, free : pair of ndarray of float
        The least probabilities of actions, and 1 for actions that share the rest, 0 for others.
    scales : ndarray of float64, shape (2,)
        The factor of leaf payoffs for each player.
    owners : ndarray of uint64, shape (num_rows,)
        The player of each row.
    limits : ndarray of float64, shape (num_rows + 1,)
    starts : ndarray of uint64, shape (num_rows + 1,)
        Where each row's entries begin in the next two arrays.
    places, coefficients : ndarray of uint64 and of float64
    met : ndarray of uint64, shape (2 num_boards + 1,)
        Where the entries of a board and player begin in the next three arrays.
    rows, reaches, shares : ndarray of uint64, uint64 and float64
        The row, the place among the reaches of the board, and its coefficient.
    floor : ndarray of float64, shape (2,)
        The floor: the player who must meet it (−1 without a floor), and the payoff.
    """

    payments: Any
    tilts: Any
    least: Any
    free: Any
    scales: Any
    owners: Any
    limits: Any
    starts: Any
    places: Any
    coefficients: Any
    met: Any
    rows: Any
    reaches: Any
    shares: Any
    floor: Any


#: Columns of calls: regrets of not calling and of calling, the multiplier, its sums and their weight, and the stake.
PASSED, CALLED, PRICE, PRICES, COUNTED, STAKE = (np.uint64(i) for i in range(6))
CALL_COLUMNS = 6


@record
class RoomArrays(NamedTuple):
    """Scratch arrays for a walk: for the root's board, other boards, results of groups, and adjacent leaves."""

    top: Any
    room: Any
    found: Any  # shape (num_groups, length): values at the root's exits
    tally: Any  # shape (num_groups + 1, num_rows + 1): values of rows, and of the tilt; last those of the root's board
    turned: Any
    paid: Any
    sums: Any
    starts: Any  # shape (2, num_lanes): where rows of reaches and of values begin
    now: Any  # the discounts of this update


@record
class PlayArrays(NamedTuple):
    """The state that iterations change; all but the clock and the calls are pairs of arrays, one per player.

    In 16 bits, regrets are the upper halves of floats, and sums of reaches are integers in units of each decision node:
    its largest sum divided by ``TOP``.
    """

    clock: Any  # iterations done
    calls: Any  # shape (num_rows + 1, CALL_COLUMNS)
    regrets: Any
    play: Any  # the source of behaviour: the regrets themselves, or the forecast
    forecast: Any
    sums: Any
    scales: Any  # in 16 bits: one unit per action's row, of which each node uses the first; otherwise None


@record
class AverageArrays(NamedTuple):
    """The sums behind averages as bytes, so that one function works for all precisions."""

    sums: Any  # a pair of arrays, one per player
    size: Any  # bytes of a number


@record
class WalkArrays(NamedTuple):
    """All arguments of walks; code for parts that are ``None`` is not compiled."""

    game: PublicArrays
    terms: Any  # TermArrays, or None if a problem adds none
    state: PlayArrays | AverageArrays
    room: RoomArrays
    rule: Any  # RuleNumbers, or None to evaluate averages
