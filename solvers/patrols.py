"""Solutions of patrols, and the worth of a unit, a street or a limit, found by solving again with and without it."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..models.games.patrol import CaughtOnce, Closure, Patrol, PatrolGame, Unit
from ..models.games.patrol.game import patrol_of
from ..models.games.patrol.robust_game import RobustGame
from ..models.games.patrol.unit_rules import RULES, declared_rules
from ..models.games.patrol.units_payoff import units_payoff
from ..models.problems import ConstrainedNash, Nash, Stackelberg
from ..seqform.display import Displayed
from ..seqform.errors import InvalidGameError, UnsupportedProblemError, nearest, one_of, shown
from ..seqform.game import Game
from ..seqform.interchange.page import Content, sheet_table
from ..seqform.sheet import Column, Table, change, payoff
from ..seqform.strategy import Profile, Strategy
from .solution import Solution
from .solve import solve

_FORMS = "unit NODE, without UNIT, close PLACE, without rule NAME, rules, or a limit such as risk(unit 1) <= 0.1"


def patrol_problem(game: PatrolGame) -> Nash | ConstrainedNash | Stackelberg | CaughtOnce:
    """Return the problem that a patrol's declaration poses: an equilibrium or a commitment, under its limits."""
    patrol = patrol_of(game)
    if patrol.detections == "once":
        return CaughtOnce(game, constraints=game.constraints, forfeits=patrol.forfeits)
    if patrol.commitment is not None:
        said = patrol.commitment
        own = units_payoff(patrol, said.goals, said.meeting, said.step)
        return Stackelberg(game, constraints=game.constraints, payoff=own, ties=said.ties)
    return ConstrainedNash(game, game.constraints) if game.constraints else Nash(game)


def solve_patrol(game: PatrolGame, method: Any = None, **how: Any) -> Solution:
    """Solve a patrol as declared, including its limits.

    Parameters
    ----------
    game : PatrolGame
    method : str or Method, optional
        By default linear programming for up to 20,000 sequences of both players; for more, regret minimisation, to a
        thousandth of the largest payoff. If only the first detection counts, ``double-oracle``.
    **how
        Options of :func:`~treeplex.solve`.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.solvers.patrols import solve_patrol
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> round(solve_patrol(game).value, 6)
    0.7
    """
    patrol_of(game)
    return solve(patrol_problem(game), method, **how)


def carried(profile: Profile, game: Game) -> Profile:
    """Transfer strategies from another game by labels; play is uniform at infosets that they do not have.

    Parameters
    ----------
    profile : Profile
    game : Game
        A game with the same number of players. Infosets and actions correspond if their labels are equal.

    Examples
    --------
    >>> from treeplex import Nash, Profile, load_game, solve
    >>> from treeplex.solvers.patrols import carried
    >>> small, large = load_game("kuhn"), load_game("kuhn:cards=4")
    >>> carried(solve(Nash(small)).profile, large)[1]["K_b"]
    {'p': 0.0, 'b': 1.0}
    """
    found = []
    for strategy, treeplex in zip(profile, game.sequence_form.treeplexes, strict=True):
        old = strategy.treeplex
        known = {
            label: (actions, strategy.behaviour[start : start + len(actions)])
            for label, actions, start in zip(
                old.infoset_labels, old.action_labels, old.offsets[:-1].tolist(), strict=True
            )
        }
        behaviour = treeplex.uniform_behaviour().copy()
        starts = treeplex.offsets[:-1].tolist()
        for label, actions, start in zip(treeplex.infoset_labels, treeplex.action_labels, starts, strict=True):
            if label in known:
                shares = dict(zip(*known[label], strict=True))
                kept = np.array([float(shares.get(action, 0.0)) for action in actions])
                if kept.sum() > 0.0:
                    behaviour[start : start + len(actions)] = kept / kept.sum()
        found.append(Strategy(game, strategy.player, behaviour))
    return Profile(found)


@dataclass(frozen=True)
class Changed:
    """The result of solving a patrol with one change.

    Attributes
    ----------
    change : str
    status : str
    value : float or None
        The attackers' payoff; ``None`` if limits cannot be met.
    lower, upper : float or None
        Proven bounds on the value.
    worth : float or None
        The decrease of the value due to the change.
    """

    change: str
    status: str
    value: float | None
    lower: float | None
    upper: float | None
    worth: float | None


