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
    """The exact linear program, restricted to the actions that a regret minimiser finds relevant.

    Parameters
    ----------
    base : {"dcfr", "cfr+", "pcfr+", "cfr"}
        How regrets accumulate.
    first : float
        The error, relative to the largest payoff, at which the method first attempts to solve the restricted
        program; later attempts follow each time the error falls to a third.
    direct : int
        Programs with at most this many rows and columns together are solved by HiGHS directly. The limit is doubled
        if part of the opponent is known, or under constraints.

    Notes
    -----
    Regret minimisation finds the played sequences and the tight inequalities long before their probabilities are
    accurate. The method then solves the program of these sequences, on both sides, by the simplex method, from the
    basis that the answer suggests and for the distance from the answer. It solves the dual in the same way. Programs on
    flow polytopes are solved whole, by an interior point method. Missing best responses are added until the
    certificate, which covers all sequences, is proven; see :doc:`/theory/from-regrets`.

    This applies to equilibria and restricted Nash responses, with hard affine constraints or none. HiGHS solves other
    programs directly: those with other constraints, with a floor, with replies that are images of others, or without a
    free opponent. It also solves programs for which no attempt succeeds, and programs with a start; see :class:`HiGHS`.
    The solution's ``state`` records how it was solved.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> from treeplex.solvers import Exact
    >>> solution = solve(Nash(load_game("leduc")), Exact())
    >>> solution.status, solution.state.way, round(solution.value, 9)
    (<Status.OPTIMAL: 'optimal'>, 'polish', -0.085606424)
    """

    base: Base = "dcfr"
    first: Annotated[
        float, About("error at which the first attempt is made, relative to the largest payoff", above=0)
    ] = 3e-4
    direct: Annotated[
        int,
        About("largest number of rows and columns that HiGHS solves directly", minimum=0, large=True, option=False),
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
        The name of a solver that is installed with cvxpy; by default ``HIGHS`` for linear programs and ``CLARABEL``
        for conic programs.

    Notes
    -----
    Goulart and Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives", 2024.

    Examples
    --------
    >>> from treeplex import CVXPY, Nash, load_game, solve
    >>> round(solve(Nash(load_game("kuhn")), CVXPY(solver="CLARABEL"), tol=1e-6).value, 5)
    -0.05556
    """

    solver: Annotated[str | None, About("cvxpy solver, which must be installed", shown="HIGHS or CLARABEL")] = None

    name: ClassVar[str] = "cvxpy"
    serves: ClassVar[frozenset[str]] = LINEAR | {Feature.FLOAT_REPLIES, Feature.CONVEX}
    backend: ClassVar[str] = "treeplex.solvers.exact.through_cvxpy"


@dataclass(frozen=True)
class Rational(Method):
    """The exact linear program in rational arithmetic: values, strategies and multipliers as fractions.

    HiGHS finds a basis in floats. The vertex and multipliers of the basis are computed in rationals, which shows
    whether they are optimal. If they are not, the program is shifted and scaled to the remaining error and solved
    again. Numbers of the game are read exactly from its rules or tree, floats as their shortest decimals. In matrices
    and parameters, a float of at most fifteen digits counts as that decimal. A longer float, and a probability of an
    opponent's strategy, counts as the simplest fraction that rounds to it.

    In a general-sum game of two players, :class:`Lemke` finds the basis of an equilibrium, which is computed and
    checked in the same way: no player gains anything by playing differently.

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
        int, About("largest number of sequences and infosets per player, together", minimum=1, large=True, option=False)
    ] = 5_000

    name: ClassVar[str] = "rational"
    serves: ClassVar[frozenset[str]] = LINEAR | {Feature.GENERAL_SUM, Feature.REFINED}
    backend: ClassVar[str] = "treeplex.solvers.exact.rational"
    is_exact: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-9


