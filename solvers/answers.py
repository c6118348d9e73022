"""The answer sheet of a solution: the question, the status, the proven bounds and the prices of constraints."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from ..models.correlation import CorrelationPlan, StrategyMixture
from ..models.problems import Correlated
from ..models.problems.features import Feature
from ..seqform.game import Game
from ..seqform.interchange.encoding import json_ready
from ..seqform.rationals import fraction_text, shown_number
from ..seqform.sheet import (
    Column,
    Row,
    Sheet,
    Table,
    between,
    count,
    error,
    listed,
    magnitude,
    payoff,
    price,
    setting,
    several,
    short,
)
from .outcome import Status

if TYPE_CHECKING:
    from .answer_parts import Infeasibility
    from .solution import Solution

#: Smaller losses of one strategy are shown by their order of magnitude.
_TINY = 1e-9
#: If there are more steps than this, only the first ones and the last are shown.
_STEPS = 8


def solution_sheet(solution: "Solution", asked: str = "", message: str = "", took: str = "") -> Sheet:
    """Return the answer sheet of a solution.

    Parameters
    ----------
    solution : Solution
    asked : str
        The question, if it says more than the problem's name.
    message : str
        A message that replaces the solution's own.
    took : str
        The division of the time, which replaces that of the solve.
    """
    problem, failed = solution.problem, solution.infeasibility
    # Constraints have their own table.
    question = problem.name if problem.constraints else asked or problem.name
    return Sheet(
        [
            Row("problem", f"{question} on {problem.game.spec}"),
            Row("method", solution.method.name),
            Row("status", str(solution.status)),
            Row("message", message or solution.message, label=""),
            *(_conflict(failed) if failed is not None else _judged([*_values(solution), *_bounds(solution)], solution)),
            *(_constraint_rows(solution) if failed is None else ()),
            *_preferences(solution),
            Row("iterations", solution.iterations, count),
            Row("seconds", took or solution.time_in_words),
            Row("sequences", sizes_of(problem.game)["sequences"], listed, _in_trunk(problem.game)),
        ],
        [_constraints(solution), *([] if failed is None else _relaxations(failed))],
    )


def found_rows(solution: "Solution") -> Sheet:
    """Return the rows about the answer and its proof, without the rows about the solve."""
    return solution_sheet(solution).without(
        "problem", "method", "status", "message", "iterations", "seconds", "sequences"
    )


def record_of(solution: "Solution") -> dict[str, Any]:
    """Return the JSON entries of a solution; see :meth:`Solution.to_dict <treeplex.Solution.to_dict>`."""
    from .. import __version__

    game = solution.problem.game
    value = solution.value
    record = {
        "schema": 1,
        "version": __version__,
        "game": game.spec,
        "parameters": game.parameters,
        "problem": solution.problem.name,
        "method": solution.method.name,
        "options": {field.name: getattr(solution.method, field.name) for field in fields(solution.method)},
        "tolerance": solution.tolerance,
        "player": solution.player,
        "status": str(solution.status),
        "message": solution.message,
        "objective": solution.objective,
        "value": list(map(float, value)) if isinstance(value, tuple) else None if value is None else float(value),
        "value_exact": fraction_text(value) if isinstance(value, Fraction) else None,
        "values_exact": None if solution.exact is None else [_exact_text(one) for one in solution.values or ()],
        "values": None if solution.values is None else [float(one) for one in solution.values],
        "objective_exact": None if solution.exact is None else _exact_text(solution.exact.certificate.objective),
        "gain_exact": None if solution.exact is None else _exact_text(solution.exact.certificate.gain),
        "lower": solution.lower,
        "upper": solution.upper,
        "gap": solution.gap,
        "ties": getattr(solution.problem, "ties", None),
        "scenarios": _scenarios(solution),
        "exploitability": None if solution.infeasibility is not None else solution.exploitability,
        "regrets": None if solution.regrets is None else list(solution.regrets),
        "epsilon": solution.certificate.epsilon,
        "nash_conv": solution.certificate.nash_conv,
        "logit_distance": solution.certificate.logit_distance,
        "gain": solution.gain,
        "opponent_value": solution.opponent_value,
        "game_value": solution.game_value,
        "slack": solution.slack,
        "violation": solution.violation,
        "violations": dict(solution.certificate.violations),
        "least_violation": None if solution.infeasibility is None else float(solution.infeasibility.least_violation),
        "conflict": None if solution.infeasibility is None else list(solution.infeasibility.conflict),
        "relaxations": None
        if solution.infeasibility is None
        else [asdict(one) for one in solution.infeasibility.relaxations],
        "multipliers": dict(solution.multipliers),
        "dual_multipliers": dict(solution.dual_multipliers),
        "prices": {name: asdict(price) for name, price in solution.prices.items()},
        "multiplier_bound": solution.multiplier_bound,
        "preference": solution.kept.preference_record(solution),
        "recommendations": solution.state.record()
        if isinstance(solution.state, CorrelationPlan | StrategyMixture)
        else None,
        "steps": None if solution.steps is None else list(solution.steps),
        "step_levels": [step.level for step in solution.certificate.steps] or None,
        "step_gaps": [step.gap for step in solution.certificate.steps] or None,
        "value_errors": None if solution.value_errors is None else list(solution.value_errors),
        "safety_bound": solution.safety_bound,
        "history": solution.history.to_dict() if len(solution.history) else None,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "build_seconds": solution.build_seconds,
        "time": dict(solution.time),
        "sizes": sizes_of(game),
    }
    return dict(json_ready(record))


def _scenarios(solution: "Solution") -> list[dict[str, Any]] | None:
    """Return what the strategy earns at least in each scenario, the worst first; ``None`` if there are none."""
    from ..models.problems import UncertainPayoffs

    problem = solution.problem
    if not isinstance(problem, UncertainPayoffs):
        return None
    return [asdict(one) for one in problem.outcomes(solution.profile[problem.player])]


def _exact_text(number: Any) -> str | None:
    return fraction_text(number) if isinstance(number, Fraction) else None


def _in_trunk(game: Game) -> str:
    return "" if game.public_form is None or game.public_form.is_whole else " in the trunk"


def sizes_of(game: Game) -> dict[str, Any]:
    """Return the sizes of a game for :meth:`Solution.to_dict`."""
    public = game.public_form
    # Do not build a sequence form only to report its sizes.
    if public is not None and not ("sequence_form" in vars(game) and public.is_zero_sum and public.is_whole):
        sequences, infosets = list(public.num_sequences), list(public.num_infosets)
        return {"sequences": sequences, "infosets": infosets, "leaves": None, "nnz": None}
    form = game.sequence_form
    return {
        "sequences": [treeplex.num_sequences for treeplex in form.treeplexes],
        "infosets": [treeplex.num_infosets for treeplex in form.treeplexes],
        "leaves": form.num_leaves,
        "nnz": form.nnz,
    }


def _values(solution: "Solution") -> Iterator[Row]:
    """Yield the rows of the strategies' payoffs."""
    problem, exact, player, roles = solution.problem, solution.exact, solution.player, solution.problem.roles
    value, values = solution.value, solution.values or ()
    if roles:
        for one, role in roles.items():
            yield Row("values", values[one], payoff, f" to player {one}", f"{role}'s payoff")
    elif isinstance(value, tuple):
        yield Row("values", value, several(payoff))
    else:
        meaning = " to player 0"
        if problem.game.constant:
            meaning += f", {payoff(solution.certificate.value[1])} to player 1"
        if solution.opponent_value is not None:
            meaning += ", against the model"
        elif player is not None and not problem.exploitability_meaning:
            meaning += ", in the worst case"
        yield Row("value", None if isinstance(value, float) and math.isnan(value) else value, payoff, meaning)
    if problem.penalty is not None:
        yield Row("penalty", float(problem.penalty), setting, " per unit of violation")
        yield Row("objective", solution.objective, payoff, " to player 0, the value with penalties")
    elif isinstance(value, tuple) and solution.objective is not None:
        yield Row("objective", solution.objective, payoff, f", the {problem.meaning}")
    elif player is not None and not roles:
        yield Row("player", player)
        whom = f" to player {player}" if problem.name != "style" else ""  # the objective of a style is not a payoff
        meaning = f", {problem.meaning}" if problem.meaning else ""
        yield Row("objective", exact.objective if exact else solution.objective, payoff, whom + meaning)
    yield from (Row(*fact) for fact in problem.facts(solution.profile).items())
    yield Row("gain", exact.gain if exact else solution.gain, payoff, " beyond the value of the game")
    if solution.gain is not None:
        yield Row("game_value", solution.game_value, payoff)
    yield Row("slack", solution.slack, magnitude, " by which the guarantee may fall short, because of round-off")
    yield Row("multiplier_bound", solution.multiplier_bound, setting, " at the end", "price bound")


