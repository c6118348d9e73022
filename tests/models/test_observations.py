"""From counts to bounds on an opponent's plan: what each event is, how it is counted, and what it says."""

import io
import pickle

import numpy as np
import pytest
from effort import soaked
from observed_games import drawn_counts, opponent_of, probe_that_never_folds, versus

from treeplex import (
    Game,
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    Observations,
    OpponentModel,
    PlayLogError,
    Profile,
    Strategy,
    UnsupportedProblemError,
    best_response,
    expected_payoffs,
    load_game,
    observer_tree,
    read_play_log,
)
from treeplex.models.observations import frequency_model, observed_events
from treeplex.models.play import PlayLogWriter
from treeplex.seqform.polytope import best_response_value

LINE = b'{"seat":0,"private":"J","public":["p","b","p"],"result":-1}'

GAMES = ("kuhn", "leduc:merge_suits=true", "liars_dice:sides=3", "goofspiel:cards=3", "rps")
SEATS = [(spec, player) for spec in GAMES for player in (0, 1)]


def no_games(game: Game, player: int, probe: Strategy | None = None) -> Observations:
    view = observer_tree(game, player)
    return Observations(game, player, np.zeros(view.num_classes, dtype=int), probe, view=view)


def seen(spec: str, player: int, opponent: str, games: int, seed: int, known: bool = True) -> Observations:
    game = load_game(spec)
    probe = Strategy.uniform(game, player)
    empty = no_games(game, player, probe if known else None)
    profile = versus(probe, opponent_of(game, player, opponent))
    return empty.with_counts(drawn_counts(empty.view, profile, games, seed))


# Events


@pytest.mark.parametrize(("spec", "player"), SEATS)
def test_the_probability_of_an_event_is_that_of_its_classes(spec: str, player: int) -> None:
    game = load_game(spec)
    view = observer_tree(game, player)
    events = observed_events(view, game.sequence_form.treeplexes[1 - player])
    for seed in (1, 2):
        profile = versus(
            opponent_of(game, 1 - player, f"random:seed={seed}"), opponent_of(game, player, f"random:seed={seed + 5}")
        )
        found = profile.plans[player][events.own] * (events.matrix @ profile.plans[1 - player])
        assert found == pytest.approx(events.classes @ view.probabilities(profile.plans), abs=1e-14)
        assert (events.least <= events.matrix @ profile.plans[1 - player] + 1e-14).all()
        assert (events.matrix @ profile.plans[1 - player] <= events.most + 1e-14).all()


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("spec", ["kuhn:cards=4", "leduc:suits=1,raises=1", "liars_dice:sides=2", "goofspiel:cards=3"])
def test_the_events_say_all_that_payoffs_depend_on(spec: str, player: int) -> None:
    """Lemma 5: what every own plan earns is a function of the probabilities of the events."""
    game = load_game(spec)
    opponent = game.sequence_form.treeplexes[1 - player]
    events = observed_events(observer_tree(game, player), opponent)
    payoffs = game.sequence_form.A if player == 0 else -game.sequence_form.A.T
    known = np.vstack([events.matrix.toarray(), opponent.E.toarray()])
    wanted = payoffs.toarray()
    combined = np.linalg.lstsq(known.T, wanted.T, rcond=None)[0]
    assert known.T @ combined == pytest.approx(wanted.T, abs=1e-9)


@pytest.mark.parametrize(("spec", "player"), SEATS)
def test_every_event_says_something_and_says_it_once(spec: str, player: int) -> None:
    game = load_game(spec)
    events = observed_events(observer_tree(game, player), game.sequence_form.treeplexes[1 - player])
    assert (events.most > events.least + 1e-9).all()
    assert (events.matrix.data > 0.0).all()
    assert len(set(events.names)) == len(events)


