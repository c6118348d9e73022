"""Where a strategy loses: each infoset's contribution to a player's regret against the other players."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import Floats
from .checks import explained
from .evaluate import plans_of
from .game import Game
from .polytope import Treeplex, infoset_maxima, sequence_values
from .sequence_form import SequenceForm, sequence_form_of
from .sheet import Column, Table, count, payoff, share
from .strategy import Profile, checked_player

#: A loss below this fraction of the largest counterfactual value is round-off.
_ROUND_OFF = 1e-10


@explained
def infoset_losses(game: Game | SequenceForm, profile: Profile, player: int) -> Floats:
    """Return a player's loss at each infoset against the other players' strategies in a profile.

    Parameters
    ----------
    game : Game or SequenceForm
        A game with any number of players and any payoffs; its plans may form a flow polytope.
    profile : Profile
    player : int

    Returns
    -------
    ndarray of float64, shape (num_infosets,)
        At least 0, in payoff units. Their sum is the player's regret, the gain of a best response over the profile.

    Raises
    ------
    InvalidStrategyError
        If the profile belongs to another game, or the player does not exist.

    Notes
    -----
    One backward sweep gives the counterfactual best-response values v(s) = g(s) + Σ_I w(I, s) V(I) of sequences and
    V(I) = max_a v(I, a) of infosets, where g is the payoff per unit of each sequence against the others and w(I, s) the
    weight with which s leads to I, 1 in a tree (von Stengel, "Efficient computation of behavior strategies", Games and
    Economic Behavior 14, 1996). With the player's plan x, the loss at I is

        ℓ(I) = Σ_a x(I, a) (V(I) − v(I, a)),

    the player's own reach of I times the counterfactual regret of its behaviour there, if the player best-responds from
    the next decision on. As Σ_a x(I, a) = Σ_s w(I, s) x(s), all V(I) except those below the empty sequence cancel:

        Σ_I ℓ(I) = v(∅) − g · x,

    the regret. Zinkevich et al., "Regret minimization in games with incomplete information", NeurIPS 2007, theorem 3,
    bounds the regret by a sum of maxima of immediate counterfactual regrets; against fixed opponents, and with the
    best response in place of the continuation, the sum is exact.

    Examples
    --------
    Against an opponent who plays uniformly, uniform play loses most by folding kings:

    >>> from treeplex import Profile, load_game
    >>> from treeplex.seqform import best_response_values, expected_payoffs, infoset_losses
    >>> game = load_game("kuhn")
    >>> uniform = Profile.uniform(game)
    >>> losses = infoset_losses(game, uniform, player=0)
    >>> dict(zip(game.sequence_form.treeplexes[0].infoset_labels, losses.round(4).tolist()))
    {'J_': 0.0833, 'J_pb': 0.0417, 'Q_': 0.0833, 'Q_pb': 0.0417, 'K_': 0.0, 'K_pb': 0.125}
    >>> regrets = best_response_values(game, uniform) - expected_payoffs(game, uniform)
    >>> round(float(regrets[0] - losses.sum()), 12)
    0.0
    """
    form = sequence_form_of(game)
    plans, player = plans_of(game, profile), checked_player(game, player)
    lost, _ = _lost(form.treeplexes[player], form.gradient(player, plans), plans[player])
    return np.add.reduceat(lost, form.treeplexes[player].offsets[:-1]) if len(lost) > 1 else lost[1:]


def _lost(treeplex: Treeplex, gradient: Floats, plan: Floats) -> tuple[Floats, Floats]:
    """Return each sequence's loss x(I, a) (V(I) − v(I, a)), 0 for the empty sequence, and the values v."""
    values = sequence_values(treeplex, gradient)
    lost = np.zeros(len(values))
    if treeplex.num_infosets:
        best = np.repeat(infoset_maxima(treeplex, values), treeplex.num_actions)
        lost[1:] = plan[1:] * (best - values[1:])
    return lost, values


def largest_losses(
    game: Game | SequenceForm, profile: Profile, players: Sequence[int] | None = None, top: int = 10
) -> list[dict[str, Any]]:
    """Return the infosets at which players lose most, the worst first.

    Parameters
    ----------
    game : Game or SequenceForm
    profile : Profile
    players : sequence of int, optional
        The players whose infosets are listed; by default all.
    top : int
        The maximum number of infosets.

    Returns
    -------
    list of dict
        With ``player``; ``infoset``, its label as a string; ``loss``, see :func:`infoset_losses`; ``reach``, the
        player's own probability of playing to the infoset; ``action``, the action that loses most there;
        ``probability``, that action's probability; and ``better``, the best response's action. Infosets whose loss is
        round-off are omitted.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.seqform.losses import largest_losses
    >>> game = load_game("kuhn")
    >>> worst, *others = largest_losses(game, Profile.uniform(game))
    >>> worst["infoset"], worst["action"], worst["better"], round(worst["loss"], 6), len(others)
    ('K_b', 'p', 'b', 0.25, 9)
    """
    form, plans = sequence_form_of(game), plans_of(game, profile)
    rows: list[dict[str, Any]] = []
    for player in range(form.num_players) if players is None else players:
        treeplex, plan = form.treeplexes[player], plans[player]
        lost, values = _lost(treeplex, form.gradient(player, plans), plan)
        if len(lost) == 1:
            continue
        totals = np.add.reduceat(lost, treeplex.offsets[:-1])
        reach, behaviour = treeplex.reach(plan), profile[player].behaviour
        counted = totals > _ROUND_OFF * np.abs(values).max()
        order = np.argsort(-totals, kind="stable")[: max(top, 0)]
        for infoset in order[counted[order]].tolist():
            first, last = treeplex.offsets[infoset : infoset + 2].tolist()
            actions, taken = treeplex.action_labels[infoset], int(np.argmax(lost[first:last]))
            rows.append(
                {
                    "player": player,
                    "infoset": str(treeplex.infoset_labels[infoset]),
                    "loss": float(totals[infoset]),
                    "reach": float(reach[infoset]),
                    "action": str(actions[taken]),
                    "probability": float(behaviour[first + taken]),
                    "better": str(actions[int(np.argmax(values[first:last]))]),
                }
            )
    return sorted(rows, key=lambda row: -row["loss"])[: max(top, 0)]


def losses_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Return rows of :func:`largest_losses` as a table for reports."""
    columns = [
        *(Column("player", count), Column("infoset"), Column("loss", payoff), Column("reach", share)),
        *(Column("action", heading="plays"), Column("probability", share), Column("better")),
    ]
    return Table.of(rows, columns, title)
