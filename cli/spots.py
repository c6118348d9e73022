"""Hold'em spots in commands: sizes and betting before a solve, and earnings after it."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..seqform.limits import now
from ..seqform.sheet import Column, Row, Sheet, Table, at_least, at_most, chips, count, error, listed, share
from .errors import CommandLineError, ExitStatus
from .files import Record, command_line
from .nodes import HandsAt, OfHands, is_all, parsed_unit, spot_of
from .outputs import Output, Outputs, page
from .progress import waiting
from .solution import message_of
from .tables import print_rows, print_table, seconds_text

if TYPE_CHECKING:
    from ..models.games.holdem.hand_tables import SpotTable
    from ..models.games.holdem.solved import SolvedSpot
    from ..models.games.holdem.spot import HoldemSpot
    from ..seqform.game import Game
    from ..solvers import Solution

#: The JSON keys of locks, then all keys that a solved spot adds to those of every solve.
_LOCKS = ("locks", "unlocked_ev", "lock_gain", "lock_risk", "lock_intervals", "interval_cost", "likely_from")
KEYS = ("ev", "equity", "rake", "exploitability_percent", "root", "hands", "nodes", "bytes", *_LOCKS)
#: The value of a spot without locks is computed to this fraction of the solution's tolerance.
_VALUE_SHARE = 0.1
#: With at most this many sequences of both players, linear programming finds a frontier in seconds.
_FEW = 3_000
#: Locks are checked before a spot is solved if its tree takes at most this many bytes.
_BUILT = 2**26
#: With at most this many decision nodes, best responses to a file's strategies are recomputed, which takes a second.
_EVALUATED = 1_000
_CARDS = re.compile(r"(?:[2-9TJQKA][cdhs]){2}", re.IGNORECASE)


def with_locks(game: "Game", texts: Sequence[str] | None) -> "Game":
    """Return a spot's game with additional locks; without locks, return any game unchanged.

    Raises
    ------
    CommandLineError
        If there are locks and the game is not a spot.
    """
    if not texts:
        return game
    spot = spot_of(game)
    if spot is None:
        raise CommandLineError(f"--lock {texts[0]}: expected a hold'em spot (.toml), but GAME is {game.spec}")
    return replace(spot, bets=None, locks=(*spot.locks, *texts)).game


def with_likely_hands(game: "Game", shown: bool) -> tuple["Game", dict[str, Any]]:
    """Return a spot's game with the hands of likely locks, and what was solved for them; other games as they are.

    Raises
    ------
    TreeplexError
        If the equilibrium without locks cannot be computed.
    """
    spot = spot_of(game)
    if spot is None or all(lock.shape == "any" for lock in spot.locks):
        return game, {}
    from ..models.games.holdem import SolvedSpot
    from ..models.games.holdem.likely import with_likely_locks
    from ..models.problems import EpsilonNash, Nash
    from ..solvers import DCFR
    from ..solvers.solve import solve_part

    free = replace(spot, bets=None, locks=())
    needed, tol = f"an equilibrium of {spot.spec or spot.board} without locks", _VALUE_SHARE * (game.learned_to or 0.0)
    problem = EpsilonNash(free.game) if free.rake else Nash(free.game)
    with waiting(needed, shown=shown):
        solution = solve_part(problem, DCFR(precision="auto"), tol=tol, needed=needed)
    found = with_likely_locks(spot, SolvedSpot(free, solution.profile))
    error = solution.exploitability if solution.regrets is None else solution.certificate.epsilon
    return found.game, {"likely_from": {"problem": solution.problem.name, "error": error}}


def is_large(game: "Game") -> bool:
    """Whether a linear program for each point of a spot's frontier would take a long time."""
    from ..solvers.choice import has_more_sequences

    return game.public_form is not None and has_more_sequences(game, _FEW)


