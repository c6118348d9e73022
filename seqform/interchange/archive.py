"""Arrays and metadata in one ``.npz`` file: no pickle in it, and nothing that fills the memory by surprise."""

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GameFileError
from .encoding import from_json, to_json
from .files import check_memory, regular_size, writing_whole

#: Archives of up to so many bytes unpacked are read whatever they are packed to …
ALWAYS_READ = 2**28
#: … and larger ones up to so many times their own size.
MAX_RATIO = 100
#: Bytes of memory for each byte unpacked: metadata, of four bytes a character, may be empty objects alone.
_EXPANSION = 8

_KINDS = "biufUS"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def write_archive(path: str | Path, metadata: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays and metadata as one ``.npz`` file, whole or not at all.

    Parameters
    ----------
    path : path-like
    metadata : mapping
        What JSON takes; it becomes the text ``metadata``.
    arrays : mapping of str to ndarray
        Of numbers or text.

    Raises
    ------
    OSError, TypeError, ValueError
        If the file cannot be written.
    """
    contents: dict[str, Any] = {"metadata": np.array(to_json(metadata)), **arrays}
    unpacked = sum(array.nbytes for array in contents.values())
    with writing_whole(path) as passing:
        with passing.open("wb") as file:
            np.savez_compressed(file, **contents)
        if passing.is_file() and unpacked > max(ALWAYS_READ, (MAX_RATIO - 1) * passing.stat().st_size):
            with passing.open("wb") as file:  # packed so well that a reader would take it for a trap
                np.savez(file, **contents)


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read an ``.npz`` file that nobody vouches for.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict, dict of str to ndarray
        The metadata, empty if there is none, and the other arrays; these are read-only.

    Raises
    ------
    FileNotFoundError
    GameTooLargeError
        If it may take more memory than the budget for building a game.
    Exception
        Of any type, if the file cannot be read, is no such archive or a damaged one, holds Python objects, or unpacks
        to more than :data:`ALWAYS_READ` bytes and :data:`MAX_RATIO` times its size.
    """
    size = regular_size(path)
    with Path(path).open("rb") as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        if unpacked > max(ALWAYS_READ, MAX_RATIO * size):
            raise ValueError(f"it has {size:,} bytes and would unpack to {unpacked:,}, which is taken for a trap")
        check_memory(_EXPANSION * unpacked)
        arrays: dict[str, npt.NDArray[Any]] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if member.compress_type not in _METHODS or name in arrays:
                raise ValueError(f"{name} is there twice, or packed by another method than deflate")
            with archive.open(member) as packed:  # a size that lies is found out before more is unpacked
                arrays[name] = _array(packed.read(member.file_size + 1), name)
    metadata = arrays.pop("metadata", None)
    if metadata is None:
        return {}, arrays
    if metadata.dtype.kind != "U" or metadata.shape:
        raise ValueError("its metadata is no text")
    try:
        read = from_json(str(metadata))
    except GameFileError as error:
        raise GameFileError(f"its metadata cannot be read: {error}") from None
    if not isinstance(read, dict):
        raise ValueError("its metadata is no JSON object")
    return read, arrays


def _array(content: bytes, name: str) -> npt.NDArray[Any]:
    """Read one array, whose header must say just what is there; numpy would take memory for what it says."""
    stream = BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"{name} is of version {version} of numpy's format, expected 1.0 or 2.0")
    shape, fortran_order, dtype = read_header[version](stream)
    first = stream.tell()
    count = 1
    for length in shape:
        count *= length
    if dtype.kind not in _KINDS or min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - first:
        raise ValueError(f"{name} has shape {shape} and type {dtype}: no array of numbers, or not what is there")
    if not count or not dtype.itemsize:
        return np.empty(shape, dtype)
    array = np.frombuffer(content, dtype, count, first)
    return array.reshape(shape, order="F" if fortran_order else "C")
