"""URDF files as they are found: what is repaired, left out, refused and assumed."""

from __future__ import annotations

import numpy as np
import pytest

from ambidex.derivation.derive import derive
from ambidex.derivation.reading.load import load_model
from ambidex.derivation.reading.urdf import possible_inertia

LEG = """<link name="{0}_thigh"><visual><geometry><mesh filename="package://none/{0}.dae"/></geometry></visual>
  <collision><geometry><mesh filename="package://none/meshes/{0}.stl"/></geometry></collision>
  <inertial><mass value="1"/><origin xyz="0 0 -.2"/>{1}</inertial></link>
  <link name="{0}_shin"><inertial><mass value=".5"/><origin xyz="0 0 -.2"/>
  <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{0}_hip_joint" type="revolute"><parent link="base"/><child link="{0}_thigh"/>
  <origin xyz="0 {2} 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="{0}_knee_joint" type="revolute"><parent link="{0}_thigh"/><child link="{0}_shin"/>
  <origin xyz="0 0 -.4" rpy="0 {3} 0"/><axis xyz="0 1 0"/>
  <limit lower="{4}" upper="{5}" effort="1" velocity="1"/></joint>"""
SOUND = '<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>'
FLAT = '<inertia ixx=".1" iyy=".1" izz=".3" ixy="0" ixz="0" iyz="0"/>'
GREY = '<material name="grey"><color rgba="1 1 1 1"/></material>'


def biped(base="base", left=SOUND, bent=0.0, ranges=((0, 2), (0, 2)), extra=""):
    legs = LEG.format("left", left, 0.1, 0, *ranges[0]) + LEG.format("right", SOUND, -0.1, bent, *ranges[1])
    text = f'<robot name="biped"><link name="base"/>{GREY}{GREY}{legs}{extra}</robot>'
    return text.replace('"base"', f'"{base}"')


def written(tmp_path, text, name="biped.urdf"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_an_impossible_inertia_is_raised_by_what_it_lacks():
    # 0.3 is more than 0.1 + 0.1 by 0.1, which is added to each.
    repaired = possible_inertia(np.diag([0.1, 0.1, 0.3]), 1.0)
    np.testing.assert_allclose(repaired, np.diag([0.2, 0.2, 0.4]), atol=1e-8)
    sound = np.diag([0.2, 0.2, 0.3])
    assert possible_inertia(sound, 1.0) is sound
    np.testing.assert_allclose(possible_inertia(np.zeros((3, 3)), 2.0), np.eye(3) * 2e-4)
    moments = np.linalg.eigvalsh(possible_inertia(np.diag([-0.1, 0.2, 0.3]), 1.0))
    assert moments[0] > 0 and moments[0] + moments[1] >= moments[2]


def test_the_repair_of_a_mirrored_inertia_is_the_mirrored_repair():
    inertia = np.array([[0.1, 0.02, 0.01], [0.02, 0.1, 0.03], [0.01, 0.03, 0.4]])
    mirror = np.diag([1.0, -1.0, 1.0])
    both = possible_inertia(mirror @ inertia @ mirror, 1.0), mirror @ possible_inertia(inertia, 1.0) @ mirror
    np.testing.assert_allclose(*both, atol=1e-12)


def test_what_real_files_have_is_read_with_notes(tmp_path):
    derived = derive(written(tmp_path, biped(left=FLAT)), plane="xz")
    assert derived.holds
    assert derived.group.observation_size == 7 + 4 + 6 + 4
    notes = "\n".join(derived.notes)
    assert "2 meshes are not there" in notes and "left.stl" in notes
    assert "inertias that no body can have are repaired: left_thigh" in notes
    assert "the base floats" in notes and "no mass get a millionth of a kilogram: base" in notes
    assert [item.words for item in derived.asymmetries] == [
        "the inertia of left_thigh for its mass is 75 % off the image of right_thigh's"
    ]


def test_a_root_that_is_the_world_is_fixed(tmp_path):
    assert load_model(written(tmp_path, biped("world"))).model.nq == 4
    assert load_model(written(tmp_path, biped())).model.nq == 7 + 4
    assert load_model(written(tmp_path, biped()), floating=False).model.nq == 4


def test_meshes_are_found_beside_the_file_and_above_it(tmp_path):
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    lines += ["f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4"]
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "part.obj").write_text("\n".join(lines))
    (tmp_path / "urdf").mkdir()
    for name in ("package://robot/meshes/part.obj", "../meshes/part.obj", "meshes/part.obj"):
        text = biped().replace("package://none/meshes/left.stl", name)
        loaded = load_model(written(tmp_path / "urdf", text))
        assert loaded.model.ngeom == 1
        assert any("1 meshes are not there" in note for note in loaded.notes)


