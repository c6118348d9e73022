"""Games whose payoffs sum to a constant: every answer is that of the zero-sum game, in the payoffs of the game.

The judges are the same question without the constant, pygambit, and numbers by hand.
"""

from fractions import Fraction

import numpy as np
import pytest
from constant_sums import draw_with_constant
from effort import soaked

from treeplex import SolverError, Solution, solve

CONSTANTS = (10, -3, Fraction(1, 3), 0.3, 1000)


def differences(without: Solution, found: Solution, constant: float) -> list[str]:
    """Return what of an answer is not that without the constant, in the payoffs of the game."""
    own = constant if without.player == 1 else 0.0
    objective = own if without.problem.objective_is_payoff else 0.0
    steps = own if without.problem.steps_are_payoffs else 0.0
    expected = {
        "status": (str(without.status), str(found.status), None),
        "values": (without.certificate.value, found.certificate.value, np.array([0.0, constant])),
        "steps": (without.steps or (), found.steps or (), steps),
    }
    expected |= {name: (getattr(without, name), getattr(found, name), own) for name in ("opponent_value", "game_value")}
    expected |= {
        name: (getattr(without, name), getattr(found, name), objective) for name in ("objective", "lower", "upper")
    }
    expected |= {
        name: (getattr(without, name), getattr(found, name), 0.0)
        for name in ("gain", "exploitability", "safety_bound", "gap", "slack", "violation")
    }
    room = 1e-6 * (1.0 + abs(constant))
    wrong = []
    for name, (before, after, shift) in expected.items():
        if shift is None or before is None or after is None:
            agrees = before == after
        else:
            agrees = np.shape(before) == np.shape(after) and np.allclose(
                np.array(before, dtype=float) + shift, np.array(after, dtype=float), rtol=0.0, atol=room
            )
        if not agrees:
            wrong.append(f"{name} {after}, without the constant {before}")
    if found.exact is not None and found.exact.certificate.value:
        total = sum(found.exact.certificate.value)
        if total != Fraction(str(constant)) and total != Fraction(constant).limit_denominator(1000):
            wrong.append(f"the exact values sum to {total}")
    return wrong


@pytest.mark.soak
def test_a_constant_changes_nothing_but_what_player_1_is_paid():
    wrong, solved = [], 0
    for seed in range(soaked(5)):
        constant = CONSTANTS[seed % len(CONSTANTS)]
        without, case = draw_with_constant(seed, 0), draw_with_constant(seed, constant)
        try:
            reference = solve(without.problem, without.method)
        except SolverError:  # a floor that nobody can reach
            with pytest.raises(SolverError):
                solve(case.problem, case.method)
            continue
        solved += 1
        found = differences(reference, solve(case.problem, case.method), float(constant))
        wrong += [f"seed {seed}, {case.kind} by {case.method}, {constant}: {each}" for each in found]
    assert not wrong, "\n".join(wrong)
    assert solved > 0.8 * soaked(5)
