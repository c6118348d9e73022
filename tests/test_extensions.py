"""Other packages add games, problems, methods and suites, by calls and by entry points."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated

import pytest
from effort import PATIENCE, thorough

import treeplex
from treeplex import (
    TERMINAL,
    Game,
    HiGHS,
    InvalidGameError,
    Nash,
    TreeplexError,
    UnknownMethodError,
    load_game,
    register_game,
    register_method,
    register_problem,
    solve,
)
from treeplex.cli import main
from treeplex.models.declarations import Confidence
from treeplex.models.games import GAMES, Family
from treeplex.models.problems import PROBLEMS, Feature, SaddleProblem
from treeplex.models.saddle import Saddle
from treeplex.seqform import extensions
from treeplex.seqform.parameters import About
from treeplex.seqform.registry import ExtensionWarning
from treeplex.solvers import Method, Outcome, OutcomeSamplingMCCFR, Status
from treeplex.solvers.methods import METHODS, find_method
from treeplex.validation.papers import EXPERIMENTS

TEMPLATE = Path(__file__).parents[1] / "examples" / "treeplex-extension"


def install(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """Write what an installed package's entry points are found by."""
    info = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n", encoding="utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder of packages in front."""
    paths = [str(folder), str(TEMPLATE), str(Path(treeplex.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "150"}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False, env=environment
    )


@thorough
def test_the_template_passes_its_own_tests(tmp_path: Path) -> None:
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(tmp_path, project["name"], project["entry-points"])
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), "-W", "error")
    ran = run(tmp_path, "-m", "pytest", *options, str(TEMPLATE / "tests"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout


def test_a_broken_package_is_one_line_and_breaks_no_command(tmp_path: Path) -> None:
    install(
        tmp_path,
        "broken-package",
        {"treeplex.games": {"lost": "no_such_module:GAME"}, "treeplex.methods": {"cfr": "json:loads"}},
    )
    shown = run(tmp_path, "-m", "treeplex", "games")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("kuhn")
    assert shown.stderr == (
        "note: the game 'lost' of the package broken-package is skipped: ModuleNotFoundError: No module named "
        "'no_such_module'\n"
    )


@pytest.fixture
def entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs entry points, found until the test ends."""
    monkeypatch.syspath_prepend(tmp_path)
    for each in (GAMES, PROBLEMS, METHODS, EXPERIMENTS):
        for table in ("_own", "_unloaded", "_things", "_sources", "_packages", "_loaded"):
            monkeypatch.setattr(each, table, getattr(each, table).copy())

    def add(name: str, groups: dict[str, dict[str, str]], code: str = "") -> None:
        install(tmp_path, name, groups)
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        extensions.entry_points.cache_clear()

    yield add
    extensions.entry_points.cache_clear()


GUESS = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Guess:
    name = "guess"
    num_players = 2
    def initial_state(self): return ()
    def player(self, state): return -2 if len(state) == 2 else len(state)
    def actions(self, state): return "ab"
    def child(self, state, action): return (*state, action)
    def infoset(self, state): return "start"
    def payoffs(self, state): return (1, -1) if state[0] == state[1] else (-1, 1)
class Renamed(Guess): pass
"""


def test_entry_points_are_loaded_when_they_are_asked_for(entry_points) -> None:
    entry_points("alpha", {"treeplex.games": {"guess": "alpha:Guess"}}, GUESS)
    load_game("kuhn")
    assert "alpha" not in sys.modules
    assert solve(Nash(load_game("guess"))).value == pytest.approx(0, abs=1e-9)
    assert GAMES.package("guess") == "alpha"
    assert list(GAMES)[-1] == "guess"


FIGURE = """
from dataclasses import dataclass
from treeplex.validation.papers import CCFRFigure2a
@dataclass(frozen=True)
class Figure(CCFRFigure2a):
    name = "epsilon-figure-1"
    title = "The same again"
