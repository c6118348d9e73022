"""``treeplex play``: games between two strategies, and a log from the view of one seat."""

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..seqform.limits import WORTH_WAITING, now, patient
from ..seqform.sheet import Row, chips, count, error, estimate, payoff, seconds, setting
from ..seqform.standard_error import is_terminal
from .errors import CommandLineError, ExitStatus, deferring_interrupts, print_interrupted
from .files import STANDARD_OUTPUT, Record, check_files, writing
from .nodes import spot_of
from .options import OPPONENT_HELP, GameArgument, JsonOption, seat, whole
from .outputs import Outputs
from .progress import building, filling, waiting
from .tables import print_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..models.games.holdem.spot import HoldemSpot
    from ..models.play import MeanResult, PlayLogWriter, PublicGames, Results
    from ..seqform.arrays import Floats, Integers
    from ..seqform.game import Game
    from ..seqform.sequence_form import SequenceForm
    from ..seqform.strategy import Profile

#: Confidence level of the intervals of mean results.
_CONFIDENCE = 0.95
_KEYS = ("game", "parameters", "mean", "interval", "expected", "luck_free", "seconds", "games_per_second")


def play(
    game: GameArgument,
    seat0: Annotated[str, typer.Option(metavar="O", help=f"The player in seat 0: {OPPONENT_HELP}")],
    seat1: Annotated[str, typer.Option(metavar="O", help="The player in seat 1, in the same form.")],
    games: Annotated[int, typer.Option(metavar="N", parser=whole, help="Number of games.")],
    seed: Annotated[int | None, typer.Option(metavar="S", parser=whole, help="Random seed; by default 0.")] = None,
    observer: Annotated[
        int | None, typer.Option(metavar="0|1", parser=seat, help="The seat whose view the log records; by default 0.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Write the log to FILE as JSON Lines, compressed if the name ends with .gz. By default it goes to "
            "standard output, unless --json - is given. For a hold'em spot, write the hands to FILE (.phhs).",
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Play games between two strategies, and write a log.

    The log records what one seat sees: its own private information, public information, and what the rules reveal about
    the other player at the end. After Ctrl-C it ends with a complete line.

    The result without luck (AIVAT) removes the luck of the cards and of a seat's own strategy. It is unbiased for any
    strategy of the other seat.

    The log of a hold'em spot is a file of hand histories for review. Preflop games and games too large to enumerate
    have no log. The latter are played move by move, by players that do not need the whole game: uniform, random,
    perturbed, a file of strategies by label (.jsonl), and cdbr and cdrnr with values=V.
    """
    if out == STANDARD_OUTPUT and json == STANDARD_OUTPUT:
        raise CommandLineError("--out and --json cannot both go to standard output; give one of them a file name")
    asked = out
    if out is None and json != STANDARD_OUTPUT:
        out = STANDARD_OUTPUT
    check_files({"GAME": game, "--seat0": seat0, "--seat1": seat1}, out=out, json=json)
    with deferring_interrupts():
        from ..models.play import PlayLogWriter, Results, simulate
        from ..seqform.evaluate import expected_payoffs
        from ..seqform.observer import observer_tree
        from ..seqform.strategy import Profile
        from ..solvers.opponents.strategies import opponent_strategy

    seed, observer = seed or 0, observer or 0
    record = Record(
        json, _KEYS, game=game, seats=[seat0, seat1], seed=seed, observer=observer, log=out, interrupted=True,
        games=0, confidence=_CONFIDENCE,
    )  # fmt: skip
    record.taken = out == STANDARD_OUTPUT
    with record.interruptible(answers=False, interrupted=True):
        loaded = record.load(game)
        if loaded.num_players != 2:
            raise CommandLineError(f"{loaded.spec} has {loaded.num_players} players: play needs two players")
        form = _enumerated(loaded)
        in_public = form is not None and form.leaves is None and loaded.public_form is not None
        if form is None or in_public:
            spot = spot_of(loaded) if in_public else None
            if asked is not None and (spot is None or asked == STANDARD_OUTPUT):
                wanted = "leave it out" if spot is None else "give a file name for hand histories (.phhs)"
                raise CommandLineError(
                    f"--out: {loaded.spec} is not enumerated, and logs are written only for enumerated games; {wanted}"
                )
            if asked is not None and spot is not None and (spot.rake or spot.deck != "full"):
                what = "rake" if spot.rake else "short deck"
                raise CommandLineError(f"--out: hands are written only for spots without a {what}; leave it out")
            record.taken, record["log"] = False, asked
            return (_play_in_public if in_public else _walk)(record, loaded, games, seed)
        with building(loaded):
            if form.leaves is None:
                raise CommandLineError(f"{loaded.spec} has no histories, so it cannot be played")
            view = None if out is None else observer_tree(loaded, observer)
        with waiting(f"strategies of {seat0} and {seat1}"):
            profile = Profile([opponent_strategy(name, loaded, player) for player, name in enumerate((seat0, seat1))])
    results = Results(form.leaves)
    begun = now()
    record["interrupted"] = False
    try:
        with contextlib.ExitStack() as stack, patient(WORTH_WAITING):
            writer = None
            if view is not None and out is not None:
                sys.stdout.flush()
                target: Any = sys.stdout.buffer if out == STANDARD_OUTPUT else out
                with deferring_interrupts():
                    writer = stack.enter_context(PlayLogWriter(target, loaded, view))
            quiet = out == STANDARD_OUTPUT and is_terminal(sys.stdout)  # the progress bar would mix with the log
            _play(simulate(profile, games, seed), games, writer, results, None if quiet else f"playing {loaded.spec}")
        record.held.begin()
    except KeyboardInterrupt:
        record.held.begin()
        record["interrupted"] = True
        print_interrupted()
    took = now() - begun
    means = [results.of_player(player, _CONFIDENCE) for player in range(loaded.num_players)]
    return Outputs(record).deliver(
        ExitStatus.INTERRUPTED if record["interrupted"] else ExitStatus.SUCCESS,
        lambda: _print(record),
        lambda: {
            "games": results.num_games,
            "mean": [None if each is None else each.mean for each in means],
            "interval": [None if each is None else [each.lower, each.upper] for each in means],
            "expected": expected_payoffs(loaded, profile).tolist(),
            "luck_free": _without_luck(loaded, profile, results),
            "seconds": took,
            "games_per_second": results.num_games / took if took > 0.0 else None,
        },
    )


def _enumerated(game: "Game") -> "SequenceForm | None":
    """Return the sequence form of a game; ``None`` if the game is too large but its rules can be walked."""
    from ..seqform.errors import GameTooLargeError

    try:
        with building(game):
            return game.sequence_form
    except GameTooLargeError:
        if game.rules is None:
            raise
        return None


def _walk(record: Record, game: "Game", games: int, seed: int) -> int:
    """Play a game that is not enumerated, move by move."""
    from ..solvers.depth_limited.encounters import encounter
    from ..solvers.opponents.strategies import opponent_player

    players = [opponent_player(name, game, player) for player, name in enumerate(record["seats"])]
    paid: list[list[float]] = []
    begun = now()
    record["interrupted"] = False
    try:
        with filling(f"playing {game.spec}", "games", shown=record.shown) as progress:

            def count_game(number: int, row: "Floats") -> None:
                paid.append(row.tolist())
                if progress is not None:
                    progress(number, number / games)

            encounter(game, players, games, seed, count_game)
        record.held.begin()
    except KeyboardInterrupt:
        record.held.begin()
        record["interrupted"] = True
        print_interrupted()
    return _deliver(record, paid, game.payoff_range, None, now() - begun)


def _play_in_public(record: Record, game: "Game", games: int, seed: int) -> int:
    """Play a game in public form: all games at once, public state by public state."""
    from ..models.play.public_games import draw_public
    from ..seqform.evaluate import expected_payoffs
    from ..seqform.strategy import Profile
    from ..solvers.opponents.strategies import opponent_strategy

    with waiting("strategies of " + " and ".join(record["seats"])):
        profile = Profile([opponent_strategy(name, game, player) for player, name in enumerate(record["seats"])])
    form, begun = game.public_form, now()
    assert form is not None
    drawn = draw_public(form, profile, games, seed)
    paid = drawn.payoffs(form)
    took, record["interrupted"] = now() - begun, False
    bounds = -game.payoff_scale, game.payoff_scale
    fair, spot = _without_luck(game, profile, drawn), spot_of(game)
    if spot is not None and record["log"] is not None:
        _write_hands(spot, drawn, record["log"], seed)
    return _deliver(record, paid, bounds, expected_payoffs(game, profile).tolist(), took, fair, spot)


def _write_hands(spot: "HoldemSpot", games: "PublicGames", path: str, seed: int) -> None:
    """Write the games of a spot as hand histories."""
    import numpy as np

    from ..models.matches import PhhWriter
    from ..models.matches.match import Played
    from ..models.review.hand_spots import record_of_spot

    rng = np.random.default_rng([seed, 1])  # independent of the stream that played
    with writing(path, "--out"), PhhWriter(path, ("oop", "ip")) as writer:
        for number, (leaf, states) in enumerate(zip(games.nodes.tolist(), games.states.tolist(), strict=True)):
            writer.write(Played(number, 0, (0, 1), record_of_spot(spot, leaf, states, rng), ()))


def _without_luck(game: "Game", profile: "Profile", games: "Results | PublicGames") -> list[dict[str, Any]] | None:
    """Return each seat's result without luck, from its own strategy alone; ``None`` if a player forgets its past."""
    from ..models.play import Aivat

    if not all(treeplex.single_parent for treeplex in game.sequence_form.treeplexes):
        return None
    return [Aivat(game, own, profile).estimate(games, confidence=_CONFIDENCE).to_dict() for own in profile]


def _deliver(
    record: Record,
    paid: "Sequence[Sequence[float]] | Floats",
    bounds: tuple[float, float] | None,
    expected: list[float] | None,
    took: float,
    luck_free: list[dict[str, Any]] | None = None,
    spot: "HoldemSpot | None" = None,
) -> int:
    """Print and write the payoffs of games without a log."""
    import numpy as np

    from ..models.play.simulation import mean_interval
    from ..solvers.sampling.streamed_play import student_interval

    rows = np.array(paid, dtype=float).reshape(-1, 2)
    sums = np.unique(rows.sum(axis=1).round(9))
    means: list[MeanResult | None] = [None, None]
    for player, own in enumerate(rows.T if len(rows) else ()):
        if bounds is not None and len(sums) == 1:  # the payoffs of both players have the same sum in every game
            ends = bounds if player == 0 else (float(sums[0]) - bounds[1], float(sums[0]) - bounds[0])
            means[player] = mean_interval(*np.unique(own, return_counts=True), *ends, _CONFIDENCE)
        elif len(own) > 1:
            means[player] = student_interval(float(own.mean()), own.var(ddof=1) / len(own), len(own), _CONFIDENCE)
    return Outputs(record).deliver(
        ExitStatus.INTERRUPTED if record["interrupted"] else ExitStatus.SUCCESS,
        lambda: _print(record, spot),
        lambda: {
            "games": len(rows),
            "mean": [None if each is None else each.mean for each in means],
            "interval": [None if each is None else [each.lower, each.upper] for each in means],
            "expected": expected,
            "luck_free": luck_free,
            "seconds": took,
            "games_per_second": len(rows) / took if took > 0.0 else None,
        },
    )


def _play(
    chunks: "Iterator[Integers]", games: int, writer: "PlayLogWriter | None", results: "Results", title: str | None
) -> None:
    """Count and write games; Ctrl-C takes effect between chunks, so lines are complete and counts match."""
    done = 0
    with filling(title or "", "games", shown=title is not None) as progress:
        for leaves in chunks:
            with deferring_interrupts():
                if writer is not None:
                    writer.write(leaves)
                results.add(leaves)
            done += len(leaves)
            if progress is not None:
                progress(done, done / games)


def without_luck(found: "Mapping[str, Any]") -> str:
    """Format a result without luck, with its standard error and that of the money won."""
    ratio = found["reduction"]
    smaller = "" if ratio is None else f", {ratio:.3g} times smaller than that of the money won"
    mean, deviation = payoff(found["mean"]), error(found["standard_error"])
    return f"{mean}, standard error {deviation}{smaller}"


def _print(record: dict[str, Any], spot: "HoldemSpot | None" = None) -> None:
    """Print the results; those of a spot as EV, in chips from the pot."""
    names, added, title = ("seat 0", "seat 1"), 0.0, "result of {}"
    if spot is not None:
        names, added, title = ("oop", "ip"), spot.pot / 2, "EV of {}"
    rows = [
        Row("game", record["game"]),
        Row("seats", " and ".join(record["seats"])),
        Row("games", record["games"], count),
    ]
    for player, (mean, ends) in enumerate(zip(record["mean"], record["interval"], strict=True)):
        label = title.format(names[player])
        if record["expected"] is None:  # the game is not enumerated
            if mean is not None:
                measured = {"mean": mean, "lower": ends[0], "upper": ends[1]}
                rows.append(Row("mean", measured, estimate, label=label))
            continue
        paid = record["expected"][player] + added
        expected = f"expected {payoff(paid) if spot is None else chips(paid)}"
        if mean is None:
            rows.append(Row("expected", expected, label=label))
        else:
            measured = {"mean": mean + added, "lower": ends[0] + added, "upper": ends[1] + added}
            rows.append(Row("mean", measured, estimate, f", {expected}", label))
    for player, found in enumerate(record["luck_free"] or ()):
        if found["standard_error"] is not None:
            of_pot = dict(found) | {"mean": found["mean"] + added}
            rows.append(Row("luck_free", without_luck(of_pot), label=f"{names[player]} without luck"))
    if record["games"]:
        sure = f"at least {setting(record['confidence'])} for each interval, for any number of games"
        rows.append(Row("confidence", sure))
    if record["log"]:
        rows.append(Row("log", record["log"], meaning="" if spot else f", of seat {record['observer']}"))
    print_rows(*rows, Row("seconds", record["seconds"], seconds))
