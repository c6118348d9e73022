"""The page of a solved spot: what it embeds, and what it shows when it is used in a browser."""

import base64
import json
import re
from html import unescape

import numpy as np
import pytest
from chromium import opened, overflows
from effort import thorough
from toy_spots import solved_toy

from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.games.holdem.browser import spot_page
from treeplex.seqform import InvalidGameError
from treeplex.seqform.interchange.page import prose
from treeplex.seqform.public_profile import PublicProfile

pytest.importorskip("phevaluator")


@pytest.fixture(scope="module")
def toy():
    return solved_toy(certificate={"method": "<img src=x onerror=alert(1)>"})


@pytest.fixture(scope="module")
def turn():
    spot = HoldemSpot("Td9d6hQc", ["AdKd:0.5, 8h7h, QQ", "JJ, AhTh, 8h7h"], 40, 60, Betting("50%", "a"))
    form, generator = spot.public_form, np.random.default_rng(4)
    played = {
        node: generator.random((len(form.children[node]), len(form.states[form.players[node]])))
        for node in form.decisions.tolist()
    }
    return SolvedSpot(spot, PublicProfile(form, played))


def embedded(page):
    html = page.to_html()
    tree, numbers = (re.search(f'data-{name}="([^"]*)"', html)[1] for name in ("spot", "numbers"))
    return json.loads(unescape(tree)), np.frombuffer(base64.b64decode(numbers), dtype="<u2")


def test_a_page_holds_the_numbers_of_its_nodes(toy):
    tree, words = embedded(spot_page(toy))
    nodes = tree["nodes"]
    assert len(nodes["mover"]) == len(toy.form.players)
    assert [tree["names"][label] for label in nodes["label"]] == list(map(str, toy.form.actions))
    place = nodes["at"][0]
    plays = words[place : place + 4].reshape(2, 2) / 65534
    assert plays == pytest.approx(toy.at().strategy, abs=1e-5)
    for number, expected in enumerate(toy.at().action_evs):
        start = place + 4 + 6 * number
        low, high = words[start : start + 4].view("<f4")
        evs = low + (high - low) * words[start + 4 : start + 6] / 65534
        assert evs == pytest.approx(expected, abs=1e-3)
    # Two actions at each of four nodes, two hands and one; two floats before each line of EVs.
    assert len(words) == sum(2 * 2 * mine + 3 * 4 + 2 * (3 - mine) + mine for mine in (2, 1, 1, 2))


def test_texts_of_a_file_are_text(toy):
    html = spot_page(toy, again="treeplex solve <b>").to_html()
    assert "<img" not in html
    assert "treeplex solve &lt;b&gt;" in html
    assert html.count("<script>") == 1


def test_what_does_not_fit_is_left_out_and_said(turn):
    all_of_it = spot_page(turn)
    whole, _ = embedded(all_of_it)
    page = spot_page(turn, cards=["7s"], limit=12_000)
    tree, _ = embedded(page)
    assert len(tree["nodes"]["mover"]) < len(whole["nodes"]["mover"]) / 4
    dealt = {
        tree["names"][label]
        for label, parent in zip(tree["nodes"]["label"], tree["nodes"]["parent"], strict=True)
        if parent >= 0 and tree["nodes"]["mover"][parent] == -1
    }
    assert "7s" in dealt
    assert 1 <= len(dealt) < 48
    assert f"The numbers of {len(dealt) + 1} of 49 boards are on this page" in page.to_html()
    assert "are on this page" not in all_of_it.to_html()
    with pytest.raises(InvalidGameError, match="no board of the spot has the runout Td"):
        spot_page(turn, cards=["Td"])


