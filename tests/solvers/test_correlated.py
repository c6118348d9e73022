"""Correlated equilibria against linear programs over pairs of pure plans, and against deviations counted one by one."""

import itertools
import random

import numpy as np
import pytest
from effort import either
from random_trees import (
    Chance,
    Decision,
    Leaf,
    count_pure_strategies,
    matrix_game,
    pure_strategies,
    seeded_tree,
    to_game,
)
from scipy.optimize import linprog

from treeplex import (
    EFCCE,
    EFCE,
    NFCCE,
    NFCE,
    EpsilonNash,
    Game,
    InvalidOptionError,
    Profile,
    SequenceForm,
    SolverError,
    Stackelberg,
    Status,
    UnsupportedProblemError,
    load_game,
    parse_constraint,
    solve,
)
from treeplex.models.correlation import (
    CorrelationPlan,
    Deviations,
    PurePlans,
    SequencePairs,
    VonStengelForges,
    correlation_polytope,
    count_pure_plans,
)
from treeplex.models.problems import SEFCE

BATTLESHIP = "battleship(board_height=1,board_width=2,ship_sizes=[1],ship_values=[1.0],num_shots=1,loss_multiplier=2.0)"
SHERIFF = "sheriff(item_penalty=1.0,item_value=5.0,sheriff_penalty=1.0,max_bribe=1,max_items=1,num_rounds=1)"
SHERIFF_2 = "sheriff(item_penalty=2.0,item_value=5.0,sheriff_penalty=1.0,max_bribe=2,max_items=3,num_rounds=2)"
BATTLESHIP_2 = (
    "battleship(board_height=2,board_width=2,ship_sizes=[2],ship_values=[1.0],num_shots=2,loss_multiplier=2.0,"
    "allow_repeated_shots=false)"
)
CONCEPTS = {"efce": EFCE, "efcce": EFCCE, "nfcce": NFCCE}


def public_tree(seed, depth=5):
    """Grow a random tree in which chance is public: the infosets of nodes after different outcomes differ."""
    source = random.Random(seed)

    def node(level, pasts, news):
        if level == depth or (level > 1 and source.random() < 0.2):
            return Leaf((source.uniform(-1, 1), source.uniform(-1, 1)))
        if source.random() < 0.25:
            return Chance(tuple((f"c{i}", p, node(level + 1, pasts, f"{news}{i}")) for i, p in ((0, 0.25), (1, 0.75))))
        player, arity = source.randrange(2), source.randint(1, 2)
        label = f"{news}|{pasts[player]}{arity}"
        moves = []
        for action in "xy"[:arity]:
            after = [*pasts]
            after[player] = f"{label}{action}."
            moves.append((action, node(level + 1, tuple(after), news)))
        return Decision(player, label, tuple(moves))

    return node(0, ("", ""), "")


def is_small(root, most=60):
    return all(2 <= count_pure_strategies(root, player) <= most for player in (0, 1))


def small_trees(seed, grow):
    """Yield the seeded trees with few pure strategies."""
    return next(root for root in map(grow, itertools.count(1000 * seed)) if is_small(root))


def any_tree(seed):
    return seeded_tree(seed, zero_sum=False, depth=5, size=14)


# A second implementation, on distributions over pairs of pure plans


def plan_vectors(root, form, player):
    """Return all reduced pure plans as realization plans, from their infosets and actions by plain recursion."""
    treeplex, found = form.treeplexes[player], []
    for strategy in pure_strategies(root, player):
        plan = np.zeros(treeplex.num_sequences)
        plan[0] = 1.0
        for label, chosen in strategy.items():
            plan[treeplex.sequence(label, *chosen)] = 1.0
        found.append(plan)
    return np.array(found)


def ancestors(treeplex, sequence):
    """Return a sequence and all before it, without the empty one."""
    found = []
    while sequence:
        found.append(sequence)
        sequence = int(treeplex.parents[treeplex.sequence_infosets[sequence]])
    return found


def triggers_of(treeplex, concept):
    """Return where each deviation begins: an infoset, or ``None``; and the sequence that the player is recommended."""
    if concept == "nfcce":
        return [(None, 0)]
    if concept == "efcce":
        return [(infoset, int(treeplex.parents[infoset])) for infoset in range(treeplex.num_infosets)]
    return [(int(treeplex.sequence_infosets[one]), one) for one in range(1, treeplex.num_sequences)]


