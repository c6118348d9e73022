"""Solutions as pages: the question, the answer, its proof, prices, strategies and alternatives."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from numbers import Real
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ..models.constraints import LinearConstraint, functional_bound
from ..models.correlation import CorrelationPlan, StrategyMixture
from ..models.games import families
from ..models.games.holdem import HoldemSpot, SolvedSpot
from ..models.games.holdem.browser import browser_blocks, earned, framed, title_of
from ..models.games.holdem.spot import HoldemGame
from ..models.games.patrol import Attack, CaughtOnce, PatrolGame, attacks, caught_attacks, detection_table
from ..models.games.patrol.joint_routes import joint_routes, mixed_routes
from ..models.games.patrol.map_page import framed as patrol_framed
from ..models.games.patrol.map_page import map_blocks
from ..models.games.patrol.map_view import map_view
from ..models.games.patrol.robust_game import RobustGame
from ..models.games.patrol.route_mixtures import Mixture
from ..models.games.patrol.words import Route, likely_routes, question_of
from ..models.games.transit_occupancy import transit_rules
from ..models.games.transit_pictures import draw_occupancy
from ..models.problems import (
    BestNash,
    ConstrainedNash,
    Correlated,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Nash,
    RestrictedNash,
)
from ..models.saddle import SAFETY
from ..seqform.arrays import Floats
from ..seqform.errors import TreeplexError
from ..seqform.functional import Functional
from ..seqform.game import Game
from ..seqform.interchange.drawing import MAX_NODES, draw, tree_to_draw
from ..seqform.interchange.page import (
    Content,
    Page,
    bullets,
    callout,
    code,
    code_block,
    columns,
    element,
    emphasis,
    facts,
    figure,
    folded,
    footer,
    heading,
    prose,
    reading,
    share,
    sheet_blocks,
    sheet_table,
    slider,
    table,
)
from ..seqform.interchange.pictures import Figure
from ..seqform.interchange.strategy_display import strategy_rows
from ..seqform.sheet import Row, Sheet, at_least, at_most, count, counted, error, payoff, short, typeset
from ..seqform.strategy import Strategy
from .answers import found_rows, sizes_of, solution_sheet
from .exact.double_oracle import RouteMixtures
from .methods import find_method
from .outcome import Status
from .parametric.frontier import Frontier, restricted_nash_frontier
from .parametric.sensitivity import parametric_value
from .parametric.trade_off import TradeOff
from .patrol_words import blocks_in_sides
from .solution import Solution
from .solve import solve_part

#: The number of sequences up to which games are by default also solved for other values of p, ε or a bound.
SMALL = 400
#: The largest number of stops of a slider, and of values of a bound with a strategy.
_NUMBERS, _KNOTS = 60_000, 60
#: The largest number of pairs of recommended plans in a table.
_PAIRS = 20
#: Prices below this fraction of the stakes are round-off.
_NOTHING = 1e-9
#: The most joint routes on a page.
_JOINT = 12


def solution_page(
    solution: Solution,
    again: str = "",
    explore: bool | None = None,
    moved: tuple[str, float, float] | None = None,
    more: Sequence[Content] = (),
) -> Page:
    """Return the page of a solution; see :meth:`Solution.report <treeplex.Solution.report>`.

    A slider moves the bound named in `moved` between the two given numbers, instead of the binding bounds. For a
    patrol, further blocks, with their headings, follow the prices.
    """
    problem, game = solution.problem, solution.problem.game
    if isinstance(game, PatrolGame):
        return _patrol_page(solution, game, again, more)
    if isinstance(game, HoldemGame) and solution.infeasibility is None:
        return _spot_page(solution, SolvedSpot(game.spot, solution.profile), again, explore, moved)
    blocks: list[Content] = [
        *opening(f"{game.spec} · {problem.name} · {solution.method.name}", problem.in_words()),
        verdict(_said(solution), solution.status, solution.message),
        *certificate_blocks(solution),
        *_recommended(solution),
        heading(_heading(solution)),
        *strategy_blocks(_asked(solution), model=problem.model),
        *game_blocks(game, [*_asked(solution), *([] if problem.model is None else [problem.model])]),
        *_prices(solution),
        *_changes(solution, explore, moved),
        *_ending(solution, again),
    ]
    return Page(f"{problem.name} on {game.spec}", tuple(blocks))


def _heading(solution: Solution) -> str:
    """Return the heading of the strategies."""
    if solution.infeasibility is not None:
        return "The closest strategies"
    correlated = isinstance(solution.problem, Correlated)
    return "How often each action is recommended" if correlated else "Strategies"


def _recommended(solution: Solution) -> Iterator[Content]:
    """Yield the likeliest pairs of plans that a mediator recommends."""
    if isinstance(solution.state, StrategyMixture):
        yield heading("Recommendations")
        yield prose(
            f"The mediator draws one of {counted(solution.state.num_profiles, 'profile')} in secret, and then each "
            "player's plan from its strategy in it. The strategies below are averages over the profiles and do not "
            "show how recommendations are correlated."
        )
    if not isinstance(solution.state, CorrelationPlan) or not solution.state.is_short:
        return
    mixture = solution.state.mixture()
    yield heading("Recommendations")
    rows: list[tuple[Element | str, ...]] = [
        (share(chance, 3), *(", ".join(f"{at}: {do}" for at, do in one.items()) or "–" for one in both))
        for chance, both in sorted(mixture, key=lambda one: -one[0])[:_PAIRS]
    ]
    caption = f"The likeliest of {len(mixture):,} pairs of plans, one of which the mediator draws in secret"
    yield table(("probability", "player 0", "player 1"), rows, caption=caption, words=(1, 2))
    yield prose(
        "Each player learns its recommended action when it reaches an infoset, and nothing more after it has played "
        "differently. The strategies below do not show how recommendations are correlated."
    )


def _ending(solution: Solution, again: str) -> Iterator[Content]:
    """Yield the convergence, the way to reproduce the solution, and citations."""
    if len(solution.history) > 1:
        caption = "The proven error at each check."
        yield from (heading("Convergence"), figure(lambda: solution.figure("convergence"), caption))
    yield from _how(solution)
    yield from origin(again or _python(solution), solution.problem.game.citation)


def _spot_page(
    solution: Solution,
    solved: SolvedSpot,
    again: str,
    explore: bool | None,
    moved: tuple[str, float, float] | None,
) -> Page:
    """Return the page of a solved hold'em spot: both players' payoffs, and a browser of betting and cards."""
    problem = solution.problem
    lost = f" The best reply gains on average {typeset(solved.spot.of_pot(solution.exploitability))}."
    said = _said(solution)
    if solution.player is None:
        said = [*earned(solved), *([] if problem.constraints else [lost])]
    blocks: list[Content] = [
        *opening(f"{problem.game.spec} · {problem.name} · {solution.method.name}", title_of(solved)),
        prose(problem.in_words()),
        verdict(said, solution.status, solution.message),
        *browser_blocks(solved),
        *certificate_blocks(solution, _in_chips(solution, solved.spot)),
        *_prices(solution),
        *_changes(solution, explore, moved),
        *_ending(solution, again),
    ]
    return framed(Page(f"{problem.name} on {problem.game.spec}", tuple(blocks)))


def _in_chips(solution: Solution, spot: HoldemSpot) -> Content:
    """Return what the players and payoffs of a spot's proof are, and the proven EV in chips."""
    text = (
        f"Here player 0 is out of position, player 1 in position, and payoffs are EVs minus half of the pot, "
        f"{number(spot.pot / 2)}, so they sum to 0{', minus the rake' if spot.rake else ''}."
    )
    low, high = solution.lower, solution.upper
    if solution.player is not None or low is None or high is None:
        return prose(text)
    proven = f"from {at_least(low + spot.pot / 2)} to {at_most(high + spot.pot / 2)}"
    return prose(f"{text} The proven EV of the player out of position is {proven} chips.")


