"""What is stored of a problem's answer, which of its numbers are unique, and how two answers are compared."""

import gzip
import itertools
import json
import math
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

from problem_cases import PROBLEMS, STEPPED, draw_case

from treeplex import CVXPY, SolverError, solve
from treeplex.solvers import DepthLimitedLP

FILE = Path(__file__).parents[1] / "stored" / "problem_values.json.gz"

#: Of an answer, what need not be unique where several strategies are optimal.
LOOSE = ("value", "exploitability", "gain", "violation")
#: How near to each other the answers of two algorithms are where a number is unique.
UNIQUE = 1e-5


def answer(case):
    """Return what a case's answer says, ready for comparison."""
    try:
        solution = solve(case.problem, case.method)
    except SolverError as error:
        return {"status": type(error).__name__}
    record = {"status": str(solution.status), "scale": case.problem.game.sequence_form.payoff_scale}
    if record["status"] == "infeasible":
        found = solution.to_dict()
        return record | {"least": found["least_violation"], "conflict": sorted(found["conflict"])}
    keys = ("objective", "lower", "upper", "exploitability", "gain", "violation", "steps")
    found = {key: getattr(solution, key) for key in keys}
    if not case.kind.startswith("least-violation"):
        found["value"] = float(solution.value)
    record |= {key: number for key, number in found.items() if number is not None}
    if solution.multipliers:
        record["multipliers"] = {name: float(one) for name, one in solution.multipliers.items()}
    exact = solution.exact
    if exact is not None:
        record["exact"] = {
            key: str(getattr(exact, key)) for key in ("objective", "gain") if getattr(exact, key) is not None
        }
        record["exact"] |= {f"multiplier {name}": str(one) for name, one in exact.multipliers.items()}
    return record


def proven(case):
    """Return what the case's own plans and multipliers prove, whatever they are."""
    problem = case.problem
    if "game_value" in (field.name for field in fields(problem)):
        problem = replace(problem, game_value=0.125)
    certificate = problem.certify(case.profile, case.multipliers)
    keys = ("objective", "lower", "upper", "exploitability", "gain", "violation")
    found = {key: getattr(certificate, key) for key in keys}
    if certificate.value:
        found["value"] = certificate.value[0]
    return {key: None if number is None or not math.isfinite(number) else number for key, number in found.items()}


def unique(seed):
    """Return the answer of a case without what is not unique, with what its own plans prove for every fourth."""
    case = draw_case(seed)
    record = {"kind": case.kind, "method": case.method} | answer(case)
    for key in ("lower", "upper"):
        record.pop(key, None)
    if record["status"] == "infeasible":
        if not _only_conflict(case, record["conflict"]):
            del record["conflict"]
    elif "objective" in record:
        if case.kind.startswith(STEPPED):
            _keep_steps(seed, case, record)
        elif not getattr(case.problem, "is_linear", True):
            _keep_slopes(seed, record)
        else:
            _keep_alike(case, record)
    if seed % 4 == 0:
        record["proven"] = proven(case)
    return record


def _keep_alike(case, record):
    """Keep what an interior point, of the middle of all optimal plans and multipliers, has too."""
    try:
        other = answer(replace(case, method=CVXPY("CLARABEL")))
    except (SolverError, ValueError):
        other = answer(replace(case, method="highs-ipm"))
    if case.kind == "best-nash":
        other = {key: number for key, number in other.items() if key not in ("multipliers", "exploitability")}
        other["gain"] = record["gain"]  # the objective without the value of the game
    for key in LOOSE:
        if key in record and not (key in other and _near(record[key], other[key], UNIQUE)):
            del record[key]
            record.get("exact", {}).pop(key, None)
    multipliers = record.pop("multipliers", {})
    kept = {
        name: one
        for name, one in multipliers.items()
        if name in other.get("multipliers", {}) and _near(one, other["multipliers"][name], UNIQUE)
    }
    if kept:
        record["multipliers"] = kept
    for name in multipliers.keys() - kept.keys():
        record.get("exact", {}).pop(f"multiplier {name}", None)


