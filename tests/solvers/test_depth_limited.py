"""Depth-limited responses: known values, laws of the steps, the bound on exploitability, and refusals."""

import dataclasses
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from effort import either, examples, few, some, thorough
from hypothesis import assume, given
from hypothesis import strategies as st
from random_trees import Chance, Decision, Leaf, random_behaviour, to_graph, trees
from scipy.optimize import linprog

from treeplex import (
    CDBR,
    CDBRNE,
    CDRNR,
    SES,
    BestNash,
    BestResponse,
    Game,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    RestrictedNash,
    Status,
    Strategy,
    UnknownMethodError,
    UnsupportedProblemError,
    gain,
    load_game,
    solve,
    worst_case,
)
from treeplex.models.depth_limited import decision_steps, partition_roots, partition_steps, roots_after_chance
from treeplex.models.problems import SaddleProblem
from treeplex.seqform.public_form import PublicForm
from treeplex.solvers import DepthLimitedLP
from treeplex.solvers.opponents.strategies import opponent_strategy

KUHN, LEDUC, FIGURE_10 = load_game("kuhn"), load_game("leduc:merge_suits=true"), load_game("depth_limited_figure_10")
LEDUC_VALUE = -0.0856064240780


def value_to(game, player):
    value = solve(Nash(game), "highs-simplex").value
    return value if player == 0 else -value


def uniform(game, player=1):
    return Strategy.uniform(game, player)


# Steps


def test_player_actions_and_the_board_card_are_levels_and_private_deals_are_not():
    steps = decision_steps(LEDUC.public_tree, 0, 1)
    assert [step.level for step in steps] == [0, 2, 3, 4, 5, 6, 7]
    assert [step.before for step in steps] == [None, 0, 1, 2, 3, 4, 5]
    labels = LEDUC.sequence_form.treeplexes[1].infoset_labels
    assert {label for label, held in zip(labels, steps[0].modelled, strict=True) if held} == {
        f"{card}_{action}" for card in "JQK" for action in "cr"
    }
    own = LEDUC.sequence_form.treeplexes[0].infoset_labels
    third = {label.partition("_")[2][:2] for label, here in zip(own, steps[2].decided, strict=True) if here}
    assert third == {"cc", "rc"}  # with the card that is shown, two actions and one event of chance on the way


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("along", ["level", "path"])
def test_every_decision_is_made_once_and_nothing_is_settled_before_it_is_decided(player, along):
    public = LEDUC.public_tree
    steps = decision_steps(public, player, 2, along)
    assert np.array_equal(np.sum([step.decided for step in steps], axis=0), np.ones(144))
    for number, step in enumerate(steps):
        assert not (step.decided & step.settled).any()
        if step.before is None:
            assert not step.settled.any()
        else:
            before = steps[step.before]
            assert step.before < number
            assert np.array_equal(step.settled, before.settled | before.decided)
            assert not (before.modelled & ~step.modelled).any()


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("along", ["level", "path"])
@pytest.mark.parametrize("trunk", [False, True])
def test_by_a_partition_every_decision_is_made_once_and_steps_see_their_part_and_those_above(player, along, trunk):
    public = LEDUC.public_tree
    for seed in range(either(5, 20)):
        roots = np.flatnonzero(np.random.default_rng(seed).random(public.num_states) < seed / 10)
        steps = partition_steps(public, player, roots, along, trunk)
        assert np.array_equal(np.sum([step.decided for step in steps], axis=0), np.ones(144))
        begins = {0, *roots.tolist()}
        own, other = (public.infoset_states[each] for each in (player, 1 - player))

        def ways(state, begins=begins):
            """Return the roots of the parts on the way to a public state, its own first."""
            found = []
            while state >= 0:
                found += [state] * (state in begins)
                state = int(public.parents[state])
            return found

        for number, step in enumerate(steps):
            here = set(step.states.tolist())
            assert all((ways(state)[0] in here) == made for state, made in zip(own, step.decided, strict=True))
            seen = set().union(*(ways(state) for state in here))
            if along == "level":
                most = len(ways(step.states[0]))
                assert all((len(ways(state)) <= most) == held for state, held in zip(other, step.modelled, strict=True))
            else:
                assert all((ways(state)[0] in seen) == held for state, held in zip(other, step.modelled, strict=True))
            assert np.array_equal(step.settled, step.seen[own] & ~step.decided)
            if step.before is not None:
                assert step.before < number
                missing = step.settled & ~(steps[step.before].settled | steps[step.before].decided)
                assert not missing.any()