def _patrol_page(solution: Solution, game: PatrolGame, again: str, more: Sequence[Content]) -> Page:
    """Return the page of a solved patrol: the attackers' gain, a map with a time slider, prices and routes."""
    problem, prices = solution.problem, solution.multipliers
    on_map = [one for one in problem.constraints if one.player == 1 or not isinstance(game, RobustGame)]
    dear = [
        one
        for one in on_map
        if isinstance(one, LinearConstraint) and prices.get(one.name, 0.0) > _NOTHING * problem.unit
    ]
    said = _said(solution)
    if solution.infeasibility is None and solution.player is None and None not in (solution.lower, solution.upper):
        sure = f" a day, whatever the attackers do; attackers can guarantee {number(solution.lower)}"
        known = f"{sure}. Routes are drawn anew each day, so the plan may be public."
        said = sentence("On average an attacker gains at most ", number(solution.upper), known)
    found, at = list[Attack](), ""
    mixtures = (solution.state.attackers, solution.state.units) if isinstance(solution.state, RouteMixtures) else ()
    if isinstance(problem, CaughtOnce):
        found = caught_attacks(problem, mixtures[1]) if mixtures else []
    elif not isinstance(game, RobustGame):
        found = attacks(game, solution.profile)
    elif solution.infeasibility is None:
        found, at = attacks(game.declared, game.plan_of(solution.profile[1])), ", at the declared values"
    if isinstance(game, RobustGame) and solution.infeasibility is None and solution.upper is not None:
        before, after = game.promise
        said = sentence(before, number(solution.upper), after)
    blocks: list[Content] = [
        *opening(" · ".join(dict.fromkeys([game.spec, "patrol", solution.method.name])), question_of(game)),
        verdict(said, solution.status, solution.message),
        heading("Positions over time"),
        *map_blocks(map_view(game, solution.profile, dear)),
        *_prices(solution),
        *more,
        heading(f"The best attack on each goal{at}"),
        _attacks(game, found),
        *_detections(game, solution),
        heading("Likely routes"),
        *(
            _routes(game, player, mixed_routes(game.patrol, player, mixtures[player], most=4))
            if mixtures
            else _routes(game, player, likely_routes(game, strategy, most=4))
            for player, strategy in enumerate(solution.profile)
        ),
        *_joint_routes(game, mixtures),
        *certificate_blocks(solution),
        prose(
            "The attacker stands for all types of attackers, and the patrol for all units. Payoffs are the value of "
            "goals minus the cost of meetings for the attackers, averaged over their types.",
            cls="dim",
        ),
        *([bullets(game.notes)] if game.notes else []),
        *_ending(solution, again),
    ]
    return patrol_framed(Page(question_of(game), tuple(blocks_in_sides(blocks))))


