"""The package as users get it: what is in it, who imports whom, and how fast it starts."""

import ast
import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from effort import PATIENCE, thorough

import treeplex
from treeplex.cli.application import COMMANDS

REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("seqform", "models", "solvers", "validation", "cli")  # each may import those to its left
DISTRIBUTIONS = {"pyspiel": "open_spiel", "flint": "python-flint", "PIL": "pillow", "sklearn": "scikit-learn"}
#: The extras of users, in place of those for work on the library.
FEATURES = ("plot", "frames", "learning", "holdem", "browse", "maps", "gis", "openspiel", "gambit", "dask", "ray")
HEAVY = ("numpy", "scipy", "numba", "networkx", "cvxpy", "highspy", "pandas", "matplotlib")


def library_files() -> list[Path]:
    """List the modules of the library, relative to the repository."""
    files = [REPOSITORY / "__init__.py", REPOSITORY / "__main__.py"]
    for folder in FOLDERS:
        files += sorted((REPOSITORY / folder).rglob("*.py"))
    return [file.relative_to(REPOSITORY) for file in files]


def project() -> dict:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def run(*arguments: str) -> str:
    command = [sys.executable, "-P", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_every_folder_with_modules_is_a_listed_package() -> None:
    folders = {".".join(("treeplex", *file.parent.parts)) for file in library_files()}
    listed = project()["tool"]["setuptools"]["packages"]
    assert sorted(folders) == sorted(listed)
    missing = [file.parent for file in library_files() if not (REPOSITORY / file.parent / "__init__.py").exists()]
    assert not missing


def test_root_holds_no_other_module() -> None:
    assert {file.name for file in REPOSITORY.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_no_module_hides_the_package() -> None:
    assert not [file for file in library_files() if file.stem == "treeplex"]


@pytest.mark.slow
def test_wheel_and_sdist_hold_the_library_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source with-hyphen"
    leave_out = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "_build")
    shutil.copytree(REPOSITORY, source, ignore=leave_out)
    run("-m", "build", "--outdir", str(tmp_path), str(source))
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    version = treeplex.__version__
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    library = {file.as_posix() for file in library_files()}
    stubs = {file.relative_to(source).as_posix() for file in source.rglob("__init__.pyi")}  # without environments
    assert "__init__.pyi" in stubs
    shipped = ("seqform/interchange/page", "models/games/holdem/browser", "models/games/patrol/map")
    pages = {f"{name}.{suffix}" for name in shipped for suffix in ("css", "js")}
    pages |= {
        "models/games/holdem/flops.txt",
        "models/games/holdem/preflop_equities.npy",
        "models/games/holdem/three_handed_equities.npz",
    }
    pages |= {"models/games/patrol/town.graphml", "seqform/interchange/signatures.toml"}
    pages |= {"models/games/holdem/served.js"}
    assert names == {f"treeplex/{name}" for name in library | stubs | pages | {"py.typed"}}
    with tarfile.open(sdist) as archive:
        names = {name.removeprefix(f"treeplex-{version}/") for name in archive.getnames()}
    assert {name for name in names if name.endswith(".py")} == library
    assert stubs | pages <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "py.typed"} <= names


def licence(distribution: importlib.metadata.Distribution) -> str:
    """Return what an installed library says of its licence."""
    about = distribution.metadata
    classified = [text.rpartition(" :: ")[2] for text in about.get_all("Classifier", []) if text.startswith("License")]
    return about.get("License-Expression") or ", ".join(classified) or about.get("License") or ""


def libraries(*requirements: str) -> set[str]:
    """Return what is required, as distributions are looked up."""
    return {re.split(r"[^\w.-]", text)[0].lower().replace("_", "-") for text in requirements}


PERMISSIVE = re.compile("MIT|BSD|Apache|PSF|Python Software|ISC|Mozilla|MPL|HPND")


