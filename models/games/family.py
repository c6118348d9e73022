"""A family of games: rules with parameters, and what the registry says about them."""

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...seqform.errors import InvalidGameError
from ...seqform.extensions import summary_of
from ...seqform.parameters import Parameter, parameters_of

if TYPE_CHECKING:
    from ...seqform.game import Game


@dataclasses.dataclass(frozen=True)
class Reference:
    """A known value of a game and where it comes from.

    Parameters
    ----------
    value : Fraction or float
        Player 0's payoff in equilibrium: a ``Fraction`` where it is exact.
    source : str
        Who found it, and how precisely.
    """

    value: Fraction | float
    source: str


def known_value(value: Fraction, source: str) -> Callable[[Any], Reference]:
    """Return the reference of a family whose games all have one value."""
    return lambda rules: Reference(value, source)


def _unknown(rules: Any) -> None:
    """Say that the value of no game is known."""


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of games under one name.

    Parameters
    ----------
    rules : type
        The frozen dataclass of the rules. Its fields declared by :class:`~.parameters.About` are the parameters,
        its class attribute ``name`` is the name of the family.
    summary : str
        The game in a few words; by default the first line of the docstring of the rules.
    citation : str
        Where the game comes from.
    reference : callable
        From rules to the :class:`Reference` of that game, or to ``None`` where the value is not known; by default it is
        not known.
    """

    rules: Any
    summary: str = ""
    citation: str = ""
    reference: Callable[[Any], Reference | None] = _unknown

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", self.summary or summary_of(self.rules))

    @property
    def name(self) -> str:
        """The name in ``name:key=value``."""
        return str(self.rules.name)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which they are listed."""
        return parameters_of(self.rules)

    def values(self, rules: Any) -> dict[str, Any]:
        """Return every parameter of the given rules by name, defaults included."""
        return {each.name: getattr(rules, each.name) for each in self.parameters}

    def spec(self, rules: Any) -> str:
        """Return the shortest text that :func:`~.registry.load_game` reads as the given rules.

        Examples
        --------
        >>> from treeplex.models.games.leduc import FAMILY, Leduc
        >>> FAMILY.spec(Leduc(ranks=6, suits=2, merge_suits=True))
        'leduc:ranks=6,merge_suits=true'
        """
        values = self.values(rules)
        # A default may depend on other parameters, so try without each rather than compare with its default.
        for name in list(values):
            others = {key: value for key, value in values.items() if key != name}
            try:
                needed = self.rules(**others) != rules
            except InvalidGameError:
                needed = True
            if not needed:
                values = others
        given = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in values.items())
        return ":".join(filter(None, (self.name, ",".join(given))))

    def game(self, values: Mapping[str, Any]) -> "Game":
        """Return the game with the given parameters, the others at their defaults.

        Raises
        ------
        InvalidGameError
            If a value is not what its parameter takes, or values do not go together.
        """
        from ...seqform.game import Game

        rules = self.rules(**values)
        known = self.reference(rules)
        return Game(
            name=self.name,
            parameters=self.values(rules),
            spec=self.spec(rules) if values else self.name,
            **self.parts(rules),
            reference_value=None if known is None else known.value,
            reference_source="" if known is None else known.source,
            citation=self.citation,
        )

    def parts(self, rules: Any) -> dict[str, Any]:
        """Return what :class:`~treeplex.Game` is made of: the rules, unless a family knows better."""
        return {"rules": rules}