@dataclass(frozen=True)
class DepthLimitedLP(Method):
    """The linear program of each step of a depth-limited response, by HiGHS; the value function is exact.

    Parameters
    ----------
    algorithm : {"auto", "simplex", "ipm", "ipm-crossover"}
        ``auto`` is the simplex method up to :attr:`large` sequences of both players together, and the interior
        point method above. Simplex continues from one step to the next. Interior point uses crossover only if it
        finds no optimum without it.

    Notes
    -----
    If a step has several optimal plans, the method takes the plan at which the algorithm ends: a vertex with the
    simplex method. The gains of later steps and the exploitability may depend on this choice; the proven bounds do not.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> round(solve(CDBR(game, Strategy.uniform(game, 1), lookahead=1), "lp").objective, 6)
    0.5
    """

    algorithm: Annotated[Literal["auto", "simplex", "ipm", "ipm-crossover"], About("HiGHS algorithm", option=False)] = (
        "auto"
    )

    name: ClassVar[str] = "lp"
    #: The number of sequences of both players above which ``auto`` uses the interior point method.
    large: ClassVar[int] = 20_000
    serves: ClassVar[frozenset[str]] = frozenset({Feature.STEPS, Feature.SEARCH, Feature.LOCAL})
    backend: ClassVar[str] = "treeplex.solvers.depth_limited.linear_programs"
    default_tolerance: ClassVar[float] = 1e-7


