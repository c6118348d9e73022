"""A spot: two ranges on a board, what lies in the pot and behind, and the sizes that may be bet."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property, partial
from itertools import combinations, permutations
from math import comb
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.card_payoff import CardPayoff
from ....seqform.checks import check_choice, check_type, is_number, is_whole
from ....seqform.errors import InvalidConstraintError, InvalidGameError, shown
from ....seqform.functional import Functional
from ....seqform.game import Game
from ....seqform.interchange.files import naming, writing_whole
from ....seqform.interchange.toml_table import Table, parse_toml, read_toml
from ....seqform.limits import check_time, doing, timed
from ....seqform.number_texts import read_share
from ....seqform.public_form import Boards, Leaves, PublicForm, Symmetry
from ....seqform.rules import CHANCE, TERMINAL
from ....seqform.sequence_form import SequenceForm
from ....seqform.sheet import error
from ....seqform.strategy import Profile, Strategy
from ...constraints import LinearConstraint
from ..betting import PlacedOffer
from .bets import SEATS, Betting, Decision, Ended, first, following, moves
from .cards import CARDS, DECKS, HAND_NAMES, HANDS, Range, hand_numbers, read_board
from .locks import Lock, constraints_of, line_functionals, shares
from .offers import spot_offers
from .places import WHOLE, Place
from .showdown import alive, fold_payoff, showdown_payoff
from .size import SEQUENCE_FORM, SpotSize, check_size, spot_size

#: Without being asked for more precision, spots are solved to this part of the pot.
_TOLERANCE = 0.001
#: Up to so many sequences of both players linear programming solves a spot in tenths of a second: it is the default.
_TINY = 500
#: Pots and stacks are at most this: amounts are exact in floats, and payoffs in single precision good to a chip.
_MOST_CHIPS = 10_000_000


@dataclass(frozen=True, eq=False)
class HoldemSpot:
    """A subgame of no-limit hold'em for two players, from a flop, turn or river on.

    Player 0 is out of position (``oop``) and moves first, player 1 is in position (``ip``). The game is zero-sum once
    half of the pot is taken off each player's winnings: a player's value is its EV less that. With a rake it is not
    zero-sum, and :class:`~treeplex.models.problems.EpsilonNash` is what is asked of it.

    Parameters
    ----------
    board : str
        Three to five cards, such as ``"Td9d6hQc2s"``.
    ranges : two str or Range, or mapping of seat to them
        As :meth:`Range.parse <treeplex.models.games.holdem.Range.parse>` reads them; hands with a card of the board
        drop out.
    pot, stack : int
        Chips in the middle as the spot begins, and what each player has left.
    betting : Betting
        Sizes and thresholds.
    bets : str or mapping, optional
        Sizes alone, instead of `betting`: ``"60%, a"``, or what the table ``[bets]`` of a spot file holds, such as
        ``{"bet": "60%", "raise": "2.5x", "river": {"oop": {"donk": "50%"}}}``.
    locks : sequence of Lock, str or mapping
        What players are known to do, or limit themselves to, as :meth:`Lock.parse
        <treeplex.models.games.holdem.Lock.parse>` reads it: the :attr:`constraints` of problems on :attr:`game`.
    spec : str
        The file that it was read from.
    deck : {"full", "short"}
        Of 52 cards, or of 36 from six on, with which a flush beats a full house and A6789 is a straight.
    rake : float or str
        What part of a pot goes to the house, such as ``0.05`` or ``"5%"``. A pot is what both players have put in; a
        bet that is not called goes back before. Whoever wins pays, and of a split pot each one half.
    rake_cap : float
        What the house takes at most of a pot, in chips.

    Raises
    ------
    InvalidGameError

    Examples
    --------
    The nuts or air against a hand that beats only air: air bluffs half as often as the nuts bet, and half is called.

    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> solution = solve(Nash(spot.game))
    >>> round(solution.value + spot.pot / 2, 6)
    75.0
    """

    board: str
    ranges: Any
    pot: int
    stack: int
    betting: Betting = field(default_factory=Betting)
    bets: InitVar[str | Mapping[str, Any] | None] = None
    locks: Sequence[Any] = ()  # of Lock, once they are read
    spec: str = ""
    deck: Literal["full", "short"] = "full"
    rake: float | str = 0.0  # a float, once it is read
    rake_cap: float = math.inf

    def __post_init__(self, bets: str | Mapping[str, Any] | None) -> None:
        check_choice(self.deck, "deck", InvalidGameError, tuple(DECKS))
        for name in ("pot", "stack"):
            _check_chips(getattr(self, name), name)
        if bets is not None:
            object.__setattr__(self, "betting", Betting.parse(bets))
        check_type(self.betting, "betting", InvalidGameError, Betting, "a Betting (sizes alone are given as bets=)")
        for line in self.betting.lines:
            self.betting.check_line(line, len(self.cards) - 3, self.pot, self.stack)
        given: Any = [self.locks] if isinstance(self.locks, str | Mapping | Lock) else self.locks
        object.__setattr__(self, "locks", tuple(Lock.parse(one) for one in given))
        rate, cap = _read_rake(self.rake, "rake"), _read_cap(self.rake_cap, "rake_cap")
        # What takes nothing is no rake.
        object.__setattr__(self, "rake", rate if cap > 0.0 else 0.0)
        object.__setattr__(self, "rake_cap", cap if self.rake else math.inf)
        if self.rake and self.locks:
            raise InvalidGameError(f"rake is {self.rake:g} beside locks, expected one of the two: {_NO_LOCKS}")
        _ = self.pairs  # what cannot be dealt is refused now

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "HoldemSpot":
        """Read a spot from a TOML file: the reference page on hold'em has its keys.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the file, the line and the key.
        """
        with naming(path):
            return cls._read(read_toml(path), fspath(path))

    @classmethod
    def from_toml(cls, text: str, spec: str = "") -> "HoldemSpot":
        """Read a spot from what :meth:`to_toml` returns.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the line and the key.
        """
        return cls._read(parse_toml(text.encode()), spec)

    @classmethod
    def _read(cls, top: Table, spec: str) -> "HoldemSpot":
        top.check_keys(_KEYS)
        board = top.needs("board", 'a flop, turn or river, such as "Td9d6h"')
        deck: Any = top.values.get("deck", "full")
        with top.about("deck"):
            check_choice(deck, "deck", InvalidGameError, tuple(DECKS))
        with top.about("board"):
            read_board(board, deck)
        top.needs("ranges", 'a table [ranges] with oop = "…" and ip = "…"')
        ranges = top.table("ranges", '[ranges] with oop = "QQ+, AKs"')
        ranges.check_keys(SEATS)
        read = []
        for seat in SEATS:
            text = ranges.needs(seat, 'a range, such as "QQ+, AKs, A5s-A2s:0.5"')
            with ranges.about(seat):
                read.append(Range.parse(text))
                _held(read[-1], seat, board, deck)
        for name in ("pot", "stack"):
            with top.about(name):
                _check_chips(top.needs(name, "a whole number of chips"), name)
        lines = top.table("lines", '[lines] with "check, bet 120" = "raise 300"')
        betting = Betting.parse(
            top.table("bets", '[bets] with bet = "60%, a"'),
            top.table("thresholds", "[thresholds] with merge = 0.1"),
            lines,
        )
        for line in lines.values:
            with lines.about(line):
                betting.check_line(line, len(read_board(board)) - 3, top.values["pot"], top.values["stack"])
        rake = top.table("rake", "[rake] with rate = 0.05")
        rake.check_keys(("rate", "cap"))
        with rake.about("rate"):
            rate = _read_rake(rake.values.get("rate", 0.0), "rake.rate")
        with rake.about("cap"):
            cap = _read_cap(rake.values.get("cap", math.inf), "rake.cap")
        locks = tuple(_lock(table) for table in top.tables("locks", '[[locks]] with seat = "ip"'))
        if rate and cap and locks:
            raise rake.error(f"rake.rate is {rate:g} beside [[locks]], expected one of the two: {_NO_LOCKS}", "rate")
        pot, stack = top.values["pot"], top.values["stack"]
        with top.about("ranges"):
            return cls(board, read, pot, stack, betting, locks=locks, spec=spec, deck=deck, rake=rate, rake_cap=cap)

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """Return the spot as the TOML file that :meth:`from_file` reads, and write it if a path is given.

        Examples
        --------
        >>> from treeplex.models.games.holdem import HoldemSpot
        >>> print(HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, bets="100%").to_toml())
        board = "QcJc9c3d2d"
        pot = 100
        stack = 100
        <BLANKLINE>
        [ranges]
        oop = "AcKc,8h7h"
        ip = "QhQd"
        <BLANKLINE>
        [bets]
        bet = "100%"
        raise = "2.5x"
        <BLANKLINE>
        [thresholds]
        add_allin = 1.5
        force_allin = 0.15
        merge = 0.1
        raise_cap = 10
        <BLANKLINE>
        """
        bets, thresholds = self.betting.tables()
        ranges = {seat: str(one) for seat, one in zip(SEATS, self._ranges, strict=True)}
        top: dict[str, Any] = {"board": self.board, "pot": self.pot, "stack": self.stack}
        top |= {} if self.deck == "full" else {"deck": self.deck}
        named = {json.dumps(line, ensure_ascii=False): text for line, text in self.betting.lines.items()}
        lines = _toml({**top, "ranges": ranges, "bets": bets, "thresholds": thresholds})
        lines += _toml({"lines": named}) if named else []
        lines += _toml({"rake": self.rake_table("rate", "cap")}) if self.rake else []
        for table in (table for lock in self.locks for table in lock.tables(self)):
            lines += ["", "[[locks]]", *(f"{name} = {_value(value)}" for name, value in table.items())]
        text = "\n".join(lines) + "\n"
        if path is not None:
            with writing_whole(path) as passing:
                passing.write_text(text, encoding="utf-8")
        return text

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The board, as numbers of cards."""
        return tuple(read_board(self.board, self.deck))

    @property
    def unseen(self) -> tuple[int, ...]:
        """The cards of the deck that are not on the board."""
        return tuple(card for card in DECKS[self.deck] if card not in self.cards)

    @cached_property
    def _ranges(self) -> tuple[Range, Range]:
        given = self.ranges
        if isinstance(given, Mapping):
            if set(given) != set(SEATS):
                raise InvalidGameError(f"ranges of {shown(list(given))}, expected of oop and ip")
            given = [given[seat] for seat in SEATS]
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            raise InvalidGameError(f"ranges {shown(given)}: expected two, out of position and in position")
        read = []
        for seat, one in zip(SEATS, given, strict=True):
            try:
                read.append(Range.parse(one))
            except InvalidGameError as error:
                raise InvalidGameError(f"{seat}: {error}") from None
        return read[0], read[1]

    @cached_property
    def hands(self) -> tuple[Indices, ...]:
        """Each player's hands, by number."""
        return tuple(_held(one, seat, self.board, self.deck) for seat, one in zip(SEATS, self._ranges, strict=True))

    @cached_property
    def weights(self) -> tuple[Floats, ...]:
        """How much of each hand each player has."""
        return tuple(one.weights[held] for one, held in zip(self._ranges, self.hands, strict=True))

    @cached_property
    def hand_names(self) -> tuple[tuple[str, ...], ...]:
        """Each player's hands, by name."""
        return tuple(tuple(HAND_NAMES[hand] for hand in held.tolist()) for held in self.hands)

    @cached_property
    def pairs(self) -> float:
        """The weight of all pairs of hands that can be dealt together."""
        total = float(self.weights[0] @ self.together(self.cards).times(self.weights[1]))
        if total <= 1e-12:
            raise InvalidGameError("the ranges block each other: no hand of one can be dealt with a hand of the other")
        return total

    @cached_property
    def equity(self) -> tuple[float, float]:
        """What part of the pot each player wins on average if nobody bets any more."""
        won = float(self.weights[0] @ self.won(self.cards) @ self.weights[1]) / self.pairs
        return 0.5 + won / 2, 0.5 - won / 2

    def won(self, board: Sequence[int]) -> Floats:
        """Return how often each hand of player 0 wins against each of player 1, less how often it loses.

        Parameters
        ----------
        board : sequence of int
            Three to five cards; all that may follow are equally likely.

        Returns
        -------
        ndarray of float64, shape (hands of player 0, hands of player 1)
            0 for hands that cannot be dealt together.
        """
        key, known = tuple(board), self._won
        if key not in known:
            for lately in known.keys() - {self.cards}:
                del known[lately]
            known[key] = frozen(self._won_on(key))
        return known[key]

    @cached_property
    def _won(self) -> dict[tuple[int, ...], Floats]:
        """What :meth:`won` found for the spot's board and for the last other one: nodes of a board go together."""
        return {}

    def _won_on(self, board: Sequence[int]) -> Floats:
        left, missing = [card for card in self.unseen if card not in board], 5 - len(board)
        total = np.zeros([len(held) for held in self.hands], dtype=np.int16)
        for dealt in combinations(left, missing):  # all pairs at once: factors would have to be made for each board
            strengths = self.showdown((*board, *dealt)).strengths
            assert strengths is not None
            mine, theirs = strengths[0][:, None], strengths[1]
            wins = (mine > theirs).view(np.int8) - (mine < theirs).view(np.int8)
            wins[strengths[0] == 0] = 0
            wins[:, theirs == 0] = 0
            total += wins
        cards = [HANDS[held] for held in self.hands]
        total[(cards[0][:, None, :, None] == cards[1][None, :, None, :]).any(axis=(2, 3))] = 0
        return total / comb(len(left) - 4, missing)

    def showdown(self, board: Sequence[int]) -> CardPayoff:
        """Return who wins on a board of five cards, given as numbers of cards."""
        return self._payoff(board, True)

    def together(self, board: Sequence[int]) -> CardPayoff:
        """Return which hands can be dealt with which on a board."""
        return self._payoff(board, False)

    def _payoff(self, board: Sequence[int], compared: bool) -> CardPayoff:
        known, key = self._payoffs, (tuple(sorted(board)), compared)
        if key not in known:
            known[key] = showdown_payoff(key[0], self.hands, self.deck) if compared else fold_payoff(key[0], self.hands)
        return known[key]

    @cached_property
    def _payoffs(self) -> dict[tuple[tuple[int, ...], bool], CardPayoff]:
        return {}

    @property
    def begun(self) -> Decision | Ended:
        """The betting as the spot begins."""
        return first(self.betting, len(self.cards) - 3, self.stack)

    def moves(self, state: Decision) -> Iterator[tuple[str, Decision | Ended]]:
        """Yield the actions at a decision, and what follows."""
        return moves(state, self.betting, self.pot, self.stack)

    def dealt(
        self, state: Ended, board: tuple[int, ...]
    ) -> Iterator[tuple[str, Decision | Ended, tuple[int, ...], float]]:
        """Yield what may be dealt after a street: its name, what follows, the board, and how likely it is."""
        share = 1.0 / (len(DECKS[self.deck]) - len(board) - 4)
        after = following(state, self.betting)
        for card in self.unseen:
            if card not in board:
                yield CARDS[card], after, (*board, card), share

    def house_share(self, pot: float) -> float:
        """Return what the house takes of a pot, in chips: min(rate · pot, cap).

        Examples
        --------
        >>> from treeplex.models.games.holdem import HoldemSpot
        >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, rake="5%", rake_cap=8)
        >>> spot.house_share(100), spot.house_share(300)
        (5.0, 8.0)
        """
        return min(float(self.rake) * pot, self.rake_cap)

    def of_pot(self, number: float) -> str:
        """Return an error in chips as text, with its part of the pot."""
        return f"{error(number)} chips, {error(100.0 * number / self.pot)}% of the pot"

    def rake_table(self, rate: str, cap: str) -> dict[str, float]:
        """Return the rate, and the cap if there is one, under two names."""
        return {rate: float(self.rake)} | ({cap: self.rake_cap} if math.isfinite(self.rake_cap) else {})

    @cached_property
    def size(self) -> SpotSize:
        """How large it is, found without building it."""
        return spot_size(self)

    @cached_property
    def _built(self) -> "tuple[PublicForm, Indices, tuple[tuple[int, ...], ...]]":
        check_size(self)
        with timed("building"), doing(f"the tree, {_about(self.size)} nodes, was built"):
            tree = SpotTree(self)
            return tree.form(), frozen(np.array(tree.paid)), tuple(tree.numbers)

    @property
    def public_form(self) -> PublicForm:
        """The game in public form."""
        return self._built[0]

    @property
    def paid(self) -> Indices:
        """What each player has put in since the spot began at each node of the public form, shape (num_nodes, 2)."""
        return self._built[1]

    @property
    def boards(self) -> tuple[tuple[int, ...], ...]:
        """The cards of each board of the public form, by number, in the order in which they are dealt."""
        return self._built[2]

    @cached_property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """The locks as constraints on the players' plans: for :class:`~treeplex.ConstrainedNash` and for responses.

        Raises
        ------
        InvalidConstraintError
            If a lock does not fit the spot, or locks contradict each other.
        """
        return constraints_of(self, self.locks)

    def load_strategy(self, path: str | Path, player: int) -> Strategy:
        """Read a player's strategy from the file of a solved spot, or from another one of strategies.

        Raises
        ------
        InvalidStrategyError, GameFileError
        """
        solved = self.game.own_profile(path)
        return Strategy.load(path, self.game, player) if solved is None else solved[player]

    @cached_property
    def game(self) -> "HoldemGame":
        """The game in sequence form, payoffs in factors; without the locks, which are :attr:`constraints`."""
        return HoldemGame(self)


