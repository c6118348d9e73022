"""Pages: results as one self-contained HTML file, and as fragments for notebooks.

A page is a tree of elements, and strings in it are always escaped: labels of games may come from anyone and can never
become markup. The page's head declares a policy: browsers run only the page's own script and make no network requests.
"""

import base64
import hashlib
import json
import platform
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata, resources
from itertools import islice
from os import PathLike
from typing import Any
from xml.etree.ElementTree import Element, fromstring, tostring

from ..errors import MissingExtraError
from ..sheet import Sheet, Table, typeset
from .files import write_bytes
from .pictures import COLOURS, Figure, number_text, picture

#: The content of an element: strings, numbers, other elements; ``None`` adds nothing.
Content = Element | str | float | Fraction | None

#: The longest string in a cell, in characters, and the largest size of a table's rows, in bytes; the rest is omitted.
MAX_CELL, MAX_TABLE = 200, 400_000
#: Tables with more rows are folded.
FOLDED = 40
#: The number of rows of a longer table that a notebook shows.
HEAD = 20

_LIBRARIES = ("numpy", "scipy", "numba", "highspy", "cvxpy")


def element(tag: str, *content: Content, **attributes: object) -> Element:
    """Return an element.

    Parameters
    ----------
    tag : str
    *content : Element, str, number or None
    **attributes : object
        Attributes by name, with ``_`` for ``-`` and ``cls`` for ``class``; omitted if ``None`` or ``False``.

    Returns
    -------
    xml.etree.ElementTree.Element

    Examples
    --------
    >>> from treeplex.seqform.interchange.page import element, fragment
    >>> fragment(element("p", "a < b & ", element("b", "bold")), styled=False)
    '<p>a &lt; b &amp; <b>bold</b></p>'
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            made.set("class" if name == "cls" else name.replace("_", "-"), "" if value is True else _sound(str(value)))
    for each in content:
        if isinstance(each, Element):
            made.append(each)
        elif each is not None:
            text = _sound(each if isinstance(each, str) else number_text(each))
            if len(made):
                made[-1].tail = (made[-1].tail or "") + text
            else:
                made.text = (made.text or "") + text
    return made


def _sound(text: str) -> str:
    """Return a string in which characters that are invisible or not allowed in a file are replaced by escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t\xa0" else repr(each)[1:-1] for each in text)


# Blocks


def heading(text: str, level: int = 2) -> Element:
    """Return a heading, by default of a section."""
    return element(f"h{level}", text)


def prose(*content: Content, cls: str | None = None) -> Element:
    """Return a paragraph, with class ``dim`` for asides, and ``good``, ``bad`` or ``warn`` for verdicts."""
    return element("p", *content, cls=cls)


def emphasis(text: str, cls: str | None = None) -> Element:
    """Return a few words in bold, or in the colour of a verdict."""
    return element("span", text, cls=cls) if cls else element("b", text)


def code(text: str) -> Element:
    """Return a name or a short piece of code within a line."""
    return element("code", text)


def code_block(text: str) -> Element:
    """Return lines of code, with a copy button."""
    return element("div", element("pre", text), cls="code")


def bullets(items: Iterable[Content | Sequence[Content]]) -> Element:
    """Return a bulleted list; each item is a string or a sequence of pieces."""
    return element("ul", *(element("li", *_pieces(item)) for item in items))


def callout(*content: Content, cls: str | None = None) -> Element:
    """Return a box for the most important content."""
    return element("div", *content, cls="callout" if cls is None else f"callout {cls}")


def facts(entries: Mapping[str, Content | Sequence[Content]]) -> Element:
    """Return a list of names and their values."""
    made = element("dl")
    for name, content in entries.items():
        made.extend((element("dt", name), element("dd", *_pieces(content))))
    return made


def columns(*content: Content) -> Element:
    """Return blocks side by side if the page is wide enough, otherwise one below the other."""
    return element("div", *(element("div", each) for each in content), cls="columns")


def folded(summary: str, *content: Content) -> Element:
    """Return content that is folded until the reader opens it."""
    return element("details", element("summary", summary), *content)


def share(number: float, digits: int = 4) -> Element:
    """Return a probability as a table cell, with a bar of proportional length."""
    of = min(1.0, max(0.0, float(number)))
    return element("td", f"{number:.{digits}f}", cls="share", style=f"--of:{of:.3g}")


