"""Pages: text stays text, and a page needs nothing but itself."""

import base64
import hashlib
import re
from collections import Counter
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from chromium import opened, overflows
from effort import thorough

from treeplex import GameFileError
from treeplex.seqform.interchange.page import (
    Page,
    bullets,
    code_block,
    element,
    facts,
    figure_of,
    footer,
    fragment,
    heading,
    prose,
    reading,
    share,
    slider,
    table,
)

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&<!--\x00\u202e\ud800]]>"


def hostile_page() -> Page:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><text>a</text></svg>'
    return Page(
        HOSTILE,
        (
            heading(HOSTILE, 1),
            prose(HOSTILE, element("b", HOSTILE), HOSTILE),
            facts({HOSTILE: HOSTILE}),
            bullets([HOSTILE, [HOSTILE, element("i", HOSTILE)]]),
            code_block(HOSTILE),
            table([HOSTILE, "b"], [(HOSTILE, 0.5)] * 60, caption=HOSTILE, more=HOSTILE),
            figure_of(svg, HOSTILE),
            slider(HOSTILE, [0.0, 1.0], [[0.0, 1.0]], 0.5, HOSTILE, reading(0, 0.5)),
            footer(HOSTILE),
        ),
    )


def test_no_text_becomes_markup() -> None:
    html = hostile_page().to_html()
    tags: Counter[str] = Counter()
    names: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.update([tag])
            names.update(name for name, _ in attrs)

        def handle_comment(self, data: str) -> None:
            pytest.fail(data)

    Reader().feed(html)
    assert "img" not in tags
    assert tags["script"] == 1
    assert not [name for name in names if name.startswith("on")]
    html.encode()  # lone surrogates are escaped
    assert "\x00" not in html
    assert "\u202e" not in html


