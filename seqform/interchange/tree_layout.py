"""Where the nodes of a drawn tree stand: siblings side by side, parents above the middle of their children."""

import itertools
from collections.abc import Hashable, Mapping

from ..game_tree import GameTree


def depths_of_nodes(tree: GameTree) -> dict[Hashable, int]:
    """Return how many edges lead to each node, in the order of a depth-first walk."""
    depths: dict[Hashable, int] = {}
    stack = [(tree.root, 0)]
    while stack:
        node, depth = stack.pop()
        depths[node] = depth
        stack.extend((child, depth + 1) for child in reversed(list(tree.graph.adj[node])))
    return depths


def tidy_positions(
    tree: GameTree, node_sizes: Mapping[Hashable, float], edge_sizes: Mapping[Hashable, float], margin: float
) -> dict[Hashable, float]:
    """Return each node's position along its level.

    Parameters
    ----------
    tree : GameTree
    node_sizes : mapping
        What each node takes up along its level.
    edge_sizes : mapping
        What siblings must be apart for the label of the edge to each node, at least.
    margin : float
        Between neighbours.

    Returns
    -------
    dict
        From 0; a node's children stand as close as their subtrees' outlines allow.

    Notes
    -----
    Reingold and Tilford, "Tidier drawings of trees", IEEE Transactions on Software Engineering 7 (1981): subtrees are
    laid out from below, each as an outline, the least and the greatest position on each level, and put side by side.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.tree_layout import tidy_positions
    >>> tree = load_game("matching_pennies").tree
    >>> sizes = dict.fromkeys(tree.graph, 1.0)
    >>> tidy_positions(tree, sizes, sizes, margin=0.0)
    {0: 2.0, 1: 1.0, 2: 0.5, 3: 1.5, 4: 3.0, 5: 2.5, 6: 3.5}
    """
    order = list(depths_of_nodes(tree))
    offsets: dict[Hashable, float] = {tree.root: 0.0}  # from the parent
    outlines: dict[Hashable, list[tuple[float, float]]] = {}  # by level from the node down, relative to the node
    for node in reversed(order):
        children = list(tree.graph.adj[node])
        half = node_sizes[node] / 2
        if not children:
            outlines[node] = [(-half, half)]
            continue
        places = [0.0]
        merged = outlines.pop(children[0])
        for previous, child in itertools.pairwise(children):
            outline = outlines.pop(child)
            apart = max(right - left for (_, right), (left, _) in zip(merged, outline, strict=False)) + margin
            labels = (edge_sizes[previous] + edge_sizes[child]) / 2
            place = max(apart, places[-1] + labels)
            places.append(place)
            moved = [(left + place, right + place) for left, right in outline]
            merged = [(first[0], second[1]) for first, second in zip(merged, moved, strict=False)] + (
                merged[len(moved) :] or moved[len(merged) :]
            )
        middle = (places[0] + places[-1]) / 2
        for child, place in zip(children, places, strict=True):
            offsets[child] = place - middle
        outlines[node] = [(-half, half), *((left - middle, right - middle) for left, right in merged)]
    least = min(left for left, _ in outlines[tree.root])
    positions: dict[Hashable, float] = {tree.root: -least}
    for node in order:
        for child in tree.graph.adj[node]:
            positions[child] = positions[node] + offsets[child]
    return {node: positions[node] for node in order}
