"""A trained policy as a video, without a screen."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ambidex.common.files import written_aside
from ambidex.experiment.trained import stored
from ambidex.experiment.trained.stored import StoredPolicy, Which

FRAMES_PER_SECOND = 30
_COLOURS = 64
_PICTURES = (".gif", ".webp")
_FORMATS = (".mp4", *_PICTURES)
_MOST_OF_GIF = 100
"""Frames per second; it counts in hundredths of a second."""


def play(
    directory: Path,
    video: Path,
    *,
    which: Which = "best",
    seconds: float = 10.0,
    frames_per_second: int = FRAMES_PER_SECOND,
    width: int | None = None,
    trust: bool = False,
) -> int:
    """Film the policy of a run, episode after episode.

    :param directory: the run
    :param video: an ``.mp4`` file, or an animated picture: ``.gif`` or ``.webp``
    :param seconds: how long the film is, in the robot's own time
    :param width: of the film in pixels, at most as wide as what the robot's environment draws; None: as wide
    :param trust: that the run's environment may be code of a module that its `run.json` names
    :return: the number of frames
    """
    if video.suffix not in _FORMATS:
        raise ValueError(f"{video}: a video ends in {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"a film has a length in seconds, such as 10; got {seconds}")
    if video.suffix == ".gif" and frames_per_second > _MOST_OF_GIF:
        raise ValueError(
            f"a GIF has {_MOST_OF_GIF} frames per second at the most, got {frames_per_second}; use .mp4"
        )
    try:
        import imageio.v2 as imageio
    except ImportError:
        raise ValueError("play needs imageio and imageio-ffmpeg: pip install 'ambidex[video]'") from None
    policy = stored.load_policy(directory, which, env_args={"render_mode": "rgb_array"}, trust=trust)
    drawn = _film(policy, max(1, round(seconds * frames_per_second)), frames_per_second)
    frames = [_scaled(frame, width) for frame in drawn]
    with written_aside(video) as aside:
        if video.suffix in _PICTURES:
            _write_picture(aside, frames, frames_per_second)
        else:
            even: list[Any] = [_even(frame) for frame in frames]
            imageio.mimwrite(aside, even, fps=frames_per_second, macro_block_size=2)
    return len(frames)


def _film(policy: StoredPolicy, count: int, frames_per_second: int) -> list[Any]:
    """``count`` frames; steps between them are not drawn, and one that lasts longer is shown again."""
    env = policy.env
    step_rate = env.metadata.get("render_fps") or frames_per_second
    frames: list[Any] = []
    observation: Any = None
    over = True
    step = 0
    while len(frames) < count:
        if over:
            observation, _ = env.reset()
        due = min(count, math.floor(step * frames_per_second / step_rate) + 1) - len(frames)
        if due > 0:
            frames += due * [_drawn(env)]
        observation, _, terminated, truncated, _ = env.step(policy.act(observation))
        over = terminated or truncated
        step += 1
    env.close()
    return frames


def _write_picture(path: Path, frames: list[np.ndarray], frames_per_second: int) -> None:
    """Few colours, the first frame's, and no dithering: what does not change between frames costs nothing."""
    from PIL import Image

    images: list[Image.Image] = [Image.fromarray(frame) for frame in frames]
    if path.suffix == ".gif":
        palette = images[0].quantize(_COLOURS)
        images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    # GIF keeps hundredths of a second, so that no frame alone lasts as long as it should.
    ends = [10 * round(100 * (i + 1) / frames_per_second) for i in range(len(images))]
    pauses = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    images[0].save(path, save_all=True, append_images=images[1:], duration=pauses, loop=0)


def _scaled(frame: np.ndarray, width: int | None) -> np.ndarray:
    if width is None or width >= frame.shape[1]:
        return frame
    from PIL import Image

    height = round(frame.shape[0] * width / frame.shape[1])
    return np.asarray(Image.fromarray(frame).resize((width, height), Image.Resampling.LANCZOS))


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
