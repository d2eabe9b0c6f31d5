"""A group against the spaces of an environment: sizes, and bounds that a symmetry must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.linting.algebra import BODY, parts_of
from ambidex.symmetry.maps import IndexMap, LinearMap

if TYPE_CHECKING:
    import gymnasium


def space_findings(
    group: SymmetryGroup,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    environment: str,
) -> list[Finding]:
    """Sizes that do not fit the spaces, and bounds that a transform does not carry into themselves.

    :param environment: what it is called
    """
    spaces = {"action": action_space}
    keyed = getattr(observation_space, "spaces", None)
    if isinstance(keyed, dict):
        spaces |= {f"observation[{key}]": space for key, space in keyed.items()}
    else:
        spaces["observation"] = observation_space
    found: list[Finding] = []
    for name, sides in parts_of(group).items():
        for side in sorted(set(spaces) | set(sides) - {BODY}):
            if side not in sides or side not in spaces:
                what = "describes" if side in sides else "does not describe"
                found.append(Finding("size", f"the description {what} this part of the spaces.", name, side))
                continue
            found += _side_findings(name, side, sides[side], spaces[side], environment)
    return found


def _side_findings(
    name: str, side: str, part: LinearMap, space: gymnasium.Space[Any], environment: str
) -> Iterator[Finding]:
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    size = _number_of_choices(space) if low is None or high is None else low.size
    if size != part.size:
        yield Finding(
            "size",
            f"acts on {part.size} elements, the space of {environment} has {size}.",
            name,
            side,
            fix="look for a field too many or missing, or give the environment that the description is for",
        )
        return
    if low is None or high is None:
        return
    if not isinstance(part, IndexMap) or not part.is_signed_permutation:
        return  # a known imperfect robot does not keep its bounds, and a matrix mixes them
    given_low, given_high = low.ravel().astype(float), high.ravel().astype(float)
    mapped_low, mapped_high = _mapped_bounds(part, given_low, given_high)
    for element in np.flatnonzero((mapped_low != given_low) | (mapped_high != given_high)):
        yield Finding(
            "bounds",
            f"its bounds are [{given_low[element]:g}, {given_high[element]:g}], "
            f"but those of the element that it is read from become "
            f"[{mapped_low[element]:g}, {mapped_high[element]:g}].",
            name,
            side,
            int(element),
        )


def _mapped_bounds(
    part: IndexMap, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    ends = part(low), part(high)
    return np.minimum(*ends), np.maximum(*ends)


def _number_of_choices(space: gymnasium.Space[Any]) -> int | None:
    if hasattr(space, "nvec"):
        return int(np.sum(space.nvec))
    return int(space.n) if hasattr(space, "n") else None
