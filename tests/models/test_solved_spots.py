"""What is read of a solved spot: by hand, on average, and by the next card."""

import csv
import io
import json
from itertools import combinations

import numpy as np
import pytest
from toy_spots import solved_toy

from treeplex import GameFileError, Nash, solve
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.games.holdem.classes import CLASSES
from treeplex.seqform import InvalidGameError
from treeplex.seqform.interchange.files import read_archive, write_archive
from treeplex.seqform.public_profile import PublicProfile

phevaluator = pytest.importorskip("phevaluator")


@pytest.fixture(scope="module")
def toy():
    return solved_toy()


@pytest.fixture(scope="module")
def turn():
    """A turn on which everybody plays at random, by a seed."""
    ranges = ["AdKd:0.5, 8h7h, QQ, 5s4s", "JJ, AhTh, 6s5s:0.25, 8h7h"]
    spot = HoldemSpot("Td9d6hQc", ranges, 40, 60, Betting("50%", "a"))
    form, generator = spot.public_form, np.random.default_rng(4)
    played = {
        node: generator.random((len(form.children[node]), len(form.states[form.players[node]])))
        for node in form.decisions.tolist()
    }
    return SolvedSpot(spot, PublicProfile(form, played))


def test_a_spot_solved_by_hand_reads_as_it_was_solved(toy):
    bets = {row["hand"]: row["all-in"] for row in toy.at().hands()}
    assert bets == pytest.approx({"AcKc": 1.0, "8h7h": 0.5}, abs=1e-9)
    assert {row["hand"]: row["ev"] for row in toy.at().hands()} == pytest.approx({"AcKc": 150.0, "8h7h": 0.0}, abs=1e-7)
    facing = toy.at("all-in")
    assert facing.averages == pytest.approx(
        {"oop ev": 200.0, "ip ev": 0.0, "oop equity": 2 / 3, "ip equity": 1 / 3, "fold": 0.5, "call": 0.5}, abs=1e-7
    )
    assert facing.pot == 200
    assert facing.hands()[0]["ev fold"] == pytest.approx(0.0, abs=1e-9)  # a fold is worth 0
    assert facing.probability == pytest.approx(0.75)


def test_evs_add_up_to_the_pot_at_every_node(turn):
    form = turn.form
    for node in range(0, len(form.players), 17):
        read = turn.at(", ".join(map(str, form.path(node))))
        assert read.averages["oop ev"] + read.averages["ip ev"] == pytest.approx(read.pot, abs=1e-9)
        assert read.averages["oop equity"] + read.averages["ip equity"] == pytest.approx(1.0, abs=1e-12)


def test_evs_of_actions_weighed_by_the_strategy_are_those_of_hands(turn):
    for line in ("", "check, bet 20", "check, check, deal 7s", "check, check, 7s, bet 20"):
        for row in (node := turn.at(line)).hands():
            assert sum(row[name] for name in node.actions) == pytest.approx(1.0)
            assert sum(row[name] * row[f"ev {name}"] for name in node.actions) == pytest.approx(row["ev"], abs=1e-9)
        assert sum(row["weight"] for row in node.hands()) == pytest.approx(1.0)


def test_equities_count_every_river_and_every_hand(turn):
    """By brute force, after a bet: reaches of the other player weigh its hands."""
    node, board = turn.at("check, bet 20"), turn.spot.cards
    reach = node.reaches[1]
    for row in node.hands("oop"):
        mine = HANDS[turn.spot.hands[0][turn.form.states[0].index(row["hand"])]].tolist()
        won = total = 0.0
        for theirs, weight in zip(HANDS[turn.spot.hands[1]].tolist(), reach.tolist(), strict=True):
            known = {*board, *mine, *theirs}
            if len(known) < 8:
                continue
            for card in set(range(52)) - known:
                a, b = (phevaluator.evaluate_cards(*board, card, *hand) for hand in (mine, theirs))
                won += weight * ((a < b) + 0.5 * (a == b))
                total += weight
        assert row["equity"] == pytest.approx(won / total, abs=1e-12)


def test_a_spot_has_the_equity_that_its_root_has(turn):
    average = turn.at().averages
    assert (average["oop equity"], average["ip equity"]) == pytest.approx(turn.spot.equity, abs=1e-12)


def test_a_line_by_the_next_card_averages_to_the_line(turn):
    before, table = turn.at("check, check"), turn.runouts("check, check")
    assert len(table) == 49
    mean, rows = table[0], list(table)[1:]
    assert mean["card"] == "all"
    assert sum(row["weight"] for row in rows) == pytest.approx(1.0)
    for name in ("oop ev", "ip ev", "oop equity", "ip equity"):
        assert mean[name] == pytest.approx(before.averages[name], abs=1e-9)
    # Cards that ranges hold come less often.
    weights = {row["card"]: row["weight"] for row in rows}
    assert weights["Qs"] < weights["2c"]
    assert [row["card"] for row in rows][:5] == ["As", "Ah", "Ad", "Ac", "Ks"]


