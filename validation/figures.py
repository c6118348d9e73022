"""Numbers as tables show them."""


def decimals(number: float, digits: int) -> str:
    """Return a number with so many decimals, no minus before a zero.

    Examples
    --------
    >>> from treeplex.validation.figures import decimals
    >>> decimals(-1e-12, 3), decimals(-1 / 18, 3)
    ('0.000', '-0.056')
    """
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def magnitude(number: float | None) -> str:
    """Return a number's order of size in two digits; nothing for ``None``."""
    if number is None:
        return ""
    return "0" if number == 0.0 else f"{number:.1e}"
