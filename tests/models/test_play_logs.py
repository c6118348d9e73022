"""Play logs: games that are drawn, written and read again, and lines that are no game of the game's."""

import gzip
import io
import itertools
import json
import math
import re
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from effort import few, soaked, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_profiles import random_profile
from scipy.stats import binom, chi2

from treeplex import (
    InvalidGameError,
    InvalidStrategyError,
    PlayLogError,
    Profile,
    Strategy,
    UnsupportedProblemError,
    load_game,
    observer_tree,
    read_play_log,
    simulate,
    write_play_log,
)
from treeplex.models.play import LogLines, PlayLogWriter, Results, leaf_probabilities
from treeplex.models.play.lines import KINDS, LONGEST, BadLineError
from treeplex.models.play.simulation import mean_interval
from treeplex.solvers.opponents.strategies import opponent_strategy

OBSERVED = [
    *("kuhn", "kuhn:players=3", "leduc", "leduc:merge_suits=true,bet1=1", "liars_dice:sides=3", "goofspiel:cards=3"),
    *("goofspiel:cards=3,order=random,payoff=win_loss", "rps:rock=1/3", "repeated_rps", "matching_pennies"),
    "leduc:players=3,ranks=4,suits=1,raises=1",
]

#: How often each test of a distribution would fail if the program were right and the seed were not fixed.
FALSE_ALARM = 1e-6


def drawn(profile, games, seed=0, **options):
    return np.concatenate([np.zeros(0, np.int32), *simulate(profile, games, seed, **options)])


def chance_of_a_worse_fit(counts, probabilities):
    """The p-value of Pearson's test; rare outcomes are put together, until five are expected of each."""
    expected = counts.sum() * probabilities
    order = np.argsort(-expected)
    counts, expected = counts[order], expected[order]
    kept = int((expected >= 5).sum())
    observed = [*counts[:kept], counts[kept:].sum()]
    wanted = [*expected[:kept], expected[kept:].sum()]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, wanted, strict=True) if e > 1e-9)
    return float(chi2.sf(statistic, kept))


KUHN = load_game("kuhn")
VIEW = observer_tree(KUHN, player=0)
LINES = LogLines(KUHN, VIEW)
GOOD = {"seat": 0, "private": "J", "public": ["p", "b", "b"], "shown": {"1": "K"}, "result": -2.0}


def text_of(**changes):
    record = GOOD | changes
    return json.dumps({key: value for key, value in record.items() if value is not ...})


def read(content, spec="kuhn", seat=0, **options):
    content = content.encode() if isinstance(content, str) else content
    return read_play_log(io.BytesIO(content), load_game(spec), seat, **options)


# Games that are drawn


@pytest.mark.parametrize("spec", ["kuhn", "leduc", "liars_dice:sides=3", "goofspiel:cards=3"])
def test_games_end_as_often_as_their_probabilities_say(spec):
    game = load_game(spec)
    profile = random_profile(game, seed=7)
    probabilities = leaf_probabilities(profile)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    counts = np.bincount(drawn(profile, 300_000, seed=11), minlength=len(probabilities))
    assert chance_of_a_worse_fit(counts, probabilities) > FALSE_ALARM
    other = leaf_probabilities(Profile.uniform(game))
    assert chance_of_a_worse_fit(counts, other) < FALSE_ALARM  # the test sees a wrong distribution


def test_classes_of_a_log_come_as_often_as_their_probabilities_say(tmp_path):
    game = load_game("leduc:merge_suits=true")
    profile = random_profile(game, seed=2)
    view = observer_tree(game, player=1)
    write_play_log(tmp_path / "log", game, view, simulate(profile, 200_000, seed=5))
    log = read_play_log(tmp_path / "log", game, seat=1, view=view)
    probabilities = view.probabilities(profile.plans)
    assert chance_of_a_worse_fit(log.ended[view.terminal], probabilities[view.terminal]) > FALSE_ALARM
    deviations = np.sqrt(200_000 * probabilities * (1.0 - probabilities).clip(0.0))
    assert (np.abs(log.passed - 200_000 * probabilities) <= 6.0 * deviations + 8.0).all()


