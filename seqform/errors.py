"""The exceptions of the library: every one is a :class:`TreeplexError`.

Each message states in one line what is wrong and where, the value received and the values expected.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class TreeplexError(Exception):
    """Base class of every error that the library raises on purpose.

    Examples
    --------
    >>> from treeplex import TreeplexError, load_game
    >>> try:
    ...     load_game("kuhn", cards=1)
    ... except TreeplexError as error:
    ...     print(error)
    kuhn: cards = 1; expected an integer from 2 to 1000
    """


class InvalidGameError(TreeplexError, ValueError):
    """A game whose tree, rules, matrices or parameters break a rule of extensive-form games.

    Examples
    --------
    >>> from treeplex import load_game
    >>> load_game("kuhn", cards=1)
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.InvalidGameError: kuhn: cards = 1; expected an integer from 2 to 1000
    """


class ImperfectRecallError(InvalidGameError):
    """An information set whose histories differ in their player's own past.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import GameTree
    >>> graph = nx.DiGraph()
    >>> graph.add_node("root", player=0, infoset="A")
    >>> for action in "lr":
    ...     graph.add_node(action, player=0, infoset="B")
    ...     graph.add_edge("root", action, action=action)
    ...     for second in "lr":
    ...         graph.add_node(action + second, payoffs=(1, -1))
    ...         graph.add_edge(action, action + second, action=second)
    >>> GameTree(graph)
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.ImperfectRecallError: infoset 'B' of player 0 has imperfect recall: history ...
    """


class GameTooLargeError(TreeplexError, MemoryError):
    """A game that exceeds the memory budget or the range of 32-bit indices.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solve(Nash(load_game("goofspiel:cards=9")))
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.GameTooLargeError: goofspiel:cards=9: the game has 246,274,396,579 ...
    """


class InvalidMemoryError(TreeplexError, ValueError):
    """An amount of memory that cannot be read.

    Examples
    --------
    >>> from treeplex.seqform import memory_budget
    >>> memory_budget("plenty")
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.InvalidMemoryError: memory = 'plenty'; expected bytes, or an amount such as ...
    """


class GameFileError(InvalidGameError):
    """A game file that cannot be read.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    line, column : int, optional
        Where in the file, counted from one.

    Examples
    --------
    >>> from treeplex.seqform.interchange import parse_efg
    >>> parse_efg('EFG 2 R "no players" {')
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.GameFileError: line 1, column 23: expected a player's name in quotes, ...
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}" + ("" if column is None else f", column {column}")
        super().__init__(f"{where}: {message}" if where else message)
        self.line = line
        self.column = column


class InvalidStrategyError(TreeplexError, ValueError):
    """Something that is not a strategy, or a strategy of another game or player.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> Strategy(load_game("kuhn"), 0, [1, 2, 3])
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.InvalidStrategyError: the behaviour strategy has shape (3,), expected ...
    """


class InvalidConstraintError(TreeplexError, ValueError):
    """A constraint that cannot be read, or that no solver supports.

    Examples
    --------
    >>> from treeplex import load_game, parse_constraint
    >>> parse_constraint("0/J_:b around 1/2", load_game("kuhn"))
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.InvalidConstraintError: constraint '0/J_:b around 1/2', column 8: received ...
    """


class InvalidPreferenceError(TreeplexError, ValueError):
    """A preference for actions that cannot be read, or that matches nothing in the game.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.preferences import parse_preference
    >>> parse_preference("0/fly@first:lots", load_game("kuhn"))
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.InvalidPreferenceError: preference '0/fly@first:lots', column 13: received ...
    """


