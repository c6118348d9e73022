"""Observable events that depend on the opponent's play, as linear functions of the opponent's plan."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import one_line
from ...seqform.observer import ObserverTree
from ...seqform.polytope import Treeplex

#: The origin of leaves: the class before, the observer's sequence, own private information and public history.
_Place = tuple[int, int, str, tuple[str, ...]]
#: Own private information, public history, what the others show, and the result if it is visible.
_Label = tuple[str, tuple[str, ...], tuple[tuple[int, str], ...], float]
#: Relative tolerance within which two functions count as multiples of each other.
_SAME = 1e-12
#: The characters of a name that must be replaced with printable ones.
_LONGEST_NAME = 1000
#: The largest size of a dense array of functions, one per column.
_LARGEST = 1 << 19


@dataclass(frozen=True, eq=False)
class Events:
    """Events that an observer can distinguish, each with its probability as a function of the opponent's plan.

    The probability of event e is w(e) · Σ M[e, s] y(s), with y the opponent's realization plan and w(e) the observer's
    own contribution: its plan at the sequence ``own[e]``.

    Attributes
    ----------
    names : tuple of str
        Readable and unique.
    classes : csr_array, shape (events, num_classes)
        Entries of 1 at the classes of histories that make up each event.
    own : ndarray of int32, shape (events,)
        The observer's sequence.
    matrix : csr_array, shape (events, num_sequences of the opponent)
        M ≥ 0, in a normal form. At all plans it has the same values as the probabilities that chance plays to the
        histories of the event, by the opponent's last sequence.
    least, most : ndarray of float64, shape (events,)
        The smallest and the largest value of Σ M y over the opponent's plans.
    """

    names: tuple[str, ...]
    classes: sp.csr_array
    own: Integers
    matrix: sp.csr_array
    least: Floats
    most: Floats

    def __len__(self) -> int:
        return len(self.names)

    def at(self, rows: npt.NDArray[np.integer]) -> "Events":
        """Return some of the events, by index."""
        return Events(
            names=tuple(self.names[row] for row in rows.tolist()),
            classes=self.classes[rows],
            own=self.own[rows],
            matrix=self.matrix[rows],
            least=self.least[rows],
            most=self.most[rows],
        )


def observed_events(view: ObserverTree, opponent: Treeplex) -> Events:
    """Return the events that are informative about the opponent, each once.

    Parameters
    ----------
    view : ObserverTree
        For a two-player game.
    opponent : Treeplex
        The polytope of the opponent's plans.

    Returns
    -------
    Events
        The events are classes of the observer's histories, and unions of leaves that differ only in what they show.
        Uninformative events are left out. These are events with the same probability under all plans, and multiples of
        the event before, such as the event after an own action: the event before was counted in more games.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019, appendix
    D, equations 50 (own private information and public history) and 51 (what a leaf also shows).

    Examples
    --------
    >>> from treeplex import load_game, observer_tree
    >>> from treeplex.models.observations import observed_events
    >>> game = load_game("kuhn")
    >>> events = observed_events(observer_tree(game, 0), game.sequence_form.treeplexes[1])
    >>> len(events), events.names[0]
    (30, 'holding J, opponent showing Q reaches p/p')
    """
    classes, parents, labels = _with_unshown_leaves(view)
    own, matrix = _functions(view, classes, opponent)
    kept = np.flatnonzero(~_multiples(matrix, parents))
    least, most = -_greatest(opponent, -matrix[kept]), _greatest(opponent, matrix[kept])
    says = most - least > _SAME * most
    kept, least, most = kept[says], least[says], most[says]
    return Events(_names([labels[row] for row in kept.tolist()]), classes[kept], own[kept], matrix[kept], least, most)


def _greatest(treeplex: Treeplex, matrix: sp.csr_array) -> Floats:
    """Return the largest value of each row of a matrix over a player's plans, shape (rows,)."""
    found = [np.zeros(0)]
    for values in _columns(matrix):
        for level in reversed(treeplex.levels):
            level.pass_up(np.maximum.reduceat(values[level.sequences], level.starts, axis=0), values)
        found.append(values[0])
    return np.concatenate(found)


