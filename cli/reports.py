"""The ``--html`` pages of composite results: evaluated and compared strategies, logs, styles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..seqform.interchange.page import (
    Content,
    Page,
    columns,
    emphasis,
    figure,
    heading,
    pinned,
    prose,
    sheet_blocks,
    sheet_table,
    table,
)
from ..seqform.sheet import Sheet, share, typeset
from ..solvers.reports import certificate_blocks, game_blocks, number, opening, origin, strategy_blocks, traded, verdict
from .files import command_line

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy
    from ..solvers import Solution
    from ..solvers.opponents.counter_strategies import CounterStrategy
    from ..solvers.parametric.trade_off import TradeOff
    from ..solvers.style.answer import StyleAnswer
    from ..solvers.style.calibration import Calibration

_WRONG = (
    "What could be wrong: the rules of the game may differ from those you intended, or the best-response computation "
    "(sums and maxima over the game, in floats with round-off near 1e−15) may contain an error. "
)


def _page(title: str, game: "Game", blocks: Sequence[Content]) -> Page:
    return Page(title, (*blocks, *origin(command_line(), game.citation)))


# evaluate


def evaluation(game: "Game", record: Mapping[str, Any], sheet: Sheet, found: Mapping[int, "Strategy"]) -> Page:
    """Return the page of evaluated strategies."""
    names, alone = ", ".join(record["strategies"]), len(found) < game.num_players
    low, high, loss = record["lower"], record["upper"], record["exploitability"]
    said: list[Content] = []
    if alone:
        (player,) = found
        word, bound = ("at least", low) if player == 0 else ("at most", high)
        said = [f"With it player 0 is paid {word} ", emphasis(number(bound)), f" whatever player {1 - player} does; "]
        said += ["it may lose ", emphasis(number(loss)), f" of the value of the game, {number(record['game_value'])}."]
    else:
        said = ["The exploitability is ", emphasis(number(loss)), ": what players could gain by deviating, "]
        said += ["on average over them."]
    tolerance = record["tolerance"]
    judged = "" if tolerance is None else f"requested at most {tolerance:g}"
    status = "evaluated" if tolerance is None else "passed" if record["passed"] else "failed"
    colour = {"passed": "good", "failed": "bad"}.get(status, "warn")
    blocks: list[Content] = [
        *opening(f"{game.spec} · evaluate", f"How good is {names}?"),
        verdict(said, status, judged, colour),
        heading("Why you can trust this"),
        prose(
            "The best response to each strategy was computed from the strategy and the rules alone, so it shows what "
            f"the strategy guarantees regardless of its source. {_WRONG}"
        ),
    ]
    blocks += sheet_blocks(sheet.without("game", "strategies", "left_out"))
    if any(record["left_out"] or ()):
        blocks.append(prose("Infosets missing in the files are played uniformly.", cls="warn"))
    blocks += [heading("Strategies"), *strategy_blocks(list(found.values()), "'treeplex show FILE' prints them all")]
    blocks += game_blocks(game, list(found.values()))
    return _page(f"evaluation on {game.spec}", game, blocks)


# compare


def comparison(
    game: "Game",
    record: Mapping[str, Any],
    sheet: Sheet,
    one: Mapping[int, "Strategy"],
    other: Mapping[int, "Strategy"],
) -> Page:
    """Return the page that shows two strategies or profiles side by side."""
    rows = record["players"]
    largest = max(rows, key=lambda row: row["largest_probability_difference"])
    said: list[Content] = [f"{record['a']} (A) and {record['b']} (B) agree at every infoset that both reach."]
    if largest["at"] is not None:
        at = f"{largest['at']['infoset']}:{largest['at']['action']}"
        said = ["A and B differ most at ", emphasis(at), f" of player {largest['player']}, in its probability by "]
        said += [emphasis(number(largest["largest_probability_difference"])), "."]
    blocks: list[Content] = [
        *opening(f"{game.spec} · compare", f"How do {record['a']} (A) and {record['b']} (B) differ?"),
        verdict(said, "compared", "", "warn"),
    ]
    if record["payoffs"] is not None:
        blocks += [
            heading("Payoffs"),
            prose("The average payoff of player 0 per game in each pairing, and the exploitability of A and B."),
            sheet_table(sheet.tables[-1]),
        ]
    if record["losses"]:
        lost = next(table for table in sheet.tables if table.headings[1] == "infoset")
        blocks += [heading("The cost of the differences"), *sheet_blocks(Sheet(sheet.only("cost").rows, [lost]))]
    tables = _differences(one, other, [row["player"] for row in rows])
    blocks += [heading("Differences"), columns(*tables)]
    return _page(f"comparison on {game.spec}", game, blocks)


def _differences(
    one: Mapping[int, "Strategy"], other: Mapping[int, "Strategy"], players: Sequence[int]
) -> Iterator[Content]:
    """Return a table per player: the probability of every action in both, largest differences first."""
    import numpy as np

    for player in players:
        first, second = one[player], other[player]
        treeplex = first.treeplex
        apart = np.abs(first.behaviour - second.behaviour)[1:]
        reach = np.repeat(np.minimum(treeplex.reach(first.plan), treeplex.reach(second.plan)), treeplex.num_actions)
        order = np.argsort(-apart * (reach > 0), kind="stable")

        def rows(first: Any = first, second: Any = second, order: Any = order, reach: Any = reach) -> Iterator[Any]:
            for place in order.tolist():
                infoset, action = first.treeplex.sequence_label(place + 1)
                pair = first.behaviour[place + 1], second.behaviour[place + 1]
                yield (
                    str(infoset),
                    str(action),
                    *map(share, (reach[place], *pair)),
                    typeset(f"{pair[1] - pair[0]:+.4f}"),
                )

        headings = ("infoset", "action", "reach", "A", "B", "B − A")
        caption = f"Player {player}, largest differences first; reach is the smaller of the two"
        more = "'treeplex show A --against B' prints all"
        yield table(headings, rows(), caption=caption, words=(0, 1), more=more, room=500_000, total=len(order))


# fit


def fitted(game: "Game", record: Mapping[str, Any], sheet: Sheet, response: "CounterStrategy") -> Page:
    """Return the page of a strategy against an opponent estimated from a log."""
    player = record["seat"]
    nearest = "those that fit best" if record["least_violation"] else "every opponent that fits"
    said: list[Content] = []
    if record["guaranteed"] is not None:
        said += [
            f"Player {player} earns at least ",
            emphasis(number(record["guaranteed"])),
            f" per game against {nearest}; ",
        ]
    said += ["against the best-fitting opponent it earns ", emphasis(number(record["expected"]))]
    said += [f". The value of the game is {number(record['game_value'])}, of which it may lose "]
    said += [emphasis(number(record["exploitability"])), " to others."]
    blocks: list[Content] = [
        *opening(
            f"{game.spec} · fit",
            f"Which strategy of player {player} earns most against the worst opponent that fits {record['games']:,} "
            "games?",
        ),
        verdict(said, response.solution.status, record["message"]),
        heading("Observations"),
        *sheet_blocks(
            sheet.only("log", "skipped", "left_out", "probe", "intervals", "constraints", "mean_result", "conflict")
        ),
        heading("The most valuable observations"),
        *(sheet_table(each, fold=None) for each in sheet.tables),
        *([] if sheet.tables else [prose("No observation changes the strategy: there are too few games.")]),
        *certificate_blocks(response.solution),
        prose(
            "It is likely but not proven that the opponent fits: the intervals hold the true probabilities with the "
            "confidence above, if the games are independent and the opponent does not change."
        ),
        heading("Strategies"),
        *strategy_blocks([response.strategy]),
        *game_blocks(game, [response.strategy]),
    ]
    return _page(f"response to a log of {game.spec}", game, blocks)


def fitted_quantal(game: "Game", record: Mapping[str, Any], sheet: Sheet, solution: "Solution") -> Page:
    """Return the page of a response to a quantal-response opponent fitted to a log."""
    player = record["seat"]
    said: list[Content] = [f"Player {player} earns ", emphasis(number(record["expected"]))]
    said += [" per game against the fitted opponent. "]
    said += [f"The value of the game is {number(record['game_value'])}, of which it may lose "]
    said += [emphasis(number(record["exploitability"])), " to others."]
    blocks: list[Content] = [
        *opening(
            f"{game.spec} · fit",
            f"Which strategy of player {player} earns most against a quantal-response opponent fitted to "
            f"{record['games']:,} games?",
        ),
        verdict(said, solution.status, record["message"]),
        heading("The opponent"),
        *sheet_blocks(sheet.only("log", "belief", "precision", "interval", "log_likelihood", "mean_result")),
        *certificate_blocks(solution),
        heading("Strategies"),
        *strategy_blocks([solution.strategy]),
        *game_blocks(game, [solution.strategy]),
    ]
    return _page(f"response to a log of {game.spec}", game, blocks)


# review


def reviewed(record: Mapping[str, Any], sheet: Sheet) -> Page:
    """Return the page of a review of play."""
    lost, hands = record["lost"], record["hands"]
    said: list[Content] = [f"In {hands:,} hands the decisions of {record['hero']} lost "]
    said += [emphasis(f"{lost['mean']:.2f} BB/100"), " against the best actions."]
    interval = None
    if lost["lower"] is not None:
        interval = typeset(f"from {lost['lower']:.2f} to {lost['upper']:.2f} with confidence {record['confidence']:g}")
    habits, decisions = (
        [each for each in sheet.tables if each.title.startswith(f"costliest {name}")]
        for name in ("habits", "decisions")
    )
    blocks: list[Content] = [
        *opening(f"{record['against']} · review", f"What do the decisions of {record['hero']} cost?"),
        verdict(said, "reviewed", interval or "", "warn"),
        *sheet_blocks(Sheet(sheet.rows)),
        heading("Habits"),
        prose(
            "A habit costs what its actions lose against the strategy of the other player, or what an opponent who "
            "knows the habit gains at least, whichever is more."
        ),
        *(pinned(sheet_table(each, fold=None)) for each in habits),
        *([] if habits else [prose("No habit costs anything.")]),
        heading("Decisions"),
        *(pinned(sheet_table(each, fold=None)) for each in decisions),
        *([] if decisions else [prose("No decision lost anything.")]),
    ]
    return Page(f"review of {record['hero']}", (*blocks, *origin(command_line())))


# style


def styled(
    game: "Game", record: Mapping[str, Any], sheet: Sheet, answer: "StyleAnswer | Calibration", curve: "TradeOff | None"
) -> Page:
    """Return the page of a strategy in a style, with the cost of the style."""
    player, strategy = record["player"], answer.profile[record["player"]]
    targets = [one["target"] for one in record["targets"]]
    said: list[Content] = ["No strategy meets the targets." if record["feasible"] is False else ""]
    if record["least_loss"] is not None:
        said = ["Meeting the targets costs at least ", emphasis(number(record["least_loss"]))]
        said += [f" of the value of the game, {number(record['game_value'])}. "]
    said += ["This strategy loses at most ", emphasis(number(record["exploitability"])), " of it to any opponent."]
    blocks: list[Content] = [
        *opening(
            f"{game.spec} · style",
            f"Which strategy of player {player} meets {' and '.join(targets)} and loses at most {record['max_loss']:g} "
            "to any opponent?",
        ),
        verdict(said, answer.status, record["message"]),
        *(
            sheet_table(one, caption="A price is the cost of one more unit of the target, for small changes")
            for one in sheet.tables
        ),
        heading("Why you can trust this"),
    ]
    if record["least_loss_lower"] is not None:
        bounds = f"{number(record['least_loss_lower'])} to {number(record['least_loss_upper'])}"
        blocks.append(prose(f"The least loss that meets the targets lies in the proven range {bounds}: below by prices "
        "of the targets and a strategy of the other player, above by a strategy that meets them."))  # fmt: skip
    blocks.append(prose(f"The loss of this strategy follows from the best response to it. {_WRONG}"))
    if curve is not None:
        target = answer.targets[0]
        start = min(max(target.asked, curve.knots[0]), curve.knots[-1])
        blocks += [
            heading("How the answer depends on the parameters"),
            traded(game, target.functional, curve, start, lambda: answer.figure(curve))  # type: ignore[union-attr]
            if target.functional is not None
            else figure(lambda: answer.figure(curve)),  # type: ignore[union-attr]
        ]
    blocks += [heading("Strategies"), *strategy_blocks([strategy]), *game_blocks(game, [strategy])]
    return _page(f"a style on {game.spec}", game, blocks)


# sample


def sampled(game: "Game", record: Mapping[str, Any], sheet: Sheet) -> Page:
    """Return the page of a sampling run, which proves nothing."""
    said: list[Content] = [f"{record['iterations']:,} iterations visited {sum(record['infosets']):,} infosets."]
    blocks: list[Content] = [
        *opening(f"{game.spec} · sample", f"Which strategies does {record['method']} find by sampling the game?"),
        verdict(said, record["stopped"].replace("_", " "), record["message"]),
        *sheet_blocks(sheet.without("game", "stopped")),
        heading("How far you can trust this"),
        prose(
            "Nothing is proven: the game is too large to enumerate, and the numbers are estimates. A learned "
            "response shows what a player could gain at least, on average; the best response may gain more."
        ),
    ]
    return _page(f"sampling of {game.spec}", game, blocks)


def simplified(game: "Game", sheet: Sheet) -> Page:
    """Return the page of the losses of simple strategies."""
    blocks: list[Content] = [
        *opening(f"{game.spec} · simplify", "How much does a strategy on a grid of probabilities lose?"),
        *sheet_blocks(sheet),
        heading("How far you can trust this"),
        prose(
            "Each loss is proven: it follows from the strategy's worst case and from an equilibrium strategy of the "
            "other player. Nothing proves that no strategy on the same grid loses less."
        ),
    ]
    return _page(f"simple strategies of {game.spec}", game, blocks)


def menus(game: "Game", sheet: Sheet) -> Page:
    """Return the page of a comparison of menus of bet sizes."""
    blocks: list[Content] = [
        *opening(f"{game.spec} · simplify", "How much of the EV does each menu of bet sizes keep?"),
        *sheet_blocks(sheet),
        heading("How far you can trust this"),
        prose(
            "The bounds on the EV with each menu are proven: they are what the two strategies found earn against best "
            "responses in the game with that menu. A share compares two games. Nothing is proven about sizes that are "
            "in none of the menus."
        ),
    ]
    return _page(f"menus of {game.spec}", game, blocks)
