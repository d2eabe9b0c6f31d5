"""What the actuators of a model act on: joints, with all that is coupled to them, or a point of a body."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.naming import actuator_name, joint_name
from ambidex.derivation.skeleton import HINGE, SLIDE, Skeleton

JOINT_DRIVES = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
TENDON, SITE = int(mujoco.mjtTrn.mjTRN_TENDON), int(mujoco.mjtTrn.mjTRN_SITE)
COUPLING = int(mujoco.mjtEq.mjEQ_JOINT)


class Thrust(NamedTuple):
    """A force and a torque on a link, as a rotor makes them, in the directions of the zero pose.

    :param link: what they act on
    :param place: where they act
    :param force: the force for a command of 1
    :param torque: the torque for a command of 1
    """

    link: int
    place: FloatArray
    force: FloatArray
    torque: FloatArray


class Drives:
    """What each actuator of a model acts on.

    A model without actuators, as any URDF file is, gets one for each joint that follows no other.

    :param skeleton: the model, with what is ignored in it
    :param coupled: whether couplings of joints are followed; otherwise each joint has an actuator of its own
    """

    def __init__(self, skeleton: Skeleton, *, coupled: bool = True) -> None:
        self.skeleton, self.model = skeleton, skeleton.model
        self.couplings = _couplings(self.model) if coupled else {}
        self.followers = _followers(self.model) if coupled else set()
        self.assumed = (
            [] if self.model.nu else [joint for joint in self._joints() if joint not in self.followers]
        )

    @property
    def count(self) -> int:
        return int(self.model.nu) or len(self.assumed)

    def name(self, actuator: int) -> str:
        """The actuator's name; one that is assumed is called after its joint."""
        if self.assumed:
            return joint_name(self.model, self.assumed[actuator])
        return actuator_name(self.model, actuator)

    def kind(self, actuator: int) -> tuple[int, ...]:
        """How a command becomes a force; the feedback tells a servo of positions from one of speeds."""
        if self.assumed:
            return ()
        model = self.model
        kinds = (model.actuator_dyntype, model.actuator_gaintype, model.actuator_biastype)
        feedback = model.actuator_biasprm[actuator, :3] != 0
        return (*(int(kind[actuator]) for kind in kinds), *map(int, feedback))

    def _joints(self) -> list[int]:
        joints = np.flatnonzero(np.isin(self.model.jnt_type, (SLIDE, HINGE)))
        return [int(joint) for joint in joints if joint not in self.skeleton.ignored_joints]

    def is_ignored(self, actuator: int) -> bool:
        """Whether it acts on nothing but ignored joints."""
        joints = self.first(actuator)
        return joints is not None and set(joints) <= self.skeleton.ignored_joints

    def joints(self, actuator: int) -> dict[int, float] | None:
        """The joints that an actuator drives, and with which sign and share; None if it drives no joints."""
        given = self.first(actuator)
        if given is None:
            return None
        driven = {joint: share for joint, share in given.items() if joint not in self.skeleton.ignored_joints}
        for joint, share in list(driven.items()):
            for other, ratio in self.couplings.get(joint, {}).items():
                if other not in self.skeleton.ignored_joints:
                    driven.setdefault(other, share * ratio)
        return driven

    def first(self, actuator: int) -> dict[int, float] | None:
        """The joints that an actuator drives by itself, without what is coupled to them."""
        if self.assumed:
            return {self.assumed[actuator]: 1.0}
        kind, target = self.model.actuator_trntype[actuator], int(self.model.actuator_trnid[actuator, 0])
        gear = float(self.model.actuator_gear[actuator, 0])
        if kind in JOINT_DRIVES:
            return {target: gear} if self.model.jnt_type[target] in (SLIDE, HINGE) else None
        if kind == TENDON:
            shares = joints_of_tendon(self.model, target)
            return None if shares is None else {joint: gear * share for joint, share in shares.items()}
        return None

    def thrust(self, actuator: int) -> Thrust | None:
        """What an actuator at a site does; None if it is none, or acts against another site."""
        model, pose = self.model, self.skeleton.pose
        if self.assumed:
            return None
        if model.actuator_trntype[actuator] != SITE or model.actuator_trnid[actuator, 1] >= 0:
            return None
        site = int(model.actuator_trnid[actuator, 0])
        body, axes = int(model.site_bodyid[site]), pose.site_xmat[site].reshape(3, 3)
        place = pose.site_xpos[site] - pose.xpos[body] + self.skeleton.places[body]
        gear = model.actuator_gear[actuator]
        return Thrust(self.skeleton.link_of[body], np.array(place), axes @ gear[:3], axes @ gear[3:6])


def joints_of_tendon(model: mujoco.MjModel, tendon: int) -> dict[int, float] | None:
    """The joints that a fixed tendon runs over, and their shares of its length; None for a spatial tendon."""
    start = model.tendon_adr[tendon]
    wraps = slice(start, start + model.tendon_num[tendon])
    if set(model.wrap_type[wraps]) != {int(mujoco.mjtWrap.mjWRAP_JOINT)}:
        return None
    shares = zip(model.wrap_objid[wraps], model.wrap_prm[wraps], strict=True)
    return {int(joint): float(share) for joint, share in shares if share}


def _followers(model: mujoco.MjModel) -> set[int]:
    """The joints that a coupling makes follow another one, so that they need no actuator."""
    return {
        int(model.eq_obj1id[equality])
        for equality in _joint_couplings(model)
        if model.eq_obj2id[equality] >= 0
    }


def _joint_couplings(model: mujoco.MjModel) -> list[int]:
    return [i for i in range(model.neq) if model.eq_active0[i] and model.eq_type[i] == COUPLING]


def _couplings(model: mujoco.MjModel) -> dict[int, dict[int, float]]:
    """For each joint all joints that move with it, and how far they move for it."""
    coupled: dict[int, dict[int, float]] = {}
    for equality in _joint_couplings(model):
        first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
        ratio = float(model.eq_data[equality][1])
        if second >= 0 and ratio:
            coupled.setdefault(second, {})[first] = ratio
            coupled.setdefault(first, {})[second] = 1 / ratio
    whole: dict[int, dict[int, float]] = {}
    for joint in coupled:
        reached, newest = {joint: 1.0}, [joint]
        while newest:
            at = newest.pop()
            for other, ratio in coupled[at].items():
                if other not in reached:
                    reached[other] = reached[at] * ratio
                    newest.append(other)
        whole[joint] = {other: ratio for other, ratio in reached.items() if other != joint}
    return whole
