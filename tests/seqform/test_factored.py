"""Payoffs in factors whose quantities are chained: running sums, against the matrices that they stand for."""

import numpy as np
import pytest
from effort import thorough

from treeplex import (
    BestResponse,
    EpsilonSafeResponse,
    Game,
    Nash,
    RestrictedNash,
    SequenceForm,
    Strategy,
    load_game,
    solve,
)
from treeplex.seqform import InvalidGameError
from treeplex.seqform.face import Face, game_on_faces
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.interchange.matrix_file import read_matrices, write_matrices

TREEPLEXES = load_game("kuhn:cards=4").sequence_form.treeplexes


def drawn(seed: int, factors: int = 40) -> FactoredPayoff:
    generator = np.random.default_rng(seed)
    rows, columns = (treeplex.num_sequences for treeplex in TREEPLEXES)
    left = np.round(generator.normal(size=(rows, factors)), 2) * (generator.random((rows, factors)) < 0.2)
    right = np.round(generator.normal(size=(factors, columns)), 2) * (generator.random((factors, columns)) < 0.2)
    chained = generator.random(factors) < 0.7
    chained[0] = False
    return FactoredPayoff(left, right, chained)


def multiplied(payoff: FactoredPayoff) -> np.ndarray:
    return payoff.left.toarray() @ np.linalg.inv(payoff.links.toarray()) @ payoff.right.toarray()


def both(seed: int) -> tuple[Game, Game]:
    """Return a game in chained factors, and the same as a matrix."""
    payoff = drawn(seed)
    matrix = multiplied(payoff)
    return (
        Game("chained", sequence_form=SequenceForm(TREEPLEXES, factored=payoff)),
        Game("matrix", sequence_form=SequenceForm(TREEPLEXES, payoff_matrices=(matrix, -matrix))),
    )


@pytest.mark.parametrize("seed", range(5))
def test_products_are_those_of_the_matrix(seed: int) -> None:
    payoff = drawn(seed)
    matrix = multiplied(payoff)
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=matrix.shape[0]), generator.normal(size=matrix.shape[1])
    assert payoff.times(y) == pytest.approx(matrix @ y)
    assert payoff.transposed_times(x) == pytest.approx(matrix.T @ x)
    assert payoff.matrix.toarray() == pytest.approx(matrix)
    assert payoff.largest == pytest.approx(np.abs(matrix).max())
    assert payoff.transposed.matrix.toarray() == pytest.approx(-matrix.T)
    assert payoff.balanced.matrix.toarray() == pytest.approx(matrix)
    several = generator.normal(size=(matrix.shape[1], 3))
    assert payoff.times(several) == pytest.approx(matrix @ several)


@pytest.mark.parametrize("method", ["highs", "highs-ipm", "cvxpy", "rational", "cfr+", "pcfr+"])
def test_methods_find_the_same_value(method: str) -> None:
    chained, matrix = both(7)
    value = solve(Nash(matrix)).value
    found = solve(Nash(chained), method)
    assert found.status.is_success
    assert float(found.lower) - 1e-9 <= value <= float(found.upper) + 1e-9


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("method", ["highs", "cvxpy", "rational", "cfr+"])
def test_responses_are_the_same_from_both_seats(player: int, method: str) -> None:
    objectives = []
    for game in both(8):
        opponent = Strategy.uniform(game, 1 - player)
        problems = [RestrictedNash(game, opponent, p=0.4), EpsilonSafeResponse(game, opponent, epsilon=0.1)]
        if method != "cfr+":
            problems.append(BestResponse(game, opponent))
        objectives.append([solve(problem, method, tol=1e-3 if method == "cfr+" else None) for problem in problems])
    for first, second in zip(*objectives, strict=True):
        assert float(first.lower) - 2e-3 * (method == "cfr+") - 1e-9 <= float(second.upper)
        assert float(second.lower) - 2e-3 * (method == "cfr+") - 1e-9 <= float(first.upper)


def test_the_loop_gives_the_iterates_of_the_matrix() -> None:
    chained, matrix = (solve(Nash(game), "cfr+", tol=0, max_iterations=50) for game in both(9))
    for first, second in zip(chained.profile, matrix.profile, strict=True):
        assert first.plan == pytest.approx(second.plan, abs=1e-12)


def test_faces_keep_chains() -> None:
    chained, matrix = both(10)
    allowed = np.ones(TREEPLEXES[0].num_sequences, dtype=bool)
    allowed[[2, 5]] = False
    faces = [Face.of(TREEPLEXES[0], allowed), Face.whole(TREEPLEXES[1])]
    first, second = (game_on_faces(game.sequence_form, faces).A.toarray() for game in (chained, matrix))
    assert first == pytest.approx(second)


def test_files_keep_chains_and_the_scale(tmp_path) -> None:
    payoff = drawn(11)
    scaled = FactoredPayoff(payoff.left, payoff.right, payoff.chained, scale=100.0)
    game = Game("chained", sequence_form=SequenceForm(TREEPLEXES, factored=scaled))
    write_matrices(game, tmp_path / "game.npz")
    read = read_matrices(tmp_path / "game.npz")
    assert read.factored.chained.tolist() == payoff.chained.tolist()
    assert read.payoff_scale == 100.0
    assert read.fingerprint == game.fingerprint


def test_chains_are_part_of_the_fingerprint() -> None:
    payoff = drawn(12)
    other = payoff.chained.copy()
    other[np.flatnonzero(other)[0]] = False
    forms = [
        SequenceForm(TREEPLEXES, factored=FactoredPayoff(payoff.left, payoff.right, chained))
        for chained in (payoff.chained, other)
    ]
    assert forms[0].fingerprint != forms[1].fingerprint


@thorough
def test_chains_between_flows_are_those_of_the_matrix() -> None:
    """In the transit game several sequences lead to an infoset."""
    treeplexes = load_game("transit:width=2").sequence_form.treeplexes
    assert not treeplexes[0].single_parent
    generator = np.random.default_rng(13)
    shape = [treeplex.num_sequences for treeplex in treeplexes]
    left, right = (np.round(generator.normal(size=(size, 30)), 2) for size in shape)
    left, right = (one * (generator.random(one.shape) < 0.1) for one in (left, right))
    payoff = FactoredPayoff(left, right.T, [False] + [True] * 9 + [False] + [True] * 19)
    matrix = multiplied(payoff)
    games = [
        Game("chained", sequence_form=SequenceForm(treeplexes, factored=payoff)),
        Game("matrix", sequence_form=SequenceForm(treeplexes, payoff_matrices=(matrix, -matrix))),
    ]
    for method, limits in (("highs", {}), ("cfr+", {"tol": 0, "max_iterations": 30})):
        first, second = (solve(Nash(game), method, **limits) for game in games)
        assert first.value == pytest.approx(second.value, abs=1e-9)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_is_positive_and_finite(scale) -> None:
    with pytest.raises(InvalidGameError, match=r"the scale of the payoffs is .*, expected a positive finite number"):
        FactoredPayoff(np.ones((3, 2)), np.ones((2, 3)), scale=scale)


@pytest.mark.parametrize("chained", [[True, False], [False], [[False, True]]], ids=str)
def test_what_is_chained_is_one_number_a_factor(chained) -> None:
    with pytest.raises(InvalidGameError, match=r"chained has shape .*, expected \(2,\)"):
        FactoredPayoff(np.ones((3, 2)), np.ones((2, 3)), chained)
