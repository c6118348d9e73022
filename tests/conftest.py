"""What every test runs under."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Helpers are imported by name (from random_trees import …): the import mode "importlib" puts no folder on the path.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))

# The same examples in every run, few of them by default; "explore" looks for new ones: TREEPLEX_TESTS=explore.
# No deadline: the first call of a compiled function takes seconds.
base = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", base, max_examples=10)
settings.register_profile("thorough", base, max_examples=50)
settings.register_profile("explore", base, max_examples=1000, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("TREEPLEX_TESTS", "quick"))
