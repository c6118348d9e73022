"""Refined equilibria against published answers, enumerated pure strategies and perturbed games with numbers for ε."""

import itertools
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from effort import either, few
from random_trees import (
    Chance,
    Decision,
    Leaf,
    count_pure_strategies,
    expected,
    matrix_game,
    pure_strategies,
    seeded_tree,
    to_game,
)
from scipy.optimize import linprog

from treeplex import (
    BestNash,
    Game,
    ImperfectRecallError,
    InvalidOptionError,
    InvalidStrategyError,
    Nash,
    Profile,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    parse_constraint,
    solve,
)
from treeplex.models.problems.refined import lower_bounds, num_actions
from treeplex.models.saddle import PlayerView
from treeplex.seqform.rationals import exact_residual
from treeplex.solvers import is_quasi_perfect

HALF = Fraction(1, 2)
REFINEMENTS = ("undominated", "quasi-perfect", "proper")


def guess_the_ace():
    """Player 0 may stop, or let player 1 guess whether the top card of 52 is the ace of spades, for 1,000 dollars.

    P. B. Miltersen and T. B. Sørensen, "Computing sequential equilibria for two-player games", SODA 2006.
    """

    def play(is_ace):
        guess = [("ace", 1000 if is_ace else 0), ("other", 0 if is_ace else 1000)]
        asked = Decision(1, "asked", tuple((action, Leaf((-paid, paid))) for action, paid in guess))
        return Decision(0, "dealer", (("stop", Leaf((0, 0))), ("offer", asked)))

    return to_game(Chance((("ace", Fraction(1, 52), play(True)), ("other", Fraction(51, 52), play(False)))))


def parsimonious_pennies():
    """Player 1 hides a penny heads or tails up, or only pretends to; player 0 wins the penny if it guesses right.

    P. B. Miltersen and T. B. Sørensen, "Computing proper equilibria of zero-sum games", Computers and Games 2006.
    """
    paid = np.array([[1, 0, 0], [0, 1, 0]])
    return matrix_game(paid, -paid, ("guess heads", "guess tails"), ("hide heads", "hide tails", "pretend"))


def one_card_poker():
    """Gambit's one-card poker: Alice raises or folds a king or a queen, Bob meets or passes.

    R. B. Myerson, "Game Theory: Analysis of Conflict", 1991; Gambit's third tutorial.
    """

    def hand(card, sign):
        met = Decision(1, "Bob", (("meet", Leaf((2 * sign, -2 * sign))), ("pass", Leaf((1, -1)))))
        return Decision(0, card, (("raise", met), ("fold", Leaf((-1, 1)))))

    return to_game(Chance((("king", HALF, hand("king", 1)), ("queen", HALF, hand("queen", -1)))))


def refined(game, refine):
    """Solve, and hold the answer to its own proof in fractions."""
    solution = solve(Nash(game, refine=refine))
    assert solution.status is Status.OPTIMAL
    assert solution.exact.certificate.gap == 0
    assert solution.problem.refine == refine
    for player, (plan, played) in enumerate(zip(solution.exact.plans, solution.exact.behaviour, strict=True)):
        treeplex = game.sequence_form.treeplexes[player]
        assert exact_residual(treeplex, plan) == 0
        for parent, here in zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True):
            assert sum(played[slice(*here)]) == 1
            assert (plan[slice(*here)] == plan[parent] * played[slice(*here)]).all()
        np.testing.assert_array_equal(solution.profile[player].behaviour[1:], played[1:].astype(float))
    return solution


def fractions(solution, player, infoset):
    """The behaviour at an infoset in fractions."""
    treeplex = solution.problem.game.sequence_form.treeplexes[player]
    number = treeplex.infoset_labels.index(infoset)
    here = slice(*treeplex.offsets[number : number + 2].tolist())
    return dict(zip(treeplex.action_labels[number], solution.exact.behaviour[player][here], strict=True))


# Published answers


