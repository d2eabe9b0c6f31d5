"""Mirrors of other code against a robot: the entries that disagree are named, and only those."""

from __future__ import annotations

import json
import sys

import pytest
import yaml

from ambidex.symmetry import SymmetryGroup, lint_file, load
from ambidex.symmetry.files.interop import to_cusrl, to_signed_list, write_paper_file
from tests.symmetry.tables import ANT, ant_tables

BIPED = """
limbs:
  left: {at: [0, 1], joints: {hip: x, knee: y}}
  right: {at: [0, -1], joints: {hip: x, knee: y}}
observations:
  - velocity: {vector: [x, y]}
  - spin: {pseudovector: [z]}
  - positions: {joint: position}
  - clock: {phase: [sin, cos]}
actions:
  - torque: joint
transforms:
  xz: {isometry: xz, phase: half}
"""
# What the description means, by hand: y and the spin turn around, the legs change places, hips about x turn
# around, knees about y do not, the clock is half a period later.
OBSERVED = [0, -1, -2, -5, 6, -3, 4, -7, -8]
ACTED = [-2, 3, -0.1, 1]


@pytest.fixture
def biped(tmp_path):
    path = tmp_path / "biped.yaml"
    path.write_text(BIPED)
    return load(path)


def lint_content(content, tmp_path, robot):
    path = tmp_path / "mirror.yaml"
    path.write_text(yaml.safe_dump(content))
    return lint_file(path, robot=robot)


def cassie(observed=OBSERVED, acted=ACTED):
    return {"mirrored_obs": [value or 0.1 for value in observed], "mirrored_acts": acted}


def test_the_right_list_passes(biped, tmp_path):
    assert lint_content(cassie(), tmp_path, biped) == []
    assert to_signed_list(biped["xz"].action_map) == ACTED


@pytest.mark.parametrize(("channel", "name"), [(7, "clock.sin"), (8, "clock.cos")])
def test_a_phase_channel_with_the_wrong_sign_is_named(biped, tmp_path, channel, name):
    """One of the clock's two channels negated, the other not: the gait runs backwards in the mirror."""
    observed = [*OBSERVED]
    observed[channel] *= -1
    (finding,) = lint_content(cassie(observed), tmp_path, biped)
    assert (finding.side, finding.element) == ("observation", channel)
    assert finding.message == (
        f"{name} is read from +{name}; in the robot's xz (reflection in the plane xz) it is -{name}: "
        "the sine and cosine of a gait's phase change sign together or not at all."
    )
    assert finding.fix == f"read observation {channel} from -{channel}"


def test_a_phase_that_the_robot_keeps_is_not_negated(tmp_path):
    """A clock of which the robot says that it stays; a mirror that negates it teaches to limp."""
    (tmp_path / "kept.yaml").write_text(BIPED.replace("phase: half", "phase: same"))
    findings = lint_content(cassie(), tmp_path, load(tmp_path / "kept.yaml"))
    assert [finding.element for finding in findings] == [7, 8]


def test_every_wrong_entry_is_found_on_its_side(biped, tmp_path):
    findings = lint_content(cassie([0, 1, *OBSERVED[2:]], [-2, -3, -0.1, -1]), tmp_path, biped)
    assert [(f.side, f.element) for f in findings] == [("observation", 1), ("action", 1), ("action", 3)]
    assert "velocity.y is read from +velocity.y" in findings[0].message
    assert "a component of a vector" in findings[0].message
    assert "left.knee is read from -right.knee" in findings[1].message
    assert findings[1].fix == "read action 1 from +3"


def test_tables_of_cusrl(tmp_path):
    group = load("ant")
    keys = ("destination_indices", "flipped_indices")
    content = {
        "mirror_observation": dict(zip(keys, to_cusrl(group["r90"].observation_map), strict=True)),
        "mirror_action": dict(zip(keys, to_cusrl(group["r90"].action_map), strict=True)),
    }
    assert lint_content(content, tmp_path, group) == []
    content["mirror_action"]["flipped_indices"].remove(3)
    (finding,) = lint_content(content, tmp_path, group)
    assert (finding.side, finding.element) == ("action", 3)
    assert "leg_1.knee is read from +leg_0.knee; in the robot's r90" in finding.message


def test_files_of_the_papers_authors(tmp_path):
    path = tmp_path / "paper.yaml"
    write_paper_file(load("ant"), path)
    assert lint_file(path, robot=load("ant")) == []
    entries = yaml.safe_load(path.read_text())
    entries[4]["obs_multiplier"][5] *= -1
    path.write_text(json.dumps(entries))
    (finding,) = lint_file(path, robot=load("ant"))
    assert (finding.transform, finding.side, finding.element) == ("t5", "observation", 5)


def test_without_a_robot_a_mirror_is_held_to_algebra(tmp_path):
    assert lint_content(cassie(), tmp_path, None) == []
    (finding,) = lint_content(cassie(acted=[-2, 3, 0.1, 1]), tmp_path, None)
    assert finding.code == "wrong-table"


