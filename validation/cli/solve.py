"""``treeplex solve``: one problem on one game by one method."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import GAME_HELP, load, seconds, tolerance, whole
from .errors import CommandLineError, ExitStatus, print_error
from .methods import check_start, choose_method, load_start
from .output import STANDARD_OUTPUT, check_distinct, check_writable, write_json, writing
from .progress import solving, waiting

if TYPE_CHECKING:
    from ...solvers import Solution, Status

#: What the library calls an argument, and what it is called here.
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("tol", "max_iterations", "time_limit")}


def solve(
    game: Annotated[str, typer.Argument(metavar="GAME", help=GAME_HELP)],
    problem: Annotated[
        str, typer.Option(metavar="P", help="What to solve: nash, best-response, rnr or epsilon-safe.")
    ] = "nash",
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="How: exactly by highs, highs-simplex, highs-ipm, highs-ipm-crossover, highs-pdlp or cvxpy; "
            "iteratively by cfr, cfr+, dcfr or pcfr+.",
        ),
    ] = "highs",
    player: Annotated[
        int | None,
        typer.Option(metavar="0|1", parser=whole, help="Whose strategy, where a problem solves for one: 0 by default."),
    ] = None,
    opponent: Annotated[
        str | None,
        typer.Option(
            metavar="O",
            help="The model that is responded to: uniform, random:seed=S, nash, cfr:iterations=N or a strategy file.",
        ),
    ] = None,
    p: Annotated[
        str | None, typer.Option("--p", metavar="P", help="How sure the model is, from 0 to 1, for rnr.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="How exploitable the response may be, for epsilon-safe.")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            parser=tolerance,
            help="What the certificate must prove, in payoff units: the exploitability for nash. With 0 iterative "
            "methods run exactly --max-iterations. By default what the method is good for.",
        ),
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", parser=whole, help="Stop after N iterations; one updates every player.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", parser=seconds, help="Stop after S seconds of solving.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="S", parser=whole, help="For methods that draw random numbers.")
    ] = None,
    updates: Annotated[
        str | None,
        typer.Option(metavar="U", help="Whether iterative methods update players alternating or simultaneous."),
    ] = None,
    averaging: Annotated[
        str | None,
        typer.Option(
            metavar="A", help="Weights of iterates: uniform, linear, quadratic, cubic, quartic, or a power of t."
        ),
    ] = None,
    iterate: Annotated[
        str | None, typer.Option(metavar="I", help="Which strategies are returned and certified: average or last.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="FILE", help="Start from a profile (.npz) that --out wrote.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the profile to FILE (.npz).")] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to a file or standard output.")
    ] = None,
) -> int:
    """Solve a game, and prove how good the answer is.

    The certificate is computed from the strategies alone, whatever the solver says of itself. Reaching a limit is a
    result (exit status 0); strategies that do not prove what an exact method claims are not (1).
    """
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: a profile is binary and cannot go to standard output; give a file name")
    check_distinct(game=game, out=out, json=json)
    check_writable(out, "--out")
    check_writable(json, "--json")
    if out is not None and Path(out).suffix.lower() != ".npz":
        raise CommandLineError(f"--out {out}: a profile is written as .npz; name it so (--json writes JSON)")
    shown = json != STANDARD_OUTPUT
    # What is known of the solve so far, in case that Ctrl-C ends it before there is a solution.
    known: dict[str, Any] = {"game": game, "problem": problem, "method": method}
    try:
        from ...solvers import solve as run
        from .questions import Question

        question = Question(problem, player, opponent=opponent, p=p, epsilon=epsilon)
        options = {"updates": updates, "averaging": averaging, "iterate": iterate}
        chosen = choose_method(method, options, start)
        check_start(start)
        loaded = load(game)
        known |= {"game": loaded.spec, "parameters": loaded.parameters}
        with waiting(f"building {loaded.spec}", shown=shown):
            posed = question.pose(loaded)
        first = load_start(start, loaded)
        with solving(f"{chosen.name} on {loaded.spec}", time_limit, shown=shown) as progress:
            solution = run(
                posed,
                chosen,
                tol=tol,
                max_iterations=max_iterations,
                time_limit=time_limit,
                start=first,
                progress=progress,
                seed=seed,
            )
    except KeyboardInterrupt:
        print_error("interrupted")
        write_json(unsolved_record(known), json)
        return ExitStatus.INTERRUPTED
    if out is not None:
        with writing(out, "--out"):
            solution.profile.save(out)
    write_json(solution.to_dict() | {"message": message_of(solution)}, json)
    if shown:
        _print(solution, {"profile": out, "JSON": json})
    return exit_status(solution.status)


def exit_status(status: "Status") -> ExitStatus:
    """Return what a solve's status means to the shell: limits are results, what is not proven or feasible is not."""
    return {
        "infeasible": ExitStatus.FAILURE,
        "unbounded": ExitStatus.FAILURE,
        "uncertified": ExitStatus.FAILURE,
        "interrupted": ExitStatus.INTERRUPTED,
    }.get(str(status), ExitStatus.SUCCESS)