def test_the_events_of_kuhn_poker_are_those_of_the_paper() -> None:
    game = load_game("kuhn")
    events = observed_events(observer_tree(game, 0), game.sequence_form.treeplexes[1])
    with_a_jack = {name.removeprefix("holding J, opponent ") for name in events.names if "holding J" in name}
    assert with_a_jack == {
        *("reaches p/b", "reaches b/p", "reaches b/b", "reaches p/p"),  # what both know of it: equation 50
        *(f"showing {card} reaches {end}" for card in "QK" for end in ("p/p", "p/b/b", "b/b")),  # equation 51
    }  # after the own fold p/b/p and before the opponent has acted there is nothing to count
    assert len(events) == 30


def test_what_only_the_result_tells_apart_is_named_by_it() -> None:
    from treeplex.models.games import Kuhn

    class Quiet(Kuhn):
        def shows(self, state):
            return ()

    game = Game("quiet", rules=Quiet())
    events = observed_events(observer_tree(game, 0), game.sequence_form.treeplexes[1])
    assert "holding Q, opponent reaches p/p" in events.names
    assert "holding Q, opponent reaches p/p with the result 1" in events.names
    assert "holding Q, opponent reaches p/p with the result -1" in events.names


def test_labels_that_cannot_be_printed_are_escaped() -> None:
    from treeplex.models.games import Kuhn

    class Framed(Kuhn):
        def private_information(self, state, player):
            return super().private_information(state, player) + "\n"

    game = Game("framed", rules=Framed())
    model = OpponentModel.from_profile(game, 0, Profile.uniform(game))
    assert len(model.constraints) == 60
    assert any(name.startswith("holding J\\n, opponent reaches b/p: ") for name in model.names)


# Counts


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("spec", "player"), [("kuhn", 0), ("leduc:merge_suits=true", 1)])
def test_shares_come_close_to_probabilities(spec: str, player: int, known: bool) -> None:
    observations = seen(spec, player, "random:seed=4", 1_000_000, seed=3, known=known)
    model = OpponentModel.from_observations(observations)
    opponent = opponent_of(observations.game, player, "random:seed=4")
    assert model.frequencies == pytest.approx(model.probabilities(opponent.plan), abs=3e-3)
    inside = (model.lower <= model.probabilities(opponent.plan)) & (model.probabilities(opponent.plan) <= model.upper)
    assert 0.92 < inside.mean() <= 1.0
    assert model.num_games == 1_000_000


def test_an_estimated_probe_plays_in_the_proportions_that_were_seen() -> None:
    observations = seen("kuhn", 0, "uniform", 500, seed=1, known=False)
    view, treeplex = observations.view, observations.game.sequence_form.treeplexes[0]
    passed, bet = (
        sum(int(observations.totals[at]) for at in range(view.num_classes) if view.own_sequences[at] == sequence
            and len(view.public[at]) == 1 and view.private[at] == "K")
        for sequence in (treeplex.sequence("K_", "p"), treeplex.sequence("K_", "b"))
    )  # fmt: skip
    assert observations.own_plan[treeplex.sequence("K_", "b")] == pytest.approx(bet / (passed + bet))
    assert passed + bet < 500


def test_events_that_the_observer_was_never_seen_to_play_to_are_left_out() -> None:
    game = load_game("kuhn")
    view = observer_tree(game, 0)
    counts = np.zeros(view.num_classes, dtype=int)
    counts[view.public.index(("b", "p"))] = 5  # with the jack
    model = OpponentModel.from_observations(Observations(game, 0, counts))
    assert {name.split(":")[0] for name in model.names} == {
        "holding J, opponent reaches b/p",
        "holding J, opponent reaches b/b",
        "holding J, opponent showing Q reaches b/b",
        "holding J, opponent showing K reaches b/b",
    }


def test_totals_are_sums_of_what_lies_below() -> None:
    observations = seen("leduc:merge_suits=true", 0, "uniform", 1000, seed=2)
    view, totals = observations.view, observations.totals
    assert totals[0] == observations.num_games == 1000
    for at in range(view.num_classes):
        if not view.terminal[at]:
            assert totals[at] == totals[view.parents == at].sum()


# Bounds


