"""Poses problems from words: those of the command line's options, which suites use too."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..models.constraints import parse_constraint, parse_term
from ..models.declarations import WORDS
from ..models.problems import PROBLEMS, find_problem
from ..seqform.errors import UnsupportedProblemError
from ..seqform.grammar import Grammar
from ..seqform.parameters import Parameter, parameters_of

if TYPE_CHECKING:
    from ..seqform.game import Game

#: What is said of a question: one text, or several where an option may be repeated.
Words = Mapping[str, str | tuple[str, ...]]

_GRAMMAR = Grammar("problem", UnsupportedProblemError, UnsupportedProblemError)
_PREFERENCES = ("maximise", "minimise")
#: Whose strategy is sought follows from the model of the opponent, where a problem has one.
_PLAYER = Parameter("player", object, 0, WORDS["player"])
#: What words that a problem needs are like, as is said where they are missing.
_EXAMPLES = {
    "constrain": ' "TERM <= NUMBER", such as "risk <= 1/10" or "0/K_:b >= 1/2"',
    "opponent": ": uniform, random:seed=S, nash, cfr:iterations=N, another text of an opponent or a strategy file",
}


def question_parameters(problem: str) -> dict[str, Parameter]:
    """Return what a problem takes beside the game by the names of words, as the fields of its class declare.

    Raises
    ------
    UnsupportedProblemError
        If there is no such problem.

    Examples
    --------
    >>> from treeplex.validation.questions import question_parameters
    >>> {name: each.required for name, each in question_parameters("cdrnr").items()}
    {'opponent': True, 'p': True, 'lookahead': True, 'gadget': False, 'player': False}
    """
    declared = {
        each.about.alias or each.name: each for each in parameters_of(find_problem(problem)) if each.about.option
    }
    if "opponent" in declared:
        declared["player"] = _PLAYER
    return {name: declared[name] for name in sorted(declared, key=list(WORDS).index)}


class Question:
    """A problem and what it needs beside the game, in words; checked as far as can be before any game is loaded.

    Parameters
    ----------
    problem : str
        ``name`` or ``name:key=value,key=value``, such as ``rnr:opponent=uniform,p=1/2``.
    **words : str, int, sequence of str or None
        What the options of ``treeplex solve`` take, by their names: ``player``, ``opponent``, ``p``, ``epsilon``,
        ``constrain`` (a sequence), ``penalty``, ``maximise``, ``minimise``, ``lookahead``, ``gadget``, ``level``.
        Nothing is said by ``None``. They take precedence over those in `problem`.

    Attributes
    ----------
    problem : str
    words : mapping of str to str or tuple of str
        What is said, in the order in which the problem takes it.

    Raises
    ------
    UnsupportedProblemError
        If there is no such problem, it does not take one of the words or needs one that is missing, or a value is not
        what it takes.

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
        self.problem, text = _GRAMMAR.split(problem)
        parameters = question_parameters(self.problem)
        written = _GRAMMAR.texts(self.problem, text, list(parameters.values()))
        said: dict[str, Any] = {name: written[each.name] for name, each in parameters.items() if each.name in written}
        if "constrain" in said:
            said["constrain"] = parameters["constrain"].convert(said["constrain"])
        said |= {name: word for name, word in words.items() if word is not None and word != () and word != []}
        self._check_known(said, parameters)
        for name, each in parameters.items():
            if each.required and name not in said:
                example = _EXAMPLES.get(name, f", {each.expected}")
                raise UnsupportedProblemError(f"{self.problem} needs --{name}{example}")
        preferences = [name for name in _PREFERENCES if name in said]
        if "maximise" in parameters and len(preferences) != 1:
            received = "both" if preferences else "none"
            raise UnsupportedProblemError(f"{self.problem} needs one of --maximise and --minimise, got {received}")
        self.words: dict[str, str | tuple[str, ...]] = {name: _texts(said[name]) for name in parameters if name in said}
        self._values: dict[str, Any] = {
            name: parameters[name].from_option(f"--{name}", str(word), UnsupportedProblemError)
            for name, word in self.words.items()
            if parameters[name].kind is not object
        }

    def _check_known(self, said: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> None:
        """Refuse words that the problem does not take."""
        if "player" in said and "player" not in parameters:
            raise UnsupportedProblemError(
                f"--player {said['player']}: {self.problem} solves for all players at once, so leave it out"
            )
        if str(said.get("player", 0)) not in ("0", "1"):
            raise UnsupportedProblemError(f"--player {said['player']}: expected 0 or 1")
        for name in said:
            if name not in parameters:
                takers = ", ".join(other for other in PROBLEMS if name in question_parameters(other))
                raise UnsupportedProblemError(
                    f"--{name} is not for {self.problem}; leave it out, or give a --problem that takes it: {takers}"
                )

    def __repr__(self) -> str:
        return f"Question({self.text!r})"

    @property
    def text(self) -> str:
        """What follows ``--problem`` on the command line."""
        return self.text_without()

    def text_without(self, *left_out: str) -> str:
        """Return the text without some of the words."""
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
            If the game has no such constraint, functional or opponent, or the problem is not for it.
        """
        make = find_problem(self.problem)
        named: dict[str, Any] = dict(self._values)
        if "constrain" in self.words:
            # The penalty is the price of a unit: a float, as multipliers are.
            named |= {name: float(number) for name, number in named.items()}
            texts = self.words["constrain"]
            return make(game, [one for text in texts for one in parse_constraint(text, game)], **named)
        player = int(str(self.words["player"])) if "player" in self.words else None
        for preference in _PREFERENCES:
            if preference in self.words:
                named[preference] = parse_term(str(self.words[preference]), game, player=player or 0)
        if "opponent" in self.words:
            from ..models.saddle import check_two_players
            from ..solvers.opponents.strategies import opponent_strategy

            check_two_players(self.problem, game)  # before the opponent, who may have to be solved for
            return make(game, opponent_strategy(str(self.words["opponent"]), game, 1 - (player or 0)), **named)
        return make(game, **named) if player is None else make(game, player=player, **named)


def _texts(word: Any) -> str | tuple[str, ...]:
    return str(word) if isinstance(word, int | str) else tuple(map(str, word))
