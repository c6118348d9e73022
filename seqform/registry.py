"""Registries: the library's own objects and those of other packages, by name.

The library's objects are listed in a table, ``"name": "module:attribute"``; other packages list theirs as entry points.
A module is imported when one of its names is first used. Other packages can also add objects by a call, such as
:func:`treeplex.register_game`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import TreeplexError, one_line, shown
from .grammar import Grammar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
#: The pattern of a name; other characters have a meaning in the grammar.
_NAME = re.compile(r"[A-Za-z0-9][\w+.-]*", re.ASCII)


class ExtensionWarning(UserWarning):
    """Warns that an object of another package was skipped because it is broken or its name is taken."""


class Registry(Mapping[str, T]):
    """Objects of one kind by name: the library's own, then others in the order of their registration.

    Looking up a name imports only the module that defines the object. Listing the names imports the modules of all
    entry points. An entry point that fails to load, or whose name is taken, is skipped with one
    :class:`ExtensionWarning` that names its package.

    Parameters
    ----------
    grammar : Grammar
        The noun for the objects, and the errors for unknown and invalid ones.
    group : str
        The group of entry points, such as ``treeplex.games``.
    accept : callable
        Checks an object to be registered; returns its name, the object to keep, and the class that defines it (or the
        name again if there is no class).
    own : mapping of str to str, optional
        The library's own objects by name: ``module:attribute``, with the module relative to `within`.
    within : str, optional
        The package of these modules, ``__package__``.

    """

    def __init__(
        self,
        grammar: Grammar,
        group: str,
        accept: Callable[[Any], tuple[Any, T, Any]],
        own: Mapping[str, str] | None = None,
        within: str = "",
    ) -> None:
        self.grammar = grammar
        self.group = group
        self._accept = accept
        self._own = {name: f"{within}.{place}" for name, place in (own or {}).items()}
        self._unloaded = dict(self._own)
        self._things: dict[str, T] = {}
        self._sources: dict[str, str] = {}
        self._packages: dict[str, str] = dict.fromkeys(self._own, within.partition(".")[0])
        self._loaded: set[EntryPoint] = set()

    def register(self, thing: Any, package: str = "", expected: str | None = None) -> None:
        """Add an object; a new definition of the same class, as in a notebook, replaces the old one.

        Parameters
        ----------
        thing : object
        package : str
            The package that adds it; by default the package that defines it.
        expected : str, optional
            The name that it must have.

        Raises
        ------
        TreeplexError
            If `accept` rejects it, or its name belongs to another object.
        """
        name, thing, origin = self._accept(thing)
        noun, refused = self.grammar.noun, self.grammar.invalid
        source = f"{origin.__module__}.{origin.__qualname__}" if isinstance(origin, type) else f"{package}.{origin}"
        package = package or source.partition(".")[0]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise refused(f"{source}: the name is {shown(name, 60)}, expected letters, digits, '-', '_', '+' and '.'")
        if expected not in (None, name):
            raise refused(f"{source}: the name is {name!r}, expected the name of its entry point, {expected!r}")
        if name in self._unloaded:
            _ = self[name]  # the library's own object has the name
        if self._sources.get(name, source) != source:
            known = f"one of {self._packages[name]} ({self._sources[name]})"
            raise refused(f"two {noun}s are named {name!r}: {known} and one of {package} ({source}); rename one")
        self._things[name], self._sources[name], self._packages[name] = thing, source, package

    def remove(self, name: str) -> None:
        """Remove an object."""
        for table in (self._own, self._unloaded, self._things, self._sources, self._packages):
            table.pop(name, None)

    def package(self, name: str) -> str:
        """Return the name of the package that registered an object."""
        return self._packages[name]

    def find(self, name: str, **said: Any) -> T:
        """Return an object by its name; `said` is passed to :meth:`Grammar.unknown_name`.

        Raises
        ------
        TreeplexError
            If there is no object of that name.
        """
        if name in self:
            return self[name]
        raise self.grammar.unknown_name(str(name), **{"forms": self, **said})

    def __getitem__(self, name: str) -> T:
        if name not in self._things and name in self._unloaded:
            place = self._unloaded.pop(name)
            module, _, attribute = place.partition(":")
            try:
                self.register(getattr(import_module(module), attribute), self._packages[name], expected=name)
            except BaseException:
                self._unloaded[name] = place
                raise
        elif name not in self._things:
            self._load(name)
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name not in self._own and name not in self._things:
            self._load(name)
        return name in self._own or name in self._things

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(dict.fromkeys([*self._own, *self._things]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, name: str | None = None) -> None:
        """Register the objects of the entry points that have a given name, or by default of all entry points."""
        from .extensions import entry_points

        for point in entry_points().get(self.group, ()):
            if point in self._loaded or name not in (None, point.name):
                continue
            self._loaded.add(point)
            package = "unknown" if point.dist is None else point.dist.name
            try:
                self.register(point.load(), package, expected=point.name)
            except Exception as error:  # another package may raise anything
                reason = str(error) if isinstance(error, TreeplexError) else f"{type(error).__name__}: {error}"
                left_out = f"the {self.grammar.noun} {point.name!r} of the package {package} is skipped"
                from .standard_error import warn

                warn(f"{left_out}: {one_line(reason, 400)}", ExtensionWarning, stacklevel=2)
