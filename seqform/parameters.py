"""Parameters declared as annotated dataclass fields.

Games, methods, opponents and problems declare their parameters by annotations such as
``ranks: Annotated[int, About("number of ranks", minimum=1)] = 3``. The grammar in :mod:`.grammar`, the checks at
construction, and the command line's options and help all use these declarations.
"""

import dataclasses
import functools
import math
import operator
import types
import typing
from fractions import Fraction
from typing import Any

from .errors import InvalidGameError, TreeplexError, nearest


@dataclasses.dataclass(frozen=True)
class About:
    """The declaration of a parameter, as an annotation of its dataclass field.

    ``players: Annotated[int, About("number of players", minimum=2)] = 2`` is a complete declaration.

    Parameters
    ----------
    description : str
        A short description for the user.
    minimum, maximum : int, optional
        Inclusive bounds.
    above : int, optional
        Exclusive lower bound.
    shown : str, optional
        The default in words; required if the field's default is ``None`` because it depends on other parameters.
    kind : type, optional
        The type of a value, if the annotation does not give it.
    choices : tuple of str
        The allowed strings, if the annotation does not give them.
    form : str, optional
        A placeholder for the value in help, such as ``ACTION:DELTA``; by default a letter.
    alias : str, optional
        An alternative name, such as the letter used in a paper.
    large : bool
        Whether integers are often large, so that ``1e6`` is accepted.
    many : bool
        Whether it may be given several times; in a string, several values are enclosed in parentheses.
    first : bool
        Whether its value comes first in a string, without its name, as in ``abstraction:JQ.K/pair.nopair``.
    option : bool
        Whether the command line has an option for it; if not, it can only be given in the string.
    expected : str, optional
        The allowed values in words, if the type, bounds and `choices` do not describe them.
    example : str, optional
        A value for examples of commands; by default the placeholder.
    """

    description: str
    minimum: int | None = None
    maximum: int | None = None
    above: int | None = None
    shown: str | None = None
    kind: type | None = None
    choices: tuple[str, ...] = ()
    form: str | None = None
    alias: str | None = None
    large: bool = False
    many: bool = False
    first: bool = False
    option: bool = True
    expected: str | None = None
    example: str | None = None


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One declared parameter.

    Parameters
    ----------
    name : str
        The name in ``name=value``.
    kind : type
        ``int``, ``bool``, ``float``, ``Fraction``, ``str`` (one of `choices`, if there are any), or another type that
        the declaring class reads and checks itself.
    default : object
        ``None`` if there is no default or it depends on other parameters; `shown` then describes it.
    about : About
    choices : tuple of str
        The allowed values of a ``str``; for a number, words that are accepted in its place.
    required : bool
        Whether there is no default.
    """

    name: str
    kind: type
    default: object
    about: About
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def shown(self) -> str:
        """The default in words."""
        if self.about.shown is not None:
            return self.about.shown
        return str(self.default).lower() if self.kind is bool else str(self.default)

    @property
    def form(self) -> str:
        """The placeholder for the value in help: a letter, unless a form is declared."""
        if self.about.form is not None:
            return self.about.form
        return "N" if self.kind is int else self.name.rpartition("_")[2][0].upper()

    @property
    def expected(self) -> str:
        """The allowed values in words, for error messages and help."""
        from .parameter_texts import expected_value

        about = self.about
        bounds = about.minimum, about.maximum, about.above
        return about.expected or expected_value(self.kind, self.choices, about.form, bounds)

    @property
    def is_read_elsewhere(self) -> bool:
        """Whether a string is passed on unchanged, because this class does not parse values of its type."""
        return self.kind not in (bool, int, float, Fraction, str)

    @property
    def word(self) -> str:
        """The name on the command line: the alias, if there is one."""
        return self.about.alias or self.name

    @property
    def interval(self) -> str:
        """The interval of allowed numbers, in the notation of :func:`~treeplex.seqform.checks.check_number`."""
        about = self.about
        low = "(-inf" if about.minimum is None else f"[{about.minimum}"
        high = "inf)" if about.maximum is None else f"{about.maximum}]"
        return f"{low if about.above is None else f'({about.above}'}, {high}"

    def convert(self, value: object) -> object:
        """Convert a value, or a string, to the parameter's type, after checking its type and range.

        Raises
        ------
        ValueError, OverflowError, ZeroDivisionError
            If it is not an allowed value; the error does not describe the allowed ones.
        """
        if self.is_read_elsewhere:
            if not self.about.many:
                return value
            from .parameter_texts import read_several

            return read_several(value)
        if self.choices and isinstance(value, str) and value in self.choices:
            return value
        if isinstance(value, str):
            from .parameter_texts import read_value

            value = read_value(self.kind, value, self.about.large)
        if self.kind is bool:
            return value if isinstance(value, bool) else _refuse()
        if self.kind is str:
            return value if isinstance(value, str) and not self.choices else _refuse()
        if isinstance(value, bool):
            _refuse()
        number: int | float | Fraction
        if self.kind is int:
            number = _integer(value)
        elif isinstance(value, Fraction):
            from .number_texts import exact_float

            exact_float(value)  # raises an error if the fraction is beyond the range of floats
            number = value
        elif self.kind is float and isinstance(value, int | float) and math.isfinite(value):
            number = float(value)
        elif isinstance(value, int | float) and math.isfinite(value):
            # 0.05 means one twentieth, not the binary number nearest to it.
            number = Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))
        else:
            _refuse()
        about = self.about
        if (
            (about.minimum is not None and number < about.minimum)
            or (about.maximum is not None and number > about.maximum)
            or (about.above is not None and number <= about.above)
        ):
            _refuse()
        return float(number) if self.kind is float else number

    def failure(self, owner: str, value: object, error: type[TreeplexError], reason: str = "") -> TreeplexError:
        """Return the error that gives the value received for the parameter and the values expected."""
        from .parameter_texts import received_value

        received = received_value(value, self.choices)
        return error(f"{owner}: {self.name} = {received}{reason}; expected {self.expected}")

    def checked(self, owner: str, value: object, error: type[TreeplexError]) -> object:
        """Return the converted value, or raise :meth:`failure` if it is not allowed."""
        try:
            return self.convert(value)
        except (ValueError, OverflowError, ZeroDivisionError) as wrong:
            from .parameter_texts import reason_of

            raise self.failure(owner, value, error, reason_of(wrong)) from None

    def from_option(self, flag: str, text: object, error: type[Exception]) -> Any:
        """Return the converted value of a command-line option, or raise an error that names its flag."""
        from .parameter_texts import as_typed, reason_of

        try:
            return self.convert(text)
        except (ValueError, OverflowError, ZeroDivisionError) as wrong:
            hint = nearest(str(text), self.choices) + reason_of(wrong)
            raise error(f"{flag} {as_typed(str(text))}{hint}: expected {self.expected}") from None


def _integer(value: object) -> int:
    try:
        return operator.index(typing.cast(typing.SupportsIndex, value))
    except TypeError:
        _refuse()


def _refuse() -> typing.NoReturn:
    raise ValueError


def parameters_of(declaring: Any) -> tuple[Parameter, ...]:
    """Return the parameters that a dataclass declares with :class:`About`, in order.

    Examples
    --------
    >>> from treeplex.models.games import Kuhn
    >>> from treeplex.seqform.parameters import parameters_of
    >>> [(each.name, each.shown, each.expected) for each in parameters_of(Kuhn)]
    [('players', '2', 'an integer from 2 to 10'), ('cards', 'players+1', 'an integer from 2 to 1000')]
    """
    return _declared(declaring)


@functools.cache
def _declared(declaring: Any) -> tuple[Parameter, ...]:
    hints = typing.get_type_hints(declaring, include_extras=True)
    result = []
    for declared in dataclasses.fields(declaring):
        annotation = hints[declared.name]
        said = [each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, About)]
        if not said or not declared.init:
            continue
        kind, choices = _kind(typing.get_args(annotation)[0])
        missing = declared.default is dataclasses.MISSING and declared.default_factory is dataclasses.MISSING
        default = None if declared.default is dataclasses.MISSING else declared.default
        about = said[-1]
        result.append(
            Parameter(declared.name, about.kind or kind, default, about, about.choices or choices, required=missing)
        )
    return tuple(result)


def _kind(annotation: Any) -> tuple[type, tuple[str, ...]]:
    """Return the type of a parameter's values, and the allowed words."""
    union = typing.get_origin(annotation) in (types.UnionType, typing.Union)
    members = [each for each in (typing.get_args(annotation) if union else (annotation,)) if each is not type(None)]
    choices = tuple(
        word for each in members if typing.get_origin(each) is typing.Literal for word in typing.get_args(each)
    )
    kinds = [each for each in members if each in (bool, int, float, Fraction, str)]
    if Fraction in kinds:
        return Fraction, choices
    return (kinds[0] if kinds else str if choices else object), choices


def check_parameters(declaring: Any, error: type[TreeplexError] = InvalidGameError) -> None:
    """Check each parameter of a new dataclass instance separately, and convert it to its type.

    Called first in ``__post_init__``, so that constructor calls are checked in the same way as strings.

    Raises
    ------
    TreeplexError
        Of the type `error`; it names the owner, the parameter, the value received and the values expected.
    """
    for each in parameters_of(type(declaring)):
        value = getattr(declaring, each.name)
        if value is None and each.default is None and not each.required:
            continue
        object.__setattr__(declaring, each.name, each.checked(declaring.name, value, error))
