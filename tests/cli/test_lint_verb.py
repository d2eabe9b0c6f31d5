"""`ambidex lint` of a foreign mirror, as a person types it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ambidex.cli.command_line import app
from ambidex.symmetry import load
from ambidex.symmetry.files.interop import to_signed_list

MODEL = """
<mujoco>
  <worldbody>
    <body name="torso" pos="0 0 1">
      <freejoint/>
      <geom size="0.1"/>
      <body name="left" pos="0 0.2 0"><joint name="left" axis="1 0 0"/><geom size="0.05"/></body>
      <body name="right" pos="0 -0.2 0"><joint name="right" axis="1 0 0"/><geom size="0.05"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>
"""


def test_the_entries_that_disagree_are_printed(tmp_path):
    group = load("ant")
    lists = {
        "mirrored_obs": to_signed_list(group["xz"].observation_map),
        "mirrored_acts": to_signed_list(group["xz"].action_map),
    }
    path = tmp_path / "mirror.json"
    path.write_text(json.dumps(lists))
    result = CliRunner().invoke(app, ["lint", str(path), "--robot", "ant"])
    assert (result.exit_code, result.output) == (0, f"{path}: no findings\n")
    lists["mirrored_acts"][0] *= -1
    path.write_text(json.dumps(lists))
    result = CliRunner().invoke(app, ["lint", str(path), "--robot", "ant", "--json"])
    assert result.exit_code == 1
    (finding,) = json.loads(result.output)
    assert (finding["side"], finding["element"], finding["fix"]) == ("action", 6, "read action 6 from -0")


def test_a_model_is_derived_from(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "robot.xml").write_text(MODEL)
    mirror = tmp_path / "mirror.yaml"
    mirror.write_text("mirrored_obs: [0.1]\nmirrored_acts: [1, 0.1]\n")
    result = CliRunner().invoke(app, ["lint", str(mirror), "--robot", str(tmp_path / "robot.xml")])
    assert result.exit_code == 1
    assert "observation: acts on 1 elements, the robot has" in result.output
    assert "Fix: read action 1 from -0." in result.output
