"""The steps of ``treeplex solve``, from the options to the answer."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import solvers
from ..models.games.files import names_file
from ..models.problems import PROBLEMS
from ..seqform.errors import InvalidOptionError, UnknownMethodError
from ..seqform.grammar import Grammar
from ..seqform.interchange.files import regular_size
from ..seqform.limits import answering
from ..seqform.parameters import About, Parameter
from ..seqform.strategy import Profile
from ..solvers.choice import choose
from ..solvers.methods import METHODS, RegretMethod
from ..validation.questions import Question, question_parameters
from . import curves, nodes, spots
from .errors import CommandLineError, exit_status, print_note
from .files import Record, command_line
from .options import Checkpointing, choose_method, hyperparameters, tolerance_of, with_preferences
from .outputs import Output, Outputs, page
from .progress import building, solving, waiting
from .solution import message_of, print_solution
from .solve_options import Curve, Files, OfSpot, SolveLimits, Supplied
from .tables import print_sheet

if TYPE_CHECKING:
    from ..models.games.holdem.solved import SolvedSpot
    from ..models.games.holdem.spot import HoldemSpot
    from ..seqform.game import Game
    from ..seqform.interchange.page import Page
    from ..solvers import Method, Solution
    from ..solvers.parametric.sensitivity import ParametricValue


#: The first bytes of every zip archive, and therefore of every .npz file.
_ARCHIVE = b"PK"
#: Methods whose steps may end at a depth limit.
_BASES = ("cfr", "cfr+", "dcfr", "pcfr+")


@dataclass
class SolveSteps:
    """A run of the command: its options, and the results of its successive steps.

    The first step that can check an option does so; all options are checked before the solve.
    """

    record: Record
    game: str
    limits: SolveLimits
    checkpointing: Checkpointing
    supplied: Supplied
    curve: Curve
    of_spot: OfSpot
    files: Files
    options: dict[str, Any] = field(init=False)  # the hyper-parameters of methods
    question: Question = field(init=False)
    asked: str = field(init=False)  # the problem in the form that can be typed
    moved: tuple[str, float, float] | None = field(init=False)  # the bound varied by --sensitivity
    named: "Method | None" = field(init=False)  # the method named by --method
    loaded: "Game" = field(init=False)
    spot: "HoldemSpot | None" = field(init=False)
    hands: list[str] = field(init=False, default_factory=list)
    likely: dict[str, Any] = field(init=False, default_factory=dict)  # what was solved for likely locks
    posed: Any = field(init=False)
    chosen: "Method" = field(init=False)
    tol: float | None = field(init=False)  # in payoff units

    def read_question(self, problem: str | None, method: str | None, **options: Any) -> None:
        """Read the problem, check the named method, and load the game."""
        names = {name for each in PROBLEMS for name in question_parameters(each)}
        words = {name: options.pop(name, None) for name in names}
        shared = names & {each.name for known in hyperparameters().values() for each in known}
        self.options = with_preferences(options, _player(words["player"]))
        if self.options["prefer"] and (problem or "nash") == "nash":
            words["player"] = None  # the player whose actions are preferred
        loaded: Game | None = None
        if self.of_spot.lock or names_file(self.game, family=False):
            # a spot adds to the problem; other games are loaded after the problem is known
            loaded = spots.with_locks(self.record.load(self.game, constrained=True), self.of_spot.lock)
            loaded, self.likely = spots.with_likely_hands(loaded, shown=self.record.shown)
            problem = problem or loaded.default_problem
            if loaded.constraints and self.curve.frontier and problem == "nash":
                problem, words["opponent"] = "rnr", words["opponent"] or "locks"
        problem = problem or "nash"
        for name in shared:  # a method's option, unless the problem takes it
            self.options[name] = None if _takes(problem, name) else words.pop(name)
        if method is None and self.curve.frontier:
            method = "dcfr" if loaded is not None and spots.is_large(loaded) else "highs"
        self.record["method"] = method
        if self.curve.frontier:
            self._check_frontier(problem, method or "", words["p"], loaded)
            words["p"] = "0"
        self.question = question = Question(problem, **words)
        self.asked = question.text if not self.curve.frontier else f"{question.text_without('p')} --frontier"
        self.record.update(problem=question.problem, question=self.asked)
        self.moved = self._moved()
        self.named = None if method is None else self._method(method, self.options, question.problem)
        self.loaded = loaded or self.record.load(self.game, constrained=True)

    def _check_frontier(self, problem: str, method: str, p: Any, loaded: "Game | None") -> None:
        """Reject methods that find no frontier, and options that cannot be combined with ``--frontier``."""
        others = {
            "p": p,
            "sensitivity": self.curve.sensitivity,
            "out": self.files.out,
            "start": self.supplied.start,
            "hands": self.of_spot.hands,
            "at": self.of_spot.at,
            "chart": self.of_spot.chart,
            **vars(self.limits),
            **self.options,
            **self.checkpointing.files,
        }
        if loaded is not None and nodes.spot_of(loaded) is not None and method in _BASES:
            others |= {"tol": None, "precision": None}
        else:
            curves.check_by_simplex(method)
        curves.check_frontier(problem, others)

    def _method(self, text: str, options: dict[str, Any], problem: str) -> "Method":
        """Return the named method, after checking the options for it."""
        method, seed = choose_method(text, options), self.limits.seed
        if seed is not None and not method.draws:
            print_note(f"--seed {seed} changes nothing: {method.name} draws no random numbers")
        _check_value(self.supplied.value, method.name, problem)
        _check_start(self.supplied.start, method)
        return method

    def _moved(self) -> tuple[str, float, float] | None:
        """Return the bound varied by ``--sensitivity``, and its range."""
        if self.curve.sensitivity is None:
            return None
        curves.check_sensitivity(self.question.problem)
        return curves.read_sensitivity(self.curve.sensitivity)

    def read_spot(self) -> None:
        """Read the options of spots; reject them for other games."""
        self.spot, of = nodes.spot_of(self.loaded), self.of_spot
        for name, text in (("hands", of.hands), ("at", of.at), ("chart", of.chart)):
            if text is not None and self.spot is None and (name == "hands" or not nodes.has_nodes(self.loaded)):
                before = "" if name == "hands" else ", preflop or three_handed"
                raise CommandLineError(
                    f"--{name} {text}: expected a hold'em spot (.toml){before}, but GAME is {self.loaded.spec}"
                )
        if self.spot is not None:
            self.record.update(dict.fromkeys(spots.KEYS))
            self.hands = spots.hands_of(of.hands, self.spot) if of.hands is not None else []
            spots.check_line(of.at, {"chart": of.chart}, self.spot)

    def pose_problem(self) -> None:
        """Build the problem, and choose a method if none is named."""
        with building(self.loaded, shown=self.record.shown):
            self.posed = self.question.pose(self.loaded)
            self.posed = self.posed.resolved()
            self.posed.build()
            self.record["problem"] = self.posed.name
            if self.spot is None and self.of_spot.at:
                nodes.check_line(self.of_spot.at, self.loaded)
            chosen = self.named or self._usual_method()
            self.record["method"] = chosen.name
            self.tol = tolerance_of(self.limits.tol, self.loaded)
            self.chosen = with_value(chosen, self.supplied.value, self.loaded)
            if self.moved is not None:
                self.posed.with_bound(*self.moved[:2])  # checks the name now

    def _usual_method(self) -> "Method":
        """Return the default method of the problem: an iterative one, if an option for those is given."""
        of_loops = (
            self.limits.max_iterations,
            self.checkpointing.checkpoint,
            self.supplied.start,
            *self.options.values(),
        )
        loops = any(each not in (None, [], ()) for each in of_loops)
        exactly = self.moved is not None and self.spot is None
        usual = choose(self.posed, exactly=exactly, iterates=loops, quickly=True)
        precise = {"precision": self.options["precision"] or usual.precision} if isinstance(usual, solvers.DCFR) else {}
        return self._method(usual.name, self.options | precise, self.posed.name)

    def find_frontier(self) -> curves.Responses:
        """Find the responses for all p."""
        with waiting(f"responses for all p on {self.loaded.spec}", shown=self.record.shown):
            return curves.find_frontier(self.posed, self.chosen, self.tol)

    def find_solution(self) -> "Solution":
        """Solve the problem."""
        game, start, limits = self.loaded, self.supplied.start, vars(self.limits) | {"tol": self.tol}
        first = None if start is None else game.own_profile(start) or Profile.load(start, game)
        title = f"{self.chosen.name} on {game.spec}"
        with solving(title, self.limits.time_limit, shown=self.record.shown) as progress:
            kept = self.checkpointing.read()
            return solvers.solve(self.posed, self.chosen, start=first, progress=progress, checkpoint=kept, **limits)

    def finish_exactly(self, solution: "Solution", outputs: Outputs) -> "Solution":
        """Solve again by linear programming if the default loop reached its own iteration limit."""
        free = self.named is None and self.limits.max_iterations is None
        if free and solution.status is solvers.Status.ITERATION_LIMIT and spots.is_affordable(self.loaded):
            what = f"linear programming on {self.loaded.spec}"
            with waiting(what, shown=self.record.shown):
                exactly = choose(self.posed, exactly=True)
                solution = outputs.ask(what, lambda: solvers.solve(self.posed, exactly, tol=self.tol), solution)
            self.record["method"] = solution.method.name
        return solution

    def answer(self, solution: "Solution", outputs: Outputs) -> "SolveAnswer":
        """Return the solution with further answers: the optimum as a function of a bound, and earnings in a spot."""
        bounds, worth, spec, shown = None, dict[str, Any](), self.loaded.spec, self.record.shown
        moved = self.moved
        if moved is not None:
            what = f"bounds of {moved[0]} on {spec}"
            with waiting(what, shown=shown), answering("sensitivity"):
                bounds = outputs.ask(what, lambda: curves.find_sensitivity(solution, *moved), None)
            worth = {"sensitivity": None if bounds is None else bounds.to_dict()}
        solved = None if self.spot is None else spots.read(solution, self.spot)
        view: Any = solved
        if solved is None and (self.of_spot.at, self.of_spot.chart) != (None, None) and solution.infeasibility is None:
            view = nodes.view_of(self.loaded, solution.profile)
            if self.of_spot.at is not None:
                with waiting(f"payoffs on {spec}", shown=shown):
                    worth |= outputs.ask("--at", lambda: {"at": view.at(self.of_spot.at).to_dict("class")}, {})
        if solved is not None:
            with waiting(f"payoffs on {spec}", shown=shown):
                worth |= outputs.ask("payoffs", lambda: spots.answer(solution, solved, self.hands), {})
                worth |= outputs.ask("--at", lambda: spots.node_of(solved, self.of_spot.at), {})
                worth |= outputs.ask("the value of the locks", lambda: spots.locked(solution, solved.spot), {})
            worth |= self.likely
            reason = worth.pop("reason", None)
            if reason is not None:
                solution = replace(solution, message=f"{solution.message}; {reason}")
        return SolveAnswer(solution, self.asked, self.of_spot, moved, bounds, solved, view, worth)


def _player(text: str | None) -> int | None:
    """Return the player whose actions are preferred."""
    return int(text) if text in ("0", "1") else None


def _takes(problem: str, name: str) -> bool:
    """Whether a problem takes an option; unknown problems take none."""
    problem = problem.partition(":")[0]
    return problem in PROBLEMS and name in question_parameters(problem)


# Results


def deliver_frontier(found: curves.Responses, outputs: Outputs, record: Record, files: Files) -> int:
    """Write the responses for all p."""
    return outputs.deliver(
        exit_status(found.status),
        lambda: curves.print_frontier(record, found.frontier),
        found.to_dict,
        page(files.html, found.page),
        Output("picture", "--plot", files.plot, found.frontier.plot),
    )


@dataclass(frozen=True)
class SolveAnswer:
    """A solution and further answers about its game."""

    solution: "Solution"
    asked: str
    of_spot: OfSpot
    moved: tuple[str, float, float] | None
    bounds: "ParametricValue | None"  # the optimum as a function of the varied bound
    solved: "SolvedSpot | None"
    view: Any  # the strategies by node: the solved spot, or a view of play before the flop; None if there are no nodes
    worth: dict[str, Any]  # the further answers, by the keys of the JSON

    def deliver(self, outputs: Outputs, files: Files) -> int:
        """Write the answer, and return the exit status."""
        solution, solved, bounds, of = self.solution, self.solved, self.bounds, self.of_spot
        name, save = ("profile", solution.profile.save) if solved is None else ("solution", solved.save)
        plot = None if self.moved is not None and not bounds else files.plot
        return outputs.deliver(
            exit_status(solution.status),
            self.print,
            self.to_dict,
            Output(name, "--out", files.out, save, answers=True, measured=solved is not None),
            page(files.html, self.page),
            Output("picture", "--plot", plot, solution.plot if bounds is None else bounds.plot),
            Output("chart", "--chart", None if self.view is None else of.chart, self._draw_chart),
        )

    def _draw_chart(self, path: str) -> None:
        self.view.at(self.of_spot.at or "").plot(path)

    def print(self) -> None:
        """Print the solution and the further answers."""
        solution, solved, at = self.solution, self.solved, self.of_spot.at
        if solved is not None and solution.infeasibility is None and "ev" in self.worth:
            print_sheet(spots.spot_sheet(solution, solved.spot, self.worth, self.asked))
            spots.print_node(solved, at, self.of_spot.hands)
        else:
            print_solution(solution, self.asked)
            if solved is None and self.view is not None and at is not None:
                nodes.HandsAt.read(self.view, nodes.OfHands(at=at)).print()
        if self.bounds is not None:
            curves.print_sensitivity(self.bounds)
        elif self.moved is not None and solution.infeasibility is not None:
            curves.print_no_sensitivity(*self.moved)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON."""
        return self.solution.to_dict() | {"question": self.asked, "message": message_of(self.solution)} | self.worth

    def page(self) -> "Page":
        """Return the page that ``--html`` writes."""
        from ..solvers.reports import solution_page

        told = replace(self.solution, message=message_of(self.solution))
        return solution_page(told, command_line(), moved=self.moved)


