"""Objects that other packages add: their entry points, and the requirements on their classes."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .checks import check_attribute
from .errors import TreeplexError, shown
from .parameters import parameters_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_PREFIX = "treeplex."


@functools.cache
def entry_points() -> "Mapping[str, tuple[EntryPoint, ...]]":
    """Return the entry points of all registries, by group; finding them takes a few milliseconds."""
    from importlib import metadata

    found = metadata.entry_points()
    return {group: tuple(found.select(group=group)) for group in sorted(found.groups) if group.startswith(_PREFIX)}


def extensions() -> dict[str, list[str]]:
    """Return the names that entry points add, by package and version, without loading the entry points."""
    found: dict[str, list[str]] = {}
    for point in (point for points in entry_points().values() for point in points):
        package = "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        found.setdefault(package, []).append(point.name)
    return found


def check_class(kind: Any, base: type, error: type[TreeplexError]) -> None:
    """Raise an error unless a class is a concrete dataclass derived from a base class.

    Raises
    ------
    TreeplexError
    """
    expected = f"a dataclass that is a subclass of {base.__name__}"
    if not isinstance(kind, type):
        raise error(f"expected {expected}, got {shown(kind)}")
    if not issubclass(kind, base):
        raise error(f"{kind.__name__} is not a {base.__name__}; expected {expected}")
    if "__dataclass_fields__" not in vars(kind):
        raise error(f"{kind.__name__} is not a dataclass; expected @dataclass(frozen=True) above it")
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    if missing:
        raise error(f"{kind.__name__} has no method {missing[0]}; expected one as described in {base.__name__}")


def accepting(
    base: type, error: type[TreeplexError], example: str
) -> Callable[[Any], tuple[str, type[Any], type[Any]]]:
    """Return a check of the classes that a registry accepts: dataclasses with a name and declared parameters.

    Parameters
    ----------
    base : type
    error : type of exception
    example : str
        A name for messages.
    """

    def accept(kind: Any) -> tuple[str, type[Any], type[Any]]:
        check_class(kind, base, error)
        check_attribute(kind, "name", str, f"its name, such as name = {example!r}", error)
        _ = parameters_of(kind)  # raises an error here if they are not declared correctly
        return kind.name, kind, kind

    return accept


def summary_of(kind: Any) -> str:
    """Return the first line of a docstring, without its full stop."""
    return (inspect.getdoc(kind) or "").partition("\n")[0].removesuffix(".")