def test_names_say_what_was_seen_and_how_often() -> None:
    model = OpponentModel.from_observations(seen("kuhn", 0, "random:seed=4", 3204, seed=3))
    named = dict(zip(model.names, zip(model.lower, model.upper, strict=True), strict=True))
    for name, (lower, upper) in named.items():
        assert name.endswith(f": {lower:.3g}-{upper:.3g} (n = 3,204)")
    assert len(named) == len(model.events)
    assert {constraint.name.rsplit(" (at ", 1)[0] for constraint in model.constraints} <= set(named)
    assert all(model.names[event] == name.rsplit(" (at ", 1)[0] for name, event in model.event_of.items())


@pytest.mark.parametrize("interval", ["wilson", "clopper-pearson"])
def test_a_constraint_holds_exactly_where_its_bound_does(interval: str) -> None:
    observations = seen("leduc:merge_suits=true", 1, "random:seed=1", 2000, seed=4)
    model = OpponentModel.from_observations(observations, 0.9, interval=interval)
    plan = opponent_of(observations.game, 1, "random:seed=2").plan
    probabilities = model.probabilities(plan)
    for constraint in model.constraints:
        event = model.event_of[constraint.name]
        below = constraint.name.endswith("(at least)")
        expected = model.lower[event] - probabilities[event] if below else probabilities[event] - model.upper[event]
        assert constraint.value(plan) == pytest.approx(expected, abs=1e-14)
        assert constraint.player == 0


def test_bounds_that_every_opponent_meets_are_left_out() -> None:
    observations = seen("kuhn", 0, "uniform", 40, seed=4)
    model = OpponentModel.from_observations(observations, 0.999)
    treeplex = observations.game.sequence_form.treeplexes[1]
    for constraint in model.constraints:
        slope, constant = constraint.minorant(treeplex.uniform_plan())
        assert best_response_value(treeplex, slope) + constant > 0.0  # some plan violates it
    assert 0 < len(model.constraints) < 2 * len(model.events)
    assert OpponentModel.from_observations(no_games(observations.game, 0, observations.probe)).constraints == ()


def test_bonferroni_widens_by_the_number_of_events() -> None:
    observations = seen("kuhn", 1, "uniform", 300, seed=1)
    alone = OpponentModel.from_observations(observations, 1 - 0.1 / 30, interval="clopper-pearson")
    together = OpponentModel.from_observations(observations, 0.9, bonferroni=True)
    assert len(together.events) == 30
    assert together.lower == pytest.approx(alone.lower)
    assert together.upper == pytest.approx(alone.upper)


@pytest.mark.soak
@pytest.mark.parametrize(("spec", "games", "logs"), [("kuhn", 200, 50), ("leduc:merge_suits=true", 3000, 10)])
def test_bonferroni_holds_all_bounds_at_once_as_often_as_it_says(spec: str, games: int, logs: int) -> None:
    game = load_game(spec)
    empty = no_games(game, 0, Strategy.uniform(game, 0))
    opponent = opponent_of(game, 0, "random:seed=4")
    profile = versus(empty.probe, opponent)
    held, count = np.zeros(2), soaked(logs)
    for seed in range(count):
        observations = empty.with_counts(drawn_counts(empty.view, profile, games, seed))
        for place, bonferroni in enumerate((False, True)):
            model = OpponentModel.from_observations(observations, 0.9, bonferroni=bonferroni)
            true = model.probabilities(opponent.plan)
            held[place] += bool(((model.lower <= true) & (true <= model.upper)).all())
    print(f"\n{spec}: all {len(model.events)} bounds hold in {held[1]:,.0f} of {count:,} logs, alone in {held[0]:,.0f}")
    assert held[1] >= 0.9 * count
    assert held[0] < 0.7 * count


def test_wilson_s_intervals_are_not_said_to_hold_together() -> None:
    observations = seen("kuhn", 1, "uniform", 300, seed=1)
    with pytest.raises(InvalidConstraintError, match="wilson, expected clopper-pearson"):
        OpponentModel.from_observations(observations, interval="wilson", bonferroni=True)