def is_affordable(game: "Game") -> bool:
    """Whether linear programming can solve, in seconds, a spot that the loop did not solve accurately enough."""
    from ..solvers.choice import AFFORDABLE, has_more_sequences

    return game.public_form is not None and not has_more_sequences(game, AFFORDABLE)


# Before


def describe(spot: "HoldemSpot", json: str | None) -> int:
    """Print the size and the betting of a spot, or write them as JSON, without building it."""
    from ..models.games.holdem.size import betting_tree, tree_lines
    from ..seqform.memory import in_words

    begun = now()
    size, tree = spot.size, betting_tree(spot)
    if spot.locks and size.total_bytes < _BUILT:
        _ = replace(spot, bets=None, locks=[lock for lock in spot.locks if lock.shape == "any"]).constraints
        _ = [list(lock.totals(spot)) for lock in spot.locks if lock.shape == "likely"]  # checks the locks now
    weights = [float(one.sum()) for one in spot.weights]
    record = Record(
        json,
        (),
        game=spot.spec,
        parameters=spot.game.parameters,
        players=2,
        street=spot.street,
        board=spot.board,
        pot=spot.pot,
        stack=spot.stack,
        rake=spot.rake,
        rake_cap=spot.rake_cap if math.isfinite(spot.rake_cap) else None,
        hands=[len(held) for held in spot.hands],
        combinations=weights,
        nodes=size.nodes,
        leaves=size.leaves,
        bytes=size.bytes,
        total_bytes=size.total_bytes,
        locks=[str(lock) for lock in spot.locks],
        tree=tree,
        build_seconds=now() - begun,
    )
    record.write()
    if not record.shown:
        return 0
    hands = " and ".join(f"{count(len(held))} {seat}" for held, seat in zip(spot.hands, ("oop", "ip"), strict=True))
    rows = [
        Row("game", spot.spec, label="spot"),
        Row("board", spot.board, str, f", {spot.street}"),
        Row("pot", spot.pot, count, f", {count(spot.stack)} behind"),
        Row("rake", _rake_of(spot)),
        Row("hands", f"{hands} ({weights[0]:,.6g} and {weights[1]:,.6g} by weight)"),
        Row("nodes", size.nodes, count, f", {count(size.leaves)} leaves", "decision nodes"),
        Row("memory", f"{in_words(size.bytes)} of regrets and averages, {in_words(size.total_bytes)} with the tree"),
        Row("locks", record["locks"], "; ".join),
    ]
    print_rows(*Sheet(rows).rows)
    typed = "\n".join(tree_lines(tree))
    print(f"\n{typed}")  # noqa: T201
    return 0


def _rake_of(spot: "HoldemSpot") -> str:
    if not spot.rake:
        return ""
    most = f", at most {spot.rake_cap:,.10g} chips" if math.isfinite(spot.rake_cap) else ""
    return f"{100.0 * float(spot.rake):.10g}% of a pot{most}"


# After


def hands_of(text: str, spot: "HoldemSpot") -> list[str]:
    """Return the hands named by ``--hands``; of groups of hands, only those that some player may hold.

    Raises
    ------
    CommandLineError
    """
    import numpy as np

    from ..models.games.holdem.cards import CARDS, HAND_NAMES, HANDS, range_items
    from ..seqform.errors import InvalidGameError, shown

    held = set(np.concatenate(spot.hands).tolist())
    found: dict[str, None] = {}
    try:
        items = list(range_items(text))
    except InvalidGameError as error:
        raise CommandLineError(f"--hands: {error}") from None
    for one in items:
        item, members = one.written, sorted(one.hands) if one.weight else []
        kept = [hand for hand in members if hand in held]
        if not kept:
            on_board = (
                [CARDS[card] for card in HANDS[members].ravel().tolist() if card in spot.cards] if members else []
            )
            blocked = (
                f"{on_board[0]} is on the board" if len(members) == 1 and on_board else "neither range contains it"
            )
            raise CommandLineError(f"--hands: {shown(item, 40)}: {blocked}, expected hands of oop or ip")
        if _CARDS.fullmatch(item):
            found[item[0].upper() + item[1].lower() + item[2].upper() + item[3].lower()] = None
        else:
            found |= dict.fromkeys(HAND_NAMES[hand] for hand in reversed(kept))
    if not found:
        raise CommandLineError(f"--hands {shown(text, 40)}: expected hands, such as QsQh,AdKd")
    return list(found)


