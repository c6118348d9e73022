"""Arguments and options that several commands take alike."""

from typing import Annotated

import typer

from .arguments import GAME_HELP, tolerance

GameArgument = Annotated[str, typer.Argument(metavar="GAME", help=GAME_HELP)]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to a file or standard output.")
]
ExplorationOption = Annotated[
    float | None,
    typer.Option(
        metavar="E", parser=tolerance, help="How much of the uniform policy os-mccfr mixes in, up to 1 (0.6)."
    ),
]
BaselineRateOption = Annotated[
    float | None,
    typer.Option(
        metavar="R", parser=tolerance, help="How far these guesses move towards each new value, up to 1 (0.5)."
    ),
]