def test_what_cannot_happen_is_never_drawn():
    profile = Profile([opponent_strategy("nash", KUHN, player) for player in (0, 1)])
    probabilities = leaf_probabilities(profile)
    assert (probabilities == 0.0).any()
    assert (probabilities[drawn(profile, 100_000)] > 0.0).all()
    always = [{label: {"p": 1.0} for label in treeplex.infoset_labels} for treeplex in KUHN.sequence_form.treeplexes]
    timid = Profile([Strategy.from_dict(KUHN, player, always[player]) for player in (0, 1)])
    assert set(KUHN.sequence_form.leaves.payoffs[drawn(timid, 1000), 0]) == {-1.0, 1.0}


def test_equal_seeds_give_equal_games_however_they_are_cut():
    profile = Profile.uniform(KUHN)
    games = drawn(profile, 1000, seed=3)
    assert drawn(profile, 1000, seed=3, chunk=7).tolist() == games.tolist()
    assert drawn(profile, 100, seed=3).tolist() == games[:100].tolist()
    assert drawn(profile, 1000, seed=4).tolist() != games.tolist()
    assert games.dtype == np.int32
    assert drawn(profile, 0).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"games": -1}, "games is -1, expected a whole number of at least 0"),
        ({"games": 1.5}, "games is 1.5, expected"),
        ({"games": 1, "seed": -1}, "seed is -1, expected"),
        ({"games": 1, "seed": True}, "seed is True, expected"),
        ({"games": 1, "chunk": 0}, "chunk is 0, expected a whole number of at least 1"),
    ],
)
def test_wrong_numbers_are_refused_at_once(arguments, message):
    with pytest.raises(InvalidStrategyError, match=re.escape(message)):
        simulate(Profile.uniform(KUHN), **arguments)


def test_what_cannot_be_played_is_refused():
    with pytest.raises(InvalidStrategyError, match="expected a Profile"):
        simulate("uniform", games=1)
    with pytest.raises(UnsupportedProblemError, match="without histories cannot be played"):
        simulate(Profile.uniform(load_game("transit:width=2")), games=1)


@pytest.mark.soak
@pytest.mark.parametrize("games", [1, 2, 3, 5, 10, 1000])
def test_mean_results_have_intervals_that_hold_what_is_expected(games):
    game = load_game("leduc:merge_suits=true")
    profile = random_profile(game, seed=7)
    leaves, count = game.sequence_form.leaves, soaked(20)
    chances, expected = leaf_probabilities(profile), game.sequence_form.expected_payoffs(profile.plans)
    held, rng = 0, np.random.default_rng(games)
    for _ in range(count):
        results = Results(leaves)
        results.ended[:] = rng.multinomial(games, chances / chances.sum())
        for player in range(2):
            found = results.of_player(player, confidence=0.9)
            held += found.lower <= expected[player] <= found.upper
            assert found.mean == pytest.approx(results.ended @ leaves.payoffs[:, player] / games)
            assert found.lower <= found.mean <= found.upper
    print(f"\nmeans of {games:,} games: {held:,} of {2 * count:,} intervals at 0.9 hold")
    assert held >= 0.9 * 2 * count


@pytest.mark.parametrize("games", [1, 2, 5, 20, 200])
def test_intervals_of_means_hold_every_chance_of_two_payoffs(games):
    wins = np.arange(games + 1)
    both = np.array([0.0, 1.0])
    found = [mean_interval(both, np.array([games - won, won]), 0.0, 1.0, 0.95) for won in wins]
    lower, upper = (np.array([getattr(one, end) for one in found]) for end in ("lower", "upper"))
    chances = np.concatenate([np.geomspace(1e-6, 0.5, 300), 1 - np.geomspace(1e-6, 0.5, 300), lower, upper])[:, None]
    held = ((lower <= chances) & (chances <= upper)) * binom.pmf(wins, games, chances)
    assert held.sum(axis=1).min() >= 0.95
    assert lower == pytest.approx(1 - upper[::-1])
    # More payoffs than are told apart are rounded to the safe side, by next to nothing.
    drawn = np.random.default_rng(games).random(20_000)
    fine, coarse = (mean_interval(each, np.ones(20_000, dtype=int), 0.0, 1.0, 0.95) for each in (drawn, drawn.round(3)))
    assert fine.mean == pytest.approx(coarse.mean, abs=1e-4)
    assert (fine.lower, fine.upper) == pytest.approx((coarse.lower, coarse.upper), abs=1e-3)
    # Many games are worth something: the interval is not twice as wide as that of the normal distribution.
    many = mean_interval(both, np.array([50_000, 50_000]), 0.0, 1.0, 0.95)
    assert many.upper - many.lower < 2 * 2 * 1.96 * 0.5 / math.sqrt(100_000)


