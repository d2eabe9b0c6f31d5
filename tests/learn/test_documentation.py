"""The examples of the pages Learn, Equivariant, Algorithms and Fits, run as they are printed."""

from __future__ import annotations

import csv
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ambidex import ASL, CalibratedFit

PAGE = Path(__file__).parents[2] / "docs" / "learn.md"
FITS = PAGE.with_name("fits.md")


def test_the_examples_run() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) == 4
    exec(blocks[0], names)
    learned = names["model"].action_maps()["d"].multipliers
    assert np.isfinite(learned).all()
    assert np.abs(learned - 1).max() > 1e-3
    exec(blocks[1], names)
    assert set(names["loss"]) <= set(names["ant"].names)
    exec(blocks[2], names)
    for transform, loss in names["loss"].items():
        type(loss).start({transform: loss}, names["ant"], None)  # all names are the ant's
    exec(blocks[3], names)


def test_the_examples_of_equivariant_policies_run() -> None:
    names: dict[str, Any] = {}
    page = PAGE.with_name("equivariant.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
    assert not names["env"].norm_obs
    scale = names["model"].policy.actuator_scale.numpy()
    np.testing.assert_allclose(scale / scale[0], [1, 2, 3], rtol=0.05)


def test_the_example_of_another_algorithm_runs() -> None:
    names: dict[str, Any] = {}
    page, _, _ = PAGE.with_name("algorithms.md").read_text().partition("## SAC")
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(block, names)
    # Limb 1 is rusty and needs double the torque, limb 2 triple.
    torques = np.array([1.0, 2.0, 3.0])
    found = names["model"].action_maps()["d"]
    np.testing.assert_allclose(found.multipliers, torques / torques[found.indices], rtol=0.05)


def test_the_default_fit_is_the_one_that_is_explained() -> None:
    assert ASL().fit == CalibratedFit()
    assert "`ASL()` takes `CalibratedFit()`" in PAGE.read_text()


def test_the_examples_of_the_fits_run() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", FITS.read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
    form, x = names["MY_BAND"], np.array([-0.5, 0.0, 0.5])
    np.testing.assert_allclose(names["band"](x, (2.0, 0.1)), [-1.1, 0.0, 1.1])
    np.testing.assert_allclose(names["band_inverse"](names["band"](x, (2.0, 0.1)), (2.0, 0.1)), x)
    np.testing.assert_allclose(names["band"](x, form.start), x)


def test_the_published_weights() -> None:
    """By what factor they differ between scenarios, from the table that the presets read."""
    table = resources.files("ambidex.experiment.configure").joinpath("hyperparameters.csv").read_text()
    rows = list(csv.DictReader(table.splitlines()))
    factors = []
    for method in ("msl", "psl", "asl"):
        weights = [float(row[f"{method}_policy_weight"]) for row in rows]
        factors.append(round(max(weights) / min(weights)))
    assert "factor of {:,} for MSL, {} for PSL and {} for ASL".format(*factors) in PAGE.read_text()