# --start


def _check_start(path: str | None, method: "Method") -> None:
    """Reject a start that the method cannot use, and a file that is not a profile."""
    if path is None:
        return
    if not method.takes_start:
        takers = [name for name, maker in METHODS.items() if maker().takes_start]
        raise CommandLineError(f"--start is for --method {', '.join(takers)}, but --method is {method.name}")
    try:
        regular_size(path)
        with Path(path).open("rb") as file:
            begins = file.read(len(_ARCHIVE))
    except FileNotFoundError:
        from ..seqform.interchange.files import absence

        raise CommandLineError(f"--start: {path}: {absence(path)}") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise CommandLineError(f"--start: cannot read {path!r}: {reason.lower()}") from None
    if begins != _ARCHIVE:
        raise CommandLineError(f"--start: {path} is not a strategy file (.npz); --out writes one")


# --value

#: Value functions without parameters, and the suffixes of files with a learned value function or with a blueprint.
_PLAIN_VALUES, _VALUE_FILES = ("exact", "checkdown"), (".npz", ".json")


def _check_value(text: str | None, method: str, problem: str) -> None:
    """Reject an invalid value function, or one that the method or the problem cannot use."""
    if text is None:
        return
    from ..solvers.depth_limited.method import DepthLimitedCFR

    problems = sorted(name for name, each in PROBLEMS.items() if each.always_needs <= DepthLimitedCFR.serves)
    if problem not in problems:
        raise CommandLineError(f"--value is for --problem {', '.join(problems)}, but --problem is {problem}")
    if text != "exact" and method not in _BASES:
        raise CommandLineError(f"--value {text} is for --method {', '.join(_BASES)}, but --method is {method}")
    if not text.endswith(_VALUE_FILES):
        _value_of(text)


