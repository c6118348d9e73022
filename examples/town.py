"""Generate the library's fictional town, 80 streets between 50 crossings: ``python examples/town.py FILE``."""

import sys
from itertools import combinations

import networkx as nx
import numpy as np
from scipy.spatial import Delaunay

SIZE, RIVER = (1600.0, 1100.0), 620.0  # metres; the river runs from west to east at this height
CROSSINGS, STREETS = 50, 80
BRIDGES = {"Old Bridge": 150, "King's Bridge": 600, "Mill Bridge": 1000, "Rail Bridge": 1450}  # eastern position
LANDMARKS = {
    "police": (800, 760), "bank": (900, 900), "jeweller": (640, 880), "museum": (1000, 420), "town hall": (760, 1000),
    "market": (560, 720), "station": (300, 960), "harbour": (1300, 540), "hospital": (420, 300), "depot": (1250, 200),
    "north gate": (900, 1100), "east gate": (1600, 800), "south gate": (760, 0), "west gate": (0, 700),
}  # fmt: skip
FIRST = ["Abbey", "Alder", "Baker", "Castle", "Chapel", "Church", "Cooper", "Dyer", "Fox", "Garden", "High", "Linden"]
FIRST += ["Mill", "Orchard", "Potter", "Rose", "Saddler", "Tanner", "Tower", "Weaver"]
NAMES = [f"{first} {second}" for first in FIRST for second in ("Street", "Lane", "Road", "Row")]


def town(seed: int = 22) -> nx.Graph:
    random = np.random.default_rng(seed)
    places = random.random((1, 2)) * SIZE
    while len(places) < CROSSINGS:  # choose the emptiest of a few random places; few at the river
        drawn = random.random((12, 2)) * SIZE
        room = np.linalg.norm(drawn[:, None] - places, axis=2).min(axis=1) - 0.4 * abs(drawn[:, 1] - RIVER).clip(0, 90)
        places = np.vstack([places, drawn[room.argmax()]])
    near = {pair for corners in Delaunay(places).simplices.tolist() for pair in combinations(sorted(corners), 2)}
    length = {pair: float(np.linalg.norm(places[pair[0]] - places[pair[1]])) for pair in sorted(near)}
    wet = [pair for pair in length if len({places[end, 1] < RIVER for end in pair}) == 2]
    dry = sorted(length.keys() - set(wet), key=lambda pair: (length[pair], pair))
    graph, names = nx.Graph(), random.permutation(NAMES).tolist()
    for name, east in BRIDGES.items():
        pair = min(wet, key=lambda pair: abs(places[list(pair), 0].mean() - east) + length[pair])
        graph.add_edge(*pair, length=length[pair], name=name)
    graph.add_nodes_from(range(CROSSINGS))
    while graph.number_of_edges() < STREETS:  # first connect the town, then shorten the longest detours
        parted = [pair for pair in dry if not nx.has_path(graph, *pair)]
        around = {pair: nx.dijkstra_path_length(graph, *pair, "length") for pair in dry if not parted}
        pair = parted[0] if parted else max(around, key=lambda pair: around[pair] / length[pair])
        graph.add_edge(*pair, length=length[pair], name=names.pop())
    called: dict[int, str] = {}
    for name, spot in LANDMARKS.items():
        called[min(set(graph) - set(called), key=lambda node: np.linalg.norm(places[node] - spot))] = name
    others = sorted(set(graph) - set(called), key=lambda node: places[node].tolist())
    called |= {node: f"corner {number}" for number, node in enumerate(others, 1)}
    made = nx.Graph(name="a made-up town")
    for node, name in called.items():
        x, y = places[node].round().astype(int).tolist()
        made.add_node(name, x=x, y=y)
    for one, other, street in sorted(graph.edges(data=True), key=lambda edge: edge[:2]):
        made.add_edge(called[one], called[other], name=street["name"], length=round(1.05 * street["length"]))
    return made  # streets are not quite straight


if __name__ == "__main__":
    nx.write_graphml(town(), sys.argv[1])
