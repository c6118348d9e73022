"""The betting of hold'em after the flop: sizes, and the resulting tree."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ....seqform.checks import check_number, check_whole
from ....seqform.errors import InvalidGameError, nearest, one_of, shown
from ....seqform.interchange.toml_table import Table
from .cards import ITEMS

S = TypeVar("S")
STREETS = ("flop", "turn", "river")
SEATS = ("oop", "ip")
_SIZE = re.compile(r"(?:(\d+(?:\.\d+)?)(%|x)|(\d+)(c)|(\d+)?(e)(?:(\d+(?:\.\d+)?)%)?|(a|min))")
#: The bounds of the numbers in sizes, by unit; the lower one is excluded.
_BOUNDS = {"%": (0.0, 1e5), "x": (1.0, 1e3), "c": (0.0, 1e7), "e": (0.0, 1e3)}


@dataclass(frozen=True)
class Size:
    """One size of a bet or raise.

    Attributes
    ----------
    kind : {"%", "x", "c", "e", "min", "a"}
        A share of the pot, a multiple of the last bet, chips, geometric over streets, the smallest legal raise, or
        all-in.
    number : float
        For a geometric size, the number of streets; 0 for all remaining ones.
    largest : float
        The largest geometric size, in per cent of the pot; 0 if there is no limit.
    """

    kind: str
    number: float = 0.0
    largest: float = 0.0

    def __str__(self) -> str:
        number, largest = (f"{one:.10g}" if one else "" for one in (self.number, self.largest))
        return f"{number}{self.kind}{largest}{'%' * bool(largest)}"

    @classmethod
    def read(cls, text: str, what: str, raising: bool) -> "tuple[Size, ...]":
        """Parse sizes, such as ``"60%, e, a"``."""
        such_as = "2.5x, 45%, 100c, min, e or a" if raising else "60%, 120c, e or a"
        if not isinstance(text, str):
            raise InvalidGameError(
                f"{what} is {shown(text, 60)}, expected a string, such as '{such_as.partition(',')[0]}, a'"
            )
        sizes = []
        for item in ITEMS.finditer(text):
            written, where = item[0], f"{what} at character {item.start() + 1}"
            folded = re.sub(r"\s+", "", written.lower())
            found = _SIZE.fullmatch({"allin": "a", "all-in": "a"}.get(folded, folded))
            if found is None or (not raising and (found[2] == "x" or found[8] == "min")):
                raise InvalidGameError(
                    f"{where}: {shown(written, 60)}, expected {such_as}{_meant(folded, written, raising)}"
                )
            kind = found[2] or found[4] or found[6] or found[8]
            numbers = [(found[1] or found[3] or found[5], kind), (found[7], "%")]
            for number, unit in ((float(text), unit) for text, unit in numbers if text):
                least, most = _BOUNDS[unit]
                if not least < number <= most:
                    expected = f"more than {least:g}{unit}" if number <= least else f"at most {most:.10g}{unit}"
                    raise InvalidGameError(f"{where}: {shown(written, 60)}, expected {expected}")
            sizes.append(cls(kind, *(float(text or 0.0) for text, _ in numbers)))
        return tuple(sizes)


#: Advice on strings that are not sizes: a pattern, whether it applies to bets or raises, and what to write.
_ADVICE = (
    (r"\d+(\.\d+)?x", "bet", "a bet has no earlier bet to multiply"),
    (r"x?(\d(?:\.\d{1,3})?)x?", "raise", r"write \1x"),
    (r"min|min-?bet|minimum", "bet", "a spot has no blinds: write the smallest bet in chips, such as 10c"),
    (r"min-?raise|minimum|mr", "raise", "write min"),
    (r"(\d{1,9})", "bet raise", r"write \1% for a share of the pot, or \1c for chips"),
    (r"\d{0,9}\.\d{1,9}c", "bet raise", "chips are whole: count in smaller chips"),
    (r"[\d.]{1,9}bb", "bet raise", "a spot counts in chips: write 120c for 120 chips"),
    (r"(?:c|\$|\+)?(\d{1,9})(?:\$|chips?)?", "bet raise", r"write \1c for chips"),
    (r"(\d{0,3}e)(\d{1,5})(?:x|p|pot)?", "bet raise", r"write \1\2% for a geometric size of at most \2% of the pot"),
    (r"half|halfpot", "bet raise", "write 50%"),
    (r"jam|shove|max", "bet raise", "write a"),
    (r"geo|geometric", "bet raise", "write e"),
    (r"none|no|-", "bet raise", "leave the string empty for no sizes"),
)


def _meant(folded: str, written: str, raising: bool) -> str:
    """Return a suggestion for a string that is not a valid size."""
    for pattern, kinds, advice in _ADVICE:
        if ("raise" if raising else "bet") in kinds and (found := re.fullmatch(pattern, folded)):
            return f"; {found.expand(advice)}"
    if found := re.fullmatch(r"(\d{0,3}(?:\.\d{1,6})?)(?:/(\d{1,3}))?(?:p|pot)?", folded):
        return f"; write {100 * float(found[1] or 1) / (float(found[2] or 1) or 1):.4g}%"
    return "; separate sizes by commas" if re.search(r"[;/|&]|%.*%|[%xe]\s+\S", written) else ""


#: The keys of a table of sizes, and their names in :class:`Betting`.
_KINDS = {"bet": "bets", "raise": "raises", "donk": "donks"}
#: The range of thresholds, in pots; a million pots exceed any stack.
_THRESHOLD = "[0, 1e6]"
#: The keys of the table of thresholds, and their names in :class:`Betting`.
_THRESHOLDS = {"add_allin": "add_all_in", "force_allin": "force_all_in", "merge": "merge", "raise_cap": "raise_cap"}


#: An amount that represents the whole stack.
ALL_IN = 10**9
_AMOUNT = re.compile(r"(?:bet|raise) (\d{1,9})|(all-in|check|call|fold)")


def _steps(line: str) -> tuple[str, ...]:
    """Return the actions of a line; cards, such as ``deal 7s``, are left out."""
    steps = (" ".join(one.split()) for one in line.split(","))
    return tuple(one for one in steps if one and not one.startswith("deal "))


def _amounts(line: str, text: str) -> tuple[int, ...]:
    """Return the amounts of ``"bet 120, all-in"``."""
    if not isinstance(text, str):
        raise InvalidGameError(f"lines.{line} is {shown(text, 60)}, expected a string, such as 'bet 120, all-in'")
    found = []
    for item in _steps(text):
        amount = _AMOUNT.fullmatch(item)
        if amount is None:
            raise InvalidGameError(f"lines.{line}: {shown(item, 60)}, expected bet 120, raise 300 or all-in")
        found += [int(amount[1])] if amount[1] else [ALL_IN] if amount[2] == "all-in" else []
    return tuple(found)


@dataclass(frozen=True)
class Betting:
    """The available bets and raises.

    Parameters
    ----------
    bets, raises, donks : str or mapping of str to str
        Sizes for everybody, or by seat and street, ``{"oop river": "50%", "turn": "75%, a", "ip": "60%"}``; the most
        specific entry applies. A donk is a bet out of position into the player who bet last on the street before. By
        default it has the sizes of other bets.
    add_all_in : float
        All-in is added if it exceeds the previous bet by at most this many pots.
    force_all_in : float
        A size becomes all-in if at most this many pots would be left behind.
    merge : float
        Sizes within this distance of a larger one, in pots, are left out.
    raise_cap : int
        The largest number of bets and raises on a street.
    lines : mapping of str to str
        Amounts at single decisions instead of sizes, by the actions that lead there (without cards), such as ``{"":
        "bet 120, all-in", "bet 120": "raise 300"}``. Checks, calls and folds are always available.
    """

    bets: str | Mapping[str, str] = "60%, a"
    raises: str | Mapping[str, str] = "2.5x"
    donks: str | Mapping[str, str] | None = None
    add_all_in: float = 1.5
    force_all_in: float = 0.15
    merge: float = 0.1
    raise_cap: int = 10
    lines: Mapping[str, str] = field(default_factory=dict)
    _sizes: dict[tuple[str, int, int], tuple[Size, ...]] = field(init=False, repr=False, compare=False)
    _lines: dict[tuple[str, ...], tuple[int, ...]] = field(init=False, repr=False, compare=False)
    #: The prefixes of lines, including the lines themselves: elsewhere the path to a decision does not matter.
    _beginnings: frozenset[tuple[str, ...] | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sizes: dict[tuple[str, int, int], tuple[Size, ...]] = {}
        for name in ("add_all_in", "force_all_in", "merge"):
            check_number(getattr(self, name), name, InvalidGameError, _THRESHOLD)
        check_whole(self.raise_cap, "raise_cap", InvalidGameError, "[0, 100]")
        for name in ("bets", "raises", "donks"):
            given: Any = getattr(self, name)
            given = given if isinstance(given, Mapping) else {} if given is None else {"": given}
            known = [" ".join(filter(None, (seat, street))) for seat in ("", *SEATS) for street in ("", *STREETS)]
            for key in given:
                if key not in known:
                    raise InvalidGameError(
                        f"{name}: {shown(key)}, expected a seat, a street or both, such as 'oop', 'river' or 'ip turn'"
                    )
            for seat, who in enumerate(SEATS):
                for street, when in enumerate(STREETS):
                    key = next((one for one in (f"{who} {when}", when, who, "") if one in given), None)
                    if key is not None:
                        sizes[name, seat, street] = Size.read(given[key], f"{name} {key}".strip(), name == "raises")
        object.__setattr__(self, "_sizes", sizes)
        lines = {_steps(line): _amounts(line, text) for line, text in self.lines.items()}
        object.__setattr__(self, "_lines", lines)
        beginnings = {line[:end] for line in lines for end in range(len(line) + 1)}
        object.__setattr__(self, "_beginnings", frozenset(beginnings))

    @classmethod
    def parse(
        cls,
        bets: "str | Mapping[str, Any] | Table",
        thresholds: "Mapping[str, Any] | Table | None" = None,
        lines: "Mapping[str, str] | Table | None" = None,
    ) -> "Betting":
        """Parse sizes and thresholds in the form of a spot file.

        Parameters
        ----------
        bets : str or mapping
            Sizes of bets, or the table ``[bets]``: the keys ``bet``, ``raise`` and ``donk`` for everybody, and tables
            of them by street, or by street and seat. Missing keys have the defaults of ``Betting()``.
        thresholds : mapping, optional
            The table ``[thresholds]``: ``add_allin``, ``force_allin``, ``merge`` and ``raise_cap``.
        lines : mapping, optional
            The table ``[lines]``: amounts by line.

        Raises
        ------
        InvalidGameError

        Examples
        --------
        >>> from treeplex.models.games.holdem.bets import Betting
        >>> betting = Betting.parse({"bet": "60%", "river": {"bet": "75%, a", "oop": {"donk": "50%"}}})
        >>> betting.bets, betting.donks
        ({'': '60%', 'river': '75%, a'}, {'oop river': '50%'})
        """
        table = (
            bets if isinstance(bets, Table) else Table({"bet": bets} if isinstance(bets, str) else dict(bets), ["bets"])
        )
        sizes: dict[str, dict[str, Any]] = {"bets": {"": cls.bets}, "raises": {"": cls.raises}}
        inner = {when: table.table(when, '[bets.river] with bet = "60%"') for when in STREETS}
        tables = [("", table, (*_KINDS, *STREETS))]
        tables += [(when, one, (*_KINDS, *SEATS)) for when, one in inner.items()]
        tables += [
            (f"{who} {when}", one.table(who, '[bets.river.oop] with donk = "50%"'), tuple(_KINDS))
            for when, one in inner.items()
            for who in SEATS
        ]
        for key, one, known in tables:
            one.check_keys(known)
            for kind, name in _KINDS.items():
                if kind in one:
                    with one.about(kind):
                        Size.read(one.values[kind], one.name_of(kind), kind == "raise")
                    sizes.setdefault(name, {})[key] = one.values[kind]
        limits = thresholds if isinstance(thresholds, Table) else Table(dict(thresholds or {}), ["thresholds"])
        limits.check_keys(tuple(_THRESHOLDS))
        for key, value in limits.values.items():
            with limits.about(key):
                if key == "raise_cap":
                    check_whole(value, limits.name_of(key), InvalidGameError, "[0, 100]")
                else:
                    check_number(value, limits.name_of(key), InvalidGameError, _THRESHOLD)
        given = lines if isinstance(lines, Table) else Table(dict(lines or {}), ["lines"])
        for line, text in given.values.items():
            with given.about(line):
                _amounts(line, text)
        found: dict[str, Any] = {_THRESHOLDS[key]: value for key, value in limits.values.items()}
        return cls(**sizes, **found, lines=given.values)  # type: ignore[arg-type]

    def tables(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tables ``bets`` and ``thresholds`` of a spot file, which :meth:`parse` reads.

        Examples
        --------
        >>> from treeplex.models.games.holdem.bets import Betting
        >>> Betting("60%", "3x", {"oop river": "50%"}).tables()[0]
        {'bet': '60%', 'raise': '3x', 'river': {'oop': {'donk': '50%'}}}
        """
        table: dict[str, Any] = {}
        for kind, name in _KINDS.items():
            given: Any = getattr(self, name)
            given = {"": given} if isinstance(given, str) else dict(given or {})
            if kind != "donk":
                given.setdefault("", "")
            for seat in SEATS:  # a street takes precedence over a seat alone, for which a file has no table
                if seat in given:
                    text = given.pop(seat)
                    given |= {f"{seat} {when}": given.get(f"{seat} {when}", given.get(when, text)) for when in STREETS}
            for key, text in given.items():
                inner = table
                for word in reversed(key.split()):
                    inner = inner.setdefault(word, {})
                inner[kind] = text
        return table, {key: getattr(self, name) for key, name in _THRESHOLDS.items()}

    def listed(self, kind: str, seat: int, street: int) -> tuple[Size, ...]:
        """Return the sizes of ``bets``, ``raises`` or ``donks`` of a player on a street; empty if there are none."""
        return self._sizes.get((kind, seat, street), ())

    def without(self, kind: str, street: int, size: Size) -> "Betting":
        """Return the betting without a size on a street."""
        kept = {
            f"{SEATS[seat]} {STREETS[when]}": ",".join(str(one) for one in sizes if (when, one) != (street, size))
            for (name, seat, when), sizes in self._sizes.items()
            if name == kind
        }
        fewer: Any = {kind: kept}
        return replace(self, **fewer)

    def with_menu(self, seat: int, text: str) -> "Betting":
        """Return the betting with other bet sizes of one player on all streets; raises stay as they are.

        Examples
        --------
        >>> from treeplex.models.games.holdem.bets import Betting
        >>> [str(size) for size in Betting("60%, a").with_menu(1, "33%").listed("bets", 1, 2)]
        ['33%']
        """
        Size.read(text, "bets", raising=False)
        given: Any = self.bets if isinstance(self.bets, Mapping) else {"": self.bets}
        return replace(self, bets={**given, **{f"{SEATS[seat]} {street}": text for street in STREETS}})

    def sizes(self, seat: int, street: int, previous: int, donk: bool) -> tuple[Size, ...]:
        """Return the sizes for a player at a decision."""
        if previous:
            return self._sizes.get(("raises", seat, street), ())
        if donk and ("donks", seat, street) in self._sizes:
            return self._sizes["donks", seat, street]
        return self._sizes.get(("bets", seat, street), ())

    def check_line(self, line: str, street: int, pot: int, stack: int) -> None:
        """Raise an error if a line does not lead to a decision, or has amounts that are not allowed there.

        Raises
        ------
        InvalidGameError
        """
        steps = _steps(line)
        where = f"lines.{line or '(at first)'}"
        state = first(self, street, stack)
        for number, step in enumerate((*steps, None)):
            while isinstance(state, Ended) and state.folded < 0 and state.street < len(STREETS) - 1:
                state = following(state, self)
            after = dict(moves(state, self, pot, stack)) if isinstance(state, Decision) else {}
            if step is None:
                break
            if step not in after:
                known = f"expected {one_of(after)}" if after else "there are no more bets there"
                said = f"after {', '.join(steps[:number])}" if number else "at first"
                raise InvalidGameError(f"{where}: {shown(step, 40)} {said}{nearest(step, after)}; {known}")
            state = after[step]
        if not isinstance(state, Decision):
            raise InvalidGameError(f"{where}: no player acts there")
        theirs, most = max(state.now), stack - state.before
        least = min(theirs + max(state.last, 1), most)
        for amount in self._lines[steps]:
            if theirs == most:
                raise InvalidGameError(f"{where}: an all-in cannot be raised, expected an empty string")
            if amount != ALL_IN and not least <= amount <= most:
                raise InvalidGameError(f"{where}: {amount} is not allowed, expected {least} to {most}")

    def amounts_at(self, state: "Decision", pot: int, most: int) -> tuple[int, ...]:
        """Return the possible bets or raises at a decision, as totals on the street, up to `most`."""
        theirs = max(state.now)
        if state.line is not None and state.line in self._lines:
            return tuple(sorted({min(amount, most) for amount in self._lines[state.line]}))
        if state.raises >= self.raise_cap:
            return ()
        donk = state.mover == 0 and state.aggressor == 1 and not theirs
        sizes = self.sizes(state.mover, state.street, theirs, donk)
        middle, least = pot + 2 * (state.before + theirs), theirs + max(state.last, 1)
        return self.amounts(sizes, middle, theirs, least, most, len(STREETS) - state.street)

    def amounts(
        self, sizes: Sequence[Size], pot: int, previous: int, least: int, most: int, streets: int
    ) -> tuple[int, ...]:
        """Return the possible bets or raises on a street, as totals.

        Parameters
        ----------
        sizes : sequence of Size
        pot : int
            The pot after a call of the current bet.
        previous : int
            The last bet as a total on the street; 0 if there was none.
        least, most : int
            The smallest raise allowed, and the largest possible one, as totals on the street.
        streets : int
            Number of remaining streets, including this one.

        Notes
        -----
        All-in is added if most ≤ previous + round(add · pot). Amounts are limited to [least, most]. An amount becomes
        all-in if most ≤ amount + round(force · (pot + 2 · (amount − previous))). Duplicates are dropped. From the
        largest x down, y is kept only if y < (x − merge) / (1 + merge), both in pots.
        """
        amounts = []
        for size in sizes:
            if size.kind == "a":
                amounts.append(most)
            elif size.kind == "%":
                amounts.append(previous + rounded(size.number / 100.0 * pot))
            elif size.kind == "x":
                amounts.append(rounded(size.number * previous))
            elif size.kind == "c":
                amounts.append(previous + int(size.number))
            elif size.kind == "min":
                amounts.append(least)
            else:
                behind, count = most - previous, int(size.number) or streets
                share = ((2.0 * behind / pot + 1.0) ** (1.0 / count) - 1.0) / 2.0
                share = min(share, size.largest / 100.0) if size.largest else share
                amounts.append(previous + rounded(share * pot))
        if sizes and most <= previous + rounded(self.add_all_in * pot):
            amounts.append(most)
        amounts = [max(min(least, most), min(amount, most)) for amount in amounts]
        forced = [
            most if most <= amount + rounded(self.force_all_in * (pot + 2 * (amount - previous))) else amount
            for amount in amounts
        ]
        kept: list[int] = []
        for amount in sorted(set(forced), reverse=True):
            largest = (kept[-1] - previous) / pot if kept else None
            if largest is None or (amount - previous) / pot < (largest - self.merge) / (1.0 + self.merge):
                kept.append(amount)
        return tuple(reversed(kept))


