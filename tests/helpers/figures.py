"""Figures of papers at sizes for tests, each computed once for all tests that look at it."""

from functools import cache

from treeplex.validation.papers import (
    CCFRFigure2a,
    CCFRFigure2b,
    CCFRFigure2c,
    CCFRFigure3,
    CDRNRFigure4,
    CDRNRFigure5,
    CDRNRFigure6,
    CDRNRFigure9,
    CDRNRFigure15,
    CDRNRSafety,
    CDRNRTable1,
    CDRNRTable2,
    NLHEBotExploited,
    NLHEBotSamples,
    NLHEBotTuning,
    PrefCFREfficiency,
    PrefCFRFigure1,
    PrefCFRFigure2,
    PrefCFRFigure3,
    PrefCFRFigure4,
    PrefCFRFigure5,
    PrefCFRTable2,
    PrefCFRTable3,
    Reproduction,
    reproduce,
)

TINY = {
    "ccfr-figure-2a": CCFRFigure2a(2, (0.05, 0.1, 0.5), 3_000),
    "ccfr-figure-2b": CCFRFigure2b(2, 2_000),
    "ccfr-figure-2c": CCFRFigure2c((2,), (3,), (1e-2, 1e-3)),
    "ccfr-figure-3": CCFRFigure3((20, 1_000), (0.5, 0.99), 2, 1, iterations=20_000),
    "cdrnr-table-1": CDRNRTable1(("IIGS4",), 500, 20_000),
    "cdrnr-table-2": CDRNRTable2(("river",), ("blueprint",), learnt_games=(50,), fresh_games=20_000),
    "cdrnr-figure-4": CDRNRFigure4(points=24, halvings=5),
    "cdrnr-figure-5": CDRNRFigure5(("Leduc",), ("random:seed=1",), (0.3, 1.0), (1, 3), (5, 5)),
    "cdrnr-figure-6": CDRNRFigure6((3,), (1,), ("Leduc",)),
    "cdrnr-figure-9": CDRNRFigure9(points=2),
    "cdrnr-figure-15": CDRNRFigure15(points=9),
    "cdrnr-safety": CDRNRSafety(("Leduc",), seats=(0,), ps=(0.1,)),
    "nlhe-bot-tuning": NLHEBotTuning(("cautious",), ("uniform",), rounds=1, steps=3, deals=100),
    "nlhe-bot-samples": NLHEBotSamples(samples=(100, 2_000, 10_000), boards=2, hands=60),
    "nlhe-bot-exploited": NLHEBotExploited((0,), repetitions=1, ps=(0.8, 0.9)),
    "pref-cfr-figure-1": PrefCFRFigure1(runs=5),
    "pref-cfr-figure-2": PrefCFRFigure2(runs=3),
    "pref-cfr-figure-3": PrefCFRFigure3((6,), ("rm",), runs=1, histories=2_000_000),
    "pref-cfr-figure-4": PrefCFRFigure4((6,), ("rm",), runs=1, histories=2_000_000),
    "pref-cfr-figure-5": PrefCFRFigure5(stack=6, streets=1, continuations=1, iterations=300),
    "pref-cfr-table-2": PrefCFRTable2(stack=6, streets=1, continuations=1, iterations=300),
    "pref-cfr-table-3": PrefCFRTable3(stack=4, iterations=4, every=2, slack=2000.0),
    "pref-cfr-efficiency": PrefCFREfficiency((5.0,), (0.0, 0.1), ("offensive",), ("rm", "br"), iterations=3_000),
}


@cache
def reproduced(name: str) -> Reproduction:
    """Compute the tiny version of a figure."""
    return reproduce(TINY[name])
