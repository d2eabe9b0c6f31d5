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
    assert len(frames) == 9
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


def test_an_environment_without_pictures_is_named(finished, tmp_path, monkeypatch):
    def refuse(self):
        raise NotImplementedError

    for render in (refuse, lambda self: None):
        monkeypatch.setattr(TriangleEnv, "render", render)
        with pytest.raises(ValueError, match="TriangleEnv does not draw pictures"):
            play(finished, tmp_path / "film.gif")
    assert not list(tmp_path.iterdir())


def test_other_formats_are_refused(finished, tmp_path):
    with pytest.raises(ValueError, match=r"film.avi: a video ends in .mp4, .gif or .webp"):
        play(finished, tmp_path / "film.avi")
