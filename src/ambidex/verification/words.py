"""A verification as text."""

from __future__ import annotations

import math
import textwrap

from ambidex.verification.results import ElementResult, TransformResult, Verification

WIDTH = 100
MOST_ELEMENTS = 12


def in_words(found: Verification, *, every_element: bool = False) -> str:
    """What was found: a line per transform, its causes and the elements that do not hold.

    :param every_element: list all elements, not only those that do not hold
    """
    how = {
        "geometry": f"from {found.states} states and their images",
        "observation": f"from {found.states} states, images by the description itself",
        "statistics": "by distributions only",
    }[found.mode]
    lines = [f"{found.environment}, {how}: {found.verdict}", ""]
    for result in found.transforms:
        lines += _transform(result, found, every_element)
    lines += [line for limit in found.limits for line in textwrap.wrap(limit, WIDTH)]
    return "\n".join(lines).rstrip()


def _transform(result: TransformResult, found: Verification, every_element: bool) -> list[str]:
    body = f" ({result.isometry})" if result.isometry not in (None, result.transform) else ""
    tested = [element for element in result.elements if element.verdict != "untested"]
    untested = len(result.elements) - len(tested)
    scores = [element.score for element in tested if element.score is not None]
    highest = max((score for score in scores if not math.isnan(score)), default=0.0)
    note = f", {untested} untested" if untested else ""
    lines = [f"{result.transform}{body}: {result.verdict}, highest score {highest:.3g}{note}"]
    for cause in result.causes:
        where = "" if cause.side in ("robot", "task") else f"{cause.side} {_numbers(cause.elements)}: "
        lines += textwrap.wrap(
            where + str(cause), WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
    shown = [
        element for element in result.elements if every_element or element.verdict in ("broken", "imperfect")
    ]
    measured = [element for element in shown if element.median]
    if measured:
        steps = "".join(f"{_steps(horizon):>11}" for horizon in found.horizons)
        lines.append(f"    {'median residual / spread':<40}{'before':>9}{steps}   worst")
        most = len(measured) if every_element else MOST_ELEMENTS
        lines += [_element(element) for element in measured[:most]]
        if len(measured) > most:
            lines.append(f"    and {len(measured) - most} more")
    return [*lines, ""]


def _element(element: ElementResult) -> str:
    before = "" if element.placed is None or math.isnan(element.placed) else f"{element.placed:.3g}"
    medians = "".join(f"{median:>11.3g}" for median in element.median)
    return f"    {element.name[:29]:<30}{element.verdict:<10}{before:>9}{medians}{max(element.worst):>8.3g}"


def _steps(horizon: int) -> str:
    return "1 step" if horizon == 1 else f"{horizon} steps"


def _numbers(elements: tuple[int, ...]) -> str:
    return ", ".join(map(str, elements))