class HoldemGame(Game):
    """A spot as a game, which every problem and method takes; with a rake, those for games that are not zero-sum.

    Parameters
    ----------
    spot : HoldemSpot
    """

    def __init__(self, spot: HoldemSpot) -> None:
        self.spot = spot
        parameters: dict[str, Any] = {"board": spot.board, "pot": spot.pot, "stack": spot.stack}
        if spot.rake:
            parameters |= spot.rake_table("rake", "rake_cap")
        super().__init__(
            f"holdem {spot.board}",
            parameters,
            spec=spot.spec,
            sequence_form=self._form,
            public_form=self._public,
            functionals=self._lines,
            without_histories="a spot has hands and a public tree, and no list of histories",
            learned_to=_TOLERANCE * spot.pot,
            exact_up_to=_TINY,
        )
        if spot.rake:
            self.default_problem = "epsilon-nash"

    @property
    def whole(self) -> tuple[float, str]:
        """The pot, of which tolerances may be per cent."""
        return self.spot.pot, "the pot"

    @property
    def payoff_range(self) -> tuple[float, float]:
        """What oop is paid at least and at most, less half of the pot: it loses its stack, or wins the pot and ip's."""
        most = self.spot.pot / 2 + self.spot.stack
        return -most, most

    @property
    def payoff_words(self) -> str:
        """What pot and stacks say of what oop earns."""
        low, high = -self.spot.stack, self.spot.pot + self.spot.stack
        return f"pot and stacks alone bound the EV of oop: {low:,.10g} to {high:,.10g}"

    def _public(self) -> PublicForm:
        check_size(self.spot)
        return self.spot.public_form

    def _form(self) -> SequenceForm:
        check_size(self.spot, what="its sequence form", times=SEQUENCE_FORM)
        return self.spot.public_form.sequence_form()

    def _lines(self, game: Game) -> dict[str, Functional]:
        sizes = [treeplex.num_sequences for treeplex in game.sequence_form.treeplexes]
        return line_functionals(self.spot.public_form, sizes, SEATS, partial(shares, self.spot))

    def own_profile(self, path: str | PathLike[str]) -> Profile | None:
        """Return the strategies of a solved spot's file; ``None`` for other files."""
        from .solved import profile_of  # it imports this

        return profile_of(path, self)

    @property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """What the spot's locks are on the players' plans."""
        return self.spot.constraints

    def placed_offers(self, player: int) -> Iterator[PlacedOffer]:
        """Yield what a player may bet at each of its nodes."""
        return spot_offers(self.spot, player)


