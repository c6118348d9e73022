"""Spots of whose pots a house takes a part."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from effort import thorough
from public_games import RandomPublicGame
from toy_spots import toy_spot

from treeplex import (
    CFR,
    DCFR,
    BestResponse,
    CFRPlus,
    ConstrainedNash,
    Game,
    Nash,
    PCFRPlus,
    PrefCFR,
    Profile,
    SequenceForm,
    Strategy,
    load_game,
    solve,
)
from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
from treeplex.models.games.holdem.browser import spot_page
from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.problems import EpsilonNash
from treeplex.seqform import best_response_values
from treeplex.seqform.card_payoff import CardPayoff
from treeplex.seqform.errors import GameTooLargeError, InvalidGameError, InvalidStrategyError, UnsupportedProblemError
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.public_payoff import Leaves
from treeplex.seqform.public_profile import PublicProfile
from treeplex.seqform.rules import TERMINAL
from treeplex.solvers.public.kernel import PublicKernel


def spot(board="Td9d6hQc2s", stack=300, **how):
    return HoldemSpot(board, ["99+, AKs, T9s:0.5", "QQ-88, AQs, T9s"], 200, stack, bets="75%, a", **how)


def drawn(form, seed):
    """Return a random profile."""
    generator = np.random.default_rng(seed)
    shapes = {
        node: (len(form.children[node]), len(form.states[form.players[node]])) for node in form.decisions.tolist()
    }
    return PublicProfile(form, {node: generator.random(shape) for node, shape in shapes.items()})


# By hand


@pytest.mark.parametrize(
    ("cap", "bluffs", "folds"), [(None, 100 / 185, 100 / 195), (10, 100 / 190, 100 / 195), (3, 100 / 197, 100 / 197)]
)
def test_the_nuts_and_air_bluff_and_are_called_as_worked_out_by_hand(cap, bluffs, folds):
    """A call of 100 wins 300 less 3 times the rake, a bluff wins 100 less the rake: both are indifferent.

    With b of the air betting, b / (1 + b) (300 − r₃) = 100, so b = 100 / (200 − r₃); with f of the bets not called,
    f (100 − r₁) = (1 − f) 100, so f = 100 / (200 − r₁).
    """
    raked = toy_spot(rake="5%", **({} if cap is None else {"rake_cap": cap}))
    first, called = (min(0.05 * pot, cap or np.inf) for pot in (100, 300))
    solution = solve(EpsilonNash(raked.game), tol=0.002)
    solved = SolvedSpot(raked, solution.profile)
    (nuts, air) = solved.at().hands()
    assert (nuts["all-in"], air["all-in"]) == pytest.approx((1.0, bluffs), abs=2e-3)
    assert solved.at("all-in").averages["fold"] == pytest.approx(folds, abs=2e-3)
    won = folds * (100 - first) + (1 - folds) * (200 - called)
    assert (nuts["ev"], air["ev"]) == pytest.approx((won, 0.0), abs=0.1)
    taken = (1 - folds) * (1 + bluffs) / 2 * (called - first) + first
    assert solved.at().rake == pytest.approx(taken, abs=0.05)
    assert sum(solution.value) == pytest.approx(-taken, abs=0.05)
    assert len(solution.regrets) == 2
    assert solution.certificate.epsilon == max(solution.regrets) <= 0.002
    assert solution.exploitability == pytest.approx(solution.certificate.nash_conv / 2)
    assert solution.lower is solution.upper is solution.gap is solution.objective is None


def expected(one, node, mine, theirs):
    """Return what both are paid with a pair of hands at a leaf, by the rules: the winner pays."""
    paid = one.paid[node]
    pot = 200 + 2 * min(paid)  # what is not called goes back
    taken = min(float(one.rake) * pot, one.rake_cap)
    if paid[0] != paid[1]:
        shares = (0.0, 1.0) if paid[0] < paid[1] else (1.0, 0.0)
    else:
        (won,) = one.showdown(one.cards).factored.matrix.toarray()[[mine], [theirs]]
        shares = ((1 + won) / 2, (1 - won) / 2)
    if str(one.public_form.actions[node]) == "fold":
        shares = (0.0, 1.0) if one.public_form.players[one.public_form.parents[node]] == 0 else (1.0, 0.0)
    return [(pot - taken) * share - min(paid) - 100 for share in shares]


@pytest.mark.parametrize("rake", [{"rake": 0.05}, {"rake": 0.05, "rake_cap": 20}, {"rake": 1}, {}])
def test_every_pair_of_hands_is_paid_what_the_winner_keeps(rake):
    one = spot(**rake)
    form = one.public_form
    held = [HANDS[hands] for hands in one.hands]
    for node in np.flatnonzero(form.players == TERMINAL).tolist():
        pays = np.zeros((2, *map(len, held)))
        for _, group in form.leaves_among(np.array([node])):
            pays += group.paid[:, 0, None, None] * group.factored.matrix.toarray() * one.pairs
        for mine, theirs in product(*map(range, pays.shape[1:])):
            apart = not set(held[0][mine]) & set(held[1][theirs])
            known = expected(one, node, mine, theirs) if apart else [0.0, 0.0]
            assert pays[:, mine, theirs] == pytest.approx(known, abs=1e-9)
    assert form.is_zero_sum == (not rake)


# Both players' payoffs, in all forms


RAKED = [
    spot(rake=0.05),
    spot(rake=0.1, rake_cap=30),
    spot(stack=0, rake=0.05),
    spot("Td9d6hQc", 60, rake=0.05, rake_cap=9),
    pytest.param(spot("Td9d6d", 0, rake=0.05), marks=thorough),
]


@pytest.mark.parametrize("one", RAKED, ids=lambda one: f"{one.board}-{one.stack}-{one.rake}")
def test_the_loop_pays_what_two_explicit_matrices_pay(one):
    """Values, and those of best responses, of random play: in the loop, in public form and in sequence form."""
    form = one.public_form
    kernel = PublicKernel(form, np.float64)
    assert all(not board for board in kernel.layout._matrices)  # all are swept
    state, generator = kernel.initial_state(), np.random.default_rng(4)
    for sums in state.sums:
        sums[:] = generator.random(len(sums))
    known = PublicProfile(form, lambda node: kernel.behaviour(state, node))
    if len(one.cards) > 3:
        sequence = form.sequence_form()
        explicit = SequenceForm(sequence.treeplexes, payoff_matrices=[sequence.payoff_matrix(one) for one in (0, 1)])
        assert not sequence.is_zero_sum
        assert not explicit.is_zero_sum
        profile = known.to_profile(explicit)
        paid, best = explicit.expected_payoffs(profile.plans), best_response_values(explicit, profile)
        assert sequence.expected_payoffs(profile.plans) == pytest.approx(paid, abs=1e-12 * form.payoff_scale)
        assert best_response_values(sequence, known.to_profile(sequence)) == pytest.approx(
            best, abs=1e-12 * form.payoff_scale
        )
    else:
        paid, best = [known.value(player) for player in (0, 1)], known.best_response_values
    for player in (0, 1):
        for node, values in kernel.values(state, player).items():
            assert values == pytest.approx(known.counterfactual_values(player, node), abs=1e-12 * form.payoff_scale)
        within = {"abs": 1e-12 * form.payoff_scale}
        assert kernel.evaluate(state, player, best=False) == pytest.approx(paid[player], **within)
        assert kernel.evaluate(state, player, best=True) == pytest.approx(best[player], **within)
        assert known.value(player) == pytest.approx(paid[player], **within)
        assert known.best_response_values[player] == pytest.approx(best[player], **within)


def test_leaves_of_several_kinds_pay_both_players_their_sums():
    """Folds, two different showdowns and a matrix, alone and together, with amounts for each player."""
    generator = np.random.default_rng(8)
    pairs = np.array([(i, j) for i in range(6) for j in range(i)])
    hands = [pairs[generator.choice(len(pairs), count, replace=False)] for count in (5, 7)]
    everyone = [np.arange(len(one)) for one in hands]
    units = [
        CardPayoff(hands, everyone),
        *(CardPayoff(hands, everyone, [generator.integers(0, 4, len(one)) for one in hands]) for _ in range(2)),
        FactoredPayoff(generator.normal(size=(5, 7)), np.eye(7)),
    ]
    groups = [([1, 2, 5], 0), ([1, 1, 3], 0), ([1, 2, 4], 1), ([2, 5], 1), ([3, 6], 2), ([4], 3)]
    leaves = [
        Leaves(np.array(nodes), generator.normal(size=(2, len(nodes)) if number % 2 else len(nodes)), units[unit])
        for number, (nodes, unit) in enumerate(groups)
    ]
    form = PublicForm(
        [0, *[TERMINAL] * 7],
        [-1, *[0] * 7],
        ["", *"abcdefg"],
        [list(map(tuple, one.tolist())) for one in hands],
        leaves,
    )
    kernel = PublicKernel(form, np.float64)
    state = kernel.initial_state()
    for sums in state.sums:
        sums[:] = generator.random(len(sums))
    known = PublicProfile(form, lambda node: kernel.behaviour(state, node))
    sequence = form.sequence_form()
    paid = sequence.expected_payoffs(known.to_profile(sequence).plans)
    for player in (0, 1):
        for node, values in kernel.values(state, player).items():
            assert values == pytest.approx(known.counterfactual_values(player, node), abs=1e-12)
        assert kernel.evaluate(state, player, best=False) == pytest.approx(paid[player], abs=1e-12)
    # Two of the same kind are one, and both kinds are swept; two showdowns, and a matrix, are not.
    assert [len(shape.twice) for shape in kernel.layout.shapes] == [3]


@pytest.mark.parametrize("method", [CFR(), CFRPlus(), DCFR(), PCFRPlus()], ids=lambda one: one.name)
def test_iterates_are_those_of_the_loop_on_two_explicit_matrices(method):
    one = spot(rake=0.05, rake_cap=20)
    known = Game.from_sequence_form(one.public_form.sequence_form())
    kernel, last = PublicKernel(one.public_form, np.float64), type(method)(iterate="last")
    state = kernel.initial_state(bool(method.local_rule.prediction))
    kernel.run(state, method.local_rule, 6)
    play = PublicProfile(
        one.public_form, lambda node: kernel.layout.behaviour([np.maximum(each, 0.0) for each in state.play], node)
    ).to_profile(known)
    plans = solve(EpsilonNash(known), last, tol=0, max_iterations=6).profile.plans
    for mine, plan in zip(play.plans, plans, strict=True):
        assert mine == pytest.approx(plan, abs=1e-10)


class Taxed(RandomPublicGame):
    """Player 1 pays a tenth of what is won beside."""

    def payoffs(self, state):
        first, second = super().payoffs(state)
        return first, second - 0.1 * abs(first)


@pytest.mark.parametrize("seed", range(12))
def test_public_forms_of_rules_pay_both_players(seed):
    form = PublicForm.from_rules(Taxed(seed))
    game = Game.from_public_form(form)
    solution = solve(EpsilonNash(game), "dcfr", tol=0, max_iterations=60)
    assert np.sign(sum(solution.value)) in (-1, 0)
    for certificate in (
        EpsilonNash(game).certify(Profile(list(solution.profile))),
        EpsilonNash(Game.from_sequence_form(game.sequence_form)).certify(Profile(list(solution.profile))),
    ):
        assert certificate.value == pytest.approx(solution.certificate.value, abs=1e-11)
        assert certificate.regrets == pytest.approx(solution.certificate.regrets, abs=1e-11)
    tree = Game("taxed", rules=Taxed(seed)).sequence_form
    assert [t.num_sequences for t in tree.treeplexes] == [t.num_sequences for t in game.sequence_form.treeplexes]
    uniform = [Profile.uniform(each).plans for each in (tree, game.sequence_form)]
    paid = [form.expected_payoffs(plans) for form, plans in zip((tree, game.sequence_form), uniform, strict=True)]
    assert paid[0] == pytest.approx(paid[1], abs=1e-12)


def test_matrices_of_raked_spots_beyond_the_budget_are_refused(monkeypatch):
    form = spot(rake=0.05).public_form.sequence_form()
    monkeypatch.setenv("TREEPLEX_MEMORY", "100kB")
    with pytest.raises(GameTooLargeError, match=r"^player 0's payoffs for each pair of sequences would take about"):
        _ = form.A
    uniform = [treeplex.uniform_plan() for treeplex in form.treeplexes]
    assert sum(form.expected_payoffs(uniform)) < 0  # which needs no matrix


# No rake


@pytest.mark.parametrize("how", [{"rake": 0}, {"rake": "0%", "rake_cap": 3}, {"rake": "5%", "rake_cap": 0}], ids=str)
def test_a_rake_of_nothing_is_none_to_the_bit(how):
    plain, free = spot(), spot(**how)
    assert (free.rake, free.rake_cap) == (0.0, np.inf)
    assert free.to_toml() == plain.to_toml()
    assert free.game.fingerprint == plain.game.fingerprint
    assert free.game.parameters == plain.game.parameters
    first, second = (solve(Nash(one.game), "dcfr", tol=0, max_iterations=20) for one in (plain, free))
    for name in ("regrets", "sums"):
        for mine, other in zip(*(getattr(one.state.arrays, name) for one in (first, second)), strict=True):
            assert mine.tobytes() == other.tobytes()
    assert first.certificate == second.certificate
    assert spot(rake="5%").game.fingerprint != plain.game.fingerprint != spot(rake="6%").game.fingerprint


def test_boards_that_suits_make_alike_are_walked_once_with_a_rake_and_threads_change_no_bit():
    one = HoldemSpot("Td9d6hQc", ["AA, KK, QJ", "JJ, 88, AK"], 200, 300, bets="a", rake=0.05, rake_cap=20)
    two = HoldemSpot("Td9d6dQh", ["AA, KK, QJ", "JJ, 88, AK"], 200, 300, bets="a", rake=0.05, rake_cap=20)
    for each in (one, two):
        states = []
        for threads in (1, 2):
            kernel = PublicKernel(each.public_form, np.float64, threads=threads)
            state = kernel.initial_state()
            kernel.run(state, DCFR().local_rule, 5)
            states.append(state)
        known = PublicProfile(each.public_form, lambda node, kernel=kernel, state=state: kernel.behaviour(state, node))
        for player in (0, 1):
            assert states[0].sums[player].tobytes() == states[1].sums[player].tobytes()
            assert kernel.evaluate(state, player, best=True) == pytest.approx(
                known.best_response_values[player], abs=1e-10
            )
    assert len(PublicKernel(two.public_form).layout.boards) < len(two.boards)


# What one reads of it


@pytest.mark.parametrize("board", ["Td9d6hQc2s", "Td9d6hQc"])
def test_evs_add_up_to_the_pot_less_the_expected_rake_at_every_node(board):
    one = spot(board, 60, rake=0.05, rake_cap=12)
    form = one.public_form
    solved = SolvedSpot(one, drawn(form, 3))
    likely, taken = np.zeros(len(form.players)), np.zeros(len(form.players))
    for group in form.deals:
        for node, amount in zip(group.nodes.tolist(), group.amounts.tolist(), strict=True):
            first, second = (solved.profile.reach(player, node) for player in (0, 1))
            likely[node] = amount * (first @ group.payoff.times(second))
            taken[node] = likely[node] * min(0.05 * (200 + 2 * min(one.paid[node])), 12)
    for node in range(len(form.players) - 1, 0, -1):
        likely[form.parents[node]] += likely[node]
        taken[form.parents[node]] += taken[node]
    for node in np.append(form.decisions, np.flatnonzero(form.players == TERMINAL)[::50]).tolist():
        read = solved.at(", ".join(form.path(node)))
        assert read.rake == pytest.approx(taken[node] / likely[node], abs=1e-9)
        assert read.averages["oop ev"] + read.averages["ip ev"] + read.rake == pytest.approx(read.pot)
        if read.mover:
            mean = (read.strategy * read.action_evs).sum(axis=0)
            kept = ~np.isnan(mean)
            assert mean[kept] == pytest.approx(read.evs[form.players[node]][kept], abs=1e-9)


def test_a_solved_spot_with_a_rake_is_kept_with_it(tmp_path):
    one = toy_spot(rake="5%", rake_cap=8)
    assert (one.rake, one.rake_cap) == (0.05, 8.0)
    assert one.to_toml().endswith("\n[rake]\nrate = 0.05\ncap = 8.0\n")
    assert toy_spot(rake=0.05).to_toml().endswith("\n[rake]\nrate = 0.05\n")
    solution = solve(EpsilonNash(one.game), tol=0.1)
    solved = SolvedSpot(one, solution.profile)
    solved.save(tmp_path / "toy.npz")
    read = SolvedSpot.load(tmp_path / "toy.npz")
    assert (read.spot.rake, read.spot.rake_cap) == (0.05, 8.0)
    assert sum(read.certificate["ev"]) == pytest.approx(100 - read.at().rake)
    assert read.certificate["exploitability"] == pytest.approx(solution.exploitability, abs=1e-4)
    assert str(read.at()).endswith(f"; rake {read.at().rake:.2f}")
    assert "rake" not in str(SolvedSpot(toy_spot(), drawn(toy_spot().public_form, 1)).at())
    assert one.load_strategy(tmp_path / "toy.npz", 0).player == 0
    with pytest.raises(InvalidStrategyError, match=r"the same ranges, pot, stacks, bets and rake$"):
        toy_spot(rake=0.04).load_strategy(tmp_path / "toy.npz", 0)
    page = spot_page(read).to_html()
    assert "the house takes" in page
    assert "less what the house takes" in page
    report = solution.report().to_html()
    assert "ε-Nash equilibrium" in report
    assert "the value of the game lies" not in report
    assert "proven bounds" not in report


def test_runs_go_on_where_they_stopped(tmp_path):
    problem = EpsilonNash(spot(rake=0.05).game)
    whole = solve(problem, "dcfr", tol=0, max_iterations=30)
    half = solve(problem, "dcfr", tol=0, max_iterations=12, checkpoint=tmp_path / "run.npz")
    more = solve(problem, "dcfr", tol=0, max_iterations=18, start=half)
    for mine, other in zip(whole.state.arrays.sums, more.state.arrays.sums, strict=True):
        assert mine.tobytes() == other.tobytes()
    assert whole.certificate == more.certificate


# What is refused


RATE = "expected a share of the pot from 0 to 1, or 0% to 100%"
CAP = "expected a number of chips of at least 0"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rake": "120%"}, f"rake is '120%', {RATE}"),
        ({"rake": 5}, f"rake is 5, {RATE}"),
        ({"rake": -0.05}, f"rake is -0.05, {RATE}"),
        ({"rake": "five"}, f"rake is 'five', {RATE}"),
        ({"rake": "%"}, f"rake is '%', {RATE}"),
        ({"rake": float("nan")}, f"rake is nan, {RATE}"),
        ({"rake": None}, f"rake is None, {RATE}"),
        ({"rake": True}, f"rake is True, {RATE}"),
        ({"rake": 0.05, "rake_cap": -1}, f"rake_cap is -1, {CAP}"),
        ({"rake": 0.05, "rake_cap": "3"}, f"rake_cap is '3', {CAP}"),
        ({"rake": 0.05, "rake_cap": float("nan")}, f"rake_cap is nan, {CAP}"),
    ],
    ids=str,
)
def test_rakes_that_are_none_are_refused(how, message):
    with pytest.raises(InvalidGameError) as caught:
        toy_spot(**how)
    assert str(caught.value) == message


def test_problems_of_zero_sum_games_refuse_a_rake_and_name_what_takes_it():
    game = toy_spot(rake="5%").game
    for problem, name in ((lambda game: BestResponse(game, Strategy.uniform(game, 1)), "best-response"),
                          (lambda game: ConstrainedNash(game, []), "constrained")):  # fmt: skip
        with pytest.raises(UnsupportedProblemError) as caught:
            solve(problem(game))
        assert str(caught.value) == (
            f"{name} needs a zero-sum game, but the payoffs of holdem QcJc9c3d2d do not sum to zero at every leaf: "
            "use EpsilonNash (--problem epsilon-nash)"
        )
    for method in ("highs", "cvxpy", "ccfr"):
        with pytest.raises(UnsupportedProblemError) as caught:
            solve(EpsilonNash(game), method)
        message = (
            f"method {method} cannot solve epsilon-nash: use rational, branch-and-bound, lemke, cfr, cfr+, dcfr, "
            "pcfr+, hs-dcfr, hs-pcfr+, pdcfr+, sapcfr+, cfvfp, pref-cfr"
        )
        assert str(caught.value) == message
    assert solve(EpsilonNash(game), PrefCFR("all-in:5"), tol=0, max_iterations=300).certificate.epsilon < 3
    assert replace(toy_spot(rake="5%"), bets=None, rake=0.0).public_form.is_zero_sum


# Other games


def test_regrets_are_those_worked_out_by_hand():
    """The prisoners' dilemma: uniform play is paid 2.25, and defection against it 3."""
    dilemma = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[3, 5], [0, 1]]))
    problem = EpsilonNash(dilemma)
    certificate = problem.certify(Profile.uniform(dilemma))
    assert certificate.value == pytest.approx((2.25, 2.25))
    assert certificate.regrets == pytest.approx((0.75, 0.75))
    assert (certificate.epsilon, certificate.nash_conv, certificate.exploitability) == pytest.approx((0.75, 1.5, 0.75))
    assert problem.error(certificate) == certificate.epsilon
    solution = solve(problem, "dcfr", tol=1e-6)
    assert solution.status == "converged"
    assert solution.value == pytest.approx((1.0, 1.0), abs=1e-5)
    assert solution.to_dict()["regrets"] == list(solution.regrets)
    assert "ε-Nash" in str(solution)