def test_mean_results_of_few_games():
    results = Results(KUHN.sequence_form.leaves)
    assert results.of_player(0) is None
    results.add(np.array([0]))
    found = results.of_player(0)
    assert -2.0 <= found.lower < found.mean < found.upper <= 2.0
    assert found.upper - found.lower > 3.5
    for wrong in (0, 1.0, "0.9"):
        with pytest.raises(InvalidGameError, match=r"confidence is .*, expected a number in \(0, 1\)"):
            results.of_player(0, confidence=wrong)


# Written and read


@few
@pytest.mark.parametrize("spec", OBSERVED)
def test_what_was_written_is_read(spec, tmp_path):
    game = load_game(spec)
    games = drawn(random_profile(game, seed=7), 3000)
    for seat in range(game.num_players):
        view = observer_tree(game, seat)
        assert write_play_log(tmp_path / "log", game, view, [games[:1000], games[1000:]]) == 3000
        log = read_play_log(tmp_path / "log", game, seat)
        assert log.ended.tolist() == np.bincount(view.leaf_classes[games], minlength=view.num_classes).tolist()
        assert log.mean_result == pytest.approx(game.sequence_form.leaves.payoffs[games, seat].mean())
        assert (log.num_games, log.num_lines, log.seat, log.bad) == (3000, 3001, seat, ())
        assert log.passed[0] == 3000


@few
@pytest.mark.parametrize("spec", OBSERVED)
def test_every_class_has_a_line_of_its_own(spec):
    game = load_game(spec)
    for seat in range(game.num_players):
        view = observer_tree(game, seat)
        lines = LogLines(game, view)
        texts = {}
        for number in np.flatnonzero(view.terminal).tolist():
            texts[lines.of_class(number)] = number
        assert len(texts) == view.terminal.sum()
        assert [lines.read(text) for text in texts] == list(texts.values())


def test_files_are_equal_for_equal_games(tmp_path):
    for name in ("a.jsonl", "b.jsonl", "a.jsonl.gz", "b.jsonl.gz"):
        write_play_log(tmp_path / name, KUHN, VIEW, simulate(Profile.uniform(KUHN), 5000, seed=1))
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()
    plain, zipped = (read_play_log(tmp_path / name, KUHN, 0) for name in ("a.jsonl", "a.jsonl.gz"))
    assert plain.ended.tolist() == zipped.ended.tolist()


def test_fractions_stand_in_headers_and_results():
    game = load_game("rps:rock=1/3")
    lines = LogLines(game, observer_tree(game, player=0))
    assert json.loads(lines.header)["parameters"] == {"rock": "1/3", "paper": 1, "scissors": 1}
    text = '{"seat":0,"private":"","public":["?","RS"],"result":0.333333}'
    assert read(lines.header + text.encode(), "rps:rock=1/3").num_games == 1


@pytest.mark.parametrize(
    "content",
    [
        text_of(),
        text_of() + "\n",
        "\n\n" + text_of() + "\r\n\n  \n\t\n",
        "\ufeff" + text_of(),
        "\ufeff\n" + text_of(),
        LINES.header.decode() + text_of(),
        text_of() + "\n" + LINES.header.decode() + "\n\ufeff" + LINES.header.decode(),  # logs that were joined
        '{"treeplex_log": 1}\n' + text_of(),
        '{"treeplex_log": 1, "game": "kuhn", "parameters": {"cards": 3}, "by": [1]}\n' + text_of(),
        text_of(result=-2),
        text_of(result=-2.0000001),
        text_of(shown={"0": "J", "1": "K"}),
        text_of(time="2026-01-01", note={"shown": {"deep": [None, True, "é"]}}),
        json.dumps(dict(reversed(GOOD.items())), indent=None),
        "   " + text_of() + "   ",
        json.dumps(GOOD, separators=(" ,  ", " :\t")),
        text_of().replace('"J"', '"\\u004a"'),
        gzip.compress(text_of().encode(), mtime=0),
        gzip.compress(b"\n", mtime=0) + gzip.compress(text_of().encode(), mtime=0),
    ],
)
def test_what_is_harmless_is_read(content):
    log = read(content)
    assert log.num_games == 1
    assert VIEW.name(int(log.ended.argmax())) == "'J', p/b/b, shown 1: 'K'"


