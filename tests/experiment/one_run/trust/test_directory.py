"""A run directory is one run: nothing foreign is adopted, overwritten, pruned or followed."""

import json
import os
import shutil

import numpy as np
import pytest

from ambidex import symmetry
from ambidex.common.files import read_arrays, write_arrays
from ambidex.experiment.configure.presets import resolve
from ambidex.experiment.one_run import checkpoint, record, run
from ambidex.experiment.one_run.trust import resumes
from ambidex.experiment.one_run.trust.locking import Busy, is_locked, lock
from ambidex.experiment.trained import stored


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def _contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def _edit(directory, change):
    path = directory / "run.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))


def _set(**values):
    def change(about):
        for name, value in values.items():
            inside = about["config"] if name in about["config"] else about["config"]["hyperparameters"]
            inside[name] = value

    return change


def test_checkpoints_without_their_record_are_not_adopted(copy, tiny):
    (copy / "run.json").unlink()
    before = _contents(copy)
    with pytest.raises(ValueError, match=r"holds checkpoints, but no run\.json"):
        run.train(resolve("triangle-rust", "asl", tiny | {"seed": 7}), copy)
    assert before == _contents(copy)


def test_a_directory_of_somebody_elses_files_is_refused(tmp_path, tiny):
    (tmp_path / "checkpoints" / "100000").mkdir(parents=True)
    with pytest.raises(ValueError, match="holds checkpoints"):
        run.train(resolve("triangle", "ppo", tiny), tmp_path)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "progress.csv").write_text("mine")
    with pytest.raises(ValueError, match=r"neither empty nor a run: it holds progress\.csv"):
        run.train(resolve("triangle", "ppo", tiny), tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"progress.csv": "mine"}


def test_a_run_that_another_process_began_meanwhile_is_seen_under_the_lock(tmp_path, tiny, monkeypatch):
    """Both looked at an empty directory; the second gets the lock when the first has let go of it."""
    directory = tmp_path / "run"
    config = resolve("triangle", "ppo", tiny | {"steps": 128})
    real = run._prepare

    def overtaken(*arguments):
        monkeypatch.setattr(run, "_prepare", real)
        run.train(config, directory)
        return real(*arguments)

    monkeypatch.setattr(run, "_prepare", overtaken)
    with pytest.raises(ValueError, match="holds a run already"):
        run.train(config.model_copy(update={"seed": 7}), directory)
    assert record.read_config(directory).seed == 0


def test_a_foreign_checkpoint_is_neither_read_nor_pruned(copy):
    foreign = copy / "checkpoints" / "100000"
    shutil.copytree(copy / "checkpoints" / "000004", foreign)
    run.resume(copy, steps=640)
    assert record.read(copy)["iterations"] == 5
    assert record.read(copy)["checkpoints"] == ["000004", "000005"]
    assert foreign.is_dir()


def test_a_foreign_checkpoint_in_the_way_is_not_overwritten(copy):
    (copy / "checkpoints" / "000005").mkdir()
    (copy / "checkpoints" / "000005" / "mine").touch()
    with pytest.raises(ValueError, match="000005 is in the way, and not of this run"):
        run.resume(copy, steps=640)
    assert (copy / "checkpoints" / "000005" / "mine").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set(learning_rate=0.3), r"learning_rate is 0\.3, it was "),
        (_set(scenario="triangle"), "scenario is 'triangle', it was 'triangle-rust'"),
        (_set(seed=1, gamma=0.5), r"seed is 1, it was 0 and gamma is 0\.5, it was"),
    ],
)
def test_an_edited_configuration_is_refused_in_words(copy, change, words):
    def without_hashes(about):
        change(about)
        del about["hashes"]  # so that only the checkpoint knows

    _edit(copy, without_hashes)
    with pytest.raises(ValueError, match=f"not the run that wrote its checkpoint 000004: {words}"):
        run.resume(copy, steps=640)


def test_an_edited_configuration_is_refused_by_its_hash_where_no_checkpoint_is_left(copy):
    shutil.rmtree(copy / "checkpoints")
    _edit(copy, _set(scenario="triangle"))
    with pytest.raises(ValueError, match=r"configuration in .*run\.json was changed"):
        stored.load_policy(copy)


@pytest.mark.parametrize("name", ["evaluations.csv", "symmetry.csv", "progress.csv", "timings.csv"])
def test_edited_metrics_are_refused_and_left_alone(copy, name):
    content = (copy / name).read_bytes()
    last_digit = b"8" if content[-3:-2] == b"9" else b"9"
    edited = content[:-3] + last_digit + content[-2:] if name != "evaluations.csv" else b"\0" * len(content)
    (copy / name).write_bytes(edited)
    before = _contents(copy)
    with pytest.raises(ValueError, match=f"{name} was changed since the checkpoint"):
        run.resume(copy, steps=640)
    assert before == _contents(copy)


