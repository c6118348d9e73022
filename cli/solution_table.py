"""A solution as tables: what was asked, how it ended, what is proven, and what constraints cost."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..validation.table import decimals, magnitude
from .output import console, listed, show_numbers, show_rows

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
    >>> from treeplex.cli.solution_table import message_of
    >>> message_of(solve(Nash(load_game("kuhn")), "cfr", tol=1e-9, max_iterations=10))
    'the iteration limit came first: raise --max-iterations, loosen --tol or try another method'
    """
    return re.sub(r"\b(tol|max_iterations|time_limit)\b", lambda found: _OPTIONS[found[0]], solution.message)


def print_solution(solution: "Solution", asked: str, files: dict[str, str | None]) -> None:
    """Print a solution to what was asked, and the names of files that hold it."""
    from rich.text import Text

    from ..solvers import Status

    colour = "green" if solution.status.is_success else "yellow"
    if solution.status in (Status.UNCERTIFIED, Status.INFEASIBLE, Status.UNBOUNDED):
        colour = "red"
    rows: dict[str, str | Text] = {
        # Constraints have a table of their own.
        "problem": Text.assemble(
            solution.problem.name if getattr(solution.problem, "constraints", ()) else asked,
            " on ",
            (solution.problem.game.spec, "bold cyan"),
        ),
        "method": solution.method.name,
        "status": Text(str(solution.status), style=f"bold {colour}"),
        "": Text(message_of(solution), style="dim"),
    }
    if solution.infeasibility is None:
        rows |= _results(solution)
    else:
        from ..models.constraints.builders import shown_number

        found = solution.infeasibility
        total, largest = (shown_number(one, 6) for one in (found.least_violation, found.largest_violation))
        rows["least violation"] = f"{total} in sum, {largest} the largest alone"
        rows["conflict"] = ", ".join(found.conflict)
    rows |= _preferences(solution)
    rows["iterations"] = f"{solution.iterations:,}"
    rows["seconds"] = f"{solution.seconds:.3g} solving, {solution.build_seconds:.3g} building"
    rows["sequences"] = listed(treeplex.num_sequences for treeplex in solution.problem.game.sequence_form.treeplexes)
    for name, path in files.items():
        if path is not None:
            rows[f"{name} in"] = path
    show_rows(console(), rows)
    if getattr(solution.problem, "constraints", ()):
        _print_constraints(solution)


def _results(solution: "Solution") -> dict[str, "str | Text"]:
    """Return the rows of what was found and what it proves."""
    rows: dict[str, str | Text] = {}
    value, exact = solution.value, solution.exact
    if isinstance(value, tuple):
        rows["values"] = ", ".join(ten_decimals(one) for one in value)
    else:
        rows["value"] = f"{_both(value, exact.value if exact else None)} to player 0"
        if solution.player is not None:
            rows["value"] += ", at worst" if solution.opponent_value is None else ", against the model"
    if solution.player is not None and solution.objective is not None:
        rows["player"] = str(solution.player)
        rows["objective"] = _both(solution.objective, exact.objective if exact else None) + _meaning(solution.problem)
    if solution.gain is not None:
        gain = _both(solution.gain, exact.gain if exact else None)
        rows["gain"] = f"{gain} beyond the value of the game, {ten_decimals(solution.game_value or 0.0)}"
    if solution.slack is not None:
        rows["slack"] = f"{magnitude(solution.slack)} less than that value may be guaranteed, for round-off"
    penalty = getattr(solution.problem, "penalty", None)
    if penalty is not None:
        rows["penalty"] = f"{penalty:g} per unit of violation"
        rows["objective"] = f"{ten_decimals(solution.objective or 0.0)}, the value with penalties"
    if solution.multiplier_bound is not None:
        rows["price bound"] = f"{solution.multiplier_bound:g} at the end"
    # A tolerance bounds the exploitability of an equilibrium, and the gap of everything else.
    judged, is_nash = _judged(solution), solution.problem.name == "nash"
    if solution.lower is not None and solution.upper is not None:
        rows["proven bounds"] = f"{ten_decimals(solution.lower)} to {ten_decimals(solution.upper)}"
        rows["gap"] = f"{solution.gap:.3g}{'' if is_nash else judged}"
    rows["exploitability"] = _exploitability(solution) + (judged if is_nash else "")
    if solution.safety_bound is not None:
        rows["safety bound"] = f"{ten_decimals(solution.safety_bound)}, the most that p and the gain allow"
    if solution.certificate.steps:
        steps = solution.certificate.steps
        rows["steps"] = f"{len(steps)}, worth {listed_numbers([step.objective for step in steps])}"
        rows["largest gap"] = f"{max(step.gap for step in steps):.3g} in a step{judged}"
    if solution.value_errors is not None:
        measured = [error for error in solution.value_errors if error is not None]
        whole = measured and len(measured) == len(solution.value_errors)
        worst = f"{max(measured):.3g} on average in a step, at most" if whole else "not measured; gaps are"
        rows["value errors"] = worst
    if solution.certificate.violations:
        met = exact is not None and max(exact.certificate.violations.values()) <= 0
        rows["violation"] = f"{0 if met else solution.violation:.3g}"
    if not getattr(solution.problem, "constraints", ()):
        for name, multiplier in solution.multipliers.items():
            rows[f"price of {name}"] = price_text(multiplier)
    return rows


