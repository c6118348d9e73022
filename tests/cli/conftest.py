"""What every test of the command line runs under."""

import pytest


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no text that is looked for be broken into lines, whatever the terminal."""
    monkeypatch.setenv("COLUMNS", "160")
