"""Views of a sweep: a result drawn against one or two settings, and a report as one HTML page."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ..models.problems import PROBLEMS
from ..seqform.checks import is_number
from ..seqform.errors import UnsupportedProblemError, nearest, shown
from ..seqform.interchange import page
from ..seqform.interchange.pictures import COLOURS, Figure, dot_size, legend_below, panels
from ..seqform.sheet import plain
from .questions import question_parameters
from .sweep_settings import as_text, label_of

Records = Sequence[Mapping[str, Any]]

#: Units of results; all other results have no unit, or a different unit in each game.
_UNITS = {
    **dict.fromkeys(("objective", "lower", "upper"), "payoff of the player who optimises"),
    "value": "payoff of player 0",
    **dict.fromkeys(
        ("exploitability", "gap", "gain", "opponent_value", "game_value", "tolerance", "tol"), "payoff units"
    ),
    **dict.fromkeys(("guaranteed", "expected", "epsilon", "max_loss", "loss"), "payoff units"),
    **dict.fromkeys(("seconds", "build_seconds", "time_limit"), "s"),
    "p": "probability",
    "confidence": "probability",
}
#: The default axes.
_DRAWN = ("objective", "guaranteed", "value", "exploitability")
#: The largest number of lines in a picture, and of result columns in a report's table.
_MOST_LINES = 12
_TABLE = (
    "status",
    "objective",
    "lower",
    "upper",
    "value",
    "exploitability",
    "gain",
    "violation",
    "iterations",
    "seconds",
)
_LINES, _MARKERS = ("-", "--", "-.", ":"), "os^Dv"
_COLOURS = ("blue", "red", "green", "orange", "pink", "sky", "purple", "black")


def axes_of(records: Records, varied: Sequence[str], x: str | None, y: str | None) -> tuple[str, str]:
    """Return the setting and the result to draw: the requested ones, or by default the first numeric ones.

    Raises
    ------
    UnsupportedProblemError
        If there is no such setting or result, or it is not a number.
    """
    numbers = [name for name in (records[0] if records else ()) if any(is_number(one[name]) for one in records)]
    if x is None:
        x = next((name for name in varied if name in numbers), varied[0] if varied else None)
        if x is None:
            raise UnsupportedProblemError("no setting varies, so there is no axis to draw a result against")
    elif x not in varied:
        hint, there = nearest(x, varied), ", ".join(varied) or "nothing"
        raise UnsupportedProblemError(f"x is {shown(x, 60)}{hint}, expected one of the varied settings: {there}")
    results = [name for name in numbers if name not in varied]
    if y is None:
        y = next((name for name in (*_DRAWN, *results) if name in results), None)
        if y is None:
            raise UnsupportedProblemError("no result is a number, so there is nothing to draw")
    elif y not in results:
        known = [name for name in results if len({one[name] for one in records}) > 1]
        hint = nearest(y, known)
        raise UnsupportedProblemError(
            f"y is {shown(y, 60)}{hint}, expected a numeric result, such as {', '.join(known) or 'value'}"
        )
    return x, y


def unit_of(name: str) -> str:
    """Return the name of an axis with its unit.

    Examples
    --------
    >>> from treeplex.validation.sweep_page import unit_of
    >>> unit_of("build_seconds"), unit_of("method")
    ('build seconds (s)', 'method')
    """
    said = name.replace("_", " ")
    return f"{said} ({_UNITS[name]})" if name in _UNITS else said


def draw(records: Records, varied: Sequence[str], title: str, x: str | None = None, y: str | None = None) -> "Figure":
    """Draw a result against a setting, with a line for each combination of the others.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    UnsupportedProblemError
        If there is no such setting or result, or there are more than twelve lines.
    """
    x, y = axes_of(records, varied, x, y)
    others = [name for name in varied if name != x]
    lines: dict[str, list[tuple[Any, float]]] = {}
    for one in records:
        if is_number(one[y]) and one[x] is not None:
            lines.setdefault(
                label_of({name: one[name] for name in others if one[name] is not None}, others), []
            ).append((one[x], one[y]))
    if len(lines) > _MOST_LINES:
        raise UnsupportedProblemError(
            f"a picture against {x} has {len(lines):,} lines, one for each of {', '.join(others)}; expected at most "
            f"{_MOST_LINES}: vary fewer settings, or draw from the data frame"
        )
    figure, axes = panels(1, 1, (6.4, 4.0))
    ordinal = not all(is_number(place) for line in lines.values() for place, _ in line)
    names = list(dict.fromkeys(as_text(place) for line in lines.values() for place, _ in line)) if ordinal else []
    # All lines look different, so that readers can distinguish lines that overlap.
    looks = zip(*map(itertools.cycle, (_LINES, _MARKERS, _COLOURS)), strict=True)
    for (label, line), (dashes, marker, colour) in zip(lines.items(), looks, strict=False):
        points = [(names.index(as_text(place)), height) for place, height in line] if ordinal else sorted(line)
        axes.plot(
            *zip(*points, strict=True), color=COLOURS[colour], linestyle="" if ordinal else dashes, marker=marker,
            markersize=dot_size(len(points)), linewidth=1.5, label=label or None,
        )  # fmt: skip
    if ordinal:
        axes.set_xticks(range(len(names)), names)
        axes.margins(x=0.15)
    else:
        _scale(axes.set_xscale, [place for line in lines.values() for place, _ in line])
    _scale(axes.set_yscale, [height for line in lines.values() for _, height in line])
    axes.set(xlabel=unit_of(x), ylabel=unit_of(y))
    axes.set_title(title, fontsize="medium", wrap=True)
    legend_below(figure, min(3, len(lines)))
    return figure


def _scale(set_scale: Any, numbers: Sequence[float]) -> None:
    """Make an axis logarithmic if its numbers span more than two decades and none is zero up to round-off."""
    if numbers and min(numbers) > 1e-9 * max(numbers) and max(numbers) > 100 * min(numbers):
        set_scale("log")


def report(
    records: Records,
    varied: Sequence[str],
    fixed: Mapping[str, Any],
    *,
    title: str,
    summary: str,
    failures: Sequence[tuple[str, str]],
    command: str,
    axes: tuple[str | None, str | None],
) -> page.Page:
    """Return a report: a summary, the picture, every result, failures, and the command that repeats the sweep.

    Raises
    ------
    UnsupportedProblemError
        If the requested picture cannot be drawn.
    """
    blocks: list[page.Content] = [
        page.heading(
            f"How does the result of {title} depend on {_listed(varied)}?" if varied else f"Result of {title}", 1
        ),
        page.callout(f"{summary}.", cls="bad" if failures else "good"),
        page.prose(*_question(records, varied, fixed)),
        page.facts({name: as_text(value) for name, value in fixed.items()}),
    ]
    try:
        _, drawn = axes_of(records, varied, *axes)
        draws: Any = lambda: draw(records, varied, title, *axes)  # noqa: E731
        blocks += [page.heading("Picture"), page.figure(draws, f"{unit_of(drawn)}, for each setting.")]
    except UnsupportedProblemError as error:
        if axes != (None, None):
            raise
        blocks.append(page.prose(f"Not drawn: {error}.", cls="dim"))
    blocks += [page.heading("Results"), *_table(records, varied)]
    if failures:
        blocks += [page.heading("Failed"), page.table(["setting", "message"], failures, words=(0, 1))]
    if command:
        blocks += [page.heading("Again"), page.code_block(command)]
        blocks.append(page.prose("It computes the missing settings, and repeats nothing.", cls="dim"))
    return page.Page(title, (*blocks, page.footer()))


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _question(records: Records, varied: Sequence[str], fixed: Mapping[str, Any]) -> list[page.Content]:
    """Return a sentence that lists the varied settings."""
    if not varied:
        return ["One setting; nothing varies."]
    problem = str(fixed.get("problem", "")) if "command" in fixed else ""
    known = question_parameters(problem) if problem in PROBLEMS else {}
    said: list[page.Content] = [f"{len(records):,} settings. Varied: "]
    for place, name in enumerate(varied):
        values = list(dict.fromkeys(as_text(one[name]) for one in records if one[name] is not None))
        listed = ", ".join(values) if len(values) <= 6 else f"{values[0]}, {values[1]}, …, {values[-1]}"
        about = f" ({known[name].about.description})" if name in known else ""
        said += [page.code(name), f"{about}: {listed}{'.' if place == len(varied) - 1 else '; '}"]
    return said


def _table(records: Records, varied: Sequence[str]) -> list[page.Content]:
    """Return the settings and their most important results, one per row."""
    there = [name for name in (records[0] if records else ()) if any(one[name] is not None for one in records)]
    chosen = [name for name in _TABLE if name in there and (name != "violation" or any(one[name] for one in records))]
    if not chosen:
        chosen = [name for name in there if name not in varied and name not in ("failure", "strategies")][:10]
    names = [*varied, *(name for name in chosen if name not in varied)]
    words = [place for place, name in enumerate(names) if not any(is_number(one[name]) for one in records)]
    rows = [[_cell(one[name]) for name in names] for one in records]
    headings = [name.replace("_", " ") for name in names]
    units: dict[str, list[str]] = {}
    for name, said in zip(names, headings, strict=True):
        if name in _UNITS:
            units.setdefault(_UNITS[name], []).append(said)
    made = page.table(headings, rows, words=words, more="results.csv contains all rows", fold=100)
    line = "; ".join(f"{', '.join(said)}: {unit}" for unit, said in units.items())
    proven = "All bounds are recomputed from the strategies of each setting; none comes from a solver."
    notes = [f"{line}." * bool(line), proven * ("lower" in names)]
    return [made, *(page.prose(text, cls="dim") for text in notes if text)]


def _cell(value: Any) -> page.Content:
    if value is None or isinstance(value, str):
        return value
    return plain(value) if isinstance(value, float) else as_text(value)
