"""DERIVE: descriptions from robot models."""
