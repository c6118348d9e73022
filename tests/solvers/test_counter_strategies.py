"""Responses to observed opponents: theorem 6, guarantees, observations that exclude each other, and both methods."""

from dataclasses import replace

import numpy as np
import pytest
from effort import either, few, some, thorough
from observed_games import drawn_counts, opponent_of, probe_that_never_folds, versus
from scipy.stats import beta

from treeplex import (
    CCFR,
    BestResponse,
    ConstrainedNash,
    InvalidStrategyError,
    Observations,
    OpponentModel,
    PlayLogError,
    Profile,
    Status,
    Strategy,
    UnknownMethodError,
    counter_strategy,
    load_game,
    observer_tree,
    solve,
    worst_case,
)
from treeplex.models.observations import frequency_model
from treeplex.models.problems import FeasibilityRelaxation
from treeplex.seqform import best_response_values
from treeplex.solvers import counter_profile
from treeplex.solvers.opponents.counter_strategies import DEFAULT_PENALTY, games_needed, hedged_response

LEDUC = "leduc:merge_suits=true"
KNOWN = [
    *(
        ("kuhn", player, opponent)
        for player in (0, 1)
        for opponent in ("uniform", "random:seed=1", "random:seed=2", "nash", "cfr:iterations=3")
    ),
    *((LEDUC, 0, opponent) for opponent in ("uniform", "random:seed=1", "nash")),
    *((LEDUC, 1, opponent) for opponent in ("random:seed=2", "cfr:iterations=3")),
    ("goofspiel:cards=3", 0, "random:seed=1"),
    ("liars_dice:sides=2", 1, "random:seed=1"),
]


class Seen:
    """Games of a probe against an opponent, by seat, number and seed."""

    def __init__(self, spec: str, player: int, opponent: str = "random:seed=3", probe: Strategy | None = None) -> None:
        self.game, self.player = load_game(spec), player
        self.probe = Strategy.uniform(self.game, player) if probe is None else probe
        self.opponent = opponent_of(self.game, player, opponent)
        self.profile = versus(self.probe, self.opponent)
        view = observer_tree(self.game, player)
        self.empty = Observations(self.game, player, np.zeros(view.num_classes, dtype=int), self.probe, view=view)

    def model(self, games: int, seed: int, confidence: float = 0.95, **options: object) -> OpponentModel:
        counts = drawn_counts(self.empty.view, self.profile, games, seed)
        return OpponentModel.from_observations(self.empty.with_counts(counts), confidence, **options)

    @property
    def best(self) -> float:
        return float(best_response_values(self.game, self.profile)[self.player])


# Theorem 6


@few
@pytest.mark.parametrize(("spec", "player", "opponent"), some(KNOWN, 2))
def test_with_exact_probabilities_it_is_a_best_response(spec: str, player: int, opponent: str) -> None:
    seen = Seen(spec, player, opponent)
    response = counter_strategy(OpponentModel.from_profile(seen.game, player, seen.profile))
    assert response.solution.status is Status.OPTIMAL
    assert response.guaranteed == pytest.approx(seen.best, abs=1e-6)
    assert response.payoff_against(seen.opponent) == pytest.approx(seen.best, abs=1e-6)
    assert response.expected == pytest.approx(seen.best, abs=1e-6)
    assert (response.penalty, response.least_violation, response.conflict) == (None, 0.0, ())


@pytest.mark.parametrize(("spec", "fold"), [("kuhn", "p"), (LEDUC, "f")])
@pytest.mark.parametrize("player", [0, 1])
def test_a_probe_that_never_folds_sees_enough(spec: str, fold: str, player: int) -> None:
    game = load_game(spec)
    seen = Seen(spec, player, probe=probe_that_never_folds(game, player, fold))
    response = counter_strategy(OpponentModel.from_profile(game, player, seen.profile))
    assert response.guaranteed == pytest.approx(seen.best, abs=1e-6)