@dataclass(frozen=True)
class DoubleOracle(Method):
    """Double oracle: the game between some routes of each side, solved by linear programs and extended by best replies.

    Notes
    -----
    Each iteration solves the game restricted to the current routes, and adds routes that gain against its mixtures. It
    first adds replies that one pass over time finds. If these gain no more, it adds best replies by integer programs,
    whose bounds prove bounds on the value of the game. The method keeps the bounds of the best mixtures so far. There
    are finitely many routes, so it ends with the value, to the precision of HiGHS.

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
        """Always true: the search for quick replies gives random weights to routes and to joint routes."""
        return True


@dataclass(frozen=True)
class Columns(Method):
    """Column generation: linear programs between some sequences of both players, extended by best responses.

    Parameters
    ----------
    first : float
        In games with more than :attr:`direct` sequences of both players, regret minimisation finds the first
        strategies, up to this error relative to the largest payoff.
    most : int
        The largest number of its iterations.
    direct : int
        Up to this number of sequences, the method begins with best responses to uniform play instead.

    Notes
    -----
    Each iteration solves the game between the kept sequences of both players by HiGHS. Best responses in the whole
    game, computed by one pass over each polytope, prove a lower and an upper bound on the value. They also show which
    sequences are missing. At an infoset that a player reaches, a best response may earn more than the kept sequences
    do. The method then keeps the sequences of a best response from there on. It returns the best strategies and bounds
    so far. It ends with the value of the whole game, because there are finitely many sequences.

    A route on a map is a path in the graph of time and place. Kept sequences are a part of that graph, in which routes
    may be combined at every common place. The prices of constraints are part of the lengths of paths. While kept
    sequences cannot meet a constraint, the restricted game charges a price for its violation. Best responses are
    computed at points between the best strategies so far and those of the restricted game, which change less from one
    iteration to the next.

    B. Bošanský, C. Kiekintveld, V. Lisý and M. Pěchouček, "An exact double-oracle algorithm for zero-sum extensive-form
    games with imperfect information", Journal of Artificial Intelligence Research 51, 2014. For flows over time and
    place: B. Bošanský, A. X. Jiang, M. Tambe and C. Kiekintveld, "Combining compact representation and incremental
    generation in large games with sequential strategies", AAAI 2015. Points in between: W. Ben-Ameur and J. Neto,
    "Acceleration of cutting-plane and column generation algorithms", Networks 49, 2007.

    Examples
    --------
    >>> from treeplex import Nash, load_game, solve
    >>> solution = solve(Nash(load_game("leduc")), "columns")
    >>> round(solution.value, 6), solution.gap <= 1e-6
    (-0.085606, True)
    """

    first: Annotated[float, About("error of the first strategies, relative to the largest payoff", above=0)] = 1e-3
    most: Annotated[
        int, About("largest number of iterations of regret minimisation", minimum=1, large=True, option=False)
    ] = 2_000
    direct: Annotated[
        int,
        About("largest number of sequences without first strategies", minimum=0, large=True, option=False),
    ] = 5_000

    name: ClassVar[str] = "columns"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS})
    backend: ClassVar[str] = "treeplex.solvers.exact.columns"
    keeps_runs: ClassVar[bool] = True
    takes_start: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-8


@dataclass(frozen=True)
class BranchAndBound(Method):
    """The integer program of a commitment, an equilibrium or a simple strategy, by HiGHS's branch and bound.

    If the follower of a commitment has at most 2,000 pure plans, or 500 with several types, a linear program for each
    takes its place.

    Notes
    -----
    For a simple strategy it starts from the best strategy that :class:`Rounding` finds.

    For a commitment, a linear program then finds the commitment for the resulting reply: V. Conitzer and T. Sandholm,
    "Computing the optimal strategy to commit to", EC 2006. For an equilibrium of a general-sum game, a linear program
    finds the best one that plays the same sequences: T. Sandholm, A. Gilpin and V. Conitzer, "Mixed-integer programming
    methods for finding Nash equilibria", AAAI 2005. For types of followers: P. Paruchuri, J. P. Pearce,
    J. Marecki, M. Tambe, F. Ordóñez and S. Kraus, "Playing games for security", AAMAS 2008.

    Examples
    --------
    >>> from treeplex import Nash, Stackelberg, load_game, solve
    >>> game = load_game("kuhn")  # opposed: a commitment is worth the value of the game
    >>> round(solve(Stackelberg(game, leader=0), "branch-and-bound").objective, 9)
    -0.055555556
    """

    name: ClassVar[str] = "branch-and-bound"
    serves: ClassVar[frozenset[str]] = frozenset(
        {Feature.COMMITMENT, Feature.SIMPLE, Feature.GENERAL_SUM, Feature.SELECTION}
    )
    backend: ClassVar[str] = "treeplex.solvers.exact.branch_and_bound"
    default_tolerance: ClassVar[float] = 1e-8


@dataclass(frozen=True)
class Lemke(Method):
    """Lemke's algorithm on the sequence form: an equilibrium of a two-player game, general-sum or not.

    The path begins with the players' best responses to a prior, by default uniform play; with ``start``, another one.
    Its pivots are in floats. If the certificate of the result does not meet the tolerance, the last basis is solved in
    fractions, and if its solution is not an equilibrium, the path is followed in fractions. The method ``rational``
    always proves the answer in fractions.

    Parameters
    ----------
    largest : int
        The largest accepted number of sequences of both players. Memory grows with the square of their number, and so
        does the time of a pivot.

    Notes
    -----
    The program in sequence form: D. Koller, N. Megiddo and B. von Stengel, "Efficient computation of equilibria for
    extensive two-person games", Games and Economic Behavior 14, 1996. The path from a prior: B. von Stengel, A. van den
    Elzen and D. Talman, "Computing normal form perfect equilibria for extensive two-person games", Econometrica 70,
    2002. See :doc:`/theory/general-sum`.

    Examples
    --------
    >>> from treeplex import EpsilonNash, Game, SequenceForm, solve
    >>> places = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[2, 0], [0, 1]], [[1, 0], [0, 2]]))
    >>> solution = solve(EpsilonNash(places), "lemke")
    >>> solution.regrets, solution.iterations
    ((0.0, 0.0), 3)
    """

    largest: Annotated[
        int, About("largest number of sequences of both players together", minimum=1, large=True, option=False)
    ] = 6_000

    name: ClassVar[str] = "lemke"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.GENERAL_SUM})
    backend: ClassVar[str] = "treeplex.solvers.exact.lemke"
    takes_start: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 1e-9


@dataclass(frozen=True)
class Rounding(Method):
    """A simple strategy by rounding an equilibrium; the certificate proves its loss.

    Notes
    -----
    *On trees*, the linear program of an equilibrium is restricted at one infoset after another: to the better of the
    two nearest distributions, or to a pure action where the plan mixes least. It is solved again after each
    restriction, so that the rest of the strategy compensates.

    *On public forms*, such as hold'em spots, each node's states are rounded to the grid in the order of their values,
    and the error of each state is passed on to the next one, so that the frequencies of actions hardly change. The
    other order and rounding to the nearest point are tried at one node after another, and the plan with the best
    guarantee is kept. The nodes after the rounded ones are solved again. Then the behaviour of single states is
    changed, starting with those that may gain most against a best reply; the guarantee of a strategy is concave in its
    plan. With classes, or if actions are monotone in strength, CFR+ with one regret for each class takes the place of
    the equilibrium. On a large tree, states are rounded to their nearest point, or dithered. With ``loss``, the method
    returns the coarsest of the grids 1, 2, 3, 4, 5, 8, 10 and 20 whose loss is small enough.

    Nothing proves that the strategy is the best one within its limits. Error diffusion: R. W. Floyd and L. Steinberg,
    "An adaptive algorithm for spatial greyscale", Proceedings of the Society for Information Display 17, 1976. On
    rounded strategies: S. Ganzfried, T. Sandholm and K. Waugh, "Strategy purification and thresholding", AAMAS 2012.

    Examples
    --------
    >>> from treeplex import load_game, solve
    >>> from treeplex.models.problems import SimpleStrategy
    >>> solution = solve(SimpleStrategy(load_game("kuhn"), player=1, steps=3), "rounding")
    >>> solution.status, round(solution.exploitability, 9)
    (<Status.CONVERGED: 'converged'>, 0.0)
    """

    name: ClassVar[str] = "rounding"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.SIMPLE})
    backend: ClassVar[str] = "treeplex.solvers.simplifying"
    takes_start: ClassVar[bool] = True
    default_tolerance: ClassVar[float] = 2e-5


@dataclass(frozen=True)
class PathFollowing(Method):
    """Predictor–corrector steps along the branch of quantal response equilibria that starts at uniform play.

    Parameters
    ----------
    first : float
        The length of the first step, in the logarithms of probabilities and in λ.
    longest : float
        The largest length of a step, or λ / 2 where that is more.

    Notes
    -----
    Each step moves along the tangent of the branch, and Newton's method returns to the branch. Steps shorten where the
    branch bends, and lengthen with λ, so that λ = 10⁶ takes about 100 steps in small games. Where the branch turns, λ
    falls for a while. The answer is the first point with the rationality asked for. At a bifurcation of a symmetric
    game the branch continues straight on.

    T. L. Turocy, "A dynamic homotopy interpretation of the logistic quantal response equilibrium correspondence", Games
    and Economic Behavior 51, 2005, and "Computing sequential equilibria using agent quantal response equilibria",
    Economic Theory 42, 2010.

    Examples
    --------
    >>> from treeplex import QuantalResponse, load_game, solve
    >>> solve(QuantalResponse(load_game("matching_pennies"), rationality=5)).state.bifurcations
    0
    """

    first: Annotated[float, About("length of the first step along the branch", above=0)] = 0.03
    longest: Annotated[float, About("largest length of a step along the branch, where λ / 2 is less", above=0)] = 20.0

    name: ClassVar[str] = "path-following"
    serves: ClassVar[frozenset[str]] = frozenset({Feature.QUANTAL})
    backend: ClassVar[str] = "treeplex.solvers.path_following"
    default_tolerance: ClassVar[float] = 1e-9
