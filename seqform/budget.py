"""Limits on the memory for building a game and on the number of threads.

Rules that state their size are rejected before the walk if the estimate exceeds the budget. Every walk is also
monitored, so that games of unknown or infinite size stop in time. The budget is half of the available memory unless
``TREEPLEX_MEMORY`` or the argument ``memory`` changes it.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn

from .errors import GameTooLargeError, InvalidOptionError, shown
from .limits import check_time, now
from .rules import GameSize, size_of

#: The environment variable that sets the memory budget for building a game.
ENVIRONMENT_VARIABLE = "TREEPLEX_MEMORY"
#: The default budget as a fraction of the available memory; a solver needs memory too.
SHARE = 0.5
#: The environment variable that sets the largest number of threads. The default is the number of available cores, or 1
#: in a process that :mod:`multiprocessing` started.
THREADS_VARIABLE = "TREEPLEX_THREADS"


def memory_budget(memory: int | str | None = None) -> int:
    """Return the memory budget for building a game, in bytes.

    Parameters
    ----------
    memory : int or str, optional
        Bytes, or a string such as ``"8GB"``. The default is the environment variable ``TREEPLEX_MEMORY``, or half of
        the available memory if it is not set.

    Returns
    -------
    int

    Raises
    ------
    InvalidMemoryError
        If `memory` or the environment variable is not an amount of memory.

    Examples
    --------
    >>> from treeplex.seqform import memory_budget
    >>> memory_budget("8GB")
    8000000000
    """
    return Budget(memory).limit


def available_cores() -> int:
    """Return the number of cores that the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads() -> int:
    """Return the largest number of threads that may run at once.

    Raises
    ------
    InvalidOptionError
        If the environment variable is not a whole number of at least 1.
    """
    asked = os.environ.get(THREADS_VARIABLE, "").strip()
    if asked and not (asked.isascii() and asked.isdigit() and int(asked) > 0):
        raise InvalidOptionError(f"{THREADS_VARIABLE} is {shown(asked, 40)}, expected a whole number of at least 1")
    import multiprocessing

    shares = multiprocessing.parent_process() is not None
    return min(int(asked or (1 if shares else available_cores())), available_cores())


def resident_memory() -> Callable[[], int]:
    """Return a function that returns the memory that the process currently uses, in bytes."""
    import psutil

    process = psutil.Process()
    return lambda: int(process.memory_info().rss)


# Peak growth of the process while building, in bytes (CPython 3.11, numpy 2.4, scipy 1.17, Linux). Measured on Kuhn
# poker with 400 cards and with 3 to 6 players, Leduc poker with 13 ranks, 4 suits, 10 raises, and 3 and 4 players,
# liar's dice with 6 sides and with 3 and 4 players, goofspiel with 6 cards, 6 rounds of repeated rock-paper-scissors,
# and the histories of transit. The formulas are within 20 % above about 5 MB; below, allocator pages dominate.

#: A leaf of a two-player game: 34 in the leaf table, and 29 more while the payoff matrix is built from it.
_MATRIX_LEAF = 64
#: A leaf of other games: chance, a sequence and a payoff per player, 1/16 for growing arrays, and checks.
_LEAF, _LEAF_PLAYER = 11, 13
#: An infoset: its label, its dictionary entry and its entry in the treeplex.
_INFOSET = 280
#: A sequence: action labels and a row of the constraint matrix.
_SEQUENCE = 25
#: Extra for a leaf that keeps fractions.
_EXACT_LEAF, _EXACT_LEAF_PLAYER = 40, 75
#: A node of a networkx tree with its attributes, its edge and its part of the sequence form.
TREE_NODE = 1150
#: A history at which an observer's class is entered (in growing arrays, then sorted), and a class with its labels.
#: Within 25 % on 5-player Kuhn poker, Leduc poker with 3 and 5 ranks, liar's dice, goofspiel and repeated
#: rock-paper-scissors.
_ENTRY, _ENTRY_PLAYER, _CLASS = 40, 8, 400
#: A history on the stack, without its state.
_WAITING = 200

#: The largest 32-bit index.
_LARGEST = 2**31 - 1
#: Below this many bytes the available memory is not measured.
_NEGLIGIBLE = 4_000_000
#: Histories before the first measurement, after it, and at most between later ones; one measurement takes 20 to 80 µs.
_FIRST, _SECOND, _INTERVAL = 2**13, 2**8, 2**16
#: Seconds between measurements of slow walks, and the largest number of histories between readings of the clock.
_SECONDS, _LARGEST_STRIDE = 0.05, 2**9
#: The largest number of actions at one history that is not checked against the budget.
_MANY = 10_000
#: The longest history without a leaf before it. Infinite histories need not use much memory.
_LONGEST = 1_000_000

_ADVICE = f"choose smaller parameters, or allow more memory with {ENVIRONMENT_VARIABLE} or --memory"


