"""A description by names of a model's positions, velocities and controls, from its matchings.

Each body with joints becomes a limb. Places and axes are averaged over all images, so that a model which is
slightly off still has an exact description; limbs that share a place are moved apart, which changes nothing,
for only the pattern of places matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.matching import Matching
from ambidex.derivation.match.products import image_group
from ambidex.derivation.naming import actuator_name, body_name, joint_name, shared
from ambidex.derivation.skeleton import BALL, FREE, HINGE, SLIDE, Skeleton

TENDON = int(mujoco.mjtTrn.mjTRN_TENDON)
APART = 1e-3  # of the unit in which places are written: limbs nearer than this share a place


def beyond_names(matching: Matching) -> str | None:
    """Why a complete matching cannot be described by names, if it cannot."""
    model = matching.model
    starts = model.body_jntadr[model.jnt_bodyid]
    for joint, (partner, _) in matching.joints.items():
        name = joint_name(model, joint)
        if joint in matching.offsets:
            degrees = f"{np.degrees(abs(matching.offsets[joint])):.4g}"
            return f"joint {name} would be shifted by {degrees} degrees; observe its cosine and sine"
        if model.jnt_type[joint] in (FREE, BALL):
            if np.abs(matching.frames[joint] - matching.isometry).max() > 1e-6:
                return f"the frame of joint {name} is turned, so that its quaternion follows no simple rule"
            if model.jnt_type[joint] == FREE and partner != joint:
                return f"the free joint {name} changes places with another"
            if model.jnt_type[joint] == FREE and np.abs(_shift(matching)).max() > 1e-6:
                return "the isometry's centre is not the world's, so that free positions would be shifted"
        elif joint - starts[joint] != partner - starts[partner]:
            return f"joint {name} changes places with another joint of the same body"
    for actuator, (partner, _) in matching.actuators.items():
        joint, image = (_first_driven(model, part)[0] for part in (actuator, partner))
        if matching.joints[joint][0] != image:
            name = actuator_name(model, actuator)
            return f"actuator {name} drives joints that change places, through a tendon"
    return None


def describe_model(robot: str, matchings: Sequence[Matching]) -> dict[str, Any]:
    """The sections ``robot``, ``limbs``, ``observations`` and ``actions`` of a description.

    :param robot: the robot's name
    :param matchings: complete matchings of one model that names can describe
    """
    return _Description(robot, matchings).sections()


class _Description:
    def __init__(self, robot: str, matchings: Sequence[Matching]) -> None:
        self.robot, self.model = robot, matchings[0].model
        self.group = image_group(matchings)
        self.skeleton = Skeleton(self.model)
        self.limbs = [body for body in range(self.model.nbody) if self._limb_joints(body)]
        self.limb_names = _distinct([body_name(self.model, body) for body in self.limbs])
        self.joint_names = dict(self._name_joints())
        self.drives, self.drive_joints = self._drives()
        self.partners = _partners(matchings, len(self.drives))

    def sections(self) -> dict[str, Any]:
        places = self._places()
        limbs: dict[str, Any] = {}
        for body, limb in zip(self.limbs, self.limb_names, strict=True):
            limbs[limb] = {"at": _place(places[body])}
            joints = {
                self.joint_names[joint]: self._joint(joint, 1.0)
                for joint in self._limb_joints(body)
                if joint in self._simple_joints()
            }
            for short, joint, sign in self.drive_joints.get(body, ()):
                joints[short] = self._joint(joint, sign)
            if joints:
                limbs[limb]["joints"] = joints
        sections: dict[str, Any] = {"robot": self.robot}
        if limbs:
            sections["limbs"] = limbs
        sections["observations"] = [*self._fields("position"), *self._fields("velocity")]
        sections["actions"] = self._actions()
        return sections

    def _limb_joints(self, body: int) -> list[int]:
        return [joint for joint in self.skeleton.joints(body) if self.model.jnt_type[joint] != FREE]

    def _simple_joints(self) -> list[int]:
        return [int(joint) for joint in np.flatnonzero(np.isin(self.model.jnt_type, (SLIDE, HINGE)))]

    def _limb_of(self, joint: int) -> str:
        return self.limb_names[self.limbs.index(int(self.model.jnt_bodyid[joint]))]

    def _full_name(self, joint: int) -> str:
        return f"{self._limb_of(joint)}.{self.joint_names[joint]}"

    def _name_joints(self) -> Iterator[tuple[int, str]]:
        """Partners share a name, made of the words that their names share."""
        for body in self.limbs:
            joints = self._limb_joints(body)
            orbits = [sorted({image.joints[joint][0] for image in self.group}) for joint in joints]
            shorts = [shared([joint_name(self.model, joint) for joint in orbit]) for orbit in orbits]
            whole = [
                joint_name(self.model, joint) if len(orbit) == 1 else short or "joint"
                for joint, orbit, short in zip(joints, orbits, shorts, strict=True)
            ]
            yield from zip(joints, _distinct(whole), strict=True)

    def _places(self) -> dict[int, FloatArray]:
        """A place for each limb, carried by each element of the group to the place of the limb's image."""
        given = self.skeleton.places
        even = {
            body: np.mean([g.isometry.T @ given[g.bodies[body]] for g in self.group], axis=0)
            for body in self.limbs
        }
        placed: dict[int, FloatArray] = {}
        for body in self.limbs:
            if body in placed:
                continue
            for shift in self._shifts(body):
                orbit = {g.bodies[body]: g.isometry @ (even[body] + shift) for g in self.group}
                if _are_apart([*placed.values(), *orbit.values()]):
                    break
            placed |= orbit
        return placed

    def _shifts(self, body: int) -> Iterator[FloatArray]:
        """Ways to move a limb that keep it where its own symmetries leave it."""
        yield np.zeros(3)
        stays = np.mean([g.isometry for g in self.group if g.bodies[body] == body], axis=0)
        for distance in range(1, 10):
            for axis in ("y", "z", "x"):
                yield distance * stays["xyz".index(axis)]

    def _joint(self, joint: int, sign: float) -> Any:
        turns = self.model.jnt_type[joint] == HINGE
        axes = []
        for g in self.group:
            partner, direction = g.joints[joint]
            handedness = np.linalg.det(g.isometry) if turns else 1.0
            axes.append(direction * handedness * g.isometry.T @ self.skeleton.pose.xaxis[partner])
        axis = _direction(sign * np.mean(axes, axis=0))
        specification: dict[str, Any] = {"axis" if turns else "slide": axis}
        if self.model.jnt_limited[joint] and sign > 0:
            low, high = (_number(limit) for limit in np.round(self.model.jnt_range[joint], 6))
            if low < high:
                specification["limits"] = [low, high]
        return axis if list(specification) == ["axis"] else specification

    def _fields(self, quantity: str) -> Iterator[dict[str, Any]]:
        """The fields of qpos or qvel, in their order."""
        model = self.model
        free = int((model.jnt_type == FREE).sum())
        run: list[int] = []
        runs = 0
        for joint in [*range(model.njnt), None]:
            kind = None if joint is None else int(model.jnt_type[joint])
            if kind in (SLIDE, HINGE):
                run.append(int(joint))
                continue
            if run:
                runs += 1
                yield self._run(quantity, run, runs)
                run = []
            if joint is None:
                return
            stem = f"{body_name(model, model.jnt_bodyid[joint])}_" if free > 1 else ""
            of = {} if kind == FREE else {"of": self._limb_of(joint)}
            if quantity == "position":
                if kind == FREE:
                    yield {f"{stem}position": "vector"}
                yield {f"{stem}orientation": {"quaternion": "wxyz", **of}}
            else:
                if kind == FREE:
                    yield {f"{stem}velocity": "vector"}
                yield {f"{stem}spin": {"pseudovector": ["x", "y", "z"], **of} if of else "pseudovector"}

    def _run(self, quantity: str, joints: list[int], number: int) -> dict[str, Any]:
        plural = {"position": "positions", "velocity": "velocities"}[quantity]
        name = plural if number == 1 else f"{plural}_{number}"
        if joints == self._simple_joints() and not self.drive_joints:
            return {name: {"joint": quantity}}
        return {name: {"joint": quantity, "of": [self._full_name(joint) for joint in joints]}}

    def _drives(self) -> tuple[list[str], dict[int, list[tuple[str, int, float]]]]:
        """The joint that each action drives, by name.

        Where partners are geared with different signs, or an actuator drives several joints, the actuator
        becomes a joint of its own: one that turns as its command does. A model without actuators (a URDF
        file has none) gets one for each joint.
        """
        model = self.model
        if not model.nu:
            return [self._full_name(joint) for joint in self._simple_joints()], {}
        driven = [_first_driven(model, actuator) for actuator in range(model.nu)]
        drives: list[str] = []
        own: dict[int, list[tuple[str, int, float]]] = {}
        for actuator, (joint, sign) in enumerate(driven):
            partners = {image.joints[joint][0] for image in self.group}
            signs = {other_sign for other, other_sign in driven if other in partners}
            if model.actuator_trntype[actuator] != TENDON and len(signs) == 1:
                drives.append(self._full_name(joint))
                continue
            of_body = own.setdefault(int(model.jnt_bodyid[joint]), [])
            taken = [name for name, *_ in of_body]
            short = _distinct([*taken, f"{self.joint_names[joint]}_motor"])[-1]
            of_body.append((short, joint, sign))
            drives.append(f"{self._limb_of(joint)}.{short}")
        return drives, own

    def _actions(self) -> list[dict[str, Any]]:
        """One field; where a joint has several actuators, partners have fields of the same name."""
        fields: list[tuple[str, list[str]]] = []
        for actuator, drive in enumerate(self.drives):
            besides = [self.partners[i] for i, other in enumerate(self.drives) if other == drive]
            number = sorted(besides).index(self.partners[actuator]) + 1
            name = "command" if number == 1 else f"command_{number}"
            if not fields or fields[-1][0] != name:
                fields.append((name, []))
            fields[-1][1].append(drive)
        return [{name: {"joint": name, "of": driven}} for name, driven in fields]


