"""``treeplex fit --quantal``: a quantal-response opponent fitted to a log, and the response to it."""

from typing import TYPE_CHECKING, Any

from ..seqform.sheet import Row, Sheet, between, count, counted, payoff, price, setting
from .errors import CommandLineError, exit_status
from .files import Record
from .outputs import Output, Outputs, page, pages
from .progress import solving, waiting
from .solution import message_of
from .tables import ending, print_sheet, seconds_text

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..seqform.strategy import Strategy

#: The belief that is the observer's play in the log.
PROBE = "probe"


def fit_quantal(
    record: Record, game: "Game", found: Any, chosen: Any, how: dict[str, Any], belief: str, given: dict[str, Any],
    out: str | None, html: str | None,
) -> int:  # fmt: skip
    """Fit a quantal-response opponent to a log, and respond to it at the worst precision of its interval.

    Parameters
    ----------
    record : Record
    game : Game
    found : the contents of the log
    chosen : Method
    how : dict
        Limits of the solve.
    belief : str
        ``probe`` or an opponent.
    given : dict
        Options that do not apply, by name; they must be ``None`` or false.
    out, html : str or None
        Files for the response with the fitted opponent, and for the report.
    """
    from ..models.observations import Observations, fit_quantal_response
    from ..models.problems import RobustResponse
    from ..seqform.evaluate import expected_payoffs
    from ..seqform.strategy import Profile
    from ..solvers import solve
    from ..solvers.opponents.strategies import opponent_strategy

    for name, value in given.items():
        if value:
            raise CommandLineError(f"--{name} cannot be combined with --quantal; leave one of them out")
    if not isinstance(found.observations, Observations):
        raise CommandLineError(f"--quantal needs a play log, but the log of {game.spec} consists of hand histories")
    seat = record["seat"]
    with waiting("the precision of the opponent", shown=record.shown):
        believed = None if belief == PROBE else opponent_strategy(belief, game, seat)
        model = fit_quantal_response(found.observations, believed, record["confidence"])
    trust = 1 if record["p"] is None else record["p"]
    with solving(f"{chosen.name} on {game.spec}", how["time_limit"], shown=record.shown) as progress:
        solution = solve(RobustResponse(game, model.strategies, p=trust), chosen, progress=progress, **how)

    def earned(other: "Strategy") -> float:
        return float(expected_payoffs(game, Profile(_seated(solution.strategy, other)))[seat])

    outputs = Outputs(record)
    names = ("precision", "standard_error", "interval", "log_likelihood", "uniform_log_likelihood")
    answer = found.to_dict() | {
        "quantal": {"belief": belief} | {name: getattr(model, name) for name in names},
        "interval": None,
        "bonferroni": None,
        "status": str(solution.status),
        "message": message_of(solution),
        "expected": earned(model.strategy),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "build_seconds": solution.build_seconds,
        "time": dict(solution.time),
    }
    for name in ("objective", "lower", "upper", "exploitability", "game_value"):
        answer[name] = getattr(solution, name)
    profile = Profile(_seated(solution.strategy, model.strategy))
    return outputs.deliver(
        exit_status(solution.status),
        lambda: print_sheet(_sheet(record)),
        lambda: answer,
        Output("profile", "--out", out, profile.save, answers=True),
        page(html, lambda: pages().fitted_quantal(game, record, _sheet(record), solution)),
    )


def _seated(*strategies: "Strategy") -> "list[Strategy]":
    return sorted(strategies, key=lambda one: one.player)


def _sheet(record: dict[str, Any]) -> Sheet:
    """Return the rows on the log, the fitted precision and the response."""
    player, fitted = record["seat"], record["quantal"]
    believes = f"that seat {player} plays {fitted['belief']}"
    if fitted["belief"] == PROBE:
        believes = f"that seat {player} plays as in the log"
    error, interval = fitted["standard_error"], fitted["interval"]
    unsure = f", standard error {price(error)}" if error is not None else ", which has no standard error: "
    if error is None:
        unsure += "the likelihood is flat there" if fitted["precision"] else "it is the least"
    trusted, doubted = "with probability {:g}".format, "; otherwise the opponent may play anything"
    ends = f", confidence about {setting(record['confidence'])}"
    gained = fitted["log_likelihood"] - fitted["uniform_log_likelihood"]
    return Sheet(
        [
            Row("game", record["game"]),
            Row("log", f"{record['log']}: {counted(record['games'], 'game')}, seen from seat {player}"),
            Row("belief", f"player {1 - player} believes {believes}"),
            Row("precision", f"{price(fitted['precision'])} per unit of payoff{unsure}"),
            Row("interval", interval, between(price), ends),
            Row("log_likelihood", fitted["log_likelihood"], price, f", {price(gained)} above uniform play"),
            Row("method", record["method"]),
            *ending(record),
            Row("p", record["p"], trusted, doubted, "trusted"),
            Row(
                "objective", record["objective"], payoff, f" to player {player}, at the worst precision of those tried"
            ),
            Row("expected", record["expected"], payoff, ", against the fitted opponent"),
            Row("mean_result", record["mean_result"], payoff, ", over the games in the log"),
            Row("game_value", record["game_value"], payoff),
            Row("exploitability", record["exploitability"], payoff, " below the value of the game at worst"),
            Row("iterations", record["iterations"], count),
            Row("seconds", seconds_text()),
        ]
    )
