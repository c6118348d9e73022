"""The tuning in the report on a no-limit hold'em bot: its improvement in Leduc poker, and why it is small."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.opponents import Threshold, ThresholdRound
from ...models.problems import Nash
from ...seqform.evaluate import best_response_values, exploitability
from ...seqform.interchange.pictures import Figure, Look, legend, panels
from ...seqform.strategy import Profile
from ...solvers import solve
from ...solvers.opponents.tuning import Annealing, ExactJudge, MatchJudge, Seats, Tuned, tune
from ..table import Column, Row, fields, verdict
from .ccfr_figure_3 import leduc
from .claims import Claim
from .experiment import Experiment, Limits, Tell, sweep
from .nlhe_bot_exploited import BOT_REPORT

_SECOND = Threshold().rounds[1]
#: Hand-made bots: the library's own, and a bot that enters only with a king and never raises before the public card.
STARTS: Mapping[str, Threshold] = {
    "by hand": Threshold(Threshold().rounds[:2]),
    "cautious": Threshold((ThresholdRound(0.3, 0.9, 0.95, (2, 0, 0, 0), (2, 0, 0, 0)), _SECOND)),
}
OPPONENTS = ("uniform", "equilibrium", "itself")
JUDGES = ("exact", "matches")
#: An improvement is limited if it is at most this fraction of a best response's improvement.
LIMITED = 0.5
#: Smaller changes of an exact payoff count as zero, in antes.
_NOTHING = 1e-9


@dataclass(frozen=True)
class TuningRow(Row):
    """One hand-made bot tuned in one way: means over the runs, with payoffs in antes per hand averaged over both seats.

    Attributes
    ----------
    start : str
    against : str
        The opponent: ``uniform``, ``equilibrium``, or ``itself``, the bot before the round.
    judge : str
        The judge of a comparison: ``exact`` or ``matches``.
    before, after : float
        The bot's exact payoff before and after tuning; against ``itself``, the payoff against the hand-made bot.
    first : float
        The payoff after one round.
    best : float
        A best response's payoff.
    believed : float
        The total improvement in the accepted rounds according to the judge.
    exploitability_before, exploitability_after : float
    tried : int
        Number of values tried in a run.
    idle : float
        The fraction of these values that change nothing.
    signal : float
        The root mean square of the payoff changes of the other values.
    noise : float
        The standard error of a change as measured by the judge.
    mistaken : float or None
        The fraction of the judge's improvements that are not real; ``None`` if there were none.
    """

    start: Annotated[str, Column("start")]
    against: Annotated[str, Column("against", width=11)]
    judge: Annotated[str, Column("judge")]
    before: Annotated[float, Column("earns", ".4f")]
    first: Annotated[float, Column("1 round", ".4f")]
    after: Annotated[float, Column("tuned", ".4f")]
    best: Annotated[float, Column("best", ".4f")]
    believed: Annotated[float, Column("believed", ".4f")]
    exploitability_before: Annotated[
        float, Column("exploitable", "{exploitability_before:.3f} to {exploitability_after:.3f}", width=14)
    ]
    exploitability_after: float
    tried: int
    idle: Annotated[float, Column("idle", ".1%")]
    signal: Annotated[float, Column("signal", ".3f")]
    noise: Annotated[float, Column("noise", ".3f")]
    mistaken: Annotated[float | None, Column("mistaken", ".1%", missing="-")]


@dataclass(frozen=True)
class NLHEBotTuning(Experiment[TuningRow]):
    """Threshold automata of Leduc poker tuned one number at a time, by exact payoffs and by matches of 1,000 hands.

    Parameters
    ----------
    starts : tuple of str
        ``by hand`` and ``cautious``.
    opponents : tuple of str
        ``uniform``, ``equilibrium`` and ``itself``.
    judges : tuple of str
        ``exact`` and ``matches``.
    runs : int
        Number of runs, with the seeds 0, 1, …
    rounds, steps : int
        Rounds over all numbers, and values tried for each number.
    matches, deals : int
        Matches per comparison, not counting the best and the worst one; a deal is two hands.
    jobs : int or None
        Number of processes.

    Notes
    -----
    Every comparison by matches is evaluated exactly afterwards. The signal of a step is the exact change, and its noise
    is the standard error of the judge's measurement.
    """

    starts: Annotated[tuple[str, ...], Limits(choices=STARTS)] = tuple(STARTS)
    opponents: Annotated[tuple[str, ...], Limits(choices=OPPONENTS)] = OPPONENTS
    judges: Annotated[tuple[str, ...], Limits(choices=JUDGES)] = JUDGES
    runs: Annotated[int, Limits("[1, inf)")] = 1
    rounds: Annotated[int, Limits("[1, inf)")] = 3
    steps: Annotated[int, Limits("[1, inf)")] = 6
    matches: Annotated[int, Limits("[3, inf)")] = 5
    deals: Annotated[int, Limits("[2, inf)")] = 500
    jobs: int | None = None

    name = "nlhe-bot-tuning"
    title = "tuning of the report's bot in Leduc poker, by exact payoffs and by matches"
    figure = "section 2"
    paper = BOT_REPORT
    criterion = (
        "by exact payoffs the tuned bot earns more than the hand-made one (against itself, after one round), unless "
        "that earns the maximum; more than half of the improvements that matches show are not real"
    )
    axes = ("starts", "opponents", "judges")

    full_settings: ClassVar = {"runs": 5, "jobs": -1}

    def rows(self, tell: Tell) -> Iterator[TuningRow]:
        """Yield the rows in the order of the starts."""
        for start, against, judge in self.cases:
            tell(f"{start}, against {against}, {judge}")
            settings = [
                (start, against, judge, seed, self.rounds, self.steps, self.matches, self.deals)
                for seed in range(self.runs)
            ]
            yield _over_runs(list(sweep(tuned_run, settings, self.jobs)))

    def claims(self, rows: Sequence[TuningRow]) -> list[Claim]:
        """Return the report's statements and the measurements."""
        claims = []
        for row in rows:
            if row.judge == "matches":
                case = f"{row.start}, against {row.against}"
                improved = f"{row.after - row.before:.4f} ({row.believed:.4f} as the judge measured)"
                claims += [
                    Claim(f"{case}: improvement in antes per hand", "limited improvement", improved).judged(
                        row.after - row.before <= LIMITED * (row.best - row.before) + _NOTHING,
                        f"more than {LIMITED:.0%} of the possible gain: the game is smaller than the report's",
                    ),
                    Claim(
                        f"{case}: noise of a step, in antes; steps that change nothing; false rises",
                        "the randomness of the comparison is very large",
                        f"{row.noise:.3f}; {row.idle:.1%}; " + ("-" if row.mistaken is None else f"{row.mistaken:.1%}"),
                    ).judged(row.mistaken is None or row.mistaken > 0.5, "more than half of the rises are real"),
                ]
            elif row.against == "itself":
                claims.append(
                    Claim(
                        f"{row.start}: payoff against the hand-made bot, after the first and last round of responses",
                        'it "may not good enough in the global view"',
                        f"{row.first:.4f}, {row.after:.4f}",
                    ).judged(row.after <= row.first, "more rounds also improve it against the first bot")
                )
        return claims

    def draw(self, rows: Sequence[TuningRow]) -> "Figure":
        """Draw exploitability, and payoffs before tuning, after tuning and as measured by the judge."""
        figure, axes = panels(1, 2, (10.0, 4.2), sharey=True)
        names = [f"{row.start}, {row.against}, {row.judge}" for row in rows]
        places = np.arange(len(rows))[::-1]
        before, after, first, believed = fields(rows, "before", "after", "first", "believed")
        for look, values, label in (
            (Look("grey", "|", ""), before, "made by hand"),
            (Look("sky", "v", ""), first, "after one round"),
            (Look("blue", "o", ""), after, "tuned"),
            (Look("red", "x", ""), np.add(before, believed), "as the judge believed"),
        ):
            look.plot(axes[0], values, places, markersize=7, label=label)
        for look, values in zip(
            (Look("grey", "|", ""), Look("blue", "o", "")),
            fields(rows, "exploitability_before", "exploitability_after"),
            strict=True,
        ):
            look.plot(axes[1], values, places, markersize=7)
        axes[0].set_yticks(places, names)
        axes[0].set(xlabel="earns, antes a hand", ylabel="bot made by hand, opponent and judge")
        axes[1].set(xlabel="exploitability, antes a hand")
        axes[1].set_xlim(left=0.0)
        legend(axes[0], fontsize="small")
        return figure


