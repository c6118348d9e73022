"""Restrictions of one player's behaviour, and payments for its actions, in the loop on a public form."""

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

    The player may also be paid for actions, in addition to the payoffs of leaves.

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
        self._limits, self._paid = False, np.zeros(0)

    def set(self, node: int, least: Floats | None = None, free: npt.NDArray[np.bool_] | None = None) -> None:
        """Restrict the behaviour at a node; both arrays have the shape (actions, states)."""
        places = self.layout.places(node)
        kept = places >= 0
        self._limits = True
        for target, given in ((self._least, least), (self._free, free)):
            if given is not None:
                target[places[kept]] = given[kept]

    def pay(self, node: int, amounts: Floats) -> None:
        """Pay the player for its actions at a node, shape (actions, states), as counterfactual values."""
        if not len(self._paid):
            self._paid = np.zeros(self.layout.sizes[self._player])
        places = self.layout.places(node)
        kept = places >= 0
        self._paid[places[kept]] += amounts[kept]

    def arrays(self, number: Any) -> TermArrays:
        """Return the limits and the payments of the player's actions."""
        found = no_terms(number, len(self.layout.boards))
        own: dict[str, Floats] = {"payments": self._paid, "tilts": self._paid}
        if self._limits:
            own |= {"least": self._least, "free": self._free}
        pairs = {name: list(getattr(found, name)) for name in own}
        for name, values in own.items():
            pairs[name][self._player] = values.astype(number)
        return found._replace(**{name: tuple(pair) for name, pair in pairs.items()})

    def first_calls(self) -> Floats:
        """Return an empty array of calls."""
        return np.zeros((1, CALL_COLUMNS))
