"""TUNE: a search for hyperparameters, whose trials are runs of the sweep engine."""
