"""CHECK: a description against a simulator, and descriptions from robot models."""

from ambidex.check.verdicts import Cause, ElementResult, TransformResult, Verification
from ambidex.check.verify import verify

__all__ = ["Cause", "ElementResult", "TransformResult", "Verification", "verify"]
