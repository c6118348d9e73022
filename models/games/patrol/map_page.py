"""A patrol on its map as part of an HTML page: streets and places as SVG, and a slider through time."""

import json
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.interchange.page import Content, Page, element, folded, prose, shipped, table
from .map_view import Layer, MapView

#: Smaller probabilities are left out of a page.
_LEAST = 5e-5
_WIDTH, _MARGIN = 1000.0, 30.0
#: A triangle, a diamond and a house, as paths.
_MARKS = {
    "entry": "M {x:.1f} {y:.1f} m -8 6 h 16 l -8 -14 z",
    "goal": "M {x:.1f} {y:.1f} m 0 -11 l 11 11 l -11 11 l -11 -11 z",
    "base": "M {x:.1f} {y:.1f} m -9 10 v -13 l 9 -8 l 9 8 v 13 z",
}


def map_blocks(view: MapView) -> Iterator[Content]:
    """Return a map for a page of :func:`framed`, and the legend of its marks.

    Parameters
    ----------
    view : MapView

    Yields
    ------
    Element

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Profile
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.map_page import framed, map_blocks
    >>> from treeplex.models.games.patrol.map_view import map_view
    >>> from treeplex.seqform.interchange.page import Page
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> framed(Page("A road", tuple(map_blocks(map_view(game, Profile.uniform(game))))))
    Page('A road')
    """
    places = _placed(view.positions)
    data = {
        "last": view.steps,
        "times": [] if view.clock is None else [view.clock.at(time) for time in range(view.steps + 1)],
        "nodes": [[round(x, 1), round(y, 1), name] for (x, y), name in zip(places.tolist(), view.names, strict=True)],
        "streets": [[street.source, street.target, street.name] for street in view.streets],
        "layers": [
            {
                "name": layer.name,
                "hue": layer.hue,
                "ring": layer.kind != "unit",
                "nodes": _sparse(layer.nodes),
                "streets": _sparse(layer.streets),
            }
            for layer in view.layers
        ],
    }
    # The largest numbers, filled in by the script.
    rows = [(layer.name, "") for layer in view.layers]
    numbers = table(("who", "where, most likely first"), rows, words=(0, 1), sortable=False, fold=None)
    numbers.set("aria-live", "polite")
    yield element("noscript", prose("The slider of the map needs JavaScript; the strategies below do not."))
    yield element(
        "section",
        element(
            "div",
            element("button", "Play", type="button"),
            element("input", type="range", min=0, max=view.steps, step=1, value=0, aria_label="step"),
            element("output", "step 0"),
            cls="when",
            hidden=True,
        ),
        element(
            "div",
            *(_choice(layer, number) for number, layer in enumerate(view.layers)),
            _box("the whole day", cls="day"),
            _box("all names", cls="all"),
            cls="tools",
            hidden=True,
        ),
        _svg(view, places),
        numbers,
        cls="slider patrol",
        data_patrol=json.dumps(data, separators=(",", ":"), ensure_ascii=False),
    )
    yield folded(
        "What the map shows",
        prose(
            "The area of a disc is proportional to the probability that a unit is at that place at that step, and "
            "the width of a street to the probability that the unit is on it in the next step. Rings are attackers, "
            "meetings and the use of limits. The largest numbers are listed below the map. Over the whole day "
            "numbers are summed: for a unit the expected number of steps at a place, for meetings their expected "
            "number. Triangles mark entries, diamonds goals, and houses bases; streets that are closed at some time "
            "are dotted in red."
        ),
    )


def framed(page: Page) -> Page:
    """Return a page with the script and the styles that :func:`map_blocks` needs."""
    style, script = (shipped(f"map.{end}", __package__) for end in ("css", "js"))
    return replace(page, style=page.style + style, script=page.script + script)


def _placed(positions: Floats) -> Floats:
    """Return positions within the drawing, with y downwards, shape (num_places, 2)."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    scale = (_WIDTH - 2 * _MARGIN) / max(high[0] - low[0], (high[1] - low[1]) / 1.2, 1e-12)
    scaled = (positions - low) * scale
    scaled[:, 1] = (high[1] - low[1]) * scale - scaled[:, 1]
    placed: Floats = scaled + _MARGIN
    return placed


def _sparse(amounts: Floats) -> list[list[int]]:
    """Return, for each time, alternating places and amounts in ten-thousandths, without zeros."""
    rows = []
    for row in amounts:
        (found,) = np.nonzero(row >= _LEAST)
        rows.append(np.stack([found, np.rint(1e4 * row[found]).astype(int)], axis=1).ravel().tolist())
    return rows


def _choice(layer: Layer, number: int) -> Element:
    mark = element("i", cls=None if layer.kind == "unit" else "ring", style=f"--hue:var(--{layer.hue})")
    return element(
        "label",
        element("input", type="checkbox", data_layer=number, checked=layer.shown),
        mark,
        layer.name,
    )


def _box(name: str, cls: str) -> Element:
    return element("label", element("input", type="checkbox", cls=cls), name)


def _svg(view: MapView, places: Floats) -> Element:
    width, height = (places.max(axis=0) + _MARGIN).tolist()
    drawing = element(
        "svg",
        viewBox=f"0 0 {max(width, _WIDTH):.0f} {height:.0f}",
        role="img",
        aria_label=f"a map of {len(view.names):,} places and {len(view.streets):,} streets",
    )
    for street in view.streets:
        (x1, y1), (x2, y2) = places[street.source], places[street.target]
        kind = "street" + " oneway" * street.one_way + " closed" * street.closed
        ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
        drawing.append(element("line", element("title", street.name), cls=kind, **ends))
    drawing.append(element("g", cls="layers"))
    marked = {place for marks in view.marks.values() for place in marks}
    for number, (x, y) in enumerate(places.tolist()):
        at = {"cx": f"{x:.1f}", "cy": f"{y:.1f}"}
        drawing.append(element("circle", element("title", view.names[number]), cls="place", r=2.5, **at))
        for kind, marks in view.marks.items():
            if number in marks:
                drawing.append(element("path", d=_MARKS[kind].format(x=x, y=y), cls=f"mark {kind}"))
        words = element("text", view.names[number], x=f"{x + 8:.1f}", y=f"{y - 8:.1f}")
        if number not in marked:
            words.set("class", "minor")
        if x > 0.85 * _WIDTH:
            words.set("text-anchor", "end")
            words.set("x", f"{x - 8:.1f}")
        drawing.append(words)
    return drawing
