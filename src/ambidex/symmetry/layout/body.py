"""The robot's body: its limbs and joints, and where a transform carries each of them.

Where the limbs' places and the joints' axes are known, both the partner and the sign of each joint follow
from the body's isometry. Where they are not, a transform says them by name (``moves``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ambidex.common.arrays import FloatArray
from ambidex.common.words import check_keys, suggestion
from ambidex.symmetry import isometry as geometry

NEAR = 1e-6  # limbs this close are at the same place, axes this close are parallel


@dataclass(frozen=True)
class Joint:
    """One joint.

    :param name: ``limb.joint``, or the joint's own name where it belongs to no limb
    :param limb: the limb that it belongs to, if any
    :param axis: the unit vector about which it turns (or along which it slides) at rest, if known
    :param slides: whether it slides along its axis instead of turning about it
    :param limits: its lowest and highest position in the units of the observation, if known
    """

    name: str
    limb: str | None = None
    axis: tuple[float, ...] | None = None
    slides: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Motion:
    """Where one transform carries everything of a body.

    :param transform: the transform's name, for errors
    :param isometry: the body's isometry, if known
    :param limbs: the limb that each limb is carried to
    :param joints: the joint that each joint is carried to, and the sign of its value there
    :param choices: the choice that each discrete choice is carried to
    :param phase: what becomes of a gait's clock, ``"same"`` or ``"half"`` (half a period later), if said
    """

    transform: str
    isometry: FloatArray | None
    limbs: Mapping[str, str] = field(default_factory=dict)
    joints: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    phase: str | None = None

    def matrix(self, what: str) -> FloatArray:
        """The isometry, needed for ``what``."""
        if self.isometry is None:
            raise ValueError(
                f"transform {self.transform!r}: {what} needs the body's isometry; "
                "add one, such as isometry: xz"
            )
        return self.isometry


class Body:
    """The limbs and joints of a robot, in the order in which its description gives them.

    :param limbs: ``{leg_1: {at: [1, 1], joints: {hip: z, knee: [-1, 1]}}}``, or a list of names
    :param joints: joints that belong to no limb, as ``{name: axis}`` or a list of names
    """

    def __init__(self, limbs: Any = None, joints: Any = None) -> None:
        self.limbs: dict[str, FloatArray | None] = {}
        self.joints: dict[str, Joint] = {}
        for name, spec in _entries("limbs", limbs):
            where = f"limb {name!r}"
            spec = check_keys(where, spec or {}, ("at", "joints"))
            self.limbs[name] = None if "at" not in spec else _place(where, spec["at"])
            for short, joint in _entries(f"{where}: joints", spec.get("joints")):
                self._add_joint(f"{name}.{short}", name, joint)
        for name, joint in _entries("joints", joints):
            self._add_joint(name, None, joint)
        self._check_places()

    def _add_joint(self, name: str, limb: str | None, spec: Any) -> None:
        if name in self.joints or name in self.limbs:
            raise ValueError(f"the name {name!r} is given twice; each limb and joint has its own")
        where = f"joint {name!r}"
        if not isinstance(spec, Mapping):
            spec = {} if spec is None else {"axis": spec}
        check_keys(where, spec, ("axis", "slide", "limits"))
        if "axis" in spec and "slide" in spec:
            raise ValueError(f"{where}: give an axis (it turns) or slide (it slides), not both")
        given = spec.get("axis", spec.get("slide"))
        try:
            axis = None if given is None else tuple(map(float, geometry.direction(given)))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        limits = read_limits(where, spec.get("limits"))
        self.joints[name] = Joint(name, limb, axis, "slide" in spec, limits)

    def _check_places(self) -> None:
        placed = [(name, place) for name, place in self.limbs.items() if place is not None]
        for i, (first, place) in enumerate(placed):
            for second, other in placed[:i]:
                if np.allclose(place, other, atol=NEAR):
                    raise ValueError(
                        f"limbs {second!r} and {first!r} are at the same place; tell them apart, "
                        "by their height for example (at: [x, y, z])"
                    )

    def select(self, where: str, wanted: Any, among: str) -> list[str]:
        """The limbs or joints that ``wanted`` names.

        :param wanted: None or ``"all"``, a name, a limb (for its joints), a pattern (``"*.hip"``), or a list
        :param among: ``"limbs"`` or ``"joints"``
        """
        known = list(self.limbs if among == "limbs" else self.joints)
        if not known:
            raise ValueError(f"{where}: the description has no {among}; add them under {among}:")
        if wanted in (None, "all"):
            return known
        chosen: list[str] = []
        for word in map(str, wanted if isinstance(wanted, list) else [wanted]):
            found = [name for name in known if name == word or fnmatchcase(name, word)]
            if not found and among == "joints" and word in self.limbs:
                found = [name for name, joint in self.joints.items() if joint.limb == word]
            if not found:
                meant = "" if "*" in word else suggestion(word, known)
                hint = meant or f"; there are {', '.join(known)}"
                raise ValueError(f"{where}: no {among[:-1]} is called {word!r}{hint}")
            chosen += found
        twice = next((name for name in chosen if chosen.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{where}: {twice!r} is named twice")
        return chosen

    def motion(
        self,
        transform: str,
        isometry: FloatArray | None,
        moves: Mapping[str, str] | None = None,
        choices: tuple[str, ...] = (),
        phase: str | None = None,
    ) -> Motion:
        """Where the transform carries each limb, joint and choice.

        :param moves: what is said by name, ``{hip_1: hip_4, knee_1: -knee_2}``: the transform moves ``hip_1``
            onto ``hip_4``; of a pair that changes places, one direction is enough
        :param choices: the names of discrete choices, whose moves must all be said
        """
        said = self._moves(transform, moves, choices)
        limbs = {}
        for limb in self.limbs:
            target = said[limb][0] if limb in said else self._limb_at_image(transform, isometry, limb)
            if target is not None:
                limbs[limb] = target
        joints = {
            joint.name: self._joint_image(transform, isometry, joint, said.get(joint.name), limbs)
            for joint in self.joints.values()
        }
        missing = next((choice for choice in choices if choice not in said), None)
        if missing is not None:
            raise ValueError(
                f"transform {transform!r}: say where it moves the choice {missing!r} "
                f"(itself, if it stays): moves: {{{missing}: ...}}"
            )
        return Motion(
            transform, isometry, limbs, joints, {choice: said[choice][0] for choice in choices}, phase
        )

    def _moves(
        self, transform: str, moves: Mapping[str, str] | None, choices: tuple[str, ...]
    ) -> dict[str, tuple[str, float]]:
        """The moves as (target, sign), with the way back of each pair of which only one way is said."""
        where = f"transform {transform!r}, moves"
        if not isinstance(moves or {}, Mapping):
            raise ValueError(f"{where}: expected a mapping from name to name, got {moves!r}")
        groups: list[tuple[str, ...]] = [tuple(self.limbs), tuple(self.joints), choices]
        known = [name for group in groups for name in group]
        said: dict[str, tuple[str, float]] = {}
        for name, given in ((str(name), str(given)) for name, given in (moves or {}).items()):
            target = given if given in known else given.removeprefix("-")  # a choice may be called -1
            sign = 1.0 if target == given else -1.0
            for word in (name, target):
                if word not in known:
                    raise ValueError(f"{where}: nothing is called {word!r}{suggestion(word, known)}")
            if not any(name in group and target in group for group in groups):
                raise ValueError(f"{where}: {name!r} cannot move onto {target!r}, which is of another kind")
            if sign < 0 and name not in self.joints:
                raise ValueError(f"{where}: only joints have a sign; write {name}: {target}")
            said[name] = (target, sign)
        targets = {target for target, _ in said.values()}
        for name, (target, sign) in list(said.items()):
            if target not in said and name not in targets:
                said[target] = (name, sign)
        onto: dict[str, str] = {}
        for name, (target, _) in said.items():
            if target in onto:
                raise ValueError(f"{where}: both {onto[target]!r} and {name!r} go to {target!r}")
            onto[target] = name
        return said

    def _limb_at_image(self, transform: str, isometry: FloatArray | None, limb: str) -> str | None:
        place = self.limbs[limb]
        if place is None or isometry is None:
            return None
        image = isometry @ place
        for other, there in self.limbs.items():
            if there is not None and np.allclose(image, there, atol=NEAR):
                return other
        raise ValueError(
            f"transform {transform!r} carries limb {limb!r} from {_tuple(place)} to {_tuple(image)}, "
            "where no limb is; correct the limbs' places, or say which limb it becomes under moves:"
        )

    def _joint_image(
        self,
        transform: str,
        isometry: FloatArray | None,
        joint: Joint,
        said: tuple[str, float] | None,
        limbs: Mapping[str, str],
    ) -> tuple[str, float]:
        if said is not None:
            target = said[0]
        elif joint.limb is not None and joint.limb in limbs:
            limb = limbs[joint.limb]
            target = f"{limb}.{joint.name.removeprefix(f'{joint.limb}.')}"
            if target not in self.joints:
                raise ValueError(
                    f"transform {transform!r} carries joint {joint.name!r} to limb {limb!r}, which has no "
                    f"joint {target!r}; name the joints of both limbs alike, or use moves:"
                )
        else:
            raise ValueError(
                f"transform {transform!r}: nothing says where it moves joint {joint.name!r}; add it under "
                f"moves:, as {joint.name}: OTHER, or {joint.name}: -OTHER where the sign changes"
            )
        by_axis = self._sign_by_axis(transform, isometry, joint, self.joints[target])
        signs = {sign for sign in (said and said[1], by_axis) if sign is not None}
        if not signs:
            raise ValueError(
                f"transform {transform!r}: the sign of joint {joint.name!r} is unknown; give the axes of "
                f"{joint.name!r} and {target!r}, or say the sign under moves:, as {joint.name}: {target} or "
                f"{joint.name}: -{target}"
            )
        if len(signs) == 2:
            raise ValueError(
                f"transform {transform!r}: moves: gives {joint.name!r} on {target!r} another sign than the "
                "joints' axes do; correct one of them"
            )
        return (target, signs.pop())

    def _sign_by_axis(
        self, transform: str, isometry: FloatArray | None, joint: Joint, target: Joint
    ) -> float | None:
        if isometry is None or joint.axis is None or target.axis is None:
            return None
        if joint.slides != target.slides:
            raise ValueError(
                f"transform {transform!r} carries joint {joint.name!r} to {target.name!r}, "
                "but one of them turns and the other slides"
            )
        image = isometry @ np.array(joint.axis)
        if not joint.slides:
            image = image * np.linalg.det(isometry)  # what turns, turns the other way in a mirror
        along = float(image @ np.array(target.axis))
        if abs(abs(along) - 1) > NEAR:
            raise ValueError(
                f"transform {transform!r} carries the axis of joint {joint.name!r} to {_tuple(image)}, but "
                f"{target.name!r} has the axis {_tuple(target.axis)}; correct the axes"
            )
        return 1.0 if along > 0 else -1.0


def read_limits(where: str, value: Any) -> tuple[float, float] | None:
    """``[lowest, highest]``, or None where nothing is given."""
    if value is None:
        return None
    try:
        lowest, highest = map(geometry.number, value)
    except (TypeError, ValueError):
        lowest, highest = 0.0, 0.0
    if not lowest < highest:
        raise ValueError(f"{where}: limits are [lowest, highest], got {value!r}")
    return (lowest, highest)


def _entries(where: str, value: Any) -> list[tuple[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, Mapping | list):
        raise ValueError(f"{where}: expected names, as a list or with a specification each, got {value!r}")
    entries = list(value.items()) if isinstance(value, Mapping) else [(name, None) for name in value]
    for name, _ in entries:
        if not isinstance(name, str) or not name or name.startswith("-"):
            raise ValueError(
                f"{where}: a name is a text that does not begin with '-', got {name!r}; quote it"
            )
    if len({name for name, _ in entries}) < len(entries):
        raise ValueError(f"{where}: a name is given twice")
    return entries


def _place(where: str, value: Any) -> FloatArray:
    try:
        if isinstance(value, Mapping):
            check_keys("at", value, ("degrees",))
            return geometry.rotation("z", geometry.number(value.get("degrees")))[:, 0]
        return geometry.point(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _tuple(vector: Any) -> str:
    return f"({', '.join(f'{round(float(x), 4) + 0.0:g}' for x in vector)})"
