"""The peak memory of a process, and measurements in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def peak_megabytes() -> float:
    """Return the largest resident memory of this process since it became this program, in 10⁶ bytes."""
    # Linux's ru_maxrss includes the memory before the process became this program, that is, its parent's size.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def measured_alone(file: str, run: Any) -> dict[str, Any]:
    """Return the record that a benchmark prints for one run, given as ``--one``, in a process of its own."""
    command = [sys.executable, file, "--one", json.dumps(run)]
    record: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return record