def gains_by_pairs(form, plans, player, concept):
    """Return, for every trigger and deviation, what it gains under each pair of pure plans."""
    treeplex, leaves = form.treeplexes[player], form.leaves
    own, other = plans[player], plans[1 - player]
    paid = leaves.chance * leaves.payoffs[:, player]
    mine, theirs = leaves.sequences[:, player], leaves.sequences[:, 1 - player]
    reached = other[:, theirs] * paid  # by plan of the other player and leaf
    rows = []
    for infoset, watched in triggers_of(treeplex, concept):
        past = [ancestors(treeplex, int(one)) for one in mine]
        from_here = np.array(
            [infoset is None or any(treeplex.sequence_infosets[s] == infoset for s in one) for one in past]
        )
        follows = np.array([concept != "efce" or watched in one for one in past])
        above = ancestors(treeplex, int(treeplex.parents[infoset])) if infoset is not None else []
        seen = {tuple(plan * _below(treeplex, infoset)): plan for plan in own if all(plan[one] for one in above)}
        obeyed = own[:, mine] * (from_here & follows)
        for deviation in seen.values():
            gained = own[:, [watched]] * (deviation[mine] * from_here) - obeyed
            rows.append(gained @ reached.T)
    return rows


def _below(treeplex, infoset):
    """Return which sequences are at an infoset or below it."""
    if infoset is None:
        return np.ones(treeplex.num_sequences)
    return np.array([
        float(any(treeplex.sequence_infosets[one] == infoset for one in ancestors(treeplex, sequence)))
        for sequence in range(treeplex.num_sequences)
    ])  # fmt: skip


def optimum_over_pairs(root, game, concept, weights, deviators=(0, 1)):
    """Return the best objective of a distribution over pairs of pure plans without gains of those who may deviate."""
    form = game.sequence_form
    plans = [plan_vectors(root, form, player) for player in (0, 1)]
    shape = len(plans[0]), len(plans[1])
    leaves = form.leaves
    worth = np.zeros(shape)
    for chance, sequences, payoffs in zip(leaves.chance, leaves.sequences, leaves.payoffs, strict=True):
        worth += chance * np.dot(weights, payoffs) * np.outer(plans[0][:, sequences[0]], plans[1][:, sequences[1]])
    rows = []
    for player in deviators:
        rows += [(row.T if player else row).ravel() for row in gains_by_pairs(form, plans, player, concept)]
    found = linprog(
        -worth.ravel(), np.array(rows), np.zeros(len(rows)), np.ones((1, worth.size)), [1.0], method="highs"
    )
    return -found.fun


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("grow", [any_tree, public_tree])
@pytest.mark.parametrize("seed", range(20))
def test_optima_are_those_over_pairs_of_pure_plans(concept, grow, seed):
    root = small_trees(seed, grow)
    game = to_game(root)
    for name, weights in (("welfare", (1, 1)), ("0", (1, 0)), ("1", (0, 1))):
        solution = solve(CONCEPTS[concept](game, maximise=name))
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(optimum_over_pairs(root, game, concept, weights), abs=1e-7)
        assert solution.objective == pytest.approx(np.dot(weights, solution.value), abs=1e-12)


@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize("grow", [any_tree, public_tree])
@pytest.mark.parametrize("seed", range(20))
def test_correlated_commitments_are_those_over_pairs_of_pure_plans(seed, grow, leader):
    root = small_trees(seed, grow)
    game = to_game(root)
    solution = solve(SEFCE(game, leader=leader))
    weights = (1 - leader, leader)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum_over_pairs(root, game, "efce", weights, (1 - leader,)), abs=1e-7)
    assert solution.upper == pytest.approx(solution.objective, abs=1e-7)
    assert solution.regrets[leader] == 0.0
    # Signals never hurt, and the leader need not be kept from deviating.
    assert solution.objective >= solve(Stackelberg(game, leader=leader)).objective - 1e-7
    assert solution.objective >= solve(EFCE(game, maximise=str(leader))).objective - 1e-7


@pytest.mark.parametrize("seed", range(20))
def test_in_matrix_games_signals_are_worth_nothing(seed):
    first, second = np.random.default_rng(seed).integers(-5, 6, size=(2, 4, 4)).astype(float)
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(first, second))
    for leader in (0, 1):
        strong = solve(Stackelberg(game, leader=leader)).objective
        assert solve(SEFCE(game, leader=leader)).objective == pytest.approx(strong, abs=1e-7)


def test_a_leader_is_one_of_two_players():
    with pytest.raises(UnsupportedProblemError, match="leader is 2, expected a whole number from 0 to 1"):
        SEFCE(load_game("signalling"), leader=2)


