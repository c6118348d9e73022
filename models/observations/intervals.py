"""Confidence intervals for a probability: Wilson's, and Clopper and Pearson's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidConstraintError, nearest, shown

IntervalName = Literal["wilson", "clopper-pearson"]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Lower and upper ends of intervals.

    Attributes
    ----------
    lower, upper : ndarray of float64
        Arrays of the same shape with values from 0 to 1.
    """

    lower: Floats
    upper: Floats


def wilson_intervals(
    successes: npt.ArrayLike, trials: npt.ArrayLike, confidence: float, *, comparisons: int = 1
) -> Intervals:
    """Return Wilson's score intervals for probabilities.

    Parameters
    ----------
    successes, trials : array_like of int
        Numbers of occurrences and of trials; their shapes broadcast.
    confidence : float
        γ, strictly between 0 and 1.
    comparisons : int
        Number of intervals for which γ is the joint confidence: each interval is computed for 1 − (1 − γ) /
        comparisons. By Bonferroni's union bound, all of them then hold with γ if each holds with its own confidence,
        which Wilson's do not.

    Returns
    -------
    Intervals
        From 0 to 1 if there were no trials.

    Raises
    ------
    InvalidConstraintError
        If the confidence is not between 0 and 1, or the counts are not integers of at least 0.

    Notes
    -----
    With p̂ = s / n and z the quantile of the normal distribution at 1 − (1 − γ) / 2, the interval is

        (p̂ + z² / 2n ± z √(p̂ (1 − p̂) / n + z² / 4n²)) / (1 + z² / n).

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American
    Statistical Association 22, 1927. Its coverage is about γ on average over p, but less for some p: if n p is just
    below 1 + z² / 2 − z √(1 + z² / 4), a single occurrence makes the interval miss p. With many trials the smallest
    coverage is 0.84 for γ = 0.95, 0.89 for γ = 0.99 and 0.94 for γ = 0.9999, so many intervals do not hold jointly.

    Examples
    --------
    >>> from treeplex.models.observations import wilson_intervals
    >>> both = wilson_intervals([5, 0], [10, 100], 0.95)
    >>> both.lower.round(6), both.upper.round(6)
    (array([0.236593, 0.      ]), array([0.763407, 0.036993]))
    """
    happened, possible, beyond = _checked(successes, trials, confidence, comparisons)
    square = float(special.ndtri(beyond / 2.0)) ** 2
    # Multiplied by n, to avoid a division by zero if there are no trials.
    shares = happened * (possible - happened) / np.maximum(possible, 1.0)
    centre = happened + square / 2.0
    half = np.sqrt(square * (shares + square / 4.0))
    lower, upper = (centre - half) / (possible + square), (centre + half) / (possible + square)
    # At the ends the formula is exact up to round-off.
    return Intervals(
        np.where(happened == 0.0, 0.0, np.clip(lower, 0.0, 1.0)),
        np.where(happened == possible, 1.0, np.clip(upper, 0.0, 1.0)),
    )


def clopper_pearson_intervals(
    successes: npt.ArrayLike, trials: npt.ArrayLike, confidence: float, *, comparisons: int = 1
) -> Intervals:
    """Return Clopper and Pearson's intervals for a probability p, with at least the given confidence for every p.

    Parameters
    ----------
    successes, trials, confidence, comparisons
        As for :func:`wilson_intervals`.

    Returns
    -------
    Intervals

    Raises
    ------
    InvalidConstraintError
        If the confidence is not between 0 and 1, or the counts are not integers of at least 0.

    Notes
    -----
    The bounds are the p at which s or more, and at which s or fewer, of n have the probability (1 − γ) / 2: quantiles
    of the beta distributions with s and n − s + 1, and with s + 1 and n − s. C. J. Clopper, E. S. Pearson, "The use of
    confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> from treeplex.models.observations import clopper_pearson_intervals
    >>> interval = clopper_pearson_intervals(5, 10, 0.95)
    >>> round(float(interval.lower), 6), round(float(interval.upper), 6)
    (0.187086, 0.812914)
    """
    happened, possible, beyond = _checked(successes, trials, confidence, comparisons)
    missed = possible - happened
    # Parameters of 0 are replaced, because the quantile is not used there.
    lower = special.betaincinv(np.maximum(happened, 1.0), missed + 1.0, beyond / 2.0)
    upper = special.betainccinv(happened + 1.0, np.maximum(missed, 1.0), beyond / 2.0)
    return Intervals(np.where(happened == 0.0, 0.0, lower), np.where(missed == 0.0, 1.0, upper))


