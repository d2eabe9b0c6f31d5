"""Which body and joint an isometry carries to which, from the root of the tree outwards.

The image of a body is a child of the image of its parent, stands where the isometry puts it and has the same
kinds of joints, whose axes are parallel to the images of the axes. Where several bodies stand at one place,
what hangs on them decides, then their names.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from ambidex.check.naming import are_sides, body_name, joint_name
from ambidex.check.skeleton import BALL, FREE, HINGE, SLIDE, Skeleton
from ambidex.symmetry.maps import FloatArray


class Unmatched(NamedTuple):
    """Something of a model that has no image in it.

    :param kind: ``"body"``, ``"joint"`` or ``"actuator"``
    :param name: its name
    :param reason: what is missing, in words
    """

    kind: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.reason}"


class TreeMatching:
    """The bodies and joints of a model with their images.

    :param model: the model
    :param isometry: a 3 x 3 orthogonal matrix
    :param near: how far from the image a body may be, in parts of the robot's size, and an axis from parallel

    ``bodies``, ``joints``, ``frames`` and ``unmatched`` are as in `Matching`.
    """

    def __init__(self, model: mujoco.MjModel, isometry: FloatArray, near: float) -> None:
        self.model, self.isometry, self.near = model, isometry, near
        self.skeleton = Skeleton(model)
        self.tolerance = near * self.skeleton.size
        self.handedness = float(np.sign(np.linalg.det(isometry)))
        self.bodies: dict[int, int] = {0: 0}
        self.joints: dict[int, tuple[int, float]] = {}
        self.frames: dict[int, FloatArray] = {}
        self.unmatched: list[Unmatched] = []
        self._match_children(0, 0)

    def _match_children(self, parent: int, image: int) -> None:
        children, candidates = self.skeleton.children[parent], self.skeleton.children[image]
        pairs = [(body, partner) for body in children for partner in candidates]
        left, free = set(children), set(candidates)
        for body, partner in sorted(filter(self._corresponds, pairs), key=self._preference):
            if body in left and partner in free:
                left.remove(body)
                free.remove(partner)
                self._take(body, partner)
        for body in sorted(left):
            self._give_up(body, candidates)
        for body in children:
            if body in self.bodies:
                self._match_children(body, self.bodies[body])

    def _corresponds(self, pair: tuple[int, int]) -> bool:
        return self._distance(*pair) <= self.tolerance and self._match_joints(*pair) is not None

    def _preference(self, pair: tuple[int, int]) -> tuple[int, bool, bool, int]:
        """Lower is better. Limbs at one place change sides in a mirror, as the legs of a planar walker do."""
        body, partner = pair
        sides = are_sides(body_name(self.model, body), body_name(self.model, partner))
        swaps = self.handedness < 0 and self.skeleton.moves(body) and not self.skeleton.floats(body)
        return (-self._agreement(body, partner), not sides, (body == partner) == swaps, partner)

    def _agreement(self, body: int, partner: int) -> int:
        """How many of the bodies that hang on a body have an image among those that hang on the partner."""
        below, there = self.skeleton.children[body], self.skeleton.children[partner]
        agreeing = 0
        for child in below:
            images = [image for image in there if self._corresponds((child, image))]
            agreeing += max((1 + self._agreement(child, image) for image in images), default=0)
        return agreeing

    def _take(self, body: int, partner: int) -> None:
        self.bodies[body] = partner
        self.joints |= self._match_joints(body, partner) or {}
        if {FREE, BALL} & set(self.skeleton.kinds(body)):
            turn = self.skeleton.orientation(partner).T @ self.isometry @ self.skeleton.orientation(body)
            self.frames |= dict.fromkeys(self.skeleton.joints(body), turn)

    def _give_up(self, body: int, candidates: list[int]) -> None:
        """Say what is missing for the body, and for everything that hangs on it."""
        reason = "its parent has no image"
        if candidates:
            nearest = min(candidates, key=lambda other: self._distance(body, other))
            distance, name = self._distance(body, nearest), body_name(self.model, nearest)
            place = ", ".join(
                f"{x:.4g}" for x in np.round(self.isometry @ self.skeleton.places[body], 6) + 0.0
            )
            if distance > self.tolerance:
                reason = f"its image is at ({place}), where no body is ({name} is {distance:.3g} away)"
            elif self._match_joints(body, nearest) is None:
                reason = f"its image is {name}, whose joints have other types, axes or anchors"
            else:
                reason = f"its image is at ({place}), where {name} is the image of another body"
        self.unmatched.append(Unmatched("body", body_name(self.model, body), reason))
        for joint in self.skeleton.joints(body):
            self.unmatched.append(Unmatched("joint", joint_name(self.model, joint), "its body has no image"))
        for child in self.skeleton.children[body]:
            self._give_up(child, [])

    def _match_joints(self, body: int, partner: int) -> dict[int, tuple[int, float]] | None:
        """The joints in their order; slides that follow each other may change places, for they commute."""
        if self.skeleton.kinds(body) != self.skeleton.kinds(partner):
            return None
        left = self.skeleton.joints(partner)
        found: dict[int, tuple[int, float]] = {}
        for joint in self.skeleton.joints(body):
            run = left[:1]
            if self.model.jnt_type[joint] == SLIDE:
                ends = [i for i, other in enumerate(left) if self.model.jnt_type[other] != SLIDE]
                run = left[: ends[0]] if ends else left
            signs = ((other, self._sign(joint, other)) for other in run)
            image = next(((other, sign) for other, sign in signs if sign is not None), None)
            if image is None:
                return None
            found[joint] = image
            left.remove(image[0])
        return found

    def _sign(self, joint: int, partner: int) -> float | None:
        kind = self.model.jnt_type[joint]
        if kind in (FREE, BALL):
            return 1.0
        axis, along = self.isometry @ self.skeleton.pose.xaxis[joint], self.skeleton.pose.xaxis[partner]
        if kind == HINGE:
            axis = self.handedness * axis  # what turns, turns the other way in a mirror
            off = self.skeleton.anchor(partner) - self.isometry @ self.skeleton.anchor(joint)
            if np.linalg.norm(off - (off @ along) * along) > self.tolerance:
                return None
        cosine = float(axis @ along)
        return float(np.sign(cosine)) if 1 - abs(cosine) <= self.near else None

    def _distance(self, body: int, partner: int) -> float:
        return float(
            np.linalg.norm(self.isometry @ self.skeleton.places[body] - self.skeleton.places[partner])
        )