def test_a_plain_equilibrium_guesses_the_ace_and_a_refined_one_does_not():
    game = guess_the_ace()
    stop = {"dealer": {"stop": 1}}
    silly = Profile.from_dict(game, {0: stop, 1: {"asked": {"ace": 1}}})
    assert solve(Nash(game)).value == 0
    assert Nash(game).certify(silly).gap == 0  # an equilibrium all the same
    found = is_quasi_perfect(game, silly)
    assert (found.verdict, found.player, found.infoset, found.action, found.better) == (
        *("no", 1, "asked"),
        *("ace", "other"),
    )
    assert found.trembles
    assert found.loss == pytest.approx(1000 * 50 / 52)  # if the dealer offers by mistake
    assert "player 1 plays ace at asked" in str(found)
    for refine in REFINEMENTS:
        solution = refined(game, refine)
        assert fractions(solution, 0, "dealer") == {"stop": 1, "offer": 0}
        assert fractions(solution, 1, "asked") == {"ace": 0, "other": 1}
        assert is_quasi_perfect(game, solution)


def test_only_a_proper_equilibrium_guesses_evenly_when_pennies_may_be_withheld():
    game = parsimonious_pennies()
    solution = refined(game, "proper")
    assert fractions(solution, 0, "_") == {"guess heads": HALF, "guess tails": HALF}
    assert solution.state.gains[0] == [HALF]
    heads = Profile.from_dict(game, {0: {"_": {"guess heads": 1}}, 1: {"_": {"pretend": 1}}})
    assert is_quasi_perfect(game, heads)  # mistakes may be equally likely
    assert Nash(game).certify(heads).gap == 0


def test_one_card_poker_is_as_in_gambits_tutorial():
    for refine in REFINEMENTS:
        solution = refined(one_card_poker(), refine)
        assert solution.value == Fraction(1, 3)
        assert fractions(solution, 0, "king") == {"raise": 1, "fold": 0}
        assert fractions(solution, 0, "queen") == {"raise": Fraction(1, 3), "fold": Fraction(2, 3)}
        assert fractions(solution, 1, "Bob") == {"meet": Fraction(2, 3), "pass": Fraction(1, 3)}


@few
@pytest.mark.parametrize("refine", REFINEMENTS)
@pytest.mark.parametrize(
    ("spec", "value"),
    [("kuhn", Fraction(-1, 18)), ("kuhn:cards=4", Fraction(-1, 24)), ("goofspiel:cards=3", 0)],
)
def test_refined_values_are_the_values_of_the_games(spec, value, refine):
    game = load_game(spec)
    solution = refined(game, refine)
    assert solution.value == value
    if refine == "quasi-perfect":
        assert is_quasi_perfect(game, solution)


def test_kuhn_poker_in_fractions():
    game = load_game("kuhn")
    third = Fraction(1, 3)
    solution = refined(game, "quasi-perfect")
    assert [fractions(solution, 1, infoset)["b"] for infoset in ("Q_b", "J_p", "K_p", "K_b", "J_b", "Q_p")] == [
        *(third, third, 1, 1, 0, 0)
    ]
    first = {infoset: fractions(solution, 0, infoset)["b"] for infoset in ("J_", "Q_", "Q_pb", "K_", "K_pb", "J_pb")}
    # The family of equilibria of Kuhn (1950): alpha with a jack, 3 alpha with a king, alpha + 1/3 with a queen.
    assert first["K_"] == 3 * first["J_"]
    assert first["Q_pb"] == first["J_"] + third
    assert (first["Q_"], first["K_pb"], first["J_pb"]) == (0, 1, 0)
    proper = refined(game, "proper")
    assert [fractions(proper, 0, infoset)["b"] for infoset in ("J_", "Q_pb", "K_")] == [Fraction(1, 6), HALF, HALF]