def _value_of(text: str) -> tuple[str, int]:
    """Return the method and the iterations of ``cfr+:iterations=500``; none for ``exact`` and ``checkdown``."""
    grammar = Grammar("value function", UnknownMethodError, InvalidOptionError, prefix="--value ")
    iterations = Parameter("iterations", int, 500, About("iterations of each query", minimum=1, large=True))
    name, rest = grammar.split(text)
    if name not in (*_PLAIN_VALUES, *_BASES):
        raise grammar.unknown_name(name, (*_PLAIN_VALUES, *_BASES), f", or a file ({', '.join(_VALUE_FILES)})")
    values = grammar.read(name, rest, () if name in _PLAIN_VALUES else (iterations,))
    return name, values.get("iterations", 0 if name in _PLAIN_VALUES else 500)


def with_value(chosen: "Method", text: str | None, game: "Game") -> "Method":
    """Return a method with the named value function; the method itself for the exact one.

    Raises
    ------
    UnknownMethodError, GameFileError, InvalidGameError, InvalidStrategyError
        If the value function does not exist or does not belong to the game.
    """
    if text is None or text == "exact":
        return chosen
    from ..solvers.depth_limited.blueprint_values import BlueprintValue
    from ..solvers.depth_limited.cfr_value import CFRValue
    from ..solvers.depth_limited.learned_values import load_value
    from ..solvers.depth_limited.method import DepthLimitedCFR

    assert isinstance(chosen, RegretMethod)
    if text.endswith(_VALUE_FILES):
        value: Any = BlueprintValue.load(text, game) or load_value(text, game)
    elif text == "checkdown":
        value = BlueprintValue.checkdown(game)
    else:
        method, iterations = _value_of(text)
        value = CFRValue(iterations, method)
    if chosen.iterate == "last":
        raise CommandLineError(f"--iterate {chosen.iterate}: with --value {text}, expected average or best")
    base: Any = chosen.name
    words: dict[str, Any] = {name: getattr(chosen, name) for name in ("updates", "averaging", "iterate", "precision")}
    return DepthLimitedCFR(base, value, **words)
