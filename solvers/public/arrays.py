"""The arrays that the compiled loop on public forms reads and changes, and the columns of those that have many."""

from typing import Any, NamedTuple

import numpy as np

from ..records import record

ZERO, ONE, TWO, THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
#: Kinds of nodes; below these are the players.
EXIT, LEAF = np.uint64(2), np.uint64(3)
#: How many cards there may be, each with a row of sums.
CARDS = np.uint64(64)
#: Lanes of leaves come by so many, a register of the shorter numbers; and registers that one sweep pays at most.
FULL, MOST = np.uint64(8), np.uint64(3)
#: The largest sum of a node in 16 bits; rounded up it must not be 2 ** 16. Sums are not scaled below the least.
TOP, LEAST = np.float32(2**16 - 2), np.float32(1e-25)
#: What a call does: whole iterations, or a part of one update.
ITERATE, DESCEND, WORK, ASCEND = 0, 1, 2, 3

#: Columns of boards. Those of two players are neighbours.
SHAPE, DEPTH, PARENT, END, IMAGES, COUNT, WIDE, BASE, TABLE, MATRIX = (
    np.uint64(i) for i in (0, 1, 2, 3, 4, 5, 7, 9, 11, 13)
)
ALIKE, SCALE = np.uint64(15), np.uint64(16)
BOARD_COLUMNS = 18
#: Columns of shapes: their first node, how many of their nodes are roots and how many there are; where folds,
#: showdowns, other leaves, and those that are both folds and showdowns begin among the lanes, and how many registers of
#: each there are, or leaves of the last.
NODES, ROOTS, SIZE, LANES, REGISTERS = (np.uint64(i) for i in (0, 1, 2, 3, 7))
SHAPE_COLUMNS = 11
#: Columns of nodes: a player or ``EXIT`` or ``LEAF``; the first child, and how many there are; how many actions of the
#: same player stand before its own; of a root, the exit on the board before; and in which row each player's reach is.
KIND, CHILD, ARITY, ROW, ENTRY, REACH = (np.uint64(i) for i in (0, 1, 2, 3, 4, 5))
NODE_COLUMNS = 7
#: Columns of private states: two cards; how many of the other player's are weaker, and how many are not stronger; which
#: two of them are the very same, if any are; and which of one's own stands for it, where several are alike.
FIRST, SECOND, WEAKER, UPTO, SAME, TWIN, LIKE = (np.uint64(i) for i in range(7))
STATE_COLUMNS = 7
#: Columns of lanes: the row of values of the leaf, in which row each player's reach of it is, and which of the board's
#: matrices pays it; of those that are both folds and showdowns, the leaf, and the row of what it pays as a fold.
LANE_NODE, LANE_REACH, LANE_MATRIX = ZERO, ONE, THREE
LANE_COLUMNS = 4


