"""Networks that have the symmetry of the robot from the first step."""
