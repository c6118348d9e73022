"""Questions about a known answer: a failure never discards the answer, and is always reported."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..seqform.errors import TimeLimitError, TreeplexError
from ..seqform.limits import answering


@dataclass
class SecondQuestion:
    """A question about a known answer.

    Attributes
    ----------
    what : str
        The object of the question, such as ``the price of the locks``.
    reason : str
        Why there is no result, for the message of the answer; empty if nothing failed.
    is_late : bool
        Whether the time limit ended the computation.
    """

    what: str
    reason: str = ""
    is_late: bool = False

    def added_to(self, message: str) -> str:
        """Return the message of the answer, with the reason for a failure.

        Examples
        --------
        >>> from treeplex.solvers.second_questions import SecondQuestion
        >>> SecondQuestion("the price of the locks", "stopped at the time limit").added_to("converged")
        'converged; could not determine the price of the locks: stopped at the time limit'
        """
        return f"{message}; {self}" if self.reason else message

    def __str__(self) -> str:
        return f"could not determine {self.what}: {self.reason}"


@contextmanager
def second_question(what: str, name: str = "") -> Iterator[SecondQuestion]:
    """Ask a second question in the block: an exception ends only the block, and becomes the reason for its failure.

    Ctrl-C passes through, so catch it where the answer is known.

    Parameters
    ----------
    what : str
        The object of the question; see :class:`SecondQuestion`.
    name : str, optional
        The part to which the seconds of the block count; see :func:`~treeplex.seqform.limits.answering`.

    Examples
    --------
    >>> from treeplex.solvers.second_questions import second_question
    >>> answer = 42
    >>> with second_question("its worth") as asked:
    ...     answer = 1 // 0
    >>> print(answer, asked)
    42 could not determine its worth: unexpected ZeroDivisionError: integer division or modulo by zero
    """
    asked = SecondQuestion(what)
    try:
        if name:
            with answering(name):
                yield asked
        else:
            yield asked
    except TreeplexError as error:
        asked.reason, asked.is_late = str(error), isinstance(error, TimeLimitError)
    except MemoryError:
        asked.reason = "out of memory"
    except Exception as error:  # a bug here or in a library must not discard the known answer
        asked.reason = f"unexpected {type(error).__name__}{f': {error}' if str(error) else ''}"
