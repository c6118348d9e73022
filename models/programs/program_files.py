"""Linear programs in files for other solvers, written by HiGHS."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...seqform.errors import SolverError
from ...seqform.interchange.files import check_suffix, refusing_unwritable, writing_whole

#: The file formats by suffix.
SUFFIXES = (".mps", ".lp")


def write_program(path: str | Path, model: Any, rows: Mapping[str, slice], columns: Mapping[str, slice]) -> None:
    """Write a linear program held by HiGHS, with rows and columns named after their blocks.

    Parameters
    ----------
    path : path-like
    model : HighsLp
    rows, columns : mapping of str to slice
        See :class:`~treeplex.models.programs.linear_program.LinearProgram`.

    Raises
    ------
    GameFileError
        If the suffix is not one of :data:`SUFFIXES`, or the file cannot be written.
    """
    check_suffix(path, "a linear program in a file", SUFFIXES)
    import highspy

    model.row_names_ = block_names(rows, model.num_row_, "row")
    model.col_names_ = block_names(columns, model.num_col_, "column")
    solver = highspy.Highs()
    solver.silent()
    if solver.passModel(model) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS does not accept the linear program")
    with refusing_unwritable(path), writing_whole(path) as passing:
        # The file already exists: HiGHS crashes the interpreter if it cannot open a file, and does not notice a full
        # disk.
        if solver.writeModel(str(passing)) == highspy.HighsStatus.kError or not _ends(passing):
            raise OSError("it was cut short; the disk may be full")


def _ends(path: Path) -> bool:
    """Return whether a file ends as MPS and LP files do."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 20))
        return file.read().split()[-1:] in ([b"ENDATA"], [b"end"])


def block_names(blocks: Mapping[str, slice], number: int, default: str) -> list[str]:
    """Return a name for every row or column, from its block and its index there.

    Parameters
    ----------
    blocks : mapping of str to slice
    number : int
        Number of rows or columns.
    default : str
        The name prefix of rows or columns that belong to no block.

    Examples
    --------
    >>> from treeplex.models.programs.program_files import block_names
    >>> block_names({"plan": slice(0, 2)}, 3, "column")
    ['plan_0', 'plan_1', 'column_2']
    """
    names = [f"{default}_{index}" for index in range(number)]
    for block, part in blocks.items():
        # Both formats accept letters, digits and underscores, if the name does not begin like a number.
        plain = re.sub(r"[^A-Za-z0-9_]", "_", block)
        plain = plain if re.match(r"(?![eE][0-9_]*$)[A-Za-z_]", plain) else f"_{plain}"
        for place, index in enumerate(range(*part.indices(number))):
            names[index] = f"{plain}_{place}"
    return names if len(set(names)) == len(names) else [f"{name}_{index}" for index, name in enumerate(names)]