def test_an_edited_description_is_refused_by_every_reader(copy):
    group = symmetry.load(copy / "symmetry.yaml")
    symmetry.save(symmetry.SymmetryGroup([group["a"]]), copy / "symmetry.yaml")
    for read in (lambda: run.resume(copy, steps=640), lambda: stored.load_policy(copy)):
        with pytest.raises(ValueError, match=r"symmetry\.yaml was changed since"):
            read()
    (copy / "symmetry.yaml").unlink()
    with pytest.raises(ValueError, match=r"symmetry\.yaml is missing since"):
        stored.load_policy(copy)


@pytest.mark.parametrize("keeps_note", [False, True])
def test_edited_policies_are_refused(copy, keeps_note):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    path = copy / "policy-best.safetensors"
    stored.load_policy(copy, "best")
    doubled = {name: array * 2 for name, array in read_arrays(path).items()}
    with safe_open(path, "np") as file:
        save_file(doubled, path, file.metadata() if keeps_note else None)
    words = "its parameters differ from their hash" if keeps_note else "its hash is missing"
    with pytest.raises(ValueError, match=words):
        stored.load_policy(copy, "best")
    stored.load_policy(copy, "last")


def test_the_policy_of_another_run_is_refused(copy, tmp_path, tiny):
    run.train(resolve("triangle-rust", "asl", tiny | {"seed": 7, "steps": 128}), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "policy-best.safetensors", copy)
    with pytest.raises(ValueError, match=r"configuration .* since policy-best\.safetensors"):
        stored.load_policy(copy)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda arrays: arrays.pop("log_std"), "lacks 'log_std'"),
        (lambda arrays: arrays.update(log_std=np.zeros(7, np.float32)), r"'log_std' has the shape \(7,\)"),
        (lambda arrays: arrays.update(log_std=arrays["log_std"].astype(np.int64)), "'log_std' holds int64"),
        (lambda arrays: arrays.update(more=np.zeros(1)), "holds 'more'"),
    ],
)
def test_parameters_of_another_network_are_one_sentence(copy, change, words):
    _edit(copy, lambda about: about.pop("hashes"))
    arrays = read_arrays(copy / "policy-best.safetensors")
    change(arrays)
    write_arrays(copy / "policy-best.safetensors", arrays)
    with pytest.raises(ValueError, match=words) as refused:
        stored.load_policy(copy)
    assert "\n" not in str(refused.value)


def test_a_run_from_before_there_were_hashes_goes_on_and_is_said_to_be_unverified(copy, capsys):
    for which in ("best", "last"):
        write_arrays(copy / f"policy-{which}.safetensors", read_arrays(copy / f"policy-{which}.safetensors"))
    _edit(copy, lambda about: [about.pop(name) for name in ("hashes", "checkpoints", "host")])
    _edit(copy, lambda about: [about["config"].pop(name) for name in ("preset", "stop_collapsed")])
    _edit(copy, lambda about: about["timings"].pop("cpu"))
    state = copy / "checkpoints" / "000004" / "state.json"
    manifest = state.with_name("manifest.json")
    content = json.loads(state.read_text())
    del content["run"], content["csv_sha256"]
    state.write_text(json.dumps(content))
    hashes = json.loads(manifest.read_text())
    hashes["sha256"]["state.json"] = __import__("hashlib").sha256(state.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(hashes))
    stored.load_policy(copy, "best")
    assert capsys.readouterr().err.count("cannot be verified") == 1
    run.resume(copy, steps=640)
    assert record.read(copy)["iterations"] == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda state: state.pop("counters"), "lacks 'counters'"),
        (lambda state: state.update(best="high"), "best is not a return"),
        (lambda state: state.update(python_random=[3]), "does not hold the state of this run"),
        (lambda state: state.update(csv_bytes={"progress.csv": -1}), "does not hold the state|lacks"),
        (lambda state: state.update(run=[]), "does not say of which run"),
    ],
)
def test_a_rehashed_state_is_refused_in_one_sentence(copy, change, words):
    path = copy / "checkpoints" / "000004"
    kept = checkpoint.read(path)
    state = dict(kept.state)
    change(state)
    shutil.rmtree(path)
    checkpoint.write(path.parent, checkpoint.Checkpoint(4, kept.arrays, state))
    with pytest.raises(ValueError, match=words) as refused:
        run.resume(copy, steps=640)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("group", ["policy", "optimizer", "environment", "random", "symmetry"])
