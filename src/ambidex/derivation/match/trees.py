"""Which link and joint an isometry carries to which, from the root of the tree outwards.

The image of a link is a child of the image of its parent, and has the same kinds of joints, whose axes lie on
the images of the axes. Where several links could be the image, what hangs on them decides, then where they
and their masses are, then their names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.carrying import Carrier
from ambidex.derivation.naming import are_sides, body_name, joint_name
from ambidex.derivation.skeleton import BALL, FREE, HINGE, SLIDE, Skeleton

MOST_TURNS = 8  # that are tried at one hinge


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

    :param skeleton: the model, with what is ignored in it
    :param isometry: a 3 x 3 orthogonal matrix
    :param near: how far from the image an axis may be, in parts of the robot's size, and from parallel

    ``bodies``, ``joints``, ``offsets``, ``frames``, ``matrices``, ``centre`` and ``unmatched`` are as in
    `Matching`.
    """

    def __init__(self, skeleton: Skeleton, isometry: FloatArray, near: float) -> None:
        self.skeleton, self.model = skeleton, skeleton.model
        self.bodies: dict[int, int] = {0: 0}
        self.joints: dict[int, tuple[int, float]] = {}
        self.offsets: dict[int, float] = {}
        self.frames: dict[int, FloatArray] = {}
        self.matrices: dict[int, FloatArray] = {0: isometry}
        self.unmatched: list[Unmatched] = []
        self._agreements: dict[tuple[bytes, int, int], int] = {}
        self._correspondences: dict[tuple[bytes, int, int], bool] = {}
        carrier = self._placed(Carrier(skeleton, near, isometry, np.zeros(3)))
        about = np.linalg.lstsq(np.eye(3) - isometry, carrier.shift, rcond=None)[0]
        self.centre = skeleton.centre + about
        self._match_fixed(carrier, 0, 0)
        self._match_children(carrier, 0, 0)

    def _placed(self, carrier: Carrier) -> Carrier:
        """The isometry about the point about which the fixed roots agree best."""
        best, agreement = carrier, self._agreeing(carrier, 0, 0)
        if agreement == self.skeleton.below(0):
            return carrier
        for shift in carrier.shifts():
            moved = Carrier(self.skeleton, carrier.near, carrier.matrix, shift)
            agreeing = self._agreeing(moved, 0, 0)
            if agreeing > agreement:
                best, agreement = moved, agreeing
        return best

    def _match_children(self, carrier: Carrier, parent: int, image: int) -> None:
        children, candidates = self.skeleton.children[parent], self.skeleton.children[image]
        pairs = [(link, partner) for link in children for partner in candidates]
        pairs = [pair for pair in pairs if self._corresponds(carrier, *pair)]
        left, free = set(children), set(candidates)
        for link, partner in sorted(pairs, key=lambda pair: self._preference(carrier, *pair)):
            if link in left and partner in free:
                left.remove(link)
                free.remove(partner)
                self._take(carrier, link, partner)
        for link in sorted(left):
            self._give_up(carrier, link, candidates)

    def _preference(self, carrier: Carrier, link: int, partner: int) -> tuple[float, ...]:
        """Lower is better. Limbs at one place change sides in a mirror, as the legs of a planar walker do."""
        sides = are_sides(body_name(self.model, link), body_name(self.model, partner))
        swaps = carrier.handedness < 0 and not self.skeleton.floats(link)
        return (
            -self._agreement(carrier, link, partner),
            carrier.distance(link, partner) > carrier.tolerance,
            not self._ranges_agree(carrier, link, partner),
            self._below(carrier, link, partner)[0].mass_is_elsewhere(link, partner),
            not sides,
            (link == partner) == swaps,
            partner,
        )

    def _corresponds(self, carrier: Carrier, link: int, partner: int) -> bool:
        """Whether the partner has the joints that the link is carried to, and the mass where it has its."""
        key = (carrier.key, link, partner)
        if key not in self._correspondences:
            fits = carrier.joints(link, partner) is not None
            self._correspondences[key] = fits and self._below(carrier, link, partner)[0].mass_agrees(
                link, partner
            )
        return self._correspondences[key]

    def _ranges_agree(self, carrier: Carrier, link: int, partner: int) -> bool:
        """Whether no joint of the link has a range that its image cannot have; two fingers at one place."""
        for joint, (image, sign) in (carrier.joints(link, partner) or {}).items():
            both = [joint, image]
            if self.model.jnt_type[joint] in (SLIDE, HINGE) and self.model.jnt_limited[both].all():
                low, high = np.sort(sign * self.model.jnt_range[joint])
                lowest, highest = self.model.jnt_range[image]
                if high <= lowest or highest <= low:
                    return False
        return True

    def _agreement(self, carrier: Carrier, link: int, partner: int) -> int:
        """How many of the links that hang on a link have an image among those that hang on the partner."""
        key = (carrier.key, link, partner)
        if key not in self._agreements:
            below, _ = self._below(carrier, link, partner)
            self._agreements[key] = self._agreeing(below, link, partner)
        return self._agreements[key]

    def _below(self, carrier: Carrier, link: int, partner: int) -> tuple[Carrier, float]:
        """What carries the links below, and the turn of a hinge where that helps."""
        children, others = self.skeleton.children[link], self.skeleton.children[partner]
        if children and all(
            any(self._corresponds(carrier, child, other) for other in others) for child in children
        ):
            return carrier, 0.0
        best = (self._agreeing(carrier, link, partner), carrier, 0.0)
        tried = {carrier.key}
        for turn in carrier.turns(link, partner):
            turned = carrier.turned(partner, turn)
            if len(tried) > MOST_TURNS:
                break
            if turned.key in tried or (children and not self._any_fits(turned, link, partner)):
                continue
            tried.add(turned.key)
            agreement = self._agreeing(turned, link, partner)
            if agreement > best[0] or not children:
                best = (agreement, turned, turn)
        return best[1], best[2]

    def _any_fits(self, below: Carrier, link: int, partner: int) -> bool:
        """Whether any link that hangs on the one is carried to joints of one that hangs on the other."""
        others = self.skeleton.children[partner]
        return any(
            below.joints(child, other) is not None
            for child in self.skeleton.children[link]
            for other in others
        )

    def _agreeing(self, below: Carrier, link: int, partner: int) -> int:
        agreeing = 0
        for child in self.skeleton.children[link]:
            images = [
                image for image in self.skeleton.children[partner] if self._corresponds(below, child, image)
            ]
            agreeing += max((1 + self._agreement(below, child, image) for image in images), default=0)
        return agreeing

    def _take(self, carrier: Carrier, link: int, partner: int) -> None:
        self.bodies[link] = partner
        self.joints |= carrier.joints(link, partner) or {}
        if {FREE, BALL} & set(self.skeleton.kinds(link)):
            self.frames |= dict.fromkeys(self.skeleton.joints(link), carrier.frame(link, partner))
        below, turn = self._below(carrier, link, partner)
        if turn:
            self.offsets[self.skeleton.joints(link)[-1]] = turn
        self.matrices[link] = below.matrix
        self._match_fixed(below, link, partner)
        self._match_children(below, link, partner)

    def _match_fixed(self, carrier: Carrier, link: int, partner: int) -> None:
        """The bodies that are fixed to a link; those without an image are no obstacle."""
        left = list(self.skeleton.fixed[partner])
        for body in self.skeleton.fixed[link]:
            there = [other for other in left if carrier.distance(body, other) <= carrier.tolerance]
            if there:
                unlikeness = {other: self._unlikeness(carrier, body, other) for other in there}
                image = min(there, key=unlikeness.__getitem__)
                self.bodies[body], self.matrices[body] = image, carrier.matrix
                left.remove(image)

    def _unlikeness(self, carrier: Carrier, body: int, other: int) -> tuple[float, bool, int]:
        """Of two bodies at one place that have no joints: of their masses' places, then of their names."""
        centres = [self.skeleton.pose.xipos[part] - self.skeleton.pose.xpos[part] for part in (body, other)]
        off = float(np.linalg.norm(carrier.matrix @ centres[0] - centres[1]))
        sides = are_sides(body_name(self.model, body), body_name(self.model, other))
        return (off // carrier.tolerance, not sides, other)

    def _give_up(self, carrier: Carrier, link: int, candidates: list[int]) -> None:
        """Say what is missing for the link, and for everything that hangs on it."""
        reason = "its parent has no image"
        if candidates:
            nearest = min(candidates, key=lambda other: carrier.distance(link, other))
            distance, name = carrier.distance(link, nearest), body_name(self.model, nearest)
            place = ", ".join(f"{x:.4g}" for x in np.round(carrier.place(link), 6) + 0.0)
            if self._corresponds(carrier, link, nearest):
                reason = f"its image is at ({place}), where {name} is the image of another body"
            elif distance > carrier.tolerance:
                reason = f"its image is at ({place}), where no body is ({name} is {distance:.3g} away)"
            elif carrier.joints(link, nearest) is None:
                reason = f"its image is {name}, whose joints have other types, axes or anchors"
            else:
                reason = f"its image is {name}, whose mass is somewhere else"
        self.unmatched.append(Unmatched("body", body_name(self.model, link), reason))
        for joint in self.skeleton.joints(link):
            self.unmatched.append(Unmatched("joint", joint_name(self.model, joint), "its body has no image"))
        for child in self.skeleton.children[link]:
            self._give_up(carrier, child, [])
