"""Parameters declared once as dataclass fields: read from text, checked, and listed from there.

Games, methods, opponents and problems declare what can be said of them by annotations of their fields,
``ranks: Annotated[int, About("number of ranks", minimum=1)] = 3``. The grammar in :mod:`.grammar`, the checks at
construction and the options of the command line with their help all follow from that.
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
    """What there is to know about a parameter, as an annotation of its dataclass field.

    ``players: Annotated[int, About("number of players", minimum=2)] = 2`` declares a whole parameter.

    Parameters
    ----------
    description : str
        A few words for the user.
    minimum, maximum : int, optional
        Bounds, both allowed themselves.
    above : int, optional
        A bound that is not allowed itself.
    shown : str, optional
        The default in words; needed where the field's default is ``None``, for it depends on the other parameters.
    kind : type, optional
        The type of a value, where the annotation does not say it.
    choices : tuple of str
        What a text may be, where the annotation does not say it.
    form : str, optional
        How a value is written, such as ``ACTION:DELTA``; by default a letter.
    alias : str, optional
        Another name that is read too, such as the letter of a paper.
    large : bool
        Whether integers are often large, so that ``1e6`` is read as one.
    many : bool
        Whether it may be said several times; in text several values stand in parentheses.
    first : bool
        Whether its value comes first in text, without its name, as in ``abstraction:JQ.K/pair.nopair``.
    option : bool
        Whether the command line has an option for it; if not, it can only be given in the text.
    expected : str, optional
        What a value has to be, where its type, its bounds and `choices` do not say it.
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


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One declared parameter.

    Parameters
    ----------
    name : str
        As in ``name=value``.
    kind : type
        ``int``, ``bool``, ``float``, ``Fraction``, ``str`` (one of `choices`, if there are any), or another if whoever
        declares it reads and checks it.
    default : object
        ``None`` where it depends on the other parameters, or there is none; `shown` then says how.
    about : About
    choices : tuple of str
        What a ``str`` may be; of a number, words that stand for one.
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
        """How a value is written, for help: a letter, unless something better is declared."""
        if self.about.form is not None:
            return self.about.form
        return "N" if self.kind is int else self.name.rpartition("_")[2][0].upper()

    @property
    def expected(self) -> str:
        """What a value has to be, for error messages and help."""
        from .parameter_texts import expected_value

        about = self.about
        bounds = about.minimum, about.maximum, about.above
        return about.expected or expected_value(self.kind, self.choices, about.form, bounds)

    @property
    def is_read_elsewhere(self) -> bool:
        """Whether text is taken as it is: its kind is not one that is read here."""
        return self.kind not in (bool, int, float, Fraction, str)

    @property
    def word(self) -> str:
        """The name by which the command line knows it: its alias, if it has one."""
        return self.about.alias or self.name

    @property
    def interval(self) -> str:
        """The range of a number, as :func:`~treeplex.seqform.checks.check_number` takes it."""
        about = self.about
        low = "(-inf" if about.minimum is None else f"[{about.minimum}"
        high = "inf)" if about.maximum is None else f"{about.maximum}]"
        return f"{low if about.above is None else f'({about.above}'}, {high}"

    def convert(self, value: object) -> object:
        """Return a value, or text that says one, in the parameter's own type, after checking its type and range.

        Raises
        ------
        ValueError, OverflowError, ZeroDivisionError
            If it is not what is expected; nothing is said about what was.
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

            exact_float(value)  # raises an error where there is no such float
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
        """Return the error that says which value was received for the parameter, and what is expected."""
        from .parameter_texts import received_value

        return error(f"{owner}: {self.name} = {received_value(value)}{reason}; expected {self.expected}")

    def checked(self, owner: str, value: object, error: type[TreeplexError]) -> object:
        """Return :meth:`convert` of a value, and raise :meth:`failure` if it is not what is expected."""
        try:
            return self.convert(value)
        except (ValueError, OverflowError, ZeroDivisionError) as wrong:
            from .parameter_texts import reason_of

            raise self.failure(owner, value, error, reason_of(wrong)) from None

    def from_option(self, flag: str, text: object, error: type[Exception]) -> Any:
        """Return :meth:`convert` of what an option of the command line says, and name its flag if that is wrong."""
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
    """Return the parameters that a dataclass declares by :class:`About`, in order.

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
    """Return the type of a parameter's values, and the words that it may be."""
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
    """Check each parameter of a freshly made dataclass by itself, and store it in its own type.

    Called first thing in ``__post_init__``, so that it can be made directly as safely as from text.

    Raises
    ------
    TreeplexError
        Of the given type, naming the owner, the parameter, the value received and what was expected.
    """
    for each in parameters_of(type(declaring)):
        value = getattr(declaring, each.name)
        if value is None and each.default is None and not each.required:
            continue
        object.__setattr__(declaring, each.name, each.checked(declaring.name, value, error))
