"""`ambidex export` of a description, as a person types it; that of a run is tested beside the other verbs."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ambidex.cli import command_line as cli

runner = CliRunner()


def test_a_module_is_written(tmp_path):
    path = tmp_path / "ant_symmetry.py"
    options = ["--element", "r90", "--group", "actor", "--pass-through", "images"]
    result = runner.invoke(cli.app, ["export", "ant", "--to", "rsl_rl", "--out", str(path), *options])
    assert result.exit_code == 0, result.output
    assert result.output == f"{path}: for rsl_rl; lint has no findings\n"
    text = path.read_text()
    assert 'TRANSFORMS = ("r90",)' in text
    assert 'PASS_THROUGH = ("images",)' in text
    assert 'OBSERVATIONS = {\n    "actor": {' in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --onnx FILE for a run, or --to and --out for a description"),
        (["--to", "numpy", "--onnx", "policy.onnx"], "give either --onnx FILE for a run"),
        (["--to", "numpy"], "--to numpy: give --out, such as --out my_robot_symmetry.py"),
    ],
)
def test_half_a_command_is_refused(arguments, message):
    result = runner.invoke(cli.app, ["export", "ant", *arguments])
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)
