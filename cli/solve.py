"""``treeplex solve``: one problem on one game by one method."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import OPPONENT_HELP, load, seat, seconds, tolerance, whole
from .errors import CommandLineError, ExitStatus, print_error
from .interrupts import deferring_interrupts
from .methods import check_start, choose_method, load_start, read_preferences, usual_method
from .options import BaselineRateOption, ExplorationOption, GameArgument, JsonOption
from .output import STANDARD_OUTPUT, check_distinct, check_writable, write_json, writing
from .progress import solving, waiting
from .records import unsolved_record
from .solution_table import message_of, print_solution
from .values import check_value, with_value

if TYPE_CHECKING:
    from ..solvers import Status


def solve(
    game: GameArgument,
    problem: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="What to solve: nash, constrained, best-response, rnr, epsilon-safe, data-biased, best-nash or style; "
            "in depth-limited steps cdbr, cdrnr, cdbr-ne, ses or lbr.",
        ),
    ] = "nash",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="How: highs by default, and lp for depth-limited steps. Exactly by highs, highs-simplex, highs-ipm, "
            "highs-ipm-crossover, highs-pdlp, cvxpy or rational (in fractions); iteratively by cfr, cfr+, dcfr, pcfr+, "
            "cfvfp, in a style pref-cfr or, under constraints, ccfr; by random samples of the game by es-mccfr, "
            "os-mccfr and, in a style, es-pref-cfr.",
        ),
    ] = None,
    player: Annotated[
        int | None,
        typer.Option(metavar="0|1", parser=seat, help="Whose strategy, where a problem solves for one: 0 by default."),
    ] = None,
    constrain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C",
            help="A constraint, for constrained; may be repeated: TERM+… <= NUMBER, also >= and ==, and 'as NAME' "
            "after it. TERM is a functional of the game (risk), SEAT/INFOSET:ACTION, "
            "plan(SEAT/INFOSET:ACTION) or reach(SEAT/INFOSET).",
        ),
    ] = None,
    penalty: Annotated[
        str | None,
        typer.Option(metavar="B", help="What a unit of violation costs, for constrained: constraints may be broken."),
    ] = None,
    opponent: Annotated[
        str | None,
        typer.Option(
            metavar="O",
            help=f"The model that is responded to: {OPPONENT_HELP}",
        ),
    ] = None,
    p: Annotated[
        str | None,
        typer.Option(
            "--p",
            metavar="P",
            help="How sure the model is, from 0 to 1, for rnr, data-biased, cdrnr, cdbr-ne and ses.",
        ),
    ] = None,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="The responses for all p, for rnr; instead of --p.")
    ] = False,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="E", help="How exploitable the strategy may be, for epsilon-safe and style (0)."),
    ] = None,
    maximise: Annotated[
        str | None, typer.Option(metavar="TERM", help="What is to be large, for style: TERM+… as in --constrain.")
    ] = None,
    minimise: Annotated[str | None, typer.Option(metavar="TERM", help="What is to be small, for style.")] = None,
    lookahead: Annotated[
        str | None,
        typer.Option(
            metavar="K", help="How many levels of the public tree a depth-limited step looks beyond its own action."
        ),
    ] = None,
    gadget: Annotated[
        str | None,
        typer.Option(
            metavar="G",
            help="What stands above a subgame, for cdrnr: full, none, resolving, max-margin or reach-max-margin.",
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help="What stands for the game below the depth limit in iterative methods: exact (its default, all that is "
            "left of the game), cfr+:iterations=N or another method at each query, or a file of a learnt one (.npz).",
        ),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            metavar="L", help="At which level of the public tree subgames begin, for ses: by default after chance."
        ),
    ] = None,
    sensitivity: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Show the optimum as a function of a constraint's bound too; for epsilon-safe NAME is safety.",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            parser=tolerance,
            help="What the certificate must prove, in payoff units: the exploitability for nash, the gap and the "
            "violation for other problems. With 0 iterative methods run exactly --max-iterations. By default what the "
            "method is good for.",
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
    base: Annotated[
        str | None,
        typer.Option(metavar="B", help="How regrets accumulate in ccfr and pref-cfr: dcfr, cfr+, pcfr+ or cfr."),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(metavar="S", help="How multipliers move in ccfr: optimistic, constant or decreasing steps."),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option(metavar="S", parser=tolerance, help="The size of these steps; small limits want large ones."),
    ] = None,
    tangents: Annotated[
        str | None,
        typer.Option(metavar="T", help="Where ccfr takes tangents of curved constraints: average or iterate."),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            parser=tolerance,
            help="What multipliers in ccfr may be at first; it doubles as need be. By default they are free.",
        ),
    ] = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ACTION:DELTA",
            help="An action whose regrets count DELTA times, for pref-cfr and es-pref-cfr; may be repeated: "
            "raise:5, raise@first:5 at first decisions, SEAT/raise:5 of one player (--player, or else all), "
            "SEAT/INFOSET:raise:5 at one infoset.",
        ),
    ] = None,
    vulnerability: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            parser=tolerance,
            help="What a preference may cost at each infoset that it is about, in payoff units.",
        ),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="U",
            help="What that is held against: conditional (regret given that the others allow the infoset) or "
            "counterfactual regret.",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(metavar="R", help="How actions are chosen with preferences: rm (in proportion) or br (the best)."),
    ] = None,
    initial_regrets: Annotated[
        float | None,
        typer.Option(
            metavar="R", parser=tolerance, help="Begin with random regrets between 0 and this, drawn with --seed."
        ),
    ] = None,
    updates: Annotated[
        str | None,
        typer.Option(metavar="U", help="Whether iterative methods update players alternating or simultaneous."),
    ] = None,
    averaging: Annotated[
        str | None,
        typer.Option(
            metavar="A",
            help="Weights of iterates: uniform, linear, quadratic, cubic, quartic, or a power of t. In es-mccfr and "
            "os-mccfr how strategies are averaged: simple, sampled or full.",
        ),
    ] = None,
    iterate: Annotated[
        str | None, typer.Option(metavar="I", help="Which strategies are returned and certified: average or last.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="P", help="Of the numbers in iterative methods: double, single, or auto by tolerance."),
    ] = None,
    local_rule: Annotated[
        str | None,
        typer.Option(metavar="R", help="In methods that sample: regret-matching or regret-matching+."),
    ] = None,
    exploration: ExplorationOption = None,
    baselines: Annotated[
        str | None,
        typer.Option(metavar="B", help="What os-mccfr guesses of values: by history, by infoset, or none."),
    ] = None,
    baseline_rate: BaselineRateOption = None,
    start: Annotated[
        str | None, typer.Option(metavar="FILE", help="Start from a profile (.npz) that --out wrote.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the profile to FILE (.npz).")] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw what --frontier or --sensitivity finds (.svg, .png or .pdf)."),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Solve a game, and prove how good the answer is.

    The certificate is computed from the strategies alone, whatever the solver says of itself. Reaching a limit is a
    result (exit status 0); strategies that do not prove what an exact method claims are not, nor are constraints that
    cannot be met (1).
    """
    if out == STANDARD_OUTPUT:
        raise CommandLineError("--out: a profile is binary and cannot go to standard output; give a file name")
    check_distinct(game=game, out=out, json=json, plot=plot)
    check_writable(out, "--out")
    if plot is not None and not frontier and sensitivity is None:
        raise CommandLineError("--plot draws what --frontier or --sensitivity finds; give one of them")
    if plot is not None and Path(plot).suffix.lower() not in (".svg", ".png", ".pdf"):
        raise CommandLineError(f"--plot {plot}: expected a file name that ends with .svg, .png or .pdf")
    check_writable(plot, "--plot")
    check_writable(json, "--json")
    if out is not None and Path(out).suffix.lower() != ".npz":
        raise CommandLineError(f"--out {out}: a profile is written as .npz; name it so (--json writes JSON)")
    shown = json != STANDARD_OUTPUT
    # What is known of the solve so far, in case that Ctrl-C ends it before there is a solution.
    known: dict[str, Any] = {"game": game, "problem": problem, "method": method}
    limits: dict[str, Any] = {"tol": tol, "max_iterations": max_iterations, "time_limit": time_limit, "seed": seed}
    try:
        with deferring_interrupts():
            from ..solvers import solve as run
            from ..validation.questions import Question
            from . import curves

            method = usual_method(problem) if method is None else method
        known["method"] = method
        options = {
            "base": base, "steps": steps, "step": step, "tangents": tangents, "beta": beta,
            "updates": updates, "averaging": averaging, "iterate": iterate, "precision": precision,
            "prefer": None if prefer is None else read_preferences(prefer, player), "vulnerability": vulnerability,
            "units": units, "rule": rule, "initial_regrets": initial_regrets, "local_rule": local_rule,
            "exploration": exploration, "baselines": baselines, "baseline_rate": baseline_rate,
        }  # fmt: skip
        if frontier:
            curves.check_frontier(
                problem, method, {"p": p, "sensitivity": sensitivity, "out": out, "start": start, **limits, **options}
            )
        question = Question(
            problem,
            player=None if prefer is not None and problem == "nash" else player,
            constrain=constrain,
            penalty=penalty,
            opponent=opponent,
            p="0" if frontier else p,
            epsilon=epsilon,
            maximise=maximise,
            minimise=minimise,
            lookahead=lookahead,
            gadget=gadget,
            level=level,
        )
        asked = question.text if not frontier else f"{question.text_without('p')} --frontier"
        known["question"] = asked
        moved = None
        if sensitivity is not None:
            curves.check_sensitivity(problem)
            moved = curves.read_sensitivity(sensitivity)
        chosen = choose_method(method, options, start)
        check_value(value, method, problem)
        check_start(start)
        loaded = load(game)
        known |= {"game": loaded.spec, "parameters": loaded.parameters}
        with waiting(f"building {loaded.spec}", shown=shown):
            posed = question.pose(loaded)
            chosen = with_value(chosen, value, loaded)
            if moved is not None:
                posed.with_bound(*moved[:2])  # says now what is wrong with the name
        if frontier:
            with waiting(f"responses for all p on {loaded.spec}", shown=shown):
                record = curves.find_frontier(posed, asked, plot)
            write_json(record, json)
            if shown:
                curves.print_frontier(record, json)
            return ExitStatus.SUCCESS if record["status"] == "optimal" else ExitStatus.FAILURE
        first = load_start(start, loaded)
        with solving(f"{chosen.name} on {loaded.spec}", time_limit, shown=shown) as progress:
            solution = run(posed, chosen, start=first, progress=progress, **limits)
        worth: dict[str, Any] = {}
        if moved is not None:
            with waiting(f"bounds of {moved[0]} on {loaded.spec}", shown=shown):
                worth = {"sensitivity": curves.find_sensitivity(solution, *moved, plot)}
    except KeyboardInterrupt:
        print_error("interrupted")
        write_json(unsolved_record(known), json)
        return ExitStatus.INTERRUPTED
    if out is not None:
        with writing(out, "--out"):
            solution.profile.save(out)
    said = {"question": asked, "message": message_of(solution)}
    write_json(solution.to_dict() | said | worth, json)
    if shown:
        print_solution(solution, asked, {"profile": out, "JSON": json})
        if worth.get("sensitivity"):
            curves.print_sensitivity(worth["sensitivity"], solution.player or 0)
        elif moved is not None and solution.infeasibility is not None:
            curves.print_no_sensitivity(*moved)
    return exit_status(solution.status)


def exit_status(status: "Status") -> ExitStatus:
    """Return what a solve's status means to the shell: limits are results, what is not proven or feasible is not."""
    return {
        "infeasible": ExitStatus.FAILURE,
        "unbounded": ExitStatus.FAILURE,
        "uncertified": ExitStatus.FAILURE,
        "interrupted": ExitStatus.INTERRUPTED,
    }.get(str(status), ExitStatus.SUCCESS)