@record
class PublicArrays(NamedTuple):
    """A game in public form.

    Attributes
    ----------
    boards : ndarray of uint64, shape (num_boards + 1, BOARD_COLUMNS)
        Each before those that follow on it. ``END`` is behind the last of these, ``IMAGES`` where its images begin,
        ``COUNT`` and ``WIDE`` how many private states there are, and filled up, ``BASE`` where regrets begin,
        ``TABLE`` where private states stand in ``states``, ``MATRIX`` where matrices of other leaves begin, ``ALIKE``
        whether some private states are alike, ``SCALE`` where scales begin.
    shapes : ndarray of uint64, shape (num_shapes, SHAPE_COLUMNS)
        What boards have in common: how their nodes hang together.
    nodes : ndarray of uint32, shape (num_nodes of all shapes, NODE_COLUMNS)
        Roots first, parents before their children, and children next to each other.
    states : ndarray of uint32, shape (num_states of all boards, STATE_COLUMNS)
    above : ndarray of uint32
        For the images of each board, which private state of the board before each one is: player 0's, then player 1's.
    lanes : ndarray of uint32, shape (num_lanes, LANE_COLUMNS)
        Leaves that are paid in one sweep side by side, filled up to whole registers by leaves behind the last.
    amounts : ndarray of float, shape (2, num_lanes)
        What a leaf pays each player.
    matrices : ndarray of float
        What leaves that are neither folds nor showdowns pay, for each board and player its own states by the other's,
        matrix by matrix.
    weights : ndarray of float, shape (2, width)
        The reaches at the root.
    layout : ndarray of uint64, shape (num_depths, 2)
        Where reaches and values begin in a room.
    groups : ndarray of uint64
        Of the boards after the root's: where each group begins, which is walked by one thread, and the last one ends.
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
    """What a problem adds to a game: payments and limits of actions, and rows that are called at a price.

    Payments and limits are pairs of arrays laid out as regrets, or empty where a player has none. A row is a linear
    function of one player's plan that should be at most a limit. The last call is that of a floor.

    Attributes
    ----------
    payments : pair of ndarray of float
        What actions pay in each private state besides what leaves do: the tilt, less what calls cost.
    tilts : pair of ndarray of float
        What they would pay if nothing was called.
    least, free : pair of ndarray of float
        How likely actions are at least, and 1 for those that share what is left, 0 for others.
    scales : ndarray of float64, shape (2,)
        What leaves count for each player.
    owners : ndarray of uint64, shape (num_rows,)
        Whose plan each row is of.
    limits : ndarray of float64, shape (num_rows + 1,)
    starts : ndarray of uint64, shape (num_rows + 1,)
        Where each row's entries begin in the two that follow.
    places, coefficients : ndarray of uint64 and of float64
    met : ndarray of uint64, shape (2 num_boards + 1,)
        Where the entries of a board and player begin in the three that follow.
    rows, reaches, shares : ndarray of uint64, uint64 and float64
        Of which row, at which place among the reaches of the board, and how much of it counts.
    floor : ndarray of float64, shape (2,)
        Of a floor: whether there is one (the player who must keep to it, else −1), and the payoff.
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


#: Columns of calls: regrets not to call and to call, the multiplier, sums and their weight, and the stake.
PASSED, CALLED, PRICE, PRICES, COUNTED, STAKE = (np.uint64(i) for i in range(6))
CALL_COLUMNS = 6


@record
class RoomArrays(NamedTuple):
    """Room for a walk: of the root's board, of others, of what groups find, and of leaves side by side."""

    top: Any
    room: Any
    found: Any  # shape (num_groups, length): values at the root's exits
    tally: Any  # shape (num_groups + 1, num_rows + 1): values of rows, and of the tilt; last those of the root's board
    turned: Any
    paid: Any
    sums: Any
    starts: Any  # shape (2, num_lanes): where rows of reaches and of values begin
    now: Any  # what regrets count in this update


@record
class PlayArrays(NamedTuple):
    """The state that iterations change; all but the clock and the calls are pairs of arrays, one per player.

    In 16 bits regrets are the upper halves of floats, and sums of reaches whole numbers, in units that each decision
    node has for itself: its largest sum divided by ``TOP``.
    """

    clock: Any  # iterations done
    calls: Any  # shape (num_rows + 1, CALL_COLUMNS)
    regrets: Any
    play: Any  # what behaviour is formed of: the regrets themselves, or the forecast
    forecast: Any
    sums: Any
    scales: Any  # in 16 bits: the units, one for each action's row, of which each node's first counts; or None


@record
class AverageArrays(NamedTuple):
    """What averages are evaluated of: the bytes of the sums, so that one function serves all their precisions."""

    sums: Any  # a pair of arrays, one a player
    size: Any  # bytes of a number


@record
class WalkArrays(NamedTuple):
    """All that walks are given; what is ``None`` is not compiled."""

    game: PublicArrays
    terms: Any  # TermArrays, or None where a problem adds nothing
    state: PlayArrays | AverageArrays
    room: RoomArrays
    rule: Any  # RuleNumbers; or None where averages are evaluated
