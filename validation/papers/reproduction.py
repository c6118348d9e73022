"""Runs an experiment of a paper, judges it, and writes its picture and its data."""

import csv
import io
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...seqform.errors import GameFileError
from ...seqform.interchange.files import reason_of, writing_whole
from ...seqform.interchange.pictures import write_picture
from ..table import Row
from .experiment import Claim, Experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What an experiment found.

    Attributes
    ----------
    experiment : Experiment
        With its settings.
    rows : tuple of Row
    seconds : float
        From start to end, compilation and building included.
    interrupted : bool
        Whether it was stopped, so that rows are missing.
    """

    experiment: Experiment[Any]
    rows: tuple[Row, ...]
    seconds: float
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether there are rows, none is missing and every one passed."""
        return bool(self.rows) and not self.interrupted and all(row.passed for row in self.rows)

    @property
    def claims(self) -> list[Claim]:
        """What the paper reports, and the same measured here."""
        return self.experiment.claims(self.rows)

    @property
    def summary(self) -> str:
        """The outcome in one line."""
        if not self.rows:
            return "interrupted before the first row" if self.interrupted else "nothing was computed"
        failed = sum(not row.passed for row in self.rows)
        judged = f"{failed} failed" if failed else "all passed"
        count = f"{len(self.rows)} row{'s' * (len(self.rows) > 1)}"
        return f"{count}: {judged}, {'interrupted after' if self.interrupted else 'in'} {self.seconds:.1f} s"

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain numbers and strings, ready for JSON."""
        from ... import __version__

        experiment = self.experiment
        return {
            "name": experiment.name,
            "title": experiment.title,
            "version": __version__,
            "settings": experiment.settings(),
            "rows": [row.to_dict() for row in self.rows],
            "paper": {
                "citation": experiment.paper.citation,
                "url": experiment.paper.url,
                "figure": experiment.figure,
                "claims": [vars(claim) for claim in self.claims],
            },
            "criterion": experiment.criterion,
            "passed": self.passed,
        }

    def to_csv(self) -> str:
        """Return the rows as comma-separated values below a line of names; what was not computed is empty."""
        stream = io.StringIO()
        records = [row.to_dict() for row in self.rows]
        writer = csv.DictWriter(stream, list(records[0]) if records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return stream.getvalue()

    def draw(self) -> "Figure":
        """Draw the figure.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return self.experiment.draw(self.rows)

    def write(self, folder: str | Path) -> list[Path]:
        """Write the data, ``NAME.json`` and ``NAME.csv``, and the picture, ``NAME.svg`` and ``NAME.png``.

        Parameters
        ----------
        folder : path-like
            Made if it is not there.

        Returns
        -------
        list of Path
            What was written.

        Raises
        ------
        GameFileError
            If a file cannot be written.
        MissingExtraError
            If matplotlib is not installed; the data are written then.
        """
        place = Path(folder)
        texts = {".json": json.dumps(self.to_dict(), allow_nan=False, indent=2) + "\n", ".csv": self.to_csv()}
        written = []
        try:
            place.mkdir(parents=True, exist_ok=True)
            for suffix, text in texts.items():
                written.append(place / f"{self.experiment.name}{suffix}")
                with writing_whole(written[-1]) as passing:
                    passing.write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            where = written[-1] if written else place
            raise GameFileError(f"{where}: it cannot be written: {reason_of(error)}") from None
        figure = self.draw()
        for suffix in (".svg", ".png"):
            written.append(place / f"{self.experiment.name}{suffix}")
            write_picture(lambda: figure, written[-1])
        return written


def reproduce(
    experiment: Experiment[Any],
    on_row: Callable[[Row], None] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Reproduction:
    """Compute all rows of an experiment.

    Parameters
    ----------
    experiment : Experiment
        With its settings, such as ``CCFRFigure2a.quick()``.
    on_row : callable, optional
        Called with each :class:`Row` when it is computed.
    on_step : callable, optional
        Called with a few words about what is computed next.

    Returns
    -------
    Reproduction

    Raises
    ------
    SolverError
        If a solver broke down.
    KeyboardInterrupt
        After Ctrl-C, between solves as within one.

    Examples
    --------
    >>> from treeplex.validation.papers import CCFRFigure2a, reproduce
    >>> found = reproduce(CCFRFigure2a(width=2, bounds=(0.1, 0.5), iterations=5_000))
    >>> found.passed, [round(row.frontier_exploitability, 6) for row in found.rows]
    (True, [0.03997, 0.009887])
    """
    begun = time.perf_counter()
    rows: list[Row] = []
    for row in experiment.rows(on_step or (lambda words: None)):
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return Reproduction(experiment, tuple(rows), time.perf_counter() - begun)
