"""Boards files in ``treeplex sweep``: one spot on many boards."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..seqform.errors import nearest, shown
from ..seqform.sheet import Column, Row, Sheet, Table, chips, count, counted, error, share
from .errors import CommandLineError, print_note
from .tables import print_sheet, print_table

if TYPE_CHECKING:
    from ..models.games.holdem.board_sets import BoardSet, BoardsFile
    from ..validation.board_reports import BoardReport
    from ..validation.sweeps import Found, Sweep, SweepRow

#: The keys of the table ``[solve]``: options of ``treeplex solve``, and whether to keep the solved spots.
OPTIONS = ("tol", "method", "max_iterations", "time_limit", "at", "keep")


def names_boards(file: str) -> bool:
    """Return whether a file is a spot on many boards, rather than settings of a command."""
    from ..seqform.interchange.files import naming
    from ..seqform.interchange.toml_table import read_toml

    with naming(file):
        top = read_toml(file)
        if "board" in top and "boards" not in top and "command" not in top:
            raise top.error(
                f'it has one board: run treeplex solve {file}, or write several, as in boards = "flops:49"', "board"
            )
    return "boards" in top or ("ranges" in top and "command" not in top)


def read_boards(within: Any, file: str) -> "tuple[BoardsFile, list[dict[str, Any]]]":
    """Return a boards file, and the settings of :func:`solve_board` for its boards that the ranges can reach.

    Raises
    ------
    CommandLineError, GameFileError, InvalidGameError
        If the file or an option is wrong.
    """
    from ..models.games.holdem.board_sets import BoardsFile
    from ..models.games.holdem.places import Place
    from ..seqform.errors import InvalidGameError
    from ..seqform.public_form import is_any_card
    from .options import choose_method

    read = BoardsFile.read(file)
    for name, value in read.options.items():
        if name not in OPTIONS:
            raise CommandLineError(
                f"{file}: [solve]: unknown key {shown(name, 60)}{nearest(name, OPTIONS)}; expected one of "
                f"{', '.join(OPTIONS)}"
            )
        if name not in ("at", "keep"):
            try:
                within.check(command="solve", game=file, **{name: value})
            except CommandLineError as error:
                raise CommandLineError(f"{file}: [solve]: {error}") from None
    if "method" in read.options:
        choose_method(str(read.options["method"]), {})
    options = dict(read.options)
    keep, at = options.pop("keep", False), options.pop("at", [])
    lines = [at] if isinstance(at, str) else at
    if not isinstance(keep, bool):
        raise CommandLineError(f"{file}: [solve]: keep is {shown(keep, 60)}, expected true or false")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise CommandLineError(f'{file}: [solve]: at is {shown(at, 60)}, expected lines, such as ["check", "bet 120"]')
    settings = board_settings(read.boards, (), keep, **options)
    if not settings:
        raise CommandLineError(f"{file}: boards: none of them leaves both ranges hands that can be dealt together")
    spot = read.boards.on(settings[0]["board"])
    for line in lines:
        try:
            place = Place.at(spot, line)
        except InvalidGameError as error:
            raise CommandLineError(f"{file}: [solve]: at: {error}") from None
        if len(place.board) > len(spot.cards) or any(map(is_any_card, line.split(","))):
            raise CommandLineError(
                f"{file}: [solve]: at: {shown(line, 60)} deals a card, expected actions on one street"
            )
    return read, board_settings(read.boards, lines, keep, **options)


def board_settings(
    boards: "BoardSet", at: Sequence[str] = (), keep: bool = False, **options: Any
) -> list[dict[str, Any]]:
    """Return the settings of :func:`solve_board`, one for each board of a set that the ranges can reach.

    Parameters
    ----------
    boards : BoardSet
    at : sequence of str
        Lines on the first street.
    keep : bool
    **options
        The other arguments of :func:`solve_board`.

    Raises
    ------
    InvalidGameError
        If there is no such line.

    Examples
    --------
    >>> from treeplex.cli.boards import board_settings
    >>> from treeplex.models.games.holdem import BoardSet, HoldemSpot
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> settings = board_settings(BoardSet(spot, ["QcJc9c3d2d", "QcQdQh3d2d"]), tol="1%")
    >>> [(one["board"], one["tol"]) for one in settings]
    [('QcJc9c3d2d', '1%')]
    """
    from ..models.games.holdem.places import Place

    pairs = zip(boards.boards, boards.reach.tolist(), strict=True)
    reached = [one.board for one, weight in pairs if weight > 0.0]
    places = [Place.at(boards.on(reached[0]), line) for line in at] if reached else []
    lines = dict.fromkeys(", ".join(place.path) for place in places)
    # Without the board in the first line, and without comments, so that neither makes other results.
    text = boards.spot.to_toml().partition("\n")[2]
    shared = {"spot": text, "at": [line for line in lines if line], "keep": keep, **options}
    return [{"board": board, **shared} for board in reached]


def solve_board(
    board: str,
    spot: str,
    at: Sequence[str] = (),
    keep: bool = False,
    tol: float | str | None = None,
    method: str | None = None,
    max_iterations: int | None = None,
    time_limit: float | None = None,
) -> "Found":
    r"""Solve a spot on a board, as ``treeplex solve`` does, and return its JSON.

    Parameters
    ----------
    board : str
    spot : str
        The spot's file without its board.
    at : sequence of str
        Lines whose nodes are added under the key ``lines``.
    keep : bool
        Whether to return the file of the solved spot.
    tol, method, max_iterations, time_limit
        As the options of ``treeplex solve``.

    Raises
    ------
    TreeplexError

    Examples
    --------
    >>> from treeplex.cli.boards import solve_board
    >>> spot = 'pot = 100\nstack = 100\nranges = { oop = "AcKc, 8h7h", ip = "QdQh" }\nbets = { bet = "100%" }'
    >>> result = solve_board("QcJc9c3d2d", spot, ["all-in"]).result
    >>> [round(ev, 4) for ev in result["ev"]], round(result["lines"]["all-in"]["probability"], 4)
    ([75.0, 25.0], 0.75)
    """
    import tempfile
    from pathlib import Path

    from .. import solvers
    from ..models.games.holdem import HoldemSpot
    from ..solvers.choice import choose
    from ..validation.questions import Question
    from ..validation.sweep_settings import as_text
    from ..validation.sweeps import Found
    from . import spots
    from .options import choose_method, pot_tolerance, seconds, tolerance_of, whole

    game = HoldemSpot.from_toml(f'board = "{board}"\n{spot}').game
    posed = Question(game.default_problem).pose(game)
    posed.build()
    chosen = (
        choose(posed, iterates=max_iterations is not None, quickly=True)
        if method is None
        else choose_method(str(method), {})
    )
    given = {
        "tol": (tol, pot_tolerance),
        "max_iterations": (max_iterations, whole),
        "time_limit": (time_limit, seconds),
    }
    limits = {name: None if value is None else read(as_text(value)) for name, (value, read) in given.items()}
    solution = solvers.solve(posed, chosen, **limits | {"tol": tolerance_of(limits["tol"], game)})
    if solution.status is solvers.Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.infeasibility is not None:
        from ..seqform.errors import SolverError

        raise SolverError(solution.message)
    solved = spots.read(solution, game.spot)
    found = solution.to_dict() | spots.answer(solution, solved, ())
    found["lines"] = {line: _node(solved.at(line)) for line in at}
    del found["history"]
    if not keep:
        return Found(found)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "solved.npz"
        solved.save(file)
        return Found(found, file.read_bytes())


def _node(node: Any) -> dict[str, Any]:
    """Return the averages of a node."""
    means = node.averages
    return {
        "probability": node.probability,
        "mover": node.mover or None,
        "actions": {action: means[action] for action in node.actions},
        "ev": [means["oop ev"], means["ip ev"]],
    }


def jobs_within_budget(boards: "BoardSet", jobs: int | None) -> int:
    """Return the number of boards to solve at once: one per core, or fewer if they need more memory than the budget."""
    from ..seqform.budget import Budget, available_cores
    from ..seqform.memory import in_words

    wanted, budget = jobs or available_cores(), Budget()
    needed = max(boards.on(board).size.total_bytes for board in _largest(boards))
    fitting = max(1, budget.limit // needed)
    if fitting < wanted:
        print_note(
            f"{fitting} of {wanted} boards at once: a board takes about {in_words(needed)}, and the budget is "
            f"{in_words(budget.limit)}"
        )
    return min(wanted, fitting)


def _largest(boards: "BoardSet") -> list[str]:
    """Return one board for each kind of suits and pairing: all boards of a kind have about the same size."""
    from ..models.games.holdem.flops import Texture

    found: dict[Any, str] = {}
    for one, weight in zip(boards.boards, boards.reach.tolist(), strict=True):
        if weight > 0.0:
            texture = Texture.of(one.board, boards.spot.deck)
            found.setdefault((texture.suits, texture.pairing), one.board)
    return list(found.values())


def list_boards(read: "BoardsFile") -> None:
    """Print the boards, their weights and their textures."""
    from dataclasses import astuple

    from ..models.games.holdem.flops import TEXTURES, Texture

    boards = read.boards
    rows = [
        (one.board, one.weight, pairs, *astuple(Texture.of(one.board, boards.spot.deck)))
        for one, pairs in zip(boards.boards, boards.reach.tolist(), strict=True)
    ]
    columns = [Column("board"), Column("weight", "{:,.6g}".format), Column("reach", "{:,.6g}".format, "pairs of hands")]
    columns += [Column(name, heading=name.replace("_", " ")) for name in TEXTURES]
    number = f": {counted(len(rows), 'board')}" if isinstance(boards.written, str) else ""
    print_sheet(Sheet([Row("boards", f"{boards.name}{number}")], [Table(columns, rows)]))


def headed(row: "SweepRow") -> "SweepRow":
    """Return a board's row with a short result: its EV, the frequencies at the root, and the certificate."""
    result = row.result
    if result is None:
        return replace(row, label=row.setting["board"])
    parts = [f"EV oop {result['ev'][0]:.2f}", *(f"{name} {share(of)}" for name, of in result["root"].items())]
    if result["problem"] == "constrained":
        parts.append(f"gap {error(result['gap'])} chips")
    else:
        parts.append(f"exploitability {error(result['exploitability_percent'])}% of the pot")
    if result["status"] not in ("converged", "optimal"):
        parts.insert(0, result["status"].replace("_", " "))
    return replace(row, label=row.setting["board"], headline=", ".join(parts), longest=12)


def reported(found: "Sweep", read: "BoardsFile", shown: bool) -> "BoardReport":
    """Return the report of a sweep over boards, and print its averages."""
    from ..validation.board_reports import BoardReport

    report = BoardReport.of(found, read.boards)
    if shown and report.averages[0]["boards"]:
        columns = [
            Column("texture", lambda name: name.replace("_", " ")),
            Column("value", heading=""),
            Column("boards", count),
            Column("share", share),
        ]
        columns += [Column(f"{seat}_ev", chips, f"EV {seat}") for seat in ("oop", "ip")]
        columns += [Column("oop_equity", share, "equity oop"), *(Column(name, share, name) for name in report.actions)]
        print_table(Table.of(report.averages, columns))
    return report
