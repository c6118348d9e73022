"""A precomputed strategy before the flop, for bets of any size."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from ...models.games import load_game
from ...models.games.holdem.preflop import Preflop
from ...models.games.holdem.preflop_form import blueprint, played_out
from ...models.games.holdem.preflop_solved import SolvedPreflop
from ...models.matches import Table
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError
from ...seqform.strategy import Profile, Strategy, load_strategies
from ...seqform.strategy_files import game_of


class Blueprint(Protocol):
    """The strategies of both players before the flop, in a model with few bet sizes.

    A line is the actions of the model so far, the button's first.
    """

    def menu(self, line: tuple[str, ...]) -> Mapping[str, int]:
        """Return the actions after a line, with the total in chips to which each raises; 0 if it does not raise.

        The result is empty if no decision follows, or if the model has no such line.
        """
        ...

    def behaviour(self, line: tuple[str, ...]) -> Floats:
        """Return the probability of each action of the menu for each class of hands, shape (actions, 169).

        Classes are in the order of :data:`~treeplex.models.games.holdem.classes.CLASSES`.
        """
        ...


def translated(menu: Mapping[str, int], total: int, called: int, pot: int) -> dict[str, float]:
    """Return the probabilities with which a raise counts as each raise of a menu: as one of its two neighbours.

    Parameters
    ----------
    menu : mapping of str to int
        Actions, and the total to which each raises; 0 for other actions.
    total : int
        The total of the raise, in chips.
    called, pot : int
        The total to call before the raise, and the pot after that call.

    Returns
    -------
    dict of str to float
        Empty if the menu has no raise.

    Notes
    -----
    The pseudo-harmonic mapping: with sizes in pots, x between A and B counts as A with probability
    (B − x)(1 + A) / ((B − A)(1 + x)). Ganzfried and Sandholm, "Action translation in extensive-form games with large
    action spaces: axioms, paradoxes, and the pseudo-harmonic mapping", IJCAI 2013, section 6.

    Examples
    --------
    A bet of three quarters of the pot, between sizes of half the pot and the pot:

    >>> from treeplex.solvers.matches.blueprint import translated
    >>> found = translated({"call": 0, "half": 150, "pot": 200}, 175, 100, 100)
    >>> {name: round(share, 3) for name, share in found.items()}
    {'half': 0.429, 'pot': 0.571}
    """
    raises = sorted((amount, name) for name, amount in menu.items() if amount > called)
    below = [one for one in raises if one[0] <= total][-1:]
    above = [one for one in raises if one[0] > total][:1]
    if not below or not above:
        return {name: 1.0 for _, name in below or above}
    least, most, found = ((amount - called) / pot for amount in (below[0][0], above[0][0], total))
    share = (most - found) * (1.0 + least) / ((most - least) * (1.0 + found))
    return {below[0][1]: share, above[0][1]: 1.0 - share}


class ModelBlueprint:
    """The blueprint of the model before the flop, for a table of two seats.

    Parameters
    ----------
    table : Table
    streets : int
        Betting rounds of the model after the flop.

    Examples
    --------
    >>> from treeplex.models.matches import Table
    >>> from treeplex.solvers.matches.blueprint import ModelBlueprint
    >>> blueprint = ModelBlueprint(Table(stack=1000), streets=1)
    >>> blueprint.menu(("raise 3",))
    {'fold': 0, 'call': 0, 'raise 9': 900, 'all-in': 1000}
    """

    def __init__(self, table: Table, streets: int = 2) -> None:
        self._begin(table, Preflop(stack=_stack(table), continuations=0, streets=streets))

    def _begin(self, table: Table, rules: Preflop) -> None:
        self._table = table
        #: Each player's stack in the model, in big blinds.
        self.stack = rules.stack
        self._tree, self._played = played_out(rules), blueprint(rules)
        self._menus: dict[tuple[str, ...], dict[str, int]] = {}

    @classmethod
    def from_files(cls, table: Table, *files: str | Path) -> "ModelBlueprint":
        """Return the blueprint that plays strategy files before the flop.

        Parameters
        ----------
        table : Table
        *files : path-like
            Strategies of one preflop game, such as ``treeplex solve preflop:stack=10 --out FILE`` or ``treeplex
            simplify`` writes them. If several files contain a player's strategy, the first two files give those of
            player 0 and player 1, in this order. A player whose strategy is in no file plays the model's own blueprint.

        Raises
        ------
        InvalidStrategyError
            If a file is not a strategy file of a preflop game, the game's stack is not that of the table, or the game
            has antes or a straddle.
        """
        games = {file: game_of(file) or "a game without a name" for file in files}
        (file, spec), *others = games.items()
        for other, another in others:
            if another != spec:
                raise InvalidStrategyError(
                    f"{other} contains strategies of {another}, expected {spec}, the game of {file}"
                )
        game = load_game(spec) if spec.startswith("preflop") else None
        if game is None or game.name != "preflop":
            raise InvalidStrategyError(f"{file} contains strategies of {spec}, expected those of a preflop game")
        rules, stack, found = Preflop(**game.parameters), _stack(table), cls.__new__(cls)
        if any(rules.antes) or rules.straddle:
            raise InvalidStrategyError(
                f"{file} contains strategies of {spec}, expected a game without antes or a straddle, like the table"
            )
        if rules.stack != stack:
            raise InvalidStrategyError(
                f"{file} contains strategies for a stack of {rules.stack} big blinds, but the table has {stack}"
            )
        found._begin(table, replace(rules, continuations=0))
        played: dict[int, Strategy] = {}
        for seat, each in enumerate(files):
            read = load_strategies(each, rules.game)[0]
            played |= read if seat == 0 else {player: one for player, one in read.items() if player >= seat}
        return found._playing(rules, played)

    def _playing(self, rules: Preflop, strategies: Mapping[int, Strategy]) -> "ModelBlueprint":
        """Return the blueprint with given strategies before the flop."""
        uniform = Profile.uniform(rules.game)
        profile = Profile([strategies.get(player, uniform[player]) for player in (0, 1)])
        solved = SolvedPreflop(rules, profile)
        own = [line for line in self.lines() if len(line) % 2 in strategies]
        return self.replaced({line: solved.at(", ".join(line)).strategy for line in own})

    def menu(self, line: tuple[str, ...]) -> Mapping[str, int]:
        """Return the actions after a line, with the total to which each raises."""
        if line not in self._menus:
            self._menus[line] = {}
            for child in self._after(line):
                after = self._tree.states[child]
                name = self._tree.actions[child]
                # The model's stacks are whole big blinds; at the table all-in means the whole stack.
                total = min(int(max(after.paid) * self._table.big_blind), self._table.stack)
                total = self._table.stack if name == "all-in" else total
                self._menus[line][name] = 0 if name in ("fold", "check", "call") else total
        return self._menus[line]

    def behaviour(self, line: tuple[str, ...]) -> Floats:
        """Return the probability of each action of the menu for each class of hands."""
        found: Floats = self._played[self._after(line)]
        return found

    def lines(self) -> Iterator[tuple[str, ...]]:
        """Yield the lines after which a player decides, each after its prefixes."""
        lines: list[tuple[str, ...]] = [()]
        for line in lines:  # the list grows
            if menu := self.menu(line):
                yield line
                lines += [(*line, action) for action in menu]

    def replaced(self, behaviour: Mapping[tuple[str, ...], Floats]) -> "ModelBlueprint":
        """Return the blueprint with other behaviour after some lines, in the form of :meth:`behaviour`."""
        found = copy(self)
        found._played = self._played.copy()
        for line, played in behaviour.items():
            found._played[self._after(line)] = played
        return found

    def _after(self, line: tuple[str, ...]) -> list[int]:
        """Return the nodes after a line; none if the line has left the model or reached the flop."""
        node = 0
        for action in line:
            node = next((one for one in self._children(node) if self._tree.actions[one] == action), -1)
            if node < 0:
                return []
        return [] if self._tree.states[node].street else self._children(node)

    def _children(self, node: int) -> list[int]:
        return list(self._tree.form.children[node].tolist())


def _stack(table: Table) -> int:
    """Return the stack of a table in whole big blinds, within the model's range."""
    return min(max(round(table.stack / table.big_blind), 2), 1000)