def _preferences(solution: "Solution") -> dict[str, "str | Text"]:
    """Return the rows of what became of preferences."""
    from ..solvers.style.report import preference_record

    record = preference_record(solution)
    if record is None:
        return {}
    rows: dict[str, str | Text] = {}
    for each in record["shares"] or ():
        share = "never asked for" if each["share"] is None else f"{each['share']:.2%} of the time"
        rows[f"{each['preference']}, player {each['player']}"] = share
    if record["vulnerability_bounds"] is not None:
        proven = "" if solution.method.rule == "rm" else ", proven for the rule rm alone"
        rows["NashConv bound"] = f"{sum(record['vulnerability_bounds']):.3g} in the end{proven}"
    return rows


def _exploitability(solution: "Solution") -> str:
    """Return the exploitability and what it is; of one strategy it is a result, and has all decimals."""
    number, exact = solution.exploitability, solution.exact.exploitability if solution.exact else None
    if solution.player is None:
        aside = ", constraints left aside" if getattr(solution.problem, "constraints", ()) else ""
        return f"{0 if exact == 0 else number + 0.0:.3g}{aside}"
    tiny = exact is None and abs(number) < 1e-9
    return f"{magnitude(number) if tiny else _both(number, exact)} of the value of the game may be lost"


def _meaning(problem: Any) -> str:
    """Return what the objective is."""
    if problem.name in ("best-response", "epsilon-safe", "best-nash", "cdbr", "cdbr-ne", "lbr"):
        return ", against the model"
    if problem.name == "ses":
        return ", margins over the equilibrium, summed over subgames"
    if problem.name in ("rnr", "cdrnr"):
        return f", against the model with probability {problem.p}, else at worst"
    if problem.name == "data-biased":
        return ", against a player who follows the model with probability p at each infoset, else at worst"
    for sense, word in (("maximise", "largest"), ("minimise", "least")):
        functional = getattr(problem, sense, None)
        if functional is not None:
            return f", the {word} that there is of {functional.description}"
    return ""


def _print_constraints(solution: "Solution") -> None:
    """Print a line a constraint: whose it is, by how much it is violated, and its price to that player."""
    from rich.table import Table

    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    table.add_column("constraint", overflow="fold")
    table.add_column("player", justify="right", no_wrap=True)
    table.add_column("violation", justify="right", no_wrap=True)
    infeasibility = solution.infeasibility
    feasible = infeasibility is None
    if feasible:
        table.add_column("price", justify="right", no_wrap=True)
    violations = solution.certificate.violations if infeasibility is None else infeasibility.violations
    for constraint in solution.problem.constraints:
        name = constraint.name
        if name in violations:
            price = [price_text(solution.multipliers.get(name, 0.0))] if feasible else []
            table.add_row(name, str(constraint.player), f"{max(0.0, violations[name]):.3g}", *price)
    out.print()
    show_numbers(out, table)


def _judged(solution: "Solution") -> str:
    """Return how the error stands to the tolerance; with a tolerance of 0 there is nothing that it could be."""
    from ..solvers import Status

    if solution.problem.error(solution.certificate) <= solution.tolerance:
        return f", at most the tolerance of {solution.tolerance:.3g}"
    if solution.status is Status.OPTIMAL:
        return ", at round-off"
    return f", above the tolerance of {solution.tolerance:.3g}" if solution.tolerance else ""


def listed_numbers(numbers: "Sequence[float]", most: int = 8) -> str:
    """Return numbers with six digits; of many the first and the last.

    Examples
    --------
    >>> from treeplex.cli.solution_table import listed_numbers
    >>> listed_numbers([0.5, 1.0]), listed_numbers(range(10), most=4)
    ('0.5, 1', '0, 1, 2, …, 9')
    """
    texts = [f"{float(number) + 0.0:.6g}" for number in numbers]
    return ", ".join(texts if len(texts) <= most else [*texts[: most - 1], "…", texts[-1]])


def _both(number: float, exact: Fraction | None) -> str:
    """Return a number, and the fraction that it is where that is known."""
    from ..seqform.rationals import fraction_text
    from ..solvers.solution import SHOWN_DIGITS

    shown = ten_decimals(number)
    return shown if exact is None else f"{fraction_text(exact, SHOWN_DIGITS)} = {shown}"


def price_text(number: float) -> str:
    """Return a price: ten decimals, fewer for large ones, which are not known to more than twelve digits.

    Examples
    --------
    >>> from treeplex.cli.solution_table import price_text
    >>> price_text(1 / 3), price_text(4400.726016227312), price_text(-10101010.101001486)
    ('0.3333333333', '4400.72601623', '-10101010.1010')
    """
    return decimals(float(number), min(10, max(0, 12 - len(str(int(abs(number)))))))


def ten_decimals(number: float | Fraction) -> str:
    """Return ten decimals; what is zero but for round-off is zero.

    Examples
    --------
    >>> from treeplex.cli.solution_table import ten_decimals
    >>> ten_decimals(-1e-17), ten_decimals(-1 / 18)
    ('0.0000000000', '-0.0555555556')
    """
    return decimals(float(number), 10)
