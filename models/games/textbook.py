"""Games of textbooks and famous papers, most of them general-sum, with the payoffs in their equilibria."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, cast

from ...seqform.parameters import About, check_parameters
from .registry import Family, Reference
from .small_trees import Deal, Decision, ExplicitTree

#: Payoffs of all players.
_Paid = tuple[Fraction | int, ...]
_Node = Decision | Deal | _Paid


@dataclass(frozen=True)
class Known:
    """A game of the literature.

    Parameters
    ----------
    source : str
        Begins with "after" if the payoffs of the source may be other ones for the same story.
    tree : Decision or Deal
    equilibria : sequence of tuple
        The players' payoffs in the Nash equilibria; of two players, in all extreme ones.
    """

    source: str
    tree: Decision | Deal
    equilibria: Sequence[_Paid]


def _bimatrix(rows: str, columns: str, first: Sequence[Sequence[Any]], second: Sequence[Sequence[Any]]) -> Decision:
    """Return a bimatrix game: player 1 does not see the row; names are words."""
    branches = {
        row: Decision(1, "column", dict(zip(columns.split(), zip(ones, others, strict=True), strict=True)))
        for row, ones, others in zip(rows.split(), first, second, strict=True)
    }
    return Decision(0, "row", branches)


def _number(text: str) -> Fraction:
    return Fraction(text)


def _centipede() -> Decision:
    """Return the four-move centipede of McKelvey and Palfrey: the taker gets four fifths of a pile that doubles."""
    node: Any = (_number("32/5"), _number("8/5"))
    for turn in range(3, -1, -1):
        large, small = Fraction(2, 5) * 2**turn, Fraction(1, 10) * 2**turn
        taken = (large, small) if turn % 2 == 0 else (small, large)
        node = Decision(turn % 2, f"move {turn + 1}", {"take": taken, "pass": node})
    return cast(Decision, node)


def _beer_quiche() -> Deal:
    """Return the signalling game of Cho and Kreps: a bully duels whom it takes for weak."""

    def kind(strong: bool) -> Decision:
        favourite = "beer" if strong else "quiche"
        return Decision(
            0,
            "strong" if strong else "weak",
            {
                breakfast: Decision(
                    1,
                    breakfast,
                    {
                        "duel": (int(breakfast == favourite), int(not strong)),
                        "walk": (int(breakfast == favourite) + 2, int(strong)),
                    },
                )
                for breakfast in ("beer", "quiche")
            },
        )

    chances = {"weak": Fraction(1, 10), "strong": Fraction(9, 10)}
    return Deal(chances, {"weak": kind(False), "strong": kind(True)})


def _myerson_poker() -> Deal:
    """Return Myerson's card game: a raise, a call, and one card that only player 0 sees."""

    def card(sign: int) -> Decision:
        called = Decision(1, "raised", {"meet": (2 * sign, -2 * sign), "pass": (1, -1)})
        return Decision(0, "red" if sign > 0 else "black", {"raise": called, "fold": (sign, -sign)})

    return Deal(dict.fromkeys(("red", "black"), Fraction(1, 2)), {"red": card(1), "black": card(-1)})


