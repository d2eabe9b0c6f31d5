"""The table of all robots in the docs is what the catalog says, and what it claims is tested."""

from __future__ import annotations

import runpy
from pathlib import Path

from ambidex.symmetry import catalog_names
from tests.symmetry.catalog.test_gymnasium_catalog import OTHERS, ROBOTS
from tests.symmetry.catalog.test_robots import SOURCES

MADE = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "robots.py"))


def rows() -> dict[str, list[str]]:
    lines = [line for line in MADE["table"]().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {first.strip("`| "): rest for first, *rest in cells}


def test_the_page_has_the_table_as_it_is_now() -> None:
    page = MADE["PAGE"].read_text(encoding="utf-8")
    assert MADE["page_with"](MADE["table"](), page) == page, "run python docs/robots.py"


def test_every_robot_is_in_it_and_its_claims_are_tested() -> None:
    found = rows()
    assert set(found) == set(catalog_names())
    by_kinematics = {name for name, cells in found.items() if cells[4] == "its kinematics"}
    assert by_kinematics == set(SOURCES)
    simulated = {name: cells[4] for name, cells in found.items() if cells[3] == "the environment"}
    gymnasium = {name: environment for name, (environment, *_) in (ROBOTS | OTHERS).items()}
    assert simulated == {**gymnasium, "ant": "ambidex/Ant-v0", "triangle": "ambidex/Triangle-v0"}
    assert all(cells[5].rstrip(" |") for cells in found.values())


def test_a_row_by_hand() -> None:
    assert rows()["a1"][:5] == [
        "Unitree A1",
        "48, 12",
        "xz",
        "a1_description/a1.urdf, example-robot-data 6.0.0",
        "its kinematics",
    ]
    assert "the centre of mass of base is 8.2 mm from its own image" in rows()["a1"][5]
