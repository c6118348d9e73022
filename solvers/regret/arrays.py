"""The arrays that the compiled loop reads and changes, grouped by the functions that use them."""

from typing import Any, NamedTuple

import numpy as np

from ..records import record
from .local_rule import RuleNumbers
from .placement import Cells, Runs


@record
class InflowArrays(NamedTuple):
    """The inflows of infosets in flow polytopes.

    Attributes
    ----------
    groups, ranges : ndarray of uint32
        The infosets of bucket ``b`` are in groups of ``width``, the first of which is ``groups[b]``; group ``k`` has
        the runs ``ranges[k]:ranges[k + 1]``.
    runs : ndarray of uint32, shape (num_runs, 2)
        Position ``s`` and place ``p``: the plan at ``s + j`` leads with weight ``patterns[p + j]`` to the group's
        infoset ``j`` (0 ≤ j < width).
    patterns : ndarray of float
        The distinct weights.
    """

    groups: Any
    ranges: Any
    runs: Any
    patterns: Any


@record
class PolytopeArrays(NamedTuple):
    """The arrays of the players' polytopes.

    Attributes
    ----------
    bases : ndarray of uint32, shape (num_players + 1,)
        The position of each player's empty sequence, followed by the total length. In flows the ``width`` positions
        from there on all represent it.
    buckets : ndarray of uint32, shape (num_buckets, 4)
        First position, number of infosets, number of actions, first infoset. Top-down for each player.
    bucket_ranges : ndarray of uint32, shape (num_players * num_shares + 1,)
        Share ``k`` owns the buckets ``bucket_ranges[k]:bucket_ranges[k + 1]``. Each player's shares are its trunk and
        the same number of branches; see :mod:`~treeplex.solvers.regret.branches`.
    roots : ndarray of uint32, shape (num_players * num_shares,)
        The end of each share's first buckets, whose infosets directly follow the trunk.
    shares : ndarray of uint32, shape (num_players * num_shares + 1,)
        The first position of each share, followed by the total length; a trunk begins with the empty sequence.
    parents : ndarray of uint32, shape (num_infosets of all players,)
        The position of each infoset's parent sequence, in the order of buckets. Empty for flow polytopes.
    inflow : InflowArrays or None
        The inflows of flow polytopes; ``None`` in trees.
    """

    bases: Any
    buckets: Any
    bucket_ranges: Any
    roots: Any
    shares: Any
    parents: Any
    inflow: Any


@record
class PayoffArrays(NamedTuple):
    """The payoff blocks of two actions against two.

    Attributes
    ----------
    patterns : ndarray of float
        The distinct payoffs of blocks.
    block_columns : ndarray of uint32, shape (num_block_columns, 3)
        For two players: two actions of an opponent's infoset against two of the player's own. The positions of the
        opponent's two actions, and the distance of the own second action from the first.
    block_ranges, block_starts, blocks : ndarray of uint32
        As for :class:`~treeplex.solvers.regret.placement.Runs`: row ``r`` of the own first action, and place ``p`` of
        the four payoffs in ``patterns``, row by row.
    """

    patterns: Any
    block_columns: Any
    block_ranges: Any
    block_starts: Any
    blocks: Any


@record
class LeafArrays(NamedTuple):
    """The payoffs of games that do not have two players.

    Attributes
    ----------
    positions : ndarray of uint32, shape (num_leaves, num_players)
        The leaves' sequences.
    payoffs : ndarray of float, shape (num_leaves, num_players)
        Multiplied by chance.
    """

    positions: Any
    payoffs: Any


@record
class FactorArrays(NamedTuple):
    """The factored payoffs of two players.

    Attributes
    ----------
    holding, paying : Runs
        For player ``i``'s gradient: the contribution of the opponent's positions (columns) to each factor (rows), and
        the payoff per unit of each factor (columns) at player ``i``'s positions (rows).
    chained : ndarray of bool
        Whether each factor is added to the sum of the factors before it (for player 0's gradient) or after it (for
        player 1's). Empty if none is.
    """

    holding: Runs
    paying: Runs
    chained: Any


@record
class GameArrays(NamedTuple):
    """The arrays of a game; code for parts that are ``None`` is not compiled.

    Attributes
    ----------
    polytopes : PolytopeArrays
    payoffs : PayoffArrays
    runs, tiles, cells : Runs, Runs, Cells
        For two players: the payoff's diagonal runs, tiles and other cells. Rows are the player's own positions, columns
        the opponent's.
    factored : FactorArrays or None
        For two players: the factored part of the payoff.
    leaves : LeafArrays or None
        For any other number of players.
    """

    polytopes: PolytopeArrays
    payoffs: PayoffArrays
    runs: Runs
    tiles: Runs
    cells: Cells
    factored: Any
    leaves: Any


@record
class ConstraintArrays(NamedTuple):
    """Constraints on the players' plans as rows, grouped by player; curved constraints are given by tangents."""

    ranges: Any  # each player's rows
    starts: Any  # each row's entries
    positions: Any
    coefficients: Any
    limits: Any
    units: Any  # the weight of a violation of the row, in the unit of payoffs
    caps: Any  # upper bounds on the rows' multipliers


@record
class MultiplierArrays(NamedTuple):
    """The multipliers of constraints, the sums for their averages, and the rows' last violations."""

    values: Any
    sums: Any
    average: Any
    violations: Any
    tallies: Any  # since averaging began: sums of violations, sums of violations times multipliers, largest multipliers
    slopes: Any  # of curved rows: sums of multipliers times slopes, or times arguments if only Python knows the slopes
    offsets: Any
    choices: Any  # slopes of norms and maxima with kinks, which are learned like multipliers
    arguments: Any  # the arguments to which these responded last


