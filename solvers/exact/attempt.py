"""Answers of exact methods while they are compared: what each proves, and by how much that misses what is asked."""

import math
from dataclasses import dataclass

import numpy as np

from ...models.problems import Certificate, SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, read_solution
from ...seqform.arrays import Floats
from ...seqform.strategy import Profile
from ..certification import enough, proven, proven_error
from ..outcome import Options, nearest_profile


@dataclass(frozen=True, eq=False)
class Attempt:
    """An answer and what it proves.

    Attributes
    ----------
    answer : Answer or None
    proof : tuple of Profile and Certificate, or None
        The strategies that play the answer, and what they prove.
    excess : float
        The proven error in payoff units, or 0 if that is within what is asked; infinite if hard constraints are missed.
    """

    answer: Answer | None = None
    proof: tuple[Profile, Certificate] | None = None
    excess: float = math.inf

    def betters(self, other: "Attempt") -> bool:
        """Whether the excess is less, or there are strategies where another has none."""
        return self.excess < other.excess or (self.proof is not None and other.proof is None)

    def or_better(self, other: "Attempt") -> "Attempt":
        """Return the better one of two."""
        return other if other.betters(self) else self

    @classmethod
    def read(
        cls,
        problem: SaddleProblem,
        options: Options,
        program: LinearProgram,
        numbers: tuple[Floats, Floats] | None,
    ) -> "Attempt":
        """Read the answer off a program's columns and the multipliers of its rows, if there are any."""
        if numbers is None:
            return cls()
        primal, dual = numbers
        answer = read_solution(
            problem.canonical,
            {name: primal[part] for name, part in program.columns.items()},
            {name: dual[part] for name, part in program.rows.items()},
        )
        if not all(np.isfinite(plan).all() for plan in answer.plans):
            return cls(answer)
        return cls.of(problem, options, answer, nearest_profile(problem.game, answer.plans))

    @classmethod
    def of(cls, problem: SaddleProblem, options: Options, answer: Answer, profile: Profile) -> "Attempt":
        """Prove what an answer's strategies are worth."""
        profile, certificate = proven(problem, profile, answer.multipliers, answer.dual_certificate)
        error = math.inf if problem.missed(certificate) else proven_error(problem, profile, certificate)
        return cls(answer, (profile, certificate), error if error > enough(problem, certificate, options) else 0.0)