def test_where_averages_do_not_come_to_an_equilibrium_the_certificate_says_so():
    """Shapley's game ("Some topics in two-person games", 1964), in which play goes round for ever longer."""
    rows, columns = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(columns, rows), name="shapley")
    solution = solve(EpsilonNash(game), CFR(initial_regrets=1.0), tol=1e-3, max_iterations=20_000, seed=1)
    assert solution.status == "iteration_limit"
    assert solution.certificate.epsilon > 0.05
    best, paid = (
        best_response_values(game, solution.profile),
        game.sequence_form.expected_payoffs(solution.profile.plans),
    )
    assert solution.regrets == pytest.approx(tuple(best - paid), abs=1e-12)


@pytest.mark.parametrize("name", ["kuhn", "leduc:merge_suits=true"])
def test_a_zero_sum_game_has_the_regrets_that_its_bounds_leave(name):
    game = load_game(name)
    found = solve(EpsilonNash(game), "dcfr", tol=0.01)
    proven = Nash(game).certify(found.profile)
    assert found.certificate.nash_conv == pytest.approx(2 * proven.exploitability, abs=1e-12)
    assert found.regrets == pytest.approx((proven.upper - proven.value[0], proven.value[0] - proven.lower), abs=1e-12)
    assert found.history.exploitability[-1] == pytest.approx(found.certificate.epsilon)