def sequence_form_bytes(size: GameSize, exact: bool = False) -> int:
    """Estimate the peak memory for building a sequence form and, for two players, its payoff matrix.

    Parameters
    ----------
    size : GameSize
    exact : bool
        Whether fractions are kept.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> from treeplex import load_game
    >>> sequence_form_bytes(load_game("goofspiel:cards=6").rules.size())
    44684510
    """
    players = len(size.sequences)
    leaf = _MATRIX_LEAF if players == 2 else _LEAF + _LEAF_PLAYER * players
    if exact:
        leaf += _EXACT_LEAF + _EXACT_LEAF_PLAYER * players
    return leaf * size.leaves + _INFOSET * sum(size.infosets) + _SEQUENCE * sum(size.sequences)


def tree_bytes(size: GameSize) -> int:
    """Estimate the peak memory for building a networkx tree and its sequence form, in bytes.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform import tree_bytes
    >>> tree_bytes(load_game("leduc").rules.size()) > 10**6
    True
    """
    return TREE_NODE * size.nodes


def view_bytes(players: int, entries: int, classes: int) -> int:
    """Estimate the peak memory for computing an observer's view of the game, in bytes.

    Parameters
    ----------
    players : int
    entries : int
        Histories at which classes are entered, including leaves.
    classes : int
    """
    return (_ENTRY + _ENTRY_PLAYER * players) * entries + _CLASS * classes


@dataclass(frozen=True)
class FormSize:
    """The size of a game's sequence form, computed without building it.

    Parameters
    ----------
    sequences, infosets : tuple of int
        Of each player, including the empty sequence.
    bytes : int
        The peak memory for building it.
    nodes, leaves : int, optional
        Numbers of histories and leaves, if the game has histories.
    single_parent : bool, optional
        Whether one sequence leads to each infoset, if that is known.
    is_quick : bool
        Whether building takes at most about a second; for a game with histories, this follows from their number.
    names_functionals : bool
        Whether the game's named functionals are available quickly, without building the game.
    """

    sequences: tuple[int, ...]
    infosets: tuple[int, ...]
    bytes: int
    nodes: int | None = None
    leaves: int | None = None
    single_parent: bool | None = None
    is_quick: bool = False
    names_functionals: bool = False


class Budget:
    """The memory budget for building a game.

    Parameters
    ----------
    memory : int or str, optional
        As for :func:`~treeplex.seqform.budget.memory_budget`.

    Raises
    ------
    InvalidMemoryError
    """

    def __init__(self, memory: int | str | None = None) -> None:
        setting = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
        self._limit: int | None = None
        if memory is not None or setting:
            from .memory import read_memory

            given = (setting, ENVIRONMENT_VARIABLE) if memory is None else (memory, "memory")
            self._limit = read_memory(*given)

    @property
    def limit(self) -> int:
        """The budget in bytes; the available memory is measured on first use."""
        if self._limit is None:
            from .memory import available_memory

            self._limit = int(available_memory() * SHARE)
        return self._limit

    def left(self, used: int) -> int:
        """Return the remaining bytes of the budget; negative if it is exceeded."""
        if self._limit is None and used <= _NEGLIGIBLE:
            return _NEGLIGIBLE
        return self.limit - used

    def require(self, needed: int, what: str, instead: str = "") -> None:
        """Raise an error if something needs more memory than the budget.

        Parameters
        ----------
        needed : int
            Bytes.
        what : str
            What needs the memory: the subject of the message.
        instead : str
            An alternative, with which the advice begins.

        Raises
        ------
        GameTooLargeError
        """
        if self.left(needed) < 0:
            from .memory import in_words

            raise GameTooLargeError(
                f"{what} would take about {in_words(needed)}, but the budget is {in_words(self.limit)}; "
                f"{instead}{_ADVICE}"
            )

    def admit(self, rules: Any, exact: bool = False, tree: bool = False) -> None:
        """Raise an error if the size that the rules report is too large for the budget.

        Parameters
        ----------
        rules : Rules
        exact : bool
            Whether fractions are kept.
        tree : bool
            Whether a networkx tree is built.

        Raises
        ------
        GameTooLargeError
        """
        size = size_of(rules)
        if size is None:
            return
        needed = tree_bytes(size) if tree else sequence_form_bytes(size, exact)
        most = max(size.leaves, *size.sequences)
        if self.left(needed) >= 0 and most <= _LARGEST:
            return
        from .memory import counted

        what = "networkx tree" if tree else "sequence form"
        self.require(needed, f"the game has {counted(size.nodes)} histories: its {what}")
        raise GameTooLargeError(
            f"the game has {counted(size.nodes)} histories, and more leaves or sequences than 32-bit indices can "
            f"number ({_LARGEST:,}); choose smaller parameters"
        )


_reports: ContextVar[Callable[[int], None] | None] = ContextVar("reports", default=None)


@contextlib.contextmanager
def counting(report: Callable[[int], None]) -> Iterator[None]:
    """Call a function now and then with the number of histories that a walk has visited.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.budget import counting
    >>> met = []
    >>> with counting(met.append):
    ...     _ = load_game("leduc").sequence_form
    >>> met == sorted(met) and len(met) > 1
    True
    """
    token = _reports.set(report)
    try:
        yield
    finally:
        _reports.reset(token)


