"""The steps of continual solving: the decisions of each, the decisions settled before it, and its lookahead."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Integers
from ...seqform.public_tree import PublicTree

Flags = npt.NDArray[np.bool_]

#: The scope of a step: all own decisions of a level, or those of one public state.
Along = Literal["level", "path"]


@dataclass(frozen=True, eq=False)
class DecisionStep:
    """One step of continual solving; arrays are read-only.

    Attributes
    ----------
    level : int
        The level of its decisions in the public tree.
    states : ndarray of int32
        The public states of these decisions, or the public states at which their subgames begin.
    decided : ndarray of bool, shape (num_infosets of the player,)
        The infosets whose plan the step decides.
    settled : ndarray of bool, shape (num_infosets of the player,)
        The infosets whose plan earlier steps have decided.
    modelled : ndarray of bool, shape (num_infosets of the other player,)
        The infosets above the depth limit, where the other player follows the model.
    before : int or None
        The index of the step that it continues.
    seen : ndarray of bool, shape (num_states of the public tree,), optional
        The public states above the depth limit; by default all.
    """

    level: int
    states: Integers
    decided: Flags
    settled: Flags
    modelled: Flags
    before: int | None
    seen: Flags | None = None

    def __post_init__(self) -> None:
        for array in (self.states, self.decided, self.settled, self.modelled, self.seen):
            if array is not None:
                array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # unpickled arrays are writeable

    def __repr__(self) -> str:
        return (
            f"DecisionStep(level={self.level}, decided={int(self.decided.sum())}, settled={int(self.settled.sum())}, "
            f"modelled={int(self.modelled.sum())})"
        )


def decision_steps(
    public: PublicTree, player: int, lookahead: int, along: Along = "level", trunk: bool = False
) -> tuple[DecisionStep, ...]:
    """Return the steps in which a player decides, one after the other.

    Parameters
    ----------
    public : PublicTree
    player : int
    lookahead : int
        Number of levels that a step looks beyond its action, at least 0.
    along : {"level", "path"}
        With ``level`` a step makes all decisions of one level of the public tree. With ``path`` it makes those of one
        public state, and continues from the player's last public state before it, as in actual play.
    trunk : bool
        Along a path: whether one step makes all decisions of the first level, and all other steps continue from it.

    Returns
    -------
    tuple of DecisionStep
        Each step comes after the one that it continues.

    Notes
    -----
    Levels count player actions and public chance events, so a step at level d sees levels up to d + lookahead. The
    other player follows the model at its infosets of these levels, and is rational below. Along a path this applies to
    the continuations of each own decision on the path. For branches that do not follow the first of them, the limit of
    the first one applies. All public states on the path itself count as seen.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), sections 3 and 4. These levels reproduce the paper's table; a partition into
    disjoint blocks of levels does not.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import decision_steps
    >>> decision_steps(load_game("kuhn").public_tree, player=0, lookahead=1)
    (DecisionStep(level=0, decided=3, settled=0, modelled=6), DecisionStep(level=2, decided=3, settled=3, modelled=6))
    """
    own, other = public.infoset_states[player], public.infoset_states[1 - player]
    own_levels, other_levels = public.levels[own], public.levels[other]
    if along == "level":
        return tuple(
            DecisionStep(
                level=level,
                states=np.unique(own[own_levels == level]),
                decided=own_levels == level,
                settled=own_levels < level,
                modelled=other_levels <= level + lookahead,
                before=number - 1 if number else None,
                seen=public.levels <= level + lookahead,
            )
            for number, level in enumerate(np.unique(own_levels).tolist())
        )
    return _along_paths(public, player, lookahead, trunk)


def _along_paths(public: PublicTree, player: int, lookahead: int, trunk: bool) -> tuple[DecisionStep, ...]:
    own, other = public.infoset_states[player], public.infoset_states[1 - player]
    groups = [[state] for state in np.unique(own).tolist()]  # a state comes after its parent
    if trunk and groups:
        levels = public.levels[own]
        first = np.unique(own[levels == levels.min()]).tolist()
        groups = [first, *([state] for [state] in groups if state not in first)]
    numbers = {state: number for number, group in enumerate(groups) for state in group}
    steps: list[DecisionStep] = []
    for group in groups:
        state = group[0]
        path = [state]
        while public.parents[path[-1]] >= 0:
            path.append(int(public.parents[path[-1]]))
        deciding = [one for one in reversed(path) if one in numbers]
        # The limit of a public state: that of the last own decision on the path that it follows, if any.
        limits = np.full(public.num_states, int(public.levels[deciding[0]]) + lookahead)
        for one in deciding:
            limits[public.ancestors_at(int(public.levels[one])) == one] = int(public.levels[one]) + lookahead
        seen = public.levels <= limits
        seen[path] = True
        settled = np.zeros(public.num_states, dtype=bool)
        settled[deciding[:-1]] = True
        steps.append(
            DecisionStep(
                level=int(public.levels[state]),
                states=np.array(group, dtype=np.int32),
                decided=np.isin(own, group),
                settled=settled[own],
                modelled=seen[other],
                before=numbers[deciding[-2]] if len(deciding) > 1 else 0 if trunk and steps else None,
                seen=seen,
            )
        )
    return tuple(steps)


def partition_steps(
    public: PublicTree, player: int, roots: Integers, along: Along = "level", trunk: bool = False
) -> tuple[DecisionStep, ...]:
    """Return the steps in which a player decides if the game is partitioned into a trunk and subgames.

    Parameters
    ----------
    public : PublicTree
    player : int
    roots : ndarray of int32
        The public states at which subgames begin; some may lie below others.
    along, trunk
        As for :func:`decision_steps`, with a subgame instead of a public state, and the number of roots on the way to a
        state as its level.

    Returns
    -------
    tuple of DecisionStep
        Each step comes after the one that it continues. Subgames without decisions of the player have no step.

    Notes
    -----
    A step makes all decisions between the root of a subgame and the next roots, and sees equally far. This is the
    paper's definition of continual depth-limited responses, for any partition into subgames.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), sections 3 and 4.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import partition_steps, roots_after_chance
    >>> public = load_game("leduc:merge_suits=true").public_tree
    >>> for step in partition_steps(public, 0, roots_after_chance(public)):
    ...     print(step)
    DecisionStep(level=0, decided=9, settled=0, modelled=9)
    DecisionStep(level=3, decided=135, settled=9, modelled=144)
    """
    own, other = public.infoset_states[player], public.infoset_states[1 - player]
    begins = public.parents < 0
    begins[roots] = True
    # The root of the part that contains each state, and the number of parts on the way to it.
    part, depth = np.arange(public.num_states, dtype=np.int32), np.zeros(public.num_states, dtype=np.int64)
    for state, parent in enumerate(public.parents.tolist()):  # a state comes after its parent
        if parent >= 0:
            part[state] = state if begins[state] else part[parent]
            depth[state] = depth[parent] + begins[state]
    deciding = np.unique(part[own])
    depths = np.unique(depth[deciding])
    groups = [[root] for root in deciding.tolist()]
    if along == "level":
        groups = [np.flatnonzero(begins & (depth == number)).tolist() for number in depths.tolist()]
    elif trunk and groups:
        first = deciding[depth[deciding] == depths[0]].tolist()
        groups = [first, *([root] for [root] in groups if root not in first)]
    steps: list[DecisionStep] = []
    numbers: dict[int, int] = {}
    for group in groups:
        before: int | None
        if along == "level":
            seen, before = depth <= depth[group[0]], len(steps) - 1 if steps else None
        else:
            way, above = set(group), public.parents[group]
            while (above := above[above >= 0]).size:
                above = part[above]
                way |= set(above.tolist())
                above = public.parents[above]
            seen = np.isin(part, list(way))
            before = max((numbers[root] for root in way & numbers.keys()), default=0 if trunk and steps else None)
        decided = np.isin(part[own], group)
        steps.append(
            DecisionStep(
                level=int(public.levels[own[decided]].min()),
                states=np.array(group, dtype=np.int32),
                decided=decided,
                settled=seen[own] & ~decided,
                modelled=seen[other],
                before=before,
                seen=seen,
            )
        )
        numbers |= dict.fromkeys(group, len(steps) - 1)
    return tuple(steps)
