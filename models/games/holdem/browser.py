"""A solved spot as one HTML page: a browser for betting and cards, with charts, averages and tables of hands."""

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import InvalidGameError
from ....seqform.interchange.page import (
    Content,
    Page,
    callout,
    code_block,
    element,
    facts,
    folded,
    footer,
    heading,
    prose,
    shipped,
)
from ....seqform.rules import CHANCE, TERMINAL
from ....seqform.sheet import plain
from .cards import CARDS, read_cards
from .charts import SHADES, action_colours
from .solved import SolvedSpot
from .spot import HoldemSpot
from .units import CHIPS, Unit

#: The largest size of a page's numbers, in bytes of the page.
MAX_NUMBERS = 20_000_000
#: The code of undefined numbers; the other codes divide an interval evenly.
_NONE = 65535


def spot_page(
    solved: SolvedSpot,
    again: str = "",
    *,
    cards: Sequence[str] = (),
    limit: int = MAX_NUMBERS,
    more: Iterable[Content] = (),
    unit: Unit = CHIPS,
) -> Page:
    """Return a page for browsing a solved spot.

    Parameters
    ----------
    solved : SolvedSpot
    again : str
        The command that recreates the page.
    cards : sequence of str
        Runouts to include first if there is not enough space for all, such as ``["7s", "7s Ah"]``.
    limit : int
        Largest size of the numbers, in bytes. The street of the root is always included, then whole runouts as they
        fit; the page states which.
    more : iterable of Element
        Further blocks, below the browser.
    unit : Unit
        The unit of EV at first; with big blinds, the page can also show them.

    Returns
    -------
    Page

    Raises
    ------
    InvalidGameError
        If a runout does not exist in the spot.

    Examples
    --------
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
    >>> from treeplex.models.games.holdem.browser import spot_page
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> spot_page(SolvedSpot(spot, solve(Nash(spot.game)).profile))
    Page('river QcJc9c3d2d, pot 100, stack 100')
    """
    spot, title = solved.spot, title_of(solved)
    lost = solved.profile.exploitability
    proof = (
        f"On average over both seats, the best response to these strategies gains {spot.of_pot(lost)}: computed from "
        "the strategies, in double precision."
    )
    known = {
        name: plain(value) if isinstance(value, float) else str(value)
        for name, value in solved.certificate.items()
        if isinstance(value, str | int | float)
    }
    blocks: list[Content] = [
        prose("hold'em spot · what both players do", cls="kicker"),
        heading(title, 1),
        callout(prose(*earned(solved)), prose(proof, cls="dim"), cls="good"),
        *browser_blocks(solved, cards=cards, limit=limit, unit=unit),
        *more,
        *([heading("Reproduce this answer"), facts(known)] if known else []),
        *([heading("Make it again"), code_block(again)] if again else []),
        footer(),
    ]
    return framed(Page(title, tuple(blocks)))


def title_of(solved: SolvedSpot) -> str:
    """Return the street, the board, the pot and the stacks as one line."""
    spot = solved.spot
    return f"{spot.street} {spot.board}, pot {spot.pot:,}, stack {spot.stack:,}"


def earned(solved: SolvedSpot) -> Iterator[Content]:
    """Return a sentence on the earnings of both seats, and the pot at the start."""
    root = solved.at()
    mean = root.averages
    yield "Out of position earns "
    yield element("b", f"{mean['oop ev'] or 0.0:,.2f}")
    yield f" of the pot of {root.pot:,}, in position "
    yield element("b", f"{mean['ip ev'] or 0.0:,.2f}")
    if solved.spot.rake:
        yield ", and the house takes "
        yield element("b", f"{root.rake or 0.0:,.2f}")
    if root.mover:
        played = ", ".join(f"{action} {100 * (mean[action] or 0.0):.1f}%" for action in root.actions)
        yield f". {root.mover.upper()} begins: {played}"
    yield "."


