"""The notebooks of the documentation run from top to bottom, and show what they say."""

import ast
import json
from pathlib import Path

import pytest
from effort import few

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def run(source, names):
    """Run a cell as a notebook does, and return what its last expression is worth."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def display(value):
    """Return what a notebook shows of a value, in the richest form that it has."""
    for form in ("_repr_html_", "_repr_svg_"):
        shown = getattr(value, form, lambda: None)()
        if shown is not None:
            return shown
    return repr(value)


@few
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    pictures = 0
    for cell in cells_of(path):
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        if "raises-exception" in cell["metadata"].get("tags", ()):
            with pytest.raises(Exception, match=r".{20}"):
                run(source, names)
            continue
        shown = display(run(source, names))
        assert len(shown) < 600_000
        pictures += "<svg" in shown
    assert pictures >= 2


def test_notebooks_are_stored_without_outputs():
    assert len(NOTEBOOKS) >= 5
    for path in NOTEBOOKS:
        for cell in cells_of(path):
            if cell["cell_type"] == "code":
                assert (cell["outputs"], cell["execution_count"]) == ([], None)
        assert cells_of(path)[0]["source"][0].startswith("# ")