def test_licences_of_dependencies_are_those_that_the_page_lists() -> None:
    """And whatever they need themselves is under a permissive licence."""
    page = (REPOSITORY / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]*) \|", page, re.MULTILINE)
    listed = {name: text for key, text in rows for name in libraries(key)}
    extras = project()["project"]["optional-dependencies"]
    own = libraries(*project()["project"]["dependencies"])
    features = {extra: libraries(*extras[extra]) for extra in FEATURES}
    (everything,) = extras["all"]
    own = own.union(*(found for extra, found in features.items() if extra in everything))
    assert listed.keys() == own.union(*features.values())
    waiting, seen = set(own), set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # for another system, or of an extra that is not here
            continue
        stated = licence(distribution)
        family = PERMISSIVE.search(stated)
        assert family is not None, f"{name}: {stated}"
        assert family[0] in listed.get(name, stated), f"{name}: {stated}"
        waiting |= libraries(*(text for text in distribution.requires or [] if "extra ==" not in text)) - seen
    assert seen > own


@pytest.mark.slow
def test_a_wheel_is_the_same_wherever_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make wheel` builds it: at any time, from files of any age, in any folder."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    wheels = set()
    for number in range(2):
        source = tmp_path / f"source {number}"
        shutil.copytree(
            REPOSITORY, source, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "_build")
        )
        for file in source.rglob("*"):
            os.utime(file, (10**9 + 10**7 * number, 10**9 + 10**7 * number))
        run("-m", "build", "--wheel", "--outdir", str(tmp_path / str(number)), str(source))
        (wheel,) = (tmp_path / str(number)).glob("*.whl")
        wheels.add(wheel.read_bytes())
    assert len(wheels) == 1


@cache
def import_statements(file: Path) -> list[ast.Import | ast.ImportFrom]:
    tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def imports(file: Path) -> list[tuple[int, str]]:
    """List the modules that a module imports, relative imports resolved, each with its line."""
    here = ("treeplex", *file.parent.parts)
    found = []
    for node in import_statements(file):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        else:
            base = ".".join(here[: len(here) - node.level + 1]) + "." if node.level else ""
            if node.module:
                found.append((node.lineno, base + node.module))
            else:
                found += [(node.lineno, base + name.name) for name in node.names]
    return found


def test_imports_run_one_way() -> None:
    wrong = []
    for file in library_files():
        if len(file.parts) == 1:
            continue  # the facade sees everything
        rank = FOLDERS.index(file.parts[0])
        for line, module in imports(file):
            package, *rest = module.split(".")
            if package == "treeplex" and rest and rest[0] in FOLDERS and FOLDERS.index(rest[0]) > rank:
                wrong.append(f"{file}:{line} imports {module}, which is to its right")
    assert not wrong, "\n".join(wrong)


def test_imports_inside_the_library_are_relative() -> None:
    wrong = []
    for file in library_files():
        if str(file) == "__init__.py":  # says why it takes the full name
            continue
        for node in import_statements(file):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            wrong += [
                f"{file}:{node.lineno} imports {name}" for name in names if name.split(".")[0] in {"treeplex", *FOLDERS}
            ]
    assert not wrong, "\n".join(wrong)


def test_facade_names_import() -> None:
    shown = dir(treeplex)
    missing = [name for name in treeplex.__all__ if getattr(treeplex, name, None) is None or name not in shown]
    assert not missing


def deprecated() -> dict[str, str]:
    """Return the names that have left the top level, and where they are now."""
    tree = ast.parse((REPOSITORY / "__init__.py").read_text(encoding="utf-8"))
    (table,) = (ast.literal_eval(node) for node in ast.walk(tree) if isinstance(node, ast.Dict))
    return table


@pytest.mark.parametrize("name", deprecated())
def test_moved_name_still_works_and_warns(name: str) -> None:
    place, _, now = deprecated()[name].rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"treeplex.{name} is now {place}.{now}"):
        old = getattr(treeplex, name)
    assert old is getattr(importlib.import_module(place), now)
    assert name not in treeplex.__all__


LAZY = ("seqform", "seqform.interchange", "models.matches", "models.observations", "models.opponents", "models.play")


@pytest.mark.parametrize("package", [*LAZY, "solvers", "validation.papers"])
def test_lazy_package_has_every_name_that_its_stub_lists(package: str) -> None:
    module = importlib.import_module(f"treeplex.{package}")
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_facade_has_every_exception() -> None:
    errors = importlib.import_module("treeplex.seqform.errors")
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert defined <= set(treeplex.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'treeplex' has no attribute 'Hash'"):
        treeplex.Hash  # noqa: B018


def test_import_is_lazy() -> None:
    code = "import sys, treeplex; treeplex.__version__; print(*{name.partition('.')[0] for name in sys.modules})"
    assert not {*HEAVY, "typer", "rich"} & set(run("-c", code).split())


@thorough
def test_a_solve_can_be_read() -> None:
    """As few modules as `benchmarks/reading_path.py` allows run in a solve, and are loaded for it."""
    script = REPOSITORY / "benchmarks" / "reading_path.py"
    counted = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert counted.returncode == 0, counted.stdout + counted.stderr


def loaded_by(*arguments: str) -> list[str]:
    """List the modules that are there when a command ends."""
    code = f"import sys; from treeplex.cli import main; main({list(arguments)}); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return ran.stderr.split()


def test_help_loads_little() -> None:
    """Nothing heavy, and few modules: 350, of which 18 are the library's; typer and rich need most of the others."""
    modules = loaded_by("--help")
    loaded = {name.partition(".")[0] for name in modules}
    assert "treeplex" in loaded
    assert not {*HEAVY, "pydantic"} & loaded
    assert len(modules) <= 365
    assert sum(name.startswith("treeplex") for name in modules) <= 20


def test_help_of_a_command_loads_no_other() -> None:
    """The options of a solve follow from its problems and methods; what would check their values is not loaded."""
    modules = loaded_by("solve", "--help")
    commands = {module for module, _ in COMMANDS.values()}
    assert commands & {name.removeprefix("treeplex.cli.") for name in modules} == {"solve"}
    assert not {"pydantic", "networkx.classes", "numba", "cvxpy", "highspy", "pandas", "matplotlib"} & set(modules)


@pytest.mark.parametrize(
    "code",
    [
        "from treeplex import Nash, load_game, solve",
        "from treeplex.cli import main; assert main(['solve', 'kuhn']) == 0",
    ],
)
def test_a_small_answer_loads_little(code: str) -> None:
    """What takes a tenth of a second and more to load is loaded where something asks for it."""
    late = {"networkx.classes", "scipy.linalg", "scipy.special", "numba", "cvxpy", "pandas", "matplotlib"}
    report = f"; import sys; print(*sorted({late!r} & set(sys.modules)), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-P", "-c", code + report], capture_output=True, text=True, check=True)
    assert ran.stderr.split() == []


def test_version_is_everywhere_the_same() -> None:
    version = treeplex.__version__
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {version}" in citation.splitlines()
    assert version in run("-m", "treeplex", "--version")


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", text, maxsplit=1)[0].lower() for text in requirements}


def test_dependencies_are_what_the_library_imports() -> None:
    table = project()["project"]
    needed = distributions(table["dependencies"])
    optional = {name for extra in FEATURES for name in distributions(table["optional-dependencies"][extra])}
    imported = {module.partition(".")[0] for file in library_files() for _, module in imports(file)}
    imported -= {*sys.stdlib_module_names, "treeplex", "IPython"}  # where a notebook runs, IPython is there
    imported = {DISTRIBUTIONS.get(module, module) for module in imported}
    assert needed - imported == set(), "declared and never imported"
    assert imported - needed - optional == set(), "imported and never declared"
