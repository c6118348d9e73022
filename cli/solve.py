"""``treeplex solve``: one problem on one game by one method."""

import dataclasses
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import answering
from .errors import CommandLineError, deferring_interrupts, exit_status, print_note
from .files import Record, check_files, command_line, html_file
from .options import (
    AtOption,
    ChartOption,
    CheckpointOption,
    GameArgument,
    HtmlOption,
    IterationsOption,
    JsonOption,
    PotTolOption,
    ResumeOption,
    SeedOption,
    TimeOption,
    checkpoint_of,
    checkpoint_path,
    choice_of,
    choose_method,
    declared,
    method_options,
    problem_options,
    tolerance_of,
    with_preferences,
)
from .outputs import Output, Outputs, page
from .progress import solving, waiting
from .solution import message_of, print_solution

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.interchange.page import Page
    from ..solvers.methods import Method

#: How every zip archive begins, and so every .npz file.
_ARCHIVE = b"PK"
#: Methods whose steps may end at a depth limit.
_BASES = ("cfr", "cfr+", "dcfr", "pcfr+")
#: The keys of the JSON of every solve.
KEYS = (
    *("game", "parameters", "problem", "question", "method", "options", "tolerance", "player", "status", "message"),
    *("objective", "value", "value_exact", "values", "objective_exact", "gain_exact", "lower", "upper", "gap"),
    "exploitability",
    *(
        "regrets",
        "epsilon",
        "nash_conv",
        "gain",
        "opponent_value",
        "game_value",
        "slack",
        "violation",
        "violations",
        "least_violation",
        "conflict",
    ),
    *("multipliers", "dual_multipliers", "prices", "multiplier_bound", "preference", "steps", "step_levels"),
    *("step_gaps", "value_errors"),
    *("safety_bound", "history", "iterations", "seconds", "build_seconds", "time", "sizes"),
)


def _options() -> list[inspect.Parameter]:
    from ..solvers.methods import METHODS

    names = (
        f"The method: {', '.join(METHODS)}; by default highs, exact in large games, cfr+ with more than two players, "
        "and lp for depth-limited steps. Or NAME:key=value,…, such as dcfr:alpha=1.5,beta=0,gamma=2."
    )
    return [*problem_options(), choice_of("method", None, names), *method_options()]