def _attacks(game: PatrolGame, found: Sequence[Attack]) -> Element:
    rows = [
        (each.who, each.goal, payoff(each.earns), payoff(each.detections), element("td", each.way, cls="word"))
        for each in found
    ]
    times = "in steps" if game.patrol.clock is None else "of day"
    seen = "detections" if game.patrol.detections == "every" else "caught"
    columns = ("who", "goal", "earns", seen, f"route, with arrival times {times}")
    return table(columns, rows, caption="Attackers who pursue only this goal and know the plan", words=(0, 1, 4))


def _detections(game: PatrolGame, solution: Solution) -> Iterator[Content]:
    """Yield the table of detections on the best routes, for a plan of flows."""
    patrol = game.patrol
    flows = not patrol.failure and patrol.units and isinstance(solution.problem, Nash | ConstrainedNash)
    if flows and solution.infeasibility is None and not isinstance(game, RobustGame):
        yield folded(
            "Where and when attackers are detected",
            sheet_table(detection_table(game, solution.profile).table, fold=None),
        )


def _joint_routes(game: PatrolGame, mixtures: Sequence[Mixture]) -> Iterator[Element]:
    """Yield the table of the most likely joint routes, if several units drive them together."""
    if not mixtures or len(game.patrol.units) < 2:
        return
    rows = [
        (
            share(one.probability, 3),
            element("td", "; ".join(f"{route.who}: {route}" for route in one.routes), cls="word"),
        )
        for one in joint_routes(game.patrol, mixtures[1])[:_JOINT]
    ]
    caption = "The units drive their routes together: one line is drawn each day"
    yield table(("probability", "joint route"), rows, caption=caption, words=(1,))


def _routes(game: PatrolGame, player: int, found: Sequence[Route]) -> Element:
    rows = [(route.who, share(route.probability, 3), element("td", str(route), cls="word")) for route in found]
    caption = ("Attackers, if they enter", "Units; other routes follow from the plan")[player]
    times = "in steps" if game.patrol.clock is None else "of day"
    return table(("who", "probability", f"route, with arrival times {times}"), rows, caption=caption, words=(0, 2))


def frontier_page(problem: RestrictedNash, frontier: Frontier, status: Status, message: str, again: str) -> Page:
    """Return the page of the restricted Nash responses for all p."""
    game, player = problem.game, problem.player
    question = (
        f"Which strategy of player {player} earns most if player {1 - player} {problem.followed} with probability p, "
        "and otherwise plays optimally, for every p?"
    )
    count = len(frontier.strategies)
    best = f"{count:,} strategies are best, each for a range of p" if count > 1 else "One strategy is best for all p"
    if not frontier.whole:
        best = f"{count:,} of the best strategies were computed"
    (least, most), (safest, riskiest) = (
        (number(numbers[0]), number(numbers[-1])) for numbers in (frontier.gains, frontier.exploitabilities)
    )
    whom = "the worst of these opponents" if problem.constraints else "the model"
    said = f"{best}. Against {whom} they gain {least} to {most} more than the value of the game."
    risked = f" Against other opponents they may lose {safest} to {riskiest} of it."
    proof = (
        "at each p where the strategy changes, a strategy of the other player proves it, and in between it follows "
        "because the optimum is convex in p. The gains and possible losses of strategies are computed by best replies, "
        "not read from the solver."
        if frontier.whole
        else "each of these proves a line that no strategy's gain exceeds, by multipliers and a strategy of the other "
        "player. Their gains are proven by their certificates, and their possible losses by best replies."
    )
    blocks: list[Content] = [
        *opening(f"{game.spec} · frontier", question),
        verdict((said, risked), status, message),
        heading("The strategies"),
        slider_block(_frontier(problem, frontier, 0.5)),
        sheet_table(
            frontier.pieces,
            caption="Where the best strategy changes" if frontier.whole else "The strategies, and the p of each",
            more="--json lists all",
        ),
        heading("Why you can trust this"),
        prose(f"No strategy is better for any p by more than {_error(frontier.gap)}: {proof}"),
        *origin(again, game.citation),
    ]
    return Page(f"frontier on {game.spec}", tuple(blocks))


# Parts of every page


def opening(kicker: str, question: str) -> Iterator[Content]:
    """Yield the question of a page, below a line with its topic."""
    yield prose(kicker, cls="kicker")
    yield heading(question, 1)


