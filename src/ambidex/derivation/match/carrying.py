"""How an isometry carries single links and joints of a model, and what hangs on a hinge.

A hinge can make up for the isometry: an arm that points forward is carried to one that points back, which
the same arm does after half a turn of its shoulder; a leg with a bent knee at zero to one without.
What hangs on such a hinge is then carried by the isometry followed by the turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.skeleton import BALL, FREE, HINGE, SLIDE, Skeleton
from ambidex.symmetry import isometry as geometry

LEAST_TURN = 0.1  # radians: smaller ones are unevenness of the model
LARGEST_UNEVENNESS = (
    0.05  # of the robot's size: a mass that is farther from its image belongs to another link
)


class Carrier:
    """A map of the places and directions of a model: ``matrix @ place + shift``.

    :param skeleton: the model
    :param near: how far from the image an axis may be, in parts of the robot's size, and from parallel
    :param matrix: a 3 x 3 orthogonal matrix
    :param shift: what is added to places
    """

    def __init__(self, skeleton: Skeleton, near: float, matrix: FloatArray, shift: FloatArray) -> None:
        self.skeleton, self.near, self.matrix, self.shift = skeleton, near, matrix, shift
        self.handedness = float(np.sign(np.linalg.det(matrix)))
        self.tolerance = near * skeleton.size

    @property
    def key(self) -> bytes:
        """Equal for equal carriers."""
        return bytes(np.round(np.append(self.matrix.ravel(), self.shift), 6).tobytes())

    def place(self, link: int) -> FloatArray:
        """Where the link is carried to."""
        place: FloatArray = self.matrix @ self.skeleton.places[link] + self.shift
        return place

    def distance(self, link: int, partner: int) -> float:
        """Along a hinge's axis, where a link's frame has no meaning, this is not zero for all images."""
        return float(np.linalg.norm(self.place(link) - self.skeleton.places[partner]))

    def frame(self, link: int, partner: int) -> FloatArray:
        """The isometry from the link's frame to the partner's."""
        return self.skeleton.orientation(partner).T @ self.matrix @ self.skeleton.orientation(link)

    def joints(self, link: int, partner: int) -> dict[int, tuple[int, float]] | None:
        """The joints in their order; slides that follow each other may change places, for they commute."""
        skeleton, kinds = self.skeleton, self.skeleton.model.jnt_type
        if skeleton.kinds(link) != skeleton.kinds(partner):
            return None
        left = skeleton.joints(partner)
        found: dict[int, tuple[int, float]] = {}
        for joint in skeleton.joints(link):
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
        """The sign of a joint's value at its image; None where the axes' lines do not coincide."""
        skeleton, kind = self.skeleton, self.skeleton.model.jnt_type[joint]
        off = self.matrix @ skeleton.anchor(joint) + self.shift - skeleton.anchor(partner)
        if kind in (FREE, BALL):
            return 1.0 if np.linalg.norm(off) <= self.tolerance else None
        axis, along = self.matrix @ skeleton.pose.xaxis[joint], skeleton.pose.xaxis[partner]
        if kind == HINGE:
            axis = self.handedness * axis  # what turns, turns the other way in a mirror
        if np.linalg.norm(_across(off, along)) > self.tolerance:
            return None
        cosine = float(axis @ along)
        return float(np.sign(cosine)) if 1 - abs(cosine) <= self.near else None

    def mass_agrees(self, link: int, partner: int) -> bool:
        """Whether the partner's mass is about where the link's is carried to, if its place is not.

        Links of which the places agree may be as uneven as they like; that is told, and no obstacle.
        """
        skeleton = self.skeleton
        if self.distance(link, partner) <= self.tolerance or min(map(skeleton.mass, (link, partner))) <= 0:
            return True
        image = self.matrix @ skeleton.centre_of_mass(link) + self.shift
        off = np.linalg.norm(image - skeleton.centre_of_mass(partner))
        return bool(off <= LARGEST_UNEVENNESS * skeleton.size)

    def mass_is_elsewhere(self, link: int, partner: int) -> bool:
        """Whether the partner's mass hangs on another side than the link's is carried to.

        Of two fingers at one place that slide apart, one is where the image is and the other is not.
        """
        skeleton = self.skeleton
        first, second = (skeleton.centre_of_mass(one) - skeleton.places[one] for one in (link, partner))
        off = np.linalg.norm(self.matrix @ first - second)
        return bool(off > max(np.linalg.norm(first), np.linalg.norm(second)) / 2 + self.tolerance)

    def turned(self, partner: int, turn: float) -> Carrier:
        """What carries the links below, where the partner's last hinge turns by this for it."""
        hinge = self.skeleton.joints(partner)[-1]
        back = geometry.rotation(self.skeleton.pose.xaxis[hinge], -np.degrees(turn))
        anchor = self.skeleton.anchor(hinge)
        shift = back @ (self.shift - anchor) + anchor
        return Carrier(self.skeleton, self.near, back @ self.matrix, shift)

    def turns(self, link: int, partner: int) -> Iterator[float]:
        """By how much the partner's last hinge may have to turn to bring what hangs on it to the image."""
        skeleton = self.skeleton
        if skeleton.kinds(link)[-1:] != (HINGE,) or skeleton.model.jnt_stiffness[self._hinges(link)].any():
            return
        hinge = skeleton.joints(partner)[-1]
        for image, arm in self._arms(link, partner, hinge):
            turn = self._angle(image, arm, hinge)
            if turn is not None and abs(turn) > LEAST_TURN:
                yield turn

    def _hinges(self, link: int) -> list[int]:
        return self.skeleton.joints(link)[-1:]

    def _arms(self, link: int, partner: int, hinge: int) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Pairs of vectors from the hinge's axis, of which the turn brings the second to the first."""
        skeleton, anchor = self.skeleton, self.skeleton.anchor(hinge)
        children = skeleton.children[link]
        if not children:
            hinges = [*self._hinges(link), hinge]
            centres = [skeleton.centre_of_mass(part) for part in (link, partner)]
            image = self.matrix @ centres[0] + self.shift
            if not skeleton.model.jnt_limited[hinges].any() or self._ranges_shift(*hinges):
                yield image - anchor, centres[1] - anchor
            return
        for child in children[:2]:  # what fits brings the first to some place, or the second if it has none
            for other in skeleton.children[partner]:
                if skeleton.kinds(child) != skeleton.kinds(other):
                    continue
                first, second = skeleton.joints(child)[0], skeleton.joints(other)[0]
                image = self.matrix @ skeleton.anchor(first) + self.shift
                yield image - anchor, skeleton.anchor(second) - anchor
                axis = self.matrix @ skeleton.pose.xaxis[first]
                for sign in (1.0, -1.0):
                    yield sign * axis * skeleton.size, skeleton.pose.xaxis[second] * skeleton.size

    def _ranges_shift(self, hinge: int, partner: int) -> bool:
        """Whether the one range is the other's image only if a turn is added to it."""
        ranges, sign = self.skeleton.model.jnt_range, self._sign(hinge, partner) or 1.0
        off = np.sort(sign * ranges[hinge]) - ranges[partner]
        return bool(abs(off[0] - off[1]) < LEAST_TURN / 10 and abs(off[0]) > LEAST_TURN)

    def _angle(self, image: FloatArray, arm: FloatArray, hinge: int) -> float | None:
        axis = self.skeleton.pose.xaxis[hinge]
        image, arm = _across(image, axis), _across(arm, axis)
        if min(np.linalg.norm(image), np.linalg.norm(arm)) <= self.tolerance:
            return None
        return float(np.arctan2(axis @ np.cross(arm, image), arm @ image))

    def shifts(self) -> Iterator[FloatArray]:
        """Where the isometry may act about another point than the centre of the fixed roots."""
        skeleton = self.skeleton
        roots = [link for link in skeleton.children[0] if not skeleton.floats(link)]
        moved = np.eye(3) - self.matrix
        for link in roots:
            for other in roots:
                off = skeleton.places[other] - self.matrix @ skeleton.places[link]
                point = np.linalg.lstsq(moved, off, rcond=None)[0]
                if np.linalg.norm(moved @ point - off) <= self.tolerance:
                    yield moved @ point


def _across(vector: FloatArray, axis: FloatArray) -> FloatArray:
    """The part of a vector that is perpendicular to the axis."""
    return np.asarray(vector - (vector @ axis) * axis)
