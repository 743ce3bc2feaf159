"""Sharing a project's records through git: on/off switch, file paths, and other users' records."""
