"""A run directory is one run: its lock, its files, what it is, and what is refused in it."""
