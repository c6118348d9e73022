"""Questions: problems created from strings, which are the values of command-line options; suites use them too."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..models.constraints import Constraint, parse_constraint, parse_term
from ..models.declarations import PLAYER
from ..models.problems import PROBLEMS, ConstrainedNash, EpsilonNash, Nash, find_problem
from ..models.saddle import check_two_players
from ..seqform.errors import UnsupportedProblemError, one_line
from ..seqform.functional import Functional
from ..seqform.parameters import Parameter, parameters_of
from ..seqform.strategy import Strategy

if TYPE_CHECKING:
    from ..seqform.game import Game

#: The value of an option: one string, or several if the option may be repeated.
Words = Mapping[str, str | tuple[str, ...]]


#: Other problems that meet the constraints of the game.
_CONSTRAINED = ("caught-once", "stackelberg")
#: The name of the opponent who may use any strategy that meets the game's own constraints.
LOCKS = "locks"


def _opponents(text: str, game: "Game", player: int) -> Sequence[Any]:
    from ..solvers.opponents.strategies import opponent_strategy

    if text == LOCKS:
        kept = [one for one in game.constraints if one.player != player]
        if not kept:
            has = f"only locks of player {player}" if game.constraints else "no locks; --lock gives a spot some"
            raise UnsupportedProblemError(f"--opponent {LOCKS}: {game.spec} has {has}")
        if len(kept) < len(game.constraints):
            raise UnsupportedProblemError(
                f"--opponent {LOCKS}: {game.spec} has locks of player {player} too, but responders cannot have locks; "
                "expected locks of one player, or --problem nash"
            )
        return [kept]
    return [opponent_strategy(text, game, 1 - player)]


#: Parsers of the fields that depend on a game, by the field's kind.
_READERS: Mapping[Any, Callable[[str, "Game", int], Sequence[Any]]] = {
    Constraint: lambda text, game, player: parse_constraint(text, game),
    Functional: lambda text, game, player: [parse_term(text, game, player=player)],
    Strategy: _opponents,
}


def question_parameters(problem: str) -> dict[str, Parameter]:
    """Return, by option name, the inputs of a problem other than the game, as declared by the fields of its class.

    Raises
    ------
    UnsupportedProblemError
        If there is no such problem.

    Examples
    --------
    >>> from treeplex.validation.questions import question_parameters
    >>> {name: each.required for name, each in question_parameters("cdrnr").items()}
    {'opponent': True, 'lookahead': False, 'level': False, 'along': False, 'p': True, 'gadget': False, 'player': False}
    """
    declared = {each.word: each for each in parameters_of(find_problem(problem)) if each.about.option}
    if any(each.kind is Strategy for each in declared.values()):
        # The player follows from the model of the opponent.
        declared.setdefault("player", Parameter("player", int, 0, PLAYER))
    return declared


class Question:
    """A problem and, as strings, its inputs other than the game, checked as far as possible before a game is loaded.

    Parameters
    ----------
    problem : str
        ``name`` or ``name:key=value,key=value``, such as ``rnr:opponent=uniform,p=1/2``.
    **words : str, int, sequence of str or None
        The values of the options of ``treeplex solve``, by name; a sequence if an option may be repeated. ``None``
        means not given.

    Attributes
    ----------
    problem : str
    words : mapping of str to str or tuple of str
        The given inputs, in the order of the problem's parameters.

    Raises
    ------
    UnsupportedProblemError
        If there is no such problem, it does not accept an option or lacks a required one, or a value is invalid or
        contradicts the one in `problem`.

    Examples
    --------
    >>> from treeplex import load_game, solve
    >>> from treeplex.validation.questions import Question
    >>> question = Question("rnr", opponent="uniform", p="1/2")
    >>> question.text
    'rnr --opponent uniform --p 1/2'
    >>> round(solve(question.pose(load_game("kuhn"))).objective, 6)
    0.138889
    >>> Question("rnr:opponent=uniform,p=1/2").text
    'rnr --opponent uniform --p 1/2'
    """

    def __init__(self, problem: str, **words: Any) -> None:
        self.problem, text = PROBLEMS.grammar.split(problem)
        self._kind, self._parameters = find_problem(self.problem), question_parameters(self.problem)
        written = PROBLEMS.grammar.texts(self.problem, text, list(self._parameters.values()))
        said: dict[str, Any] = {
            name: each.convert(written[each.name]) if each.about.many else written[each.name]
            for name, each in self._parameters.items()
            if each.name in written
        }
        given = {name: word for name, word in words.items() if word is not None and word != () and word != []}
        self._check_agree(said, given)
        said |= given
        self._check_known(said)
        self.words: dict[str, str | tuple[str, ...]] = {
            name: self._texts(each, said[name]) for name, each in self._parameters.items() if name in said
        }
        self._values: dict[str, Any] = {
            name: each.from_option(f"--{name}", str(self.words[name]), UnsupportedProblemError)
            for name, each in self._parameters.items()
            if name in self.words and not each.is_read_elsewhere
        }
        self._check_complete()

    def _check_agree(self, said: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        """Raise an error for options that contradict the parameters in the problem's name."""
        for name in said.keys() & given.keys():
            first, second = (self._texts(self._parameters[name], each[name]) for each in (said, given))
            if first != second:
                one, other = (each if isinstance(each, str) else ", ".join(each) for each in (first, second))
                raise UnsupportedProblemError(
                    f"{self.problem}: {name} is given twice, as {name}={one_line(one, 40)} in the name and as "
                    f"--{name} {one_line(other, 40)}; expected it once"
                )

    def _check_known(self, said: Mapping[str, Any]) -> None:
        """Raise an error for options that the problem does not accept."""
        for name in said:
            if name not in self._parameters:
                takers = ", ".join(other for other in PROBLEMS if name in question_parameters(other))
                raise UnsupportedProblemError(
                    f"--{name} is not for {self.problem}; leave it out, or choose a --problem that takes it: {takers}"
                )

    def _check_complete(self) -> None:
        """Raise an error if required options are missing."""
        for name, each in self._parameters.items():
            if each.kind is not Constraint:  # the game may have constraints of its own
                self._check_said(name)
        rivals = [name for name, each in self._parameters.items() if each.name in self._kind.one_of]
        given = [f"--{name}" for name in rivals if name in self.words]
        if rivals and len(given) != 1:
            listed, received = " and ".join(f"--{name}" for name in rivals), " and ".join(given) or "none"
            raise UnsupportedProblemError(f"{self.problem} needs one of {listed}, got {received}")
        some = [name for name, each in self._parameters.items() if each.name in self._kind.some_of]
        if some and not any(name in self.words for name in some):
            listed = ", ".join(f"--{name}" for name in some)
            raise UnsupportedProblemError(f"{self.problem} needs at least one of {listed}")

    def _check_said(self, name: str) -> None:
        """Raise an error if a required option is missing."""
        parameter = self._parameters[name]
        if parameter.required and name not in self.words:
            raise UnsupportedProblemError(f"{self.problem} needs --{name}; expected {parameter.expected}")

    def _texts(self, parameter: Parameter, said: Any) -> str | tuple[str, ...]:
        """Return the given string, or several strings if the option may be repeated."""
        texts = (str(said),) if isinstance(said, int | str) else tuple(map(str, said))
        if not parameter.about.many and len(texts) > 1:
            received = one_line(", ".join(texts))
            raise UnsupportedProblemError(f"{self.problem} takes --{parameter.word} only once, got {received}")
        return texts if parameter.about.many else texts[0]

    def __repr__(self) -> str:
        return f"Question({self.text!r})"

    @property
    def text(self) -> str:
        """The part of the command line after ``--problem``."""
        return self.text_without()

    def text_without(self, *left_out: str) -> str:
        """Return the question without some of the options."""
        parts = [self.problem]
        for name, word in self.words.items():
            for text in () if name in left_out else (word,) if isinstance(word, str) else word:
                parts += [f"--{name}", shlex.quote(text)]
        return " ".join(parts)

    def pose(self, game: "Game") -> Any:
        """Return the problem on a game.

        Raises
        ------
        TreeplexError
            If the game lacks a named constraint, functional or opponent, or is not suitable for the problem.
        """
        locked = {one.player for one in game.constraints}
        # The responder to the locks of one player is the other player.
        player = self._values.get("player", 1 - min(locked) if len(locked) == 1 else 0)
        values, unheeded = dict(self._values), bool(locked)
        for name, each in self._parameters.items():
            if locked and each.kind is Constraint:
                values[name] = []
            else:
                self._check_said(name)
        for name, word in self.words.items():
            each = self._parameters[name]
            if each.kind is Strategy:
                check_two_players(self.problem, game)  # before parsing the opponent, which may require a solve
            if each.is_read_elsewhere:
                texts = [word] if isinstance(word, str) else word
                unheeded &= LOCKS not in texts
                read = _READERS.get(each.kind)
                found = [one for text in texts for one in ([text] if read is None else read(text, game, player))]
                values[name] = found if each.about.many else found[0]
        fields = {each.name for each in parameters_of(self._kind)}
        named = {self._parameters[name].name: value for name, value in values.items()}
        posed = self._kind(game, **{name: value for name, value in named.items() if name in fields})
        if not unheeded:
            return posed
        refined = getattr(posed, "refine", None) is not None
        if type(posed) is Nash and not refined:
            return ConstrainedNash(game, game.constraints)
        if isinstance(posed, ConstrainedNash | EpsilonNash) or self.problem in _CONSTRAINED:
            return replace(posed, constraints=[*game.constraints, *posed.constraints])
        raise UnsupportedProblemError(
            f"{game.spec} has constraints, which {self.problem}{' --refine' * refined} does not take; expected "
            f"--problem nash or constrained, or --opponent {LOCKS} for a response to them"
        )
