"""``treeplex export``, and files and OpenSpiel games wherever GAME is asked for."""

import json
import zipfile
from pathlib import Path

import highspy
import pytest

from treeplex import Game, GameFileError, SequenceForm, UnknownGameError, load_game
from treeplex.cli import main
from treeplex.cli.export import BINARY, FORMATS
from treeplex.models.games.files import SUFFIXES
from treeplex.seqform.interchange.matrix_file import write_matrices

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")

TEXT = [name for name in FORMATS if name not in BINARY]


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """Run the command; return what it prints, or the one line that it refuses in."""
    assert main(arguments) == status
    shown = capsys.readouterr()
    if not status:
        assert shown.err == ""
        return shown.out
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert len(shown.err.splitlines()) == 1
    return shown.err.removeprefix("error: ").strip()


# Export


@pytest.mark.parametrize("name", ["efg", "graphml", "json", "npz"])
@pytest.mark.parametrize("spec", ["kuhn", "leduc:merge_suits=true"])
def test_what_is_exported_loads_as_the_same_game(name: str, spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "export", spec, "--format", name, "--out", f"game.{name}")
    assert [line.split()[0] for line in shown.splitlines()] == ["game", "format", "written", "size"]
    assert load_game(f"game.{name}").fingerprint == load_game(spec).fingerprint
    record = json.loads(run(capsys, "info", f"game.{name}", "--json", "-"))
    assert record["game"] == f"game.{name}"
    assert record["fingerprint"] == load_game(spec).fingerprint
    assert abs(json.loads(run(capsys, "solve", f"game.{name}", "--json", "-"))["exploitability"]) <= 1e-9


@pytest.mark.parametrize("name", FORMATS)
def test_the_suffix_says_the_format(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in ("svg", "png", "pdf"):
        pytest.importorskip("matplotlib")
    run(capsys, "export", "matching_pennies", "--out", f"short.{name.upper()}")
    run(capsys, "export", "matching_pennies", "--format", name, "--out", "full")
    assert Path(f"short.{name.upper()}").read_bytes() == Path("full").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == sorted(["full", f"short.{name.upper()}"])


@pytest.mark.parametrize("name", TEXT)
def test_text_goes_to_standard_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "svg":
        pytest.importorskip("matplotlib")
    run(capsys, "export", "kuhn", "--out", f"kuhn.{name}")
    shown = run(capsys, "export", "kuhn", "--format", name, "--out", "-")
    assert shown == Path(f"kuhn.{name}").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["mps", "lp"])
