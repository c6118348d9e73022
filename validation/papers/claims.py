"""Claims of papers, the corresponding measurements, and whether each claim is met."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from ...seqform.interchange.encoding import json_ready


class ClaimStatus(StrEnum):
    """Whether a claim of a paper is met.

    Attributes
    ----------
    MET
        The measurement agrees with the claim.
    NOT_MET
        The measurement disagrees; the reason states the likely cause.
    REFUTED
        The claim is false, and a test of the library is the counter-example.
    OPEN
        This run cannot decide: it is too small, rows are missing, or the experiment does not judge the claim.
    UNCLAIMED
        The paper's text has no such claim; the measurement is the library's own.
    """

    MET = "met"
    NOT_MET = "not met"
    REFUTED = "refuted"
    OPEN = "open"
    UNCLAIMED = "no claim"


@dataclass(frozen=True)
class Claim:
    """A number reported in a paper, its measurement here, and the verdict.

    Attributes
    ----------
    quantity : str
        The reported quantity, with its unit.
    paper : str, float or None
        The paper's value; ``None`` if its text has no number but only a picture.
    measured : str, float or None
        The value from the rows; ``None`` if they do not determine it.
    status : ClaimStatus
        Open until :meth:`judged` is called.
    reason : str
        Why the claim is not met, refuted or open; empty if it is met.
    counterexample : str
        The test that refutes the claim, by its pytest name; empty unless it is refuted.

    Examples
    --------
    >>> from treeplex.validation.papers import Claim
    >>> claim = Claim("gain over that of the best equilibrium", "more than 2", 1.5)
    >>> judged = claim.judged(lambda gain: gain > 2.0, "the opponents are others than the paper's")
    >>> str(judged.status), judged.settled
    ('not met', False)
    """

    quantity: str
    paper: str | float | None
    measured: str | float | None
    status: ClaimStatus = ClaimStatus.OPEN
    reason: str = ""
    counterexample: str = ""

    def __post_init__(self) -> None:
        """Set the status of quantities that the paper does not claim."""
        if self.paper is None:
            object.__setattr__(self, "status", ClaimStatus.UNCLAIMED)

    @property
    def settled(self) -> bool:
        """Whether the verdict is final: the claim is met or refuted, or the paper makes none."""
        return self.status in (ClaimStatus.MET, ClaimStatus.REFUTED, ClaimStatus.UNCLAIMED)

    def judged(self, holds: bool | Callable[[Any], bool], otherwise: str = "") -> Self:
        """Return the claim as met or not met; it stays open if nothing was measured.

        Parameters
        ----------
        holds : bool or callable
            Whether the claim is met, or a function that decides it from the measured value.
        otherwise : str
            The likely reason if it is not met.
        """
        if self.measured is None or self.paper is None:
            return self
        if holds(self.measured) if callable(holds) else holds:
            return replace(self, status=ClaimStatus.MET, reason="")
        return replace(self, status=ClaimStatus.NOT_MET, reason=otherwise)

    def refuted(self, counterexample: str, reason: str) -> Self:
        """Return the claim as refuted by a test; it stays open if nothing was measured."""
        if self.measured is None:
            return self
        return replace(self, status=ClaimStatus.REFUTED, reason=reason, counterexample=counterexample)

    def opened(self, reason: str) -> Self:
        """Return the claim as open if it is not met, with the reason why this run is too small."""
        if self.status in (ClaimStatus.MET, ClaimStatus.UNCLAIMED):
            return self
        return replace(self, status=ClaimStatus.OPEN, reason=reason)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain numbers and strings, ready for JSON."""
        return json_ready(vars(self) | {"status": str(self.status)})  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the claim of a report; it is open if the report is of an older version, which has no verdicts.

        Examples
        --------
        >>> from treeplex.validation.papers import Claim
        >>> str(Claim.from_dict({"quantity": "alpha", "paper": 0.2, "measured": 0.21}).status)
        'open'
        """
        known = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        return cls(**known | {"status": ClaimStatus(known.get("status", ClaimStatus.OPEN))})


def near(paper: float, tolerance: float) -> Callable[[float], bool]:
    """Return a function that tests whether a measured number is within a tolerance of the paper's."""
    return lambda measured: abs(measured - paper) <= tolerance


def tally(claims: Iterable[Claim]) -> str:
    """Return the numbers of met and unmet claims in words, not counting quantities that the paper does not claim."""
    counts = Counter[ClaimStatus](claim.status for claim in claims)
    return ", ".join(f"{counts[one]} {one}" for one in ClaimStatus if counts[one] and one is not ClaimStatus.UNCLAIMED)