#: Nodes between two looks at the clock.
_LOOKS = 4096
#: Why there is no rake beside locks.
_NO_LOCKS = "constraints are for zero-sum games"
#: The keys of a spot file.
_KEYS = ("board", "pot", "stack", "deck", "ranges", "bets", "thresholds", "lines", "rake", "locks")


def _held(given: Range, seat: str, board: str, deck: str) -> Indices:
    """Return the hands of a range that hold no card of the board, and are in the deck."""
    if not given.weights.any():
        raise InvalidGameError(f"the range of {seat} is empty, expected at least one hand")
    dealt = (DECKS[deck].start <= HANDS).all(axis=1)
    held = np.flatnonzero((given.weights > 0.0) & dealt & alive(read_board(board), np.arange(len(HANDS))))
    if not len(held):
        raise InvalidGameError(f"the range of {seat} has no hand on the board {board}: a card of it is in each")
    return held


def _check_chips(value: Any, name: str) -> None:
    least = 1 if name == "pot" else 0
    if not is_whole(value) or not least <= value <= _MOST_CHIPS:
        hint = ""
        if is_number(value) and value > 0:
            hint = "; count in smaller chips" if value <= _MOST_CHIPS else ""
        elif name == "stack" and isinstance(value, Sequence) and not isinstance(value, str):
            hint = "; the smaller of both stacks is what can be lost"
        raise InvalidGameError(
            f"{name} is {shown(value, 60)}, expected a whole number of chips from {least} to {_MOST_CHIPS:,}{hint}"
        )


