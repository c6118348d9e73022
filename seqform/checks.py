"""Argument checks for the whole library, and hints for misspelt names.

A check takes a value, its name and the exception to raise, and returns the value converted to its type. Messages read
``NAME is VALUE, expected …``.
"""

import functools
import inspect
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

from .errors import TreeplexError, nearest, one_of, shown

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
P = ParamSpec("P")


def is_number(value: Any) -> bool:
    """Whether a value is a real number; booleans and decimals do not count."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is of an integer type; booleans do not count."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_number(
    value: Any, name: str, error: type[TreeplexError], interval: str = "(-inf, inf)", such_as: str = ""
) -> float:
    """Return a number as a float.

    Parameters
    ----------
    value : Any
    name : str
        Its name in the message.
    error : type of exception
        The exception to raise.
    interval : str
        Allowed interval, such as ``(0, 1]``. An end ``inf]`` allows infinity; by default the number must be finite.
    such_as : str
        An example for the message.

    Returns
    -------
    float

    Examples
    --------
    >>> from treeplex.seqform.checks import check_number
    >>> from treeplex.seqform.errors import InvalidOptionError
    >>> check_number(1, "exploration", InvalidOptionError, "(0, 1]")
    1.0
    >>> check_number(0, "exploration", InvalidOptionError, "(0, 1]")
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidOptionError: exploration is 0, expected a number in (0, 1]
    """
    allowed = _interval(interval)
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:  # an integer of hundreds of digits
        number = math.nan
    if number not in allowed:
        raise error(
            f"{name} is {shown(value)}, expected {allowed.described('number')}{such_as and f', such as {such_as}'}"
        )
    return number


def check_exact_number(
    value: Any, name: str, error: type[TreeplexError], interval: str = "(-inf, inf)"
) -> float | Fraction:
    """Return a number as a float, or as a fraction if it was given as a fraction, a decimal or a string.

    The parameters are those of :func:`check_number`.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_exact_number
    >>> from treeplex.seqform.errors import InvalidGameError
    >>> check_exact_number("1/3", "epsilon", InvalidGameError), check_exact_number(0.25, "epsilon", InvalidGameError)
    (Fraction(1, 3), 0.25)
    """
    from .number_texts import exact_float, read_exactly

    allowed = _interval(interval)
    try:
        number = read_exactly(value)
        sound = exact_float(number) in allowed and allowed.low <= number <= allowed.high
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        sound = False
    if not sound:
        raise error(f"{name} is {shown(value)}, expected {allowed.described('number')}")
    return number


def check_whole(value: Any, name: str, error: type[TreeplexError], interval: str = "[0, inf)") -> int:
    """Return a whole number as an ``int``.

    The parameters are those of :func:`check_number`.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_whole
    >>> from treeplex.seqform.errors import InvalidOptionError
    >>> check_whole(-1, "seed", InvalidOptionError)
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidOptionError: seed is -1, expected a whole number of at least 0
    """
    allowed = _interval(interval)
    if not is_whole(value) or int(value) not in allowed:
        raise error(f"{name} is {shown(value)}, expected {allowed.described('whole number')}")
    return int(value)


def check_choice(value: T, name: str, error: type[TreeplexError], choices: Collection[T]) -> T:
    """Return a value that must be one of several choices.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_choice
    >>> from treeplex.seqform.errors import InvalidOptionError
    >>> check_choice("up", "direction", InvalidOptionError, ("down", "right"))
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidOptionError: direction is 'up', expected one of down, right
    """
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise error(f"{name} is {shown(value)}, expected one of {', '.join(map(str, choices))}")
    return value


def check_type(value: Any, name: str, error: type[TreeplexError], kind: type[T], expected: str = "") -> T:
    """Return a value that must be an instance of a type.

    Parameters
    ----------
    value : Any
    name : str
        Its name in the message.
    error : type of exception
        The exception to raise.
    kind : type
    expected : str
        The type as the message describes it; by default its name.

    Examples
    --------
    >>> from treeplex import Strategy
    >>> from treeplex.seqform.checks import check_type
    >>> from treeplex.seqform.errors import InvalidStrategyError
    >>> check_type(3, "opponent", InvalidStrategyError, Strategy)
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidStrategyError: opponent is 3, expected a Strategy
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise error(f"{name} is {shown(value)}, expected {expected or f'{article} {kind.__name__}'}")
    return value


def check_player(player: Any, num_players: int, error: type[TreeplexError]) -> int:
    """Return a player's number as an ``int``; it must exist in the game.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_player
    >>> from treeplex.seqform.errors import InvalidStrategyError
    >>> check_player(2, 2, InvalidStrategyError)
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidStrategyError: player is 2, expected a number from 0 to 1
    """
    if not is_whole(player) or player not in range(num_players):
        raise error(f"player is {shown(player)}, expected a number from 0 to {num_players - 1}")
    return int(player)


def check_attribute(kind: Any, name: str, types: Any, expected: str, error: Any) -> None:
    """Raise an error if a required attribute of a class is missing, empty or of another type.

    Raises
    ------
    TreeplexError
    """
    value = getattr(kind, name, None)
    if value is None:
        raise error(f"{kind.__name__} has no attribute {name}; expected {expected}")
    if not isinstance(value, types) or not value:
        raise error(f"{kind.__name__}: {name} is {shown(value)}, expected {expected}")


