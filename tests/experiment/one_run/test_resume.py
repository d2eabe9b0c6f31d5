"""A run that is killed again and again ends with the same bits as one that is left alone."""

import multiprocessing
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from ambidex.common.files import read_arrays
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import checkpoint, record, run
from ambidex.experiment.one_run.metrics import read_columns

KILLS = 10
SMALL = {
    "n_steps": 16,
    "batch_size": 32,
    "n_epochs": 2,
    "net_arch": [16, 16],
    "evaluation_every": 3,
    "evaluation_episodes": 2,
    "metrics_every": 2,
    "checkpoint_seconds": 0.0,
}
CONFIGS = {
    "triangle": resolve("triangle-rust", "asl", SMALL | {"num_envs": 8, "steps": 8 * 16 * 40}),
    "sampled": resolve("triangle-rust", "asl", SMALL | {"num_envs": 8, "steps": 2048, "symmetry_samples": 2}),
    "relabel": resolve(
        "triangle-rust", "relabel", SMALL | {"num_envs": 8, "steps": 1024, "frame_by": "position"}
    ),
    "plain": resolve("triangle-rust", "ppo", SMALL | {"num_envs": 8, "steps": 2048}),
    "ant": resolve("A2.1", "asl", SMALL | {"n_steps": 64, "steps": 64 * 6}),
    "a2c": resolve(
        "triangle-rust",
        "asl",
        {key: value for key, value in SMALL.items() if key not in ("batch_size", "n_epochs")}
        | {"algorithm": "a2c", "num_envs": 2, "rounds": 3, "steps": 2 * 16 * 3 * 8, "fit_states": 400},
    ),
    "trpo": resolve(
        "triangle-rust",
        "equivariant",
        {key: value for key, value in SMALL.items() if key != "n_epochs"}
        | {"algorithm": "trpo", "num_envs": 2, "rounds": 1, "steps": 2 * 16 * 8, "actuators": "transition"},
    ),
    "pendulum": resolve(None, "ppo", SMALL | {"env": "Pendulum-v1", "n_steps": 128, "steps": 128 * 8}),
}


