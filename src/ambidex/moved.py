"""Modules that have moved, under the names they had: for what was saved with pickle, and for old imports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

# The old module, and the new one; or those among which its names are now. All of them below `ambidex`.
MOVED: dict[str, str | tuple[str, ...]] = {
    "check": "verification",
    "check.actuator_matching": "derivation.match.actuators",
    "check.ant": "verification.simulators.ant",
    "check.asymmetry": "derivation.asymmetry",
    "check.blame": "verification.repairs",
    "check.carrying": "derivation.match.carrying",
    "check.classic": "verification.simulators.classic",
    "check.couplings": "derivation.couplings",
    "check.derive": "derivation.derive",
    "check.derived_layout": "derivation.layout",
    "check.differences": "derivation.differences",
    "check.element_names": "verification.element_names",
    "check.figure": "verification.picture",
    "check.image_group": "derivation.match.products",
    "check.joints": "verification.simulators.joints",
    "check.matching": "derivation.match.matching",
    "check.measure": "verification.bench",
    "check.memory": "verification.memory",
    "check.mujoco_env": "verification.simulators.mujoco",
    "check.naming": "derivation.naming",
    "check.policy_symmetry": "verification.policy_symmetry",
    "check.scores": "verification.scores",
    "check.simulators": "verification.simulators.protocol",
    "check.skeleton": "derivation.skeleton",
    "check.statistical": "verification.statistical",
    "check.surroundings": "derivation.surroundings",
    "check.transform_check": "verification.transform_check",
    "check.tree_matching": "derivation.match.trees",
    "check.triangle": "verification.simulators.triangle",
    "check.verdicts": "verification.results",
    "check.verify": "verification.verify",
    "check.words": "verification.words",
    "cli": "cli.command_line",
    "envs.ant_body": "envs.ant.body",
    "envs.ant_bullet": "envs.ant.bullet",
    "envs.ant_mujoco": "envs.ant.mujoco",
    "envs.ant_task": "envs.ant.task",
    "envs.rendering": "envs.ant.rendering",
    "envs.triangle": "envs.triangle.robot",
    "envs.triangle_dynamics": "envs.triangle.dynamics",
    "envs.triangle_perturbations": "envs.triangle.perturbations",
    "envs.triangle_picture": "envs.triangle.picture",
    "experiment.build": "experiment.configure.build",
    "experiment.checkpoint": "experiment.one_run.checkpoint",
    "experiment.config": "experiment.configure.config",
    "experiment.environment_state": "experiment.one_run.environment_state",
    "experiment.evaluate": ("experiment.trained.evaluate", "experiment.one_run.episodes"),
    "experiment.export": "experiment.trained.export",
    "experiment.files": "common.files",
    "experiment.measure": "learn.update.value_distance",
    "experiment.metrics": "experiment.one_run.metrics",
    "experiment.play": "experiment.trained.play",
    "experiment.presets": "experiment.configure.presets",
    "experiment.progress": "experiment.one_run.progress",
    "experiment.record": "experiment.one_run.record",
    "experiment.run": "experiment.one_run.run",
    "experiment.snapshot": "experiment.one_run.snapshot",
    "experiment.status": "experiment.many_runs.status",
    "experiment.stored": "experiment.trained.stored",
    "experiment.sweep": "experiment.many_runs.sweep",
    "experiment.sweep_ray": "experiment.many_runs.ray",
    "experiment.training": "experiment.one_run.training",
    "experiment.worker": "experiment.many_runs.worker",
    "learn.action_maps": "actuators.action_map",
    "learn.calibrated": "learn.fits.calibrated",
    "learn.calibration": "actuators.calibration",
    "learn.canonical": "actuators.canonical",
    "learn.fast": "learn.update.fast.update",
    "learn.fast_epoch": "learn.update.fast.epoch",
    "learn.fast_log": "learn.update.fast.log",
    "learn.fast_losses": ("learn.losses.surrogate", "learn.update.fast.update"),
    "learn.fast_mlp": "learn.update.fast.mlp",
    "learn.flat_adam": "learn.update.fast.adam",
    "learn.form_fit": "learn.fits.bent",
    "learn.forms": "learn.fits.forms",
    "learn.gates": "learn.losses.gates",
    "learn.generic": ("learn.update.autograd", "learn.update.symmetry_terms"),
    "learn.identification": "actuators.identification",
    "learn.line_fits": "learn.fits.lines",
    "learn.losses": ("learn.losses.adaptive", "learn.losses.mirror", "learn.losses.proximal"),
    "learn.methods": (
        "learn.losses.adaptive",
        "learn.losses.mirror",
        "learn.losses.proximal",
        "learn.losses.loss",
    ),
    "learn.networks": "learn.update.forward",
    "learn.pairwise": "learn.fits.pairwise",
    "learn.plain_mlp": "learn.update.fast.plain_mlp",
    "learn.prepare": "learn.update.preparation",
    "learn.prepared": "learn.update.iteration",
    "learn.protocol": "learn.fits.protocol",
    "learn.relations": "learn.fits.relations",
    "learn.response": "actuators.response",
    "learn.rollout": "learn.update.fast.rollout",
    "learn.scale_average": "learn.fits.moving_average",
    "learn.scales": "actuators.scales",
    "learn.support": "learn.refusals",
    "learn.torque_terms": "actuators.torque_terms",
    "learn.transition_fit": "learn.fits.transition",
    "learn.views": "actuators.transitions",
    "learn.window": "learn.losses.spread",
    "report.charts": "report.charts.charts",
    "report.colours": "report.charts.colours",
    "report.diagnose": "diagnosis.diagnosis",
    "report.diagnose_figure": "diagnosis.picture",
    "report.diagnose_history": "diagnosis.history",
    "report.diagnose_motion": "diagnosis.motion",
    "report.diagnose_policy": "diagnosis.policy",
    "report.diagnose_words": "diagnosis.words",
    "report.figures": "report.charts.files",
    "report.interactive": "report.charts.interactive",
    "report.logged": "diagnosis.logged",
    "report.maps": "report.learned_maps",
    "report.runs": "experiment.many_runs.reading",
    "report.visited": "diagnosis.visited",
    "symmetry.algebra": "symmetry.linting.algebra",
    "symmetry.body": "symmetry.layout.body",
    "symmetry.describe": "symmetry.show.account",
    "symmetry.fields": "symmetry.layout.fields",
    "symmetry.figure": "symmetry.show.picture",
    "symmetry.files": "symmetry.files.descriptions",
    "symmetry.interop": "symmetry.files.interop",
    "symmetry.layout": "symmetry.layout.layout",
    "symmetry.limits": "symmetry.linting.limits",
    "symmetry.lint": "symmetry.linting.lint",
    "symmetry.quantities": "symmetry.layout.quantities",
    "symmetry.repair": "symmetry.linting.repair",
    "symmetry.spaces": "symmetry.linting.spaces",
    "symmetry.suspicion": "symmetry.linting.suspicion",
    "symmetry.tables": "symmetry.files.raw_tables",
    "symmetry.text": "common.yaml",
    "symmetry.wording": "common.words",
}


class Moved(ModuleType):
    """An old module, or a package of its name: has the names of the modules that took its place."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and not _is_submodule(self, name):
            for place in _places(self.__name__):
                found = getattr(importlib.import_module(place), name, self)
                if found is not self:
                    return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a submodule sets it in its package, but `ambidex.symmetry.lint` must stay the function.
        if not (type(value) is Moved and hasattr(self, name)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


class _Loader(SourceFileLoader):
    """Loads the package that has the old module's name now, or an empty module where there is none."""

    def exec_module(self, module: ModuleType) -> None:
        if self.path:
            super().exec_module(module)
        module.__class__ = Moved
        parent, _, name = module.__name__.rpartition(".")
        if hasattr(sys.modules[parent], name):
            sys.modules[parent].__class__ = Moved


class _Finder:
    """Finds old modules when they are asked for, and not before."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _places(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None:
            is_package = any(old.startswith(f"{fullname.partition('.')[2]}.") for old in MOVED)
            return ModuleSpec(fullname, _Loader(fullname, ""), is_package=is_package)
        spec.loader = _Loader(fullname, str(spec.origin))
        return spec


def install() -> None:
    """Make the old names importable."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _places(module: str) -> list[str]:
    package, _, old = module.partition(".")
    new = MOVED.get(old, ()) if package == "ambidex" else ()
    return [f"ambidex.{place}" for place in ([new] if isinstance(new, str) else new)]


def _is_submodule(package: ModuleType, name: str) -> bool:
    path = vars(package).get("__path__")
    return path is not None and PathFinder.find_spec(f"{package.__name__}.{name}", path) is not None
