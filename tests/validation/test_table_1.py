"""Table 1 of the paper on depth-limited responses, to the printed digit."""

import dataclasses

import pytest
from effort import few
from figures import reproduced

from treeplex import CDBR, Strategy, UnsupportedProblemError, load_game, solve
from treeplex.validation.papers import CDRNRTable1, reproduce
from treeplex.validation.papers import cdrnr_table_1 as table

#: More digits than are printed, by two independent computations; best responses gain so much.
PERCENTAGES = {
    "Leduc": (74.371, 96.045, 97.132, 32.57),
    "IIGS4": (98.46, 100.0, 100.0, 77.14),
    "IIGS5": (93.49, 100.0, 100.0, 50.42),
    "IIGS6": (90.67, 100.0, 100.0, 45.86),
}
BEST = {"Leduc": 2.1731, "IIGS4": 2.5, "IIGS5": 4.0, "IIGS6": 5.8333}


def check(name):
    found = reproduced("cdrnr-table-1") if name == "IIGS4" else reproduce(CDRNRTable1((name,), 2_000))
    assert [row.failure for row in found.rows] == [""] * 5
    assert found.rows_passed
    assert [claim.quantity.partition(", ")[2] for claim in found.claims if not claim.settled] == [
        "ABR: percent of a best response's gain"
    ]
    assert [row.method for row in found.rows] == ["ABR", "CDBR1", "CDBR3", "CDBR5", "BNE"]
    assert [row.percent for row in found.rows[1:]] == pytest.approx(PERCENTAGES[name], abs=6e-3)
    assert found.rows[0].best == pytest.approx(BEST[name], abs=5e-5)
    return found


@few
@pytest.mark.parametrize("name", ["Leduc", "IIGS4", "IIGS5"])
def test_every_cell_comes_out_to_the_printed_digit(name):
    found = check(name)
    assert [claim.paper for claim in found.claims] == [float(row.paper) for row in found.rows]
    assert max(row.gap for row in found.rows[1:]) <= 1e-6
    learned = found.rows[0]
    assert learned.gap == pytest.approx(learned.best - learned.gain)
    assert learned.lower < learned.percent < learned.upper


@pytest.mark.slow
def test_the_largest_game_too():
    check("IIGS6")


def test_other_readings_of_the_table_do_not_reproduce_it():
    def share(spec, player, lookahead=1):
        game = load_game(spec)
        model = Strategy.uniform(game, 1 - player)
        value = float(game.reference_value or 0)
        found = solve(CDBR(game, model, lookahead=lookahead, game_value=value if player == 0 else -value))
        best = solve(table.BestResponse(game, model, game_value=found.game_value)).gain
        return round(100 * found.gain / best, 1)

    assert share("leduc", 1) == 98.9  # the other seat
    assert share("goofspiel:cards=4,order=ascending", 0) != 98.5
    assert share("goofspiel:cards=4,payoff=win_loss", 0) != 98.5
    assert share("leduc", 0, lookahead=4) == 100.0  # levels without those of chance would see that much with three


def test_a_cell_with_another_digit_fails(monkeypatch):
    printed = {"IIGS4": ("goofspiel:cards=4", {"ABR": "104", "CDBR1": "98.4", "BNE": "77.1"})}
    monkeypatch.setattr(table, "PRINTED", printed)
    found = reproduce(CDRNRTable1(("IIGS4",), 500, 20_000))
    assert not found.rows_passed
    assert [row.failure for row in found.rows] == [
        "100.000 is more than 3 less than the printed 104",
        "98.5 is not the printed 98.4",
        "",
    ]


def test_an_answer_that_is_not_proven_fails():
    game = load_game("kuhn")
    solution = solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1))
    worse = dataclasses.replace(solution, status="uncertified")
    assert table._judged("Kuhn", "CDBR1", worse, solution.gain, "100").failure == "the answer is uncertified"


def test_games_that_are_not_in_the_table_are_refused():
    with pytest.raises(UnsupportedProblemError, match=r"games is 'IIGS7', expected one of Leduc, IIGS4"):
        CDRNRTable1(("IIGS7",))
    with pytest.raises(UnsupportedProblemError, match="expected a tuple of Leduc"):
        CDRNRTable1(())
