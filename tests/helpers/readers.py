"""Everything that reads a file or a text of somebody else's, in one table; how such a thing is damaged; and a watch.

To add a reader, add an entry to :data:`READERS` and a folder of its name to ``tests/corpus``: each file there is one
file that it reads; each line of a file there, if what it reads are texts. What is in files whose names begin with
``refused`` it refuses.
"""

import gzip
import io
import os
import sys
import sysconfig
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import numpy as np

import treeplex
from treeplex import Profile, load_game, read_play_log
from treeplex.models.constraints import parse_constraint, parse_term
from treeplex.models.depth_limited import LeafStates
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.patrol import PatrolGame, PatrolPlan, RoadMap, read_map
from treeplex.models.games.patrol.patrol_files import declared_patrol
from treeplex.models.matches import HandHistories
from treeplex.models.matches.json_lines import read_action
from treeplex.models.opponents import Threshold
from treeplex.models.preferences import preference_on
from treeplex.models.problems import find_problem
from treeplex.seqform.budget import memory_budget
from treeplex.seqform.interchange.toml_table import read_toml
from treeplex.seqform.observer import observer_tree
from treeplex.seqform.strategy import Strategy
from treeplex.solvers import StreamedMCCFR, StreamedProfile
from treeplex.solvers.checkpoint import contents
from treeplex.solvers.depth_limited.learned_values import load_value
from treeplex.solvers.matches.bots import declared_bot
from treeplex.solvers.methods import find_method
from treeplex.solvers.opponents.strategies import opponent_strategy
from treeplex.validation.questions import Question
from treeplex.validation.sweep_settings import read_settings
from treeplex.validation.sweeps import read_results

CORPUS = Path(__file__).parents[1] / "corpus"
KUHN = load_game("kuhn")
VIEW = observer_tree(KUHN, 0)


def read_game(source: Any) -> Any:
    """Read a game, and what is computed of every game."""
    game = load_game(str(source))
    return game.sequence_form, game.fingerprint


def read_log(path: Path) -> Any:
    """Read a log with bad lines skipped; what is said without skipping is one line too."""
    found = read_play_log(path, KUHN, 0, view=VIEW, skip_bad=True)
    return found if found.bad else read_play_log(path, KUHN, 0, view=VIEW)


def read_hands(path: Path) -> Any:
    """Read hands and what they paid, bad ones skipped; what is said without skipping is one line too."""
    histories = HandHistories(path, skip_bad=True)
    found = [hand.won for hand in histories]
    return found if histories.bad else list(HandHistories(path))


def read_value(path: Path) -> Any:
    """Read a value function and ask it for values."""
    value, border = load_value(path, KUHN), LeafStates.of(KUHN, KUHN.public_tree.levels <= 1)
    return value.query(border, tuple(np.full(ways, 1.0 / ways) for ways in border.num_ways))


def read_solved(path: Path) -> Any:
    """Read a solved spot, and a few of its nodes: numbers stay in the file until then."""
    solved = SolvedSpot.load(path)
    return [node.to_dict() for node in (solved.at(), *map(solved.at, solved.at().actions))]


