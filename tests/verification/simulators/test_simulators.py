"""Images of states, made by geometry."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from ambidex.symmetry import Symmetry, SymmetryGroup
from ambidex.symmetry.isometry import named
from ambidex.verification import verify
from ambidex.verification.simulators.joints import relabelling
from ambidex.verification.simulators.protocol import ObservedState, simulator_of
from tests.symmetry.tables import ANT, TRIANGLE, signs

IDENTITY = np.eye(3)


def visited(env: gymnasium.Env[Any, Any], steps: int) -> Any:
    env.action_space.seed(3)
    env.reset(seed=3)
    for _ in range(steps):
        env.step(env.action_space.sample())
    simulator = simulator_of(env)
    assert simulator is not None
    return simulator


@pytest.mark.parametrize("env", ["ambidex/Ant-v0", "ambidex/AntMujoco-v0"])
def test_an_ants_joints_change_places_as_in_the_paper(env: str) -> None:
    simulator = visited(gymnasium.make(env), 0)
    for name, (_, indices, multipliers, *_) in ANT.items():
        table = simulator.relabelling(named(name))
        assert table.indices.tolist() == indices
        assert table.multipliers.tolist() == signs(multipliers)


def test_a_triangles_limbs_change_places_as_in_the_paper() -> None:
    simulator = visited(gymnasium.make("ambidex/Triangle-v0"), 0)
    for name, isometry in {"a": "xz", "b": "m120", "c": "m60", "d": "r120", "e": "r240"}.items():
        assert simulator.relabelling(named(isometry)).indices.tolist() == TRIANGLE[name][1]


@pytest.mark.parametrize(
    ("env", "isometry"),
    [
        ("ambidex/Ant-v0", "y=x"),
        ("ambidex/AntMujoco-v0", "xz"),
        ("ambidex/Triangle-v0", "m60"),
        ("Humanoid-v5", "xz"),
        ("Pendulum-v1", "yz"),
    ],
)
def test_the_image_of_a_mirror_image_is_the_state_itself(env: str, isometry: str) -> None:
    made = gymnasium.make(env)
    simulator = visited(made, 6)
    state = simulator.get_state()
    before = simulator.set_symmetric_state(state, IDENTITY)
    image = simulator.set_symmetric_state(state, named(isometry))
    assert not np.allclose(before, image)
    again = simulator.set_symmetric_state(simulator.get_state(), named(isometry))
    np.testing.assert_allclose(again, before, atol=1e-5)


def test_joints_that_have_no_image_are_refused() -> None:
    frames = [((1, 0, 0), (0, 0, 1)), ((-1, 0.2, 0), (0, 0, 1))]
    with pytest.raises(ValueError, match="no joint to where joint 0 is"):
        relabelling(frames, named("yz"))


class Cart(gymnasium.Env[Any, Any]):
    """A cart on a line, pushed by its action; its state is what it observes."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def __init__(self, slope: float = 0.0) -> None:
        self.slope = slope
        self.state = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=2)
        return self.state.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        place, speed = self.state
        speed = 0.9 * speed + float(action[0]) + self.slope
        self.state = np.array([place + 0.1 * speed, speed])
        return self.state.copy(), -abs(place), False, False, {}


class SettableCart(Cart):
    """With the two methods of the protocol."""

    def get_state(self) -> Any:
        return self.state.copy()

    def set_symmetric_state(self, state: Any, isometry: Any) -> Any:
        self.state = isometry[0, 0] * state
        return self.state.copy()


class CartByObservation(Cart):
    def get_state(self) -> Any:
        return self.state.copy()

    def set_state(self, state: Any) -> None:
        self.state = np.array(state)


class BentCart(SettableCart):
    """Its sensor reads more on one side than on the other, so that no table is exact."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _, *rest = super().step(action)
        return self.read(), *rest  # type: ignore[return-value]

    def set_symmetric_state(self, state: Any, isometry: Any) -> Any:
        super().set_symmetric_state(state, isometry)
        return self.read()

    def read(self) -> Any:
        place, speed = self.state
        return np.array([place + 0.1 * abs(place), speed])


def mirror(observation: list[int], action: list[int]) -> SymmetryGroup:
    return SymmetryGroup(
        [
            Symmetry(
                "mirror",
                obs_indices=[0, 1],
                obs_multipliers=observation,
                act_indices=[0],
                act_multipliers=action,
                isometry=named("yz"),
            )
        ]
    )


def test_an_environment_with_the_two_methods_needs_no_adapter() -> None:
    assert verify(mirror([-1, -1], [-1]), SettableCart()).verdict == "holds"
    result = verify(mirror([-1, -1], [1]), SettableCart())["mirror"]
    assert [cause.fix for cause in result.causes] == ["flip the multiplier of action 0 in mirror"]
    assert verify(mirror([-1, -1], [-1]), SettableCart(slope=0.5)).verdict == "imperfect"


def test_an_inexact_table_that_is_the_best_there_is_is_imperfect() -> None:
    result = verify(mirror([-1, -1], [-1]), BentCart())["mirror"]
    assert result.verdict == "imperfect"
    assert result.of("observation", 0).verdict == "imperfect"
    (cause,) = result.causes
    assert "inexact" in cause.message


def test_an_environment_that_is_set_by_its_observation_says_what_that_hides() -> None:
    assert ObservedState.fits(CartByObservation())
    assert not ObservedState.fits(Cart())
    found = verify(mirror([-1, -1], [-1]), CartByObservation())
    assert (found.mode, found.verdict) == ("observation", "holds")
    assert "goes unseen" in found.limits[0]
    assert verify(mirror([-1, -1], [1]), CartByObservation()).verdict == "broken"
    assert verify(mirror([-1, 1], [-1]), CartByObservation()).verdict != "holds"


def test_an_environment_that_cannot_be_set_is_compared_by_distribution() -> None:
    found = verify(mirror([-1, -1], [-1]), Cart())
    assert (found.mode, found.verdict) == ("statistics", "holds")
    assert any("cannot tell" in limit for limit in found.limits)
    for wrong in (mirror([-1, -1], [1]), mirror([-1, 1], [-1]), mirror([1, -1], [-1])):
        assert verify(wrong, Cart()).verdict == "broken"
    assert verify(mirror([-1, -1], [-1]), Cart(slope=0.5)).verdict == "broken"


def test_wrappers_of_observations_are_seen_through() -> None:
    double = gymnasium.wrappers.TransformObservation(
        SettableCart(), lambda observation: 2 * observation, SettableCart.observation_space
    )
    found = verify(mirror([-1, -1], [-1]), double)["mirror"]
    assert found.verdict == "holds"
    assert found.of("observation", 0).placed == 0


def test_stacked_observations_are_refused_and_the_error_says_what_to_verify() -> None:
    stacked = gymnasium.wrappers.FlattenObservation(
        gymnasium.wrappers.FrameStackObservation(SettableCart(), 3)
    )
    group = SymmetryGroup(
        [
            Symmetry(
                "mirror",
                obs_indices=range(6),
                obs_multipliers=[-1] * 6,
                act_indices=[0],
                act_multipliers=[-1],
                isometry=named("yz"),
            )
        ]
    )
    with pytest.raises(ValueError, match=r"gives 2 observations, a step gives 6: .*inside FrameStack"):
        verify(group, stacked)
