"""A description as a module for other code, which stands alone and is found by its name."""
