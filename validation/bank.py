"""The bank of cases: questions about games, the methods that solve them, and the required agreement of the answers."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from ..models.constraints import distance_bound
from ..models.distances import L2Distance
from ..seqform.checks import check_type
from ..seqform.errors import UnsupportedProblemError
from ..seqform.grammar import Grammar
from ..seqform.registry import Registry
from ..seqform.strategy import Strategy
from ..solvers.methods.registry import METHODS, find_method
from .questions import Question, Words

if TYPE_CHECKING:
    from ..seqform.game import Game
    from ..solvers.methods import Method

Role = Literal["exact", "compared", "alone"]


@dataclass(frozen=True)
class Case:
    """One row of a suite, before it is run.

    Parameters
    ----------
    game : str
        The name, as accepted by :func:`treeplex.load_game`.
    method : str
    tolerance : float
        The bound on the certificate's error and on the difference of objectives, in payoff units.
    role : {"exact", "compared", "alone"}
        The ``exact`` solution of a question is compared with the known objective, if there is one. A ``compared``
        solution is compared with the exact one, which precedes it. Only its certificate judges a solution that
        stands ``alone``.
    options : mapping of str to str
        Hyper-parameters whose values differ from the method's defaults.
    problem : str
    question : mapping of str to str or tuple of str
        The problem's inputs besides the game, as options of ``treeplex solve``: ``opponent``, ``p``, ``constrain`` and
        so on; see :class:`~treeplex.validation.questions.Question`.
    reference : float, optional
        The known objective; by default the game's reference value for ``nash``, and none for other problems.
    digits : float
        The largest error of the known objective: half a unit in its last digit.
    near : float, optional
        An additional input, only for ``constrained``: an upper bound on the Euclidean distance of player 0's
        plan from uniform play. The command line cannot express this constraint.
    """

    game: str
    method: str
    tolerance: float
    role: Role = "compared"
    options: Mapping[str, str] = field(default_factory=dict)
    problem: str = "nash"
    question: Words = field(default_factory=dict)
    reference: float | None = None
    digits: float = 0.0
    near: float | None = None

    @property
    def label(self) -> str:
        """The method with its options, as rows show it.

        Examples
        --------
        >>> from treeplex.validation import Case
        >>> Case("kuhn", "cfr+", 1e-3, options={"updates": "simultaneous"}).label
        'cfr+ simultaneous'
        """
        return " ".join([self.method, *self.options.values()])

    @property
    def asked(self) -> str:
        """The problem with its inputs, as written after ``--problem`` on the command line.

        Examples
        --------
        >>> from treeplex.validation import Case
        >>> Case("kuhn", "highs", 1e-9, problem="rnr", question={"opponent": "uniform", "p": "1/2"}).asked
        'rnr --opponent uniform --p 1/2'
        """
        text = Question(self.problem, **self.question).text
        return text if self.near is None else f"{text}, and player 0 at most {self.near:g} from uniform play"

    def chosen_method(self) -> "Method":
        """Return the method with its hyper-parameters."""
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return find_method(f"{self.method}:{options}" if options else self.method)

    def pose(self, game: "Game") -> Any:
        """Return the problem on the case's game."""
        problem = Question(self.problem, **self.question).pose(game)
        if self.near is None:
            return problem
        ball = distance_bound(L2Distance(Strategy.uniform(game, 0)), at_most=self.near, name="near uniform play")
        return replace(problem, constraints=(*problem.constraints, ball))


@dataclass(frozen=True)
class Suite:
    """A named list of cases.

    Parameters
    ----------
    name : str
    summary : str
        A short description of the suite's purpose.
    cases : tuple of Case
        Cases of the same game are consecutive, and so are cases of the same question, its exact case first.
    """

    name: str
    summary: str
    cases: tuple[Case, ...]


