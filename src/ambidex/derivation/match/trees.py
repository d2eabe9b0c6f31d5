"""Which body and joint an isometry carries to which, from the root of the tree outwards.

The image of a body is a child of the image of its parent, stands where the isometry puts it and has the same
kinds of joints, whose axes are parallel to the images of the axes. Where several bodies stand at one place,
what hangs on them decides, then their names.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.carrying import Carrier
from ambidex.derivation.naming import are_sides, body_name, joint_name
from ambidex.derivation.skeleton import BALL, FREE, Skeleton


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

    ``bodies``, ``joints``, ``offsets``, ``frames`` and ``unmatched`` are as in `Matching`.
    """

    def __init__(self, model: mujoco.MjModel, isometry: FloatArray, near: float) -> None:
        self.model, self.skeleton = model, Skeleton(model)
        self.bodies: dict[int, int] = {0: 0}
        self.joints: dict[int, tuple[int, float]] = {}
        self.offsets: dict[int, float] = {}
        self.frames: dict[int, FloatArray] = {}
        self.unmatched: list[Unmatched] = []
        self._match_children(Carrier(self.skeleton, near, isometry, np.zeros(3)), 0, 0)

    def _match_children(self, carrier: Carrier, parent: int, image: int) -> None:
        children, candidates = self.skeleton.children[parent], self.skeleton.children[image]
        pairs = [(body, partner) for body in children for partner in candidates]
        pairs = [pair for pair in pairs if carrier.corresponds(*pair)]
        left, free = set(children), set(candidates)
        for body, partner in sorted(pairs, key=lambda pair: self._preference(carrier, *pair)):
            if body in left and partner in free:
                left.remove(body)
                free.remove(partner)
                self._take(carrier, body, partner)
        for body in sorted(left):
            self._give_up(carrier, body, candidates)

    def _preference(self, carrier: Carrier, body: int, partner: int) -> tuple[int, bool, bool, int]:
        """Lower is better. Limbs at one place change sides in a mirror, as the legs of a planar walker do."""
        sides = are_sides(body_name(self.model, body), body_name(self.model, partner))
        swaps = carrier.handedness < 0 and self.skeleton.moves(body) and not self.skeleton.floats(body)
        agreement = self._agreement(carrier, body, partner)
        return (-agreement, not sides, (body == partner) == swaps, partner)

    def _agreement(self, carrier: Carrier, body: int, partner: int) -> int:
        """How many of the bodies that hang on a body have an image among those that hang on the partner."""
        return self._below(carrier, body, partner)[0]

    def _below(self, carrier: Carrier, body: int, partner: int) -> tuple[int, Carrier, float]:
        """The agreement, what carries the bodies below, and the turn of an endless hinge where that helps."""
        straight = (self._agreeing(carrier, body, partner), carrier, 0.0)
        below, turn = carrier.below(body, partner)
        if not turn:
            return straight
        turned = (self._agreeing(below, body, partner), below, turn)
        helps = turned[0] > straight[0] or not self.skeleton.children[body]
        return turned if helps else straight

    def _agreeing(self, below: Carrier, body: int, partner: int) -> int:
        agreeing = 0
        for child in self.skeleton.children[body]:
            images = [image for image in self.skeleton.children[partner] if below.corresponds(child, image)]
            agreeing += max((1 + self._agreement(below, child, image) for image in images), default=0)
        return agreeing

    def _take(self, carrier: Carrier, body: int, partner: int) -> None:
        self.bodies[body] = partner
        self.joints |= carrier.joints(body, partner) or {}
        if {FREE, BALL} & set(self.skeleton.kinds(body)):
            self.frames |= dict.fromkeys(self.skeleton.joints(body), carrier.frame(body, partner))
        _, below, turn = self._below(carrier, body, partner)
        if turn:
            self.offsets[self.skeleton.joints(body)[-1]] = turn
        self._match_children(below, body, partner)

    def _give_up(self, carrier: Carrier, body: int, candidates: list[int]) -> None:
        """Say what is missing for the body, and for everything that hangs on it."""
        reason = "its parent has no image"
        if candidates:
            nearest = min(candidates, key=lambda other: carrier.distance(body, other))
            distance, name = carrier.distance(body, nearest), body_name(self.model, nearest)
            place = ", ".join(f"{x:.4g}" for x in np.round(carrier.place(body), 6) + 0.0)
            if distance > carrier.tolerance:
                reason = f"its image is at ({place}), where no body is ({name} is {distance:.3g} away)"
            elif carrier.joints(body, nearest) is None:
                reason = f"its image is {name}, whose joints have other types, axes or anchors"
            else:
                reason = f"its image is at ({place}), where {name} is the image of another body"
        self.unmatched.append(Unmatched("body", body_name(self.model, body), reason))
        for joint in self.skeleton.joints(body):
            self.unmatched.append(Unmatched("joint", joint_name(self.model, joint), "its body has no image"))
        for child in self.skeleton.children[body]:
            self._give_up(carrier, child, [])
