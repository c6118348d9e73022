"""Locks with a rake: held to linear programs on histories that this file lists by the rules, without the library."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from locked_spots import drawn_lock
from scipy.optimize import linprog

from treeplex import EpsilonNash, Status, solve
from treeplex.cli.spots import locked
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import SEATS
from treeplex.models.games.holdem.cards import CARDS
from treeplex.seqform.errors import InvalidConstraintError, InvalidGameError

evaluator = pytest.importorskip("phevaluator")
BETS = [{"bet": "a", "raise": ""}, {"bet": "60%, a", "raise": "a"}, {"bet": "75%", "raise": ""}]


# By the rules alone. A history is a pair of hands and the actions and cards of both; a decision is (hand, line).


def lines_of(form):
    """Return the line of every node."""
    return [tuple(map(str, form.path(node))) for node in range(len(form.players))]


def strength(hand, board):
    """Return a number that is larger for better hands."""
    return -evaluator.evaluate_cards(*(card[0] + card[1] for card in [hand[:2], hand[2:], *board]))


class Histories:
    """The histories of a spot with probabilities and payoffs, the pot of the start included."""

    def __init__(self, spot, ranges):
        form, lines = spot.public_form, lines_of(spot.public_form)
        self.moves = [{}, {}]  # by decision: its actions
        self.before = [{}, {}]  # by decision: the decision and action before it
        self.leaves = []  # probability, sequences of both, payoffs
        self.dealt = [defaultdict(float), defaultdict(float)]
        pairs = {
            (mine, theirs): first * second
            for mine, first in ranges[0].items()
            for theirs, second in ranges[1].items()
            if not {mine[:2], mine[2:]} & {theirs[:2], theirs[2:]}
        }
        total = sum(pairs.values())
        start = [spot.board[place : place + 2] for place in range(0, len(spot.board), 2)]
        for hands, weight in pairs.items():
            for player in (0, 1):
                self.dealt[player][hands[player]] += weight
            held = {card for hand in hands for card in (hand[:2], hand[2:])}
            stack = [(0, weight / total, start, (None, None))]
            while stack:
                node, chance, board, last = stack.pop()
                player, children = int(form.players[node]), form.children[node].tolist()
                if not children:
                    self.leaves.append((chance, last, self.pays(spot, form, node, hands, board)))
                    continue
                if player < 0:
                    left = 52 - len(board) - 4
                    for child in children:
                        card = str(form.actions[child])[-2:]
                        if card not in held:
                            stack.append((child, chance / left, [*board, card], last))
                    continue
                decision = hands[player], lines[node]
                self.moves[player][decision] = [str(form.actions[child]) for child in children]
                self.before[player][decision] = last[player]
                for child in children:
                    moved = list(last)
                    moved[player] = decision, str(form.actions[child])
                    stack.append((child, chance, board, tuple(moved)))

    @staticmethod
    def pays(spot, form, node, hands, board):
        """Return both EVs at a leaf: the winner pays the rake of what was called."""
        paid = spot.paid[node]
        pot = spot.pot + 2 * min(paid)
        left = pot - min(float(spot.rake) * pot, spot.rake_cap)
        if str(form.actions[node]) == "fold":
            first = float(form.players[form.parents[node]] == 1)
        else:
            mine, theirs = (strength(hand, board) for hand in hands)
            first = 0.5 + 0.5 * np.sign(mine - theirs)
        return left * first - min(paid), left * (1 - first) - min(paid)

    def reach(self, player, behaviour, sequence):
        """Return the player's own probability of a sequence."""
        found = 1.0
        while sequence is not None:
            decision, action = sequence
            found *= behaviour[decision][action]
            sequence = self.before[player][decision]
        return found

    def evs(self, behaviours):
        """Return both players' EVs."""
        found = np.zeros(2)
        for chance, last, pays in self.leaves:
            reach = [self.reach(player, behaviours[player], last[player]) for player in (0, 1)]
            found += chance * reach[0] * reach[1] * np.array(pays)
        return found

    def most(self, player, behaviour, rows=(), paid_to=None, sign=1.0):
        """Return the most that a player can earn against a behaviour, under rows, by HiGHS.

        Rows are pairs: {sequence: coefficient}, and the bound. The optimum is of ``sign`` times what ``paid_to`` earns.
        """
        places = {(decision, action): number for number, (decision, action) in enumerate(
            (decision, action) for decision, actions in self.moves[player].items() for action in actions
        )}  # fmt: skip
        gains, constant = np.zeros(len(places)), 0.0
        for chance, last, pays in self.leaves:
            worth = sign * chance * self.reach(1 - player, behaviour, last[1 - player])
            worth *= pays[player if paid_to is None else paid_to]
            if last[player] is None:
                constant += worth
            else:
                gains[places[last[player]]] += worth
        equations, right = np.zeros((len(self.moves[player]), len(places))), np.zeros(len(self.moves[player]))
        for number, (decision, actions) in enumerate(self.moves[player].items()):
            equations[number, [places[decision, action] for action in actions]] = 1.0
            if self.before[player][decision] is None:
                right[number] = 1.0
            else:
                equations[number, places[self.before[player][decision]]] -= 1.0
        bounds, limits = np.zeros((len(rows), len(places))), np.zeros(len(rows))
        for number, (terms, limit) in enumerate(rows):
            limits[number] = limit
            for sequence, coefficient in terms:
                if sequence is None:
                    limits[number] -= coefficient
                else:
                    bounds[number, places[sequence]] += coefficient
        found = linprog(-gains, bounds if len(rows) else None, limits if len(rows) else None, equations, right)
        assert found.success
        return constant - found.fun

    def rows(self, lock, spot):
        """Return the rows of a lock of all hands at one node, from its table."""
        player, line = SEATS.index(lock["seat"]), tuple(filter(None, lock["at"].split(", ")))
        each, inner = "strategy" in lock, lock.get("strategy", lock.get("frequency"))
        held = [decision for decision in self.moves[player] if decision[1] == line]
        board = spot.board + "".join(step for step in line if step in CARDS)
        if not each:
            weights = {one: self.weight(spot, player, one[0], board) for one in held}
            total = sum(weights.values())
            weights = {one: weight / total for one, weight in weights.items()}
        for action, text in inner.items():
            sense, number = text.split() if " " in str(text) else ("=", text)
            groups = [[(one, 1.0)] for one in held] if each else [list(weights.items())]
            for group in groups:
                terms = [((one, action), weight) for one, weight in group]
                terms += [(self.before[player][one], -float(number) * weight) for one, weight in group]
                if sense in ("<=", "="):
                    yield terms, 0.0
                if sense in (">=", "="):
                    yield [(sequence, -number) for sequence, number in terms], 0.0

    def weight(self, spot, player, hand, board):
        """Return the probability of a hand on a board, given the other range."""
        cards = {board[place : place + 2] for place in range(0, len(board), 2)}
        if {hand[:2], hand[2:]} & cards:
            return 0.0
        return self.ranges[player][hand] * sum(
            weight
            for other, weight in self.ranges[1 - player].items()
            if not {other[:2], other[2:]} & (cards | {hand[:2], hand[2:]})
        )


