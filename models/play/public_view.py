"""Results without luck of games in public form."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from ...seqform.arrays import Floats, Indices
from ...seqform.errors import InvalidGameError, InvalidStrategyError
from ...seqform.game import Game
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import TERMINAL
from ...seqform.strategy import Profile, Strategy
from .evidence import Differences, differences, of_public_form
from .public_games import PublicGames

_Split = tuple[Floats, Floats, Mapping[str, Floats]]


class PublicView:
    """One player's results without luck in a game in public form.

    Parameters
    ----------
    game : Game
    player : {0, 1}
        The player whose results these are.
    known : mapping of int to Strategy
    profile : Profile
        The known strategies, and for other players those of the value function.
    """

    def __init__(self, game: Game, player: int, known: Mapping[int, Strategy], profile: Profile) -> None:
        assert game.public_form is not None
        self.game, self.form, self.player, self.known, self.profile = game, game.public_form, player, known, profile

    @cached_property
    def _own(self) -> Differences:
        """The values of the player's own decisions, against the other player's strategy in the profile."""
        other = self.profile[1 - self.player]
        seen = of_public_form(self.game, self.player, other.plan, self.player)
        return differences(seen, self.profile[self.player].behaviour)

    @cached_property
    def _dealt(self) -> Floats:
        """The luck of each private state that the player may be dealt, shape (states,)."""
        profile = PublicProfile.from_profile(self.form, self.profile)
        chances = profile.arrival(self.player, 0) * self.form.weights[self.player]
        values = np.where(chances > 0.0, np.nan_to_num(profile.values(self.player, 0)), 0.0)
        return values - float(chances @ values) / float(chances.sum())

    def _luck(self, node: int, states: Indices) -> tuple[Floats, Floats]:
        """Return the luck of the deal and of the player's own decisions up to a public state, by its private state."""
        chance = self._dealt[states]
        if self.player not in self.known:
            return chance, np.zeros(len(states))
        return chance, self._own.sums[self.form.sequences(self.player, node)[states]]

    def adjusted_fully(self, games: PublicGames, found: Differences, unknown: tuple[int, ...], by_kind: bool) -> _Split:
        """Return raw and adjusted results, and the luck by kind, if the unknown player's states are known."""
        paid = games.payoffs(self.form)[:, self.player]
        raw = paid if games.won is None else games.won
        adjusted = np.full(len(games), found.value)
        chance, decisions = np.zeros((2, len(games)))
        for node, here in games.by_node():
            if self.form.players[node] != TERMINAL:
                raise InvalidGameError(
                    f"game {here[0] + 1} ends at {self._place(node)}, which is not a leaf: without observer, expected "
                    "games that end at leaves"
                )
            for each in unknown:
                states = self._states(games, here, each)
                adjusted[here] += found.sums[self.form.sequences(each, node)[states]]
            self._check_known(games, node, here)
            if by_kind:
                own = self._states(games, here, self.player)
                chance[here], decisions[here] = self._luck(node, own)
        self._check_paid(games, raw)
        if not by_kind:
            return raw, adjusted, {}
        return raw, adjusted, _split(raw, adjusted, chance, decisions)

    def adjusted(self, games: PublicGames, imaginary: bool, by_kind: bool) -> _Split:
        """Return raw and adjusted results, and the luck by kind, if the other player's states may be hidden."""
        paid = games.payoffs(self.form)[:, self.player]
        raw = paid if games.won is None else games.won
        chance, decisions, adjusted = np.zeros((3, len(games)))
        for node, here in games.by_node():
            own = self._states(games, here, self.player)
            self._check_known(games, node, here)
            chance[here], decisions[here] = self._luck(node, own)
            adjusted[here] = np.where(np.isnan(paid[here]), raw[here], paid[here]) - chance[here] - decisions[here]
            shown = here[games.states[here, 1 - self.player] >= 0]
            if imaginary and self.player in self.known and len(shown) and self.form.players[node] == TERMINAL:
                theirs = games.states[shown, 1 - self.player]
                adjusted[shown] = self._averaged(node)[theirs]
        self._check_paid(games, raw)
        # The cards after an all-in are chance, too.
        dealt = np.where(np.isnan(paid), 0.0, raw - paid)
        return raw, adjusted, _split(raw, adjusted, chance + dealt, decisions) if by_kind else {}

    def _averaged(self, node: int) -> Floats:
        """Return the adjusted result at a leaf for each state of the other player, averaged over the player's own."""
        form, player = self.form, self.player
        mine, theirs = map(len, form.states) if player == 0 else map(len, form.states[::-1])
        likely = form.pairs(node).toarray()
        likely = (likely if player == 0 else likely.T) * form.weights[player][:, None]
        plan = self.known[player].plan[form.sequences(player, node)]
        likely *= np.where(form.sequences(player, node) >= 0, plan, 0.0)[:, None]
        pairs = np.divmod(np.arange(mine * theirs), theirs)
        states = np.stack(pairs if player == 0 else pairs[::-1], axis=1)
        some = np.flatnonzero(likely.ravel() > 0.0)
        paid = np.zeros(mine * theirs)
        paid[some] = PublicGames(np.full(len(some), node), states[some]).payoffs(form)[:, player]
        chance, decisions = self._luck(node, np.arange(mine))
        without = paid.reshape(mine, theirs) - (chance + decisions)[:, None]
        total = likely.sum(axis=0)
        mean: Floats = np.divide((likely * without).sum(axis=0), total, out=np.zeros(theirs), where=total > 0.0)
        return mean

    def _states(self, games: PublicGames, here: Indices, player: int) -> Indices:
        states: Indices = games.states[here, player]
        if (states < 0).any():
            number = here[np.flatnonzero(states < 0)[0]] + 1
            hint = "" if player == self.player else f": pass observer={self.player} if its cards may remain hidden"
            raise InvalidGameError(f"game {number} has no private state of seat {player}{hint}")
        return states

    def _check_known(self, games: PublicGames, node: int, here: Indices) -> None:
        """Raise an error if a known strategy never plays towards a public state."""
        for each, strategy in self.known.items():
            states = games.states[here, each]
            sequences = self.form.sequences(each, node)[states]
            wrong = np.flatnonzero((states >= 0) & ~((sequences >= 0) & (strategy.plan[sequences] > 0.0)))
            if len(wrong):
                state = self.form.states[each][states[wrong[0]]]
                raise InvalidStrategyError(
                    f"game {here[wrong[0]] + 1} is impossible with the known strategy of seat {each}, which never "
                    f"plays {self._place(node)} with {state}: pass what the player really played"
                )

    @staticmethod
    def _check_paid(games: PublicGames, raw: Floats) -> None:
        wrong = np.flatnonzero(np.isnan(raw))
        if len(wrong):
            raise InvalidGameError(
                f"game {wrong[0] + 1} has no result: it ended before a leaf or with hidden cards, so the money won is "
                "needed"
            )

    def _place(self, node: int) -> str:
        return ", ".join(map(str, self.form.path(node))) or "the root"


def _split(raw: Floats, adjusted: Floats, chance: Floats, decisions: Floats) -> Mapping[str, Floats]:
    return {"chance": chance, "decisions": decisions, "imaginary": raw - chance - decisions - adjusted}
