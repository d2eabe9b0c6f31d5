"""Every YAML example of "Describe your robot" loads, lints clean, and says what the page says it does."""

import re
from pathlib import Path

import gymnasium
import pytest

from ambidex.symmetry import lint_file, load
from ambidex.symmetry.files.interop import to_signed_list
from ambidex.symmetry.show.account import describe

PAGE = (Path(__file__).parents[2] / "docs" / "describe.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
QUADRUPED = "".join(BLOCKS[:4])
WHOLE = BLOCKS[4:]


@pytest.mark.parametrize("text", [QUADRUPED, *WHOLE])
def test_the_examples_are_sound(text, tmp_path):
    (tmp_path / "robot.yaml").write_text(text)
    assert lint_file(tmp_path / "robot.yaml") == []


def test_the_quadruped_is_as_shown(tmp_path):
    path = tmp_path / "quadruped.yaml"
    path.write_text(QUADRUPED)
    shown = PAGE.partition("$ ambidex describe")[2].partition("```")[0].splitlines()[1:]
    text = describe(load(path))
    assert all(line in text for line in shown if line != "...")
    assert to_signed_list(load(path)["xz"].action_map)[:5] == [-1, -0.1, -3, -2, 5]
    for right, wrong, message in (
        ("FR: {at: [1, -1]", "FR: {at: [1, -2]", "where no limb is"),
        ("FR: {at: [1, -1], joints: {hip: x", "FR: {at: [1, -1], joints: {hip: z", "correct the axes"),
        ("velocity: vector", "velocity: vectr", "unknown key 'vectr'; did you mean 'vector'?"),
    ):
        path.write_text(QUADRUPED.replace(right, wrong, 1))
        with pytest.raises(ValueError) as caught:
            load(path)
        assert message in str(caught.value)
        printed = str(caught.value).replace(str(path), "ambidex: quadruped.yaml")
        assert printed in PAGE


@pytest.mark.parametrize(("number", "name"), [(-3, "ant"), (-2, "triangle-paper")])
def test_the_whole_examples_are_the_catalogs(number, name, tmp_path):
    (tmp_path / "robot.yaml").write_text(WHOLE[number])
    assert load(tmp_path / "robot.yaml") == load(name)
    assert load(tmp_path / "robot.yaml").layout == load(name).layout


def test_cartpole_fits_its_environment(tmp_path):
    (tmp_path / "cartpole.yaml").write_text(next(text for text in WHOLE if "cartpole" in text))
    environment = gymnasium.make("CartPole-v1")
    assert lint_file(tmp_path / "cartpole.yaml", environment) == []
    environment.close()