@declared(_options)
def solve(
    game: GameArgument,
    problem: str | None = None,
    method: str | None = None,
    tol: PotTolOption = None,
    max_iterations: IterationsOption = None,
    time_limit: TimeOption = None,
    seed: SeedOption = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = None,
    start: Annotated[
        str | None, typer.Option(metavar="FILE", help="Start from a profile (.npz) written by --out.")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help="Value function at the depth limit, for iterative methods: exact (the default: the rest of the game), "
            "cfr+:iterations=N or another method run at each query, or a file with a learned one (.npz).",
        ),
    ] = None,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Find the responses for all values of p (rnr only); replaces --p.")
    ] = False,
    sensitivity: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Also show the optimum as a function of a constraint's bound; with epsilon-safe, NAME is safety.",
        ),
    ] = None,
    hands: Annotated[
        str | None,
        typer.Option(
            metavar="HANDS", help="Hands whose strategy and EV to show, such as QsQh,AdKd (spots of hold'em)."
        ),
    ] = None,
    at: AtOption = None,
    chart: ChartOption = None,
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOCK",
            help="What a player is known to do, or may do, in a spot of hold'em: 'ip at \"bet 120\": fold 40%'; may be "
            "repeated. Then also what it gains, and what that risks; with --frontier, one against the other.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the profile to FILE (.npz); of a spot what treeplex show reads."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw the result, of --frontier or --sensitivity if one is given (.svg, .png or .pdf)."
        ),
    ] = None,
    html: HtmlOption = None,
    json: JsonOption = None,
    **options: Any,
) -> int:
    """Solve a game, and prove how good the answer is.

    The certificate is computed from the strategies alone; nothing that the solver reports is trusted. Reaching a limit
    is a valid result (exit status 0). The exit status is 1 if the strategies do not prove what an exact method claims,
    or if the constraints cannot be met.
    """
    files, html = {"checkpoint": checkpoint_path(checkpoint), "resume": resume}, html_file(html)
    check_files({"GAME": game}, out=out, plot=plot, json=json, html=html, chart=chart, profile=True, **files)
    given, problem = problem, problem or "nash"
    record = Record(json, KEYS, game=game, problem=problem, method=method)
    shown = record.shown
    limits: dict[str, Any] = {"tol": tol, "max_iterations": max_iterations, "time_limit": time_limit, "seed": seed}
    with record.interruptible(time_limit):
        with deferring_interrupts():
            from ..models.games.files import names_file
            from ..models.problems import PROBLEMS
            from ..seqform.strategy import Profile
            from ..solvers import DCFR, Status
            from ..solvers import solve as run
            from ..solvers.choice import choose
            from ..validation.questions import Question, question_parameters
            from . import curves, spots

        names = {name for each in PROBLEMS for name in question_parameters(each)}
        words = {name: options.pop(name, None) for name in names}
        options = with_preferences(options, _player(words["player"]))
        if options["prefer"] and problem == "nash":
            words["player"] = None  # it says whose actions are preferred
        loaded = None
        if lock or names_file(
            game, family=False
        ):  # a spot says more of what is asked; other games are loaded when the question stands
            loaded = spots.with_locks(record.load(game, constrained=True), lock)
            problem = given or loaded.default_problem
            if loaded.constraints and frontier and problem == "nash":
                problem, words["opponent"] = "rnr", words["opponent"] or "locks"
        if method is None and frontier:
            method = "dcfr" if loaded is not None and spots.is_large(loaded) else "highs"
        record["method"] = method
        if frontier:
            others = {
                "p": words["p"],
                "sensitivity": sensitivity,
                "out": out,
                "start": start,
                "hands": hands,
                "at": at,
                "chart": chart,
                **limits,
                **options,
                **files,
            }
            if loaded is not None and spots.spot_of(loaded) is not None and method in _BASES:
                others |= {"tol": None, "precision": None}
            else:
                curves.check_by_simplex(method or "")
            curves.check_frontier(problem, others)
            words["p"] = "0"
        question = Question(problem, **words)
        asked = question.text if not frontier else f"{question.text_without('p')} --frontier"
        record.update(problem=question.problem, question=asked)
        moved = None
        if sensitivity is not None:
            curves.check_sensitivity(question.problem)
            moved = curves.read_sensitivity(sensitivity)
        chosen = None
        if method is not None:
            chosen = _checked(choose_method(method, options), question.problem, seed, value, start)
        loaded = loaded or record.load(game, constrained=True)
        spot, asked_hands = spots.spot_of(loaded), []
        if spot is not None:
            record.update(dict.fromkeys(spots.KEYS))
            asked_hands = spots.hands_of(hands, spot) if hands is not None else []
            spots.check_line(at, chart, spot)
        for name, text in (("hands", hands), ("at", at), ("chart", chart)):
            if text is not None and spot is None:
                raise CommandLineError(
                    f"--{name} {text}: expected a spot of hold'em (.toml), and GAME is {loaded.spec}"
                )
        with waiting(f"building {loaded.spec}", shown=shown):
            posed = question.pose(loaded)
            posed.build()
            by_default = chosen is None
            if chosen is None:
                of_loops = (max_iterations, checkpoint, start, *options.values())
                loops = any(each not in (None, [], ()) for each in of_loops)
                usual = choose(posed, exactly=moved is not None and spot is None, iterates=loops, quickly=True)
                precise = {"precision": options["precision"] or usual.precision} if isinstance(usual, DCFR) else {}
                chosen = _checked(choose_method(usual.name, options | precise), posed.name, seed, value, start)
            record["method"] = chosen.name
            limits["tol"] = tolerance_of(tol, loaded)
            chosen = with_value(chosen, value, loaded)
            if moved is not None:
                posed.with_bound(*moved[:2])  # says now what is wrong with the name
        if frontier:
            with waiting(f"responses for all p on {loaded.spec}", shown=shown):
                responses = curves.find_frontier(posed, chosen, limits["tol"])
        else:
            first = None if start is None else loaded.own_profile(start) or Profile.load(start, loaded)
            with solving(f"{chosen.name} on {loaded.spec}", time_limit, shown=shown) as progress:
                kept = checkpoint_of(checkpoint, resume)
                solution = run(posed, chosen, start=first, progress=progress, checkpoint=kept, **limits)
    outputs = Outputs(record)
    if frontier:
        return outputs.deliver(
            exit_status(responses.status),
            lambda: curves.print_frontier(record),
            responses.to_dict,
            page(html, responses.page),
            Output("picture", "--plot", plot, responses.frontier.plot),
        )
    looped = by_default and max_iterations is None and solution.status is Status.ITERATION_LIMIT
    if looped and spots.is_affordable(loaded):
        # Nobody asked for a loop, and linear programming reaches tolerances that are out of its reach.
        what = f"linear programming on {loaded.spec}"
        with waiting(what, shown=shown):
            exactly = choose(posed, exactly=True)
            solution = outputs.ask(what, lambda: run(posed, exactly, tol=limits["tol"]), solution)
        record["method"] = solution.method.name
    worth: dict[str, Any] = {}
    bounds = None
    if moved is not None:
        what = f"bounds of {moved[0]} on {loaded.spec}"
        with waiting(what, shown=shown), answering("sensitivity"):
            bounds = outputs.ask(what, lambda: curves.find_sensitivity(solution, *moved), None)
        worth = {"sensitivity": curves.pieces_of(bounds)}
    solved = None if spot is None else spots.read(solution, spot)
    if solved is not None:
        with waiting(f"what is earned on {loaded.spec}", shown=shown):
            worth |= outputs.ask("what is earned", lambda: spots.answer(solution, solved, asked_hands), {})
            worth |= outputs.ask("--at", lambda: spots.node_of(solved, at), {})
            worth |= outputs.ask("what locks are worth", lambda: spots.locked(solution, solved.spot), {})
            reason = worth.pop("reason", None)
            if reason is not None:
                solution = dataclasses.replace(solution, message=f"{solution.message}; {reason}")

    def report() -> None:
        if solved is not None and solution.infeasibility is None and "ev" in worth:
            spots.print_answer(solution, solved.spot, worth, asked)
            spots.print_node(solved, at, hands)
        else:
            print_solution(solution, asked)
        if worth.get("sensitivity"):
            curves.print_sensitivity(worth["sensitivity"], solution.player or 0)
        elif moved is not None and solution.infeasibility is not None:
            curves.print_no_sensitivity(*moved)

    def make_page() -> "Page":
        from ..solvers.reports import solution_page

        told = dataclasses.replace(solution, message=message_of(solution))
        return solution_page(told, command_line(), moved=moved)

    return outputs.deliver(
        exit_status(solution.status),
        report,
        lambda: solution.to_dict() | {"question": asked, "message": message_of(solution)} | worth,
        Output(
            "profile" if solved is None else "solution",
            "--out",
            out,
            solution.profile.save if solved is None else solved.save,
            answers=True,
        ),
        page(html, make_page),
        Output(
            "picture",
            "--plot",
            plot if moved is None or bounds else None,
            solution.plot if bounds is None else bounds.plot,
        ),
        Output("chart", "--chart", chart, lambda path: spots.draw_chart(solved, at, path)),
    )


