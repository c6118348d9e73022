"""Valid labels of infosets, actions, outcomes, public states and nodes, and the identity of labels."""

import dataclasses
from collections.abc import Hashable, ItemsView, Iterable, KeysView, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

import numpy as np

from .errors import InvalidGameError, TreeplexError, shown

#: The requirements on a label, for messages.
A_LABEL = "a hashable label that is equal to itself (a missing value, such as NaN, is not a label)"
#: The reason why a set is rejected, for messages; it takes the name of the type, and ``return`` or ``pass``.
WITHOUT_ORDER = "a {} whose order differs between processes: {} a tuple"


def is_label(value: Any) -> bool:
    """Return whether a value can be a label: hashable, and equal to itself, as are all values that it contains.

    NaN is not equal to itself, whether it comes from Python, numpy, decimal, a time (NaT) or pandas (NA). Two nodes
    with the label NaN would be in two infosets, or in one if the label is the same object.

    Examples
    --------
    >>> from treeplex.seqform.labels import is_label
    >>> is_label(("bet", 1)), is_label(["bet", 1]), is_label(("bet", float("nan")))
    (True, False, False)
    """
    if value.__class__ is str or value.__class__ is int:
        return True
    try:
        hash(value)
        return _equals_itself(value)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return False  # comparing pandas' NA, or a signalling NaN, raises an error


def _equals_itself(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):  # comparing these, Python treats an object as equal to itself
        return all(map(_equals_itself, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return all(_equals_itself(getattr(value, each.name)) for each in dataclasses.fields(value) if each.compare)
    return value.__class__ is str or bool(value == value)


def has_order(values: Any) -> bool:
    """Return whether values have the same order in every process, that is, are not a set.

    The views of a dictionary keep its order.

    Examples
    --------
    >>> from treeplex.seqform.labels import has_order
    >>> has_order(("a", "b")), has_order({"a", "b"}), has_order({"a": 1, "b": 2}.keys())
    (True, False, True)
    """
    return not isinstance(values, AbstractSet) or isinstance(values, KeysView | ItemsView)


def listed(
    values: Any, what: str, error: type[TreeplexError] = InvalidGameError, verb: str = "pass"
) -> tuple[Any, ...]:
    """Return values as a tuple, in their order.

    Parameters
    ----------
    values : iterable
    what : str
        The subject and verb of the message: the object that has the values.
    error : type of exception
    verb : str
        ``pass`` or ``return``: the action that the message recommends for a tuple.

    Raises
    ------
    TreeplexError
        If they are a set, or not iterable.

    Examples
    --------
    >>> from treeplex.seqform.labels import listed
    >>> listed({"h": 1, "t": 2}.keys(), "the coin has sides")
    ('h', 't')
    """
    if values.__class__ is tuple:
        return values
    if not has_order(values):
        raise error(f"{what} {shown(values)}, {WITHOUT_ORDER.format(type(values).__name__, verb)}")
    try:
        return tuple(values)
    except TypeError:
        raise error(f"{what} {shown(values)}, expected a tuple") from None


def is_listing(values: Any) -> bool:
    """Return whether values are a sequence: not a string, and not a mapping or a set, which have no order.

    Examples
    --------
    >>> from treeplex.seqform.labels import is_listing
    >>> is_listing([1, -1]), is_listing("12"), is_listing({0: 1, 1: -1})
    (True, False, False)
    """
    return hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping) and has_order(values)


def is_same_label(first: Any, second: Any) -> bool:
    """Return whether two labels that are equal in Python are the same: ``1``, ``1.0`` and ``True`` are three labels.

    Examples
    --------
    >>> from treeplex.seqform.labels import is_same_label
    >>> is_same_label(("bet", 1), ("bet", 1)), is_same_label(("bet", 1), ("bet", True))
    (True, False)
    """
    if first.__class__ is not second.__class__:  # numpy's numbers and strings, and enumerations, count as Python's
        first, second = (each.item() if isinstance(each, np.generic) else each for each in (first, second))
        kinds = {first.__class__, second.__class__}
        if len(kinds) > 1 and (
            bool in kinds or not (isinstance(first, type(second)) or isinstance(second, type(first)))
        ):
            return False
    if isinstance(first, tuple):
        return all(map(is_same_label, first, second))
    if isinstance(first, frozenset):
        known = {part: part for part in second}
        return all(is_same_label(part, known[part]) for part in first)
    return not isinstance(first, float | Decimal) or str(first) == str(second)  # 0.0 and -0.0, 0.1 and 0.10


def check_one_label(label: Any, known: Any, what: str) -> None:
    """Raise an error if a label is equal in Python to a known label but is not the same.

    Parameters
    ----------
    label, known : hashable
        Equal to each other.
    what : str
        The subject of the message: the objects that the labels belong to.

    Raises
    ------
    InvalidGameError
    """
    if not is_same_label(label, known):
        raise InvalidGameError(
            f"{what} have the labels {shown(known, 60)} and {shown(label, 60)}, which are equal in Python: expected "
            "distinct labels, such as strings"
        )


def check_one_text(text: object, labels: Iterable[Hashable], where: str, error: type[TreeplexError]) -> None:
    """Raise an error if a string matches several labels, such as ``"1"`` and ``1``.

    Parameters
    ----------
    text : object
        Other values are not checked.
    labels : iterable of hashable
        The labels that it may match.
    where : str
        The subject of the message: the place of the labels.
    error : type of exception
    """
    alike = [label for label in dict.fromkeys(labels) if str(label) == text] if isinstance(text, str) else []
    if len(alike) > 1:
        listed = " and ".join(shown(label, 40) for label in alike[:3])
        raise error(
            f"{where} has {len(alike)} labels that print as {shown(text, 40)}, {listed}: expected distinct strings"
        )
