"""verify on real simulators: true tables hold, wrong ones are named, perturbed robots are told apart."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest

from ambidex.symmetry import IndexMap, Layout, Symmetry, SymmetryGroup, load
from ambidex.symmetry.isometry import named
from ambidex.verification import verify
from ambidex.verification.words import in_words
from tests.symmetry.tables import ant
from tests.verification.mutations import flipped, swapped, with_action, with_observation

ANTS = ("ambidex/Ant-v0", "ambidex/AntMujoco-v0")
QUICK = {"states": 24, "horizons": (1, 3)}
GROUP = load("ant")


@pytest.mark.parametrize("env", ANTS)
def test_the_papers_tables_hold_although_nothing_says_their_isometries(env: str) -> None:
    group = ant()
    assert all(symmetry.isometry is None for symmetry in group)
    found = verify(group, env, **QUICK)
    assert found.verdict == "holds"
    assert found.mode == "geometry"
    assert [result.isometry for result in found.transforms] == list(group.names)
    assert all(result.causes == () for result in found.transforms)


@pytest.mark.parametrize("env", ANTS)
def test_the_authors_wrong_sign_is_found(env: str) -> None:
    wrong = with_observation(GROUP["r90"], flipped(GROUP["r90"].observation_map, 7))
    result = verify(SymmetryGroup([wrong]), env, **QUICK)["r90"]
    assert result.verdict == "broken"
    assert [cause.fix for cause in result.causes] == ["flip the multiplier of observation 7 in r90"]
    assert result.of("observation", 7).verdict == "broken"
    assert result.of("observation", 6).verdict == "holds"


@pytest.mark.parametrize(
    ("env", "name", "change", "fix"),
    [
        (ANTS[0], "xz", lambda table: flipped(table, 3), "flip the multiplier of action 3 in xz"),
        (ANTS[1], "r270", lambda table: flipped(table, 0), "flip the multiplier of action 0 in r270"),
        (ANTS[1], "r180", lambda table: swapped(table, 2, 6), "swap the indices of action 2 and 6 in r180"),
    ],
)
def test_a_wrong_action_is_found(env: str, name: str, change: object, fix: str) -> None:
    wrong = with_action(GROUP[name], change(GROUP[name].action_map))  # type: ignore[operator]
    result = verify(SymmetryGroup([wrong]), env, states=48, horizons=(1,))[name]
    assert result.verdict == "broken"
    assert [cause.fix for cause in result.causes] == [fix]


def test_two_wrong_entries_on_different_sides_are_both_found() -> None:
    true = GROUP["yz"]
    wrong = with_action(
        with_observation(true, swapped(true.observation_map, 3, 4)), flipped(true.action_map, 5)
    )
    result = verify(SymmetryGroup([wrong]), "ambidex/AntMujoco-v0", **QUICK)["yz"]
    assert {cause.fix for cause in result.causes} == {
        "swap the indices of observation 3 and 4 in yz",
        "flip the multiplier of action 5 in yz",
    }


def test_a_thing_observed_twice_hides_no_wrong_sign() -> None:
    """Two further elements should be knees that mirror, but both are the speed of the same one."""
    env: gymnasium.Env = gymnasium.make("ambidex/AntMujoco-v0")
    wide = gymnasium.spaces.Box(-np.inf, np.inf, (30,), np.float32)
    twice = gymnasium.wrappers.TransformObservation(env, lambda seen: np.append(seen, seen[[11, 11]]), wide)
    table = flipped(GROUP["xz"].observation_map, 9)
    indices, signs = [*table.indices, 29, 28], [*table.multipliers, 1, 1]
    wrong = with_observation(GROUP["xz"], IndexMap(indices, signs))
    result = verify(SymmetryGroup([wrong]), twice, **QUICK)["xz"]
    assert result.verdict == "broken"
    repair, taken = result.causes
    assert repair.fix == "flip the multiplier of observation 9 in xz"
    assert taken.elements == (28, 29)
    assert "Another element comes far nearer" in taken.message
    assert result.of("observation", 28).verdict == "broken"


@pytest.mark.parametrize("scenario", [pytest.param("A4.1", marks=pytest.mark.pybullet), "A2.1", "A3.1"])
def test_a_perturbed_robot_is_imperfect_and_its_tables_are_not_blamed(scenario: str) -> None:
    env = gymnasium.make(ANTS[scenario != "A4.1"], scenario=scenario)
    result = verify(SymmetryGroup([GROUP["xz"]]), env, states=48, horizons=(1,))["xz"]
    assert result.verdict == "imperfect"
    (cause,) = result.causes
    assert cause.side == "robot"
    if scenario == "A4.1":  # the heavy foot hangs on joint 1, its mirror image on joint 7
        assert {11, 23} & set(cause.elements)
    env.close()


@pytest.mark.parametrize("env_id", [pytest.param(ANTS[0], marks=pytest.mark.slow), ANTS[1]])
def test_a_slope_along_x_leaves_the_xz_plane_and_breaks_every_other_symmetry(env_id: str) -> None:
    """In one step its push is at the threshold; in ten steps it has added up."""
    env = gymnasium.make(env_id, scenario="A6.1")
    found = verify(GROUP, env)
    expected = {name: "holds" if name == "xz" else "imperfect" for name in GROUP.names}
    assert {result.transform: result.verdict for result in found.transforms} == expected
    for result in found.transforms:
        assert {cause.side for cause in result.causes} <= {"robot"}
        assert all(set(cause.elements) <= {3, 4} for cause in result.causes)  # vx and vy
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ANTS)
def test_no_symmetry_survives_two_neighbouring_heavy_feet(env_id: str) -> None:
    """Feet of 40, 20, 13.5 and 13.5 kg: every transform brings some foot to one of another mass."""
    env = gymnasium.make(env_id, scenario="A4.1")
    found = verify(GROUP, env, states=48, horizons=(1,))
    assert {result.verdict for result in found.transforms} == {"imperfect"}
    assert {cause.side for result in found.transforms for cause in result.causes} == {"robot"}
    env.close()


def test_a_wrong_table_is_found_on_a_robot_with_a_heavy_foot_too() -> None:
    env = gymnasium.make("ambidex/AntMujoco-v0", scenario="A4.1")
    wrong = with_action(GROUP["xz"], flipped(GROUP["xz"].action_map, 2))
    result = verify(SymmetryGroup([wrong]), env, states=48, horizons=(1,))["xz"]
    assert result.verdict == "broken"
    assert [cause.side for cause in result.causes] == ["action", "robot"]
    assert result.causes[0].fix == "flip the multiplier of action 2 in xz"


def test_known_ratios_of_unequal_motors_hold() -> None:
    env = gymnasium.make("ambidex/AntMujoco-v0", scenario="A2.1")
    multipliers, _ = env.unwrapped.true_action_maps()["xz"]  # type: ignore[attr-defined]
    given = GROUP["xz"]
    known = Symmetry(
        "xz",
        obs_indices=given.observation_map.indices,
        obs_multipliers=given.observation_map.multipliers,
        act_indices=given.action_map.indices,
        act_multipliers=multipliers,
    )
    result = verify(SymmetryGroup([known]), env, **QUICK)["xz"]
    assert {element.verdict for element in result.elements if element.side != "reward"} == {"holds"}


def test_the_table_of_another_isometry_is_recognised() -> None:
    given = GROUP["r270"]
    wrong = Symmetry.from_maps("turn", given.observation_map, given.action_map, isometry=named("r90"))
    result = verify(SymmetryGroup([wrong]), "ambidex/AntMujoco-v0", **QUICK)["turn"]
    assert result.verdict == "broken"
    assert "not that of r90, but that of r270" in result.causes[0].message


def test_the_triangle_holds_and_its_rust_is_imperfect() -> None:
    assert verify("triangle", "ambidex/Triangle-v0", **QUICK).verdict == "holds"
    env = gymnasium.make("ambidex/Triangle-v0", scenario="triangle-rust")
    assert verify("triangle", env, **QUICK).verdict == "imperfect"


def test_a_task_that_is_not_symmetric_is_told_apart_from_the_body() -> None:
    group = load("ant-v5")
    assert group.layout is not None
    across = group.layout.symmetry("yz", named("yz"))
    result = verify(SymmetryGroup([across]), "Ant-v5", **QUICK)["yz"]
    assert result.verdict == "broken"
    (cause,) = result.causes
    assert cause.side == "task"
    assert result.of("reward", 0).verdict == "broken"


@pytest.mark.parametrize(
    ("name", "env"),
    [("walker2d-v5", "Walker2d-v5"), ("cartpole-v1", "CartPole-v1"), ("pendulum-v1", "Pendulum-v1")],
)
def test_gymnasiums_robots_hold(name: str, env: str) -> None:
    assert verify(name, env, **QUICK).verdict == "holds"


def test_swapped_choices_of_cartpole_are_found() -> None:
    (given,) = load("cartpole-v1")
    stay = Symmetry.from_maps(
        given.name, given.observation_map, given.action_map @ given.action_map, isometry=given.isometry
    )
    result = verify(SymmetryGroup([stay]), "CartPole-v1", **QUICK)[given.name]
    assert result.verdict == "broken"
    assert [cause.side for cause in result.causes] == ["action"]


def test_an_isometry_that_the_robot_does_not_have_is_broken() -> None:
    given = load("walker2d-v5")["xz"]
    wrong = Symmetry.from_maps("turn", given.observation_map, given.action_map, isometry=named("r90"))
    result = verify(SymmetryGroup([wrong]), "Walker2d-v5", **QUICK)["turn"]
    assert result.verdict == "broken"
    assert result.elements == ()
    assert "no such symmetry" in result.causes[0].message


def test_the_same_seed_finds_the_same_and_a_policy_leads_elsewhere() -> None:
    env = gymnasium.make("ambidex/AntMujoco-v0")
    group = SymmetryGroup([GROUP["r90"]])
    first, second = (verify(group, env, **QUICK) for _ in range(2))
    assert first == second
    led = verify(group, env, policy=lambda observation: np.full(8, 0.5, np.float32), **QUICK)
    assert led != first


def test_what_was_found_is_json_and_words() -> None:
    wrong = with_observation(GROUP["xz"], flipped(GROUP["xz"].observation_map, 1))
    found = verify(SymmetryGroup([wrong], layout=GROUP.layout), "ambidex/AntMujoco-v0", **QUICK)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["verdict"] == "broken"
    assert data["transforms"][0]["causes"][0]["elements"] == [1]
    text = in_words(found)
    assert "xz: broken" in text
    assert "goal.y" in text
    assert "flip the multiplier of observation 1 in xz" in " ".join(text.split())


def test_wrong_use_is_refused() -> None:
    with pytest.raises(ValueError, match="acts on 28 elements, the space of ambidex/Triangle-v0 has 10"):
        verify("ant", "ambidex/Triangle-v0")
    with pytest.raises(ValueError, match="No-Such"):
        verify("ant", "No-Such-v0")
    with pytest.raises(ValueError, match="at least 16"):
        verify("ant", "ambidex/AntMujoco-v0", states=3)
    with pytest.raises(ValueError, match="horizons"):
        verify("ant", "ambidex/AntMujoco-v0", horizons=())


def test_a_wrong_statement_of_a_description_is_told_in_its_words() -> None:
    """The tilt is a pair of angles; as components of a vector they would not turn around in a mirror."""
    description = dict(GROUP.layout.description)  # type: ignore[union-attr]
    description["observations"] = [
        {"tilt": {"vector": ["x", "y"]}} if "tilt" in field else field
        for field in description["observations"]
    ]
    layout = Layout(description)
    wrong = SymmetryGroup([layout.symmetry("xz", named("xz"))], layout=layout)
    (cause,) = verify(wrong, "ambidex/AntMujoco-v0", **QUICK)["xz"].causes
    assert cause.fix == "tilt is a pseudovector (in xz, read observation 6 from -6, 7 from +7)"