def test_an_empty_log_has_no_games():
    for content in (b"", b"\n", LINES.header, b"\xef\xbb\xbf"):
        log = read(content)
        assert (log.num_games, log.bad) == (0, ())
        assert math.isnan(log.mean_result)


def test_nobody_needs_to_say_that_nobody_shows():
    assert read(text_of(public=["p", "b", "p"], shown=..., result=-1)).num_games == 1


# Lines that are refused


BAD = [
    (
        "{",
        "no JSON",
        "it is not JSON: expecting property name enclosed in double quotes at column 2, expected an object",
    ),
    ("hello", "no JSON", "it is not JSON: expecting value at column 1"),
    (text_of() + text_of(), "no JSON", "it is not JSON: extra data at column 92"),
    (text_of(result=math.nan), "no JSON", "it contains NaN, which is not JSON"),
    (text_of().replace("-2.0", "-Infinity"), "no JSON", "it contains -Infinity"),
    (text_of().replace("-2.0", "9" * 5000), "no JSON", "it contains a number with too many digits"),
    (text_of().replace("-2.0", "1e999"), "malformed", "result is inf, expected a finite number"),
    (text_of().replace("-2.0", "9" * 400), "malformed", "result is 9999"),
    ("[" * 100_000, "no JSON", "it is nested too deeply, expected an object"),
    ('{"a":' * 100_000, "no JSON", "it is nested too deeply, expected an object"),
    ('{"seat', "no JSON", "it is not JSON: unterminated string starting at column 2"),
    ("\0" * 100, "no JSON", "it is not JSON: expecting value at column 1"),
    (text_of().encode("utf-16"), "no JSON", "byte 1 is 0xff, expected UTF-8 text"),
    (text_of(private="\xe9").replace("\\u00e9", "é").encode("latin-1"), "no JSON", "is 0xe9, expected UTF-8 text"),
    (" " * LONGEST + "x", "too long", "it is longer than 1,048,576 bytes, expected one game per line"),
    (
        "{" + ",".join(f'"{number}":0' for number in range(90_000)) + ',"7":1}',
        "malformed",
        "the key '7' appears twice, expected once",
    ),
    ("x" * 5_000_000, "too long", "it is longer than 1,048,576 bytes"),
    ("[1, 2]", "malformed", "it is [1, 2], expected an object with seat, private, public and result"),
    ("null", "malformed", "it is null, expected an object"),
    ("{}", "malformed", "seat is missing: expected seat, private, public and result"),
    (text_of(public=...), "malformed", "public is missing"),
    (text_of(result=...), "malformed", "result is missing"),
    (text_of(seat="0"), "malformed", "seat is '0', expected a whole number"),
    (text_of(seat=False), "malformed", "seat is False, expected a whole number"),
    (text_of(seat=0.0), "malformed", "seat is 0.0, expected a whole number"),
    (text_of(seat=2), "malformed", "seat is 2, expected 0"),
    (text_of(seat=1), "other seat", "seat is 1, expected 0, the seat of the log"),
    (text_of(private=None), "malformed", "private is None, expected a string"),
    (text_of(private=["J"]), "malformed", "private is ['J'], expected a string"),
    (text_of(public="pbb"), "malformed", "public is 'pbb', expected a list of strings"),
    (text_of(public=["p", ["b"], "b"]), "malformed", "public is ['p', ['b'], 'b'], expected a list of strings"),
    (text_of(shown="K"), "malformed", "shown is 'K', expected an object by seat"),
    (text_of(shown=None), "malformed", "shown is None, expected an object by seat"),
    (text_of(shown={"1": 5}), "malformed", "shown has 5 for seat 1, expected a string"),
    (text_of(shown={"2": "K"}), "malformed", "shown has the seat '2', expected one of '0', '1'"),
    (text_of(shown={"01": "K"}), "malformed", "shown has the seat '01'"),
    (text_of(result="-2"), "malformed", "result is '-2', expected a finite number"),
    (text_of(result=True), "malformed", "result is True, expected a finite number"),
    (text_of()[:-1] + ', "seat": 0}', "malformed", "the key 'seat' appears twice, expected once"),
    (text_of(private="T"), "unknown label", "private is 'T', expected one of 'J', 'K', 'Q'"),
    (text_of(private="\ud800\n"), "unknown label", "private is '\\ud800\\n', expected"),
    (text_of(public=["p", "x", "b"]), "unknown label", "public has 'x' after 'p', expected one of 'b', 'p'"),
    (text_of(public=["p", "b"]), "unfinished game", "the game is not over after 'p/b', expected one of 'b', 'p' next"),
    (text_of(public=[]), "unfinished game", "the game is not over after the start, expected one of 'b', 'p' next"),
    (
        text_of(public=["p", "b", "b", "b"]),
        "contradiction",
        "public continues with 'b' after 'p/b/b', where the game is",
    ),
    (text_of(public=["p", "b", "p"]), "contradiction", "shown has 'K' for seat 1, which shows nothing after 'p/b/p'"),
    (text_of(shown={}), "contradiction", "shown has nothing for seat 1, which shows its information after 'p/b/b'"),
    (
        text_of(shown={"1": "J"}),
        "contradiction",
        "'J' for seat 1, which is impossible with 'J' after 'p/b/b': expected one of",
    ),
    (text_of(shown={"1": "A"}), "contradiction", "shown has 'A' for seat 1, which is impossible with 'J'"),
    (text_of(shown={"0": "Q", "1": "K"}), "contradiction", "shown has 'Q' for the observer's seat, but private is 'J'"),
    (text_of(result=2.0), "contradiction", "result is 2.0, expected '-2'"),
    (text_of(result=-1.99), "contradiction", "result is -1.99, expected '-2'"),
    ('{"treeplex_log": 2}', "malformed", "the header has version 2, expected 1"),
    ('{"treeplex_log": true}', "malformed", "the header has version True, expected 1"),
    ('{"treeplex_log": 1, "game": "leduc"}', "other game", "the header is for the game 'leduc', expected 'kuhn'"),
    ('{"treeplex_log": 1, "parameters": 3}', "malformed", "the header has parameters 3, expected an object"),
    (
        '{"treeplex_log": 1, "parameters": {"cards": 4}}',
        "other game",
        "the header has cards = 4, but kuhn has 3",
    ),
    (
        '{"treeplex_log": 1, "parameters": {"ranks": 4}}',
        "other game",
        "the header has the parameter 'ranks', which kuhn",
    ),
]


