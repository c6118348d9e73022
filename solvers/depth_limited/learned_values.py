"""Value functions that are learnt from the rest of small games: by ridge regression, and by a small neural network."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ...models.depth_limited import Border
from ...seqform.arrays import Floats
from ...seqform.errors import GameFileError, InvalidGameError, SolverError, UnknownMethodError, one_line, shown
from ...seqform.game import Game
from ...seqform.interchange.files import read_archive, write_archive
from .network import Weights, predict, train_network
from .training import Examples, border_examples, borders_of
from .value_functions import BorderValues

#: The share of examples that errors are measured on, which nothing is learnt from.
_HELD_OUT = 0.2
#: Products of both players' ranges are features of the regression up to so many.
_PRODUCTS = 1024


class LearnedValue(ABC):
    """A value function that was learnt from solved examples; its members differ in what is fitted.

    For each public state what is learnt is a function of both normalised ranges, whose values are those of ranges that
    sum to 1; values are bilinear in the sizes of ranges. Both players' values are shifted alike so that they sum to
    zero, weighted by the ranges. Nothing but numpy is needed, to train or to ask.

    Attributes
    ----------
    mean_error, worst_error : float
        The mean and the largest absolute error of a way's value in examples that nothing was learnt from, both ranges
        normalised, payoff units with the probability of chance multiplied in.
    label_error : float
        The mean error of the examples themselves, in the same units: the gap of what solved them, shared by the
        public states of a border.
    """

    kind: ClassVar[str] = ""

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
        self._border: Border | None = None
        self._groups: list[_Group] = []

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.game.spec}, states={len(self.parameters)}, "
            f"mean_error={self.mean_error:.3g}, worst_error={self.worst_error:.3g})"
        )

    @property
    def name(self) -> str:
        """How tables and messages call it."""
        return self.kind

    @classmethod
    def train(
        cls,
        game: Game,
        lookahead: int,
        *,
        player: int | None = None,
        examples: int = 500,
        iterations: int = 300,
        seed: int = 0,
        borders: Sequence[Border] | None = None,
        **options: Any,
    ) -> Self:
        """Learn the values at the borders of all steps that look so far ahead.

        Parameters
        ----------
        game : Game
            Two players, zero-sum.
        lookahead : int
        player : int, optional
            Whose steps; by default both players'.
        examples : int
            Of each border: random ranges, drawn from Dirichlet distributions from sparse to even, and solved.
        iterations : int
            Of CFR+ for each example, which begins with the regrets of the one before.
        seed : int
        borders : sequence of Border, optional
            Instead of those of the steps.
        **options
            What the fit takes: ``ridge`` or ``hidden``, ``updates``, ``rate``.

        Raises
        ------
        UnknownMethodError
            If there are fewer than five examples.
        """
        for name, number, least in (("examples", examples, 5), ("iterations", iterations, 1)):
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise UnknownMethodError(f"{name} is {shown(number)}, expected a whole number from {least} on")
        generator = np.random.default_rng(seed)
        chosen = borders_of(game, lookahead, player) if borders is None else list(borders)
        parameters: dict[int, dict[str, Floats]] = {}
        errors, label_errors = [np.zeros(0)], []
        for border in chosen:
            if all(int(state) in parameters for state in border.states):
                continue
            found = border_examples(border, examples, iterations, generator)
            label_errors.append(found.error)
            kept = examples - max(1, round(_HELD_OUT * examples))
            for group in _grouped(border):
                inputs, targets = group.take(found)
                fitted = cls._fit(inputs[:, :kept], targets[:, :kept], group.sizes, generator, **options)
                for number, state in enumerate(border.states[group.members].tolist()):
                    parameters[int(state)] = {name: array[number] for name, array in fitted.items()}
                guesses = _balanced(cls._values(fitted, inputs[:, kept:], group.sizes), inputs[:, kept:], group.sizes)
                errors.append(np.abs(guesses - targets[:, kept:]).ravel())
        every = np.concatenate(errors)
        mean, worst = (float(every.mean()), float(every.max())) if len(every) else (0.0, 0.0)
        return cls(game, parameters, mean, worst, float(np.mean(label_errors)) if label_errors else 0.0)

    def query(self, border: Border, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return what all ways in of a border are worth; see :class:`ValueFunction`.

        Raises
        ------
        SolverError
            If it has not learnt a public state of the border.
        """
        if border is not self._border:
            self._border, self._groups = border, self._prepared(border)
        answers = np.zeros(border.num_ways[0]), np.zeros(border.num_ways[1])
        for group in self._groups:
            own, other = ranges[0][group.ways[0]], ranges[1][group.ways[1]]
            sums = own.sum(axis=1, keepdims=True), other.sum(axis=1, keepdims=True)
            shares = [
                np.divide(each, total, out=np.full_like(each, 1.0 / each.shape[1]), where=total > 0.0)
                for each, total in zip((own, other), sums, strict=True)
            ]
            inputs = np.concatenate(shares, axis=1)[:, None, :]
            values = _balanced(self._values(group.parameters, inputs, group.sizes), inputs, group.sizes)[:, 0]
            answers[0][group.ways[0]] = values[:, : group.sizes[0]] * sums[1]
            answers[1][group.ways[1]] = values[:, group.sizes[0] :] * sums[0]
        return BorderValues(answers)

    def _prepared(self, border: Border) -> "list[_Group]":
        if border.game is not self.game and border.game.fingerprint != self.game.fingerprint:
            raise SolverError(f"value function {self.name} has learnt {self.game.spec}, and not {border.game.spec}")
        groups = _grouped(border)
        for group in groups:
            states = border.states[group.members].tolist()
            for state in states:
                if state not in self.parameters:
                    raise SolverError(
                        f"value function {self.name} has not learnt public state {state} of {self.game.spec}: it was "
                        "trained for another lookahead, or for the other player"
                    )
            names = self.parameters[states[0]]
            inputs = np.full((len(states), 1, sum(group.sizes)), 0.5)
            try:
                group.parameters = {name: np.stack([self.parameters[one][name] for one in states]) for name in names}
                values = self._values(group.parameters, inputs, group.sizes)
            except (KeyError, ValueError) as error:
                raise SolverError(
                    f"value function {self.name} does not fit the border: {one_line(str(error))}"
                ) from None
            if values.shape != inputs.shape or not np.isfinite(values).all():
                raise SolverError(f"value function {self.name} does not fit the border: its numbers are damaged")
        return groups

    @classmethod
    @abstractmethod
    def _fit(
        cls, inputs: Floats, targets: Floats, sizes: tuple[int, int], generator: np.random.Generator, **options: Any
    ) -> dict[str, Floats]:
        """Return parameters, each with one entry a public state: inputs have shape (states, examples, ways)."""

    @classmethod
    @abstractmethod
    def _values(cls, parameters: Mapping[str, Floats], inputs: Floats, sizes: tuple[int, int]) -> Floats:
        """Return the values of inputs of that shape."""

    def save(self, path: str | Path) -> None:
        """Write it to one ``.npz`` file.

        Raises
        ------
        GameFileError
            If the file cannot be written.
        """
        states = sorted(self.parameters)
        names = list(self.parameters[states[0]]) if states else []
        metadata = {
            "format": "treeplex value function", "kind": self.kind, "game": self.game.fingerprint, "states": states,
            "names": names, "mean_error": self.mean_error, "worst_error": self.worst_error,
            "label_error": self.label_error,
        }  # fmt: skip
        arrays = {f"{name} {state}": self.parameters[state][name] for state in states for name in names}
        try:
            write_archive(path, metadata, arrays)
        except (OSError, TypeError, ValueError) as error:
            raise GameFileError(f"cannot write {one_line(str(path))}: {one_line(str(error))}") from None


