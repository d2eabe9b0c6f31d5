"""Learning from a replay buffer: symmetric replay, and SAC with symmetry."""
