"""Public states: by rules and from infosets alike, their levels, what is refused, and a slow version beside them."""

import itertools
import json
import pickle
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from effort import few
from hypothesis import given
from hypothesis import strategies as st
from random_trees import Chance, Decision, Leaf, NestedRules, seeded_tree, to_game, to_graph, trees

from treeplex import (
    CHANCE,
    TERMINAL,
    Game,
    GameTooLargeError,
    GameTree,
    InvalidGameError,
    SequenceForm,
    UnsupportedProblemError,
    families,
    load_game,
)
from treeplex.cli import main
from treeplex.models.games import Kuhn
from treeplex.seqform.public_from_tree import (
    PLACE_BYTES,
    collect_histories,
    public_tree_from_infosets,
    times_of,
    with_waits,
)
from treeplex.seqform.public_tree import public_tree_from_rules
from treeplex.seqform.rules import public_labels


def tables(public):
    """Everything but the labels, as lists."""
    arrays = (public.parents, public.levels, public.leaf_states, *public.infoset_states)
    return [array.tolist() for array in arrays], public.players


def state_of(game, player, label):
    return game.public_tree.infoset_states[player][game.sequence_form.treeplexes[player].infoset_labels.index(label)]


def level_of(game, player, label):
    return int(game.public_tree.levels[state_of(game, player, label)])


# Both routes


SMALL = [
    "kuhn:cards=5",
    "kuhn:players=3",
    "kuhn:players=3,cards=3",
    "kuhn:players=4",
    "leduc:merge_suits=true",
    "leduc:raises=3",
    "leduc:ranks=4,suits=1",
    "leduc:players=3,ranks=5,suits=1,raises=1",
    "liars_dice:wild=false",
    "liars_dice:dice=2,sides=2",
    "liars_dice:players=3,sides=2",
    *(f"goofspiel:cards={cards},order={order}" for cards in (2, 3, 4) for order in ("descending", "ascending")),
    "goofspiel:cards=3,order=random",
    "goofspiel:order=random,payoff=win_loss",
    "goofspiel:cards=5",
    "repeated_rps:rounds=3",
]


def labelled(spec):
    rules = load_game(spec).rules
    return rules is not None and public_labels(rules) is not None


@few
@pytest.mark.parametrize("spec", [*filter(labelled, (family.name for family in families())), *SMALL])
def test_labels_of_rules_say_what_follows_from_the_infosets(spec):
    game = load_game(spec)
    derived = public_tree_from_infosets(game.rules, game.sequence_form)
    assert derived.labels is None
    assert tables(game.public_tree) == tables(derived)
    assert len(set(game.public_tree.labels)) == game.public_tree.num_states


@pytest.mark.slow
def test_both_routes_agree_in_goofspiel_with_six_cards():
    game = load_game("goofspiel:cards=6")
    assert tables(game.public_tree) == tables(public_tree_from_infosets(game.rules, game.sequence_form))
    assert (game.public_tree.num_states, game.public_tree.num_levels) == (5_390, 10)


@pytest.mark.parametrize("spec", ["kuhn:cards=2", "leduc:suits=1", "leduc:ranks=1,suits=3"])
def test_where_cards_can_be_inferred_the_labels_are_coarser(spec):
    game = load_game(spec)
    derived = public_tree_from_infosets(game.rules)
    assert derived.num_states > game.public_tree.num_states
    for player in (0, 1):
        pairs = set(zip(derived.infoset_states[player], game.public_tree.infoset_states[player], strict=True))
        assert len(pairs) == len({fine for fine, _ in pairs})


def test_a_board_card_that_follows_from_the_deal_comes_with_the_action_before_it():
    game = load_game("leduc:players=3,ranks=2,merge_suits=true")  # the board is the last of four cards
    derived = public_tree_from_infosets(game.rules)
    for player in range(3):
        pairs = set(zip(derived.infoset_states[player], game.public_tree.infoset_states[player], strict=True))
        assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
    assert derived.num_levels == game.public_tree.num_levels - 1


