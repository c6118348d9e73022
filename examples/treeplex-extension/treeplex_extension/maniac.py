"""A bot that often goes all-in."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from treeplex.seqform import About
from treeplex.solvers.matches.bots import MatchBot


@dataclass(frozen=True)
class Maniac(MatchBot):
    """Goes all-in in half of its decisions and calls in the others, for ``maniac:share=1/2``."""

    share: Annotated[float, About("how often it goes all-in", minimum=0, maximum=1)] = 0.5

    name: ClassVar[str] = "maniac"

    def bot(self, table):
        return _Playing(self.share)


@dataclass(frozen=True)
class _Playing:
    share: float

    def begin(self, table, seat): ...

    def act(self, view, rng):
        return "all-in" if view.most and rng.random() < self.share else "call"

    def end(self, result): ...