def test_a_probe_that_does_not_see_all_is_promised_less() -> None:
    game = load_game("kuhn")
    timid = Strategy.from_dict(game, 0, {label: {"p": 1.0} for label in ("J_", "Q_", "K_")})
    seen = Seen("kuhn", 0, probe=timid)  # how the opponent answers a bet remains unknown
    response = counter_strategy(OpponentModel.from_profile(game, 0, seen.profile))
    assert response.guaranteed < seen.best - 0.05
    assert response.payoff_against(seen.opponent) >= response.guaranteed - 1e-9


def test_ccfr_finds_a_best_response_from_exact_probabilities() -> None:
    seen = Seen(either("kuhn", LEDUC), 0)
    model = OpponentModel.from_profile(seen.game, 0, seen.profile)
    response = counter_strategy(model, "ccfr", tol=5e-3)
    assert response.solution.status is Status.CONVERGED
    assert response.payoff_against(seen.opponent) == pytest.approx(seen.best, abs=0.02)


# Games that were seen


def test_without_games_it_is_an_equilibrium_strategy() -> None:
    seen = Seen("kuhn", 0)
    response = counter_strategy(seen.model(0, seed=1))
    assert response.guaranteed == pytest.approx(-1 / 18)
    assert response.exploitability == pytest.approx(0.0, abs=1e-9)
    assert response.informative() == []
    assert response.expected == pytest.approx(-1 / 18)


@thorough
def test_more_games_promise_more_and_earn_more() -> None:
    seen = Seen(LEDUC, 0)
    promised, earned = [], []
    for games in (0, 1_000, 100_000, 10_000_000):
        response = counter_strategy(seen.model(games, seed=1, confidence=0.99999))
        assert response.least_violation == 0.0
        promised.append(response.guaranteed)
        earned.append(response.payoff_against(seen.opponent))
    assert promised == sorted(promised)
    assert promised[-1] > seen.best - 0.35
    assert earned[-1] == pytest.approx(seen.best, abs=1e-3)


@pytest.mark.parametrize("player", [0, 1])
def test_what_is_guaranteed_holds_against_opponents_that_fit(player: int) -> None:
    seen = Seen("kuhn", player)
    response = counter_strategy(seen.model(3_000, seed=1, confidence=0.9999))
    nearest = solve(FeasibilityRelaxation(seen.game, 1 - player, response.model.constraints), "highs-simplex")
    for opponent in (seen.opponent, nearest.profile[1 - player], response.fitted_opponent, response.worst_opponent):
        assert max(one.value(opponent.plan) for one in response.model.constraints) < 1e-9
        assert response.payoff_against(opponent) >= response.guaranteed - 1e-9
    assert response.payoff_against(response.worst_opponent) == pytest.approx(response.guaranteed)
    value = -1 / 18 if player == 0 else 1 / 18
    assert response.game_value == pytest.approx(value)
    assert response.guaranteed >= value - 1e-9
    assert response.exploitability == pytest.approx(value - worst_case(seen.game, response.strategy))


def test_the_saved_profile_can_be_answered_like_any_opponent(tmp_path) -> None:
    seen = Seen("kuhn", 1)
    response = counter_strategy(seen.model(1_000, seed=1, confidence=0.99))
    response.profile.save(tmp_path / "fit.npz")
    opponent = Profile.load(tmp_path / "fit.npz", seen.game)[0]
    assert solve(BestResponse(seen.game, opponent)).objective == pytest.approx(response.guaranteed)


# Observations that exclude each other


def contradictory(player: int = 0) -> tuple[Seen, OpponentModel]:
    seen = Seen("kuhn", player)
    return seen, seen.model(30, seed=5, confidence=0.6)


