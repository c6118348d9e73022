"""The options of ``treeplex solve`` in groups, except those of problems and methods."""

from dataclasses import dataclass
from typing import Annotated

import typer

from .options import (
    CURVE,
    RUN,
    SPOT,
    AtOption,
    ChartOption,
    HtmlOption,
    JsonOption,
    Limits,
    OnOption,
    PotTolOption,
    SeedOption,
)


@dataclass(frozen=True)
class Asked:
    """The problem and the method; problems and methods declare the same options in more detail."""

    problem: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="The problem: nash (the default), constrained, best-response, rnr, epsilon-safe, style, cdbr, cdrnr "
            "or another one listed by 'treeplex problems'. Or NAME:key=value,…, such as "
            "rnr:opponent=uniform,p=1/2.",
        ),
    ] = None
    opponent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="O",
            help="Model of the opponent, for responses: uniform, random:seed=S, nash, cfr:iterations=N or a strategy "
            "file.",
        ),
    ] = None
    player: Annotated[
        str | None, typer.Option(metavar="0|1", help="Player to solve for, in one-player problems; by default 0.")
    ] = None
    constrain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C",
            help="Constraint for --problem constrained, such as 'risk <= 1/10' or '0/K_:b >= 1/2'; may be repeated.",
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="The method: highs, exact, cfr+, dcfr, ccfr, pref-cfr or another one listed by "
            "'treeplex methods'; the default depends on the problem and its size. Or NAME:key=value,…, such as "
            "dcfr:alpha=1.5.",
        ),
    ] = None


@dataclass(frozen=True)
class SolveLimits(Limits):
    """The limits of a solve, its seed, and where its parts are."""

    tol: PotTolOption = None
    seed: SeedOption = None
    on: OnOption = None


@dataclass(frozen=True)
class Supplied:
    """A start and a value function, for iterative methods."""

    start: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Start from a profile (.npz) written by --out.", rich_help_panel=RUN),
    ] = None
    value: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            rich_help_panel=RUN,
            help="Value function at the depth limit, for iterative methods: exact (the default: the rest of the "
            "game), cfr+:iterations=N or another method to run at each query, or a file with a learned value "
            "function (.npz).",
        ),
    ] = None


@dataclass(frozen=True)
class Curve:
    """Solutions for a range of values of p or of a constraint's bound."""

    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier", help="Find the responses for all values of p (rnr only); replaces --p.", rich_help_panel=CURVE
        ),
    ] = False
    sensitivity: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            rich_help_panel=CURVE,
            help="Also show the optimum as a function of a constraint's bound; for epsilon-safe, NAME is safety.",
        ),
    ] = None


@dataclass(frozen=True)
class OfSpot:
    """Questions about a hold'em spot."""

    hands: Annotated[
        str | None,
        typer.Option(
            metavar="HANDS",
            help="Hands whose strategy and EV to show, such as QsQh,AdKd (hold'em spots).",
            rich_help_panel=SPOT,
        ),
    ] = None
    at: AtOption = None
    chart: ChartOption = None
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOCK",
            rich_help_panel=SPOT,
            help="A known or assumed action of a player in a hold'em spot: 'ip at \"bet 120\": fold 40%', or "
            "'fold 41 of 80' for a count; may be repeated. Also reports the gain from the lock and its risk, or, with "
            "--frontier, their trade-off.",
        ),
    ] = None


@dataclass(frozen=True)
class Files:
    """Where the results are written."""

    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the profile to FILE (.npz); for a spot, a file that 'treeplex show' reads."
        ),
    ] = None
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw the result, or the frontier or sensitivity curve (.svg, .png or .pdf)."
        ),
    ] = None
    html: HtmlOption = None
    json: JsonOption = None