@pytest.mark.parametrize(("line", "kind", "message"), BAD)
def test_a_bad_line_is_named(line, kind, message):
    assert kind in KINDS
    line = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
    content = b"\n".join([LINES.header.strip(), b"", text_of().encode(), line, text_of().encode(), b""])
    with pytest.raises(PlayLogError) as caught:
        read(content)
    assert caught.value.line == 4
    said = str(caught.value)
    assert said.startswith("the log: line 4: ")
    assert message in said
    assert said.isprintable()
    assert len(said) < 400
    if b"treeplex_log" in line:  # what follows may be of another game: a header is never skipped
        with pytest.raises(PlayLogError, match=re.escape(message)):
            read(b"null\n" + content, skip_bad=True)
        return
    log = read(content, skip_bad=True)
    (bad,) = log.bad
    assert (bad.kind, bad.count, bad.line) == (kind, 1, 4)
    assert message in bad.message
    assert (log.num_games, log.num_bad, log.num_lines) == (2, 1, 5)


@thorough
def test_a_card_that_is_gone_is_noticed():
    good = {"seat": 0, "private": "Ks", "public": ["c", "c", "Kh", "r", "c"], "shown": {"1": "Qh"}, "result": 5}
    assert read(json.dumps(good), "leduc").num_games == 1
    gone = good | {"public": ["c", "c", "Ks", "r", "c"]}
    with pytest.raises(PlayLogError, match="private is 'Ks', which is impossible after 'c/c/Ks'"):
        read(json.dumps(gone), "leduc")
    for card in ("Ks", "Kh"):
        with pytest.raises(PlayLogError, match=f"shown has '{card}' for seat 1, which is impossible with 'Ks' after"):
            read(json.dumps(good | {"shown": {"1": card}}), "leduc")
    with pytest.raises(PlayLogError, match="has 'K' after 'c/c', expected one of 'Jh', 'Js', 'Kh', 'Ks', 'Qh', 'Qs'"):
        read(json.dumps(good | {"public": ["c", "c", "K", "r", "c"]}), "leduc")


def test_two_of_three_that_cannot_show_the_same_card():
    good = {"seat": 0, "private": "J", "public": ["b", "b", "b"], "shown": {"1": "Q", "2": "K"}, "result": -2}
    assert read(json.dumps(good), "kuhn:players=3").num_games == 1
    with pytest.raises(PlayLogError, match=r"shown is \{1: 'Q', 2: 'Q'\}, which is impossible with 'J' after 'b/b/b'"):
        read(json.dumps(good | {"shown": {"1": "Q", "2": "Q"}}), "kuhn:players=3")


