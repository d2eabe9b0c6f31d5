"""DESCRIBE: a robot's symmetries as checked objects."""

from ambidex.symmetry.findings import Finding
from ambidex.symmetry.group import SymmetryGroup
from ambidex.symmetry.maps import DictMap, IndexMap, LinearMap, MatrixMap
from ambidex.symmetry.transform import Symmetry

__all__ = [
    "DictMap",
    "Finding",
    "IndexMap",
    "LinearMap",
    "MatrixMap",
    "Symmetry",
    "SymmetryGroup",
]