@dataclass(frozen=True)
class _Interval:
    """An interval whose ends are each open or closed."""

    low: float
    high: float
    with_low: bool
    with_high: bool

    def __contains__(self, number: Any) -> bool:
        return (self.low < number or (self.with_low and number == self.low)) and (
            number < self.high or (self.with_high and number == self.high)
        )

    def described(self, noun: str) -> str:
        """Return a description of the allowed numbers, with the noun and its article."""
        if math.isinf(self.high):
            if math.isinf(self.low):
                return f"a {noun}" if self.with_high else f"a finite {noun}"
            return f"a {noun} {'of at least' if self.with_low else 'above'} {self.low:g}"
        if self.with_low and self.with_high:
            return f"a {noun} from {self.low:,.12g} to {self.high:,.12g}"
        return f"a {noun} in {'(['[self.with_low]}{self.low:g}, {self.high:g}{')]'[self.with_high]}"


@cache
def _interval(text: str) -> _Interval:
    low, high = text[1:-1].split(",")
    return _Interval(float(low), float(high), text[0] == "[", text[-1] == "]")


class Named(dict[K, V]):
    """A mapping whose ``KeyError`` lists the names that exist.

    Parameters
    ----------
    items : mapping
    what : str
        The subject and verb of the message, such as ``kuhn names no functional``.

    Examples
    --------
    >>> from treeplex.seqform.checks import Named
    >>> Named({"risk": 1}, "the game names no functional")["risc"]
    Traceback (most recent call last):
    KeyError: "the game names no functional 'risc' (did you mean risk?); expected risk"
    """

    #: Names that take arguments, and how to write them, such as ``visits(PLACE)``.
    forms: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init__(self, items: Mapping[K, V], what: str) -> None:
        super().__init__(items)
        self.what = what

    def __missing__(self, key: Any) -> V:
        names = [str(each) for each in self]
        there = f"expected {one_of(names)}" if names else "there is none"
        raise KeyError(f"{self.what} {shown(key, 60)}{nearest(str(key), names)}; {there}")


def hinting(table: str = "", /, **meant: str) -> Callable[[type[T]], type[T]]:
    """Decorate a class so that unknown attributes raise an error with a hint, for example for names of other libraries.

    Parameters
    ----------
    table : str
        ``module:name`` of a mapping of names to hints, imported when an unknown attribute is first used.
    **meant : str
        Hints by name; misspelt names need no entry.

    Examples
    --------
    >>> from treeplex.seqform.checks import hinting
    >>> @hinting(x="the attribute plan")
    ... class Answer:
    ...     plan = (1.0,)
    >>> Answer().x
    Traceback (most recent call last):
    AttributeError: Answer has no attribute 'x': use the attribute plan
    """

    def decorate(kind: type[T]) -> type[T]:
        def find(self: Any, name: str) -> Any:
            if hasattr(type(self), name):  # a property that raised an AttributeError
                return object.__getattribute__(self, name)
            hint = ""
            module, _, attribute = table.partition(":")
            known = getattr(import_module(module), attribute) | meant if table else meant
            if name in known:
                hint = f": use {known[name]}"
            elif not name.startswith("_"):
                hint = nearest(name, [each for each in dir(self) if not each.startswith("_")])
            # Given the object, Python would add its own hint.
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}", name=name, obj=None)

        kind.__getattr__ = find  # type: ignore[attr-defined]
        return kind

    return decorate


def explained(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that a call with wrong arguments raises an error that shows its signature.

    Examples
    --------
    >>> from treeplex.seqform.checks import explained
    >>> @explained
    ... def value(game, *, tol=None):
    ...     return 0.0
    >>> value("kuhn", tolerance=1)
    Traceback (most recent call last):
    TypeError: value: got an unexpected keyword argument 'tolerance' (did you mean tol?); expected value(game, *, tol)
    """

    @functools.wraps(function)
    def called(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # the call itself failed
                check_call(function, arguments, options)
            raise

    return called


class Explained:
    """A base class whose constructors raise an error that shows the signature when called with wrong arguments."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Make an instance; a call without arguments, as for a copy, is not checked."""
        if arguments or options:
            check_call(cls, arguments, options)
        return super().__new__(cls)


def check_call(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Raise an error if a function or a class does not take the given arguments.

    Raises
    ------
    TypeError
    """
    signature = _signature(function)
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        names = [
            each.replace(annotation=each.empty, default=each.empty)
            for each in signature.parameters.values()
            if each.name not in ("self", "cls")
        ]
        form = inspect.Signature(names)
        unknown = next((each for each in options if each not in signature.parameters), "")
        hint = nearest(unknown, form.parameters) if unknown else ""
        if unknown and not hint:  # one name may abbreviate the other
            near = [each for each in form.parameters if len(each) > 2 and unknown[: len(each)] == each[: len(unknown)]]
            hint = f" (did you mean {near[0]}?)" if near else ""
        said = f"got an unexpected keyword argument {unknown!r}" if unknown else str(error)
        named = function.__qualname__.removesuffix(".__init__")
        raise TypeError(f"{named}: {said}{hint}; expected {named}{form}") from None


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    if not inspect.isclass(function):
        return inspect.signature(function)
    whole = inspect.signature(function.__init__)  # the signature of the class would be that of __new__
    return whole.replace(parameters=[*whole.parameters.values()][1:])
