"""What a user loads and passes around: a game with its name, rules and sequence form."""

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

_WITHOUT_HISTORIES = "it was given as a sequence form, not as rules or a tree"


class Facts(TypedDict, total=False):
    """What a game may be given with beside what it is made of.

    Attributes
    ----------
    reference_value : Fraction or float
        Player 0's value in a zero-sum game, where it is known.
    reference_source : str
        Where the reference value is from.
    citation : str
        Where the game is from.
    learned_to : float
        The exploitability at which loops stop by default, in payoff units.
    exact_up_to : int
        The sequences of both players above which a loop solves it by default:
        :func:`~treeplex.solvers.choice.choose`.
    without_histories : str
        Why there are none to walk, where only a sequence form is given; for messages.
    size : callable
        Returns how large the sequence form is, without building it; by default what the rules state.
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
    """An extensive-form game, by name and parameters, by tree or by sequence form.

    :func:`treeplex.load_game` makes the library's own; :meth:`from_tree` and :meth:`from_sequence_form` take a user's.

    Parameters
    ----------
    name : str
    parameters : mapping, optional
        All parameters of the family, defaults included.
    spec : str, optional
        How to load it again; by default the name.
    rules : Rules, optional
    tree : GameTree, optional
    sequence_form : SequenceForm, or callable that returns one, optional
        At least one of the three; the others follow from it where they can. A callable is called when the sequence form
        is needed.
    public_form : PublicForm, or callable that returns one, optional
        The game in public form, where there is one: regret minimisation then finds equilibria on that.
    functionals : callable, optional
        From this game to its named linear functionals of a player's plan; called when they are needed.
    **facts
        What else is known of it: :class:`~treeplex.seqform.game.Facts`.

    Raises
    ------
    InvalidGameError
        If none of rules, tree and sequence form is given, or one or `functionals` is something else.

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
                f"load_game({shown(name)}) loads one by its name"
            )
        if rules is not None:
            check_rules(rules)
        if tree is not None:
            tree = check_type(tree, f"the tree of game {shown(name)}", InvalidGameError, GameTree).frozen()
        if isinstance(rules, GameTree):  # it may be changed later, and the game must not
            rules = rules.frozen()
        if sequence_form is not None and not (isinstance(sequence_form, SequenceForm) or callable(sequence_form)):
            raise InvalidGameError(
                f"the sequence form of game {shown(name)} is {shown(sequence_form)}, expected a SequenceForm"
            )
        if functionals is not None and not callable(functionals):
            raise InvalidGameError(
                f"the functionals of game {shown(name)} are {shown(functionals)}, expected a function that makes them"
            )
        self.name = name
        self.parameters = dict(parameters or {})
        self.spec = spec or name
        self.rules: Rules | None = rules if rules is not None else tree
        self.reference_value = facts.get("reference_value")
        self.reference_source = facts.get("reference_source", "")
        self.citation = facts.get("citation", "")
        #: What building its forms has taken so far, in seconds.
        self.build_seconds = 0.0
        #: Up to so many sequences of both players linear programs solve it by default, and above them a loop; ``None``:
        #: linear programs always.
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
        # cvxpy numbers variables anew in every process: a stored one would be taken for another.
        return {**self.__dict__, "_plans": {}}

    def __repr__(self) -> str:
        return f"Game({self.spec!r})"

    @classmethod
    def from_tree(cls, tree: Any, name: str = "tree") -> "Game":
        """Make a game of a :class:`GameTree` or of a ``networkx.DiGraph`` with its attributes, as it is now.

        The game has a copy of the tree, which cannot be changed: later changes of `tree` do not reach it.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
            If the graph is not a game; see :class:`GameTree`.
        """
        return cls(name, tree=tree if isinstance(tree, GameTree) else GameTree(tree))

    @classmethod
    def from_sequence_form(cls, sequence_form: SequenceForm, name: str = "matrices") -> "Game":
        """Make a game of a sequence form, which has no histories to walk."""
        return cls(name, sequence_form=sequence_form)

    def own_profile(self, path: str | PathLike[str]) -> "Profile | None":
        """Return the strategies of a file of a kind that only games such as this one have; ``None`` for other files.

        Raises
        ------
        TreeplexError
            If the file is of that kind and damaged, or of another game.
        """
        return None

    @classmethod
    def from_public_form(cls, public_form: "PublicForm", name: str = "public form") -> "Game":
        """Make a game of a public form; its sequence form is made when something asks for it."""
        return cls(name, public_form=public_form)

    @cached_property
    def public_form(self) -> "PublicForm | None":
        """The public form that the game was made with, if it was."""
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
        """How large its sequence form is, as far as that is known without building it; ``None`` if it is not."""
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
        """What player 0 is paid at least and at most, as far as that is known without building the game.

        It bounds the value of a game that time did not suffice to build. ``None`` if it is not known.

        Examples
        --------
        >>> from treeplex import load_game
        >>> load_game("leduc:ranks=40").payoff_range
        (-13.0, 13.0)
        """
        return None if self.rules is None else payoff_range_of(self.rules)

    @property
    def payoff_words(self) -> str:
        """What :attr:`payoff_range` says of the value of the game, in words."""
        known = self.payoff_range
        if known is None:
            return f"nothing bounds the value of {self.spec} before it is built"
        return f"payoffs alone bound the value of {self.spec} to player 0: {known[0]:,.10g} to {known[1]:,.10g}"

    @property
    def is_built(self) -> bool:
        """Whether its sequence form or its public form is there."""
        return "sequence_form" in vars(self) or vars(self).get("public_form") is not None

    #: The problem that is asked of it where none is named.
    default_problem: str = "nash"

    @property
    def learned_to(self) -> float | None:
        """The exploitability to which loops find its equilibria by default, in payoff units, if it says so."""
        return self._learned_to

    @property
    def whole(self) -> tuple[float, str] | None:
        """What tolerances in per cent are parts of, in payoff units and in words; ``None`` if there is nothing."""
        return None

    #: What was taken off player 1's payoffs to make them the opposite of player 0's; see :attr:`zero_sum`.
    constant: float = 0.0
    #: Whether player 1 was added to a game of one player; see :attr:`zero_sum`.
    is_of_one: bool = False

    @cached_property
    def zero_sum(self) -> "Game":
        """The game of two players that is solved for this one: itself, if there are two and payoffs sum to zero.

        If they have another constant sum, it is taken off player 1's payoffs: :attr:`constant` of the result says how
        much. A game of one player gets a player 1 who never decides anything: :attr:`is_of_one`. Strategies and
        variables of one game are those of the other.

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
        """Return a copy with another form; the variables that stand for plans are the same."""
        made = copy.copy(self)
        for name in ("public_form", "zero_sum", "fingerprint", "exact_constant", *changes):
            made.__dict__.pop(name, None)
        made._make_public_form, made._make_form, made._plans = None, None, self._plans
        made.sequence_form = form
        return made

    @cached_property
    def exact_constant(self) -> Fraction:
        """:attr:`constant` as a fraction: that of the payoffs in fractions, where the game has rules."""
        from .constant_sums import exact_constant

        leaves = self.exact_sequence_form.leaves if self.constant and self.rules is not None else None
        return exact_constant(self.constant, leaves)

    def as_paid(self, payoff: Any, player: int) -> Any:
        """Return a payoff of this game in the payoffs of the game whose :attr:`zero_sum` it is.

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
        """Undo :meth:`as_paid`: return a payoff of the game whose :attr:`zero_sum` this is in the payoffs of this one.

        Parameters
        ----------
        payoff : float or Fraction
        player : int
        """
        return payoff - self._constant_of(payoff) if player == 1 and self.constant else payoff

    def _constant_of(self, payoff: Any) -> Any:
        """Return the constant in the kind of number that a payoff is."""
        return self.constant if isinstance(payoff, float) else self.exact_constant

    @property
    def stakes(self) -> float:
        """The largest absolute payoff that play turns on: penalties, which nobody has to pay, are left out.

        The unit of default tolerances, at most :attr:`payoff_scale`, and in most games the same; see
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
        """The game as a networkx tree; about a kilobyte a node."""
        with self._naming():
            return GameTree.from_rules(self._walkable(), frozen=True)

    @cached_property
    def sequence_form(self) -> SequenceForm:
        """The sequence form, streamed from the rules if there are any, in floats."""
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
        """Linear functionals of a player's plan that the game names, such as a risk."""
        made = {} if self._make_functionals is None else self._make_functionals(self)
        return made if isinstance(made, Named) else Named(made, f"{self.spec} names no functional")

    @cached_property
    def public_tree(self) -> "PublicTree":
        """The public states, by the rules' ``public_state`` if they have it, otherwise derived from the infosets.

        Raises
        ------
        InvalidGameError
            If the public states that the rules give form no tree, or split an infoset.
        UnsupportedProblemError
            If the game has no histories, or no order in time; see
            :func:`~treeplex.seqform.public_from_tree.public_tree_from_infosets`.
        GameTooLargeError
            If finding them takes more than the memory budget.
        """
        from .public_from_tree import public_tree_from_infosets
        from .public_tree import public_tree_from_rules

        rules, form = self._walkable(), self.sequence_form  # the walk to the sequence form checks the rules
        with self._naming():
            if public_labels(rules) is None:
                return public_tree_from_infosets(rules, form)
            return public_tree_from_rules(rules, form)

    @cached_property
    def action_words(self) -> Mapping[str, Hashable]:
        """Long words for labels of actions, such as ``raise`` for ``r``, by word; empty where the rules give none.

        Raises
        ------
        InvalidGameError
            If the rules' ``action_words`` are not a mapping of texts to labels.
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
        """Constraints on players' plans that its file states beside the rules, such as the locks of a hold'em spot."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to read its file, and what in it can hardly be meant, in sentences."""
        return ()

    @property
    def num_players(self) -> int:
        """Number of players, chance not counted."""
        if self.rules is not None:
            return self.rules.num_players
        return self.sequence_form.num_players if self._make_public_form is None else 2

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the sequence form, or of the public form that the game was made with."""
        return (self.sequence_form if self.public_form is None else self.public_form).fingerprint

    def plan(self, player: int) -> "cp.Variable":
        """Return the cvxpy variable that stands for a player's realization plan; always the same one.

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
        """Put the game's name before the message of one that is too large; rules do not know their name."""
        begun, before = counted_now(), self.build_seconds
        try:
            with timed("building"), doing(f"{self.spec} was built"):
                yield
        except GameTooLargeError as error:
            raise GameTooLargeError(f"{self.spec}: {error}") from None
        finally:
            self.build_seconds = before + counted_now() - begun

    def _walkable(self) -> Rules:
        if self.rules is None:
            raise UnsupportedProblemError(f"{self.spec} has no histories to walk: {self._without_histories}")
        return self.rules


def tree_of(game: "Game | GameTree") -> GameTree:
    """Return the tree of a game, or the tree itself, whose graph is checked as it is now.

    Raises
    ------
    InvalidGameError
        If it is neither, or the graph is not a game any more.
    UnsupportedProblemError
        If the game has no histories.
    """
    if isinstance(game, Game):
        return game.tree
    tree = check_type(game, "game", InvalidGameError, GameTree, "a Game or a GameTree (GameTree(graph) makes one)")
    return tree.check()
