"""Sizes by formula, the estimate of memory, and games that are too large."""

import itertools
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from effort import PATIENCE, few, thorough

from treeplex import (
    CHANCE,
    TERMINAL,
    GameTooLargeError,
    GameTree,
    InvalidGameError,
    InvalidMemoryError,
    SequenceForm,
    load_game,
)
from treeplex.cli import main
from treeplex.models.games import families
from treeplex.seqform import GameSize
from treeplex.seqform import budget as budget_module
from treeplex.seqform import memory as memory_module
from treeplex.seqform.budget import memory_budget, sequence_form_bytes, tree_bytes
from treeplex.seqform.enumeration import enumerate_game
from treeplex.seqform.memory import available_memory, read_memory

SMALL = [
    *(f"kuhn:players={players},cards={cards}" for players in (2, 3, 4) for cards in range(players, players + 3)),
    *(
        f"leduc:players={players},ranks={ranks},suits={suits},merge_suits={merged},raises={raises}"
        for players, ranks, suits in ((2, 3, 1), (2, 1, 3), (2, 2, 2), (2, 3, 2), (2, 2, 3), (3, 2, 2), (4, 2, 3))
        for merged in ("true", "false")
        for raises in (1, 2, 3)
        if players * raises < 6 and (players < 4 or merged == "true")
    ),
    "leduc:players=4,ranks=5,suits=1,raises=1",
    "leduc:players=2,ranks=2,suits=2,raises=5",
    *(
        f"liars_dice:players={players},dice={dice},sides={sides}"
        for players, dice, sides in itertools.product((2, 3, 4), (1, 2, 3), (1, 2, 3, 4))
        if players * dice * sides <= 8
    ),
    *(
        f"goofspiel:cards={cards},order={order}"
        for cards, order in itertools.product((2, 3, 4), ("ascending", "descending", "random"))
    ),
    "goofspiel:cards=5",
    "matching_pennies",
    "rps:rock=0",
    *(f"repeated_rps:rounds={rounds}" for rounds in (1, 2, 3)),
]
ENORMOUS = [
    "kuhn:players=10,cards=1000",
    "leduc:ranks=1000,suits=1000,merge_suits=true",
    "leduc:players=10,ranks=1000",
    "liars_dice:dice=5,sides=6",
    "liars_dice:players=10,dice=10,sides=100",
    "goofspiel:cards=13,order=random",
    "repeated_rps:rounds=100",
]


def found_size(rules: Any) -> GameSize:
    found = enumerate_game(rules)
    return GameSize(
        nodes=found.num_nodes,
        leaves=len(found.leaves),
        sequences=tuple(treeplex.num_sequences for treeplex in found.treeplexes),
        infosets=tuple(treeplex.num_infosets for treeplex in found.treeplexes),
    )


@few
@pytest.mark.parametrize("spec", SMALL)
def test_the_formula_of_a_family_gives_what_the_walk_finds(spec: str) -> None:
    rules: Any = load_game(spec).rules
    assert rules.size() == found_size(rules)


def test_every_family_with_a_formula_is_compared_with_the_walk() -> None:
    sized = {family.name for family in families() if hasattr(family.rules, "size")}
    assert sized - {"transit"} == {spec.partition(":")[0] for spec in SMALL}


@pytest.mark.parametrize("spec", ENORMOUS)
def test_enormous_games_have_exact_sizes_and_are_refused(spec: str) -> None:
    game = load_game(spec)
    size = game.rules.size()  # type: ignore[union-attr]
    assert type(size.nodes) is int
    assert size.leaves > 10**9
    with pytest.raises(GameTooLargeError, match=f"^{game.spec}: the game has .* histories"):
        _ = game.sequence_form
    with pytest.raises(GameTooLargeError, match=f"^{game.spec}: .* networkx tree would take"):
        _ = game.tree


