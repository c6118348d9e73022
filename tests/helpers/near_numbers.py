"""Compare what an example prints with what its page shows, where digits differ between machines.

A page marks such a block by a comment on the line above it, ``<!-- digits differ -->``. Readers then see real numbers.
"""

import re

MARK = "<!-- digits differ -->"
NUMBER = r"[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
#: Rows that depend on the machine alone, and rows that fall towards zero.
SECONDS = re.compile(r"(?m)^(\s*seconds\b).*(?:\n {12,}\S.*)*$")  # which may go on in the next lines
FREE = ("built in", "size", "variance saved")
SMALL = ("gap", "exploitability", "regrets", "violation", "ε-Nash", "proven", "least loss", "iterations", "runs")
CLOSE, SMALLEST = 0.05, 2e-3


def is_marked(text: str, line: int) -> bool:
    """Whether the block of code that holds a line, from 1 on, has the mark above it."""
    lines = text.splitlines()[:line]
    while lines and not lines[-1].lstrip().startswith("```"):
        lines.pop()
    above = [one.strip() for one in lines[:-1] if one.strip()]
    return bool(above) and above[-1] == MARK


def is_near(want: str, got: str) -> bool:
    """Whether two texts have the same words, and numbers that are close.

    Examples
    --------
    >>> is_near("value 0.3125 to player 0", "value 0.3124 to player 0")
    True
    >>> is_near("value 0.3125 to player 0", "value 0.4125 to player 0")
    False
    >>> is_near("value 0.3125 to player 0", "worth 0.3125 to player 0")
    False
    """
    want, got = (SECONDS.sub(r"\1", text) for text in (want, got))  # which phases there are depends on the machine too
    numbers = list(re.finditer(NUMBER, want))
    pattern, end = "", 0
    for number in numbers:
        pattern += _words(want[end : number.start()]) + f"({NUMBER})"
        end = number.end()
    match = re.fullmatch(pattern + _words(want[end:]), got, re.DOTALL)
    return (
        match is not None
        and all(
            re.match(r" s\b", want[number.end() :]) is not None  # seconds
            or _close(number[0], found, want[want.rfind("\n", 0, number.start()) + 1 : number.start()])
            for number, found in zip(numbers, match.groups(), strict=True)
        )
    )


def _words(text: str) -> str:
    """Return the pattern of words: any blanks between them, and anything for dots that stand alone on a line."""
    parts = re.split(r"(\s+|\.\.\.)", text)
    return "".join(r"\s+" if part.isspace() else ".*?" if part == "..." else re.escape(part) for part in parts)


def _close(want: str, got: str, row: str) -> bool:
    if row.startswith(FREE):
        return True
    shown, found = (float(one.replace(",", "").replace("−", "-")) for one in (want, got))
    share = 0.5 if row.startswith(SMALL) else CLOSE
    return abs(shown - found) <= max(share * max(abs(shown), abs(found)), SMALLEST)
