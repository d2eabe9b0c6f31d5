"""Sweeps, their status, and reading run directories as they are."""
