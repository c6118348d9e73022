"""Constrained CFR by walks over a game's rules: the costs of infosets, by label, and the multipliers of rows."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ...models.constraints.labelled import ExpectedCost, LabelledConstraint
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.rules import CHANCE, TERMINAL
from .walks import LARGEST_WEIGHT, Infosets, Update, Walker, WeightOverflowError, Writes

Row = LabelledConstraint | ExpectedCost
#: A player's strategy: a function from an infoset's label and actions to probabilities.
Answer = Callable[[Hashable, Sequence[Hashable]], Sequence[float]]


class InfosetCosts:
    """The costs of one player's sequences in each row, at the infosets met so far.

    Parameters
    ----------
    player : int
    rows : sequence of Row
        The constraints of all players.

    Attributes
    ----------
    known, counted : dict
        From infosets' numbers to rows' numbers and coefficients of the actions: coefficients of the plan, and of
        the frequency of a sequence, which depends on chance and the others.
    on_the_way : list of int
        The infosets of ``known`` and those that lead to them, in order.
    leaves : list of tuple
        The numbers of rows with costs at leaves, and the functions from a state to its cost.
    missing : dict
        From rows' numbers to the strings of their infosets that no walk has met.
    """

    def __init__(self, player: int, rows: Sequence[Row]) -> None:
        self._rows = [(number, one) for number, one in enumerate(rows) if one.player == player]
        self.known: dict[int, list[tuple[int, list[float]]]] = {}
        self.counted: dict[int, list[tuple[int, list[float]]]] = {}
        self.on_the_way: list[int] = []
        self.leaves = [(number, one.cost) for number, one in self._rows if isinstance(one, ExpectedCost)]
        self.missing = {number: set(one.named) for number, one in self._rows}

    @property
    def samples(self) -> bool:
        """Whether counted quantities need their own walks."""
        return any(one.counts for _, one in self._rows)

    def lay_out(self, table: Infosets, number: int, label: Hashable, actions: Sequence[Hashable]) -> None:
        """Record the costs of a new infoset; can be repeated after Ctrl-C."""
        is_first = table.parents[number] < 0
        for row, one in self._rows:
            for found, is_counted in ((self.known, False), (self.counted, True)):
                coefficients = one.coefficients(label, actions, is_first, is_counted)
                if coefficients is not None:
                    found[number] = [*(each for each in found.get(number, ()) if each[0] != row), (row, coefficients)]
        if number in self.known:
            ways, here = set(self.on_the_way), number
            while here >= 0 and here not in ways:
                ways.add(here)
                parent = table.parents[here]
                here = -1 if parent < 0 else bisect_right(table.starts, parent) - 1
            self.on_the_way = sorted(ways)
        for texts in self.missing.values():
            texts.discard(str(label))


class StreamedRows:
    """The rows of a run over rules, and their multipliers.

    Parameters
    ----------
    constraints : sequence of Row
    num_players : int
    cap : float
        The bound on multipliers; infinite if there is none.
    step, power : float
        In iteration t multipliers move by ``step`` t^(−``power``).

    Attributes
    ----------
    values, sums : array of float
        The multipliers, and their sums over iterations.
    tallies : array of float
        For each row Σ f̂, Σ λ f̂, the largest λ and the number of iterations with a sample f̂, concatenated.
    unit : array of float
        The largest payoff met so far: the change of a multiplier for a value equal to its range.
    """

    def __init__(self, constraints: Sequence[Row], num_players: int, cap: float, step: float, power: float) -> None:
        self.constraints, self._cap, self._step, self._power = tuple(constraints), cap, step, power
        names = [one.name for one in self.constraints]
        for name in names:
            if names.count(name) > 1:
                raise InvalidConstraintError(f"two constraints are named {shown(name)}, expected different names")
        self.costs = [InfosetCosts(player, self.constraints) for player in range(num_players)]
        count = len(self.constraints)
        self.values, self.sums = array("d", [0.0] * count), array("d", [0.0] * count)
        self.tallies, self.unit = array("d", [0.0] * (4 * count)), array("d", [0.0])

    @property
    def changing(self) -> dict[str, "array[float]"]:
        """The arrays that iterations change, by name."""
        return {"values": self.values, "sums": self.sums, "tallies": self.tallies, "unit": self.unit}

    @property
    def identity(self) -> list[str]:
        """The description of the rows in a file, and the update rule of their multipliers."""
        return [
            *(f"{one.player}: {one.name}: {one.constant!r}: {one.terms!r}" for one in self.constraints),
            repr((self._cap, self._step, self._power)),
        ]

    def is_known(self, row: int) -> bool:
        """Whether walks have met all infosets that a row names."""
        return not self.costs[self.constraints[row].player].missing[row]

    def moved(self, found: Sequence[float], iteration: float, largest: float) -> Writes:
        """Return the changes of multipliers after an iteration, given rows' sampled values without their constants.

        Parameters
        ----------
        found : sequence of float
        iteration : float
            At least 1.
        largest : float
            The largest payoff met so far.
        """
        values, sums, tallies = self.values.tolist(), self.sums.tolist(), self.tallies.tolist()
        step, count, unit = self._step * iteration**-self._power, len(values), self.unit[0]
        for row, one in enumerate(self.constraints):
            value = values[row]
            sums[row] += value
            if not self.is_known(row):
                continue
            violation = found[row] + one.constant
            tallies[row] += violation
            tallies[count + row] += value * violation
            tallies[2 * count + row] = max(tallies[2 * count + row], value)
            tallies[3 * count + row] += 1.0
            values[row] = min(max(value + step * (unit / one.span**2) * violation, 0.0), self._cap)
        return [
            (self.values, 0, values),
            (self.sums, 0, sums),
            (self.tallies, 0, tallies),
            (self.unit, 0, [max(unit, largest)]),
        ]


class ConstrainedWalker(Walker):
    """Walks over the rules of a game under constraints; see :class:`~treeplex.solvers.sampling.walks.Walker`.

    A turn includes all players: all walk with the earlier policies and multipliers, and then everything is updated.

    Parameters
    ----------
    rows : StreamedRows
    others : mapping of int to callable, optional
        The players' strategies for counting another player's actions and its costs at leaves; uniform for missing
        players.
    *args, **kwargs
        As for :class:`~treeplex.solvers.sampling.walks.Walker`.
    """

    def __init__(self, rows: StreamedRows, others: Mapping[int, Answer] | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows, self._others = rows, others or {}
        self._found: dict[int, list[float]] = {}

    def _add_regrets(self, own: Infosets, start: int, found: Sequence[float], writes: Writes) -> None:
        """Sum the regrets found at an infoset in this turn; the sums are written when the turn ends."""
        held = self._found.get(start)
        self._found[start] = list(found) if held is None else [a + b for a, b in zip(held, found, strict=True)]

    def turn(self, player: int, before: int = 0, averages: bool = True) -> Update:
        """Walk for all players, and return the changes."""
        self.numbers.state = self.random_state
        touched, players = before, range(len(self.tables))
        writes: Writes = []
        values = [0.0] * len(self.rows.constraints)
        for each in players:
            self._found = {}
            touched += self._walk(each, averages, writes)
            touched += self._pay_known(each, values, writes) + self._pay_counted(each, values, writes)
            for start, found in self._found.items():
                super()._add_regrets(self.tables[each], start, found, writes)
        turns = self.turns[0] + 1.0
        largest = max((max(abs(low), abs(high)) for low, high in self.payoff_ranges if low <= high), default=0.0)
        writes += [*self.rows.moved(values, turns, largest), (self.turns, 0, [turns] * len(players))]
        return Update(players[-1], writes, touched, turns, self.numbers.state)

    def _pay_known(self, player: int, values: list[float], writes: Writes) -> int:
        """Pay the exact costs of sequences by their realization, at all infosets that lead to them."""
        own, costs, multipliers = self.tables[player], self.rows.costs[player], self.rows.values
        plan: dict[int, float] = {}
        worth: dict[int, float] = {}
        policies = []
        for number in costs.on_the_way:
            policy, start = self.policy(own, number), own.starts[number]
            policies.append(policy)
            reach = plan.get(own.parents[number], 1.0)
            for place, share in enumerate(policy, start):
                plan[place], worth[place] = reach * share, 0.0
            for row, coefficients in costs.known.get(number, ()):
                for place, coefficient in enumerate(coefficients, start):
                    worth[place] -= multipliers[row] * coefficient
                    values[row] += plan[place] * coefficient
        for number, policy in zip(reversed(costs.on_the_way), reversed(policies), strict=True):
            start, parent = own.starts[number], own.parents[number]
            here = [worth[place] for place in range(start, start + len(policy))]
            mean = 0.0
            for share, each in zip(policy, here, strict=True):
                mean += share * each
            self._add_regrets(own, start, [each - mean for each in here], writes)
            if parent >= 0:
                worth[parent] += mean
        return len(policies)

    def _pay_counted(self, player: int, values: list[float], writes: Writes) -> int:
        """Pay for costs that depend on chance and the other players, by a walk on which those play their strategies."""
        costs, multipliers, outcome = self.rows.costs[player], self.rows.values, self.settings.outcome
        if not costs.samples:
            return 0
        own, touched = self.tables[player], 0
        # For each own decision: its number, policy, weight and action values; then the place of the results.
        points: list[tuple[int, list[float], float, list[float], int, int, float]] = []
        stack = [(self._root, -1, 1.0, 1.0, -1, 0, 1.0)]
        while stack:
            state, last, weight, reach, above, action, ratio = stack.pop()
            state, touched, ends = self._to_decision(player, state, touched)
            if ends:
                for row, cost in costs.leaves:
                    paid = self._cost(state, row, cost)
                    values[row] += weight * reach * paid
                    if above >= 0:
                        points[above][3][action] -= ratio * multipliers[row] * paid
                continue
            number, menu = self._meet(player, state, last)
            policy, worth = self.policy(own, number), [0.0] * len(menu)
            for row, coefficients in costs.counted.get(number, ()):
                for place, coefficient in enumerate(coefficients):
                    worth[place] -= multipliers[row] * coefficient
                    values[row] += weight * reach * policy[place] * coefficient
            here, start, taken = len(points), own.starts[number], [(each, 1.0) for each in range(len(menu))]
            points.append((number, policy, weight, worth, above, action, ratio))
            if outcome:
                chosen, explored = self._chosen(policy, self.settings.exploration), self.settings.exploration
                taken = [(chosen, policy[chosen] * (1.0 - explored) + explored / len(menu))]
                if taken[0][1] * LARGEST_WEIGHT < weight:
                    raise WeightOverflowError
            for each, chance in reversed(taken):
                child = self.rules.child(state, menu[each])
                stack.append((child, start + each, weight / chance, reach * policy[each], here, each, 1.0 / chance))
        for number, policy, weight, worth, above, action, ratio in reversed(points):
            mean = math.fsum(share * each for share, each in zip(policy, worth, strict=True))
            self._add_regrets(own, own.starts[number], [weight * (each - mean) for each in worth], writes)
            if above >= 0:
                points[above][3][action] += ratio * mean
        return touched

    def _to_decision(self, player: int, state: Any, touched: int) -> tuple[Any, int, bool]:
        """Return the next state in which a player decides, or a leaf, and the number of histories touched."""
        rules, begun = self.rules, touched
        while True:
            touched += 1
            if not touched % 256:
                self._pause(touched - begun)
            who = rules.player(state)
            if who in (TERMINAL, player):
                return state, touched, who == TERMINAL
            if who == CHANCE:
                state = self._after_chance(state)
                continue
            actions = rules.actions(state)
            answer = self._others.get(self._mover(state, who))
            policy = [1.0 / len(actions)] * len(actions)
            if answer is not None:
                policy = list(answer(rules.infoset(state), actions))
            state = rules.child(state, actions[self._chosen(policy, 0.0)])

    def _cost(self, state: Any, row: int, cost: Callable[[Any], float]) -> float:
        """Return the cost of a leaf."""
        try:
            paid = float(cost(state))
        except (TypeError, ValueError, OverflowError):
            paid = math.nan
        if not math.isfinite(paid):
            name = self.rows.constraints[row].name
            raise InvalidConstraintError(
                f"the cost of {shown(name)} at the leaf {shown(state)} is not a number, expected a finite number"
            )
        return paid