def read_declared(path: Path) -> Any:
    """Read a patrol on a map that is known, and its limits."""
    roads = RoadMap.from_graph(nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank")]))
    game = PatrolGame(declared_patrol(read_toml(path), roads))
    return game.sequence_form, game.constraints


def read_roads(path: Path) -> Any:
    """Read a map, and how long its edges take."""
    return RoadMap.from_graph(read_map(path)).durations()


Parts = list[tuple[str, bytes]]


@dataclass(frozen=True)
class Container:
    """A file that holds others, which are damaged one by one."""

    unpack: Callable[[bytes], Parts]
    pack: Callable[[Parts], bytes]


def _unzip(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(member.filename, archive.read(member)) for member in archive.infolist()]


def _zip(parts: Parts) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore", UserWarning)  # of names that are there twice
        for name, part in parts:
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
    return content.getvalue()


ZIP = Container(_unzip, _zip)
GZIP = Container(
    lambda content: [("", gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)],
    lambda parts: gzip.compress(b"".join(part for _, part in parts), 1, mtime=0),
)


@dataclass(frozen=True)
class Reader:
    """What reads a file, or a text.

    Parameters
    ----------
    read : callable
        Takes a path, or the text.
    suffix : str
        Of its files; a text has none.
    container : Container, optional
        If its files hold others.
    """

    read: Callable[[Any], Any]
    suffix: str = ""
    container: Container | None = None


READERS = {
    "efg": Reader(read_game, ".efg"),
    "graphml": Reader(read_game, ".graphml"),
    "json": Reader(read_game, ".json"),
    "npz": Reader(read_game, ".npz", ZIP),
    "strategy": Reader(lambda path: Strategy.load(path, KUHN, 0), ".npz", ZIP),
    "strategies": Reader(lambda path: Strategy.load(path, KUHN, 0), ".txt"),
    "profile": Reader(lambda path: Profile.load(path, KUHN), ".npz", ZIP),
    "value": Reader(read_value, ".npz", ZIP),
    "solved": Reader(read_solved, ".npz", ZIP),
    "plan": Reader(PatrolPlan.load, ".npz", ZIP),
    "run": Reader(lambda path: StreamedMCCFR.load(path, KUHN), ".npz", ZIP),
    "checkpoint": Reader(contents, ".npz", ZIP),
    "streamed": Reader(StreamedProfile.load, ".jsonl"),
    "spot": Reader(lambda path: HoldemSpot.from_file(path).size, ".toml"),
    "patrol": Reader(read_declared, ".toml"),
    "map_graphml": Reader(read_roads, ".graphml"),
    "map_json": Reader(read_roads, ".json"),
    "map_geojson": Reader(read_roads, ".geojson"),
    "map_csv": Reader(read_roads, ".csv"),
    "settings": Reader(read_settings, ".toml"),
    "threshold": Reader(Threshold.from_file, ".toml"),
    "bot_file": Reader(lambda path: declared_bot(str(path)), ".toml"),
    "results": Reader(read_results, ".jsonl"),
    "log": Reader(read_log, ".jsonl", GZIP),
    "phh": Reader(read_hands, ".phhs", GZIP),
    "game": Reader(read_game),
    "method": Reader(find_method),
    "opponent": Reader(lambda text: opponent_strategy(text, KUHN, 1)),
    "constraint": Reader(lambda text: parse_constraint(text, KUHN)),
    "term": Reader(lambda text: parse_term(text, KUHN)),
    "preference": Reader(lambda text: preference_on(KUHN, text)),
    "problem": Reader(lambda text: (find_problem(text.partition(":")[0]), Question(text).pose(KUHN))),
    "memory": Reader(memory_budget),
    "bot": Reader(read_action),
}


@cache
def seeds(name: str) -> list[tuple[str, bytes]]:
    """Return the corpus of a reader: names and contents."""
    found = []
    for path in sorted((CORPUS / name).iterdir()):
        if READERS[name].suffix:
            found.append((path.name, path.read_bytes()))
        else:
            lines = path.read_bytes().splitlines()
            found += [(f"{path.stem}: {line.decode(errors='replace')}", line) for line in lines]
    return found


# Damage

#: What is put in places where it may hurt.
ODD = [
    *(b"1e999", b"-1e-999999999", b"9" * 5000, b"1/0", b"1/" + b"3" * 400, b"-0.0", b"NaN", b"Infinity", b"0x1p-1074"),
    *(b"-1", b"0", b"2147483648", b"18446744073709551616", b"1_0", "²".encode(), "٣".encode(), b"true", b"null", b"{}"),
    *(b"[]", b'""', b'"', b"'", b"\\", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", "\u202e\u2028".encode(), b"\r", b"\n"),
    *(b"<", b"&", b"&a;", b"<![CDATA[", b'<!DOCTYPE a [<!ENTITY a "&a;&a;">]>', b"json:", b"json:[1,[2]]", b"../../"),
    *(
        b'{"set":[1,1.0]}',
        b'{"int":"0xff"}',
        b'{"fraction":"1/0"}',
        b'{"decimal":"1e9999"}',
        b"__import__('os')",
        b"%s",
    ),
    *(b"(", b")", b"*", b"+", b",", b":", b"=", b"@all", b"@first", b"/", b" as ", b"PK\x03\x04", b"\x1f\x8b\x08\x00"),
]
#: Brackets of things that are nested, and of those that never end.
NESTED = [(b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"<a>", b"</a>"), (b"", b"0"), (b"", b" ")]
#: Shapes that arrays claim to have.
SHAPES = [
    "()",
    "(0,)",
    "(400000000, 0)",
    "(1000000000000000000, 0)",
    "(-1,)",
    "(1, 1, 1)",
    "(13,)",
    "(True,)",
    "('a',)",
]
LONGEST = 2**20


def _changed(content: bytes, kind: int, first: int, second: int, other: bytes) -> bytes:
    """Return a file with one change of a kind, at a place and of a length."""
    start = first % (len(content) + 1)
    length = second % 40
    if kind == 0 and start < len(content):
        return content[:start] + bytes([content[start] ^ (1 << second % 8)]) + content[start + 1 :]
    if kind == 1:
        return content[:start] + content[start + length :]
    if kind == 2:
        return content[:start] + content[start : start + length] * (2 + second % 1000) + content[start + length :]
    if kind == 3:
        return content[:start] + other[second % (len(other) + 1) :][: second % 400] + content[start + length :]
    if kind == 4:
        return content[:start]
    if kind == 5:
        before, after = NESTED[first % len(NESTED)]
        depth = 1 + second % 20_000
        return content[:start] + before * depth + content[start : start + length] + after * depth + content[start:]
    if kind == 6:  # a number gives way to an odd text
        digits = [place for place, byte in enumerate(content) if 48 <= byte < 58]
        if digits:
            start = digits[first % len(digits)]
            return content[:start] + ODD[second % len(ODD)] + content[start + 1 :]
    if kind == 7:
        return content[:start] + ODD[second % len(ODD)] + content[start + second % 3 :]
    if kind == 8:  # a digit gives way to another
        digits = [place for place, byte in enumerate(content) if 48 <= byte < 58]
        start = digits[first % len(digits)] if digits else start
        return content[:start] + b"%d" % (second % 10) + content[start + bool(digits) :]
    lines = content.split(b"\n" if b"\n" in content else b" ")  # one is left out, doubled, or stands elsewhere
    line = lines.pop(first % len(lines))
    for _ in range(second % 3):
        lines.insert(second % (len(lines) + 1), line)
    return (b"\n" if b"\n" in content else b" ").join(lines)


_KINDS = [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 8, 9, 9, 9]


def damaged(name: str, source: Random) -> bytes:
    """Return a damaged file or text of a reader's corpus."""
    container, corpus = READERS[name].container, [content for _, content in seeds(name)]
    sound = [content for seed, content in seeds(name) if not seed.startswith("refused")]
    content, other = source.choice(sound if source.random() < 0.9 else corpus), source.choice(corpus)
    if container is None or source.random() < 0.3:
        return _damaged(content, source, other)
    try:
        parts = container.unpack(content)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError):  # it is damaged already
        return _damaged(content, source, other)
    kind, place = source.randrange(6), source.randrange(len(parts))
    part_name, part = parts[place]
    if kind == 0 and len(parts) > 1:
        parts.pop(place)
    elif kind == 1 and len(parts) > 1:
        parts[place] = (part_name, parts[place - 1][1])
    elif kind == 2:
        parts.append((source.choice(["", "x", "../x", "/x", "metadata"]) + part_name, part))
    elif kind == 3 and part.startswith(b"\x93NUMPY"):
        parts[place] = (part_name, _reshaped(part, source.choice(SHAPES)))
    else:
        parts[place] = (part_name, _damaged(part, source, other))
    return container.pack(parts)


def _damaged(content: bytes, source: Random, other: bytes) -> bytes:
    for _ in range(source.randint(1, 3)):
        kind, first, second = source.choice(_KINDS), source.randrange(2**16), source.randrange(2**16)
        content = _changed(content, kind, first, second, other)[:LONGEST]
    return content


def _reshaped(part: bytes, shape: str) -> bytes:
    """Return an array in numpy's format whose header claims another shape."""
    start = 10
    stop = start + int.from_bytes(part[8:10], "little")
    header = part[start:stop].decode("latin-1")
    before, _, after = header.partition("'shape': ")
    lied = f"{before}'shape': {shape}{after[after.index(')') + 1 :]}".encode("latin-1")
    return part[:8] + len(lied).to_bytes(2, "little") + lied + part[stop:]


# What reading must not do

#: Nothing that is read may do these.
FORBIDDEN = (
    *("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove"),
    *("os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "os.putenv"),
    *("shutil.", "pickle.find_class", "urllib.", "http.", "ftplib.", "smtplib."),
)
_OWN = tuple(
    str(Path(path).resolve())
    for path in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), treeplex.__path__[0], "/proc", "/sys")
)


class Watch:
    """Notes what a reader does that it must not, by Python's audit events; there is one in a process."""

    def __init__(self) -> None:
        self.active = False
        self.readable: Path | None = None
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    @contextmanager
    def on(self, readable: Path | None) -> Iterator[None]:
        """Listen while a reader is at work, which may open one file, or for texts that name files none but to read."""
        self.readable, self.seen, self.active = readable, [], True
        try:
            yield
        finally:
            self.active = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int) or path is None:
                return
            writing = bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or set(str(mode or "")) & set("wax+")
            where = os.path.realpath(os.fsdecode(path))
            own = where.startswith(_OWN) or self.readable is None or where == str(self.readable)
            if writing or not own:
                self.seen.append(f"open {where} {mode}")
        elif event == "exec":  # a module that is loaded late, and classes that the standard library makes
            code = arguments[0]
            if not str(Path(code.co_filename).resolve()).startswith(_OWN) and code.co_filename[:1] != "<":
                self.seen.append(f"exec {code.co_filename}")
        elif event.startswith(FORBIDDEN):
            self.seen.append(event)


WATCH = Watch()