def test_the_refusal_names_histories_estimate_budget_and_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "2GB")
    with pytest.raises(GameTooLargeError) as error:
        _ = load_game("goofspiel:cards=8").sequence_form
    assert str(error.value) == (
        "goofspiel:cards=8: the game has 3,040,424,649 histories: its sequence form would take about 109 GB, but the "
        "budget is 2 GB; choose smaller parameters, or allow more memory with TREEPLEX_MEMORY or --memory"
    )
    assert isinstance(error.value, MemoryError)


def test_more_leaves_than_32_bits_number_are_refused_however_much_memory_there_is() -> None:
    with pytest.raises(GameTooLargeError, match=r"more leaves or sequences than 32-bit indices can number"):
        SequenceForm.from_rules(load_game("goofspiel:cards=9").rules, memory="900TB")  # type: ignore[arg-type]


def test_fractions_and_trees_take_more_than_floats() -> None:
    size = load_game("leduc").rules.size()  # type: ignore[union-attr]
    assert sequence_form_bytes(size) < sequence_form_bytes(size, exact=True) < tree_bytes(size)
    rules: Any = load_game("leduc").rules
    SequenceForm.from_rules(rules, memory="1MB")
    with pytest.raises(GameTooLargeError, match=r"sequence form would take about 1\.72 MB"):
        SequenceForm.from_rules(rules, exact=True, memory="1MB")
    with pytest.raises(GameTooLargeError, match=r"networkx tree would take about 10\.9 MB"):
        GameTree.from_rules(rules, memory="10MB")


@pytest.mark.parametrize(
    ("spec", "exact"),
    [
        pytest.param("leduc:ranks=4", False, marks=thorough),
        pytest.param("leduc:ranks=6,merge_suits=true", False, marks=thorough),
        ("liars_dice:sides=4", False),
        pytest.param("goofspiel:cards=5", False, marks=thorough),
        ("kuhn:players=4", False),
        ("leduc:ranks=4", True),
    ],
)
def test_the_estimate_is_near_what_building_allocates(spec: str, exact: bool) -> None:
    rules: Any = load_game(spec).rules
    _ = load_game("matching_pennies").sequence_form.A  # nothing is imported within the measurement
    tracemalloc.start()
    try:
        form = SequenceForm.from_rules(rules, exact=exact)
        _ = [treeplex.E for treeplex in form.treeplexes]
        if form.num_players == 2:
            _ = form.A
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.7 < sequence_form_bytes(rules.size(), exact) / peak < 1.5


#: Builds a game in a process of its own, and prints the estimates, the largest counts, and by how much it has grown.
_GROWTH = """
import re
import sys
from pathlib import Path
import psutil
from treeplex import load_game
from treeplex.seqform.budget import Budget, sequence_form_bytes

def most():
    if sys.platform == "linux":  # what getrusage says here counts the process that this one was forked from
        return 1024 * int(re.search("VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1])
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

needs = [0]
require = Budget.require
Budget.require = lambda self, needed, *words: (needs.append(needed), require(self, needed, *words))[1]
for spec in ("matching_pennies", "transit:width=2"):  # what these import is not part of the measurement
    _ = [treeplex.E for treeplex in load_game(spec).sequence_form.treeplexes]
load_game("matching_pennies").sequence_form.A
game = load_game(sys.argv[1])
before = psutil.Process().memory_info().rss
needs.clear()
form = game.sequence_form
_ = [treeplex.E for treeplex in form.treeplexes]
if form.num_players == 2 and not form.payoffs.is_operator:
    form.A
size = getattr(game.rules, "size", None)
print(sum(needs) + (sequence_form_bytes(size()) if size else 0), most() - before)
"""
#: A game or two of each family, of ten megabytes and more.
_LARGE = [
    "repeated_rps:rounds=5",
    *(
        pytest.param(spec, marks=thorough)
        for spec in (
            "kuhn:cards=250",
            "kuhn:players=5,cards=7",
            "leduc:ranks=9",
            "leduc:raises=10,ranks=3",
            "leduc:players=3,ranks=3",
            "liars_dice:sides=6",
            "liars_dice:players=3,sides=4",
            "goofspiel:cards=6",
            "repeated_rps:rounds=6",
            "transit:width=2,horizon=3,form=histories",
            "transit:width=20,model=A",
            "transit:width=20,failure=0",
            "preflop:raises=10,streets=3,continuations=0,stack=1000",
            "three_handed",
        )
    ),
    "transit:width=12",
]


