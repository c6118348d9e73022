"""How much memory building a game takes, and how much it may take; how many threads may solve it.

Rules that know their size are refused before they are walked if the estimate exceeds the budget. Any walk is watched as
well, so that games of unknown size, endless ones among them, stop in time. The budget is half of the memory that is
available, unless ``TREEPLEX_MEMORY`` or the argument ``memory`` sets another.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn

from .errors import GameTooLargeError, UnknownMethodError, shown
from .limits import check_time, now
from .rules import GameSize, size_of

#: The environment variable that sets the memory for building a game.
ENVIRONMENT_VARIABLE = "TREEPLEX_MEMORY"
#: The part of the available memory that building a game may take by default; a solver needs memory too.
SHARE = 0.5
#: This environment variable says how many threads work at most; by default as many as there are cores to run on, and
#: one in a process that another one has started to share its work.
THREADS_VARIABLE = "TREEPLEX_THREADS"


def memory_budget(memory: int | str | None = None) -> int:
    """Return how many bytes building a game may take.

    Parameters
    ----------
    memory : int or str, optional
        Bytes, or text such as ``"8GB"``. By default the environment variable ``TREEPLEX_MEMORY``, and without it half
        of what is available.

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
    """Return how many cores the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads() -> int:
    """Return how many threads may work at once.

    Raises
    ------
    UnknownMethodError
        If the environment variable is not a whole number of at least 1.
    """
    asked = os.environ.get(THREADS_VARIABLE, "").strip()
    if asked and not (asked.isascii() and asked.isdigit() and int(asked) > 0):
        raise UnknownMethodError(f"{THREADS_VARIABLE} is {shown(asked, 40)}, expected a whole number of at least 1")
    import multiprocessing

    shares = multiprocessing.parent_process() is not None
    return min(int(asked or (1 if shares else available_cores())), available_cores())


def resident_memory() -> Callable[[], int]:
    """Return a function that tells how many bytes of memory the process takes now."""
    import psutil

    process = psutil.Process()
    return lambda: int(process.memory_info().rss)


# Bytes at the peak of building, by which a process grows (CPython 3.11, numpy 2.4, scipy 1.17, Linux), on Kuhn poker of
# 400 cards and of 3 to 6 players, Leduc poker of 13 ranks, of 4 suits, of 10 raises and of 3 and 4 players, liar's dice
# of 6 sides and of 3 and 4 players, goofspiel of 6 cards, repeated rock-paper-scissors of 6 rounds and the histories of
# transit. Formulas are within 20 % there, from some 5 MB on: below, pages of the allocator count as much.

#: A leaf of two players: 34 in the leaf table, and 29 more while the payoff matrix is made of it.
_MATRIX_LEAF = 64
#: A leaf of other games: chance, a sequence and a payoff a player, 1/16 for arrays that grow, and checks.
_LEAF, _LEAF_PLAYER = 11, 13
#: An infoset: its label, its entry in a dictionary and then in a treeplex.
_INFOSET = 280
#: A sequence: labels of actions, a row of the constraint matrix.
_SEQUENCE = 25
#: More of a leaf that keeps fractions.
_EXACT_LEAF, _EXACT_LEAF_PLAYER = 40, 75
#: A node of a networkx tree, with its attributes and its edge, the sequence form included.
TREE_NODE = 1150
#: A history at which an observer's class is entered: in arrays that grow, and sorted; and a class with its labels. On
#: Kuhn poker of 5 players, Leduc poker of 3 and 5 ranks, liar's dice, goofspiel and repeated rock-paper-scissors these
#: are within 25 %.
_ENTRY, _ENTRY_PLAYER, _CLASS = 40, 8, 400
#: A history that waits to be visited, its state apart.
_WAITING = 200

#: What 32-bit indices can number.
_LARGEST = 2**31 - 1
#: Building less than this is not worth a look at how much there is.
_NEGLIGIBLE = 4_000_000
#: Histories before the first measurement, before the second, and between later ones at most; one takes 20 to 80 µs.
_FIRST, _SECOND, _INTERVAL = 2**13, 2**8, 2**16
#: What a slow walk has taken is measured this often; so many histories at most are met between two looks at the clock.
_SECONDS, _LARGEST_STRIDE = 0.05, 2**9
#: So many actions of one history need no look either.
_MANY = 10_000
#: How long a history may become without any leaf beside it. Endless ones need not take memory.
_LONGEST = 1_000_000

_ADVICE = f"choose smaller parameters, or allow more memory by {ENVIRONMENT_VARIABLE} or --memory"


def sequence_form_bytes(size: GameSize, exact: bool = False) -> int:
    """Estimate the peak of building a sequence form and, for two players, its payoff matrix.

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
    """Estimate the peak of building a networkx tree and its sequence form, in bytes.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform import tree_bytes
    >>> tree_bytes(load_game("leduc").rules.size()) > 10**6
    True
    """
    return TREE_NODE * size.nodes


def view_bytes(players: int, entries: int, classes: int) -> int:
    """Estimate the peak of finding what an observer sees, in bytes.

    Parameters
    ----------
    players : int
    entries : int
        Histories at which classes are entered, leaves among them.
    classes : int
    """
    return (_ENTRY + _ENTRY_PLAYER * players) * entries + _CLASS * classes


