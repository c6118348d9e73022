"""What results that can be drawn have in common."""

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawn:
    """A result with a picture of its own."""

    @abstractmethod
    def figure(self) -> "Figure":
        """Draw it.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """

    def plot(self, path: str | Path) -> None:
        """Write :meth:`figure` to a file: ``.svg``, ``.png`` or ``.pdf`` by the suffix.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        GameFileError
            If the suffix is another one, or the file cannot be written.
        """
        from ..seqform.interchange.drawing import write_picture

        write_picture(self.figure, path)
