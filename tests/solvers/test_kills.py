"""Long runs and writes that are killed at random moments: nothing is lost but the last interval."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import IS_QUICK, SOAK, soaked, thorough

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

HELPER = Path(__file__).parents[1] / "helpers" / "kill_runs.py"
#: Seconds that writing, or noticing that it is time, may take on a busy machine, beside the interval of 0.1.
SLACK = 2.0

RUNS = [
    "cfr",
    "cfr+ in single precision",
    "constrained CFR",
    "a floor by pcfr+",
    "Preference-CFR",
    "mirror prox",
    "external sampling",
    "streamed sampling",
    "depth-limited steps",
    "a calibration",
    "a paper's figure",
    "a suite",
]
WRITES = [
    "answer.json",
    "page.html",
    "profile.npz",
    "strategies.jsonl",
    "game.efg",
    "game.graphml",
    "game.json",
    "log.jsonl",
    "log.jsonl.gz",
    "picture.svg",
    "checkpoint",
]


def killed(kinds: list[str], quick: list[str]) -> list[dict[str, Any]]:
    """Kill each kind so often, all of them if many cases are tried."""
    chosen = quick if IS_QUICK and SOAK <= 1 else kinds
    command = [sys.executable, "-P", str(HELPER), str(soaked(0.2)), "1", *chosen]
    found = [json.loads(line) for line in subprocess.check_output(command, text=True).splitlines()]
    for one in found:
        print(one)
    assert [one["kind"] for one in found] == chosen
    return found


@thorough
@pytest.mark.soak
def test_killed_runs_go_on_and_lose_an_interval_at_most() -> None:
    for one in killed(RUNS, ["cfr+ in single precision", "a calibration"]):
        assert one["equal"], one  # to that of a run that was never killed, bit for bit
        assert not one["damaged"], one
        assert one["lost"] < 0.1 + SLACK, one


@thorough
@pytest.mark.soak
def test_killed_writes_leave_the_old_file_or_the_new_one() -> None:
    for one in killed(WRITES, ["log.jsonl.gz", "checkpoint"]):
        assert one["whole"], one
        assert one["left at last"] == 0, one
