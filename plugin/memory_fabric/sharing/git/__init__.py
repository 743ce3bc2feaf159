"""Sharing through git: the switch, the paths of a project's records, other users' records."""
