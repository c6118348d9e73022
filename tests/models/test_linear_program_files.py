"""Linear programs as MPS and LP files, read back by HiGHS."""

from pathlib import Path

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from treeplex import Game, GameFileError, Nash, SequenceForm, load_game
from treeplex.models.programs.linear_program import LinearProgram
from treeplex.models.programs.program_files import SUFFIXES, block_names


def read(path: Path) -> highspy.Highs:
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


def optimum(path: Path) -> float:
    solver = read(path)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(solver.getInfo().objective_function_value)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("spec", "value"), [("kuhn", -1 / 18), ("leduc", -0.0856064240780), ("liars_dice", 0.0625)])
def test_another_solver_finds_the_same_optimum(
    spec: str, value: float, suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = Nash(load_game(spec)).linear_program()
    path = tmp_path / f"game{suffix}"
    program.write(path)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == [path]
    assert optimum(path) == pytest.approx(value, abs=1e-9)
    model = read(path).getLp()
    assert (model.num_row_, model.num_col_) == program.shape
    assert model.sense_ == highspy.ObjSense.kMaximize
    rows = [f"plan_{n}" for n in range(len(program.row_lower[program.rows["plan"]]))]
    rows += [f"response_{n}" for n in range(program.shape[0] - len(rows))]
    assert list(model.row_names_) == rows
    columns = [f"plan_{n}" for n in range(len(program.objective[program.columns["plan"]]))]
    columns += [f"values_{n}" for n in range(program.shape[1] - len(columns))]
    assert sorted(model.col_names_) == sorted(columns)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_columns_and_sense_are_kept(suffix: str, tmp_path: Path) -> None:
    inf = np.inf
    program = LinearProgram(
        objective=np.array([1.0, -2.0, 0.25, 0.0]),
        matrix=sp.csc_array([[1.0, 1, 0, 0], [0, 1 / 3, 1, 0], [1, 0, 0, 2], [0, 1, 1, 1], [1, 1, 1, 1]]),
        row_lower=np.array([1.0, -inf, -3.0, -1.0, -inf]),
        row_upper=np.array([1.0, 2.0, inf, 4.0, inf]),
        column_lower=np.array([0.0, -inf, -inf, 1.0]),
        column_upper=np.array([inf, inf, 3.0, 2.5]),
        maximise=False,
        columns={"plan": slice(0, 2), "e": slice(2, 3)},
        rows={"3 blocks, of rows": slice(0, 4)},
    )
    path = tmp_path / f"program{suffix}"
    program.write(path)
    model = read(path).getLp()
    assert model.sense_ == highspy.ObjSense.kMinimize
    names = list(model.col_names_)
    assert names == ["plan_0", "plan_1", "_e_0", "column_3"]
    # A row with two bounds becomes two rows in an LP file; one without any binds nothing, and may be left out.
    kept = 4 if suffix == ".mps" else 3
    assert list(model.row_names_)[:kept] == [f"_3_blocks__of_rows_{row}" for row in range(kept)]
    assert np.array_equal(model.col_cost_, program.objective)
    assert np.array_equal(model.col_lower_, program.column_lower)
    assert np.array_equal(model.col_upper_, program.column_upper)
    assert np.array_equal(np.array(model.row_lower_)[:kept], program.row_lower[:kept])
    assert np.array_equal(np.array(model.row_upper_)[:kept], program.row_upper[:kept])
    bounds = zip(model.row_names_, model.row_lower_, model.row_upper_, strict=True)
    last = [(low, up) for name, low, up in bounds if name.startswith("_3_blocks__of_rows_3")]
    assert (max(low for low, _ in last), min(up for _, up in last)) == (-1.0, 4.0)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_smallest_program_is_written(suffix: str, tmp_path: Path) -> None:
    form = SequenceForm.from_payoff_matrix([[0.0]])
    Nash(Game.from_sequence_form(form)).linear_program().write(tmp_path / f"zero{suffix}")
    assert optimum(tmp_path / f"zero{suffix}") == 0.0


def test_names_are_distinct_and_good_in_both_formats() -> None:
    names = block_names({"a b": slice(0, 2), "a,b": slice(2, 4), "e1": slice(4, 5)}, 6, "row")
    assert names == ["a_b_0_0", "a_b_1_1", "a_b_0_2", "a_b_1_3", "_e1_0_4", "row_5_5"]
    assert block_names({"epsilon": slice(0, 1), "E": slice(1, 2)}, 2, "row") == ["epsilon_0", "_E_0"]


def test_other_suffixes_and_places_are_refused(tmp_path: Path) -> None:
    program = Nash(load_game("kuhn")).linear_program()
    with pytest.raises(
        GameFileError, match=r"kuhn\.txt: a linear program in a file with suffix '\.txt', expected \.mps"
    ):
        program.write(tmp_path / "kuhn.txt")
    with pytest.raises(GameFileError, match=r"kuhn\.lp cannot be written: no such file or directory"):
        program.write(tmp_path / "absent" / "kuhn.lp")  # HiGHS itself would crash
    (tmp_path / "folder.mps").mkdir()
    with pytest.raises(GameFileError, match="cannot be written: is a directory"):
        program.write(tmp_path / "folder.mps")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.mps"]


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(self: highspy.Highs, name: str) -> highspy.HighsStatus:
        Path(name).write_text("NAME\nROWS\n", encoding="utf-8")
        return highspy.HighsStatus.kOk

    monkeypatch.setattr(highspy.Highs, "writeModel", full_disk)
    with pytest.raises(GameFileError, match=r"kuhn\.mps cannot be written: it was cut short"):
        Nash(load_game("kuhn")).linear_program().write(tmp_path / "kuhn.mps")
    assert not list(tmp_path.iterdir())
