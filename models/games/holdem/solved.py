"""Views of a solved spot: at any node the strategy, EV and equity of each hand, and the averages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.checks import is_number
from ....seqform.errors import GameFileError, InvalidGameError, InvalidStrategyError, one_line, shown
from ....seqform.interchange.encoding import json_ready
from ....seqform.interchange.files import (
    read_archive,
    refusing_damaged,
    refusing_unwritable,
    write_archive,
)
from ....seqform.public_form import PublicForm
from ....seqform.public_profile import PublicProfile, StrategiesOnDemand
from ....seqform.strategy import Profile
from .bets import SEATS, Betting
from .cards import CARDS, HANDS, RANKS, Range
from .charts import ChartedNode
from .classes import CLASS_OF_HAND, CLASSES
from .hand_tables import SpotTable, told, weighted_mean
from .node_numbers import ComputedNumbers, StoredNumbers, behaviour_blocks, stored_arrays
from .places import Place, after, by_next_card
from .spot import HoldemGame, HoldemSpot
from .units import CHIPS

_FORMAT, _VERSION = "treeplex solved spot", 1
#: The columns for each player: EV in chips, equity as a share of the pot, and the remaining share of the range.
_COLUMNS = ("hand", "class", "reach", "weight", "ev", "equity")


class SolvedSpot:
    """A spot with a strategy for each player.

    Parameters
    ----------
    spot : HoldemSpot
    profile : PublicProfile or Profile
        In public form, or for the spot's game in sequence form.
    certificate : mapping, optional
        The certificate, stored with the file.

    Notes
    -----
    EV is in chips from the pot, net of the chips put in from that node on. At every node both players' EVs add up to
    the pot there, minus the average rake, and a fold is worth 0. A hand's *reach* is its weight in the range times its
    action probabilities on the way. Averages weight hands by reach times the opponent's reach of hands that can be
    dealt with them; normalised, this is a hand's *weight*.

    Examples
    --------
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
    >>> from treeplex.models.games.holdem.bets import Betting
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, betting=Betting("100%", "a"))
    >>> solved = SolvedSpot(spot, solve(Nash(spot.game)).profile)
    >>> print(solved.at().hands())
    oop at the root, board Qc Jc 9c 3d 2d, pot 100
    hand  class   reach  weight      ev  equity   check  all-in  ev check  ev all-in
    AcKc  AKs    1.0000  0.5000  150.00  1.0000  0.0000  1.0000    100.00     150.00
    8h7h  87s    1.0000  0.5000    0.00  0.0000  0.5000  0.5000      0.00       0.00
    >>> print(solved.at("all-in"))
    ip to act after all-in, board Qc Jc 9c 3d 2d, pot 200
    fold 0.5000, call 0.5000
    EV oop 200.00, ip 0.00; equity oop 0.6667, ip 0.3333
    """

    def __init__(
        self,
        spot: HoldemSpot,
        profile: PublicProfile | Profile | StoredNumbers,
        certificate: Mapping[str, Any] | None = None,
    ) -> None:
        self.spot = spot
        self.numbers = profile if isinstance(profile, StoredNumbers) else ComputedNumbers(spot, profile)
        self.certificate = dict(certificate or {})

    def __repr__(self) -> str:
        return f"SolvedSpot(board={self.spot.board!r}, pot={self.spot.pot}, stack={self.spot.stack})"

    @property
    def form(self) -> PublicForm:
        """The spot in public form, which is not needed to read a node of a file."""
        return self.spot.public_form

    @property
    def profile(self) -> PublicProfile:
        """The strategies of both players at all nodes, from which all recomputed numbers follow."""
        return self.numbers.profile

    def at(self, line: str = "") -> "SpotNode":
        """Return a node of the betting.

        Parameters
        ----------
        line : str
            The line that leads there, such as ``"check, bet 120"`` or ``"check, check, deal 7s, bet 60"``; by default
            the root.

        Raises
        ------
        InvalidGameError
            If there is no such node; the message states where the line fails, and what is possible there.
        """
        return SpotNode(self, Place.at(self.spot, line))

    def runouts(self, line: str = "") -> SpotTable:
        """Return the numbers of a line for each possible card, and their average.

        Parameters
        ----------
        line : str
            With ``deal *`` for any card, such as ``"check, check, deal *, bet 60"``; at the end it may be omitted.

        Returns
        -------
        SpotTable
            One row per card: its probability given the line, EV and equity of both players, and the mover's action
            frequencies. The first row is the average.

        Raises
        ------
        InvalidGameError
            If the line does not pass a node at which a card is dealt.
        """
        before, then, places = by_next_card(self.spot, line)
        nodes = [SpotNode(self, place) for place in places]
        likely = np.array([node.probability for node in nodes])
        shares = likely / likely.sum() if likely.sum() > 0.0 else likely
        place = len(before)
        rows: list[dict[str, Any]] = [
            {"card": node.path[place], "weight": float(share)} | node.averages
            for node, share in zip(nodes, shares.tolist(), strict=True)
        ]
        mean = {
            name: weighted_mean([row[name] for row in rows], shares)
            for name in rows[0]
            if name not in ("card", "weight")
        }
        # From high cards to low ones, with the suits of a rank together.
        rows.sort(key=lambda row: (-RANKS.index(row["card"][0]), "shdc".index(row["card"][1])))
        goes_on = f", then {', '.join(then)}" if then else ""
        acting = f"{nodes[0].mover or 'nobody'} to act"
        title = f"{acting} {after(', '.join(before))} by the next card{goes_on}"
        return SpotTable(title, ({"card": "all", "weight": float(shares.sum())} | mean, *rows), pot=nodes[0].pot)

    # The file

    @property
    def stated_exploitability(self) -> float | None:
        """The exploitability stated in the certificate; ``None`` if there is none."""
        stated: Any = self.certificate.get("exploitability")
        return float(stated) if is_number(stated) and stated >= 0.0 else None

    def save(
        self,
        path: str | PathLike[str],
        precision: str = "single",
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Write the spot and both strategies to a file (``.npz``) that can be opened without solving again.

        Parameters
        ----------
        path : path-like
        precision : {"single", "half"}
            Of probabilities: 32 bits, or 16 bits, with errors of at most 1e-5. The exploitability in the file is that
            of the stored strategies.
        progress : callable, optional
            Called from time to time with the share of the work that is done.

        Raises
        ------
        GameFileError
            If the file has another suffix or cannot be written.
        """
        if precision not in ("single", "half"):
            raise InvalidGameError(f"precision is {shown(precision)}, expected single or half")
        if Path(path).suffix.lower() != ".npz":
            raise GameFileError(f"{one_line(fspath(path))}: a solved spot can only be written as .npz")
        computed = ComputedNumbers(self.spot, self.profile)
        arrays, kept = stored_arrays(computed, precision, progress)
        evs = [kept.value(player) + self.spot.pot / 2 for player in (0, 1)]
        metadata = {
            "format": _FORMAT,
            "version": _VERSION,
            "spot": self.spot.to_toml(),
            "certificate": json_ready(self.certificate | {"exploitability": kept.exploitability, "ev": evs}),
        }
        with refusing_unwritable(path):
            write_archive(Path(path), metadata, arrays, packed=False)

    @staticmethod
    def recognises(path: str | PathLike[str]) -> bool:
        """Return whether a file claims to contain a solved spot."""
        try:
            return read_archive(Path(path), mapped=True)[0].get("format") == _FORMAT
        except Exception:
            return False

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "SolvedSpot":
        """Open a solved spot written by :meth:`save`.

        Its tree is not built, and its numbers stay in the file until a node is read. Values are those stated in the
        file; :attr:`profile` recomputes them. Files of older versions, without these values, are read as a whole.

        Raises
        ------
        GameFileError
            If the file does not exist, does not contain a solved spot, is damaged, or has another version.
        """
        with refusing_damaged(path, "is not the file of a solved spot, or is damaged", GameFileError, "a solved spot"):
            metadata, arrays = read_archive(Path(path), mapped=True)
            if metadata.get("format") != _FORMAT or metadata.get("version") != _VERSION:
                found = f"format {shown(metadata.get('format'), 40)}, version {shown(metadata.get('version'), 20)}"
                raise ValueError(f"{found}, expected {_FORMAT}, version {_VERSION}")
            stored, certificate, text = arrays.get("behaviour"), metadata.get("certificate"), metadata.get("spot")
            if not (isinstance(certificate, dict) and isinstance(text, str)) or stored is None:
                raise ValueError("the spot, the certificate or the behaviour is missing")
            spot = HoldemSpot.from_toml(text)
            if stored.ndim != 1 or stored.dtype not in (np.float32, np.uint16):
                raise ValueError(f"its behaviour is {stored.dtype} of shape {stored.shape}")
            if "children" in arrays:
                return cls(spot, StoredNumbers(spot, arrays, one_line(fspath(path))), certificate)
            if not np.isfinite(stored).all() or (stored < 0).any():
                raise ValueError("its behaviour has numbers that are negative or not finite")
            form = spot.public_form
            return cls(spot, PublicProfile(form, behaviour_blocks(form, stored)), certificate)


