"""The robot's actuators with their deviations, as a picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ambidex.common import figures
from ambidex.diagnosis.diagnosis import ActuatorDiagnosis, Diagnosis
from ambidex.diagnosis.words import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LESS, SAME, MORE, UNKNOWN, TRUTH = "#1f5fd6", "#8a9099", "#e8710a", "#d7dae0", "#16181d"
LIMB, NOTE = "#c3c8d0", "#5f6670"
NEAREST = np.radians(35.0)  # limbs are drawn at least so far apart

LEGEND = {
    MORE: "needs more than its counterparts",
    LESS: "needs less",
    SAME: "like its counterparts",
    UNKNOWN: "not known",
}


def save_figure(diagnosis: Diagnosis, path: Path) -> None:
    """Draw the robot from above (where its description says where limbs are) beside all intervals.

    :param path: its ending chooses the format: .png, .svg, .pdf
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    places = _places(diagnosis)
    panels: list[tuple[float, Callable[[Axes, Diagnosis], None]]] = [(1.0, _draw_scales)]
    if places:
        reach = max(float(np.hypot(*place)) for place in places.values())
        panels.insert(0, (max(1.25, 0.3 * (reach + 0.7)), partial(_draw_robot, places=places)))
    if diagnosis.knows_offsets:
        panels.append((0.8, _draw_offsets))
    widths = [width for width, _ in panels]
    height = max(3.6, 1.5 + 0.34 * len(diagnosis.actuators))
    figure = Figure(figsize=(4.0 * sum(widths), height), layout="constrained")
    axes = figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)
    for panel, (_, draw) in zip(axes[0], panels, strict=True):
        draw(panel, diagnosis)
    present = {colour(one) for one in diagnosis.actuators}
    figure.legend(
        handles=[Patch(color=ink, label=words) for ink, words in LEGEND.items() if ink in present],
        loc="outside lower left",
        ncols=4,
        frameon=False,
        fontsize=8,
    )
    title = figures.wrapped(diagnosis.title, 4.0 * sum(widths), points=11)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    figures.save(figure, path)


def colour(one: ActuatorDiagnosis) -> str:
    if not one.scale_known:
        return UNKNOWN
    if not one.scale_is_off:
        return SAME
    return MORE if one.scale > 1 else LESS


def _places(diagnosis: Diagnosis) -> dict[int, tuple[float, float]]:
    """Where each actuator is drawn: those of a limb one after the other outward; x is up, y to the left."""
    limbs: dict[tuple[float, float], list[int]] = {}
    for one in diagnosis.actuators:
        if one.at is None:
            return {}
        limbs.setdefault(one.at, []).append(one.index)
    places: dict[int, tuple[float, float]] = {}
    for limb, angle in zip(limbs, _directions(list(limbs)), strict=True):
        for number, index in enumerate(limbs[limb], start=1):
            outward = 0.25 + 0.9 * number
            places[index] = (-outward * np.sin(angle), outward * np.cos(angle))
    return places


def _directions(limbs: list[tuple[float, float]]) -> list[float]:
    """An angle for each limb, from the front to the left: its own, moved where another one is too near.

    A limb in the middle gets the widest gap.
    """
    own = [float(np.arctan2(y, x)) for x, y in limbs]
    central = [number for number, at in enumerate(limbs) if not np.hypot(*at)]
    outer = sorted(set(range(len(limbs))) - set(central), key=lambda number: (own[number], number))
    room = min(NEAREST, 2 * np.pi / max(len(limbs), 1))
    for _ in range(100):
        for first, second in zip(outer, [*outer[1:], *outer[:1]], strict=True):
            gap = (own[second] - own[first]) % (2 * np.pi)
            if first != second and gap < room:
                own[first] -= (room - gap) / 2
                own[second] += (room - gap) / 2
    for number in central:
        around = sorted(own[other] % (2 * np.pi) for other in outer) or [np.pi]
        gaps = [
            (following - angle) % (2 * np.pi) or 2 * np.pi
            for angle, following in zip(around, [*around[1:], around[0]], strict=True)
        ]
        widest = int(np.argmax(gaps))
        own[number] = around[widest] + gaps[widest] / 2
        outer.append(number)
    return own


