"""Random games and problems for the soak test, and how exact fractions judge what other methods say of them."""

import json
import sys
import warnings
from collections import Counter
from fractions import Fraction

from problem_cases import KINDS, STEPPED, Drawing

from treeplex import SolverError, Status, UnsupportedProblemError, solve
from treeplex.models.problems import RobustResponse
from treeplex.models.saddle import PlayerView
from treeplex.seqform.rationals import exact_plan

#: What all methods but the first are held to is what fractions prove.
METHODS = ("highs", "cvxpy", "highs-ipm", "cfr", "cfr+", "dcfr", "pcfr+", "ccfr")
#: Iterations of methods that learn: enough for bounds, far from enough to converge.
ITERATIONS = 40
#: What arithmetic in floats may be off by, relative to the largest number that it is made of.
ROUND_OFF = 1e-11
_LARGEST = Fraction(sys.float_info.max)


#: What fractions solve.
EXACT = {
    kind: often
    for kind, often in KINDS.items()
    if not kind.startswith(("data-biased", *STEPPED)) and "convex" not in kind and "conic" not in kind
} | {"robust": 6}


class Ordinary(Drawing):
    """Small games of few digits, with every problem that fractions solve."""

    kinds = EXACT

    def in_fractions(self):
        return True

    def draw_robust(self, kind):
        models = [self.opponent() for _ in range(self.integer(1, 3))]
        return RobustResponse(self.game, models, p=self.pick(0.0, 1.0, *[self.decimal(0.02, 0.98)] * 6))


class Hostile(Ordinary):
    """The same with numbers that are far apart, very large or very small, ties, and players who have no choice."""

    def in_fractions(self):
        self.factor = Fraction(10) ** self.pick(0, 0, 0, -300, -100, -12, -6, 6, 12, 20, 100, 300)
        self.spread = self.pick(0, 0, 5)
        self.rare = self.pick(0, 6, 8, 10, 12)
        self.ties = self.rng.random() < 0.2
        free = self.kind.split()[0] in ("nash", "best-response", "rnr", "epsilon-safe", "best-nash")
        self.fewest = self.pick(-1, 0, 1) if free else 1
        return True

    def payoffs(self, halves):
        number = Fraction(self.integer(0, 1)) if self.ties else super().payoffs(halves)[0]
        number *= self.factor * Fraction(10) ** self.integer(-self.spread, self.spread)
        return (number, -number)

    def parts(self):
        parts = super().parts()
        if self.rare and self.rng.random() < 0.7:
            parts[self.integer(0, len(parts) - 1)] *= 10**self.rare
        return parts

    def penalty(self):
        return self.pick(0.5, 1e3, 1e5, 1e6, 1e9, 1e12, 1e19)


def judged(drawing, seed, methods=None):
    """Solve the case of a seed in fractions and by other methods.

    Returns
    -------
    counts : Counter
        How solves ended, by method and status.
    wrong : list of str
        What fractions refute, a line each.
    """
    counts, wrong = Counter(), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case = drawing(seed, {}, 0).case()
        judge = _answer(case.problem, "rational", counts, wrong)
        for method in methods or (METHODS[0], METHODS[1 + seed % (len(METHODS) - 1)]):
            found = _answer(case.problem, method, counts, wrong)
            if found is not None and judge is not None:
                wrong += [f"{method}: {line}" for line in refuted(case.problem, judge, found)]
    return counts, [f"seed {seed} ({case.kind}): {line}" for line in wrong]


def _answer(problem, method, counts, wrong):
    """Return an answer; ``None`` where the method has none and says so in one line."""
    iterative = not method.startswith(("rational", "highs", "cvxpy"))
    try:
        found = solve(problem, method, max_iterations=ITERATIONS if iterative else None)
        json.dumps(found.to_dict(), allow_nan=False)
    except UnsupportedProblemError:
        return None
    except SolverError:
        counts[method, "no answer"] += 1

        return None
    except Exception as failure:  # what must never happen
        counts[method, type(failure).__name__] += 1
        wrong.append(f"{method} raises {type(failure).__name__}: {failure}")
        return None
    counts[method, str(found.status)] += 1
    if method == "rational" and found.exact is None and found.infeasibility is None:
        return None
    return found


