"""The ant's seven transforms and the paper's triangle, typed from the paper's figures."""

from __future__ import annotations

from ambidex.symmetry import Symmetry, SymmetryGroup

PLUS_MINUS = {"+": 1, "-": -1}


def signs(text: str) -> list[int]:
    return [PLUS_MINUS[sign] for sign in text.split()]


ANT = {
    # name: (kind, action indices, action multipliers, swaps x and y, multipliers of observations 0..7)
    "xz": ("reflection", [6, 7, 4, 5, 2, 3, 0, 1], "- + - + - + - +", False, "+ - + + - + - +"),
    "yz": ("reflection", [2, 3, 0, 1, 6, 7, 4, 5], "- - - - - - - -", False, "+ + - - + + + -"),
    "y=x": ("reflection", [0, 1, 6, 7, 4, 5, 2, 3], "- + - - - + - -", True, "+ + + + + + - -"),
    "y=-x": ("reflection", [4, 5, 2, 3, 0, 1, 6, 7], "- - - + - - - +", True, "+ - - - - + + +"),
    "r90": ("rotation", [6, 7, 0, 1, 2, 3, 4, 5], "+ + + - + + + -", True, "+ + - - + + - +"),
    "r180": ("rotation", [4, 5, 6, 7, 0, 1, 2, 3], "+ - + - + - + -", False, "+ - - - - + - -"),
    "r270": ("rotation", [2, 3, 4, 5, 6, 7, 0, 1], "+ - + + + - + +", True, "+ - + + - + + -"),
}


def ant_tables(name: str) -> dict[str, list[int]]:
    _, act_indices, act_signs, swaps, body_signs = ANT[name]
    act_multipliers = signs(act_signs)
    obs_indices = [0, 2, 1, 4, 3, 5, 7, 6] if swaps else list(range(8))
    obs_multipliers = signs(body_signs)
    for joint in range(8):
        for offset in (8, 9):  # position, speed
            obs_indices.append(offset + 2 * act_indices[joint])
            obs_multipliers.append(act_multipliers[joint])
    for foot in range(4):
        obs_indices.append(24 + act_indices[2 * foot] // 2)
        obs_multipliers.append(1)
    return {
        "obs_indices": obs_indices,
        "obs_multipliers": obs_multipliers,
        "act_indices": act_indices,
        "act_multipliers": act_multipliers,
    }


def ant(**changed: dict[str, list[int]]) -> SymmetryGroup:
    """The ant's seven transforms, not claiming to be a group, with some tables replaced."""
    return SymmetryGroup(
        [Symmetry(name, kind=ANT[name][0], **changed.get(name, ant_tables(name))) for name in ANT]
    )


TRIANGLE = {
    "a": ("reflection", [0, 2, 1]),
    "b": ("reflection", [2, 1, 0]),
    "c": ("reflection", [1, 0, 2]),
    "d": ("rotation", [2, 0, 1]),
    "e": ("rotation", [1, 2, 0]),
}


def triangle() -> SymmetryGroup:
    """The paper's triangle robot: three limb angles and a battery level; three torques."""
    symmetries = []
    for name, (kind, limbs) in TRIANGLE.items():
        sign = -1 if kind == "reflection" else 1
        symmetries.append(
            Symmetry(
                name,
                obs_indices=[*limbs, 3],
                obs_multipliers=[sign] * 3 + [1],
                act_indices=limbs,
                act_multipliers=[sign] * 3,
                kind=kind,
            )
        )
    return SymmetryGroup(symmetries)