def _draw_robot(axes: Axes, diagnosis: Diagnosis, places: dict[int, tuple[float, float]]) -> None:
    from matplotlib.patches import Circle

    reach = max(float(np.hypot(*place)) for place in places.values())
    for place in places.values():
        axes.plot([0, place[0]], [0, place[1]], color=LIMB, linewidth=5, solid_capstyle="round", zorder=1)
    axes.add_patch(Circle((0, 0), 0.5, facecolor="#eef0f4", edgecolor=LIMB, linewidth=2, zorder=2))
    axes.annotate("", (0, 0.36), (0, -0.3), arrowprops={"arrowstyle": "-|>", "color": NOTE}, zorder=3)
    for one in diagnosis.actuators:
        x, y = places[one.index]
        axes.scatter([x], [y], s=950, color=colour(one), edgecolor="white", linewidth=1.5, zorder=4)
        inside = f"{one.index}\n" + (f"×{one.scale:.2f}" if one.scale_known else "?")
        ink = TRUTH if not one.scale_known else "white"
        axes.text(x, y, inside, ha="center", va="center", fontsize=7, color=ink, weight="bold", zorder=5)
    limit = reach + 0.7
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", title="from above, front is up")
    axes.set_axis_off()


def _draw_scales(axes: Axes, diagnosis: Diagnosis) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.axvline(1, color=LIMB, linewidth=1, zorder=0)
    everything = [1.1, 1 / 1.1]
    for row, one in enumerate(diagnosis.actuators):
        if one.scale_interval is None:
            axes.text(1, row, "not known", ha="center", va="center", fontsize=8, color=NOTE)
            continue
        low, high = one.scale_interval
        axes.plot([low, high], [row, row], color=colour(one), linewidth=2.5, solid_capstyle="round")
        axes.scatter([one.scale], [row], color=colour(one), s=28, zorder=3)
        everything += [low, high]
        if one.true_scale is not None:
            axes.scatter([one.true_scale], [row], marker="|", s=160, color=TRUTH, zorder=4)
            everything.append(one.true_scale)
    largest = 1.1 * max(max(value, 1 / value) for value in everything)
    axes.set_xscale("log")
    axes.set_xlim(1 / largest, largest)
    axes.xaxis.set_major_locator(FixedLocator(_ratios_up_to(largest)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2f}".rstrip("0").rstrip(".")))
    _label_rows(axes, [short_name(one) for one in diagnosis.actuators])
    known_truth = any(one.true_scale is not None for one in diagnosis.actuators)
    axes.set_title("scale, beside its counterparts")
    axes.set_xlabel("times their command" + (" (bar: truth)" if known_truth else ""))


def _draw_offsets(axes: Axes, diagnosis: Diagnosis) -> None:
    axes.axvline(0, color=LIMB, linewidth=1, zorder=0)
    largest = 0.05
    for row, one in enumerate(diagnosis.actuators):
        if one.offset_interval is None:
            continue
        low, high = one.offset_interval
        ink = SAME if not one.offset_is_off else MORE if one.offset > 0 else LESS
        axes.plot([low, high], [row, row], color=ink, linewidth=2.5, solid_capstyle="round")
        axes.scatter([one.offset], [row], color=ink, s=28, zorder=3)
        largest = max(largest, abs(low), abs(high))
    axes.set_xlim(-1.15 * largest, 1.15 * largest)
    _label_rows(axes, [""] * len(diagnosis.actuators))
    axes.set_title("offset")
    axes.set_xlabel("units of action")


def _label_rows(axes: Axes, labels: list[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _ratios_up_to(largest: float) -> list[float]:
    """1 and a few round ratios to both sides of it."""
    chosen = [ratio for ratio in (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0) if ratio <= largest][-2:]
    return [1 / ratio for ratio in reversed(chosen)] + [1.0, *chosen]
