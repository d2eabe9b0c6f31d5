from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ambidex.symmetry import DictMap, IndexMap, MatrixMap
from tests.symmetry.strategies import index_maps, signed_permutations

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
THIRD = np.array([[-0.5, -np.sqrt(0.75)], [np.sqrt(0.75), -0.5]])


def test_gathers_then_multiplies():
    swap = IndexMap([1, 0, 2], [2, -1, 3])
    assert swap(np.array([10.0, 20.0, 30.0])).tolist() == [40, -10, 90]


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_and_torch_agree_on_any_leading_shape(shape, dtype):
    vectors = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for part in (IndexMap([2, 0, 1], [1, -1, 0.5]), MatrixMap(np.diag([1.0, 2, 3]) + 0.1)):
        expected = (part.matrix @ vectors[..., None].astype(np.float64))[..., 0]
        from_numpy, from_torch = part(vectors), part(torch.tensor(vectors))
        assert from_numpy.dtype == dtype
        assert from_torch.dtype == torch.tensor(vectors).dtype
        np.testing.assert_allclose(from_numpy, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(from_torch.numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("part", [IndexMap([1, 0], [0.5, -2]), MatrixMap(THIRD)])
def test_integers_are_mapped_as_the_numbers_that_they_are(part):
    expected = part.matrix @ [2, 2]
    np.testing.assert_allclose(part(np.array([2, 2])), expected)
    np.testing.assert_allclose(part(torch.tensor([2, 2])).numpy(), expected, rtol=1e-6)


def test_a_matrix_is_made_a_tensor_once_per_type_and_not_pickled():
    part = MatrixMap(THIRD)
    part(torch.ones(2))
    (kept,) = part._tensors.values()
    part(torch.zeros(5, 2))
    assert next(iter(part._tensors.values())) is kept
    assert part(torch.ones(2, dtype=torch.float64)).dtype == torch.float64
    assert len(part._tensors) == 2
    copy = pickle.loads(pickle.dumps(part))
    assert copy == part
    assert copy._tensors == {}


@pytest.mark.parametrize("part", [IndexMap([1, 0], [0.5, -2]), MatrixMap(THIRD)])
def test_maps_work_under_jit_and_vmap_of_jax(part):
    jax = pytest.importorskip("jax", reason="jax comes with the extra [peers]")
    batch = np.array([[1.0, 2], [3, 4], [5, 6]], dtype=np.float32)
    expected = batch @ part.matrix.T
    for function in (part, jax.jit(part), jax.vmap(part), jax.jit(jax.vmap(part))):
        np.testing.assert_allclose(function(jax.numpy.asarray(batch)), expected, rtol=1e-6)


@pytest.mark.parametrize("part", [IndexMap([1, 0], [0.5, -2]), MatrixMap(THIRD)])
def test_a_map_first_used_in_inference_mode_serves_training(part):
    with torch.inference_mode():
        part(torch.zeros(2))
    vector = torch.zeros(2, requires_grad=True)
    part(vector).sum().backward()
    np.testing.assert_allclose(vector.grad.numpy(), part.matrix.sum(axis=0), rtol=1e-6)


def test_wrong_width_is_refused():
    with pytest.raises(ValueError, match="expected vectors of 2 elements"):
        IndexMap([1, 0], [1, 1])(np.zeros(3))


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(index_maps(n), index_maps(n))))
def test_composition_and_inverse_follow_the_matrices(pair):
    first, second = pair
    np.testing.assert_allclose((first @ second).matrix, first.matrix @ second.matrix)
    np.testing.assert_allclose(first.inverse().matrix, np.linalg.inv(first.matrix))
    assert (first @ first.inverse()).is_identity
    assert (first @ second).inverse() == second.inverse() @ first.inverse()


@given(index_maps())
def test_order_is_the_first_power_that_is_the_identity(part):
    power, order = part.matrix, None
    for n in range(1, 500):
        if np.allclose(power, np.eye(part.size)):
            order = n
            break
        if not np.isfinite(power).all():
            break
        power = power @ part.matrix
    assert part.order == order


def test_a_known_imperfection_keeps_order_and_inverse():
    rusty = IndexMap([1, 0], [0.5, 2])
    assert rusty.order == 2
    assert rusty.inverse() == rusty
    assert IndexMap([1, 0], [2, 2]).order is None


@given(signed_permutations())
def test_equal_maps_have_equal_keys_and_hashes(part):
    same = MatrixMap(part.matrix)
    assert part == same
    assert hash(part) == hash(same)
    assert part.inverse().inverse().key == part.key


def test_a_matrix_that_reads_one_element_per_row_becomes_an_index_map():
    turned = MatrixMap(TURN)
    assert isinstance(turned @ turned, IndexMap)
    assert turned.order == 4
    assert MatrixMap(THIRD).order == 3
    assert isinstance(MatrixMap(THIRD) @ MatrixMap(THIRD), MatrixMap)
    assert (MatrixMap(THIRD) @ MatrixMap(THIRD) @ MatrixMap(THIRD)).is_identity


@pytest.mark.parametrize(
    ("indices", "multipliers", "message"),
    [
        ([0, 1], [1], "2 indices but 1 multipliers"),
        ([0, 0], [1, 1], "index 0 is used by elements 0 and 1, and nothing reads 1"),
        ([0, 5], [1, 1], "index 5 is not a whole number from 0 to 1"),
        ([0, 1.5], [1, 1], "index 1.5 is not a whole number"),
        ([0, 1], [1, 0], "the multiplier 0 is not a finite number"),
        ([0, 1], [1, float("nan")], "the multiplier nan is not a finite number"),
        ([], [], "the table is empty"),
    ],
)
def test_bad_tables_say_what_is_wrong(indices, multipliers, message):
    with pytest.raises(ValueError, match=message):
        IndexMap(indices, multipliers)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.ones((2, 3)), np.full((2, 2), np.inf)])
def test_a_matrix_that_is_no_symmetry_is_refused(matrix):
    with pytest.raises(ValueError, match="transform 'r', observation"):
        MatrixMap(matrix, transform="r", side="observation")


def test_dict_maps_act_key_by_key():
    part = DictMap({"body": IndexMap([0, 1], [1, -1]), "joints": IndexMap([1, 2, 0], [1, 1, 1])})
    observation = {"body": np.array([1.0, 2.0]), "joints": np.array([1.0, 2.0, 3.0])}
    mapped = part(observation)
    assert mapped["body"].tolist() == [1, -2]
    assert mapped["joints"].tolist() == [2, 3, 1]
    assert part.order == 6
    assert (part @ part.inverse()).is_identity
    with pytest.raises(ValueError, match="expected the keys"):
        part({"body": observation["body"]})


def test_maps_move_to_other_devices():
    meta = torch.zeros(4, 2, device="meta")
    assert IndexMap([1, 0], [1, -1])(meta).device.type == "meta"