@pytest.mark.parametrize(("size", "share"), [(1, 48.6), (3, 67.1), (5, 96.0)])
def test_blocks_of_so_many_levels_gain_what_is_on_record(size, share):
    """The partition that is not table 1's: blocks of 1, 3 and 5 levels, solved once each."""
    levels = list(range(size, LEDUC.public_tree.num_levels, size))
    found = solve(CDBR(LEDUC, uniform(LEDUC), level=levels, game_value=LEDUC_VALUE))
    best = solve(BestResponse(LEDUC, uniform(LEDUC), game_value=LEDUC_VALUE))
    assert 100 * found.gain / best.gain == pytest.approx(share, abs=0.05)
    assert len(found.steps) == len({level // size for level in LEDUC.public_tree.infoset_levels(0)})


def test_a_partition_is_said_by_levels_by_chance_or_by_a_function():
    public, model = LEDUC.public_tree, uniform(LEDUC)
    chance = roots_after_chance(public).tolist()
    assert partition_roots(public, "chance", "cdrnr").tolist() == chance
    assert partition_roots(public, [2, 5], "cdrnr").tolist() == partition_roots(public, "2+5", "cdrnr").tolist()
    said = [
        solve(CDRNR(LEDUC, model, p=0.5, level=level, game_value=LEDUC_VALUE))
        for level in ("chance", lambda tree: chance, roots_after_chance)
    ]
    assert [one.steps for one in said] == [said[0].steps] * 3
    searched = [solve(SES(LEDUC, model, p=0.5, level=level, game_value=LEDUC_VALUE)) for level in (None, "chance")]
    assert searched[0].steps == searched[1].steps
    # Subgames may begin at different depths: those of one board card at once, those of the others a level later.
    deeper = [state for state in range(public.num_states) if int(public.parents[state]) in chance[1:]]
    mixed = solve(CDRNR(LEDUC, model, p=0.5, level=lambda tree: [*deeper, *chance[:1]], game_value=LEDUC_VALUE))
    assert mixed.exploitability <= mixed.safety_bound + 1e-9


@examples(40)
@given(
    trees(depth=6, size=24),
    st.integers(0, 2**16),
    st.sampled_from([0, 1]),
    st.sampled_from([0, Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), 1]),
    st.sampled_from(["level", "path"]),
)
def test_any_partition_keeps_what_is_proven_of_steps(tree, seed, player, p, along):
    game, model = posed_on(tree, seed, player)
    roots = np.flatnonzero(np.random.default_rng(seed).random(game.public_tree.num_states) < 0.5).tolist() or [0]
    problem = CDRNR(game, model, p=p, level=lambda public: roots, along=along)
    solution = solve(problem, tol=1e-7)
    assume(len(problem.steps) > 0)
    for step, objective in zip(problem.steps, solution.steps, strict=True):
        assert objective >= (solution.game_value if step.before is None else solution.steps[step.before]) - 1e-7
    if along == "level":
        assert solution.steps[-1] == pytest.approx(solution.objective, abs=1e-7) or not problem.steps[-1].modelled.all()
        assert solution.gain >= -1e-7
        if p < 1:
            assert solution.exploitability <= solution.safety_bound + 1e-6
    whole = solve(CDRNR(game, model, p=p, level=0, game_value=solution.game_value))
    assert whole.objective == pytest.approx(solve(RestrictedNash(game, model, p=p)).objective, abs=1e-7)
    assert solution.objective <= whole.objective + 1e-7


@pytest.mark.parametrize("gadget", ["none", "resolving", "reach-resolving", "max-margin", "reach-max-margin"])
@pytest.mark.parametrize("player", [0, 1])
def test_gadgets_stand_above_the_subgames_of_a_partition(gadget, player):
    model = uniform(LEDUC, 1 - player)
    value = LEDUC_VALUE if player == 0 else -LEDUC_VALUE
    for p in (0, 0.3):
        found = solve(CDRNR(LEDUC, model, p=p, level=3, gadget=gadget, game_value=value))
        again = found.problem.certify(found.profile, None, found.dual_certificate)
        assert again.steps == found.certificate.steps
        if p == 0 and gadget != "none":
            assert found.exploitability == pytest.approx(0, abs=1e-7)
        if gadget == "reach-resolving":
            assert found.exploitability <= found.safety_bound + 1e-7


def test_along_a_path_only_what_lies_on_it_is_settled():
    labels = LEDUC.sequence_form.treeplexes[0].infoset_labels
    step = next(s for s in decision_steps(LEDUC.public_tree, 0, 1, "path") if s.decided[labels.index("K_rc_Q_")])
    assert {label for label, given in zip(labels, step.settled, strict=True) if given} == {"J_", "Q_", "K_"}
    assert step.decided.sum() == 3
    other = LEDUC.sequence_form.treeplexes[1].infoset_labels
    held = {label for label, held in zip(other, step.modelled, strict=True) if held}
    assert held == {f"{card}_{action}" for card in "JQK" for action in "cr"} | {
        f"{card}_rc_Q_{action}" for card in "JQK" for action in "cr"
    }


# Known values


@pytest.mark.parametrize(
    ("lookahead", "share"), [(1, 74.371), (2, 74.371), (3, 96.045), (5, 97.132), (6, 100.0)], ids=str
)
def test_best_responses_in_leduc_are_those_on_record(lookahead, share):
    # Independent computations; looking further need not gain more: with 4 levels it is all there is.
    solution = solve(CDBR(LEDUC, uniform(LEDUC), lookahead=lookahead, game_value=LEDUC_VALUE))
    assert solution.status is Status.OPTIMAL
    assert 100 * solution.gain / (2.0875 - LEDUC_VALUE) == pytest.approx(share, abs=6e-4)
    assert solution.objective == solution.opponent_value == solution.steps[-1]


def test_gains_are_not_monotone_in_the_lookahead():
    gains = [solve(CDBR(LEDUC, uniform(LEDUC), lookahead=k, game_value=LEDUC_VALUE)).gain for k in range(3, 7)]
    assert gains[1] > gains[2] < gains[3]
    assert gains[3] == pytest.approx(2.0875 - LEDUC_VALUE)


def test_the_other_seat_has_other_shares():
    best = solve(BestResponse(LEDUC, uniform(LEDUC, 0), game_value=-LEDUC_VALUE)).gain
    shares = [
        100 * solve(CDBR(LEDUC, uniform(LEDUC, 0), lookahead=k, game_value=-LEDUC_VALUE)).gain / best for k in (1, 3, 5)
    ]
    assert shares == pytest.approx([98.9, 97.8, 94.0], abs=0.05)


@pytest.mark.parametrize(
    ("p", "lookahead", "gained", "lost"),
    some(
        [
            (0.1, 1, 0.7674, 0.0065),
            (0.1, 3, 0.8526, 0.0134),
            (0.3, 1, 1.0813, 0.0849),
            (0.5, 1, 1.2888, 0.2339),
            (0.5, 3, 1.5824, 0.5381),
            (0.9, 1, 1.5790, 2.1165),
            (0.9, 3, 1.9198, 1.6455),
        ],
        2,
    ),
)
def test_restricted_nash_responses_in_leduc_are_those_on_record(p, lookahead, gained, lost):
    solution = solve(CDRNR(load_game("leduc"), uniform(load_game("leduc")), p=p, lookahead=lookahead))
    assert solution.gain == pytest.approx(gained, abs=1e-4)
    assert solution.exploitability == pytest.approx(lost, abs=1e-4)
    assert solution.exploitability <= solution.safety_bound + 1e-9
    assert solution.safety_bound == pytest.approx(p / (1 - p) * solution.gain)


@few
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_first_step_does_not_depend_on_the_algorithm(p):
    problem = CDRNR(LEDUC, uniform(LEDUC), p=p, lookahead=1, game_value=LEDUC_VALUE)
    found = [solve(problem, DepthLimitedLP(algorithm), tol=1e-6) for algorithm in ("simplex", "ipm", "ipm-crossover")]
    assert [one.status for one in found] == [Status.OPTIMAL] * 3
    assert [one.steps[0] for one in found] == pytest.approx([found[0].steps[0]] * 3, abs=1e-6)


def test_figure_10_a_depth_limited_best_response_can_be_worse_than_an_equilibrium():
    model = Strategy.from_dict(FIGURE_10, 1, FIGURE_10.rules.model)
    response = solve(CDBR(FIGURE_10, model, lookahead=1))
    assert response.strategy["_"] == {"H": 1.0, "T": 0.0}
    assert response.opponent_value == pytest.approx(2 / 3)
    assert response.gain == pytest.approx(1 / 6)
    assert solve(BestNash(FIGURE_10, model)).opponent_value == pytest.approx(2)
    assert solve(BestResponse(FIGURE_10, model)).opponent_value == pytest.approx(10 / 3)
    assert solve(CDBR(FIGURE_10, model, lookahead=2)).opponent_value == pytest.approx(10 / 3)


# Laws


def steps_by_two_copies(problem, solution):
    """Return each step's optimum from a program that has the game twice, by another solver's interface.

    Equation by equation: max p (xᵀ M_top ŷ_top + f · q) + (1 − p) e · r, Fᵀ q ≤ Mᵀ x below the limit, Fᵀ r ≤ Mᵀ x.
    """
    form, player = problem.game.sequence_form, problem.player
    own, other = form.treeplexes[player], form.treeplexes[1 - player]
    payoffs = form.A.toarray() if player == 0 else -form.A.toarray().T
    own_rows, other_rows = own.E.toarray(), other.E.toarray()
    model, plan, p = problem.opponent.plan, solution.strategy.plan, float(getattr(problem, "p", 1))
    found = []
    for step in problem.steps:
        top = np.append(True, np.repeat(step.modelled, other.num_actions))
        below = np.append(False, ~step.modelled)
        weights = -other_rows[np.ix_(below, top)] @ model[top]
        count, first, second = own.num_sequences, int(below.sum()), len(other_rows)
        cost = np.concatenate([p * payoffs[:, top] @ model[top], p * weights, (1 - p) * other.e])
        first_rows = np.hstack([-payoffs.T[~top], other_rows[np.ix_(below, ~top)].T, np.zeros(((~top).sum(), second))])
        second_rows = np.hstack([-payoffs.T, np.zeros((len(top), first)), other_rows.T])
        rows = np.vstack([first_rows, second_rows]) if p < 1 else first_rows
        given = np.append(True, np.repeat(step.settled, own.num_actions))
        limits = [(value, value) if known else (0, None) for value, known in zip(plan, given, strict=True)]
        optimum = linprog(
            -cost,
            A_ub=rows,
            b_ub=np.zeros(len(rows)),
            A_eq=np.hstack([own_rows, np.zeros((len(own_rows), first + second))]),
            b_eq=own.e,
            bounds=limits + [(None, None)] * first + [(None, None) if p < 1 else (0, 0)] * second,
            method="highs-ds",
        )
        assert optimum.status == 0, (count, optimum.message)
        found.append(-optimum.fun)
    return found


def posed_on(tree, seed, player):
    """Return a random game and a random model of the other player."""
    game = Game.from_tree(to_graph(tree))
    try:
        levels = game.public_tree.num_levels
    except UnsupportedProblemError:
        levels = 0  # infosets without an order in time
    assume(levels > 1)
    model = random_behaviour(tree, 1 - player, random.Random(seed))
    return game, Strategy.from_dict(game, 1 - player, model)


@examples(40)
@given(
    trees(depth=6, size=24),
    st.integers(0, 2**16),
    st.sampled_from([0, 1]),
    st.sampled_from([0, Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), 1]),
    st.integers(1, 4),
    st.sampled_from(["level", "path"]),
)
def test_steps_never_fall_and_the_response_is_worth_the_last_at_least(tree, seed, player, p, lookahead, along):
    game, model = posed_on(tree, seed, player)
    problem = CDRNR(game, model, p=p, lookahead=lookahead, along=along)
    solution = solve(problem, tol=1e-7)
    assert solution.status is Status.OPTIMAL
    value = solution.game_value
    assume(len(problem.steps) > 0)
    for step, objective in zip(problem.steps, solution.steps, strict=True):
        assert objective >= (value if step.before is None else solution.steps[step.before]) - 1e-7
    assert solution.steps == pytest.approx(steps_by_two_copies(problem, solution), abs=1e-7)
    guaranteed = worst_case(game, solution.strategy)
    earned = gain(game, solution.strategy, model, 0.0)
    assert solution.objective == pytest.approx(float(p) * earned + (1 - float(p)) * guaranteed)
    if along == "level":
        assert solution.steps[-1] <= solution.objective + 1e-9
        if problem.steps[-1].modelled.all():
            assert solution.steps[-1] == pytest.approx(solution.objective, abs=1e-9)
            assert solution.lower <= solution.upper <= solution.lower + 1e-7
        else:
            assert solution.upper is None
        assert solution.gain >= -1e-7
        if p < 1:
            assert solution.exploitability <= solution.safety_bound + 1e-6


