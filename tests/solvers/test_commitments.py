"""Patrols whose file declares the units' own payoffs: the commitment, its replies and its gain."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from treeplex import Stackelberg, load_game, solve
from treeplex.cli import main
from treeplex.models.games.patrol import Attacker, Commitment, PatrolGame, PatrolPlan, Unit, units_payoff
from treeplex.seqform.errors import GameFileError, UnsupportedProblemError
from treeplex.seqform.polytope import best_response_plan
from treeplex.solvers import commitment_outcome, solve_patrol

TOWN = nx.Graph([("gate", "mill"), ("gate", "bank"), ("inn", "mill"), ("inn", "bank"), ("mill", "bank")])
TYPES = [
    Attacker(["gate"], {"bank": 3.0, "mill": 1.0}, probability=0.7, name="gang"),
    Attacker(["inn"], {"mill": 2.0}, probability=0.3, name="thief"),
]
FILE = """
map = "roads.csv"
steps = 2
[[units]]
start = "mill"
[[attackers]]
entries = ["gate"]
goals = { bank = 3.0 }
[commitment]
goals = { bank = -10.0 }
meeting = 5.0
"""


def patrol(commitment, **more):
    return PatrolGame(TOWN, steps=2, units=[Unit(start="mill")], attackers=TYPES, commitment=commitment, **more)


@pytest.mark.parametrize("limits", [[], ["visits(bank) <= 0.5"]])
def test_it_is_the_stackelberg_equilibrium_of_the_declared_payoffs(limits):
    own = Commitment([{"bank": -10.0, "mill": -1.0}, {"mill": -4.0}], meeting=0.5, step=-0.1)
    game = patrol(own, limits=limits)
    found = solve_patrol(game)
    payoff = units_payoff(game.patrol, own.goals, own.meeting, own.step)
    assert found.objective == pytest.approx(
        solve(Stackelberg(game, payoff=payoff, constraints=game.constraints)).objective, abs=1e-9
    )
    outcome = commitment_outcome(found)
    assert outcome.units == found.objective
    assert sum(one.probability * one.units for one in outcome.replies) == pytest.approx(outcome.units, abs=1e-9)
    assert sum(one.probability * one.earns for one in outcome.replies) == pytest.approx(found.value, abs=1e-9)
    assert outcome.gain >= -1e-6
    assert [one.who for one in outcome.replies] == ["gang", "thief"]


def test_with_opposed_payoffs_a_commitment_gains_nothing():
    game = patrol(Commitment([{"bank": -3.0, "mill": -1.0}, {"mill": -2.0}], meeting=1.0))
    found = solve_patrol(game)
    outcome = commitment_outcome(found)
    assert outcome.units == pytest.approx(-solve_patrol(patrol(None)).value, abs=1e-7)
    assert outcome.gain == pytest.approx(0.0, abs=1e-6)


def test_a_limit_on_the_opposed_plan_keeps_the_replies():
    found = solve_patrol(patrol(Commitment({"bank": -10.0, "mill": -1.0}, meeting=0.5)))
    outcome, whole = commitment_outcome(found, time_limit=0), commitment_outcome(found)
    assert outcome.replies == whole.replies
    assert (outcome.opposed, outcome.gain) == (None, None)
    assert str(outcome).splitlines()[0] == str(whole).splitlines()[0].replace("commitment     ", "commitment")
    assert "opposed" not in str(outcome)


def test_no_plan_is_better_against_replies_in_the_units_favour():
    """Random plans of the units, and the replies to them found by enumeration of the attackers' pure plans."""
    game = patrol(Commitment({"bank": -10.0, "mill": -1.0}, meeting=0.5))
    problem = solve_patrol(game).problem
    best = solve_patrol(game).objective
    source = np.random.default_rng(0)
    treeplex = game.sequence_form.treeplexes[1]
    for _ in range(30):
        plan = treeplex.plan(treeplex.behaviour(source.exponential(size=treeplex.num_sequences)))
        theirs, mine = (factors.payoffs(plan) for factors in problem.payoffs)
        other = game.sequence_form.treeplexes[0]
        reply = best_response_plan(other, theirs + 1e-9 * mine).plan
        assert reply @ mine <= best + 1e-6


