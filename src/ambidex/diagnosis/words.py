"""A diagnosis as sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial

from ambidex.actuators.scales import LOADED
from ambidex.common.numerals import number, score, steps
from ambidex.common.words import listed
from ambidex.diagnosis.diagnosis import ActuatorDiagnosis, Diagnosis
from ambidex.diagnosis.motion import MotionDiagnosis
from ambidex.diagnosis.policy import PolicyDiagnosis, Transform

MUCH_BLOCKED, LITTLE_BLOCKED = 0.5, 0.01  # shares of the samples
ALIKE = 0.02  # returns nearer than this share of the larger one
FOLLOWED, LOOSELY = 0.8, 0.4  # mean agreements
EXACTLY = 0.005  # what two digits do not show
_OF_A_COMMAND = (
    "A scale says how strong a motor is beside its counterparts. A limb that is heavier is told from that "
    "by how joints answer each other's commands, as far as they do."
)
_OF_A_DRIVE = (
    "A scale is the inverse of the strength of a motor: how much more torque it has to be asked for than its "
    "counterparts, after what its drive makes of the command and what the other joints of its limb do."
)


def in_words(diagnosis: PolicyDiagnosis | MotionDiagnosis, width: int = 100) -> str:
    """What the diagnosis says, the faults first."""
    paragraphs = _of_motion(diagnosis) if isinstance(diagnosis, MotionDiagnosis) else _of_policy(diagnosis)
    wrapped = [
        "\n".join(textwrap.fill(line, width, subsequent_indent="    ") for line in lines)
        for lines in paragraphs
        if lines
    ]
    return "\n\n".join(wrapped)


def _of_policy(diagnosis: PolicyDiagnosis) -> list[list[str]]:
    return [
        [f"{diagnosis.title}; {diagnosis.states:,} visited states"],
        *_actuators(diagnosis, partial(_policy_fault, diagnosis)),
        _motion_beside(diagnosis),
        _policy_remarks(diagnosis),
        _symmetry(diagnosis),
    ]


def _of_motion(diagnosis: MotionDiagnosis) -> list[list[str]]:
    return [[diagnosis.title], *_actuators(diagnosis, _fault), _motion_remarks(diagnosis)]


def _actuators(diagnosis: Diagnosis, fault: Callable[[ActuatorDiagnosis], str]) -> list[list[str]]:
    """The faults, what is sound and what is not known.

    :param fault: says what is off with an actuator
    """
    faults = [one for one in diagnosis.actuators if one.is_off]
    sound = [one for one in diagnosis.actuators if not one.is_off and one.scale_known]
    unknown = [one for one in diagnosis.actuators if not one.is_off and not one.scale_known]
    faults.sort(key=lambda one: -round(max(one.scale, 1 / one.scale), 6))  # of a pair, the first one first
    nothing = "No actuator differs from its counterparts by 5 % or more, beyond chance."
    alike = ", ".join(f"{_name(one)} ({_scale(one)})" for one in sound)
    return [
        [fault(one) for one in faults] or ([nothing] if sound else []),
        [f"As their counterparts: {alike}."] if sound else [],
        ["Not known:", *(f"{_name(one)}: {one.reason}." for one in unknown)] if unknown else [],
    ]


def short_name(one: ActuatorDiagnosis) -> str:
    """``3, back left knee``; the description's own name where it says nothing about the place."""
    joint = one.name.partition(".")[2] or one.name
    return f"{one.index}, {one.place} {joint}" if one.place else f"{one.index}, {one.name}"


def _name(one: ActuatorDiagnosis) -> str:
    return f"joint {short_name(one)}"


def _scale(one: ActuatorDiagnosis) -> str:
    half = _half_width(one.scale_interval)
    decimals = 2 if half < 0.095 else 1
    return f"{number(one.scale, decimals)} ± {number(max(half, 0.01), decimals)}"


def _half_width(interval: tuple[float, float] | None) -> float:
    assert interval is not None  # only what is known is told
    low, high = interval
    return (high - low) / 2


def _fault(one: ActuatorDiagnosis, needs: str = "needs") -> str:
    parts = []
    if one.scale_is_off:
        parts.append(f"{_scale(one)} times the command of its counterparts")
    if one.offset_is_off:
        half = _half_width(one.offset_interval)
        offset = f"{number(one.offset, 2)} ± {number(max(half, 0.01), 2)}"
        parts.append(f"{offset} where {'they' if parts else 'its counterparts'} need 0")
    return f"{_name(one)}: {needs} {', and '.join(parts)}."


