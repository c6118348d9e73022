"""``treeplex export``: writes a game, or the program that solves it, to a file for other programs."""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..models.games.files import FORMATS as GAME_FORMATS
from ..seqform import interchange
from ..seqform.errors import nearest, one_of
from ..seqform.sheet import Row, count
from .errors import CommandLineError
from .files import STANDARD_OUTPUT, check_files
from .options import GameArgument, seat
from .progress import waiting
from .tables import print_rows

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..validation.questions import Question


#: The format of animations, for strategies only.
ANIMATION = "gif"
#: The formats of pictures of strategies.
STRATEGY_FORMATS = ("svg", "png", "pdf", ANIMATION)
#: The player whose strategy is drawn from a file with both: the patroller.
_PLAYER = 1


#: The export formats of games, which are also file suffixes.
FORMATS = tuple(name for name, each in GAME_FORMATS.items() if each.writer or name in ("mps", "lp"))
#: The content of each format, for the help.
_CONTENTS = "; ".join(
    f"{one_of(names)} for {held}" for held, names in groupby(FORMATS, lambda name: GAME_FORMATS[name].holds)
)
#: The binary formats, which cannot be written to standard output.
BINARY = tuple(name for name in FORMATS if GAME_FORMATS[name].binary)
#: The formats that hold the linear program of a problem.
_PROGRAMS = tuple(name for name in FORMATS if GAME_FORMATS[name].holds == "a problem's linear program")
#: The formats for games without histories, given as matrices and flows.
_WITHOUT_TREE = ("npz", *_PROGRAMS)


def export(
    game: GameArgument,
    out: Annotated[str, typer.Option(metavar="FILE|-", help="The file to write; - writes text to standard output.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help=f"The format: {_CONTENTS}; {ANIMATION} for an animation of strategies. By default the suffix of FILE.",
        ),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="The problem whose linear program is written as mps or lp: nash by default, or another problem with "
            "its options, such as rnr:opponent=uniform,p=1/2.",
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Draw the player's position at each time under a strategy written by 'solve --out' (transit only; "
            "svg, png, pdf or gif). Repeat the option to compare strategies.",
        ),
    ] = None,
    player: Annotated[
        int | None,
        typer.Option(
            metavar="0|1", parser=seat, help="The player whose strategy is drawn; by default 1, the patroller."
        ),
    ] = None,
) -> int:
    """Write a game, its matrices, its linear program or a picture to a file.

    Other commands accept files of trees and matrices as GAME.
    """
    name = _format_name(kind, out)
    check_format(name, strategy, player)
    if strategy:
        return _draw_strategies(game, strategy, player, name, problem, out)
    if out == STANDARD_OUTPUT and name in BINARY:
        raise CommandLineError(f"--out: {name} is binary and cannot be written to standard output; give a file name")
    check_files({"GAME": game}, out=out)
    if problem is not None and name not in _PROGRAMS:
        raise CommandLineError(f"--problem is for {', '.join(_PROGRAMS)}, but the format is {name}")
    question = _question(problem or "nash") if name in _PROGRAMS else None
    from ..models.games import load_game

    loaded = load_game(game)
    if name not in _WITHOUT_TREE and loaded.rules is None:
        raise CommandLineError(
            f"{loaded.spec} has no histories to write as {name}; use one of {', '.join(_WITHOUT_TREE)}"
        )
    with waiting(f"writing {loaded.spec}", shown=out != STANDARD_OUTPUT):
        _write(lambda path: _write_game(loaded, name, question, path), name, out)
    _report(loaded, name if question is None else f"{name}, the linear program of {problem or 'nash'}", out)
    return 0


def _question(problem: str) -> "Question":
    """Parse a problem's text before the game is built, and return its question."""
    from ..seqform.errors import UnsupportedProblemError
    from ..seqform.grammar import usage
    from ..validation.questions import Question, question_parameters

    try:
        return Question(problem)
    except UnsupportedProblemError as error:
        name = problem.partition(":")[0].strip()
        needed = [each for each in question_parameters(name).values() if each.required]
        hint = f"; write --problem {usage(name, needed)}" if needed and " needs " in str(error) else ""
        raise CommandLineError(f"{error}{hint}") from None


def _write_game(game: "Game", name: str, question: "Question | None", path: Path) -> None:
    """Write a game, or the linear program of a problem on it, in a format."""
    if question is None:
        getattr(interchange, GAME_FORMATS[name].writer)(game, path)
    else:
        question.pose(game).linear_program().write(path)