def test_xacro_is_refused_with_the_way_out(tmp_path):
    text = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="leg"/></robot>'
    with pytest.raises(ValueError, match=r"xacro biped.urdf.xacro > biped.urdf"):
        derive(written(tmp_path, text, "biped.urdf.xacro"))
    with pytest.raises(ValueError, match="xacro"):
        derive(written(tmp_path, text))


def test_a_value_that_xacro_should_have_filled_in_is_told(tmp_path):
    text = biped().replace('xyz="', 'xyz="$(optenv PLACE 0) ', 1)
    with pytest.raises(ValueError, match="a xacro file makes a URDF file and is none yet"):
        derive(written(tmp_path, text))


def test_padding_around_the_document_is_passed_over(tmp_path):
    """Blank lines before the declaration and a zero byte at the end, as shipped files have them."""
    text = f'\n\n<?xml version="1.0"?>\n{biped()}\r\n\0'
    assert derive(written(tmp_path, text), plane="xz").holds


def test_chains_become_limbs(tmp_path):
    layout = derive(written(tmp_path, biped()), plane="xz").group.layout
    assert layout.action_names == ("left_leg.hip", "left_leg.knee", "right_leg.hip", "right_leg.knee")
    assert layout.body.select("here", "*.knee", "joints") == ["left_leg.knee", "right_leg.knee"]


def test_a_zero_pose_that_is_not_symmetric_is_said(tmp_path):
    """The right knee is bent by 0.5 at zero, and its range is shifted by as much."""
    file = written(tmp_path, biped(bent=0.5, ranges=((0, 2), (-0.5, 1.5))))
    derived = derive(file, plane="xz")
    assert derived.holds and derived.asymmetries == ()
    assert any("left_knee_joint 0.25, right_knee_joint -0.25" in note for note in derived.notes)
    joints = derived.group.layout.description["limbs"]
    assert joints["left_leg"]["joints"]["knee"]["limits"] == [-0.25, 1.75]
    assert joints["right_leg"]["joints"]["knee"]["limits"] == [-0.25, 1.75]


def test_the_observations_of_locomotion(tmp_path):
    file = written(tmp_path, biped())
    derived = derive(file, plane="xz", layout="locomotion", heights=(3, 2))
    image = derived.group["xz"].observation(np.arange(1.0, 31.0))
    assert image[:12].tolist() == [1, -2, 3, -4, 5, -6, 7, -8, 9, 10, -11, -12]
    assert image[12:16].tolist() == [-15, 16, -13, 14]
    assert image[24:].tolist() == [26, 25, 28, 27, 30, 29]
    assert derive(file, plane="xz", layout="locomotion", history=3).group.observation_size == 3 * 24
    with pytest.raises(ValueError, match="needs a base that floats"):
        derive(file, plane="xz", layout="locomotion", floating=False)


def test_what_is_ignored_stays_itself_and_is_said_in_the_file(tmp_path):
    tail = f"""<link name="tail"><inertial><mass value="1"/>{SOUND}</inertial></link>
        <joint name="wag" type="revolute"><parent link="base"/><child link="tail"/>
        <origin xyz="-.2 .3 0"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
    file = written(tmp_path, biped(extra=tail))
    assert not derive(file, plane="xz").holds
    derived = derive(file, plane="xz", ignore=["wag"], floating=False)
    assert derived.holds
    positions = derived.group["xz"].observation(np.arange(1.0, 11.0))[:5]
    assert positions.tolist() == [-3, 4, -1, 2, 5]
    derived.save(tmp_path / "biped.yaml")
    assert "# ignored, and left as they are: wag" in (tmp_path / "biped.yaml").read_text()
    with pytest.raises(ValueError, match="did you mean 'wag'"):
        derive(file, ignore=["wagg"])
