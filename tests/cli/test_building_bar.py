"""The bar that commands show on a terminal while a game is built."""

import io
import sys

from treeplex import load_game
from treeplex.cli import progress
from treeplex.seqform.budget import tell


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_histories_are_counted_up_to_their_number(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    game = load_game("goofspiel:cards=4")
    with progress.building(game):
        tell(1234)
    assert f"1,234 of {game.rules.size().nodes:,} histories" in terminal.getvalue()
    assert "left" in terminal.getvalue()


def test_nothing_is_shown_to_a_file(capfd):
    with progress.building(load_game("kuhn")):
        tell(5)
    assert capfd.readouterr() == ("", "")
