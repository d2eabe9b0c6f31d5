import math

import imageio.v2 as imageio
import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from ambidex.envs.triangle.robot import TriangleEnv
from ambidex.experiment.trained.play import play


def test_a_film_without_a_screen(finished, tmp_path):
    video = tmp_path / "film.mp4"
    assert play(finished, video, seconds=0.3) == 9
    assert imageio_ffmpeg.count_frames_and_secs(video) == (9, pytest.approx(0.3, abs=0.01))
    assert list(tmp_path.iterdir()) == [video]


def test_a_moving_picture(finished, tmp_path):
    video = tmp_path / "film.gif"
    assert play(finished, video, seconds=0.3) == 9
    frames = imageio.mimread(video)
    assert len(frames) == 7  # as many steps has the robot made; frames that are the same last longer
    assert (frames[0] != frames[-1]).any()
    assert np.std(frames[0]) > 0


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_a_small_moving_picture(finished, tmp_path, ending):
    small = tmp_path / f"small.{ending}"
    assert play(finished, small, seconds=0.5, frames_per_second=10, width=100) == 5
    with Image.open(small) as picture:
        assert (picture.n_frames, picture.width, picture.info["loop"]) == (5, 100, 0)
        assert picture.height < 120
        first = np.asarray(picture.convert("RGB"))
        picture.seek(4)
        assert (first != np.asarray(picture.convert("RGB"))).any()
        assert picture.info["duration"] == 100


@pytest.mark.parametrize("step_rate", [8, 20, 61, None])
def test_the_film_shows_the_robots_own_time(finished, tmp_path, monkeypatch, step_rate):
    made = []
    step = TriangleEnv.step
    monkeypatch.setattr(TriangleEnv, "step", lambda env, action: (made.append(0), step(env, action))[1])
    monkeypatch.setattr(TriangleEnv, "metadata", TriangleEnv.metadata | {"render_fps": step_rate})
    assert play(finished, tmp_path / "film.gif", seconds=2.0, frames_per_second=30, width=20) == 60
    assert len(made) / (step_rate or 30) == pytest.approx(2.0, abs=1.01 / (step_rate or 30))


@pytest.mark.parametrize("frames_per_second", [7, 30, 60])
def test_a_picture_lasts_as_long_as_the_film(finished, tmp_path, frames_per_second):
    video = tmp_path / "film.gif"
    play(finished, video, seconds=1.0, frames_per_second=frames_per_second, width=20)
    with Image.open(video) as picture:
        lasting = 0
        for frame in range(picture.n_frames):
            picture.seek(frame)
            lasting += picture.info["duration"]
    assert lasting == 1000


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_the_shortest_film_has_one_frame(finished, tmp_path, ending):
    assert play(finished, tmp_path / f"film.{ending}", seconds=0.01, frames_per_second=4) == 1


def test_an_environment_without_pictures_is_named(finished, tmp_path, monkeypatch):
    def refuse(self):
        raise NotImplementedError

    for render in (refuse, lambda self: None):
        monkeypatch.setattr(TriangleEnv, "render", render)
        with pytest.raises(ValueError, match="TriangleEnv does not draw pictures"):
            play(finished, tmp_path / "film.gif")
    assert not list(tmp_path.iterdir())


def test_films_without_an_end_or_too_fast_are_refused(finished, tmp_path):
    for seconds in (math.inf, math.nan, 0.0):
        with pytest.raises(ValueError, match="a film has a length in seconds"):
            play(finished, tmp_path / "film.mp4", seconds=seconds)
    with pytest.raises(ValueError, match="a GIF has 100 frames per second at the most, got 240"):
        play(finished, tmp_path / "film.gif", frames_per_second=240)


def test_other_formats_are_refused(finished, tmp_path):
    with pytest.raises(ValueError, match=r"film.avi: a video ends in .mp4, .gif or .webp"):
        play(finished, tmp_path / "film.avi")