def verdict(said: Iterable[Content], status: str, message: str, colour: str = "") -> Element:
    """Return the answer in a box, with the status of the computation."""
    colour = colour or _COLOUR.get(status, "warn")
    ended = prose(emphasis(str(status).replace("_", " "), colour), f": {message}" if message else None, cls="dim")
    return callout(prose(*said), ended, cls=colour)


# Numbers in sentences


def number(value: Any, exact: Fraction | None = None) -> str:
    """Return a number with six digits, after its exact fraction if that is known.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.solvers.reports import number
    >>> number(-1 / 18), number(-1e-17), number(0.5, Fraction(1, 2))
    ('−0.0555556', '0', '1/2 = 0.5')
    """
    return typeset(short(value, exact))


def _error(value: float) -> str:
    return typeset(error(value))


# The answer

_COLOUR: Mapping[str, str] = {
    Status.OPTIMAL: "good",
    Status.CONVERGED: "good",
    Status.INFEASIBLE: "bad",
    Status.UNBOUNDED: "bad",
    Status.UNCERTIFIED: "bad",
}


def sentence(*parts: str) -> list[Content]:
    """Return text in which every second part is bold."""
    return [emphasis(part) if place % 2 else part for place, part in enumerate(parts)]


def _said(solution: Solution) -> list[Content]:
    """Return the answer in a sentence or two."""
    problem, exact, player = solution.problem, solution.exact, solution.player
    if solution.infeasibility is not None:
        conflict = solution.infeasibility.conflict
        exclude = " excludes every strategy." if len(conflict) == 1 else " exclude each other."
        return sentence("There is no such strategy: ", ", ".join(conflict) or "the constraints", exclude)
    if player is None:
        value = solution.value
        if isinstance(value, tuple):
            paid = ", ".join(f"player {who} {number(one)}" for who, one in enumerate(value))
            if isinstance(problem, Correlated):
                return [f"If all players follow the recommendations, the average payoffs per game are {paid}."]
            return [f"With these strategies the average payoffs per game are {paid}."]
        ending = ""
        if not problem.game.is_of_one:
            other = "the opposite" if not problem.game.constant else number(solution.certificate.value[1])
            ending = f", and player 1 {other}"
        paid = number(value, exact.value if exact else None)
        return sentence("With these strategies player 0 is paid ", paid, f" per game on average{ending}.")
    said: list[Content] = []
    if problem.roles:
        values = solution.values or ()
        each = [f"the {role}, player {one}, is paid {number(values[one])}" for one, role in problem.roles.items()]
        ties = f"The follower's ties are {problem.facts(solution.profile)['ties']}. "
        said = [f"With this commitment {' and '.join(each)} per game on average. {ties}"]
    elif solution.opponent_value is not None:
        more = ""
        if solution.gain is not None and solution.game_value is not None:
            gain = number(solution.gain, exact.gain if exact else None)
            more = f", {gain} more than the value of the game, {number(solution.game_value)}"
        against = f" per game on average against the model{more}. "
        said = sentence(f"Player {player} earns ", number(solution.opponent_value), against)
    elif solution.objective is not None:
        said = sentence("The objective is ", number(solution.objective, exact.objective if exact else None), ". ")
    lost = number(solution.exploitability)
    if problem.exploitability_meaning:
        return said + sentence("", lost, f" {problem.exploitability_meaning}.")
    if solution.exploitability <= _NOTHING * problem.game.stakes:
        return [*said, f"It guarantees the value of the game, whatever player {1 - player} does."]
    worst = f"Against the worst play of player {1 - player}, it loses "
    return said + sentence(worst, lost, " of the value of the game.")


# The certificate


