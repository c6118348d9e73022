"""Regret minimisation as generalised weakened fictitious play: the sequences that must vanish, computed from runs."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidOptionError, UnknownMethodError
from ...seqform.game import Game
from ...seqform.polytope import best_response_value
from ..empirical_run import EmpiricalRun
from ..methods import MCCFR, RegretMethod


@dataclass(frozen=True, eq=False)
class FictitiousPlay:
    """A run interpreted as generalised weakened fictitious play.

    x̄_{t+1} = (1 − α_{t+1}) x̄_t + α_{t+1} (x_{t+1} + M_{t+1}), where each x_{t+1} is an ε_t-best response to x̄_t. Row
    t − 1 of an array describes step t, from the average of t profiles to that of t + 1.

    Attributes
    ----------
    steps : ndarray of float64, shape (k,)
        α_{t+1}.
    epsilons : ndarray of float64, shape (k, num_players)
        ε_t: the payoff of a best response to x̄_t minus the payoff of each player's plan of iteration t + 1, in
        payoff units. With more than two players, payoffs are against the joint play so far.
    regrets : ndarray of float64, shape (k, num_players)
        The gain of each player's best plan over the joint play of the first t profiles.
    perturbations : ndarray of float64, shape (k, number of sequences of all players)
        M_{t+1}, from the method's own averages.
    """

    steps: Floats
    epsilons: Floats
    regrets: Floats
    perturbations: Floats

    def drift(self, span: float) -> Floats:
        """Return the displacement of the averages by perturbations within a span of steps, the supremum of equation 12.

        Parameters
        ----------
        span : float
            T, the sum of the steps α in the span; steps 1 / t from t to 2 t sum to log 2.

        Returns
        -------
        ndarray of float64, shape (k,)
            For each t, the largest absolute entry of Σ α_{i+1} M_{i+1} over i from t to any k of the run with Σ α ≤
            T.
        """
        check_number(span, "span", InvalidOptionError, "(0, inf)")
        carried = np.cumsum(np.vstack([0.0 * self.perturbations[:1], self.steps[:, None] * self.perturbations]), axis=0)
        clock = np.append(0.0, np.cumsum(self.steps))
        ends = np.searchsorted(clock, clock[:-1] + span * (1 + 1e-12), side="right")
        return np.array([np.abs(carried[t:end] - carried[t]).max() for t, end in enumerate(ends.tolist())])


def fictitious_play(
    game: Game, method: RegretMethod | MCCFR | str = "cfr", iterations: int = 1_000, *, seed: int | None = None
) -> FictitiousPlay:
    """Run a method and return the sequences that show whether it is generalised weakened fictitious play.

    Parameters
    ----------
    game : Game
        Any number of players and any payoffs; all plans are stored, so it should be small.
    method : RegretMethod or MCCFR, or str
        As for :class:`~treeplex.solvers.EmpiricalRun`.
    iterations : int
        k, at least 1.
    seed : int, optional

    Returns
    -------
    FictitiousPlay

    Raises
    ------
    UnknownMethodError
        If the method is not iterative, or returns its last iterates.

    Notes
    -----
    Averages of such a process converge to the equilibria of two-player zero-sum games, and of other games that
    fictitious play solves, if α_t → 0, Σ α_t = ∞, ε_t → 0 and :meth:`FictitiousPlay.drift` → 0 for every span (D. S.
    Leslie and E. J. Collins, "Generalised weakened fictitious play", Games and Economic Behavior 56, 2006; equations 10
    to 12 of the paper on Preference-CFR). Appendix D of that paper states that regret matching is such a process in
    normal form, with α_t = 1 / t, M_t = 0 and, by equation 41,

        ε_t = Σ_a σ_{t+1}(a) (max_b R̄_t(b) − R̄_t(a)).

    The same holds in extensive games, for plans, and with preferences. Regrets unroll (Zinkevich et al. 2007): the
    payoff of a plan x against x̄_t, minus the average payoff so far, is Σ_I x(σ(I)) Σ_a σ(I, a) R̄_t(I, a). At infosets
    with a positive regret, both rules, ``rm`` and ``br``, play only actions of positive regret. At other infosets they
    play only actions whose regrets are 0, if the run began without regrets and without charges for vulnerabilities. So
    for x_{t+1} no term is negative, and

        ε_t ≤ the player's regret after t iterations,

    for any payoffs, if updates are simultaneous and all iterates have equal weights. With ``rm`` regret vanishes
    (:func:`~treeplex.solvers.regret.preference_bounds.regret_bound`), and so does ε_t. Initial regrets between 0 and r
    add at most r / t for each infoset that the plan reaches. With ``br`` ε_t vanishes if regret does, which is
    unproven.

    The paper's equation 39 states that all Q̄ are equal if no regret is positive. This holds for regret matching from
    zero regrets, where no regret is positive only as long as all are 0. With degrees, Q̄ may differ: actions that are
    not preferred may be worse. The conclusion of equation 39, ε_t = 0, still holds.

    Examples
    --------
    >>> from treeplex import CFR, load_game
    >>> from treeplex.solvers.regret.fictitious_play import fictitious_play
    >>> found = fictitious_play(load_game("kuhn"), CFR(updates="simultaneous"), 1000)
    >>> found.steps[[0, -1]]
    array([0.5     , 0.000999])
    >>> bool((found.epsilons <= found.regrets + 1e-12).all()), bool(found.epsilons[-1].max() < 0.02)
    (True, True)
    >>> bool(found.drift(1.0).max() < 1e-9)
    True
    """
    check_whole(iterations, "iterations", InvalidOptionError, "[1, inf)")
    run = EmpiricalRun(game, method, seed=seed)
    if getattr(method, "iterate", "average") != "average":
        raise UnknownMethodError("the method returns its last iterate, expected a method that averages iterates")
    treeplexes = game.sequence_form.treeplexes
    weight, averages, played = 0.0, [], []
    steps, epsilons, regrets = [], [], []
    for t in range(iterations + 1):
        plans = [plan.copy() for plan in run.current_plans]
        weight += run.weight
        if t:
            gradients = run.play.gradients
            best = [best_response_value(own, gradient) for own, gradient in zip(treeplexes, gradients, strict=True)]
            epsilons.append([most - float(g @ plan) for most, g, plan in zip(best, gradients, plans, strict=True)])
            regrets.append(run.play.gains)
            steps.append(run.weight / weight)
            played.append(np.concatenate(plans))
        run.run(1)
        averages.append(np.concatenate(run.average_plans))
    alphas = np.array(steps)
    moves = np.array([after - before for before, after in pairwise(averages)]) / alphas[:, None]
    perturbations = moves - (np.array(played) - np.array(averages[:-1]))
    return FictitiousPlay(alphas, np.array(epsilons), np.array(regrets), perturbations)