def check_line(line: str | None, asked: Mapping[str, str | None], spot: "HoldemSpot") -> None:
    """Reject a line that leads nowhere, and options for one node if it leads to a row per card.

    Parameters
    ----------
    line : str, optional
        The value of ``--at``.
    asked : mapping of str to str
        The values of options that need one node, such as ``chart``.
    spot : HoldemSpot

    Raises
    ------
    CommandLineError
    """
    from ..models.games.holdem.places import Place, by_next_card
    from ..seqform.errors import InvalidGameError

    if line is not None:
        for name, value in asked.items():
            if value is not None and _by_card(line):
                raise CommandLineError(f"--{name} {value}: --at has 'deal *'; expected one card, as in 'deal 7s'")
        try:
            by_next_card(spot, line) if _by_card(line) else Place.at(spot, line)
        except InvalidGameError as error:
            raise CommandLineError(f"--at: {error}") from None


def _by_card(line: str) -> bool:
    from ..seqform.public_form import is_any_card

    return any(map(is_any_card, line.split(",")))


def read(solution: "Solution", spot: "HoldemSpot") -> "SolvedSpot":
    """Return a solved spot with the stored part of its certificate."""
    from ..models.games.holdem import SolvedSpot

    told = {
        "problem": solution.problem.name,
        "method": solution.method.name,
        "status": str(solution.status),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
    }
    return SolvedSpot(spot, solution.profile, told)


def answer(solution: "Solution", solved: "SolvedSpot", hands: Sequence[str]) -> dict[str, Any]:
    """Return the entries that a solved spot adds to the JSON."""
    spot, root = solved.spot, solved.at()
    taken: float | None = 0.0
    if solution.problem.name == "nash":  # taken from the certificate, which avoids a sweep over a large tree
        evs: list[float | None] = [spot.pot / 2 + float(solution.value), spot.pot / 2 - float(solution.value)]
    elif solution.regrets is not None:
        paid = solution.certificate.value
        evs, taken = [spot.pot / 2 + one for one in paid], 0.0 - sum(paid)
    else:
        evs = [root.averages["oop ev"], root.averages["ip ev"]]
    found: dict[str, Any] = {
        "street": spot.street,
        "ev": evs,
        "equity": list(spot.equity),
        "rake": taken,
        "exploitability_percent": 100.0 * solution.exploitability / spot.pot + 0.0,
        "root": root.frequencies,
        "hands": [len(held) for held in spot.hands],
        "nodes": spot.size.nodes,
        "bytes": spot.size.bytes,
    }
    return found | ({"by_hand": root.by_hand(hands)} if hands else {})


def node_of(solved: "SolvedSpot", line: str | None) -> dict[str, Any]:
    """Return the JSON value of ``at``: a node with its hands, or for a line with ``deal *`` a row per card."""
    if line is None:
        return {}
    if _by_card(line):
        return {"at": {"at": line, "cards": list(solved.runouts(line))}}
    return {"at": solved.at(line).to_dict()}


def print_node(solved: "SolvedSpot", line: str | None, hands: str | None = None) -> None:
    """Print, if requested, a node and the hands of the player who moves there, or a row per next card."""
    if line is None:
        return
    if _by_card(line):
        print_table(solved.runouts(line).table)
    else:
        HandsAt.read(solved, OfHands(at=line, hands=hands)).print()


def _exploitability(solved: "SolvedSpot") -> tuple[float, str]:
    """Return the exploitability of a file's strategies, and when it was computed: now, unless that takes long."""
    stated = solved.stated_exploitability
    if stated is None or solved.spot.size.nodes <= _EVALUATED:
        return solved.profile.exploitability, "computed again"
    return stated, "computed when the file was written"


