"""Typical mistakes, each answered in one line that names the thing and the mend.

They are examples of the documentation with one thing changed, and names that users of other libraries try.
"""

import shlex
import sys

import pytest

import treeplex
from treeplex import Nash, Profile, load_game, solve
from treeplex.cli import main
from treeplex.models.constraints import behaviour_bound, functional_bound, parse_constraint, reach_bound
from treeplex.models.opponents import uniform_without
from treeplex.validation import compare

#: What is typed after ``treeplex``, and what the one line must hold: the thing that is wrong, and the mend.
COMMANDS = [
    # commands and options
    ("slove kuhn", "'slove'", "did you mean solve?"),
    ("help", "'help'", "did you mean --help?"),
    ("solve", "GAME", "as listed by 'treeplex games'"),
    ("solve kuhn leduc", "leduc", "expected only GAME"),
    ("doctor kuhn", "kuhn", "expected only options"),
    ("solve kuhn --metod cfr", "--metod", "did you mean --method?"),
    ("solve kuhn --tolerance 0.1", "--tolerance", "did you mean --tol?"),
    ("solve kuhn --opp uniform", "--opp", "did you mean --opponent?"),
    ("solve kuhn --problem style --maximize 0/J_:b", "--maximize", "did you mean --maximise?"),
    ("solve kuhn --alpha 2", "--alpha", "write --method dcfr:alpha="),
    ("solve kuhn --gamma 2", "--gamma", "write --method dcfr:gamma="),
    ("sample kuhn --max-iterations 10 --tol 0.1", "--tol", "an option of solve"),
    ("show eq.npz --format csv", "--format", "an option of export"),
    ("info leduc --infoset", "--infoset", "did you mean --infosets?"),
    ("solve kuhn --json", "--json", "expected FILE, or - for standard output"),
    ("solve kuhn --json --method cfr", "--json", "expected FILE, or - for standard output; got --method"),
    ("solve kuhn --max-iterations many", "many", "a whole number from 0 to 2^53, such as 1000"),
    ("solve kuhn --tol 1%", "1%", "a number of at least 0, such as 1e-4"),
    ("solve kuhn --time-limit 10s", "10s", "a number of seconds of at least 0, such as 60"),
    ("solve kuhn --memory lots", "'lots'", "such as 500MB, 8GB or 2GiB"),
    ("solve kuhn --player 2 --problem best-response --opponent uniform", "--player 2", "expected 0 or 1"),
    ("solve kuhn --player 1", "--player is not for nash", "leave it out"),
    ("validate --suite fast", "'fast'", "expected one of quick, full"),
    ("reproduce ccfr-figure2a", "'ccfr-figure2a'", "did you mean ccfr-figure-2a?"),
    # games
    ("info khun", "'khun'", "did you mean kuhn?"),
    ("info Kuhn", "'Kuhn'", "did you mean kuhn?"),
    ("info kuhn_poker", "'kuhn_poker'", "did you mean kuhn?"),
    ("info rock_paper_scissors", "'rock_paper_scissors'", "did you mean rps?"),
    ("info kuhn,cards=4", "'kuhn,cards=4'", "did you mean kuhn?"),
    ("info kuhn:4", "got '4'", "write kuhn[:players=N,cards=N]"),
    ("info kuhn:card=4", "'card'", "did you mean cards?"),
    ("info kuhn:cards=three", "three", "an integer from 2 to 1000"),
    ("info leduc:merge_suits=yes", "yes", "true or false"),
    ("info goofspiel:order=down", "down", "one of descending, ascending, random"),
    ("info transit:failure=10%", "10%", "a number from 0 to 1"),
    ("info transit:failure=10", "10", "a number from 0 to 1"),
    ("solve kuhn:players=3 --problem rnr --opponent uniform --p 0.5", "kuhn:players=3 has 3", "rnr needs two players"),
    # methods
    ("solve kuhn --method cfrplus", "'cfrplus'", "did you mean cfr+?"),
    ("solve kuhn --method mccfr", "'mccfr'", "did you mean es-mccfr?"),
    ("solve kuhn --method simplex", "'simplex'", "did you mean highs-simplex?"),
    ("solve kuhn --method dcfr:aplha=2", "'aplha'", "did you mean alpha?"),
    ("solve kuhn --method dcfr:alpha=x", "alpha = x", "expected a number"),
    ("solve kuhn --method lp", "lp", "use highs"),
    ("solve kuhn:players=3 --method highs", "more than two players", "use cfr"),
    ("solve kuhn --updates alternating", "--updates", "--method cfr"),
    ("solve kuhn --method cfr --averaging cubed", "cubed", "did you mean cubic?"),
    ("solve kuhn --method cfr --iterate current", "current", "expected one of average, last"),
    ("solve kuhn --checkpoint x.ck", "highs does not support checkpoints", "expected an iterative method"),
    ("solve kuhn --method cfr --checkpoint x.ck:each=1s", "'each=1s'", "expected FILE or FILE:every=60s"),
    ("solve kuhn --method cfr --resume x.ck", "x.ck", "--checkpoint writes one"),
    ("solve kuhn --prefer bet --method pref-cfr", "'bet'", "expected ACTION:DELTA, such as raise:5"),
    ("solve kuhn --prefer bte:5 --method pref-cfr", "'bte'", "did you mean bet?"),
    # problems
    ("solve kuhn --problem nahs", "'nahs'", "did you mean nash?"),
    ("solve kuhn --problem best_response --opponent uniform", "'best_response'", "did you mean best-response?"),
    ("solve kuhn --problem best-response", "needs --opponent", "uniform, random:seed=S"),
    ("solve kuhn --problem rnr --opponent uniform", "rnr needs --p", "a number from 0 to 1"),
    ("solve kuhn --problem rnr --opponent uniform --p 50%", "--p 50%", "a number from 0 to 1"),
    ("solve kuhn --problem rnr --opponent uniform --p half", "--p half", "a number from 0 to 1"),
    ("solve kuhn --opponent uniform", "--opponent is not for nash", "a --problem that takes it: best-response"),
    ("solve kuhn --problem rnr:oponent=uniform,p=1", "'oponent'", "did you mean opponent?"),
    ("solve kuhn --problem cdbr --opponent uniform --lookahead 0", "--lookahead 0", "an integer of at least 1"),
    ("solve kuhn --frontier", "--frontier", "is for rnr"),
    ("solve kuhn --problem constrained", "constrained needs --constrain", "such as"),
    ("solve kuhn --problem restricted-nash", "'restricted-nash'", "did you mean rnr?"),
    ("solve kuhn --problem DBR", "'DBR'", "did you mean data-biased?"),
    ("solve kuhn --problem equilibrium", "'equilibrium'", "did you mean nash?"),
    # words of other programs
    ("restricted-nash kuhn", "'restricted-nash'", "did you mean treeplex solve GAME --problem rnr?"),
    ("exploitability kuhn --strategy nash", "'exploitability'", "did you mean treeplex evaluate GAME --strategy FILE?"),
    ("cfr+ kuhn", "'cfr+'", "did you mean treeplex solve GAME --method cfr+?"),
    ("kuhn", "'kuhn'", "did you mean treeplex solve kuhn?"),
    ("draw kuhn", "'draw'", "did you mean treeplex export GAME --out FILE.svg?"),
    ("solve --game kuhn", "--game", "write treeplex solve GAME"),
    ("solve kuhn --solver cfr", "--solver", "did you mean --method cfr?"),
    ("solve kuhn --algorithm cfr", "--algorithm", "did you mean --method?"),
    ("solve kuhn --iters 100", "--iters", "did you mean --max-iterations?"),
    ("solve kuhn -o x.npz", "-o", "did you mean --out?"),
    ("play kuhn --opponent uniform", "--opponent", "did you mean --seat0?"),
    ("play kuhn --seat1 nash --games 10", "'--seat0'", "mixture:W*O+W*O"),
    ("duel call random", "'duel'", "did you mean treeplex match A B?"),
    ("match call random --games 10", "--games", "did you mean --hands?"),
    ("match call rando --hands 10", "'rando'", "did you mean random?"),
    ("match call raise:size=2 --hands 10", "'size'", "expected pots"),
    ("match call random --hands 10 --blinds 100", "100", "such as 50/100"),
    ("match call --hands 10", "one bot", "expected 2 to 6"),
    # opponents
    ("solve kuhn --problem rnr --p 0.5 --opponent unifrom", "'unifrom'", "did you mean uniform?"),
    ("solve kuhn --problem rnr --p 0.5 --opponent cfr:1000", "'1000'", "write cfr:iterations=N"),
    ("solve kuhn --problem rnr --p 0.5 --opponent random:sed=1", "'sed'", "did you mean seed?"),
    ("solve kuhn --problem rnr --p 0.5 --opponent none.npz", "none.npz", "no such file"),
    ("solve kuhn --problem rnr --p 0.5 --opponent leduc.npz", "leduc", "fingerprint"),
    ("solve kuhn --problem rnr --p 0.5 --opponent game.npz", "'treeplex matrices'", "by 'treeplex solve --out'"),
    ("solve leduc --problem rnr --p 0.5 --opponent uniform:without=rise", "'rise'", "did you mean raise?"),
    ("solve leduc --problem rnr --p 0.5 --opponent mixture:uniform+nash", "'uniform'", "such as 0.3*uniform"),
    # constraints, terms and targets
    ("solve kuhn --problem constrained --constrain '0/K:b <= 1/2'", "'K'", "did you mean K_?"),
    ("solve kuhn --problem constrained --constrain '0/K_:bte <= 1/2'", "'bte'", "did you mean bet?"),
    ("solve kuhn --problem constrained --constrain '2/K_:b <= 1/2'", "seat '2'", "expected 0 or 1"),
    ("solve kuhn --problem constrained --constrain '0/K_:b < 1/2'", "received '<'", "expected +, <=, >= or =="),
    ("solve kuhn --problem constrained --constrain '0/K_:b <= 50%'", "'50%'", "such as 0.25 or 1/4"),
    ("solve kuhn --problem constrained --constrain 'K_:b <= 1/2'", "'K_' is an infoset", "as in 0/K_:b"),
    ("solve kuhn --problem constrained --constrain 'risk <= 1/2'", "'risk'", "SEAT/INFOSET:ACTION"),
    ("solve transit:width=2 --problem constrained --constrain 'risc <= 1/2'", "'risc'", "did you mean risk?"),
    ("solve kuhn --problem constrained --constrain '0/K_:b + 1/K_p:b <= 1'", "players 1 and 0", "terms of one player"),
    (
        "solve kuhn --problem constrained --constrain '0/K_:b <= 1/2 as k' --sensitivity king=0:1",
        "no constraint 'king'",
        "it has k",
    ),
    ("style kuhn", "--target", 'such as --target "raise@first >= 0.6"'),
    ("style kuhn --target bet@frist>=0.4", "'frist'", "did you mean first?"),
    ("style leduc --target riase@first>=0.4", "'riase'", "did you mean raise?"),
    ("style kuhn --target bet>=0.4", "'bet' is an action", "expected bet@first"),
    ("style kuhn --target bet@first>=0.4 --max-loss 5%", "5%", "a number of at least 0"),
    ("style kuhn --target bet@first>=0.4 --plot x.jpg --curve", "x.jpg", ".svg, .png or .pdf"),
    ("style kuhn --target bet@first>=0.4 --method cfr", "cfr is not for style", "pref-cfr"),
    # files
    ("info none.efg", "none.efg", "no such file"),
    ("info kuhn.gbt", "'.gbt'", "expected one of .efg, .nfg, .graphml, .json, .npz"),
    ("info log.jsonl", "'.jsonl'", "treeplex fit reads it"),
    ("info eq.json", "eq.json", "treeplex show reads it"),
    ("info hello.efg", "received hello", "expected EFG"),
    ("show none.npz", "none.npz", "no such file"),
    ("show nash", "nash", "need --game GAME"),
    ("show log.jsonl", "log.jsonl", "treeplex fit reads it"),
    ("show kuhn.efg", "kuhn.efg", "treeplex info reads it"),
    ("show eq.npz --player x", "'--player': x", "the number of a player"),
    ("show eq.npz --infoset K", "--infoset K", "did you mean K_?"),
    ("show eq.npz --out x.txt", "x.txt", ".npz, .json or .csv"),
    ("evaluate kuhn", "'--strategy'", "a file (.npz, .json, .csv or Gambit's)"),
    ("evaluate kuhn --strategy nash --strategy uniform", "--strategy uniform", "leave it out"),
    ("compare eq.npz leduc.npz", "leduc", "fingerprint"),
    ("solve kuhn --out x.txt", "x.txt", "written as .npz"),
    ("solve kuhn --json none/x.json", "none/x.json", "no such file or directory"),
    (
        "solve kuhn --start eq.npz",
        "--start",
        "--method highs-ipm, highs-ipm-crossover, columns, double-oracle, rounding",
    ),
    ("export kuhn --out x.xyz", "'x.xyz'", "give --format"),
    ("export leduc --out x.svg", "9,457 nodes", "--format dot"),
    ("export transit --out x.efg", "transit has no histories", "use one of npz, mps, lp"),
    # logs
    ("play kuhn --seat0 uniform --games 10", "'--seat1'", "the player in seat 1"),
    ("play kuhn --seat0 uniform --seat1 nash --games ten", "ten", "such as 1000"),
    ("fit log.jsonl --seat 0", "'--game'", "the game of the log"),
    ("fit none.jsonl --game kuhn --seat 0", "none.jsonl", "no such file"),
    ("fit log.jsonl --game leduc --seat 0", "'kuhn'", "expected 'leduc'"),
    ("fit log.jsonl --game kuhn --seat 1", "seat is 0", "expected 1"),
    ("fit eq.npz --game kuhn --seat 0", "eq.npz", "treeplex show reads it"),
    ("fit log.jsonl --game kuhn --seat 0 --confidence 95%", "95%", "between 0 and 1, such as 0.95"),
    ("fit log.jsonl --game kuhn --seat 0 --interval wald", "'wald'", "expected wilson, clopper-pearson"),
    ("sample kuhn", "never ends", "--max-iterations or --time-limit"),
    ("sample kuhn --method cfr --max-iterations 10", "cfr is not for sample", "es-mccfr"),
]

