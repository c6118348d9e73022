"""Claims of papers: how they are judged, what an experiment passes by, and that the page of all claims is true."""

import dataclasses
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from effort import few, thorough
from figures import TINY, reproduced

from treeplex.cli import main
from treeplex.validation.papers import EXPERIMENTS, Claim, ClaimStatus, Reproduction, reproduce
from treeplex.validation.papers.claims import near, tally

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import claims as page  # noqa: E402

PAPERS, STORED = page.load()
ITEMS = [(paper["title"], item) for paper in PAPERS for item in paper["items"]]
ALPHA = Claim("alpha", 0.2, 0.21)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_claim_is_open_until_it_is_judged() -> None:
    assert ALPHA.status is ClaimStatus.OPEN
    assert not ALPHA.settled
    assert ALPHA.judged(near(0.2, 0.02), "why").status is ClaimStatus.MET
    assert ALPHA.judged(near(0.2, 0.02), "why").reason == ""
    missed = ALPHA.judged(holds=False, otherwise="why")
    assert (missed.status, missed.reason, missed.settled) == (ClaimStatus.NOT_MET, "why", False)
    refuted = ALPHA.refuted("tests/x.py::test_x", "why")
    assert (refuted.status, refuted.counterexample, refuted.settled) == ("refuted", "tests/x.py::test_x", True)


def test_what_is_not_measured_is_open_and_what_is_not_claimed_needs_no_verdict() -> None:
    nothing = Claim("alpha", 0.2, None)
    for claim in (nothing.judged(holds=True), nothing.judged(near(0.2, 1.0)), nothing.refuted("test", "why")):
        assert claim.status is ClaimStatus.OPEN
    assert ALPHA.judged(holds=True).opened("too small").status is ClaimStatus.MET
    assert ALPHA.judged(holds=False).opened("too small").reason == "too small"
    own = Claim("alpha", None, 0.2)
    assert (own.status, own.judged(holds=False).status, own.settled) == ("no claim", "no claim", True)


def test_claims_go_through_json_and_those_of_older_reports_are_open() -> None:
    for claim in (ALPHA, ALPHA.judged(holds=False, otherwise="why"), Claim("alpha", None, 1.0)):
        assert Claim.from_dict(json.loads(json.dumps(claim.to_dict()))) == claim
    old = {"quantity": "alpha", "paper": 0.2, "measured": 0.21}
    assert Claim.from_dict(old) == ALPHA
    assert Claim.from_dict(old | {"paper": None}).status is ClaimStatus.UNCLAIMED
    assert tally([ALPHA, ALPHA.judged(holds=True), Claim("alpha", None, 1.0)]) == "1 met, 1 open"


def test_an_experiment_passes_by_its_rows_and_by_all_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    found = reproduced("cdrnr-figure-4")
    assert found.passed
    assert found.summary.endswith("; claims: 7 met")
    for claim in (ALPHA, ALPHA.judged(holds=False, otherwise="why")):
        monkeypatch.setattr(type(found.experiment), "claims", lambda experiment, rows, claim=claim: [claim])
        assert found.rows_passed
        assert not found.passed
    monkeypatch.setattr(type(found.experiment), "claims", lambda experiment, rows: [ALPHA.refuted("test", "why")])
    assert found.passed
    broken = dataclasses.replace(found, rows=(*found.rows, found.rows[0].failing("wrong")))
    assert not broken.rows_passed
    assert not broken.passed


@thorough
@pytest.mark.parametrize("name", ["cdrnr-figure-5", "cdrnr-figure-6", "cdrnr-table-2"])
def test_figures_that_print_other_numbers_than_the_paper_do_not_pass(name: str) -> None:
    found = reproduced(name)
    assert found.rows_passed
    assert not found.passed
    assert {claim.status for claim in found.claims} & {ClaimStatus.NOT_MET, ClaimStatus.OPEN}


@few
@pytest.mark.parametrize("name", TINY)
def test_every_verdict_has_what_it_needs(name: str) -> None:
    for claim in reproduced(name).claims:
        assert bool(claim.counterexample) == (claim.status is ClaimStatus.REFUTED)
        if claim.status in (ClaimStatus.NOT_MET, ClaimStatus.REFUTED):
            assert claim.reason
        if claim.status in (ClaimStatus.MET, ClaimStatus.NOT_MET):
            assert claim.measured is not None