@pytest.mark.slow
@pytest.mark.parametrize("refine", ["undominated", "quasi-perfect"])
@pytest.mark.parametrize("ranks", [3, 4, 5, 6])
def test_leduc_with_merged_suits(ranks, refine):
    game = load_game(f"leduc:merge_suits=true,ranks={ranks}")
    solution, plain = refined(game, refine), solve(Nash(game), "rational")
    assert solution.value == plain.value
    if ranks == 3:
        assert float(solution.value) == pytest.approx(-0.0856064240780, abs=1e-12)
    if refine == "quasi-perfect":
        assert inferior_infosets(solution) == []
        assert inferior_infosets(plain, solution.state.plans)  # a plain equilibrium errs off the path


def test_a_king_that_a_plain_equilibrium_folds_is_called():
    game = load_game("kuhn")
    plain = solve(Nash(game), "rational")
    assert plain.profile[0]["K_"]["b"] == 1  # so that K_pb is not reached
    assert plain.profile[0]["K_pb"]["p"] > 0
    assert plain.exact.exploitability == 0
    found = is_quasi_perfect(game, plain)
    assert (found.verdict, found.infoset, found.action, found.better) == ("no", "K_pb", "p", "b")
    solution = refined(game, "quasi-perfect")
    assert fractions(solution, 0, "K_pb") == {"p": 0, "b": 1}
    assert inferior_infosets(solution) == []
    assert (0, "K_pb") in inferior_infosets(plain, solution.state.plans)


def inferior_infosets(solution, plans=None):
    """The infosets at which a strategy is not a best response from there on, by leaves and in fractions.

    The opponent plays the given plans of full support, for two small ε: those that prove the refinement by default.
    """
    form = solution.problem.game.sequence_form
    leaves = form.leaves
    chance = [Fraction(one).limit_denominator(10**6) for one in leaves.chance.tolist()]
    paid = [Fraction(one) for one in leaves.payoffs[:, 0].tolist()]
    found = set()
    for small, player in itertools.product((Fraction(1, 10**7), Fraction(1, 10**12)), (0, 1)):
        treeplex, played = form.treeplexes[player], in_fractions(solution, player)
        trembling = sum(
            one * small**power for power, one in enumerate((plans or solution.state.plans)[1 - player])
        ).tolist()
        assert min(trembling) > 0
        best = [Fraction(0)] * treeplex.num_sequences
        for sequences, probability, payoff in zip(leaves.sequences.tolist(), chance, paid, strict=True):
            worth = payoff if player == 0 else -payoff
            best[sequences[player]] += worth * probability * trembling[sequences[1 - player]]
        own = list(best)
        ranges = list(pairwise(treeplex.offsets.tolist()))
        for infoset in reversed(range(treeplex.num_infosets)):
            here = range(*ranges[infoset])
            most, mine = max(best[one] for one in here), sum(played[one] * own[one] for one in here)
            if mine != most:
                found.add((player, treeplex.infoset_labels[infoset]))
            best[treeplex.parents[infoset]] += most
            own[treeplex.parents[infoset]] += mine
    return sorted(found)


def in_fractions(solution, player):
    """The behaviour of a solution; that of a plain one is read from its plan where it is reached."""
    if solution.exact.behaviour is not None:
        return solution.exact.behaviour[player]
    strategy, plan = solution.profile[player], solution.exact.plans[player]
    parents = [0, *np.repeat(strategy.treeplex.parents, strategy.treeplex.num_actions).tolist()]
    return [
        plan[one] / plan[parent] if plan[parent] else Fraction(strategy.behaviour[one])
        for one, parent in enumerate(parents)
    ]


