"""The family of transit games: flow polytopes or trees of histories, and the functional ``risk``."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .registry import Family, Reference
from .transit import Transit

if TYPE_CHECKING:
    from ...seqform.budget import FormSize
    from ...seqform.functional import Functional
    from ...seqform.game import Game


class TransitFamily(Family):
    """The family of transit games, which are built as flow polytopes instead of being enumerated."""

    def parts(self, rules: Transit) -> dict[str, Any]:
        """Return the flow form, or the rules of the tree; both with the functional ``risk``."""
        if rules.form == "histories":
            from .transit_histories import TransitHistories

            return {"rules": TransitHistories(rules), "functionals": _functionals}
        return {
            "sequence_form": partial(_flow_form, rules),
            "size": partial(_flow_size, rules),
            "functionals": _functionals,
            "without_histories": "plans are flows over time and cell; form=histories has them, for very small games",
        }


def _flow_form(rules: Transit) -> Any:
    from .transit_flow import transit_sequence_form

    return transit_sequence_form(rules)


def _flow_size(rules: Transit) -> "FormSize":
    from .transit_flow import flow_size

    return flow_size(rules)


def _functionals(game: "Game") -> "Mapping[str, Functional]":
    from ...seqform.functional import Functional
    from .transit_flow import risk_coefficients
    from .transit_histories import risk_of_histories

    rules = Transit(**game.parameters)
    if rules.form == "flow":
        coefficients = risk_coefficients(rules)
    else:
        coefficients = risk_of_histories(rules, game.sequence_form.treeplexes[1])
    description = "probability that the patroller is away from the base at the end"
    return {"risk": Functional(1, coefficients, description, fingerprint=game.fingerprint)}


# By width, with the other parameters at their defaults.
_VALUES = {
    "A": {2: -0.806271404, 3: -0.338045228, 4: -0.128733038},
    "B": {2: -0.019618671, 3: 0.194089355, 4: 0.255168831},
}


def _reference(rules: Transit) -> Reference | None:
    value = _VALUES[rules.model].get(rules.width)
    if value is None or rules != Transit(width=rules.width, model=rules.model, form=rules.form):
        return None
    return Reference(value, "the linear program, its bounds within 1e-9 of each other")


FAMILY = TransitFamily(
    rules=Transit,
    summary="Crossing a patrolled grid: an evader, and a patroller who should be back at its base",
    citation="B. Bošanský, A. X. Jiang, M. Tambe, C. Kiekintveld (2015), AAAI; T. Davis, K. Waugh, M. Bowling (2019), "
    "AAAI, arXiv:1809.07893",
    reference=_reference,
)