class PlayLogError(TreeplexError, ValueError):
    """A play log that cannot be read.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    line : int, optional
        Where in the log, counted from one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex import load_game, read_play_log
    >>> text = Path("bad.jsonl").write_text("not a game")
    >>> read_play_log("bad.jsonl", load_game("kuhn"), seat=0)
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.PlayLogError: bad.jsonl: line 1: ...
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class UnknownGameError(TreeplexError, ValueError):
    """A game, or a parameter of a game, that the registry does not know.

    Examples
    --------
    >>> from treeplex import load_game
    >>> load_game("kuhnn")
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.UnknownGameError: unknown game 'kuhnn' (did you mean kuhn?); expected one ...
    """


class UnknownMethodError(TreeplexError, ValueError):
    """A method, or a hyper-parameter of a method, that the solvers do not know.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solve(Nash(load_game("kuhn")), "cfr++")
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.UnknownMethodError: unknown method 'cfr++' (did you mean cfr+?); expected ...
    """


class InvalidOptionError(UnknownMethodError):
    """A value that an option of a solve, or a hyper-parameter of a method, does not accept.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solve(Nash(load_game("kuhn")), tol=-1)
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.InvalidOptionError: tol is -1, expected a number of at least 0
    """


class UnsupportedProblemError(TreeplexError, ValueError):
    """A problem that is unknown, or that does not apply to the game or method given.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solve(Nash(load_game("kuhn:players=3")), "highs")
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.UnsupportedProblemError: method highs cannot solve nash with more than two ...
    """


class MissingExtraError(TreeplexError, ImportError):
    """A feature whose optional dependency is not installed.

    Examples
    --------
    >>> from treeplex import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Import an optional dependency in the block; raise an error that names the extra if it is not installed.

    Parameters
    ----------
    what : str
        The feature and the library that it needs, for the message.
    extra : str

    Raises
    ------
    MissingExtraError

    Examples
    --------
    >>> from treeplex.seqform.errors import needing
    >>> with needing("a crystal ball needs glass", "magic"):
    ...     import glass
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.MissingExtraError: a crystal ball needs glass: pip install 'treeplex[magic]'
    """
    try:
        yield
    except ImportError:
        raise MissingExtraError(f"{what}: pip install 'treeplex[{extra}]'") from None


class CheckpointError(TreeplexError, ValueError):
    """A checkpoint that cannot be read or written, or that belongs to another run.

    Examples
    --------
    >>> from treeplex import Checkpoint, Nash, load_game, solve
    >>> solve(Nash(load_game("kuhn")), "dcfr", checkpoint=Checkpoint("nowhere/run"))
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.CheckpointError: nowhere/run cannot be written: ...
    """


class SolverError(TreeplexError):
    """A solver that failed without an answer.

    Examples
    --------
    >>> from treeplex import EpsilonSafeResponse, SolverError, Strategy, load_game, solve
    >>> game = load_game("leduc")
    >>> try:
    ...     solution = solve(EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0), time_limit=0)
    ... except SolverError as error:
    ...     print(type(error).__name__)
    TimeLimitError
    """


class TimeLimitError(SolverError):
    """A time limit that was reached before there was any result.

    Examples
    --------
    >>> from treeplex import EpsilonSafeResponse, Strategy, load_game, solve
    >>> game = load_game("leduc")
    >>> solve(EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0), time_limit=0)
    Traceback (most recent call last):
        ...
    treeplex.seqform.errors.TimeLimitError: time limit reached: 0 s passed while the value of leduc that ...
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean …?)`` if a known name is close to the given one, ignoring case; else an empty string.

    A name is close if it is a word of the other name or vice versa, has nearly the same letters, or has its initials.

    Examples
    --------
    >>> from treeplex.seqform.errors import nearest
    >>> nearest("slove", ["games", "solve"]), nearest("mccfr", ["ccfr", "es-mccfr"])
    (' (did you mean solve?)', ' (did you mean es-mccfr?)')
    >>> nearest("kuhn_poker", ["kuhn", "leduc"]), nearest("rock_paper_scissors", ["rps"])
    (' (did you mean kuhn?)', ' (did you mean rps?)')
    """
    import difflib

    folded = {each.casefold(): each for each in known}
    wanted = name.casefold()[:100]
    words = _WORDS.findall(wanted)
    close = (
        [wanted]
        if wanted in folded
        else [each for each in folded if len(wanted) > 2 and wanted in _WORDS.findall(each)]
        or difflib.get_close_matches(wanted, folded, n=1)
        or [each for each in (*words, "".join(word[0] for word in words)) if each in folded]
    )
    return f" (did you mean {folded[close[0]]}?)" if close else ""


#: The words of a name, which hyphens, underscores and other marks separate.
_WORDS = re.compile(r"[^\W_]+")


def one_of(names: Iterable[str], most: int = 20) -> str:
    """Return names as messages list them; a long list is truncated.

    Examples
    --------
    >>> from treeplex.seqform.errors import one_of
    >>> one_of(["p", "b"]), one_of("abcdef", most=3)
    ('p or b', 'one of a, b, c, …')
    """
    *first, last = names
    if len(first) >= most:
        return f"one of {', '.join(first[:most])}, …"
    return f"{', '.join(first)} or {last}" if first else last


def shown(value: Any, limit: int = 120) -> str:
    """Return a value as messages show it: its ``repr`` on one line, truncated if it is long.

    Examples
    --------
    >>> from treeplex.seqform.errors import shown
    >>> shown("a label"), shown(range(1000), limit=9)
    ("'a label'", 'range(0,…')
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits has no repr
        text = f"a {type(value).__name__} too long to print"
    return one_line(text, limit)


def one_line(text: str, limit: int = 120) -> str:
    """Return a string on one line, with control characters escaped, truncated if it is long."""
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