def _read_rake(value: Any, name: str) -> float:
    """Return a rate from 0 to 1, given as a number or in per cent."""
    rate = value
    if isinstance(value, str):
        try:
            rate = read_share(value)
        except ValueError:
            rate = None
    if not is_number(rate) or not 0.0 <= rate <= 1.0:
        raise InvalidGameError(f"{name} is {shown(value, 60)}, expected a share of the pot from 0 to 1, or 0% to 100%")
    return float(rate)


def _read_cap(value: Any, name: str) -> float:
    if not is_number(value) or not value >= 0.0:
        raise InvalidGameError(f"{name} is {shown(value, 60)}, expected a number of chips of at least 0")
    return float(value)


def _lock(table: Table) -> Lock:
    try:
        return Lock.parse(table.values)
    except InvalidConstraintError as error:
        raise table.error(f"{'.'.join(table.path)}: {error}") from None


def _toml(values: Mapping[str, Any], path: str = "") -> list[str]:
    """Return the lines of a table, values before tables."""
    lines = [f"{name} = {_value(one)}" for name, one in values.items() if not isinstance(one, Mapping)]
    if path and (lines or not values):
        lines = ["", f"[{path}]", *lines]
    for name, one in values.items():
        if isinstance(one, Mapping):
            lines += _toml(one, f"{path}.{name}" if path else name)
    return lines


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_value(one)}" for name, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _about(size: SpotSize) -> str:
    """Return how many nodes a tree has, as people say it.

    Examples
    --------
    >>> from treeplex.models.games.holdem.size import SpotSize
    >>> _about(SpotSize(900, 1_000, 100, 0)), _about(SpotSize(1_000_000, 2_000_000, 100_000, 0))
    ('2,000', '3.1 million')
    """
    count = size.nodes + size.leaves + size.others
    return f"{count:,}" if count < 1_000_000 else f"{count / 1e6:.3g} million"


