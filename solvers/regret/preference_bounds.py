"""Proven bounds of Preference-CFR: on regrets and on NashConv, from the vulnerabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.preferences import Preference, preference_on
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.functional import leaves_below, reach_of_others
from ...seqform.game import Game
from ...seqform.polytope import best_response_value
from ...seqform.strategy import Profile
from ..methods import CFRPlus, PrefCFR
from ..solution import Solution
from .kernel import KernelState
from .loop import LATE_BLOCK


@dataclass(frozen=True)
class PreferenceBound:
    """Bounds on each player's gain by deviating from the play of Preference-CFR.

    Attributes
    ----------
    vulnerability : tuple of float
        Bᵢ, the gain of player i that the vulnerabilities allow, in payoff units.
    finite_run : tuple of float or None
        The additional amount for a run of that many iterations, which falls like one over their square root.
        ``None`` if nothing is proven: with the rule ``br``, with discounted regrets, or if weights of iterates
        differ from those of regrets.
    is_saddle : bool
        Whether the game is a two-player constant-sum game, where regrets bound NashConv of the averages.
    """

    vulnerability: tuple[float, ...]
    finite_run: tuple[float, ...] | None
    is_saddle: bool = True

    @property
    def asymptotic(self) -> float:
        """Σ Bᵢ, the limit of the bound on the sum of regrets and, in two-player constant-sum games, on NashConv."""
        return sum(self.vulnerability)

    @property
    def regrets(self) -> tuple[float, ...] | None:
        """The proven bound on each player's regret, the gain of a plan fixed beforehand over the actual play."""
        if self.finite_run is None:
            return None
        return tuple(bound + more for bound, more in zip(self.vulnerability, self.finite_run, strict=True))

    @property
    def cce_gap(self) -> float | None:
        """The ε for which the joint play of the iterations is proven to be a coarse correlated ε-equilibrium."""
        return None if self.regrets is None else max(self.regrets)

    @property
    def nash_conv(self) -> float | None:
        """The proven upper bound on NashConv of the averages; ``None`` unless regrets bound it."""
        return None if self.regrets is None or not self.is_saddle else sum(self.regrets)


def regret_bound(largest: Floats, total: Floats, least: Floats, iterations: int, first: float = 0.0) -> Floats:
    """Return L √(Σδ / (T min δ)): a bound on the distance of averaged regrets from non-positive ones, for rule ``rm``.

    Parameters
    ----------
    largest : ndarray of float64, shape (num_infosets,)
        L, the largest possible entry of an update, in payoff units.
    total, least : ndarray of float64, shape (num_infosets,)
        Σδ and min δ over an infoset's actions.
    iterations : int
        T.
    first : float
        The largest regret before the first update, in payoff units.

    Returns
    -------
    ndarray of float64, shape (num_infosets,)
        Bounds on the Euclidean norm of (R̄ − β)⁺, and so also on its largest entry.

    Notes
    -----
    Φ = Σ δ (B⁺)² grows by at most L² Σδ per update, and is at least min δ times the squared norm of B⁺. The paper's
    appendix B.2 has ``L |A| δ* / √T`` (equation 26), which is never smaller: δ* is the largest δ, and Σδ / min δ is at
    most ``|A| δ*``.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.regret.preference_bounds import regret_bound
    >>> regret_bound(np.array([2.0]), np.array([6.0]), np.array([1.0]), iterations=600)
    array([0.2])
    """
    return np.asarray(np.sqrt((first**2 * total + iterations * largest**2 * total) / least) / iterations)


@dataclass(frozen=True, eq=False)
class Approach:
    """The distance of each infoset's averaged regrets from non-positive regrets, and its bounds.

    Attributes
    ----------
    distances : tuple of ndarray of float64, shape (num_infosets,)
        The Euclidean norm of (R̄ − β)⁺, one array per player, in payoff units: equations 23 and 28.
    bounds : tuple of ndarray of float64, shape (num_infosets,)
        :func:`regret_bound`, which is proven for the rule ``rm``.
    rates : tuple of ndarray of float64, shape (num_infosets,)
        ``L |A| δ* / √T``, equation 26.
    """

    distances: tuple[Floats, ...]
    bounds: tuple[Floats, ...]
    rates: tuple[Floats, ...]


