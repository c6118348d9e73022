"""Times in UTC where the time zone and the date are known, and local times without a zone elsewhere."""

import csv
import datetime as dt
import json
import re
from pathlib import Path

import networkx as nx
import pytest

from treeplex import Profile, Strategy
from treeplex.models.games.patrol import Attacker, Clock, PatrolGame, PatrolPlan, Unit, roster, schedule, write_schedule
from treeplex.models.games.patrol.patrol_files import read_patrol
from treeplex.seqform.errors import GameFileError, InvalidGameError

_FIRST = dt.datetime(2026, 10, 24, 23)


def _game(timezone=""):
    road = nx.path_graph(["gate", "mill", "bank"])
    nx.set_node_attributes(road, {name: {"lon": n / 100, "lat": 53.0} for n, name in enumerate(road)})
    clock = Clock("23:00", "1 h", timezone)
    return PatrolGame(
        road, steps=4, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})], clock=clock
    )


def _drawn(timezone=""):
    game = _game(timezone)
    return schedule(game, Strategy.uniform(game, 1), days=2, seed=1)


def _times(path):
    return re.findall("<time>(.*?)</time>", Path(path).read_text(encoding="utf-8"))


def test_a_zone_gives_utc_also_where_clocks_are_changed(tmp_path):
    path = tmp_path / "days.gpx"
    write_schedule(_drawn("Europe/Dublin"), path, _FIRST)
    times = _times(path)
    # Irish summer time ends in the first night: day 1 begins at UTC+1, and day 2 at UTC+0.
    assert times[0] == "2026-10-24T22:00:00Z"
    assert "2026-10-25T02:00:00Z" in times
    assert "2026-10-25T23:00:00Z" in times
    assert all(time.endswith("Z") for time in times)
    days = (
        len({time for time in times if time < "2026-10-25T12"}),
        len({time for time in times if time > "2026-10-25T12"}),
    )
    assert days == (5, 5)  # four steps of an hour, though the clock shows 01:00 twice
    write_schedule(_drawn("Europe/Dublin"), tmp_path / "days.geojson", _FIRST)
    line = json.loads((tmp_path / "days.geojson").read_text(encoding="utf-8"))["features"][0]["properties"]
    assert line["begins"] == "2026-10-24T23:00:00+01:00"
    assert line["ends"] == "2026-10-25T02:00:00+00:00"
    assert [dt.datetime.fromisoformat(time).astimezone(dt.UTC) for time in line["times"]] == sorted(
        dt.datetime.fromisoformat(time) for time in times if time < "2026-10-25T12"
    )


@pytest.mark.parametrize(("timezone", "first"), [("", _FIRST), ("Europe/Dublin", None)])
def test_without_zone_or_date_no_time_claims_to_be_utc(timezone, first, tmp_path):
    path = tmp_path / "days.gpx"
    write_schedule(_drawn(timezone), path, first)
    assert _times(path)
    assert not any("Z" in time for time in _times(path))


def test_a_calendar_has_utc_events_and_local_descriptions():
    earliest = dt.datetime.now(dt.UTC).replace(microsecond=0)
    told = _drawn("Europe/Dublin").to_ics(_FIRST).replace("\r\n ", "")
    begins, ends = (re.findall(rf"{key}:(.*)\r", told) for key in ("DTSTART", "DTEND"))
    assert begins == ["20261024T220000Z", "20261025T230000Z"]
    assert ends == ["20261025T020000Z", "20261026T030000Z"]  # four hours each, in UTC+1 and then in UTC+0
    days = re.findall("DESCRIPTION:(.*)\r", told)
    assert [(day[:5], re.search(r"(\d\d:\d\d) \w+\\, the end", day)[1]) for day in days] == [
        ("23:00", "02:00"),
        ("23:00", "03:00"),
    ]
    for calendar in (told, _drawn("Europe/Dublin").to_ics(), _drawn().to_ics(_FIRST)):
        made = {dt.datetime.strptime(one, "%Y%m%dT%H%M%S%z") for one in re.findall("DTSTAMP:(.*)\r", calendar)}
        assert all(earliest <= one <= dt.datetime.now(dt.UTC) for one in made)
        assert len(made) == 1
    for local in (_drawn("Europe/Dublin").to_ics(), _drawn().to_ics(_FIRST)):
        assert not re.findall("DT(?:START|END):.*Z", local)


def test_tables_have_dates_if_the_first_day_is_known(tmp_path):
    drawn = _drawn()
    assert "date" not in drawn.to_csv().splitlines()[0]
    path = tmp_path / "days.csv"
    write_schedule(drawn, path, _FIRST)
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert {(row["day"], row["date"]) for row in rows} == {("1", "2026-10-24"), ("2", "2026-10-25")}
    game = _game()
    roster(game, Strategy.uniform(game, 1), days=2, seed=1, crews=2).save(path, first=_FIRST)
    assert path.read_text(encoding="utf-8").startswith("day,date,crew,")


def test_a_plan_keeps_its_zone_and_a_wrong_one_is_refused(tmp_path):
    game = _game("Europe/Dublin")
    PatrolPlan(game, Profile.uniform(game)).save(tmp_path / "plan.npz")
    assert PatrolPlan.load(tmp_path / "plan.npz").patrol.clock.timezone == "Europe/Dublin"
    with pytest.raises(InvalidGameError, match=r"timezone is 'Europe/Dublim'.*did you mean Europe/Dublin"):
        Clock("22:00", "5 min", "Europe/Dublim")
    (tmp_path / "roads.csv").write_text("gate,bank\n", encoding="utf-8")
    (tmp_path / "town.toml").write_text(
        'map = "roads.csv"\nsteps = 2\ntimezone = "Europe/Dublin"\nunits = []\n'
        '[[attackers]]\nentries = ["gate"]\ngoals = { bank = 1 }\n',
        encoding="utf-8",
    )
    with pytest.raises(GameFileError, match="line 3: timezone is given without the other keys of a clock"):
        read_patrol(tmp_path / "town.toml")