@examples(15)
@given(trees(depth=5, size=20), st.integers(0, 2**16), st.sampled_from([0, 1]), st.sampled_from([0.3, 0.7]))
def test_who_sees_the_whole_game_plays_a_restricted_nash_response(tree, seed, player, p):
    game, model = posed_on(tree, seed, player)
    found = solve(CDRNR(game, model, p=p, lookahead=game.public_tree.num_levels))
    assert found.objective == pytest.approx(solve(RestrictedNash(game, model, p=p)).objective, abs=1e-7)
    best = solve(CDBR(game, model, lookahead=game.public_tree.num_levels))
    assert best.objective == pytest.approx(solve(BestResponse(game, model)).objective, abs=1e-7)


@examples(15)
@given(trees(depth=5, size=20), st.integers(0, 2**16), st.sampled_from([0, 1]), st.integers(1, 3))
def test_with_a_sure_model_it_is_the_best_response_with_an_unsure_one_an_equilibrium(tree, seed, player, lookahead):
    game, model = posed_on(tree, seed, player)
    sure = solve(CDRNR(game, model, p=1, lookahead=lookahead))
    assert sure.steps == solve(CDBR(game, model, lookahead=lookahead)).steps
    assert sure.safety_bound is None
    unsure = solve(CDRNR(game, model, p=0, lookahead=lookahead))
    assert unsure.exploitability == pytest.approx(0, abs=1e-7)
    assert unsure.safety_bound == 0


