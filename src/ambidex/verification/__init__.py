"""VERIFY: a description against a simulator."""

from ambidex.verification.results import Cause, ElementResult, TransformResult, Verification
from ambidex.verification.verify import verify

__all__ = ["Cause", "ElementResult", "TransformResult", "Verification", "verify"]
