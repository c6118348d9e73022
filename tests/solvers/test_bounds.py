"""Every number that is called a bound, attacked with random cases; ``TREEPLEX_SOAK`` multiplies them."""

import random

import numpy as np
import pytest
from constrained_cases import conflicting
from margins import attacked
from observed_games import drawn_counts
from problem_cases import STEPPED, draw_case
from random_trees import seeded_tree, to_game
from scipy.optimize import linprog

from treeplex import (
    CCFR,
    CDBRNE,
    CDRNR,
    BestResponse,
    ConstrainedNash,
    EpsilonSafeResponse,
    Functional,
    Game,
    Nash,
    Observations,
    OpponentModel,
    PrefCFR,
    Prefer,
    Profile,
    RestrictedNash,
    SolverError,
    Status,
    Strategy,
    UnsupportedProblemError,
    counter_strategy,
    gain,
    load_game,
    nash_conv,
    observer_tree,
    parametric_value,
    reach_style,
    restricted_nash_frontier,
    solve,
    trade_off,
    worst_case,
)
from treeplex.models.constraints import LinearConstraint
from treeplex.models.depth_limited import StepAnswer
from treeplex.models.problems import Certificate, RobustResponse
from treeplex.seqform.arrays import Floats
from treeplex.seqform.polytope import Treeplex
from treeplex.solvers import calibrate_style
from treeplex.solvers.regret.ccfr_bounds import ccfr_bounds
from treeplex.solvers.regret.preference_bounds import preference_bound
from treeplex.solvers.style.efficiency import efficiency_at

pytestmark = pytest.mark.soak

#: What an optimum by linear programming may be off, in units of the largest payoff.
OPTIMUM = 1e-7


class Drawn:
    """A small random game, and what is drawn from the same seed."""

    def __init__(self, seed: int, *, public: bool = False) -> None:
        self.source = random.Random(seed)
        self.player = self.source.randint(0, 1)
        self.game = self._game(public)
        self.own, self.other = (self.game.sequence_form.treeplexes[each] for each in (self.player, 1 - self.player))
        self.scale = self.game.sequence_form.payoff_scale

    def _game(self, public: bool) -> Game:
        while True:
            game = to_game(seeded_tree(self.source.getrandbits(32), depth=4, size=self.source.randint(3, 14)))
            if not all(each.num_infosets for each in game.sequence_form.treeplexes):
                continue
            try:
                if not public or game.public_tree.num_levels > 1:
                    return game
            except UnsupportedProblemError:
                pass

    def behaviour(self, treeplex: Treeplex) -> Floats:
        """Return a behaviour in which some actions are never taken."""
        weights = [
            1e-12 + self.source.random() ** 3 * (self.source.random() < 0.8) for _ in range(1, treeplex.num_sequences)
        ]
        return treeplex.behaviour(np.append(1.0, weights))

    def strategy(self, player: int) -> Strategy:
        return Strategy(self.game, player, self.behaviour(self.game.sequence_form.treeplexes[player]))

    def profile(self) -> Profile:
        return Profile([self.strategy(0), self.strategy(1)])

    def near(self, best: Profile) -> Profile:
        """Return a profile between a good one and a random one."""
        share = 10 ** self.source.uniform(-4, 0)
        mixed = [(1 - share) * one.plan + share * self.strategy(one.player).plan for one in best]
        return Profile([Strategy.from_plan(self.game, each, plan) for each, plan in enumerate(mixed)])

    def value(self) -> float:
        """Return the value of the game to the player."""
        return (1 - 2 * self.player) * solve(Nash(self.game), "highs-simplex").value


# The canonical program


