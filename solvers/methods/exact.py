"""Methods that solve a problem's program exactly."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from ...models.problems import Feature
from ...seqform.parameters import About
from .declarations import Base
from .highs import LINEAR
from .registry import Method


@dataclass(frozen=True)
class Exact(Method):
    """The exact linear program, restricted to the actions that a regret minimiser found to matter.

    Parameters
    ----------
    base : {"dcfr", "cfr+", "pcfr+", "cfr"}
        How regrets accumulate.
    first : float
        At which error the first attempt is made to go from there to the optimum, relative to the largest payoff; later
        ones follow at thirds.
    direct : int
        Programs of so many rows and columns together are HiGHS's from the start; of twice as many where part of the
        opponent is known, or under constraints.

    Notes
    -----
    Regret minimisation tells which sequences are played and which inequalities are tight long before it tells how
    often. The program of these sequences alone, on both sides, is then solved by the simplex method from the basis that
    the answer suggests, for the distance from it; so is its dual. Programs on flow polytopes are solved by an interior
    point method, whole. Best responses that were left out come in until the certificate, which knows all sequences, is
    proven: see :doc:`/theory/from-regrets`.

    That is how equilibria and restricted Nash responses are found, under hard affine constraints or none. Programs with
    other constraints, with a floor, with replies that are images of others, or without a free opponent are solved by
    HiGHS as they are, and so are those of which no attempt succeeds, or that are given a start, for which see
    :class:`HiGHS`. The solution's ``state`` says which way was taken.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import Exact
    >>> solution = solve(Nash(load_game("leduc")), Exact())
    >>> solution.status, solution.state.way, round(solution.value, 9)
    (<Status.OPTIMAL: 'optimal'>, 'polish', -0.085606424)
    """

    base: Base = "dcfr"
    first: Annotated[float, About("error of the first attempt, relative to the largest payoff", above=0)] = 3e-4
    direct: Annotated[
        int,
        About("most rows and columns of HiGHS's programs", minimum=0, large=True, option=False),
    ] = 2_000

    name: ClassVar[str] = "exact"
    serves: ClassVar[frozenset[str]] = LINEAR | {Feature.FLOAT_REPLIES}
    backend: ClassVar[str] = "treeplex.solvers.exact.from_regrets"
    default_tolerance: ClassVar[float] = 1e-9


@dataclass(frozen=True)
class CVXPY(Method):
    """The exact formulation, through cvxpy.

    Parameters
    ----------
    solver : str, optional
        A solver that cvxpy has installed, by its name there; by default ``HIGHS`` for linear programs, ``CLARABEL`` for
        conic ones.

    Notes
    -----
    Goulart and Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", 2024.

    Examples
    --------
    >>> from treeplex import CVXPY, Nash, load_game, solve
    >>> round(solve(Nash(load_game("kuhn")), CVXPY(solver="CLARABEL"), tol=1e-6).value, 5)
    -0.05556
    """

    solver: Annotated[str | None, About("an installed solver of cvxpy", shown="HIGHS or CLARABEL")] = None

    name: ClassVar[str] = "cvxpy"
    serves: ClassVar[frozenset[str]] = LINEAR | {Feature.FLOAT_REPLIES, Feature.CONVEX}
    backend: ClassVar[str] = "treeplex.solvers.exact.through_cvxpy"


@dataclass(frozen=True)
class Rational(Method):
    """The exact linear program in rational arithmetic: values, strategies and multipliers as fractions.

    HiGHS finds a basis in floats; its vertex and multipliers are computed in rationals, and are optimal exactly or
    not. Where they are not, the program is shifted and scaled to what is wrong, and solved again. Numbers of the game
    are taken from its rules or its tree as they are written there, floats as their shortest decimals. In matrices and
    parameters a float of at most fifteen digits counts as that decimal, a longer one, and probabilities of an
    opponent's strategy, as the simplest fraction that rounds to it.

    Parameters
    ----------
    largest : int
        The largest accepted number of sequences and infosets per player together: time grows with the square of their
        number or faster, and so does memory.

    Notes
    -----
    The basis: D. L. Applegate, W. Cook, S. Dash and D. G. Espinoza, "Exact solutions to linear programming problems",
    Operations Research Letters 35, 2007. The refinement: A. M. Gleixner, D. E. Steffy and K. Wolter, "Iterative
    refinement for linear programming", INFORMS Journal on Computing 28, 2016.

    Examples
    --------
    >>> from treeplex import Nash, Rational, load_game, solve
    >>> solve(Nash(load_game("kuhn")), Rational()).value
    Fraction(-1, 18)
    """

    largest: Annotated[
        int, About("most sequences and infosets per player, together", minimum=1, large=True, option=False)
    ] = 5_000

    name: ClassVar[str] = "rational"
    serves: ClassVar[frozenset[str]] = LINEAR
    backend: ClassVar[str] = "treeplex.solvers.exact.rational"
    is_exact: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-9


@dataclass(frozen=True)
class DepthLimitedLP(Method):
    """The linear program of each step of a depth-limited response, by HiGHS; the value function is exact.

    Parameters
    ----------
    algorithm : {"auto", "simplex", "ipm", "ipm-crossover"}
        ``auto`` is the simplex method up to :attr:`large` sequences of both players together, which goes on from step
        to step, and the interior point method above; that has a crossover only where it finds no optimum without.

    Notes
    -----
    Where a step has several optimal plans, it takes the one at which the algorithm ends: a vertex, by the simplex
    method. The gains of later steps, and the exploitability, may depend on that; the proven bounds do not.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> round(solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), "lp").objective, 6)
    0.5
    """

    algorithm: Annotated[
        Literal["auto", "simplex", "ipm", "ipm-crossover"], About("algorithm of HiGHS", option=False)
    ] = "auto"

    name: ClassVar[str] = "lp"
    #: Number of sequences of both players above which ``auto`` takes the interior point method.
    large: ClassVar[int] = 20_000
    serves: ClassVar[frozenset[str]] = frozenset({Feature.STEPS, Feature.SEARCH, Feature.LOCAL})
    backend: ClassVar[str] = "treeplex.solvers.depth_limited.linear_programs"
    default_tolerance: ClassVar[float] = 1e-7


@dataclass(frozen=True)
class DoubleOracle(Method):
    """The game between a few routes of each side, by linear programs, which grows by best replies.

    Notes
    -----
    Each iteration solves the game restricted to the routes so far, and adds what gains against its mixtures: first
    replies that one pass over time finds, and when these gain no more, best replies by integer programs. Their
    bounds prove bounds on the value of the game, and those of the best mixtures so far are kept. There are
    finitely many routes, so it ends with the value, to the precision of HiGHS.

    H. B. McMahan, G. J. Gordon and A. Blum, "Planning in the presence of cost functions controlled by an adversary",
    ICML 2003. On road networks, with better replies before best ones: M. Jain, D. Korzhyk, O. Vaněk, V. Conitzer,
    M. Pěchouček and M. Tambe, "A double oracle algorithm for zero-sum security games on graphs", AAMAS 2011.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol import CaughtOnce
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank")])
    >>> game = PatrolGame(town, steps=2, units=[Unit(start="bank")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> solution = solve(CaughtOnce(game), "double-oracle")
    >>> solution.value, solution.gap <= 2e-6
    (1.0, True)
    """

    name: ClassVar[str] = "double-oracle"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.ROUTES})
    backend: ClassVar[str] = "treeplex.solvers.exact.double_oracle"
    takes_start: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-6

    @property
    def draws(self) -> bool:
        """It draws: which joint routes and routes count more for replies that are quick to find."""
        return True


@dataclass(frozen=True)
class BranchAndBound(Method):
    """The integer program of a commitment, by HiGHS's branch and bound.

    Notes
    -----
    The commitment to the reply that it ends with is then found by a linear program: V. Conitzer and T. Sandholm,
    "Computing the optimal strategy to commit to", EC 2006. For types of followers: P. Paruchuri, J. P. Pearce, J.
    Marecki, M. Tambe, F. Ordóñez and S. Kraus, "Playing games for security", AAMAS 2008.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.models.problems import Stackelberg
    >>> game = load_game("kuhn")  # opposed: a commitment is worth the value of the game
    >>> round(solve(Stackelberg(game, leader=0), "branch-and-bound").objective, 9)
    -0.055555556
    """

    name: ClassVar[str] = "branch-and-bound"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.COMMITMENT})
    backend: ClassVar[str] = "treeplex.solvers.exact.commitment"
    default_tolerance: ClassVar[float] = 1e-8