@pytest.mark.parametrize("seed", range(50))
def test_concepts_are_ordered_and_contain_the_nash_equilibria(seed):
    root = small_trees(seed, any_tree if seed % 2 else public_tree)
    game = to_game(root)
    for name in ("welfare", "0"):
        solutions = [solve(kind(game, maximise=name)) for kind in (NFCCE, EFCCE, EFCE, NFCE)]
        best = solve(EpsilonNash(game, maximise=name))
        values = [solution.objective for solution in solutions] + [best.objective]
        assert all(more >= less - 1e-8 for more, less in itertools.pairwise(values)), values
        for solution in solutions:
            assert solution.lower <= solution.upper <= solution.lower + 1e-8
            nash = solution.problem.certify(best.profile)
            assert max(nash.regrets) <= 1e-8
            assert nash.objective == pytest.approx(best.objective, abs=1e-8)


@pytest.mark.parametrize("grow", [any_tree, public_tree])
@pytest.mark.parametrize("seed", range(20))
def test_normal_form_equilibria_are_those_of_a_program_over_pairs_of_plans(seed, grow):
    root = small_trees(seed, grow)
    game = to_game(root)
    form = game.sequence_form
    plans = [plan_vectors(root, form, player) for player in (0, 1)]
    leaves = form.leaves
    reached = np.array([plans[player][:, leaves.sequences[:, player]] for player in (0, 1)], dtype=object)
    own, other = (each.astype(float) for each in reached)
    paid = [(own * (leaves.chance * leaves.payoffs[:, player])) @ other.T for player in (0, 1)]
    rows = []  # what replacing one plan by another gains
    for told, played in itertools.permutations(range(len(own)), 2):
        row = np.zeros_like(paid[0])
        row[told] = paid[0][played] - paid[0][told]
        rows.append(row.ravel())
    for told, played in itertools.permutations(range(len(other)), 2):
        row = np.zeros_like(paid[1])
        row[:, told] = paid[1][:, played] - paid[1][:, told]
        rows.append(row.ravel())
    for name, weights in (("welfare", (1, 1)), ("0", (1, 0)), ("1", (0, 1))):
        worth = weights[0] * paid[0] + weights[1] * paid[1]
        one = np.ones((1, worth.size))
        found = linprog(-worth.ravel(), np.array(rows), np.zeros(len(rows)), one, [1.0], method="highs")
        solution = solve(NFCE(game, maximise=name))
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(-found.fun, abs=1e-7)
        assert solution.lower <= solution.upper <= solution.lower + 1e-8
        # The certificate, from the pairs of plans that the mediator draws.
        drawn = np.zeros(worth.shape)
        for chance, both in solution.state.mixture():
            pair = [np.flatnonzero((plans[who] == vector(form, both, who)).all(axis=1))[0] for who in (0, 1)]
            drawn[tuple(pair)] += chance
        mine = (np.max(paid[0] @ drawn.T, axis=0) - np.diag(paid[0] @ drawn.T)).sum()
        theirs = (np.max(paid[1].T @ drawn, axis=0) - np.diag(paid[1].T @ drawn)).sum()
        assert solution.regrets == pytest.approx((mine, theirs), abs=1e-9)
        assert solution.value == pytest.approx([(one * drawn).sum() for one in paid], abs=1e-9)


def test_constraints_limit_the_plans_that_are_recommended():
    game = load_game("signalling")
    free = solve(NFCE(game))
    used = int(np.argmax(free.profile[0].plan[1:])) + 1
    infoset, action = game.sequence_form.treeplexes[0].sequence_label(used)
    assert free.profile[0].plan[used] > 0.6
    solution = solve(NFCE(game, parse_constraint(f"0/{infoset}:{action} <= 0.5", game)))
    assert solution.status is Status.OPTIMAL
    assert solution.state.marginal(0)[used] <= 0.5 + 1e-9
    assert solution.profile[0].plan[used] == pytest.approx(solution.state.marginal(0)[used], abs=1e-9)
    assert solution.objective <= free.objective + 1e-9


def test_signals_of_whole_plans_lose_what_von_stengel_and_forges_say():
    game = load_game("signalling")
    for name in ("welfare", "1"):
        assert solve(NFCE(game, maximise=name)).value == pytest.approx((0.0, 6.0), abs=1e-9)
    assert solve(EFCE(game, maximise="1")).value == pytest.approx((3.5, 6.5), abs=1e-9)


def test_games_with_many_plans_are_refused_before_they_are_listed():
    said = "correlated equilibria of whole plans: the players have .* pure plans, .* expected at most 250,000"
    for name in ("battleship", "leduc"):
        with pytest.raises(UnsupportedProblemError, match=said):
            solve(NFCE(load_game(name)))


def test_a_stopped_search_for_a_normal_form_equilibrium_returns_a_plan():
    problem = NFCE(load_game("kuhn"))
    solution = solve(problem, time_limit=1e-3)
    assert solution.state is not None
    assert solution.state.violation <= 1e-9
    assert problem.certify(solution.profile, {}, {"plan": solution.state.columns}).regrets == solution.regrets


