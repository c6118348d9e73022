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
