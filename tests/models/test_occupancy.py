"""Where players of the transit game are: against a walk by behaviour, and as pictures and animations."""

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import few
from random_profiles import random_profile

from treeplex import (
    ConstrainedNash,
    Game,
    GameFileError,
    InvalidStrategyError,
    MissingExtraError,
    Profile,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    solve,
)
from treeplex.cli import main
from treeplex.models.constraints import functional_bound
from treeplex.models.games.transit import DIRECTIONS, Transit
from treeplex.models.games.transit_occupancy import transit_occupancy
from treeplex.models.games.transit_pictures import animate_occupancy, draw_occupancy, write_occupancy
from treeplex.seqform.interchange.matrix_file import write_matrices

SPECS = [
    "transit:width=2",
    "transit:width=3,horizon=7",
    "transit:width=2,model=A,failure=1/3,base=r1c2,starts=r0c1+r1c0",
    "transit:width=2,failure=0,horizon=5",
    "transit:width=2,failure=1,horizon=4",
    "transit:width=2,horizon=1",
]


def walked(game: Game, strategy: Strategy) -> np.ndarray:
    """Walk by behaviour, one step after another: who has escaped stays where it is."""
    rules = Transit(**game.parameters)
    rows, columns = rules.grid.rows, rules.grid.columns
    here = np.zeros((rows, columns))
    if strategy.player == 0:
        for cell, chance in strategy["start"].items():
            here[divmod(rules.grid.cell(cell), columns)] = chance
    else:
        here[divmod(rules.base_cell, columns)] = 1.0
    times = [here]
    for time in range(rules.horizon):
        there = np.zeros_like(here)
        for row, column in zip(*np.nonzero(here), strict=True):
            if strategy.player == 0 and column == columns - 1:
                there[row, column] += here[row, column]
                continue
            for name, chance in strategy[f"t{time}r{row}c{column}"].items():
                failure = 0.0 if time == 0 or name == "stay" else float(rules.failure)
                down, right = DIRECTIONS[name]
                there[row + down, column + right] += here[row, column] * chance * (1.0 - failure)
                there[row, column] += here[row, column] * chance * failure
        here = there
        times.append(here)
    return np.array(times)


@pytest.mark.parametrize("spec", SPECS)
def test_occupancies_are_those_of_a_walk_by_behaviour(spec: str) -> None:
    game = load_game(spec)
    rules = Transit(**game.parameters)
    for seed in range(3):
        for strategy in random_profile(game, seed):
            occupancy = transit_occupancy(game, strategy)
            assert occupancy.shape == (rules.steps + 1, rules.grid.rows, rules.grid.columns)
            np.testing.assert_allclose(occupancy, walked(game, strategy), atol=1e-14)
            np.testing.assert_allclose(occupancy.sum(axis=(1, 2)), 1.0, atol=1e-14)


@pytest.mark.parametrize("spec", SPECS)
def test_who_is_not_at_the_base_at_the_end_is_the_risk(spec: str) -> None:
    game = load_game(spec)
    rules = Transit(**game.parameters)
    for seed in range(3):
        patroller = random_profile(game, seed)[1]
        at_base = transit_occupancy(game, patroller)[-1][divmod(rules.base_cell, rules.grid.columns)]
        assert at_base == pytest.approx(1.0 - game.functionals["risk"].value(patroller), abs=1e-14)


def test_occupancies_of_moves_are_the_reach_of_their_infosets() -> None:
    game = load_game("transit:width=3")
    for strategy in random_profile(game, seed=7):
        occupancy, treeplex = transit_occupancy(game, strategy), strategy.treeplex
        for label, reach in zip(treeplex.infoset_labels, treeplex.reach(strategy.plan), strict=True):
            if label != "start":
                time, row, column = map(int, str(label).replace("r", "t").replace("c", "t").split("t")[1:])
                assert occupancy[time, row, column] == pytest.approx(reach, abs=1e-14)


