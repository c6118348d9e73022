"""Buckets of cards in Leduc poker, as the literature writes them: ``JQ.K/pair.nopair``."""

from collections.abc import Callable, Hashable

from ...seqform.errors import InvalidStrategyError, nearest, one_line, shown
from ...seqform.game import Game
from ..games.cards import rank_names
from ..games.leduc import Leduc

_EXAMPLE = "such as JQ.K/pair.nopair"
_PAIR, _NO_PAIR = "pair", "nopair"


def leduc_buckets(text: str, game: Game) -> Callable[[int, Hashable], str]:
    """Read what a player of Leduc poker sees of the cards.

    Parameters
    ----------
    text : str
        Buckets of the first round, ``/``, buckets of the second, ``.`` between buckets. In the first round a bucket is
        a group of ranks, and each rank of the deck stands in one: ``JQ.K`` does not tell a Jack from a Queen. In the
        second round buckets are ``pair`` (the own card pairs the public one), ``nopair`` (it does not) or groups of
        ranks of the public card. ``pair.nopair`` is the usual choice; ``J.Q.K`` sees the public card, and
        ``pair.JQ.K`` a pair and otherwise a little of the public card. Pieces of a group are joined by ``+``: ranges,
        ``2-8+K``, and the ranks of decks of 14 and more, whose names are numbers, ``1-7+9.8+10-14``.
    game : Game
        Leduc poker, with any parameters.

    Returns
    -------
    callable
        From a player and an infoset label to a bucket, for
        :class:`~treeplex.models.opponents.abstraction.Abstraction`: ``JQ_cr``, ``JQ_cr_pair_c``. All betting is seen
        exactly, suits are not seen, and the first bucket is remembered in the second round.

    Raises
    ------
    InvalidStrategyError
        If the game is not Leduc poker, or the text cannot be read; a rank that is unknown, missing or there twice is
        named.

    References
    ----------
    K. Waugh, D. Schnizlein, M. Bowling, D. Szafron, "Abstraction pathologies in extensive games", AAMAS 2009. Groups
    of ranks in the second round are an extension here.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.opponents import leduc_buckets
    >>> bucket = leduc_buckets("JQ.K/pair.nopair", load_game("leduc:merge_suits=true"))
    >>> bucket(0, "Q_cr"), bucket(0, "Q_crc_Q_r"), bucket(0, "Q_crc_J_r")
    ('JQ_cr', 'JQ_crc_pair_r', 'JQ_crc_nopair_r')
    """
    rules = game.rules
    if not isinstance(rules, Leduc):
        raise InvalidStrategyError(f"abstraction {shown(text, 60)} is of leduc, not of {one_line(game.spec, 60)}")
    rounds = text.split("/")
    if len(rounds) != 2:
        raise InvalidStrategyError(
            f"abstraction {shown(text, 60)} has {len(rounds)} round{'s' * (len(rounds) > 1)}, expected two with / "
            f"between them, {_EXAMPLE}"
        )
    ranks = rank_names(rules.ranks)
    own = _groups(rounds[0].split("."), ranks, "first")
    public, pairs = _second_round(rounds[1], ranks)
    suited = not rules.merge_suits

    def bucket(player: int, label: Hashable) -> str:
        card, first, *second = str(label).split("_")
        rank = card[:-1] if suited else card
        if not second:
            return f"{own[rank]}_{first}"
        board = second[0][:-1] if suited else second[0]
        seen = _PAIR if pairs and board == rank else public[board]
        return f"{own[rank]}_{first}_{seen}_{second[1]}"

    return bucket


def _second_round(text: str, ranks: tuple[str, ...]) -> tuple[dict[str, str], bool]:
    """Return what is seen of a public card of each rank, and whether pairs are seen first of all."""
    names = [name.strip() for name in text.split(".")]
    for name in (_PAIR, _NO_PAIR):
        if names.count(name) > 1:
            raise InvalidStrategyError(f"abstraction: the second round has {name} twice, expected it once")
    pairs = _PAIR in names
    groups = [name for name in names if name != _PAIR]
    if _NO_PAIR in groups:
        if not pairs or len(groups) > 1:
            hint = nearest(next(name for name in [*groups, ""] if name != _NO_PAIR), (_PAIR,))
            raise InvalidStrategyError(
                f"abstraction: the second round is {shown(text, 60)}{hint}; nopair stands beside pair alone, as in "
                "pair.nopair"
            )
        return dict.fromkeys(ranks, _NO_PAIR), True
    if not groups:
        raise InvalidStrategyError("abstraction: the second round has pair alone, expected pair.nopair")
    return _groups(groups, ranks, "second"), pairs


def _groups(groups: list[str], ranks: tuple[str, ...], which: str) -> dict[str, str]:
    """Return the group of each rank."""
    found: dict[str, str] = {}
    for group in map(str.strip, groups):
        if not group:
            raise InvalidStrategyError(f"abstraction: the {which} round has an empty bucket, expected ranks")
        for rank in _ranks(group, ranks, which):
            if rank in found:
                raise InvalidStrategyError(f"abstraction: rank {rank} stands twice in the {which} round, expected once")
            found[rank] = group
    missing = [rank for rank in ranks if rank not in found]
    if missing:
        raise InvalidStrategyError(
            f"abstraction: rank {missing[0]} is missing in the {which} round, expected each of {_listed(ranks)} in a "
            "bucket"
        )
    return found


def _ranks(group: str, ranks: tuple[str, ...], which: str) -> list[str]:
    """Return the ranks of a group: ranges, or names one after the other, and pieces of these between plus signs."""

    def place(name: str) -> int:
        if name in ranks:
            return ranks.index(name)
        hint = nearest(group, (_PAIR, _NO_PAIR)) if which == "second" else ""
        raise InvalidStrategyError(
            f"abstraction: unknown rank {shown(name, 40)} in bucket {shown(group, 60)} of the {which} round{hint}; "
            f"expected {_listed(ranks)}{', pair or nopair' if which == 'second' else ''}"
        )

    found: list[str] = []
    for piece in map(str.strip, group.split("+")):
        low, dash, high = piece.partition("-")
        if dash:
            first, last = place(low), place(high)
            if first > last:
                raise InvalidStrategyError(f"abstraction: {shown(piece, 40)} is no range, expected the lower one first")
            found += ranks[first : last + 1]
        else:
            # Names of one character need nothing between them.
            names = [piece] if piece in ranks or not piece or max(map(len, ranks)) > 1 else list(piece)
            found += [ranks[place(name)] for name in names]
    return found


def _listed(ranks: tuple[str, ...]) -> str:
    return ", ".join(ranks) if len(ranks) <= 13 else f"{ranks[0]} to {ranks[-1]}"
