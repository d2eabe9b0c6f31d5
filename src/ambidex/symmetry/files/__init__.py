"""Descriptions in files, ours and others'."""
