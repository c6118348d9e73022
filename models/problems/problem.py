"""The base classes of problems."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from ...seqform.arrays import Floats
from ...seqform.checks import Explained, check_exact_number
from ...seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.parameters import parameters_of
from ...seqform.rationals import Fractions, intended_fraction
from ...seqform.rules import Number
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..constraints import Constraint
from ..saddle import REPLY, Saddle, check_player_count
from .certificate import Certificate
from .features import Feature

if TYPE_CHECKING:
    import cvxpy as cp

    from ..programs.linear_program import LinearProgram
    from ..programs.rational_program import RationalProgram


class _GameWhenAsked:
    """The game of a problem, built and checked on first use, so that posing a problem builds nothing."""

    def __get__(self, problem: "Problem | None", owner: type | None = None) -> Game:
        if problem is None:
            raise AttributeError("game")  # to a dataclass, this means that the field has no default
        found = problem.__dict__["game"] = problem._posed_on(problem.given_game)
        try:
            problem.check_game()
        except BaseException:
            del problem.__dict__["game"]
            raise
        return found


class Problem(Explained, ABC):
    """A problem posed on a game, as data.

    Posing a problem checks its numbers, and its game if that is already built. It builds nothing:
    :func:`~treeplex.solve` does, within its time limit.

    Attributes
    ----------
    name : str
        Its name on the command line.
    question : str
        The question as a sentence, with fields such as ``{player}``, ``{other}`` and ``{problem.p}``.
    given_game : Game
        The game as given, possibly not built yet.
    game : Game
        The zero-sum game that is solved, with the constant sum of two players' payoffs subtracted. The first use builds
        the game and raises an error if the problem cannot be posed on it.
    player : int or None
        The player whose strategy is sought; ``None`` for a profile.
    constraints : sequence of Constraint
        Constraints on either player's plan (possibly none).
    model : Strategy or None
        The model of the opponent, if there is one.
    game_value : float, Fraction or None
        The player's value of the game, if known and needed.
    value_error : float
        How far the value may be above ``game_value``, if that was computed up to a tolerance.
    penalty : float, Fraction or None
        Cost per unit of violation; ``None`` if constraints are hard.
    slack : float or None
        How far below the game's value the guaranteed payoff may be (:class:`BestNash` only).
    needs_game_value : bool
        Whether stating or certifying the problem requires the value of the game; :func:`~treeplex.solve` then finds it.
    """

    name: ClassVar[str]
    question: ClassVar[str] = ""
    given_game: Game
    game: Game = _GameWhenAsked()  # type: ignore[assignment]
    player: int | None = None
    constraints: Sequence[Constraint] = ()
    model: Strategy | None = None
    game_value: float | Fraction | None = None
    value_error: float = 0.0
    penalty: float | Fraction | None = None
    slack: float | None = None
    needs_game_value: ClassVar[bool] = False
    #: The features that every problem of the class needs from a method.
    always_needs: ClassVar[frozenset[str]] = frozenset()
    #: Fields of which exactly one must be given.
    one_of: ClassVar[tuple[str, ...]] = ()
    #: Fields of which at least one must be given.
    some_of: ClassVar[tuple[str, ...]] = ()
    #: Whether the objective is a payoff of the problem's player.
    objective_is_payoff: ClassVar[bool] = True
    #: Whether an error of 0 proves optimality.
    error_proves: ClassVar[bool] = True
    #: Text after the exploitability's number, if the number is not the possible loss of the game's value.
    exploitability_meaning: ClassVar[str] = ""
    #: The game of an example on the command line.
    example_game: ClassVar[str] = "kuhn"
    #: The default method; with ``highs``, it depends on constraints and the game (``solvers/choice.py``).
    usual_method: ClassVar[str] = "highs"
    #: The exact method that finds the value of the game if needed; ``None`` for the default method for equilibria.
    value_method: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        given = self.__dict__.pop("game")
        if not isinstance(given, Game):
            raise InvalidGameError(
                f"{self.name}: expected a Game, got {shown(given)}; load_game(…), Game.from_tree(…) and "
                "Game.from_sequence_form(…) return one"
            )
        object.__setattr__(self, "given_game", given)
        if given.is_built:  # report an unsuitable game at once
            self._posed_on(given)
        for each in parameters_of(type(self)):  # check numbers that may be exact, such as p, as their fields declare
            value = getattr(self, each.name)
            left_out = value is None and each.default is None and not each.required
            if each.kind is Fraction and each.about.kind is None and not left_out:
                number = check_exact_number(value, f"{self.name}: {each.name}", InvalidGameError, each.interval)
                object.__setattr__(self, each.name, number)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):  # a dataclass's own descriptor would build the game
            cls.__repr__ = Problem.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        stated = [
            f"{field.name}={(self.given_game if field.name == 'game' else getattr(self, field.name))!r}"
            for field in fields(self)  # type: ignore[arg-type]
            if field.repr
        ]
        return f"{type(self).__name__}({', '.join(stated)})"

    def _posed_on(self, game: Game) -> Game:
        """Return the game that is solved for a given one."""
        return game

    def _check_stated_players(self, *allowed: int) -> None:
        """Reject a game whose rules declare neither two nor an allowed number of players, without building it."""
        rules = self.given_game.rules
        if rules is not None and rules.num_players not in allowed:
            check_player_count(self.name, self.given_game)

    def check_game(self) -> None:
        """Raise an error if the problem has no meaning on the game; runs once, after the game is built."""

    def build(self) -> None:
        """Build the game, or raise an error if the problem cannot be posed on it; the first step of ``solve``.

        Raises
        ------
        UnsupportedProblemError, InvalidGameError
        """
        _ = self.game

    def resolved(self) -> "Problem":
        """Return the problem to solve: this one, or the one that replaces it if it does not fit the game."""
        return self

    @property
    def roles(self) -> Mapping[int, str]:
        """The names of the players in reports if one of them commits, otherwise empty."""
        return {}

    def facts(self, profile: Profile) -> Mapping[str, str]:
        """Return what reports say of an answer beside its numbers: texts by row, such as ``ties``."""
        return {}

    def proves(self, proof: tuple[Profile, Certificate] | None) -> bool:
        """Whether a method's certificate proves optimality if its error meets the tolerance."""
        return self.error_proves

    @property
    def is_linear(self) -> bool:
        """Whether all constraints are linear or piecewise linear, so that a linear program can express the problem."""
        return all(constraint.is_linear for constraint in self.constraints)

    @property
    def hard_constraints(self) -> tuple[Constraint, ...]:
        """The constraints that must be met: strategies that violate them prove nothing."""
        return ()

    def missed(self, certificate: Certificate) -> list[str]:
        """Return the hard constraints that are violated by more than round-off according to a certificate."""
        violations = certificate.violations
        return [one.name for one in self.hard_constraints if violations.get(one.name, 0.0) > one.allowance]

    @property
    def needs(self) -> frozenset[str]:
        """The features that this problem needs from a method."""
        return self.always_needs if self.is_linear else self.always_needs | {Feature.CONVEX}

    @property
    def meaning(self) -> str:
        """The meaning of the objective, as a phrase after its number; empty if it is clear."""
        return ""

    def in_words(self) -> str:
        """Return the question as a sentence, as reports show it.

        Examples
        --------
        >>> from treeplex import BestResponse, Strategy, load_game
        >>> game = load_game("kuhn")
        >>> BestResponse(game, Strategy.uniform(game, 1)).in_words()
        'Which strategy of player 0 earns most against the model of player 1?'
        """
        who = {"player": self.player, "other": None if self.player is None else 1 - self.player}
        return self.question.format(problem=self, **who) if self.question else f"What is the answer to {self.name}?"

    @property
    def unit(self) -> float:
        """The unit of default tolerances: the game's stakes, if the objective is a payoff."""
        return self.game.stakes

    @abstractmethod
    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the certificate of a profile from its plans alone.

        Parameters
        ----------
        profile : Profile
        multipliers : mapping of str to float, optional
            By constraint.
        dual_certificate : mapping of str to ndarray, optional
            Other arrays that help to prove a bound, such as subgradients by constraint. Any multipliers and dual
            certificates give valid bounds; good ones give tight bounds.
        """

    @abstractmethod
    def error(self, certificate: Certificate) -> float:
        """Return the quantity that is compared with the tolerance, in payoff units."""

    def with_bound(self, name: str, bound: Number) -> Self:
        """Return the same problem with a different bound for one constraint.

        Raises
        ------
        InvalidConstraintError
            If there is no such constraint, or its bound cannot be changed.
        UnsupportedProblemError
            If the problem has no constraints.
        """
        raise UnsupportedProblemError(f"{self.name} has no bound to change: expected a problem with constraints")

    def with_game_value(self, value: float | Fraction, slack: float = 0.0) -> Self:
        """Return the same problem with the player's value of the game filled in.

        Parameters
        ----------
        value : number
        slack : float
            Amount by which the strategy found with the value guarantees less, because of round-off.
        """
        raise UnsupportedProblemError(f"{self.name} does not use the value of the game")

    @property
    def steps_are_payoffs(self) -> bool:
        """Whether the values of steps are payoffs of the whole game, not of a part of it or relative to a plan."""
        return True

    def safety_bound(
        self, certificate: Certificate, dual_certificate: Mapping[str, Floats] | None = None
    ) -> float | None:
        """Return the bound on exploitability that follows from a certificate's gain and gaps; ``None`` if none does."""
        return None

    def gain_line(self, certificate: Certificate, multipliers: Mapping[str, float]) -> tuple[float, float] | None:
        """Return a line that bounds the gain of every strategy by its exploitability.

        Returns
        -------
        tuple of float or None
            Intercept and slope: a strategy's gain against the model is at most the intercept plus the slope times the
            strategy's possible loss of the value of the game. ``None`` if the certificate proves no such line.
        """
        return None

    def earned(self, objective: Any, worst: Any) -> Any:
        """Return the payoff that the strategy is proven to earn against a set of opponents; ``None`` without a set.

        Parameters
        ----------
        objective : number
            The certificate's lower bound on the objective.
        worst : number
            The strategy's guaranteed payoff.
        """
        return None

    def known_value(self, exact: bool = False) -> Any:
        """Return the player's value of the zero-sum game that is solved, as a float or as a fraction.

        Raises
        ------
        UnsupportedProblemError
            If it is not known yet.
        """
        if self.game_value is None:
            raise UnsupportedProblemError(
                f"{self.name} needs game_value, the value of the game to player {self.player}: solve(…) finds it"
            )
        given = intended_fraction(self.game_value) if exact else float(self.game_value)
        return self.game.as_posed(given, self.player or 0)

    def _refuse_bound(self, name: str, known: Sequence[str]) -> NoReturn:
        """Raise an error that lists the constraints, because no constraint has that name."""
        raise InvalidConstraintError(
            f"{self.name} has no constraint {shown(name)}; it has {', '.join(known) or 'none'}"
        )


