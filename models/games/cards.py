"""Names of cards, shared by the poker games."""

_RANKS = "23456789TJQK"
_SUITS = "shdc"

#: How many suits have a name.
MAX_NAMED_SUITS = len(_SUITS)


def rank_names(number: int) -> tuple[str, ...]:
    """Return names for so many ranks, lowest first.

    Up to twelve end with the king (three are J, Q, K), thirteen are a whole suit from 2 to A, and more are numbers.

    Examples
    --------
    >>> rank_names(4)
    ('T', 'J', 'Q', 'K')
    """
    if number <= len(_RANKS):
        return tuple(_RANKS[len(_RANKS) - number :])
    if number == len(_RANKS) + 1:
        return tuple(_RANKS + "A")
    return tuple(str(rank) for rank in range(1, number + 1))


def suit_names(number: int) -> tuple[str, ...]:
    """Return names for at most :data:`MAX_NAMED_SUITS` suits: spades, hearts, diamonds, clubs."""
    return tuple(_SUITS[:number])