@pytest.mark.slow
def test_zero_sum_games_of_gambits_catalogue(tmp_path):
    catalogue = pytest.importorskip("pygambit.catalog")
    values = {}
    for slug in catalogue.games()["Game"]:
        judged = catalogue.load(slug)
        if len(judged.players) != 2:
            continue
        try:
            (tmp_path / "judged.efg").write_text(judged.to_efg())
            game = load_game(str(tmp_path / "judged.efg"))
            solution = solve(Nash(game, refine="quasi-perfect"))
        except (OSError, ImperfectRecallError, UnsupportedProblemError):  # matrices, and games that are not zero-sum
            continue
        assert is_quasi_perfect(game, solution)
        assert solution.value == refined(game, "proper").value == refined(game, "undominated").value
        values[slug] = solution.value
    third = Fraction(1, 3)
    assert values == {
        "books/myerson1991/fig2_1": third,
        "books/vonstengel2022/fig10.1": 9,
        "books/vonstengel2022/fig10.12": third,
        "journals/mor/vonstengelforges2008/fig6": 0,
        "journals/other/reiley2008/fig1": third,
    }


# Against enumeration


def small_trees(number, most):
    """Return random zero-sum trees whose players both have a choice, and few pure strategies."""
    drawn = (seeded_tree(seed, depth=4, size=10) for seed in itertools.count())
    suitable = (tree for tree in drawn if 2 < math.prod(count_pure_strategies(tree, one) for one in (0, 1)) <= most)
    both = (tree for tree in suitable if min(count_pure_strategies(tree, one) for one in (0, 1)) > 1)
    return list(itertools.islice(both, number))


def with_ties(root, levels=(-1.0, 0.0, 1.0)):
    """Round payoffs, so that equilibria are not unique."""
    if isinstance(root, Leaf):
        paid = min(levels, key=lambda level: abs(level / 2 - root.payoffs[0]))
        return Leaf((paid, -paid))
    if isinstance(root, Chance):
        return Chance(tuple((label, one, with_ties(child, levels)) for label, one, child in root.outcomes))
    return Decision(root.player, root.infoset, tuple((label, with_ties(child, levels)) for label, child in root.moves))


def payoffs_of_pure(root, strategy, player):
    """What a player's strategy earns against each pure strategy of the other player."""
    strategies = pure_strategies(root, 1 - player)
    played = strategy.to_dict()
    pairs = [(played, other) if player == 0 else (other, played) for other in strategies]
    return np.array([float(expected(root, list(pair))[player]) for pair in pairs])


def pure_payoffs(root, player):
    """The payoffs to a player, by its pure strategies and those of the other player."""
    own, other = pure_strategies(root, player), pure_strategies(root, 1 - player)
    pairs = [[(one, two) if player == 0 else (two, one) for two in other] for one in own]
    return np.array([[float(expected(root, list(pair))[player]) for pair in row] for row in pairs])


