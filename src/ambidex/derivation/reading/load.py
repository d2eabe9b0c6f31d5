"""A robot model from a file: MJCF, or URDF with its base free or fixed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from ambidex.derivation.naming import body_name
from ambidex.derivation.reading.urdf import LEAST_MASS, read_urdf


@dataclass(frozen=True)
class Loaded:
    """A model that MuJoCo has compiled.

    :param robot: its name
    :param model: the model
    :param notes: what was left out, repaired or assumed
    :param has_floor: whether what is fixed to the world belongs to the world; in a URDF file it is the
        robot's base
    """

    robot: str
    model: mujoco.MjModel
    notes: tuple[str, ...] = ()
    has_floor: bool = True


def load_model(model: str | Path | mujoco.MjModel, floating: bool | None = None) -> Loaded:
    """Load a model.

    :param model: the path of an MJCF or URDF file, or a model that MuJoCo has loaded
    :param floating: whether its base moves freely; None for what the file says, which for a URDF file whose
        root is not the world is that it does
    """
    if isinstance(model, mujoco.MjModel):
        if floating is not None:
            raise ValueError("floating is for files; a model that is loaded has its free joints already")
        name = model.names[: model.names.index(b"\0")].decode()
        return Loaded(name or "robot", model)
    path = Path(model)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    if path.suffix in (".urdf", ".xacro"):
        return _load_urdf(path, floating)
    if floating is None:
        return Loaded(path.stem, _compiled(path, lambda: mujoco.MjModel.from_xml_path(str(path))))
    return Loaded(
        path.stem, _compiled(path, lambda: _with_base(mujoco.MjSpec.from_file(str(path)), floating))
    )


def _load_urdf(path: Path, floating: bool | None) -> Loaded:
    urdf = read_urdf(path, meshes=True)
    floats = not urdf.is_fixed if floating is None else floating
    notes = list(urdf.notes)
    try:
        model = _with_base(mujoco.MjSpec.from_string(urdf.text), floats)
    except ValueError as error:
        urdf = read_urdf(path, meshes=False)
        model = _compiled(path, lambda: _with_base(mujoco.MjSpec.from_string(urdf.text), floats))
        notes = [f"all meshes are left out, for MuJoCo says: {_one_line(error)}", *urdf.notes]
    light = np.flatnonzero((model.body_mass > 0) & (model.body_mass <= LEAST_MASS))
    if len(light):
        names = ", ".join(body_name(model, int(body)) for body in light)
        notes.append(f"links that move and have no mass get a millionth of a kilogram: {names}")
    if floats and floating is None:
        notes.append("the base floats, for the root of the file is not called world (otherwise: --fixed)")
    return Loaded(path.stem, model, tuple(notes), has_floor=False)


def _with_base(spec: mujoco.MjSpec, floating: bool) -> mujoco.MjModel:
    """Compile the model with a free joint at its base, or without."""
    roots = [body for body in spec.worldbody.bodies if _moves(body)]
    free = [joint for body in roots for joint in body.joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
    if not floating and free:
        raise ValueError(f"{free[0].name or 'the free joint'} is in the file; take it out for a fixed base")
    if floating and not free:
        if len(roots) != 1 or roots[0].joints:
            raise ValueError("no base can float: one body without joints must carry all that moves")
        roots[0].add_freejoint()
    return spec.compile()


def _moves(body: mujoco.MjsBody) -> bool:
    return bool(body.joints) or any(map(_moves, body.bodies))


def _compiled(path: Path, compile_model) -> mujoco.MjModel:  # type: ignore[no-untyped-def]
    try:
        return compile_model()
    except ValueError as error:
        raise ValueError(f"{path}: MuJoCo cannot read it: {_one_line(error)}") from None


def _one_line(error: ValueError) -> str:
    return " ".join(str(error).split())
