"""What `import ambidex` does, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import ambidex
from tests.subprocesses import said_by_python

HEAVY = "{'torch', 'pybullet', 'mujoco', 'stable_baselines3', 'scipy', 'matplotlib', 'pydantic'}"


def test_importing_registers_the_environments_without_anything_heavy() -> None:
    said = said_by_python(
        "import ambidex, gymnasium, sys\n"
        f"heavy = sorted({HEAVY} & set(sys.modules))\n"
        "print(heavy, gymnasium.make('ambidex/Triangle-v0').unwrapped, gymnasium.spec('ambidex/Ant-v0').id)"
    )
    assert said.startswith("[] <TriangleEnv")
    assert said.endswith(" ambidex/Ant-v0")


def test_gymnasium_finds_the_package_by_itself() -> None:
    said = said_by_python("import gymnasium\nprint(gymnasium.make('ambidex:ambidex/Triangle-v0').spec.id)")
    assert said == "ambidex/Triangle-v0"


def test_help_imports_nothing_heavy() -> None:
    said = said_by_python(
        "import sys\nfrom typer.testing import CliRunner\nfrom ambidex.cli import app\n"
        f"done = CliRunner().invoke(app, ['--help'])\n"
        f"print(done.exit_code, sorted({HEAVY} & set(sys.modules)))"
    )
    assert said == "0 []"


def test_every_public_name_is_there() -> None:
    for name in ambidex.__all__:
        assert getattr(ambidex, name) is not None


def test_the_api_page_lists_every_public_name() -> None:
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
    listed = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith(":::")}
    assert not set(ambidex.__all__) - listed - {"__version__"}