def test_what_has_escaped_grows_and_ends_with_those_who_earned_it() -> None:
    """With a reward alone the evader earns what it has escaped with."""
    game = load_game("transit:width=2,encounter_cost=0,time_cost=0,escape_reward=3")
    evader, patroller = random_profile(game, seed=1)
    escaped = transit_occupancy(game, evader)[:, :, -1].sum(axis=1)
    assert escaped[0] == 0.0
    assert (np.diff(escaped) >= 0.0).all()
    assert expected_payoffs(game, Profile([evader, patroller]))[0] == pytest.approx(3.0 * escaped[-1], abs=1e-13)


def test_a_patroller_under_a_limit_is_back_as_often_as_it_says() -> None:
    game = load_game("transit:width=2")
    limit = functional_bound(game.functionals["risk"], at_most=0.1, name="risk")
    patroller = solve(ConstrainedNash(game, [limit])).profile[1]
    assert transit_occupancy(game, patroller)[-1, 0, 1] == pytest.approx(0.9, abs=1e-7)


# What is refused


def without_a_grid(tmp_path: Path) -> dict[str, tuple[Any, str]]:
    write_matrices(load_game("transit:width=2"), tmp_path / "transit.npz")
    return {
        "another game": (load_game("kuhn"), "kuhn has no grid to show a strategy on, expected a transit game"),
        "histories": (load_game("transit:width=2,horizon=1,form=histories"), "over histories .* expected form=flow"),
        "a file called transit": (load_game(tmp_path / "transit.npz"), r"transit\.npz has no grid"),
        "no game": (3, "game is 3, expected a transit game"),
    }


def test_games_without_a_grid_are_refused_in_one_line(tmp_path: Path) -> None:
    patroller = Strategy.uniform(load_game("transit:width=2"), 1)
    for game, message in without_a_grid(tmp_path).values():
        for refuses in (
            lambda game: transit_occupancy(game, patroller),
            lambda game: draw_occupancy(game, patroller),
            lambda game: animate_occupancy(game, patroller, tmp_path / "x.gif"),
        ):
            with pytest.raises(UnsupportedProblemError, match=message) as caught:
                refuses(game)
            assert "\n" not in str(caught.value)
    assert not (tmp_path / "x.gif").exists()


def test_wrong_strategies_are_refused_in_one_line() -> None:
    game = load_game("transit:width=2")
    wrong: list[tuple[Any, type[Exception], str]] = [
        (Strategy.uniform(load_game("transit:width=3"), 1), InvalidStrategyError, "belongs to another game"),
        ({"a": Strategy.uniform(game, 1), "b": 3}, InvalidStrategyError, "strategy is 3, expected a Strategy"),
        ({}, InvalidStrategyError, "an empty mapping"),
        ([Strategy.uniform(game, 1)], InvalidStrategyError, "expected a Strategy, a Profile or a mapping"),
        (dict.fromkeys(map(str, range(13)), Strategy.uniform(game, 1)), UnsupportedProblemError, "13 strategies"),
    ]
    for strategies, error, message in wrong:
        with pytest.raises(error, match=message) as caught:
            draw_occupancy(game, strategies)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("times", [[9], [-1], [0.5], [True], [], "01", 3.0, range(60), [0] * 41])
def test_times_that_are_none_of_the_game_are_refused(times: Any) -> None:
    game = load_game("transit:width=2")
    with pytest.raises(UnsupportedProblemError, match="times "):
        draw_occupancy(game, Strategy.uniform(game, 1), times=times)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), 1e9, "1", True, None])
def test_frames_that_nobody_sees_are_refused(seconds: Any, tmp_path: Path) -> None:
    game = load_game("transit:width=2")
    with pytest.raises(UnsupportedProblemError, match=r"expected a number from 0\.02 to 60"):
        animate_occupancy(game, Strategy.uniform(game, 1), tmp_path / "x.gif", seconds=seconds)