def ask(
    game: str,
    question: str,
    methods: str,
    *,
    known: str = "",
    off: float | None = None,
    near: float | None = None,
    alone: bool = False,
) -> tuple[Case, ...]:
    """List the cases of one question about a game.

    Parameters
    ----------
    game : str
    question : str
        The text after ``--problem`` on the command line.
    methods : str
        Names, each with hyper-parameters and tolerance if they differ from the defaults, such as ``highs rational
        cfr:updates=simultaneous@1e-3``. The first method is exact, and the others are compared with it.
    known : str
        The objective, if known, as an exact fraction or in decimals; for ``nash`` by default the game's reference
        value.
    off : float, optional
        The largest error of the known objective; by default half a unit in its last decimal.
    near : float, optional
        As in :class:`Case`.
    alone : bool
        Whether no method is exact, so that only its own certificate judges each method.

    Examples
    --------
    >>> from treeplex.validation.bank import ask
    >>> [(case.label, case.tolerance, case.role) for case in ask("kuhn", "nash", "highs cfr:updates=simultaneous@1e-3")]
    [('highs', 1e-09, 'exact'), ('cfr simultaneous', 0.001, 'compared')]
    """
    problem, *words = shlex.split(question)
    said: dict[str, tuple[str, ...]] = {}
    for option, value in zip(words[::2], words[1::2], strict=True):
        name = option.removeprefix("--")
        said[name] = (*said.get(name, ()), value)
    digits = 0.0 if "/" in known else 0.5 * 10.0 ** -len(known.partition(".")[2])
    cases = []
    for number, text in enumerate(methods.split()):
        spec, tolerance = re.fullmatch(r"(.*?)(?:@([0-9.e-]+))?", text).groups()  # type: ignore[union-attr]
        method, _, parameters = spec.partition(":")
        role: Role = "alone" if alone else "compared" if number else "exact"
        options = dict(pair.split("=", 1) for pair in METHODS.grammar.items(method, parameters, ",") if pair)
        held = float(tolerance) if tolerance else USUAL_TOLERANCES.get(method, 1e-9)
        case = Case(game, method, held, role, options, problem, said, near=near)
        if known and not number:
            case = replace(case, reference=float(Fraction(known)), digits=digits if off is None else off)
        cases.append(case)
    return tuple(cases)


#: Tolerances of exact methods that do not reach 1e-9: interior point methods without crossover, HiGHS's default
#: tolerance through cvxpy, and fractions.
USUAL_TOLERANCES: Mapping[str, float] = {"highs-ipm": 1e-6, "cvxpy": 1e-6, "rational": 1e-12}

#: The methods for stepwise responses: linear programming, and regret minimisation, each step of which is compared with
#: the linear program that contains its own earlier decisions.
_IN_STEPS = "lp cfr@1e-2 cfr+@1e-3 dcfr@1e-3 pcfr+@1e-3"
#: The transit game's patroller must be back at its base with a probability of at least 0.9.
_RISK = "constrained --constrain 'risk<=0.1'"
_GADGETS = ("none", "resolving", "reach-resolving", "max-margin", "reach-max-margin")
#: A bound on player 0's behaviour with the king in Kuhn poker, and one on its behaviour with the jack.
_TWO = "constrained --constrain '0/K_:b<=0.5' --constrain '0/J_:b>=0.3'"


def _with_gadgets(game: str, question: str) -> Iterator[Case]:
    """Yield the cases of a question about a game with each gadget."""
    for gadget in _GADGETS:
        yield from ask(game, f"{question} --gadget {gadget}", _IN_STEPS)


def _in_steps(game: str, level: int, *more: str) -> Iterator[Case]:
    """Yield the cases of all depth-limited responses, for both players.

    Parameters
    ----------
    game : str
    level : int
        A second level at which subgames begin, besides level 2.
    *more : str
        More questions, for games that allow them.
    """
    for question in (
        "cdbr --opponent random:seed=1 --lookahead 2",
        "cdbr --opponent cfr:iterations=5 --lookahead 3 --player 1",
        "cdbr --opponent uniform --lookahead 5",
        "cdrnr --opponent random:seed=2 --p 0 --lookahead 1",
        "cdrnr --opponent cfr:iterations=5 --p 1/4 --lookahead 1 --player 1",
        "cdrnr --opponent uniform --p 3/4 --lookahead 2",
        "cdrnr --opponent random:seed=1 --p 9/10 --lookahead 3 --player 1",
        "cdbr-ne --opponent random:seed=1 --p 3/4 --lookahead 1 --player 1",
        "cdbr-ne --opponent cfr:iterations=5 --p 1/4 --lookahead 2",
        "ses --opponent random:seed=1 --p 1/4 --level 2",
        f"ses --opponent cfr:iterations=5 --p 3/4 --level {level} --player 1",
        *more,
    ):
        yield from ask(game, question, _IN_STEPS)
    yield from _with_gadgets(game, "cdrnr --opponent cfr:iterations=5 --p 1/4 --lookahead 1")
    yield from _with_gadgets(game, "cdrnr --opponent random:seed=2 --p 3/4 --lookahead 2 --player 1")


