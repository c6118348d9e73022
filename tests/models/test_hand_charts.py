"""Charts of hands: what they show is what the node says."""

import numpy as np
import pytest
from toy_spots import solved_toy

from treeplex.models.games.holdem.charts import action_colours
from treeplex.models.games.holdem.classes import CLASSES
from treeplex.seqform import InvalidGameError

pytest.importorskip("phevaluator")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def toy():
    return solved_toy("AcKc:0.5, 8h7h")


def cells(figure):
    """Return what is drawn in each cell above its background: widths, heights and colours, from the left."""
    from matplotlib.colors import to_hex

    found = {}
    for patch in figure.axes[0].patches:
        place = CLASSES[13 * int(patch.get_y() + patch.get_height() - 0.01) + int(patch.get_x())]
        found.setdefault(place, []).append(patch)
    return {
        name: [
            (one.get_width() / 0.95, one.get_height() / 0.95, to_hex(one.get_facecolor()).upper()) for one in some[1:]
        ]
        for name, some in found.items()
    }


def texts(figure):
    return [text.get_text() for axes in [figure, *figure.axes] for text in axes.texts]


def test_cells_are_as_wide_as_actions_are_frequent_and_as_high_as_hands_are_there(toy):
    node = toy.at()
    drawn, colours = cells(node.figure()), action_colours(node.actions)
    assert set(drawn) == set(CLASSES)
    (bet, check) = drawn["AKs"]  # the nuts always bet, and are one of four
    assert bet == (pytest.approx(1.0), pytest.approx(0.5 / 4), colours["all-in"])
    assert check[0] == pytest.approx(0.0, abs=1e-9)
    (bet, check) = drawn["87s"]
    assert (bet[0], check[0]) == pytest.approx((0.25, 0.75))
    assert bet[1] == pytest.approx(1 / 4)
    assert drawn["AA"] == []


def test_titles_say_where_it_is(toy):
    said = texts(toy.at("all-in").figure())
    assert {"Q♣", "J♣", "9♣", "3♦", "2♦"} <= set(said)
    assert "IP to act  ·  all-in" in said
    assert any(text.startswith("pot 200  ·  EV ") for text in said)
    legend = [text.get_text() for text in toy.at("all-in").figure().legends[0].get_texts()]
    assert [name.split()[0] for name in legend] == ["fold", "call"]
    assert sum(float(name.split()[1][:-1]) for name in legend) == pytest.approx(100.0, abs=0.11)


@pytest.mark.parametrize("by", ["ev", "equity"])
def test_cells_are_shaded_by_what_hands_are_worth(toy, by):
    figure = toy.at().figure(by=by)
    drawn = cells(figure)
    assert len(drawn["AKs"]) == len(drawn["87s"]) == 1
    assert drawn["AKs"][0][2] != drawn["87s"][0][2]
    assert {"ev": "150", "equity": "100%"}[by] in texts(figure)


def test_who_waits_has_a_chart_of_its_hands(toy):
    drawn = cells(toy.at().figure("ip"))
    assert [name for name, some in drawn.items() if some] == ["QQ"]
    assert drawn["QQ"][0][1] == pytest.approx(1 / 3)


def test_actions_have_colours_that_differ_also_in_grey():
    colours = action_colours(["fold", "call", "raise 100", "raise 200", "raise 400", "all-in"])
    assert len(set(colours.values())) == 6
    shades = {
        name: np.dot([int(colour[place : place + 2], 16) for place in (1, 3, 5)], [0.3, 0.59, 0.11])
        for name, colour in colours.items()
    }
    assert shades["raise 100"] > shades["raise 200"] > shades["raise 400"]
    assert min(shades.values()) > 100  # black is read on all of them


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_charts_become_files(toy, tmp_path, suffix):
    toy.at().plot(tmp_path / f"chart{suffix}", by="ev")
    assert (tmp_path / f"chart{suffix}").read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_what_charts_do_not_show_is_refused(toy):
    with pytest.raises(InvalidGameError, match="by is 'suit', expected action, ev or equity"):
        toy.at().figure(by="suit")


# Headings, units and pages


def test_a_heading_of_a_long_line_fits_the_page(toy):
    from treeplex.models.games.holdem.charts import _fitted

    for count in (1, 6, 12, 60):
        text = f"OOP to act  ·  {', '.join(f'raise {100 * number}' for number in range(count))}"
        lines, size = _fitted(text, 4.6)
        assert len(lines) <= 2
        assert max(map(len, lines)) * 0.0083 * size <= 4.6 + 1e-9
        assert lines[-1].endswith(text[-10:])  # the last actions are always there


