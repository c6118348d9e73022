"""The arrays that the compiled loop reads and changes, in the parts that each function of it needs."""

from typing import Any, NamedTuple

import numpy as np

from ..records import record
from .local_rule import RuleNumbers
from .placement import Cells, Runs


@record
class InflowArrays(NamedTuple):
    """What leads to the infosets of flows.

    Attributes
    ----------
    groups, ranges : ndarray of uint32
        Bucket ``b`` has its infosets in groups of ``width``, of which ``groups[b]`` is the first; group ``k`` has the
        runs ``ranges[k]:ranges[k + 1]``.
    runs : ndarray of uint32, shape (num_runs, 2)
        Position ``s`` and place ``p``: of the plan at ``s + j``, ``patterns[p + j]`` leads to the group's infoset ``j``
        (0 ≤ j < width).
    patterns : ndarray of float
        The distinct weights.
    """

    groups: Any
    ranges: Any
    runs: Any
    patterns: Any


@record
class PolytopeArrays(NamedTuple):
    """The players' polytopes.

    Attributes
    ----------
    bases : ndarray of uint32, shape (num_players + 1,)
        The position of each player's empty sequence; at the end the total length. In flows the ``width`` positions from
        there on stand for it.
    buckets : ndarray of uint32, shape (num_buckets, 4)
        First position, number of infosets, number of actions, first infoset. Top-down for each player.
    bucket_ranges : ndarray of uint32, shape (num_players * num_shares + 1,)
        Share ``k`` owns the buckets ``bucket_ranges[k]:bucket_ranges[k + 1]``. Each player's shares are its trunk and
        the same number of branches; see :mod:`~treeplex.solvers.regret.branches`.
    roots : ndarray of uint32, shape (num_players * num_shares,)
        Where each share's buckets of infosets that come after the trunk end: they are the first ones of a branch.
    shares : ndarray of uint32, shape (num_players * num_shares + 1,)
        The first position of each share, a trunk's being that of the empty sequence; at the end the total length.
    parents : ndarray of uint32, shape (num_infosets of all players,)
        The position of each infoset's parent sequence, bucket after bucket. Empty where a player's polytope is a flow.
    inflow : InflowArrays or None
        Of flows; ``None`` in trees.
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
    """The payoffs of two actions against two.

    Attributes
    ----------
    patterns : ndarray of float
        The distinct payoffs of blocks.
    block_columns : ndarray of uint32, shape (num_block_columns, 3)
        Two players: two actions of an opponent's infoset against two of one's own. The positions of the opponent's two
        actions, and how far one's own second action stands from the first.
    block_ranges, block_starts, blocks : ndarray of uint32
        As for :class:`~treeplex.solvers.regret.placement.Runs`: row ``r`` of one's own first action, and place ``p`` of
        the four payoffs in ``patterns``, row by row.
    """

    patterns: Any
    block_columns: Any
    block_ranges: Any
    block_starts: Any
    blocks: Any


@record
class LeafArrays(NamedTuple):
    """The payoffs of any number of players but two.

    Attributes
    ----------
    positions : ndarray of uint32, shape (num_leaves, num_players)
        The leaves' sequences.
    payoffs : ndarray of float, shape (num_leaves, num_players)
        Chance multiplied in.
    """

    positions: Any
    payoffs: Any


@record
class FactorArrays(NamedTuple):
    """The payoffs of two players in factors.

    Attributes
    ----------
    holding, paying : Runs
        For player ``i``'s gradient, how much the opponent's positions (columns) hold of each factor (rows); and what a
        unit of each factor (columns) pays at player ``i``'s positions (rows).
    chained : ndarray of bool
        Whether each factor is added to the sum of those before it, for player 0's gradient; of those behind it, for
        player 1's. Empty where none is.
    """

    holding: Runs
    paying: Runs
    chained: Any


@record
class GameArrays(NamedTuple):
    """A game. What is ``None`` is not compiled.

    Attributes
    ----------
    polytopes : PolytopeArrays
    payoffs : PayoffArrays
    runs, tiles, cells : Runs, Runs, Cells
        Two players: diagonal runs of the payoff, tiles, and its other cells. Rows are one's own positions, columns the
        opponent's.
    factored : FactorArrays or None
        Two players: what of the payoff is in factors.
    leaves : LeafArrays or None
        Any other number of players.
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
    """Constraints on the players' plans, row by row, those of a player together; of curved ones, tangents."""

    ranges: Any  # each player's rows
    starts: Any  # each row's entries
    positions: Any
    coefficients: Any
    limits: Any
    units: Any  # what a violation of the row counts, in the unit of payoffs
    caps: Any  # the most that the row's multiplier may be


@record
class MultiplierArrays(NamedTuple):
    """The multipliers of constraints, what they are averaged from, and the rows' last violations."""

    values: Any
    sums: Any
    average: Any
    violations: Any
    tallies: Any  # since averaging began: sums of violations, sums of violations times multipliers, largest multipliers
    slopes: Any  # of curved rows: sums of multipliers times slopes, or times arguments where Python knows these alone
    offsets: Any
    choices: Any  # slopes of norms and maxima with kinks, which learn as multipliers do
    arguments: Any  # what these answered last