def proportion_intervals(
    name: str, successes: npt.ArrayLike, trials: npt.ArrayLike, confidence: float, *, comparisons: int = 1
) -> Intervals:
    """Return intervals for probabilities by the method's name.

    Parameters
    ----------
    name : {"wilson", "clopper-pearson"}
    successes, trials, confidence, comparisons
        As for :func:`wilson_intervals`.

    Returns
    -------
    Intervals

    Raises
    ------
    InvalidConstraintError
        If there is no such method, or for the reasons of :func:`wilson_intervals`.

    Examples
    --------
    >>> from treeplex.models.observations import proportion_intervals
    >>> proportion_intervals("wilson", 0, 0, 0.95)
    Intervals(lower=array(0.), upper=array(1.))
    """
    return find_intervals(name)(successes, trials, confidence, comparisons=comparisons)


def interval_name(name: str | None, together: bool) -> str:
    """Return the kind of intervals: the given one, or the default.

    Parameters
    ----------
    name : {"wilson", "clopper-pearson"}, optional
    together : bool
        Whether all intervals should hold jointly. Clopper and Pearson's do, and are then the default; otherwise
        Wilson's are.

    Raises
    ------
    InvalidConstraintError
        If there is no such method, or it cannot guarantee that.

    Examples
    --------
    >>> from treeplex.models.observations.intervals import interval_name
    >>> interval_name(None, together=False), interval_name(None, together=True)
    ('wilson', 'clopper-pearson')
    """
    if name is None:
        return "clopper-pearson" if together else "wilson"
    find_intervals(name)
    if together and name == "wilson":
        raise InvalidConstraintError(
            "the interval is wilson, expected clopper-pearson: with bonferroni all intervals must hold jointly, and "
            "Wilson's fail too often for rarely seen events"
        )
    return name


def find_intervals(name: str) -> Callable[..., Intervals]:
    """Return the function that computes intervals by a method.

    Raises
    ------
    InvalidConstraintError
        If there is no such method.
    """
    if not isinstance(name, str) or name not in _METHODS:
        hint = nearest(str(name), _METHODS)
        raise InvalidConstraintError(f"unknown interval {shown(name, 60)}{hint}; expected {', '.join(_METHODS)}")
    return _METHODS[name]


def _checked(successes: Any, trials: Any, confidence: Any, comparisons: Any) -> tuple[Floats, Floats, float]:
    """Return the counts as floats of one shape, and the probability with which the intervals may fail."""
    confidence = check_number(confidence, "the confidence", InvalidConstraintError, "(0, 1)", "0.95")
    comparisons = check_whole(comparisons, "comparisons", InvalidConstraintError, "[1, inf)")
    try:
        happened, possible = np.broadcast_arrays(successes, trials)
    except (TypeError, ValueError) as error:
        raise InvalidConstraintError(f"the counts are not arrays of matching shapes: {error}") from None
    for values in (happened, possible):
        if values.dtype.kind not in "iu" and values.size:
            raise InvalidConstraintError(f"counts are {shown(values.tolist(), 60)}, expected whole numbers")
    wrong = (happened < 0) | (happened > possible)
    if wrong.any():
        first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise InvalidConstraintError(
            f"received {int(happened[first])} successes in {int(possible[first])} trials; expected no more than that"
        )
    return happened.astype(np.float64), possible.astype(np.float64), (1.0 - confidence) / comparisons


_METHODS: dict[str, Callable[..., Intervals]] = {
    "wilson": wilson_intervals,
    "clopper-pearson": clopper_pearson_intervals,
}
