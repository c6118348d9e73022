"""Heads-up hold'em from the blinds to the river, on all flops or on a set of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from ....seqform.arrays import Floats, Indices
from ....seqform.checks import Explained, check_choice, check_type, check_whole, is_number
from ....seqform.cut_form import CutForm, beginning
from ....seqform.errors import InvalidGameError, shown
from ....seqform.factored import FactoredPayoff
from ....seqform.game import Game
from ....seqform.interchange.toml_table import Declared, Table
from ....seqform.public_form import Boards, PublicForm, Symmetry
from ....seqform.public_payoff import Leaves
from ....seqform.rules import CHANCE, TERMINAL
from .bets import Betting, unrolled
from .board_sets import BoardSet, is_uneven
from .cards import DECKS, HANDS, Range, read_board
from .classes import CLASS_OF_HAND, CLASSES
from .flops import WeightedBoard, flop_classes
from .posts import Amount
from .preflop import OPENINGS, PREFLOP_SEATS, Preflop
from .preflop import Betting as PreflopState
from .showdown import alive, fold_payoff, showdown_payoff
from .spot import HoldemSpot
from .spot_tree import SpotTree

#: The chips of a big blind after the flop, by default.
_CHIPS = 100
#: Bytes that a hand takes on a board once a part is built, as measured on a flop of 5.2 million hands.
_TABLE = 40
#: The default tolerance, as a share of the pot before the first action.
_TOLERANCE = 0.005
#: The keys of a file's top level that are not rules of the play before the flop.
_TABLES = ("flops", "deck", "chips", "openings", "limps", "ranges", "bets", "thresholds")
_RULES = ("stack", "raises", "small_blind", "ante", "bb_ante", "straddle")
KEYS = (*_TABLES, *_RULES)


@dataclass(frozen=True, eq=False)
class FlopsGame(Explained, Declared):
    """Heads-up no-limit hold'em from the blinds to the river, on a set of flops.

    Before the flop hands are in 169 classes, and the betting is that of
    :class:`~treeplex.models.games.holdem.Preflop`; from the flop on every hand is its own, and the betting is that of
    spots. Chance deals one of the flops, in proportion to the flops that it stands for, and then the hands from the
    cards that are left: with all 1,755 classes of flops this is the whole game. The small blind is on the button
    (player 0, ``sb``), so the big blind (player 1, ``bb``) is out of position after the flop.

    Parameters
    ----------
    flops : str or sequence of str
        ``"flops:25"``, ``"flops:all"`` or a list of flops with weights, as for
        :class:`~treeplex.models.games.holdem.BoardSet`.
    rules : Preflop
        The stacks, the blinds and the menu before the flop; its model of play after the flop is not used.
    betting : Betting
        Sizes and thresholds after the flop. Player 0 of a spot, out of position, is the big blind.
    bets : str or mapping, optional
        Sizes alone, as for :class:`~treeplex.models.games.holdem.HoldemSpot`.
    ranges : two str or Range, or mapping of seat to them, optional
        The hands that the small and the big blind may hold; by default all. They must not distinguish suits.
    openings : sequence of numbers
        The first raises before the flop, in multiples of the amount to call; a later raise is to three times the
        previous one.
    limps : bool
        Whether the first player may call the blind.
    chips : int
        The chips of a big blind after the flop, where bets are whole chips.
    deck : {"full", "short"}
    spec : str
        The file from which it was read.

    Raises
    ------
    InvalidGameError

    Notes
    -----
    Let w_f be the number of flops that f stands for, and Z = Σ_f w_f Σ_{g, h} r₀(g) r₁(h) [f, g and h share no card].
    A line that ends before the flop pays its amount times Σ_f w_f [f, g, h share no card] / Z to each pair of hands; a
    line that reaches flop f pays after it with the weight w_f / Z. Suits are exchangeable before the flop, so one
    flop of each class suffices.

    Examples
    --------
    >>> from treeplex.models.games.holdem import FlopsGame, Preflop
    >>> game = FlopsGame(["Td9d6h", "AsKd2c:2"], Preflop(stack=5, raises=1), bets="100%")
    >>> game.lines
    ('call, check', 'call, raise 2, call', 'call, raise 3, call', 'call, all-in, call', 'raise 2, call', \
'raise 2, all-in, call', 'raise 3, call', 'raise 3, all-in, call', 'all-in, call')
    >>> len(game.parts), game.parts[0].name
    (2, 'Td9d6h')
    """

    flops: str | Sequence[str]
    rules: Preflop = field(default_factory=Preflop)
    betting: Betting = field(default_factory=Betting)
    bets: InitVar[str | Mapping[str, Any] | None] = None
    ranges: Any = None
    openings: Sequence[Amount] = OPENINGS
    limps: bool = True
    chips: int = _CHIPS
    deck: Literal["full", "short"] = "full"
    spec: str = ""

    def __post_init__(self, bets: str | Mapping[str, Any] | None) -> None:
        check_choice(self.deck, "deck", InvalidGameError, tuple(DECKS))
        check_type(self.rules, "rules", InvalidGameError, Preflop, "a Preflop, such as Preflop(stack=20)")
        check_whole(self.chips, "chips", InvalidGameError, "[1, 10000]")
        check_type(self.limps, "limps", InvalidGameError, bool, "true or false")
        given: Any = self.openings
        if isinstance(given, str) or not isinstance(given, Sequence) or not given or not all(map(_is_opening, given)):
            raise InvalidGameError(f"openings are {shown(given, 60)}, expected numbers of at least 2, such as [2.5]")
        object.__setattr__(self, "openings", tuple(sorted({Fraction(str(one)) for one in given})))
        if bets is not None:
            object.__setattr__(self, "betting", Betting.parse(bets))
        check_type(self.betting, "betting", InvalidGameError, Betting, "a Betting (pass sizes alone as bets=)")
        for seat, one in zip(PREFLOP_SEATS, self.ranges_by_seat, strict=True):
            if is_uneven(one):
                raise InvalidGameError(f"the range of {seat} distinguishes suits, expected whole classes, such as AKs")
        for flop in self.boards:
            if len(read_board(flop.board, self.deck)) != 3:
                raise InvalidGameError(f"flops: {shown(flop.board)} has another number of cards, expected three")
        _ = self.exits  # amounts that are not whole chips are rejected now

    @classmethod
    def from_table(cls, top: Table, spec: str = "") -> Self:
        """Read a game from the table of a file.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the line and the key.
        """
        top.check_keys(KEYS)
        flops = top.needs("flops", '"flops:25", "flops:all" or a list of flops')
        given = top.table("ranges", '[ranges] with sb = "22+, A2s+"')
        given.check_keys(PREFLOP_SEATS)
        ranges = []
        for seat in PREFLOP_SEATS:
            with given.about(seat):
                ranges.append(Range.parse(given.values.get(seat, "random")))
        betting = Betting.parse(
            top.table("bets", '[bets] with bet = "60%, a"'), top.table("thresholds", "[thresholds] with merge = 0.1")
        )
        for name in _RULES:
            if name in top:
                with top.about(name):
                    Preflop(**{"stack": 1000, "continuations": 0, name: top.values[name]})
        rules = Preflop(**{name: top.values[name] for name in _RULES if name in top})
        others = {name: top.values[name] for name in ("openings", "limps", "chips", "deck") if name in top}
        return cls(flops, rules, betting, ranges=ranges, spec=spec, **others)

    @cached_property
    def ranges_by_seat(self) -> tuple[Range, Range]:
        """The ranges of the small and of the big blind."""
        given = self.ranges
        if given is None:
            given = ["random", "random"]
        if isinstance(given, Mapping):
            if not set(given) <= set(PREFLOP_SEATS):
                raise InvalidGameError(f"ranges are given for {shown(list(given))}, expected sb and bb")
            given = [given.get(seat, "random") for seat in PREFLOP_SEATS]
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            raise InvalidGameError(f"ranges are {shown(given)}, expected two: of the small and of the big blind")
        first, second = map(Range.parse, given)
        return first, second

    @cached_property
    def _set(self) -> BoardSet:
        """The flops, for a spot with both ranges."""
        any_flop = next(one.board for one in reversed(flop_classes(self.deck)))
        sb, bb = self.ranges_by_seat
        spot = HoldemSpot(any_flop, [bb, sb], self.chips, self.chips, self.betting, deck=self.deck)
        try:
            return BoardSet(spot, self.flops)
        except InvalidGameError as error:
            raise InvalidGameError(re.sub("^boards", "flops", str(error))) from None

    @property
    def name(self) -> str:
        """The set of flops as written; for a list, the number of its flops."""
        return self._set.name

    @property
    def boards(self) -> tuple[WeightedBoard, ...]:
        """The flops, and the number of flops that each stands for."""
        return self._set.boards

    @cached_property
    def dealt(self) -> float:
        """Z, the total weight of flops and pairs of hands that can be dealt together."""
        return float(self._set.reach @ [one.weight for one in self.boards])

    @cached_property
    def _betting(self) -> tuple[list[PreflopState], list[int], list[str]]:
        """The states of the betting before the flop, with their parents and actions."""
        moves = self.menu.moves
        return unrolled(self.rules.begun, lambda state: () if state.street or state.folded >= 0 else moves(state))

    @cached_property
    def menu(self) -> Preflop:
        """The rules before the flop with this game's first raises, and with or without limps."""
        return _Menu(self)

    @cached_property
    def exits(self) -> tuple[int, ...]:
        """The nodes of the trunk at which the flop is dealt."""
        found = []
        for node, state in enumerate(self._betting[0]):
            if state.street and state.folded < 0:
                found.append(node)
                for amount, what in ((self.rules.pot(state), "pot"), (self.rules.most - max(state.paid), "stack")):
                    if (amount * self.chips).denominator != 1:
                        raise InvalidGameError(
                            f"the {what} is {float(amount):.10g} big blinds at a flop, no whole number of chips with "
                            f"chips = {self.chips}"
                        )
        return tuple(found)

    @property
    def lines(self) -> tuple[str, ...]:
        """The line to each of the :attr:`exits`."""
        return tuple(map(self._line, self.exits))

    def _line(self, node: int) -> str:
        _, parents, actions = self._betting
        steps: list[str] = []
        while node > 0:
            steps.append(actions[node])
            node = parents[node]
        return ", ".join(reversed(steps))

    def spot(self, place: int, board: str) -> HoldemSpot:
        """Return the spot after one of the :attr:`exits`, counted from 0, with both ranges as they are dealt."""
        state = self._betting[0][self.exits[place]]
        pot, stack = self.rules.pot(state) * self.chips, (self.rules.most - max(state.paid)) * self.chips
        sb, bb = self.ranges_by_seat
        return HoldemSpot(board, [bb, sb], int(pot), int(stack), self.betting, deck=self.deck)

    @cached_property
    def parts(self) -> tuple["FlopPart", ...]:
        """The play on each flop."""
        splits = tuple(self.rules.payoff(self._betting[0][node], 0) for node in self.exits)
        return tuple(
            FlopPart(
                one.board,
                one.weight / self.dealt / self.chips,
                tuple(self.spot(place, one.board) for place in range(len(self.exits))),
                tuple(float(split * self.chips) for split in splits),
            )
            for one in self.boards
        )

    @cached_property
    def together(self) -> Floats:
        """The weight of each pair of classes that ends before the flop, per unit of both reaches, shape (169, 169)."""
        total = np.zeros((len(CLASSES), len(CLASSES)))
        held = (DECKS[self.deck].start <= HANDS).all(axis=1)
        for one in self.boards:
            free = held & alive(read_board(one.board, self.deck), np.arange(len(HANDS)))
            hands, classes = np.flatnonzero(free), CLASS_OF_HAND[free]
            counts = np.bincount(classes, minlength=len(CLASSES)).astype(np.float64)
            cards = np.zeros((len(CLASSES), 52))
            np.add.at(cards, (classes.repeat(2), HANDS[hands].ravel()), 1.0)
            total += one.weight * (np.outer(counts, counts) - cards @ cards.T + np.diag(counts))
        return total / self.dealt

    @cached_property
    def public_form(self) -> CutForm:
        """The game before the flop in public form, cut at the flops."""
        states, parents, actions = self._betting
        folds = np.array([node for node, state in enumerate(states) if state.folded >= 0])
        ended = {*folds.tolist(), *self.exits}
        players = [state.mover if node not in ended else CHANCE for node, state in enumerate(states)]
        for node in folds.tolist():
            players[node] = TERMINAL
        paid = np.array([float(self.rules.payoff(states[node])) for node in folds.tolist()])
        pairs = FactoredPayoff(self.together, np.eye(len(CLASSES)))
        weights = []
        for one in self.ranges_by_seat:
            of_class = np.zeros(len(CLASSES))
            of_class[CLASS_OF_HAND] = one.weights
            weights.append(of_class)
        return CutForm(
            players,
            parents,
            actions,
            [CLASSES, CLASSES],
            [Leaves(folds, paid, pairs)],
            weights,
            float(self.rules.stack),
            self.parts,
            Leaves(np.array([0]), np.ones(1), pairs),
            (
                self.boards,
                self.rules,
                self.openings,
                self.limps,
                self.betting,
                self.chips,
                self.deck,
                *map(str, self.ranges_by_seat),
            ),
        )

    @cached_property
    def game(self) -> "HoldemFlops":
        """The game, which is solved by loops over its parts, such as ``dcfr``."""
        return HoldemFlops(self)


