"""The groups of the tests of learning."""

from tests.learn.conftest import ant as ant
from tests.learn.conftest import one_thread as one_thread
from tests.learn.conftest import triangle as triangle