#: What is typed in Python, and what the message must hold.
STATEMENTS = [
    ("load_game('khun')", "'khun'", "did you mean kuhn?"),
    ("load_game('kuhn', card=4)", "'card'", "did you mean cards?"),
    ("load_game(game)", "Game('kuhn')", "expected a game's name, such as"),
    ("Game('kuhn')", "'kuhn'", "load_game('kuhn')"),
    ("treeplex.Kuhn", "'Kuhn'", "it is in treeplex.models.games"),
    ("treeplex.CFRplus", "'CFRplus'", "did you mean CFRPlus?"),
    ("game.players", "'players'", "use num_players"),
    ("game.infosets", "'infosets'", "use sequence_form.treeplexes"),
    ("game.new_initial_state()", "'new_initial_state'", "use tree"),
    ("game.num_player", "'num_player'", "did you mean num_players?"),
    ("game.functionals['risk']", "a functional 'risk'", "there is none"),
    ("transit.functionals['risc']", "a functional 'risc'", "did you mean risk?"),
    ("solve(game)", "Game('kuhn')", "such as Nash(game)"),
    ("solve(Nash)", "Nash", "such as Nash(game)"),
    ("solve(Nash('kuhn'))", "got 'kuhn'", "load_game(…)"),
    ("solve(Nash(game), method=CFR)", "CFR", "such as CFR()"),
    ("solve(Nash(game), 'cfrplus')", "'cfrplus'", "did you mean cfr+?"),
    ("solve(Nash(game), 'cfr', iterations=100)", "'iterations'", "did you mean max_iterations?"),
    ("solve(Nash(game), 'cfr', 100)", "too many positional arguments", "*, tol, max_iterations"),
    ("solve(Nash(game), 'cfr', tol='1e-3')", "'1e-3'", "a number of at least 0"),
    ("solve(Nash(game), 'cfr', time_limit='10s')", "'10s'", "a number of at least 0"),
    ("solve(Nash(game), 'cfr', start=profile[0])", "start is Strategy", "a Profile or a Solution"),
    ("solve(Nash(game), 'cfr', start=Profile.uniform(leduc))", "leduc", "fingerprint"),
    ("solve(Nash(game), 'cfr', callback=3)", "callback is 3", "expected a function"),
    ("CFR(alpha=2)", "'alpha'", "expected CFR(updates, averaging"),
    ("CFR(updates='both')", "both", "one of alternating, simultaneous"),
    ("DCFR(alpha='x')", "alpha = x", "expected a number"),
    ("ConstrainedNash(game)", "'constraints'", "expected ConstrainedNash(game, constraints"),
    ("ConstrainedNash(game, '0/K_:b <= 1/2')", "is a string", "parse_constraint(text, game)"),
    ("ConstrainedNash(game, [parse_constraint('0/K_:b <= 1/2', game)])", "a list of 1", "unpack it with *constraints"),
    ("ConstrainedNash(game, [frequency(game, 0, 'b')])", "is not a constraint", "functional_bound(…)"),
    ("ConstrainedNash(game, risk)", "for a game other than kuhn", "fingerprint"),
    ("functional_bound('risk', at_most=0.1)", "'risk'", "game.functionals"),
    ("functional_bound(transit.functionals['risk'], at_most='10%')", "'10%'", "a finite number or a fraction"),
    ("functional_bound(transit.functionals['risk'])", "at_most is None", "expected exactly one of the two"),
    ("parse_constraint('0/K_:b <= 1/2')", "'game'", "expected parse_constraint(text, game"),
    ("parse_constraint('0/K_:b <= 1/2', 'kuhn')", "'kuhn'", "expected a Game"),
    ("behaviour_bound(game, 0, 'K', 'b', at_most=1)", "'K'", "did you mean K_?"),
    ("behaviour_bound(game, 0, 'K_', 'x', at_most=1)", "'x'", "expected p, b, pass or bet"),
    ("reach_bound(game, 0, 'K', at_most=1)", "'K'", "did you mean K_?"),
    ("uniform_without(leduc, 0, 'rise')", "'rise'", "did you mean raise?"),
    ("RestrictedNash(game, profile[1])", "'p'", "expected RestrictedNash(game, opponent"),
    ("RestrictedNash(game, profile[1], 0.5)", "too many positional", "*, game_value, p"),
    ("RestrictedNash(game, profile[1], p=50)", "p is 50", "a number from 0 to 1"),
    ("RestrictedNash(game, profile, p=0.5)", "got Profile", "expected a Strategy"),
    ("RestrictedNash(game, Strategy.uniform(leduc, 1), p=0.5)", "leduc", "fingerprint"),
    ("BestResponse(game, None)", "got None", "expected a Strategy"),
    ("EpsilonSafeResponse(game, profile[1], epsilon=-1)", "epsilon is -1", "of at least 0"),
    ("EpsilonSafeStyle(game, 'bet@first')", "too many positional", "maximise, minimise"),
    ("DataBiasedResponse(game, profile[1], p=2)", "p is 2", "a mapping of infosets"),
    ("CDBR(game, profile[1])", "lookahead is missing", "expected a whole number of at least 1, or level"),
    ("best_response(game, profile)", "'player'", "expected best_response(game, profile, player)"),
    ("exploitability(profile)", "'profile'", "expected exploitability(game, profile)"),
    ("exploitability(profile, game)", "game is Profile", "expected a Game"),
    ("expected_payoffs(game, profile[0])", "Strategy", "expected a Profile"),
    ("worst_case(game, profile)", "Profile", "expected a Strategy"),
    ("frequency(game, 0, 'bte')", "'bte'", "did you mean bet?"),
    ("frequency(game, 'bet', 0)", "player is 'bet'", "expected a number from 0 to 1"),
    ("frequency(game, 0, 'b', where='first')", "'where'", "infosets, first, others"),
    ("frequency(game, 0, 'b', infosets=['K'])", "'K'", "did you mean K_?"),
    ("reach_style(game, 'bet@frist >= 0.4')", "'frist'", "did you mean first?"),
    ("reach_style(game, 'bet@first >= 0.4', '5%')", "'5%'", "a number of at least 0"),
    ("trade_off(game, 'bet@first')", "'bet@first'", "such as frequency(…)"),
    ("parametric_value(Nash(game), 'k', 0, 1)", "nash has no bound", "a problem with constraints"),
    ("compare(solution, profile, 1e-3)", "iterative is Profile", "expected a Solution"),
    ("compare(solution, solution)", "'tolerance'", "expected compare(exact, iterative, tolerance)"),
    ("simulate(profile, '10')", "games is '10'", "a whole number"),
    ("read_play_log('log.jsonl', game)", "'seat'", "expected read_play_log(source, game, seat"),
    ("read_play_log('eq.json', game, 0)", "eq.json", "treeplex show reads it"),
    ("Prefer('bet', 0.5)", "degree is 0.5", "a number from 1"),
    ("PrefCFR(prefer=['bet'])", "'bet'", "such as raise:5"),
    ("Agent(game)", "Game('kuhn')", "such as CDRNR"),
    ("Profile([profile[0]])", "players [0]", "players [0, 1]"),
    ("Profile(profile[0], profile[1])", "too many positional", "expected Profile(strategies)"),
    ("Profile.load('eq.npz')", "'game'", "expected Profile.load(path, game"),
    ("Profile.load('none.npz', game)", "none.npz", "no such file"),
    ("Profile.load('eq.npz', leduc)", "kuhn", "fingerprint"),
    ("Profile.from_json(game, 'eq.json')", "not JSON", "Profile.load(path, game) reads a file"),
    ("profile['K_']", "'K_'", "write profile[0]['K_']"),
    ("profile[2]", "player is 2", "expected a number from 0 to 1"),
    ("profile[0]['K']", "'K'", "did you mean K_?"),
    ("profile[0]['K_']['x']", "'x'", "expected p or b"),
    ("profile[0].save('x.txt')", "x.txt", ".npz, .json or .csv"),
    ("profile.strategy(0)", "'strategy'", "use profile[player]"),
    ("profile.exploitability", "'exploitability'", "use exploitability(game, profile)"),
    ("profile.to_csv('x.csv')", "'to_csv'", "use save('profile.csv')"),
    ("profile[0].policy", "'policy'", "use strategy[infoset]"),
    ("profile[0].realization_plan", "'realization_plan'", "use plan"),
    ("Strategy.uniform(game)", "'player'", "expected Strategy.uniform(game, player)"),
    ("Strategy.from_dict(game, 0, {'K': {'b': 1}})", "'K'", "did you mean K_?"),
    ("Strategy.from_dict(game, 0, {'K_': {'b': 2}})", "'K_'", "that sum to 1"),
    ("Strategy(game, 0, [0.5, 0.5])", "(2,)", "expected (13,)"),
    ("solution.x", "'x'", "use profile[0].plan"),
    ("solution.strategies", "'strategies'", "use profile"),
    ("solution.duals", "'duals'", "use multipliers"),
    ("solution.success", "'success'", "use status.is_success"),
    ("solution.save('x.npz')", "'save'", "use profile.save(path)"),
    ("solution.strategy", "nash concerns all players", "use solution.profile"),
    ("solution.multipliers['king']", "'king'", "there is none"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind."""
    folder = tmp_path_factory.mktemp("mistakes")
    profile = Profile.uniform(load_game("kuhn"))
    for name in ("eq.npz", "eq.json"):
        profile.save(folder / name)
    Profile.uniform(load_game("leduc")).save(folder / "leduc.npz")
    assert main(["export", "kuhn", "--out", str(folder / "kuhn.efg")]) == 0
    assert main(["export", "kuhn", "--out", str(folder / "game.npz")]) == 0
    log = folder / "log.jsonl"
    assert main(shlex.split(f"play kuhn --seat0 uniform --seat1 uniform --games 3 --out {log}")) == 0
    (folder / "hello.efg").write_text("hello\n")
    return folder


@pytest.fixture(scope="module")
def names():
    """Return what statements speak of."""
    game, transit = load_game("kuhn"), load_game("transit:width=2")
    written = (behaviour_bound, functional_bound, parse_constraint, reach_bound, uniform_without, compare)
    return {
        "treeplex": treeplex,
        **{name: getattr(treeplex, name) for name in treeplex.__all__},
        **{each.__name__: each for each in written},
        "game": game,
        "leduc": load_game("leduc"),
        "transit": transit,
        "risk": functional_bound(transit.functionals["risk"], at_most=0.1),
        "profile": Profile.uniform(game),
        "solution": solve(Nash(game)),
    }


def test_there_are_a_hundred_and_more():
    assert len({line for line, *_ in COMMANDS}) == len(COMMANDS) >= 100
    assert len({line for line, *_ in STATEMENTS}) == len(STATEMENTS) >= 90


@pytest.mark.parametrize(("line", "thing", "mend"), COMMANDS, ids=[line for line, *_ in COMMANDS])
def test_on_the_command_line(line, thing, mend, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    files = sorted(folder.iterdir())
    assert main(shlex.split(line)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert "unexpected " not in shown.err.replace("unexpected extra argument", "")
    assert thing in shown.err
    assert mend in shown.err
    assert len(shown.err) < 800
    assert sorted(folder.iterdir()) == files


@pytest.mark.parametrize(("line", "thing", "mend"), STATEMENTS, ids=[line for line, *_ in STATEMENTS])
def test_in_python(line, thing, mend, names, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        eval(line, names)
    message = str(caught.value)
    kinds = (treeplex.TreeplexError, TypeError, AttributeError, KeyError, IndexError)
    assert isinstance(caught.value, kinds)
    assert "\n" not in message
    assert thing in message
    assert mend in message
    assert len(message) < 800


@pytest.mark.parametrize(
    ("module", "line", "mend"),
    [
        ("pyspiel", "info openspiel:kuhn_poker", "pip install 'treeplex[openspiel]'"),
        ("matplotlib", "export kuhn --out x.svg", "pip install 'treeplex[plot]'"),
        ("matplotlib", "style kuhn --target bet@first>=0.4 --plot x.svg", "pip install 'treeplex[plot]'"),
    ],
)
def test_extras_that_are_missing(module, line, mend, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    assert main(shlex.split(line)) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert mend in shown.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "solve signalling --problem efce:maximise=1 --maximise 0",
            "efce: maximise is given twice, as maximise=1 in the name and as --maximise 0; expected it once",
        ),
        (
            "solve kuhn --problem rnr:opponent=uniform,p=1/2 --p 1/4",
            "rnr: p is given twice, as p=1/2 in the name and as --p 1/4; expected it once",
        ),
        (
            "solve kuhn --method cfr+:averaging=linear --averaging uniform",
            "cfr+: averaging is given twice, as averaging=linear in the name and as --averaging uniform; expected it",
        ),
        (
            "solve kuhn:players=3 --problem efce",
            "method highs-simplex cannot solve efce with more than two players: use trigger-regret",
        ),
        (
            "solve kuhn:players=3 --problem efcce --method triger-regret",
            "unknown method 'triger-regret' (did you mean trigger-regret?)",
        ),
        (
            "solve leduc:merge_suits=true --problem nfcce",
            "otherwise use the method trigger-regret, which approaches an equilibrium that need not be optimal",
        ),
        ("info textbook:game=chickn", "textbook: game = chickn (did you mean chicken?); expected one of prisoners"),
        ("info centipede", "unknown game 'centipede' (did you mean textbook:game=centipede?); expected one of kuhn"),
        ("info stag_hunt", "(did you mean textbook:game=stag_hunt?)"),
        (
            "solve kuhn --problem uncertain --scenario kuhn --uncertainty ellipsoid --opponent uniform --method ccfr",
            "method ccfr cannot solve uncertain with an objective without a free opponent: use cvxpy",
        ),
    ],
)
def test_contradictions_and_near_names_are_answered(line, said, capsys):
    assert main(shlex.split(line)) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert said in shown


def test_settings_that_agree_are_accepted(capsys):
    line = "solve kuhn --problem rnr:opponent=uniform,p=1/2 --p 1/2 --method cfr+:averaging=linear --averaging linear"
    assert main([*shlex.split(line), "--max-iterations", "2", "--json", "-"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('payoff = [[1, 2]]\nrows = ["a"]', "unknown key 'payoff' (did you mean payoffs?); expected title, players"),
        ("payofs = [[1, 2]]", "unknown key 'payofs' (did you mean payoffs?); expected title, players"),
        ('colums = ["a"]', "unknown key 'colums' (did you mean columns?); expected title, players"),
        ("flop = 3", "unknown key 'flop' (did you mean flops?)"),
        ('maps = "roads.csv"\nsteps = 3', "unknown key 'maps' (did you mean map?)"),
        ('bord = "AsKs2d"', "unknown key 'bord' (did you mean board?); expected board, pot"),
        (
            "zzz = 1",
            "unknown key 'zzz'; expected a declaration with one of the keys board (a hold'em spot), flops (hold'em",
        ),
    ],
)
def test_declarations_with_wrong_keys_are_told_the_keys_of_their_kind(text, said, folder, capsys):
    path = folder / "wrong.toml"
    path.write_text(text)
    assert main(["info", str(path)]) == 2
    assert f"wrong.toml: line 1: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "method"),
    [
        ("signalling --problem efce", "highs-simplex"),
        ("signalling --problem qre --rationality 1", "path-following"),
        ("kuhn:players=3 --max-iterations 1", "cfr+"),
    ],
)
def test_seeds_are_noted_for_default_methods(line, method, capsys):
    assert main(shlex.split(f"solve {line} --seed 1 --json -")) == 0
    assert capsys.readouterr().err == f"note: --seed 1 changes nothing: {method} draws no random numbers\n"


def test_a_seed_that_changes_nothing_is_noted(capsys):
    assert main(shlex.split("solve kuhn --seed 1 --json -")) == 0
    assert capsys.readouterr().err == "note: --seed 1 changes nothing: highs draws no random numbers\n"
    assert main(shlex.split("solve kuhn --seed 1 --method es-mccfr --max-iterations 1 --json -")) == 0
    assert capsys.readouterr().err == ""


def test_what_fails_within_is_not_taken_for_a_name_that_is_missing(names):
    class Broken(type(names["solution"])):
        @property
        def strategy(self):
            return self.not_there.at_all

    with pytest.raises(AttributeError, match="not_there"):
        Broken.strategy.fget(names["solution"])
