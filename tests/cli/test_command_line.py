"""The whole command line: its verbs, what it costs to look at them, and how another one is added."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

LIGHT = """
import sys
sys.argv = ["ambidex", "--help"]
from ambidex.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
print(*sys.modules, file=sys.stderr)
"""

OWN_VERB = """
import sys
import typer
from ambidex.cli import app, main

@app.command()
def greet(name: str) -> None:
    \"\"\"Say hello.\"\"\"
    if name == "nobody":
        raise ValueError("nobody is not a name")
    print(f"hello {name}")

main()
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "100"})


def test_help_imports_neither_torch_nor_a_simulator() -> None:
    done = run(LIGHT)
    assert done.returncode == 0, done.stderr
    assert "diagnose" in done.stdout
    modules = done.stderr
    heavy = {"torch", "mujoco", "pybullet", "matplotlib", "stable_baselines3", "pydantic"}
    assert not heavy & set(modules.split())


def test_a_verb_from_outside_the_package() -> None:
    listed = run(OWN_VERB, "--help").stdout
    assert "greet" in listed and "Say hello." in listed and "train" in listed
    assert run(OWN_VERB, "greet", "Ada").stdout == "hello Ada\n"
    refused = run(OWN_VERB, "greet", "nobody")
    assert (refused.returncode, refused.stderr) == (2, "ambidex: nobody is not a name\n")
