"""Solved spots in files: nodes are read without the tree, and hold what the whole computation finds."""

import numpy as np
import pytest

from treeplex import GameFileError
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot, node_numbers
from treeplex.models.games.holdem.bets import Betting
from treeplex.seqform.interchange.files import read_archive, write_archive
from treeplex.seqform.public_profile import PublicProfile


def drawn(spot, seed):
    """Return a spot in which everybody plays at random, some hands never some actions."""
    form, generator = spot.public_form, np.random.default_rng(seed)
    played = {}
    for node in form.decisions.tolist():
        shape = len(form.children[node]), len(form.states[form.players[node]])
        played[node] = np.where(generator.random(shape) < 0.3, 0.0, generator.random(shape))
    return SolvedSpot(spot, PublicProfile(form, played))


RANGES = ["AdKd:0.5, 8h7h, QQ, 5s4s", "JJ, AhTh, 6s5s:0.25, 8h7h"]
SPOTS = {
    "river": HoldemSpot("Td9d6hQc2s", RANGES, 40, 90, Betting("50%, 100%", "a")),
    "turn": HoldemSpot("Td9d6hQc", RANGES, 40, 60, Betting("50%", "a")),
    "raked": HoldemSpot("Td9d6hQc", RANGES, 40, 30, Betting("50%", "a"), rake=0.05, rake_cap=3),
}


@pytest.fixture(scope="module", params=SPOTS)
def solved(request):
    return drawn(SPOTS[request.param], 3)


