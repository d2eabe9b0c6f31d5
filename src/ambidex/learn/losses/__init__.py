"""The symmetry losses."""