@pytest.mark.parametrize("spec", ["kuhn", "goofspiel:cards=3,order=random", "leduc:merge_suits=true"])
def test_a_tree_written_out_keeps_the_public_states(spec):
    game = load_game(spec)
    copy = Game.from_tree(GameTree.from_rules(game.rules))
    assert copy.public_tree.labels == game.public_tree.labels
    assert tables(copy.public_tree) == tables(game.public_tree)


def test_rules_without_labels_make_a_tree_without_labels():
    graph = to_graph(seeded_tree(0))
    assert GameTree(graph).public_state is None
    assert Game.from_tree(GameTree.from_rules(NestedRules(seeded_tree(0), 2))).public_tree.labels is None


# Numbers known by hand


def test_public_states_of_kuhn():
    public = load_game("kuhn").public_tree
    assert public.labels == ("", "p", "pb", "b")
    assert public.players == ((0,), (1,), (0,), (1,))
    assert public.levels.tolist() == [0, 1, 2, 1]
    assert public.num_levels == 3
    assert load_game("kuhn:cards=12").public_tree.num_states == 4


def test_levels_of_leduc_count_the_board_card():
    game = load_game("leduc")
    assert level_of(game, 0, "Ks_") == 0
    assert level_of(game, 1, "Ks_c") == 1
    assert level_of(game, 0, "Ks_cc_Qs_") == 3
    assert level_of(game, 0, "Ks_crc_Qs_") == 4
    assert level_of(game, 1, "Ks_crrc_Qs_crr") == 8
    # Six states in the first round, five ways into the second, six boards, and six states after each.
    assert game.public_tree.num_states == 6 + 5 + 5 * 6 * 6
    assert game.public_tree.num_levels == 9


@pytest.mark.parametrize(("cards", "levels"), [(2, 2), (3, 4), (4, 6), (5, 8)])
def test_goofspiel_has_two_levels_a_round_and_a_forced_last_bid(cards, levels):
    game = load_game(f"goofspiel:cards={cards}")
    assert game.public_tree.num_levels == levels
    assert set(game.public_tree.infoset_levels(0).tolist()) == set(range(0, levels, 2))
    assert set(game.public_tree.infoset_levels(1).tolist()) == set(range(1, levels, 2))


def test_drawn_prizes_are_levels():
    game = load_game("goofspiel:order=random")
    assert set(game.public_tree.infoset_levels(0).tolist()) == {1, 4, 7}
    assert set(game.public_tree.infoset_levels(1).tolist()) == {2, 5, 8}


def test_a_tied_bid_is_public_and_a_won_one_is_not():
    game = load_game("goofspiel")
    assert state_of(game, 0, "_4w") == state_of(game, 0, "_3w") != state_of(game, 0, "_3l")
    assert state_of(game, 0, "_4t") != state_of(game, 0, "_3t")


@pytest.mark.parametrize("route", [public_tree_from_rules, public_tree_from_infosets])
def test_who_is_done_does_not_see_the_cards_of_a_last_decision(route):
    for spec, player, past in (
        ("kuhn", 1, "b"),
        ("kuhn", 0, "pb"),
        ("kuhn:players=3", 2, "bp"),
        ("leduc", 1, "cc_Qs_r"),
    ):
        game = load_game(spec)
        labels = game.sequence_form.treeplexes[player].infoset_labels
        states = route(game.rules).infoset_states[player]
        assert len({states[i] for i, label in enumerate(labels) if label.endswith(f"_{past}")}) == 1


@pytest.mark.parametrize("route", [public_tree_from_rules, public_tree_from_infosets])
def test_who_is_done_sees_what_all_the_others_see(route):
    game = load_game("kuhn:players=3")
    labels = game.sequence_form.treeplexes[2].infoset_labels
    states = dict(zip(labels, route(game.rules).infoset_states[2], strict=True))
    assert states["J_bp"] == states["K_bp"] != states["J_bb"]


