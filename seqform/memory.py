"""The machine's available memory, and parsing and formatting of memory sizes."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

from .checks import is_whole
from .errors import InvalidMemoryError, one_line, shown

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_AMOUNT = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s*(?:([kmgt])(i?)b|b)?", re.IGNORECASE | re.ASCII)


def read_memory(amount: Any, name: str) -> int:
    """Parse a memory size.

    Parameters
    ----------
    amount : int or str
        Bytes, or a number with kB, MB, GB or TB (powers of 1000) or KiB, MiB, GiB or TiB (powers of 1024).
    name : str
        Its name in messages.

    Returns
    -------
    int

    Raises
    ------
    InvalidMemoryError
        If it is not an amount of memory, or is less than a byte.

    Examples
    --------
    >>> read_memory("2GiB", "memory"), read_memory("1.5 GB", "memory")
    (2147483648, 1500000000)
    """
    number = 0
    if isinstance(amount, str):
        if match := _AMOUNT.fullmatch(amount.strip()):
            digits, prefix, binary = match.groups(default="")
            number = int(Decimal(digits) * (1024 if binary else 1000) ** _POWERS[prefix.lower()])
    elif is_whole(amount):
        number = int(amount)
    if number < 1:
        received = one_line(repr(amount), 60) if isinstance(amount, str) else shown(amount, 60)
        raise InvalidMemoryError(f"{name} = {received}; expected bytes, or an amount such as 500MB, 8GB or 2GiB")
    return number


def available_memory() -> int:
    """Return the number of bytes that the process can still allocate.

    This is the smallest of the machine's available memory, the rest of the limits of the process's control groups
    (Linux), and the rest of its limit on address space (``ulimit -v``).

    Examples
    --------
    >>> from treeplex.seqform import available_memory
    >>> available_memory() > 10**6
    True
    """
    import psutil

    rooms = [int(psutil.virtual_memory().available), *_cgroup_rooms()]
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            rooms.append(limit - int(psutil.Process().memory_info().vms))
    except (ImportError, AttributeError, OSError):  # not available on this system
        pass
    return max(0, min(rooms))


def _cgroup_rooms(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield the remaining memory of each control group (Linux) that has a limit, from the process's own to the root.

    A container sees its own group as the root, and the given path may not exist in it.
    """
    try:
        lines = proc.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:  # version 2
            top, files = root, ("memory.max", "memory.current", "inactive_file ")
        elif "memory" in controllers.split(","):  # version 1
            top, files = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
        else:
            continue
        group = PurePosixPath("/", path)
        for each in (group, *group.parents):
            room = _room(top / each.relative_to("/"), *files)
            if room is not None:
                yield room


def _room(group: Path, limit: str, usage: str, reclaimable: str) -> int | None:
    try:
        most = (group / limit).read_text().strip()
        if most == "max" or int(most) >= 1 << 60:  # no limit
            return None
        free = int(most) - int((group / usage).read_text())
        # The file cache counts as usage, but the kernel releases it when memory gets short.
        for line in (group / "memory.stat").read_text().splitlines():
            if line.startswith(reclaimable):
                free += int(line.removeprefix(reclaimable))
    except (OSError, ValueError):
        return None
    return free


def in_words(amount: int) -> str:
    """Return a number of bytes in readable units.

    Examples
    --------
    >>> in_words(512), in_words(8_250_000_000), in_words(10**40)
    ('512 bytes', '8.25 GB', '1.00e+28 TB')
    """
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        scaled = Decimal(amount) / 1000**power
        if scaled >= 1:
            if scaled >= 1000:
                return f"{scaled:,.0f} {unit}" if scaled < 10**6 else f"{scaled:.2e} {unit}"
            return f"{scaled:.3g} {unit}" if scaled < 100 else f"{scaled:.0f} {unit}"
    return f"{amount} bytes"


def counted(number: int) -> str:
    """Return a count in readable form: exact up to 15 digits.

    Examples
    --------
    >>> counted(58), counted(2**100)
    ('58', '1.27e+30')
    """
    return f"{number:,}" if number < 10**15 else f"{Decimal(number):.2e}"