def _checked(method: "Method", problem: str, seed: int | None, value: str | None, start: str | None) -> "Method":
    """Return a method, if options beside its own are for it; say so of a seed that changes nothing."""
    if seed is not None and not method.draws:
        print_note(f"--seed {seed} changes nothing: {method.name} draws no random numbers")
    _check_value(value, method.name, problem)
    _check_start(start, method)
    return method


def _player(text: str | None) -> int | None:
    """Return the player whose actions are preferred."""
    return int(text) if text in ("0", "1") else None


# --start


def _check_start(path: str | None, method: "Method") -> None:
    """Refuse a start that the method has no use for, and a file that cannot be a profile."""
    if path is None:
        return
    from ..seqform.interchange.files import regular_size
    from ..solvers.methods import METHODS

    if not method.takes_start:
        takers = [name for name, maker in METHODS.items() if maker().takes_start]
        raise CommandLineError(f"--start is for --method {', '.join(takers)}, and --method is {method.name}")
    try:
        regular_size(path)
        with Path(path).open("rb") as file:
            begins = file.read(len(_ARCHIVE))
    except FileNotFoundError:
        raise CommandLineError(f"--start: {path}: no such file") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise CommandLineError(f"--start: cannot read {path!r}: {reason.lower()}") from None
    if begins != _ARCHIVE:
        raise CommandLineError(f"--start: {path} is not a strategy file (.npz); --out writes one")