def drawn(seed):
    """Return a random spot with a rake, its ranges, its generator, and its histories; mostly rivers."""
    random = np.random.default_rng(seed)
    deck = random.permutation(CARDS).tolist()
    turn = seed % 10 == 9
    board, pool = "".join(deck[: 5 - turn]), deck[5 : 5 + int(random.integers(5, 10))]
    ranges = []
    for _ in SEATS:
        hands = {
            "".join(sorted(random.choice(pool, 2, replace=False), key=CARDS.index, reverse=True))
            for _ in range(random.integers(1, 3 if turn else 5))
        }
        ranges.append({hand: float(random.choice([1.0, 0.5])) for hand in sorted(hands)})
    texts = [", ".join(f"{hand}:{weight:g}" for hand, weight in one.items()) for one in ranges]
    pot, stack = int(random.choice([10, 100])), int(random.choice([5, 50, 120]))
    bets = {"bet": "a", "raise": ""} if turn else BETS[int(random.integers(len(BETS)))]
    rake, cap = float(random.choice([0.02, 0.05, 0.1])), float(random.choice([0.3, 3.0, np.inf]))
    try:
        spot = HoldemSpot(board, texts, pot, stack, bets=bets, rake=rake, rake_cap=cap)
    except InvalidGameError:
        return drawn(seed + 1_000)
    histories = Histories(spot, ranges)
    histories.ranges = ranges
    return spot, random, histories


