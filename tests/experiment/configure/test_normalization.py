"""The statistics in a policy's file are those of its observations, or they are refused."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from ambidex.experiment.configure.normalization import Normalization

BOX = spaces.Box(-1, 1, (3,))
DICT = spaces.Dict({"legs": BOX, "body": spaces.Box(-1, 1, (2,))})


def statistics(space: Any) -> Normalization:
    shapes = (
        {key: part.shape for key, part in space.items()} if isinstance(space, spaces.Dict) else {None: (3,)}
    )
    means = {key: np.arange(*shape, dtype=float) for key, shape in shapes.items()}
    return Normalization(means, {key: mean + 4 for key, mean in means.items()}, 1e-8, 10.0)


@pytest.mark.parametrize("space", [BOX, DICT])
def test_what_is_written_is_read(space: Any) -> None:
    written = statistics(space)
    read = Normalization.taken_from(written.arrays(), space)
    assert read is not None
    seen = space.sample()
    np.testing.assert_equal(read(seen), written(seen))
    assert Normalization.taken_from({"weight": np.ones(1)}, space) is None


@pytest.mark.parametrize(
    ("space", "name", "value", "words"),
    [
        (BOX, "whole.var", None, "lacks 'normalization.whole.var'"),
        (BOX, "whole.mean", None, "lacks 'normalization.whole.mean'"),
        (BOX, "epsilon", None, "lacks 'normalization.epsilon'"),
        (BOX, "clip", np.ones(2), r"'normalization.clip' has the shape \(2,\), .* is \(\)"),
        (BOX, "whole.mean", np.ones(4), r"'normalization.whole.mean' has the shape \(4,\), .* is \(3,\)"),
        (DICT, "key/body.var", None, "lacks 'normalization.key/body.var'"),
        (
            DICT,
            "key/legs.var",
            np.ones(2),
            r"'normalization.key/legs.var' has the shape \(2,\), .* is \(3,\)",
        ),
    ],
)
def test_what_is_missing_or_of_another_shape_is_named(space: Any, name: str, value: Any, words: str) -> None:
    arrays = statistics(space).arrays()
    arrays[f"normalization.{name}"] = value
    there = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(ValueError, match=words):
        Normalization.taken_from(there, space)
