"""Restrictions of one player's behaviour in the loop on a public form."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.public_form import PublicForm
from .arrays import CALL_COLUMNS, TermArrays
from .layout import PublicLayout
from .terms import no_terms


class BehaviourFloors:
    """The least probability of each action of one player in each state, and the actions that share the rest.

    It has the members that :class:`~treeplex.solvers.public.kernel.PublicKernel` needs from a problem's terms.

    Parameters
    ----------
    form : PublicForm
    player : int
    """

    rows: tuple[Any, ...] = ()

    def __init__(self, form: PublicForm, player: int) -> None:
        self.layout = PublicLayout(form, ())  # equivalent suits may have different limits
        self._player = player
        self._least = np.zeros(self.layout.sizes[player])
        self._free = np.ones(self.layout.sizes[player])

    def set(self, node: int, least: Floats | None = None, free: npt.NDArray[np.bool_] | None = None) -> None:
        """Restrict the behaviour at a node; both arrays have the shape (actions, states)."""
        places = self.layout.places(node)
        kept = places >= 0
        for target, given in ((self._least, least), (self._free, free)):
            if given is not None:
                target[places[kept]] = given[kept]

    def arrays(self, number: Any) -> TermArrays:
        """Return the limits of the player's actions."""
        found = no_terms(number, len(self.layout.boards))
        least, free = list(found.least), list(found.free)
        least[self._player], free[self._player] = self._least.astype(number), self._free.astype(number)
        return found._replace(least=tuple(least), free=tuple(free))

    def first_calls(self) -> Floats:
        """Return an empty array of calls."""
        return np.zeros((1, CALL_COLUMNS))
