"""The game between units and attackers who also choose the worst case of an uncertain patrol."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.budget import FormSize
from ....seqform.errors import InvalidConstraintError, shown
from ....seqform.factored import FactoredPayoff
from ....seqform.polytope import best_response_value
from ....seqform.sequence_form import SequenceForm
from ....seqform.strategy import Strategy
from ...constraints import LinearConstraint, RiskConstraint
from .cases import Bound, Case, Group, measure_of, scenarios_of
from .game import PatrolGame, patrol_of
from .patrol import Patrol
from .walker import Party, Root, party


@dataclass(frozen=True, eq=False)
class CasePatrol(Patrol):
    """A patrol whose attackers are all groups in all cases; first, one case is chosen.

    Attributes
    ----------
    groups : tuple of Group
    cases : tuple of Case
    """

    groups: tuple[Group, ...] = ()
    cases: tuple[Case, ...] = ()

    @classmethod
    def of(cls, patrol: Patrol, groups: tuple[Group, ...], cases: tuple[Case, ...]) -> "CasePatrol":
        """Return the patrol of some cases."""
        declared = {each.name: getattr(patrol, each.name) for each in fields(Patrol)}
        attackers = [
            replace(
                group.attacker,
                goals=goals,
                probability=None,
                name=group.name if len(cases) == 1 else f"{case.name}: {group.name}",
            )
            for case in cases
            for group, goals in zip(groups, case.goals, strict=True)
            if group.comes
        ]
        changed = {"attackers": attackers, "uncertainty": None, "scenarios": (), "table": None}
        return cls(**(declared | changed), groups=groups, cases=cases)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """The numbers of the case and of the group of each attacker."""
        return [(case, group) for case in range(len(self.cases)) for group, one in enumerate(self.groups) if one.comes]

    @cached_property
    def roots(self) -> tuple[list[Root], list[int], dict[tuple[int, int], int]]:
        """The choice of a case and of a group, the sequence of each case, and that of each group of each case."""
        roots = [Root("case", tuple(case.name for case in self.cases))] if len(self.cases) > 1 else []
        chosen = list(range(1, 1 + len(self.cases))) if roots else [0]
        count, ways = len(self.cases) if roots else 0, dict[tuple[int, int], int]()
        for number, case in enumerate(self.cases):
            if case.shares is not None:
                ways |= dict.fromkeys(((number, group) for group in range(len(self.groups))), chosen[number])
                continue
            roots.append(Root(f"who.{case.name}", tuple(group.name for group in self.groups), chosen[number]))
            for group in range(len(self.groups)):
                count += 1
                ways[number, group] = count
        return roots, chosen, ways

    @cached_property
    def attacking(self) -> Party:
        """All attackers as one player, who first chooses a case, and the group who comes if that is uncertain."""
        roots, _, ways = self.roots
        return party(self.attacker_bodies, roots, [ways[place] for place in self.places])

    @property
    def probabilities(self) -> list[float]:
        """The probability of each attacker, given its case; 1 if the attackers' plan contains it."""
        shares = [self.cases[case].shares for case, _ in self.places]
        return [
            1.0 if each is None else float(each[group]) for each, (_, group) in zip(shares, self.places, strict=True)
        ]

    def size(self) -> FormSize:
        """Return the size of the sequence form without building it."""
        size, roots = super().size(), self.roots[0]
        more = sum(len(root.actions) for root in roots), len(roots)
        attackers, units = size.sequences
        return replace(
            size, sequences=(attackers + more[0], units), infosets=(size.infosets[0] + more[1], size.infosets[1])
        )

    def sequence_form(self) -> SequenceForm:
        """Return the game in sequence form, with the shifts of the cases.

        Raises
        ------
        GameTooLargeError
            As for :meth:`Patrol.sequence_form`.
        """
        form, chosen = super().sequence_form(), self.roots[1]
        shifts = np.array([case.shift or 0.0 for case in self.cases])
        payoff = form.payoffs
        if not shifts.any():
            return form
        assert isinstance(payoff, FactoredPayoff)
        last = np.full(len(chosen), payoff.left.shape[1] - 1)  # to which the units contribute 1
        shifted = sp.coo_array((-shifts, (chosen, last)), shape=payoff.left.shape)
        left = sp.csr_array(payoff.left + shifted)
        return SequenceForm(form.treeplexes, factored=FactoredPayoff(left, payoff.right, scale=payoff.scale))

    def earnings(self, gradient: Floats) -> list[float]:
        """Return what attackers earn at most in each case, minus its shift.

        Parameters
        ----------
        gradient : ndarray of float64, shape (num_sequences,)
            The attackers' payoff per unit of each sequence, given the units' plan.
        """
        _, chosen, _ = self.roots
        earned = np.zeros((len(self.cases), len(self.groups)))
        for place, walker in zip(self.places, self.attacking.walkers, strict=True):
            first, last = int(walker.entry_sequences[0]), int(walker.sequences[-1]) + 1
            own = party([walker.body]).treeplex
            earned[place] = best_response_value(own, np.append(0.0, gradient[first:last]))
        values = []
        for case, row, sequence in zip(self.cases, earned, chosen, strict=True):
            most = row.sum() if case.shares is not None else _most(row, case.bounds)
            values.append(float(most + gradient[sequence]))
        return values


def _most(earned: Floats, bounds: Sequence[Bound]) -> float:
    """Return the largest mean of what groups earn, over all probabilities that meet the bounds."""
    from scipy.optimize import linprog

    rows = [sign * one.groups for one in bounds for sign in (-1.0, 1.0)]
    limits = [limit for one in bounds for limit in (-one.lower, one.upper)]
    ones = np.ones((1, len(earned)))
    return -float(linprog(-earned, rows or None, limits or None, ones, [1.0]).fun)


