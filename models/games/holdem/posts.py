"""Blinds, antes and straddles of the preflop models."""

from fractions import Fraction
from typing import Annotated, ClassVar

from ....seqform.errors import InvalidGameError
from ....seqform.parameters import About, check_parameters

#: An amount in big blinds; an ``int`` or a ``Fraction`` once it is checked.
Amount = int | float | Fraction


def amount(description: str, least: int, most: int) -> About:
    """Return the declaration of an amount in big blinds."""
    expected = f"a number of big blinds from {least} to {most}"
    return About(description, minimum=least, maximum=most, expected=expected)


SmallBlind = Annotated[Amount, amount("small blind", 0, 1)]
Ante = Annotated[Amount, amount("ante of each player", 0, 100)]
BigBlindAnte = Annotated[Amount, amount("ante of the big blind alone", 0, 100)]
Straddle = Annotated[Amount, amount("straddle on the button", 0, 100)]
HALF = Fraction(1, 2)


class Posts:
    """A base class of preflop rules whose fields are stacks, blinds, antes and a straddle, all in big blinds.

    The button is player 0 and the big blind the last player.
    """

    name: ClassVar[str]
    num_players: ClassVar[int]
    stack: Amount
    small_blind: Amount
    ante: Amount
    bb_ante: Amount
    straddle: Amount

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("stack", "small_blind", "ante", "bb_ante", "straddle"):
            amount = Fraction(getattr(self, name))
            object.__setattr__(self, name, int(amount) if amount.denominator == 1 else amount)
        if 0 < Fraction(self.straddle) < 2:
            raise InvalidGameError(f"{self.name}: straddle = {self.straddle}; expected 0, or at least 2 big blinds")
        if self.straddle and self.num_players == 2 and self.small_blind != HALF:
            raise InvalidGameError(
                f"{self.name}: small_blind = {self.small_blind} with straddle = {self.straddle}; expected one of the "
                "two, because the button posts the straddle instead of the small blind"
            )
        if self.most <= self.opened:
            posts = [f"{each} = {getattr(self, each)}" for each in ("ante", "bb_ante", "straddle")]
            raise InvalidGameError(
                f"{self.name}: stack = {self.stack} with {', '.join(posts)}; expected a stack of more than "
                f"{self.opened + max(self.antes)}, so that the big blind or the straddle can be raised"
            )

    @property
    def antes(self) -> tuple[Fraction, ...]:
        """The ante of each player."""
        ante = Fraction(self.ante)
        return *(ante,) * (self.num_players - 1), ante + Fraction(self.bb_ante)

    @property
    def blinds(self) -> tuple[Fraction, ...]:
        """The blind, or the straddle, of each player."""
        first = [Fraction(self.straddle), Fraction(self.small_blind)]
        return *(first if self.num_players > 2 else [first[0] or first[1]]), Fraction(1)

    @property
    def opened(self) -> Fraction:
        """The amount to call at the start: the big blind or the straddle."""
        return max(self.blinds)

    @property
    def most(self) -> Fraction:
        """The largest amount that a player can put in besides antes."""
        return Fraction(self.stack) - max(self.antes)

    @property
    def begins(self) -> int:
        """The player who moves first."""
        return 1 if self.straddle else 0