def _policy_fault(diagnosis: PolicyDiagnosis, one: ActuatorDiagnosis) -> str:
    """An actuator that is off, unless the robot contradicts, and what the policy does with it."""
    moved = _contradiction(diagnosis, one)
    behaviour = diagnosis.behaviours[one.index]
    if moved is None:
        text = _fault(one)
    else:
        text = _fault(one, "the policy acts as if it needed")
        text += f" But the robot's own motion says {_scale(moved)} times."
    if one.true_scale is not None and one.scale_is_off:
        text += f" In truth it is {number(one.true_scale, 2)} times."
    if behaviour.saturated > 0.05:
        text += f" It is at the end of its range in {behaviour.saturated:.0%} of the states."
    if behaviour.moved is not None and one.scale_is_off:
        first, last = number(behaviour.moved.first, 2), number(behaviour.moved.last, 2)
        went = f"went from {first} to {last}, most of it by step {steps(behaviour.moved.settled)}"
        text += f" The training's own fit {went if first != last else f'had {last} from its first step on'}."
    return text


def _contradiction(diagnosis: PolicyDiagnosis, one: ActuatorDiagnosis) -> ActuatorDiagnosis | None:
    """What the robot's own motion says of an actuator, where it cannot be what the policy says."""
    if diagnosis.motion is None:
        return None
    moved = diagnosis.motion.actuators[one.index]
    return moved if one.contradicts(moved) else None


def _motion_beside(diagnosis: PolicyDiagnosis) -> list[str]:
    """What the robot's own motion says of actuators that the policy does not find off."""
    if diagnosis.motion is None:
        return []
    lines = []
    for one, moved in zip(diagnosis.actuators, diagnosis.motion.actuators, strict=True):
        if one.contradicts(moved) and not one.is_off:
            policy = f"the policy acts as if it were {_scale(one)}"
        elif moved.scale_is_off and not one.scale_known:
            policy = "the policy does not tell"
        else:
            continue
        needs = f"{_scale(moved)} times its counterparts' command"
        lines.append(f"{_name(one)}: the robot's own motion says it needs {needs}, {policy}.")
    if any(_contradiction(diagnosis, one) for one in diagnosis.actuators):
        lines.append("The motion is about the robot, the policy about what has been learned of it so far.")
    if loaded := [_name(one) for one in diagnosis.motion.actuators if one.reason == LOADED]:
        lines.append(f"Of {listed(loaded)} the robot's own motion says: {LOADED}.")
    if lines:
        return lines
    if any(one.scale_known for one in diagnosis.motion.actuators):
        return ["The robot's own motion in these states does not contradict the policy."]
    return ["The robot's own motion in these states does not tell about its actuators; more states may."]


def _motion_remarks(diagnosis: MotionDiagnosis) -> list[str]:
    known = [one for one in diagnosis.actuators if one.scale_known]
    if not known:
        return []
    return [
        "± is the 95 % interval of the estimate: the noise of these transitions, not what the regression "
        "leaves out. It is about what the robot does, whatever policy moved it.",
        _OF_A_DRIVE if diagnosis.driven else _OF_A_COMMAND,
        _ratios(known),
        *_shared_offsets(diagnosis),
        *([] if diagnosis.driven else _offsets_found(known) if diagnosis.offsets else _offsets_left_out()),
    ]


def _ratios(known: list[ActuatorDiagnosis]) -> str:
    """That scales are relative, with the largest ratio where something is off."""
    text = "Only ratios between counterparts are known; the geometric mean of their scales is 1"
    scales = {one.index: one.scale for one in known}
    pairs = [(one.index, other) for one in known for other in one.counterparts if other in scales]
    if not pairs or not any(one.scale_is_off for one in known):
        return f"{text}."
    more, less = max(pairs, key=lambda pair: scales[pair[0]] / scales[pair[1]])
    return (
        f"{text}, so a weak joint makes the others look strong. The largest ratio: joint {more} needs "
        f"{number(scales[more] / scales[less], 2)} times the command of joint {less}."
    )


def _offsets_found(known: list[ActuatorDiagnosis]) -> list[str]:
    uncertain = [str(one.index) for one in known if not one.offset_known]
    return [
        *([f"Too uncertain to tell: the offset of joint {listed(uncertain)}."] if uncertain else []),
        "Offsets are what is left when all else is explained. Contacts that the regression does not describe "
        "show up as offsets: on a walking ant false ones of up to 0.05 were seen.",
    ]


def _offsets_left_out() -> list[str]:
    return [
        "Offsets were left out (--offsets looks for them): contacts that the regression does not describe "
        "show up as offsets, on a walking ant false ones of up to 0.05."
    ]