def message_of(solution: "Solution") -> str:
    """Return the message of a solution, with options called as they are here.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.validation.cli.solve import message_of
    >>> message_of(solve(Nash(load_game("kuhn")), "cfr", tol=1e-9, max_iterations=10))
    'the iteration limit came first: raise --max-iterations, loosen --tol or try another method'
    """
    return re.sub(r"\b(tol|max_iterations|time_limit)\b", lambda found: _OPTIONS[found[0]], solution.message)


def unsolved_record(known: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a solve that was interrupted before there were strategies.

    Parameters
    ----------
    known : dict
        What is known, by key; every other key is there too, and null.
    """
    from ... import __version__
    from ...solvers.solution import json_ready

    keys = (
        "schema version game parameters problem method options tolerance player status message objective value "
        "value_exact lower upper gap exploitability gain opponent_value game_value violation violations multipliers "
        "steps iterations seconds build_seconds sizes"
    )
    described = {
        "schema": 1,
        "version": __version__,
        "status": "interrupted",
        "message": "stopped by the user before there were strategies",
    }
    return json_ready(dict.fromkeys(keys.split()) | known | described)  # type: ignore[no-any-return]


def _print(solution: "Solution", files: dict[str, str | None]) -> None:
    from rich.text import Text

    from ...solvers import Status
    from .output import console, listed, show_rows

    colour = "green" if solution.status.is_success else "yellow"
    if solution.status in (Status.UNCERTIFIED, Status.INFEASIBLE, Status.UNBOUNDED):
        colour = "red"
    form = solution.problem.game.sequence_form
    value = solution.value
    rows: dict[str, str | Text] = {
        "problem": Text.assemble(solution.problem.name, " on ", (solution.problem.game.spec, "bold cyan")),
        "method": solution.method.name,
        "status": Text(str(solution.status), style=f"bold {colour}"),
        "": Text(message_of(solution), style="dim"),
    }
    if isinstance(value, float):
        rows["value"] = f"{_number(value)} to player 0"
    else:
        rows["values"] = ", ".join(_number(one) for one in value)
    if solution.gain is not None and solution.objective is not None:
        rows["player"] = str(solution.player)
        rows["objective"] = _number(solution.objective)
        rows["gain"] = f"{_number(solution.gain)} beyond the value of the game, {_number(solution.game_value or 0.0)}"
    if solution.lower is not None and solution.upper is not None:
        rows["proven bounds"] = f"{_number(solution.lower)} to {_number(solution.upper)}"
        rows["gap"] = f"{solution.gap:.3g}"
    judged = _judged(solution)
    rows["exploitability"] = f"{solution.exploitability:.3g}{judged if solution.gain is None else ''}"
    if solution.gain is not None:
        rows["gap"] = f"{solution.gap:.3g}{judged}"
    if solution.certificate.violations:
        rows["violation"] = f"{solution.violation:.3g}"
    for name, multiplier in solution.multipliers.items():
        rows[f"price of {name}"] = _number(multiplier)
    rows["iterations"] = f"{solution.iterations:,}"
    rows["seconds"] = f"{solution.seconds:.3g} solving, {solution.build_seconds:.3g} building"
    rows["sequences"] = listed(treeplex.num_sequences for treeplex in form.treeplexes)
    for name, path in files.items():
        if path is not None:
            rows[f"{name} in"] = path
    show_rows(console(), rows)


def _judged(solution: "Solution") -> str:
    """Return how the error stands to the tolerance; with a tolerance of 0 there is nothing that it could be."""
    from ...solvers import Status

    if solution.problem.error(solution.certificate) <= solution.tolerance:
        return f", at most the tolerance of {solution.tolerance:.3g}"
    if solution.status is Status.OPTIMAL:
        return ", at round-off"
    return f", above the tolerance of {solution.tolerance:.3g}" if solution.tolerance else ""


def _number(number: float) -> str:
    """Return ten decimals; what is zero but for round-off is zero."""
    text = f"{number:.10f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
