"""Optimisation modelling for extensive-form games.

State what to solve, solve it exactly or iteratively, and get a certificate of how good the answer is. The names below
are what most users type; each is imported when it is first used, so that ``import treeplex`` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models.distances import KLDistance, L1Distance, L2Distance
    from .models.games import families, load_game
    from .models.observations import Observations, OpponentModel, frequency_model
    from .models.play import PlayLog, read_play_log, simulate, write_play_log
    from .models.preferences import Prefer, PreferStrategy
    from .models.problems import (
        CDBR,
        CDBRNE,
        CDRNR,
        LBR,
        SES,
        BestNash,
        BestResponse,
        ConstrainedNash,
        DataBiasedResponse,
        EpsilonSafeResponse,
        Nash,
        RestrictedNash,
        StyledNash,
    )
    from .seqform.errors import (
        GameFileError,
        GameTooLargeError,
        ImperfectRecallError,
        InvalidConstraintError,
        InvalidGameError,
        InvalidMemoryError,
        InvalidPreferenceError,
        InvalidStrategyError,
        MissingExtraError,
        PlayLogError,
        SolverError,
        TreeplexError,
        UnknownGameError,
        UnknownMethodError,
        UnsupportedProblemError,
    )
    from .seqform.evaluate import (
        EmpiricalPlay,
        best_response,
        best_response_values,
        cce_gap,
        expected_payoffs,
        exploitability,
        gain,
        nash_conv,
        worst_case,
    )
    from .seqform.functional import Functional, frequency
    from .seqform.game import Game
    from .seqform.game_tree import GameTree
    from .seqform.observer import ObserverTree, observer_tree
    from .seqform.polytope import Treeplex
    from .seqform.rules import CHANCE, TERMINAL, GameSize, Rules
    from .seqform.sequence_form import SequenceForm
    from .seqform.strategy import Profile, Strategy
    from .solvers import (
        CCFR,
        CFR,
        CFVFP,
        CVXPY,
        DCFR,
        CFRPlus,
        DepthLimitedCFR,
        DepthLimitedLP,
        ESPrefCFR,
        ExternalSamplingMCCFR,
        HiGHS,
        OutcomeSamplingMCCFR,
        PCFRPlus,
        PrefCFR,
        Rational,
        Solution,
        Status,
    )
    from .solvers.calibration import calibrate_style
    from .solvers.counter_strategies import counter_profile, counter_strategy
    from .solvers.depth_limited.agent import Agent
    from .solvers.depth_limited.cfr_value import CFRValue
    from .solvers.depth_limited.encounter import encounter
    from .solvers.depth_limited.learned_values import LinearValue, NetworkValue
    from .solvers.empirical_run import EmpiricalRun
    from .solvers.frontier import restricted_nash_frontier
    from .solvers.sampling.streamed import StreamedMCCFR
    from .solvers.sampling.streamed_play import streamed_gain, streamed_payoffs
    from .solvers.sampling.streamed_strategy import StreamedProfile, StreamedStrategy
    from .solvers.sensitivity import value_function
    from .solvers.solve import solve
    from .solvers.style_efficiency import style_efficiency
    from .solvers.styles import style_range
    from .solvers.targets import reach_style
    from .solvers.trade_off import trade_off

__version__ = "0.1.0"

__all__ = [
    "CCFR",
    "CDBR",
    "CDBRNE",
    "CDRNR",
    "CFR",
    "CFVFP",
    "CHANCE",
    "CVXPY",
    "DCFR",
    "LBR",
    "SES",
    "TERMINAL",
    "Agent",
    "BestNash",
    "BestResponse",
    "CFRPlus",
    "CFRValue",
    "ConstrainedNash",
    "DataBiasedResponse",
    "DepthLimitedCFR",
    "DepthLimitedLP",
    "ESPrefCFR",
    "EmpiricalPlay",
    "EmpiricalRun",
    "EpsilonSafeResponse",
    "ExternalSamplingMCCFR",
    "Functional",
    "Game",
    "GameFileError",
    "GameSize",
    "GameTooLargeError",
    "GameTree",
    "HiGHS",
    "ImperfectRecallError",
    "InvalidConstraintError",
    "InvalidGameError",
    "InvalidMemoryError",
    "InvalidPreferenceError",
    "InvalidStrategyError",
    "KLDistance",
    "L1Distance",
    "L2Distance",
    "LinearValue",
    "MissingExtraError",
    "Nash",
    "NetworkValue",
    "Observations",
    "ObserverTree",
    "OpponentModel",
    "OutcomeSamplingMCCFR",
    "PCFRPlus",
    "PlayLog",
    "PlayLogError",
    "PrefCFR",
    "Prefer",
    "PreferStrategy",
    "Profile",
    "Rational",
    "RestrictedNash",
    "Rules",
    "SequenceForm",
    "Solution",
    "SolverError",
    "Status",
    "Strategy",
    "StreamedMCCFR",
    "StreamedProfile",
    "StreamedStrategy",
    "StyledNash",
    "Treeplex",
    "TreeplexError",
    "UnknownGameError",
    "UnknownMethodError",
    "UnsupportedProblemError",
    "__version__",
    "best_response",
    "best_response_values",
    "calibrate_style",
    "cce_gap",
    "counter_profile",
    "counter_strategy",
    "encounter",
    "expected_payoffs",
    "exploitability",
    "families",
    "frequency",
    "frequency_model",
    "gain",
    "load_game",
    "nash_conv",
    "observer_tree",
    "reach_style",
    "read_play_log",
    "restricted_nash_frontier",
    "simulate",
    "solve",
    "streamed_gain",
    "streamed_payoffs",
    "style_efficiency",
    "style_range",
    "trade_off",
    "value_function",
    "worst_case",
    "write_play_log",
]

# Where each name of the facade lives. The imports above, which only type checkers read, say the same.
_EXPORTS = {
    "Agent": ".solvers.depth_limited.agent",
    "encounter": ".solvers.depth_limited.encounter",
    "CCFR": ".solvers",
    "CFR": ".solvers",
    "CFRPlus": ".solvers",
    "CFVFP": ".solvers",
    "CFRValue": ".solvers.depth_limited.cfr_value",
    "LinearValue": ".solvers.depth_limited.learned_values",
    "NetworkValue": ".solvers.depth_limited.learned_values",
    "DepthLimitedCFR": ".solvers",
    "DepthLimitedLP": ".solvers",
    "CDBR": ".models.problems",
    "CDBRNE": ".models.problems",
    "CDRNR": ".models.problems",
    "LBR": ".models.problems",
    "SES": ".models.problems",
    "CHANCE": ".seqform.rules",
    "CVXPY": ".solvers",
    "DCFR": ".solvers",
    "ESPrefCFR": ".solvers",
    "EmpiricalPlay": ".seqform.evaluate",
    "EmpiricalRun": ".solvers.empirical_run",
    "ExternalSamplingMCCFR": ".solvers",
    "Functional": ".seqform.functional",
    "Game": ".seqform.game",
    "GameFileError": ".seqform.errors",
    "GameSize": ".seqform.rules",
    "GameTooLargeError": ".seqform.errors",
    "GameTree": ".seqform.game_tree",
    "HiGHS": ".solvers",
    "ImperfectRecallError": ".seqform.errors",
    "InvalidConstraintError": ".seqform.errors",
    "InvalidGameError": ".seqform.errors",
    "InvalidMemoryError": ".seqform.errors",
    "InvalidPreferenceError": ".seqform.errors",
    "InvalidStrategyError": ".seqform.errors",
    "MissingExtraError": ".seqform.errors",
    "BestNash": ".models.problems",
    "BestResponse": ".models.problems",
    "ConstrainedNash": ".models.problems",
    "DataBiasedResponse": ".models.problems",
    "EpsilonSafeResponse": ".models.problems",
    "Nash": ".models.problems",
    "RestrictedNash": ".models.problems",
    "StyledNash": ".models.problems",
    "KLDistance": ".models.distances",
    "L1Distance": ".models.distances",
    "L2Distance": ".models.distances",
    "Observations": ".models.observations",
    "ObserverTree": ".seqform.observer",
    "OpponentModel": ".models.observations",
    "OutcomeSamplingMCCFR": ".solvers",
    "PCFRPlus": ".solvers",
    "PlayLog": ".models.play",
    "PlayLogError": ".seqform.errors",
    "PrefCFR": ".solvers",
    "Prefer": ".models.preferences",
    "PreferStrategy": ".models.preferences",
    "Profile": ".seqform.strategy",
    "Rational": ".solvers",
    "Rules": ".seqform.rules",
    "SequenceForm": ".seqform.sequence_form",
    "Solution": ".solvers",
    "SolverError": ".seqform.errors",
    "Status": ".solvers",
    "Strategy": ".seqform.strategy",
    "StreamedMCCFR": ".solvers.sampling.streamed",
    "StreamedProfile": ".solvers.sampling.streamed_strategy",
    "StreamedStrategy": ".solvers.sampling.streamed_strategy",
    "TERMINAL": ".seqform.rules",
    "Treeplex": ".seqform.polytope",
    "TreeplexError": ".seqform.errors",
    "UnknownGameError": ".seqform.errors",
    "UnknownMethodError": ".seqform.errors",
    "UnsupportedProblemError": ".seqform.errors",
    "best_response": ".seqform.evaluate",
    "best_response_values": ".seqform.evaluate",
    "cce_gap": ".seqform.evaluate",
    "calibrate_style": ".solvers.calibration",
    "counter_profile": ".solvers.counter_strategies",
    "counter_strategy": ".solvers.counter_strategies",
    "expected_payoffs": ".seqform.evaluate",
    "exploitability": ".seqform.evaluate",
    "families": ".models.games",
    "frequency": ".seqform.functional",
    "frequency_model": ".models.observations",
    "gain": ".seqform.evaluate",
    "load_game": ".models.games",
    "nash_conv": ".seqform.evaluate",
    "observer_tree": ".seqform.observer",
    "read_play_log": ".models.play",
    "reach_style": ".solvers.targets",
    "restricted_nash_frontier": ".solvers.frontier",
    "simulate": ".models.play",
    "solve": ".solvers.solve",
    "streamed_gain": ".solvers.sampling.streamed_play",
    "streamed_payoffs": ".solvers.sampling.streamed_play",
    "style_efficiency": ".solvers.style_efficiency",
    "style_range": ".solvers.styles",
    "trade_off": ".solvers.trade_off",
    "value_function": ".solvers.sensitivity",
    "worst_case": ".seqform.evaluate",
    "write_play_log": ".models.play",
}


def __getattr__(name: str) -> object:
    """Import a name of the facade when it is first asked for."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the facade with the names that are not imported yet."""
    return sorted({*globals(), *_EXPORTS})
