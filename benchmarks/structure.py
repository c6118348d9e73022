"""The size of the library, and the dependencies between its modules.

    python benchmarks/structure.py            counts and their limits; exit status 1 if one is exceeded
    python benchmarks/structure.py --list     also the places: circles, late imports, probes, large functions
    python benchmarks/structure.py --check    only counts that exceed their limits, with the places, for make lint

The program parses the sources as text; nothing is imported and nothing needs to be installed.
"""

import argparse
import ast
import gc
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("seqform", "models", "solvers", "validation", "cli")  # each may import the ones to its left
#: The largest number of lines of a function without its docstring, and the largest number of arguments.
LONGEST, WIDEST = 100, 12
#: The limit of each count. Code that exceeds a limit should be worth more than the code that could be removed for it.
LIMITS = {
    "code lines": 88_050,
    "modules": 589,
    "public names at the top level": 89,
    "import circles": 3,
    "import circles while loading": 0,
    "import circles with the imports for type checkers": 3,
    "  files in the largest": 2,
    "imports from a floor above": 0,
    "functions too long or with too many arguments": 0,
}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Import:
    """An import of one library module by another; `kind` is "eager", "late" (inside a function) or "types"."""

    source: str
    line: int
    target: str
    kind: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


@dataclass(frozen=True)
class Module:
    """One source file: its path below the root, its nodes with the kind of imports there, and its lines of code."""

    path: str
    nodes: list[tuple[ast.AST, str]]
    code_lines: int
    stub: ast.Module | None  # of a package whose names are imported when they are first used

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0] or "."

    @property
    def floor(self) -> str:
        return self.path.split("/")[0]


def read_modules() -> dict[str, Module]:
    """Read every module of the library; return the modules by path."""
    files = [*ROOT.glob("*.py"), *(file for floor in FLOORS for file in (ROOT / floor).rglob("*.py"))]
    modules = {}
    for file in sorted(files):
        path = file.relative_to(ROOT).as_posix()
        source = file.read_text(encoding="utf-8")
        nodes = list(walk(ast.parse(source)))
        stub = file.with_suffix(".pyi")
        lazy = ast.parse(stub.read_text(encoding="utf-8")) if stub.exists() else None
        modules[path] = Module(path, nodes, count_code_lines(source, nodes), lazy)
    return modules


