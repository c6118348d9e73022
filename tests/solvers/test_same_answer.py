"""The same question has the same answer, bit for bit: in all threads, processes and runs."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from effort import soaked, thorough
from same_answer import EXACT, QUESTIONS, answers, perturbed_game, shared_games, trajectory

HELPER = Path(__file__).parents[1] / "helpers" / "same_answer.py"
TRAJECTORIES = json.loads((Path(__file__).parents[1] / "stored" / "trajectories.json").read_text())
THREADS = 4
#: How far trajectories may be off: what compilers and processors round differently, which grows with the iterations.
ROUNDING = 1e-9


@pytest.mark.soak
def test_threads_on_shared_games_find_what_one_finds():
    count = soaked(23)
    serial = list(answers(shared_games(), range(count)))
    assert len(set(serial)) > count / 2
    games = shared_games()  # which nobody has built

    def run(thread):
        first = thread * count // THREADS
        numbers = [*range(first, count), *range(first)]
        return dict(zip(numbers, answers(games, numbers), strict=True))

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(run, range(THREADS)):
            differing = [number for number in range(count) if found[number] != serial[number]]
            assert not differing, [QUESTIONS[number % len(QUESTIONS)][1] for number in differing]


@thorough
@pytest.mark.soak
def test_processes_find_the_same_whatever_their_environment(tmp_path):
    count = soaked(len(QUESTIONS))
    environments = [
        {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        {"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "7", "LANG": "C", "TZ": "Asia/Tokyo"},
    ]
    if soaked(1) > 1:
        environments.append({"NUMBA_CACHE_DIR": str(tmp_path)})  # compiled anew
    running = [
        subprocess.Popen(
            [sys.executable, "-P", str(HELPER), str(count)],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        for environment in environments
    ]
    found = [json.loads(process.communicate()[0]) for process in running]
    here = list(answers(shared_games(), range(count)))
    assert all(each == here for each in found)


@pytest.mark.parametrize("number", range(len(QUESTIONS)), ids=lambda number: f"{number}-{QUESTIONS[number][1]}")
def test_trajectories_stay_as_they_are(number):
    stored = TRAJECTORIES[number]
    found = trajectory(number)
    assert found["method"] == stored["method"]
    assert found["iterations"] == stored["iterations"]
    for name in ("errors", "objective", "plan"):
        np.testing.assert_allclose(found[name], stored[name], rtol=ROUNDING, atol=ROUNDING)


def test_trajectories_do_not_hang_on_the_last_bits():
    """Payoffs that differ by what rounding does move no trajectory that is stored by more than is allowed."""
    for number in range(len(QUESTIONS)):
        stored, found = TRAJECTORIES[number], trajectory(number, perturbed_game(1e-15))
        if stored["method"] not in EXACT:
            np.testing.assert_allclose(found["plan"], stored["plan"], atol=ROUNDING)
