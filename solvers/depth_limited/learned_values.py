"""Value functions learned from solved examples: by ridge regression, and by small neural networks."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from ...models.declarations import Levels
from ...models.depth_limited import LeafStates, decision_steps, partition_roots, partition_steps
from ...models.depth_limited.subgame_roots import Numbers
from ...seqform.arrays import Floats
from ...seqform.checks import check_whole
from ...seqform.errors import (
    GameFileError,
    InvalidGameError,
    InvalidOptionError,
    SolverError,
    UnknownMethodError,
    needing,
    one_line,
    shown,
)
from ...seqform.game import Game
from ...seqform.interchange.files import read_archive, refusing_damaged, write_archive
from .cfr_value import CFRValue
from .value_functions import BorderValues

_FORMAT = "treeplex value function"
#: The fraction of examples that is held out to measure errors.
_HELD_OUT = 0.2
#: The regression has products of both players' ranges as features if there are at most this many.
_PRODUCTS = 1024
#: The number of examples per update of a network, and of weight matrices of a network.
_BATCH, _LAYERS = 64, 3

_Pair = tuple[Floats, Floats]  # by seat
_Sizes = tuple[int, int]  # by seat
_Settings = Mapping[str, Any]
_Arrays = dict[str, Floats]


class LearnedValue(ABC):
    """A value function learned from solved examples; subclasses differ in the model that they fit.

    For each public state a model is fitted to both normalised ranges. The values of other ranges follow, because values
    are bilinear in the sizes of the ranges. Both players' values are shifted equally so that they sum to zero, weighted
    by the ranges. Training needs scikit-learn (``pip install 'treeplex[learning]'``); answering queries does not.

    Attributes
    ----------
    mean_error, worst_error : float
        The mean and the largest absolute error of an entry's value on held-out examples, with both ranges
        normalised, in payoff units multiplied by chance's probability.
    label_error : float
        The mean error of the examples themselves, in the same units: the gap of their solver, divided among the
        public states of a border.
    """

    name: ClassVar[str]
    #: The options of :meth:`train` that the model takes.
    defaults: ClassVar[Mapping[str, float]] = {}

    def __init__(
        self,
        game: Game,
        parameters: Mapping[int, Mapping[str, Floats]],
        mean_error: float,
        worst_error: float,
        label_error: float,
    ) -> None:
        self.game = game
        self.parameters = {state: dict(arrays) for state, arrays in parameters.items()}
        self.mean_error, self.worst_error, self.label_error = mean_error, worst_error, label_error
        self._border: LeafStates | None = None
        self._groups: list[_Group] = []

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.game.spec}, states={len(self.parameters)}, "
            f"mean_error={self.mean_error:.3g}, worst_error={self.worst_error:.3g})"
        )

    @classmethod
    def train(
        cls,
        game: Game,
        lookahead: int | None = None,
        *,
        level: Levels = None,
        player: int | None = None,
        examples: int = 500,
        iterations: int = 300,
        seed: int = 0,
        borders: Sequence[LeafStates] | None = None,
        **options: Any,
    ) -> Self:
        """Learn the values at the borders of all steps with a lookahead, or of a partition.

        Parameters
        ----------
        game : Game
            Two players, zero-sum.
        lookahead : int, optional
        level : int, str, iterable of int or callable, optional
            Instead of a lookahead, where the subgames of a partition begin, as for :class:`~treeplex.CDRNR`.
        player : int, optional
            The player of the steps; by default both players.
        examples : int
            Examples for each border: random ranges, from sparse to even Dirichlet distributions, with their solutions.
        iterations : int
            Iterations of CFR+ for each example, starting with the regrets of the previous one.
        seed : int
        borders : sequence of LeafStates, optional
            Borders to use instead of those of the steps.
        **options
            Options of the model: ``ridge`` of :class:`LinearValue`; ``hidden``, ``updates`` and ``rate`` of
            :class:`NetworkValue`.

        Raises
        ------
        UnknownMethodError
            If there are fewer than five examples, or the model has no such option.
        MissingExtraError
            If scikit-learn is not installed.
        """
        settings = cls._settings(examples, iterations, options)
        generator = np.random.default_rng(seed)
        parameters: dict[int, Mapping[str, Floats]] = {}
        errors, label_errors = [np.zeros(0)], []
        for border in _borders_of(game, lookahead, level, player) if borders is None else borders:
            if all(int(state) in parameters for state in border.states):
                continue
            ranges, values, label_error = _examples(border, examples, iterations, generator)
            label_errors.append(label_error)
            for group in _grouped(border):
                fitted, missed = cls._fitted(group.take(ranges), group.take(values), group.sizes, generator, settings)
                parameters.update(zip(border.states[group.members].tolist(), fitted, strict=True))
                errors.append(missed)
        return cls._of(game, parameters, errors, label_errors)

    @classmethod
    def train_on_street(
        cls, game: Game, *, examples: int = 500, iterations: int = 300, seed: int = 0, **options: Any
    ) -> Self:
        """Learn the values at the end of the first street of a game in public form, such as a turn of hold'em.

        The public states are those before the next public card, so that there are as many networks as ways to bet on
        the street. Examples are solved without listing pairs of private states.

        Parameters
        ----------
        game : Game
            In public form, such as a spot.
        examples, iterations, seed, **options
            As for :meth:`train`.

        Raises
        ------
        UnsupportedProblemError
            If nobody decides after a public chance event, or the game is not in public form.
        InvalidOptionError, UnknownMethodError, MissingExtraError
            As for :meth:`train`.

        Examples
        --------
        >>> from treeplex.models.games.holdem import HoldemSpot
        >>> from treeplex.solvers import LinearValue
        >>> spot = HoldemSpot("9d8d7h6c", ["9c9s, AdKd", "KhKs, 8c8s"], 100, 100, bets="50%", deck="short")
        >>> LinearValue.train_on_street(spot.game, examples=10, iterations=20)
        LinearValue(holdem 9d8d7h6c, states=3, mean_error=..., worst_error=...)
        """
        from .public_trunk import street_examples

        settings = cls._settings(examples, iterations, options)
        generator = np.random.default_rng(seed)

        def drawn(sizes: tuple[int, int]) -> Floats:
            ends, width = sizes
            return _drawn(np.repeat(np.arange(ends), width), generator).reshape(ends, width)

        states, ranges, values, label_error = street_examples(game, examples, iterations, drawn)
        sizes = ranges[0].shape[2], ranges[1].shape[2]
        inputs, targets = (np.concatenate(each, axis=2).transpose(1, 0, 2) for each in (ranges, values))
        fitted, missed = cls._fitted(inputs, targets, sizes, generator, settings)
        return cls._of(game, dict(zip(states, fitted, strict=True)), [missed], [label_error])

    @classmethod
    def _settings(cls, examples: int, iterations: int, options: Mapping[str, Any]) -> _Settings:
        """Return the options of the model with its defaults, after checking all arguments of a training."""
        for name, number, least in (("examples", examples, 5), ("iterations", iterations, 1)):
            check_whole(number, name, InvalidOptionError, f"[{least}, inf)")
        for option in options:
            if option not in cls.defaults:
                raise UnknownMethodError(f"{cls.__name__} has no option {shown(option)}")
        with needing("learning a value needs scikit-learn", "learning"):
            import sklearn  # noqa: F401
        return {**cls.defaults, **options}

    @classmethod
    def _fitted(
        cls, inputs: Floats, targets: Floats, sizes: _Sizes, rng: Generator, settings: _Settings
    ) -> tuple[list[_Arrays], Floats]:
        """Return the parameters of several public states, and the errors on held-out examples."""
        examples = inputs.shape[1]
        kept = examples - max(1, round(_HELD_OUT * examples))
        fitted = [
            cls._fit(points[:kept], answers[:kept], sizes, rng, settings)
            for points, answers in zip(inputs, targets, strict=True)
        ]
        guesses = _balanced(cls._values(_stacked(fitted), inputs[:, kept:], sizes), inputs[:, kept:])
        return fitted, np.abs(guesses - targets[:, kept:]).ravel()

    @classmethod
    def _of(
        cls,
        game: Game,
        parameters: Mapping[int, Mapping[str, Floats]],
        errors: Sequence[Floats],
        label_errors: Sequence[float],
    ) -> Self:
        every = np.concatenate(errors)
        mean, worst = (float(every.mean()), float(every.max())) if len(every) else (0.0, 0.0)
        return cls(game, parameters, mean, worst, float(np.mean(label_errors)) if label_errors else 0.0)

    def query(self, border: LeafStates, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return the values of all entries of a border; see :class:`ValueFunction`.

        Raises
        ------
        SolverError
            If it was not trained on a public state of the border.
        """
        if border is not self._border:
            self._border, self._groups = border, self._prepared(border)
        answers = np.zeros(border.num_ways[0]), np.zeros(border.num_ways[1])
        for group in self._groups:
            found = self._answers(group.parameters, ranges[0][group.ways[0]], ranges[1][group.ways[1]])
            for answer, ways, values in zip(answers, group.ways, found, strict=True):
                answer[ways] = values
        return BorderValues(answers)

    def at_ends(self, states: Sequence[int], ranges: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return both players' values at public states of a game in public form, shapes (states, private states).

        Parameters
        ----------
        states : sequence of int
            The indices of the public states in the game's public tree.
        ranges : two ndarray of float64, shape (states, private states)

        Raises
        ------
        SolverError
            If it was not trained on one of the public states.
        """
        for state in states:
            if state not in self.parameters:
                raise SolverError(
                    f"value function {self.name} was not trained on public state {state} of {self.game.spec}"
                )
        return self._answers(_stacked([self.parameters[state] for state in states]), ranges[0], ranges[1])

    def _answers(self, parameters: Mapping[str, Floats], own: Floats, other: Floats) -> tuple[Floats, Floats]:
        """Return both players' values at several states, given their ranges there, shapes (states, ways)."""
        sums = own.sum(axis=1, keepdims=True), other.sum(axis=1, keepdims=True)
        shares = [
            np.divide(each, total, out=np.full_like(each, 1.0 / each.shape[1]), where=total > 0.0)
            for each, total in zip((own, other), sums, strict=True)
        ]
        inputs, sizes = np.concatenate(shares, axis=1)[:, None, :], (own.shape[1], other.shape[1])
        values = _balanced(self._values(parameters, inputs, sizes), inputs)[:, 0]
        return values[:, : sizes[0]] * sums[1], values[:, sizes[0] :] * sums[0]

    def _prepared(self, border: LeafStates) -> "list[_Group]":
        if border.game is not self.game and border.game.fingerprint != self.game.fingerprint:
            raise SolverError(f"value function {self.name} was trained on {self.game.spec}, not on {border.game.spec}")
        groups = _grouped(border)
        for group in groups:
            states = border.states[group.members].tolist()
            for state in states:
                if state not in self.parameters:
                    raise SolverError(
                        f"value function {self.name} was not trained on public state {state} of {self.game.spec}: it "
                        "was trained for another lookahead, or for the other player"
                    )
            inputs = np.full((len(states), 1, sum(group.sizes)), 0.5)
            try:
                group.parameters = _stacked([self.parameters[state] for state in states])
                values = self._values(group.parameters, inputs, group.sizes)
            except (KeyError, ValueError) as error:
                raise SolverError(
                    f"value function {self.name} does not fit the depth limit: {one_line(str(error))}"
                ) from None
            if values.shape != inputs.shape or not np.isfinite(values).all():
                raise SolverError(f"value function {self.name} does not fit the depth limit: damaged parameters")
        return groups

    @classmethod
    @abstractmethod
    def _fit(cls, inputs: Floats, targets: Floats, sizes: _Sizes, rng: Generator, settings: _Settings) -> _Arrays:
        """Return the parameters of one public state; inputs and targets have shape (examples, ways)."""

    @classmethod
    @abstractmethod
    def _values(cls, parameters: Mapping[str, Floats], inputs: Floats, sizes: _Sizes) -> Floats:
        """Return values for inputs of shape (states, examples, ways), with one set of parameters per state."""

    def save(self, path: str | Path) -> None:
        """Write the value function to one ``.npz`` file.

        Raises
        ------
        GameFileError
            If the file cannot be written.
        """
        states = sorted(self.parameters)
        names = list(self.parameters[states[0]]) if states else []
        metadata = {
            "format": _FORMAT, "kind": self.name, "game": self.game.fingerprint, "states": states,
            "names": names, "mean_error": self.mean_error, "worst_error": self.worst_error,
            "label_error": self.label_error,
        }  # fmt: skip
        arrays = {f"{name} {state}": self.parameters[state][name] for state in states for name in names}
        try:
            write_archive(path, metadata, arrays)
        except (OSError, TypeError, ValueError) as error:
            raise GameFileError(f"cannot write {one_line(str(path))}: {one_line(str(error))}") from None


class LinearValue(LearnedValue):
    """Values by ridge regression on both players' normalised ranges and on the products of their entries.

    :meth:`train` takes ``ridge``, the weight of the squared coefficients relative to the number of examples.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import LinearValue
    >>> LinearValue.train(load_game("kuhn"), 1, player=0, examples=100, iterations=50).mean_error < 0.02
    True
    """

    name: ClassVar[str] = "linear"
    defaults: ClassVar[Mapping[str, float]] = {"ridge": 1e-4}

    @classmethod
    def _fit(cls, inputs: Floats, targets: Floats, sizes: _Sizes, rng: Generator, settings: _Settings) -> _Arrays:
        from sklearn.linear_model import Ridge

        # Each range sums to 1, so a constant is already a sum of features.
        model = Ridge(alpha=settings["ridge"] * len(inputs), fit_intercept=False)
        return {"weights": model.fit(_features(inputs, sizes), targets).coef_.T}

    @classmethod
    def _values(cls, parameters: Mapping[str, Floats], inputs: Floats, sizes: _Sizes) -> Floats:
        return np.asarray(_features(inputs, sizes) @ parameters["weights"])


class NetworkValue(LearnedValue):
    """Values by a neural network of two hidden layers of rectified units for each public state, trained with Adam.

    :meth:`train` takes ``hidden``, the units of each hidden layer; ``updates``, the number of weight updates; and
    ``rate``, the learning rate.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import NetworkValue
    >>> network = NetworkValue.train(load_game("kuhn"), 1, player=0, examples=100, iterations=50, updates=200)
    >>> network.mean_error < 0.05
    True
    """

    name: ClassVar[str] = "network"
    defaults: ClassVar[Mapping[str, float]] = {"hidden": 64, "updates": 2000, "rate": 3e-3}

    @classmethod
    def _fit(cls, inputs: Floats, targets: Floats, sizes: _Sizes, rng: Generator, settings: _Settings) -> _Arrays:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        scale = max(float(np.abs(targets).mean()), 1e-12)
        batch = min(_BATCH, len(inputs))
        network = MLPRegressor(
            hidden_layer_sizes=(settings["hidden"],) * (_LAYERS - 1),
            alpha=0.0,
            batch_size=batch,
            learning_rate_init=settings["rate"],
            max_iter=math.ceil(settings["updates"] / math.ceil(len(inputs) / batch)),
            tol=0.0,
            n_iter_no_change=settings["updates"],
            random_state=int(rng.integers(2**32)),
        )
        with warnings.catch_warnings():  # training ends after the requested number of updates
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(inputs, targets / scale)
        weights = {f"weight {layer}": array for layer, array in enumerate(network.coefs_)}
        biases = {f"bias {layer}": array[None] for layer, array in enumerate(network.intercepts_)}
        return {**weights, **biases, "scale": np.full((1, 1), scale)}

    @classmethod
    def _values(cls, parameters: Mapping[str, Floats], inputs: Floats, sizes: _Sizes) -> Floats:
        values = inputs
        for layer in range(_LAYERS):
            values = np.maximum(values, 0.0) if layer else values
            values = values @ parameters[f"weight {layer}"] + parameters[f"bias {layer}"]
        return np.asarray(values * parameters["scale"])


def is_value_file(path: str | Path) -> bool:
    """Return whether a file claims to contain a learned value function, or cannot be read as an archive at all."""
    try:
        return bool(read_archive(path, mapped=True)[0].get("format") == _FORMAT)
    except Exception:
        return True  # reading it as a value function tells what is wrong


def load_value(path: str | Path, game: Game) -> LearnedValue:
    """Read a value function that :meth:`LearnedValue.save` wrote.

    Parameters
    ----------
    path : path-like
    game : Game
        The game of the value function.

    Raises
    ------
    GameFileError
        If the file cannot be read, or does not contain a value function.
    InvalidGameError
        If it belongs to another game.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import LinearValue
    >>> from treeplex.solvers.depth_limited.learned_values import load_value
    >>> game = load_game("kuhn")
    >>> LinearValue.train(game, 1, player=0, examples=20, iterations=20).save("value.npz")
    >>> load_value("value.npz", game).name
    'linear'
    """
    where = one_line(str(path))
    kinds = {kind.name: kind for kind in (LinearValue, NetworkValue)}
    with refusing_damaged(path, "does not contain a value function", GameFileError):
        metadata, arrays = read_archive(path)
        kind, states = kinds[metadata["kind"]], [int(state) for state in metadata["states"]]
        errors = [float(metadata[name]) for name in ("mean_error", "worst_error", "label_error")]
        parameters = {
            state: {name: np.asarray(arrays[f"{name} {state}"], dtype=np.float64) for name in metadata["names"]}
            for state in states
        }
        fingerprint = metadata["game"]
    if fingerprint != game.fingerprint:
        raise InvalidGameError(f"{where} is a value function of a game other than {game.spec}")
    return kind(game, parameters, *errors)


@dataclass(eq=False)
class _Group:
    """The public states of a border that have the same numbers of entries."""

    members: Numbers  # their numbers among the border's states
    ways: tuple[Numbers, Numbers]  # by seat, shape (states, ways of each)
    parameters: _Arrays = field(default_factory=dict)

    @property
    def sizes(self) -> _Sizes:
        """The number of entries of each player."""
        return self.ways[0].shape[1], self.ways[1].shape[1]

    def take(self, examples: _Pair) -> Floats:
        """Return arrays over all entries as one array, shape (states, examples, entries of both players)."""
        own, other = (examples[player][:, self.ways[player]] for player in (0, 1))
        return np.concatenate([own, other], axis=2).transpose(1, 0, 2)


def _grouped(border: LeafStates) -> list[_Group]:
    counts = np.stack([np.bincount(states, minlength=len(border.states)) for states in border.way_states], axis=1)
    shapes, firsts = np.unique(counts, axis=0, return_index=True)
    groups = []
    for sizes in shapes[np.argsort(firsts)]:
        if sizes.all():
            members = np.flatnonzero((counts == sizes).all(axis=1))
            own, other = (
                np.searchsorted(states, members)[:, None] + np.arange(size)
                for states, size in zip(border.way_states, sizes.tolist(), strict=True)
            )
            groups.append(_Group(members, (own, other)))
    return groups


def _features(inputs: Floats, sizes: _Sizes) -> Floats:
    if sizes[0] * sizes[1] > _PRODUCTS:
        return inputs
    own, other = inputs[..., : sizes[0]], inputs[..., sizes[0] :]
    products = (own[..., :, None] * other[..., None, :]).reshape(*inputs.shape[:-1], -1)
    return np.concatenate([inputs, products], axis=-1)


def _balanced(values: Floats, inputs: Floats) -> Floats:
    """Shift values so that they sum to zero, weighted by the ranges; each player takes half of the shift."""
    return np.asarray(values - 0.5 * (values * inputs).sum(axis=-1, keepdims=True))


def _stacked(parameters: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Return the parameters of several public states as one array each."""
    return {name: np.stack([one[name] for one in parameters]) for name in parameters[0]}


def _borders_of(game: Game, lookahead: int | None, level: Levels, player: int | None) -> list[LeafStates]:
    """Return the borders of the steps along levels, for one player or for both."""
    if (lookahead is None) == (level is None):
        raise InvalidOptionError(
            f"lookahead is {shown(lookahead)} and level is {shown(level)}, expected one of the two"
        )
    public, seen = game.public_tree, []
    for seat in (0, 1) if player is None else (player,):
        if lookahead is None:
            steps = partition_steps(public, seat, partition_roots(public, level, "train"))
        else:
            steps = decision_steps(public, seat, lookahead)
        seen += [step.seen for step in steps if step.seen is not None and not step.seen.all()]
    return [LeafStates.of(game, states) for states in seen]


def _examples(border: LeafStates, count: int, iterations: int, generator: Generator) -> tuple[_Pair, _Pair, float]:
    """Draw ranges of all public states of a border, and solve them.

    Returns
    -------
    ranges, values : tuple of ndarray of float64, shape (count, num_ways)
        By seat; the ranges of each public state sum to 1.
    error : float
        The mean gap of an example, divided by the number of public states.
    """
    value = CFRValue(iterations)
    ranges, values = ((np.zeros((count, border.num_ways[0])), np.zeros((count, border.num_ways[1]))) for _ in range(2))
    errors = np.zeros(count)
    for number in range(count):
        for player in (0, 1):
            ranges[player][number] = _drawn(border.way_states[player], generator)
        answer = value.query(border, (ranges[0][number], ranges[1][number]))
        values[0][number], values[1][number] = answer.values
        errors[number] = 0.0 if answer.error is None else answer.error
    return ranges, values, float(errors.mean()) / max(len(border.states), 1)


def _drawn(states: Numbers, generator: Generator) -> Floats:
    """Return a random range at each public state, from sparse to even, given the state of each entry."""
    count = int(states.max(initial=-1)) + 1
    concentration = generator.choice([0.2, 0.5, 1.0, 3.0], size=count)[states]
    weights = generator.gamma(concentration) + 1e-12
    return np.asarray(weights / np.bincount(states, weights=weights, minlength=count)[states])
