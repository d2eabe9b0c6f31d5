"""What of a robot model should mirror and does not: masses, ranges, gears, shapes, contacts, couplings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.couplings import couplings
from ambidex.derivation.differences import TOLERANCE, Asymmetry, lists, numbers, percent, ranges
from ambidex.derivation.match.matching import Matching
from ambidex.derivation.naming import actuator_name, body_name, geom_name, joint_name
from ambidex.derivation.skeleton import HINGE, SLIDE

SHAPES = {  # which of a geom's sizes are its extents along its axes
    int(mujoco.mjtGeom.mjGEOM_SPHERE): (0, 0, 0),
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): (0, 0, 1),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): (0, 0, 1),
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): (0, 1, 2),
    int(mujoco.mjtGeom.mjGEOM_BOX): (0, 1, 2),
}


def asymmetries(matchings: Mapping[str, Matching]) -> list[Asymmetry]:
    """What should mirror under these isometries of one model and does not, the largest difference first.

    :param matchings: the isometries by name
    """
    found: dict[tuple[str, str, str, frozenset[str]], Asymmetry] = {}
    for name, matching in matchings.items():
        for item in _Comparison(matching).all():
            once = (
                name if item.first == item.second else ""
            )  # a pair differs alike under all that exchange it
            key = (once, item.kind, item.quantity, frozenset((item.first, item.second)))
            found.setdefault(key, replace(item, transform=name))
    return sorted(found.values(), key=lambda item: -item.difference)


class _Comparison:
    def __init__(self, matching: Matching) -> None:
        self.matching, self.model, self.isometry = matching, matching.model, matching.isometry
        self.skeleton = matching.skeleton
        self.pose, self.size = self.skeleton.pose, self.skeleton.size
        self.displacements = self._displacements()

    def all(self) -> Iterator[Asymmetry]:
        yield from self.gravity()
        for body, partner in sorted(self.matching.bodies.items()):
            if body:
                yield from self.bodies(body, partner)
                yield from self.geoms(body, partner)
        yield from self.alone()
        for joint, (partner, sign) in sorted(self.matching.joints.items()):
            yield from self.joints(joint, partner, sign)
        for actuator, (partner, sign) in sorted(self.matching.actuators.items()) if self.model.nu else ():
            yield from self.actuators(actuator, partner, sign)
        yield from couplings(self.matching)

    def gravity(self) -> Iterator[Asymmetry]:
        gravity = self.model.opt.gravity
        off = float(np.linalg.norm(self.isometry @ gravity - gravity)) / 2
        strength = float(np.linalg.norm(gravity))
        if off > 1e-9 * strength:
            words = f"gravity leans {off:.3g} m/s² to one side"
            yield Asymmetry("world", "gravity", "gravity", "direction", off / strength, words)

    def bodies(self, body: int, partner: int) -> Iterator[Asymmetry]:
        model, names = self.model, (body_name(self.model, body), body_name(self.model, partner))
        yield from numbers("body", names, "mass", model.body_mass[body], model.body_mass[partner])
        if min(model.body_mass[[body, partner]]) <= 0:
            return
        matrix, (_, off) = self.matching.matrices[body], self.displacements[body]
        yield from self._length("body", names, "place", float(np.linalg.norm(off)))
        centres = [self._centre_of_mass(part) for part in (body, partner)]
        yield from self._length("body", names, "centre of mass", self._off(body, *centres))
        inertia, image = matrix @ self._inertia(body) @ matrix.T, self._inertia(partner)
        scale = max(float(np.abs(inertia).max()), float(np.abs(image).max()), 1e-300)
        difference = float(np.abs(inertia - image).max()) / scale
        if difference > TOLERANCE:
            other = f"the image of {names[1]}'s" if body != partner else "its own image"
            words = f"the inertia of {names[0]} for its mass is {percent(difference)} off {other}"
            yield Asymmetry("body", *names, "inertia", difference, words)

    def _displacements(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """From the image of each body's frame to its partner's frame: along its hinge, and otherwise.

        Both are relative to the link that it hangs on, so that a misplaced limb is reported once. Along a
        hinge the place of a frame has no meaning by itself.
        """
        skeleton, places = self.skeleton, self.skeleton.places
        found: dict[int, tuple[FloatArray, FloatArray]] = {0: (np.zeros(3), np.zeros(3))}
        for body, partner in sorted(self.matching.bodies.items()):
            if not body:
                continue
            parents = [
                skeleton.parent(part) if skeleton.link_of[part] == part else skeleton.link_of[part]
                for part in (body, partner)
            ]
            there = places[partner] - places[parents[1]]
            image = self.matching.matrices[parents[0]] @ (places[body] - places[parents[0]])
            off, along = there - image + found[parents[0]][0], np.zeros(3)
            if skeleton.floats(body):
                off = along  # free bodies have no place
            elif skeleton.kinds(body)[:1] == (HINGE,):
                axis = self.pose.xaxis[skeleton.joints(partner)[0]]
                centres = [self._centre_of_mass(part) for part in (body, partner)]
                from_frames = self.matching.matrices[body] @ centres[0] - centres[1]
                along = (off @ axis) * axis
                if np.linalg.norm(from_frames) <= np.linalg.norm(from_frames - along):
                    along = np.zeros(3)  # the whole link is displaced, not its frame only
            found[body] = (along, off - along)
        return found

    def _off(self, body: int, first: FloatArray, second: FloatArray) -> float:
        """From the image of a point on a body to one on its partner, both given from the bodies' frames."""
        along, _ = self.displacements[body]
        return float(np.linalg.norm(self.matching.matrices[body] @ first - along - second))

    def _centre_of_mass(self, body: int) -> FloatArray:
        return np.asarray(self.pose.xipos[body] - self.pose.xpos[body])

    def alone(self) -> Iterator[Asymmetry]:
        """The bodies that are fixed to a link, have a mass and no counterpart, as a camera on one side."""
        for link, bodies in self.skeleton.fixed.items():
            if link not in self.matching.bodies or not link:
                continue
            for body in bodies:
                mass = float(self.model.body_mass[body])
                if body not in self.matching.bodies and mass > 0:
                    names = body_name(self.model, body), body_name(self.model, self.matching.bodies[link])
                    words = f"{names[0]} ({mass:.3g} kg) has no counterpart on {names[1]}"
                    yield Asymmetry("body", *names, "presence", mass / self.skeleton.mass(link), words)

    def _inertia(self, body: int) -> FloatArray:
        """The inertia for the body's mass, in the world's directions."""
        axes = self.pose.ximat[body].reshape(3, 3)
        mass = max(float(self.model.body_mass[body]), 1e-300)
        return np.asarray(axes @ np.diag(self.model.body_inertia[body] / mass) @ axes.T)

    def _length(self, kind: str, names: tuple[str, str], quantity: str, off: float) -> Iterator[Asymmetry]:
        if off > TOLERANCE * self.size:
            other = "its own image" if names[0] == names[1] else f"the image of {names[1]}'s"
            words = f"the {quantity} of {names[0]} is {1000 * off:.3g} mm from {other}"
            yield Asymmetry(kind, *names, quantity, off / self.size, words)

    def joints(self, joint: int, partner: int, sign: float) -> Iterator[Asymmetry]:
        model, names = self.model, (joint_name(self.model, joint), joint_name(self.model, partner))
        if model.jnt_type[joint] not in (SLIDE, HINGE):
            return
        yield from self._axes(joint, partner, sign, names)
        dofs, places = model.jnt_dofadr[[joint, partner]], model.jnt_qposadr[[joint, partner]]
        for quantity, values in (
            ("damping", model.dof_damping[dofs]),
            ("armature", model.dof_armature[dofs]),
            ("friction loss", model.dof_frictionloss[dofs]),
            ("stiffness", model.jnt_stiffness[[joint, partner]]),
        ):
            yield from numbers("joint", names, quantity, *values)
        rests = model.qpos_spring[places] * (sign, 1) * (model.jnt_stiffness[[joint, partner]] != 0)
        yield from lists("joint", names, "rest position of the spring", rests[:1], rests[1:])
        for quantity, limited, limits in (
            ("range", model.jnt_limited, model.jnt_range),
            ("torque range", model.jnt_actfrclimited, model.jnt_actfrcrange),
        ):
            given = [limits[i] if limited[i] else None for i in (joint, partner)]
            if quantity == "range" and given[0] is not None:
                given[0] = given[0] + sign * self.matching.offsets.get(joint, 0.0)
            yield from ranges("joint", names, quantity, given, sign)

    def _axes(self, joint: int, partner: int, sign: float, names: tuple[str, str]) -> Iterator[Asymmetry]:
        turn = np.linalg.det(self.isometry) if self.model.jnt_type[joint] == HINGE else 1.0
        parent = self.skeleton.parent(self.model.jnt_bodyid[joint])
        image = sign * turn * self.matching.matrices[parent] @ self.pose.xaxis[joint]
        off = float(np.linalg.norm(image - self.pose.xaxis[partner]))  # in radians, for they are small
        if off > TOLERANCE:
            other = f"the image of {names[1]}'s" if joint != partner else "its own image"
            words = f"the axis of {names[0]} is {np.degrees(off):.2g} degrees off {other}"
            yield Asymmetry("joint", *names, "axis", off, words)

    def actuators(self, actuator: int, partner: int, sign: float) -> Iterator[Asymmetry]:
        model, both = self.model, [actuator, partner]
        names = (actuator_name(model, actuator), actuator_name(model, partner))
        gears = model.actuator_gear[both, 0]
        yield from numbers("actuator", names, "gear", *np.abs(gears))
        if gears[0] * gears[1] < 0 and names[0] != names[1]:
            words = f"the gears of {names[0]} and {names[1]} have different signs"
            words += ", for which the description allows"
            yield Asymmetry("actuator", *names, "sign of the gear", 0.0, words)
        for quantity, limited, limits in (
            ("control range", model.actuator_ctrllimited, model.actuator_ctrlrange),
            ("force range", model.actuator_forcelimited, model.actuator_forcerange),
        ):
            given = [limits[i] if limited[i] else None for i in both]
            yield from ranges("actuator", names, quantity, given, sign)
        for quantity, parameters in (
            ("gain", model.actuator_gainprm),
            ("bias", model.actuator_biasprm),
            ("dynamics", model.actuator_dynprm),
        ):
            yield from lists("actuator", names, quantity, *np.abs(parameters[both]))

    def geoms(self, body: int, partner: int) -> Iterator[Asymmetry]:
        """The geoms that can touch something, each with the nearest of its type on the partner."""
        model, left = self.model, self._touching(partner)
        for geom in self._touching(body):
            place = self.pose.geom_xpos[geom] - self.pose.xpos[body]
            distances = {
                other: self._off(body, place, self.pose.geom_xpos[other] - self.pose.xpos[partner])
                for other in left
                if model.geom_type[other] == model.geom_type[geom]
            }
            if not distances:
                names = (geom_name(model, geom), body_name(model, partner))
                words = f"{names[0]} has no counterpart on {names[1]}"
                yield Asymmetry("geom", *names, "presence", 1.0, words)
                continue
            match = min(distances, key=lambda other: distances[other])
            left.remove(match)
            yield from self._pair_of_geoms(geom, match, (body, partner))

    def _touching(self, body: int) -> list[int]:
        start, count = int(self.model.body_geomadr[body]), int(self.model.body_geomnum[body])
        touches = self.model.geom_contype | self.model.geom_conaffinity
        return [geom for geom in range(start, start + count) if touches[geom]]

    def _pair_of_geoms(self, geom: int, match: int, bodies: tuple[int, int]) -> Iterator[Asymmetry]:
        model, names = self.model, (geom_name(self.model, geom), geom_name(self.model, match))
        places = [
            self.pose.geom_xpos[g] - self.pose.xpos[b] for g, b in zip((geom, match), bodies, strict=True)
        ]
        yield from self._length("geom", names, "place", self._off(bodies[0], *places))
        shape, image = self._shape(geom), self._shape(match)
        if shape is not None and image is not None:
            extents = [np.sqrt(np.linalg.eigvalsh(part)) for part in (shape, image)]
            sizes = list(lists("geom", names, "size", *extents))
            matrix = self.matching.matrices[bodies[0]]
            turned = float(np.abs(matrix @ shape @ matrix.T - image).max() / shape.max())
            yield from sizes
            if not sizes and turned > TOLERANCE:
                other = f"the image of {names[1]}" if geom != match else "its own image"
                words = f"{names[0]} is turned otherwise than {other}"
                yield Asymmetry("geom", *names, "orientation", turned, words)
        for quantity, values in (
            ("friction", model.geom_friction),
            ("contact dimension", model.geom_condim),
            ("contact margin", model.geom_margin),
            ("contact gap", model.geom_gap),
            ("contact solref", model.geom_solref),
            ("contact solimp", model.geom_solimp),
            ("contact priority", model.geom_priority),
        ):
            first, second = (np.atleast_1d(values[part]) for part in (geom, match))
            yield from lists("geom", names, quantity, first, second)

    def _shape(self, geom: int) -> FloatArray | None:
        """The geom's extents as a tensor in the world's directions; None for meshes and planes."""
        kind = int(self.model.geom_type[geom])
        if kind in SHAPES:
            extents = self.model.geom_size[geom][list(SHAPES[kind])]
        else:
            return None
        axes = self.pose.geom_xmat[geom].reshape(3, 3)
        return np.asarray(axes @ np.diag(extents**2) @ axes.T)