def test_a_result_may_be_all_that_tells_classes_apart():
    view = observer_tree(load_game("goofspiel:cards=3"), player=0)
    ends = {}
    for number in np.flatnonzero(view.terminal):
        ends.setdefault((view.private[number], view.public[number], view.shown[number]), []).append(number)
    (several, *_) = [numbers for numbers in ends.values() if len(numbers) > 1]
    lines = LogLines(load_game("goofspiel:cards=3"), view)
    for number in several:
        assert lines.read(lines.of_class(number)) == number
    with pytest.raises(BadLineError, match=r"result is 99, expected one of '-?\d', '-?\d'"):
        lines.read(re.sub(rb'"result":[-.\d]+', b'"result":99', lines.of_class(several[0])))


@pytest.mark.parametrize("content", [text_of()[:30], text_of()[:-1], "{", text_of() + "\n" + text_of()[:-9]])
def test_a_log_that_was_cut_off_is_named(content):
    with pytest.raises(PlayLogError, match=f"line {1 + content.count(chr(10))}: it is cut off: it is not JSON"):
        read(content)
    assert [bad.kind for bad in read(content, skip_bad=True).bad] == ["cut off"]


LABELS = st.sampled_from(["J", "Q", "K", "p", "b", "", "T"])


@given(
    seat=st.integers(0, 1),
    private=LABELS,
    public=st.lists(LABELS, max_size=4),
    shown=st.dictionaries(st.sampled_from(["0", "1", "2"]), LABELS, max_size=2),
    result=st.sampled_from([-2, -1.0, 1, 2.0, 0]),
)
def test_of_all_records_those_of_classes_are_read(seat, private, public, shown, result):
    record = {"seat": seat, "private": private, "public": public, "shown": shown, "result": result}
    without_own = {key: label for key, label in shown.items() if (key, label) != ("0", private)}
    valid = {LINES.of_class(number): number for number in np.flatnonzero(VIEW.terminal).tolist()}
    written = (
        json.dumps(record | {"shown": without_own, "result": float(result)}, separators=(",", ":")).encode() + b"\n"
    )
    try:
        number = LINES.read(json.dumps(record).encode())
    except BadLineError:
        number = None
    assert number == valid.get(written)


def test_of_all_small_records_as_many_are_read_as_there_are_classes():
    publics = [public for length in range(4) for public in itertools.product("pb", repeat=length)]
    shows = [{}, *({"1": card} for card in "JQK")]
    found = set()
    for private, public, shown, result in itertools.product("JQK", publics, shows, (-2, -1, 1, 2)):
        record = {"seat": 0, "private": private, "public": public, "shown": shown, "result": result}
        try:
            found.add(LINES.read(json.dumps(record).encode()))
        except BadLineError:
            continue
    assert found == set(np.flatnonzero(VIEW.terminal))


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_read_or_refused(content):
    if content.startswith(b"\x1f\x8b"):
        with pytest.raises(PlayLogError, match="compression is damaged"):
            read(content, view=VIEW)
    else:
        log = read(content, skip_bad=True, view=VIEW)
        assert log.num_lines == len(content.split(b"\n")) - (not content.split(b"\n")[-1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | LABELS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2) | st.just("1"), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([*GOOD, "treeplex_log", "game", "parameters"]), JSON)
def test_values_of_any_kind_are_read_or_refused(key, value):
    line = json.dumps(GOOD | {key: value}).encode()
    try:
        LINES.read(line)
    except BadLineError as error:
        said, kind = str(error), error.kind
    else:
        said, kind = "", KINDS[0]
    assert said.isprintable()
    assert kind in KINDS


def slow_count(content):
    """Which lines a reader that takes them one by one finds bad, by kind, and how many games it reads."""
    bad, games = {}, 0
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            games += LINES.read(line) >= 0
        except BadLineError as error:
            count, first = bad.get(error.kind, (0, number))
            bad[error.kind] = (count + 1, first)
    return bad, games