def test_any_plans_and_multipliers_keep_to_the_optimum_of_the_canonical_program():
    def margins(seed):
        case = draw_case(seed)
        if case.kind.startswith(STEPPED):
            return
        try:
            solution = solve(case.problem, case.method)
        except SolverError:
            return
        if solution.status is not Status.OPTIMAL:
            return
        saddle, source = solution.problem.canonical, np.random.default_rng(seed)
        optimum = saddle.sign * float(solution.objective)
        # Plans that are near the optimal ones meet constraints more often, and prove more.
        share = 10 ** source.uniform(-3, 0)
        pairs = zip(solution.profile, case.profile, strict=True)
        mixed = [(1 - share) * best.plan + share * drawn.plan for best, drawn in pairs]
        own, other = mixed[saddle.view.player], mixed[1 - saddle.view.player]
        if saddle.view.replies is not None:
            other = saddle.view.replies.chosen(other, None)
        given = {name: 2 * source.random() * price for name, price in case.multipliers.items()}
        given |= {name: source.choice([1.0, 0.5, 1.5]) * price for name, price in solution.dual_multipliers.items()}
        found = saddle.bounds(own, other, given)
        sides = (saddle.own_rows, saddle.other_rows)
        met = [each.penalty is not None or all(found.violations[name] <= 0.0 for name in each.names) for each in sides]
        scale = max(1.0, solution.problem.game.sequence_form.payoff_scale, abs(optimum))
        # The optimum profits from what its plans violate: by that times the prices.
        missed = sum(solution.dual_multipliers.values()) * solution.violation / scale
        if met[0] and found.violations.get("safety", 0.0) <= 0.0:
            yield "lower bound", (optimum - found.lower) / scale + missed
        if met[1]:
            yield "upper bound", (found.upper - optimum) / scale + missed

    attacked(20, margins, OPTIMUM)


# Responses


def test_a_response_loses_no_more_than_p_the_gain_and_the_gap_allow():
    def margins(seed):
        drawn = Drawn(seed)
        p, value = drawn.source.choice([0.0, 0.05, 0.3, 0.7, 0.95]), drawn.value()
        models = [drawn.strategy(1 - drawn.player) for _ in range(2)]
        problems = {
            "rnr": RestrictedNash(drawn.game, models[0], p=p, game_value=value),
            "robust": RobustResponse(drawn.game, models, p=p, game_value=value),
        }
        for name, problem in problems.items():
            best = solve(problem).profile
            for profile in [drawn.near(best) for _ in range(4)]:
                certificate, own = problem.certify(profile), profile[drawn.player]
                allowed = problem.safety_bound(certificate)
                if name == "robust":
                    worst = min(gain(drawn.game, own, each, value) for each in models)
                    allowed = (p * worst + certificate.gap) / (1 - p)
                yield f"exploitability of {name}", (1 - p) * (allowed - certificate.exploitability) / drawn.scale

    attacked(10, margins, OPTIMUM)


def test_a_mixture_loses_no_more_than_its_share_of_what_the_response_loses():
    def margins(seed):
        drawn = Drawn(seed, public=True)
        model, value = drawn.strategy(1 - drawn.player), drawn.value()
        whole = solve(CDBRNE(drawn.game, model, p=1, lookahead=1, game_value=value))
        for p in [drawn.source.random() for _ in range(3)]:
            mixed = solve(CDBRNE(drawn.game, model, p=p, lookahead=1, game_value=value))
            yield "exploitability of cdbr-ne", (p * whole.exploitability - mixed.exploitability) / drawn.scale
            yield "gain of cdbr-ne", (mixed.gain - p * whole.gain) / drawn.scale

    attacked(5, margins, OPTIMUM)


@pytest.mark.parametrize("answers", ["drawn", "cfr"])
def test_a_response_in_steps_keeps_to_its_safety_bound_and_each_step_to_its_bounds(answers):
    def margins(seed):
        drawn = Drawn(seed, public=True)
        source, game, player = drawn.source, drawn.game, drawn.player
        model, p = drawn.strategy(1 - player), source.choice([0.0, 0.05, 0.3, 0.7, 0.95, 1.0])
        problem = CDRNR(game, model, p=p, lookahead=source.randint(1, 3), game_value=drawn.value())
        if not problem.steps:
            return
        best = solve(problem).certificate.steps[0]
        for _ in range(3):
            if answers == "cfr":
                method = source.choice(["cfr", "cfr+", "dcfr", "pcfr+"])
                iterations = source.choice([1, 10, 100, 1000])
                certificate = solve(problem, method, tol=0, max_iterations=iterations).certificate
            else:
                own, certificate = drawn_steps(drawn, problem)
            bound, gaps = problem.safety_bound(certificate), sum(step.gap for step in certificate.steps)
            assert (bound is None) == (p == 1)
            if bound is not None:
                yield "exploitability in steps", (1 - p) * (bound - certificate.exploitability) / drawn.scale
            yield "gain in steps", (p * certificate.gain + gaps) / drawn.scale
            if certificate.upper is not None and answers == "drawn":
                # Another strategy with the same decisions before the last step.
                last = np.append(False, np.repeat(problem.steps[-1].decided, drawn.own.num_actions))
                behaviour = np.where(last, drawn.behaviour(drawn.own), own.behaviour)
                certified = problem.certify(seated(Strategy(drawn.game, drawn.player, behaviour), problem.opponent))
                yield "upper bound of a response in steps", (certificate.upper - certified.objective) / drawn.scale
            # The first step is the same in every run.
            first = certificate.steps[0]
            yield "value of a step", (best.upper - first.objective) / drawn.scale
            yield "best value of a step", (first.upper - best.objective) / drawn.scale

    attacked(4 if answers == "drawn" else 2, margins, OPTIMUM)


