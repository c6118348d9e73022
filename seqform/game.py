"""The class :class:`Game`: a game with its name, rules and sequence form."""

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .budget import FormSize, sequence_form_bytes
from .checks import Named, check_player, check_type, hinting
from .display import Displayed
from .errors import GameTooLargeError, InvalidGameError, UnsupportedProblemError, nearest, shown
from .game_tree import GameTree
from .limits import counted_now, doing, timed
from .rules import Rules, check_rules, payoff_range_of, public_labels, size_of
from .sequence_form import HasSequenceForm, SequenceForm

if TYPE_CHECKING:
    import cvxpy as cp

    from .functional import Functional
    from .public_form import PublicForm
    from .public_tree import PublicTree
    from .strategy import Profile

_WITHOUT_HISTORIES = "it is defined by a sequence form, not by rules or a tree"


class Facts(TypedDict, total=False):
    """Optional facts about a game.

    Attributes
    ----------
    reference_value : Fraction or float
        Player 0's value in a zero-sum game, if it is known.
    reference_source : str
        The source of the reference value.
    citation : str
        The source of the game.
    learned_to : float
        The exploitability at which iterative methods stop by default, in payoff units.
    exact_up_to : int
        The largest number of sequences of both players at which the default method is exact; above it, the default is
        iterative. See :func:`~treeplex.solvers.choice.choose`.
    without_histories : str
        For messages: why the game has no histories, if it is given only as a sequence form.
    size : callable
        Returns the size of the sequence form without building it; by default, the size that the rules state.
    """

    reference_value: Fraction | float | None
    reference_source: str
    citation: str
    learned_to: float | None
    exact_up_to: int | None
    without_histories: str
    size: "Callable[[], FormSize] | None"


