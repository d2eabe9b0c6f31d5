"""A diagnosis as sentences."""

from __future__ import annotations

import textwrap

from ambidex.report.diagnose import Actuator, Diagnosis, Transform
from ambidex.report.wording import listed, number, score, steps

MUCH_BLOCKED, LITTLE_BLOCKED = 0.5, 0.01  # shares of the samples
ALIKE = 0.02  # returns nearer than this share of the larger one
FOLLOWED, LOOSELY = 0.8, 0.4  # mean agreements


def in_words(diagnosis: Diagnosis, width: int = 100) -> str:
    """What the diagnosis says, the faults first."""
    faults = [one for one in diagnosis.actuators if one.is_off]
    sound = [one for one in diagnosis.actuators if not one.is_off and one.scale_known]
    unknown = [one for one in diagnosis.actuators if not one.is_off and not one.scale_known]
    faults.sort(key=lambda one: -max(one.scale, 1 / one.scale))
    lines = [f"{diagnosis.title}; {diagnosis.states:,} visited states", ""]
    lines += [_fault(one) for one in faults] or ["No actuator differs from its counterparts beyond chance."]
    if sound:
        lines += [
            "",
            f"As their counterparts: {', '.join(f'{_name(one)} ({_scale(one)})' for one in sound)}.",
        ]
    if unknown:
        lines += ["", "Not known:"]
        lines += [f"{_name(one)}: {one.reason}." for one in unknown]
    lines += ["", *_remarks(diagnosis), "", *_symmetry(diagnosis)]
    return "\n".join(textwrap.fill(line, width, subsequent_indent="    ") for line in lines)


def short_name(one: Actuator) -> str:
    """``3, back left knee``; the description's own name where it says nothing about the place."""
    joint = one.name.partition(".")[2] or one.name
    return f"{one.index}, {one.place} {joint}" if one.place else f"{one.index}, {one.name}"


def _name(one: Actuator) -> str:
    return f"joint {short_name(one)}"


def _scale(one: Actuator) -> str:
    low, high = one.scale_interval
    half = (high - low) / 2
    decimals = 2 if half < 0.095 else 1
    return f"{number(one.scale, decimals)} ± {number(max(half, 0.01), decimals)}"


def _fault(one: Actuator) -> str:
    parts = []
    if one.scale_is_off:
        parts.append(f"needs {_scale(one)} times the command of its counterparts")
    if one.offset_is_off:
        half = (one.offset_interval[1] - one.offset_interval[0]) / 2
        where = f"{number(one.offset, 2)} ± {number(max(half, 0.01), 2)} where they need 0"
        parts.append(where if parts else f"needs {where}")
    text = f"{_name(one)}: {', and '.join(parts)}."
    if one.true_scale is not None and one.scale_is_off:
        text += f" In truth it is {number(one.true_scale, 2)} times."
    if one.saturated > 0.05:
        text += f" It is at the end of its range in {one.saturated:.0%} of the states."
    if one.moved is not None and one.scale_is_off:
        text += (
            f" The training's own fit went from {number(one.moved.first, 2)} to {number(one.moved.last, 2)}, "
            f"most of it by step {steps(one.moved.settled)}."
        )
    return text


def _remarks(diagnosis: Diagnosis) -> list[str]:
    remarks = []
    if any(one.scale_known for one in diagnosis.actuators):
        remarks.append(
            "± is the 95 % interval of what this policy does. The robot is as described as far as the policy "
            "is good: while it still learns, expect more."
        )
    for members in diagnosis.shared_offsets:
        names = listed([str(member) for member in members])
        remarks.append(
            f"Of joints {names} only the differences of their offsets are known: moving all of them the same "
            "way changes nothing that a symmetry could see."
        )
    least = diagnosis.least_followed
    others = [f"{one.name} {number(one.agreement, 2)}" for one in diagnosis.transforms if one is not least]
    remarks.append(
        f"The policy follows {least.name} {'least: ' if others else 'with an '}agreement "
        f"{number(least.agreement, 2)} (1 is exact, 0 unrelated)"
        + (f"; {listed(others)}." if others else ".")
    )
    return remarks


def _symmetry(diagnosis: Diagnosis) -> list[str]:
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
    text = (
        f"The values of a state and of its image differ by {number(now[least], 2)} ({least}) to "
        f"{number(now[most], 2)} ({most}) of the values' own spread"
    )
    if moved:
        first, last = (sum(getattr(one, end) for one in moved) / len(moved) for end in ("first", "last"))
        text += f"; in training the mean difference went from {score(first)} to {score(last)}"
    return f"{text}."


def _return(diagnosis: Diagnosis) -> str:
    if diagnosis.best_return is None:
        return ""
    own = score(diagnosis.best_return)
    if diagnosis.plain_return is None:
        return (
            f"Best return {own}. Whether the symmetry helped, only plain PPO on the same scenario and seed "
            "can tell: train it beside this run (a sweep does)."
        )
    plain = score(diagnosis.plain_return)
    gain = diagnosis.best_return - diagnosis.plain_return
    if abs(gain) < ALIKE * max(abs(diagnosis.best_return), abs(diagnosis.plain_return)):
        verdict = "made no difference"
    else:
        verdict = "helped" if gain > 0 else "hurt"
    return f"Best return {own}, plain PPO with the same seed {plain}: in this one run the symmetry {verdict}."
