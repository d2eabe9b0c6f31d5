"""Settings for all tests: no time limits on a noisy machine, the same examples on every run."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import settings

from ambidex.envs.making import choose_renderer

choose_renderer()  # MuJoCo looks at the choice once, when the first test imports it
settings.register_profile("ambidex", deadline=None, derandomize=True)
settings.load_profile("ambidex")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    runs_it = any(isinstance(value, str) and value == "ambidex/Ant-v0" for value in parameters)
    if (runs_it or item.get_closest_marker("pybullet")) and find_spec("pybullet") is None:
        pytest.skip("needs PyBullet, which has wheels for Python 3.11 only")
