"""Patrols solved as they are declared, changed one thing at a time, and shown: bounds, starts, routes and pictures."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from treeplex import (
    ConstrainedNash,
    GameFileError,
    InvalidGameError,
    Nash,
    Profile,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.games.patrol import (
    Attacker,
    Closure,
    Patrol,
    PatrolGame,
    Unit,
    animate_map,
    draw_map,
    likely_routes,
    patrol_meetings,
    patrol_occupancy,
)
from treeplex.models.games.patrol.map_view import map_view
from treeplex.solvers import solve_patrol, what_if
from treeplex.solvers.patrols import carried, changed_patrols


@pytest.fixture(scope="module")
def patrol():
    town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    attacker = Attacker(["gate"], {"bank": 5.0}, window=(0, 2))
    return Patrol(town, 5, [Unit(base="mill"), Unit(base="inn")], [attacker], limits=["risk(unit 1) <= 1/4 as risk"])


@pytest.fixture(scope="module")
def solution(patrol):
    return solve_patrol(PatrolGame(patrol))


def test_limits_of_the_declaration_are_kept(patrol, solution):
    game = solution.problem.game
    assert type(solution.problem) is ConstrainedNash
    assert solution.method.name == "highs"
    assert game.functionals["risk(unit 1)"].value(solution.profile) <= 0.25 + 1e-6
    free = solve_patrol(PatrolGame(replace(patrol, limits=[])), "dcfr")
    assert type(free.problem) is Nash
    assert free.upper - free.lower <= 2 * 1e-3 * game.payoff_scale  # the default tolerance
    assert free.lower <= solution.value + 1e-6


def test_changes_are_worth_what_solving_anew_says(patrol, solution):
    asked = ["units", "close mill -- bank", "risk(unit 1) <= 1"]
    found = {row.change: row for row in what_if(solution, asked)}
    declared = {
        "unit mill": replace(patrol, units=[*patrol.units, Unit(base="mill", name="unit 3")]),
        "unit inn": replace(patrol, units=[*patrol.units, Unit(base="inn", name="unit 3")]),
        "without unit 1": replace(patrol, units=patrol.units[1:], limits=[]),
        "without unit 2": replace(patrol, units=patrol.units[:1]),
        "close mill -- bank": replace(patrol, closures=[Closure("mill -- bank")]),
        "risk(unit 1) <= 1": replace(patrol, limits=[]),
    }
    assert found.keys() == declared.keys()
    for name, one in declared.items():
        value = solve_patrol(PatrolGame(one)).value
        assert found[name].value == pytest.approx(value, abs=1e-6)
        assert found[name].lower - 1e-7 <= value <= found[name].upper + 1e-7
        assert found[name].worth == pytest.approx(solution.value - value, abs=1e-6)
    # One unit more is worth something, one less costs something.
    assert found["unit inn"].worth > 0.0 > found["without unit 2"].worth
    printed = str(what_if(solution, ["visits(bank) >= 9 as often"]))
    assert "infeasible" in printed


def test_iterative_methods_start_from_the_plan(patrol):
    first = solve_patrol(PatrolGame(replace(patrol, limits=[])), "cfr+", tol=1e-4)
    (row,) = what_if(first, ["close gate -- inn"], tol=1e-4)
    again = solve_patrol(PatrolGame(replace(patrol, limits=[], closures=[Closure("gate -- inn")])), "highs")
    assert row.lower - 1e-9 <= again.value <= row.upper + 1e-9


def test_strategies_are_carried_by_labels(patrol, solution):
    closed = PatrolGame(replace(patrol, closures=[Closure("mill -- bank")]))
    mine, kept = solution.profile[1], carried(solution.profile, closed)[1]
    before = mine["u1.t0.mill"]
    left = {action: share for action, share in before.items() if action != "bank"}
    total = sum(left.values())
    for action, share in kept["u1.t0.mill"].items():
        assert share == pytest.approx(left[action] / total if total else 1 / len(left))
    same = carried(solution.profile, PatrolGame(patrol))
    for one, other in zip(same, solution.profile, strict=True):
        np.testing.assert_allclose(one.plan, other.plan, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("unit mil", "the unit's base is 'mil', which is not a node of the map"),
        ("without unit 9", "which is not a unit"),
        ("close mill -- nowhere", "nowhere"),
        ("more", "expected unit NODE, without UNIT, close PLACE"),
        ("", "expected unit NODE"),
    ],
)
def test_changes_that_cannot_be_read(patrol, change, said):
    with pytest.raises(InvalidGameError, match=said):
        changed_patrols(patrol, change)


def test_other_games_are_refused():
    kuhn = load_game("kuhn")
    with pytest.raises(UnsupportedProblemError, match="kuhn is not a patrol"):
        solve_patrol(kuhn)
    with pytest.raises(UnsupportedProblemError, match="kuhn is not a patrol"):
        what_if(solve(Nash(kuhn)), ["units"])
    with pytest.raises(UnsupportedProblemError, match="kuhn is not a patrol"):
        map_view(kuhn, Profile.uniform(kuhn))


def test_a_view_has_what_the_map_has(patrol, solution):
    game, profile = solution.problem.game, solution.profile
    view = map_view(game, profile, game.constraints)
    assert [layer.kind for layer in view.layers] == ["unit", "unit", "attacker", "meeting", "limit"]
    first, _, attackers, meetings, limit = view.layers
    assert len(view.streets) == 5
    np.testing.assert_allclose(first.nodes, patrol_occupancy(game, profile[1])[0].standing)
    np.testing.assert_allclose(first.streets[:-1].sum(axis=1), patrol_occupancy(game, profile[1])[0].moving.sum(axis=1))
    np.testing.assert_allclose(first.nodes.sum(axis=1), 1.0)
    assert attackers.nodes.sum(axis=1).max() <= 1.0 + 1e-9
    assert meetings.nodes.sum() + meetings.streets.sum() == pytest.approx(patrol_meetings(game, profile).total)
    risk = game.functionals["risk(unit 1)"].value(profile)
    assert limit.nodes.sum() == limit.nodes[-1].sum() == pytest.approx(risk)
    names = view.names
    assert {kind: {names[node] for node in nodes} for kind, nodes in view.marks.items()} == {
        "entry": {"gate"},
        "goal": {"bank"},
        "base": {"mill", "inn"},
    }


def test_likely_routes_are_parts_of_the_flow(patrol, solution):
    game = solution.problem.game
    for strategy in solution.profile:
        routes = likely_routes(game, strategy, most=1000)
        for name in {route.who for route in routes}:
            shares = [route.probability for route in routes if route.who == name]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) <= 1.0 + 1e-9
            if strategy.player == 1:
                assert sum(shares) > 0.8
        for route in routes:
            assert [time for time, _ in route.stops] == sorted({time for time, _ in route.stops})
    with pytest.raises(UnsupportedProblemError):
        likely_routes(load_game("kuhn"), Strategy.uniform(load_game("kuhn"), 0))


def test_maps_are_drawn(solution):
    pytest.importorskip("matplotlib")
    game = solution.problem.game
    figure = draw_map(game, solution.profile)
    assert [axes.get_title() for axes in figure.axes] == [f"t = {time}" for time in range(5)] + ["t = 5, the end"]
    assert len(draw_map(game, solution.profile[0], times=[1, 3, 4, 5]).axes) == 4
    (words,) = draw_map(game, solution.profile, prices={"risk": 0.25}).texts
    assert words.get_text() == "prices of limits: risk: 0.25"
    with pytest.raises(UnsupportedProblemError, match="times contains 6, expected whole numbers from 0 to 5"):
        draw_map(game, solution.profile, times=[6])


def test_an_animation_tells_units_apart(solution, tmp_path):
    """All frames have one palette, in which no colour stands for two."""
    image = pytest.importorskip("PIL.Image")
    animate_map(solution.problem.game, solution.profile, tmp_path / "day.gif", seconds=0.1)
    with image.open(tmp_path / "day.gif") as day:
        assert day.n_frames == 6
        for frame in range(day.n_frames):
            day.seek(frame)
            colours = np.array([colour for _, colour in day.convert("RGB").getcolors(10**6)])
            for wanted in ((0, 114, 178), (0, 158, 115), (213, 94, 0)):  # of the units and of attackers, in the key
                assert np.abs(colours - wanted).max(axis=1).min() <= 3
    with pytest.raises(GameFileError, match=r"expected \.gif"):
        animate_map(solution.problem.game, solution.profile, tmp_path / "day.png")


def test_a_report_says_what_was_asked_and_found(solution):
    html = solution.report().to_html()
    assert "Where should unit 1 and unit 2 be, and when, so that attackers from gate to bank gain least" in html
    assert f"{solution.upper:.6g}" in html
    assert "data-patrol=" in html
    assert "used by risk" in html or solution.multipliers["risk"] < 1e-9