class SaddleProblem(Problem):
    """A problem that is an instance of the canonical saddle program.

    A subclass defines :meth:`saddle`; everything else follows from it. If it is about a profile, the program is posed
    from player 0's seat.
    """

    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM})

    @abstractmethod
    def saddle(self, exact: bool = False) -> Saddle:
        """Return the problem as a saddle program.

        Parameters
        ----------
        exact : bool
            Whether its numbers are fractions.

        Raises
        ------
        UnsupportedProblemError
            If the problem has no such program.
        """

    @cached_property
    def canonical(self) -> Saddle:
        """The saddle program in floats."""
        return self.saddle()

    @cached_property
    def exact_canonical(self) -> Saddle:
        """The saddle program in fractions."""
        return self.saddle(exact=True)

    @property
    def hard_constraints(self) -> tuple[Constraint, ...]:
        """The constraints that must be met: strategies that violate them prove nothing."""
        if not self.constraints:
            return ()
        hard = [rows.hard for rows in (self.canonical.own, self.canonical.other) if rows is not None]
        return sum(hard, ())

    def linear_program(self) -> "LinearProgram":
        """Return the exact formulation as a sparse linear program.

        :func:`~treeplex.models.saddle.linear.linear_program` lists its blocks.

        Raises
        ------
        UnsupportedProblemError
            If a constraint is neither linear nor piecewise linear.
        """
        from ..saddle import linear_program

        return linear_program(self.canonical)

    def rational_program(self) -> "RationalProgram":
        """Return the program of :meth:`linear_program` in exact fractions, in payoff units.

        Raises
        ------
        UnsupportedProblemError
            If a constraint cannot be written in fractions.
        """
        from ..saddle import rational_program

        return rational_program(self.exact_canonical)

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy, on the variables ``game.plan(player)``.

        Its value is the objective. If both players have constraints that are not linear, it maximises one player's
        objective minus the other's, which is 0 at the optimum.

        Raises
        ------
        UnsupportedProblemError
            If both players have constraints that are not linear, and one needs a cone that is neither second-order nor
            exponential.
        """
        from ..saddle import ConicProgram

        return ConicProgram.of(self.canonical).problem

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the certificate of a profile; see :meth:`Problem.certify`."""
        check_same_game(profile[0], self.game)
        return self._certificate(self.canonical, profile.plans, multipliers or {}, dual_certificate or {})

    def certify_exact(
        self,
        plans: Sequence[Fractions],
        multipliers: Mapping[str, Fraction],
        dual_certificate: Mapping[str, Fractions],
    ) -> Certificate:
        """Compute a certificate from plans in fractions; all its numbers except the residual are fractions."""
        return self._certificate(self.exact_canonical, plans, multipliers, dual_certificate)

    def _certificate(
        self,
        saddle: Saddle,
        plans: Sequence[Any],
        multipliers: Mapping[str, Any],
        dual_certificate: Mapping[str, Any],
    ) -> Certificate:
        """Compute a certificate in the number type of a saddle program."""
        view = saddle.view
        own, other = plans[view.player], plans[1 - view.player]
        chosen = other if view.replies is None else view.replies.chosen(other, dual_certificate.get(REPLY))
        bounds = saddle.bounds(own, chosen, multipliers, dual_certificate)
        if self.player is None:
            # Without constraints the two best-response values are the bounds.
            payoff, spread = bounds.value, bounds.upper - bounds.lower
            if saddle.has_rows:
                payoff, spread = view.payoff(own, other), view.best_case(other) - view.worst_case(own)
            return Certificate(
                value=(payoff, 0 - payoff),
                objective=bounds.value,
                lower=bounds.lower,
                upper=bounds.upper,
                exploitability=spread / 2,
                residual=view.residual(plans),
                violations=bounds.violations,
            )
        from .strategy_certificate import strategy_certificate_with_bounds

        return strategy_certificate_with_bounds(self, saddle, plans, bounds)

    def error(self, certificate: Certificate) -> float:
        """Return the quantity that is compared with the tolerance: the larger of the gap and the violation."""
        assert certificate.gap is not None
        return max(certificate.gap, certificate.violation)
