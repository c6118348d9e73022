"""The value of a game beyond the depth limit under given play, without solving the rest of the game."""

import zlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...models.depth_limited.cut_off import PLAYOUTS, PublicPath, Worth
from ...seqform.checks import check_whole
from ...seqform.errors import InvalidOptionError, UnsupportedProblemError
from ...seqform.rules import CHANCE, TERMINAL, Rules, outcomes_of
from ..sampling.streamed_play import Answer


@runtime_checkable
class Continuation(Protocol):
    """An object that gives the values of states at a depth limit.

    Payoffs of a step are then bilinear in both players' ranges, so that the value of a range at the limit follows from
    its states.
    """

    def worth(self, rules: Rules, path: PublicPath) -> Worth:
        """Return a function from a state of the rules to both players' expected payoffs from that state onwards.

        Parameters
        ----------
        rules : Rules
        path : PublicPath
            The path to the decision, which seeds random numbers, so that equal decisions get equal values.
        """
        ...


def uniformly(infoset: Hashable, actions: Sequence[Hashable]) -> Sequence[float]:
    """Return equal probabilities for all actions.

    Examples
    --------
    >>> from treeplex.solvers.depth_limited.continuations import uniformly
    >>> uniformly("K_", ("p", "b"))
    [0.5, 0.5]
    """
    return [1.0 / len(actions)] * len(actions)


@dataclass(frozen=True)
class Playouts:
    """A continuation in which players follow given strategies; its values are simulated means or come from a formula.

    Parameters
    ----------
    answers : pair of callable, optional
        The strategies of players 0 and 1, such as those of a blueprint; uniform by default. Rules may provide the
        payoffs of uniform play by a method ``uniform_payoffs(state)``.
    games : int
        The number of games simulated from each state; 0 for the exact mean, by a walk over all continuations.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.depth_limited.continuations import Playouts
    >>> rules = load_game("goofspiel:cards=3").rules
    >>> worth = Playouts().worth(rules, ())
    >>> worth(rules.child(rules.initial_state(), "3"))
    (1.0, -1.0)
    """

    answers: tuple[Answer, Answer] | None = None
    games: int = PLAYOUTS

    def __post_init__(self) -> None:
        check_whole(self.games, "playouts", InvalidOptionError, "[0, inf)")

    def worth(self, rules: Rules, path: PublicPath) -> Worth:
        """Return the function from a state to the mean payoffs of its games."""
        formula = getattr(rules, "uniform_payoffs", None) if self.answers is None else None
        if formula is not None and formula(rules.initial_state()) is not None:
            return formula  # type: ignore[no-any-return]
        answers = self.answers or (uniformly, uniformly)
        if not self.games:
            return _mean_of(rules, answers)
        rng = np.random.default_rng(zlib.crc32(repr(path).encode()))
        outcomes = outcomes_of(rules)

        def played(state: Any) -> Sequence[float]:
            while (mover := rules.player(state)) != TERMINAL:
                if mover == CHANCE:
                    actions, shares = zip(*outcomes(state), strict=True)
                else:
                    actions = tuple(rules.actions(state))
                    shares = tuple(answers[mover](rules.infoset(state), actions))
                place = int(np.searchsorted(np.cumsum(np.array(shares, dtype=float)), rng.random(), side="right"))
                state = rules.child(state, actions[min(place, len(actions) - 1)])
            return [float(payoff) for payoff in rules.payoffs(state)]

        def mean(state: Any) -> list[float]:
            found: list[float] = np.mean([played(state) for _ in range(self.games)], axis=0).tolist()
            return found

        return mean


def drawn_actions(rules: Rules, player: int, games: int = 200) -> set[str]:
    """Return the names of the actions that a player can take, collected from games with random moves.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.depth_limited.continuations import drawn_actions
    >>> sorted(drawn_actions(load_game("leduc").rules, 0))
    ['c', 'f', 'r']
    """
    rng, outcomes, found = np.random.default_rng(0), outcomes_of(rules), set()
    for _ in range(games):
        state = rules.initial_state()
        while (mover := rules.player(state)) != TERMINAL:
            actions = [one for one, _ in outcomes(state)] if mover == CHANCE else list(rules.actions(state))
            found |= set(map(str, actions)) if mover == player else set()
            state = rules.child(state, actions[rng.integers(len(actions))])
    return found


def _mean_of(rules: Rules, answers: tuple[Answer, Answer]) -> Worth:
    """Return the function from a state to both expected payoffs, by a walk over all continuations."""
    outcomes = outcomes_of(rules)

    def mean(state: Any) -> tuple[float, float]:
        mover = rules.player(state)
        if mover == TERMINAL:
            first, second = map(float, rules.payoffs(state))
            return first, second
        if mover == CHANCE:
            moves = [(action, float(share)) for action, share in outcomes(state)]
        else:
            actions = tuple(rules.actions(state))
            moves = list(zip(actions, answers[mover](rules.infoset(state), actions), strict=True))
        paid = [(share, mean(rules.child(state, action))) for action, share in moves if share > 0.0]
        return sum(share * one for share, (one, _) in paid), sum(share * two for share, (_, two) in paid)

    return mean


def biased(answer: Answer, preferred: Hashable, times: float = 5.0) -> Answer:
    """Return a strategy with one action's weight multiplied by a factor, and the others in the same proportions.

    Examples
    --------
    >>> from treeplex.solvers.depth_limited.continuations import biased, uniformly
    >>> biased(uniformly, "r")("K_", ("f", "r"))
    [0.16666666666666666, 0.8333333333333334]
    """

    def shares(infoset: Hashable, actions: tuple[Hashable, ...]) -> list[float]:
        weights = [
            share * (times if str(action) == str(preferred) else 1.0)
            for action, share in zip(actions, answer(infoset, actions), strict=True)
        ]
        total = sum(weights)
        return [weight / total for weight in weights]

    return shares


@dataclass(frozen=True)
class CheckDown:
    """A continuation for poker: both players check or call to the showdown, and values are equities.

    The rules need a method ``betting(state)``, like those of Kuhn and Leduc poker.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.depth_limited.continuations import CheckDown
    >>> rules = load_game("leduc").rules
    >>> state = rules.initial_state()
    >>> for step in ("Ks", "Qs", "r"):
    ...     state = rules.child(state, step)
    >>> first, second = CheckDown().worth(rules, ())(state)  # the pot is 6 after a call
    >>> round(first, 6), round(second, 6)
    (1.5, -1.5)
    """

    def worth(self, rules: Rules, path: PublicPath) -> Worth:
        """Return the function from a state to its exact equity."""
        offered = getattr(rules, "betting", None)
        if offered is None:
            raise UnsupportedProblemError(
                "values=checkdown needs poker rules with a method named betting; otherwise, use uniform or a "
                "file of strategies"
            )
        outcomes = outcomes_of(rules)

        def equity(state: Any) -> tuple[float, float]:
            while (mover := rules.player(state)) != TERMINAL:
                if mover == CHANCE:
                    after = [(float(chance), equity(rules.child(state, card))) for card, chance in outcomes(state)]
                    first, second = (sum(chance * paid[player] for chance, paid in after) for player in (0, 1))
                    return first, second
                state = rules.child(state, offered(state).call)
            first, second = map(float, rules.payoffs(state))
            return first, second

        return equity
