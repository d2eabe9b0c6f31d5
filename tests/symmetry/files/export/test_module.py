from __future__ import annotations

import ast
import hashlib
import subprocess
import sys

import pytest

from ambidex.symmetry import Symmetry, SymmetryGroup, load, save
from ambidex.symmetry.files.export.module import export_module
from tests.symmetry.files.export.robots import MIRROR
from tests.symmetry.tables import ant_tables

TARGETS = ["rsl_rl", "cusrl", "numpy", "jax", "torch"]
IMPORTED = {
    "rsl_rl": {"torch"},
    "cusrl": {"torch", "cusrl"},
    "numpy": {"numpy"},
    "jax": {"jax"},
    "torch": {"torch"},
}


@pytest.mark.parametrize("to", TARGETS)
def test_a_module_stands_alone(to, tmp_path):
    path = tmp_path / "robot.py"
    export_module("ant", path, to)
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name.partition(".")[0] for name in imported} - {"__future__"} == IMPORTED[to]
    assert max(map(len, path.read_text().splitlines())) <= 110


def test_the_header_says_what_it_was_made_of(tmp_path):
    save(load("ant"), tmp_path / "robot.yaml")
    assert (
        export_module(tmp_path / "robot.yaml", tmp_path / "robot.py", "torch", elements=["r90", "xz"]) == []
    )
    header = ast.get_docstring(ast.parse((tmp_path / "robot.py").read_text()))
    assert header.startswith("The symmetries of robot.yaml for torch: r90, xz.")
    assert hashlib.sha256((tmp_path / "robot.yaml").read_bytes()).hexdigest() in header
    assert "lint          no findings" in header
    assert "actions       0 leg_0.hip, 1 leg_0.knee" in header


def test_what_lint_finds_is_said(tmp_path):
    wrong = ant_tables("xz")
    wrong["act_multipliers"][3] *= -1
    group = SymmetryGroup([Symmetry("xz", kind="reflection", **wrong)])
    (finding,) = export_module(group, tmp_path / "robot.py", "torch")
    header = ast.get_docstring(ast.parse((tmp_path / "robot.py").read_text()))
    assert "lint          1 finding\n" in header
    assert str(finding) in header


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "rslrl"}, "did you mean 'rsl_rl'?"),
        ({"path": "my-robot.py"}, "such as my_robot_symmetry.py"),
        ({"path": "robot.txt"}, "such as my_robot_symmetry.py"),
        ({"elements": ["xy"]}, "no transform is called 'xy'; there are xz, yz"),
        ({"to": "numpy", "pass_through": ["images"]}, "are for rsl_rl, not for numpy"),
        ({"pass_through": ["policy"]}, "the observations 'policy' are described"),
        ({"description": MIRROR, "groups": ["policy"]}, "names its groups itself: policy, critic"),
        ({"description": "cartpole-v1"}, "rsl_rl mirrors continuous actions only"),
    ],
)
def test_what_cannot_be_exported_is_refused(options, message, tmp_path):
    options = {"description": "ant", "path": "robot.py", "to": "rsl_rl", **options}
    with pytest.raises(ValueError) as caught:
        export_module(options.pop("description"), tmp_path / options.pop("path"), **options)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_this_package_is_needed(tmp_path):
    """In an interpreter that cannot import it."""
    export_module("ant", tmp_path / "robot.py", "rsl_rl")
    use = "robot.augment(obs=torch.zeros(2, 28))"
    code = f"import sys; sys.modules['ambidex'] = None; import robot, torch; {use}"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
