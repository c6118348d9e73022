"""The comparisons for ``treeplex validate --suite extension``."""

from treeplex.validation import Case, Suite

REWARD = {"reward": "0/K_:b", "bonus": "1/10"}

SUITE = Suite(
    "extension",
    "the game, the problem and the method of this package",
    (
        Case("blotto:soldiers=3", "highs", 1e-9, "exact", reference=0.0),
        Case("blotto:soldiers=3", "fictitious-play", 1e-2),
        Case("kuhn", "highs", 1e-9, "exact", problem="bonus", question=REWARD),
        Case("kuhn", "rational", 1e-12, problem="bonus", question=REWARD),
        Case("kuhn", "pcfr+", 1e-4, problem="bonus", question=REWARD),
    ),
)
