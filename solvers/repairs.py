"""Repairs: the decrease of a player's exploitability if the strategy changes at one infoset alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..seqform.arrays import Floats
from ..seqform.checks import explained
from ..seqform.evaluate import plans_of
from ..seqform.game import Game
from ..seqform.limits import check_time
from ..seqform.losses import infoset_losses
from ..seqform.polytope import best_response_plan, infoset_maxima
from ..seqform.sequence_form import SequenceForm, sequence_form_of
from ..seqform.sheet import Column, Table, count, payoff, share
from ..seqform.strategy import Profile, checked_player
from .exact.highs_models import silent_solver

#: A repair below this part of the largest counterfactual value is round-off.
_ROUND_OFF = 1e-10
#: By default, passes visit about this many sequences and payoffs in total; their number is between the next two.
_WORK, _FEWEST, _MOST = 300_000_000, 100, 10_000


@dataclass(frozen=True)
class Repairs:
    """The infosets with the largest repairs, and a bound on those of all others.

    Attributes
    ----------
    rows : tuple of dict
        The largest repair first. Each has ``player``; ``infoset``, its label as a string; ``repair``, the increase of
        the strategy's worst case, in payoff units; ``repair_upper``, a proven upper bound on the increase by any change
        there; ``loss`` and ``reach``, as in :func:`~treeplex.seqform.largest_losses`; ``action``, the action whose
        probability falls most, ``probability`` and ``repaired``, its probability before and after; ``better``, the
        action whose probability rises most; and ``strategy``, the probability of each action after the repair.
    elsewhere : float
        Changing any single infoset that is not listed raises the worst case by at most this much.
    passes : int
        The number of passes over the game.
    complete : bool
        Whether the search was finished; otherwise an infoset that is not listed may have a larger repair than those
        listed, of at most `elsewhere`.
    """

    rows: tuple[dict[str, Any], ...]
    elsewhere: float
    passes: int
    complete: bool


@explained
def largest_repairs(
    game: Game | SequenceForm,
    profile: Profile,
    players: Sequence[int] | None = None,
    top: int = 10,
    passes: int | None = None,
) -> Repairs:
    """Return the infosets where a change of strategy at that infoset alone reduces a player's exploitability most.

    Parameters
    ----------
    game : Game or SequenceForm
        Two players, constant-sum; plans may form a flow polytope.
    profile : Profile
        A player's repairs depend only on its own strategy; the column ``loss`` depends on both strategies.
    players : sequence of int, optional
        The players whose infosets are searched; by default both.
    top : int
        The largest number of infosets to return.
    passes : int, optional
        The largest number of passes over the game, about one for each best response. By default 100 to 10,000,
        depending on the size of the game.

    Returns
    -------
    Repairs
        Infosets whose repair is only round-off are omitted.

    Raises
    ------
    InvalidStrategyError
        If the profile belongs to another game, or a player does not exist.
    UnsupportedProblemError
        If the game is not a two-player constant-sum game.

    Notes
    -----
    Let x be player i's plan, W(x) = max over y of u₋ᵢ(x, y) the payoff of the opponent's best response, and x_λ the
    plan that plays the distribution λ at infoset I and as before everywhere else. The *repair* of I is

        r(I) = W(x) − min over λ of W(x_λ) ≥ 0,

    at most the exploitability of x, and equal to it if an equilibrium strategy differs from x at I alone. It is 0 at
    infosets that x does not reach. Since x_λ = Σ_a λ_a x_a, with x_a the plan that always plays a at I, and payoffs are
    linear in plans, W(x_λ) = max over y of Σ_a λ_a g_a · y, where g_a is the payoff of the opponent's sequences against
    x_a. The minimum is a matrix game between the actions at I and the opponent's plans. Cutting planes solve it (J. E.
    Kelley, "The cutting-plane method for solving convex programs", Journal of the SIAM 8, 1960; with best responses,
    the double oracle of McMahan, Gordon and Blum, ICML 2003): a best response to x_λ evaluates λ, and adds a column.

    Every plan y of the opponent, pure or mixed, bounds all repairs at once:

        r(I) ≤ W(x) − u₋ᵢ(x, y) + x(I) (max_a q(I, a) − Σ_a b(I, a) q(I, a)),

    with player i's behaviour b and the counterfactual values q of continuing with b against y. The best response to x
    is the first such y; the optimal mixture for each infoset that is solved is another. The infoset with the largest
    bound is solved next, until no bound exceeds the repairs found.

    The value of a repair is computed from a strategy that achieves it. Upper bounds follow from the opponent's plans,
    even if the linear programs are inaccurate.

    Examples
    --------
    Spoil an equilibrium of Kuhn poker by betting every jack. The opponent could exploit this, but does not, so the
    profile loses nothing there; the repair finds it:

    >>> from treeplex import Nash, Profile, Strategy, load_game, solve
    >>> from treeplex.seqform import infoset_losses
    >>> from treeplex.solvers import largest_repairs
    >>> game = load_game("kuhn")
    >>> first, second = solve(Nash(game)).profile
    >>> spoilt = Profile([Strategy.from_dict(game, 0, first.to_dict() | {"J_": {"b": 1}}), second])
    >>> float(infoset_losses(game, spoilt, player=0).round(6).max())
    0.0
    >>> row = largest_repairs(game, spoilt).rows[0]
    >>> row["infoset"], row["action"], row["better"], round(row["repair"], 6)
    ('J_', 'b', 'p', 0.333333)
    """
    form, plans = sequence_form_of(game).zero_sum, plans_of(game, profile)
    if passes is None:
        size = sum(each.num_sequences for each in form.treeplexes) + (form.nnz or 0)
        passes = min(max(_WORK // size, _FEWEST), _MOST)
    budget = _Passes(passes)
    chosen = [checked_player(game, each) for each in (range(2) if players is None else players)]
    sides = [_Side(form, each, plans[each], profile[each].behaviour, budget) for each in chosen]
    round_off = _ROUND_OFF * max((each.scale for each in sides), default=0.0)
    found: list[_Repair] = []
    while top > 0 and sides:
        side = max(sides, key=lambda each: float(each.open.max(initial=0.0)))
        # An infoset whose repair does not exceed this is not listed.
        enough = sorted(each.lower for each in found)[-top] if len(found) >= top else 0.0
        if float(side.open.max(initial=0.0)) <= enough + round_off or budget.left <= 0:
            break
        check_time("looking for repairs")
        found.append(side.solve(int(np.argmax(side.open)), enough + round_off, round_off))
    listed = [each for each in sorted(found, key=lambda each: -each.lower) if each.lower > round_off][: max(top, 0)]
    for each in listed:
        each.side.bounds[each.infoset] = 0.0
    elsewhere = max((float(each.bounds.max(initial=0.0)) for each in sides), default=0.0)
    losses = {each: infoset_losses(game, profile, each) for each in chosen}
    rows = tuple(each.row(float(losses[each.side.player][each.infoset])) for each in listed)
    return Repairs(rows, elsewhere, budget.used, budget.left > 0)


class _Passes:
    """A counter of the passes over the game that have been made, and of those that are left."""

    def __init__(self, allowed: int) -> None:
        self.allowed, self.used = allowed, 0

    @property
    def left(self) -> int:
        return self.allowed - self.used


class _Side:
    """A player's strategy, its best response, and upper bounds on the repairs of its infosets."""

    def __init__(self, form: SequenceForm, player: int, plan: Floats, behaviour: Floats, budget: _Passes) -> None:
        self.form, self.player, self.budget = form, player, budget
        self.own, self.other = form.treeplexes[player], form.treeplexes[1 - player]
        self.behaviour, self.reach = behaviour, self.own.reach(plan)
        self.paid = self._opponent_paid(plan)
        reply = best_response_plan(self.other, self.paid)
        self.worst, self.reply, self.scale = reply.value, reply.plan, 0.0
        #: Bounds on all repairs, and on those of the infosets that are not solved yet.
        self.bounds = np.full(self.own.num_infosets, np.inf)
        self.solved = np.zeros(self.own.num_infosets, dtype=bool)
        self.tighten(self.reply)

    @property
    def open(self) -> Floats:
        return np.where(self.solved, 0.0, self.bounds)

    def _opponent_paid(self, plan: Floats) -> Floats:
        """Return the payoff of each sequence of the opponent against a plan of the player."""
        self.budget.used += 1
        return self.form.gradient(1 - self.player, [plan, plan])

    def tighten(self, reply: Floats) -> None:
        """Lower the bounds to those that a plan of the opponent proves."""
        if not self.own.num_infosets:
            return
        self.budget.used += 1
        values, starts = self.form.gradient(self.player, [reply, reply]).copy(), self.own.offsets[:-1] - 1
        for level in reversed(self.own.levels):
            played = values[level.sequences] * self.behaviour[level.sequences]
            level.pass_up(np.add.reduceat(played, level.starts), values)
        gains = infoset_maxima(self.own, values) - np.add.reduceat(values[1:] * self.behaviour[1:], starts)
        proven = max(self.worst - float(self.paid @ reply), 0.0) + self.reach * np.maximum(gains, 0.0)
        self.bounds = np.minimum(self.bounds, np.where(self.reach > 0.0, proven, 0.0))
        self.scale = max(self.scale, float(np.abs(values).max()))

    def solve(self, infoset: int, enough: float, round_off: float) -> "_Repair":
        """Compute the repair of an infoset, or show that it is at most `enough`; then tighten all bounds."""
        first, last = self.own.offsets[infoset : infoset + 2].tolist()
        paid = np.array([self._opponent_paid(self._always(sequence)) for sequence in range(first, last)])
        game = _ActionGame(last - first)
        game.add(self.worst - paid @ self.reply, self.reply)
        played, lower, upper = self.behaviour[first:last], 0.0, float(self.bounds[infoset])
        trial, mixture = np.eye(last - first)[int(np.argmax(game.columns[0]))], self.reply
        while upper > max(lower + round_off, enough) and self.budget.left > 0:
            self.budget.used += 1
            response = best_response_plan(self.other, trial @ paid)
            achieved = self.worst - response.value
            if achieved > lower:
                lower, played = achieved, trial
            # A column that does not cut off the trial adds nothing, and a repair that meets its bound is final.
            if achieved >= game.value(trial) - round_off or upper <= lower + round_off:
                break
            game.add(self.worst - paid @ response.plan, response.plan)
            trial, mixture, bound = game.solve()
            upper = min(upper, bound)
        upper = max(upper, lower)
        self.solved[infoset] = True
        if len(game.columns) > 1:
            self.tighten(mixture)
        self.bounds[infoset] = min(self.bounds[infoset], upper)
        return _Repair(self, infoset, lower, max(float(self.bounds[infoset]), lower), played)

    def _always(self, sequence: int) -> Floats:
        """Return the plan that always plays a sequence's action at its infoset, and plays as before everywhere else."""
        behaviour, infoset = self.behaviour.copy(), self.own.sequence_infosets[sequence]
        behaviour[self.own.offsets[infoset] : self.own.offsets[infoset + 1]] = 0.0
        behaviour[sequence] = 1.0
        return self.own.plan(behaviour)