@pytest.mark.parametrize("player", [0, 1])
def test_observations_that_exclude_each_other_are_paid_for(player: int) -> None:
    seen, model = contradictory(player)
    response = counter_strategy(model)
    nearest = solve(FeasibilityRelaxation(seen.game, 1 - player, model.constraints), "highs-simplex")
    assert nearest.lower > 1e-3
    assert response.least_violation == pytest.approx(nearest.objective)
    assert response.penalty == DEFAULT_PENALTY * 2
    assert response.solution.status is Status.OPTIMAL
    # Against those that come nearest it earns what it promises.
    assert response.payoff_against(nearest.profile[1 - player]) >= response.guaranteed - 1e-9
    violated = sum(max(0.0, one.value(response.worst_opponent.plan)) for one in model.constraints)
    assert violated == pytest.approx(response.least_violation)


@few
@pytest.mark.parametrize("penalty", [1e4, 1e8, 1e12, 1e15, 1e20])
@pytest.mark.parametrize("player", [0, 1])
def test_round_off_of_large_penalties_promises_nothing(player: int, penalty: float) -> None:
    """With 1e20 the difference of bounds and penalties was 4096, in a game for two."""
    _, model = contradictory(player)
    known = counter_strategy(model).guaranteed
    response = counter_strategy(model, penalty=penalty)
    assert (
        response.guaranteed is None or worst_case(model.game, response.strategy) <= response.guaranteed <= known + 1e-9
    )
    if response.solution.status is Status.OPTIMAL and penalty < 1e15:
        # What violations cost is taken off bounds that hold it: round-off is of their size.
        round_off = 1e-13 * abs(response.solution.objective)
        assert response.guaranteed == pytest.approx(known, abs=1e-9 + round_off)


def test_the_observations_that_clash_are_named() -> None:
    _, model = contradictory()
    response = counter_strategy(model)
    assert response.conflict
    clashing = [one for one in model.constraints if one.name in response.conflict]
    assert len(clashing) == len(response.conflict)
    assert solve(FeasibilityRelaxation(model.game, 1, clashing)).lower > 1e-6
    for left_out in clashing:
        rest = [one for one in clashing if one is not left_out]
        assert solve(FeasibilityRelaxation(model.game, 1, rest)).objective == pytest.approx(0.0, abs=1e-9)


def test_a_penalty_that_is_given_counts_even_where_all_can_be_met() -> None:
    model = Seen("kuhn", 0).model(3_000, seed=1, confidence=0.999)
    cheap, dear, met = (counter_strategy(model, penalty=beta) for beta in (0.5, 1000.0, None))
    assert (cheap.penalty, dear.penalty, met.penalty) == (0.5, 1000.0, None)
    assert dear.guaranteed == pytest.approx(met.guaranteed)
    assert cheap.guaranteed < met.guaranteed - 0.05
    assert cheap.least_violation == 0.0
    assert max(cheap.solution.multipliers.values()) <= 0.5 + 1e-9


# Exact and iterative


def payoff_range(game) -> float:
    payoffs = game.sequence_form.leaves.payoffs[:, 0]
    return float(payoffs.max() - payoffs.min())


def compare(spec: str, logs: int) -> int:
    """Hold the iterative to the exact objective on random logs; return how many could not be met."""
    rng = np.random.default_rng(12)
    excluded = 0
    for number in range(logs):
        player = int(rng.integers(2))
        seen = Seen(spec, player, f"random:seed={number}")
        games = int(10 ** rng.uniform(1.0, 5.0))
        model = seen.model(games, seed=number, confidence=float(rng.choice([0.7, 0.9, 0.99, 0.999])))
        exact = counter_strategy(model)
        tolerance = 1e-3 * payoff_range(seen.game)
        # Violations are held to it too, and a unit of theirs is worth many of payoff.
        found = counter_strategy(model, "ccfr", tol=tolerance / 3)
        assert found.solution.status is Status.CONVERGED, (number, found.solution)
        assert found.solution.objective == pytest.approx(exact.solution.objective, abs=tolerance), number
        assert exact.guaranteed - 2 * tolerance <= found.guaranteed <= exact.guaranteed + 1e-6, number
        assert found.least_violation == exact.least_violation
        excluded += exact.least_violation > 0.0
    return excluded