# The certificate


def gain_from_draws(form, mixture, player, concept):
    """Return what the best response gains in the game with recommendations, from the pairs of plans that are drawn."""
    treeplex, leaves = form.treeplexes[player], form.leaves
    mine, theirs = leaves.sequences[:, player], leaves.sequences[:, 1 - player]
    drawn = [(chance, vector(form, both, player), vector(form, both, 1 - player)) for chance, both in mixture]

    def best(infoset, draws):
        """Return the best payoff from an infoset on (``None``: in the game) against the other player's drawn plans."""
        weights = leaves.chance * leaves.payoffs[:, player] * sum(chance * other[theirs] for chance, _, other in draws)
        values = np.bincount(mine, weights=weights, minlength=treeplex.num_sequences).astype(float)
        for below in reversed(range(treeplex.num_infosets)):
            here = slice(treeplex.offsets[below], treeplex.offsets[below + 1])
            if below == infoset:
                return values[here].max()
            values[treeplex.parents[below]] += values[here].max()
        return values[0]

    def paid(sequence, draws):
        """Return the payoff at the leaves at which the player's last sequence is the given one."""
        here = mine == sequence
        reach = sum((chance * other[theirs[here]] for chance, _, other in draws), np.zeros(here.sum()))
        return float(leaves.chance[here] * leaves.payoffs[here, player] @ reach)

    def following(sequence, draws):
        """Return the best payoff from a sequence on, if the player has followed so far."""
        total = paid(sequence, draws)
        for infoset in np.flatnonzero(treeplex.parents == sequence).tolist():
            told = 0.0
            for action in range(treeplex.offsets[infoset], treeplex.offsets[infoset + 1]):
                agree = [one for one in draws if one[1][action]]
                if agree:
                    follow = following(action, agree)
                    told += max(follow, best(infoset, agree)) if concept == "efce" else follow
            total += max(told, best(infoset, draws)) if concept == "efcce" and draws else told
        return total

    obeyed = sum(
        chance * leaves.chance @ (leaves.payoffs[:, player] * own[mine] * other[theirs]) for chance, own, other in drawn
    )
    found = max(following(0, drawn), best(None, drawn)) if concept == "nfcce" else following(0, drawn)
    return found - obeyed


