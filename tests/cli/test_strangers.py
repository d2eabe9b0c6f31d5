"""Files from strangers are data: what they name is neither run nor followed, nor does it command anything."""

import json
import os
import resource
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from ambidex.experiment.one_run import record
from ambidex.experiment.trained import stored
from tests.report.conftest import ambidex as ambidex
from tests.report.conftest import study as study
from tests.report.conftest import write_run as write_run

MODULE = "import pathlib; pathlib.Path('{}').touch()\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that leaves a trace if anybody imports it."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "stranger.py").write_text(MODULE.format(tmp_path / "trace"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    return tmp_path / "trace"


def _edit(path, **changes):
    about = json.loads(path.read_text())
    about["config"] |= changes
    about.pop("hashes", None)
    path.write_text(json.dumps(about))


@pytest.mark.parametrize("verb", ["evaluate", "resume", "play", "export", "diagnose"])
def test_a_module_that_a_run_names_is_imported_with_trust_alone(finished, tmp_path, module, ambidex, verb):
    run = shutil.copytree(finished, tmp_path / "run")
    _edit(run / "run.json", env="stranger:X-v0", scenario=None, symmetry="triangle")
    for policy in run.glob("policy-*"):
        from ambidex.common.files import read_arrays, write_arrays

        write_arrays(policy, read_arrays(policy))
    more = {
        "play": ["--video", str(tmp_path / "x.gif")],
        "export": ["--onnx", str(tmp_path / "x.onnx")],
        "resume": ["--steps", "640"],
    }.get(verb, [])
    status, _, complaint = ambidex(verb, str(run), *more)
    assert status == 2
    assert "runs the Python module 'stranger'; if you know where it comes from, give --trust" in complaint
    assert not module.exists()
    assert ambidex(verb, str(run), *more, "--trust")[0] == 2  # it registers no X-v0
    assert module.exists()


def test_a_module_that_a_configuration_names_needs_trust_but_not_one_on_the_command_line(
    tmp_path, module, ambidex
):
    (tmp_path / "config.yaml").write_text("env: stranger:X-v0\nsymmetry: triangle\n")
    out = ["--out", str(tmp_path / "run")]
    status, _, complaint = ambidex("train", "--config", str(tmp_path / "config.yaml"), *out)
    assert (status, module.exists()) == (2, False)
    assert "--trust" in complaint
    ambidex("train", "--env", "stranger:X-v0", "--symmetry", "triangle", *out)
    assert module.exists()


def test_figures_stay_in_their_folder(study, tmp_path, ambidex):
    for run in (study / "triangle-rust" / "asl").iterdir():
        _edit(run / "run.json", scenario="x/../../../../y")
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    out = tmp_path / "a" / "b" / "c"
    status, _, complaint = ambidex(
        "report",
        str(study),
        "--out",
        str(out / "page.html"),
        "--figures",
        str(out / "f"),
        "--tables",
        str(out),
    )
    assert status == 0, complaint
    after = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert all(path.is_relative_to(out) for path in after - before)
    assert any(path.name.startswith("x-..-") for path in (out / "f").iterdir())


def test_a_method_that_is_no_name_is_unreadable(study, tmp_path, ambidex):
    _edit(study / "triangle-rust" / "asl" / "seed-0" / "run.json", method="x/../../../../y")
    status, out, _ = ambidex("report", str(study), "--out", str(tmp_path / "page.html"), "--json")
    assert status == 0
    (reason,) = json.loads(out)["unreadable"].values()
    assert "config.method" in reason


def test_names_do_not_command_terminals_spreadsheets_or_pages(study, tmp_path, ambidex):
    evil = "=cmd|' /C calc'!A0\x1b]0;owned\x07</script><!--<script>"
    for method in ("asl", "ppo"):
        for run in (study / "triangle-rust" / method).iterdir():
            _edit(run / "run.json", scenario=evil)
    (study / "broken").mkdir()
    (study / "broken" / "run.json").write_text('"\x1b[2J"')
    status, out, complaint = ambidex(
        "report", str(study), "--out", str(tmp_path / "page.html"), "--tables", str(tmp_path)
    )
    assert (status, "\x1b" in out + complaint) == (0, False)
    page = (tmp_path / "page.html").read_text()
    assert "<!--<script>" not in page
    assert page.count("</script>") == page.count("<script")
    assert "\n=cmd" not in (tmp_path / "results.csv").read_text()
    status, out, complaint = ambidex("status", str(study))
    assert (status, "\x1b" in out + complaint) == (0, False)


def test_lint_does_not_echo_what_it_cannot_read(tmp_path, ambidex):
    (tmp_path / "shadow").write_text("root:$6$secret:19000\nuser:$6$hidden:19001\n")
    (tmp_path / "key.yaml").write_text("-----BEGIN SECRET KEY-----\nsecret\n- hidden: [\n")
    for name in ("shadow", "key.yaml"):
        status, out, complaint = ambidex("lint", str(tmp_path / name))
        assert status == 2
        assert "secret" not in out + complaint and "hidden" not in out + complaint


def test_json_is_json(finished, tmp_path, ambidex):
    run = shutil.copytree(finished, tmp_path / "run")
    lines = (run / "progress.csv").read_text().splitlines()
    cells = lines[-1].split(",")
    cells[2] = "nan"
    (run / "progress.csv").write_text("\n".join([*lines[:-1], ",".join(cells)]) + "\n")
    status, out, _ = ambidex("status", str(run), "--json")
    assert status == 0
    (row,) = json.loads(out, parse_constant=pytest.fail)
    assert row["episode_return"] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"net_arch": [10**9, 10**9]}, "net_arch"),
        ({"net_arch": [1] * 1000}, "64 hidden layers"),
        ({"num_envs": 10**12}, "num_envs"),
        ({"n_steps": 10**15}, "n_steps"),
    ],
)
def test_what_would_take_all_memory_is_refused(finished, tmp_path, changes, words):
    run = shutil.copytree(finished, tmp_path / "run")
    about = json.loads((run / "run.json").read_text())
    about["config"]["hyperparameters"] |= changes
    (run / "run.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=words):
        stored.load_policy(run)


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({0}, {0}))
from ambidex.cli import main
sys.argv = ["ambidex", *sys.argv[1:]]
main()
"""


def test_an_archive_that_announces_more_than_it_holds_takes_no_memory(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**14, 28)}
    with zipfile.ZipFile(tmp_path / "log.npz", "w") as archive:
        for name in ("observations", "actions", "next_observations"):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array_header_1_0(member, header)
    command = [sys.executable, "-c", _LIMITED.format(8 * 10**9), "diagnose", "--symmetry", "triangle"]
    done = subprocess.run(
        [*command, "--transitions", str(tmp_path / "log.npz")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "announces the shape (100000000000000, 28) and holds less" in done.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 4 * 10**6


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3"])
def test_numbers_that_numpy_does_not_have_are_one_sentence(tmp_path, ambidex, kind):
    size = 2 if kind == "BF16" else 1
    header = {"observations": {"dtype": kind, "shape": [4], "data_offsets": [0, 4 * size]}}
    text = json.dumps(header).encode()
    path = tmp_path / "log.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(4 * size))
    status, _, complaint = ambidex("diagnose", "--transitions", str(path), "--symmetry", "triangle")
    assert status == 2
    assert f"'observations' holds '{kind}', which numpy has no numbers for" in complaint


def test_a_grid_that_leads_elsewhere_is_damaged(tmp_path, finished, ambidex):
    config = record.read(finished)["config"]
    for place in ("../../etc", "/etc", "a/../../b"):
        grid = {"format": 1, "runs": [{"directory": place, "config": config}]}
        (tmp_path / "sweep.json").write_text(json.dumps(grid))
        status, _, complaint = ambidex("status", str(tmp_path))
        assert status == 2
        assert "lies outside of its directory" in complaint


def test_a_pipe_in_place_of_any_file_does_not_hang(finished, tmp_path, ambidex):
    for name in ("run.json", "progress.csv", "symmetry.yaml", "truth.json", "policy-best.safetensors"):
        run = shutil.copytree(finished, tmp_path / name)
        (run / name).unlink()
        os.mkfifo(run / name)
        for verb in (
            ["status"],
            ["evaluate", "--episodes", "1"],
            ["report", "--out", str(tmp_path / "p.html")],
        ):
            assert ambidex(verb[0], str(run), *verb[1:])[0] in (0, 2)
