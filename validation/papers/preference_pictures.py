"""The figures of the experiments with Preference-CFR, by matplotlib."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from ...seqform.interchange.pictures import panels
from .preference_kuhn import EXPLOITABILITY as _LIMIT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .preference_efficiency import EfficiencyRow, PrefCFREfficiency
    from .preference_figure_1 import PrefCFRFigure1
    from .preference_figure_2 import PrefCFRFigure2
    from .preference_kuhn import BluffRow
    from .preference_leduc import LeducStyles, StyleRow

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_BLACK, _BLUE, _RED, _GREEN, _ORANGE, _GREY = "#333333", "#0072B2", "#D55E00", "#009E73", "#E69F00", "#999999"
_PINK, _SKY = "#CC79A7", "#56B4E9"
# Bets are in warm colours, passes in cold ones; what plays by the rule RM is dashed.
_SETTINGS = {
    "(1)": (_RED, "-"), "(2)": (_ORANGE, "-"), "(3)": (_PINK, "--"), "CFR": (_BLACK, "-"), "(4)": (_GREEN, "--"),
    "(5)": (_SKY, "-"), "(6)": (_BLUE, "-"),
}  # fmt: skip
_SIDES = {"b": "bet", "p": "pass"}
_STARTS = (_BLUE, _RED, _GREEN, _ORANGE, _PINK, _SKY)


def draw_starts(experiment: "PrefCFRFigure1", rows: "Sequence[BluffRow]") -> "Figure":
    """Draw CFR from random starts.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    names = [setting.name for setting in experiment.settings_of_runs]
    looks = {name: (_STARTS[place % len(_STARTS)], "-") for place, name in enumerate(names)}
    parts = {
        words: [row for row in rows if row.setting.startswith(words)]
        for words in dict.fromkeys(name.partition(",")[0] for name in names)
    }
    return _draw_kuhn(parts, looks, {}, columns=2)


def draw_settings(experiment: "PrefCFRFigure2", rows: "Sequence[BluffRow]") -> "Figure":
    """Draw the settings of Preference-CFR beside CFR.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    words = {}
    for row in rows:
        if row.preference:
            side, degree = _SIDES[row.preference[2]], row.preference.rpartition(":")[2]
            words[row.setting] = f"{row.setting} {side} {degree}, {row.rule.upper()}"
    return _draw_kuhn({"": rows}, _SETTINGS, words, columns=4)


def _draw_kuhn(
    parts: "Mapping[str, Sequence[BluffRow]]", looks: dict[str, tuple[str, str]], words: dict[str, str], columns: int
) -> "Figure":
    """Draw exploitability and α by iteration, a curve a row, with the exact range behind; a panel of α a part."""
    figure, (errors, *panes) = panels(1, 1 + len(parts), (3.0 + 3.6 * (1 + len(parts)), 4.7))
    rows = [row for part in parts.values() for row in part]
    for row in rows:
        colour, dashes = looks[row.setting]
        look: dict[str, Any] = {"color": colour, "linestyle": dashes, "linewidth": 1.6}
        errors.plot(row.points, row.exploitability_curve, label=words.get(row.setting, row.setting), **look)
        errors.fill_between(
            row.points,
            row.exploitability_low_curve,
            row.exploitability_high_curve,
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
    for (title, part), bluffs in zip(parts.items(), panes, strict=True):
        for row in part:
            colour, dashes = looks[row.setting]
            # Ranges differ by little: where all agree the grey is darkest.
            grey: dict[str, Any] = {"color": _GREY, "alpha": 0.28 / len(part), "linewidth": 0, "zorder": 0}
            bluffs.fill_between(row.points, row.allowed_low_curve, row.allowed_high_curve, **grey)
            bluffs.plot(row.points, row.bluff_curve, color=colour, linestyle=dashes, linewidth=1.6)
            bluffs.fill_between(
                row.points, row.bluff_low_curve, row.bluff_high_curve, color=colour, alpha=0.15, linewidth=0
            )
        bluffs.axhline(1 / 3, color=_BLACK, linestyle=":", linewidth=1.0)
        bluffs.set(title=title, ylim=(0.0, 0.7), ylabel="α: probability of a bet with the jack")
    for axes in (errors, *panes):
        axes.set(xlabel="iterations", xscale="log")
        if rows:
            axes.set_xlim(rows[0].points[0], rows[0].points[-1])
    errors.axhline(_LIMIT, color=_BLACK, linestyle="--", linewidth=0.9, label=f"exploitability {_LIMIT:g}")
    errors.set_ylabel("exploitability (NashConv / 2)")
    _log_of_few(errors)
    last = panes[-1]
    last.plot([], [], color=_GREY, alpha=0.5, linewidth=7, label="exact range of α at the runs' own NashConv")
    last.plot([], [], color=_BLACK, linestyle=":", linewidth=1.0, label="largest α of an equilibrium, 1/3")
    handles = [one for axes in (errors, last) for one in axes.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
    return figure


# Raises are in warm colours, calls in cold ones; what may not cost anything is dashed.
_STYLES = {
    "offensive 10, beta 0.05": (_RED, "-"),
    "offensive 5, beta 0.05": (_ORANGE, "-"),
    "offensive 10, beta 0": (_PINK, "--"),
    "normal": (_BLACK, "-"),
    "defensive 10, beta 0": (_GREEN, "--"),
    "defensive 5, beta 0.05": (_SKY, "-"),
    "defensive 10, beta 0.05": (_BLUE, "-"),
    "offensive 5, beta 0.5": (_PINK, "-"),
    "offensive 5, beta 0.2": (_RED, "-"),
    "offensive 5, beta 0.1": (_BLUE, "-"),
}
_EQUILIBRIA: dict[str, Any] = {"color": _BLACK, "linestyle": (0, (5, 3)), "linewidth": 0.9}


def draw_styles(experiment: "LeducStyles", rows: "Sequence[StyleRow]") -> "Figure":
    """Draw styles in Leduc poker: a line of panels a game and rule.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    lines = [(cards, rule) for cards in experiment.cards for rule in experiment.rules]
    figure, grid = panels(len(lines), 3, (12.0, 1.4 + 2.8 * len(lines)), squeeze=False)
    for (cards, rule), axes in zip(lines, grid, strict=True):
        own = [row for row in rows if (row.cards, row.rule) == (cards, rule)]
        _draw_line(axes, own)
        axes[0].set_ylabel(f"{cards} cards, {rule.upper()}\nNashConv (antes)")
        axes[1].set_ylabel("call at first, with a king")
        axes[2].set_ylabel("raise at first")
    for axes in grid.flat:
        axes.set_xlabel("histories touched")
        if rows:
            axes.set_xlim(rows[0].points[0], rows[0].points[-1])
    last = grid[0][2]
    last.plot([], [], **_EQUILIBRIA, label="equilibria")
    last.plot([], [], color=_GREY, alpha=0.5, linewidth=7, label="all that the runs' NashConv allows")
    last.plot([], [], color=_BLACK, linestyle=":", linewidth=1.2, label="furthest at the strategy's own loss")
    handles = [one for axes in (grid[0][0], last) for one in axes.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_line(line: Any, rows: "Sequence[StyleRow]") -> None:
    """Draw the curves of one game and rule in three panels."""
    errors, calls, raises = line
    for row in rows:
        colour, dashes = _STYLES[row.style]
        look: dict[str, Any] = {"color": colour, "linestyle": dashes, "linewidth": 1.5}
        band: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0}
        grey: dict[str, Any] = {"color": _GREY, "alpha": 0.28 / len(rows), "linewidth": 0, "zorder": 0}
        ends: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 1.2}
        errors.fill_between(row.points, row.nash_conv_low_curve, row.nash_conv_high_curve, **band)
        errors.plot(row.points, row.nash_conv_curve, label=row.style.replace("beta", "β"), **look)
        calls.fill_between(row.points, row.allowed_calls_low_curve, row.allowed_calls_high_curve, **grey)
        calls.fill_between(row.points, row.calls_low_curve, row.calls_high_curve, **band)
        calls.plot(row.points, row.calls_curve, **look)
        raises.fill_between(row.points, row.allowed_raises_low_curve, row.allowed_raises_high_curve, **grey)
        raises.fill_between(row.points, row.raises_low_curve, row.raises_high_curve, **band)
        raises.plot(row.points, row.raises_curve, **look)
        if row.preference:
            calls.plot(row.points, row.calls_by_loss_curve, **ends)
            raises.plot(row.points, row.raises_by_loss_curve, **ends)
    if rows:
        calls.axhline(rows[0].equilibrium_calls, **_EQUILIBRIA)
        raises.axhline(rows[0].equilibrium_raises, **_EQUILIBRIA)
    for axes in line:
        axes.set_xscale("log")
    for axes in (calls, raises):
        axes.set_ylim(-0.02, 1.02)
    _log_of_few(errors)