@pytest.mark.parametrize("opponent", some(["uniform", "random:seed=3", "cfr:iterations=34"], 3))
@pytest.mark.parametrize("name", ["kuhn", "leduc:merge_suits=true", "goofspiel", "liars_dice:sides=3"])
def test_the_bound_on_exploitability_holds_in_the_library_s_games(name, opponent):
    game = load_game(name)
    for player, lookahead in itertools.product((0, 1), (1, 3)):
        value, model = value_to(game, player), opponent_strategy(opponent, game, 1 - player)
        for p in (0.25, 0.75):
            problem = CDRNR(game, model, p=p, lookahead=lookahead, game_value=value)
            solution = solve(problem)
            assert solution.status is Status.OPTIMAL
            assert solution.gain >= -1e-9
            assert solution.exploitability <= p / (1 - p) * solution.gain + 1e-7
            assert min(np.diff(solution.steps), default=0.0) >= -1e-9
            assert solution.steps[0] >= value - 1e-9


def test_no_dual_certificate_proves_a_wrong_bound():
    problem = CDRNR(KUHN, uniform(KUHN), p=0.5, lookahead=1, game_value=-1 / 18)
    solution = solve(problem)
    right = solution.certificate.steps
    source = np.random.default_rng(0)
    for _ in range(20):
        given = {f"{kind} {n}": source.uniform(-1, 1, 13) for kind in ("plan", "reply") for n in range(2)}
        certificate = problem.certify(solution.profile, {}, given)
        for step, best in zip(certificate.steps, right, strict=True):
            assert step.objective <= best.upper + 1e-12
            assert step.upper >= best.objective - 1e-12
    bare = problem.certify(solution.profile)
    assert bare.steps == ()
    assert bare.upper is None
    assert problem.error(bare) == math.inf
    assert bare.objective == pytest.approx(solution.objective)


# One path at a time


def test_along_paths_the_best_response_is_the_same():
    for player in (0, 1):
        value = LEDUC_VALUE if player == 0 else -LEDUC_VALUE
        found = [
            solve(CDBR(LEDUC, uniform(LEDUC, 1 - player), lookahead=1, along=along, game_value=value))
            for along in ("level", "path")
        ]
        assert found[0].objective == pytest.approx(found[1].objective, abs=1e-9)
        assert len(found[1].steps) == len(np.unique(LEDUC.public_tree.infoset_states[player]))


