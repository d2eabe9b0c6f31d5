"""A description from a robot model: which isometries it has, and what they make of states and controls."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
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
from ambidex.derivation.layout import Observations, beyond_names, describe_model
from ambidex.derivation.match.matching import NEAR, match
from ambidex.derivation.match.trees import Unmatched
from ambidex.derivation.reading.load import Loaded, load_model
from ambidex.derivation.results import BEYOND, Attempt, Derivation
from ambidex.derivation.skeleton import FREE
from ambidex.derivation.surroundings import closed_ranges, obstacles, wrong_motion
from ambidex.symmetry import Layout, SymmetryGroup
from ambidex.symmetry import isometry as geometry

USUAL = ("xz", "yz", "xy", "y=x", "y=-x", "r180", "r90", "r120", "rx180", "ry180")
RARE = ("m30", "m60", "m120", "m150", "r60", "r72", "r45")  # told of only where they hold


def derive(
    model: str | Path | mujoco.MjModel,
    *,
    plane: Any = None,
    rotation: str | tuple[Any, float] | None = None,
    near: float = NEAR,
    ignore: Sequence[str] = (),
    floating: bool | None = None,
    layout: str = "state",
    history: int = 1,
    heights: tuple[int, int] | None = None,
) -> Derivation:
    """Derive a description from a robot model.

    :param model: the path of an MJCF or URDF file, or a model that MuJoCo has loaded
    :param plane: a plane of reflection: ``"xz"``, ``"y=x"``, ``"m60"``, or its normal as three numbers
    :param rotation: an axis and degrees, ``"z:90"`` or ``("z", 90)``; with a plane besides, both must hold.
        Without plane and rotation all usual ones are tried
    :param near: how far from its image a joint's axis may be, in parts of the robot's size, and from parallel
    :param ignore: the names of joints (taken as stiff) and of bodies (left out with all that hangs on them)
        that need no image
    :param floating: whether the base moves freely; None for what the file says, and that it does where a URDF
        file does not say
    :param layout: ``"state"`` for MuJoCo's qpos and qvel, ``"locomotion"`` for what policies of legged robots
        observe
    :param history: with locomotion, the number of time steps
    :param heights: with locomotion, the rows (along x) and columns (along y) of a height map
    """
    observations = Observations(layout, history, heights)
    given = load_model(model, floating)
    kinds = given.model.jnt_type
    if not given.model.nu and not (kinds != FREE).any():
        raise ValueError(f"{given.robot}: the model has no joints")
    wanted = _wanted(plane, rotation)
    attempts = _attempts(given, wanted, near, ignore, observations)
    holding = _holding(attempts)
    notes = list(given.notes)
    if not holding and not given.has_floor and (kinds == FREE).any():
        upright = replace(given, model=_with_y_up(given.model))
        again = _attempts(upright, wanted, near, ignore, observations)
        if _holding(again):
            attempts, holding = again, _holding(again)
            notes.append("nothing holds with z up, so y is taken as up, which a URDF file does not say")
    if not holding and near == NEAR:
        wider = _holding(_attempts(given, wanted, 10 * near, ignore, observations))
        notes += [f"{attempt.name} holds with --near {10 * near:g}" for attempt in wider]
    group = None
    if holding:
        try:
            group, said = _describe(given.robot, holding, observations)
        except ValueError:
            if len(holding) == 1:
                raise
            others = ", ".join(attempt.name for attempt in holding[1:])
            notes.append(
                f"no description by names has {others} besides {holding[0].name}; ask for one of them"
            )
            holding = holding[:1]
            group, said = _describe(given.robot, holding, observations)
        notes += said
    return Derivation(
        given.robot,
        group,
        tuple(attempt for attempt in attempts if attempt.holds or attempt.name not in RARE or wanted),
        tuple(asymmetries({attempt.name: attempt.matching for attempt in holding})),
        bool(wanted),
        tuple(notes),
        tuple(not_compared(given.model)),
    )


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


def _attempts(
    given: Loaded,
    wanted: dict[str, FloatArray],
    near: float,
    ignore: Sequence[str],
    observations: Observations,
) -> list[Attempt]:
    tried = wanted or {name: geometry.named(name) for name in (*USUAL, *RARE)}
    attempts = []
    for name, isometry in tried.items():
        matching = match(given.model, isometry, near=near, ignored=ignore)
        against = obstacles(matching, near=near, has_floor=given.has_floor)
        unmatched = [*matching.unmatched, *against, *closed_ranges(matching)]
        if not unmatched:
            unmatched += wrong_motion(matching, near=near)
        if not unmatched and (reason := beyond_names(matching, observations)) is not None:
            unmatched.append(Unmatched(BEYOND, "by names", reason))
        attempts.append(Attempt(name, matching, tuple(unmatched)))
    return attempts


def _holding(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Those that hold and move something, and that one description can say together.

    All have the same actuators. An arm on a base that turns has every vertical plane, each with another zero
    of the base; without an isometry that keeps the zero pose the first one is taken.
    """
    holding = [attempt for attempt in attempts if attempt.holds and not attempt.is_trivial]
    alike = [a for a in holding if a.matching.drives.count == holding[0].matching.drives.count]
    return [attempt for attempt in alike if not attempt.matching.offsets] or alike[:1]


def _with_y_up(model: mujoco.MjModel) -> mujoco.MjModel:
    turned = copy(model)
    turned.opt.gravity = (0, -np.linalg.norm(model.opt.gravity), 0)
    return turned


def _describe(
    robot: str, holding: Sequence[Attempt], observations: Observations
) -> tuple[SymmetryGroup, list[str]]:
    sections, notes = describe_model(robot, [attempt.matching for attempt in holding], observations)
    layout = Layout(sections)
    symmetries = [layout.symmetry(attempt.name, attempt.matching.isometry) for attempt in holding]
    return SymmetryGroup.from_generators(symmetries, layout=layout), notes