class RobustGame(PatrolGame):
    """A patrol in which attackers also choose the case: player 0 chooses it and attacks, player 1 patrols.

    Made by :func:`~treeplex.solvers.robust_patrols.robust_game`.

    Parameters
    ----------
    game : PatrolGame
        The game of the declaration.
    groups : tuple of Group
    cases : tuple of Case
    robust : str
        The measure: ``worst``, ``cvar:LEVEL`` or ``regret``.

    Attributes
    ----------
    declared : PatrolGame
        The game of the declaration.
    patrol : CasePatrol
    robust : str

    Raises
    ------
    InvalidConstraintError
        If a limit is on the attackers' plan.

    Notes
    -----
    A plan of player 0 consists of weights q of the cases, of probabilities of groups of attackers given the case, if
    these are not known, and of the flows of all groups, scaled by both. Its rows bound the weights by q ≤ p / (1 − α),
    and the probabilities by their intervals. The units' plans and limits are those of the declaration.

    Examples
    --------
    The bank is worth 2, and on market days 4:

    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Scenario, Unit
    >>> from treeplex.models.games.patrol.cases import worst_cases
    >>> from treeplex.models.games.patrol.robust_game import RobustGame
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> days = [Scenario("usual"), Scenario("market day", goals={"bank": 4.0})]
    >>> gang = Attacker(["gate"], {"bank": 2.0})
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[gang], scenarios=days)
    >>> RobustGame(game, *worst_cases(game.patrol)).sequence_form.treeplexes[0].infoset_labels[:2]
    ('case', 'a1.start')
    """

    patrol: CasePatrol

    def __init__(
        self, game: PatrolGame, groups: tuple[Group, ...], cases: tuple[Case, ...], robust: str = "worst"
    ) -> None:
        super().__init__(CasePatrol.of(patrol_of(game), groups, cases))
        self.declared = game
        self.robust = robust
        self._level = measure_of(robust)[1]

    @cached_property
    def constraints(self) -> tuple[LinearConstraint | RiskConstraint, ...]:
        """The limits of the declaration, the bounds on weights of cases, and those on probabilities of groups.

        Raises
        ------
        InvalidConstraintError
            If a limit is on the attackers' plan.
        """
        for one in self.declared.constraints:
            if one.player == 0:
                raise InvalidConstraintError(
                    f"the limit {shown(one.name, 80)} is on attackers, whose plan depends on the case, expected limits "
                    "on units"
                )
        limits = [_moved(one, self.fingerprint) for one in self.declared.constraints]
        return (*limits, *self._weights(), *self._probabilities())

    def _weights(self) -> list[LinearConstraint]:
        cases, (_, chosen, _) = self.patrol.cases, self.patrol.roots
        scenarios = scenarios_of(self.declared.patrol)
        if self._level >= 1.0 or len(cases) == 1:
            return []
        caps = [float(scenarios[case.scenario].probability or 0.0) / (1.0 - self._level) for case in cases]
        return [
            self._row({sequence: 1.0}, cap, f"weight({case.name})", "<=")
            for case, cap, sequence in zip(cases, caps, chosen, strict=True)
            if cap < 1.0
        ]

    def _probabilities(self) -> list[LinearConstraint]:
        _, chosen, ways = self.patrol.roots
        found = []
        for number, (case, sequence) in enumerate(zip(self.patrol.cases, chosen, strict=True)):
            for one in case.bounds:
                words = " ".join([one.words, *([f"in {case.name}"] if len(self.patrol.cases) > 1 else [])])
                for sense, end, idle in ((">=", one.lower, 0.0), ("<=", one.upper, 1.0)):
                    if end == idle:
                        continue
                    terms = {ways[number, group]: 1.0 for group in np.flatnonzero(one.groups).tolist()}
                    name = f"probability({words})"
                    if sequence == 0:
                        found.append(self._row(terms, end, name, sense))
                    else:
                        found.append(self._row(terms | {sequence: -end}, 0.0, f"{name} {sense} {end:g}", sense))
        return found

    def _row(self, terms: dict[int, float], bound: float, name: str, sense: Any) -> LinearConstraint:
        named = name if sense in name else f"{name} {sense} {bound:g}"
        return LinearConstraint(0, terms, bound, named, sense, fingerprint=self.fingerprint)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the declaration."""
        return self.declared.notes

    @property
    def promise(self) -> tuple[str, str]:
        """What a bound on the value says about the attackers: the words before and after the number."""
        name, level = measure_of(self.robust)
        if name == "regret":
            return (
                "In every case, an attacker gains on average at most ",
                " more than against the best plan for this case.",
            )
        within = ", at any values and probabilities within the intervals."
        if name == "worst":
            return "In every scenario, an attacker gains on average at most ", within
        worst = f"In the worst scenarios, whose total probability is {1.0 - level:.3g}, "
        return f"{worst}an attacker gains on average at most ", within

    def plan_of(self, strategy: Strategy) -> Strategy:
        """Return the units' strategy in the game of the declaration."""
        return Strategy(self.declared, 1, strategy.behaviour)

    def weights(self, plan: Floats) -> list[float]:
        """Return the weight of each case in a plan of player 0."""
        return [float(plan[sequence]) for sequence in self.patrol.roots[1]]


def _moved(limit: Any, fingerprint: str) -> Any:
    """Return a limit on the units' plan as a limit in another game with the same plans of the units."""
    if isinstance(limit, RiskConstraint):
        return RiskConstraint(replace(limit.measure, fingerprint=fingerprint), limit.bound, limit.name)
    return LinearConstraint(
        limit.player, limit.terms, limit.bound, limit.name, limit.sense, fixed=limit.fixed, fingerprint=fingerprint
    )
