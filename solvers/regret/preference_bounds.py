"""What Preference-CFR proves of its play: bounds of regrets, and of NashConv, by the vulnerabilities."""

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
    """Bounds of what each player may gain by deviating from what Preference-CFR played.

    Attributes
    ----------
    vulnerability : tuple of float
        Bᵢ, what the vulnerabilities allow player i to gain, payoff units.
    finite_run : tuple of float or None
        The amount that a run of that many iterations may add; it falls like one over their square root. ``None`` where
        nothing is proven: by the rule ``br``, and where regrets are discounted or iterates weighted otherwise than they
        count.
    is_saddle : bool
        Whether the game is one of two players with a constant sum, where regrets bound NashConv of the averages.
    """

    vulnerability: tuple[float, ...]
    finite_run: tuple[float, ...] | None
    is_saddle: bool = True

    @property
    def asymptotic(self) -> float:
        """Σ Bᵢ, below which the sum of the regrets comes in the end: NashConv for two players with a constant sum."""
        return sum(self.vulnerability)

    @property
    def regrets(self) -> tuple[float, ...] | None:
        """What each player's regret is proven to be below now: what a plan fixed beforehand gains over the play."""
        if self.finite_run is None:
            return None
        return tuple(bound + more for bound, more in zip(self.vulnerability, self.finite_run, strict=True))

    @property
    def cce_gap(self) -> float | None:
        """ε of the coarse correlated ε-equilibrium that the joint play of the iterations is proven to be."""
        return None if self.regrets is None else max(self.regrets)

    @property
    def nash_conv(self) -> float | None:
        """The proven upper bound on NashConv of the averages; ``None`` unless regrets bound it."""
        return None if self.regrets is None or not self.is_saddle else sum(self.regrets)


