"""A trained policy as a video, without a screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ambidex.common.files import written_aside
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.stored import StoredPolicy, Which

FRAMES_PER_SECOND = 30
_FORMATS = (".mp4", ".gif")


def play(directory: Path, video: Path, *, which: Which = "best", seconds: float = 10.0) -> int:
    """Film the policy of a run, episode after episode.

    :param directory: the run
    :param video: an ``.mp4`` or ``.gif`` file
    :param seconds: how long the film is, in the robot's own time
    :return: the number of frames
    """
    if video.suffix not in _FORMATS:
        raise ValueError(f"{video}: a video ends in {' or '.join(_FORMATS)}")
    try:
        import imageio.v2 as imageio
    except ImportError:
        raise ValueError("play needs imageio and imageio-ffmpeg: pip install 'ambidex[video]'") from None
    policy = stored.load(directory, which, render_mode="rgb_array")
    frames = _film(policy, round(seconds * FRAMES_PER_SECOND))
    with written_aside(video) as aside:
        if video.suffix == ".gif":
            imageio.mimwrite(aside, frames, duration=1000 / FRAMES_PER_SECOND, loop=0)
        else:
            even: list[Any] = [_even(frame) for frame in frames]
            imageio.mimwrite(aside, even, fps=FRAMES_PER_SECOND, macro_block_size=2)
    return len(frames)


def _film(policy: StoredPolicy, count: int) -> list[Any]:
    """``count`` frames at `FRAMES_PER_SECOND`, the steps between them not drawn."""
    env = policy.env
    step_rate = env.metadata.get("render_fps", FRAMES_PER_SECOND)
    frames: list[Any] = []
    observation: Any = None
    over = True
    step = 0
    while len(frames) < count:
        if over:
            observation, _ = env.reset()
        if len(frames) <= step * FRAMES_PER_SECOND / step_rate:
            frames.append(_drawn(env))
        observation, _, terminated, truncated, _ = env.step(policy.act(observation))
        over = terminated or truncated
        step += 1
    env.close()
    return frames


def _drawn(env: gym.Env) -> np.ndarray:
    try:
        picture = env.render()
    except NotImplementedError:
        picture = None
    if not isinstance(picture, np.ndarray):
        raise ValueError(f"{type(env.unwrapped).__name__} does not draw pictures (render_mode 'rgb_array')")
    return picture.astype(np.uint8)


def _even(frame: np.ndarray) -> np.ndarray:
    """Common video codecs want even sides."""
    return frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]
