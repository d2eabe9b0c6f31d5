"""DIAGNOSE: which actuator is off, from a run, a policy or a log."""
