"""Whatever stands in a file or a text, reading it ends in an answer or in one line that says what is wrong."""

import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from effort import soaked
from readers import KUHN, READERS, WATCH, damaged, seeds

from treeplex.seqform.errors import TreeplexError
from treeplex.solvers.opponents.strategies import opponent_strategy

#: What reading one file may take: seconds, memory as ``TREEPLEX_MEMORY`` allows, and bytes of the process beside it.
SECONDS, MEMORY, GROWTH = 10.0, "20MB", 200_000_000


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold readers to a small budget, and let opponents that are computed take a few iterations only."""
    from treeplex.solvers.opponents import strategies

    solve_part = strategies.solve_part

    def few(*arguments, **options):
        if "max_iterations" in options:
            options["max_iterations"] = min(options["max_iterations"], 3)
        return solve_part(*arguments, **options)

    monkeypatch.setenv("TREEPLEX_MEMORY", MEMORY)
    monkeypatch.setattr(strategies, "solve_part", few)


def peak() -> int:
    """Return the most memory that the process has had, in bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def outcome(name: str, content: bytes, folder: Path) -> str:
    """Read a file or a text, check how it ends, and return the name of the error, or ``read``."""
    reader = READERS[name]
    if reader.suffix:
        path = (folder / f"file{reader.suffix}").resolve()
        path.write_bytes(content)
    source = path if reader.suffix else content.decode(errors="surrogateescape")
    before, started = peak(), time.process_time()
    found = "read"
    try:
        with WATCH.on(path if reader.suffix else None):
            reader.read(source)
    except TreeplexError as error:
        found, said = type(error).__name__, str(error)
        assert said.isprintable()  # and so one line
        assert said.strip()
        assert len(said) < 1000
    assert time.process_time() - started < SECONDS
    assert peak() - before < GROWTH
    assert not WATCH.seen
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where files go; loops are compiled before time is taken."""
    opponent_strategy("cfr:iterations=1", KUHN, 0)
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize(
    ("name", "seed", "content"),
    [pytest.param(name, *seed, id=f"{name} {seed[0][:60]}") for name in READERS for seed in seeds(name)],
)
def test_the_corpus_is_read_or_refused_as_it_was(name: str, seed: str, content: bytes, folder: Path) -> None:
    found = outcome(name, content, folder)
    assert (found == "read") is not seed.startswith("refused")


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_damaged_files_and_texts_are_read_or_refused_in_one_line(name: str, folder: Path) -> None:
    begun, count, counts = time.perf_counter(), soaked(40), Counter[str]()
    for number in range(count):
        content = damaged(name, Random(f"{name} {number}"))
        try:
            counts[outcome(name, content, folder)] += 1
        except Exception as error:
            raise AssertionError(f"case {number} of {name}, {content[:400]!r}") from error
    ended = ", ".join(f"{counts[each]:,} {each}" for each in sorted(counts))
    print(f"{name}: seeds 0 to {count - 1:,}, {ended}; {time.perf_counter() - begun:,.0f} s")
