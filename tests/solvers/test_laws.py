"""Laws that hold in every game of perfect recall, over random trees with chance, ties and merged information sets."""

import dataclasses
import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import (
    Chance,
    Decision,
    Leaf,
    NestedRules,
    expected,
    infosets,
    random_behaviour,
    to_game,
    to_graph,
    trees,
    walk,
)

from treeplex import (
    Game,
    GameTree,
    Nash,
    Profile,
    SequenceForm,
    Strategy,
    UnsupportedProblemError,
    best_response,
    expected_payoffs,
    exploitability,
    nash_conv,
    solve,
)
from treeplex.seqform.evaluate import best_response_values, worst_case
from treeplex.seqform.polytope import best_response_plan

ROUND_OFF = 1e-12  # payoffs are of order one
VALUE = 1e-8  # of a linear program

seeds = st.integers(0, 2**32 - 1)


def profile_of(game, root, seed):
    """Return a random profile as strategies and as the dictionaries that the recursion reads."""
    source = random.Random(seed)
    behaviours = [random_behaviour(root, player, source) for player in range(game.num_players)]
    return Profile([Strategy.from_dict(game, i, behaviour) for i, behaviour in enumerate(behaviours)]), behaviours


def value_of(root) -> float:
    solution = solve(Nash(to_game(root)), "highs-simplex")
    assert solution.status == "optimal"
    return solution.value


def rebuilt(root, leaf=lambda node: node, decision=lambda node: node, chance=lambda node: node):
    """Rebuild a tree from below, each node changed once its children are."""
    if isinstance(root, Leaf):
        return leaf(root)
    if isinstance(root, Chance):
        outcomes = tuple((label, p, rebuilt(child, leaf, decision, chance)) for label, p, child in root.outcomes)
        return chance(Chance(outcomes))
    moves = tuple((label, rebuilt(child, leaf, decision, chance)) for label, child in root.moves)
    return decision(dataclasses.replace(root, moves=moves))


def test_the_trees_are_worth_testing_on():
    """The generator makes what the laws are about: chance, merged infosets, infosets below infosets, ties."""
    seen = {"chance": 0, "merged": 0, "deep": 0, "both players": 0}

    @settings(max_examples=50)
    @given(trees())
    def look(root):
        nodes = list(walk(root))
        labels = [(node.player, node.infoset) for node in nodes if isinstance(node, Decision)]
        seen["chance"] += any(isinstance(node, Chance) for node in nodes)
        seen["merged"] += len(set(labels)) < len(labels)
        seen["both players"] += len({player for player, _ in labels}) == 2
        seen["deep"] += any(last for player in (0, 1) for last, _ in infosets(root, player).values())

    look()
    assert min(seen.values()) >= 10, seen


# Sequence form


@given(trees(num_players=3, zero_sum=False), seeds)
def test_behaviour_gives_a_plan_and_a_plan_its_behaviour(root, seed):
    game = to_game(root)
    for strategy in profile_of(game, root, seed)[0]:
        treeplex, plan = strategy.treeplex, strategy.plan
        np.testing.assert_allclose(treeplex.E @ plan, treeplex.e, atol=ROUND_OFF)
        assert plan.min() >= 0.0
        assert treeplex.residual(plan) <= ROUND_OFF
        again = treeplex.behaviour(plan)
        np.testing.assert_allclose(treeplex.plan(again), plan, atol=ROUND_OFF)
        reached = np.repeat(plan[treeplex.parents] > 0, treeplex.num_actions)
        np.testing.assert_allclose(again[1:][reached], strategy.behaviour[1:][reached], atol=ROUND_OFF)


@given(trees(), seeds, seeds)
def test_mixing_plans_stays_in_the_polytope(root, seed, other):
    game = to_game(root)
    for one, two in zip(profile_of(game, root, seed)[0], profile_of(game, root, other)[0], strict=True):
        mixed = 0.3 * one.plan + 0.7 * two.plan
        strategy = Strategy.from_plan(game, one.player, mixed, tolerance=ROUND_OFF)
        np.testing.assert_allclose(strategy.plan, mixed, atol=ROUND_OFF)


