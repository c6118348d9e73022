"""Labels of Gambit's ``.efg`` files, which may be empty or repeated there, made to tell infosets and actions apart."""

from collections import Counter
from collections.abc import Hashable, Sequence

from ..errors import InvalidGameError, shown


def distinct_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels with ``_1``, ``_2``, … after those that are empty or not the only one of their kind.

    A number that would make a label that is there already is left out. Gambit does the same since its version 16.6.

    Parameters
    ----------
    labels : sequence of str

    Returns
    -------
    tuple of str
        Distinct, none of them empty. Labels that were so already stay as they are.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_labels import distinct_labels
    >>> distinct_labels(["call", "raise", "raise", ""])
    ('call', 'raise_1', 'raise_2', '_1')
    """
    used = set(labels)
    if len(used) == len(labels) and "" not in used:
        return tuple(labels)
    counts = Counter(labels)
    numbers: Counter[str] = Counter()
    distinct = []
    for label in labels:
        candidate = label
        if not label or counts[label] > 1:
            while candidate in used:
                numbers[label] += 1
                candidate = f"{label}_{numbers[label]}"
            used.add(candidate)
        distinct.append(candidate)
    return tuple(distinct)


def infoset_labels(labels: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Return the labels by which a player's infosets are told apart.

    Parameters
    ----------
    labels, numbers : sequence of str, sequence of int
        Of each infoset, in the order in which a depth-first walk meets them; numbers are distinct.

    Returns
    -------
    list of str
        A label that is not empty and the only one of its kind stays. Any other infoset is called by its number, with
        ``_1``, ``_2``, … after it where a label of that kind is there already.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_labels import infoset_labels
    >>> infoset_labels(["Jack", "Queen", "Queen", ""], [1, 2, 3, 7])
    ['Jack', '2', '3', '7']
    """
    counts = Counter(labels)
    used = {label for label, count in counts.items() if count == 1}
    distinct = []
    for label, number in zip(labels, numbers, strict=True):
        candidate = label
        if not label or counts[label] > 1:
            candidate, attempt = str(number), 0
            while candidate in used:
                attempt += 1
                candidate = f"{number}_{attempt}"
            used.add(candidate)
        distinct.append(candidate)
    return distinct


def label_text(label: Hashable) -> str:
    """Return any label as text that a file can hold.

    Raises
    ------
    InvalidGameError
        If the label has no text.
    """
    try:
        text = label if isinstance(label, str) else str(label)
    except ValueError:  # an integer of thousands of digits
        raise InvalidGameError(f"label {shown(label)} cannot be written as text") from None
    return text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair becomes a question mark
