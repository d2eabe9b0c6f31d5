"""The robot against which others hold a mirror: a description, or what a model's symmetries are."""

from __future__ import annotations

from pathlib import Path

from ambidex.symmetry import SymmetryGroup, load

MODELS = (".xml", ".mjcf", ".urdf")


def robot_group(robot: str | Path) -> SymmetryGroup:
    """The group of a description (a file or a catalog name) or, by `derive`, of a URDF or MJCF model."""
    if Path(robot).suffix.lower() not in MODELS:
        return load(robot)
    from ambidex.derivation.derive import derive

    derived = derive(Path(robot))
    if derived.group is None:
        raise ValueError(f"{robot}: no isometry that moves anything holds; write a description of the robot")
    return derived.group
