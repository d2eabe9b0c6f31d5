"""EXPERIMENT: one run (train, evaluate, checkpoint, resume) and many (sweep, status)."""
