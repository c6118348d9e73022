"""The game of two players that is solved for one of one player, or whose payoffs sum to a constant."""

import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .rationals import intended_fraction
from .rules import Rules
from .sequence_form import SequenceForm

if TYPE_CHECKING:
    from .game import Game


def with_second_player(game: "Game", rules: Rules) -> "Game":
    """Return a game of one player with a second one, who never decides anything, and with the same fingerprint."""
    both = _Accompanied(rules)
    form = SequenceForm.from_rules(both)
    made = _changed(game, "tree", "public_tree", "exact_sequence_form", "functionals")
    made.rules, made.is_of_one = both, True
    made.sequence_form = SequenceForm(form.treeplexes, form.leaves, num_nodes=form.num_nodes, known_as=game.fingerprint)
    return made


def without_constant(game: "Game") -> "Game":
    """Return a game of two players with the constant that its payoffs sum to taken off player 1's."""
    form = game.sequence_form
    made = _changed(game)
    made.sequence_form = form.zero_sum
    made.constant = float(form.constant_sum or 0.0)
    for treeplex in made.sequence_form.treeplexes:
        treeplex.action_words = game.action_words
    return made


def _changed(game: "Game", *changes: str) -> "Game":
    """Return a copy whose form is still to be put in; the variables that stand for plans are the same."""
    made = copy.copy(game)
    for name in ("public_form", "zero_sum", "fingerprint", "exact_constant", *changes):
        made.__dict__.pop(name, None)
    made._make_public_form, made._make_form, made._plans = None, None, game._plans
    return made


def exact_constant_of(game: "Game") -> Fraction:
    """Return the constant of a game as a fraction: that of the payoffs in fractions, where the game has rules."""
    if game.constant and game.rules is not None:
        leaves = game.exact_sequence_form.leaves
        if leaves is not None and leaves.exact_payoffs is not None:
            paid = zip(leaves.exact_payoffs, leaves.chance.tolist(), strict=True)
            sums = {sum(payoffs) for payoffs, chance in paid if chance > 0.0}
            if len(sums) == 1:
                return Fraction(sums.pop())
    return intended_fraction(game.constant)


class _Accompanied:
    """The rules of a game of one player, with a player 1 who never decides anything and is paid the opposite."""

    num_players = 2

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_rules", "size"):
            raise AttributeError(name)
        return getattr(self._rules, name)

    def payoffs(self, state: Any) -> tuple[Any, Any]:
        """Return what the player is paid, and the opposite."""
        (paid,) = self._rules.payoffs(state)
        return paid, -paid
