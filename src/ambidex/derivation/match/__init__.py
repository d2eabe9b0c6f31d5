"""Which body, joint and actuator of a model an isometry carries to which."""
