import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambidex.experiment.one_run import checkpoint as checkpoints
from ambidex.experiment.one_run.checkpoint import Checkpoint, DamagedCheckpoint


def _checkpoint(iteration):
    arrays = {
        "policy": {"weight": np.arange(6, dtype=np.float32).reshape(2, 3).T, "step": np.array(3.5)},
        "empty": {},
        "generator": {"state": np.arange(7, dtype=np.uint8), "flags": np.array([True, False])},
    }
    return Checkpoint(iteration, arrays, {"seed": 2**70, "name": "a\nb", "rows": [1.5, None]})


def _equal(a, b):
    assert (a.iteration, a.state) == (b.iteration, b.state)
    assert a.arrays.keys() == b.arrays.keys()
    for name, group in a.arrays.items():
        assert group.keys() == b.arrays[name].keys()
        for key, array in group.items():
            assert array.dtype == b.arrays[name][key].dtype
            np.testing.assert_array_equal(array, b.arrays[name][key])


def _no_warning(message):
    raise AssertionError(message)


def test_what_is_written_is_read(tmp_path):
    checkpoints.write(tmp_path, _checkpoint(4))
    _equal(checkpoints.newest(tmp_path, _no_warning), _checkpoint(4))


def test_the_last_two_are_kept(tmp_path):
    for iteration in (8, 9, 10, 100, 200):
        checkpoints.write(tmp_path, _checkpoint(iteration))
    kept = checkpoints.prune(tmp_path, ["000008", "000009", "000010", "000100"])  # 000200 is not the run's
    assert kept == ["000010", "000100"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000010", "000100", "000200"]
    assert checkpoints.newest(tmp_path, _no_warning, kept).iteration == 100


def test_nothing_there_is_none(tmp_path):
    assert checkpoints.newest(tmp_path / "absent", _no_warning) is None


def test_no_pickle_is_in_any_file(tmp_path):
    checkpoints.write(tmp_path, _checkpoint(1))
    assert {path.suffix for path in (tmp_path / "000001").iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize("name", ["manifest.json", "state.json", "policy.safetensors", "empty.safetensors"])
@pytest.mark.parametrize("damage", ["truncate", "remove", "flip", "empty"])
def test_damage_is_found_and_the_older_one_used_and_said(tmp_path, name, damage):
    checkpoints.write(tmp_path, _checkpoint(1))
    checkpoints.write(tmp_path, _checkpoint(2))
    path = tmp_path / "000002" / name
    content = path.read_bytes()
    if damage == "truncate":
        path.write_bytes(content[:-1])
    elif damage == "remove":
        path.unlink()
    elif damage == "flip":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    else:
        path.write_bytes(b"")
    said = []
    _equal(checkpoints.newest(tmp_path, said.append), _checkpoint(1))
    assert len(said) == 1
    assert "000002" in said[0]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_flipped_bit_is_found_or_harmless(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("flip")
    checkpoints.write(directory, _checkpoint(1))
    path = data.draw(st.sampled_from(sorted((directory / "000001").iterdir())))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(content))
    try:
        read = checkpoints.read(directory / "000001")
    except DamagedCheckpoint:
        return
    assert path.name == "manifest.json"
    _equal(read, _checkpoint(1))


@pytest.mark.parametrize("fails_at", range(1, 8))
def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch, fails_at):
    checkpoints.write(tmp_path, _checkpoint(1))
    calls = []
    real = os.fsync

    def full(handle):
        calls.append(handle)
        if len(calls) == fails_at:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.write(tmp_path, _checkpoint(2))
    monkeypatch.undo()
    found = checkpoints.newest(tmp_path, _no_warning)
    _equal(found, _checkpoint(found.iteration))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_half_written_directory_is_cleared(tmp_path):
    leftover = tmp_path / ".writing-000007"
    leftover.mkdir()
    (leftover / "policy.safetensors").write_bytes(random.Random(0).randbytes(10))
    assert checkpoints.newest(tmp_path, _no_warning) is None
    checkpoints.write(tmp_path, _checkpoint(8))
    assert not leftover.exists()
