"""Environments by their ids: made, or refused in one line."""

from __future__ import annotations

import ctypes.util
import os
import sys
from typing import Any

import gymnasium

from ambidex.common.words import suggestion

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
SCREENLESS = {"egl": "EGL", "osmesa": "OSMesa"}
"""MuJoCo's renderers that need no screen, and the library of each."""
MUJOCO = "pip install 'ambidex[mujoco]'"


def make(env_id: str, /, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment with this id; ValueError where there is none, or it does not take these options.

    The module of an id such as ``my_robot:Walker-v0`` may lie in the current folder.
    """
    prepare(env_id)
    try:
        return gymnasium.make(env_id, **options)
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        raise ValueError(refusal(env_id, error)) from None
    except TypeError as error:
        unknown = [name for name in options if f"unexpected keyword argument {name!r}" in str(error)]
        if not unknown:
            raise
        if unknown[0] == "render_mode":
            raise ValueError(
                f"environment {env_id!r} does not draw pictures: its constructor takes no render_mode"
            ) from None
        raise ValueError(f"environment {env_id!r} takes no {unknown[0]}; leave it out") from None


def prepare(env_id: str) -> None:
    """Let the id's module be found in the current folder, and MuJoCo draw without a screen."""
    if ":" in env_id and os.getcwd() not in sys.path:  # noqa: PTH109 (sys.path holds texts)
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    choose_renderer()


def choose_renderer() -> None:
    """Where there is no screen and nothing was chosen, a renderer of MuJoCo's that needs none."""
    if sys.platform != "linux" or "MUJOCO_GL" in os.environ or any(map(os.environ.get, SCREENS)):
        return
    for renderer, library in SCREENLESS.items():
        if ctypes.util.find_library(library) is not None:
            os.environ["MUJOCO_GL"] = renderer
            return


def refusal(env_id: str, error: Exception) -> str:
    """Why an environment is not made, in one line."""
    reason = " ".join(str(error).split()).replace('pip install "gymnasium[mujoco]"', MUJOCO)
    if isinstance(error, gymnasium.error.NameNotFound):
        reason = _unregistered(env_id)
    module, first = env_id.partition(":")[0], error.__cause__ or error  # Gymnasium raises another one from it
    if isinstance(first, ModuleNotFoundError) and first.name == module.partition(".")[0]:
        reason = f"no module {module!r} is installed or lies in the current folder, {os.getcwd()}"  # noqa: PTH109
    return f"environment {env_id!r}: {reason}"


def _unregistered(env_id: str) -> str:
    module, separator, name = env_id.rpartition(":")
    meant = suggestion(name, gymnasium.registry, likeness=0.75)
    if separator:
        return f"{module} registers none of that name{meant}"
    own = f"for one of your own write module:{name}"
    return f"Gymnasium knows none of that name{f'{meant} ({own})' if meant else f'; {own}'}"