def show_file(file: str, of: OfHands, json: str | None) -> int:
    """Print a solved spot from a file, or write it as JSON, pictures, CSV or a page, without solving anything."""
    from ..models.games.holdem import SolvedSpot
    from ..models.games.holdem.browser import spot_page

    solved, at = SolvedSpot.load(file), of.at
    single = {name: getattr(of, name) for name in ("chart", "graph", "by", "seat")}
    check_line(at, single, solved.spot)
    named_hands = [] if of.hands is None or is_all(of.hands) else hands_of(of.hands, solved.spot)
    by_card = _by_card(at or "")
    unit = parsed_unit(of.unit, "chips")
    chosen = None if by_card else HandsAt.read(solved, of)
    record = Record(json, ("file", "certificate", "ev", "exploitability", "exploitability_percent"), file=file)
    (lost, found_when), pot, root = _exploitability(solved), solved.spot.pot, solved.at()

    def runouts() -> "SpotTable":
        return replace(solved.runouts(at or ""), unit=unit)

    def report() -> None:
        print_rows(
            Row("file", file, label="solved spot"),
            pot_row(solved.spot),
            Row("exploitability", lost, solved.spot.of_pot, f", {found_when}"),
        )
        if chosen is None:
            print_table(runouts().table)
        else:
            chosen.print()

    def found() -> dict[str, Any]:
        return {
            "street": solved.spot.street,
            "board": solved.spot.board,
            "pot": pot,
            "stack": solved.spot.stack,
            "certificate": solved.certificate,
            "ev": [root.averages["oop ev"], root.averages["ip ev"]],
            "exploitability": lost,
            "exploitability_percent": 100.0 * lost / pot,
            "root": {action: root.averages[action] for action in root.actions},
            **({"by_hand": solved.at(at or "").by_hand(named_hands)} if named_hands and not by_card else {}),
            **(node_of(solved, at) if chosen is None or (at, of.by) == (None, None) else chosen.to_dict()),
        }

    drawn = (Output("table", "--csv", of.csv, lambda path: runouts().save(path)),) if chosen is None else chosen.outputs

    return Outputs(record).deliver(
        ExitStatus.SUCCESS,
        report,
        found,
        page(of.html, lambda: spot_page(solved, command_line(), unit=unit)),
        *drawn,
    )


