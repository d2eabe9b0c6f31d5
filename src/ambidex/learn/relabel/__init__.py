"""RELABEL: a policy that sees each state and all its images as one."""