@thorough
def test_ccfr_and_the_linear_program_agree_on_logs_of_kuhn_poker() -> None:
    logs = either(quick=15, thorough=50)
    assert 0.2 * logs <= compare("kuhn", logs) <= 0.8 * logs


@pytest.mark.slow
def test_ccfr_and_the_linear_program_agree_on_fifty_logs_of_leduc_poker() -> None:
    assert 10 <= compare(LEDUC, 50) <= 45


# Both seats


def test_both_seats_at_once() -> None:
    game = load_game("kuhn")
    opponents = Profile([opponent_of(game, 1, "random:seed=8"), opponent_of(game, 0, "uniform")])
    models = [
        OpponentModel.from_profile(game, seat, versus(Strategy.uniform(game, seat), opponents[1 - seat]))
        for seat in (0, 1)
    ]
    both = counter_profile(*models)
    best = [
        float(best_response_values(game, versus(Strategy.uniform(game, seat), opponents[1 - seat]))[seat])
        for seat in (0, 1)
    ]
    assert both.payoff_against(opponents) == pytest.approx(np.mean(best))
    assert both.guaranteed == pytest.approx(np.mean(best))
    assert both.expected == pytest.approx(np.mean(best))
    assert [strategy.player for strategy in both.profile] == [0, 1]
    with pytest.raises(PlayLogError, match="observed by seat 0"):
        counter_profile(models[1], models[0])
    with pytest.raises(InvalidStrategyError, match="different games"):
        counter_profile(models[0], Seen("rps", 1).model(5, seed=1))


# What observations are worth


def test_the_most_informative_observations_are_worth_most() -> None:
    model = Seen(LEDUC, 0).model(3_000, seed=2, confidence=0.999)
    response = counter_strategy(model)
    evidence = response.informative()
    assert len(evidence) == 10
    worths = [one.worth for one in evidence]
    assert worths == sorted(worths, reverse=True)
    for one in evidence:
        assert one.price == pytest.approx(response.solution.dual_multipliers[f"{one.name} ({one.side})"])


@pytest.mark.parametrize("penalty", [None, 20.0])
def test_observations_together_are_worth_what_is_earned_beyond_the_value(penalty: float | None) -> None:
    for spec, seat, seed in ((LEDUC, 0, 1), (LEDUC, 1, 2), ("kuhn", 0, 3), ("kuhn", 1, 4)):
        response = counter_strategy(Seen(spec, seat).model(2_000, seed=seed, confidence=0.999), penalty=penalty)
        lower, upper = response.solution.lower, response.solution.upper
        gain = (lower if seat == 0 else -upper) - response.game_value
        together = sum(one.worth for one in response.informative(10_000))
        assert together >= gain - 1e-7 > 0.0


def test_a_multiplier_is_what_a_bound_is_worth() -> None:
    model = Seen("kuhn", 0).model(3_000, seed=2, confidence=0.999)
    response = counter_strategy(model)
    evidence = response.informative()
    step = 1e-6
    name = f"{evidence[0].name} ({evidence[0].side})"
    bound = next(one.bound for one in model.constraints if one.name == name)
    loosened = bound + (step if evidence[0].side == "at most" else -step)
    moved = solve(ConstrainedNash(model.game, model.constraints).with_bound(name, loosened), "highs-simplex")
    assert response.guaranteed - moved.objective == pytest.approx(step * evidence[0].price, rel=1e-3)