@pytest.mark.parametrize("spec", ["kuhn", "kuhn:players=3", "leduc:merge_suits=true", "liars_dice", "goofspiel", "rps"])
def test_a_leaf_belongs_to_the_state_of_the_last_decision(spec):
    game = load_game(spec)
    form, public = game.sequence_form, game.public_tree
    last = np.full(form.num_leaves, -1)
    for player, treeplex in enumerate(form.treeplexes):
        infosets = treeplex.sequence_infosets[form.leaves.sequences[:, player]]
        levels = np.where(infosets >= 0, public.infoset_levels(player)[infosets], -1)
        last = np.maximum(last, levels)
    assert public.levels[public.leaf_states].tolist() == last.tolist()


def test_private_deals_and_events_that_change_nothing_are_contracted():
    end = (("x", Leaf((0, 0))), ("y", Leaf((1, -1))))
    once = Chance((("only", Fraction(1), Decision(0, "a", end)),))
    assert to_game(once).public_tree.parents.tolist() == [-1]
    coin = Chance(tuple((side, Fraction(1, 2), Decision(0, side, end)) for side in "ht"))
    assert to_game(coin).public_tree.parents.tolist() == [-1, 0, 0]
    hidden = Chance(tuple((side, Fraction(1, 2), Decision(0, "a", end)) for side in "ht"))
    assert to_game(hidden).public_tree.parents.tolist() == [-1]


def test_a_game_that_is_over_has_no_public_states():
    public = to_game(Leaf((1, -1))).public_tree
    assert (public.num_states, public.num_levels, public.leaf_states.tolist()) == (0, 0, [-1])


# Laws on random trees


def histories(root):
    """Return every inner history as (node, its parent's place, the event before it), parents first."""
    found, queue = [], [(root, -1, None)]
    for node, parent, event in queue:
        if isinstance(node, Leaf):
            continue
        found.append((node, parent, event))
        mover = node.player if isinstance(node, Decision) else CHANCE
        edges = node.moves if isinstance(node, Decision) else node.outcomes
        queue += [(edge[-1], len(found) - 1, (mover, edge[0])) for edge in edges]
    return found


def times(found):
    """Raise every vertex above its predecessors until nothing changes; ``None`` if that never ends."""
    vertex = [(node.player, node.infoset) if isinstance(node, Decision) else id(node) for node, _, _ in found]
    time = dict.fromkeys(vertex, 0)
    for _ in range(len(found) + 1):
        before = dict(time)
        for here, (_, parent, _) in zip(vertex, found, strict=True):
            if parent >= 0:
                time[here] = max(time[here], time[vertex[parent]] + 1)
        if time == before:
            return [time[one] for one in vertex]
    return None


def linked(groups):
    """Return the sets that are connected by common members."""
    graph = nx.Graph()
    for group in groups:
        graph.add_nodes_from(group)
        graph.add_edges_from(itertools.pairwise(group))
    return [frozenset(component) for component in nx.connected_components(graph)]