class LinearValue(LearnedValue):
    """Values by ridge regression on both normalised ranges and the products of their entries.

    Examples
    --------
    >>> from treeplex import LinearValue, load_game
    >>> LinearValue.train(load_game("kuhn"), 1, player=0, examples=100, iterations=50).mean_error < 0.02
    True
    """

    kind = "linear"

    @classmethod
    def _fit(
        cls, inputs: Floats, targets: Floats, sizes: tuple[int, int], generator: np.random.Generator, **options: Any
    ) -> dict[str, Floats]:
        ridge = options.pop("ridge", 1e-4)
        _nothing_left(cls, options)
        features = _features(inputs, sizes)
        products = features.transpose(0, 2, 1) @ features
        products += ridge * inputs.shape[1] * np.eye(features.shape[2])
        weights: Floats = np.asarray(np.linalg.solve(products, features.transpose(0, 2, 1) @ targets), dtype=np.float64)
        return {"weights": weights}

    @classmethod
    def _values(cls, parameters: Mapping[str, Floats], inputs: Floats, sizes: tuple[int, int]) -> Floats:
        return np.asarray(_features(inputs, sizes) @ parameters["weights"])


class NetworkValue(LearnedValue):
    """Values by a neural network of two hidden layers for each public state, trained with Adam.

    Examples
    --------
    >>> from treeplex import NetworkValue, load_game
    >>> network = NetworkValue.train(load_game("kuhn"), 1, player=0, examples=100, iterations=50, updates=200)
    >>> network.mean_error < 0.05
    True
    """

    kind = "network"

    @classmethod
    def _fit(
        cls, inputs: Floats, targets: Floats, sizes: tuple[int, int], generator: np.random.Generator, **options: Any
    ) -> dict[str, Floats]:
        hidden, updates, rate = (
            options.pop(name, default) for name, default in (("hidden", 64), ("updates", 2000), ("rate", 3e-3))
        )
        _nothing_left(cls, options)
        return train_network(inputs, targets, hidden, updates, rate, generator)

    @classmethod
    def _values(cls, parameters: Weights, inputs: Floats, sizes: tuple[int, int]) -> Floats:
        return predict(parameters, inputs)