def table(
    headings: Sequence[str],
    rows: Iterable[Element | Sequence[Content]],
    *,
    caption: str = "",
    words: Collection[int] = (0,),
    sortable: bool = True,
    more: str = "",
    room: int = MAX_TABLE,
    total: int | None = None,
    fold: int | None = FOLDED,
) -> Element:
    """Return a table; on a page, readers can sort it by its headings and filter it.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of sequences
        A cell is a string, a number, or an element. A ``td`` element, such as from :func:`share`, is the cell itself,
        and a ``tr`` element is the row itself.
    caption : str
        A caption above the table, or the summary of a folded table.
    words : collection of int
        Columns of words, which are left-aligned and wrap; columns of numbers are right-aligned.
    sortable : bool
    more : str
        Where to find all rows, if the table omits some, such as ``treeplex show prints all``.
    room : int
        The largest size of the rows, in bytes; further rows are omitted.
    total : int, optional
        The number of rows; by default they are counted.
    fold : int or None
        The largest number of rows of a table that is not folded; ``None`` for no limit.

    Returns
    -------
    Element

    Examples
    --------
    >>> from treeplex.seqform.interchange.page import fragment, table
    >>> fragment(table(["action", "share"], [("<b>", 0.5)], sortable=False), styled=False)
    '<div class="scroll"><table><thead><tr><th scope="col" class="word">action</th><th scope="col">share</th></tr>...
    """
    left, rest = room, iter(rows)
    body = element("tbody")
    for row in rest:
        made = row if isinstance(row, Element) else _row(row, words)
        left -= len(tostring(made, "us-ascii", "html"))
        if left < 0:
            break
        body.append(made)
    if total is None:
        total = len(body) + (left < 0) + sum(1 for _ in rest)
    missing = total - len(body)
    head = (
        element("th", text, scope="col", cls="word" if place in words else None) for place, text in enumerate(headings)
    )
    whole = element("table", cls="sortable" if sortable else None)
    folds = fold is not None and total > fold
    if caption and not folds:
        whole.append(element("caption", caption))
    whole.extend((element("thead", element("tr", *head)), body))
    block: Element = element("div", whole, cls="scroll")
    if missing:
        said = f"The first {len(body):,} of {total:,} rows{'; ' * bool(more)}{more}."
        block = element("div", prose(said, cls="dim"), block)
    return folded(f"{caption or 'table'} ({total:,} rows)", block) if folds else block


def filtered(
    block: Element,
    filters: Collection[int],
    mean: Sequence[Content],
    series: Mapping[int, Sequence[float] | None],
    words: Collection[int] = (0,),
) -> Element:
    """Let readers choose rows of a table by the values of hidden columns, with a row of means over the chosen rows.

    Parameters
    ----------
    block : Element
        From :func:`table`, with all rows and not folded.
    filters : collection of int
        Columns by whose values readers choose. The table hides them.
    mean : sequence
        The cells of the row of means over all rows, as in :func:`table`; the first is ``mean of N``.
    series : mapping of int to sequence of float or None
        For each column with a mean, the weight of each row; ``None`` for a column with a sum.
    words : collection of int
        As in :func:`table`.

    Examples
    --------
    >>> from treeplex.seqform.interchange.page import filtered, fragment, table
    >>> made = table(["name", "kind", "number"], [("a", "x", 1), ("b", "y", 4)], words=(0, 1))
    >>> whole = filtered(made, [1], ["mean of 2", None, 3], {2: [0.5, 1]}, words=(0, 1))
    >>> '<tr class="mean"><td class="word">mean of 2</td><td class="word"></td><td>3</td></tr>' in fragment(whole)
    True
    """
    whole = next(block.iter("table"))
    whole.set("data-filters", json.dumps(list(filters)))
    compact = {place: one and [float(f"{weight:.6g}") for weight in one] for place, one in series.items()}
    whole.set("data-series", json.dumps(compact, separators=(",", ":")))
    row = _row(mean, words)
    row.set("class", "mean")
    next(whole.iter("thead")).append(row)
    for each in whole.iter("tr"):
        for place in filters:
            each[place].set("hidden", "")
    return block


def pinned(block: Element) -> Element:
    """Keep the first column of a table in view while readers scroll sideways, and wrap its headings.

    Parameters
    ----------
    block : Element
        From :func:`table`.

    Examples
    --------
    >>> from treeplex.seqform.interchange.page import fragment, pinned, table
    >>> "pinned" in fragment(pinned(table(["board", "bet"], [("Td9d6h", 0.5)])), styled=False)
    True
    """
    whole = next(block.iter("table"))
    whole.set("class", f"{whole.get('class', '')} pinned".strip())
    return block