@record
class CurveArrays(NamedTuple):
    """Rows that are tangents of convex functions Σ φ(B x − c) + a · x − b, and the points of the last evaluation."""

    ranges: Any  # each player's curved rows
    rows: Any  # the numbers of the curved rows among all rows
    curved: Any  # whether each of all rows is curved
    starts: Any  # each curved row's terms φ
    kinds: Any
    rates: Any  # step lengths of the slopes of each norm or maximum along its arguments
    places: Any  # each term's arguments z = B x − c
    entry_starts: Any  # each argument's entries of B
    entries: Any  # the entries' columns, as places among the coefficients of all rows
    weights: Any  # the entries' values
    shifts: Any  # c
    anchors: Any  # z at an interior plan
    linear: Any  # a, among the coefficients of all rows
    limits: Any  # b, of all rows
    arguments: Any
    slopes: Any  # of φ at these
    offsets: Any  # φ(z) − slopes · z, by term
    proven_coefficients: Any  # the average tangents, which the certificate uses, in the form of the rows
    proven_limits: Any
    values: Any  # of the curved rows, at the average plan
    calls: Any  # the address of the Python callback, and whether it requests the loop to stop


@record
class DualNumbers(NamedTuple):
    """The penalties of multipliers, and their update rule; see :class:`~treeplex.solvers.methods.rules.DualRule`."""

    step: Any
    rates: Any  # the factor of the step for each row
    power: Any
    optimism: Any
    total: Any  # upper bound on the sum of a player's multipliers
    soft: Any  # whether violations are paid for
    at_average: Any  # whether tangents are taken at the average plan


@record
class LimitArrays(NamedTuple):
    """The arrays that constraints add to a game."""

    rows: ConstraintArrays
    proven: ConstraintArrays  # the rows of a certificate
    curves: Any  # CurveArrays, or None where all rows are linear
    multipliers: MultiplierArrays
    dual: DualNumbers


@record
class BiasArrays(NamedTuple):
    """The bias of the local rule."""

    places: Any  # for each register of infosets, the start of its pattern
    patterns: Any  # the distinct ones: δ by action, then the behaviour if no regret is above the cost
    costs: Any  # over positions, at each infoset's first action: the cost subtracted from its instantaneous regrets


@record
class PricingArrays(NamedTuple):
    """The dependence of costs on plans, if there is one."""

    runs: Runs  # two players: the costs (rows, at first actions) of the opponent's plan (columns)
    cells: Cells  # the cells of this matrix that are in no run
    seen: Any  # the sums of plans at the last update of the costs, over positions
    kept: Any  # by player, the fraction of their weight that these sums have now
    recent: Any  # the mean plans since then
    infosets: Any  # other numbers of players: the position of the first action of each history's infoset
    histories: Any  # the others' positions there, and the empty sequence of the infoset's own player
    ranges: Any  # each player's histories
    weights: Any  # vulnerability, multiplied by chance


@record
class PreferenceArrays(NamedTuple):
    """Preferences for actions."""

    bias: Any  # by player: IN_PROPORTION, ON_ONE, or 0 for the plain local rule
    depending: Any  # by player: whether costs depend on the others' plans
    local: BiasArrays
    pricing: PricingArrays


@record
class PartArrays(NamedTuple):
    """A part of the game as vectors over positions: fixed behaviour, and inflows from other parts."""

    settled: Any  # at each infoset's first action: above zero if its behaviour is fixed
    kept: Any  # the fixed behaviour
    inflow: Any  # at each infoset's first action: the inflow in addition to the parent sequence


@record
class StateArrays(NamedTuple):
    """The vectors over positions that an iteration changes."""

    regrets: Any
    behaviour: Any
    plan: Any
    plan_sums: Any
    gradient: Any
    average: Any
    factors: Any
    older: Any  # in single precision: sums of plans up to an earlier iteration, in double precision
    lag: Any  # the weight of `older` relative to `plan_sums`
    clock: Any  # the updates DONE, those at which the next certificate is DUE, and those when averaging had BEGUN


#: Places in the clock.
DONE, DUE, BEGUN = 0, 1, 2


#: The step that threads do at the branches.
JOB = np.dtype([("step", np.int64), ("player", np.uint64)])


@record
class BranchArrays(NamedTuple):
    """The arrays shared by the threads that process the branches of a game."""

    team: Any
    job: Any  # an item of JOB
    decays: Any  # by player: the decay of sums with the branches' pending plans; below 0 if no plans are pending
    arrivals: Any  # the values passed up from the branches, at the positions of the trunk
    stride: Any  # the number of `arrivals` per branch


@record
class RunArrays(NamedTuple):
    """The arguments of one call of the loop, and its records of certificates."""

    iterations: Any
    alternating: Any
    last_iterate: Any
    tilt: Any  # added to gradients, over positions; or empty
    scales: Any  # factors of gradients, by player
    tolerance: Any
    growth: Any  # factor of the updates from one certificate to the next
    checked: Any  # the updates done at each certificate
    values: Any  # exploitability, best-response values and payoffs of each


@record
class LoopArrays(NamedTuple):
    """All arguments of the loop; code for parts that are ``None`` is not compiled."""

    game: GameArrays
    state: StateArrays
    run: RunArrays
    rule: RuleNumbers
    now: Any  # the discounts of this update
    limits: Any  # LimitArrays, or None without constraints
    preferences: Any  # PreferenceArrays or None
    part: Any  # PartArrays or None
    branches: Any  # BranchArrays, or None in small games
