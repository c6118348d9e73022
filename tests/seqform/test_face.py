"""Faces of least cost: the cost of every plan from reduced costs, and payoffs of games on faces."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from random_flows import random_flow
from random_trees import seeded_tree, to_game

from treeplex import SequenceForm, Treeplex, load_game
from treeplex.seqform.face import Face, cheapest, game_on_faces
from treeplex.seqform.polytope import best_response_plan, best_response_value


def random_plan(treeplex, rng):
    behaviour = rng.random(treeplex.num_sequences) * (rng.random(treeplex.num_sequences) < 0.7)
    return treeplex.plan(treeplex.behaviour(behaviour))


@st.composite
def polytopes(draw):
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    if draw(st.booleans()):
        return random_flow(rng, draw(st.integers(1, 8))), rng
    return to_game(seeded_tree(seed)).sequence_form.treeplexes[draw(st.integers(0, 1))], rng


@examples(50)
@given(polytopes(), st.booleans())
def test_reduced_costs_tell_what_every_plan_costs(posed, ties):
    treeplex, rng = posed
    costs = rng.normal(size=treeplex.num_sequences)
    if ties:
        costs = rng.integers(-1, 2, size=treeplex.num_sequences).astype(float)
    found = cheapest(treeplex, costs)
    assert found.value == pytest.approx(-best_response_value(treeplex, -costs), abs=1e-12)
    assert found.reduced.min() >= 0.0
    for _ in range(5):
        plan = random_plan(treeplex, rng)
        assert costs @ plan == pytest.approx(found.value + found.reduced @ plan, abs=1e-10)
    assert np.logical_or.reduceat(found.attained, treeplex.offsets[:-1]).all() if treeplex.num_infosets else True
    assert found.reduced[found.attained].max() <= 1e-11
    assert found.reduced[~found.attained].min(initial=1.0) > 0.0


@examples(50)
@given(polytopes())
def test_plans_of_a_face_are_the_plans_of_least_cost(posed):
    treeplex, rng = posed
    costs = rng.integers(-1, 2, size=treeplex.num_sequences).astype(float)
    found = cheapest(treeplex, costs)
    face = Face.of(treeplex, found.attained)
    for _ in range(5):
        plan = face.embedded(random_plan(face.treeplex, rng), treeplex.num_sequences)
        assert treeplex.residual(plan) <= 1e-12
        assert costs @ plan == pytest.approx(found.value, abs=1e-11)
    # None is left out: what is best among the cheapest plans is so on the face.
    other = rng.normal(size=treeplex.num_sequences)
    far = 1e4
    cheap_and_best = best_response_plan(treeplex, other - far * costs).plan
    assert best_response_value(face.treeplex, other[face.sequences]) >= other @ cheap_and_best - 1e-9


def test_faces_of_faces_count_in_sequences_of_the_whole():
    treeplex = Treeplex([0, 1, 2], [2, 3, 2])
    outer = Face.of(treeplex, np.array([True, True, False, True, False, True, True, True]))
    inner = Face.of(outer.treeplex, np.array([True, True, False, True]))
    assert outer.sequences.tolist() == [0, 1, 3, 5]
    assert inner.within(outer).sequences.tolist() == [0, 1, 5]
    assert inner.treeplex.action_labels == ((0,), (2,))


def test_however_small_a_cost_is_it_is_seen_beside_actions_that_cost_nothing():
    costs = np.zeros(5)
    costs[3], costs[2] = 1e-200, 1.0
    found = cheapest(Treeplex([0, 1], [2, 2]), costs)
    assert found.attained.tolist() == [True, True, False, False, True]


def test_rests_of_a_cancellation_are_no_costs():
    costs = np.array([0.0, 0.1 + 0.2 - 0.3, 0.0, -1.0, 1.0])
    found = cheapest(Treeplex([0, 0], [2, 2]), costs)
    assert found.attained.tolist() == [True, True, True, True, False]
    assert cheapest(Treeplex([0], [3]), np.array([0.0, 0.1 + 0.2, 0.3, 0.31])).attained.tolist() == [True] * 3 + [False]


def random_faces(form, rng):
    faces = []
    for treeplex in form.treeplexes:
        taken = rng.random(treeplex.num_sequences) < 0.5
        taken[treeplex.offsets[:-1]] |= ~np.logical_or.reduceat(taken, treeplex.offsets[:-1])
        faces.append(Face.of(treeplex, taken))
    return faces


@pytest.mark.parametrize(
    "spec",
    ["leduc", "kuhn:players=3", "transit:width=2", "transit:width=2,model=A", "transit:width=2,horizon=1", "flows"],
)
def test_a_game_on_faces_pays_what_the_game_pays(spec):
    rng = np.random.default_rng(3)
    if spec == "flows":
        flows = [random_flow(rng, 6), random_flow(rng, 7)]
        matrices = [rng.normal(size=[flow.num_sequences for flow in flows]) for _ in range(2)]
        form = SequenceForm(flows, payoff_matrices=matrices)
    else:
        form = load_game(spec).sequence_form
    for _ in range(5):
        faces = random_faces(form, rng)
        left = game_on_faces(form, faces)
        assert (left.factored is None, left.leaves is None) == (form.factored is None, form.leaves is None)
        plans = [random_plan(face.treeplex, rng) for face in faces]
        whole = [
            face.embedded(plan, treeplex.num_sequences)
            for face, plan, treeplex in zip(faces, plans, form.treeplexes, strict=True)
        ]
        np.testing.assert_allclose(left.expected_payoffs(plans), form.expected_payoffs(whole), atol=1e-12)
        for player, face in enumerate(faces):
            here, there = left.gradient(player, plans), form.gradient(player, whole)
            np.testing.assert_allclose(here, there[face.sequences], atol=1e-12)