def browser_blocks(
    solved: SolvedSpot, *, cards: Sequence[str] = (), limit: int = MAX_NUMBERS, unit: Unit = CHIPS
) -> Iterator[Content]:
    """Return the browser for a page of :func:`framed`, and the explanation of its numbers; see :func:`spot_page`."""
    kept, told = _chosen(solved, [read_cards(one, "runout") for one in cards], limit)
    tree, numbers = _packed(solved, kept)
    if told:
        yield prose(told, cls="dim")
    yield element("noscript", prose("The browser for the betting needs JavaScript."))
    data = json.dumps(tree | _unit_record(unit), separators=(",", ":"))
    yield element("section", cls="spot", data_spot=data, data_numbers=base64.b64encode(numbers).decode())
    yield _meanings(solved.spot)


def _unit_record(unit: Unit) -> dict[str, Any]:
    """Return the unit of EV at first and, if it is known, the big blind in chips."""
    return {"unit": unit.name, "blind": unit.worth if unit.name == "bb" else None}


def _meanings(spot: HoldemSpot) -> Content:
    """Return a folded explanation of the numbers."""
    less = " less what the house takes on average" if spot.rake else ""
    return folded(
        "What the numbers are",
        prose(
            "EV is what a player wins from the pot, net of what it puts in from that decision on: both EVs add up to "
            f"the pot{less}, and a fold is worth 0. Equity is the share of the pot that a hand wins on average without "
            "further betting. Reach is the remaining share of a hand; averages weight hands by reach and by the "
            "opponent's possible hands."
        ),
    )


def framed(page: Page) -> Page:
    """Return a page with the script and the styles that :func:`browser_blocks` needs."""
    return replace(page, style=shipped("browser.css", __package__), script=shipped("browser.js", __package__))


def served_page(solved: SolvedSpot, file: str, unit: Unit = CHIPS) -> Page:
    """Return the page of a solved spot for a server of its numbers; see :mod:`treeplex.models.games.holdem.server`."""
    spot, title = solved.spot, title_of(solved)
    data = {
        "deck": [CARDS[card] for card in sorted((*spot.cards, *spot.unseen))],
        "hands": spot.hand_names,
        "shades": SHADES,
    } | _unit_record(unit)
    box = element("section", cls="spot", data_served=json.dumps(data, separators=(",", ":")))
    keys = (
        "Keys: up and down move among actions, right or Enter takes one, left or Backspace goes back; among cards "
        "and hands all four arrows move. Escape leaves a class of hands, then the line."
    )
    blocks = (prose(file, cls="kicker"), heading(title, 1), box, prose(keys, cls="dim"), _meanings(spot))
    style, first, second = (shipped(name, __package__) for name in ("browser.css", "served.js", "browser.js"))
    return Page(title, blocks, style, first + second, served=True)


def _chosen(solved: SolvedSpot, wanted: Sequence[Sequence[int]], limit: int) -> tuple[set[int], str]:
    """Return the boards included on the page, and a note about them."""
    form, spot = solved.form, solved.spot
    sizes = np.zeros(len(spot.boards))
    for node in form.decisions.tolist():
        mover = int(form.players[node])
        mine, others = len(form.states[mover]), len(form.states[1 - mover])
        sizes[form.boards[node]] += (2 * len(form.children[node]) * mine + mine + 2 * others) * 2 * 4 / 3
    places = {board: number for number, board in enumerate(spot.boards)}
    start = len(spot.cards)
    first: list[int] = []
    for runout in wanted:
        for length in range(1, len(runout) + 1):
            board = (*spot.cards, *runout[:length])
            if board not in places:
                text = " ".join(CARDS[card] for card in runout)
                raise InvalidGameError(f"no board of the spot has the runout {text}; expected cards that may be dealt")
            first.append(places[board])
    # Streets in order, beginning with cards of all ranks and suits.
    spread = sorted(places.items(), key=lambda one: (len(one[0]), 23 * one[0][-1] % 52))
    order = dict.fromkeys([0, *first, *(number for _, number in spread)])
    kept: set[int] = set()
    room = float(limit)
    for number in order:
        board = spot.boards[number]
        before = len(board) == start or places[board[:-1]] in kept
        if number == 0 or (before and sizes[number] <= room):
            kept.add(number)
            room -= sizes[number]
    decided = {number for number in range(len(sizes)) if sizes[number] > 0.0}
    told = ""
    if decided - kept:
        told = (
            f"The numbers of {len(decided & kept):,} of {len(decided):,} boards are on this page; all of them would "
            f"take more than {limit / 1e6:g} MB. The others are in the solution's file."
        )
    return kept, told


