"""All products of matchings: what each element of the group makes of bodies and joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.matching import Matching
from ambidex.symmetry.group import LARGEST_GROUP


class Image(NamedTuple):
    """What one element of a group makes of a model, as in `Matching`."""

    isometry: FloatArray
    bodies: dict[int, int]
    joints: dict[int, tuple[int, float]]
    actuators: dict[int, tuple[int, float]]
    offsets: dict[int, float]

    @property
    def key(self) -> tuple[Any, ...]:
        matrix = np.round(self.isometry, 6).ravel() + 0.0
        parts = (self.bodies, self.joints, self.actuators)
        return (*matrix, *(item for part in parts for item in sorted(part.items())))

    def after(self, first: Image) -> Image:
        """First the other, then this."""
        offsets = {}
        for joint, (image, _) in first.joints.items():
            offset = self.joints[image][1] * first.offsets.get(joint, 0.0) + self.offsets.get(image, 0.0)
            if offset:
                offsets[joint] = offset
        return Image(
            self.isometry @ first.isometry,
            {body: self.bodies[image] for body, image in first.bodies.items() if image in self.bodies},
            _after(self.joints, first.joints),
            _after(self.actuators, first.actuators),
            offsets,
        )


def image_group(matchings: Sequence[Matching]) -> list[Image]:
    """All products of complete matchings of one model, the identity first."""
    first = matchings[0]
    identity = Image(
        np.eye(3),
        {body: body for body in first.bodies},
        {joint: (joint, 1.0) for joint in first.joints},
        {actuator: (actuator, 1.0) for actuator in first.actuators},
        {},
    )
    generators = [
        Image(each.isometry, each.bodies, each.joints, each.actuators, each.offsets) for each in matchings
    ]
    found = {identity.key: identity}
    newest = [identity]
    while newest and len(found) < LARGEST_GROUP:
        products = {p.key: p for p in (g.after(element) for element in newest for g in generators)}
        newest = [product for key, product in products.items() if key not in found]
        found |= {product.key: product for product in newest}
    return list(found.values())


def _after(
    second: dict[int, tuple[int, float]], first: dict[int, tuple[int, float]]
) -> dict[int, tuple[int, float]]:
    return {part: (second[image][0], sign * second[image][1]) for part, (image, sign) in first.items()}
