"""The terms that a saddle program adds to a game in public form, in the arrays of the compiled loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.constraints import LinearConstraint
from ...models.problems.robust import PartlyFree
from ...models.saddle import REPLY, SAFETY, PlayerView, Saddle
from ...seqform.arrays import Floats, Indices
from ...seqform.game import Game
from ...seqform.polytope import best_response_value
from ...seqform.public_form import PublicForm
from ...seqform.public_types import sequences_of_types, with_types
from ...seqform.strategy import Profile, Strategy
from ..outcome import Options
from .arrays import CALL_COLUMNS, COUNTED, PRICE, PRICES, STAKE, TermArrays
from .layout import PublicLayout
from .limits import Limits

#: The initial bound on a multiplier, relative to the possible value of one unit of its row.
FIRST_STAKE = 0.25
#: Private states with a probability below this fraction of the largest count with this fraction.
_LEAST_DEALT = 1e-6
#: The factor by which a limiting stake is raised, and the fraction of the stake from which it limits a multiplier.
RAISE, NEAR_STAKE = 4.0, 0.6


def takes(saddle: Saddle) -> bool:
    """Whether the loop on the public form can express a program: linear rows with their own prices, or a floor."""
    rows = [each for each in (saddle.own, saddle.other) if each is not None]
    linear = all(isinstance(one, LinearConstraint) for one in saddle.constraints)
    replies = saddle.view.replies
    typed = isinstance(replies, PartlyFree) and replies.part is replies.plans and replies.share > 0.0
    return (
        (replies is None or (typed and saddle.weight == 1 and saddle.tilt is None and saddle.own is None))
        and linear
        and not any(each.shared for each in rows)
        and (saddle.floor is None or (saddle.weight is None and saddle.tilt is not None and not rows))
        and (saddle.other is None or saddle.weight == 1)
    )


@dataclass(frozen=True, eq=False)
class PublicTerms:
    """A saddle program on a game in public form.

    Parameters
    ----------
    saddle : Saddle

    Attributes
    ----------
    limits : tuple of Limits or None
        For each player: constraints on the probabilities of single actions.
    rows : tuple of Constraint
        The other constraints, player 0's first, whose multipliers are learned.
    """

    saddle: Saddle
    limits: tuple[Limits | None, Limits | None] = field(init=False, kw_only=True)
    rows: tuple[LinearConstraint, ...] = field(init=False, kw_only=True)

    def __post_init__(self) -> None:
        treeplexes = self.saddle.view.game.sequence_form.treeplexes
        limits: list[Limits | None] = [None, None]
        rows: list[Any] = []
        for player, treeplex in enumerate(treeplexes):
            own = [one for one in self.saddle.constraints if one.player == player]
            found, others = (None, own) if self.penalty(player) is not None else Limits.among(own, treeplex)
            limits[player] = found
            rows += others
        object.__setattr__(self, "limits", (limits[0], limits[1]))
        object.__setattr__(self, "rows", tuple(rows))

    @classmethod
    def of(cls, saddle: Saddle) -> "PublicTerms":
        """Return a program in the form of the loop."""
        return cls(saddle) if saddle.view.replies is None else TypedTerms.posed(saddle)

    def answer(self, profile: Profile) -> tuple[Profile, dict[str, Floats]]:
        """Convert a profile of the solved game to the problem's game; return it with its dual certificate."""
        return profile, {}

    @property
    def form(self) -> PublicForm:
        """The public form of the game."""
        form = self.saddle.view.game.public_form
        assert form is not None
        return form

    @property
    def player(self) -> int:
        """The player of the program."""
        return self.saddle.view.player

    def penalty(self, player: int) -> float | None:
        """Return the cost of a unit of violation to a player; ``None`` if its constraints are hard."""
        rows = self.saddle.own if player == self.player else self.saddle.other
        return None if rows is None or rows.penalty is None else float(rows.penalty)

    def scales(self, price: float = 0.0) -> Floats:
        """Return the factors of leaf payoffs: ω plus the price of the floor for the player, 1 for the other."""
        found = np.ones(2)
        found[self.player] = float(self.saddle.weight or 0.0) + price
        return found

    @cached_property
    def most(self) -> float:
        """A bound on the absolute value of the objective."""
        tilt = self.saddle.tilt
        tilted = 0.0 if tilt is None else best_response_value(self.saddle.view.own, np.abs(tilt))
        return 1.001 * (tilted + float(self.saddle.weight or 0.0) * self.form.payoff_scale)

    @cached_property
    def layout(self) -> PublicLayout:
        """The game in the loop's arrays; boards are equivalent if the program does not distinguish them."""
        whole = PublicLayout(self.form)
        if not self.form.symmetries or all(self._is_alike(whole, player) for player in (0, 1)):
            return whole
        return PublicLayout(self.form, ())

    @cached_property
    def _vectors(self) -> tuple[list[Floats], list[Floats]]:
        """The vectors over each player's sequences that may distinguish boards: rows, limits and the tilt."""
        found: tuple[list[Floats], list[Floats]] = ([], [])
        sizes = self.form.num_sequences
        for row in self.rows:
            vector = np.zeros(sizes[row.player])
            vector[row.indices] = row.coefficients
            found[row.player].append(vector)
        for player, limits in enumerate(self.limits):
            if limits is not None:
                found[player].extend([limits.least, limits.free.astype(np.float64)])
        if self.saddle.tilt is not None:
            found[self.player].append(np.asarray(self.saddle.tilt))
        return found

    def _is_alike(self, layout: PublicLayout, player: int) -> bool:
        """Whether a player's sequences that a layout merges have the same numbers in a program."""
        if not self._vectors[player]:
            return True
        places, stands = self._positions(layout, player)[0], layout.stands_for(player)
        known = np.flatnonzero(places >= 0)
        group = stands[places[known]]
        order = np.argsort(group, kind="stable")
        same = np.diff(group[order]) == 0
        for vector in self._vectors[player]:
            sizes = np.abs(vector).max(initial=0.0)
            if (np.abs(np.diff(vector[known][order]))[same] > 1e-12 * sizes).any():
                return False
        return True

    @staticmethod
    def _positions(layout: PublicLayout, player: int) -> tuple[Indices, npt.NDArray[np.bool_]]:
        """Return the position of each of a player's sequences, −1 for the first, and whether it is walked."""
        form = layout.form
        places = np.full(form.num_sequences[player], -1)
        walked = np.zeros(len(places), dtype=bool)
        for node in np.flatnonzero(form.players == player).tolist():
            sequences = np.array([form.sequences(player, child) for child in form.children[node].tolist()])
            found = layout.places(node)
            kept = sequences >= 0
            places[sequences[kept]] = found[kept]
            walked[sequences[kept]] = layout.numbers[form.boards[node]] >= 0
        return places, walked

    @cached_property
    def _placed(self) -> tuple[tuple[Indices, npt.NDArray[np.bool_]], tuple[Indices, npt.NDArray[np.bool_]]]:
        return self._positions(self.layout, 0), self._positions(self.layout, 1)

    def _laid_out(self, player: int, vector: Any, fill: float = 0.0) -> Floats:
        """Return numbers over a player's sequences in the layout of its regrets."""
        places, walked = self._placed[player]
        found = np.full(self.layout.sizes[player], fill)
        found[places[walked]] = vector[walked]
        return found

    @property
    def changes(self) -> tuple[bool, bool]:
        """Whether each player has payments in addition to leaves."""
        first, second = (
            any(row.player == player for row in self.rows) or (player == self.player and self.saddle.tilt is not None)
            for player in (0, 1)
        )
        return first, second

    def arrays(self, number: Any) -> TermArrays:
        """Return the arrays of the compiled loop, with payments and limits of a number type."""
        none = np.zeros(0, dtype=number)
        tilts, payments, least, free = [], [], [], []
        for player, limits in enumerate(self.limits):
            tilted = player == self.player and self.saddle.tilt is not None
            tilt = self.saddle.tilt / self._weights[player] if tilted else none
            tilts.append(self._laid_out(player, tilt).astype(number) if tilted else none)
            paid = np.zeros(self.layout.sizes[player] if self.changes[player] else 0, dtype=number)
            payments.append(tilts[-1].copy() if tilted else paid)
            least.append(none if limits is None else self._laid_out(player, limits.least).astype(number))
            free.append(none if limits is None else self._laid_out(player, limits.free, 1.0).astype(number))
        floor = [-1.0, 0.0] if self.saddle.floor is None else [float(self.player), float(self.saddle.floor)]
        entries = [self._entries(row) for row in self.rows]
        return TermArrays(
            payments=tuple(payments),
            tilts=tuple(tilts),
            least=tuple(least),
            free=tuple(free),
            scales=self.scales(),
            owners=np.array([row.player for row in self.rows], dtype=np.uint64),
            limits=np.array([*(self.limit(row) for row in self.rows), 0.0]),
            starts=np.cumsum([0, *(len(places) for places, _ in entries)]).astype(np.uint64),
            places=_joined([places for places, _ in entries], np.uint64),
            coefficients=_joined([numbers for _, numbers in entries], np.float64),
            **self._met(),
            floor=np.array(floor),
        )

    @staticmethod
    def limit(row: LinearConstraint) -> float:
        """Return the limit of a row minus the contribution of the empty sequence."""
        return row.limit - float(row.coefficients[row.indices == 0].sum())

    def _entries(self, row: LinearConstraint) -> tuple[Indices, Floats]:
        """Return the positions at which a row's coefficients are paid, on walked boards."""
        places, walked = self._placed[row.player]
        kept = walked[row.indices]
        own = row.indices[kept]
        return places[own], row.coefficients[kept] / self._weights[row.player][own]

    def _met(self) -> dict[str, Any]:
        """Return the positions of rows' reaches in walks; for equivalent boards, those on the board that is walked."""
        layout, rows, boards, reaches, shares = self.layout, [], [], [], []
        roots = np.array([len(layout.shapes[shape].entries) for shape in layout.shape_of])
        widths = layout.widths
        for number, row in enumerate(self.rows):
            player = row.player
            kept = row.indices > 0
            places = self._placed[player][0][row.indices[kept]]
            at, back = np.unique(places, return_inverse=True)
            board = np.searchsorted(layout.bases[1:, player], at, side="right")
            rows.append(np.full(len(at), number))
            boards.append(2 * board + player)
            reaches.append(at - layout.bases[board, player] + roots[board] * widths[board, player])
            weights = self._weights[player][row.indices[kept]]
            shares.append(np.bincount(back, row.coefficients[kept] / weights))
        board_of = _joined(boards, np.int64)
        order = np.argsort(board_of, kind="stable")
        starts = np.searchsorted(board_of[order], np.arange(2 * len(layout.boards) + 1))
        return {
            "met": starts.astype(np.uint64),
            "rows": _joined(rows, np.uint64)[order],
            "reaches": _joined(reaches, np.uint64)[order],
            "shares": _joined(shares, np.float64)[order],
        }

    def first_calls(self) -> Floats:
        """Return the calls before the first update: no multipliers, and the first stakes."""
        calls = np.zeros((len(self.rows) + 1, CALL_COLUMNS))
        scale = self.form.payoff_scale
        for number, row in enumerate(self.rows):
            penalty = self.penalty(row.player)
            if penalty is None:
                calls[number, STAKE] = FIRST_STAKE * scale * self._worth(row)
            else:
                calls[number, STAKE] = penalty
        if self.saddle.tilt is not None:
            tilt = best_response_value(self.saddle.view.own, np.abs(self.saddle.tilt))
            calls[-1, STAKE] = 4.0 * (tilt or 1.0) / (scale or 1.0)
        return calls

    def _worth(self, row: LinearConstraint) -> float:
        """Return the probability of the private states that a row concerns, per unit of its coefficients.

        Rows also apply to states that are never dealt.
        """
        dealt = self._dealt[row.player]
        kept = row.indices > 0
        sizes = np.abs(row.coefficients[kept]) / np.maximum(dealt[row.indices[kept]], _LEAST_DEALT * dealt[1:].max())
        return 1.0 / float(sizes.max(initial=0.0) or 1.0)

    def _by_sequence(self, player: int, of_states: Floats) -> Floats:
        """Return the number of each sequence's private state; 1 for the empty sequence."""
        found = np.ones(self.form.num_sequences[player])
        for node in np.flatnonzero(self.form.players == player).tolist():
            for child in self.form.children[node].tolist():
                sequences = self.form.sequences(player, child)
                kept = sequences >= 0
                found[sequences[kept]] = of_states[kept]
        return found

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """The reach at the root, which is 1 in plans; it is positive even for states that are not dealt."""
        first, second = (
            self._by_sequence(player, np.where(own > 0.0, own, np.inf)) for player, own in enumerate(self.form.weights)
        )
        return first, second

    @cached_property
    def _dealt(self) -> tuple[Floats, Floats]:
        """The probability of each sequence's private state."""
        weights = self.form.weights
        first, second = (
            self._by_sequence(player, self.form.arrival(player, 0, weights[1 - player]) * weights[player])
            for player in (0, 1)
        )
        return first, second

    @cached_property
    def _opposed(self) -> list[tuple[int, int]]:
        """The pairs of rows that form an equation."""
        known: dict[Any, int] = {}
        found = []
        for number, row in enumerate(self.rows):
            key = row.player, row.indices.tobytes(), (-row.coefficients).tobytes(), -row.limit
            if key in known:
                found.append((known[key], number))
            known[row.player, row.indices.tobytes(), row.coefficients.tobytes(), row.limit] = number
        return found

    @staticmethod
    def average_prices(calls: Floats) -> Floats:
        """Return average multipliers of the rows, followed by that of the floor."""
        found: Floats = calls[:, PRICE].copy()
        np.divide(calls[:, PRICES], calls[:, COUNTED], out=found, where=calls[:, COUNTED] > 0.0)
        return found

    def multipliers(self, calls: Floats, plans: Sequence[Floats]) -> dict[str, float]:
        """Return average multipliers by name, with the multipliers of limits that give the tightest proof."""
        view, prices = self.saddle.view, self.average_prices(calls).tolist()
        for one, other in self._opposed:  # only their difference matters
            both = min(prices[one], prices[other])
            prices[one], prices[other] = prices[one] - both, prices[other] - both
        found = {row.name: price for row, price in zip(self.rows, prices, strict=False)}
        for player, limits in enumerate(self.limits):
            if limits is None:
                continue
            seat = view if player == view.player else view.swapped
            payoffs = seat.own_gradient(plans[1 - player])
            if player == view.player:
                payoffs = payoffs * float(self.scales(prices[-1])[player])
                if self.saddle.tilt is not None:
                    payoffs = payoffs + self.saddle.tilt
            for row, price in zip(self.rows, prices, strict=False):
                if row.player == player:
                    payoffs[row.indices] -= price * row.coefficients
            found |= limits.prices(payoffs)
        return found | ({} if self.saddle.floor is None else {SAFETY: prices[-1]})

    def raise_stakes(self, calls: Floats, violations: Mapping[str, float], options: Options) -> None:
        """Raise the stakes that limit the multipliers of violated rows."""
        names = [row.name for row in self.rows]
        hard = [self.penalty(row.player) is None for row in self.rows]
        if self.saddle.floor is not None:
            names.append(SAFETY)
            hard.append(True)
        for call, (name, may_rise) in enumerate(zip(names, hard, strict=True)):
            allowed = options.tol if name == SAFETY else options.violation
            if may_rise and violations[name] > allowed and calls[call, PRICE] > NEAR_STAKE * calls[call, STAKE]:
                calls[call, STAKE] *= RAISE


