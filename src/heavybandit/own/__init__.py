"""Bring your own policy, noise or world: loading it from a file, checking it, starting files."""
