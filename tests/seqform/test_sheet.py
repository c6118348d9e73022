"""The answer sheet: rows, tables, and the one way in which a number of each unit is written."""

from fractions import Fraction

import pytest

from treeplex.seqform.interchange.page import fragment, sheet_blocks
from treeplex.seqform.sheet import (
    Column,
    Row,
    Sheet,
    Table,
    between,
    chips,
    count,
    error,
    estimate,
    padded,
    payoff,
    several,
    share,
    short,
    typeset,
)


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (payoff, -0.0, "0.0000000000"),
        (payoff, Fraction(1, 3), "1/3 = 0.3333333333"),
        (error, -0.0, "0"),
        (error, 1.23456e-7, "1.23e-07"),
        (share, -1e-9, "0.0000"),
        (chips, -12.5, "-12.50"),
        (count, 1234567, "1,234,567"),
        (short, Fraction(1, 3), "0.333333"),
        (between(payoff), (0, 1), "0.0000000000 to 1.0000000000"),
        (several(count), [1000, 2], "1,000, 2"),
        (estimate, {"mean": 0.123456, "lower": -1.0, "upper": 1e-9}, "0.1235 in [-1, 1e-09]"),
    ],
)
def test_a_unit_is_written_in_one_way(unit, value, text):
    assert unit(value) == text


def test_rows_without_a_value_are_left_out_and_zero_is_one():
    sheet = Sheet([Row("gap", 0.0, error), Row("gain", None, payoff), Row("conflict", ()), Row("note", "")])
    assert [row.key for row in sheet.rows] == ["gap"]
    assert str(sheet) == "gap  0"
    assert Sheet([], [Table([Column("a")], [])]).tables == ()


def test_a_text_and_a_page_show_the_same_rows():
    table = Table([Column("at <i>"), Column("paid", payoff, missing="none")], [("a-1", -1 / 3), ("b", None)], "pairs")
    sheet = Sheet([Row("value", -0.5, payoff, " to player 0"), Row("message", "as it is", label="")], [table])
    assert str(sheet).splitlines() == [
        "value  -0.5000000000 to player 0",
        "       as it is",
        "",
        "at <i>           paid",
        "a-1     -0.3333333333",
        "b                none",
    ]
    page = "".join(fragment(block, styled=False) for block in sheet_blocks(sheet))
    for part in (
        "<dd>−0.5000000000 to player 0</dd>",
        '<td class="word">a-1</td><td>−0.3333333333</td>',
        "at &lt;i&gt;",
    ):
        assert part in page
    assert "<caption>Pairs</caption>" in page


def test_columns_may_be_called_alike():
    table = Table([Column("p"), Column("p", share)], [("p", 0.5)])
    assert str(table) == "p       p\np  0.5000"


def test_records_become_rows_and_rows_records():
    records = [{"from": 0.0, "to": 1.0, "more": "not shown"}]
    table = Table.of(records, [Column("from", payoff), Column("to", payoff)])
    assert table.records == [{"from": 0.0, "to": 1.0}]
    assert table.without("from").headings == ["to"]


def test_long_text_takes_the_room_of_an_empty_cell():
    assert padded(["a long name", "", "1"], [4, 10, 2], (0,)) == "a long name        1"
    assert padded(["name", "2", "1"], [4, 10, 2], (0,)) == "name           2   1"


def test_only_the_hyphens_of_numbers_become_minus_signs():
    assert typeset("-1 to 1e-08") == "−1 to 1e−08"
    assert typeset("highs-simplex, 2-3 and -x") == "highs-simplex, 2-3 and -x"
    assert typeset("-1", words=True) == "-1"
