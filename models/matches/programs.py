"""External programs that answer lines of text: started on demand, and reliably ended."""

import contextlib
import os
import queue
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from ...seqform.errors import TreeplexError, one_line, shown

#: Limits: bytes of a line, lines waiting to be read, and stored lines of standard error.
_LONGEST, _MOST, _KEPT = 2**16, 256, 5
#: Seconds that a program has to exit by itself.
_GRACE = 0.5


class ProgramError(TreeplexError):
    """Raised if a program ended, did not answer, or gave an invalid answer.

    Examples
    --------
    >>> from treeplex.models.matches.programs import Program
    >>> program = Program("no-such-program")
    >>> program.start()
    Traceback (most recent call last):
    treeplex.models.matches.programs.ProgramError: no-such-program cannot be started: No such file or directory
    """


@dataclass
class Program:
    """A program that receives lines and answers with lines.

    Parameters
    ----------
    command : str
        The program and its arguments, split as by a shell; no shell is used. ``{python}`` stands for the current Python
        interpreter. With `tcp`, ``{host}`` and ``{port}`` stand for the address to connect to; without ``{port}`` both
        are appended as the last two arguments.
    seconds : float
        Time limit for an answer.
    tcp : bool
        Whether it connects to a local socket instead of using its standard input and output.
    newline : str
        The line terminator for sending.

    Notes
    -----
    The program runs with the user's rights in its own session: Ctrl-C does not reach it, and it is killed together with
    its children. Its standard error is read, and the last lines are included in the message when it fails. Copies, such
    as those for other processes, start separate programs.
    """

    command: str
    seconds: float = 10.0
    tcp: bool = False
    newline: str = "\n"
    _live: "_Live | None" = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_live": None}

    @property
    def running(self) -> bool:
        """Whether the program has been started and has not ended."""
        return self._live is not None and self._live.process.poll() is None

    def start(self) -> None:
        """Start the program, unless it is running.

        Raises
        ------
        ProgramError
            If it cannot be started, or does not connect in time.
        """
        if self.running:
            return
        self.close()
        try:
            self._live = _Live(self.command, self.tcp, self.seconds)
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            raise ProgramError(f"{one_line(self.command, 60)} cannot be started: {reason}") from None

    def send(self, line: str) -> None:
        """Send a line if the program runs; earlier unread lines from it are dropped."""
        if self._live is None:
            return
        with contextlib.suppress(queue.Empty):
            while self._live.inbox.get_nowait() is not None:
                pass
            self._live.inbox.put(None)  # the next reader reports that it has ended
        self._live.outbox.put((line + self.newline).encode())

    def receive(self) -> str:
        """Return the program's next line without its terminator; on failure the program is ended.

        Raises
        ------
        ProgramError
            If the line does not arrive in time or is too long, or the program has ended.
        """
        live = self._live
        if live is None:
            raise ProgramError("it is not running")
        try:
            line = live.inbox.get(timeout=self.seconds)
        except queue.Empty:
            self.close(at_once=True)
            raise ProgramError(f"it took more than {self.seconds:g} seconds{live.complaint}") from None
        except BaseException:  # out of time, or Ctrl-C: a late answer must not be taken for the next one
            self.close(at_once=True)
            raise
        if line is None:
            self.close()
            raise ProgramError(f"it ended with status {live.process.returncode}{live.complaint}")
        if not line.endswith(b"\n"):
            self.close(at_once=True)
            raise ProgramError(f"its answer {shown(line[:60])} has no line break within {_LONGEST:,} bytes")
        return line.decode("utf-8", "replace").rstrip("\r\n")

    def close(self, *, at_once: bool = False) -> None:
        """End the program, giving it time to exit unless it must end at once; it can be started again."""
        live, self._live = self._live, None
        if live is not None:
            live.close(0.0 if at_once else _GRACE)


class _Live:
    """A running program, the threads that read and write its lines, and the queues of both directions."""

    def __init__(self, command: str, tcp: bool, seconds: float) -> None:
        words = [word.replace("{python}", sys.executable) for word in shlex.split(command)]
        if not words:
            raise ValueError("the command is empty")
        self.inbox: queue.Queue[bytes | None] = queue.Queue(_MOST)
        self.outbox: queue.Queue[bytes | None] = queue.Queue()
        self.complaints: deque[str] = deque(maxlen=_KEPT)
        self.connection: socket.socket | None = None
        with contextlib.ExitStack() as stack:
            if tcp:
                listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                words = _with_address(words, *listener.getsockname()[:2])
            pipe = subprocess.DEVNULL if tcp else subprocess.PIPE
            self.process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=subprocess.PIPE, start_new_session=True
            )
            try:
                self._begin(self._read_complaints)
                if tcp:
                    self.connection = self._accept(listener, seconds)
                    self.reading: IO[bytes] = self.connection.makefile("rb")
                    self.writing: IO[bytes] = self.connection.makefile("wb")
                else:
                    assert self.process.stdin is not None
                    assert self.process.stdout is not None
                    self.reading, self.writing = self.process.stdout, self.process.stdin
            except BaseException:
                self._end_process()
                self._threads[0].join(_GRACE)
                if self.process.stderr is not None:
                    self.process.stderr.close()
                raise
        self._begin(self._read)
        self._begin(self._write)

    @property
    def complaint(self) -> str:
        """The last lines of its standard error, after a semicolon; empty if there were none."""
        self._threads[0].join(_GRACE if self.process.poll() is not None else 0.0)
        said = one_line(" | ".join(self.complaints), 300)
        return f"; on standard error: {said}" if said else ""

    def close(self, grace: float) -> None:
        self.outbox.put(None)  # the writer closes the program's input, so that the program can exit
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(grace)
        self._end_process()
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(queue.Empty):  # the reader may be waiting for space in the queue
            while True:
                self.inbox.get_nowait()
        for thread in self._threads:
            thread.join(_GRACE)
        streams = (self.reading, self.process.stderr, self.connection)
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _end_process(self) -> None:
        """Kill the program with its children, and wait for its end."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()

    def _accept(self, listener: socket.socket, seconds: float) -> socket.socket:
        listener.settimeout(0.05)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                connection.settimeout(None)
                return connection
            if self.process.poll() is not None:
                raise ValueError(f"it ended with status {self.process.returncode} and did not connect{self.complaint}")
        raise ValueError(f"it did not connect within {seconds:g} seconds{self.complaint}")

    _threads: list[threading.Thread]

    def _begin(self, work: Any) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads = [*getattr(self, "_threads", ()), thread]
        thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self.reading.readline(_LONGEST):
                self.inbox.put(line)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_GRACE)
        self.inbox.put(None)

    def _write(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (line := self.outbox.get()) is not None:
                self.writing.write(line)
                self.writing.flush()
        with contextlib.suppress(OSError, ValueError):
            self.writing.close()

    def _read_complaints(self) -> None:
        assert self.process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while line := self.process.stderr.readline(_LONGEST):
                if line.strip():
                    self.complaints.append(line.decode("utf-8", "replace").strip()[:200])


def _with_address(words: Sequence[str], host: str, port: int) -> list[str]:
    """Return a command with the address to connect to."""
    if not any("{port}" in word for word in words):
        words = [*words, "{host}", "{port}"]
    return [word.replace("{host}", host).replace("{port}", str(port)) for word in words]
