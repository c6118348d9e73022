"""The resolving bot: its ranges, translation, legality, time and determinism."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import either

from treeplex import Nash, Profile, load_game, solve
from treeplex.models.games.holdem.bets import Betting, Decision
from treeplex.models.games.holdem.cards import HANDS, hand_numbers, read_cards
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASSES
from treeplex.models.games.holdem.preflop import Preflop
from treeplex.models.games.holdem.preflop_solved import SolvedPreflop
from treeplex.models.matches import Table, View, play_hand, shuffled_deck
from treeplex.seqform.errors import InvalidGameError, InvalidStrategyError
from treeplex.solvers.matches.blueprint import Followed, ModelBlueprint, translated
from treeplex.solvers.matches.bots import find_bot
from treeplex.solvers.matches.reads import Reads
from treeplex.solvers.matches.resolving import ResolvingBot, StreetPlan
from treeplex.solvers.matches.streets import SolvedStreet, StreetSpot, street_spot
from treeplex.solvers.opponents.strategies import opponent_strategy

QUICK = {
    street: StreetPlan(Betting({name: "100%"}, {name: "3x"}, raise_cap=2), 2, rounds=1)
    for street, name in enumerate(("flop", "turn", "river"), 1)
}


class Simple:
    """A blueprint with one raise, to three blinds, and a rule for it by class."""

    def __init__(self, table: Table, raises: float = 0.25) -> None:
        self.table, self.raises = table, raises

    def menu(self, line: tuple[str, ...]) -> dict[str, int]:
        if line and (line[-1] == "fold" or (line[-1] in ("call", "check") and len(line) > 1)):
            return {}
        calls = {"check": 0} if line == ("call",) else {"fold": 0, "call": 0}
        return calls | ({} if "raise 3" in line else {"raise 3": 3 * self.table.big_blind})

    def behaviour(self, line: tuple[str, ...]) -> np.ndarray:
        names = list(self.menu(line))
        found = np.full((len(names), 169), 1.0 / len(names))
        if names[-1] == "raise 3":
            found[-1] = self.raises
            found[-1, 0] = 1.0
            found[:-1] = (1.0 - found[-1]) / (len(names) - 1)
        return found


class Wild:
    """Does anything that is legal, all-in and the least raise among it."""

    def begin(self, table: Table, seat: int) -> None: ...

    def act(self, view: View, rng: np.random.Generator) -> str:
        kind = int(rng.integers(6))
        if kind == 0 and view.price:
            return "fold"
        if kind <= 2 or not view.most:
            return "call" if view.price else "check"
        amount = (view.least, view.most, int(rng.integers(view.least, view.most + 1)))[kind - 3]
        return f"{view.aggressive} {amount}"

    def end(self, result: object) -> None: ...


def hand(name: str) -> int:
    return int(hand_numbers(np.array([read_cards(name)]))[0])


def quick(table: Table, **settings: Any) -> ResolvingBot:
    return ResolvingBot(Simple(table), plans=QUICK, **settings)


def test_translation_is_exact_at_the_sizes_and_harmonic_between() -> None:
    menu = {"fold": 0, "call": 0, "small": 300, "large": 900}
    assert translated(menu, 300, 100, 200) == {"small": 1.0, "large": 0.0}
    assert translated(menu, 900, 100, 200) == {"large": 1.0}
    assert translated(menu, 200, 100, 200) == {"small": 1.0}
    assert translated(menu, 5000, 100, 200) == {"large": 1.0}
    # 1 and 4 pots, and 2 between them: (4 - 2)(1 + 1) / ((4 - 1)(1 + 2)).
    assert translated(menu, 500, 100, 200) == pytest.approx({"small": 4 / 9, "large": 5 / 9})
    assert translated({"fold": 0, "call": 0}, 500, 100, 200) == {}


def test_the_blueprint_of_the_model_is_a_strategy_wherever_it_decides() -> None:
    blueprint = ModelBlueprint(Table(stack=1500), streets=1)
    for line in ((), ("call",), ("raise 3",), ("raise 3", "raise 9"), ("all-in",)):
        assert blueprint.behaviour(line).shape == (len(blueprint.menu(line)), 169)
        assert blueprint.behaviour(line).sum(axis=0) == pytest.approx(1.0)
    assert blueprint.menu(("raise 3", "raise 9")) == {"fold": 0, "call": 0, "all-in": 1500}
    assert not any(blueprint.menu(line) for line in (("raise 3", "call"), ("fold",), ("all-in", "call"), ("bet",)))
    # Stacks that are no whole number of big blinds: all-in is what there is, and nothing is more.
    for stack in (1_460, 1_540):
        near = ModelBlueprint(Table(stack=stack), streets=1)
        assert near.menu(("raise 3", "raise 9")) == {"fold": 0, "call": 0, "all-in": stack}
    aces, trash = (CLASSES.index(name) for name in ("AA", "72o"))
    folds = blueprint.behaviour(("all-in",))[0]
    assert folds[aces] < 0.05
    assert folds[trash] > 0.95


@pytest.mark.parametrize("continuations", [0, 1])
def test_a_blueprint_plays_strategy_files_before_the_flop(continuations: int, tmp_path: Path) -> None:
    game = load_game(f"preflop:stack=6,streets=1,continuations={continuations}")
    profile = Profile([opponent_strategy(f"random:seed={player}", game, player) for player in (0, 1)])
    both, first, table = tmp_path / "both.npz", tmp_path / "first.npz", Table(stack=600)
    profile.save(both)
    profile[0].save(first)
    solved, usual = SolvedPreflop(Preflop(**game.parameters), profile), ModelBlueprint(table, streets=1)
    for files, own in (((both,), {0, 1}), ((first,), {0}), ((first, both), {0, 1})):
        read = ModelBlueprint.from_files(table, *files)
        lines = list(read.lines())
        assert lines == list(usual.lines())
        for line in lines:
            one = solved.at(", ".join(line)).strategy if len(line) % 2 in own else usual.behaviour(line)
            assert read.behaviour(line) == pytest.approx(one)
    other = Profile.uniform(load_game("kuhn"))
    other.save(tmp_path / "kuhn.npz")
    Profile.uniform(load_game("preflop:stack=6,continuations=0,ante=1")).save(tmp_path / "antes.npz")
    for files, stack, said in (
        (["kuhn.npz"], 600, "kuhn.npz contains strategies of kuhn, expected those of a preflop game"),
        (
            ["antes.npz"],
            600,
            "antes.npz contains strategies of preflop:stack=6,continuations=0,ante=1, expected a game",
        ),
        (["both.npz"], 900, "both.npz contains strategies for a stack of 6 big blinds, but the table has 9"),
        (["both.npz", "kuhn.npz"], 600, f"kuhn.npz contains strategies of kuhn, expected {game.spec}, the game of"),
    ):
        with pytest.raises(InvalidStrategyError, match=re.escape(said)):
            ModelBlueprint.from_files(Table(stack=stack), *(tmp_path / name for name in files))
    with pytest.raises(InvalidStrategyError, match="opponent and blueprint exclude each other"):
        find_bot(f"resolving:blueprint={both},opponent=seen,player=me", table)
    assert find_bot(f"resolving:blueprint={first}+{both},streets=1", table)


def view_of(table: Table, seat: int, cards: str, board: str, street: int, bets: tuple[int, int], history: list) -> View:
    before = 3 * table.big_blind if street else 0
    stacks = tuple(table.stack - before - bet for bet in bets)
    pot = 2 * before + sum(bets)
    held = tuple(sorted(read_cards(cards), reverse=True))
    return View(
        table, seat, held, tuple(read_cards(board)), street, bets, stacks, (False, False), pot, tuple(history), 200, 900
    )


def test_ranges_before_the_flop_follow_by_bayes() -> None:
    table = Table(stack=1000)
    bot = quick(table, kinds=(0.8, 0.0, 0.2))
    bot.begin(table, 0)
    bot.act(view_of(table, 0, "KsQs", "", 0, (100, 300), [(0, 1, "raise 300")]), np.random.default_rng(0))
    # Aces raise for certain, others with probability 1/4; a fifth of players do any of three things, and the others too
    # in one case of twenty.
    uniform = 0.2 + 0.8 * 0.05
    expected = np.where(CLASS_OF_HAND == 0, 1.0, 0.25) * (1.0 - uniform) + uniform / 3
    assert bot.ranges[1] == pytest.approx(expected)
    assert bot.ranges[0] == pytest.approx(1.0)


def test_ranges_after_the_flop_follow_by_bayes() -> None:
    """The nuts always bet, and of air so much that a bluff-catcher, who beats air alone, is indifferent."""
    table, board = Table(stack=400, small_blind=50, big_blind=100), "QcJc9c3d2d"
    plans = {3: StreetPlan(Betting("100%", "a"), 2000)}
    bot = ResolvingBot(Simple(table), plans=plans, kinds=(1.0, 0.0, 0.0), left_out=0.0)
    bot.begin(table, 1)
    for seat, names in enumerate((("AcKc", "8h7h"), ("QdQh",))):
        bot._beliefs[seat] *= np.isin(np.arange(1326), [hand(one) for one in names])
    history = [(0, 1, "raise 300"), (0, 0, "call"), (1, 0, "check"), (1, 1, "check"), (2, 0, "check"), (2, 1, "check")]
    bot._seen = len(history)
    bot.act(view_of(table, 1, "QdQh", board, 3, (100, 0), [*history, (3, 0, "all-in")]), np.random.default_rng(0))
    nuts, air = (float(bot.ranges[0][hand(one)]) for one in ("AcKc", "8h7h"))
    # A bet of 100 into 600: called with 1/7 of bluffs among the bets, so one bluff for six hands of value in eight.
    assert air / nuts == pytest.approx((0.95 / 7 + 0.025) / 0.975, abs=0.02)
    assert bot.ranges[0].astype(bool).sum() == 2


def test_no_hand_is_ruled_out_by_what_the_other_does() -> None:
    table = Table(stack=1000)
    bot, rng = quick(table), np.random.default_rng(3)
    for _ in range(3):
        record = play_hand(table, shuffled_deck(table, rng), [bot, Wild()], [rng, rng])
        free = ~np.isin(HANDS, record.board).any(axis=1)
        assert all((one[free] > 0.0).all() for one in bot.ranges)


def test_frequencies_and_kinds_are_learned_if_they_may_be() -> None:
    first, hands, equal = np.array([0.6, 0.3, 0.1]), np.arange(10.0), np.ones(10)
    often, facing, first_in = np.array([0.2, 0.6, 0.2]), (3, 1, 0, 2), (3, 0, 0, 2)
    reads, deaf = Reads(first, learns=True), Reads(first, learns=False)
    for one in (reads, deaf):
        # The two strongest of ten hands bet.
        assert one.likely(facing, 2, often, hands, equal).tolist() == [0.0] * 8 + [1.0] * 2
        for _ in range(20):
            one.note(facing, 2)
        one.judge(np.array([0.0, 0.4, 0.1]))
    # Twenty bets beside what the equilibrium's frequencies count for, twenty actions: six of ten.
    assert reads.likely(facing, 2, often, hands, equal).sum() == 6.0
    assert reads.likely((3, 1, 2, 6), 2, often, hands, equal).sum() == 6.0  # whatever the price is
    assert reads.likely(first_in, 2, often, hands, equal).sum() == 2.0
    assert reads.kinds == pytest.approx([0.012, 0.79, 0.198])
    assert deaf.likely(facing, 2, often, hands, equal).sum() == 2.0
    assert deaf.kinds is first


def test_a_street_can_be_solved_from_its_middle() -> None:
    """All-in with two nuts for one bluff into 100: the pot is won whether it is called or not."""
    start = Decision(2, 1, 0, (100, 0), 100)
    spot = StreetSpot("QcJc9c3d2d", ["AcKc, 8h7h:0.5", "QdQh"], 100, 100, bets="100%", start=start)
    assert solve(Nash(spot.game)).value == pytest.approx(50.0)
    assert SolvedStreet(spot, 10).actions(0) == ("fold", "call")


def test_the_size_that_was_bet_is_in_the_tree() -> None:
    ranges = [np.ones(1326), np.ones(1326)]
    betting = Betting("50%, 100%", "3x")
    spot = street_spot(read_cards("QcJc9c3d2d"), ranges, 200, 900, Decision(2, last=100), betting, 115)
    assert SolvedStreet(spot, 2).actions(0) == ("check", "bet 115", "bet 200")


def test_boards_that_stand_for_all_have_every_card_equally_often() -> None:
    spot = StreetSpot("Td9d6h", ["QQ+, AKs, KdJd", "JJ, T9s, 55"], 200, 900, bets="60%", rounds=2)
    form = spot.public_form
    dealt = [board[3:] for board in spot.boards[1:]]
    assert len(dealt) == 98
    assert set(np.unique(dealt, return_counts=True)[1]) == {4}
    # How often hands come to a showdown that is certain, and who wins it.
    nobody = StreetSpot("Td9d6h", spot.ranges, 200, 900, bets="", rounds=4)
    paid = solve(Nash(nobody.game)).value / 100
    assert paid == pytest.approx(spot.equity[0] - spot.equity[1], abs=0.05)
    assert form.num_leaves > 98


@pytest.mark.parametrize(
    "table",
    [
        Table(stack=100),
        Table(stack=130),
        Table(stack=210, small_blind=100),
        Table(stack=650),
        Table(stack=7, small_blind=1, big_blind=2),
        Table(stack=20_000),
    ],
    ids=str,
)
def test_it_never_acts_illegally(table: Table) -> None:
    pytest.importorskip("pokerkit")
    bot, rng = quick(table), np.random.default_rng(table.stack)
    for number in range(either(5, 16)):
        seats = [bot, Wild()] if number % 2 else [Wild(), bot]
        record = play_hand(table, shuffled_deck(table, rng), seats, [rng, rng])
        assert not record.forfeits


def test_it_is_the_same_again_and_decides_in_time() -> None:
    pytest.importorskip("pokerkit")
    table = Table(stack=2000)

    def play(bot: ResolvingBot) -> list[tuple[tuple[int, int, str], ...]]:
        records = []
        for number in range(2):
            deck = shuffled_deck(table, np.random.default_rng(number))
            rngs = [np.random.default_rng([number, seat]) for seat in (0, 1)]
            records.append(play_hand(table, deck, [bot, Wild()], rngs).history)
        return records

    bot = quick(table)
    assert play(bot) == play(pickle.loads(pickle.dumps(bot))) == play(quick(table))  # noqa: S301
    endless = {street: StreetPlan(plan.betting, 10**9, plan.rounds) for street, plan in QUICK.items()}
    hurried = ResolvingBot(Simple(table), time=0.02, plans=endless)
    assert sum(seat == 0 for record in play(hurried) for _, seat, _ in record)  # without the time it would never end


def test_more_than_two_seats_are_refused() -> None:
    with pytest.raises(InvalidGameError, match="seats is 3, expected 2"):
        quick(Table()).begin(Table(seats=3), 0)
    with pytest.raises(InvalidGameError, match="time is 0"):
        quick(Table(), time=0.0)


@pytest.mark.parametrize("line", [(), ("raise 3",)])
def test_what_each_kind_of_player_may_do_before_the_flop_sums_to_one(line: tuple[str, ...]) -> None:
    """Sizes share what a raise of any size is likely; otherwise every raise would be evidence for one kind."""
    blueprint = ModelBlueprint(Table(stack=2_000), streets=1)
    floors = np.array([0.0, 0.05, 1.0])
    taken = []
    for name, amount in blueprint.menu(line).items():
        followed = Followed(blueprint)
        followed.lines = {line: 1.0}
        action = f"raise {amount}" if amount else name
        taken.append(followed.take(action, amount, 100 if not line else 300, floors))
    likely = np.array(taken)
    np.testing.assert_allclose(likely[:, 0].sum(axis=0), 1.0, atol=1e-6)
    raises = [number for number, amount in enumerate(blueprint.menu(line).values()) if amount]
    for number in raises:
        np.testing.assert_allclose(likely[number, 1], likely[raises, 0].sum(axis=0), atol=1e-6)
