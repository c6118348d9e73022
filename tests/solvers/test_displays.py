"""What notebooks show of results: short, true, and whatever labels hold, only text."""

from html.parser import HTMLParser

import numpy as np
import pytest

from treeplex import (
    ConstrainedNash,
    Game,
    Nash,
    Profile,
    SequenceForm,
    Strategy,
    frequency,
    load_game,
    parametric_value,
    restricted_nash_frontier,
    solve,
    trade_off,
)
from treeplex.models.constraints import parse_constraint
from treeplex.seqform.sheet import typeset

KUHN = load_game("kuhn")
HOSTILE = ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "'\"&amp;<b>", "line\nbreak", "</style>")


class Seen(HTMLParser):
    """What a browser would make of HTML: elements with their attributes, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def shown(result) -> Seen:
    return Seen(result._repr_html_())


def test_a_game_is_described_and_not_built():
    game = load_game("leduc:ranks=13,suits=4")
    seen = shown(game)
    assert "sequence_form" not in vars(game)
    assert "players2infosets39,936, 39,936sequences93,185, 93,185leaves5,977,608" in seen.text
    assert "valueunknown" not in seen.text
    seen = shown(KUHN)
    for fact in (
        "infosets6, 6",
        "parametersplayers = 2, cards = 3",
        "actionspass: p, bet: b",
        "value-1/18 to player 0",
    ):
        assert fact in seen.text


def test_a_solution_shows_what_its_text_says():
    solution = solve(ConstrainedNash(KUHN, parse_constraint("0/J_:bet >= 1/2 as <bluff>", KUHN)))
    seen = shown(solution)
    for name, text in solution.rows()[4:]:
        assert f"{name}{' '.join(typeset(text).split())}" in seen.text
    price = f"{solution.multipliers['<bluff>']:.10f}"
    assert solution.multipliers["<bluff>"] > 0.1
    assert price in str(solution)
    place = seen.texts.index("<bluff>")
    assert seen.texts[place : place + 4] == ["<bluff>", "0", "0", price]
    assert seen.tags.count("details") == 1


def test_an_infeasible_solution_has_no_value():
    texts = ("0/K_:bet <= 1/2 as low", "0/K_:bet >= 3/4 as high")
    seen = shown(solve(ConstrainedNash(KUHN, [each for text in texts for each in parse_constraint(text, KUHN)])))
    assert "infeasible" in seen.text
    assert "low, high exclude each other" in seen.text
    assert "proven bounds" not in seen.text


def test_long_tables_end_with_how_many_rows_there_are():
    strategy = Strategy.uniform(load_game("leduc"), 0)
    seen = shown(strategy)
    assert seen.tags.count("tr") == 21
    assert "The first 20 of 468 rows; table() prints all rows, and to_frame() returns them." in seen.text
    assert len(strategy._repr_html_()) < 20_000
    assert "The first" not in shown(Strategy.uniform(KUHN, 0)).text
    assert shown(Profile.uniform(KUHN)).tags.count("table") == 2


def test_games_of_many_actions_take_a_line_for_each_action():
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(np.eye(12)))
    strategy = Strategy.from_dict(game, 0, {"row": {3: 0.75, 11: 0.25}})
    assert "row1.000030.7500" in shown(strategy).text
    assert "row1.0000110.2500" in shown(strategy).text


def test_curves_show_their_pieces_and_a_picture():
    pytest.importorskip("matplotlib")
    bluff = parse_constraint("0/K_:bet <= 1/2 as bets", KUHN)
    frontier = restricted_nash_frontier(KUHN, Strategy.uniform(KUHN, 1))
    curves = {
        frontier: ("3 restricted Nash responses", frontier.gains),
        trade_off(KUHN, frequency(KUHN, 0, "bet")): ("Least loss as a function of how often player 0 takes b", ()),
        parametric_value(ConstrainedNash(KUHN, bluff), "bets", 0, 1): ("Optimum by bound of bets", ()),
    }
    for curve, (title, numbers) in curves.items():
        seen = shown(curve)
        assert title in seen.text
        assert seen.tags.count("svg") == 1
        for number in numbers:
            assert f"{number:.10f}" in seen.texts


def test_a_constraint_is_named_and_bounded():
    (linear,) = parse_constraint("plan(0/K_:bet) <= 1/3 as at most a third", KUHN)
    seen = shown(linear)
    assert "Constraint of player 0 at most a third" in seen.text
    assert "functionlinear, in 1 sequenceat most1/3" in seen.text


@pytest.mark.parametrize("method", ["highs", "cfr+"])
def test_hostile_labels_are_only_text(method):
    form = SequenceForm.from_payoff_matrix(np.diag(range(1, 6)), labels=(HOSTILE, HOSTILE))
    game = Game.from_sequence_form(form, name=HOSTILE[0])
    solution = solve(Nash(game), method)
    for result in (game, solution, solution.profile, solution.profile[0]):
        seen = shown(result)
        assert not {"script", "img"} & set(seen.tags)
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in shown(solution.profile).texts
