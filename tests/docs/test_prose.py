"""The prose linter finds what it is for, in pages and in modules, and passes plain English."""

import importlib.util
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def loaded():
    """Import the linter, which is a script beside the benchmarks."""
    spec = importlib.util.spec_from_file_location("prose", REPOSITORY / "benchmarks" / "prose.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


PROSE = loaded()

#: Sentences of this project that read as translations.
TRANSLATED = """\
A Python library that solves extensive-form games, exactly by linear and conic programming or iteratively by
counterfactual regret minimisation, and certifies its solutions: how good they are is computed from the strategies
themselves.

The proven bounds are what each strategy earns when the opponent best-responds to it. They are computed from the
strategies alone, so they hold whatever the solver did, up to round-off of the sums, and the exact value lies between
them.

… `restarted-cfr` for nine digits, `smooth-cfr+` whose last plans converge, `mirror-prox` whose error is proven to
fall, `cfvfp` and, leaning towards a preferred style, `pref-cfr` in one compiled loop; alternating or simultaneous
updates, any polynomial averaging, average or last iterate, warm starts, double or single precision, 16 bits for
hold'em

"raise at least 60% to begin with, and lose at most 0.05 to anyone": the strategy, or the proof that there is none and
the nearest; the loss for every frequency, with all breakpoints

… mBB a hand with an interval, all-in equity and duplicate deals, what each saved, and hand histories in PHH

a memory budget: games that would not fit are refused before they are built

How does one exploit an opponent whose games one has seen, and what does that risk?

Every answer comes with a certificate: how good it is at least, computed from the strategies themselves.

Leduc poker costs the player who begins 0.086 chips a game; best responses would gain at most 0.001 on average over
these strategies.

Then write down a game of your own, and look words up in the glossary.

What few people need is installed on request. Without it, the library says in one line what to install.

numba compiles the loop: some five seconds of processor time, and some twenty for spots of hold'em, once after each
installation

nothing: the bar says so meanwhile, processes that start together wait for the one that compiles, and later runs take
the loop from a cache, whose folder `treeplex doctor` shows; or `treeplex warmup`, which compiles everything ahead

Nothing is downloaded at run time: no games, no models, no statistics are sent.

The exact versions with which the tests pass at both ends, lowest and newest, are tried by the workflow in
`.github/workflows`.

the only methods that had 1e-9 in all ten games of the tables below, each within a second or so

**`exact`** begins with regrets and solves for what is missing to the optimum

A tolerance below 1e-6 is out of reach of `cfr` and `hs-dcfr`, slow with `cfr+` and `dcfr`, and for `restarted-cfr`
and `pdcfr+` else.

`dcfr` and `sapcfr+` are never far behind but in repeated stone-paper-scissors, where `dcfr` is.

**`hs-pcfr+`** averages late plans alone: that is good where these converge, and the slowest of the family to three
digits in Leduc and in goofspiel with 5 cards.

An unknown name is answered with those that there are:

Small regrets make the *joint* play of the iterations a coarse correlated equilibrium (Moulin and Vial's notion,
1978); the product of the players' average strategies, which is what you get, may not be an equilibrium at all.

Degrees alone only select among equilibria, which here changes little except for player 1. A vulnerability changes
much, and the player who has it pays for it, to the others.

`child` must return a new state and leave the old one unchanged; every play must end, or the walk does not.

By default this is derived from the infosets; rules with one more method, `public_state(state)`, save that work, and
need not be timeable.

The environment variable `TREEPLEX_MEMORY` sets another budget, and the argument `memory` one for a single game

On the command line a budget of at least 256 MiB that is set, by the variable or by `--memory`, holds for all that the
command does, solving included: one that takes more ends with exit status 2.

In the last row the estimate lies below NashConv: it does not see the noise of averages that are sampled.

A strategy that some other solver wrote, as JSON, as a table, as OpenSpiel's or as Gambit's, is judged by best
responses:

One player's strategy alone is compared with the value of the game, which is then solved for.

**Why it can be believed**: what is proven, from what, and what it would take to be wrong.

Actions can be counted by name too, at the player's first decisions, anywhere or at an infoset

With `resume=True` a file that is not there yet is a new run, so one call both begins and goes on. Without it, a file
that is there is refused, so that no run is lost by mistake.

What has nothing to certify, such as a game that is not built, ends with one line, exit status 1 and the status
`time_limit` in the JSON.

It is looked at every 4 ms, and a command is asked to end when a tenth of it is left, so that only a single large
allocation, or a small budget beside what modules take, exceeds it.

What the games found is mended, and kept as tests

Each number that is printed or written as a bound is derived in these pages, and attacked by a test with random games,
strategies, multipliers and limits

An entry point that cannot be loaded is left out with one line that names the package, and no command breaks

Every public object has a page with an account of its arguments.

Names that are guessed raise Python's own exceptions, with what is meant

One percentage point more of risk is thus worth 0.0043. … Prices hold for small changes. For large ones, and for
streets and units, ask what would be if:

Whoever drives the same route every day is soon watched, and robbers come when it is elsewhere. So the answer is a
rule for drawing lots

that no other commitment pays more is HiGHS's word, quoted in the message, and `solution.lower` and `upper` are
`None`.

optimal: an exact method finished; that nothing is better is its word, and not proven by the strategies; by HiGHS's
branch and bound no commitment pays more than 2

converged: the strategies prove the tolerance that was asked for

`exact` lets all that surely plays move freely, which it tells by what is still in doubt and no longer by a fixed
probability

It lives on the floor of what it needs.

What breaks no promise (a file that is refused though it is sound, a message that is hard to understand) is an
ordinary issue.

The line of an ε-safe response has the slope κ (below), that of a best response is level.

Of one player's strategy alone, in a two-player zero-sum game, it is said what the strategy guarantees, and the
exploitability is against the value of the game, which is solved for.
"""

#: The same facts in plain English.
PLAIN = """\
treeplex solves extensive-form games in Python: exactly, by linear or conic programming, or iteratively, by
counterfactual regret minimisation. Every solution comes with a certificate, a bound on its error that is recomputed
from the strategies and does not trust the solver.

The proven bounds are what each strategy earns against a best-responding opponent. They depend only on the strategies,
so they hold (up to floating-point round-off) even if the solver is wrong. The exact value lies between them.

Find a strategy that raises at least 60 % of the time and loses at most 0.05 to any opponent, or a proof that none
exists, together with the closest one. Trade-off curves show the cost of every frequency.

Results are reported in mBB/hand with confidence intervals. All-in equity and duplicate deals reduce the variance, and
the report shows by how much. Hand histories are written in PHH.

A memory budget rejects games that will not fit before building them.

How can you exploit an opponent whose play you have observed, and what do you risk by doing so?

Every answer comes with a certificate: a guaranteed bound on its quality, computed from the strategies themselves.

The first player loses 0.086 chips per game on average. The best responses to these strategies gain at most 0.001 on
average.

Then define a game of your own. The glossary explains the terms.

Optional features need extra packages. If one is missing, the error message tells you what to install.

numba compiles the solver loop the first time it runs: about 5 seconds of CPU time (about 20 for hold'em spots), once
per installation.

Nothing. The progress bar says "compiling", and the result is cached (`treeplex doctor` shows where). To compile
everything in advance, run `treeplex warmup`.

treeplex downloads nothing and sends nothing at run time.

CI runs the tests against both the oldest supported and the newest versions of every dependency.

the only methods that reached 1e-9 in all ten benchmark games below, each within about a second

**`exact`** first runs a regret minimiser to find which actions matter, then solves a linear program restricted to
them.

`cfr` and `hs-dcfr` cannot reach tolerances below 1e-6; `cfr+` and `dcfr` reach them slowly. Use `restarted-cfr` or
`pdcfr+` instead.

`dcfr` and `sapcfr+` are always close to the best, except that `dcfr` is slow on repeated rock-paper-scissors.

**`hs-pcfr+`** weights only late iterates. That helps when the iterates converge, but makes it the slowest of the
family to 1e-3 on Leduc and five-card goofspiel.

An unknown name raises an error that lists the available methods:

If every regret is small, the joint play across iterations is close to a coarse correlated equilibrium (Moulin and
Vial, 1978). What treeplex returns is the product of the average strategies, and that need not be an equilibrium.

Degrees only select among equilibria, and here that matters only for player 1. A vulnerability has a much larger
effect: the player who has it loses, and the others gain.

`child` must return a new state and must not modify the old one. Every play must end; otherwise the enumeration never
terminates.

By default, treeplex derives the public states from the information sets. Define `public_state(state)` to skip that
step; then the game does not need to be timeable.

Set `TREEPLEX_MEMORY` to change the budget, or pass `memory=` to change it for one game.

On the command line, an explicit budget of 256 MiB or more also covers solving. A command that exceeds it exits with
status 2.

In the last row the estimate is below the true NashConv, because it ignores the sampling noise in the averages.

treeplex evaluates strategies from other solvers (JSON, CSV, OpenSpiel, Gambit) by computing best responses:

If you give only one player's strategy, treeplex first solves the game for its value and compares the strategy with
it.

**Why you can trust it**: what is proven, what the proof rests on, and what would have to be wrong for it to fail.

You can also constrain how often a named action is taken: at first decisions (`@first`), everywhere (`@all`), or at
one information set (`@K_`).

With `resume=True`, the run starts fresh if the file does not exist and continues if it does. Without it, an existing
file raises an error, so you cannot overwrite a run by accident.

If there is nothing to certify yet (for example, the game is still being built), the command prints one line, exits
with status 1 and sets the JSON status to `time_limit`.

Memory use is checked every 4 ms, and the command is stopped when 10 % of the budget remains. Only one large
allocation, or a budget close to the size of the imported modules, can exceed it.

Every bug these games found has been fixed and has a regression test.

Every reported bound is derived in these pages and stress-tested on random games, strategies, multipliers and limits

If an entry point fails to load, treeplex skips it and prints one line naming the package; the command continues.

Every public object has a page that documents its arguments.

Wrong attribute or argument names raise Python's usual exceptions with a suggestion.

A percentage point of extra risk is therefore worth 0.0043. Prices apply only to small changes. For large changes, or
to add units or close streets, use `what_if`:

If a unit drives the same route every day, robbers learn it and strike elsewhere. The answer is therefore a random
plan

HiGHS claims that no other commitment pays more; the message quotes this claim. It is not certified, so
`solution.lower` and `solution.upper` are `None`.

optimal according to HiGHS (not certified): branch and bound found no commitment that pays more than 2

converged: the certificate meets the requested tolerance

`exact` now decides which actions are free by their remaining uncertainty instead of a fixed probability threshold.

Put it in the lowest package that provides what it needs.

Report everything else (a valid file that is rejected, an unclear message) as an ordinary issue.

For an ε-safe response the line has slope κ (see below); for a best response it is horizontal.

For a single strategy in a two-player zero-sum game, reports the guaranteed payoff and the exploitability relative to
the game value, which is computed first.
"""


def found(text):
    return [advice for paragraph in PROSE.paragraphs(text) for _, advice in PROSE.findings(paragraph)]


def test_every_translated_sentence_is_found():
    sentences = TRANSLATED.split("\n\n")
    assert len(sentences) == 50
    assert [sentence for sentence in sentences if not found(sentence)] == []


def test_plain_english_passes():
    assert {sentence: found(sentence) for sentence in PLAIN.split("\n\n") if found(sentence)} == {}


@pytest.mark.parametrize(
    "text",
    [
        "```text\nIt is said.\n```",
        "`it is said`",
        "Is it? What is it?",
        "There is no certificate.",
        "$x$ is the price.",
    ],
)
def test_code_questions_and_facts_pass(text):
    assert found(text) == []


def test_findings_have_the_line_of_their_words():
    text = "# A page\n\nThe first line is plain,\nand here it is said.\n\n| a | the price is said |\n"
    lines = [line.split(":")[1] for part in PROSE.paragraphs(text) for line, _ in PROSE.findings(part, "page.md")]
    assert lines == ["4", "4", "6"]


def test_docstrings_and_messages_are_read_and_code_is_not():
    module = '''"""A module, of which it is said.

>>> it_is_said = "in an example it is said"
"""

def fail(name):
    # Comments are not read: it is said.
    raise ValueError(f"{name}: it is said")
'''
    lines = {line.split(":")[1] for part in PROSE.strings(module) for line, _ in PROSE.findings(part, "module.py")}
    assert lines == {"1", "8"}


def test_the_script_fails_on_a_finding(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("Unknown names are answered with one line.\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["prose.py", str(page)])
    assert PROSE.main() == 1
    assert "page.md:1: “are answered”" in capsys.readouterr().out
    page.write_text("Unknown names raise an error.\n", encoding="utf-8")
    assert PROSE.main() == 0
