"""The plain words: what they claim, and what they must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ambidex.report import load_runs, summarise
from ambidex.report.cards import Card, cards

from .conftest import WriteRun

Duel = Callable[..., dict[str, Card]]


def cards_of(directory: Path) -> dict[str, Card]:
    return {card.about: card for card in cards(summarise(load_runs([directory])))}


@pytest.fixture
def duel(tmp_path: Path, write_run: WriteRun) -> Duel:
    """Write PPO and ASL with these returns, one per seed, and read the cards."""

    def write(ppo: list[float], asl: list[float], status: str = "done") -> dict[str, Card]:
        for method, values in (("ppo", ppo), ("asl", asl)):
            for seed, value in enumerate(values):
                place = tmp_path / method / str(seed)
                write_run(place, method=method, seed=seed, returns={100: [value]}, status=status)
        return cards_of(tmp_path)

    return write


def test_the_winner_is_whoever_won(duel: Duel) -> None:
    best = duel([20.0], [10.0])["Highest return on triangle-rust"]
    assert (best.figure, best.colour) == ("20.0", "ppo")
    assert best.sentence == "By PPO, reached around step 100 (of only 1 evaluation); 2.00 times ASL's 10.0."


def test_a_comparison_of_different_settings_is_a_warning(tmp_path: Path, write_run: WriteRun) -> None:
    for method, steps in (("ppo", 256), ("asl", 2560)):
        write_run(tmp_path / method, method=method, returns={100: [steps]}, config={"steps": steps})
    best = cards_of(tmp_path)["Highest return on triangle-rust"]
    assert best.warning
    assert best.sentence.endswith("10.00 times PPO's 256. But the methods were run with different steps.")


def test_another_algorithm_is_compared_with_itself(tmp_path: Path, write_run: WriteRun) -> None:
    """A2C with a symmetry against A2C without, not against PPO, which is there too."""
    for way, method, algorithm, value in (
        ("ppo", "ppo", "ppo", 99.0),
        ("a2c", "ppo", "a2c", 10.0),
        ("a2c-asl", "asl", "a2c", 100.0),
    ):
        for seed in range(2):
            place = tmp_path / way / str(seed)
            config = {"algorithm": algorithm}
            write_run(place, method=method, seed=seed, returns={100: [value + seed]}, config=config)
    cards = cards_of(tmp_path)
    assert "By A2C ASL" in cards["Highest return on triangle-rust"].sentence
    assert "times A2C's 10.5" in cards["Highest return on triangle-rust"].sentence
    assert cards["Seeds above A2C"].sentence.startswith(
        "Each of the 2 seeds of A2C ASL ended higher than all 2 of A2C."
    )


def test_negative_returns_are_not_called_times(duel: Duel) -> None:
    best = duel([-20.0], [-10.0])["Highest return on triangle-rust"]
    assert best.figure == "−10.0"
    assert best.sentence.endswith("PPO reached −20.0.")


def test_a_single_seed_is_a_warning(duel: Duel) -> None:
    card = duel([1.0, 2.0], [3.0])["How sure"]
    assert card.warning and card.figure == "1 seed"
    assert card.sentence.startswith("A single seed of ASL: a difference between them may be luck.")


def test_few_seeds_are_a_warning(duel: Duel) -> None:
    card = duel([3.0, 4.0], [1.0, 2.0])["Seeds above PPO"]
    assert card.warning and card.figure == "0 of 2"
    assert card.sentence.startswith("Each of the 2 seeds of ASL ended lower than all 2 of PPO. So few seeds")


def test_few_seeds_that_overlap_are_counted_in_pairs(duel: Duel) -> None:
    # ASL wins (1, 2), (1, 4) and (3, 4), and loses (3, 2).
    card = duel([1.0, 3.0], [2.0, 4.0])["Pairs of seeds above PPO"]
    assert card.warning and card.figure == "3 of 4"


def test_enough_seeds_give_an_interval(duel: Duel) -> None:
    card = duel([1.0, 2.0, 3.0, 6.0], [4.0, 5.0, 7.0, 8.0])["How sure"]
    # Of the 16 pairs ASL loses (4, 6) and (5, 6).
    assert card.figure == "0.88" and not card.warning
    assert "95 % interval [" in card.sentence and "from 4 and 4 seeds" in card.sentence


def test_unfinished_runs_are_a_warning(duel: Duel) -> None:
    card = duel([1.0], [2.0], status="running")["Runs"]
    assert card.warning
    assert card.sentence == "2 of them unfinished: these figures will change."


def test_nothing_is_said_of_runs_that_are_all_there(study: Path) -> None:
    assert "Runs" not in cards_of(study)