def certificate_blocks(solution: Solution, *units: Content) -> Iterator[Content]:
    """Yield the explanation of the proof: its `units`, the claim, its basis, and how it could fail."""
    yield heading("Why you can trust this")
    yield from units
    certificate, problem, player = solution.certificate, solution.problem, solution.player
    lower, upper, game = solution.lower, solution.upper, problem.game
    infeasibility = solution.infeasibility
    if infeasibility is not None:
        yield prose(
            f"The proof weights the constraints so that every strategy of player {infeasibility.player} "
            f"violates them by at least {number(infeasibility.proven)} in total. One best reply checks this for all "
            "strategies at once."
            + " If you drop any one of the constraints named above, the others named can be met together."
            * bool(infeasibility.conflict)
        )
    elif certificate.steps:
        yield prose(
            f"The strategy is decided in {len(certificate.steps):,} steps, each given the earlier decisions. For "
            "every step an upper bound on the payoff of any plan in it was computed. This proves each step, but not "
            "that the whole strategy is optimal: another first step might allow better later steps."
        )
    elif isinstance(problem, Correlated):
        gains = " and ".join(f"{_error(one)} for player {who}" for who, one in enumerate(certificate.regrets or ()))
        bound = "Another equilibrium may have a larger one."
        if upper is not None:
            bound = (
                "By duality, no distribution of recommendations whose deviations gain as little has an objective above "
                f"{number(upper)}."
            )
        yield prose(
            "For every point at which a player may stop following the recommendations, the best strategy from there on "
            f"was computed, against others who follow. All such deviations together gain {gains}. "
            f"The objective, the {problem.meaning}, is {number(lower)} here. {bound}"
        )
    elif player is None and not certificate.violations:
        if lower is not None and upper is not None and game.num_players == 2:
            yield prose(
                f"The best reply to each of the two strategies was computed. Player 0's strategy earns at least "
                f"{number(lower)} against any strategy of player 1, and no strategy earns more than "
                f"{number(upper)} against player 1's strategy. So the value of the game lies between the two, and "
                f"each player could gain at most {_error(upper - lower)} by playing differently."
            )
        elif certificate.regrets is not None:
            gains = ", ".join(f"{_error(one)} for player {who}" for who, one in enumerate(certificate.regrets))
            yield prose(
                "The best reply of each player to the strategies of the others was computed, and its gain over the "
                f"strategy that it replaces: {gains}. So this is an ε-Nash equilibrium with "
                f"ε = {_error(max(certificate.regrets))}; NashConv, the sum, is {_error(sum(certificate.regrets))}. "
                "This does not prove a value of the game: other equilibria may pay differently, and a strategy "
                "guarantees nothing by itself."
            )
    elif lower is not None and upper is not None and problem.roles:
        yield prose(
            f"The follower's best response to the commitment was computed. No commitment pays the leader more than "
            f"{number(upper)}: multipliers of linear programs prove this, and one best response of the leader per "
            "program checks it. (Any multipliers give a valid bound; good multipliers give a tight bound.)"
        )
    elif lower is not None and upper is not None:
        whom = "the payoff of player 0" if player is None else "the objective"
        yield prose(
            f"At the optimum {whom} is between {number(lower)} and {number(upper)}. One bound is the payoff of "
            "these strategies against a best reply. The other follows from duality: no strategy does better against a "
            f"strategy of the other player{' with multipliers of the constraints' if solution.multipliers else ''} "
            "than the best reply. (Any such strategy gives a valid bound; a good strategy gives a "
            "tight bound.)"
        )
        if certificate.violation > _NOTHING * problem.unit:
            yield prose(
                f"Constraints are violated by up to {_error(certificate.violation)}, by round-off or because the "
                "method stopped; the bounds may be off by this violation times the prices."
                if problem.penalty is None
                else "Constraints may be violated here, at the given penalty, which is part of the bounds."
            )
    yield from sheet_blocks(Sheet(found_rows(solution).rows))
    arithmetic = (
        "in fractions, without round-off" if solution.exact else "in floats, with a relative round-off of about 1e−16"
    )
    yield prose(
        "What could be wrong: the rules of the game may differ from those you intended, or the computation of a "
        f"best reply may be wrong: it consists of sums and maxima over the game, {arithmetic}. The proof does not rely "
        "on anything that the solver reports; a solver that fails gives wide bounds, not wrong ones. ",
        code("treeplex evaluate"),
        " certifies strategies from any other program in the same way.",
    )


# Prices


def _prices(solution: Solution) -> Iterator[Content]:
    """Yield the gains from loosening each constraint, or how much to loosen those that exclude each other."""
    problem = solution.problem
    constraints, prices = problem.constraints, solution.multipliers
    if solution.infeasibility is not None:
        yield heading("How much to loosen the constraints")
        caption = "Constraints: their violations, their best values, and how much to loosen them"
        yield from (sheet_table(each, caption=caption, more="--json lists all") for each in found_rows(solution).tables)
        return
    if not (prices or constraints):
        return
    yield heading("The cost of the constraints")
    owner = {constraint.name: constraint.player for constraint in constraints}
    nothing = _NOTHING * problem.unit
    unit = "in payoff per game" if problem.name != "style" else "in units of the objective"
    if len(prices) <= 6:
        yield bullets([_said_of_price(solution, name, one, owner.get(name), unit) for name, one in prices.items()])
        if any(isinstance(each, LinearConstraint) and each.fixed for each in constraints):
            yield prose(
                "A bound on the frequency of an action at an infoset is loosened in units of the player's own "
                "probability of reaching the infoset."
            )
    else:
        binding = sum(price > nothing for price in prices.values())
        yield prose(
            f"{binding:,} of {len(prices):,} constraints have a price. A proven price is the gain from loosening the "
            f"constraint by one unit, for small changes, to the player whose constraint it is, {unit}."
        )
    caption = "Constraints, their prices and their violations"
    yield from (sheet_table(each, caption=caption, more="--json lists all") for each in found_rows(solution).tables)


def _said_of_price(solution: Solution, name: str, price: float, player: int | None, unit: str) -> str:
    """Return a sentence about the known gains and costs of moving a constraint."""
    nothing = _NOTHING * solution.problem.unit
    what = "allowing one more unit of loss" if name == SAFETY else f"loosening “{name}” by one unit"
    whom = "" if player is None else f" to player {player}"
    found = solution.prices.get(name)
    if found is None and price > nothing:
        return (
            f"A multiplier of “{name}” is {number(price)}{whom}, {unit}. Other multipliers may prove the same bounds, "
            f"so {what} need not be worth as much."
        )
    if found is None or (found.is_one and price <= nothing):
        return f"{what[0].upper()}{what[1:]} changes nothing, because it does not bind."
    earned = f"For small changes {what} is worth {number(price)}{whom}, {unit}"
    if found.is_one:
        return f"{earned}."
    if found.tightening is None:
        return f"{earned}; it cannot be tightened."
    return f"{earned}, and tightening it costs {number(found.tightening)}."