class Tabled(Displayed):
    """A result that is shown as its table."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The table."""

    def __str__(self) -> str:
        return str(self.table)

    @property
    def blocks(self) -> tuple[Content, ...]:
        """The content of a page."""
        return tuple(self._html_blocks())

    def _html_blocks(self) -> Iterator[Content]:
        yield sheet_table(self.table, fold=None)


@dataclass(frozen=True)
class WhatIf(Tabled):
    """The worth of changes to the units.

    Attributes
    ----------
    value : float
        The attackers' payoff without a change.
    rows : tuple of Changed
    """

    value: float
    rows: tuple[Changed, ...]

    def __iter__(self) -> Iterator[Changed]:
        return iter(self.rows)

    @property
    def table(self) -> Table:
        """The attackers' payoff after the change and its worth to the units; the status if there is no answer."""
        columns = (
            Column("change", heading="what if"),
            Column("value", payoff, "attackers earn"),
            Column("worth", change, "worth to the units"),
            Column("status"),
        )
        now = {"change": "as it is", "value": self.value, "worth": None, "status": ""}
        return Table.of([now, *map(vars, self.rows)], columns)


def what_if(solution: Solution, changes: Iterable[str], **how: Any) -> WhatIf:
    """Solve a patrol again, with one change at a time.

    Parameters
    ----------
    solution : Solution
        A solution of a patrol by :func:`solve_patrol`.
    changes : iterable of str
        ``unit NODE`` adds a unit with its base there. ``without UNIT`` removes a unit and the limits on it. ``close
        PLACE`` closes a node or an edge (``close bank -- mill``) for everybody. A limit replaces the limit with the
        same left side. ``units`` tries one more unit at each base, and one fewer of each. ``without rule NAME`` removes
        a rule such as ``no_return`` from all units, or with ``no_return(UNIT)`` from one; ``rules`` tries this for each
        rule.
    **how
        Options of :func:`~treeplex.solve`.

    Returns
    -------
    WhatIf

    Raises
    ------
    UnsupportedProblemError
        If the solution belongs to another kind of game, or to a robust plan.
    InvalidGameError
        If a change cannot be parsed, or does not fit the patrol.

    Notes
    -----
    Methods that take a start begin from the strategies of the solution where they apply (:func:`carried`).

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.solvers.patrols import solve_patrol, what_if
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> print(what_if(solve_patrol(game), ["unit inn", "close mill -- bank"]))
    what if             attackers earn  worth to the units  status
    as it is              0.7000000000
    unit inn              0.0000000000       +0.7000000000  optimal
    close mill -- bank    0.5000000000       +0.2000000000  optimal
    """
    if isinstance(solution.problem.game, RobustGame):
        raise UnsupportedProblemError("the solution is that of a robust plan, expected the method what_if of the plan")
    return worth_of(patrol_of(solution.problem.game), solution, changes, lambda game: game, **how)


def worth_of(
    patrol: Patrol, solution: Solution, changes: Iterable[str], posed: Callable[[PatrolGame], Any], **how: Any
) -> WhatIf:
    """Return the worth of changes of a patrol, for the problem of its game that is solved.

    Parameters
    ----------
    patrol : Patrol
    solution : Solution
        The solution without a change.
    changes, **how
        As for :func:`what_if`.
    posed : callable
        Returns the game to solve for the game of a changed patrol, or a solution if there is nothing to solve.
    """
    if solution.infeasibility is not None:
        raise UnsupportedProblemError("the limits of the patrol cannot be met: what_if needs a solution")
    changed = {name: one for change in changes for name, one in changed_patrols(patrol, change).items()}
    value, rows = float(solution.value), []
    for name, one in changed.items():
        game = posed(PatrolGame(one))
        warm = solution.method.takes_start and solution.method.keeps_runs and isinstance(game, PatrolGame)
        start = {"start": carried(solution.profile, game)} if warm else {}
        found = game if isinstance(game, Solution) else solve_patrol(game, solution.method, **start, **how)
        known = found.infeasibility is None
        rows.append(
            Changed(
                name,
                str(found.status),
                float(found.value) if known else None,
                found.lower if known else None,
                found.upper if known else None,
                value - float(found.value) if known else None,
            )
        )
    return WhatIf(value, tuple(rows))


