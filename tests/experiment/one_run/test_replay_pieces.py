"""A replay buffer in pieces: written once, read back to the bit, forgotten when nobody needs them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer

from ambidex.experiment.one_run import replay_pieces
from ambidex.experiment.one_run.checkpoint import DamagedCheckpoint

BOX = spaces.Box(-1, 1, (3,), np.float32)
DICT = spaces.Dict({"legs": BOX, "body": spaces.Box(-1, 1, (2,), np.float32)})


class Life:
    """A buffer that two robots fill: a next state is the state of the next step, but for episodes' ends."""

    def __init__(self, space: spaces.Space[Any], capacity: int, ending: float = 0.3) -> None:
        self.ending = ending
        kind: Any = DictReplayBuffer if isinstance(space, spaces.Dict) else ReplayBuffer
        self.buffer = kind(2 * capacity, space, BOX, n_envs=2, device="cpu")
        self.random = np.random.default_rng(0)
        self.space = space
        self.state = self.draw()
        self.total = 0

    def draw(self) -> Any:
        if isinstance(self.space, spaces.Dict):
            return {key: self.random.normal(size=(2, *part.shape)) for key, part in self.space.items()}
        return self.random.normal(size=(2, 3))

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            following = self.draw()
            done = self.random.random(2) < self.ending
            infos = [{"TimeLimit.truncated": bool(one and self.random.random() < 0.5)} for one in done]
            actions, rewards = self.random.normal(size=(2, 3)), self.random.normal(size=2)
            self.buffer.add(self.state, following, actions, rewards, done, infos)
            self.state = self.draw() if done.any() else following
            self.total += 1


def arrays_of(buffer: Any) -> dict[str, Any]:
    found = {name: getattr(buffer, name) for name in ("actions", "rewards", "dones", "timeouts")}
    for name in ("observations", "next_observations"):
        part = getattr(buffer, name)
        by_key = part if isinstance(part, dict) else {"": part}
        found |= {f"{name}/{key}": one for key, one in by_key.items()}
    return found


def read_back(directory: Path, life: Life) -> Any:
    other = Life(life.space, life.buffer.buffer_size).buffer
    replay_pieces.read(directory, other, life.total)
    assert (other.pos, other.full) == (life.buffer.pos, life.buffer.full)
    for name, array in arrays_of(life.buffer).items():
        np.testing.assert_array_equal(arrays_of(other)[name], array, err_msg=name)
    return other


@pytest.mark.parametrize("space", [BOX, DICT])
@pytest.mark.parametrize("steps", [[7], [4, 3, 2], [4, 0, 9, 4], [25], [6, 6, 6, 6, 5, 1]])
def test_read_back_to_the_bit(space: Any, steps: list[int], tmp_path: Path) -> None:
    """In a ring of 10 places: before it is full, when it is just full, and after it went around."""
    life = Life(space, 10)
    for count in steps:
        life.go_on(count)
        replay_pieces.write(tmp_path, life.buffer, life.total, 0)
    read_back(tmp_path, life)


def test_a_piece_is_written_once_and_removed_when_nobody_needs_it(tmp_path: Path) -> None:
    life = Life(BOX, 10)
    seen: dict[str, int] = {}
    for _ in range(12):
        life.go_on(3)
        replay_pieces.write(tmp_path, life.buffer, life.total, life.total - 6 - 10)
        for piece in replay_pieces.pieces(tmp_path):
            inode = piece.path.stat().st_ino
            assert seen.setdefault(piece.path.name, inode) == inode
    assert [piece.last - piece.first for piece in replay_pieces.pieces(tmp_path)] == [3] * 6
    read_back(tmp_path, life)


def test_next_states_are_not_written_twice(tmp_path: Path) -> None:
    life = Life(BOX, 4000, ending=0.001)
    life.go_on(2000)
    replay_pieces.write(tmp_path, life.buffer, life.total, 0)
    (piece,) = replay_pieces.pieces(tmp_path)
    assert piece.path.stat().st_size < 1.05 * 2000 * 2 * 4 * (3 + 3 + 3)
    read_back(tmp_path, life)


def test_pieces_of_a_checkpoint_that_never_came_to_be_are_left_out(tmp_path: Path) -> None:
    life = Life(BOX, 10)
    life.go_on(4)
    replay_pieces.write(tmp_path, life.buffer, life.total, 0)
    other = read_back(tmp_path, life)
    life.go_on(3)
    replay_pieces.write(tmp_path, life.buffer, life.total, 0)
    replay_pieces.read(tmp_path, other, 4)
    assert [piece.last for piece in replay_pieces.pieces(tmp_path)] == [4]


def test_damage_is_named(tmp_path: Path) -> None:
    life = Life(BOX, 10)
    for _ in range(2):
        life.go_on(4)
        replay_pieces.write(tmp_path, life.buffer, life.total, 0)
    first, second = replay_pieces.pieces(tmp_path)
    content = second.path.read_bytes()
    second.path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DamagedCheckpoint, match=second.path.name):
        read_back(tmp_path, life)
    second.path.write_bytes(content)
    for other in ("0000000004-9999999999", "0000000003-0000000008"):
        renamed = second.path.rename(tmp_path / f"{other}-{second.digest}.safetensors")
        with pytest.raises(DamagedCheckpoint, match=f"{other}.* does not hold the steps"):
            read_back(tmp_path, life)
        renamed.rename(second.path)
    first.path.unlink()
    with pytest.raises(DamagedCheckpoint, match="lacks the replay's steps from 0 to 8"):
        read_back(tmp_path, life)
