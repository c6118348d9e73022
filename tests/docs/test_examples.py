"""The examples run, and what the README shows is true."""

import contextlib
import io
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from effort import PATIENCE, few, thorough
from regret_in_numpy import RULES

from treeplex import families, load_game
from treeplex.cli.application import COMMANDS

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
GAMES = (REPOSITORY / "docs" / "reference" / "games.md").read_text(encoding="utf-8")
PAGES = sorted((REPOSITORY / "docs" / "reference" / "games").glob("*.md"))


def run_example(name: str, *arguments: str) -> str:
    command = [sys.executable, "-P", str(REPOSITORY / "examples" / name), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


#: To which the tests hold the compiled loops.
REFERENCE = "regret_in_numpy.py"


def test_every_example_is_short_and_tested() -> None:
    examples = sorted((REPOSITORY / "examples").glob("*.py"))
    names = [
        "convergence.py",
        "own_game.py",
        "preflop_equities.py",
        "regret_in_numpy.py",
        "three_handed_equities.py",
        "town.py",
    ]
    assert [example.name for example in examples] == names
    for example in examples:
        lines = len(example.read_text(encoding="utf-8").splitlines())
        assert lines <= (180 if example.name == REFERENCE else 60), example.name


def test_the_reference_prints_a_line_for_each_rule() -> None:
    printed = run_example(REFERENCE)
    assert [line.split()[0] for line in printed.splitlines()] == list(RULES)
    page = (REPOSITORY / "docs" / "theory" / "regret-minimisation.md").read_text(encoding="utf-8")
    assert "".join(printed.splitlines(keepends=True)[:4]) in page


@pytest.mark.parametrize("name", ["convergence.svg", pytest.param("convergence.png", marks=thorough)])
def test_convergence_draws_the_four_methods(name: str, tmp_path: Path) -> None:
    printed = run_example("convergence.py", "--game", "kuhn", "--iterations", "50", "--out", str(tmp_path / name))
    assert [line.split()[0] for line in printed.splitlines()] == ["cfr", "cfr+", "dcfr", "pcfr+"]
    assert (tmp_path / name).stat().st_size > 10_000


def test_every_line_of_the_picture_is_named() -> None:
    picture = (REPOSITORY / "docs" / "images" / "convergence.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in picture for name in ("CFR", "CFR+", "DCFR", "PCFR+", "1/√t", "1/t"))


@few
@pytest.mark.parametrize("method", ["highs", "pcfr+"])
def test_own_game_bluffs_one_queen_in_three(method: str) -> None:
    printed = run_example("own_game.py", "--method", method)
    value = re.search(r"^value +(\S+) to player 0$", printed, re.MULTILINE)
    queen = re.search(r"^queen +1\.000 +(\S+) +(\S+)$", printed, re.MULTILINE)
    assert value is not None
    assert queen is not None
    assert float(value[1]) == pytest.approx(1 / 3, abs=1e-3)
    assert float(queen[2]) == pytest.approx(1 / 3, abs=0.02)


def test_the_table_of_commands_is_complete() -> None:
    page = (REPOSITORY / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `treeplex ([a-z]+(?: [a-z]+)?)", page, re.MULTILINE)
    assert listed == list(COMMANDS)


def rows_of(text: str) -> dict[str, str]:
    """Read the lines ``name  content`` of a printed solution."""
    return dict(re.split(r"  +|: ", line, maxsplit=1) for line in text.strip().splitlines())  # type: ignore[misc]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]


def test_readme_shows_what_its_example_prints() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert found is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(found[1], {})
    shown, true = rows_of(found[2]), rows_of(printed.getvalue())
    assert list(shown) == list(true)
    assert {name: shown[name] for name in ("problem", "method", "status")} == {
        name: true[name] for name in ("problem", "method", "status")
    }
    # Digits of an iterative method differ between machines; seconds always do.
    assert numbers(shown["value"]) == pytest.approx(numbers(true["value"]), abs=1e-3)
    assert numbers(shown["proven bounds"]) == pytest.approx(numbers(true["proven bounds"]), abs=1e-3)
    assert max(numbers(shown["exploitability"]) + numbers(true["exploitability"])) <= 1e-3
    assert int(shown["iterations"]) == pytest.approx(int(true["iterations"]), rel=0.5)
    assert shown["exact value"] == true["exact value"]


def table_rows(page: str) -> list[list[str]]:
    """Read the rows of the table of values: a game in backticks, its value, then sizes."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")
    ]
    return [row for row in rows if len(row) >= 5 and row[2][0].isdigit()]


def sizes_of(players: list[int]) -> str:
    """Write a size of each player as the tables do: once, if all have the same."""
    return ", ".join(f"{size:,}" for size in (players if len(set(players)) > 1 else players[:1]))


@few
@pytest.mark.parametrize(
    ("spec", "value", "sizes"),
    [
        pytest.param(
            row[0].strip("`"),
            row[1],
            row[2:],
            id=f"{page}-{row[0].strip('`')}",
            marks=thorough if "three_handed" in row[0] else (),  # large; the command info counts a small one by default
        )
        for page, text in (("README", README), ("games", GAMES))
        for row in table_rows(text)
        if row[0] != "`goofspiel:cards=6`"  # seconds
    ],
)
def test_tables_of_games_are_true(spec: str, value: str, sizes: list[str]) -> None:
    game = load_game(spec)
    form = game.sequence_form
    assert game.spec == spec
    if value == "–":
        assert game.reference_value is None
    else:
        assert game.reference_value is not None
        assert float(Fraction(value.replace("−", "-"))) == float(game.reference_value)
    assert sizes[0] == sizes_of([treeplex.num_sequences for treeplex in form.treeplexes])
    assert sizes[1] == sizes_of([treeplex.num_infosets for treeplex in form.treeplexes])
    assert sizes[2] == ("–" if form.num_leaves is None else f"{form.num_leaves:,}")
    if sizes[3:]:
        # A flow has no histories, and so neither leaves nor public states.
        assert sizes[3] == ("–" if form.num_leaves is None else str(game.public_tree.num_levels))


