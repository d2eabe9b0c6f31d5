"""Places and axes for a description: averaged over all images, and no two parts at the same place.

A model that is slightly off so still has an exact description; that parts are moved apart changes nothing,
for only the pattern of places matters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.derivation.match.products import Image

APART = 1e-3  # of the unit in which places are written: parts nearer than this share a place


def even_places(
    places: Mapping[Hashable, FloatArray], group: Sequence[Image], image: Callable[[Image, Any], Any]
) -> dict[Any, FloatArray]:
    """A place for each part, carried by each element of the group to the place of the part's image.

    :param places: where the parts are in the model
    :param group: all elements of the symmetry
    :param image: the part that an element carries a part to
    """
    placed: dict[Any, FloatArray] = {}
    for part in places:
        if part in placed:
            continue
        even = np.mean([g.isometry.T @ places[image(g, part)] for g in group], axis=0)
        stays = np.mean([g.isometry for g in group if image(g, part) == part], axis=0)
        for shift in _shifts(stays):
            orbit = {image(g, part): g.isometry @ (even + shift) for g in group}
            if _are_apart([*placed.values(), *orbit.values()]):
                break
        else:
            raise ValueError("too many parts at one place")
        placed |= orbit
    return placed


def _shifts(stays: FloatArray) -> Iterator[FloatArray]:
    """Ways to move a part that keep it where its own symmetries leave it."""
    yield np.zeros(3)
    for distance in range(1, 10):
        for axis in (1, 2, 0):
            yield distance * stays[axis]


def _are_apart(places: Sequence[FloatArray]) -> bool:
    points = np.array(places)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(len(points))
    return bool(distances.min() > APART)


def command_axis(stabiliser: Sequence[tuple[FloatArray, float]]) -> tuple[str, FloatArray]:
    """An axis, to turn about or to slide along, whose value changes its sign where a command does.

    :param stabiliser: the isometries that carry an actuator to itself, and the sign of its command then
    """
    for kind in ("slide", "axis"):
        for axis in np.eye(3)[[2, 0, 1]]:
            turns = [float(np.linalg.det(matrix)) if kind == "axis" else 1.0 for matrix, _ in stabiliser]
            images = [s * turn * matrix.T @ axis for (matrix, s), turn in zip(stabiliser, turns, strict=True)]
            mean = np.mean(images, axis=0)
            if np.linalg.norm(mean) > 0.1:
                return kind, mean / np.linalg.norm(mean)
    raise ValueError("no axis changes its sign as this command does")


def as_place(place: FloatArray) -> list[float]:
    x, y, z = map(as_number, np.round(place, 9))
    return [x, y] if z == 0 else [x, y, z]


def as_number(value: float) -> float:
    """Whole numbers without a point."""
    return int(value) if value == int(value) else float(value)


def as_direction(axis: FloatArray) -> Any:
    """``"x"``, ``"-z"``, or numbers, whole ones where that is exact."""
    axis = axis / np.linalg.norm(axis)
    largest = int(np.abs(axis).argmax())
    if abs(axis[largest]) > 1 - 1e-9:
        return f"{'-' if axis[largest] < 0 else ''}{'xyz'[largest]}"
    scaled = axis / np.abs(axis[np.abs(axis) > 1e-9]).min()
    if np.abs(scaled - np.round(scaled)).max() < 1e-9 and np.abs(scaled).max() < 10:
        whole = [int(value) for value in np.round(scaled)]
        return whole[:2] if whole[2] == 0 else whole
    return [as_number(value) for value in np.round(axis, 9)]
