"""The threshold automaton: a bot that uses only the value of its hand, with eleven numbers for each betting round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_number, check_type, check_whole
from ...seqform.errors import InvalidStrategyError, shown
from ...seqform.game import Game
from ...seqform.interchange.files import naming, writing_whole
from ...seqform.interchange.toml_table import Table as TOMLTable
from ...seqform.interchange.toml_table import read_toml
from ...seqform.strategy import Profile, Strategy, checked_player
from ..games.betting import Offer, PlacedOffer, placed_offers
from ..games.holdem.values import SAMPLES, hand_value
from ..matches.table import HandResult, Table, View

#: The results of :meth:`Threshold.wanted` for a fold and for a call; any other number is the total to raise to.
FOLD, CALL = -1.0, 0.0
#: Number of parameters per round.
NUMBERS = 11
#: The largest number of rounds.
_MOST_ROUNDS = 4
#: The permitted range of the numbers, which keeps polynomials from overflowing.
_BOUNDS = "[-1e9, 1e9]"
#: The suffix of a bot file.
BOT_FILE = ".toml"
#: The largest number of sampled hands and boards for an estimate.
MOST_SAMPLES = 1_000_000


@dataclass(frozen=True)
class ThresholdRound:
    """The rule of a threshold automaton for one betting round.

    With v = W − L of its hand it gives up below `x`, waits and sees from `x` on, raises to some amount from `y` on, and
    bets to the end from `z` on. Amounts are in antes or big blinds, as in
    :class:`~treeplex.models.games.betting.Offer`, and at least 0.

    Parameters
    ----------
    x, y, z : float
        Thresholds on v, from −1 to 1 or beyond, in ascending order.
    p : four floats
        Coefficients a₀ to a₃ of the largest price that it calls, p(v) = a₀ + a₁ v + a₂ v² + a₃ v³.
    q : four floats
        The same for the amount that it raises to, a total on the round.

    Raises
    ------
    InvalidStrategyError
        If a number is not finite, or the thresholds are not in order.
    """

    x: float
    y: float
    z: float
    p: tuple[float, ...]
    q: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("x", "y", "z", "p", "q"):
            object.__setattr__(self, name, _checked(name, getattr(self, name)))
        if not self.x <= self.y <= self.z:
            raise InvalidStrategyError(f"x, y, z are {self.x:g}, {self.y:g}, {self.z:g}, expected ascending thresholds")


def _checked(name: str, given: Any) -> float | tuple[float, ...]:
    """Return a threshold, or the coefficients of a polynomial."""
    if name in ("x", "y", "z"):
        return check_number(given, name, InvalidStrategyError, _BOUNDS)
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 4:
        raise InvalidStrategyError(f"{name} is {shown(given, 60)}, expected four coefficients")
    return tuple(check_number(one, f"a coefficient of {name}", InvalidStrategyError, _BOUNDS) for one in given)


#: A typical hand-made bot, for stacks of a hundred big blinds.
_HAND_MADE = (
    ThresholdRound(-0.16, 0.1, 0.45, (3.0, 10.0, 0.0, 40.0), (2.5, 1.0, 0.0, 0.0)),
    ThresholdRound(-0.1, 0.3, 0.8, (4.0, 10.0, 10.0, 20.0), (4.0, 2.0, 4.0, 0.0)),
    ThresholdRound(0.0, 0.4, 0.85, (4.0, 10.0, 20.0, 20.0), (6.0, 4.0, 8.0, 0.0)),
    ThresholdRound(0.1, 0.5, 0.9, (4.0, 10.0, 20.0, 40.0), (8.0, 8.0, 16.0, 0.0)),
)


@dataclass(frozen=True)
class Threshold:
    """A threshold automaton: a deterministic bot with eleven numbers per betting round, 44 for the four of hold'em.

    At each decision it considers v = W − L, the probability that its hand wins minus that it loses, and the price of a
    call. It ignores the pot and earlier actions.

    Parameters
    ----------
    rounds : sequence of ThresholdRound
        One to four; later rounds are played like the last one. By default a hand-made bot for hold'em with stacks of a
        hundred big blinds.

    Raises
    ------
    InvalidStrategyError

    Notes
    -----
    The price is the cost of a call, and the level the largest amount that any player has put in on the round.

    ==================== ========== ==============================================================================
    automaton            where      does
    ==================== ========== ==============================================================================
    give up              v < x      fold, or check if a call costs nothing
    wait and see         x ≤ v < y  call a price of at most p(v), otherwise fold
    raise to some amount y ≤ v < z  fold to a price above p(v); otherwise raise to q(v), or call if the smallest raise
                                    is more
    bet to the end       z ≤ v      raise to q(v), or if the smallest raise is more, to twice the level
    ==================== ========== ==============================================================================

    If only some amounts are possible, it raises to the nearest one, or to the smaller of two equally near ones. If none
    is possible, it calls.

    T. Chen, "2-player no limit Texas hold 'em AI report", 2020, sections 1.2 and 1.3. The report does not state a scale
    for amounts or the order of the third automaton's conditions; here they are tested as listed.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.opponents import Threshold
    >>> plan = Threshold().strategy(load_game("leduc:merge_suits=true"), player=1)
    >>> plan["J_r"], plan["K_c"]
    ({'f': 1.0, 'c': 0.0, 'r': 0.0}, {'c': 0.0, 'r': 1.0})
    """

    rounds: tuple[ThresholdRound, ...] = _HAND_MADE

    def __post_init__(self) -> None:
        if not isinstance(self.rounds, Sequence) or not 1 <= len(self.rounds) <= _MOST_ROUNDS:
            raise InvalidStrategyError(f"rounds is {shown(self.rounds, 60)}, expected one to four ThresholdRounds")
        for one in self.rounds:
            check_type(one, "a round", InvalidStrategyError, ThresholdRound)
        object.__setattr__(self, "rounds", tuple(self.rounds))

    @property
    def numbers(self) -> Floats:
        """All numbers, round by round: x, y, z, a₀ to a₃, b₀ to b₃; shape (11 · rounds,)."""
        return np.array([(one.x, one.y, one.z, *one.p, *one.q) for one in self.rounds]).ravel()

    @classmethod
    def from_numbers(cls, numbers: npt.ArrayLike) -> "Threshold":
        """Return the automaton with eleven given numbers per round, as in :attr:`numbers`; thresholds are sorted.

        Raises
        ------
        InvalidStrategyError
        """
        try:
            given = np.array(numbers, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidStrategyError(f"numbers is {shown(numbers, 60)}, expected {NUMBERS} for each round") from None
        if given.ndim != 1 or not len(given) or len(given) % NUMBERS:
            raise InvalidStrategyError(f"received {given.size} numbers, expected {NUMBERS} for each round")
        rows = given.reshape(-1, NUMBERS).tolist()
        sides = [(sorted(row[:3]), tuple(row[3:7]), tuple(row[7:])) for row in rows]
        return cls(tuple(ThresholdRound(x, y, z, p, q) for (x, y, z), p, q in sides))

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "Threshold":
        """Read the automaton of a bot file, as :meth:`ThresholdBot.from_file` does.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the file, the line and the key.
        """
        return ThresholdBot.from_file(path).automaton

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """Return the automaton in the file format of :meth:`from_file`, and write it if a path is given.

        Numbers are written so that reading restores them exactly.

        Examples
        --------
        >>> from treeplex.models.opponents import Threshold
        >>> print(Threshold(Threshold().rounds[:1]).to_toml())
        [[rounds]]
        x = -0.16
        y = 0.1
        z = 0.45
        p = [3.0, 10.0, 0.0, 40.0]
        q = [2.5, 1.0, 0.0, 0.0]
        <BLANKLINE>
        """
        tables = (
            "[[rounds]]\n" + "".join(f"{key} = {_text(getattr(one, key))}\n" for key in _KEYS) for one in self.rounds
        )
        return _written("\n".join(tables), path)

    def wanted(self, number: int, value: npt.ArrayLike, price: float, level: float, least: float) -> Floats:
        """Return the automaton's choice with each of several hands.

        Parameters
        ----------
        number : int
            The betting round.
        value : array_like of float
            v of each hand.
        price, level : float
        least : float
            The smallest possible total of a raise; infinite if there is none.

        Returns
        -------
        ndarray of float64
            −1 for a fold, 0 for a call or check, otherwise the total to raise to, at least `least`.
        """
        rule = self.rounds[min(number, len(self.rounds) - 1)]
        values = np.asarray(value, dtype=np.float64)
        automaton = np.searchsorted((rule.x, rule.y, rule.z), values, side="right")
        pays = np.maximum(np.polynomial.polynomial.polyval(values, rule.p), 0.0)
        bets = np.polynomial.polynomial.polyval(values, rule.q)
        pays = np.where(automaton == 0, 0.0, np.where(automaton == 3, np.inf, pays))
        further = 0.0 if np.isinf(least) else max(2.0 * level, least)
        higher = np.where(bets >= least, bets, np.where(automaton == 3, further, CALL))
        return np.where(price > pays, FOLD, np.where(automaton >= 2, higher, CALL))

    def choose(self, offer: Offer) -> Indices:
        """Return the index of the offer's action that the automaton takes with each hand.

        Examples
        --------
        >>> from treeplex.models.games.betting import Offer
        >>> from treeplex.models.opponents import Threshold
        >>> Threshold().choose(Offer(0, [-0.5, 0.0, 0.2, 0.9], 2, 2, "call", {"raise 4": 4, "raise 8": 8}, "fold"))
        array([0, 1, 1, 2])
        """
        totals = np.array(list(offer.raises.values()), dtype=np.float64)
        least = totals.min(initial=np.inf)
        wanted = np.atleast_1d(self.wanted(offer.round, offer.value, offer.price, offer.level, least))
        chosen: Indices = np.where((wanted == FOLD) & (offer.fold is not None), 0, 1)
        higher = np.flatnonzero(wanted > CALL)
        if len(higher):
            chosen[higher] = 2 + np.abs(wanted[higher, None] - totals).argmin(axis=1)
        return chosen

    def behaviour(self, offers: Sequence[PlacedOffer], sequences: int) -> Floats:
        """Return the behaviour that defines :meth:`strategy`, shape (num_sequences,).

        Parameters
        ----------
        offers : sequence of PlacedOffer
            All offers of a player in a game.
        sequences : int
            The player's number of sequences.
        """
        vector = np.zeros(sequences)
        vector[0] = 1.0
        for placed in offers:
            there = np.flatnonzero(placed.sequences[1] >= 0)
            vector[placed.sequences[self.choose(placed.offer), np.arange(placed.sequences.shape[1])][there]] = 1.0
        return vector

    def strategy(self, game: Game, player: int) -> Strategy:
        """Return the automaton's strategy in a game.

        Parameters
        ----------
        game : Game
            Kuhn or Leduc poker, a hold'em spot, or another game whose rules have a method ``betting``.
        player : int

        Raises
        ------
        UnsupportedProblemError
            If the game does not describe its betting.
        """
        offers = list(placed_offers(game, checked_player(game, player)))
        sequences = game.sequence_form.treeplexes[player].num_sequences
        return Strategy(game, player, self.behaviour(offers, sequences))

    def profile(self, game: Game) -> Profile:
        """Return the automaton's strategies in all seats of a game."""
        return Profile([self.strategy(game, player) for player in range(game.num_players)])