def first_rows(
    headings: Sequence[str], rows: Iterable[Sequence[Content]], total: int, more: str, **how: Any
) -> Element:
    """Return the first rows of a possibly long table, as :func:`table` formats it, and the number of rows.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of sequences
        Only the first :data:`HEAD` rows are read.
    total : int
        The number of rows.
    more : str
        Where to find all of them.
    **how
        Arguments of :func:`table`.
    """
    return table(headings, islice(rows, HEAD), total=total, more=more, sortable=False, fold=None, **how)


def sheet_blocks(sheet: Sheet, rest: str = "") -> Iterator[Element]:
    """Return an answer sheet as elements: its facts and its tables.

    Parameters
    ----------
    sheet : Sheet
    rest : str
        Where to find all rows; if given, tables show only the first rows, as in notebooks.
    """
    if sheet.rows:
        yield facts({row.name: row.on_page for row in sheet.rows})
    for each in sheet.tables:
        yield sheet_table(each, rest)


def sheet_table(whole: Table, rest: str = "", **how: Any) -> Element:
    """Return a table of an answer sheet as :func:`table` or :func:`first_rows` formats it."""
    cells = ([typeset(cell, place in whole.words) for place, cell in enumerate(row)] for row in whole.cells())
    how = {"caption": whole.title[:1].upper() + whole.title[1:], "words": whole.words} | how
    if rest:
        return first_rows(whole.headings, cells, len(whole.rows), rest, **how)
    return table(whole.headings, cells, **how)


def _row(cells: Sequence[Content], words: Collection[int]) -> Element:
    made = element("tr")
    for place, cell in enumerate(cells):
        if isinstance(cell, Element) and cell.tag == "td":
            made.append(cell)
        else:
            short = cell[: MAX_CELL - 1] + "…" if isinstance(cell, str) and len(cell) > MAX_CELL else cell
            made.append(element("td", short, cls="word" if place in words else None))
    return made


def _pieces(content: Content | Sequence[Content]) -> Sequence[Content]:
    return (content,) if content is None or isinstance(content, Element | str | int | float | Fraction) else content


# Figures

_SVG, _LINKED = "{http://www.w3.org/2000/svg}", re.compile(r"#([^)\"' ]+)")


def figure(
    make: "Callable[[], Figure]",
    caption: str = "",
    *,
    wide: bool = False,
    paper: bool = False,
    follows: Mapping[int, float] | None = None,
) -> Element:
    """Return a picture drawn by matplotlib, or a line that says which package to install.

    Parameters
    ----------
    make : callable
        Creates the figure.
    caption : str
    wide : bool
        Whether the picture keeps its size, and scrolls if the page is too narrow for it.
    paper : bool
        Whether it stays on white on dark pages, because its colours have a meaning.
    follows : mapping of int to float, optional
        Vertical lines that follow the slider around the figure: the initial position by the number of the axes, which
        are linear.
    """
    try:
        whole = make()
        for number, start in (follows or {}).items():
            whole.axes[number].axvline(start, color=COLOURS["slate"], linewidth=1.2, gid=f"marker{number}")
        drawn = figure_of(picture(whole, "svg", text=True).decode(), caption, wide=wide, paper=paper)
    except MissingExtraError as error:
        return prose(f"Not drawn: {error}.", cls="dim")
    for each in drawn.iter("g"):
        number = int(each.get("id", "marker-1").removeprefix("marker"))
        if number >= 0:
            # An SVG file has 72 points per inch; the layout is known after drawing.
            first, second = whole.axes[number].transData.transform([(0.0, 0.0), (1.0, 0.0)])[:, 0] * 72 / whole.dpi
            del each.attrib["id"]
            each.attrib |= {"data-from": f"{(follows or {})[number]:.9g}", "data-scale": f"{second - first:.6g}"}
    return drawn


def figure_of(svg: str, caption: str = "", *, wide: bool = False, paper: bool = False) -> Element:
    """Return a picture that is given as the content of an SVG file."""
    root = fromstring(svg)
    linked = {found for each in root.iter() for value in each.attrib.values() for found in _LINKED.findall(value)}
    for each in root.iter():
        each.tag = str(each.tag).removeprefix(_SVG)
        each.attrib = {name.rpartition("}")[2]: value for name, value in each.attrib.items()}
        if each.get("id") not in linked and not each.get("id", "").startswith("marker"):
            each.attrib.pop("id", None)
    for each in root.findall("metadata"):
        root.remove(each)
    root.set("class", "paper" if paper else "ink")
    root.set("role", "img")
    if caption:
        root.set("aria-label", _sound(caption))
    shown = element("div", root, cls="wide" if wide else None)
    return element("figure", shown, element("figcaption", caption) if caption else None)


# Controls


