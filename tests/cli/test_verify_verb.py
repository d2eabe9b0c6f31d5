"""The verb verify, and its figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from typer.testing import CliRunner

from ambidex.cli.command_line import app, main
from ambidex.verification import verify
from ambidex.verification.picture import COLOURS, draw


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["verify", *arguments])
    return result.exit_code, result.stdout


def test_a_description_that_holds_ends_with_status_0(tmp_path: Path) -> None:
    figure = tmp_path / "triangle.png"
    status, output = run(
        "triangle", "--env", "ambidex/Triangle-v0", "--states", "16", "--figure", str(figure)
    )
    assert status == 0
    assert "from 16 states and their images: holds" in output
    assert figure.stat().st_size > 10_000
    assert [path.name for path in tmp_path.iterdir()] == ["triangle.png"]


def test_an_imperfect_robot_is_no_failure_and_a_wrong_axis_is(tmp_path: Path) -> None:
    options = ("--env", "ambidex/Triangle-v0", "--states", "16")
    status, output = run("triangle", *options, "--scenario", "triangle-rust", "--json")
    assert status == 0
    assert json.loads(output)["verdict"] == "imperfect"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        """
robot: triangle
limbs:
  limb_0: {at: {degrees: 180}, joints: {shoulder: z}}
  limb_1: {at: {degrees: 300}, joints: {shoulder: z}}
  limb_2: {at: {degrees: 60}, joints: {shoulder: -z}}
observations:
  - angles: {joint: position}
  - speeds: {joint: velocity}
  - targets: {joint: target}
  - battery: scalar
actions:
  - torque: joint
generators: {d: r120}
"""
    )
    status, output = run(str(wrong), *options)
    assert status == 1
    assert "limb_2.shoulder.position" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["verify", "ant", "--env", "No-Such-v0"],
            "environment 'No-Such-v0': Gymnasium knows none of that name",
        ),
        (
            ["lint", "ant", "--env", "No-Such-v0"],
            "environment 'No-Such-v0': Gymnasium knows none of that name",
        ),
        (["verify", "ant", "--env", "nowhere:Robot-v0"], "no module 'nowhere' is installed"),
        (["verify", "cartpole-v1", "--env", "CartPole-v1", "--scenario", "A1.1"], "takes no scenario"),
    ],
)
def test_an_environment_that_cannot_be_made_is_one_line_and_status_2(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["ambidex", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_the_figure_has_a_square_for_each_element_and_transform() -> None:
    found = verify("triangle", "ambidex/Triangle-v0", states=16, horizons=(1,))
    axes = draw(found).axes[0]
    assert len(axes.patches) == 5 * (10 + 3 + 2)
    colours = {to_hex(patch.get_facecolor()) for patch in axes.patches}
    assert colours == {COLOURS["holds"]}