def slow_public_states(root, num_players):
    """Follow the definition word by word: for each time, the public states as sets of places, and each one's parent."""
    found = histories(root)
    time = times(found)
    if time is None:
        return None
    # The next infosets of each player at or below each history.
    ahead = [[set() for _ in found] for _ in range(num_players)]
    for place in reversed(range(len(found))):
        node, parent, _ = found[place]
        for player in range(num_players):
            if isinstance(node, Decision) and node.player == player:
                ahead[player][place] = {node.infoset}
            if parent >= 0:
                ahead[player][parent] |= ahead[player][place]
    start = [0 if parent < 0 else time[parent] + 1 for _, parent, _ in found]
    states, parents = [[frozenset([0])]], [[None]]
    knowledge = [[{0: frozenset([0])}] for _ in range(num_players)]
    for now in range(1, max(time) + 1):
        here = [place for place in range(len(found)) if start[place] <= now <= time[place]]

        def back(place, now=now):
            return place if start[place] < now else found[place][1]

        def event(place, now=now):
            return "waits" if start[place] < now else found[place][2]

        classes = []
        for player in range(num_players):
            acting = [place for place in here if ahead[player][place]]
            infosets = set().union(*(ahead[player][place] for place in acting))
            shared = [[place for place in acting if infoset in ahead[player][place]] for infoset in infosets]
            classes.append(linked(shared))
        hidden = {
            state
            for state in states[-1]
            for one in itertools.chain(*classes)
            if len({event(place) for place in one if back(place) in state}) > 1
        }
        for player in range(num_players):
            done = {}
            for place in here:
                if not ahead[player][place]:
                    before = knowledge[player][-1][back(place)]
                    mover = found[back(place)][0]
                    own = start[place] == now and isinstance(mover, Decision) and mover.player == player
                    state = next(state for state in states[-1] if back(place) in state)
                    key = before, event(place) if own or state not in hidden else None
                    done.setdefault(key, []).append(place)
            classes[player] += map(frozenset, done.values())
            knowledge[player].append({place: one for one in classes[player] for place in one})
        together = linked([list(one) for one in itertools.chain(*classes)])
        for state in together:
            assert len({before for before in states[-1] for place in state if back(place) in before}) == 1
        parents.append([next(b for b in states[-1] if back(next(iter(state))) in b) for state in together])
        states.append(together)
    return found, time, states, parents


def slow_partition(root, num_players):
    """Return (player, infoset) to its level, by contracted public states, and these as sets of infosets."""
    slow = slow_public_states(root, num_players)
    if slow is None:
        return None
    found, time, states, parents = slow
    tree = nx.DiGraph()
    tree.add_node((0, states[0][0]))
    for now in range(1, len(states)):
        tree.add_edges_from(
            ((now - 1, parent), (now, state)) for state, parent in zip(states[now], parents[now], strict=True)
        )
    level, group, groups = {}, {}, itertools.count()
    for one in nx.topological_sort(tree):
        above = next(iter(tree.predecessors(one)), None)
        if above is None:
            level[one], group[one] = 0, next(groups)
            continue
        acts = any(time[place] == above[0] and isinstance(found[place][0], Decision) for place in above[1])
        counts = acts or tree.out_degree(above) > 1
        level[one] = level[above] + counts
        group[one] = next(groups) if counts else group[above]
    result = {}
    for place, (node, _, _) in enumerate(found):
        if isinstance(node, Decision):
            one = next((time[place], state) for state in states[time[place]] if place in state)
            assert result.setdefault((node.player, node.infoset), (group[one], level[one])) == (group[one], level[one])
    return result, next(groups)


def agree(root, num_players):
    """Hold the library to the slow version; return whether the game has an order in time."""
    game = to_game(root)
    expected = slow_partition(root, num_players)
    if expected is None:
        with pytest.raises(UnsupportedProblemError, match="lies both before and after infoset"):
            _ = game.public_tree
        return False
    expected, num_states = expected
    public = game.public_tree
    found = {
        (player, label): (int(public.infoset_states[player][i]), int(public.infoset_levels(player)[i]))
        for player, treeplex in enumerate(game.sequence_form.treeplexes)
        for i, label in enumerate(treeplex.infoset_labels)
    }
    assert found.keys() == expected.keys()
    assert len({(found[one][0], expected[one][0]) for one in found}) == len({state for state, _ in found.values()})
    assert len({state for state, _ in found.values()}) == len({state for state, _ in expected.values()})
    assert {one: level for one, (_, level) in found.items()} == {one: level for one, (_, level) in expected.items()}
    assert public.num_states == num_states
    return True


@given(st.integers(2, 3).flatmap(lambda players: st.tuples(trees(num_players=players), st.just(players))))
def test_public_states_of_random_trees_are_those_of_the_definition(drawn):
    agree(*drawn)


