"""What every test runs under."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Helpers are imported by name (from random_trees import …): the import mode "importlib" puts no folder on the path.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))

# The same examples in every run; "explore" looks for new ones: pytest --hypothesis-profile=explore.
# No deadline: the first call of a compiled function takes seconds.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