@pytest.mark.parametrize("spec", _LARGE)
def test_the_estimate_is_near_what_a_process_grows_by(spec: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-c", _GROWTH, spec], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    estimate, grown = map(int, ran.stdout.split())
    assert 0.75 < estimate / grown < 1.25


def test_the_estimate_of_a_tree_is_near_what_building_allocates() -> None:
    rules: Any = load_game("liars_dice:sides=3").rules
    GameTree.from_rules(load_game("matching_pennies").rules)  # type: ignore[arg-type]
    tracemalloc.start()
    try:
        GameTree.from_rules(rules)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.7 < tree_bytes(rules.size()) / peak < 1.5


class Endless:
    """Two players move in turn for ever; nothing ends."""

    num_players = 2

    def initial_state(self) -> Any:
        return 0

    def player(self, state: Any) -> int:
        return int(state % 2)

    def actions(self, state: Any) -> Any:
        return ("go",)

    def chance_outcomes(self, state: Any) -> Any:
        return [("heads", 0.5), ("tails", 0.5)]

    def child(self, state: Any, action: Any) -> Any:
        return state + 1

    def infoset(self, state: Any) -> Any:
        return state

    def payoffs(self, state: Any) -> Any:
        return (0, 0)


class EndlessChance(Endless):
    """Chance moves for ever: nothing but the stack grows."""

    def player(self, state: Any) -> int:
        return CHANCE


class Escape(Endless):
    """Players may stop at any time, and need not."""

    def player(self, state: Any) -> int:
        return TERMINAL if state < 0 else int(state % 2)

    def actions(self, state: Any) -> Any:
        return ("go", "stop")

    def child(self, state: Any, action: Any) -> Any:
        return state + 1 if action == "go" else -1


class Wide(Endless):
    """A game of two moves, each one of 50,000, the second of them unseen."""

    _ACTIONS = tuple(range(50_000))

    def player(self, state: Any) -> int:
        return (0, 1, TERMINAL)[state]

    def actions(self, state: Any) -> Any:
        return self._ACTIONS


@pytest.mark.parametrize(
    "rules", [Endless(), EndlessChance(), Escape(), Wide()], ids=lambda rules: type(rules).__name__
)
@pytest.mark.parametrize("build", [SequenceForm.from_rules, GameTree.from_rules], ids=["form", "tree"])
def test_games_of_unknown_size_stop_at_the_budget(rules: Any, build: Any) -> None:
    with pytest.raises(
        GameTooLargeError,
        match=r"^after [\d,]+ histories the game is not finished and has used .* of a budget of 20 MB; ",
    ) as error:
        build(rules, memory="20MB")
    assert "\n" not in str(error.value)


def test_large_labels_count_though_they_are_few() -> None:
    class Verbose(Endless):
        def infoset(self, state: Any) -> Any:
            return "label " * 1000 + str(state)

    with pytest.raises(GameTooLargeError, match="not finished") as error:
        SequenceForm.from_rules(Verbose(), memory="40MB")
    # With short labels it is 178,000; how much memory was free already in the process moves both.
    assert int(str(error.value).split()[1].replace(",", "")) < 50_000


def test_a_history_without_end_that_takes_no_memory_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(EndlessChance):
        def chance_outcomes(self, state: Any) -> Any:
            return [("wait", 1)]

        def child(self, state: Any, action: Any) -> Any:
            return 0

    monkeypatch.setattr(budget_module, "_LONGEST", 10_000)
    with pytest.raises(GameTooLargeError, match="has a history of more than 10,000 moves: every history must end"):
        SequenceForm.from_rules(Waiting())


@pytest.mark.parametrize("actions", [range(10**12), range(10**30), itertools.count()], ids=str)
@pytest.mark.parametrize("build", [SequenceForm.from_rules, GameTree.from_rules], ids=["form", "tree"])
def test_more_actions_than_memory_holds_are_refused(actions: Any, build: Any) -> None:
    class Many(Endless):
        def actions(self, state: Any) -> Any:
            return actions

    with pytest.raises(GameTooLargeError, match="actions or more, too many for a budget of 20 MB"):
        build(Many(), memory="20MB")


def test_endless_outcomes_are_refused() -> None:
    class Many(EndlessChance):
        def chance_outcomes(self, state: Any) -> Any:
            return ((outcome, 0.5) for outcome in itertools.count())

    with pytest.raises(GameTooLargeError, match="actions or more, too many for a budget of 2 MB"):
        SequenceForm.from_rules(Many(), memory="2MB")


def test_a_deep_game_that_fits_is_built() -> None:
    class Deep(Endless):
        def player(self, state: Any) -> int:
            return TERMINAL if state == 50_000 else int(state % 2)

    assert SequenceForm.from_rules(Deep(), memory="40MB").num_nodes == 50_001


def test_an_attribute_size_that_is_something_else_is_left_alone() -> None:
    class Board(Endless):
        size: Any = 3

        def player(self, state: Any) -> int:
            return TERMINAL if state == self.size else 0

    class Measured(Board):
        def size(self, unit: str) -> int:
            return 3

        def player(self, state: Any) -> int:
            return TERMINAL if state == 3 else 0

    assert SequenceForm.from_rules(Board()).num_nodes == 4
    assert SequenceForm.from_rules(Measured()).num_nodes == 4


def test_rules_of_a_user_may_say_their_size() -> None:
    class Sized(Endless):
        def size(self) -> GameSize:
            return GameSize(nodes=10**30, leaves=10**29, sequences=(10**9, 10**9), infosets=(10**8, 10**8))

    with pytest.raises(GameTooLargeError, match=r"^the game has 1.00e\+30 histories"):
        SequenceForm.from_rules(Sized())


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"nodes": None}, "nodes None, expected a count"),
        ({"leaves": -1}, "leaves -1, expected a count"),
        ({"leaves": 1e9}, "leaves 1000000000.0, expected a count"),
        ({"sequences": [3, 3]}, r"sequences \[3, 3\], expected a tuple of counts, one per player"),
        ({"infosets": (1, "2")}, r"infosets \(1, '2'\), expected a tuple of counts"),
    ],
)
def test_what_is_no_size_is_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidGameError, match=message):
        GameSize(**{"nodes": 5, "leaves": 4, "sequences": (3, 3), "infosets": (1, 1), **sizes})


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("8GB", 8 * 10**9),
        ("500 mb", 5 * 10**8),
        ("2GiB", 2**31),
        (" 1.5kB ", 1500),
        ("4096", 4096),
        ("7B", 7),
        (12, 12),
    ],
)
def test_amounts_of_memory_are_read(text: Any, amount: int) -> None:
    assert read_memory(text, "memory") == amount
    assert memory_budget(text) == amount


