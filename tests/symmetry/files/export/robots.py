"""Groups whose maps are known by hand."""

from __future__ import annotations

from ambidex.symmetry import Layout, SymmetryGroup
from ambidex.symmetry.isometry import named

_grouped = Layout(
    {
        "observations": {"policy": [{"goal": {"vector": ["x", "y"]}}], "critic": [{"force": "vector"}]},
        "actions": [{"speed": {"vector": ["y"]}}],
    }
)
MIRROR = SymmetryGroup([_grouped.symmetry("xz", named("xz"))], layout=_grouped)

_turning = Layout(
    {
        "observations": [{"height": "scalar"}, {"goal": {"vector": ["x", "y"]}}],
        "actions": [{"velocity": {"vector": ["x", "y"]}}],
    }
)
THIRDS = SymmetryGroup.from_generators([_turning.symmetry("r120", named("r120"))], layout=_turning)
HALF, ROOT = 0.5, 0.75**0.5  # minus the cosine of 120 degrees, and its sine
