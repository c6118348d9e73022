"""Linear programs by HiGHS, as a method."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.parameters import About
from .registry import Method

#: What linear programs can do.
LINEAR = frozenset({Feature.PROGRAM, Feature.ALONE, Feature.TILT, Feature.FLOOR, Feature.CONSTRAINTS, Feature.REPLIES})


@dataclass(frozen=True)
class HiGHS(Method):
    """The exact linear program, handed to HiGHS directly.

    Parameters
    ----------
    algorithm : {"auto", "simplex", "ipm", "ipm-crossover", "pdlp"}
        ``auto`` is the dual simplex method up to :attr:`large` sequences of both players together, in flow polytopes up
        to :attr:`large_flow`, and the interior point method without crossover above. Interior point with crossover ends
        at a vertex; PDLP is first-order.

    Notes
    -----
    Interior point takes strategies to start from, for equilibria, constrained or not. It then solves a smaller program:
    of what the strategies play, and of what loses at most a quarter of their error. The certificate, which knows all
    sequences, says what that lacked, and programs follow with more until it is enough.

    Huangfu and Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10 (2018).

    Examples
    --------
    >>> from treeplex import HiGHS, Nash, load_game, solve
    >>> solution = solve(Nash(load_game("kuhn")), HiGHS(algorithm="ipm-crossover"))
    >>> solution.method.name, round(solution.value, 9)
    ('highs-ipm-crossover', -0.055555556)
    """

    algorithm: Annotated[
        Literal["auto", "simplex", "ipm", "ipm-crossover", "pdlp"], About("algorithm of HiGHS", option=False)
    ] = "auto"

    serves: ClassVar[frozenset[str]] = LINEAR | {Feature.FLOAT_REPLIES}
    backend: ClassVar[str] = "treeplex.solvers.exact.highs"
    #: Number of sequences of both players above which ``auto`` takes the interior point method.
    large: ClassVar[int] = 6_000
    #: The same in flow polytopes, on which the simplex method is slow.
    large_flow: ClassVar[int] = 1_000

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the command line calls it."""
        return "highs" if self.algorithm == "auto" else f"highs-{self.algorithm}"

    @property
    def takes_start(self) -> bool:  # type: ignore[override]
        """Whether it is interior point: others go on from a basis or not at all."""
        return self.algorithm in ("ipm", "ipm-crossover")

    @property
    def default_tolerance(self) -> float:  # type: ignore[override]
        """1e-9 if an algorithm that ends at a vertex is named, else what HiGHS's own tolerances can give."""
        return {"pdlp": 1e-4, "ipm": 1e-8, "auto": 1e-8}.get(self.algorithm, 1e-9)


SIMPLEX = partial(HiGHS, algorithm="simplex")
INTERIOR_POINT = partial(HiGHS, algorithm="ipm")
CROSSOVER = partial(HiGHS, algorithm="ipm-crossover")
PDLP = partial(HiGHS, algorithm="pdlp")