def _bounds(solution: "Solution") -> Iterator[Row]:
    """Yield the rows of the proven bounds."""
    problem, regrets, steps = solution.problem, solution.regrets, solution.certificate.steps
    if solution.lower is not None and solution.upper is not None:
        kept = ", given the decisions of all earlier steps" if steps else ""
        if isinstance(problem, Correlated):
            kept = f" on the {problem.meaning}"
            if regrets is not None and max(regrets) > solution.tolerance:
                kept += " if deviations may gain as much as here"
        yield Row("proven_bounds", (solution.lower, solution.upper), between(payoff), kept)
        yield Row("gap", solution.gap, error)
    if regrets is not None:
        correlated = isinstance(problem, Correlated)
        concept = problem.name.upper() if correlated else "Nash"
        yield Row("epsilon", max(regrets), lambda number: f"ε {error(number)}", label=f"ε-{concept}")
        gains = ", ".join(f"{error(regret)} of player {player}" for player, regret in enumerate(regrets))
        yield Row("regrets", gains, meaning="" if correlated else f"; NashConv {error(sum(regrets))}")
        if correlated:
            if isinstance(solution.state, CorrelationPlan) and solution.state.is_short:
                number = len(solution.state.mixture())
                yield Row("recommendations", number, count, f" pair{'s' * (number > 1)} of pure plans")
            if isinstance(solution.state, StrategyMixture):
                number = solution.state.num_profiles
                yield Row("recommendations", number, count, f" profile{'s' * (number > 1)}, one of which is drawn")
            return
    distance = solution.certificate.logit_distance
    if distance is not None:
        yield Row("logit_distance", distance, error, ", the largest difference of a probability from the logit choice")
    yield _exploitability(solution)
    allow = "the reach of subgames" if solution.problem.name == "ses" else "the gain"
    meaning = f", the bound that follows from p, {allow} and the proven gaps"
    yield Row("safety_bound", solution.safety_bound, payoff, meaning)
    if steps:
        yield Row("steps", [step.objective for step in steps], _worth)
        yield Row("step_gaps", max(step.gap for step in steps), error, " in a step", "largest gap")
    if solution.value_errors is not None:
        measured = [one for one in solution.value_errors if one is not None]
        whole = measured and len(measured) == len(solution.value_errors)
        worst = f"at most {error(max(measured))} per step on average" if whole else "not measured; gaps are"
        yield Row("value_errors", worst)