def vector(form, both, player):
    treeplex = form.treeplexes[player]
    plan = np.zeros(treeplex.num_sequences)
    plan[[0, *(treeplex.sequence(at, do) for at, do in both[player].items())]] = 1.0
    return plan


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("seed", range(20))
def test_regrets_are_gains_in_the_game_with_recommendations(concept, seed):
    game = to_game(small_trees(seed, any_tree if seed % 2 else public_tree))
    form, source = game.sequence_form, np.random.default_rng(seed)
    pairs = SequencePairs(form)
    polytope = correlation_polytope(pairs)
    columns = polytope.point(polytope.shares(source.dirichlet(np.ones(polytope.size))))
    plan = CorrelationPlan(polytope, columns)
    mixture = plan.mixture()
    for player in (0, 1):
        regret = Deviations(pairs, player, concept).regret(plan.values)
        assert regret == pytest.approx(gain_from_draws(form, mixture, player, concept), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_for_any_prices_and_deviations(seed):
    problem = EFCE(to_game(small_trees(seed, any_tree if seed % 2 else public_tree)))
    best = solve(problem)
    polytope, source = problem.polytope, np.random.default_rng(seed)
    for size in (0.0, 0.1, 10.0):
        given = {"plan": polytope.point(polytope.shares(source.random(polytope.size)))}
        for player, each in enumerate(problem.deviations):
            given[f"prices of player {player}"] = size * source.normal(size=each.num_triggers)
            given[f"deviations of player {player}"] = source.normal(size=each.treeplex.num_sequences)
        found = problem.certify(best.profile, {}, given)
        assert found.lower <= found.upper
        assert best.objective <= found.upper + 1e-9


# The polytopes


@pytest.mark.parametrize("seed", range(30))
def test_triangle_free_games_have_the_same_plans_by_either_polytope(seed):
    game = to_game(small_trees(seed, public_tree))
    pairs, source = SequencePairs(game.sequence_form), np.random.default_rng(seed)
    assert pairs.triangle is None
    both = VonStengelForges(pairs), PurePlans(pairs, seed % 2)
    for gradient in source.normal(size=(5, pairs.num_pairs)):
        assert both[0].largest(gradient) == pytest.approx(both[1].largest(gradient), abs=1e-9)
    for polytope in both:
        columns = polytope.point(polytope.shares(source.random(polytope.size)))
        plan = CorrelationPlan(polytope, columns)
        assert plan.violation <= 1e-14
        matrix, right = polytope.equations
        assert np.abs(matrix @ columns - right).max() <= 1e-14


@pytest.mark.parametrize("seed", range(20))
def test_recommendations_have_the_probabilities_of_the_plan(seed):
    game = to_game(small_trees(seed, any_tree if seed % 2 else public_tree))
    pairs, source = SequencePairs(game.sequence_form), np.random.default_rng(seed)
    for polytope in [PurePlans(pairs, 0), *([VonStengelForges(pairs)] if pairs.triangle is None else [])]:
        plan = CorrelationPlan(polytope, polytope.point(polytope.shares(source.random(polytope.size))))
        total = np.zeros(pairs.num_pairs)
        for chance, both in plan.mixture():
            x, y = (vector(game.sequence_form, both, player) for player in (0, 1))
            total += chance * x[pairs.first] * y[pairs.second]
        assert np.abs(total - plan.values).max() <= 1e-10
        draws = either(500, 2_000)
        counted = np.zeros(pairs.num_pairs)
        for _ in range(draws):
            both = plan.recommend(source)
            x, y = (vector(game.sequence_form, both, player) for player in (0, 1))
            counted += x[pairs.first] * y[pairs.second]
        error = np.abs(counted / draws - plan.values)
        assert (error <= 5.0 * np.sqrt(np.maximum(plan.values * (1 - plan.values), 0.0) / draws) + 1e-9).all()


def test_every_draw_is_a_pair_of_plans():
    solution = solve(EFCE(load_game("goofspiel:cards=3"), maximise="0"))
    plan = solution.state
    assert plan.recommend(3) == plan.recommend(3)
    shares = plan.polytope.shares(np.ones(plan.polytope.size))
    drawn = plan.polytope.draw(shares, np.random.default_rng(5))
    x, y = (drawn[plan.polytope.pairs.marginal(player)] for player in (0, 1))
    assert set(drawn) <= {0.0, 1.0}
    assert (drawn == x[plan.polytope.pairs.first] * y[plan.polytope.pairs.second]).all()
    with pytest.raises(InvalidOptionError, match="seed"):
        plan.recommend(-1)


# Known games


def test_chicken_has_the_textbook_optimum():
    game = matrix_game([[0, 7], [2, 6]], [[0, 2], [7, 6]])
    for kind in (EFCE, EFCCE, NFCCE):
        solution = solve(kind(game))
        assert solution.value == pytest.approx((5.25, 5.25), abs=1e-9)


def test_zero_sum_games_have_their_value():
    for kind in CONCEPTS.values():
        for seat, value in (("0", -1 / 18), ("1", 1 / 18)):
            assert solve(kind(load_game("kuhn"), maximise=seat)).objective == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("method", ["highs", "highs-ipm", "highs-ipm-crossover", "highs-pdlp"])
def test_every_algorithm_of_highs_proves_the_optimum(method):
    game = to_game(small_trees(3, any_tree))
    best = solve(EFCE(game), "highs-simplex").objective
    solution = solve(EFCE(game), method)
    assert solution.status is Status.OPTIMAL
    assert solution.lower - 1e-3 <= best <= solution.upper + 1e-9
    assert max(solution.regrets) <= 1e-3


def test_constraints_limit_what_is_recommended():
    game = matrix_game([[0, 7], [2, 6]], [[0, 2], [7, 6]])
    free = solve(EFCE(game))
    bounded = solve(EFCE(game, parse_constraint("0/_:a <= 0.1 as rare", game)))
    assert free.profile[0]["_"]["a"] == pytest.approx(0.25)
    assert bounded.profile[0]["_"]["a"] == pytest.approx(0.1)
    assert bounded.objective < free.objective
    assert bounded.lower <= bounded.upper <= bounded.lower + 1e-8
    looser = solve(EFCE(game, parse_constraint("0/_:a <= 0.101", game)))
    assert (looser.objective - bounded.objective) / 0.001 == pytest.approx(bounded.multipliers["rare"], rel=1e-4)


def test_impossible_constraints_are_named():
    game = matrix_game([[0, 7], [2, 6]], [[0, 2], [7, 6]])
    limits = [*parse_constraint("0/_:a <= 0.1", game), *parse_constraint("0/_:a >= 0.2", game)]
    solution = solve(EFCE(game, limits))
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.conflict == ("0/_:a <= 0.1", "0/_:a >= 0.2")


@pytest.mark.parametrize("method", ["highs-simplex", "highs-ipm", "highs-ipm-crossover"])
def test_equilibria_that_the_constraints_exclude_are_reported(method):
    dilemma = matrix_game([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    with pytest.raises(SolverError, match="no EFCE meets the constraints: loosen one of them"):
        solve(EFCE(dilemma, parse_constraint("0/_:a >= 0.5", dilemma)), method)
    ships = load_game("battleship")  # on which the simplex method alone stalls
    with pytest.raises(SolverError, match="no EFCE meets the constraints"):
        solve(EFCE(ships, parse_constraint("0/_:b1 >= 0.9", ships)), method)


def test_the_signalling_game_of_von_stengel_and_forges():
    game = load_game("signalling")
    assert solve(EFCE(game, maximise="1")).value == pytest.approx((3.5, 6.5), abs=1e-9)
    assert solve(EpsilonNash(game, maximise="1")).value == pytest.approx((0.0, 6.0), abs=1e-9)
    assert isinstance(EFCE(game).polytope, PurePlans)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Games of Farina, Ling, Fang and Sandholm (2019). The optima were computed by treeplex, and those of battleship
        # and of sheriff with one round and up to 5 items also by a linear program over pairs of pure plans.
        ("battleship", -13 / 18),
        ("sheriff:items=1", 5.0),
        ("sheriff:items=2", 10.0),
        ("sheriff:items=5", 3.5426),
        ("sheriff:items=10", 2.6935),
        ("sheriff:items=5,rounds=2", 10.0),
        ("sheriff:items=10,rounds=2", 9.0777),
    ],
)
def test_optima_of_the_benchmarks(name, value):
    solution = solve(EFCE(load_game(name)))
    assert solution.status is Status.OPTIMAL
    assert isinstance(solution.problem.polytope, VonStengelForges)
    assert solution.objective == pytest.approx(value, abs=5e-5)
    assert solution.gap <= 1e-8 * solution.problem.game.stakes


def test_uniform_play_of_battleship_has_the_published_welfare():
    """Section 5.1 of Farina et al. (2019): player 0 sinks the ship with probability 5/9, player 1 with 1/3."""
    game = load_game("battleship")
    certificate = EpsilonNash(game).certify(Profile.uniform(game))
    sunk = np.linalg.solve([[1.0, -2.0], [-2.0, 1.0]], certificate.value)
    assert sunk == pytest.approx([5 / 9, 1 / 3], abs=1e-12)
    assert certificate.epsilon <= 1e-12


def test_large_games_with_triangles_are_refused_with_the_triangle():
    with pytest.raises(UnsupportedProblemError, match=r"'Js_' and 'Qs_' of player 0, .* of player 1 form a triangle"):
        solve(EFCE(load_game("leduc")))


def test_games_that_do_not_fit_are_refused():
    with pytest.raises(UnsupportedProblemError, match="need perfect recall"):
        solve(NFCCE(load_game("transit:width=2")))
    with pytest.raises(UnsupportedProblemError, match="efce: maximise"):
        EFCE(load_game("kuhn"), maximise="2")


def test_a_player_without_decisions_is_allowed():
    alone = to_game(Decision(0, "_", (("a", Leaf((1.0, 0.0))), ("b", Leaf((2.0, 1.0))))))
    for kind in CONCEPTS.values():
        assert solve(kind(alone)).value == (2.0, 1.0)


@pytest.mark.parametrize("concept", CONCEPTS)
def test_games_in_which_nobody_moves_are_allowed(concept):
    game = to_game(Chance((("a", 0.75, Leaf((1.0, 3.0))), ("b", 0.25, Leaf((0.0, 3.0))))))
    solution = solve(CONCEPTS[concept](game))
    assert (solution.lower, solution.upper, solution.regrets) == (3.75, 3.75, (0.0, 0.0))
    assert solution.state.mixture() == [(1.0, ({}, {}))]


@pytest.mark.parametrize("seed", range(10))
def test_matrices_have_the_optima_of_their_tree(seed):
    game = to_game(small_trees(seed, any_tree if seed % 2 else public_tree))
    form = game.sequence_form
    matrices = [form.payoff_matrix(player) for player in (0, 1)]
    bare = Game.from_sequence_form(SequenceForm(form.treeplexes, payoff_matrices=matrices))
    for kind in CONCEPTS.values():
        assert solve(kind(bare)).objective == pytest.approx(solve(kind(game)).objective, abs=1e-8)


def test_a_start_is_refused():
    game = load_game("battleship")
    solution = solve(EFCE(game))
    assert repr(solution.state) == "CorrelationPlan(num_pairs=1150)"
    with pytest.raises(InvalidOptionError, match="does not accept a start for efce: omit the start"):
        solve(EFCE(game), "highs-ipm", start=solution)


def test_a_time_limit_ends_with_the_bounds_of_independent_play():
    solution = solve(EFCE(load_game("battleship:width=4,shots=3")), time_limit=0.5)
    assert solution.status is Status.TIME_LIMIT
    assert solution.lower <= -0.7 <= solution.upper
    assert solution.to_dict()["recommendations"] is None
    assert "ε-EFCE" in str(solution)


def test_pure_plans_are_counted_as_they_are_enumerated():
    for seed in range(5):
        root = small_trees(seed, any_tree)
        treeplexes = to_game(root).sequence_form.treeplexes
        counts = [count_pure_plans(treeplex) for treeplex in treeplexes]
        assert counts == [count_pure_strategies(root, player) for player in (0, 1)]


@pytest.mark.parametrize("seat", ["welfare", "0", "1"])
@pytest.mark.parametrize("name", ["kuhn_poker", "tiny_hanabi", BATTLESHIP, SHERIFF])
def test_openspiel_finds_no_gain_either(name, seat):
    pyspiel = pytest.importorskip("pyspiel")
    game = load_game(f"openspiel:{name}")
    solution = solve(NFCCE(game, maximise=seat))
    judged = pyspiel.cce_dist(pyspiel.load_game(name), openspiel_device(pyspiel, game, solution.state))
    assert judged.on_policy_values == pytest.approx(solution.value, abs=1e-9)
    assert judged.dist_value <= 1e-9


@pytest.mark.parametrize(("name", "is_apart"), [("kuhn_poker", False), (SHERIFF, False), (BATTLESHIP, True)])
def test_openspiel_finds_no_gain_from_whole_plans_either(name, is_apart):
    """OpenSpiel's distance is that of the normal form: recommendations revealed one by one may be far from it."""
    pyspiel = pytest.importorskip("pyspiel")
    game, theirs = load_game(f"openspiel:{name}"), pyspiel.load_game(name)
    for seat in ("welfare", "0", "1"):
        solution = solve(NFCE(game, maximise=seat))
        judged = pyspiel.ce_dist(theirs, openspiel_device(pyspiel, game, solution.state))
        assert judged.on_policy_values == pytest.approx(solution.value, abs=1e-9)
        assert judged.dist_value <= 1e-9
    step_by_step = solve(EFCE(game)).state
    found = pyspiel.ce_dist(theirs, openspiel_device(pyspiel, game, step_by_step)).dist_value
    assert found > 0.5 or not is_apart


def openspiel_device(pyspiel, game, plan):
    """Return OpenSpiel's form of recommendations, which name an action at every infoset."""
    device = []
    for chance, both in plan.mixture():
        table = {}
        for player, (treeplex, told) in enumerate(zip(game.sequence_form.treeplexes, both, strict=True)):
            for infoset, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
                numbers = game.rules.legal_numbers(player, infoset)
                place = actions.index(told.get(infoset, actions[0]))
                table[infoset] = [(number, float(number == numbers[place])) for number in numbers]
        device.append((chance, pyspiel.TabularPolicy(table)))
    return device


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("sheriff:items=3,rounds=2,penalty=2", SHERIFF_2),
        ("battleship:width=2,height=2,length=2", BATTLESHIP_2),
        ("battleship:width=2,shots=1", BATTLESHIP),
    ],
)
def test_games_are_those_of_openspiel(own, other):
    pytest.importorskip("pyspiel")
    forms = [load_game(name).sequence_form for name in (own, f"openspiel:{other}")]
    leaves = [sorted(map(tuple, form.leaves.payoffs.tolist())) for form in forms]
    sizes = [[treeplex.num_sequences for treeplex in form.treeplexes] for form in forms]
    assert leaves[0] == leaves[1]
    assert sizes[0] == sizes[1]


