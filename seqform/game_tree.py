"""Extensive-form games as checked networkx trees."""

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

import lazy_loader

from .budget import TREE_NODE, Budget, Watch
from .checks import is_number, is_whole
from .display import Displayed
from .enumeration import Enumeration, enumerate_game
from .errors import InvalidGameError, shown
from .histories import describe_path, walk
from .labels import A_LABEL, is_label, is_listing
from .rules import CHANCE, MAX_PLAYERS, TERMINAL, Number, Rules, check_rules, public_labels

if TYPE_CHECKING:
    import networkx as nx

    DiGraph = nx.DiGraph[Any]
else:
    # Importing networkx takes a third of the time of importing this library, and most games do not need it.
    nx = lazy_loader.load("networkx")
    DiGraph = Any


class GameTree(Displayed):
    """A checked view of a networkx arborescence as an extensive-form game.

    Parameters
    ----------
    graph : networkx.DiGraph
        An arborescence. An inner node has the attribute ``player`` (0, 1, … or ``CHANCE`` = −1). A decision node
        also has ``infoset``: any hashable, unique among the player's infosets. A leaf has ``payoffs``, one number
        per player. An edge has ``action``: any hashable, distinct among siblings. Below a chance node it also has
        ``prob``. Numbers are ``int``, ``float``, ``fractions.Fraction`` or ``decimal.Decimal``. The order of a
        node's out-edges is the order of its actions. Either all inner nodes or none have the attribute ``public``,
        the label of the public state (see :class:`~treeplex.seqform.rules.Rules`). The graph is neither changed nor
        copied.

    Attributes
    ----------
    graph : networkx.DiGraph
    root : hashable
        The root node.

    Raises
    ------
    InvalidGameError
        If the graph is not an arborescence, an attribute is missing or of the wrong kind, chance probabilities do not
        sum to one within 1e-9, the nodes of an infoset differ in their actions, or a payoff is not finite. The message
        names the offending node by its action path, or by its id if no path leads to it.
    ImperfectRecallError
        If a player forgets; the message names the infoset and two histories that differ in the player's own past.

    Notes
    -----
    A tree also implements :class:`~treeplex.seqform.rules.Rules`, with node ids as states. So the same code builds the
    sequence form of a tree and of streamed rules.

    You may change the graph of a tree: each game, sequence form or file made from the tree checks the graph again and
    uses its current state. A :class:`~treeplex.seqform.game.Game` keeps a read-only copy (:meth:`frozen`), so later
    changes do not affect the game.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import GameTree
    >>> graph = nx.DiGraph()
    >>> graph.add_node("root", player=0, infoset="choose")
    >>> graph.add_node("left", payoffs=(1, -1))
    >>> graph.add_node("right", payoffs=(0, 0))
    >>> graph.add_edge("root", "left", action="l")
    >>> graph.add_edge("root", "right", action="r")
    >>> GameTree(graph).num_players
    2
    """

    shown_by = "treeplex.seqform.interchange.game_display:tree_blocks"

    def __init__(self, graph: DiGraph) -> None:
        self.graph = graph
        self._fixed = False  # whether the graph cannot change, permanently or during a walk
        self._enumeration: Enumeration | None = None  # only for a frozen tree
        self._followers: tuple[Any, dict[Hashable, Hashable]] = (None, {})
        self._enumerate()

    def check(self) -> "GameTree":
        """Check every node and edge of the graph in its current state, and return the tree.

        Raises
        ------
        InvalidGameError
            As for the constructor.
        """
        if not self._fixed:
            self.root: Hashable = _find_root(self.graph)
            self._num_players = self._check_nodes()
        return self

    def _enumerate(self) -> Enumeration:
        self.check()
        before, self._fixed = self._fixed, True  # the walk reads the root and the players: one check is enough
        try:
            return enumerate_game(self)
        finally:
            self._fixed, self._followers = before, (None, {})

    @property
    def enumeration(self) -> Enumeration:
        """The treeplexes and leaves of the tree in its current state."""
        return self._enumerate() if self._enumeration is None else self._enumeration

    @property
    def num_players(self) -> int:
        """Number of players, not counting chance."""
        return self.check()._num_players

    def freeze(self) -> "GameTree":
        """Make the graph read-only in its current state, and return the tree.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
            If the graph is no longer a game.
        """
        if self._enumeration is None:
            self._enumeration = self._enumerate()
            _fix(self.graph)
            self._fixed = True
        return self

    def frozen(self) -> "GameTree":
        """Return a read-only copy of the tree in its current state.

        A frozen tree returns itself. To change the tree of a game, copy its graph with
        ``networkx.DiGraph(game.tree.graph)`` and create a new game from the copy.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
            If the graph is no longer a game.

        Examples
        --------
        >>> from treeplex import load_game
        >>> tree = load_game("kuhn").tree
        >>> tree.frozen() is tree
        True
        >>> tree.graph.nodes[tree.root]["player"] = 0
        Traceback (most recent call last):
        ...
        treeplex.seqform.errors.InvalidGameError: the tree of a game is read-only: change a copy of its graph, ...
        """
        return self if self._enumeration is not None else self._of_own_graph(_copied(self.graph))

    @classmethod
    def _of_own_graph(cls, graph: DiGraph) -> "GameTree":
        """Return the frozen tree of a graph to which no other reference exists."""
        tree = cls.__new__(cls)
        tree.graph, tree._fixed, tree._enumeration, tree._followers = graph, False, None, (None, {})
        return tree.freeze()

    @property
    def num_nodes(self) -> int:
        """Number of nodes, including the root and the leaves."""
        return self.graph.number_of_nodes()

    def __repr__(self) -> str:
        return f"GameTree(num_players={self._num_players}, num_nodes={self.num_nodes})"

    @classmethod
    def from_rules(cls, rules: Rules, memory: int | str | None = None, *, frozen: bool = False) -> "GameTree":
        """Build the tree of a game from its rules; nodes are numbered depth first from 0.

        A tree takes about one kilobyte per node. A sequence form built directly from rules takes much less.

        Parameters
        ----------
        rules : Rules
        memory : int or str, optional
            The memory budget, as for :func:`~treeplex.seqform.enumeration.enumerate_game`.
        frozen : bool
            Whether the graph is read-only; see :meth:`frozen`.

        Returns
        -------
        GameTree

        Raises
        ------
        InvalidGameError, ImperfectRecallError, GameTooLargeError, InvalidMemoryError
            As :func:`~treeplex.seqform.enumeration.enumerate_game`.
        """
        check_rules(rules)
        budget = Budget(memory)
        budget.admit(rules, tree=True)
        try:
            tree = (cls._of_own_graph if frozen else cls)(cls._written_out(rules, budget))
        except (TypeError, ValueError) as error:
            if not isinstance(error, InvalidGameError):
                enumerate_game(rules, memory=memory)  # raises an error that names the history
            raise
        if tree.num_players != rules.num_players:
            enumerate_game(rules, memory=memory)
        return tree

    @staticmethod
    def _written_out(rules: Rules, budget: Budget) -> DiGraph:
        graph: DiGraph = nx.DiGraph()
        label_of = public_labels(rules)
        watch = Watch(budget, lambda: TREE_NODE * len(graph))
        for history in walk(rules, watch, leaves_first=False):
            state, before = history.state, history.before
            attributes: dict[str, Any] = {"player": history.player}
            if history.player == TERMINAL:
                payoffs = rules.payoffs(state)
                attributes = {"payoffs": tuple(payoffs) if is_listing(payoffs) else payoffs}
            elif history.player != CHANCE:
                attributes["infoset"] = rules.infoset(state)
            if label_of is not None and history.player != TERMINAL:
                attributes["public"] = label_of(state)
            graph.add_node(history.number, **attributes)
            if before is not None:
                drawn = {"prob": history.probability} if before.player == CHANCE else {}
                graph.add_edge(before.number, history.number, action=history.action, **drawn)
        return graph

    def action_path(self, node: Hashable) -> tuple[Hashable, ...]:
        """Return the actions from the root to a node."""
        actions: list[Hashable] = []
        while node != self.root:
            (parent,) = self.graph.predecessors(node)
            actions.append(self.graph.edges[parent, node].get("action", "?"))
            node = parent
        return tuple(reversed(actions))

    # The members of Rules, with node ids as states.

    def initial_state(self) -> Hashable:
        """Return the root."""
        return self.check().root

    def player(self, state: Hashable) -> int:
        """Return who moves at a node; see :meth:`Rules.player <treeplex.seqform.rules.Rules.player>`."""
        who: int = self.graph.nodes[state].get("player", TERMINAL)
        return who

    def actions(self, state: Hashable) -> tuple[Hashable, ...]:
        """Return the actions at a decision node."""
        return tuple(edge["action"] for edge in self.graph.adj[state].values())

    def chance_outcomes(self, state: Hashable) -> list[tuple[Hashable, Number]]:
        """Return the outcomes of a chance node, with their probabilities."""
        return [(edge["action"], edge["prob"]) for edge in self.graph.adj[state].values()]

    def child(self, state: Hashable, action: Hashable) -> Hashable:
        """Return the node that an action leads to."""
        owner, followers = self._followers
        if (
            owner is not state or not self._fixed
        ):  # a walk visits all children of a node in turn: they share one dictionary
            followers = {edge["action"]: child for child, edge in self.graph.adj[state].items()}
            self._followers = (state, followers)
        return followers[action]

    def infoset(self, state: Hashable) -> Hashable:
        """Return the label of a decision node's infoset."""
        label: Hashable = self.graph.nodes[state]["infoset"]
        return label

    @property
    def public_state(self) -> Callable[[Hashable], Hashable] | None:
        """The function from an inner node to the label of its public state; ``None`` without that attribute."""
        return (lambda state: self.graph.nodes[state]["public"]) if "public" in self.graph.nodes[self.root] else None

    def payoffs(self, state: Hashable) -> Sequence[Number]:
        """Return the payoffs at a leaf."""
        payoffs: Sequence[Number] = _as_tuple(self.graph.nodes[state]["payoffs"])
        return payoffs

    def payoff_range(self) -> tuple[float, float]:
        """Return player 0's smallest and largest payoff at the leaves."""
        paid = [float(self.payoffs(node)[0]) for node, degree in self.graph.out_degree() if not degree]
        return min(paid), max(paid)

    def _refuse(self, node: Hashable, message: str) -> NoReturn:
        raise InvalidGameError(f"{describe_path(self.action_path(node))} (node {shown(node)}) {message}")

    def _check_nodes(self) -> int:
        """Check each node and edge separately, and return the number of players."""
        adjacency = self.graph.adj
        labelled = "public" in self.graph.nodes[self.root]
        num_players: int | None = None
        players: dict[int, Hashable] = {}
        for node, attributes in self.graph.nodes(data=True):
            if not is_label(node):
                self._refuse(node, f"is called {shown(node)}, expected {A_LABEL}")
            if not adjacency[node]:
                payoffs = self._checked_payoffs(node, attributes)
                if num_players is None:
                    num_players = len(payoffs)
                    if num_players > MAX_PLAYERS:
                        self._refuse(node, f"has {num_players:,} payoffs, expected at most {MAX_PLAYERS}")
                elif len(payoffs) != num_players:
                    self._refuse(
                        node, f"has {len(payoffs)} payoffs, but other leaves have {num_players}: one per player"
                    )
            else:
                who = self._checked_player(node, attributes)
                if who != CHANCE:
                    players.setdefault(who, node)
                self._check_edges(node, who)
                if ("public" in attributes) != labelled:
                    self._refuse_public(node, labelled)
                if labelled and not is_label(attributes["public"]):
                    self._refuse(node, f"has public state {shown(attributes['public'])}, expected {A_LABEL}")
        assert num_players is not None  # a finite arborescence has a leaf
        for who, node in players.items():
            if who >= num_players:
                self._refuse(node, f"has player {who}, but leaves have payoffs for players 0 to {num_players - 1}")
        return num_players

    def _checked_payoffs(self, node: Hashable, attributes: dict[str, Any]) -> Sequence[Number]:
        if "payoffs" not in attributes:
            self._refuse(node, "is a leaf without the attribute 'payoffs': expected one number per player")
        if "player" in attributes:
            self._refuse(
                node, f"is a leaf with player {shown(attributes['player'])}: a player needs at least one action"
            )
        payoffs = _as_tuple(attributes["payoffs"])
        if not isinstance(payoffs, tuple | list) or not payoffs or not all(map(_is_number, payoffs)):
            self._refuse(node, f"has payoffs {shown(payoffs)}, expected a tuple of one finite number per player")
        return payoffs

    def _checked_player(self, node: Hashable, attributes: dict[str, Any]) -> int:
        if "payoffs" in attributes:
            self._refuse(node, "is an inner node with payoffs: payoffs belong on leaves")
        if "player" not in attributes:
            self._refuse(node, "is an inner node without the attribute 'player': expected 0, 1, … or CHANCE (-1)")
        who = attributes["player"]
        if not is_whole(who) or who < CHANCE:
            self._refuse(node, f"has player {shown(who)}, expected 0, 1, … or CHANCE (-1)")
        if who != CHANCE:
            if "infoset" not in attributes:
                self._refuse(node, f"is a decision of player {who} without the attribute 'infoset': expected a label")
            if not is_label(attributes["infoset"]):
                self._refuse(node, f"has infoset {shown(attributes['infoset'])}, expected {A_LABEL}")
        return int(who)

    def _refuse_public(self, node: Hashable, labelled: bool) -> NoReturn:
        has, other = ("no", "has one") if labelled else ("the", "has none")
        self._refuse(node, f"has {has} attribute 'public', but the root {other}: all inner nodes must have it, or none")

    def _check_edges(self, node: Hashable, who: int) -> None:
        actions: set[Hashable] = set()
        for child, edge in self.graph.adj[node].items():
            if "action" not in edge:
                self._refuse(
                    node, f"has an edge to node {shown(child)} without the attribute 'action': expected a label"
                )
            if not is_label(edge["action"]):
                self._refuse(node, f"has action {shown(edge['action'])}, expected {A_LABEL}")
            if edge["action"] in actions:
                self._refuse(node, f"has two edges with action {shown(edge['action'])}: actions must be distinct")
            actions.add(edge["action"])
            if who == CHANCE:
                if "prob" not in edge:
                    self._refuse(node, f"has chance outcome {shown(edge['action'])} without the attribute 'prob'")
                if not _is_number(edge["prob"]):
                    self._refuse(
                        node,
                        f"gives outcome {shown(edge['action'])} probability {shown(edge['prob'])}, expected a "
                        "number from 0 to 1",
                    )