def _processes():
    """Processes that start with everything imported, so that a kill hits the run and not the imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["ambidex.experiment.one_run.run", "ambidex.learn.ppo", "ambidex.envs.triangle.robot"]
    )
    return context


def _go_on(config, directory):
    if (directory / "run.json").exists():
        run.resume(directory)
    else:
        run.train(config, directory)


def _stop_after(config, directory, iterations):
    """Train until just after a checkpoint, as a crash there would leave it."""
    real = checkpoint.write

    def write(where, kept):
        real(where, kept)
        if kept.iteration == iterations:
            raise KeyboardInterrupt

    checkpoint.write = write
    try:
        run.train(config, directory)
    except KeyboardInterrupt:
        pass
    finally:
        checkpoint.write = real


def _assert_equal(one: Path, other: Path) -> None:
    for name in ("progress.csv", "evaluations.csv", "symmetry.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    for name in ("policy-last.safetensors", "policy-best.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    last = [checkpoint.newest(directory / "checkpoints", pytest.fail) for directory in (one, other)]
    assert last[0].iteration == last[1].iteration
    for group, arrays in last[0].arrays.items():
        for name, array in arrays.items():
            if name.endswith("simulator.bullet"):
                continue  # Bullet's file also counts how often bodies were loaded, which moves nothing
            np.testing.assert_array_equal(array, last[1].arrays[group][name], err_msg=f"{group} {name}")
    states = [dict(kept.state) for kept in last]
    for state in states:
        del state["csv_bytes"]["timings.csv"], state["csv_sha256"]["timings.csv"]  # seconds are not the same
    assert states[0] == states[1]
    rows = [(directory / "timings.csv").read_text().splitlines() for directory in (one, other)]
    assert [row.split(",")[0] for row in rows[0]] == [row.split(",")[0] for row in rows[1]]


def test_killed_ten_times_and_equal_to_the_bit(tmp_path):
    config = CONFIGS["triangle"]
    run.train(config, tmp_path / "whole")
    processes = _processes()
    moments = random.Random(0)
    killed = tmp_path / "killed"
    kills = 0
    while True:
        process = processes.Process(target=_go_on, args=(config, killed))
        process.start()
        if kills < KILLS:
            process.join(moments.uniform(0.05, 0.6))
            if process.is_alive():
                process.kill()
                kills += 1
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -9
    assert kills == KILLS
    assert record.read(killed)["status"] == "done"
    _assert_equal(tmp_path / "whole", killed)


@pytest.mark.parametrize(
    "name",
    [
        "sampled",
        "relabel",
        "plain",
        "a2c",
        "trpo",
        pytest.param("ant", marks=pytest.mark.pybullet),
        "pendulum",
    ],
)
def test_resumed_in_another_process_and_equal_to_the_bit(tmp_path, name):
    config = CONFIGS[name]
    run.train(config, tmp_path / "whole")
    _stop_after(config, tmp_path / "stopped", 3)
    process = _processes().Process(target=_go_on, args=(config, tmp_path / "stopped"))
    process.start()
    process.join()
    assert process.exitcode == 0
    _assert_equal(tmp_path / "whole", tmp_path / "stopped")


def test_a_damaged_checkpoint_is_said_and_the_older_one_leads_to_the_same_end(tmp_path):
    config = CONFIGS["plain"]
    run.train(config, tmp_path / "whole")
    _stop_after(config, tmp_path / "stopped", 5)
    newest = tmp_path / "stopped" / "checkpoints" / "000005" / "optimizer.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    said = []

    class Listener:
        def update(self, **_):
            pass

        def warn(self, message):
            said.append(message)

    run.resume(tmp_path / "stopped", reporter=Listener())
    assert len(said) == 1
    assert "000005" in said[0]
    _assert_equal(tmp_path / "whole", tmp_path / "stopped")


def test_the_result_does_not_depend_on_how_often_checkpoints_are_written(tmp_path):
    config = CONFIGS["plain"]
    run.train(config, tmp_path / "often")
    run.train(config.model_copy(update={"checkpoint_seconds": 1e9}), tmp_path / "seldom")
    _assert_equal(tmp_path / "often", tmp_path / "seldom")


def test_another_seed_gives_another_result(tmp_path):
    config = CONFIGS["plain"]
    for seed in (0, 1):
        run.train(config.model_copy(update={"seed": seed}), tmp_path / str(seed))
    one, other = (read_arrays(tmp_path / seed / "policy-last.safetensors") for seed in "01")
    assert any((one[name] != other[name]).any() for name in one)


@pytest.mark.parametrize(
    ("name", "iterations"),
    [
        ("triangle", 2),  # before its first evaluation, so that the short run is evaluated at its end
        ("plain", 5),
        pytest.param("ant", 3, marks=pytest.mark.pybullet),
    ],
)
def test_a_finished_run_that_is_extended_equals_one_that_was_long_from_the_start(tmp_path, name, iterations):
    h = CONFIGS[name].hyperparameters
    per_iteration = h.n_steps * h.num_envs
    whole = CONFIGS[name].model_copy(update={"steps": 2 * iterations * per_iteration})
    run.train(whole, tmp_path / "whole")
    run.train(whole.model_copy(update={"steps": iterations * per_iteration}), tmp_path / "extended")
    assert record.read(tmp_path / "extended")["iterations"] == iterations
    assert (tmp_path / "extended" / "policy-best.safetensors").exists()
    run.resume(tmp_path / "extended", steps=whole.steps)
    assert record.read_config(tmp_path / "extended") == whole
    _assert_equal(tmp_path / "whole", tmp_path / "extended")


def test_a_short_run_that_is_extended_but_not_to_its_first_evaluation_is_evaluated_at_its_new_end(tmp_path):
    short, longer = (CONFIGS["plain"].model_copy(update={"steps": steps}) for steps in (128, 256))
    run.train(longer, tmp_path / "whole")
    run.train(short, tmp_path / "extended")
    run.resume(tmp_path / "extended", steps=256)
    _assert_equal(tmp_path / "whole", tmp_path / "extended")
    assert {row[0] for row in read_columns(tmp_path / "whole" / "evaluations.csv", "iteration")} == {"2"}


def test_an_unfinished_run_may_end_earlier_or_later(tmp_path):
    config = CONFIGS["plain"]
    for steps in (512, 4096):
        run.train(config.model_copy(update={"steps": steps}), tmp_path / f"whole-{steps}")
        _stop_after(config, tmp_path / f"stopped-{steps}", 3)
        run.resume(tmp_path / f"stopped-{steps}", steps=steps)
        _assert_equal(tmp_path / f"whole-{steps}", tmp_path / f"stopped-{steps}")


def test_steps_that_are_passed_already_are_refused_and_nothing_is_changed(tmp_path):
    directory = tmp_path / "run"
    run.train(CONFIGS["plain"].model_copy(update={"steps": 300}), directory)  # 3 iterations: 384 steps
    before = (directory / "run.json").read_bytes()
    with pytest.raises(ValueError, match=r"384 steps already .* 256"):
        run.resume(directory, steps=256)
    assert (directory / "run.json").read_bytes() == before
    run.resume(directory, steps=257)  # ends in the third iteration too
    assert (record.read(directory)["steps"], record.read_config(directory).steps) == (384, 257)


def test_a_run_without_checkpoints_is_not_wiped_out(tmp_path):
    directory = tmp_path / "run"
    run.train(CONFIGS["plain"].model_copy(update={"steps": 128}), directory)
    shutil.rmtree(directory / "checkpoints")
    before = {path: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    with pytest.raises(ValueError, match="no whole checkpoint"):
        run.resume(directory, steps=256)
    assert (
        before.items() <= {path: path.read_bytes() for path in directory.iterdir() if path.is_file()}.items()
    )


@pytest.mark.parametrize("name", ["progress.csv", "timings.csv"])
def test_a_refused_extension_leaves_a_finished_run_as_it_is(tmp_path, name):
    directory = tmp_path / "run"
    run.train(CONFIGS["plain"].model_copy(update={"steps": 128}), directory)
    (directory / name).unlink()
    before = {path: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    with pytest.raises(ValueError, match=f"{name} has 0 bytes"):
        run.resume(directory, steps=256)
    assert before == {path: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_a_record_without_its_configuration_is_refused(tmp_path):
    (tmp_path / "run.json").write_text('{"format": 1, "status": "running", "steps": 0}')
    with pytest.raises(ValueError, match=r"run\.json has no 'config'"):
        run.resume(tmp_path)


def test_resuming_what_is_done_changes_nothing(tmp_path):
    run.train(CONFIGS["plain"], tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    run.resume(tmp_path / "run")
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