def regret_bound(largest: Floats, total: Floats, least: Floats, iterations: int, first: float = 0.0) -> Floats:
    """Return L √(Σδ / (T min δ)): how far averaged regrets are at most from those that nobody regrets, by rule ``rm``.

    Parameters
    ----------
    largest : ndarray of float64, shape (num_infosets,)
        L, the most that an entry of an update can be, payoff units.
    total, least : ndarray of float64, shape (num_infosets,)
        Σδ and min δ over an infoset's actions.
    iterations : int
        T.
    first : float
        The most that a regret was before the first update, payoff units.

    Returns
    -------
    ndarray of float64, shape (num_infosets,)
        Of the Euclidean norm of (R̄ − β)⁺, so of its largest entry too.

    Notes
    -----
    Φ = Σ δ (B⁺)² grows by at most L² Σδ an update, and is at least min δ times the norm of B⁺ squared. The paper's
    appendix B.2 has ``L |A| δ* / √T`` (equation 26), which is never less: δ* is the largest δ, and Σδ / min δ at most
    ``|A| δ*``.

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
    """How far each infoset's averaged regrets are from those that nobody regrets, and how far they may be.

    Attributes
    ----------
    distances : tuple of ndarray of float64, shape (num_infosets,)
        The Euclidean norm of (R̄ − β)⁺, one array a player, payoff units: equations 23 and 28.
    bounds : tuple of ndarray of float64, shape (num_infosets,)
        :func:`regret_bound`, which is proven of the rule ``rm``.
    rates : tuple of ndarray of float64, shape (num_infosets,)
        ``L |A| δ* / √T``, equation 26.
    """

    distances: tuple[Floats, ...]
    bounds: tuple[Floats, ...]
    rates: tuple[Floats, ...]


def approach(solution: Solution) -> Approach:
    """Return what appendix B.2 of the paper on Preference-CFR is about, at each infoset of a run.

    Parameters
    ----------
    solution : Solution
        By ``pref-cfr`` with the base ``cfr`` and without first regrets, of a game with a table of leaves.

    Returns
    -------
    Approach

    Raises
    ------
    UnsupportedProblemError
        If it is not.

    Notes
    -----
    Equation 26 claims that dist(R̄_T, γ_T) ≤ ``L |A| δ* / √T`` of both rules, γ_T being the nearest regrets of which
    none is positive. Of ``rm`` it follows from :func:`regret_bound`. Of ``br`` it is false: with one positive entry
    chosen, equation 22 is 0 ≤ 0 for every update, and the point ψ that the distance is taken from moves. In the battle
    of the sexes two players who prefer what they like best may never meet, and the distance stays (the tests, and the
    theory page on Preference-CFR, have the game).

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
    """Return what Preference-CFR proves of its play, computed from preferences and strategies.

    Parameters
    ----------
    solution : Solution
        By ``pref-cfr``, of an equilibrium of a game of any number of players and any payoffs.

    Returns
    -------
    PreferenceBound

    Raises
    ------
    UnsupportedProblemError
        If it is not by that method, or a vulnerability is in conditional units and the game has no table of leaves.

    Notes
    -----
    The paper's ε ≤ β holds in normal form. In extensive games, if the averaged regrets R̄(I, a) of a player are at most
    β(I) everywhere, a deviation x' gains Σ_I x'(σ(I)) Σ_a σ'(I, a) R̄(I, a) (Zinkevich et al., "Regret minimization in
    games with incomplete information", NeurIPS 2007, unrolled), at most

        Bᵢ = max over x' of Σ_I x'(σ(I)) β(I),

    which bounds the player's regret in the joint play of the iterations, whatever the payoffs: the play is a coarse
    correlated equilibrium up to the largest of them (:class:`~treeplex.solvers.EmpiricalRun` records it). In a zero-sum
    game of two players NashConv of the averages is the sum of both players' regrets. In conditional units β(I) is
    multiplied by how often the opponent's average, and chance, allow I; of more than two players by how often chance
    may at most, for the averages do not tell how often all others do at once.

    That R̄ ≤ β in the end follows for the rule ``rm`` as Blackwell's theorem does, from the potential Σ_a δ_a (B_a⁺)² of
    the regrets B less what is charged for them: σ is in proportion to δ B⁺, so that Σ_a δ_a B_a⁺ b_a ≤ 0 for each
    update b, and after T of them max_a B_a / T ≤ L √(Σ_a δ_a / (T min_a δ_a)), with L the most that an entry of b can
    be. ``finite_run`` sums these over the infosets that a deviation can reach. With the base ``cfr+`` and weights t^p
    each term counts p + 1 times. Both players have to learn at once: in turn the same is observed, not proven.

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
    """Return the most that a plan collects of rewards for coming to infosets."""
    treeplex = game.sequence_form.treeplexes[player]
    return best_response_value(treeplex, np.asarray(treeplex.inflow.T @ rewards))


def _finite_run(solution: Solution, method: PrefCFR, preference: Preference) -> tuple[float, ...] | None:
    """Return what the length of a run adds to each player's bound."""
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
        # What is charged lags behind the plans by two blocks at most.
        late = cost * 2.0 * LATE_BLOCK / iterations if preference.units == "conditional" else 0.0
        terms.append(_most(game, player, repeats * (regrets + late)))
    return tuple(terms)


def _updates(game: Game, preference: Preference, player: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return at each infoset the most that an update adds to a regret, the most that is charged, Σδ and min δ."""
    beta, delta = preference.vulnerability[player], preference.degrees[player][1:]
    counts = game.sequence_form.treeplexes[player].num_actions
    starts = np.cumsum(counts) - counts
    leaves, reach = game.sequence_form.leaves, _most_reach(game, player)
    assert leaves is not None
    cost = beta * reach if preference.units == "conditional" else beta
    largest = float(np.ptp(leaves.payoffs[:, player])) * reach + cost
    return largest, cost, np.add.reduceat(delta, starts), np.minimum.reduceat(delta, starts)


def _from_the_beginning(solution: Solution) -> bool:
    """Whether a run began with no more regrets than its method says."""
    state: Any = getattr(solution.state, "state", None)
    return state is not None and (state.origin is None or solution.method.initial_regrets > 0.0)


def _most_reach(game: Game, player: int) -> Floats:
    """Return a bound of how often chance and the opponent can allow each infoset."""
    table = game.sequence_form.leaves
    assert table is not None
    rows, leaves = leaves_below(game, player)
    treeplex = game.sequence_form.treeplexes[player]
    return np.minimum(np.bincount(rows, weights=table.chance[leaves], minlength=treeplex.num_infosets), 1.0)