def test_rehashed_arrays_are_refused_in_one_sentence(copy, group):
    path = copy / "checkpoints" / "000004"
    kept = checkpoint.read(path)
    arrays = {name: dict(part) for name, part in kept.arrays.items()}
    arrays[group] = {name: np.zeros((2, 1, 1), array.dtype) for name, array in arrays[group].items()}
    shutil.rmtree(path)
    checkpoint.write(path.parent, checkpoint.Checkpoint(4, arrays, kept.state))
    with pytest.raises(ValueError, match="000004") as refused:
        run.resume(copy, steps=640)
    assert "\n" not in str(refused.value)


def test_each_resume_is_remembered_and_what_changed_is_said(copy, monkeypatch):
    said = []

    class Listener:
        def update(self, **_):
            pass

        def warn(self, message):
            said.append(message)

    here = resumes.surroundings()
    _edit(copy, lambda about: about.update(here))  # somebody may commit while tests run
    monkeypatch.setattr(resumes, "surroundings", lambda: here)
    run.resume(copy, steps=640, reporter=Listener())
    assert said == []
    elsewhere = here | {"host": "elsewhere", "versions": here["versions"] | {"torch": "9.9"}}
    monkeypatch.setattr(resumes, "surroundings", lambda: elsewhere)
    run.resume(copy, steps=768, reporter=Listener())
    assert [message.partition(":")[0] for message in said] == [
        f"goes on with torch 9.9 instead of {here['versions']['torch']}",
        f"goes on with host elsewhere instead of {here['host']}",
    ]
    run.resume(copy, steps=896, reporter=Listener())
    assert len(said) == 2  # as it was the last time
    resumed = record.read(copy)["resumed"]
    assert [(entry["steps"], entry["host"]) for entry in resumed] == [
        (512, here["host"]),
        (640, "elsewhere"),
        (768, "elsewhere"),
    ]


@pytest.mark.parametrize(
    "name", ["lock", "timings.csv", "run.json", "checkpoints", "tensorboard", "truth.json"]
)
def test_links_are_not_followed(copy, tmp_path, name):
    target = tmp_path / "elsewhere"
    if (copy / name).exists() and name != "lock":
        (copy / name).rename(target)
    else:
        (copy / name).unlink()
        target.write_text("mine")
    before = _contents(tmp_path)
    (copy / name).symlink_to(target)
    with pytest.raises(ValueError, match=f"{name} is a link"):
        run.resume(copy, steps=640)
    before.pop(copy / "lock", None)
    assert before.items() <= _contents(tmp_path).items()


def test_a_pipe_instead_of_the_lock_does_not_hang(copy):
    (copy / "lock").unlink()
    os.mkfifo(copy / "lock")
    with pytest.raises(ValueError, match="lock is not a regular file"):
        run.resume(copy, steps=640)
    assert not is_locked(copy)


def test_a_file_called_lock_that_is_no_lock_keeps_its_content(tmp_path, tiny):
    (tmp_path / "lock").write_text("the combination is 1234")
    with pytest.raises(ValueError, match="not the lock of a run"):
        run.train(resolve("triangle", "ppo", tiny), tmp_path)
    assert (tmp_path / "lock").read_text() == "the combination is 1234"


def test_a_deleted_lock_admits_no_second_writer(copy):
    with lock(copy):
        (copy / "lock").unlink()
        with pytest.raises(Busy, match="another process"), lock(copy):
            pass
        (copy / "lock").unlink()
        assert is_locked(copy)
    with lock(copy):
        pass


def test_leftovers_of_a_kill_are_cleaned(copy):
    leftovers = [copy / ".123-run.json", copy / ".9-policy-best.safetensors"]
    for path in leftovers:
        path.write_text("half")
    (copy / ".123-mine").write_text("mine")
    run.resume(copy, steps=640)
    assert not any(path.exists() for path in leftovers)
    assert (copy / ".123-mine").exists()


def test_a_run_that_ended_before_its_copies_were_written_is_completed(tmp_path, tiny, monkeypatch, finished):
    def killed(*_):
        raise KeyboardInterrupt

    directory = tmp_path / "run"
    monkeypatch.setattr(run, "_write_copies", killed)
    with pytest.raises(KeyboardInterrupt):
        run.train(resolve("triangle-rust", "asl", tiny), directory)
    monkeypatch.undo()
    assert not (directory / "symmetry.yaml").exists()
    run.resume(directory)
    for name in ("symmetry.yaml", "policy-last.safetensors", "evaluations.csv"):
        assert (directory / name).read_bytes() == (finished / name).read_bytes()


def test_no_checkpoint_is_promised_where_there_is_none(tmp_path, tiny, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write", full)
    with pytest.raises(OSError, match="no checkpoint was written yet: mend"):
        run.train(resolve("triangle", "ppo", tiny), tmp_path / "run")
