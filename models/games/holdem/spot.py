"""A spot: two ranges on a board, the pot, the stacks, and the bet sizes."""

import json
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from ....seqform.arrays import Indices, frozen
from ....seqform.checks import check_choice
from ....seqform.errors import InvalidConstraintError, InvalidGameError
from ....seqform.functional import Functional
from ....seqform.game import Game
from ....seqform.interchange.files import writing_whole
from ....seqform.interchange.toml_table import Declared, Table, parse_toml
from ....seqform.limits import doing, timed
from ....seqform.public_form import PublicForm
from ....seqform.rules import CHANCE
from ....seqform.sequence_form import SequenceForm
from ....seqform.strategy import Profile, Strategy
from ...constraints import LinearConstraint
from ..betting import Offer, PlacedOffer
from .bets import SEATS, Betting
from .cards import DECKS, Range, read_board
from .hand_classes import HAND_CLASSES, classes_at, strengths_at
from .locks import Lock, constraints_of, line_functionals, shares
from .situation import NOT_PARAMETERS, Situation, SpotSize, check_chips, hands_of, read_cap, read_rake
from .size import SEQUENCE_FORM, check_size, spot_size
from .spot_tree import SpotTree, about_nodes
from .values import hand_values

#: The default tolerance of spots, as a share of the pot.
_TOLERANCE = 0.001
#: With at most this many sequences of both players, linear programming is the default: it takes tenths of a second.
_TINY = 500
_PASSIVE = ("fold", "check", "call")


