"""Games simulated in public form: a pair of private states, and then actions, public state by public state."""

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_whole
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError
from ...seqform.public_form import PublicForm
from ...seqform.rules import CHANCE, TERMINAL
from ...seqform.strategy import Profile


def simulate_public(form: PublicForm, profile: Profile, games: int, seed: int = 0) -> Floats:
    """Simulate games in public form, and return their payoffs.

    Parameters
    ----------
    form : PublicForm
        A form with probabilities of pairs of private states (`deals`).
    profile : Profile
        A profile of its sequence form.
    games : int
        Number of games, at least 0.
    seed : int
        For ``numpy.random.default_rng``. Equal seeds give equal games.

    Returns
    -------
    ndarray of float64, shape (games, 2)
        Payoff units. Chance at a leaf, such as the cards after an all-in, is averaged.

    Raises
    ------
    InvalidStrategyError
        If a number is not an integer or is negative.
    UnsupportedProblemError
        If the form has no probabilities of pairs of states.

    Examples
    --------
    >>> from treeplex import Game, Profile, load_game
    >>> from treeplex.models.play.public_games import simulate_public
    >>> from treeplex.seqform.public_form import PublicForm
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> uniform = Profile.uniform(Game.from_public_form(form))
    >>> simulate_public(form, uniform, games=100_000, seed=1)[:, 0].mean().round(2)  # 1/8 in expectation
    np.float64(0.12)
    """
    games = check_whole(games, "games", InvalidStrategyError)
    rng = np.random.default_rng(check_whole(seed, "seed", InvalidStrategyError))
    if not form.deals:
        raise UnsupportedProblemError("this public form has no probabilities of pairs of private states (deals)")
    deals = (form.pairs(0).toarray() * np.outer(*form.weights)).ravel()
    dealt = np.searchsorted(np.cumsum(deals) / deals.sum(), rng.random(games), side="right")
    states = np.unravel_index(dealt, tuple(map(len, form.states)))
    paid = np.zeros((games, 2))
    at: dict[int, Indices] = {0: np.arange(games)}
    for node, mover in enumerate(form.players.tolist()):
        here = at.pop(node, None)
        if here is None or not len(here):
            continue
        pair = states[0][here], states[1][here]
        if mover == TERMINAL:
            paid[here] = _paid(form, node, pair)
            continue
        children = form.children[node]
        if mover == CHANCE:
            shares = np.array([form.pairs(child)[pair] for child in children.tolist()])
        else:
            sequences = [form.sequences(mover, child)[pair[mover]] for child in children.tolist()]
            shares = profile[mover].behaviour[np.array(sequences)]
        cumulated = np.cumsum(shares, axis=0)
        place = (rng.random(len(here)) * cumulated[-1] >= cumulated).sum(axis=0)
        for number, child in enumerate(children.tolist()):
            at[child] = here[place == number]
    return paid


def _paid(form: PublicForm, leaf: int, pair: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]) -> Floats:
    """Return the payoffs of pairs of states at a leaf, shape (pairs, 2)."""
    paid, likely = np.zeros((2, len(pair[0]))), np.asarray(form.pairs(leaf)[pair])
    for group in form.leaves:
        place = np.flatnonzero(group.nodes == leaf)
        if len(place):
            paid += group.paid[:, place] * np.asarray(group.factored.matrix[pair])
    mean: Floats = (paid / likely).T
    return mean
