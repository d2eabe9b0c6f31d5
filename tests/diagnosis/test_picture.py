"""The drawing of a diagnosis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.image import imread

from ambidex import load
from ambidex.diagnosis import picture as diagnose_figure
from ambidex.diagnosis.diagnosis import ActuatorDiagnosis, Diagnosis, _limb_position
from ambidex.diagnosis.motion import diagnose_motion
from tests.diagnosis.known_robots import known_diagnosis, logged


def actuator(**changed: Any) -> ActuatorDiagnosis:
    return replace(known_diagnosis().actuators[0], **changed)


def test_colours() -> None:
    assert diagnose_figure.colour(actuator()) == diagnose_figure.LESS
    assert diagnose_figure.colour(actuator(scale_interval=None)) == diagnose_figure.UNKNOWN
    more = actuator(scale=2.0, scale_interval=(1.9, 2.1))
    assert diagnose_figure.colour(more) == diagnose_figure.MORE
    unsure = actuator(scale=1.2, scale_interval=(0.9, 1.6))
    assert diagnose_figure.colour(unsure) == diagnose_figure.SAME


def drawn(diagnosis: Diagnosis, path: Path) -> str:
    """The figure as SVG, its texts as comments in it."""
    diagnose_figure.save_figure(diagnosis, path / "robot.svg")
    return (path / "robot.svg").read_text()


def test_every_actuator_is_drawn(tmp_path: Path) -> None:
    drawing = drawn(known_diagnosis(), tmp_path)
    for ink in (diagnose_figure.LESS, diagnose_figure.MORE):
        assert ink in drawing
    assert "<!-- offset -->" in drawing
    assert "<!-- from above, front is up -->" in drawing


def test_a_description_without_places(tmp_path: Path) -> None:
    found = known_diagnosis()
    placeless = replace(found, actuators=tuple(replace(one, at=None) for one in found.actuators))
    drawing = drawn(placeless, tmp_path)
    assert "from above" not in drawing
    assert "<!-- 1, limb_1.shoulder -->" in drawing


def test_no_panel_of_offsets_where_none_are_known(tmp_path: Path) -> None:
    group = load("triangle")
    without = diagnose_motion("triangle", group, logged("triangle-weight", 500)[0])
    assert "<!-- offset -->" not in drawn(without, tmp_path)
    found = diagnose_motion("triangle", group, logged("triangle-weight", 500)[0], offsets=True)
    drawing = drawn(found, tmp_path)
    assert "<!-- offset -->" in drawing
    assert "<!-- triangle, 500 transitions -->" in drawing


def test_29_joints_stand_apart(tmp_path: Path) -> None:
    """The waist of this robot is in its middle, its arms and legs lie in the same direction."""
    group = load("g1")
    assert group.layout is not None
    one = known_diagnosis().actuators[0]
    found = replace(
        known_diagnosis(),
        actuators=tuple(
            replace(one, index=index, name=name, at=_limb_position(group, name))
            for index, name in enumerate(group.layout.action_names)
        ),
    )
    places = np.array(list(diagnose_figure._places(found).values()))
    assert len(places) == 29
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 10 * np.eye(29)
    assert apart.min() > 0.65
    left = [place for place, other in zip(places, found.actuators, strict=True) if "left" in other.name]
    assert all(x < 0 for x, _ in left)
    diagnose_figure.save_figure(found, tmp_path / "robot.png")
    pixels = imread(tmp_path / "robot.png")[..., :3]
    assert all(edge.min() == 1.0 for edge in (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]))
