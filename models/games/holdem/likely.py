"""Likely locks: the hands that take an action if only its total frequency is known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidConstraintError
from .bets import SEATS
from .locks import Lock, shares

if TYPE_CHECKING:
    from .solved import SolvedSpot
    from .spot import HoldemSpot

#: The probability of trembles in the equilibrium, and the temperature of trembles as a share of the node's pot.
TREMBLE, TEMPERATURE = 0.01, 0.05
#: Newton steps for the shifts, and the accuracy of the totals.
_STEPS, _ROUND_OFF = 200, 1e-12


def with_likely_locks(spot: "HoldemSpot", solved: "SolvedSpot") -> "HoldemSpot":
    r"""Return a spot whose likely locks are replaced by the probabilities of each hand.

    Parameters
    ----------
    spot : HoldemSpot
        With likely locks, ``Lock(…, each=False, shape="likely")``; other locks are kept.
    solved : SolvedSpot
        An equilibrium of the same spot without locks.

    Raises
    ------
    InvalidConstraintError
        If a lock does not fit the spot.

    Notes
    -----
    Let σ_h be the equilibrium strategy of hand h at the node, Q_h(a) its EV of an action, δ = 0.01, and τ 5% of the
    pot there. The reference is the equilibrium with trembles,

    .. math:: r_h(a) = (1 - δ) σ_h(a) + δ \frac{\exp(Q_h(a) / τ)}{\sum_b \exp(Q_h(b) / τ)}.

    Among the strategies p with the totals of the lock, the likely one minimises Σ_h w_h KL(p_h ‖ r_h), where w_h is
    the probability of hand h at the node in the equilibrium, as averages of locks count it. It shifts logits,

    .. math:: p_h(a) ∝ r_h(a) e^{λ(a)},

    with one λ for each named action. So hands that are indifferent change first, and then hands that lose little by the
    change. Without trembles, a hand that never folds in equilibrium would not fold at any total, and many totals would
    be impossible.

    Examples
    --------
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
    >>> from treeplex.models.games.holdem.likely import with_likely_locks
    >>> free = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh, JdJh"], 100, 100, bets="100%")
    >>> solved = SolvedSpot(free, solve(Nash(free.game)).profile)
    >>> from dataclasses import replace
    >>> likely = with_likely_locks(replace(free, bets=None, locks=['ip at "all-in" likely: fold 60%']), solved)
    >>> sum(likely.locks[0].strategy[hand]["fold"] for hand in ("QhQd", "JhJd"))
    1.2
    """
    if not any(lock.shape == "likely" for lock in spot.locks):
        return spot
    locks: list[Lock] = []
    for lock in spot.locks:
        locks += [lock] if lock.shape == "any" else _by_hand(lock, spot, solved)
    return replace(spot, bets=None, locks=tuple(locks))


def _by_hand(lock: Lock, spot: "HoldemSpot", solved: "SolvedSpot") -> list[Lock]:
    """Return the locks of hands at each node of a likely lock."""
    form, player, found = spot.public_form, SEATS.index(lock.seat), []
    for node, hands, named in lock.totals(spot):
        line = ", ".join(map(str, form.path(node)))
        there = solved.at(line)
        reach = solved.numbers.reach(player, there.place)[hands] / spot.weights[player][hands]
        dealt = shares(spot, player, node)[hands]
        weights = dealt * reach if (dealt * reach).sum() > _ROUND_OFF else dealt
        losses = np.nan_to_num(there.action_evs[:, hands].max(axis=0) - there.action_evs[:, hands])
        trembles = np.exp(-losses / (TEMPERATURE * there.pot))
        reference = (1 - TREMBLE) * there.strategy[:, hands] + TREMBLE * trembles / trembles.sum(axis=0)
        played = shifted(reference, weights, [places for places, _ in named], [float(one) for _, one in named])
        names = [str(form.actions[child]) for child in form.children[node].tolist()]
        strategy = {
            spot.hand_names[player][hand]: dict(zip(names, column, strict=True))
            for hand, column in zip(hands.tolist(), played.T.tolist(), strict=True)
        }
        found.append(Lock(lock.seat, strategy, line, said=str(lock)))
    return found


def shifted(reference: Floats, weights: Floats, groups: Sequence[Any], totals: Sequence[float]) -> Floats:
    """Return the strategy nearest to a reference with the given total frequencies of groups of actions.

    Parameters
    ----------
    reference : ndarray of float64, shape (actions, hands)
        Positive; each column sums to 1.
    weights : ndarray of float64, shape (hands,)
    groups : sequence of tuple of int
        Disjoint groups of actions.
    totals : sequence of float
        The average frequency of each group, weighted by `weights`; they sum to at most 1.

    Returns
    -------
    ndarray of float64, shape (actions, hands)
        The minimum of Σ w KL(p ‖ reference).

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.holdem.likely import shifted
    >>> shifted(np.array([[0.5, 0.1], [0.5, 0.9]]), np.ones(2), [(0,)], [0.5]).round(3)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    kept, share = np.array(reference), weights / weights.sum()
    rest = [place for place in range(len(kept)) if not any(place in group for group in groups)]
    every = [list(group) for group in groups] + ([rest] if rest else [])
    aims = [*totals, 1.0 - sum(totals)][: len(every)]
    for group, aim in zip(every, aims, strict=True):
        if aim <= _ROUND_OFF:
            kept[group] = 0.0
    kept /= kept.sum(axis=0)
    free = [(group, aim) for group, aim in zip(every, aims, strict=True) if aim > _ROUND_OFF]
    # The last group takes what the others leave. The dual is convex: Σ w log Σ r e^λ − λ · totals.
    sums = np.array([kept[group].sum(axis=0) for group, _ in free])
    wanted, shift = np.array([one for _, one in free[:-1]]), np.zeros(len(free) - 1)

    def played(shift: Floats) -> Floats:
        logits = np.append(shift, 0.0)
        found: Floats = sums * np.exp(logits - logits.max())[:, None]
        found /= found.sum(axis=0)
        return found

    def dual(shift: Floats) -> float:
        logits = np.append(shift, 0.0)
        most = float(logits.max())
        return float(share @ (np.log((sums * np.exp(logits - most)[:, None]).sum(axis=0)) + most) - shift @ wanted)

    for _ in range(_STEPS if len(shift) else 0):
        now = played(shift)[:-1]
        missed = now @ share - wanted
        if np.abs(missed).max() <= _ROUND_OFF:
            break
        curvature = np.diag(now @ share) - (now * share) @ now.T + 1e-14 * np.eye(len(wanted))
        step, length, before = np.linalg.solve(curvature, missed), 1.0, dual(shift)
        step *= min(1.0, 5.0 / np.abs(step).max())
        while length > 1e-6 and dual(shift - length * step) > before - 1e-4 * length * float(missed @ step):
            length /= 2.0
        shift = shift - length * step
    if len(shift) and np.abs(played(shift)[:-1] @ share - wanted).max() > 1e-6:
        raise InvalidConstraintError(f"found no likely strategy with the total frequencies {[*map(float, totals)]}")
    ratios = played(shift) / np.where(sums > 0.0, sums, 1.0)
    for (group, _), ratio in zip(free, ratios, strict=True):
        kept[group] *= ratio
    kept /= kept.sum(axis=0)
    return kept