# Alternatives


@dataclass(frozen=True, eq=False)
class Exploration:
    """Answers for every value of a parameter.

    Attributes
    ----------
    name, words : str
        The name of the parameter, and its caption.
    stops : sequence of float
        Ascending; repeated where the answer jumps.
    columns : mapping of str to sequence of float
        The numbers shown, by name; linear between stops.
    strategies : sequence of Strategy
        One per stop, if they are known.
    start : float
    picture : callable
        Creates a figure.
    panes : sequence of int
        The axes of the figure whose x-axis is the parameter.
    rest : str or None
        The value for strategies elsewhere on the page, such as ``p = 0.5``; ``None`` if there are none.
    """

    name: str
    words: str
    stops: Sequence[float]
    columns: Mapping[str, Sequence[float]]
    strategies: Sequence[Strategy]
    start: float
    picture: "Callable[[], Figure]"
    panes: Sequence[int]
    rest: str | None = None


def _changes(solution: Solution, explore: bool | None, moved: tuple[str, float, float] | None) -> Iterator[Content]:
    problem = solution.problem
    small = explore
    if explore is None:  # a hold'em spot has a linear program only if it was solved by one
        built = problem.game.public_form is None or "sequence_form" in vars(problem.game)
        small = built and sum(sizes_of(problem.game)["sequences"]) <= SMALL
    if solution.infeasibility is not None or not (small or moved) or solution.status is Status.INTERRUPTED:
        return
    found = list(_explored(solution) if moved is None else _moved(solution, *moved))
    if not found:
        return
    yield heading("How the answer depends on the parameters")
    for each in found:
        yield slider_block(each)


def _explored(solution: Solution) -> Iterator[Exploration]:
    problem: Any = solution.problem
    if isinstance(problem, RestrictedNash):
        value = None if problem.game_value is None else float(problem.game_value)
        frontier = restricted_nash_frontier(problem.game, problem.opponent, value)
        p = float(problem.p)
        yield dataclasses.replace(_frontier(problem, frontier, p), rest=f"p = {number(p)}")
    elif isinstance(problem, EpsilonSafeResponse | EpsilonSafeStyle) and not isinstance(problem, BestNash):
        yield from _moved(solution, SAFETY, 0.0, max(2.0 * float(problem.epsilon), 0.1 * problem.unit))
    elif isinstance(problem, ConstrainedNash):
        dearest = sorted(solution.multipliers.items(), key=lambda each: -each[1])
        bounds = _bounds(problem)
        for name, price in dearest[:2]:
            if price > _NOTHING * problem.unit and name in bounds:
                room = max(abs(bounds[name]), 0.1)
                yield from _moved(solution, name, bounds[name] - room, bounds[name] + room)


def _bounds(problem: Any) -> dict[str, float]:
    """Return the bounds that are numbers, by constraint."""
    return {each.name: float(each.bound) for each in problem.constraints if isinstance(each, LinearConstraint)}


def _frontier(problem: RestrictedNash, frontier: Frontier, start: float) -> Exploration:
    ends = [0.0, *frontier.breakpoints.tolist(), 1.0]
    piece = int(np.searchsorted(frontier.breakpoints, start, side="right"))
    count = len(frontier.strategies)
    if not frontier.whole:
        losses, gains = frontier.exploitabilities.tolist(), frontier.gains.tolist()
        return Exploration(
            "possible loss",
            f"The {count:,} strategies, from the safest to the one that earns the most; between two of them the "
            "strategy is a mixture of the two. It is worse than the best strategy by at most the gap.",
            losses,
            {"gain": gains},
            frontier.strategies,
            losses[min(piece, count - 1)],
            frontier.figure,
            (0,),
        )
    twice = [each for each in range(count) for _ in range(2)]
    return Exploration(
        "p",
        f"For all p from {number(ends[piece])} to {number(ends[piece + 1])}, such as {number(start)}, the same "
        f"strategy is best. From 0 to 1 there {f'are {count:,} strategies' if count > 1 else 'is one strategy'}, each "
        "best in a range of its own; these ranges are exact, not a grid.",
        [end for piece in range(count) for end in ends[piece : piece + 2]],
        {
            "gain against the model": frontier.gains[twice].tolist(),
            "possible loss": frontier.exploitabilities[twice].tolist(),
        },
        [frontier.strategies[each] for each in twice],
        start,
        frontier.figure,
        (1,),
    )