def rounded(number: float) -> int:
    """Round to a whole number of chips, halves away from zero."""
    return int(number + 0.5)


@dataclass(frozen=True)
class Decision:
    """A state of the betting, without cards.

    Attributes
    ----------
    street : int
        0 on the flop, 2 on the river.
    mover : int
        0 out of position, 1 in position.
    before : int
        The amounts put in on earlier streets, since the spot began.
    now : (int, int)
        The amounts put in on this street.
    last : int
        The last raise: the amount beyond the previous bet.
    raises : int
        Bets and raises on this street.
    aggressor : int
        The player who bet last on the previous street; −1 if nobody did.
    checked : bool
        Whether the other player has checked.
    line : tuple of str or None
        The actions that lead there, without cards, if they matter; otherwise equal decisions are merged.
    """

    street: int
    mover: int = 0
    before: int = 0
    now: tuple[int, int] = (0, 0)
    last: int = 0
    raises: int = 0
    aggressor: int = -1
    checked: bool = False
    line: tuple[str, ...] | None = None

    @property
    def paid(self) -> tuple[int, int]:
        """The chips that each player has put in since the spot began."""
        return self.before + self.now[0], self.before + self.now[1]


@dataclass(frozen=True)
class Ended:
    """The end of a street, or of the hand.

    Attributes
    ----------
    paid : (int, int)
        The amounts put in since the spot began.
    folded : int
        The player who folded; −1 if nobody did.
    street : int
    aggressor : int
    all_in : bool
    line : tuple of str or None
    """

    paid: tuple[int, int]
    folded: int
    street: int
    aggressor: int
    all_in: bool
    line: tuple[str, ...] | None = None


