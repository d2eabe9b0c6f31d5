"""The diagnosis of logged robots whose faults are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ambidex import SymmetryGroup, load, save
from ambidex.diagnosis.logged import Log
from ambidex.diagnosis.motion import can_tell, diagnose_motion, diagnose_transitions
from ambidex.diagnosis.words import in_words
from tests.actuators.two_legs import moved, two_legs
from tests.diagnosis.known_robots import RELATIVE_SCALE, TRIANGLE, logged
from tests.report.conftest import Ambidex


@pytest.fixture(scope="module")
def rusty_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, _ = logged("triangle-rust")
    path = tmp_path_factory.mktemp("logs") / "rusty.npz"
    np.savez(
        path,
        observations=made.observations,
        actions=made.actions,
        next_observations=made.next_observations,
    )
    return path


def test_the_rust_of_a_logged_robot(rusty_log: Path) -> None:
    found = diagnose_transitions(rusty_log, symmetry="triangle")
    assert found.title == "triangle, 2,000 transitions"
    assert found.transitions == 2000
    scale = [one.scale for one in found.actuators]
    assert scale == pytest.approx(list(RELATIVE_SCALE), rel=0.02)
    ratios = [scale[1] / scale[0], scale[2] / scale[0], scale[2] / scale[1]]
    assert ratios == pytest.approx([2, 3, 1.5], rel=0.03)
    assert all(one.scale_is_off and not one.offset_known for one in found.actuators)
    assert [one.place for one in found.actuators] == ["back", "front right", "front left"]
    assert [one.counterparts for one in found.actuators] == [(1, 2), (0, 2), (0, 1)]


def test_every_format_and_layout_says_the_same(rusty_log: Path, tmp_path: Path) -> None:
    found = diagnose_transitions(rusty_log, symmetry="triangle")
    arrays = dict(np.load(rusty_log))
    save_file(arrays, tmp_path / "log.safetensors")
    np.savetxt(tmp_path / "log.csv", np.concatenate(list(arrays.values()), axis=1), delimiter=",")
    for name in ("log.safetensors", "log.csv"):
        assert diagnose_transitions(tmp_path / name, symmetry="triangle") == found
    made, starts = logged("triangle-rust")
    np.savez(
        tmp_path / "rows.npz", observations=made.observations, actions=made.actions, episode_starts=starts
    )
    by_rows = diagnose_transitions(tmp_path / "rows.npz", symmetry="triangle")
    assert by_rows.transitions == 2000 - starts.sum()
    assert [one.scale for one in by_rows.actuators] == pytest.approx(list(RELATIVE_SCALE), rel=0.02)


def test_commands_that_were_logged_before_they_were_clipped(tmp_path: Path, ambidex: Ambidex) -> None:
    made, _ = logged("triangle-rust", limit=0.3)
    path = tmp_path / "told.npz"
    np.savez(path, **vars(made))
    told, clipped = (diagnose_transitions(path, symmetry="triangle", clip=c) for c in (None, (-0.3, 0.3)))
    assert [one.scale for one in clipped.actuators] == pytest.approx(list(RELATIVE_SCALE), rel=0.02)
    assert [one.scale for one in told.actuators] != pytest.approx(list(RELATIVE_SCALE), rel=0.02)
    given = ("diagnose", "--transitions", str(path), "--symmetry", "triangle", "--clip")
    assert ambidex(*given, "-0.3", "0.3")[1] == in_words(clipped) + "\n"
    status, _, complaint = ambidex(*given, "1", "-1")
    assert status == 2
    assert "1 is not below -1" in complaint
    status, _, complaint = ambidex("diagnose", str(tmp_path), "--clip", "-1", "1")
    assert status == 2
    assert "--clip is for --transitions" in complaint


def test_the_weight_of_a_logged_robot() -> None:
    """The weight turns limb 0 by 0.3, so it needs -0.3 to rest where the others need nothing."""
    made, _ = logged("triangle-weight")
    found = diagnose_motion("triangle", load("triangle"), made, offsets=True)
    assert [one.offset for one in found.actuators] == pytest.approx([-0.3, 0, 0], abs=0.02)
    assert [one.is_off for one in found.actuators] == [True, False, False]
    without = diagnose_motion("triangle", load("triangle"), made)
    assert [one.offset for one in without.actuators] == [0, 0, 0]
    assert not without.knows_offsets


def test_descriptions_that_do_not_say_enough(rusty_log: Path, tmp_path: Path) -> None:
    assert can_tell(load("triangle"))
    assert not can_tell(TRIANGLE)  # it observes no speeds
    save(SymmetryGroup(list(load("triangle"))), tmp_path / "tables.yaml")
    with pytest.raises(ValueError, match="describe the robot by names"):
        diagnose_transitions(rusty_log, symmetry=str(tmp_path / "tables.yaml"))


def test_dict_observations_are_refused(rusty_log: Path, tmp_path: Path) -> None:
    described = tmp_path / "dict.yaml"
    described.write_text(
        """