@cache
def _seats(against: str) -> Seats:
    if against == "itself":
        return Seats(leduc())
    if against == "uniform":
        return Seats(leduc(), Profile.uniform(leduc()))
    return Seats(leduc(), solve(Nash(leduc()), "highs-simplex").profile)


def tuned_run(
    start: str, against: str, judge: str, seed: int, rounds: int, steps: int, matches: int, deals: int
) -> TuningRow:
    """Tune a bot once, and evaluate all tried values exactly."""
    seats, begun = _seats(against), STARTS[start]
    exact = ExactJudge(seats)
    judged = exact if judge == "exact" else MatchJudge(seats, matches, deals)
    found = tune(judged, begun, Annealing(rounds=rounds, steps=steps), seed=seed)
    standing = [begun]  # the bot before each round
    for one in found.rounds:
        standing.append(one.found if one.kept else standing[-1])

    def earns(automaton: Threshold, opponent: Threshold = begun) -> float:
        return exact.score(automaton, opponent, ()).mean

    changes = np.array(
        [earns(one.tried, standing[one.round]) - earns(one.held, standing[one.round]) for one in found.steps]
    )
    rises = np.array([one.rise.mean for one in found.steps]) > _NOTHING
    busy = np.abs(changes) > _NOTHING
    return TuningRow(
        start=start,
        against=against,
        judge=judge,
        before=earns(begun),
        first=earns(standing[1]),
        after=earns(found.automaton),
        best=float(np.mean(best_response_values(seats.game, seats.opponent(begun)))),
        believed=_believed(found),
        exploitability_before=exploitability(seats.game, seats.profile(begun)),
        exploitability_after=exploitability(seats.game, seats.profile(found.automaton)),
        tried=len(changes),
        idle=float(1.0 - busy.mean()),
        signal=float(np.sqrt(np.mean(changes[busy] ** 2))) if busy.any() else 0.0,
        noise=float(np.mean([one.rise.error for one in found.steps])),
        mistaken=float(np.mean(changes[rises] <= _NOTHING)) if rises.any() else None,
    )


def _believed(found: Tuned) -> float:
    return float(sum(one.gain.mean for one in found.rounds if one.kept))


def _over_runs(runs: Sequence[TuningRow]) -> TuningRow:
    """Return the means over the runs, with their failures."""
    one = runs[0]
    names = [name for name, value in vars(one).items() if isinstance(value, float) and name not in ("best", "mistaken")]
    means: dict[str, Any] = {name: float(np.mean([getattr(run, name) for run in runs])) for name in names}
    shares = [run.mistaken for run in runs if run.mistaken is not None]
    mistaken = float(np.mean(shares)) if shares else None
    improved = means["first" if one.against == "itself" else "after"] - means["before"]
    exact = one.judge == "exact"
    return replace(one, **means, mistaken=mistaken).failing(
        verdict(
            (
                exact and not improved > _NOTHING and one.best - means["before"] > _NOTHING,
                f"it earns {improved:.4f} more, expected an improvement",
            ),
            (
                not exact and mistaken is not None and not mistaken > 0.5,
                f"{mistaken or 0.0:.1%} of the improvements are not real, expected more than half",
            ),
        )
    )
