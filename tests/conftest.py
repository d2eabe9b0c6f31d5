"""Settings for all tests: no time limits on a noisy machine, the same examples on every run."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("ambidex", deadline=None, derandomize=True)
settings.load_profile("ambidex")