def _exploitability(solution: "Solution") -> Row:
    """Return the row of the exploitability: an error for a profile, a result with all decimals for one strategy."""
    problem, number, exact = solution.problem, solution.exploitability, solution.exact
    known = None if exact is None else exact.exploitability
    if solution.player is None:
        # Half of the gap between mixtures of routes heeds the constraints.
        ignores = problem.constraints and Feature.ROUTES not in problem.needs
        aside = ", ignoring the constraints" if ignores else ""
        return Row("exploitability", 0.0 if known == 0 else number, error, aside)
    meaning = f" {problem.exploitability_meaning or 'below the value of the game at worst'}"
    tiny = known is None and abs(number) < _TINY
    return Row("exploitability", number if known is None else known, magnitude if tiny else payoff, meaning)


def _judged(rows: Sequence[Row], solution: "Solution") -> list[Row]:
    """Add whether the tolerance is met to the row of the quantity that is compared with it."""
    # Violations have their own rows.
    met = replace(solution.certificate, violations=dict.fromkeys(solution.certificate.violations, 0.0))
    missed, tolerance = float(solution.problem.error(met)), solution.tolerance
    more = []
    if missed <= tolerance:
        judged = f", at most the tolerance of {error(tolerance)}"
    elif solution.status is Status.OPTIMAL:
        judged = ", at the level of round-off"
        more = [Row("tolerance", tolerance, error)]
    elif not tolerance:  # all iterations were requested
        return [*rows]
    else:
        judged = f", above the tolerance of {error(tolerance)}"
    first, last = ("exploitability", "gap") if solution.player is None else ("gap", "exploitability")
    by_key = {row.key: place for place, row in enumerate(rows)}
    for key in ("logit_distance", "epsilon", "step_gaps", first, last):
        place = by_key.get(key)
        if place is not None and error(float(rows[place].value)) == error(missed):
            row = replace(rows[place], meaning=rows[place].meaning + judged)
            return [*rows[:place], row, *rows[place + 1 :], *more]
    return [*rows, *more, Row("error", missed, error, judged)]


