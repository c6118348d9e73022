"""``treeplex show``, ``evaluate`` and ``compare``."""

import json
from importlib import import_module
from importlib.util import find_spec

import pytest
from command_line import json_of, refusal
from spoilt_profiles import spoilt

from treeplex import Nash, Profile, Strategy, exploitability, load_game, solve, worst_case
from treeplex.cli import main
from treeplex.seqform import largest_losses
from treeplex.seqform.interchange import policy_from_strategies
from treeplex.solvers import largest_repairs


@pytest.fixture(scope="module")
def solved(kuhn, tmp_path_factory):
    path = tmp_path_factory.mktemp("strategies") / "solved.npz"
    solve(Nash(kuhn)).profile.save(path)
    return str(path)


def test_show_prints_every_infoset(capsys, solved, kuhn):
    assert main(["show", solved]) == 0
    lines = capsys.readouterr().out.splitlines()
    for strategy in Profile.load(solved, kuhn):
        for infoset, played in strategy.to_dict().items():
            (line,) = [line.split() for line in lines if line.startswith(f"{infoset} ")]
            assert line[2:] == [f"{share:.4f}" for share in played.values()]


def test_show_draws(capsys, solved, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "shown.svg"
    assert main(["show", solved, "--infoset", "K*", "--against", "uniform", "--plot", str(picture)]) == 0
    assert "picture in" in capsys.readouterr().out
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    assert "thin and pale: uniform" in drawn
    assert "expected a file name that ends with .svg" in refusal(capsys, "show", solved, "--plot", "shown.txt")


def test_show_in_json_is_of_those_that_match(capsys, solved, kuhn):
    record = json_of(capsys, "show", solved, "--player", "1", "--infoset", "K*", "--against", "uniform")
    assert record["game"] == "kuhn"
    assert [row["infoset"] for row in record["infosets"]] == ["K_p", "K_b"]
    for row in record["infosets"]:
        assert row["player"] == 1
        assert row["actions"] == Profile.load(solved, kuhn)[1][row["infoset"]]
        assert row["against"] == {"p": 0.5, "b": 0.5}


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_show_converts(capsys, solved, suffix, tmp_path, kuhn):
    assert main(["show", solved, "--out", str(tmp_path / f"same.{suffix}")]) == 0
    for one, other in zip(Profile.load(solved, kuhn), Profile.load(tmp_path / f"same.{suffix}", kuhn), strict=True):
        assert one.behaviour.tolist() == other.behaviour.tolist()


def test_evaluate_gives_what_best_responses_give(capsys, solved, kuhn):
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", solved)
    assert record["value"] == pytest.approx(-1 / 18)
    assert record["lower"] - 1e-12 <= -1 / 18 <= record["upper"] + 1e-12
    assert record["exploitability"] == pytest.approx(0, abs=1e-9)
    uniform = Profile.uniform(kuhn)
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform", "--tol", "0.1", status=1)
    assert record["exploitability"] == exploitability(kuhn, uniform)
    assert record["lower"] == worst_case(kuhn, uniform[0])
    assert record["upper"] == -worst_case(kuhn, uniform[1])
    assert record["passed"] is False


def test_evaluate_judges_one_strategy_against_the_value_of_the_game(capsys, tmp_path, kuhn):
    (tmp_path / "one.json").write_text('{"1": {"K_b": {"b": 1}, "J_b": {"p": 1}}}')
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", str(tmp_path / "one.json"))
    strategy = Profile.from_dict(kuhn, {1: {"K_b": {"b": 1}, "J_b": {"p": 1}}})[1]
    assert record["players"] == [1]
    assert record["left_out"] == [4]
    assert record["lower"] is None
    assert record["upper"] == -worst_case(kuhn, strategy)
    assert record["exploitability"] == pytest.approx(record["upper"] + 1 / 18)


def test_evaluate_ranks_infosets_by_what_is_lost_there(capsys, solved, kuhn):
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform")
    assert record["losses"] == largest_losses(kuhn, Profile.uniform(kuhn))
    assert len(record["losses"]) == 10
    keys = ["player", "infoset", "loss", "reach", "action", "probability", "better"]
    assert [list(row) for row in record["losses"]] == [keys] * 10
    whole = json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform", "--top", "99")["losses"]
    assert sum(row["loss"] for row in whole) == pytest.approx(record["nash_conv"])
    assert json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform", "--top", "0")["losses"] == []
    assert main(["evaluate", "kuhn:players=3", "--strategy", "uniform", "--top", "1"]) == 0
    assert capsys.readouterr().out.endswith(
        "largest losses against the others' strategies\n"
        "player  infoset          loss   reach  plays  probability  better\n"
        "     1  K_b      0.2812500000  1.0000  p           0.5000  b\n"
    )
    assert "--top': -1, expected a whole number" in refusal(
        capsys, *["evaluate", "kuhn", "--strategy", "uniform", "--top", "-1"]
    )


def test_evaluate_ranks_infosets_by_what_changing_them_alone_repairs(capsys, monkeypatch, kuhn):
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform", "--top", "2")
    found = largest_repairs(kuhn, Profile.uniform(kuhn), top=2)
    assert record["repairs"] == list(found.rows)
    assert (record["repairs_elsewhere"], record["repairs_complete"]) == (found.elsewhere, True)
    assert main(["evaluate", "kuhn", "--strategy", "uniform", "--top", "1"]) == 0
    said = capsys.readouterr().out
    assert "largest repairs; at most 0." in said
    assert said.endswith(
        "; loss against the others' strategies\n"
        "player  infoset        repair          loss  plays     now  repaired  better\n"
        "     1  K_b      0.3333333333  0.2500000000  p      0.5000    0.0000  b\n"
    )
    record = json_of(capsys, "evaluate", "kuhn:players=3", "--strategy", "uniform")
    assert [record[key] for key in ("repairs", "repairs_elsewhere", "repairs_complete")] == [None] * 3
    monkeypatch.setattr("treeplex.solvers.repairs._MOST", 15)
    assert json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform")["repairs_complete"] is False
    assert main(["evaluate", "kuhn", "--strategy", "uniform"]) == 0
    said = capsys.readouterr().out
    assert "largest repairs found before the search reached its limit; at most 0." in said


def test_evaluate_finds_losses_of_one_strategy_against_an_equilibrium(capsys, tmp_path, kuhn):
    (tmp_path / "one.json").write_text('{"1": {"K_p": {"p": 1}}}')
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", str(tmp_path / "one.json"))
    assert {row["player"] for row in record["losses"]} == {1}
    king = next(row for row in record["losses"] if row["infoset"] == "K_p")
    assert (king["action"], king["better"]) == ("p", "b")
    assert sum(row["loss"] for row in record["losses"]) <= record["exploitability"]
    assert main(["evaluate", "kuhn", "--strategy", str(tmp_path / "one.json")]) == 0
    said = capsys.readouterr().out
    assert "loss against the computed equilibrium strategy of player 0\n" in said
    assert {row["player"] for row in record["repairs"]} == {1}
    assert max(row["repair_upper"] for row in record["repairs"]) <= record["exploitability"] + 1e-9


def test_evaluate_takes_a_file_for_each_player(capsys, tmp_path, kuhn):
    for strategy in Profile.uniform(kuhn):
        strategy.save(tmp_path / f"{strategy.player}.csv")
    files = [part for player in (1, 0) for part in ("--strategy", str(tmp_path / f"{player}.csv"))]
    assert json_of(capsys, "evaluate", "kuhn", *files)["value"] == pytest.approx(0.125)


def test_evaluate_judges_more_players_and_payoffs_that_are_no_zero_sum(capsys):
    record = json_of(capsys, "evaluate", "kuhn:players=3", "--strategy", "uniform")
    assert len(record["payoffs"]) == 3
    assert record["lower"] is None
    assert record["exploitability"] == pytest.approx(record["nash_conv"] / 3)


def test_evaluate_says_which_constraints_are_broken(capsys, solved):
    texts = ["0/J_:b <= 0.1 as bluff", "0/K_pb:b >= 1 as call"]
    arguments = [part for text in texts for part in ("--constrain", text)]
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", "uniform", *arguments)
    assert record["violations"] == {"bluff": pytest.approx(0.4), "call": pytest.approx(0.25)}
    assert main(["evaluate", "kuhn", "--strategy", solved, "--constrain", texts[1], "--tol", "1e-6"]) == 0
    assert "violation of call" in capsys.readouterr().out


def test_compare_says_where_and_what_it_costs(capsys, solved, kuhn):
    record = json_of(capsys, "compare", solved, "uniform")
    assert record["payoffs"]["bb"] == pytest.approx(0.125)
    assert record["payoffs"]["aa"] == pytest.approx(-1 / 18)
    assert record["exploitability"]["b"] == exploitability(kuhn, Profile.uniform(kuhn))
    same = json_of(capsys, "compare", solved, solved)
    assert [row["largest_plan_difference"] for row in same["players"]] == [0.0, 0.0]
    assert [row["at"] for row in same["players"]] == [None, None]
    assert main(["compare", solved, "uniform"]) == 0
    assert "against B" in capsys.readouterr().out


def test_compare_says_when_a_difference_from_an_equilibrium_costs_nothing(capsys, tmp_path, kuhn):
    """Player 0 may bet its kings at any rate that is three times that of its jacks."""
    value, bluff = {"K_": {"p": 0.4, "b": 0.6}, "J_": {"p": 0.8, "b": 0.2}, "Q_": {"p": 1}}, 0.2
    value |= {"Q_pb": {"p": 2 / 3 - bluff, "b": bluff + 1 / 3}, "J_pb": {"p": 1}, "K_pb": {"b": 1}}
    Strategy.from_dict(kuhn, 0, value).save(tmp_path / "equilibrium.json")
    path = str(tmp_path / "equilibrium.json")
    record = json_of(capsys, "compare", path, "nash")
    (row,) = record["players"]
    assert row["differing"] == row["costless"] > 0
    assert row["loss"] == pytest.approx(0.0, abs=1e-9)
    assert record["losses"] == []
    assert main(["compare", path, "nash"]) == 0
    assert (
        f"player 0  differs at {row['differing']} infosets, which costs nothing against B\n" in capsys.readouterr().out
    )
    Strategy.from_dict(kuhn, 0, value | {"K_pb": {"p": 1}}).save(path)
    record = json_of(capsys, "compare", path, "nash", "--top", "1")
    (worst,) = record["losses"]
    assert (worst["infoset"], worst["action"], worst["better"]) == ("K_pb", "p", "b")
    assert record["players"][0]["costless"] == record["players"][0]["differing"] - 1
    assert record["players"][0]["loss"] == pytest.approx(worst["loss"])
    assert main(["compare", path, "nash", "--html", str(tmp_path / "page.html")]) == 0
    said = f"of them; A loses {worst['loss']:.10f} against B"
    assert said in capsys.readouterr().out
    assert "The cost of the differences" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_compare_of_half_a_profile_says_nothing_of_costs(capsys, tmp_path, kuhn):
    for name, strategy in (("a.csv", Strategy.uniform(kuhn, 0)), ("b.csv", Strategy.uniform(kuhn, 0))):
        strategy.save(tmp_path / name)
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    record = json_of(capsys, "compare", *paths, "--game", "kuhn")
    assert record["losses"] is None
    assert "loss" not in record["players"][0]
    assert json_of(capsys, "compare", paths[0], "uniform", "--game", "kuhn")["players"][0]["differing"] == 0


#: Flaws at one infoset of Leduc poker: a king of player 1 folds to a first bet, and a jack of player 0 always raises;
#: the player, how treeplex and OpenSpiel call the infoset, and the action.
FLAWS = {
    "blunder": (1, ("Kh_r",), "f", ("[Private: 5][Round 1]", "[Round1: 2]"), "Fold"),
    "habit": (0, ("Js_",), "r", ("[Private: 0][Round 1]", "[Round1: ]"), "Raise"),
}


@pytest.fixture(scope="module")
def spoilt_leduc(tmp_path_factory):
    """Files of other programs, by flaw and form: an equilibrium of Leduc poker but for one infoset."""
    folder = tmp_path_factory.mktemp("leduc")
    files = {}
    for game in (load_game("leduc"), *([load_game("openspiel:leduc_poker")] if find_spec("pyspiel") else [])):
        equilibrium = solve(Nash(game)).profile
        foreign = game.spec != "leduc"
        for flaw, (player, own, action, theirs, named) in FLAWS.items():
            words, played = (theirs, named) if foreign else (own, action)
            labels = game.sequence_form.treeplexes[player].infoset_labels
            label = min((each for each in labels if all(word in each for word in words)), key=len)
            profile = spoilt(game, equilibrium, player, label, {played: 1.0})
            if foreign:
                table = policy_from_strategies(profile)
                compiled = import_module("open_spiel.python.policy").python_policy_to_pyspiel_policy(table)
                texts = {"policy_table": json.dumps(compiled.policy_table()), "to_dict": str(table.to_dict())}
            else:
                numbers = [[list(played.values()) for played in each.to_dict().values()] for each in profile]
                line = ",".join(["NE", *(repr(p) for each in profile for p in each.behaviour[1:].tolist())])
                texts = {"json": profile.to_json(), "pygambit": str(numbers), "NE": f"{line}\n"}
            for name, text in texts.items():
                (folder / f"{flaw}-{name}.txt").write_text(text)
                files[flaw, name] = game.spec, str(folder / f"{flaw}-{name}.txt"), player, label, played
    return files


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("form", ["to_dict", "json", "pygambit", "policy_table", "NE"])
def test_evaluate_finds_what_a_foreign_solver_spoilt(form, flaw, capsys, spoilt_leduc):
    if (flaw, form) not in spoilt_leduc:
        pytest.skip("OpenSpiel is not installed")
    game, path, player, label, played = spoilt_leduc[flaw, form]
    record = json_of(capsys, "evaluate", game, "--strategy", path)
    first, second = record["repairs"][:2]
    assert (first["player"], first["infoset"], first["action"], first["probability"]) == (player, label, played, 1.0)
    assert first["repair"] == pytest.approx(record["nash_conv"], abs=1e-8)  # the other player's strategy is optimal
    assert first["repair"] > 1.5 * second["repair"] > 0.0
    assert record["repairs_complete"]
    assert record["repairs_elsewhere"] <= record["repairs"][-1]["repair"] + 1e-9
    worst, second = record["losses"][:2]
    if flaw == "habit":  # it costs nothing against the other strategy: the largest loss is of whoever could exploit it
        assert first["loss"] == pytest.approx(0.0, abs=1e-8)
        assert worst["player"] == 1 - player
        return
    assert (worst["player"], worst["infoset"], worst["action"], worst["probability"]) == (player, label, played, 1.0)
    assert worst["loss"] > 1.2 * second["loss"] > 0.0
    assert worst["loss"] == pytest.approx(record["best_response_values"][1] - record["payoffs"][1], abs=1e-8)
    assert second["player"] == 0  # who gains by betting more


def test_several_equilibria_and_rounded_ones_are_judged(capsys, tmp_path, kuhn):
    first, second = Profile.uniform(kuhn), solve(Nash(kuhn)).profile
    lines = [",".join(["NE", *(f"{p:.3f}" for each in one for p in each.behaviour[1:])]) for one in (first, second)]
    path = tmp_path / "kuhn.ne"
    path.write_text("\n".join(lines) + "\n")
    assert main(["evaluate", "kuhn", "--strategy", str(path), "--json", "-"]) == 0
    shown = capsys.readouterr()
    assert shown.err == f"note: {path} contains 2 equilibria; the first one is used. {path}:2 is the second\n"
    assert json.loads(shown.out)["exploitability"] == exploitability(kuhn, first)
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", f"{path}:2", "--tol", "1e-2")
    assert record["exploitability"] < 1e-3
    (tmp_path / "rounded.json").write_text(
        '{"0": {"J_": {"p": 0.667, "b": 0.334}}, "1": {"Q_b": {"p": 0.667, "b": 0.334}}}'
    )
    rounded = str(tmp_path / "rounded.json")
    said = refusal(capsys, "evaluate", "kuhn", "--strategy", rounded)
    assert f"{rounded}: player 0: infoset 'J_' has probabilities [0.667, 0.334]" in said
    assert main(["evaluate", "kuhn", "--strategy", rounded, "--normalise"]) == 0
    assert "normalised probabilities whose sums were up to 0.001 away from 1" in capsys.readouterr().err


def test_mistakes_are_said_in_one_line(capsys, solved, tmp_path, kuhn):
    table = str(tmp_path / "table.csv")
    Profile.load(solved, kuhn).save(table)
    assert "does not name its game; give it with --game GAME" in refusal(capsys, "show", table)
    assert "no infoset of kuhn matches" in refusal(capsys, "show", solved, "--infoset", "Z*")
    assert "--player 2" in refusal(capsys, "show", solved, "--player", "2")
    assert "ends with .npz, .json or .csv" in refusal(capsys, "show", solved, "--out", "x.txt")
    assert "name the same file" in refusal(capsys, "show", solved, "--out", solved)
    assert "no such file" in refusal(capsys, "show", str(tmp_path / "none.npz"))
    assert "no such file" in refusal(capsys, "evaluate", "kuhn", "--strategy", str(tmp_path / "none.txt"))
    assert "of another game" in refusal(capsys, "evaluate", "leduc", "--strategy", solved)
    assert "missing option '--strategy'" in refusal(capsys, "evaluate", "kuhn")
    twice = refusal(capsys, "evaluate", "kuhn", "--strategy", solved, "--strategy", table)
    assert "another file contains a strategy of player 0 too" in twice
    assert "did you mean uniform?" in refusal(capsys, "evaluate", "kuhn", "--strategy", "unifrom")
    assert main(["show", table, "--game", "kuhn"]) == 0


def test_evaluate_decides_whether_strategies_are_quasi_perfect(capsys, tmp_path):
    refined = str(tmp_path / "refined.npz")
    assert main(["solve", "kuhn", "--refine", "quasi-perfect", "--out", refined]) == 0
    assert "quasi-perfect: both plans are best responses" in " ".join(capsys.readouterr().out.split())
    record = json_of(capsys, "evaluate", "kuhn", "--strategy", refined, "--refine", "quasi-perfect")
    assert record["passed"]
    assert record["refinement"]["verdict"] == "yes"
    assert record["refinement"]["message"] == "quasi-perfect, proven in fractions"
    uniform = ("evaluate", "kuhn", "--strategy", "uniform")
    assert main([*uniform, "--refine", "quasi-perfect", "--tol", "5"]) == 1
    shown = capsys.readouterr().out
    assert "not quasi-perfect: player 0 plays p at J_, where b earns 0.125 more against this opponent" in shown
    assert "5: within" in shown
    assert json_of(capsys, *uniform)["refinement"] is None
    assert "quasi-perfct (did you mean quasi-perfect?), expected quasi-perfect" in refusal(
        capsys, *uniform, "--refine", "quasi-perfct"
    )
    assert "needs two players" in refusal(
        capsys, "evaluate", "kuhn:players=3", "--strategy", "uniform", "--refine", "quasi-perfect"
    )
    (tmp_path / "one.json").write_text('{"0": {"J_": {"p": 1}}}')
    alone = ("evaluate", "kuhn", "--strategy", str(tmp_path / "one.json"), "--refine", "quasi-perfect")
    assert "--refine quasi-perfect: expected strategies of all players, got 1" in refusal(capsys, *alone)
