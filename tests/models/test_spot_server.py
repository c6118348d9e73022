"""The server of a solved spot: what it answers, whom it refuses, and its page in a browser."""

import socket
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
from chromium import overflows, visited
from effort import thorough

from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.games.holdem.server import application, new_token
from treeplex.seqform.public_profile import PublicProfile

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

HOST = "127.0.0.1:8000"


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The file of a turn on which everybody plays at random, by a seed."""
    spot = HoldemSpot("Td9d6hQc", ["AdKd:0.5, 8h7h, QQ", "JJ, AhTh, 8h7h"], 40, 60, Betting("50%", "a"))
    form, generator = spot.public_form, np.random.default_rng(4)
    played = {
        node: generator.random((len(form.children[node]), len(form.states[form.players[node]])))
        for node in form.decisions.tolist()
    }
    path = tmp_path_factory.mktemp("solved") / "turn.npz"
    SolvedSpot(spot, PublicProfile(form, played)).save(path)
    return SolvedSpot.load(path)


@pytest.fixture(scope="module")
def client(solved):
    from starlette.testclient import TestClient

    app = application(solved, "turn.npz", "a-token", {HOST, "localhost:8000"})
    return TestClient(app, base_url=f"http://{HOST}")


def asked(client, what, at=""):
    answer = client.get(f"/a-token/{what}", params={"at": at})
    assert answer.status_code == 200
    return answer.json()


def numbers(values):
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize("line", ["", "check, bet 20", "check, check, 7s", "check, check, 7s, bet 20"])
def test_a_node_has_the_numbers_that_are_read_in_python(solved, client, line):
    found, node = asked(client, "node", line), solved.at(line)
    assert numbers(found["plays"]) == pytest.approx(node.strategy)
    assert numbers(found["evs"]) == pytest.approx(node.action_evs, nan_ok=True)
    for name, known in (("ev", "evs"), ("equity", "equities"), ("reach", "reaches"), ("by", "likely")):
        for mine, theirs in zip(found[name], getattr(node, known), strict=True):
            assert numbers(mine) == pytest.approx(theirs, nan_ok=True)
    mean = node.averages
    assert found["means"]["ev"] == pytest.approx([mean["oop ev"], mean["ip ev"]])
    assert found["means"]["equity"] == pytest.approx([mean["oop equity"], mean["ip equity"]])
    assert found["means"]["plays"] == pytest.approx([mean[action] for action in node.actions])
    assert asked(client, "node", line) == found


def test_steps_are_the_places_on_the_way(solved, client):
    steps = asked(client, "steps", "check, check, 7s, bet 20, fold")
    assert [step["mover"] for step in steps] == [0, 1, -1, 0, 1, -2]
    assert [step["pot"] for step in steps] == [40, 40, 40, 40, 60, 60]
    assert [len(step["board"]) for step in steps] == [4, 4, 4, 5, 5, 5]
    assert [step["winner"] for step in steps] == [-1] * 5 + [0]
    assert len(steps[2]["actions"]) == 48
    mean = solved.at("check").averages
    assert steps[1]["shares"] == pytest.approx([mean[action] for action in steps[1]["actions"]])
    assert [len(step["colours"]) for step in steps] == [3, 3, 0, 3, 3, 0]
    assert asked(client, "steps", "all-in, call")[-1]["mover"] == -3


def test_runouts_are_the_cards_that_may_come(solved, client):
    found, table = asked(client, "runouts", "check, check"), solved.runouts("check, check")
    assert (found["mover"], found["actions"], found["left"]) == (0, ["check", "bet 20", "all-in"], 0)
    rows = {row["card"]: row for row in table}
    assert len(found["cards"]) == 48
    total = sum(each["likely"] for each in found["cards"])
    for each in found["cards"]:
        row = rows[each["card"]]
        assert each["likely"] / total == pytest.approx(row["weight"])
        assert each["ev"] == pytest.approx([row["oop ev"], row["ip ev"]])
        assert each["plays"] == pytest.approx([row[action] for action in found["actions"]])
    for line in ("", "check", "all-in, call", "bet 20, fold"):
        assert asked(client, "runouts", line) is None


@pytest.mark.parametrize(
    ("what", "line", "message"),
    [
        ("node", "chek", "there is no 'chek' at the root (did you mean check?); expected check, bet 20 or all-in"),
        ("steps", "check, check, Td", "there is no 'Td' after check, check; expected 2c, 2d, 2h"),
        ("node", "check, check", "nobody decides after check, check"),
        ("runouts", "x" * 5000, "there is no 'xxx"),
    ],
)
def test_lines_that_lead_nowhere_are_answered_in_one_line(client, what, line, message):
    answer = client.get(f"/a-token/{what}", params={"at": line})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(message)
    assert len(answer.text) < 1000


def test_a_damaged_file_is_said(solved, tmp_path):
    from starlette.testclient import TestClient

    from treeplex.seqform.interchange.files import read_archive, write_archive

    solved_again = SolvedSpot(solved.spot, solved.profile)
    solved_again.save(tmp_path / "a.npz")
    metadata, arrays = read_archive(tmp_path / "a.npz")
    write_archive(tmp_path / "a.npz", metadata, arrays | {"values 0": arrays["values 0"] + np.inf}, packed=False)
    app = application(SolvedSpot.load(tmp_path / "a.npz"), "a.npz", "a-token", {HOST})
    answer = TestClient(app, base_url=f"http://{HOST}").get("/a-token/node")
    assert answer.status_code == 400
    assert "a.npz is a damaged file of a solved spot" in answer.json()["error"]


def test_the_page_asks_its_own_server_alone(client):
    answer = client.get("/a-token/")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.text
    assert "connect-src 'self'" in answer.text
    assert "a-token" not in answer.text
    assert answer.text.count("<script>") == 1
    assert client.get("/a-token/other").status_code == 404
    assert client.post("/a-token/node").status_code == 405


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/node", {}),
        ("/a-token", {}),
        ("/a-toke/", {}),
        ("/a-tokens/node", {}),
        ("//a-token/", {}),
        ("/other/../a-token/", {}),
        ("/a-token/", {"host": "evil.example:8000"}),
        ("/a-token/", {"host": "127.0.0.1"}),
        ("/a-token/node", {"host": "127.0.0.1:8001"}),
        ("/a-token/", {"host": "127.0.0.1:8000.evil.example"}),
        ("/", {"referer": f"http://{HOST}/a-token/", "cookie": "token=a-token"}),
    ],
)
def test_requests_without_the_token_or_by_another_name_are_refused(client, path, headers):
    if ".." in path or path.startswith("//"):
        scope_path, path = path, "/"
        answer = client.get(path, headers=headers, extensions={"target": scope_path.encode()})
    else:
        answer = client.get(path, headers=headers)
    assert (answer.status_code, answer.text) == (403, "forbidden")
    assert client.post(path, headers=headers).status_code == 403


@pytest.mark.parametrize("path", ["/", "/a-token/", "/a-token/node", "/a-token/node?at=x"])
def test_every_answer_is_kept_nowhere_and_framed_by_nobody(client, path):
    headers = client.get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_tokens_are_long_and_never_the_same():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 43  # 256 bits


# In a browser


@contextmanager
def serving(solved):
    """Run a server in a thread of its own, and yield its address."""
    uvicorn = pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, token = f"127.0.0.1:{listening.getsockname()[1]}", new_token()
        app = application(solved, "turn.npz", token, {host})
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://{host}/{token}/"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def address(solved):
    with serving(solved) as found:
        yield found


def percent(shares):
    return [f"{100 * share:.1f}%" for share in shares]


def test_clicks_lead_through_actions_and_cards(solved, address, chromium):
    with visited(chromium, address) as page:
        page.wait_for_selector(".hand")
        assert page.locator(".hand").count() == 169
        assert page.locator(".step .much").all_text_contents() == percent(solved.at().frequencies.values())
        page.locator(".step:last-child .act", has_text="check").click()
        page.wait_for_selector(".step:nth-child(2)")
        page.locator(".step:last-child .act", has_text="check").click()
        page.wait_for_selector(".runouts tbody tr:nth-child(49)")  # all of them, and the average
        assert page.locator(".deck button:enabled").count() == 48
        page.get_by_role("button", name="7s", exact=True).click()
        page.wait_for_selector(".step:nth-child(4)")
        node = solved.at("check, check, 7s")
        assert page.locator(".step.shown .much").all_text_contents() == percent(node.frequencies.values())
        cells = page.locator(".pair tbody td").all_text_contents()
        found = [float(cell.replace("−", "-")) for cell in cells[::2]]
        assert found == pytest.approx([node.averages["oop ev"], node.averages["ip ev"]], abs=0.006)
        rows = page.locator(".spot-table tbody tr")
        assert rows.count() == len(node.hands())
        page.locator(".hand", has_text="QQ").click()
        assert rows.count() == 3
        page.get_by_role("button", name="IP", exact=True).click()
        assert rows.count() == len(node.hands("ip"))
        page.get_by_role("button", name="EV", exact=True).click()
        assert page.locator(".hand small").count() > 0
        # Another decision of the line, which stays.
        page.locator(".step .who").first.click()
        page.wait_for_selector(".step:first-child.shown")
        assert page.locator(".step").count() == 4


@thorough
def test_the_address_holds_the_line(solved, address, chromium):
    with visited(chromium, f"{address}#at=check,+check,+7s") as page:
        page.wait_for_selector(".step:nth-child(4)")
        page.locator(".step:last-child .act", has_text="bet 20").click()
        page.wait_for_selector(".step:nth-child(5)")
        assert page.url == f"{address}#at=check%2C+check%2C+7s%2C+bet+20"
        page.locator(".step .who").first.click()
        page.wait_for_url("**shown=0")
        page.go_back()
        page.wait_for_selector(".step:nth-child(5).shown")
        page.go_back()
        page.wait_for_selector(".step:nth-child(5)", state="detached")
        page.go_forward()
        page.wait_for_selector(".step:nth-child(5)")
        page.reload()
        page.wait_for_selector(".step:nth-child(5)")


@thorough
def test_a_line_that_leads_nowhere_is_said_and_what_was_shown_stays(address, chromium):
    context = chromium.new_context()  # whose console tells of the answer
    page = context.new_page()
    page.goto(f"{address}#at=check,+check")
    page.wait_for_selector(".step:nth-child(3)")
    page.evaluate("location.hash = '#at=check,+fold'")
    page.wait_for_selector("[role=status]:visible")
    assert "there is no 'fold' after check" in page.locator("[role=status]").text_content()
    assert page.locator(".step").count() == 3
    page.go_back()
    page.wait_for_selector("[role=status]", state="hidden")
    context.close()


@thorough
def test_keys_lead_everywhere(address, chromium):
    def focused(page):
        return page.evaluate("document.activeElement.textContent")

    with visited(chromium, address) as page:
        page.wait_for_selector(".hand")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert focused(page).startswith("bet 20")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")  # check
        page.wait_for_selector(".step:nth-child(2)")
        page.keyboard.press("Enter")  # check
        page.wait_for_selector(".deck")
        assert focused(page) == "A♠"
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowRight"):
            page.keyboard.press(key)
        assert focused(page) == "K♥"
        page.keyboard.press("Enter")
        page.wait_for_selector(".step:nth-child(4)")
        assert page.locator(".board .card").all_text_contents()[-1] == "K♥"
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector(".deck")
        page.keyboard.press("Backspace")
        page.wait_for_selector(".deck", state="detached")
        assert page.locator(".step").count() == 2
        # Within the chart.
        page.locator(".hand", has_text="JJ").focus()
        page.keyboard.press("ArrowUp")
        assert focused(page) == "QJs"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert "JJ" in page.locator(".chosen").text_content()
        assert focused(page) == "JJ"
        page.keyboard.press("Escape")
        assert "JJ" not in page.locator(".chosen").text_content()
        page.keyboard.press("Escape")
        page.wait_for_selector(".step:nth-child(2)", state="detached")


@thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_telephone(address, chromium, scheme):
    with visited(chromium, f"{address}#at=check,+check", 390, color_scheme=scheme) as page:
        page.wait_for_selector(".runouts tbody tr")
        assert not overflows(page)
        assert page.locator(".hand").first.bounding_box()["width"] > 20
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 22, 22)"
        assert dark is (scheme == "dark")


def test_another_program_cannot_read_it_without_the_token(address):
    root = address.rsplit("/", 2)[0]
    for path in ("/", "/node", f"/{new_token()}/", f"/{new_token()}/node"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(root + path)
    with urllib.request.urlopen(address) as answer:
        assert answer.status == 200


@thorough
def test_a_server_that_has_ended_is_said(solved, chromium):
    context = chromium.new_context()
    page = context.new_page()
    with serving(solved) as address:
        page.goto(address)
        page.wait_for_selector(".hand")
    page.locator(".step:last-child .act", has_text="check").click()
    page.wait_for_selector("[role=status]:visible")
    assert "The server has ended" in page.locator("[role=status]").text_content()
    context.close()