def _draw_strategies(
    game: str, strategies: list[str], player: int | None, name: str, problem: str | None, out: str
) -> int:
    """Draw strategies on the grid of the transit game."""
    if problem is not None:
        raise CommandLineError("--problem cannot be combined with --strategy; leave it out")
    if out == STANDARD_OUTPUT and name != "svg":
        raise CommandLineError(f"--out: {name} is binary and cannot be written to standard output; give a file name")
    files = named_files(strategies)
    check_files({"GAME": game} | {f"--strategy {name}": path for name, path in files.items()}, out=out)
    from ..models.games import load_game
    from ..models.games.transit_occupancy import transit_rules
    from ..models.games.transit_pictures import write_occupancy
    from ..seqform.strategy import Strategy

    loaded = load_game(game)
    with waiting(f"drawing strategies of {loaded.spec}", shown=out != STANDARD_OUTPUT):
        transit_rules(loaded)
        whose = _PLAYER if player is None else player
        found = {name: Strategy.load(path, loaded, whose) for name, path in files.items()}
        unnamed = strategies == list(files.values())
        shown = next(iter(found.values())) if unnamed and len(found) == 1 else found
        _write(lambda path: write_occupancy(loaded, shown, path), name, out)
    _report(loaded, f"{name}, of {', '.join(files)}", out)
    return 0


def _report(game: "Game", what: str, out: str) -> None:
    """Report what was written and where, unless it went to standard output."""
    if out != STANDARD_OUTPUT:
        size = Row("size", Path(out).stat().st_size, count, " bytes")
        print_rows(Row("game", game.spec), Row("format", what), Row("written_to", out), size)


def _format_name(kind: str | None, out: str) -> str:
    """Return the format given by ``--format``, or else by the suffix of the file."""
    formats = [*FORMATS, ANIMATION]
    listed = ", ".join(formats)
    given = Path(out).suffix[1:]
    suffix = given.lower()
    if kind is not None and kind not in formats:
        raise CommandLineError(f"unknown format {kind!r}{nearest(kind, formats)}; expected one of {listed}")
    if kind is not None and suffix in formats and suffix != kind:
        raise CommandLineError(f"--format {kind} and --out {out} disagree; leave --format out, or name a .{kind} file")
    if kind is None and out == STANDARD_OUTPUT:
        raise CommandLineError(f"--out: standard output has no suffix, so --format is needed; expected one of {listed}")
    if kind is None and suffix not in formats:
        hint = nearest(given, formats) if given else ""
        raise CommandLineError(
            f"--out: the name {out!r} does not determine the format{hint}; give --format or a suffix, one of {listed}"
        )
    return kind or suffix


def _write(write: Callable[[Path], None], name: str, out: str) -> None:
    """Write directly to the file, or through a temporary one if its name lacks the format's suffix."""
    if Path(out).suffix.lower() == f".{name}":
        write(Path(out))
        return
    from ..seqform.interchange.files import write_bytes

    with tempfile.TemporaryDirectory() as folder:
        passing = Path(folder) / f"game.{name}"
        write(passing)
        content = passing.read_bytes()
    if out == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_bytes(out, content)


# Strategies on the grid of the transit game


def check_format(name: str, strategies: Sequence[str] | None, player: int | None) -> None:
    """Reject formats that do not apply to strategies, and options for strategies when none is given.

    Raises
    ------
    CommandLineError
    """
    if strategies:
        if name not in STRATEGY_FORMATS:
            raise CommandLineError(f"--strategy is drawn as {', '.join(STRATEGY_FORMATS)}, but the format is {name}")
    elif name == ANIMATION:
        raise CommandLineError(f"{ANIMATION} shows strategies of transit over time; --strategy FILE names one")
    elif player is not None:
        raise CommandLineError("--player chooses whose strategy is drawn; use it with --strategy")


def named_files(texts: Sequence[str]) -> dict[str, str]:
    """Read ``FILE`` and ``NAME=FILE``; a name may contain equals signs and defaults to the file's name without suffix.

    Raises
    ------
    CommandLineError
        If a name or a file is empty, or two strategies have the same name.

    Examples
    --------
    >>> from treeplex.cli.export import named_files
    >>> named_files(["free.npz", "b = 0.1=patrols/tenth.npz"])
    {'free': 'free.npz', 'b = 0.1': 'patrols/tenth.npz'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, path = ("", "", text) if os.path.lexists(text) else text.rpartition("=")
        name = name.strip() or Path(path).stem
        if not path or not name:
            raise CommandLineError(f"--strategy {text!r}: expected FILE or NAME=FILE, a strategy file (.npz)")
        if name in found:
            raise CommandLineError(f"--strategy: two strategies are called {name!r}; name them with NAME=FILE")
        found[name] = path
    return found