_HORSE = Decision(
    0,
    "first",
    {
        "C": Decision(1, "second", {"c": (1, 1, 1), "d": Decision(2, "third", {"L": (4, 4, 0), "R": (0, 0, 1)})}),
        "D": Decision(2, "third", {"L": (3, 2, 2), "R": (0, 0, 0)}),
    },
)
#: The games by name.
CATALOGUE: Mapping[str, Known] = {
    "prisoners_dilemma": Known(
        "R. Axelrod (1984), The Evolution of Cooperation, Basic Books, figure 1",
        _bimatrix("cooperate defect", "cooperate defect", [[3, 0], [5, 1]], [[3, 5], [0, 1]]),
        [(1, 1)],
    ),
    "battle_of_the_sexes": Known(
        "M. J. Osborne, A. Rubinstein (1994), A Course in Game Theory, MIT Press, figure 16.1",
        _bimatrix("opera match", "opera match", [[2, 0], [0, 1]], [[1, 0], [0, 2]]),
        [(2, 1), (1, 2), (Fraction(2, 3), Fraction(2, 3))],
    ),
    "chicken": Known(
        "after A. Rapoport, A. M. Chammah (1966), The game of Chicken, American Behavioral Scientist 10",
        _bimatrix("swerve straight", "swerve straight", [[0, -1], [1, -10]], [[0, 1], [-1, -10]]),
        [(1, -1), (-1, 1), (Fraction(-1, 10), Fraction(-1, 10))],
    ),
    "stag_hunt": Known(
        "after B. Skyrms (2004), The Stag Hunt and the Evolution of Social Structure, Cambridge University Press",
        _bimatrix("stag hare", "stag hare", [[4, 0], [3, 3]], [[4, 3], [0, 3]]),
        [(4, 4), (3, 3)],
    ),
    "inspection": Known(
        "after T. L. Turocy, B. von Stengel (2001), Game theory, CDAM Research Report LSE-CDAM-2001-09",
        _bimatrix("trust inspect", "comply cheat", [[0, -10], [-1, -6]], [[0, 10], [0, -90]]),
        [(-2, 0)],
    ),
    "asymmetric_pennies": Known(
        "J. K. Goeree, C. A. Holt (2001), Ten little treasures of game theory, American Economic Review 91, table 1",
        _bimatrix("top bottom", "left right", [[320, 40], [40, 80]], [[40, 80], [80, 40]]),
        [(75, 60)],
    ),
    "shapley": Known(
        "after L. S. Shapley (1964), Some topics in two-person games, Annals of Mathematics Studies 52",
        _bimatrix("a b c", "a b c", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        [(Fraction(1, 3), Fraction(1, 3))],
    ),
    "three_by_two": Known(
        "B. von Stengel (2007), Equilibrium computation for two-player games in strategic and extensive form, "
        "example 3.3 in Algorithmic Game Theory, Cambridge University Press",
        _bimatrix("1 2 3", "4 5", [[3, 3], [2, 5], [0, 6]], [[3, 2], [2, 6], [3, 1]]),
        [(3, 3), (3, Fraction(14, 5)), (4, Fraction(8, 3))],
    ),
    "entry_deterrence": Known(
        "R. Selten (1978), The chain store paradox, Theory and Decision 9",
        Decision(0, "entrant", {"in": Decision(1, "incumbent", {"cooperate": (2, 2), "fight": (0, 0)}), "out": (1, 5)}),
        [(2, 2), (1, 5)],
    ),
    "centipede": Known(
        "R. D. McKelvey, T. R. Palfrey (1992), An experimental study of the centipede game, Econometrica 60, figure 1",
        _centipede(),
        [(Fraction(2, 5), Fraction(1, 10))],
    ),
    "beer_quiche": Known(
        "after I.-K. Cho, D. M. Kreps (1987), Signaling games and stable equilibria, "
        "Quarterly Journal of Economics 102",
        _beer_quiche(),
        [(Fraction(29, 10), Fraction(9, 10)), (Fraction(21, 10), Fraction(9, 10))],
    ),
    "myerson_poker": Known(
        "R. B. Myerson (1991), Game Theory: Analysis of Conflict, Harvard University Press, section 2.1",
        _myerson_poker(),
        [(Fraction(1, 3), Fraction(-1, 3))],
    ),
    "selten_horse": Known(
        "R. Selten (1975), Reexamination of the perfectness concept, International Journal of Game Theory 4, figure 1",
        _HORSE,
        [(3, 2, 2), (1, 1, 1)],
    ),
}

Name = Literal[
    "prisoners_dilemma",
    "battle_of_the_sexes",
    "chicken",
    "stag_hunt",
    "inspection",
    "asymmetric_pennies",
    "shapley",
    "three_by_two",
    "entry_deterrence",
    "centipede",
    "beer_quiche",
    "myerson_poker",
    "selten_horse",
]


@dataclass(frozen=True)
class Textbook(ExplicitTree):
    """A game of a textbook or of a famous paper, most of them general-sum.

    Parameters
    ----------
    game : str
        The name of the game in :data:`CATALOGUE`.

    Notes
    -----
    Bimatrix games have the infosets ``row`` and ``column``. The payoffs in the equilibria, and the source of each game,
    are in the catalogue, and :doc:`/reference/games/textbook` lists them.

    Examples
    --------
    >>> rules = Textbook("chicken")
    >>> rules.payoffs(("swerve", "straight"))
    (-1, 1)
    >>> Textbook("selten_horse").num_players
    3
    """

    name: ClassVar[str] = "textbook"
    action_words: ClassVar[Mapping[str, str]] = {}

    game: Annotated[Name, About("name of the game")] = "battle_of_the_sexes"

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def tree(self) -> Decision | Deal:  # type: ignore[override]
        """The root."""
        return CATALOGUE[self.game].tree

    @property
    def num_players(self) -> int:
        """Number of players."""
        return len(CATALOGUE[self.game].equilibria[0])

    @property
    def equilibria(self) -> tuple[tuple[Fraction, ...], ...]:
        """The players' payoffs in the Nash equilibria; of two players, in all extreme ones."""
        return tuple(tuple(map(Fraction, paid)) for paid in CATALOGUE[self.game].equilibria)

    def payoffs(self, state: Any) -> _Paid:
        """Return the players' payoffs at a leaf."""
        return cast(_Paid, self._node(state))


def _reference(rules: Textbook) -> Reference:
    known = CATALOGUE[rules.game]
    zero_sum = all(sum(paid) == 0 for paid in known.equilibria)
    return Reference(rules.equilibria[0][0] if zero_sum else None, known.source)


FAMILY = Family(
    rules=Textbook,
    summary="Thirteen games of textbooks and famous papers, most of them general-sum",
    citation="The source of each game is listed with its equilibria",
    reference=_reference,
)