def dresher(matrix):
    """What a mixture of rows that Dresher's procedure finds earns in each column, found by programs in floats."""
    rows, columns = matrix.shape
    least, left = np.full(columns, -np.inf), np.ones(columns, dtype=bool)
    while True:
        floor = np.where(left, 0.0, least)
        upper = np.column_stack([-matrix.T, left.astype(float)])
        found = linprog(
            np.append(np.zeros(rows), -1.0),
            A_ub=upper,
            b_ub=-floor + 1e-11,
            A_eq=np.append(np.ones(rows), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * rows + [(None, None)],
        )
        level = -found.fun
        least[left] = level
        for column in np.flatnonzero(left):  # is it always paid the same?
            most = linprog(
                -matrix[:, column],
                A_ub=-matrix.T,
                b_ub=-least + 1e-9,
                A_eq=np.ones((1, rows)),
                b_eq=[1.0],
            )
            left[column] = -most.fun > level + 1e-6
        if not left.any():
            return found.x[:-1] @ matrix


@pytest.mark.parametrize("tree", [with_ties(one) for one in small_trees(either(4, 40), 150)])
def test_proper_strategies_are_those_of_dreshers_procedure_on_all_pure_strategies(tree):
    solution = refined(to_game(tree), "proper")
    for player in (0, 1):
        earned = payoffs_of_pure(tree, solution.profile[player], player)
        np.testing.assert_allclose(earned, dresher(pure_payoffs(tree, player)), atol=1e-6)


@pytest.mark.parametrize("refine", REFINEMENTS)
def test_no_mixed_strategy_dominates_a_refined_one(refine):
    for tree in [with_ties(one) for one in small_trees(either(6, 40), 150)]:
        solution = refined(to_game(tree), refine)
        for player in (0, 1):
            matrix, earned = pure_payoffs(tree, player), payoffs_of_pure(tree, solution.profile[player], player)
            better = linprog(
                -matrix.sum(axis=1),
                A_ub=-matrix.T,
                b_ub=-earned + 1e-12,
                A_eq=np.ones((1, len(matrix))),
                b_eq=[1.0],
            )
            assert -better.fun <= earned.sum() + 1e-8


@pytest.mark.parametrize("refine", ["undominated", "quasi-perfect"])
def test_answers_are_limits_of_equilibria_of_perturbed_games(refine):
    for tree in [with_ties(one) for one in small_trees(either(4, 40), 400)]:
        game = to_game(tree)
        solution = refined(game, refine)
        problem, plans = solution.problem, solution.state.plans
        for small in (Fraction(1, 1000), Fraction(1, 10_000)):
            at = [sum(one * small**power for power, one in enumerate(plan)) for plan in plans]
            lower = [
                sum(one * small ** (1 + power) for power, one in enumerate(lower_bounds(game, refine, player)))
                for player in (0, 1)
            ]
            for player in (0, 1):
                assert (at[player] >= lower[player]).all()
                treeplex = game.sequence_form.treeplexes[player]
                gradient = PlayerView(problem.game, player, exact=True).own_gradient(at[1 - player])
                assert at[player] @ gradient == best_within(treeplex, gradient, lower[player])
                floats, strategy = at[player].astype(float), solution.profile[player]
                if refine == "undominated":
                    assert np.abs(floats - strategy.plan).max() <= 100 * small
                else:
                    assert np.abs(treeplex.behaviour(floats) - strategy.behaviour).max() <= 100 * small


def best_within(treeplex, gradient, lower):
    """The most that a plan above lower bounds earns, in fractions: what may be moved goes to the best action."""
    worth, total = list(gradient), Fraction(0)
    bounds = list(zip(treeplex.parents.tolist(), pairwise(treeplex.offsets.tolist()), strict=True))
    for parent, here in reversed(bounds):
        least = sum(lower[slice(*here)])
        best = max(worth[slice(*here)])
        total += sum(lower[at] * worth[at] for at in range(*here)) - least * best
        worth[parent] += best
    return total + worth[0]


def trembling(tree, profile, delta):
    """Whether mistakes of at most about delta make each strategy a best response at each of its infosets."""
    game = to_game(tree)
    form = game.sequence_form
    for player in (0, 1):
        own, other = form.treeplexes[player], form.treeplexes[1 - player]
        payoffs = form.payoff_matrix(player).toarray()
        payoffs = payoffs if player == 0 else payoffs.T
        mine, theirs = profile[player].behaviour, profile[1 - player].behaviour
        worth, rows = payoffs.copy(), []
        ranges = list(pairwise(own.offsets.tolist()))
        for infoset in reversed(range(own.num_infosets)):
            first, stop = ranges[infoset]
            value = mine[first:stop] @ worth[first:stop]
            rows += [row - value for row in worth[first:stop]]
            worth[own.parents[infoset]] += value
        for parent, (first, stop) in zip(other.parents.tolist(), pairwise(other.offsets.tolist()), strict=True):
            for sequence in range(first, stop):
                for sign in (1, -1):
                    row = np.zeros(other.num_sequences)
                    row[sequence] += sign
                    row[parent] -= sign * theirs[sequence] + delta
                    rows.append(row)
        count = other.num_sequences
        least = np.column_stack([-np.eye(count), np.ones(count)])
        found = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.vstack([np.column_stack([np.array(rows), np.zeros(len(rows))]), least]),
            b_ub=np.zeros(len(rows) + count),
            A_eq=np.column_stack([other.E.toarray(), np.zeros(other.num_infosets + 1)]),
            b_eq=other.e,
        )
        if found.status != 0 or -found.fun < 1e-9:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_check_agrees_with_programs_for_small_mistakes(seed):
    verdicts = []
    for tree in [with_ties(one) for one in small_trees(6 * (seed + 1), 60)[-6:]]:
        game = to_game(tree)
        for pure in itertools.islice(itertools.product(*(pure_strategies(tree, one) for one in (0, 1))), 20):
            strategies = []
            for player in (0, 1):
                treeplex = game.sequence_form.treeplexes[player]
                played = {
                    label: pure[player].get(label, {names[0]: 1})
                    for label, names in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)
                }
                strategies.append(Strategy.from_dict(game, player, played))
            profile = Profile(strategies)
            found = is_quasi_perfect(game, profile)
            assert bool(found) == trembling(tree, profile, 0.01)
            verdicts.append(found.verdict)
    assert "no" in verdicts