@thorough
def test_it_earns_more_than_the_best_response_to_frequencies_of_hands_that_were_shown() -> None:
    seen = Seen(LEDUC, 0)
    naive_earned, robust_earned = [], []
    for seed in range(5):
        observations = seen.empty.with_counts(drawn_counts(seen.empty.view, seen.profile, 100_000, seed))
        naive = solve(BestResponse(seen.game, frequency_model(observations), game_value=0.0))
        robust = counter_strategy(OpponentModel.from_observations(observations, 0.99))
        naive_earned.append(robust.payoff_against(seen.opponent))
        robust_earned.append(robust.payoff_against(seen.opponent))
        naive_earned[-1] = float(
            seen.game.sequence_form.expected_payoffs(versus(naive.strategy, seen.opponent).plans)[0]
        )
    assert min(robust_earned) > max(naive_earned)


def test_what_is_no_model_or_no_method_is_refused() -> None:
    model = Seen("kuhn", 0).model(10, seed=1)
    with pytest.raises(PlayLogError, match="expected an OpponentModel"):
        counter_strategy("log.jsonl")  # type: ignore[arg-type]
    with pytest.raises(UnknownMethodError, match="hihgs"):
        counter_strategy(model, "hihgs")
    with pytest.raises(InvalidStrategyError, match="expected a strategy of player 1"):
        counter_strategy(model).payoff_against(Strategy.uniform(model.game, 0))


def test_a_method_with_its_own_settings_is_taken() -> None:
    model = Seen("kuhn", 0).model(500, seed=1, confidence=0.99)
    response = counter_strategy(model, CCFR(base="pcfr+", step=1.0), tol=1e-3, max_iterations=100_000)
    assert response.solution.method == CCFR(base="pcfr+", step=1.0)


@pytest.mark.parametrize("player", [0, 1])
def test_so_many_games_prove_more_than_the_value_and_a_quarter_of_them_do_not(player: int) -> None:
    """With scipy's beta distribution for the bounds, and the response to them found anew."""
    seen = Seen("kuhn", player)
    games = (2, 6)[player]
    response = counter_strategy(seen.model(games, seed=2, bonferroni=True, interval="clopper-pearson"))
    assert response.guaranteed == pytest.approx(response.game_value, abs=1e-12)
    assert not response.exploits  # 1e-17 more is round-off
    needed = games_needed(response, 0.95, "clopper-pearson", bonferroni=True)
    assert needed is not None
    shares = np.clip(response.model.probabilities(response.fitted_opponent.plan), 0.0, 1.0)
    tail = 0.05 / 2 / len(shares)

    def exploits(games: int) -> bool:
        counts = np.rint(games * shares)
        with np.errstate(invalid="ignore"):
            lower = np.nan_to_num(beta.ppf(tail, counts, games - counts + 1), nan=0.0)
            upper = np.nan_to_num(beta.ppf(1 - tail, counts + 1, games - counts), nan=1.0)
        bounds = {"lower": np.minimum(lower, shares), "upper": np.maximum(upper, shares)}
        model = replace(response.model, num_games=games, frequencies=shares, highest=shares, **bounds)
        found = counter_strategy(model)
        return found.guaranteed > found.game_value + 1e-8

    assert exploits(needed)
    assert not exploits(round(needed / 1.5))


@pytest.mark.parametrize(("player", "confidence"), [(0, 0.6), (1, 0.9), (0, 0.95)])
def test_no_response_has_a_larger_mean_gain_than_the_hedged_one(player: int, confidence: float) -> None:
    """Against full trust, no trust, and other weights."""
    model = Seen("leduc:merge_suits=true", player).model(3_000, seed=1, bonferroni=True)
    response = counter_strategy(model)
    hedged = hedged_response(response, confidence)
    assert hedged is not None
    best = hedged.mean_gain(confidence)
    assert best is not None
    assert best >= -1e-9
    others = [response, *(counter_strategy(model, p=p) for p in either((0.3,), (0.0, 0.3, 0.99)))]
    assert best >= max(one.mean_gain(confidence) or -np.inf for one in others) - 1e-9
    assert hedged_response(hedged, confidence) is None