@pytest.mark.parametrize(
    "text", ["8 gigs", "-1GB", "0", "0.1B", "1e9", "GB", "1iB", "٣GB", "nan", "9" * 400, 0, -5, 1.5, True, [8]]
)
def test_other_amounts_are_refused_in_one_line(text: Any) -> None:
    with pytest.raises(InvalidMemoryError, match=r"^memory = .*; expected bytes, or an amount such as 500MB") as error:
        SequenceForm.from_rules(load_game("kuhn").rules, memory=text)  # type: ignore[arg-type]
    assert len(str(error.value)) < 200


def test_the_environment_variable_sets_the_budget_unless_an_argument_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "10 kB")
    rules: Any = load_game("leduc").rules
    with pytest.raises(GameTooLargeError, match="budget is 10 kB"):
        SequenceForm.from_rules(rules)
    assert SequenceForm.from_rules(rules, memory="1GB").num_leaves == 5520
    monkeypatch.setenv("TREEPLEX_MEMORY", "much")
    with pytest.raises(InvalidMemoryError, match=r"^TREEPLEX_MEMORY = 'much'; expected"):
        SequenceForm.from_rules(rules)
    monkeypatch.setenv("TREEPLEX_MEMORY", " ")
    assert SequenceForm.from_rules(rules).num_leaves == 5520


