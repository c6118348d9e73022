"""The choice of the default method for a problem."""

from ..models.problems import Feature, Problem
from ..seqform.game import Game
from .methods import Method, find_method

#: The number of sequences of both players above which ``exact`` is much faster than a linear program on a tree.
LARGE = 6_000
#: The number of sequences of both players up to which a linear program takes seconds.
AFFORDABLE = 20_000


def choose(problem: Problem, *, exactly: bool = False, iterates: bool = False, quickly: bool = False) -> Method:
    """Return the default method for a problem.

    The first row that applies decides:

    ==========================================================  ===================================
    the problem                                                 method
    ==========================================================  ===================================
    has a constraint that is not linear                         ``cvxpy``
    names its own method (``Problem.usual_method``)             that one, or a loop if `iterates`
    is an equilibrium of more than two players                  ``cfr+``
    is on a game that sets ``Game.exact_up_to``, with more      ``dcfr``, or ``ccfr`` under
    sequences than that and than 20,000                         constraints that require it
    is on a tree of more than 6,000 sequences, or on a flow     ``exact``
    (patrols, transit) of more than 20,000
    is any other                                                ``highs``
    ==========================================================  ===================================

    The sequences of both players are counted together. The tolerance is the method's (see
    :func:`~.dispatch.options_of`), unless the game sets the exploitability to which its equilibria are computed
    (``Game.learned_to``).

    Parameters
    ----------
    problem : Problem
    exactly : bool
        Whether the answer needs the accuracy of linear programming, regardless of the game's preference.
    iterates : bool
        Whether the caller needs a loop, for example to continue from a checkpoint.
    quickly : bool
        Whether speed is more important than accuracy, as on the command line: then ``exact_up_to`` decides instead
        of the 20,000 sequences up to which linear programs take seconds.

    Examples
    --------
    >>> from treeplex import Nash, load_game
    >>> from treeplex.solvers.choice import choose
    >>> choose(Nash(load_game("kuhn"))).name, choose(Nash(load_game("leduc:ranks=6"))).name
    ('highs', 'exact')
    """
    game = problem.game
    if not problem.is_linear:
        return find_method("cvxpy")
    if problem.usual_method != "highs":
        usual = find_method(problem.usual_method)
        return (None if usual.keeps_runs or not iterates else _loop(problem)) or usual
    if Feature.PLAYERS in problem.needs:
        return find_method("cfr+")
    patient = not (quickly or iterates) and not has_more_sequences(game, AFFORDABLE)
    if not exactly and not patient and (prefers_loop(game) or (iterates and game.exact_up_to is not None)):
        loop = _loop(problem)
        if loop is not None:
            return loop
    return find_method("exact" if _is_long(game) else "highs")


def _is_long(game: Game) -> bool:
    """Return whether ``exact`` is much faster than a linear program."""
    if game.public_form is not None:
        return False
    is_tree = all(treeplex.single_parent for treeplex in game.sequence_form.treeplexes)
    return has_more_sequences(game, LARGE if is_tree else AFFORDABLE)


def prefers_loop(game: Game) -> bool:
    """Whether a game prefers a loop, because its linear programs take a long time."""
    return game.exact_up_to is not None and has_more_sequences(game, game.exact_up_to)


def has_more_sequences(game: Game, number: int) -> bool:
    """Whether both players of a game together have more sequences than a given number."""
    form = game.public_form
    if form is None:
        return sum(treeplex.num_sequences for treeplex in game.sequence_form.treeplexes) > number
    return sum(form.num_sequences) > number


def _loop(problem: Problem) -> Method | None:
    """Return the default iterative method for a problem; ``None`` if none supports it."""
    from .methods import CCFR, DCFR

    if problem.game.public_form is None:
        return next((loop for loop in (DCFR(), CCFR()) if problem.needs <= loop.serves), None)
    from .public.driver import serves

    if problem.needs_game_value and problem.game_value is None:  # the choice of the loop does not depend on the value
        problem = problem.with_game_value(0.0)
    loop = DCFR(precision="auto")
    return loop if problem.needs <= loop.serves | loop.serves_in_public_form and serves(loop, problem, None) else None