def two_coins(gift):
    """Return a game in which player 0's two coins have to differ, and a model that gives a little where one is heads.

    Player 1 bets that the coins show more or fewer heads than one. Chance then draws the coin that is looked at, and
    everybody sees which: player 0 lays it, and if it shows heads, player 1 may make a gift.
    """

    def coin(number, guess):
        pays = 1 if guess == "more" else -1
        given = Leaf((pays + gift, -pays - gift))
        heads = Decision(1, f"{guess} {number}", (("keep", Leaf((pays, -pays))), ("give", given)))
        return Decision(0, f"coin {number}", (("h", heads), ("t", Leaf((-pays, pays)))))

    def drawn(guess):
        return Chance(tuple((f"look {n}", Fraction(1, 2), coin(n, guess)) for n in (1, 2)))

    tree = Decision(0, "_", (("go", Decision(1, "_", tuple((guess, drawn(guess)) for guess in ("more", "fewer")))),))
    game = Game.from_tree(to_graph(tree))
    gifts = {f"{guess} {number}": {"give": 1.0} for guess in ("more", "fewer") for number in (1, 2)}
    return game, Strategy.from_dict(game, 1, gifts)


def test_along_paths_steps_that_are_optimal_one_by_one_are_unsafe_together():
    game, model = two_coins(Fraction(1, 10))
    together = solve(CDRNR(game, model, p=0.1, lookahead=1))
    assert together.exploitability <= together.safety_bound + 1e-9
    assert together.exploitability == pytest.approx(0)
    apart = solve(CDRNR(game, model, p=0.1, lookahead=1, along="path"))
    # Each coin shows heads for the gift, and counts on the other one to show tails.
    assert [apart.strategy[f"coin {number}"]["h"] for number in (1, 2)] == pytest.approx([1, 1])
    assert apart.steps == pytest.approx((0, 0.005, 0.005))
    assert apart.gain == pytest.approx(0.1)
    assert apart.exploitability == pytest.approx(1)
    assert (apart.gap, apart.safety_bound) == (None, None)


# What it is compared with


@pytest.mark.parametrize("player", [0, 1])
def test_a_mixture_with_an_equilibrium_gains_and_risks_in_proportion(player):
    value = LEDUC_VALUE if player == 0 else -LEDUC_VALUE
    model = uniform(LEDUC, 1 - player)
    low, middle, high = (
        solve(CDBRNE(LEDUC, model, p=p, lookahead=3, game_value=value)) for p in (0, Fraction(1, 4), 1)
    )
    assert low.exploitability == pytest.approx(0, abs=1e-9)
    assert middle.gain == pytest.approx(0.75 * low.gain + 0.25 * high.gain)
    assert middle.exploitability <= 0.25 * high.exploitability + 1e-9
    assert high.gain == pytest.approx(solve(CDBR(LEDUC, model, lookahead=3, game_value=value)).gain)
    assert high.steps == middle.steps


def two_guesses():
    """Return a game in which player 0 comes to its second decision less often than in equilibrium, and a model.

    Player 1 guesses the first coin, L or R, after it has chosen between two ways to be paid for that: x is what it
    chooses in equilibrium, y is what the model prefers. Along x, and after L, a second coin is guessed.
    """

    def pays(amount):
        return Leaf((amount, -amount))

    def guessed(side, way, guess):
        if way == "y":
            return pays(10 + {"Ll": -3, "Rl": 1, "Lr": 3, "Rr": -1}[side + guess])
        first = -1 if side.lower() == guess else 1
        if side == "R":
            return pays(first)
        answers = {coin: [(call, first + (-1 if coin.lower() == call else 1)) for call in "ht"] for coin in "HT"}
        calls = {
            coin: Decision(1, f"call after {guess}", [(call, pays(paid)) for call, paid in answer])
            for coin, answer in answers.items()
        }
        return Decision(0, f"second after {guess}", list(calls.items()))

    def chosen(side, way):
        return Decision(1, f"guess after {way}", [(guess, guessed(side, way, guess)) for guess in "lr"])

    ways = {side: Decision(1, "way", [(way, chosen(side, way)) for way in "xy"]) for side in "LR"}
    tree = Decision(0, "first", list(ways.items()))
    game = Game.from_tree(to_graph(tree))
    calls = {f"call after {guess}": {"t": 1.0} for guess in "lr"}
    return game, Strategy.from_dict(game, 1, calls | {"way": {"x": 0.1, "y": 0.9}})


def test_behaviour_mixed_at_each_infoset_may_lose_more_than_in_proportion():
    game, model = two_guesses()
    best, mixed, drawn = (
        solve(CDBRNE(game, model, p=p, lookahead=1, game_value=0, mixing=mixing))
        for p, mixing in ((1, "infoset"), (0.5, "infoset"), (0.5, "plan"))
    )
    # The first coin is L with 1/4 in the response, and with 1/2 in equilibrium; the second is H, or either.
    assert best.strategy["first"]["L"] == pytest.approx(1 / 4)
    assert mixed.strategy["first"]["L"] == pytest.approx(3 / 8)
    assert mixed.strategy["second after l"]["H"] == pytest.approx(3 / 4)
    assert best.exploitability == pytest.approx(1 / 2 + 1 / 4)
    assert drawn.exploitability <= best.exploitability / 2 + 1e-9
    assert mixed.exploitability == pytest.approx(1 / 4 + 3 / 8 * 1 / 2)
    assert mixed.exploitability > best.exploitability / 2 + 0.06