def test_shares_may_stand_for_probabilities() -> None:
    model = OpponentModel.from_observations(seen("kuhn", 0, "uniform", 64, seed=1), exact=True)
    assert (model.lower == model.upper).all()
    assert (model.lower == model.counts / 64).all()


def test_models_can_be_sent_to_other_processes() -> None:
    observations = seen("kuhn", 0, "uniform", 64, seed=1)
    copied = pickle.loads(pickle.dumps(observations))  # noqa: S301
    model, same = OpponentModel.from_observations(observations), OpponentModel.from_observations(copied)
    assert [one.name for one in model.constraints] == [one.name for one in same.constraints]
    assert pickle.loads(pickle.dumps(model)).names == model.names  # noqa: S301


# Models by frequencies


def test_frequencies_of_hands_that_were_shown_are_biased() -> None:
    """An opponent that folds all queens but one in ten seems to call with every queen: folds are not shown."""
    game = load_game("kuhn")
    probe = Strategy.uniform(game, 0)
    opponent = Strategy.from_dict(game, 1, {"Q_b": {"p": 0.9, "b": 0.1}, "J_b": {"p": 1.0}, "K_b": {"b": 1.0}})
    empty = no_games(game, 0, probe)
    observations = empty.with_counts(drawn_counts(empty.view, versus(probe, opponent), 1_000_000, seed=1))
    naive = frequency_model(observations)
    assert naive["Q_b"] == {"p": 0.0, "b": 1.0}
    assert naive["J_b"] == {"p": 0.5, "b": 0.5}  # never shown
    response = best_response(game, versus(probe, naive), 0)
    best = best_response(game, versus(probe, opponent), 0)
    earned = [float(expected_payoffs(game, versus(own, opponent))[0]) for own in (response, best)]
    assert earned[0] < earned[1] - 0.1


def test_frequencies_are_counts_with_something_added() -> None:
    observations = seen("kuhn", 0, "random:seed=2", 300, seed=2)
    view = observations.view
    shown = {
        action: sum(
            int(observations.counts[at])
            for at in range(view.num_classes)
            if view.shown[at] == ((1, "K"),) and view.public[at][:2] == ("p", action)
        )
        for action in ("p", "b")
    }
    total = sum(shown.values())
    assert frequency_model(observations)["K_p"] == {
        action: pytest.approx(times / total) for action, times in shown.items()
    }
    assert frequency_model(observations, smoothing=2)["K_p"] == {
        action: pytest.approx((times + 2) / (total + 4)) for action, times in shown.items()
    }
    nothing = frequency_model(no_games(observations.game, 0), smoothing=1)
    assert nothing.behaviour == pytest.approx(Strategy.uniform(observations.game, 1).behaviour)


@pytest.mark.parametrize("smoothing", [-1, float("inf"), float("nan"), "1", True])
def test_a_smoothing_that_is_none_is_refused(smoothing: object) -> None:
    with pytest.raises(InvalidConstraintError, match="smoothing is"):
        frequency_model(no_games(load_game("kuhn"), 0), smoothing=smoothing)  # type: ignore[arg-type]


# What is refused


def test_counts_that_do_not_fit_the_game_are_refused() -> None:
    game = load_game("kuhn")
    view = observer_tree(game, 0)
    for counts in (np.zeros(3, dtype=int), np.zeros(view.num_classes), "37 counts", [[1], [2, 3]]):
        with pytest.raises(PlayLogError, match=f"expected {view.num_classes} whole numbers"):
            Observations(game, 0, counts)
    inner = np.zeros(view.num_classes, dtype=int)
    inner[0] = 1
    with pytest.raises(PlayLogError, match="since no game ends there"):
        Observations(game, 0, inner)
    leaf = np.where(view.terminal, -1, 0)
    with pytest.raises(PlayLogError, match="expected at least 0"):
        Observations(game, 0, leaf)