class HoldemSpot(Situation, Declared):
    """A heads-up subgame of no-limit hold'em that begins on a flop, turn or river.

    Player 0 is out of position (``oop``) and moves first; player 1 is in position (``ip``). The game becomes zero-sum
    by subtracting half of the pot from each player's winnings: a player's value is its EV minus that half. With a rake
    it is not zero-sum, and the problem is :class:`~treeplex.EpsilonNash`.

    Parameters
    ----------
    board : str
        Three to five cards, such as ``"Td9d6hQc2s"``.
    ranges : two str or Range, or mapping of seat to them
        In the format of :meth:`Range.parse <treeplex.models.games.holdem.Range.parse>`; hands with a card of the board
        are dropped.
    pot, stack : int
        Chips in the middle at the start of the spot, blinds and antes included, and the remaining chips of each player.
    betting : Betting
        Sizes and thresholds.
    bets : str or mapping, optional
        Sizes alone, instead of `betting`: ``"60%, a"``, or the contents of the table ``[bets]`` of a spot file, such as
        ``{"bet": "60%", "raise": "2.5x", "river": {"oop": {"donk": "50%"}}}``.
    locks : sequence of Lock, str or mapping
        Known or assumed actions of players, as parsed by :meth:`Lock.parse <treeplex.models.games.holdem.Lock.parse>`:
        the :attr:`constraints` of problems on :attr:`game`.
    spec : str
        The file from which it was read.
    deck : {"full", "short"}
        A deck of 52 cards, or of 36 from six on, in which a flush beats a full house and A6789 is a straight.
    rake : float or str
        The house's share of a pot, such as ``0.05`` or ``"5%"``. The pot consists of both players' chips; an uncalled
        bet is returned first. The winner pays; in a split pot each player pays half.
    rake_cap : float
        The largest rake from a pot, in chips.

    Raises
    ------
    InvalidGameError

    Examples
    --------
    The nuts or air against a hand that beats only air: air bluffs half as often as the nuts bet, and half of the bets
    are called.

    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> solution = solve(Nash(spot.game))
    >>> round(solution.value + spot.pot / 2, 6)
    75.0
    """

    def __post_init__(self, bets: str | Mapping[str, Any] | None) -> None:
        super().__post_init__(bets)
        given: Any = [self.locks] if isinstance(self.locks, str | Mapping | Lock) else self.locks
        object.__setattr__(self, "locks", tuple(Lock.parse(one) for one in given))

    @classmethod
    def from_toml(cls, text: str, spec: str = "") -> "HoldemSpot":
        """Read a spot from the string returned by :meth:`to_toml`.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the line and the key.
        """
        return cls.from_table(parse_toml(text.encode()), spec)

    @classmethod
    def from_table(cls, top: Table, spec: str = "") -> Self:
        """Read a spot from the table of a file.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the line and the key.
        """
        if "boards" in top:
            raise top.error(
                f'boards: run treeplex sweep {spec or "FILE"} --out DIR, or give one board, as in board = "Td9d6h"',
                "boards",
            )
        top.check_keys(KEYS, NOT_PARAMETERS)
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
                hands_of(read[-1], seat, board, deck)
        for name in ("pot", "stack"):
            with top.about(name):
                check_chips(top.needs(name, "a whole number of chips"), name)
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
            rate = read_rake(rake.values.get("rate", 0.0), "rake.rate")
        with rake.about("cap"):
            cap = read_cap(rake.values.get("cap", math.inf), "rake.cap")
        locks = tuple(_lock(table) for table in top.tables("locks", '[[locks]] with seat = "ip"'))
        pot, stack = top.values["pot"], top.values["stack"]
        with top.about("ranges"):
            return cls(board, read, pot, stack, betting, locks=locks, spec=spec, deck=deck, rake=rate, rake_cap=cap)

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """Return the spot in the TOML format of :meth:`from_file`, and write it if a path is given.

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
    def size(self) -> SpotSize:
        """The size of the spot, computed without building it."""
        return spot_size(self)

    @cached_property
    def _built(self) -> "tuple[PublicForm, Indices, tuple[tuple[int, ...], ...]]":
        check_size(self)
        with timed("building"), doing(f"the tree, {about_nodes(self.size)} nodes, was being built"):
            tree = SpotTree(self)
            return tree.form(), frozen(np.array(tree.paid)), tuple(tree.numbers)

    @property
    def public_form(self) -> PublicForm:
        """The game in public form."""
        return self._built[0]

    @property
    def paid(self) -> Indices:
        """The chips that each player has put in at each node of the public form, shape (num_nodes, 2)."""
        return self._built[1]

    @property
    def boards(self) -> tuple[tuple[int, ...], ...]:
        """The cards of each board of the public form, by number, in the order in which they are dealt."""
        return self._built[2]

    @cached_property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """The locks as constraints on the players' plans, for :class:`~treeplex.ConstrainedNash` and for responses.

        Raises
        ------
        InvalidConstraintError
            If a lock does not fit the spot, or locks contradict each other.
        """
        return constraints_of(self, self.locks)

    def with_menu(self, seat: int, sizes: str) -> "HoldemSpot":
        """Return the spot with other bet sizes of one player on all streets.

        Parameters
        ----------
        seat : {0, 1}
            Out of position, or in position.
        sizes : str
            Such as ``"33%, 75%, a"``. Raises, lines and the other player's bets stay as they are.

        Raises
        ------
        InvalidGameError
            If the sizes cannot be read.

        Examples
        --------
        >>> from treeplex.models.games.holdem import HoldemSpot
        >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=200, bets="100%")
        >>> spot.with_menu(0, "33%, 75%").size.nodes > spot.size.nodes
        True
        """
        return replace(self, bets=None, betting=self.betting.with_menu(seat, sizes), spec="")

    def load_strategy(self, path: str | Path, player: int) -> Strategy:
        """Read a player's strategy from the file of a solved spot, or from another strategy file.

        Raises
        ------
        InvalidStrategyError, GameFileError
        """
        solved = self.game.own_profile(path)
        return Strategy.load(path, self.game, player) if solved is None else solved[player]

    @cached_property
    def game(self) -> "HoldemGame":
        """The game in sequence form, with factored payoffs; without the locks, which are :attr:`constraints`."""
        return HoldemGame(self)


class HoldemGame(Game):
    """A spot as a game; with a rake, only problems and methods for games that are not zero-sum accept it.

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
            without_histories="a spot has hands and a public tree, but no list of histories",
            learned_to=_TOLERANCE * spot.pot,
            exact_up_to=_TINY,
        )
        self.state_classes = {name: partial(classes_at, spot, name) for name in HAND_CLASSES}
        self.state_strengths = partial(strengths_at, spot)
        if spot.rake:
            self.default_problem = "epsilon-nash"

    @property
    def whole(self) -> tuple[float, str]:
        """The pot, to which tolerances in per cent refer."""
        return self.spot.pot, "the pot"

    @property
    def payoff_range(self) -> tuple[float, float]:
        """Oop's smallest and largest payoff, less half the pot: oop loses its stack, or wins the pot and ip's stack."""
        most = self.spot.pot / 2 + self.spot.stack
        return -most, most

    @property
    def payoff_words(self) -> str:
        """The bounds on oop's EV that follow from the pot and the stacks alone."""
        low, high = -self.spot.stack, self.spot.pot + self.spot.stack
        return f"the pot and the stacks alone bound the EV of oop: {low:,.10g} to {high:,.10g}"

    @cached_property
    def action_words(self) -> Mapping[str, Hashable]:
        """The spot's own names for a fold, a check and a call."""
        return {word: word for word in ("fold", "check", "call")}

    def _public(self) -> PublicForm:
        check_size(self.spot)
        return self.spot.public_form

    def _form(self) -> SequenceForm:
        check_size(self.spot, what="its sequence form", times=SEQUENCE_FORM)
        return self.spot.public_form.sequence_form()

    def _lines(self, game: Game) -> dict[str, Functional]:
        sizes = [treeplex.num_sequences for treeplex in game.sequence_form.treeplexes]
        return line_functionals(self.spot.public_form, sizes, SEATS, partial(shares, self.spot))

    def own_profile(self, path: str | PathLike[str], coarser: bool = False) -> Profile | None:
        """Return the strategies of a solved spot's file, with other bets if it may be coarser; ``None`` for others."""
        from .solved import profile_of  # solved.py imports this module

        return profile_of(path, self, coarser)

    @property
    def constraints(self) -> tuple[LinearConstraint, ...]:
        """The spot's locks as constraints on the players' plans."""
        return self.spot.constraints

    def placed_offers(self, player: int) -> Iterator[PlacedOffer]:
        """Yield the possible bets of a player at each of its nodes, in halves of the initial pot.

        Examples
        --------
        >>> from treeplex.models.games.holdem import HoldemSpot
        >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
        >>> [(one.offer.price, one.offer.raises) for one in spot.game.placed_offers(0)]
        [(0.0, {'all-in': 2.0}), (2.0, {})]
        """
        spot = self.spot
        form, paid, unit = spot.public_form, spot.paid, spot.pot / 2
        before = np.zeros(len(form.players), dtype=np.int64)  # the amounts put in on earlier streets
        for node in range(1, len(before)):
            parent = form.parents[node]
            before[node] = paid[node].max() if form.players[parent] == CHANCE else before[parent]
        for node in np.flatnonzero(form.players == player).tolist():
            after = {str(form.actions[child]): child for child in form.children[node].tolist()}
            totals = {name: float(paid[child][player] - before[node]) / unit for name, child in after.items()}
            board = spot.boards[form.boards[node]]
            offer = Offer(
                round=len(board) - 2,
                value=hand_values(board, spot.deck)[spot.hands[player]],
                price=float(paid[node].max() - paid[node][player]) / unit,
                level=float(paid[node].max() - before[node]) / unit,
                call="call" if "call" in after else "check",
                raises={name: total for name, total in totals.items() if name not in _PASSIVE},
                fold="fold" if "fold" in after else None,
            )
            nowhere = np.full(len(spot.hands[player]), -1)
            places = [
                nowhere if action is None else form.sequences(player, after[str(action)]) for action in offer.actions
            ]
            yield PlacedOffer(offer, np.array(places))


#: The keys of a spot file.
KEYS = ("board", "pot", "stack", "deck", "ranges", "bets", "thresholds", "lines", "rake", "locks")


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