def test_a_line_by_a_card_goes_on_after_it(turn):
    table = turn.runouts("check, check, deal *, bet 20")
    row = next(row for row in table if row["card"] == "7s")
    assert row["fold"] == pytest.approx(turn.at("check, check, 7s, bet 20").averages["fold"])
    assert "then bet 20" in table.title


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check, bet 25", "there is no 'bet 25' after check.*did you mean bet 20.*; expected check, bet 20 or all-in"),
        ("check, check, deal Td", "there is no 'deal Td' after check, check; expected 2c, 2d, 2h"),
        ("check, fold", "there is no 'fold' after check"),
    ],
)
def test_lines_that_are_none_are_refused_where_they_are_wrong(turn, line, message):
    with pytest.raises(InvalidGameError, match=message):
        turn.at(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "no card is dealt at the root; expected check, bet 20 or all-in"),
        ("check", "no card is dealt after check; expected check, bet 20 or all-in"),
        ("bet 20, fold", "no card is dealt after bet 20, fold; the hand ends there"),
        ("check, check, *, check, check, *", r"deal \* appears 2 times"),
        ("check, check, *, call", "there is no 'call' after check, check, 2c"),
    ],
)
def test_lines_without_a_card_have_no_table_by_card(turn, line, message):
    with pytest.raises(InvalidGameError, match=message):
        turn.runouts(line)


def test_seats_and_hands_that_are_none_are_refused(turn):
    with pytest.raises(InvalidGameError, match="seat is 'bb', expected oop or ip"):
        turn.at().hands("bb")
    with pytest.raises(InvalidGameError, match="range at character 1"):
        turn.at().hands(only="XX")


def test_classes_average_their_hands(turn):
    node = turn.at("check")
    table = {row["class"]: row for row in node.classes("oop")}
    assert len(table) == 169
    assert list(table)[:3] == ["AA", "AKs", "AQs"]
    assert list(table)[13] == "AKo"
    queens = [row for row in node.hands("oop") if row["class"] == "QQ"]
    assert len(queens) == 3  # of six: the board has a queen
    weight = sum(row["weight"] for row in queens)
    assert table["QQ"]["ev"] == pytest.approx(sum(row["weight"] * row["ev"] for row in queens) / weight)
    assert table["QQ"]["reach"] == pytest.approx(sum(row["reach"] for row in queens) / 3)
    assert table["AA"]["ev"] is None
    assert sum(row["weight"] for row in table.values()) == pytest.approx(1.0)


def test_classes_are_all_there_once():
    assert len(set(CLASSES)) == 169
    assert {name for name in CLASSES if len(name) == 2} == {rank * 2 for rank in "23456789TJQKA"}
    assert sum(1 for name in CLASSES if name.endswith("s")) == len(list(combinations(range(13), 2)))


def test_hands_by_name_say_what_both_seats_have(turn):
    found = turn.at("check").by_hand(["8h7h", "AdKd"])
    assert set(found["8h7h"]["ip"]["strategy"]) == set(turn.at("check").actions)
    assert found["8h7h"]["oop"]["strategy"] is None
    assert found["AdKd"]["ip"] is None
    assert found["AdKd"]["oop"]["ev"] == pytest.approx(turn.at("check").hands("oop", only="AdKd")[0]["ev"])


def test_tables_become_text_files_and_frames(turn, tmp_path):
    table = turn.at().hands()
    lines = str(table).splitlines()
    assert lines[0] == "oop at the root, board Td 9d 6h Qc, pot 40"
    assert len({len(line) for line in lines[1:]}) == 1
    assert lines[1].split()[:6] == ["hand", "class", "reach", "weight", "ev", "equity"]
    table.save(tmp_path / "hands.csv")
    table.save(tmp_path / "hands.json")
    read = list(csv.DictReader(io.StringIO((tmp_path / "hands.csv").read_text())))
    assert float(read[0]["ev"]) == table[0]["ev"]
    assert json.loads((tmp_path / "hands.json").read_text())["rows"][0]["ev"] == table[0]["ev"]
    assert "first 20 of 7 rows" not in table._repr_html_()
    with pytest.raises(GameFileError, match=r"a table with suffix '.xlsx', expected .csv or .json"):
        table.save(tmp_path / "hands.xlsx")
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(table.to_frame(), pandas.DataFrame(list(table)))


def test_a_node_as_plain_data_is_json(turn):
    plain = json.loads(json.dumps(turn.at("check, bet 20").to_dict()))
    assert plain["at"] == "check, bet 20"
    assert plain["mover"] == "oop"
    assert plain["actions"] == ["fold", "call", "all-in"]
    assert len(plain["hands"]["oop"]) == 6