def test_larger_random_trees():
    timeable = [agree(seeded_tree(seed, num_players=3, depth=6, size=60), 3) for seed in range(40)]
    assert 10 < sum(timeable) < 40


@given(trees())
def test_public_states_form_a_tree_that_no_infoset_leaves(root):
    game = to_game(root)
    try:
        public = game.public_tree
    except UnsupportedProblemError:
        return
    assert public.parents[0] == -1 if public.num_states else True
    assert (public.parents < np.arange(public.num_states)).all()
    assert (public.levels[1:] == public.levels[public.parents[1:]] + 1).all()
    # Along every path, from decision to decision and to the leaf, the play goes down the public tree.
    numbers = [{label: i for i, label in enumerate(each.infoset_labels)} for each in game.sequence_form.treeplexes]
    stack = [(root, None)]
    while stack:
        node, before = stack.pop()
        if isinstance(node, Leaf):
            continue
        if isinstance(node, Decision):
            state = int(public.infoset_states[node.player][numbers[node.player][node.infoset]])
            assert node.player in public.players[state]
            if before is not None:
                assert public.levels[before] < public.levels[state]
                assert public.ancestors_at(int(public.levels[before]))[state] == before
            before = state
        edges = node.moves if isinstance(node, Decision) else node.outcomes
        stack += [(edge[-1], before) for edge in edges]


def line(depth, turns=1):
    """A long game: players take turns, each may stop."""
    node = Leaf((0, 0))
    for place in reversed(range(depth)):
        node = Decision(place % turns, f"{place}", (("go", node), ("stop", Leaf((1, -1)))))
    return node


def test_a_long_game_takes_linear_time():
    public = to_game(line(5_000, 2)).public_tree
    assert public.num_levels == 5_000


def test_histories_that_would_wait_too_long_are_refused():
    late = [Decision(1, "late", (("x", Leaf((0, 0))), ("y", Leaf((0, 0))))) for _ in range(3_001)]
    node = late[0]
    for place in reversed(range(2_000)):
        node = Decision(0, f"{place}", (("go", node), ("stop", Leaf((1, -1)))))
    root = Chance(
        (
            ("slow", Fraction(1, 3001), node),
            *((f"{i}", Fraction(1, 3001), waits) for i, waits in enumerate(late[1:])),
        )
    )
    with pytest.raises(UnsupportedProblemError, match=r"wait for each other 6,000,000 times, expected at most"):
        _ = to_game(root).public_tree


# What is refused


def test_a_game_without_order_in_time_is_refused():
    def stop(player, infoset, after):
        return Decision(player, infoset, (("go", after), ("stop", Leaf((0, 0)))))

    ends = (("x", Leaf((0, 0))), ("y", Leaf((1, -1))))
    first = Decision(0, "a", tuple((action, Decision(1, "b", ends)) for action in ("x", "y")))
    second = Decision(1, "b", tuple((action, Decision(0, "a", ends)) for action in ("x", "y")))
    root = Chance((("one", Fraction(1, 2), first), ("other", Fraction(1, 2), second)))
    game = to_game(root)
    with pytest.raises(UnsupportedProblemError) as refused:
        _ = game.public_tree
    assert "infoset 'a' of player 0" in str(refused.value)
    assert "infoset 'b' of player 1" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_game_given_as_matrices_is_refused():
    pennies = SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]])
    with pytest.raises(UnsupportedProblemError, match="has no histories to visit"):
        _ = Game.from_sequence_form(pennies).public_tree


def test_a_sequence_form_with_other_infosets_is_refused():
    pennies = SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]])
    with pytest.raises(
        UnsupportedProblemError, match="the infosets of the given sequence form and of the rules differ"
    ):
        _ = Game("odd", rules=Kuhn(), sequence_form=pennies).public_tree
    with pytest.raises(
        UnsupportedProblemError, match="the infosets of the given sequence form and of the rules differ"
    ):
        public_tree_from_infosets(Kuhn(), pennies)