def test_long_games_have_pictures_and_no_animations(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2,horizon=301")
    with pytest.raises(UnsupportedProblemError, match="has 301 steps, too many for an animation: expected at most 300"):
        animate_occupancy(game, Strategy.uniform(game, 1), tmp_path / "x.gif")
    titles = [axes.get_title() for axes in draw_occupancy(game, Strategy.uniform(game, 1)).axes]
    assert titles[:2] == ["t = 0", "t = 16"]
    assert titles[19] == "t = 301, the end"


def test_other_suffixes_and_places_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2,horizon=1")
    patroller = Strategy.uniform(game, 1)
    with pytest.raises(GameFileError, match=r"suffix '\.bmp', expected \.svg, \.png, \.pdf or \.gif"):
        write_occupancy(game, patroller, tmp_path / "x.bmp")
    with pytest.raises(GameFileError, match=r"suffix '\.png', expected \.gif"):
        animate_occupancy(game, patroller, tmp_path / "x.png")
    for suffix in (".gif", ".png"):
        with pytest.raises(GameFileError, match="cannot be written: no such file or directory"):
            write_occupancy(game, patroller, tmp_path / "absent" / f"x{suffix}")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    game = load_game("transit:width=2")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for write in (draw_occupancy, lambda *given: animate_occupancy(*given, tmp_path / "x.gif")):
        with pytest.raises(MissingExtraError, match=r"needs matplotlib: pip install 'treeplex\[plot\]'"):
            write(game, Strategy.uniform(game, 1))


# Pictures


def test_pictures_show_times_names_and_who_is_back() -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2")
    stay = Strategy.from_dict(
        game, 1, {label: {"stay": 1.0} for label in game.sequence_form.treeplexes[1].infoset_labels}
    )
    both = {"at random": Strategy.uniform(game, 1), "at home": stay}
    grids = draw_occupancy(game, both, times=[0, 3, 8]).axes[:6]
    assert [axes.get_title() for axes in grids] == ["t = 0", "t = 3", "t = 8, the end", "", "", ""]
    assert [axes.get_ylabel() for axes in grids] == ["at random", "", "", "at home", "", ""]
    back = transit_occupancy(game, both["at random"])[-1, 0, 1]
    assert [axes.get_xlabel() for axes in grids] == ["", "", f"at the base: {back:.2f}", "", "", "at the base: 1.00"]
    for axes, strategy, time in zip(grids, ["at random"] * 3 + ["at home"] * 3, [0, 3, 8] * 2, strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), transit_occupancy(game, both[strategy])[time])
        assert (image.norm.vmin, image.norm.vmax) == (1e-3, 1.0)  # one scale
        (base,) = axes.patches
        assert base.get_xy() == (0.5, -0.5)  # around r0c1
        (east,) = axes.lines
        assert list(east.get_xdata()) == [2.5, 2.5]


def test_one_strategy_is_shown_at_all_times_and_a_profile_as_both_players() -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2")
    alone = draw_occupancy(game, Strategy.uniform(game, 0)).axes[:9]
    assert [axes.get_title() for axes in alone] == [f"t = {time}" for time in range(8)] + ["t = 8, the end"]
    assert alone[-1].get_xlabel().startswith("escaped: 0.")
    profile = draw_occupancy(game, Profile.uniform(game)).axes
    assert [axes.get_ylabel() for axes in profile if axes.get_ylabel()] == ["evader", "patroller"]