def test_json_and_report_have_the_recommendations():
    solution = solve(EFCE(load_game("signalling"), maximise="1"))
    record = solution.to_dict()
    assert sum(one["probability"] for one in record["recommendations"]) == pytest.approx(1.0)
    assert {len(one["players"]) for one in record["recommendations"]} == {2}
    assert record["lower"] <= record["upper"]
    assert "ε-EFCE" in str(solution)
    page = solution.report().to_html()
    assert "How often each action is recommended" in page
    assert "equilibrium of the game is a pair" not in page
    assert solve(EpsilonNash(load_game("signalling"))).to_dict()["recommendations"] is None


def test_profiles_are_certified_as_independent_recommendations():
    game = load_game("kuhn")
    uniform = Profile.uniform(game)
    efce, nfcce = (kind(game).certify(uniform) for kind in (EFCE, NFCCE))
    assert max(efce.regrets) > 0.1
    assert efce.value == pytest.approx(nfcce.value)
    assert all(more >= less - 1e-12 for more, less in zip(efce.regrets, nfcce.regrets, strict=True))
    assert isinstance(game, Game)


def centipede(levels):
    """Return a game in which the mover at level k takes k + 2 and leaves k − 1, or passes."""

    def leaf(level):
        paid = [float(level - 1)] * 2
        paid[level % 2] = float(level + 2)
        return Leaf(tuple(paid))

    node = leaf(levels)
    for level in reversed(range(levels)):
        node = Decision(level % 2, f"m{level}", (("take", leaf(level)), ("pass", node)))
    return to_game(node)