class SpotNode(ChartedNode):
    """A node of the betting in a solved spot.

    Parameters
    ----------
    solved : SolvedSpot
    place : Place

    Attributes
    ----------
    path : tuple of str
        The actions and cards that lead there.
    mover : str
        ``oop`` or ``ip``; empty if a card is dealt or the hand is over.
    actions : tuple of str
    board : tuple of str
    pot : int
        The chips in the middle, including bets on the street.
    """

    solved: SolvedSpot
    native = CHIPS
    seats = SEATS

    def __init__(self, solved: SolvedSpot, place: Place) -> None:
        self.place, moves = place, place.player >= 0
        super().__init__(solved, place.path, SEATS[place.player] if moves else "", place.names if moves else ())
        self.board = tuple(CARDS[card] for card in place.board)
        self.pot = place.pot

    def _title(self, who: str) -> str:
        return (
            f"{who or 'nobody to act'} {after(', '.join(self.path))}, board {' '.join(self.board)}, pot {self.pot_text}"
        )

    def __str__(self) -> str:
        return super().__str__() + (f"; rake {told(self.rake, self.worth_text)}" if self.solved.spot.rake else "")

    @cached_property
    def means(self) -> dict[str, float | None]:
        """Mean EV and equity of both seats; a file stores those after a card."""
        stored = self.solved.numbers.means(self.place)
        if stored is None:
            return super().means
        names = [f"{seat} {name}" for name in ("ev", "equity") for seat in SEATS]
        return {name: None if np.isnan(one) else one for name, one in zip(names, stored.tolist(), strict=True)}

    # By hand: arrays over the hands of the seat's range, in the order of HoldemSpot.hands

    @cached_property
    def strategy(self) -> Floats:
        """The frequency of each action for each hand of the mover, shape (actions, hands)."""
        return self.solved.numbers.behaviour(self.place)

    @cached_property
    def action_evs(self) -> Floats:
        """The EV of each action for each hand of the mover, shape (actions, hands)."""
        return np.array([self._evs(self.place.player, child) for child in self.place.children])

    @cached_property
    def reaches(self) -> tuple[Floats, ...]:
        """The remaining share of each hand, for both seats."""
        return tuple(self._alive(seat, self._reach[seat]) for seat in (0, 1))

    @cached_property
    def likely(self) -> tuple[Floats, ...]:
        """The probability that each hand reaches the node, for both seats."""
        return tuple(self.reaches[seat] * self._arrival[seat] for seat in (0, 1))

    @cached_property
    def evs(self) -> tuple[Floats, ...]:
        """The EV of each hand, for both seats; NaN for impossible hands."""
        return tuple(self._evs(seat, self.place) for seat in (0, 1))

    @cached_property
    def equities(self) -> tuple[Floats, Floats]:
        """The equity of each hand, for both seats; NaN for impossible hands."""
        return self.solved.numbers.equities(self.place)

    @cached_property
    def _reach(self) -> tuple[Floats, ...]:
        return tuple(self.solved.numbers.reach(seat, self.place) for seat in (0, 1))

    @cached_property
    def _arrival(self) -> tuple[Floats, ...]:
        """The probability that each hand reaches the node if its player plays towards it, for both seats."""
        return tuple(self.solved.numbers.arrival(seat, self.place, self._reach[1 - seat]) for seat in (0, 1))

    def _evs(self, seat: int, place: Place) -> Floats:
        """Return the EV of each hand of a seat here, or after an action of its own."""
        values = PublicProfile.conditional(self.solved.numbers.values(seat, place), self._arrival[seat])
        return values + (self.solved.spot.pot / 2 + self.place.paid[seat])

    def _alive(self, seat: int, numbers: Floats) -> Floats:
        here, present = np.zeros(len(numbers)), self.place.present(seat)
        here[present] = numbers[present]
        return here

    # Tables

    @property
    def rake(self) -> float | None:
        """The average rake from there on: the part of the pot left by both EVs; ``None`` if the node is not reached."""
        evs = [self.averages[f"{seat} ev"] for seat in SEATS]
        return None if None in evs else self.pot - sum(map(float, filter(None, evs)))

    def hands(self, seat: str = "", only: str | Range | None = None) -> SpotTable:
        """Return the strategy and earnings of each hand of a seat.

        Parameters
        ----------
        seat : {"oop", "ip"}, optional
            By default the mover, or out of position if nobody moves.
        only : str or Range, optional
            Hands to show, such as ``"AsKh, 77+"``; by default all remaining ones.

        Returns
        -------
        SpotTable
            Sorted by EV, best first: reach, weight, EV and equity, and for the mover the frequency and EV of each
            action.
        """
        who = self.index_of(seat)
        asked = np.ones(len(HANDS)) if only is None else Range.parse(only).weights
        return self._table(who, self._rows(who, asked))

    def _rows(self, who: int, asked: Floats) -> Iterator[dict[str, Any]]:
        held, total = self.solved.spot.hands[who], self.likely[who].sum() or 1.0
        evs, equities, moves = self.evs[who], self.equities[who], SEATS[who] == self.mover
        present = self.place.present(who)
        there = present[(asked[held[present]] > 0.0) & ~np.isnan(evs[present])]
        for place in there[np.lexsort((-held[there], -evs[there].round(9)))].tolist():
            hand = self.solved.spot.hand_names[who][place]
            numbers = (self.reaches[who][place], self.likely[who][place] / total, evs[place], equities[place])
            row = dict(zip(_COLUMNS, (hand, CLASSES[CLASS_OF_HAND[held[place]]], *map(float, numbers)), strict=True))
            if moves:
                row |= dict(zip(self.actions, self.strategy[:, place].tolist(), strict=True))
                values = self.action_evs[:, place].tolist()
                row |= {f"ev {action}": value for action, value in zip(self.actions, values, strict=True)}
            yield row

    def _class_rows(self, seat: int) -> list[dict[str, Any]]:
        """Return a row for each of the 169 classes of a seat, averaged over its hands."""
        who = seat
        held, likely = self.solved.spot.hands[who], self.likely[who]
        classes = CLASS_OF_HAND[held]
        cards = [CARDS.index(card) for card in self.board]
        unblocked = np.bincount(CLASS_OF_HAND[~np.isin(HANDS, cards).any(axis=1)], minlength=len(CLASSES))
        rows = []
        for number, name in enumerate(CLASSES):
            of = np.flatnonzero(classes == number)
            weights, reach = likely[of], float(self.reaches[who][of].sum())
            row: dict[str, Any] = {
                "class": name,
                "combinations": reach,
                "reach": reach / float(unblocked[number]) if unblocked[number] else 0.0,
                "weight": float(weights.sum() / (likely.sum() or 1.0)),
                "ev": weighted_mean(self.evs[who][of], weights),
                "equity": weighted_mean(self.equities[who][of], weights),
            }
            if SEATS[who] == self.mover:
                for action, numbers in zip(self.actions, self.strategy, strict=True):
                    row[action] = weighted_mean(numbers[of], weights)
            rows.append(row)
        return rows

    def by_hand(self, hands: Iterable[str]) -> dict[str, dict[str, dict[str, Any] | None]]:
        """Return strategy and earnings by hand and seat; ``None`` for a hand that a seat cannot have there.

        Parameters
        ----------
        hands : iterable of str
            Such as ``["QsQh", "AdKd"]``.
        """
        found: dict[str, dict[str, dict[str, Any] | None]] = {}
        for hand in hands:
            number = int(np.flatnonzero(Range.parse(hand).weights)[0])
            asked = np.zeros(len(HANDS))
            asked[number] = 1.0
            for who, seat in enumerate(SEATS):
                row = next(iter(self._rows(who, asked)), None)
                played = None if row is None or seat != self.mover else {name: row[name] for name in self.actions}
                found.setdefault(hand, {})[seat] = (
                    None if row is None else {name: row[name] for name in _COLUMNS[2:]} | {"strategy": played}
                )
        return found

    def to_dict(self, by: str = "hand") -> dict[str, Any]:
        """Return the node as plain data: its place, averages, and the hands or the classes of both seats."""
        found = super().to_dict(by)
        hands = found.popitem()
        return found | {"rake": json_ready(self.rake) if self.solved.spot.rake else 0.0} | dict([hands])


def profile_of(path: str | PathLike[str], game: HoldemGame, coarser: bool = False) -> Profile | None:
    """Return the profile in a solved spot's file as a profile of the spot's game; ``None`` for other files.

    If it may be coarser, the file may have other bets, and the profile is one of the file's own game.

    Raises
    ------
    InvalidStrategyError
        If the game is that of another spot: with another board, ranges, pot, stacks, bets or rake.
    """
    if not SolvedSpot.recognises(path):
        return None
    solved = SolvedSpot.load(path)
    known, asked = (
        replace(spot, bets=None, locks=(), betting=Betting() if coarser else spot.betting).to_toml()
        for spot in (solved.spot, game.spot)
    )
    if known != asked:
        raise InvalidStrategyError(
            f"{one_line(fspath(path))} is for the spot {solved.spot.board}, expected {game.spot.board} with the same "
            f"ranges, pot, stacks{'' if coarser else ', bets'} and rake"
        )
    return StrategiesOnDemand(solved.spot.game if coarser else game, solved.profile)
