"""Displays in notebooks, and pictures. HTML and matplotlib are loaded on first use."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .interchange.page import Content


def _found(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


class Displayed:
    """An object that notebooks show as blocks of a page instead of as text.

    Attributes
    ----------
    shown_by : str
        The function that makes the blocks of an object, as ``module:name``. Notebooks show every result, so there are
        few blocks.
    """

    shown_by: ClassVar[str]

    def _html_blocks(self) -> "Iterable[Content]":
        made: Iterable[Content] = _found(self.shown_by)(self)
        return made

    def _repr_html_(self) -> str | None:
        from .interchange.page import fragment

        blocks = [*self._html_blocks()]
        return fragment(*blocks) if blocks else None


class Drawn:
    """A result that has a picture.

    Attributes
    ----------
    drawn_by : str
        The function that draws it, in the form of :attr:`Displayed.shown_by`, unless the class draws it.
    """

    drawn_by: ClassVar[str]

    def _drawn(self, *args: Any, **how: Any) -> "Figure":
        figure: Figure = _found(self.drawn_by)(*args, **how)
        return figure

    @abstractmethod
    def figure(self) -> "Figure":
        """Draw the result.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """

    def plot(self, path: str | PathLike[str], *args: Any, **how: Any) -> None:
        """Write :meth:`figure` to a file: ``.svg``, ``.png`` or ``.pdf`` by the suffix.

        Parameters
        ----------
        path : path-like
        *args, **how
            Arguments of :meth:`figure`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        GameFileError
            If the suffix is not one of these, or the file cannot be written.
        """
        from .interchange.pictures import write_picture

        make: Callable[..., Figure] = self.figure
        write_picture(lambda: make(*args, **how), path)
