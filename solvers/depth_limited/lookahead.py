"""A player for games that are not enumerated: it expands the rules as far as it looks ahead, and solves that tree."""

import math
from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...models.depth_limited import DecisionStep, StepAnswer, StepProgram
from ...models.depth_limited.cut_off import THRESHOLD, CutOffRules, PublicNode, PublicPath, is_beyond
from ...models.depth_limited.gadgets import whole_game_program
from ...models.saddle import PlayerView
from ...seqform.checks import check_number, check_player, check_whole
from ...seqform.errors import (
    GameTooLargeError,
    InvalidGameError,
    InvalidOptionError,
    InvalidStrategyError,
    SolverError,
    UnknownMethodError,
    UnsupportedProblemError,
    shown,
)
from ...seqform.game import Game
from ...seqform.histories import walk
from ...seqform.limits import counted_now
from ...seqform.rules import TERMINAL, Rules, public_labels
from ...seqform.strategy import Strategy
from ..methods import DepthLimitedLP, RegretMethod, find_method
from ..outcome import Options, Status
from ..regret.ccfr_theorems import payoff_range
from ..sampling.streamed_play import Answer
from .agent import MOST_ITERATIONS, TOLERANCE
from .continuations import Continuation, Playouts
from .linear_programs import ProgramStepSolver
from .method import DepthLimitedCFR
from .regret_steps import RegretStepSolver, compile_loop
from .resolving import StepSolver


@dataclass(frozen=True)
class LookaheadDecision:
    """The record of one of a player's decisions.

    Attributes
    ----------
    path : PublicPath
        The path to the public state of the decision.
    seconds : float
    leaves : int
        The number of histories of the solved tree, including those at the depth limit.
    objective : float
        The objective of the decision on that tree, in payoff units.
    gap : float
        A bound on the gain in the objective from a better decision.
    """

    path: PublicPath
    seconds: float
    leaves: int
    objective: float
    gap: float


