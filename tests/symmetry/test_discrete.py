import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ambidex.symmetry import ChoiceMap


@st.composite
def choice_maps(draw: st.DrawFn) -> ChoiceMap:
    """Decisions of a few sizes; those of equal size may change places, and choices within them too."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    sources = list(range(len(sizes)))
    for size in set(sizes):
        alike = [i for i in sources if sizes[i] == size]
        for place, source in zip(alike, draw(st.permutations(alike)), strict=True):
            sources[place] = source
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indices: list[int] = []
    for source in sources:
        indices += [starts[source] + choice for choice in draw(st.permutations(range(sizes[source])))]
    return ChoiceMap(indices, sizes)


def likeliest(logits: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    parts = np.split(logits, np.cumsum(sizes)[:-1], axis=-1)
    return np.stack([part.argmax(axis=-1) for part in parts], axis=-1)


def test_left_and_right_change_places():
    swap = ChoiceMap([1, 0], [2])
    assert swap(np.array([0, 1, 1])).tolist() == [1, 0, 0]
    assert swap(np.array([[0], [1]])).tolist() == [[1], [0]]
    assert swap(np.int64(0)) == 1
    assert swap(torch.tensor([0, 1])).tolist() == [1, 0]
    assert swap(np.array([0.2, 0.7])).tolist() == [0.7, 0.2]


@given(part=choice_maps(), seed=st.integers(0, 2**32 - 1))
def test_a_choice_goes_where_its_logit_goes(part, seed):
    logits = np.random.default_rng(seed).normal(size=(5, part.size))
    choices = likeliest(logits, part.sizes)
    given_choices = choices if len(part.sizes) > 1 else choices[:, 0]
    expected = likeliest(part(logits), part.sizes)
    moved = part(given_choices)
    assert (moved.reshape(expected.shape) == expected).all()
    tensor = part(torch.tensor(given_choices))
    assert tensor.dtype == torch.int64
    assert (tensor.numpy() == moved).all()


@given(part=choice_maps())
def test_products_and_inverses_still_map_choices(part):
    assert isinstance(part @ part, ChoiceMap)
    choices = np.zeros(len(part.sizes), dtype=int) if len(part.sizes) > 1 else np.array(0)
    assert ((part @ part)(choices) == part(part(choices))).all()
    assert (part.inverse()(part(choices)) == choices).all()


def test_choices_of_one_decision_stay_together():
    with pytest.raises(ValueError, match=r"transform 'xz', action.*belong to one decision"):
        ChoiceMap([2, 1, 0, 3], [2, 2], transform="xz", side="action")


def test_a_choice_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="choices go from 0 to 1"):
        ChoiceMap([1, 0], [2])(np.array([0, 2]))
    with pytest.raises(ValueError, match="expected 2 choices"):
        ChoiceMap([1, 0, 2], [2, 1])(np.array([0]))
