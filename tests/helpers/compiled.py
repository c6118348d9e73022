"""Where numba keeps what it has compiled: a folder for each version of the code that it was compiled from.

numba looks at the file of the function that Python calls, and at none of those that are compiled into it. Compiling
takes minutes, so that a folder lasts beyond runs and installs.
"""

import hashlib
import importlib.util
import re
from pathlib import Path


def sources() -> list[Path]:
    """Return the files whose functions numba compiles, and those that these import constants and types from."""
    spec = importlib.util.find_spec("treeplex")
    assert spec is not None
    assert spec.origin is not None
    found = set()
    for path in Path(spec.origin).parent.glob("solvers/**/*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^from \.+compilation import", text, re.MULTILINE):
            found.add(path)
            for dots, name in re.findall(r"^from (\.+)([\w.]+) import", text, re.MULTILINE):
                module = path.parents[len(dots) - 1].joinpath(*name.split("."))
                found.update(module.glob("*.py") if module.is_dir() else [module.with_suffix(".py")])
    return sorted(found)


def version() -> str:
    """Return a name for the version of the code that numba compiles."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
