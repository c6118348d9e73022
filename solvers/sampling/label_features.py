"""The features of an infoset for a learner: parts of its label, as indices into a table."""

import re
import zlib
from collections.abc import Hashable, Iterator
from itertools import combinations

_PART = re.compile(r"\d+|[^\W\d_]|[^\w\s]")
_FIELD = re.compile(r"[\s_]+")
#: The number of fields from which pairs are formed.
_PAIRED = 8


def features_of(label: Hashable, buckets: int) -> list[int]:
    """Return the features of an infoset's label.

    Parameters
    ----------
    label : hashable
    buckets : int
        A power of two.

    Returns
    -------
        Indices from 0 to `buckets` - 1, by CRC-32: a common one for all labels; each field (separated by spaces and
        ``_``, or the items of a tuple); each letter, number and sign in a field; pairs of fields; the prefixes of the
        label; and last the label itself.

    Examples
    --------
    >>> from treeplex.solvers.sampling.label_features import features_of
    >>> first, second = (features_of(label, 2**20) for label in ("Ks_rc_Qh_", "Ks_rc_Qh_c"))
    >>> len(first), len(set(first) & set(second)), first[-1] in second
    (20, 19, False)
    """
    return [zlib.crc32(each.encode()) & (buckets - 1) for each in _texts(label)]


def action_hash(action: Hashable) -> int:
    """Return a 31-bit hash of an action's label."""
    return zlib.crc32(repr(action).encode()) >> 1


def _texts(label: Hashable) -> Iterator[str]:
    text = " ".join(_leaves(label))
    fields = [(place, field) for place, field in enumerate(_FIELD.split(text)) if field]
    yield "all"
    for place, field in fields:
        yield f"field {place} {field}"
        parts = _PART.findall(field)
        if len(parts) > 1:
            yield from (f"part {place} {each} {part}" for each, part in enumerate(parts))
    for pair in combinations(fields[:_PAIRED], 2):
        yield f"pair {pair}"
    yield from (f"begins {text[: part.end()]}" for part in _PART.finditer(text) if part.end() < len(text))
    yield f"label {text}"


def _leaves(label: Hashable) -> Iterator[str]:
    if isinstance(label, tuple):
        for each in label:
            yield from _leaves(each)
    else:
        yield str(label)
