"""Pictures of solutions and strategies: what is drawn is what was found, and labels are only ever text."""

import numpy as np
import pytest

from treeplex import (
    BestNash,
    BestResponse,
    ConstrainedNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Game,
    Nash,
    Profile,
    RestrictedNash,
    SequenceForm,
    Strategy,
    UnsupportedProblemError,
    frequency,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint

pytest.importorskip("matplotlib")

KUHN = load_game("kuhn")
UNIFORM = Strategy.uniform(KUHN, 1)
#: Labels that matplotlib, or a page, would take for something else.
HOSTILE = ("_hidden", "$x_1", "</svg><script>alert(1)</script>", "two\nlines", "$\\frac{$")


def bars_of(axes) -> dict[float, list[float]]:
    """Return the lengths of the bars, by how far down they are."""
    found: dict[float, list[float]] = {}
    for bar in axes.patches:
        found.setdefault(round(bar.get_y() + bar.get_height() / 2, 6), []).append(bar.get_width())
    return found


def texts_of(axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_convergence_is_the_history_and_the_tolerance():
    solution = solve(Nash(KUHN), "cfr+")
    (axes,) = solution.figure().axes
    history, tolerance = axes.lines
    np.testing.assert_array_equal(history.get_xdata(), solution.history.iterations)
    np.testing.assert_array_equal(history.get_ydata(), solution.history.exploitability)
    assert set(tolerance.get_ydata()) == {solution.tolerance}
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_prices_are_the_multipliers_of_named_constraints():
    texts = ("0/K_:bet <= 1/2", "1/Q_b:bet >= 1/2 as calls $x$")
    problem = ConstrainedNash(KUHN, [each for text in texts for each in parse_constraint(text, KUHN)])
    solution = solve(problem)
    (axes,) = solution.figure("prices").axes
    assert [bar.get_width() for bar in axes.patches] == sorted(solution.multipliers.values(), reverse=True)
    names = dict(zip(texts_of(axes), [bar.get_width() for bar in axes.patches], strict=True))
    assert names["calls $x$ (player 1)"] == solution.multipliers["calls $x$"] > 0.0


def test_constraints_that_cannot_be_met_show_by_how_much_they_are_missed():
    texts = ("0/K_:bet <= 1/2 as low", "0/K_:bet >= 3/4 as high")
    solution = solve(ConstrainedNash(KUHN, [each for text in texts for each in parse_constraint(text, KUHN)]))
    (axes,) = solution.figure().axes
    assert "exclude each other" in axes.get_title(loc="left")
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("problem", "slope"),
    [
        (RestrictedNash(KUHN, UNIFORM, p=0.25), 3.0),
        (BestResponse(KUHN, UNIFORM), 0.0),
        (EpsilonSafeResponse(KUHN, UNIFORM, epsilon=0.02), 4.0),
        (BestNash(KUHN, UNIFORM), 4.0),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_a_response_lies_on_its_proven_line(problem, slope):
    solution = solve(problem)
    axes = solution.figure("frontier").axes[0]
    line, dot = axes.lines
    (left, right), (low, high) = line.get_xdata(), line.get_ydata()
    assert (high - low) / (right - left) == pytest.approx(slope)
    (risked,), (gained,) = dot.get_data()
    assert gained == solution.gain
    assert gained == pytest.approx(low + slope * risked)


@pytest.mark.parametrize("problem", [Nash(KUHN), EpsilonSafeStyle(KUHN, epsilon=0.1, maximise=frequency(KUHN, 0, "b"))])
def test_strategies_are_drawn_infoset_by_infoset(problem):
    solution = solve(problem)
    figure = solution.figure("strategy")
    asked = list(solution.profile) if solution.player is None else [solution.strategy]
    assert len(figure.axes) == len(asked)
    for axes, strategy in zip(figure.axes, asked, strict=True):
        assert texts_of(axes) == list(strategy.to_dict())
        for bar, played in zip(bars_of(axes).values(), strategy.to_dict().values(), strict=True):
            assert bar == pytest.approx(list(played.values()))


def test_what_a_solution_does_not_have_is_refused():
    solution = solve(Nash(KUHN))
    with pytest.raises(UnsupportedProblemError, match=r"nash by highs has no prices to draw, only strategy$"):
        solution.figure("prices")
    with pytest.raises(UnsupportedProblemError, match="panel is 'price', expected one of convergence, frontier"):
        solution.figure("price")


def test_a_picture_of_many_infosets_shows_those_that_are_reached_most():
    strategy = solve(Nash(load_game("leduc")), "cfr", max_iterations=20).profile[0]
    (axes,) = strategy.figure(most=7).axes
    assert axes.get_title(loc="left") == "player 0: 7 of 468 infosets"
    reach = dict(zip(strategy.to_dict(), strategy.treeplex.reach(strategy.plan), strict=True))
    shown = texts_of(axes)
    assert len(shown) == 7
    assert min(reach[label] for label in shown) >= max(reach[label] for label in reach if label not in shown)


def test_another_strategy_is_drawn_below(tmp_path):
    profile = solve(Nash(KUHN)).profile
    (axes,) = profile[1].figure(["K_b", "K_p"], against=UNIFORM).axes
    assert texts_of(axes) == ["K_p", "K_b"]
    assert list(bars_of(axes).values()) == [[0.0, 1.0], [0.5, 0.5]] * 2
    profile.plot(tmp_path / "both.png", against=Profile.uniform(KUHN))
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")


def test_hostile_labels_are_only_text(tmp_path):
    form = SequenceForm.from_payoff_matrix(np.diag(range(1, 1 + len(HOSTILE))), labels=(HOSTILE, HOSTILE))
    game = Game.from_sequence_form(form, name="$hostile_$ <b>")
    solve(Nash(game), "cfr+", max_iterations=5).plot(tmp_path / "all.svg", "convergence", "strategy")
    text = (tmp_path / "all.svg").read_text(encoding="utf-8")
    assert "<script" not in text
    names = [
        each.get_text().strip("\u200a") for each in Profile.uniform(game).figure().axes[0].get_legend().get_texts()
    ]
    assert names[:2] == ["_hidden", "$x_1"]
    assert "\n" not in "".join(names)