class Labelled(NestedRules):
    """Nested data whose nodes have labels."""

    def __init__(self, root, labels):
        super().__init__(root, 2)
        self.labels = labels

    def public_state(self, state):
        return self.labels[state.infoset if isinstance(state, Decision) else "chance"]


ENDS = (("x", Leaf((0, 0))), ("y", Leaf((1, -1))))


def two_moves(first="b", second="b"):
    return Decision(0, "a", (("x", Decision(1, first, ENDS)), ("y", Decision(1, second, ENDS))))


def test_labels_that_an_action_leaves_are_refused():
    game = Game("odd", rules=Labelled(two_moves(), {"a": "start", "b": "start"}))
    with pytest.raises(
        InvalidGameError, match="history x has the public state 'start', the same as before its last action"
    ):
        _ = game.public_tree


def test_labels_that_split_an_infoset_are_refused():
    graph = to_graph(two_moves())
    for node, label in zip((0, 1, 4), ("start", "left", "right"), strict=True):
        graph.nodes[node]["public"] = label
    with pytest.raises(InvalidGameError) as refused:
        _ = Game.from_tree(graph).public_tree
    assert str(refused.value) == (
        "infoset 'b' of player 1 lies in two public states: history x has 'left' and history y has 'right', expected "
        "the same"
    )


def test_labels_that_meet_again_are_refused():
    left, right = (Decision(1, f"b{side}", (("x", Decision(0, f"c{side}", ENDS)),)) for side in "lr")
    root = Decision(0, "a", (("l", left), ("r", right)))
    labels = {"a": 0, "bl": 1, "br": 2, "cl": 3, "cr": 3}
    with pytest.raises(InvalidGameError, match="history l/x and history r/x have the public state 3, but came from"):
        _ = Game("odd", rules=Labelled(root, labels)).public_tree
    assert Game("even", rules=Labelled(root, labels | {"cr": 4})).public_tree.num_states == 5
    with pytest.raises(InvalidGameError, match="the root and history l/x have the public state 0, but came from"):
        _ = Game("odd", rules=Labelled(root, labels | {"cl": 0})).public_tree


def test_labels_that_some_outcomes_change_are_refused():
    root = Chance(tuple((side, Fraction(1, 2), Decision(0, side, ENDS)) for side in "ht"))
    for labels in ({"h": "", "t": "tails"}, {"h": "heads", "t": ""}):
        with pytest.raises(InvalidGameError, match="which some outcomes change and others do not"):
            _ = Game("odd", rules=Labelled(root, labels | {"chance": ""})).public_tree
    public = Game("even", rules=Labelled(root, {"chance": "", "h": "h", "t": "t"})).public_tree
    assert public.levels.tolist() == [0, 1, 1]
    public = Game("even", rules=Labelled(root, {"chance": "", "h": "", "t": ""})).public_tree
    assert public.levels.tolist() == [0]


def test_labels_that_are_not_hashable_are_refused():
    game = Game("odd", rules=Labelled(two_moves(), {"a": 0, "b": [1]}))
    with pytest.raises(InvalidGameError, match=r"history x has the public state \[1\], expected a hashable label"):
        _ = game.public_tree


def test_rules_without_labels_are_not_read_for_labels():
    with pytest.raises(InvalidGameError, match="has no method public_state"):
        public_tree_from_rules(NestedRules(two_moves(), 2))


@pytest.mark.parametrize(
    ("labelled", "message"),
    [
        ((0, 1), r"history y \(node 4\) has no attribute 'public', but the root has one"),
        ((1, 4), r"history x \(node 1\) has the attribute 'public', but the root has none"),
    ],
)
def test_half_of_the_attributes_are_refused(labelled, message):
    graph = to_graph(two_moves())
    for node in labelled:
        graph.nodes[node]["public"] = node
    with pytest.raises(InvalidGameError, match=message):
        GameTree(graph)


# The result