# The check


def test_a_loss_on_the_path_is_reported_at_its_infoset():
    found = is_quasi_perfect(load_game("kuhn"), Profile.uniform(load_game("kuhn")))
    assert (found.verdict, found.player, found.infoset, found.trembles) == ("no", 0, "J_", False)
    assert found.loss > 0


def test_rounded_probabilities_leave_the_check_undecided():
    game = load_game("kuhn")
    solution = solve(Nash(game, refine="quasi-perfect"))
    assert is_quasi_perfect(game, solution.profile)  # thirds are recognised

    def moved(by):
        shares = [
            one.behaviour + by * np.sign(0.5 - one.behaviour) * (one.behaviour % 1 > 0) for one in solution.profile
        ]
        return Profile([Strategy(game, player, one) for player, one in enumerate(shares)])

    assert is_quasi_perfect(game, moved(1e-12))
    found = is_quasi_perfect(game, moved(1e-8), tol=1e-6)
    assert found.verdict == "undecided"
    assert not found
    assert "undecided" in str(found)


def test_the_check_refuses_what_it_cannot_read():
    game = load_game("kuhn")
    with pytest.raises(InvalidStrategyError, match="expected a Profile or a Solution, got 3"):
        is_quasi_perfect(game, 3)
    with pytest.raises(UnsupportedProblemError, match="is_quasi_perfect needs two players"):
        is_quasi_perfect(load_game("kuhn:players=3"), Profile.uniform(load_game("kuhn:players=3")))
    with pytest.raises(InvalidOptionError, match="tol is -1"):
        is_quasi_perfect(game, Profile.uniform(game), tol=-1)


# What is refused


def test_refinements_are_refused_where_they_make_no_sense():
    kuhn = load_game("kuhn")
    with pytest.raises(UnsupportedProblemError, match=r"nash: refine is 'perfect', expected one of undominated, quasi"):
        solve(Nash(kuhn, refine="perfect"))
    with pytest.raises(UnsupportedProblemError, match="nash with refine=proper needs two players"):
        solve(Nash(load_game("kuhn:players=3"), refine="proper"))
    places = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[2, 0], [0, 1]], [[1, 0], [0, 2]]))
    with pytest.raises(UnsupportedProblemError, match="nash: refine=proper needs a zero-sum game"):
        solve(Nash(places, refine="proper"))
    with pytest.raises(UnsupportedProblemError, match="are flows"):
        solve(Nash(load_game("transit:width=3"), refine="quasi-perfect"))
    for method in ("highs", "cfr+"):
        with pytest.raises(UnsupportedProblemError, match="rational"):
            solve(Nash(kuhn, refine="quasi-perfect"), method)


