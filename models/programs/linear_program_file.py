"""Linear programs as files that any solver reads: free-format MPS, and CPLEX's LP format."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...seqform.errors import GameFileError, SolverError, one_line, shown
from ...seqform.interchange.files import refusing_unwritable, writing_whole
from .highs_model import highs_model

if TYPE_CHECKING:
    from .linear_program import LinearProgram

#: The formats by suffix.
SUFFIXES = (".mps", ".lp")


def write_linear_program(program: "LinearProgram", path: str | Path) -> None:
    """Write a linear program to a file, whole or not at all.

    Parameters
    ----------
    program : LinearProgram
    path : path-like
        Its suffix says the format: ``.mps`` or ``.lp``.

    Raises
    ------
    GameFileError
        If the suffix is another one, or the file cannot be written.

    Notes
    -----
    HiGHS writes the file, with 15 significant digits a number, and leaves out matrix entries below 1e-9. Rows and
    columns are named after their blocks: ``plan_3``, ``response_12``. In an LP file a row with two different bounds
    becomes two rows.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise GameFileError(
            f"{one_line(str(path))}: a linear program in a file of suffix {shown(suffix)}, expected .mps or .lp"
        )
    import highspy

    rows, columns = program.shape
    model = highs_model(program)
    model.row_names_ = block_names(program.rows, rows, "row")
    model.col_names_ = block_names(program.columns, columns, "column")
    solver = highspy.Highs()
    solver.silent()
    if solver.passModel(model) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS does not take the linear program")
    with refusing_unwritable(path), writing_whole(path) as passing:
        # The file is there by now: HiGHS crashes the interpreter where it cannot open one, and does not notice a full
        # disk.
        if solver.writeModel(str(passing)) == highspy.HighsStatus.kError or not _ends(passing):
            raise OSError("it was cut short; the disk may be full")


def _ends(path: Path) -> bool:
    """Return whether a file ends as MPS and LP files do."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 20))
        return file.read().split()[-1:] in ([b"ENDATA"], [b"end"])


def block_names(blocks: Mapping[str, slice], number: int, default: str) -> list[str]:
    """Return a name for every row or column: its block's and its number there.

    Parameters
    ----------
    blocks : mapping of str to slice
    number : int
        Number of rows or columns.
    default : str
        What those in no block are called.

    Examples
    --------
    >>> from treeplex.models.programs.linear_program_file import block_names
    >>> block_names({"plan": slice(0, 2)}, 3, "column")
    ['plan_0', 'plan_1', 'column_2']
    """
    names = [f"{default}_{index}" for index in range(number)]
    for block, part in blocks.items():
        # What both formats take: letters, digits and underscores, and no beginning that looks like a number.
        plain = re.sub(r"[^A-Za-z0-9_]", "_", block)
        plain = plain if re.match(r"(?![eE][0-9_]*$)[A-Za-z_]", plain) else f"_{plain}"
        for place, index in enumerate(range(*part.indices(number))):
            names[index] = f"{plain}_{place}"
    return names if len(set(names)) == len(names) else [f"{name}_{index}" for index, name in enumerate(names)]