class LookaheadPlayer:
    """A depth-limited response that is computed during play, in a game that need not be enumerated.

    Each decision solves the tree that :class:`~treeplex.models.depth_limited.cut_off.CutOffRules` describes: from the
    root along the public states of the play so far, with given values of states beyond the lookahead. Its size depends
    on the ranges and the lookahead, not on the game. With p = 1 it is a continual depth-limited best response (CDBR),
    otherwise a restricted Nash response (CDRNR) with the full gadget along the path.

    Parameters
    ----------
    game : Game or Rules
        Rules of two players, constant-sum, with the method ``public_state``.
    player : int
    model : callable
        The opponent's strategy: a function from an infoset's label and actions to probabilities.
    p : float
        The probability that the opponent follows the model, from 0 to 1; otherwise it is free.
    lookahead : int
        The number of levels of public states beyond the decision's own action, at least 1.
    values : sequence of Continuation, optional
        The values of states beyond the limit; by default both players play uniformly from there on. Among several
        continuations the opponent chooses one for each of its private states.
    method : str or Method
        ``cfr+`` or another method of regret minimisation, or ``lp``.
    seconds, tolerance, max_iterations
        As for :class:`~treeplex.Agent`, for each decision.
    threshold : float
        Actions whose probability in the player's realization plan is smaller are not played, except the most likely one
        of an infoset; the probabilities of the others are scaled to sum to one. So all later trees have at most 1 /
        threshold of the player's sequences for each private deal, and one for each public action.

    Attributes
    ----------
    decisions : list of LookaheadDecision
        The decisions so far, in order.

    Raises
    ------
    UnknownMethodError
        If the method is unknown, or a limit is invalid.
    UnsupportedProblemError
        If the game has no rules or no public states, or does not have two players.

    Notes
    -----
    A step is max over x of p xᵀ M ŷ + (1 − p) min over y of xᵀ M y on the cut-off tree, with earlier decisions on the
    path fixed; the values of the paper's function V are payoffs of M there. The paper's bounds on gain and loss hold up
    to the unknown errors of these values, and along paths not even with exact values, so nothing is proven. In games
    that can be enumerated, :meth:`strategy` returns the whole strategy, which best responses can certify. Decisions are
    kept and do not depend on the order in which they are requested.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), sections 3 and 4. Thresholds: S. Ganzfried, T. Sandholm, K. Waugh, "Strategy
    purification and thresholding", AAMAS 2012.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.depth_limited.continuations import uniformly
    >>> from treeplex.solvers.depth_limited.lookahead import LookaheadPlayer
    >>> game = load_game("goofspiel:cards=8")  # 1.6 billion leaves
    >>> player = LookaheadPlayer(game, 0, uniformly, p=1.0, lookahead=1, method="lp")
    >>> played = player.act("_", (("_", 0),))
    >>> [card for card, probability in played.items() if probability > 0.0]
    ['8']
    >>> player.decisions[0].leaves
    64
    """

    def __init__(
        self,
        game: Game | Rules,
        player: int,
        model: Answer,
        *,
        p: float,
        lookahead: int,
        values: Sequence[Continuation] | None = None,
        method: "str | DepthLimitedLP | RegretMethod" = "cfr+",
        seconds: float = math.inf,
        tolerance: float | None = None,
        max_iterations: int = MOST_ITERATIONS,
        threshold: float = THRESHOLD,
    ) -> None:
        known = game if isinstance(game, Game) else Game("", rules=game)
        if known.rules is None or public_labels(known.rules) is None or known.num_players != 2:
            raise UnsupportedProblemError(
                f"{known.spec or shown(game, 60)}: looking ahead from a public state needs two-player rules with a "
                "method named public_state"
            )
        self.rules: Rules = known.rules
        low, high = known.payoff_range or (0.0, 0.0)
        self._range = high - low
        self.player = check_player(player, 2, InvalidGameError)
        self.model = model
        self.p = float(check_number(p, "p", InvalidGameError, "[0, 1]"))
        self.lookahead = check_whole(lookahead, "lookahead", InvalidGameError, "[1, inf)")
        self.values: Sequence[Continuation] = (Playouts(),) if values is None else tuple(values)
        found = find_method(method) if isinstance(method, str) else method
        if not isinstance(found, RegretMethod | DepthLimitedLP) or isinstance(found, DepthLimitedCFR):
            raise UnknownMethodError(
                f"method {shown(method, 60)} cannot solve decisions: expected lp, cfr+, pcfr+ or dcfr"
            )
        self.method = found
        self.seconds = check_number(seconds, "seconds", InvalidOptionError, "[0, inf]")
        self.tolerance = None
        if tolerance is not None:
            self.tolerance = check_number(tolerance, "tolerance", InvalidOptionError, "[0, inf]")
        most = check_number(max_iterations, "max_iterations", InvalidOptionError, "[0, inf]")
        self.max_iterations = int(min(most, 2**31 - 1))
        self.threshold = check_number(threshold, "threshold", InvalidOptionError, "[0, 1)")
        self.decisions: list[LookaheadDecision] = []
        self._decided: dict[PublicPath, dict[Hashable, tuple[tuple[Hashable, ...], array[float]]]] = {}

    def act(self, infoset: Hashable, path: PublicPath) -> dict[Hashable, float]:
        """Return the probability of each action of the player, making the decision now if necessary.

        Parameters
        ----------
        infoset : hashable
            The infoset's label from the rules.
        path : PublicPath
            The public states of the play so far.

        Returns
        -------
        dict
            Probabilities by action; empty if the player's own decisions never lead there.

        Raises
        ------
        InvalidStrategyError
            If the player does not move at the end of the path.
        GameTooLargeError
            If the tree does not fit in memory.
        SolverError
            If a linear program has no answer within the limits.
        """
        if not path or path[-1][1] != self.player:
            raise InvalidStrategyError(f"player {self.player} does not move after {shown(path, 60)}")
        for end, (_, mover) in enumerate(path, 1):
            if mover == self.player and path[:end] not in self._decided:
                self._decide(path[:end])
        actions, shares = self._decided[path].get(infoset, ((), array("d")))
        return dict(zip(actions, shares, strict=True))

    def strategy(self, game: Game) -> Strategy:
        """Make all remaining decisions, and return the player's strategy in a game that can be enumerated.

        The strategy is uniform at infosets to which the player's own decisions never lead.
        """
        label_of = public_labels(self.rules)
        assert label_of is not None
        treeplex = game.sequence_form.treeplexes[self.player]
        behaviour = treeplex.uniform_behaviour()
        met: set[Hashable] = set()
        for history in walk(self.rules):
            if history.player == TERMINAL:
                continue
            before = () if history.before is None else history.before.data
            history.data = path = extended(before, label_of(history.state), history.player)
            if history.player != self.player or (infoset := self.rules.infoset(history.state)) in met:
                continue
            met.add(infoset)
            played = self.act(infoset, path)
            number = treeplex.find_infoset(infoset)
            if number is None:
                raise InvalidStrategyError(f"player {self.player} has no infoset {shown(infoset)} in {game.spec}")
            if played:
                start, stop = treeplex.offsets[number : number + 2].tolist()
                behaviour[start:stop] = [played.get(action, 0.0) for action in treeplex.action_labels[number]]
        return Strategy(game, self.player, behaviour)

    def _decide(self, path: PublicPath) -> None:
        """Make the decision at the end of a path; earlier decisions must have been made."""
        begun = counted_now()
        settled = {
            infoset: {action: share for action, share in zip(*played, strict=True) if share > 0.0}
            for end in range(1, len(path))
            for infoset, played in self._decided.get(path[:end], {}).items()
        }
        followed: dict[Hashable, Sequence[float]] = {}

        def follow(infoset: Hashable, actions: Sequence[Hashable]) -> Sequence[Hashable]:
            """Return the actions that the model may take: with p = 1 no other actions occur."""
            shares = self.model(infoset, tuple(actions))
            followed[infoset] = [share for share in shares if share > 0.0]
            return tuple(action for action, share in zip(actions, shares, strict=True) if share > 0.0)

        cut = CutOffRules(
            self.rules,
            self.player,
            path,
            self.lookahead,
            [each.worth(self.rules, path) for each in self.values],
            {infoset: tuple(played) for infoset, played in settled.items()},
            None if self.p < 1.0 else follow,
        )
        try:
            game = Game("a decision", rules=cut).zero_sum
        except GameTooLargeError as error:
            raise GameTooLargeError(f"{error}, or choose a smaller lookahead or a larger threshold") from None
        answer, program = self._solved(game, settled, followed)
        own = game.sequence_form.treeplexes[self.player]
        behaviour, reach = own.behaviour(answer.plan), own.reach(answer.plan)
        # Below a public state that was seen completely, later steps would solve the same tree again.
        kept = {
            infoset: node.path
            for infoset, node in cut.nodes.items()
            if infoset not in settled and (here := _following(node, path)) and (here is node or not node.is_open)
        }
        self._decided.setdefault(path, {})
        for number, (infoset, actions) in enumerate(zip(own.infoset_labels, own.action_labels, strict=True)):
            if infoset in kept:
                shares = behaviour[own.offsets[number] : own.offsets[number + 1]]
                least = min(self.threshold, shares.max() * reach[number])
                shares = np.where(shares * reach[number] < least, 0.0, shares)
                played = tuple(actions), array("d", shares / shares.sum())
                self._decided.setdefault(kept[infoset], {})[infoset] = played
        leaves, objective, gap = game.sequence_form.leaves, program.guaranteed(answer.plan), program.gap(answer)
        assert leaves is not None
        self.decisions.append(LookaheadDecision(path, counted_now() - begun, len(leaves), objective, gap))

    def _solved(
        self,
        game: Game,
        settled: Mapping[Hashable, Mapping[Hashable, float]],
        followed: Mapping[Hashable, Sequence[float]],
    ) -> tuple[StepAnswer, StepProgram]:
        """Solve a tree, and return the answer and the program."""
        view = PlayerView(game, self.player)
        own, other = view.own, view.other
        behaviour, modelled = own.uniform_behaviour(), other.uniform_behaviour()
        given = np.array([infoset in settled for infoset in own.infoset_labels], dtype=bool)
        for number in np.flatnonzero(given).tolist():
            shares = settled[own.infoset_labels[number]].values()
            behaviour[own.offsets[number] : own.offsets[number + 1]] = list(shares)
        above = np.array([not is_beyond(infoset) for infoset in other.infoset_labels], dtype=bool)
        for number in np.flatnonzero(above).tolist():
            infoset = other.infoset_labels[number]
            known = followed[infoset] if infoset in followed else self.model(infoset, other.action_labels[number])
            modelled[other.offsets[number] : other.offsets[number + 1]] = known
        step = DecisionStep(0, np.zeros(0, dtype=np.int32), ~given, given, above, None)
        payoffs = game.sequence_form.A
        matrix = payoffs if self.player == 0 else sp.csr_array(-payoffs.T)
        program = whole_game_program(view, matrix, other.plan(modelled), self.p, step, own.plan(behaviour))
        tolerance = TOLERANCE * (self._range or payoff_range(game.sequence_form) or 1.0)
        if self.tolerance is not None:
            tolerance = self.tolerance
        solver: StepSolver
        if isinstance(self.method, RegretMethod):
            compile_loop()
            solver = RegretStepSolver(self.method, view)
        else:
            solver = ProgramStepSolver.of(self.method, game)
        answer = solver.solve(program, Options(tolerance, tolerance, self.max_iterations, self.seconds))
        if solver.stopped is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if answer is None:
            raise SolverError(f"no decision was found within the limits: {solver.said(0, 1)}")
        return answer, program


def extended(path: PublicPath, label: Hashable, mover: int) -> PublicPath:
    """Extend a path of public states by the state of the next history; a state with the same label replaces the last.

    Examples
    --------
    >>> from treeplex.solvers.depth_limited.lookahead import extended
    >>> extended(extended((("", -1),), "", 0), "p", 1)  # a private deal, and a pass
    (('', 0), ('p', 1))
    """
    if path and path[-1][0] == label:
        path = path[:-1]
    return (*path, (label, mover))


def _following(node: PublicNode, path: PublicPath) -> PublicNode | None:
    """Return the public state at the end of a path if the given one is that state or follows it."""
    while node.above is not None and node.level >= len(path):
        node = node.above
    return node if node.on_path and node.level == len(path) - 1 else None