@pytest.mark.parametrize("refine", REFINEMENTS)
def test_a_time_limit_ends_a_refinement(refine):
    solution = solve(Nash(load_game("kuhn"), refine=refine), time_limit=0)
    assert solution.status is Status.TIME_LIMIT
    assert solution.exact is None


def test_constant_sums_and_one_player_are_refined_too():
    shares = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[7, 4], [4, 6]], [[3, 6], [6, 4]]))
    solution = solve(Nash(shares, refine="proper"))
    assert solution.values == (Fraction(26, 5), Fraction(24, 5))
    alone = to_game(Decision(0, "_", (("a", Leaf((1,))), ("b", Leaf((2,))))))
    assert solve(Nash(alone, refine="quasi-perfect")).profile[0]["_"] == {"a": 0.0, "b": 1.0}


def test_sequences_have_as_many_actions_as_their_names():
    treeplex = load_game("kuhn").sequence_form.treeplexes[1]
    assert num_actions(treeplex) == [0] + [1] * 12
    game = load_game("kuhn")
    assert [one.sum() for one in lower_bounds(game, "quasi-perfect", 0)] == [6, 6]
    assert [one.sum() for one in lower_bounds(game, "quasi-perfect", 1)] == [12, 0]


# Refined best responses


@pytest.mark.parametrize(("spec", "player"), [("kuhn", 0), ("goofspiel:cards=3", 1), ("kuhn:cards=4", 1)])
def test_the_best_refined_strategy_against_a_model_earns_no_more_than_the_best(spec, player):
    game = load_game(spec)
    model = Strategy.uniform(game, 1 - player)
    best = solve(BestNash(game, model), "rational")
    for refine in REFINEMENTS:
        solution = solve(BestNash(game, model, refine=refine))
        assert solution.status is Status.OPTIMAL
        assert solution.exact.exploitability == 0
        exact = solution.exact.certificate
        assert exact.lower == exact.objective <= exact.upper == best.exact.objective
        plain = solve(Nash(game, refine=refine))
        against = expected_payoffs(
            game, Profile([plain.profile[0], model] if player == 0 else [model, plain.profile[1]])
        )
        assert solution.objective >= against[player] - 1e-12
        if refine == "quasi-perfect":
            own = [solution.profile[one] if one == player else plain.profile[one] for one in (0, 1)]
            assert is_quasi_perfect(game, Profile(own))
        if refine == "proper":  # all proper strategies earn the same
            assert solution.objective == pytest.approx(against[player], abs=1e-12)


def test_the_refinement_of_goofspiel_costs_something_against_uniform_play():
    game = load_game("goofspiel:cards=3")
    exact = solve(BestNash(game, Strategy.uniform(game, 1), refine="quasi-perfect")).exact.certificate
    assert (exact.lower, exact.upper) == (Fraction(10, 9), Fraction(4, 3))


def test_a_refined_best_response_needs_a_model_and_no_slack():
    game = load_game("kuhn")
    model = Strategy.uniform(game, 1)
    with pytest.raises(UnsupportedProblemError, match="best-nash: refine is 'best'"):
        BestNash(game, model, refine="best")
    with pytest.raises(UnsupportedProblemError, match="best-nash: refine=proper needs a model, got constraints"):
        BestNash(game, [parse_constraint("1/K_p:b >= 1/2", game)[0]], refine="proper")
    with pytest.raises(UnsupportedProblemError, match="needs a model, got slack"):
        BestNash(game, model, refine="proper", slack=0.1)


def test_refined_strategies_of_games_of_constant_sum_are_checked_too():
    shares = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[7, 4, 7], [4, 6, 6]], [[3, 6, 3], [6, 4, 4]]))
    assert is_quasi_perfect(shares, solve(Nash(shares, refine="quasi-perfect")))
    found = is_quasi_perfect(shares, Profile.uniform(shares))
    assert found.verdict == "no"
    assert solve(BestNash(shares, Strategy.uniform(shares, 0), refine="proper")).exact.exploitability == 0
