"""Environments that remember what setting a state does not bring back."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from ambidex.symmetry import Symmetry, SymmetryGroup
from ambidex.symmetry.isometry import named
from ambidex.verification import verify
from ambidex.verification.results import Verification
from ambidex.verification.words import in_words


class Cart(gymnasium.Env[Any, Any]):
    """A cart that shall have a commanded speed; its state is its place and speed only.

    It observes place, speed, last action, command and a clock.

    :param lag: the part of a push that is the last action's
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (5,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def __init__(self, lag: float = 0.0) -> None:
        self.lag = lag
        self.state = np.zeros(2)
        self.last, self.command, self.time = 0.0, 0.0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=2)
        self.last, self.command, self.time = 0.0, self.np_random.normal(), 0
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        place, speed = self.state
        push = (1 - self.lag) * float(action[0]) + self.lag * self.last
        self.state = np.array([place + 0.1 * speed, 0.9 * speed + push])
        self.last, self.time = float(action[0]), self.time + 1
        return self.observe(), -abs(self.state[1] - self.command), False, False, {}

    def observe(self) -> Any:
        return np.array([*self.state, self.last, self.command, np.sin(self.time)])

    def get_state(self) -> Any:
        return self.state.copy()

    def set_symmetric_state(self, state: Any, isometry: Any) -> Any:
        self.state = isometry[0, 0] * state
        return self.observe()


def verified(env: Cart, observation: tuple[int, ...] = (-1, -1, -1, -1, 1), action: int = -1) -> Verification:
    mirror = Symmetry(
        "mirror",
        obs_indices=range(5),
        obs_multipliers=observation,
        act_indices=[0],
        act_multipliers=[action],
        isometry=named("yz"),
    )
    return verify(SymmetryGroup([mirror]), env)


def verdicts(found: Verification) -> dict[str, str]:
    return {element.name: element.verdict for element in found["mirror"].elements}


def test_what_no_state_brings_back_is_untested_and_the_report_says_how_to_have_it_tested() -> None:
    found = verified(Cart())
    assert verdicts(found) == {
        "observation 0": "holds",
        "observation 1": "holds",
        "observation 2": "holds",  # the last action is the same after every step, so steps judge it
        "observation 3": "untested",
        "observation 4": "untested",
        "action 0": "holds",
        "reward": "untested",
        "ending": "holds",
    }
    assert found.verdict == "holds"
    text = " ".join(in_words(found).split())
    assert "set again: observation 3, observation 4 and reward." in text
    assert "set_symmetric_state" in text
    assert "highest score 0, 3 untested" in text


def test_a_wrong_action_is_not_blamed_on_the_last_action_that_is_observed() -> None:
    found = verified(Cart(), action=1)
    assert [cause.fix for cause in found["mirror"].causes] == ["flip the multiplier of action 0 in mirror"]
    assert verdicts(found)["observation 2"] == "holds"


def test_a_wrong_sign_of_the_last_action_is_found_after_a_step() -> None:
    found = verified(Cart(), observation=(-1, -1, 1, -1, 1))
    assert [cause.fix for cause in found["mirror"].causes] == [
        "flip the multiplier of observation 2 in mirror"
    ]


def test_where_the_same_step_does_not_repeat_itself_actions_are_untested_and_places_are_not() -> None:
    found = verified(Cart(lag=0.5))
    assert (verdicts(found)["observation 1"], verdicts(found)["action 0"]) == ("holds", "untested")
    assert any("before a step only" in limit and "observation 1" in limit for limit in found.limits)
    assert verdicts(verified(Cart(lag=0.5), (1, -1, -1, -1, 1)))["observation 0"] == "broken"


class Shaken(Cart):
    """A cart whose speed gets a little at random in every step.

    :param noise: how much, beside pushes of up to 1
    """

    def __init__(self, noise: float) -> None:
        super().__init__()
        self.noise = noise
        self.random = np.random.default_rng(0)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        super().step(action)
        self.state[1] += self.noise * self.random.normal()
        return self.observe(), 0.0, False, False, {}


def test_noise_below_the_threshold_is_not_taken_for_an_imperfect_robot() -> None:
    """It lies in between: a step repeats itself to within the threshold, but not its image."""
    found = verified(Shaken(0.12))
    assert (verdicts(found)["observation 1"], verdicts(found)["action 0"]) == ("holds", "untested")
    assert found.verdict == "holds"
    assert any("before a step only" in limit and "observation 1" in limit for limit in found.limits)
    assert verdicts(verified(Shaken(0.03)))["action 0"] == "holds"


class Bumper(Cart):
    """Instead of the clock it observes a bump of the last step, which it forgets when a state is set.

    :param rare: beyond which speed it bumps
    """

    def __init__(self, rare: float) -> None:
        super().__init__()
        self.rare = rare

    def observe(self) -> Any:
        bump = self.state[1] if self.time and abs(self.state[1]) > self.rare else 0.0
        return np.array([*self.state, self.last, self.command, bump])

    def set_symmetric_state(self, state: Any, isometry: Any) -> Any:
        self.time = 0
        return super().set_symmetric_state(state, isometry)


def test_what_shows_too_rarely_to_tell_its_sign_does_not_hold_but_is_untested() -> None:
    signs = {"right": (-1, -1, -1, -1, -1), "wrong": (-1, -1, -1, -1, 1)}
    often = {name: verified(Bumper(0.5), table) for name, table in signs.items()}
    assert {name: verdicts(found)["observation 4"] for name, found in often.items()} == {
        "right": "holds",
        "wrong": "broken",
    }
    rarely = {name: verified(Bumper(7.0), table) for name, table in signs.items()}
    assert {verdicts(found)["observation 4"] for found in rarely.values()} == {"untested"}


def test_what_is_brought_back_is_no_memory() -> None:
    """With all that it observes in its state, the same cart is tested wholly."""

    class Whole(Cart):
        def get_state(self) -> Any:
            return self.state.copy(), self.last, self.command, self.time

        def set_symmetric_state(self, state: Any, isometry: Any) -> Any:
            sign = isometry[0, 0]
            self.state, self.last, self.command = sign * state[0], sign * state[1], sign * state[2]
            self.time = state[3]
            return self.observe()

    found = verified(Whole(lag=0.5))
    assert set(verdicts(found).values()) == {"holds"}
    assert found.limits == ()
