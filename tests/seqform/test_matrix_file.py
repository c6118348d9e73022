"""Matrices in one file: written and read back as the same game, read from numpy, and from anybody safely."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from random_trees import to_game, trees

from treeplex import (
    Game,
    GameFileError,
    GameTooLargeError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    SequenceForm,
    Strategy,
    Treeplex,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.cli import main
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.interchange import files as archive
from treeplex.seqform.interchange.matrix_file import read_matrices, write_matrices


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrices")


def assert_same(again: SequenceForm, form: SequenceForm) -> None:
    for mine, other in zip(again.treeplexes, form.treeplexes, strict=True):
        assert mine.infoset_labels == other.infoset_labels
        assert mine.action_labels == other.action_labels
        assert (mine.E != other.E).nnz == 0
        assert mine.single_parent == other.single_parent
    for player in (0, 1):
        assert (again.payoff_matrix(player) != form.payoff_matrix(player)).nnz == 0


@pytest.mark.parametrize("spec", ["kuhn", "leduc", "matching_pennies", "liars_dice:sides=2", "goofspiel:cards=3"])
def test_games_of_the_library_come_back_the_same(spec: str, tmp_path: Path) -> None:
    game = load_game(spec)
    path = tmp_path / "game.npz"
    write_matrices(game, path)
    again = read_matrices(path)
    assert_same(again, game.sequence_form)
    assert again.fingerprint == game.fingerprint
    loaded = load_game(str(path))
    assert (loaded.name, loaded.fingerprint) == ("game", game.fingerprint)
    first = path.read_bytes()
    write_matrices(again, tmp_path / "again.npz")
    assert archive.read_archive(tmp_path / "again.npz")[1].keys() == archive.read_archive(path)[1].keys()
    write_matrices(game, path)
    assert path.read_bytes() == first


@given(root=trees(zero_sum=False))
def test_general_sum_games_come_back_the_same(folder: Path, root: Any) -> None:
    form = to_game(root).sequence_form
    write_matrices(form, folder / "random.npz")
    assert_same(read_matrices(folder / "random.npz"), form)


def test_player_1s_payoffs_are_written_only_where_they_say_something(tmp_path: Path) -> None:
    path = tmp_path / "game.npz"
    write_matrices(SequenceForm.from_payoff_matrix([[1, -1]]), path)
    assert "B_data" not in archive.read_archive(path)[1]
    nearly = SequenceForm.from_payoff_matrix([[1, -1]], [[-1, 1 + 1e-12]])
    assert nearly.is_zero_sum
    write_matrices(nearly, path)
    assert_same(read_matrices(path), nearly)


def test_flows_and_factors_come_back_the_same(tmp_path: Path) -> None:
    flow = Treeplex.from_inflow(
        [[1, 0, 0, 0, 0], [0, 1, 0.5, 0, 0]], num_actions=[2, 2], infoset_labels=["start", ("at", 1)]
    )
    other = Treeplex([0], [3], ["where"], [("a", "b", "c")])
    factored = FactoredPayoff(np.arange(10.0).reshape(5, 2), np.ones((2, 4)) / 3)
    form = SequenceForm([flow, other], factored=factored)
    path = tmp_path / "flow.npz"
    write_matrices(Game.from_sequence_form(form, "flow"), path)
    again = read_matrices(path)
    assert_same(again, form)
    assert again.factored is not None
    assert again.factored.num_factors == 2
    assert again.fingerprint == form.fingerprint


def test_the_value_is_that_of_the_game(tmp_path: Path) -> None:
    write_matrices(load_game("kuhn"), tmp_path / "kuhn.npz")
    assert solve(Nash(load_game(str(tmp_path / "kuhn.npz")))).value == pytest.approx(-1 / 18, abs=1e-9)


def test_dense_matrices_that_numpy_wrote_are_read(tmp_path: Path) -> None:
    form = load_game("kuhn").sequence_form
    dense = {"E": form.E.toarray(), "e": form.e, "F": form.F.toarray(), "f": form.f, "A": form.A.toarray()}
    np.savez(tmp_path / "own.npz", **dense)
    again = read_matrices(tmp_path / "own.npz")
    assert (again.A != form.A).nnz == 0
    assert again.treeplexes[0].infoset_labels == tuple(range(6))
    np.savez(tmp_path / "own.npz", **dense, B=np.asfortranarray(2 * dense["A"]), E_unused=np.zeros(0))
    assert not read_matrices(tmp_path / "own.npz").is_zero_sum


def test_scipy_reads_the_matrices(tmp_path: Path) -> None:
    form = load_game("kuhn").sequence_form
    write_matrices(form, tmp_path / "kuhn.npz")
    with np.load(tmp_path / "kuhn.npz", allow_pickle=False) as arrays:
        parts = (arrays["A_data"], arrays["A_indices"], arrays["A_indptr"])
        matrix = sp.csr_array(parts, shape=arrays["A_shape"])
        metadata = json.loads(str(arrays["metadata"]))
    assert (matrix != form.A).nnz == 0
    assert metadata["format"] == "treeplex matrices"
    assert metadata["labels"][0]["infosets"][0] == form.treeplexes[0].infoset_labels[0]


# What is refused


def test_games_of_three_players_have_no_matrices(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedProblemError, match=r"kuhn:players=3 has 3: write it as \.efg, \.graphml or \.json"):
        write_matrices(load_game("kuhn:players=3"), tmp_path / "three.npz")
    assert not list(tmp_path.iterdir())


def test_labels_that_no_file_takes_are_refused(tmp_path: Path) -> None:
    treeplexes = [Treeplex([0], [1], [object()], [("a",)]), Treeplex([0], [1])]
    form = SequenceForm(treeplexes, payoff_matrices=[np.eye(2), -np.eye(2)])
    with pytest.raises(InvalidGameError, match="a file can contain strings, numbers"):
        write_matrices(form, tmp_path / "odd.npz")


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GameFileError, match="cannot be written: no such file or directory"):
        write_matrices(load_game("kuhn"), tmp_path / "absent" / "kuhn.npz")


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Any]:
    write_matrices(load_game("matching_pennies"), tmp_path / "pennies.npz")
    with np.load(tmp_path / "pennies.npz") as arrays:
        return dict(arrays)


def changed(parts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: array for name, array in (parts | changes).items() if array is not None}


def labels(first: Any) -> Any:
    second = {"infosets": ["_"], "actions": [["H", "T"]]}
    return np.array(json.dumps({"format": "treeplex matrices", "version": 1, "labels": [first, second]}))


WRONG = {
    "no E": ({"E_data": None}, "the array E_data is missing"),
    "no e": ({"e": None}, "the array e is missing"),
    "no A": ({"A_data": None}, "the array A_data is missing"),
    "text": ({"A_data": np.array(["one"])}, "the array A_data has type <U3, expected numbers"),
    "complex": ({"A_data": np.array([1j] * 4)}, "type complex128, which are not numeric"),
    "floats as indices": ({"A_indices": np.zeros(4)}, "the array A_indices has type float64"),
    "index too large": ({"A_indices": np.array([1, 2, 1, 3])}, "is not a matrix of numbers: ind"),
    "negative index": ({"A_indices": np.array([1, 2, 1, -1])}, "is not a matrix of numbers: ind"),
    "huge index": ({"A_indices": np.array([1, 2, 1, 2**62])}, "is not a matrix of numbers: ind"),
    "falling pointers": ({"A_indptr": np.array([0, 4, 2, 4])}, "is not a matrix of numbers: ind"),
    "negative pointer": ({"A_indptr": np.array([0, 0, 2, -1])}, "indptr must be a non-decreasing sequence"),
    "pointers back to 0": ({"E_indptr": np.array([0, 4, 0])}, "indptr must be a non-decreasing sequence"),
    "short pointers": ({"A_indptr": np.array([0, 4])}, "A is not a matrix in compressed rows"),
    "huge shape": ({"A_shape": np.array([2**62, 2**62])}, "A is not a matrix in compressed rows"),
    "wide shape": ({"A_shape": np.array([3, 2**31])}, "has shape (3, 2147483648), expected (3, 3)"),
    "wide E": ({"E_shape": np.array([2, 2**40])}, "E is not the constraint matrix of a treeplex"),
    "negative shape": ({"A_shape": np.array([-3, 3])}, "A is not a matrix in compressed rows"),
    "long shape": ({"A_shape": np.array([3, 3, 3])}, "A is not a matrix in compressed rows"),
    "not finite": ({"A_data": np.array([1, -1, np.nan, 1])}, "contains a number that is not finite"),
    "infinite E": ({"E_data": np.array([1, -np.inf, 1, 1])}, "row 1 of E does not belong to an infoset"),
    "wrong e": ({"e": np.array([1.0])}, "e has shape (1,), expected (2,)"),
    "metadata": ({"metadata": np.array("{")}, "its metadata cannot be read: line 1, column 2: not JSON"),
    "metadata of numbers": ({"metadata": np.arange(3)}, "its metadata is not a string"),
    "format": ({"metadata": np.array('{"format": "numpy"}')}, "the file has format 'numpy' version None, expected"),
    "infosets": ({"metadata": labels({"infosets": ["a", "b"], "actions": [["H", "T"]]})}, "its labels do not match"),
    "actions": ({"metadata": labels({"infosets": ["a"], "actions": ["HT"]})}, "'actions' are not an array of arrays"),
    "no actions": (
        {"metadata": labels({"infosets": ["a"]})},
        "its labels do not match its matrices: 1 infoset labels",
    ),
    "odd labels": ({"metadata": labels({"infosets": [{}], "actions": []})}, "{} is not a label"),
    "labels": ({"metadata": labels(3)}, "a player's labels are 3, expected an object"),
}


@pytest.mark.parametrize(("changes", "words"), WRONG.values(), ids=WRONG)
def test_wrong_contents_are_refused_in_one_line(
    changes: dict[str, Any], words: str, parts: dict[str, Any], tmp_path: Path
) -> None:
    np.savez(tmp_path / "wrong.npz", **changed(parts, **changes))
    with pytest.raises(InvalidGameError) as caught:
        read_matrices(tmp_path / "wrong.npz")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/wrong.npz: ")
    assert words in message
    assert len(message.splitlines()) == 1


def header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def archive_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return stream.getvalue()


class Trap:
    """A pickle that would open a file."""

    def __reduce__(self) -> Any:
        return open, ("sprung", "w")


def objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([Trap()], dtype=object), allow_pickle=True)
    return stream.getvalue()


TRAPS = {
    "empty": (b"", "or a damaged one"),
    "text": (b"J_ p 0.5", "or a damaged one"),
    "pickle": (pickle.dumps({"E": [1]}), "or a damaged one"),
    "no array": (archive_of({"E.npy": b"E"}), "or a damaged one"),
    "objects": (archive_of({"E.npy": objects()}), "not numeric or do not match the data"),
    "huge header": (archive_of({"E.npy": header("(1000000, 1000000)")}), "or do not match the data"),
    "overflowing header": (archive_of({"E.npy": header("(4294967296, 4294967296)")}), "or do not match the data"),
    "negative header": (archive_of({"E.npy": header("(-1, -1)") + bytes(8)}), "or do not match the data"),
    "header of code": (archive_of({"E.npy": header("__import__('os')")}), "or a damaged one"),
    "records": (archive_of({"E.npy": header("(1,)", "V8") + bytes(8)}), "not numeric or do not match the data"),
    "bzip2": (archive_of({"E.npy": header("()") + bytes(8)}, zipfile.ZIP_BZIP2), "not compressed by deflate"),
    "two names": (archive_of({"E.npy": header("()") + bytes(8), "E": b""}), "E occurs twice"),
    "strategies": (archive_of({"behaviour_0.npy": header("()") + bytes(8)}), "it contains strategies"),
}


@pytest.mark.parametrize(("content", "words"), TRAPS.values(), ids=TRAPS)
def test_what_is_no_archive_of_matrices_is_refused(
    content: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trap.npz").write_bytes(content)
    with pytest.raises(GameFileError) as caught:
        read_matrices("trap.npz")
    assert words in str(caught.value)
    assert str(caught.value).startswith("trap.npz: ")
    assert len(str(caught.value).splitlines()) == 1
    assert not Path("sprung").exists()


def test_strategies_are_no_game(tmp_path: Path) -> None:
    Strategy.uniform(load_game("kuhn"), 0).save(tmp_path / "mine.npz")
    with pytest.raises(GameFileError, match=r"mine\.npz: it contains strategies, not the matrices of a game"):
        load_game(str(tmp_path / "mine.npz"))


def test_matrices_that_may_take_more_memory_than_the_budget_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions = 1000
    E = np.array([[1] + [0] * actions, [-1] + [1] * actions], dtype=np.int8)
    A = np.ones((actions + 1, actions + 1), dtype=np.int8)
    path = tmp_path / "dense.npz"  # a kilobyte packed, a megabyte unpacked, and sixty as sparse matrices
    np.savez_compressed(path, E=E, F=E, e=np.array([1, 0]), f=np.array([1, 0]), A=A)
    monkeypatch.setenv("TREEPLEX_MEMORY", "50MB")
    with pytest.raises(
        GameTooLargeError, match=r"dense\.npz: reading the file may take 64\.\d MB, but the budget is 50 MB"
    ):
        read_matrices(path)
    monkeypatch.setenv("TREEPLEX_MEMORY", "1MB")
    with pytest.raises(GameTooLargeError, match=r"dense\.npz: reading the file may take 8\.\d+ MB"):
        read_matrices(path)
    monkeypatch.delenv("TREEPLEX_MEMORY")
    assert read_matrices(path).treeplexes[0].num_sequences == actions + 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("name", ["A", "E", "f"])
@pytest.mark.parametrize("shape", [(4 * 10**8, 0), (10**18, 0), (0, 10**18), (10**9, 0, 10**9)])
def test_empty_arrays_count_as_their_shapes(
    name: str, shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take no bytes in the file, and a sparse matrix of so many rows takes eight a row."""
    path = tmp_path / "game.npz"
    arrays = {"E": np.eye(1), "e": np.ones(1), "F": np.eye(1), "f": np.ones(1), "A": np.ones((1, 1))}
    np.savez(path, **{key: array for key, array in arrays.items() if key != name})
    with zipfile.ZipFile(path, "a") as file, file.open(f"{name}.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": shape})
    monkeypatch.setenv("TREEPLEX_MEMORY", "100MB")
    with pytest.raises(GameTooLargeError, match="reading the file may take"):
        read_matrices(path)
    assert main(["info", str(path)]) == 2


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.npz"
    os.mkfifo(path)
    with pytest.raises(GameFileError, match=r"pipe\.npz: it is not a regular file"):
        read_matrices(path)
    with pytest.raises(InvalidStrategyError, match="it is not a regular file"):
        Profile.load(path, load_game("kuhn"))
    assert main(["solve", "kuhn", "--method", "cfr", "--start", str(path)]) == 2


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(5):
            with packed.open(f"{number}.npy", "w") as member:
                member.write(bytes(2**20))
    monkeypatch.setattr(archive, "ALWAYS_READ", 2**22)
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    with pytest.raises(GameFileError, match="would unpack to 5,242,880: a decompression bomb"):
        read_matrices(path)