def test_a_file_on_the_command_line(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("roads.csv").write_text("gate,mill\ngate,bank\nmill,bank\n")
    Path("town.toml").write_text(FILE)
    assert main(["patrol", "town.toml", "--out", "plan.npz", "--html", "plan.html", "--json", "plan.json"]) == 0
    assert "if they are indifferent, the best for the units" in capsys.readouterr().out
    found = json.loads(Path("plan.json").read_text())
    outcome = commitment_outcome(solve_patrol(load_game("town.toml")))
    assert found["commitment"]["units"] == pytest.approx(outcome.units, abs=1e-9)
    assert found["problem"] == "stackelberg"
    assert "so that the units earn most from attackers from gate to bank who know the plan" in found["question"]
    assert "The commitment" in Path("plan.html").read_text(encoding="utf-8")
    assert PatrolPlan.load("plan.npz").patrol.commitment == Commitment({"bank": -10.0}, meeting=5.0)
    assert main(["patrol", "schedule", "plan.npz", "--days", "2", "--seed", "1"]) == 0
    assert main(["patrol", "town.toml", "--what-if", "unit bank"]) == 2


def test_weak_ties_are_declared_or_an_option(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("roads.csv").write_text("gate,mill\ngate,bank\nmill,bank\n")
    Path("town.toml").write_text(FILE)
    Path("weak.toml").write_text(FILE + 'ties = "weak"\n')
    for words in (["town.toml", "--ties", "weak"], ["weak.toml"]):
        assert main(["patrol", *words, "--out", "plan.npz", "--json", "plan.json"]) == 0
        assert "if they are indifferent, the worst for the units" in capsys.readouterr().out
        assert PatrolPlan.load("plan.npz").patrol.commitment.ties == "weak"
        found = json.loads(Path("plan.json").read_text())
        assert (found["ties"], found["commitment"]["ties"]) == ("weak", "weak")
        assert found["objective"] <= found["upper"] + 1e-12
    for words, said in (
        (["town.toml", "--ties", "waek"], "--ties is 'waek', expected one of strong, weak"),
        (["roads.csv", "--ties", "weak"], "--ties is for a file (.toml) with [commitment]"),
        (["weak.toml", "--limit", "visits(bank) <= 0.5"], "constraints are given with weak ties"),
    ):
        declared = [] if "toml" in words[0] else ["--entry", "gate", "--goal", "bank", "--unit", "base=mill"]
        assert main(["patrol", *words, *declared, *(["--steps", "2"] if declared else [])]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ bank = -10.0 }", "{ bnak = -10.0 }", r"line 9: commitment\.goals .* \(did you mean bank\?\)"),
        ("{ bank = -10.0 }", "{ mill = -10.0 }", r"commitment\.goals has mill, where no attacker has a goal"),
        ("{ bank = -10.0 }", "[{ bank = 1.0 }, { bank = 1.0 }]", "one such mapping for each of the 1 types"),
        ("meeting = 5.0", "meting = 5.0", r"commitment: unknown key 'meting' \(did you mean meeting\?\)"),
        ("meeting = 5.0", 'meeting = "5"', r"commitment\.meeting is '5', expected"),
        ("meeting = 5.0", 'ties = "waek"', r"commitment\.ties is 'waek', expected one of strong, weak"),
    ],
)
def test_mistakes(old, new, message, tmp_path: Path):
    (tmp_path / "roads.csv").write_text("gate,mill\ngate,bank\nmill,bank\n")
    (tmp_path / "town.toml").write_text(FILE.replace(old, new))
    with pytest.raises(GameFileError, match=message):
        _ = load_game(str(tmp_path / "town.toml")).sequence_form


def test_an_outcome_needs_a_commitment():
    with pytest.raises(UnsupportedProblemError, match="expected one of a commitment"):
        commitment_outcome(solve_patrol(patrol(None)))
