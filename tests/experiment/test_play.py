import imageio.v2 as imageio
import numpy as np
import pytest

from ambidex.experiment.play import play


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_without_a_screen(finished, tmp_path, suffix):
    video = tmp_path / f"film{suffix}"
    assert play(finished, video, seconds=0.3) == 9
    with imageio.get_reader(video) as reader:
        frames = [frame for frame in reader]  # noqa: C416 - a list() would ask for the length, which is infinite
    assert len(frames) == 9
    assert np.std(frames[0]) > 0
    assert list(tmp_path.iterdir()) == [video]


def test_other_formats_are_refused(finished, tmp_path):
    with pytest.raises(ValueError, match=r"film.avi: a video ends in .mp4 or .gif"):
        play(finished, tmp_path / "film.avi")
