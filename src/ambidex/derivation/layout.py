"""A description by names of a model's positions, velocities and controls, from its matchings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.limbs import Limb, find_limbs
from ambidex.derivation.locomotion import locomotion_fields
from ambidex.derivation.match.matching import Matching
from ambidex.derivation.match.products import image_group
from ambidex.derivation.naming import body_name, distinct, joint_name
from ambidex.derivation.placing import as_direction, as_number, as_place, command_axis, even_places
from ambidex.derivation.skeleton import BALL, FREE, HINGE, SLIDE


@dataclass(frozen=True)
class Observations:
    """Which observations a description is of.

    :param layout: ``"state"`` for MuJoCo's qpos and qvel, ``"locomotion"`` for what policies of legged robots
        observe
    :param history: of locomotion, the number of time steps
    :param heights: of locomotion, the rows and columns of a height map
    """

    layout: str = "state"
    history: int = 1
    heights: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.layout not in ("state", "locomotion"):
            raise ValueError(f"layout is state or locomotion, got {self.layout!r}")
        if self.layout == "state" and (self.history != 1 or self.heights is not None):
            raise ValueError("history and heights go with the layout locomotion")
        if self.history < 1:
            raise ValueError(f"history is the number of time steps, got {self.history!r}")


def beyond_names(matching: Matching, observations: Observations) -> str | None:
    """Why a complete matching cannot be described by names, if it cannot."""
    model = matching.model
    starts = model.body_jntadr[model.jnt_bodyid]
    for joint, (partner, _) in matching.joints.items():
        name = joint_name(model, joint)
        kind = model.jnt_type[joint]
        if kind == BALL and observations.layout == "locomotion":
            continue
        if joint in matching.offsets and not model.jnt_limited[[joint, partner]].any():
            degrees = f"{np.degrees(abs(matching.offsets[joint])):.4g}"
            return f"joint {name} would be shifted by {degrees} degrees; observe its cosine and sine"
        if joint in matching.offsets and not _has_middle(matching, joint):
            return f"joint {name} stands otherwise in the zero pose's image, and no pose is its own image"
        if kind in (FREE, BALL):
            if np.abs(matching.frames[joint] - matching.isometry).max() > 1e-6:
                return f"the frame of joint {name} is turned, so that its quaternion follows no simple rule"
            if kind == FREE and partner != joint:
                return f"the free joint {name} changes places with another"
            if kind == FREE and np.abs(_shift(matching)).max() > 1e-6:
                return "the isometry's centre is not the world's, so that free positions would be shifted"
        elif joint - starts[joint] != partner - starts[partner]:
            return f"joint {name} changes places with another joint of the same body"
    return None


def describe_model(
    robot: str, matchings: Sequence[Matching], observations: Observations
) -> tuple[dict[str, Any], list[str]]:
    """The sections ``robot``, ``limbs``, ``observations`` and ``actions`` of a description, and notes on it.

    :param robot: the robot's name
    :param matchings: complete matchings of one model that names can describe
    :param observations: which observations it is of
    """
    description = _Description(robot, matchings, observations)
    return description.sections(), list(description.notes())


class _Description:
    def __init__(self, robot: str, matchings: Sequence[Matching], observations: Observations) -> None:
        self.robot, self.wanted = robot, observations
        self.skeleton = matchings[0].skeleton
        self.model = self.skeleton.model
        self.group = image_group(matchings)
        self.limbs = find_limbs(self.skeleton, self.group)
        self.limb_of = {joint: limb for limb in self.limbs for joint in limb.joints}
        self.drives = matchings[0].drives
        self.driven = {actuator: self._driven(actuator) for actuator in range(self.drives.count)}
        self.motors = [
            actuator
            for actuator, joint in self.driven.items()
            if joint is None and not self.drives.is_ignored(actuator) and not self._stays(actuator)
        ]
        known = [limb.name for limb in self.limbs]
        named = distinct([*known, *(self.drives.name(motor) for motor in self.motors)])
        self.motor_names = dict(zip(self.motors, named[len(known) :], strict=True))
        self.pose = self._pose()

    def sections(self) -> dict[str, Any]:
        sections: dict[str, Any] = {"robot": self.robot}
        if limbs := self._limbs():
            sections["limbs"] = limbs
        if self.wanted.layout == "locomotion":
            sections["observations"] = self._locomotion()
        else:
            sections["observations"] = [*self._fields("position"), *self._fields("velocity")]
        sections["actions"] = self._actions("command")
        return sections

    def notes(self) -> Iterator[str]:
        model = self.model
        if not model.nu:
            following = self.drives.followers & set(self._simple_joints())
            yield (
                "the model has no actuators; one action for each joint is assumed"
                f"{' that follows no other' if following else ''}"
            )
        if self.pose:
            said = ", ".join(f"{joint_name(model, j)} {p:.6g}" for j, p in sorted(self.pose.items()))
            yield f"the zero pose is not its own image; joint positions are relative to: {said}"
        ignored = sorted(self.skeleton.ignored_joints)
        if ignored:
            said = ", ".join(joint_name(model, joint) for joint in ignored)
            yield f"ignored, and left as they are: {said}"
        if self.wanted.layout == "locomotion":
            passive = [joint_name(model, joint) for joint in self.limb_of if joint not in self._observed()]
            if passive:
                yield f"not observed, for nothing drives them: {', '.join(passive)}"

    def _limbs(self) -> dict[str, Any]:
        places: dict[Any, FloatArray] = {
            limb.links[0]: self.skeleton.places[limb.links[0]] for limb in self.limbs
        }
        places |= {("motor", motor): self._motor_place(motor) for motor in self.motors}
        even = even_places(places, self.group, _image)
        limbs: dict[str, Any] = {}
        for limb in self.limbs:
            limbs[limb.name] = {"at": as_place(even[limb.links[0]])}
            simple = {
                name: self._joint(joint) for joint, name in limb.joints.items() if self._is_simple(joint)
            }
            if simple:
                limbs[limb.name]["joints"] = simple
        for motor, name in self.motor_names.items():
            kind, axis = self._motor_axis(motor)
            direction = as_direction(axis)
            joint = direction if kind == "axis" else {kind: direction}
            limbs[name] = {"at": as_place(even["motor", motor]), "joints": {"motor": joint}}
        return limbs

    def _is_simple(self, joint: int) -> bool:
        return self.model.jnt_type[joint] in (SLIDE, HINGE)

    def _simple_joints(self) -> list[int]:
        """In the order of the positions."""
        joints = (j for j in range(self.model.njnt) if self._is_simple(j))
        return [joint for joint in joints if joint not in self.skeleton.ignored_joints]

    def _joint(self, joint: int) -> Any:
        turns = self.model.jnt_type[joint] == HINGE
        axes = []
        for g in self.group:
            partner, direction = g.joints[joint]
            handedness = np.linalg.det(g.isometry) if turns else 1.0
            axes.append(direction * handedness * g.isometry.T @ np.asarray(self.straight[partner]))
        specification: dict[str, Any] = {"axis" if turns else "slide": as_direction(np.mean(axes, axis=0))}
        if self.model.jnt_limited[joint] and self.wanted.layout == "state":  # not relative to a default pose
            limits = self.model.jnt_range[joint] - self.pose.get(joint, 0.0)
            low, high = (as_number(limit) for limit in np.round(limits, 6))
            if low < high:
                specification["limits"] = [low, high]
        return specification["axis"] if list(specification) == ["axis"] else specification

    def _pose(self) -> dict[int, float]:
        """Joint positions that are their own image: the mean of all images of the zero pose."""
        pose: dict[int, float] = {}
        for g in self.group:
            for joint, offset in g.offsets.items():
                partner = g.joints[joint][0]
                pose[partner] = pose.get(partner, 0.0) + offset / len(self.group)
        self.straight = {j: self.skeleton.pose.xaxis[j] for j in range(self.model.njnt)}
        if pose:
            data = self.skeleton.pose_at(pose)
            self.straight = {j: data.xaxis[j] for j in range(self.model.njnt)}
        return {joint: value for joint, value in pose.items() if abs(value) > 1e-9}

    def _fields(self, quantity: str) -> Iterator[dict[str, Any]]:
        """The fields of qpos or qvel, in their order."""
        model = self.model
        free = int((model.jnt_type == FREE).sum())
        run: list[int] = []
        runs = 0
        for joint in [*range(model.njnt), None]:
            kind = None if joint is None else int(model.jnt_type[joint])
            ignored = joint in self.skeleton.ignored_joints
            if joint is not None and kind in (SLIDE, HINGE) and not ignored:
                run.append(joint)
                continue
            if run:
                runs += 1
                yield self._run(quantity, run, runs)
                run = []
            if joint is None:
                return
            if ignored:
                sizes = {FREE: (7, 6), BALL: (4, 3)}.get(int(model.jnt_type[joint]), (1, 1))
                size = sizes[quantity == "velocity"]
                yield {f"{joint_name(model, joint)}_{quantity}": {"scalar": size} if size > 1 else "scalar"}
                continue
            stem = f"{body_name(model, model.jnt_bodyid[joint])}_" if free > 1 else ""
            of = {} if kind == FREE else {"of": self.limb_of[joint].name}
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
        of = self._of(joints)
        return {name: {"joint": quantity} if of is None else {"joint": quantity, "of": of}}

    def _of(self, joints: Sequence[int | str]) -> list[str] | None:
        """The joints as they stand after ``of:``, whole limbs by their name; None for all joints.

        :param joints: their ids, or full names of what is no joint of the model
        """
        if list(joints) == [j for limb in self.limbs for j in limb.joints] and not self.motors:
            return None
        names: list[str] = []
        left = list(joints)
        while left:
            joint = left[0]
            if isinstance(joint, str):
                names.append(joint)
                left = left[1:]
                continue
            limb: Limb = self.limb_of[joint]
            whole = list(limb.joints)
            if left[: len(whole)] == whole:
                names.append(limb.name)
                left = left[len(whole) :]
            else:
                names.append(limb.full_name(joint))
                left = left[1:]
        return names

    def _observed(self) -> list[int]:
        """The joints that something drives."""
        driven = {j for actuator in range(self.drives.count) for j in self.drives.first(actuator) or {}}
        driven = {g.joints[joint][0] for joint in driven if joint in self.limb_of for g in self.group}
        return [joint for joint in self._simple_joints() if joint in driven]

    def _locomotion(self) -> list[dict[str, Any]]:
        if not (self.model.jnt_type == FREE).any():
            raise ValueError(f"{self.robot}: the layout locomotion needs a base that floats (--floating)")
        last = self._actions("last_action")
        joints = self._of(self._observed())
        return locomotion_fields(joints, last, history=self.wanted.history, heights=self.wanted.heights)

    def _driven(self, actuator: int) -> int | None:
        """The joint that the actuator drives alone, if its partners drive that joint's images likewise."""
        own = self.drives.first(actuator)
        if own is None or len(own) != 1 or self.drives.is_ignored(actuator):
            return None
        (joint,) = own
        for g in self.group:
            partner, sign = g.actuators[actuator]
            image, turned = g.joints[joint]
            if list(self.drives.first(partner) or {}) != [image] or sign != turned:
                return None
        return joint

    def _stays(self, actuator: int) -> bool:
        return all(g.actuators[actuator] == (actuator, 1.0) for g in self.group)

    def _motor_place(self, motor: int) -> FloatArray:
        thrust = self.drives.thrust(motor)
        if thrust is not None:
            return thrust.place
        return self.skeleton.anchor(next(iter(self.drives.first(motor) or {})))

    def _motor_axis(self, motor: int) -> tuple[str, FloatArray]:
        """For a command that is no joint's, the axis of a joint that would turn as the command does."""
        first = min(g.actuators[motor][0] for g in self.group)
        stabiliser = [
            (g.isometry, g.actuators[first][1]) for g in self.group if g.actuators[first][0] == first
        ]
        kind, axis = command_axis(stabiliser)
        to_motor = next(g for g in self.group if g.actuators[first][0] == motor)
        turn = float(np.linalg.det(to_motor.isometry)) if kind == "axis" else 1.0
        return kind, to_motor.actuators[first][1] * turn * to_motor.isometry @ axis

    def _actions(self, quantity: str) -> list[dict[str, Any]]:
        """One field per run of joints; actuators of one joint are in fields of different names."""
        fields: list[dict[str, Any]] = []
        runs: list[tuple[str, list[int | str]]] = []
        for actuator in range(self.drives.count):
            drive = self._drive(actuator)
            if drive is None:
                fields += self._runs(runs)
                runs = []
                fields.append({f"{self.drives.name(actuator)}_{quantity}": "scalar"})
                continue
            name = self._numbered(quantity, actuator)
            if not runs or runs[-1][0] != name:
                runs.append((name, []))
            joint = self.driven[actuator]
            runs[-1][1].append(drive if joint is None else joint)
        return [*fields, *self._runs(runs)]

    def _runs(self, runs: list[tuple[str, list[int | str]]]) -> list[dict[str, Any]]:
        fields = []
        for name, driven in runs:
            of = self._of(driven)
            fields.append({name: {"joint": name} if of is None else {"joint": name, "of": of}})
        return fields

    def _drive(self, actuator: int) -> str | None:
        """The joint whose command it is; None if it is a number that stays."""
        if (joint := self.driven[actuator]) is not None:
            return self.limb_of[joint].full_name(joint)
        return f"{self.motor_names[actuator]}.motor" if actuator in self.motor_names else None

    def _numbered(self, quantity: str, actuator: int) -> str:
        """Actuators of one joint are told apart by the orbits that they belong to."""
        known = [a for a in self.driven if not self.drives.is_ignored(a)]
        orbits = {a: min(g.actuators[a][0] for g in self.group) for a in known}
        besides = [orbits[a] for a in orbits if self._drive(a) == self._drive(actuator)]
        number = sorted(besides).index(orbits[actuator]) + 1
        return quantity if number == 1 else f"{quantity}_{number}"


def _has_middle(matching: Matching, joint: int) -> bool:
    """Whether there are positions of a joint and of its partner that are carried to each other."""
    partner, sign = matching.joints[joint]
    back, turned = matching.joints[partner]
    if partner == joint:
        return sign < 0
    offset = turned * matching.offsets[joint] + matching.offsets.get(partner, 0.0)
    return back == joint and sign == turned and abs(offset) < 1e-3


def _image(g: Any, part: Any) -> Any:
    if isinstance(part, tuple):
        return ("motor", g.actuators[part[1]][0])
    return g.bodies[part]


def _shift(matching: Matching) -> FloatArray:
    return np.asarray(matching.isometry @ matching.centre - matching.centre)