@pytest.mark.parametrize("num_players", [1, 2, 3])
def test_every_route_gives_the_same_game(num_players):
    @given(trees(num_players=num_players, zero_sum=False))
    def check(root):
        streamed = SequenceForm.from_rules(NestedRules(root, num_players))
        forms = [
            streamed,
            SequenceForm.from_tree(to_graph(root)),
            SequenceForm.from_tree(GameTree.from_rules(NestedRules(root, num_players))),
            SequenceForm.from_rules(NestedRules(root, num_players), exact=True),
        ]
        assert len({form.fingerprint for form in forms}) == 1
        assert len({form.num_nodes for form in forms}) == 1
        if num_players == 2:
            B = streamed.payoff_matrix(1)
            forms.append(SequenceForm.from_matrices(streamed.E, streamed.e, streamed.F, streamed.f, streamed.A, B))
        for form in forms:
            for mine, theirs in zip(form.treeplexes, streamed.treeplexes, strict=True):
                np.testing.assert_array_equal(mine.E.toarray(), theirs.E.toarray())
            if num_players == 2:
                for player in (0, 1):
                    ours, expected_ = form.payoff_matrix(player), streamed.payoff_matrix(player)
                    np.testing.assert_allclose(ours.toarray(), expected_.toarray(), atol=ROUND_OFF)
        assert streamed.num_nodes == sum(1 for _ in walk(root))
        assert streamed.num_leaves == sum(isinstance(node, Leaf) for node in walk(root))
        for player, treeplex in enumerate(streamed.treeplexes):
            labels = dict(zip(treeplex.infoset_labels, treeplex.action_labels, strict=True))
            assert labels == {label: actions for label, (_, actions) in infosets(root, player).items()}
            for label, (last, _) in infosets(root, player).items():
                assert treeplex.sequence_label(int(treeplex.parents[treeplex.infoset_numbers[label]])) == last

    check()


# Evaluation


@pytest.mark.parametrize("num_players", [1, 2, 3])
def test_expected_payoffs_are_the_recursion(num_players):
    @given(trees(num_players=num_players, zero_sum=False), seeds)
    def check(root, seed):
        game = to_game(root)
        profile, behaviours = profile_of(game, root, seed)
        np.testing.assert_allclose(
            expected_payoffs(game, profile), np.array(expected(root, behaviours), dtype=float), atol=ROUND_OFF
        )

    check()


@given(trees())
def test_exact_payoffs_are_the_recursion_in_fractions(root):
    form = SequenceForm.from_tree(to_graph(root), exact=True)
    uniform = [
        {
            label: {action: Fraction(1, len(actions)) for action in actions}
            for label, (_, actions) in infosets(root, i).items()
        }
        for i in range(2)
    ]
    plans = []
    for treeplex in form.treeplexes:
        plan = [Fraction(1)]
        for parent, arity in zip(treeplex.parents.tolist(), treeplex.num_actions.tolist(), strict=True):
            plan += [plan[parent] / arity] * arity
        plans.append(plan)
    for player in (0, 1):
        entries = form.exact_payoffs(player)
        total = sum(entry * plans[0][row] * plans[1][column] for (row, column), entry in entries.items())
        assert total == expected(root, uniform)[player]


@pytest.mark.parametrize("num_players", [1, 2, 3])
def test_a_best_response_attains_its_value_and_nothing_beats_it(num_players):
    @given(trees(num_players=num_players, zero_sum=False), seeds, seeds)
    def check(root, seed, other):
        game = to_game(root)
        profile, _ = profile_of(game, root, seed)
        rivals, _ = profile_of(game, root, other)
        values = best_response_values(game, profile)
        for player in range(num_players):

            def against(strategy, player=player):
                return expected_payoffs(game, Profile([*profile[:player], strategy, *profile[player + 1 :]]))[player]

            response = best_response(game, profile, player)
            assert set(np.unique(response.plan)) <= {0.0, 1.0}
            assert against(response) == pytest.approx(values[player], abs=ROUND_OFF)
            for strategy in (profile[player], rivals[player], Strategy.uniform(game, player)):
                assert against(strategy) <= values[player] + ROUND_OFF
        assert nash_conv(game, profile) >= -ROUND_OFF
        assert exploitability(game, profile) == pytest.approx(nash_conv(game, profile) / num_players)
        again = Profile([best_response(game, profile, player) for player in range(num_players)])
        assert nash_conv(game, again) >= -ROUND_OFF

    check()


@given(trees(), seeds)
def test_worst_cases_make_up_the_exploitability(root, seed):
    game = to_game(root)
    profile, _ = profile_of(game, root, seed)
    worst = [worst_case(game, strategy) for strategy in profile]
    assert -sum(worst) / 2 == pytest.approx(exploitability(game, profile), abs=ROUND_OFF)
    certificate = Nash(game).certify(profile)
    assert (certificate.lower, certificate.upper) == pytest.approx((worst[0], -worst[1]), abs=ROUND_OFF)
    assert certificate.lower <= certificate.objective + ROUND_OFF
    assert certificate.objective <= certificate.upper + ROUND_OFF
    assert certificate.gap == pytest.approx(2 * certificate.exploitability, abs=ROUND_OFF)