@thorough
def test_bad_lines_are_counted_by_kind_over_all_chunks():
    rng = np.random.default_rng(8)
    texts = [line for line, _, _ in BAD if isinstance(line, str) and len(line) < 1000 and "treeplex_log" not in line]
    lines = [line.encode("utf-8", "surrogatepass") for line in texts]
    pool = [*lines, *[text_of(result=-2, id=number).encode() for number in range(20)], b""]
    content = b"\n".join([pool[number] for number in rng.integers(0, len(pool), 60_000)]) + b"\n"
    assert len(content) > 2 * 2**21
    log = read(content, skip_bad=True)
    expected, games = slow_count(content)
    assert {bad.kind: (bad.count, bad.line) for bad in log.bad} == expected
    assert (log.num_games, log.num_lines) == (games, 60_000)
    assert repr(log) == f"PlayLog(games={games:,}, seat=0, skipped={log.num_bad:,})"
    (first,) = {min(line for _, line in expected.values())}
    with pytest.raises(PlayLogError, match=f"line {first}: "):
        read(content)


def test_lines_that_are_too_long_end_at_their_breaks():
    long = b"x" * (3 * 2**20 + 17)
    content = b"\n".join([text_of().encode(), long, text_of().encode(), long, long, text_of().encode()])
    log = read(content, skip_bad=True)
    assert log.num_games == 3
    assert [(bad.kind, bad.count, bad.line) for bad in log.bad] == [("too long", 3, 2)]
    assert log.num_lines == 6


# Files


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(LINES.header + text_of().encode() * 1000)[:60])
    (tmp_path / "bits.gz").write_bytes(b"\x1f\x8b" + bytes(range(100)))
    for path, message in {
        tmp_path / "none": "none: cannot read the file: no such file or directory",
        tmp_path: "it is a directory, expected a file",
        Path("/dev/zero"): "/dev/zero: it is a device, expected a file",
        tmp_path / "damaged.gz": "damaged.gz: its compression is damaged after line ",
        tmp_path / "bits.gz": "bits.gz: its compression is damaged after line 0: ",
        "a\0b": "cannot read the file: ",
        17: "the log is 17, expected a path or a binary file",
        None: "the log is None, expected",
    }.items():
        with pytest.raises(PlayLogError, match=re.escape(message)) as caught:
            read_play_log(path, KUHN, 0, view=VIEW)
        assert caught.value.line is None
        assert str(caught.value).isprintable()
    with pytest.raises(PlayLogError, match="reading it returned 3, expected bytes"):
        read_play_log(type("Odd", (), {"read": lambda self, size: 3})(), KUHN, 0)


def packed_log():
    """A log of many games that differ, packed, and its lines."""
    lines = [LINES.header] + [text_of(time=number).encode() + b"\n" for number in range(50_000)]
    return gzip.compress(b"".join(lines), compresslevel=3, mtime=0), lines


@few
@pytest.mark.parametrize("share", [0.0001, 0.3, 0.77, 1.0])
def test_a_packed_log_whose_writer_was_killed_is_read_up_to_there(share):
    packed, lines = packed_log()
    cut = packed[: int(share * len(packed)) - 4]
    there = zlib.decompressobj(31).decompress(cut).count(b"\n")
    with pytest.raises(PlayLogError, match=f"its compression is damaged after line {there}: it ends before"):
        read(cut)
    log = read(cut, skip_bad=True)
    assert (log.num_games, log.num_lines) == (max(there - 1, 0), there + 1)
    (bad,) = log.bad
    assert (bad.kind, bad.count, bad.line) == ("damaged", 1, there + 1)
    assert share < 0.9 or there == len(lines)  # all is there but the end mark


def test_a_packed_log_with_a_damaged_place_is_read_up_to_there():
    packed, lines = packed_log()
    middle = len(packed) // 2
    damaged = packed[:middle] + bytes(range(256)) * 8 + packed[middle:]
    log = read(damaged, skip_bad=True)
    assert 0.4 * len(lines) < log.num_games < 0.6 * len(lines)
    assert log.bad[-1].kind == "damaged"


def test_packed_logs_may_follow_one_another_with_zeros_between():
    packed, lines = packed_log()
    assert read(packed + bytes(1000) + packed + bytes(10)).num_games == 2 * (len(lines) - 1)


def test_a_bad_line_of_a_file_is_named_with_the_file(tmp_path):
    (tmp_path / "two\nlines").write_text(text_of() + "\n" + text_of(result=0))
    with pytest.raises(PlayLogError, match=r"two\\nlines: line 2: result is 0, expected '-2'") as caught:
        read_play_log(tmp_path / "two\nlines", KUHN, 0)
    assert caught.value.line == 2


