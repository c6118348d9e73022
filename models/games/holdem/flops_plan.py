"""The memory, traffic and time of solving hold'em from the blinds to the river, before anything is built."""

from dataclasses import dataclass

from .classes import CLASSES
from .flops_game import FlopsGame

#: Seconds of one core for each stored number and iteration, as measured on flops of 25 and 103 million numbers, and
#: iterations that certificates take in addition, as a share.
_SECONDS, _CHECKS = 5e-9, 0.15
#: Bytes of a regret and an average, by precision; and of a class's reach and value in a message.
PRECISIONS = {"half": 4, "single": 8, "double": 16}
_MESSAGE = 4 + 8


@dataclass(frozen=True)
class FlopsPlan:
    """The memory, the traffic and the time of a solve.

    Attributes
    ----------
    flops : int
        The flops in the game.
    stands_for : float
        The flops that they stand for; all are 22,100.
    exits : int
        Lines that end at a flop.
    numbers, largest : int
        Numbers that a solver stores for all flops, and for the largest one.
    bytes : mapping of str to int
        Bytes of all flops by precision: regrets and averages.
    table_bytes : int
        Bytes of the tables of all flops, whatever the precision.
    most_bytes : mapping of str to int
        The most bytes of a flop while it is built: a worker needs at least this much.
    traffic : int
        Bytes that an iteration moves between the trunk and all flops.
    core_seconds : float
        An estimate of the seconds that one core takes for an iteration, certificates included. It was measured on one
        machine; others differ by a factor of two.
    """

    flops: int
    stands_for: float
    exits: int
    numbers: int
    largest: int
    bytes: dict[str, int]
    table_bytes: int
    most_bytes: dict[str, int]
    traffic: int
    core_seconds: float

    @classmethod
    def of(cls, game: FlopsGame) -> "FlopsPlan":
        """Return the plan of a game.

        Examples
        --------
        >>> from treeplex.models.games.holdem import FlopsGame, Preflop
        >>> from treeplex.models.games.holdem.flops_plan import FlopsPlan
        >>> plan = FlopsPlan.of(FlopsGame(["Td9d6h"], Preflop(stack=20, raises=1), bets="75%", limps=False))
        >>> plan.exits, f"{plan.numbers:,}"
        (5, '395,389,012')
        """
        numbers = [part.num_numbers for part in game.parts]
        building = [part.building_bytes for part in game.parts]
        total = sum(numbers)
        return cls(
            flops=len(game.parts),
            stands_for=sum(one.weight for one in game.boards),
            exits=len(game.exits),
            numbers=total,
            largest=max(numbers),
            bytes={name: size * total for name, size in PRECISIONS.items()},
            table_bytes=sum(part.table_bytes for part in game.parts),
            most_bytes={
                name: max(size * count + form for count, form in zip(numbers, building, strict=True))
                for name, size in PRECISIONS.items()
            },
            traffic=2 * _MESSAGE * len(CLASSES) * len(game.exits) * len(game.parts),
            core_seconds=_SECONDS * total * (1.0 + _CHECKS),
        )

    def hours(self, iterations: int, workers: int = 1) -> float:
        """Return the estimated hours of a run on workers that share the flops evenly."""
        return iterations * self.core_seconds / min(workers, self.flops) / 3600.0

    def workers(self, memory: int, precision: str = "half") -> int | None:
        """Return how many workers with so many bytes each hold all flops; ``None`` if one does not hold the largest."""
        if self.most_bytes[precision] > memory:
            return None
        return -(-(self.bytes[precision] + self.table_bytes) // memory)
