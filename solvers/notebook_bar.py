"""A progress bar for notebooks."""

from collections.abc import Callable

from ..seqform.interchange.page import element, fragment
from ..seqform.limits import now
from .outcome import Progress

#: Seconds between two updates of the bar.
_EVERY = 0.2


class NotebookBar:
    """A bar in the output of a notebook cell; its last state remains."""

    def __init__(self, title: str, done: Callable[[Progress], float], standing: Callable[[Progress], str]) -> None:
        self._title, self._done, self._stands = title, done, standing
        self._part: float | None = None
        self._standing, self._begun, self._drawn = "", now(), 0.0

    def __enter__(self) -> Callable[[Progress], None]:
        from IPython.display import display

        self._handle = display(self, display_id=True)
        return self._update

    def __exit__(self, *_: object) -> None:
        self._part = 1.0
        self._handle.update(self)

    def _update(self, report: Progress) -> None:
        self._part, self._standing = self._done(report), self._stands(report)
        if now() - self._drawn >= _EVERY:
            self._handle.update(self)
            self._drawn = now()

    def wait(self, what: str) -> None:
        """Show what the solve waits for."""
        self._standing = what
        self._handle.update(self)

    def _text(self) -> str:
        return ", ".join(filter(None, (self._standing, f"{now() - self._begun:.1f} s")))

    def __repr__(self) -> str:
        return f"{self._title}: {self._text()}"

    def _repr_html_(self) -> str:
        part = None if self._part is None else f"{self._part:.3f}"
        shown = element("div", f"{self._title} ", element("progress", value=part, max=1), f" {self._text()}")
        return fragment(shown, styled=False)
