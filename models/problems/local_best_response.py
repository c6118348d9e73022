"""Local best response: what a poker player gains who looks at one answer of the opponent, and then at the showdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..depth_limited import Continual, Found, Local, decision_steps, folds_and_calls
from .features import Feature
from .problem import Certificate, StepBounds
from .stepped import SteppedResponse


@dataclass(frozen=True, eq=False)
class LBR(SteppedResponse):
    """A local best response to a model of the opponent, in poker.

    At each own decision the player takes it that the opponent answers a bet by folding as often as the model does, and
    calls otherwise, and that both check and call from then on; and takes the action that is best then.

    Parameters
    ----------
    game : Game
        ``kuhn`` or ``leduc``, for two players.
    opponent : Strategy
        The model, of which the reach of histories and the answers to bets are read.
    game_value : float, optional
        The value of the game to the player who responds, for gain and exploitability; found if it is not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If they are no game, or no strategy of it.
    UnsupportedProblemError
        If the game is no poker, or not of two players.

    Notes
    -----
    With hands weighed by the model's play so far, wp the probability to win at showdown and fp that of a fold: to call
    is worth wp · pot − (1 − wp) · asked, and to bet b is worth fp · pot + (1 − fp) (wp' (pot + b) − (1 − wp') (asked +
    b)), wp' against hands that do not fold; to fold is worth 0. A step's objective is the same in payoffs. All actions
    of the game are considered. Unlike :class:`~treeplex.CDBR` it may gain less than nothing.

    V. Lisý, M. Bowling, "Equilibrium approximation quality of current no-limit poker bots", AAAI workshop on computer
    poker and imperfect information games, 2017.

    Examples
    --------
    >>> from treeplex import LBR, Strategy, load_game, solve
    >>> game = load_game("leduc:merge_suits=true")
    >>> round(solve(LBR(game, Strategy.uniform(game, 1))).gain, 6)
    1.815236
    """

    name: ClassVar[str] = "lbr"
    always_needs: ClassVar[frozenset[Feature]] = frozenset({Feature.STEPS, Feature.LOCAL})

    def __post_init__(self) -> None:
        super().__post_init__()
        folds_and_calls(self.game, self.player)  # says now if it is no poker

    def start(self, equilibrium: Found | None = None) -> Continual:
        """Return the steps, none of them decided yet."""
        (own_folds, own_calls), (folds, calls) = (folds_and_calls(self.game, player) for player in (0, 1))
        steps = decision_steps(self.game.public_tree, self.player, 1)
        return Local(self.view(), self.opponent.plan, steps, (own_folds, folds), (own_calls, calls))

    def _objective(self, certificate: Certificate, steps: Sequence[StepBounds]) -> tuple[float, float | None]:
        assert certificate.opponent_value is not None
        return certificate.opponent_value, None
