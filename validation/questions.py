"""Poses problems from words: those of the command line's options, which suites use too."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..models.constraints import parse_constraint, parse_term
from ..models.constraints.tokens import parse_number
from ..models.problems import find_problem
from ..models.problems.depth_limited import find_gadget
from ..seqform.errors import UnsupportedProblemError, shown

if TYPE_CHECKING:
    from ..seqform.game import Game

#: What is said of a question: one text, or several where an option may be repeated.
Words = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class _Needs:
    """What a problem takes beside the game, by the names of options."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)


_NEEDS = {
    "nash": _Needs(),
    "constrained": _Needs(("constrain",), ("penalty",)),
    "best-response": _Needs(("opponent",), ("player",)),
    "rnr": _Needs(("opponent", "p"), ("player",)),
    "data-biased": _Needs(("opponent", "p"), ("player",)),
    "epsilon-safe": _Needs(("opponent", "epsilon"), ("player",)),
    "best-nash": _Needs(("opponent",), ("player",)),
    "cdbr": _Needs(("opponent", "lookahead"), ("player",)),
    "cdrnr": _Needs(("opponent", "p", "lookahead"), ("gadget", "player")),
    "cdbr-ne": _Needs(("opponent", "p", "lookahead"), ("player",)),
    "ses": _Needs(("opponent", "p"), ("level", "player")),
    "lbr": _Needs(("opponent",), ("player",)),
    "style": _Needs((), ("maximise", "minimise", "epsilon", "player"), (("epsilon", "0"),)),
}
#: Options that are numbers, and the most that they may be; the least is 0.
_NUMBERS: Mapping[str, int | None] = {"p": 1, "epsilon": None, "penalty": None}
#: Options that are whole numbers, and the least that they may be.
_WHOLE: Mapping[str, int] = {"lookahead": 1, "level": 0}
#: What options that a problem needs take, as is said where they are missing.
_EXPECTED = {
    "constrain": ' "TERM <= NUMBER", such as "risk <= 1/10" or "0/K_:b >= 1/2"',
    "opponent": ": uniform, random:seed=S, nash, cfr:iterations=N, another text of an opponent or a strategy file",
    "p": ", a number from 0 to 1",
    "epsilon": ", a number of at least 0, in payoff units",
    "lookahead": ", a whole number of levels from 1 on",
}
_PREFERENCES = ("maximise", "minimise")


class Question:
    """A problem and what it needs beside the game, in words; checked as far as can be before any game is loaded.

    Parameters
    ----------
    problem : str
    **words : str, int, sequence of str or None
        What the options of ``treeplex solve`` take, by their names: ``player``, ``opponent``, ``p``, ``epsilon``,
        ``constrain`` (a sequence), ``penalty``, ``maximise``, ``minimise``, ``lookahead``, ``gadget``, ``level``.
        Nothing is said by ``None``.

    Attributes
    ----------
    problem : str
    words : mapping of str to str or tuple of str
        What is said, in the order in which the problem takes it.

    Raises
    ------
    UnsupportedProblemError
        If there is no such problem, it does not take one of the words or needs one that is not said, or a number is
        none.

    Examples
    --------
    >>> from treeplex import load_game, solve
    >>> from treeplex.validation.questions import Question
    >>> question = Question("rnr", opponent="uniform", p="1/2")
    >>> question.text
    'rnr --opponent uniform --p 1/2'
    >>> round(solve(question.pose(load_game("kuhn"))).objective, 6)
    0.138889
    """

    def __init__(self, problem: str, **words: Any) -> None:
        find_problem(problem)
        if problem not in _NEEDS:
            raise UnsupportedProblemError(f"{problem} cannot be posed in words: pose it in Python")
        needs = _NEEDS[problem]
        said = {name: word for name, word in words.items() if word is not None and word != () and word != []}
        if "player" in said and "player" not in needs.known:
            raise UnsupportedProblemError(
                f"--player {said['player']}: {problem} solves for all players at once, so leave it out"
            )
        if str(said.get("player", 0)) not in ("0", "1"):
            raise UnsupportedProblemError(f"--player {shown(said['player'], 60)}: expected 0 or 1")
        for name in said:
            if name not in needs.known:
                takers = ", ".join(other for other, needed in _NEEDS.items() if name in needed.known)
                raise UnsupportedProblemError(
                    f"--{name} is not for {problem}; leave it out, or give a --problem that takes it: {takers}"
                )
        for name in needs.required:
            if name not in said:
                raise UnsupportedProblemError(f"{problem} needs --{name}{_EXPECTED[name]}")
        preferences = [name for name in _PREFERENCES if name in said]
        if needs.known.count("maximise") and len(preferences) != 1:
            received = "both" if preferences else "none"
            raise UnsupportedProblemError(f"{problem} needs one of --maximise and --minimise, received {received}")
        self.problem = problem
        self.words: dict[str, str | tuple[str, ...]] = {
            name: said[name] if isinstance(said[name], str) else _texts(said[name])
            for name in needs.known
            if name in said
        }
        numbers = dict(needs.defaults) | {name: str(word) for name, word in self.words.items() if name in _NUMBERS}
        self._numbers: dict[str, Any] = {name: _number(name, text) for name, text in numbers.items()}
        self._numbers |= {name: _whole(name, str(said[name])) for name in _WHOLE if name in said}
        if "gadget" in self.words:
            self._numbers["gadget"] = find_gadget(problem, str(self.words["gadget"])).name

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
        named: dict[str, Any] = dict(self._numbers)
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
            from ..solvers.opponents import opponent_strategy

            check_two_players(self.problem, game)  # before the opponent, who may have to be solved for
            return make(game, opponent_strategy(str(self.words["opponent"]), game, 1 - (player or 0)), **named)
        return make(game, **named) if player is None else make(game, player=player, **named)


def _texts(word: Any) -> str | tuple[str, ...]:
    return str(word) if isinstance(word, int) else tuple(map(str, word))


def _whole(name: str, text: str) -> int:
    least = _WHOLE[name]
    if not text.strip().isdecimal() or len(text) > 9 or int(text) < least:
        raise UnsupportedProblemError(f"--{name} is {shown(text, 60)}, expected a whole number from {least} on")
    return int(text)


def _number(name: str, text: str) -> Fraction:
    most = _NUMBERS[name]
    try:
        number = parse_number(text.strip())
    except ValueError as error:
        reason = "" if "no number" in str(error) else f" ({error})"
        raise UnsupportedProblemError(
            f"--{name} {shown(text, 60)}: expected a number, such as 0.25 or 1/4{reason}"
        ) from None
    if number < 0 or (most is not None and number > most):
        expected = "a number of at least 0" if most is None else f"a number from 0 to {most}"
        raise UnsupportedProblemError(f"--{name} is {text.strip()}, expected {expected}")
    return number
