"""Settings of the benchmarks, which run on one core and import each other's files from this folder."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
