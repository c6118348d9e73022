"""Progress of a running solve on standard error."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..seqform.standard_error import is_terminal
from .tables import console

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..solvers.outcome import Progress


def solving(
    title: str, time_limit: float | None, *, shown: bool
) -> "contextlib.AbstractContextManager[Callable[[Progress], None] | None]":
    """Show a progress bar during a solve, and yield its callback.

    Parameters
    ----------
    title : str
    time_limit : float or None
    shown : bool
        Only shown if standard error is a terminal.
    """
    if not (shown and is_terminal(sys.stderr)):
        return contextlib.nullcontext()
    from ..solvers.progress import on_terminal

    return on_terminal(console(stderr=True), title, time_limit)


@contextlib.contextmanager
def waiting(title: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Show a spinner during work of unknown length, and yield a callback that describes the current state.

    Nothing is shown unless standard error is a terminal.
    """
    if not (shown and is_terminal(sys.stderr)):
        yield lambda standing: None
        return
    from ..solvers.progress import showing

    told = [title]
    with console(stderr=True).status(title) as status:

        def tell(standing: str) -> None:
            told[0] = f"{title}: {standing}"
            status.update(told[0])

        with showing(lambda what: status.update(f"{told[0]} ({what})" if what else told[0])):
            yield tell


@contextlib.contextmanager
def building(game: "Game", *, shown: bool = True) -> Iterator[None]:
    """Show the number of histories while a game is built, and the time left if their total is known.

    Parameters
    ----------
    game : Game
    shown : bool
        Only shown if standard error is a terminal.
    """
    if not (shown and is_terminal(sys.stderr)):
        yield
        return
    from ..seqform.budget import counting
    from ..seqform.rules import size_of
    from ..solvers.progress import bar, showing

    size = size_of(game.rules)
    total = None if size is None else size.nodes
    with bar(console(stderr=True), redirect_stdout=False, is_steady=total is not None) as display:
        task = display.add_task(f"building {game.spec}", total=total, standing="")

        def update(met: int) -> None:
            of_all = f" of {total:,}" if total else ""
            display.update(task, completed=met, standing=f"{met:,}{of_all} histories")

        with showing(lambda what: display.update(task, standing=what)), counting(update):
            yield


@contextlib.contextmanager
def filling(title: str, unit: str, *, shown: bool = True) -> "Iterator[Callable[[int, float | None], None] | None]":
    """Show a progress bar during long work; only if standard error is a terminal.

    Parameters
    ----------
    title : str
    unit : str
        The items counted, such as ``games``.
    shown : bool

    Yields
    ------
    callable or None
        Takes the number of items done, and the fraction of the total from 0 to 1, or ``None`` if unknown.
    """
    if not (shown and is_terminal(sys.stderr)):
        yield None
        return
    from ..solvers.progress import bar, showing

    with bar(console(stderr=True), redirect_stdout=False) as display:
        task = display.add_task(title, total=None, standing="")

        def update(done: int, part: float | None) -> None:
            display.update(
                task, total=None if part is None else 1.0, completed=part or 0.0, standing=f"{done:,} {unit}"
            )

        with showing(lambda what: display.update(task, standing=what)):
            yield update