@thorough
def test_the_command_says_why_a_claim_is_not_met(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = TINY["cdrnr-table-2"]
    rows = reproduced("cdrnr-table-2").rows
    monkeypatch.setattr(EXPERIMENTS["cdrnr-table-2"], "quick", classmethod(lambda kind: experiment))
    monkeypatch.setattr(EXPERIMENTS["cdrnr-table-2"], "rows", lambda experiment, tell: iter(rows))
    assert main(["reproduce", "cdrnr-table-2"]) == 1
    shown = capsys.readouterr().out.splitlines()
    place = next(number for number, line in enumerate(shown) if line.startswith("  LBR: winnings against SlumBot"))
    assert shown[place].endswith("(paper: 1388 ± 150) not met")
    assert "SlumBot is not published" in shown[place + 1]
    assert "all passed" in shown[-1]
    assert "not met" in shown[-1]


def test_the_best_response_rule_has_regret() -> None:
    """Pref-CFR (BR), equation 14, against who pays every action but the one that it takes: it can be foretold."""
    degrees, regrets, rounds = np.array([5.0, 1.0]), np.random.default_rng(1).random(2), 1_000
    for _ in range(rounds):
        taken = int(np.argmax(degrees * regrets))
        regrets += np.where(np.arange(2) == taken, 0.0, 1.0)
    assert regrets.max() / rounds >= 0.5


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_is_made_of_the_catalogue_and_of_what_was_measured() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(PAPERS, STORED), "run python benchmarks/claims.py"


def test_claims_about_many_cases_have_one_line() -> None:
    claims = [dataclasses.replace(ALPHA, quantity=f"case {place}: alpha") for place in range(page.CASES + 1)]
    judged = [claim.judged(holds=place > 0, otherwise="why").to_dict() for place, claim in enumerate(claims)]
    line = ("alpha (13 cases)", "0.2", "0.21 to 0.21", "**12 met, 1 not met**: why; case 0: 0.21")
    assert page.claim_lines(judged) == [line]
    assert page.claim_lines(judged[:2]) == [
        ("case 0: alpha", "0.2", "0.21", "**not met**: why"),
        ("case 1: alpha", "0.2", "0.21", "**met**"),
    ]


def test_an_interrupted_report_is_refused() -> None:
    experiment = EXPERIMENTS["cdrnr-figure-4"].quick()
    report = {"name": experiment.name, "settings": experiment.settings()}
    assert page.size(report | {"rows": [None] * experiment.num_rows}) == "quick"
    with pytest.raises(SystemExit, match=rf"2 of {experiment.num_rows} rows; the run was interrupted"):
        page.size(report | {"rows": [None] * 2})


def test_every_experiment_is_on_the_page_in_sizes_of_today() -> None:
    listed = {item["experiment"] for _, item in ITEMS if "experiment" in item}
    assert listed == set(STORED) == set(TINY)
    for name, reports in STORED.items():
        assert "quick" in reports
        for size, report in reports.items():
            assert page.size({"name": name, **report}) == size


@few
@pytest.mark.parametrize("name", TINY)
def test_claims_that_both_sizes_have_are_of_the_same_words(name: str) -> None:
    stored = {(claim["quantity"], claim["paper"]) for claim in STORED[name]["quick"]["claims"]}
    tiny = {(claim.quantity, claim.paper) for claim in reproduced(name).claims if claim.paper is not None}
    assert stored & tiny or not tiny


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_the_quick_version_meets_its_criterion_and_has_the_verdicts_of_the_page(name: str) -> None:
    ran = reproduce(EXPERIMENTS[name].quick())
    assert ran.rows_passed, ran.summary
    found = [claim for claim in ran.claims if claim.paper is not None]
    listed = [(claim["quantity"], claim["status"]) for claim in STORED[name]["quick"]["claims"]]
    assert [(claim.quantity, str(claim.status)) for claim in found] == listed


@thorough
def test_the_verdicts_of_a_quick_figure_are_those_of_the_page() -> None:
    found = reproduce(EXPERIMENTS["cdrnr-figure-4"].quick())
    for claim, listed in zip(
        page.kept(found.to_dict())["claims"], STORED["cdrnr-figure-4"]["quick"]["claims"], strict=True
    ):
        assert claim == listed | {"measured": pytest.approx(listed["measured"], rel=1e-3)}


@pytest.mark.parametrize(("title", "item"), ITEMS, ids=[f"{title}: {item['name']}" for title, item in ITEMS])
def test_what_an_entry_names_is_there(title: str, item: dict[str, object]) -> None:
    assert item.get("status", "met") in page.STATUSES
    assert "experiment" in item or "status" in item
    assert item.get("status") != "not met" or "reason" in item
    assert item.get("status") not in ("open", "no claim") or "reason" in item
    assert ("counterexample" in item) == (item.get("status") == "refuted")
    assert item.get("status") != "met" or (item.get("where") and item.get("tests"))
    for name in item.get("where", ()):
        assert resolved(name)
    tests = [*item.get("tests", ()), *filter(None, [item.get("counterexample")])]
    for claim in page.largest(STORED[item["experiment"]])["claims"] if "experiment" in item else ():
        tests += filter(None, [claim["counterexample"]])
    for test in tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


def resolved(name: str) -> object:
    """Return what a dotted name of the library stands for."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_reports_without_claims_in_the_text_are_kept_too() -> None:
    found = reproduced("ccfr-figure-2b")
    assert page.kept(Reproduction(found.experiment, found.rows, 1.0).to_dict())["claims"] == []
    assert page.tally([]) == "no claim in the text"