class _Fixed(dict[Any, Any]):
    """The read-only attributes of a frozen tree. ``copy``, which networkx also calls, returns a writable dictionary."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise InvalidGameError(
            "the tree of a game is read-only: change a copy of its graph, networkx.DiGraph(tree.graph), and create "
            "a game from the copy"
        )

    __setitem__ = __delitem__ = update = pop = popitem = setdefault = clear = __ior__ = _refuse

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Fixed, (dict(self),)


def _copied(graph: Any) -> DiGraph:
    """Return a copy of a graph: nodes, edges and attributes, in the same order."""
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        _find_root(graph)  # raises an error if the graph is not an arborescence
    copy: DiGraph = nx.DiGraph()
    copy.graph.update(graph.graph)
    copy.add_nodes_from(graph.nodes(data=True))
    copy.add_edges_from(graph.edges(data=True))
    return copy


def _fix(graph: Any) -> None:
    """Make a graph and the attributes of its nodes and edges read-only."""
    nodes, successors, predecessors = (
        graph._node,
        graph._succ,
        graph._pred,
    )  # the views of networkx accept no other values
    for node, attributes in nodes.items():
        fixed = attributes
        if "payoffs" in attributes:  # payoffs may be a list or a vector
            fixed = {**attributes, "payoffs": tuple(_as_tuple(attributes["payoffs"]))}
        nodes[node] = _Fixed(fixed)
    for node, followers in successors.items():
        for follower, attributes in followers.items():
            followers[follower] = predecessors[follower][node] = _Fixed(attributes)
    graph.graph = _Fixed(graph.graph)
    nx.freeze(graph)


def _as_tuple(payoffs: Any) -> Any:
    """Return a numpy vector as a tuple, and any other value unchanged."""
    return tuple(payoffs.tolist()) if getattr(payoffs, "ndim", 0) == 1 and hasattr(payoffs, "tolist") else payoffs


def _is_number(value: Any) -> bool:
    return is_number(value) or isinstance(value, Decimal)


def _find_root(graph: Any) -> Hashable:
    """Return the root of an arborescence, or raise an error that names the offending node."""
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise InvalidGameError(f"a {type(graph).__name__} is not a game tree: expected a networkx.DiGraph")
    if not len(graph):
        raise InvalidGameError("the tree is empty: expected at least a root with payoffs")
    roots = [node for node, degree in graph.in_degree() if degree == 0]
    if not nx.is_arborescence(graph):
        _refuse_graph(graph, roots)
    root: Hashable = roots[0]
    return root


def _refuse_graph(graph: Any, roots: list[Hashable]) -> NoReturn:
    """Raise the error that names the node at which a graph is not an arborescence."""
    try:
        cyclic = nx.find_cycle(graph)[0][0]
    except nx.NetworkXNoCycle:
        for node, degree in graph.in_degree():
            if degree > 1:
                parents = ", ".join(shown(parent, 40) for parent in list(graph.predecessors(node))[:3])
                raise InvalidGameError(
                    f"node {shown(node)} has {degree} parents ({parents}): a node of a tree has at most one"
                ) from None
        raise InvalidGameError(
            f"node {shown(roots[1])} cannot be reached from the root {shown(roots[0])}: a tree has one node without "
            "parents"
        ) from None
    which = "a tree has no cycle"
    if not roots:
        which = "a tree has a root without parents"
    elif cyclic not in nx.descendants(graph, roots[0]):
        raise InvalidGameError(f"node {shown(cyclic)} lies on a cycle that the root {shown(roots[0])} does not reach")
    raise InvalidGameError(f"node {shown(cyclic)} lies on a cycle: {which}")