"""


def test_experiments_of_other_packages_are_listed(entry_points, capsys) -> None:
    entry_points("epsilon", {"treeplex.experiments": {"epsilon-figure-1": "epsilon:Figure"}}, FIGURE)
    assert main(["reproduce", "--list", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["experiments"][-1]["name"] == "epsilon-figure-1"


def test_the_library_imports_what_a_name_asks_for() -> None:
    code = (
        "import sys; from treeplex import load_game; from treeplex.models.problems import find_problem; "
        "load_game('kuhn'), find_problem('rnr'); "
        "print(sorted(name.rpartition('.')[2] for name in sys.modules if name.startswith('treeplex.models.games.')))"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['kuhn', 'registry']"


def test_two_things_may_not_have_the_name_of_the_librarys_own() -> None:
    @dataclass(frozen=True)
    class Mine(type(find_method("cfr"))):
        name = "cfr"

    with pytest.raises(UnknownMethodError, match="two methods are named 'cfr': one of treeplex"):
        register_method(Mine)


def test_of_two_packages_with_one_name_the_second_is_left_out(entry_points) -> None:
    entry_points("beta", {"treeplex.games": {"guess": "beta:Guess"}}, GUESS)
    entry_points("gamma", {"treeplex.games": {"guess": "gamma:Guess"}}, GUESS)
    expected = (
        r"the game 'guess' of the package (beta|gamma) is skipped: two games are named 'guess': one of (beta|gamma) "
        r"\((beta|gamma)\.Guess\) and one of (beta|gamma) \((beta|gamma)\.Guess\); rename one"
    )
    with pytest.warns(ExtensionWarning, match=expected):
        assert load_game("guess").name == "guess"


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ("kuhn = delta:Guess", "delta.Guess: the name is 'guess', expected the name of its entry point, 'kuhn'"),
        ("x = delta:Missing", "AttributeError: module 'delta' has no attribute 'Missing'"),
        ("x = delta:dataclass", "expected a Family, or a frozen dataclass of rules, got <function dataclass"),
    ],
)
def test_what_is_wrong_with_an_entry_point_is_said(entry_points, point: str, reason: str) -> None:
    name, _, value = point.partition(" = ")
    entry_points("delta", {"treeplex.games": {name: value}}, GUESS)
    with pytest.warns(ExtensionWarning) as caught:
        assert len(GAMES) == 19
    sys.modules.pop("delta", None)
    assert str(caught[0].message).startswith(f"the game {name!r} of the package delta is skipped: {reason}")


# Calls


NO_RULES = dataclass(type("Mine", (), {"name": "mine"}))


class Rules:
    num_players = 2

    def initial_state(self):
        return 0

    def player(self, state):
        return TERMINAL if state else 0

    def actions(self, state):
        return "ab"

    def child(self, state, action):
        return 1

    def infoset(self, state):
        return "start"

    def payoffs(self, state):
        return 0, 0


def game(**attributes):
    return dataclass(frozen=True)(type("Mine", (Rules,), {"name": "mine", "__annotations__": {}, **attributes}))


def method(**attributes):
    told = {"name": "mine", "serves": frozenset({Feature.PROGRAM}), "backend": "json", **attributes}
    told = {name: value for name, value in told.items() if value is not ...}
    return dataclass(frozen=True)(type("Mine", (Method,), {"__annotations__": {}, **told}))


def problem(**attributes):
    told = {"name": "mine", "saddle": None, "__annotations__": {}, **attributes}
    told = {name: value for name, value in told.items() if value is not ...}
    return dataclass(frozen=True, eq=False)(type("Mine", (SaddleProblem,), told))


@pytest.mark.parametrize(
    ("register", "thing", "message"),
    [
        (register_game, game(name=None), "Mine has no attribute name; expected the name of the game"),
        (register_game, game(name=3), "Mine: name is 3, expected the name of the game on the command line"),
        (register_game, game(name="a:b"), "the name is 'a:b', expected letters, digits"),
        (register_game, Rules, "expected a Family, or a frozen dataclass of rules, got <class"),
        (register_game, NO_RULES, "Mine does not define the rules of a game: it has no"),
        (register_game, game(name="kuhn"), r"'kuhn': one of treeplex \(treeplex.models.games.kuhn.Kuhn\) and one"),
        (register_method, "mine", "expected a dataclass that is a subclass of Method, got 'mine'"),
        (register_method, Rules, "Rules is not a Method; expected a dataclass that is a subclass of Method"),
        (register_method, type("Mine", (Method,), {}), r"Mine is not a dataclass; expected @dataclass\(frozen=True\)"),
        (register_method, method(name=...), "Mine has no attribute name; expected its name for --method"),
        (register_method, method(serves=...), "Mine has no attribute serves; expected the features that it supports"),
        (register_method, method(serves={"program"}), "serves is {'program'}, expected the features that it supports"),
        (register_method, method(backend=...), "Mine has no attribute backend; expected a method backend"),
        (register_method, method(name="cfr"), "two methods are named 'cfr': one of treeplex"),
        (register_method, method(__annotations__={"step": float}), "Mine: the hyper-parameter step has no default"),
        (register_problem, problem(name=...), "Mine has no attribute name; expected the name for --problem"),
        (register_problem, problem(saddle=...), "Mine has no method saddle; expected one as described in Problem"),
        (register_problem, Nash(load_game("rps")), "expected a dataclass that is a subclass of Problem, got Nash"),
        (register_problem, problem(__annotations__={"game": object, "far": int}), "Mine: the field far has no default"),
    ],
)  # fmt: skip
def test_registering_says_what_is_missing(register, thing, message: str) -> None:
    with pytest.raises(TreeplexError, match=message) as caught:
        register(thing)
    assert "\n" not in str(caught.value)


@dataclass(frozen=True, eq=False)
class Weighed(SaddleProblem):
    game: Game
    p: Confidence = field(kw_only=True)
    margin: Annotated[float | Fraction | None, About("payoff that is given up", above=0)] = None
    name = "weighed"

    def saddle(self, exact: bool = False) -> Saddle:
        raise NotImplementedError


def test_numbers_of_problems_are_checked_by_their_declarations() -> None:
    rps = load_game("rps")
    assert [Weighed(rps, p=given).p for given in ("1/3", 0.5, 1)] == [Fraction(1, 3), 0.5, 1]
    assert Weighed(rps, p=0, margin=Fraction(1, 2)).margin == Fraction(1, 2)
    for given in (-0.1, "2", None, True):
        with pytest.raises(InvalidGameError, match=r"^weighed: p is .*, expected a number from 0 to 1$"):
            Weighed(rps, p=given)
    with pytest.raises(InvalidGameError, match=r"^weighed: margin is 0, expected a number above 0$"):
        Weighed(rps, p=1, margin=0)


def test_a_method_that_is_not_registered_is_checked_when_it_is_used() -> None:
    with pytest.raises(UnknownMethodError, match="Mine has no attribute serves"):
        solve(Nash(load_game("rps")), method(serves=...)())


def test_what_is_defined_anew_replaces_its_former_self(entry_points) -> None:
    first, second = game(), game()
    assert register_game(first) is first
    assert register_game(second) is second
    assert type(load_game("mine").rules) is second
    family = Family(second, summary="in a family")
    assert register_game(family) is family
    assert GAMES["mine"].summary == "in a family"
    GAMES.remove("mine")
    with pytest.raises(TreeplexError, match="unknown game 'mine'"):
        load_game("mine")


def test_a_preset_of_a_method_has_its_own_name(entry_points) -> None:
    @register_method
    @dataclass(frozen=True)
    class Named(Method):
        size: int = field(default=1)
        serves = frozenset({Feature.PROGRAM})

        @property
        def name(self):
            return "named" if self.size == 1 else f"named-{self.size}"

        def backend(self, problem, options):
            plans = solve(problem).profile.plans
            return Outcome(plans, Status.OPTIMAL, "borrowed", 1, 0.0, 0.0)

    register_method(partial(Named, size=2))
    assert solve(Nash(load_game("kuhn")), "named-2").method == Named(size=2)
    assert METHODS["highs-pdlp"].keywords == {"algorithm": "pdlp"}
    assert METHODS["highs"] is HiGHS


def test_commands_take_every_method_that_serves_them(entry_points, capsys) -> None:
    @dataclass(frozen=True)
    class Simplex(HiGHS):
        name = "my-simplex"

    @dataclass(frozen=True)
    class Walks(OutcomeSamplingMCCFR):
        name = "my-walks"

    for each in (Simplex, Walks):
        register_method(each)
    try:
        style = ["style", "kuhn", "--target", "b@first >= 0.4"]
        assert main([*style, "--method", "my-simplex"]) == 0
        assert main(["sample", "kuhn", "--method", "my-walks", "--max-iterations", "5"]) == 0
        capsys.readouterr()
        assert main([*style, "--method", "my-walks"]) == 2
        assert "--method my-walks is not for style; expected one of highs, " in capsys.readouterr().err
        assert main(["sample", "kuhn", "--method", "my-simplex", "--max-iterations", "5"]) == 2
        assert "expected one of es-mccfr, os-mccfr, es-pref-cfr, es-ccfr, os-ccfr, my-walks" in capsys.readouterr().err
    finally:
        for name in ("my-simplex", "my-walks"):
            METHODS.remove(name)


def test_a_chance_node_without_its_method_is_refused() -> None:
    rules = game(player=lambda self, state: -1)()
    with pytest.raises(InvalidGameError, match="has a chance node but no method chance_outcomes; expected that method"):
        treeplex.Game("mine", rules=rules).sequence_form  # noqa: B018
