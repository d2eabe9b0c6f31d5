"""Layouts against the geometry itself: real vectors, rotations and terrains, moved by the isometry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ambidex.symmetry import ChoiceMap, DictMap, IndexMap, Layout, MatrixMap
from ambidex.symmetry.isometry import named, rotation

ISOMETRIES = [
    "xz",
    "yz",
    "xy",
    "y=x",
    "y=-x",
    "m60",
    "r90",
    "r120",
    "r180",
    "r240",
    "rx90",
    "ry120",
    "inversion",
]
seeds = st.integers(0, 2**32 - 1)


def layout(observations, actions=None, **sections) -> Layout:
    return Layout({"observations": observations, "actions": actions or [{"nothing": "scalar"}], **sections})


def random_rotation(generator: np.random.Generator) -> Rotation:
    return Rotation.from_quat(generator.normal(size=4))


@given(name=st.sampled_from(ISOMETRIES), seed=seeds)
def test_vectors_move_as_the_body_does(name, seed):
    part = layout([{"velocity": "vector"}]).symmetry("t", named(name)).observation_map
    velocity = np.random.default_rng(seed).normal(size=3)
    np.testing.assert_allclose(part(velocity), named(name) @ velocity, atol=1e-12)


@given(name=st.sampled_from(ISOMETRIES), seed=seeds)
def test_a_spin_moves_every_point_of_the_body_alike(name, seed):
    """The velocity of a point is spin x place; moved by the isometry it must be new spin x new place."""
    part = layout([{"spin": {"pseudovector": ["z", "x", "y"]}}]).symmetry("t", named(name)).observation_map
    generator = np.random.default_rng(seed)
    spin, place = generator.normal(size=3), generator.normal(size=3)
    z, x, y = part(spin[[2, 0, 1]])
    np.testing.assert_allclose(
        np.cross([x, y, z], named(name) @ place), named(name) @ np.cross(spin, place), atol=1e-12
    )


@given(
    name=st.sampled_from(ISOMETRIES),
    order=st.sampled_from(["wxyz", "xyzw"]),
    seed=seeds,
)
def test_quaternions_turn_real_vectors_as_the_moved_body_does(name, order, seed):
    part = layout([{"orientation": {"quaternion": order}}]).symmetry("t", named(name)).observation_map
    generator = np.random.default_rng(seed)
    turn = random_rotation(generator)
    moved = part(turn.as_quat(scalar_first=order == "wxyz"))
    arrow = generator.normal(size=3)
    np.testing.assert_allclose(
        Rotation.from_quat(moved, scalar_first=order == "wxyz").apply(named(name) @ arrow),
        named(name) @ turn.apply(arrow),
        atol=1e-12,
    )


@given(name=st.sampled_from(ISOMETRIES), seed=seeds)
def test_small_roll_pitch_and_yaw_follow_the_moved_body(name, seed):
    part = layout([{"tilt": "angles"}]).symmetry("t", named(name)).observation_map
    angles = 1e-4 * np.random.default_rng(seed).uniform(-1, 1, size=3)
    turn = Rotation.from_euler("xyz", angles).as_matrix()
    moved = Rotation.from_matrix(named(name) @ turn @ named(name).T).as_euler("xyz")
    np.testing.assert_allclose(part(angles), moved, atol=1e-7)


@given(name=st.sampled_from(ISOMETRIES), slides=st.booleans(), seed=seeds)
def test_a_joints_sign_follows_from_its_axis(name, slides, seed):
    """Turning about the moved axis by the new angle is the moved turn; a slide is the moved slide."""
    matrix = named(name)
    generator = np.random.default_rng(seed)
    axis = random_rotation(generator).apply([0, 0, 1])
    axes = []
    while not axes or not np.allclose(np.linalg.matrix_power(matrix, len(axes)), np.eye(3)):
        axes.append(generator.choice([1, -1]) * np.linalg.matrix_power(matrix, len(axes)) @ axis)
    key = "slide" if slides else "axis"
    limbs = {f"limb_{i}": {"joints": {"joint": {key: each.tolist()}}} for i, each in enumerate(axes)}
    moves = {f"limb_{i}": f"limb_{(i + 1) % len(axes)}" for i in range(len(axes))}
    part = layout([{"position": "joint"}], limbs=limbs).symmetry("t", matrix, moves=moves).observation_map
    assert part.indices.tolist() == [i - 1 if i else len(axes) - 1 for i in range(len(axes))]
    for i, before in enumerate(axes):
        after = axes[(i + 1) % len(axes)]
        angle = 0.7 * part.multipliers[(i + 1) % len(axes)]
        if slides:
            np.testing.assert_allclose(angle * after, matrix @ (0.7 * before), atol=1e-9)
        else:
            turned = Rotation.from_rotvec(angle * after).as_matrix()
            original = Rotation.from_rotvec(0.7 * before).as_matrix()
            np.testing.assert_allclose(turned, matrix @ original @ matrix.T, atol=1e-9)


@st.composite
def grids(draw: st.DrawFn) -> dict[str, object]:
    rows, columns = draw(st.permutations(["x", "y"]))
    return {
        "shape": draw(st.sampled_from([[3, 3], [4, 4], [2, 5]])),
        "rows": draw(st.sampled_from(["", "-"])) + rows,
        "columns": draw(st.sampled_from(["", "-"])) + columns,
        "spacing": [0.5, 0.5],
    }


@given(grid=grids(), name=st.sampled_from(["xz", "yz", "y=x", "y=-x", "r90", "r180", "r270"]), seed=seeds)
def test_a_height_map_is_the_moved_terrain_sampled_anew(grid, name, seed):
    robot = layout([{"terrain": {"heights": grid}}])
    square = grid["shape"][0] == grid["shape"][1]
    if not square and name not in ("xz", "yz", "r180"):
        with pytest.raises(ValueError, match=r"transform 't' carries points of the height map 'terrain'"):
            robot.symmetry("t", named(name))
        return
    coefficients = np.random.default_rng(seed).normal(size=4)
    inverse = named(name).T[:2, :2]

    def height(place):
        x, y = place
        return coefficients @ [x, y, x * y, x * x]

    before, after = [], []
    for row in range(grid["shape"][0]):
        for column in range(grid["shape"][1]):
            place = np.zeros(2)
            for direction, step, count in (
                (grid["rows"], row, grid["shape"][0]),
                (grid["columns"], column, grid["shape"][1]),
            ):
                sign = -1 if direction.startswith("-") else 1
                place["xy".index(direction[-1])] = sign * 0.5 * (step - (count - 1) / 2)
            before.append(height(place))
            after.append(height(inverse @ place))
    part = robot.symmetry("t", named(name)).observation_map
    np.testing.assert_allclose(part(np.array(before)), after, atol=1e-12)


def test_a_grid_ahead_of_the_robot_is_mirrored_but_not_turned_around():
    heights = {"shape": [3, 2], "rows": "x", "columns": "y", "centre": [1, 0]}
    robot = layout([{"terrain": {"heights": heights}}])
    assert robot.symmetry("xz", named("xz")).observation_map.indices.tolist() == [1, 0, 3, 2, 5, 4]
    with pytest.raises(ValueError, match="no such symmetry"):
        robot.symmetry("r180", named("r180"))


def test_what_indices_and_signs_cannot_say_is_a_block_of_a_matrix():
    robot = layout([{"height": "scalar"}, {"velocity": {"vector": ["x", "y"]}}])
    part = robot.symmetry("r120", named("r120")).observation_map
    assert isinstance(part, MatrixMap)
    assert part.order == 3
    observation = np.array([5.0, 1.0, 0.0])
    np.testing.assert_allclose(part(observation), [5, -0.5, np.sqrt(0.75)], atol=1e-15)


def test_parts_of_a_vector_that_mix_with_missing_parts_are_refused():
    robot = layout([{"speed": {"vector": ["x"]}}])
    assert robot.symmetry("yz", named("yz")).observation_map.multipliers.tolist() == [-1]
    with pytest.raises(ValueError, match=r"transform 'r90' mixes the components x of 'speed'"):
        robot.symmetry("r90", named("r90"))


BIPED = {
    "left": {"at": [0, 1], "joints": {"hip_yaw": "z", "hip_roll": "x", "knee": "y"}},
    "right": {"at": [0, -1], "joints": {"hip_yaw": "z", "hip_roll": "-x", "knee": "y"}},
    "waist": {"at": [0, 0], "joints": {"yaw": "z"}},
}


def test_a_bipeds_observations_may_come_in_any_order():
    observations = [
        {"left_joints": {"joint": "position", "of": "left"}},
        {"left_foot": {"contact": None, "of": "left"}},
        {"waist": {"joint": "position", "of": "waist.yaw"}},
        {"right_foot": {"contact": None, "of": "right"}},
        {"right_joints": {"joint": "position", "of": ["right.knee", "right.hip_roll", "right.hip_yaw"]}},
        {"force": {"vector": ["z", "y"], "of": ["left", "right"]}},
    ]
    robot = layout(observations, [{"target": {"joint": None, "of": ["*.hip_yaw", "*.knee"]}}], limbs=BIPED)
    mirror = robot.symmetry("xz", named("xz"))
    assert robot.observation_names == (
        *("left.hip_yaw.position", "left.hip_roll.position", "left.knee.position", "left.contact"),
        *("waist.yaw.position", "right.contact"),
        *("right.knee.position", "right.hip_roll.position", "right.hip_yaw.position"),
        *("left.force.z", "left.force.y", "right.force.z", "right.force.y"),
    )
    # yaw turns the other way, roll does so too but about a turned axis, the knee bends the same way
    assert mirror.observation_map.indices.tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 9, 10]
    assert mirror.observation_map.multipliers.tolist() == [-1, 1, 1, 1, -1, 1, 1, 1, -1, 1, -1, 1, -1]
    assert robot.action_names == ("left.hip_yaw", "right.hip_yaw", "left.knee", "right.knee")
    assert mirror.action_map.indices.tolist() == [1, 0, 3, 2]
    assert mirror.action_map.multipliers.tolist() == [-1, -1, 1, 1]


def test_joints_without_geometry_are_moved_by_name():
    robot = layout(
        [{"joints": {"joint": ["position", "velocity"]}}],
        [{"torque": "joint"}],
        joints=["left_hip", "left_knee", "right_hip", "right_knee", "waist"],
    )
    moves = {"left_hip": "-right_hip", "left_knee": "right_knee", "waist": "-waist"}
    mirror = robot.symmetry("mirror", moves=moves, kind="reflection")
    assert mirror.action_map == IndexMap([2, 3, 0, 1, 4], [-1, 1, -1, 1, -1])
    assert mirror.observation_map == IndexMap(
        [4, 5, 6, 7, 0, 1, 2, 3, 8, 9], [-1, -1, 1, 1, -1, -1, 1, 1, -1, -1]
    )
    assert mirror.kind == "reflection"


def test_moves_say_where_a_joint_goes():
    robot = layout([{"position": "joint"}], joints=["a", "b", "c"])
    turn = robot.symmetry("turn", moves={"a": "b", "b": "c", "c": "-a"})
    assert turn.observation_map(np.array([1.0, 2.0, 3.0])).tolist() == [-3, 1, 2]


def test_values_without_a_sign_keep_it():
    robot = layout(
        [{"position": "joint"}, {"temperature": {"joint": None, "unsigned": True}}], joints=["left", "right"]
    )
    mirror = robot.symmetry("mirror", moves={"left": "-right"})
    assert mirror.observation_map == IndexMap([1, 0, 3, 2], [-1, -1, 1, 1])


def test_a_robots_clock_is_half_a_period_later_and_a_limbs_goes_with_it():
    limbs = {"left": {"at": [0, 1]}, "right": {"at": [0, -1]}}
    whole = layout([{"clock": {"phase": ["sin", "cos"]}}])
    each = layout([{"clock": {"phase": ["sin", "cos"], "of": "all"}}], limbs=limbs)
    t = 0.3
    clock, later = np.array([np.sin(t), np.cos(t)]), np.array([np.sin(t + np.pi), np.cos(t + np.pi)])
    np.testing.assert_allclose(whole.symmetry("xz", named("xz"), phase="half").observation(clock), later)
    np.testing.assert_allclose(whole.symmetry("xz", named("xz"), phase="same").observation(clock), clock)
    assert each.symmetry("xz", named("xz")).observation_map == IndexMap([2, 3, 0, 1], [1] * 4)
    with pytest.raises(ValueError, match=r"transform 'xz': say what becomes of the clock 'clock'"):
        whole.symmetry("xz", named("xz"))


@pytest.mark.parametrize("newest", ["first", "last"])
def test_history_repeats_what_one_step_does(newest):
    fields = [{"goal": {"vector": ["y", "x"]}}, {"spin": {"pseudovector": ["z"]}}]
    one = layout(fields).symmetry("t", named("y=x")).observation_map
    framed = layout([{"history": 3, "newest": newest, "fields": fields}, {"height": "scalar"}])
    each = layout(
        [{name: {**spec, "history": 3, "newest": newest}} for field in fields for name, spec in field.items()]
    )
    steps = np.random.default_rng(0).normal(size=(3, 3))
    expected = one(steps)
    part = framed.symmetry("t", named("y=x")).observation_map
    assert (part(np.append(steps, 7.0)) == np.append(expected, 7.0)).all()
    by_field = each.symmetry("t", named("y=x")).observation_map
    stacked = by_field(np.concatenate([steps[:, :2].ravel(), steps[:, 2]]))
    assert (stacked == np.concatenate([expected[:, :2].ravel(), expected[:, 2]])).all()
    age = {"first": ("", "[t-1]", "[t-2]"), "last": ("[t-2]", "[t-1]", "")}[newest]
    assert framed.observation_names[::3] == (*(f"goal.y{when}" for when in age), "height")


def test_the_newest_of_a_history_is_what_an_actuator_has():
    fields = [{"joints": {"joint": ["position", "velocity"]}}]
    for newest, at in (("first", 0), ("last", 8)):
        robot = layout(
            [{"history": 3, "newest": newest, "fields": fields}], [{"torque": "joint"}], joints=["a", "b"]
        )
        assert [actuator.position_index for actuator in robot.actuators] == [at, at + 2]
        assert [actuator.velocity_index for actuator in robot.actuators] == [at + 1, at + 3]


def test_dict_observations_have_a_map_for_each_group():
    robot = layout(
        {
            "policy": [{"goal": {"vector": ["x", "y"]}}],
            "critic": [{"height": "scalar"}, {"position": "joint"}],
        },
        [{"torque": "joint"}],
        joints={"left": {"limits": [-1, 2]}, "right": None},
    )
    mirror = robot.symmetry("xz", named("xz"), moves={"left": "-right"})
    assert mirror.observation_map == DictMap(
        {"policy": IndexMap([0, 1], [1, -1]), "critic": IndexMap([0, 2, 1], [1, -1, -1])}
    )
    assert robot.observation_names == {
        "policy": ("goal.x", "goal.y"),
        "critic": ("height", "left.position", "right.position"),
    }
    left, right = robot.actuators
    assert (left.observation_key, left.position_index, left.limits) == ("critic", 1, (-1.0, 2.0))
    assert (right.velocity_index, right.limits) == (None, None)


def test_cartpole_has_choices():
    robot = layout(
        [
            {"position": {"vector": ["x"]}},
            {"velocity": {"vector": ["x"]}},
            {"angle": {"angles": ["pitch"]}},
            {"spin": {"pseudovector": ["y"]}},
        ],
        {"choices": ["left", "right"]},
    )
    mirror = robot.symmetry("yz", named("yz"), moves={"left": "right"})
    assert mirror.observation_map == IndexMap([0, 1, 2, 3], [-1] * 4)
    assert isinstance(mirror.action_map, ChoiceMap)
    assert mirror.action(np.array([0, 1, 0])).tolist() == [1, 0, 1]
    assert robot.action_names == ("left", "right")
    assert robot.actuators == ()


def test_several_choices_at_once():
    robot = layout(
        [{"speed": "scalar"}], {"choices": {"steer": ["left", "straight", "right"], "gear": ["up", "down"]}}
    )
    moves = {"steer.left": "steer.right", "steer.straight": "steer.straight"}
    moves |= {"gear.up": "gear.up", "gear.down": "gear.down"}
    mirror = robot.symmetry("mirror", moves=moves)
    assert mirror.action(np.array([[0, 1], [1, 0], [2, 1]])).tolist() == [[2, 1], [1, 0], [0, 1]]


LEGS = {"leg": {"at": [1, 1], "joints": {"hip": "z"}}, "arm": {"at": [1, -1], "joints": {"hip": "x"}}}


@pytest.mark.parametrize(
    ("sections", "transform", "message"),
    [
        (
            {"observations": [{"height": "scaler"}]},
            {},
            r"field 'height': unknown key 'scaler'; did you mean 'scalar'",
        ),
        (
            {"observations": [{"v": {"vector": ["x", "w"]}}]},
            {},
            r"field 'v': vector takes its components in order",
        ),
        ({"observations": [{"q": "quaternion"}]}, {}, r"field 'q': quaternion takes the order"),
        ({"observations": [{"a": "scalar"}, {"a": "scalar"}]}, {}, r"'a' is given twice"),
        ({"observations": [{"feet": "contact"}]}, {}, r"no limbs; add them"),
        (
            {"observations": [{"p": {"joint": None, "of": "hpi"}}], "joints": ["hip"]},
            {},
            r"did you mean 'hip'",
        ),
        (
            {"observations": [{"p": {"joint": None, "limits": [2, 1]}}], "joints": ["a"]},
            {},
            r"limits are \[lowest",
        ),
        ({"observations": [{"p": {"scalar": None, "limits": [1, 2]}}]}, {}, r"belong to joint values only"),
        ({"observations": [{"p": {"scalar": None, "history": 0}}]}, {}, r"history is the number"),
        (
            {"limbs": {"one": {"at": [1, 1]}, "two": {"at": [1, 1]}}},
            {},
            r"'one' and 'two' are at the same place",
        ),
        ({"limbs": {"one": {"at": [1]}}}, {}, r"limb 'one': a place is a list"),
        ({"limbs": {"one": {"at": [1, 0], "joints": {"hip": "q"}}}}, {}, r"joint 'one.hip': a direction is"),
        (
            {"limbs": LEGS},
            {"isometry": "xz"},
            r"'xz' carries the axis of joint 'leg.hip' to .* 'arm.hip' has the axis",
        ),
        (
            {"limbs": LEGS},
            {"isometry": "yz"},
            r"carries limb 'leg' from \(1, 1, 0\) to \(-1, 1, 0\), where no limb is",
        ),
        ({"joints": ["hip"]}, {"isometry": "xz"}, r"nothing says where it moves joint 'hip'"),
        ({"joints": ["hip"]}, {"moves": {"hip": "hop"}}, r"nothing is called 'hop'; did you mean 'hip'"),
        ({"joints": ["a", "b", "c"]}, {"moves": {"a": "c", "b": "c"}}, r"both 'a' and 'b' go to 'c'"),
        ({"limbs": ["a", "b"]}, {"moves": {"a": "-b"}}, r"only joints have a sign"),
        ({"limbs": ["a"], "joints": ["b"]}, {"moves": {"a": "b"}}, r"which is of another kind"),
        (
            {"joints": {"a": "z"}},
            {"isometry": "xz", "moves": {"a": "a"}},
            r"another sign than the joints' axes",
        ),
        ({"observations": [{"v": "vector"}]}, {"moves": {}}, r"'v' needs the body's isometry"),
        (
            {"actions": {"choices": ["left", "right"]}},
            {"isometry": "xz"},
            r"where it moves the choice 'left'",
        ),
        ({"actions": {"choices": ["left", "left"]}}, {}, r"each choice has a name of its own"),
        (
            {"observations": [{"feet": {"contact": None, "of": "a"}}], "limbs": ["a", "b"]},
            {"moves": {"a": "b"}},
            r"which the layout does not have",
        ),
        (
            {"actions": [{"torque": {"joint": None, "of": "leg"}}], "limbs": LEGS},
            {"isometry": "xz"},
            r"carries the axis",
        ),
        (
            {
                "observations": [
                    {"f": {"vector": ["x", "y"], "of": "a"}},
                    {"f": {"vector": ["y", "x"], "of": "b"}},
                ],
                "limbs": ["a", "b"],
            },
            {"isometry": "xz", "moves": {"a": "b"}},
            r"written in another way",
        ),
    ],
)
def test_wrong_descriptions_say_what_and_where(sections, transform, message):
    with pytest.raises(ValueError, match=message):
        robot = Layout({"observations": [{"n": "scalar"}], "actions": [{"n": "scalar"}], **sections})
        isometry = transform.get("isometry")
        robot.symmetry(isometry or "t", isometry and named(isometry), moves=transform.get("moves"))


def test_equal_descriptions_are_equal_layouts():
    one, two = layout([{"height": "scalar"}]), layout([{"height": "scalar"}])
    assert one == two
    assert hash(one) == hash(two)
    assert one != layout([{"depth": "scalar"}])


def test_slanted_axes_work_too():
    """A cube turned about its diagonal: x to y to z."""
    part = layout([{"v": "vector"}]).symmetry("t", rotation([1, 1, 1], 120)).observation_map
    assert part == IndexMap([2, 0, 1], [1, 1, 1])
