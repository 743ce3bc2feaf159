"""Sharing memory: by git, and by the log of a team."""