def seated(*strategies: Strategy) -> Profile:
    return Profile(sorted(strategies, key=lambda one: one.player))


def drawn_steps(drawn: Drawn, problem: CDRNR) -> tuple[Strategy, Certificate]:
    """Return a response whose steps are answered at random, near uniform play or not, and its certificate."""
    run, given, share = problem.start(), [], 10 ** drawn.source.uniform(-4, 0)
    for number in range(len(run.steps)):
        program = run.program(number)
        plan, reply = (
            (1 - share) * treeplex.uniform_behaviour() + share * drawn.behaviour(treeplex)
            for treeplex in (program.own, program.reply)
        )
        given.append(StepAnswer(program.completed(plan), program.flow(reply)))
        run.decide(number, program, given[-1])
    own = Strategy.from_plan(drawn.game, drawn.player, run.plan)
    proof = problem.dual_certificate(given, run.plan, None)
    return own, problem.certify(seated(own, problem.opponent), None, proof)


def test_the_frontier_is_within_its_gap_for_every_p():
    def margins(seed):
        drawn = Drawn(seed)
        model = drawn.strategy(1 - drawn.player)
        accuracy = drawn.source.choice([0.0, 0.01, 0.1]) * drawn.scale
        found = restricted_nash_frontier(drawn.game, model, accuracy=accuracy)
        for p in [drawn.source.random() for _ in range(3)]:
            place = int(np.searchsorted(found.breakpoints, p))
            reached = p * found.gains[place] - (1 - p) * found.exploitabilities[place]
            solution = solve(RestrictedNash(drawn.game, model, p=p))
            best = p * solution.gain - (1 - p) * solution.exploitability
            yield "frontier", (reached + found.gap - best) / drawn.scale
        yield "frontier, accuracy asked", accuracy / drawn.scale + 1e-9 - found.gap / drawn.scale

    attacked(5, margins, OPTIMUM)


def test_nothing_gains_more_than_the_line_of_a_response_says():
    def margins(seed):
        drawn = Drawn(seed)
        model, value = drawn.strategy(1 - drawn.player), drawn.value()
        p, epsilon = drawn.source.random(), 0.2 * drawn.source.random() * drawn.scale
        problems = (
            RestrictedNash(drawn.game, model, p=p, game_value=value),
            EpsilonSafeResponse(drawn.game, model, epsilon=epsilon, game_value=value),
            BestResponse(drawn.game, model, game_value=value),
        )
        for problem in problems:
            solution = solve(problem)
            if solution.status is not Status.OPTIMAL:
                continue
            start, slope = problem.gain_line(solution.certificate, solution.dual_multipliers)
            for _ in range(5):
                own = drawn.near(solution.profile)[drawn.player]
                loss = value - worst_case(drawn.game, own)
                room = start + slope * loss - gain(drawn.game, own, model, value)
                yield f"gain by {problem.name}", room / (1.0 + slope) / drawn.scale

    attacked(8, margins, OPTIMUM)


# What was observed