#: The keys of a file's table, and their expected values.
_KEYS: Mapping[str, str] = {
    "x": "a number, such as -0.2",
    "y": "a number, such as 0.2",
    "z": "a number, such as 0.6",
    "p": "four numbers, such as [3.0, 10.0, 0.0, 40.0]",
    "q": "four numbers, such as [2.5, 1.0, 0.0, 0.0]",
}


def _text(value: Any) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _written(text: str, path: str | PathLike[str] | None) -> str:
    """Return a string, and write it to a file if a path is given."""
    if path is not None:
        with writing_whole(path) as passing:
            passing.write_text(text, encoding="utf-8")
    return text


@dataclass(frozen=True)
class ThresholdBot:
    """A threshold automaton at a table of hold'em, with two to six seats.

    v is against one opponent's hand, for any number of players: exact before the flop and on the river, and an estimate
    on the flop and turn, which is always the same for the same cards.

    Parameters
    ----------
    automaton : Threshold
        Its amounts are in big blinds.
    samples : int
        Number of sampled hands and boards for an estimate of v, at most a million; by default 10,000, as in the report.

    Raises
    ------
    InvalidStrategyError
        If `samples` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.matches import Table, View
    >>> from treeplex.models.opponents.threshold import ThresholdBot
    >>> aces = View(Table(), 1, (51, 50), (), 0, (100, 50), (19900, 19950), (False, False), 150, (), 200, 20000)
    >>> ThresholdBot().act(aces, np.random.default_rng(0))
    'raise 320'
    """

    automaton: Threshold = field(default_factory=Threshold)
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        check_type(self.automaton, "automaton", InvalidStrategyError, Threshold)
        check_whole(self.samples, "samples", InvalidStrategyError, f"[1, {MOST_SAMPLES}]")

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "ThresholdBot":
        """Read a bot from a TOML file: tables ``[[rounds]]`` with x, y, z, and p and q of four numbers each.

        They may be preceded by ``bot = "threshold"`` and ``samples``.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the file, the line and the key.
        """
        with naming(path):
            return cls.from_table(read_toml(path))

    @classmethod
    def from_table(cls, top: TOMLTable) -> "ThresholdBot":
        """Read a bot from the contents of a file.

        Raises
        ------
        GameFileError, InvalidGameError
        """
        if top.values.get("bot", "threshold") != "threshold":
            raise top.error(f"bot is {shown(top.values['bot'], 60)}, expected 'threshold' with [[rounds]]", "bot")
        top.check_keys(("bot", "samples", "rounds"))
        tables = top.tables("rounds", "[[rounds]] with x = -0.2")
        if not 1 <= len(tables) <= _MOST_ROUNDS:
            raise top.error(f"received {len(tables)} tables [[rounds]], expected 1 to {_MOST_ROUNDS}")
        rounds = tuple(_round_of(table) for table in tables)
        try:
            return cls(Threshold(rounds), top.values.get("samples", SAMPLES))
        except InvalidStrategyError as error:
            raise top.error(str(error), "samples") from None

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """Return the bot in the file format of :meth:`from_file`, and write it if a path is given.

        Examples
        --------
        >>> from treeplex.models.opponents import ThresholdBot
        >>> print(ThresholdBot(samples=2000).to_toml()[:50])
        bot = "threshold"
        samples = 2000
        <BLANKLINE>
        [[rounds]]
        x = -
        """
        return _written(f'bot = "threshold"\nsamples = {self.samples}\n\n{self.automaton.to_toml()}', path)

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand; the bot has no memory."""

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return an action, which is never random."""
        blind = view.table.big_blind
        least = view.least / blind if view.most else np.inf
        value, level = hand_value(view.hand, view.board, self.samples), max(view.bets) / blind
        wanted = float(self.automaton.wanted(view.street, value, view.price / blind, level, least))
        if wanted == FOLD:
            return "fold"
        if wanted == CALL:
            return "call" if view.price else "check"
        amount = min(max(round(wanted * blind), view.least), view.most)
        return f"{view.aggressive} {amount}"

    def end(self, result: HandResult) -> None:
        """Receive the result of the hand; the bot does not learn from it."""


def _round_of(table: TOMLTable) -> ThresholdRound:
    """Read a round; errors name the key."""
    table.check_keys(tuple(_KEYS))
    read: dict[str, Any] = {}
    key: str | None = None
    try:
        for key, such_as in _KEYS.items():
            read[key] = _checked(key, table.needs(key, such_as))
        key = None
        return ThresholdRound(**read)
    except InvalidStrategyError as error:
        raise table.error(f"{'.'.join(table.path)}: {error}", key) from None
