"""What actions are called in text: their labels, and the long words that rules give for them."""

from collections.abc import Hashable, Iterable, Mapping

from .game import Game


def actions_by_name(game: Game, player: int, infoset: int | None = None) -> dict[str, list[Hashable]]:
    """Return a player's actions by what text may call them.

    Parameters
    ----------
    game : Game
    player : int
    infoset : int, optional
        The number of an infoset whose actions alone are wanted; by default those of all infosets.

    Returns
    -------
    dict of str to list of labels
        By the text of each label first, then by each word of :attr:`Game.action_words <treeplex.Game.action_words>`
        whose label the player has; a word that is also the text of a label means that label. Several labels have one
        name where their texts are equal.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.action_names import actions_by_name
    >>> actions_by_name(load_game("kuhn"), player=0)
    {'p': ['p'], 'b': ['b'], 'pass': ['p'], 'bet': ['b']}
    """
    labels = game.sequence_form.treeplexes[player].action_labels
    here: Iterable[Hashable] = (label for each in labels for label in each) if infoset is None else labels[infoset]
    known = dict.fromkeys(here)
    return _named(known, game.action_words)


def _named(known: Mapping[Hashable, None], words: Mapping[str, Hashable]) -> dict[str, list[Hashable]]:
    names: dict[str, list[Hashable]] = {}
    for label in known:
        names.setdefault(str(label), []).append(label)
    for word, label in words.items():
        if label in known and word not in names:
            names[word] = [label]
    return names