class HoldemFlops(Game):
    """Hold'em from the blinds to the river as a game.

    Parameters
    ----------
    flops : FlopsGame
    """

    def __init__(self, flops: FlopsGame) -> None:
        self.flops = flops
        super().__init__(
            "flops",
            {"flops": flops.name, "stack": float(flops.rules.stack)},
            spec=flops.spec or f"hold'em on {flops.name}",
            public_form=lambda: flops.public_form,
            learned_to=_TOLERANCE * float(flops.rules.pot(flops.rules.begun)),
            exact_up_to=0,
            without_histories="it is a trunk and one part per flop, and has no list of histories",
        )

    @property
    def payoff_range(self) -> tuple[float, float]:
        """The small blind's smallest and largest payoff: a stack."""
        return -float(self.flops.rules.stack), float(self.flops.rules.stack)


class _Menu(Preflop):
    """The rules before the flop with the game's own first raises, and with or without limps."""

    def __init__(self, game: FlopsGame) -> None:
        vars(self).update(vars(game.rules))
        vars(self).update(openings=game.openings, _limps=game.limps)

    def moves(self, state: PreflopState) -> Iterator[tuple[str, PreflopState]]:
        """Yield each action of the mover."""
        for action, after in super().moves(state):
            is_limp = action == "call" and state.is_first and state.paid[state.mover] < max(state.paid)
            if vars(self)["_limps"] or not is_limp:
                yield action, after


