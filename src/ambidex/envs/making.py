"""Environments by their ids: made, or refused in one line."""

from __future__ import annotations

from typing import Any

import gymnasium


def make(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment with this id; ValueError where there is none, or it does not take these options."""
    try:
        return gymnasium.make(env_id, **options)
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        raise ValueError(f"environment {env_id!r}: {' '.join(str(error).split())}") from None
    except TypeError as error:
        unknown = [name for name in options if f"unexpected keyword argument {name!r}" in str(error)]
        if not unknown:
            raise
        raise ValueError(f"environment {env_id!r} takes no {unknown[0]}; leave it out") from None