def test_a_page_runs_its_own_script_and_asks_nobody() -> None:
    html = hostile_page().to_html()
    script = re.search("<script>(.*?)</script>", html, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert "default-src 'none'" in html
    assert not re.findall(r"https?://|@import|url\((?!#)", html)


def test_long_tables_are_cut_counted_and_folded() -> None:
    rows = [(f"row {number}", number) for number in range(10_000)]
    html = fragment(table(["a", "b"], iter(rows), caption="all", more="show prints all", room=5_000), styled=False)
    assert "all (10,000 rows)" in html
    shown = html.count("<tr>") - 1
    assert 50 < shown < 200
    assert f"The first {shown:,} of 10,000 rows; show prints all." in html
    assert len(html) < 20_000
    assert "<details>" not in fragment(table(["a"], [("x",)] * 40), styled=False)


def test_cells() -> None:
    html = fragment(table(["a", "b", "c", "d"], [("x" * 500, Fraction(-1, 18), None, share(0.25, 2))]), styled=False)
    assert "x" * 199 + "…</td>" in html
    assert "<td>−1/18</td><td></td>" in html
    assert '<td class="share" style="--of:0.25">0.25</td>' in html


def test_a_page_is_saved_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    page = Page("a", (prose("b"),))
    page.save(path)
    assert path.read_text(encoding="utf-8") == page.to_html()
    with pytest.raises(GameFileError, match="cannot be written"):
        page.save(tmp_path / "none" / "page.html")


def test_notebooks_show_a_page_in_a_frame() -> None:
    html = hostile_page()._repr_html_()
    assert html.startswith("<iframe ")
    frame = re.fullmatch('<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^>]*></iframe>', html)
    assert frame is not None
    assert unescape(frame[1]) == hostile_page().to_html()


def test_in_a_browser(tmp_path: Path, chromium: Any) -> None:
    path = tmp_path / "page.html"
    rows = [(f"K_{number}", share(number / 10), number) for number in range(10)]
    controls = slider("p", [0.0, 0.5, 0.5, 1.0], [[0, 1, 2, 2], [1, 1, 4, 4]], 0.0, "value ", reading(0, 0.0, digits=2))
    quotient = slider("q", [0.0, 1.0], [[0, 1], [0, 4]], 0.0, reading(0, 0.0, over=1, digits=2))
    blocks = (table(["infoset", "b", "n"], rows), controls, quotient, code_block("treeplex solve kuhn"))
    Page("a page", (*blocks, *hostile_page().blocks)).save(path)
    with opened(chromium, path, permissions=["clipboard-write", "clipboard-read"]) as page:
        assert page.title() == "a page"
        first = page.locator("table.sortable").first
        names = first.locator("tbody td:first-child")
        heading = first.locator("th button").nth(1)
        heading.click()
        heading.click()
        assert names.first.text_content() == "K_9"
        page.locator("input.filter").first.fill("k_3")
        assert [name.text_content() for name in names.all() if name.is_visible()] == ["K_3"]
        number, value = page.locator(".slider input[type=number]").first, page.locator("[data-of]").first
        for asked, shown in (("0.25", "0.50"), ("0.5", "2.00"), ("0.75", "2.00"), ("7", "2.00"), ("0", "0.00")):
            number.fill(asked)
            assert value.text_content() == shown
        page.locator(".slider input[type=range]").nth(1).fill("0.5")
        assert page.locator("[data-of]").nth(1).text_content() == "0.25"
        page.locator(".code button").first.click()
        assert page.evaluate("navigator.clipboard.readText()") == "treeplex solve kuhn"


@thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_narrow_screens(tmp_path: Path, chromium: Any, scheme: str) -> None:
    path = tmp_path / "page.html"
    wide = table([f"column {number}" for number in range(20)], [range(20)] * 3)
    Page("a", (wide, *hostile_page().blocks, prose("x" * 300), code_block("y" * 300))).save(path)
    with opened(chromium, path, 390, color_scheme=scheme) as page:
        assert not overflows(page)


@thorough
def test_on_paper(tmp_path: Path, chromium: Any) -> None:
    """Paper is light, says where sliders stand and what is folded, and has no controls."""
    path = tmp_path / "page.html"
    moved = slider("p", [0.0, 1.0], [[0.0, 2.0]], 0.25, reading(0, 0.5, digits=2))
    rows = [(number, share(0.5)) for number in range(60)]
    Page("a", (moved, table(["n", "b"], rows, caption="all"), code_block("x"))).save(path)
    with opened(chromium, path, color_scheme="dark") as page:
        page.locator(".slider input[type=range]").fill("0.75")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator(".slider label").inner_text().strip() == "p"
        assert page.locator(".slider input[type=number]").input_value() == "0.75"
        assert page.locator("[data-of]").inner_text() == "1.50"
        for control in ("input[type=range]", ".code button", "input.filter"):
            assert not page.locator(control).first.is_visible()
        after = page.evaluate("getComputedStyle(document.querySelector('summary'), '::after').content")
        assert "unfold it to print it" in after


@thorough
def test_notebooks_leave_a_fragment_its_look(tmp_path: Path, chromium: Any) -> None:
    """Jupyter floats the names of a list, each in a fifth of the width."""
    path = tmp_path / "notebook.html"
    theirs = ".output dt, .output dd { float: left; width: 20%; font-weight: bold; display: block }"
    theirs += ".output:not(.markdown) td { text-align: right }"
    inner = fragment(facts({"exploitability": "0"}), table(["infoset"], [["J_"]]))
    path.write_text(f"<!doctype html><style>{theirs}</style><div class=output>{inner}</div>", encoding="utf-8")
    with opened(chromium, path) as page:
        assert page.locator("dt").bounding_box()["height"] < 30
        assert page.evaluate("getComputedStyle(document.querySelector('td')).textAlign") == "left"


@thorough
def test_policy_stops_foreign_scripts_and_requests(tmp_path: Path, chromium: Any) -> None:
    """Even where markup had come through."""
    path = tmp_path / "page.html"
    html = Page("a", (prose("here"),)).to_html()
    evil = "<script>document.title = 'evil'</script><img src='https://example.com/x.png'>"
    path.write_text(html.replace("<p>here</p>", evil), encoding="utf-8")
    context = chromium.new_context()
    page = context.new_page()
    answered: list[str] = []
    page.on("response", lambda response: answered.append(response.url))
    page.goto(path.as_uri())
    assert page.title() == "a"
    assert answered == [path.as_uri()]
    context.close()
