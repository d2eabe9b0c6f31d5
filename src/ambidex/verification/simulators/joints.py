"""Which joint becomes which when the body is moved by an isometry, from the joints' places and axes alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray
from ambidex.symmetry.maps import IndexMap

NEAR = 1e-3  # m, or of a unit vector: models are written with three digits


def relabelling(frames: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], isometry: FloatArray) -> IndexMap:
    """The map of joint values when ``isometry`` moves a body of hinges: which joint each reads, which sign.

    :param frames: of each hinge its place in the body's frame and its axis, in the symmetric rest pose
    """
    places = np.array([place for place, _ in frames], dtype=np.float64)
    axes = np.array([axis for _, axis in frames], dtype=np.float64)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    moved_places = places @ isometry.T
    moved_axes = np.linalg.det(isometry) * axes @ isometry.T  # what turns, turns the other way in a mirror
    distances = np.linalg.norm(places[:, None] - moved_places[None], axis=2)
    along = axes @ moved_axes.T
    fits = (distances < NEAR) & (np.abs(np.abs(along) - 1) < NEAR)
    for joint, count in enumerate(fits.sum(axis=1)):
        if count != 1:
            what = "no joint" if count == 0 else "more than one joint"
            raise ValueError(f"the isometry brings {what} to where joint {joint} is")
    indices = fits.argmax(axis=1)
    return IndexMap(indices, np.sign(along[np.arange(len(indices)), indices]))


def upright(isometry: FloatArray) -> FloatArray:
    """The isometry, if it leaves the vertical as it is: a robot on a floor has no other."""
    if not np.allclose(isometry[2], [0, 0, 1], atol=NEAR):
        raise ValueError("the isometry moves the vertical, which the floor does not bear")
    return isometry