def changed_patrols(patrol: Patrol, text: str) -> Mapping[str, Patrol]:
    """Return the patrols that a change of :func:`what_if` creates, by the description of the change.

    Raises
    ------
    InvalidGameError
        If the change cannot be parsed, or does not fit the patrol.
    """
    word, _, rest = (part.strip() for part in text.strip().partition(" "))
    if text.strip() == "units":
        bases = dict.fromkeys(patrol.map.shown_nodes[patrol.unit_base(number)] for number in range(len(patrol.units)))
        more = [changed_patrols(patrol, f"unit {base}") for base in bases]
        fewer = [changed_patrols(patrol, f"without {unit.name}") for unit in patrol.units]
        return {name: one for each in (*more, *fewer) for name, one in each.items()}
    if any(mark in text for mark in ("<=", ">=", "==")):
        return {text.strip(): replace(patrol, limits=_with_limit(patrol, text.strip()))}
    if word == "unit" and rest:
        patrol.map.node(rest, "what if: the unit's base")
        return {f"unit {rest}": replace(patrol, units=[*patrol.units, Unit(base=rest, name=_new_name(patrol))])}
    if text.strip() == "rules":
        keys = dict.fromkeys(key for unit in patrol.units for key in declared_rules(unit))
        if not keys:
            raise InvalidGameError(f"what if: rules, but no unit has a rule, such as {one_of(list(RULES))}")
        return {name: one for key in keys for name, one in changed_patrols(patrol, f"without rule {key}").items()}
    if word == "without" and rest.partition(" ")[0] == "rule" and rest not in [unit.name for unit in patrol.units]:
        return {f"without {rest}": replace(patrol, units=_without_rule(patrol, rest.partition(" ")[2].strip()))}
    if word == "without" and rest:
        names = [unit.name for unit in patrol.units]
        if rest not in names:
            raise InvalidGameError(f"what if: without {shown(rest, 60)}, which is not a unit{nearest(rest, names)}")
        left = [unit for unit in patrol.units if unit.name != rest]
        about = re.compile(rf"(?<!\w){re.escape(rest)}(?!\w)")
        limits = [limit for limit in patrol.limits if about.search(limit) is None]
        return {f"without {rest}": replace(patrol, units=left, limits=limits)}
    if word == "close" and rest:
        patrol.map.place(rest, "what if: the closed place")
        return {f"close {rest}": replace(patrol, closures=[*patrol.closures, Closure(rest)])}
    raise InvalidGameError(f"what if: {shown(text, 60)}, expected {_FORMS}, or units (one unit more and one fewer)")


def _without_rule(patrol: Patrol, text: str) -> list[Unit]:
    """Return the units without a rule: of all units, or of one as in ``breaks(unit 1)``."""
    key, _, name = text.rstrip(")").partition("(")
    known = [one for unit in patrol.units for rule in declared_rules(unit) for one in (rule, f"{rule}({unit.name})")]
    if text not in known:
        raise InvalidGameError(
            f"what if: without rule {shown(text, 60)}, which no unit has{nearest(text, known)}; expected "
            f"{one_of(list(dict.fromkeys(known))) if known else 'a patrol with rules'}"
        )
    default = Unit()
    return [replace(unit, **{key: getattr(default, key)}) if name in ("", unit.name) else unit for unit in patrol.units]


def _new_name(patrol: Patrol) -> str:
    taken = {unit.name for unit in patrol.units}
    return next(name for number in range(1, len(taken) + 2) if (name := f"unit {number}") not in taken)


def _with_limit(patrol: Patrol, text: str) -> list[str]:
    """Return the limits with a new one, which replaces the limit with the same left side."""

    def left(limit: str) -> str:
        for mark in ("<=", ">=", "=="):
            limit = limit.partition(mark)[0]
        return "".join(limit.split())

    return [*(limit for limit in patrol.limits if left(limit) != left(text)), text]