def _constraint_rows(solution: "Solution") -> Iterator[Row]:
    """Yield the row about violations, and rows about the prices of limits that are not constraints, such as safety."""
    if solution.certificate.violations:
        exact = solution.exact
        met = exact is not None and max(exact.certificate.violations.values()) <= 0
        yield Row("violation", 0.0 if met else solution.violation, error)
    if not solution.problem.constraints:
        for name in solution.multipliers:
            yield Row("prices", name, partial(solution.price_text, text=price), label=f"price of {name}")


def _conflict(found: "Infeasibility") -> Iterator[Row]:
    """Yield the rows of the least violation and of the constraints that exclude each other."""
    six = partial(shown_number, digits=6)
    meaning = f" in total, at most {six(found.largest_violation)} for one constraint"
    yield Row("least_violation", found.least_violation, six, meaning)
    yield Row("conflict", found.conflict, several(str))


def _preferences(solution: "Solution") -> Iterator[Row]:
    """Yield the rows of the preferences' results."""
    record = solution.kept.preference_record(solution)
    if record is None:
        return
    for one in record["shares"] or ():
        share = "never requested" if one["share"] is None else f"{one['share']:.2%} of the time"
        yield Row("preference", share, label=f"{one['preference']}, player {one['player']}")
    if record["vulnerability_bounds"] is not None:
        # Without a game value only the regrets of the joint play are bounded.
        is_saddle, bounds = solution.lower is not None, record["vulnerability_bounds"]
        now, label = (
            (record["nash_conv_bound"], "NashConv bound") if is_saddle else (record["cce_gap_bound"], "CCE gap bound")
        )
        proven = "not proven with these options" if now is None else f"{error(now)} after this many iterations"
        yield Row("preference", (sum if is_saddle else max)(bounds), error, f" in the limit, {proven}", label)


def _constraints(solution: "Solution") -> Table:
    """Return a table with one row per constraint: its player, its violation, and its price to that player."""
    failed = solution.infeasibility
    violations = solution.certificate.violations if failed is None else failed.violations
    columns = [Column("constraint"), Column("player", count), Column("violation", error)]
    rows = [(one.name, one.player, max(0.0, violations.get(one.name, 0.0))) for one in solution.problem.constraints]
    if failed is not None:
        return Table(columns, rows)
    columns.append(Column("price", partial(solution.price_text, text=price)))
    return Table(columns, [(*row, row[0]) for row in rows])


def _relaxations(found: "Infeasibility") -> Iterator[Table]:
    """Yield the table of how much to loosen constraints."""
    six = partial(shown_number, digits=6)
    columns = [
        Column("constraint"),
        Column("bound", six, "limit"),
        Column("alone", six, "best alone"),
        Column("together", six, "with the others"),
        Column("loosen", six, "loosen it alone by"),
        Column("change", six, "or all by"),
    ]
    if found.relaxations:
        yield Table.of(map(asdict, found.relaxations), columns, "what is attainable, and how much to loosen")


def _worth(numbers: Sequence[float]) -> str:
    """Return the number of steps and their values, in words."""
    texts = [short(number) for number in numbers]
    shown = texts if len(texts) <= _STEPS else [*texts[: _STEPS - 1], "…", texts[-1]]
    return f"{len(texts)}, worth {', '.join(shown)}"
