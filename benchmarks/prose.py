"""Find prose that reads as a translation, in pages, docstrings and messages.

    python benchmarks/prose.py             every finding: file, line, words, and a hint
    python benchmarks/prose.py FILE …      the same for the given files
    python benchmarks/prose.py --count     the number of findings for each pattern

The exit status is 1 if there is a finding. The patterns are in `prose.toml`. The program parses the sources as text;
nothing is imported and nothing needs to be installed.
"""

import argparse
import ast
import json
import re
import sys
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("seqform", "models", "solvers", "validation", "cli")
#: Pages that a program generates; the strings in that program are checked.
GENERATED = {"docs/reference/papers.md"}
#: The smallest number of words of a string in the code that counts as prose.
FEWEST = 3

PATTERNS = [
    (re.compile(pattern, re.IGNORECASE), advice)
    for section in tomllib.loads((ROOT / "benchmarks" / "prose.toml").read_text(encoding="utf-8")).values()
    for pattern, advice in section.items()
]
CODE = re.compile(r"``.+?``|`[^`]+`|\$[^$]+\$|:math:`[^`]*`|https?://\S+")
APART = (">>>", "...", "$ ", "$$", "#", "![", "<!--", ".. ")
EXAMPLE = re.compile(r"(?m)^ *(>>>|\.\.\. ).*(\n(?! *(>>>|$)).*)*")


@dataclass(frozen=True)
class Text:
    """A paragraph on one line, with the position at which each source line begins, and the number of the first line."""

    words: str
    starts: tuple[int, ...]
    first: int

    def line_of(self, place: int) -> int:
        """Return the source line of a position in the paragraph."""
        return self.first + bisect_right(self.starts, place) - 1


def findings(text: Text, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield a line and a hint for each match of a pattern in a paragraph."""
    for pattern, advice in PATTERNS:
        for match in pattern.finditer(text.words):
            yield f"{path}:{text.line_of(match.start())}: “{match[0].strip()[:80]}”: {advice}", advice


def paragraph(lines: list[str], first: int) -> Text:
    """Join lines. Code and formulas become a single word of the same length, so that positions still match lines."""
    words, starts = "", []
    for line in lines:
        starts.append(len(words))
        words += line.strip() + " "
    return Text(CODE.sub(lambda match: "X" * len(match[0]), words.rstrip()), tuple(starts), first)


def paragraphs(source: str, first: int = 1) -> Iterator[Text]:
    """Yield the paragraphs, list items and table cells of Markdown or of a docstring, without code blocks."""
    block: list[str] = []
    begun, fence = first, ""
    for number, line in enumerate([*source.splitlines(), ""], first):
        stripped = line.strip()
        mark = re.match(r"`{3,}", stripped)
        if mark:
            fence = "" if fence and stripped == fence else fence or mark[0]
        cells = [cell for cell in stripped.strip("|").split("|") if cell.strip()] if stripped.startswith("|") else []
        apart = bool(mark or fence or cells) or not stripped or stripped.startswith(APART)
        item = re.match(r"([-*] |\d+\. )", stripped)
        if block and (apart or item):
            yield paragraph(block, begun)
            block = []
        if not fence:
            yield from (paragraph([cell], number) for cell in cells)
        if not apart:
            begun = begun if block else number
            block.append(stripped[len(item[0]) if item else 0 :])


def strings(source: str) -> Iterator[Text]:
    """Yield the docstrings and messages of a module."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    seen: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                seen.add(id(value))
                without = EXAMPLE.sub(lambda match: "\n" * match[0].count("\n"), value.value)
                yield from paragraphs(without, value.lineno)
        elif isinstance(node, ast.JoinedStr):
            seen |= {id(part) for part in ast.walk(node)} - {id(node)}
    for node in nodes:
        if id(node) in seen or not isinstance(node, ast.JoinedStr | ast.Constant):
            continue
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
        if len(text.split()) >= FEWEST and "\n\n" not in text:
            yield paragraph([text.replace("\n", " ")], node.lineno)


def texts(path: Path) -> Iterator[Text]:
    """Yield the prose of a page, a notebook or a module."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from strings(source)
    elif path.suffix == ".ipynb":
        for cell in json.loads(source)["cells"]:
            if cell["cell_type"] == "markdown":
                yield from paragraphs("".join(cell["source"]))
    else:
        yield from paragraphs(source)


def files() -> list[Path]:
    """List the pages, notebooks and modules."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("*.py"), *ROOT.glob("examples/**/*.py"), *ROOT.glob("examples/**/*.md")]
    found += [page for kind in ("md", "ipynb") for page in ROOT.glob(f"docs/**/*.{kind}")]
    found += [module for folder in FOLDERS for module in (ROOT / folder).rglob("*.py")]
    made = ("_build", "generated")
    named = {file.relative_to(ROOT).as_posix(): file for file in found if not any(part in made for part in file.parts)}
    return [file for name, file in sorted(named.items()) if name not in GENERATED]


def main() -> int:
    """Print the findings, or the number of findings of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", action="store_true", help="count the findings of each pattern")
    options = parser.parse_args()
    chosen = options.files or files()
    found = []
    for file in chosen:
        path = file.resolve()
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(file)
        found += [one for text in texts(file) for one in findings(text, name)]
    if options.count:
        for advice, count in Counter(advice for _, advice in found).most_common():
            print(f"{count:6} {advice}")
    else:
        for line, _ in found:
            print(line)
    print(f"{len(chosen):,} files, {len(found):,} findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
