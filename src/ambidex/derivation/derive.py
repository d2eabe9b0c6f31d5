"""A description from a robot model: which isometries it has, and what they make of states and controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

try:
    import mujoco
except ImportError:
    raise ValueError("derive needs MuJoCo: pip install 'ambidex[mujoco]'") from None

from ambidex.common.arrays import FloatArray
from ambidex.derivation.asymmetry import asymmetries
from ambidex.derivation.couplings import not_compared
from ambidex.derivation.differences import Asymmetry
from ambidex.derivation.layout import beyond_names, describe_model
from ambidex.derivation.match.matching import NEAR, Matching, match
from ambidex.derivation.match.trees import Unmatched
from ambidex.derivation.surroundings import closed_ranges, obstacles
from ambidex.symmetry import Layout, SymmetryGroup, save
from ambidex.symmetry import isometry as geometry

USUAL = ("xz", "yz", "xy", "y=x", "y=-x", "r180", "r90", "r120", "rx180", "ry180")
BEYOND = "description"  # the kind of what the model has but no description by names can say
RARE = ("m30", "m60", "m120", "m150", "r60", "r72", "r45")  # told of only where they hold


@dataclass(frozen=True)
class Attempt:
    """What became of one isometry.

    :param name: its name
    :param matching: what it makes of the model
    :param unmatched: what speaks against it: parts of the model or of the world that have no image
    """

    name: str
    matching: Matching
    unmatched: tuple[Unmatched, ...]

    @property
    def holds(self) -> bool:
        return not self.unmatched

    @property
    def is_trivial(self) -> bool:
        """Whether it holds but leaves all positions and controls as they are."""
        return self.holds and self.matching.is_trivial

    def __str__(self) -> str:
        if not self.holds:
            if self.unmatched[0].kind == BEYOND:
                return f"holds, but not by names: {self.unmatched[0].reason}"
            more = f" (and {len(self.unmatched) - 1} more)" if len(self.unmatched) > 1 else ""
            return f"does not hold: {self.unmatched[0]}{more}"
        return "holds, but moves nothing" if self.is_trivial else "holds"

    def as_dict(self) -> dict[str, Any]:
        unmatched = [item._asdict() for item in self.unmatched]
        return {"name": self.name, "holds": self.holds, "trivial": self.is_trivial, "unmatched": unmatched}


@dataclass(frozen=True)
class Derivation:
    """What was found out about a model.

    :param robot: the model's name
    :param group: the transforms of its positions and velocities (qpos, then qvel) and of its controls, with a
        layout by names; None if there are none
    :param attempts: what became of each isometry that was tried
    :param asymmetries: what should be symmetric in the model and is not, the largest difference first
    :param asked: whether these isometries were asked for; otherwise all usual ones were tried
    :param notes: what was assumed
    :param not_compared: what the model has that was not looked at for asymmetries
    """

    robot: str
    group: SymmetryGroup | None
    attempts: tuple[Attempt, ...]
    asymmetries: tuple[Asymmetry, ...]
    asked: bool
    notes: tuple[str, ...]
    not_compared: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether there is a description, and every isometry that was asked for is in it."""
        complete = all(attempt.holds for attempt in self.attempts)
        return self.group is not None and (complete or not self.asked)

    def save(self, path: str | Path) -> None:
        """Write the description as a YAML file."""
        if self.group is None:
            raise ValueError(f"{self.robot}: no isometry that moves anything holds; nothing to write")
        save(self.group, path)

    def __str__(self) -> str:
        width = max(len(attempt.name) for attempt in self.attempts)
        lines = [f"  {attempt.name.ljust(width)}  {attempt}" for attempt in self.attempts]
        if self.group is None:
            title = f"{self.robot}: no symmetry that moves anything"
        else:
            states, actions = self.group.observation_size, self.group.action_size
            names = ", ".join(self.group.names)
            title = f"{self.robot}: {names} ({states} positions and velocities, {actions} actions)"
        lines = [title, *lines, *(f"note: {note}" for note in self.notes)]
        if self.group is not None:
            found = [f"  {item}" for item in self.asymmetries]
            nothing = f"nothing asymmetric in {'what was compared' if self.not_compared else 'the model'}"
            lines += ["not symmetric in the model:", *found] if found else [nothing]
            if self.not_compared:
                lines.append(f"not compared: {', '.join(self.not_compared)}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For a program."""
        return {
            "robot": self.robot,
            "transforms": [] if self.group is None else list(self.group.names),
            "attempts": [attempt.as_dict() for attempt in self.attempts],
            "asymmetries": [item.as_dict() for item in self.asymmetries],
            "notes": list(self.notes),
            "not_compared": list(self.not_compared),
        }


def derive(
    model: str | Path | mujoco.MjModel,
    *,
    plane: Any = None,
    rotation: str | tuple[Any, float] | None = None,
    near: float = NEAR,
) -> Derivation:
    """Derive a description from a robot model.

    :param model: the path of an MJCF or URDF file, or a model that MuJoCo has loaded
    :param plane: a plane of reflection: ``"xz"``, ``"y=x"``, ``"m60"``, or its normal as three numbers
    :param rotation: an axis and degrees, ``"z:90"`` or ``("z", 90)``; with a plane besides, both must hold.
        Without plane and rotation all usual ones are tried
    :param near: how far from the image a body may be, in parts of the robot's size, and an axis from parallel
    """
    robot, loaded = _load(model)
    if not loaded.njnt:
        raise ValueError(f"{robot}: the model has no joints")
    wanted = _wanted(plane, rotation)
    tried = wanted or {name: geometry.named(name) for name in (*USUAL, *RARE)}
    has_floor = not str(model).endswith(".urdf")
    attempts = [_attempt(name, loaded, isometry, near, has_floor) for name, isometry in tried.items()]
    holding = [attempt for attempt in attempts if attempt.holds and not attempt.is_trivial]
    notes = () if loaded.nu else ("the model has no actuators; one action for each joint is assumed",)
    return Derivation(
        robot,
        _group(robot, holding) if holding else None,
        tuple(attempt for attempt in attempts if attempt.holds or attempt.name not in RARE or wanted),
        tuple(asymmetries(*(attempt.matching for attempt in holding))),
        bool(wanted),
        notes,
        tuple(not_compared(loaded)),
    )


def _load(model: str | Path | mujoco.MjModel) -> tuple[str, mujoco.MjModel]:
    if isinstance(model, mujoco.MjModel):
        name = model.names[: model.names.index(b"\0")].decode()
        return name or "robot", model
    path = Path(model)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        return path.stem, mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise ValueError(f"{path}: MuJoCo cannot read it: {' '.join(str(error).split())}") from None


def _wanted(plane: Any, rotation: Any) -> dict[str, FloatArray]:
    wanted = {}
    if plane is not None:
        matrix = geometry.named(plane) if isinstance(plane, str) else geometry.reflection(plane)
        if not np.isclose(np.trace(matrix), 1) or np.linalg.det(matrix) > 0:
            raise ValueError(f"{plane!r} is no plane; give a rotation as its axis and degrees, z:90")
        wanted[plane if isinstance(plane, str) else geometry.name_of(matrix) or "mirror"] = matrix
    if rotation is not None:
        try:
            axis, degrees = rotation.split(":") if isinstance(rotation, str) else rotation
            matrix = geometry.rotation(axis, geometry.number(float(degrees)))
        except (TypeError, ValueError):
            raise ValueError(f"a rotation is given as axis and degrees, z:90, got {rotation!r}") from None
        if np.allclose(matrix, np.eye(3)):
            raise ValueError(f"the rotation {rotation!r} moves nothing")
        wanted[geometry.name_of(matrix) or "turn"] = matrix
    return wanted


def _attempt(name: str, model: mujoco.MjModel, isometry: FloatArray, near: float, has_floor: bool) -> Attempt:
    matching = match(model, isometry, near=near)
    against = obstacles(matching, near=near, has_floor=has_floor)
    unmatched = [*matching.unmatched, *against, *closed_ranges(matching)]
    if not unmatched and (reason := beyond_names(matching)) is not None:
        unmatched.append(Unmatched(BEYOND, "by names", reason))
    return Attempt(name, matching, tuple(unmatched))


def _group(robot: str, holding: Sequence[Attempt]) -> SymmetryGroup:
    layout = Layout(describe_model(robot, [attempt.matching for attempt in holding]))
    symmetries = [layout.symmetry(attempt.name, attempt.matching.isometry) for attempt in holding]
    return SymmetryGroup.from_generators(symmetries, layout=layout)
