"""DESCRIBE: a robot's symmetries as checked objects."""

from ambidex.symmetry.discrete import ChoiceMap
from ambidex.symmetry.files.descriptions import catalog_names, load, parse, save
from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.layout.layout import Actuator, Layout
from ambidex.symmetry.linting.lint import lint, lint_file
from ambidex.symmetry.maps import DictMap, IndexMap, LinearMap, MatrixMap
from ambidex.symmetry.transform import Symmetry

__all__ = [
    "Actuator",
    "ChoiceMap",
    "DictMap",
    "Finding",
    "IndexMap",
    "Layout",
    "LinearMap",
    "MatrixMap",
    "Symmetry",
    "SymmetryGroup",
    "catalog_names",
    "lint",
    "lint_file",
    "load",
    "parse",
    "save",
]
