"""What is wrong with a description, by algebra alone."""
