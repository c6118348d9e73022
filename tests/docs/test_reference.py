"""Every public object has a page in the reference, in one group, and an example that shows its use."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import treeplex

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference"
GROUPS = sorted((REFERENCE / "python").glob("*.md"))
#: What :func:`inspect.getdoc` finds on them is about all numbers; the page of games says what they are.
NUMBERS = {"CHANCE", "TERMINAL"}


def pages() -> list[str]:
    """List what has a page of its own, as the tables of the reference name it."""
    tables = [
        table
        for page in [*GROUPS, REFERENCE / "exceptions.md"]
        for table in re.findall(r"autosummary::\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    ]
    return [name for table in tables for name in re.findall(r"^ +([A-Za-z][\w.]*)$", table, re.MULTILINE)]


def found(name: str) -> Any:
    module, _, last = f"treeplex.{name}".rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_group_is_listed() -> None:
    index = (REFERENCE / "python.md").read_text(encoding="utf-8")
    tree = re.findall(r"^python/([\w-]+)$", index, re.MULTILINE)
    assert sorted(tree) == [page.stem for page in GROUPS]
    assert re.findall(r"^\| \[[^]]+\]\(python/([\w-]+)\.md\)", index, re.MULTILINE) == tree


def test_every_name_of_the_top_level_has_one_page() -> None:
    listed = pages()
    twice = sorted({name for name in listed if listed.count(name) > 1})
    assert twice == []
    assert sorted(set(treeplex.__all__) - {*listed, *NUMBERS, "__version__"}) == []
    games = (REFERENCE / "python" / "games.md").read_text(encoding="utf-8")
    assert all(f"py:data:: treeplex.{name}" in games for name in NUMBERS)


@pytest.mark.parametrize("name", pages())
def test_page_has_something_to_say(name: str) -> None:
    """Classes of results are shown by the functions that return them."""
    value = found(name)
    text = inspect.getdoc(value) or ""
    assert text
    if "." not in name or inspect.isroutine(value):
        assert ">>> " in text, f"{name} has no example"