def test_broken_tables_are_findings_of_their_own(biped, tmp_path):
    (finding,) = lint_content(cassie(acted=[-2, 3, -2, 1]), tmp_path, biped)
    assert (finding.code, finding.side) == ("not-a-permutation", "action")
    with pytest.raises(ValueError, match=r"mirrored_acts: element 2 is 0, which has no sign"):
        lint_content(cassie(acted=[-2, 3, 0, 1]), tmp_path, biped)


def test_sides_of_another_size_are_not_compared(biped, tmp_path):
    (finding,) = lint_content(cassie(observed=OBSERVED[:-2]), tmp_path, biped)
    assert (finding.code, finding.side) == ("size", "observation")
    assert "acts on 7 elements, the robot has 9; not compared" in finding.message


def test_a_mirror_of_another_order_is_told_so(tmp_path):
    tables = ant_tables("xz")
    content = [
        {
            "obs_indices": [27 - index for index in tables["obs_indices"]][::-1],
            "obs_multiplier": [-m for m in tables["obs_multipliers"]],
            "act_indices": tables["act_indices"],
            "act_multiplier": tables["act_multipliers"],
        }
    ]
    findings = lint_content(content, tmp_path, load("ant"))
    assert findings[-1].code == "more"
    assert "is the robot's description in the order" in findings[-1].message


FUNCTIONS = """
import torch

def augment(env=None, obs=None, actions=None):
    policy = obs["policy"]
    signs = torch.tensor({signs})
    obs = obs.repeat(2)
    obs["policy"][len(policy):] = policy[:, {indices}] * signs
    return obs, torch.cat([actions, actions[:, [2, 3, 0, 1]] * torch.tensor([-1.0, 1, -1, 1])])

def old(env, obs, actions, obs_type="policy"):
    images = obs[:, {indices}] * torch.tensor({signs})
    return torch.cat([obs, images]), torch.cat([actions, mirror_action(actions)])

def bent(env, obs, actions):
    obs, actions = old(env, obs["policy"], actions)
    return {{"policy": torch.cat([obs[: len(obs) // 2], obs[len(obs) // 2 :].abs()])}}, actions

def reversed_order(env, obs, actions):
    obs, actions = old(env, obs["policy"], actions)
    return {{"policy": obs.flip(0)}}, actions

def mirror(vector):
    return vector[..., {indices}] * torch.tensor({signs})

def mirror_action(vector):
    return vector[..., [2, 3, 0, 1]] * torch.tensor([-1.0, 1, -1, 1])

def needs_env(env, obs, actions):
    return env.unwrapped.mirror(obs, actions)
"""
SIGNS = [1.0, -1, -1, -1, 1, -1, 1, -1, -1]


@pytest.fixture
def functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(signs):
        sys.modules.pop("mirror_functions", None)
        text = FUNCTIONS.format(signs=signs, indices=[0, 1, 2, 5, 6, 3, 4, 7, 8])
        (tmp_path / "mirror_functions.py").write_text(text)

    monkeypatch.setattr("sys.dont_write_bytecode", True)
    return write


@pytest.mark.parametrize("function", ["augment", "old", "mirror,mirror_action"])
def test_functions_are_seen_by_what_they_do(biped, functions, function):
    functions(SIGNS)
    assert lint_file(f"mirror_functions:{function}", robot=biped, trust=True) == []
    functions([*SIGNS[:-1], 1.0])
    (finding,) = lint_file(f"mirror_functions:{function}", robot=biped, trust=True)
    assert (finding.side, finding.element) == ("observation", 8)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mirror_functions:augment", {"trust": False}, "add --trust"),
        ("mirror_functions:augment", {"robot": None}, "give the robot"),
        ("mirror_functions:other", {}, "has no function 'other'"),
        ("no_such_module_here:augment", {}, "cannot import it"),
        ("mirror_functions:bent", {}, "the function is not linear"),
        ("mirror_functions:reversed_order", {}, "the batch first"),
        ("mirror_functions:needs_env", {}, "fails when called without an environment: AttributeError"),
    ],
)
def test_functions_that_cannot_be_held_against_a_robot(biped, functions, name, options, message):
    functions(SIGNS)
    with pytest.raises(ValueError, match=message):
        lint_file(name, **{"robot": biped, "trust": True, **options})


def test_the_ants_own_names(tmp_path):
    """Each transform is compared with the robot's that is most like it, whatever its name."""
    path = tmp_path / "paper.yaml"
    write_paper_file(load("ant"), path)
    for number, name in enumerate(ANT):
        entries = yaml.safe_load(path.read_text())
        entries[number]["act_multiplier"][0] *= -1
        (finding,) = lint_content(entries, tmp_path, load("ant"))
        assert f"in the robot's {name} " in finding.message


def test_a_signed_list_says_where_elements_go(tmp_path):
    """Which is not where they come from, of a rotation."""
    turned = SymmetryGroup([load("ant")["r90"]])
    lists = {
        "mirrored_obs": to_signed_list(turned["r90"].observation_map),
        "mirrored_acts": to_signed_list(turned["r90"].action_map),
    }
    assert lint_content(lists, tmp_path, turned) == []
    assert lint_content(lists, tmp_path, SymmetryGroup([load("ant")["r270"]])) != []
