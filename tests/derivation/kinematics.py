"""Where the joints of a robot are: from a URDF file by a few lines of numpy, or from MuJoCo.

Nothing here uses the package, so that what it derives can be held against it.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

MOVING = ("revolute", "continuous", "prismatic")


def example_robots() -> Path:
    """The robots of the package example-robot-data; skips the test where it is not installed."""
    installed = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data"
    folder = Path(os.environ.get("EXAMPLE_ROBOT_DATA", installed)) / "robots"
    if not folder.is_dir():
        pytest.skip("needs example-robot-data: pip install 'ambidex[robots]'")
    return folder


def menagerie() -> Path:
    """A copy of mujoco_menagerie, which no package index has; skips the test where there is none."""
    folder = os.environ.get("MUJOCO_MENAGERIE")
    if not folder:
        pytest.skip("needs the folder of a copy of mujoco_menagerie in MUJOCO_MENAGERIE")
    return Path(folder)


def numbers(text: str | None, default: str = "0 0 0"):
    return np.array([float(word) for word in (text or default).split()])


def turn(axis, angle):
    """Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def rpy(angles):
    roll, pitch, yaw = angles
    return (
        turn(np.array([0, 0, 1.0]), yaw)
        @ turn(np.array([0, 1.0, 0]), pitch)
        @ turn(np.array([1.0, 0, 0]), roll)
    )


class UrdfRobot:
    """Forward kinematics of a URDF file in its root's frame."""

    def __init__(self, path: Path) -> None:
        root = ElementTree.parse(path).getroot()
        self.joints = {joint.get("name"): joint for joint in root.findall("joint")}
        self.moving = [name for name, joint in self.joints.items() if joint.get("type") in MOVING]
        self.slides = {name for name in self.moving if self.joints[name].get("type") == "prismatic"}
        self.by_child = {joint.find("child").get("link"): joint for joint in self.joints.values()}

    def at(self, positions):
        """The origin and the axis of each moving joint."""
        self.positions = dict(positions)
        self.frames = {}
        found = {}
        for name in self.moving:
            place, axes = self._joint(self.joints[name])
            axis = numbers(self._tag(self.joints[name], "axis", "xyz"), "1 0 0")
            found[name] = place, axes @ (axis / np.linalg.norm(axis))
        return found

    def _tag(self, joint, tag, key):
        found = joint.find(tag)
        return None if found is None else found.get(key)

    def _joint(self, joint):
        place, axes = self._link(joint.find("parent").get("link"))
        offset = numbers(self._tag(joint, "origin", "xyz"))
        return place + axes @ offset, axes @ rpy(numbers(self._tag(joint, "origin", "rpy")))

    def _link(self, link):
        if link not in self.frames:
            joint = self.by_child.get(link)
            if joint is None:
                return np.zeros(3), np.eye(3)
            place, axes = self._joint(joint)
            if joint.get("type") in MOVING:
                axis = numbers(self._tag(joint, "axis", "xyz"), "1 0 0")
                value = self.positions.get(joint.get("name"), 0.0)
                if joint.get("type") == "prismatic":
                    place = place + axes @ axis * value
                else:
                    axes = axes @ turn(axis, value)
            self.frames[link] = place, axes
        return self.frames[link]


class MujocoRobot:
    """The same of a model with a free base, by MuJoCo."""

    def __init__(self, model) -> None:
        self.model = model
        kinds = model.jnt_type
        self.moving = [model.joint(j).name for j in range(model.njnt) if kinds[j] in (2, 3)]
        self.slides = {name for name in self.moving if model.joint(name).type[0] == 2}

    def at(self, positions):
        data = mujoco.MjData(self.model)
        free = np.flatnonzero(self.model.jnt_type == 0)
        if len(free):
            data.qpos[self.model.jnt_qposadr[free[0]] :][:7] = (0, 0, 0, 1, 0, 0, 0)
        for name in self.moving:
            data.joint(name).qpos[:] = positions.get(name, 0.0)
        mujoco.mj_kinematics(self.model, data)
        return {
            name: (data.joint(name).xanchor.copy(), data.joint(name).xaxis.copy()) for name in self.moving
        }


def without_meshes(path: Path):
    """A model of the menagerie; its shapes are not needed, and may not be there."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in [geom for geom in spec.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH]:
        spec.delete(geom)
    for part in (*spec.skins, *spec.meshes):
        spec.delete(part)
    for material in spec.materials:
        for i in range(len(material.textures)):
            material.textures[i] = ""
    for texture in list(spec.textures):
        spec.delete(texture)
    return spec.compile()


def deviation(robot, isometry, carried, seed=0):
    """How far the image of a random pose is from the pose of the images, of the robot's size.

    :param carried: for each joint the joint that it is carried to, and the sign of its value there
    """
    generator = np.random.default_rng(seed)
    reach = {name: 0.05 if name in robot.slides else 1.0 for name in robot.moving}
    pose = {name: generator.uniform(-reach[name], reach[name]) for name in robot.moving if name in carried}
    image = {carried[name][0]: carried[name][1] * value for name, value in pose.items()}
    before, after = robot.at(pose), robot.at(image)
    places = np.array([place for place, _ in before.values()])
    size = float(np.ptp(places, axis=0).max())
    worst = 0.0
    for name, (partner, sign) in carried.items():
        (place, axis), (there, along) = before[name], after[partner]
        handed = 1.0 if name in robot.slides else np.linalg.det(isometry)
        worst = max(worst, float(np.abs(sign * handed * isometry @ axis - along).max()))
        off = isometry @ place - there
        if name not in robot.slides:
            off = off - (off @ along) * along
            worst = max(worst, float(np.linalg.norm(off)) / size)
    return worst
