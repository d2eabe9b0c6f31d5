"""Isometries of a robot's body: reflections and rotations as 3 x 3 matrices, and names for them.

A name says the isometry, both in files and in the names of products:

- ``xz``, ``yz``, ``xy``: reflection in that plane; ``y=x``, ``y=-x``: in the vertical plane over that line;
- ``m60``: reflection in the vertical plane that stands at 60 degrees to the x axis (``m0`` is ``xz``);
- ``r90``: rotation about z by 90 degrees, counterclockwise from above; ``rx180``, ``ry90``: about x or y;
- ``inversion``: every direction to its opposite.

The body's frame is x forward, y left, z up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ambidex.common.arrays import FloatArray
from ambidex.common.words import suggestion
from ambidex.symmetry.maps import TOLERANCE

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_PLANES = {"xz": 0.0, "y=x": 45.0, "yz": 90.0, "y=-x": 135.0}  # degrees of the vertical plane to the x axis
_PATTERN = re.compile(r"(?P<what>rx|ry|r|m)(?P<degrees>\d+(\.\d+)?)")


def direction(value: Any) -> FloatArray:
    """A unit vector from ``"x"``, ``"-z"``, ``[1, 1]`` or ``[-1, 1, 0]``."""
    if isinstance(value, str):
        sign, axis = (-1.0, value[1:]) if value.startswith("-") else (1.0, value)
        if axis in AXES:
            return sign * np.array(AXES[axis])
    elif isinstance(value, Sequence | np.ndarray):
        vector = point(value)
        length = float(np.linalg.norm(vector))
        if length > 0:
            return vector / length
    raise ValueError(f"a direction is x, y, z, -x, -y, -z or a list of 2 or 3 numbers, got {value!r}")


def point(value: Any) -> FloatArray:
    """A place in the body's frame from 2 or 3 numbers; z is 0 where it is left out."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) not in (2, 3):
        raise ValueError(f"a place is a list of 2 or 3 numbers, got {value!r}")
    return np.array([*map(number, value), 0.0][:3])


def number(value: Any) -> float:
    """A finite number, and nothing that only converts to one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        return float(value)
    raise ValueError(f"expected a number, got {value!r}")


def reflection(normal: Any) -> FloatArray:
    """The reflection in the plane through the origin that has this normal."""
    n = direction(normal)
    return _exact(np.eye(3) - 2 * np.outer(n, n))


def rotation(axis: Any, degrees: float) -> FloatArray:
    """The rotation about ``axis`` by ``degrees``, counterclockwise when the axis points at the viewer."""
    n = direction(axis)
    cross = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    angle = np.radians(degrees)
    return _exact(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def vertical_reflection(degrees: float) -> FloatArray:
    """The reflection in the vertical plane that stands at ``degrees`` to the x axis."""
    angle = np.radians(degrees)
    return reflection([-np.sin(angle), np.cos(angle)])


def named(name: str) -> FloatArray:
    """The isometry that ``name`` says; see the module's list of names."""
    if name == "xy":
        return reflection("z")
    if name == "inversion":
        return -np.eye(3)
    if name in _PLANES:
        return vertical_reflection(_PLANES[name])
    if match := _PATTERN.fullmatch(name):
        degrees = float(match["degrees"])
        if match["what"] == "m":
            return vertical_reflection(degrees)
        return rotation({"r": "z", "rx": "x", "ry": "y"}[match["what"]], degrees)
    raise ValueError(
        f"no isometry is called {name!r}; use xz, yz, xy, y=x, y=-x, m60 (a vertical plane at 60 degrees), "
        f"r90 (about z), rx90, ry90 or inversion{suggestion(name, [*_PLANES, 'inversion', 'r90', 'r180'])}"
    )


def name_of(isometry: npt.ArrayLike) -> str | None:
    """The name of an isometry; None where it has none (a rotation about a slanted axis, say)."""
    matrix = np.asarray(isometry, dtype=np.float64)
    proper = np.linalg.det(matrix) > 0
    planar = float(np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0])))
    if proper:
        about_x = float(np.degrees(np.arctan2(matrix[2, 1], matrix[1, 1])))
        about_y = float(np.degrees(np.arctan2(matrix[0, 2], matrix[2, 2])))
        candidates = [
            f"r{_degrees(planar, 360)}",
            f"rx{_degrees(about_x, 360)}",
            f"ry{_degrees(about_y, 360)}",
        ]
    else:
        plane = _degrees(planar / 2, 180)
        vertical = {f"{degrees:g}": name for name, degrees in _PLANES.items()}
        candidates = [vertical.get(plane, f"m{plane}"), "xy", "inversion"]
    fits = (name for name in candidates if np.allclose(named(name), matrix, rtol=0, atol=TOLERANCE))
    name = next(fits, None)
    return None if name == "r0" else name


def from_description(value: Any) -> FloatArray:
    """An isometry as a file gives it: a name, ``{normal: n}``, ``{axis: a, degrees: d}`` or a matrix."""
    if isinstance(value, str):
        return named(value)
    if isinstance(value, dict) and set(value) == {"normal"}:
        return reflection(value["normal"])
    if isinstance(value, dict) and set(value) == {"axis", "degrees"}:
        return rotation(value["axis"], number(value["degrees"]))
    if isinstance(value, list):
        try:
            matrix = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.zeros(0)
        if matrix.shape == (3, 3) and np.allclose(matrix @ matrix.T, np.eye(3), atol=TOLERANCE):
            return matrix
    raise ValueError(
        "an isometry is a name such as xz or r90, {normal: [x, y, z]}, {axis: z, degrees: 120} "
        f"or an orthogonal 3 x 3 matrix, got {value!r}"
    )


def _degrees(angle: float, turn: int) -> str:
    return f"{round(angle % turn, 6) % turn:g}"


def _exact(matrix: FloatArray) -> FloatArray:
    """Numbers that should be 0, 1/2 or 1, freed of rounding."""
    halves = np.round(2 * matrix) / 2
    return np.where(np.abs(matrix - halves) < 1e-12, halves, matrix) + 0.0