def refuted(problem, judge, found):
    """Return what an exact answer refutes of another one, a line each."""
    if judge.infeasibility is not None:
        least = float(judge.infeasibility.largest_violation)
        if found.status.is_success and least > max(found.tolerance, 1e-9) * (1 + 1e-6):
            return [f"{found.status}, but constraints are violated by at least {least}"]
        return []
    if found.status is Status.INFEASIBLE:
        return ["infeasible, but fractions find an optimum"]
    optimum, lines = float(judge.exact.objective), []
    payoff = problem.game.sequence_form.payoff_scale
    unit = getattr(problem, "scale", problem.unit)
    size = max(unit, abs(optimum), 0.0 if found.objective is None else abs(found.objective))
    if problem.penalty is not None:  # what players pay for violations, and limits at their prices, may cancel
        limits = (abs(float(getattr(one, "bound", 0))) for one in problem.constraints)
        parts = [*found.certificate.violations.values(), *limits]
        size = max(size, problem.penalty * max(parts, default=0.0))
    off = _crossing(problem, judge, found) + ROUND_OFF * size
    if found.lower is not None and found.lower > optimum + off:
        lines.append(f"lower bound {found.lower} of the optimum {optimum} (it may be off by {off})")
    if found.upper is not None and found.upper < optimum - off:
        lines.append(f"upper bound {found.upper} of the optimum {optimum} (it may be off by {off})")
    if found.status.is_success:
        asked = max(found.tolerance, 1e-12 * payoff) * (unit / payoff if hasattr(problem, "scale") else 1.0)
        asked *= 2 if problem.name == "nash" else 1  # the exploitability is half the gap
        # A payoff is above the upper bound by what is missed at the price that was found, at most.
        missed = sum(
            (found.dual_multipliers or {}).get(name, 0.0) * max(0.0, most)
            for name, most in found.certificate.violations.items()
            if problem.penalty is None
        )
        if not abs(found.objective - optimum) <= asked * (1 + 1e-6) + off + missed:
            lines.append(f"{found.status} with {found.objective} for {optimum}, asked {asked}")
    return lines + _misjudged(problem, found, payoff)


def _crossing(problem, judge, found):
    """Return by how much bounds may cross where hard rows and the floor are missed a little: at their prices."""
    prices, missed = judge.exact.multipliers, found.certificate.violations
    soft = problem.penalty is not None or problem.name == "least-violation"
    names = [name for name in missed if name == "safety" or not soft]
    # A bound has the unit of payoffs, so what is missed is known to round-off alone.
    digits = 1e-14 * problem.game.sequence_form.payoff_scale
    total = sum((prices.get(name, 0) * Fraction(max(0.0, missed[name]) + digits) for name in names), Fraction(0))
    if "safety" in prices and found.game_value is not None:
        owed = abs(found.game_value - float(judge.exact.certificate.game_value)) + (found.slack or 0.0)
        total += prices["safety"] * Fraction(owed)
    return float(min(total, _LARGEST))  # prices may be beyond the largest float


def _misjudged(problem, found, payoff):
    """Return where the exploitability that is reported is not that of the strategies."""
    if problem.name == "least-violation" or found.exact is not None:
        return []
    views = [PlayerView(problem.game, player, exact=True) for player in (0, 1)]
    plans = [exact_plan(one.treeplex, one.behaviour) for one in found.profile]
    worst = [view.worst_case(plan) for view, plan in zip(views, plans, strict=True)]
    exact = -sum(worst) / 2
    if problem.player is not None:
        exact = max(Fraction(0), Fraction(found.game_value) - worst[problem.player])
    if abs(float(exact) - found.exploitability) > ROUND_OFF * payoff:
        return [f"exploitability {found.exploitability}, in fractions {float(exact)}"]
    return []


def run(drawing, seeds, methods=None):
    """Judge all seeds of a range; return the counts, and what was refuted."""
    total, refutations = Counter(), []
    for seed in seeds:
        counts, wrong = judged(drawing, seed, methods)
        total += counts
        refutations += wrong
    return total, refutations


def table(counts):
    """Return counts as text: a line per method."""
    found = {method: {} for method, _ in sorted(counts)}
    for (method, status), count in sorted(counts.items()):
        found[method][status] = count
    return "\n".join(f"  {method}: " + ", ".join(f"{n:,} {s}" for s, n in of.items()) for method, of in found.items())
