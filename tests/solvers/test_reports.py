"""Reports of solutions: what they say is what the solution is, and sliders show what a solve would find."""

import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from chromium import opened, overflows
from effort import either, thorough

import treeplex
from treeplex import (
    CDBR,
    CHANCE,
    BestNash,
    BestResponse,
    ConstrainedNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Game,
    MissingExtraError,
    Nash,
    RestrictedNash,
    Strategy,
    frequency,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.problems import EpsilonNash
from treeplex.seqform.interchange import page as kit
from treeplex.solvers.solution import Solution


def text_of(solution: Solution, **how: object) -> str:
    html = solution.report(**how).to_html()  # type: ignore[arg-type]
    body = html[html.index("<body") : html.rindex("<script")]
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", re.sub("<svg.*?</svg>", "", body, flags=re.DOTALL)))


def constrained(*texts: str, **how: object) -> ConstrainedNash:
    game = load_game("kuhn")
    return ConstrainedNash(game, [one for text in texts for one in parse_constraint(text, game)], **how)  # type: ignore[arg-type]


def test_an_exact_equilibrium() -> None:
    text = text_of(solve(Nash(load_game("kuhn")), "rational"))
    assert "−1/18 = −0.0555556" in text
    assert "in fractions, without round-off" in text
    assert "Reproduce this result" in text
    assert 'solve(Nash(game), "rational"' in text


def test_prices_in_words() -> None:
    text = text_of(solve(constrained("0/K_:b <= 0.5 as king", "0/J_:b >= 0.3 as jack", "0/Q_:b <= 0.9 as queen")))
    assert "loosening “king” by one unit is worth 0.111111 to player 0" in text
    assert "Loosening “queen” by one unit changes nothing" in text
    assert "if king and jack and queen must hold?" in text


def test_constraints_that_exclude_each_other() -> None:
    text = text_of(solve(constrained("0/J_:b >= 0.7 as often", "0/J_:b <= 0.4 as seldom")))
    assert "often, seldom exclude each other." in text
    assert "by at least 0.3 in total" in text


def test_every_problem_has_a_question_and_a_report() -> None:
    game = load_game("kuhn")
    uniform = Strategy.uniform(game, 1)
    bets = frequency(game, 0, "b", first=True)
    problems = (
        Nash(load_game("kuhn:players=3")),
        BestResponse(game, uniform),
        BestNash(game, uniform),
        EpsilonSafeStyle(game, epsilon=0.01, maximise=bets),
        CDBR(game, uniform, lookahead=1),
        constrained("0/K_:b <= 0.5", penalty=0.1),
    )
    for problem in problems:
        method = "cfr" if problem.game.num_players > 2 else None
        solution = solve(problem, method, max_iterations=20) if method else solve(problem)
        text = text_of(solution, explore=False)
        assert problem.in_words().replace("<", "&lt;") in text
        assert "What could be wrong" in text
        assert problem.in_words().endswith("?")


@pytest.mark.parametrize("kind", [RestrictedNash, EpsilonNash])
def test_python_of_a_report_runs(kind: Any) -> None:
    game = load_game("kuhn")
    problem = EpsilonNash(game) if kind is EpsilonNash else RestrictedNash(game, Strategy.uniform(game, 1), p=0.5)
    html = solve(problem).report(explore=False).to_html()
    again = re.search("<pre>(from treeplex.*?)</pre>", html, re.DOTALL)
    assert again is not None
    lines = again[1].replace("solution.report()", "report = solution.report()").partition(".save(")[0]
    named: dict[str, object] = {}
    exec(lines, named)
    objective = named["solution"].objective  # type: ignore[attr-defined]
    assert objective == (None if kind is EpsilonNash else pytest.approx(5 / 36))


def test_a_large_report_stays_small() -> None:
    game = load_game(either("liars_dice:sides=5", "liars_dice:sides=6"))
    solution = solve(Nash(game), "cfr+", max_iterations=2)
    html = solution.report(again=f"treeplex solve {game.spec}").to_html()
    assert len(html.encode()) < 2_000_000
    assert "rows; --out FILE writes them all, and treeplex show FILE prints them." in html
    assert "<details>" in html


def hostile_game() -> Game:
    """A game whose labels would be markup."""
    evil = "</script><img src=x onerror=alert(1)>"
    tree = nx.DiGraph()
    tree.add_node(0, player=CHANCE)
    for number, action in enumerate((evil, "b")):
        tree.add_node((number,), player=0, infoset=f"{evil}{number}")
        tree.add_edge(0, (number,), action=action, prob=0.5)
        for payoff, move in enumerate((evil, '"&')):
            tree.add_node((number, payoff), payoffs=(payoff - number, number - payoff))
            tree.add_edge((number,), (number, payoff), action=move)
    return Game.from_tree(tree, name=evil)


def test_labels_are_text() -> None:
    html = solve(Nash(hostile_game())).report().to_html()
    assert "<img" not in html
    assert html.count("<script") == html.count("</script>") == 1
    assert "&lt;/script&gt;&lt;img" in html


@thorough
def test_labels_are_text_in_a_browser(tmp_path: Path, chromium: Any) -> None:
    path = tmp_path / "report.html"
    solve(Nash(hostile_game())).report().save(path)
    with opened(chromium, path) as page:
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1
        assert "</script><img" in page.locator("body").inner_text()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*given: object, **how: object) -> None:
        raise MissingExtraError("a picture needs matplotlib: pip install 'treeplex[plot]'")

    monkeypatch.setattr(kit, "picture", missing)
    assert "Not drawn: a picture needs matplotlib: pip install 'treeplex[plot]'." in text_of(
        solve(Nash(load_game("kuhn")))
    )


