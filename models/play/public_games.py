"""Games in public form: a pair of private states, and then actions, public state by public state."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_whole
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnsupportedProblemError
from ...seqform.public_form import PublicForm
from ...seqform.rules import CHANCE, TERMINAL
from ...seqform.strategy import Profile


@dataclass(frozen=True, eq=False)
class PublicGames:
    """Games of two players in public form.

    Parameters
    ----------
    nodes : ndarray of int, shape (k,)
        The public state at which each game ended, as far as the form describes it.
    states : ndarray of int, shape (k, 2)
        Each player's private state in each game; −1 if it is unknown.
    won : ndarray of float64, shape (k,), optional
        The money that the evaluated player won in each game, in payoff units. By default the payoffs of the form, in
        which chance at a leaf, such as the cards after an all-in, is averaged.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.play.public_games import PublicGames
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> games = PublicGames(np.array([form.find("p, p"), form.find("b, p")]), np.array([[2, 0], [1, -1]]))
    >>> games.payoffs(form)[:, 0]  # the second game ends with a fold
    array([1., 1.])
    """

    nodes: Indices
    states: Indices
    won: Floats | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    def check(self, form: PublicForm) -> None:
        """Raise an error if arrays have the wrong shapes, or there is no such node or state.

        Raises
        ------
        InvalidGameError
        """
        count = len(self.nodes)
        shapes = (self.nodes.ndim, self.states.shape, (count,) if self.won is None else self.won.shape)
        if shapes != (1, (count, 2), (count,)):
            raise InvalidGameError(
                f"games have nodes of shape {self.nodes.shape} and states of shape {self.states.shape}, expected (k,) "
                "and (k, 2), and k numbers as money won"
            )
        sizes = [len(one) for one in form.states]
        for what, numbers, least, size in (
            ("ends at node", self.nodes, 0, len(form.players)),
            ("has state", self.states[:, 0], -1, sizes[0]),
            ("has state", self.states[:, 1], -1, sizes[1]),
        ):
            wrong = np.flatnonzero((numbers < least) | (numbers >= size))
            if len(wrong):
                raise InvalidGameError(
                    f"game {wrong[0] + 1} {what} {numbers[wrong[0]]}, expected a number from {least} to {size - 1}"
                )

    def by_node(self) -> list[tuple[int, Indices]]:
        """Return each node at which games ended, with the indices of these games."""
        order = np.argsort(self.nodes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(self.nodes[order])) + 1)
        return [(int(self.nodes[here[0]]), here) for here in groups if len(here)]

    def payoffs(self, form: PublicForm) -> Floats:
        """Return the payoffs of the form, shape (k, 2); NaN where they depend on unknown states or on later play."""
        paid = np.full((len(self), 2), np.nan)
        for node, here in self.by_node():
            if form.players[node] != TERMINAL:
                continue
            whole = (self.states[here] >= 0).all(axis=1)
            if whole.any():
                some = here[whole]
                paid[some] = _paid(form, node, (self.states[some, 0], self.states[some, 1]))
            if not whole.all():
                paid[here[~whole]] = _alike(form, node)
        return paid


def _alike(form: PublicForm, leaf: int) -> Floats:
    """Return the payoffs of a leaf that pays all pairs of states the same, as after a fold; NaN for other leaves."""
    pairs = form.pairs(leaf).tocoo()
    likely = pairs.data > 0.0
    paid = _paid(form, leaf, (pairs.coords[0][likely], pairs.coords[1][likely]))
    same = np.ptp(paid, axis=0).max() <= 1e-9 * np.abs(paid).max(initial=0.0)
    return paid.mean(axis=0) if same else np.full(2, np.nan)


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
    return draw_public(form, profile, games, seed).payoffs(form)


def draw_public(form: PublicForm, profile: Profile, games: int, seed: int = 0) -> PublicGames:
    """Simulate games in public form, and return where each ended; the parameters are those of :func:`simulate_public`.

    Examples
    --------
    >>> from treeplex import Game, Profile, load_game
    >>> from treeplex.models.play.public_games import draw_public
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> uniform = Profile.uniform(Game.from_public_form(form))
    >>> len(draw_public(form, uniform, games=1_000, seed=1))
    1000
    """
    games = check_whole(games, "games", InvalidStrategyError)
    rng = np.random.default_rng(check_whole(seed, "seed", InvalidStrategyError))
    if not form.deals:
        raise UnsupportedProblemError("this public form has no probabilities of pairs of private states (deals)")
    deals = (form.pairs(0).toarray() * np.outer(*form.weights)).ravel()
    dealt = np.searchsorted(np.cumsum(deals) / deals.sum(), rng.random(games), side="right")
    states = np.unravel_index(dealt, tuple(map(len, form.states)))
    ended = np.zeros(games, dtype=np.int64)
    at: dict[int, Indices] = {0: np.arange(games)}
    for node, mover in enumerate(form.players.tolist()):
        here = at.pop(node, None)
        if here is None or not len(here):
            continue
        pair = states[0][here], states[1][here]
        if mover == TERMINAL:
            ended[here] = node
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
    return PublicGames(ended, np.stack(states, axis=1))


def _paid(form: PublicForm, leaf: int, pair: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]) -> Floats:
    """Return the payoffs of pairs of states at a leaf, shape (pairs, 2)."""
    paid, likely = np.zeros((2, len(pair[0]))), np.asarray(form.pairs(leaf)[pair])
    for group in form.leaves:
        place = np.flatnonzero(group.nodes == leaf)
        if len(place):
            paid += group.paid[:, place] * np.asarray(group.factored.matrix[pair])
    mean: Floats = (paid / likely).T
    return mean