def locked(solution: "Solution", spot: "HoldemSpot") -> dict[str, Any]:
    """Return the gain from locks for the player who knows them, and the risk; nothing without locks.

    If the value without locks cannot be computed, the quantities that follow from it are ``None`` and ``reason`` says
    why.

    Notes
    -----
    With both bounds proven, the gain is at least the payoff that the certificate proves against all opponents who keep
    to the locks, minus the upper bound on the value without locks. The risk is at most that upper bound minus the
    payoff against a best response without locks.

    With a rake there is no value: gain and risk compare with the payoffs of the ε-equilibrium that is found without
    locks. The opponent may then do anything that hurts the player most, within the locks or not, even at its own cost.
    """
    from ..seqform.evaluate import worst_case
    from ..solvers.second_questions import second_question

    raked = solution.regrets is not None
    known = raked or None not in (solution.lower, solution.upper)
    if not spot.constraints or solution.infeasibility is not None or not known:
        return dict.fromkeys(_LOCKS[:-1])
    found: dict[str, Any] = dict.fromkeys(_LOCKS[:-1]) | {"locks": [str(lock) for lock in spot.locks]}
    about = {one.player for one in spot.constraints}
    told = [player for player in (0, 1) if 1 - player in about and solution.player in (None, player)]
    counted = [(lock, one) for lock in spot.locks for one in lock.counts]
    if counted:
        found["lock_intervals"] = [
            {"lock": str(lock), "action": one.action, "interval": list(one.ends), "confidence": float(one.confidence)}
            for lock, one in counted
        ]
        if solution.problem.name in ("constrained", "epsilon-nash"):
            with second_question("the cost of the intervals", "interval_cost") as asked:
                found["interval_cost"] = _interval_cost(solution, spot, told)
            if found["interval_cost"] is None:
                found["reason"] = str(asked)
    if solution.problem.name in ("constrained", "epsilon-nash"):
        free: Any = None
        with second_question("the value of the locks", "unlocked_value") as asked:
            free = _without_locks(solution, spot)
        if free is None:
            return found | {"reason": "; ".join(filter(None, [found.get("reason"), str(asked)]))}
        if raked:
            paid = [float(one) for one in free.value]
            kept, broken = (
                [_least_paid(solution, spot, player, locks) for player in (0, 1)] for locks in (True, False)
            )
            return found | {
                "unlocked_ev": [spot.pot / 2 + one for one in paid],
                "lock_gain": [kept[player] - paid[player] if player in told else None for player in (0, 1)],
                "lock_risk": [max(0.0, paid[player] - broken[player]) if player in told else None for player in (0, 1)],
            }
        value = float(free.value)
        most = [float(free.upper), -float(free.lower)]
        gains = [float(solution.lower or 0.0) - most[0], -float(solution.upper or 0.0) - most[1]]
        risks = [most[player] - worst_case(spot.game, solution.profile[player]) for player in (0, 1)]
    else:
        assert solution.gain is not None
        value = float(solution.game_value or 0.0) * (1 if solution.player == 0 else -1)
        doubt = solution.problem.value_error
        gains, risks = [solution.gain - doubt] * 2, [solution.exploitability + doubt] * 2
    return found | {
        "unlocked_ev": [spot.pot / 2 + value, spot.pot / 2 - value],
        "lock_gain": [float(gains[player]) if player in told else None for player in (0, 1)],
        "lock_risk": [max(0.0, float(risks[player])) if player in told else None for player in (0, 1)],
    }


def _interval_cost(solution: "Solution", spot: "HoldemSpot", told: Sequence[int]) -> list[float | None]:
    """Return how much more each player would be guaranteed if the true frequencies were the counted ones.

    Raises
    ------
    TreeplexError
        If the spot with these frequencies cannot be solved.
    """
    from ..models.problems import ConstrainedNash, EpsilonNash
    from ..solvers.solve import solve_part

    known = replace(spot, bets=None, locks=[lock.without_intervals() for lock in spot.locks])
    raked = solution.regrets is not None
    problem = (EpsilonNash if raked else ConstrainedNash)(known.game, known.constraints)
    tol = solution.tolerance or _VALUE_SHARE * (spot.game.learned_to or 0.0)
    point = solve_part(problem, solution.method, tol=tol, needed=f"{spot.spec or spot.board} with counted frequencies")
    if raked:
        sure = [
            [_least_paid(one, of, player, True) for player in (0, 1)] for one, of in ((point, known), (solution, spot))
        ]
    else:
        sure = [[float(one.lower or 0.0), -float(one.upper or 0.0)] for one in (point, solution)]
    return [sure[0][player] - sure[1][player] if player in told else None for player in (0, 1)]


def _least_paid(solution: "Solution", spot: "HoldemSpot", player: int, kept: bool) -> float:
    """Return a proven lower bound on the payoff of a player's strategy, if the other one keeps to its locks or not.

    Linear programming finds multipliers of the locks. They prove the bound, whether they are optimal or not.
    """
    import numpy as np
    from scipy.optimize import linprog

    from ..models.saddle.rows import Rows
    from ..seqform.polytope import best_response_value
    from ..seqform.public_payoff import PublicPayoff

    other = 1 - player
    form = spot.game.sequence_form
    treeplex, payoffs = form.treeplexes[other], form.payoffs
    assert isinstance(payoffs, PublicPayoff)
    paid = payoffs.exposure(player, solution.profile[player].plan)
    locks = [one for one in spot.constraints if one.player == other] if kept else []
    if not locks:
        return -best_response_value(treeplex, -paid)
    rows = Rows(tuple(locks), treeplex.num_sequences).matrix(exact=False)
    found = linprog(paid, A_ub=rows.matrix, b_ub=rows.limits, A_eq=treeplex.E, b_eq=treeplex.e, method="highs")
    prices = np.zeros(len(locks)) if found.x is None else np.maximum(0.0, -found.ineqlin.marginals)
    return float(-best_response_value(treeplex, -paid - rows.matrix.T @ prices) - prices @ rows.limits)