@pytest.mark.parametrize(
    ("levels", "method"),
    [(40, "highs"), (40, "highs-ipm"), pytest.param(200, "highs", marks=pytest.mark.slow)],
)
def test_long_centipedes_are_solved_by_dominance(levels, method):
    # Prices of deviations grow exponentially with the levels, so that no floats prove the whole program's optimum.
    solution = solve(EFCE(centipede(levels)), method)
    assert solution.status is Status.OPTIMAL
    assert solution.value == (2.0, -1.0)
    assert solution.lower <= solution.upper <= 1.0 + 1e-6


@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("seed", range(12))
def test_equilibria_never_use_excluded_columns(concept, seed):
    games = (to_game(small_trees(tree, any_tree if tree % 2 else public_tree)) for tree in itertools.count(4 * seed))
    problem = next(one for one in map(CONCEPTS[concept], games) if one.never.any())
    never, program = problem.never, problem.linear_program()
    weights = np.zeros(program.shape[1])
    weights[program.columns["plan"]] = -1.0 * never  # the largest weight that an equilibrium gives these columns
    equal = program.row_lower == program.row_upper
    found = linprog(
        weights,
        -program.matrix[~equal],
        -program.row_lower[~equal],
        program.matrix[equal],
        program.row_upper[equal],
        list(zip(program.column_lower, program.column_upper, strict=True)),
        method="highs",
    )
    assert found.status == 0
    assert found.fun >= -1e-6
    best = solve(problem)
    given = {**best.dual_certificate, "never recommended": np.ones(1)}
    again = problem.certify(best.profile, {}, {"plan": best.state.columns, **given})
    assert again.lower <= again.upper + 1e-9
    assert best.objective <= again.upper + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_independent_plans_are_points_of_either_polytope(seed):
    game = to_game(small_trees(seed, public_tree))
    pairs, source = SequencePairs(game.sequence_form), np.random.default_rng(seed)
    x, y = (tree.plan(tree.behaviour(source.random(tree.num_sequences))) for tree in game.sequence_form.treeplexes)
    for polytope in (VonStengelForges(pairs), PurePlans(pairs, 0), PurePlans(pairs, 1)):
        columns = polytope.of_plans(x, y)
        assert polytope.to_pairs @ columns == pytest.approx(x[pairs.first] * y[pairs.second], abs=1e-14)
        matrix, right = polytope.equations
        assert np.abs(matrix @ columns - right).max() <= 1e-14


