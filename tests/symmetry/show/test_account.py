from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from ambidex.cli.command_line import app
from ambidex.symmetry import IndexMap, Layout, Symmetry, SymmetryGroup, load
from ambidex.symmetry.isometry import named, reflection
from ambidex.symmetry.show.account import describe, description_data, in_words
from ambidex.symmetry.show.picture import SAME, TURNED, draw
from tests.symmetry.tables import ANT, ant, ant_tables


def cells(text: str, start: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.strip().startswith(start))
    return line.split()


def test_the_account_names_elements_orders_and_kinds():
    text = describe(load("ant"))
    assert text.startswith("ant: 28 observations, 8 actions, 7 transforms (with the identity a whole group)")
    assert "r90   order 4  rotation about z by 90 degrees" in text
    assert "y=x   order 2  reflection in the plane y=x" in text


def test_the_table_of_products_is_that_of_the_square():
    """By geometry: a reflection after another is the turn by twice the angle between their planes."""
    text = describe(load("ant")).partition("Products")[2]
    assert cells(text, "xz ")[:1] == ["xz"]
    products = dict(zip(load("ant").names, cells(text, "y=x ")[1:], strict=False))
    assert products["xz"] == "r90"  # first xz (0 degrees), then y=x (45 degrees)
    assert products["y=x"] == "1"
    assert products["yz"] == "r270"


def test_each_joint_says_what_it_is_read_from():
    text = describe(load("ant"))
    actions = text.partition("Actions")[2]
    expected = []
    for name in ANT:
        index, sign = ant_tables(name)["act_indices"][3], ant_tables(name)["act_multipliers"][3]
        expected.append(f"{'-' if sign < 0 else '+'}leg_{index // 2}.{('hip', 'knee')[index % 2]}")
    assert cells(actions, "3  leg_1.knee")[2:] == expected
    observations = text.partition("Observations")[2]
    readings = [
        f"{'-' if ant_tables(name)['obs_multipliers'][7] < 0 else '+'}{ant_tables(name)['obs_indices'][7]}"
        for name in ANT
    ]
    assert cells(observations, "7 ")[2:] == readings
    assert "unchanged by every transform: 0 height, 5 velocity.z" in observations


def test_tables_without_a_layout_are_described_by_number():
    group = SymmetryGroup(
        [ant()["xz"], Symmetry.from_maps("scaled", IndexMap.identity(28), IndexMap(range(8), [2] * 8))]
    )
    text = describe(group)
    assert "not claiming to be a whole group" in text
    assert "? leaves the set" in text
    assert "order infinite" in text
    assert cells(text.partition("Actions")[2], "0 ") == ["0", "-6", "+2*0"]


def test_mixed_elements_and_groups_of_observations():
    layout = Layout(
        {
            "observations": {"policy": [{"goal": {"vector": ["x", "y"]}}], "critic": [{"height": "scalar"}]},
            "actions": [{"push": {"vector": ["x", "y"]}}],
        }
    )
    group = SymmetryGroup.from_generators([layout.symmetry("r120", named("r120"))], layout=layout)
    text = describe(group)
    assert cells(text.partition("'policy'")[2], "0 ")[2] == "-0.5*goal.x-0.866*goal.y"
    assert "unchanged by every transform: 0 height" in text.partition("'critic'")[2]
    assert draw(group).axes


def test_large_tables_are_cut():
    heights = {"heights": {"shape": [10, 10], "rows": "x", "columns": "y"}}
    layout = Layout({"observations": [{"terrain": heights}], "actions": [{"n": {"vector": ["y"]}}]})
    group = SymmetryGroup([layout.symmetry("xz", named("xz"))], layout=layout)
    assert "... and 40 more" in describe(group)


@pytest.mark.parametrize(
    ("isometry", "words"),
    [
        (None, "kind not declared"),
        (named("rx180"), "rotation about x by 180 degrees"),
        (named("m60"), "reflection in the vertical plane at 60 degrees"),
        (named("inversion"), "inversion at the centre"),
        (reflection([1, 1, 1]), "reflection, slanted"),
    ],
)
def test_isometries_in_words(isometry, words):
    symmetry = Symmetry.from_maps("t", IndexMap([0], [-1]), IndexMap([0], [-1]), isometry=isometry)
    assert in_words(symmetry) == words


def test_the_data_hold_the_whole_tables():
    data = json.loads(json.dumps(description_data(load("ant"))))
    assert [transform["name"] for transform in data["transforms"]] == list(ANT)
    r90 = next(transform for transform in data["transforms"] if transform["name"] == "r90")
    assert r90["observation"]["indices"] == ant_tables("r90")["obs_indices"]
    assert r90["action"]["multipliers"] == ant_tables("r90")["act_multipliers"]
    assert (r90["order"], r90["kind"]) == (4, "rotation")
    assert {"first": "xz", "then": "y=x", "is": "r90"} in data["products"]
    assert data["action_names"][3] == "leg_1.knee"


def test_the_figure_shows_each_sign_in_its_colour():
    figure = draw(load("ant"))
    images = [axes.images[0] for axes in figure.axes if axes.images]
    actions = [image for image in images if image.get_array().shape == (8, 8)]
    assert len(actions) == 7
    tables = ant_tables("xz")
    colours = actions[0].to_rgba(actions[0].get_array())
    for row, (index, sign) in enumerate(zip(tables["act_indices"], tables["act_multipliers"], strict=True)):
        wanted = SAME if sign > 0 else TURNED
        rgb = [int(wanted[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        np.testing.assert_allclose(colours[row, index, :3], rgb, atol=1e-6)
        np.testing.assert_allclose(colours[row, (index + 1) % 8, :3], 1, atol=0.01)


def test_the_verb_prints_and_draws(tmp_path):
    runner = CliRunner()
    figure = tmp_path / "triangle.png"
    result = runner.invoke(app, ["describe", "triangle", "--figure", str(figure)])
    assert result.exit_code == 0
    assert "limb_0.shoulder" in result.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["triangle.png"]
    result = runner.invoke(app, ["describe", "triangle", "--json"])
    assert json.loads(result.stdout)["robot"] == "triangle"


def test_describing_needs_no_simulator_and_no_torch():
    import subprocess

    code = (
        "import sys; from ambidex.symmetry import load; from ambidex.symmetry.show.account import describe;"
        "describe(load('ant')); slow = {'torch', 'matplotlib', 'pybullet', 'pydantic', 'scipy'};"
        "bad = slow & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