class Followed:
    """The possible lines of a hand in a blueprint, each with a probability.

    Parameters
    ----------
    blueprint : Blueprint
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self.lines: dict[tuple[str, ...], float] = {(): 1.0}

    def take(self, action: str, total: int, called: int, floors: Floats) -> Floats:
        """Continue with an action; return the probabilities of the action and of any raise for each class of hands.

        Parameters
        ----------
        action : str
            The action, as a history writes it.
        total, called : int
            The total to which it raises (0 if it does not), and the total to call.
        floors : ndarray of float64, shape (n,)
            For each player, the weight of a uniform strategy in the blueprint.

        Returns
        -------
        ndarray of float64, shape (2, n, 169)
            The probability of the action, then the probability of the action or, for a raise, of any raise. Ones if
            no line has the action: the lines end there.
        """
        likely, lines, mixed = np.zeros((2, len(floors), 169)), {}, floors[:, None]
        for line, weight in self.lines.items():
            menu = self._blueprint.menu(line)
            counted = translated(menu, total, called, 2 * called) if total else {action: 1.0} if action in menu else {}
            for name, share in counted.items():
                behaviour, place = self._blueprint.behaviour(line), list(menu).index(name)
                alike = [number for number, amount in enumerate(menu.values()) if amount] if total else [place]
                for number, places in enumerate(([place], alike)):
                    played = behaviour[places].sum(axis=0)
                    likely[number] += weight * share * ((1.0 - mixed) * played + mixed * len(places) / len(menu))
                lines[*line, name] = weight * share
        known = sum(lines.values())
        self.lines = {line: weight / known for line, weight in lines.items() if weight > 0.0}
        return likely / known if known else np.ones_like(likely)

    def mixture(self) -> dict[tuple[str, int], Floats]:
        """Return the strategy by action and total: probabilities by class of hands. Empty if no line continues."""
        found: dict[tuple[str, int], Floats] = {}
        for line, weight in self.lines.items():
            menu = self._blueprint.menu(line)
            if menu:
                for (name, amount), share in zip(menu.items(), self._blueprint.behaviour(line), strict=True):
                    key = ("raise" if amount else name, amount)
                    found[key] = found.get(key, 0.0) + weight * share
        total = sum(found.values())
        return {key: share / total for key, share in found.items()}
