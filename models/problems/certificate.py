"""Certificates of strategies: payoffs, bounds and violations."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from ...seqform.interchange.encoding import json_ready


@dataclass(frozen=True)
class StepBounds:
    """Proven bounds on one step of a stepwise response.

    Attributes
    ----------
    level : int
        The level of the step's decisions in the public tree.
    objective : float
        The value of the step's plan in the step's program, in payoff units.
    upper : float
        An upper bound on that value over all plans that agree with the decisions before the step.
    """

    level: int
    objective: float
    upper: float

    @property
    def gap(self) -> float:
        """Upper bound minus objective."""
        return self.upper - self.objective


@dataclass(frozen=True)
class Certificate:
    """The quality of strategies, computed from the strategies themselves instead of the solver's report.

    Attributes
    ----------
    value : tuple of float
        Each player's expected payoff.
    objective : float or None
        The problem's objective at these strategies; ``None`` if it has none.
    lower, upper : float or None
        Bounds on the optimal objective that the strategies prove, provided they meet the constraints. For stepwise
        responses, bounds on the optimum among the strategies that agree with the decisions before the last step.
    exploitability : float
        For a profile, NashConv divided by the number of players; for one player's strategy, the value of the game to
        that player minus the worst case; for a commitment, what the follower would gain by its best response. In payoff
        units.
    residual : float
        Distance of the plans from their polytopes: the largest of ``|E x − e|`` and of −x.
    violations : mapping of str to float
        By constraint; positive if it is violated.
    player : int or None
        The player of the strategy; ``None`` for a profile.
    opponent_value : float or None
        That player's payoff against the model of the opponent.
    game_value : float or None
        The value of the game to that player.
    gain : float or None
        ``opponent_value`` minus ``game_value``.
    steps : tuple of StepBounds
        The steps of a depth-limited response, in the order of its decisions.
    regrets : tuple of float or None
        For a profile in a game without a value, each player's gain from a best response to the others; see
        :attr:`epsilon`.
    logit_distance : float or None
        For a quantal response equilibrium, the largest difference of a probability from the logit choice.
    """

    value: tuple[float, ...]
    objective: float | None
    lower: float | None
    upper: float | None
    exploitability: float
    residual: float
    violations: Mapping[str, float]
    player: int | None = None
    opponent_value: float | None = None
    game_value: float | None = None
    gain: float | None = None
    steps: tuple[StepBounds, ...] = ()
    regrets: tuple[float, ...] | None = None
    logit_distance: float | None = None

    @classmethod
    def of_regrets(cls, values: Iterable[float], best: Iterable[float], residual: float = 0.0) -> Self:
        """Return the certificate of a profile in a game without a value, whose exploitability is the mean regret.

        Parameters
        ----------
        values, best : iterable of float
            By player: the payoff of the profile, and that of a best response to it, in payoff units.
        residual : float
            The distance of the plans from their polytopes.
        """
        value = tuple(map(float, values))
        regrets = tuple(max(0.0, float(most) - one) for most, one in zip(best, value, strict=True))
        return cls(value, None, None, None, sum(regrets) / len(regrets), residual, {}, regrets=regrets)

    @property
    def epsilon(self) -> float | None:
        """The largest regret: the profile is an ε-Nash equilibrium."""
        return None if self.regrets is None else max(self.regrets)

    @property
    def nash_conv(self) -> float | None:
        """The sum of the regrets."""
        return None if self.regrets is None else sum(self.regrets)

    @property
    def gap(self) -> float | None:
        """Upper bound minus lower bound."""
        return None if self.lower is None or self.upper is None else self.upper - self.lower

    @property
    def violation(self) -> float:
        """The largest violation, 0 if there is none."""
        return max(0.0, *self.violations.values()) if self.violations else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain numbers and strings, ready for JSON; fractions become strings."""
        return dict(json_ready(asdict(self) | {"gap": self.gap, "violation": self.violation}))

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one JSON object.

        Examples
        --------
        >>> from treeplex import Nash, Profile, load_game
        >>> game = load_game("matching_pennies")
        >>> print(Nash(game).certify(Profile.uniform(game)).to_json())
        {"value": [0.0, 0.0], "objective": 0.0, "lower": 0.0, "upper": 0.0, "exploitability": 0.0, "residual": 0.0, ...}
        """
        return json.dumps(self.to_dict(), allow_nan=False)