def test_the_linear_program_has_the_value_of_the_game(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(capsys, "export", "kuhn", "--problem", "nash", "--out", f"kuhn.{name}")
    assert "the linear program of nash" in shown
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(f"kuhn.{name}")
    solver.run()
    assert solver.getInfo().objective_function_value == pytest.approx(-1 / 18)


def test_games_of_three_players_are_exported_as_trees(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("efg", "graphml", "json"):
        run(capsys, "export", "kuhn:players=3", "--out", f"three.{name}")
        assert load_game(f"three.{name}").fingerprint == load_game("kuhn:players=3").fingerprint


def test_an_existing_file_is_replaced_and_kept_if_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("json", "npz", "mps", "dot"):
        path = Path(f"kept.{name}")
        path.write_text("precious", encoding="utf-8")
        run(capsys, "export", "chess", "--out", str(path), status=2)
        if name in ("npz", "mps"):
            run(capsys, "export", "kuhn:players=3", "--out", str(path), status=2)
        assert path.read_text(encoding="utf-8") == "precious"
        run(capsys, "export", "rps", "--out", str(path))
        assert b"precious" not in path.read_bytes()
    assert len(list(Path().iterdir())) == 4


BAD_INPUT = {
    "no file": (["export", "kuhn"], "missing option '--out': the file to write; - writes text to standard output"),
    "no game": (["export", "--out", "x.efg"], "missing argument"),
    "unknown game": (["export", "kuhm", "--out", "x.efg"], "did you mean kuhn?"),
    "unknown format": (["export", "kuhn", "--format", "grapml", "--out", "x"], "(did you mean graphml?); expected"),
    "format in capitals": (["export", "kuhn", "--format", "EFG", "--out", "x"], "(did you mean efg?)"),
    "unknown suffix": (
        ["export", "kuhn", "--out", "x.jsn"], "'x.jsn' does not determine the format (did you mean json?)"
    ),
    "no suffix": (["export", "kuhn", "--out", "x"], "'x' does not determine the format; give --format or a suffix"),
    "no suffix on standard output": (["export", "kuhn", "--out", "-"], "--format is needed; expected one of efg"),
    "npz on standard output": (["export", "kuhn", "--format", "npz", "--out", "-"], "npz is binary and cannot be"),
    "png on standard output": (["export", "kuhn", "--format", "png", "--out", "-"], "png is binary and cannot be"),
    "no such folder": (["export", "kuhn", "--out", "absent/x.efg"], "--out: cannot write 'absent/x.efg': no such file"),
    "folder": (["export", "kuhn", "--format", "efg", "--out", "/"], "--out: cannot write '/': is a directory"),
    "empty name": (["export", "kuhn", "--format", "efg", "--out", ""], "--out: the file name is empty"),
    "unknown problem": (["export", "kuhn", "--problem", "nahs", "--out", "x.lp"], "did you mean nash?"),
    "problem of a tree": (["export", "kuhn", "--problem", "nash", "--out", "x.efg"], "is for mps, lp, but the format"),
    "matrices of three": (["export", "kuhn:players=3", "--out", "x.npz"], "matrices need two players, but"),
    "program of three": (["export", "kuhn:players=3", "--out", "x.mps"], "needs two players, but kuhn:players=3 has 3"),
    "picture of leduc": (["export", "leduc", "--out", "x.svg"], "too many for a readable picture"),
    "missing file": (["export", "absent.efg", "--out", "x.dot"], "absent.efg: no such file"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in run(capsys, *arguments, status=2)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", ["efg", "graphml", "json", "dot", "svg"])
def test_games_without_a_tree_are_refused_by_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_matrices(load_game("kuhn"), "matrices.npz")
    refused = run(capsys, "export", "matrices.npz", "--out", f"x.{name}", status=2)
    assert refused == f"matrices.npz has no histories to write as {name}; use one of npz, mps, lp"
    assert "transit:width=3 has no histories" in run(
        capsys, "export", "transit:width=3", "--out", f"x.{name}", status=2
    )


def test_flows_are_exported_as_matrices(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "export", "transit:width=3", "--out", "transit.npz")
    assert load_game("transit.npz").fingerprint == load_game("transit:width=3").fingerprint


def test_programs_need_zero_sum_payoffs(capsys: pytest.CaptureFixture[str]) -> None:
    write_matrices(SequenceForm.from_payoff_matrix([[1, 0]], [[1, 1]]), "general.npz")
    assert "nash needs a zero-sum game" in run(capsys, "export", "general.npz", "--out", "x.mps", status=2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("name", ["efg", "json", "npz", "mps", "dot"])
def test_a_full_disk_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "/dev/full" in run(capsys, "export", "kuhn", "--format", name, "--out", "/dev/full", status=2)


def test_help_names_every_format(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = run(capsys, "export", "--help")
    assert all(name in shown for name in FORMATS)


# GAME as a file or a game of OpenSpiel


def test_names_of_files_may_hold_anything(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder with.dots").mkdir()
    names = [
        "x:y.efg",
        "openspiel.json",
        "kuhn.efg",
        "kuhn:y.json",
        "C:\\games\\x.graphml",
        "folder with.dots/a,b=c.npz",
        "é.EFG",
    ]
    for name in names:
        kind = Path(name).suffix[1:].lower()
        run(capsys, "export", "kuhn", "--format", kind, "--out", name)
        game = load_game(name)
        assert (game.name, game.spec, game.parameters) == (Path(name).stem, name, {})
        assert game.fingerprint == load_game("kuhn").fingerprint
        assert load_game(Path(name)).spec == name


def test_games_of_the_registry_come_before_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("kuhn").mkdir()
    Path("rps").write_text("no game", encoding="utf-8")
    assert load_game("kuhn").rules is not None
    assert load_game("rps").rules is not None


BAD_FILES = {
    "missing": ("absent.json", "absent.json: no such file"),
    "folder": ("folder", "folder: it is a directory, expected a file"),
    "folder with a suffix": ("folder.efg", "folder.efg: it is a directory, expected a file"),
    "another suffix": ("game.grahpml", "the suffix is '.grahpml' (did you mean .graphml?)"),
    "text": ("game.txt", "game.txt: the suffix is '.txt'; expected one of .efg"),
    "no suffix": ("./game", "./game: the name has no suffix"),
    "broken JSON": ("broken.json", "broken.json: line 2, column 1: not JSON"),
    "broken efg": ("broken.efg", "broken.efg: line 1, column 1: "),
    "broken GraphML": ("broken.graphml", "broken.graphml: line 1, column 1: not XML"),
    "broken npz": ("broken.npz", "broken.npz: not an .npz archive of arrays"),
    "no game": ("forgets.json", "forgets.json: node 0 lies on a cycle"),
    "parameters": ("broken.json:cards=3", "broken.json: a game in a file takes no parameters, received cards=3"),
    "zero byte": ("zero\0byte.efg", "zero\\x00byte.efg: no such file: the name contains a zero byte"),
    "odd slashes": (".//broken.efg", ".//broken.efg: line 1, column 1: "),
    "almost OpenSpiel": ("opnspiel:kuhn_poker", "unknown game 'opnspiel' (did you mean openspiel:NAME?)"),
    "long name": ("x" * 5000 + ".efg", "cannot read the file: file name too long"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_one_line(spec: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    Path("folder.efg").mkdir()
    for kind in SUFFIXES:
        Path(f"broken{kind}").write_text("{\n!", encoding="utf-8")
    loop = {"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 0}]}
    Path("forgets.json").write_text(json.dumps(loop), encoding="utf-8")
    refused = run(capsys, "info", spec, status=2)
    assert words in refused
    assert refused.count("broken.") <= 1


def test_a_symbolic_link_to_nothing_yet_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    Path("link.json").symlink_to("game.json")
    run(capsys, "export", "kuhn", "--out", "link.json")
    assert Path("link.json").is_symlink()
    assert load_game("game.json").tree.num_nodes == 58


def test_parameters_by_keyword_are_refused_for_files_and_openspiel() -> None:
    with pytest.raises(GameFileError, match=r"x\.efg: a game in a file takes no parameters, received cards=3"):
        load_game("x.efg", cards=3)
    with pytest.raises(UnknownGameError, match="parameters are part of the name"):
        load_game("openspiel:kuhn_poker", players=3)


def test_a_file_that_cannot_be_read_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("loop.json").symlink_to("loop.json")
    assert "loop.json: cannot read the file: too many levels of symbolic links" in run(
        capsys, "info", "loop.json", status=2
    )


def test_openspiel_games_are_games(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspiel")
    record = json.loads(run(capsys, "solve", "openspiel:kuhn_poker", "--json", "-"))
    assert record["value"] == pytest.approx(-1 / 18)
    run(capsys, "export", "openspiel:kuhn_poker", "--out", "openspiel.json")
    assert load_game("openspiel.json").fingerprint == load_game("openspiel:kuhn_poker").fingerprint


def test_matrices_are_no_pickle(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "export", "kuhn", "--out", "kuhn.npz")
    with zipfile.ZipFile("kuhn.npz") as archive:
        assert all(b"pickle" not in archive.read(name) for name in archive.namelist())


def test_a_loaded_game_is_a_game_like_any_other() -> None:
    write_matrices(load_game("matching_pennies"), "pennies.npz")
    game = load_game("pennies.npz")
    assert isinstance(game, Game)
    assert repr(game) == "Game('pennies.npz')"


def test_a_problem_that_needs_more_than_the_game_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["export", "kuhn", "--out", str(tmp_path / "kuhn.lp"), "--problem", "rnr"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert "write --problem rnr:opponent=O,p=P" in shown.err
