from __future__ import annotations

import numpy as np
import pytest
import torch

from ambidex.symmetry import load
from tests.symmetry.files.export.robots import MIRROR, ROOT, THIRDS
from tests.symmetry.tables import ANT, ant_tables


def arrays_of(library):
    if library == "torch":
        return torch.tensor
    if library == "numpy":
        return np.array
    jax = pytest.importorskip("jax", reason="jax comes with the extra [peers]")
    return lambda values: jax.numpy.asarray(values, dtype=jax.numpy.float32)


LIBRARIES = pytest.mark.parametrize("library", ["numpy", "jax", "torch"])


@LIBRARIES
def test_every_transform_of_the_ant(library, exported):
    array = arrays_of(library)
    module = exported("ant", library)
    assert tuple(ANT) == module.TRANSFORMS
    values = np.random.default_rng(0).normal(size=(4, 5, 28)).astype(np.float32)
    for name in ANT:
        tables = ant_tables(name)
        expected = values[..., tables["obs_indices"]] * tables["obs_multipliers"]
        np.testing.assert_allclose(module.observation(name, array(values)), expected)
        expected = values[0, :, :8][:, tables["act_indices"]] * tables["act_multipliers"]
        np.testing.assert_allclose(module.action(name, array(values[0, :, :8])), expected)


@LIBRARIES
def test_matrices_groups_integers_and_wrong_widths(library, exported):
    array = arrays_of(library)
    turned = exported(THIRDS, library).observation("r120", array([7.0, 2.0, 0.0]))
    np.testing.assert_allclose(turned, [7, -1, 2 * ROOT], rtol=1e-6)
    grouped = exported(MIRROR, library)
    obs = grouped.observation("xz", {"policy": array([1.0, 2.0]), "critic": array([1.0, 2.0, 3.0])})
    assert {key: np.asarray(value).tolist() for key, value in obs.items()} == {
        "policy": [1, -2],
        "critic": [1, -2, 3],
    }
    assert np.asarray(grouped.action("xz", array([3]))).tolist() == [-3]
    with pytest.raises(ValueError, match="expected vectors of 1 elements"):
        grouped.action("xz", array([3.0, 4.0]))


def test_discrete_choices_are_mapped_as_logits(exported):
    module = exported("cartpole-v1", "numpy")
    logits = np.array([0.25, -1.5])
    assert (
        module.action("yz", logits).tolist()
        == load("cartpole-v1")["yz"].action(logits).tolist()
        == [-1.5, 0.25]
    )


def test_gradients_pass_in_torch(exported):
    module = exported("ant", "torch")
    vector = torch.zeros(8, requires_grad=True)
    (module.action("r90", vector) * torch.arange(8.0)).sum().backward()
    assert (vector.grad == load("ant")["r90"].inverse().action(torch.arange(8.0))).all()


def test_jax_compiles_and_maps_them(exported):
    jax = pytest.importorskip("jax", reason="jax comes with the extra [peers]")
    module = exported("ant", "jax")
    batch = np.random.default_rng(0).normal(size=(6, 28)).astype(np.float32)
    tables = ant_tables("r90")
    expected = batch[:, tables["obs_indices"]] * tables["obs_multipliers"]
    turn = jax.tree_util.Partial(module.observation, "r90")
    for function in (jax.jit(turn), jax.vmap(turn), jax.jit(jax.vmap(turn))):
        np.testing.assert_allclose(function(jax.numpy.asarray(batch)), expected)