@thorough
def test_a_river_in_a_browser(toy, tmp_path, chromium):
    path = tmp_path / "river.html"
    spot_page(toy, more=[prose("a block below")]).save(path)
    with opened(chromium, path) as page:
        assert page.locator(".hand").count() == 169
        assert page.locator(".board .card").all_text_contents() == ["Q♣", "J♣", "9♣", "3♦", "2♦"]
        assert page.locator(".step").count() == 1
        assert page.locator(".step .much").all_text_contents() == ["25.0%", "75.0%"]
        assert page.locator(".pair tbody tr").all_text_contents() == ["OOP75.0050.0%", "IP25.0050.0%"]
        rows = page.locator(".spot-table tbody tr")
        assert [row.split("%")[0] for row in rows.all_text_contents()] == ["A♣K♣150.00100.0", "8♥7♥0.000.0"]
        page.locator(".spot-table th button").nth(1).click()  # EV again: the least first
        assert rows.first.text_content().startswith("8♥7♥")
        page.locator(".hand", has_text="AKs").click()
        assert rows.count() == 1
        assert "1 of 2 hands, AKs" in page.locator(".chosen").text_content()
        # The bet is faced, and called half of the time.
        page.locator(".step:last-child .act", has_text="all-in").click()
        assert page.locator(".step").count() == 2
        assert page.locator(".step.shown .much").all_text_contents() == ["50.0%", "50.0%"]
        assert "pot 200" in page.locator(".spot-head").text_content()
        assert rows.all_text_contents()[0].startswith("Q♥Q♦") or rows.all_text_contents()[0].startswith("Q♦Q♥")
        page.locator(".step:last-child .act", has_text="call").click()
        assert "Showdown" in page.locator(".step.end").text_content()
        page.get_by_role("button", name="Equity", exact=True).click()
        assert page.locator(".hand small").all_text_contents() == ["33%"]
        page.locator(".step .who").first.click()
        assert page.locator(".hand small").all_text_contents() == ["100%", "0%"]
        page.get_by_role("button", name="IP", exact=True).click()
        assert rows.count() == 1
        page.get_by_role("button", name="Actions", exact=True).click()
        assert page.locator("text=a block below").count() == 1
    with opened(chromium, path, width=390) as page:
        assert not overflows(page)
        assert page.locator(".hand").first.bounding_box()["width"] > 20


@thorough
def test_printing_a_page_prints_its_chart(toy, tmp_path, chromium):
    path = tmp_path / "river.html"
    spot_page(toy, more=[prose(f"line {number}") for number in range(200)]).save(path)
    with opened(chromium, path) as page:
        for size in ("A4", "Letter"):
            assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=size))) == 1
        assert page.locator(".unprinted").count() == 0  # afterwards the page is as before
        # What each button prints, on paper.
        page.emulate_media(media="print")
        page.evaluate(
            "window.print = () => { dispatchEvent(new Event('beforeprint')); "
            "window.seen = ['.hands', '.printed', '.spot-table', 'h1', 'footer'].map(one => "
            "document.querySelector(one).checkVisibility()); dispatchEvent(new Event('afterprint')); }"
        )
        for button, seen in (("Print chart", [True, True, False, False, False]), ("Print all", [True] * 5)):
            page.get_by_text(button, exact=True).dispatch_event("click")
            assert page.evaluate("window.seen") == seen


@thorough
def test_a_turn_in_a_browser(turn, tmp_path, chromium):
    path = tmp_path / "turn.html"
    spot_page(turn, cards=["7s", "2c"], limit=20_000).save(path)
    with opened(chromium, path) as page:
        for action in ("check", "check"):
            page.locator(".step:last-child .act", has_text=action).click()
        assert page.locator(".deck button").count() == 52
        assert page.get_by_role("button", name="Td", exact=True).is_disabled()
        assert page.locator(".runouts tbody tr").count() > 2
        assert "are not on this page" in page.locator(".runouts").text_content()
        page.get_by_role("button", name="7s", exact=True).click()
        node = turn.at("check, check, deal 7s")
        shares = [f"{100 * node.averages[action]:.1f}%" for action in node.actions]
        assert page.locator(".step.shown .much").all_text_contents() == shares
        cells = page.locator(".pair tbody td").all_text_contents()
        assert [float(cell.replace("−", "-")) for cell in cells[::2]] == pytest.approx(
            [node.averages["oop ev"], node.averages["ip ev"]], abs=0.006
        )
        assert cells[1] == f"{100 * node.averages['oop equity']:.1f}%"
        table = node.hands()
        first = page.locator(".spot-table tbody tr").first.locator("td").all_text_contents()
        assert float(first[0].replace("−", "-")) == pytest.approx(table[0]["ev"], abs=0.006)
        page.locator(".step:last-child .act", has_text="bet 20").click()
        after = turn.at("check, check, 7s, bet 20")
        rows = page.locator(".spot-table tbody tr")
        assert rows.count() == sum(row["reach"] > 5e-4 for row in after.hands())
        folds = [row.locator("td").nth(5).text_content() for row in rows.all()]
        assert set(folds) == {"0.00"}  # EV of a fold
