"""The shipped descriptions against tables typed by hand from the paper."""

from importlib import resources

import pytest

from ambidex.symmetry import catalog_names, lint, load
from tests.symmetry.tables import ANT, TRIANGLE, ant_tables


def lines_of(name: str) -> list[str]:
    text = (resources.files("ambidex.symmetry") / "catalog" / f"{name}.yaml").read_text()
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_the_ant_in_twenty_lines_is_the_papers_tables():
    group = load("ant")
    assert len(lines_of("ant")) <= 20
    assert group.names == tuple(ANT)
    for name, (kind, *_) in ANT.items():
        symmetry, tables = group[name], ant_tables(name)
        assert symmetry.observation_map.indices.tolist() == tables["obs_indices"]
        assert symmetry.observation_map.multipliers.tolist() == tables["obs_multipliers"]
        assert symmetry.action_map.indices.tolist() == tables["act_indices"]
        assert symmetry.action_map.multipliers.tolist() == tables["act_multipliers"]
        assert symmetry.kind == kind
    assert group.is_closed


def test_the_ants_actuators_know_their_observations():
    actuators = load("ant").layout.actuators
    for joint, actuator in enumerate(actuators):
        assert actuator.name == f"leg_{joint // 2}.{('hip', 'knee')[joint % 2]}"
        assert actuator.position_index == 8 + 2 * joint
        assert actuator.velocity_index == 9 + 2 * joint
        assert actuator.contact_index == 24 + joint // 2
        assert actuator.limits == (-1, 1)


@pytest.mark.parametrize(("name", "repeats"), [("triangle-paper", 1), ("triangle", 3)])
def test_the_triangle_is_the_papers(name, repeats):
    """Angles and a battery in the paper; angles, speeds, targets and a battery in the environment."""
    group = load(name)
    assert group.names == tuple(TRIANGLE)
    for transform, (kind, limbs) in TRIANGLE.items():
        symmetry, sign = group[transform], -1 if kind == "reflection" else 1
        expected = [3 * block + limb for block in range(repeats) for limb in limbs] + [3 * repeats]
        assert symmetry.observation_map.indices.tolist() == expected
        assert symmetry.observation_map.multipliers.tolist() == [sign] * 3 * repeats + [1]
        assert symmetry.action_map.indices.tolist() == limbs
        assert symmetry.action_map.multipliers.tolist() == [sign] * 3
        assert symmetry.kind == kind


def test_everything_shipped_is_sound():
    assert set(catalog_names()) >= {"ant", "triangle", "triangle-paper"}
    for name in catalog_names():
        assert lint(load(name)) == []


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(ValueError, match="did you mean 'triangle'"):
        load("triangel")


def test_a_folder_of_the_same_name_does_not_hide_the_catalog(tmp_path, monkeypatch):
    (tmp_path / "ant").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(load("ant")) == 7
