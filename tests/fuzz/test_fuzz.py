"""Any content of any file that a verb reads: a result, or a sentence and exit status 1 or 2.

Never a traceback, a hang, a raw escape sequence, or a file outside of the target.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

from ambidex.cli import command_line as cli
from ambidex.common import escaping
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import run
from ambidex.symmetry import load, save
from tests.experiment.conftest import TINY
from tests.fuzz.mutations import mutate, rehash

CASES = 90
SLOW_CASES = 1500
SECONDS = 120
LONGEST_COMPLAINT = 20_000

OVERRIDES = [part for name, value in (TINY | {"steps": 128}).items() for part in ("--set", f"{name}={value}")]
SCENARIO = """
stiff:
  env: ambidex/Triangle-v0
  symmetry: triangle
  description: One stiff limb.
  perturbations: [{kind: rust, resistances: [1, 1, 4]}]
"""
CONFIG = {"scenario": "triangle", "method": "asl", "learning_rate": 1e-3, "hyperparameters": {"gamma": 0.9}}
MIRROR = "mirrored_obs: [0.1, -1, 3, -2]\nmirrored_acts: [-1, -0.1]\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each file that a verb reads."""
    directory = tmp_path_factory.mktemp("whole")
    run.train(resolve("triangle-rust", "asl", TINY), directory / "runs" / "triangle-rust" / "asl" / "seed-0")
    about = json.loads((directory / "runs/triangle-rust/asl/seed-0/run.json").read_text())
    grid = [{"directory": f"triangle-rust/asl/seed-{seed}", "config": about["config"]} for seed in range(2)]
    (directory / "runs" / "sweep.json").write_text(json.dumps({"format": 1, "runs": grid}))
    group = load("triangle")
    save(group, directory / "robot.yaml")
    (directory / "scenario.yaml").write_text(SCENARIO)
    (directory / "config.yaml").write_text(json.dumps(CONFIG))
    (directory / "mirror.yaml").write_text(MIRROR)
    states, actions = group.observation_size, group.action_size
    assert isinstance(states, int)
    drawn = np.random.default_rng(0).normal(size=(64, 2 * states + actions))
    np.savetxt(directory / "log.csv", drawn, delimiter=",")
    parts = np.split(drawn, [states, states + actions], axis=1)
    log = dict(zip(("observations", "actions", "next_observations"), parts, strict=True))
    np.savez(directory / "log.npz", **log)
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(part) for name, part in log.items()}, directory / "log.safetensors")
    return directory


def _case(case: Path, chance: random.Random) -> tuple[list[str], str]:
    """Change one file of a copy; the command that reads it, and what was changed."""
    kind = chance.choice(["run"] * 6 + ["description"] * 2 + ["log", "scenario", "config", "mirror"])
    where = case / "runs" / "triangle-rust" / "asl" / "seed-0"
    if kind == "run":
        files = sorted(path for path in (case / "runs").rglob("*") if path.suffix in _READ)
        checkpoints = [path for path in files if "checkpoints" in path.parts]
        others = [path for path in files if "checkpoints" not in path.parts]
        path = chance.choice(checkpoints if chance.random() < 0.2 else others)
        if chance.random() < 0.5:
            _forget_hashes(where)
        what = mutate(path, chance)
        if path in checkpoints:
            if chance.random() < 0.7:
                rehash(path.parent)
            return ["resume", str(where), "--steps", "640"], what
        return chance.choice(_verbs_of_runs(case, where)), what
    name = {
        "description": "robot.yaml",
        "log": chance.choice(["log.csv", "log.npz", "log.safetensors"]),
        "scenario": "scenario.yaml",
        "config": "config.yaml",
        "mirror": "mirror.yaml",
    }[kind]
    path = case / name
    what = mutate(path, chance)
    out = str(case / "out")
    commands = {
        "description": [
            ["lint", str(path)],
            ["lint", str(path), "--json"],
            ["describe", str(path)],
            ["describe", str(path), "--json"],
            ["describe", str(path), "--figure", f"{out}.png"],
            ["export", str(path), "--to", "numpy", "--out", f"{out}.py"],
            ["diagnose", "--transitions", str(case / "log.npz"), "--symmetry", str(path)],
        ],
        "log": [["diagnose", "--transitions", str(path), "--symmetry", "triangle", "--json"]],
        "scenario": [["train", str(path), "--method", "ppo", "--out", out, *OVERRIDES]],
        "config": [["train", "--config", str(path), "--out", out, *OVERRIDES]],
        "mirror": [["lint", str(path)], ["lint", str(path), "--robot", str(case / "robot.yaml")]],
    }
    return chance.choice(commands[kind]), what


_READ = (".json", ".yaml", ".csv", ".safetensors")


def _verbs_of_runs(case: Path, where: Path) -> list[list[str]]:
    page = ["report", str(case / "runs"), "--out", str(case / "out" / "page.html")]
    return [
        ["status", str(case / "runs")],
        ["status", str(case / "runs"), "--json"],
        page,
        [*page, "--json", "--tables", str(case / "out")],
        [*page, "--figures", str(case / "out")],
        ["evaluate", str(where), "--episodes", "1"],
        ["evaluate", str(where), "--episodes", "1", "--json", "--policy", "last"],
        ["diagnose", str(where), "--states", "64"],
        ["resume", str(where), "--steps", "640"],
    ]


def _forget_hashes(where: Path) -> None:
    """A run from before there were hashes, so that more is read than they let through."""
    about = json.loads((where / "run.json").read_text())
    del about["hashes"]
    (where / "run.json").write_text(json.dumps(about))
    from ambidex.common.files import read_arrays, write_arrays

    for policy in where.glob("policy-*.safetensors"):
        write_arrays(policy, read_arrays(policy))


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(CASES), id="few"),
        pytest.param(range(CASES, CASES + SLOW_CASES), id="many", marks=pytest.mark.slow),
    ],
)
def test_any_content_is_a_result_or_a_sentence(whole, tmp_path, seeds, monkeypatch, capsys):
    deep = tmp_path / "a" / "b" / "c" / "d" / "e"  # so that ../../../.. is still where we look
    (deep / "here").mkdir(parents=True)
    monkeypatch.chdir(deep / "here")
    for seed in seeds:
        case = deep / "case"
        shutil.copytree(whole, case)
        arguments, what = _case(case, random.Random(seed))
        told = f"seed {seed}, {what}: ambidex {' '.join(arguments)}"
        outside = _files(tmp_path) - _files(case)
        monkeypatch.setattr("sys.argv", ["ambidex", *arguments])
        status = _ended(told)
        out, complaint = capsys.readouterr()
        assert status in (0, 1, 2, None), told
        assert status in (0, None) or complaint or out, told
        assert "Traceback" not in out + complaint, told
        assert not escaping._CONTROL.search(out + complaint), told
        assert len(complaint) < LONGEST_COMPLAINT, told
        if "--json" in arguments and status in (0, None):
            _require_json(out, told)
        assert _files(tmp_path) - _files(case) == outside, told
        shutil.rmtree(case)


def _require_json(text: str, told: str) -> None:
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name}: {told}"))


def _ended(told: str) -> object:
    """The exit status of the command line; an alarm ends what hangs."""

    def ring(*_: object) -> None:
        raise AssertionError(f"more than {SECONDS} seconds: {told}")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cli.main()
    except SystemExit as ended:
        return ended.code
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}; {told}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return 0