def test_a_member_that_lies_of_its_size_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = archive_of({"E.npy": header("(1000000,)") + bytes(8_000_000)})
    honest, lie = len(header("(1000000,)") + bytes(8_000_000)).to_bytes(4, "little"), (200).to_bytes(4, "little")
    assert whole.count(honest) == 2  # in the member's header and in the directory
    path = tmp_path / "liar.npz"
    path.write_bytes(whole.replace(honest, lie))
    taken = []
    unpack = zipfile.ZipExtFile.read

    def read(self: Any, size: int = -1) -> bytes:
        content = unpack(self, size)
        taken.append(len(content))
        return content

    monkeypatch.setattr(zipfile.ZipExtFile, "read", read)
    with pytest.raises(GameFileError, match="damaged"):
        read_matrices(path)
    assert sum(taken) <= 200


def test_what_is_written_is_never_taken_for_a_trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "ALWAYS_READ", 1000)
    arrays = {"zeros": np.zeros(100_000)}
    archive.write_archive(tmp_path / "zeros.npz", {}, arrays)
    assert np.array_equal(archive.read_archive(tmp_path / "zeros.npz")[1]["zeros"], arrays["zeros"])
    np.savez_compressed(tmp_path / "packed.npz", **arrays)
    with pytest.raises(ValueError, match="a decompression bomb"):
        archive.read_archive(tmp_path / "packed.npz")