@given(trees(num_players=3, zero_sum=False), seeds, st.integers(1, 5), st.integers(-5, 5), st.integers(0, 2))
def test_payoffs_scaled_and_shifted(root, seed, scale, shift, player):
    """One player's payoffs scaled and shifted: only that player's values move, and by that much."""

    def change(node):
        payoffs = list(node.payoffs)
        payoffs[player] = scale * payoffs[player] + shift
        return Leaf(tuple(payoffs))

    before, after = to_game(root), to_game(rebuilt(root, leaf=change))
    profile, behaviours = profile_of(before, root, seed)
    moved = Profile([Strategy.from_dict(after, i, behaviour) for i, behaviour in enumerate(behaviours)])
    for evaluate in (expected_payoffs, best_response_values):
        values = evaluate(before, profile)
        values[player] = scale * values[player] + shift
        np.testing.assert_allclose(evaluate(after, moved), values, atol=10 * ROUND_OFF)


@given(trees(num_players=3, zero_sum=False), seeds, st.permutations(range(3)))
def test_players_renamed(root, seed, names):
    """Player i is called names[i]."""

    def rename(node):
        payoffs = [None] * 3
        for player, payoff in enumerate(node.payoffs):
            payoffs[names[player]] = payoff
        return Leaf(tuple(payoffs))

    renamed = rebuilt(root, rename, lambda node: dataclasses.replace(node, player=names[node.player]))
    before, after = to_game(root), to_game(renamed)
    profile, behaviours = profile_of(before, root, seed)
    moved = Profile([Strategy.from_dict(after, i, behaviours[names.index(i)]) for i in range(3)])
    for evaluate in (expected_payoffs, best_response_values):
        np.testing.assert_allclose(evaluate(after, moved)[list(names)], evaluate(before, profile), atol=ROUND_OFF)
    assert nash_conv(after, moved) == pytest.approx(nash_conv(before, profile), abs=ROUND_OFF)


@given(st.integers(1, 6), st.data())
def test_a_best_response_is_linear_programming(num_infosets, data):
    """On any treeplex the pass from below gives the largest g · x over all vertices."""
    arities = [data.draw(st.integers(1, 3)) for _ in range(num_infosets)]
    parents = [data.draw(st.integers(0, sum(arities[:i]))) for i in range(num_infosets)]
    form = SequenceForm.from_payoff_matrix([[0.0]])
    treeplex = type(form.treeplexes[0])(parents, arities)
    gradient = np.array([data.draw(st.integers(-3, 3)) for _ in range(treeplex.num_sequences)], dtype=float)
    vertices = []
    for choice in itertools.product(*map(range, arities)):
        behaviour = np.zeros(treeplex.num_sequences)
        behaviour[treeplex.offsets[:-1] + np.array(choice)] = 1.0
        vertices.append(treeplex.plan(behaviour))
    found = best_response_plan(treeplex, gradient)
    assert found.value == max(gradient @ vertex for vertex in vertices)
    assert gradient @ found.plan == found.value
    assert any((found.plan == vertex).all() for vertex in vertices)


# Values of zero-sum games


@given(trees())
def test_the_value_of_the_game_with_swapped_players(root):
    swapped = rebuilt(
        root, lambda node: Leaf(node.payoffs[::-1]), lambda node: dataclasses.replace(node, player=1 - node.player)
    )
    assert value_of(swapped) == pytest.approx(-value_of(root), abs=VALUE)


@given(trees(), st.integers(1, 7))
def test_the_value_of_the_game_for_higher_stakes(root, scale):
    raised = rebuilt(root, lambda node: Leaf(tuple(scale * payoff for payoff in node.payoffs)))
    assert value_of(raised) == pytest.approx(scale * value_of(root), abs=scale * VALUE)


@given(trees(), st.integers(-4, 4))
def test_the_value_of_the_game_with_a_gift(root, gift):
    """A gift to player 0 from player 1, before the game or at every leaf, is added to the value."""
    given_ = rebuilt(root, lambda node: Leaf((node.payoffs[0] + gift, node.payoffs[1] - gift)))
    assert value_of(given_) == pytest.approx(value_of(root) + gift, abs=VALUE)


@given(trees(), st.integers(1, 5), st.booleans())
def test_splitting_a_chance_outcome_changes_nothing(root, parts, nested):
    share = Fraction(1, parts + 1)

    def split(node):
        label, probability, child = node.outcomes[0]
        if nested:  # chance moves twice in a row
            inner = Chance((("left", share, child), ("right", 1 - share, child)))
            return Chance(((label, probability, inner), *node.outcomes[1:]))
        halves = ((f"{label} left", probability * share, child), (f"{label} right", probability * (1 - share), child))
        return Chance((*halves, *node.outcomes[1:]))

    changed = rebuilt(root, chance=split)
    assert value_of(Chance((("only", 1, changed),))) == pytest.approx(value_of(root), abs=VALUE)


def relabelled(root, player, mark):
    """Mark a player's infosets, who has done something else before them."""
    return rebuilt(
        root,
        decision=lambda node: (
            dataclasses.replace(node, infoset=f"{mark}{node.infoset}") if node.player == player else node
        ),
    )


