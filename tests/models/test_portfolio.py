"""Portfolios: regret bounds on adversarial and random payoffs, and the bot that wraps bots."""

import numpy as np
import pytest

from treeplex import InvalidStrategyError
from treeplex.models.matches import HandResult, Table, View
from treeplex.models.opponents import ThresholdBot
from treeplex.models.opponents.portfolio import EXP3, UCB1, ExploreThenCommit, Learner, Portfolio, run_portfolio

ROUNDS = 2_000


def adversarial(name: str) -> np.ndarray:
    """Payoffs that mislead whoever follows the past."""
    rounds = np.arange(ROUNDS)
    if name == "turns":  # the better one changes after ever longer times
        first = (np.log2(rounds + 1).astype(int) % 2).astype(float)
    elif name == "alternates":
        first = (rounds % 2).astype(float)
    else:  # the third becomes best late
        return np.stack([rounds < 500, rounds % 3 == 0, rounds >= 600], axis=1).astype(float)
    return np.stack([first, 1 - first, np.full(ROUNDS, 0.3)], axis=1)


@pytest.mark.parametrize("name", ["turns", "alternates", "late"])
def test_regret_of_exp3_is_below_its_bound_on_average(name: str) -> None:
    table = adversarial(name)
    regrets = []
    for seed in range(8):
        learner = EXP3(3, ROUNDS)
        regrets.append(run_portfolio(learner, table, np.random.default_rng(seed)).regret)
    assert np.mean(regrets) < learner.bound
    assert EXP3(3, 4 * ROUNDS).bound == pytest.approx(2 * learner.bound)  # √T


def test_exp3_follows_a_change_that_misleads_ucb1() -> None:
    table = adversarial("late")
    exp3 = np.mean([run_portfolio(EXP3(3, ROUNDS), table, np.random.default_rng(seed)).regret for seed in range(8)])
    uniform = table[:, 2].sum() - table.mean(axis=1).sum()
    assert exp3 < 0.75 * uniform


def test_regret_of_ucb1_is_below_its_bound_on_average() -> None:
    means, lost = [0.6, 0.5, 0.3], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        run = run_portfolio(UCB1(3), rng.random((ROUNDS, 3)) < means, rng)
        lost.append(np.sum(0.6 - np.array(means)[run.choices]))
    assert np.mean(lost) < UCB1.bound(means, ROUNDS)
    assert np.mean(lost) < ROUNDS * (0.6 - np.mean(means)) / 2  # half of what a draw loses
    assert np.bincount(run.choices).argmax() == 0


@pytest.mark.parametrize("each", [20, 100])
def test_explore_then_commit_keeps_to_what_it_found(each: int) -> None:
    means, lost = [0.6, 0.5, 0.3], []
    for seed in range(30):
        rng, learner = np.random.default_rng(seed), ExploreThenCommit(3, each)
        choices = run_portfolio(learner, rng.random((ROUNDS, 3)) < means, rng).choices
        assert np.bincount(choices[: 3 * each]).tolist() == [each] * 3
        assert len(set(choices[3 * each :].tolist())) == 1
        lost.append(np.sum(0.6 - np.array(means)[choices]))
    assert np.mean(lost) < ExploreThenCommit(3, each).bound(means, ROUNDS)


def test_bounds_of_explore_then_commit_are_about_its_strategies() -> None:
    # Without later hands exactly what the tries cost; with one mean too few a refusal.
    assert ExploreThenCommit(2, 10).bound([0.5, 0.4], 20) == pytest.approx(1.0)
    with pytest.raises(InvalidStrategyError, match="received 1 means, expected 2"):
        ExploreThenCommit(2, 10).bound([0.5], 20)


def test_tables_that_do_not_fit_are_refused() -> None:
    for wrong in (np.zeros((5, 2)), np.full((5, 3), 1.5), np.zeros(3), np.full((2, 3), np.nan)):
        with pytest.raises(InvalidStrategyError, match="expected numbers from 0 to 1"):
            run_portfolio(UCB1(3), wrong, np.random.default_rng(0))


@pytest.mark.parametrize("learner", [EXP3(2, 10), UCB1(2), ExploreThenCommit(2, 3)])
def test_learners_are_told_of_strategies_that_there_are(learner: Learner) -> None:
    for arm, payoff, words in ((0, 50, "payoff is 50"), (0, float("nan"), "payoff is nan"), (2, 0.5, "arm is 2")):
        with pytest.raises(InvalidStrategyError, match=words):
            learner.learn(arm, payoff)
    assert learner.counts.sum() == 0
    assert learner.choose(np.random.default_rng(0)) in (0, 1)


def test_bounds_are_of_some_strategies() -> None:
    for means, choices, words in (([], 10, "means is empty"), ([2.0], 10, "a mean is 2.0"), ([0.5], 0, "choices is 0")):
        with pytest.raises(InvalidStrategyError, match=words):
            UCB1.bound(means, choices)


class Counting:
    """A bot that does one thing and counts its hands."""

    def __init__(self, action: str) -> None:
        self.action, self.begun, self.ended = action, 0, 0

    def begin(self, table: Table, seat: int) -> None:
        self.begun += 1

    def act(self, view: View, rng: np.random.Generator) -> str:
        return self.action

    def end(self, result: HandResult) -> None:
        self.ended += 1


def learned(learner: Learner) -> tuple[Portfolio, list[Counting]]:
    """Play hands in which calls win a blind and folds lose one."""
    bots = [Counting("fold"), Counting("call")]
    bot, rng, table = Portfolio(bots, learner, lowest=-2, highest=2), np.random.default_rng(1), Table()
    view = View(table, 1, (51, 50), (), 0, (100, 50), (19900, 19950), (False, False), 150, (), 200, 20000)
    for hand in range(300):
        bot.begin(table, 1)
        action = "" if hand % 10 == 9 else bot.act(view, rng)  # now and then it is not asked
        if action:
            assert bot.act(view, rng) == action
        won = 500 if action == "call" else -100
        bot.end(HandResult(1, (51, 50), (), (), (None, None), (-won, won)))
    return bot, bots


@pytest.mark.parametrize("learner", [EXP3(2, 270), UCB1(2), ExploreThenCommit(2, 10)])
def test_portfolio_learns_which_bot_pays(learner: Learner) -> None:
    bot, bots = learned(learner)
    assert bot.learner.counts.sum() == 270
    assert bot.learner.counts.tolist() == [one.begun for one in bots] == [one.ended for one in bots]
    assert bot.learner.counts[1] > 0.7 * 270
    assert bot.learner.totals[1] == bot.learner.counts[1]  # five blinds count as two, which is 1


def test_portfolios_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidStrategyError, match="1 bots and a learner of 2"):
        Portfolio([ThresholdBot()], UCB1(2), -1, 1)
    with pytest.raises(InvalidStrategyError, match="highest"):
        Portfolio([ThresholdBot()], UCB1(1), 1, 1)