def _moved(solution: Solution, name: str, low: float, high: float) -> Iterator[Exploration]:
    """Explore the bound of a constraint, if it can be moved."""
    problem: Any = solution.problem
    bound = float(problem.epsilon) if name == SAFETY else _bounds(problem).get(name, low)
    start = min(high, max(low, bound))
    try:
        function = parametric_value(problem, name, low, high)
        knots = function.knots.tolist()
        strategies: list[Strategy] = []
        owner = next((each.player for each in problem.constraints if each.name == name), problem.player or 0)
        if len(knots) <= _KNOTS:
            strategies = [solve_part(problem.with_bound(name, knot), "highs-simplex").profile[owner] for knot in knots]
    except TreeplexError:  # this bound cannot be explored
        return
    piece = min(int(np.searchsorted(function.breakpoints, start, side="right")), len(function.prices) - 1)
    called = "ε" if name == SAFETY else name
    whom = "the objective" if problem.player is not None else "the payoff of player 0"
    yield Exploration(
        called,
        f"While the bound of {called} is between {number(knots[piece])} and {number(knots[piece + 1])}, {whom} changes "
        f"by {number(function.slopes[piece])} per unit. The function below is exact, with all its "
        "kinks, not a grid."
        + " Between two kinks the strategy is a mixture of the strategies at both."
        * bool(strategies),
        knots,
        {"objective" if problem.player is not None else "paid to player 0": function.values.tolist()},
        strategies,
        start,
        function.figure,
        (0, 1),
        f"{called} = {number(bound)}",
    )


def traded(
    game: Game, functional: Functional, curve: TradeOff, start: float, picture: "Callable[[], Figure]"
) -> Element:
    """Return a slider over the values of a functional, with the least cost and a strategy for each."""
    strategies: list[Strategy] = []
    knots = curve.knots.tolist()
    try:
        if len(knots) <= _KNOTS:
            for knot in knots:
                ends = [functional_bound(functional, **{side: knot}, name=side) for side in ("at_least", "at_most")]
                found = solve_part(ConstrainedNash(game, ends), "highs-simplex")
                strategies.append(found.profile[functional.player])
    except TreeplexError:  # at an end that is known only up to round-off
        strategies = []
    return slider_block(
        Exploration(
            curve.description,
            f"The exact least cost of each value. From {number(curve.free[0])} to {number(curve.free[1])} "
            "it costs nothing.",
            knots,
            {"least loss": curve.losses.tolist()},
            strategies,
            start,
            picture,
            (0,),
            "the answer",
        )
    )


def slider_block(found: Exploration) -> Element:
    """Return a slider with the numbers and the strategy for each value."""
    series: list[Floats] = [np.asarray(column) for column in found.columns.values()]
    shown: dict[str, Content] = {
        name: reading(place, _between(found.stops, column, found.start), digits=6)
        for place, (name, column) in enumerate(found.columns.items())
    }
    content: list[Element] = [facts(shown)]
    if found.strategies:
        treeplex = found.strategies[0].treeplex
        plans = np.array([each.plan for each in found.strategies])
        reaches = np.array([treeplex.reach(plan) for plan in plans])
        if (plans.shape[1] + reaches.shape[1]) * len(plans) <= _NUMBERS:
            first = len(series)
            series += [*plans.T, *reaches.T]

            def cell(infoset: int, sequence: int) -> Element:
                above, below = (
                    _between(found.stops, numbers, found.start) for numbers in (plans[:, sequence], reaches[:, infoset])
                )
                now = above / below if below > 1e-9 else None
                made = reading(first + sequence, now, over=first + plans.shape[1] + infoset)
                made_cell = share(now or 0.0)
                made_cell.text = None
                made_cell.append(made)
                return made_cell

            player = found.strategies[0].player
            content.append(_strategy_table(found.strategies[0], f"Player {player}’s strategy", cell))
    picture = figure(found.picture, follows=dict.fromkeys(found.panes, found.start))
    still = "The slider changes this frame only; strategies and pictures elsewhere on this page are for "
    return slider(
        found.name,
        found.stops,
        [each.tolist() for each in series],
        found.start,
        prose(found.words),
        columns(element("div", *content), picture),
        *([] if found.rest is None else [prose(f"{still}{found.rest}.", cls="dim")]),
    )


def _between(stops: Sequence[float], numbers: Any, value: float) -> float:
    """Return the number that a slider shows at a value; at a jump, the number to its right."""
    last = min(max(1, int(np.searchsorted(np.asarray(stops), value, side="right"))), len(stops) - 1)
    low, high = stops[last - 1], stops[last]
    part = min(1.0, (value - low) / (high - low)) if high > low else 1.0
    return float((1.0 - part) * numbers[last - 1] + part * numbers[last])


# Strategies


def _asked(solution: Solution) -> list[Strategy]:
    """Return the requested strategies."""
    return list(solution.profile) if solution.player is None else [solution.strategy]


def strategy_blocks(strategies: Sequence[Strategy], more: str = "", model: Strategy | None = None) -> Iterator[Content]:
    """Yield strategies as tables of action frequencies, followed by a model of the opponent."""
    more = more or "--out FILE writes them all, and treeplex show FILE prints them"
    shown = [(each, f"Player {each.player}") for each in strategies]
    if model is not None:
        shown.append((model, f"The model of player {model.player}"))
    room = 700_000 // max(1, len(shown))
    yield prose("Reach is the player’s own probability of playing to the infoset.", cls="dim")
    yield columns(*(_strategy_table(each, caption, more=more, room=room) for each, caption in shown))