@dataclass
class _ActionGame:
    """The matrix game between the actions at an infoset, which maximise, and the opponent's plans found so far."""

    num_actions: int
    columns: list[Floats] = field(default_factory=list)
    replies: list[Floats] = field(default_factory=list)

    def add(self, column: Floats, reply: Floats) -> None:
        """Add a plan of the opponent, and the gain of each action against it."""
        self.columns.append(column)
        self.replies.append(reply)
        if len(self.columns) == 2:  # a single column needs no linear program
            self._begin()
        if len(self.columns) > 1:
            self._add_row(column)

    def _begin(self) -> None:
        """Set up the program max {t : t ≤ c · λ for each column c, λ in the simplex}, in units of the first column."""
        count = self.num_actions
        self._unit = float(np.abs(self.columns[0]).max()) or 1.0
        self._solver = silent_solver()
        for low in (*[0.0] * count, -np.inf):
            self._solver.addVar(low, np.inf)
        self._solver.changeColCost(count, -1.0)
        self._solver.addRow(1.0, 1.0, count, np.arange(count), np.ones(count))
        self._add_row(self.columns[0])

    def _add_row(self, column: Floats) -> None:
        entries = np.append(column / self._unit, -1.0)
        self._solver.addRow(0.0, np.inf, len(entries), np.arange(len(entries)), entries)

    def value(self, actions: Floats) -> float:
        """Return the gain of a distribution over the actions against the plans found so far."""
        return float(min(column @ actions for column in self.columns))

    def solve(self) -> tuple[Floats, Floats, float]:
        """Return the best distribution over the actions, the opponent's best mixture, and the bound that it proves."""
        self._solver.run()
        solution = self._solver.getSolution()
        actions = np.maximum(solution.col_value[: self.num_actions], 0.0)
        weights = np.maximum(solution.row_dual[1:], 0.0)
        actions, weights = (each / each.sum() for each in (actions, weights))
        return actions, weights @ np.array(self.replies), float((weights @ np.array(self.columns)).max())


