"""The habits of a player from hand histories, and the response to them before the flop."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.constraints import LinearConstraint
from ...models.games.holdem.classes import CLASS_SIZES
from ...models.games.holdem.preflop import PREFLOP_SEATS, Preflop
from ...models.games.holdem.preflop_form import played_out
from ...models.games.holdem.preflop_solved import SolvedPreflop
from ...models.matches import Hand, Table
from ...models.observations import LineObservations, OpponentModel, clopper_pearson_intervals, hand_observations
from ...models.problems import RestrictedNash
from ...seqform.arrays import Floats
from ...seqform.checks import check_exact_number
from ...seqform.errors import InvalidStrategyError, PlayLogError, shown
from ...seqform.game import Game
from ..methods import DCFR
from ..solve import solve
from .blueprint import ModelBlueprint
from .reads import COUNTED, PRIOR, group_of
from .stages import Stage, faced

#: The tolerance of responses before the flop, in stacks.
_TOLERANCE = 1e-4
#: A class of hands that reaches a line less often than this plays the blueprint there: its response is inaccurate.
_RARE = 1e-3
#: The number of iterations in the fit of frequencies.
_FITS = 60
#: The names of the groups of actions.
_GROUPS = ("folds", "checks or calls", "bets or raises")


@dataclass(frozen=True)
class Answer:
    """The response to a player before the flop, in the model.

    Attributes
    ----------
    seat : {"sb", "bb"}
        The seat of the responding player.
    games : int
        The number of hands observed from this seat.
    bounds : int
        The number of bounds on the player's frequencies from these hands.
    guaranteed : float
        The proven payoff against every opponent within the bounds, in big blinds per hand.
    game_value : float
    exploitability : float
        The possible loss of the value of the game to any other opponent.
    """

    seat: str
    games: int
    bounds: int
    guaranteed: float
    game_value: float
    exploitability: float


@dataclass(frozen=True, eq=False)
class Habits:
    """The habits of a player in heads-up hands, and the response to them before the flop.

    Use :meth:`read` to create it.

    Attributes
    ----------
    name : str
    hands : int
        The number of hands of the player.
    p : float
        The confidence in the habits.
    counts : ndarray of float64, shape (4, 2, 8, 7, 3)
        Counts of the player's folds, checks or calls, and bets or raises: by street; by whether there was a bet to
        call; by the amount put in (less than 2 big blinds, less than 4, and so on to less than 64, more, or any
        amount if the player put in chips after the flop); and by the price of the call, or the pot if there was no
        bet.
    answers : tuple of Answer
        The responses on the button and in the big blind.
    blueprints : tuple of ModelBlueprint
        Both players' play before the flop if the bot is in seat 0, the big blind, and in seat 1.

    Notes
    -----
    Before the flop the bot plays the restricted Nash response, in the model with play after the flop, to bounds on the
    player's play (T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI
    2019). The bounds are on the frequency of each line before the flop, over all hands, and on the least frequencies of
    folds, calls and bets at each decision after the flop, averaged over the player's hands there, in situations with
    observations. The intervals hold jointly at the confidence level, if frequencies are equal in equal situations. The
    player is assumed to keep to the bounds with probability p (M. Johanson, M. Zinkevich, M. Bowling, "Computing robust
    counter-strategies", NIPS 2007). The model of the player's range at the flop is the blueprint with the weight of
    each action scaled to its observed frequency.
    """

    name: str
    hands: int
    p: float
    counts: Floats
    answers: tuple[Answer, Answer]
    blueprints: tuple[ModelBlueprint, ModelBlueprint]

    @classmethod
    def read(
        cls,
        hands: Iterable[Hand],
        name: str,
        table: Table,
        *,
        p: float | Fraction = Fraction(3, 4),
        confidence: float = 0.95,
        streets: int = 2,
    ) -> "Habits":
        """Fit a player, and compute the responses.

        Parameters
        ----------
        hands : iterable of Hand
            Such as :class:`~treeplex.models.matches.HandHistories`; hands of other players are ignored.
        name : str
            The name of the player.
        table : Table
            The table at which the bot will play.
        p : float
            From 0 to 1: the confidence in the bounds. With 1, the loss to other opponents is not limited.
        confidence : float
            The joint confidence level of all bounds of a seat.
        streets : int
            Betting rounds of the model after the flop.

        Raises
        ------
        InvalidStrategyError
            If p is invalid.
        PlayLogError
            If there is no heads-up hand of the player in one of the seats, or no strategy fits the bounds.

        Examples
        --------
        Two hundred hands of three big blinds against a player who always calls:

        >>> from treeplex.models.matches import HandHistories, PhhWriter, Table, match
        >>> from treeplex.models.matches.simple import CallBot, RaiseBot
        >>> from treeplex.solvers.matches.habits import Habits
        >>> table = Table(stack=300)
        >>> with PhhWriter("seen.phhs", ["bold", "calls"]) as writer:
        ...     _ = match([RaiseBot(0.5), CallBot()], table, hands=200, duplicate=True, each=writer.write)
        >>> habits = Habits.read(HandHistories("seen.phhs"), "calls", table, streets=1)
        >>> folds, calls, raises = habits.counts[0, 1].sum(axis=(0, 1))
        >>> float(folds), bool(calls > 0), float(raises)
        (0.0, True, 0.0)
        >>> all(answer.guaranteed > answer.game_value for answer in habits.answers)
        True
        """
        trusted = float(check_exact_number(p, "p", InvalidStrategyError, "[0, 1]"))
        kept = [hand for hand in hands if hand.seats == 2 and name in hand.players]
        if not kept:
            raise PlayLogError(f"there is no heads-up hand of {shown(name, 60)}, expected at least one")
        answers, blueprints = [], []
        base = ModelBlueprint(table, streets)
        rules = Preflop(stack=base.stack, continuations=0, streets=streets)
        game, counts = rules.game, _counts(kept, name)
        half = (1.0 + confidence) / 2.0  # for lines, and for play after the flop
        for player in (0, 1):
            # Shown hands would add many bounds, and the joint intervals would be wider. So only lines count.
            seen = replace(hand_observations(kept, game, player, opponent=name), shown=None)
            lines = OpponentModel.from_observations(seen, half, bonferroni=True).constraints
            bounds = (*lines, *_shares(rules, game, 1 - player, counts, half))
            solution = solve(RestrictedNash(game, bounds, p=p), DCFR(), tol=_TOLERANCE * base.stack)
            if solution.infeasibility is not None:
                raise PlayLogError(f"no strategy fits the hands of {name}: {solution.message}; use a higher confidence")
            certificate = solution.certificate
            assert certificate.gain is not None
            assert certificate.game_value is not None
            blueprints.append(base.replaced(_behaviour(base, SolvedPreflop(rules, solution.profile), player, seen)))
            value, loss = float(certificate.game_value), float(certificate.exploitability)
            answers.append(
                Answer(
                    PREFLOP_SEATS[player],
                    seen.num_games,
                    len(bounds),
                    value + float(certificate.gain),
                    value,
                    loss,
                )
            )
        # The button is seat 1 of the table, and player 0 of the model.
        return cls(name, len(kept), trusted, counts, (answers[0], answers[1]), (blueprints[1], blueprints[0]))


def _behaviour(
    base: ModelBlueprint, solved: SolvedPreflop, player: int, seen: LineObservations
) -> dict[tuple[str, ...], Floats]:
    """Return the response's play before the flop, and the estimated play of the other player, after each line."""
    found: dict[tuple[str, ...], Floats] = {}
    # Weights of the other player's classes, by line.
    weights: dict[tuple[str, ...], Floats] = {(): CLASS_SIZES.astype(np.float64)}
    for line in base.lines():
        played, own = base.behaviour(line), len(line) % 2 == player
        node = solved.at(", ".join(line))
        if own:
            found[line] = np.where(node.reaches[player] > _RARE, node.strategy, played)
        else:
            counts = seen.passed[seen.form.children[seen.form.find(", ".join(line))]]
            usual = played @ weights[line] / weights[line].sum()
            often = (counts + PRIOR * usual) / (counts.sum() + PRIOR)
            found[line] = tilted(played, weights[line], often)
        for action, share in zip(base.menu(line), found[line], strict=True):
            weights[*line, action] = weights[line] * (1.0 if own else share)
    return found


def tilted(behaviour: Floats, weights: Floats, often: Floats) -> Floats:
    """Scale the weight of each action of a behaviour so that actions have given frequencies.

    Among all behaviours with these frequencies, the result has the least Kullback-Leibler divergence from the given
    one.

    Parameters
    ----------
    behaviour : ndarray of float64, shape (actions, n)
        Positive probabilities.
    weights : ndarray of float64, shape (n,)
    often : ndarray of float64, shape (actions,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.matches.habits import tilted
    >>> found = tilted(np.array([[0.9, 0.1], [0.1, 0.9]]), np.ones(2), np.array([0.7, 0.3]))
    >>> found.mean(axis=1).round(6), found.sum(axis=0).round(6)
    (array([0.7, 0.3]), array([1., 1.]))
    """
    found: Floats = behaviour / behaviour.sum(axis=0)
    for _ in range(_FITS):
        now = found @ weights / weights.sum()
        found = found * (often / np.maximum(now, 1e-12))[:, None]
        found = found / found.sum(axis=0)
    return found


def _counts(hands: Iterable[Hand], name: str) -> Floats:
    """Return the counts of a player's groups of actions, by situation."""
    counts = np.zeros(COUNTED)
    for hand in hands:
        own, blinds = hand.players.index(name), list[Any](hand.blinds)
        stage = Stage(blinds, max(blinds), min(list[Any](hand.stacks)), max(blinds))
        for street, seat, action in hand.history:
            stage.go_to(street)
            if seat == own:
                counts[(*stage.faces(seat), group_of(action))] += 1.0
            stage.take(seat, action)
    return counts


def _shares(rules: Preflop, game: Game, player: int, counts: Floats, confidence: float) -> Iterator[LinearConstraint]:
    """Yield lower bounds on the frequencies of a player's groups of actions at its decisions after the flop.

    The player is free once it has put in chips there, because its hands then depend on all its earlier actions. The
    bounds are Clopper–Pearson bounds, and hold jointly at the confidence level.
    """
    after = counts[1 : 1 + rules.streets]
    times = np.repeat(after.sum(axis=-1, keepdims=True), 3, axis=-1)
    seen = np.flatnonzero(times)
    least = np.zeros(after.shape)
    taken, number = (np.take(one, seen).astype(np.int64) for one in (after, times))
    least.flat[seen] = clopper_pearson_intervals(taken, number, confidence, comparisons=max(1, len(seen))).lower
    form, states, dealt = game.public_form, played_out(rules).states, CLASS_SIZES / CLASS_SIZES.sum()
    assert form is not None
    entered = [False]
    for node, parent in enumerate(form.parents.tolist()[1:], 1):
        own = form.players[parent] == player and states[parent].street > 0
        entered.append(entered[parent] or (own and form.actions[node] not in ("fold", "check")))
    for node in np.flatnonzero(form.players == player).tolist():
        state, children = states[node], form.children[node].tolist()
        if not state.street or entered[node]:
            continue
        price = float(max(state.paid) - state.paid[player])
        street, *faces = faced(state.street, price, float(state.paid[player]), float(sum(state.paid)))
        shares = least[(street - 1, *faces)].copy()
        groups = [group_of(str(form.actions[child])) for child in children]
        if 2 not in groups:  # after an all-in bet, a raise counts as a call
            shares[1] += shares[2]
        for group in dict.fromkeys(groups):
            share = float(shares[group])
            if share > 0.0:
                terms: dict[int, float] = {}
                for child in (one for one, of in zip(children, groups, strict=True) if of == group):
                    terms |= zip(form.sequences(player, child).tolist(), dealt.tolist(), strict=True)
                for sequence, weight in zip(form.sequences(player, node).tolist(), dealt.tolist(), strict=True):
                    terms[sequence] = terms.get(sequence, 0.0) - share * weight
                line = ", ".join(map(str, form.path(node)))
                title = f"{PREFLOP_SEATS[player]} after {line} {_GROUPS[group]} at least {share:.1%}"
                yield LinearConstraint(player, terms, 0.0, title, ">=", fingerprint=game.fingerprint)
