"""``treeplex solve``: one problem on one game by one method."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import non_negative, whole
from .errors import ExitStatus
from .output import STANDARD_OUTPUT, check_distinct, check_writable, write_json, writing
from .problems import PROBLEMS, check_problem, make_problem
from .progress import solving, waiting

if TYPE_CHECKING:
    from ...seqform.game import Game
    from ...solvers import Solution, Status


def solve(
    game: Annotated[str, typer.Argument(metavar="GAME", help="NAME or NAME:key=value,… as treeplex games lists them.")],
    problem: Annotated[str, typer.Option(metavar="P", help=f"What to solve: {', '.join(PROBLEMS)}.")] = PROBLEMS[0],
    method: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="How: exactly by highs, highs-simplex, highs-ipm, highs-ipm-crossover, highs-pdlp or cvxpy; "
            "iteratively by cfr, cfr+, dcfr or pcfr+.",
        ),
    ] = "highs",
    player: Annotated[
        int | None, typer.Option(metavar="0|1", parser=whole, help="Whose strategy, where a problem solves for one.")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            parser=non_negative,
            help="What the certificate must prove, in payoff units: the exploitability for nash. "
            "0 runs exactly --max-iterations. By default what the method is good for.",
        ),
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", parser=whole, help="Stop after N iterations; one updates every player.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", parser=non_negative, help="Stop after S seconds of solving.")
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
    check_problem(problem, player)
    if out == STANDARD_OUTPUT:
        out = "./-"
    check_distinct(out=out, json=json)
    check_writable(out, "--out")
    check_writable(json, "--json")
    from ...models.games import load_game
    from ...seqform.strategy import Profile
    from ...solvers import Status, find_method
    from ...solvers import solve as run

    given = {"updates": updates, "averaging": averaging, "iterate": iterate}
    chosen = find_method(method, **{name: value for name, value in given.items() if value is not None})
    loaded = load_game(game)
    shown = json != STANDARD_OUTPUT
    try:
        with waiting(f"building {loaded.spec}", shown=shown):
            question = make_problem(problem, loaded)
        first = None if start is None else Profile.load(start, loaded)
        with solving(f"{chosen.name} on {loaded.spec}", time_limit, shown=shown) as progress:
            solution = run(
                question,
                chosen,
                tol=tol,
                max_iterations=max_iterations,
                time_limit=time_limit,
                start=first,
                progress=progress,
                seed=seed,
            )
    except KeyboardInterrupt:
        write_json(unsolved_record(loaded, problem, chosen.name, Status.INTERRUPTED), json)
        return ExitStatus.INTERRUPTED
    if out is not None:
        with writing(out, "--out"):
            solution.profile.save(out)
    write_json(solution.to_dict(), json)
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


def unsolved_record(game: "Game", problem: str, method: str, status: "Status") -> dict[str, Any]:
    """Return the JSON of a solve that ended before there were strategies: every key, what was not computed null."""
    from ... import __version__
    from ...solvers.solution import json_ready

    unknown = (
        "objective value value_exact lower upper gap exploitability gain opponent_value game_value violation "
        "violations multipliers steps iterations seconds build_seconds sizes"
    )
    known = {
        "schema": 1,
        "version": __version__,
        "game": game.spec,
        "parameters": game.parameters,
        "problem": problem,
        "method": method,
        "player": None,
        "status": str(status),
        "message": "stopped by the user before there were strategies",
    }
    return json_ready(known | dict.fromkeys(unknown.split()))  # type: ignore[no-any-return]


def _print(solution: "Solution", files: dict[str, str | None]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ...solvers import Status
    from .output import console, listed, show

    colour = "green" if solution.status.is_success else "yellow"
    if solution.status in (Status.UNCERTIFIED, Status.INFEASIBLE, Status.UNBOUNDED):
        colour = "red"
    form = solution.problem.game.sequence_form
    value = solution.value
    rows: dict[str, str | Text] = {
        "problem": Text.assemble(solution.problem.name, " on ", (solution.problem.game.spec, "bold cyan")),
        "method": solution.method.name,
        "status": Text(str(solution.status), style=f"bold {colour}"),
        "": Text(solution.message, style="dim"),
    }
    if isinstance(value, float):
        rows["value"] = f"{_number(value)} to player 0"
    else:
        rows["values"] = ", ".join(_number(one) for one in value)
    if solution.lower is not None and solution.upper is not None:
        rows["proven bounds"] = f"{_number(solution.lower)} to {_number(solution.upper)}"
        rows["gap"] = f"{solution.gap:.3g}"
    met = "at most" if solution.problem.error(solution.certificate) <= solution.tolerance else "above"
    rows["exploitability"] = f"{solution.exploitability:.3g}, {met} the tolerance of {solution.tolerance:.3g}"
    if solution.certificate.violations:
        rows["violation"] = f"{solution.violation:.3g}"
    rows["iterations"] = f"{solution.iterations:,}"
    rows["seconds"] = f"{solution.seconds:.3g} solving, {solution.build_seconds:.3g} building"
    rows["sequences"] = listed(treeplex.num_sequences for treeplex in form.treeplexes)
    for name, path in files.items():
        if path is not None:
            rows[f"{name} in"] = path
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in rows.items():
        table.add_row(name, text)
    show(console(), table)


def _number(number: float) -> str:
    """Return ten decimals; what is zero but for round-off is zero."""
    text = f"{number:.10f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