def _policy_remarks(diagnosis: PolicyDiagnosis) -> list[str]:
    remarks = []
    if any(one.scale_known for one in diagnosis.actuators):
        remarks.append(
            "± is the 95 % interval of what this policy does. The robot is as described as far as the policy "
            "is good: while it still learns, expect more."
        )
    remarks += _shared_offsets(diagnosis)
    least = diagnosis.least_followed
    if least.agreement > 1 - EXACTLY:
        return [*remarks, "The policy follows every transform exactly, as an equivariant network does."]
    others = [f"{one.name} {number(one.agreement, 2)}" for one in diagnosis.transforms if one is not least]
    remarks.append(
        f"The policy follows {least.name} {'least: ' if others else 'with an '}agreement "
        f"{number(least.agreement, 2)} (1 is exact, 0 unrelated)"
        + (f"; {listed(others)}." if others else ".")
    )
    return remarks


def _shared_offsets(diagnosis: Diagnosis) -> list[str]:
    return [
        f"Of joints {listed([str(member) for member in members])} only the differences of their offsets are "
        "known: moving all of them the same way changes nothing that a symmetry could see."
        for members in diagnosis.shared_offsets
    ]


def _symmetry(diagnosis: PolicyDiagnosis) -> list[str]:
    """Whether the symmetry helped or hurt, as far as one run can tell."""
    lines = []
    lines.append(_values(diagnosis.transforms))
    blocked = [one for one in diagnosis.transforms if one.blocked is not None]
    worst = max((one.blocked or 0 for one in blocked), default=0.0)
    if blocked and worst < LITTLE_BLOCKED:
        lines.append("The value gate blocked next to nothing: symmetric states were worth about the same.")
    elif blocked:
        shares = listed([f"{one.blocked:.0%} of {one.name}" for one in blocked])
        lines.append(f"In the second half of training the value gate blocked {shares}.")
    refused = [one.name for one in blocked if (one.blocked or 0) > MUCH_BLOCKED]
    if refused:
        lines.append(
            f"Much of {listed(refused)} was refused: there the robot's two sides are not worth the same, and "
            "a smaller policy weight or none is worth a try."
        )
    mean = sum(one.agreement for one in diagnosis.transforms) / len(diagnosis.transforms)
    if mean >= FOLLOWED:
        lines.append("On the whole the policy is symmetric once its actuators are calibrated.")
    elif not refused:
        lines.append(
            f"Even with calibrated actuators the policy is {'only roughly' if mean > LOOSELY else 'hardly'} "
            f"symmetric (mean agreement {number(mean, 2)}): it has not learned enough yet, or the robot "
            "differs in more than those."
        )
    lines.append(_return(diagnosis))
    return [line for line in lines if line]


def _values(transforms: tuple[Transform, ...]) -> str:
    """How differently the critic values a state and its image."""
    now = {one.name: one.value_distance for one in transforms if one.value_distance is not None}
    moved = [one.value_distance_moved for one in transforms if one.value_distance_moved is not None]
    if not now:
        return ""
    least, most = min(now, key=lambda name: now[name]), max(now, key=lambda name: now[name])
    if now[most] < EXACTLY:
        return "The values of a state and of its images are the same."
    text = (
        f"The values of a state and of its image differ by {number(now[least], 2)} ({least}) to "
        f"{number(now[most], 2)} ({most}) of the values' own spread"
    )
    if moved:
        first, last = (sum(getattr(one, end) for one in moved) / len(moved) for end in ("first", "last"))
        text += f"; in training the mean difference went from {score(first)} to {score(last)}"
    return f"{text}."


def _return(diagnosis: PolicyDiagnosis) -> str:
    if diagnosis.best_return is None:
        return ""
    own = score(diagnosis.best_return)
    if diagnosis.plain_return is None:
        return (
            f"Best return {own}. Whether the symmetry helped, only plain {diagnosis.plain_name} on the same "
            "scenario and seed can tell: train it beside this run (a sweep does)."
        )
    plain = score(diagnosis.plain_return)
    gain = diagnosis.best_return - diagnosis.plain_return
    both = f"Best return {own}, plain {diagnosis.plain_name} with the same seed {plain}"
    if abs(gain) < ALIKE * max(abs(diagnosis.best_return), abs(diagnosis.plain_return)):
        return f"{both}: too near for one seed to tell; `ambidex report` compares all."
    return f"{both}: in this one run the symmetry {'helped' if gain > 0 else 'hurt'}."
