"""Games and strategies in other people's formats: files, networkx, OpenSpiel, pictures.

The names below are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .drawing import draw, format_dot, write_dot, write_drawing
    from .efg_reader import parse_efg, read_efg
    from .efg_writer import format_efg, write_efg
    from .graphml import format_graphml, parse_graphml, read_graphml, write_graphml
    from .matrix_file import read_matrices, write_matrices
    from .node_link import format_json, parse_json, read_json, write_json
    from .openspiel import game_from_openspiel
    from .openspiel_policies import policy_from_strategies, profile_from_policy, strategy_from_policy

__all__ = [
    "draw",
    "format_dot",
    "format_efg",
    "format_graphml",
    "format_json",
    "game_from_openspiel",
    "parse_efg",
    "parse_graphml",
    "parse_json",
    "policy_from_strategies",
    "profile_from_policy",
    "read_efg",
    "read_graphml",
    "read_json",
    "read_matrices",
    "strategy_from_policy",
    "write_dot",
    "write_drawing",
    "write_efg",
    "write_graphml",
    "write_json",
    "write_matrices",
]

_MODULES = {
    "drawing": ("draw", "format_dot", "write_dot", "write_drawing"),
    "efg_reader": ("parse_efg", "read_efg"),
    "efg_writer": ("format_efg", "write_efg"),
    "graphml": ("format_graphml", "parse_graphml", "read_graphml", "write_graphml"),
    "matrix_file": ("read_matrices", "write_matrices"),
    "node_link": ("format_json", "parse_json", "read_json", "write_json"),
    "openspiel": ("game_from_openspiel",),
    "openspiel_policies": ("policy_from_strategies", "profile_from_policy", "strategy_from_policy"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
