"""Random small games and all problems on them: fractions are the judge of every other method, and find nothing wrong.

`make soak` judges 100,000 games; docs/theory/certificates.md has the record.
"""

import time

import pytest
from effort import SOAK, either, soaked
from soak_cases import METHODS, Hostile, Ordinary, run, table

#: Games a test, so that several processes share the work.
BLOCK = 500
#: Games of both kinds that are judged, times ``TREEPLEX_SOAK``.
GAMES = (60, 40) if SOAK > 1 else either((20, 20), (60, 40))


def _blocks(games):
    return [range(first, min(first + BLOCK, games)) for first in range(0, games, BLOCK)]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("drawing", "seeds"),
    [
        *[(Ordinary, part) for part in _blocks(soaked(GAMES[0]))],
        *[(Hostile, part) for part in _blocks(soaked(GAMES[1]))],
    ],
    ids=lambda part: f"{part.start}-{part.stop - 1}" if isinstance(part, range) else part.__name__,
)
def test_fractions_refute_nothing(drawing, seeds):
    begun = time.perf_counter()
    counts, wrong = run(drawing, seeds)
    print(f"{drawing.__name__}, seeds {seeds.start} to {seeds.stop - 1}, {time.perf_counter() - begun:.1f} s:")
    print(table(counts))
    assert not wrong, "\n".join(wrong)
    assert counts["rational", "optimal"] > 0.8 * len(seeds)
    assert counts["highs", "optimal"] > (0.8 if drawing is Ordinary else 0.6) * len(seeds)


@pytest.mark.parametrize(
    "seed",
    [1439, 3649, 6661, 10116, 10239, 12762],
    ids=[
        "payoffs of 1e304",
        "denormal payoffs",
        "prices above floats",
        "interior point that stalls",
        "scales above floats",
        "prices times payoffs above floats",
    ],
)
def test_what_the_soak_test_found_stays_mended(seed):
    assert not run(Hostile, [seed], METHODS)[1]