def test_a_response_to_observations_earns_what_it_guarantees():
    games = [load_game(name) for name in ("kuhn", "leduc:ranks=2,merge_suits=true")]
    views = {(game.spec, seat): observer_tree(game, seat) for game in games for seat in (0, 1)}

    def margins(seed):
        source, drawn = random.Random(seed), Drawn(seed)
        drawn.game, seat = source.choice(games), source.randint(0, 1)
        treeplexes = drawn.game.sequence_form.treeplexes
        profile = Profile([Strategy(drawn.game, each, drawn.behaviour(treeplexes[each])) for each in (0, 1)])
        view = views[drawn.game.spec, seat]
        counts = drawn_counts(view, profile, source.choice([3, 30, 300]), seed)
        seen = Observations(drawn.game, seat, counts, source.choice([None, profile[seat]]), view=view)
        model = OpponentModel.from_observations(seen, source.choice([0.3, 0.9, 0.99]))
        limits = {"method": "ccfr", "max_iterations": 200} if source.random() < 0.3 else {}
        response = counter_strategy(model, penalty=source.choice([None, None, 1.0]), **limits)
        if response.guaranteed is None:
            return
        # The worst opponent whose violations sum to what the guarantee is for.
        other, bounds = treeplexes[1 - seat], model.constraints
        rows = np.zeros((len(bounds) + 1, other.num_sequences + len(bounds)))
        limits = np.zeros(len(bounds) + 1)
        for row, one in enumerate(bounds):
            slope, constant = one.minorant(other.uniform_plan())
            rows[row, : other.num_sequences], limits[row] = slope, -constant
            rows[row, other.num_sequences + row] = -1.0
        rows[-1, other.num_sequences :], limits[-1] = 1.0, response.least_violation
        payoffs = -drawn.game.sequence_form.gradient(1 - seat, response.profile.plans)
        polytope = np.hstack([other.E.toarray(), np.zeros((len(other.e), len(bounds)))])
        # Where hardly any opponent keeps to the bounds, 1e-7 more of violation may earn it thousands of times that.
        tight = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
        worst = linprog(np.append(payoffs, np.zeros(len(bounds))), rows, limits, polytope, other.e, options=tight)
        scale = drawn.game.sequence_form.payoff_scale
        if worst.status == 0:
            yield "guaranteed", (worst.fun - response.guaranteed) / scale
        worths = sum(one.worth for one in response.informative(10**6))
        if response.penalty is None:
            yield "worth of observations", (worths - (response.guaranteed - response.game_value)) / scale

    attacked(10, margins, 1e-6)


# Optima as functions of a number


def drawn_functional(drawn: Drawn) -> Functional:
    numbers = [
        round(drawn.source.gauss(0, 1), 2) * (drawn.source.random() < 0.6) for _ in range(drawn.own.num_sequences)
    ]
    return Functional(drawn.player, np.array([0.0, *numbers[1:]]), "drawn")


def test_the_value_of_a_bound_is_within_its_gap():
    def margins(seed):
        drawn = Drawn(seed)
        functionals = [drawn_functional(drawn).coefficients for _ in range(2)]
        plans = [drawn.strategy(drawn.player).plan for _ in range(2)]
        moved, fixed = (
            LinearConstraint(drawn.player, dict(enumerate(each.tolist())), float(each @ plans[0]), name, "<=")
            for each, name in zip(functionals, ("moved", "fixed"), strict=True)
        )
        problem = ConstrainedNash(drawn.game, [moved, fixed])
        accuracy = drawn.source.choice([0.0, 0.05]) * drawn.scale
        ends = sorted(float(functionals[0] @ plan) for plan in plans)
        found = parametric_value(problem, "moved", ends[0] - 1.0, ends[1] + 0.1, accuracy=accuracy)
        least = linprog(functionals[0], functionals[1][None], [fixed.bound], drawn.own.E.toarray(), drawn.own.e)
        yield "feasible bounds", -abs(found.feasible[0] - max(least.fun, ends[0] - 1.0))
        for bound in [drawn.source.uniform(*found.feasible) for _ in range(3)]:
            solution = solve(problem.with_bound("moved", bound))
            if solution.status is Status.OPTIMAL:
                off = abs(found.at(bound) - solution.objective)
                missed = (solution.violation + found.violation) * sum(solution.dual_multipliers.values())
                yield "sensitivity", (found.gap + missed - off) / drawn.scale

    attacked(4, margins, 1e-6)


def test_the_trade_off_is_within_its_gap_and_holds_every_strategy():
    def margins(seed):
        drawn = Drawn(seed)
        functional = drawn_functional(drawn)
        accuracy = drawn.source.choice([0.0, 0.05]) * drawn.scale
        if np.ptp([functional.value(drawn.strategy(drawn.player)) for _ in range(5)]) < 1e-3:
            return  # all strategies have one value
        curve = trade_off(drawn.game, functional, accuracy=accuracy)
        value, best = drawn.value(), solve(Nash(drawn.game), "highs-simplex").profile
        for profile in [drawn.near(best) for _ in range(10)]:
            achieved = functional.value(profile)
            loss = value - worst_case(drawn.game, profile[drawn.player])
            yield "least loss of a value", (loss - curve.loss(achieved) + curve.gap) / drawn.scale
            found = efficiency_at(curve, achieved, nash_conv(drawn.game, profile), max(0.0, loss))
            width = max(1.0, float(np.ptp(curve.knots)))
            for name, (low, high) in {"NashConv": found.allowed, "loss": found.allowed_by_loss}.items():
                yield f"style allowed by {name}", min(achieved - low, high - achieved) / width

    attacked(8, margins, 1e-6)


