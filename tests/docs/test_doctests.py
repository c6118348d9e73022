"""The examples in docstrings, in the README and in the documentation run and print what they show."""

import ast
import contextlib
import doctest
import importlib.util
import inspect
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from effort import either, thorough
from near_numbers import is_marked, is_near
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

import treeplex
from treeplex.cli import main

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PACKAGE = Path(treeplex.__file__).parent
REPOSITORY = Path(__file__).parents[2]


def module_names() -> list[str]:
    """Name every module of the package from its files, without importing any."""
    files = [PACKAGE / "__init__.py", PACKAGE / "__main__.py"]
    for folder in ("seqform", "models", "solvers", "validation", "cli"):
        files += sorted((PACKAGE / folder).rglob("*.py"))
    parts = [file.relative_to(PACKAGE).with_suffix("").parts for file in files]
    return [".".join(("treeplex", *part)).removesuffix(".__init__") for part in parts]


def modules_by_package() -> dict[str, list[str]]:
    """Gather the modules that lie in one folder, by the name of its package."""
    packages: dict[str, list[str]] = {}
    for name in module_names():
        file = PACKAGE.joinpath(*name.split(".")[1:])
        packages.setdefault(name if file.is_dir() else name.rpartition(".")[0], []).append(name)
    return packages


@pytest.mark.parametrize("names", modules_by_package().values(), ids=modules_by_package())
def test_docstrings(names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = []
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        module = importlib.import_module(name)
        # Optional libraries that its examples need.
        if all(importlib.util.find_spec(needed) for needed in getattr(module, "__doctest_requires__", ())):
            results = doctest.testmod(module, optionflags=FLAGS)
            if results.failed:
                failures.append(
                    f"{name}: {results.failed} of {results.attempted} examples failed; see the output above"
                )
    assert not failures, "examples failed; see the output above:\n" + "\n".join(failures)


def test_docstrings_hold_no_bars_that_the_documentation_would_replace() -> None:
    """``|x|`` stands for something else in reStructuredText, and the build of the pages fails."""
    wrong = []
    bars = re.compile(r"(?<![\w|])\|(?=\S)[^|\n]*\S?\|(?![\w|])")
    for name in module_names():
        source = inspect.getsource(importlib.import_module(name))
        for node in ast.walk(ast.parse(source)) if bars.search(source) else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = re.sub(r"``.*?``|>>> .*|^\s*\.\.\. .*", "", ast.get_docstring(node) or "")
                if bars.search(text):
                    wrong.append(f"{name}: {getattr(node, 'name', 'module')}")
    assert not wrong, "\n".join(wrong)


def text_of(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode("utf-8")


#: Commands that take as long as many pages do; ``tests/validation`` runs what they run, in small.
WHOLE_SUITES = ("treeplex validate",)
#: Pages whose snippets solve larger games, in seconds each.
LONG_PAGES = (
    "docs/gallery.md",
    "docs/how-to/files-and-pictures.md",
    "docs/how-to/games-too-large-to-enumerate.md",
    "docs/how-to/make-a-bot-in-a-style.md",
    "docs/how-to/plan-for-uncertain-payoffs.md",
    "docs/how-to/put-a-risk-limit-on-a-strategy.md",
    "docs/theory/responses.md",
    "docs/theory/sensitivity.md",
)


def run_console(example: Example) -> str | None:
    """Run the commands ``$ treeplex …`` of a block and compare what they print with what is shown, if anything is.

    They run in this process; ``tests/cli`` has what takes one of its own. Other commands (``$ pip install …``) are not
    run, and a block without prompts is left alone.
    """
    commands: list[tuple[str, list[str]]] = []
    for line in example.parsed.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands:
            commands[-1][1].append(line)
    for command, shown in commands:
        if not command.startswith("treeplex ") or command in either(WHOLE_SUITES, ()):
            continue
        printed, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            status = main(shlex.split(command, comments=True)[1:])
        want, got, said = "\n".join(shown).strip(), text_of(printed), text_of(errors)
        if status not in {0, 1} or (status == 1 and not want):
            return f"{command}: exit status {status}\n{got}{said}"
        if want and not doctest.OutputChecker().check_output(want + "\n", got.strip() + "\n", FLAGS):
            return f"{command}: expected\n{want}\nbut it printed\n{got}{said}"
    return None


def write_file(example: Example) -> None:
    """Write a block whose first line is a comment with a file's name, ``# spot.toml`` or ``# bot.py``, to that file."""
    name = re.match(r"# ([\w-]+\.(?:toml|py))\n", example.parsed)
    if name is not None:
        Path(name[1]).write_text(example.parsed, encoding="utf-8")


def pages() -> list[Path]:
    """List the README and the pages of the documentation."""
    docs = REPOSITORY / "docs"
    found = [REPOSITORY / "README.md", *sorted(docs.rglob("*.md"))]
    return [page for page in found if page.exists() and not page.is_relative_to(docs / "_build")]


SNIPPETS = Sybil(
    parsers=[
        SkipParser(),  # <!--- skip: next --> before a block leaves it out
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="toml", evaluator=write_file),
        CodeBlockParser(language="py", evaluator=write_file),
    ]
)


def cases() -> list[Any]:
    """List the pages by their paths; long ones run under the profile "thorough" alone."""
    named = {page.relative_to(REPOSITORY).as_posix(): page for page in pages()}
    return [pytest.param(page, id=path, marks=[thorough] if path in LONG_PAGES else []) for path, page in named.items()]


@pytest.mark.parametrize("page", cases())
def test_snippets(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of pytest-xdist set it
    text, strictly = page.read_text(encoding="utf-8"), doctest.OutputChecker.check_output
    for example in SNIPPETS.parse(page).examples():

        def checked(
            checker: doctest.OutputChecker, want: str, got: str, flags: int, near: bool = is_marked(text, example.line)
        ) -> bool:
            return strictly(checker, want, got, flags) or (near and is_near(want.strip(), got.strip()))

        with monkeypatch.context() as patched:
            patched.setattr(doctest.OutputChecker, "check_output", checked)
            example.evaluate()


def test_near_numbers_have_the_same_words_and_close_numbers() -> None:
    shown = "value       0.3125 to player 0\nproven gap  0.001\nseconds     0.1 solving\n...\nend"
    assert is_near(shown, "value 0.31 to player 0\nproven gap 0.0014\nseconds 7.5 solving\nanything\nend")
    assert not is_near(shown, "value 0.42 to player 0\nproven gap 0.001\nseconds 0.1 solving\nx\nend")
    assert not is_near(shown, "worth 0.3125 to player 0\nproven gap 0.001\nseconds 0.1 solving\nx\nend")
    page = "a\n\n<!-- digits differ -->\n\n```console\n$ treeplex\n```\n\n```console\n$ treeplex\n```\n"
    assert [is_marked(page, line) for line in (6, 10)] == [True, False]


def texts(picture: Path) -> list[str]:
    """List the texts in a picture, whose curves may differ in their last digits between machines."""
    return re.findall(r"<!-- (.*?) -->", picture.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_pictures_of_the_gallery_are_those_that_its_code_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = REPOSITORY / "docs" / "gallery.md"
    for example in SNIPPETS.parse(page).examples():
        example.evaluate()
    drawn = sorted(tmp_path.glob("*.svg"))
    shown = re.findall(r"\(images/(\w+\.svg)\)", page.read_text(encoding="utf-8"))
    assert len(drawn) >= 6
    assert {picture.name for picture in drawn} <= set(shown)
    stale = [
        picture.name for picture in drawn if texts(picture) != texts(REPOSITORY / "docs" / "images" / picture.name)
    ]
    assert stale == []
