"""How action maps follow the robot."""