@thorough
def test_sliders_show_what_a_solve_finds(tmp_path: Path, chromium: Any) -> None:
    game = load_game("kuhn")
    uniform = Strategy.uniform(game, 1)
    path = tmp_path / "rnr.html"
    solve(RestrictedNash(game, uniform, p=0.5)).report().save(path)
    with opened(chromium, path) as page:
        assert page.locator(".slider").inner_text().endswith("elsewhere on this page are for p = 0.5.")
        for p in (0.1, 0.5, 0.9):
            page.locator(".slider input[type=number]").fill(str(p))
            shown = [float(text) for text in page.locator(".slider dd").all_text_contents()]
            found = solve(RestrictedNash(game, uniform, p=p))
            assert shown == pytest.approx([found.gain, found.exploitability], abs=1e-6)
    path = tmp_path / "safe.html"
    solve(EpsilonSafeResponse(game, uniform, epsilon=0.1)).report().save(path)
    with opened(chromium, path) as page:
        for epsilon in (0.0, 0.02, 0.1, 0.2):
            page.locator(".slider input[type=number]").fill(str(epsilon))
            (objective,) = page.locator(".slider dd").all_text_contents()
            found = solve(EpsilonSafeResponse(game, uniform, epsilon=epsilon))
            assert float(objective) == pytest.approx(found.objective, abs=1e-6)
            # The strategy beside it earns that, and is as safe.
            cells = page.locator(".slider td.share").all_text_contents()
            behaviour = np.array([1.0, *(0.5 if text == "–" else float(text) for text in cells)])
            other = Strategy(game, 0, normalised(behaviour, game.sequence_form.treeplexes[0]))
            earned = treeplex.expected_payoffs(game, treeplex.Profile([other, uniform]))[0]
            assert earned == pytest.approx(found.objective, abs=2e-3)
            assert treeplex.worst_case(game, other) >= -1 / 18 - epsilon - 2e-3
    path = tmp_path / "style.html"
    bets = frequency(game, 0, "b", first=True)
    solve(EpsilonSafeStyle(game, epsilon=0.01, maximise=bets)).report().save(path)
    with opened(chromium, path) as page:
        page.locator(".slider input[type=number]").fill("0.1")
        (objective,) = page.locator(".slider dd").all_text_contents()
        found = solve(EpsilonSafeStyle(game, epsilon=0.1, maximise=bets))
        assert float(objective) == pytest.approx(found.objective, abs=1e-6)


def normalised(behaviour: np.ndarray, own: treeplex.Treeplex) -> np.ndarray:
    """Return rounded probabilities that sum to one."""
    for first, last in zip(own.offsets[:-1], own.offsets[1:], strict=True):
        behaviour[first:last] /= behaviour[first:last].sum()
    return behaviour


@thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_reports_fit_a_telephone(tmp_path: Path, chromium: Any, scheme: str) -> None:
    path = tmp_path / "report.html"
    solve(constrained("0/K_:b <= 0.5 as king", "0/J_:b >= 0.3 as jack")).report().save(path)
    with opened(chromium, path, 390, color_scheme=scheme) as page:
        assert not overflows(page)
        assert page.locator("svg").count() == 3


def test_convergence_is_drawn() -> None:
    solution = solve(Nash(load_game("kuhn")), "cfr+", max_iterations=200, tol=1e-3)
    html = solution.report().to_html()
    assert "Convergence" in html
    assert ">iterations</text>" in html
