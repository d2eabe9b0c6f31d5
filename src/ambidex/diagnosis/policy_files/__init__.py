"""How symmetric a policy is that was trained anywhere, from its file, a description and a log."""
