"""General-sum games in which a mediator helps: a signalling game, the sheriff, and battleship with one ship each."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated, Any, ClassVar

from ...seqform.errors import InvalidGameError
from ...seqform.parameters import About, check_parameters
from ...seqform.rules import CHANCE, TERMINAL
from .registry import Family


@dataclass(frozen=True)
class Signalling:
    """The signalling game of von Stengel and Forges: signals cost nothing, so that only a mediator makes them credible.

    Chance makes a student good (``G``) or bad (``B``), with probability 1/2 each. The student, player 0, knows its type
    and sends the signal ``X`` or ``Y`` to a professor, player 1, who sees the signal alone and accepts or rejects the
    student. Payoffs of both players:

    ========  ==========  ==========
    type      ``accept``  ``reject``
    ========  ==========  ==========
    good      4, 10       0, 6
    bad       6, 0        0, 6
    ========  ==========  ==========

    Notes
    -----
    *Infosets*: player 0 has ``G`` and ``B``, player 1 ``X`` and ``Y``. *Sizes*: 5 sequences and 2 infosets of each
    player, 8 leaves.

    In every Nash equilibrium the professor rejects the student, and the payoffs are (0, 6). In an extensive-form
    correlated equilibrium the mediator draws a signal at random, recommends it to the good student, a random signal to
    the bad one, and to the professor to accept the drawn signal alone. The payoffs are (7/2, 13/2). Player 0's two
    infosets and player 1's form a triangle.

    References
    ----------
    B. von Stengel, F. Forges (2008), "Extensive-form correlated equilibrium: definition and computational complexity",
    *Mathematics of Operations Research* 33(4), 1002-1022, figure 1.

    Examples
    --------
    >>> rules = Signalling()
    >>> rules.payoffs(("G", "X", "accept"))
    (4, 10)
    """

    name: ClassVar[str] = "signalling"
    num_players: ClassVar[int] = 2

    # A state is the outcomes and actions so far.

    def initial_state(self) -> tuple[str, ...]:
        """Return the state before any action."""
        return ()

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return (CHANCE, 0, 1, TERMINAL)[len(state)]

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the types of the student."""
        return [("G", Fraction(1, 2)), ("B", Fraction(1, 2))]

    def actions(self, state: Any) -> Sequence[str]:
        """Return the signals, or the professor's answers."""
        return ("X", "Y") if len(state) == 1 else ("accept", "reject")

    def child(self, state: Any, action: Any) -> tuple[str, ...]:
        """Return the state after an outcome or an action."""
        return (*state, action)

    def infoset(self, state: Any) -> str:
        """Return the type for the student, and the signal for the professor."""
        return str(state[-1])

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return the payoffs of the student and the professor."""
        if state[2] == "reject":
            return 0, 6
        return (4, 10) if state[0] == "G" else (6, 0)


@dataclass(frozen=True)
class Sheriff:
    """The sheriff: a smuggler loads illegal items and offers bribes, and the sheriff inspects the cargo or does not.

    The smuggler, player 0, loads 0 to `items` items in secret. In each of several rounds it offers a bribe of 0 to
    `bribe`, and the sheriff, player 1, says whether it would inspect the cargo (``inspect`` or ``pass``). Only the last
    offer and the last answer count. All offers and answers are public.

    - If the sheriff passes the cargo with n items at a bribe b, the smuggler gets n · `value` − b, the sheriff b.
    - If it inspects and finds n ≥ 1 items, the smuggler pays it n · `penalty`.
    - If it inspects and finds nothing, it pays the smuggler `compensation`.

    Parameters
    ----------
    items, bribe, rounds : int
    value, penalty, compensation : Fraction

    Notes
    -----
    *Infosets*: player 0's are ``_`` and the number of items followed by offers and answers, such as ``3:``,
    ``3:2i``; player 1's are the offers and answers, such as ``2i1``. An answer is ``i`` or ``p``.

    There is no chance, so that the game is triangle-free. OpenSpiel's ``sheriff`` is the same game. With the default
    bribe, value, penalty and compensation, the largest sum of payoffs in an extensive-form correlated equilibrium is,
    for 1, 2, 5 and 10 items, 5, 10, 3.54 and 2.69 with one round, and 5, 10, 10 and 9.08 with two.

    References
    ----------
    G. Farina, C. K. Ling, F. Fang, T. Sandholm (2019), "Correlation in extensive-form games: saddle-point formulation
    and benchmarks", NeurIPS. After the board game *Sheriff of Nottingham*.

    Examples
    --------
    >>> rules = Sheriff(items=3)
    >>> state = rules.initial_state()
    >>> for step in ("3", "1", "pass"):
    ...     state = rules.child(state, step)
    >>> rules.payoffs(state)
    (Fraction(14, 1), Fraction(1, 1))
    """

    name: ClassVar[str] = "sheriff"
    num_players: ClassVar[int] = 2

    items: Annotated[int, About("largest number of illegal items", minimum=1, maximum=100)] = 2
    bribe: Annotated[int, About("largest bribe", minimum=0, maximum=100)] = 2
    rounds: Annotated[int, About("rounds of bargaining", minimum=1, maximum=10)] = 1
    value: Annotated[Fraction, About("smuggler's value of an item", minimum=0)] = Fraction(5)
    penalty: Annotated[Fraction, About("smuggler's payment to the sheriff for an item that is found", minimum=0)] = (
        Fraction(1)
    )
    compensation: Annotated[Fraction, About("sheriff's payment for an inspection without result", minimum=0)] = (
        Fraction(1)
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    # A state is the actions so far: the items, then offers and answers in turn.

    def initial_state(self) -> tuple[str, ...]:
        """Return the state before the smuggler loads."""
        return ()

    def player(self, state: Any) -> int:
        """Return the player to move."""
        if len(state) == 1 + 2 * self.rounds:
            return TERMINAL
        return 0 if not state else (len(state) - 1) % 2

    def actions(self, state: Any) -> Sequence[str]:
        """Return numbers of items, offers or answers."""
        if not state:
            return tuple(map(str, range(self.items + 1)))
        return tuple(map(str, range(self.bribe + 1))) if len(state) % 2 else ("inspect", "pass")

    def child(self, state: Any, action: Any) -> tuple[str, ...]:
        """Return the state after an action."""
        return (*state, action)

    def infoset(self, state: Any) -> str:
        """Return what the mover knows: its own items, and offers and answers so far."""
        said = "".join(f"{each if place % 2 == 0 else each[0]}" for place, each in enumerate(state[1:]))
        return (f"{state[0]}:{said}" if state else "_") if self.player(state) == 0 else said

    def payoffs(self, state: Any) -> Sequence[Fraction]:
        """Return the payoffs of the smuggler and the sheriff."""
        items, bribe = int(state[0]), int(state[-2])
        if state[-1] == "pass":
            return items * self.value - bribe, Fraction(bribe)
        paid = items * self.penalty if items else -self.compensation
        return -paid, paid


@dataclass(frozen=True)
class Battleship:
    """Battleship with one ship each: both place a ship in secret and then shoot in turn; losing a ship costs more.

    Player 0 and then player 1 place a ship of `length` fields on their own board. They then take turns to shoot at a
    field of the other's board, `shots` times each, never twice at the same field. Both see whether a shot hits. A ship
    is sunk when all its fields are hit, and the game ends. The player who sinks a ship gets 1, and its owner loses
    `loss`.

    Parameters
    ----------
    width, height, length, shots : int
    loss : Fraction

    Notes
    -----
    *Infosets* are labelled by the own ship, a bar, and all shots so far, in order, each with ``x`` if it hit and ``o``
    if not: ``_``, ``a1|``, ``a1|b1ox``. A ship is called by its first field; ships longer than one field that lie
    downwards have a ``v``. Fields are columns ``a``, ``b``, … and rows from 1.

    There is no chance, so that the game is triangle-free. With ``loss=1`` it is zero-sum. OpenSpiel's ``battleship``
    with ``allow_repeated_shots=false`` is the same game.

    The defaults are the instance of section 5.1 of the paper, in which -8/9 is the largest sum of payoffs in a Nash
    equilibrium. In an extensive-form correlated equilibrium it is -13/18, computed by treeplex.

    References
    ----------
    G. Farina, C. K. Ling, F. Fang, T. Sandholm (2019), "Correlation in extensive-form games: saddle-point formulation
    and benchmarks", NeurIPS.

    Examples
    --------
    >>> rules = Battleship()
    >>> state = rules.initial_state()
    >>> for step in ("a1", "b1", "b1"):
    ...     state = rules.child(state, step)
    >>> rules.player(state), rules.payoffs(state)
    (-2, (Fraction(1, 1), Fraction(-2, 1)))
    """

    name: ClassVar[str] = "battleship"
    num_players: ClassVar[int] = 2

    width: Annotated[int, About("columns of a board", minimum=1, maximum=10)] = 3
    height: Annotated[int, About("rows of a board", minimum=1, maximum=10)] = 1
    length: Annotated[int, About("fields of a ship", minimum=1, maximum=10)] = 1
    shots: Annotated[int, About("shots of each player", minimum=1, maximum=10)] = 2
    loss: Annotated[Fraction, About("loss of the owner of a sunk ship, which is worth 1 to the other", minimum=0)] = (
        Fraction(2)
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.length > max(self.width, self.height):
            raise InvalidGameError(
                f"battleship: length is {self.length}, expected at most {max(self.width, self.height)}, the longer "
                "side of a board"
            )
        if self.shots > self.width * self.height:
            raise InvalidGameError(
                f"battleship: shots is {self.shots}, expected at most {self.width * self.height}, the fields of a board"
            )

    # A state is the actions so far: the two ships, then shots in turn.

    def initial_state(self) -> tuple[str, ...]:
        """Return the state before any ship is placed."""
        return ()

    def player(self, state: Any) -> int:
        """Return the player to move."""
        if len(state) >= 2 and (len(state) == 2 + 2 * self.shots or self._sunk(state) is not None):
            return TERMINAL
        return len(state) % 2

    def actions(self, state: Any) -> Sequence[str]:
        """Return the places of a ship, or the fields that the mover has not shot at."""
        fields = [_field(*place) for place in product(range(self.width), range(self.height))]
        if len(state) >= 2:
            return tuple(field for field in fields if field not in state[2 + len(state) % 2 :: 2])
        places = product(range(self.width - self.length + 1), range(self.height))
        across = [_field(*place) for place in places]
        if self.length == 1:
            return tuple(across)
        return (*across, *(f"{_field(*p)}v" for p in product(range(self.width), range(self.height - self.length + 1))))

    def child(self, state: Any, action: Any) -> tuple[str, ...]:
        """Return the state after an action."""
        return (*state, action)

    def infoset(self, state: Any) -> str:
        """Return the mover's ship and all shots."""
        if len(state) < 2:
            return "_"
        ships = self._ship(state[0]), self._ship(state[1])
        marks = (f"{shot}{'x' if shot in ships[1 - turn % 2] else 'o'}" for turn, shot in enumerate(state[2:]))
        return f"{state[len(state) % 2]}|{''.join(marks)}"

    def payoffs(self, state: Any) -> Sequence[Fraction]:
        """Return 1 to the player who sank a ship, and the loss to the other."""
        winner = self._sunk(state)
        if winner is None:
            return Fraction(0), Fraction(0)
        return (Fraction(1), -self.loss) if winner == 0 else (-self.loss, Fraction(1))

    def _ship(self, place: str) -> set[str]:
        """Return the fields of a ship."""
        column, row = ord(place[0]) - ord("a"), int(place[1:].removesuffix("v")) - 1
        down = place.endswith("v")
        return {_field(column + step * (not down), row + step * down) for step in range(self.length)}

    def _sunk(self, state: Any) -> int | None:
        """Return the player who sank the other's ship."""
        for player in (0, 1):
            if self._ship(state[1 - player]) <= {*state[2 + player :: 2]}:
                return player
        return None


def _field(column: int, row: int) -> str:
    return f"{chr(ord('a') + column)}{row + 1}"


_FARINA = "G. Farina, C. K. Ling, F. Fang, T. Sandholm (2019), NeurIPS"

SIGNALLING = Family(
    rules=Signalling,
    summary="A student's signals cost nothing; a mediator makes them credible",
    citation="B. von Stengel, F. Forges (2008), Mathematics of Operations Research 33(4), figure 1",
)
SHERIFF = Family(
    rules=Sheriff,
    summary="A smuggler offers bribes to a sheriff, who inspects the cargo or does not",
    citation=_FARINA,
)
BATTLESHIP = Family(
    rules=Battleship,
    summary="Battleship with one ship each, in which losing a ship costs more than sinking one is worth",
    citation=_FARINA,
)
