"""Small neural networks in numpy, many of one shape at once: two hidden layers, trained with Adam."""

from collections.abc import Mapping

import numpy as np

from ...seqform.arrays import Floats

Weights = Mapping[str, Floats]
_LAYERS = 3
_BATCH = 64


def predict(weights: Weights, inputs: Floats) -> Floats:
    """Return what networks answer.

    Parameters
    ----------
    weights : mapping of str to ndarray
        ``weight 0`` to ``weight 2``, shape (networks, inputs, outputs), ``bias 0`` to ``bias 2``, shape (networks, 1,
        outputs), and ``scale``, shape (networks, 1, 1).
    inputs : ndarray of float64, shape (networks, examples, inputs)

    Returns
    -------
    ndarray of float64, shape (networks, examples, outputs)
    """
    return np.asarray(_layers(weights, inputs)[-1] * weights["scale"])


def train_network(
    inputs: Floats, targets: Floats, hidden: int, updates: int, rate: float, generator: np.random.Generator
) -> dict[str, Floats]:
    """Fit networks to examples, by the mean square of what they are off.

    Parameters
    ----------
    inputs, targets : ndarray of float64, shape (networks, examples, inputs or outputs)
    hidden : int
        Units of each hidden layer, which are rectified.
    updates : int
        Of Adam, each by a batch of 64 examples.
    rate : float
        Of the first update; it falls to nothing along half a cosine.
    generator : numpy.random.Generator

    Returns
    -------
    dict of str to ndarray
        See :func:`predict`.

    Notes
    -----
    D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1, with decay rates 0.9 and
    0.999.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.depth_limited.network import predict, train_network
    >>> generator = np.random.default_rng(0)
    >>> points = generator.random((1, 200, 2))
    >>> weights = train_network(points, points[..., :1] * points[..., 1:], 16, 500, 1e-2, generator)
    >>> error = predict(weights, points) - points[..., :1] * points[..., 1:]
    >>> bool(np.abs(error).mean() < 0.03)
    True
    """
    networks, count, width = inputs.shape
    sizes = [width, hidden, hidden, targets.shape[2]]
    scale = np.maximum(np.abs(targets).mean(axis=(1, 2), keepdims=True), 1e-12)
    weights: dict[str, Floats] = {}
    for layer in range(_LAYERS):
        spread = np.sqrt(2.0 / sizes[layer])
        weights[f"weight {layer}"] = generator.normal(0.0, spread, (networks, sizes[layer], sizes[layer + 1]))
        weights[f"bias {layer}"] = np.zeros((networks, 1, sizes[layer + 1]))
    first = {name: np.zeros_like(array) for name, array in weights.items()}
    second = {name: np.zeros_like(array) for name, array in weights.items()}
    wanted = targets / scale
    for update in range(1, updates + 1):
        batch = generator.integers(count, size=min(_BATCH, count))
        slopes = _slopes(weights, inputs[:, batch], wanted[:, batch])
        now = rate * 0.5 * (1.0 + np.cos(np.pi * (update - 1) / updates))
        for name, slope in slopes.items():
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.999 * second[name] + 0.001 * slope**2
            mean, square = first[name] / (1.0 - 0.9**update), second[name] / (1.0 - 0.999**update)
            weights[name] = weights[name] - now * mean / (np.sqrt(square) + 1e-8)
    return weights | {"scale": scale}


def _layers(weights: Weights, inputs: Floats) -> list[Floats]:
    """Return the inputs and what each layer makes of them."""
    layers = [inputs]
    for layer in range(_LAYERS):
        values = layers[-1] @ weights[f"weight {layer}"] + weights[f"bias {layer}"]
        layers.append(values if layer == _LAYERS - 1 else np.maximum(values, 0.0))
    return layers


def _slopes(weights: Weights, inputs: Floats, wanted: Floats) -> dict[str, Floats]:
    """Return the derivatives of half the mean square error of each network."""
    layers = _layers(weights, inputs)
    slopes: dict[str, Floats] = {}
    back = (layers[-1] - wanted) / inputs.shape[1]
    for layer in reversed(range(_LAYERS)):
        slopes[f"weight {layer}"] = layers[layer].transpose(0, 2, 1) @ back
        slopes[f"bias {layer}"] = back.sum(axis=1, keepdims=True)
        if layer:
            back = (back @ weights[f"weight {layer}"].transpose(0, 2, 1)) * (layers[layer] > 0.0)
    return slopes
