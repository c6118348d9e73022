"""What an observer sees: classes beside a slow walk that keeps whole histories, and rules that break a rule."""

import pickle
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from effort import few
from random_profiles import random_profile
from random_trees import seeded_tree, to_game

from treeplex import (
    CHANCE,
    TERMINAL,
    Game,
    GameTooLargeError,
    GameTree,
    InvalidGameError,
    InvalidStrategyError,
    Profile,
    SequenceForm,
    UnsupportedProblemError,
    load_game,
    observer_tree,
)
from treeplex.models.games import Kuhn, Leduc
from treeplex.seqform.budget import view_bytes
from treeplex.seqform.rules import public_labels

OBSERVED = [
    "kuhn",
    "kuhn:cards=5",
    "kuhn:players=3",
    "leduc:merge_suits=true",
    "leduc:suits=1",
    "leduc:players=3,ranks=4,suits=1,raises=1",
    "liars_dice:sides=3",
    "liars_dice:dice=2,sides=2",
    "liars_dice:players=3,sides=2",
    "goofspiel:cards=3",
    "goofspiel:cards=3,order=random",
    "goofspiel:payoff=win_loss",
    "rps",
    "repeated_rps",
    "matching_pennies",
]
SEATS = [(spec, player) for spec in OBSERVED for player in range(load_game(spec).num_players)]


def label_of(rules, state, player):
    """What the observer knows, in words of the rules alone."""
    known = (rules.private_information(state, player), rules.public_history(state))
    if rules.player(state) != TERMINAL:
        return known
    others = {each: rules.private_information(state, each) for each in rules.shows(state) if each != player}
    return *known, tuple(sorted(others.items())), float(rules.payoffs(state)[player])


def slow_walk(rules, player, behaviour):
    """Each history's states from the root on, with the probability that a play comes to it."""
    found = []

    def walk(states, reach):
        state = states[-1]
        found.append((states, reach))
        who = rules.player(state)
        if who == TERMINAL:
            return
        played = behaviour[who].get(rules.infoset(state)) if who != CHANCE else dict(rules.chance_outcomes(state))
        for action, probability in played.items():
            walk((*states, rules.child(state, action)), reach * float(probability))

    walk((rules.initial_state(),), 1.0)
    return found


def label_in(view, number):
    known = (view.private[number], view.public[number])
    return (*known, view.shown[number], view.results[number]) if view.terminal[number] else known


@few
@pytest.mark.parametrize(("spec", "player"), SEATS)
def test_classes_are_those_of_a_slow_walk(spec, player):
    game = load_game(spec)
    profile = random_profile(game, seed=3)
    view = observer_tree(game, player)
    probabilities, parents, entries = defaultdict(float), {}, defaultdict(int)
    for states, reach in slow_walk(game.rules, player, [strategy.to_dict() for strategy in profile]):
        label = label_of(game.rules, states[-1], player)
        before = label_of(game.rules, states[-2], player) if len(states) > 1 else None
        if label != before:
            probabilities[label] += reach
            entries[label] += 1
            parents[label] = before
    labels = [label_in(view, number) for number in range(view.num_classes)]
    assert len(set(labels)) == view.num_classes
    assert set(labels) == set(probabilities)
    found = view.probabilities(profile.plans)
    assert found.tolist() == pytest.approx([probabilities[label] for label in labels], abs=1e-14)
    assert np.diff(view.starts).tolist() == [entries[label] for label in labels]
    above = [labels[parent] if parent >= 0 else None for parent in view.parents]
    assert above == [parents[label] for label in labels]
    assert (view.parents < np.arange(view.num_classes)).all()


@few
@pytest.mark.parametrize(("spec", "player"), SEATS)
def test_leaves_are_those_of_the_leaf_table(spec, player):
    game = load_game(spec)
    view, leaves = observer_tree(game, player), game.sequence_form.leaves
    assert view.results[view.leaf_classes].tolist() == leaves.payoffs[:, player].tolist()
    assert view.own_sequences[view.leaf_classes].tolist() == leaves.sequences[:, player].tolist()
    # The histories listed under a terminal class are the leaves of the table that have this class.
    for number in np.flatnonzero(view.terminal):
        of_class = view.leaf_classes == number
        rows = np.column_stack([leaves.chance, leaves.sequences])[of_class]
        place = view.histories(number)
        assert sorted(map(tuple, rows)) == sorted(
            map(tuple, np.column_stack([view.chance[place], view.sequences[place]]))
        )
    assert not view.terminal[view.parents[1:]].any()
    assert set(view.leaf_classes) == set(np.flatnonzero(view.terminal))