def _keep_slopes(seed, record):
    """Keep multipliers of a conic program that are the slopes of its optimum to both sides, and nothing else."""
    for key in LOOSE:
        record.pop(key, None)
    kept = {}
    for name, one in record.pop("multipliers", {}).items():
        step = 1e-3
        ends = [answer(draw_case(seed, loosen={name: move})).get("objective") for move in (-step, step)]
        if None in ends:
            continue
        left, right = (record["objective"] - ends[0]) / step, (ends[1] - record["objective"]) / step
        spread = 0.02 * (1.0 + abs(one))
        if abs(abs(left) - one) < spread and abs(abs(right) - one) < spread and abs(left - right) < spread:
            kept[name] = one
    if kept:
        record["multipliers"] = kept


def _keep_steps(seed, case, record):
    """Keep what differs little in games and against opponents that differ by a millionth, and by another algorithm."""
    if case.kind == "lbr":
        return
    grown = case.problem.game.spec == "tree"
    others = [answer(draw_case(seed, noise=noise)) for noise in (1, 2)]
    others.append(answer(replace(case, method=DepthLimitedLP("ipm"))))
    same = len(record.get("steps", ()))
    for other in others:
        steps = other.get("steps", ())
        alike = [_near(one, two, 1e-4) for one, two in zip(record.get("steps", ()), steps, strict=False)]
        same = min(same, alike.index(False) if False in alike else len(alike))
    settled = same == len(record.get("steps", ()))
    if case.kind == "ses" and not (grown and settled):
        same, settled = 0, False
    if case.kind == "cdbr-ne" and not grown:
        settled = False
    for key in ("objective", *LOOSE):
        alike = all(key in other and _near(record.get(key), other[key], 1e-4) for other in others)
        if not (settled and alike):
            record.pop(key, None)
    record.pop("steps", None)
    if same:
        record["steps"] = answer(case)["steps"][:same]


def _only_conflict(case, conflict):
    """Whether the constraints of one player exclude each other in one way alone."""
    constraints = case.problem.constraints
    if not all(one.is_linear for one in constraints):
        return len(conflict) == 1 and len(constraints) == 1
    player = next(one.player for one in constraints if one.name in conflict)
    own = [one for one in constraints if one.player == player]
    found = []
    for count in range(1, len(own) + 1):
        for some in itertools.combinations(own, count):
            names = {one.name for one in some}
            if any(names >= other for other in found):
                continue
            if solve(PROBLEMS["least-violation"](case.problem.game, player, some), "highs-simplex").lower > 1e-9:
                found.append(names)
    return found == [set(conflict)]


def compact(record):
    """Return a record with numbers of twelve digits."""
    if isinstance(record, dict):
        return {key: compact(entry) for key, entry in record.items()}
    if isinstance(record, list | tuple):
        return [compact(entry) for entry in record]
    if isinstance(record, float):
        return 0 if abs(record) < 1e-11 else float(f"{record:.12g}")
    return record


def stored():
    """Return all stored records by seed."""
    with gzip.open(FILE, "rt") as file:
        return {int(seed): record for seed, record in json.load(file).items()}


def store(records):
    text = json.dumps({str(seed): compact(record) for seed, record in sorted(records.items())}, separators=(",", ":"))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


