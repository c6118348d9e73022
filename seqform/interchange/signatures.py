"""Detection of other programs' files by their first bytes, and advice on what to do with them.

All readers, of games, logs, strategies, maps and spots, share one table, ``signatures.toml``. A reader calls
:func:`foreign_file` before it reports that it cannot parse a file.
"""

import codecs
import contextlib
import os
import re
import tomllib
import zlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

#: The number of bytes of a file that are compared.
_HEAD = 4096
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Signature:
    """The beginning of a kind of file.

    Parameters
    ----------
    pattern : str
        A regular expression for the first bytes, after a byte order mark and whitespace.
    kind : str
        The kind of file, with its article.
    advice : str
        What the user can do.
    """

    pattern: str
    kind: str
    advice: str

    def __str__(self) -> str:
        return f"it is {self.kind}, which cannot be read here: {self.advice}"


_READ = tomllib.loads(resources.files(__package__).joinpath("signatures.toml").read_text(encoding="utf-8"))
#: The table; the first match counts.
SIGNATURES = tuple(
    Signature(begins, kind, advice.format(**_READ["advice"])) for kind, begins, advice in _READ["signatures"]
)
_COMPILED = tuple((re.compile(each.pattern.encode("latin-1"), re.DOTALL), each) for each in SIGNATURES)


def foreign_content(content: bytes) -> Signature | None:
    """Return the kind of a file of another program, by its first bytes; ``None`` if it is not a known kind.

    Examples
    --------
    >>> from treeplex.seqform.interchange.signatures import foreign_content
    >>> print(foreign_content(b"#AGG").kind)
    an action graph game (Gambit's .agg or .bagg)
    >>> foreign_content(b'EFG 2 R "Pennies" { "Even" "Odd" }')
    """
    begins = content[:_HEAD].removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n")
    return next((each for pattern, each in _COMPILED if pattern.match(begins)), None)


def foreign_file(path: str | os.PathLike[str], unpack: bool = False) -> Signature | None:
    """Return the kind of another program's file; ``None`` if the kind is not known, or the file cannot be read.

    Parameters
    ----------
    path : path-like
    unpack : bool
        Whether to look into gzip files, for readers that unpack them.
    """
    content = b""
    with contextlib.suppress(OSError, ValueError, TypeError):
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                content = file.read(_HEAD)
    if content.startswith(_GZIP):
        inside = None
        with contextlib.suppress(zlib.error):
            inside = foreign_content(zlib.decompressobj(31).decompress(content, _HEAD))
        if inside is not None or unpack:
            return inside
    found = foreign_content(content)
    if found is None and content:
        kind = _READ["suffixes"].get(Path(path).suffix.lower())
        found = None if kind is None else Signature("", kind, _READ["advice"]["spot"])
    return found