@few
@pytest.mark.parametrize(("spec", "player"), SEATS)
def test_the_observer_knows_its_infoset_and_no_more(spec, player):
    game = load_game(spec)
    view, treeplex = observer_tree(game, player), game.sequence_form.treeplexes[player]
    acting = view.infosets >= 0
    assert sorted(view.infosets[acting]) == list(range(treeplex.num_infosets))
    assert (view.own_sequences[acting] == treeplex.parents[view.infosets[acting]]).all()
    # An own action leads from a class at which the observer moves, to a sequence of its infoset.
    moved = np.flatnonzero(view.own_sequences[1:] != view.own_sequences[view.parents[1:]]) + 1
    assert (treeplex.sequence_infosets[view.own_sequences[moved]] == view.infosets[view.parents[moved]]).all()


@pytest.mark.parametrize("spec", OBSERVED)
def test_public_histories_say_what_public_states_say(spec):
    rules = load_game(spec).rules
    state_of = public_labels(rules)
    uniform = [strategy.to_dict() for strategy in Profile.uniform(load_game(spec))]
    inner = [states[-1] for states, _ in slow_walk(rules, 0, uniform) if rules.player(states[-1]) != TERMINAL]
    pairs = {(state_of(state), rules.public_history(state)) for state in inner}
    assert len(pairs) == len({state for state, _ in pairs}) == len({history for _, history in pairs})


def test_who_shows_in_kuhn_poker():
    two, three = Kuhn(), Kuhn(players=3)
    for history, shown in {"pp": (0, 1), "bb": (0, 1), "bp": (), "pbp": (), "pbb": (0, 1)}.items():
        assert two.shows((("J", "Q"), history)) == shown
    for history, shown in {"ppp": (0, 1, 2), "bpp": (), "bpb": (0, 2), "ppbbp": (0, 2), "pbbb": (0, 1, 2)}.items():
        assert three.shows((("T", "J", "Q"), history)) == shown


def after(rules, *steps):
    state = rules.initial_state()
    for step in steps:
        state = rules.child(state, step)
    return state


def test_leduc_poker_in_words():
    rules = Leduc()
    state = after(rules, "Ks", "Qh", "c", "r", "c", "Js", "r", "f")
    assert rules.player(state) == TERMINAL
    assert rules.public_history(state) == ("c", "r", "c", "Js", "r", "f")
    assert rules.shows(state) == ()
    assert rules.private_information(state, 1) == "Qh"
    assert rules.shows(after(rules, "Ks", "Qh", "c", "c", "Js", "c", "c")) == (0, 1)
    many = Leduc(ranks=20, merge_suits=True)
    assert many.public_history(after(many, "3", "17", "c", "c", "10", "c")) == ("c", "c", "10", "c")
    assert [rules.private_information(after(rules, "Ks"), player) for player in (0, 1)] == ["Ks", ""]


def test_totals_add_up_over_the_tree():
    game = load_game("leduc:merge_suits=true")
    view = observer_tree(game, player=1)
    rng = np.random.default_rng(5)
    ended = np.where(view.terminal, rng.integers(0, 9, view.num_classes), 0)
    expected = ended.copy()
    for number in np.flatnonzero(view.terminal):
        above = view.parents[number]
        while above >= 0:
            expected[above] += ended[number]
            above = view.parents[above]
    assert view.totals(ended).tolist() == expected.tolist()


def test_stored_and_read_back_it_is_the_same():
    view = observer_tree(load_game("kuhn"), player=1)
    back = pickle.loads(pickle.dumps(view))  # noqa: S301 - written by this test
    assert back.public == view.public
    assert not back.chance.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view.parents[0] = 1


def test_labels_that_many_classes_have_are_in_memory_once():
    view = observer_tree(load_game("liars_dice"), player=0)
    assert len({id(public) for public in view.public}) == len(set(view.public))
    assert len({id(event) for public in view.public for event in public}) == 9  # eight bids and the challenge