def tell(histories: int) -> None:
    """Report the number of histories visited so far to :func:`counting`, and raise an error after the deadline."""
    check_time(f"the game was being built, after {histories:,} histories")
    report = _reports.get()
    if report is not None:
        report(histories)


class Watch:
    """Monitors a walk over a game: its memory, its deadline and the length of its histories.

    The memory used is the larger of two figures: the growth of the process, which includes states and labels of any
    size, and an estimate from counts, which includes arrays that are still to be built.

    Parameters
    ----------
    budget : Budget
    taken : callable
        Estimates the bytes needed for the sequence form of the histories met so far.
    """

    def __init__(self, budget: Budget, taken: Callable[[], int]) -> None:
        self._budget = budget
        self._taken = taken
        self._resident: Callable[[], int] | None = None
        self._before = 0  # memory of the process at the first measurement
        self._used = 0
        self._seen = 0  # histories met at the last measurement, including those on the stack
        self._interval = _SECOND // 16
        self._planned = _FIRST  # number of histories at the next measurement
        self._glanced = now()
        self._due = self._glanced + _SECONDS  # time of the next measurement, regardless of the number of histories
        self._stride = 1
        self._leaves = 0
        self._at_leaf = 0  # histories before the last leaf
        #: The number of histories at which to call :meth:`look` next.
        self.next = 1

    def look(self, histories: int, waiting: int, leaves: int, sequences: Sequence[int] = ()) -> None:
        """Check the deadline, and measure the memory after many histories or a long time.

        Parameters
        ----------
        histories : int
            Histories met so far, including leaves.
        waiting : int
            Histories on the stack.
        leaves : int
        sequences : sequence of int
            One number per player.

        Raises
        ------
        GameTooLargeError
            If the budget is used up, 32-bit indices do not suffice, or a history does not end.
        """
        if leaves > self._leaves:
            self._leaves, self._at_leaf = leaves, histories
        elif histories - self._at_leaf > _LONGEST:  # without a leaf, a depth-first walk only descends
            self._stop(histories, f"has a history of more than {_LONGEST:,} moves: every history must end")
        tell(histories)
        seen, at = histories + waiting, now()
        quick, self._glanced = at - self._glanced < _SECONDS / 5, at
        self._stride = min(_LARGEST_STRIDE, 2 * self._stride) if quick else max(1, self._stride // 2)
        if seen >= self._planned or at >= self._due:
            if max(leaves, *sequences, 0) > _LARGEST:
                self._stop(
                    histories,
                    f"has more leaves or sequences than 32-bit indices can number ({_LARGEST:,}); choose smaller "
                    "parameters",
                )
            self._measure(seen, histories, self._taken() + waiting * _WAITING)
        self.next = min(seen + self._stride, self._planned)

    def held(self, items: Any, histories: int) -> Any:
        """Return a history's actions or outcomes if they fit in memory; an iterable without length becomes a list.

        Tuples and lists are in memory already.

        Raises
        ------
        GameTooLargeError
            If there are too many, or infinitely many.
        TypeError
            If `items` is not iterable.
        """
        if items.__class__ is tuple or items.__class__ is list:
            return items
        if hasattr(items, "__len__"):
            try:
                number = len(items)
            except OverflowError:  # a range of more than 64 bits
                number = _LARGEST
            if number > _MANY and number * _WAITING > self._budget.limit:
                self._refuse_width(number, histories)
            return items
        most = self._budget.limit // _WAITING
        items = list(itertools.islice(items, most + 1))
        if len(items) > most:
            self._refuse_width(most, histories)
        return items

    def _measure(self, seen: int, histories: int, taken: int) -> None:
        if self._resident is None:
            self._resident = resident_memory()
            self._before = self._resident()
        used = max(taken, self._resident() - self._before)
        left = self._budget.left(used)
        if left < 0:
            from .memory import in_words

            self._stop(histories, f"has used {in_words(used)} of a budget of {in_words(self._budget.limit)}; {_ADVICE}")
        # Sixteen times as many histories as before, unless they might use a quarter of the remaining memory.
        rate = max(used - self._used, 1) / max(seen - self._seen, 1)
        self._interval = max(1, min(16 * self._interval, _INTERVAL, int(left / rate / 4)))
        self._seen, self._used = seen, used
        self._planned = seen + self._interval
        self._due = now() + _SECONDS

    def _refuse_width(self, number: int, histories: int) -> NoReturn:
        from .memory import in_words

        self._stop(
            histories,
            f"has a history with {number:,} actions or more, too many for a budget of {in_words(self._budget.limit)}; "
            f"{_ADVICE}",
        )

    def _stop(self, histories: int, message: str) -> NoReturn:
        raise GameTooLargeError(f"after {histories:,} histories the game is not finished and {message}")