def test_a_style_costs_no_less_than_is_proven_and_its_ranges_hold_every_strategy():
    def margins(seed):
        drawn = Drawn(seed)
        functional = drawn_functional(drawn)
        strategy = drawn.near(solve(Nash(drawn.game), "highs-simplex").profile)[drawn.player]
        reached, loss = functional.value(strategy), drawn.value() - worst_case(drawn.game, strategy)
        terms = dict(enumerate(functional.coefficients.tolist()))
        target = LinearConstraint(drawn.player, terms, reached, "drawn", drawn.source.choice(["<=", ">="]))
        answer = reach_style(drawn.game, target, max_loss=max(0.0, loss), player=drawn.player)
        assert answer.status is not Status.INFEASIBLE, seed
        yield "least loss", (loss - answer.least_loss_lower) / drawn.scale
        if answer.status is Status.OPTIMAL:
            true = drawn.value() - worst_case(drawn.game, answer.profile[drawn.player])
            yield "loss of the answer", (answer.loss - true) / drawn.scale
            yield "least loss from above", (answer.least_loss_upper - answer.least_loss_lower) / drawn.scale
        outcome = answer.targets[0]
        if outcome.low is not None:
            width = max(1.0, float(np.abs(functional.coefficients).sum()))
            yield "range of a target", min(reached - outcome.low, outcome.high - reached) / width

    attacked(8, margins, 1e-6)


# Regret minimisation


def test_runs_of_a_calibration_lose_no_more_than_is_proven():
    def margins(seed):
        drawn = Drawn(seed)
        choices = np.flatnonzero(drawn.own.num_actions > 1)
        if not len(choices):
            return
        place = int(drawn.own.offsets[drawn.source.choice(choices.tolist())])
        reached = drawn.strategy(drawn.player).plan[place]
        target = LinearConstraint(drawn.player, {place: 1}, max(0.01, reached), "drawn", ">=")
        found = calibrate_style(
            drawn.game, target, 0.1 * drawn.scale, player=drawn.player, iterations=20, max_iterations=100, max_runs=3
        )
        value = drawn.value()
        for run in found.runs:
            true = value - worst_case(drawn.game, run.solution.profile[drawn.player])
            yield "loss of a calibrated run", (run.loss - true) / drawn.scale
        yield (
            "value of the game, calibrated",
            min(value - found.game_value[0], found.game_value[1] - value) / drawn.scale,
        )

    attacked(4, margins)


def test_preferences_cost_no_more_than_their_vulnerabilities_and_the_length_of_the_run():
    def margins(seed):
        drawn = Drawn(seed)
        source, units = drawn.source, drawn.source.choice(["counterfactual", "conditional"])
        wishes = [
            Prefer(
                [source.choice(actions)], 1 + 5 * source.random(), player=player, infosets=[label],
                vulnerability=0.1 * source.random(),
            )
            for player, treeplex in enumerate(drawn.game.sequence_form.treeplexes)
            for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)
            if source.random() < 0.6
        ]  # fmt: skip
        method = PrefCFR(wishes, units=units, base=source.choice(["cfr", "cfr+"]), updates="simultaneous")
        solution = solve(Nash(drawn.game), method, tol=0, max_iterations=source.choice([1, 7, 100, 5000]))
        bound = preference_bound(solution).nash_conv
        yield "NashConv by preferences", (bound - nash_conv(drawn.game, solution.profile)) / drawn.scale

    attacked(10, margins)


def test_constrained_cfr_keeps_to_its_theorems():
    def margins(seed):
        drawn = Drawn(seed)
        constraints = conflicting(drawn.game, np.random.default_rng(seed))
        problem = ConstrainedNash(drawn.game, constraints, penalty=drawn.source.choice([0.05, 0.5, 5.0]))
        steps, step = drawn.source.choice(["constant", "decreasing"]), drawn.source.choice([0.01, 0.1, 1.0])
        recipe = CCFR(base="cfr", updates="simultaneous", steps=steps, step=step)
        for one in ccfr_bounds(solve(problem, recipe, tol=0, max_iterations=drawn.source.choice([1, 10, 200]))).bounds:
            measured = ", measured" if one.measured else ""
            yield f"{one.name}{measured}", (one.bound + one.slack - one.actual) / max(1.0, abs(one.actual))

    attacked(5, margins)