def _columns(matrix: sp.csr_array) -> Iterator[Floats]:
    """Return the rows of a matrix as columns of dense arrays, a few at a time."""
    step = max(1, _LARGEST // max(1, matrix.shape[1]))
    for start in range(0, matrix.shape[0], step):
        yield matrix[start : start + step].T.toarray()


def _with_unshown_leaves(view: ObserverTree) -> tuple[sp.csr_array, Integers, list[_Label]]:
    """Return all classes as rows with their parents, then unions of leaves that differ only in what they show."""
    num_classes = view.num_classes
    together: dict[_Place, list[int]] = {}
    for leaf in np.flatnonzero(view.terminal).tolist():
        place = (int(view.parents[leaf]), int(view.own_sequences[leaf]), view.private[leaf], view.public[leaf])
        together.setdefault(place, []).append(leaf)
    groups = [(place, leaves) for place, leaves in together.items() if len(leaves) > 1]
    parents = np.concatenate([view.parents, [place[0] for place, _ in groups]]).astype(np.int32)
    labels: list[_Label] = list(zip(view.private, view.public, view.shown, view.results.tolist(), strict=True))
    labels += [(private, public, (), np.nan) for (_, _, private, public), _ in groups]
    rows, columns = [np.arange(num_classes)], [np.arange(num_classes)]
    for number, (_, leaves) in enumerate(groups):
        parents[leaves] = num_classes + number
        rows.append(np.full(len(leaves), num_classes + number))
        columns.append(np.array(leaves))
    places = (np.concatenate(rows), np.concatenate(columns))
    shape = (num_classes + len(groups), num_classes)
    return sp.csr_array((np.ones(len(places[0])), places), shape=shape), parents, labels


def _functions(view: ObserverTree, classes: sp.csr_array, opponent: Treeplex) -> tuple[Integers, sp.csr_array]:
    """Return the observer's sequence of each row, and the row's function of the opponent's plan."""
    places = (view.history_classes, view.sequences[:, 1 - view.player])
    shape = (view.num_classes, opponent.num_sequences)
    matrix = _normal_form(opponent, sp.csr_array(classes @ sp.csr_array((view.chance, places), shape=shape)))
    # The leaves in a row follow one decision, or chance, after the same own sequence.
    return view.own_sequences[classes.indices[classes.indptr[:-1]]], matrix


def _normal_form(treeplex: Treeplex, matrix: sp.csr_array) -> sp.csr_array:
    """Return rows in a normal form with the same values on all plans; rows with equal values become equal.

    From the bottom up, the common part of an infoset's actions moves to the sequence that leads there.
    """
    parts = [sp.csr_array((0, matrix.shape[1]))]
    for values in _columns(matrix):
        for level in reversed(treeplex.levels):
            common = np.minimum.reduceat(values[level.sequences], level.starts, axis=0)
            values[level.sequences] -= np.repeat(common, level.counts, axis=0)
            level.pass_up(common, values)
        values[values <= _SAME * values.max(axis=0)] = 0.0  # round-off
        parts.append(sp.csr_array(values.T))
    return sp.csr_array(sp.vstack(parts))


def _multiples(matrix: sp.csr_array, parents: Integers) -> npt.NDArray[np.bool_]:
    """Return which rows are multiples of their parents' rows, shape (rows,)."""
    sizes = matrix.max(axis=1).toarray().ravel()
    scaled = sp.csr_array(sp.diags_array(1.0 / np.where(sizes > 0.0, sizes, 1.0)) @ matrix)
    apart = abs(scaled - scaled[parents]).max(axis=1).toarray().ravel()
    found: npt.NDArray[np.bool_] = (parents >= 0) & (sizes > 0.0) & (apart <= _SAME)
    return found


def _names(labels: Sequence[_Label]) -> tuple[str, ...]:
    """Return readable and unique names, with the result if nothing else distinguishes leaves."""
    names = [_name(private, public, cards) for private, public, cards, _ in labels]
    seen = Counter(names)
    told = [
        name if seen[name] == 1 or np.isnan(label[3]) else f"{name} with the result {label[3]:g}"
        for name, label in zip(names, labels, strict=True)
    ]
    distinct: dict[str, None] = {}
    for name in told:
        candidates = chain([name], (f"{name} ({number})" for number in count(2)))
        distinct[next(candidate for candidate in candidates if candidate not in distinct)] = None
    return tuple(distinct)


def _name(private: str, public: tuple[str, ...], cards: tuple[tuple[int, str], ...]) -> str:
    holding = f"holding {private}, " if private else ""
    showing = ", ".join(information for _, information in cards)
    name = f"{holding}opponent {f'showing {showing} ' if showing else ''}reaches {'/'.join(public) or 'the start'}"
    return name if name.isprintable() else one_line(name, limit=_LONGEST_NAME)
