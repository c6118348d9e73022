"""The names of crossings and blocks as they are shown, and that they are read back."""

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from treeplex import load_game
from treeplex.models.games.patrol import Attacker, Closure, PatrolGame, Unit, attacks, detection_table
from treeplex.models.games.patrol.map_view import map_view
from treeplex.models.games.patrol.road_map import RoadMap
from treeplex.models.games.patrol.words import likely_routes, question_of
from treeplex.solvers import solve_patrol
from treeplex.solvers.answers import solution_sheet
from treeplex.solvers.patrol_words import sheet_in_sides
from treeplex.solvers.patrols import changed_patrols

_X, _Y = 0.002, 0.0015


def _line(name, *points):
    where = [[round(_X * x, 6), round(50 + _Y * y, 6)] for x, y in points]
    return {"type": "Feature", "properties": {"name": name}, "geometry": {"type": "LineString", "coordinates": where}}


@pytest.fixture
def town(tmp_path):
    """A grid of three streets from west to east and two from south to north, with one named place."""
    lines = [_line(name, *((x, y) for x in range(4))) for y, name in enumerate(["High Street", "Abbey Street"])]
    lines += [_line(name, *((x, y) for y in range(2))) for x, name in enumerate(["West Road", "Mill Lane"])]
    lines += [_line("", (3, 0), (3, -1)), _line("Mill Lane", (2, 0), (2, 1))]
    bank = {"type": "Feature", "properties": {"name": "bank"}}
    lines.append(bank | {"geometry": {"type": "Point", "coordinates": [0.0, 50 + _Y]}})
    path = tmp_path / "town.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": lines}), encoding="utf-8")
    return RoadMap.from_graph(path)


def test_crossings_are_named_after_their_streets(town):
    shown = dict(zip(town.nodes, town.shown_nodes, strict=True))
    assert shown["bank"] == "bank"
    assert shown["0 50"] == "High Street / West Road"
    assert {shown["0.002 50"], shown["0.004 50"]} == {f"High Street / Mill Lane ({number})" for number in (1, 2)}
    assert shown["0.006 50"] == "High Street (east end)"
    assert shown["0.006 49.9985"] == "0.006 49.9985"  # no street has a name
    assert len(set(town.shown_nodes)) == town.num_nodes


def test_every_shown_name_is_read_back(town):
    for number, name in enumerate(town.shown_nodes):
        assert town.node(name) == number
        assert town.node(town.nodes[number]) == number
    for move, name in enumerate(town.shown_streets):
        ends = {town.sources[move], town.targets[move]}
        found = np.flatnonzero(town.place(name).moves)
        assert move in found
        assert all({town.sources[each], town.targets[each]} == ends for each in found)


def test_blocks_of_a_street_differ(town):
    pairs = {frozenset(pair) for pair in zip(town.sources.tolist(), town.targets.tolist(), strict=True)}
    assert len(set(town.shown_streets)) >= len(pairs)
    assert "West Road" in town.shown_streets
    assert any(name.startswith("High Street: West Road -- Mill Lane (") for name in town.shown_streets)


def test_a_plan_shows_streets_and_reads_them(town):
    start = "High Street / Mill Lane (1)"
    attacker = Attacker(["High Street (east end)"], {"bank": 2.0})
    block = next(name for name in town.shown_streets if name.startswith("High Street: West Road"))
    limit = f"coverage({block}, 1..4) >= 0.05"
    game = PatrolGame(town, steps=6, units=[Unit(base=start)], attackers=[attacker], limits=[limit])
    solution = solve_patrol(game)
    assert solution.certificate.violations[limit] <= 1e-9
    told = [str(route) for strategy in solution.profile for route in likely_routes(game, strategy)]
    told += [attack.way for attack in attacks(game, solution.profile)] + [question_of(game)]
    told += [str(detection_table(game, solution.profile))]
    coordinates = [name for name, shown in zip(town.nodes, town.shown_nodes, strict=True) if name != shown]
    assert not [text for text in told for name in coordinates if name in text]
    view = map_view(game, solution.profile)
    assert view.names == town.shown_nodes
    assert len({street.name for street in view.streets}) == len(view.streets)
    by_name, by_coordinates = (
        PatrolGame(replace(game.patrol, limits=[], closures=[Closure(at)])).fingerprint
        for at in (f"{start} -- High Street / West Road", f"{town.nodes[town.node(start)]} -- 0 50")
    )
    assert by_name == by_coordinates
    assert list(changed_patrols(game.patrol, f"unit {start}")) == [f"unit {start}"]
    assert not [name for name in changed_patrols(game.patrol, "units") for each in coordinates if each in name]


def test_labels_of_the_game_keep_the_coordinates(town):
    game = PatrolGame(town, steps=6, units=[Unit(base="0 50")], attackers=[Attacker(["0.006 50"], {"bank": 2.0})])
    assert game.sequence_form.treeplexes[1].infoset_labels[0] == "u1.t0.0 50"


@pytest.mark.parametrize("names", ["", "id"])
def test_numbers_of_openstreetmap_are_replaced_unless_they_are_asked_for(names):
    roads = nx.Graph()
    roads.add_edge(4711001, 4711002, name="High Street")
    roads.add_edge(4711002, 4711003, name="Mill Lane")
    town = RoadMap.from_graph(roads, names=names)
    expected = ("High Street", "High Street / Mill Lane", "Mill Lane")
    assert town.shown_nodes == (
        town.nodes if names else tuple(f"{one} (1)" * (" / " not in one) or one for one in expected)
    )


def test_a_file_reads_shown_names(town, tmp_path):
    (tmp_path / "town.toml").write_text(
        'map = "town.geojson"\nsteps = 6\n[[units]]\nstart = "High Street / West Road"\n'
        '[[attackers]]\nentries = ["High Street (east end)"]\ngoals = { bank = 1 }\n'
        '[[limits]]\ntext = "visits(High Street (east end)) <= 0.5"\n',
        encoding="utf-8",
    )
    game = load_game(str(tmp_path / "town.toml"))
    assert game.functionals["visits(High Street (east end))"].description.startswith("expected arrivals at High Street")


def test_pages_and_tables_name_the_sides(town):
    attacker = Attacker(["High Street (east end)"], {"bank": 2.0})
    limits = ["coverage(High Street) >= 0.05"]
    solution = solve_patrol(PatrolGame(town, steps=6, units=[Unit(base="bank")], attackers=[attacker], limits=limits))
    page = solution.report().to_html()
    assert "layer 0" not in page
    assert "layer 1" not in page
    assert "<th" in page
    assert "the payoff of the attacker is between" in page
    assert ">side<" in page
    assert "side" in str(sheet_in_sides(solution_sheet(solution, "patrol", "", str)))