def reading(of: int, start: float | None, over: int | None = None, digits: int = 4) -> Element:
    """Return a number that a slider changes: a value of a series, or a quotient of two; see :func:`slider`."""
    shown = "–" if start is None else f"{start + 0.0:.{digits}f}"
    return element("span", shown, data_of=of, data_over=over, data_digits=digits)


def slider(
    name: str,
    stops: Sequence[float],
    series: Sequence[Sequence[float]],
    start: float,
    *content: Content,
) -> Element:
    """Return content with numbers that follow a slider.

    Parameters
    ----------
    name : str
        The name of the quantity that the slider changes.
    stops : sequence of float, length k
        Non-decreasing; equal stops mark a jump of the series. Between stops the series are linear.
    series : sequence of sequences of float
        Each has length k.
    start : float
        The initial value, which a page shows if it runs no script.
    *content : Element or str
        Content with numbers from :func:`reading`.
    """
    low, high = stops[0], stops[-1]
    ends: dict[str, Any] = {"min": f"{low:.9g}", "max": f"{high:.9g}", "step": "any", "value": f"{start:.6g}"}
    moved = element(
        "label", name, element("input", type="range", **ends), element("input", type="number", **ends), hidden=True
    )
    compact = [[float(f"{number:.7g}") for number in numbers] for numbers in series]
    data = {
        "data_stops": json.dumps(list(map(float, stops))),
        "data_series": json.dumps(compact, separators=(",", ":")),
    }
    return element("section", moved, *content, cls="slider", **data)


# Whole pages


def versions() -> str:
    """Return the versions of the library, of Python and of the numerical packages, in one line."""
    from ... import __version__

    found = [f"treeplex {__version__}", f"Python {platform.python_version()}"]
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found) + f" on {platform.system()} {platform.machine()}"


def footer(*citations: str) -> Element:
    """Return the citations for the page's content, and the versions that computed it."""
    from ... import __version__

    own = f"treeplex contributors. treeplex: optimisation modelling for extensive-form games, version {__version__}."
    cited = bullets([own, *(text for text in citations if text)])
    return element("footer", prose("To cite:"), cited, prose(versions()))


def fragment(*blocks: Content, styled: bool = True) -> str:
    """Return blocks as HTML for a notebook, with styles that affect nothing else and without a script.

    Examples
    --------
    >>> from treeplex.seqform.interchange.page import fragment, prose
    >>> fragment(prose("a < b")).endswith("<p>a &lt; b</p></div>")
    True
    """
    if styled:
        return fragment(element("div", _raw("style", shipped("page.css")), *blocks, cls="treeplex"), styled=False)
    return "".join(tostring(each, "unicode", "html") for each in blocks if isinstance(each, Element))


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A report: one self-contained HTML file, for light and dark screens, phones and paper.

    Notebooks display it, and :meth:`save` writes it.

    Attributes
    ----------
    title : str
    blocks : tuple of Element
        Elements from the functions of :mod:`treeplex.seqform.interchange.page`.
    style, script : str
        Additional style and script of a page of the library, from shipped files only: never from the page's content.
    served : bool
        Whether the page may send requests to its own server; a page from a file may send none.

    Examples
    --------
    >>> from treeplex.seqform.interchange.page import Page, prose
    >>> Page("An answer", (prose("42"),)).to_html().startswith("<!doctype html>")
    True
    """

    title: str
    blocks: tuple[Content, ...]
    style: str = ""
    script: str = ""
    served: bool = False

    def __repr__(self) -> str:
        return f"Page({self.title!r})"

    def to_html(self) -> str:
        """Return the whole document."""
        script = shipped("page.js") + self.script
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
            f"base-uri 'none'; form-action 'none'" + "; connect-src 'self'" * self.served
        )
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", self.title),
            _raw("style", shipped("page.css") + self.style),
        )
        body = element("body", *self.blocks, _raw("script", script), cls="treeplex page")
        return "<!doctype html>\n" + tostring(element("html", head, body, lang="en"), "unicode", "html") + "\n"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, atomically.

        Raises
        ------
        GameFileError
            If the file cannot be written.
        """
        write_bytes(path, self.to_html().encode())

    def _repr_html_(self) -> str:
        """Return the page for notebooks, in a separate frame, in which its script affects nothing else."""
        frame = element(
            "iframe",
            srcdoc=self.to_html(),
            sandbox="allow-scripts",
            style="width:100%;height:640px;border:1px solid #8884;border-radius:8px",
        )
        return fragment(frame, styled=False)


def shipped(name: str, package: str = __package__) -> str:
    """Return the content of a file that is shipped with a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _raw(tag: str, text: str) -> Element:
    """Return an element whose text is not escaped; only for text from the library itself."""
    made = Element(tag)
    made.text = text
    return made