def test_arrays_are_read_only_and_stay_so():
    public = load_game("leduc").public_tree
    stored = pickle.loads(pickle.dumps(public))  # noqa: S301
    for each in (public, stored):
        for array in (each.parents, each.levels, each.leaf_states, *each.infoset_states, each.infoset_levels(0)):
            assert array.dtype == np.int32
            assert not array.flags.writeable
    assert tables(stored) == tables(public)


def test_ancestors_are_roots_of_subgames():
    public = load_game("leduc").public_tree
    for level in range(public.num_levels + 1):
        ancestors = public.ancestors_at(level)
        for state, ancestor in enumerate(ancestors.tolist()):
            above = state
            while above >= 0 and public.levels[above] > level:
                above = int(public.parents[above])
            assert ancestor == (above if public.levels[above] == level else -1)


def test_questions_out_of_range_are_refused():
    public = load_game("kuhn").public_tree
    for player in (2, -1, True, "0", None):
        with pytest.raises(InvalidGameError, match="expected a number from 0 to 1"):
            public.infoset_levels(player)
    for level in (-1, True, 0.5, "1"):
        with pytest.raises(InvalidGameError, match="expected a whole number of at least 0"):
            public.ancestors_at(level)


def test_terminal_states_are_not_asked_for_labels():
    class Strict(Kuhn):
        def public_state(self, state):
            assert self.player(state) != TERMINAL
            return super().public_state(state)

    assert Game("strict", rules=Strict()).public_tree.num_states == 4


# The command line


def test_info_counts_public_states(capsys):
    assert main(["info", "kuhn", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["public_states"], record["public_levels"]) == (4, 3)
    assert main(["info", "leduc"]) == 0
    assert "191 public states on 9 levels" in capsys.readouterr().out


def test_info_leaves_large_games_uncounted(capsys, monkeypatch):
    monkeypatch.setattr("treeplex.cli.info._QUICK", 50)
    assert main(["info", "kuhn", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["public_states"], record["public_levels"]) == (None, None)
    assert main(["info", "kuhn"]) == 0
    assert "not counted; see --public" in capsys.readouterr().out
    assert main(["info", "kuhn", "--public"]) == 0
    assert "4 public states on 3 levels" in capsys.readouterr().out


def test_histories_that_do_not_fit_are_refused(monkeypatch, capsys):
    spec = "transit:width=2,form=histories,horizon=2"
    game = load_game(spec)
    assert game.public_tree.num_states == 30
    again = load_game(spec)
    assert again.sequence_form.num_nodes == 7371
    monkeypatch.setenv("TREEPLEX_MEMORY", "1MB")
    needed = "public states of 3,195 inner histories would take about 1.28 MB, but the budget is 1 MB"
    with pytest.raises(GameTooLargeError, match=f"^{again.spec}: {needed}"):
        _ = again.public_tree
    assert main(["info", spec]) == 0
    assert "not counted; see --public" in capsys.readouterr().out
    assert main(["info", spec, "--public"]) == 2
    assert needed in capsys.readouterr().err


def test_waits_that_do_not_fit_are_refused(monkeypatch):
    rules = load_game("transit:width=2,form=histories,horizon=2").rules
    histories = collect_histories(rules)
    times = [2 * time for time in times_of(histories)]  # everybody waits at every second time
    places = 2 * len(times) - 1
    monkeypatch.setenv("TREEPLEX_MEMORY", str(PLACE_BYTES * places - 1))
    with pytest.raises(GameTooLargeError, match="public states of 3,195 inner histories"):
        with_waits(histories, times)
    monkeypatch.setenv("TREEPLEX_MEMORY", str(PLACE_BYTES * places))
    assert len(with_waits(histories, times).before) == places


def test_info_says_why_a_game_has_no_public_states(capsys):
    assert main(["info", "transit:width=2"]) == 0
    assert "none, without histories" in capsys.readouterr().out
    assert main(["info", "transit:width=2", "--public"]) == 2
    assert "has no histories to visit" in capsys.readouterr().err
