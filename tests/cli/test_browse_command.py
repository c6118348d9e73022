"""``treeplex browse``: the address, whom the server answers, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from command_line import refusal
from effort import PATIENCE, few
from toy_spots import solved_toy

from treeplex.cli import main

needs_server = pytest.mark.usefixtures("server_installed")


@pytest.fixture
def server_installed():
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")  # the address is longer, and is not broken into lines
    solved_toy().save("toy.npz")
    return Path("toy.npz")


@few
@needs_server
@pytest.mark.skipif(not hasattr(signal, "SIGTERM") or os.name == "nt", reason="Ctrl-C goes to consoles there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_page_is_served_until_ctrl_c(toy, number):
    command = [sys.executable, "-P", "-m", "treeplex", "browse", str(toy), "--no-open"]
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the tests run in the background of a shell that ignores Ctrl-C there, and so would the command")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        said = ""
        while "Stop with Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said += line
        address = re.search(r"^http.*", said, re.MULTILINE)[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", address)
        with urllib.request.urlopen(f"{address}steps?at=all-in", timeout=PATIENCE) as answer:
            assert [step["mover"] for step in json.load(answer)] == [0, 1]
        for other in (address.rsplit("/", 2)[0] + "/", address[:-2] + "/", address[:-3] + "/steps"):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(other, timeout=PATIENCE)
        request = urllib.request.Request(address, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=PATIENCE)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


@needs_server
def test_the_browser_is_opened_at_the_address(toy, monkeypatch, capsys):
    """And the port may be chosen."""
    import webbrowser

    import uvicorn

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: opened.append(sockets[0].getsockname()))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert main(["browse", str(toy), "--port", str(port)]) == 0
    assert f"\nhttp://127.0.0.1:{port}/" in capsys.readouterr().out
    assert ("127.0.0.1", port) in opened
    assert main(["browse", str(toy), "--no-open"]) == 0
    assert sum(isinstance(each, str) for each in opened) <= 1


@needs_server
def test_what_cannot_be_served_is_refused(toy, capsys):
    Path("text.npz").write_text("a text")
    assert "is not the file of a solved spot" in refusal(capsys, "browse", "text.npz", "--no-open")
    assert "no such file" in refusal(capsys, "browse", "none.npz", "--no-open")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port {port}: address already in use" in refusal(
            capsys, "browse", str(toy), "--no-open", "--port", str(port)
        )
    assert "expected a port from 1 to 65535" in refusal(capsys, "browse", str(toy), "--port", "70000")


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_a_missing_extra_is_named(toy, missing, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, missing, None)
    line = refusal(capsys, "browse", str(toy), "--no-open")
    assert line == "browse needs starlette and uvicorn: pip install 'treeplex[browse]'"
