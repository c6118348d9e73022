"""What the library adds to itself is one file and one line of a table: tried on a copy of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from effort import PATIENCE, few

import treeplex

LIBRARY = Path(treeplex.__file__).parent
TEMPLATE = Path(__file__).parents[1] / "examples" / "treeplex-extension" / "treeplex_extension"
FLOORS = ("seqform", "models", "solvers", "validation", "cli")

BLOTTO = (
    (TEMPLATE / "blotto.py").read_text(encoding="utf-8")
    + """

from .registry import Family

FAMILY = Family(rules=Blotto, summary="Colonel Blotto")
"""
)
TRIPLED = """
from dataclasses import dataclass
from typing import ClassVar

from .regret import SADDLES, RegretMethod
from .rules import Rule


@dataclass(frozen=True)
class Tripled(RegretMethod):
    \"\"\"CFR+ whose forecast counts three times.\"\"\"

    name: ClassVar[str] = "tripled"
    accumulation: ClassVar[Rule] = Rule(floor=0.0, prediction=3.0, averaging=1.0)
    serves: ClassVar[frozenset[str]] = SADDLES
"""
FIGURE = """
from dataclasses import dataclass

from .ccfr_transit import CCFRFigure2a


@dataclass(frozen=True)
class Again(CCFRFigure2a):
    \"\"\"The same again.\"\"\"

    name = "again"
    title = "the same again"
"""
#: The file that each kind of thing takes, its text, the module with the table, and the line of the table.
ADDED = {
    "game": ("models/games/blotto.py", BLOTTO, "models/games/registry.py", '"blotto": "blotto:FAMILY"'),
    "problem": (
        "models/problems/bonus.py",
        (TEMPLATE / "bonus.py").read_text(encoding="utf-8"),
        "models/problems/registry.py",
        '"bonus": "problems.bonus:BonusResponse"',
    ),
    "method": ("solvers/methods/tripled.py", TRIPLED, "solvers/methods/registry.py", '"tripled": "tripled:Tripled"'),
    "opponent": (
        "solvers/opponents/stubborn.py",
        (TEMPLATE / "stubborn.py").read_text(encoding="utf-8"),
        "solvers/opponents/strategies.py",
        '"stubborn": "stubborn:Stubborn"',
    ),
    "experiment": ("validation/papers/again.py", FIGURE, "validation/papers/registry.py", '"again": "again:Again"'),
}
#: What shows that each is there: a command, a key of its JSON, and the name or the number there. An equilibrium may bet
#: with every king, and who always bets loses a third to the best response.
ASKED = {
    "game": ("solve blotto:soldiers=3 --method highs", "value", 0.0),
    "problem": ("solve kuhn --problem bonus --reward 0/K_:b --bonus 1/10 --method highs", "objective", 1 / 10 - 1 / 18),
    "method": ("methods", "methods", "tripled"),
    "opponent": ("solve kuhn --problem best-response --opponent stubborn:b --method highs", "objective", 1 / 3),
    "experiment": ("reproduce --list", "experiments", "again"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """Return what commands answer in a copy of the library to which one thing of each kind was added."""
    folder = tmp_path_factory.mktemp("copy")
    for floor in FLOORS:
        shutil.copytree(LIBRARY / floor, folder / "treeplex" / floor)
    for file in LIBRARY.glob("*.py*"):
        if file.is_file():
            shutil.copy(file, folder / "treeplex" / file.name)
    for path, text, table, line in ADDED.values():
        (folder / "treeplex" / path).write_text(text, encoding="utf-8")
        module = folder / "treeplex" / table
        source = module.read_text(encoding="utf-8")
        assert source.count("_OWN = {\n") == 1
        module.write_text(source.replace("_OWN = {\n", f"_OWN = {{\n    {line},\n"), encoding="utf-8")
    code = (
        "import sys; from treeplex.cli import main; import treeplex; "
        f"assert treeplex.__file__.startswith({str(folder)!r}); "
        "[main([*command.split(), '--json', f'{name}.json']) for name, command in "
        f"{ {name: command for name, (command, _, _) in ASKED.items()}!r}.items()]"
    )
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = {}
    for name in ASKED:
        file = folder / f"{name}.json"
        assert file.exists(), ran.stderr
        found[name] = json.loads(file.read_text(encoding="utf-8"))
    return found


@few
@pytest.mark.parametrize("kind", ADDED)
def test_one_file_and_one_line_add_a_thing(kind: str, answers: dict[str, dict[str, object]]) -> None:
    _, key, expected = ASKED[kind]
    found = answers[kind][key]
    if isinstance(expected, str):
        assert expected in [each["name"] for each in found]  # type: ignore[attr-defined]
    else:
        assert found == pytest.approx(expected, abs=1e-8)