def _strategy_table(
    strategy: Strategy, caption: str, cell: Any = None, *, more: str = "", room: int = 300_000
) -> Element:
    """Return a table of a strategy; see :func:`~treeplex.seqform.interchange.strategy_display.strategy_rows`."""
    headings, rows, words, total = strategy_rows(strategy, cell)
    return table(headings, rows, caption=caption, words=words, more=more, room=room, total=total)


def game_blocks(game: Game, strategies: Sequence[Strategy]) -> Iterator[Content]:
    """Yield a picture of strategies in a game, if there is one: a small tree, or a map."""
    for picture in _PICTURES:
        try:
            drawn = picture(game, strategies)
        except TreeplexError:  # too large to be readable, or another game
            continue
        yield heading("The game")
        yield drawn
        return


def _tree(game: Game, strategies: Sequence[Strategy]) -> Element:
    caption = (
        "The game with these strategies: the thickness of an edge is its probability, and dotted edges are never "
        "taken; dashed arcs join nodes that a player cannot distinguish; leaves show payoffs."
    )
    tree_to_draw(game, MAX_NODES)
    shares = {strategy.player: strategy.to_dict() for strategy in strategies}
    return figure(lambda: draw(game, strategies=shares), caption, wide=True)


def _patrol(game: Game, strategies: Sequence[Strategy]) -> Element:
    transit_rules(game)
    names = {f"player {strategy.player}": strategy for strategy in strategies}
    caption = "The positions of the players at several times; darker means more likely. The base is framed."
    return figure(lambda: draw_occupancy(game, names), caption, wide=True, paper=True)


#: Kinds of pictures; the first one that does not raise an error for a game is shown.
_PICTURES: tuple[Callable[[Game, Sequence[Strategy]], Element], ...] = (_tree, _patrol)


# How to reproduce it


def _how(solution: Solution) -> Iterator[Content]:
    method = solution.method
    values = {each.name: (getattr(method, each.name), each.default) for each in dataclasses.fields(method)}
    chosen = ", ".join(f"{name} {value}" for name, (value, usual) in values.items() if value not in (None, usual))
    yield heading("Reproduce this answer")
    found = solution_sheet(solution).only("iterations", "seconds", "sequences").rows
    how = Row("method", method.name, meaning=f" with {chosen}" if chosen else "")
    yield from sheet_blocks(Sheet([how, *found, Row("leaves", sizes_of(solution.problem.game)["leaves"], count)]))


def origin(again: str, *citations: str) -> Iterator[Content]:
    """Yield the way to reproduce a page, and its footer."""
    yield heading("Reproduce this result")
    yield code_block(again)
    yield footer(*citations)


def _python(solution: Solution) -> str:
    """Return Python code that poses and solves the problem again; arguments that have no string form are left open."""
    problem, method = solution.problem, solution.method
    top_level = dir(import_module("..", __package__))
    kind, names, lines = type(problem).__name__, {"load_game", "solve"}, []
    imported = {"treeplex": names}
    imported.setdefault("treeplex" if kind in top_level else type(problem).__module__, set()).add(kind)
    game = problem.game
    known = game.spec.partition(":")[0] in {family.name for family in families()} or game.spec.startswith("openspiel:")
    lines.append(f'game = load_game("{game.spec}")' if known else "game = ...  # the game, as you created it")
    arguments = ["game"]
    for each in dataclasses.fields(problem):  # type: ignore[arg-type]
        value = getattr(problem, each.name)
        if each.name in ("game", "game_value", "slack") or not each.init or value is each.default or value is None:
            continue
        if isinstance(value, Strategy):
            names.add("Strategy")
            uniform = np.array_equal(value.behaviour, Strategy.uniform(game, value.player).behaviour)
            made = f"uniform(game, {value.player})" if uniform else f'load("FILE", game, {value.player})'
            lines.append(f"{each.name} = Strategy.{made}{'' if uniform else '  # as given'}")
        elif not isinstance(value, Real | str):
            lines.append(f"{each.name} = ...  # as given")
        else:
            arguments.append(f"{each.name}={repr(str(value)) if isinstance(value, Fraction) else repr(value)}")
            continue
        arguments.append(each.name if not each.kw_only else f"{each.name}={each.name}")
    if method == find_method(method.name):
        how = f'"{method.name}"'
    else:
        how = repr(method)
        names.add(type(method).__name__)
    limits = f", tol={solution.tolerance!r}"
    if solution.status is Status.ITERATION_LIMIT:
        limits += f", max_iterations={solution.iterations}"
    return "\n".join(
        [
            *(f"from {module} import {', '.join(sorted(each))}" for module, each in imported.items()),
            "",
            *lines,
            f"solution = solve({kind}({', '.join(arguments)}), {how}{limits})",
            'solution.report().save("report.html")',
        ]
    )
