"""Games of several players in public form: products of tensors against leaves, and what is refused."""

import numpy as np
import pytest
from joint_games import joint_form

from treeplex import Game, InvalidGameError, Profile, Strategy, expected_payoffs, load_game, nash_conv
from treeplex.seqform.joint_form import JointForm, JointLeaves, contracted
from treeplex.seqform.rules import TERMINAL

KUHN = load_game("kuhn:players=3")
JOINT = joint_form(KUHN.rules, ("T", "J", "Q", "K"))


def same_profiles(seed: int) -> tuple[Game, Profile, Profile]:
    """Return the joint game, and one random profile of it and of the game made of leaves."""
    game = Game("joint kuhn", sequence_form=JOINT.sequence_form())
    random = np.random.default_rng(seed)
    mine, theirs = [], []
    for treeplex in game.sequence_form.treeplexes:
        known = {}
        for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True):
            known[label] = dict(zip(actions, random.dirichlet(np.ones(len(actions))).tolist(), strict=True))
        mine.append(known)
        theirs.append({f"{card}_{''.join(path)}": each for (path, card), each in known.items()})
    return (
        game,
        Profile([Strategy.from_dict(game, player, each) for player, each in enumerate(mine)]),
        Profile([Strategy.from_dict(KUHN, player, each) for player, each in enumerate(theirs)]),
    )


@pytest.mark.parametrize("player", range(4))
def test_contractions(player: int) -> None:
    random = np.random.default_rng(1)
    tensor = random.random((3, 4, 5, 2))
    reaches = [random.random((6, size)) for size in tensor.shape]
    others = [other for other in range(4) if other != player]
    subscripts = "abcd," + ",".join("z" + "abcd"[other] for other in others) + "->z" + "abcd"[player]
    expected = np.einsum(subscripts, tensor, *[reaches[other] for other in others])
    np.testing.assert_allclose(contracted(tensor, player, reaches), expected)


def test_payoffs_are_those_of_leaves() -> None:
    for seed in range(5):
        game, mine, theirs = same_profiles(seed)
        np.testing.assert_allclose(expected_payoffs(game, mine), expected_payoffs(KUHN, theirs), atol=1e-12)
        assert nash_conv(game, mine) == pytest.approx(nash_conv(KUHN, theirs), abs=1e-12)


def test_it_is_zero_sum_leaf_by_leaf() -> None:
    assert JOINT.is_zero_sum
    one = JointLeaves(np.array([1]), np.array([[1.0], [0.0], [0.0]]), np.ones((1, 1, 1)))
    form = JointForm([0, TERMINAL], [-1, 0], ["", "end"], [["-"]] * 3, [one], np.ones((1, 1, 1)), 1.0)
    assert not form.is_zero_sum
    assert form.sequence_form().constant_sum is None


def test_arrivals_are_probabilities() -> None:
    game, mine, _ = same_profiles(0)
    operator = game.sequence_form.payoffs
    root = operator.arrival(0, [0], mine.plans)  # type: ignore[union-attr]
    np.testing.assert_allclose(root, np.full((1, 4), 0.25))


def test_shapes_are_checked() -> None:
    tree = [0, TERMINAL], [-1, 0], ["", "end"], [["-"]] * 3
    leaves = JointLeaves(np.array([1]), np.zeros((2, 1)), np.ones((1, 1, 1)))
    with pytest.raises(InvalidGameError, match=r"amounts of leaves have shape \(2, 1\), expected \(3, 1\)"):
        JointForm(*tree, [leaves], np.ones((1, 1, 1)), 1.0)
    with pytest.raises(InvalidGameError, match=r"the deal has shape \(1, 1\), expected \(1, 1, 1\)"):
        JointForm(*tree, [], np.ones((1, 1)), 1.0)