def _partners(matchings: Sequence[Matching], actuators: int) -> list[int]:
    """A number for each actuator, the same for all that are carried to each other."""
    numbers = list(range(actuators))
    for matching in matchings:
        for actuator, (partner, _) in matching.actuators.items():
            merged = {numbers[actuator], numbers[partner]}
            numbers = [min(merged) if number in merged else number for number in numbers]
    return numbers


def _first_driven(model: mujoco.MjModel, actuator: int) -> tuple[int, float]:
    """The first joint that the actuator drives, and with which sign."""
    target, gear = int(model.actuator_trnid[actuator, 0]), float(model.actuator_gear[actuator, 0])
    if model.actuator_trntype[actuator] == TENDON:
        wrap = model.tendon_adr[target]
        target, gear = int(model.wrap_objid[wrap]), gear * float(model.wrap_prm[wrap])
    return target, float(np.sign(gear))


def _are_apart(places: Sequence[FloatArray]) -> bool:
    points = np.array(places)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(len(points))
    return bool(distances.min() > APART)


def _shift(matching: Matching) -> FloatArray:
    return np.asarray(matching.isometry @ matching.centre - matching.centre)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names with a number behind those that occur before."""
    seen: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in seen:
            number += 1
            chosen = f"{name}_{number}"
        seen.append(chosen)
    return seen


def _place(place: FloatArray) -> list[float]:
    x, y, z = map(_number, np.round(place, 9))
    return [x, y] if z == 0 else [x, y, z]


def _number(value: float) -> float:
    """Whole numbers without a point."""
    return int(value) if value == int(value) else float(value)


def _direction(axis: FloatArray) -> Any:
    """``"x"``, ``"-z"``, or numbers, whole ones where that is exact."""
    axis = axis / np.linalg.norm(axis)
    largest = int(np.abs(axis).argmax())
    if abs(axis[largest]) > 1 - 1e-9:
        return f"{'-' if axis[largest] < 0 else ''}{'xyz'[largest]}"
    scaled = axis / np.abs(axis[np.abs(axis) > 1e-9]).min()
    if np.abs(scaled - np.round(scaled)).max() < 1e-9 and np.abs(scaled).max() < 10:
        whole = [int(value) for value in np.round(scaled)]
        return whole[:2] if whole[2] == 0 else whole
    return [_number(value) for value in np.round(axis, 9)]
