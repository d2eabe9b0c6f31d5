"""A URDF file as MuJoCo can compile it.

What is drawn is left out, meshes are found or left out, and inertias that no body can have are repaired: the
robots' files are written for programs that need none of these, or do not check them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ambidex.common.arrays import FloatArray

MESHES = (".stl", ".obj", ".msh")  # what MuJoCo can open
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-10  # of links without any; far below those of real links
LEAST_RATIO = 1e-3  # of the smallest moment of a repaired inertia to its largest
ROUNDING = 1e-6  # relative: a flat body's moments, of which one is the sum of the others, may miss it by this
PADDING = b" \t\r\n\0"  # before and after the document, which other readers pass over
GYRATION = 0.01  # metres: the radius of gyration of a mass whose inertia is not given


@dataclass(frozen=True)
class Urdf:
    """A URDF file, made ready.

    :param text: what MuJoCo can read
    :param is_fixed: whether the file itself fixes the robot to the world
    :param notes: what was left out or repaired
    """

    text: str
    is_fixed: bool
    notes: tuple[str, ...]


def read_urdf(path: Path, *, meshes: bool) -> Urdf:
    """Make a URDF file ready for MuJoCo.

    :param path: the file
    :param meshes: whether to keep the meshes that are found
    """
    robot = _parse(path)
    for link in robot.iter("link"):
        _remove(link, ("visual",))
    for joint in robot.iter("joint"):
        if joint.get("type") == "fixed":
            _remove(joint, ("mimic",))
    _remove(robot, ("material", "transmission", "gazebo"))
    notes = [*_resolve_meshes(robot, path, meshes), *_repair_inertias(robot)]
    _set_compiler(robot)
    return Urdf(ElementTree.tostring(robot, encoding="unicode"), _is_fixed(robot), tuple(notes))


def _parse(path: Path) -> ElementTree.Element:
    try:
        robot = ElementTree.fromstring(path.read_bytes().strip(PADDING))
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: not valid XML: {error}") from None
    if path.suffix == ".xacro" or any(map(_is_xacro, robot.iter())):
        raise ValueError(
            f"{path}: a xacro file makes a URDF file and is none yet; write it out first: "
            f"xacro {path.name} > {path.name.split('.')[0]}.urdf"
        )
    if robot.tag != "robot":
        raise ValueError(f"{path}: a URDF file begins with <robot>, this one with <{robot.tag}>")
    return robot


def _is_xacro(element: ElementTree.Element) -> bool:
    """Whether xacro has still to do something there: a macro, or a ``$(arg name)`` in a value."""
    return "xacro}" in element.tag or any("$(" in value or "${" in value for value in element.attrib.values())


def _remove(element: ElementTree.Element, tags: tuple[str, ...]) -> None:
    for child in [child for child in element if child.tag in tags]:
        element.remove(child)


def _resolve_meshes(robot: ElementTree.Element, path: Path, wanted: bool) -> Iterator[str]:
    missing: list[str] = []
    for link in robot.iter("link"):
        for collision in link.findall("collision"):
            mesh = collision.find("geometry/mesh")
            if mesh is None:
                continue
            name = mesh.get("filename", "")
            found = _find(name, path.absolute().parent) if wanted else None
            if found is None:
                link.remove(collision)
                missing.append(name)
            else:
                mesh.set("filename", str(found))
    if missing and wanted:
        yield (
            f"{len(missing)} meshes are not there or in a format that MuJoCo does not read, and are left out "
            f"({Path(missing[0]).name}{', ...' if len(missing) > 1 else ''}); a symmetry needs none"
        )


def _find(name: str, folder: Path) -> Path | None:
    """The file that a ``package://`` or relative path names, next to the model or to a folder above it."""
    rest = name.partition("://")[2] or name
    if Path(rest).suffix.lower() not in MESHES:
        return None
    without_package = rest.partition("/")[2] if name.startswith(("package://", "model://")) else rest
    places = (base / part for base in (folder, *folder.parents) for part in (rest, without_package))
    return next((place for place in places if place.is_file()), None)


def _repair_inertias(robot: ElementTree.Element) -> Iterator[str]:
    repaired = []
    for link in robot.iter("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        weight = 0.0 if mass is None else float(mass.get("value", 0))
        if weight <= 0 or inertia is None:
            link.remove(inertial)
            if weight:
                repaired.append(link.get("name", ""))
            continue
        given = _matrix(inertia)
        possible = possible_inertia(given, weight)
        if possible is not given:
            if np.abs(possible - given).max() > ROUNDING * np.abs(possible).max():
                repaired.append(link.get("name", ""))
            for (row, column), name in _COMPONENTS.items():
                inertia.set(name, repr(float(possible[row, column])))
    if repaired:
        yield f"inertias that no body can have are repaired: {', '.join(repaired)}"


def possible_inertia(inertia: FloatArray, mass: float) -> FloatArray:
    """The inertia itself where a body can have it, otherwise one near it that a body can have.

    The moments about the principal axes are positive, and none is larger than the sum of the others. The
    repair looks at these moments only, so that it carries mirrored inertias to mirrored ones.
    """
    moments, axes = np.linalg.eigh(inertia)
    if moments[-1] <= 0:
        return np.eye(3) * mass * GYRATION**2
    positive = np.maximum(moments, LEAST_RATIO * moments[-1]) if moments[0] <= 0 else moments
    margin = 1e-3 * ROUNDING * positive[2]
    lacking = positive[2] - positive[0] - positive[1] + margin
    if lacking <= 0 and positive is moments:
        return inertia
    positive = positive + max(lacking, 0.0)  # the same to each raises the sum of two above the third
    return np.asarray(axes @ np.diag(positive) @ axes.T)


_COMPONENTS = {(0, 0): "ixx", (1, 1): "iyy", (2, 2): "izz", (0, 1): "ixy", (0, 2): "ixz", (1, 2): "iyz"}


def _matrix(inertia: ElementTree.Element) -> FloatArray:
    matrix = np.zeros((3, 3))
    for (row, column), name in _COMPONENTS.items():
        matrix[row, column] = matrix[column, row] = float(inertia.get(name, 0))
    return matrix


def _set_compiler(robot: ElementTree.Element) -> None:
    extension = robot.find("mujoco")
    if extension is None:
        extension = ElementTree.SubElement(robot, "mujoco")
    _remove(extension, ("compiler",))
    options = {
        "strippath": "false",
        "inertiafromgeom": "false",
        "boundmass": str(LEAST_MASS),
        "boundinertia": str(LEAST_INERTIA),
    }
    ElementTree.SubElement(extension, "compiler", options)


def _is_fixed(robot: ElementTree.Element) -> bool:
    """Whether the root is the world itself."""
    children = {child.get("link") for child in robot.findall("joint/child")}
    return any(link.get("name") == "world" and "world" not in children for link in robot.findall("link"))