@few
@pytest.mark.parametrize("spec", ["kuhn:players=4", "leduc", "liars_dice", "goofspiel", "repeated_rps:rounds=3"])
def test_the_estimate_of_memory_is_near_what_is_taken(spec):
    game = load_game(spec)
    game.sequence_form  # noqa: B018
    observer_tree(game, player=0)  # what is made once, such as a game's tables, is not counted
    tracemalloc.start()
    view = observer_tree(game, player=0)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = view_bytes(game.num_players, view.num_histories, view.num_classes)
    assert 0.6 * estimate < taken < 1.3 * estimate + 100_000


def test_a_game_that_is_over_at_once_is_one_class():
    class Over:
        num_players = 2

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return {
                "initial_state": tuple,
                "player": lambda state: TERMINAL,
                "payoffs": lambda state: (3, -3),
                "private_information": lambda state, player: "",
                "public_history": lambda state: (),
                "shows": lambda state: (),
                "action_words": {},
            }.get(name, lambda *_: ())

    view = observer_tree(Game("over", rules=Over()), player=1)
    assert (view.num_classes, view.results.tolist(), view.leaf_classes.tolist()) == (1, [-3.0], [0])


# What is refused


class Changed(Kuhn):
    """Kuhn poker that is observed in another way."""

    def __init__(self, private=None, public=None, showing=None):
        super().__init__()
        self.__dict__.update(private=private, public=public, showing=showing)

    def private_information(self, state, player):
        right = super().private_information(state, player)
        return self.private(right, state) if self.private else right

    def public_history(self, state):
        right = super().public_history(state)
        return self.public(right, state) if self.public else right

    def shows(self, state):
        return self.showing(state) if self.showing else super().shows(state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"private": lambda right, state: ""},
            "to player 0, who has '' and has seen (), but lie in the infosets 'J_' and 'Q_': expected a single",
        ),
        (
            {"public": lambda right, state: ()},
            "history J and history J/Q/p look the same to player 0, who has 'J' and has seen (), but differ in the ob",
        ),
        (
            {"public": lambda right, state: right[-1:]},
            "history J/Q/p/b has the public history ('b',) after ('p',), expected one that starts with it",
        ),
        (
            {"private": lambda right, state: right if len(state[0]) < 2 or state[1] else "?"},
            "history J/Q and history Q/J look the same to player 0, who has '?' and has seen (), but came from differe",
        ),
        ({"private": lambda right, state: 7}, "the root has private information 7 of player 0, expected a string"),
        (
            {"public": lambda right, state: list(right)},
            "the root has the public history [], expected a tuple of strings",
        ),
        (
            {"public": lambda right, state: (*right, 1)},
            "the root has the public history (1,), expected a tuple of strings",
        ),
        (
            {"showing": lambda state: [0, 1]},
            "history J/Q/p/p reveals the private information of [0, 1], expected a tuple of players",
        ),
        ({"showing": lambda state: (2,)}, "reveals the private information of (2,), expected a tuple of players"),
        (
            {"private": lambda right, state: right if state[1] != "bb" else None},
            "history J/Q/b/b has private information None of player 0, expected a string",
        ),
    ],
)
def test_rules_that_contradict_themselves_are_refused(changes, message):
    with pytest.raises(InvalidGameError) as caught:
        observer_tree(Game("changed", rules=Changed(**changes)), player=0)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_games_that_do_not_say_what_is_observed_are_refused():
    without = to_game(seeded_tree(1, 2))
    for game in (without, load_game("coin"), Game.from_tree(GameTree.from_rules(Kuhn())), load_game("transit:width=2")):
        with pytest.raises(UnsupportedProblemError, match="does not define what players observe, expected rules with"):
            observer_tree(game, player=0)
    with pytest.raises(InvalidGameError, match="expected a Game"):
        observer_tree("kuhn", player=0)
    for player in (2, -1, "0", True):
        with pytest.raises(InvalidStrategyError, match="expected a number from 0 to 1"):
            observer_tree(load_game("kuhn"), player)


def test_a_sequence_form_of_another_game_is_refused():
    given = SequenceForm.from_rules(Kuhn(cards=4))
    with pytest.raises(
        UnsupportedProblemError, match="the infosets of the given sequence form and of the rules differ"
    ):
        observer_tree(Game("mixed", rules=Kuhn(), sequence_form=given), player=0)


def test_memory_is_watched():
    game = load_game("leduc:ranks=4")
    game.sequence_form  # noqa: B018
    with pytest.raises(GameTooLargeError, match="leaves would take about"):
        observer_tree(game, player=0, memory="100kB")
    with pytest.raises(GameTooLargeError, match="has used"):
        observer_tree(game, player=0, memory="3MB")
