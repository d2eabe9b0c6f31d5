"""What a robot's own motion tells about it: a diagnosis from logged transitions, without any policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ambidex.actuators.driven.limbs import limb_views
from ambidex.actuators.identification import identify, is_driven
from ambidex.actuators.transitions import orbit_views
from ambidex.common.arrays import FloatArray
from ambidex.diagnosis.diagnosis import Diagnosis, actuators_of, shared_offsets_of
from ambidex.diagnosis.logged import Log, read_transitions
from ambidex.symmetry import SymmetryGroup, load


@dataclass(frozen=True)
class MotionDiagnosis(Diagnosis):
    """:param transitions: how many it rests on
    :param offsets: whether offsets were looked for
    :param driven: whether the description says what its motors make of a command
    """

    transitions: int
    offsets: bool
    driven: bool = False


def diagnose_transitions(
    path: Path, *, symmetry: str, offsets: bool = False, clip: tuple[float, float] | None = None
) -> MotionDiagnosis:
    """Diagnose a robot from a file of transitions (s, a, s').

    :param path: see `read_transitions`
    :param symmetry: a description's file or catalog name
    :param offsets: whether actuators may have offsets. Contacts that the regression does not describe show
        up as offsets: leave them out for robots that walk
    :param clip: the range to which the robot clips the logged commands, if they were logged before that
    """
    if clip is not None and not clip[0] < clip[1]:
        raise ValueError(f"the commands are clipped to a range, but {clip[0]:g} is not below {clip[1]:g}")
    group = load(symmetry)
    if isinstance(group.observation_size, dict):
        raise ValueError(
            f"{symmetry} describes Dict observations; join them into one vector, there and in the log"
        )
    log = read_transitions(path, observation_size=group.observation_size, action_size=group.action_size)
    if clip is not None:
        log = replace(log, actions=log.actions.clip(*clip))
    robot = group.layout.robot if group.layout else ""
    return diagnose_motion(robot or Path(symmetry).stem, group, log, offsets=offsets)


def diagnose_motion(
    robot: str,
    group: SymmetryGroup,
    log: Log,
    *,
    means: FloatArray | None = None,
    offsets: bool = False,
    true_scales: FloatArray | None = None,
) -> MotionDiagnosis:
    """Diagnose a robot from its steps.

    :param robot: its name, for the title
    :param group: its ideal symmetries, described by names; see `can_tell`
    :param means: the policy's mean actions, where a policy is known
    :param offsets: whether actuators may have offsets
    :param true_scales: where they are known
    """
    assert not isinstance(log.observations, dict)
    assert not isinstance(log.next_observations, dict)
    found = identify(
        group, log.observations, log.actions, log.next_observations, means=means, offsets=offsets
    )
    return MotionDiagnosis(
        title=f"{robot}, {len(log):,} transitions",
        actuators=actuators_of(found, true_scales),
        shared_offsets=shared_offsets_of(found),
        transitions=len(log),
        offsets=offsets,
        driven=is_driven(group),
    )


def can_tell(group: SymmetryGroup) -> bool:
    """Whether the description says enough about the joints that actions drive, and about their drive."""
    try:
        if is_driven(group):
            limb_views(group)
        else:
            orbit_views(group)
    except ValueError:
        return False
    return True