def load_value(path: str | Path, game: Game) -> LearnedValue:
    """Read a value function that :meth:`LearnedValue.save` wrote.

    Parameters
    ----------
    path : path-like
    game : Game
        The game that it is for.

    Raises
    ------
    GameFileError
        If the file cannot be read, or is no value function.
    InvalidGameError
        If it is for another game.
    """
    where = one_line(str(path))
    kinds = {kind.kind: kind for kind in (LinearValue, NetworkValue)}
    try:
        metadata, arrays = read_archive(path)
        kind, states = kinds[metadata["kind"]], [int(state) for state in metadata["states"]]
        errors = [float(metadata[name]) for name in ("mean_error", "worst_error", "label_error")]
        parameters = {
            state: {name: np.asarray(arrays[f"{name} {state}"], dtype=np.float64) for name in metadata["names"]}
            for state in states
        }
        fingerprint = metadata["game"]
    except FileNotFoundError:
        raise GameFileError(f"{where}: no such file") from None
    except Exception as error:
        raise GameFileError(f"{where} is no value function: {one_line(str(error))}") from None
    if fingerprint != game.fingerprint:
        raise InvalidGameError(f"{where} is a value function of another game than {game.spec}")
    return kind(game, parameters, *errors)


class _Group:
    """The public states of a border that have as many ways in as each other."""

    def __init__(self, members: list[int], ways: tuple[Any, Any]) -> None:
        self.members = members  # numbers among the border's states
        self.ways = ways  # by seat, shape (states, ways of each)
        self.parameters: dict[str, Floats] = {}

    @property
    def sizes(self) -> tuple[int, int]:
        """How many ways in each player has."""
        return self.ways[0].shape[1], self.ways[1].shape[1]

    def take(self, examples: Examples) -> tuple[Floats, Floats]:
        """Return inputs and targets, shape (states, examples, ways of both players)."""
        inputs = [examples.ranges[player][:, self.ways[player]] for player in (0, 1)]
        targets = [examples.values[player][:, self.ways[player]] for player in (0, 1)]
        return tuple(np.concatenate(each, axis=2).transpose(1, 0, 2) for each in (inputs, targets))  # type: ignore[return-value]


def _grouped(border: Border) -> list[_Group]:
    ways: list[list[Any]] = []
    for player in (0, 1):
        starts = np.searchsorted(border.way_states[player], np.arange(len(border.states) + 1))
        ways.append([np.arange(*starts[number : number + 2]) for number in range(len(border.states))])
    shapes: dict[tuple[int, int], list[int]] = {}
    for number, (own, other) in enumerate(zip(*ways, strict=True)):
        if len(own) and len(other):
            shapes.setdefault((len(own), len(other)), []).append(number)
    return [
        _Group(members, (np.stack([ways[0][m] for m in members]), np.stack([ways[1][m] for m in members])))
        for members in shapes.values()
    ]


def _features(inputs: Floats, sizes: tuple[int, int]) -> Floats:
    if sizes[0] * sizes[1] > _PRODUCTS:
        return inputs
    own, other = inputs[..., : sizes[0]], inputs[..., sizes[0] :]
    products = (own[..., :, None] * other[..., None, :]).reshape(*inputs.shape[:-1], -1)
    return np.concatenate([inputs, products], axis=-1)


def _balanced(values: Floats, inputs: Floats, sizes: tuple[int, int]) -> Floats:
    """Shift values so that they sum to zero, weighted by the ranges: each player's half of that."""
    return np.asarray(values - 0.5 * (values * inputs).sum(axis=-1, keepdims=True))


def _nothing_left(kind: type, options: Iterable[str]) -> None:
    for option in options:
        raise UnknownMethodError(f"{kind.__name__} has no option {shown(option)}")
