"""Kills long runs and writes at random moments, and looks at what is left of them.

A program of its own, which imports once and then forks: ``python kill_runs.py KILLS SEED [KIND …]`` prints a line of
JSON for each kind. The short form runs among the tests, and the long one with ``TREEPLEX_SOAK``.
"""

import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treeplex import (
    CDRNR,
    Checkpoint,
    ConstrainedNash,
    EpsilonSafeResponse,
    Nash,
    Profile,
    Strategy,
    StreamedMCCFR,
    load_game,
    observer_tree,
    simulate,
    solve,
    write_play_log,
)
from treeplex.cli.files import write_file, write_json
from treeplex.models.constraints import parse_constraint
from treeplex.models.preferences import Prefer
from treeplex.seqform.interchange.efg_writer import write_efg
from treeplex.seqform.interchange.files import write_archive
from treeplex.seqform.interchange.graphml import write_graphml
from treeplex.seqform.interchange.node_link import write_json as write_game_json
from treeplex.seqform.interchange.pictures import write_picture
from treeplex.solvers import PrefCFR, calibrate_style
from treeplex.solvers.checkpoint import Keeper, Slot
from treeplex.validation import Case, Suite, run_suite
from treeplex.validation.papers import CCFRFigure2a, reproduce

#: Seconds between two checkpoints.
EVERY = 0.1

LEDUC, KUHN = load_game("leduc"), load_game("kuhn")
UNIFORM = Strategy.uniform(LEDUC, 1)
BOUND = parse_constraint("0/Ks_:r <= 0.4", LEDUC)


def solved(problem: Any, method: Any, iterations: int) -> Callable[[Checkpoint | None], list[Any]]:
    def run(checkpoint: Checkpoint | None) -> list[Any]:
        found = solve(problem, method, tol=0, max_iterations=iterations, checkpoint=checkpoint)
        return [*found.profile.plans, found.history.exploitability, found.iterations]

    return run


def streamed(checkpoint: Checkpoint | None) -> list[Any]:
    sampler = StreamedMCCFR(load_game("goofspiel:cards=5"), "os-mccfr", seed=1)
    sampler.run(1_500, checkpoint=checkpoint)
    return [sampler.touched, sampler.infosets, sampler.regrets(0), sampler.regrets(1)]


def calibrated(checkpoint: Checkpoint | None) -> list[Any]:
    game = load_game("leduc:merge_suits=true")
    return [calibrate_style(game, "raise@first >= 0.6", 0.05, checkpoint=checkpoint).to_dict()]


def reproduced(checkpoint: Checkpoint | None) -> list[Any]:
    figure = CCFRFigure2a(2, (0.05, 0.1, 0.3, 0.5), 10_000)
    rows = [row.to_dict() for row in reproduce(figure, checkpoint=checkpoint).rows]
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


def validated(checkpoint: Checkpoint | None) -> list[Any]:
    cases = [Case("leduc", method, 2e-3) for method in ("cfr", "cfr+", "dcfr", "pcfr+")]
    found = run_suite(Suite("four", "an example", tuple(cases)), checkpoint=checkpoint)
    return [[row.value, row.exploitability, row.iterations] for row in found.rows]


RUNS: dict[str, Callable[[Checkpoint | None], list[Any]]] = {
    "cfr": solved(Nash(LEDUC), "cfr", 12_000),
    "cfr+ in single precision": solved(Nash(LEDUC), "cfr+:precision=single", 15_000),
    "constrained CFR": solved(ConstrainedNash(LEDUC, BOUND), "ccfr", 12_000),
    "a floor by pcfr+": solved(EpsilonSafeResponse(LEDUC, UNIFORM, epsilon=0.1), "pcfr+", 6_000),
    "Preference-CFR": solved(Nash(LEDUC), PrefCFR(prefer=(Prefer("r", 5.0),), vulnerability=0.05), 8_000),
    "mirror prox": solved(Nash(LEDUC), "mirror-prox", 400),
    "external sampling": solved(Nash(LEDUC), "es-mccfr", 20_000),
    "streamed sampling": streamed,
    "depth-limited steps": solved(CDRNR(LEDUC, UNIFORM, p=0.5, lookahead=1), "cfr+", 2_000),
    "a calibration": calibrated,
    "a paper's figure": reproduced,
    "a suite": validated,
}


def logged(path: Path, version: int) -> None:
    write_play_log(path, KUHN, observer_tree(KUHN, 0), simulate(Profile.uniform(KUHN), 100_000, seed=version))


def drawn(path: Path, version: int) -> None:
    from matplotlib.figure import Figure

    def make() -> Figure:
        figure = Figure()
        figure.subplots().plot([0, version])
        return figure

    write_picture(make, path)


def strategies(path: Path, version: int) -> None:
    sampler = StreamedMCCFR(KUHN, seed=version)
    sampler.run(100)
    sampler.profile.save(path)


def kept(path: Path, version: int) -> None:
    write_archive(path, {"version": version}, {"plan": UNIFORM.plan * (version + 1.0)}, packed=False)