def _without_locks(solution: "Solution", spot: "HoldemSpot") -> Any:
    """Return the equilibrium without locks, solved to a fraction of the tolerance of the answer with locks.

    Raises
    ------
    TreeplexError
        If it cannot be computed that accurately.
    """
    from ..models.problems import EpsilonNash, Nash
    from ..seqform.errors import SolverError
    from ..solvers import DCFR
    from ..solvers.choice import choose, prefers_loop
    from ..solvers.methods import RegretMethod
    from ..solvers.solve import solve_part

    needed, tol = f"the value of {spot.spec or spot.board} without locks", _VALUE_SHARE * solution.tolerance
    nash = Nash(spot.game) if solution.regrets is None else EpsilonNash(spot.game)
    exactly = choose(nash, exactly=True)
    if solution.regrets is not None:
        # A run with tolerance 0 sets the number of iterations.
        return solve_part(
            nash, DCFR(precision="auto"), tol=tol or _VALUE_SHARE * (spot.game.learned_to or 0.0), needed=needed
        )
    if not (isinstance(solution.method, RegretMethod) and prefers_loop(spot.game)):
        return solve_part(nash, exactly, needed=needed)
    # A run with tolerance 0 sets the number of iterations, not the accuracy of the value.
    tol = tol or _VALUE_SHARE * (spot.game.learned_to or 0.0)
    try:
        return solve_part(nash, DCFR(precision="auto"), tol=tol, needed=needed)
    except SolverError:
        if not is_affordable(spot.game):
            raise
        return solve_part(nash, exactly, needed=needed)


def pot_row(spot: "HoldemSpot") -> Row:
    """Return the pot of a spot, the stacks behind, the street and the board."""
    return Row("pot", spot.pot, count, f", {count(spot.stack)} behind, {spot.street} {spot.board}")


def _lock_rows(found: Mapping[str, Any], raked: bool) -> Iterator[Row]:
    """Return the gain from locks for the player who knows them, and the risk, as rows."""
    yield Row("locks", found.get("locks"), "; ".join)
    for one in found.get("lock_intervals") or ():
        low, high = (f"{100 * end:.4g}%" for end in one["interval"])
        yield Row("lock_intervals", f"{one['action']} {low} to {high} of the time", label="interval")
    if found.get("likely_from"):
        told_by = found["likely_from"]
        what = (
            f"{'an ε-equilibrium' if raked else 'an equilibrium'} without locks, within {error(told_by['error'])} chips"
        )
        yield Row("likely_from", f"the hands of likely locks are those nearest to {what}", label="likely")
    told = [found.get(name) or (None, None) for name in ("unlocked_ev", "lock_gain", "lock_risk")]
    without = "at the ε-equilibrium without locks" if raked else "without locks"
    for seat, other, ev, gain, risk in zip(("oop", "ip"), ("ip", "oop"), *told, strict=True):
        if gain is not None:
            kept = f" chips at least while {other} keeps to the locks; {chips(ev)} {without}"
            proof = f"even if that costs {other} chips" if raked else "as a best response proves"
            broken = f" chips of that EV{' at most' * raked} if {other} does not, {proof}"
            yield Row("lock_gain", gain, at_least, kept, f"{seat} gains")
            yield Row("lock_risk", risk, at_most, broken, f"{seat} risks")
            if found.get("interval_cost"):
                more = " chips more if the counted frequencies were exact"
                yield Row("interval_cost", found["interval_cost"][seat == "ip"], chips, more, f"{seat} could win")


