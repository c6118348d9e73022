"""Numbers in games: integers, floats, decimals and exact fractions; and plans in exact fractions."""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats
from .polytope import Treeplex
from .rules import Number

#: Arrays of ``Fraction``; missing bounds are the floats ``inf`` and ``-inf``.
Fractions = npt.NDArray[np.object_]

#: The number of digits shown of a numerator or denominator.
SHOWN_DIGITS = 24


def to_fraction(number: Number) -> Fraction:
    """Return a number as an exact fraction; a float counts as the shortest decimal that rounds to it.

    Examples
    --------
    >>> from treeplex.seqform.rationals import to_fraction
    >>> to_fraction(0.1)
    Fraction(1, 10)
    """
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))  # numpy's integers would overflow
    if isinstance(number, Decimal):
        return Fraction(number)
    if not isinstance(number, Real):
        raise TypeError(f"{number!r} is not a number")
    return Fraction(str(number))


def shown_number(number: Any, digits: int = 12) -> str:
    """Return a number as shown in names: exact ones in full, floats rounded to some digits."""
    return str(number) if isinstance(number, int | Fraction | Decimal) else f"{number:.{digits}g}"


def intended_fraction(number: Number) -> Fraction:
    """Return the fraction that a number most likely represents.

    Parameters
    ----------
    number : int, float, Fraction or Decimal
        A float whose shortest decimal has at most 15 digits becomes that decimal, because all such decimals survive
        conversion to floats. Any other float is probably the result of a computation, and becomes the simplest fraction
        that rounds to it (:func:`simplest_fraction`).

    Examples
    --------
    >>> from treeplex.seqform.rationals import intended_fraction
    >>> intended_fraction(0.12345678901), intended_fraction(1 / 18)
    (Fraction(12345678901, 100000000000), Fraction(1, 18))
    """
    if isinstance(number, float) and math.isfinite(number):
        digits = Decimal(str(float(number))).normalize().as_tuple().digits
        if len(digits) > 15:
            return simplest_fraction(number)
    return to_fraction(number)


def to_fractions(numbers: npt.ArrayLike | Iterable[Any]) -> Fractions:
    """Return numbers as an array of fractions, as :func:`intended_fraction` does; infinite floats stay floats.

    Parameters
    ----------
    numbers : array_like, shape (n,)

    Returns
    -------
    ndarray of Fraction, shape (n,)

    Examples
    --------
    >>> from treeplex.seqform.rationals import to_fractions
    >>> to_fractions([0.5, 1, float("inf")])
    array([Fraction(1, 2), Fraction(1, 1), inf], dtype=object)
    """
    entries = numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)  # type: ignore[arg-type]
    known: dict[Any, Any] = {}  # sparse matrices have few distinct numbers
    result = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        if type(entry) is Fraction or (isinstance(entry, float) and math.isinf(entry)):
            result[place] = entry
        else:
            if entry not in known:
                known[entry] = intended_fraction(entry)
            result[place] = known[entry]
    return result


def simplest_fraction(number: float) -> Fraction:
    """Return the fraction of smallest denominator among the reals that round to a float.

    Parameters
    ----------
    number : float
        Finite.

    Returns
    -------
    Fraction
        A fraction whose ``float()`` is the number again.

    Raises
    ------
    ValueError
        If the number is not finite.

    Notes
    -----
    The reals that round to a float form the interval between the midpoints to its neighbours. The ends belong to it if
    the float's last bit is even. The fraction of smallest denominator in an interval is the first node of the
    Stern–Brocot tree that lies in it, and the continued fractions of both ends agree up to that node (R. L. Graham, D.
    E. Knuth and O. Patashnik, "Concrete Mathematics", 2nd edition, 1994, section 4.5).

    Examples
    --------
    >>> from treeplex.seqform.rationals import simplest_fraction
    >>> simplest_fraction(0.3333333333333333), simplest_fraction(0.1), simplest_fraction(-2.5)
    (Fraction(1, 3), Fraction(1, 10), Fraction(-5, 2))
    """
    number = float(number)
    if not math.isfinite(number):
        raise ValueError(f"{number!r} is not a finite number")
    if number == int(number):
        return Fraction(int(number))
    if number < 0.0:
        return -simplest_fraction(-number)
    middle = Fraction(number)
    low = (Fraction(math.nextafter(number, 0.0)) + middle) / 2
    high = (Fraction(math.nextafter(number, math.inf)) + middle) / 2
    found = _simplest_between(low, high)
    # An end that does not round to the number is not a candidate, so the search is inside the interval.
    return found if float(found) == number else _simplest_between(*_inner(low, high, middle))