def approach(solution: Solution) -> Approach:
    """Return the quantities of appendix B.2 of the paper on Preference-CFR, at each infoset of a run.

    Parameters
    ----------
    solution : Solution
        A solution by ``pref-cfr`` with base ``cfr`` and without initial regrets, of a game with a table of leaves.

    Returns
    -------
    Approach

    Raises
    ------
    UnsupportedProblemError
        If it is not such a solution.

    Notes
    -----
    Equation 26 claims dist(R̄_T, γ_T) ≤ ``L |A| δ* / √T`` for both rules, where γ_T are the nearest regrets of which
    none is positive. For ``rm`` this follows from :func:`regret_bound`. For ``br`` it is false: if one positive entry
    is chosen, equation 22 is 0 ≤ 0 for every update, and the point ψ from which the distance is measured moves. In the
    battle of the sexes, two players who each prefer their favourite may never meet, and the distance remains (the
    tests, and the theory page on Preference-CFR, have the game).

    Examples
    --------
    >>> from treeplex import Nash, PrefCFR, load_game, solve
    >>> from treeplex.solvers.regret.preference_bounds import approach
    >>> found = approach(solve(Nash(load_game("kuhn")), PrefCFR("0/b@first:5"), tol=0, max_iterations=10_000))
    >>> [round(float(each[0].max()), 3) for each in (found.distances, found.bounds, found.rates)]
    [0.001, 0.065, 0.267]
    """
    method, kept = solution.method, solution.state
    game = solution.problem.game
    if not isinstance(method, PrefCFR) or method.base != "cfr" or method.initial_regrets or not solution.iterations:
        raise UnsupportedProblemError("averaged regrets need pref-cfr with base cfr, without initial regrets")
    if game.sequence_form.leaves is None or not isinstance(getattr(kept, "state", None), KernelState):
        raise UnsupportedProblemError(f"regrets of {game.spec} are unknown: expected a game with a table of leaves")
    layout, iterations = kept.kernel.layout, solution.iterations
    preference = preference_on(game, method.prefer, method.vulnerability, method.units)
    distances, bounds, rates = [], [], []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        excess = np.maximum(layout.to_user(player, kept.state.arrays.regrets)[1:], 0.0) * layout.unit / iterations
        starts = treeplex.offsets[:-1] - 1
        largest, _, total, least = _updates(game, preference, player)
        distances.append(np.sqrt(np.add.reduceat(excess**2, starts)))
        bounds.append(regret_bound(largest, total, least, iterations))
        most = np.maximum.reduceat(preference.degrees[player][1:], starts)
        rates.append(largest * treeplex.num_actions * most / np.sqrt(iterations))
    return Approach(tuple(distances), tuple(bounds), tuple(rates))


def preference_bound(solution: Solution) -> PreferenceBound:
    """Return the bounds that Preference-CFR proves on its play, computed from preferences and strategies.

    Parameters
    ----------
    solution : Solution
        An equilibrium by ``pref-cfr``, for any number of players and any payoffs.

    Returns
    -------
    PreferenceBound

    Raises
    ------
    UnsupportedProblemError
        If another method found it, or a vulnerability is in conditional units and the game has no table of leaves.

    Notes
    -----
    The paper's ε ≤ β holds in normal form. In extensive games, suppose that the averaged regrets R̄(I, a) of a player
    are at most β(I) everywhere. Then a deviation x' gains Σ_I x'(σ(I)) Σ_a σ'(I, a) R̄(I, a) (Zinkevich et al., "Regret
    minimization in games with incomplete information", NeurIPS 2007, unrolled), at most

        Bᵢ = max over x' of Σ_I x'(σ(I)) β(I),

    which bounds the player's regret in the joint play of the iterations for any payoffs. The play is therefore a coarse
    correlated equilibrium up to the largest of these bounds (:class:`~treeplex.solvers.EmpiricalRun` records the play).
    In a two-player zero-sum game, NashConv of the averages is the sum of both players' regrets. In conditional units
    β(I) is multiplied by the probability that the opponent's average and chance lead to I. With more than two players
    it is multiplied by chance's largest probability, because the averages do not determine how often all others do so
    together.

    In the limit, R̄ ≤ β follows for the rule ``rm`` as in Blackwell's theorem, from the potential Σ_a δ_a (B_a⁺)² of
    the regrets B minus their charges. σ is proportional to δ B⁺, so that Σ_a δ_a B_a⁺ b_a ≤ 0 for each update b. After
    T updates max_a B_a / T ≤ L √(Σ_a δ_a / (T min_a δ_a)), where L is the largest possible entry of b. ``finite_run``
    sums these bounds over the infosets that a deviation can reach. With base ``cfr+`` and weights t^p, each term is
    multiplied by p + 1. Updates must be simultaneous; with alternating updates the same is observed, but not proven.

    Examples
    --------
    The paper's ε, half of NashConv, is above β here:

    >>> from treeplex import Nash, PrefCFR, load_game, solve
    >>> from treeplex.solvers.regret.preference_bounds import preference_bound
    >>> method = PrefCFR("0/b@first:5", vulnerability=0.05, units="counterfactual")
    >>> solution = solve(Nash(load_game("kuhn")), method, tol=0, max_iterations=20_000)
    >>> bool(solution.exploitability > 0.05), bool(2 * solution.exploitability <= preference_bound(solution).asymptotic)
    (True, True)
    """
    method, game = solution.method, solution.problem.game
    if not isinstance(method, PrefCFR):
        raise UnsupportedProblemError(
            "vulnerability bounds need a solution by pref-cfr, received a solution of "
            f"{game.spec} by {getattr(method, 'name', method)}"
        )
    preference = preference_on(game, method.prefer, method.vulnerability, method.units)
    players = range(game.num_players)
    vulnerability = tuple(_most(game, i, _charged(game, preference, i, solution.profile)) for i in players)
    is_saddle = game.num_players == 2 and game.sequence_form.constant_sum is not None
    return PreferenceBound(vulnerability, _finite_run(solution, method, preference), is_saddle)


