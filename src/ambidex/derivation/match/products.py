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

    @property
    def key(self) -> tuple[Any, ...]:
        matrix = np.round(self.isometry, 6).ravel() + 0.0
        return (*matrix, *sorted(self.bodies.items()), *sorted(self.joints.items()))

    def after(self, first: Image) -> Image:
        """First the other, then this."""
        joints = {}
        for joint, (image, sign) in first.joints.items():
            target, turned = self.joints[image]
            joints[joint] = (target, sign * turned)
        bodies = {body: self.bodies[image] for body, image in first.bodies.items()}
        return Image(self.isometry @ first.isometry, bodies, joints)


def image_group(matchings: Sequence[Matching]) -> list[Image]:
    """All products of complete matchings of one model, the identity first."""
    model = matchings[0].model
    identity = Image(
        np.eye(3),
        {body: body for body in range(model.nbody)},
        {joint: (joint, 1.0) for joint in range(model.njnt)},
    )
    generators = [Image(matching.isometry, matching.bodies, matching.joints) for matching in matchings]
    found = {identity.key: identity}
    newest = [identity]
    while newest and len(found) < LARGEST_GROUP:
        products = {p.key: p for p in (g.after(element) for element in newest for g in generators)}
        newest = [product for key, product in products.items() if key not in found]
        found |= {product.key: product for product in newest}
    return list(found.values())
