"""The table of all robots in catalog-reports.md, made from the heads of the catalog's files.

python docs/robots.py    # writes it anew; a test tells when that is due
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from ambidex.symmetry import catalog_names, load

PAGE = Path(__file__).parent / "catalog-reports.md"
START, END = "<!-- robots.py -->", "<!-- end of robots.py -->"
COLUMNS = (
    "name",
    "robot",
    "observations, actions",
    "transforms",
    "derived from",
    "verified against",
    "not symmetric in the model",
)


def head(name: str) -> str:
    """What a file of the catalog says about itself, on one line per statement."""
    text = (resources.files("ambidex.symmetry") / "catalog" / f"{name}.yaml").read_text(encoding="utf-8")
    lines = [line.removeprefix("#") for line in text.splitlines() if line.startswith("#")]
    return "\n".join(lines).replace("\n   ", " ").replace(";\n", "; ")


def row(name: str) -> str:
    said, group = head(name), load(name)
    first = said.strip().splitlines()[0]
    robot = re.split(r", with the|[.:](?:\s|$)", first)[0]
    model = re.search(r"Derived from (\S+) of (.+?), ", said)
    simulator = re.search(r"--env (\S+)", said)
    uneven = re.search(r"Not symmetric in the published model: (.+)\.", said)
    assert uneven is not None, f"{name}.yaml does not say what is not symmetric in the published model"
    if model is not None:
        source, verified = f"{model[1]}, {model[2]}", "its kinematics"
    elif simulator is not None:
        source, verified = "the environment", simulator[1]
    else:
        source, verified = "the paper", "the paper's tables"
    sizes = f"{group.observation_size}, {group.action_size}"
    cells = (f"`{name}`", robot, sizes, ", ".join(group.names), source, verified, uneven[1])
    return f"| {' | '.join(cells)} |"


def table() -> str:
    rows = "\n".join(row(name) for name in sorted(catalog_names()))
    heading = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"
    return f"{START}\n\n{heading}\n{rows}\n\n{END}"


def page_with(made: str, page: str) -> str:
    before, rest = page.split(START)
    return before + made + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page_with(table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
