"""The run directories of the tests of the report."""

from tests.report.conftest import ambidex as ambidex
from tests.report.conftest import study as study
from tests.report.conftest import write_run as write_run
