"""The small run of the tests of the experiment."""

from tests.experiment.conftest import finished as finished
from tests.experiment.conftest import tiny as tiny
