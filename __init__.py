"""Optimisation modelling for extensive-form games.

State a problem, solve it exactly or iteratively, and get a certificate of the solution's quality. The names below are
what most users need. Each is imported on first use, so ``import treeplex`` itself is fast.
"""

import lazy_loader

# Use the full name: pytest imports this file on its own if the checkout's folder name is not a valid package name.
from treeplex.seqform.deprecation import deprecated_names

__version__ = "0.2.0"

# The public names are listed in __init__.pyi, which type checkers read too.
_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__getattr__ = deprecated_names(
    __name__,
    {
        "CFRValue": "treeplex.solvers.CFRValue",
        "CFVFP": "treeplex.solvers.CFVFP",
        "DepthLimitedCFR": "treeplex.solvers.DepthLimitedCFR",
        "DepthLimitedLP": "treeplex.solvers.DepthLimitedLP",
        "ESPrefCFR": "treeplex.solvers.ESPrefCFR",
        "EmpiricalPlay": "treeplex.seqform.EmpiricalPlay",
        "EmpiricalRun": "treeplex.solvers.EmpiricalRun",
        "ExternalSamplingMCCFR": "treeplex.solvers.ExternalSamplingMCCFR",
        "GameSize": "treeplex.seqform.GameSize",
        "KLDistance": "treeplex.models.distances.KLDistance",
        "LBR": "treeplex.models.problems.LBR",
        "L1Distance": "treeplex.models.distances.L1Distance",
        "L2Distance": "treeplex.models.distances.L2Distance",
        "LinearValue": "treeplex.solvers.LinearValue",
        "NetworkValue": "treeplex.solvers.NetworkValue",
        "ObserverTree": "treeplex.seqform.ObserverTree",
        "OutcomeSamplingMCCFR": "treeplex.solvers.OutcomeSamplingMCCFR",
        "PlayLog": "treeplex.models.play.PlayLog",
        "PreferStrategy": "treeplex.models.preferences.PreferStrategy",
        "StyledNash": "treeplex.models.problems.EpsilonSafeStyle",
        "StreamedProfile": "treeplex.solvers.StreamedProfile",
        "StreamedStrategy": "treeplex.solvers.StreamedStrategy",
        "best_response_values": "treeplex.seqform.best_response_values",
        "calibrate_style": "treeplex.solvers.calibrate_style",
        "cce_gap": "treeplex.seqform.cce_gap",
        "counter_profile": "treeplex.solvers.counter_profile",
        "encounter": "treeplex.solvers.encounter",
        "frequency_model": "treeplex.models.observations.frequency_model",
        "streamed_gain": "treeplex.solvers.streamed_gain",
        "streamed_payoffs": "treeplex.solvers.streamed_payoffs",
        "style_efficiency": "treeplex.solvers.style_efficiency",
        "value_function": "treeplex.solvers.parametric_value",
    },
    _find,
)