def _proven(solution: "Solution", spot: "HoldemSpot") -> Iterator[Row]:
    """Return the proven bounds; for a spot with a rake, which has no value, the distance from an equilibrium."""
    regrets, low, high = solution.regrets, solution.lower, solution.upper
    missed = solution.certificate.epsilon if regrets is not None else solution.exploitability
    assert missed is not None
    met = "at most the tolerance" if missed <= solution.tolerance else "above the tolerance"
    judged = f"; {met} of {error(100 * solution.tolerance / spot.pot)}%"
    if regrets is not None:
        yield Row("epsilon", missed, lambda number: f"ε {spot.of_pot(number)}", judged, "ε-Nash")
        gains = ", ".join(f"{seat} {error(regret)}" for seat, regret in zip(("oop", "ip"), regrets, strict=True))
        within = " within the locks" if solution.problem.constraints else ""
        total = f": the gain of a best response{within}; NashConv {error(sum(regrets))}"
        yield Row("regrets", gains, meaning=total)
    elif solution.problem.name == "nash":
        yield Row("exploitability", missed, spot.of_pot, judged)
    else:
        if not solution.problem.constraints:
            yield Row("gain", solution.gain, spot.of_pot, " beyond the value of the game")
            yield Row("exploitability", missed, spot.of_pot)
            meaning = ", the bound that follows from p, the gain and the proven gaps"
            yield Row("safety_bound", solution.safety_bound, spot.of_pot, meaning)
        yield Row("gap", solution.gap, error, " chips")
        steps = solution.certificate.steps
        if steps:
            meaning = f" chips in one of {len(steps):,} steps, {error(steps[0].gap)} in the first"
            yield Row("step_gaps", max(step.gap for step in steps), error, meaning, "largest gap")
    if solution.player is None and low is not None and high is not None:
        ends = low + spot.pot / 2, high + spot.pot / 2
        proven = f"an EV of oop from {at_least(ends[0])} to {at_most(ends[1])}"
        yield Row("proven_bounds", proven, label="proven")
    if solution.problem.constraints:
        meaning = " at most, by which a probability misses a lock"
        yield Row("violation", solution.violation, error, meaning)


def spot_sheet(solution: "Solution", spot: "HoldemSpot", found: Mapping[str, Any], asked: str) -> Sheet:
    """Return the earnings of both players, the distance from an equilibrium, and the first decision as rows."""
    rake = f"; {chips(found['rake'])} on average" if spot.rake else ""
    earned = zip(("oop", "ip"), found["ev"], found["equity"], strict=True)
    actions = list(found["root"])
    hands = [
        (f"{hand} {seat}", one["ev"], one["equity"], *map((one["strategy"] or {}).get, actions))
        for hand, by_seat in found.get("by_hand", {}).items()
        for seat, one in by_seat.items()
        if one is not None
    ]
    worth = [Column("ev", chips, "EV"), Column("equity", share)]
    return Sheet(
        [
            Row("problem", f"{asked} on {spot.spec or spot.board}"),
            Row("method", solution.method.name),
            Row("status", str(solution.status)),
            Row("message", message_of(solution), label=""),
            pot_row(spot),
            Row("rake", _rake_of(spot), meaning=rake),
            *_lock_rows(found, bool(spot.rake)),
            *_proven(solution, spot),
            Row("iterations", solution.iterations, count),
            Row("seconds", seconds_text()),
            Row("nodes", found["nodes"], count, f", {listed(found['hands'])} hands", "decision nodes"),
        ],
        [
            Table([Column("seat"), *worth], list(earned)),
            Table([Column("oop acts first"), Column("frequency", share)], list(found["root"].items())),
            Table([Column("hand"), *worth, *(Column(one, share, one) for one in actions)], hands),
        ],
    )
