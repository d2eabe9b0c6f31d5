"""The types of arrays, and arrays by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_Value = TypeVar("_Value")


def below(prefix: str, named: Mapping[str, _Value]) -> dict[str, _Value]:
    """What has a name that begins with the prefix, by the rest of its name."""
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}


def each_part(function: Callable[[Any], Any], observation: Any) -> Any:
    """The function of an observation, or of each part of a Dict observation."""
    if isinstance(observation, Mapping):
        return {key: function(part) for key, part in observation.items()}
    return function(observation)