def count_code_lines(source: str, nodes: list[tuple[ast.AST, str]]) -> int:
    """Count the lines that are not only docstring, comment or blank."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node, _ in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def public_names(modules: dict[str, Module]) -> list[str]:
    """List the names that the top level exports, which its stub imports."""
    stub = modules["__init__.py"].stub
    if stub is None:
        raise ValueError("found no __init__.pyi at the top level")
    return [name.asname or name.name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names]


def walk(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield a file's nodes, each with the kind of an import at that node."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "eager")]
    while waiting:
        node, kind = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            kind = "late"
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            kind = "types"
        yield node, kind
        if not isinstance(node, ast.Name | ast.Constant):  # most nodes are of these types, which have no children
            waiting += [(child, kind) for child in ast.iter_child_nodes(node)]


def imports(module: Module, modules: dict[str, Module]) -> Iterator[Import]:
    """Yield the relative imports of a module; a package stands for its `__init__.py`."""
    package = module.path.split("/")[:-1]
    for node, kind in module.nodes:
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        targets = {
            target_of(base, name.name, modules)
            for name in node.names
            if name.name != "__version__"  # the root is always imported, and defines nothing else
        }
        for target in sorted(filter(None, targets - {module.path})):
            yield Import(module.path, node.lineno, target, kind)


def target_of(base: list[str], name: str, modules: dict[str, Module]) -> str | None:
    """Return the file that ``from base import name`` loads: a module of that name, or the file that defines it."""
    target = file_of([*base, name], modules) or file_of(base, modules)
    stub = modules[target].stub if target else None
    for node in stub.body if stub else []:
        if isinstance(node, ast.ImportFrom) and name in [each.asname or each.name for each in node.names]:
            return file_of([*base, *(node.module or "").split(".")], modules)
    return target


def file_of(path: list[str], modules: dict[str, Module]) -> str | None:
    """Return the file of a module path, if there is one."""
    files = ("/".join(path) + ".py", "/".join([*path, "__init__.py"]))
    return next((file for file in files if file in modules), None)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module, largest first (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            start = stack.index(node)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found, key=lambda circle: (-len(circle), circle))


def circles_of(found: list[Import], *kinds: str) -> list[list[str]]:
    """Return the circles formed by imports of the given kinds."""
    graph: dict[str, set[str]] = {}
    for one in found:
        if one.kind in kinds:
            graph.setdefault(one.source, set()).add(one.target)
    return circles(graph)


def upward(found: list[Import], modules: dict[str, Module]) -> list[Import]:
    """Return the imports from a floor to a higher one; the root is above all floors."""

    def rank(path: str) -> int:
        floor = modules[path].floor
        return FLOORS.index(floor) if floor in FLOORS else len(FLOORS)

    return [one for one in found if rank(one.target) > rank(one.source)]


def probes(modules: dict[str, Module]) -> list[str]:
    """List the calls of hasattr and getattr."""
    return [
        f"{module.path}:{node.lineno} {node.func.id}"
        for module in modules.values()
        for node, _ in module.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"hasattr", "getattr"}
    ]


@dataclass(frozen=True)
class Function:
    """A function: its location, its lines without the docstring, and its arguments (``**options`` counts as one)."""

    name: str
    lines: int
    arguments: int

    def __str__(self) -> str:
        return f"{self.name}: {self.lines} lines, {self.arguments} arguments"


def functions(module: Module) -> Iterator[Function]:
    """Yield the functions and methods of a module; the lines of a nested function count for both functions."""
    for node, _ in module.nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines, first, taken = (node.end_lineno or node.lineno) - node.lineno + 1, node.body[0], node.args
        if ast.get_docstring(node, clean=False) is not None:
            lines -= (first.end_lineno or first.lineno) - first.lineno + 1
        named = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]
        count = len(named) + (taken.vararg is not None) + (taken.kwarg is not None)
        yield Function(f"{module.path}:{node.lineno} {node.name}", lines, count)


def describe(circle: list[str]) -> str:
    return f"{len(circle)} files: {', '.join(circle)}"


def main() -> int:
    """Count, compare with the limits, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the places, not only the counts")
    parser.add_argument("--check", action="store_true", help="print only counts that exceed their limits")
    options = parser.parse_args()

    gc.disable()  # collections would traverse millions of nodes that stay alive to the end
    modules = read_modules()
    found = [one for module in modules.values() for one in imports(module, modules)]
    loading = circles_of(found, "eager")
    running = circles_of(found, "eager", "late")
    typing = circles_of(found, "eager", "late", "types")
    late = [one for one in found if one.kind == "late"]
    every = [one for module in modules.values() for one in functions(module)]
    large = [one for one in every if one.lines > LONGEST or one.arguments > WIDEST]
    where = {
        "import circles": list(map(describe, running)),
        "import circles while loading": list(map(describe, loading)),
        "import circles with the imports for type checkers": list(map(describe, typing)),
        "  files in the largest": max(typing, key=len, default=[]),
        "imports from a floor above": list(map(str, upward(found, modules))),
        "late imports of the library's own modules": list(map(str, late)),
        "calls of hasattr and getattr": probes(modules),
        "functions too long or with too many arguments": list(map(str, large)),
    }
    counts = {
        "code lines": sum(module.code_lines for module in modules.values()),
        "modules": len(modules),
        "public names at the top level": len(public_names(modules)),
        **{name: len(places) for name, places in where.items()},
    }
    exceeded = [name for name, limit in LIMITS.items() if counts[name] > limit]

    if options.check:
        for name in exceeded:
            print(
                f"{name.strip()}: {counts[name]:,}, and the limit is {LIMITS[name]:,}", *where.get(name, ()), sep="\n  "
            )
        if not exceeded:
            print(f"{len(modules):,} modules and {len(every):,} functions within the limits; imports run one way")
        return int(bool(exceeded))

    print(f"{'folder':30}{'modules':>10}{'code lines':>12}")
    for folder in sorted({module.folder for module in modules.values()}):
        inside = [module.code_lines for module in modules.values() if module.folder == folder]
        print(f"{folder:30}{len(inside):10,}{sum(inside):12,}")
    print(f"\n{'':58}{'count':>10}{'limit':>10}")
    for name, count in counts.items():
        allowed = f"{LIMITS[name]:10,}" if name in LIMITS else ""
        print(f"{name:58}{count:10,}{allowed}{'  exceeded' if name in exceeded else ''}".rstrip())
    if options.list:
        for title, places in where.items():
            print(f"\n{title.strip()}:", *(places or ["none"]), sep="\n  ")
    return int(bool(exceeded))


if __name__ == "__main__":
    sys.exit(main())
