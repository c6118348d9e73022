"""Strategies that a person can remember: few frequencies, few mixed infosets, few sizes of an action."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_exact_number, check_player, check_whole
from ...seqform.errors import GameTooLargeError, InvalidGameError, UnsupportedProblemError, nearest, shown
from ...seqform.game import Game
from ...seqform.parameters import About
from ...seqform.polytope import Treeplex, infoset_values
from ...seqform.strategy import Profile, check_same_game
from ..declarations import PLAYER
from ..programs.integer_program import IntegerProgram
from ..programs.linear_program import LinearProgram, ProgramBlocks
from ..saddle import PlayerView, check_player_count, zero_sum_of
from .certificate import Certificate
from .features import Feature
from .problem import Problem
from .simple_limits import Monotone, action_of, by_prefix, looked_up, misplaced, numbered, weaker_and_stronger

if TYPE_CHECKING:
    from ...seqform.public_profile import PublicProfile

#: Integer programs with more choices are not built, and are not the default.
_MOST_CHOICES, _MANY_CHOICES = 200_000, 20_000
#: Smaller probabilities, and smaller distances from the grid, are round-off.
ROUND_OFF = 1e-7


def menus_of(names: Sequence[str]) -> list[list[int]]:
    """Return for each action the places of its sizes among the names at a public state."""
    found: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        found[action_of(name)].append(place)
    return list(found.values())


@dataclass(frozen=True)
class Complexity:
    """How much of a strategy a person must remember.

    Attributes
    ----------
    infosets : int
        The infosets with several actions that the strategy reaches.
    mixed : int
        Those at which it mixes.
    off_grid : float
        The largest distance of a probability from the grid; 0 without a grid.
    sizes : int
        The largest number of sizes of one action at a public state.
    unlike : float
        The largest difference of a probability between two infosets of one class; 0 without classes.
    disorder : float
        The largest fall of a probability that must rise with strength, or rise of one that must fall; 0 without
        `monotone`.

    With classes, a class at a public state counts as one infoset.
    """

    infosets: int
    mixed: int
    off_grid: float
    sizes: int
    unlike: float = 0.0
    disorder: float = 0.0


@dataclass(frozen=True, eq=False)
class SimpleStrategy(Problem):
    r"""The best strategy that is simple enough to be remembered, or the simplest one that loses little.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    player : int
        The player of the strategy.
    steps : int, optional
        Probabilities are multiples of 1 / `steps`: with 4 they are 0, 25, 50, 75 or 100 %, and with 1 the strategy is
        pure.
    mixed : int, optional
        The largest number of infosets at which the strategy mixes.
    sizes : int, optional
        The largest number of sizes of an action that are used at one public state. Actions whose names differ only in
        a number are sizes of one action, such as ``bet 50`` and ``bet 120``.
    classes : str, mapping or callable, optional
        Infosets that must be played the same way. In a tree, a mapping of each infoset's label to its class, or a
        function of the label; a label missing from a mapping is a class. In public form, states of one class play the
        same at each public state: a mapping or a function of the private states, or the name of classes that the game
        knows, such as ``ranks``, ``suits`` or ``made`` in hold'em spots.
    monotone : str or Monotone, optional
        Actions whose probability is monotone in strength at each public state: ``"fold"`` falls, other names rise, and
        ``"fold falls, bet rises"`` states the directions. ``aggression`` stands for all actions except fold, check and
        call.
    strength : mapping, callable or str, optional
        The strength of infosets in a tree, or of private states in public form: numbers by label, or prefixes
        of labels from weak to strong, such as ``"J < Q < K"``. Hold'em spots need none: the strength of a hand is
        its equity against the other player's range at the node, in the profile of the answer.
    loss : float or Fraction, optional
        Instead of guaranteeing as much as possible, mix at as few infosets as possible, and guarantee at least the
        value of the game minus `loss`, in payoff units.

    Raises
    ------
    UnsupportedProblemError
        If nothing makes the strategy simple, the game is not constant-sum, or does not have two players, or the
        player's plans are flows; if `classes` or `monotone` is given without `steps` in a tree, or `monotone` without
        a known strength.
    InvalidGameError
        If a number is not valid.

    Notes
    -----
    For each infoset I the program chooses one of the allowed distributions over actions, c, among them all points of
    the grid, by binaries z. With the plan x, weights w of the distributions, worths u of the opponent's infosets J
    and the rows E and F of both polytopes, it is

    .. math::
        \max -f \cdot u \quad \text{such that} \quad E x = e, \quad F^T u + M^T x \ge 0,

        \sum_c w_{I,c} = x_{\sigma(I)}, \quad x_a = \sum_c c_a w_{I,c}, \quad
        0 \le w_{I,c} \le z_{I,c}, \quad \sum_c z_{I,c} = 1 .

    Infosets of one class have the same z. If an action's probability rises with strength, the sum of its shares
    :math:`c_a z_{I,c}` at each infoset is at most that at each stronger one.

    Without a grid, a distribution "mixed" has weights of its own for the actions. The relaxation is the linear program
    of an equilibrium.

    The certificate recomputes the guarantee of the strategy. Its upper bound is what the opponent's equilibrium
    strategy in the profile concedes, which no strategy can exceed, simple or not. The difference bounds the loss. HiGHS
    claims that no other simple strategy guarantees more; the message quotes this claim.

    Examples
    --------
    A pure strategy of the second player of Kuhn poker, and one whose probabilities are thirds:

    >>> from treeplex import load_game, solve
    >>> from treeplex.models.problems import SimpleStrategy
    >>> game = load_game("kuhn")
    >>> for steps in (1, 3):
    ...     print(round(solve(SimpleStrategy(game, player=1, steps=steps)).exploitability, 6))
    0.222222
    0.0
    """

    game: Game
    player: Annotated[int, PLAYER] = field(default=0, kw_only=True)
    steps: Annotated[
        int | None,
        About(
            "probabilities are multiples of 1/N: 1 for a pure strategy", minimum=1, shown="none", form="N", example="3"
        ),
    ] = field(default=None, kw_only=True)
    mixed: Annotated[int | None, About("largest number of infosets that mix", minimum=0, shown="none", form="N")] = (
        field(default=None, kw_only=True)
    )
    sizes: Annotated[
        int | None,
        About("largest number of sizes of an action at a public state", minimum=1, shown="none", form="N"),
    ] = field(default=None, kw_only=True)
    classes: Annotated[
        Any,
        About(
            "classes of infosets that play the same way: for hold'em spots ranks, suits or made",
            shown="none",
            form="C",
            example="ranks",
        ),
    ] = field(default=None, kw_only=True)
    monotone: Annotated[
        Any,
        About(
            "actions whose probability is monotone in strength: fold falls, others such as aggression rise",
            shown="none",
            form="ACTIONS",
            example="fold",
        ),
    ] = field(default=None, kw_only=True)
    strength: Annotated[
        Any,
        About("prefixes of infoset names from weak to strong, for monotone in trees", shown="none", form="A<B<…"),
    ] = field(default=None, kw_only=True)
    loss: Annotated[
        float | Fraction | None,
        About(
            "find the fewest mixed infosets among strategies that lose at most this, in payoff units",
            minimum=0,
            shown="none",
            form="E",
        ),
    ] = field(default=None, kw_only=True)

    name: ClassVar[str] = "simplify"
    some_of: ClassVar[tuple[str, ...]] = ("steps", "mixed", "sizes", "classes", "monotone", "loss")
    question: ClassVar[str] = "Which strategy of player {player} is {problem.wanted}?"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.SIMPLE})
    error_proves: ClassVar[bool] = False
    exploitability_meaning: ClassVar[str] = "lost at most, against the value of the game"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_stated_players()
        object.__setattr__(self, "player", check_player(self.player, 2, InvalidGameError))
        for name, least in (("steps", 1), ("mixed", 0), ("sizes", 1)):
            number = getattr(self, name)
            if number is not None:
                number = check_whole(number, f"{self.name}: {name}", InvalidGameError, f"[{least}, inf)")
                object.__setattr__(self, name, number)
        if self.loss is not None:
            loss = check_exact_number(self.loss, f"{self.name}: loss", InvalidGameError, "[0, inf)")
            object.__setattr__(self, "loss", loss)
        if all(getattr(self, name) is None for name in self.some_of):
            raise UnsupportedProblemError(
                f"{self.name} needs a limit on the strategy: steps, mixed, sizes, classes, monotone or loss, such as "
                "steps=4"
            )
        if self.monotone is not None:
            object.__setattr__(self, "monotone", Monotone.parse(self.monotone))
        elif self.strength is not None:
            raise UnsupportedProblemError(f"{self.name}: strength is for monotone, such as monotone='fold'")
        if isinstance(self.strength, str):
            object.__setattr__(self, "strength", by_prefix(self.strength))
        if self.loss is not None and self.mixed is not None:
            raise UnsupportedProblemError(
                f"{self.name}: loss minimises the number of mixed infosets, so mixed cannot be given too"
            )

    def _posed_on(self, game: Game) -> Game:
        check_player_count(self.name, game)
        return zero_sum_of(self.name, game)

    def check_game(self) -> None:
        """Reject plans that are flows, and classes, actions or strengths that the game does not have."""
        game, form = self.game, self.game.public_form
        if form is None and not self.view.own.single_parent:
            raise UnsupportedProblemError(f"{self.name}: plans of player {self.player} of {game.spec} are flows")
        if form is None and self.steps is None:
            for name in ("classes", "monotone"):
                if getattr(self, name) is not None:
                    raise UnsupportedProblemError(f"{self.name}: {name} needs steps in a tree, such as steps=4")
        classes = game.state_classes or {}
        if isinstance(self.classes, str) and self.classes not in classes:
            known = ", ".join(classes)
            raise UnsupportedProblemError(
                f"{self.name}: {game.spec} has no classes named {shown(self.classes)}"
                + nearest(self.classes, classes)
                + (f", expected {known}" if known else "; in Python, classes can be a mapping of infosets")
            )
        if self.monotone is not None:
            if form is None:
                names = {str(label) for labels in self.view.own.action_labels for label in labels}
            else:
                own = np.flatnonzero(form.players == self.player)
                names = {str(form.actions[child]) for node in own.tolist() for child in form.children[node].tolist()}
            self.monotone.check(names)
            if self.strength is None and game.state_strengths is None:
                raise UnsupportedProblemError(
                    f"{self.name}: monotone needs the strength of the infosets of {game.spec}: pass strength, such as "
                    '"J<Q<K" for infosets whose names begin with these letters'
                )
        if form is None and (self.classes is not None or self.monotone is not None):
            _ = self.infoset_classes, self.infoset_strengths()  # read them now

    @property
    def wanted(self) -> str:
        """The limits in words."""
        limits = [] if self.steps is None else ["pure" if self.steps == 1 else f"in steps of 1/{self.steps}"]
        limits += [] if self.mixed is None else [f"mixed at no more than {self.mixed} infosets"]
        limits += [] if self.sizes is None else [f"limited to {self.sizes} sizes of an action at each public state"]
        limits += [] if self.classes is None else ["equal within classes"]
        limits += [] if self.monotone is None else ["monotone in strength"]
        told = ", ".join(limits)
        if self.loss is None:
            return f"the best of those that are {told}"
        return f"mixed at the fewest infosets of those that lose at most {self.loss}" + (
            f" and are {told}" if told else ""
        )

    @cached_property
    def view(self) -> PlayerView:
        """The game from the player's seat."""
        return PlayerView(self.game, self.player)

    @property
    def usual_method(self) -> str:  # type: ignore[override]
        """The default method: ``branch-and-bound``, or ``rounding`` on public forms and for many distributions."""
        is_large = self.game.public_form is not None or self._num_choices > _MANY_CHOICES
        return "rounding" if is_large else "branch-and-bound"

    # The integer program

    @property
    def _num_choices(self) -> int:
        """The number of distributions from which the integer program chooses."""
        steps = self.steps
        counts = np.diff(self.view.own.offsets).tolist()
        return sum(count + 1 if steps is None else comb(steps + count - 1, count - 1) for count in counts if count > 1)

    @cached_property
    def choices(self) -> "Choices":
        """The distributions among which the program chooses at each infoset.

        Raises
        ------
        GameTooLargeError
            If there are more than 200,000 distributions.
        """
        form = self.game.public_form
        # A large spot's sequence form is not built to count them.
        found = (
            self._num_choices if form is None or sum(form.num_sequences) <= _MOST_CHOICES else sum(form.num_sequences)
        )
        if found > _MOST_CHOICES:
            raise GameTooLargeError(
                f"{self.name}: {self.game.spec} has {found:,} or more distributions of player {self.player}, "
                f"expected at most {_MOST_CHOICES:,}: use the method rounding"
            )
        return Choices.of(self.view.own, self.steps)

    def integer_program(self, least: float | None = None) -> IntegerProgram:
        """Return the program of the class's notes: the columns ``choice`` and ``used`` are whole numbers.

        Parameters
        ----------
        least : float, optional
            With `loss`, the payoff that the strategy must guarantee, in the game that is solved.
        """
        if self.steps is None and (self.classes is not None or self.monotone is not None):
            raise UnsupportedProblemError(
                f"{self.name}: branch-and-bound needs steps for classes and for monotone, such as steps=4"
            )
        choices, own, other, unit = self.choices, self.view.own, self.view.other, self.view.unit
        count, fewest = own.num_sequences, self.loss is not None
        blocks = self._guarantee(0.0 if fewest else -other.e)
        size = len(choices.infosets)
        counted = choices.is_mixed & self._leads[choices.infosets]
        cost = -counted.astype(float) if fewest else 0.0
        blocks.add_columns("choice", size, objective=cost, lower=0.0, upper=1.0)
        blocks.add_columns("weight", size, lower=0.0)
        blocks.add_columns("free", count if self.steps is None else 0, lower=0.0)
        here, each = sp.eye_array(size, format="csr"), choices.of_infosets()
        blocks.add_rows("chosen", {"choice": each}, lower=1.0, upper=1.0)
        blocks.add_rows("weights", {"weight": here, "choice": -here}, upper=0.0)
        reached = sp.csr_array(
            (np.ones(len(choices.open)), (np.arange(len(choices.open)), own.parents[choices.open])),
            shape=(len(choices.open), count),
        )
        blocks.add_rows("reach", {"weight": each, "plan": -reached}, lower=0.0, upper=0.0)
        played = sp.eye_array(count, format="csr")[choices.sequences]
        parts = {"plan": -played, "weight": choices.shares}
        if self.steps is None:
            parts["free"] = played
            summed = sp.csr_array(
                (np.ones(len(choices.owners)), (choices.owners, choices.sequences)), shape=(len(choices.open), count)
            )
            mixing = {"free": summed, "weight": -choices.of_infosets(choices.is_mixed)}
            blocks.add_rows("mixed weights", mixing, lower=0.0, upper=0.0)
        blocks.add_rows("played", parts, lower=0.0, upper=0.0)
        if self.mixed is not None:
            row = sp.csr_array(counted.astype(float)[None])
            blocks.add_rows("mixed", {"choice": row}, upper=float(self.mixed))
        for name, row in (("alike", self._alike()), ("monotone", self._in_order())):
            blocks.add_rows(name, {"choice": row}, lower=0.0 if name == "alike" else -np.inf, upper=0.0)
        if fewest:
            assert least is not None
            blocks.add_rows("loss", {"worth": sp.csr_array(-other.e[None])}, lower=least / unit)
        menus = self.menus
        names = [each for menu in menus for each in menu]
        blocks.add_columns("used", len(names), lower=0.0, upper=1.0)
        places = np.array([sequence for each in names for sequence in each], dtype=np.int64)
        owners = np.repeat(np.arange(len(names)), [len(each) for each in names])
        shape = (len(places), len(names))
        used = sp.csr_array((np.ones(len(places)), (np.arange(len(places)), owners)), shape=shape)
        blocks.add_rows("sizes", {"plan": sp.eye_array(count, format="csr")[places], "used": -used}, upper=0.0)
        of = np.repeat(np.arange(len(menus)), [len(menu) for menu in menus])
        shape = (len(menus), len(names))
        summed = sp.csr_array((np.ones(len(names)), (of, np.arange(len(names)))), shape=shape)
        blocks.add_rows("menus", {"used": summed}, upper=float(self.sizes or 0))
        program = blocks.program(maximise=True)
        integer = np.zeros(program.shape[1], dtype=bool)
        for block in ("choice", "used"):
            integer[program.columns[block]] = True
        return IntegerProgram(program, integer)

    @cached_property
    def _leads(self) -> npt.NDArray[np.bool_]:
        """Whether each infoset with several actions is the first one of its class."""
        classes = self.infoset_classes[self.choices.open]
        leads = np.zeros(len(classes), dtype=np.bool_)
        leads[np.unique(classes, return_index=True)[1]] = True
        return leads

    def _alike(self) -> sp.csr_array:
        """Return rows z_{I,c} − z_{J,c} for all infosets I and the first infoset J of their classes."""
        choices, size = self.choices, len(self.choices.infosets)
        classes = self.infoset_classes[choices.open]
        first = np.unique(classes, return_index=True, return_inverse=True)
        begins = np.searchsorted(choices.infosets, np.arange(len(choices.open)))
        follows = np.flatnonzero(~self._leads[choices.infosets])
        leads = first[1][first[2]][choices.infosets[follows]]
        others = begins[leads] + follows - begins[choices.infosets[follows]]
        rows, ones = np.arange(len(follows)), np.ones(len(follows))
        found = sp.csr_array((ones, (rows, follows)), shape=(len(follows), size))
        return sp.csr_array(found - sp.csr_array((ones, (rows, others)), shape=(len(follows), size)))

    def _in_order(self) -> sp.csr_array:
        """Return rows that are at most 0: a rising share of a weaker infoset minus that of a stronger one."""
        choices, size = self.choices, len(self.choices.infosets)
        rows = [sp.csr_array((0, size))]
        place = {infoset: number for number, infoset in enumerate(choices.open.tolist())}
        for infosets, strength, groups in self.comparisons():
            for group, sign in ((2, 1.0), (0, -1.0)):
                shares = [
                    sp.csr_array(
                        sign
                        * (choices.shares[choices.owners == place[one]][groups == group]).sum(axis=0)
                        * (choices.infosets == place[one])
                    ).reshape(1, -1)
                    for one in infosets.tolist()
                ]
                rows += [
                    shares[low] - shares[high]
                    for weak, strong in weaker_and_stronger(strength)
                    for low in weak.tolist()
                    for high in strong.tolist()
                ]
        return sp.csr_array(sp.vstack(rows))

    # Infosets that are tied together

    @cached_property
    def infoset_classes(self) -> Indices:
        """The class of each infoset, by number; without `classes` all are different.

        Raises
        ------
        InvalidGameError
            If infosets of one class have different actions.
        """
        own, form = self.view.own, self.game.public_form
        if self.classes is None:
            return np.arange(own.num_infosets)
        if form is None:
            found = numbered(looked_up(self.classes, own.infoset_labels, "classes"))
            actions: dict[int, Any] = {}
            for infoset, number in enumerate(found.tolist()):
                if actions.setdefault(number, own.action_labels[infoset]) != own.action_labels[infoset]:
                    raise InvalidGameError(
                        f"{self.name}: infoset {shown(own.infoset_labels[infoset])} has other actions than the "
                        "infosets of its class"
                    )
            if self.monotone is not None and len(set(zip(found, self._states, strict=True))) > len(actions):
                raise InvalidGameError(f"{self.name}: with monotone, each class must lie in one public state")
            return found
        parts, end = [], 0
        for node in np.flatnonzero(form.players == self.player).tolist():
            parts.append(end + self.classes_at(node)[form.present[form.boards[node]][self.player]])
            end += len(form.states[self.player])
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def infoset_strengths(self, other: "PublicProfile | None" = None) -> Floats:
        """Return the strength of each infoset, NaN if it has none.

        Parameters
        ----------
        other : PublicProfile, optional
            The profile with the other player's range, if the game's own strengths are used.
        """
        own, form = self.view.own, self.game.public_form
        if self.monotone is None:
            return np.full(own.num_infosets, np.nan)
        if form is None:
            return _of_classes(
                _numbers(looked_up(self.strength, own.infoset_labels, "strength")),
                self.infoset_classes,
                np.ones(own.num_infosets),
            )
        parts = [
            self.strengths_at(other, node)[form.present[form.boards[node]][self.player]]
            for node in np.flatnonzero(form.players == self.player).tolist()
        ]
        return np.concatenate([np.zeros(0), *parts])

    def classes_at(self, node: int) -> Indices:
        """Return the class of each of the player's states at a node of the public form, from 0 on."""
        form, classes = self.game.public_form, self.classes
        assert form is not None
        if isinstance(classes, str):
            return np.unique(self.game.state_classes[classes](self.player, node), return_inverse=True)[1]
        states = form.states[self.player]
        return np.arange(len(states)) if classes is None else numbered(looked_up(classes, states, "classes"))

    def strengths_at(self, profile: "PublicProfile | None", node: int) -> Floats:
        """Return the strength of each of the player's states at a node of the public form.

        A class has the mean strength of its states, by their weights.

        Raises
        ------
        UnsupportedProblemError
            If it depends on the other player's range, and there is no profile.
        """
        form, known = self.game.public_form, self.game.state_strengths
        assert form is not None
        if self.strength is not None:
            found = _numbers(looked_up(self.strength, form.states[self.player], "strength"))
        elif profile is None or known is None:
            raise UnsupportedProblemError(
                f"{self.name}: the strength of hands depends on the other player's range: use the method rounding"
            )
        else:
            found = known(profile, self.player, node)
        return _of_classes(found, self.classes_at(node), np.asarray(form.weights[self.player]))

    @cached_property
    def _states(self) -> Indices:
        """The public state of each infoset."""
        return self.game.public_tree.infoset_states[self.player]

    def comparisons(self, other: "PublicProfile | None" = None) -> "list[tuple[Indices, Floats, Indices]]":
        """Return the infosets that are compared at each public state, their strengths, and the groups of actions."""
        if self.monotone is None:
            return []
        own, strengths, found = self.view.own, self.infoset_strengths(other), []
        states = self._states
        together: dict[Any, list[int]] = defaultdict(list)
        for infoset in np.flatnonzero((np.diff(own.offsets) > 1) & ~np.isnan(strengths)).tolist():
            together[int(states[infoset]), own.action_labels[infoset]].append(infoset)
        for (_, labels), infosets in together.items():
            groups = self.monotone.groups([str(label) for label in labels])
            found.append((np.array(infosets), strengths[infosets], groups))
        return found

    def relaxation(self) -> LinearProgram:
        """Return the linear program of the largest guaranteed payoff, without limits on the strategy."""
        return self._guarantee(-self.view.other.e).program(maximise=True)

    def _guarantee(self, objective: Floats | float) -> ProgramBlocks:
        """Return the blocks of the plan and of the opponent's values (worths), with the objective on the worths."""
        view = self.view
        own, other = view.own, view.other
        payoffs = view.game.sequence_form.payoff_matrix(view.player)
        payoffs = (payoffs if view.player == 0 else payoffs.T) / view.unit
        blocks = ProgramBlocks()
        blocks.add_columns("plan", own.num_sequences, lower=0.0, upper=1.0)
        blocks.add_columns("worth", len(other.e), objective=objective)
        blocks.add_rows("plan", {"plan": own.E}, lower=own.e, upper=own.e)
        blocks.add_rows("replies", {"worth": sp.csr_array(other.E.T), "plan": sp.csr_array(payoffs.T)}, lower=0.0)
        return blocks

    def columns_of(self, plan: Floats, program: IntegerProgram) -> Floats:
        """Return columns of the integer program for a plan within the limits, with a best reply to it."""
        view, choices, columns = self.view, self.choices, program.program.columns
        found = np.zeros(program.program.shape[1])
        own = view.own
        behaviour, reach = own.behaviour(plan), own.reach(plan)
        unreached = np.append(False, np.repeat(reach <= 0.0, np.diff(own.offsets)))
        behaviour[unreached] = np.isin(np.flatnonzero(unreached), own.offsets[:-1])  # pure
        picked = choices.nearest(behaviour)
        found[columns["plan"]] = plan
        worths = infoset_values(view.other, view.other_gradient(plan) / view.unit)
        begin = view.other_gradient(plan)[0] / view.unit + view.other.inflow[:, [0]].toarray().ravel() @ worths
        found[columns["worth"]] = np.concatenate([[begin], worths])
        found[columns["choice"]][picked] = 1.0
        found[columns["weight"]][picked] = reach[choices.open]
        if self.steps is None:
            loose = choices.sequences[choices.is_mixed[picked][choices.owners]]
            found[columns["free"]][loose] = plan[loose]
        used = [max((plan[sequence] for sequence in each), default=0.0) > 0.0 for menu in self.menus for each in menu]
        found[columns["used"]] = used
        return found

    def plan_of(self, found: Floats, program: IntegerProgram) -> Floats:
        """Return the plan of the integer program's columns; probabilities on the grid have no round-off."""
        choices, columns, own = self.choices, program.program.columns, self.view.own
        chosen = found[columns["choice"]] > 0.5
        behaviour = own.behaviour(np.maximum(found[columns["plan"]], 0.0))
        shares = np.asarray(choices.shares @ chosen.astype(np.float64))
        fixed = ~(choices.of_infosets(choices.is_mixed & chosen) @ np.ones(len(chosen)) > 0.0)[choices.owners]
        fixed |= not choices.is_free
        behaviour[choices.sequences[fixed]] = shares[fixed]
        return own.plan(behaviour)

    @cached_property
    def menus(self) -> "list[list[list[int]]]":
        """The sequences of each size of an action at each public state, for actions with more sizes than allowed."""
        if self.sizes is None:
            return []
        treeplex, states = self.view.own, self._states
        found: dict[tuple[int, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for infoset, labels in enumerate(treeplex.action_labels):
            for place, label in enumerate(labels):
                name = str(label)
                sequence = int(treeplex.offsets[infoset]) + place
                found[int(states[infoset]), action_of(name)][name].append(sequence)
        return [list(menu.values()) for menu in found.values() if len(menu) > self.sizes]

    # What is proven

    def complexity(self, plan: Floats, other: "PublicProfile | None" = None) -> Complexity:
        """Return how much of a plan must be remembered; `other` has the range against which hands are strong."""
        treeplex = self.view.own
        behaviour, reach = treeplex.behaviour(plan), treeplex.reach(plan)
        is_reached = (np.diff(treeplex.offsets) > 1) & (reach > ROUND_OFF)
        reached = {
            infoset: behaviour[treeplex.offsets[infoset] : treeplex.offsets[infoset + 1]]
            for infoset in np.flatnonzero(is_reached).tolist()
        }
        off = unlike = disorder = 0.0
        classes: dict[int, list[Floats]] = defaultdict(list)
        for infoset, played in reached.items():
            classes[int(self.infoset_classes[infoset])].append(played)
        if self.steps is not None:
            on = (np.abs(each * self.steps - np.rint(each * self.steps)).max() for each in reached.values())
            off = max(map(float, on), default=0.0) / self.steps
        unlike = max((float(np.ptp(each, axis=0).max()) for each in classes.values()), default=0.0)
        for infosets, strength, groups in self.comparisons(other):
            there = is_reached[infosets]
            if there.any():
                played = np.array([reached[one] for one in infosets[there].tolist()]).T
                disorder = max(disorder, misplaced(played, strength[there], groups))
        used = [sum(bool(plan[each].max() > ROUND_OFF) for each in menu) for menu in self.menus]
        mixed = sum(any(bool(b.max() < 1.0 - ROUND_OFF) for b in each) for each in classes.values())
        return Complexity(len(classes), mixed, off, max(used, default=0), unlike, disorder)

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        dual_certificate: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute what the player's strategy guarantees, and what the other player's strategy concedes."""
        check_same_game(profile[0], self.game)
        view = self.view
        own, other = profile[self.player].plan, profile[1 - self.player].plan
        found = self.complexity(own, self._in_public(profile))
        return self.proven(
            view.worst_case(own), view.best_case(other), view.payoff(own, other), found, profile.residual
        )

    def _in_public(self, profile: Profile) -> "PublicProfile | None":
        """Return a profile in public form, if the strength of states is measured against it."""
        if self.monotone is None or self.strength is not None or self.game.public_form is None:
            return None
        from ...seqform.public_profile import PublicProfile

        return PublicProfile.of(self.game.public_form, profile)

    def proven(
        self, guaranteed: float, conceded: float, paid: float, found: Complexity, residual: float
    ) -> Certificate:
        """Return the certificate of a strategy's guarantee and of the other player's concession.

        Parameters
        ----------
        guaranteed : float
            What the strategy earns against its best reply.
        conceded : float
            What the other strategy of the profile concedes: an upper bound on the value of the game.
        paid : float
            What the strategies earn against each other.
        found : Complexity
        residual : float
        """
        lost = max(0.0, conceded - guaranteed)
        excess = {
            "steps": None if self.steps is None else found.off_grid,
            "mixed": None if self.mixed is None else max(0.0, float(found.mixed - self.mixed)),
            "sizes": None if self.sizes is None else max(0.0, float(found.sizes - self.sizes)),
            "classes": None if self.classes is None else found.unlike,
            "monotone": None if self.monotone is None else found.disorder,
            "loss": None if self.loss is None else max(0.0, lost - float(self.loss)),
        }
        own = paid if self.player == 0 else -paid
        return Certificate(
            value=(own, -own),
            objective=guaranteed + 0.0,
            lower=guaranteed + 0.0,
            upper=max(conceded, guaranteed),
            exploitability=lost,
            residual=residual,
            violations={name: number for name, number in excess.items() if number is not None},
            player=self.player,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the largest violation of a limit, each in its own unit."""
        return certificate.violation


@dataclass(frozen=True, eq=False)
class Choices:
    """The distributions that a simple strategy may use at each infoset with several actions.

    Attributes
    ----------
    open : ndarray of int, shape (k,)
        The infosets with several actions.
    sequences : ndarray of int, shape (m,)
        Their sequences.
    owners : ndarray of int, shape (m,)
        The place in `open` of each sequence's infoset.
    infosets : ndarray of int, shape (n,)
        The place in `open` of each distribution's infoset.
    shares : csr_array, shape (m, n)
        The probability of each sequence under each distribution, given its infoset.
    is_mixed : ndarray of bool, shape (n,)
        Whether a distribution mixes.
    is_free : bool
        Whether one entry per infoset stands for any mixed distribution, with shares of 0.
    """

    open: Indices
    sequences: Indices
    owners: Indices
    infosets: Indices
    shares: sp.csr_array
    is_mixed: npt.NDArray[np.bool_]
    is_free: bool

    @classmethod
    def of(cls, treeplex: Treeplex, steps: int | None) -> "Choices":
        """Return the points of a grid, or the pure actions and one free distribution."""
        counts = np.diff(treeplex.offsets)
        several = np.flatnonzero(counts > 1)
        points = {count: _points(count, steps) for count in set(counts[several].tolist())}
        parts = [points[count] for count in counts[several].tolist()]
        is_mixed = [part.max(axis=1) < 1.0 for part in parts]
        sequences = np.flatnonzero(
            np.isin(treeplex.sequence_infosets, several) & (np.arange(treeplex.num_sequences) > 0)
        )
        return cls(
            open=several,
            sequences=sequences,
            owners=np.searchsorted(several, treeplex.sequence_infosets[sequences]),
            infosets=np.repeat(np.arange(len(several)), [len(part) for part in parts]),
            shares=sp.csr_array(sp.block_diag([part.T for part in parts], format="csr"))
            if parts
            else sp.csr_array((0, 0)),
            is_mixed=np.concatenate([np.zeros(0, dtype=np.bool_), *is_mixed]),
            is_free=steps is None,
        )

    def of_infosets(self, chosen: npt.NDArray[np.bool_] | None = None) -> sp.csr_array:
        """Return which distributions, or which of the chosen ones, belong to which infoset, shape (k, n)."""
        size = len(self.infosets)
        entries = np.ones(size) if chosen is None else chosen.astype(np.float64)
        return sp.csr_array((entries, (self.infosets, np.arange(size))), shape=(len(self.open), size))

    def nearest(self, behaviour: Floats) -> Indices:
        """Return for each infoset the distribution that a behaviour plays, or the nearest one."""
        played = np.zeros((len(self.open), len(self.sequences)))
        played[self.owners, np.arange(len(self.sequences))] = behaviour[self.sequences]
        # Σ (c − b)², without Σ b², which is the same for all distributions of an infoset.
        squares = np.asarray((self.shares * self.shares).sum(axis=0)).ravel()
        products = np.asarray(
            (sp.csr_array(played) @ self.shares)[self.infosets, np.arange(len(self.infosets))]
        ).ravel()
        distances = squares - 2.0 * products
        if self.is_free:  # unless an action is surely played
            sure = np.zeros(len(self.open))
            np.maximum.at(sure, self.owners, behaviour[self.sequences])
            distances[self.is_mixed] = np.where(sure[self.infosets[self.is_mixed]] < 1.0, -np.inf, np.inf)
        order = np.lexsort((distances, self.infosets))
        return order[np.searchsorted(self.infosets[order], np.arange(len(self.open)))]


def _numbers(values: Sequence[Any]) -> Floats:
    """Return strengths as floats, NaN for those that are missing."""
    try:
        found = np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        raise InvalidGameError("simplify: strength has values that are not numbers") from None
    if np.isnan(found).all():
        raise InvalidGameError("simplify: strength has no number for any infoset of the player")
    return found


def _of_classes(strength: Floats, classes: Indices, weights: Floats) -> Floats:
    """Return for each place the weighted mean strength of its class; NaN where the strength is unknown."""
    known = ~np.isnan(strength)
    count = int(classes.max(initial=-1)) + 1
    total = np.bincount(classes[known], weights[known], count)
    summed = np.bincount(classes[known], (weights * strength)[known], count)
    mean = np.divide(summed, total, out=np.full(count, np.nan), where=total > 0.0)
    return np.where(known, mean[classes], np.nan)


def _points(count: int, steps: int | None) -> Floats:
    """Return the points of the grid over several actions, or the pure ones and an empty one, shape (n, count)."""
    if steps is None:
        return np.concatenate([np.eye(count), np.zeros((1, count))])
    bars = np.array(list(combinations(range(steps + count - 1), count - 1)), dtype=np.int64).reshape(-1, count - 1)
    ends = np.full((len(bars), 1), steps + count - 1)
    return (np.diff(np.concatenate([np.full((len(bars), 1), -1), bars, ends], axis=1)) - 1) / steps
