"""The documentation as a site: built without a network, in time, and read in a browser that asks for nothing else."""

import importlib.util
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from chromium import overflows
from effort import some

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
REPOSITORY = Path(__file__).parents[2]
#: What builds the site, by the modules that it is imported as.
NEEDED = ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "sphinx_copybutton", "sphinx_design")
#: Seconds of one processor, of which the three minutes allowed are made on a machine that does nothing else.
ALLOWED = 180
#: A proxy that nobody is behind: what goes out by it fails.
NOWHERE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, or take the one that ``TREEPLEX_SITE`` names."""
    if "TREEPLEX_SITE" in os.environ:
        return Path(os.environ["TREEPLEX_SITE"]).resolve()
    for module in (*NEEDED, "sphinx-mathjax-offline"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs {module}")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(REPOSITORY / "docs", folder / "docs", ignore=shutil.ignore_patterns("_build", "generated"))
    shutil.copy(REPOSITORY / "CHANGELOG.md", folder)
    command = [sys.executable, "-P", "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-b", "html"]
    before = os.times()
    built = subprocess.run(
        [*command, str(folder / "docs"), str(folder / "html")],
        env=os.environ | NOWHERE,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    after = os.times()
    assert built.returncode == 0, built.stderr
    seconds = [time.children_user + time.children_system for time in (before, after)]
    assert seconds[1] - seconds[0] < ALLOWED
    return folder / "html"


def written(site: Path) -> list[Path]:
    """List the pages that people write, without those that follow from docstrings and sources."""
    made = ("_modules", "_static", "generated")
    return [page for page in sorted(site.rglob("*.html")) if not any(part in made for part in page.parts)]


class Links(HTMLParser):
    """What a page links to and loads, and the names by which its parts can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in {"author", "canonical"} and "href" in found:
            self.loads.append(found["href"])
        elif "src" in found:
            self.loads.append(found["src"])


def test_no_link_is_broken_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if "_static" not in page.parts}
    assert len(pages) > 300
    wrong = []
    for page, content in pages.items():
        for address in (*content.links, *content.loads):
            place, fragment = urldefrag(address)
            if urlsplit(place).scheme:
                if address in content.loads and not place.startswith("data:"):
                    wrong.append(f"{page.relative_to(site)} loads {address}")
                continue
            target = (page.parent / unquote(urlsplit(place).path)).resolve() if place else page
            if not target.is_file():
                wrong.append(f"{page.relative_to(site)} links to {address}, which is not there")
            elif "_modules" in page.parts:
                continue  # sources link back to the right page, of one object, but not always by its public name
            elif fragment and target in pages and unquote(fragment) not in pages[target].names:
                wrong.append(f"{page.relative_to(site)} links to {address}, whose part is not there")
    assert not wrong, "\n".join(wrong[:50])


def test_every_public_name_has_a_page(site: Path) -> None:
    import treeplex

    named = {page.stem for page in (site / "reference" / "generated").glob("*.html")}
    names = {f"treeplex.{name}" for name in treeplex.__all__} - {"treeplex.__version__"}
    assert names - named <= {"treeplex.CHANCE", "treeplex.TERMINAL"}


#: Blocks that are wider than the place where they are.
CUT = r"""() => [...document.querySelectorAll('article pre, article mjx-container[display=true]')]
    .filter(block => block.scrollWidth > block.clientWidth + 1)
    .map(block => block.innerText.replace(/\s+/g, ' ').slice(0, 80))"""
#: Tables that reach beyond the text, and pictures that show nothing.
BEYOND = r"""() => [...document.querySelectorAll('article table:not(.genindextable)')]
    .filter(table => table.getBoundingClientRect().right > table.closest('article').getBoundingClientRect().right + 1)
    .map(table => table.innerText.replace(/\s+/g, ' ').slice(0, 80))"""
UNSEEN = r"""() => [...document.images].filter(image => !image.complete || !image.naturalWidth)
    .map(image => image.getAttribute('src'))"""
#: How far apart the middles of the header's links and buttons are, in pixels.
HEADER = r"""() => {
    const shown = [...document.querySelectorAll('.bd-header a, .bd-header button')]
        .filter(one => one.checkVisibility() && !one.closest('.dropdown-menu'))
        .map(one => one.getBoundingClientRect()).map(box => (box.top + box.bottom) / 2);
    return shown.length ? Math.max(...shown) - Math.min(...shown) : -1;
}"""
#: Formulas that MathJax did not understand, or left as they are.
UNSET = r"""() => [...document.querySelectorAll('article .math')]
    .filter(formula => !formula.querySelector('mjx-container') || formula.querySelector('mjx-merror'))
    .map(formula => formula.innerText.replace(/\s+/g, ' ').slice(0, 80))"""
SET = "() => window.MathJax && MathJax.startup ? MathJax.startup.promise.then(() => null) : null"


def test_pages_read_well_and_ask_for_nothing(site: Path, chromium: Any) -> None:
    """At 1280 pixels nothing is cut off, at 390 a page does not scroll sideways; formulas and pictures are shown."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("request", lambda asked: asked.url.startswith(("file:", "data:", "blob:")) or wrong.append(asked.url))
    page.on("requestfailed", lambda asked: wrong.append(f"{asked.url} failed"))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    generated = sorted((site / "reference" / "generated").glob("*.html"))
    for file in (*written(site), *some(generated, 25)):
        name = file.relative_to(site).as_posix()
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(file.as_uri())
        page.evaluate(SET)
        wrong += [f"{name} cuts off: {text}" for text in page.evaluate(CUT)]
        wrong += [f"{name} does not set {text}" for text in page.evaluate(UNSET)]
        wrong += [f"{name} has a table that is too wide: {text}" for text in page.evaluate(BEYOND)]
        wrong += [f"{name} does not show {source}" for source in page.evaluate(UNSEEN)]
        if not 0 <= page.evaluate(HEADER) < 12:
            wrong.append(f"{name} has a header of several rows at 1280 pixels")
        if overflows(page):
            wrong.append(f"{name} scrolls sideways at 1280 pixels")
        page.set_viewport_size({"width": 390, "height": 844})
        if overflows(page):
            wrong.append(f"{name} scrolls sideways at 390 pixels")
    context.close()
    assert not wrong, "\n".join(wrong[:50])


def test_a_copied_example_has_neither_prompts_nor_output(site: Path, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(
        "window.copied = []; document.addEventListener('copy', () => copied.push(`${getSelection()}`))"
    )
    page.goto((site / "tutorials" / "first-equilibrium.html").as_uri())
    page.wait_for_selector("button.copybtn", state="attached")
    assert page.evaluate("document.querySelectorAll('button.copybtn').length") >= 10
    page.evaluate("document.querySelector('button.copybtn').click()")
    (text,) = page.evaluate("copied")
    assert text.splitlines() == ["from treeplex import load_game", 'game = load_game("kuhn")', "game.sequence_form"]
    context.close()
