"""What every test runs under."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Plain modules beside the tests (random_trees) are imported by name: the import mode "importlib" leaves them out.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; "explore" looks for new ones: pytest --hypothesis-profile=explore.
# No deadline: the first call of a compiled function takes seconds.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
