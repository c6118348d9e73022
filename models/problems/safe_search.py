"""Safe exploitation search: an equilibrium whose subgames are solved anew against a model's reach of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import ClassVar

from ...seqform.errors import UnsupportedProblemError, shown
from ..declarations import Confidence, Level
from ..depth_limited import Continual, Found, Search, SubgameRoots, roots_after_chance, roots_at_level
from .features import Feature
from .one_player import checked_number
from .problem import Certificate, StepBounds
from .stepped import SteppedResponse


@dataclass(frozen=True, eq=False)
class SES(SteppedResponse):
    """Safe exploitation search: subgames of an equilibrium solved anew, against how the model comes to them.

    Parameters
    ----------
    game : Game
        Two players, zero-sum, with histories.
    opponent : Strategy
        The model ŷ, of which only the reach of subgames is read.
    p : float
        How far its reach is believed, from 0 to 1.
    level : int, optional
        The level of the public tree at which subgames begin. By default they begin right after the first public chance
        event, such as a board card.
    game_value : float, optional
        The value of the game to the player who responds, for gain and exploitability; found if it is not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If they are no game, or no strategy of it, or p is no number from 0 to 1.
    UnsupportedProblemError
        If the game is not zero-sum, not of two players, or has no public states; if there is no such level, or no
        public chance event and no level is given.

    Notes
    -----
    Above the subgames the player keeps to an equilibrium strategy, by the simplex method. In each it maximises
    p Σ_I r(I) m(I) + (1 − p) min over I of m(I): I are the ways in which the opponent comes there, by its own last
    sequence; m(I) is the counterfactual payoff beyond that of the equilibrium strategy, the opponent being rational;
    r is the model's reach of these ways, divided by their sum. With p = 0 it is the max-margin gadget, with p = 1
    unsafe resolving with the model's range. The objective is the sum over subgames. Exploitability is not bounded by
    the gain. Reconstructed from the papers' prose, where margins may be scaled otherwise.

    M. Liu, C. Wu, Q. Liu, Y. Jing, J. Yang, P. Tang, C. Zhang, "Safe opponent-exploitation subgame refinement",
    NeurIPS 2022; compared with in D. Milec, O. Kubíček, V. Lisý, 2021 (arXiv:2112.12594), section 6 and appendix H.

    Examples
    --------
    >>> from treeplex import SES, Strategy, load_game, solve
    >>> game = load_game("leduc:merge_suits=true")
    >>> solution = solve(SES(game, Strategy.uniform(game, 1), p=0.5))
    >>> bool(solution.gain > 0.6), bool(solution.exploitability < 0.1)
    (True, True)
    """

    p: Confidence = field(kw_only=True)
    level: Level = field(default=None, kw_only=True)

    name: ClassVar[str] = "ses"
    always_needs: ClassVar[frozenset[Feature]] = frozenset({Feature.STEPS, Feature.SEARCH})
    needs_equilibrium: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", checked_number(self.name, "p", self.p, 0.0, 1.0))
        public, level = self.game.public_tree, self.level
        if level is None:
            if not len(roots_after_chance(public)):
                raise UnsupportedProblemError(
                    f"{self.name}: {self.game.spec} has no public chance event after which subgames could begin; give "
                    "a level"
                )
        elif isinstance(level, bool) or not isinstance(level, Integral) or not 0 <= level < public.num_levels:
            raise UnsupportedProblemError(
                f"{self.name}: level is {shown(level)}, expected one from 0 to {public.num_levels - 1}, as "
                f"{self.game.spec} has {public.num_levels} levels"
            )

    @property
    def roots(self) -> SubgameRoots:
        """The subgames."""
        public = self.game.public_tree
        states = roots_after_chance(public) if self.level is None else roots_at_level(public, int(self.level))
        return SubgameRoots.of(self.game, self.player, states.tolist())

    def start(self, equilibrium: Found | None = None) -> Continual:
        """Return the one step."""
        assert equilibrium is not None
        return Search(self.view(), self.opponent.plan, float(self.p), self.roots, equilibrium)

    def _objective(self, certificate: Certificate, steps: Sequence[StepBounds]) -> tuple[float, float | None]:
        if not steps:
            return 0.0, None  # the equilibrium strategy as it is
        return steps[0].objective, steps[0].upper
