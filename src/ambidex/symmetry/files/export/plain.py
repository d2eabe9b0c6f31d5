"""Tables and functions for numpy, jax and torch, as the source of a module."""

from __future__ import annotations

from ambidex.symmetry.files.export.tables import source, terms
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.maps import DictMap

USE = {
    "numpy": """On arrays of any leading shape:

    from {module} import action, observation

    mirrored = observation("{first}", batch), action("{first}", actions)""",
    "jax": """On arrays of any leading shape, under jit and vmap too (the transform's name is static):

    from {module} import action, observation

    mirrored = jax.jit(lambda batch: observation("{first}", batch))(batch)""",
    "torch": """On tensors of any leading shape and device; gradients pass:

    from {module} import action, observation

    mirrored = observation("{first}", batch), action("{first}", actions)""",
}


def body(group: SymmetryGroup, library: str) -> str:
    """All below the header: the tables and two functions.

    :param library: ``"numpy"``, ``"jax"`` or ``"torch"``
    """
    observations = {}
    for element in group:
        part = element.observation_map
        observations[element.name] = (
            {key: terms(each) for key, each in part.maps.items()}
            if isinstance(part, DictMap)
            else terms(part)
        )
    return _BODY.format(
        imports=_IMPORTS[library],
        transforms=source(tuple(group.names)),
        observations=source(observations),
        actions=source({element.name: terms(element.action_map) for element in group}),
        observation=_KEYED if isinstance(next(iter(group)).observation_map, DictMap) else _WHOLE,
        image=_IMAGES[library],
    )


_IMPORTS = {"numpy": "import numpy as np", "jax": "import jax.numpy as jnp", "torch": "import torch"}

_BODY = '''\
from __future__ import annotations

{imports}

# fmt: off
TRANSFORMS = {transforms}

# Of each transform, terms to be added up: the element that each is read from, and what it is multiplied by.
OBSERVATIONS = {observations}
ACTIONS = {actions}
# fmt: on


{observation}

def action(transform, vector):
    """The action that the transform makes of an action."""
    return _image(vector, ACTIONS[transform])


{image}'''

_WHOLE = '''\
def observation(transform, vector):
    """The observation that the transform makes of an observation."""
    return _image(vector, OBSERVATIONS[transform])
'''

_KEYED = '''\
def observation(transform, groups):
    """The observation that the transform makes of an observation, group by group."""
    return {group: _image(groups[group], terms) for group, terms in OBSERVATIONS[transform].items()}
'''

_CHECK = """\
    if vector.shape[-1] != len(terms[0][0]):
        raise ValueError(f"expected vectors of {len(terms[0][0])} elements, got shape {tuple(vector.shape)}")
"""

_IMAGES = {
    "numpy": f"""\
def _image(vector, terms):
{_CHECK}    dtype = vector.dtype if np.issubdtype(vector.dtype, np.floating) else np.float64
    images = [vector[..., indices] * np.asarray(multipliers, dtype) for indices, multipliers in terms]
    return sum(images[1:], images[0])
""",
    "jax": f"""\
def _image(vector, terms):
{_CHECK}    dtype = vector.dtype if jnp.issubdtype(vector.dtype, jnp.floating) else jnp.float32
    images = [
        jnp.take(vector, jnp.asarray(indices), axis=-1) * jnp.asarray(multipliers, dtype)
        for indices, multipliers in terms
    ]
    return sum(images[1:], images[0])
""",
    "torch": f"""\
_kept: dict = {{}}  # the tables as tensors, per device and type


def _image(vector, terms):
{_CHECK}    dtype = vector.dtype if vector.is_floating_point() else torch.get_default_dtype()
    place = (id(terms), vector.device, dtype)
    if place not in _kept:
        with torch.inference_mode(False):  # what is kept must serve training too
            _kept[place] = [
                (
                    torch.tensor(indices, device=vector.device),
                    torch.tensor(multipliers, device=vector.device, dtype=dtype),
                )
                for indices, multipliers in terms
            ]
    images = [vector.index_select(-1, indices) * multipliers for indices, multipliers in _kept[place]]
    return sum(images[1:], images[0])
""",
}
