"""A solution as tables: what was asked, how it ended, what is proven, and what constraints cost."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ..validation.table import magnitude
from .tables import (
    listed,
    listed_numbers,
    named,
    price_text,
    print_columns,
    print_facts,
    seconds_text,
    shown_exactly,
    status_facts,
    ten_decimals,
)

if TYPE_CHECKING:
    from rich.text import Text

    from ..solvers import Solution

#: What the library calls an argument, and what it is called here.
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("tol", "max_iterations", "time_limit")}


def message_of(solution: "Solution") -> str:
    """Return the message of a solution, with options called as they are here.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.cli.solution import message_of
    >>> message_of(solve(Nash(load_game("kuhn")), "cfr", tol=1e-9, max_iterations=10))
    'the iteration limit came first: raise --max-iterations, loosen --tol or try another method'
    """
    return re.sub(r"\b(tol|max_iterations|time_limit)\b", lambda found: _OPTIONS[found[0]], solution.message)


def print_solution(solution: "Solution", asked: str) -> None:
    """Print a solution to what was asked."""
    from rich.text import Text

    from ..solvers.solution import sizes_of

    # Constraints have a table of their own.
    question = solution.problem.name if getattr(solution.problem, "constraints", ()) else asked
    rows: dict[str, str | Text] = {
        "problem": Text.assemble(question, " on ", named(solution.problem.game.spec)),
        "method": solution.method.name,
        **status_facts(str(solution.status), message_of(solution)),
    }
    if solution.infeasibility is None:
        rows |= _results(solution)
    else:
        from ..seqform.rationals import shown_number

        found = solution.infeasibility
        total, largest = (shown_number(one, 6) for one in (found.least_violation, found.largest_violation))
        rows["least violation"] = f"{total} in sum, {largest} the largest alone"
        rows["conflict"] = ", ".join(found.conflict)
    rows |= _preferences(solution)
    rows["iterations"] = f"{solution.iterations:,}"
    rows["seconds"] = seconds_text()
    rows["sequences"] = listed(sizes_of(solution.problem.game)["sequences"])
    print_facts(rows)
    if getattr(solution.problem, "constraints", ()):
        _print_constraints(solution)


def _results(solution: "Solution") -> dict[str, "str | Text"]:
    """Return the rows of what was found and what it proves."""
    rows: dict[str, str | Text] = {}
    value, exact = solution.value, solution.exact
    roles = solution.problem.roles
    if roles:
        values = solution.values or ()
        rows |= {f"{role}'s payoff": f"{ten_decimals(values[one])} to player {one}" for one, role in roles.items()}
    elif isinstance(value, tuple):
        rows["values"] = ", ".join(ten_decimals(one) for one in value)
    else:
        rows["value"] = f"{shown_exactly(value, exact.value if exact else None)} to player 0"
        if solution.problem.game.constant:
            rows["value"] += f", {ten_decimals(solution.certificate.value[1])} to player 1"
        if solution.opponent_value is not None:
            rows["value"] += ", against the model"
        elif solution.player is not None and not solution.problem.exploitability_meaning:
            rows["value"] += ", at worst"
    if solution.player is not None and solution.objective is not None and not roles:
        rows["player"] = str(solution.player)
        rows["objective"] = shown_exactly(solution.objective, exact.objective if exact else None)
        # A style's is no payoff.
        rows["objective"] += f" to player {solution.player}" if solution.problem.name != "style" else ""
        rows["objective"] += f", {solution.problem.meaning}" if solution.problem.meaning else ""
    if solution.gain is not None:
        gain = shown_exactly(solution.gain, exact.gain if exact else None)
        rows["gain"] = f"{gain} beyond the value of the game, {ten_decimals(solution.game_value or 0.0)}"
    if solution.slack is not None:
        rows["slack"] = f"{magnitude(solution.slack)} less than that value may be guaranteed, for round-off"
    penalty = getattr(solution.problem, "penalty", None)
    if penalty is not None:
        rows["penalty"] = f"{penalty:g} per unit of violation"
        rows["objective"] = f"{ten_decimals(solution.objective or 0.0)} to player 0, the value with penalties"
    if solution.multiplier_bound is not None:
        rows["price bound"] = f"{solution.multiplier_bound:g} at the end"
    if solution.lower is not None and solution.upper is not None:
        kept = ", with all decisions before the last step as they are" if solution.certificate.steps else ""
        rows["proven bounds"] = f"{ten_decimals(solution.lower)} to {ten_decimals(solution.upper)}{kept}"
        rows["gap"] = f"{solution.gap:.3g}"
    if solution.regrets is not None:
        gains = ", ".join(f"{regret:.3g} of player {player}" for player, regret in enumerate(solution.regrets))
        rows["ε-Nash"] = f"ε {max(solution.regrets):.3g}"
        rows["regrets"] = f"{gains}; NashConv {sum(solution.regrets):.3g}"
    rows["exploitability"] = _exploitability(solution)
    if solution.safety_bound is not None:
        rows["safety bound"] = f"{ten_decimals(solution.safety_bound)}, the most that p, the gain and proven gaps allow"
    if solution.certificate.steps:
        steps = solution.certificate.steps
        rows["steps"] = f"{len(steps)}, worth {listed_numbers([step.objective for step in steps])}"
        rows["largest gap"] = f"{max(step.gap for step in steps):.3g} in a step"
    if solution.value_errors is not None:
        measured = [error for error in solution.value_errors if error is not None]
        whole = measured and len(measured) == len(solution.value_errors)
        worst = f"{max(measured):.3g} on average in a step, at most" if whole else "not measured; gaps are"
        rows["value errors"] = worst
    _add_judgement(rows, solution)
    if solution.certificate.violations:
        met = exact is not None and max(exact.certificate.violations.values()) <= 0
        rows["violation"] = f"{0 if met else solution.violation:.3g}"
    if not getattr(solution.problem, "constraints", ()):
        for name in solution.multipliers:
            rows[f"price of {name}"] = solution.price_text(name, price_text)
    return rows


def _preferences(solution: "Solution") -> dict[str, "str | Text"]:
    """Return the rows of what became of preferences."""
    from ..solvers.style.preferences import preference_record

    record = preference_record(solution)
    if record is None:
        return {}
    rows: dict[str, str | Text] = {}
    for each in record["shares"] or ():
        share = "never asked for" if each["share"] is None else f"{each['share']:.2%} of the time"
        rows[f"{each['preference']}, player {each['player']}"] = share
    if record["vulnerability_bounds"] is not None:
        now = record["nash_conv_bound"]
        proven = "not proven for these options" if now is None else f"{now:.3g} after this many iterations"
        rows["NashConv bound"] = f"{sum(record['vulnerability_bounds']):.3g} in the end, {proven}"
    return rows


def _exploitability(solution: "Solution") -> str:
    """Return the exploitability and what it is; of one strategy it is a result, and has all decimals."""
    number, exact = solution.exploitability, solution.exact.exploitability if solution.exact else None
    if solution.player is None:
        aside = ", constraints left aside" if getattr(solution.problem, "constraints", ()) else ""
        return f"{0 if exact == 0 else number + 0.0:.3g}{aside}"
    tiny = exact is None and abs(number) < 1e-9
    meaning = solution.problem.exploitability_meaning or "of the value of the game may be lost"
    return f"{magnitude(number) if tiny else shown_exactly(number, exact)} {meaning}"


def _print_constraints(solution: "Solution") -> None:
    """Print a line a constraint: whose it is, by how much it is violated, and its price to that player."""
    infeasibility = solution.infeasibility
    feasible = infeasibility is None
    violations = solution.certificate.violations if infeasibility is None else infeasibility.violations
    rows = []
    for constraint in solution.problem.constraints:
        name = constraint.name
        if name in violations:
            price = [solution.price_text(name, price_text)] if feasible else []
            rows.append([name, str(constraint.player), f"{max(0.0, violations[name]):.3g}", *price])
    print_columns(["constraint", "player", "violation", *(["price"] if feasible else [])], rows, names=True)


def _add_judgement(rows: dict[str, "str | Text"], solution: "Solution") -> None:
    """Say of the quantity that is held against the tolerance how it stands to it; of no other one."""
    from ..solvers import Status

    # A violation has a row of its own.
    met = replace(solution.certificate, violations=dict.fromkeys(solution.certificate.violations, 0.0))
    error, tolerance = float(solution.problem.error(met)), solution.tolerance
    shown = f"{error:.3g}"
    if error <= tolerance:
        judged = f"at most the tolerance of {tolerance:.3g}"
    elif solution.status is Status.OPTIMAL:
        judged = "at round-off"
        rows["tolerance"] = f"{tolerance:.3g}"
    elif not tolerance:  # all iterations were asked for
        return
    else:
        judged = f"above the tolerance of {tolerance:.3g}"
    first, last = ("exploitability", "gap") if solution.player is None else ("gap", "exploitability")
    for name, begin in (("ε-Nash", "ε "), ("largest gap", ""), (first, ""), (last, "")):
        if name in rows and str(rows[name]).startswith(f"{begin}{shown}"):
            rows[name] = f"{rows[name]}, {judged}"
            return
    rows["error"] = f"{shown}, {judged}"