@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        pytest.param(row[0].strip("`"), row[1:], id=row[0].strip("`"))
        for page in PAGES
        for row in table_rows(page.read_text(encoding="utf-8"))
        if row[0].strip("`").partition(":")[0] == page.stem and len(row[3]) < len("100,000")  # larger take seconds
    ],
)
def test_sizes_on_the_pages_of_games_are_true(spec: str, sizes: list[str]) -> None:
    game = load_game(spec)
    form = game.sequence_form
    assert game.spec == spec
    found = [
        sizes_of([treeplex.num_sequences for treeplex in form.treeplexes]),
        sizes_of([treeplex.num_infosets for treeplex in form.treeplexes]),
    ]
    if form.num_leaves is None or form.num_nodes is None:
        assert sizes == [*found, "–", "–", "–", "–"]
    else:
        public = game.public_tree
        assert sizes == [
            *found,
            *(f"{size:,}" for size in (form.num_leaves, form.num_nodes, public.num_states, public.num_levels)),
        ]


def test_every_family_has_a_page_and_a_row() -> None:
    names = {family.name for family in families()}
    assert {page.stem for page in PAGES} == names | {"patrol"}  # which is of a map, and not known by name
    assert {row[0].strip("`").partition(":")[0] for row in table_rows(GAMES)} == names


def test_an_example_without_its_extra_says_what_to_install() -> None:
    blocked = "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None; import runpy; "
    command = blocked + f"runpy.run_path({str(REPOSITORY / 'examples' / 'convergence.py')!r}, run_name='__main__')"
    ran = subprocess.run([sys.executable, "-P", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == 'this example draws with matplotlib: pip install "treeplex[plot]"\n'