def behaviours_of(spot, profile):
    """Return both players' behaviour by decision and action."""
    form, lines, found = spot.public_form, lines_of(spot.public_form), []
    for player in (0, 1):
        own = {}
        for node in np.flatnonzero(form.players == player).tolist():
            for child in form.children[node].tolist():
                for hand, sequence in zip(form.states[player], form.sequences(player, child).tolist(), strict=True):
                    if sequence >= 0:
                        decision = own.setdefault((str(hand), lines[node]), {})
                        decision[str(form.actions[child])] = float(profile[player].behaviour[sequence])
        found.append(own)
    return found


@pytest.mark.parametrize("seed", range(100))
def test_a_response_to_an_opponent_who_is_locked_everywhere_is_the_optimum_of_a_linear_program(seed):
    spot, random, histories = drawn(seed)
    form = spot.public_form
    player = int(random.integers(2))
    if not histories.moves[1 - player]:
        player = 1 - player
    locks, fixed = [], {}
    for node in np.flatnonzero(form.players == 1 - player).tolist():
        actions = [str(form.actions[child]) for child in form.children[node].tolist()]
        shares = random.dirichlet(np.ones(len(actions))).round(3)
        shares[-1] = round(1.0 - shares[:-1].sum(), 3)
        line, strategy = tuple(map(str, form.path(node))), dict(zip(actions, shares.tolist(), strict=True))
        there = [decision for decision in histories.moves[1 - player] if decision[1] == line]
        fixed |= dict.fromkeys(there, strategy)
        if there:  # otherwise no hand can be dealt there
            locks.append({"seat": SEATS[1 - player], "at": ", ".join(line), "strategy": strategy})
    spot = replace(spot, bets=None, locks=locks)
    solution = solve(EpsilonNash(spot.game, spot.constraints))
    best, near = histories.most(player, fixed), 1e-7 * spot.pot
    assert solution.status is Status.CONVERGED
    assert solution.iterations == 0
    assert solution.value[player] + spot.pot / 2 == pytest.approx(best, abs=near)
    assert max(solution.regrets) <= near
    evs = histories.evs(behaviours_of(spot, solution.profile))
    assert np.array(solution.value) + spot.pot / 2 == pytest.approx(evs, abs=near)


@pytest.mark.parametrize("seed", range(100))
def test_partial_locks_leave_no_player_more_than_epsilon_to_gain_within_its_locks(seed):
    spot, random, histories = drawn(seed)
    for _ in range(20):
        tables = [drawn_lock(spot, random) for _ in range(random.integers(1, 4))]
        locked_spot = replace(spot, bets=None, locks=tables)
        try:
            constraints = locked_spot.constraints
        except InvalidConstraintError:  # they contradict each other
            continue
        tol = 1e-3 * spot.pot
        solution = solve(EpsilonNash(locked_spot.game, constraints), tol=tol) if constraints else None
        if solution is not None and solution.infeasibility is None:
            break
    else:
        raise AssertionError("all locks drawn contradict each other")
    behaviours, near = behaviours_of(locked_spot, solution.profile), 1e-7 * spot.pot
    assert solution.status is Status.CONVERGED, seed
    evs = histories.evs(behaviours)
    assert np.array(solution.value) + spot.pot / 2 == pytest.approx(evs, abs=near)
    rows = [[row for table in tables if SEATS.index(table["seat"]) == player for row in histories.rows(table, spot)]
            for player in (0, 1)]  # fmt: skip
    for player in (0, 1):
        for terms, limit in rows[player]:
            value = sum(number * histories.reach(player, behaviours[player], sequence) for sequence, number in terms)
            assert value <= limit + 1e-9
        best = histories.most(player, behaviours[1 - player], rows[player])
        assert best - evs[player] <= solution.regrets[player] + near
        assert best - evs[player] <= solution.certificate.epsilon + near <= tol + 2 * near
    told = locked(solution, locked_spot)
    about = {SEATS.index(table["seat"]) for table in tables}
    for player in (0, 1):
        if 1 - player not in about:
            assert told["lock_gain"][player] is None
            continue
        kept, broken = (
            -histories.most(1 - player, behaviours[player], part, paid_to=player, sign=-1.0)
            for part in (rows[1 - player], ())
        )
        assert told["unlocked_ev"][player] + told["lock_gain"][player] == pytest.approx(kept, abs=near)
        assert told["lock_risk"][player] == pytest.approx(max(0.0, told["unlocked_ev"][player] - broken), abs=near)
