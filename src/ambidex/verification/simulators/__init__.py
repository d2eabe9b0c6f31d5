"""Simulators that can be set to the image of a state: one adapter per file."""
