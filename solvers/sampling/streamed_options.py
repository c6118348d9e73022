"""What a streamed run is given: rules, a method that samples, and limits; checked."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from ...seqform.errors import InvalidGameError, UnknownMethodError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.rules import Rules
from ..methods import MCCFR, ESPrefCFR, ExternalSamplingMCCFR, OutcomeSamplingMCCFR, find_method
from .walks import Settings


def settings_of(method: MCCFR, num_players: int) -> Settings:
    """Return what a method samples as walks take it."""
    averaging = method.averaging or ("simple" if num_players <= 2 else "sampled")
    floor = 0.0 if method.local_rule == "regret-matching+" else float("-inf")
    if isinstance(method, OutcomeSamplingMCCFR):
        rate = None if method.baselines == "none" else float(method.baseline_rate)
        return Settings(True, averaging == "simple", floor, float(method.exploration), rate)
    greedy, conditional = False, False
    if isinstance(method, ESPrefCFR):
        greedy, conditional = method.rule == "br", method.units == "conditional"
    return Settings(False, averaging == "simple", floor, 0.0, None, greedy, conditional)


def rules_of(game: Any) -> tuple[Rules, str, Mapping[str, Hashable]]:
    """Return rules, the name and the longer words for actions of a game.

    Raises
    ------
    InvalidGameError
        If it is no game.
    UnsupportedProblemError
        If it has no rules.
    """
    known = game if isinstance(game, Game) else Game("", rules=game)
    rules = known.rules
    if rules is None:
        raise UnsupportedProblemError(
            f"{known.spec} has no histories, expected rules or a tree: what samples histories needs them"
        )
    count = rules.num_players
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise InvalidGameError(f"the rules are for {shown(count)} players, expected at least 1")
    return rules, known.spec, known.action_words


def method_of(method: Any) -> MCCFR:
    """Return a method that samples and does not need the whole game.

    Raises
    ------
    UnknownMethodError
        If it is none.
    """
    chosen = method
    if isinstance(method, str):
        found = find_method(method)
        # By name, what needs the whole game is left out.
        chosen = replace(found, baselines="infoset") if isinstance(found, OutcomeSamplingMCCFR) else found
    if not isinstance(chosen, ExternalSamplingMCCFR | OutcomeSamplingMCCFR):
        raise UnknownMethodError(
            f"the method is {shown(method)}, expected one that samples: es-mccfr, os-mccfr or es-pref-cfr"
        )
    if chosen.averaging == "full":
        raise UnknownMethodError(
            f"{chosen.name} got averaging='full', expected simple or sampled: full averages take the whole game"
        )
    if isinstance(chosen, OutcomeSamplingMCCFR) and chosen.baselines == "history":
        raise UnknownMethodError(
            f"{chosen.name} got baselines='history', expected infoset or none: by history they take the whole game"
        )
    return chosen


def checked_whole(value: Any, name: str) -> int:
    """Return a whole number of at least 0, or refuse what is none.

    Raises
    ------
    UnknownMethodError
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise UnknownMethodError(f"{name} is {shown(value)}, expected a whole number of at least 0")
    return int(value)


def checked_seconds(value: Any) -> float:
    """Return a number of seconds, or refuse what is none.

    Raises
    ------
    UnknownMethodError
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0.0:
        raise UnknownMethodError(f"seconds are {shown(value)}, expected a number of at least 0")
    return float(value)