class SpotTree:
    """The public tree of a spot, or of one of its subgames.

    Parameters
    ----------
    spot : HoldemSpot
    place : Place, optional
        Where the subgame begins; by default at the root.
    most : int, optional
        Nodes that the tree has at most.

    Raises
    ------
    InvalidGameError
        If it has more.
    """

    def __init__(self, spot: HoldemSpot, place: Place | None = None, most: float = math.inf) -> None:
        self.spot = spot
        begun = Place.first(spot) if place is None else place
        self.players: list[int] = []
        self.parents: list[int] = []
        self.actions: list[str] = []
        self.boards: list[int] = []
        self.paid: list[tuple[int, int]] = []
        self.numbers: dict[tuple[int, ...], int] = {}
        #: Leaves by board and kind: nodes and amounts.
        self.leaves: dict[tuple[tuple[int, ...], bool], tuple[list[int], list[Any]]] = {}
        #: The same by board alone, with the probabilities of public chance.
        self.chances: dict[tuple[int, ...], tuple[list[int], list[Any]]] = {}
        known: dict[Decision, list[tuple[str, Decision | Ended]]] = {}
        queue = [(-1, "", begun.state, begun.board, begun.chance)]
        while queue:  # nodes level by level
            later = []
            for parent, action, state, board, chance in queue:
                node = len(self.players)
                if node >= most:
                    raise InvalidGameError(f"the subgame has more than {most:,} nodes")
                if not node % _LOOKS:
                    check_time(f"the tree was built, {node:,} of {_about(spot.size)} nodes so far")
                self.parents.append(parent)
                self.actions.append(action)
                self.boards.append(self.numbers.setdefault(board, len(self.numbers)))
                self.paid.append(state.paid)
                if isinstance(state, Decision):
                    self.players.append(state.mover)
                    if state not in known:  # on every board the same
                        known[state] = list(spot.moves(state))
                    later += [(node, name, after, board, chance) for name, after in known[state]]
                elif state.folded >= 0 or len(board) == WHOLE:
                    self.players.append(TERMINAL)
                    self._pay(node, state, board, chance)
                else:
                    self.players.append(CHANCE)
                    for name, after, dealt, share in spot.dealt(state, board):
                        later.append((node, name, after, dealt, chance * share))
            queue = later

    def _pay(self, node: int, state: Ended, board: tuple[int, ...], chance: float) -> None:
        folds = state.folded >= 0
        # A bet that is not called is no part of the pot.
        half, taken = self.spot.pot / 2, self.spot.house_share(self.spot.pot + 2 * min(state.paid))
        # The same cards in another order leave the same hands.
        board = tuple(sorted(board))
        if folds:
            lost = half + state.paid[state.folded]
            won = lost - taken
            self._add(self.leaves, (board, True), node, (won, -lost) if state.folded == 1 else (-lost, won), chance)
        else:
            # Each loses half of what is taken with every pair of hands, and so much less is to be won.
            stake = half + state.paid[0] - taken / 2
            self._add(self.leaves, (board, False), node, (stake, -stake), chance)
            if taken:
                self._add(self.leaves, (board, True), node, (-taken / 2, -taken / 2), chance)
        self._add(self.chances, board, node, (1.0,), chance)

    def _add(self, to: dict[Any, tuple[list[int], list[Any]]], group: Any, node: int, paid: Any, chance: float) -> None:
        """Enter what a leaf pays: both players, or of one number the first, and the other one the opposite."""
        nodes, amounts = to.setdefault(group, ([], []))
        nodes.append(node)
        amounts.append([one * chance for one in paid] if self.spot.rake and len(paid) > 1 else paid[0] * chance)

    def form(self, reaches: Sequence[Floats] | None = None) -> PublicForm:
        """Return the tree in public form.

        Parameters
        ----------
        reaches : two ndarrays, optional
            What is left of each player's hands where a subgame begins. Its form has no symmetries and no deals.
        """
        spot, whole = self.spot, reaches is None

        def group(of: tuple[list[int], list[float]], unit: CardPayoff) -> Leaves:
            return Leaves(np.array(of[0]), np.array(of[1]).T / spot.pairs, unit)

        return PublicForm(
            self.players,
            self.parents,
            self.actions,
            spot.hand_names,
            [
                group(of, spot.together(board) if folds else spot.showdown(board))
                for (board, folds), of in self.leaves.items()
            ],
            weights=spot.weights if reaches is None else reaches,
            deals=[group(of, spot.together(board)) for board, of in self.chances.items()] if whole else (),
            scale=spot.pot / 2 + spot.stack,
            boards=Boards(
                self.boards, [[np.flatnonzero(alive(board, held)) for held in spot.hands] for board in self.numbers]
            ),
            symmetries=list(self._symmetries()) if whole else (),
        )

    def _symmetries(self) -> Iterator[Symmetry]:
        """Yield the ways to exchange suits that leave the board and both ranges as they are."""
        spot, begun = self.spot, len(self.spot.cards)
        ranks, suits = np.divmod(np.arange(52), 4)
        for exchanged in permutations(range(4)):
            cards = 4 * ranks + np.array(exchanged)[suits]
            if exchanged == (0, 1, 2, 3) or set(cards[list(spot.cards)].tolist()) != set(spot.cards):
                continue
            numbers = hand_numbers(cards[HANDS])
            states = []
            for held, weights in zip(spot.hands, spot.weights, strict=True):
                places = np.full(len(HANDS), -1)
                places[held] = np.arange(len(held))
                states.append(places[numbers[held]])
                if (states[-1] < 0).any() or (weights[states[-1]] != weights).any():
                    break
            else:
                become = [
                    self.numbers.get((*board[:begun], *cards[list(board[begun:])].tolist()), -1)
                    for board in self.numbers
                ]
                if min(become) >= 0:  # where not all cards are dealt, images of boards may be missing
                    yield Symmetry((states[0], states[1]), np.array(become))