# --value


def _check_value(text: str | None, method: str, problem: str) -> None:
    """Refuse a value function that is not one, or that the method or the problem has no use for."""
    if text is None:
        return
    from ..models.problems import PROBLEMS
    from ..solvers.depth_limited.method import DepthLimitedCFR

    problems = sorted(name for name, each in PROBLEMS.items() if each.always_needs <= DepthLimitedCFR.serves)
    if problem not in problems:
        raise CommandLineError(f"--value is for --problem {', '.join(problems)}, and --problem is {problem}")
    if text != "exact" and method not in _BASES:
        raise CommandLineError(f"--value {text} is for --method {', '.join(_BASES)}, and --method is {method}")
    if not text.endswith(".npz"):
        _value_of(text)


def _value_of(text: str) -> tuple[str, int]:
    """Return the method and the iterations of ``cfr+:iterations=500``; none of ``exact``."""
    from ..seqform.errors import UnknownMethodError
    from ..seqform.grammar import Grammar
    from ..seqform.parameters import About, Parameter

    grammar = Grammar("value function", UnknownMethodError, UnknownMethodError, prefix="--value ")
    iterations = Parameter("iterations", int, 500, About("iterations of each query", minimum=1, large=True))
    name, rest = grammar.split(text)
    if name not in ("exact", *_BASES):
        raise grammar.unknown_name(name, ("exact", *_BASES), ", or a file (.npz)")
    values = grammar.read(name, rest, () if name == "exact" else (iterations,))
    return name, values.get("iterations", 0 if name == "exact" else 500)


def with_value(chosen: "Method", text: str | None, game: "Game") -> "Method":
    """Return a method with the value function that a text names, itself where that is the exact one.

    Raises
    ------
    UnknownMethodError, GameFileError, InvalidGameError
        If there is no such value function, or it is not of the game.
    """
    if text is None or text == "exact":
        return chosen
    from ..solvers.depth_limited.cfr_value import CFRValue
    from ..solvers.depth_limited.learned_values import load_value
    from ..solvers.depth_limited.method import DepthLimitedCFR
    from ..solvers.methods import RegretMethod

    assert isinstance(chosen, RegretMethod)
    if text.endswith(".npz"):
        value: Any = load_value(text, game)
    else:
        method, iterations = _value_of(text)
        value = CFRValue(iterations, method)
    if chosen.iterate != "average":
        raise CommandLineError(f"--iterate {chosen.iterate}: steps with --value {text} take their average")
    base: Any = chosen.name
    return DepthLimitedCFR(base, value, updates=chosen.updates, averaging=chosen.averaging, precision=chosen.precision)
