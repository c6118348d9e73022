"""Results without luck where one seat recorded games, and private states of other players may remain hidden."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import UnsupportedProblemError
from ...seqform.observer import ObserverTree
from ...seqform.strategy import Profile, Strategy

#: The largest relative difference between numbers that are equal except for round-off.
_ROUND_OFF = 1e-9


def corrections_of_classes(
    view: ObserverTree, known: Mapping[int, Strategy], profile: Profile
) -> tuple[Floats, Floats]:
    """Return the luck of chance and of the observer's own decisions on the way to each class.

    A step counts if its probabilities are known, that is, if they do not depend on the unknown players' hidden states.
    Other steps, such as a public card that is less likely if an opponent holds it, have no correction.

    Parameters
    ----------
    view : ObserverTree
    known : mapping of int to Strategy
    profile : Profile
        The value of a class is the observer's payoff if all play like this.

    Returns
    -------
    chance, decisions : ndarray of float64, shape (num_classes,)
        Payoff units.

    Notes
    -----
    Let C(c, s) be the probability of class c by chance and the known players, over histories at which the unknown
    players have the last sequences s. A step to class c′ has the known probability r if C(c′, s) = r C(c, s) for all s.
    """
    weights = view.chance.copy()
    for player, strategy in known.items():
        weights *= strategy.plan[view.sequences[:, player]]
    unknown = [each for each in range(view.num_players) if each not in known]
    if unknown:
        teams = np.unique(view.sequences[:, unknown], axis=0, return_inverse=True)[1].ravel()
    else:
        teams = np.zeros(view.num_histories, dtype=np.int64)
    by_class = [_sums(teams[at], weights[at]) for at in map(view.histories, range(view.num_classes))]
    likely = view.probabilities(profile.plans)
    paid = np.where(view.terminal, likely * np.nan_to_num(view.results), 0.0)
    for number in range(view.num_classes - 1, 0, -1):
        paid[view.parents[number]] += paid[number]
    children: list[list[int]] = [[] for _ in range(view.num_classes)]
    for number, parent in enumerate(view.parents[1:].tolist(), 1):
        children[parent].append(number)
    luck = np.zeros((2, view.num_classes))
    for number in range(view.num_classes):
        luck[:, children[number]] = luck[:, [number]]
        for steps in (_singly(children[number]), _by_sequence(view, children[number])):
            found = _known_step(by_class, number, steps)
            if found is None:
                continue
            masses, payoffs = (np.array([vector[step].sum() for step in steps]) for vector in (likely, paid))
            values = np.divide(payoffs, masses, out=np.zeros(len(steps)), where=masses > 0.0)
            # The value of a class that play by the profile does not reach is 0.
            gained = values - found @ values
            own = view.own_sequences[children[number][0]] != view.own_sequences[number]
            for step, amount in zip(steps, gained.tolist(), strict=True):
                luck[int(own), step] += amount
            break
    return luck[0], luck[1]


def _sums(teams: Indices, weights: Floats) -> dict[int, float]:
    """Return the sum of weights by team sequence."""
    found: dict[int, float] = {}
    for team, weight in zip(teams.tolist(), weights.tolist(), strict=True):
        found[team] = found.get(team, 0.0) + weight
    return found


def _singly(children: list[int]) -> list[list[int]]:
    return [[child] for child in children]


def _by_sequence(view: ObserverTree, children: list[int]) -> list[list[int]]:
    """Return classes grouped by the observer's last sequence."""
    groups: dict[int, list[int]] = {}
    for child in children:
        groups.setdefault(int(view.own_sequences[child]), []).append(child)
    return list(groups.values())


def _known_step(by_class: Sequence[Mapping[int, float]], number: int, steps: list[list[int]]) -> Floats | None:
    """Return the probabilities of the groups of classes that may follow a class; ``None`` if they are not known."""
    before = {team: weight for team, weight in by_class[number].items() if weight > 0.0}
    if len(steps) < 2 or not before:
        return None
    found = np.zeros((len(steps), len(before)))
    places = {team: place for place, team in enumerate(before)}
    for row, step in zip(found, steps, strict=True):
        for child in step:
            for team, weight in by_class[child].items():
                if weight > 0.0:
                    if team not in places:
                        return None
                    row[places[team]] += weight
    found /= list(before.values())
    shares = found[:, 0]
    same = np.abs(found - shares[:, None]).max() <= _ROUND_OFF and abs(shares.sum() - 1.0) <= _ROUND_OFF
    return shares if same else None


def averaged_results(
    view: ObserverTree,
    reach: Floats,
    unknown: Sequence[int],
    corrections: tuple[Floats, Floats],
    imaginary: bool,
) -> dict[str, Floats]:
    """Return the observer's results by class, with and without luck.

    Parameters
    ----------
    view : ObserverTree
    reach : ndarray of float64, shape (num_leaves,)
        The probability of chance and the known players at each leaf.
    unknown : sequence of int
    corrections : pair of ndarray of float64, shape (num_classes,)
        The luck of chance and of decisions.
    imaginary : bool
        Whether to average results over the observer's private states, where a class determines the unknown players'
        private states and actions.

    Returns
    -------
    dict
        ``raw``, ``adjusted``, ``chance``, ``decisions`` and ``imaginary``, each of shape (num_classes,); NaN for
        classes that no game ends in.
    """
    form = view.sequence_form
    if form.leaves is None:
        raise UnsupportedProblemError("results without luck need a table of leaves")
    ended = view.leaf_classes
    reached = np.bincount(ended, reach, view.num_classes) > 0.0
    chance, decisions = corrections
    adjusted = np.where(view.terminal & reached, view.results - chance - decisions, np.nan)
    exact = adjusted.copy()
    if imaginary:
        rows, teams = np.unique(form.leaves.sequences[:, list(unknown)], axis=0, return_inverse=True)
        teams = teams.ravel()
        lowest, highest = np.full(view.num_classes, len(rows)), np.full(view.num_classes, -1)
        np.minimum.at(lowest, ended, teams)
        np.maximum.at(highest, ended, teams)
        shown = (lowest == highest) & reached
        of = shown[ended] & (reach > 0.0)
        total = np.bincount(teams[of], reach[of] * exact[ended[of]], len(rows))
        mass = np.bincount(teams[of], reach[of], len(rows))
        adjusted[shown] = (total / np.where(mass > 0.0, mass, 1.0))[lowest[shown]]
    raw = np.where(view.terminal, view.results, np.nan)
    return {
        "raw": raw, "adjusted": adjusted, "chance": chance, "decisions": decisions, "imaginary": exact - adjusted,
    }  # fmt: skip
