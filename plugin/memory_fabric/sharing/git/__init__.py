"""Sharing through git: the switch, the location of a project's records, records of other users."""
