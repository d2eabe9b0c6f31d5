"""Descriptions by names: what each observation and action is, and what an isometry makes of it."""

from ambidex.symmetry.layout.layout import Actuator as Actuator
from ambidex.symmetry.layout.layout import Layout as Layout