def _inner(low: Fraction, high: Fraction, middle: Fraction) -> tuple[Fraction, Fraction]:
    """Return an interval just inside another one: without the ends of the latter, but with its simple fractions."""
    # A fraction whose denominator is at most the middle's differs from an end by at least one over both denominators.
    least = 1 / (2 * middle.denominator * max(low.denominator, high.denominator))
    return low + Fraction(least), high - Fraction(least)


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of smallest denominator in a closed interval of non-negative numbers."""
    a, b, c, d = low.numerator, low.denominator, high.numerator, high.denominator
    before, now = (0, 1), (1, 0)  # the last two convergents
    while True:
        whole = -(-a // b)
        if whole * d <= c:  # it contains an integer, and the smallest one is simplest
            return Fraction(before[0] + whole * now[0], before[1] + whole * now[1])
        whole -= 1
        before, now = now, (before[0] + whole * now[0], before[1] + whole * now[1])
        a, b, c, d = d, c - whole * d, b, a - whole * b


def exact_plan(treeplex: Treeplex, behaviour: Floats) -> Fractions:
    """Return the realization plan of a behaviour strategy in exact fractions.

    Parameters
    ----------
    treeplex : Treeplex
    behaviour : ndarray of float64, shape (num_sequences,)
        As in :func:`exact_behaviour`.

    Returns
    -------
    ndarray of Fraction, shape (num_sequences,)
        The plan satisfies E x = e exactly, with the weights of inflows from :func:`intended_fraction`.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.seqform.rationals import exact_plan
    >>> uniform = Strategy.uniform(load_game("rps"), player=0)
    >>> exact_plan(uniform.treeplex, uniform.behaviour)
    array([Fraction(1, 1), Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)],
          dtype=object)
    """
    played = exact_behaviour(treeplex, behaviour)
    plan = np.empty(treeplex.num_sequences, dtype=object)
    plan[0] = Fraction(1)
    for here, sources, weights in _flows(treeplex):
        plan[here] = (weights @ plan[sources]) * played[here]
    return plan


def exact_behaviour(treeplex: Treeplex, behaviour: Floats) -> Fractions:
    """Return a behaviour strategy in exact fractions that sum to 1 at every infoset.

    Parameters
    ----------
    treeplex : Treeplex
    behaviour : ndarray of float64, shape (num_sequences,)
        Each probability counts as the simplest fraction that rounds to it (:func:`simplest_fraction`), divided by the
        sum at its infoset.

    Returns
    -------
    ndarray of Fraction, shape (num_sequences,)
    """
    known: dict[float, Fraction] = {}
    played = np.empty(treeplex.num_sequences, dtype=object)
    played[:] = [known.get(entry) or known.setdefault(entry, simplest_fraction(entry)) for entry in behaviour.tolist()]
    offsets = treeplex.offsets.tolist()
    for first, stop in pairwise(offsets):
        total = sum(played[first:stop], Fraction(0))
        if total != 1:
            played[first:stop] = played[first:stop] / total
    return played


def exact_best_response_value(treeplex: Treeplex, gradient: Fractions) -> Fraction:
    """Return max {g · x : x in the treeplex} in exact fractions.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of Fraction, shape (num_sequences,)

    Returns
    -------
    Fraction

    Notes
    -----
    Bottom-up as in :func:`~treeplex.seqform.polytope.best_response_plan`: v(s) = g(s) + Σ_I w(I, s) max_a v(I, a).
    """
    values = list(gradient)
    for here, sources, weights in reversed(_flows(treeplex)):  # infosets are in topological order
        best = max(values[here])
        for source, weight in zip(sources, weights, strict=True):
            values[source] += weight * best
    return Fraction(values[0])


def exact_residual(treeplex: Treeplex, plan: Fractions) -> Fraction:
    """Return a vector's violation of the polytope's constraints: the largest of ``|E x − e|`` and −x, exactly.

    Parameters
    ----------
    treeplex : Treeplex
    plan : ndarray of Fraction, shape (num_sequences,)

    Returns
    -------
    Fraction
    """
    residuals = [abs(sum(plan[here]) - weights @ plan[sources]) for here, sources, weights in _flows(treeplex)]
    return Fraction(max(abs(plan[0] - 1), -min(plan), 0, *residuals))


def _flows(treeplex: Treeplex) -> list[tuple[slice, list[int], Fractions]]:
    """Return each infoset's sequences, the sequences that lead to it, and their weights."""
    inflow = treeplex.inflow
    sources, weights = inflow.indices.tolist(), to_fractions(inflow.data)
    return [
        (slice(first, last), sources[start:stop], weights[start:stop])
        for (first, last), (start, stop) in zip(
            pairwise(treeplex.offsets.tolist()), pairwise(inflow.indptr.tolist()), strict=True
        )
    ]


def fraction_text(number: Fraction, limit: int | None = None) -> str:
    """Return a fraction as a string, such as ``-1/18``, of any length.

    Parameters
    ----------
    number : Fraction
    limit : int, optional
        Longer numerators and denominators lose their middle digits, and the string states their number of digits.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.rationals import fraction_text
    >>> fraction_text(Fraction(-1, 18))
    '-1/18'
    >>> fraction_text(Fraction(10**50 + 1, 3), limit=12)
    '100000…000001 (51 digits)/3'
    """
    parts = [number.numerator] if number.denominator == 1 else [number.numerator, number.denominator]
    return "/".join(_integer_text(part, limit) for part in parts)


def _integer_text(number: int, limit: int | None) -> str:
    text = str(Decimal(number))  # Python limits the digits of str(int), not of decimals
    digits = len(text.lstrip("-"))
    if limit is None or digits <= limit:
        return text
    shown = limit // 2
    return f"{text[: len(text) - digits + shown]}…{text[-shown:]} ({digits:,} digits)"
