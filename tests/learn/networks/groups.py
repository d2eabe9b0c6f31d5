"""Closed groups of many kinds, for the tests of equivariant networks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from ambidex.symmetry import DictMap, IndexMap, MatrixMap, Symmetry, SymmetryGroup, load
from ambidex.symmetry.discrete import ChoiceMap


def index(indices: list[int], multipliers: list[float] | None = None) -> IndexMap:
    return IndexMap(indices, [1.0] * len(indices) if multipliers is None else multipliers)


def rotation(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s], [s, c]])


def five_legs() -> SymmetryGroup:
    """All 120 ways to exchange five equal legs: two observations and one action each."""

    def legs(name: str, order: list[int]) -> Symmetry:
        return Symmetry.from_maps(name, index([*order, *(5 + leg for leg in order)]), index(order))

    return SymmetryGroup.from_generators([legs("swap", [1, 0, 2, 3, 4]), legs("cycle", [1, 2, 3, 4, 0])])


def negated() -> SymmetryGroup:
    """One action that changes its sign: no vector of actions but 0 stays as it is."""
    return SymmetryGroup.from_generators(
        [Symmetry.from_maps("flip", index([0, 1], [-1, -1]), index([0], [-1]))]
    )


def by_key() -> SymmetryGroup:
    """A Dict observation whose keys are not in sorted order, with vectors of two sizes."""
    observation = DictMap({"legs": index([1, 0]), "body": index([0, 1, 2], [1, -1, -1])})
    return SymmetryGroup.from_generators([Symmetry.from_maps("mirror", observation, index([1, 0]))])


def skewed() -> SymmetryGroup:
    """A third of a turn and a mirror in axes that are not orthogonal, and known ratios of actuators."""
    axes = np.array([[1.0, 0.4], [0.0, 0.7]])
    strength = np.diag([1.0, 2.0, 0.5])

    def element(name: str, matrix: np.ndarray, legs: list[int]) -> Symmetry:
        action = strength @ np.eye(3)[legs] @ np.linalg.inv(strength)
        multipliers = action[np.arange(3), legs].tolist()
        observation = MatrixMap(axes @ matrix @ np.linalg.inv(axes))
        return Symmetry.from_maps(name, observation, index(legs, multipliers))

    mirror = np.diag([1.0, -1.0])
    return SymmetryGroup.from_generators(
        [element("turn", rotation(120), [1, 2, 0]), element("mirror", mirror, [0, 2, 1])]
    )


def one_choice() -> SymmetryGroup:
    return SymmetryGroup.from_generators(
        [Symmetry.from_maps("mirror", index([0, 1], [-1, 1]), ChoiceMap([1, 0, 2], [3]))]
    )


def two_choices() -> SymmetryGroup:
    """The decisions change places, and the choices of each turn around."""
    return SymmetryGroup.from_generators(
        [Symmetry.from_maps("mirror", index([1, 0, 2], [1, 1, -1]), ChoiceMap([5, 4, 3, 2, 1, 0], [3, 3]))]
    )


GROUPS: dict[str, Callable[[], SymmetryGroup]] = {
    "ant": functools.partial(load, "ant"),
    "triangle": functools.partial(load, "triangle"),
    "triangle-paper": functools.partial(load, "triangle-paper"),
    "walker": functools.partial(load, "walker2d-v5"),
    "five legs": five_legs,
    "negated": negated,
    "by key": by_key,
    "skewed": skewed,
    "one choice": one_choice,
    "two choices": two_choices,
}
ORTHOGONAL = [name for name in GROUPS if name != "skewed"]
