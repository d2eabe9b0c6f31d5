"""Descriptions by names: what each observation and action is, and what an isometry makes of it."""
