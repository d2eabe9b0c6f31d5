"""The page "From a URDF to a diagnosis": its files are written, its commands typed, as it prints them."""

import os
import re
import runpy
import shlex
import sys
from pathlib import Path

import gymnasium
import pytest

from ambidex.cli.command_line import main

PAGE = (Path(__file__).parents[2] / "docs" / "from-urdf-to-diagnosis.md").read_text()
TYPED = r"^\$ ambidex (.*?)\n(.*?)(?=^\$|\Z)"
SHORTER = {"--steps 5000000": "--steps 256 --set n_steps=64 --set batch_size=64 --set evaluation_episodes=1"}
SHORTER |= {
    "--num-envs 8": "--num-envs 2",
    "verify ": "verify --states 16 ",
    "--video": "--seconds 0.1 --video",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("quadruped", None)
    gymnasium.registry.pop("Quadruped-v0", None)


def numbers_apart(text):
    return re.sub(r"\d+(\.\d+)?(e-\d+)?", "#", " ".join(text.split()))


def test_the_page(folder, monkeypatch, capsys):
    if "MUJOCO_GL" not in os.environ:
        pytest.skip("no renderer without a screen is installed")
    typed = 0
    for language, block in re.findall(r"```(\w*)\n(.*?)```", PAGE, flags=re.DOTALL):
        if language == "python":
            name = block.partition("\n")[0].removeprefix("# ")
            Path(name).write_text(block)
            if name != "quadruped.py":
                runpy.run_path(name, run_name="__main__")
            continue
        for command, printed in re.findall(TYPED, block, re.DOTALL | re.MULTILINE):
            for long, short in SHORTER.items():
                command = command.replace(long, short)
            monkeypatch.setattr(sys, "argv", ["ambidex", *shlex.split(command)])
            with pytest.raises(SystemExit) as end:
                main()
            said = capsys.readouterr()
            assert not end.value.code, said.err
            assert numbers_apart(printed) in numbers_apart(said.out), command
            typed += 1
    assert typed == 9
    assert Path("weak.onnx").exists() and Path("weak.gif").exists() and Path("weak.png").exists()
    found = re.findall(r"joint (\d+), ([\w ]+): needs (\d\.\d+)", said.out)
    assert [(joint, name) for joint, name, _ in found] == [
        ("2", "front left calf"),
        ("5", "front right calf"),
    ]
    weak, sound = (float(scale) for *_, scale in found)
    assert weak / sound == pytest.approx(2, rel=0.05)
