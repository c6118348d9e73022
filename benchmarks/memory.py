"""The peak memory of a process."""

from pathlib import Path


def peak_megabytes() -> float:
    """Return the largest resident memory of this process since it became this program, in 10⁶ bytes."""
    # Linux's ru_maxrss includes the memory before the process became this program, that is, its parent's size.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