@dataclass(frozen=True)
class FormSize:
    """How large a game's sequence form is, found without building it.

    Parameters
    ----------
    sequences, infosets : tuple of int
        Of each player, the empty sequence included.
    bytes : int
        The peak of building it.
    nodes, leaves : int, optional
        Histories, where the game has a list of them.
    single_parent : bool, optional
        Whether one sequence leads to each infoset, where that is known.
    is_quick : bool
        Whether it is built in about a second; of games with histories their number says that.
    names_functionals : bool
        Whether the functionals that the game names are made without building it, in a moment.
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
    """How much building one game may take.

    Parameters
    ----------
    memory : int or str, optional
        As :func:`~treeplex.seqform.budget.memory_budget` takes it.

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
        """Bytes; what is available is looked up when it is first asked for."""
        if self._limit is None:
            from .memory import available_memory

            self._limit = int(available_memory() * SHARE)
        return self._limit

    def left(self, used: int) -> int:
        """Return how many bytes are left of the budget; negative if more has been used."""
        if self._limit is None and used <= _NEGLIGIBLE:
            return _NEGLIGIBLE
        return self.limit - used

    def require(self, needed: int, what: str, instead: str = "") -> None:
        """Refuse what would take more than the budget.

        Parameters
        ----------
        needed : int
            Bytes.
        what : str
            What would take them, to begin the message with.
        instead : str
            What else may be done, to begin the advice with.

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
        """Refuse rules that say that their game is too large.

        Parameters
        ----------
        rules : Rules
        exact : bool
            Whether fractions are kept.
        tree : bool
            Whether it is a networkx tree that is built.

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
            f"the game has {counted(size.nodes)} histories, with more leaves or sequences than indices of 32 bits "
            f"number, {_LARGEST:,}; choose smaller parameters"
        )


_reports: ContextVar[Callable[[int], None] | None] = ContextVar("reports", default=None)


@contextlib.contextmanager
def counting(report: Callable[[int], None]) -> Iterator[None]:
    """Let a function be told, every now and then, how many histories a walk over a game has met.

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
    """Tell whoever is :func:`counting` that so many histories have been met; give up if the time is over."""
    check_time(f"the game was built, after {histories:,} histories")
    report = _reports.get()
    if report is not None:
        report(histories)


class Watch:
    """Looks now and then at what a walk over a game has taken so far.

    What it has taken is the larger of two figures: the growth of the process, which sees states and labels of any size,
    and an estimate by counts, which sees what is still to be built of them.

    Parameters
    ----------
    budget : Budget
    taken : callable
        Estimates in bytes what is built of the histories met so far.
    """

    def __init__(self, budget: Budget, taken: Callable[[], int]) -> None:
        self._budget = budget
        self._taken = taken
        self._resident: Callable[[], int] | None = None
        self._before = 0  # what the process took at the first measurement
        self._used = 0
        self._seen = 0  # histories met by the last measurement, those that wait to be visited included
        self._interval = _SECOND // 16
        self._planned = _FIRST  # how many histories to meet before the next measurement
        self._glanced = now()
        self._due = self._glanced + _SECONDS  # when to measure however few histories have been met
        self._stride = 1
        self._leaves = 0
        self._at_leaf = 0  # histories before the last leaf
        #: How many histories may be met before :meth:`look` is to be called again.
        self.next = 1

    def look(self, histories: int, waiting: int, leaves: int, sequences: Sequence[int] = ()) -> None:
        """Measure what has been taken, if many histories have been met since the last time, or those took long.

        Parameters
        ----------
        histories : int
            Met so far, leaves included.
        waiting : int
            Histories that are still to be visited.
        leaves : int
        sequences : sequence of int
            One number a player.

        Raises
        ------
        GameTooLargeError
            If the budget is used up, a 32-bit index does not suffice, or a history does not end.
        """
        if leaves > self._leaves:
            self._leaves, self._at_leaf = leaves, histories
        elif histories - self._at_leaf > _LONGEST:  # without a leaf on the way, a depth-first walk only goes down
            self._stop(histories, f"has a history of more than {_LONGEST:,} moves: every one must end")
        tell(histories)
        seen, at = histories + waiting, now()
        quick, self._glanced = at - self._glanced < _SECONDS / 5, at
        self._stride = min(_LARGEST_STRIDE, 2 * self._stride) if quick else max(1, self._stride // 2)
        if seen >= self._planned or at >= self._due:
            if max(leaves, *sequences, 0) > _LARGEST:
                self._stop(
                    histories,
                    f"has more leaves or sequences than indices of 32 bits number, {_LARGEST:,}; choose smaller "
                    "parameters",
                )
            self._measure(seen, histories, self._taken() + waiting * _WAITING)
        self.next = min(seen + self._stride, self._planned)

    def held(self, items: Any, histories: int) -> Any:
        """Return a history's actions or outcomes, if there is memory for so many; what has no length becomes a list.

        A tuple or a list is in memory already.

        Raises
        ------
        GameTooLargeError
            If there are too many, or no end of them.
        TypeError
            If it is nothing to be iterated over.
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

            self._stop(
                histories, f"has taken {in_words(used)} of a budget of {in_words(self._budget.limit)}; {_ADVICE}"
            )
        # Sixteen times as many histories as before, but not so many that they might take a quarter of what is left.
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
