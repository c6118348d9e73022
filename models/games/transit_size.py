"""How large a transit game is, counted without building it."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...seqform.rules import GameSize

if TYPE_CHECKING:
    from .transit import Transit


def flow_size(rules: "Transit") -> GameSize:
    """Return the size of the flow form, which has no histories."""
    steps = [rules.grid.steps(cell) for cell in range(rules.grid.num_cells)]
    infosets, sequences = [], []
    for starts, is_evader in ((rules.start_cells, True), ((rules.base_cell,), False)):
        cells = fresh = set(starts)
        actions = sum(len(steps[cell]) for cell in cells)
        num_infosets = num_sequences = 0
        for time in range(rules.steps):
            num_infosets += len(cells)
            num_sequences += actions
            # Whoever may stay somewhere was there before: only the border of where it may be grows.
            moves = time == 0 or rules.failure < 1
            fresh = {target for cell in fresh for target in steps[cell].values()} - cells if moves else set()
            if is_evader:
                fresh = {cell for cell in fresh if not rules.grid.in_east(cell)}
            cells = cells | fresh
            actions += sum(len(steps[cell]) for cell in fresh)
        infosets.append(num_infosets + is_evader)
        sequences.append(1 + num_sequences + (len(starts) if is_evader else 0))
    return GameSize(0, 0, tuple(sequences), tuple(infosets))


def histories_size(rules: "Transit") -> GameSize:
    """Return the size of the tree of histories.

    The players move independently of each other, so a history is a pair of their own ones, which are counted by the
    cell that they have led to.
    """
    steps = [rules.grid.steps(cell) for cell in range(rules.grid.num_cells)]
    evader, patroller = Counter(rules.start_cells), Counter([rules.base_cell])
    escaped = 0
    num_infosets, num_sequences = [1, 0], [1 + len(rules.start_cells), 1]
    nodes = 1
    for time in range(rules.steps):
        fails = time > 0 and rules.failure > 0
        ways = 2 if fails and rules.failure < 1 else 1  # how a move may end
        alive, standing = evader.total(), patroller.total()
        choices = [_choices(own, steps) for own in (evader, patroller)]
        moves = [choices[0] - alive, choices[1] - standing]  # staying is none
        nodes += alive * standing + (choices[0] + escaped) * standing
        if fails:
            nodes += moves[0] * choices[1] + (alive + ways * moves[0] + escaped) * moves[1]
        for player, own in enumerate((evader, patroller)):
            num_infosets[player] += own.total()
            num_sequences[player] += choices[player]
        succeeds = not fails or rules.failure < 1
        evader, patroller = (_followers(own, steps, succeeds, fails) for own in (evader, patroller))
        for cell in [cell for cell in evader if rules.grid.in_east(cell)]:
            escaped += evader.pop(cell)
    leaves = (evader.total() + escaped) * patroller.total()
    return GameSize(nodes + leaves, leaves, tuple(num_sequences), tuple(num_infosets))


def _choices(own: Counter[int], steps: Sequence[dict[str, int]]) -> int:
    return sum(number * len(steps[cell]) for cell, number in own.items())


def _followers(own: Counter[int], steps: Sequence[dict[str, int]], succeeds: bool, fails: bool) -> Counter[int]:
    """Return how many of a player's own histories lead to each cell after one more step."""
    followers: Counter[int] = Counter()
    for cell, number in own.items():
        followers[cell] += number  # by staying
        moves = [target for target in steps[cell].values() if target != cell]
        if succeeds:
            for target in moves:
                followers[target] += number
        if fails:
            followers[cell] += number * len(moves)
    return followers