def test_charts_have_the_unit_of_their_node(toy):
    node = toy.at("all-in")
    said = texts(node.in_unit("pot").figure("oop", by="ev"))
    assert f"pot 200  ·  EV {node.averages['oop ev'] / 2:.2f}% of pot  ·  equity 66.7%" in said
    assert "EV in % of pot" in said
    (nuts,) = [row["ev"] for row in node.classes("oop", only="AcKc")]
    assert f"{nuts / 2:.0f}" in said


def test_a_pdf_of_a_chart_is_one_page(toy, tmp_path):
    import re

    toy.at().plot(tmp_path / "chart.pdf")
    written = (tmp_path / "chart.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", written)) == 1
    width, height = map(float, re.search(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)", written).groups())
    assert width / 72 <= 8.27 - 0.8  # A4 and US letter, with margins
    assert height / 72 <= 11 - 0.8


# Graphs


def test_the_graph_shows_each_range_by_equity(toy):
    node = toy.at("all-in")
    figure = node.graph()
    equity, worth = figure.axes
    oop, ev = equity.get_lines()[0], worth.get_lines()[0]
    assert (oop.get_xdata()[0], oop.get_xdata()[-1]) == (0.0, pytest.approx(100.0))
    assert list(oop.get_ydata()) == sorted(oop.get_ydata())
    # The mean over the range is the area below the curve.
    area = float(np.sum(np.diff(oop.get_xdata()) * oop.get_ydata()[1:])) / 100.0
    assert area == pytest.approx(100.0 * node.averages["oop equity"])
    area = float(np.sum(np.diff(ev.get_xdata()) * ev.get_ydata()[1:])) / 100.0
    assert area == pytest.approx(node.averages["oop ev"])
    names = [text.get_text() for text in worth.get_legend().get_texts()]
    assert names == [f"{seat.upper()}, {node.averages[f'{seat} ev']:.2f} chips on average" for seat in ("oop", "ip")]


def test_no_graph_without_hands_of_two_players():
    from treeplex import UnsupportedProblemError

    solved = solved_toy("8h7h")  # air alone would always be called, and never bets
    with pytest.raises(UnsupportedProblemError, match="no hands of two players reach this node"):
        solved.at("all-in").graph()


# Units


@pytest.mark.parametrize(
    ("text", "native", "message"),
    [
        ("big", "chips", "unit is 'big', expected chips, bb, bb=CHIPS or pot"),
        ("chip", "chips", r"expected chips, bb, bb=CHIPS or pot \(did you mean chips\?\)"),
        ("bb", "chips", "a spot does not state its big blind; expected its chips, as in bb=2"),
        ("bb=0", "chips", "unit is 'bb=0', expected a positive number of chips, as in bb=2"),
        ("bb=two", "chips", "expected a positive number of chips"),
        ("pot=3", "chips", "unit is 'pot=3', expected pot; only bb takes a number"),
        ("bb=2", "bb", "unit is 'bb=2', expected bb"),
        ("chips", "bb", "this game is played in big blinds; expected bb or pot"),
    ],
)
def test_units_that_do_not_exist_are_refused(text, native, message):
    from treeplex.models.games.holdem.units import Unit
    from treeplex.seqform.errors import InvalidOptionError

    with pytest.raises(InvalidOptionError, match=message):
        Unit.parse(text, native)


def test_tables_and_csv_have_the_unit_of_their_node_and_json_has_chips(toy):
    node = toy.at("all-in")
    blinds, share = node.in_unit("bb=2"), node.in_unit("pot")
    assert "EV oop" in str(node)
    assert f"EV oop {node.averages['oop ev'] / 2:.3f} BB" in str(blinds)
    assert f"EV oop {node.averages['oop ev'] / 2:.2f}% of pot" in str(share)  # the pot is 200
    assert "pot 100 BB" in str(blinds)
    assert "pot 200" in str(share)
    plain = node.hands("oop")
    for other, factor, name in ((blinds, 0.5, "ev (BB)"), (share, 0.5, "ev (% of pot)")):
        heading, *lines = other.hands("oop").to_csv().splitlines()
        assert heading.split(",")[4] == name
        assert [float(line.split(",")[4]) for line in lines] == [row["ev"] * factor for row in plain]
        assert other.to_dict() == node.to_dict()
        assert other.averages == node.averages
    assert plain.to_csv().split(",")[4] == "ev"
    pytest.importorskip("pandas")
    frame = blinds.classes("oop").to_frame()
    assert frame.shape == (169, len(node.classes("oop").headings))
    assert frame["ev (BB)"].dropna().tolist() == [row["ev"] / 2 for row in node.classes("oop") if row["ev"] is not None]


def test_classes_can_be_chosen(toy):
    rows = toy.at().classes(only="AKs, 87s, 22")
    assert [row["class"] for row in rows] == ["AKs", "87s", "22"]
    assert rows[2]["ev"] is None