@given(trees(), st.integers(0, 1), st.integers(0, 100))
def test_duplicating_an_action_changes_nothing(root, player, which):
    """One infoset gets its first action once more, with the same to follow, which only its player sees."""
    labels = sorted(infosets(root, player))
    if not labels:
        return
    label = labels[which % len(labels)]

    def duplicate(node):
        if (node.player, node.infoset) != (player, label):
            return node
        return dataclasses.replace(node, moves=(*node.moves, ("again", relabelled(node.moves[0][1], player, "again "))))

    assert value_of(rebuilt(root, decision=duplicate)) == pytest.approx(value_of(root), abs=VALUE)


@given(trees(), st.integers(0, 1))
def test_a_forced_move_changes_nothing(root, player):
    """A decision with one action in front of everything, which makes every infoset's past longer."""
    assert value_of(Decision(player, "start", (("go", root),))) == pytest.approx(value_of(root), abs=VALUE)


@given(trees())
def test_the_order_of_actions_changes_nothing(root):
    turned = rebuilt(
        root,
        decision=lambda node: dataclasses.replace(node, moves=node.moves[::-1]),
        chance=lambda node: Chance(node.outcomes[::-1]),
    )
    assert value_of(turned) == pytest.approx(value_of(root), abs=VALUE)


@given(trees())
def test_seeing_more_helps(root):
    """Player 0's value can only rise when every node of player 0 is told apart."""
    count = itertools.count()

    def reveal(node):
        return dataclasses.replace(node, infoset=f"{node.infoset} {next(count)}") if node.player == 0 else node

    assert value_of(rebuilt(root, decision=reveal)) >= value_of(root) - VALUE


@given(trees(zero_sum=False))
def test_only_constant_sum_games_have_a_value(root):
    """Nash solves them as the zero-sum game that is left without the constant, and pays player 1 the constant again."""
    game = to_game(root)
    totals = {sum(node.payoffs) for node in walk(root) if isinstance(node, Leaf)}
    assert game.sequence_form.is_zero_sum == (totals == {0})
    if len(totals) > 1:
        with pytest.raises(UnsupportedProblemError, match="nash needs a zero-sum game"):
            Nash(game).saddle()
        assert Nash(game).resolved().name == "epsilon-nash"
        return
    value = value_of(rebuilt(root, leaf=lambda leaf: Leaf((leaf.payoffs[0], -leaf.payoffs[0]))))
    assert solve(Nash(game), "highs-simplex").values == pytest.approx((value, float(*totals) - value), abs=VALUE)


@given(trees(), st.fractions(-5, 5, max_denominator=12), st.sampled_from(["highs-simplex", "rational", "dcfr"]))
def test_a_constant_is_paid_to_player_1(root, constant, method):
    shared = rebuilt(root, leaf=lambda leaf: Leaf((leaf.payoffs[0], constant - leaf.payoffs[0])))
    found = solve(Nash(to_game(shared)), method, tol=5e-3 if method == "dcfr" else None)
    value = value_of(root)
    assert found.lower - VALUE <= value <= found.upper + VALUE
    assert sum(found.values) == pytest.approx(float(constant), abs=ROUND_OFF)
    if found.exact is not None:
        assert sum(found.exact.certificate.value) == constant


@given(trees(num_players=3, zero_sum=False), st.integers(-3, 3))
def test_a_constant_of_three_players_stays_where_it_is(root, constant):
    def paid(leaf):
        return Leaf((*leaf.payoffs[:2], constant - sum(leaf.payoffs[:2])))

    game = to_game(rebuilt(root, leaf=paid))
    found = solve(Nash(game), "cfr+", tol=0.0, max_iterations=20)
    assert sum(found.values) == pytest.approx(constant, abs=ROUND_OFF)
    assert found.values == pytest.approx(expected_payoffs(game, found.profile).tolist(), abs=ROUND_OFF)
    assert found.exploitability == pytest.approx(nash_conv(game, found.profile) / 3, abs=ROUND_OFF)


@given(trees(), st.sampled_from(["cfr", "cfr+", "dcfr", "pcfr+"]))
def test_iterative_methods_come_as_close_as_they_say(root, method):
    """Exploitability within the tolerance, computed from the strategies, and bounds around the exact value."""
    game = to_game(root)
    solution = solve(Nash(game), method, tol=5e-3, max_iterations=200_000)
    assert solution.status == "converged"
    assert nash_conv(game, solution.profile) / 2 <= 5e-3
    assert solution.history.exploitability[-1] == pytest.approx(solution.exploitability, abs=ROUND_OFF)
    value = value_of(root)
    assert solution.lower - VALUE <= value <= solution.upper + VALUE
    assert isinstance(solution.profile[0].sequence_form, SequenceForm)
    assert isinstance(game, Game)