def test_the_view_has_to_be_of_the_seat():
    with pytest.raises(InvalidGameError, match="expected observer_tree"):
        read(text_of(), seat=1, view=VIEW)
    with pytest.raises(InvalidStrategyError, match="player is 2, expected a number from 0 to 1"):
        read(text_of(), seat=2)


def test_a_log_without_a_name_is_refused():
    with pytest.raises(PlayLogError, match="the log is '', expected a path"):
        read_play_log("", KUHN, 0)


def test_text_files_are_read_too():
    assert read_play_log(io.StringIO(text_of()), KUHN, 0).num_games == 1


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    games = [np.zeros(100_000, dtype=np.int32)]
    for path in (tmp_path / "none" / "log", tmp_path):
        with pytest.raises(PlayLogError, match="cannot be written: "):
            write_play_log(path, KUHN, VIEW, games)
    if Path("/dev/full").exists():
        with pytest.raises(PlayLogError, match="/dev/full cannot be written: no space left on device"):
            write_play_log("/dev/full", KUHN, VIEW, games)
    for wrong in ([-1], [30], [0.5], ["a"], [[0, 1], [2]]):
        with pytest.raises(InvalidGameError, match="expected numbers from 0 to 29"):
            write_play_log(io.BytesIO(), KUHN, VIEW, [wrong])


def test_a_full_disk_leaves_whole_lines(tmp_path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_001, limits[1]))
    try:
        with pytest.raises(PlayLogError, match="log cannot be written: file too large"):
            write_play_log(tmp_path / "log", KUHN, VIEW, simulate(Profile.uniform(KUHN), 100_000, seed=1, chunk=1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    content = (tmp_path / "log").read_bytes()
    assert content.endswith(b"}\n")
    assert read(content).num_games == 2000


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_a_log_that_is_broken_off_holds_whole_lines(name, tmp_path):
    def games():
        yield from simulate(Profile.uniform(KUHN), 5000, seed=1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_play_log(tmp_path / name, KUHN, VIEW, games())
    assert read_play_log(tmp_path / name, KUHN, 0).num_games == 5000


def test_progress_is_told(tmp_path):
    path = tmp_path / "log"
    write_play_log(path, KUHN, VIEW, simulate(Profile.uniform(KUHN), 80_000, seed=1))
    told = []
    log = read_play_log(path, KUHN, 0, progress=lambda lines, part: told.append((lines, part)))
    assert log.num_lines == told[-1][0] == 80_001
    assert told[-1][1] == 1.0
    assert all(before < after for before, after in itertools.pairwise(told))
    told.clear()
    read_play_log(io.BytesIO(path.read_bytes()), KUHN, 0, progress=lambda lines, part: told.append((lines, part)))
    assert {part for _, part in told} == {None}


class Endless:
    """A log of so many games that exists nowhere; the games differ by their numbers on request."""

    def __init__(self, games, numbered):
        line = text_of()[:-1] + (', "id": %d}' if numbered else "}")
        self._lines = ((line % number if numbered else line) + "\n" for number in range(games))
        self._rest = b""

    def read(self, size):
        parts = [self._rest, *(line.encode() for line in itertools.islice(self._lines, size // 120 + 1))]
        content = b"".join(parts)
        self._rest = content[size:]
        return content[:size]


def peak(games, numbered):
    tracemalloc.start()
    try:
        log = read_play_log(Endless(games, numbered), KUHN, 0, view=VIEW)
        assert log.num_games == games
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@thorough
@pytest.mark.parametrize("numbered", [False, True])
def test_memory_does_not_grow_with_the_log(numbered, monkeypatch):
    monkeypatch.setattr("treeplex.models.play.batches._CHUNK", 2**15)
    monkeypatch.setattr("treeplex.models.play.log._REMEMBERED", 1000)
    few, many = peak(5_000, numbered), peak(30_000, numbered)
    assert many < few + 50_000  # bytes: two a game would be too many


@pytest.mark.slow
def test_three_million_games_take_as_much_memory_as_three_hundred_thousand():
    few, many = peak(300_000, numbered=False), peak(3_000_000, numbered=False)
    assert many < 1.05 * few + 1_000_000


def test_the_writer_takes_leaves_as_lists_too():
    log = io.BytesIO()
    with PlayLogWriter(log, KUHN, VIEW) as writer:
        writer.write([0, 29])
        writer.write(np.array([], dtype=np.int32))
    assert not log.closed
    assert read(log.getvalue()).num_games == 2
