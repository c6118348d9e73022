"""The methods that solve linear programs with HiGHS."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.parameters import About
from .registry import Method

#: The features that linear programs serve.
LINEAR = frozenset({Feature.PROGRAM, Feature.ALONE, Feature.TILT, Feature.FLOOR, Feature.CONSTRAINTS, Feature.REPLIES})


@dataclass(frozen=True)
class HiGHS(Method):
    """The exact linear program, passed to HiGHS directly.

    Parameters
    ----------
    algorithm : {"auto", "simplex", "ipm", "ipm-crossover", "pdlp"}
        ``auto`` is the dual simplex method for up to :attr:`large` sequences of both players together (up to
        :attr:`large_flow` in flow polytopes), and the interior point method without crossover for more. Interior point
        with crossover ends at a vertex; PDLP is a first-order method.

    Notes
    -----
    For equilibria, with or without constraints, interior point can start from strategies. It then solves a smaller
    program with the sequences that the strategies play and those that lose at most a quarter of their error. The
    certificate covers all sequences and shows which ones are missing; larger programs follow until it is good enough.

    Huangfu and Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10 (2018).

    Examples
    --------
    >>> from treeplex import HiGHS, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), HiGHS(algorithm="ipm-crossover"))
    >>> solution.method.name, round(solution.value, 9)
    ('highs-ipm-crossover', -0.055555556)
    """

    algorithm: Annotated[
        Literal["auto", "simplex", "ipm", "ipm-crossover", "pdlp"], About("HiGHS algorithm", option=False)
    ] = "auto"

    serves: ClassVar[frozenset[str]] = LINEAR | {Feature.FLOAT_REPLIES, Feature.CORRELATION}
    backend: ClassVar[str] = "treeplex.solvers.exact.highs"
    backends: ClassVar[dict[str, str]] = {Feature.CORRELATION: "treeplex.solvers.exact.correlation"}
    #: The number of sequences of both players above which ``auto`` uses the interior point method.
    large: ClassVar[int] = 6_000
    #: The same for flow polytopes, on which the simplex method is slow.
    large_flow: ClassVar[int] = 1_000

    @property
    def name(self) -> str:  # type: ignore[override]
        """Its name on the command line."""
        return "highs" if self.algorithm == "auto" else f"highs-{self.algorithm}"

    @property
    def takes_start(self) -> bool:  # type: ignore[override]
        """True for interior point methods; other algorithms start from a basis or not at all."""
        return self.algorithm in ("ipm", "ipm-crossover")

    @property
    def default_tolerance(self) -> float:  # type: ignore[override]
        """1e-9 for an algorithm that ends at a vertex, otherwise the accuracy of HiGHS's own tolerances."""
        return {"pdlp": 1e-4, "ipm": 1e-8, "auto": 1e-8}.get(self.algorithm, 1e-9)


SIMPLEX = partial(HiGHS, algorithm="simplex")
INTERIOR_POINT = partial(HiGHS, algorithm="ipm")
CROSSOVER = partial(HiGHS, algorithm="ipm-crossover")
PDLP = partial(HiGHS, algorithm="pdlp")
