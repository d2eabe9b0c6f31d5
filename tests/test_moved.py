"""Old names of modules: they load lazily, mean the new modules, and open what was saved under them."""

from __future__ import annotations

import importlib
import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import ambidex
from ambidex import SymmetricPPO, moved
from ambidex.envs.triangle.robot import TriangleVecEnv
from tests.subprocesses import said_by_python

SAVED = Path(__file__).parent / "data" / "saved-by-0.1.0.zip"

# What a model that was saved by version 0.1.0 may name, and what its pages imported.
OLD_NAMES = [
    f"{module} {name}"
    for module, names in {
        "learn.methods": "ASL MSL PSL",
        "learn.prepare": "Preparation",
        "learn.window": "ObservationWindow",
        "learn.pairwise": "PairwiseFit PairwiseState cycle_penalty spread_penalty",
        "learn.calibrated": "CalibratedFit CalibratedState",
        "learn.scale_average": "ScaleAverage uncertainty_penalty",
        "learn.transition_fit": "TransitionFit",
        "learn.form_fit": "FormState",
        "learn.forms": "Form DEAD_BAND",
        "learn.relations": "Relations",
        "learn.canonical": "ElementRelations OrbitProblem",
        "learn.views": "OrbitViews View Transitions",
        "learn.action_maps": "ActionMap",
        "learn.calibration": "calibrate Calibration",
        "learn.identification": "identify Identification",
        "learn.prepared": "NonFiniteLoss",
        "learn.losses": "mean_shift",
        "symmetry.layout": "Layout Actuator",
        "symmetry.body": "Body Joint Motion",
        "symmetry.fields": "Block",
        "symmetry.quantities": "Scalar Contact Vector Tensor Quaternion JointValue Clock HeightMap",
        "symmetry.files": "load save",
        "symmetry.interop": "to_signed_list to_cusrl",
        "symmetry.lint": "lint lint_file",
        "symmetry.describe": "describe",
        "envs.triangle": "TriangleEnv TriangleVecEnv",
        "envs.triangle_picture": "draw",
        "envs.triangle_perturbations": "Rust Load FrictionRegion",
        "check": "verify Verification",
        "check.verify": "verify",
        "check.derive": "derive",
        "experiment.config": "RunConfig",
        "report.runs": "load_runs",
        "report.charts": "Chart",
        "report.diagnose_policy": "diagnose_run",
        "cli": "main",
    }.items()
    for name in names.split()
]


def places(old: str) -> tuple[str, ...]:
    new = moved.MOVED[old]
    return (new,) if isinstance(new, str) else new


@pytest.mark.parametrize("old", OLD_NAMES)
def test_what_was_pickled_under_an_old_name_is_found(old: str) -> None:
    module, name = old.split()
    found = pickle.loads(f"cambidex.{module}\n{name}\n.".encode())
    new = [importlib.import_module(f"ambidex.{place}") for place in places(module)]
    assert [vars(place)[name] for place in new if name in vars(place)] == [found]
    assert getattr(importlib.import_module(f"ambidex.{module}"), name) is found


def test_every_new_place_is_there() -> None:
    for old in moved.MOVED:
        for place in places(old):
            assert find_spec(f"ambidex.{place}") is not None, place


def test_a_model_saved_before_the_move_is_the_same_and_trains_on_as_it_did() -> None:
    """The numbers are those that the version printed which saved it: data/saved_model.md."""
    model = SymmetricPPO.load(SAVED, env=TriangleVecEnv(4, scenario="triangle-rust", seed=1))
    observation = np.linspace(-0.5, 0.5, 10, dtype=np.float32)

    def multipliers_and_action() -> list[float]:
        return [*model.action_maps()["a"].multipliers, *model.predict(observation, deterministic=True)[0]]

    assert multipliers_and_action() == pytest.approx(
        [-1.0, -1.00135082, -0.998651, 0.00035766, 0.00367515, 0.00293379], abs=1e-7
    )
    model.learn(64)
    assert multipliers_and_action() == pytest.approx(
        [-1.0, -1.00182556, -0.99817777, 0.00026432, 0.00476127, 0.0035159], abs=1e-5
    )


def test_names_may_be_spread_over_several_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(moved.MOVED, "learn.spread_out", ("learn.fits.pairwise", "learn.fits.calibrated"))
    module = importlib.import_module("ambidex.learn.spread_out")
    assert (module.PairwiseFit, module.CalibratedFit) == (ambidex.PairwiseFit, ambidex.CalibratedFit)
    with pytest.raises(AttributeError, match=r"'ambidex\.learn\.spread_out' has no attribute 'Nothing'"):
        module.Nothing  # noqa: B018


def test_an_old_module_does_not_take_the_place_of_a_function() -> None:
    said = said_by_python(
        "import ambidex.symmetry.lint, ambidex.check.verify, ambidex.check.derive, ambidex\n"
        "print(type(ambidex.lint).__name__, type(ambidex.symmetry.lint).__name__,"
        " type(ambidex.check.verify).__name__, ambidex.check.derive.derive is ambidex.derive)"
    )
    assert said == "function function function True"


def test_a_package_with_an_old_name_stays_what_it_is() -> None:
    said = said_by_python(
        "from ambidex.learn.losses import gates\n"
        "import sys, cloudpickle, pickle, ambidex.symmetry.files as files\n"
        "print(gates.__name__, 'ambidex.learn.losses.terms' in sys.modules,"
        " pickle.loads(cloudpickle.dumps(files)) is files)"
    )
    assert said == "ambidex.learn.losses.gates False True"


def test_an_unknown_module_is_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"ambidex\.learn\.nothing"):
        importlib.import_module("ambidex.learn.nothing")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from ambidex.learn.methods import nothing  # noqa: F401


def test_a_model_saved_before_the_move_takes_another_loss():
    model = SymmetricPPO.load(SAVED, loss=ambidex.MSL())
    assert set(model.symmetry_state()) == set()
    assert [kind.__name__ for kind in model.kinds_of_loss] == ["MSL"]
