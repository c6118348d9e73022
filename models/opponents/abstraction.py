"""Bucket abstractions: infosets that a player does not distinguish, merged into a smaller game.

Buckets are any function of an infoset's label; :func:`leduc_buckets` parses those of Leduc poker in the notation of the
literature: ``JQ.K/pair.nopair``.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Integers
from ...seqform.checks import check_type
from ...seqform.errors import ImperfectRecallError, InvalidGameError, InvalidStrategyError, nearest, one_line, shown
from ...seqform.game import Game
from ...seqform.labels import is_label
from ...seqform.payoffs import LeafTable
from ...seqform.polytope import Treeplex
from ...seqform.sequence_form import SequenceForm
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..games.leduc import Leduc
from ..games.registry import rank_names

#: Maps a player and an infoset's label to a bucket.
Bucket = Callable[[int, Hashable], Hashable]


class Abstraction:
    """A game with merged infosets, and the conversion of its strategies to the full game.

    Infosets of a player with the same bucket become one infoset of the abstract game, labelled by the bucket. The
    abstract game has the same histories, chances and payoffs; only the players' information is coarser.

    Parameters
    ----------
    game : Game
        Any number of players.
    buckets : callable or mapping
        Either a function of the player and the label of one of its infosets, which returns a hashable bucket. Or a
        mapping for some players, ``{player: {label: bucket}}``; other players and omitted infosets remain unmerged, in
        a bucket of their own label.
    name : str
        The name of the abstract game, for messages and tables.

    Attributes
    ----------
    game : Game
    abstract_game : Game
        A sequence form without histories.
    sequences : tuple of ndarray of int32, shape (num_sequences of the player,)
        For each player, the abstract sequence of each of its sequences.

    Raises
    ------
    InvalidGameError
        If infosets of one bucket have different actions, or a bucket is not hashable.
    ImperfectRecallError
        If infosets of one bucket differ in the buckets and actions of the player's own past.
    UnsupportedProblemError
        If a player's plans form a flow polytope instead of a treeplex.

    Notes
    -----
    :meth:`lift` converts an abstract strategy to the full game: each infoset plays like its bucket. The payoffs of
    lifted profiles are those of the abstract game. Their best responses in the full game may gain much more, and do not
    always gain less if the abstraction is finer (K. Waugh, D. Schnizlein, M. Bowling, D. Szafron, "Abstraction
    pathologies in extensive games", AAMAS 2009).

    The pasts of merged infosets are compared in buckets; they may differ in the full game. The abstract game therefore
    has perfect recall if a later bucket never forgets an earlier one.

    Examples
    --------
    Kuhn poker for a player 0 who does not distinguish a Jack from a Queen:

    >>> from treeplex import Nash, load_game, solve, worst_case
    >>> from treeplex.models.opponents import Abstraction
    >>> game = load_game("kuhn")
    >>> weak = Abstraction(game, {0: {"J_": "low_", "Q_": "low_", "J_pb": "low_pb", "Q_pb": "low_pb"}})
    >>> weak.abstract_game.sequence_form
    SequenceForm(sequences=[9, 13], infosets=[4, 6])
    >>> solution = solve(Nash(weak.abstract_game))
    >>> lifted = weak.lift(solution.profile[0])
    >>> round(solution.value, 6), round(worst_case(game, lifted), 6)
    (-0.111111, -0.111111)
    """

    def __init__(self, game: Game, buckets: Bucket | Mapping[int, Mapping[Any, Hashable]], name: str = "") -> None:
        check_type(game, "game", InvalidGameError, Game)
        form = game.sequence_form
        bucket_of = _reader(game, buckets)
        self.game = game
        merged = [_merge(player, treeplex, bucket_of) for player, treeplex in enumerate(form.treeplexes)]
        self.sequences: tuple[Integers, ...] = tuple(sequences for _, sequences in merged)
        treeplexes = [treeplex for treeplex, _ in merged]
        self.abstract_game = Game(
            name or f"{game.spec} in buckets",
            sequence_form=_abstract_form(form, treeplexes, self.sequences),
            without_histories="it is an abstraction of another game",
        )

    def __repr__(self) -> str:
        return f"Abstraction(game={self.game.spec!r}, abstract_game={self.abstract_game.spec!r})"

    def lift(self, strategy: Strategy) -> Strategy:
        """Return the strategy in the full game that corresponds to an abstract one.

        Parameters
        ----------
        strategy : Strategy
            A strategy of :attr:`abstract_game`.

        Returns
        -------
        Strategy
            A strategy of :attr:`game`; each infoset has the behaviour of its bucket, also where the strategy does not
            reach.

        Raises
        ------
        InvalidStrategyError
            If the strategy belongs to another game.
        """
        check_same_game(strategy, self.abstract_game)
        return Strategy(self.game, strategy.player, strategy.behaviour[self.sequences[strategy.player]])

    def lift_profile(self, profile: Profile) -> Profile:
        """Return the profile in the full game that corresponds to an abstract one; see :meth:`lift`."""
        check_type(profile, "profile", InvalidStrategyError, Profile, "a Profile of the abstract game")
        return Profile([self.lift(strategy) for strategy in profile])


def _reader(game: Game, buckets: Any) -> Bucket:
    """Return the buckets as a function, after checking that a mapping names players and infosets of the game."""
    if not isinstance(buckets, Mapping):
        if not callable(buckets):
            raise InvalidGameError(
                f"the buckets are {shown(buckets)}, expected a function of player and infoset label, or a mapping "
                "{player: {label: bucket}}"
            )
        return buckets  # type: ignore[no-any-return]
    for player, own in buckets.items():
        if isinstance(player, bool) or player not in range(game.num_players):
            known = f"{game.spec} has players 0 to {game.num_players - 1}"
            raise InvalidGameError(f"buckets for player {shown(player)}: {known}")
        if not isinstance(own, Mapping):
            raise InvalidGameError(f"the buckets of player {player} are {shown(own)}, expected a mapping of labels")
        for label in own:
            if game.sequence_form.treeplexes[player].find_infoset(label) is None:
                raise InvalidGameError(f"buckets of player {player}: no infoset {shown(label)} in {game.spec}")
    return lambda player, label: buckets.get(player, {}).get(label, label)


def _merge(player: int, treeplex: Treeplex, bucket_of: Bucket) -> tuple[Treeplex, Integers]:
    """Merge a player's infosets by bucket; return the smaller polytope and each sequence's index in it."""
    # For each bucket: its first infoset, its parent and its first sequence.
    merged: dict[Hashable, tuple[int, int, int]] = {}
    size, parents = 1, treeplex.parents.tolist()
    sequences = np.zeros(treeplex.num_sequences, dtype=np.int32)
    for infoset, (label, own) in enumerate(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)):
        bucket = bucket_of(player, label)
        if not is_label(bucket):
            raise InvalidGameError(
                f"infoset {shown(label)} of player {player} has bucket {shown(bucket)}, expected a hashable one"
            )
        parent = int(sequences[parents[infoset]])
        if bucket not in merged:
            merged[bucket] = infoset, parent, size
            size += len(own)
        first, other_parent, begin = merged[bucket]
        actions = treeplex.action_labels[first]
        alike = set(own) == set(actions) and len(own) == len(actions)
        if not alike or parent != other_parent:
            other = shown(treeplex.infoset_labels[first])
            both = f"infosets {other} and {shown(label)} of player {player} have the same bucket {shown(bucket)}, but"
            if not alike:
                raise InvalidGameError(f"{both} actions {shown(actions)} and {shown(own)}: give them different buckets")
            pasts = " and ".join(_past(treeplex, merged, each) for each in (other_parent, parent))
            raise ImperfectRecallError(
                f"{both} different past actions, {pasts}: a bucket must remember earlier buckets"
            )
        place = {action: begin + order for order, action in enumerate(actions)}
        start = int(treeplex.offsets[infoset])
        sequences[start : start + len(own)] = [place[action] for action in own]
    sequences.flags.writeable = False
    kept = [treeplex.action_labels[first] for first, _, _ in merged.values()]
    above = [parent for _, parent, _ in merged.values()]
    return Treeplex(above, list(map(len, kept)), list(merged), kept), sequences


def _past(treeplex: Treeplex, merged: dict[Hashable, tuple[int, int, int]], sequence: int) -> str:
    """Describe a sequence of the abstract game by its bucket and action, for messages."""
    if sequence == 0:
        return "no move yet"
    bucket, (first, _, begin) = next(each for each in reversed(merged.items()) if each[1][2] <= sequence)
    return f"{shown(treeplex.action_labels[first][sequence - begin], 40)} in {shown(bucket, 60)}"


def _abstract_form(form: SequenceForm, treeplexes: list[Treeplex], sequences: tuple[Integers, ...]) -> SequenceForm:
    """Return the payoffs of a game by sequences of its abstraction."""
    if form.leaves is not None:
        leaves = form.leaves
        merged = np.column_stack([own[leaves.sequences[:, player]] for player, own in enumerate(sequences)])
        table = LeafTable(merged, leaves.chance, leaves.payoffs, leaves.exact_chance, leaves.exact_payoffs)
        return SequenceForm(treeplexes, table, num_nodes=form.num_nodes)
    # A matrix over pairs of sequences: sum the entries that become one pair.
    sums = [
        sp.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(treeplex.num_sequences, len(own)))
        for own, treeplex in zip(sequences, treeplexes, strict=True)
    ]
    matrices = [sums[0] @ form.payoff_matrix(player) @ sums[1].T for player in (0, 1)]
    return SequenceForm(treeplexes, payoff_matrices=matrices)


_EXAMPLE = "such as JQ.K/pair.nopair"
_PAIR, _NO_PAIR = "pair", "nopair"


def leduc_buckets(text: str, game: Game) -> Callable[[int, Hashable], str]:
    """Parse a player's view of the cards in Leduc poker.

    Parameters
    ----------
    text : str
        Buckets of the first round, ``/``, buckets of the second, with ``.`` between buckets. In the first round a
        bucket is a group of ranks, and each rank of the deck belongs to one: ``JQ.K`` does not distinguish a Jack from
        a Queen. In the second round buckets are ``pair`` (the own card pairs the public one), ``nopair`` (it does not)
        or groups of ranks of the public card. ``pair.nopair`` is the usual choice. ``J.Q.K`` sees the public card, and
        ``pair.JQ.K`` sees a pair and otherwise only a group of the public card. Parts of a group are joined by ``+``:
        ranges, ``2-8+K``, and the ranks of decks with at least 14 ranks, whose names are numbers, ``1-7+9.8+10-14``.
    game : Game
        Leduc poker, with any parameters.

    Returns
    -------
    callable
        Maps a player and an infoset label to a bucket, for :class:`Abstraction`: ``JQ_cr``, ``JQ_cr_pair_c``. All
        betting is visible exactly, suits are not visible, and the first bucket is remembered in the second round.

    Raises
    ------
    InvalidStrategyError
        If the game is not Leduc poker, or the string cannot be parsed; the message names an unknown, missing or
        repeated rank.

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
        raise InvalidStrategyError(f"abstraction {shown(text, 60)} is for leduc, not for {one_line(game.spec, 60)}")
    rounds = text.split("/")
    if len(rounds) != 2:
        raise InvalidStrategyError(
            f"abstraction {shown(text, 60)} has {len(rounds)} round{'s' * (len(rounds) > 1)}, expected two separated "
            f"by /, {_EXAMPLE}"
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
    """Return how each rank of the public card is seen, and whether pairs are distinguished first."""
    names = [name.strip() for name in text.split(".")]
    for name in (_PAIR, _NO_PAIR):
        if names.count(name) > 1:
            raise InvalidStrategyError(f"abstraction: the second round has {name} twice, expected once")
    pairs = _PAIR in names
    groups = [name for name in names if name != _PAIR]
    if _NO_PAIR in groups:
        if not pairs or len(groups) > 1:
            hint = nearest(next(name for name in [*groups, ""] if name != _NO_PAIR), (_PAIR,))
            raise InvalidStrategyError(
                f"abstraction: the second round is {shown(text, 60)}{hint}; nopair can only be combined with pair, as "
                "in pair.nopair"
            )
        return dict.fromkeys(ranks, _NO_PAIR), True
    if not groups:
        raise InvalidStrategyError("abstraction: the second round has only pair, expected pair.nopair")
    return _groups(groups, ranks, "second"), pairs


def _groups(groups: list[str], ranks: tuple[str, ...], which: str) -> dict[str, str]:
    """Return the group of each rank."""
    found: dict[str, str] = {}
    for group in map(str.strip, groups):
        if not group:
            raise InvalidStrategyError(f"abstraction: the {which} round has an empty bucket, expected ranks")
        for rank in _ranks(group, ranks, which):
            if rank in found:
                raise InvalidStrategyError(
                    f"abstraction: rank {rank} appears twice in the {which} round, expected once"
                )
            found[rank] = group
    missing = [rank for rank in ranks if rank not in found]
    if missing:
        raise InvalidStrategyError(
            f"abstraction: rank {missing[0]} is missing in the {which} round, expected each of {_listed(ranks)} in a "
            "bucket"
        )
    return found


def _ranks(group: str, ranks: tuple[str, ...], which: str) -> list[str]:
    """Return the ranks of a group: ranges, or consecutive names, and parts of these joined by plus signs."""

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
                raise InvalidStrategyError(f"abstraction: received {shown(piece, 40)}, expected the lower rank first")
            found += ranks[first : last + 1]
        else:
            # Names of one character need no separator.
            names = [piece] if piece in ranks or not piece or max(map(len, ranks)) > 1 else list(piece)
            found += [ranks[place(name)] for name in names]
    return found


def _listed(ranks: tuple[str, ...]) -> str:
    return ", ".join(ranks) if len(ranks) <= 13 else f"{ranks[0]} to {ranks[-1]}"