def test_nodes_that_nobody_reaches_have_no_averages():
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc", "QdQh"], 100, 100, Betting("100%", "a"))
    form = spot.public_form
    played = {node: np.eye(2)[:, [0] * len(form.states[form.players[node]])] for node in form.decisions.tolist()}
    node = SolvedSpot(spot, PublicProfile(form, played)).at("all-in")
    assert node.averages["oop ev"] is None
    assert "fold –" in str(node)
    assert node.evs[0][0] == pytest.approx(200.0)  # what the hand would earn against the reply that is there
    assert np.isnan(node.evs[1][0])


# The file


@pytest.mark.parametrize(("precision", "off"), [("single", 1e-7), ("half", 2e-5)])
def test_a_file_opens_without_solving_again(turn, tmp_path, precision, off):
    path = tmp_path / "turn.npz"
    turn.save(path, precision)
    read = SolvedSpot.load(path)
    assert (read.spot.board, read.spot.pot, read.spot.stack) == ("Td9d6hQc", 40, 60)
    for line in ("", "check, check, deal 7s"):
        one, other = turn.at(line).averages, read.at(line).averages
        assert one == pytest.approx(other, abs=100 * off)
        assert read.at(line).strategy == pytest.approx(turn.at(line).strategy, abs=off)
    # What it states is of what is in it.
    assert read.certificate["exploitability"] == pytest.approx(read.profile.exploitability, abs=1e-12)
    assert read.certificate["ev"] == pytest.approx([read.at().averages[f"{seat} ev"] for seat in ("oop", "ip")])


def test_half_precision_takes_less_room(turn, tmp_path):
    turn.save(tmp_path / "single.npz")
    turn.save(tmp_path / "half.npz", "half")
    numbers = len(read_archive(tmp_path / "half.npz")[1]["behaviour"])
    single, half = ((tmp_path / f"{name}.npz").stat().st_size for name in ("single", "half"))
    assert single - half == pytest.approx(2 * numbers, abs=100)


def test_certificates_are_kept(toy, tmp_path):
    SolvedSpot(toy.spot, toy.profile, {"method": "dcfr", "iterations": 900}).save(tmp_path / "a.npz")
    assert SolvedSpot.load(tmp_path / "a.npz").certificate["method"] == "dcfr"


def test_what_is_not_such_a_file_is_refused(toy, tmp_path):
    path = tmp_path / "toy.npz"
    toy.save(path)
    metadata, arrays = read_archive(path)
    for changed, given, message in [
        ({"version": 2}, {}, "version 2, expected treeplex solved spot, version 1"),
        ({"spot": 3}, {}, "the spot, the certificate or the behaviour is missing"),
        ({"spot": "pot = 1"}, {}, "board is missing"),
        ({}, {"behaviour": np.ones(3, dtype=np.float32)}, "its behaviour has 3 numbers, but its tree needs 12"),
        ({}, {"behaviour": np.ones(12)}, "its behaviour is float64"),
        ({}, {"behaviour": np.full(12, np.nan, dtype=np.float32)}, "negative or not finite"),
    ]:
        write_archive(path, metadata | changed, {"behaviour": arrays["behaviour"]} | given)
        with pytest.raises(GameFileError, match=message):
            SolvedSpot.load(path)
    path.write_text("a text")
    with pytest.raises(GameFileError, match="is not the file of a solved spot"):
        SolvedSpot.load(path)
    with pytest.raises(GameFileError, match="no such file"):
        SolvedSpot.load(tmp_path / "none.npz")
    with pytest.raises(GameFileError, match=r"a solved spot can only be written as .npz"):
        toy.save(tmp_path / "toy.json")


def test_averages_leave_out_what_comes_too_rarely_to_have_a_value():
    """In position nearly always folds what out of position's aces can meet."""
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, AdKd", "AcKh, 8h7h"], 100, 100, Betting("100%", "a"))
    form = spot.public_form
    played = {node: np.ones((2, len(form.states[form.players[node]]))) for node in form.decisions.tolist()}
    node = form.find("check")
    raising, rare = form.find("check, all-in"), [str(hand) for hand in form.states[1]].index("8h7h")
    played[node][:, rare] = 1.0, 1e-15
    read = SolvedSpot(spot, PublicProfile(form, played)).at("check, all-in")
    assert form.players[raising] == 0
    assert np.isnan(read.evs[0]).any()
    assert read.likely[0][np.isnan(read.evs[0])].all()
    assert all(np.isfinite(value) for value in read.averages.values())


def test_a_spot_in_which_nobody_decides_is_kept(tmp_path):
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 0)
    SolvedSpot(spot, solve(Nash(spot.game), "dcfr").profile).save(tmp_path / "none.npz")
    assert SolvedSpot.load(tmp_path / "none.npz").at().averages["oop ev"] == pytest.approx(50.0)
