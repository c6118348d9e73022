"""Games that are played: simulated from strategies, and logs of them, written and read."""

from .batches import BadLines
from .duplicate import DuplicateDeals
from .lines import LogLines
from .log import PlayLog, PlayLogWriter, read_play_log, write_play_log
from .simulation import MeanResult, Results, leaf_probabilities, simulate

__all__ = [
    "BadLines",
    "DuplicateDeals",
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
