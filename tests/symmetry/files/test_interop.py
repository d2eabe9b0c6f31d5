from __future__ import annotations

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given
from tensordict import TensorDict

from ambidex.symmetry import IndexMap, Layout, SymmetryGroup, load
from ambidex.symmetry.files.interop import (
    from_cusrl,
    from_signed_list,
    read_paper_file,
    rsl_rl_augmentation,
    to_cusrl,
    to_signed_list,
    write_paper_file,
)
from ambidex.symmetry.isometry import named
from tests.symmetry.strategies import signed_permutations
from tests.symmetry.tables import ANT, ant, ant_tables


def cassie_mirror(signed: list[float], vector: np.ndarray) -> np.ndarray:
    """As that code does it: a matrix with one entry per row, multiplied from the right."""
    matrix = np.zeros((len(signed), len(signed)))
    for row, entry in enumerate(signed):
        matrix[row, abs(int(entry))] = np.sign(entry)
    return vector @ matrix


@given(part=signed_permutations())
def test_a_signed_list_does_in_its_own_code_what_the_map_does(part):
    vector = np.arange(1.0, part.size + 1)
    assert (cassie_mirror(to_signed_list(part), vector) == part(vector)).all()
    assert from_signed_list(to_signed_list(part)) == part


def test_a_signed_list_as_people_write_it():
    """The first two actions of a leg change sign, as Cassie's hip roll and yaw do."""
    mirrored = from_signed_list([-5, -6, 7, 8, 9, -0.1, -1, 2, 3, 4])
    assert mirrored == IndexMap([5, 6, 7, 8, 9, 0, 1, 2, 3, 4], [-1, -1, 1, 1, 1, -1, -1, 1, 1, 1])
    assert to_signed_list(mirrored) == [-5, -6, 7, 8, 9, -0.1, -1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"element 5 .* is 0, which has no sign"):
        from_signed_list([-5, -6, 7, 8, 9, 0, -1, 2, 3, 4])


@given(part=signed_permutations())
def test_cusrl_gathers_and_then_flips(part):
    destination, flipped = to_cusrl(part)
    vector = np.arange(1.0, part.size + 1)
    mirrored = vector[destination]
    mirrored[flipped] *= -1
    assert (mirrored == part(vector)).all()
    assert from_cusrl(destination, flipped) == part


def test_what_these_formats_cannot_say_is_refused():
    with pytest.raises(ValueError, match="knows indices and signs only"):
        to_cusrl(IndexMap([0], [2.0]))
    with pytest.raises(ValueError, match="knows indices and signs only"):
        to_signed_list(load("triangle")["a"].observation_map @ IndexMap([*range(10)], [2.0] * 10))
    with pytest.raises(ValueError, match="flipped_indices: 3"):
        from_cusrl([0, 1], [3])


def test_rsl_rl_gets_the_batch_and_then_each_image():
    group = load("ant")
    augment = rsl_rl_augmentation(group)
    obs, actions = torch.randn(5, 28), torch.randn(5, 8)
    all_obs, all_actions = augment(env=None, obs=obs, actions=actions)
    assert all_obs.shape == (40, 28)
    assert (all_obs[:5] == obs).all()
    assert (all_actions[:5] == actions).all()
    for number, name in enumerate(ANT):
        tables, block = ant_tables(name), slice(5 * (number + 1), 5 * (number + 2))
        signs = torch.tensor(tables["obs_multipliers"])
        assert (all_obs[block] == obs[:, tables["obs_indices"]] * signs).all()
        signs = torch.tensor(tables["act_multipliers"])
        assert (all_actions[block] == actions[:, tables["act_indices"]] * signs).all()
    assert augment(obs=obs, actions=None)[1] is None
    assert augment(obs=None, actions=actions)[0] is None


GROUPED = Layout(
    {
        "observations": {"policy": [{"goal": {"vector": ["x", "y"]}}], "critic": [{"force": "vector"}]},
        "actions": [{"speed": {"vector": ["y"]}}],
    }
)
MIRROR = SymmetryGroup([GROUPED.symmetry("xz", named("xz"))], layout=GROUPED)


@pytest.mark.parametrize("wrap", [dict, lambda columns: TensorDict(columns, batch_size=[2])])
def test_rsl_rl_groups_of_observations(wrap):
    policy, critic = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    obs, actions = rsl_rl_augmentation(MIRROR)(
        None, wrap({"policy": policy, "critic": critic}), torch.tensor([[1.0], [2]])
    )
    assert obs["policy"].tolist() == [[1, 2], [3, 4], [1, -2], [3, -4]]
    assert obs["critic"].tolist() == [[1, 2, 3], [4, 5, 6], [1, -2, 3], [4, -5, 6]]
    assert actions.tolist() == [[1], [2], [-1], [-2]]
    if not isinstance(obs, dict):
        assert obs.batch_size == torch.Size([4])
    assert policy.tolist() == [[1, 2], [3, 4]]


def test_rsl_rl_before_version_3_says_which_group_a_tensor_is():
    obs, _ = rsl_rl_augmentation(MIRROR)(obs=torch.tensor([[1.0, 2, 3]]), obs_type="critic")
    assert obs.tolist() == [[1, 2, 3], [1, -2, 3]]


def test_rsl_rl_groups_that_are_not_described_are_refused():
    with pytest.raises(ValueError, match="says nothing of the observations 'images'"):
        rsl_rl_augmentation(MIRROR)(obs={"policy": torch.zeros(1, 2), "images": torch.zeros(1, 2)})
    flat = rsl_rl_augmentation(load("ant"))
    assert flat(obs={"policy": torch.zeros(2, 28)})[0]["policy"].shape == (16, 28)
    with pytest.raises(ValueError, match="describe each group"):
        flat(obs={"policy": torch.zeros(2, 28), "critic": torch.zeros(2, 28)})


def test_the_papers_files_are_read_and_written(tmp_path):
    entries = [{"algorithm": "asl", **renamed(ant_tables(name))} for name in ANT]
    path = tmp_path / "parameters.yaml"
    path.write_text(yaml.safe_dump([{"clip_range": 0.4}, {"use_sym_learning": True}, entries]))
    assert read_paper_file(path, names=list(ANT)) == ant()
    assert read_paper_file(path).names == ("t1", "t2", "t3", "t4", "t5", "t6", "t7")
    copy = tmp_path / "copy.yaml"
    write_paper_file(load("ant"), copy)
    assert yaml.safe_load(copy.read_text()) == [renamed(ant_tables(name)) for name in ANT]
    assert read_paper_file(copy, names=list(ANT)) == ant()


def renamed(tables: dict[str, list[int]]) -> dict[str, list[int]]:
    return {key.replace("multipliers", "multiplier"): value for key, value in tables.items()}


def test_wrong_paper_files_are_refused(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text("- obs_indices: [0]\n")
    with pytest.raises(ValueError, match="no entry has all of obs_indices"):
        read_paper_file(path)
    write_paper_file(load("triangle-paper"), path)
    with pytest.raises(ValueError, match="has 5 transforms, but 1 names"):
        read_paper_file(path, names=["a"])
    with pytest.raises(ValueError, match="transform 'xz': this format has indices and multipliers only"):
        write_paper_file(MIRROR, path)
