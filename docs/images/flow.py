"""Draws flow.svg: python docs/images/flow.py"""

from __future__ import annotations

from pathlib import Path

WIDTH, HEIGHT, GAP, TOP = 150, 92, 34, 20
INK, PAPER, LINE = "#22313f", "#ffffff", "#546e7a"

# A row of steps: the title, the folder, and what it does.
STEPS = (
    ("describe", "symmetry/", ("transforms, groups,", "layouts by name")),
    ("derive, verify", "derivation/, verification/", ("from a model,", "against a simulator")),
    ("learn", "learn/", ("SymmetricPPO",)),
    ("experiment", "experiment/", ("train, resume,", "sweep")),
    ("report, diagnose", "report/, diagnosis/", ("statistics, the page,", "which actuator is off")),
)
INSIDE = (
    ("roll out", "update/fast/rollout", ("states, actions,", "returns")),
    ("fit", "fits/, actuators/", ("action maps that", "follow the robot")),
    ("loss", "losses/", ("states and images", "stacked")),
    ("update", "update/", ("autograd, or the", "hand-written pass")),
)


def box(x: float, y: float, title: str, place: str, lines: tuple[str, ...], fill: str) -> str:
    middle = x + WIDTH / 2
    texts = [(title, 24, 15, "bold", INK), (place, 42, 10.5, "normal", LINE)]
    texts += [(line, 62 + 15 * number, 12, "normal", INK) for number, line in enumerate(lines)]
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="{LINE}"/>'
        + "".join(
            f'<text x="{middle}" y="{y + down}" font-size="{size}" font-weight="{weight}" '
            f'fill="{colour}">{text}</text>'
            for text, down, size, weight, colour in texts
        )
    )


def path(points: str) -> str:
    return f'<path d="{points}" fill="none" stroke="{LINE}" stroke-width="1.6" marker-end="url(#arrow)"/>'


def row(steps: tuple[tuple[str, str, tuple[str, ...]], ...], left: float, y: float, fill: str) -> list[str]:
    parts = []
    for number, step in enumerate(steps):
        x = left + number * (WIDTH + GAP)
        parts.append(box(x, y, *step, fill))
        if number:
            parts.append(path(f"M{x - GAP + 2} {y + HEIGHT / 2} H{x - 4}"))
    return parts


def drawing() -> str:
    total = len(STEPS) * WIDTH + (len(STEPS) - 1) * GAP + 2 * TOP
    below = TOP + HEIGHT + 66
    left = (total - len(INSIDE) * WIDTH - (len(INSIDE) - 1) * GAP) / 2
    right = left + len(INSIDE) * (WIDTH + GAP) - GAP
    bottom = below + HEIGHT
    learn = TOP + 2 * (WIDTH + GAP) + WIDTH / 2
    parts = row(STEPS, TOP, TOP, "#e3eef5")
    edge, top, breadth, depth = left - 16, below - 26, right - left + 32, HEIGHT + 84
    parts.append(
        f'<rect x="{edge}" y="{top}" width="{breadth}" height="{depth}" rx="12" fill="none" '
        f'stroke="{LINE}" stroke-dasharray="5 4"/>'
    )
    parts.append(path(f"M{learn} {TOP + HEIGHT} V{top - 4}"))
    parts += row(INSIDE, left, below, "#f6efdf")
    parts.append(path(f"M{right - WIDTH / 2} {bottom} V{bottom + 24} H{left + WIDTH / 2} V{bottom + 4}"))
    parts.append(
        f'<text x="{total / 2}" y="{bottom + 44}" font-size="12" fill="{INK}">every iteration: '
        "the maps follow the robot, and the policy follows the maps</text>"
    )
    height = top + depth + TOP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" '
        'font-family="Helvetica, Arial, sans-serif" text-anchor="middle">'
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>'
        f'<rect width="{total}" height="{height}" fill="{PAPER}"/>' + "".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    (Path(__file__).parent / "flow.svg").write_text(drawing())
