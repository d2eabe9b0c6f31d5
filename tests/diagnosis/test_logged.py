"""Logs that are read, and why others are not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ambidex.actuators.transitions import Transitions
from ambidex.diagnosis.logged import read_observations, read_transitions
from tests.diagnosis.known_robots import logged, visited


@pytest.mark.parametrize("ending", ["csv", "npz", "safetensors"])
def test_observations_from_files(tmp_path: Path, ending: str) -> None:
    states = visited(20)
    path = tmp_path / f"visited.{ending}"
    if ending == "csv":
        np.savetxt(path, states, delimiter=",", header="a,b,c,d", comments="", fmt="%.9g")
    elif ending == "npz":
        np.savez(path, observations=states)
    else:
        save_file({"observations": states}, path)
    np.testing.assert_array_equal(read_observations(path), states)


def test_dict_observations_from_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "visited.npz", joints=np.ones((5, 3)), goal=np.zeros((5, 2)))
    found = read_observations(tmp_path / "visited.npz")
    assert isinstance(found, dict)
    assert {name: array.shape for name, array in found.items()} == {"joints": (5, 3), "goal": (5, 2)}
    np.savez(tmp_path / "wrong.npz", joints=np.ones((5, 3)), goal=np.zeros((4, 2)))
    with pytest.raises(ValueError, match="different numbers of states"):
        read_observations(tmp_path / "wrong.npz")


def test_files_that_hold_no_observations(tmp_path: Path) -> None:
    (tmp_path / "visited.txt").write_text("1,2")
    with pytest.raises(ValueError, match=r"read from \.csv"):
        read_observations(tmp_path / "visited.txt")
    (tmp_path / "visited.csv").write_text("a,b\n1,2\n3,x\n")
    with pytest.raises(ValueError, match="not a table of numbers"):
        read_observations(tmp_path / "visited.csv")
    np.savez(tmp_path / "flat.npz", observations=np.ones(4))
    with pytest.raises(ValueError, match="one row per state"):
        read_observations(tmp_path / "flat.npz")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "visited.npz"
    np.savez_compressed(path, observations=np.random.default_rng(0).normal(size=(50, 4)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"is damaged.*'observations"):
        read_observations(path)


@pytest.mark.parametrize("read", [read_observations, lambda path: triangle_log(path)])
def test_no_pickle_and_no_other_file_is_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    pickled = np.array([{"code": "runs"}], dtype=object)
    np.savez(tmp_path / "pickled.npz", observations=pickled)
    with pytest.raises(ValueError, match=r"pickled.npz: 'observations' .*allow_pickle"):
        read(tmp_path / "pickled.npz")
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps({"observations": [1.0]}))
    with pytest.raises(ValueError, match=r"pickle.npz is not an \.npz archive"):
        read(tmp_path / "pickle.npz")
    (tmp_path / "other.safetensors").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"other.safetensors is damaged"):
        read(tmp_path / "other.safetensors")
    words = dict.fromkeys(("observations", "actions", "next_observations"), np.array(["a"]))
    np.savez(tmp_path / "words.npz", **words)
    with pytest.raises(ValueError, match="'observations' holds <U1, not numbers"):
        read(tmp_path / "words.npz")
    with pytest.raises(OSError, match="nowhere"):
        read(tmp_path / "nowhere.npz")


def robot_log(rows: int = 60) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What a triangle robot did in a bit more than an episode, as arrays, and where episodes begin."""
    made, starts = logged("triangle-rust", rows)
    names = ("observations", "actions", "next_observations")
    return {name: getattr(made, name) for name in names}, starts


def write_log(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **arrays)  # type: ignore[arg-type]
    elif path.suffix == ".safetensors":
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    else:
        table = np.concatenate(list(arrays.values()), axis=1)
        np.savetxt(path, table, delimiter=",", header="any,heading", comments="", fmt="%.17g")
    return path


def triangle_log(path: Path) -> Transitions:
    return read_transitions(path, observation_size=10, action_size=3)


@pytest.mark.parametrize("ending", ["csv", "npz", "safetensors"])
def test_transitions_from_files(tmp_path: Path, ending: str) -> None:
    arrays, _ = robot_log()
    read = triangle_log(write_log(tmp_path / f"log.{ending}", arrays))
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(read, name), array)


def test_other_arrays_of_a_log_do_not_matter(tmp_path: Path) -> None:
    arrays, starts = robot_log()
    path = write_log(tmp_path / "log.npz", {**arrays, "rewards": np.ones(3), "episode_starts": starts})
    assert len(triangle_log(path)) == 60


@pytest.mark.parametrize("dtype", [bool, np.float32, np.int64])
def test_the_next_row_follows_unless_it_begins_an_episode(tmp_path: Path, dtype: type) -> None:
    arrays, starts = robot_log(120)
    assert starts.sum() == 3
    following = arrays.pop("next_observations")
    path = write_log(tmp_path / "log.safetensors", {**arrays, "episode_starts": starts.astype(dtype)})
    read = triangle_log(path)
    kept = [row for row in range(119) if not starts[row + 1]]
    assert len(kept) == 117
    np.testing.assert_array_equal(read.observations, arrays["observations"][kept])
    np.testing.assert_array_equal(read.actions, arrays["actions"][kept])
    np.testing.assert_array_equal(read.next_observations, following[kept])


def changed(**arrays: np.ndarray | None) -> dict[str, np.ndarray]:
    """A log with other arrays, or without those that are None."""
    return {name: array for name, array in (robot_log()[0] | arrays).items() if array is not None}


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"actions": None}, r"no array 'actions' but 'next_observations', 'observations'; it needs"),
        ({"next_observations": None}, "neither 'next_observations' nor 'episode_starts'"),
        ({"observations": np.ones((60, 9))}, r"'observations' has the shape \(60, 9\).*\(transitions, 10\)"),
        ({"actions": np.ones(60)}, r"'actions' has the shape \(60,\).*\(transitions, 3\)"),
        ({"actions": np.ones((59, 3))}, "different numbers of rows: 60 of observations, 59 of actions"),
        ({"actions": np.full((60, 3), np.nan)}, "'actions' row 0, element 0 is nan"),
        (
            {"next_observations": None, "episode_starts": np.ones((60, 1))},
            r"'episode_starts' has the shape \(60, 1\)",
        ),
        ({"next_observations": None, "episode_starts": np.arange(60)}, "values other than 0 and 1"),
        ({"next_observations": None, "episode_starts": np.ones(60)}, "holds no transition"),
    ],
)
def test_logs_that_do_not_fit_the_robot(
    tmp_path: Path, arrays: dict[str, np.ndarray | None], complaint: str
) -> None:
    path = write_log(tmp_path / "log.npz", changed(**arrays))
    with pytest.raises(ValueError, match=rf"log.npz.*{complaint}"):
        triangle_log(path)


def test_tables_that_do_not_fit_the_robot(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    np.savetxt(path, np.ones((3, 22)), delimiter=",")
    expected = "has 22 columns; this robot's transitions have 23: 10 observations, 3 actions, 10 next"
    with pytest.raises(ValueError, match=rf"log.csv {expected}"):
        triangle_log(path)
    path.write_text("1,2,3\n1,2\n")
    with pytest.raises(ValueError, match=r"number of columns changed from 3 to 2 at row 2$"):
        triangle_log(path)
    path.write_text("only,a,heading\n")
    with pytest.raises(ValueError, match="no rows of numbers"):
        triangle_log(path)
