"""The sides of a patrol in answers: the attacker and the patrol instead of players 0 and 1."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from ..seqform.interchange.page import Content
from ..seqform.sheet import Column, Sheet, Table

#: The sides by player, as singular nouns, so that verbs fit.
SIDES = ("attacker", "patrol")
_PLAYER = re.compile(r"\b([Pp])layer ([01])\b")


def in_sides(text: str) -> str:
    """Return a text about players as one about the sides of a patrol.

    Examples
    --------
    >>> from treeplex.solvers.patrol_words import in_sides
    >>> in_sides("Player 0 is paid 2, and the loss of player 1 is 2.")
    'The attacker is paid 2, and the loss of the patrol is 2.'
    """
    told = _PLAYER.sub(lambda found: f"{'T' if found[1] == 'P' else 't'}he {SIDES[int(found[2])]}", text)
    return told.replace("the other player", "the other side").replace("each player", "each side")


def sheet_in_sides(sheet: Sheet) -> Sheet:
    """Return an answer with the sides of a patrol for players.

    Examples
    --------
    >>> from treeplex.seqform.sheet import Column, Row, Sheet, Table, count, payoff
    >>> from treeplex.solvers.patrol_words import sheet_in_sides
    >>> table = Table([Column("constraint"), Column("player", count)], [("travel <= 2", 1)])
    >>> print(sheet_in_sides(Sheet([Row("value", 0.5, payoff, " to player 0")], [table])))
    value  0.5000000000 to the attacker
    <BLANKLINE>
    constraint   side
    travel <= 2  patrol
    """
    rows = [replace(row, meaning=in_sides(row.meaning)) for row in sheet.rows]
    return Sheet(rows, [_table(each) for each in sheet.tables])


def _table(table: Table) -> Table:
    keys = [column.key for column in table.columns]
    if "player" not in keys:
        return table
    place, columns, rows = keys.index("player"), list(table.columns), [list(row) for row in table.rows]
    columns[place] = Column("side")
    for row in rows:
        row[place] = SIDES[row[place]]
    return replace(table, columns=columns, rows=rows)


def blocks_in_sides(blocks: Iterable[Content]) -> Iterator[Content]:
    """Yield the blocks of a page with the sides of a patrol for players; code stays as it is."""
    for block in blocks:
        if isinstance(block, Element):
            for table in block.iter("table"):
                _turn(table)
            for each in block.iter():
                each.text = each.text if each.tag in ("code", "pre") else in_sides(each.text or "")
                each.tail = in_sides(each.tail or "")
        yield block


def _turn(table: Element) -> None:
    """Write the sides into the column of players of a table."""
    rows = [list(row) for row in table.iter("tr")]
    headings = ["".join(cell.itertext()).strip() for cell in rows[0]] if rows else []
    if "player" in headings:
        place = headings.index("player")
        for heading in rows[0][place].iter():
            heading.text = "side" if heading.text == "player" else heading.text
        for row in rows[1:]:
            row[place].text = SIDES[int(row[place].text or 0)]