def test_half_of_what_is_available_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREEPLEX_MEMORY", raising=False)
    assert available_memory() > 10**6
    monkeypatch.setattr(memory_module, "available_memory", lambda: 30_000_000)
    assert memory_budget() == 15_000_000
    with pytest.raises(GameTooLargeError, match="budget is 15 MB"):
        SequenceForm.from_rules(load_game("leduc:ranks=10").rules)  # type: ignore[arg-type]


def test_the_limit_of_a_control_group_counts(tmp_path: Path) -> None:
    second = tmp_path / "second"
    own = second / "box" / "job"
    own.mkdir(parents=True)
    (own / "memory.max").write_text("max\n")
    (second / "box" / "memory.max").write_text("1000\n")
    (second / "box" / "memory.current").write_text("700\n")
    (second / "box" / "memory.stat").write_text("anon 500\ninactive_file 150\nactive_file 9\n")
    proc = tmp_path / "cgroup"
    proc.write_text("1:name=systemd:/\n0::/box/job\n")
    assert list(memory_module._cgroup_rooms(proc, second)) == [450]

    first = tmp_path / "first" / "memory"
    first.mkdir(parents=True)
    (first / "memory.limit_in_bytes").write_text("5000\n")
    (first / "memory.usage_in_bytes").write_text("1000\n")
    (first / "memory.stat").write_text("total_inactive_file 0\n")
    proc.write_text("4:cpu,memory:/docker/unseen\n2:cpuset:/\n")
    assert list(memory_module._cgroup_rooms(proc, tmp_path / "first")) == [4000]
    (first / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    assert not list(memory_module._cgroup_rooms(proc, tmp_path / "first"))
    assert not list(memory_module._cgroup_rooms(tmp_path / "nowhere", tmp_path))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit on address space is enforced on Linux")
def test_a_limit_on_address_space_counts() -> None:
    program = (
        "import resource, psutil; from treeplex.seqform.memory import available_memory; "
        "now = psutil.Process().memory_info().vms; "
        "resource.setrlimit(resource.RLIMIT_AS, (now + 300_000_000, resource.RLIM_INFINITY)); "
        "print(available_memory())"
    )
    answer = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
        timeout=PATIENCE,
    )
    assert 0 < int(answer.stdout) <= 300_000_000


@pytest.mark.parametrize(
    "arguments", [["solve", "goofspiel:cards=13"], ["info", "liars_dice:dice=3,sides=6", "--public"]]
)
def test_the_command_line_refuses_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert output.err.startswith(f"error: {arguments[1]}: the game has ")


def test_the_command_line_refuses_a_malformed_amount(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "lots\n")
    assert main(["info", "kuhn"]) == 2
    assert capsys.readouterr().err == (
        "error: TREEPLEX_MEMORY = 'lots'; expected bytes, or an amount such as 500MB, 8GB or 2GiB\n"
    )


class LargeStates:
    """Endless rules whose states take a megabyte each."""

    num_players = 1

    def initial_state(self):
        return 0, b""

    def player(self, state):
        return 0

    def actions(self, state):
        return tuple("abcdefgh")

    def chance_outcomes(self, state):
        return ()

    def child(self, state, action):
        return state[0] + 1, bytes([state[0] % 251]) * 1_000_000

    def infoset(self, state):
        return state[0]

    def payoffs(self, state):
        return (0,)


def test_large_states_are_seen_before_many_of_them_are_made():
    with pytest.raises(GameTooLargeError, match=r"has used .* of a budget of 100 MB") as refused:
        enumerate_game(LargeStates(), memory="100MB")
    histories = int(re.search(r"after ([\d,]+) histories", str(refused.value))[1].replace(",", ""))
    assert histories < 60  # of which each leaves seven states of a megabyte waiting