def differences(case, expected):
    """Return in what an answer differs from the stored one: a line each."""
    found = answer(case)
    scale = expected.get("scale", 1.0)
    linear = getattr(case.problem, "is_linear", True)
    conic = not linear or case.method == "cvxpy"
    tolerance = (1e-5 if not linear else 1e-6 if case.method == "cvxpy" else 1e-9) * max(scale, 1.0)
    lines = []
    if (case.kind, case.method) != (expected["kind"], expected["method"]):
        lines.append(f"the case is {case.kind} by {case.method}, stored {expected['kind']} by {expected['method']}")
    if found["status"] != expected["status"] and not (conic and {found["status"], expected["status"]} <= LOOSE_STATUS):
        lines.append(f"status {found['status']}, stored {expected['status']}")
    lines += [
        f"{key} {found.get(key)}, stored {expected[key]}"
        for key in ("objective", *LOOSE, "least")
        if key in expected and not _near(found.get(key), expected[key], tolerance)
    ]
    if "objective" in expected and not case.kind.startswith(STEPPED):
        for key, sign in (("lower", -1), ("upper", 1)):
            if found.get(key) is None or not sign * (found[key] - expected["objective"]) >= -tolerance * (
                1.0 + abs(expected["objective"])
            ):
                lines.append(f"{key} {found.get(key)} does not bound the optimum {expected['objective']}")
            elif not conic and not _near(found[key], expected["objective"], tolerance):
                lines.append(f"{key} {found[key]} is far from the optimum {expected['objective']}")
    steps = expected.get("steps", [])
    for number, step in enumerate(steps):
        if len(found.get("steps") or ()) <= number or not _near(found["steps"][number], step, tolerance):
            lines.append(f"steps {found.get('steps')}, stored {steps}")
            break
    loose = 1e-3 if not linear else 1e-6 if conic else 1e-9
    for name, one in expected.get("multipliers", {}).items():
        if not _near(found.get("multipliers", {}).get(name), one, loose * max(scale, 1.0)):
            lines.append(f"multiplier of {name} {found.get('multipliers', {}).get(name)}, stored {one}")
    for key, text in expected.get("exact", {}).items():
        given = found.get("exact", {}).get(key)
        if given is None or Fraction(given) != Fraction(text):
            lines.append(f"exact {key} {given}, stored {text}")
    if "conflict" in expected and found.get("conflict") != expected["conflict"]:
        lines.append(f"conflict {found.get('conflict')}, stored {expected['conflict']}")
    if "proven" in expected:
        lines += _worse_proofs(case, expected, 1e-9 * max(scale, 1.0), tolerance)
    return lines


def _worse_proofs(case, expected, tolerance, of_optimum):
    """Return what a case's own plans prove otherwise than is stored; bounds may be tighter, as far as they hold."""
    own, lines = proven(case), []
    for key, number in expected["proven"].items():
        if own.get(key) is number is None or _near(own.get(key), number, tolerance):
            continue
        sign = {"lower": 1, "upper": -1}.get(key, 0)
        tighter = own.get(key) is not None and (number is None or sign * (own[key] - number) > 0)
        if not (tighter and _holds(case, key, expected.get("objective"), of_optimum)):
            lines.append(f"its own plans prove {key} {own.get(key)}, stored {number}")
    return lines


def _holds(case, key, optimum, tolerance):
    """Whether a bound that the case's own plans prove is one of the optimum."""
    problem = case.problem
    if optimum is None:
        return True
    if "game_value" in (field.name for field in fields(problem)):
        value = solve(PROBLEMS["nash"](problem.game), "highs-simplex").value
        problem = replace(problem, game_value=value * (1 - 2 * problem.player))
    certificate = problem.certify(case.profile, case.multipliers)
    if certificate.violation > 0.0 and getattr(problem, "penalty", None) is None:
        # What an unsafe strategy reaches is no bound, but what multipliers prove is.
        minimises = case.kind.startswith("least") or (case.kind.startswith("style") and problem.maximise is None)
        if case.kind.startswith("constrained") or key == ("upper" if minimises else "lower"):
            return True
    sign = 1 if key == "lower" else -1
    return sign * (optimum - getattr(certificate, key)) >= -tolerance


#: What a conic solver may say of the same program under other versions.
LOOSE_STATUS = {"optimal", "uncertified"}


def _near(one, other, tolerance):
    if one is None or other is None:
        return False
    return abs(one - other) <= tolerance * (1.0 + abs(other))
