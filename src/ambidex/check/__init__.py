"""CHECK: a description against a simulator, and descriptions from robot models."""