@pytest.mark.parametrize(("swept", "precision"), [(0, "single"), (48, "half"), (700, "single")])
def test_nodes_of_a_file_have_the_numbers_of_the_whole_tree(solved, swept, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(node_numbers, "SWEPT", swept)
    solved.save(tmp_path / "spot.npz", precision)
    read = SolvedSpot.load(tmp_path / "spot.npz")
    again = SolvedSpot.load(tmp_path / "spot.npz")
    whole = SolvedSpot(again.spot, again.profile)
    form = whole.form
    for node in range(0, len(form.players), 1 + len(form.players) // 25):
        line = ", ".join(map(str, form.path(node)))
        one, other = read.at(line), whole.at(line)
        for name in ("evs", "equities", "reaches", "likely"):
            for mine, theirs in zip(getattr(one, name), getattr(other, name), strict=True):
                assert mine == pytest.approx(theirs, abs=1e-9, nan_ok=True)
        if one.actions:
            assert one.strategy == pytest.approx(other.strategy, abs=1e-12)
            assert one.action_evs == pytest.approx(other.action_evs, abs=1e-9, nan_ok=True)
        assert one.averages == pytest.approx(other.averages, abs=1e-9)
        assert (one.mover, one.actions, one.board, one.pot) == (other.mover, other.actions, other.board, other.pot)
    assert "_built" not in vars(read.spot)  # the tree, which only the whole profile needs


def test_runouts_of_a_file_are_those_of_the_whole_tree(tmp_path):
    drawn(SPOTS["turn"], 1).save(tmp_path / "turn.npz")
    read = SolvedSpot.load(tmp_path / "turn.npz")
    again = SolvedSpot.load(tmp_path / "turn.npz")
    whole = SolvedSpot(again.spot, again.profile)
    for line in ("check, check", "bet 20, call, *, check"):
        one, other = read.runouts(line), whole.runouts(line)
        assert one.title == other.title
        for mine, theirs in zip(one, other, strict=True):
            assert mine == pytest.approx(theirs, abs=1e-9)


def test_saving_reports_its_progress(tmp_path):
    shares = []
    drawn(SPOTS["turn"], 1).save(tmp_path / "turn.npz", progress=shares.append)
    assert len(shares) > 50
    assert shares == sorted(shares)
    assert (shares[0] < 0.1, shares[-1]) == (True, 1.0)


def test_values_of_a_file_are_not_taken_for_a_bound(tmp_path):
    """The profile has them computed again, whatever the file says."""
    path = tmp_path / "turn.npz"
    drawn(SPOTS["turn"], 1).save(path)
    honest = SolvedSpot.load(path)
    metadata, arrays = read_archive(path)
    forged = {name: 0.0 * array if name.startswith("values") else array for name, array in arrays.items()}
    write_archive(path, metadata | {"certificate": {"exploitability": 0.0}}, forged, packed=False)
    read = SolvedSpot.load(path)
    assert read.stated_exploitability == 0.0
    assert read.at().averages["oop ev"] == pytest.approx(20.0)  # as it says
    assert read.profile.exploitability == pytest.approx(honest.profile.exploitability, rel=1e-12)
    assert read.profile.value(0) == pytest.approx(honest.at().averages["oop ev"] - 20.0)


def test_files_without_places_are_read_as_a_whole(tmp_path):
    path = tmp_path / "turn.npz"
    drawn(SPOTS["turn"], 1).save(path)
    metadata, arrays = read_archive(path)
    write_archive(tmp_path / "before.npz", metadata, {"behaviour": arrays["behaviour"]})
    one, other = SolvedSpot.load(path), SolvedSpot.load(tmp_path / "before.npz")
    assert one.at("check").averages == pytest.approx(other.at("check").averages, abs=1e-9)
    # Packed files of any kind are read too.
    write_archive(tmp_path / "packed.npz", metadata, arrays)
    assert SolvedSpot.load(tmp_path / "packed.npz").at("check").averages == one.at("check").averages


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("children", lambda given: given[:-1], "its blocks are missing, or their number does not fit its tree"),
        ("children", lambda given: given + 10**9, "the children of node 0 are 1000000001 to 1000000004"),
        ("children", lambda given: given * 0, "the children of node 0 are 0 to 0"),
        ("children", lambda given: np.minimum(given, 3), "node 0 has 2 children, expected 3"),
        ("children", lambda given: given.astype(np.float64), "its children are missing"),
        ("blocks", lambda given: given[::-1], "its behaviour has .* numbers, but its tree needs 0"),
        ("blocks", lambda given: np.append(given[:-1] * 0, given[-1]), "its behaviour at node 0 has 0 numbers"),
        ("kept", lambda given: given + 1, "the values of node 0 are missing"),
        ("kept", lambda given: given[1:], "its values 0 are missing, or their number does not fit"),
        ("means", lambda given: given[1:], "its means are missing, or their number does not fit"),
        ("values 0", lambda given: given * np.inf, r"values of its nodes exceed 1e\+100"),
        ("equities 1", lambda given: given + 1, "values of its nodes exceed 1"),
        (
            "behaviour",
            lambda given: given * np.nan,
            "the behaviour at node 0 contains numbers that are negative or not",
        ),
        ("behaviour", lambda given: -given, "the behaviour at node 0 contains numbers that are negative or not finite"),
    ],
)
def test_a_damaged_file_is_refused_when_what_is_wrong_is_read(name, change, message, tmp_path):
    path = tmp_path / "turn.npz"
    drawn(SPOTS["turn"], 1).save(path)
    metadata, arrays = read_archive(path)
    with np.errstate(invalid="ignore"):
        write_archive(path, metadata, arrays | {name: change(arrays[name])}, packed=False)
    with pytest.raises(GameFileError, match=rf"turn.npz is a damaged file of a solved spot: {message}"):
        SolvedSpot.load(path).at("check").to_dict() if name == "children" else SolvedSpot.load(path).at().to_dict()


def test_a_subgame_that_does_not_fit_its_places_is_refused(tmp_path):
    path = tmp_path / "turn.npz"
    drawn(SPOTS["turn"], 1).save(path)
    metadata, arrays = read_archive(path)
    read = SolvedSpot.load(path)
    node = read.numbers._node(read.at("check, check, 7s, check").place)
    children = arrays["children"].copy()
    children[node + 1] -= 1  # an action less on that river
    write_archive(path, metadata, arrays | {"children": children}, packed=False)
    with pytest.raises(GameFileError, match=r"the subgame has more than .* nodes"):
        _ = SolvedSpot.load(path).at("check, check, 7s, check").evs