@hinting("treeplex.seqform.other_names:OF_GAMES")
class Game(HasSequenceForm, Displayed):
    """An extensive-form game, given by name and parameters, as a tree or in sequence form.

    :func:`treeplex.load_game` loads a game of the library; :meth:`from_tree` and :meth:`from_sequence_form` make your
    own.

    Parameters
    ----------
    name : str
    parameters : mapping, optional
        All parameters of the family, including defaults.
    spec : str, optional
        The string that loads the game; by default the name.
    rules : Rules, optional
    tree : GameTree, optional
    sequence_form : SequenceForm, or callable that returns one, optional
        At least one of the three is required; the others are derived from it where possible. A callable is called when
        the sequence form is needed.
    public_form : PublicForm, or callable that returns one, optional
        The game in public form, if it has one; regret minimisation then runs on it.
    functionals : callable, optional
        Takes this game and returns its named linear functionals of a player's plan; called when they are needed.
    **facts
        Optional facts: :class:`~treeplex.seqform.game.Facts`.

    Raises
    ------
    InvalidGameError
        If none of rules, tree and sequence form is given, or an argument is of a wrong type.

    Examples
    --------
    >>> from treeplex import load_game
    >>> game = load_game("kuhn")
    >>> game.sequence_form
    SequenceForm(sequences=[13, 13], infosets=[6, 6])
    >>> game.reference_value
    Fraction(-1, 18)
    """

    shown_by = "treeplex.seqform.interchange.game_display:game_blocks"

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        spec: str | None = None,
        rules: Rules | None = None,
        tree: GameTree | None = None,
        sequence_form: SequenceForm | Callable[[], SequenceForm] | None = None,
        public_form: "PublicForm | Callable[[], PublicForm] | None" = None,
        functionals: "Callable[[Game], Mapping[str, Functional]] | None" = None,
        **facts: Unpack[Facts],
    ) -> None:
        for unknown in facts.keys() - Facts.__annotations__.keys():
            hint = nearest(unknown, Facts.__annotations__)
            raise TypeError(f"Game: got an unexpected keyword argument {unknown!r}{hint}")
        if sequence_form is None and public_form is not None:
            sequence_form = self._form_of_public_form
        if rules is None and tree is None and sequence_form is None:
            raise InvalidGameError(
                f"game {shown(name)} needs rules, a tree or a sequence form; "
                f"load_game({shown(name)}) loads a game by name"
            )
        if rules is not None:
            check_rules(rules)
        if tree is not None:
            tree = check_type(tree, f"the tree of game {shown(name)}", InvalidGameError, GameTree).frozen()
        if isinstance(rules, GameTree):  # later changes of the tree must not change the game
            rules = rules.frozen()
        if sequence_form is not None and not (isinstance(sequence_form, SequenceForm) or callable(sequence_form)):
            raise InvalidGameError(
                f"the sequence form of game {shown(name)} is {shown(sequence_form)}, expected a SequenceForm"
            )
        if functionals is not None and not callable(functionals):
            raise InvalidGameError(
                f"the functionals of game {shown(name)} are {shown(functionals)}, expected a function that returns them"
            )
        self.name = name
        self.parameters = dict(parameters or {})
        self.spec = spec or name
        self.rules: Rules | None = rules if rules is not None else tree
        self.reference_value = facts.get("reference_value")
        self.reference_source = facts.get("reference_source", "")
        self.citation = facts.get("citation", "")
        #: Seconds spent on building its forms so far.
        self.build_seconds = 0.0
        #: The largest number of sequences of both players at which linear programs are the default; above it, iterative
        #: methods are. ``None``: linear programs are always the default.
        self.exact_up_to = facts.get("exact_up_to")
        self._learned_to = facts.get("learned_to")
        self._plans: dict[int, Any] = {}
        self._make_form = sequence_form if callable(sequence_form) else None
        self._make_public_form = public_form
        self._make_functionals = functionals
        self._size = facts.get("size")
        self._without_histories = facts.get("without_histories", _WITHOUT_HISTORIES)
        if tree is not None:
            self.tree = tree
        if isinstance(sequence_form, SequenceForm):
            self.sequence_form = sequence_form

    def __getstate__(self) -> dict[str, Any]:
        # cvxpy numbers variables per process, so a pickled variable could be confused with another one.
        return {**self.__dict__, "_plans": {}}

    def __repr__(self) -> str:
        return f"Game({self.spec!r})"

    @classmethod
    def from_tree(cls, tree: Any, name: str = "tree") -> "Game":
        """Make a game from a :class:`GameTree` or from a ``networkx.DiGraph`` with its attributes.

        The game keeps a read-only copy, so later changes of `tree` do not affect it.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
            If the graph is not a game; see :class:`GameTree`.
        """
        return cls(name, tree=tree if isinstance(tree, GameTree) else GameTree(tree))

    @classmethod
    def from_sequence_form(cls, sequence_form: SequenceForm, name: str = "matrices") -> "Game":
        """Make a game from a sequence form; the game then has no histories."""
        return cls(name, sequence_form=sequence_form)

    def own_profile(self, path: str | PathLike[str], coarser: bool = False) -> "Profile | None":
        """Read the strategies in a file whose format is special to this kind of game; ``None`` for other files.

        With ``coarser`` they may be those of a game that differs in its actions alone.

        Raises
        ------
        TreeplexError
            If the file has such a format but is damaged, or belongs to another game.
        """
        return None

    @classmethod
    def from_public_form(cls, public_form: "PublicForm", name: str = "public form") -> "Game":
        """Make a game from a public form; the sequence form is made on first use."""
        return cls(name, public_form=public_form)

    @cached_property
    def public_form(self) -> "PublicForm | None":
        """The public form that the game was made from, or ``None``."""
        made = self._make_public_form
        if made is None:
            return None
        from .public_form import PublicForm

        if isinstance(made, PublicForm):
            return made
        with self._naming():
            return check_type(made(), f"the public form of {self.spec}", InvalidGameError, PublicForm)

    def _form_of_public_form(self) -> SequenceForm:
        assert self.public_form is not None
        return self.public_form.sequence_form()

    @property
    def size(self) -> FormSize | None:
        """The size of the sequence form, if it is known without building the form; otherwise ``None``."""
        if self._size is not None:
            return self._size()
        size = size_of(self.rules)
        if size is None:
            return None
        return FormSize(size.sequences, size.infosets, sequence_form_bytes(size), size.nodes, size.leaves)

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff; 1 if all are zero."""
        return (self.sequence_form if self.public_form is None else self.public_form).payoff_scale

    @property
    def payoff_range(self) -> tuple[float, float] | None:
        """Player 0's smallest and largest payoff, if they are known without building the game.

        They bound the value of a game that could not be built within the time limit. ``None`` if they are not known.

        Examples
        --------
        >>> from treeplex import load_game
        >>> load_game("leduc:ranks=40").payoff_range
        (-13.0, 13.0)
        """
        return None if self.rules is None else payoff_range_of(self.rules)

    @property
    def payoff_words(self) -> str:
        """The bounds on the value of the game that follow from :attr:`payoff_range`, in words."""
        known = self.payoff_range
        if known is None:
            return f"no bound on the value of {self.spec} is known before the game is built"
        return f"the payoffs alone bound the value of {self.spec} to player 0: {known[0]:,.10g} to {known[1]:,.10g}"

    @property
    def is_built(self) -> bool:
        """Whether the sequence form or the public form has been built."""
        return "sequence_form" in vars(self) or vars(self).get("public_form") is not None

    #: The name of the problem that is solved by default.
    default_problem: str = "nash"

    @property
    def learned_to(self) -> float | None:
        """The exploitability at which iterative methods stop by default, in payoff units, if the game sets one."""
        return self._learned_to

    @property
    def whole(self) -> tuple[float, str] | None:
        """The quantity that percentage tolerances refer to, in payoff units and in words; ``None`` if there is none."""
        return None

    #: Classes of private states that a person cannot tell apart, by name: functions of a player and a node of the
    #: public form that return the class of each state as a number. ``None`` if there are none.
    state_classes: Any = None
    #: A function of a profile in public form, a player and a node that returns the strength of each of the player's
    #: states there against the other player's range. ``None`` if the game knows no strengths.
    state_strengths: Any = None

    #: The constant subtracted from player 1's payoffs to make them the opposite of player 0's; see :attr:`zero_sum`.
    constant: float = 0.0
    #: Whether player 1 was added to a one-player game; see :attr:`zero_sum`.
    is_of_one: bool = False

    @cached_property
    def zero_sum(self) -> "Game":
        """The two-player zero-sum game that is solved in place of this one; the game itself if it is one.

        If the payoffs have another constant sum, the sum is subtracted from player 1's payoffs and stored as
        :attr:`constant` of the result. A one-player game gets a player 1 without decisions: :attr:`is_of_one`. Both
        games have the same strategies and variables.

        Raises
        ------
        UnsupportedProblemError
            If the payoffs do not have a constant sum, or there are more than two players.
        """
        of_one = self.num_players == 1 and self.rules is not None
        if not of_one and self.sequence_form.zero_sum is self.sequence_form:
            return self
        if of_one:
            from .constant_sums import Accompanied

            both = Accompanied(self._walkable())
            form = SequenceForm.from_rules(both)
            form = SequenceForm(form.treeplexes, form.leaves, num_nodes=form.num_nodes, known_as=self.fingerprint)
            made = self._with_form(form, "tree", "public_tree", "exact_sequence_form", "functionals")
            made.rules, made.is_of_one = both, True
            return made
        made = self._with_form(self.sequence_form.zero_sum)
        made.constant = float(self.sequence_form.constant_sum or 0.0)
        for treeplex in made.sequence_form.treeplexes:
            treeplex.action_words = self.action_words
        return made

    def _with_form(self, form: SequenceForm, *changes: str) -> "Game":
        """Return a copy with another sequence form and the same variables for plans."""
        made = copy.copy(self)
        for name in ("public_form", "zero_sum", "fingerprint", "exact_constant", *changes):
            made.__dict__.pop(name, None)
        made._make_public_form, made._make_form, made._plans = None, None, self._plans
        made.sequence_form = form
        return made

    @cached_property
    def exact_constant(self) -> Fraction:
        """:attr:`constant` as a fraction, computed from exact payoffs if the game has rules."""
        from .constant_sums import exact_constant

        leaves = self.exact_sequence_form.leaves if self.constant and self.rules is not None else None
        return exact_constant(self.constant, leaves)

    def as_paid(self, payoff: Any, player: int) -> Any:
        """Convert a payoff of this game to a payoff of the game whose :attr:`zero_sum` this is.

        Parameters
        ----------
        payoff : float or Fraction
            A fraction stays one.
        player : int

        Examples
        --------
        >>> from treeplex import Game, SequenceForm
        >>> game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0]], [[2, 5]]))
        >>> game.zero_sum.as_paid(-3.0, 1)
        2.0
        """
        return payoff + self._constant_of(payoff) if player == 1 and self.constant else payoff

    def as_posed(self, payoff: Any, player: int) -> Any:
        """Undo :meth:`as_paid`: convert a payoff of the game whose :attr:`zero_sum` this is to a payoff of this game.

        Parameters
        ----------
        payoff : float or Fraction
        player : int
        """
        return payoff - self._constant_of(payoff) if player == 1 and self.constant else payoff

    def _constant_of(self, payoff: Any) -> Any:
        """Return the constant as the same type of number as a payoff."""
        return self.constant if isinstance(payoff, float) else self.exact_constant

    @property
    def stakes(self) -> float:
        """The largest absolute payoff without penalties, that is, without losses that players can avoid.

        It is the unit of default tolerances. It is at most :attr:`payoff_scale`, and in most games equal to it; see
        :func:`~treeplex.seqform.stakes.find_stakes`.

        Examples
        --------
        >>> from treeplex import Game, SequenceForm
        >>> game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[0, -2], [2, 1], [3, -1e9]]))
        >>> game.stakes, game.payoff_scale
        (3.0, 1000000000.0)
        """
        return (self.sequence_form if self.public_form is None else self.public_form).stakes

    @cached_property
    def tree(self) -> GameTree:
        """The game as a networkx tree; it takes about a kilobyte per node."""
        with self._naming():
            return GameTree.from_rules(self._walkable(), frozen=True)

    @cached_property
    def sequence_form(self) -> SequenceForm:
        """The sequence form in floats, streamed from the rules if there are any."""
        with self._naming():
            if self._make_form is not None:
                form = check_type(
                    self._make_form(), f"the sequence form of {self.spec}", InvalidGameError, SequenceForm
                )
            elif "tree" in self.__dict__:
                form = SequenceForm.from_tree(self.tree)
            else:
                form = SequenceForm.from_rules(self._walkable())
        for treeplex in form.treeplexes:
            treeplex.action_words = self.action_words
        return form

    @cached_property
    def exact_sequence_form(self) -> SequenceForm:
        """The sequence form with probabilities and payoffs kept as fractions beside the floats."""
        with self._naming():
            return SequenceForm.from_rules(self._walkable(), exact=True)

    @cached_property
    def functionals(self) -> "Named[str, Functional]":
        """The game's named linear functionals of a player's plan, such as a risk."""
        made = {} if self._make_functionals is None else self._make_functionals(self)
        return made if isinstance(made, Named) else Named(made, f"{self.spec} does not name a functional")

    @cached_property
    def public_tree(self) -> "PublicTree":
        """The public states: from the rules' ``public_state`` if it is defined, otherwise derived from the infosets.

        In a game made from a public form they are its public states.

        Raises
        ------
        InvalidGameError
            If the public states of the rules do not form a tree, or split an infoset.
        UnsupportedProblemError
            If the game has no histories, or is not timeable; see
            :func:`~treeplex.seqform.public_from_tree.public_tree_from_infosets`.
        GameTooLargeError
            If deriving them exceeds the memory budget.
        """
        from .public_from_tree import public_tree_from_infosets
        from .public_tree import public_tree_from_rules

        if self.rules is None and self._make_public_form is not None and self.public_form is not None:
            return self.public_form.public_tree()
        rules, form = self._walkable(), self.sequence_form  # building the sequence form checks the rules
        with self._naming():
            if public_labels(rules) is None:
                return public_tree_from_infosets(rules, form)
            return public_tree_from_rules(rules, form)

    @cached_property
    def action_words(self) -> Mapping[str, Hashable]:
        """Action labels by longer words for them, such as ``raise`` for ``r``; empty if the rules define none.

        Raises
        ------
        InvalidGameError
            If the rules' ``action_words`` are not a mapping of strings to labels.
        """
        words = getattr(self.rules, "action_words", None) or {}
        sound = isinstance(words, Mapping) and all(
            isinstance(word, str) and word and isinstance(label, Hashable) for word, label in words.items()
        )
        if not sound:
            raise InvalidGameError(
                f"the action_words of {self.spec} are {shown(words)}, expected a mapping of words to labels of actions"
            )
        return dict(words)

    @property
    def constraints(self) -> tuple[Any, ...]:
        """Constraints on players' plans stated in the game's file, such as the locks of a hold'em spot."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about how its file was read, and about entries in it that are probably mistakes."""
        return ()

    @property
    def num_players(self) -> int:
        """Number of players, not counting chance."""
        if self.rules is not None:
            return self.rules.num_players
        return self.sequence_form.num_players if self._make_public_form is None else 2

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the public form that the game was made from, otherwise of the sequence form."""
        return (self.sequence_form if self.public_form is None else self.public_form).fingerprint

    def plan(self, player: int) -> "cp.Variable":
        """Return the cvxpy variable for a player's realization plan; every call returns the same one.

        Parameters
        ----------
        player : int

        Returns
        -------
        cvxpy.Variable, shape (num_sequences,)
            Non-negative.
        """
        player = check_player(player, self.num_players, InvalidGameError)
        if player not in self._plans:
            import cvxpy as cp

            size = self.sequence_form.treeplexes[player].num_sequences
            self._plans[player] = cp.Variable(size, nonneg=True, name=f"plan_{player}")
        plan: cp.Variable = self._plans[player]
        return plan

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Measure the building in the block, and prefix "too large" errors with the game's name."""
        begun, before = counted_now(), self.build_seconds
        try:
            with timed("building"), doing(f"{self.spec} was being built"):
                yield
        except GameTooLargeError as error:
            raise GameTooLargeError(f"{self.spec}: {error}") from None
        finally:
            self.build_seconds = before + counted_now() - begun

    def _walkable(self) -> Rules:
        if self.rules is None:
            raise UnsupportedProblemError(f"{self.spec} has no histories to visit: {self._without_histories}")
        return self.rules


def tree_of(game: "Game | GameTree") -> GameTree:
    """Return the tree of a game, or a given tree after checking its graph again.

    Raises
    ------
    InvalidGameError
        If it is neither, or the graph is no longer a valid game.
    UnsupportedProblemError
        If the game has no histories.
    """
    if isinstance(game, Game):
        return game.tree
    tree = check_type(game, "game", InvalidGameError, GameTree, "a Game or a GameTree (GameTree(graph) makes one)")
    return tree.check()
