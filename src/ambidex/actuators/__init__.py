"""What each motor really does: scales and offsets, from a policy or from the robot's own motion. No torch."""