def _charged(game: Game, preference: Preference, player: int, profile: Profile) -> Floats:
    """Return the vulnerability of each infoset in counterfactual units."""
    beta = preference.vulnerability[player]
    if preference.units == "counterfactual" or not beta.any():
        return beta
    if game.num_players > 2:
        if game.sequence_form.leaves is None:
            raise UnsupportedProblemError(f"{game.spec} has no table of leaves: use units='counterfactual'")
        return np.asarray(beta * _most_reach(game, player))
    return np.asarray(beta * reach_of_others(game, player, profile))


def _most(game: Game, player: int, rewards: Floats) -> float:
    """Return the largest sum of rewards that a plan collects for reaching infosets."""
    treeplex = game.sequence_form.treeplexes[player]
    return best_response_value(treeplex, np.asarray(treeplex.inflow.T @ rewards))


def _finite_run(solution: Solution, method: PrefCFR, preference: Preference) -> tuple[float, ...] | None:
    """Return the part of each player's bound that depends on the length of the run."""
    game, iterations = solution.problem.game, solution.iterations
    plain = method.base == "cfr" and method.averaging_power == 0.0
    growing = isinstance(method.base_method, CFRPlus)
    if (
        not (plain or growing)
        or method.rule != "rm"
        or method.updates != "simultaneous"
        or method.iterate != "average"
        or game.sequence_form.leaves is None
        or not iterations
        or not _from_the_beginning(solution)
    ):
        return None
    repeats = 1.0 + method.averaging_power
    terms = []
    for player in range(game.num_players):
        largest, cost, total, least = _updates(game, preference, player)
        regrets = regret_bound(largest, total, least, iterations, method.initial_regrets)
        # Charges lag behind the plans by at most two blocks.
        late = cost * 2.0 * LATE_BLOCK / iterations if preference.units == "conditional" else 0.0
        terms.append(_most(game, player, repeats * (regrets + late)))
    return tuple(terms)


def _updates(game: Game, preference: Preference, player: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return for each infoset the largest update of a regret, the largest charge, Σδ and min δ."""
    beta, delta = preference.vulnerability[player], preference.degrees[player][1:]
    counts = game.sequence_form.treeplexes[player].num_actions
    starts = np.cumsum(counts) - counts
    leaves, reach = game.sequence_form.leaves, _most_reach(game, player)
    assert leaves is not None
    cost = beta * reach if preference.units == "conditional" else beta
    largest = float(np.ptp(leaves.payoffs[:, player])) * reach + cost
    return largest, cost, np.add.reduceat(delta, starts), np.minimum.reduceat(delta, starts)


def _from_the_beginning(solution: Solution) -> bool:
    """Whether a run began with at most the initial regrets of its method."""
    state: Any = getattr(solution.state, "state", None)
    return state is not None and (state.origin is None or solution.method.initial_regrets > 0.0)


def _most_reach(game: Game, player: int) -> Floats:
    """Return a bound on the probability that chance and the opponent lead to each infoset."""
    table = game.sequence_form.leaves
    assert table is not None
    rows, leaves = leaves_below(game, player)
    treeplex = game.sequence_form.treeplexes[player]
    return np.minimum(np.bincount(rows, weights=table.chance[leaves], minlength=treeplex.num_infosets), 1.0)
