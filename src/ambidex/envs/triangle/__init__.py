"""The paper's 2D robot."""