@pytest.mark.parametrize("player", [0, 1])
def test_behaviour_mixed_at_each_infoset_may_gain_less_than_in_proportion(player):
    value = LEDUC_VALUE if player == 0 else -LEDUC_VALUE
    model = uniform(LEDUC, 1 - player)
    low, middle, high = (
        solve(CDBRNE(LEDUC, model, p=p, lookahead=1, game_value=value, mixing="infoset")) for p in (0, 0.5, 1)
    )
    assert low.exploitability == pytest.approx(0, abs=1e-9)
    assert high.gain == pytest.approx(solve(CDBR(LEDUC, model, lookahead=1, game_value=value)).gain)
    assert 0 < middle.gain < (low.gain + high.gain) / 2 - 0.1
    mixed, best, kept = (one.strategy for one in (middle, high, low))
    first = next(iter(mixed.treeplex.infoset_labels))
    for action, probability in mixed[first].items():
        assert probability == pytest.approx((best[first][action] + kept[first][action]) / 2)


def test_an_infoset_that_one_of_the_mixed_strategies_does_not_reach_keeps_the_other_s_behaviour():
    model = uniform(LEDUC)
    best, kept, mixed = (
        solve(CDBRNE(LEDUC, model, p=p, lookahead=1, game_value=LEDUC_VALUE, mixing="infoset")).strategy
        for p in (1, 0, 0.25)
    )
    own, found = mixed.treeplex, {0: 0, 1: 0, 2: 0}
    reached = [one.treeplex.reach(one.plan) > 1e-9 for one in (best, kept)]
    for infoset, label in enumerate(own.infoset_labels):
        ways = [bool(one[infoset]) for one in reached]
        found[sum(ways)] += 1
        if any(ways):
            weight = 0.25 if all(ways) else float(ways[0])
            shares = best[label].items()
            expected = {action: weight * share + (1 - weight) * kept[label][action] for action, share in shares}
            assert mixed[label] == pytest.approx(expected)
    assert min(found.values()) > 0


@thorough
def test_restricted_nash_responses_beat_mixtures_at_equal_exploitability():
    model = uniform(LEDUC)
    robust = solve(CDRNR(LEDUC, model, p=0.5, lookahead=3, game_value=LEDUC_VALUE))
    for p in np.linspace(0, 1, 21):
        mixed = solve(CDBRNE(LEDUC, model, p=p, lookahead=3, game_value=LEDUC_VALUE))
        assert mixed.gain < robust.gain or mixed.exploitability > robust.exploitability


@thorough
def test_safe_exploitation_search_gains_little_and_risks_little():
    leduc = load_game("leduc")
    best_nash = solve(BestNash(leduc, uniform(leduc))).gain
    for p in (0, 0.25, 0.5, 0.75):
        found = solve(SES(leduc, uniform(leduc), p=p, game_value=LEDUC_VALUE))
        assert found.status is Status.OPTIMAL
        assert found.gain <= best_nash + 0.05
        assert found.exploitability <= (1e-9 if p == 0 else 0.1)
        assert found.steps == (found.objective,)
        assert found.objective >= -1e-9


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("surplus", [0.0, 0.1, 0.25, 0.5])
def test_the_search_is_safe_up_to_the_bound_s_p_and_no_further(surplus, turns):
    """Player 1 lays a coin, player 0 guesses: eta is the surplus of heads over 1/2 twice, and infinite at 1/2 of p.

    With turns player 0 may first turn to a subgame that costs it 9, whose ways in then do not count.
    """
    paid = {("h", "H"): 1, ("h", "T"): -1, ("t", "H"): -1, ("t", "T"): 1}

    def guess(coin, cost, label):
        amounts = {call: paid[coin, call] - cost for call in "HT"}
        return Decision(0, label, tuple((call, Leaf((amount, -amount))) for call, amount in amounts.items()))

    guesses = {coin: guess(coin, 0, "guess") for coin in "ht"}
    if turns:
        guesses = {
            coin: Decision(0, "way", (("aside", guess(coin, 9, "aside")), ("on", guesses[coin]))) for coin in "ht"
        }
    game = Game.from_tree(to_graph(Decision(1, "coin", tuple(guesses.items()))))
    model = Strategy.from_dict(game, 1, {"coin": {"h": 0.5 + surplus, "t": 0.5 - surplus}})
    limit = 1 / (1 + 2 * surplus)
    for p in (0.0, 0.9 * limit, min(1.0, 1.1 * limit)):
        found = solve(SES(game, model, p=p, level=1 + turns, game_value=0))
        bound = found.problem.bound(found.dual_certificate)
        assert (bound.distance, bound.largest_p) == pytest.approx((2 * surplus, limit))
        if p < limit:
            assert found.safety_bound == pytest.approx(0, abs=1e-6)
            assert found.exploitability == pytest.approx(0, abs=1e-9)
        else:
            assert found.safety_bound is None
            assert surplus == 0 or found.exploitability == pytest.approx(1)


