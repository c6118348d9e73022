"""The units in which EVs are shown: chips, big blinds, or per cent of the pot at a node."""

from dataclasses import dataclass
from typing import Any

from ....seqform.errors import InvalidOptionError, nearest, shown
from ....seqform.sheet import decimals

#: The names of units, and how each is written after a number.
NAMES = {"chips": "chips", "bb": "BB", "pot": "% of pot"}
#: The decimals of each unit; a thousandth of a big blind is the mBB of papers.
_DIGITS = {"chips": 2, "bb": 3, "pot": 2}


@dataclass(frozen=True)
class Unit:
    """A unit of EV.

    Parameters
    ----------
    name : {"chips", "bb", "pot"}
    worth : float
        The size of the unit in the payoffs of the game: the big blind in chips, for ``bb`` in a spot. It has no effect
        on ``pot``.

    Examples
    --------
    >>> from treeplex.models.games.holdem.units import Unit
    >>> unit = Unit.parse("bb=2", "chips")
    >>> unit.text(15.0, pot=60.0), unit.label, Unit.parse("pot", "chips").text(15.0, pot=60.0)
    ('7.500', 'BB', '25.00')
    """

    name: str
    worth: float = 1.0

    @classmethod
    def parse(cls, text: str, native: str) -> "Unit":
        """Read a unit.

        Parameters
        ----------
        text : str
            ``chips``, ``bb``, ``pot`` or, for a game whose payoffs are in chips, ``bb=2``: a big blind is 2 chips.
        native : {"chips", "bb"}
            The unit of the game's payoffs.

        Raises
        ------
        InvalidOptionError
            If there is no such unit, or the game does not determine its size.
        """
        name, given, size = (part.strip() for part in text.lower().partition("="))
        if name not in NAMES:
            raise InvalidOptionError(
                f"unit is {shown(text, 40)}, expected chips, bb, bb=CHIPS or pot{nearest(name, NAMES)}"
            )
        if given and (name, native) != ("bb", "chips"):
            raise InvalidOptionError(
                f"unit is {shown(text, 40)}, expected {name}; only bb takes a number, where payoffs are in chips"
            )
        if name == "chips" != native:
            raise InvalidOptionError("unit is 'chips', but this game is played in big blinds; expected bb or pot")
        if name == "bb" != native:
            if not given:
                raise InvalidOptionError(
                    "unit is 'bb', but a spot does not state its big blind; expected its chips, as in bb=2"
                )
            try:
                worth = float(size)
            except ValueError:
                worth = 0.0
            if not 0.0 < worth < 1e12:
                raise InvalidOptionError(f"unit is {shown(text, 40)}, expected a positive number of chips, as in bb=2")
            return cls(name, worth)
        return cls(name)

    @property
    def label(self) -> str:
        """The unit as written after a number, such as ``BB``."""
        return NAMES[self.name]

    @property
    def digits(self) -> int:
        """The number of decimals shown."""
        return _DIGITS[self.name]

    def of(self, payoff: Any, pot: float) -> Any:
        """Convert a payoff, or an array of payoffs, at a node with some pot."""
        return 100.0 * payoff / pot if self.name == "pot" else payoff / self.worth

    def text(self, payoff: float, pot: float) -> str:
        """Format a payoff at a node with some pot, without the name of the unit."""
        return decimals(self.of(payoff, pot), self.digits)

    def named(self, payoff: float, pot: float) -> str:
        """Format a payoff with the name of the unit.

        Examples
        --------
        >>> from treeplex.models.games.holdem.units import Unit
        >>> Unit("pot").named(15.0, 60.0), Unit("bb", 2.0).named(15.0, 60.0)
        ('25.00% of pot', '7.500 BB')
        """
        return f"{self.text(payoff, pot)}{'' if self.name == 'pot' else ' '}{self.label}"

    def pot_text(self, pot: float) -> str:
        """Format a pot: in the unit itself, or in the payoffs of the game where the unit is a share of the pot.

        Examples
        --------
        >>> from treeplex.models.games.holdem.units import Unit
        >>> Unit("bb", 2.0).pot_text(2_005), Unit("pot").pot_text(2_005)
        ('1,002.5 BB', '2,005')
        """
        value = pot if self.name == "pot" else pot / self.worth
        return f"{value:,.10g}" + (" BB" if self.name == "bb" else "")


CHIPS, BIG_BLINDS = Unit("chips"), Unit("bb")