def _styles(game: str, styles: Mapping[str, str]) -> Iterator[Case]:
    """Yield the cases of styles, each solved by a linear program and by Preference-CFR with the given options."""
    for style, preferring in styles.items():
        methods = " ".join(f"pref-cfr:{options}" for options in preferring.split())
        yield from ask(game, f"style {style}", f"highs-simplex {methods}")


_STYLES_IN_KUHN = {
    "--maximise 0/b@first": "prefer=0/b@first:10@2e-3 prefer=0/b@first:10,rule=br@5e-3 "
    "prefer=0/b@first:5,vulnerability=0.01@1e-2 "
    "prefer=0/b@first:5,vulnerability=0.002,units=counterfactual@1e-2 "
    "prefer=0/b@first:5,vulnerability=0.002,units=counterfactual,rule=br@1e-2",
    "--maximise 0/p@first": "prefer=0/p@first:5@2e-3 prefer=0/p@first:10,rule=br@5e-3 "
    "prefer=0/p@first:5,updates=alternating@1e-3",
    "--maximise 0/J_:b --epsilon 1/100": "prefer=0/J_:b:10@2e-3 prefer=0/J_:b:10,rule=br@5e-3",
    # The only equilibrium strategy of player 1 again, for opposite preferences.
    "--maximise 1/Q_b:b": "prefer=1/b:10@2e-3 prefer=1/p:10@2e-3 prefer=1/p:10,rule=br@5e-3 "
    "prefer=(1/Q_b:p:10,1/J_p:b:10),base=dcfr@1e-3",
}
_STYLES_IN_LEDUC = {
    "--maximise 0/call@first": "prefer=0/call@first:10@5e-3 prefer=0/call@first:5,rule=br@1e-2 "
    "prefer=0/call@first:5,vulnerability=0.005,rule=br@1e-2 prefer=0/call@first:5,base=dcfr@1e-3 "
    "prefer=0/call@first:5,base=pcfr+@1e-3",
    "--maximise 0/Js_:r+0/Jh_:r+0/Ks_:r+0/Kh_:r": "prefer=(0/Js_:r:10,0/Jh_:r:10,0/Ks_:r:5,0/Kh_:r:5),base=cfr+@1e-3 "
    "prefer=(0/Js_:r:10,0/Jh_:r:10,0/Ks_:r:5,0/Kh_:r:5),rule=br@1e-2",
    "--maximise 1/call@first": "prefer=1/call@first:5,base=cfr+@1e-3 prefer=1/call@first:5,vulnerability=0.01@1e-2 "
    "prefer=1/call@first:5,rule=br@1e-2 prefer=1/call@first:5,vulnerability=0.001,units=counterfactual@1e-2",
}
_STYLES_IN_GOOFSPIEL = {
    "--maximise 0/4@first": "prefer=0/4@first:5@5e-3 prefer=0/4@first:5,rule=br@1e-2 "
    "prefer=0/4:5,vulnerability=0.005@1e-2 prefer=(0/4:5,1/1:5),rule=br@1e-2",
    "--maximise 1/1@first": "prefer=1/1@first:5@5e-3 prefer=1/1@first:5,rule=br@1e-2",
}

#: Local best responses, in poker.
_LOCAL = ("lbr --opponent random:seed=1", "lbr --opponent cfr:iterations=5 --player 1")


