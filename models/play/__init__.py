"""Games that are played: simulated from strategies, and logs of them, written and read."""

from .lines import LogLines
from .log import BadLines, PlayLog
from .reader import read_play_log
from .results import MeanResult, Results
from .simulation import leaf_probabilities, simulate
from .writer import PlayLogWriter, write_play_log

__all__ = [
    "BadLines",
    "LogLines",
    "MeanResult",
    "PlayLog",
    "PlayLogWriter",
    "Results",
    "leaf_probabilities",
    "read_play_log",
    "simulate",
    "write_play_log",
]