@examples(60)
@given(trees(depth=6, size=24), st.integers(0, 2**16), st.sampled_from([0, 1]), st.sampled_from([0.02, 0.3, 1.0]))
def test_the_search_keeps_to_its_bound(tree, seed, player, share):
    """The model is near the equilibrium, or takes other ways in."""
    game, drawn = posed_on(tree, seed, player)
    source, profile = np.random.default_rng(seed), solve(Nash(game), "highs-simplex").profile
    free = profile[1 - player]
    # It differs in what the equilibrium does at all; a share of a random one has every way in.
    weights = free.behaviour * source.uniform(1 - share, 1, len(free.behaviour))
    model = Strategy(game, 1 - player, free.treeplex.behaviour(free.treeplex.plan(free.treeplex.behaviour(weights))))
    value = value_to(game, player)
    level = int(source.integers(1, game.public_tree.num_levels))
    bounded = 0
    for p in (0, 0.1, 0.5):
        for opponent in (model, drawn):
            for method, words in (("lp", {}), ("cfr+", {"tol": 0, "max_iterations": 20})):
                found = solve(SES(game, opponent, p=p, level=level, game_value=value), method, **words)
                bounded += found.safety_bound is not None
                if found.safety_bound is not None:
                    assert found.exploitability <= found.safety_bound + 1e-7
                    assert p == 0 or p < found.problem.bound(found.dual_certificate).largest_p
                else:
                    assert p > 0
    assert bounded >= 4  # with p = 0 it is max-margin, whatever the model


def test_in_leduc_uniform_play_takes_ways_that_no_equilibrium_takes_and_the_bound_says_nothing():
    for p, bound in ((0, 0.0), (0.1, None), (0.9, None)):
        found = solve(SES(LEDUC, uniform(LEDUC), p=p, game_value=LEDUC_VALUE))
        assert found.safety_bound == (bound if bound is None else pytest.approx(bound, abs=1e-5))
    assert found.problem.bound(found.dual_certificate).largest_p == 0
    # Where the model is the equilibrium's opponent it is safe for every p below 1.
    profile = solve(Nash(LEDUC), "highs-simplex").profile
    found = solve(SES(LEDUC, profile[1], p=0.9, game_value=LEDUC_VALUE))
    assert found.safety_bound == pytest.approx(0, abs=1e-4)
    assert found.exploitability <= found.safety_bound + 1e-9


def test_safe_exploitation_search_exploits_nobody_where_only_moves_are_simultaneous():
    game = load_game("repeated_rps:rock=3")
    model = opponent_strategy("random:seed=5", game, 1)
    equilibrium = solve(Nash(game), "highs-simplex").profile[0]
    found = solve(SES(game, model, p=0.5, level=2))
    assert found.gain == pytest.approx(gain(game, equilibrium, model, found.game_value), abs=1e-6)
    assert solve(CDRNR(game, model, p=0.5, lookahead=1)).gain > found.gain + 0.1


# Stops, and refusals


def test_a_time_limit_and_a_callback_stop_between_steps():
    problem = CDBR(LEDUC, uniform(LEDUC), lookahead=1, game_value=LEDUC_VALUE)
    late = solve(problem, time_limit=0.0)
    assert late.status is Status.TIME_LIMIT
    assert late.steps is None
    seen = []
    stopped = solve(problem, callback=lambda progress: bool(seen.append(progress.iterations) or len(seen) == 3))
    assert stopped.status is Status.INTERRUPTED
    assert stopped.steps == solve(problem).steps[:3]
    assert stopped.gap is None
    assert stopped.opponent_value >= stopped.steps[-1] - 1e-9  # the model errs below the limit