# References: by hand for Kuhn poker, whose equilibria are known (Kuhn 1950), and by an independent computation for
# Leduc poker, the transit game and battleship (a linear program over pairs of pure plans), to the given digits.

QUICK = Suite(
    name="quick",
    summary="every method on small games, in well under a minute",
    cases=(
        *ask("matching_pennies", "nash", "highs-simplex cvxpy dcfr@1e-4"),
        *ask("rps:rock=3", "nash", "highs-simplex highs-ipm cfr@1e-3 pcfr+@1e-5 smooth-cfr+@1e-9 mirror-prox@1e-9"),
        *ask("repeated_rps:rock=3", "nash", "highs-simplex dcfr@1e-4"),
        *ask(
            "kuhn",
            "nash",
            "highs-simplex highs-ipm cvxpy rational cfr@1e-3 cfr+@1e-4 dcfr@1e-4 pcfr+@1e-5 cfvfp@1e-2 "
            "hs-dcfr@1e-4 hs-pcfr+@1e-6 pdcfr+@1e-6 sapcfr+@1e-5 restarted-cfr@1e-9 "
            "es-mccfr@1e-2 os-mccfr@1e-2 es-pref-cfr@1e-2 cfr:updates=simultaneous@1e-3 "
            "cfr+:updates=simultaneous@1e-3 pref-cfr:updates=simultaneous@1e-3",
        ),
        *ask("kuhn", _TWO, "highs-simplex cvxpy rational highs-ipm ccfr@1e-4 es-ccfr@1e-2 os-ccfr@1e-2", known="-1/10"),
        *ask(
            "kuhn",
            "constrained --constrain '0/Q_:b>=0.4' --constrain 'plan(0/Q_pb:b)<=0.1'",
            "highs-simplex cvxpy rational ccfr@1e-4 es-ccfr:costs=sampled@1e-2",
            known="-7/90",
        ),
        *ask(
            "kuhn", "constrained --constrain '0/K_:b<=0.5' --constrain '1/K_p:b<=1/2'", "highs-simplex cvxpy rational"
        ),
        *ask(
            "kuhn",
            "constrained --constrain '0/J_:b>=0.5' --penalty 1/20",
            "highs-simplex cvxpy ccfr@1e-4 os-ccfr:costs=sampled@1e-2",
        ),
        # Convex, and therefore a cone program.
        *ask("kuhn", _TWO, "cvxpy ccfr@1e-4", near=0.5),
        *ask(
            "kuhn",
            "epsilon-nash",
            "lemke rational branch-and-bound cfr@1e-3 cfr+@1e-4 dcfr@1e-4 pcfr+@1e-4",
            alone=True,
        ),
        *ask("kuhn", "best-response --opponent uniform", "highs-simplex cvxpy rational", known="1/2"),
        *ask("kuhn", "rnr --opponent uniform --p 1/2", "highs-simplex cvxpy rational", known="5/36"),
        *ask("kuhn", "rnr --opponent uniform --p 1/4 --player 1", "highs-simplex cvxpy rational"),
        *ask("kuhn", "robust --opponent uniform --opponent random:seed=1 --p 1/2", "highs-simplex rational pcfr+"),
        *ask("kuhn", "data-biased --opponent uniform --p 1/2", "highs-simplex cvxpy"),
        *ask("kuhn", "epsilon-safe --opponent uniform --epsilon 1/18", "highs-simplex cvxpy rational", known="7/18"),
        *ask("kuhn", "best-nash --opponent uniform", "highs-simplex cvxpy rational", known="1/6"),
        *ask("kuhn", "uncertain --scenario kuhn", "highs-simplex cvxpy rational cfr+@1e-3", known="-1/18"),
        *ask("kuhn", "best-nash --opponent uniform --refine quasi-perfect", "rational", known="1/6"),
        *ask("kuhn", "nash --refine undominated", "rational", known="-1/18"),
        *ask("kuhn", "nash --refine quasi-perfect", "rational", known="-1/18"),
        *ask("kuhn", "nash --refine proper", "rational", known="-1/18"),
        *ask("kuhn", "qre --rationality 2", "path-following", alone=True),
        *ask("kuhn", "stackelberg --leader 1", "branch-and-bound", known="1/18"),
        *ask("kuhn", "stackelberg --leader 1 --ties weak", "branch-and-bound", known="1/18"),
        *ask("kuhn", "sefce --leader 0", "highs-simplex", known="-1/18"),
        *ask("kuhn", "efcce --maximise 0", "highs-simplex", known="-1/18"),
        *ask("kuhn", "nfcce --maximise 1", "highs-simplex", known="1/18"),
        *ask("kuhn", "nfce --maximise 0", "highs-simplex", known="-1/18"),
        *ask("kuhn", "simplify --player 1 --steps 3", "branch-and-bound rounding@1e-6", known="1/18"),
        # With lookahead to the end, the response is a best response or a restricted Nash response.
        *ask("kuhn", "cdbr --opponent uniform --lookahead 3", _IN_STEPS, known="1/2"),
        *ask("kuhn", "cdrnr --opponent uniform --p 1/2 --lookahead 3", _IN_STEPS, known="5/36"),
        *ask("kuhn", "cdrnr --opponent uniform --p 1/4 --lookahead 1 --player 1", _IN_STEPS),
        *_with_gadgets("kuhn", "cdrnr --opponent random:seed=1 --p 1/2 --lookahead 1"),
        *ask("kuhn", "cdbr-ne --opponent uniform --p 1/2 --lookahead 1", _IN_STEPS),
        *ask("kuhn", "ses --opponent uniform --p 1/2 --level 1", _IN_STEPS),
        *ask("kuhn", "lbr --opponent uniform", _IN_STEPS, known="1/2"),
        # Theory does not determine how far a preference goes; its loss bounds it.
        *ask(
            "kuhn",
            "style --maximise 0/J_:b",
            "highs-simplex cvxpy rational pref-cfr:prefer=0/b@first:5@1e-3 "
            "pref-cfr:prefer=(0/J_:b:10,0/K_:b:5),rule=br@5e-3",
            known="1/3",
        ),
        # Player 1 has only one equilibrium strategy, so every preference leads to it.
        *ask(
            "kuhn",
            "style --maximise 1/J_p:b",
            "highs-simplex rational pref-cfr:prefer=1/b:5,base=cfr+@5e-4 pref-cfr:prefer=1/b:5,rule=br@5e-3",
            known="1/3",
        ),
        *ask("kuhn", "style --maximise 0/J_:b --epsilon 1/20", "highs-simplex cvxpy rational", known="29/60"),
        # NashConv, three times the exploitability, is below 1e-3: theory does not guarantee this with three players,
        # but the certificate proves it.
        *ask("kuhn:players=3", "nash", "cfr@3e-4 cfr+@3e-4 dcfr@3e-4 pcfr+@3e-4", alone=True),
        *ask("kuhn:players=3", "efce", "trigger-regret@1e-2", alone=True),
        *ask("textbook:game=inspection", "epsilon-nash", "lemke rational branch-and-bound", alone=True),
        *ask(
            "leduc",
            "nash",
            "highs-simplex highs-ipm highs-ipm-crossover cvxpy exact cfr@1e-3 cfr+@1e-4 dcfr@1e-4 pcfr+@1e-4 "
            "hs-dcfr@1e-3 hs-pcfr+@1e-3 pdcfr+@1e-3 sapcfr+@1e-4 restarted-cfr:base=cfr+@1e-9 cfvfp@1e-2 "
            "pcfr+:updates=simultaneous@1e-3",
        ),
        *ask("leduc", "best-response --opponent uniform", "highs-simplex cvxpy", known="167/80"),
        *ask("leduc", "rnr --opponent uniform --p 1/2", "highs-simplex highs-ipm cvxpy", known="0.492451"),
        *ask("leduc", "epsilon-safe --opponent uniform --epsilon 1/10", "highs-simplex cvxpy"),
        *ask("leduc", "best-nash --opponent uniform", "highs-simplex cvxpy", known="0.622079816"),
        *ask("leduc", "best-nash --opponent uniform --player 1", "highs-simplex cvxpy", known="0.870854868"),
        *ask("leduc", "cdbr --opponent uniform --lookahead 1", _IN_STEPS, known="1.53056", off=2e-5),
        *ask("leduc", "cdbr --opponent uniform --lookahead 3", _IN_STEPS, known="2.00156", off=2e-5),
        *ask("leduc", "cdrnr --opponent uniform --p 1/2 --lookahead 1", _IN_STEPS),
        *ask("leduc", "cdrnr --opponent uniform --p 1/2 --lookahead 3", _IN_STEPS),
        *ask("leduc", "cdbr-ne --opponent uniform --p 1/2 --lookahead 1", _IN_STEPS),
        *ask("leduc", "lbr --opponent uniform", _IN_STEPS),
        *ask("leduc", "ses --opponent uniform --p 1/2", _IN_STEPS),
        *ask(
            "leduc",
            "style --maximise 0/Js_:r+0/Jh_:r+0/Qs_:r+0/Qh_:r+0/Ks_:r+0/Kh_:r --epsilon 1/100",
            "highs-simplex cvxpy",
            known="3.67656",
            off=3e-5,
        ),
        # All equilibrium strategies have the same frequency of first raises.
        *ask(
            "leduc",
            "style --maximise 0/raise@first",
            "highs-simplex pref-cfr:prefer=0/raise@first:5,base=cfr+@1e-3 "
            "pref-cfr:prefer=0/raise@first:5,vulnerability=0.01@1e-2",
            known="0.52204",
        ),
        *ask("leduc:merge_suits=true", "nash", "highs-simplex highs-pdlp@1e-4 cvxpy rational dcfr@1e-4 pcfr+@1e-5"),
        *_with_gadgets("leduc:merge_suits=true", "cdrnr --opponent uniform --p 1/2 --lookahead 2"),
        *ask("leduc:ranks=6,merge_suits=true", "nash", "highs-simplex highs-ipm cfr+@1e-4 dcfr@1e-4"),
        *ask("leduc:suits=4,merge_suits=true", "nash", "highs-simplex highs-ipm dcfr@1e-4 pcfr+@1e-4"),
        *ask("liars_dice", "nash", "highs-simplex highs-ipm cfr@1e-3 dcfr@1e-4 pcfr+@1e-5"),
        *ask("liars_dice", "cdrnr --opponent random:seed=1 --p 1/2 --lookahead 1", _IN_STEPS),
        *ask("liars_dice:wild=false", "nash", "highs-simplex cvxpy cfr+@1e-4"),
        *ask("goofspiel:cards=4", "nash", "highs-simplex cvxpy cfr+@1e-4 pcfr+@1e-4"),
        *ask("goofspiel:cards=4", "cdbr --opponent uniform --lookahead 1", _IN_STEPS),
        *ask("goofspiel:cards=4", "ses --opponent uniform --p 1/2 --level 2", _IN_STEPS),
        *ask("goofspiel:cards=5", "nash", "highs-simplex highs-ipm dcfr@1e-4 pcfr+@1e-4"),
        *ask("transit:width=2", "nash", "highs-simplex highs-ipm cvxpy cfr@1e-2 cfr+@1e-4"),
        *ask("transit:width=2", _RISK, "highs-simplex cvxpy rational ccfr@1e-4", known="0.020351"),
        *ask("transit:width=2,model=A", "nash", "highs-simplex dcfr@1e-4 pcfr+@1e-4"),
        *ask("transit:width=2,model=A", _RISK, "highs-simplex cvxpy ccfr@1e-4", known="-0.783558"),
        *ask("transit:width=3", "nash", "highs-simplex highs-ipm dcfr@1e-3 pcfr+@1e-3"),
        *ask("transit:width=3", _RISK, "highs-simplex highs-ipm ccfr@1e-3", known="0.278538"),
        *ask("depth_limited_figure_2", "nash", "highs-simplex cvxpy dcfr@1e-4"),
        *ask("coin", "nash", "highs-simplex cvxpy dcfr@1e-4"),
        *ask("depth_limited_figure_10", "nash", "highs-simplex cvxpy dcfr@1e-4"),
        *ask("gadget_trap_1", "nash", "highs-simplex cvxpy dcfr@1e-4"),
        *ask("gadget_trap_2", "nash", "highs-simplex cvxpy dcfr@1e-4"),
        # The mixture of trigger-regret minimisation is not optimal, so it is only required not to exceed the optimum.
        *ask("signalling", "efce --maximise 1", "highs-simplex trigger-regret@1e-2", known="13/2"),
        *ask(
            "battleship",
            "efce --maximise welfare",
            "highs-simplex highs-ipm@1e-6 trigger-regret@1e-2",
            known="-13/18",
        ),
    ),
)

