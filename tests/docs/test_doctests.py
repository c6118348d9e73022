"""The examples in docstrings, in the README and in the documentation run and print what they show."""

import ast
import doctest
import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

import treeplex

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


@pytest.mark.parametrize("name", module_names())
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    for needed in getattr(module, "__doctest_requires__", ()):  # optional libraries that its examples need
        pytest.importorskip(needed)
    results = doctest.testmod(module, optionflags=FLAGS)
    assert results.failed == 0, f"{results.failed} of {results.attempted} examples failed; see the output above"


@pytest.mark.parametrize("name", module_names())
def test_docstrings_hold_no_bars_that_the_documentation_would_replace(name: str) -> None:
    """``|x|`` stands for something else in reStructuredText, and the build of the pages fails."""
    tree = ast.parse(inspect.getsource(importlib.import_module(name)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = re.sub(r"``.*?``|>>> .*|^\s*\.\.\. .*", "", ast.get_docstring(node) or "")
            assert not re.search(r"(?<![\w|])\|(?=\S)[^|\n]*\S?\|(?![\w|])", text), (
                f"{name}: {getattr(node, 'name', 'module')}"
            )


def run_console(example: Example) -> str | None:
    """Run the commands ``$ treeplex …`` of a block and compare what they print with what is shown, if anything is.

    Other commands (``$ pip install …``) are not run, and a block without prompts is left alone.
    """
    commands: list[tuple[str, list[str]]] = []
    for line in example.parsed.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands:
            commands[-1][1].append(line)
    for command, shown in commands:
        if not command.startswith("treeplex "):
            continue
        arguments = [sys.executable, "-P", "-m", *shlex.split(command, comments=True)]
        ran = subprocess.run(arguments, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
        want = "\n".join(shown).strip()
        if ran.returncode not in {0, 1} or (ran.returncode == 1 and not want):
            return f"{command}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}"
        if want and not doctest.OutputChecker().check_output(want + "\n", ran.stdout.strip() + "\n", FLAGS):
            return f"{command}: expected\n{want}\nbut it printed\n{ran.stdout}{ran.stderr}"
    return None


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
    ]
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_snippets(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for example in SNIPPETS.parse(page).examples():
        example.evaluate()