def test_an_iteration_limit_stops_and_a_start_is_refused():
    problem = CDBR(LEDUC, uniform(LEDUC), lookahead=1, game_value=LEDUC_VALUE)
    needed = solve(problem).iterations
    few = solve(problem, max_iterations=needed // 2)
    assert few.status is Status.ITERATION_LIMIT
    assert few.steps is None or len(few.steps) < 7
    assert solve(problem, max_iterations=2 * needed).status is Status.OPTIMAL
    with pytest.raises(UnknownMethodError, match="lp does not accept a start"):
        solve(problem, start=Profile.uniform(LEDUC))


def test_the_record_has_steps_and_the_bound():
    record = solve(CDRNR(KUHN, uniform(KUHN), p=0.5, lookahead=1)).to_dict()
    assert record["step_levels"] == [0, 2]
    assert len(record["steps"]) == len(record["step_gaps"]) == 2
    assert record["safety_bound"] == pytest.approx(record["gain"])
    assert solve(Nash(KUHN)).to_dict()["steps"] is None


@pytest.mark.parametrize("lookahead", [0, -1, 1.0, True, "1", None])
def test_a_lookahead_is_a_whole_number_from_one_on(lookahead):
    with pytest.raises(InvalidGameError, match=r"cdbr: lookahead is .*, expected a whole number of at least 1"):
        CDBR(KUHN, uniform(KUHN), lookahead=lookahead)


def test_bad_questions_are_refused_in_one_line():
    model = uniform(KUHN)
    with pytest.raises(UnsupportedProblemError, match=r"unknown gadget 'ful' .did you mean full.*expected one of"):
        CDRNR(KUHN, model, p=0.5, lookahead=1, gadget="ful")
    with pytest.raises(InvalidGameError, match=r"p is 1.5, expected a number from 0 to 1"):
        CDRNR(KUHN, model, p=1.5, lookahead=1)
    with pytest.raises(InvalidStrategyError, match="another game"):
        CDBR(KUHN, uniform(LEDUC), lookahead=1)
    with pytest.raises(InvalidStrategyError, match=r"blueprint is .*, expected a Profile"):
        CDRNR(KUHN, model, p=0.5, lookahead=1, blueprint=model)
    with pytest.raises(InvalidStrategyError, match="another game"):
        CDRNR(KUHN, model, p=0.5, lookahead=1, blueprint=Profile.uniform(LEDUC))
    with pytest.raises(UnsupportedProblemError, match="along is 'states', expected one of level, path"):
        CDBR(KUHN, model, lookahead=1, along="states")
    flows = load_game("transit:width=2")
    with pytest.raises(UnsupportedProblemError, match="no histories"):
        solve(CDBR(flows, uniform(flows), lookahead=1))
    with pytest.raises(UnsupportedProblemError, match="no public chance event"):
        solve(SES(KUHN, model, p=0.5))
    for level, message in [
        (-1, "level is -1, expected one from 0 to 2"),
        (1.5, "level is 1.5, expected one from 0 to 2"),
        ([1, True], "level is True, expected one from 0 to 2"),
        ("1+4", "level is 4, expected one from 0 to 2, several as 2"),
        ("chanc", "level is 'chanc', expected one from 0 to 2, several as 2"),
        ("chance", "level is chance, but the game has no public chance event"),
        ([], r"level is \[\], expected at least one level"),
        (lambda public: [9], "public state is 9, expected one from 0 to 3"),
    ]:
        with pytest.raises((UnsupportedProblemError, InvalidGameError), match=message):
            solve(CDRNR(KUHN, model, p=0.5, level=level))
    with pytest.raises(InvalidGameError, match="lookahead is 1 and level is 1, expected one of the two"):
        CDBR(KUHN, model, lookahead=1, level=1)
    with pytest.raises(UnsupportedProblemError, match="expected subgames that do not contain each other"):
        solve(SES(KUHN, model, p=0.5, level=[1, 2]))
    with pytest.raises(UnsupportedProblemError, match="level is 3, expected one from 0 to 2"):
        solve(SES(KUHN, model, p=0.5, level=3))
    three = load_game("kuhn:players=3")
    with pytest.raises(UnsupportedProblemError, match="two players"):
        CDBR(three, uniform(three), lookahead=1)


def test_no_bound_is_given_where_there_is_none():
    model = uniform(KUHN)
    posed = CDRNR(KUHN, model, p=0.5, lookahead=1)
    found = solve(posed)
    assert found.safety_bound == pytest.approx(found.gain)
    for changes in ({"p": 1}, {"gadget": "resolving"}, {"along": "path"}):
        assert solve(dataclasses.replace(posed, **changes)).safety_bound is None
    # Stopped before the first step, uniform play is what there is, and nothing is proven of it.
    stopped = solve(posed, max_iterations=0)
    assert stopped.steps is None
    assert stopped.safety_bound is None


def test_there_is_no_single_program_and_one_method():
    problem = CDBR(KUHN, uniform(KUHN), lookahead=1)
    assert not isinstance(problem, SaddleProblem)  # so it has no program of its own
    with pytest.raises(UnsupportedProblemError, match="method highs cannot solve cdbr: use lp"):
        solve(problem, "highs")
    with pytest.raises(UnsupportedProblemError, match="method lp cannot solve nash"):
        solve(Nash(KUHN), "lp")
    with pytest.raises(UnknownMethodError, match="lp: algorithm = pdlp; expected one of auto, simplex"):
        DepthLimitedLP("pdlp")


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("name", "p"), [("kuhn", 0.3), ("leduc:merge_suits=true", 1.0), ("kuhn:cards=5", 0.5)])
def test_games_in_public_form_have_the_same_steps(name, p, player):
    rules = load_game(name)
    public = Game.from_public_form(PublicForm.from_rules(rules.rules))
    found = [solve(CDRNR(game, Strategy.uniform(game, 1 - player), p=p, lookahead=1), "lp") for game in (rules, public)]
    assert found[1].steps[0] == pytest.approx(found[0].steps[0], abs=1e-9)
    assert len(found[1].steps) == len(found[0].steps)
    assert found[1].objective >= found[1].steps[0] - 1e-9
    if p == 1.0:  # best responses go to the same optimum at every step, whatever the order of sequences
        assert found[1].steps == pytest.approx(found[0].steps, abs=1e-9)


def test_gadgets_in_public_form_are_those_on_histories():
    rules = load_game("kuhn")
    form = PublicForm.from_rules(rules.rules)
    public = Game.from_public_form(form)
    for gadget in ("resolving", "max-margin"):
        found = [
            solve(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1, gadget=gadget), "lp")
            for game in (rules, public)
        ]
        assert found[1].steps == pytest.approx(found[0].steps, abs=1e-9)
    undealt = PublicForm(form.players, form.parents, form.actions, form.states, form.leaves, form.weights)
    game = Game.from_public_form(undealt)  # which pairs of cards can be dealt is not known
    with pytest.raises(UnsupportedProblemError, match="has no leaf table, which gadgets and value functions need"):
        solve(CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1, gadget="resolving"), "lp")
