"""Random index maps and transforms for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ambidex.symmetry import IndexMap, Symmetry


@st.composite
def signed_permutations(draw: st.DrawFn, size: int | None = None) -> IndexMap:
    size = size or draw(st.integers(1, 7))
    indices = draw(st.permutations(range(size)))
    multipliers = draw(st.lists(st.sampled_from([1, -1]), min_size=size, max_size=size))
    return IndexMap(indices, multipliers)


@st.composite
def index_maps(draw: st.DrawFn, size: int | None = None) -> IndexMap:
    """Multipliers other than 1 and -1 too: a known imperfect robot."""
    part = draw(signed_permutations(size))
    scales = draw(st.lists(st.sampled_from([0.5, 1, 2, 3]), min_size=part.size, max_size=part.size))
    return IndexMap(part.indices, part.multipliers * np.array(scales))


@st.composite
def symmetries(draw: st.DrawFn, name: str, observations: int = 5, actions: int = 4) -> Symmetry:
    return Symmetry.from_maps(
        name, draw(signed_permutations(observations)), draw(signed_permutations(actions))
    )
