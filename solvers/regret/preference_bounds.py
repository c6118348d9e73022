"""What Preference-CFR proves of its averages: a bound of NashConv by the vulnerabilities."""

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
from .loop import LATE_BLOCK


@dataclass(frozen=True)
class PreferenceBound:
    """Bounds of what each player may gain by deviating from averages that Preference-CFR found.

    Attributes
    ----------
    vulnerability : tuple of float
        Bᵢ, what the vulnerabilities allow player i to gain, payoff units.
    finite_run : tuple of float or None
        What a run of that many iterations may add; it falls like one over their square root. ``None`` where nothing is
        proven: by the rule ``br``, and where regrets are discounted or iterates weighted otherwise than they count.
    """

    vulnerability: tuple[float, ...]
    finite_run: tuple[float, ...] | None

    @property
    def asymptotic(self) -> float:
        """B₀ + B₁, below which NashConv comes in the end."""
        return sum(self.vulnerability)

    @property
    def nash_conv(self) -> float | None:
        """What NashConv of the averages is proven to be below now."""
        return None if self.finite_run is None else self.asymptotic + sum(self.finite_run)


def preference_bound(solution: Solution) -> PreferenceBound:
    """Return what Preference-CFR proves of its averages, computed from preferences and strategies.

    Parameters
    ----------
    solution : Solution
        By ``pref-cfr``, of a zero-sum game of two players.

    Returns
    -------
    PreferenceBound

    Raises
    ------
    UnsupportedProblemError
        If it is not by that method, or not of such a game.

    Notes
    -----
    The paper's ε ≤ β holds in normal form. In extensive games, if the averaged regrets R̄(I, a) of a player are at most
    β(I) everywhere, a deviation x' gains Σ_I x'(σ(I)) Σ_a σ'(I, a) R̄(I, a) (Zinkevich et al., "Regret minimization in
    games with incomplete information", NeurIPS 2007, unrolled), at most

        Bᵢ = max over x' of Σ_I x'(σ(I)) β(I),

    and in a zero-sum game NashConv of the averages is the sum of both players' regrets. In conditional units β(I) is
    multiplied by how often the opponent's average, and chance, allow I.

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
    if not isinstance(method, PrefCFR) or game.num_players != 2 or not game.sequence_form.is_zero_sum:
        raise UnsupportedProblemError(
            "bounds by vulnerabilities are of solutions by pref-cfr of zero-sum games of two players, received one of "
            f"{game.spec} by {getattr(method, 'name', method)}"
        )
    preference = preference_on(game, method.prefer, method.vulnerability, method.units)
    vulnerability = tuple(_most(game, i, _charged(game, preference, i, solution.profile)) for i in range(2))
    return PreferenceBound(vulnerability, _finite_run(solution, method, preference))


def _charged(game: Game, preference: Preference, player: int, profile: Profile) -> Floats:
    """Return the vulnerability of each infoset in counterfactual units."""
    beta = preference.vulnerability[player]
    if preference.units == "counterfactual" or not beta.any():
        return beta
    return np.asarray(beta * reach_of_others(game, player, profile))


def _most(game: Game, player: int, rewards: Floats) -> float:
    """Return the most that a plan collects of rewards for coming to infosets."""
    treeplex = game.sequence_form.treeplexes[player]
    return best_response_value(treeplex, np.asarray(treeplex.inflow.T @ rewards))


def _finite_run(solution: Solution, method: PrefCFR, preference: Preference) -> tuple[float, ...] | None:
    """Return what the length of a run adds to each player's bound."""
    game, iterations = solution.problem.game, solution.iterations
    leaves = game.sequence_form.leaves
    plain = method.base == "cfr" and method.averaging_power == 0.0
    growing = isinstance(method.base_method, CFRPlus)
    if (
        not (plain or growing)
        or method.rule != "rm"
        or method.updates != "simultaneous"
        or method.iterate != "average"
        or leaves is None
        or not iterations
        or not _from_the_beginning(solution)
    ):
        return None
    repeats = 1.0 + method.averaging_power
    spread = float(np.ptp(leaves.payoffs[:, 0]))
    terms = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        beta, delta = preference.vulnerability[player], preference.degrees[player][1:]
        reach = _most_reach(game, player)
        cost = beta * reach if preference.units == "conditional" else beta
        counts = treeplex.num_actions
        starts = np.cumsum(counts) - counts
        total, least = np.add.reduceat(delta, starts), np.minimum.reduceat(delta, starts)
        first = method.initial_regrets**2 * total  # the potential of the first regrets
        largest = spread * reach + cost
        regrets = np.sqrt((first + iterations * largest**2 * total) / least) / iterations
        # What is charged lags behind the plans by two blocks at most.
        late = cost * 2.0 * LATE_BLOCK / iterations if preference.units == "conditional" else 0.0
        terms.append(_most(game, player, repeats * (regrets + late)))
    return tuple(terms)


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