def _is_opening(value: Any) -> bool:
    return is_number(value) and 2 <= value <= 1000


@dataclass(frozen=True, eq=False)
class FlopPart:
    """The play on a flop, after each exit of the trunk.

    Parameters
    ----------
    name : str
        The flop.
    share : float
        The weight of the flop, for each chip.
    spots : tuple of HoldemSpot
        The spot after each exit, with the big blind as player 0.
    splits : tuple of float
        The chips that the small blind wins after each exit if the pot is split.
    """

    name: str
    share: float
    spots: tuple[HoldemSpot, ...]
    splits: tuple[float, ...]

    def trunk_states(self, player: int) -> Indices:
        """Return the class of each hand of a player."""
        return CLASS_OF_HAND[self.hands[player]]

    @cached_property
    def hands(self) -> tuple[Indices, Indices]:
        """The hands of the small and of the big blind, by number."""
        bb, sb = self.spots[0].hands
        return sb, bb

    @cached_property
    def num_numbers(self) -> int:
        """The numbers that a solver stores, without boards that differ only by an exchange of suits."""
        return sum(spot.size.kept for spot in self.spots)

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables of hands and boards, which all exits share."""
        return _TABLE * max(spot.size.held for spot in self.spots)

    @property
    def building_bytes(self) -> int:
        """Bytes of the public tree and of tables that are freed after building."""
        return sum(spot.size.form_bytes for spot in self.spots)

    def form(self) -> PublicForm:
        """Return the part in public form."""
        count = len(self.spots)
        players, parents, actions = beginning(count)
        boards, numbers = [0] * len(players), {self.spots[0].cards: 1}
        leaves: dict[tuple[tuple[int, ...], bool], tuple[list[int], list[float]]] = {}
        for place, (spot, split) in enumerate(zip(self.spots, self.splits, strict=True)):
            tree, begin = SpotTree(spot), len(players)
            by_number = sorted(tree.numbers, key=tree.numbers.__getitem__)
            known = np.array([numbers.setdefault(board, 1 + len(numbers)) for board in by_number])
            players += [1 - player if player >= 0 else player for player in tree.players]
            parents += [1 + count + place, *(begin + parent for parent in tree.parents[1:])]
            actions += tree.actions
            boards += known[tree.boards].tolist()
            for (board, folds), (nodes, amounts) in tree.leaves.items():
                sign = -1.0 if folds else 1.0  # a comparison changes its sign with the players' order
                self._add(leaves, (board, folds), nodes, begin, [sign * one for one in amounts])
            if split:
                for board, (nodes, chances) in tree.chances.items():
                    self._add(leaves, (board, True), nodes, begin, [split * one for one in chances])
        hands = self.hands
        return PublicForm(
            players,
            parents,
            actions,
            tuple(reversed(self.spots[0].hand_names)),
            [
                Leaves(
                    np.array(nodes),
                    np.array(amounts) * self.share,
                    fold_payoff(board, hands) if folds else showdown_payoff(board, hands, self.spots[0].deck),
                )
                for (board, folds), (nodes, amounts) in leaves.items()
            ],
            scale=max(spot.pot / 2 + spot.stack for spot in self.spots) * self.share,
            boards=Boards(
                boards,
                [
                    [np.arange(len(held)) for held in hands],
                    *([np.flatnonzero(alive(board, held)) for held in hands] for board in numbers),
                ],
            ),
            symmetries=list(self._symmetries(numbers)),
        )

    @staticmethod
    def _add(
        leaves: dict[Any, tuple[list[int], list[float]]], key: Any, nodes: Sequence[int], begin: int, paid: list[float]
    ) -> None:
        known = leaves.setdefault(key, ([], []))
        known[0].extend(begin + node for node in nodes)
        known[1].extend(paid)

    def _symmetries(self, numbers: Mapping[tuple[int, ...], int]) -> Sequence[Symmetry]:
        """Return the exchanges of suits that leave the flop as it is; ranges never distinguish suits."""
        spot, found = self.spots[0], []
        for cards, (bb, sb) in spot.exchanges:
            image = [numbers[(*spot.cards, *cards[list(board[3:])].tolist())] for board in numbers]
            found.append(Symmetry((sb, bb), np.array([0, *image])))
        return found
