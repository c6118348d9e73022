"""The grammar ``name:key=value,key=value`` of games, methods, opponents, problems and value functions.

A value that contains commas, such as an opponent within an opponent, is enclosed in parentheses.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import TreeplexError, nearest, one_line, shown
from .parameters import Parameter


@dataclass(frozen=True)
class Grammar:
    """The parser of strings for one kind of object, and its errors.

    Parameters
    ----------
    noun : str
        The noun for an object, such as ``method``.
    unknown : type
        Raised for unknown names of objects and of their parameters.
    invalid : type
        Raised for strings that cannot be parsed and for values that a parameter does not accept.
    prefix : str
        A prefix of an object's name in messages; empty by default.

    Examples
    --------
    >>> from treeplex.models.games import Leduc
    >>> from treeplex.seqform.errors import InvalidGameError, UnknownGameError
    >>> from treeplex.seqform.grammar import Grammar
    >>> from treeplex.seqform.parameters import parameters_of
    >>> grammar = Grammar("game", UnknownGameError, InvalidGameError)
    >>> name, text = grammar.split("leduc:ranks=6,merge_suits=true")
    >>> grammar.read(name, text, parameters_of(Leduc))
    {'ranks': 6, 'merge_suits': True}
    >>> grammar.read(name, "rank=6", parameters_of(Leduc)[:2])
    Traceback (most recent call last):
    treeplex.seqform.errors.UnknownGameError: leduc: unknown parameter 'rank' (did you mean ranks?); expected one of
    players, ranks
    """

    noun: str
    unknown: type[TreeplexError]
    invalid: type[TreeplexError]
    prefix: str = ""

    def split(self, text: str) -> tuple[str, str | None]:
        """Return the name at the beginning of a string, and the part after its colon; ``None`` if it has no colon."""
        name, colon, rest = text.partition(":")
        return name.strip(), rest if colon else None

    def unknown_name(
        self,
        name: str,
        forms: Iterable[str],
        also: str = "",
        *,
        known: Iterable[str] | None = None,
        hinted: str | None = None,
    ) -> TreeplexError:
        """Return the error for an unknown name.

        Parameters
        ----------
        name : str
        forms : iterable of str
            The forms of the known names.
        also : str
            Other accepted strings.
        known : iterable of str, optional
            The names alone, if the forms contain more than names.
        hinted : str, optional
            The name for which to suggest the most similar known one, if it differs from `name`.
        """
        written = list(forms)
        names = written if known is None else list(known)
        hint = nearest(hinted or name, names) or nearest(name.replace("-", "_"), names)
        received = repr(name if len(name) <= 60 else name[:57] + "...")
        return self.unknown(f"unknown {self.noun} {received}{hint}; expected one of {', '.join(written)}{also}")

    def check_key(self, name: str, key: str, parameters: Sequence[Parameter]) -> Parameter:
        """Return the parameter with a key.

        Raises
        ------
        TreeplexError
            If there is no such parameter.
        """
        for each in parameters:
            if key in (each.name, each.about.alias):
                return each
        known = [each.name for each in parameters if not each.about.first]
        hint = nearest(key, known) or nearest(key.replace("-", "_"), known)
        expected = f"expected {'one of ' * (len(known) > 1)}{', '.join(known)}" if known else "it takes no parameters"
        raise self.unknown(f"{self.prefix}{name}: unknown parameter {shown(key, 60)}{hint}; {expected}")

    def texts(self, name: str, text: str | None, parameters: Sequence[Parameter]) -> dict[str, str]:
        """Parse the part after ``name:`` and return the values as strings, by the names of their parameters.

        Raises
        ------
        TreeplexError
            If it cannot be parsed, or a parameter is unknown or given twice.
        """
        given: dict[str, str] = {}
        first = next((each for each in parameters if each.about.first), None)
        start = len(name) + 1
        whole = first is not None and len(parameters) == 1  # nothing can follow, so commas belong to the value
        items = [] if text is None else [text] if whole else self.items(name, text, ",")
        for number, item in enumerate(items):
            key, equals, value = (part.strip() for part in item.partition("="))
            if not number and first is not None:
                given |= {first.name: item.strip()} if item.strip() else {}
            elif key and equals and value:
                known = self.check_key(name, key, parameters).name
                if known in given:
                    twice = f"as {one_line(given[known], 40)} and {one_line(value, 40)}; expected it once"
                    raise self.invalid(f"{self.prefix}{name}: {key} is given twice, {twice}")
                given[known] = value
            elif key and equals and any(key in (each.name, each.about.alias) for each in parameters):
                form = f"write {usage(name, parameters)}"
                raise self.invalid(f"{self.prefix}{name}: {key} has no value at character {start + 1}; {form}")
            else:
                received = shown(item.strip(), 60)
                form = f"write {usage(name, parameters)}" if parameters else "it takes no parameters"
                where = f"at character {start + 1}"
                raise self.invalid(f"{self.prefix}{name}: expected key=value {where}, got {received}; {form}")
            start += len(item) + 1
        return given

    def read(self, name: str, text: str | None, parameters: Sequence[Parameter]) -> dict[str, Any]:
        """Parse the part after ``name:`` and return the values by the names of their parameters.

        Raises
        ------
        TreeplexError
            If it cannot be parsed, a parameter is unknown, given twice or missing, or a value is not allowed.
        """
        given = self.texts(name, text, parameters)
        missing = next((each for each in parameters if each.required and each.name not in given), None)
        if missing is not None:
            form = usage(name, [each for each in parameters if each.required])
            raise self.invalid(f"{self.prefix}{name} needs {missing.name}; expected {form}")
        owner = f"{self.prefix}{name}"
        return {
            each.name: each.checked(
                owner, given[each.name] if each.about.many else without_parentheses(given[each.name]), self.invalid
            )
            for each in parameters
            if each.name in given
        }

    def items(self, name: str, text: str, separator: str) -> list[str]:
        """Split a string at a separator outside parentheses.

        Raises
        ------
        TreeplexError
            If a parenthesis is not closed, or was never opened.

        Examples
        --------
        >>> from treeplex.seqform.errors import InvalidStrategyError
        >>> from treeplex.seqform.grammar import Grammar
        >>> grammar = Grammar("opponent", InvalidStrategyError, InvalidStrategyError)
        >>> grammar.items("mixture", "0.5*nash+0.5*(mixture:1*uniform+0*nash)", "+")
        ['0.5*nash', '0.5*(mixture:1*uniform+0*nash)']
        """
        pieces, depth, start, opened = [], 0, 0, 0
        for place, character in enumerate(text):
            if character == "(" and not depth:
                opened = place
            depth += (character == "(") - (character == ")")
            if depth < 0:
                opened = place
                break
            if character == separator and not depth:
                pieces.append(text[start:place])
                start = place + 1
        if depth:
            where = f"at character {len(name) + 2 + opened}"
            wrong = f"{where} was never opened" if depth < 0 else f"{where} is not closed"
            raise self.invalid(f"{self.prefix}{name}: the parenthesis {wrong} in {shown(text, 60)}")
        return [*pieces, text[start:]]


def without_parentheses(text: str) -> str:
    """Return a string without the parentheses that enclose all of it, if there are any.

    Examples
    --------
    >>> from treeplex.seqform.grammar import without_parentheses
    >>> without_parentheses(" (cfr:iterations=10) "), without_parentheses("(a)*(b)")
    ('cfr:iterations=10', '(a)*(b)')
    """
    text = text.strip()
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth:
            return text[1:-1].strip() if text.startswith("(") and place == len(text) - 1 else text
    return text


def usage(name: str, parameters: Iterable[Parameter]) -> str:
    """Return how to write an object:  ``name:first,key=K[,key=K]``.

    Examples
    --------
    >>> from treeplex.models.games import Kuhn
    >>> from treeplex.seqform.grammar import usage
    >>> from treeplex.seqform.parameters import parameters_of
    >>> usage("kuhn", parameters_of(Kuhn))
    'kuhn[:players=N,cards=N]'
    """
    words = [(each.form if each.about.first else f"{each.name}={each.form}", each.required) for each in parameters]
    needed = ",".join(word for word, required in words if required)
    optional = ",".join(word for word, required in words if not required)
    if not needed:
        return f"{name}[:{optional}]" if optional else name
    return f"{name}:{needed}" + (f"[,{optional}]" if optional else "")
