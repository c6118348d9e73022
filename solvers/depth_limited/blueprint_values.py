"""Values below the depth limit if both players follow a blueprint, such as checking down to the showdown."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...models.depth_limited import LeafStates, folds_and_calls
from ...models.depth_limited.public_subgames import pair_payoffs
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, shown
from ...seqform.game import Game
from ...seqform.public_form import PublicForm
from ...seqform.public_payoff import PublicPayoff
from ...seqform.public_profile import PublicProfile, StrategiesOnDemand
from ...seqform.strategy import Profile, Strategy
from .learned_values import is_value_file
from .value_functions import BorderValues


class BlueprintValue:
    """The values of the rest of a game if both players follow given strategies there.

    A query is a product with one matrix, whose entries are the expected payoffs of each pair of ways in. Values are
    bilinear in the ranges and do not depend on a solver, but they are not equilibrium values of the rest: neither
    player adapts to the ranges. Nobody has to play the blueprint: like any function without strategies, it only decides
    above the limit, and the certificate of a step solves the rest of the game once more below its decision.

    Parameters
    ----------
    profile : Profile
        What both players do below the limit. The strategies of a coarser game have to be converted to this game first.
    name : str
        The name in tables and messages.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.depth_limited import LeafStates
    >>> from treeplex.solvers import BlueprintValue
    >>> kuhn = load_game("kuhn")
    >>> border = LeafStates.of(kuhn, kuhn.public_tree.levels <= 1)  # player 0 passed, player 1 bet
    >>> answer = BlueprintValue(Profile.uniform(kuhn)).query(border, (np.ones(3), np.ones(3)))
    >>> [[round(float(value), 3) for value in values] for values in answer.values]
    [[-0.5, -0.167, 0.167], [0.167, 0.5, -0.167]]
    """

    def __init__(self, profile: Profile, name: str = "blueprint") -> None:
        self.profile, self.name = profile, name
        self._border: LeafStates | None = None
        self._pairs = sp.csr_array((0, 0))

    def __repr__(self) -> str:
        return f"BlueprintValue({self.profile!r}, {self.name!r})"

    @classmethod
    def checkdown(cls, game: Game) -> "BlueprintValue":
        """Return the values of checking and calling to the showdown, in a game of poker: the players' equities.

        Parameters
        ----------
        game : Game

        Raises
        ------
        UnsupportedProblemError
            If the game's actions have no words ``fold``, ``check`` and ``call``.

        Examples
        --------
        >>> from treeplex import load_game
        >>> BlueprintValue.checkdown(load_game("leduc")).name
        'checkdown'
        """
        calls = [folds_and_calls(game, player)[1].astype(np.float64) for player in (0, 1)]
        return cls(Profile([Strategy(game, player, one) for player, one in enumerate(calls)]), "checkdown")

    @classmethod
    def load(cls, path: str, game: Game) -> "BlueprintValue | None":
        """Read a file with strategies of both players; ``None`` for the file of a learned value function.

        Parameters
        ----------
        path : str
        game : Game

        Raises
        ------
        GameFileError, InvalidStrategyError
            If the file cannot be read, or contains strategies of another game or of one player only.
        """
        if not path.endswith(".json") and is_value_file(path):
            return None
        profile = game.own_profile(path, coarser=True)
        return cls(Profile.load(path, game) if profile is None else profile)

    def query(self, border: LeafStates, ranges: tuple[Floats, Floats]) -> BorderValues:
        """Return the values of all entries of a border; see :class:`ValueFunction`.

        Raises
        ------
        SolverError
            If the blueprint belongs to another game.
        """
        if border is not self._border:
            self._prepare(border)
        return BorderValues((self._pairs @ ranges[1], -(self._pairs.T @ ranges[0])))

    def pairs(self, form: PublicForm, node: int) -> Floats:
        """Return player 0's payoff for each pair of states from a public state on; see :class:`PairValue`.

        The blueprint may be that of a coarser game, with the same private states and play up to there.

        Raises
        ------
        SolverError
            If the blueprint's game has other private states, or no such public state.
        """
        own, at = self._public.form, 0
        if own.states != form.states:
            raise SolverError(f"value function {self.name} belongs to a game with other private states")
        for action in form.path(node):
            after = [child for child in own.children[at].tolist() if own.actions[child] == action]
            if not after:
                path = ", ".join(map(str, form.path(node)))
                raise SolverError(f"value function {self.name} has no public state after {shown(path, 60)}")
            at = after[0]
        return pair_payoffs(self._public, at)

    @cached_property
    def _public(self) -> PublicProfile:
        """The blueprint in the public form of its own game."""
        if isinstance(self.profile, StrategiesOnDemand):
            return self.profile.public
        payoffs = self.profile[0].sequence_form.payoffs
        if not isinstance(payoffs, PublicPayoff) or not isinstance(payoffs.form, PublicForm):
            raise SolverError(f"value function {self.name} belongs to a game that is not in public form")
        return PublicProfile.of(payoffs.form, self.profile)

    def _prepare(self, border: LeafStates) -> None:
        game = self.profile[0].sequence_form
        if game is not border.game.sequence_form and game.fingerprint != border.game.sequence_form.fingerprint:
            raise SolverError(f"value function {self.name} belongs to a game other than {border.game.spec}")
        entered = []
        for player in (0, 1):
            ways, rest = border.num_ways[player], border.rest[player]
            behaviour = np.ones(rest.num_sequences)
            behaviour[1 + ways :] = self.profile[player].behaviour[border.sequences[player]]
            # Each sequence of the rest follows one way in.
            of = np.arange(-1, rest.num_sequences - 1)
            for level in rest.levels[1:]:
                of[level.sequences] = np.repeat(of[level.sources], level.counts)
            reach = border.plan(player, behaviour, np.ones(ways))[1:]
            entered.append(sp.csr_array((reach, (np.arange(len(reach)), of[1:])), shape=(len(reach), ways)))
        self._pairs = sp.csr_array(entered[0].T @ border.payoffs[1:, 1:] @ entered[1])
        self._border = border
