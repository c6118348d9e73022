"""Linear programs as HiGHS takes them, for solving and for files."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .linear_program import LinearProgram


def highs_model(program: "LinearProgram") -> Any:
    """Return a linear program as a ``highspy.HighsLp``: same rows, columns, objective and sense.

    Parameters
    ----------
    program : LinearProgram

    Returns
    -------
    highspy.HighsLp

    Examples
    --------
    >>> from treeplex import Nash, load_game
    >>> from treeplex.models.programs.highs_model import highs_model
    >>> model = highs_model(Nash(load_game("kuhn")).linear_program())
    >>> model.num_col_, model.num_row_
    (20, 20)
    """
    import highspy

    rows, columns = program.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.sense_ = highspy.ObjSense.kMaximize if program.maximise else highspy.ObjSense.kMinimize
    model.col_cost_ = program.objective
    model.col_lower_, model.col_upper_ = program.column_lower, program.column_upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    return model
