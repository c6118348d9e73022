"""Bot files: what they declare, what is wrong in them, and that the commands take them."""

import json
from pathlib import Path

import numpy as np
import pytest

from treeplex import GameFileError, load_game
from treeplex.cli import main
from treeplex.models.matches import Table
from treeplex.models.opponents import Threshold, ThresholdBot
from treeplex.solvers.matches.bots import declared_bot, find_bot
from treeplex.solvers.opponents.strategies import opponent_strategy

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "bots").glob("*.toml"))
ROUND = "[[rounds]]\nx = -0.2\ny = 0.1\nz = 0.5\np = [3, 10, 0, 40]\nq = [2.5, 1, 0, 0]\n"


def written(text: str) -> str:
    Path("bot.toml").write_text(text, encoding="utf-8")
    return "bot.toml"


def test_bots_are_written_and_read_without_loss() -> None:
    rng = np.random.default_rng(1)
    for rounds in (1, 2, 4):
        numbers = rng.normal(size=11 * rounds) * 10.0 ** rng.integers(-300, 8, 11 * rounds)
        bot = ThresholdBot(Threshold.from_numbers(numbers), int(rng.integers(1, 10**6)))
        text = bot.to_toml("bot.toml")
        assert ThresholdBot.from_file("bot.toml") == bot == find_bot("bot.toml", Table())
        assert ThresholdBot.from_file("bot.toml").to_toml() == text
        assert (Threshold.from_file("bot.toml").numbers == bot.automaton.numbers).all()


def test_files_declare_what_texts_do() -> None:
    assert declared_bot(written('bot = "raise"\npots = 0.5')) == declared_bot("raise:pots=1/2")
    assert declared_bot(written('bot = "call"')) == declared_bot("call")
    assert declared_bot(written('bot = "resolving"\nlearns = false\np = 0.5')) == declared_bot(
        "resolving:learns=false,p=1/2"
    )
    assert find_bot(written('bot = "threshold"\nsamples = 500'), Table()) == find_bot("threshold:samples=500", Table())
    assert find_bot(written(f"samples = 70\n{ROUND}"), Table()) == find_bot("threshold:file=bot.toml", Table())
    assert find_bot("threshold:file=bot.toml,samples=80", Table()) == ThresholdBot(Threshold.from_file("bot.toml"), 80)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('bot = "raize"', 1, "bot is 'raize' (did you mean raise?), expected call, fold"),
        ('\nbot = "raise"\npot = 1', 3, "unknown key 'pot' (did you mean pots?); expected bot or pots"),
        ('bot = "raise"\npots = -1', 2, "pots = -1; expected a number above 0"),
        ('bot = "json"', 1, "command is missing, expected the program and its arguments"),
        ("pots = 1", None, "bot is missing, expected the name of a bot"),
        ("bot = 3", 1, "bot is 3, expected call, fold"),
        (f"samples = 0\n{ROUND}", 1, "samples is 0, expected a whole number from 1 to 1,000,000"),
        (f'bot = "raise"\n{ROUND}', 1, "bot is 'raise', expected 'threshold' with [[rounds]]"),
        (ROUND + ROUND.replace("z = 0.5", "z = 'high'"), 10, "rounds[2]: z is 'high', expected a number"),
        (ROUND.replace("40]", "nan]"), 5, "rounds[1]: a coefficient of p is nan, expected a number"),
        (ROUND.replace("q =", "r ="), 6, "rounds[1]: unknown key 'r'"),
        (ROUND.replace("q = [2.5, 1, 0, 0]", ""), 1, "rounds[1].q is missing, expected four numbers"),
        (ROUND.replace("0.1", "0.9"), 1, "rounds[1]: x, y, z are -0.2, 0.9, 0.5, expected ascending thresholds"),
        ("bot = raise", 1, "not valid TOML: Invalid value; put text in quotes"),
    ],
)
def test_errors_name_the_line_and_the_key(text: str, line: int | None, message: str) -> None:
    with pytest.raises(GameFileError) as caught:
        declared_bot(written(text))
    assert caught.value.line == line
    assert message in str(caught.value)
    assert str(caught.value).startswith("bot.toml: ")


def test_every_command_that_seats_somebody_takes_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pokerkit")
    leduc, file = load_game("leduc:merge_suits=true"), written(ROUND)
    plan = Threshold.from_file(file).strategy(leduc, 1)
    assert (opponent_strategy(file, leduc, 1).plan == plan.plan).all()
    for command in (
        ["match", file, "call", "--hands", "4"],
        ["play", "leduc", "--seat0", file, "--seat1", "uniform", "--games", "4"],
        ["evaluate", "leduc", "--strategy", file],
        ["solve", "leduc", "--problem", "best-response", "--opponent", file],
        ["compare", file, "nash", "--game", "leduc"],
    ):
        assert main([*command, "--json", "-"]) == 0, command
        assert json.loads(capsys.readouterr().out)
    assert main(["evaluate", "leduc", "--strategy", written('bot = "raise"')]) == 2
    assert "bot.toml: line 1: bot is 'raise', expected 'threshold'" in capsys.readouterr().err
    assert main(["evaluate", "leduc", "--strategy", "no.toml"]) == 2
    assert "no.toml: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_bots(path: Path) -> None:
    assert find_bot(str(path), Table()) is not None
    assert len(EXAMPLES) >= 3


def test_the_bot_made_by_hand_is_among_the_examples() -> None:
    made = next(path for path in EXAMPLES if path.stem == "by-hand")
    assert find_bot(str(made), Table()) == ThresholdBot()