def test_a_stopped_solve_returns_a_plan_of_small_regrets():
    problem = EFCE(load_game("sheriff:items=2,rounds=1"))
    solution = solve(problem, "highs-ipm", max_iterations=1)
    uniform = problem.certify(Profile.uniform(problem.game))
    assert solution.status is Status.ITERATION_LIMIT
    assert "iterations of trigger-regret minimisation" in solution.message
    assert max(solution.regrets) < max(uniform.regrets) / 2
    assert solution.lower <= solve(problem).objective <= solution.upper


@pytest.mark.parametrize("text", ["1/0:inspect <= 0.2", "0/_:2 <= 0.3", "0/_:0+0/_:1 >= 0.9", "0/_:0 <= 1"])
def test_a_stopped_solve_with_constraints_returns_a_plan_that_meets_them(text):
    game = load_game("sheriff:items=2,rounds=1")
    problem = EFCE(game, parse_constraint(text, game))
    solution = solve(problem, "highs-ipm", max_iterations=1)
    uniform = problem.certify(Profile.uniform(game))
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.violation <= 1e-12
    assert ("moved to meet the constraints" in solution.message) is (text != "0/_:0 <= 1")
    if text in ("1/0:inspect <= 0.2", "0/_:0 <= 1"):  # the others exclude the equilibria near the mixture
        assert solution.certificate.epsilon < uniform.epsilon
        assert solve(problem).objective <= solution.upper + 1e-9
    certified = problem.certify(solution.profile, {}, {"plan": solution.state.columns})
    assert certified.regrets == solution.regrets