def _packed(solved: SolvedSpot, kept: Collection[int]) -> tuple[dict[str, Any], bytes]:
    """Return the tree of the included boards as plain data, and the numbers at decisions in two bytes each."""
    form, spot = solved.form, solved.spot
    all_in = (form.players == CHANCE) & (spot.paid.min(axis=1) == spot.stack)
    places = {0: 0}
    for node in range(1, len(form.players)):  # parents first
        parent = int(form.parents[node])
        if parent in places and not all_in[parent] and int(form.boards[node]) in kept:
            places[node] = len(places)
    nodes = list(places)
    mover = np.where(form.players == CHANCE, -1, np.where(form.players == TERMINAL, -2, form.players))
    mover[all_in] = -3
    names = {name: number for number, name in enumerate(dict.fromkeys(str(form.actions[node]) for node in nodes))}
    colours: dict[int, str] = {}
    at = dict.fromkeys(nodes, -1)
    decided = [node for node in nodes if form.players[node] >= 0]
    solved = SolvedSpot(spot, solved.profile)  # recomputed instead of read from a file
    solved.profile.keep([*decided, *(child for node in decided for child in form.children[node].tolist())])
    words: list[Any] = []
    place = 0
    for node in decided:
        player = int(form.players[node])
        read = solved.at(", ".join(map(str, form.path(node))))
        colours |= dict(zip(form.children[node].tolist(), action_colours(read.actions).values(), strict=True))
        parts = [
            *(_words(part, 0.0, 1.0) for part in read.strategy),
            *(_scaled(part) for part in (*read.action_evs, read.evs[1 - player])),
            *(_words(read.equities[seat], 0.0, 1.0) for seat in (player, 1 - player)),
        ]
        at[node] = place
        words += parts
        place += sum(map(len, parts))
    palette = {colour: number for number, colour in enumerate(dict.fromkeys(colours.values()))}
    tree = {
        "pot": spot.pot,
        "deck": [CARDS[card] for card in sorted((*spot.cards, *spot.unseen))],
        "hands": form.states,
        "weights": [one.tolist() for one in form.weights],
        "names": list(names),
        "palette": list(palette),
        "shades": SHADES,
        "boards": ["".join(CARDS[card] for card in board) for board in spot.boards],
        "nodes": {
            "mover": mover[nodes].tolist(),
            "parent": [places.get(int(form.parents[node]), -1) for node in nodes],
            "label": [names[str(form.actions[node])] for node in nodes],
            "hue": [palette[colours[node]] if node in colours else 0 for node in nodes],
            "board": form.boards[nodes].tolist(),
            "paid": spot.paid[nodes].T.tolist(),
            "at": list(at.values()),
        },
    }
    whole = np.concatenate(words).astype("<u2") if words else np.zeros(0, dtype="<u2")
    return tree, whole.tobytes()


def _scaled(numbers: Floats) -> Any:
    """Return the smallest and the largest of some numbers as 32-bit floats, and all numbers scaled to that range."""
    defined = numbers[np.isfinite(numbers)]
    ends = np.array([defined.min(), defined.max()] if len(defined) else [0.0, 0.0], dtype="<f4")
    return np.concatenate([ends.view("<u2"), _words(numbers, float(ends[0]), float(ends[1]))])


def _words(numbers: Floats, low: float, high: float) -> Any:
    """Return numbers within an interval as 16-bit integers."""
    width = high - low if high > low else 1.0
    scaled = np.clip((numbers - low) / width, 0.0, 1.0) * (_NONE - 1)
    return np.where(np.isfinite(numbers), np.rint(np.nan_to_num(scaled)), _NONE).astype(np.uint16)