def moves(state: Decision, betting: Betting, pot: int, stack: int) -> Iterator[tuple[str, "Decision | Ended"]]:
    """Yield the actions at a decision, by their names in play, with the states that follow.

    Parameters
    ----------
    state : Decision
    betting : Betting
    pot, stack : int
        At the start of the spot.
    """
    mine, theirs = state.now[state.mover], state.now[1 - state.mover]
    most = stack - state.before
    paid, other = state.paid, 1 - state.mover

    def line(action: str) -> tuple[str, ...] | None:
        longer = None if state.line is None else (*state.line, action)
        return longer if longer in betting._beginnings else None

    if theirs > mine:
        yield "fold", Ended(paid, state.mover, state.street, other, False, line("fold"))
        called = state.before + theirs
        yield "call", Ended((called, called), -1, state.street, other, theirs == most, line("call"))
    elif state.checked:
        yield "check", Ended(paid, -1, state.street, -1, False, line("check"))
    else:
        # The smallest allowed bet stays the same.
        last = state.last
        checked = Decision(state.street, other, state.before, (0, 0), last, 0, state.aggressor, True, line("check"))
        yield "check", checked
    if theirs == most:
        return
    for amount in betting.amounts_at(state, pot, most):
        name = "all-in" if amount == most else f"{'raise' if theirs else 'bet'} {amount}"
        now = (amount, theirs) if state.mover == 0 else (theirs, amount)
        raised = amount - theirs, state.raises + 1
        yield name, Decision(state.street, other, state.before, now, *raised, state.aggressor, False, line(name))


def unrolled(begun: S, moves: Callable[[S], Iterable[tuple[str, S]]]) -> tuple[list[S], list[int], list[str]]:
    """Return all states that follow from a state, level by level, with the index of their parent and their action."""
    states, parents, actions = [begun], [-1], [""]
    for node, state in enumerate(states):  # the list grows
        for action, after in moves(state):
            states.append(after)
            parents.append(node)
            actions.append(action)
    return states, parents, actions


def first(betting: Betting, street: int, stack: int) -> "Decision | Ended":
    """Return the state in which a spot begins."""
    line = () if betting.lines else None
    return Decision(street, line=line) if stack else Ended((0, 0), -1, street, -1, True, line)


def following(state: Ended, betting: Betting) -> "Decision | Ended":
    """Return the state after a street; the last bettor matters only if there are donk bets."""
    street = state.street + 1
    if state.all_in:
        return Ended(state.paid, -1, street, -1, True, state.line)
    donks = betting.sizes(0, street, 0, True) != betting.sizes(0, street, 0, False)
    aggressor = state.aggressor if donks and state.aggressor == 1 else -1
    return Decision(street, before=state.paid[0], aggressor=aggressor, line=state.line)