@record
class CurveArrays(NamedTuple):
    """Rows that are tangents of convex functions Σ φ(B x − c) + a · x − b, and where these were last looked at."""

    ranges: Any  # each player's, among the rows that are curved
    rows: Any  # which of all rows these are
    curved: Any  # of all rows, whether they are
    starts: Any  # each one's terms φ
    kinds: Any
    rates: Any  # how far the slopes of each norm or maximum move along its arguments
    places: Any  # each term's arguments z = B x − c
    entry_starts: Any  # each argument's entries of B
    entries: Any  # their columns, as places among the coefficients of all rows
    weights: Any  # their values
    shifts: Any  # c
    anchors: Any  # z at an interior plan
    linear: Any  # a, among the coefficients of all rows
    limits: Any  # b, of all rows
    arguments: Any
    slopes: Any  # of φ at these
    offsets: Any  # φ(z) − slopes · z, by term
    proven_coefficients: Any  # what the multipliers prove on average, in the form of the rows
    proven_limits: Any
    values: Any  # of all rows that are curved, at the average plan
    calls: Any  # where Python is called, and whether it wants the loop to stop


@record
class DualNumbers(NamedTuple):
    """How multipliers move, as :class:`~treeplex.solvers.methods.rules.DualRule` says, and what of them is proven."""

    step: Any
    power: Any
    optimism: Any
    total: Any  # what those of a player sum to at the most
    soft: Any  # whether violations are paid for
    at_average: Any  # whether tangents are taken at the average plan


@record
class LimitArrays(NamedTuple):
    """All that constraints add to a game."""

    rows: ConstraintArrays
    proven: ConstraintArrays  # the rows of a certificate
    curves: Any  # CurveArrays, or None where all rows are linear
    multipliers: MultiplierArrays
    dual: DualNumbers


@record
class BiasArrays(NamedTuple):
    """What the local rule is biased to."""

    places: Any  # of each register of infosets, where among the patterns its own begins
    patterns: Any  # the distinct ones: action after action δ, then what is played where no regret is above the cost
    costs: Any  # over positions, at the first action of each infoset, what is taken from its instantaneous regrets


@record
class PricingArrays(NamedTuple):
    """How the costs follow from plans, where they do."""

    runs: Runs  # two players: the costs (rows, at first actions) of the opponent's plan (columns)
    cells: Cells  # of these, what stands alone
    seen: Any  # the sums of plans when they were last looked at, over positions
    kept: Any  # by player, how much of their weight these have now
    recent: Any  # the mean plans since then
    infosets: Any  # any other number of players: the position of the first action of each history's infoset
    histories: Any  # the others' positions there, and the empty sequence of the infoset's own player
    ranges: Any  # each player's histories
    weights: Any  # vulnerability, chance multiplied in


@record
class PreferenceArrays(NamedTuple):
    """Preferences for actions."""

    bias: Any  # of each player, whether it has any and what it then plays: IN_PROPORTION or ON_ONE
    depending: Any  # of each player, whether costs depend on the others' plans
    local: BiasArrays
    pricing: PricingArrays


@record
class PartArrays(NamedTuple):
    """A part of the game: what is settled, and what comes in from elsewhere; vectors over positions."""

    settled: Any  # at the first action of each infoset, above zero where behaviour stays as it is
    kept: Any  # that behaviour
    inflow: Any  # at the first action of each infoset, what comes there beside the parent sequence


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
    older: Any  # in single precision: sums of plans up to some iteration, in double
    lag: Any  # what these count now beside plan_sums
    clock: Any  # updates DONE, how many when the next certificate is DUE, and how many when averaging had BEGUN


#: Places in the clock.
DONE, DUE, BEGUN = 0, 1, 2


#: What threads are to do at the branches.
JOB = np.dtype([("step", np.int64), ("player", np.uint64)])


@record
class BranchArrays(NamedTuple):
    """What threads share that take the branches of a game."""

    team: Any
    job: Any  # an item of JOB
    decays: Any  # of each player: by what sums are multiplied before branches have their new plans; below 0 if they do
    arrivals: Any  # what comes up from the branches, at the positions of the trunk
    stride: Any  # how many of these are of one branch


@record
class RunArrays(NamedTuple):
    """What one call of the loop is to do, and what it writes down at certificates."""

    iterations: Any
    alternating: Any
    last_iterate: Any
    tilt: Any  # what is added to gradients, over positions; or empty
    scales: Any  # by player, of gradients
    tolerance: Any
    growth: Any  # of the updates done, from one certificate to the next
    checked: Any  # the updates done at each certificate
    values: Any  # exploitability, best-response values and payoffs of each


@record
class LoopArrays(NamedTuple):
    """All that the loop is given; what is ``None`` is not compiled."""

    game: GameArrays
    state: StateArrays
    run: RunArrays
    rule: RuleNumbers
    now: Any  # what regrets count in this update
    limits: Any  # LimitArrays, or None without constraints
    preferences: Any  # PreferenceArrays or None
    part: Any  # PartArrays or None
    branches: Any  # BranchArrays, or None in small games
