"""Parameters of a game: declared once as dataclass fields, then read from text, checked and listed from there."""

import dataclasses
import math
import operator
import types
import typing
from fractions import Fraction
from typing import Any

from ...seqform.errors import InvalidGameError, one_line, shown


@dataclasses.dataclass(frozen=True)
class About:
    """What the registry has to know about a parameter, as an annotation of its dataclass field.

    ``players: Annotated[int, About("number of players", minimum=2)] = 2`` declares a whole parameter.

    Parameters
    ----------
    description : str
        A few words for the user.
    minimum, maximum : int, optional
        Bounds, both allowed themselves.
    shown : str, optional
        The default in words; needed where the field's default is ``None``, for it depends on the other parameters.
    """

    description: str
    minimum: int | None = None
    maximum: int | None = None
    shown: str | None = None


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a game.

    Parameters
    ----------
    name : str
        As in ``game:name=value``.
    kind : type
        ``int``, ``bool``, ``float``, ``Fraction`` or ``str`` (one of `choices`, if there are any).
    default : object
        ``None`` where it depends on the other parameters; `shown` then says how.
    description : str
        A few words for the user.
    minimum, maximum : int or None
        Bounds, both allowed themselves.
    choices : tuple of str
        What a ``str`` may be.
    shown : str
        The default in words.
    """

    name: str
    kind: type
    default: object
    description: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    shown: str = ""

    @property
    def expected(self) -> str:
        """What a value has to be, for error messages and help."""
        if self.kind is bool:
            return "true or false"
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is str:
            return "text"
        noun = "an integer" if self.kind is int else "a number"
        if self.minimum is None:
            return noun if self.maximum is None else f"{noun} of at most {self.maximum}"
        if self.maximum is None:
            return f"{noun} of at least {self.minimum}"
        return f"{noun} from {self.minimum} to {self.maximum}"

    def _read(self, text: str) -> object:
        """Convert text to a value whose range is still to be checked."""
        if self.kind is bool:
            return text.lower() == "true" if text.lower() in ("true", "false") else _refuse()
        if self.kind is int:
            return int(text)
        if self.kind in (float, Fraction):
            # Decimals go through float, which bounds their exponents; no digit that a float keeps is lost.
            return Fraction(text) if "/" in text else float(text)
        return text

    def convert(self, value: object) -> object:
        """Return a value, or text that says one, in the parameter's own type, after checking its type and range.

        Raises
        ------
        ValueError, OverflowError, ZeroDivisionError
            If it is not what is expected; nothing is said about what was.
        """
        if isinstance(value, str):
            value = self._read(value)
        if self.kind is bool:
            return value if isinstance(value, bool) else _refuse()
        if self.choices:
            return value if value in self.choices else _refuse()
        if self.kind is str:
            return value if isinstance(value, str) else _refuse()
        if isinstance(value, bool):
            _refuse()
        number: int | float | Fraction
        if self.kind is int:
            number = _integer(value)
        elif isinstance(value, Fraction):
            float(value)  # raises OverflowError where there is no such float
            number = value
        elif isinstance(value, int | float) and math.isfinite(value):
            # 0.05 means one twentieth, not the binary number nearest to it.
            number = Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))
        else:
            _refuse()
        if self.minimum is not None and number < self.minimum:
            _refuse()
        if self.maximum is not None and number > self.maximum:
            _refuse()
        return float(number) if self.kind is float else number


def _integer(value: object) -> int:
    try:
        return operator.index(typing.cast(typing.SupportsIndex, value))
    except TypeError:
        _refuse()


def _refuse() -> typing.NoReturn:
    raise ValueError


def parameters_of(rules: type) -> tuple[Parameter, ...]:
    """Return the parameters that a dataclass of rules declares by :class:`About`, in order."""
    hints = typing.get_type_hints(rules, include_extras=True)
    result = []
    for declared in dataclasses.fields(rules):
        if not declared.init:
            continue
        kind, about = typing.get_args(hints[declared.name])
        choices: tuple[str, ...] = ()
        if typing.get_origin(kind) is types.UnionType:
            kind = next(member for member in typing.get_args(kind) if member is not types.NoneType)
        if typing.get_origin(kind) is typing.Literal:
            choices, kind = typing.get_args(kind), str
        plain = str(declared.default).lower() if kind is bool else str(declared.default)
        result.append(
            Parameter(
                name=declared.name,
                kind=kind,
                default=declared.default,
                description=about.description,
                minimum=about.minimum,
                maximum=about.maximum,
                choices=choices,
                shown=plain if about.shown is None else about.shown,
            )
        )
    return tuple(result)


def check_parameters(rules: Any) -> None:
    """Check each parameter of freshly made rules by itself, and store it in its own type.

    Called first thing in ``__post_init__``, so that the rules can be made directly as safely as through the registry.

    Raises
    ------
    InvalidGameError
        Naming the game, the parameter, the value received and what was expected.
    """
    for each in parameters_of(type(rules)):
        value = getattr(rules, each.name)
        if value is None and each.default is None:
            continue
        try:
            converted = each.convert(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            received = (
                value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else shown(value)
            )
            raise InvalidGameError(
                f"{rules.name}: {each.name} = {_shortened(received)}; expected {each.expected}"
            ) from None
        object.__setattr__(rules, each.name, converted)


def _shortened(text: str) -> str:
    text = one_line(text)
    return (text if len(text) <= 40 else text[:37] + "...") or "nothing"