limbs: {left: {at: [0, 1], joints: {hip: z}}, right: {at: [0, -1], joints: {hip: z}}}
observations: {joints: [angles: {joint: position}, speeds: {joint: velocity}], goal: [goal: scalar]}
actions: [torque: joint]
transforms: {xz: {isometry: xz}}
"""
    )
    with pytest.raises(ValueError, match=r"dict.yaml describes Dict observations; join them"):
        diagnose_transitions(rusty_log, symmetry=str(described))


def test_a_robot_without_a_name_has_its_file_s(rusty_log: Path, tmp_path: Path) -> None:
    group = load("triangle")
    assert group.layout
    described = tmp_path / "my-robot.yaml"
    save(group, described)
    described.write_text(described.read_text().replace("robot: triangle\n", ""))
    found = diagnose_transitions(rusty_log, symmetry=str(described))
    assert found.title == "my-robot, 2,000 transitions"


def test_the_verb(rusty_log: Path, tmp_path: Path, ambidex: Ambidex) -> None:
    given = ("diagnose", "--transitions", str(rusty_log), "--symmetry", "triangle")
    expected = diagnose_transitions(rusty_log, symmetry="triangle")
    status, printed, _ = ambidex(*given)
    assert not status
    assert printed == in_words(expected) + "\n"
    status, printed, _ = ambidex(*given, "--offsets", "--json", "--figure", str(tmp_path / "robot.png"))
    assert not status
    found = json.loads(printed)
    assert found["transitions"] == 2000
    assert found["offsets"]
    assert [one["is_off"] for one in found["actuators"]] == [True, True, True]
    scales = [one.scale for one in expected.actuators]
    assert [one["scale"] for one in found["actuators"]] == pytest.approx(scales, rel=1e-6)
    assert all(
        low < one["scale"] < high for one in found["actuators"] for low, high in [one["scale_interval"]]
    )
    status, printed, _ = ambidex(*given, "--json")
    assert [one["offset_interval"] for one in json.loads(printed)["actuators"]] == [None] * 3
    assert (tmp_path / "robot.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_usage(rusty_log: Path, ambidex: Ambidex) -> None:
    transitions = ("--transitions", str(rusty_log))
    for arguments, complaint in (
        ((), "give a run directory or a .zip file, or --transitions FILE"),
        (
            ("runs/limping", *transitions, "--symmetry", "triangle"),
            "give either runs/limping or --transitions",
        ),
        (transitions, "give --symmetry"),
        (("runs/limping", "--offsets"), "--offsets is for --transitions"),
        (("--transitions", "a.npz", "--observations", "b.csv"), "--observations is for a policy"),
        ((*transitions, "--symmetry", "ant"), "(2000, 10); this robot's has (transitions, 28)"),
    ):
        status, printed, said = ambidex("diagnose", *arguments)
        assert status == 2
        assert complaint in said
        assert said.count("\n") == 1
        assert not printed


def test_a_robot_that_is_driven_by_position_targets(tmp_path: Path, ambidex: Ambidex) -> None:
    """One knee has half its strength; the hip above it, which it pulls at, is sound."""
    arrays = moved((1.0, 0.5, 1.0, 1.0))
    description, log = tmp_path / "legs.yaml", tmp_path / "log.npz"
    save(two_legs(), description)
    np.savez(log, **{name: array for name, array in arrays.items() if name != "means"})
    found = diagnose_transitions(log, symmetry=str(description))
    assert [one.is_off for one in found.actuators] == [False, True, False, True]
    assert found.actuators[1].scale / found.actuators[3].scale == pytest.approx(2, rel=0.06)
    text = in_words(found)
    assert "inverse of the strength of a motor" in text
    assert "Offsets" not in text
    given = ("diagnose", "--transitions", str(log), "--symmetry", str(description))
    status, _, complaint = ambidex(*given, "--offsets")
    assert status == 2
    assert "reads the same encoder" in complaint
    assert can_tell(two_legs())
    assert not can_tell(two_legs({"action": "position", "step": 0.02}))


def test_a_load_on_a_limb_is_said_and_no_motor_blamed() -> None:
    arrays = moved((1.0, 1.0, 1.0, 1.0), load=1.5)
    log = Log(*(arrays[name] for name in ("observations", "actions", "next_observations")))
    found = diagnose_motion("legs", two_legs(), log, means=arrays["means"])
    assert not any(one.is_off for one in found.actuators)
    text = " ".join(in_words(found).split())
    assert "joint 0, left hip: its limb answers torques less than its counterparts do" in text
    assert "it carries a load" in text