def _log_of_few(axes: Any) -> None:
    """Make a vertical axis logarithmic, with labels at 1, 2 and 5 of each decade where these are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(10.0, (1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_efficiencies(experiment: "PrefCFREfficiency", rows: "Sequence[EfficiencyRow]") -> "Figure":
    """Draw runs by what they lose and how often they raise, between the exact limits; a panel a rule.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from .preference_leduc import MERGED, RAISES
    from .preference_runs import exact_range

    figure, grid = panels(1, len(experiment.rules), (5.2 * len(experiment.rules), 4.9), squeeze=False, sharey=True)
    # Degrees differ by little: marks are hollow, and smaller ones lie in larger ones.
    marks = zip(cycle((_GREEN, _BLUE, _RED, _ORANGE, _PINK)), cycle("osD^v"), cycle((10.0, 7.0, 4.0)), strict=False)
    looks = dict(zip(sorted(experiment.degrees), marks, strict=False))
    curve = exact_range(MERGED[experiment.cards], *RAISES) if rows else None
    for rule, axes in zip(experiment.rules, grid[0], strict=True):
        if curve is not None:
            grey: dict[str, Any] = {"color": _GREY, "alpha": 0.22, "linewidth": 0}
            axes.fill_betweenx(curve.knots, curve.losses, 10.0, **grey, label="what the loss allows, exactly")
            axes.axhline(rows[0].equilibrium, **_EQUILIBRIA, label="equilibria")
            axes.set_xlim(0.0, 1.06 * max(row.loss for row in rows))
        for degree, (colour, mark, size) in looks.items():
            for style in experiment.styles:
                own = [row for row in rows if (row.rule, row.style, row.degree) == (rule, style, degree)]
                look = {"color": colour, "markersize": size, "markerfacecolor": "none", "linewidth": 1.1}
                label = f"δ = {degree:g}" if style == experiment.styles[0] else None
                axes.plot([row.loss for row in own], [row.raises for row in own], f"{mark}-", label=label, **look)
        axes.set(xlabel="what player 0's strategy loses at most (antes)", title=f"rule {rule.upper()}")
        axes.set_ylim(-0.02, 1.02)
    grid[0][0].set_ylabel("raise at first")
    handles = grid[0][0].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    return figure