FULL = Suite(
    name="full",
    summary="the quick suite, and games of up to 37,039 sequences per player, in minutes",
    cases=(
        *QUICK.cases,
        *_in_steps("kuhn", 1, *_LOCAL),
        *_styles("kuhn", _STYLES_IN_KUHN),
        *_in_steps("leduc", 3, *_LOCAL),
        *_styles("leduc", _STYLES_IN_LEDUC),
        *_in_steps("goofspiel:cards=4", 3),
        *_styles("goofspiel:cards=4", _STYLES_IN_GOOFSPIEL),
        *_in_steps("liars_dice", 3),
        *ask("kuhn:cards=13", "nash", "highs-simplex cfr@1e-4 cfr+@1e-5 dcfr@1e-5 pcfr+@1e-6"),
        *ask("goofspiel:order=random", "nash", "highs-ipm pcfr+@1e-4"),
        *ask("preflop:stack=3", "nash", "highs dcfr@1e-3 cfr+@1e-3"),
        *ask("liars_dice:sides=5", "nash", "highs-ipm dcfr@1e-4 pcfr+@1e-5"),
        *ask("leduc:ranks=6", "nash", "highs-ipm cfr+@1e-4 dcfr@1e-4"),
        *ask("leduc:suits=4", "nash", "highs-ipm dcfr@1e-4 pcfr+@1e-4"),
        *ask("leduc:players=3,ranks=4,merge_suits=true", "nash", "cfr+@1e-2 dcfr@1e-2", alone=True),
        *ask("liars_dice:sides=6", "nash", "highs-ipm dcfr@1e-4 pcfr+@1e-4"),
        *ask("goofspiel:cards=6", "nash", "highs-ipm dcfr@1e-3 pcfr+@1e-3"),
        *ask("transit:width=3,model=A", "nash", "highs-simplex cfr+@1e-3 dcfr@1e-3"),
        *ask("transit:width=3,model=A", _RISK, "highs-simplex highs-ipm ccfr@1e-3", known="-0.176445"),
        *ask("transit:width=4", "nash", "highs-ipm-crossover dcfr@1e-3 pcfr+@1e-4"),
        *ask("transit:width=4", _RISK, "highs-ipm ccfr@1e-3", known="0.35596", off=5e-7),
        *ask("transit:width=4,model=A", "nash", "highs-ipm-crossover dcfr@1e-3 pcfr+@1e-3"),
        *ask("transit:width=6", "nash", "highs-ipm dcfr@1e-3 pcfr+@1e-3"),
    ),
)


def _accept(suite: Any) -> tuple[str, Suite, str]:
    """Return the name of a suite, the suite, and its origin."""
    check_type(suite, "a suite", UnsupportedProblemError, Suite)
    return suite.name, suite, suite.name


#: The suites by name: those of the library, and those of entry points of the group ``treeplex.suites``.
SUITES: Registry[Suite] = Registry(
    Grammar("suite", UnsupportedProblemError, UnsupportedProblemError),
    "treeplex.suites",
    _accept,
    {"quick": "bank:QUICK", "full": "bank:FULL"},
    __package__,
)


def find_suite(name: str) -> Suite:
    """Return a suite by name.

    Raises
    ------
    UnsupportedProblemError
        If there is no such suite.

    Examples
    --------
    >>> from treeplex.validation import find_suite
    >>> find_suite("quick").name
    'quick'
    """
    return SUITES.find(name)
