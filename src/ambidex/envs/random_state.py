"""The state of a numpy generator as an array of words, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_WORD = 2**64


def generator_to_words(generator: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Six words that hold all of a PCG64 generator, Gymnasium's and numpy's default."""
    state = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise ValueError(f"only a PCG64 generator's state can be kept, not {state['bit_generator']}")
    position, increment = state["state"]["state"], state["state"]["inc"]
    numbers = [position % _WORD, position // _WORD, increment % _WORD, increment // _WORD]
    return np.array([*numbers, state["has_uint32"], state["uinteger"]], np.uint64)


def generator_from_words(words: npt.NDArray[np.uint64]) -> np.random.Generator:
    """The generator whose words these are; it goes on where that one was."""
    low, high, increment_low, increment_high, has_uint32, uinteger = (int(word) for word in words)
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": high * _WORD + low, "inc": increment_high * _WORD + increment_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
    return np.random.Generator(bits)
