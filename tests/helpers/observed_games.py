"""Games drawn at once, as counts of an observer's classes, for tests about what is observed."""

import numpy as np

from treeplex import Game, Profile, Strategy
from treeplex.seqform import ObserverTree
from treeplex.solvers.opponents.strategies import opponent_strategy


def versus(probe: Strategy, opponent: Strategy) -> Profile:
    return Profile(sorted((probe, opponent), key=lambda one: one.player))


def opponent_of(game: Game, player: int, spec: str) -> Strategy:
    return opponent_strategy(spec, game, 1 - player)


def probe_that_never_folds(game: Game, player: int, fold: str) -> Strategy:
    """Return uniform play of all actions but folding; in Kuhn poker to pass is to fold where somebody has bet."""
    treeplex = game.sequence_form.treeplexes[player]
    behaviour = {}
    for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
        folds = fold in actions and (game.name != "kuhn" or str(label).endswith("b"))
        kept = [action for action in actions if not (folds and action == fold)]
        behaviour[label] = {action: 1 / len(kept) for action in kept}
    return Strategy.from_dict(game, player, behaviour)


def drawn_counts(tree: ObserverTree, profile: Profile, games: int, seed: int) -> np.ndarray:
    """Return how many of so many games end in each class."""
    chances = np.where(tree.terminal, tree.probabilities(profile.plans), 0.0)
    return np.random.default_rng(seed).multinomial(games, chances / chances.sum())
