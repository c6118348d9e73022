"""``treeplex portfolio``: learns online which of several bots wins the most at no-limit hold'em."""

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.errors import nearest
from ..seqform.limits import now
from ..seqform.parameter_texts import as_typed
from ..seqform.sheet import Column, Row, Sheet, Table, count, seconds, setting, share
from ..seqform.standard_error import StandardError
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_interrupted
from .files import Record, check_files
from .match import DrawsOption, Seating, described
from .options import Checkpointing, JsonOption, reader
from .outputs import Outputs
from .progress import filling
from .tables import print_sheet

if TYPE_CHECKING:
    from ..solvers.matches.portfolios import PortfolioMatch

_CONFIDENCE = 0.95
_KEYS = (
    *("bots", "opponent", "table", "learner", "explore", "cut", "hands", "seed", "mbb_per_hand"),
    *("confidence_interval", "confidence", "results", "best", "regret", "regret_mbb_per_hand", "learner_regret"),
    *("learner_bound", "forfeits", "interrupted", "seconds"),
)
_LEARNERS = ("ucb1", "exp3", "explore-then-commit")
_hands = reader(int, "a whole number of at least 1, such as 1000", minimum=1, maximum=2**31, large=True)
_blinds = reader(float, "a number of big blinds above 0, such as 20", above=0, maximum=10**9)


def _learner(text: str) -> str:
    """Parse the name of a learner."""
    if text not in _LEARNERS:
        hint = nearest(text, _LEARNERS)
        raise typer.BadParameter(f"{as_typed(text)}{hint}, expected {', '.join(_LEARNERS[:-1])} or {_LEARNERS[-1]}")
    return text


def portfolio(
    bots: Annotated[
        list[str], typer.Argument(metavar="A B [C…]", help="The bots to choose from, as in 'treeplex match'.")
    ],
    opponent: Annotated[str, typer.Option(metavar="BOT", help="The bot that they play against.")],
    hands: Annotated[
        int, typer.Option(metavar="N", parser=_hands, help="Number of hands; seats change after each hand.")
    ],
    learner: Annotated[
        str, typer.Option(metavar="L", parser=_learner, help="The learner: ucb1, exp3 or explore-then-commit.")
    ] = "ucb1",
    explore: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=_hands, help="How many hands explore-then-commit tries each bot; by default 100."
        ),
    ] = None,
    cut: Annotated[
        float,
        typer.Option(
            metavar="N", parser=_blinds, help="The learner counts winnings or losses beyond N big blinds as N."
        ),
    ] = 20.0,
    seed: DrawsOption = None,
    *,
    seating: Seating,
    checkpointing: Checkpointing,
    json: JsonOption = None,
) -> int:
    """Learn which of several bots wins the most at no-limit hold'em.

    The learner chooses a bot for each hand from the results of earlier hands. To measure the regret, all bots also play
    every hand with the same cards. The regret is the difference from the winnings of the best bot. After Ctrl-C, the
    hands that all bots have played count.
    """
    if len(bots) < 2:
        raise CommandLineError("one bot is given, expected two or more to choose from")
    if explore is not None and learner != "explore-then-commit":
        raise CommandLineError(
            f"--explore is for --learner explore-then-commit only, but --learner is {learner}; leave --explore out"
        )
    table = seating.table()
    check_files({}, json=json, **checkpointing.files)
    kept = checkpointing.read()
    with deferring_interrupts():
        from ..models.opponents.portfolio import make_learner
        from ..solvers.matches.portfolios import play_portfolio

    begun = now()
    seed, explore = seed or 0, (explore or 100) if learner == "explore-then-commit" else None
    record = Record(
        json, _KEYS, bots=bots, opponent=opponent, table=described(table), learner=learner, explore=explore, cut=cut,
        hands=0, seed=seed, confidence=_CONFIDENCE, interrupted=True,
    )  # fmt: skip
    with record.interruptible(interrupted=True), contextlib.ExitStack() as stack:
        update = stack.enter_context(filling(f"playing {opponent}", "hands", shown=record.shown))
        stack.enter_context(contextlib.redirect_stdout(StandardError()))
        of_all = hands * len(bots)

        def tell(done: int) -> None:
            if update is not None:
                update(done, done / of_all)

        found = play_portfolio(
            bots, opponent, make_learner(learner, len(bots), hands, explore or 100), table, hands, seed, cut=cut,
            jobs=seating.jobs, each=tell, checkpoint=kept,
        )  # fmt: skip
    if found.interrupted:
        print_interrupted()
    return Outputs(record).deliver(
        ExitStatus.INTERRUPTED if found.interrupted else ExitStatus.SUCCESS,
        lambda: print_sheet(portfolio_sheet(record)),
        lambda: _found(found, bots) | {"seconds": now() - begun},
    )


def _found(found: "PortfolioMatch", bots: list[str]) -> dict[str, Any]:
    """Return the results of a portfolio's match as JSON."""
    hands = len(found.choices)
    if not hands:
        return {"forfeits": found.forfeits, "interrupted": found.interrupted}
    ends = found.interval(_CONFIDENCE)
    means = (1000.0 * found.expected.mean(axis=0)).tolist()
    return {
        "hands": hands,
        "mbb_per_hand": 1000.0 * float(found.gained.mean()),
        "confidence_interval": None if ends is None else [1000.0 * end for end in ends],
        "results": [
            {"bot": bot, "played": int((found.choices == arm).sum()), "mbb_per_hand": means[arm]}
            for arm, bot in enumerate(bots)
        ],
        "best": bots[found.best],
        "regret": found.regret,
        "regret_mbb_per_hand": 1000.0 * found.regret / hands,
        "learner_regret": found.learner_regret,
        "learner_bound": found.bound,
        "forfeits": found.forfeits,
        "interrupted": found.interrupted,
    }


def portfolio_sheet(record: dict[str, Any]) -> Sheet:
    """Return the results of a portfolio's match as rows."""
    ends, hands, signed = record["confidence_interval"], record["hands"], "{:+.1f}".format
    interval = "" if ends is None else f" in [{ends[0]:+.1f}, {ends[1]:+.1f}]"
    lost = record["regret_mbb_per_hand"]
    told = record["learner_regret"]
    bound = "" if record["learner_bound"] is None else f"; at most {record['learner_bound']:,.0f} on average"
    columns = [Column("bot"), Column("share", share, "hands"), Column("mbb_per_hand", signed, "mBB/hand, alone")]
    lines = [(one["bot"], one["played"] / hands, one["mbb_per_hand"]) for one in record["results"] or ()]
    exploring = "" if record["explore"] is None else f", {count(record['explore'])} hands each"
    return Sheet(
        [
            Row("opponent", record["opponent"]),
            Row("learner", f"{record['learner']}{exploring}"),
            Row("hands", hands, count),
            Row("won", None if not hands else f"{record['mbb_per_hand']:+.1f} mBB/hand{interval}"),
            Row(
                "regret",
                None if lost is None else f"{lost:.1f} mBB/hand, compared with always choosing {record['best']}",
            ),
            Row(
                "learner_regret",
                None if told is None else f"{told:,.0f} big blinds, with winnings cut at {record['cut']:g}{bound}",
            ),
            Row("forfeits", record["forfeits"] or None, count),
            Row("confidence", record["confidence"] if ends else None, setting, " for the interval"),
            Row("seconds", record["seconds"], seconds),
        ],
        [Table(columns, lines)],
    )