@pytest.mark.parametrize("suffix", [".png", ".gif"])
def test_names_are_shown_as_they_are(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2,horizon=1")
    patroller = Strategy.uniform(game, 1)
    name = "$\\frac{1$ 日本\n_^ $x$"
    for names in ([name], [name, "x" * 1000]):
        write_occupancy(game, dict.fromkeys(names, patroller), tmp_path / f"names{suffix}")
    (label, long) = (axes.get_ylabel() for axes in draw_occupancy(game, dict.fromkeys(names, patroller)).axes[::2][:2])
    assert label == "$\\frac{1$ 日本\\n_^ $x$"
    assert len(long) == 40


@pytest.mark.parametrize("suffix", [".svg", ".gif"])
def test_the_same_strategies_give_the_same_file(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2,horizon=2")
    for name in ("one", "other"):
        write_occupancy(game, random_profile(game, 3)[1], tmp_path / f"{name}{suffix}")
    content = (tmp_path / f"one{suffix}").read_bytes()
    assert content.startswith({".svg": b"<?xml", ".gif": b"GIF89a"}[suffix])
    assert content == (tmp_path / f"other{suffix}").read_bytes()


@pytest.mark.parametrize("count", [1, 4])
def test_animations_have_a_frame_a_time_and_repeat(count: int, tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2,horizon=4")
    strategies = {f"seed {seed}": random_profile(game, seed)[1] for seed in range(count)}
    animate_occupancy(game, strategies, tmp_path / "patrols.gif", seconds=0.25)
    with images.open(tmp_path / "patrols.gif") as animation:
        assert animation.n_frames == 5
        assert animation.info["loop"] == 0  # for ever
        frames, lengths = [], []
        for place in range(5):
            animation.seek(place)
            frames.append(np.asarray(animation.convert("RGB")))
            lengths.append(animation.info["duration"])
    assert lengths == [250] * 4 + [1000]
    assert all((one != other).any() for one, other in itertools.pairwise(frames))
    # At first the patroller is at the base for sure: the darkest shade stands there, once a strategy.
    darkest = np.abs(frames[0].astype(int) - [8, 29, 88]).max(axis=2) <= 8
    assert darkest.sum() > 500 * count


# The command line


@pytest.fixture
def patrols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    game = load_game("transit:width=2,horizon=2")
    for seed in (1, 2):
        random_profile(game, seed).save(f"{seed}.npz")
    Strategy.uniform(game, 0).save("evader.npz")


GRID = ["export", "transit:width=2,horizon=2", "--strategy"]


@few
@pytest.mark.usefixtures("patrols")
@pytest.mark.parametrize("kind", ["pdf", "gif"])
def test_strategies_are_exported_as_pictures(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    game = load_game("transit:width=2,horizon=2")
    assert main([*GRID, "b = 0.1=1.npz", "--strategy", "2.npz", "--out", f"both.{kind}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["game", "format", "written", "size"]
    assert f"{kind}, of b = 0.1, 2" in lines[1]
    loaded = {name: Strategy.load(f"{seed}.npz", game, 1) for name, seed in (("b = 0.1", 1), ("2", 2))}
    write_occupancy(game, loaded, f"same.{kind}")
    assert Path(f"both.{kind}").read_bytes() == Path(f"same.{kind}").read_bytes()
    assert main([*GRID, "evader.npz", "--player", "0", "--format", kind, "--out", "escape"]) == 0
    write_occupancy(game, Strategy.uniform(game, 0), f"same.{kind}")
    assert Path("escape").read_bytes() == Path(f"same.{kind}").read_bytes()


BAD_INPUT = {
    "another game": (["export", "kuhn", "--strategy", "1.npz", "--out", "x.gif"], "kuhn has no grid"),
    "another width": (["export", "transit", "--strategy", "1.npz", "--out", "x.gif"], "contains strategies of another"),
    "another player": ([*GRID, "evader.npz", "--out", "x.gif"], "has no strategy of player 1, only of [0]"),
    "another format": ([*GRID, "1.npz", "--out", "x.efg"], "drawn as svg, png, pdf, gif, but the format is efg"),
    "no strategy": (["export", "transit", "--out", "x.gif"], "gif shows strategies of transit over time; --strategy"),
    "player alone": (["export", "kuhn", "--player", "1", "--out", "x.svg"], "--player chooses whose strategy is drawn"),
    "problem": (
        [*GRID, "1.npz", "--problem", "nash", "--out", "x.svg"],
        "--problem cannot be combined with --strategy",
    ),
    "missing file": ([*GRID, "3.npz", "--out", "x.gif"], "3.npz: no such file"),
    "no file": ([*GRID, "a=", "--out", "x.gif"], "expected FILE or NAME=FILE"),
    "one name twice": ([*GRID, "a=1.npz", "--strategy", "a=2.npz", "--out", "x.gif"], "two strategies are called 'a'"),
    "standard output": (
        [*GRID, "1.npz", "--format", "gif", "--out", "-"],
        "gif is binary and cannot be written to standard",
    ),
    "its own file": ([*GRID, "1.npz", "--format", "gif", "--out", "1.npz"], "and --out 1.npz disagree"),
    "a folder": ([*GRID, "1.npz", "--out", "absent/x.gif"], "--out: cannot write 'absent/x.gif'"),
}


@pytest.mark.usefixtures("patrols")
@pytest.mark.parametrize(("arguments", "words"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().iterdir())
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)
    assert words in shown.err
    assert sorted(Path().iterdir()) == before
