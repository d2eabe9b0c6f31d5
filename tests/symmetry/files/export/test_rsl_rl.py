from __future__ import annotations

import importlib
import pickle

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from tests.symmetry.files.export.robots import HALF, MIRROR, ROOT, THIRDS
from tests.symmetry.tables import ANT, ant_tables


def image(vectors, name, side):
    tables = ant_tables(name)
    return vectors[..., tables[f"{side}_indices"]] * torch.tensor(tables[f"{side}_multipliers"])


@pytest.mark.parametrize("elements", [None, ["r90", "xz"]])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (0,)])
def test_the_batch_and_then_each_image(exported, elements, shape):
    augment = exported("ant", "rsl_rl", elements=elements).augment
    obs, actions = torch.randn(*shape, 28), torch.randn(*shape, 8)
    all_obs, all_actions = augment(env=None, obs=obs, actions=actions)
    names = elements or list(ANT)
    assert torch.equal(all_obs, torch.cat([obs, *(image(obs, name, "obs") for name in names)]))
    assert torch.equal(all_actions, torch.cat([actions, *(image(actions, name, "act") for name in names)]))
    assert augment(obs=obs)[1] is None
    assert augment(actions=actions)[0] is None


@pytest.mark.parametrize("wrap", [dict, lambda columns: TensorDict(columns, batch_size=[2])])
def test_groups_of_observations(exported, wrap):
    policy, critic = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    images = torch.arange(8.0).reshape(2, 2, 2)
    obs, actions = exported(MIRROR, "rsl_rl", pass_through=["images"]).augment(
        None, wrap({"policy": policy, "critic": critic, "images": images}), torch.tensor([[1.0], [2]])
    )
    assert obs["policy"].tolist() == [[1, 2], [3, 4], [1, -2], [3, -4]]
    assert obs["critic"].tolist() == [[1, 2, 3], [4, 5, 6], [1, -2, 3], [4, -5, 6]]
    assert obs["images"].tolist() == [*images.tolist(), *images.tolist()]
    assert actions.tolist() == [[1], [2], [-1], [-2]]
    if not isinstance(obs, dict):
        assert isinstance(obs, TensorDict)
        assert obs.batch_size == torch.Size([4])
    assert policy.tolist() == [[1, 2], [3, 4]]


def test_one_vector_may_be_that_of_several_groups(exported):
    augment = exported("ant", "rsl_rl", elements=["xz"], groups=["policy", "critic"]).augment
    obs, _ = augment(obs={"policy": torch.ones(1, 28), "critic": torch.zeros(1, 28)})
    assert torch.equal(obs["policy"][1], image(torch.ones(28), "xz", "obs"))
    assert obs["critic"].tolist() == [[0] * 28] * 2


def test_rsl_rl_before_version_3_says_which_group_a_tensor_is(exported):
    obs, _ = exported(MIRROR, "rsl_rl").augment(obs=torch.tensor([[1.0, 2, 3]]), obs_type="critic")
    assert obs.tolist() == [[1, 2, 3], [1, -2, 3]]


def test_a_rotation_that_needs_a_matrix(exported):
    obs, actions = exported(THIRDS, "rsl_rl").augment(
        obs=torch.tensor([[7.0, 1, 0]]), actions=torch.tensor([[0.0, 2]])
    )
    np.testing.assert_allclose(obs, [[7, 1, 0], [7, -HALF, ROOT], [7, -HALF, -ROOT]], rtol=1e-6)
    np.testing.assert_allclose(actions, [[0, 2], [-2 * ROOT, -1], [2 * ROOT, -1]], rtol=1e-6)


def test_what_is_not_described_is_refused(exported):
    augment = exported(MIRROR, "rsl_rl").augment
    with pytest.raises(ValueError, match=r"'images' are not described .* --pass-through images"):
        augment(obs={"policy": torch.zeros(1, 2), "images": torch.zeros(1, 2)})
    with pytest.raises(ValueError, match=r"'policy': expected vectors of 2 elements, got shape \(1, 3\)"):
        augment(obs={"policy": torch.zeros(1, 3)})
    with pytest.raises(ValueError, match=r"actions: expected floating-point numbers, got torch\.int64"):
        augment(actions=torch.zeros(1, 1, dtype=torch.int64))


def test_it_is_found_by_its_name_and_pickled(exported):
    module = exported("ant", "rsl_rl")
    name = f"{module.augment.__module__}:{module.augment.__name__}"  # as Isaac Lab writes callables
    where, attribute = name.split(":")
    assert getattr(importlib.import_module(where), attribute) is module.augment
    assert pickle.loads(pickle.dumps(module.augment)) is module.augment


def test_tables_are_kept_per_device_and_type_and_serve_after_inference(exported):
    module = exported("ant", "rsl_rl", elements=["xz"])
    with torch.inference_mode():
        module.augment(obs=torch.zeros(2, 28))
    kept = dict(module._kept)
    module.augment(obs=torch.ones(3, 28))
    assert all(module._kept[place] is tensors for place, tensors in kept.items())
    module.augment(obs=torch.ones(3, 28, dtype=torch.float64))
    assert len(module._kept) == 2
    weights = torch.ones(28, requires_grad=True)
    (module.augment(obs=torch.ones(3, 28))[0] * weights).sum().backward()
    np.testing.assert_allclose(weights.grad, 3 + 3 * image(torch.ones(28), "xz", "obs"))
    assert not any(tensor.is_inference() for (((tensor, _),),) in module._kept.values())
