"""One run: train, checkpoint, resume."""
