import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ambidex.symmetry.isometry import from_description, name_of, named, reflection, rotation

NAMES = ["xz", "yz", "xy", "y=x", "y=-x", "m60", "m120", "r90", "r120", "r180", "r270", "rx90", "ry180"]


@pytest.mark.parametrize(
    ("name", "point", "image"),
    [
        ("xz", [1, 2, 3], [1, -2, 3]),
        ("yz", [1, 2, 3], [-1, 2, 3]),
        ("xy", [1, 2, 3], [1, 2, -3]),
        ("y=x", [1, 2, 3], [2, 1, 3]),
        ("y=-x", [1, 2, 3], [-2, -1, 3]),
        ("r90", [1, 2, 3], [-2, 1, 3]),
        ("r270", [1, 2, 3], [2, -1, 3]),
        ("rx90", [1, 2, 3], [1, -3, 2]),
        ("ry90", [1, 2, 3], [3, 2, -1]),
        ("inversion", [1, 2, 3], [-1, -2, -3]),
    ],
)
def test_names_say_what_happens_to_a_point(name, point, image):
    assert (named(name) @ point == image).all()


@given(axis=st.sampled_from(["x", "y", "z"]), degrees=st.integers(1, 359))
def test_rotations_are_scipys(axis, degrees):
    expected = Rotation.from_euler(axis, degrees, degrees=True).as_matrix()
    np.testing.assert_allclose(rotation(axis, degrees), expected, atol=1e-15)
    prefix = {"x": "rx", "y": "ry", "z": "r"}[axis]
    if degrees != 180:
        assert name_of(expected) == f"{prefix}{degrees}"


@given(degrees=st.integers(0, 179))
def test_a_vertical_plane_keeps_its_own_points_and_turns_its_normal(degrees):
    angle = np.radians(degrees)
    matrix = named(f"m{degrees}")
    within, normal = [np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0]
    np.testing.assert_allclose(matrix @ within, within, atol=1e-15)
    np.testing.assert_allclose(matrix @ normal, np.negative(normal), atol=1e-15)
    assert (named(name_of(matrix)) == matrix).all()


@pytest.mark.parametrize("name", NAMES)
def test_name_of_is_the_inverse_of_named(name):
    assert name_of(named(name)) == name


def test_what_has_no_name():
    assert name_of(np.eye(3)) is None
    assert name_of(rotation([1, 1, 1], 120)) is None
    assert name_of(reflection([1, 1, 1])) is None


def test_files_may_give_a_normal_an_axis_or_a_matrix():
    assert (from_description({"normal": [0, 2, 0]}) == named("xz")).all()
    assert (from_description({"axis": "-z", "degrees": 90}) == named("r270")).all()
    assert (from_description([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) == named("r90")).all()


@pytest.mark.parametrize(
    "wrong", ["zx", "r", 90, {"normal": "q"}, {"axis": "z"}, [[1, 0], [0, 1]], np.ones(3)]
)
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match=r"isometry|direction"):
        from_description(wrong)
