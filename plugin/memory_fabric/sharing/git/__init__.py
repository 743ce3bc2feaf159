"""Sharing by git: the switch, the location of records, and records of other users."""
