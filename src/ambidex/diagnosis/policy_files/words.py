"""An evaluation in words and numbers."""

from __future__ import annotations

from ambidex.diagnosis.policy_files.evaluation import MEASURES, PolicyEvaluation, TransformEvaluation

HEADINGS = {
    "canonical": "self-symmetric",
    "equivariance": "visited",
    "gait": "gait",
    "timing": "timing",
}
PLACES = {
    "canonical": "in self-symmetric states",
    "equivariance": "in visited states",
    "gait": "in how far it moves",
    "timing": "in when it moves",
}
SIGNED = "gait"  # which of the two moves further


def in_words(found: PolicyEvaluation) -> str:
    """A table for each transform, what is furthest from symmetric, and what the numbers are."""
    lines = [
        f"{found.policy} by {found.symmetry}: {found.states:,} of {found.logged:,} logged states; "
        "0 is symmetric"
    ]
    for one in found.transforms:
        lines += ["", f"{one.transform}, {one.words}", *_table(found, one)]
    return "\n".join([*lines, "", verdict(found), "", *_legend(found)])


def verdict(found: PolicyEvaluation, threshold: float | None = None) -> str:
    """The measure that is furthest from symmetric, and whether that is past the threshold."""
    worst = found.worst
    what = f"{worst.joint} under {worst.transform} {PLACES[worst.measure]}"
    if threshold is None:
        return f"Furthest from symmetric: {what}, {worst.value:.2f}."
    past = "past" if worst.value > threshold else "within"
    return f"{past} the threshold {threshold:g}: {what}, {worst.value:.2f}"


def number(measure: str, value: float) -> str:
    """Two digits, with a sign where it says which of two moves further."""
    text = f"{value:+.2f}" if measure == SIGNED else f"{value:.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def _table(found: PolicyEvaluation, one: TransformEvaluation) -> list[str]:
    shown = [measure for measure in MEASURES if getattr(one, measure) is not None]
    width = max(len("joint"), *map(len, found.joints))
    lines = [f"  {'joint':<{width}}" + "".join(f"  {HEADINGS[measure]:>14}" for measure in shown)]
    for row, joint in enumerate(found.joints):
        cells = (f"  {number(measure, getattr(one, measure)[row]):>14}" for measure in shown)
        lines.append(f"  {joint:<{width}}" + "".join(cells))
    if found.period is not None and one.delay is not None:
        share = one.delay / found.period
        lines.append(
            f"  the gait repeats every {found.period} rows and follows its image by {one.delay}, "
            f"{share:.2f} of a period"
        )
    return lines


def _legend(found: PolicyEvaluation) -> list[str]:
    lines = [
        "self-symmetric: mean |a - g(a)| in means of a state and its images;",
        "visited: mean |pi(f(s)) - g(pi(s))|; both in spreads of the action over the log.",
        f"gait: 2 (X - X') / (X + X') of how far {_whose(found)} and those of its counterpart go.",
    ]
    if found.period is not None:
        lines.append("timing: mean distance from the image at the delay that fits best, in spreads.")
    else:
        lines.append("There is no timing: the log does not repeat itself.")
    lines.append("gait and timing are the robot's, too, and those of what it was told to do in the log.")
    return lines


def _whose(found: PolicyEvaluation) -> str:
    return "the joint's positions" if found.motion_of == "positions" else "the joint's commands"