def no_terms(number: Any, num_boards: int) -> TermArrays:
    """Return the arrays of the compiled loop for a problem without terms."""
    none, no_places = np.zeros(0, dtype=number), np.zeros(0, dtype=np.uint64)
    return TermArrays(
        payments=(none, none),
        tilts=(none, none),
        least=(none, none),
        free=(none, none),
        scales=np.ones(2),
        owners=no_places,
        limits=np.zeros(1),
        starts=np.zeros(1, dtype=np.uint64),
        places=no_places,
        coefficients=np.zeros(0),
        met=np.zeros(2 * num_boards + 1, dtype=np.uint64),
        rows=no_places,
        reaches=no_places,
        shares=np.zeros(0),
        floor=np.array([-1.0, 0.0]),
    )


@dataclass(frozen=True, eq=False)
class TypedTerms(PublicTerms):
    """A program against an opponent who, with probability p, plays a plan ŷ under constraints, and is otherwise free.

    The opponent has one of two types, which the player does not see: ŷ is the play of the first type.

    Attributes
    ----------
    outer : Saddle
        The program, with the opponent's plans p ŷ + (1 − p) y.
    places : tuple of ndarray of int
        The sequences of both types in the game with types.
    """

    outer: Saddle
    places: tuple[Indices, Indices]

    @classmethod
    def posed(cls, saddle: Saddle) -> "TypedTerms":
        """Return the program on the game with types."""
        view = saddle.view
        form, other = view.game.public_form, 1 - view.player
        assert form is not None
        assert isinstance(view.replies, PartlyFree)
        typed = with_types(form, other, view.replies.share)
        places = sequences_of_types(form, typed, other)
        game = Game.from_public_form(typed, view.game.name)
        rows = []
        for one in saddle.other_rows.constraints:
            assert isinstance(one, LinearConstraint)
            terms = zip(places[0][one.indices].tolist(), one.coefficients.tolist(), strict=True)
            rows.append(LinearConstraint(other, dict(terms), one.limit, one.name))
        kept = replace(saddle.other_rows, constraints=tuple(rows), size=typed.num_sequences[other])
        return cls(Saddle(PlayerView(game, view.player), weight=1.0, other=kept), saddle, places)

    def answer(self, profile: Profile) -> tuple[Profile, dict[str, Floats]]:
        """Return the player's strategy and the opponent's mixture of both types, and both types' plans."""
        player, view = self.player, self.outer.view
        assert view.replies is not None
        first, second = (profile[1 - player].plan[places] for places in self.places)
        reply = np.concatenate([first, second[1:]])
        plans = self.outer.seated(profile[player].plan, reply)
        found = [Strategy.from_plan(view.game, seat, plan) for seat, plan in enumerate(plans)]
        return Profile(found), {REPLY: reply}


def _joined(parts: Sequence[Any], number: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=number), *(np.asarray(one).astype(number) for one in parts)])
