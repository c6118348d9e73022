"""A solved patrol in one file: its map and declaration, both sides' strategies, and its certificate."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ....seqform.errors import GameFileError, UnsupportedProblemError, one_line, shown
from ....seqform.interchange.encoding import json_ready
from ....seqform.interchange.files import naming, read_archive, refusing_damaged, refusing_unwritable, write_archive
from ....seqform.strategy import Profile, Strategy
from ....seqform.strategy_files import FORMAT, VERSION
from .clock import Clock
from .commitment import Commitment
from .declarations import KINDS
from .game import PatrolGame, patrol_of
from .patrol import Patrol
from .road_map import BOTH_WAYS, RoadMap
from .route_mixtures import Mixture
from .uncertainty import Uncertainty

#: The version of the declaration; strategies have the format of strategy files.
_PLAN = 1
_ARRAYS = ("sources", "targets", "times")
_MAP = ("nodes", "attributes", "ids", "streets", "notes", "geographic", "crs", "kept", "shapes", "reading")


@dataclass(frozen=True, eq=False)
class PatrolPlan:
    """A solved patrol.

    Parameters
    ----------
    game : PatrolGame
    profile : Profile
    routes : Mixture, optional
        The joint routes of the units, if only the first detection counts: ``solution.state.units``.
    certificate : mapping, optional
        Information on the solution, such as its method and proven bounds.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, or is that of a robust plan.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.plan_file import PatrolPlan
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> PatrolPlan(game, solve(Nash(game)).profile).save("plan.npz")
    >>> PatrolPlan.load("plan.npz").game.fingerprint == game.fingerprint
    True
    """

    game: PatrolGame
    profile: Profile
    certificate: Mapping[str, Any] = field(default_factory=dict)
    routes: Mixture | None = None

    def __post_init__(self) -> None:
        if type(patrol_of(self.game)) is not Patrol:
            raise UnsupportedProblemError(
                "the game is that of a robust plan, expected the declared one: PatrolPlan(plan.game, plan.profile)"
            )

    @property
    def patrol(self) -> Patrol:
        """The patrol of the game."""
        return patrol_of(self.game)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to a self-contained file (``.npz``), atomically.

        It is also a strategy file for every function that accepts one.

        Raises
        ------
        GameFileError
            If the file has another suffix or cannot be written.
        """
        if Path(path).suffix.lower() != ".npz":
            raise GameFileError(f"{one_line(fspath(path))}: a plan can only be written as .npz")
        patrol, roads = self.patrol, self.patrol.map
        names = [each.name for each in dataclasses.fields(patrol) if each.name not in ("map", "table")]
        declared = {name: _plain(getattr(patrol, name), roads) for name in names}
        arrays = {name: getattr(roads, name) for name in _ARRAYS}
        arrays |= {} if roads.places is None else {"places": roads.places}
        arrays |= {f"behaviour_{strategy.player}": strategy.behaviour for strategy in self.profile}
        arrays |= {} if self.routes is None else {"routes": self.routes.saved()}
        metadata = {
            "format": FORMAT,
            "version": VERSION,
            "game": patrol.spec if patrol.spec.endswith(".toml") else "",
            "fingerprint": self.game.fingerprint,
            "players": [0, 1],
            "plan": _PLAN,
            "patrol": declared,
            "map": {name: _plain(getattr(roads, name), roads) for name in _MAP},
            "certificate": json_ready(dict(self.certificate)),
        }
        with refusing_unwritable(path):
            write_archive(fspath(path), metadata, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "PatrolPlan":
        """Read a plan.

        Raises
        ------
        GameFileError
            If the file is not a plan, or is damaged.
        """
        name = fspath(path)
        with refusing_damaged(name, "is not the plan of a patrol, or is damaged", GameFileError), naming(name):
            metadata, arrays = read_archive(name)
            if metadata.get("format") != FORMAT or metadata.get("plan") != _PLAN:
                raise GameFileError("expected the plan of a patrol, written by treeplex patrol … --out plan.npz")
            game = PatrolGame(_patrol(metadata, arrays))
            strategies = [Strategy(game, player, arrays[f"behaviour_{player}"]) for player in range(2)]
            if game.fingerprint != metadata.get("fingerprint"):
                raise GameFileError("the strategies belong to a patrol other than the declared one")
            size = game.sequence_form.treeplexes[1].num_sequences
            routes = Mixture.restored(arrays["routes"], size) if "routes" in arrays else None
            return cls(game, Profile(strategies), dict(metadata.get("certificate") or {}), routes)


def _patrol(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> Patrol:
    said = metadata["map"]
    roads = RoadMap(
        nodes=tuple(said["nodes"]),
        **{name: np.array(arrays[name]) for name in _ARRAYS},
        places=np.array(arrays["places"]) if "places" in arrays else None,
        attributes={name: tuple(values) for name, values in said["attributes"].items()},
        ids=said["ids"],
        streets=tuple(said["streets"]),
        notes=tuple(said["notes"]),
        geographic=bool(said.get("geographic", False)),  # plans of earlier versions lack it and what follows
        crs=str(said.get("crs", "")),
        kept=tuple(said.get("kept", ())),
        shapes={int(move): points for move, points in said.get("shapes", {}).items()},
        reading=said.get("reading", {}),
    )
    declared = {name: value for name, value in metadata["patrol"].items() if name != "table"}
    for name, kind in KINDS.items():
        declared[name] = [kind(**one) for one in declared.get(name, ())]  # scenarios are newer than the format
    if declared.get("uncertainty") is not None:
        declared["uncertainty"] = Uncertainty(**declared["uncertainty"])
    if declared.get("commitment") is not None:
        declared["commitment"] = Commitment(**declared["commitment"])
    if declared.get("clock") is not None:
        declared["clock"] = Clock(**declared["clock"])
    return Patrol(roads, **declared)


def _plain(value: Any, roads: RoadMap) -> Any:
    """Return a declaration in a form for JSON: dataclasses and mappings as objects, whose keys are nodes or edges."""
    if dataclasses.is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name), roads) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key, roads): _plain(one, roads) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one, roads) for one in value]
    if isinstance(value, str | int | float | None):
        return value
    return json.loads(json.dumps(json_ready(value), default=shown))


def _key(key: object, roads: RoadMap) -> str:
    """Return a node, an edge or another key as a string."""
    return BOTH_WAYS.join(map(str, key)) if isinstance(key, tuple) and key not in roads else str(key)
