"""A parser of data that Python has printed, ``{'0pb': [(0, np.float64(0.5)), …]}``; it executes no code."""

import ast
from fractions import Fraction
from typing import Any

from ..errors import GameFileError, one_line

#: Calls that print numbers: numpy's, Python's fractions and Gambit's.
_NUMBERS = ("float64", "float32", "float16", "int64", "int32", "Fraction", "Rational", "Decimal")


def from_python_text(text: str) -> Any:
    """Read dictionaries, lists, tuples, strings and numbers as Python prints them.

    Parameters
    ----------
    text : str
        Numbers may be fractions, ``1/3`` or ``Rational(1, 3)``, and numpy scalars, ``np.float64(0.5)``.

    Returns
    -------
    object
        In the form of :func:`~treeplex.seqform.interchange.encoding.from_json`: tuples become lists, and fractions
        strings.

    Raises
    ------
    GameFileError
        If it contains anything else, with line and column if they are known.

    Examples
    --------
    >>> from treeplex.seqform.interchange.python_text import from_python_text
    >>> from_python_text("{'0pb': [(0, np.float64(0.25)), (1, Rational(3, 4))]}")
    {'0pb': [[0, 0.25], [1, '3/4']]}
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise GameFileError(f"neither JSON nor printed Python: {error.msg}", error.lineno, error.offset) from None
    except GameFileError:
        raise
    except (ValueError, ZeroDivisionError) as error:
        raise GameFileError(f"neither JSON nor printed Python: {one_line(str(error))}") from None
    except (RecursionError, MemoryError):
        raise GameFileError("lists or dictionaries are nested too deeply") from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Dict):
        keys = [_key(key) for key in node.keys]
        if len(set(keys)) < len(keys):
            raise _refused(node, "a dictionary with the same key twice")
        return dict(zip(keys, map(_value, node.values), strict=True))
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(each) for each in node.elts]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    number = _number(node)
    return number if isinstance(number, int | float) else str(number)


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if node is None:
        raise ValueError("dictionary unpacking is not allowed")
    return str(_number(node))


def _number(node: ast.expr) -> int | float | Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return Fraction(_number(node.left)) / Fraction(_number(node.right))
    if isinstance(node, ast.Call) and not node.keywords and 1 <= len(node.args) <= 2:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _NUMBERS:
            return _of_call([_argument(each) for each in node.args])
    raise _refused(node, f"{one_line(ast.unparse(node), 40)}, expected a number or a string")


def _argument(node: ast.expr) -> int | float | Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Fraction(node.value)
    return _number(node)


def _of_call(parts: list[int | float | Fraction]) -> int | float | Fraction:
    return parts[0] if len(parts) == 1 else Fraction(parts[0]) / Fraction(parts[1])


def _refused(node: ast.expr, what: str) -> GameFileError:
    return GameFileError(f"neither JSON nor printed Python: {what}", node.lineno, node.col_offset + 1)