def test_a_probe_that_cannot_have_played_these_games_is_refused() -> None:
    game = load_game("kuhn")
    never = probe_that_never_folds(game, 0, "p")
    counts = drawn_counts(observer_tree(game, 0), Profile.uniform(game), 500, seed=1)
    with pytest.raises(
        PlayLogError, match="the counts show player 0 playing 'p' at 'J_pb', which the probe never does"
    ):
        Observations(game, 0, counts, never)
    with pytest.raises(InvalidStrategyError, match="expected one of the observer"):
        Observations(game, 0, counts, Strategy.uniform(game, 1))
    with pytest.raises(InvalidStrategyError, match="another game"):
        Observations(game, 0, counts, Strategy.uniform(load_game("rps"), 0))


def test_games_without_an_opponent_or_without_views_are_refused() -> None:
    with pytest.raises(UnsupportedProblemError, match="two"):
        Observations(load_game("kuhn:players=3"), 0, [])
    with pytest.raises(UnsupportedProblemError, match="does not define what players observe"):
        Observations(load_game("coin"), 0, [])
    with pytest.raises(InvalidGameError, match="game is 'kuhn', expected a Game"):
        Observations("kuhn", 0, [])  # type: ignore[arg-type]
    with pytest.raises(InvalidStrategyError, match="player is 2"):
        Observations(load_game("kuhn"), 2, [])


def test_a_model_is_made_of_observations_alone() -> None:
    observations = no_games(load_game("kuhn"), 0)
    with pytest.raises(PlayLogError, match="expected Observations"):
        OpponentModel.from_observations([1, 2])  # type: ignore[arg-type]
    with pytest.raises(PlayLogError, match="there are no games"):
        OpponentModel.from_observations(observations, exact=True)
    with pytest.raises(InvalidConstraintError, match="unknown interval"):
        OpponentModel.from_observations(observations, interval="wald")
    with pytest.raises(InvalidConstraintError, match="the confidence is 95"):
        OpponentModel.from_observations(observations, 95)
    with pytest.raises(InvalidStrategyError, match="expected a Profile"):
        OpponentModel.from_profile(observations.game, 0, Strategy.uniform(observations.game, 0))  # type: ignore[arg-type]
    with pytest.raises(PlayLogError, match="expected Observations"):
        frequency_model("log")  # type: ignore[arg-type]


def test_views_and_logs_of_other_games_and_seats_are_refused() -> None:
    kuhn, larger = load_game("kuhn"), load_game("kuhn:cards=4")
    log = read_play_log(io.BytesIO(LINE), kuhn, seat=0)
    assert Observations.from_log(load_game("kuhn"), log).num_games == 1  # the same game, loaded again
    with pytest.raises(PlayLogError, match="the log is for a game other than kuhn:cards=4"):
        Observations.from_log(larger, log)
    for view in (observer_tree(kuhn, 0), observer_tree(larger, 1), "view"):
        counts = np.zeros(getattr(view, "num_classes", 1), dtype=int)
        with pytest.raises(InvalidGameError, match=r"the view is .*, expected observer_tree\(game, 0\)"):
            Observations(larger, 0, counts, view=view)  # type: ignore[arg-type]
        with pytest.raises(InvalidGameError, match=r"the view is .*, expected observer_tree\(game, 0\)"):
            read_play_log(io.BytesIO(LINE), larger, seat=0, view=view)  # type: ignore[arg-type]
    for view in (observer_tree(kuhn, 0), "view"):
        with pytest.raises(InvalidGameError, match="the view is"):
            PlayLogWriter(io.BytesIO(), larger, view)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [2**62, np.uint64(2**63), np.iinfo(np.int64).max])
def test_more_games_than_can_be_added_up_are_refused(count: int) -> None:
    view = observer_tree(load_game("kuhn"), 0)
    with pytest.raises(PlayLogError, match=r"games, expected fewer than 2\^62"):
        Observations(load_game("kuhn"), 0, np.where(view.terminal, count, count * 0), view=view)
