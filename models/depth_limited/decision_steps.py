"""The steps of continual solving: which decisions each makes, what is settled before it, how far it looks."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Integers
from ...seqform.public_tree import PublicTree

Flags = npt.NDArray[np.bool_]

#: What a step decides: all own decisions of a level, or those of one public state.
Along = Literal["level", "path"]


@dataclass(frozen=True, eq=False)
class DecisionStep:
    """One step of continual solving; arrays are read-only.

    Attributes
    ----------
    level : int
        Of the decisions that it makes, in the public tree.
    states : ndarray of int32
        The public states in which they are.
    decided : ndarray of bool, shape (num_infosets of the player,)
        The infosets whose plan the step decides.
    settled : ndarray of bool, shape (num_infosets of the player,)
        Those whose plan steps before it have decided.
    modelled : ndarray of bool, shape (num_infosets of the other player,)
        The infosets above the depth limit, where the other player plays as the model does.
    before : int or None
        The number of the step whose decisions it goes on from.
    seen : ndarray of bool, shape (num_states of the public tree,), optional
        The public states above the depth limit; by default all are.
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
        self.__post_init__()  # stored arrays come back writeable

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
        How many levels a step looks beyond the action that it decides, from 0 on.
    along : {"level", "path"}
        With ``level`` a step makes all decisions of one level of the public tree. With ``path`` it makes those of one
        public state, and goes on from the player's last public state before that, as somebody at play does.
    trunk : bool
        Along a path: whether one step makes all decisions of the first level, and all other steps go on from it.

    Returns
    -------
    tuple of DecisionStep
        Each comes after the one that it goes on from.

    Notes
    -----
    Levels count player actions and public chance events, so a step at level d sees levels up to d + lookahead: the
    other player is held to the model at its infosets of these levels, and rational below. Along a path that holds for
    what follows each own decision on the path, and for what does not follow the first of them the first one's limit
    does; all public states on the path itself count as seen.

    D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in sequential
    games", 2021 (arXiv:2112.12594), sections 3 and 4. With these levels the table there comes out; with a partition
    into disjoint blocks of levels it does not.

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
        # What a public state is seen by: the last own decision on the path that it follows, if any.
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
