"""Streamed runs as files: all that is needed to go on."""

from array import array
from collections.abc import Hashable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.errors import GameTooLargeError, InvalidStrategyError, one_line, shown
from ...seqform.interchange.encoding import decode, encode, from_json, to_json
from ...seqform.interchange.files import read_archive, reason_of, write_archive
from .infosets import Infosets

if TYPE_CHECKING:
    from .streamed import StreamedMCCFR

_FORMAT, _VERSION = "treeplex streamed run", 1


def write_run(path: str | PathLike[str], sampler: "StreamedMCCFR") -> None:
    """Write a run to an ``.npz`` file: arrays, and the rest as JSON; nothing is pickled.

    Raises
    ------
    InvalidStrategyError
        If the file cannot be written, or a label is of a type that files do not take.
    """
    walker = sampler._walker
    metadata = {
        "format": _FORMAT,
        "version": _VERSION,
        "game": sampler.game_name,
        "method": sampler.method.name,
        "settings": [str(each) for each in walker.settings],
        "players": sampler.num_players,
        "iterations": sampler.iterations,
        "touched": sampler.touched,
        "turn": sampler._turn,
        "turns": walker.turns,
        "random_state": str(walker.numbers.state),
        "seed": str(sampler.seed),
    }
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        for player, table in enumerate(sampler._tables):
            count, size = len(table), table.starts[len(table)]
            menus = {menu: place for place, menu in enumerate(dict.fromkeys(table.menus[:count]))}
            arrays[f"labels_{player}"] = _packed(list(table.numbers))
            arrays[f"menus_{player}"] = _packed(list(menus))
            arrays[f"menu_{player}"] = np.array([menus[menu] for menu in table.menus[:count]], dtype=np.int64)
            arrays[f"parents_{player}"] = np.array(table.parents[:count], dtype=np.int64)
            arrays[f"regrets_{player}"] = np.array(table.regrets[:size], dtype=np.float64)
            arrays[f"sums_{player}"] = np.array(table.sums[:size], dtype=np.float64)
            arrays[f"visits_{player}"] = np.array(table.visits[:count], dtype=np.float64)
            for other, baselines in enumerate(table.baselines):
                arrays[f"baselines_{player}_{other}"] = np.array(baselines[:size], dtype=np.float64)
        write_archive(str(path), metadata, arrays)
    except (OSError, TypeError, ValueError) as error:
        raise InvalidStrategyError(f"{one_line(str(path))} cannot be written: {reason_of(error)}") from None


def read_run(path: str | PathLike[str], sampler: "StreamedMCCFR") -> None:
    """Put a sampler that has not run yet where a run that was written stopped.

    Raises
    ------
    InvalidStrategyError
        If the file cannot be read, or is of another game or method.
    GameTooLargeError
        If it may take more memory than the budget for building a game.
    """
    named = one_line(str(path))
    try:
        metadata, arrays = read_archive(str(path))
        expected = {
            "format": _FORMAT,
            "version": _VERSION,
            "game": sampler.game_name,
            "method": sampler.method.name,
            "settings": [str(each) for each in sampler._walker.settings],
            "players": sampler.num_players,
        }
        for key, value in expected.items():
            if metadata.get(key) != value:
                raise InvalidStrategyError(
                    f"{named} holds no run of this kind: its {key} is {shown(metadata.get(key), 60)}, expected "
                    f"{shown(value, 60)}"
                )
        for player, table in enumerate(sampler._tables):
            _fill(table, player, arrays)
        sampler._resume(
            seed=int(metadata["seed"]),
            iterations=int(metadata["iterations"]),
            touched=int(metadata["touched"]),
            turn=int(metadata["turn"]) % sampler.num_players,
            turns=[float(each) for each in metadata["turns"]],
            random_state=int(metadata["random_state"]) % 2**64,
        )
    except FileNotFoundError:
        raise InvalidStrategyError(f"{named}: no such file") from None
    except GameTooLargeError as error:
        raise GameTooLargeError(f"{named}: {error}") from None
    except InvalidStrategyError:
        raise
    except Exception as error:  # a damaged archive makes zipfile, zlib, numpy and json raise almost anything
        raise InvalidStrategyError(f"{named} is no file of a run, or a damaged one: {one_line(str(error))}") from None


def _fill(table: Infosets, player: int, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Add the infosets that a file holds, with what is known of them."""
    labels, menus = _unpacked(arrays[f"labels_{player}"]), _unpacked(arrays[f"menus_{player}"])
    chosen, parents = arrays[f"menu_{player}"].tolist(), arrays[f"parents_{player}"].tolist()
    for label, place, parent in zip(labels, chosen, parents, strict=True):
        menu = menus[place]
        if not isinstance(menu, tuple) or label in table.numbers or not -1 <= parent < table.num_sequences:
            raise ValueError(f"infoset {shown(label)} of player {player} is none")
        table.add(label, menu, parent)
    table.regrets = _numbers(arrays[f"regrets_{player}"], table.num_sequences)
    table.sums = _numbers(arrays[f"sums_{player}"], table.num_sequences)
    table.visits = _numbers(arrays[f"visits_{player}"], len(table) if table.prefers else 0)
    table.baselines = [
        _numbers(arrays[f"baselines_{player}_{other}"], table.num_sequences) for other in range(len(table.baselines))
    ]


def _numbers(values: Floats, count: int) -> "array[float]":
    if values.dtype != np.float64 or values.shape != (count,) or not np.isfinite(values).all():
        raise ValueError(f"it holds {shown(values, 40)}, expected {count} finite numbers")
    return array("d", values.tobytes())


def _packed(labels: Sequence[Hashable]) -> npt.NDArray[np.uint8]:
    """Return labels as JSON, one a line: text arrays of numpy would take the width of the longest for each."""
    text = "\n".join(to_json(encode(label)) for label in labels)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _unpacked(packed: npt.NDArray[Any]) -> list[Hashable]:
    text = packed.astype(np.uint8).tobytes().decode()
    return [decode(from_json(line)) for line in text.split("\n")] if text else []
