"""How an isometry carries single bodies and joints of a model, and what hangs on an endless hinge.

A hinge without limits can make up for the isometry: an arm that points forward is carried to one that points
back, which the same arm does after half a turn of its shoulder. What hangs on such a hinge is then carried by
the isometry followed by the turn.
"""

from __future__ import annotations

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.skeleton import BALL, FREE, HINGE, SLIDE, Skeleton
from ambidex.symmetry import isometry as geometry

LEAST_TURN = 0.1  # radians: smaller ones are unevenness of the model


class Carrier:
    """A map of the places and directions of a model: ``matrix @ place + shift``.

    :param skeleton: the model
    :param near: how far from the image a body may be, in parts of the robot's size, and an axis from parallel
    :param matrix: a 3 x 3 orthogonal matrix
    :param shift: what is added to places
    """

    def __init__(self, skeleton: Skeleton, near: float, matrix: FloatArray, shift: FloatArray) -> None:
        self.skeleton, self.near, self.matrix, self.shift = skeleton, near, matrix, shift
        self.handedness = float(np.sign(np.linalg.det(matrix)))
        self.tolerance = near * skeleton.size

    def corresponds(self, body: int, partner: int) -> bool:
        """Whether the partner stands where the body is carried to, and has the joints that it has there."""
        return self.distance(body, partner) <= self.tolerance and self.joints(body, partner) is not None

    def place(self, body: int) -> FloatArray:
        """Where the body is carried to."""
        place: FloatArray = self.matrix @ self.skeleton.places[body] + self.shift
        return place

    def distance(self, body: int, partner: int) -> float:
        return float(np.linalg.norm(self.place(body) - self.skeleton.places[partner]))

    def frame(self, body: int, partner: int) -> FloatArray:
        """The isometry from the body's frame to the partner's."""
        return self.skeleton.orientation(partner).T @ self.matrix @ self.skeleton.orientation(body)

    def joints(self, body: int, partner: int) -> dict[int, tuple[int, float]] | None:
        """The joints in their order; slides that follow each other may change places, for they commute."""
        skeleton, kinds = self.skeleton, self.skeleton.model.jnt_type
        if skeleton.kinds(body) != skeleton.kinds(partner):
            return None
        left = skeleton.joints(partner)
        found: dict[int, tuple[int, float]] = {}
        for joint in skeleton.joints(body):
            run = left[:1]
            if kinds[joint] == SLIDE:
                ends = [i for i, other in enumerate(left) if kinds[other] != SLIDE]
                run = left[: ends[0]] if ends else left
            signs = ((other, self._sign(joint, other)) for other in run)
            image = next(((other, sign) for other, sign in signs if sign is not None), None)
            if image is None:
                return None
            found[joint] = image
            left.remove(image[0])
        return found

    def _sign(self, joint: int, partner: int) -> float | None:
        skeleton, kind = self.skeleton, self.skeleton.model.jnt_type[joint]
        if kind in (FREE, BALL):
            return 1.0
        axis, along = self.matrix @ skeleton.pose.xaxis[joint], skeleton.pose.xaxis[partner]
        if kind == HINGE:
            axis = self.handedness * axis  # what turns, turns the other way in a mirror
            off = self.matrix @ skeleton.anchor(joint) + self.shift - skeleton.anchor(partner)
            if np.linalg.norm(off - (off @ along) * along) > self.tolerance:
                return None
        cosine = float(axis @ along)
        return float(np.sign(cosine)) if 1 - abs(cosine) <= self.near else None

    def below(self, body: int, partner: int) -> tuple[Carrier, float]:
        """What carries the bodies that hang on these two, and the turn of the partner's last hinge for it."""
        turn = self._turn(body, partner)
        if turn == 0:
            return self, 0.0
        hinge = self.skeleton.joints(partner)[-1]
        back = geometry.rotation(self.skeleton.pose.xaxis[hinge], -np.degrees(turn))
        anchor = self.skeleton.anchor(hinge)
        shift = back @ (self.shift - anchor) + anchor
        return Carrier(self.skeleton, self.near, back @ self.matrix, shift), turn

    def _turn(self, body: int, partner: int) -> float:
        """By how much an endless hinge must turn to bring the partner's centre of mass to the image."""
        skeleton, model = self.skeleton, self.skeleton.model
        if skeleton.kinds(body)[-1:] != (HINGE,):
            return 0.0
        hinges = [skeleton.joints(part)[-1] for part in (body, partner)]
        if model.jnt_limited[hinges].any() or model.jnt_stiffness[hinges].any():
            return 0.0
        axis = skeleton.pose.xaxis[hinges[1]]
        arms = []
        for part, hinge in zip((body, partner), hinges, strict=True):
            off = skeleton.anchor(hinge) - skeleton.places[part]
            if np.linalg.norm(np.cross(axis, off)) > self.tolerance:
                return 0.0  # the turn would move the body's place
            arms.append(skeleton.pose.xipos[part] - skeleton.pose.xanchor[hinge])
        image, arm = self.matrix @ arms[0], arms[1]
        image, arm = (vector - (vector @ axis) * axis for vector in (image, arm))
        if min(np.linalg.norm(image), np.linalg.norm(arm)) <= self.tolerance:
            return 0.0
        turn = float(np.arctan2(axis @ np.cross(arm, image), arm @ image))
        return turn if abs(turn) > LEAST_TURN else 0.0
