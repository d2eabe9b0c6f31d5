"""Figures are whole: nothing touches an edge, no boxes overlap, and the front is up."""

from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imread

from ambidex.symmetry import load
from ambidex.symmetry.show.picture import draw, save_figure
from ambidex.symmetry.show.sketch import Sketch


@pytest.mark.parametrize("robot", ["go2", "g1", "triangle", "reacher-v5"])
def test_nothing_is_cut_off(robot, tmp_path):
    save_figure(load(robot), tmp_path / "robot.png")
    pixels = imread(tmp_path / "robot.png")[..., :3]
    for edge in (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]):
        assert edge.min() == 1.0


@pytest.mark.parametrize("robot", ["go2", "g1", "talos", "triangle", "ant"])
def test_no_two_limbs_overlap(robot):
    group = load(robot)
    figure = draw(group)
    FigureCanvasAgg(figure).draw()
    boxes = [text for text in figure.axes[0].texts if text.get_bbox_patch() is not None]
    assert len(boxes) == len(group.layout.body.limbs)
    places = [text.get_bbox_patch().get_window_extent() for text in boxes]
    assert not any(first.overlaps(second) for first, second in combinations(places, 2))


def test_the_front_is_up():
    group = load("go2")
    sketch = Sketch.of(group.layout, list(group))
    corners = {limb: (x > 0, y > 0) for limb, (x, y) in sketch.boxes.items()}
    assert corners == {
        "FL_leg": (False, True),
        "FR_leg": (True, True),
        "RL_leg": (False, False),
        "RR_leg": (True, False),
    }
    assert sketch.texts["xz"]["FL_leg"] == "FR_leg\nhip −\nthigh +\ncalf +"


def test_limbs_without_a_place_are_not_sketched():
    group = load("cartpole-v1")
    assert group.layout is None or Sketch.of(group.layout, list(group)) is None