def profile(path: Path, version: int) -> None:
    Profile(
        [Strategy.uniform(LEDUC, 0), UNIFORM] if version else solve(Nash(LEDUC), "cfr", max_iterations=5).profile
    ).save(path)


WRITES: dict[str, Callable[[Path, int], None]] = {
    "answer.json": lambda path, version: write_json({"answer": [version] * 20_000}, str(path)),
    "page.html": lambda path, version: write_file(str(path), f"<p>{version}</p>" * 20_000, "--html"),
    "profile.npz": profile,
    "strategies.jsonl": strategies,
    "game.efg": lambda path, version: write_efg(KUHN.tree, path, title=str(version)),
    "game.graphml": lambda path, version: write_graphml((LEDUC if version else KUHN).tree, path),
    "game.json": lambda path, version: write_game_json((LEDUC if version else KUHN).tree, path),
    "log.jsonl": logged,
    "log.jsonl.gz": logged,
    "picture.svg": drawn,
    "checkpoint": kept,
}


def forked(work: Callable[[], None]) -> int:
    """Do some work in a process of its own, and return its number."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def digest(results: list[Any]) -> str:
    """Return what is the same for equal results alone: floats and arrays count by all their bits."""
    text = hashlib.sha256()
    for one in results:
        text.update(one.tobytes() if hasattr(one, "tobytes") else repr(one).encode())
    return text.hexdigest()


def answer(run: Callable[[Checkpoint | None], list[Any]], place: Path, checkpoint: Checkpoint | None) -> str:
    """Run to the end in a process of its own."""
    process = forked(lambda: place.write_text(digest(run(checkpoint))) and None)
    _, status = os.waitpid(process, 0)
    return place.read_text() if status == 0 else f"status {status}"


def kill_run(name: str, kills: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    """Kill a run so often, each time going on from where it was kept, and compare its end with that of a whole one."""
    run, path, told = RUNS[name], folder / "run", folder / "told"
    begun = folder / "begun"  # when this process began to iterate: until then there is nothing to lose
    started = time.time()
    whole = answer(run, folder / "whole", None)
    length = time.time() - started

    def tell(message: str) -> None:
        told.write_text(message)

    def run_on() -> None:
        slot = Keeper.slot

        def begin(self: Keeper) -> Slot:
            begun.touch()
            Keeper.slot = slot  # type: ignore[method-assign]
            return slot(self)

        Keeper.slot = begin  # type: ignore[method-assign]
        (folder / "again").write_text(digest(run(checkpoint)))

    checkpoint = Checkpoint(path, every=EVERY, resume=True, tell=tell)
    done, finished, lost, equal = 0, 0, [0.0], True
    while done < kills:
        begun.unlink(missing_ok=True)
        process = forked(run_on)
        time.sleep(rng.uniform(0.0, length))
        os.kill(process, signal.SIGKILL)
        now = time.time()
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            done += 1
            times = [each.stat().st_mtime for each in (begun, *folder.glob("run*")) if each.exists()]
            lost.append(now - max(times) if begun.exists() else 0.0)
            continue
        equal &= status == 0 and (folder / "again").read_text() == whole
        finished += 1
        for each in folder.glob("run*"):
            each.unlink()
    equal &= answer(run, folder / "again", checkpoint) == whole
    return {
        "kind": name,
        "kills": done,
        "seconds": round(length, 2),
        "finished": finished,
        "lost": round(max(lost), 3),
        "equal": equal,
        "damaged": told.exists(),
    }


def kill_write(name: str, kills: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    """Kill a process that writes one of two contents over the other, and look at which of them is there."""
    write, path = WRITES[name], folder / name

    def once(version: int) -> bytes:
        os.waitpid(forked(lambda: write(path, version)), 0)
        return path.read_bytes()

    def on_and_on() -> None:
        for turn in range(10**9):
            write(path, turn % 2)

    contents = {once(0), once(1)}
    begun = time.time()
    once(0)
    length, whole, left = time.time() - begun, True, 0
    for _ in range(kills):
        process = forked(on_and_on)
        time.sleep(rng.uniform(0.0, 2 * length + 0.05))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        whole &= path.read_bytes() in contents
        left += sum(each.name != name for each in folder.iterdir())
    whole &= once(1) in contents
    return {
        "kind": name,
        "kills": kills,
        "whole": whole and len(contents) == 2,
        "left": left,
        "left at last": sum(each.name != name for each in folder.iterdir()),
    }


def main() -> None:
    kills, seed, *kinds = sys.argv[1:]
    import matplotlib.figure  # noqa: F401 (here, once for all)

    for name in ("cfr", "cfr+:precision=single", "es-mccfr"):  # compiled once for all
        solve(Nash(KUHN), name, max_iterations=2, tol=0)
    for kind in kinds or [*RUNS, *WRITES]:
        rng = random.Random(f"{seed} {kind}")
        with tempfile.TemporaryDirectory() as folder:
            found = (kill_run if kind in RUNS else kill_write)(kind, int(kills), rng, Path(folder))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
