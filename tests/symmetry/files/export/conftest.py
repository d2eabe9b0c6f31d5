"""Exported modules, found by their name as other code finds them."""

from __future__ import annotations

import importlib
import itertools
import sys

import pytest

from ambidex.symmetry.files.export.module import export_module

_numbers = itertools.count()


@pytest.fixture
def exported(tmp_path, monkeypatch):
    """Write a module of a new name and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def export(description, to, **options):
        names.append(f"exported_{next(_numbers)}")
        export_module(description, tmp_path / f"{names[-1]}.py", to, **options)
        importlib.invalidate_caches()
        return importlib.import_module(names[-1])

    yield export
    for name in names:
        del sys.modules[name]
