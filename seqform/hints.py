"""What is said to those who guessed a name: of an attribute, of a key, of an argument."""

import functools
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

from .errors import nearest, one_of, shown

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
P = ParamSpec("P")


class Named(dict[K, V]):
    """A mapping by names, which says of a name that is missing what there is.

    Parameters
    ----------
    items : mapping
    what : str
        What a name is of, such as ``kuhn names no functional``.

    Examples
    --------
    >>> from treeplex.seqform.hints import Named
    >>> Named({"risk": 1}, "the game names no functional")["risc"]
    Traceback (most recent call last):
    KeyError: "the game names no functional 'risc' (did you mean risk?); expected risk"
    """

    #: How names that take arguments are called, by name, such as ``visits(PLACE)``.
    forms: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init__(self, items: Mapping[K, V], what: str) -> None:
        super().__init__(items)
        self.what = what

    def __missing__(self, key: Any) -> V:
        names = [str(each) for each in self]
        there = f"expected {one_of(names)}" if names else "there is none"
        raise KeyError(f"{self.what} {shown(key, 60)}{nearest(str(key), names)}; {there}")


def hinting(table: str = "", /, **meant: str) -> Callable[[type[T]], type[T]]:
    """Let a class say, of attributes that it does not have, what is meant by the names that other libraries use.

    Parameters
    ----------
    table : str
        Where a mapping of such names stands, which is imported when somebody tries one: its module, a colon and its
        name.
    **meant : str
        What to write, by the name that somebody may try; names that are nearly right need no entry.

    Examples
    --------
    >>> from treeplex.seqform.hints import hinting
    >>> @hinting(x="the attribute plan")
    ... class Answer:
    ...     plan = (1.0,)
    >>> Answer().x
    Traceback (most recent call last):
    AttributeError: Answer has no attribute 'x': use the attribute plan
    """

    def decorate(kind: type[T]) -> type[T]:
        def find(self: Any, name: str) -> Any:
            if hasattr(type(self), name):  # a property that failed itself
                return object.__getattribute__(self, name)
            hint = ""
            module, _, attribute = table.partition(":")
            known = getattr(import_module(module), attribute) | meant if table else meant
            if name in known:
                hint = f": use {known[name]}"
            elif not name.startswith("_"):
                hint = nearest(name, [each for each in dir(self) if not each.startswith("_")])
            # Python would add a hint of its own if it knew the object.
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}", name=name, obj=None)

        kind.__getattr__ = find  # type: ignore[attr-defined]
        return kind

    return decorate


def explained(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that is called with arguments that it does not take say which those are that it does.

    Examples
    --------
    >>> from treeplex.seqform.hints import explained
    >>> @explained
    ... def value(game, *, tol=None):
    ...     return 0.0
    >>> value("kuhn", tolerance=1)
    Traceback (most recent call last):
    TypeError: value: got an unexpected keyword argument 'tolerance'; expected value(game, *, tol)
    """

    @functools.wraps(function)
    def called(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # it was never entered
                check_call(function, arguments, options)
            raise

    return called


class Explained:
    """A class that, made with arguments that it does not take, says which those are that it does."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Make an instance; without arguments, as for a copy, nothing is checked."""
        if arguments or options:
            check_call(cls, arguments, options)
        return super().__new__(cls)


def check_call(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Refuse arguments that a function, or a class, does not take.

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
        hint = nearest(unknown, signature.parameters) if unknown else ""
        named = function.__qualname__.removesuffix(".__init__")
        raise TypeError(f"{named}: {error}{hint}; expected {named}{form}") from None


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    if not inspect.isclass(function):
        return inspect.signature(function)
    whole = inspect.signature(function.__init__)  # of the class it would be that of __new__
    return whole.replace(parameters=[*whole.parameters.values()][1:])