@dataclass(frozen=True, eq=False)
class _Repair:
    """The repair of an infoset: its lower and upper bounds, and the local strategy that achieves the lower one."""

    side: _Side
    infoset: int
    lower: float
    upper: float
    played: Floats

    def row(self, loss: float) -> dict[str, Any]:
        """Return the row of :class:`Repairs`."""
        own = self.side.own
        first, last = own.offsets[self.infoset : self.infoset + 2].tolist()
        before, actions = self.side.behaviour[first:last], [str(each) for each in own.action_labels[self.infoset]]
        worse, better = int(np.argmin(self.played - before)), int(np.argmax(self.played - before))
        return {
            "player": self.side.player,
            "infoset": str(own.infoset_labels[self.infoset]),
            "repair": self.lower,
            "repair_upper": self.upper,
            "loss": loss,
            "reach": float(self.side.reach[self.infoset]),
            "action": actions[worse],
            "probability": float(before[worse]),
            "repaired": float(self.played[worse]),
            "better": actions[better],
            "strategy": dict(zip(actions, self.played.tolist(), strict=True)),
        }


def repairs_table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Return rows of :class:`Repairs` as a table of an answer."""
    columns = [
        *(Column("player", count), Column("infoset"), Column("repair", payoff), Column("loss", payoff)),
        *(Column("action", heading="plays"), Column("probability", share, "now"), Column("repaired", share)),
        Column("better"),
    ]
    return Table.of(rows, columns, title)
