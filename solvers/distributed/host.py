"""The worker's side: a host holds parts, executes orders, and replies with checksums."""

import hashlib
import os
import platform
import socket
import struct
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...seqform.budget import THREADS_VARIABLE
from ...seqform.errors import CheckpointError, one_line, shown
from ...seqform.interchange.files import read_archive, reason_of, refusing_damaged, write_archive
from ...seqform.limits import now

#: The state of a part, by name.
Saved = Mapping[str, NDArray[Any]]


class Part(Protocol):
    """A piece of state that lives in one process.

    Its calls must be deterministic: a part that is built again, restored and called with the same arguments is in the
    same state, bit for bit.
    """

    def call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Execute a call, which may change the state.

        Parameters
        ----------
        name : str
        arguments : tuple
            Nested tuples, lists and dicts of arrays and numbers. The part must not modify them.

        Returns
        -------
        object
            Of the same types; all floating-point numbers are finite.
        """

    def saved(self) -> Saved:
        """Return the state as arrays of numbers; the library writes them before the next call."""

    def restore(self, saved: Saved) -> None:
        """Continue from a saved state, whose arrays are read-only."""


@dataclass(frozen=True)
class Order:
    """One thing that a host does with a part.

    Parameters
    ----------
    kind : {"build", "restore", "call", "replay", "save", "sees", "describe", "echo"}
        A replay is a call whose result is not returned.
    part : int
    name : str
        The name of a call.
    content : object
        The maker, the saved state or the path of its file, the arguments, or the path to save to.
    """

    kind: str
    part: int = -1
    name: str = ""
    content: Any = None


@dataclass(frozen=True)
class Reply:
    """The result of an order.

    Parameters
    ----------
    value : object
    digest : bytes
        The checksum of the value, computed where the value was; see :func:`digest`.
    seconds : float
    failure : str
        The exception of an order that failed, on one line.
    trace : str
        Its traceback.
    """

    value: Any = None
    digest: bytes = b""
    seconds: float = 0.0
    failure: str = ""
    trace: str = ""


class Host:
    """The parts of one process."""

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}

    def serve(self, orders: Sequence[Order]) -> list[Reply]:
        """Execute orders in turn; after a failure, the later orders for the same part fail with it."""
        replies: list[Reply] = []
        failed: dict[int, Reply] = {}
        for order in orders:
            reply = failed.get(order.part) or self._executed(order)
            if reply.failure:
                failed[order.part] = reply
                self._parts.pop(order.part, None)
            replies.append(reply)
        return replies

    def _executed(self, order: Order) -> Reply:
        begun = now()
        try:
            value = self._execute(order)
            seconds, sum_of_value = now() - begun, digest(value)
        except Exception as error:
            failure = one_line(f"{type(error).__name__}: {error}", 500)
            return Reply(seconds=now() - begun, failure=failure, trace=traceback.format_exc())
        return Reply(None if order.kind == "replay" else value, sum_of_value, seconds)

    def _execute(self, order: Order) -> Any:
        match order.kind:
            case "build":
                self._parts.pop(order.part, None)  # frees its memory first
                self._parts[order.part] = order.content()
            case "restore":
                self._parts[order.part].restore(read_saved(*order.content))
            case "save":
                saved = {name: np.asarray(array) for name, array in self._parts[order.part].saved().items()}
                if order.content is None:
                    return saved
                try:
                    write_archive(order.content, {}, saved, packed=False)
                except OSError as error:  # no fault of the part
                    return reason_of(error)
                return digest(saved)
            case "call" | "replay":
                return self._parts[order.part].call(order.name, order.content)
            case "sees":
                return Path(order.content).is_file()
            case "describe":
                return describe()
            case "echo":
                return order.content
            case _:
                raise ValueError(f"unknown order {shown(order.kind, 40)}")
        return None


def read_saved(source: Saved | str, checksum: bytes) -> Saved:
    """Return a saved state, from its file if it is in one.

    Raises
    ------
    CheckpointError
        If it cannot be read, or its checksum is another.
    """
    if isinstance(source, str):
        with refusing_damaged(source, "checkpoint", CheckpointError):
            source = read_archive(source)[1]
    if digest(dict(source)) != checksum:
        raise CheckpointError("the checkpoint of a part has another checksum than when it was saved")
    return source


class WorkerHost(Host):
    """The host of a process that was started for parts alone: each worker uses one core."""

    def __init__(self) -> None:
        os.environ.setdefault(THREADS_VARIABLE, "1")
        super().__init__()


def describe() -> dict[str, Any]:
    """Return the versions, the memory and the name of this process."""
    import psutil

    from ... import __version__

    memory = psutil.virtual_memory()
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "treeplex": __version__,
        "memory": int(memory.total),
        "available": int(memory.available),
    }


# Checksums


def digest(value: Any) -> bytes:
    """Return a checksum of a nested value, over the raw bytes of its numbers.

    Parameters
    ----------
    value : object
        Nested tuples, lists and dicts of arrays, numbers, strings, bytes and ``None``.

    Raises
    ------
    TypeError
        If the value contains something else.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.distributed.host import digest
    >>> digest((np.zeros(2), 1)) == digest((np.zeros(2), 1)), digest(0.0) == digest(-0.0)
    (True, False)
    """
    found = hashlib.blake2b(digest_size=16)
    for piece in _pieces(value):
        found.update(piece)
    return found.digest()


def _pieces(value: Any) -> Iterator[Any]:
    """Yield the bytes of a nested value; each piece begins with its type and length, so that no two values agree."""
    match value:
        case np.ndarray() | np.generic():
            array = np.ascontiguousarray(value)
            if array.dtype.hasobject:
                raise TypeError("an array of Python objects, expected an array of numbers")
            yield f"array {array.dtype.descr} {np.shape(value)} ".encode()
            yield array.reshape(-1).view(np.uint8)
        case bool() | int() | None:
            yield f"{value} ".encode()
        case float():
            yield b"float " + struct.pack("<d", value)
        case str() | bytes():
            content = value.encode() if isinstance(value, str) else value
            yield f"{type(value).__name__} {len(content)} ".encode()
            yield content
        case tuple() | list():
            yield f"{type(value).__name__} {len(value)} ".encode()
            for each in value:
                yield from _pieces(each)
        case Mapping():
            yield f"dict {len(value)} ".encode()
            for key, each in value.items():
                yield from _pieces(key)
                yield from _pieces(each)
        case _:
            raise TypeError(f"a {type(value).__name__}, expected nested tuples, lists and dicts of arrays and numbers")


def leaves(value: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a nested value."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from leaves(each)
    else:
        yield value


def is_finite(value: Any) -> bool:
    """Return whether a nested value contains neither NaN nor an infinity."""
    return all(
        bool(np.isfinite(each).all())
        for each in leaves(value)
        if isinstance(each, float) or (isinstance(each, np.ndarray | np.generic) and each.dtype.kind in "fc")
    )


def size_of(value: Any) -> int:
    """Return the bytes of the numbers of a nested value."""
    return sum(getattr(each, "nbytes", 8) for each in leaves(value))


#: A function that builds a part.
Maker = Callable[[], Part]
