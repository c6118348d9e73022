"""Constraints and linear functionals as text, as the command line takes them."""

from collections.abc import Mapping

import numpy as np

from ...seqform.functional import Functional
from ...seqform.game import Game
from ...seqform.strategy import Profile, Strategy
from .constraint import LinearConstraint, Sense
from .term_reader import FunctionalTerm, TermReader


def parse_constraint(
    text: str, game: Game, *, player: int = 0, others: Profile | Strategy | None = None
) -> list[LinearConstraint]:
    """Read a constraint: ``TERM(+TERM)* (<=|>=|==) NUMBER [as NAME]``.

    Parameters
    ----------
    text : str
        TERM is ``SEAT/INFOSET:ACTION``, the probability of an action at an infoset; ``plan(SEAT/INFOSET:ACTION)``, the
        realization of a sequence; ``reach(SEAT/INFOSET)``, the player's reach of an infoset; ``[SEAT/]ACTION@first``,
        how often an action is taken at the player's first decisions, ``[SEAT/]ACTION@all``, how often anywhere, and
        ``[SEAT/]ACTION@INFOSET``, how often there (:func:`~treeplex.frequency`); or a functional that the game names.
        Labels stand as ``treeplex info --infosets`` prints them, as JSON strings where they hold blanks or one of
        ``"':/()+<>=@``; an action may be called by one of the game's words for it
        (:attr:`Game.action_words <treeplex.Game.action_words>`), such as ``raise``. NUMBER is a decimal or a fraction,
        kept exactly. Blanks may stand between all of these.
    game : Game
    player : int
        Whose actions are counted where a text names no seat.
    others : Profile, or Strategy of the one other player, optional
        How the others play where actions are counted: it depends on them how often the player comes to decide.
        Uniformly by default.

    Returns
    -------
    list of LinearConstraint
        One; an equality gives two, named ``NAME (at most)`` and ``NAME (at least)``. NAME is by default the text
        itself, blanks in a row as one.

    Raises
    ------
    InvalidConstraintError
        If the text cannot be read, names what the game does not have, is about both players, or is not linear in a
        plan.

    Notes
    -----
    The probability of an action is x(I, a) divided by what comes to I. A sum of probabilities at one infoset I, with
    bound c, is linear when multiplied by that: Σ x(I, a) − c Σ_s w(I, s) x(s) ≤ 0, so that its violation is weighted by
    the reach of I. Sums over several infosets are linear where all plans come to each of them alike.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import parse_constraint
    >>> game = load_game("kuhn")
    >>> constraints = parse_constraint("0/K_:b <= 1/2", game) + parse_constraint("0/J_:b >= 0.3 as bluff", game)
    >>> solution = solve(ConstrainedNash(game, constraints))
    >>> round(solution.value, 9), {name: round(price, 6) for name, price in solution.multipliers.items()}
    (-0.1, {'0/K_:b <= 1/2': 0.111111, 'bluff': 0.333333})

    Betting at once three times in five, whatever the card:

    >>> solution = solve(ConstrainedNash(game, parse_constraint("bet@first >= 3/5", game)), "rational")
    >>> solution.value
    Fraction(-11, 135)
    """
    reader = TermReader("constraint", text, game, player, others)
    total = reader.read_sum()
    comparison = reader.read_comparison()
    bound = reader.read_number()
    name = reader.read_name()
    player = reader.player_of(total)
    terms, limit, fixed = reader.inequality(total, bound)
    senses: Mapping[str, Sense] = {" (at most)": "<=", " (at least)": ">="}
    if comparison != "==":
        senses = {"": "<=" if comparison == "<=" else ">="}
    return [
        LinearConstraint(player, terms, limit, name + suffix, sense, fixed=fixed, fingerprint=game.fingerprint)
        for suffix, sense in senses.items()
    ]


def parse_term(text: str, game: Game, *, player: int = 0, others: Profile | Strategy | None = None) -> Functional:
    """Read what is to be large or small: ``TERM(+TERM)*``.

    Parameters
    ----------
    text : str
        Terms as for :func:`parse_constraint`; probabilities of actions only where all plans come to the infoset alike.
    game : Game
    player, others
        As for :func:`parse_constraint`.

    Returns
    -------
    Functional
        The game's own, if the text is its name alone.

    Raises
    ------
    InvalidConstraintError
        If the text cannot be read, names what the game does not have, is about both players, or is not linear in a
        plan.

    Examples
    --------
    >>> from treeplex import StyledNash, load_game, solve
    >>> from treeplex.models.constraints import parse_term
    >>> game = load_game("kuhn")
    >>> round(solve(StyledNash(game, epsilon=0, maximise=parse_term("0/J_:b", game))).objective, 9)
    0.333333333
    """
    reader = TermReader("term", text, game, player, others)
    total = reader.read_sum()
    reader.read_end()
    player = reader.player_of(total)
    if len(total) == 1 and isinstance(total[0], FunctionalTerm):
        return total[0].functional
    terms, constant = reader.linear(total)
    coefficients = np.zeros(game.sequence_form.treeplexes[player].num_sequences)
    for sequence, number in terms.items():
        coefficients[sequence] = float(number)
    return Functional(player, coefficients, reader.title, constant=float(constant), fingerprint=game.fingerprint)
